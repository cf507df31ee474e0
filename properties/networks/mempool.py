"""Small networks of mempool nodes.

What the model decides at once and a network does later is taken apart: a transaction is offered to the peers
by an act of its own, in the order of the pool. Which of the messages to a node moves next is the schedule's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from attrs import evolve

from quidnunc.model.choices import subsets
from quidnunc.model.events import MEMPOOL as MEMPOOL_STREAM
from quidnunc.model.events import Adjust, Advance, Commit, Connect, Disconnect, Event, Receive, Sent, Submit
from quidnunc.model.mempool import node_step
from quidnunc.model.mempool.cat import rules as cat
from quidnunc.model.mempool.flood import FloodObservation
from quidnunc.model.mempool.node import Node, started_node
from quidnunc.model.parameters import DogParameters
from quidnunc.model.permits import Step
from quidnunc.model.rpc import HaveTx, Part, Peer, ResetRoute, Tx, WantTx
from quidnunc.model.rules import Protocol, first, phases
from quidnunc.properties.networks.acts import Act, Kind, name_of
from quidnunc.properties.networks.choices import Rpc
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

MempoolNetwork: TypeAlias = Network[Node]
MempoolMove: TypeAlias = Move[Node]


def offers(protocol: Protocol) -> bool:
    """Whether its nodes offer their pool (Flood and what is built on it), or announce it (CAT)."""
    return "targets" in protocol.handlers


def offering_late(protocol: Protocol) -> Protocol:
    """Where nodes offer their pool: the offer is the network's own step, so that it can be late."""
    if not offers(protocol):
        return protocol
    connecting = protocol.handlers.get("connect", phases()).rules
    others = (each for each in connecting if each.name != "offer_pool")
    return protocol.extended(protocol.name, forward=first(), connect=phases(*others))


def _prepared(setups: Iterable[NodeSetup]) -> Iterator[NodeSetup]:
    yield from (evolve(each, parameters=each.parameters or DogParameters()) for each in setups)


def _start(setups: Iterable[NodeSetup]) -> Mapping[Peer, Node]:
    return {each.name: started_node(offering_late(each.protocol), each.parameters) for each in setups}


# -- steps --------------------------------------------------------------------------------------------------


def _step(running: ActExecution, node: Peer, before: Node, event: Event | None) -> NodeStep[Node]:
    """One event, or the offer of the next of the pool; what the node keeps to itself is known after it."""
    after, chosen = (
        _offer(running, node, before) if event is None else (node_step.step(before, event, running.told), ())
    )
    n = after.router
    for target, known in n.routes.items():
        if known.may:
            n = n.with_disabled_to(target, running.told.hidden("routes.kept", known))
    for name, known in n.slots.items():
        if known.may:
            n = n.with_slots(name, running.told.hidden("slots.kept", known))
    owed = (p.output for p in after.permits if p.must and isinstance(p.output, Sent))
    return NodeStep(node, before, event, n, (*((o.peer, o.part) for o in owed), *chosen))


def _offer(running: ActExecution, node: Peer, n: Node) -> tuple[Step[Node], tuple[tuple[Peer, Part], ...]]:
    tx = [*n.pool][running.offered[node]]
    targets = n.protocol.set_of("targets", n, tx, running.told)
    if not targets.may:
        return Step(n), tuple((p, Tx(tx)) for p in sorted(targets.must))
    chosen = running.told.some_of("offer.to", subsets(targets.may, (0, len(targets.may)), None))
    shown = node_step.run(n, "shown", FloodObservation(tx, targets.may, chosen), running.told)
    return shown, tuple((p, Tx(tx)) for p in sorted(targets.must | chosen))


def _rpcs(node: Peer, sent: Iterable[tuple[Peer, Part]]) -> Iterator[tuple[Peer, Rpc]]:
    yield from ((peer, (part,)) for peer, part in sent)


def _reaches(running: ActExecution, node: Peer, peer: Peer) -> bool:
    return running.transport.leaver_keeps or node in running.nodes[peer].peers


def takes(network: MempoolNetwork, node: Peer, message: tuple[Peer, Rpc]) -> bool:
    """The published text cannot take a ResetRoute that finds no disabled route."""
    return _takes(network.nodes[node], message)


def _takes(n: Node, message: tuple[Peer, Rpc]) -> bool:
    sender, (part, *_) = message
    stuck = n.reads("one-inbox") and isinstance(part, ResetRoute)
    return not stuck or bool(n.disabled_to(sender).most)


# -- acts ---------------------------------------------------------------------------------------------------


def _present(running: ActExecution, act: Act) -> Node:
    n = running.nodes.get(act.at)
    if n is None or not n.peers:
        raise ActError(f"{act}: {name_of(act.at)} has no peers")
    found: Node = n
    return found


def _submit(running: ActExecution, act: Act) -> None:
    _present(running, act)
    running.step(act.node, Submit(act.id))


