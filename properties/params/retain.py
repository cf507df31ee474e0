"""What a reconnect does to a score: for any parameters that v1.1 allows, and with exact witnesses.

A peer that leaves is remembered for RetainScore. Its time in the mesh is over, and with it P1 and P3; what it
lacked of deliveries is squared and added to P3b, as at any other end of a membership. Whether counters decay
meanwhile is not said. After RetainScore nothing is known of it. go-libp2p-pubsub forgets a positive score at
once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from attrs import evolve, frozen

from quidnunc.properties.lazy import z3
from quidnunc.properties.params.rules import rules
from quidnunc.properties.params.score import PeerCounters, TopicCounters, topic_score, total_score
from quidnunc.properties.params.values import ZERO, NetworkParameters, TopicParameters, decimal
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.result import ProofResult, Verdict
from quidnunc.properties.solver.rules import Expression

NAME = "score-retention"
AT_REST = "P5 and P6 are as before: the application's score of it is the same, and so is its address"
ONE_TOPIC = "one topic that counts, and the peer is a member of its mesh past the activation when it leaves"
OUTSIDE = "one topic that counts, and the peer is outside its mesh"
FROZEN = "nothing decays while it is away"
DECAYS = "counters decay while it is away, by one step at least"

WEIGHTS = ("topic_weight", "w2", "w3", "w3b", "w4", "w7")
COUNTERS = ("quanta", "first", "meshed", "failures", "invalid", "behaviour")
HELD = COUNTERS[1:]
"""Those that outlast a membership."""
DECAYING = ("first", "failures", "invalid", "behaviour")


@frozen(kw_only=True)
class PeerScoreState:
    """What counts of a peer in expressions; outside the mesh there is no time and no deficit."""

    member: bool
    first: Expression
    meshed: Expression
    failures: Expression
    invalid: Expression
    behaviour: Expression


@frozen(kw_only=True)
class RetentionStatement:
    """One statement: the score of one state of a peer is not above that of another."""

    name: str
    text: str
    before: PeerScoreState
    after: PeerScoreState
    premise: Expression
    assumptions: tuple[str, ...]
    besides: tuple[str, ...] = ()


@frozen(kw_only=True)
class _PeerSymbols:
    """The symbols, and what is true of all of them."""

    of: Mapping[str, Expression]
    allowed: Expression

    def deficit(self) -> Expression:
        lacks = self.of["threshold"] - self.of["meshed"]
        return z3.If(lacks > 0, lacks, 0)

    def score(self, held: PeerScoreState) -> Expression:
        """P1 to P4 of the topic under the cap, P5 and P7."""
        o = rules().signed(self.of)
        topic = o["w2"] * held.first + o["w3b"] * held.failures + o["w4"] * held.invalid * held.invalid
        if held.member:
            quanta = z3.If(o["quanta"] < o["cap1"], o["quanta"], o["cap1"])
            topic = topic + o["w1"] * quanta + o["w3"] * self.deficit() * self.deficit()
        topics = o["topic_weight"] * topic
        capped = z3.If(z3.And(o["cap"] > 0, topics > o["cap"]), o["cap"], topics)
        return capped + o["application"] + o["w7"] * held.behaviour * held.behaviour

    def held(self, *, member: bool, **changed: Expression) -> PeerScoreState:
        return PeerScoreState(member=member, **{name: changed.get(name, self.of[name]) for name in HELD})

    def gone(self) -> PeerScoreState:
        """A member after it has left the mesh, with its deficit."""
        if not rules().keeps_deficit:
            return self.held(member=False)
        return self.held(member=False, failures=self.of["failures"] + self.deficit() * self.deficit())

    def decayed(self, name: str) -> Expression:
        left = self.of[name] * self.of[f"decay_{name}"]
        return z3.If(left < self.of["to_zero"], 0, left)

    def later(self) -> PeerScoreState:
        """Outside the mesh, one decay later."""
        return self.held(member=False, **{name: self.decayed(name) for name in DECAYING})


def _peer() -> _PeerSymbols:
    names = ("w1", "cap", "cap1", "cap2", "cap3", "threshold", "to_zero", "application")
    decays = tuple(f"decay_{name}" for name in DECAYING)
    o = {name: z3.Real(name) for name in (*WEIGHTS, *COUNTERS, *names, *decays)}
    allowed = z3.And(
        *(o[name] >= 0 for name in ("topic_weight", "w1", "w2", "cap", *COUNTERS)),
        *(o[name] <= 0 for name in ("w3", "w3b", "w4", "w7")),
        *(o[name] > 0 for name in ("cap1", "cap2", "threshold", "quanta")),
        *(z3.And(o[name] > 0, o[name] < 1) for name in (*decays, "to_zero")),
        o["cap3"] >= o["threshold"],
        o["first"] <= o["cap2"],
        o["meshed"] <= o["cap3"],
    )
    return _PeerSymbols(of=o, allowed=allowed)


# -- the statements -----------------------------------------------------------------------------------------


def questions_of() -> Iterator[RetentionStatement]:
    """What is asked."""
    peer = _peer()
    yield from _of_members(peer)
    yield from _of_staying(peer)
    yield from _of_forgetting(peer)


def _of_members(peer: _PeerSymbols) -> Iterator[RetentionStatement]:
    before, o = peer.held(member=True), peer.of
    negative = z3.And(peer.allowed, peer.score(before) < 0)
    member = RetentionStatement(
        name="member",
        text="a member that disconnects and is back at once does not have a negative score raised",
        before=before,
        after=peer.gone(),
        premise=negative,
        assumptions=(ONE_TOPIC, AT_REST, FROZEN),
        besides=("it sheds P3, and P3b does not make up for that",),
    )
    yield member
    yield evolve(
        member,
        name="member.failures-weigh",
        text=f"{member.text}, if P3b weighs as much as P3 at least",
        premise=z3.And(negative, o["w3b"] <= o["w3"]),
        besides=(),
    )


def _of_staying(peer: _PeerSymbols) -> Iterator[RetentionStatement]:
    stayed, away, o = peer.later(), peer.held(member=False), peer.of
    silence = RetentionStatement(
        name="silence",
        text="who was away for one decay has no better score than who stayed and was silent",
        before=stayed,
        after=away,
        premise=peer.allowed,
        assumptions=(OUTSIDE, AT_REST, FROZEN),
        besides=("its first deliveries are kept from decay",),
    )
    yield silence
    yield evolve(
        silence,
        name="silence.no-first-deliveries",
        text=f"{silence.text}, if it has no first deliveries",
        premise=z3.And(peer.allowed, o["first"] == 0),
        besides=(),
    )
    yield RetentionStatement(
        name="decays-away",
        text="a negative score is not raised while the peer is away",
        before=away,
        after=stayed,
        premise=z3.And(peer.allowed, peer.score(away) < 0),
        assumptions=(OUTSIDE, AT_REST, DECAYS),
        besides=("nor is it kept by staying: the decay is the same",),
    )


def _of_forgetting(peer: _PeerSymbols) -> Iterator[RetentionStatement]:
    o, held = peer.of, peer.held(member=False)
    nothing = z3.RealVal(0)
    negative = z3.And(peer.allowed, peer.score(held) < 0)
    forgotten = RetentionStatement(
        name="forgotten",
        text="who is back after RetainScore does not have a negative score raised",
        before=held,
        after=PeerScoreState(member=False, **dict.fromkeys(HELD, nothing)),
        premise=negative,
        assumptions=(OUTSIDE, AT_REST),
    )
    yield forgotten
    yield evolve(
        forgotten,
        name="forgotten.application-alone",
        text=f"{forgotten.text}, if only the application's part of the score is negative",
        premise=z3.And(negative, o["failures"] == 0, o["invalid"] == 0, o["behaviour"] == 0),
    )
    yield evolve(
        forgotten,
        name="positive-forgotten",
        text="where a positive score is forgotten at once, as in Go, who had one does not gain by leaving",
        premise=z3.And(peer.allowed, peer.score(held) > 0),
        besides=("what the application thinks well of hides what is forgotten",),
    )


def retention_results(questions: SolverSession) -> Iterator[ProofResult]:
    """Every line, with whether its premise can be met."""
    peer = _peer()
    for each in questions_of():
        label = f"{NAME}.{each.name}"
        holds = peer.score(each.after) <= peer.score(each.before)
        answer, values = questions.solve(label, each.premise, z3.Not(holds))
        verdict: Verdict = "proved" if answer == "unsat" else "undetermined"
        evidence: tuple[str, ...] = ()
        if answer == "sat":
            values = _neat(label, peer, each, values, questions)
            scores = [in_fractions(values, _valued(peer, held, values)) for held in (each.before, each.after)]
            verdict = "refuted" if scores[1] > scores[0] else "undetermined"
            evidence = (_shown(values, scores, member=each.before.member), *each.besides)
        met, _ = questions.solve(f"{label}: its premise", each.premise, holds)
        yield ProofResult(
            name=label,
            text=each.text,
            verdict=verdict,
            scope="every weight, cap, threshold and factor that v1.1 allows",
            assumptions=each.assumptions,
            engine="z3, real arithmetic; each witness computed again in fractions",
            vacuous=met != "sat",
            evidence=evidence,
        )


# -- witnesses ----------------------------------------------------------------------------------------------


def _neat(
    label: str,
    peer: _PeerSymbols,
    each: RetentionStatement,
    values: Mapping[str, Fraction],
    questions: SolverSession,
) -> Mapping[str, Fraction]:
    """A witness of small numbers, where there is one."""
    o = peer.of
    plain = [o["topic_weight"] == 1, o["cap"] == 0, o["to_zero"] == z3.Q(1, 100), o["threshold"] == 2]
    plain += [o[name] == z3.Q(1, 2) for name in o if name.startswith("decay_")]
    plain += [o["quanta"] == 1, *(o[name] <= 4 for name in COUNTERS), o["application"] <= 100]
    holds = peer.score(each.after) <= peer.score(each.before)
    answer, found = questions.solve(f"{label}, in small numbers", each.premise, z3.Not(holds), *plain)
    return found if answer == "sat" else values


def _valued(
    peer: _PeerSymbols, held: PeerScoreState, values: Mapping[str, Fraction]
) -> Mapping[str, Fraction]:
    """What is held in numbers: each expression at the witness."""
    swaps = []
    for name, symbol in peer.of.items():
        value = values.get(name, ZERO)
        swaps.append((symbol, z3.Q(value.numerator, value.denominator)))
    found = {"member": Fraction(held.member)}
    for name in HELD:
        value = z3.simplify(z3.substitute(getattr(held, name), *swaps))
        found[name] = Fraction(value.numerator_as_long(), value.denominator_as_long())
    return found


def in_fractions(values: Mapping[str, Fraction], held: Mapping[str, Fraction]) -> Fraction:
    """The score by `params/score.py`, which shares nothing with the expressions here."""
    signed = rules().signed(values)

    def of(name: str) -> Fraction:
        return signed.get(name, ZERO)

    topic = TopicParameters(
        name="t",
        topic_weight=of("topic_weight"),
        time_in_mesh_weight=of("w1"),
        time_in_mesh_cap=of("cap1"),
        first_message_deliveries_weight=of("w2"),
        first_message_deliveries_cap=of("cap2"),
        mesh_message_deliveries_weight=of("w3"),
        mesh_message_deliveries_cap=of("cap3"),
        mesh_message_deliveries_threshold=of("threshold"),
        mesh_failure_penalty_weight=of("w3b"),
        invalid_message_deliveries_weight=of("w4"),
    )
    network = NetworkParameters(
        name="any",
        topics=(topic,),
        topic_score_cap=of("cap"),
        app_specific_weight=Fraction(1),
        behaviour_penalty_weight=of("w7"),
    )
    counters = TopicCounters(
        time_ms=of("quanta") if held["member"] else ZERO,
        first=held["first"],
        meshed=held["meshed"],
        failures=held["failures"],
        invalid=held["invalid"],
    )
    besides = PeerCounters(application=of("application"), behaviour=held["behaviour"])
    return total_score(network, topic_score(topic, counters), besides)


def _shown(values: Mapping[str, Fraction], scores: list[Fraction], *, member: bool) -> str:
    weights = [f"{name} {values[name]}" for name in ("w1", *WEIGHTS[1:]) if values.get(name)]
    names = (*COUNTERS, "application") if member else (*COUNTERS[1:], "application")
    counters = [f"{name} {values[name]}" for name in names if values.get(name)]
    totals = " and then ".join(decimal(score) for score in scores)
    return f"weights {', '.join(weights) or 'of zero'}; {', '.join(counters) or 'all zero'}: {totals}"
