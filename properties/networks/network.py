"""Small networks of model nodes, of either family, with messages in flight and every choice named.

Each node is stepped by the model. What a node sends goes on its way at once; how long that takes is the
schedule's, and what one node sends to another arrives in order. An act of the schedule may take several steps
of nodes. What pubsub routers and mempool nodes do differently is a `NetworkFamily`; acts are written as
`quidnunc.properties.networks.acts` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from attrs import evolve, field, frozen, mutable

from quidnunc.model.events import Event
from quidnunc.model.rpc import Part, Partial, Peer
from quidnunc.model.rules import Protocol
from quidnunc.properties.networks.acts import Act, Kind, Pick, name_of
from quidnunc.properties.networks.choices import NamedChoices, Picks, Rpc, first_of
from quidnunc.properties.networks.runs import ActError, Die

MAX_WAYS = 64
"""How many ways one act may go, at most."""

Link: TypeAlias = tuple[Peer, Peer]
Read: TypeAlias = Callable[[Peer, Peer, Part], tuple[Part, ...] | None]
"""(writer, reader, what was written) -> what is read; None where the reader closes the connection."""
N = TypeVar("N")
"""A router or a node of the model."""


@frozen
class NodeSetup:
    """One node at the start."""

    name: Peer
    protocol: Protocol = field(eq=False)
    parameters: Any = None
    """Those of its family; None for the usual ones."""


@frozen
class Transport:
    """How messages travel."""

    one_queue: bool = False
    """All messages to a node are in one queue, as dog.md has them."""
    leaver_keeps: bool = False
    """As dog.md has it, who leaves keeps its state and its queue, and what it sent is still taken. Otherwise
    it starts anew, and what is on a broken connection is lost."""
    routines: bool = False
    """A node has a routine for each peer and one for its controller, and each can be overtaken (`begin`)."""
    read: Read | None = field(default=None, eq=False)
    """What a node makes of the messages of another one; None where all speak alike."""


@frozen
class Network(Generic[N]):
    """Nodes, and what is on its way to each."""

    family: NetworkFamily = field(eq=False, repr=False)
    nodes: Mapping[Peer, N]
    inbox: Mapping[Peer, tuple[tuple[Peer, Rpc], ...]]
    """Node -> (sender, RPC), the oldest first."""
    attackers: frozenset[Peer] = frozenset()
    transport: Transport = Transport()
    got: Mapping[Peer, frozenset[str]] = field(factory=dict)
    """Of pubsub: ids of what each application was handed, or has published."""
    offered: Mapping[Peer, int] = field(factory=dict)
    """Of mempools: how many of each node's pool have been offered."""
    begun: Mapping[Link, Part | int | tuple[int, int]] = field(factory=dict)
    """Of mempools: (node, whose routine of it) -> what the routine has begun and not ended: what it is about
    to say, the number of routes that it is about to report, or the counters that the controller has read."""

    @property
    def links(self) -> dict[Link, tuple[Rpc, ...]]:
        """(from, to) of each open stream between nodes -> its RPCs, the oldest first."""
        nodes: Mapping[Peer, Any] = self.nodes
        pairs = ((a, b) for a, n in nodes.items() for b in n.peers if b in nodes)
        return {(a, b): tuple(rpc for sender, rpc in self.inbox[b] if sender == a) for a, b in pairs}

    def waiting(self, node: Peer) -> list[tuple[Peer, Part]]:
        """(sender, part) of all that is on its way to a node."""
        return [(sender, part) for sender, rpc in self.inbox[node] for part in rpc]

    def in_flight(self) -> bool:
        return any(self.inbox.values())

    def quiet(self) -> bool:
        """Nothing moves by itself any more."""
        return self.family.quiet(self)

    def key(self) -> object:
        """Equal, and hashable, where the future is the same."""
        return self.family.key(self)

    def linked(self, a: Peer, b: Peer) -> bool:
        nodes: Mapping[Peer, Any] = self.nodes
        return any(i in nodes and j in nodes[i].peers for i, j in ((a, b), (b, a)))

    def joined(self) -> list[Peer]:
        """Who has peers: a mempool node without any takes no part."""
        nodes: Mapping[Peer, Any] = self.nodes
        return [i for i, n in nodes.items() if n.peers]

    def gone_from(self, node: Peer) -> list[Peer]:
        """Peers that have left, which the node has not noticed."""
        nodes: Mapping[Peer, Any] = self.nodes
        return [p for p in nodes[node].peers if node not in nodes[p].peers]


