"""The trace of a simulated network, router by router: each one's events replayed beside the model.

A node stands in the trace under its own peer id. For the model a router is peer 0, so a node's events are
told with its number and 0 exchanged. Time is the events' own: between two of them it passes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import attrs
from attrs import evolve, field, frozen, mutable

from quidnunc.impl.seam import AdapterError, Config, Hello
from quidnunc.impl.seam.sidecar_json import config_of, init_of
from quidnunc.impl.wire.keys import peer_id, peer_of
from quidnunc.model.events import Advance, Event, Output, Sent, Verdict
from quidnunc.model.machine import family_of, protocol_named
from quidnunc.model.rpc import Peer, atoms
from quidnunc.model.rules import Protocol
from quidnunc.pipeline.trace.events import (
    DeliverMessage,
    HeartbeatEvent,
    JoinEvent,
    LeaveEvent,
    PublishMessage,
    RunStart,
    TimeAdvance,
    TraceEvent,
)
from quidnunc.pipeline.trace.families import node_family
from quidnunc.pipeline.trace.files import TraceRecord
from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.pipeline.trace.vocabulary import event_of_body, output_of_body
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import Moment, Play

SCHEMA = 1
NS_PER_MS = 1_000_000
MAX_NODES = 10_000
MAX_EVENTS = 5_000_000
"""Of one run, in memory; a larger trace needs the pipeline on Spark."""
T = TypeVar("T")


@frozen
class NodeEvent:
    """One event of a node and what it did, both as the model has them."""

    event: Event
    outputs: tuple[Output, ...]
    at_ms: int
    place: str


@frozen(kw_only=True)
class NodeKind:
    """What several nodes have in common."""

    router: str
    config: Config
    hello: Hello


@mutable
class NodeRun:
    """What one node lived through."""

    number: Peer
    kind: NodeKind
    config: Config
    told: list[NodeEvent] = field(factory=list)


@frozen
class NetworkRun:
    """One run of one network."""

    name: str
    manifest: Mapping[str, Any]
    nodes: tuple[NodeRun, ...]
    place: str


# -- the manifest -------------------------------------------------------------------------------------------


def manifest_of(nodes: Sequence[Any], scenario: Mapping[str, Any]) -> dict[str, Any]:
    """What the RUN event of a network says: how each node was opened, and the scenario."""
    kinds: dict[str, int] = {}
    listed = []
    for node in nodes:
        config: Config = node.config
        hello: Hello = node.driver.hello
        plain = evolve(config, seed=0, identity=0)
        family = node_family(config.protocol)
        plain = evolve(plain, parameters=family.numbered(plain.parameters, 1, lambda peer: peer))
        kind = {
            "router": node.group.router,
            "name": hello.name,
            "version": hello.version,
            "capabilities": sorted(hello.capabilities),
            "init": init_of(plain),
        }
        at = kinds.setdefault(json.dumps(kind, sort_keys=True), len(kinds))
        delay_ms, _ = family.beat_ms(config.parameters) or (0, 0)
        listed.append([at, config.seed, delay_ms])
    return {
        "schema": SCHEMA,
        "source": "simulate",
        "clock": "simulation",
        "completeness": "full",
        "kinds": [json.loads(kind) for kind in kinds],
        "nodes": listed,
        "scenario": dict(scenario),
    }


def _nodes_of(manifest: Mapping[str, Any], place: str) -> list[NodeRun]:
    try:
        kinds = [_kind(each) for each in manifest["kinds"]]
        listed = [(int(kind), int(seed), int(delay_ms)) for kind, seed, delay_ms in manifest["nodes"]]
        if len(listed) > MAX_NODES or not all(0 <= kind < len(kinds) for kind, _, _ in listed):
            raise ValueError(f"{len(listed)} nodes of {len(kinds)} kinds")
        return [
            NodeRun(number, kinds[kind], _config(kinds[kind].config, number, seed, delay_ms))
            for number, (kind, seed, delay_ms) in enumerate(listed)
        ]
    except (AttributeError, KeyError, TypeError, ValueError, AdapterError) as error:
        raise TraceError(f"{place}: the manifest of a simulated network: {error}") from None


def _kind(plain: Mapping[str, Any]) -> NodeKind:
    config = config_of(plain["init"])
    expected = type(node_family(config.protocol).parameters(config.protocol))
    if not isinstance(config.parameters, expected):
        raise ValueError(f"{config.protocol} without {expected.__name__}")
    hello = Hello(
        name=str(plain["name"]),
        version=str(plain["version"]),
        protocols=(config.protocol,),
        capabilities=frozenset(map(str, plain["capabilities"])),
    )
    return NodeKind(router=str(plain["router"]), config=config, hello=hello)


def _config(config: Config, number: Peer, seed: int, delay_ms: int) -> Config:
    family = node_family(config.protocol)
    parameters = family.numbered(config.parameters, delay_ms, lambda peer: _swapped(peer, number))
    return evolve(config, parameters=parameters, seed=seed, identity=number)


# -- reading ------------------------------------------------------------------------------------------------


def is_of_network(event: TraceEvent) -> bool:
    """Whether a trace that begins so is one of a simulated network."""
    return isinstance(event.body, RunStart) and '"source": "simulate"' in (event.body.manifest or "")


def network_runs(records: Iterable[TraceRecord]) -> Iterator[NetworkRun]:
    """Each run of a trace, with the events of every node told as the model has them.

    Raises TraceError with the place of what cannot be told.
    """
    run: NetworkRun | None = None
    count = 0
    for record in records:
        place = f"{record.file}:{record.position}"
        event = record.event
        if isinstance(event.body, RunStart):
            if run is not None:
                yield run
            run, count = _started(event.body, place), 0
            continue
        if run is None:
            raise TraceError(f"{place}: a network's trace begins with a RUN event, got {event.type.enum}")
        count += 1
        if count > MAX_EVENTS:
            raise TraceError(f"{place}: more than {MAX_EVENTS} events in one run")
        number = peer_of(event.peer) if event.peer is not None else None
        if number is None or number >= len(run.nodes) or event.at_ns is None:
            raise TraceError(f"{place}: an event of no node of the run, or without its time")
        try:
            _take(run.nodes[number], event, place)
        except TraceError as error:
            raise TraceError(f"{place}: {error}") from None
    if run is not None:
        yield run


def _started(body: RunStart, place: str) -> NetworkRun:
    try:
        manifest = json.loads(body.manifest or "")
    except (ValueError, RecursionError):
        raise TraceError(f"{place}: the run's manifest is not JSON") from None
    if not isinstance(manifest, dict) or manifest.get("source") != "simulate":
        raise TraceError(f"{place}: not the trace of a simulated network")
    nodes = _nodes_of(manifest, place)
    for node in nodes:
        # Ids are looked up by the integers that they were made of.
        peer_id(node.number)
    return NetworkRun(body.name or "", manifest, tuple(nodes), place)


_OF_TOPICS = (JoinEvent, LeaveEvent, PublishMessage, DeliverMessage)
"""Of a mempool these are for metrics: the model knows transactions by what is submitted and sent."""


def _take(node: NodeRun, event: TraceEvent, place: str) -> None:
    body = event.body
    assert event.at_ns is not None
    at_ms = event.at_ns // NS_PER_MS
    if isinstance(body, _OF_TOPICS) and not node_family(node.config.protocol).has_topics:
        return
    if isinstance(body, HeartbeatEvent | TimeAdvance):
        # How long it was is said by the times: the node was woken before.
        node.told.append(NodeEvent(Advance(1), (), at_ms, place))
        return
    happened = event_of_body(body)
    if happened is not None:
        node.told.append(NodeEvent(seen_from(happened, node.number), (), at_ms, place))
        return
    outputs = tuple(_atomic(seen_from(output_of_body(body), node.number)))
    if outputs:
        if not node.told:
            raise TraceError(f"node {node.number} acts before anything has happened to it")
        last = node.told[-1]
        node.told[-1] = evolve(last, outputs=(*last.outputs, *outputs))


def _atomic(outputs: Iterable[Output]) -> Iterator[Output]:
    for output in outputs:
        if isinstance(output, Sent):
            yield from (Sent(output.peer, atom) for atom in atoms(output.part))
        else:
            yield output


_NAMES_PEERS = frozenset({"peer", "peers", "author"})
_fields: dict[type, tuple[str, ...]] = {}


def _swapped(peer: Peer, own: Peer) -> Peer:
    return 0 if peer == own else own if peer == 0 else peer


def seen_from(value: T, own: Peer) -> T:
    """A value of the vocabulary as node `own` would say it if it were peer 0."""
    return value if own == 0 else _seen(value, own)


def _seen(value: Any, own: Peer) -> Any:
    if isinstance(value, tuple):
        return tuple([_seen(each, own) for each in value])
    kind = type(value)
    if not attrs.has(kind):
        return value
    if kind not in _fields:
        _fields[kind] = tuple(a.name for a in attrs.fields(kind))
    changes: dict[str, Any] = {}
    for name in _fields[kind]:
        held = getattr(value, name)
        if name in _NAMES_PEERS:
            if isinstance(held, tuple):
                changes[name] = tuple([_swapped(p, own) for p in held])
            elif held is not None:
                changes[name] = _swapped(held, own)
        elif isinstance(held, tuple) or attrs.has(type(held)):
            changes[name] = _seen(held, own)
    return evolve(value, **changes) if changes else value


# -- the model beside a node --------------------------------------------------------------------------------


@mutable
class _RecordedNode:
    """Stands where a router does: says what the trace has it say."""

    hello: Hello
    outputs: tuple[Output, ...] = ()

    def do(self, event: Event) -> tuple[Output, ...]:
        return self.outputs

    def declare(self, messages: object) -> None:
        """Ids are in the trace."""

    def close(self) -> None:
        """There is nothing to close."""


@frozen(kw_only=True)
class NodeReplay:
    """What came of one node's replay."""

    node: NodeRun
    steps: int
    applied: Counter[str]
    departures: tuple[Departure, ...] = ()
    """Of the first event at which it departs; what comes after that is not judged."""
    sequence: int = 0
    """The number of that event among the node's, from 0."""
    blurred: bool = False
    """A choice could not be seen in the trace, and the replay ends there."""
    left_out: int = 0
    """Events that cannot happen to the model then: a verdict on what no longer waits, say."""
    moments: tuple[Moment, ...] = ()
    """All that was played, the departure last."""


