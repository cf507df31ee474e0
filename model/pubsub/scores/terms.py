"""The peer score and its terms. gossipsub v1.1, "The Score Function".

Without score parameters a score is what the application says. With them it is a sum of intervals: P1 to P4
per topic, under a cap, and P5 to P7. What the text leaves open makes an interval wider.
"""

from __future__ import annotations

from typing import TypeAlias, cast

from quidnunc.model.pubsub.router import Router
from quidnunc.model.pubsub.scores.ledger import TopicTally
from quidnunc.model.rpc import Peer
from quidnunc.model.rules import Total, rule
from quidnunc.model.score_interval import DENOMINATOR, ZERO, ScoreInterval, interval
from quidnunc.model.score_parameters import TopicScoreParameters

InTopic: TypeAlias = tuple[Peer, TopicScoreParameters, TopicTally]
"""A peer in one topic that counts."""


@rule(
    "gs1.1/score.weights",
    lacking="Leaves the topics out of the score.",
    when="it works out the topics' part of a score",
)
def topics_capped(r: Router, peer: Peer) -> ScoreInterval:
    """The topics' weighted sums, together under the cap."""
    p = r.parameters.scores
    assert p is not None
    total = ZERO
    of_topic = r.protocol.handlers["topic_score"]
    assert isinstance(of_topic, Total)
    for topic in p.topics:
        tally = r.ledger.tallies.get((peer, topic.topic))
        if tally is not None:
            total += interval(topic.topic_weight).times(_in_topic(r, of_topic, (peer, topic, tally)))
    return total.at_most(interval(p.topic_score_cap)) if p.topic_score_cap else total


def _in_topic(r: Router, terms: Total, what: InTopic) -> ScoreInterval:
    """The sum of the terms, which see no more of the router than whether the peer has left: that is looked up
    where it was worked out last."""
    _, p, tally = what
    left = has_left(r, what)
    for by, of, had_left, found in tally.known:
        if by is terms and of is p and had_left == left:
            return found
    value = cast("ScoreInterval | int", terms(r, what))
    found = value if isinstance(value, ScoreInterval) else ZERO
    tally.known[:] = [(terms, p, left, found)]
    return found


@rule(
    "gs1.1/score.application",
    lacking="Leaves the application's term (P5) out of the score.",
    when="it works out the application's part (P5) of a score",
)
def application(r: Router, peer: Peer) -> ScoreInterval | int:
    """P5: what the application says."""
    value = r.scores.get(peer, 0)
    if r.parameters.scores is None:
        return value
    return interval(r.parameters.scores.app_specific_weight).times(interval(value))


@rule(
    "gs1.1/score.colocation",
    lacking="Leaves IP colocation (P6) out of the score.",
    when="it works out the IP colocation part (P6) of a score",
)
def colocation(r: Router, peer: Peer) -> ScoreInterval:
    """P6: the square of the peers on one IP beyond the threshold.

    Whether peers that are gone and remembered are among them is not said.
    """
    p, address = r.parameters.scores, r.ledger.addresses.get(peer)
    assert p is not None
    if address is None or not p.ip_colocation_factor_weight:
        return ZERO
    there = [other for other, at in r.ledger.addresses.items() if at == address]
    least = sum(other in r.peers for other in there) - p.ip_colocation_factor_threshold
    most = len(there) - p.ip_colocation_factor_threshold
    surplus = ScoreInterval(max(0, least) * DENOMINATOR, max(0, most) * DENOMINATOR)
    return interval(p.ip_colocation_factor_weight).times(surplus.squared())


@rule(
    "gs1.1/score.behaviour",
    lacking="Leaves the behaviour penalty (P7) out of the score.",
    when="it works out the behaviour penalty (P7) of a score",
)
def behaviour(r: Router, peer: Peer) -> ScoreInterval:
    """P7: the square of the counter. A promise that is overdue counts at the next heartbeat at the latest."""
    p = r.parameters.scores
    assert p is not None
    counter = r.ledger.behaviour.get(peer, ZERO)
    # One that is older was judged.
    since_ms = r.now_ms - r.parameters.heartbeat_interval_ms
    for promise in r.ledger.promises:
        if promise.peer == peer and promise.missing and since_ms <= promise.ends_ms <= r.now_ms:
            counter = ScoreInterval(counter.lo, counter.hi + promise.most * DENOMINATOR)
    return interval(p.behaviour_penalty_weight).times(counter.squared()) if counter.lo or counter.hi else ZERO


