"""Partial messages: who is sent parts in the place of full messages, and what applications may send.

Three readings of one extension: the text of libp2p/specs#685, the design of the JVM router, and what
the Go router does. Where they differ they have rules of their own, named for the clause of their document.
What is kept of groups is in `quidnunc.model.pubsub.partial.groups`, gossip in
`quidnunc.model.pubsub.partial.gossip`.
"""

from __future__ import annotations

from typing import TypeAlias

from quidnunc.model.choices import Choose
from quidnunc.model.events import Decision, Sent
from quidnunc.model.permits import Step
from quidnunc.model.pubsub import idontwant
from quidnunc.model.pubsub.extensions import has_extension
from quidnunc.model.pubsub.router import PartialFlags, ReceivedPart, Router, without_key
from quidnunc.model.rpc import PARTIAL_EXTENSION, Message, Peer, Subscribe, Unsubscribe
from quidnunc.model.rules import UNNOTICED, Rule, Targets, rule
from quidnunc.model.values import evolve

Decided: TypeAlias = tuple[str, Decision]
"""A topic, and what the application decided for one peer."""


def named_it(r: Router, peer: Peer) -> bool | None:
    """Whether the peer has the extension; None where that is not said."""
    return has_extension(r.peers[peer], PARTIAL_EXTENSION) if peer in r.peers else False


# -- flags --------------------------------------------------------------------------------------------------


@rule(
    "pm/subscription.requests-supports",
    lacking="Does not announce that it supports partial messages when it requests them.",
    when="it announces that it supports partial messages because it requests them",
)
def requesting_supports(r: Router, topic: str, choose: Choose) -> Step[Router] | None:
    """Whoever requests partial messages can send them too, and says so."""
    own = r.own_flags(topic)
    if not own.requests or own.supports:
        return None
    return Step(evolve(r, own={**r.own, topic: PartialFlags(requests=True, supports=True)}))


@rule(
    "pm/subscription.latest",
    lacking="Ignores the partial message flags of a subscription.",
    when="it notes the partial message flags of a subscription",
)
def note_flags(r: Router, s: ReceivedPart[Subscribe], choose: Choose) -> Step[Router]:
    """The flags of a topic are those of the last subscription to it."""
    return _with_flags(r, s.peer, s.part.topic, PartialFlags(s.part.requests, s.part.supports))


@rule(
    "pm/subscription.coerced",
    lacking="Does not take a peer that requests partial messages for one that supports them.",
    when="it takes a peer that requests partial messages for one that supports them",
)
def coerce_support(r: Router, s: ReceivedPart[Subscribe], choose: Choose) -> Step[Router] | None:
    """A peer that requests is taken for one that supports, whatever it said of that."""
    if not s.part.requests or s.part.supports:
        return None
    return _with_flags(r, s.peer, s.part.topic, PartialFlags(requests=True, supports=True))


@rule(
    "pm/subscription.flags-on-leave",
    lacking="Keeps the partial message flags of a peer that unsubscribes.",
    when="it forgets the partial message flags of a peer that unsubscribes",
)
def forget_flags(r: Router, s: ReceivedPart[Unsubscribe], choose: Choose) -> Step[Router] | None:
    """Whatever flags an unsubscription bears: none are left."""
    neighbour = r.peers[s.peer]
    if s.part.topic not in neighbour.flags:
        return None
    left = evolve(neighbour, flags=without_key(neighbour.flags, s.part.topic))
    return Step(evolve(r, peers={**r.peers, s.peer: left}))


def _with_flags(r: Router, peer: Peer, topic: str, flags: PartialFlags) -> Step[Router]:
    neighbour = r.peers[peer]
    changed = evolve(neighbour, flags={**neighbour.flags, topic: flags})
    return Step(evolve(r, peers={**r.peers, peer: changed}))


# -- who gets parts, and no full messages -------------------------------------------------------------------


@rule(
    "pm/send.partial-to-requester",
    lacking="Sends full messages to peers that requested parts.",
    when="it looks up the peers that get parts instead of full messages",
)
def requesters(r: Router, topic: str) -> frozenset[Peer]:
    return frozenset(p for p in r.members(topic) if r.peers[p].flags_in(topic).requests)


@rule(
    "pm/send.full-unsupported",
    lacking="Withholds full messages from requesters although it sends no parts.",
    when="it checks whether it sends parts itself before it withholds a full message",
)
def we_send_none(r: Router, topic: str, peer: Peer) -> bool:
    """Who cannot send parts sends full messages, whatever was requested."""
    return not r.own_flags(topic).supports


@rule(
    "pm/send.advertised",
    lacking="Withholds full messages from requesters that have not named the extension.",
    when="it checks whether a peer that requested parts has named the extension",
)
def unnamed_is_free(r: Router, topic: str, peer: Peer) -> bool | None:
    """Flags of a peer that has not named the extension: the text does not say what they are worth."""
    return False if named_it(r, peer) else None


