"""Where a term of the peer score matters: when its claim applied.

A score can not be read off a router. A term mattered where the score without it would be on the other side of
a threshold: there, and only there, a router that leaves it out is found out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from quidnunc.model.events import Advance, Event, Publish, Receive
from quidnunc.model.router import Router
from quidnunc.model.rpc import Message, Peer
from quidnunc.model.scores_events import pass_time
from quidnunc.model.scores_interval import DENOMINATOR, ZERO, Interval, interval

APPLICATION = "gs1.1/score.application"
BEHAVIOUR = "gs1.1/score.behaviour"
DECAY = "gs1.1/score.decay"
NO_PENALTY = "gs1.2/idontwant.no-penalty"
PENALTY = "gs1.1/backoff.penalty"
PROMISE = "gs1.1/iwant.promise"
RETAINED = "gs1.1/score.retain"
COUNTERS: Mapping[str, str] = {
    "gs1.1/score.first-deliveries": "first",
    "gs1.1/score.mesh-deliveries": "meshed",
    "gs1.1/score.mesh-failures": "failures",
    "gs1.1/score.invalid-messages": "invalid",
}
"""Terms of a topic that rest on a counter that decays."""


def found(r: Router, event: Event, ticked: bool) -> Iterator[str]:
    """The clauses that mattered at `event`, of every peer whose score was looked at. `r` is before it."""
    if not isinstance(event, Receive | Publish) and not ticked:
        return
    if isinstance(event, Receive) and _repeats(r, event):
        yield NO_PENALTY
    now = pass_time(r, event.ms) if isinstance(event, Advance) else r
    for peer in _looked_at(now, event):
        yield from mattering(now, peer)


def _repeats(r: Router, event: Receive) -> bool:
    """Whether a mesh member sends again what it could have been told IDONTWANT for, at a possible cost."""
    scores, again = r.parameters.scores, [p for p in event.parts if isinstance(p, Message) and p.id in r.seen]
    return (
        scores is not None
        and scores.behaviour_penalty_weight != 0
        and "idontwant" in r.protocol.handlers
        and any(r.peers[p].knows_idontwant and p in r.mesh_of(m.topic) for m in again for p in event.peers)
    )


def _looked_at(r: Router, event: Event) -> list[Peer]:
    if isinstance(event, Receive):
        return [p for p in event.peers if p in r.peers and not r.is_explicit(p)]
    if isinstance(event, Publish):
        return sorted(r.members(event.message.topic))
    return sorted({p for members in r.mesh.values() for p in members})


def mattering(r: Router, peer: Peer) -> Iterator[str]:
    """Clauses of the terms without which the score would be on the other side of some threshold."""
    whole = r.bounds(peer)
    sides = [(edge, side) for edge in _thresholds(r) if (side := whole.below(edge)) is not None]
    if not sides:
        return
    for clause, value in terms(r, peer).items():
        rest = whole.less(value)
        if any(rest.below(edge) is (not side) for edge, side in sides):
            yield clause
            yield from _rests_on(r, peer, clause)
        elif clause == BEHAVIOUR and value.lo < value.hi == 0:
            # A penalty that is free is bounded: where the side is known all the same, a greater one shows.
            yield PENALTY


def terms(r: Router, peer: Peer) -> Mapping[str, Interval]:
    """Clause -> what its term adds, where that is not nothing. Those of the topics are not capped."""
    found: dict[str, Interval] = {
        each.clause: cast("Interval", each.apply(r, peer)) for each in r.protocol["weighted_score"].rules
    }
    scores = r.parameters.scores
    for topic in scores.topics if scores is not None else ():
        tally = r.ledger.tallies.get((peer, topic.topic))
        for each in r.protocol["topic_score"].rules if tally is not None else ():
            value = cast("Interval", each.apply(r, (peer, topic, tally)))
            found[each.clause] = found.get(each.clause, ZERO) + interval(topic.topic_weight).times(value)
    return {clause: value for clause, value in found.items() if value.lo or value.hi}


def _thresholds(r: Router) -> tuple[Interval, ...]:
    p = r.parameters
    return tuple(map(interval, (0, p.gossip_threshold, p.publish_threshold, p.graylist_threshold)))


def _rests_on(r: Router, peer: Peer, clause: str) -> Iterator[str]:
    """What else the value of a term comes from."""
    if clause == BEHAVIOUR and r.ledger.behaviour.get(peer, ZERO).lo > 0:
        # Nothing but a broken promise is sure to be penalised.
        yield PROMISE
    if peer in r.ledger.returned and clause in (*COUNTERS, BEHAVIOUR):
        yield RETAINED
    if has_decayed(r, peer, clause):
        yield DECAY


def has_decayed(r: Router, peer: Peer, clause: str) -> bool:
    """Whether the counter of a term is no whole number, as only a decay leaves one."""
    if clause == BEHAVIOUR:
        counters = [r.ledger.behaviour.get(peer, ZERO)]
    else:
        name = COUNTERS.get(clause, "first")
        counters = [getattr(t, name) for (p, _), t in r.ledger.tallies.items() if p == peer]
    return (clause in COUNTERS or clause == BEHAVIOUR) and any(c.lo % DENOMINATOR for c in counters)
