"""A small network of pubsub routers of the model, with RPCs in flight and every choice named.

Each router is stepped by `quidnunc.model.step`. What one event makes a router send to one peer leaves at once
and in one RPC, subscriptions first; a link is first in, first out, and how long an RPC is on its way is the
schedule's. One clock serves all: routers have heartbeats at different tenths of a second, in the order of
their letters. A connection opens and breaks for both ends at once, and loses what is on it. An attacker is no
router: it says what it likes, when it likes. Acts are written as `quidnunc.properties.pubsub_network_acts`
says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import evolve, field, frozen, mutable

from quidnunc.model import step as stepping
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
from quidnunc.model.protocols import STREAM_PROTOCOLS, started
from quidnunc.model.router import Router
from quidnunc.model.rpc import (
    ROUTER,
    Message,
    Part,
    Partial,
    Peer,
)
from quidnunc.model.rules import Protocol
from quidnunc.properties.network_runs import ActError, Die
from quidnunc.properties.pubsub_network_acts import Act, Kind, Pick, name_of
from quidnunc.properties.pubsub_network_choices import (
    Picks,
    Rpc,
    Told,
    as_seen_by,
    first_of,
    resolved,
    rpcs_of,
)

MAX_WAYS = 64
"""How many ways one act may go, at most."""
MAX_SETTLING = 2000
"""Deliveries after which a network that does not come to rest is given up."""
PHASE_MS = 100
"""Between the heartbeats of one router and the next."""

Link = tuple[Peer, Peer]


@frozen
class Setup:
    """One node at the start."""

    name: Peer
    protocol: Protocol = field(eq=False)
    parameters: Parameters = field(factory=Parameters)


@frozen
class Network:
    """Routers, and what is on its way between them."""

    nodes: Mapping[Peer, Router]
    attackers: frozenset[Peer]
    links: Mapping[Link, tuple[Rpc, ...]]
    """(from, to) of each open stream between routers -> its RPCs, the oldest first."""
    got: Mapping[Peer, frozenset[str]]
    """Ids of what each application was handed, or has published."""

    def in_flight(self) -> bool:
        return any(self.links.values())

    def quiet(self) -> bool:
        """Nothing is on its way, and nothing waits for a verdict."""
        return not self.in_flight() and not any(r.waiting for r in self.nodes.values())

    def linked(self, a: Peer, b: Peer) -> bool:
        return b in self.nodes.get(a, _NOBODY).peers or a in self.nodes.get(b, _NOBODY).peers


@frozen
class Seen:
    """One step of one router: what happened to it, and what it did."""

    node: Peer
    before: Router
    event: Event
    after: Router
    sent: tuple[tuple[Peer, Part], ...] = ()
    delivered: tuple[str, ...] = ()
    handed: tuple[Partial, ...] = ()
    """Partial messages that the application was handed."""


@frozen
class Move:
    """One act of a run, and the steps of routers that it was made of."""

    before: Network
    act: Act
    after: Network
    steps: tuple[Seen, ...]


Does = Callable[[Peer, Router, Event], Seen]
"""(node, before, event) -> what the node does, where it is not the model that does it."""

_NOBODY = started(Protocol("nobody", {}), Parameters())


def phased(setups: Iterable[Setup]) -> Iterator[Setup]:
    """The nodes in the order of their letters, each with a heartbeat of its own."""
    for at, each in enumerate(sorted(setups, key=lambda s: s.name), 1):
        yield evolve(each, parameters=evolve(each.parameters, heartbeat_delay_ms=PHASE_MS * at))


def opened(
    setups: Iterable[Setup],
    dials: Iterable[Link] = (),
    attackers: Iterable[Peer] = (),
    does: Does | None = None,
) -> Network:
    """A network in which nothing has happened but that these connections are open, (who dialled, whom)."""
    nodes = {each.name: started(each.protocol, each.parameters) for each in phased(setups)}
    network = Network(nodes, frozenset(attackers), {}, dict.fromkeys(nodes, frozenset[str]()))
    for a, b in dials:
        network = acted(network, Act("connect", a, b), does=does).after
    return network


# -- one act ------------------------------------------------------------------------------------------------


def acted(network: Network, act: Act, pick: Picks = first_of, does: Does | None = None) -> Move:
    """The network after `act`; what it does not say of its choices, `pick` does. Raises ActError where it
    can not happen."""
    return _acted(network, act, Told(act.picks, pick), does)


def _acted(network: Network, act: Act, told: Told, does: Does | None = None) -> Move:
    nodes, links, got = dict(network.nodes), dict(network.links), dict(network.got)
    running = Running(nodes, links, got, network.attackers, told, does=does)
    _MOVES[act.kind](running, act)
    if len(act.picks) > len(told.taken):
        raise ActError(f"{act} makes {len(told.taken)} choices")
    after = Network(running.nodes, network.attackers, running.links, running.got)
    return Move(network, evolve(act, picks=told.said()), after, tuple(running.steps))


def ways(network: Network, act: Act) -> Iterator[Move]:
    """The act with each answer to each of its choices; nothing where it can not happen."""
    left: list[tuple[Pick, ...]] = [()]
    found = 0
    while left and found < MAX_WAYS:
        picks = left.pop()
        told = Told(picks)
        try:
            yield _acted(network, evolve(act, picks=picks), told)
        except ActError:
            return
        found += 1
        for at in range(len(picks), len(told.options)):
            before = tuple(told.taken[:at])
            name, usual = told.taken[at]
            others = [o for o in told.options[at] if o != usual]
            left += [(*before, (name, other)) for other in others[: MAX_WAYS - found]]


def drawn(network: Network, act: Act, die: Die) -> Move | None:
    """The act with its choices drawn; None where it can not happen."""
    try:
        return acted(network, act, lambda name, options: die.pick(options))
    except ActError:
        return None


@mutable
class Running:
    """A network while an act goes on."""

    nodes: dict[Peer, Router]
    links: dict[Link, tuple[Rpc, ...]]
    got: dict[Peer, frozenset[str]]
    attackers: frozenset[Peer]
    told: Told
    steps: list[Seen] = field(factory=list)
    does: Does | None = None
    """Who steps the nodes; None is the model."""

    def step(self, node: Peer, event: Event) -> None:
        """One event at one router. Raises ActError where it is not applicable there."""
        before = self.nodes.get(node)
        if before is None or not stepping.applicable(before, event):
            raise ActError(f"{type(event).__name__.lower()} can not happen to {name_of(node)} now")
        seen = self._by_model(node, before, event) if self.does is None else self.does(node, before, event)
        self.nodes[node] = seen.after
        self.got[node] = self.got[node] | frozenset(seen.delivered)
        for peer, rpc in rpcs_of(node, seen.sent):
            if peer not in self.attackers and (node, peer) in self.links:
                self.links[node, peer] = (*self.links[node, peer], rpc)
        self.steps.append(seen)

    def _by_model(self, node: Peer, before: Router, event: Event) -> Seen:
        found = stepping.step(before, event, self.told)
        sent = resolved(found.permits, self.told)
        delivered = tuple(o.output.message.id for o in found.permits if isinstance(o.output, Delivered))
        if isinstance(event, Publish):
            delivered = (event.message.id,)
        elif delivered and not any(o.must for o in found.permits if isinstance(o.output, Delivered)):
            delivered = ()
        handed = tuple(o.output.part for o in found.permits if o.must and isinstance(o.output, PartialIn))
        return Seen(node, before, event, found.router, tuple(sent), delivered, handed)

    def receive(self, sender: Peer, node: Peer, rpc: Rpc) -> None:
        self.step(node, Receive((sender,), tuple(as_seen_by(node, part) for part in rpc)))

    def deliver(self, a: Peer, b: Peer) -> None:
        waiting = self.links.get((a, b))
        if not waiting:
            raise ActError(f"nothing is on its way from {name_of(a)} to {name_of(b)}")
        self.links[a, b] = waiting[1:]
        self.receive(a, b, waiting[0])

    def settle(self) -> None:
        """Everything that is on its way arrives, and what waits for a verdict is accepted."""
        for _ in range(MAX_SETTLING):
            pending = [link for link, rpcs in sorted(self.links.items()) if rpcs]
            for a, b in pending:
                self.deliver(a, b)
            waiting = [(i, m) for i, r in sorted(self.nodes.items()) for m in r.waiting]
            for node, message_id in waiting:
                self.step(node, Verdict(message_id, "accept"))
            if not pending and not waiting:
                return
        raise ActError("the network does not come to rest")

    def until_heartbeat_of(self, node: Peer) -> None:
        """Time passes to the next heartbeat of `node`; heartbeats of others on the way are run."""
        ran = False
        while not ran:
            due = {i: stepping.until_heartbeat_ms(r) for i, r in self.nodes.items()}
            ms = min(due.values())
            for i in sorted(self.nodes):
                self.step(i, Advance(ms))
            ran = due[node] == ms


# -- acts ---------------------------------------------------------------------------------------------------


def _stream(running: Running, a: Peer, b: Peer) -> str:
    """The newest protocol of streams that both speak; an attacker speaks that of the other."""
    known = [STREAM_PROTOCOLS[running.nodes[i].protocol.name] for i in (a, b) if i in running.nodes]
    return next(each for each in known[0] if each in known[-1])


def _connect(running: Running, act: Act) -> None:
    a, b = act.node, act.peer
    routers = [i for i in (a, b) if i in running.nodes]
    if a == b or not routers or len(routers) + len({a, b} & running.attackers) != 2:
        raise ActError(f"{act}: there are no two such nodes")
    stream = _stream(running, a, b)
    if len(routers) == 2:
        running.links |= {(a, b): (), (b, a): ()}
    for i in routers:
        running.step(i, Connect((b if i == a else a,), stream, outbound=i == a))


def _disconnect(running: Running, act: Act) -> None:
    a, b = act.node, act.peer
    for i, j in ((a, b), (b, a)):
        running.links.pop((i, j), None)
        if i not in running.attackers:
            running.step(i, Disconnect((j,)))


def _say(running: Running, act: Act) -> None:
    if act.node not in running.attackers:
        raise ActError(f"{act}: {name_of(act.node)} is no attacker")
    running.receive(act.node, act.peer, act.parts)


def _heartbeat(running: Running, act: Act) -> None:
    if act.node not in running.nodes:
        raise ActError(f"{act}: {name_of(act.node)} is no router")
    running.until_heartbeat_of(act.node)


def _rounds(running: Running, act: Act) -> None:
    for _ in range(act.value):
        one_round(running)


def one_round(running: Running) -> None:
    """Everything arrives; then each router has its heartbeat, and everything arrives again."""
    running.settle()
    for i in sorted(running.nodes):
        running.until_heartbeat_of(i)
        running.settle()


def _everybody(running: Running, act: Act) -> None:
    for i in sorted(running.nodes):
        running.step(i, Join(act.topic))
    running.settle()


_MOVES: Mapping[Kind, Callable[[Running, Act], None]] = {
    "join": lambda n, a: n.step(a.node, Join(a.topic, a.word == "requests", a.word != "")),
    "leave": lambda n, a: n.step(a.node, Leave(a.topic)),
    "publish": lambda n, a: n.step(a.node, Publish(Message(a.id, a.topic, ROUTER))),
    "verdict": lambda n, a: n.step(a.node, Verdict(a.id, a.judgement)),
    "score": lambda n, a: n.step(a.node, Score((a.peer,), a.value)),
    "deliver": lambda n, a: n.deliver(a.node, a.peer),
    "heartbeat": _heartbeat,
    "connect": _connect,
    "disconnect": _disconnect,
    "say": _say,
    "settle": lambda n, a: n.settle(),
    "rounds": _rounds,
    "all": _everybody,
}
