"""Lines of `quidnunc prove` as instances that another tool can check, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from attrs import evolve, frozen

from quidnunc.model.errors import SpecError
from quidnunc.properties.exports.heads import not_exported, reason_of
from quidnunc.properties.exports.promela import promela_lines
from quidnunc.properties.exports.recorded import QuestionRecorder
from quidnunc.properties.exports.smtlib import smtlib_lines
from quidnunc.properties.proofs.citations import clauses_of_line
from quidnunc.properties.proofs.prove import provers
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.result import ProofResult

MAX_BYTES = 64 << 20
"""Of one file."""


@frozen(kw_only=True)
class ExportedLine:
    """A line, and its instance."""

    result: ProofResult
    suffix: str = ""
    text: str = ""
    why_not: str = ""
    """Why there is no instance; empty where there is one."""

    @property
    def file(self) -> str:
        return f"{self.result.name}{self.suffix}"


def exported_lines(name: str) -> Iterator[ExportedLine]:
    """Decides the lines of a name, and writes each out. Raises KeyError."""
    recorder = QuestionRecorder()
    for found in provers()[name](SolverSession(told=recorder.add)):
        questions = recorder.taken(found.name)
        result = evolve(found, clauses=clauses_of_line(found.name, name))
        states = result.states or (result.trace and (result.trace.network, result.trace.claim))
        if result.verdict == "undetermined":
            yield ExportedLine(result=result, why_not="it is not decided")
        elif questions and reason_of(result.engine):
            yield _written(result, ".smt2", partial(smtlib_lines, result, questions))
        elif states:
            yield _written(result, ".pml", partial(promela_lines, result, *states))
        else:
            yield ExportedLine(result=result, why_not=not_exported(result.engine))


def _written(result: ProofResult, suffix: str, lines: Callable[[], Iterator[str]]) -> ExportedLine:
    try:
        text = "\n".join(lines()) + "\n"
    except SpecError as error:
        return ExportedLine(result=result, why_not=str(error))
    if len(text) > MAX_BYTES:
        return ExportedLine(result=result, why_not=f"its instance has more than {MAX_BYTES >> 20} MiB")
    return ExportedLine(result=result, suffix=suffix, text=text)


def write_line(line: ExportedLine, folder: Path) -> Path:
    """Writes the instance of a line into a folder. Raises OSError."""
    path = folder / line.file
    path.write_text(line.text, encoding="utf-8")
    return path
