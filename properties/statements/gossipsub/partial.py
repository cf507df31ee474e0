"""Extensions and partial messages."""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.model.events import Publish
from quidnunc.model.rpc import Message, Partial
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.pubsub import TOPIC, RouterStep
from quidnunc.properties.networks.world import Look
from quidnunc.properties.statements.gossipsub.steps import always, received_parts, sender, sent_parts


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


LOOKS: Mapping[str, Look] = {"partial.requester-of-non-sender-gets-full": always(requester_gets_full)}
