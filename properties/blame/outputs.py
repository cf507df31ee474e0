"""Which clause an output breaks that nothing permits: a guess from what it is and when it came.

An explanation replaces the guess. Where there is none the guess is what a reader is told, so it names the
sentence that speaks of such an output on such an occasion, and the occasion is the state before the event.
"""

from __future__ import annotations

from typing import Any

from quidnunc.model.events import (
    MESHSUB_1_3,
    Advance,
    Closed,
    Connect,
    Delivered,
    Dialled,
    Disconnect,
    Event,
    Join,
    Leave,
    Output,
    Publish,
    Receive,
    Score,
    Sent,
    Submit,
    Verdict,
)
from quidnunc.model.mempool.node import Node
from quidnunc.model.pubsub.router import HeartbeatCounts, Router
from quidnunc.model.rpc import (
    INVALID_TX,
    ROUTER,
    Extensions,
    Graft,
    HaveTx,
    IDontWant,
    IHave,
    IWant,
    Message,
    Part,
    Peer,
    Prune,
    ResetRoute,
    Stray,
    Subscribe,
    TestExtension,
    Tx,
    Unsubscribe,
)
from quidnunc.model.versions import VERSIONS
from quidnunc.properties.blame import partial as partial_blame
from quidnunc.properties.blame.cat import forbidding_clause_of_cat, speaks_cat
from quidnunc.properties.blame.peer_exchange import dial_clause
from quidnunc.properties.blame.strays import stray_clause

PROTOCOL_IDS = {
    each.stream: f"{each.clauses}/rpc.protocol-id" for each in VERSIONS.values() if each.checks_stream
}
"""The clause by which a router speaks the protocol of a stream."""


def forbidding_clause(output: Output, event: Event | None = None, state: Any = None) -> str:
    """The clause that says when an output of this kind is in order. `state` is the one before `event`."""
    if isinstance(state, Router) and isinstance(output, Sent) and isinstance(output.part, Stray):
        # The frame may be in order; what it holds is no RPC.
        return "pubsub/rpc.any-combination"
    if isinstance(state, Router) and event is not None:
        return _of_router(output, event, state)
    if isinstance(state, Node) and isinstance(output, Sent) and isinstance(output.part, Stray):
        return stray_clause(state, output.part)
    if isinstance(state, Node) and event is not None:
        if speaks_cat(state):
            return forbidding_clause_of_cat(output, event, state)
        return _of_node(output, event, state)
    return _of_kind(output)


def _of_kind(output: Output) -> str:
    part = output.part if isinstance(output, Sent) else output
    match part:
        case Graft():
            return "gs1.0/heartbeat.no-churn"
        case Prune():
            return "gs1.0/prune.not-answered"
        case IHave(ids=ids):
            return "gs1.0/gossip.targets" if ids else "gs1.0/gossip.no-empty"
        case IWant():
            return "gs1.0/ihave.request-unseen"
        case IDontWant():
            return "gs1.2/idontwant.immediate"
        case Message():
            return "gs1.0/relay.seen"
        case ResetRoute():
            return "dog/controller.reset"
        case HaveTx():
            return "dog/havetx.reply"
        case Tx():
            return "flood/send.once"
        case Delivered():
            return "floodsub/deliver.once"
        case Dialled():
            return "gs1.1/explicit.connect"
        case Closed():
            return "pubsub/rpc.any-combination"
        case Subscribe() | Unsubscribe():
            return "pubsub/subscription.announce-to-all"
        case Extensions():
            return "gs1.3/extensions.once"
        case TestExtension():
            return "gs1.3/test.exchanged"
    return "pubsub/rpc.any-combination"


def _parts(event: Event, peer: Peer | None = None) -> tuple[Part, ...]:
    """What was received, from `peer` if one is given."""
    from_peer = isinstance(event, Receive) and (peer is None or peer in event.peers)
    return event.parts if isinstance(event, Receive) and from_peer else ()


# -- pubsub -------------------------------------------------------------------------------------------------


