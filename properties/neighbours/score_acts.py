"""Acts for the terms of the peer score: what raises them, and what shows them.

A score is not seen, but it is felt at its thresholds. So `probe` has the application score a peer so that by
the model it is just above a threshold or just below one, and then does what the threshold decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quidnunc.model.events import (
    Advance,
    Connect,
    Disconnect,
    Event,
    Feedback,
    FeedbackKind,
    Join,
    Publish,
    Receive,
    Score,
    Verdict,
)
from quidnunc.model.pubsub.router import Router
from quidnunc.model.pubsub.scores.events import pass_time
from quidnunc.model.rpc import ROUTER, Graft, IHave, Message, Peer, Prune, Subscribe
from quidnunc.model.score_interval import ZERO, ScoreInterval, interval
from quidnunc.model.versions import STREAM_PROTOCOLS
from quidnunc.properties.neighbours.edges import COUNTED, beside
from quidnunc.properties.neighbours.neighbourhood import Act, Neighbours
from quidnunc.properties.neighbours.rare import newcomers
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.neighbours.weights import by_name

FARTHEST = 10_000
"""Scores that the application would have to give beyond this are not given."""
ADDRESSES = (1, 2)


def probe(n: Neighbours, d: SeededDraws) -> list[Event]:
    """The score of a peer is brought to the edge of a threshold, and the threshold decides something."""
    return _at_threshold(n, d, lambda r, peer, threshold: edge(r, peer, threshold, above=d.chance(50)))


def waver(n: Neighbours, d: SeededDraws) -> list[Event]:
    """The score of a peer is brought to where it may be on either side of a threshold, where the text leaves
    open what it is; and the threshold decides something."""
    return _at_threshold(n, d, middle)


def _at_threshold(n: Neighbours, d: SeededDraws, aim: Callable[[Router, Peer, int], int]) -> list[Event]:
    peer = _of_interest(n, d)
    if peer is None:
        return []
    p = n.parameters
    ways = [
        (0, _by_graft),
        (0, _by_heartbeat),
        (p.gossip_threshold, _by_ihave),
        (p.publish_threshold, _by_publish),
        (p.graylist_threshold, _by_message),
    ]
    start = d.below(len(ways))
    for threshold, way in (*ways[start:], *ways[:start]):
        found = way(n, d, peer)
        if found:
            wait = found[0].ms if isinstance(found[0], Advance) else 0
            value = aim(pass_time(n.view, wait), peer, threshold)
            return [Score((peer,), value), *found] if abs(value) <= FARTHEST else []
    return []


def middle(r: Router, peer: Peer, threshold: int) -> int:
    """What the application has to say so that the threshold is in the middle of what the score may be."""
    assert r.parameters.scores is not None
    weight = interval(r.parameters.scores.app_specific_weight)
    rest = without_application(r, peer)
    return (interval(threshold).lo - (rest.lo + rest.hi) // 2) // weight.hi


def edge(r: Router, peer: Peer, threshold: int, *, above: bool) -> int:
    """What the application has to say so that the score surely is at the threshold or just above it, or else
    surely just below it."""
    assert r.parameters.scores is not None
    weight = interval(r.parameters.scores.app_specific_weight)
    rest = without_application(r, peer)
    aim = interval(threshold).lo
    if above:
        return -((rest.lo - aim) // weight.hi)
    return -((rest.hi - aim) // weight.hi) - 1


def without_application(r: Router, peer: Peer) -> ScoreInterval:
    """The score less what the application adds."""
    assert r.parameters.scores is not None
    said = interval(r.parameters.scores.app_specific_weight).times(interval(r.scores.get(peer, 0)))
    return r.bounds(peer).less(said)


def _of_interest(n: Neighbours, d: SeededDraws) -> Peer | None:
    """A peer that is not explicit, one with more to its score than the application says if there is one;
    often the one for whom something has just counted, or should have."""
    peers = [p for p in sorted(n.view.peers) if p not in n.parameters.explicit_peers]
    marked = [p for p in peers if without_application(n.view, p) != ZERO]
    found = d.one_of(marked) if marked and d.chance(95) else n.peer(d, peers)
    last, n.last_counted = n.last_counted, None
    return last if last in peers and beside(d, COUNTED).chance(70) else found


def _by_graft(n: Neighbours, d: SeededDraws, peer: Peer) -> list[Event]:
    view = n.view
    free = [
        t
        for t in sorted(view.topics)
        if peer not in view.mesh_of(t)
        and len(view.mesh_of(t)) < n.parameters.d_high
        and view.ends_backoff_ms(t, peer) <= view.now_ms
        and not view.peers[peer].speaks_floodsub
    ]
    return [Receive((peer,), (Graft(d.one_of(free)),))] if free else []


def _by_heartbeat(n: Neighbours, d: SeededDraws, peer: Peer) -> list[Event]:
    inside = any(peer in members for members in n.view.mesh.values())
    return [n.to_heartbeat(n.view)] if inside else []


def _by_ihave(n: Neighbours, d: SeededDraws, peer: Peer) -> list[Event]:
    heard = n.view.heard.get(peer)
    if not n.view.topics or n.view.peers[peer].speaks_floodsub or heard is not None and heard.ihave_rpcs > 2:
        return []
    topic = d.one_of(sorted(n.view.topics))
    return [Receive((peer,), (IHave(topic, (n.planned_id(d, topic),)),))]


def _by_publish(n: Neighbours, d: SeededDraws, peer: Peer) -> list[Event]:
    if not n.parameters.flood_publish or not n.view.peers[peer].topics:
        return []
    topic = d.one_of(sorted(n.view.peers[peer].topics))
    return [Publish(n.new_message(d, topic, ROUTER))]


def _by_message(n: Neighbours, d: SeededDraws, peer: Peer) -> list[Event]:
    if not n.view.topics:
        return []
    return [Receive((peer,), (n.new_message(d, d.one_of(sorted(n.view.topics)), peer),))]


def _scored_topic(n: Neighbours, d: SeededDraws) -> str | None:
    scores = n.parameters.scores
    assert scores is not None
    inside = [each.topic for each in scores.topics if each.topic in n.view.topics]
    return d.one_of(inside) if inside else None


def _verdict(n: Neighbours, message: Message, judgement: str) -> list[Event]:
    if n.parameters.validation != "manual":
        return []
    return [Verdict(message.id, judgement)]  # type: ignore[arg-type]


def deliver_first(n: Neighbours, d: SeededDraws) -> list[Event]:
    """One peer brings several new messages, which are good."""
    topic = _scored_topic(n, d)
    peer = n.mesh_peer(d, topic) if topic else None
    if topic is None or peer is None:
        return []
    events: list[Event] = []
    n.last_counted = peer
    for _ in range(d.one_of((1, 1, 2, 4, 6))):
        fresh = n.new_message(d, topic, n.peer(d) or peer)
        events += [Receive((peer,), (fresh,)), *_verdict(n, fresh, "accept")]
    return events


def deliver_nearly_first(n: Neighbours, d: SeededDraws) -> list[Event]:
    """Another member brings the same message: during validation, within the window, or after it."""
    topic = _scored_topic(n, d)
    mesh = sorted(n.view.mesh_of(topic)) if topic else []
    scores = n.parameters.scores
    if topic is None or len(mesh) < 2 or scores is None:
        return []
    at = d.below(len(mesh))
    first, second = mesh[at], mesh[(at + 1) % len(mesh)]
    n.last_counted = second
    fresh = n.new_message(d, topic, first)
    of_topic = scores.of(topic)
    window_ms = of_topic.mesh_message_deliveries_window_ms if of_topic is not None else 0
    again = Receive((second,), (fresh,))
    before: list[Event] = [Receive((first,), (fresh,))]
    if d.chance(40):
        return [*before, again, *_verdict(n, fresh, "accept")]
    wait_ms = d.one_of((window_ms // 2, window_ms + 50))
    waits: list[Event] = [Advance(wait_ms)] if wait_ms else []
    return [*before, *_verdict(n, fresh, "accept"), *waits, again]


def deliver_invalid(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A peer brings messages that the application rejects, or ignores."""
    topic = _scored_topic(n, d)
    peer = n.mesh_peer(d, topic) if topic else None
    if topic is None or peer is None or n.parameters.validation != "manual":
        return []
    events: list[Event] = []
    judgement = "reject" if d.chance(75) else "ignore"
    n.last_counted = peer
    for _ in range(d.one_of((1, 2, 3))):
        bad = n.new_message(d, topic, peer)
        events += [Receive((peer,), (bad,)), *_verdict(n, bad, judgement)]
    return events


