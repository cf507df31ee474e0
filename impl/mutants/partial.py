"""Planted departures of our pubsub router in its extensions and its partial messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import evolve

from quidnunc.impl.gossipsub.partial import GroupState
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutant import Usual, around, nothing, patch, put
from quidnunc.impl.mutants.mesh import Edit
from quidnunc.impl.mutants.table import read_mutants
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.model.events import FLOODSUB
from quidnunc.model.rpc import Peer

Phase = Callable[[Peer, wire.RPC], None]


def _late(r: GossipsubRouter) -> None:
    """The hello goes out first, and Extensions in an RPC of its own after it."""
    greet, hello = r.extensions.greet, r.say_hello
    patch(r.extensions, "greet", nothing)

    def hello_then_greet(peer: Peer) -> None:
        hello(peer)
        r.outbox.flush()
        greet(peer)

    patch(r, "say_hello", hello_then_greet)


def _again(r: GossipsubRouter, announce: Usual, topic: str, inside: bool) -> None:
    announce(topic, inside)
    for peer in r.told_of(topic):
        r.extensions.greet(peer)


def _close_on_unknown(r: GossipsubRouter) -> None:
    read = r.extensions.on_rpc

    def close(peer: Peer, rpc: wire.RPC) -> None:
        known = wire.ControlExtensions.FromString(rpc.control.extensions.SerializeToString())
        known.DiscardUnknownFields()
        if known.ByteSize() != rpc.control.extensions.ByteSize():
            r.close(peer)
        else:
            read(peer, rpc)

    def guarded(phase: Phase) -> Phase:
        return lambda peer, rpc: phase(peer, rpc) if peer in r.core.neighbours else None

    # In the place of the reading itself; whoever is closed has no more of its RPC read.
    r.intake[r.intake.index(read)] = close
    r.intake[:] = [guarded(phase) for phase in tuple(r.intake)]


# -- partial messages ---------------------------------------------------------------------------------------


def _first_flags_stay(
    r: GossipsubRouter, enter: Usual, peer: Peer, topic: str, requests: bool, supports: bool
) -> None:
    if topic not in r.partial.flags.get(peer, {}):
        enter(peer, topic, requests, supports)


def _awaits_verdict(r: GossipsubRouter, hears: Usual, peer: Peer) -> bool:
    """Where validators judge messages, parts wait for them, for ever."""
    return r.core.parameters.validation == "accept" and hears(peer)


def _peers_refresh(r: GossipsubRouter, group_of: Usual, *given: object) -> GroupState | None:
    group: GroupState | None = group_of(*given)
    if group is not None:
        r.partial.refresh(group)
    return group


def _counts_stay(r: GossipsubRouter, forget: Usual, peer: Peer) -> None:
    started = dict(r.partial.started)
    forget(peer)
    r.partial.started = started


def _of_nobody(r: GossipsubRouter, usual: Usual, topic: str, peer: Peer, kind: str) -> None:
    if kind != "useful":
        usual(topic, peer, kind)
    elif r.core.keeper is not None:
        r.core.keeper.first_delivery(peer, topic)


def _misbehaves(r: GossipsubRouter, usual: Usual, topic: str, peer: Peer, kind: str) -> None:
    if kind != "invalid":
        usual(topic, peer, kind)
    elif r.core.keeper is not None:
        r.core.keeper.misbehaved(peer)


def _counts_as_messages(r: GossipsubRouter, usual: Usual, topic: str, peer: Peer, kind: str) -> None:
    keeper = r.core.keeper
    if keeper is not None and kind == "useful":
        keeper.first_delivery(peer, topic)
        if peer in r.mesh.of.get(topic, ()):
            keeper.mesh_delivery(peer, topic)
    elif keeper is not None and kind == "invalid":
        keeper.invalid_message(peer, topic)


def _of_partial(seam: str, by: Callable[..., object]) -> Edit:
    return put(f"partial.{seam}", by)


_EDITS: Mapping[str, Edit] = {
    "extensions-late": _late,
    "extensions-again": around("announce", _again),
    "extensions-unknown-closed": _close_on_unknown,
    "extensions-to-old": around(
        "extensions.understands", lambda r, usual, p: r.core.neighbours[p].stream != FLOODSUB
    ),
    # What was named on an earlier stream still counts.
    "extensions-remembered": put("extensions.forget", nothing),
    "test-unsent": put("extensions.sends_test", lambda named: False),
    "test-to-all": put("extensions.sends_test", lambda named: True),
    "flags-of-the-first": around("partial.enter", _first_flags_stay),
    "support-not-implied": _of_partial("support", lambda requests, supports: supports),
    "flags-outlive-topic": _of_partial("quit", nothing),
    "own-support-unsaid": _of_partial("own_support", lambda requests, supports: supports),
    "full-to-requesters": _of_partial("spared", lambda topic: set()),
    "requesters-starved": around(
        "partial.spared", lambda r, usual, topic: {*filter(r.partial.named, r.partial.requesters(topic))}
    ),
    "part-to-all": _of_partial("may_send_payload", lambda p, topic: True),
    "metadata-to-all": _of_partial("may_send_metadata", lambda p, topic: True),
    "partial-to-unnamed": _of_partial("may_send", lambda p: True),
    "ihave-to-requesters": _of_partial("takes_gossip_as_parts", lambda p, topic: False),
    "gossip-unasked": _of_partial("ask", nothing),
    "partial-from-mesh-only": around(
        "partial.hears", lambda r, hears, p: hears(p) and any(p in mesh for mesh in r.mesh.of.values())
    ),
    "metadata-lost": around(
        "partial.as_call", lambda r, usual, peer, partial: evolve(usual(peer, partial), metadata=None)
    ),
    "full-refused": lambda r: r.relay.checks.append(
        lambda arrival: not r.partial.we_request(arrival.message.topic)
    ),
    "parts-await-verdict": around("partial.hears", _awaits_verdict),
    "partial-before-handshake": _of_partial("hears", lambda p: True),
    "idontwant-to-senders": _of_partial("senders_of_parts", lambda topic: set()),
    "gossip-of-others": _of_partial("gossips", lambda group: True),
    "group-topic-cap-off": _of_partial("topic_is_full", lambda topic: False),
    "peer-cap-off": _of_partial("peer_is_over", lambda p, topic: False),
    "group-lives-on": around(
        "partial.is_over", lambda r, usual, group: group.heartbeats_left < 0 or r.partial.is_empty(group)
    ),
    "group-kept-by-peers": around("partial.group_of", _peers_refresh),
    "group-empty-kept": _of_partial("is_empty", lambda group: False),
    "group-of-left-kept": _of_partial("drops_groups_of_left", lambda: False),
    "states-outlive-peer": around("partial.forget", lambda r, usual, peer: r.partial.flags.pop(peer, None)),
    "failed-decision-kept": _of_partial("keeps", lambda d: True),
    "all-offered": _of_partial("is_offered", lambda p, topic: True),
    "gossip-asked-again": _of_partial("to_ask_about", lambda group, peers: peers),
    "group-lives-less": around(
        "partial.is_over", lambda r, usual, group: group.heartbeats_left <= 1 or r.partial.is_empty(group)
    ),
    "group-as-configured": around(
        "partial.time_to_live", lambda r, _: r.core.parameters.group_ttl_heartbeats
    ),
    "counts-outlive-peer": around("partial.forget", _counts_stay),
    "failed-decision-dropped": _of_partial("keeps", lambda d: not d.error),
    "unnamed-not-offered": around(
        "partial.is_offered", lambda r, usual, p, topic: usual(p, topic) and r.partial.named(p)
    ),
    "idontwant-to-part-senders": _of_partial("senders_of_parts", lambda topic: set()),
    "invalid-part-unpenalised": put("feedback", nothing),
    "useful-part-uncounted": around(
        "feedback", lambda r, usual, topic, p, kind: None if kind == "useful" else usual(topic, p, kind)
    ),
    "useful-part-of-nobody": around("feedback", _of_nobody),
    "parts-count-as-messages": around("feedback", _counts_as_messages),
    "invalid-part-misbehaves": around("feedback", _misbehaves),
}


PARTIAL_MUTANTS = read_mutants(__file__, GossipsubRouter, _EDITS)