def _of_router(output: Output, event: Event, r: Router) -> str:
    if "partial" in r.protocol.handlers and (clause := partial_blame.blamed_clause(output, event, r)):
        return clause
    if isinstance(event, Receive) and all(_is_ignored(peer, r) for peer in event.peers):
        return "gs1.1/threshold.graylist"
    if isinstance(event, Score) and not _of_mesh(output):
        return "gs1.1/score.local"
    match output:
        case Closed() if isinstance(event, Connect):
            return PROTOCOL_IDS.get(event.protocol, "pubsub/rpc.any-combination")
        case Delivered(message):
            return _of_message(message, None, event, r) or "floodsub/deliver.once"
        case Sent(peer, Message() as message):
            return _of_message(message, peer, event, r) or "gs1.0/relay.seen"
        case Sent(peer, IDontWant(ids)) if clause := _of_request(peer, ids, event, r):
            return clause
        case Sent(_, IDontWant(ids)):
            return next(filter(None, (_refusal(i, event, r) for i in ids)), "gs1.2/idontwant.immediate")
        case Dialled(peer):
            return dial_clause(r, event, peer) or _of_kind(output)
        case Sent(peer, Graft(topic)):
            return _of_graft(topic, peer, event, r)
        case Sent(peer, Prune(topic)):
            return _of_prune(topic, peer, event, r)
        case Sent(peer, IHave(topic)) if _is_draft(r) and _at_arrival(event):
            return "gs1.2-draft/ihave.instead-of-message"
        case Sent(peer, IHave(topic, ids)):
            return gossip_clause(topic, ids, peer, r)
        case Sent(peer, IWant(ids)):
            return _of_iwant(ids, peer, event, r)
        case Sent(peer, Extensions()) if not _speaks_1_3(peer, event, r):
            return "gs1.3/extensions.not-below"
        case Closed() if any(isinstance(p, Extensions) for p in _parts(event)):
            return "gs1.3/extensions.unknown-ignored"
    return _of_kind(output)


def _is_ignored(peer: Peer, r: Router) -> bool:
    """Whether the RPCs of a peer are ignored for its score."""
    if not any(each.name == "ignore_graylisted" for each in r.protocol["rpc"].rules):
        return False
    return (
        peer in r.peers and not r.is_explicit(peer) and r.below(peer, r.parameters.graylist_threshold) is True
    )


def _is_draft(r: Router) -> bool:
    requested = r.protocol.handlers.get("requested")
    return requested is not None and bool(requested.rules)


def _at_arrival(event: Event) -> bool:
    return isinstance(event, Verdict) or any(isinstance(p, Message) for p in _parts(event))


def _of_request(peer: Peer, ids: tuple[str, ...], event: Event, r: Router) -> str:
    """The clause of an IDONTWANT that has to do with a request; empty where it has not."""
    named = {i for p in _parts(event) if isinstance(p, IHave) for i in p.ids}
    if _is_draft(r) and named & set(ids):
        return "gs1.2-draft/idontwant.on-ihave"
    brought = {p.id for p in _parts(event, peer) if isinstance(p, Message)}
    if any(i in brought and i not in r.seen and peer in r.asked.get(i, ()) for i in ids):
        return "gs1.2/iwant.cancel"
    return ""


def _of_mesh(output: Output) -> bool:
    """Who acts on a score at once tells nobody what it is."""
    return isinstance(output, Sent) and isinstance(output.part, (Graft, Prune))


def _speaks_1_3(peer: Peer, event: Event, r: Router) -> bool:
    if isinstance(event, Connect) and peer in event.peers:
        return event.protocol >= MESHSUB_1_3
    return peer in r.peers and r.peers[peer].knows_extensions


def _refusal(message_id: str, event: Event, r: Router) -> str:
    """The clause by which a message that came with `event` is dropped; empty where none does."""
    messages = [p for p in _parts(event) if isinstance(p, Message)]
    # Without author or seqno a copy has another id than the message that it is a copy of.
    copies = [m for m in messages if m.id == message_id] or [m for m in messages if m.flaw]
    if not copies:
        return ""
    if all(p.size > r.parameters.max_message_bytes for p in copies):
        return "pubsub/rpc.size-limit"
    if all(p.flaw for p in copies):
        return "pubsub/signing.reject"
    if copies[0].topic not in r.topics:
        return "floodsub/relay.joined-topics"
    if copies[0].author == ROUTER:
        return "gs1.0/relay.own-not-forwarded"
    return "gs1.0/relay.seen" if message_id in r.seen else ""


