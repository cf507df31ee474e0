"""Planted departures of our pubsub router, by name: what a claim must notice to be worth its name.

Here are those of messages, gossip and streams; those of the mesh are in `quidnunc.impl.mutants.mesh`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import evolve

from quidnunc.impl.gossipsub.relay import ArrivedMessage
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutant import Mutant
from quidnunc.impl.mutants.mesh import MESH_MUTANTS, Edit, mutant, nothing, patch
from quidnunc.impl.mutants.partial import PARTIAL_MUTANTS
from quidnunc.impl.mutants.peer_exchange import PX_MUTANTS
from quidnunc.impl.mutants.scores import SCORE_MUTANTS
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


def _control_first(r: GossipsubRouter) -> None:
    r.intake.insert(0, r.intake.pop())


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


_ROWS: tuple[tuple[str, str, Edit, str] | tuple[str, str, Edit, str, str], ...] = (
    ("malformed-closes-all", "pubsub/rpc.malformed", _close_all,
     "Closes every stream when one peer sends bytes that are no RPC."),
    ("altered", "pubsub/relay.unchanged", _altered, "Adds an empty key to what it relays."),
    ("any-length-taken", "pubsub/rpc.size-limit", _without_check("is_short_enough"),
     "Takes messages beyond the limit of their size."),
    ("payload-is-text", "pubsub/publish.opaque-payload", _text_only,
     "Drops messages whose data are no text."),
    ("closes-newest", "gs1.2/rpc.protocol-id", _closes_newest,
     "Closes streams of the newest version that it speaks.", "gossipsub-1.2"),
    ("score-told", "gs1.1/score.local", _tells_scores,
     "Tells its peers what it thinks of one of them.", "gossipsub-1.1"),
    ("requests-told-to-all", "gs1.2-draft/idontwant.on-ihave", _tells_all_of_requests,
     "Tells every peer, in the mesh or not, IDONTWANT for what it asks for.", "gossipsub-1.2-draft"),
    ("offered-beside-message", "gs1.2-draft/ihave.instead-of-message", _offers_beside,
     "Sends IHAVE to mesh members beside the message itself.", "gossipsub-1.2-draft"),
    ("cancels-to-answerer", "gs1.2/iwant.cancel",
     lambda r: patch(r.gossip, "asked_besides", lambda forwarder, asked: asked),
     "Tells the peer that answered its IWANT that it does not want the message.", "gossipsub-1.2"),
    ("seqno-falls", "pubsub/publish.seqno", _counts_down, "Numbers its messages downwards."),
    ("seqno-reused", "pubsub/publish.seqno", lambda r: patch(r.relay, "next_seqno", lambda: 1),
     "Gives all its messages the same sequence number."),
    ("publish-unsigned", "pubsub/signing.sign", _unsigned, "Does not sign its own messages."),
    ("publish-empty-key", "pubsub/signing.no-sign", _empty_key,
     "Writes an empty key where it should write none."),
    ("signatures-unchecked", "pubsub/signing.reject", _without_check("is_sound"),
     "Takes copies that break the signature policy."),
    ("unsigned-taken", "pubsub/signing.strict-required", _accept_flaw("unsigned"),
     "Takes messages without a signature under StrictSign."),
    ("forged-taken", "pubsub/signing.strict-verified", _accept_flaw("forged"),
     "Takes messages whose signature does not verify."),
    ("foreign-key-taken", "pubsub/signing.key-matches", _accept_flaw("foreign-key"),
     "Takes messages signed with another key than the author's."),
    ("stamped-taken", "pubsub/signing.strict-no-sign-refused", _accept_flaw("stamped"),
     "Takes stamped messages under StrictNoSign."),
    ("bad-copy-is-seen", "pubsub/signing.reject", _mark_before_signature,
     "Marks a message seen before it looks at the signature, so that a good copy is a duplicate."),
    ("echo", "floodsub/relay.not-back", _echo, "Sends a message back to the peer it came from."),
    ("to-author", "floodsub/relay.not-to-author", lambda r: patch(r.relay, "authors", lambda m: set()),
     "Sends a message to its author."),
    ("deliver-twice", "floodsub/deliver.once", _deliver_twice, "Hands a message over twice."),
    ("floodsub-forgotten", "gs1.0/relay.floodsub-peers",
     lambda r: patch(r.relay, "floodsub_targets", lambda topic: set()), "Sends floodsub peers nothing."),
    ("floodsub-in-mesh", "floodsub/rpc.no-control",
     lambda r: patch(r.core, "speakers", lambda topic: set(r.core.members(topic))),
     "Takes floodsub peers for gossipsub ones."),
    ("own-relayed", "gs1.0/relay.own-not-forwarded", _without_check("is_not_own"),
     "Relays messages that name itself as author."),
    # None counts the TTL of seen from the last copy: whether a copy renews the entry is not said.
    ("seen-half-as-long", "gs1.0/seen.ttl", _forget_seen, "Forgets what it saw after half of seen_ttl."),
    ("seen-after-verdict", "gs1.0/relay.seen", _mark_after_validation,
     "Marks a message seen only when it is accepted."),
    ("relay-before-verdict", "gs1.0/validation.before-relay", _relay_before_verdict,
     "Relays before the verdict."),
    ("ignored-is-accepted", "gs1.1/validation.reject-ignore",
     lambda r: patch(r.relay, "passes", lambda judgement: judgement != "reject"),
     "Delivers and relays what the application ignores."),
    ("control-first", "gs1.0/rpc.payload-first", _control_first, "Reads control before messages."),
    ("ihave-seen-requested", "gs1.0/ihave.all-seen", lambda r: patch(r.gossip, "is_news", lambda i: True),
     "Asks for what it has seen."),
    ("ihave-silenced", "gs1.0/ihave.request-unseen",
     lambda r: patch(r.gossip, "counts_as_ihave", lambda control: True),
     "Counts any control RPC against the cap of IHAVEs.", "gossipsub-1.1"),
    ("ihave-uncapped", "gs1.1/ihave.caps", lambda r: patch(r.gossip, "under_ihave_cap", lambda heard: True),
     "Heeds any number of IHAVEs."),
    ("ihave-ids-uncapped", "gs1.1/ihave.caps",
     lambda r: patch(r.gossip, "under_id_cap", lambda heard, ids: ids),
     "Heeds any number of advertised ids."),
    ("iwant-unserved", "gs1.0/iwant.serve", lambda r: patch(r.gossip, "may_serve", lambda p, i: False),
     "Never answers an IWANT."),
    ("iwant-uncapped", "gs1.1/iwant.retransmission",
     lambda r: patch(r.gossip, "may_serve", lambda p, i: True), "Answers an IWANT as often as it is asked."),
    ("poor-gossip-heeded", "gs1.1/threshold.gossip-ignored",
     lambda r: patch(r.gossip, "is_poor", lambda p: False), "Gossips with peers below the gossip threshold."),
    ("gossip-to-mesh", "gs1.0/gossip.outside-mesh",
     lambda r: patch(r.gossip, "gossip_pool", lambda topic: r.core.speakers(topic)),
     "Sends IHAVE to mesh members too."),
    # None sends IHAVE to explicit peers: that they get none is practice and not text, so it is free.
    ("gossip-of-any-topic", "gs1.0/mcache.by-topic", _gossip_of_any_topic,
     "Advertises messages of other topics."),
    ("gossip-to-one-more", "gs1.0/gossip.at-most-d-lazy", _gossip_more, "Gossips with one peer too many."),
    ("gossip-not-adaptive", "gs1.1/gossip.adaptive",
     lambda r: patch(r.gossip, "gossip_count", lambda eligible: r.core.parameters.d_lazy),
     "Gossips with D_lazy peers however many there are."),
    ("gossip-after-shift", "gs1.0/mcache.shift", _gossip_after_shift, "Shifts the cache before it gossips."),
    ("gossip-window-wide", "gs1.0/gossip.ids", _gossip_window, "Gossips about one window too many."),
    ("cache-shifted-twice", "gs1.0/mcache.length", lambda r: r.beats.append(r.gossip.cache.shift),
     "Keeps messages half as long."),
    ("fanout-chosen-anew", "gs1.0/publish.fanout", _fanout_chosen_anew,
     "Chooses a fanout at every publish."),
    ("fanout-of-leavers", "gs1.0/fanout.members", lambda r: patch(r.fanout, "quit", nothing),
     "Keeps a peer that left the topic in its fanout."),
    ("fanout-forever", "gs1.0/fanout.expire", lambda r: patch(r.fanout, "is_over", lambda silent_ms: False),
     "Never drops a fanout."),
    ("explicit-forgotten", "gs1.1/explicit.forward",
     lambda r: patch(r.relay, "explicit_targets", lambda topic: set()),
     "Does not forward to explicit peers."),
    ("graylist-off", "gs1.1/threshold.graylist", lambda r: patch(r, "is_graylisted", lambda p: False),
     "Reads RPCs of graylisted peers."),
    ("explicit-graylisted", "gs1.1/explicit.accept-rpc", _explicit_graylisted,
     "Ignores RPCs of an explicit peer because of its score."),
    ("publish-to-all", "gs1.1/threshold.publish",
     lambda r: patch(r.relay, "is_fit_to_publish_to", lambda p: True),
     "Publishes to peers below the publish threshold."),
    ("not-flooding", "gs1.1/publish.flood", _not_flooding, "Publishes to its mesh, flood publishing or not."),
    ("idontwant-ignored", "gs1.2/idontwant.skip",
     lambda r: patch(r.gossip, "is_unwanted", lambda p, i: False), "Relays to who said IDONTWANT."),
    ("idontwant-for-all", "gs1.2/idontwant.per-peer", _unwanted_by_anyone,
     "Takes the IDONTWANT of one peer for everyone's."),
    ("idontwant-uncapped", "gs1.2/idontwant.cap",
     lambda r: patch(r.gossip, "under_idontwant_cap", lambda heard: True), "Heeds any number of IDONTWANTs."),
    ("idontwant-late", "gs1.2/idontwant.immediate", _idontwant_late,
     "Keeps IDONTWANTs until the next heartbeat."),
    ("idontwant-to-old", "gs1.2/idontwant.feature-peers",
     lambda r: patch(r.gossip, "is_told_idontwant", lambda p: True), "Sends IDONTWANT to peers of v1.1."),
    ("idontwant-mutes", "gs1.2/idontwant.relay-only", _mute,
     "Publishes nothing to a peer that said any IDONTWANT."),
)  # fmt: skip

_EVERY = (*MESH_MUTANTS, *(mutant(*row) for row in _ROWS), *PARTIAL_MUTANTS, *SCORE_MUTANTS, *PX_MUTANTS)
MUTANTS: Mapping[str, Mutant] = MappingProxyType({each.name: each for each in _EVERY})
"""By name."""
