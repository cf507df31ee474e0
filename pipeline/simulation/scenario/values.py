"""One simulated network, as a value: who is in it, how they are connected, what is said, what goes wrong.

A scenario is a file (`quidnunc.pipeline.simulation.scenario.file`); everything in it has a default but the
nodes. With the seed it says all that a run depends on. Times are in seconds since the start where a person
plans them, and in milliseconds where a network has them.
"""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

from attrs import field, frozen, validators

from quidnunc.model.errors import did_you_mean
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.pipeline.simulation.scenario.script import (
    MAX_DURATION_S,
    Instruction,
    last_wait_s,
    topics_named,
)
from quidnunc.pipeline.trace.families import FAMILIES, NodeFamily, node_family

FORMAT = 1
MAX_NODES = 10_000
MAX_MESSAGES = 1_000_000
MAX_MS = 1_000_000
MAX_MESSAGE_BYTES = 8 << 20
MAX_TRAFFIC_BYTES = 16 << 30
"""Of all messages as they are published."""
MAX_TURNS = 100_000_000
"""Heartbeats, adjustments and departures of all nodes: hours of a machine."""
SETTLE_S = 5.0
"""How long a run goes on after the last thing that was planned, where it does not say."""

TopologyKind: TypeAlias = Literal[
    "random-regular",
    "erdos-renyi",
    "small-world",
    "barabasi-albert",
    "line",
    "ring",
    "star",
    "complete",
    "edges",
    "file",
    "none",
]


class ScenarioError(ValueError):
    """A scenario, or a sweep of them, cannot be run: names file, field, and what to write instead."""


def _checked(default: Any, what: str, lowest: float, highest: float = math.inf) -> Any:
    def check(_: object, attribute: object, value: float) -> None:
        if not lowest <= value <= highest:
            most = f" and at most {highest:g}" if highest < math.inf else ""
            raise ValueError(f"{what} must be {lowest:g} or more{most}, got {value}")

    return field(default=default, validator=check)


def seconds(lowest: float, default: float, what: str) -> float:
    """A field for a time in seconds, which is finite."""
    made: float = _checked(default, what, lowest, MAX_DURATION_S)
    return made


def milliseconds(default: float, what: str) -> float:
    """A field for a time in milliseconds, which is finite."""
    made: float = _checked(default, what, 0, MAX_MS)
    return made


def share(default: float, what: str) -> float:
    """A field whose value is a share."""
    made: float = _checked(default, what, 0, 1)
    return made


def whole(lowest: int, default: int, what: str) -> int:
    """A field that counts."""
    made: int = _checked(default, what, lowest)
    return made


@frozen(kw_only=True)
class NodeGroup:
    """`count` nodes alike. Numbers are given in the order of the groups, unless the scenario mixes them."""

    count: int = whole(1, 1, "count")
    protocol: str = "gossipsub-1.2"
    router: str = "ours"
    """A name that `quidnunc routers` lists; `ours:MUTANT` is a byzantine node."""
    parameters: Parameters | None = None
    """Of a pubsub router. Message ids are by content here, where the file does not say otherwise."""
    dog: DogParameters | None = None
    """Of a mempool."""

    def __attrs_post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise ValueError(f"protocol: no {self.protocol!r}{did_you_mean(self.protocol, PROTOCOLS)}")
        own = self.family
        for other in FAMILIES.values():
            if other.key != own.key and getattr(self, other.key) is not None:
                raise ValueError(f"{other.key}: {self.protocol} is of {own.noun} and takes `{own.key}`")

    @property
    def family(self) -> NodeFamily:
        return node_family(self.protocol)

    @property
    def given(self) -> Any:
        """The parameters of its family, or what a node has where nothing is said."""
        return getattr(self, self.family.key) or self.family.parameters(self.protocol)

    @property
    def every_ms(self) -> float:
        """How often a node acts of its own: its heartbeat, or the turn of its controller."""
        beat = self.family.beat_ms(self.given)
        return max(1, beat[1] if beat is not None else self.family.adjust_ms(self.given) or math.inf)


