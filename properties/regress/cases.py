"""Which committed cases come out otherwise under NEW than under OLD.

Each case of a folder whose protocol is that of one of the two sides is replayed to the router it is about,
once judged by OLD and once by NEW, with the departures in force that the case names. A case of a network is
played by the rules of either. What cannot be replayed is left out, and told with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import evolve, frozen

from quidnunc.impl.seam import AdapterError
from quidnunc.model.edit import edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.errors import CaseError, SpecError
from quidnunc.properties.cases.case import Case, RefusedRouterError, router_of
from quidnunc.properties.cases.file import load
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.judge.play import act_of
from quidnunc.properties.regress.sides import Side
from quidnunc.properties.replays.network import claims_on, replay_network
from quidnunc.properties.replays.replay import Openers

MAX_CASES = 2000
"""Files of one folder that are looked at."""


@frozen
class CaseOutcome:
    """A case that comes out otherwise."""

    path: str
    router: str
    old: str
    """`holds`, `inconclusive`, or `departs: ` and what is done or left out."""
    new: str


@frozen
class SkippedCase:
    """A case that was not replayed by both, and why."""

    path: str
    reason: str


@frozen
class CaseFolderOutcome:
    """What came of the cases of one folder."""

    folder: str
    replayed: int
    changed: tuple[CaseOutcome, ...]
    left_out: tuple[SkippedCase, ...]
    others: int
    """Cases of protocols that neither side is of."""


def committed_outcomes(
    folder: Path, old: Side, new: Side, openers: Openers, progress: Callable[[str], None] = lambda text: None
) -> CaseFolderOutcome:
    """Replay the cases of `folder` and of those in it. Raises CaseError for a file that is no case, and
    where there are more than `MAX_CASES`."""
    paths = sorted(folder.rglob("*.case"))
    if len(paths) > MAX_CASES:
        raise CaseError(
            f"{folder}: expected at most {MAX_CASES} cases, got {len(paths)}; name a folder in it"
        )
    cases = [load(path, folder) for path in paths]
    meant = [case for case in cases if {old.base, new.base}.intersection(case.protocols)]
    changed: list[CaseOutcome] = []
    left_out: list[SkippedCase] = []
    for at, case in enumerate(meant, 1):
        progress(f"{old.name} -> {new.name}: committed cases, {at} of {len(meant)}")
        try:
            router = router_of(case)
            was, now = (_outcome(case, side, openers) for side in (old, new))
        except (AdapterError, CaseError, RefusedRouterError, SpecError) as error:
            left_out.append(SkippedCase(case.path, str(error)))
            continue
        if was != now:
            changed.append(CaseOutcome(case.path, router, was, now))
    replayed = len(meant) - len(left_out)
    return CaseFolderOutcome(str(folder), replayed, tuple(changed), tuple(left_out), len(cases) - len(meant))


def _outcome(case: Case, side: Side, openers: Openers) -> str:
    """Raises AdapterError, CaseError or SpecError where the case cannot be replayed."""
    if case.is_network:
        return _of_network(case, side)
    protocol = edited(side.protocol, [edit_named(name, side.protocol) for name in case.as_built])
    try:
        case = evolve(case, parameters=side.parameters(case.parameters))
        replayed = replay_router(case, openers(router_of(case)), protocol)
    except KeyError as error:
        raise CaseError(f"a rule of {side.name} needs {error}, which is missing") from None
    except (AdapterError, CaseError):
        raise
    except ValueError as error:
        # No such router here, or the parameters of the case do not go with those that the side sets.
        raise CaseError(str(error)) from None
    if replayed.departs:
        return _told([f"{d.kind} {act_of(d)}" for d in replayed.departures])
    return "inconclusive" if replayed.outcome == "inconclusive" else "holds"


def _of_network(case: Case, side: Side) -> str:
    if side.name != side.base:
        raise CaseError(f"a network is of protocols of the kit, and {side.name} is an edit of {side.base}")
    if not claims_on(side.base).about(case.claim, side.base):
        raise CaseError(f"its claim is not about {side.base}")
    replayed = replay_network(case, side.base)
    if replayed.departs:
        return _told([next(b.broken for b in reversed(replayed.rewritten.blocks) if b.broken)])
    return "inconclusive" if replayed.outcome == "inconclusive" else "holds"


def _told(what: Sequence[str]) -> str:
    return f"departs: {', '.join(sorted(set(what)))}"
