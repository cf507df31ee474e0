"""Fanout: where we publish without being in the topic. gossipsub v1.0, "Fanout Maintenance"."""

from __future__ import annotations

from quidnunc.model.choices import Choose, PartialSet, settled
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import Router, TopicFanout, without_key
from quidnunc.model.rpc import Peer
from quidnunc.model.rules import rule
from quidnunc.model.values import evolve


@rule(
    "gs1.0/fanout.members",
    lacking="Takes none of the peers in the topic into its fanout.",
    when="it looks up the peers that it can take into its fanout",
)
def fanout_speakers(r: Router, topic: str) -> frozenset[Peer]:
    return r.mesh_speakers(topic)


@rule(
    "gs1.1/explicit.no-mesh",
    lacking="Counts explicit peers among the D peers of a fanout.",
    when="it leaves explicit peers out of those to take into its fanout",
)
def explicit_beside_fanout(r: Router, topic: str, peer: Peer) -> bool | None:
    """Explicit peers get every message anyway; whether they are among the D is not said."""
    return None if r.is_explicit(peer) else False


@rule(
    "gs1.1/threshold.publish",
    lacking="Takes peers below the publish threshold into its fanout.",
    when="it checks whether a peer to take into its fanout is below the publish threshold",
)
def below_publish(r: Router, topic: str, peer: Peer) -> bool | None:
    return r.gate_below(peer, r.parameters.publish_threshold)


@rule(
    "gs1.1/backoff.both-ends",
    lacking="Takes peers into its fanout whether or not they are in backoff.",
    when="it checks whether a peer to take into its fanout is in backoff",
)
def backing_off_is_free(r: Router, topic: str, peer: Peer) -> bool | None:
    """Backoff is said of GRAFT; whether a peer in it may be in the fanout is open."""
    return None if r.now_ms < r.ends_backoff_ms(topic, peer) else False


@rule(
    "gs1.0/fanout.expire",
    lacking="Keeps a fanout beyond its time to live.",
    when="it forgets a fanout that is past its time to live",
)
def expire(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """A topic to which nothing was published for fanout_ttl is forgotten."""
    ttl = r.parameters.fanout_ttl_ms
    old = [t for t, f in r.fanout.items() if r.now_ms - f.published_ms > ttl]
    for topic in old:
        r = evolve(r, fanout=without_key(r.fanout, topic))
    return Step(r) if old else None


@rule(
    "gs1.1/threshold.publish",
    lacking="Keeps fanout peers that fall below the publish threshold.",
    when="it removes fanout peers below the publish threshold at the heartbeat",
)
def drop_low(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """Fanout peers that fell below the publish threshold go."""
    fanout = dict(r.fanout)
    for topic, entry in r.fanout.items():
        threshold = r.parameters.publish_threshold
        low = [p for p in entry.peers.all if settled(r.gate_below(p, threshold), "threshold.publish", choose)]
        if low:
            fanout[topic] = evolve(entry, peers=entry.peers.less(low))
    return Step(evolve(r, fanout=fanout)) if fanout != r.fanout else None


@rule(
    "gs1.0/fanout.refill",
    lacking="Does not refill a fanout at the heartbeat.",
    when="it refills a fanout at the heartbeat",
)
def refill(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """A live fanout below D is filled to D. Whom it took shows with the next message, or never."""
    if not r.fanout:
        return None
    fanout = dict(r.fanout)
    for topic, entry in r.fanout.items():
        known = entry.peers
        if entry.tentative:
            continue
        pool = r.protocol.set_of("fanout_candidates", r, topic, choose)
        if known.least >= r.parameters.d or pool.all <= known.must:
            continue
        d = r.parameters.d
        surely = len(known.must | pool.must)
        wider = PartialSet(
            known.must,
            (known.may | pool.all) - known.must,
            min(d, max(known.least, surely)),
            max(known.most, min(d, len(known.all | pool.all))),
        )
        fanout[topic] = TopicFanout(choose.hidden("fanout.refill", wider), entry.published_ms)
    return Step(evolve(r, fanout=fanout)) if fanout != r.fanout else None