# -- terms of one topic -------------------------------------------------------------------------------------


@rule(
    "gs1.1/score.time-in-mesh",
    lacking="Leaves the time in the mesh (P1) out of the score.",
    when="it works out the time in the mesh part (P1) of a score",
)
def time_in_mesh(r: Router, what: InTopic) -> ScoreInterval:
    """P1: quanta in the mesh, capped. Whether a part of one counts is free: the pseudo-code divides, and only
    where both are whole numbers does that round."""
    _, p, tally = what
    if tally.since_ms is None:
        return ZERO
    whole, rest = divmod(tally.mesh_ms, p.time_in_mesh_quantum_ms)
    part = ScoreInterval(0, -(-rest * DENOMINATOR // p.time_in_mesh_quantum_ms))
    quanta = (part + whole).at_most(interval(p.time_in_mesh_cap))
    value = interval(p.time_in_mesh_weight).times(quanta)
    return value.or_also(ZERO) if has_left(r, what) else value


@rule(
    "gs1.1/score.first-deliveries",
    lacking="Leaves first deliveries (P2) out of the score.",
    when="it works out the first deliveries part (P2) of a score",
)
def first_deliveries(r: Router, what: InTopic) -> ScoreInterval:
    """P2: the counter."""
    _, p, tally = what
    return interval(p.first_message_deliveries_weight).times(tally.first)


@rule(
    "gs1.1/score.mesh-deliveries",
    lacking="Leaves the deficit of mesh deliveries (P3) out of the score.",
    when="it works out the mesh deliveries part (P3) of a score",
)
def mesh_deliveries(r: Router, what: InTopic) -> ScoreInterval:
    """P3: the squared deficit of a mesh member, once it has been there for longer than the activation."""
    _, p, tally = what
    if tally.since_ms is None or not p.mesh_message_deliveries_weight:
        return ZERO
    value = interval(p.mesh_message_deliveries_weight).times(deficit(p, tally).squared())
    return value.or_also(ZERO) if has_left(r, what) else value


@rule(
    "gs1.1/score.mesh-failures",
    lacking="Leaves mesh failures (P3b) out of the score.",
    when="it works out the mesh failures part (P3b) of a score",
)
def mesh_failures(r: Router, what: InTopic) -> ScoreInterval:
    """P3b: the counter. Of a peer that leaves the mesh right now it may or may not have been raised."""
    _, p, tally = what
    counter = tally.failures
    if has_left(r, what):
        counter = ScoreInterval(counter.lo, counter.hi + deficit(p, tally).squared().hi)
    return interval(p.mesh_failure_penalty_weight).times(counter)


@rule(
    "gs1.1/score.invalid-messages",
    lacking="Leaves invalid messages (P4) out of the score.",
    when="it works out the invalid messages part (P4) of a score",
)
def invalid_messages(r: Router, what: InTopic) -> ScoreInterval:
    """P4: the square of the counter."""
    _, p, tally = what
    return interval(p.invalid_message_deliveries_weight).times(tally.invalid.squared())


def deficit(p: TopicScoreParameters, tally: TopicTally) -> ScoreInterval:
    """What the deliveries of a member lack to the threshold; zero up to the activation time."""
    if tally.since_ms is None or tally.mesh_ms <= p.mesh_message_deliveries_activation_ms:
        return ZERO
    return interval(p.mesh_message_deliveries_threshold).less(tally.meshed).at_least_zero()


def has_left(r: Router, what: InTopic) -> bool:
    """Whether it left the mesh within the present step, so that its counters are about to follow."""
    peer, p, tally = what
    return tally.since_ms is not None and peer not in r.mesh_of(p.topic)
