"""The acts of a router's neighbours, one function each: what they do, as a list of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve

from quidnunc.impl.wire.malformed import MALFORMED
from quidnunc.model.events import (
    Advance,
    Connect,
    Disconnect,
    Event,
    Join,
    Leave,
    Publish,
    Raw,
    Receive,
    Resume,
    Score,
    Stall,
    Verdict,
)
from quidnunc.model.rpc import (
    ROUTER,
    Flaw,
    Graft,
    IDontWant,
    IHave,
    IWant,
    Part,
    PartShape,
    Prune,
    Subscribe,
    Unsubscribe,
)
from quidnunc.model.versions import STREAM_PROTOCOLS
from quidnunc.properties.neighbours.edges import (
    OLD_ENTRIES,
    STALLED,
    STALLS_TWICE,
    backoff_at_bound,
    beside,
    has_bad_key,
    score_at_bound,
    takes_author,
    unmet_stream,
    wait_of,
)
from quidnunc.properties.neighbours.neighbourhood import MAX_PEERS, TOPICS, Act, Neighbours
from quidnunc.properties.neighbours.rare import RARE, comeback
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.neighbours.weights import by_name

FLAWS: tuple[Flaw, ...] = ("unsigned", "forged", "foreign-key", "no-author", "no-seqno")


def arrive(n: Neighbours, d: SeededDraws) -> list[Event]:
    """One to twenty peers connect; most of them subscribe."""
    room = MAX_PEERS - len(n.view.peers)
    count = min(room, d.one_of((1, 1, 1, 2, 2, 3, 4, 5, 8, 14, 20)))
    if count <= 0:
        return []
    peers = tuple(range(n.last_peer + 1, n.last_peer + count + 1))
    n.last_peer += count
    streams = STREAM_PROTOCOLS[n.protocol]
    stream = streams[0] if d.chance(65) else d.one_of(streams)
    outbound = d.chance(35)
    other = unmet_stream(streams, n.streams) if count > 1 else ""
    alike = peers[:-1] if other else peers
    events: list[Event] = [Connect(alike, stream, outbound)]
    if other:
        events.append(Connect(peers[-1:], other, outbound))
    n.streams |= {stream, other or stream}
    if d.chance(92):
        topics = (n.topic(d),) if d.chance(70) else tuple(dict.fromkeys((n.topic(d), n.topic(d))))
        events.append(Receive(peers, tuple(Subscribe(t) for t in topics)))
    return events


def depart(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A peer goes, and now and then comes at once."""
    if events := comeback(n, d):
        return events
    peer = n.peer(d)
    return [Disconnect((peer,))] if peer else []


