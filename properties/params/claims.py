"""The four properties of the prior formal model, decided for given parameters: each cell apart.

`no-shadowing`: a topic in which a peer scores below zero does not hide under a total above zero.
`punished`: what is bad, if there is more of it, lowers the total. `good-is-good`: what is good, if there is
more of it, does not lower the score of its topic. `fair`: equal counters have equal scores.

A topic's score is bounded by its greatest one, and the total never falls when a topic's score rises. So where
other topics can hide one, they hide it best at their greatest, and need no symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import Literal, TypeAlias

from attrs import evolve, frozen

from quidnunc.model.errors import SpecError
from quidnunc.properties.lazy import z3
from quidnunc.properties.params.score import (
    Form,
    PeerCounters,
    TopicCounters,
    counters_in,
    deficit_of,
    global_score,
    never_fractions,
    possible,
    rational,
    symbols,
    topic_expression,
    topic_score,
    total_score,
)
from quidnunc.properties.params.values import ZERO, NetworkParameters, TopicParameters
from quidnunc.properties.solver.questions import Numbers, SolverSession
from quidnunc.properties.solver.rules import Expression

Property: TypeAlias = Literal["no-shadowing", "punished", "good-is-good", "fair"]
Verdict: TypeAlias = Literal["proved", "refuted", "vacuous", "undetermined"]

MAX_SINCE = 400
"""Decays since its invalid messages after which a witness is looked for."""
QUESTION_MS = 10_000
"""How long z3 may take over one cell."""

BAD_OF_TOPIC = {"P3": "meshed", "P3b": "failures", "P4": "invalid"}
"""Term -> the counter that is worse; of P3 it is the one that is less."""
BAD_OF_PEER = {"P6": "colocated", "P7": "behaviour"}
GOOD = {"P1": "time_ms", "P2": "first", "P3": "meshed"}


@frozen
class PropertyCell:
    """One property of one term of one topic, under hypotheses, and what became of it."""

    property: Property
    topic: str
    """Empty where it is about no topic."""
    term: str
    """Empty for a property of the whole."""
    verdict: Verdict
    whole: bool = False
    """Whether counters are whole numbers, as if nothing decayed; otherwise they are real."""
    application: bool = True
    """Whether the application's score is free; otherwise it is 0."""
    settled: bool = False
    """Whether the activation is over; otherwise the time in the mesh is free."""
    before: TopicCounters | None = None
    after: TopicCounters | None = None
    """Of `punished` and `good-is-good`: the counters after what was done."""
    totals: tuple[Fraction, ...] = ()
    """What the counters come to, computed apart from the solver."""
    others: Fraction = ZERO
    """What the other topics add to it."""
    held: PeerCounters | None = None
    decays: int | None = None
    """Of `no-shadowing`: a run reaches the counters, so many decays after its invalid messages. None: z3's
    counters are under their caps, and whether a run reaches them is not known."""


@frozen
class CellSolver:
    """What all cells of a network share."""

    network: NetworkParameters
    form: Form
    questions: SolverSession

    def others(self, topic: TopicParameters) -> Fraction:
        """The most that the topics but one of this kind add."""
        return self.network.greatest - topic.greatest

    def solve(self, label: str, *statements: Expression) -> tuple[str, Numbers]:
        name = f"{self.network.name}, {self.form}: {label}"
        return self.questions.solve(name, *statements, timeout_ms=QUESTION_MS)

    def verdict(self, label: str, premise: Expression, broken: Expression) -> tuple[Verdict, Numbers]:
        """Whether `broken` can be where the premise is; and whether the premise ever is."""
        answer, values = self.solve(label, premise, broken)
        if answer == "sat":
            return "refuted", values
        if answer == "unknown":
            return "undetermined", {}
        met, _ = self.solve(f"{label}: its premise", premise)
        return ("proved" if met == "sat" else "vacuous" if met == "unsat" else "undetermined"), {}


def cells(
    network: NetworkParameters, questions: SolverSession, form: Form = "v1.1"
) -> Iterator[PropertyCell]:
    """Every cell of a network's parameters."""
    asked = CellSolver(network, form, questions)
    both = (False, True)
    for topic in network.topics:
        for whole, application in product(both, both):
            yield no_shadowing(asked, topic, whole=whole, application=application)
        for term, whole, settled in product(BAD_OF_TOPIC, both, both):
            yield punished(asked, topic, term, whole=whole, settled=settled)
        for term, settled in product(GOOD, both):
            yield good_is_good(asked, topic, term, settled=settled)
    for term in BAD_OF_PEER:
        yield punished_besides(asked, term)
    yield fair(asked)


def _settled(topic: TopicParameters, of: Mapping[str, Expression]) -> Expression:
    return of["time_ms"] > rational(topic.mesh_message_deliveries_activation_ms)


