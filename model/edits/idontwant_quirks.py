"""Edits of IDONTWANT that no operator makes: who is told, and what it keeps from whom."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TypeAlias, cast

from quidnunc.model.choices import Choose
from quidnunc.model.edit import Edit, around, in_turn, replacing_present
from quidnunc.model.edits.memory_quirks import seen_or_waits_again
from quidnunc.model.edits.operators import wrapped
from quidnunc.model.events import Sent
from quidnunc.model.permits import Step, may_send
from quidnunc.model.pubsub.router import ReceivedPart, Router
from quidnunc.model.pubsub.scores.counting import with_penalty
from quidnunc.model.rpc import IDontWant, IHave, Message, Peer
from quidnunc.model.rules import Exclusion, Rule, Targets, rule, without
from quidnunc.model.values import evolve


@around("gs1.2/idontwant.per-peer")
def send_own_to_none_that_said_it(old: Rule, r: Router, m: Message, choose: Choose) -> Step[Router]:
    """A peer that has said IDONTWANT, of whatever message, gets none of the router's own as long as that is
    remembered."""
    said = {peer: ids.values() for peer, ids in r.unwanted.items() if ids}
    step = cast("Step[Router]", old.step(_with_hidden_fanout(r), m, choose))
    step = evolve(step, router=evolve(step.router, protocol=r.protocol))
    left = []
    for permit in step.permits:
        peer = permit.output.peer if isinstance(permit.output, Sent) else None
        if peer not in said:
            left.append(permit)
        elif 0 not in said[peer]:
            # It was heeded, or forgotten: that is free.
            left.append(evolve(permit, must=False))
    return Step(step.router, tuple(left))


@cache
def _those_that_said_it() -> Exclusion:
    """Who has sent an IDONTWANT that may be remembered."""

    @rule("gs1.2/idontwant.per-peer")
    def who_said_it(r: Router, topic: str) -> Targets:
        return Targets(frozenset(), frozenset(peer for peer, ids in r.unwanted.items() if ids))

    return without(who_said_it)


def _with_hidden_fanout(r: Router) -> Router:
    """The router, of whose fanout no own message shows whether these are in it."""
    if "suppressed" in r.protocol.handlers:
        return r
    return evolve(r, protocol=r.protocol.extended(r.protocol.name, suppressed=_those_that_said_it()))


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


TOLD = "told-idontwant"
"""Of `Router.kept`: peer -> message id -> whether it surely was told IDONTWANT for it."""
MOST_PENALTIES = 2
"""Of one copy; how many they are no text says."""

Told: TypeAlias = Mapping[Peer, Mapping[str, bool]]


@around("gs1.2/idontwant.immediate")
def tell_and_remember(old: Rule, r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """Whoever is told IDONTWANT is remembered for good."""
    step = cast("Step[Router] | None", old.step(r, m, choose))
    if step is None:
        return None
    known = dict(cast("Told", r.kept.get(TOLD, {})))
    for permit in step.permits:
        if isinstance(permit.output, Sent):
            peer = permit.output.peer
            known[peer] = {**known.get(peer, {}), m.part.id: permit.must or permit.together}
    return Step(evolve(step.router, kept={**step.router.kept, TOLD: known}), step.permits)


@around("gs1.2/idontwant.no-penalty")
def penalise_what_was_not_wanted(
    old: Rule, r: Router, m: ReceivedPart[Message], choose: Choose
) -> Step[Router] | None:
    """A copy from a peer that was told IDONTWANT costs a behaviour penalty (P7)."""
    step = cast("Step[Router] | None", old.step(r, m, choose))
    told = cast("Told", r.kept.get(TOLD, {})).get(m.peer, {}).get(m.part.id)
    if step is None or told is None or r.parameters.scores is None:
        return step
    return Step(with_penalty(step.router, m.peer, 1 if told else 0, MOST_PENALTIES), step.permits)


@around("gs1.2/idontwant.per-peer")
def anybody_said_idontwant(old: Rule, r: Router, m: ReceivedPart[Message], peer: Peer) -> bool | None:
    """A member of the mesh is skipped once anybody has said it. Whether an old entry counts is free."""
    if peer not in r.mesh_of(m.part.topic):
        return cast("bool | None", old.apply(r, m, peer))
    said = any(bool(old.apply(_as_member(r, m, each), m, each)) for each in r.unwanted)
    return said or (None if any(m.part.id in ids for ids in r.unwanted.values()) else False)


def _as_member(r: Router, m: ReceivedPart[Message], peer: Peer) -> Router:
    return r.with_mesh(m.part.topic, r.mesh_of(m.part.topic) | {peer})


@around("gs1.2/idontwant.immediate")
def tell_at_heartbeat(old: Rule, r: Router, m: object, choose: Choose) -> Step[Router] | None:
    step = cast("Step[Router] | None", old.step(r, m, choose))
    return None if step is None else wrapped.held(r, step)


IDONTWANT_QUIRKS: tuple[Edit, ...] = (
    Edit(
        "idontwant-of-anybody-heeded",
        "replaced",
        "gs1.2/idontwant.per-peer",
        "Withholds a message from all of its mesh once a single peer has sent IDONTWANT for it.",
        replacing_present(who_said_idontwant=anybody_said_idontwant),
    ),
    Edit(
        "idontwant-waits-for-heartbeat",
        "replaced",
        "gs1.2/idontwant.immediate",
        "Sends IDONTWANT with its next heartbeat, and not at once.",
        in_turn(
            replacing_present(tell_mesh=tell_at_heartbeat, cancel_requests=tell_at_heartbeat),
            replacing_present(seen_before=seen_or_waits_again),
            wrapped.releasing,
        ),
        clauses=("gs1.2/idontwant.immediate", "gs1.2/iwant.cancel"),
    ),
    Edit(
        "idontwant-enforced",
        "replaced",
        "gs1.2/idontwant.no-penalty",
        "Penalises a peer (P7) that sends a message for which it was told IDONTWANT.",
        replacing_present(tell_mesh=tell_and_remember, seen_before=penalise_what_was_not_wanted),
    ),
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
