"""What playing one known bug on its two releases came to."""

from __future__ import annotations

from typing import Literal, TypeAlias

from attrs import frozen

from quidnunc.impl.seam import AdapterError, NotBuiltError
from quidnunc.model.errors import SpecError
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.outcome import CaseReplay
from quidnunc.properties.cases.router import protocol_of
from quidnunc.properties.cases.telling import departing_run
from quidnunc.properties.recall.bugs import KnownBug
from quidnunc.properties.replays.replay import Openers, replay

RecallState: TypeAlias = Literal[
    "found", "missed", "still departs", "inconclusive", "skipped", "broken", "not driven"
]
"""`found`: the affected release departs, and the fixed one does not. `missed`: the affected release does not
depart. `still departs`: both do. `skipped`: a release is not built here. `broken`: a driver failed."""


@frozen(kw_only=True)
class ReleaseReplay:
    """The case on one release."""

    release: str
    version: str
    """What the router itself calls its version."""
    departs: bool
    inconclusive: bool
    clause: str
    """The clause that it breaks; empty where it does not depart."""
    reason: str


@frozen(kw_only=True)
class RecallResult:
    """One row of the table, and what came of it."""

    bug: KnownBug
    state: RecallState
    reason: str = ""
    before: ReleaseReplay | None = None
    after: ReleaseReplay | None = None

    @property
    def found_before(self) -> bool:
        """Whether the affected release departs."""
        return self.before is not None and self.before.departs

    @property
    def gone_after(self) -> bool:
        """Whether the affected release departs and the fixed one does not."""
        return self.state == "found"

    @property
    def right_clause(self) -> bool:
        """Whether the departure of the affected release is filed under a clause of the row."""
        return self.before is not None and self.before.departs and self.before.clause in self.bug.right


def recall(bug: KnownBug, case: Case | None, openers: Openers) -> RecallResult:
    """Play the case of a bug, if it has one, on both releases. Nothing is built or fetched."""
    if case is None:
        return RecallResult(bug=bug, state="not driven", reason=bug.not_driven)
    before: ReleaseReplay | None = None
    try:
        before = _played(case, bug.releases[0], openers)
        after = _played(case, bug.releases[1], openers)
    except NotBuiltError as error:
        return RecallResult(bug=bug, state="skipped", reason=str(error), before=before)
    except (AdapterError, SpecError, ValueError) as error:
        return RecallResult(bug=bug, state="broken", reason=str(error), before=before)
    state, reason = _compared(before, after)
    return RecallResult(bug=bug, state=state, reason=reason, before=before, after=after)


def _played(case: Case, release: str, openers: Openers) -> ReleaseReplay:
    found = replay(case, openers, against=release)
    return ReleaseReplay(
        release=release,
        version=found.version,
        departs=found.departs,
        inconclusive=found.outcome == "inconclusive",
        clause=_clause(case, found),
        reason=found.reason,
    )


def _clause(case: Case, found: CaseReplay) -> str:
    told = departing_run(found.moments, protocol_of(case), case.parameters) if found.departs else None
    return told.clause if told is not None else ""


def _compared(before: ReleaseReplay, after: ReleaseReplay) -> tuple[RecallState, str]:
    unclear = next((each for each in (before, after) if each.inconclusive), None)
    if unclear is not None:
        return "inconclusive", f"{unclear.release}: {unclear.reason}"
    if not before.departs:
        return "missed", f"{before.release}: {before.reason}"
    if after.departs:
        return "still departs", f"{after.release}: {after.reason}"
    return "found", before.reason
