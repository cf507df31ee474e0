"""Planted departures of the limit on peers in our mempool reactor, each one edit at one seam."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from quidnunc.impl.mempool.dog.reactor import DogReactor
from quidnunc.impl.mutant import Mutant, patch
from quidnunc.model.rpc import Peer

Edit = Callable[[DogReactor], None]


def _no_limit(r: DogReactor) -> None:
    patch(r.slots, "holds", lambda peer: True)


def _one_too_many(r: DogReactor) -> None:
    limit = r.slots.limit_of

    def larger(peer: Peer) -> int:
        return limit(peer) + 1 if limit(peer) else 0

    patch(r.slots, "limit_of", larger)


def _one_class(r: DogReactor) -> None:
    patch(r.slots, "kind_of", lambda peer: "other")


def _zero_is_none(r: DogReactor) -> None:
    patch(r.slots, "needs_slot", lambda peer: not r.slots.is_unconditional(peer))


def _nobody_unconditional(r: DogReactor) -> None:
    patch(r.slots, "is_unconditional", lambda peer: False)


def _newcomer_waits(r: DogReactor) -> None:
    patch(r.slots, "has_free", lambda peer: False)


def _newcomer_displaces(r: DogReactor) -> None:
    enter = r.slots.enter

    def displacing(peer: Peer) -> bool:
        if not r.slots.needs_slot(peer) or r.slots.has_free(peer):
            return enter(peer)
        oldest = r.slots.oldest(peer)
        if oldest is not None:
            r.slots.displace(oldest)
        return enter(peer)

    patch(r.slots, "enter", displacing)


def _slot_stays_idle(r: DogReactor) -> None:
    patch(r.slots, "next_waiting", lambda lost: None)


def _pool_not_offered(r: DogReactor) -> None:
    lose, catch_up = r.lose, r.catch_up

    def silent(peer: Peer) -> None:
        patch(r, "catch_up", lambda next_one: None)
        lose(peer)
        patch(r, "catch_up", catch_up)

    patch(r, "lose", silent)


def _deaf_to_waiting(r: DogReactor) -> None:
    admit = r.admit

    def deaf(tx: bytes, source: Peer | None) -> None:
        if source is None or r.slots.holds(source):
            admit(tx, source)

    patch(r, "admit", deaf)


def _mutant(name: str, clause: str, edit: Edit, summary: str) -> Mutant:
    def apply(router: object) -> None:
        if not isinstance(router, DogReactor):
            raise TypeError(f"mutant {name} edits a mempool Reactor, not a {type(router).__name__}")
        edit(router)

    return Mutant(name=name, summary=summary, clause=clause, protocol="peer-limit", apply=apply)


_ALL = (
    _mutant("limit-ignored", "peer-limit/send.at-most", _no_limit,
            "Sends transactions to all peers, whatever the limits."),
    _mutant("limit-one-too-many", "peer-limit/send.at-most", _one_too_many,
            "Has one slot more than the limit says."),
    _mutant("limit-of-one-class", "peer-limit/config.limits", _one_class,
            "Counts persistent peers among the others."),
    _mutant("limit-zero-is-none", "peer-limit/config.limits", _zero_is_none,
            "Takes a limit of 0 for no slot at all."),
    _mutant("limit-unconditional-waits", "peer-limit/send.unconditional", _nobody_unconditional,
            "Lets unconditional peers wait for a slot."),
    _mutant("limit-newcomer-waits", "peer-limit/slot.by-connection", _newcomer_waits,
            "Lets a new peer wait though a slot is free."),
    _mutant("limit-newcomer-displaces", "peer-limit/slot.held", _newcomer_displaces,
            "Takes the slot of the oldest peer for a new one."),
    _mutant("limit-slot-stays-idle", "peer-limit/slot.freed", _slot_stays_idle,
            "Leaves a slot that became free to nobody."),
    _mutant("limit-pool-not-offered", "peer-limit/slot.freed", _pool_not_offered,
            "Offers a peer that gets a slot nothing of the present pool."),
    _mutant("limit-deaf-to-waiting", "peer-limit/receive.unlimited", _deaf_to_waiting,
            "Takes no transactions from peers that have no slot."),
)  # fmt: skip

PEER_LIMIT_MUTANTS: Mapping[str, Mutant] = MappingProxyType({mutant.name: mutant for mutant in _ALL})
"""By name, as in `ours:NAME`."""