def no_shadowing(
    asked: CellSolver, topic: TopicParameters, *, whole: bool, application: bool, as_if_decaying: bool = False
) -> PropertyCell:
    """Whether a topic's score below zero shows in the total; `as_if_decaying`: if every counter did decay."""
    network = asked.network
    of = symbols("", whole=whole, always_whole=frozenset() if as_if_decaying else never_fractions(topic))
    score = topic_expression(topic, of, asked.form)
    others = asked.others(topic)
    sum_ = score + rational(others)
    cap = rational(network.topic_score_cap)
    total = z3.If(sum_ < cap, sum_, cap) if network.topic_score_cap else sum_
    said = z3.Real("application")
    if application:
        total += rational(network.app_specific_weight) * said
    premise = z3.And(possible(topic, of), score < 0, said >= 0)
    label = f"no-shadowing of {topic.name}, {_kind(whole)}, application {'free' if application else 'silent'}"
    verdict, values = asked.verdict(label, premise, total > 0)
    cell = PropertyCell("no-shadowing", topic.name, "", verdict, whole=whole, application=application)
    if verdict != "refuted":
        return cell
    counters = counters_in(values)
    held = PeerCounters(application=values.get("application", ZERO) if application else ZERO)

    def hides(at: TopicCounters) -> bool:
        score = topic_score(topic, at, asked.form)
        return score < 0 < total_score(network, score + others, held, asked.form)

    met = None if as_if_decaying else reachable_witness(topic, counters, hides)
    counters = counters if met is None else met.counters
    own = topic_score(topic, counters, asked.form)
    whole_score = total_score(network, own + others, held, asked.form)
    _again(own < 0 < whole_score, label)
    decays = None if met is None else met.decays
    return evolve(cell, before=counters, totals=(own, whole_score), others=others, held=held, decays=decays)


@frozen
class ReachableWitness:
    """Counters that a run reaches: whole ones, and invalid messages that have decayed so often since."""

    counters: TopicCounters
    decays: int


def reachable_witness(
    topic: TopicParameters, counters: TopicCounters, hides: Callable[[TopicCounters], bool]
) -> ReachableWitness | None:
    """Counters near those of z3 that a run reaches and that hide as well; None where there are none near."""
    decay, invalid = topic.invalid_message_deliveries_decay, Fraction(ceil(counters.invalid))
    rounded = [
        evolve(counters, first=Fraction(first), meshed=Fraction(meshed))
        for first, meshed in product(
            (floor(counters.first), ceil(counters.first)), (floor(counters.meshed), ceil(counters.meshed))
        )
        if first <= topic.first_message_deliveries_cap and meshed <= topic.mesh_message_deliveries_cap
    ]
    threshold = topic.mesh_message_deliveries_threshold
    # A failure counts what is lacking, squared: at least one message, where the threshold is a whole number.
    if counters.failures and (
        counters.failures.denominator != 1 or threshold.denominator != 1 or threshold < 1
    ):
        return None
    for decays in range(MAX_SINCE if 0 < decay < 1 and invalid else 1):
        for each in rounded:
            tried = evolve(each, invalid=invalid * decay**decays if decays else invalid)
            if hides(tried):
                return ReachableWitness(tried, decays)
    return None


def punished(
    asked: CellSolver, topic: TopicParameters, term: str, *, whole: bool, settled: bool
) -> PropertyCell:
    """Whether more of what is bad in a topic lowers the total, whatever the other topics add."""
    network, counter = asked.network, BAD_OF_TOPIC[term]
    kept = never_fractions(topic)
    of, then = (symbols(prefix, whole=whole, always_whole=kept) for prefix in ("", "then_"))
    worse = then[counter] < of[counter] if term == "P3" else then[counter] > of[counter]
    if term == "P3":
        short, shorter = deficit_of(topic, of), deficit_of(topic, then)
        # Before the activation the deficit is zero by definition; what is lacking is not.
        threshold = rational(topic.mesh_message_deliveries_threshold)
        worse = z3.And(worse, shorter > short) if settled else z3.And(worse, then["meshed"] < threshold)
    same = z3.And(*(of[name] == then[name] for name in of if name != counter))
    premise = z3.And(possible(topic, of), possible(topic, then), same, worse)
    premise = z3.And(premise, _settled(topic, of)) if settled else premise
    score, after = (topic_expression(topic, each, asked.form) for each in (of, then))
    others = asked.others(topic)
    cap = rational(network.topic_score_cap - others)
    hidden = after >= cap if network.topic_score_cap else z3.BoolVal(False)
    label = f"{term} of {topic.name} is punished, {_kind(whole)}, {_when(settled)}"
    verdict, values = asked.verdict(label, premise, z3.Or(after >= score, hidden))
    cell = PropertyCell("punished", topic.name, term, verdict, whole=whole, settled=settled)
    if verdict != "refuted":
        return cell
    before, later = counters_in(values), counters_in(values, "then_")
    totals = tuple(
        total_score(network, topic_score(topic, each, asked.form) + others, PeerCounters(), asked.form)
        for each in (before, later)
    )
    _again(totals[1] >= totals[0], label)
    return evolve(cell, before=before, after=later, totals=totals, others=others)


