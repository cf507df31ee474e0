"""Planted departures of our mempool reactor, each one edit at one seam.

A claim is accepted only with a mutant here that it kills. Nothing of the reactor knows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from types import MappingProxyType

from quidnunc.impl.mempool.dog.reactor import RESET_ROUTE, DogReactor, ReactorPeer
from quidnunc.impl.mempool.dog.routes import NOBODY
from quidnunc.impl.mempool.pool import PoolEntry
from quidnunc.impl.mutant import Mutant, nothing, patch, put
from quidnunc.impl.mutants.table import read_mutants
from quidnunc.impl.wire.mempool_codec import TX_CHANNEL
from quidnunc.model.rpc import Peer

Edit = Callable[[DogReactor], None]


# Flood.


def _send_twice(r: DogReactor) -> None:
    forward = r.forward

    def twice(entry: PoolEntry) -> None:
        forward(entry)
        forward(entry)

    patch(r, "forward", twice)


def _forget_later_senders(r: DogReactor) -> None:
    again = r.again

    def unrecorded(key: bytes, source: Peer | None) -> None:
        entry = r.pool.get(key)
        before = dict(entry.senders) if entry is not None else {}
        again(key, source)
        if entry is not None:
            entry.senders = before

    patch(r, "again", unrecorded)


def _own_goes_to_one(r: DogReactor) -> None:
    forward = r.forward

    def narrow(entry: PoolEntry) -> None:
        since = len(r.out)
        forward(entry)
        if not entry.senders:
            del r.out[since + 1 :]

    patch(r, "forward", narrow)


# DOG: HaveTx.


def _have_tx_to_another(r: DogReactor) -> None:
    say = r.say_have_tx

    def elsewhere(source: Peer, key: bytes) -> bool:
        return say(next((peer for peer in r.links if peer != source), source), key)

    patch(r, "say_have_tx", elsewhere)


def _cut_all_senders(r: DogReactor) -> None:
    def cut(peer: Peer, key: bytes) -> None:
        entry = r.pool.get(key)
        for source in () if entry is None else entry.senders:
            if r.is_there(source):
                r.routes.disable(source, peer)

    patch(r, "have_tx", cut)


def _cut_the_other_way(r: DogReactor) -> None:
    disable = r.routes.disable
    patch(r.routes, "disable", lambda source, target: disable(target, source))


def _own_is_filtered(r: DogReactor) -> None:
    cut_off = r.cut_off

    def cut(entry: PoolEntry) -> Set[Peer]:
        return cut_off(entry) if entry.senders else {target for _, target in r.routes.pairs()}

    patch(r, "cut_off", cut)


def _havetx_is_a_duplicate(r: DogReactor) -> None:
    have_tx = r.have_tx

    def count_too(peer: Peer, key: bytes) -> None:
        have_tx(peer, key)
        r.redundancy.count_duplicate(peer)

    patch(r, "have_tx", count_too)


# DOG: ResetRoute.


def _reset_any_target(r: DogReactor) -> None:
    free_one = r.routes.free_one

    def free(target: Peer) -> None:
        pairs = r.routes.pairs()
        free_one(pairs[0][1] if pairs else target)

    patch(r.routes, "free_one", free)


def _reset_resends(r: DogReactor) -> None:
    reset_route = r.reset_route

    def resend(peer: Peer) -> None:
        held = [entry for entry in r.pool if peer in r.cut_off(entry)]
        reset_route(peer)
        r.offer(held, peer)

    patch(r, "reset_route", resend)


# DOG: the controller.


def _user_duplicates_uncounted(r: DogReactor) -> None:
    count = r.redundancy.count_duplicate
    patch(r.redundancy, "count_duplicate", lambda source: count(source) if source is not None else None)


def _own_uncounted(r: DogReactor) -> None:
    first_time, count = r.first_time, r.redundancy.count_first_time

    def uncounted(entry: PoolEntry, source: Peer | None) -> None:
        patch(r.redundancy, "count_first_time", count if source is not None else nothing)
        first_time(entry, source)

    patch(r, "first_time", uncounted)


def _none_new_is_low(r: DogReactor) -> None:
    ratio = r.redundancy.ratio
    patch(r.redundancy, "ratio", lambda: ratio() if r.redundancy.first_time else 0.0)


def _idle_is_low(r: DogReactor) -> None:
    level = r.redundancy.level
    patch(r.redundancy, "level", lambda: "low" if level() == "idle" else level())


def _permission_withdrawn(r: DogReactor) -> None:
    on_low = r.on_low

    def block_too() -> None:
        r.redundancy.block()
        on_low()

    patch(r, "on_low", block_too)


def _reset_to_all(r: DogReactor) -> None:
    def tell_all() -> None:
        for peer in r.links:
            r.send_control(peer, RESET_ROUTE)

    patch(r, "on_low", tell_all)


def _controls_among_txs(r: DogReactor) -> None:
    send = r.send

    def on_one_channel(peer: Peer, channel: int, data: bytes) -> None:
        send(peer, TX_CHANNEL, data)

    patch(r, "send", on_one_channel)


# DOG: peers.


def _ask_the_lost_too(r: DogReactor) -> None:
    def adjust(lost: Peer) -> None:
        r.links[lost] = ReactorPeer()
        r.adjust()
        del r.links[lost]

    patch(r, "adjust_after_loss", adjust)


def _mass_reset(r: DogReactor) -> None:
    def tell_all(lost: Peer) -> None:
        for peer in r.links:
            r.send_control(peer, RESET_ROUTE)
        r.adjust()

    patch(r, "adjust_after_loss", tell_all)


_EDITS: Mapping[str, Edit] = {
    "echo-to-sender": put("who_has", lambda entry: NOBODY),
    "send-twice": _send_twice,
    "joiner-gets-nothing": put("catch_up", nothing),
    "forget-later-senders": _forget_later_senders,
    "readmit-committed": lambda r: patch(r.pool, "known", lambda key: r.pool.get(key) is not None),
    "invalid-pooled": put("is_valid", lambda tx: True),
    "invalid-forgotten": lambda r: patch(r, "refuse", lambda key: r.redundancy.count_first_time()),
    "commit-is-ignored": put("commit", lambda tx: False),
    "own-goes-to-one": _own_goes_to_one,
    "pool-backwards": lambda r: patch(r, "catch_up", lambda peer: r.offer(reversed([*r.pool]), peer)),
    "controls-among-txs": _controls_among_txs,
    "last-sender": put("first_sender", lambda entry: next(reversed(entry.senders), None)),
    "never-blocked": put("redundancy.block", nothing),
    "starts-blocked": lambda r: r.redundancy.block(),
    "havetx-to-another": _have_tx_to_another,
    "cut-all-senders": _cut_all_senders,
    "cut-the-other-way": _cut_the_other_way,
    "route-of-the-dead": put("is_there", lambda source: True),
    "havetx-is-a-duplicate": _havetx_is_a_duplicate,
    "own-is-filtered": _own_is_filtered,
    "reset-all": lambda r: patch(r.routes, "free_one", r.routes.forget_target),
    "reset-any-target": _reset_any_target,
    "reset-is-ignored": put("reset_route", nothing),
    "reset-resends": _reset_resends,
    "strict-upper": lambda r: patch(r.redundancy, "too_high", lambda ratio: ratio > r.redundancy.upper),
    "counts-kept": put("redundancy.restart", nothing),
    "user-duplicates-uncounted": _user_duplicates_uncounted,
    "own-uncounted": _own_uncounted,
    "none-new-is-low": _none_new_is_low,
    "idle-is-low": _idle_is_low,
    "permission-withdrawn": _permission_withdrawn,
    "reset-to-all": _reset_to_all,
    "never-resets": put("on_low", nothing),
    "stale-target": put("routes.forget_target", nothing),
    "stale-source": put("routes.forget_source", nothing),
    "loss-is-quiet": put("adjust_after_loss", nothing),
    "ask-the-lost-too": _ask_the_lost_too,
    "mass-reset": _mass_reset,
}

DOG_MUTANTS: Mapping[str, Mutant] = MappingProxyType(
    {mutant.name: mutant for mutant in read_mutants(__file__, DogReactor, _EDITS)}
)
"""By name, as in `ours:NAME`."""