@rule(
    "pm-jvm/send.suppress-full",
    lacking="Withholds full messages from requesters that have not named the extension.",
    when="it checks whether a peer that requested parts has named the extension",
)
def has_not_named_it(r: Router, topic: str, peer: Peer) -> bool | None:
    """Only a peer that has named the extension is spared."""
    named = named_it(r, peer)
    return None if named is None else not named


def spared(r: Router, topic: str) -> Targets:
    """Who is not sent full messages of the topic."""
    return r.protocol.set_of("suppressed", r, topic, UNNOTICED)


@rule(
    "pm/send.partial-to-requester",
    lacking="Relays full messages to peers that requested parts.",
    when="it checks whether a peer to relay to gets parts instead",
)
def who_gets_parts(r: Router, m: ReceivedPart[Message], peer: Peer) -> bool | None:
    """They get parts of it, when the application sends some."""
    targets = spared(r, m.part.topic)
    return True if peer in targets.must else None if peer in targets.may else False


def sparing(plain: Rule) -> Rule:
    """A rule by which own messages are published, less those who get parts."""

    def publish_sparing(r: Router, m: Message, choose: Choose) -> Step[Router] | None:
        step = plain.step(r, m, choose)
        if step is None:
            return None
        targets = spared(r, m.topic)
        permits = []
        for each in step.permits:
            peer = each.output.peer if isinstance(each.output, Sent) else None
            if peer in targets.must:
                choose.fired("pm/send.partial-to-requester")
            else:
                permits.append(evolve(each, must=False) if peer in targets.may else each)
        return Step(step.router, tuple(permits))  # type: ignore[arg-type]

    return evolve(plain, apply=publish_sparing)


# -- IDONTWANT ----------------------------------------------------------------------------------------------


@rule(
    "gs1.2/idontwant.immediate",
    lacking="Finds no mesh member to send IDONTWANT to.",
    when="it looks up the mesh members to which it can send IDONTWANT",
)
def mesh_that_knows_it(r: Router, topic: str) -> frozenset[Peer]:
    return frozenset(p for p in r.mesh_of(topic) if p in r.peers and r.peers[p].knows_idontwant)


@rule(
    "pm-jvm/idontwant.suppressed",
    lacking="Sends IDONTWANT to peers that send it parts.",
    when="it checks whether a peer to send IDONTWANT to sends it parts",
)
def sends_us_parts(r: Router, topic: str, peer: Peer) -> bool | None:
    """Of whom we request parts and who can send them sends no full messages that it could be told about."""
    if not (r.own_flags(topic).requests and r.peers[peer].flags_in(topic).supports):
        return False
    return named_it(r, peer)


@rule(
    "pm-go/idontwant.suppressed",
    lacking="Sends IDONTWANT to peers that say they send it parts.",
    when="it checks whether a peer to send IDONTWANT to says that it sends parts",
)
def says_it_sends_us_parts(r: Router, topic: str, peer: Peer) -> bool:
    """The same, whether or not the peer has named the extension."""
    return r.own_flags(topic).requests and r.peers[peer].flags_in(topic).supports


@rule(
    "gs1.2/idontwant.immediate",
    lacking="Sends no IDONTWANT to its mesh.",
    when="it sends IDONTWANT to its mesh",
)
def tell_those(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """At the first copy, at once, to mesh peers that may send it in full. The sender MAY do without."""
    targets = r.protocol.set_of("idontwant_to", r, m.part.topic, choose)
    return idontwant.broadcast(r, m, targets.all, targets.may)


# -- what the application decided for one peer --------------------------------------------------------------


@rule(
    "pm/application.interface",
    lacking="Sends peers nothing that the application decided to send.",
    when="it looks up the peers to which the application decided to send",
)
def decided_peer(r: Router, d: Decided) -> frozenset[Peer]:
    """Any peer that is connected, in the mesh or not."""
    return frozenset({d[1].peer})


@rule(
    "pm/send.no-part-unrequested",
    lacking="Sends parts to peers that did not request them.",
    when="it checks whether a peer requested the parts to send",
)
def did_not_request(r: Router, d: Decided, peer: Peer) -> bool:
    return not r.peers[peer].flags_in(d[0]).requests


@rule(
    "pm/send.metadata-supporter",
    lacking="Sends parts metadata to peers that do not support partial messages.",
    when="it checks whether a peer to send parts metadata to supports partial messages",
)
def can_send_nothing(r: Router, d: Decided, peer: Peer) -> bool:
    """Metadata asks for parts: it is nothing for a peer that can send none."""
    return not r.peers[peer].flags_in(d[0]).supports


@rule(
    "pm/send.advertised",
    lacking="Sends partial messages to peers that have not named the extension.",
    when="it checks whether a peer to send partial messages to has named the extension",
)
def without_the_extension(r: Router, d: Decided, peer: Peer) -> bool | None:
    named = named_it(r, peer)
    return None if named is None else not named
