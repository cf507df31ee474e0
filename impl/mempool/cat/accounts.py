"""Accounts as a CAT node sees them: whose turn it is, and what waits for its turn."""

from __future__ import annotations

from attrs import define, field

from quidnunc.impl.wire.cat_codec import Account
from quidnunc.model.rpc import Peer

QUEUED_MS = 120_000
MAX_QUEUED = 10_000
"""Announcements that wait. Beyond it the oldest transaction is given up."""
MAX_SIGNERS = 100_000


@define(eq=False)
class WaitingAnnouncement:
    account: Account
    since_ms: dict[Peer, int] = field(factory=dict)


class SignerAccounts:
    """What the application has of each signer, what the pool has, and announcements ahead of their turn."""

    def __init__(self) -> None:
        self.next: dict[bytes, int] = {}
        """Signer -> the place that the application would take."""
        self.pooled: dict[bytes, set[int]] = {}
        self.queue: dict[bytes, WaitingAnnouncement] = {}
        """Key -> who announced it."""
        self.of: dict[bytes, Account] = {}
        """Key -> its account, of what was announced."""

    def expected(self, signer: bytes) -> int:
        """The first place that the pool has nothing for, from the application's on."""
        place, held = self.next.get(signer, 0), self.pooled.get(signer, ())
        while place in held:
            place += 1
        return place

    def ahead(self, account: Account) -> int:
        return account[1] - self.expected(account[0])

    def note(self, key: bytes, account: Account) -> None:
        if key not in self.of and len(self.of) >= MAX_SIGNERS:
            del self.of[next(iter(self.of))]
        self.of[key] = account

    def pool(self, account: Account) -> None:
        self.pooled.setdefault(account[0], set()).add(account[1])

    def drop(self, account: Account) -> None:
        """It left the pool."""
        places = self.pooled.get(account[0])
        if places is not None:
            places.discard(account[1])
            if not places:
                del self.pooled[account[0]]

    def take(self, account: Account) -> None:
        """A block took it."""
        self.drop(account)
        if account[0] not in self.next and len(self.next) >= MAX_SIGNERS:
            del self.next[next(iter(self.next))]
        self.next[account[0]] = account[1] + 1

    def wait(self, peer: Peer, key: bytes, account: Account, now_ms: int) -> None:
        if key not in self.queue and len(self.queue) >= MAX_QUEUED:
            del self.queue[next(iter(self.queue))]
        waiting = self.queue.setdefault(key, WaitingAnnouncement(account))
        if peer not in self.in_time(waiting, now_ms):
            waiting.since_ms[peer] = now_ms

    def in_time(self, waiting: WaitingAnnouncement, now_ms: int) -> list[Peer]:
        return sorted(p for p, at_ms in waiting.since_ms.items() if now_ms < at_ms + QUEUED_MS)

    def due(self, now_ms: int) -> list[tuple[bytes, list[Peer]]]:
        """What has its turn now, and who announced it; what is due or past waits no longer."""
        found = []
        for key in [k for k, each in self.queue.items() if self.ahead(each.account) <= 0]:
            waiting = self.queue.pop(key)
            if self.ahead(waiting.account) == 0:
                found.append((key, self.in_time(waiting, now_ms)))
        return found

    def forget_peer(self, peer: Peer) -> None:
        for key, waiting in tuple(self.queue.items()):
            waiting.since_ms.pop(peer, None)
            if not waiting.since_ms:
                del self.queue[key]
