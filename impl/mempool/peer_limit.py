"""The slots of a node that sends transactions to a limited number of peers, in two classes."""

from __future__ import annotations

from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import Peer


class PeerSlots:
    """Who is sent transactions. Without limits that is everybody."""

    def __init__(self, parameters: DogParameters) -> None:
        self._parameters = parameters
        self._holding: dict[Peer, None] = {}
        self._waiting: dict[Peer, None] = {}

    def enter(self, peer: Peer) -> bool:
        """A peer connects; whether it is sent transactions from now on."""
        if self.needs_slot(peer) and not self.has_free(peer):
            self._waiting[peer] = None
            return False
        self._holding[peer] = None
        return True

    def leave(self, peer: Peer) -> Peer | None:
        """A peer is gone; the one that has waited longest for such a slot gets it, and is named."""
        self._waiting.pop(peer, None)
        if peer not in self._holding:
            return None
        del self._holding[peer]
        return self.next_waiting(peer) if self.needs_slot(peer) else None

    def next_waiting(self, lost: Peer) -> Peer | None:
        chosen = next((p for p in self._waiting if self.kind_of(p) == self.kind_of(lost)), None)
        if chosen is not None:
            del self._waiting[chosen]
            self._holding[chosen] = None
        return chosen

    def holds(self, peer: Peer) -> bool:
        return peer in self._holding

    def is_unconditional(self, peer: Peer) -> bool:
        return peer in self._parameters.unconditional_peers

    def needs_slot(self, peer: Peer) -> bool:
        return self.limit_of(peer) > 0 and not self.is_unconditional(peer)

    def kind_of(self, peer: Peer) -> str:
        return "persistent" if peer in self._parameters.persistent_peers else "other"

    def limit_of(self, peer: Peer) -> int:
        p = self._parameters
        return p.max_persistent if self.kind_of(peer) == "persistent" else p.max_non_persistent

    def has_free(self, peer: Peer) -> bool:
        """Whether a slot of the peer's class is free."""
        kind = self.kind_of(peer)
        taken = [p for p in self._holding if self.needs_slot(p) and self.kind_of(p) == kind]
        return len(taken) < self.limit_of(peer)

    def oldest(self, peer: Peer) -> Peer | None:
        """Of the peers of that class that hold a slot, the one that has held it longest."""
        kind = self.kind_of(peer)
        return next((p for p in self._holding if self.needs_slot(p) and self.kind_of(p) == kind), None)

    def displace(self, peer: Peer) -> None:
        """Let a peer wait that has a slot."""
        self._holding.pop(peer, None)
        self._waiting[peer] = None
