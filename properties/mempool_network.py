"""A small network of mempool nodes of the model, with messages in flight and every choice named.

Each node is stepped by `quidnunc.model.node_step`. What the model decides at once and a network does later
is taken apart: a transaction is offered to the peers by a step of its own (D), in the order of the pool. A
link is first in, first out; which link moves next is the schedule's. Acts are written as
`quidnunc.properties.mempool_network_acts` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

from attrs import evolve, field, frozen, mutable

from quidnunc.model import node_step
from quidnunc.model.choices import PartialSet, Reveals, SuchThat, subsets
from quidnunc.model.events import (
    MEMPOOL,
    Adjust,
    Advance,
    Connect,
    Disconnect,
    Event,
    Output,
    Receive,
    Sent,
    Submit,
)
from quidnunc.model.flood import Shown
from quidnunc.model.node import Node, started_node
from quidnunc.model.parameters import DogParameters
from quidnunc.model.permits import Step
from quidnunc.model.rpc import Part, Peer, ResetRoute, Tx
from quidnunc.model.rules import Protocol, Targets, first, phases
from quidnunc.properties.mempool_network_acts import Act, Kind, Picks, name_of
from quidnunc.properties.network_runs import ActError

MAX_PICKS = 64
"""How many ways one act may go, at most."""


Read: TypeAlias = Callable[[Peer, Peer, Part], tuple[Part, ...] | None]
"""(writer, reader, what was written) -> what is read; None where the reader closes the connection."""


@frozen
class Rules:
    """What a network is made of."""

    protocol: Protocol = field(eq=False)
    parameters: DogParameters = field(factory=DogParameters)
    one_queue: bool = False
    """All messages to a node are in one queue, as dog.md has them."""
    leaver_keeps: bool = False
    """As dog.md has it, who leaves keeps its state and its queue, and what it sent is still taken. Otherwise
    it starts anew, and what is on a broken connection is lost."""
    read: Read | None = field(default=None, eq=False)
    """What a node makes of the messages of another one; None where all speak alike."""


@frozen
class Network:
    """Nodes, and what is on its way to each: (sender, part), the oldest first."""

    rules: Rules
    nodes: Mapping[Peer, Node]
    inbox: Mapping[Peer, tuple[tuple[Peer, Part], ...]]
    offered: Mapping[Peer, int]
    """How many of each node's pool have been offered."""

    def key(self) -> object:
        """Equal, and hashable, where the future is the same."""
        return tuple((i, _node_key(n), self.inbox[i], self.offered[i]) for i, n in self.nodes.items())

    def joined(self) -> list[Peer]:
        """Who has peers: a node without any takes no part."""
        return [i for i, n in self.nodes.items() if n.peers]

    def gone_from(self, node: Peer) -> list[Peer]:
        """Peers that have left, which the node has not noticed."""
        return [p for p in self.nodes[node].peers if node not in self.nodes[p].peers]

    def quiet(self) -> bool:
        """Nothing that waits can be taken, and nothing is left to offer."""
        return all(self.next_act(i) is None for i in self.joined())

    def next_act(self, node: Peer) -> Act | None:
        """What a node does next by itself: it takes its oldest message, or it offers the next of its pool."""
        waiting = self.inbox[node]
        if waiting and takes(self, node, waiting[0]):
            return Act("R", node, waiting[0][:1])
        left = offers(self.nodes[node].protocol) and self.offered[node] < len(self.nodes[node].pool)
        return Act("D", node) if left else None


@frozen
class Moved:
    """The network after an act, and what was sent by whom."""

    network: Network
    sent: tuple[tuple[Peer, Sent], ...] = ()


def offers(protocol: Protocol) -> bool:
    """Whether its nodes offer their pool (Flood and what is built on it), or announce it (CAT)."""
    return "targets" in protocol.handlers