def _offer_next(running: ActExecution, act: Act) -> None:
    n, at = _present(running, act), running.offered[act.node]
    if not offers(n.protocol) or at >= len(n.pool):
        raise ActError(f"{act}: nothing is left to offer")
    running.step(act.node, None)
    running.offered[act.node] = at + 1


def _deliver(running: ActExecution, act: Act) -> None:
    n, sender = _present(running, act), act.node
    if (act.peer, sender) in running.begun:
        _end(running, act.peer, sender)
        return
    rpc = running.take(sender, act.peer)
    if not _takes(n, (sender, rpc)):
        raise ActError(f"{act}: the message waits for a route to free")
    read = running.transport.read
    parts = read(sender, act.peer, rpc[0]) if read is not None else rpc
    if parts is None:
        _close(running, act.peer, sender)
    else:
        running.step(act.peer, Receive((sender,), parts))


def _close(running: ActExecution, one: Peer, other: Peer) -> None:
    """The connection of two is closed: both notice, and what is on it is lost."""
    for node, peer in ((one, other), (other, one)):
        running.lose(peer, node)
        if peer in running.nodes[node].peers:
            running.step(node, Disconnect((peer,)))
            running.begun.pop((node, peer), None)


def _say(running: ActExecution, act: Act) -> None:
    if act.node not in _present(running, act).peers:
        raise ActError(f"{act}: {name_of(act.node)} is no peer")
    running.say(act.node, act.peer, act.parts)


def _adjust(running: ActExecution, act: Act) -> None:
    if "adjust" not in _present(running, act).protocol.handlers:
        raise ActError(f"{act}: there is no controller")
    read = running.begun.pop((act.node, act.node), None)
    if isinstance(read, tuple):
        n = running.nodes[act.node]
        running.nodes[act.node] = evolve(n, first_time=read[0], duplicates=read[1])
    running.step(act.node, Adjust())


def _begin(running: ActExecution, act: Act) -> None:
    """The routine of a node for a peer, or its controller, comes to where another one can come in between.

    As the Go nodes have them: before it says HaveTx or WantTx, when it has read that it may; before it
    reports the number of disabled routes, when it has counted them; before it sets its counters to 0, when it
    has read them.
    """
    n, routine = _present(running, act), act.node
    if not running.transport.routines or running.does is not None or (act.at, routine) in running.begun:
        raise ActError(f"{act}: a step of this node is done at once, or the routine has begun one")
    if not act.peer:
        if "adjust" not in n.protocol.handlers or not n.first_time + n.duplicates:
            raise ActError(f"{act}: there is no controller, or nothing has come")
        running.begun[routine, routine] = (n.first_time, n.duplicates)
        return
    rpc = running.take(routine, act.peer)
    running.step(act.peer, Receive((routine,), rpc))
    last, part = running.steps[-1], rpc[0]
    asked = [said for to, said in last.sent if to == routine and isinstance(said, HaveTx | WantTx)]
    if asked:
        # It is not said yet, and what follows from saying it has not happened.
        (running.begun[act.peer, routine],) = asked
        running.inbox[routine] = running.before.inbox[routine]
        running.nodes[act.peer] = evolve(last.after, blocked=n.blocked, wanted=n.wanted)
        running.steps[-1] = evolve(last, after=running.nodes[act.peer], sent=())
    elif isinstance(part, HaveTx | ResetRoute) and last.after.routes != n.routes:
        running.begun[act.peer, routine] = sum(len(known.must) for known in last.after.routes.values())
    else:
        raise ActError(f"{act}: no other routine can come in between")


def _end(running: ActExecution, node: Peer, routine: Peer) -> None:
    """What the routine of a node for a peer has begun is ended."""
    n, part = running.nodes[node], running.begun.pop((node, routine))
    if isinstance(part, HaveTx):
        running.say(node, routine, (part,))
        running.nodes[node] = evolve(n, blocked=True)
    elif isinstance(part, WantTx):
        running.say(node, routine, (part,))
        waiting = n.wanted.get(part.id)
        if part.id not in n.pool and (waiting is None or waiting.of is None):
            # Otherwise one is waited for already, and this request is in no book.
            running.nodes[node] = cat.ask(n, part.id, routine, "cat-classic/seen.request").router


def _commit(running: ActExecution, act: Act) -> None:
    n = _present(running, act)
    if act.id not in n.pool:
        raise ActError(f"{act}: it is not in the pool")
    at = [*n.pool].index(act.id)
    running.step(act.node, Commit(act.id))
    if offers(n.protocol) and at < running.offered[act.node]:
        running.offered[act.node] -= 1


def _linked(running: ActExecution, act: Act) -> bool:
    if offers(running.nodes[act.node].protocol):
        raise ActError(f"{act}: who offers its pool leaves and joins")
    return act.peer in running.nodes[act.node].peers and act.node in running.nodes[act.peer].peers


def _break(running: ActExecution, act: Act) -> None:
    if not _linked(running, act):
        raise ActError(f"{act}: they are not connected")
    _close(running, act.node, act.peer)


