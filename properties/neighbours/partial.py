"""Neighbours that know extensions and partial messages, and the application that publishes parts."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from quidnunc.model.events import (
    MESHSUB_1_3,
    Advance,
    Connect,
    Decision,
    Disconnect,
    Event,
    Join,
    Leave,
    PublishPartial,
    Receive,
)
from quidnunc.model.pubsub.protocols import PUBSUB
from quidnunc.model.rpc import (
    PARTIAL_EXTENSION,
    TEST_EXTENSION,
    Extensions,
    Part,
    Partial,
    Peer,
    Subscribe,
    TestExtension,
    Unsubscribe,
)
from quidnunc.properties.neighbours.neighbourhood import Act, Neighbours
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.neighbours.weights import WEIGHTS, by_name

UNKNOWN = ("x4000001", "x9", "x536870911")
"""Extensions that nobody knows: of an experiment, of the registry's next number, of the last one there is."""


def extended(n: Neighbours, d: SeededDraws, steered: bool) -> Neighbours:
    """The same neighbours, who know v1.3."""
    if "test-extension" in n.capabilities and d.chance(15):
        n.parameters = evolve(n.parameters, test_extension=False)
    speaks_partial = "partial" in PUBSUB[n.protocol].handlers
    if speaks_partial and d.chance(80):
        n.parameters = evolve(
            n.parameters,
            group_ttl_heartbeats=d.one_of((1, 2, 3)),
            max_groups_per_peer=2,
            max_groups_per_topic=d.one_of((3, 5)),
        )
    more = {**MORE, **(OF_PARTIAL if speaks_partial else {})}
    n.more = {**n.more, **more}
    weights = {**WEIGHTS["extensions"], **(WEIGHTS["partial"] if speaks_partial else {})}
    n.weights = {**n.weights, **(weights if steered else dict.fromkeys(more, 1))}
    n.finish = finish
    return n


def finish(n: Neighbours, events: list[Event], d: SeededDraws) -> list[Event]:
    """Peers introduce themselves, and subscriptions have flags, the router's own as well."""
    if "partial" in PUBSUB[n.protocol].handlers:
        events = [_flagged(n, event, d) for event in events]
    return introduce(n, events, d)


def _flagged(n: Neighbours, event: Event, d: SeededDraws) -> Event:
    if isinstance(event, Join) and "partial" in n.capabilities:
        requests = d.chance(50)
        return Join(event.topic, requests, d.chance(50 if requests else 60))
    if isinstance(event, Receive) and any(isinstance(p, Subscribe | Unsubscribe) for p in event.parts):
        flags = d.one_of(FLAGS)
        return Receive(event.peers, tuple(_with_flags(p, flags) for p in event.parts))
    return event


FLAGS = ((False, False), (False, False), (False, True), (True, False), (True, True), (True, True))


def _with_flags(part: Part, flags: tuple[bool, bool]) -> Part:
    return type(part)(part.topic, *flags) if isinstance(part, Subscribe | Unsubscribe) else part


def introduce(n: Neighbours, events: list[Event], d: SeededDraws) -> list[Event]:
    """Who connects says first of all what it has; now and then too late, or not at all."""
    waiting: dict[int, Extensions] = {}
    found: list[Event] = []
    for event in events:
        if isinstance(event, Connect):
            says = _named(n, d) if event.protocol >= MESHSUB_1_3 or d.chance(8) else None
            if says is not None:
                waiting.update(dict.fromkeys(event.peers, says))
        elif isinstance(event, Receive) and event.peers and event.peers[0] in waiting:
            said: tuple[Part, ...] = (waiting[event.peers[0]],)
            for peer in event.peers:
                waiting.pop(peer, None)
            if any(isinstance(part, Extensions) for part in event.parts):
                # It has been said what it says.
                found.append(event)
                continue
            if d.chance(8):
                found.append(event)
                event = Receive(event.peers, said)
            else:
                event = Receive(event.peers, (*said, *event.parts))
        found.append(event)
    if waiting:
        found.append(Receive(tuple(waiting), (next(iter(waiting.values())),)))
    return found


