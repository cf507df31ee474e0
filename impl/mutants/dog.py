"""Planted departures of our mempool reactor, each one edit at one seam.

A claim is accepted only with a mutant here that it kills. Nothing of the reactor knows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from types import MappingProxyType

from quidnunc.impl.mempool.dog.reactor import RESET_ROUTE, DogReactor, ReactorPeer
from quidnunc.impl.mempool.dog.routes import NOBODY
from quidnunc.impl.mempool.pool import PoolEntry
from quidnunc.impl.mutant import Mutant
from quidnunc.impl.wire.mempool_codec import TX_CHANNEL
from quidnunc.model.rpc import Peer

Edit = Callable[[DogReactor], None]


def _replace(owner: object, seam: str, by: Callable[..., object]) -> None:
    """Put `by` in the place of the method `seam` of one instance."""
    if not callable(getattr(owner, seam, None)):
        raise AttributeError(f"{type(owner).__name__} has no method {seam!r} to replace")
    setattr(owner, seam, by)


def _nothing(*_: object) -> None:
    return None


# Flood.


def _echo_to_sender(r: DogReactor) -> None:
    _replace(r, "who_has", lambda entry: NOBODY)


def _send_twice(r: DogReactor) -> None:
    forward = r.forward

    def twice(entry: PoolEntry) -> None:
        forward(entry)
        forward(entry)

    _replace(r, "forward", twice)


def _joiner_gets_nothing(r: DogReactor) -> None:
    _replace(r, "catch_up", _nothing)


def _forget_later_senders(r: DogReactor) -> None:
    again = r.again

    def unrecorded(key: bytes, source: Peer | None) -> None:
        entry = r.pool.get(key)
        before = dict(entry.senders) if entry is not None else {}
        again(key, source)
        if entry is not None:
            entry.senders = before

    _replace(r, "again", unrecorded)


def _readmit_committed(r: DogReactor) -> None:
    _replace(r.pool, "known", lambda key: r.pool.get(key) is not None)


def _commit_is_ignored(r: DogReactor) -> None:
    _replace(r, "commit", lambda tx: False)


def _own_goes_to_one(r: DogReactor) -> None:
    forward = r.forward

    def narrow(entry: PoolEntry) -> None:
        since = len(r.out)
        forward(entry)
        if not entry.senders:
            del r.out[since + 1 :]

    _replace(r, "forward", narrow)


# DOG: HaveTx.


def _last_sender(r: DogReactor) -> None:
    _replace(r, "first_sender", lambda entry: next(reversed(entry.senders), None))


def _never_blocked(r: DogReactor) -> None:
    _replace(r.redundancy, "block", _nothing)


def _starts_blocked(r: DogReactor) -> None:
    r.redundancy.block()


def _have_tx_to_another(r: DogReactor) -> None:
    say = r.say_have_tx

    def elsewhere(source: Peer, key: bytes) -> bool:
        return say(next((peer for peer in r.links if peer != source), source), key)

    _replace(r, "say_have_tx", elsewhere)


def _cut_all_senders(r: DogReactor) -> None:
    def cut(peer: Peer, key: bytes) -> None:
        entry = r.pool.get(key)
        for source in () if entry is None else entry.senders:
            if r.is_there(source):
                r.routes.disable(source, peer)

    _replace(r, "have_tx", cut)


def _cut_the_other_way(r: DogReactor) -> None:
    disable = r.routes.disable
    _replace(r.routes, "disable", lambda source, target: disable(target, source))


def _route_of_the_dead(r: DogReactor) -> None:
    _replace(r, "is_there", lambda source: True)


def _own_is_filtered(r: DogReactor) -> None:
    cut_off = r.cut_off

    def cut(entry: PoolEntry) -> Set[Peer]:
        return cut_off(entry) if entry.senders else {target for _, target in r.routes.pairs()}

    _replace(r, "cut_off", cut)


def _havetx_is_a_duplicate(r: DogReactor) -> None:
    have_tx = r.have_tx

    def count_too(peer: Peer, key: bytes) -> None:
        have_tx(peer, key)
        r.redundancy.count_duplicate(peer)

    _replace(r, "have_tx", count_too)


# DOG: ResetRoute.


def _reset_all(r: DogReactor) -> None:
    _replace(r.routes, "free_one", r.routes.forget_target)


def _reset_any_target(r: DogReactor) -> None:
    free_one = r.routes.free_one

    def free(target: Peer) -> None:
        pairs = r.routes.pairs()
        free_one(pairs[0][1] if pairs else target)

    _replace(r.routes, "free_one", free)


def _reset_is_ignored(r: DogReactor) -> None:
    _replace(r, "reset_route", _nothing)


def _reset_resends(r: DogReactor) -> None:
    reset_route = r.reset_route

    def resend(peer: Peer) -> None:
        held = [entry for entry in r.pool if peer in r.cut_off(entry)]
        reset_route(peer)
        r.offer(held, peer)

    _replace(r, "reset_route", resend)


# DOG: the controller.


def _strict_upper(r: DogReactor) -> None:
    _replace(r.redundancy, "too_high", lambda ratio: ratio > r.redundancy.upper)


def _counts_kept(r: DogReactor) -> None:
    _replace(r.redundancy, "restart", _nothing)


def _user_duplicates_uncounted(r: DogReactor) -> None:
    count = r.redundancy.count_duplicate
    _replace(r.redundancy, "count_duplicate", lambda source: count(source) if source is not None else None)


def _own_uncounted(r: DogReactor) -> None:
    first_time, count = r.first_time, r.redundancy.count_first_time

    def uncounted(entry: PoolEntry, source: Peer | None) -> None:
        _replace(r.redundancy, "count_first_time", count if source is not None else _nothing)
        first_time(entry, source)

    _replace(r, "first_time", uncounted)


def _none_new_is_low(r: DogReactor) -> None:
    ratio = r.redundancy.ratio
    _replace(r.redundancy, "ratio", lambda: ratio() if r.redundancy.first_time else 0.0)


def _idle_is_low(r: DogReactor) -> None:
    level = r.redundancy.level
    _replace(r.redundancy, "level", lambda: "low" if level() == "idle" else level())


def _permission_withdrawn(r: DogReactor) -> None:
    on_low = r.on_low

    def block_too() -> None:
        r.redundancy.block()
        on_low()

    _replace(r, "on_low", block_too)


def _reset_to_all(r: DogReactor) -> None:
    def tell_all() -> None:
        for peer in r.links:
            r.send_control(peer, RESET_ROUTE)

    _replace(r, "on_low", tell_all)


def _never_resets(r: DogReactor) -> None:
    _replace(r, "on_low", _nothing)


def _controls_among_txs(r: DogReactor) -> None:
    send = r.send

    def on_one_channel(peer: Peer, channel: int, data: bytes) -> None:
        send(peer, TX_CHANNEL, data)

    _replace(r, "send", on_one_channel)


# DOG: peers.


def _stale_target(r: DogReactor) -> None:
    _replace(r.routes, "forget_target", _nothing)


def _stale_source(r: DogReactor) -> None:
    _replace(r.routes, "forget_source", _nothing)


def _loss_is_quiet(r: DogReactor) -> None:
    _replace(r, "adjust_after_loss", _nothing)


def _ask_the_lost_too(r: DogReactor) -> None:
    def adjust(lost: Peer) -> None:
        r.links[lost] = ReactorPeer()
        r.adjust()
        del r.links[lost]

    _replace(r, "adjust_after_loss", adjust)


def _mass_reset(r: DogReactor) -> None:
    def tell_all(lost: Peer) -> None:
        for peer in r.links:
            r.send_control(peer, RESET_ROUTE)
        r.adjust()

    _replace(r, "adjust_after_loss", tell_all)


def _pool_backwards(r: DogReactor) -> None:
    _replace(r, "catch_up", lambda peer: r.offer(reversed([*r.pool]), peer))


def _invalid_pooled(r: DogReactor) -> None:
    _replace(r, "is_valid", lambda tx: True)


def _invalid_forgotten(r: DogReactor) -> None:
    _replace(r, "refuse", lambda key: r.redundancy.count_first_time())


def _mutant(name: str, clause: str, edit: Edit, summary: str, protocol: str = "") -> Mutant:
    def apply(router: object) -> None:
        if not isinstance(router, DogReactor):
            raise TypeError(f"mutant {name} edits a mempool Reactor, not a {type(router).__name__}")
        edit(router)

    protocol = protocol or clause.split("/")[0]
    return Mutant(name=name, summary=summary, clause=clause, protocol=protocol, apply=apply)


_ALL = (
    _mutant("echo-to-sender", "flood/send.not-to-senders", _echo_to_sender,
            "Sends a transaction to those who sent it too."),
    _mutant("send-twice", "flood/send.once", _send_twice, "Forwards each new transaction twice."),
    _mutant("joiner-gets-nothing", "flood/peer.whole-pool", _joiner_gets_nothing,
            "Offers a new peer nothing of the present pool."),
    _mutant("forget-later-senders", "flood/receive.duplicate", _forget_later_senders,
            "Records the first sender of a transaction only."),
    _mutant("readmit-committed", "flood/receive.committed", _readmit_committed,
            "Takes a committed transaction for a new one."),
    _mutant("invalid-pooled", "flood/receive.invalid-dropped", _invalid_pooled,
            "Takes transactions that the application refuses."),
    _mutant("invalid-forgotten", "flood/receive.invalid-cached", _invalid_forgotten,
            "Forgets a transaction that the application refuses, so that its next copy is a first one.",
            "dog"),
    _mutant("commit-is-ignored", "flood/commit.leaves-pool", _commit_is_ignored,
            "Keeps a committed transaction in the pool."),
    _mutant("own-goes-to-one", "flood/submit.to-all", _own_goes_to_one,
            "Sends a user's transaction to one peer."),
    _mutant("pool-backwards", "flood/send.pool-order", _pool_backwards,
            "Offers a new peer the pool from its end."),
    _mutant("controls-among-txs", "dog/rpc.control-channel", _controls_among_txs,
            "Sends HaveTx and ResetRoute on the channel of transactions."),
    _mutant("last-sender", "dog/havetx.first-sender", _last_sender,
            "Cuts and filters by the last sender instead of the first."),
    _mutant("never-blocked", "dog/havetx.then-blocked", _never_blocked,
            "Answers every duplicate with HaveTx."),
    _mutant("starts-blocked", "dog/havetx.initially-allowed", _starts_blocked,
            "Sends no HaveTx before the first adjustment that finds too much."),
    _mutant("havetx-to-another", "dog/havetx.to-sender", _have_tx_to_another,
            "Sends HaveTx to another peer than the one who sent the duplicate."),
    _mutant("cut-all-senders", "dog/havetx.one-route", _cut_all_senders,
            "One HaveTx disables the routes of all senders."),
    _mutant("cut-the-other-way", "dog/havetx.target", _cut_the_other_way,
            "Disables the route from the one who said HaveTx to the first sender."),
    _mutant("route-of-the-dead", "dog/havetx.first-sender-gone", _route_of_the_dead,
            "Disables the route of a first sender that is no longer connected."),
    _mutant("havetx-is-a-duplicate", "dog/havetx.nothing-else", _havetx_is_a_duplicate,
            "Counts each HaveTx that it receives as a duplicate."),
    _mutant("own-is-filtered", "dog/send.own-unfiltered", _own_is_filtered,
            "Withholds a user's transaction from every peer with a disabled route."),
    _mutant("reset-all", "dog/reset.one", _reset_all, "One ResetRoute enables every route to its sender."),
    _mutant("reset-any-target", "dog/reset.own-target", _reset_any_target,
            "ResetRoute enables a route whoever its target is."),
    _mutant("reset-is-ignored", "dog/reset.one", _reset_is_ignored, "ResetRoute enables nothing."),
    _mutant("reset-resends", "dog/reset.not-retroactive", _reset_resends,
            "ResetRoute sends what was withheld."),
    _mutant("strict-upper", "dog/controller.unblock", _strict_upper,
            "Unblocks above the upper bound and not at it."),
    _mutant("counts-kept", "dog/controller.restart", _counts_kept, "Never sets the counters back."),
    _mutant("user-duplicates-uncounted", "dog/count.user-duplicate", _user_duplicates_uncounted,
            "Does not count a duplicate that a user submits."),
    _mutant("own-uncounted", "dog/count.first", _own_uncounted,
            "Does not count a user's transaction as first-time."),
    _mutant("none-new-is-low", "dog/controller.ratio", _none_new_is_low,
            "Takes duplicates alone for too little redundancy."),
    _mutant("idle-is-low", "dog/controller.idle", _idle_is_low, "Takes silence for too little redundancy."),
    _mutant("permission-withdrawn", "dog/controller.reset", _permission_withdrawn,
            "Too little redundancy blocks HaveTx again."),
    _mutant("reset-to-all", "dog/controller.reset", _reset_to_all, "Sends ResetRoute to every peer."),
    _mutant("never-resets", "dog/controller.reset", _never_resets, "Sends no ResetRoute."),
    _mutant("stale-target", "dog/peer.forget-routes", _stale_target,
            "Keeps the disabled routes to a lost peer."),
    _mutant("stale-source", "dog/peer.forget-routes", _stale_source,
            "Keeps the disabled routes from a lost peer."),
    _mutant("loss-is-quiet", "dog/peer.adjust-at-loss", _loss_is_quiet,
            "Does not run the controller when a peer is lost."),
    _mutant("ask-the-lost-too", "dog/peer.reset-not-to-lost", _ask_the_lost_too,
            "May send the ResetRoute at a loss to the peer just lost."),
    _mutant("mass-reset", "dog/peer.no-mass-reset", _mass_reset,
            "Sends ResetRoute to all when a peer is lost."),
)  # fmt: skip

DOG_MUTANTS: Mapping[str, Mutant] = MappingProxyType({mutant.name: mutant for mutant in _ALL})
"""By name, as in `ours:NAME`."""
