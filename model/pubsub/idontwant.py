"""IDONTWANT. gossipsub v1.2, the draft and r1: they differ in one word, "could" and "MUST"."""

from __future__ import annotations

from quidnunc.model.choices import Choose
from quidnunc.model.permits import Step, may_send
from quidnunc.model.pubsub.router import HeartbeatCounts, ReceivedPart, Router
from quidnunc.model.rpc import ROUTER, IDontWant, IHave, Message, Peer
from quidnunc.model.rules import rule
from quidnunc.model.values import evolve


@rule(
    "gs1.2/idontwant.immediate",
    lacking="Sends no IDONTWANT to its mesh.",
    when="it sends IDONTWANT to its mesh",
)
def tell_mesh(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """At the first copy, at once, to all mesh peers that know of it. The sender MAY do without."""
    topic = m.part.topic
    mesh = frozenset(p for p in r.mesh_of(topic) if p in r.peers and r.peers[p].knows_idontwant)
    sends_parts = (p for p in mesh if r.own_flags(topic).requests and r.peers[p].flags_in(topic).supports)
    return broadcast(r, m, mesh, frozenset(sends_parts))


def broadcast(
    r: Router, m: ReceivedPart[Message], mesh: frozenset[Peer], spared: frozenset[Peer]
) -> Step[Router] | None:
    """IDONTWANT for a message that came: to all of `mesh`, or to nobody.

    Free are `spared`, who brought the message and its author, who need not be told, and who may be told for
    another reason. A message of our own does not come: no text says whom we tell.
    """
    told, clause = IDontWant((m.part.id,)), "gs1.2/idontwant.immediate"
    asked = r.asked.get(m.part.id, frozenset())
    free = mesh if m.peer == ROUTER else mesh & (spared | asked | {m.peer, m.part.author})
    all_or_none = may_send(mesh - free, told, clause, "now", together=True)
    permits = may_send(free, told, clause, "now") + all_or_none
    return Step(r, permits) if permits else None


@rule(
    "gs1.2/iwant.cancel",
    lacking="Sends no IDONTWANT to peers that it asked for the message by IWANT.",
    when="it sends IDONTWANT to peers that it asked for the message by IWANT",
)
def cancel_requests(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """Who was asked for it by IWANT may be told that it came from another."""
    others = r.asked.get(m.part.id, frozenset()) - {m.peer}
    told = frozenset(p for p in others if p in r.peers and r.peers[p].knows_idontwant)
    return Step(r, may_send(told, IDontWant((m.part.id,)), "gs1.2/iwant.cancel", "now")) if told else None


@rule(
    "gs1.2-draft/idontwant.on-ihave",
    lacking="Sends no IDONTWANT for messages that it requests after an IHAVE.",
    when="it sends IDONTWANT for messages that it requests after an IHAVE",
)
def tell_before(r: Router, g: ReceivedPart[IHave], choose: Choose) -> Step[Router] | None:
    """What is asked for after an IHAVE the mesh may be told not to send."""
    mesh = frozenset(p for p in r.mesh_of(g.part.topic) if p in r.peers and r.peers[p].knows_idontwant)
    clause = "gs1.2-draft/idontwant.on-ihave"
    told = tuple(p for i in g.part.ids for p in may_send(mesh, IDontWant((i,)), clause))
    return Step(r, told) if told else None


@rule(
    "gs1.2-draft/ihave.instead-of-message",
    lacking="Sends no IHAVE in place of a message that a peer does not want.",
    when="it sends IHAVE in place of a message that a peer does not want",
)
def offer_instead(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """Mesh members that said IDONTWANT may be sent an IHAVE in the place of the message."""
    spared = frozenset(p for p in r.mesh_of(m.part.topic) if m.part.id in r.unwanted.get(p, {}))
    offered = IHave(m.part.topic, (m.part.id,))
    clause = "gs1.2-draft/ihave.instead-of-message"
    return Step(r, may_send(spared - {m.peer}, offered, clause)) if spared else None


@rule(
    "gs1.2/idontwant.cap",
    lacking="Heeds IDONTWANT beyond the cap of a heartbeat.",
    when="it drops an IDONTWANT beyond the cap of a heartbeat",
)
def beyond_the_cap(r: Router, d: ReceivedPart[IDontWant], choose: Choose) -> Step[Router] | None:
    """So many messages per peer and heartbeat, in one RPC or in many; what comes beyond is not heeded."""
    over = r.heard.get(d.peer, HeartbeatCounts()).idontwant_messages >= r.parameters.max_idontwant_messages
    return Step(r) if over else None


@rule("gs1.2/idontwant.per-peer", lacking="Does not note an IDONTWANT.", when="it notes an IDONTWANT")
def remember_unwanted(r: Router, d: ReceivedPart[IDontWant], choose: Choose) -> Step[Router] | None:
    """The ids enter the peer's set; where there are more ids than the cap has messages, they are free to be
    ignored.

    So they are from a peer whose stream is of a version without IDONTWANT.
    """
    if not d.part.ids:
        return None
    heard = r.heard.get(d.peer, HeartbeatCounts())
    room = r.parameters.max_idontwant_messages - heard.idontwants
    if heard.idontwants == heard.idontwant_messages:
        # One id in each message so far: whether this one counts is a matter of messages alone.
        room = max(room, 1)
    if not r.peers[d.peer].knows_idontwant:
        room = 0
    kept = dict(r.unwanted.get(d.peer, {}))
    for at, message_id in enumerate(dict.fromkeys(d.part.ids)):
        if at < room:
            kept[message_id] = 0
        else:
            kept.setdefault(message_id, -1)
    counted = evolve(
        heard,
        idontwants=heard.idontwants + len(d.part.ids),
        idontwant_messages=heard.idontwant_messages + 1,
    )
    return Step(evolve(r, unwanted={**r.unwanted, d.peer: kept}, heard={**r.heard, d.peer: counted}))


@rule(
    "gs1.2/idontwant.skip",
    lacking="Relays a message to a peer that sent IDONTWANT for it.",
    when="it checks whether a peer sent IDONTWANT for the message to relay",
)
def who_said_idontwant(r: Router, m: ReceivedPart[Message], peer: Peer) -> bool | None:
    """r1: they MUST be skipped, as long as the entry lives: to the next heartbeat at least.

    The scope is relay to the mesh. Explicit and floodsub peers are outside the letter, hence free. An
    explicit peer gets every message as such, in the mesh or not.
    """
    age = r.unwanted.get(peer, {}).get(m.part.id)
    if age is None or is_old(r, peer, m.part.id):
        return False
    return True if age == 0 and peer in r.mesh_of(m.part.topic) and not r.is_explicit(peer) else None


@rule(
    "gs1.2-draft/idontwant.may-skip",
    lacking="Relays a message to every peer, even one that sent IDONTWANT for it.",
    when="it checks whether a peer sent IDONTWANT for the message to relay",
)
def who_may_be_skipped(r: Router, m: ReceivedPart[Message], peer: Peer) -> bool | None:
    """Draft: they "could" be skipped."""
    return None if m.part.id in r.unwanted.get(peer, {}) else False


@rule(
    "gs1.2/idontwant.prune-old",
    lacking="Keeps an IDONTWANT beyond the heartbeats for which it counts.",
    when="it ages its IDONTWANTs at the heartbeat",
)
def age(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """Old entries should go at the heartbeat, by whatever policy: they are free from then until `is_old`."""
    if not r.unwanted:
        return None
    older = {p: {i: min(0, age) - 1 for i, age in ids.items()} for p, ids in r.unwanted.items() if ids}
    return Step(evolve(r, unwanted=older))


def is_old(r: Router, peer: Peer, message_id: str) -> bool:
    """Whether an IDONTWANT is of more than seen_ttl ago, by when the message itself would be new again.

    The text leaves the policy open; one that keeps an entry for longer does not prune old ones."""
    at_least = -r.unwanted.get(peer, {}).get(message_id, 0) - 2
    return at_least * r.parameters.heartbeat_interval_ms > r.parameters.seen_ttl_ms
