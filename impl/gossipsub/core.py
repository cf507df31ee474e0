"""What the parts of our pubsub router share: versions, neighbours, topics, clock and die."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import MappingProxyType
from typing import Literal

from attrs import define, evolve, field, frozen

from quidnunc.impl.gossipsub.scores import ScoreKeeper
from quidnunc.impl.wire.framing import FrameDecoder
from quidnunc.impl.wire.keys import peer_id
from quidnunc.model.events import FLOODSUB, MESHSUB_1_0, MESHSUB_1_1, MESHSUB_1_2, MESHSUB_1_3
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import ROUTER, Peer

MAX_TOPICS_PER_PEER = 1000
MAX_TOPIC_BYTES = 1024
MAX_ID_BYTES = 128
"""No id that our id functions make is longer than half of this, so a longer one is of no use to us."""


@frozen(kw_only=True)
class VersionFeatures:
    """One version of the protocol, by what is new in it."""

    name: str
    streams: tuple[str, ...]
    """Stream protocols it can talk over."""
    hardened: bool = False
    """v1.1: backoff, scores and thresholds, explicit peers, outbound quotas, caps."""
    idontwant: bool = False
    """v1.2, draft or r1."""
    must_skip: bool = False
    """v1.2 r1: whoever said IDONTWANT must be skipped. The draft leaves it open."""
    extensions: bool = False
    """v1.3."""
    partial: Literal["", "merged", "jvm", "go"] = ""
    """Partial messages, in one of their readings."""


_STREAMS = (FLOODSUB, MESHSUB_1_0, MESHSUB_1_1, MESHSUB_1_2, MESHSUB_1_3)
_SINCE_1_2 = VersionFeatures(
    name="gossipsub-1.2", streams=_STREAMS[:4], hardened=True, idontwant=True, must_skip=True
)
_SINCE_1_3 = evolve(_SINCE_1_2, name="gossipsub-1.3", streams=_STREAMS, extensions=True)

FEATURES: Mapping[str, VersionFeatures] = MappingProxyType(
    {
        each.name: each
        for each in (
            VersionFeatures(name="floodsub", streams=_STREAMS[:1]),
            VersionFeatures(name="gossipsub-1.0", streams=_STREAMS[:2]),
            VersionFeatures(name="gossipsub-1.1", streams=_STREAMS[:3], hardened=True),
            VersionFeatures(name="gossipsub-1.2-draft", streams=_STREAMS[:4], hardened=True, idontwant=True),
            _SINCE_1_2,
            _SINCE_1_3,
            evolve(_SINCE_1_3, name="partial-messages", partial="merged"),
            evolve(_SINCE_1_3, name="partial-messages-jvm", partial="jvm"),
            evolve(_SINCE_1_3, name="partial-messages-go", partial="go"),
        )
    }
)
"""By the name that `Config.protocol` uses."""


@define(eq=False)
class ConnectedPeer:
    """A connected peer. What it can be sent depends on its stream, whatever we speak ourselves."""

    stream: str
    outbound: bool
    decoder: FrameDecoder
    topics: set[str] = field(factory=set)
    speaks_floodsub: bool = field(init=False)
    knows_backoff: bool = field(init=False)
    knows_idontwant: bool = field(init=False)
    knows_extensions: bool = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.speaks_floodsub = self.stream == FLOODSUB
        self.knows_extensions = self.speaks_since(MESHSUB_1_3)
        self.knows_idontwant = self.speaks_since(MESHSUB_1_2)
        self.knows_backoff = self.speaks_since(MESHSUB_1_1)

    def speaks_since(self, stream: str) -> bool:
        """Whether its stream is of that version or a newer one."""
        return self.stream in _STREAMS[_STREAMS.index(stream) :]


class RouterCore:
    """State that several parts read. Sets are sorted before anything is drawn, so a seed fixes a run."""

    def __init__(
        self, parameters: Parameters, features: VersionFeatures, die: Random, own: Peer = ROUTER
    ) -> None:
        self.own = own
        """Which peer this router is."""
        self.parameters = parameters
        self.features = features
        self.die = die
        self.lax = False
        """Whether a message without a signature is taken (the legacy policies LaxSign and LaxNoSign)."""
        self.now_ms = 0
        self.neighbours: dict[Peer, ConnectedPeer] = {}
        self.numbers: dict[bytes, Peer] = {}
        """Peer id -> number, of neighbours."""
        self.joined: set[str] = set()
        self.scores: dict[Peer, int] = {}
        self.keeper: ScoreKeeper | None = None
        if parameters.scores is not None and features.hardened:
            self.keeper = ScoreKeeper(parameters.scores)
        self._in_topic: dict[str, set[Peer]] = {}

    # -- views -----------------------------------------------------------------------------------------

    def score(self, peer: Peer) -> float:
        """Without score parameters the application's term alone; 0 before v1.1, which knows no scores."""
        said = self.scores.get(peer, 0) if self.features.hardened else 0
        return said if self.keeper is None else self.keeper.score(peer, said)

    def is_explicit(self, peer: Peer) -> bool:
        """Whether operators agreed on this peer."""
        return self.features.hardened and peer in self.parameters.explicit_peers

    def members(self, topic: str) -> set[Peer]:
        """Everyone who announced `topic`. Do not change it."""
        return self._in_topic.get(topic, _NOBODY)

    def speakers(self, topic: str) -> set[Peer]:
        """Gossipsub peers in `topic`, which alone can be in its mesh."""
        return {p for p in self.members(topic) if not self.neighbours[p].speaks_floodsub}

    def flooded(self, topic: str) -> set[Peer]:
        """Floodsub peers in `topic`."""
        return {p for p in self.members(topic) if self.neighbours[p].speaks_floodsub}

    def outbound(self, peers: set[Peer]) -> set[Peer]:
        """Those of `peers` that we dialled."""
        return {p for p in peers if self.neighbours[p].outbound}

    def some(self, among: set[Peer], count: int) -> list[Peer]:
        """Up to `count` of `among`, at random."""
        pool = sorted(among)
        return self.die.sample(pool, min(max(count, 0), len(pool)))

    def greet(self, peer: Peer, neighbour: ConnectedPeer) -> None:
        """A peer has connected."""
        self.neighbours[peer] = neighbour
        self.numbers[peer_id(peer)] = peer

    # -- membership ------------------------------------------------------------------------------------

    def enter(self, peer: Peer, topic: str) -> None:
        """The peer announced `topic`. What is over a limit is not taken note of."""
        topics = self.neighbours[peer].topics
        if len(topics) < MAX_TOPICS_PER_PEER and len(topic.encode()) <= MAX_TOPIC_BYTES:
            topics.add(topic)
            self._in_topic.setdefault(topic, set()).add(peer)

    def quit(self, peer: Peer, topic: str) -> None:
        """The peer left `topic`."""
        self.neighbours[peer].topics.discard(topic)
        members = self._in_topic.get(topic)
        if members is not None:
            members.discard(peer)
            if not members:
                del self._in_topic[topic]

    def forget(self, peer: Peer) -> None:
        """The peer is gone. Its score stays, or it could wash off a bad one by connecting again."""
        for topic in tuple(self.neighbours[peer].topics):
            self.quit(peer, topic)
        del self.neighbours[peer]
        del self.numbers[peer_id(peer)]
        if self.keeper is not None:
            self.keeper.disconnected(peer, self.now_ms)


_NOBODY: set[Peer] = set()
