"""Planted departures of the limit on peers in our mempool reactor, each one edit at one seam."""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.impl.mempool.dog.reactor import DogReactor
from quidnunc.impl.mutant import Usual, around, nothing, patch, put
from quidnunc.impl.mutants.table import Edit, read_mutants
from quidnunc.model.rpc import Peer


def _newcomer_displaces(r: DogReactor, enter: Usual, peer: Peer) -> object:
    if r.slots.needs_slot(peer) and not r.slots.has_free(peer):
        oldest = r.slots.oldest(peer)
        if oldest is not None:
            r.slots.displace(oldest)
    return enter(peer)


def _pool_not_offered(r: DogReactor, lose: Usual, peer: Peer) -> None:
    catch_up = r.catch_up
    patch(r, "catch_up", nothing)
    lose(peer)
    patch(r, "catch_up", catch_up)


def _deaf_to_waiting(r: DogReactor, admit: Usual, tx: bytes, source: Peer | None) -> None:
    if source is None or r.slots.holds(source):
        admit(tx, source)


_EDITS: Mapping[str, Edit[DogReactor]] = {
    "limit-ignored": put("slots.holds", lambda peer: True),
    "limit-one-too-many": around(
        "slots.limit_of", lambda r, limit, peer: limit(peer) + 1 if limit(peer) else 0
    ),
    "limit-of-one-class": put("slots.kind_of", lambda peer: "other"),
    "limit-zero-is-none": around(
        "slots.needs_slot", lambda r, usual, peer: not r.slots.is_unconditional(peer)
    ),
    "limit-unconditional-waits": put("slots.is_unconditional", lambda peer: False),
    "limit-newcomer-waits": put("slots.has_free", lambda peer: False),
    "limit-newcomer-displaces": around("slots.enter", _newcomer_displaces),
    "limit-slot-stays-idle": put("slots.next_waiting", lambda lost: None),
    "limit-pool-not-offered": around("lose", _pool_not_offered),
    "limit-deaf-to-waiting": around("admit", _deaf_to_waiting),
}

PEER_LIMIT_MUTANTS = read_mutants(__file__, DogReactor, _EDITS)
"""By name, as in `ours:NAME`."""
