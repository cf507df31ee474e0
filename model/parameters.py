"""Parameters of the protocols, under the names of the specifications; units last.

Defaults are those of the documents; where a document gives none, the value is said to be ours.
"""

from __future__ import annotations

from math import inf
from typing import Literal, TypeAlias

from attrs import field, frozen, validators

from quidnunc.model.rpc import Peer
from quidnunc.model.score_parameters import ScoreParameters

SignaturePolicy: TypeAlias = Literal["StrictSign", "StrictNoSign"]
MessageIdFunction: TypeAlias = Literal["origin", "content", "hex"]
"""`origin`: bytes of author then seqno (the default of pubsub). `content`: SHA-256 of the data. `hex`: the
same as text, 64 hexadecimal digits: ids are bytes that a router must not read anything into."""


NO_LESS_THAN_ZERO = (
    *("heartbeat_delay_ms", "fanout_ttl_ms", "seen_ttl_ms", "prune_backoff_s", "unsubscribe_backoff_s"),
    *("d_score", "d_out", "d_lazy", "opportunistic_graft_peers", "prune_peers", "gossip_retransmission"),
    *("max_ihave_messages", "max_ihave_length", "max_idontwant_messages"),
    *("idontwant_min_bytes", "idontwant_heartbeats", "max_message_bytes"),
    *("opportunistic_graft_threshold", "accept_px_threshold"),
)
"""Times and numbers of `Parameters` that may be nothing, and not less."""
MAX_CACHE_WINDOWS = 1000
"""Of `mcache_len`. Routers make all windows at their start, and a file of a stranger may say how many."""
NO_LESS_THAN_ONE = (
    *("heartbeat_interval_ms", "opportunistic_graft_ticks"),
    *("group_ttl_heartbeats", "max_groups_per_topic", "max_groups_per_peer"),
)


@frozen(kw_only=True)
class Parameters:
    """Of one pubsub router. Raises ValueError where the specification forbids the combination."""

    d: int = 6
    """How many members a mesh should have."""
    d_low: int = 4
    """A mesh with fewer members is filled up to D at the heartbeat."""
    d_high: int = 12
    """A mesh with more members is cut down to D at the heartbeat."""
    d_score: int = 4
    """How many members with the best scores a cut keeps."""
    d_out: int = 2
    """How many members of a mesh the router itself should have dialled."""
    d_lazy: int = 6
    """To how many peers outside the mesh a heartbeat gossips at least."""
    gossip_factor: float = 0.25
    """To which part of the peers outside the mesh a heartbeat gossips."""
    heartbeat_interval_ms: int = 1000
    """Time between two heartbeats."""
    heartbeat_delay_ms: int = 500
    """When the first heartbeat fires; heartbeats are at delay + k * interval. Ours."""
    fanout_ttl_ms: int = 60_000
    """How long a fanout lives after the last publish to its topic."""
    mcache_len: int = 5
    """For how many heartbeats a message stays in the message cache."""
    mcache_gossip: int = 3
    """For how many heartbeats a message is gossiped about."""
    seen_ttl_ms: int = 120_000
    """How long a message id is remembered as seen."""
    prune_backoff_s: int = 60
    """The backoff after a PRUNE."""
    unsubscribe_backoff_s: int = 10
    """The backoff after a PRUNE that is sent because the router leaves the topic."""
    flood_publish: bool = True
    """Whether own messages go to all peers of the topic, not to the mesh alone."""
    gossip_threshold: int = -10
    """Below this score a peer gets no gossip and its gossip is ignored."""
    publish_threshold: int = -20
    """Below this score a peer is sent no own messages."""
    graylist_threshold: int = -40
    """Below this score all RPCs of a peer are ignored."""
    opportunistic_graft_threshold: int = 0
    """Below this median score of a mesh better peers are grafted."""
    opportunistic_graft_ticks: int = 60
    """Heartbeats between two opportunistic grafts."""
    opportunistic_graft_peers: int = 2
    """How many peers an opportunistic graft takes."""
    gossip_retransmission: int = 3
    """How often one peer is served the same message by IWANT."""
    max_ihave_messages: int = 10
    """How many IHAVEs of one peer are read in a heartbeat."""
    max_ihave_length: int = 5000
    """How many ids one peer may advertise in a heartbeat."""
    max_idontwant_messages: int = 1000
    """How many IDONTWANTs of one peer are read in a heartbeat."""
    idontwant_min_bytes: int = 0
    """For smaller messages no IDONTWANT is sent."""
    idontwant_heartbeats: int = 3
    """For how many heartbeats an IDONTWANT counts."""
    max_message_bytes: int = 1 << 20
    """Messages with more data are dropped; whether the rest of an RPC counts is free."""
    test_extension: bool = True
    """Whether the router names the test extension; of v1.3 and later."""
    group_ttl_heartbeats: int = 5
    """Of a group of partial messages. Ours: no document gives a number."""
    max_groups_per_topic: int = 255
    """Groups of partial messages that peers start."""
    max_groups_per_peer: int = 8
    """Groups of partial messages that one peer starts in a topic."""
    explicit_peers: frozenset[Peer] = frozenset()
    """Peers with which the operator has an explicit peering agreement; they are outside the mesh."""
    message_id: MessageIdFunction = "origin"
    """How message ids are made: of author and seqno, of the content, or of the content as digits."""
    signature_policy: SignaturePolicy = "StrictSign"
    """Whether messages are signed."""
    validation: Literal["accept", "manual"] = field(
        default="accept", validator=validators.in_(("accept", "manual"))
    )
    """Whether messages wait for the application's verdict (`manual`)."""
    scores: ScoreParameters | None = None
    """The parameters of the peer score. None: the score is what the application says, and nothing else."""
    prune_peers: int = 0
    """Peers that a PRUNE for oversubscription lists (peer exchange), at most; 0 switches the exchange off."""
    accept_px_threshold: float = 0.0
    """AcceptPXThreshold: who scores less is not heeded in peer exchange."""

    def __attrs_post_init__(self) -> None:
        for name in NO_LESS_THAN_ONE:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in NO_LESS_THAN_ZERO:
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be 0 or more, got {getattr(self, name)}")
        if not 0 <= self.gossip_factor <= 1:
            raise ValueError(f"gossip_factor must be in [0, 1], got {self.gossip_factor}")
        if not 0 <= self.d_low <= self.d <= self.d_high:
            raise ValueError(f"need 0 <= D_low <= D <= D_high, got {self.d_low}, {self.d}, {self.d_high}")
        if self.d_out and not (self.d_out < self.d_low and 2 * self.d_out <= self.d):
            raise ValueError(f"need D_out < D_low and D_out <= D/2, got D_out {self.d_out}")
        if self.mcache_len > MAX_CACHE_WINDOWS:
            raise ValueError(f"mcache_len must be at most {MAX_CACHE_WINDOWS}, got {self.mcache_len}")
        if not 1 <= self.mcache_gossip <= self.mcache_len:
            raise ValueError(f"need 1 <= mcache_gossip <= mcache_len, got {self.mcache_gossip}")
        if self.signature_policy == "StrictNoSign" and self.message_id == "origin":
            raise ValueError("StrictNoSign leaves no origin to take an id from; use message_id='content'")
        if not self.graylist_threshold < self.publish_threshold <= self.gossip_threshold < 0:
            raise ValueError("need graylist < publish <= gossip < 0 among the thresholds")


