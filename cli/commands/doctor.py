"""quidnunc doctor: what a driver can do, and which claims can be tested with it."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any

from attrs import evolve, frozen

from quidnunc.arguments import checked_protocol, hello_from, protocols_spoken
from quidnunc.impl.seam import CAPABILITIES, Hello, Profile
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS, protocol_named
from quidnunc.output import UsageError, count, print_json, show, table
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.fitting import fitted_parameters
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.claims.catalogue import breach_of, claims_of, clauses_asked, ground_of, level_of
from quidnunc.properties.claims.claim import Claim
from quidnunc.properties.judge.play import Moment, Opener
from quidnunc.properties.suite.files import suite_of

PLAYED_TWICE = 20
"""So many cases of a suite, evenly spread over it, are played a second time."""

NOT_TESTED = """\
tested: that the driver answers, and that each claim can hold: `holds` says that it applied in a case
  of the suite and nothing departed there
not tested: what the suite does not play (`quidnunc check` searches), wall-clock time, networks of routers"""


@frozen
class ClaimControl:
    """One claim: a run in which it applies and holds, or why there is none."""

    claim: Claim
    clauses: tuple[str, ...]
    """Those of the claim that the protocol asks."""
    state: str
    """holds, fails (in every case where it applies something departs), unsupported, or none."""
    cases: tuple[str, ...]
    """Cases of the suite in which it applies and nothing departs."""
    reason: str

    @property
    def binding(self) -> bool:
        """Whether a router that departs from it fails."""
        return any(breach_of(c) == "fails" for c in self.clauses)


@frozen
class DriverExamination:
    """A router under one protocol."""

    protocol: str
    hello: Hello
    replayed: int
    left_out: tuple[tuple[str, int], ...]
    """(what the driver lacks, how many cases of the suite were not played for it)."""
    controls: tuple[ClaimControl, ...]
    twice: int = 0
    """How many cases were played a second time."""
    unlike: tuple[str, ...] = ()
    """Those of them in which the router did something else then."""

    @property
    def lacking(self) -> tuple[str, ...]:
        """The capabilities of a driver that this one does not announce."""
        return tuple(sorted(CAPABILITIES - self.hello.capabilities))

    @property
    def without_control(self) -> tuple[ClaimControl, ...]:
        return tuple(c for c in self.controls if c.state != "holds" and c.binding)


def run(options: argparse.Namespace) -> int:
    if options.protocol:
        names = [checked_protocol(options.protocol)]
    else:
        names = [name for name in protocols_spoken(options.router) if _has_suite(name)]
    if not names:
        raise UsageError(f"no protocol that {options.router} speaks has a suite; `make suite` writes one")
    examined = [examine(options.router, name, options.profile) for name in names]
    if options.json:
        protocols = [as_json(each) for each in examined]
        print_json(
            {
                "schema": 1,
                "router": options.router,
                "not_spoken": not_spoken(examined),
                "protocols": protocols,
            }
        )
    else:
        _print(examined, options)
    return exit_status(examined)


def exit_status(examined: Sequence[DriverExamination]) -> int:
    """Each claim that can fail is to have a control in each protocol that was tried."""
    return 3 if any(each.without_control for each in examined) else 0


def not_spoken(examined: Sequence[DriverExamination]) -> list[str]:
    """The protocols of the same families that the router does not speak."""
    spoken = {name for each in examined for name in (each.protocol, *each.hello.protocols)}
    families = {protocol_named(each.protocol).family for each in examined}
    return [n for n, spec in PROTOCOLS.items() if spec.family in families and n not in spoken]


def _has_suite(name: str) -> bool:
    try:
        return bool(suite_of(name))
    except SpecError:
        return False


def examine(router: str, protocol: str, profile: Profile = "shipped") -> DriverExamination:
    """Run the controls of a protocol's claims, which are the cases of its suite."""
    if not _has_suite(protocol):
        raise UsageError(f"no suite for {protocol!r}; `make suite` writes it")
    from quidnunc.properties.search.worker import opener_of

    hello = hello_from(router, protocol, profile)
    opener = opener_of(router)
    applied: dict[str, set[str]] = {}
    broken: dict[str, set[str]] = {}
    departing: set[str] = set()
    played: dict[str, tuple[Case, tuple[Moment, ...]]] = {}
    left_out: Counter[str] = Counter()
    for rule, case in suite_of(protocol):
        parameters, lacking = fitted_parameters(case, hello)
        if lacking:
            left_out.update([", ".join(lacking)])
            continue
        fitted = evolve(case, parameters=parameters, profile=profile)
        replayed = replay_router(fitted, opener)
        played[rule] = fitted, tuple(replayed.moments)
        departing |= {rule} if replayed.departs else set()
        for moment in replayed.moments:
            for clause in (*moment.judged.because, *moment.judged.spent):
                applied.setdefault(clause, set()).add(rule)
            for departure in moment.judged.departures:
                broken.setdefault(departure.clause, set()).add(rule)
    spec = protocol_named(protocol)
    controls = []
    for claim in claims_of(spec):
        held = set().union(*(applied.get(c, ()) for c in claim.clauses)) - departing
        fails = set().union(*(broken.get(c, ()) for c in claim.clauses))
        controls.append(control_of(claim, clauses_asked(claim, spec), hello, held, fails, bool(departing)))
    again = [*played][:: max(1, len(played) // PLAYED_TWICE)][:PLAYED_TWICE]
    unlike = [rule for rule in again if not _does_the_same(*played[rule], opener)]
    return DriverExamination(
        protocol,
        hello,
        len(played),
        tuple(left_out.most_common()),
        tuple(controls),
        len(again),
        tuple(unlike),
    )


def _does_the_same(case: Case, moments: tuple[Moment, ...], opener: Opener) -> bool:
    """Whether the router does in a second run of the case what it did in the first, in whatever order."""
    again = replay_router(case, opener).moments
    return [Counter(m.outputs) for m in again] == [Counter(m.outputs) for m in moments]


def control_of(
    claim: Claim, asked: tuple[str, ...], hello: Hello, held: set[str], fails: set[str], departs: bool
) -> ClaimControl:
    """`held` and `fails` are the cases in which it held all through, and in which the router breaks it."""
    if lacking := sorted(claim.needs - hello.capabilities):
        return ClaimControl(claim, asked, "unsupported", (), f"the driver lacks: {', '.join(lacking)}")
    if held:
        return ClaimControl(claim, asked, "holds", tuple(sorted(held)), "")
    if fails:
        where = ", ".join(sorted(fails)[:3])
        return ClaimControl(claim, asked, "fails", (), f"fails wherever it applies: {where}")
    if departs:
        return ClaimControl(claim, asked, "none", (), "applies in no case that the router passes")
    return ClaimControl(claim, asked, "none", (), "never applies in the suite; a search may reach it")


def _print(examined: Sequence[DriverExamination], options: argparse.Namespace) -> None:
    first = examined[0].hello
    show(f"doctor of {options.router}: {first.name} {first.version}")
    for each in examined:
        hello = each.hello
        print(
            f"\n{each.protocol}: {each.replayed} of {len(suite_of(each.protocol))} cases of the suite played"
        )
        print(f"  {_repeats(each)}")
        for what, number in each.left_out:
            print(f"  not played: {count(number, 'case')}; needed: {what}")
        print(f"  can do: {', '.join(sorted(hello.capabilities)) or 'nothing beyond the common requests'}")
        print(f"  lacks: {', '.join(each.lacking) or 'nothing'}")
        for name, value in sorted(dict(hello.fixed).items()):
            print(f"  sets {name} to {value:g}; other values are not checked")
        for what in hello.switched:
            show(f"  {what}")
        rows = [
            (c.claim.id, ground_of(*c.clauses), c.state, len(c.cases), c.reason or "-") for c in each.controls
        ]
        print("\n" + table(("claim", "why", "control", "cases", "why not"), rows))
        if each.without_control:
            without = ", ".join(c.claim.id for c in each.without_control)
            print(f"claims that can fail, without a control: {without}")
    print(f"\n{NOT_TESTED}")
    if not options.protocol:
        _print_tried(examined)
    if exit_status(examined):
        said = ", ".join(f"{len(e.without_control)} of {e.protocol}" for e in examined if e.without_control)
        print(f"\nexit 3: claims that can fail were seen to hold in no run: {said}")
    words = ["quidnunc", "doctor", options.router]
    words += ["--protocol", options.protocol] if options.protocol else []
    words += ["--profile", "spec"] if options.profile == "spec" else []
    print(f"\nagain: {shlex.join(words)}")


def _repeats(each: DriverExamination) -> str:
    """Whether what is found can be found again."""
    if not each.unlike:
        return f"does the same twice: {count(each.twice, 'case')} played again"
    return (
        f"DOES NOT DO THE SAME TWICE: {len(each.unlike)} of {each.twice} cases, such as {each.unlike[0]}; "
        "what is random there does not follow from the seed, and a finding may not replay"
    )


def _print_tried(examined: Sequence[DriverExamination]) -> None:
    """Which protocols were tried, which the router does not have, and where its claims have no control."""
    print(f"\ntried: {', '.join(each.protocol for each in examined)}")
    print(f"does not speak: {', '.join(not_spoken(examined)) or 'no other of its family'}")
    for each in examined:
        departs = [c.claim.id for c in each.without_control if c.state == "fails"]
        if departs:
            print(f"{each.protocol}: departs wherever these apply: {', '.join(departs)}")


def as_json(each: DriverExamination) -> dict[str, Any]:
    """One protocol of a doctor's report."""
    return {
        "protocol": each.protocol,
        "name": each.hello.name,
        "version": each.hello.version,
        "speaks": list(each.hello.protocols),
        "capabilities": sorted(each.hello.capabilities),
        "lacks": list(each.lacking),
        "fixed": dict(each.hello.fixed),
        "additions": dict(each.hello.additions),
        "switched": list(each.hello.switched),
        "not_played": dict(each.left_out),
        "played_twice": each.twice,
        "unlike": list(each.unlike),
        "claims": [
            {
                "id": c.claim.id,
                "level": level_of(*c.clauses),
                "why": ground_of(*c.clauses),
                "control": c.state,
                "cases": list(c.cases),
                "reason": c.reason,
            }
            for c in each.controls
        ],
    }
