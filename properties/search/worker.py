"""One batch of a campaign: a request as JSON on stdin, the answer as JSON on stdout."""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from typing import Any

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import AdapterError, Config, Hello, Profile
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.machine import family_of, protocol_named
from quidnunc.properties.cases.case import against_text, command_of, events_of, parameters_of, profile_text
from quidnunc.properties.cases.file import parse, render
from quidnunc.properties.cases.finding import from_finding
from quidnunc.properties.cases.router import config_of
from quidnunc.properties.claims.catalogue import claim_on
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.explain.root_cause import Finding, last_departures
from quidnunc.properties.judge.play import Subject, WireSubject, play
from quidnunc.properties.search.additions import PREFIX, says_of
from quidnunc.properties.search.machine import FindingSearch, ReplayableFinding, search


def opener_of(against: str) -> Any:
    """Configuration -> a subject, for any router that `open_router` knows."""

    def opener(config: Config) -> Subject:
        return WireSubject(open_router(against, config), config)

    return opener


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """Answer one request (`quidnunc.properties.search.campaign.BatchRequest` as a dict)."""
    protocol = protocol_named(asked["protocol"])
    opener = opener_of(asked["against"])
    profile, without = asked["profile"], tuple(asked["without"])
    hello = _hello(opener, asked["protocol"], profile, without)
    hunt = FindingSearch(
        asked["protocol"], opener, hello, steered=asked["steered"], profile=profile, without=without
    )
    hunt.quirks += [edit_named(name, protocol) for name in asked["quirks"]]
    if asked["seconds"] is not None:
        deadline = time.monotonic() + asked["seconds"]
        hunt.out_of_time = lambda: time.monotonic() > deadline
    if asked["settle"]:
        return {"settled": [_settles(text, hunt, opener) for text in asked["settle"]]}
    recorder = _recorder(asked, hello)
    if recorder is not None:
        hunt.record = recorder
    try:
        search(hunt, runs=asked["runs"], seed=asked["seed"], acts=asked["acts"])
    finally:
        if recorder is not None:
            recorder.close()
    return answer_of(asked, hunt, hello)


def answer_of(asked: dict[str, Any], hunt: FindingSearch, hello: Hello) -> dict[str, Any]:
    """What a hunt has found, as the answer to the request."""
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
        "roots": [_root(asked, found, hello) for found in hunt.found.values()],
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
    return _hello(opener_of(against), protocol, profile, without)


def _hello(opener: Any, protocol: str, profile: Profile, without: tuple[str, ...]) -> Hello:
    parameters = family_of(protocol_named(protocol)).parameters()
    subject = opener(Config(protocol=protocol, parameters=parameters, profile=profile, without=without))
    subject.close()
    hello: Hello = subject.hello
    return hello


def _root(asked: dict[str, Any], found: ReplayableFinding, hello: Hello) -> dict[str, Any]:
    finding = found.finding
    quirk = finding.quirks[0] if finding.quirks else None
    protocol = protocol_named(asked["protocol"])
    claim = claim_on(finding.clause, protocol)
    says = quirk.says if quirk is not None else "No known root cause matches."
    kind: str = quirk.kind if quirk is not None else "unexplained"
    cause = finding.cause
    if found.addition:
        says, kind, cause = says_of(found.addition, hello), "addition", PREFIX + found.addition
    case = from_finding(
        finding,
        reason=says,
        claim=claim.id if claim is not None else finding.clause,
        protocol=asked["protocol"],
        against=against_text(asked["against"], hello.version),
        parameters=found.parameters,
        seed=found.seed,
        found_by=command_of(asked["protocol"], asked["against"], profile=asked["profile"]),
        profile=profile_text(asked["against"], asked["profile"]),
        without=found.without,
        quirks_in_force=found.in_force,
        argument=_argument(finding.clause),
        status="observed" if quirk is not None and quirk.kind == "reading" else "open",
    )
    return {
        "clause": finding.clause,
        "quirk": cause,
        "kind": kind,
        "says": says,
        "case": render(case),
        "also": [q.name for q in finding.quirks[1:6]],
        "holds_on_ours": _control(asked, finding, found),
    }


def _argument(clause: str) -> str:
    """What the text says: its words where they are short, our paraphrase otherwise."""
    known = load().get(clause)
    if known is None:
        return ""
    said = f'"{known.quote}"' if known.quote else known.text
    return " ".join(f"{known.document}: {said}".split())


def _settles(text: str, hunt: FindingSearch, opener: Any) -> bool:
    """Whether the router, as built of all quirks that were found, no longer departs in this case."""
    case = parse(text)
    run = play(events_of(case), opener(config_of(case)), hunt.protocol, parameters_of(case))
    return not last_departures(run) and not run.blurred


def _control(asked: dict[str, Any], finding: Finding, found: ReplayableFinding) -> bool | None:
    """Whether our own router passes the same events under the plain specification."""
    protocol = protocol_named(asked["protocol"])
    config = Config(seed=found.seed, protocol=asked["protocol"], parameters=found.parameters)
    try:
        subject = opener_of("ours")(config)
    except (AdapterError, ValueError):
        return None
    return not last_departures(play(finding.events, subject, protocol, found.parameters))


def main() -> int:
    # Runs make many small values and few cycles, and to look for those took a tenth of the time.
    gc.set_threshold(20_000, 20, 20)
    asked = json.loads(sys.stdin.read())
    # What a router prints must not end up in the answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    try:
        answer = run(asked)
    except AdapterError as error:
        answer = {"broken": str(error)}
    json.dump(answer, answers)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
