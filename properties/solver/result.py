"""One line of `quidnunc prove`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from attrs import frozen

from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.rules import NetworkModel
from quidnunc.properties.solver.trace import NetworkTrace

Verdict: TypeAlias = Literal["proved", "refuted", "undetermined", "by definition"]
"""`by definition`: what holds whatever the numbers are, as it repeats a rule; it is not counted as proved."""


@frozen(kw_only=True)
class ProofResult:
    """What was decided, of what, under which assumptions, and how."""

    name: str
    text: str
    verdict: Verdict
    scope: str
    assumptions: tuple[str, ...]
    engine: str
    seconds: float = 0.0
    """Of CPU."""
    vacuous: bool
    """Whether the statement holds only because nothing that it speaks of occurs; such a proof is none."""
    evidence: tuple[str, ...] = ()
    """What was shown on the way, and the reasons that a person can read."""
    trace: NetworkTrace | None = None
    clauses: tuple[str, ...] = ()
    """The sentences of the specifications that the statement rests on."""
    states: tuple[NetworkModel, str] | None = None
    """The network whose reachable states were all gone through, and the claim that was asked of them."""
    edit: str = ""
    """The rule, changed so that a proof fails; empty where no such change is named."""
    edit_of: str = ""
    """The clause of that rule."""
    edited: str = ""
    """What becomes of the line under that edit; empty where it was not tried."""


Prover: TypeAlias = Callable[[SolverSession], Iterator[ProofResult]]
