"""A line that z3 decided, as one file in SMT-LIB: each question with the answer that the verdict rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quidnunc.properties.exports.heads import commented, head, reason_of
from quidnunc.properties.exports.recorded import RecordedQuestion
from quidnunc.properties.solver.result import ProofResult

CHECK = (
    "cvc5 --incremental FILE, or z3 FILE. {questions} answers come, one for each (check-sat); each must be "
    "the `:status` in front of it. {reason}"
)


def smtlib_lines(result: ProofResult, questions: Sequence[RecordedQuestion]) -> Iterator[str]:
    """The lines of the file."""
    check = CHECK.format(questions=len(questions), reason=reason_of(result.engine))
    yield from commented(head(result, check), ";")
    yield "(set-logic ALL)"
    for number, question in enumerate(questions, 1):
        yield f"\n; {number} of {len(questions)}: {' '.join(question.name.split())}"
        yield f"(push 1)\n{question.text}\n(set-info :status {question.answer})\n(check-sat)\n(pop 1)"
