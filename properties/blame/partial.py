"""Which clause an output breaks that nothing permits, where partial messages are spoken."""

from __future__ import annotations

from collections.abc import Collection

from quidnunc.model.events import Event, GossipAsked, Offered, Output, PartialIn, PublishPartial, Sent
from quidnunc.model.pubsub.extensions import has_extension
from quidnunc.model.pubsub.partial.metadata import spared
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import PARTIAL_EXTENSION, ROUTER, IDontWant, IHave, Message, Partial, Peer


def blamed_clause(output: Output, event: Event, r: Router) -> str:
    """The clause; empty where partial messages have nothing to do with it. `r` is the router before."""
    match output:
        case Sent(peer, Partial(topic, _, payload)):
            return _of_partial(peer, topic, payload, event, r)
        case Sent(peer, Message(_, topic)) if peer in spared(r, topic).must:
            return "pm/send.partial-to-requester"
        case Sent(peer, IHave(topic)) if peer in r.peers and r.peers[peer].flags_in(topic).requests:
            return "pm/gossip.no-ihave"
        case Sent(_, IDontWant()) if "idontwant_to" in r.protocol.handlers:
            return r.protocol["idontwant_to"].rules[-1].clause
        case PartialIn(peer, part):
            return _of_hand_over(peer, part.topic, r)
        case GossipAsked(topic, group):
            known = r.groups.get((topic, group))
            if known is None:
                return of_life(r)
            if known.initiator != ROUTER:
                return _own(r, "pm-jvm/gossip.callback", "pm/gossip.partial-instead")
            return _own(r, "pm-go/gossip.once", "pm/gossip.partial-instead")
        case Offered(topic, group, state=state) if (topic, group) not in r.groups:
            # Of a group that begins, an offer without a state says nothing of an earlier one.
            if state or not isinstance(event, PublishPartial):
                return of_life(r)
            return _own(r, "pm-jvm/publish.fanout", "pm/application.interface")
        case Offered():
            return _own(r, "pm-jvm/publish.fanout", "pm/application.interface")
    return ""


def _of_partial(peer: Peer, topic: str, payload: str | None, event: Event, r: Router) -> str:
    if peer not in r.peers or not isinstance(event, PublishPartial):
        return "pm/application.interface"
    if has_extension(r.peers[peer], PARTIAL_EXTENSION) is False:
        return "pm/send.advertised"
    flags = r.peers[peer].flags_in(topic)
    if payload is not None and not flags.requests:
        return "pm/send.no-part-unrequested"
    if not flags.supports:
        return "pm/send.metadata-supporter"
    failed = any(d.peer == peer and d.error for d in event.decisions)
    return (
        _own(r, "pm-jvm/api.state-atomic", "pm/application.interface")
        if failed
        else "pm/application.interface"
    )


def _of_hand_over(peer: Peer, topic: str, r: Router) -> str:
    if peer in r.peers and has_extension(r.peers[peer], PARTIAL_EXTENSION) is False:
        return _own(r, "pm-jvm/receive.before-handshake", "pm/send.advertised")
    counts = {whose: count for (of, whose), count in r.started.items() if of == topic}
    full = sum(counts.values()) >= r.parameters.max_groups_per_topic
    if full and counts.get(peer, 0) < r.parameters.max_groups_per_peer:
        return _own(r, "pm-jvm/group.topic-cap", "pm/application.forwarded")
    return _own(r, "pm-jvm/group.peer-cap", "pm/application.forwarded")


def of_full(
    r: Router, peer: Peer, started: Collection[tuple[Peer, str]], otherwise: str, *, left: bool
) -> str:
    """Of a group of `peer` that is not handed over: whether the groups that a run started in its topic, as
    (peer, name), come to a cap, so that some should have counted no longer. `left`: the peer was gone
    since."""
    if len({name for whose, name in started if whose == peer}) >= r.parameters.max_groups_per_peer:
        cap = _own(r, "pm-jvm/group.peer-cap", otherwise)
    elif len({name for _, name in started}) >= r.parameters.max_groups_per_topic:
        cap = _own(r, "pm-jvm/group.topic-cap", otherwise)
    else:
        return otherwise
    return _own(r, "pm-go/group.counts-released", cap) if left else cap


def of_state(before: object) -> str:
    """Of an offer with another state than is kept."""
    if isinstance(before, Router):
        return _own(before, "pm-go/api.state-in-place", "pm-jvm/api.state-atomic")
    return "pm-jvm/api.state-atomic"


def of_life(r: Router) -> str:
    """Of a group that should be gone."""
    return _own(
        r,
        "pm-go/group.one-heartbeat-more",
        _own(r, "pm-jvm/group.time-to-live", "pm/gossip.partial-instead"),
    )


def _own(r: Router, clause: str, otherwise: str) -> str:
    """`clause` where a rule of the protocol bears it."""
    return clause if any(each.clause == clause for _, each in r.protocol.rules()) else otherwise
