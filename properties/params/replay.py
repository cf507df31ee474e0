"""An attack on parameters, played: the rules of the model beside a real router, event by event.

Three parties: the router, which has the parameters; the attacker; and an honest peer that delivers every
message of every topic first. The attacker delivers copies while the router still validates, which counts for
the mesh and is no first delivery; in the topics that it starves it stops. The quantum of P1 is shortened, so
that the time in the mesh counts for all that it can after a few decays: what is at stake is what comes then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from attrs import evolve, frozen, mutable

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import Config
from quidnunc.model.events import Advance, Connect, Event, Join, Receive, Verdict
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Message, Subscribe
from quidnunc.model.score_interval import DENOMINATOR
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import Play, WireSubject
from quidnunc.properties.params.attack import Attack, TopicAttack, needed_rate
from quidnunc.properties.params.guarantees import Guarantee
from quidnunc.properties.params.values import NetworkParameters, TopicParameters, decimal, for_router

PROTOCOL = "gossipsub-1.1"
ATTACKER, HONEST = 1, 2
QUANTA_FULL_AFTER = 10
"""Decays after which the time in the mesh counts in full."""
MAX_MESSAGES = 64
"""Per decay interval; what takes more is not played."""
STARVED_FOR = 40
"""Decays for which the attack is played, after every counter has had the time to fall."""


@frozen(kw_only=True)
class AttackReplay:
    """What became of an attack."""

    router: str
    decays: int
    """Played with topics starved."""
    pruned: tuple[str, ...]
    """Topics that the attacker was pruned from, by whatever the router said."""
    departures: tuple[str, ...]
    """Where router and model did not agree; nothing was played after the first."""
    least: Fraction
    """The least that the model's bounds of the score came to from the first starved message on."""
    steps: int

    @property
    def succeeded(self) -> bool:
        return not self.pruned and not self.departures and self.least > 0


def hurried_network(network: NetworkParameters) -> NetworkParameters:
    """The network with quanta so short that P1 is at its cap after a few decays."""

    def shorter(topic: TopicParameters) -> TopicParameters:
        full_ms = QUANTA_FULL_AFTER * network.decay_interval_ms
        longest = full_ms / topic.time_in_mesh_cap if topic.time_in_mesh_cap else full_ms
        quantum = min(topic.time_in_mesh_quantum_ms, Fraction(max(1, math.floor(longest))))
        return evolve(topic, time_in_mesh_quantum_ms=quantum)

    return evolve(network, topics=tuple(map(shorter, network.topics)))


def parameters_for(network: NetworkParameters) -> Parameters:
    """A router with the network's scores; messages wait for their verdicts."""
    gossip, publish, graylist = (
        None if value is None else math.floor(value)
        for value in (network.gossip_threshold, network.publish_threshold, network.graylist_threshold)
    )
    graylist = -40 if graylist is None else graylist
    publish = max(graylist + 1, -20) if publish is None else publish
    return Parameters(
        scores=for_router(hurried_network(network)),
        validation="manual",
        gossip_threshold=max(publish, -10) if gossip is None else gossip,
        publish_threshold=publish,
        graylist_threshold=graylist,
        heartbeat_interval_ms=max(1, math.floor(network.mesh.heartbeat_interval_ms or 1000)),
    )


@frozen
class _AttackedTopic:
    """One topic of the attack."""

    name: str
    messages: int
    """Per decay interval, as long as the attacker delivers here."""
    starved: bool


def _places(attack: Attack) -> Iterator[_AttackedTopic]:
    for part in attack.parts:
        for number in range(part.topic.count):
            name = part.topic.name if part.topic.count == 1 else f"{part.topic.name}{number + 1}"
            starved = number < part.starved
            yield _AttackedTopic(name, _rate(part, starved=starved), starved)


def _rate(part: TopicAttack, *, starved: bool) -> int:
    if starved:
        return math.ceil(needed_rate(part.topic) or 0)
    return math.ceil(part.messages)


