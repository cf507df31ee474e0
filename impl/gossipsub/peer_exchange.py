"""Peer exchange of our router: whom it offers with a PRUNE, and whom it dials. gossipsub v1.1.

"PRUNE Backoff and Peer Exchange". It has no records of others to pass on, which the text permits, and dials
nobody without one: where to is in the record.
"""

from __future__ import annotations

from collections.abc import Iterable

from quidnunc.impl.gossipsub.core import RouterCore
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.keys import peer_id, peer_of
from quidnunc.impl.wire.signed_records import is_valid
from quidnunc.model.rpc import Peer

MAX_PENDING = 128
"""Peers that are being dialled; beyond it the oldest is given up."""
NUMBERED = 256
"""Peers whose ids this router knows the numbers of, whether or not anybody in its process has named them."""


class PeerExchange:
    """Does nothing where `prune_peers` is 0."""

    def __init__(self, core: RouterCore) -> None:
        self.core = core
        self.dials: list[Peer] = []
        self.pending: dict[Peer, None] = {}

    @property
    def limit(self) -> int:
        return self.core.parameters.prune_peers if self.core.features.hardened else 0

    # -- offering ----------------------------------------------------------------------------------------

    def offered_to(self, peer: Peer, topic: str) -> list[Peer]:
        """Some of the topic, for one that is pruned because the mesh is too large."""
        if not self.limit or not self.may_be_told(peer):
            return []
        others = {p for p in self.core.members(topic) - {peer} if self.may_be_named(p)}
        return sorted(self.core.some(others, self.limit))

    def may_be_told(self, peer: Peer) -> bool:
        return self.core.score(peer) >= 0 and self.core.neighbours[peer].knows_backoff

    def may_be_named(self, peer: Peer) -> bool:
        return self.core.score(peer) >= 0

    # -- being offered -----------------------------------------------------------------------------------

    def on_offer(self, peer: Peer, offered: Iterable[wire.PeerInfo]) -> None:
        """A member that prunes us knows others."""
        if not self.limit or not self.is_trusted(peer):
            return
        for info in list(offered)[: self.limit]:
            found = _number_of(info.peerID)
            if found is not None and self.has_address(info) and self.is_new(found):
                self.pending[found] = None
                self.dials.append(found)
        while len(self.pending) > MAX_PENDING:
            del self.pending[next(iter(self.pending))]

    def is_trusted(self, peer: Peer) -> bool:
        score = self.core.score(peer)
        return score >= 0 and score >= self.core.parameters.accept_px_threshold

    def has_address(self, info: wire.PeerInfo) -> bool:
        return bool(info.signedPeerRecord) and self.is_sound(info)

    def is_sound(self, info: wire.PeerInfo) -> bool:
        return is_valid(info.signedPeerRecord, info.peerID)

    def is_new(self, peer: Peer) -> bool:
        return peer != self.core.own and peer not in self.core.neighbours and peer not in self.pending

    def connected(self, peer: Peer) -> None:
        self.pending.pop(peer, None)


def _number_of(identity: bytes) -> Peer | None:
    found = peer_of(identity)
    if found is None:
        for number in range(1, NUMBERED + 1):
            peer_id(number)
        found = peer_of(identity)
    return found
