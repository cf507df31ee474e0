"""Planted departures of our pubsub router, by name: what a claim must notice to be worth its name.

Here are those of messages, gossip and streams; those of the mesh are in `quidnunc.impl.mutants.mesh`.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from quidnunc.impl.gossipsub.relay import ArrivedMessage
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutant import Mutant, Usual, around, nothing, patch, put
from quidnunc.impl.mutants.mesh import MESH_MUTANTS, Edit
from quidnunc.impl.mutants.partial import PARTIAL_MUTANTS
from quidnunc.impl.mutants.peer_exchange import PX_MUTANTS
from quidnunc.impl.mutants.scores import SCORE_MUTANTS
from quidnunc.impl.mutants.table import read_mutants
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.signing import signature_fault
from quidnunc.model.events import FLOODSUB
from quidnunc.model.rpc import Peer


def _mark_after_validation(r: GossipsubRouter) -> None:
    accept, mark = r.relay.accept, r.relay.note_receipt

    def mark_and_accept(arrival: ArrivedMessage) -> None:
        mark(arrival)
        accept(arrival)

    patch(r.relay, "note_receipt", nothing)
    patch(r.relay, "accept", mark_and_accept)


def _mark_before_signature(r: GossipsubRouter) -> None:
    def mark(arrival: ArrivedMessage) -> bool:
        r.relay.note_receipt(arrival)
        return True

    r.relay.checks.insert(r.relay.checks.index(r.relay.is_sound), mark)


def _forget_seen(r: GossipsubRouter) -> None:
    r.gossip.seen.ttl_ms //= 2


def _without_check(name: str) -> Edit:
    def edit(r: GossipsubRouter) -> None:
        r.relay.checks.remove(getattr(r.relay, name))

    return edit


def _accept_flaw(flaw: str) -> Edit:
    def edit(r: GossipsubRouter) -> None:
        policy = r.core.parameters.signature_policy
        at = r.relay.checks.index(r.relay.is_sound)
        r.relay.checks[at] = lambda arrival: signature_fault(arrival.message, policy) in ("", flaw)

    return edit


def _altered(_: GossipsubRouter, accept: Usual, arrival: ArrivedMessage) -> None:
    arrival.message.key = b""
    accept(arrival)


def _deliver_twice(_: GossipsubRouter, accept: Usual, arrival: ArrivedMessage) -> None:
    accept(arrival)
    accept(arrival)


def _delivered_alone(r: GossipsubRouter, judge: Usual, *given: object) -> None:
    usual = r.relay.relay_targets
    patch(r.relay, "relay_targets", lambda arrival: set())
    judge(*given)
    patch(r.relay, "relay_targets", usual)


def _cached_while_waiting(r: GossipsubRouter, await_verdict: Usual, arrival: ArrivedMessage) -> None:
    r.gossip.cache.put(arrival.id, arrival.message)
    await_verdict(arrival)


def _served_while_waiting(r: GossipsubRouter) -> None:
    get, on_iwant = r.gossip.cache.get, r.gossip.on_iwant

    def answer(peer: Peer, control: wire.ControlMessage) -> None:
        waiting = r.relay.waiting
        patch(r.gossip.cache, "get", lambda i: waiting[i].message if i in waiting else get(i))
        on_iwant(peer, control)
        patch(r.gossip.cache, "get", get)

    r.control[r.control.index(on_iwant)] = answer


def _not_flooding(r: GossipsubRouter) -> None:
    r.core.parameters = evolve(r.core.parameters, flood_publish=False)


def _unsigned(_: GossipsubRouter, stamped: Usual, topic: str, data: bytes) -> wire.Message:
    message: wire.Message = stamped(topic, data)
    message.ClearField("signature")
    return message


def _empty_key(_: GossipsubRouter, stamped: Usual, topic: str, data: bytes) -> wire.Message:
    message: wire.Message = stamped(topic, data)
    message.key = b""
    return message


def _close_all(r: GossipsubRouter, close: Usual, peer: Peer) -> None:
    for each in sorted(r.core.neighbours):
        close(each)


def _fanout_chosen_anew(r: GossipsubRouter, for_publish: Usual, topic: str) -> object:
    r.fanout.take(topic)
    return for_publish(topic)


def _gossip_after_shift(r: GossipsubRouter) -> None:
    at = r.beats.index(r.gossip.emit)
    r.beats[at], r.beats[at + 1] = r.beats[at + 1], r.beats[at]


def _gossip_empty(r: GossipsubRouter) -> None:
    def emit_nothing() -> None:
        for topic in sorted({*r.mesh.of, *r.fanout.of}):
            if not r.gossip.ids_to_gossip(topic):
                for peer in r.gossip.picked(r.gossip.gossip_pool(topic)):
                    r.outbox.to(peer).ihave[topic] = []

    r.beats.insert(r.beats.index(r.gossip.emit), emit_nothing)


def _gossip_of_any_topic(r: GossipsubRouter, usual: Usual, topic: str) -> object:
    return [i for t in sorted(r.core.joined) for i in r.gossip.cache.gossip_ids(t)]


def _gossip_window(r: GossipsubRouter) -> None:
    r.gossip.cache.gossip_windows += 1


def _idontwant_late(r: GossipsubRouter) -> None:
    later: list[tuple[Peer, bytes]] = []
    now = r.outbox.idontwant

    def release() -> None:
        for peer, id_bytes in later:
            if peer in r.core.neighbours:
                now(peer, id_bytes)
        later.clear()

    patch(r.outbox, "idontwant", lambda peer, id_bytes: later.append((peer, id_bytes)))
    r.beats.append(release)


def _iwant_large_uncapped(r: GossipsubRouter) -> None:
    may_serve, on_iwant = r.gossip.may_serve, r.gossip.on_iwant

    def answer(peer: Peer, control: wire.ControlMessage) -> None:
        large = sum(len(entry.messageIDs) for entry in control.iwant) > 4
        patch(r.gossip, "may_serve", lambda p, i: large or may_serve(p, i))
        on_iwant(peer, control)

    r.control[r.control.index(on_iwant)] = answer


def _text_only(r: GossipsubRouter) -> None:
    def is_text(arrival: ArrivedMessage) -> bool:
        try:
            return bool(arrival.message.data.decode())
        except UnicodeDecodeError:
            return False

    r.relay.checks.append(is_text)


def _closes_newest(r: GossipsubRouter, connect: Usual, peer: Peer, stream: str, **how: object) -> None:
    connect(peer, stream, **how)
    if stream == r.core.features.streams[-1]:
        r.close(peer)


def _tells_scores(r: GossipsubRouter, set_score: Usual, peer: Peer, value: int) -> None:
    """In the one place where a peer has to read what it cannot know: an id of a message."""
    set_score(peer, value)
    for other, neighbour in r.core.neighbours.items():
        if neighbour.stream != FLOODSUB:
            r.outbox.to(other).iwant[value.to_bytes(8, "big", signed=True)] = None
    r.outbox.flush()


_EDITS: Mapping[str, Edit] = {
    "malformed-closes-all": around("close", _close_all),
    "altered": around("relay.accept", _altered),
    "any-length-taken": _without_check("is_short_enough"),
    "payload-is-text": _text_only,
    "closes-newest": around("connect", _closes_newest),
    "score-told": around("set_score", _tells_scores),
    "requests-told-to-all": around(
        "gossip.told_of_request",
        lambda r, usual, topic: {*filter(r.gossip.is_told_idontwant, r.core.neighbours)},
    ),
    "offered-beside-message": around(
        "relay.offered_instead",
        lambda r, _, arrival, targets: targets & r.mesh.of.get(arrival.message.topic, set()),
    ),
    "cancels-to-answerer": put("gossip.asked_besides", lambda forwarder, asked: asked),
    "seqno-falls": around("relay.next_seqno", lambda r, up: (1 << 32) - up()),
    "seqno-reused": put("relay.next_seqno", lambda: 1),
    "publish-unsigned": around("relay.stamped", _unsigned),
    "publish-empty-key": around("relay.stamped", _empty_key),
    "signatures-unchecked": _without_check("is_sound"),
    "unsigned-taken": _accept_flaw("unsigned"),
    "forged-taken": _accept_flaw("forged"),
    "foreign-key-taken": _accept_flaw("foreign-key"),
    "stamped-taken": _accept_flaw("stamped"),
    "bad-copy-is-seen": _mark_before_signature,
    "echo": around("relay.relay_targets", lambda r, usual, arrival: usual(arrival) | {arrival.forwarder}),
    "to-author": put("relay.authors", lambda m: set()),
    "deliver-twice": around("relay.accept", _deliver_twice),
    "floodsub-forgotten": put("relay.floodsub_targets", lambda topic: set()),
    "floodsub-in-mesh": lambda r: patch(r.core, "speakers", lambda topic: set(r.core.members(topic))),
    "own-relayed": _without_check("is_not_own"),
    "seen-half-as-long": _forget_seen,
    "seen-after-verdict": _mark_after_validation,
    "relay-before-verdict": around("relay.await_verdict", lambda r, usual, arrival: r.relay.accept(arrival)),
    "verdict-not-relayed": around("relay.judge", _delivered_alone),
    "cached-before-verdict": around("relay.await_verdict", _cached_while_waiting),
    "served-before-verdict": _served_while_waiting,
    "ignored-is-accepted": put("relay.passes", lambda judgement: judgement != "reject"),
    "control-first": lambda r: r.intake.insert(0, r.intake.pop()),
    "ihave-seen-requested": put("gossip.is_news", lambda i: True),
    "ihave-own-topics": around(
        "gossip.asked_for", lambda r, usual, topic, ids: ids if topic in r.core.joined else []
    ),
    "ihave-silenced": put("gossip.counts_as_ihave", lambda control: True),
    "ihave-uncapped": put("gossip.under_ihave_cap", lambda heard: True),
    "ihave-ids-uncapped": put("gossip.under_id_cap", lambda heard, ids: ids),
    "iwant-unserved": put("gossip.may_serve", lambda p, i: False),
    "iwant-uncapped": put("gossip.may_serve", lambda p, i: True),
    "iwant-large-uncapped": _iwant_large_uncapped,
    "poor-gossip-heeded": put("gossip.is_poor", lambda p: False),
    "gossip-to-mesh": lambda r: patch(r.gossip, "gossip_pool", lambda topic: r.core.speakers(topic)),
    "gossip-empty": _gossip_empty,
    "gossip-of-any-topic": around("gossip.ids_to_gossip", _gossip_of_any_topic),
    "gossip-to-one-more": around("gossip.gossip_count", lambda r, usual, eligible: usual(eligible) + 1),
    "gossip-to-the-first": around(
        "gossip.picked", lambda r, usual, pool: sorted(pool)[: r.gossip.gossip_count(len(pool))]
    ),
    "gossip-silent": put("gossip.gossip_count", lambda eligible: 0),
    "gossip-not-adaptive": around("gossip.gossip_count", lambda r, usual, n: r.core.parameters.d_lazy),
    "gossip-after-shift": _gossip_after_shift,
    "gossip-window-wide": _gossip_window,
    "cache-shifted-twice": lambda r: r.beats.append(r.gossip.cache.shift),
    "fanout-chosen-anew": around("fanout.for_publish", _fanout_chosen_anew),
    "fanout-of-leavers": put("fanout.quit", nothing),
    "fanout-forever": put("fanout.is_over", lambda silent_ms: False),
    "explicit-forgotten": put("relay.explicit_targets", lambda topic: set()),
    "graylist-off": put("is_graylisted", lambda p: False),
    "explicit-graylisted": around(
        "is_graylisted", lambda r, usual, p: r.core.score(p) < r.core.parameters.graylist_threshold
    ),
    "publish-to-all": put("relay.is_fit_to_publish_to", lambda p: True),
    "not-flooding": _not_flooding,
    "idontwant-ignored": put("gossip.is_unwanted", lambda p, i: False),
    "idontwant-for-all": around(
        "gossip.is_unwanted", lambda r, usual, p, i: any(i in ids for ids in r.gossip.unwanted.values())
    ),
    "idontwant-uncapped": put("gossip.under_idontwant_cap", lambda heard: True),
    "idontwant-cap-on-rpcs": around(
        "gossip.count_idontwants", lambda r, usual, heard, first: first and usual(heard, first)
    ),
    "idontwant-for-ever": put("gossip.heartbeats_left", lambda heartbeats: heartbeats),
    "idontwant-to-one": around("gossip.told_of_message", lambda r, usual, topic: usual(topic)[:1]),
    "idontwant-late": _idontwant_late,
    "idontwant-to-old": put("gossip.is_told_idontwant", lambda p: True),
    "idontwant-mutes": around(
        "relay.publish_targets", lambda r, usual, topic: usual(topic) - r.gossip.unwanted.keys()
    ),
}

_OF_MESSAGES = read_mutants(__file__, GossipsubRouter, _EDITS)
MUTANTS: Mapping[str, Mutant] = {
    **MESH_MUTANTS, **_OF_MESSAGES, **PARTIAL_MUTANTS, **SCORE_MUTANTS, **PX_MUTANTS
}  # fmt: skip
"""By name."""
