"""Nodes of a simulated network: a driver behind the seam, its clock, and what the network knows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from attrs import define, evolve, field, frozen

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import AdapterError, Config, Driver, Reply
from quidnunc.impl.wire.cat_codec import VERSIONS
from quidnunc.model.machine import family_of, protocol_named
from quidnunc.model.rpc import Peer
from quidnunc.pipeline.simulation.scenario.script import SetTopicValidationDelayInstruction, steps_of
from quidnunc.pipeline.simulation.scenario.values import NodeGroup, Scenario, ScenarioError
from quidnunc.pipeline.simulation.wire import Language, WirePayload, language_of
from quidnunc.pipeline.trace.families import NodeFamily

SEED_STEP = 100_003


def common_stream(a: SimulatedNode, b: SimulatedNode) -> str | None:
    """The newest protocol that both speak, as the one who dials would have it."""
    shared = [stream for stream in a.streams if stream in b.streams]
    if a.language != b.language or not shared:
        return None
    return shared[-1]


@frozen(eq=False)
class SimulatedConnection:
    """One connection, the same value at both ends; bytes of an earlier one are nobody's."""

    dialler: Peer
    other: Peer
    stream: str


@define(eq=False)
class SimulatedNode:
    """One node. Its clock is in whole milliseconds, and behind the network's by less than one."""

    number: Peer
    group: NodeGroup
    config: Config
    driver: Driver
    streams: tuple[str, ...]
    """What it speaks, the oldest first."""
    family: NodeFamily
    language: Language
    links: dict[Peer, SimulatedConnection] = field(factory=dict)
    greeted: set[Peer] = field(factory=set)
    """Neighbours that it has written to since they connected."""
    heard: set[Peer] = field(factory=set)
    """Neighbours that have written to it."""
    is_up: bool = True
    failed: str = ""
    clock_ms: int = 0
    beat_ms: int | None = None
    """When its next heartbeat is due."""
    interval_ms: int = 0
    """From one heartbeat to the next."""
    joined: set[str] = field(factory=set)
    first: dict[bytes, tuple[Peer, WirePayload]] = field(factory=dict)
    """Id -> who brought the first copy (itself, for its own), and what that was."""
    published: int = 0
    mesh: dict[str, frozenset[Peer]] = field(factory=dict)
    backoffs: dict[tuple[str, Peer], int] = field(factory=dict)
    routes: frozenset[tuple[Peer, Peer]] = frozenset()

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
            if beat:
                self.beat_ms = end_ms + self.interval_ms
            yield beat, passed_ms

    def ask(self, request: Callable[[Driver], Reply]) -> Reply:
        """One request to the driver. Raises AdapterError that names the node."""
        try:
            return request(self.driver)
        except AdapterError as error:
            raise AdapterError(f"node {self.number} ({self.group.router}): {error}") from error


def open_nodes(scenario: Scenario) -> list[SimulatedNode]:
    """Every node of a scenario, started, at time 0 with no connections.

    Raises ScenarioError for a router that cannot be a node, AdapterError for one that cannot run here.
    """
    groups = [group for group in scenario.nodes for _ in range(group.count)]
    if scenario.mixed:
        Random(f"{scenario.seed}/groups").shuffle(groups)
    phases = Random(f"{scenario.seed}/heartbeats")
    nodes: list[SimulatedNode] = []
    try:
        for number, group in enumerate(groups):
            nodes.append(_opened(scenario, number, group, phases))
    except BaseException:
        for node in nodes:
            node.driver.close()
        raise
    return nodes


def _opened(scenario: Scenario, number: Peer, group: NodeGroup, phases: Random) -> SimulatedNode:
    config = config_of(scenario, number, group, phases)
    try:
        driver = open_router(group.router, config)
    except ValueError as error:
        raise ScenarioError(f"nodes: {error}; see `quidnunc routers`") from None
    _demand(driver, group, config)
    fixed = dict(driver.hello.fixed)
    if fixed:
        # What the router sets for itself is what it is judged by.
        parameters: Any = config.parameters
        config = evolve(config, parameters=evolve(parameters, **fixed))
    beat_ms, interval_ms = group.family.beat_ms(config.parameters) or (None, 0)
    return SimulatedNode(
        number=number,
        group=group,
        config=config,
        driver=driver,
        streams=family_of(protocol_named(group.protocol)).streams(group.protocol)[::-1],
        family=group.family,
        language=language_of(group.protocol),
        beat_ms=beat_ms,
        interval_ms=interval_ms,
    )


def config_of(scenario: Scenario, number: Peer, group: NodeGroup, phases: Random) -> Config:
    """How one node is opened."""
    seed = scenario.seed * SEED_STEP + number
    parameters = group.family.phased(group.given, phases, scenario.heartbeats == "spread")
    if scenario.validation.takes_time or any(
        isinstance(step, SetTopicValidationDelayInstruction) for _, step in steps_of(scenario.script, number)
    ):
        parameters = group.family.judged_late(parameters)
    return Config(seed=seed, protocol=group.protocol, parameters=parameters, identity=number)


def _demand(driver: Driver, group: NodeGroup, config: Config) -> None:
    """Raises ScenarioError where the driver lacks what a node of a network needs."""
    can, router = driver.hello.capabilities, group.router
    if group.protocol not in driver.hello.protocols:
        raise ScenarioError(
            f"nodes: {router} does not speak {group.protocol}; it says {', '.join(driver.hello.protocols)}"
        )
    needs = {"clock": "its time is not the network's"}
    if group.family.has_topics:
        needs["identity"] = "it would sign as node 0, whichever node it is"
    if group.family.is_judged_late(config.parameters):
        needs["verdict"] = "the application's verdicts take time in this scenario"
    for need, why in needs.items():
        if need not in can:
            raise ScenarioError(
                f"nodes: {router} cannot be a node: its driver does not say {need!r}, so {why}; "
                "docs/adapters.md says what that takes"
            )
