"""Questions to a solver: each is asked of z3, may be written out as SMT-LIB, and asked again of cvc5."""

from __future__ import annotations

import importlib.util
import math
import re
import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Literal, TypeAlias

from attrs import define, field

from quidnunc.model.errors import SpecError
from quidnunc.properties.lazy import z3
from quidnunc.properties.solver.rules import Expression

Answer: TypeAlias = Literal["sat", "unsat", "unknown"]
Values: TypeAlias = Mapping[str, int]
"""A satisfying assignment: symbol -> value, a Bool being 0 or 1. Symbols that do not matter are absent."""

Numbers: TypeAlias = Mapping[str, Fraction]
"""The same of whole numbers and reals. A value that is no ratio is cut to one, so it must be tried again."""

TIMEOUT_MS = 120_000
SHARE_MS = 500
"""Milliseconds that one question may take of each second that cvc5 has left."""
BIT_VECTORS = "QF_BV"
ARITHMETIC = "QF_NIRA"
"""Whole numbers and reals, multiplied with each other."""
APPROXIMATE_DIGITS = 20
INTERRUPTED = "interrupted"
"""In z3's words for a signal from the keyboard."""


@define
class SolverSession:
    """A run of questions: how many there were, and who answered."""

    smt2: Path | None = None
    """A folder that every question is written to."""
    told: Callable[[str, str, Answer], None] | None = None
    """Is told every question: its name, its text in SMT-LIB, the answer."""
    recheck: bool = False
    """Whether cvc5 is asked too; where the two contradict each other a SpecError is raised."""
    recheck_s: float = math.inf
    """Seconds of CPU that cvc5 may still take; where they are spent, z3 alone is asked."""
    asked: int = 0
    rechecked: int = 0
    """Questions that cvc5 answered as z3 did."""
    unanswered: int = 0
    """Those that cvc5 did not answer in its time."""
    not_rechecked: int = 0
    """Those that it was not asked, as its time was spent."""
    unknown: list[str] = field(factory=list)
    """Names of questions that z3 did not decide."""

    def ask(self, name: str, *statements: Expression) -> tuple[Answer, Values]:
        """Whether all `statements` can hold at once, and an assignment under which they do."""
        answer, model = self._ask(name, statements, BIT_VECTORS, TIMEOUT_MS)
        return answer, (_values(model) if answer == "sat" else {})

    def solve(
        self, name: str, *statements: Expression, timeout_ms: int = TIMEOUT_MS
    ) -> tuple[Answer, Numbers]:
        """The same of statements about whole numbers and reals."""
        answer, model = self._ask(name, statements, ARITHMETIC, timeout_ms)
        return answer, (_numbers(model) if answer == "sat" else {})

    def _ask(
        self, name: str, statements: tuple[Expression, ...], logic: str, timeout_ms: int
    ) -> tuple[Answer, Expression]:
        solver = z3.Solver()
        solver.set("timeout", timeout_ms)
        solver.add(*statements)
        answer = answer_of_z3(solver)
        self.asked += 1
        if answer == "unknown":
            self.unknown.append(name)
        if self.told is not None:
            self.told(name, solver.to_smt2(), answer)
        if self.smt2 is not None or self.recheck:
            self._again(name, f"(set-logic {logic})\n{solver.to_smt2()}", answer)
        return answer, (solver.model() if answer == "sat" else None)

    def valid(self, name: str, statement: Expression) -> bool:
        """Whether `statement` holds under every assignment."""
        return self.ask(name, z3.Not(statement))[0] == "unsat"

    def possible(self, name: str, *statements: Expression) -> bool:
        return self.ask(name, *statements)[0] == "sat"

    def _again(self, name: str, text: str, answer: Answer) -> None:
        if self.smt2 is not None:
            self.smt2.mkdir(parents=True, exist_ok=True)
            path = self.smt2 / f"{self.asked:04d}-{re.sub(r'[^A-Za-z0-9.-]+', '_', name)}.smt2"
            path.write_text(f"; {name}: z3 says {answer}\n{text}", encoding="utf-8")
        if self.recheck and self.recheck_s <= 0:
            self.not_rechecked += 1
        elif self.recheck:
            self._compare(name, text, answer)

    def _compare(self, name: str, text: str, answer: Answer) -> None:
        """Ask cvc5, within what it may still take. Raises SpecError where it contradicts z3."""
        started = time.process_time()
        # One hard question must not use up what others are to have.
        second = answer_of_cvc5(text, int(max(1, min(TIMEOUT_MS, SHARE_MS * self.recheck_s))))
        self.recheck_s -= time.process_time() - started
        if {second, answer} == {"sat", "unsat"}:
            raise SpecError(f"{name}: z3 says {answer}, cvc5 says {second}; --smt2 DIR writes the question")
        self.rechecked += second == answer
        self.unanswered += second != answer


def answer_of_z3(solver: Expression) -> Answer:
    """What z3 answers. Raises KeyboardInterrupt, which z3 takes for a reason not to know."""
    answer: Answer = str(solver.check())  # type: ignore[assignment]
    if answer == "unknown" and INTERRUPTED in solver.reason_unknown():
        raise KeyboardInterrupt
    return answer


def has_cvc5() -> bool:
    return importlib.util.find_spec("cvc5") is not None


def answer_of_cvc5(text: str, timeout_ms: int = TIMEOUT_MS) -> Answer:
    """What cvc5 answers to a question in SMT-LIB, unknown where it takes longer or cannot read it."""
    import cvc5

    solver = cvc5.Solver()
    solver.setOption("tlimit-per", str(timeout_ms))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "question")
    symbols = parser.getSymbolManager()
    said = ""
    try:
        while not (command := parser.nextCommand()).isNull():
            said += command.invoke(solver, symbols)
    except RuntimeError:
        return "unknown"
    words = said.split()
    return next((w for w in ("unsat", "sat") if w in words), "unknown")


def _values(model: Expression) -> Values:
    found = {}
    for symbol in model.decls():
        value = model[symbol]
        found[symbol.name()] = int(z3.is_true(value)) if z3.is_bool(value) else value.as_long()
    return found


def _numbers(model: Expression) -> Numbers:
    found = {}
    for symbol in model.decls():
        value = model[symbol]
        if z3.is_algebraic_value(value):
            value = value.approx(APPROXIMATE_DIGITS)
        if z3.is_int_value(value):
            found[symbol.name()] = Fraction(value.as_long())
        elif z3.is_rational_value(value):
            found[symbol.name()] = Fraction(value.numerator_as_long(), value.denominator_as_long())
        elif z3.is_bool(value):
            found[symbol.name()] = Fraction(int(z3.is_true(value)))
    return found
