"""What is proved of scores: the prior model's properties on its configurations, and an algebra for any
parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from attrs import evolve, frozen

from quidnunc.properties.lazy import z3
from quidnunc.properties.params.claims import CellSolver, Property, PropertyCell, cells, fair_statement
from quidnunc.properties.params.file import read_file, shipped_files
from quidnunc.properties.params.read import network_of
from quidnunc.properties.params.rules import followed, rules
from quidnunc.properties.params.score import FORMS, Form
from quidnunc.properties.params.values import NetworkParameters, decimal
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.result import ProofResult
from quidnunc.properties.solver.rules import Expression
from quidnunc.properties.solver.unfold import by_definition

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
    return [*(f"{PREFIX}{name}" for name in shipped_files()), "score-algebra"]


def of_published(name: str, questions: SolverSession) -> Iterator[ProofResult]:
    """The four properties on one configuration, in both forms of the score."""
    network = network_of(read_file(shipped_files()[name]))
    network = evolve(network, topics=tuple(map(followed, network.topics)))
    for form in FORMS:
        found = list(cells(network, questions, form))
        for each, text in TEXTS.items():
            result = _result(name, form, network, text, [c for c in found if c.property == each])
            yield _read_off(result, CellSolver(network, form, questions)) if each == "fair" else result


def _read_off(result: ProofResult, asked: CellSolver) -> ProofResult:
    """The line about equal counters, which repeats that a score is a function of them, if it does."""
    said = fair_statement(asked)
    if result.verdict == "proved" and by_definition(said.equal, z3.Not(said.unequal)):
        return evolve(result, verdict="by definition")
    return result


def _result(
    name: str, form: Form, network: NetworkParameters, text: str, found: Sequence[PropertyCell]
) -> ProofResult:
    verdicts = {cell.verdict for cell in found}
    refuted = [cell for cell in found if cell.verdict == "refuted"]
    void = [cell for cell in found if cell.verdict == "vacuous"]
    proved = [cell for cell in found if cell.verdict == "proved"]
    evidence = [*map(_shown, refuted)]
    evidence += [f"vacuous: {_where(cell)}" for cell in void]
    evidence.append(
        f"of {len(found)} cells {len(proved)} are proved, {len(refuted)} refuted, {len(void)} vacuous"
    )
    return ProofResult(
        name=f"{PREFIX}{name}.{found[0].property}.{form}",
        text=text,
        verdict="refuted" if refuted else "undetermined" if "undetermined" in verdicts else "proved",
        scope=f"{network.name}; the score as {'in v1.1' if form == 'v1.1' else 'in the published model'}",
        assumptions=(ANY_COUNTERS, OTHERS, MEMBER),
        engine="z3, exact rationals; each witness computed again in fractions",
        vacuous=not refuted and not proved,
        evidence=tuple(evidence),
    )


def _where(cell: PropertyCell) -> str:
    parts = [part for part in (cell.term, cell.topic) if part]
    if cell.property != "fair":
        parts.append("whole counters" if cell.whole else "real counters")
    if cell.property == "no-shadowing":
        parts.append("application free" if cell.application else "application silent")
    elif cell.topic:
        parts.append("past the activation" if cell.settled else "at any time")
    return ", ".join(parts)


def _shown(cell: PropertyCell) -> str:
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
class ScoreLemma:
    """One statement about scores under any parameters that v1.1 allows."""

    name: str
    text: str
    premise: Expression
    conclusion: Expression
    besides: tuple[str, ...] = ()


@frozen(kw_only=True)
class _LemmaSymbols:
    """The symbols of the lemmas, and what is true of all parameters and counters."""

    of: Symbols
    allowed: Expression
    counted: Expression

    def score(self, q: Expression, f: Expression, m: Expression, b: Expression, i: Expression) -> Expression:
        """A topic's score past the activation."""
        o = rules().signed(self.of)
        short = z3.If(m < o["threshold"], o["threshold"] - m, 0)
        good = o["w1"] * z3.If(q < o["cap1"], q, o["cap1"]) + o["w2"] * f
        return o["topic_weight"] * (good + o["w3"] * short * short + o["w3b"] * b + o["w4"] * i * i)

    def decayed(self, counter: Expression) -> Expression:
        left = counter * self.of["decay"]
        return z3.If(left < self.of["to_zero"], 0, left)