def reconnect(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A peer that is gone comes back, or one that is there goes and comes."""
    if events := comeback(n, d):
        return events
    gone = [p for p in range(1, n.last_peer + 1) if p not in n.view.peers]
    if not gone or len(n.view.peers) >= MAX_PEERS:
        return []
    peer = d.one_of(gone)
    streams = STREAM_PROTOCOLS[n.protocol]
    return [Connect((peer,), streams[0], outbound=d.chance(35)), Receive((peer,), (Subscribe(n.topic(d)),))]


def join(n: Neighbours, d: SeededDraws) -> list[Event]:
    out = [t for t in TOPICS if t not in n.view.topics]
    known = [t for t in out if t in n.view.fanout or any(t in p.topics for p in n.view.peers.values())]
    return [Join(d.one_of(known if known and d.chance(80) else out))] if out else []


def leave(n: Neighbours, d: SeededDraws) -> list[Event]:
    return [Leave(d.one_of(sorted(n.view.topics)))] if n.view.topics else []


def rejoin(n: Neighbours, d: SeededDraws) -> list[Event]:
    if not n.view.topics:
        return []
    topic = d.one_of(sorted(n.view.topics))
    return (
        [Leave(topic), Join(topic)] if d.chance(60) else [Leave(topic), n.to_heartbeat(n.view), Join(topic)]
    )


def publish(n: Neighbours, d: SeededDraws) -> list[Event]:
    topic = n.topic(d)
    outside = [t for t in TOPICS if t not in n.view.topics]
    if outside and d.chance(50):
        topic = d.one_of(outside)
    return [Publish(n.new_message(d, topic, ROUTER))]


def message(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A new message, or one that was spoken of; now and then flawed, or in the router's own name."""
    topic = n.topic(d)
    sender = n.mesh_peer(d, topic)
    if sender is None:
        return []
    author = sender if d.chance(40) else n.peer(d) or sender
    if d.chance(4):
        author = ROUTER
    flaw: Flaw = ""
    if d.chance(10):
        flaw = d.one_of(FLAWS) if n.parameters.signature_policy == "StrictSign" else "stamped"
    elif has_bad_key(d, n.parameters):
        flaw = "junk-key"
    sent = n.planned.pop() if n.planned and d.chance(40) else n.new_message(d, topic, author, flaw)
    topic = sent.topic
    events: list[Event] = [Receive((sender,), (sent,))]
    if not takes_author(sent.author, n.capabilities):
        return events
    if d.chance(35):
        other = n.peer(d)
        good = evolve(sent, flaw="")
        events.append(Receive((other or sender,), (good,)))
    elif d.chance(20):
        events[0] = Receive((sender,), (sent, sent))
    return events


def duplicate(n: Neighbours, d: SeededDraws) -> list[Event]:
    pool = [m for i, m in n.known.items() if i in n.view.seen and not m.flaw]
    sender = n.peer(d)
    if not pool or sender is None:
        return []
    old = pool[-1 - d.below(min(4, len(pool)))]
    return [Receive((sender,), (old,))] if old.author != ROUTER or d.chance(20) else []


def graft(n: Neighbours, d: SeededDraws) -> list[Event]:
    topic = n.topic(d)
    backed = [p for (t, p) in n.view.backoff if t == topic and p in n.view.peers]
    outside = sorted(n.view.mesh_speakers(topic) - n.view.mesh_of(topic))
    kind = d.below(10)
    if kind < 3 and backed:
        return [Receive((d.one_of(backed),), (Graft(topic),))]
    if kind < 7 and outside:
        start, count = d.below(len(outside)), d.one_of((1, 1, 2, 4, 8, 14))
        return [Receive(tuple((outside[start:] + outside[:start])[:count]), (Graft(topic),))]
    peer = n.mesh_peer(d, topic)
    return [Receive((peer,), (Graft(topic if d.chance(80) else d.one_of(TOPICS)),))] if peer else []


def prune(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A PRUNE, mostly from a member, with backoffs that are absent, short, usual or absurd."""
    topic = n.topic(d)
    mesh = sorted(n.view.mesh_of(topic))
    backoff = backoff_at_bound(d.one_of((None, None, 0, 1, 2, 5, 9, 70, 2**63, 2**64 - 1)), d, n.parameters)
    if mesh and d.chance(30):
        start, count = d.below(len(mesh)), d.one_of((1, 2, 3, 6))
        return [Receive(tuple((mesh[start:] + mesh[:start])[:count]), (Prune(topic, backoff),))]
    peer = n.mesh_peer(d, topic)
    if peer is None:
        return []
    parts: tuple[Part, ...] = (Prune(topic, backoff),)
    if d.chance(10):
        # Whatever becomes of the first PRUNE, the second has to be read as well.
        parts = (Prune(d.one_of(TOPICS), backoff), *parts)
    events: list[Event] = [Receive((peer,), parts)]
    if d.chance(35):
        wait = wait_of(backoff, d, n.parameters)
        events += [wait or advance_some(n, d), Receive((peer,), (Graft(topic),))]
    return events


def ihave(n: Neighbours, d: SeededDraws) -> list[Event]:
    topic = n.topic(d)
    peer = n.peer(d)
    if peer is None:
        return []
    ids = [n.some_id(d) for _ in range(d.one_of((1, 1, 2, 3)))]
    if d.chance(60):
        ids.append(n.planned_id(d, topic))
    entry = IHave(topic, tuple(dict.fromkeys(ids)))
    return [Receive((peer,), (entry,) * d.one_of((1, 1, 1, 1, 2, 6)))]


def iwant(n: Neighbours, d: SeededDraws) -> list[Event]:
    peer = n.peer(d)
    if peer is None:
        return []
    entry = IWant((n.some_id(d),) if d.chance(60) else tuple({n.some_id(d): 0, n.some_id(d): 0}))
    return [Receive((peer,), (entry,) * d.one_of((1, 1, 1, 2, 3, 9)))]


def idontwant(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A mesh peer does not want what another one is about to send."""
    topic = n.topic(d)
    peer, sender = n.mesh_peer(d, topic), n.mesh_peer(d, topic)
    if peer is None or sender is None:
        return []
    soon = n.new_message(d, topic, sender)
    events: list[Event] = [Receive((peer,), (IDontWant((soon.id,)),))]
    if d.chance(20):
        events.append(n.to_heartbeat(n.view))
        if beside(d, OLD_ENTRIES).chance(40):
            # By when no policy keeps it.
            p = n.parameters
            events.append(Advance(p.seen_ttl_ms + 3 * p.heartbeat_interval_ms))
    if d.chance(85):
        events.append(Receive((sender,), (soon,)))
    return events


def idontwant_known(n: Neighbours, d: SeededDraws) -> list[Event]:
    peer = n.peer(d)
    ids = tuple(dict.fromkeys(n.some_id(d) for _ in range(d.one_of((1, 2, 5)))))
    return [Receive((peer,), (IDontWant(ids),))] if peer else []


def subscribe(n: Neighbours, d: SeededDraws) -> list[Event]:
    peer = n.peer(d)
    if peer is None:
        return []
    topic = n.topic(d)
    inside = topic in n.view.peers[peer].topics
    return [Receive((peer,), (Unsubscribe(topic) if inside else Subscribe(topic),))]


def unsubscribe_mesh(n: Neighbours, d: SeededDraws) -> list[Event]:
    topic = n.topic(d)
    mesh = sorted(n.view.mesh_of(topic) | n.view.fanout_of(topic).all)
    return [Receive((d.one_of(mesh),), (Unsubscribe(topic),))] if mesh else []


def combined(n: Neighbours, d: SeededDraws) -> list[Event]:
    """One RPC with parts of several kinds."""
    topic = n.topic(d)
    peer = n.mesh_peer(d, topic)
    if peer is None:
        return []
    fresh = n.new_message(d, topic, peer)
    pool: list[Part] = [
        fresh,
        IWant((fresh.id,)),
        IHave(topic, (fresh.id, n.planned_id(d, topic))),
        Graft(topic),
        Graft(d.one_of(TOPICS)),
        Prune(topic, d.one_of((None, 2, 5))),
        IDontWant((n.some_id(d),)),
        Subscribe(d.one_of(TOPICS)),
        IWant((n.some_id(d),)),
        Prune(d.one_of(TOPICS)),
    ]
    parts = tuple(dict.fromkeys(d.one_of(pool) for _ in range(d.one_of((0, 2, 2, 3, 4)))))
    return [Receive((peer,), parts)]


def heartbeat(n: Neighbours, d: SeededDraws) -> list[Event]:
    return [n.to_heartbeat(n.view)]


def advance_some(n: Neighbours, d: SeededDraws) -> Advance:
    p = n.parameters
    return Advance(d.one_of((100, 300, 1000, 1200, 2000, 3000, 1000 * p.unsubscribe_backoff_s)))


def advance(n: Neighbours, d: SeededDraws) -> list[Event]:
    p = n.parameters
    if d.chance(12):
        return [Advance(d.one_of((1000 * p.prune_backoff_s + 300, p.fanout_ttl_ms + 1100, 26_000)))]
    return [advance_some(n, d)]


def verdict(n: Neighbours, d: SeededDraws) -> list[Event]:
    waiting = sorted(n.view.waiting)
    return [Verdict(d.one_of(waiting), d.one_of(("accept", "accept", "reject", "ignore")))] if waiting else []


def score(n: Neighbours, d: SeededDraws) -> list[Event]:
    topic = n.topic(d)
    peer = n.mesh_peer(d, topic)
    if peer is None or "score" not in n.capabilities:
        return []
    value = score_at_bound(
        d.one_of((-50, -41, -40, -30, -21, -15, -10, -5, -1, 0, 1, 2, 4, 7)), d, n.parameters
    )
    mesh = sorted(n.view.mesh_of(topic))
    return [Score(tuple(mesh) if mesh and d.chance(15) else (peer,), value)]


def stall(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A peer outside all choices stops reading, while the router has something to say to it. It reads again,
    now and then to stop once more; or it is gone before that, and comes back."""
    plain = [p for p, x in n.view.peers.items() if x.speaks_floodsub]
    if not plain or "stall" not in n.capabilities:
        return []
    peer, topic = d.one_of(sorted(plain)), n.topic(d)
    sender = n.mesh_peer(d, topic)
    if sender is None or sender == peer:
        return []
    fresh = n.new_message(d, topic, sender)
    begun: list[Event] = [Stall((peer,)), Receive((sender,), (fresh,))]
    own = beside(d, STALLED)
    if not own.chance(35):
        begun.append(Resume((peer,)))
        if own.chance(STALLS_TWICE):
            later = n.new_message(own, topic, sender)
            begun += [Stall((peer,)), Receive((sender,), (later,)), Resume((peer,))]
        return [*begun, n.to_heartbeat(n.view)]
    there = n.view.peers[peer]
    back: list[Event] = [Disconnect((peer,)), Connect((peer,), there.protocol, there.outbound)]
    later = n.new_message(beside(d, STALLED), topic, sender)
    return [*begun, *back, Receive((peer,), (Subscribe(topic),)), Receive((sender,), (later,))]


def raw(n: Neighbours, d: SeededDraws) -> list[Event]:
    peer = n.peer(d)
    if peer is None or "raw" not in n.capabilities:
        return []
    return [Raw((peer,), d.one_of(sorted(MALFORMED))), Disconnect((peer,))]


def control_act(shapes: Sequence[PartShape]) -> Act:
    """An act for control messages that have none of their own: a mesh peer sends one, or takes one kind back
    with another; then a message comes, so that it shows what became of it."""

    def later_control(n: Neighbours, d: SeededDraws) -> list[Event]:
        topic = n.topic(d)
        peer, sender = n.mesh_peer(d, topic), n.mesh_peer(d, topic)
        if peer is None or sender is None:
            return []
        parts = [d.one_of(shapes).sample(topic, n.some_id(d)) for _ in range(d.one_of((1, 1, 1, 2)))]
        events: list[Event] = [Receive((peer,), (part,)) for part in parts]
        if d.chance(20):
            events.append(n.to_heartbeat(n.view))
        if d.chance(85):
            events.append(Receive((sender,), (n.new_message(d, topic, sender),)))
        return events

    return later_control


PLAIN: Mapping[str, Act] = by_name(
    *(arrive, depart, reconnect, join, leave, rejoin, subscribe, unsubscribe_mesh),
    *(publish, message, duplicate, graft, prune, ihave, iwant, idontwant, idontwant_known, combined),
    *(heartbeat, advance, verdict, score, stall, raw),
)

ACTS: Mapping[str, Act] = {**PLAIN, **RARE}
