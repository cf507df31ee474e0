"""Nodes of a simulated network: a driver behind the seam, its clock, and what the network knows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random
from types import MappingProxyType
from typing import Any

from attrs import define, evolve, field, frozen

from quidnunc.impl.cat_codec import VERSIONS
from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import AdapterError, Config, Driver, Reply
from quidnunc.model.events import (
    FLOODSUB,
    MEMPOOL,
    MESHSUB_1_0,
    MESHSUB_1_1,
    MESHSUB_1_2,
    MESHSUB_1_3,
)
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import Peer
from quidnunc.pipeline.scenario import NodeGroup, Scenario, ScenarioError
from quidnunc.pipeline.scenario_script import SetTopicValidationDelay, steps_of
from quidnunc.pipeline.sim_wire import Carried, family_of

SEED_STEP = 100_003
_STREAMS = (FLOODSUB, MESHSUB_1_0, MESHSUB_1_1, MESHSUB_1_2, MESHSUB_1_3)
_NEWEST: Mapping[str, int] = MappingProxyType(
    {
        "floodsub": 1,
        "gossipsub-1.0": 2,
        "gossipsub-1.1": 3,
        "gossipsub-1.2-draft": 4,
        "gossipsub-1.2": 4,
    }
)


def streams_of(group: NodeGroup) -> tuple[str, ...]:
    """What a node of that protocol speaks, the oldest first."""
    return _STREAMS[: _NEWEST.get(group.protocol, len(_STREAMS))] if group.is_pubsub else (MEMPOOL,)


def common_stream(a: Node, b: Node) -> str | None:
    """The newest protocol that both speak, as the one who dials would have it."""
    shared = [stream for stream in a.streams if stream in b.streams]
    if a.family != b.family or not shared:
        return None
    return shared[-1]


@frozen(eq=False)
class Connection:
    """One connection, the same value at both ends; bytes of an earlier one are nobody's."""

    dialler: Peer
    other: Peer
    stream: str


@define(eq=False)
class Node:
    """One node. Its clock is in whole milliseconds, and behind the network's by less than one."""

    number: Peer
    group: NodeGroup
    config: Config
    driver: Driver
    streams: tuple[str, ...]
    family: int
    links: dict[Peer, Connection] = field(factory=dict)
    greeted: set[Peer] = field(factory=set)
    """Neighbours that it has written to since they connected."""
    heard: set[Peer] = field(factory=set)
    """Neighbours that have written to it."""
    is_up: bool = True
    failed: str = ""
    clock_ms: int = 0
    beat_ms: int | None = None
    """When its next heartbeat is due."""
    joined: set[str] = field(factory=set)
    first: dict[bytes, tuple[Peer, Carried]] = field(factory=dict)
    """Id -> who brought the first copy (itself, for its own), and what that was."""
    published: int = 0
    mesh: dict[str, frozenset[Peer]] = field(factory=dict)
    backoffs: dict[tuple[str, Peer], int] = field(factory=dict)
    routes: frozenset[tuple[Peer, Peer]] = frozenset()

    @property
    def is_pubsub(self) -> bool:
        return self.group.is_pubsub

    @property
    def is_alive(self) -> bool:
        return self.is_up and not self.failed

    @property
    def patience_ms(self) -> int | None:
        """CAT: how long it waits for what it has asked for."""
        version = VERSIONS.get(self.group.protocol)
        return None if version is None else version.timeout_ms

    def slices(self, to_ms: int) -> Iterator[tuple[bool, int]]:
        """The way to `to_ms`, cut at heartbeats: (whether it ends in one, milliseconds). Moves the clock."""
        while self.clock_ms < to_ms or (self.beat_ms is not None and self.beat_ms <= to_ms):
            beat = self.beat_ms is not None and self.beat_ms <= to_ms
            end_ms = self.beat_ms if beat and self.beat_ms is not None else to_ms
            passed_ms, self.clock_ms = end_ms - self.clock_ms, end_ms
            if beat and self.config.parameters is not None:
                self.beat_ms = end_ms + self.config.parameters.heartbeat_interval_ms
            yield beat, passed_ms

    def ask(self, request: Callable[[Driver], Reply]) -> Reply:
        """One request to the driver. Raises AdapterError that names the node."""
        try:
            return request(self.driver)
        except AdapterError as error:
            raise AdapterError(f"node {self.number} ({self.group.router}): {error}") from error