@frozen
class NodeStep(Generic[N]):
    """One step of one node: what happened to it, and what it did."""

    node: Peer
    before: N
    event: Event | None
    """None, where it has offered the next of its pool, or said what it liked."""
    after: N
    sent: tuple[tuple[Peer, Part], ...] = ()
    delivered: tuple[str, ...] = ()
    handed: tuple[Partial, ...] = ()
    """Partial messages that the application was handed."""


@frozen
class Move(Generic[N]):
    """One act of a run, and the steps of nodes that it was made of."""

    before: Network[N]
    act: Act
    after: Network[N]
    steps: tuple[NodeStep[N], ...]

    @property
    def sent(self) -> list[tuple[Peer, Part, Peer]]:
        """(by whom, what, to whom)"""
        return [(step.node, part, peer) for step in self.steps for peer, part in step.sent]


Does: TypeAlias = Callable[[Peer, Any, "Event | None"], NodeStep[Any]]
"""(node, before, event) -> what the node does, where it is not the model that does it."""


@frozen(kw_only=True)
class NetworkFamily:
    """What a small network needs of one family of protocols."""

    acts: Mapping[Kind, Callable[[ActExecution, Act], None]]
    start: Callable[[Iterable[NodeSetup]], Mapping[Peer, Any]]
    """The nodes, before they are connected."""
    connect: Callable[[ActExecution, Iterable[Link]], None]
    """Opens these connections: (who dialled, whom)."""
    step: Callable[[ActExecution, Peer, Any, Event | None], NodeStep[Any]]
    """(execution, node, before, event): a step by the model. Raises ActError where it cannot happen."""
    applicable: Callable[[Any, Event], bool]
    """(node, event): whether it can happen to the node."""
    rpcs: Callable[[Peer, Iterable[tuple[Peer, Part]]], Iterable[tuple[Peer, Rpc]]]
    """(sender, (to whom, what)) -> the RPCs in which it goes."""
    reaches: Callable[[ActExecution, Peer, Peer], bool]
    """(execution, from, to): whether what is sent goes on its way."""
    quiet: Callable[[Network[Any]], bool]
    key: Callable[[Network[Any]], object]
    prepared: Callable[[Iterable[NodeSetup]], Iterable[NodeSetup]]
    """Nodes as they are set up in a network of several."""
    needs: frozenset[str] = frozenset()
    """Capabilities without which a real router cannot be a node."""
    attackers_are_nodes: bool = False
    """An attacker is a node that lies besides; otherwise it is none."""
    letter: str = "m"
    """Ids of messages begin with it."""
    even_ways: bool = False
    """A drawn act is one of its ways, each as likely; otherwise each of its choices is drawn."""
    usual: frozenset[str] = frozenset()
    """Questions of the model that are no choice in such a network."""


def opened(
    family: NetworkFamily,
    setups: Sequence[NodeSetup],
    dials: Iterable[Link] = (),
    *,
    attackers: Iterable[Peer] = (),
    transport: Transport = Transport(),
    does: Does | None = None,
) -> Network[Any]:
    """A network in which nothing has happened but that these connections are open, (who dialled, whom)."""
    nodes = family.start(family.prepared(sorted(setups, key=lambda each: each.name)))
    empty: Mapping[Peer, Any] = dict.fromkeys(nodes, ())
    got, offered = dict.fromkeys(nodes, frozenset[str]()), dict.fromkeys(nodes, 0)
    network = Network[Any](family, nodes, empty, frozenset(attackers), transport, got, offered)
    running = _running(network, (), first_of, does)
    family.connect(running, dials)
    return running.network()


# -- one act ------------------------------------------------------------------------------------------------


def network_after(network: Network[N], act: Act, pick: Picks = first_of, does: Does | None = None) -> Move[N]:
    """What `act` leads to; what it does not say of its choices, `pick` does. Raises ActError where it cannot
    happen."""
    return _acted(network, act, _running(network, act.picks, pick, does))


def _running(network: Network[Any], picks: tuple[Pick, ...], pick: Picks, does: Does | None) -> ActExecution:
    return ActExecution(
        network,
        dict(network.nodes),
        dict(network.inbox),
        dict(network.got),
        dict(network.offered),
        dict(network.begun),
        NamedChoices(picks, pick, network.family.usual),
        does=does,
    )