def _of_message(message: Message, peer: Peer | None, event: Event, r: Router) -> str:
    """Of a message that is delivered, or sent to `peer`; empty where the occasion says nothing."""
    if isinstance(event, Publish):
        low = peer is not None and r.gate_score(peer) < r.parameters.publish_threshold
        return "gs1.1/threshold.publish" if low else _publish(message.topic, r)
    if isinstance(event, Verdict):
        return _of_verdict(message, peer, event, r)
    refusal = _refusal(message.id, event, r)
    if not refusal and not any(isinstance(p, Message) and p.id == message.id for p in _parts(event)):
        asked = any(isinstance(p, IWant) and message.id in p.ids for p in _parts(event, peer))
        if not asked or peer is None:
            return ""
        return _of_answer(message.id, peer, r)
    if refusal:
        return refusal if refusal != "gs1.0/relay.seen" else ""
    if r.parameters.validation == "manual":
        return "gs1.1/validation.late-verdict"
    if peer is None:
        return ""
    back = isinstance(event, Receive) and peer in event.peers
    return _of_relay(message, peer, back, r)


def _of_verdict(message: Message, peer: Peer | None, event: Verdict, r: Router) -> str:
    """Of a message that is delivered, or sent to `peer`, upon a verdict; empty where that says nothing."""
    if event.judgement != "accept":
        return "gs1.1/validation.reject-ignore"
    waiting = r.waiting.get(message.id)
    if peer is None or waiting is None or event.id != message.id:
        return ""
    return _of_relay(message, peer, peer in (waiting.forwarder, *waiting.also), r)


def _of_relay(message: Message, peer: Peer, back: bool, r: Router) -> str:
    """Of a message that is relayed to `peer`, who may have sent it."""
    if back:
        return "floodsub/relay.not-back"
    return "floodsub/relay.not-to-author" if peer == message.author else _relay(r)


def _of_answer(message_id: str, peer: Peer, r: Router) -> str:
    """Of an answer to an IWANT: what forbids it, the peer's score, the cache, or earlier answers."""
    if message_id in r.waiting:
        return "gs1.1/validation.late-verdict"
    if r.gate_score(peer) < r.parameters.gossip_threshold:
        return "gs1.1/threshold.gossip-ignored"
    again = message_id in r.cached and r.served.get((peer, message_id), 0) > 0
    return "gs1.1/iwant.retransmission" if again else "gs1.0/iwant.serve"


def _publish(topic: str, r: Router) -> str:
    if r.parameters.flood_publish and "score" in r.protocol.handlers:
        return "gs1.1/publish.flood"
    return "gs1.0/publish.mesh" if topic in r.topics else "gs1.0/publish.fanout"


def _relay(r: Router) -> str:
    return "gs1.0/relay.mesh" if "graft" in r.protocol.handlers else "floodsub/relay.members"


def _of_graft(topic: str, peer: Peer, event: Event, r: Router) -> str:
    if r.now_ms + (event.ms if isinstance(event, Advance) else 0) < r.ends_backoff_ms(topic, peer):
        return "gs1.1/backoff.both-ends"
    if r.is_explicit(peer):
        return "gs1.1/explicit.no-mesh"
    if peer not in r.mesh_speakers(topic):
        return "gs1.0/mesh.members"
    if r.score(peer) < 0:
        return "gs1.1/threshold.negative-score"
    if isinstance(event, Join):
        return "gs1.0/join.fill"
    thin = len(r.mesh_of(topic)) < r.parameters.d_low
    return "gs1.0/heartbeat.fill" if thin and isinstance(event, Advance) else "gs1.0/heartbeat.no-churn"


def _of_prune(topic: str, peer: Peer, event: Event, r: Router) -> str:
    if isinstance(event, Leave):
        return "gs1.0/leave.prune-each"
    if isinstance(event, Advance):
        crowded = len(r.mesh_of(topic)) > r.parameters.d_high
        return "gs1.0/heartbeat.cut" if crowded else "gs1.0/heartbeat.no-churn"
    if Graft(topic) not in _parts(event, peer):
        return "gs1.0/prune.not-answered"
    if topic not in r.topics:
        return "gs1.1/graft.unknown-topic"
    return "gs1.0/graft.idempotent" if peer in r.mesh_of(topic) else "gs1.0/graft.accept"


