"""Which committed cases come out otherwise under NEW than under OLD.

Each case of a folder whose protocol is that of one of the two sides is replayed to the router it is about,
once judged by OLD and once by NEW, with the departures in force that the case names. A case of a network is
played by the rules of either. What can not be replayed is left out, and told with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from attrs import evolve, frozen

from quidnunc.impl.seam import AdapterError
from quidnunc.model.errors import CaseError, SpecError
from quidnunc.model.quirks import as_built, quirk_named
from quidnunc.properties.cases import Case, replay, router_of
from quidnunc.properties.network_case import NetworkCase, family_of, load_either
from quidnunc.properties.network_replay import replay_network
from quidnunc.properties.play import Opener, act_of
from quidnunc.properties.sides import Side

MAX_CASES = 2000
"""Files of one folder that are looked at."""

Openers: TypeAlias = Callable[[str], Opener]
"""The name of a router -> how it is opened."""


@frozen
class CaseOutcome:
    """A case that comes out otherwise."""

    path: str
    router: str
    old: str
    """`holds`, `inconclusive`, or `departs: ` and what is done or left out."""
    new: str


@frozen
class LeftOut:
    """A case that was not replayed by both, and why."""

    path: str
    reason: str


@frozen
class Committed:
    """What came of the cases of one folder."""

    folder: str
    replayed: int
    changed: tuple[CaseOutcome, ...]
    left_out: tuple[LeftOut, ...]
    others: int
    """Cases of protocols that neither side is of."""


def committed_outcomes(
    folder: Path,
    old: Side,
    new: Side,
    openers: Openers,
    progress: Callable[[str], None] = lambda text: None,
) -> Committed:
    """Replay the cases of `folder` and of those in it. Raises CaseError for a file that is no case, and
    where there are more than `MAX_CASES`."""
    paths = sorted(folder.rglob("*.case"))
    if len(paths) > MAX_CASES:
        raise CaseError(
            f"{folder}: expected at most {MAX_CASES} cases, got {len(paths)}; name a folder in it"
        )
    cases = [load_either(path) for path in paths]
    meant = [case for case in cases if case.protocol in (old.base, new.base)]
    changed: list[CaseOutcome] = []
    left_out: list[LeftOut] = []
    for at, case in enumerate(meant, 1):
        progress(f"{old.name} -> {new.name}: committed cases, {at} of {len(meant)}")
        router = case.against if isinstance(case, NetworkCase) else router_of(case)
        try:
            was, now = (_outcome(case, side, openers) for side in (old, new))
        except (AdapterError, CaseError, SpecError) as error:
            left_out.append(LeftOut(case.path, str(error)))
            continue
        if was != now:
            changed.append(CaseOutcome(case.path, router, was, now))
    replayed = len(meant) - len(left_out)
    return Committed(str(folder), replayed, tuple(changed), tuple(left_out), len(cases) - len(meant))


def _outcome(case: Case | NetworkCase, side: Side, openers: Openers) -> str:
    """Raises AdapterError, CaseError or SpecError where the case can not be replayed."""
    if isinstance(case, NetworkCase):
        return _of_network(case, side)
    protocol = as_built(side.protocol, [quirk_named(name, side.protocol) for name in case.as_built])
    try:
        case = evolve(case, parameters=side.parameters(case.parameters))
        replayed = replay(case, openers(router_of(case)), protocol)
    except KeyError as error:
        raise CaseError(f"a rule of {side.name} asks for {error}, which it has not") from None
    except (AdapterError, CaseError):
        raise
    except ValueError as error:
        # No such router here, or the parameters of the case do not go with those that the side sets.
        raise CaseError(str(error)) from None
    if replayed.departs:
        return _told([f"{d.kind} {act_of(d)}" for d in replayed.departures])
    return "inconclusive" if replayed.outcome == "inconclusive" else "holds"


def _of_network(case: NetworkCase, side: Side) -> str:
    if side.name != side.base:
        raise CaseError(f"a network is of protocols of the kit, and {side.name} is an edit of {side.base}")
    if not family_of(side.base).about(case.claim, side.base):
        raise CaseError(f"its claim is not about {side.base}")
    replayed = replay_network(case, side.base)
    if replayed.departs:
        return _told([next(b.broken for b in reversed(replayed.rewritten.blocks) if b.broken)])
    return "inconclusive" if replayed.outcome == "inconclusive" else "holds"


def _told(what: Sequence[str]) -> str:
    return f"departs: {', '.join(sorted(set(what)))}"