def feedback(n: Neighbours, d: SeededDraws) -> list[Event]:
    """The application says what a peer's parts were worth, once or more, as if it had been sent some."""
    topic = _scored_topic(n, d)
    peer = n.mesh_peer(d, topic) if topic else None
    if topic is None or peer is None:
        return []
    kinds: tuple[FeedbackKind, ...] = ("useful", "invalid", "invalid", "ignored")
    n.last_counted = peer
    return [Feedback(topic, peer, d.one_of(kinds))] * d.one_of((1, 1, 2, 3))


def stay(n: Neighbours, d: SeededDraws) -> list[Event]:
    """Time passes: members get older, counters decay, promises fall due."""
    scores = n.parameters.scores
    assert scores is not None
    every_ms = scores.decay_interval_ms
    return [Advance(d.one_of((every_ms, every_ms + 100, 2 * every_ms, 4 * every_ms)))]


def break_promise(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A peer advertises what nobody brings, or what another peer brings in time."""
    topic = d.one_of(sorted(n.view.topics)) if n.view.topics else None
    peer = n.peer(d, [p for p in sorted(n.view.peers) if not n.view.peers[p].speaks_floodsub])
    scores = n.parameters.scores
    if topic is None or peer is None or scores is None:
        return []
    # Not of `planned`: another act might send those.
    promised = n.new_message(d, topic, peer)
    n.last_counted = peer
    events: list[Event] = [Receive((peer,), (IHave(topic, (promised.id,)),))]
    if d.chance(30):
        events.append(Receive((n.peer(d) or peer,), (promised,)))
    return [*events, Advance(scores.iwant_followup_ms + n.parameters.heartbeat_interval_ms)]


def regraft(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A member prunes and grafts again at once, once or more."""
    topic = _scored_topic(n, d)
    mesh = sorted(n.view.mesh_of(topic)) if topic else []
    if topic is None or not mesh:
        return []
    peer = d.one_of(mesh)
    early = Receive((peer,), (Graft(topic),))
    n.last_counted = peer
    return [Receive((peer,), (Prune(topic),)), *[early] * d.one_of((1, 1, 2))]


def share_address(n: Neighbours, d: SeededDraws) -> list[Event]:
    """Several peers come from one IP."""
    peers = newcomers(n, d.one_of((2, 3, 4)))
    if not peers:
        return []
    stream = STREAM_PROTOCOLS[n.protocol][0]
    return [
        Connect(peers, stream, outbound=d.chance(35), address=d.one_of(ADDRESSES)),
        Receive(peers, (Subscribe(n.topic(d)),)),
    ]


def come_back(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A peer with something to its score disconnects, and comes back within the time or after it."""
    scores = n.parameters.scores
    peer = _of_interest(n, d)
    if peer is None or scores is None:
        return []
    away_ms = scores.retain_score_ms // 2
    if d.chance(40):
        away_ms = scores.retain_score_ms + 2 * scores.decay_interval_ms
    there = n.view.peers[peer]
    topics = tuple(Subscribe(t) for t in sorted(there.topics))
    address = n.view.ledger.addresses.get(peer, 0)
    again = Connect((peer,), there.protocol, there.outbound, address)
    events: list[Event] = [Disconnect((peer,)), Advance(max(1, away_ms)), again]
    return [*events, Receive((peer,), topics)] if topics else events


def settle_in(n: Neighbours, d: SeededDraws) -> list[Event]:
    """A topic that counts is joined, with a few peers in it."""
    scores = n.parameters.scores
    assert scores is not None
    outside = [each.topic for each in scores.topics if each.topic not in n.view.topics]
    if not outside:
        return []
    topic = d.one_of(outside)
    peers = newcomers(n, d.one_of((2, 3, 5)))
    if not peers:
        return [Join(topic)]
    connect = Connect(peers, STREAM_PROTOCOLS[n.protocol][0], outbound=d.chance(35))
    return [connect, Receive(peers, (Subscribe(topic),)), Join(topic)]


SCORING: Mapping[str, Act] = by_name(
    *(probe, deliver_first, deliver_nearly_first, deliver_invalid, stay, settle_in),
    *(break_promise, regraft, share_address, come_back),
)
TELLING: Mapping[str, Act] = by_name(feedback)
"""Where what the application says of partial messages counts."""
