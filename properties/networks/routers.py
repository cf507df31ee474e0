"""A small network of real routers, by the acts of a network of the model, with the model beside each.

A router is behind the seam, in process or not, and takes and gives bytes; what it says to a neighbour is
carried as values (`quidnunc.properties.judge.play.WireSubject`), so that each is peer 0 to itself, as in a
run alone. The model beside it follows its choices, and claims about a network are asked of these models
(`quidnunc.properties.replays.network`); what a router itself says of its state is kept apart, for the
rules of links (`tools.network_rules.refine`). Time is virtual.

A mempool node offers what is new to it at once; the network holds that back until the act that offers it, so
that an offer can be late as in a network of the model. Nobody leaves or joins such a network.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from typing import Any, cast

from attrs import evolve, field, frozen, mutable

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import AdapterError, Config, Driver
from quidnunc.model.events import Delivered, Event, PartialIn, Publish, Receive, Sent
from quidnunc.model.mempool.node import Node
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import Message, Part, Peer, Tx
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import WireSubject
from quidnunc.properties.networks.acts import Act, name_of
from quidnunc.properties.networks.mempool import offers
from quidnunc.properties.networks.network import Move, Network, NodeStep, network_after, opened
from quidnunc.properties.networks.runs import ActError
from quidnunc.properties.networks.world import World

MAX_DEPARTURES = 20


@frozen
class RouterLinks:
    """What a router keeps, as links have it."""

    topics: frozenset[str] = frozenset()
    """Those that it is in."""
    mesh: Mapping[str, frozenset[Peer]] = field(factory=dict)
    known: Mapping[Peer, frozenset[str]] = field(factory=dict)
    """Neighbour -> the topics that it has announced."""


def held_by_model(r: Router) -> RouterLinks:
    """What a router of the model keeps."""
    return RouterLinks(
        frozenset(r.topics), r.mesh, {peer: frozenset(each.topics) for peer, each in r.peers.items()}
    )


def held_by_router(state: Mapping[str, object]) -> RouterLinks:
    """What a router says of itself, in the form of `Driver.state` of ours. Raises AdapterError where it does
    not say it."""
    try:
        mesh = cast("Mapping[str, Iterable[Peer]]", state["mesh"])
        peers = cast("Mapping[str, Mapping[str, Iterable[str]]]", state["peers"])
        return RouterLinks(
            frozenset(cast("Iterable[str]", state["topics"])),
            {topic: frozenset(members) for topic, members in mesh.items()},
            {int(peer): frozenset(each["topics"]) for peer, each in peers.items()},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise AdapterError(
            f"state: expected topics, mesh and peers with their topics, as ours has them: {error!r}; see "
            "`Ours.state` in quidnunc.impl.ours.pubsub"
        ) from None


@mutable
class Routers:
    """The nodes of one network. A run has one of its own, as its routers cannot go back."""

    subjects: Mapping[Peer, WireSubject]
    oracles: Mapping[Peer, Oracle]
    world: World
    departures: list[str] = field(factory=list)
    """Where a router does not do as the model beside it."""
    blurred: bool = False
    """A choice of a router could not be seen: what the models hold may not be what the routers hold."""
    silent: bool = False
    """A router was asked what it holds, and does not say it."""
    watched: bool = False
    """Whether routers are asked for their state after each step."""
    seen: list[RouterLinks] = field(factory=list)
    """What they said of it in the last act, step by step."""
    held_back: dict[Peer, list[tuple[tuple[Peer, Part], ...]]] = field(factory=lambda: defaultdict(list))
    """What a mempool node has sent of each transaction that it has not offered yet, the oldest first."""

    def start(self) -> Network[Any]:
        """Connections are open, and what has happened before has happened."""
        network = self.opened()
        for act in self.world.prelude:
            network = self.move(network, act).after
        return network

    def opened(self) -> Network[Any]:
        """Connections are open, and nothing else has happened."""
        world = self.world
        return opened(
            world.family,
            world.setups,
            world.dials,
            attackers=world.attackers,
            transport=world.transport,
            does=self._does,
        )

    def move(self, network: Network[Any], act: Act) -> Move[Any]:
        """One act; what an act says of choices is passed over, for routers choose themselves."""
        self.seen = []
        return network_after(network, evolve(act, picks=()), does=self._does)

    def hidden(self) -> str:
        """Where a router holds something else than the model beside it, though nothing showed it yet. Notes
        where one does not say what it holds."""
        for node, subject in self.subjects.items():
            state = self.oracles[node].state
            compare = self._routes_differ if isinstance(state, Node) else self._links_differ
            wrong = compare(subject.driver.state().state, state)
            if wrong:
                return f"{name_of(node)} says that it {wrong}"
        return ""

    def _links_differ(self, said: Mapping[str, object], r: Router) -> str:
        model = held_by_model(r)
        try:
            router = held_by_router(said)
        except AdapterError:
            self.silent = True
            return ""
        expected = evolve(model, mesh={t: model.mesh.get(t, frozenset()) for t in router.mesh})
        return f"holds {router}, and should {model}" if router != expected else ""

    def _routes_differ(self, said: Mapping[str, object], n: Node) -> str:
        router = said.get("routes")
        model = sorted([source, target] for target, known in n.routes.items() for source in known.must)
        if not isinstance(router, list):
            self.silent = True
            return ""
        known = all(not known.may for known in n.routes.values())
        return f"cuts {router}, and should {model}" if known and router != model else ""

    def close(self) -> None:
        for each in self.subjects.values():
            each.close()

    def _does(self, node: Peer, before: Any, event: Event | None) -> NodeStep[Any]:
        if event is None:
            return self._offers(node, before)
        subject, oracle = self.subjects[node], self.oracles[node]
        if isinstance(event, Publish):
            self._declare(node, event.message)
        elif isinstance(event, Receive):
            (sender,) = event.peers
            event = Receive(event.peers, tuple(_authored(part, sender) for part in event.parts))
        if not oracle.applicable(event):
            raise ActError(f"{type(event).__name__.lower()} cannot happen to {name_of(node)} now")
        pooled = frozenset(getattr(oracle.state, "pool", ()))
        outputs = subject.do(event)
        judged = oracle.judge(event, outputs)
        self.blurred |= judged.blurred
        for each in judged.departures[: MAX_DEPARTURES - len(self.departures)]:
            shown = each.observed or each.expected or each.reason
            self.departures.append(f"{name_of(node)}: {each.kind} {shown} ({each.clause})")
        if self.watched:
            self.seen.append(held_by_router(subject.driver.state().state))
        sent = tuple((o.peer, o.part) for o in outputs if isinstance(o, Sent))
        if isinstance(oracle.state, Node) and offers(before.protocol):
            sent = self._held_back(node, oracle.state, pooled, sent)
        delivered = tuple(o.message.id for o in outputs if isinstance(o, Delivered))
        return NodeStep(
            node,
            before,
            event,
            # A network steps its nodes by rules of its own (an offer may be late).
            evolve(oracle.state, protocol=before.protocol),
            sent,
            (event.message.id,) if isinstance(event, Publish) else delivered,
            tuple(o.part for o in outputs if isinstance(o, PartialIn)),
        )

    def _held_back(
        self, node: Peer, n: Node, pooled: Set[str], sent: tuple[tuple[Peer, Part], ...]
    ) -> tuple[tuple[Peer, Part], ...]:
        """What is sent now; offers of what is new in the pool are kept for the act that makes them."""
        for tx in n.pool:
            if tx not in pooled:
                self.held_back[node].append(tuple(each for each in sent if each[1] == Tx(tx)))
        return tuple(each for each in sent if not isinstance(each[1], Tx))

    def _offers(self, node: Peer, before: Node) -> NodeStep[Node]:
        if not self.held_back[node]:
            raise ActError(f"offer {name_of(node)}: nothing is left to offer")
        return NodeStep(node, before, None, before, self.held_back[node].pop(0))

    def _declare(self, author: Peer, message: Message) -> None:
        """The others are told of a message that `author` makes, so that its id means the same to all."""
        for node, subject in self.subjects.items():
            if node != author:
                subject.declare([evolve(message, author=author)])


def _authored(part: Any, sender: Peer) -> Any:
    """A message without an author is one of its sender's, wherever it gets to."""
    return evolve(part, author=sender) if isinstance(part, Message) and part.author is None else part


