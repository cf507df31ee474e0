"""What is proved of scores: the prior model's properties on its configurations, and an algebra for any
parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from attrs import frozen

from quidnunc.properties.network_result import Result
from quidnunc.properties.network_rules import Expression
from quidnunc.properties.network_solver import Questions
from quidnunc.properties.params_claims import Cell, Property, cells
from quidnunc.properties.params_file import read_file
from quidnunc.properties.params_read import network_of
from quidnunc.properties.params_score import FORMS, Form
from quidnunc.properties.params_shipped import shipped
from quidnunc.properties.params_values import Network, decimal

PREFIX = "scores-"
TEXTS: dict[Property, str] = {
    "no-shadowing": "a topic in which a peer scores below zero does not hide under a total above zero",
    "punished": "more of what is bad lowers the total",
    "good-is-good": "more of what is good never lowers the score of its topic",
    "fair": "equal counters have equal scores",
}
ANY_COUNTERS = "any counters that their caps allow, reachable by a run or not"
OTHERS = "the other topics may add as much as their caps allow"
MEMBER = "the peer is a member of the mesh of each topic"


def names() -> list[str]:
    """What there is to decide."""
    return [*(f"{PREFIX}{name}" for name in shipped()), "score-algebra"]


def of_published(name: str, questions: Questions) -> Iterator[Result]:
    """The four properties on one configuration, in both forms of the score."""
    network = network_of(read_file(shipped()[name]))
    for form in FORMS:
        found = list(cells(network, questions, form))
        for each, text in TEXTS.items():
            yield _result(name, form, network, text, [c for c in found if c.property == each])


def _result(name: str, form: Form, network: Network, text: str, found: Sequence[Cell]) -> Result:
    verdicts = {cell.verdict for cell in found}
    refuted = [cell for cell in found if cell.verdict == "refuted"]
    void = [cell for cell in found if cell.verdict == "vacuous"]
    proved = [cell for cell in found if cell.verdict == "proved"]
    evidence = [*map(_shown, refuted)]
    evidence += [f"vacuous: {_where(cell)}" for cell in void]
    evidence.append(
        f"of {len(found)} cells {len(proved)} are proved, {len(refuted)} refuted, {len(void)} vacuous"
    )
    return Result(
        name=f"{PREFIX}{name}.{found[0].property}.{form}",
        text=text,
        verdict="refuted" if refuted else "undetermined" if "undetermined" in verdicts else "proved",
        scope=f"{network.name}; the score as {'in v1.1' if form == 'v1.1' else 'in the published model'}",
        assumptions=(ANY_COUNTERS, OTHERS, MEMBER),
        engine="z3, exact rationals; each witness computed again in fractions",
        vacuous=not refuted and not proved,
        evidence=tuple(evidence),
    )


def _where(cell: Cell) -> str:
    parts = [part for part in (cell.term, cell.topic) if part]
    if cell.property != "fair":
        parts.append("whole counters" if cell.whole else "real counters")
    if cell.property == "no-shadowing":
        parts.append("application free" if cell.application else "application silent")
    elif cell.topic:
        parts.append("past the activation" if cell.settled else "at any time")
    return ", ".join(parts)


def _shown(cell: Cell) -> str:
    values = []
    for label, counters in (("", cell.before), ("then ", cell.after)):
        if counters is not None:
            said = [
                f"{name} {getattr(counters, name)}"
                for name in ("time_ms", "first", "meshed", "failures", "invalid")
                if getattr(counters, name)
            ]
            values.append(f"{label}{', '.join(said) or 'all zero'}")
    totals = " and ".join(decimal(total) for total in cell.totals)
    return f"refuted: {_where(cell)}: {'; '.join(values)}: {totals}"


# -- for any parameters -------------------------------------------------------------------------------------

Symbols: TypeAlias = dict[str, Any]


@frozen(kw_only=True)
class Lemma:
    """One statement about scores under any parameters that v1.1 allows."""

    name: str
    text: str
    premise: Expression
    conclusion: Expression
    besides: tuple[str, ...] = ()


def lemmas() -> Iterator[Lemma]:
    """The algebra, over one topic: a sum of topics has it too."""
    from z3 import And, If, Implies, Reals

    tw, w1, w2, w3, w3b, w4 = Reals("topic_weight w1 w2 w3 w3b w4")
    cap1, cap2, cap3, threshold, decay, to_zero = Reals("cap1 cap2 cap3 threshold decay to_zero")
    quanta, first, meshed, failures, invalid, more = Reals("quanta first meshed failures invalid more")
    allowed = And(tw >= 0, w1 >= 0, w2 >= 0, w3 <= 0, w3b <= 0, w4 <= 0, cap1 > 0, cap2 > 0, threshold > 0)
    allowed = And(allowed, cap3 >= threshold, 0 < decay, decay < 1, 0 < to_zero, to_zero < 1)
    counted = And(0 <= quanta, 0 <= first, first <= cap2, 0 <= meshed, meshed <= cap3)
    counted = And(counted, failures >= 0, invalid >= 0)

    def score(q: Expression, f: Expression, m: Expression, b: Expression, i: Expression) -> Expression:
        short = If(m < threshold, threshold - m, 0)
        return tw * (w1 * If(q < cap1, q, cap1) + w2 * f + w3 * short * short + w3b * b + w4 * i * i)

    def decayed(counter: Expression) -> Expression:
        return If(counter * decay < to_zero, 0, counter * decay)

    now = score(quanta, first, meshed, failures, invalid)
    yield Lemma(
        name="upper-bound",
        text="a topic's score is at most its weight times P1 and P2 at their caps",
        premise=And(allowed, counted),
        conclusion=now <= tw * (w1 * cap1 + w2 * cap2),
    )
    yield Lemma(
        name="invalid-never-helps",
        text="an invalid message never raises the score of its topic",
        premise=And(allowed, counted),
        conclusion=score(quanta, first, meshed, failures, invalid + 1) <= now,
    )
    yield Lemma(
        name="delivery-never-hurts",
        text="a first delivery, counted for the mesh too, never lowers the score of its topic",
        premise=And(allowed, counted, 0 <= more, first + more <= cap2, meshed + more <= cap3),
        conclusion=score(quanta, first + more, meshed + more, failures, invalid) >= now,
    )
    yield Lemma(
        name="counter-stays-in-bounds",
        text="a counter that is raised under its cap and decays stays between zero and its cap",
        premise=And(allowed, counted, more >= 0),
        conclusion=And(
            decayed(If(first + more < cap2, first + more, cap2)) >= 0,
            decayed(If(first + more < cap2, first + more, cap2)) <= cap2,
        ),
    )
    yield Lemma(
        name="forgiveness",
        text="a decay never lowers the score of a peer that is outside the mesh and has no first deliveries",
        premise=And(allowed, counted),
        conclusion=score(0, 0, threshold, decayed(failures), decayed(invalid))
        >= score(0, 0, threshold, failures, invalid),
    )
    yield Lemma(
        name="clean-is-not-negative",
        text="who delivers enough, nothing invalid, and has no failures has no score below zero in the topic",
        premise=And(allowed, counted, meshed >= threshold, failures == 0, invalid == 0),
        conclusion=now >= 0,
    )
    yield Lemma(
        name="silence-costs",
        text="one decay never lowers the score of a mesh member",
        premise=And(allowed, counted),
        conclusion=Implies(
            quanta >= 0,
            score(quanta, decayed(first), decayed(meshed), decayed(failures), decayed(invalid)) >= now,
        ),
        besides=("that it is refuted is as it should be: silence costs P2 and P3",),
    )


def algebra(questions: Questions) -> Iterator[Result]:
    """Every lemma, with whether its premise can be met."""
    for lemma in lemmas():
        from z3 import Not

        answer, _ = questions.solve(f"score-algebra: {lemma.name}", lemma.premise, Not(lemma.conclusion))
        met, _ = questions.solve(f"score-algebra: {lemma.name}: its premise", lemma.premise, lemma.conclusion)
        yield Result(
            name=f"score-algebra.{lemma.name}",
            text=lemma.text,
            verdict="proved" if answer == "unsat" else "refuted" if answer == "sat" else "undetermined",
            scope="every weight, cap, threshold and factor that v1.1 allows; one topic",
            assumptions=(ANY_COUNTERS, "the activation is over"),
            engine="z3, real arithmetic",
            vacuous=met != "sat",
            evidence=lemma.besides,
        )