@frozen(kw_only=True)
class DogParameters:
    """Of one CometBFT mempool reactor (ADR-119; defaults of the ADR)."""

    dog: bool = True
    """Whether DOG is on; without it the node speaks plain Flood."""
    target_redundancy: float = 1.0
    """How many duplicates there should be for each first-time transaction."""
    delta_percent: float = 10.0
    """By how much the redundancy may differ from its target, in percent."""
    adjust_interval_ms: int = 1000
    """The timer of the controller; in the harness its ticks are Adjust events."""
    cache_size: int = 10_000
    """How many transactions the cache remembers."""
    pool_size: int = 5_000
    """How many transactions the pool holds."""
    max_pool_bytes: int = 64 << 20
    """A pool whose transactions come to so many bytes is full."""
    max_tx_bytes: int = 1 << 20
    """Larger transactions are dropped."""
    max_announced_peers: int = 15
    """CAT: how many peers are told of one transaction."""
    max_persistent: int = 0
    """How many persistent peers are sent transactions; 0: all."""
    max_non_persistent: int = 0
    """How many of the other peers are sent transactions; 0: all. Recommended where there is one: 10."""
    persistent_peers: frozenset[Peer] = frozenset()
    """Peers to which the operator wants to stay connected."""
    unconditional_peers: frozenset[Peer] = frozenset()
    """Who is sent transactions whatever the limits."""

    def __attrs_post_init__(self) -> None:
        for name in ("cache_size", "pool_size", "max_pool_bytes", "max_tx_bytes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or more, got {getattr(self, name)}")
        if self.max_announced_peers < 1:
            raise ValueError(f"max_announced_peers must be 1 or more, got {self.max_announced_peers}")
        if min(self.max_persistent, self.max_non_persistent) < 0:
            raise ValueError("max_persistent and max_non_persistent must be 0 or more")
        if self.dog and (self.max_persistent or self.max_non_persistent):
            raise ValueError(
                "a limit on peers and DOG cannot both be on: set dog to false, or the limit to 0"
            )
        if not 0 < self.target_redundancy < inf:
            raise ValueError(f"target_redundancy must be above 0 and finite, got {self.target_redundancy}")
        if self.adjust_interval_ms < 1:
            raise ValueError(f"adjust_interval_ms must be 1 or more, got {self.adjust_interval_ms}")
        if not 0 < self.delta_percent < 100:
            raise ValueError(f"delta_percent must be above 0 and below 100, got {self.delta_percent}")


ParameterSet: TypeAlias = Parameters | DogParameters
"""The parameters of one router, whichever family it is of."""