def place_routers(world: World, *, router: str = "ours", seed: int = 0, watched: bool = False) -> Routers:
    """A network of `router` (a name that `quidnunc routers` lists) in the places of `world`'s nodes; with
    `watched` it says what it keeps, after each step.

    Raises AdapterError where it cannot run so, ValueError for an unknown router.
    """
    subjects: dict[Peer, WireSubject] = {}
    oracles: dict[Peer, Oracle] = {}
    try:
        for each in world.family.prepared(world.setups):
            config = Config(
                seed=1000 * seed + each.name, protocol=each.protocol.name, parameters=each.parameters
            )
            needs = world.family.needs | (frozenset({"state"}) if watched else frozenset())
            driver = _opened(router, config, needs)
            subjects[each.name] = WireSubject(driver, config)
            oracles[each.name] = Oracle(each.protocol, each.parameters)
    except BaseException:
        for subject in subjects.values():
            subject.close()
        raise
    return Routers(subjects, oracles, world, watched=watched)


def _opened(router: str, config: Config, needs: Set[str]) -> Driver:
    driver = open_router(router, config)
    lacking = needs - driver.hello.capabilities
    if lacking:
        driver.close()
        raise AdapterError(
            f"{router} cannot be a node of a network here: it lacks {', '.join(sorted(lacking))}; "
            "`quidnunc routers` lists the routers that can be tested"
        )
    return driver
