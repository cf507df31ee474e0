"""The state of one mempool node, and the views of it that rules share.

Flood, and what the others add to it: DOG its disabled routes, two counters, one permission; CAT who has which
transaction, and what it has asked for. Mappings are never changed in place. Time passes for CAT alone, whose
requests expire; the timer of DOG's controller is an event of the harness.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attrs import field, frozen

from quidnunc.model.choices import PartialSet
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import Peer
from quidnunc.model.rules import Protocol
from quidnunc.model.values import evolve


@frozen
class MempoolPeer:
    """A connected peer."""

    stalled: bool = False
    """It does not read: what is sent to it waits, and when that is decided is open."""
    has_dog: bool = True
    """It has DOG enabled, as far as this node is told."""


@frozen
class UndecidedSend:
    """A transaction that waits for a stalled peer: what a decision so far could have been."""

    could_send: bool = False
    could_skip: bool = False

    def also(self, other: UndecidedSend) -> UndecidedSend:
        return UndecidedSend(self.could_send or other.could_send, self.could_skip or other.could_skip)


@frozen
class WantedTransaction:
    """A transaction that a CAT node does not have and has asked for."""

    of: Peer | None
    """Whom it waits for; None where nobody answered and nobody else has it."""
    due_ms: int
    """When it stops to wait, in ms since the node started."""
    asked: Mapping[Peer, int]
    """Everyone it was asked of on their present connection, and when, in ms."""


# Copied at every step: `quidnunc.model.values`.
@frozen(slots=False)
class Node:
    """One node, its neighbours' connections included."""

    protocol: Protocol = field(eq=False)
    parameters: DogParameters
    peers: Mapping[Peer, MempoolPeer] = field(factory=dict)
    pool: Mapping[str, tuple[Peer, ...]] = field(factory=dict)
    """Transaction -> its senders in order of arrival; in the order of the pool."""
    cache: frozenset[str] = frozenset()
    """All transactions ever seen: the documents assume a cache without limit."""
    undecided: Mapping[tuple[Peer, str], UndecidedSend] = field(factory=dict)
    routes: Mapping[Peer, PartialSet] = field(factory=dict)
    """Target -> the sources from which the route to it is disabled, as far as that has shown."""
    waiting_resets: tuple[PartialSet, ...] = ()
    """ResetRoutes that wait, each for one of the stalled peers in its set."""
    first_time: int = 0
    duplicates: int = 0
    blocked: bool | None = False
    """HaveTx must not be sent; None where that has not shown."""
    now_ms: int = 0
    """Since it started, where the protocol has timers of its own."""
    holders: Mapping[str, frozenset[Peer]] = field(factory=dict)
    """CAT: transaction -> the connected peers that are known to have it."""
    announcers: Mapping[str, frozenset[Peer]] = field(factory=dict)
    """CAT: of these, those who announced it."""
    wanted: Mapping[str, WantedTransaction] = field(factory=dict)
    queued: Mapping[str, Mapping[Peer, int]] = field(factory=dict)
    """CAT: a transaction whose turn has not come -> who announced it, and when, in ms."""
    taken: Mapping[str, int] = field(factory=dict)
    """CAT: signer -> the place of the next transaction that the application would take."""
    ranks: Mapping[str, frozenset[tuple[Peer, Peer]]] = field(factory=dict)
    """CAT: signer -> (one, another): the one was told of a transaction of its, and the other not."""
    stuck: bool = False
    """Of a variant of DOG: a message that cannot be read keeps all others from being read."""
    own: frozenset[str] = frozenset()
    """Of a variant of DOG: what users submitted first."""
    idle: int = 0
    """Of a variant of DOG: adjustments since something came."""
    slots: Mapping[str, PartialSet] = field(factory=dict)
    """Peer limit: class -> the peers that have a slot of it, as far as that has shown."""

    kept: Mapping[str, object] = field(factory=dict)
    """What edits of rules remember, each under a name of its own."""

    # -- views ----------------------------------------------------------------------------------------

    def reads(self, switch: str) -> bool:
        """Whether this reading of an ambiguous text is on (`quidnunc.model.edits.readings`)."""
        return switch in self.protocol.features

    def knows(self, tx: str) -> bool:
        return tx in self.cache

    def senders(self, tx: str) -> tuple[Peer, ...]:
        """Those of a transaction in the pool, the first one first; none for one from a user, or unknown."""
        return self.pool.get(tx, ())

    def first_sender(self, tx: str) -> Peer | None:
        return next(iter(self.senders(tx)), None)

    def disabled_to(self, target: Peer) -> PartialSet:
        return self.routes.get(target, PartialSet())

    def slots_of(self, name: str) -> PartialSet:
        return self.slots.get(name, PartialSet())

    def holders_of(self, tx: str) -> frozenset[Peer]:
        return self.holders.get(tx, frozenset())

    def open_choices(
        self, free: frozenset[Peer]
    ) -> Iterator[tuple[str, str, frozenset[Peer], tuple[int, int]]]:
        """Of the peers to whom it is open whether a transaction goes: (choice, clause, peers, how many)."""
        for known in self.slots.values():
            among = free & known.may
            surely = len(known.must)
            fewest = max(0, known.least - surely - len(known.may - among))
            if among:
                count = fewest, min(known.most - surely, len(among))
                yield "slot.unresolved", "peer-limit/slot.freed", among, count
            free -= among
        if free:
            yield "route.unresolved", "dog/route.filter", free, (0, len(free))

    # -- changes --------------------------------------------------------------------------------------

    def with_slots(self, name: str, known: PartialSet) -> Node:
        return evolve(self, slots={**self.slots, name: known})

    def with_holders(self, tx: str, peers: Iterable[Peer]) -> Node:
        known = self.holders_of(tx)
        more = known | frozenset(peers)
        return evolve(self, holders={**self.holders, tx: more}) if more != known else self

    def with_pooled(self, tx: str, senders: tuple[Peer, ...]) -> Node:
        return evolve(self, pool={**self.pool, tx: senders}, cache=self.cache | {tx})

    def with_disabled_to(self, target: Peer, sources: PartialSet) -> Node:
        return evolve(self, routes={**self.routes, target: sources})

    def with_undecided(self, added: Mapping[tuple[Peer, str], UndecidedSend]) -> Node:
        return evolve(self, undecided={**self.undecided, **added}) if added else self


def started_node(protocol: Protocol, parameters: DogParameters) -> Node:
    """A node that has just started: cache, pool, senders, routes and counters are empty."""
    blocked = "starts-blocked" in protocol.features
    return Node(protocol=protocol, parameters=parameters, blocked=blocked)
