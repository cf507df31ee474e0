"""Planted departures of our CAT reactor, each one edit at one seam.

A claim is accepted only with a mutant here that it kills. Nothing of the reactor knows of them.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Mapping

from quidnunc.impl.mempool.cat.reactor import CatReactor
from quidnunc.impl.mempool.pool import PoolEntry
from quidnunc.impl.mutant import Usual, around, nothing, patch, put
from quidnunc.impl.mutants.table import Edit, read_mutants
from quidnunc.impl.wire.cat_codec import seen_tx, want_tx
from quidnunc.model.rpc import Peer

# Transactions and announcements.


def _sender_unrecorded(r: CatReactor, admit: Usual, tx: bytes, source: Peer | None) -> None:
    add = r.holders.add
    if source is not None:
        patch(r.holders, "add", lambda peer, key: True)
    admit(tx, source)
    patch(r.holders, "add", add)


def _announces_again(r: CatReactor, admit: Usual, tx: bytes, source: Peer | None) -> None:
    known = r.pool.get(hashlib.sha256(tx).digest())
    admit(tx, source)
    if known is not None and source is not None:
        r.announce(known)


def _own_is_pushed(r: CatReactor) -> None:
    take, announce = r.take, r.announce

    def pushed(key: bytes, tx: bytes, source: Peer | None) -> None:
        patch(r, "announce", r.push if source is None else announce)
        take(key, tx, source)

    patch(r, "take", pushed)


def _announces_unstored(r: CatReactor, take: Usual, key: bytes, tx: bytes, source: Peer | None) -> None:
    entry = PoolEntry(key, tx, r.pool.end)
    r.pool.touch(key)
    r.requests.close(key)
    if source is None and r.version.pushes:
        r.push(entry)
    else:
        r.announce(entry)


def _announces_to_one(r: CatReactor, announce: Usual, entry: PoolEntry) -> None:
    since = len(r.out)
    announce(entry)
    del r.out[since + 1 :]


def _keeps_to_the_letter(r: CatReactor) -> None:
    take = r.take

    def told(key: bytes, tx: bytes, source: Peer | None) -> None:
        patch(r, "lacking", lambda key: [peer for peer in r.links if peer != source])
        take(key, tx, source)

    patch(r, "take", told)


# Requests.


def _asks_for_the_committed(r: CatReactor, wanted: Usual, peer: Peer, key: bytes) -> object:
    return (r.pool.get(key) is None and r.pool.known(key)) or wanted(peer, key)


def _serves_once(r: CatReactor) -> None:
    served: set[tuple[Peer, bytes]] = set()
    want = r.want

    def once(peer: Peer, key: bytes) -> None:
        if (peer, key) not in served and len(served) < 1000:
            want(peer, key)
            served.add((peer, key))

    patch(r, "want", once)


def _waits_too_long(r: CatReactor) -> None:
    r.requests.timeout_ms *= 2


def _waits_a_moment(r: CatReactor) -> None:
    r.requests.timeout_ms = 200


def _asks_anybody(r: CatReactor, sources: Usual, key: bytes) -> list[Peer]:
    return sorted(peer for peer in r.links if not r.requests.awaits(peer, key, r.now_ms))


def _asks_holders(r: CatReactor, sources: Usual, key: bytes) -> list[Peer]:
    announcers = r.announcers
    r.announcers = r.holders
    found: list[Peer] = sources(key)
    r.announcers = announcers
    return found


# Accounts.


def _all_persistent_told(r: CatReactor, persistent: Usual, peers: Iterable[Peer]) -> list[Peer]:
    return [peer for peer in peers if peer in r.parameters.persistent_peers]


# Bytes.


def _wants_on_the_data_channel(r: CatReactor, ask: Usual, peer: Peer, key: bytes) -> None:
    r.requests.open(key, peer, r.now_ms)
    r.send([peer], 0x30, want_tx(key))


def _any_number_taken(r: CatReactor, on_txs: Usual, peer: Peer, txs: list[bytes]) -> bool:
    for tx in txs:
        r.admit(tx, peer)
    return True


def _passes_requests_on(r: CatReactor, want: Usual, peer: Peer, key: bytes) -> None:
    want(peer, key)
    if r.pool.get(key) is None:
        r.send([p for p in r.links if p != peer], r.version.want_channel, want_tx(key))


def _tells_of_the_committed(r: CatReactor) -> None:
    commit, connect = r.commit, r.connect
    gone: deque[bytes] = deque(maxlen=10)

    def kept(tx: bytes) -> bool:
        gone.append(hashlib.sha256(tx).digest())
        return commit(tx)

    def told(peer: Peer) -> None:
        connect(peer)
        for key in gone:
            r.send([peer], r.version.state_channel, r.announcement(key))

    patch(r, "commit", kept)
    patch(r, "connect", told)


_EDITS: Mapping[str, Edit[CatReactor]] = {
    "cat-sender-unrecorded": around("admit", _sender_unrecorded),
    "cat-announces-again": around("admit", _announces_again),
    "cat-takes-unasked": put("takes_unasked", lambda: True),
    "cat-own-is-announced": around("push", lambda r, push, entry: r.announce(entry)),
    "cat-own-is-pushed": _own_is_pushed,
    "cat-announces-unstored": around("take", _announces_unstored),
    "cat-announces-to-one": around("announce", _announces_to_one),
    "cat-announces-to-holders": around("lacking", lambda r, lacking, key: list(r.links)),
    "cat-announces-by-the-letter": _keeps_to_the_letter,
    "cat-announces-without-bound": around("most_announced", lambda r, usual: len(r.links)),
    "cat-announcer-unrecorded": put("note_announcer", lambda peer, key: True),
    "cat-never-asks": put("is_wanted", lambda peer, key: False),
    "cat-asks-for-what-it-has": around(
        "is_wanted", lambda r, wanted, peer, key: r.pool.get(key) is not None or wanted(peer, key)
    ),
    "cat-asks-for-the-committed": around("is_wanted", _asks_for_the_committed),
    "cat-asks-each-announcer": put("requests.is_open", lambda key: False),
    "cat-asks-twice": around(
        "is_wanted", lambda r, wanted, peer, key: r.is_new(key) and not r.requests.is_open(key)
    ),
    "cat-never-serves": put("want", nothing),
    "cat-serves-once": _serves_once,
    "cat-waits-for-ever": put("on_late", nothing),
    "cat-waits-too-long": _waits_too_long,
    "cat-waits-a-moment": _waits_a_moment,
    "cat-asks-anybody": around("sources", _asks_anybody),
    "cat-asks-holders": around("sources", _asks_holders),
    "cat-asks-the-same": around("sources", lambda r, sources, key: sorted(r.announcers.of(key))),
    "cat-holders-outlive-connections": put("forget", nothing),
    "cat-loss-is-final": put("ask_elsewhere_at_loss", nothing),
    "cat-stale-taken": put("is_stale", lambda tx: False),
    "cat-asks-for-the-past": put("has_passed", lambda ahead: False),
    "cat-asks-out-of-turn": put("must_wait", lambda ahead: False),
    "cat-forgets-the-queue": put("ask_in_turn", nothing),
    "cat-expects-by-blocks": around(
        "accounts.expected", lambda r, expected, signer: r.accounts.next.get(signer, 0)
    ),
    "cat-ranks-shuffled": around("ranked", lambda r, ranked, key, peers: r.random.sample(peers, len(peers))),
    "cat-all-persistent-told": around("persistent", _all_persistent_told),
    "cat-wants-on-data-channel": around("ask", _wants_on_the_data_channel),
    "cat-keys-cut": around("announcement", lambda r, usual, key: seen_tx(key[:31], signed=r.version.signed)),
    "cat-signer-left-out": around("announcement", lambda r, usual, key: seen_tx(key, signed=False)),
    "cat-any-number-taken": around("on_txs", _any_number_taken),
    "cat-passes-requests-on": around("want", _passes_requests_on),
    "cat-tells-of-the-committed": _tells_of_the_committed,
}

CAT_MUTANTS = read_mutants(__file__, CatReactor, _EDITS)
"""By name, as in `ours:NAME`."""
