"""step(router, event, choose) -> Step: what one event allows, obliges and changes."""

from __future__ import annotations

from typing import cast

from quidnunc.model.choices import Choose
from quidnunc.model.events import (
    LEGAL_KINDS,
    Advance,
    Closed,
    Connect,
    Disconnect,
    Event,
    Feedback,
    Join,
    Leave,
    Publish,
    PublishPartial,
    Raw,
    Receive,
    Resume,
    Score,
    Stall,
    Verdict,
)
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.router import ENDED, Neighbour, PartialFlags, ReceivedPart, Router, without_key
from quidnunc.model.pubsub.scores import events as scores_events
from quidnunc.model.rpc import CONTROL, Part, Peer
from quidnunc.model.values import evolve

CLOSES_ALL = "malformed-closes-all"
"""A switch: bytes of one peer that are no RPC close the connections of all."""


def applicable(r: Router, event: Event) -> bool:
    """Whether `event` can happen to this router now; a harness leaves out what cannot."""
    match event:
        case Connect(peers):
            return not any(p in r.peers for p in peers)
        case Receive(peers, parts):
            # A floodsub peer has no control to send; what a router makes of it nobody says.
            plain = not any(isinstance(p, CONTROL) for p in parts)
            return bool(peers) and all(
                p in r.peers and (plain or not r.peers[p].speaks_floodsub) for p in peers
            )
        case Disconnect(peers) | Raw(peers) | Stall(peers) | Resume(peers) | Score(peers):
            return bool(peers) and all(p in r.peers for p in peers)
        case Join(topic, requests, supports):
            return topic not in r.topics and ("partial" in r.protocol.handlers or not (requests or supports))
        case Feedback(_, peer):
            return "feedback" in r.protocol.handlers and r.parameters.scores is not None and peer in r.peers
        case PublishPartial(_, _, decisions):
            return "publish_partial" in r.protocol.handlers and all(d.peer in r.peers for d in decisions)
        case Leave(topic):
            return topic in r.topics
        case Publish(message):
            # What is too large for others the router refuses to its own application.
            fits = message.size <= r.parameters.max_message_bytes
            return message.id not in r.seen and not message.author and fits
        case Verdict(message_id):
            return message_id in r.waiting
        case Advance(ms):
            return 0 < ms <= until_heartbeat_ms(r)
        case _:
            return False


def until_heartbeat_ms(r: Router) -> int:
    """From now to the next heartbeat, in ms: the longest Advance that is one step."""
    p = r.parameters
    ran = r.now_ms - p.heartbeat_delay_ms
    return -ran if ran < 0 else p.heartbeat_interval_ms - ran % p.heartbeat_interval_ms


def step(r: Router, event: Event, choose: Choose) -> Step[Router]:
    """One event that is `applicable` and names one peer at most (bursts are taken apart by the harness)."""
    before = run(r, "any_time", None, choose).permits
    after = _step(r, event, choose)
    if r.parameters.scores is not None:
        after = Step(scores_events.count(after.router, "tally", r), after.permits)
    return after.then(run(after.router, "any_time", None, choose)).plus(*before)


