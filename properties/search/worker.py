"""One batch of a campaign: a request as a line of JSON on stdin, the answer as lines of JSON on stdout.

`quidnunc.properties.search.batch` is the other end, and says what the lines mean.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from attrs import evolve, field, mutable

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import AdapterError, Config, Hello, Profile
from quidnunc.impl.seam.own_stdout import stdout_aside
from quidnunc.impl.seam.sidecar import end_children
from quidnunc.model.edit import Edit, edited
from quidnunc.model.edits.ambiguities import WIDE
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.edits.operators.catalogue import operated
from quidnunc.model.events import Event
from quidnunc.model.machine import family_of, protocol_named
from quidnunc.properties.cases.case import (
    Case,
    against_text,
    command_of,
    events_of,
    parameters_of,
    profile_text,
)
from quidnunc.properties.cases.file import parse, render
from quidnunc.properties.cases.finding import from_finding
from quidnunc.properties.cases.router import config_of
from quidnunc.properties.cases.telling import act_in_words, in_words
from quidnunc.properties.claims.catalogue import claim_on
from quidnunc.properties.explain.root_cause import (
    CRASH,
    Finding,
    allowed_in_words,
    last_departures,
    readings_that_allow,
)
from quidnunc.properties.judge.play import (
    Opener,
    Play,
    Subject,
    WireSubject,
    clauses_left_open,
    play,
    rejudge,
    same_act,
)
from quidnunc.properties.search.additions import PREFIX, says_of
from quidnunc.properties.search.machine import FindingSearch, ReplayableFinding, search
from quidnunc.properties.search.rows import EMPTY, Contradiction, either, unexplained_words

COUNTS_EVERY_S = 0.5
REFUTES = "A run that refutes an explanation."
"""What cases of such runs say, which are passed on and not shown."""

Tell = Callable[[dict[str, Any]], None]


def opener_of(against: str) -> Any:
    """Configuration -> a subject, for any router that `open_router` knows."""

    def opener(config: Config) -> Subject:
        return WireSubject(open_router(against, config), config)

    return opener


def run(
    asked: dict[str, Any],
    tell: Tell = lambda changed: None,
    out_of_time: Callable[[], bool] = lambda: False,
    opener: Opener | None = None,
) -> dict[str, Any]:
    """Answer one request (`quidnunc.properties.search.batch.BatchRequest` as a dict).

    `tell` is given what changed since it was called last, as the search goes on. `opener` opens a router that
    has no name by which it could be opened.
    """
    protocol = protocol_named(asked["protocol"])
    opener = opener or opener_of(asked["against"])
    profile, without = asked["profile"], tuple(asked["without"])
    hello = hello_from(opener, asked["protocol"], profile, without)
    hunt = FindingSearch(
        asked["protocol"], opener, hello, steered=asked["steered"], profile=profile, without=without
    )
    hunt.quirks += [edit_named(name, protocol) for name in asked["quirks"]]
    hunt.withdrawn += asked["refuted"]
    hunt.out_of_time = out_of_time
    if asked["settle"]:
        return _settled_of(asked["settle"], hunt, opener)
    if asked["cover"]:
        return {"covered": _covered(asked["cover"], hunt, opener)}
    teller = ProgressTeller(asked, hello, tell)
    explained_again = list[list[str]]()
    hunt.tell = teller
    recorder = _recorder(asked, hello)
    if recorder is not None:
        hunt.record = recorder
    try:
        hunt.withdrawn += still_refuted(asked["refuting"], hunt)
        for name, text in asked["again"]:
            if key := explain_again(name, text, hunt):
                explained_again.append([text, *key])
        if asked["runs"]:
            search(hunt, runs=asked["runs"], seed=asked["seed"], acts=asked["acts"])
    except AdapterError:
        tell(answer_of(asked, hunt, hello, teller.rows))
        raise
    finally:
        if recorder is not None:
            recorder.close()
    reinstated = {name: cases for name, cases in asked["refuting"].items() if name in hunt.in_force}
    told = {"explained_again": explained_again, "reinstated": reinstated}
    return {**answer_of(asked, hunt, hello, teller.rows), **told}


def explain_again(name: str, text: str, hunt: FindingSearch) -> tuple[str, str] | None:
    """Explain the case of an earlier finding again, without the explanation `name` that it has, if any.

    Faults that were not known then ended many of the runs in which its explanation was tried. One that is
    found now takes the place of `name` where no operator made it; else all stays as it was. Returns the key
    under which a finding that had no explanation has one now.
    """
    if hunt.out_of_time():
        return None
    case, kept = parse(text), list(hunt.quirks)
    events, parameters = events_of(case), parameters_of(case)
    hunt.quirks[:] = [quirk for quirk in kept if quirk.name != name]
    run, off = _again(events, parameters, case.seed, hunt), hunt.without
    if not last_departures(run):
        # With its additions off a router may not come so far.
        hunt.without = case.without
        run = _again(events, parameters, case.seed, hunt)
    key = (
        hunt.file(events, departures, parameters, case.seed) if (departures := last_departures(run)) else None
    )
    hunt.without = tuple(dict.fromkeys((*off, *hunt.without)))
    found = hunt.found.get(key) if key is not None else None
    first = found.finding.quirks[0].name if found is not None and found.finding.quirks else ""
    if found is not None and key is not None and not first and not found.addition:
        # It is as unexplained as it was, and has its row.
        del hunt.found[key]
    if name and first and first != name and first not in operated(hunt.spec):
        hunt.withdrawn.append(name)
    elif name:
        if found is not None and key is not None and first != name and key in hunt.found:
            del hunt.found[key]
        hunt.quirks[:] = kept
    hunt.signatures.clear()
    if name or key is None or key not in hunt.found:
        return None
    hunt.leave_open(key, departures[0], {*clauses_left_open(run.moments[-1].judged)})
    return key


def still_refuted(refuting: Mapping[str, Sequence[str]], hunt: FindingSearch) -> list[str]:
    """Of explanations that runs have refuted, each with the cases of those runs, the names of those that one
    of them refutes all the same, now that more is in force."""

    def refutes(text: str, edit: Edit) -> bool:
        case, others = parse(text), [quirk for quirk in hunt.quirks if quirk.name != edit.name]
        config = evolve(hunt.config(parameters_of(case), case.seed), without=case.without)
        changed = edited(hunt.spec, (*others, edit))
        run = play(events_of(case), hunt.opener(config), changed, parameters_of(case))
        agreed, found = rejudge(run.moments, edited(hunt.spec, others), parameters_of(case))
        # What departs without it as well is something else.
        own = any(not any(same_act(d, other) for other in found) for d in last_departures(run))
        return own and agreed >= len(run.moments) - 1

    edits = ((edit_named(name, hunt.spec), texts) for name, texts in sorted(refuting.items()))
    # What nobody has the time to ask stays refuted.
    return [
        edit.name for edit, texts in edits if hunt.out_of_time() or any(refutes(text, edit) for text in texts)
    ]


def _again(events: Sequence[Event], parameters: Any, seed: int, hunt: FindingSearch) -> Play:
    return play(events, hunt.opener(hunt.config(parameters, seed)), hunt.protocol, parameters)


Rows = dict[int, tuple[ReplayableFinding, dict[str, Any]]]
"""Those told last. By its `id`, a finding, kept so that no other takes the number, and how it is told."""


@mutable
class ProgressTeller:
    """Tells what a search has found as soon as it has, and now and then how far it is."""

    asked: dict[str, Any]
    hello: Hello
    tell: Tell
    rows: Rows = field(factory=dict)
    _told: tuple[int, ...] = ()
    _told_at: float = 0.0

    def __call__(self, hunt: FindingSearch) -> None:
        now = (*map(id, hunt.found.values()), id(hunt.pending))
        if now != self._told:
            self.tell(answer_of(self.asked, hunt, self.hello, self.rows))
        elif time.monotonic() - self._told_at > COUNTS_EVERY_S:
            self.tell(_counts(hunt, self.hello))
        else:
            return
        self._told, self._told_at = now, time.monotonic()


def answer_of(
    asked: dict[str, Any], hunt: FindingSearch, hello: Hello, rows: Rows | None = None
) -> dict[str, Any]:
    """What a hunt has found, as the answer to the request. `rows`: those that were made before."""
    made: Rows = {}

    pending = hunt.pending

    def row(found: ReplayableFinding) -> dict[str, Any]:
        known = rows.get(id(found)) if rows else None
        made[id(found)] = known or (found, _root(asked, found, hello, pending, hunt.contradicted))
        return made[id(found)][1]

    answer = {
        **_counts(hunt, hello),
        "roots": [row(found) for found in hunt.found.values()],
        "pending": row(pending) if pending is not None else None,
        "refuting": _refuting(asked, hunt, hello),
    }
    if rows is not None:
        rows.clear()
        rows.update(made)
    return answer


def _refuting(asked: dict[str, Any], hunt: FindingSearch, hello: Hello) -> dict[str, list[str]]:
    """The names of explanations that were refuted, each with the cases of the runs that did."""

    def case_of(run: ReplayableFinding) -> str:
        return render(_shown(asked, run, hello, REFUTES, run.finding.clause))

    return {name: [case_of(run) for run in runs] for name, runs in sorted(hunt.refuting.items())}


def _counts(hunt: FindingSearch, hello: Hello) -> dict[str, Any]:
    return {
        "version": hello.version,
        "name": hello.name,
        "capabilities": sorted(hello.capabilities),
        "fixed": dict(hello.fixed),
        "switched": {what: list(clauses) for what, clauses in hello.switched.items()},
        "has_additions": bool(hello.additions),
        "without": list(hunt.without),
        "runs": hunt.runs,
        "steps": hunt.steps,
        "blurred": hunt.blurred,
        "unrepeated": hunt.unrepeated,
        "applied": dict(sorted(hunt.applied.items())),
        "sent": dict(sorted(hunt.sent.items())),
        "withdrawn": list(hunt.withdrawn),
        "contradicted": dict(sorted(hunt.contradicted.items())),
        "unfiled": [[row, clause, n] for (row, clause), n in sorted(hunt.unfiled.items())],
    }


def _recorder(asked: dict[str, Any], hello: Hello) -> Any:
    """What writes the runs down, opened by its name: who asks knows how they are written, we do not."""
    named, path = asked["recorder"]
    if not path:
        return None
    module, _, name = named.partition(":")
    return getattr(importlib.import_module(module), name)(path, asked, hello)


def hello_of(
    against: str, protocol: str, *, profile: Profile = "spec", without: tuple[str, ...] = ()
) -> Hello:
    """What a router says of itself. Raises AdapterError or ValueError where it cannot be opened."""
    return hello_from(opener_of(against), protocol, profile, without)


def hello_from(opener: Any, protocol: str, profile: Profile, without: tuple[str, ...] = ()) -> Hello:
    """The same of the router that `opener` opens."""
    parameters = family_of(protocol_named(protocol)).parameters()
    subject = opener(Config(protocol=protocol, parameters=parameters, profile=profile, without=without))
    subject.close()
    hello: Hello = subject.hello
    return hello


def _root(
    asked: dict[str, Any],
    found: ReplayableFinding,
    hello: Hello,
    pending: ReplayableFinding | None,
    contradicted: Mapping[str, Contradiction] = EMPTY,
) -> dict[str, Any]:
    finding = found.finding
    claim = claim_on(finding.clause, protocol_named(asked["protocol"]))
    says = _words_of(finding, contradicted)
    kind: str = finding.quirks[0].kind if finding.quirks else "unexplained"
    cause = finding.cause
    if is_crash := cause.startswith(CRASH):
        says = "The router fails with an exception."
    if found.addition:
        says, kind, cause = says_of(found.addition, hello), "addition", PREFIX + found.addition
    is_nearly = kind == "unexplained" and bool(finding.nearly or finding.known) and not is_crash
    known, remark = says if kind != "unexplained" else "", says if is_nearly else ""
    if found is pending:
        known, says, remark = "", PENDING_SAYS, PENDING_SAYS
    elif not found.minimised:
        says, remark = f"{says} {NOT_MINIMISED}", f"{remark} {NOT_MINIMISED}".strip()
    allowed_by: tuple[str, ...] = ()
    if kind == "unexplained" and not is_crash:
        spec = protocol_named(asked["protocol"])
        allowed_by = readings_that_allow(finding.moments, spec, found.in_force, found.parameters)
    if allowed_by:
        told = allowed_in_words(allowed_by[0], spec)
        says, remark = f"{says} {told}", f"{remark} {told}".strip()
    shown = _shown(asked, found, hello, says, claim.id if claim is not None else finding.clause)
    return {
        "clause": finding.clause,
        "quirk": cause,
        "kind": kind,
        "says": says,
        "act": act_in_words(shown, finding),
        "case": render(in_words(shown, finding, known, remark)),
        "also": [q.name for q in finding.quirks[1:]],
        "ties": [q.name for q in finding.ties],
        "unexplained_as": _unexplained(finding),
        "allowed_by": list(allowed_by),
        "suspects": sorted(finding.suspects) if kind == "unexplained" else [],
        "holds_on_ours": None if found is pending else _control(asked, found),
        "leaves_open": sorted(found.leaves_open),
        "minimised": found.minimised,
    }


PENDING_SAYS = "The search ended before this departure was replayed."
NOT_MINIMISED = "Not minimised: the search ended first."


def _shown(asked: dict[str, Any], found: ReplayableFinding, hello: Hello, reason: str, claim: str) -> Case:
    """Its case."""
    return from_finding(
        found.finding,
        reason=reason,
        claim=claim,
        protocol=asked["protocol"],
        against=against_text(asked["against"], hello.version),
        parameters=found.parameters,
        seed=found.seed,
        found_by=command_of(asked["protocol"], asked["against"], profile=asked["profile"]),
        profile=profile_text(asked["against"], asked["profile"]),
        without=found.without,
        quirks_in_force=found.in_force,
    )


def _words_of(finding: Finding, contradicted: Mapping[str, Contradiction]) -> str:
    """The sentence of its explanation, or of one that nearly holds."""
    if finding.quirks:
        return either(finding.quirks[0], *finding.ties)
    if finding.nearly is None:
        return f"{unexplained_words()} {finding.known}".strip()
    return unexplained_words(finding.nearly.says, contradicted.get(finding.nearly.name))


def _unexplained(finding: Finding) -> tuple[str, str]:
    """Clause and cause of a finding whose explanation is withdrawn."""
    plain = evolve(finding, quirks=())
    return plain.clause, plain.cause


def _settled_of(cases: Sequence[str], hunt: FindingSearch, opener: Any) -> dict[str, Any]:
    settled = [_settles(text, hunt, opener) for text in cases]
    told = zip(cases, settled, strict=True)
    perhaps = [not sure and _may_settle(text, hunt, opener) for text, sure in told]
    return {"settled": settled, "perhaps_settled": perhaps}


def _settles(text: str, hunt: FindingSearch, opener: Any) -> bool:
    """Whether the router, as built of all quirks that were found, no longer departs in this case."""
    case = parse(text)
    run = play(events_of(case), opener(config_of(case)), hunt.protocol, parameters_of(case))
    return not last_departures(run) and not run.blurred


def _may_settle(text: str, hunt: FindingSearch, opener: Any) -> bool:
    """Whether the router, as built of all quirks that were found, may well do what departs in this case: a
    choice that does not show decides, and not before the router departs."""
    case = parse(text)
    run, bare = (
        play(events_of(case), opener(config_of(case)), rules, parameters_of(case))
        for rules in (hunt.protocol, hunt.spec)
    )
    # What is missing was due a step before.
    departs_at = len(bare.moments) - any(each.kind == "missing" for each in last_departures(bare))
    return run.blurred and bool(last_departures(bare)) and len(run.moments) >= departs_at


def _covered(told: Sequence[tuple[str, Sequence[str]]], hunt: FindingSearch, opener: Any) -> list[str]:
    """The quirks that the others make superfluous, each in its turn."""
    gone: list[str] = []
    # A reading that allows what others forbid would excuse anything.
    hunt.quirks[:] = [quirk for quirk in hunt.quirks if quirk.name not in WIDE]
    for name, cases in told:
        kept = list(hunt.quirks)
        hunt.quirks[:] = [quirk for quirk in kept if quirk.name != name]
        if all(_settles(text, hunt, opener) for text in cases):
            gone.append(name)
        else:
            hunt.quirks[:] = kept
    return gone


def _control(asked: dict[str, Any], found: ReplayableFinding) -> bool | None:
    return passes_on_ours(found.finding, asked["protocol"], found.parameters, found.seed)


def passes_on_ours(finding: Finding, protocol: str, parameters: Any, seed: int) -> bool | None:
    """The control: whether our own router passes the same events under the plain specification."""
    config = Config(seed=seed, protocol=protocol, parameters=parameters)
    try:
        subject = opener_of("ours")(config)
    except (AdapterError, ValueError):
        return None
    return not last_departures(play(finding.events, subject, protocol_named(protocol), parameters))


def answer(asked: dict[str, Any], answers: TextIO, out_of_time: Callable[[], bool] = lambda: False) -> None:
    """Write the answer to one request as lines of JSON."""

    def tell(changed: dict[str, Any]) -> None:
        answers.write(json.dumps(changed) + "\n")
        answers.flush()

    try:
        tell(run(asked, tell, out_of_time))
    except AdapterError as error:
        tell({"broken": str(error)})


def _request(stop: threading.Event) -> dict[str, Any]:
    """The first line on stdin; the rest is watched. (`sys.stdin` would be locked by the thread at exit.)"""
    data = b""
    while b"\n" not in data and (chunk := os.read(0, 1 << 16)):
        data += chunk
    line, _, rest = data.partition(b"\n")
    # A driver in Python keeps its router from ending the process so (`impl/drivers/python.py`).
    end = os._exit

    def watch() -> None:
        if rest:
            stop.set()
        while os.read(0, 64):
            stop.set()
        # Whoever asked is gone, or wants no answer.
        end_children()
        end(1)

    threading.Thread(target=watch, daemon=True).start()
    asked: dict[str, Any] = json.loads(line)
    return asked


def collect_less_often(values: int = 100_000) -> None:
    """Look for cycles once for so many new values. Runs make many small ones and few cycles, and to look for
    those took a tenth of the time."""
    gc.set_threshold(values, 50, 50)


def main() -> int:
    collect_less_often()
    stop = threading.Event()
    asked = _request(stop)
    # What a router prints, or writes below Python, must not end up in the answer.
    sys.stdout = sys.stderr
    with os.fdopen(stdout_aside(), "w", encoding="utf-8") as answers:
        answer(asked, answers, stop.is_set)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