def started(
    rules: Rules,
    links: Iterable[tuple[Peer, Peer]],
    nodes: Iterable[Peer] = (),
    own: Mapping[Peer, tuple[Protocol, DogParameters]] | None = None,
) -> Network:
    """A network in which nothing has happened but that these links are open. Nodes in `own` have a protocol
    and parameters of their own."""
    rules = evolve(rules, protocol=_offering_late(rules.protocol))
    pairs = sorted(links)
    names = sorted({*nodes, *(i for pair in pairs for i in pair)})
    made = dict.fromkeys(names, started_node(rules.protocol, rules.parameters))
    made |= {i: started_node(_offering_late(p), parameters) for i, (p, parameters) in (own or {}).items()}
    network = Network(rules, made, dict.fromkeys(names, ()), dict.fromkeys(names, 0))
    total, told = Moved(network), Told()
    for a, b in sorted((*pairs, *((b, a) for a, b in pairs))):
        total = _connected(total, a, b, told)
    return total.network


def _offering_late(protocol: Protocol) -> Protocol:
    """Where nodes offer their pool: the offer is the network's own step, so that it can be late."""
    if not offers(protocol):
        return protocol
    connecting = protocol.handlers.get("connect", phases()).rules
    others = (each for each in connecting if each.name != "offer_pool")
    return protocol.extended(protocol.name, forward=first(), connect=phases(*others))


# -- one act ------------------------------------------------------------------------------------------------


@mutable
class Told:
    """An oracle that is told its answers, and notes what they could have been; untold, it takes the first."""

    answers: Picks = ()
    options: list[list[frozenset[Peer]]] = field(factory=list)
    taken: list[frozenset[Peer]] = field(factory=list)

    def fired(self, clause: str) -> None:
        return None

    def take(self, options: Sequence[frozenset[Peer]]) -> frozenset[Peer]:
        """One of `options`. Raises ActError where what it was told is none of them."""
        at = len(self.taken)
        found = self.answers[at] if at < len(self.answers) else options[0]
        if found not in options:
            raise ActError(f"{name_of(*sorted(found)) or 'nobody'} can not be chosen here")
        if len(options) > 1:
            self.options.append([*options])
            self.taken.append(found)
        return found

    def some(
        self,
        name: str,
        clause: str,
        among: Targets,
        count: tuple[int, int],
        *,
        reveals: Reveals,
        such_that: SuchThat | None = None,
    ) -> frozenset[Peer]:
        return self.take([*subsets(among.all, count, such_that)][:MAX_PICKS] or [frozenset()])

    def hidden(self, name: str, among: PartialSet) -> PartialSet:
        return PartialSet.of(among.all - self.take(_freed(among)))

    def whether(self, name: str, shows: Callable[[Output], bool], default: bool = False) -> bool:
        return default


def acted(network: Network, act: Act) -> Moved:
    """The network after `act`. Raises ActError where it can not happen."""
    moved, told = _acted(network, act)
    if len(act.picks) > len(told.taken):
        raise ActError(f"{act} makes {len(told.taken)} choices")
    return moved


def ways(network: Network, act: Act) -> Iterator[tuple[Act, Moved]]:
    """The act with each answer to each of its choices; nothing where it can not happen."""
    left: list[Picks] = [()]
    while left:
        picks = left.pop()
        try:
            moved, told = _acted(network, evolve(act, picks=picks))
        except ActError:
            return
        yield evolve(act, picks=tuple(told.taken)), moved
        for at in range(len(picks), len(told.options)):
            others = [o for o in told.options[at] if o != told.taken[at]]
            left += [(*told.taken[:at], other) for other in others[: MAX_PICKS - len(left)]]


def _acted(network: Network, act: Act) -> tuple[Moved, Told]:
    told = Told(act.picks)
    moved = _MOVES[act.kind](network, act, told)
    return moved, told


def _stepped(network: Network, node: Peer, event: Event, told: Told) -> Moved:
    after = node_step.step(network.nodes[node], event, told)
    return _settled(network, node, after, told)