def _acted(network: Network[N], act: Act, running: ActExecution) -> Move[N]:
    handle = network.family.acts.get(act.kind)
    if handle is None:
        raise ActError(f"{act}: no act of such a network")
    handle(running, act)
    if len(act.picks) > len(running.told.taken):
        raise ActError(f"{act} makes {len(running.told.taken)} choices")
    return Move(network, evolve(act, picks=running.told.said()), running.network(), tuple(running.steps))


def act_variants(network: Network[N], act: Act) -> Iterator[Move[N]]:
    """The act with each answer to each of its choices; nothing where it cannot happen."""
    left: list[tuple[Pick, ...]] = [()]
    found = 0
    while left and found < MAX_WAYS:
        picks = left.pop()
        running = _running(network, picks, first_of, None)
        try:
            yield _acted(network, evolve(act, picks=picks), running)
        except ActError:
            return
        found += 1
        told = running.told
        for at in range(len(picks), len(told.options)):
            before = tuple(told.taken[:at])
            name, usual = told.taken[at]
            others = [o for o in told.options[at] if o != usual]
            left += [(*before, (name, other)) for other in others[: MAX_WAYS - found]]


def drawn(network: Network[N], act: Act, die: Die) -> Move[N] | None:
    """The act with its choices drawn; None where it cannot happen."""
    if network.family.even_ways:
        ways = [*act_variants(network, act)]
        return die.pick(ways) if ways else None
    try:
        return network_after(network, act, lambda name, options: die.pick(options))
    except ActError:
        return None


@mutable
class ActExecution:
    """A network while an act goes on."""

    before: Network[Any]
    nodes: dict[Peer, Any]
    inbox: dict[Peer, tuple[tuple[Peer, Rpc], ...]]
    got: dict[Peer, frozenset[str]]
    offered: dict[Peer, int]
    begun: dict[Link, Part | int | tuple[int, int]]
    told: NamedChoices
    steps: list[NodeStep[Any]] = field(factory=list)
    does: Does | None = None
    """Who steps the nodes; None is the model."""

    @property
    def attackers(self) -> frozenset[Peer]:
        return self.before.attackers

    @property
    def transport(self) -> Transport:
        return self.before.transport

    def network(self) -> Network[Any]:
        """As it is now."""
        return evolve(
            self.before,
            nodes=self.nodes,
            inbox=self.inbox,
            got=self.got,
            offered=self.offered,
            begun=self.begun,
        )

    def step(self, node: Peer, event: Event | None) -> None:
        """One event at one node. Raises ActError where it is not applicable there."""
        before = self.nodes.get(node)
        if before is None or (event is not None and not self.before.family.applicable(before, event)):
            raise ActError(f"{type(event).__name__.lower()} cannot happen to {name_of(node)} now")
        if self.does is None:
            seen = self.before.family.step(self, node, before, event)
        else:
            seen = self.does(node, before, event)
        self.nodes[node] = seen.after
        self.got[node] |= frozenset(seen.delivered)
        self.send(node, seen.sent)
        self.steps.append(seen)

    def send(self, node: Peer, sent: Iterable[tuple[Peer, Part]]) -> None:
        """What a node says goes on its way."""
        for peer, rpc in self.before.family.rpcs(node, sent):
            if self.before.family.reaches(self, node, peer):
                self.inbox[peer] = (*self.inbox[peer], (node, rpc))

    def say(self, node: Peer, peer: Peer, parts: Rpc) -> None:
        """What a node likes to say goes on its way, whatever the protocol has."""
        state = self.nodes[node]
        sent = tuple((peer, part) for part in parts)
        self.send(node, sent)
        self.steps.append(NodeStep(node, state, None, state, sent))

    def take(self, sender: Peer, node: Peer) -> Rpc:
        """The oldest RPC from `sender`, which is off its way now. Raises ActError where there is none."""
        waiting = self.inbox.get(node, ())
        at = next((at for at, (by, _) in enumerate(waiting) if by == sender), None)
        if at is None or (self.transport.one_queue and at):
            raise ActError(f"nothing is on its way from {name_of(sender)} to {name_of(node)}")
        self.inbox[node] = waiting[:at] + waiting[at + 1 :]
        return waiting[at][1]

    def lose(self, sender: Peer, node: Peer) -> None:
        """What is on its way from one to the other gets lost."""
        if node in self.inbox:
            self.inbox[node] = tuple(each for each in self.inbox[node] if each[0] != sender)