def punished_besides(asked: CellSolver, term: str) -> PropertyCell:
    """Whether more peers on an address, or more misbehaviour, lowers the total."""
    network = asked.network
    now, then = z3.Real("now"), z3.Real("then")
    weight = network.ip_colocation_factor_weight if term == "P6" else network.behaviour_penalty_weight
    free = network.behaviour_penalty_threshold if term == "P7" and asked.form == "v1.1" else ZERO

    def value(of: Expression) -> Expression:
        if term == "P6" and asked.form == "published":
            return rational(weight) * of
        beyond = z3.If(of > rational(free), of - rational(free), rational(ZERO))
        return rational(weight) * beyond * beyond

    premise = z3.And(now >= 0, then > now)
    label = f"{term} is punished"
    verdict, values = asked.verdict(label, premise, value(then) >= value(now))
    cell = PropertyCell("punished", "", term, verdict)
    if verdict != "refuted":
        return cell
    counter = BAD_OF_PEER[term]
    held = [PeerCounters(**{counter: values.get(name, ZERO)}) for name in ("now", "then")]
    totals = tuple(global_score(network, each, asked.form) for each in held)
    _again(totals[1] >= totals[0], label)
    return evolve(cell, totals=totals, held=held[1])


def good_is_good(asked: CellSolver, topic: TopicParameters, term: str, *, settled: bool) -> PropertyCell:
    """Whether more of what is good never lowers the score of its topic."""
    counter, kept = GOOD[term], never_fractions(topic)
    of, then = (symbols(prefix, whole=False, always_whole=kept) for prefix in ("", "then_"))
    same = z3.And(*(of[name] == then[name] for name in of if name != counter))
    premise = z3.And(possible(topic, of), possible(topic, then), same, then[counter] > of[counter])
    premise = z3.And(premise, _settled(topic, of)) if settled else premise
    score, after = (topic_expression(topic, each, asked.form) for each in (of, then))
    label = f"{term} of {topic.name} is good, {_when(settled)}"
    verdict, values = asked.verdict(label, premise, after < score)
    cell = PropertyCell("good-is-good", topic.name, term, verdict, settled=settled)
    if verdict != "refuted":
        return cell
    before, later = counters_in(values), counters_in(values, "then_")
    totals = tuple(topic_score(topic, each, asked.form) for each in (before, later))
    _again(totals[1] < totals[0], label)
    return evolve(cell, before=before, after=later, totals=totals)


@frozen(eq=False)
class FairnessStatement:
    """Equal counters, scores that differ all the same, and counters whose scores differ."""

    equal: Expression
    unequal: Expression
    differ: Expression


def fair_statement(asked: CellSolver) -> FairnessStatement:
    """What `fair` asks z3."""
    equal, unequal, differ = [], [], []
    for number, topic in enumerate(asked.network.topics):
        of, then = (symbols(f"{p}{number}_", whole=False) for p in ("a", "b"))
        premise = z3.And(possible(topic, of), possible(topic, then))
        score, other = (topic_expression(topic, each, asked.form) for each in (of, then))
        equal.append(z3.And(premise, *(of[name] == then[name] for name in of)))
        unequal.append(score != other)
        differ.append(z3.And(premise, score > other))
    return FairnessStatement(z3.And(*equal), z3.Or(*unequal), z3.Or(*differ))


def fair(asked: CellSolver) -> PropertyCell:
    """Whether equal counters have equal scores; and whether scores differ at all."""
    said = fair_statement(asked)
    answer, _ = asked.solve("fair", said.equal, said.unequal)
    vacuous = asked.solve("fair: some topic's scores differ", said.differ)[0] == "unsat"
    shown: Verdict = "refuted" if answer == "sat" else "proved" if answer == "unsat" else "undetermined"
    return PropertyCell("fair", "", "", "vacuous" if shown == "proved" and vacuous else shown)


def _kind(whole: bool) -> str:
    return "whole counters" if whole else "real counters"


def _when(settled: bool) -> str:
    return "past the activation" if settled else "at any time"


def _again(holds: bool, label: str) -> None:
    """A witness that does not come to the same in fractions is no witness."""
    if not holds:
        raise SpecError(f"{label}: what z3 found does not come to the same in fractions")