def judge_node(node: NodeRun, protocol: Protocol | None = None) -> NodeReplay:
    """Replay a node's events beside the model, to its first departure. `protocol`: with quirks in force."""
    protocol = protocol or protocol_named(node.config.protocol)
    subject = _RecordedNode(node.kind.hello)
    played = Play(subject, Oracle(protocol, node.config.parameters))
    clock_ms = left_out = 0
    for at, told in enumerate(node.told):
        steps = _due(played, told, clock_ms)
        clock_ms = max(clock_ms, told.at_ms)
        for event, outputs in steps:
            if not played.oracle.applicable(event):
                if outputs and not isinstance(event, Verdict):
                    raise TraceError(f"{told.place}: {event!r} cannot happen there")
                left_out += 1
                continue
            subject.outputs = outputs
            departures = played.do(event)
            if departures or played.blurred:
                return _judged(node, played, left_out, at, departures)
    return _judged(node, played, left_out, len(node.told), ())


def _judged(
    node: NodeRun, played: Play, left_out: int, at: int, departures: tuple[Departure, ...]
) -> NodeReplay:
    return NodeReplay(
        node=node,
        steps=played.steps,
        applied=played.applied,
        departures=departures,
        sequence=at,
        blurred=played.blurred,
        left_out=left_out,
        moments=tuple(played.moments),
    )


def _due(played: Play, told: NodeEvent, clock_ms: int) -> Iterator[tuple[Event, tuple[Output, ...]]]:
    """The time that has passed, one timer edge at a time, and then the event itself.

    What a heartbeat does is told with the time that ends in it.
    """
    left_ms = told.at_ms - clock_ms
    is_time = isinstance(told.event, Advance)
    if is_time and told.outputs and left_ms <= 0:
        raise TraceError(f"{told.place}: a heartbeat, and no time has passed since the one before")
    while left_ms > 0:
        slice_ms = min(left_ms, family_of(played.oracle.protocol).until_tick_ms(played.oracle.state))
        left_ms -= slice_ms
        yield Advance(slice_ms), (told.outputs if is_time and left_ms == 0 else ())
    if not is_time:
        yield told.event, told.outputs