def _step(r: Router, event: Event, choose: Choose) -> Step[Router]:
    match event:
        case Connect((peer,), protocol, outbound, address):
            r = evolve(r, peers={**r.peers, peer: Neighbour(protocol, outbound)})
            if r.parameters.scores is not None:
                r = scores_events.connected(r, peer, address)
            return run(r, "connect", peer, choose)
        case Disconnect((peer,)):
            return _gone_by(run(r, "disconnect", peer, choose), peer)
        case Receive((peer,), parts):
            return _received(r, ReceivedPart(peer, parts), choose)
        case Join(topic, requests, supports):
            own = {**r.own, topic: PartialFlags(requests, supports)} if requests or supports else r.own
            return run(evolve(r, topics=r.topics | {topic}, own=own), "join", topic, choose)
        case Leave(topic):
            own = without_key(r.own, topic) if topic in r.own else r.own
            return run(evolve(r, topics=r.topics - {topic}, own=own), "leave", topic, choose)
        case PublishPartial():
            return run(r, "publish_partial", event, choose)
        case Feedback():
            return Step(scores_events.count(r, "feedback", event))
        case Publish(message):
            return run(r, "publish", message, choose)
        case Verdict(message_id, judgement):
            waiting = r.waiting[message_id]
            r = evolve(r, waiting={k: v for k, v in r.waiting.items() if k != message_id})
            after = run(r, "verdict", (waiting, judgement), choose)
            if r.parameters.scores is None:
                return after
            return Step(scores_events.judged(after.router, waiting, judgement), after.permits)
        case Raw((peer,), kind) if kind in LEGAL_KINDS:
            # For the rules it is an RPC of nothing.
            return _received(r, ReceivedPart(peer, ()), choose)
        case Raw((peer,)):
            return _malformed(r, peer, choose)
        case Score((peer,), value):
            return Step(evolve(r, scores={**r.scores, peer: value}))
        case Stall((peer,)) | Resume((peer,)):
            stalled = evolve(r.peers[peer], stalled=isinstance(event, Stall))
            return Step(evolve(r, peers={**r.peers, peer: stalled}))
        case Advance(ms):
            ticks = ms == until_heartbeat_ms(r)
            # Decays come first: what falls on the instant of a heartbeat counts there already.
            on = r.parameters.scores is not None
            r = scores_events.pass_time(r, ms) if on else evolve(r, now_ms=r.now_ms + ms)
            if not ticks:
                return Step(r)
            return run(evolve(r, heartbeats=r.heartbeats + 1), "heartbeat", None, choose)
        case _:
            return Step(r)


def run(r: Router, handler: str, what: object, choose: Choose) -> Step[Router]:
    """The step of one handler of the router's protocol; where it has none, nothing happens."""
    combined = r.protocol.handlers.get(handler)
    found = combined(r, what, choose) if combined is not None else None
    return cast("Step[Router]", found) if found is not None else Step(r)


def _received(r: Router, rpc: ReceivedPart[tuple[Part, ...]], choose: Choose) -> Step[Router]:
    after = run(r, "rpc", rpc, choose)
    return Step(_has_spoken(_with_next_rpc(after.router), rpc.peer), after.permits)


def _malformed(r: Router, peer: Peer, choose: Choose) -> Step[Router]:
    """No text says what bytes that are no RPC cause; the router may close that stream, and nothing else."""
    if not choose.whether("stream.closed", lambda o: o == Closed(peer)):
        return Step(r)
    found: Step[Router] = Step(r)
    for each in sorted(r.peers) if r.reads(CLOSES_ALL) else (peer,):
        closed = Permit(Closed(each), True, "pubsub/rpc.malformed", "now")
        after = run(found.router, "disconnect", each, choose)
        found = Step(gone(after.router, each), (*found.permits, closed, *after.permits))
    return found


def _with_next_rpc(r: Router) -> Router:
    """A router that read this one to its end, or not, reads the next."""
    return evolve(r, kept=without_key(r.kept, ENDED)) if r.kept and ENDED in r.kept else r


def _has_spoken(r: Router, peer: Peer) -> Router:
    """Whatever the RPC was, and whether or not it was read, the next one is not the first on its stream."""
    neighbour = r.peers.get(peer)
    if neighbour is None or neighbour.spoke or "extension" not in r.protocol.handlers:
        return r
    return evolve(r, peers={**r.peers, peer: evolve(neighbour, spoke=True)})


def _gone_by(after: Step[Router], peer: Peer) -> Step[Router]:
    return Step(gone(after.router, peer), after.permits)


def gone(r: Router, peer: Peer) -> Router:
    """What no text needs to say: a peer without a connection is not a neighbour."""
    if r.parameters.scores is not None:
        r = scores_events.count(r, "departed", peer)
    return evolve(r, peers={k: v for k, v in r.peers.items() if k != peer})
