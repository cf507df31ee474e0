"""The results of `quidnunc prove` as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.result import ProofResult

HEAD = """\
# What `quidnunc prove` decides

Each row is one statement and the engine that decided it. A proof is *vacuous* if its condition cannot occur.
`quidnunc prove NAME` prints the evidence, and the shortest trace where a statement is refuted. The pages in
[results](results/) give the reasons.
"""


def recheck_summary(questions: SolverSession) -> str:
    """What cvc5 made of the questions, as the end of a sentence; empty where it was not asked."""
    if not questions.recheck:
        return ""
    return (
        f"; cvc5 agreed on {questions.rechecked} and disagreed on none; it ran out of time on "
        f"{questions.unanswered} and was not asked {questions.not_rechecked}"
    )


def page(results: Sequence[ProofResult], questions: SolverSession, budget: str | None) -> Iterator[str]:
    """The page in Markdown, line by line: a row for each result, and what the rows assume."""
    assumed = list(dict.fromkeys(a for result in results for a in result.assumptions))
    again = f"quidnunc prove{f' --recheck {budget}' if budget else ''} --markdown"
    yield HEAD
    seconds = sum(result.seconds for result in results)
    yield f"Made by `{again}`:"
    yield f"{questions.asked} questions to z3{recheck_summary(questions)};"
    yield f"{seconds:.0f} s of CPU in all{', with those of cvc5' if questions.recheck else ''}."
    yield ""
    yield "| line | says | verdict | scope | assumes | engine | s | vacuous |"
    yield "|---|---|---|---|---|---|---|---|"
    for result in results:
        numbers = ", ".join(str(assumed.index(a) + 1) for a in result.assumptions) or "-"
        verdict = "refuted" if result.verdict == "refuted" else f"**{result.verdict}**"
        cells = [f"`{result.name}`", result.text, verdict, result.scope, numbers, result.engine]
        cells += [f"{result.seconds:.1f}", "**yes**" if result.vacuous else "no"]
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
    yield ""
    yield "Assumptions, by number:"
    yield ""
    yield from (f"{number}. {text}" for number, text in enumerate(assumed, 1))
