"""Planted departures of the limit on peers in our mempool reactor, each one edit at one seam."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from quidnunc.impl.mempool.dog.reactor import DogReactor
from quidnunc.impl.mutant import Mutant, patch, put
from quidnunc.impl.mutants.table import read_mutants
from quidnunc.model.rpc import Peer

Edit = Callable[[DogReactor], None]


def _one_too_many(r: DogReactor) -> None:
    limit = r.slots.limit_of

    def larger(peer: Peer) -> int:
        return limit(peer) + 1 if limit(peer) else 0

    patch(r.slots, "limit_of", larger)


def _zero_is_none(r: DogReactor) -> None:
    patch(r.slots, "needs_slot", lambda peer: not r.slots.is_unconditional(peer))


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


_EDITS: Mapping[str, Edit] = {
    "limit-ignored": put("slots.holds", lambda peer: True),
    "limit-one-too-many": _one_too_many,
    "limit-of-one-class": put("slots.kind_of", lambda peer: "other"),
    "limit-zero-is-none": _zero_is_none,
    "limit-unconditional-waits": put("slots.is_unconditional", lambda peer: False),
    "limit-newcomer-waits": put("slots.has_free", lambda peer: False),
    "limit-newcomer-displaces": _newcomer_displaces,
    "limit-slot-stays-idle": put("slots.next_waiting", lambda lost: None),
    "limit-pool-not-offered": _pool_not_offered,
    "limit-deaf-to-waiting": _deaf_to_waiting,
}

PEER_LIMIT_MUTANTS: Mapping[str, Mutant] = MappingProxyType(
    {mutant.name: mutant for mutant in read_mutants(__file__, DogReactor, _EDITS)}
)
"""By name, as in `ours:NAME`."""
