"""Planted departures of our pubsub router in its extensions and its partial messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import evolve

from quidnunc.impl.gossipsub.partial import GroupState
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutant import nothing, patch, put
from quidnunc.impl.mutants.mesh import Edit
from quidnunc.impl.mutants.table import read_mutants
from quidnunc.impl.wire import wire_pb2 as wire
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


def _again(r: GossipsubRouter) -> None:
    announce = r.announce

    def with_extensions(topic: str, inside: bool) -> None:
        announce(topic, inside)
        for peer in r.told_of(topic):
            r.extensions.greet(peer)

    patch(r, "announce", with_extensions)


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


def _older_too(r: GossipsubRouter) -> None:
    patch(r.extensions, "understands", lambda peer: r.core.neighbours[peer].stream != "/floodsub/1.0.0")


def _kept(r: GossipsubRouter) -> None:
    """What was named on an earlier stream still counts."""
    patch(r.extensions, "forget", nothing)


# -- partial messages ---------------------------------------------------------------------------------------


def _first_flags_stay(r: GossipsubRouter) -> None:
    enter = r.partial.enter

    def once(peer: Peer, topic: str, requests: bool, supports: bool) -> None:
        if topic not in r.partial.flags.get(peer, {}):
            enter(peer, topic, requests, supports)

    patch(r.partial, "enter", once)


def _starve(r: GossipsubRouter) -> None:
    partial = r.partial
    patch(partial, "spared", lambda topic: {p for p in partial.requesters(topic) if partial.named(p)})


def _heard_in_mesh(r: GossipsubRouter) -> None:
    hears = r.partial.hears
    patch(r.partial, "hears", lambda p: hears(p) and any(p in mesh for mesh in r.mesh.of.values()))


def _awaits_verdict(r: GossipsubRouter) -> None:
    """Where validators judge messages, parts wait for them, for ever."""
    hears = r.partial.hears
    patch(r.partial, "hears", lambda p: hears(p) and r.core.parameters.validation == "accept")


def _metadata_lost(r: GossipsubRouter) -> None:
    as_call = r.partial.as_call
    patch(r.partial, "as_call", lambda peer, partial: evolve(as_call(peer, partial), metadata=None))


def _full_refused(r: GossipsubRouter) -> None:
    r.relay.checks.append(lambda arrival: not r.partial.we_request(arrival.message.topic))


def _lives_on(r: GossipsubRouter) -> None:
    partial = r.partial
    patch(partial, "is_over", lambda group: group.heartbeats_left < 0 or partial.is_empty(group))


def _lives_less(r: GossipsubRouter) -> None:
    partial = r.partial
    patch(partial, "is_over", lambda group: group.heartbeats_left <= 1 or partial.is_empty(group))


def _peers_refresh(r: GossipsubRouter) -> None:
    group_of = r.partial.group_of

    def refreshed(peer: Peer, topic: str, name: bytes) -> GroupState | None:
        group = group_of(peer, topic, name)
        if group is not None:
            r.partial.refresh(group)
        return group

    patch(r.partial, "group_of", refreshed)


def _counts_stay(r: GossipsubRouter) -> None:
    forget = r.partial.forget

    def keeping(peer: Peer) -> None:
        started = dict(r.partial.started)
        forget(peer)
        r.partial.started = started

    patch(r.partial, "forget", keeping)


def _named_only(r: GossipsubRouter) -> None:
    offered = r.partial.is_offered
    patch(r.partial, "is_offered", lambda p, topic: offered(p, topic) and r.partial.named(p))


def _of_partial(seam: str, by: Callable[..., object]) -> Edit:
    return lambda r: patch(r.partial, seam, by)


_EDITS: Mapping[str, Edit] = {
    "extensions-late": _late,
    "extensions-again": _again,
    "extensions-unknown-closed": _close_on_unknown,
    "extensions-to-old": _older_too,
    "extensions-remembered": _kept,
    "test-unsent": put("extensions.sends_test", lambda named: False),
    "test-to-all": put("extensions.sends_test", lambda named: True),
    "flags-of-the-first": _first_flags_stay,
    "support-not-implied": _of_partial("support", lambda requests, supports: supports),
    "flags-outlive-topic": _of_partial("quit", nothing),
    "own-support-unsaid": _of_partial("own_support", lambda requests, supports: supports),
    "full-to-requesters": _of_partial("spared", lambda topic: set()),
    "requesters-starved": _starve,
    "part-to-all": _of_partial("may_send_payload", lambda p, topic: True),
    "metadata-to-all": _of_partial("may_send_metadata", lambda p, topic: True),
    "partial-to-unnamed": _of_partial("may_send", lambda p: True),
    "ihave-to-requesters": _of_partial("takes_gossip_as_parts", lambda p, topic: False),
    "gossip-unasked": _of_partial("ask", nothing),
    "partial-from-mesh-only": _heard_in_mesh,
    "metadata-lost": _metadata_lost,
    "full-refused": _full_refused,
    "parts-await-verdict": _awaits_verdict,
    "partial-before-handshake": _of_partial("hears", lambda p: True),
    "idontwant-to-senders": _of_partial("senders_of_parts", lambda topic: set()),
    "gossip-of-others": _of_partial("gossips", lambda group: True),
    "group-topic-cap-off": _of_partial("topic_is_full", lambda topic: False),
    "peer-cap-off": _of_partial("peer_is_over", lambda p, topic: False),
    "group-lives-on": _lives_on,
    "group-kept-by-peers": _peers_refresh,
    "group-empty-kept": _of_partial("is_empty", lambda group: False),
    "group-of-left-kept": _of_partial("drops_groups_of_left", lambda: False),
    "states-outlive-peer": lambda r: patch(r.partial, "forget", lambda peer: r.partial.flags.pop(peer, None)),
    "failed-decision-kept": _of_partial("keeps", lambda d: True),
    "all-offered": _of_partial("is_offered", lambda p, topic: True),
    "gossip-asked-again": _of_partial("to_ask_about", lambda group, peers: peers),
    "group-lives-less": _lives_less,
    "group-as-configured": lambda r: patch(
        r.partial, "time_to_live", lambda: r.core.parameters.group_ttl_heartbeats
    ),
    "counts-outlive-peer": _counts_stay,
    "failed-decision-dropped": _of_partial("keeps", lambda d: not d.error),
    "unnamed-not-offered": _named_only,
    "idontwant-to-part-senders": _of_partial("senders_of_parts", lambda topic: set()),
}


PARTIAL_MUTANTS = read_mutants(__file__, GossipsubRouter, _EDITS)