def _settled(network: Network, node: Peer, after: Step[Node], told: Told) -> Moved:
    """With the node as it is now, its obligations sent, and what it keeps to itself known."""
    n = after.router
    for target, known in n.routes.items():
        if known.may:
            n = n.with_disabled_to(target, told.hidden("reset.route", known))
    for name, known in n.slots.items():
        if known.may:
            n = n.with_slots(name, told.hidden("slot.freed", known))
    network = evolve(network, nodes={**network.nodes, node: n})
    return _sent(network, node, [p.output for p in after.permits if p.must and isinstance(p.output, Sent)])


def _sent(network: Network, node: Peer, outputs: Iterable[Sent]) -> Moved:
    inbox, said = dict(network.inbox), [(node, each) for each in outputs]
    for _, each in said:
        if network.rules.leaver_keeps or node in network.nodes[each.peer].peers:
            inbox[each.peer] = (*inbox[each.peer], (node, each.part))
    return Moved(evolve(network, inbox=inbox), tuple(said))


def _submit(network: Network, act: Act, told: Told) -> Moved:
    _in_network(network, act)
    return _stepped(network, act.node, Submit(act.tx), told)


def _offer(network: Network, act: Act, told: Told) -> Moved:
    _in_network(network, act)
    at, n = network.offered[act.node], network.nodes[act.node]
    if not offers(n.protocol) or at >= len(n.pool):
        raise ActError(f"{act}: nothing is left to offer")
    tx = [*n.pool][at]
    targets = n.protocol.set_of("targets", n, tx, told)
    chosen = told.take([*subsets(targets.may, (0, len(targets.may)), None)]) if targets.may else frozenset()
    shown = node_step.run(n, "shown", Shown(tx, targets.may, chosen), told) if targets.may else Step(n)
    network = evolve(network, offered={**network.offered, act.node: at + 1})
    moved = _settled(network, act.node, shown, told)
    return _sent(moved.network, act.node, [Sent(p, Tx(tx)) for p in sorted(targets.must | chosen)])


def _receive(network: Network, act: Act, told: Told) -> Moved:
    _in_network(network, act)
    waiting = network.inbox[act.node]
    found = next((i for i, (sender, _) in enumerate(waiting) if (sender,) == act.peers), None)
    if found is None or (network.rules.one_queue and found):
        raise ActError(f"{act}: there is no message to take")
    if not takes(network, act.node, waiting[found]):
        raise ActError(f"{act}: the message waits for a route to free")
    left = waiting[:found] + waiting[found + 1 :]
    network = evolve(network, inbox={**network.inbox, act.node: left})
    sender, part = waiting[found]
    read = network.rules.read(sender, act.node, part) if network.rules.read is not None else (part,)
    if read is None:
        return _closed(network, act.node, sender, told)
    return _stepped(network, act.node, Receive(act.peers, read), told)


def _closed(network: Network, one: Peer, other: Peer, told: Told) -> Moved:
    """The connection of two is closed: both notice, and what is on it is lost."""
    total = Moved(network)
    for node, peer in ((one, other), (other, one)):
        inbox = total.network.inbox
        left = tuple(each for each in inbox[node] if each[0] != peer)
        cut = evolve(total.network, inbox={**inbox, node: left})
        if peer in cut.nodes[node].peers:
            more = _stepped(cut, node, Disconnect((peer,)), told)
            total = Moved(more.network, total.sent + more.sent)
        else:
            total = evolve(total, network=cut)
    return total


def takes(network: Network, node: Peer, message: tuple[Peer, Part]) -> bool:
    """The published text can not take a ResetRoute that finds no disabled route."""
    n = network.nodes[node]
    stuck = n.reads("one-inbox") and isinstance(message[1], ResetRoute)
    return not stuck or bool(n.disabled_to(message[0]).most)


def _forge(network: Network, act: Act, told: Told) -> Moved:
    _in_network(network, act)
    (sender,) = act.peers
    if act.part is None or sender not in network.nodes[act.node].peers:
        raise ActError(f"{act}: {name_of(sender)} is no peer")
    return _sent(network, sender, [Sent(act.node, act.part)])


