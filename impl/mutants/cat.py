"""Planted departures of our CAT reactor, each one edit at one seam.

A claim is accepted only with a mutant here that it kills. Nothing of the reactor knows of them.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType

from quidnunc.impl.mempool.cat.reactor import CatReactor
from quidnunc.impl.mempool.pool import PoolEntry
from quidnunc.impl.mutant import Mutant, patch
from quidnunc.impl.wire.cat_codec import seen_tx, want_tx
from quidnunc.model.rpc import Peer

Edit = Callable[[CatReactor], None]


def _nothing(*_: object) -> None:
    return None


# Transactions and announcements.


def _sender_unrecorded(r: CatReactor) -> None:
    admit, add = r.admit, r.holders.add

    def unrecorded(tx: bytes, source: Peer | None) -> None:
        if source is not None:
            patch(r.holders, "add", lambda peer, key: True)
        admit(tx, source)
        patch(r.holders, "add", add)

    patch(r, "admit", unrecorded)


def _announces_again(r: CatReactor) -> None:
    admit = r.admit

    def again(tx: bytes, source: Peer | None) -> None:
        known = r.pool.get(hashlib.sha256(tx).digest())
        admit(tx, source)
        if known is not None and source is not None:
            r.announce(known)

    patch(r, "admit", again)


def _takes_unasked(r: CatReactor) -> None:
    patch(r, "takes_unasked", lambda: True)


def _own_is_announced(r: CatReactor) -> None:
    patch(r, "push", r.announce)


def _own_is_pushed(r: CatReactor) -> None:
    take, announce = r.take, r.announce

    def pushed(key: bytes, tx: bytes, source: Peer | None) -> None:
        patch(r, "announce", r.push if source is None else announce)
        take(key, tx, source)

    patch(r, "take", pushed)


def _announces_unstored(r: CatReactor) -> None:
    def unstored(key: bytes, tx: bytes, source: Peer | None) -> None:
        entry = PoolEntry(key, tx, r.pool.end)
        r.pool.touch(key)
        r.requests.close(key)
        if source is None and r.version.pushes:
            r.push(entry)
        else:
            r.announce(entry)

    patch(r, "take", unstored)


def _announces_to_one(r: CatReactor) -> None:
    announce = r.announce

    def narrow(entry: PoolEntry) -> None:
        since = len(r.out)
        announce(entry)
        del r.out[since + 1 :]

    patch(r, "announce", narrow)


def _announces_to_holders(r: CatReactor) -> None:
    patch(r, "lacking", lambda key: list(r.links))


def _announces_without_bound(r: CatReactor) -> None:
    patch(r, "most_announced", lambda: len(r.links))


# Requests.


def _announcer_unrecorded(r: CatReactor) -> None:
    patch(r, "note_announcer", lambda peer, key: True)


def _never_asks(r: CatReactor) -> None:
    patch(r, "is_wanted", lambda peer, key: False)


def _asks_for_what_it_has(r: CatReactor) -> None:
    wanted = r.is_wanted
    patch(r, "is_wanted", lambda peer, key: r.pool.get(key) is not None or wanted(peer, key))


def _asks_for_the_committed(r: CatReactor) -> None:
    def gone(key: bytes) -> bool:
        return r.pool.get(key) is None and r.pool.known(key)

    wanted = r.is_wanted
    patch(r, "is_wanted", lambda peer, key: gone(key) or wanted(peer, key))


def _asks_each_announcer(r: CatReactor) -> None:
    patch(r.requests, "is_open", lambda key: False)


def _asks_twice(r: CatReactor) -> None:
    def wanted(peer: Peer, key: bytes) -> bool:
        return r.is_new(key) and not r.requests.is_open(key)

    patch(r, "is_wanted", wanted)


def _never_serves(r: CatReactor) -> None:
    patch(r, "want", _nothing)


def _serves_once(r: CatReactor) -> None:
    served: set[tuple[Peer, bytes]] = set()
    want = r.want

    def once(peer: Peer, key: bytes) -> None:
        if (peer, key) not in served and len(served) < 1000:
            want(peer, key)
            served.add((peer, key))

    patch(r, "want", once)


def _waits_for_ever(r: CatReactor) -> None:
    patch(r, "on_late", _nothing)


def _waits_too_long(r: CatReactor) -> None:
    r.requests.timeout_ms *= 2


def _waits_a_moment(r: CatReactor) -> None:
    r.requests.timeout_ms = 200


def _asks_anybody(r: CatReactor) -> None:
    def anybody(key: bytes) -> list[Peer]:
        return sorted(peer for peer in r.links if not r.requests.awaits(peer, key, r.now_ms))

    patch(r, "sources", anybody)


def _asks_the_same(r: CatReactor) -> None:
    patch(r, "sources", lambda key: sorted(r.holders.of(key)))


# Peers.


def _holders_outlive_connections(r: CatReactor) -> None:
    patch(r, "forget", _nothing)


def _loss_is_final(r: CatReactor) -> None:
    patch(r, "ask_elsewhere_at_loss", _nothing)


# Accounts.


def _stale_taken(r: CatReactor) -> None:
    patch(r, "is_stale", lambda tx: False)


def _asks_for_the_past(r: CatReactor) -> None:
    patch(r, "has_passed", lambda ahead: False)


def _asks_out_of_turn(r: CatReactor) -> None:
    patch(r, "must_wait", lambda ahead: False)


def _forgets_the_queue(r: CatReactor) -> None:
    patch(r, "ask_in_turn", _nothing)


def _expects_by_blocks(r: CatReactor) -> None:
    patch(r.accounts, "expected", lambda signer: r.accounts.next.get(signer, 0))


def _ranks_shuffled(r: CatReactor) -> None:
    patch(r, "ranked", lambda key, peers: r.random.sample(peers, len(peers)))


def _all_persistent_told(r: CatReactor) -> None:
    kept = r.parameters.persistent_peers
    patch(r, "persistent", lambda peers: [peer for peer in peers if peer in kept])


# Bytes.


def _wants_on_the_data_channel(r: CatReactor) -> None:
    def ask(peer: Peer, key: bytes) -> None:
        r.requests.open(key, peer, r.now_ms)
        r.send([peer], 0x30, want_tx(key))

    patch(r, "ask", ask)


def _keys_cut(r: CatReactor) -> None:
    patch(r, "announcement", lambda key: seen_tx(key[:31], signed=r.version.signed))


def _signer_left_out(r: CatReactor) -> None:
    patch(r, "announcement", lambda key: seen_tx(key, signed=False))


def _any_number_taken(r: CatReactor) -> None:
    def each(peer: Peer, txs: list[bytes]) -> bool:
        for tx in txs:
            r.admit(tx, peer)
        return True

    patch(r, "on_txs", each)


def _passes_requests_on(r: CatReactor) -> None:
    want = r.want

    def passed_on(peer: Peer, key: bytes) -> None:
        want(peer, key)
        if r.pool.get(key) is None:
            r.send([p for p in r.links if p != peer], r.version.want_channel, want_tx(key))

    patch(r, "want", passed_on)


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


def _mutant(name: str, protocol: str, clause: str, edit: Edit, summary: str) -> Mutant:
    def apply(router: object) -> None:
        if not isinstance(router, CatReactor):
            raise TypeError(f"mutant {name} edits a CatReactor, not a {type(router).__name__}")
        edit(router)

    return Mutant(name=name, summary=summary, clause=clause, protocol=protocol, apply=apply)


_CLASSIC, _CURRENT = "cat-classic", "cat"

_ALL = (
    _mutant("cat-sender-unrecorded", _CLASSIC, "cat-classic/receive.request-marked", _sender_unrecorded,
            "Does not record that the sender of a transaction has it."),
    _mutant("cat-announces-again", _CLASSIC, "cat-classic/receive.new-only", _announces_again,
            "Announces a transaction again when another copy of it comes."),
    _mutant("cat-takes-unasked", _CURRENT, "cat/receive.unrequested", _takes_unasked,
            "Takes a transaction that it has not asked for."),
    _mutant("cat-own-is-announced", _CLASSIC, "cat-classic/submit.push", _own_is_announced,
            "Announces a user's transaction and does not push it."),
    _mutant("cat-own-is-pushed", _CURRENT, "cat/submit.announced", _own_is_pushed,
            "Pushes a user's transaction and does not announce it."),
    _mutant("cat-announces-unstored", _CLASSIC, "cat-classic/receive.announce-after", _announces_unstored,
            "Announces transactions and does not store them."),
    _mutant("cat-announces-to-one", _CLASSIC, "cat-classic/receive.announce", _announces_to_one,
            "Announces a transaction to one peer."),
    _mutant("cat-announces-to-holders", _CLASSIC, "cat-classic/receive.announce", _announces_to_holders,
            "Announces a transaction to those who have it too."),
    _mutant("cat-announces-without-bound", _CURRENT, "cat/announce.sticky", _announces_without_bound,
            "Announces a transaction to all peers, however many."),
    _mutant("cat-announcer-unrecorded", _CLASSIC, "cat-classic/seen.recorded", _announcer_unrecorded,
            "Does not record that an announcer has the transaction."),
    _mutant("cat-never-asks", _CLASSIC, "cat-classic/seen.request", _never_asks,
            "Does not ask for what is announced."),
    _mutant("cat-asks-for-what-it-has", _CLASSIC, "cat-classic/seen.ignored", _asks_for_what_it_has,
            "Asks for transactions of its own pool."),
    _mutant("cat-asks-for-the-committed", _CLASSIC, "cat-classic/seen.ignored", _asks_for_the_committed,
            "Asks for transactions that a block has taken."),
    _mutant("cat-asks-each-announcer", _CLASSIC, "cat-classic/want.one-outstanding", _asks_each_announcer,
            "Asks every announcer of a transaction at once."),
    _mutant("cat-asks-twice", _CURRENT, "cat/want.not-again", _asks_twice,
            "Asks a peer again that has not answered and announces again."),
    _mutant("cat-never-serves", _CLASSIC, "cat-classic/want.answered", _never_serves,
            "Sends nothing to those who ask."),
    _mutant("cat-serves-once", _CLASSIC, "cat-classic/want.answered", _serves_once,
            "Sends a transaction once to each peer that asks."),
    _mutant("cat-waits-for-ever", _CLASSIC, "cat-classic/want.timeout", _waits_for_ever,
            "Asks nobody else when a peer does not answer."),
    _mutant("cat-waits-too-long", _CLASSIC, "cat-classic/want.timeout", _waits_too_long,
            "Waits twice as long for an answer."),
    _mutant("cat-waits-a-moment", _CURRENT, "cat/want.per-peer", _waits_a_moment,
            "Waits 200 ms for an answer, as the classic version does."),
    _mutant("cat-asks-anybody", _CLASSIC, "cat-classic/want.after-seen", _asks_anybody,
            "Asks a peer that has not announced the transaction when another does not answer."),
    _mutant("cat-asks-the-same", _CLASSIC, "cat-classic/want.timeout", _asks_the_same,
            "Asks a peer again that has not answered."),
    _mutant("cat-holders-outlive-connections", _CLASSIC, "cat-classic/state.per-connection",
            _holders_outlive_connections, "Remembers what a peer has beyond its connection."),
    _mutant("cat-loss-is-final", _CLASSIC, "cat-classic/peer.gone", _loss_is_final,
            "Asks nobody else for what was asked of a lost peer."),
    _mutant("cat-stale-taken", _CURRENT, "cat/receive.stale", _stale_taken,
            "Takes a transaction though another one has had its turn."),
    _mutant("cat-asks-for-the-past", _CURRENT, "cat/seen.stale", _asks_for_the_past,
            "Asks for transactions whose turn has passed."),
    _mutant("cat-asks-out-of-turn", _CURRENT, "cat/seen.queued", _asks_out_of_turn,
            "Asks for transactions ahead of their turn."),
    _mutant("cat-forgets-the-queue", _CURRENT, "cat/seen.request-expected", _forgets_the_queue,
            "Does not ask for what has waited for its turn."),
    _mutant("cat-expects-by-blocks", _CURRENT, "cat/seen.expectation", _expects_by_blocks,
            "Expects of a signer what blocks leave open, whatever is in the pool."),
    _mutant("cat-ranks-shuffled", _CURRENT, "cat/announce.rendezvous", _ranks_shuffled,
            "Tells other peers of each transaction of a signer."),
    _mutant("cat-all-persistent-told", _CURRENT, "cat/announce.persistent", _all_persistent_told,
            "Tells all its persistent peers, however many."),
    _mutant("cat-wants-on-data-channel", _CLASSIC, "cat-classic/rpc.channels", _wants_on_the_data_channel,
            "Sends its requests on the channel of transactions."),
    _mutant("cat-keys-cut", _CLASSIC, "cat-classic/rpc.key-length", _keys_cut,
            "Names transactions by 31 bytes."),
    _mutant("cat-signer-left-out", _CURRENT, "cat/seen.signer", _signer_left_out,
            "Names no signer in its announcements."),
    _mutant("cat-any-number-taken", _CURRENT, "cat/receive.malformed", _any_number_taken,
            "Takes messages of several transactions, and of none."),
    _mutant("cat-passes-requests-on", _CLASSIC, "cat-classic/want.not-found", _passes_requests_on,
            "Passes a request for what it does not have on to its other peers."),
    _mutant("cat-tells-of-the-committed", _CLASSIC, "cat-classic/peer.pool-announced",
            _tells_of_the_committed, "Tells a new peer of transactions that a block has taken."),
)  # fmt: skip

CAT_MUTANTS: Mapping[str, Mutant] = MappingProxyType({mutant.name: mutant for mutant in _ALL})
"""By name, as in `ours:NAME`."""