@frozen(kw_only=True)
class Topology:
    """Who is connected to whom. Of each edge the first node dials."""

    kind: TopologyKind = "random-regular"
    degree: int = whole(0, 8, "degree")
    """random-regular: of each node; small-world: of the ring that is rewired; barabasi-albert: edges that
    each new node brings."""
    probability: float = share(0.1, "probability")
    """erdos-renyi: of each edge; small-world: that an edge is rewired."""
    edges: tuple[tuple[int, int], ...] = ()
    path: str = ""
    """`file`: an edge list (two node numbers a line) or GraphML, whose edges may have a `latency_ms`."""
    sha256: str = ""
    """Of what is in the file, noted when it is first read: a scenario is of one file, and not of its name."""
    connected: bool = True
    """Whether a graph that falls apart is drawn again."""
    latencies_ms: tuple[float | None, ...] = ()
    """`edges`: of each edge, one way; null, as where nothing is given: as the links say."""

    def __attrs_post_init__(self) -> None:
        if self.kind == "file" and not self.path:
            raise ValueError("topology.kind file needs topology.path")
        if self.latencies_ms and len(self.latencies_ms) != len(self.edges):
            given = f"{len(self.latencies_ms)} for {len(self.edges)} edges"
            raise ValueError(f"latencies_ms: one for each edge, or none; there are {given}")
        if not all(ms is None or 0 <= ms <= MAX_MS for ms in self.latencies_ms):
            raise ValueError(f"latencies_ms: from 0 to {MAX_MS}")


@frozen(kw_only=True)
class Latency:
    """How long a byte is under way, one way, between two nodes."""

    kind: Literal["constant", "uniform", "matrix"] = "constant"
    ms: float = milliseconds(20.0, "ms")
    low_ms: float = milliseconds(5.0, "low_ms")
    high_ms: float = milliseconds(100.0, "high_ms")
    """uniform: each connection draws its own, once."""
    matrix: tuple[tuple[float, ...], ...] = ()
    """From row to column, in ms, between regions."""
    path: str = ""
    """The matrix as CSV: a header of names, then a row for each; the first column may be the names again."""
    sha256: str = ""
    """Of what is in the file, noted when it is first read."""
    regions: Literal["round-robin", "random"] = "round-robin"
    weights: tuple[float, ...] = ()
    """random: how likely each region is; equally, where nothing is said."""

    def __attrs_post_init__(self) -> None:
        if self.low_ms > self.high_ms:
            raise ValueError(f"low_ms must not be above high_ms, got {self.low_ms} and {self.high_ms}")
        if self.kind == "matrix" and bool(self.matrix) == bool(self.path):
            raise ValueError("matrix: give either `matrix` or `path` to a latency of kind matrix")


@frozen(kw_only=True)
class LinkConditions:
    """What connections are like. Each direction of one keeps its order, as a stream does."""

    latency: Latency = Latency()
    jitter_ms: float = milliseconds(0.0, "jitter_ms")
    """Each RPC takes up to so much longer, at random."""
    loss: float = share(0.0, "loss")
    """The share of RPCs that are lost. No stream loses any; this is what a broken relay does."""
    bandwidth_mbit: float | None = field(
        default=None, validator=validators.optional(validators.and_(validators.ge(1e-6), validators.le(1e9)))
    )
    """What a node can send, over all its connections, one RPC after the other; None for no limit."""


@frozen(kw_only=True)
class Topic:
    """Who subscribes to a topic, at the start."""

    name: str = "t"
    subscribers: float | tuple[int, ...] = 1.0
    """A share of the pubsub nodes, or the numbers of some."""
    partial: bool = False
    """They request partial messages, and so can send them."""


@frozen(kw_only=True)
class Traffic:
    """Messages of one kind: `count` of them, one every `every_s`. A mempool node is handed a transaction."""

    topic: str = "t"
    publishers: Literal["random", "round-robin"] | tuple[int, ...] = "random"
    """Among the nodes that are up; those of pubsub among the subscribers."""
    start_s: float = seconds(0, 5.0, "start_s")
    every_s: float = seconds(0, 1.0, "every_s")
    count: int = whole(0, 10, "count")
    size_bytes: int = whole(16, 256, "size_bytes")

    def __attrs_post_init__(self) -> None:
        if self.count > MAX_MESSAGES:
            raise ValueError(f"count must be at most {MAX_MESSAGES}, got {self.count}")
        if self.size_bytes > MAX_MESSAGE_BYTES:
            raise ValueError(f"size_bytes must be at most {MAX_MESSAGE_BYTES}, got {self.size_bytes}")
        if self.publishers == ():
            raise ValueError("publishers: expected node numbers, random or round-robin")


