"""Planted departures of our mempool reactor, each one edit at one seam.

A claim is accepted only with a mutant here that it kills. Nothing of the reactor knows of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.impl.mempool.dog.reactor import RESET_ROUTE, DogReactor, ReactorPeer
from quidnunc.impl.mempool.dog.routes import NOBODY
from quidnunc.impl.mempool.pool import PoolEntry
from quidnunc.impl.mutant import Usual, around, nothing, patch, put
from quidnunc.impl.mutants.table import Edit, read_mutants
from quidnunc.impl.wire.mempool_codec import TX_CHANNEL
from quidnunc.model.rpc import Peer

# Flood.


def _send_twice(_: DogReactor, forward: Usual, entry: PoolEntry) -> None:
    forward(entry)
    forward(entry)


def _forget_later_senders(r: DogReactor, again: Usual, key: bytes, source: Peer | None) -> None:
    entry = r.pool.get(key)
    before = dict(entry.senders) if entry is not None else {}
    again(key, source)
    if entry is not None:
        entry.senders = before


def _own_goes_to_one(r: DogReactor, forward: Usual, entry: PoolEntry) -> None:
    since = len(r.out)
    forward(entry)
    if not entry.senders:
        del r.out[since + 1 :]


# DOG: HaveTx.


def _have_tx_to_another(r: DogReactor, say: Usual, source: Peer, key: bytes) -> object:
    return say(next((peer for peer in r.links if peer != source), source), key)


def _cut_all_senders(r: DogReactor, have_tx: Usual, peer: Peer, key: bytes) -> None:
    entry = r.pool.get(key)
    for source in () if entry is None else entry.senders:
        if r.is_there(source):
            r.routes.disable(source, peer)


def _own_is_filtered(r: DogReactor, cut_off: Usual, entry: PoolEntry) -> object:
    return cut_off(entry) if entry.senders else {target for _, target in r.routes.pairs()}


def _havetx_is_a_duplicate(r: DogReactor, have_tx: Usual, peer: Peer, key: bytes) -> None:
    have_tx(peer, key)
    r.redundancy.count_duplicate(peer)


# DOG: ResetRoute.


def _reset_any_target(r: DogReactor, free_one: Usual, target: Peer) -> None:
    pairs = r.routes.pairs()
    free_one(pairs[0][1] if pairs else target)


def _reset_resends(r: DogReactor, reset_route: Usual, peer: Peer) -> None:
    held = [entry for entry in r.pool if peer in r.cut_off(entry)]
    reset_route(peer)
    r.offer(held, peer)


# DOG: the controller.


def _own_uncounted(r: DogReactor) -> None:
    admit, count = r.admit, r.redundancy.count_first_time

    def uncounted(tx: bytes, source: Peer | None) -> None:
        patch(r.redundancy, "count_first_time", count if source is not None else nothing)
        admit(tx, source)

    patch(r, "admit", uncounted)


def _permission_withdrawn(r: DogReactor, on_low: Usual) -> None:
    r.redundancy.block()
    on_low()


def _reset_to_all(r: DogReactor, on_low: Usual) -> None:
    for peer in filter(r.understands_dog, r.links):
        r.send_control(peer, RESET_ROUTE)


# DOG: peers.


def _ask_the_lost_too(r: DogReactor, lose: Usual, lost: Peer) -> None:
    with_dog = r.understands_dog(lost)

    def adjust(lost: Peer) -> None:
        r.links[lost] = ReactorPeer(with_dog)
        r.adjust()
        del r.links[lost]

    patch(r, "adjust_after_loss", adjust)
    lose(lost)


def _mass_reset(r: DogReactor, usual: Usual, lost: Peer) -> None:
    for peer in filter(r.understands_dog, r.links):
        r.send_control(peer, RESET_ROUTE)
    r.adjust()


_EDITS: Mapping[str, Edit[DogReactor]] = {
    "echo-to-sender": put("who_has", lambda entry: NOBODY),
    "send-twice": around("forward", _send_twice),
    "joiner-gets-nothing": put("catch_up", nothing),
    "forget-later-senders": around("again", _forget_later_senders),
    "readmit-committed": around("pool.known", lambda r, usual, key: r.pool.get(key) is not None),
    "invalid-pooled": put("is_valid", lambda tx: True),
    "invalid-forgotten": around("refuse", lambda r, usual, key: r.redundancy.count_first_time()),
    "commit-is-ignored": put("commit", lambda tx: False),
    "own-goes-to-one": around("forward", _own_goes_to_one),
    "pool-backwards": around("catch_up", lambda r, usual, peer: r.offer(reversed([*r.pool]), peer)),
    "controls-among-txs": around("send", lambda r, send, peer, channel, data: send(peer, TX_CHANNEL, data)),
    "dog-told-to-all": put("understands_dog", lambda peer: True),
    "last-sender": put("first_sender", lambda entry: next(reversed(entry.senders), None)),
    "never-blocked": put("redundancy.block", nothing),
    "starts-blocked": lambda r: r.redundancy.block(),
    "havetx-to-another": around("say_have_tx", _have_tx_to_another),
    "cut-all-senders": around("have_tx", _cut_all_senders),
    "cut-the-other-way": around("routes.disable", lambda r, disable, source, target: disable(target, source)),
    "route-of-the-dead": put("is_there", lambda source: True),
    "havetx-is-a-duplicate": around("have_tx", _havetx_is_a_duplicate),
    "own-is-filtered": around("cut_off", _own_is_filtered),
    "reset-all": lambda r: patch(r.routes, "free_one", r.routes.forget_target),
    "reset-any-target": around("routes.free_one", _reset_any_target),
    "reset-is-ignored": put("reset_route", nothing),
    "reset-resends": around("reset_route", _reset_resends),
    "strict-upper": around("redundancy.too_high", lambda r, usual, ratio: ratio > r.redundancy.upper),
    "counts-kept": put("redundancy.restart", nothing),
    "user-duplicates-uncounted": around(
        "redundancy.count_duplicate", lambda r, count, source: None if source is None else count(source)
    ),
    "own-uncounted": _own_uncounted,
    "none-new-is-low": around(
        "redundancy.ratio", lambda r, ratio: ratio() if r.redundancy.first_time else 0.0
    ),
    "idle-is-low": around("redundancy.level", lambda r, level: "low" if level() == "idle" else level()),
    "permission-withdrawn": around("on_low", _permission_withdrawn),
    "reset-to-all": around("on_low", _reset_to_all),
    "never-resets": put("on_low", nothing),
    "stale-target": put("routes.forget_target", nothing),
    "stale-source": put("routes.forget_source", nothing),
    "loss-is-quiet": put("adjust_after_loss", nothing),
    "ask-the-lost-too": around("lose", _ask_the_lost_too),
    "mass-reset": around("adjust_after_loss", _mass_reset),
}

DOG_MUTANTS = read_mutants(__file__, DogReactor, _EDITS)
"""By name, as in `ours:NAME`."""
