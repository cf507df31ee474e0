"""A small network of real routers, by the acts of a network of the model, with the model beside each.

A router is behind the seam, in process or not, and takes and gives bytes; what it says to a neighbour is
carried as values (`quidnunc.properties.play.Wire`), so that each is peer 0 to itself, as in a run alone. The
model beside it follows its choices, and claims about a network are asked of these models
(`quidnunc.properties.network_case`); what a router itself says of its state is kept apart, for the rules of
links (`quidnunc.properties.network_refine`). Time is virtual.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any, cast

from attrs import evolve, field, frozen, mutable

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import AdapterError, Config, Driver
from quidnunc.model.events import Delivered, Event, PartialIn, Publish, Receive, Sent
from quidnunc.model.router import Router
from quidnunc.model.rpc import Message, Peer
from quidnunc.properties.oracle import Oracle
from quidnunc.properties.play import Wire
from quidnunc.properties.pubsub_network import Move, Network, Seen, acted, opened, phased
from quidnunc.properties.pubsub_network_acts import Act, name_of
from quidnunc.properties.pubsub_world import World

MAX_DEPARTURES = 20


@frozen
class Held:
    """What a router keeps, as links have it."""

    topics: frozenset[str] = frozenset()
    """Those that it is in."""
    mesh: Mapping[str, frozenset[Peer]] = field(factory=dict)
    known: Mapping[Peer, frozenset[str]] = field(factory=dict)
    """Neighbour -> the topics that it has announced."""


def held_by_model(r: Router) -> Held:
    """What a router of the model keeps."""
    return Held(frozenset(r.topics), r.mesh, {peer: frozenset(each.topics) for peer, each in r.peers.items()})


def held_by_router(state: Mapping[str, object]) -> Held:
    """What a router says of itself, in the form of `Driver.state` of ours. Raises AdapterError where it does
    not say it."""
    try:
        mesh = cast("Mapping[str, Iterable[Peer]]", state["mesh"])
        peers = cast("Mapping[str, Mapping[str, Iterable[str]]]", state["peers"])
        return Held(
            frozenset(cast("Iterable[str]", state["topics"])),
            {topic: frozenset(members) for topic, members in mesh.items()},
            {int(peer): frozenset(each["topics"]) for peer, each in peers.items()},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise AdapterError(
            f"state: expected topics, mesh and peers with their topics, as ours has them: {error!r}; see "
            "`Ours.state` in quidnunc.impl.ours"
        ) from None


@mutable
class Routers:
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
    watched: bool = False
    """Whether routers are asked for their state after each step."""
    seen: list[Held] = field(factory=list)
    """What they said of it in the last act, step by step."""

    def start(self) -> Network:
        """Connections are open, and what has happened before has happened."""
        network = self.opened()
        for act in self.world.prelude:
            network = self.move(network, act).after
        return network

    def opened(self) -> Network:
        """Connections are open, and nothing else has happened."""
        return opened(self.world.setups, self.world.dials, self.world.attackers, self._does)

    def move(self, network: Network, act: Act) -> Move:
        """One act; what an act says of choices is passed over, for routers choose themselves."""
        self.seen = []
        return acted(network, evolve(act, picks=()), does=self._does)

    def hidden(self) -> str:
        """Where a router holds something else than the model beside it, though nothing showed it yet. Notes
        where one does not say what it holds."""
        for node, subject in self.subjects.items():
            model = held_by_model(self.oracles[node].state)
            try:
                router = held_by_router(subject.driver.state().state)
            except AdapterError:
                self.silent = True
                continue
            if router != evolve(model, mesh={t: model.mesh.get(t, frozenset()) for t in router.mesh}):
                return f"{name_of(node)} says that it holds {router}, and should {model}"
        return ""

    def close(self) -> None:
        for each in self.subjects.values():
            each.close()

    def _does(self, node: Peer, before: Router, event: Event) -> Seen:
        subject, oracle = self.subjects[node], self.oracles[node]
        if isinstance(event, Publish):
            self._declare(node, event.message)
        elif isinstance(event, Receive):
            (sender,) = event.peers
            event = Receive(event.peers, tuple(_authored(part, sender) for part in event.parts))
        outputs = subject.do(event)
        judged = oracle.judge(event, outputs)
        self.blurred |= judged.blurred
        for each in judged.departures[: MAX_DEPARTURES - len(self.departures)]:
            shown = each.observed or each.expected or each.reason
            self.departures.append(f"{name_of(node)}: {each.kind} {shown} ({each.clause})")
        if self.watched:
            self.seen.append(held_by_router(subject.driver.state().state))
        delivered = tuple(o.message.id for o in outputs if isinstance(o, Delivered))
        return Seen(
            node,
            before,
            event,
            oracle.state,
            tuple((o.peer, o.part) for o in outputs if isinstance(o, Sent)),
            (event.message.id,) if isinstance(event, Publish) else delivered,
            tuple(o.part for o in outputs if isinstance(o, PartialIn)),
        )

    def _declare(self, author: Peer, message: Message) -> None:
        """The others are told of a message that `author` makes, so that its id means the same to all."""
        for node, subject in self.subjects.items():
            if node != author:
                subject.declare([evolve(message, author=author)])


def _authored(part: Any, sender: Peer) -> Any:
    """A message without an author is one of its sender's, wherever it gets to."""
    return evolve(part, author=sender) if isinstance(part, Message) and part.author is None else part


def placed(world: World, *, router: str = "ours", seed: int = 0, watched: bool = False) -> Routers:
    """A network of `router` (a name that `quidnunc routers` lists) in the places of `world`'s nodes; with
    `watched` it says what it keeps, after each step.

    Raises AdapterError where it can not run so, ValueError for an unknown router.
    """
    subjects: dict[Peer, Wire] = {}
    oracles: dict[Peer, Oracle] = {}
    try:
        for each in phased(world.setups):
            config = Config(
                seed=1000 * seed + each.name, protocol=each.protocol.name, parameters=each.parameters
            )
            needs = {"clock", "state"} if watched else {"clock"}
            subjects[each.name] = Wire(_opened(router, config, needs), config)
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
            f"{router} can be no node of a network here: it lacks {', '.join(sorted(lacking))}; "
            "`quidnunc routers` lists what can be driven"
        )
    return driver
