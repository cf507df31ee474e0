"""A small network of real mempool nodes, by the acts of a network of the model, with the model beside each.

As `quidnunc.properties.network_routers` has it for pubsub. A router offers what is new to it at once; the
network holds that back until the act that offers it, so that an offer can be late as in a network of the
model. Nobody leaves or joins here.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, field, mutable

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import Config
from quidnunc.model.events import MEMPOOL, Adjust, Advance, Connect, Event, Receive, Sent, Submit
from quidnunc.model.rpc import Part, Peer, Tx
from quidnunc.properties.mempool_network import Network, offers, takes
from quidnunc.properties.mempool_network_acts import Act, name_of
from quidnunc.properties.mempool_search import Move, World
from quidnunc.properties.network_routers import MAX_DEPARTURES
from quidnunc.properties.network_runs import ActError
from quidnunc.properties.oracle import Oracle
from quidnunc.properties.play import Wire

_Said = tuple[tuple[Peer, Part, Peer], ...]
"""(by whom, what, to whom)"""


@mutable
class MempoolRouters:
    """The nodes of one network. A run has one of its own, as its routers can not go back."""

    subjects: Mapping[Peer, Wire]
    oracles: Mapping[Peer, Oracle]
    world: World
    departures: list[str] = field(factory=list)
    """Where a router does not do as the model beside it."""
    blurred: bool = False
    """A choice of a router could not be seen: what the models hold may not be what the routers hold."""
    silent: bool = False
    """A router was asked what it holds, and does not say it."""
    held_back: dict[Peer, list[_Said]] = field(factory=dict)
    """What a node has sent of each transaction that it has not offered yet, the oldest first."""

    def start(self) -> Network:
        """All links are open, and nothing else has happened."""
        network = self.world.start()
        self.held_back = {node: [] for node in network.nodes}
        for node, n in network.nodes.items():
            for peer in sorted(n.peers):
                self._step(node, Connect((peer,), MEMPOOL))
        return self._seen(network)

    def move(self, network: Network, act: Act) -> Move:
        """One act; what it says of choices is passed over. Raises ActError where it can not happen."""
        if act.node not in network.nodes or not network.nodes[act.node].peers:
            raise ActError(f"{act}: {name_of(act.node)} has no peers")
        after, sent = self._acted(network, act)
        inbox = dict(after.inbox)
        for by, part, to in sent:
            inbox[to] = (*inbox[to], (by, part))
        return Move(network, evolve(act, picks=()), self._seen(evolve(after, inbox=inbox)), sent)

    def hidden(self) -> str:
        """Where a node holds something else than the model beside it, though nothing showed it yet."""
        for node, subject in self.subjects.items():
            said = subject.driver.state().state.get("routes")
            n = self.oracles[node].state
            routes = sorted([source, target] for target, known in n.routes.items() for source in known.must)
            self.silent |= not isinstance(said, list)
            if (
                isinstance(said, list)
                and all(not known.may for known in n.routes.values())
                and said != routes
            ):
                return f"{name_of(node)} says that it cuts {said}, and should {routes}"
        return ""

    def close(self) -> None:
        for each in self.subjects.values():
            each.close()

    def _acted(self, network: Network, act: Act) -> tuple[Network, _Said]:
        match act.kind:
            case "U":
                return network, self._at_once(network, act.node, Submit(act.tx))
            case "A":
                return network, self._at_once(network, act.node, Adjust())
            case "W":
                return network, self._at_once(network, act.node, Advance(act.ms))
            case "R":
                return self._delivered(network, act)
            case "D":
                if not self.held_back[act.node]:
                    raise ActError(f"{act}: nothing is left to offer")
                offered = {**network.offered, act.node: network.offered[act.node] + 1}
                return evolve(network, offered=offered), self.held_back[act.node].pop(0)
            case "F":
                assert act.part is not None
                return network, ((act.peers[0], act.part, act.node),)
        raise ActError(f"{act}: nobody leaves or joins a network of routers here")

    def _delivered(self, network: Network, act: Act) -> tuple[Network, _Said]:
        waiting = network.inbox[act.node]
        found = next((at for at, (sender, _) in enumerate(waiting) if (sender,) == act.peers), None)
        if found is None or (network.rules.one_queue and found):
            raise ActError(f"{act}: there is no message to take")
        if not takes(network, act.node, waiting[found]):
            raise ActError(f"{act}: the message waits for a route to free")
        network = evolve(network, inbox={**network.inbox, act.node: waiting[:found] + waiting[found + 1 :]})
        return network, self._at_once(network, act.node, Receive(act.peers, (waiting[found][1],)))

    def _at_once(self, network: Network, node: Peer, event: Event) -> _Said:
        """What an event makes a node send, but for transactions that it is yet to offer."""
        known = {*self.oracles[node].state.pool}
        sent = self._step(node, event)
        if not offers(network.rules.protocol):
            return sent
        for tx in self.oracles[node].state.pool:
            if tx not in known:
                self.held_back[node].append(tuple(each for each in sent if each[1] == Tx(tx)))
        return tuple(each for each in sent if not isinstance(each[1], Tx))

    def _step(self, node: Peer, event: Event) -> _Said:
        oracle = self.oracles[node]
        if not oracle.applicable(event):
            raise ActError(f"{type(event).__name__.lower()} can not happen to {name_of(node)} now")
        outputs = self.subjects[node].do(event)
        judged = oracle.judge(event, outputs)
        self.blurred |= judged.blurred
        for each in judged.departures[: MAX_DEPARTURES - len(self.departures)]:
            shown = each.observed or each.expected or each.reason
            self.departures.append(f"{name_of(node)}: {each.kind} {shown} ({each.clause})")
        return tuple((node, o.part, o.peer) for o in outputs if isinstance(o, Sent))

    def _seen(self, network: Network) -> Network:
        """The network with its nodes as the models beside the routers have them."""
        protocol = network.rules.protocol
        states = {node: evolve(oracle.state, protocol=protocol) for node, oracle in self.oracles.items()}
        return evolve(network, nodes={node: states[node] for node in network.nodes})


def placed(world: World, *, router: str = "ours", seed: int = 0) -> MempoolRouters:
    """A network of `router` in the places of `world`'s nodes. Raises AdapterError where it can not run so,
    ValueError for an unknown router."""
    rules = world.rules
    subjects: dict[Peer, Wire] = {}
    oracles: dict[Peer, Oracle] = {}
    try:
        for node in sorted({i for link in world.links for i in link}):
            config = Config(seed=1000 * seed + node, protocol=rules.protocol.name, dog=rules.parameters)
            subjects[node] = Wire(open_router(router, config), config)
            oracles[node] = Oracle(rules.protocol, rules.parameters)
    except BaseException:
        for subject in subjects.values():
            subject.close()
        raise
    return MempoolRouters(subjects, oracles, world)
