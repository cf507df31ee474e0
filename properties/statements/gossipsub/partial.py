"""Extensions and partial messages."""

from __future__ import annotations

from quidnunc.model.events import Publish
from quidnunc.model.rpc import Message, Partial
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.pubsub import TOPIC, RouterStep
from quidnunc.properties.statements.gossipsub import places
from quidnunc.properties.statements.gossipsub.revisions import since
from quidnunc.properties.statements.gossipsub.steps import (
    always,
    publishes,
    received_parts,
    sender,
    sent_parts,
)
from quidnunc.properties.statements.statement import Statement


def requester_gets_full(seen: RouterStep) -> str:
    """Who requests parts of somebody that can send none gets full messages."""
    r = seen.before
    sends = sent_parts(seen, Message)
    if not isinstance(seen.event, Publish) or r.own_flags(TOPIC).supports:
        return ""
    for peer in sorted(r.mesh_of(TOPIC)):
        if r.peers[peer].flags_in(TOPIC).requests and peer not in {p for p, _ in sends}:
            return f"{name_of(peer)} gets nothing of {name_of(seen.node)}, which can send no parts"
    return ""


def group_is_open(seen: RouterStep) -> str:
    """Who has started no group, and names one, has its partial message handed to the application."""
    for part in received_parts(seen, Partial):
        if seen.before.started.get((part.topic, sender(seen)), 0) == 0 and part not in seen.handed:
            return f"{name_of(seen.node)} does not hand on {part.group}, the first of {name_of(sender(seen))}"
    return ""


STATEMENTS: tuple[Statement, ...] = (
    Statement(id="extensions.in-first-rpc", old_id="P89",
              says="Extensions is in the first RPC of a router that has one.",
              revisions=since("gossipsub-1.3"), claims=("extensions.first",)),
    Statement(id="extensions.sent-once", old_id="P90", says="It is sent once on a stream.",
              revisions=since("gossipsub-1.3"), claims=("extensions.once",)),
    Statement(id="extensions.unknown-are-ignored", old_id="P91", says="Unknown extensions change nothing.",
              revisions=since("gossipsub-1.3"), claims=("extensions.unknown-ignored",)),
    Statement(id="extensions.only-to-those-that-named-it", old_id="P92",
              says="Messages of an extension go to those that named it, and count from those.",
              revisions=since("gossipsub-1.3"),
              claims=("extensions.test-exchanged", "partial.to-those-that-named-it")),
    Statement(id="extensions.belong-to-a-stream", old_id="P93", says="What a peer named is of its stream.",
              revisions=since("gossipsub-1.3"), claims=("extensions.of-the-stream",)),
    Statement(id="extensions.test-message-once", old_id="P94",
              says="Where both name the test extension each sends its message once.",
              revisions=since("gossipsub-1.3"), claims=("extensions.test-exchanged",),
              assumes="Each RPC arrives in the end."),
    Statement(id="partial.requester-gets-no-full-message", old_id="P95",
              says="Who requests parts of who sends them gets no full message.",
              revisions=since("partial-messages"), claims=("partial.no-full-to-requester",)),
    Statement(
        id="partial.requester-of-non-sender-gets-full",
        old_id="P96",
        says="Who requests parts of who can send none gets full messages.",
        revisions=since("partial-messages"),
        claims=("partial.not-starved",),
        clauses=("pm-jvm/send.suppress-full",),
        look=always(requester_gets_full),
        places=(places.PARTS,),
        occasion=publishes,
    ),
    Statement(id="partial.unrequested-parts-not-sent", old_id="P97", says="Who requests no parts gets none.",
              revisions=since("partial-messages"), claims=("partial.no-part-unrequested",)),
    Statement(id="partial.requester-gets-no-ihave", old_id="P98",
              says="Who requests parts of who sends them gets no IHAVE.", revisions=since("partial-messages"),
              claims=("partial.gossip", "partial-jvm.callback", "partial-go.callback")),
    Statement(id="partial.receiver-sends-no-idontwant", old_id="P99",
              says="Who is sent parts says no IDONTWANT to who sends them.",
              revisions=since("partial-messages"), claims=("partial-jvm.idontwant", "partial-go.idontwant")),
    Statement(id="partial.flags-follow-the-subscription", old_id="P100",
              says="Flags of partial messages go with the subscription and the connection.",
              revisions=since("partial-messages"), claims=("partial.flags-followed",)),
    Statement(id="partial.requester-supports", old_id="P101",
              says="Who requests is taken for one that supports.", revisions=since("partial-messages"),
              claims=("partial.flags-followed", "partial.flags-announced")),
    Statement(id="partial.groups-are-bounded", old_id="P102",
              says="Peers start so many groups of a topic, and each so many, that live.",
              revisions=since("partial-messages"), claims=("partial.groups-bounded", "partial-jvm.caps")),
    Statement(id="partial.group-expires", old_id="P103",
              says="A group that nobody publishes to is gone after its time.",
              revisions=since("partial-messages"), claims=("partial-jvm.group-life", "partial-go.group-life"),
              assumes="Heartbeats go on."),
    Statement(id="partial.handed-to-application-once", old_id="P104",
              says="Every partial message within the caps reaches the application, once.",
              revisions=since("partial-messages"), claims=("partial.handed-over",)),
    Statement(id="partial.application-gossips-own-groups", old_id="P105",
              says="The application is asked to gossip of its own groups.",
              revisions=since("partial-messages"),
              claims=("partial.gossip", "partial-jvm.callback", "partial-go.callback")),
    Statement(id="partial.requester-takes-full-messages", old_id="P106",
              says="Who requests parts takes full messages as ever.", revisions=since("partial-messages"),
              claims=("partial.full-accepted",)),
    Statement(
        id="partial.requester-gets-all-parts",
        old_id="P107",
        says="Every requester gets all parts that connected supporters have.",
        revisions=since("partial-messages"),
        claims=("parts.answered", "parts.expected"),
        assumes="Applications answer metadata, and groups live for as many rounds as parts travel.",
        needs=(
            "a network of our own nodes with an application (`tests/impl/gossipsub/test_partial_network.py`)"
        ),
    ),
    Statement(id="partial.groups-are-per-topic", old_id="P108",
              says="Groups of two topics are two, of whatever name.", revisions=since("partial-messages"),
              claims=("partial.handed-over", "parts.group-id")),
)  # fmt: skip
