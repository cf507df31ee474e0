"""Where a term of the peer score matters: when its claim applied.

A score cannot be read off a router. A term mattered where the score without it would be on the other side of
a threshold: there, and only there, a router that leaves it out is found out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from attrs import frozen

from quidnunc.model.events import Advance, Event, Publish, Receive
from quidnunc.model.pubsub.router import Router
from quidnunc.model.pubsub.scores.events import pass_time
from quidnunc.model.rpc import Message, Peer
from quidnunc.model.score_interval import DENOMINATOR, ZERO, ScoreInterval, interval
from quidnunc.properties.occasions.occasion import ObservedStep

BEHAVIOUR = "gs1.1/score.behaviour"
COUNTERS: Mapping[str, str] = {
    "gs1.1/score.first-deliveries": "first",
    "gs1.1/score.mesh-deliveries": "meshed",
    "gs1.1/score.mesh-failures": "failures",
    "gs1.1/score.invalid-messages": "invalid",
}
"""Terms of a topic that rest on a counter that decays."""
FED: Mapping[str, tuple[str, ...]] = {
    "pm-jvm/score.feedback": (BEHAVIOUR,),
    "pm-go/score.feedback": (
        "gs1.1/score.first-deliveries",
        "gs1.1/score.mesh-deliveries",
        "gs1.1/score.invalid-messages",
    ),
}
"""Clause on what the application says of parts -> the terms whose counters that raises."""


@frozen
class DecidingTerm:
    """A term without which the score of a peer would be on the other side of some threshold."""

    clause: str
    """Of its rule."""
    promised: bool = False
    """Its value comes from a broken promise: nothing else is sure to be penalised."""
    retained: bool = False
    """Its counter is from before the peer reconnected."""
    told: bool = False
    """The application said something of the peer's parts that counts."""
    decayed: bool = False


@frozen
class WeighedScores:
    """What the scores that were looked at in a step rest on."""

    terms: tuple[DecidingTerm, ...] = ()
    penalised: bool = False
    """A penalty that is free is bounded, and the side of a threshold is known: a greater one shows."""


@lru_cache(maxsize=1)
def weighed(step: ObservedStep) -> WeighedScores:
    """The terms that decided, of every peer whose score was looked at."""
    r = step.state
    if not _has_terms(r) or not (isinstance(step.event, Receive | Publish) or step.ticked):
        return WeighedScores()
    now = pass_time(r, step.event.ms) if isinstance(step.event, Advance) else r
    found = [_mattering(now, peer) for peer in _looked_at(now, step.event)]
    terms = tuple(term for each in found for term in each.terms)
    return WeighedScores(terms, any(each.penalised for each in found))


def _has_terms(r: Router) -> bool:
    return r.parameters.scores is not None and "weighted_score" in r.protocol.handlers


def deciding_clauses(step: ObservedStep) -> tuple[str, ...]:
    """Clauses of the rules whose terms decided: each term is an occasion of its own rule."""
    return tuple(dict.fromkeys(term.clause for term in weighed(step).terms))


def promise_decides(step: ObservedStep) -> bool:
    return any(term.promised for term in weighed(step).terms)


def retained_decides(step: ObservedStep) -> bool:
    return any(term.retained for term in weighed(step).terms)


def feedback_decides(step: ObservedStep) -> bool:
    return any(term.told for term in weighed(step).terms)


def decay_decides(step: ObservedStep) -> bool:
    return any(term.decayed for term in weighed(step).terms)


def penalty_shows(step: ObservedStep) -> bool:
    return weighed(step).penalised


def repeats_unwanted(step: ObservedStep) -> bool:
    """A mesh member sends again what it could have been told IDONTWANT for, at a possible cost."""
    r, event = step.state, step.event
    if not isinstance(event, Receive) or not _has_terms(r) or "idontwant" not in r.protocol.handlers:
        return False
    again = [p for p in event.parts if isinstance(p, Message) and p.id in r.seen]
    costs = r.parameters.scores.behaviour_penalty_weight != 0
    return costs and any(
        r.peers[p].knows_idontwant and p in r.mesh_of(m.topic) for m in again for p in event.peers
    )