def _make(running: ActExecution, act: Act) -> None:
    if _linked(running, act) or act.node == act.peer:
        raise ActError(f"{act}: they are connected")
    running.step(act.node, Connect((act.peer,), MEMPOOL_STREAM))
    running.step(act.peer, Connect((act.node,), MEMPOOL_STREAM))


def _leave(running: ActExecution, act: Act) -> None:
    n = _present(running, act)
    if running.does is not None:
        raise ActError(f"{act}: nobody leaves or joins a network of routers here")
    if running.transport.leaver_keeps:
        running.nodes[act.node] = evolve(n, peers={})
    else:
        running.nodes[act.node] = started_node(n.protocol, n.parameters)
        running.inbox[act.node], running.offered[act.node] = (), 0
    for begun in [each for each in running.begun if each[0] == act.node]:
        del running.begun[begun]


def _notice(running: ActExecution, act: Act) -> None:
    _present(running, act)
    if act.peer not in running.network().gone_from(act.node):
        raise ActError(f"{act}: {name_of(act.peer)} has not left")
    if not running.transport.leaver_keeps:
        running.lose(act.peer, act.node)
    running.begun.pop((act.node, act.peer), None)
    running.step(act.node, Disconnect((act.peer,)))


def _join(running: ActExecution, act: Act) -> None:
    nodes, node = dict(running.nodes), act.node
    if nodes[node].peers or not act.peers:
        raise ActError(f"{act}: {name_of(node)} is in the network, or would join nobody")
    if not all(nodes[p].peers for p in act.peers):
        raise ActError(f"{act}: who is joined must be in the network")
    if not running.transport.leaver_keeps and any(node in nodes[p].peers for p in act.peers):
        raise ActError(f"{act}: a peer has not noticed yet that {name_of(node)} had left")
    for p in act.peers:
        running.step(node, Connect((p,), MEMPOOL_STREAM))
        if node not in nodes[p].peers:
            running.step(p, Connect((node,), MEMPOOL_STREAM))


def _connect(running: ActExecution, dials: Iterable[Link]) -> None:
    pairs = [*dials]
    for a, b in sorted((*pairs, *((b, a) for a, b in pairs))):
        running.step(a, Connect((b,), MEMPOOL_STREAM))


def _wait(running: ActExecution, act: Act) -> None:
    n = running.nodes.get(act.node)
    if n is None or "tick" not in n.protocol.handlers:
        raise ActError(f"{act}: there is no clock")
    running.step(act.node, Advance(act.value))


_ACTS: Mapping[Kind, Callable[[ActExecution, Act], None]] = {
    "submit": _submit,
    "offer": _offer_next,
    "deliver": _deliver,
    "adjust": _adjust,
    "leave": _leave,
    "notice": _notice,
    "join": _join,
    "wait": _wait,
    "say": _say,
    "commit": _commit,
    "begin": _begin,
    "connect": _make,
    "disconnect": _break,
}


# -- what goes on by itself --------------------------------------------------------------------------------


def next_act(network: MempoolNetwork, node: Peer) -> Act | None:
    """What a node does next by itself: it takes its oldest message, or it offers the next of its pool."""
    waiting = network.inbox[node]
    if waiting and takes(network, node, waiting[0]):
        return Act("deliver", waiting[0][0], node)
    left = offers(network.nodes[node].protocol) and network.offered[node] < len(network.nodes[node].pool)
    return Act("offer", node) if left else None


# -- when two networks have the same future -----------------------------------------------------------------


def _quiet(network: MempoolNetwork) -> bool:
    ended = all(node == routine for node, routine in network.begun)
    return ended and all(next_act(network, i) is None for i in network.joined())


def _key(network: MempoolNetwork) -> object:
    nodes = ((i, _node_key(n), network.inbox[i], network.offered[i]) for i, n in network.nodes.items())
    return (*nodes, *sorted(network.begun.items(), key=repr))


def _node_key(n: Node) -> object:
    routes = tuple((target, known.must) for target, known in sorted(n.routes.items()) if known.must)
    wanted = tuple((tx, each.of, each.due_ms, tuple(each.asked.items())) for tx, each in n.wanted.items())
    slots = tuple((name, known.must) for name, known in n.slots.items())
    counters = (n.first_time, n.duplicates, n.blocked, n.now_ms, n.idle, tuple(n.taken.items()))
    known = (tuple(n.pool.items()), n.cache, n.own, tuple(n.holders.items()), wanted)
    return (tuple(n.peers), routes, counters, slots, known)


MEMPOOL = NetworkFamily(
    acts=_ACTS,
    prepared=_prepared,
    attackers_are_nodes=True,
    letter="t",
    start=_start,
    connect=_connect,
    step=_step,
    applicable=lambda n, event: True,
    rpcs=_rpcs,
    reaches=_reaches,
    quiet=_quiet,
    key=_key,
    even_ways=True,
    usual=frozenset({"reset.waited", "connection.closed"}),
)
