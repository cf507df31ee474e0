"""Our pubsub router with another reading of an ambiguous text, by the name of the reading: `ours:READING`.

None is a fault: each is one of the things that a text allows to be made of it, or that some router makes of
it. They show that a separating trace tells the reading (`quidnunc check ... --dialect`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from quidnunc.impl.gossipsub.mesh import GraftAnswer
from quidnunc.impl.gossipsub.relay import ArrivedMessage
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutant import Mutant
from quidnunc.impl.mutants.mesh import Edit, mutant, nothing, patch
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.model.events import Judgement
from quidnunc.model.rpc import Peer

IWANTS_A_SECOND = 10
"""Of one peer: as py-libp2p has it."""


def _stops_answers(r: GossipsubRouter) -> None:
    may_serve = r.gossip.may_serve
    patch(r.gossip, "may_serve", lambda p, i: not r.gossip.is_unwanted(p, i) and may_serve(p, i))


def _spares_explicit(r: GossipsubRouter) -> None:
    targets = r.relay.relay_targets

    def spared(arrival: ArrivedMessage) -> set[Peer]:
        return {p for p in targets(arrival) if not r.gossip.is_unwanted(p, arrival.id)}

    patch(r.relay, "relay_targets", spared)


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
    r.relay.checks[r.relay.checks.index(is_new)] = lambda a: a.id in ignored or is_new(a)


def _read_graylisted(r: GossipsubRouter) -> None:
    read = r.read

    def subscriptions_at_least(peer: Peer, rpc: wire.RPC) -> None:
        if r.is_graylisted(peer):
            r.read_subscriptions(peer, rpc)
        else:
            read(peer, rpc)

    patch(r, "read", subscriptions_at_least)


def _payload_last(r: GossipsubRouter) -> None:
    r.intake.append(r.intake.pop(r.intake.index(r.read_messages)))


def _strangers_unheard(r: GossipsubRouter) -> None:
    on_prune = r.mesh.on_prune

    def of_members(peer: Peer, topic: str, announced_s: int | None) -> bool:
        return peer not in r.mesh.of.get(topic, ()) or on_prune(peer, topic, announced_s)

    patch(r.mesh, "on_prune", of_members)


def _unknown_topics_too(r: GossipsubRouter) -> None:
    on_prune = r.mesh.on_prune

    def in_any_topic(peer: Peer, topic: str, announced_s: int | None) -> bool:
        if on_prune(peer, topic, announced_s):
            return True
        r.mesh.back_off(peer, topic, r.mesh.seconds_to_wait(announced_s))
        return False

    patch(r.mesh, "on_prune", in_any_topic)


def _leaves_fanout_late(r: GossipsubRouter) -> None:
    def drop_leavers() -> None:
        for topic, peers in r.fanout.of.items():
            peers &= r.core.members(topic)

    patch(r.fanout, "quit", nothing)
    r.beats.insert(0, drop_leavers)


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


def _past_empty_mesh(r: GossipsubRouter) -> None:
    targets = r.relay.publish_targets

    def someone(topic: str) -> set[Peer]:
        empty = topic in r.core.joined and not r.mesh.of[topic]
        instead = r.core.some(r.core.members(topic), r.core.parameters.d) if empty else ()
        return targets(topic) | r.relay.above_publish_threshold(instead)

    patch(r.relay, "publish_targets", someone)


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

    r.relay.checks[r.relay.checks.index(is_new)] = renewed


def _best_first(r: GossipsubRouter) -> None:
    keep = r.mesh.keep_outbound

    def after_the_best(kept: list[Peer], gone: list[Peer]) -> list[Peer]:
        # Who is put in for a random member goes in before the best are looked at.
        best, rest = kept[: r.mesh.best_kept()], kept[r.mesh.best_kept() :]
        wanted = r.core.parameters.d_out - len(r.core.outbound(set(kept)))
        room = sum(not r.core.neighbours[p].outbound for p in rest)
        return [*best, *keep(rest, gone)] if wanted <= room else _swapped(r, best, rest, gone)

    patch(r.mesh, "keep_outbound", after_the_best)


def _swapped(r: GossipsubRouter, best: list[Peer], rest: list[Peer], gone: list[Peer]) -> list[Peer]:
    """All of the room behind the best, for outbound peers as far as there are any."""
    outbound = [p for p in [*rest, *gone] if r.core.neighbours[p].outbound]
    others = [p for p in rest if p not in outbound]
    return [*best, *[*outbound, *others][: len(rest)]]


def _graft_on_subscribe(r: GossipsubRouter) -> None:
    enter = r.core.enter

    def enter_and_graft(peer: Peer, topic: str) -> None:
        enter(peer, topic)
        members = r.mesh.of.get(topic)
        if members is not None and len(members) < r.core.parameters.d and peer in r.mesh.eligible(topic):
            members.add(peer)
            r.outbox.graft(peer, topic)

    patch(r.core, "enter", enter_and_graft)


def _own_marked(r: GossipsubRouter) -> None:
    is_not_own = r.relay.is_not_own

    def marked(arrival: ArrivedMessage) -> bool:
        if is_not_own(arrival):
            return True
        r.relay.note_receipt(arrival)
        return False

    r.relay.checks[r.relay.checks.index(is_not_own)] = marked


def _fanout_filled_in_use(r: GossipsubRouter) -> None:
    for_publish = r.fanout.for_publish

    def filled(topic: str) -> set[Peer]:
        peers = for_publish(topic)
        missing = r.core.parameters.d - len(peers)
        if peers and missing > 0:
            peers.update(r.core.some(r.fanout.eligible(topic) - peers, missing))
        return peers

    patch(r.fanout, "for_publish", filled)


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


def _zero_is_no_backoff(r: GossipsubRouter) -> None:
    default_s = r.mesh.seconds_to_wait

    def announced(announced_s: int | None) -> int:
        return 0 if announced_s == 0 else default_s(announced_s)

    patch(r.mesh, "seconds_to_wait", announced)


def _oldest_evicted(r: GossipsubRouter) -> None:
    on_idontwant = r.gossip.on_idontwant

    def latest_kept(peer: Peer, control: wire.ControlMessage) -> None:
        on_idontwant(peer, control)
        unwanted = r.gossip.unwanted.get(peer, {})
        while len(unwanted) > r.core.parameters.max_idontwant_messages:
            del unwanted[next(iter(unwanted))]

    patch(r.gossip, "under_idontwant_cap", lambda _: True)
    r.control[r.control.index(on_idontwant)] = latest_kept


def _trusts_above(r: GossipsubRouter) -> None:
    threshold = r.core.parameters.accept_px_threshold
    patch(r.mesh.exchange, "is_trusted", lambda peer: r.core.score(peer) > threshold)


def _relay_unwanted(r: GossipsubRouter) -> None:
    patch(r.gossip, "is_unwanted", lambda p, i: False)


_ROWS: tuple[tuple[str, str, Callable[[GossipsubRouter], None], str], ...] = (
    ("idontwant-not-honoured", "gs1.2/idontwant.skip", _relay_unwanted,
     "Relays to who said IDONTWANT."),
    ("idontwant-stops-iwant-answers", "gs1.2/idontwant.relay-only", _stops_answers,
     "Gives no answer to an IWANT for what its sender does not want."),
    ("idontwant-spares-explicit", "gs1.2/idontwant.skip", _spares_explicit,
     "Skips explicit peers that said IDONTWANT."),
    ("px-above-threshold-only", "gs1.1/px.accept-threshold", _trusts_above,
     "Dials nobody on the word of a peer at AcceptPXThreshold."),
    # To cut a mesh at D_high is a planted departure too: ours:cut-at-d-high is among the mutants.
    ("ignored-forgotten", "gs1.1/validation.reject-ignore", _forget_ignored,
     "Validates a later copy of an ignored message."),
    ("graylisted-subscriptions-count", "gs1.1/threshold.graylist", _read_graylisted,
     "Reads subscriptions of the graylisted."),
    ("control-before-payload", "gs1.0/rpc.payload-first", _payload_last, "Reads messages after control."),
    ("stranger-prune-ignored", "gs1.1/backoff.announced-period", _strangers_unheard,
     "Ignores a PRUNE of a peer outside the mesh."),
    ("prune-of-unknown-topic-backs-off", "gs1.1/prune.unknown-topic", _unknown_topics_too,
     "Starts a backoff at a PRUNE for a topic that it is not in."),
    ("unsubscribed-stays-in-mesh", "gs1.0/mesh.members", lambda r: patch(r.mesh, "quit", nothing),
     "Keeps a peer that unsubscribes in its mesh."),
    ("unsubscribed-stays-in-fanout", "gs1.0/fanout.members", _leaves_fanout_late,
     "Keeps a peer that unsubscribes in the fanout until the heartbeat."),
    ("graft-announces", "gs1.0/graft.accept", _graft_announces, "Takes a GRAFT for an announcement too."),
    ("unannounced-graft-ignored", "gs1.0/graft.accept", _unannounced(GraftAnswer.LEAVE),
     "Ignores a GRAFT of a peer that did not announce the topic."),
    ("unannounced-graft-pruned", "gs1.0/graft.accept", _unannounced(GraftAnswer.PRUNE),
     "Prunes who grafts itself without having announced the topic."),
    ("empty-mesh-passed-over", "gs1.0/publish.mesh", _past_empty_mesh,
     "Publishes to other members where the mesh is empty."),
    ("iwant-counted-per-heartbeat", "gs1.1/iwant.retransmission", _served_per_heartbeat,
     "Counts its answers to IWANT anew at each heartbeat."),
    ("outbound-refused-when-full", "gs1.1/outbound.inbound-refused", _full_for_all,
     "Takes nobody into a full mesh."),
    ("seen-refreshed", "gs1.0/seen.ttl", _seen_renewed, "Renews what it has seen at each copy."),
    ("best-kept-before-quota", "gs1.1/heartbeat.keep-best", _best_first,
     "Keeps the best before the outbound quota."),
    ("graft-on-subscribe", "gs1.0/heartbeat.no-churn", _graft_on_subscribe,
     "Grafts a new subscriber at once."),
    ("own-from-outside-marked-seen", "gs1.0/relay.own-not-forwarded", _own_marked,
     "Marks a forged message of its own seen."),
    ("fanout-filled-at-publish", "gs1.0/publish.fanout", _fanout_filled_in_use,
     "Fills a fanout below D at each publish."),
    ("ihave-capped-otherwise", "gs1.1/ihave.caps", _capped_per_topic, "Caps IHAVEs by topic."),
    ("iwant-capped-otherwise", "gs1.1/iwant.retransmission", _iwants_per_second,
     "Caps the IWANTs of a peer by the second."),
    ("zero-backoff-is-none", "gs1.1/backoff.announced-period", _zero_is_no_backoff,
     "Starts no backoff at a PRUNE that announces 0."),
    ("idontwant-evicts-oldest", "gs1.2/idontwant.cap", _oldest_evicted,
     "Keeps the latest IDONTWANTs beyond the cap."),
)  # fmt: skip

READINGS_OF_OURS: Mapping[str, Mutant] = MappingProxyType(
    {name: mutant(name, clause, edit, summary) for name, clause, edit, summary in _ROWS}
)
"""By name: the edit of our router, its clause, and the first protocol in which it shows."""