def _named(n: Neighbours, d: SeededDraws) -> Extensions | None:
    kind = d.below(20)
    if kind == 0:
        return None
    if kind == 1:
        return Extensions(())
    names = {TEST_EXTENSION} if kind < 15 else set()
    if "partial" in PUBSUB[n.protocol].handlers and d.chance(88):
        names.add(PARTIAL_EXTENSION)
    if d.chance(25):
        names.add(d.one_of(UNKNOWN))
    return Extensions(tuple(sorted(names)))


def extensions_again(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A second Extensions message, or one that comes late."""
    peer = n.peer(d)
    says = _named(n, d)
    return [Receive((peer,), (says,))] if peer and says and not n.view.peers[peer].speaks_floodsub else []


def test_message(n: Neighbours, d: SeededDraws) -> list[Event]:
    """The message of the test extension, from whoever."""
    peer = n.peer(d)
    return [Receive((peer,), (TestExtension(),))] if peer else []


MORE: Mapping[str, Act] = by_name(extensions_again, test_message)


# -- partial messages ---------------------------------------------------------------------------------------


def _group(n: Neighbours, d: SeededDraws, topic: str) -> str:
    known = sorted(g for t, g in n.view.groups if t == topic)
    return d.one_of(known) if known and d.chance(60) else f"g{1 + d.below(6)}"


def _decision(d: SeededDraws, peer: Peer) -> Decision:
    return Decision(
        peer,
        payload=f"p{1 + d.below(3)}" if d.chance(60) else None,
        metadata=f"w{1 + d.below(3)}" if d.chance(60) else None,
        next=f"s{1 + d.below(9)}" if d.chance(60) else None,
        error=d.chance(12),
    )


def publish_partial(n: Neighbours, d: SeededDraws) -> list[Event]:
    """The application publishes to a group, and once more, to show what was kept."""
    if "partial" not in n.capabilities:
        return []
    topic = n.topic(d)
    group = _group(n, d, topic)
    mesh = sorted(n.view.mesh_of(topic))
    pool = mesh if mesh and d.chance(60) else sorted(n.view.peers)
    peers = [d.one_of(pool) for _ in range(d.one_of((0, 1, 2, 3, 5)))] if pool else []
    events: list[Event] = [PublishPartial(topic, group, tuple(_decision(d, p) for p in peers))]
    if d.chance(40):
        events.append(n.to_heartbeat(n.view))
    if d.chance(60):
        events.append(PublishPartial(topic, group))
    return events


def partial_in(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A partial message, with payload and metadata or without either, of a peer in the mesh or not."""
    topic = n.topic(d)
    peer = n.mesh_peer(d, topic)
    if peer is None:
        return []
    payload, metadata = d.one_of(((None, None), (None, "w1"), ("p1", None), ("p2", "w2")))
    return [Receive((peer,), (Partial(topic, _group(n, d, topic), payload, metadata),))]


def group_flood(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A peer starts one group more than it may, or so do two; then it goes, or a heartbeat comes."""
    limit, topic = n.parameters.max_groups_per_peer, n.topic(d)
    named = [p for p, x in n.view.peers.items() if PARTIAL_EXTENSION in x.extensions]
    if limit > 8 or not named:
        return []
    first = d.below(len(named))
    peers = (named[first:] + named[:first])[: d.one_of((1, 1, 2, 3))]
    events: list[Event] = [
        Receive((p,), (Partial(topic, f"f{p}-{k}", None, "w1"),)) for p in peers for k in range(limit + 1)
    ]
    if d.chance(50):
        events += [n.to_heartbeat(n.view), Receive((peers[0],), (Partial(topic, "f0", "p1"),))]
    return events


def gossip_round(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A group is published to, and some heartbeats pass without another."""
    topics = sorted(t for t in n.view.topics if n.view.own_flags(t).supports)
    if not topics or "partial" not in n.capabilities:
        return []
    topic = d.one_of(topics)
    mesh = sorted(n.view.mesh_of(topic))
    kept = tuple(Decision(p, metadata="w1", next="s1") for p in mesh[:2])
    group = _group(n, d, topic)
    beats: list[Event] = [Advance(n.parameters.heartbeat_interval_ms) for _ in range(d.one_of((1, 2, 3, 4)))]
    named = sorted(p for p, x in n.view.peers.items() if PARTIAL_EXTENSION in x.extensions)
    if named and d.chance(50):
        # A peer speaks of the group meanwhile, which does not make it live longer.
        beats.insert(1, Receive((d.one_of(named),), (Partial(topic, group, None, "w2"),)))
        beats += [Advance(n.parameters.heartbeat_interval_ms), PublishPartial(topic, group)]
    return [PublishPartial(topic, group, kept), *beats]


def leaver(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A peer that requested parts leaves the topic, and the application has some for it all the same."""
    known = [
        (p, t)
        for p, x in n.view.peers.items()
        for t, flags in x.flags.items()
        if flags.requests and PARTIAL_EXTENSION in x.extensions
    ]
    if not known or "partial" not in n.capabilities:
        return []
    peer, topic = d.one_of(known)
    for_it = Decision(peer, payload="p1", metadata="w1" if d.chance(70) else None, next="s1")
    gone = Unsubscribe(topic, requests=d.chance(50), supports=d.chance(50))
    return [Receive((peer,), (gone,)), PublishPartial(topic, _group(n, d, topic), (for_it,))]


def left_and_back(n: Neighbours, d: SeededDraws) -> list[Event]:
    """The router leaves a topic with a group, comes back, and publishes to the group again."""
    if not n.view.topics or not n.view.peers or "partial" not in n.capabilities:
        return []
    topic = d.one_of(sorted(n.view.topics))
    group = _group(n, d, topic)
    kept = Decision(d.one_of(sorted(n.view.peers)), next=f"s{1 + d.below(9)}")
    return [PublishPartial(topic, group, (kept,)), Leave(topic), Join(topic), PublishPartial(topic, group)]


def comes_back(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A peer starts as many groups as it may, goes, comes back, and starts another."""
    limit, topic = n.parameters.max_groups_per_peer, n.topic(d)
    named = sorted(p for p, x in n.view.peers.items() if PARTIAL_EXTENSION in x.extensions)
    if limit > 8 or not named:
        return []
    peer = d.one_of(named)
    full = [Receive((peer,), (Partial(topic, f"c{peer}-{k}", "p1"),)) for k in range(limit)]
    hello = Receive((peer,), (Extensions((PARTIAL_EXTENSION,)),))
    back: list[Event] = [Disconnect((peer,)), Connect((peer,), MESHSUB_1_3), hello]
    beats: list[Event] = [n.to_heartbeat(n.view)] if d.chance(30) else []
    return [*full, *back, *beats, Receive((peer,), (Partial(topic, f"d{peer}", "p1"),))]


def resubscribe(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A peer changes its flags, and the application has something for it."""
    named = sorted(p for p, x in n.view.peers.items() if PARTIAL_EXTENSION in x.extensions and x.topics)
    if not named or "partial" not in n.capabilities:
        return []
    peer = d.one_of(named)
    topic = d.one_of(sorted(n.view.peers[peer].topics))
    for_it = Decision(peer, payload="p1", metadata="w1", next="s1")
    return [Receive((peer,), (Subscribe(topic),)), PublishPartial(topic, _group(n, d, topic), (for_it,))]


def gone_with_state(n: Neighbours, d: SeededDraws) -> list[Event]:
    """Something is kept of two peers, and one of them goes."""
    if len(n.view.peers) < 2 or "partial" not in n.capabilities:
        return []
    topic, pool = n.topic(d), sorted(n.view.peers)
    first = d.below(len(pool))
    gone, stays = (pool[first:] + pool[:first])[:2]
    kept = (Decision(gone, next="s1"), Decision(stays, next="s2"))
    group = _group(n, d, topic)
    return [PublishPartial(topic, group, kept), Disconnect((gone,)), PublishPartial(topic, group)]


OF_PARTIAL: Mapping[str, Act] = by_name(
    *(publish_partial, partial_in, group_flood, gossip_round, leaver, left_and_back, comes_back),
    *(resubscribe, gone_with_state),
)
