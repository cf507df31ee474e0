"""Our CAT reactor, classic and current: transactions are announced by key and sent to those who ask.

No I/O, clock or thread. Each method does one thing that a clause speaks of, so that a mutant can replace just
that. Readings where text and code differ are the text's: a transaction that is known is not announced again,
and one that is in the pool is not asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from random import Random
from typing import Literal

from google.protobuf.message import DecodeError

from quidnunc.impl.mempool.cat.accounts import SignerAccounts
from quidnunc.impl.mempool.cat.requests import TransactionHolders, TransactionRequests
from quidnunc.impl.mempool.pool import PoolEntry, TransactionPool
from quidnunc.impl.wire import cat_pb2
from quidnunc.impl.wire.cat_codec import (
    MAX_SIGNER_BYTES,
    VERSIONS,
    Account,
    CatVersion,
    account_in,
    seen_tx,
    want_tx,
)
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import INVALID_TX, Peer

Kind = Literal["txs", "seen_tx", "want_tx"]

KEY_BYTES = 32
MOST_PERSISTENT = 4
OVERHEAD_BYTES = 32
CONTROL_BYTES = 160
"""The largest announcement: a key, a sequence and a signer."""


class CatReactor:
    """The mempool of one node. What it sends and whom it closes gather in `out` and `closed`."""

    def __init__(self, parameters: DogParameters, *, version: str, seed: int) -> None:
        self.parameters = parameters
        self.version: CatVersion = VERSIONS[version]
        self.random = Random(seed)
        self.links: dict[Peer, None] = {}
        self.pool = TransactionPool(parameters.pool_size, parameters.cache_size, parameters.max_pool_bytes)
        self.holders = TransactionHolders()
        self.announcers = TransactionHolders()
        """Of the holders, those that said so with a SeenTx: only they are asked."""
        self.requests = TransactionRequests(self.version.timeout_ms)
        self.accounts = SignerAccounts()
        self.salt = self.random.randbytes(8)
        self.now_ms = 0
        self.out: list[tuple[Peer, int, bytes]] = []
        self.closed: list[Peer] = []

    @property
    def peers(self) -> Collection[Peer]:
        return self.links.keys()

    # Peers and time.

    def connect(self, peer: Peer, *, with_dog: bool = True) -> None:
        self.links[peer] = None

    def lose(self, peer: Peer) -> None:
        """What it has is forgotten, and what it was asked for is asked of others."""
        del self.links[peer]
        self.forget(peer)
        for key in self.requests.forget_peer(peer):
            self.ask_elsewhere_at_loss(key)

    def forget(self, peer: Peer) -> None:
        self.holders.forget_peer(peer)
        self.announcers.forget_peer(peer)
        self.accounts.forget_peer(peer)

    def ask_elsewhere_at_loss(self, key: bytes) -> None:
        self.ask_elsewhere(key)

    def advance(self, ms: int) -> None:
        """Time passes; every request that becomes late on the way is made to another peer then."""
        end_ms = self.now_ms + ms
        while (due_ms := self.requests.next_due_ms()) is not None and due_ms <= end_ms:
            self.now_ms = due_ms
            for key in self.requests.late(due_ms):
                self.requests.give_up(key)
                self.on_late(key)
        self.now_ms = end_ms

    def on_late(self, key: bytes) -> None:
        self.ask_elsewhere(key)

    def stall(self, peer: Peer) -> None:
        raise RuntimeError("CAT says nothing of a peer that does not read")

    def resume(self, peer: Peer) -> None:
        raise RuntimeError("CAT says nothing of a peer that does not read")

    def adjust(self) -> None:
        raise RuntimeError("CAT has no controller")

    # Transactions.

    def admit(self, tx: bytes, source: Peer | None) -> None:
        """A transaction from a peer, or from a user where `source` is None."""
        key = hashlib.sha256(tx).digest()
        if source is not None:
            answers = self.requests.awaits(source, key, self.now_ms)
            self.holders.add(source, key)
            if not answers and not self.takes_unasked():
                return
        self.consider(key, tx, source)
        self.ask_in_turn()

    def consider(self, key: bytes, tx: bytes, source: Peer | None) -> None:
        """Take it, if it is new, has its turn, and is good."""
        if len(tx) > self.parameters.max_tx_bytes or not self.is_new(key):
            return
        if source is not None and self.is_stale(tx):
            self.requests.close(key)
        elif not self.is_valid(tx):
            self.pool.touch(key)
            self.requests.close(key)
        elif not self.pool.full:
            self.take(key, tx, source)

    def is_valid(self, tx: bytes) -> bool:
        """What the application says of it: here, by how it begins."""
        return not tx.startswith(INVALID_TX.encode())

    def takes_unasked(self) -> bool:
        return self.version.pushes

    def is_new(self, key: bytes) -> bool:
        """Neither in the pool nor lately in a block."""
        return not self.pool.known(key)

    def take(self, key: bytes, tx: bytes, source: Peer | None) -> None:
        """Pool it first: who is told may ask at once."""
        self.pool.touch(key)
        entry = self.pool.add(key, tx)
        self.accounts.note(key, account_in(tx))
        self.accounts.pool(account_in(tx))
        self.requests.close(key)
        if source is None and self.version.pushes:
            self.push(entry)
        else:
            self.announce(entry)

    def push(self, entry: PoolEntry) -> None:
        for peer in self.lacking(entry.key):
            self.send_tx(peer, entry)

    def announce(self, entry: PoolEntry) -> None:
        """To all who lack it; in the current version to some, who then count as having it."""
        peers = self.lacking(entry.key)
        if not self.version.bounded:
            self.send(peers, self.version.state_channel, self.announcement(entry.key))
            return
        told = self.ranked(entry.key, peers)[: self.most_announced()]
        told += self.persistent(peer for peer in peers if peer not in told)
        self.send(told, self.version.state_channel, self.announcement(entry.key))
        for peer in told:
            self.holders.add(peer, entry.key)

    def ranked(self, key: bytes, peers: list[Peer]) -> list[Peer]:
        """By the hash of signer, peer and a salt of this node: for one signer always in the same order."""
        signer = self.accounts.of[key][0]

        def weight(peer: Peer) -> bytes:
            return hashlib.sha256(self.salt + signer + peer.to_bytes(8, "big")).digest()

        return sorted(peers, key=weight, reverse=True)

    def persistent(self, peers: Iterable[Peer]) -> list[Peer]:
        """As many of those of `peers` as are told besides."""
        return [peer for peer in peers if peer in self.parameters.persistent_peers][:MOST_PERSISTENT]

    def is_stale(self, tx: bytes) -> bool:
        """Whether another has had its turn."""
        return self.version.signed and self.accounts.ahead(account_in(tx)) < 0

    def most_announced(self) -> int:
        return self.parameters.max_announced_peers

    def announcement(self, key: bytes) -> bytes:
        return seen_tx(key, signed=self.version.signed, account=self.accounts.of.get(key))

    def lacking(self, key: bytes) -> list[Peer]:
        """The peers that are not known to have it."""
        return [peer for peer in self.links if not self.holders.has(peer, key)]

    def send_tx(self, peer: Peer, entry: PoolEntry) -> None:
        self.send([peer], self.version.tx_channel, entry.wire)
        self.note_sent(peer, entry.key)

    def note_sent(self, peer: Peer, key: bytes) -> None:
        """Who was sent it has it."""
        self.holders.add(peer, key)

    def commit(self, tx: bytes) -> bool:
        """A block took `tx`: it stays known, and who has it is of no more interest."""
        key = hashlib.sha256(tx).digest()
        self.holders.forget_key(key)
        self.announcers.forget_key(key)
        if self.pool.get(key) is not None:
            self.accounts.take(account_in(tx))
        return self.pool.remove(key)

    def evict(self, key: bytes) -> None:
        """Out of the pool and out of mind, because room or time ran out: it may come again."""
        if key in self.accounts.of:
            self.accounts.drop(self.accounts.of[key])
        self.pool.forget(key)

    def send(self, peers: Iterable[Peer], channel: int, data: bytes) -> None:
        self.out += [(peer, channel, data) for peer in peers]

    # Announcements and requests.

    def seen(self, peer: Peer, key: bytes) -> None:
        """`peer` says that it has a transaction: ask for it, unless it is known or asked for already."""
        if self.note_announcer(peer, key) and self.is_wanted(peer, key):
            self.ask(peer, key)

    def seen_in_turn(self, peer: Peer, key: bytes, account: Account) -> None:
        """As `seen`, of a transaction whose turn has come, will come, or has passed."""
        self.accounts.note(key, account)
        ahead = self.accounts.ahead(account)
        if not self.note_announcer(peer, key) or self.has_passed(ahead) or not self.is_wanted(peer, key):
            return
        if self.must_wait(ahead):
            self.accounts.wait(peer, key, account, self.now_ms)
        else:
            self.ask(peer, key)

    def has_passed(self, ahead: int) -> bool:
        return ahead < 0

    def must_wait(self, ahead: int) -> bool:
        return ahead > 0

    def ask_in_turn(self) -> None:
        """What waited for its turn and has it now is asked for."""
        for key, peers in self.accounts.due(self.now_ms):
            if peers and self.is_new(key) and not self.requests.is_open(key):
                self.ask(self.random.choice(peers), key)

    def note_announcer(self, peer: Peer, key: bytes) -> bool:
        return self.holders.add(peer, key) and self.announcers.add(peer, key)

    def is_wanted(self, peer: Peer, key: bytes) -> bool:
        if not self.is_new(key) or self.requests.is_open(key):
            return False
        return not (self.version.asks_once and self.requests.awaits(peer, key, self.now_ms))

    def ask(self, peer: Peer, key: bytes) -> None:
        self.requests.open(key, peer, self.now_ms)
        self.send([peer], self.version.want_channel, want_tx(key))

    def ask_elsewhere(self, key: bytes) -> None:
        sources = self.sources(key)
        if sources:
            self.ask(self.random.choice(sources), key)

    def sources(self, key: bytes) -> list[Peer]:
        """Who else announced it, and has not been asked."""
        account = self.accounts.of.get(key)
        if self.version.signed and account is not None and self.has_passed(self.accounts.ahead(account)):
            return []
        asked = self.requests.awaits
        return sorted(peer for peer in self.announcers.of(key) if not asked(peer, key, self.now_ms))

    def want(self, peer: Peer, key: bytes) -> None:
        """Serve what there is; of what there is not, nothing is said."""
        entry = self.pool.get(key)
        if entry is not None:
            self.send_tx(peer, entry)

    # Messages in.

    def receive(self, peer: Peer, channel: int, data: bytes) -> None:
        """One message; one that cannot be of that channel closes the connection."""
        if not self.understands(peer, channel, data):
            self.closed.append(peer)
            self.lose(peer)

    def understands(self, peer: Peer, channel: int, data: bytes) -> bool:
        """Handle the message, or say that it is none."""
        carries_txs = channel in self.version.channels_of("txs")
        if len(data) > (self.parameters.max_tx_bytes + OVERHEAD_BYTES if carries_txs else CONTROL_BYTES):
            return False
        try:
            message = cat_pb2.Message.FromString(data)
        except DecodeError:
            return False
        kind = message.WhichOneof("sum")
        if kind is None or channel not in self.version.channels_of(kind):
            return False
        if kind == "txs":
            return self.on_txs(peer, list(message.txs.txs))
        if kind == "seen_tx":
            return self.on_seen_tx(peer, message.seen_tx)
        return self.on_want_tx(peer, message.want_tx.tx_key)

    def on_txs(self, peer: Peer, txs: list[bytes]) -> bool:
        if not self.version.pushes and (len(txs) != 1 or not txs[0]):
            return False
        for tx in txs:
            self.admit(tx, peer)
        return True

    def on_seen_tx(self, peer: Peer, said: cat_pb2.SeenTx) -> bool:
        if len(said.tx_key) != KEY_BYTES:
            return False
        if self.version.signed and not 0 < len(said.signer) <= MAX_SIGNER_BYTES:
            return False
        if self.version.signed:
            self.seen_in_turn(peer, said.tx_key, (said.signer, said.sequence))
        else:
            self.seen(peer, said.tx_key)
        return True

    def on_want_tx(self, peer: Peer, key: bytes) -> bool:
        if len(key) != KEY_BYTES:
            return False
        self.want(peer, key)
        return True

    def state(self) -> dict[str, object]:
        """Keys in hexadecimal, in the order of the pool; whom is waited for."""
        return {
            "peers": sorted(self.links),
            "pool": [entry.key.hex() for entry in self.pool],
            "holders": {entry.key.hex(): sorted(self.holders.of(entry.key)) for entry in self.pool},
            "wanted": {key.hex(): request.of for key, request in self.requests},
        }