def _adjust(network: Network, act: Act, told: Told) -> Moved:
    _in_network(network, act)
    if "adjust" not in network.nodes[act.node].protocol.handlers:
        raise ActError(f"{act}: there is no controller")
    return _stepped(network, act.node, Adjust(), told)


def _leave(network: Network, act: Act, told: Told) -> Moved:
    _in_network(network, act)
    n, inbox, offered = network.nodes[act.node], dict(network.inbox), dict(network.offered)
    if network.rules.leaver_keeps:
        n = evolve(n, peers={})
    else:
        n, inbox[act.node], offered[act.node] = started_node(n.protocol, n.parameters), (), 0
    return Moved(evolve(network, nodes={**network.nodes, act.node: n}, inbox=inbox, offered=offered))


def _notice(network: Network, act: Act, told: Told) -> Moved:
    _in_network(network, act)
    if act.peers[0] not in network.gone_from(act.node):
        raise ActError(f"{act}: {name_of(*act.peers)} has not left")
    if not network.rules.leaver_keeps:
        left = tuple(each for each in network.inbox[act.node] if (each[0],) != act.peers)
        network = evolve(network, inbox={**network.inbox, act.node: left})
    return _stepped(network, act.node, Disconnect(act.peers), told)


def _join(network: Network, act: Act, told: Told) -> Moved:
    if network.nodes[act.node].peers or not act.peers:
        raise ActError(f"{act}: {name_of(act.node)} is in the network, or would join nobody")
    if not all(network.nodes[p].peers for p in act.peers):
        raise ActError(f"{act}: who is joined must be in the network")
    if not network.rules.leaver_keeps and any(act.node in network.nodes[p].peers for p in act.peers):
        raise ActError(f"{act}: a peer has not noticed yet that {name_of(act.node)} had left")
    total = Moved(network)
    for p in act.peers:
        total = _connected(total, act.node, p, told)
        if act.node not in network.nodes[p].peers:
            total = _connected(total, p, act.node, told)
    return total


def _connected(total: Moved, node: Peer, peer: Peer, told: Told) -> Moved:
    more = _stepped(total.network, node, Connect((peer,), MEMPOOL), told)
    return Moved(more.network, total.sent + more.sent)


def _wait(network: Network, act: Act, told: Told) -> Moved:
    if "tick" not in network.nodes[act.node].protocol.handlers:
        raise ActError(f"{act}: there is no clock")
    return _stepped(network, act.node, Advance(act.ms), told)


def _in_network(network: Network, act: Act) -> None:
    if act.node not in network.nodes or not network.nodes[act.node].peers:
        raise ActError(f"{act}: {name_of(act.node)} has no peers")


_MOVES: Mapping[Kind, Callable[[Network, Act, Told], Moved]] = {
    "U": _submit,
    "D": _offer,
    "R": _receive,
    "A": _adjust,
    "X": _leave,
    "L": _notice,
    "J": _join,
    "W": _wait,
    "F": _forge,
}


def _freed(known: PartialSet) -> list[frozenset[Peer]]:
    """What may have left a set of which only its size is known."""
    sizes = range(max(0, known.least - len(known.must)), known.most - len(known.must) + 1)
    kept = [frozenset(each) for size in sizes for each in combinations(sorted(known.may), size)]
    return [known.may - each for each in kept][:MAX_PICKS]


def _node_key(n: Node) -> object:
    routes = tuple((target, known.must) for target, known in sorted(n.routes.items()) if known.must)
    wanted = tuple((tx, each.of, each.due_ms, tuple(each.asked.items())) for tx, each in n.wanted.items())
    slots = tuple((name, known.must) for name, known in n.slots.items())
    counters = (n.first_time, n.duplicates, n.blocked, n.now_ms, n.idle)
    known = (tuple(n.pool.items()), n.own, tuple(n.holders.items()), wanted)
    return (tuple(n.peers), routes, counters, slots, known)
