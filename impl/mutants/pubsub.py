"""Planted departures of our pubsub router, by name: what a claim must notice to be worth its name.

Here are those of messages, gossip and streams; those of the mesh are in `quidnunc.impl.mutants.mesh`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import evolve

from quidnunc.impl.gossipsub.relay import ArrivedMessage
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutant import Mutant, nothing, patch, put
from quidnunc.impl.mutants.mesh import MESH_MUTANTS, Edit
from quidnunc.impl.mutants.partial import PARTIAL_MUTANTS
from quidnunc.impl.mutants.peer_exchange import PX_MUTANTS
from quidnunc.impl.mutants.scores import SCORE_MUTANTS
from quidnunc.impl.mutants.table import read_mutants
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.signing import signature_fault
from quidnunc.model.events import FLOODSUB
from quidnunc.model.rpc import Peer


def _echo(r: GossipsubRouter) -> None:
    targets = r.relay.relay_targets
    patch(r.relay, "relay_targets", lambda arrival: targets(arrival) | {arrival.forwarder})


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


def _altered(r: GossipsubRouter) -> None:
    accept = r.relay.accept

    def alter(arrival: ArrivedMessage) -> None:
        arrival.message.key = b""
        accept(arrival)

    patch(r.relay, "accept", alter)


def _deliver_twice(r: GossipsubRouter) -> None:
    accept = r.relay.accept

    def twice(arrival: ArrivedMessage) -> None:
        accept(arrival)
        accept(arrival)

    patch(r.relay, "accept", twice)


def _relay_before_verdict(r: GossipsubRouter) -> None:
    patch(r.relay, "await_verdict", lambda arrival: r.relay.accept(arrival))


def _not_flooding(r: GossipsubRouter) -> None:
    r.core.parameters = evolve(r.core.parameters, flood_publish=False)


def _unsigned(r: GossipsubRouter) -> None:
    stamped = r.relay.stamped

    def bare(topic: str, data: bytes) -> wire.Message:
        message = stamped(topic, data)
        message.ClearField("signature")
        return message

    patch(r.relay, "stamped", bare)


def _empty_key(r: GossipsubRouter) -> None:
    stamped = r.relay.stamped

    def with_key(topic: str, data: bytes) -> wire.Message:
        message = stamped(topic, data)
        message.key = b""
        return message

    patch(r.relay, "stamped", with_key)


def _close_all(r: GossipsubRouter) -> None:
    close = r.close

    def close_all(peer: Peer) -> None:
        for each in sorted(r.core.neighbours):
            close(each)

    patch(r, "close", close_all)


def _explicit_graylisted(r: GossipsubRouter) -> None:
    patch(r, "is_graylisted", lambda p: r.core.score(p) < r.core.parameters.graylist_threshold)


def _fanout_chosen_anew(r: GossipsubRouter) -> None:
    for_publish = r.fanout.for_publish

    def anew(topic: str) -> set[Peer]:
        r.fanout.take(topic)
        return for_publish(topic)

    patch(r.fanout, "for_publish", anew)


def _gossip_after_shift(r: GossipsubRouter) -> None:
    at = r.beats.index(r.gossip.emit)
    r.beats[at], r.beats[at + 1] = r.beats[at + 1], r.beats[at]


def _gossip_of_any_topic(r: GossipsubRouter) -> None:
    ids = r.gossip.cache.gossip_ids
    patch(r.gossip, "ids_to_gossip", lambda topic: [i for t in sorted(r.core.joined) for i in ids(t)])


def _gossip_more(r: GossipsubRouter) -> None:
    count = r.gossip.gossip_count
    patch(r.gossip, "gossip_count", lambda eligible: count(eligible) + 1)


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


def _unwanted_by_anyone(r: GossipsubRouter) -> None:
    unwanted = r.gossip.unwanted
    patch(r.gossip, "is_unwanted", lambda p, i: any(i in ids for ids in unwanted.values()))


def _mute(r: GossipsubRouter) -> None:
    targets = r.relay.publish_targets
    unwanted = r.gossip.unwanted
    patch(r.relay, "publish_targets", lambda topic: {p for p in targets(topic) if p not in unwanted})


def _counts_down(r: GossipsubRouter) -> None:
    up = r.relay.next_seqno
    patch(r.relay, "next_seqno", lambda: (1 << 32) - up())


def _tells_all_of_requests(r: GossipsubRouter) -> None:
    gossip = r.gossip
    patch(gossip, "told_of_request", lambda topic: {*filter(gossip.is_told_idontwant, r.core.neighbours)})


def _offers_beside(r: GossipsubRouter) -> None:
    patch(r.relay, "offered_instead", lambda arrival, targets: targets & r.mesh.of[arrival.message.topic])


def _text_only(r: GossipsubRouter) -> None:
    def is_text(arrival: ArrivedMessage) -> bool:
        try:
            return bool(arrival.message.data.decode())
        except UnicodeDecodeError:
            return False

    r.relay.checks.append(is_text)


def _closes_newest(r: GossipsubRouter) -> None:
    connect = r.connect

    def closing(peer: Peer, stream: str, *, outbound: bool, address: int = 0) -> None:
        connect(peer, stream, outbound=outbound, address=address)
        if stream == r.core.features.streams[-1]:
            r.close(peer)

    patch(r, "connect", closing)


def _tells_scores(r: GossipsubRouter) -> None:
    """In the one place where a peer has to read what it cannot know: an id of a message."""
    set_score = r.set_score

    def told(peer: Peer, value: int) -> None:
        set_score(peer, value)
        for other, neighbour in r.core.neighbours.items():
            if neighbour.stream != FLOODSUB:
                r.outbox.to(other).iwant[value.to_bytes(8, "big", signed=True)] = None
        r.outbox.flush()

    patch(r, "set_score", told)


_EDITS: Mapping[str, Edit] = {
    "malformed-closes-all": _close_all,
    "altered": _altered,
    "any-length-taken": _without_check("is_short_enough"),
    "payload-is-text": _text_only,
    "closes-newest": _closes_newest,
    "score-told": _tells_scores,
    "requests-told-to-all": _tells_all_of_requests,
    "offered-beside-message": _offers_beside,
    "cancels-to-answerer": put("gossip.asked_besides", lambda forwarder, asked: asked),
    "seqno-falls": _counts_down,
    "seqno-reused": put("relay.next_seqno", lambda: 1),
    "publish-unsigned": _unsigned,
    "publish-empty-key": _empty_key,
    "signatures-unchecked": _without_check("is_sound"),
    "unsigned-taken": _accept_flaw("unsigned"),
    "forged-taken": _accept_flaw("forged"),
    "foreign-key-taken": _accept_flaw("foreign-key"),
    "stamped-taken": _accept_flaw("stamped"),
    "bad-copy-is-seen": _mark_before_signature,
    "echo": _echo,
    "to-author": put("relay.authors", lambda m: set()),
    "deliver-twice": _deliver_twice,
    "floodsub-forgotten": put("relay.floodsub_targets", lambda topic: set()),
    "floodsub-in-mesh": lambda r: patch(r.core, "speakers", lambda topic: set(r.core.members(topic))),
    "own-relayed": _without_check("is_not_own"),
    "seen-half-as-long": _forget_seen,
    "seen-after-verdict": _mark_after_validation,
    "relay-before-verdict": _relay_before_verdict,
    "ignored-is-accepted": put("relay.passes", lambda judgement: judgement != "reject"),
    "control-first": lambda r: r.intake.insert(0, r.intake.pop()),
    "ihave-seen-requested": put("gossip.is_news", lambda i: True),
    "ihave-silenced": put("gossip.counts_as_ihave", lambda control: True),
    "ihave-uncapped": put("gossip.under_ihave_cap", lambda heard: True),
    "ihave-ids-uncapped": put("gossip.under_id_cap", lambda heard, ids: ids),
    "iwant-unserved": put("gossip.may_serve", lambda p, i: False),
    "iwant-uncapped": put("gossip.may_serve", lambda p, i: True),
    "poor-gossip-heeded": put("gossip.is_poor", lambda p: False),
    "gossip-to-mesh": lambda r: patch(r.gossip, "gossip_pool", lambda topic: r.core.speakers(topic)),
    "gossip-of-any-topic": _gossip_of_any_topic,
    "gossip-to-one-more": _gossip_more,
    "gossip-not-adaptive": lambda r: patch(
        r.gossip, "gossip_count", lambda eligible: r.core.parameters.d_lazy
    ),
    "gossip-after-shift": _gossip_after_shift,
    "gossip-window-wide": _gossip_window,
    "cache-shifted-twice": lambda r: r.beats.append(r.gossip.cache.shift),
    "fanout-chosen-anew": _fanout_chosen_anew,
    "fanout-of-leavers": put("fanout.quit", nothing),
    "fanout-forever": put("fanout.is_over", lambda silent_ms: False),
    "explicit-forgotten": put("relay.explicit_targets", lambda topic: set()),
    "graylist-off": put("is_graylisted", lambda p: False),
    "explicit-graylisted": _explicit_graylisted,
    "publish-to-all": put("relay.is_fit_to_publish_to", lambda p: True),
    "not-flooding": _not_flooding,
    "idontwant-ignored": put("gossip.is_unwanted", lambda p, i: False),
    "idontwant-for-all": _unwanted_by_anyone,
    "idontwant-uncapped": put("gossip.under_idontwant_cap", lambda heard: True),
    "idontwant-late": _idontwant_late,
    "idontwant-to-old": put("gossip.is_told_idontwant", lambda p: True),
    "idontwant-mutes": _mute,
}

_OF_MESSAGES = read_mutants(__file__, GossipsubRouter, _EDITS)
_EVERY = (*MESH_MUTANTS, *_OF_MESSAGES, *PARTIAL_MUTANTS, *SCORE_MUTANTS, *PX_MUTANTS)
MUTANTS: Mapping[str, Mutant] = MappingProxyType({each.name: each for each in _EVERY})
"""By name."""
