"""Acts of several events, for what single ones seldom add up to: crowds, floods, old copies, better peers.

Each leads up to one occasion at which some claim applies, and returns nothing where that cannot be had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quidnunc.model.events import Advance, Connect, Disconnect, Event, Join, Publish, Receive, Score, Verdict
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import (
    ROUTER,
    Graft,
    IDontWant,
    IHave,
    IWant,
    Message,
    Part,
    Peer,
    Subscribe,
    Unsubscribe,
)
from quidnunc.model.versions import STREAM_PROTOCOLS
from quidnunc.properties.neighbours.edges import ALL_COME, ONE_RPC, RETURNS, SERVED, beside
from quidnunc.properties.neighbours.neighbourhood import MAX_PEERS, Act, Neighbours
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.neighbours.weights import by_name

LONGEST_FLOOD = 16
"""Caps above this are not flooded: the run would be about nothing else."""
IWANT_FLOOD = 24
"""More answers than any router gives to one peer for one id, or to one peer in a second."""


def newcomers(n: Neighbours, count: int, beside: int = 0) -> tuple[Peer, ...]:
    """Peers that have not been seen; none where there is no room for so many, `beside` others that come."""
    if count <= 0 or len(n.view.peers) + beside + count > MAX_PEERS:
        return ()
    peers = tuple(range(n.last_peer + 1, n.last_peer + count + 1))
    n.last_peer += count
    return peers


def crowd(n: Neighbours, d: SeededDraws) -> list[Event]:
    """Inbound peers graft themselves up to D_high, outbound ones beyond it; then the mesh is cut."""
    topic = n.topic(d)
    inside = topic in n.view.topics
    inbound = newcomers(n, n.parameters.d_high - len(n.view.mesh_of(topic)))
    outbound = newcomers(n, d.one_of((1, 1, 2, 3)), beside=len(inbound))
    if not outbound:
        return []
    stream = STREAM_PROTOCOLS[n.protocol][0]
    enter = (Subscribe(topic), Graft(topic))
    events: list[Event] = [] if inside else [Join(topic)]
    if inbound:
        events += [Connect(inbound, stream), Receive(inbound, enter)]
    events += [Connect(outbound, stream, outbound=True), Receive(outbound, enter)]
    if "score" in n.capabilities and d.chance(60):
        everybody = [*inbound, *outbound]
        start, count = d.below(len(everybody)), d.one_of((1, 2, 4))
        events.append(Score(tuple((everybody[start:] + everybody[:start])[:count]), d.one_of((1, 3, 7))))
    return [*events, n.to_heartbeat(n.view)] if d.chance(90) else events


def better_outside(n: Neighbours, d: SeededDraws) -> list[Event]:
    """Peers outside the mesh come to score better than those in it, for long enough to be grafted."""
    p, topic = n.parameters, n.topic(d)
    mesh = n.view.mesh_of(topic)
    if "score" not in n.capabilities or len(mesh) < p.d_low or p.opportunistic_graft_ticks > 10:
        return []
    events: list[Event] = []
    better = tuple(sorted(n.view.mesh_speakers(topic) - mesh))[: d.one_of((2, 3, 8))]
    if len(better) < p.opportunistic_graft_peers or d.chance(50):
        better = newcomers(n, d.one_of((2, 3)))
        stream = STREAM_PROTOCOLS[n.protocol][0]
        events = [Connect(better, stream), Receive(better, (Subscribe(topic),))] if better else []
    if not better:
        return []
    wait_ms = p.heartbeat_interval_ms * (p.opportunistic_graft_ticks + d.below(2))
    return [*events, Score(better, d.one_of((2, 4, 7))), Advance(wait_ms)]


def flood(n: Neighbours, d: SeededDraws) -> list[Event]:
    """One peer sends more control messages before the next heartbeat than are heeded."""
    topic = d.one_of(sorted(n.view.topics)) if n.view.topics else None
    peer = n.mesh_peer(d, topic) if topic else None
    if topic is None or peer is None:
        return []
    p = n.parameters
    kind = d.one_of(("ihave", "ids", "other", "iwant", "idontwant"))
    if kind == "iwant":
        return _iwants(n, d, topic, peer)
    if kind == "idontwant":
        return _idontwants(n, d, topic, peer)
    if kind == "ids":
        if p.max_ihave_length > LONGEST_FLOOD:
            return []
        # Up to the cap, or beyond it in each of two periods.
        count = p.max_ihave_length * d.one_of((1, 1, 2)) + d.below(2)
        many = tuple(n.planned_id(d, topic) for _ in range(count))
        return [_rpc(peer, IHave(topic, many)), _rpc(peer, IHave(topic, (n.planned_id(d, topic),)))]
    if p.max_ihave_messages > LONGEST_FLOOD:
        return []
    other: list[Part] = [IWant((n.some_id(d),)), IDontWant((n.some_id(d),)), Graft("t9")]
    filler = d.one_of(other)
    events = []
    for _ in range(p.max_ihave_messages):
        events.append(_rpc(peer, filler if kind == "other" else IHave(topic, (n.planned_id(d, topic),))))
    return [*events, _rpc(peer, IHave(topic, (n.planned_id(d, topic),)))]


def _rpc(peer: Peer, part: Part) -> Event:
    return Receive((peer,), (part,))


def _iwants(n: Neighbours, d: SeededDraws, topic: str, peer: Peer) -> list[Event]:
    fresh = n.new_message(d, topic, peer)
    return [_rpc(peer, fresh), *(_rpc(peer, IWant((fresh.id,))) for _ in range(IWANT_FLOOD))]


def _idontwants(n: Neighbours, d: SeededDraws, topic: str, peer: Peer) -> list[Event]:
    """The last one is beyond the cap; then its message comes, or all those that were named."""
    cap = n.parameters.max_idontwant_messages
    sender = n.mesh_peer(d, topic)
    if cap > LONGEST_FLOOD or sender is None or sender == peer:
        return []
    soon = n.new_message(d, topic, sender)
    before = [n.planned_message(d, topic) for _ in range(cap)]
    named = [IDontWant((each.id,)) for each in (*before, soon)]
    told = (
        [Receive((peer,), tuple(named))] if beside(d, ONE_RPC).chance(50) else [_rpc(peer, i) for i in named]
    )
    # How many a router heeds, whichever they are, shows only if all of them come before the next heartbeat.
    come = (soon, *before) if beside(d, ALL_COME).chance(50) else (soon,)
    return [*told, *(_rpc(sender, each) for each in come)]


def old_copy(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A message comes again within seen_ttl of its first copy, and again after it. Or it comes after it
    alone, and is asked for as often as if it had not been there."""
    p, topic = n.parameters, n.topic(d)
    sender = n.mesh_peer(d, topic)
    if sender is None or p.seen_ttl_ms > 10_000:
        return []
    fresh = n.new_message(d, topic, sender)
    again = _rpc(n.peer(d) or sender, fresh)
    half_ms = p.seen_ttl_ms // 2 + 500
    own = beside(d, SERVED)
    if own.chance(50):
        return _served_anew(n, own, sender, fresh, again)
    return [_rpc(sender, fresh), Advance(half_ms), again, Advance(half_ms), again]


