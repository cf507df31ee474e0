"""Runs of our Quint text of DOG, replayed on the model: the third oracle.

A trace is in the Informal Trace Format, taken by the released Quint with its actions and picks (`--mbt`).
Each action becomes an act of the network of `quidnunc.properties.networks.mempool`; after every step
what the model is in must be what Quint says, node by node and field by field. Quint's picks name the act;
where the model leaves it open how the act goes (whom a controller asks, which route is freed), one of its
ways must agree.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, cast

from attrs import field, fields, frozen

from quidnunc.model.errors import SpecError
from quidnunc.model.rpc import HaveTx, Part, Peer, ResetRoute, Tx
from quidnunc.properties.networks.acts import Act, name_of, node_named
from quidnunc.properties.networks.mempool import MEMPOOL, MempoolNetwork
from quidnunc.properties.networks.network import NodeSetup, act_variants, opened
from quidnunc.properties.networks.places import Revision
from quidnunc.properties.statements.dog.revisions import quint_revision

Value: TypeAlias = object
"""Of the format, decoded: text, int, bool, tuple, frozenset; dict for records and for maps of text."""

MAX_TRACE_BYTES = 4 << 20
MAX_STATES = 1000
TRACES = Path(__file__).parent / "traces"


class QuintTraceError(ValueError):
    """A file that is no trace of our Quint text. The message names the file and the place."""


@frozen
class NodeView:
    """One node, as far as both texts speak of it."""

    peers: frozenset[str]
    inbox: tuple[tuple[str, Part], ...]
    cache: frozenset[str]
    pool: tuple[str, ...]
    offered: int
    senders: Mapping[str, tuple[str, ...]]
    """Only of transactions that have one."""
    disabled: frozenset[tuple[str, str]]
    """Routes as (source, target)."""
    first_time: int
    duplicates: int
    blocked: bool


@frozen
class QuintStep:
    """One state of a trace, and the action that led to it."""

    action: str
    picks: Mapping[str, Value]
    nodes: Mapping[str, NodeView]


@frozen
class QuintDisagreement:
    """Where model and trace part: `node` and `field` are empty where the model cannot take the step."""

    step: int
    action: str
    node: str = ""
    field: str = ""
    trace: object = None
    model: object = None

    def __str__(self) -> str:
        if not self.node:
            return f"step {self.step}, {self.action}: the model cannot take it"
        where = f"{self.field} of {self.node}"
        return f"step {self.step}, {self.action}: {where} is {self.trace} in Quint, {self.model} in the model"


@frozen
class QuintReplay:
    """A trace replayed: how many steps agreed, and where it ended if not at the end."""

    steps: int
    departs: QuintDisagreement | None = None
    actions: tuple[str, ...] = field(factory=tuple)


# -- reading ------------------------------------------------------------------------------------------------


def read_trace(path: Path) -> tuple[QuintStep, ...]:
    """The states of an ITF file, the first one the initial state. Raises TraceError."""
    if path.stat().st_size > MAX_TRACE_BYTES:
        raise QuintTraceError(f"{path}: larger than {MAX_TRACE_BYTES} bytes")
    try:
        return steps_of(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise QuintTraceError(f"{path}: no trace of dog.qnt taken with --mbt: {error!r}") from error


def steps_of(trace: Mapping[str, object]) -> tuple[QuintStep, ...]:
    """The states of an ITF object. Raises ValueError, KeyError or TypeError where it is none of dog.qnt."""
    states = cast("Sequence[Mapping[str, object]]", trace["states"])
    if len(states) > MAX_STATES:
        raise ValueError(f"{len(states)} states, at most {MAX_STATES} are read")
    return tuple(_step_of(state) for state in states)


def _step_of(state: Mapping[str, object]) -> QuintStep:
    (name,) = [key for key in state if key.split("::")[-1] == "nodes"]
    picks = cast("Mapping[str, Mapping[str, object]]", state["mbt::nondetPicks"])
    chosen = {key: decoded(each["value"]) for key, each in picks.items() if each["tag"] == "Some"}
    nodes = cast("dict[str, dict[str, Value]]", decoded(state[name]))
    return QuintStep(
        str(state["mbt::actionTaken"]), chosen, {key: _seen(each) for key, each in nodes.items()}
    )


def decoded(value: object) -> Value:
    """One value of the format."""
    if isinstance(value, list):
        return tuple(map(decoded, value))
    if not isinstance(value, dict):
        return value
    if "#bigint" in value:
        return int(value["#bigint"])
    if "#set" in value:
        return frozenset(_hashable(decoded(each)) for each in value["#set"])
    if "#tup" in value:
        return tuple(map(decoded, value["#tup"]))
    if "#map" in value:
        return {key: decoded(each) for key, each in value["#map"]}
    return {key: decoded(each) for key, each in value.items()}


def _hashable(value: Value) -> Value:
    return tuple(sorted(value.items())) if isinstance(value, dict) else value


def _seen(node: dict[str, Value]) -> NodeView:
    senders = cast("dict[str, tuple[str, ...]]", node["senders"])
    routes = cast("frozenset[tuple[tuple[str, str], ...]]", node["disabled"])
    waiting = cast("tuple[dict[str, object], ...]", node["inbox"])
    pairs = (dict(route) for route in routes)
    return NodeView(
        peers=cast("frozenset[str]", node["peers"]),
        inbox=tuple((str(each["sender"]), _part(each["message"])) for each in waiting),
        cache=cast("frozenset[str]", node["cache"]),
        pool=cast("tuple[str, ...]", node["pool"]),
        offered=cast("int", node["offered"]),
        senders={tx: each for tx, each in senders.items() if each},
        disabled=frozenset((pair["source"], pair["target"]) for pair in pairs),
        first_time=cast("int", node["firstTime"]),
        duplicates=cast("int", node["duplicates"]),
        blocked=cast("bool", node["blocked"]),
    )


def _part(message: object) -> Part:
    tag = cast("dict[str, str]", message)["tag"]
    if tag == "ResetRoute":
        return ResetRoute()
    kinds: dict[str, type[Tx | HaveTx]] = {"Tx": Tx, "HaveTx": HaveTx}
    return kinds[tag](cast("dict[str, str]", message)["value"])


# -- the model, seen in the same way ------------------------------------------------------------------------


def seen_nodes(network: MempoolNetwork) -> dict[str, NodeView]:
    """Every node of the network as a trace would show it."""
    return {name_of(i): _seen_node(network, i) for i in network.nodes}


def _seen_node(network: MempoolNetwork, node: Peer) -> NodeView:
    n = network.nodes[node]
    return NodeView(
        peers=frozenset(map(name_of, n.peers)),
        inbox=tuple((name_of(sender), part) for sender, part in network.waiting(node)),
        cache=n.cache,
        pool=tuple(n.pool),
        offered=network.offered[node],
        senders={tx: tuple(map(name_of, each)) for tx, each in n.pool.items() if each},
        disabled=frozenset(
            (name_of(source), name_of(target)) for target, known in n.routes.items() for source in known.must
        ),
        first_time=n.first_time,
        duplicates=n.duplicates,
        blocked=bool(n.blocked),
    )


# -- replaying ----------------------------------------------------------------------------------------------


def replay_trace(trace: Sequence[QuintStep], revision: Revision | None = None) -> QuintReplay:
    """Take the trace's steps in the model, to its end or to where they part."""
    network = _network(trace[0], revision or quint_revision())
    found = difference(network, trace[0], 0)
    for at, step in enumerate(trace[1:], 1):
        if found is not None:
            break
        network, found = _replayed_step(network, step, at)
    reached = len(trace) - 1 if found is None else found.step - 1
    return QuintReplay(reached, found, tuple(step.action for step in trace[1:]))