def open_nodes(scenario: Scenario) -> list[Node]:
    """Every node of a scenario, started, at time 0 with no connections.

    Raises ScenarioError for a router that can not be a node, AdapterError for one that can not run here.
    """
    groups = [group for group in scenario.nodes for _ in range(group.count)]
    if scenario.mixed:
        Random(f"{scenario.seed}/groups").shuffle(groups)
    phases = Random(f"{scenario.seed}/heartbeats")
    nodes: list[Node] = []
    try:
        for number, group in enumerate(groups):
            nodes.append(_opened(scenario, number, group, phases))
    except BaseException:
        for node in nodes:
            node.driver.close()
        raise
    return nodes


def _opened(scenario: Scenario, number: Peer, group: NodeGroup, phases: Random) -> Node:
    config = config_of(scenario, number, group, phases)
    try:
        driver = open_router(group.router, config)
    except ValueError as error:
        raise ScenarioError(f"nodes: {error}; `quidnunc routers` lists what can be driven") from None
    _demand(driver, group, config)
    fixed = dict(driver.hello.fixed)
    if fixed and config.parameters is not None:
        # What the router sets for itself is what it is judged by.
        config = evolve(config, parameters=_with(config.parameters, fixed))
    return Node(
        number=number,
        group=group,
        config=config,
        driver=driver,
        streams=streams_of(group),
        family=family_of(group.protocol, group.is_pubsub),
        beat_ms=config.parameters.heartbeat_delay_ms if config.parameters is not None else None,
    )


def config_of(scenario: Scenario, number: Peer, group: NodeGroup, phases: Random) -> Config:
    """How one node is opened."""
    seed = scenario.seed * SEED_STEP + number
    if not group.is_pubsub:
        return Config(
            seed=seed, protocol=group.protocol, dog=group.dog or _dog_of(group.protocol), identity=number
        )
    given = group.parameters or Parameters(message_id="content")
    changes: dict[str, Any] = {}
    if scenario.heartbeats == "spread":
        changes["heartbeat_delay_ms"] = phases.randint(1, given.heartbeat_interval_ms)
    elif given.heartbeat_delay_ms < 1:
        # A heartbeat is at the end of some time, and there is none before the start.
        changes["heartbeat_delay_ms"] = 1
    if scenario.validation.takes_time or any(
        isinstance(step, SetTopicValidationDelay) for _, step in steps_of(scenario.script, number)
    ):
        changes["validation"] = "manual"
    return Config(seed=seed, protocol=group.protocol, parameters=_with(given, changes), identity=number)


def _with(parameters: Parameters, changes: dict[str, Any]) -> Parameters:
    return evolve(parameters, **changes)


def _dog_of(protocol: str) -> DogParameters:
    """What a mempool of that protocol runs with where nothing is said: Flood is DOG switched off."""
    return DogParameters(
        dog=protocol.startswith("dog"), max_non_persistent=10 if protocol == "peer-limit" else 0
    )


def _demand(driver: Driver, group: NodeGroup, config: Config) -> None:
    """Raises ScenarioError where the driver lacks what a node of a network needs."""
    can, router = driver.hello.capabilities, group.router
    if group.protocol not in driver.hello.protocols:
        raise ScenarioError(
            f"nodes: {router} does not speak {group.protocol}; it says {', '.join(driver.hello.protocols)}"
        )
    needs = {"clock": "its time is not the network's"}
    if config.parameters is not None:
        needs["identity"] = "it would sign as node 0, whichever node it is"
        if config.parameters.validation == "manual":
            needs["verdict"] = "the application's verdicts take time in this scenario"
    for need, why in needs.items():
        if need not in can:
            raise ScenarioError(
                f"nodes: {router} can not be a node: its driver does not say {need!r}, so {why}; "
                "docs/adapters.md says what that takes"
            )
