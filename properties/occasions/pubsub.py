"""What a step of a pubsub router must be for a clause to apply that holds of every output, or of none."""

from __future__ import annotations

from quidnunc.model.events import LEGAL_KINDS, Connect, Delivered, Publish, Raw, Score
from quidnunc.model.rpc import (
    ROUTER,
    Graft,
    IDontWant,
    IHave,
    IWant,
    Message,
    Peer,
    Prune,
    Subscribe,
    ids_named,
)
from quidnunc.properties.occasions.occasion import Applies, ObservedStep, has, of_family

every_router = of_family("pubsub")
with_mesh = has("graft")
with_backoff = has("graft", "backs_off")
with_idontwant = has("graft", "backs_off", "idontwant")
with_extensions = has("graft", "backs_off", "extension")
with_parts = has("graft", "backs_off", "partial")

# -- streams, scores and the mesh ---------------------------------------------------------------------------


def connected_by(stream: str) -> Applies:
    """A peer connects by that protocol id."""
    return lambda s: isinstance(s.event, Connect) and s.event.protocol == stream


def malformed(s: ObservedStep) -> bool:
    """Bytes come that are no RPC."""
    return isinstance(s.event, Raw) and s.event.kind not in LEGAL_KINDS


def scored(s: ObservedStep) -> bool:
    """The application scores a peer."""
    return isinstance(s.event, Score) and "score" in s.state.protocol.handlers


def held_to_threshold(s: ObservedStep) -> bool:
    """A threshold decides. Without score parameters a score holds nothing but what the application says."""
    return any(clause.startswith("gs1.1/threshold.") for clause in s.because)


def between_bounds(s: ObservedStep) -> bool:
    """A heartbeat finds a mesh that it may not change."""
    p = s.state.parameters
    return s.ticked and any(p.d_low <= len(members) <= p.d_high for members in s.state.mesh.values())


def pruned(s: ObservedStep) -> bool:
    return any(isinstance(part, Prune) for part in s.received)


def prunes_who_knows_backoff(s: ObservedStep) -> bool:
    peers = s.state.peers
    return any(isinstance(o.part, Prune) and o.peer in peers and peers[o.peer].knows_backoff for o in s.sent)


# -- rules that run more often than they are tested ---------------------------------------------------------

CONTROL = (IHave, IWant, Graft, Prune, IDontWant)


def could_be_out_of_order(s: ObservedStep) -> bool:
    """An RPC has messages and control. In floodsub, without control, the rule says that messages are read."""
    if "graft" not in s.state.protocol.handlers:
        return True
    kinds = [isinstance(part, CONTROL) for part in s.received if isinstance(part, (Message, *CONTROL))]
    return len(set(kinds)) == 2


def gossips(s: ObservedStep) -> bool:
    """The router says what the windows of its message cache hold."""
    return any(isinstance(o.part, IHave) for o in s.sent)


def shows_what_is_cached(s: ObservedStep) -> bool:
    """A peer asks for a message that is in the cache, or the router gossips."""
    asked = any(isinstance(part, IWant) and s.state.cached.keys() & {*part.ids} for part in s.received)
    return asked or gossips(s)


# -- messages and their ids ---------------------------------------------------------------------------------


def relays(s: ObservedStep) -> bool:
    """A message of another author is sent. What the router publishes itself has nothing to be equal to."""
    own = isinstance(s.event, Publish)
    return not own and any(isinstance(o.part, Message) and o.part.author != ROUTER for o in s.sent)


def _sends_own(s: ObservedStep) -> bool:
    return any(isinstance(o.part, Message) and o.part.author == ROUTER for o in s.sent)


def sends_own_signed(s: ObservedStep) -> bool:
    return bool(s.state.parameters.signature_policy == "StrictSign") and _sends_own(s)


def sends_own_unsigned(s: ObservedStep) -> bool:
    return s.state.parameters.signature_policy != "StrictSign" and _sends_own(s)


def names_other_ids(s: ObservedStep) -> bool:
    """Message ids come or go that are not those of the origin."""
    if s.state.parameters.message_id == "origin":
        return False
    parts = (*s.received, *(o.part for o in s.sent))
    return any(ids_named(part) for part in parts)


def names_hex_ids(s: ObservedStep) -> bool:
    return bool(s.state.parameters.message_id == "hex") and names_other_ids(s)


# -- peer exchange ------------------------------------------------------------------------------------------


def _prunes(s: ObservedStep) -> list[tuple[Peer, Prune]]:
    """PRUNEs of a router that exchanges peers."""
    if not s.state.parameters.prune_peers:
        return []
    return [(o.peer, o.part) for o in s.sent if isinstance(o.part, Prune)]


def offers_peers(s: ObservedStep) -> bool:
    return any(prune.peers for _, prune in _prunes(s))


def offers_beside_negative(s: ObservedStep) -> bool:
    """Peers are named where one of the topic has a negative score."""
    r = s.state
    return any(r.below(p, 0) for _, prune in _prunes(s) if prune.peers for p in r.members(prune.topic))


def prunes_negative(s: ObservedStep) -> bool:
    return any(s.state.below(peer, 0) for peer, _ in _prunes(s))


# -- extensions and partial messages ------------------------------------------------------------------------


def sends_on_opened_stream(s: ObservedStep) -> bool:
    """Whatever is sent on a stream that has had its first RPC could have been a second Extensions."""
    peers = s.state.peers
    opened = (o.peer in peers and peers[o.peer].knows_extensions for o in s.sent)
    return "extension" in s.state.protocol.handlers and any(opened)


def _speaks_parts(s: ObservedStep) -> bool:
    return "partial" in s.state.protocol.handlers


def subscribes(s: ObservedStep) -> bool:
    return _speaks_parts(s) and any(isinstance(o.part, Subscribe) for o in s.sent)


def delivers_where_requested(s: ObservedStep) -> bool:
    """A full message is delivered in a topic in which the router requests parts."""
    topics = (o.message.topic for o in s.outputs if isinstance(o, Delivered))
    return _speaks_parts(s) and any(s.state.own_flags(topic).requests for topic in topics)


def sends_full_to_requester(s: ObservedStep) -> bool:
    """A requester is sent a full message by a router that cannot send parts."""
    if not _speaks_parts(s):
        return False
    r = s.state
    full = [(o.peer, o.part.topic) for o in s.sent if isinstance(o.part, Message) and o.peer in r.peers]
    return any(r.peers[p].flags_in(t).requests and not r.own_flags(t).supports for p, t in full)
