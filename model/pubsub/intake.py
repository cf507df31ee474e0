"""One RPC from one peer: what is read, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from quidnunc.model.choices import Choose, settled
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import ANY_KIND, ENDED, HeartbeatCounts, ReceivedPart, Router
from quidnunc.model.pubsub.scores import events as scores_events
from quidnunc.model.pubsub.step import run
from quidnunc.model.rpc import (
    PARTS,
    Graft,
    IDontWant,
    IHave,
    IWant,
    Message,
    Part,
    Partial,
    Prune,
    Subscribe,
    Unsubscribe,
)
from quidnunc.model.rules import rule
from quidnunc.model.values import evolve

Rpc: TypeAlias = ReceivedPart[tuple[Part, ...]]


@rule(
    "gs1.1/threshold.graylist",
    lacking="Reads RPCs from graylisted peers.",
    when="it drops an RPC from a graylisted peer",
)
def ignore_graylisted(r: Router, rpc: Rpc, choose: Choose) -> Step[Router] | None:
    """Below the graylist threshold the whole RPC is ignored; an explicit peer's never is."""
    if r.is_explicit(rpc.peer):
        return None
    if not settled(r.below(rpc.peer, r.parameters.graylist_threshold), "threshold.graylist", choose):
        return None
    read = r.reads("graylisted-subscriptions-count")
    return (each_of(r, rpc, (Subscribe, Unsubscribe), choose) if read else None) or Step(r)


@rule("pubsub/rpc.any-combination", lacking="Reads no RPCs.", when="it reads an RPC")
def take(r: Router, rpc: Rpc, choose: Choose) -> Step[Router]:
    """Any combination of parts is an RPC, the empty one too."""
    return run(r, "intake", rpc, choose)


@rule(
    "pubsub/subscription.table", lacking="Ignores subscriptions.", when="it reads the subscriptions of an RPC"
)
def read_subscriptions(r: Router, rpc: Rpc, choose: Choose) -> Step[Router] | None:
    return each_of(r, rpc, (Subscribe, Unsubscribe), choose)


@rule(
    "gs1.0/rpc.payload-first",
    lacking="Ignores messages that peers send.",
    when="it reads the messages of an RPC",
)
def read_messages(r: Router, rpc: Rpc, choose: Choose) -> Step[Router] | None:
    """The payload of an RPC is processed before its control part."""
    return each_of(r, rpc, (Message,), choose)


@rule("gs1.0/ihave.request-unseen", lacking="Ignores IHAVE.", when="it reads the IHAVEs of an RPC")
def read_ihaves(r: Router, rpc: Rpc, choose: Choose) -> Step[Router] | None:
    if not any(isinstance(p, IHave) for p in rpc.part):
        return None
    heard = r.heard.get(rpc.peer, HeartbeatCounts())
    # What is ignored for its sender's score need not be counted against the cap.
    scored = "score" in r.protocol.handlers
    low = scored and r.gate_below(rpc.peer, r.parameters.gossip_threshold) is True
    counted = evolve(heard, ihave_rpcs=heard.ihave_rpcs + (0 if low else 1))
    step = each_of(evolve(r, heard={**r.heard, rpc.peer: counted}), rpc, (IHave,), choose)
    if step is None or r.parameters.scores is None:
        return step
    return Step(scores_events.promised(step.router, rpc.peer, rpc.part, step.permits), step.permits)


@rule("gs1.0/iwant.serve", lacking="Ignores IWANT.", when="it reads the IWANTs of an RPC")
def read_iwants(r: Router, rpc: Rpc, choose: Choose) -> Step[Router] | None:
    """An id that one RPC asks for several times may be answered each time, and counts as answered once."""
    step = each_of(r, rpc, (IWant,), choose)
    if step is None:
        return None
    once = {k: min(count, r.served.get(k, 0) + 1) for k, count in step.router.served.items()}
    return Step(evolve(step.router, served=once), step.permits)


@rule("gs1.0/graft.accept", lacking="Ignores GRAFT.", when="it reads the GRAFTs of an RPC")
def read_grafts(r: Router, rpc: Rpc, choose: Choose) -> Step[Router] | None:
    return each_of(r, rpc, (Graft,), choose)


@rule("gs1.0/prune.remove", lacking="Ignores PRUNE.", when="it reads the PRUNEs of an RPC")
def read_prunes(r: Router, rpc: Rpc, choose: Choose) -> Step[Router] | None:
    return each_of(r, rpc, (Prune,), choose)


@rule("gs1.2/idontwant.per-peer", lacking="Ignores IDONTWANT.", when="it reads the IDONTWANTs of an RPC")
def read_idontwants(r: Router, rpc: Rpc, choose: Choose) -> Step[Router] | None:
    return each_of(r, rpc, (IDontWant,), choose)


@rule(
    "pm/application.forwarded",
    lacking="Ignores partial messages.",
    when="it reads the partial messages of an RPC",
)
def read_partials(r: Router, rpc: Rpc, choose: Choose) -> Step[Router] | None:
    """Partial messages come last: the extensions and subscriptions of their RPC are known by then."""
    return each_of(r, rpc, (Partial,), choose)


HANDLER_OF: Mapping[type, str] = {shape.kind: shape.word for shape in PARTS if shape.since}
"""Which handler of the protocol takes a part that arrives."""


def each_of(r: Router, rpc: Rpc, kinds: Iterable[type], choose: Choose) -> Step[Router] | None:
    """A step of the handler of each part of these kinds, in their order; None where there is none."""
    found: Step[Router] | None = None
    for part in rpc.part:
        if type(part) in kinds:
            now = r if found is None else found.router
            if now.kept and now.kept.get(ENDED) in (ANY_KIND, type(part).__name__):
                continue
            one = run(now, HANDLER_OF[type(part)], ReceivedPart(rpc.peer, part), choose)
            if isinstance(part, Message) and r.parameters.scores is not None:
                one = Step(scores_events.arrived(now, one.router, ReceivedPart(rpc.peer, part)), one.permits)
            found = one if found is None else found.then(one)
    return found