def _parts() -> _LemmaSymbols:
    names = "topic_weight w1 w2 w3 w3b w4 cap1 cap2 cap3 threshold decay to_zero "
    names += "quanta first meshed failures invalid more"
    o = {name: z3.Real(name) for name in names.split()}
    allowed = z3.And(
        *(o[name] >= 0 for name in ("topic_weight", "w1", "w2")),
        *(o[name] <= 0 for name in ("w3", "w3b", "w4")),
        *(o[name] > 0 for name in ("cap1", "cap2", "threshold")),
        *(z3.And(0 < o[name], o[name] < 1) for name in ("decay", "to_zero")),
        o["cap3"] >= o["threshold"],
    )
    counted = z3.And(
        *(o[name] >= 0 for name in ("quanta", "first", "meshed", "failures", "invalid", "more")),
        o["first"] <= o["cap2"],
        o["meshed"] <= o["cap3"],
    )
    return _LemmaSymbols(of=o, allowed=allowed, counted=counted)


def lemmas() -> Iterator[ScoreLemma]:
    """The algebra, over one topic: a sum of topics has it too."""
    parts = _parts()
    yield from _of_scores(parts)
    yield from _of_decay(parts)


def _of_scores(parts: _LemmaSymbols) -> Iterator[ScoreLemma]:
    o, any_counters = parts.of, z3.And(parts.allowed, parts.counted)
    quanta, first, meshed, failures, invalid, more = (
        o[name] for name in ("quanta", "first", "meshed", "failures", "invalid", "more")
    )
    now = parts.score(quanta, first, meshed, failures, invalid)
    yield ScoreLemma(
        name="upper-bound",
        text="a topic's score is at most its weight times P1 and P2 at their caps",
        premise=any_counters,
        conclusion=now <= o["topic_weight"] * (o["w1"] * o["cap1"] + o["w2"] * o["cap2"]),
    )
    yield ScoreLemma(
        name="invalid-never-helps",
        text="an invalid message never raises the score of its topic",
        premise=any_counters,
        conclusion=parts.score(quanta, first, meshed, failures, invalid + 1) <= now,
    )
    yield ScoreLemma(
        name="delivery-never-hurts",
        text="a first delivery, counted for the mesh too, never lowers the score of its topic",
        premise=z3.And(any_counters, first + more <= o["cap2"], meshed + more <= o["cap3"]),
        conclusion=parts.score(quanta, first + more, meshed + more, failures, invalid) >= now,
    )
    yield ScoreLemma(
        name="clean-is-not-negative",
        text="who delivers enough, nothing invalid, and has no failures has no score below zero in the topic",
        premise=z3.And(any_counters, meshed >= o["threshold"], failures == 0, invalid == 0),
        conclusion=now >= 0,
    )


def _of_decay(parts: _LemmaSymbols) -> Iterator[ScoreLemma]:
    o, any_counters = parts.of, z3.And(parts.allowed, parts.counted)
    quanta, first, meshed, failures, invalid = (
        o[name] for name in ("quanta", "first", "meshed", "failures", "invalid")
    )
    raised = first + o["more"]
    capped = z3.If(raised < o["cap2"], raised, o["cap2"]) if rules().caps_counters else raised
    then = parts.decayed(capped)
    yield ScoreLemma(
        name="counter-stays-in-bounds",
        text="a counter that is raised under its cap and decays stays between zero and its cap",
        premise=any_counters,
        conclusion=z3.And(then >= 0, then <= o["cap2"]),
    )
    outside = parts.score(0, 0, o["threshold"], failures, invalid)
    later = parts.score(0, 0, o["threshold"], parts.decayed(failures), parts.decayed(invalid))
    yield ScoreLemma(
        name="forgiveness",
        text="a decay never lowers the score of a peer that is outside the mesh and has no first deliveries",
        premise=any_counters,
        conclusion=later >= outside,
    )
    decayed = [parts.decayed(counter) for counter in (first, meshed, failures, invalid)]
    yield ScoreLemma(
        name="silence-is-free",
        text="a decay never lowers the score of a mesh member",
        premise=any_counters,
        conclusion=parts.score(quanta, *decayed) >= parts.score(quanta, first, meshed, failures, invalid),
        besides=("that this is refuted is as it should be: silence costs P2 and P3",),
    )


def algebra(questions: SolverSession) -> Iterator[ProofResult]:
    """Every lemma, with whether its premise can be met."""
    for lemma in lemmas():
        answer, _ = questions.solve(f"score-algebra: {lemma.name}", lemma.premise, z3.Not(lemma.conclusion))
        met, _ = questions.solve(f"score-algebra: {lemma.name}: its premise", lemma.premise, lemma.conclusion)
        yield ProofResult(
            name=f"score-algebra.{lemma.name}",
            text=lemma.text,
            verdict="proved" if answer == "unsat" else "refuted" if answer == "sat" else "undetermined",
            scope="every weight, cap, threshold and factor that v1.1 allows; one topic",
            assumptions=(ANY_COUNTERS, "the activation is over"),
            engine="z3, real arithmetic",
            vacuous=met != "sat",
            evidence=lemma.besides,
        )
