"""The state of one pubsub router, and the views of it that rules share.

Mappings are never changed in place: a rule returns a router with a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar, cast

from attrs import field, frozen

from quidnunc.model.choices import PartialSet
from quidnunc.model.events import FLOODSUB, MESHSUB_1_1, MESHSUB_1_2, MESHSUB_1_3
from quidnunc.model.parameters import Parameters
from quidnunc.model.pubsub.scores.ledger import NO_LEDGER, ScoreLedger
from quidnunc.model.rpc import Message, Peer, Subscribe
from quidnunc.model.rules import Protocol, Total
from quidnunc.model.score_interval import DENOMINATOR, ZERO, ScoreInterval, interval
from quidnunc.model.values import evolve

K = TypeVar("K")
V = TypeVar("V")
P_co = TypeVar("P_co", covariant=True)

FREEDOM = frozenset({"filled", "perhaps_cached"})
"""Fields that no router has: they say what is free."""

BACKOFF_SWEEP_HEARTBEATS = 20
"""After so many heartbeats past its expiry a backoff must be gone. The text asks for slack up to the next
backoff-clearing heartbeat and does not say when that is; the slowest known router needs 17."""


@frozen
class ReceivedPart(Generic[P_co]):
    """One part of an RPC, or all of its parts, and who sent it."""

    peer: Peer
    part: P_co


@frozen
class PartialFlags:
    """What one end said of partial messages in one topic."""

    requests: bool = False
    supports: bool = False


NO_FLAGS = PartialFlags()


@frozen(slots=False)
class Neighbour:
    """A connected peer. `protocol` is that of its stream: what it is told depends on that."""

    protocol: str
    outbound: bool = False
    topics: frozenset[str] = frozenset()
    stalled: bool = False
    spoke: bool = False
    """It has sent an RPC: its extensions can no longer be named in order."""
    extensions: frozenset[str] = frozenset()
    """Those that it named, of those that we know."""
    perhaps: frozenset[str] = frozenset()
    """Those that it named out of order: whether they count is not said."""
    flags: Mapping[str, PartialFlags] = field(factory=dict)
    """Topic -> what it said of partial messages there."""

    @property
    def speaks_floodsub(self) -> bool:
        return self.protocol == FLOODSUB

    @property
    def knows_backoff(self) -> bool:
        return MESHSUB_1_1 <= self.protocol and not self.speaks_floodsub

    @property
    def knows_idontwant(self) -> bool:
        return MESHSUB_1_2 <= self.protocol and not self.speaks_floodsub

    @property
    def knows_extensions(self) -> bool:
        return MESHSUB_1_3 <= self.protocol and not self.speaks_floodsub

    def flags_in(self, topic: str) -> PartialFlags:
        return self.flags.get(topic, NO_FLAGS)


@frozen
class TopicFanout:
    peers: PartialSet
    published_ms: int
    tentative: bool = False
    """Nobody was there to choose: whether that makes a fanout, to be filled at the heartbeat, is not said."""


@frozen
class WaitingMessage:
    """A message that waits for its verdict."""

    message: Message
    forwarder: Peer
    also: tuple[Peer, ...] = ()
    """Who else sent a copy meanwhile."""


@frozen
class PartialGroup:
    """What is kept of one group of partial messages."""

    heartbeats_left: int
    initiator: Peer
    """The peer whose message was the first of it; ROUTER where the application has published to it."""
    states: Mapping[Peer, str] = field(factory=dict)
    """What the application keeps of each peer, by its id; NOTHING_KEPT at first."""
    fresh: bool = False
    """It was published to since the last heartbeat."""
    asked: frozenset[Peer] = frozenset()
    """Peers that the application was asked to gossip to."""


@frozen
class HeartbeatCounts:
    """What one peer has sent since the last heartbeat, against the caps."""

    ihaves: int = 0
    ihave_rpcs: int = 0
    ihave_ids: int = 0
    """Ids of IHAVEs that were not seen yet."""
    ihave_named: int = 0
    """All ids of IHAVEs, seen or not."""
    ihave_topics: frozenset[str] = frozenset()
    """Topics of IHAVEs; kept where a reading asks for it."""
    ihave_since_ms: int | None = None
    """When the first of them came; kept where a reading asks for it."""
    iwants: int = 0
    """Counted where a reading asks for it, and so are those of the heartbeat before."""
    iwants_before: int = 0
    idontwants: int = 0
    """Ids of IDONTWANTs that were heeded."""
    idontwant_messages: int = 0
    """IDONTWANTs that were heeded, however many came in one RPC."""
    evictable: frozenset[str] = frozenset()
    """Ids of IDONTWANTs of which some gave way to others; kept where a reading asks for it."""


ENDED = "ended"
"""Of `Router.kept`, while an RPC is read, in a router that ends early: of which kind it reads no more parts,
or of any."""
ANY_KIND = "any"
IDS_OF_ANY_TOPIC = "ids-of-any-topic"
"""A switch of a fault: gossip about a topic names the messages of all topics that the router is in."""


# Copied at every step: `quidnunc.model.values`.
@frozen(slots=False)
class Router:
    """One router, its neighbours' streams included."""

    protocol: Protocol = field(eq=False)
    parameters: Parameters
    now_ms: int = 0
    heartbeats: int = 0
    peers: Mapping[Peer, Neighbour] = field(factory=dict)
    topics: frozenset[str] = frozenset()
    mesh: Mapping[str, frozenset[Peer]] = field(factory=dict)
    filled: Mapping[str, int] = field(factory=dict)
    """Topic -> the heartbeat that last found its mesh below D_low."""
    fanout: Mapping[str, TopicFanout] = field(factory=dict)
    backoff: Mapping[tuple[str, Peer], int] = field(factory=dict)
    """(topic, peer) -> the instant in ms at which the backoff ends."""
    seen: Mapping[str, int] = field(factory=dict)
    """Message id -> when it was first seen, in ms."""
    cached: Mapping[str, Message] = field(factory=dict)
    windows: tuple[tuple[str, ...], ...] = ()
    """Ids of the message cache, one window per heartbeat, the present one first."""
    perhaps_cached: frozenset[str] = frozenset()
    """Those of `cached` that were accepted after we had left their topic: whether they are is not said."""
    waiting: Mapping[str, WaitingMessage] = field(factory=dict)
    unwanted: Mapping[Peer, Mapping[str, int]] = field(factory=dict)
    """Peer -> id -> 0 up to the first heartbeat after its IDONTWANT; -n after the n-th, when it is free to be
    kept; -1 at once where a cap leaves that free."""
    served: Mapping[tuple[Peer, str], int] = field(factory=dict)
    """(peer, id) -> answers to its IWANT so far."""
    asked: Mapping[str, frozenset[Peer]] = field(factory=dict)
    """Id -> who could have been asked for it by IWANT, from v1.2 on."""
    passed_over: Mapping[tuple[str, Peer], float] = field(factory=dict)
    """v1.0: (topic, peer) -> the greatest probability with which random gossip misses it for so long."""
    heard: Mapping[Peer, HeartbeatCounts] = field(factory=dict)
    scores: Mapping[Peer, int] = field(factory=dict)
    """What the application says of its peers."""
    ledger: ScoreLedger = NO_LEDGER
    """What scores are made of besides; empty without score parameters."""
    poor_for: Mapping[str, int] = field(factory=dict)
    """Topic -> heartbeats for which opportunistic grafting has been due."""
    own: Mapping[str, PartialFlags] = field(factory=dict)
    """Joined topic -> what we say of partial messages there."""
    groups: Mapping[tuple[str, str], PartialGroup] = field(factory=dict)
    """(topic, group) -> what is kept of it."""
    started: Mapping[tuple[str, Peer], int] = field(factory=dict)
    """(topic, peer) -> groups that count as started by that peer."""
    kept: Mapping[str, object] = field(factory=dict)
    """What the rules of somebody's own protocol keep, by names of their own; its values are never changed."""
    known_bounds: dict[Peer, ScoreInterval] = field(factory=dict, init=False, eq=False, repr=False)
    """What `bounds` of this very router has come to already."""

    # -- views ----------------------------------------------------------------------------------------

    def reads(self, switch: str) -> bool:
        """Whether this reading of an ambiguous text is on (`quidnunc.model.edits.readings`)."""
        return switch in self.protocol.features

    def score(self, peer: Peer) -> int:
        """The score; where score parameters are in force, a whole number inside its bounds or near them."""
        if self.parameters.scores is not None:
            known = self.bounds(peer)
            return (known.lo + known.hi) // 2 // DENOMINATOR
        term = self.protocol.handlers.get("score")
        return term(self, peer) if isinstance(term, Total) else 0

    def bounds(self, peer: Peer) -> ScoreInterval:
        """The score as far as it is known, where score parameters are in force."""
        known = self.known_bounds.get(peer)
        if known is None:
            term = self.protocol.handlers.get("weighted_score")
            found = cast("ScoreInterval | int", term(self, peer)) if isinstance(term, Total) else 0
            known = found if isinstance(found, ScoreInterval) else interval(found)
            self.known_bounds[peer] = known
        return known

    def without_known_scores(self) -> Router:
        """The same router, which computes each score anew when it is asked."""
        for tally in self.ledger.tallies.values():
            tally.known.clear()
        return evolve(self)

    def below(self, peer: Peer, threshold: int) -> bool | None:
        """Whether the score is less than `threshold`; None where that is inside its bounds, and free."""
        if self.parameters.scores is None:
            return self.score(peer) < threshold
        return self.bounds(peer).below(interval(threshold) if threshold else ZERO)

    def end_of_score(self, peer: Peer, *, high: bool) -> int:
        """For comparison with others: the score, or the higher or lower end of its bounds."""
        if self.parameters.scores is None:
            return self.score(peer)
        known = self.bounds(peer)
        return known.hi if high else known.lo

    def threshold_as_scores(self, threshold: int) -> int:
        """`threshold` in the unit of `end_of_score`."""
        return threshold if self.parameters.scores is None else threshold * DENOMINATOR

    def gate_score(self, peer: Peer) -> int:
        """The score that is held against the publish and gossip thresholds: the score, but for a quirk."""
        term = self.protocol.handlers.get("gate")
        return term(self, peer) if isinstance(term, Total) else self.score(peer)

    def gate_below(self, peer: Peer, threshold: int) -> bool | None:
        """As `below`, of the score that is held against the publish and gossip thresholds."""
        if self.parameters.scores is None or "gate" in self.protocol.handlers:
            return self.gate_score(peer) < threshold
        return self.below(peer, threshold)

    def is_explicit(self, peer: Peer) -> bool:
        return peer in self.parameters.explicit_peers and "explicit" in self.protocol.handlers

    def own_flags(self, topic: str) -> PartialFlags:
        return self.own.get(topic, NO_FLAGS)

    def announcement(self, topic: str) -> Subscribe:
        """What peers are told of a topic that we are in."""
        own = self.own_flags(topic)
        return Subscribe(topic, own.requests, own.supports)

    def members(self, topic: str) -> frozenset[Peer]:
        """Every connected peer that announced `topic`."""
        return frozenset(p for p, n in self.peers.items() if topic in n.topics)

    def mesh_speakers(self, topic: str) -> frozenset[Peer]:
        """peers.gossipsub[topic] of the text."""
        return frozenset(p for p, n in self.peers.items() if topic in n.topics and not n.speaks_floodsub)

    def floodsub_speakers(self, topic: str) -> frozenset[Peer]:
        """peers.floodsub[topic] of the text."""
        return frozenset(p for p, n in self.peers.items() if topic in n.topics and n.speaks_floodsub)

    def outbound_of(self, peers: Iterable[Peer]) -> frozenset[Peer]:
        return frozenset(p for p in peers if p in self.peers and self.peers[p].outbound)

    def mesh_of(self, topic: str) -> frozenset[Peer]:
        return self.mesh.get(topic, frozenset())

    def fanout_of(self, topic: str) -> PartialSet:
        """The fanout as far as it is known; a tentative one is empty."""
        entry = self.fanout.get(topic)
        return entry.peers if entry else PartialSet()

    def ends_backoff_ms(self, topic: str, peer: Peer) -> int:
        return self.backoff.get((topic, peer), 0)

    def gossip_ids(self, topic: str) -> tuple[str, ...]:
        """mcache.get_gossip_ids(topic): ids in the newest `mcache_gossip` windows, each once."""
        recent = self.windows[: self.parameters.mcache_gossip]
        if not any(recent):
            return ()
        named = {topic, *self.topics} if self.reads(IDS_OF_ANY_TOPIC) else {topic}
        found = {i: None for window in recent for i in window if self.cached[i].topic in named}
        return tuple(found)

    def surely_gossips(self, message_id: str) -> bool:
        """Whether gossip surely names one of `gossip_ids`. "All its topics" are those that it has joined."""
        if self.reads(IDS_OF_ANY_TOPIC) and self.cached[message_id].topic not in self.topics:
            return False
        return message_id not in self.perhaps_cached

    # -- changes --------------------------------------------------------------------------------------

    def with_mesh(self, topic: str, members: frozenset[Peer]) -> Router:
        return evolve(self, mesh={**self.mesh, topic: members})

    def with_backoff(self, topic: str, peers: Iterable[Peer], seconds: int) -> Router:
        """A running backoff is never shortened."""
        ends, latest = self.now_ms + 1000 * seconds, self.reads("backoff-shortened")
        new = {(topic, p): ends if latest else max(ends, self.ends_backoff_ms(topic, p)) for p in peers}
        return evolve(self, backoff={**self.backoff, **new}) if new else self

    def with_cached(self, message: Message) -> Router:
        """mcache.put: into the newest window. One that is accepted again may be in an older one as well."""
        head, *rest = self.windows or ((),)
        if message.id in head:
            return self
        windows = ((*head, message.id), *rest)
        return evolve(self, cached={**self.cached, message.id: message}, windows=windows)

    def with_seen(self, message_id: str) -> Router:
        return evolve(self, seen={**self.seen, message_id: self.now_ms})


def without_key(mapping: Mapping[K, V], key: K) -> dict[K, V]:
    return {k: v for k, v in mapping.items() if k != key}
