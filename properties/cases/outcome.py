"""What a replay of a case came to, of one router or of a network."""

from __future__ import annotations

from typing import Literal, TypeAlias

from attrs import frozen

from quidnunc.properties.cases.case import Case, Status
from quidnunc.properties.cases.file import body_of
from quidnunc.properties.judge.oracle import Departure
from quidnunc.properties.judge.play import Moment

Outcome: TypeAlias = Literal["same", "different", "fixed", "holds", "departs", "inconclusive"]
"""`same`: fails as recorded. `different`: fails in another way. `fixed`: no longer reproduces. A case that
must hold either `holds` or `departs`. `inconclusive`: the replay could not tell."""
MUST_HOLD: frozenset[Status] = frozenset({"fixed", "suite"})


@frozen(kw_only=True)
class CaseReplay:
    """What a replay came to."""

    case: Case
    outcome: Outcome
    reason: str
    """The outcome in a sentence."""
    departures: tuple[Departure, ...] = ()
    """Of one router. A network breaks its claim."""
    at: int | None = None
    """Which event departed, or which act broke the claim, from 0."""
    reached: int = 0
    """How many events were played; of one router."""
    rewritten: Case
    """The case with outputs anew; what was not reached has none."""
    moments: tuple[Moment, ...] = ()
    version: str = ""
    """What the router that was replayed calls its version; empty for a network."""

    @property
    def departs(self) -> bool:
        return self.outcome in ("same", "different", "departs")

    @property
    def as_expected(self) -> bool:
        """Whether the status of the case says so."""
        return self.outcome in ("same", "holds")

    @property
    def divergence(self) -> str:
        """The block that departs, as text; empty where none does."""
        for block, lines in zip(self.rewritten.blocks, body_of(self.rewritten), strict=True):
            if block.departs:
                return "\n".join(lines)
        return ""