@frozen(kw_only=True)
class Validation:
    """How long an application thinks about a message before the router may pass it on."""

    delay_ms: float = milliseconds(0.0, "delay_ms")
    jitter_ms: float = milliseconds(0.0, "jitter_ms")

    @property
    def takes_time(self) -> bool:
        return self.delay_ms > 0 or self.jitter_ms > 0


@frozen(kw_only=True)
class Churn:
    """Nodes that go and come back: all their connections drop, and are dialled again when they return."""

    nodes: float = share(0.0, "nodes")
    """Of the nodes, chosen once."""
    up_s: float = seconds(0.001, 30.0, "up_s")
    down_s: float = seconds(0.001, 5.0, "down_s")
    """Means of exponential times."""
    start_s: float = seconds(0, 0.0, "start_s")


@frozen(kw_only=True)
class Scenario:
    """One run of one network."""

    format: int = FORMAT
    name: str = ""
    seed: int = 0
    duration_s: float | None = None
    """None: `SETTLE_S` after the last thing that is planned."""
    measure_from_s: float = seconds(0, 0.0, "measure_from_s")
    """What is summed up begins here: before it a network settles. The trace has everything."""
    nodes: tuple[NodeGroup, ...] = ()
    mixed: bool = True
    """Whether the groups are spread over the numbers at random, or stand one after the other."""
    topology: Topology = Topology()
    links: LinkConditions = LinkConditions()
    topics: tuple[Topic, ...] = (Topic(),)
    traffic: tuple[Traffic, ...] = ()
    validation: Validation = Validation()
    churn: Churn = Churn()
    heartbeats: Literal["spread", "together", "given"] = "spread"
    """`spread`: each node's phase is drawn; `given`: as `heartbeat_delay_ms` says."""
    script: tuple[Instruction, ...] = ()
    """Instructions of gossipsub-interop, and more of the kind
    (`quidnunc.pipeline.simulation.scenario.script`).
    """

    def __attrs_post_init__(self) -> None:
        if self.format != FORMAT:
            raise ValueError(f"format: expected {FORMAT}, got {self.format}")
        if not self.nodes:
            raise ValueError("nodes: expected at least one group, such as `nodes: [{count: 20}]`")
        if self.node_count > MAX_NODES:
            raise ValueError(f"nodes: at most {MAX_NODES}, got {self.node_count}")
        if self.duration_s is not None and not 0 < self.duration_s <= MAX_DURATION_S:
            raise ValueError(f"duration_s: above 0 and at most {MAX_DURATION_S}, got {self.duration_s}")
        if not self.end_s <= MAX_DURATION_S:
            raise ValueError(f"duration_s: the plan takes {self.end_s:g} s, more than {MAX_DURATION_S}")
        if self.turns > MAX_TURNS:
            raise ValueError(
                f"duration_s: {self.turns:.0f} heartbeats, adjustments and departures, at most {MAX_TURNS}; "
                "lower it or the nodes, or raise heartbeat_interval_ms, adjust_interval_ms or churn.up_s"
            )
        names = [t.name for t in self.topics]
        if len(set(names)) < len(names):
            raise ValueError(f"topics: duplicate names: {', '.join(sorted(names))}")
        planned = sum(t.count * t.size_bytes for t in self.traffic)
        if planned > MAX_TRAFFIC_BYTES:
            raise ValueError(
                f"traffic: {planned} bytes, at most {MAX_TRAFFIC_BYTES}; lower count or size_bytes"
            )
        known = {*names, *topics_named(self.script)}
        strange = sorted({t.topic for t in self.traffic} - known)
        if strange and any(group.family.has_topics for group in self.nodes):
            there = ", ".join(sorted(known)) or "none"
            raise ValueError(f"traffic: nobody subscribes to {', '.join(strange)}; topics are {there}")

    @property
    def node_count(self) -> int:
        return sum(group.count for group in self.nodes)

    @property
    def turns(self) -> float:
        """How often nodes have a heartbeat, adjust their redundancy, or leave, in all of the run."""
        leave_every_s = self.churn.up_s + self.churn.down_s
        of_nodes = sum(1000 * group.count / group.every_ms for group in self.nodes)
        return self.end_s * (of_nodes + self.node_count * self.churn.nodes / leave_every_s)

    @property
    def end_s(self) -> float:
        """When the run is over."""
        if self.duration_s is not None:
            return self.duration_s
        planned = [t.start_s + t.every_s * max(t.count - 1, 0) for t in self.traffic if t.count]
        return max([0.0, last_wait_s(self.script), *planned]) + SETTLE_S
