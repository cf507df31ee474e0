"""Small networks of pubsub routers.

What one event makes a router send to one peer leaves in one RPC, subscriptions first. One clock serves all:
routers have heartbeats at different tenths of a second, in the order of their letters. A connection opens and
breaks for both ends at once, and loses what is on it. An attacker is no router: it says what it likes, when
it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

import attrs
from attrs import evolve

from quidnunc.model.events import (
    Advance,
    Connect,
    Delivered,
    Disconnect,
    Event,
    Join,
    Leave,
    PartialIn,
    Publish,
    Receive,
    Score,
    Verdict,
)
from quidnunc.model.parameters import Parameters
from quidnunc.model.pubsub import step as stepping
from quidnunc.model.pubsub.protocols import started
from quidnunc.model.pubsub.router import BACKOFF_SWEEP_HEARTBEATS, Router
from quidnunc.model.rpc import ROUTER, Message, Peer
from quidnunc.model.versions import STREAM_PROTOCOLS
from quidnunc.properties.networks.acts import Act, Kind, name_of
from quidnunc.properties.networks.choices import Rpc, as_seen_by, resolved_sends, rpcs_of
from quidnunc.properties.networks.network import (
    ActExecution,
    Link,
    Move,
    Network,
    NetworkFamily,
    NodeSetup,
    NodeStep,
)
from quidnunc.properties.networks.runs import ActError

TOPIC = "t"
MAX_SETTLING = 2000
"""Deliveries after which a network that does not come to rest is given up."""
PHASE_MS = 100
"""Between the heartbeats of one router and the next."""

PubsubNetwork: TypeAlias = Network[Router]
PubsubMove: TypeAlias = Move[Router]
RouterStep: TypeAlias = NodeStep[Router]


def _phased(setups: Iterable[NodeSetup]) -> Iterator[NodeSetup]:
    """The nodes in the order of their letters, each with a heartbeat of its own."""
    for at, each in enumerate(sorted(setups, key=lambda setup: setup.name), 1):
        parameters = each.parameters or Parameters()
        yield evolve(each, parameters=evolve(parameters, heartbeat_delay_ms=PHASE_MS * at))


def _start(setups: Iterable[NodeSetup]) -> Mapping[Peer, Router]:
    return {each.name: started(each.protocol, each.parameters) for each in setups}


# -- steps --------------------------------------------------------------------------------------------------


def _step(running: ActExecution, node: Peer, before: Router, event: Event | None) -> RouterStep:
    assert event is not None
    found = stepping.step(before, event, running.told)
    sent = resolved_sends(found.permits, running.told)
    delivered = tuple(o.output.message.id for o in found.permits if isinstance(o.output, Delivered))
    if isinstance(event, Publish):
        delivered = (event.message.id,)
    elif delivered and not any(o.must for o in found.permits if isinstance(o.output, Delivered)):
        delivered = ()
    handed = tuple(o.output.part for o in found.permits if o.must and isinstance(o.output, PartialIn))
    return NodeStep(node, before, event, found.router, tuple(sent), delivered, handed)


def _reaches(running: ActExecution, node: Peer, peer: Peer) -> bool:
    return peer in running.nodes and peer in running.nodes[node].peers


def _receive(running: ActExecution, sender: Peer, node: Peer, rpc: Rpc) -> None:
    running.step(node, Receive((sender,), tuple(as_seen_by(node, part) for part in rpc)))


def settle(running: ActExecution) -> None:
    """Everything that is on its way arrives, and what waits for a verdict is accepted."""
    for _ in range(MAX_SETTLING):
        pending = sorted({(sender, node) for node, queue in running.inbox.items() for sender, _ in queue})
        for a, b in pending:
            _receive(running, a, b, running.take(a, b))
        waiting = [(i, m) for i, r in sorted(running.nodes.items()) for m in r.waiting]
        for node, message_id in waiting:
            running.step(node, Verdict(message_id, "accept"))
        if not pending and not waiting:
            return
    raise ActError("the network does not come to rest")


def until_heartbeat_of(running: ActExecution, node: Peer) -> None:
    """Time passes to the next heartbeat of `node`; heartbeats of others on the way are run."""
    ran = False
    while not ran:
        due = {i: stepping.until_heartbeat_ms(r) for i, r in running.nodes.items()}
        ms = min(due.values())
        for i in sorted(running.nodes):
            running.step(i, Advance(ms))
        ran = due[node] == ms


# -- acts ---------------------------------------------------------------------------------------------------


def _stream(running: ActExecution, a: Peer, b: Peer) -> str:
    """The newest protocol of streams that both speak; an attacker speaks that of the other."""
    known = [STREAM_PROTOCOLS[running.nodes[i].protocol.name] for i in (a, b) if i in running.nodes]
    return next(each for each in known[0] if each in known[-1])


def _open(running: ActExecution, a: Peer, b: Peer) -> None:
    routers = [i for i in (a, b) if i in running.nodes]
    if a == b or not routers or len(routers) + len({a, b} & running.attackers) != 2:
        raise ActError(f"connect {name_of(a)}>{name_of(b)}: there are no two such nodes")
    stream = _stream(running, a, b)
    for i in routers:
        running.step(i, Connect((b if i == a else a,), stream, outbound=i == a))


def _connect(running: ActExecution, dials: Iterable[Link]) -> None:
    for a, b in dials:
        _open(running, a, b)


def _disconnect(running: ActExecution, act: Act) -> None:
    a, b = act.node, act.peer
    for i, j in ((a, b), (b, a)):
        running.lose(i, j)
        if i not in running.attackers:
            running.step(i, Disconnect((j,)))


def _say(running: ActExecution, act: Act) -> None:
    if act.node not in running.attackers:
        raise ActError(f"{act}: {name_of(act.node)} is no attacker")
    _receive(running, act.node, act.peer, act.parts)


def _heartbeat(running: ActExecution, act: Act) -> None:
    if act.node not in running.nodes:
        raise ActError(f"{act}: {name_of(act.node)} is no router")
    until_heartbeat_of(running, act.node)


def _rounds(running: ActExecution, act: Act) -> None:
    """Everything arrives; then each router has its heartbeat, and everything arrives again."""
    for _ in range(act.value):
        settle(running)
        for i in sorted(running.nodes):
            until_heartbeat_of(running, i)
            settle(running)


def _everybody(running: ActExecution, act: Act) -> None:
    for i in sorted(running.nodes):
        running.step(i, Join(act.topic))
    settle(running)


_ACTS: Mapping[Kind, Callable[[ActExecution, Act], None]] = {
    "join": lambda n, a: n.step(a.node, Join(a.topic, a.word == "requests", a.word != "")),
    "leave": lambda n, a: n.step(a.node, Leave(a.topic)),
    "publish": lambda n, a: n.step(a.node, Publish(Message(a.id, a.topic, ROUTER))),
    "verdict": lambda n, a: n.step(a.node, Verdict(a.id, a.judgement)),
    "score": lambda n, a: n.step(a.node, Score((a.peer,), a.value)),
    "deliver": lambda n, a: _receive(n, a.node, a.peer, n.take(a.node, a.peer)),
    "heartbeat": _heartbeat,
    "connect": lambda n, a: _open(n, a.node, a.peer),
    "disconnect": _disconnect,
    "say": _say,
    "settle": lambda n, a: settle(n),
    "rounds": _rounds,
    "all": _everybody,
}


# -- when two networks have the same future -----------------------------------------------------------------


def _quiet(network: PubsubNetwork) -> bool:
    return not network.in_flight() and not any(r.waiting for r in network.nodes.values())


def _key(network: PubsubNetwork) -> object:
    """A network, hashable, with instants relative to now."""
    # Between messages of two senders no order is kept.
    inbox = tuple((i, tuple(sorted(queue, key=lambda each: each[0]))) for i, queue in network.inbox.items())
    nodes = tuple(router_key(r) for _, r in sorted(network.nodes.items()))
    return nodes, inbox, tuple(sorted((i, got) for i, got in network.got.items()))


def router_key(r: Router) -> object:
    """A router, hashable, with instants relative to now; what has run out for good is left out."""
    now, p = r.now_ms, r.parameters
    swept_ms = BACKOFF_SWEEP_HEARTBEATS * p.heartbeat_interval_ms
    backoff = frozenset((k, max(-swept_ms, ends - now)) for k, ends in r.backoff.items())
    seen = frozenset((i, min(p.seen_ttl_ms, now - at)) for i, at in r.seen.items())
    fanout = frozenset(
        (t, f.peers, f.tentative, min(p.fanout_ttl_ms + 1, now - f.published_ms)) for t, f in r.fanout.items()
    )
    rest = (r.peers, r.topics, r.mesh, r.cached, r.windows, r.waiting, r.unwanted, r.served, r.heard)
    more = (r.perhaps_cached, r.scores, r.poor_for, r.own, r.groups, r.started, r.ledger)
    phase = (now - p.heartbeat_delay_ms) % p.heartbeat_interval_ms if now >= p.heartbeat_delay_ms else now
    return phase, backoff, seen, fanout, hashable(rest), hashable(more)


_PLAIN: frozenset[type] = frozenset({int, str, bool, frozenset, type(None)})


def hashable(value: object) -> object:
    """The same, of values that can be hashed."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, dict):
        return frozenset([(k, hashable(v)) for k, v in value.items()])
    if isinstance(value, tuple | list):
        return tuple([hashable(each) for each in value])
    names = _names(kind)  # type: ignore[arg-type]
    if names is None:
        return value
    return kind.__name__, tuple([hashable(getattr(value, name)) for name in names])


@cache
def _names(kind: Any) -> tuple[str, ...] | None:
    """None of what is no class of attrs, as a number or a rule."""
    return tuple(each.name for each in attrs.fields(kind)) if attrs.has(kind) else None


PUBSUB = NetworkFamily(
    acts=_ACTS,
    prepared=_phased,
    needs=frozenset({"clock"}),
    start=_start,
    connect=_connect,
    step=_step,
    applicable=stepping.applicable,
    rpcs=rpcs_of,
    reaches=_reaches,
    quiet=_quiet,
    key=_key,
)
