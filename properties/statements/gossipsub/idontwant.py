"""IDONTWANT, and what older versions are not told."""

from __future__ import annotations

from collections.abc import Iterator

from quidnunc.model.rpc import IDontWant, Message, Peer
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.pubsub import TOPIC, PubsubMove, RouterStep
from quidnunc.properties.statements.gossipsub import places
from quidnunc.properties.statements.gossipsub.messages import over_the_mesh
from quidnunc.properties.statements.gossipsub.revisions import since
from quidnunc.properties.statements.gossipsub.steps import (
    AT_REST,
    FAIR,
    always,
    is_heartbeat,
    received_parts,
    relayed_parts,
    remembering,
    sender,
    sent_parts,
)
from quidnunc.properties.statements.statement import Statement


def _told(seen: RouterStep) -> Iterator[tuple[Peer, str]]:
    for peer, part in sent_parts(seen, IDontWant):
        yield from ((peer, i) for i in part.ids)


def unwanted_is_held(seen: RouterStep) -> str:
    """IDONTWANT names what its sender has received or published."""
    known = seen.before.seen.keys() | seen.after.seen.keys()
    known |= {m.id for m in received_parts(seen, Message)}
    wrong = next(((peer, i) for peer, i in _told(seen) if i not in known), None)
    return f"{name_of(seen.node)} does not want {wrong[1]}, which it has not" if wrong else ""


