"""From events to what counts: whose copy of a message is a first one, what is promised, when time has passed.

Nothing here decides anything that a clause speaks of; the rules in `quidnunc.model.pubsub.scores.counting`
do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from quidnunc.model.events import Judgement
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.router import ReceivedPart, Router, WaitingMessage
from quidnunc.model.pubsub.scores.counting import (
    COPIES_ARE_FIRST,
    QUIET,
    CountedDelivery,
    Kind,
    near_window_ms,
    scored,
)
from quidnunc.model.pubsub.scores.ledger import IWantPromise, MessageCopies
from quidnunc.model.rpc import ROUTER, IHave, IWant, Message, Part, Peer
from quidnunc.model.values import evolve

KEPT_BY_MAKER = "promise-kept-by-maker"
UNCOUNTED_WHILE_VALIDATING = "copies-uncounted-while-validating"
FIRST_BEFORE_VERDICT = "first-deliveries-before-verdict"
AGAIN_COUNTED = "copies-counted-again"
"""Switches of what routers in the field, or in tests, do otherwise."""


def count(r: Router, handler: str, what: object) -> Router:
    """The router after the rules of one handler, none of which grants anything."""
    combined = r.protocol.handlers.get(handler)
    found = combined(r, what, QUIET) if combined is not None else None
    return cast("Step[Router]", found).router if found is not None else r


def connected(r: Router, peer: Peer, address: int) -> Router:
    """A peer is here, at an address, and may be one that was here before."""
    addresses = {p: a for p, a in r.ledger.addresses.items() if p != peer}
    if address:
        addresses[peer] = address
    return count(evolve(r, ledger=evolve(r.ledger, addresses=addresses)), "recognised", peer)


# -- time ---------------------------------------------------------------------------------------------------


def pass_time(r: Router, ms: int) -> Router:
    """`ms` later, with every decay on the way at its instant; one at the very end comes first there."""
    end_ms = r.now_ms + ms
    every_ms = scored(r).decay_interval_ms
    for at_ms in range(r.now_ms + every_ms - r.now_ms % every_ms, end_ms + 1, every_ms):
        r = count(evolve(r, now_ms=at_ms), "decay", None)
    return evolve(r, now_ms=end_ms)


# -- copies of messages -------------------------------------------------------------------------------------


def arrived(before: Router, after: Router, m: ReceivedPart[Message]) -> Router:
    """`after` with what the copy counts for; `before` is the router that had not read it."""
    message, peer = m.part, m.peer
    # A rule that was edited may take what is too large, or drop what is sound.
    taken = message.id in after.seen or message.id in after.waiting
    large = message.size > before.parameters.max_message_bytes and message.id in before.seen
    refused = bool(message.flaw) or large or not taken
    if message.topic not in before.topics or refused:
        r = _doubted(after, message.id)
        return _deliver(r, peer, message, "maybe-invalid") if refused and message.topic in r.topics else r
    if message.author == ROUTER:
        # Whether its own name from outside is an invalid message to a router is not said.
        return _deliver(after, peer, message, "maybe-invalid")
    meshed = peer in before.mesh_of(message.topic)
    if after.reads(KEPT_BY_MAKER):
        after = _received(after, message.id, peer)
    if message.id in before.waiting:
        return _another(after, message.id, peer, meshed)
    if message.id in before.seen and before.seen[message.id] == after.seen.get(message.id):
        return _late(after, peer, message, meshed)
    r = after if after.reads(KEPT_BY_MAKER) else _received(after, message.id)
    copies = MessageCopies({peer: meshed}, peer, None if message.id in r.waiting else r.now_ms)
    r = _with_copies(r, message.id, copies)
    waits = message.id in r.waiting and not r.reads(FIRST_BEFORE_VERDICT)
    return r if waits else _deliver(r, peer, message, "first", meshed)


def judged(r: Router, waiting: WaitingMessage, judgement: Judgement) -> Router:
    """A verdict: what the first copy counts for, and those that came during validation."""
    message = waiting.message
    copies = r.ledger.copies.get(message.id)
    if copies is None:
        return r
    if judgement == "ignore" and not r.reads("ignored-penalised"):
        return _with_copies(r, message.id, None)
    accepted = judgement == "accept"
    r = _with_copies(r, message.id, evolve(copies, judged_ms=r.now_ms, accepted=accepted))
    for peer, meshed in copies.senders.items():
        first = peer == copies.forwarder
        if accepted and r.reads(FIRST_BEFORE_VERDICT if first else UNCOUNTED_WHILE_VALIDATING):
            continue
        kind: Kind = ("first" if first else "near") if accepted else ("invalid" if first else "maybe-invalid")
        still = peer in r.mesh_of(message.topic)
        r = _deliver(r, peer, message, kind, meshed if meshed == still else None)
    return r


def _late(r: Router, peer: Peer, message: Message, meshed: bool) -> Router:
    """A copy after validation: near-first within the window, whose very end is free."""
    copies, p = r.ledger.copies.get(message.id), scored(r).of(message.topic)
    if p is None or (copies is not None and copies.judged_ms is None):
        return r
    if copies is None:
        # Our own, or one that was ignored: whether another copy of it is near-first is not said.
        recent = r.now_ms - r.seen[message.id] <= near_window_ms(r, p)
        return _deliver(r, peer, message, "maybe-near", meshed) if recent else r
    if not copies.accepted:
        # Whether another copy of what was refused is one more invalid message is not said.
        return _deliver(r, peer, message, "maybe-invalid")
    if peer != copies.forwarder and r.reads(COPIES_ARE_FIRST):
        r = _deliver(r, peer, message, "first", meshed=False)
    late_ms = r.now_ms - (copies.judged_ms or 0)
    if peer in copies.senders or late_ms > near_window_ms(r, p):
        return r
    kind: Kind = "near" if late_ms < near_window_ms(r, p) else "maybe-near"
    noted = r if r.reads(AGAIN_COUNTED) else _another(r, message.id, peer, meshed)
    return _deliver(noted, peer, message, kind, meshed)


def _another(r: Router, message_id: str, peer: Peer, meshed: bool) -> Router:
    copies = r.ledger.copies.get(message_id)
    if copies is None or peer in copies.senders:
        return r
    return _with_copies(r, message_id, evolve(copies, senders={**copies.senders, peer: meshed}))


def _deliver(r: Router, peer: Peer, message: Message, kind: Kind, meshed: bool | None = True) -> Router:
    return count(r, "delivery", CountedDelivery(peer, message.topic, kind, meshed))


def _with_copies(r: Router, message_id: str, copies: MessageCopies | None) -> Router:
    kept = {i: c for i, c in r.ledger.copies.items() if i != message_id}
    if copies is not None:
        kept[message_id] = copies
    return evolve(r, ledger=evolve(r.ledger, copies=kept))


# -- promises -----------------------------------------------------------------------------------------------


def promised(r: Router, peer: Peer, parts: Iterable[Part], granted: Iterable[Permit]) -> Router:
    """What the IHAVEs of one RPC promise, by the IWANTs that they led to."""
    adverts = sum(isinstance(p, IHave) for p in parts)
    asked: set[str] = set()
    sure = True
    for permit in granted:
        part = getattr(permit.output, "part", None)
        if isinstance(part, IWant):
            asked |= set(part.ids)
            sure = sure and permit.must
    if not asked:
        return r
    before = {i for p in r.ledger.promises if p.peer == peer for i in p.asked}
    least = 1 if sure and not asked & before else 0
    ends_ms = r.now_ms + scored(r).iwant_followup_ms
    new = IWantPromise(peer, frozenset(asked), frozenset(asked), ends_ms, least, max(1, adverts))
    return evolve(r, ledger=evolve(r.ledger, promises=(*r.ledger.promises, new)))


def _received(r: Router, message_id: str, maker: Peer | None = None) -> Router:
    """A message came that may have been promised; one that comes late may still be in time for the router.
    With `maker`, only that peer kept what it promised."""
    if not any(message_id in p.missing for p in r.ledger.promises):
        return r

    def kept(p: IWantPromise) -> IWantPromise:
        if message_id not in p.missing or maker not in (None, p.peer):
            return p
        in_time = r.now_ms < p.ends_ms
        return evolve(p, missing=p.missing - {message_id}) if in_time else evolve(p, least=0)

    found = tuple(map(kept, r.ledger.promises))
    return evolve(r, ledger=evolve(r.ledger, promises=found))


def _doubted(r: Router, message_id: str) -> Router:
    """A copy came that was dropped: whether that keeps a promise is not said."""
    found = tuple(evolve(p, least=0) if message_id in p.missing else p for p in r.ledger.promises)
    return evolve(r, ledger=evolve(r.ledger, promises=found)) if found != r.ledger.promises else r