OUTSIDE_MESH = "gs1.0/gossip.outside-mesh"


def gossip_clause(topic: str, ids: tuple[str, ...], peer: Peer, r: Router) -> str:
    """Of gossip to a peer, where `r` is the router before the heartbeat."""
    if not ids:
        return "gs1.0/gossip.no-empty"
    # Who is so low is pruned before any gossip, and then is outside the mesh.
    if r.gate_score(peer) < r.parameters.gossip_threshold:
        return "gs1.1/threshold.gossip"
    # Who never announced the topic is no target, whether or not it has just been pruned.
    if peer in r.mesh_of(topic) & r.members(topic):
        return OUTSIDE_MESH
    stale = not set(ids) <= set(r.gossip_ids(topic)) and (topic in r.mesh or topic in r.fanout)
    return "gs1.0/gossip.ids" if stale else "gs1.0/gossip.targets"


def _of_iwant(ids: tuple[str, ...], peer: Peer, event: Event, r: Router) -> str:
    if r.gate_score(peer) < r.parameters.gossip_threshold:
        return "gs1.1/threshold.gossip-ignored"
    if any(i in r.seen for i in ids):
        return "gs1.0/ihave.request-unseen"
    p, heard = r.parameters, r.heard.get(peer, HeartbeatCounts())
    # Of the event's own IHAVEs, the last one comes after the others.
    told = [len(part.ids) for part in _parts(event, peer) if isinstance(part, IHave)][:-1]
    over = heard.ihave_rpcs >= p.max_ihave_messages or heard.ihave_ids + sum(told) >= p.max_ihave_length
    return "gs1.1/ihave.caps" if over else "gs1.0/ihave.request-unseen"


# -- mempool ------------------------------------------------------------------------------------------------


def _of_node(output: Output, event: Event, n: Node) -> str:
    if "enter" in n.protocol.handlers and isinstance(output, Sent) and not _may_have_slot(output.peer, n):
        return "peer-limit/slot.freed" if isinstance(event, Disconnect) else "peer-limit/send.at-most"
    match output:
        case Sent(peer, Tx(tx)):
            return _of_tx(tx, peer, event, n)
        case Sent(peer, HaveTx() | ResetRoute()) if _has_no_dog(peer, n):
            return "dog/peer.without-dog"
        case Sent(peer, HaveTx()):
            if n.blocked:
                return "dog/havetx.while-blocked"
            return "dog/havetx.reply" if _parts(event, peer) else "dog/havetx.to-sender"
        case Sent(peer, ResetRoute()):
            if isinstance(event, Disconnect) and peer in event.peers:
                return "dog/peer.reset-not-to-lost"
            if not n.first_time and not n.duplicates:
                return "dog/controller.idle"
            return "dog/peer.adjust-at-loss" if isinstance(event, Disconnect) else "dog/controller.reset"
        case Closed():
            return "flood/rpc.malformed"
    return _of_kind(output)


def _has_no_dog(peer: Peer, n: Node) -> bool:
    return peer in n.peers and not n.peers[peer].has_dog


def _may_have_slot(peer: Peer, n: Node) -> bool:
    return any(known.holds(peer) is not False for known in n.slots.values())


def _of_tx(tx: str, peer: Peer, event: Event, n: Node) -> str:
    if isinstance(event, Receive) and ResetRoute() in event.parts:
        return "dog/reset.one"
    if tx.startswith(INVALID_TX):
        return "flood/receive.invalid-dropped"
    if tx in n.cache and tx not in n.pool:
        return "flood/receive.committed"
    if peer in n.senders(tx) or Tx(tx) in _parts(event, peer):
        return "flood/send.not-to-senders"
    source = n.first_sender(tx) or (event.peers[0] if isinstance(event, Receive) else None)
    fresh = tx not in n.cache and not isinstance(event, Submit)
    cut = fresh and source is not None and n.disabled_to(peer).holds(source)
    return "dog/route.filter" if cut else "flood/send.once"
