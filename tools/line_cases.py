"""Cases of refuted lines of `quidnunc prove`: schedules of whole routers, by the names of the lines.

    python -m tools.line_cases counterexamples     write them anew

`SHOWN` has the case of each refuted line about links, stars and routes, and `UNSHOWN` the reason why there is
none (a test holds both against docs/prove.md). Claims are in `quidnunc.properties.statements.line_claims`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import evolve, frozen

from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.properties.cases.case import MODEL, Case, CaseBlock
from quidnunc.properties.cases.file import render, schedule_of
from quidnunc.properties.networks.places import SMALL
from tools.network_cases import new_case

STAR = evolve(SMALL, d=1, prune_backoff_s=1)
"""A hub that cuts to one member above two, as the stars of `quidnunc explore` have it."""
HALF = DogParameters(target_redundancy=0.5)
"""One duplicate for each new transaction is too much."""


@frozen(kw_only=True)
class LineCase:
    """How one line is shown by routers."""

    line: str
    clause: str
    protocol: str
    reason: str
    argument: str
    links: tuple[tuple[int, int], ...]
    acts: str
    before: str = ""
    """Acts that have led to where it begins."""
    parameters: Parameters | DogParameters = STAR

    @property
    def path(self) -> str:
        """From the folder of counterexamples on."""
        return f"proofs/{self.line}.case"

    def case(self) -> Case:
        """The case, played by the model. Raises CaseError where it breaks nothing."""
        act_of = schedule_of(self.protocol).event
        acts = tuple(act_of(each.strip()) for each in self.acts.split(","))
        bare = Case(
            reason=self.reason,
            claim=self.line,
            clause=self.clause,
            protocols=self.protocol,
            against=MODEL,
            found_by=f"quidnunc prove {self.line.split('.')[0]}",
            argument=self.argument,
            parameters=self.parameters,
            nodes=tuple(sorted({i for link in self.links for i in link})),
            links=self.links,
            before=tuple(act_of(each.strip()) for each in self.before.split(",") if each),
            blocks=(CaseBlock(acts),),
            path=self.path,
        )
        return new_case(bare)


_IN = ((2, 1), (3, 1), (4, 1))
"""The leaves have dialled the hub, A."""
_OUT = ((1, 2), (1, 3), (1, 4))
_BACK = "The state comes back, after a heartbeat of each; what happened may happen so for ever."
_ROUND = ", rounds 1"
LONG = 40
"""Rounds after which the backoffs of the beginning are forgotten."""

_STARS = (
    LineCase(
        line="mesh-star.ceiling",
        clause="gs1.0/graft.accept",
        protocol="gossipsub-1.0",
        reason="In v1.0 a hub has more than D_high members until its next heartbeat: it takes every GRAFT.",
        argument="A is the hub.",
        links=_IN,
        before="settle",
        acts="all join t, heartbeat D, settle",
    ),
    LineCase(
        line="mesh-star.rest",
        clause="gs1.0/heartbeat.cut",
        protocol="gossipsub-1.0",
        reason="In v1.0 a crowded hub drops leaves at every heartbeat, and they are back at the next.",
        argument=f"A is the hub. {_BACK}",
        links=_IN,
        before="settle",
        acts="all join t" + 2 * _ROUND,
    ),
    LineCase(
        line="mesh-star.quiet",
        clause="gs1.0/heartbeat.fill",
        protocol="gossipsub-1.0",
        reason="In v1.0 the leaves of a crowded hub send GRAFTs without end.",
        argument=f"A is the hub. {_BACK}",
        links=_IN,
        before="settle",
        acts="all join t" + 2 * _ROUND,
    ),
    LineCase(
        line="mesh-star-inbound.quiet",
        clause="gs1.1/outbound.inbound-refused",
        protocol="gossipsub-1.1",
        reason="A leaf that a full hub refuses asks again whenever its backoff is over, and is refused.",
        argument=f"A is the hub. {_BACK} So it shows as well how a leaf never gets in.",
        links=_IN,
        before="settle",
        acts="all join t" + 2 * _ROUND,
    ),
    LineCase(
        line="mesh-star-inbound-go.rest",
        clause="gs1.0/heartbeat.cut",
        protocol="gossipsub-1.1",
        reason="A hub that cuts at D_high, as go does, drops a leaf, and takes one after a backoff.",
        argument=f"A is the hub, and all have the reading cut-at-d-high. {_BACK}",
        links=_IN,
        before=f"settle, all join t, rounds {LONG}",
        acts="rounds 1, rounds 1",
    ),
    LineCase(
        line="mesh-star-inbound-go.quiet",
        clause="gs1.0/heartbeat.cut",
        protocol="gossipsub-1.1",
        reason="The leaves of a crowded hub that cuts at D_high, as go does, send GRAFTs without end.",
        argument=f"A is the hub, and all have the reading cut-at-d-high. {_BACK}",
        links=_IN,
        before=f"settle, all join t, rounds {LONG}",
        acts="rounds 1, rounds 1",
    ),
    LineCase(
        line="mesh-star-outbound.ceiling",
        clause="gs1.1/outbound.accepted-when-full",
        protocol="gossipsub-1.1",
        reason="A full hub takes the GRAFT of whom it has dialled, and has more than D_high members then.",
        argument="A is the hub.",
        links=_OUT,
        before="settle",
        acts="all join t" + _ROUND,
    ),
    LineCase(
        line="mesh-star-outbound.rest",
        clause="gs1.1/outbound.accepted-when-full",
        protocol="gossipsub-1.1",
        reason="A hub that has dialled its leaves drops some, and takes them again after their backoff.",
        argument=f"A is the hub. {_BACK}",
        links=_OUT,
        before="settle",
        acts="all join t" + 4 * _ROUND,
    ),
    LineCase(
        line="mesh-star-outbound.quiet",
        clause="gs1.1/outbound.accepted-when-full",
        protocol="gossipsub-1.1",
        reason="The leaves of a crowded hub that has dialled them send GRAFTs without end.",
        argument=f"A is the hub. {_BACK}",
        links=_OUT,
        before="settle",
        acts="all join t" + 4 * _ROUND,
    ),
)

_RING = ((1, 2), (1, 3), (2, 3))
_TWICE = (
    "submit C t1, offer C, deliver C>A, deliver C>B, offer B, deliver B>A, deliver A>B, adjust A, "
    "submit B t2, offer B, deliver B>A, deliver B>C, offer C, deliver C>A, deliver A>C"
)
_BLOCKED = "submit A t3, submit A t3, adjust A, "
_SUFFIXES = ("", "-adr", "-adr-prose", "-quint", "-go", "-proposed")

_ROUTES = tuple(
    LineCase(
        line=f"dog-routes{suffix}.not-cut-off",
        clause="dog/controller.reset",
        protocol=f"dog{suffix}",
        reason="One duplicate from each neighbour, and none hands on what it has from the other.",
        argument="A is the target: it says HaveTx to B, finds too much, and says HaveTx to C."
        + (" It begins blocked, and what its own user repeats frees it." if suffix == "-adr-prose" else ""),
        links=_RING,
        acts=(_BLOCKED if suffix == "-adr-prose" else "") + _TWICE,
        parameters=HALF,
    )
    for suffix in _SUFFIXES
)

CASES: tuple[LineCase, ...] = (*_STARS, *_ROUTES)

SHOWN: Mapping[str, str] = {
    "mesh-link": "proofs/mesh-link.case",
    "mesh-link-backoff-any": "proofs/mesh-link-backoff-any.case",
    "mesh-link-backoff-announced": "proofs/mesh-link-backoff-announced.case",
    "dog-routes-quint.progress": "networks/messages.can-be-taken.dog-quint.case",
    **{each.line: each.path for each in CASES},
}
"""Refuted line -> its case, from the folder of counterexamples on."""

_ALONE = "it is about states that no run need reach, and a case is a run"
_NOT_SAID = "routers announce their topics, and this variant leaves that out; -announced is the same with it"
_CHANCE = "it is about all runs from a state, none of which lets the leaf in; .quiet shows one of them"
_UNFAIR = (
    "a run for ever in which routes are cut again needs ever new transactions, so that no state of a router "
    "comes back, and a case ends"
)
_NEVER = "what never happens, a message that is never taken, is no act of a schedule"
_STUCK = (
    "it follows from .progress: what cannot be taken mends nothing, for ever; "
    "messages.can-be-taken.dog-quint shows that"
)

UNSHOWN: Mapping[str, str] = {
    "mesh-link-backoff.claim-alone": _ALONE,
    "mesh-link-backoff-waits.claim-alone": _ALONE,
    "mesh-link-backoff-silent": _NOT_SAID,
    "mesh-link-backoff-unsub": _NOT_SAID,
    "mesh-star-inbound.admits": _CHANCE,
    "dog-routes-quint.route-reset": _STUCK,
    "dog-routes-quint.route-reset.components": _STUCK,
    **{f"dog-routes{suffix}.route-reset.without-stays-low": _UNFAIR for suffix in _SUFFIXES},
    **{f"dog-routes{suffix}.route-reset.without-fair-choice": _UNFAIR for suffix in _SUFFIXES},
    **{f"dog-routes{suffix}.route-reset.without-messages-are-taken": _NEVER for suffix in _SUFFIXES},
}
"""Refuted line -> why no case shows it."""


def written_cases(cases: Sequence[LineCase] = CASES) -> Iterator[tuple[str, str]]:
    """(path, text) of each case. Raises CaseError for one that breaks nothing, or is too long."""
    for each in cases:
        yield each.path, render(each.case(), strict=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the cases."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.line_cases", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folder", type=Path, help="the folder of counterexamples")
    asked = parser.parse_args(arguments)
    for path, text in written_cases():
        whole: Path = asked.folder / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_text(text, encoding="utf-8")
        print(whole)
    return 0


if __name__ == "__main__":
    sys.exit(main())
