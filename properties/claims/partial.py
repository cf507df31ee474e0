"""The claims on extensions and partial messages."""

from __future__ import annotations

from quidnunc.properties.claims.claim import Claim, claim
from quidnunc.properties.occasions import pubsub as step
from quidnunc.properties.occasions.occasion import when

EXTENSIONS: tuple[Claim, ...] = (
    claim(
        "extensions.first",
        "Who has extensions names them in the first RPC on a stream of v1.3.",
        "gs1.3/extensions.first-rpc",
        "gs1.3/extensions.none-omitted",
    ),
    claim(
        "extensions.once",
        "Extensions is sent once on a stream.",
        when("gs1.3/extensions.once", step.sends_on_opened_stream, step.with_extensions),
    ),
    claim(
        "extensions.unknown-ignored",
        "Extensions that the router does not know change nothing.",
        "gs1.3/extensions.unknown-ignored",
    ),
    claim(
        "extensions.of-the-stream",
        "What a peer named in the first RPC on a stream counts on it, and nowhere else.",
        "gs1.3/extensions.described",
        "gs1.3/extensions.misuse",
    ),
    claim(
        "extensions.not-below",
        "On streams of v1.2 and older no Extensions is sent.",
        "gs1.3/extensions.not-below",
    ),
    claim(
        "extensions.test-exchanged",
        "One TestExtension is sent to exactly those that named the test extension, where the router has it.",
        "gs1.3/test.exchanged",
    ),
)

PARTIAL: tuple[Claim, ...] = (
    claim(
        "partial.flags-followed",
        "The flags of a peer are those of its last subscription; who requests supports, who left has none.",
        "pm/subscription.latest",
        "pm/subscription.coerced",
        "pm/subscription.flags-on-leave",
    ),
    claim(
        "partial.flags-announced",
        "Own subscriptions bear the flags of the topic, and requesting implies supporting.",
        when("pm/subscription.flags", step.subscribes, step.with_parts),
        "pm/subscription.requests-supports",
    ),
    claim(
        "partial.no-full-to-requester",
        "A requester gets parts and no full messages from a router that supports sending them.",
        "pm/send.partial-to-requester",
        "pm-jvm/send.suppress-full",
        needs=["partial"],
    ),
    claim(
        "partial.not-starved",
        "A router that cannot send parts sends a requester full messages.",
        when("pm/send.full-unsupported", step.sends_full_to_requester),
    ),
    claim(
        "partial.no-part-unrequested",
        "Payload goes to requesters alone.",
        "pm/send.no-part-unrequested",
        needs=["partial"],
    ),
    claim(
        "partial.metadata-to-supporters",
        "Metadata goes to those that can send parts.",
        "pm/send.metadata-supporter",
        needs=["partial"],
    ),
    claim(
        "partial.to-those-that-named-it",
        "Messages of the extension go to those that named it.",
        "pm/send.advertised",
        needs=["partial"],
    ),
    claim(
        "partial.published",
        "What the application decides is sent, unchanged, to any peer, in the mesh or not.",
        "pm/application.interface",
        "pm/rpc.opaque",
        needs=["partial"],
    ),
    claim(
        "partial.handed-over",
        "Every partial message reaches the application once and unchanged, in the mesh or not.",
        "pm/application.forwarded",
        needs=["partial"],
    ),
    claim(
        "partial.gossip",
        "Gossip targets that request parts get no IHAVE; the application is asked in its place.",
        "pm/gossip.no-ihave",
        "pm/gossip.partial-instead",
        needs=["partial"],
    ),
    claim(
        "partial.full-accepted",
        "A router that requests parts takes full messages as well.",
        when("pm/receive.full-accepted", step.delivers_where_requested, step.with_parts),
        needs=["partial"],
    ),
    claim(
        "partial.groups-bounded",
        "Groups that peers start are limited.",
        "pm/group.bounded",
        needs=["partial"],
    ),
    claim(
        "partial-jvm.before-handshake",
        "Partial messages before Extensions are ignored.",
        "pm-jvm/receive.before-handshake",
        needs=["partial"],
    ),
    claim(
        "partial-jvm.idontwant",
        "IDONTWANT does not go to a peer that sends us parts.",
        "pm-jvm/idontwant.suppressed",
        needs=["partial"],
    ),
    claim(
        "partial-jvm.callback",
        "The application is asked to gossip about its own groups, all of them, at each heartbeat.",
        "pm-jvm/gossip.callback",
        needs=["partial"],
    ),
    claim(
        "partial-jvm.caps",
        "Peers start so many groups of a topic, and one peer so many; what is beyond is dropped.",
        "pm-jvm/group.topic-cap",
        "pm-jvm/group.peer-cap",
        needs=["partial"],
    ),
    claim(
        "partial-jvm.group-life",
        "A group lives for its heartbeats from the last own publish, and goes when it is empty or left.",
        "pm-jvm/group.time-to-live",
        "pm-jvm/group.refreshed",
        "pm-jvm/group.empty",
        "pm-jvm/group.left",
        "pm-jvm/group.peer-gone",
        needs=["partial"],
    ),
    claim(
        "partial-jvm.offered",
        "The application is offered mesh peers, or others where there is no mesh, and all that it keeps.",
        "pm-jvm/publish.fanout",
        needs=["partial"],
    ),
    claim(
        "partial-jvm.state-atomic",
        "What the application keeps of a peer is applied at once; a decision that failed changes nothing.",
        "pm-jvm/api.state-atomic",
        needs=["partial"],
    ),
    claim(
        "partial-go.idontwant",
        "IDONTWANT does not go to a peer that says it sends us parts.",
        "pm-go/idontwant.suppressed",
        needs=["partial"],
    ),
    claim(
        "partial-go.callback",
        "The application is asked to gossip once per group and peer.",
        "pm-go/gossip.once",
        needs=["partial"],
    ),
    claim(
        "partial-go.group-life",
        "A group lives for one heartbeat more, and stays when its topic is left.",
        "pm-go/group.one-heartbeat-more",
        "pm-go/group.counts-released",
        "pm-go/group.least-time",
        needs=["partial"],
    ),
    claim(
        "partial-go.offered",
        "A requester that has not named the extension is offered too.",
        "pm-go/publish.unnamed-offered",
        needs=["partial"],
    ),
    claim(
        "partial-go.state-in-place",
        "What the application writes of a peer stays, whether or not its decision fails.",
        "pm-go/api.state-in-place",
        needs=["partial"],
    ),
)
