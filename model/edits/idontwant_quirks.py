"""Edits of IDONTWANT that no operator makes: who is told, and what it keeps from whom."""

from __future__ import annotations

from typing import cast

from quidnunc.model.choices import Choose
from quidnunc.model.edit import Edit, around, replacing_present
from quidnunc.model.events import Sent
from quidnunc.model.permits import Step, may_send
from quidnunc.model.pubsub.router import ReceivedPart, Router
from quidnunc.model.rpc import IDontWant, IHave, Message
from quidnunc.model.rules import Rule
from quidnunc.model.values import evolve


@around("gs1.2/idontwant.per-peer")
def send_own_to_none_that_said_it(old: Rule, r: Router, m: Message, choose: Choose) -> Step[Router]:
    """A peer that has said IDONTWANT, of whatever message, gets none of the router's own as long as that is
    remembered."""
    step = cast("Step[Router]", old.step(r, m, choose))
    said = {peer: ids.values() for peer, ids in r.unwanted.items() if ids}
    left = []
    for permit in step.permits:
        peer = permit.output.peer if isinstance(permit.output, Sent) else None
        if peer not in said:
            left.append(permit)
        elif 0 not in said[peer]:
            # It was heeded, or forgotten: that is free.
            left.append(evolve(permit, must=False))
    return Step(step.router, tuple(left))


@around("gs1.2-draft/idontwant.on-ihave")
def tell_everybody_before(old: Rule, r: Router, g: ReceivedPart[IHave], choose: Choose) -> Step[Router]:
    """What is asked for after an IHAVE every peer may be told not to send."""
    knowing = [peer for peer in sorted(r.peers) if r.peers[peer].knows_idontwant]
    clause = "gs1.2-draft/idontwant.on-ihave"
    return Step(r, tuple(p for i in g.part.ids for p in may_send(knowing, IDontWant((i,)), clause)))


@around("gs1.2-draft/ihave.instead-of-message")
def offer_beside(old: Rule, r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router]:
    """Every member of the mesh may be sent an IHAVE, also who gets the message."""
    members = r.mesh_of(m.part.topic) - {m.peer}
    offered, clause = IHave(m.part.topic, (m.part.id,)), "gs1.2-draft/ihave.instead-of-message"
    return Step(r, may_send(members, offered, clause))


IDONTWANT_QUIRKS: tuple[Edit, ...] = (
    Edit(
        "offers-beside-message",
        "replaced",
        "gs1.2-draft/ihave.instead-of-message",
        "Sends IHAVE for a message to the members of its mesh to which it sends the message.",
        replacing_present(offer_instead=offer_beside),
    ),
    Edit(
        "idontwant-keeps-own-messages-back",
        "replaced",
        "gs1.2/idontwant.per-peer",
        "Sends none of its own messages to a peer that has sent IDONTWANT for another one.",
        replacing_present(send_own=send_own_to_none_that_said_it),
    ),
    Edit(
        "requests-told-to-everybody",
        "replaced",
        "gs1.2-draft/idontwant.on-ihave",
        "Sends IDONTWANT to all its peers for messages that it requests after an IHAVE.",
        replacing_present(tell_before=tell_everybody_before),
    ),
)
"""Each is tried as the cause of a departure."""