def _served_anew(n: Neighbours, d: SeededDraws, sender: Peer, fresh: Message, again: Event) -> list[Event]:
    """Somebody asks for it more often than it is served, and once more when it was forgotten and is back."""
    p, taken = n.parameters, [Verdict(fresh.id, "accept")] if n.parameters.validation == "manual" else []
    asks = _rpc(n.peer(d) or sender, IWant((fresh.id,)))
    forgotten_ms = max(p.seen_ttl_ms, p.mcache_len * p.heartbeat_interval_ms) + p.heartbeat_interval_ms
    served = [asks] * (p.gossip_retransmission + 1)
    return [_rpc(sender, fresh), *taken, *served, Advance(forgotten_ms), again, *taken, asks]


def fanout_leaver(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A peer of a fanout leaves its topic, and more is published there."""
    topics = sorted(t for t in n.view.fanout if n.view.fanout_of(t).all)
    if not topics:
        return []
    topic = d.one_of(topics)
    peer = d.one_of(sorted(n.view.fanout_of(topic).all))
    return [_rpc(peer, Unsubscribe(topic)), Publish(n.new_message(d, topic, ROUTER))]


def hated_friend(n: Neighbours, d: SeededDraws) -> list[Event]:
    """An explicit peer has the worst of scores, and says something."""
    friends = sorted(n.parameters.explicit_peers & n.view.peers.keys())
    if not friends or "score" not in n.capabilities:
        return []
    peer, topic = d.one_of(friends), n.topic(d)
    return [Score((peer,), -50), _rpc(peer, n.new_message(d, topic, peer))]


def left_behind(view: Router) -> Mapping[str, Sequence[tuple[Peer, str]]]:
    """By kind, what the router keeps of its peers, or is about to: (peer, topic or message id)."""
    there = view.peers
    return {
        "mesh": [(p, t) for t in sorted(view.topics) for p in sorted(view.mesh_of(t))],
        "backoff": [(p, t) for t, p in sorted(view.backoff) if p in there],
        "served": [(p, i) for p, i in sorted(view.served) if p in there],
        "asked": [(p, i) for i, peers in sorted(view.asked.items()) for p in sorted(peers) if p in there],
        "unwanted": [(p, t) for t in sorted(view.topics) for p in sorted(view.mesh_of(t))],
    }


def comeback(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A peer of which the router keeps something goes and comes, and then shows whether that is still there.

    Nothing where the router keeps nothing of anybody.
    """
    own, view = beside(d, RETURNS), n.view
    kept = {kind: who for kind, who in left_behind(view).items() if who}
    if not kept or own.chance(35):
        return []
    kind = own.one_of(sorted(kept))
    peer, about = own.one_of(kept[kind])
    message = n.known.get(about)
    topic = message.topic if message else about if kind in ("mesh", "backoff", "unwanted") else n.topic(own)
    others = [each for each in sorted(view.peers) if each != peer]
    fresh = n.new_message(own, topic, own.one_of(others)) if kind == "unwanted" and others else None
    events: list[Event] = [Receive((peer,), (IDontWant((fresh.id,)),))] if fresh else []
    events.append(Disconnect((peer,)))
    if own.chance(30):
        events.append(Advance(own.one_of((1, 1000, 2000))))
    events.append(Connect((peer,), own.one_of(STREAM_PROTOCOLS[n.protocol]), outbound=own.chance(35)))
    shown: Mapping[str, tuple[Part, ...]] = {
        "backoff": (Graft(topic),),
        "unwanted": (Graft(topic),),
        "served": (IWant((about,)),),
    }
    events.append(Receive((peer,), (Subscribe(topic), *shown.get(kind, ()))))
    if fresh:
        events.append(Receive((own.one_of(others),), (fresh,)))
    elif kind == "asked" and message is not None and not message.flaw and message.author != ROUTER:
        events.append(Receive((peer,), (message,)))
    return events


RARE: Mapping[str, Act] = by_name(crowd, better_outside, flood, old_copy, fanout_leaver, hated_friend)
