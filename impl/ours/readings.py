"""Our pubsub router with another reading of an ambiguous text, by the name of the reading: `ours:READING`.

None is a fault: each is one of the things that a text allows to be made of it, or that some router makes of
it. They show that a separating trace tells the reading (`quidnunc check ... --dialect`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from quidnunc.impl.gossipsub.mesh import GraftAnswer
from quidnunc.impl.gossipsub.relay import ArrivedMessage, Check
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutant import Usual, around, nothing, patch, put
from quidnunc.impl.mutants.mesh import Edit
from quidnunc.impl.mutants.table import read_mutants
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.model.events import Judgement
from quidnunc.model.rpc import Peer

IWANTS_A_SECOND = 10
"""Of one peer: as py-libp2p has it."""


def _check_by(r: GossipsubRouter, name: str, check: Check) -> None:
    """Put a check of messages in the place of another one, under its name: what a copy costs its sender in
    score depends on which check it fails."""
    r.relay.checks[r.relay.checks.index(getattr(r.relay, name))] = check
    patch(r.relay, name, check)


def _spares_explicit(r: GossipsubRouter, targets: Usual, arrival: ArrivedMessage) -> set[Peer]:
    return {p for p in targets(arrival) if not r.gossip.is_unwanted(p, arrival.id)}


def _forget_ignored(r: GossipsubRouter) -> None:
    ignored: set[bytes] = set()
    judge, note = r.relay.judge, r.relay.note_receipt
    is_news, is_new = r.gossip.is_news, r.relay.is_new

    def judged(id_bytes: bytes, judgement: Judgement) -> None:
        if judgement == "ignore" and id_bytes in r.relay.waiting:
            ignored.add(id_bytes)
        judge(id_bytes, judgement)

    def noted(arrival: ArrivedMessage) -> None:
        ignored.discard(arrival.id)
        note(arrival)

    patch(r.relay, "judge", judged)
    patch(r.relay, "note_receipt", noted)
    patch(r.gossip, "is_news", lambda i: i in ignored or is_news(i))
    _check_by(r, "is_new", lambda a: a.id in ignored or is_new(a))


def _read_graylisted(r: GossipsubRouter, read: Usual, peer: Peer, rpc: wire.RPC) -> None:
    if r.is_graylisted(peer):
        r.read_subscriptions(peer, rpc)
    else:
        read(peer, rpc)


def _strangers_unheard(
    r: GossipsubRouter, on_prune: Usual, peer: Peer, topic: str, announced_s: int | None
) -> object:
    return peer not in r.mesh.of.get(topic, ()) or on_prune(peer, topic, announced_s)


def _unknown_topics_too(
    r: GossipsubRouter, on_prune: Usual, peer: Peer, topic: str, announced_s: int | None
) -> bool:
    if on_prune(peer, topic, announced_s):
        return True
    r.mesh.back_off(peer, topic, r.mesh.seconds_to_wait(announced_s))
    return False


def _leaves_fanout_late(r: GossipsubRouter) -> None:
    def drop_leavers() -> None:
        for topic, peers in r.fanout.of.items():
            peers &= r.core.members(topic)

    patch(r.fanout, "quit", nothing)
    r.beats.insert(0, drop_leavers)


def _leaves_mesh_late(r: GossipsubRouter) -> None:
    """It goes at the heartbeat, unless it has come back by then."""
    leaving = set[tuple[str, Peer]]()

    def drop_leavers() -> None:
        for topic, peer in leaving:
            if peer not in r.core.members(topic):
                usual(peer, topic)
        leaving.clear()

    usual = r.mesh.quit
    patch(r.mesh, "quit", lambda peer, topic: leaving.add((topic, peer)))
    r.beats.insert(0, drop_leavers)


def _refuses_until_swept(r: GossipsubRouter) -> None:
    checks = r.mesh.graft_checks
    usual = r.mesh.backing_off

    def backing_off(peer: Peer, topic: str) -> GraftAnswer | None:
        return GraftAnswer.BACK_OFF if r.mesh.waits(peer, topic) else usual(peer, topic)

    checks[checks.index(usual)] = backing_off


def _unannounced(answer: GraftAnswer) -> Edit:
    def check(r: GossipsubRouter) -> None:
        def stranger(peer: Peer, topic: str) -> GraftAnswer | None:
            return None if topic in r.core.neighbours[peer].topics else answer

        r.mesh.graft_checks.insert(1, stranger)

    return check


def _graft_announces(r: GossipsubRouter) -> None:
    def enter(peer: Peer, topic: str) -> GraftAnswer | None:
        r.core.enter(peer, topic)
        return None

    r.mesh.graft_checks.insert(0, enter)


def _past_empty_mesh(r: GossipsubRouter, targets: Usual, topic: str) -> object:
    empty = topic in r.core.joined and not r.mesh.of[topic]
    instead = r.core.some(r.core.members(topic), r.core.parameters.d) if empty else ()
    return targets(topic) | r.relay.above_publish_threshold(instead)


def _served_per_heartbeat(r: GossipsubRouter) -> None:
    served: dict[tuple[Peer, bytes], int] = {}

    def may_serve(peer: Peer, id_bytes: bytes) -> bool:
        served[peer, id_bytes] = served.get((peer, id_bytes), 0) + 1
        return served[peer, id_bytes] <= r.core.parameters.gossip_retransmission

    patch(r.gossip, "may_serve", may_serve)
    r.beats.append(served.clear)


def _full_for_all(r: GossipsubRouter) -> None:
    def full(peer: Peer, topic: str) -> GraftAnswer | None:
        return GraftAnswer.BACK_OFF if r.mesh.is_full(len(r.mesh.of[topic])) else None

    r.mesh.graft_checks[r.mesh.graft_checks.index(r.mesh.full)] = full


def _seen_renewed(r: GossipsubRouter) -> None:
    is_new = r.relay.is_new

    def renewed(arrival: ArrivedMessage) -> bool:
        if is_new(arrival):
            return True
        r.gossip.seen.add(arrival.id, r.core.now_ms)
        return False

    _check_by(r, "is_new", renewed)


def _best_first(r: GossipsubRouter, keep: Usual, kept: list[Peer], gone: list[Peer]) -> list[Peer]:
    """Outbound peers take the place of random members alone, as far as there are any."""
    best, rest = kept[: r.mesh.best_kept()], kept[r.mesh.best_kept() :]
    missing = max(0, r.core.parameters.d_out - len(r.core.outbound(set(kept))))
    inbound = [p for p in rest if not r.core.neighbours[p].outbound]
    spare = sorted(r.core.outbound(set(gone)))[: min(missing, len(inbound))]
    replaced = inbound[len(inbound) - len(spare) :]
    return [*best, *(p for p in rest if p not in replaced), *spare]


def _graft_on_subscribe(r: GossipsubRouter, enter: Usual, peer: Peer, topic: str) -> None:
    enter(peer, topic)
    members = r.mesh.of.get(topic)
    if members is not None and len(members) < r.core.parameters.d and peer in r.mesh.eligible(topic):
        r.mesh.admit(peer, topic)
        r.outbox.graft(peer, topic)


def _own_marked(r: GossipsubRouter) -> None:
    is_not_own = r.relay.is_not_own

    def marked(arrival: ArrivedMessage) -> bool:
        if is_not_own(arrival):
            return True
        r.relay.note_receipt(arrival)
        return False

    _check_by(r, "is_not_own", marked)


def _told_before_signature(r: GossipsubRouter) -> None:
    is_sound = r.relay.is_sound

    def told(arrival: ArrivedMessage) -> bool:
        if is_sound(arrival):
            return True
        r.gossip.say_idontwant(arrival.message.topic, arrival.message, arrival.id)
        return False

    _check_by(r, "is_sound", told)


def _cached_since_arrival(r: GossipsubRouter) -> None:
    came: dict[bytes, int] = {}
    put, note, beats = r.gossip.cache.put, r.relay.note_receipt, count(1)
    now = [0]

    def noted(arrival: ArrivedMessage) -> None:
        came[arrival.id] = now[0]
        note(arrival)

    def into_its_window(id_bytes: bytes, message: wire.Message) -> None:
        put(id_bytes, message, now[0] - came.pop(id_bytes, now[0]))

    def beat() -> None:
        now[0] = next(beats)

    patch(r.relay, "note_receipt", noted)
    patch(r.gossip.cache, "put", into_its_window)
    r.beats.append(beat)


def _fanout_filled_in_use(r: GossipsubRouter, for_publish: Usual, topic: str) -> set[Peer]:
    peers: set[Peer] = for_publish(topic)
    missing = r.core.parameters.d - len(peers)
    if peers and missing > 0:
        peers.update(r.core.some(r.fanout.eligible(topic) - peers, missing))
    return peers


def _capped_per_topic(r: GossipsubRouter) -> None:
    heard: dict[tuple[Peer, str], int] = {}
    on_ihave = r.gossip.on_ihave

    def per_topic(peer: Peer, control: wire.ControlMessage) -> None:
        kept = wire.ControlMessage()
        for entry in control.ihave:
            heard[peer, entry.topicID] = heard.get((peer, entry.topicID), 0) + 1
            if heard[peer, entry.topicID] <= r.core.parameters.max_ihave_messages:
                kept.ihave.add().CopyFrom(entry)
        on_ihave(peer, kept)

    patch(r.gossip, "under_ihave_cap", lambda _: True)
    r.control[r.control.index(on_ihave)] = per_topic
    r.beats.insert(0, heard.clear)


def _iwants_per_second(r: GossipsubRouter) -> None:
    heard: dict[Peer, list[int]] = {}
    on_iwant = r.gossip.on_iwant

    def per_second(peer: Peer, control: wire.ControlMessage) -> None:
        now_ms = r.core.now_ms
        kept = wire.ControlMessage()
        times = heard[peer] = [at for at in heard.get(peer, ()) if at > now_ms - 1000]
        for entry in control.iwant:
            if len(times) < IWANTS_A_SECOND:
                times.append(now_ms)
                kept.iwant.add().CopyFrom(entry)
        on_iwant(peer, kept)

    patch(r.gossip, "may_serve", lambda peer, id_bytes: True)
    r.control[r.control.index(on_iwant)] = per_second


def _oldest_evicted(r: GossipsubRouter) -> None:
    on_idontwant = r.gossip.on_idontwant

    def latest_kept(peer: Peer, control: wire.ControlMessage) -> None:
        on_idontwant(peer, control)
        unwanted = r.gossip.unwanted.get(peer, {})
        while len(unwanted) > r.core.parameters.max_idontwant_messages:
            del unwanted[next(iter(unwanted))]

    patch(r.gossip, "under_idontwant_cap", lambda _: True)
    r.control[r.control.index(on_idontwant)] = latest_kept


_EDITS: Mapping[str, Edit] = {
    "idontwant-not-honoured": put("gossip.is_unwanted", lambda p, i: False),
    "idontwant-stops-iwant-answers": around(
        "gossip.may_serve", lambda r, usual, p, i: not r.gossip.is_unwanted(p, i) and usual(p, i)
    ),
    "idontwant-spares-explicit": around("relay.relay_targets", _spares_explicit),
    "px-above-threshold-only": around(
        "mesh.exchange.is_trusted",
        lambda r, usual, p: r.core.score(p) > r.core.parameters.accept_px_threshold,
    ),
    "ignored-forgotten": _forget_ignored,
    "graylisted-subscriptions-count": around("read", _read_graylisted),
    "control-before-payload": lambda r: r.intake.append(r.intake.pop(r.intake.index(r.read_messages))),
    "stranger-prune-ignored": around("mesh.on_prune", _strangers_unheard),
    "prune-of-unknown-topic-backs-off": around("mesh.on_prune", _unknown_topics_too),
    "unsubscribed-stays-in-mesh": put("mesh.quit", nothing),
    "unsubscribed-stays-until-heartbeat": _leaves_mesh_late,
    "backoff-ends-at-heartbeat": _refuses_until_swept,
    "unsubscribed-stays-in-fanout": _leaves_fanout_late,
    "graft-announces": _graft_announces,
    "unannounced-graft-ignored": _unannounced(GraftAnswer.LEAVE),
    "unannounced-graft-pruned": _unannounced(GraftAnswer.PRUNE),
    "empty-mesh-passed-over": around("relay.publish_targets", _past_empty_mesh),
    "iwant-counted-per-heartbeat": _served_per_heartbeat,
    "outbound-refused-when-full": _full_for_all,
    "seen-refreshed": _seen_renewed,
    "best-kept-before-quota": around("mesh.keep_outbound", _best_first),
    "graft-on-subscribe": around("core.enter", _graft_on_subscribe),
    "own-from-outside-marked-seen": _own_marked,
    "fanout-filled-at-publish": around("fanout.for_publish", _fanout_filled_in_use),
    "ihave-capped-otherwise": _capped_per_topic,
    "iwant-capped-otherwise": _iwants_per_second,
    "zero-backoff-is-none": around("mesh.seconds_to_wait", lambda r, usual, s: 0 if s == 0 else usual(s)),
    "idontwant-before-signature": _told_before_signature,
    "cached-since-arrival": _cached_since_arrival,
    "idontwant-evicts-oldest": _oldest_evicted,
}

READINGS_OF_OURS = read_mutants(__file__, GossipsubRouter, _EDITS)
"""By name: the edit of our router, its clause, and the first protocol in which it shows."""