def replay_line(
    network: NetworkParameters, attack: Attack, router: str, progress: Callable[[str], None]
) -> Guarantee:
    """The attack as a line of the report. Raises as `replayed` does."""
    text = f"{router}, beside the model, prunes a peer that starves topics"
    if not attack.starved:
        found = ("there is no topic to starve",)
        return Guarantee(id="replay", text=text, verdict="holds", found=found, assumptions=())
    played = replay_attack(network, attack, router, progress)
    fails = played.succeeded
    least = decimal(played.least)
    lines = [f"{attack.starved} topics starved for {played.decays} decays, {played.steps} events in all"]
    if fails:
        lines.append(f"the attacker was never pruned; by the model its score was never below {least}")
    lines += [f"pruned from {name}" for name in played.pruned]
    lines += [f"model and router depart: {departure}" for departure in played.departures]
    return Guarantee(
        id="replay",
        text=text,
        verdict="fails" if fails else "unknown" if played.departures else "holds",
        found=tuple(lines),
    )


@mutable
class _AttackRun:
    """A run under way."""

    run: Play
    interval_ms: int
    sent: int = 0

    def do(self, event: Event) -> bool:
        """Whether router and model still agree."""
        return not self.run.do(event)

    def interval(self, places: Sequence[_AttackedTopic], *, starving: bool) -> bool:
        """One decay interval: every topic has its messages, and the attacker passes on what it does."""
        for place in places:
            for _ in range(max(place.messages, 1)):
                self.sent += 1
                message = Message(f"m{self.sent}", place.name, HONEST)
                self.run.subject.declare([message])
                events: list[Event] = [Receive((HONEST,), (message,))]
                if place.messages and not (place.starved and starving):
                    events.append(Receive((ATTACKER,), (message,)))
                events.append(Verdict(message.id, "accept"))
                if not all(map(self.do, events)):
                    return False
        return self.do(Advance(self.interval_ms))


def replay_attack(
    network: NetworkParameters,
    attack: Attack,
    router: str,
    progress: Callable[[str], None] = lambda text: None,
) -> AttackReplay:
    """Play an attack on `router`, a name of `quidnunc routers`, beside the model.

    Raises ValueError for parameters that no router takes, a router that does not exist, or too much traffic.
    """
    places = tuple(_places(attack))
    messages = sum(max(place.messages, 1) for place in places)
    if messages > MAX_MESSAGES:
        raise ValueError(f"{messages} messages per decay interval: at most {MAX_MESSAGES} are played")
    parameters = parameters_for(network)
    config = Config(protocol=PROTOCOL, parameters=parameters)
    subject = WireSubject(open_router(router, config), config)
    run = Play(subject, Oracle(protocol_named(PROTOCOL), parameters))
    stage = _AttackRun(run, math.floor(network.decay_interval_ms))
    try:
        agreed, starved_for, least = _played(network, stage, places, progress)
    finally:
        subject.close()
    departures = run.moments[-1].judged.departures if not agreed and run.moments else ()
    router_state = run.oracle.state
    return AttackReplay(
        router=router,
        decays=starved_for,
        pruned=tuple(p.name for p in places if ATTACKER not in router_state.mesh_of(p.name)),
        departures=tuple(f"{d.kind} {d.clause}" for d in departures),
        least=least,
        steps=run.steps,
    )


def _played(
    network: NetworkParameters,
    stage: _AttackRun,
    places: Sequence[_AttackedTopic],
    progress: Callable[[str], None],
) -> tuple[bool, int, Fraction]:
    """Whether all was played in agreement, for how many starved decays, and the least score there."""
    names = [place.name for place in places]
    subscriptions = tuple(map(Subscribe, names))
    opening: list[Event] = [
        Connect((ATTACKER, HONEST), "/meshsub/1.1.0", outbound=True),
        Receive((ATTACKER, HONEST), subscriptions),
        *map(Join, names),
    ]
    least = Fraction(0)
    if not all(map(stage.do, opening)):
        return False, 0, least
    activation = max(
        math.ceil(network.intervals(topic.mesh_message_deliveries_activation_ms)) for topic in network.topics
    )
    for number in range(max(QUANTA_FULL_AFTER, activation) + 2):
        progress(f"{network.name}: behaving, decay {number}")
        if not stage.interval(places, starving=False):
            return False, 0, least
    least = _score(stage)
    for number in range(STARVED_FOR):
        progress(f"{network.name}: starving, decay {number}")
        if not stage.interval(places, starving=True):
            return False, number, least
        least = min(least, _score(stage))
    return True, STARVED_FOR, least


def _score(stage: _AttackRun) -> Fraction:
    """The lower bound of the attacker's score, as the model has it."""
    return Fraction(stage.run.oracle.state.bounds(ATTACKER).lo, DENOMINATOR)
