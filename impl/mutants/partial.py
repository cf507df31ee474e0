"""Planted departures of our pubsub router in its extensions and its partial messages."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from quidnunc.impl.gossipsub.partial import GroupState
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutant import Mutant
from quidnunc.impl.mutants.mesh import Edit, mutant, nothing, patch
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


def _states_stay(r: GossipsubRouter) -> None:
    patch(r.partial, "forget", lambda peer: r.partial.flags.pop(peer, None))


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


JVM, GO = "partial-messages-jvm", "partial-messages-go"

_PARTIAL_ROWS: tuple[tuple[str, str, Edit, str] | tuple[str, str, Edit, str, str], ...] = (
    ("flags-of-the-first", "pm/subscription.latest", _first_flags_stay,
     "Keeps the flags of a peer's first subscription."),
    ("support-not-implied", "pm/subscription.coerced",
     _of_partial("support", lambda requests, supports: supports),
     "Takes a peer that requests for one that cannot send."),
    ("flags-outlive-topic", "pm/subscription.flags-on-leave", _of_partial("quit", nothing),
     "Keeps the flags of a peer that has left the topic."),
    ("own-support-unsaid", "pm/subscription.requests-supports",
     _of_partial("own_support", lambda requests, supports: supports),
     "Requests without saying that it supports."),
    ("full-to-requesters", "pm/send.partial-to-requester", _of_partial("spared", lambda topic: set()),
     "Sends full messages to requesters too."),
    ("requesters-starved", "pm/send.full-unsupported", _starve,
     "Sends requesters no full messages in topics in which it can send no parts."),
    ("part-to-all", "pm/send.no-part-unrequested",
     _of_partial("may_send_payload", lambda p, topic: True), "Sends payload to who did not request it."),
    ("metadata-to-all", "pm/send.metadata-supporter",
     _of_partial("may_send_metadata", lambda p, topic: True), "Sends metadata to who can send no parts."),
    ("partial-to-unnamed", "pm/send.advertised", _of_partial("may_send", lambda p: True),
     "Sends partial messages to who has not named the extension."),
    ("ihave-to-requesters", "pm/gossip.no-ihave",
     _of_partial("takes_gossip_as_parts", lambda p, topic: False), "Sends IHAVE to requesters."),
    ("gossip-unasked", "pm/gossip.partial-instead", _of_partial("ask", nothing),
     "Never asks the application to gossip."),
    ("partial-from-mesh-only", "pm/application.forwarded", _heard_in_mesh,
     "Hands over partial messages of mesh members alone."),
    ("metadata-lost", "pm/application.forwarded", _metadata_lost, "Hands messages over without metadata."),
    ("full-refused", "pm/receive.full-accepted", _full_refused,
     "Drops full messages where it requests parts."),
    ("parts-await-verdict", "pm-jvm/receive.validation", _awaits_verdict,
     "Has validators judge partial messages.", JVM),
    ("partial-before-handshake", "pm-jvm/receive.before-handshake", _of_partial("hears", lambda p: True),
     "Hands over partial messages of who has not named the extension.", JVM),
    ("idontwant-to-senders", "pm-jvm/idontwant.suppressed",
     _of_partial("senders_of_parts", lambda topic: set()), "Sends IDONTWANT to peers that send it parts.",
     JVM),
    ("gossip-of-others", "pm-jvm/gossip.callback", _of_partial("gossips", lambda group: True),
     "Asks to gossip about groups of peers.", JVM),
    ("topic-cap-off", "pm-jvm/group.topic-cap", _of_partial("topic_is_full", lambda topic: False),
     "Lets peers start any number of groups of a topic.", JVM),
    ("peer-cap-off", "pm-jvm/group.peer-cap", _of_partial("peer_is_over", lambda p, topic: False),
     "Lets a peer start any number of groups.", JVM),
    ("group-lives-on", "pm-jvm/group.time-to-live", _lives_on, "Keeps groups a heartbeat longer.", JVM),
    ("group-kept-by-peers", "pm-jvm/group.refreshed", _peers_refresh,
     "Lets messages of peers keep a group alive.", JVM),
    ("group-empty-kept", "pm-jvm/group.empty", _of_partial("is_empty", lambda group: False),
     "Keeps groups in which nothing is kept of anybody.", JVM),
    ("group-of-left-kept", "pm-jvm/group.left", _of_partial("drops_groups_of_left", lambda: False),
     "Keeps the groups of a topic that it left.", JVM),
    ("states-outlive-peer", "pm-jvm/group.peer-gone", _states_stay,
     "Keeps what it kept of a peer that has gone.", JVM),
    ("failed-decision-kept", "pm-jvm/api.state-atomic", _of_partial("keeps", lambda d: True),
     "Keeps the state of a decision that failed.", JVM),
    ("all-offered", "pm-jvm/publish.fanout", _of_partial("is_offered", lambda p, topic: True),
     "Offers every member of the mesh.", JVM),
    ("gossip-asked-again", "pm-go/gossip.once", _of_partial("to_ask_about", lambda group, peers: peers),
     "Asks to gossip to the same peers at each heartbeat.", GO),
    ("group-lives-less", "pm-go/group.one-heartbeat-more", _lives_less,
     "Drops groups when their count comes to zero.", GO),
    ("group-as-configured", "pm-go/group.least-time",
     lambda r: patch(r.partial, "time_to_live", lambda: r.core.parameters.group_ttl_heartbeats),
     "Lets groups live for less than three heartbeats.", GO),
    ("counts-outlive-peer", "pm-go/group.counts-released", _counts_stay,
     "Counts the groups of a peer that has gone.", GO),
    ("failed-decision-dropped", "pm-go/api.state-in-place", _of_partial("keeps", lambda d: not d.error),
     "Undoes what the application wrote before it failed.", GO),
    ("unnamed-not-offered", "pm-go/publish.unnamed-offered", _named_only,
     "Offers only peers that have named the extension.", GO),
    ("idontwant-to-part-senders", "pm-go/idontwant.suppressed",
     _of_partial("senders_of_parts", lambda topic: set()), "Sends IDONTWANT to peers that send it parts.",
     GO),
)  # fmt: skip

_ROWS: tuple[tuple[str, str, Edit, str] | tuple[str, str, Edit, str, str], ...] = (
    ("extensions-late", "gs1.3/extensions.first-rpc", _late, "Names its extensions after its subscriptions."),
    ("extensions-again", "gs1.3/extensions.once", _again, "Names its extensions again with each topic."),
    ("extensions-unknown-closed", "gs1.3/extensions.unknown-ignored", _close_on_unknown,
     "Closes the stream of a peer that names an extension it does not know."),
    ("extensions-to-old", "gs1.3/extensions.not-below", _older_too, "Names its extensions on any stream."),
    ("extensions-remembered", "gs1.3/extensions.described", _kept,
     "Goes by what a peer named on an earlier stream."),
    ("test-unsent", "gs1.3/test.exchanged", lambda r: patch(r.extensions, "sends_test", lambda named: False),
     "Never sends TestExtension."),
    ("test-to-all", "gs1.3/test.exchanged", lambda r: patch(r.extensions, "sends_test", lambda named: True),
     "Sends TestExtension to whoever speaks."),
)  # fmt: skip

PARTIAL_MUTANTS: tuple[Mutant, ...] = tuple(mutant(*row) for row in (*_ROWS, *_PARTIAL_ROWS))
