"""The routes that neighbours asked a node to stop using: pairs of a source and a target."""

from __future__ import annotations

from collections.abc import Set
from random import Random

from quidnunc.model.rpc import Peer

NOBODY: frozenset[Peer] = frozenset()


class RouteTable:
    """A disabled route (source, target): what `source` sent first is not passed on to `target`.

    It holds at most one entry for each ordered pair of connected peers, as long as both ends of a lost peer
    are forgotten.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._targets: dict[Peer, set[Peer]] = {}

    def disable(self, source: Peer, target: Peer) -> None:
        self._targets.setdefault(source, set()).add(target)

    def targets(self, source: Peer) -> Set[Peer]:
        """Who does not get what came first from `source`."""
        return self._targets.get(source, NOBODY)

    def sources(self, target: Peer) -> list[Peer]:
        """The sources that are cut off from `target`, ascending."""
        return sorted(source for source, targets in self._targets.items() if target in targets)

    def free_one(self, target: Peer) -> None:
        """Enable one route to `target` again, each as likely as the next; without one, do nothing."""
        sources = self.sources(target)
        if sources:
            self.enable(self._random.choice(sources), target)

    def enable(self, source: Peer, target: Peer) -> None:
        self._targets[source].discard(target)

    def forget_source(self, peer: Peer) -> None:
        self._targets.pop(peer, None)

    def forget_target(self, peer: Peer) -> None:
        for targets in self._targets.values():
            targets.discard(peer)

    def pairs(self) -> list[tuple[Peer, Peer]]:
        """All disabled routes, in order."""
        return sorted((source, target) for source, targets in self._targets.items() for target in targets)
