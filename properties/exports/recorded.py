"""The questions of a session, kept so that those of a line can be written out."""

from __future__ import annotations

import re

from attrs import define, field, frozen

from quidnunc.properties.solver.questions import Answer

_FORM = {"v1.1": ", v1.1: ", "published": ", published: "}
_OF_SCORES = {
    "no-shadowing": re.compile("no-shadowing of"),
    "punished": re.compile("is punished"),
    "good-is-good": re.compile("is good"),
    "fair": re.compile(": fair"),
}
"""Property of scores -> what its questions are called. All are asked before the first line is told."""


@frozen
class RecordedQuestion:
    """A question as it was asked, and the answer."""

    name: str
    text: str
    """Declarations and assertions, in SMT-LIB."""
    answer: Answer


@define
class QuestionRecorder:
    """Keeps the questions of a session until the line that they belong to is told."""

    pending: list[RecordedQuestion] = field(factory=list)

    def add(self, name: str, text: str, answer: Answer) -> None:
        """A question was asked."""
        self.pending.append(RecordedQuestion(name, _body(text), answer))

    def taken(self, line: str) -> tuple[RecordedQuestion, ...]:
        """The questions of a line, which has just been told; those of later lines are left."""
        prover, *rest = line.split(".", 2)
        mine, later = self.pending, list[RecordedQuestion]()
        if prover.startswith("scores-") and rest:
            kind, form = _OF_SCORES[rest[0]], _FORM[rest[1]]
            mine = [each for each in self.pending if kind.search(each.name) and form in each.name]
            later = [each for each in self.pending if not (kind.search(each.name) and form in each.name)]
        self.pending = later
        return tuple(mine)


def _body(text: str) -> str:
    """Declarations and assertions alone, as z3 writes them."""
    lines = [line for line in text.splitlines() if line and not line.startswith((";", "(set-info"))]
    return "\n".join(line for line in lines if line != "(check-sat)")