def unwanted_said_to_mesh(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """IDONTWANT goes to the mesh, and not to whom the message came from."""
    facts |= {(seen.node, m.id, sender(seen)) for m in received_parts(seen, Message)}
    for peer, i in _told(seen):
        if peer not in seen.before.mesh_of(TOPIC) | seen.after.mesh_of(TOPIC):
            return f"{name_of(seen.node)} says IDONTWANT {i} to {name_of(peer)}, outside its mesh"
        if (seen.node, i, peer) in facts:
            return f"{name_of(seen.node)} says IDONTWANT {i} to {name_of(peer)}, which has just sent it"
    return ""


def unwanted_said_once(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """IDONTWANT is said once to a peer of an id."""
    for peer, i in _told(seen):
        if (seen.node, peer, i) in facts:
            return f"{name_of(seen.node)} says IDONTWANT {i} to {name_of(peer)} again"
        facts.add((seen.node, peer, i))
    return ""


def unwanted_said_at_once(seen: RouterStep) -> str:
    """At the first copy, the others of the mesh are told."""
    told = {peer for peer, _ in _told(seen)}
    for m in received_parts(seen, Message):
        if m.flaw or m.id in seen.before.seen or m.id not in seen.after.seen:
            continue
        known = {p for p in seen.before.mesh_of(TOPIC) if seen.before.peers[p].knows_idontwant}
        silent = sorted(known - told - {sender(seen)})
        if silent:
            return f"{name_of(seen.node)} has {m.id} and does not tell {name_of(silent[0])}"
    return ""


def unwanted_is_spared(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """Until the next heartbeat who said IDONTWANT is not relayed the message."""
    if is_heartbeat(seen):
        facts -= {fact for fact in facts if fact[0] == seen.node}
    for peer, m in relayed_parts(seen):
        if (seen.node, peer, m.id) in facts:
            return f"{name_of(seen.node)} relays {m.id} to {name_of(peer)}, which said IDONTWANT"
    by = sender(seen)
    facts |= {(seen.node, by, i) for part in received_parts(seen, IDontWant) for i in part.ids}
    return ""


def unwants(move: PubsubMove) -> bool:
    """Somebody takes an IDONTWANT."""
    return any(received_parts(seen, IDontWant) for seen in move.steps)


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        id="idontwant.names-received-messages",
        old_id="P66",
        says="IDONTWANT names what its sender has received or published.",
        revisions=since("gossipsub-1.2-draft"),
        claims=("idontwant.immediate",),
        look=always(unwanted_is_held),
        places=(places.WAITING_RING,),
        occasion=unwants,
    ),
    Statement(
        id="idontwant.sent-to-the-mesh",
        old_id="P67",
        says="IDONTWANT goes to the mesh, less whom the message came from.",
        revisions=since("gossipsub-1.2-draft"),
        claims=("idontwant.immediate",),
        clauses=("gs1.2/idontwant.immediate",),
        look=remembering(unwanted_said_to_mesh),
        places=(places.WAITING,),
        occasion=unwants,
        reading="Both texts of v1.2 say: to all of the mesh.",
    ),
    Statement(
        id="idontwant.sent-once",
        old_id="P68",
        says="IDONTWANT is said once to a peer of an id.",
        revisions=since("gossipsub-1.2-draft"),
        clauses=("gs1.2/idontwant.immediate",),
        look=remembering(unwanted_said_once),
        places=(places.WAITING,),
        occasion=unwants,
        reading="It may be said before validation and after it, and neither text says not both.",
    ),
    Statement(
        id="idontwant.sent-at-first-copy",
        old_id="P69",
        says="At the first copy of a message the others of the mesh are told at once.",
        revisions=since("gossipsub-1.2-draft"),
        claims=("idontwant.immediate",),
        clauses=("gs1.2/idontwant.immediate",),
        look=always(unwanted_said_at_once),
        places=(places.WAITING,),
        reading="Obliged to; the texts allow a router to do without.",
    ),
    Statement(
        id="idontwant.suppresses-relay",
        old_id="P70",
        says="Who said IDONTWANT is not relayed the message, until the next heartbeat at least.",
        revisions=since("gossipsub-1.2-draft"),
        claims=("idontwant.honoured",),
        clauses=("gs1.2/idontwant.skip",),
        look=remembering(unwanted_is_spared),
        places=(places.WAITING_RING, places.STATIC[1]),
        occasion=unwants,
    ),
    Statement(id="idontwant.suppresses-nothing-else", old_id="P71",
              says="IDONTWANT suppresses that id to that peer, and nothing else.",
              revisions=since("gossipsub-1.2-draft"), claims=("idontwant.honoured", "relay.targets")),
    Statement(id="idontwant.memory-is-bounded", old_id="P72",
              says="What IDONTWANT leaves behind is bounded, and goes.",
              revisions=since("gossipsub-1.2-draft"), claims=("idontwant.capped", "idontwant.forgotten")),
    Statement(
        id="idontwant.leaves-scores-alone",
        old_id="P73",
        says="Neither IDONTWANT nor ignoring it changes a score.",
        revisions=since("gossipsub-1.2-draft"),
        claims=("score.mesh-deliveries", "score.behaviour"),
        reading="No rule of a score names it; that honouring it lowers mesh deliveries is another matter.",
    ),
    Statement(
        id="idontwant.costs-nobody-a-message",
        old_id="P74",
        says="IDONTWANT of a peer costs nobody else a message over a connected mesh.",
        revisions=since("gossipsub-1.2-draft"),
        claims=("idontwant.honoured",),
        look=over_the_mesh,
        places=(places.UNWILLING, places.STATIC[1]),
        occasion=unwants,
        assumes=f"{AT_REST} {FAIR} The mesh of the honest is one component and does not change meanwhile.",
    ),
    Statement(
        id="versions.features-by-version",
        old_id="P75",
        says="No IDONTWANT below v1.2, no extensions below v1.3, no backoff and no exchange below v1.1.",
        revisions=since("gossipsub-1.0"),
        claims=("backoff.announced", "idontwant.immediate", "extensions.not-below"),
    ),
    Statement(id="versions.idontwant-encodings-agree", old_id="P76",
              says="What v1.2 encodes for one id the draft decodes as the same.",
              revisions=("gossipsub-1.2-draft", "gossipsub-1.2"),
              clauses=("gs1.2-draft/rpc.idontwant-field", "gs1.2/rpc.idontwant-field"),
              needs="z3, over the wire types; `quidnunc diff gossipsub-1.2-draft gossipsub-1.2` shows them"),
)  # fmt: skip