def _network(start: QuintStep, revision: Revision) -> MempoolNetwork:
    links = [(node_named(a), node_named(b)) for a, each in start.nodes.items() for b in each.peers if a < b]
    nodes = sorted({*(i for link in links for i in link), *map(node_named, start.nodes)})
    setups = [NodeSetup(i, revision.protocol, revision.parameters) for i in nodes]
    return opened(MEMPOOL, setups, links, transport=revision.transport)


def _replayed_step(
    network: MempoolNetwork, step: QuintStep, at: int
) -> tuple[MempoolNetwork, QuintDisagreement | None]:
    closest: tuple[MempoolNetwork, QuintDisagreement] = (network, QuintDisagreement(at, step.action))
    for move in act_variants(network, act_taken(network, step)):
        found = difference(move.after, step, at)
        if found is None:
            return move.after, None
        closest = (move.after, found)
    return closest


def act_taken(network: MempoolNetwork, step: QuintStep) -> Act:
    """The act that an action of the Quint text with its picks is. Raises SpecError for another action."""
    if step.action not in _ACTS:
        raise SpecError(f"no act for the action {step.action!r} of the trace: {', '.join(_ACTS)}")
    return _ACTS[step.action](network, node_named(str(step.picks["node"])), step.picks)


def _receive(network: MempoolNetwork, node: Peer, picks: Mapping[str, Value]) -> Act:
    waiting = network.inbox[node]
    return Act("deliver", waiting[0][0] if waiting else 0, node)


_ACTS: Mapping[str, Callable[[MempoolNetwork, Peer, Mapping[str, Value]], Act]] = {
    "submit": lambda network, node, picks: Act("submit", node, id=str(picks["tx"])),
    "receive": _receive,
    "disseminate": lambda network, node, picks: Act("offer", node),
    "adjust": lambda network, node, picks: Act("adjust", node),
    "leave": lambda network, node, picks: Act("leave", node),
    "notice": lambda network, node, picks: Act("notice", node, node_named(str(picks["lost"]))),
    "join": lambda network, node, picks: Act(
        "join", node, peers=tuple(sorted(map(node_named, cast("frozenset[str]", picks["chosen"]))))
    ),
}


def difference(network: MempoolNetwork, step: QuintStep, at: int) -> QuintDisagreement | None:
    """The first field in which the network is not in the trace's state."""
    return next(_differences(seen_nodes(network), step, at), None)


def _differences(model: Mapping[str, NodeView], step: QuintStep, at: int) -> Iterator[QuintDisagreement]:
    for node, theirs in step.nodes.items():
        ours = model[node]
        for each in fields(NodeView):
            was, now = getattr(theirs, each.name), getattr(ours, each.name)
            if was != now:
                yield QuintDisagreement(at, step.action, node, each.name, was, now)