def _looked_at(r: Router, event: Event) -> list[Peer]:
    if isinstance(event, Receive):
        return [p for p in event.peers if p in r.peers and not r.is_explicit(p)]
    if isinstance(event, Publish):
        return sorted(r.members(event.message.topic))
    return sorted({p for members in r.mesh.values() for p in members})


def _mattering(r: Router, peer: Peer) -> WeighedScores:
    whole = r.bounds(peer)
    sides = [(edge, side) for edge in _thresholds(r) if (side := whole.below(edge)) is not None]
    if not sides:
        return WeighedScores()
    found: list[DecidingTerm] = []
    penalised = False
    for clause, value in terms(r, peer).items():
        rest = _without(whole, value)
        if any(rest.below(edge) is (not side) for edge, side in sides):
            found.append(_deciding(r, peer, clause))
        elif clause == BEHAVIOUR and value.lo < value.hi == 0:
            penalised = True
    return WeighedScores(tuple(found), penalised)


def _without(whole: ScoreInterval, summand: ScoreInterval) -> ScoreInterval:
    """The other summands of a sum. The difference of two intervals would hold what never goes together."""
    ends = (whole.lo - summand.lo, whole.hi - summand.hi)
    return ScoreInterval(min(ends), max(ends))


def _deciding(r: Router, peer: Peer, clause: str) -> DecidingTerm:
    counted = clause in (*COUNTERS, BEHAVIOUR)
    promised = clause == BEHAVIOUR and r.ledger.behaviour.get(peer, ZERO).lo > 0
    return DecidingTerm(
        clause,
        promised,
        retained=counted and peer in r.ledger.returned,
        told=peer in r.ledger.told_of and any(clause in FED.get(c, ()) for c in feedback_clauses(r)),
        decayed=counted and _has_decayed(r, peer, clause),
    )


def feedback_clauses(r: Router) -> frozenset[str]:
    """The clauses of what follows from the application's word on parts."""
    handler = r.protocol.handlers.get("feedback")
    return frozenset(each.clause for each in handler.rules) if handler is not None else frozenset()


def terms(r: Router, peer: Peer) -> Mapping[str, ScoreInterval]:
    """Clause -> what its term adds, where that is not nothing. Those of the topics are not capped."""
    found: dict[str, ScoreInterval] = {
        each.clause: cast("ScoreInterval", each.apply(r, peer)) for each in r.protocol["weighted_score"].rules
    }
    scores = r.parameters.scores
    for topic in scores.topics if scores is not None else ():
        tally = r.ledger.tallies.get((peer, topic.topic))
        for each in r.protocol["topic_score"].rules if tally is not None else ():
            value = cast("ScoreInterval", each.apply(r, (peer, topic, tally)))
            found[each.clause] = found.get(each.clause, ZERO) + interval(topic.topic_weight).times(value)
    return {clause: value for clause, value in found.items() if value.lo or value.hi}


def _thresholds(r: Router) -> tuple[ScoreInterval, ...]:
    p = r.parameters
    return tuple(map(interval, (0, p.gossip_threshold, p.publish_threshold, p.graylist_threshold)))


def _has_decayed(r: Router, peer: Peer, clause: str) -> bool:
    """Whether the counter of a term is no whole number, as only a decay leaves one."""
    if clause == BEHAVIOUR:
        counters = [r.ledger.behaviour.get(peer, ZERO)]
    else:
        tallies = (t for (p, _), t in r.ledger.tallies.items() if p == peer)
        counters = [getattr(t, COUNTERS[clause]) for t in tallies]
    return any(c.lo % DENOMINATOR for c in counters)
