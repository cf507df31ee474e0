"""What is planned before a network runs: heartbeats, connections, topics, traffic, churn, the script."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random

from quidnunc.model.rpc import Peer
from quidnunc.pipeline.simulation.links import US_PER_MS
from quidnunc.pipeline.simulation.partial import PARTS, group_bytes
from quidnunc.pipeline.simulation.scenario.script import (
    AddPartialMessageInstruction,
    ConnectInstruction,
    DisconnectInstruction,
    InitGossipSubInstruction,
    Instruction,
    PublishInstruction,
    PublishPartialInstruction,
    SetTopicValidationDelayInstruction,
    SubmitTransactionInstruction,
    SubscribeToTopicInstruction,
    UnsubscribeInstruction,
    nodes_named,
    steps_of,
)
from quidnunc.pipeline.simulation.scenario.values import Churn, ScenarioError, Topic, Traffic
from quidnunc.pipeline.simulation.simulator import NetworkSimulation
from quidnunc.pipeline.simulation.wire import TX_TOPIC

US_PER_S = 1_000_000
NUMBER_BYTES = 8


def plan(network: NetworkSimulation) -> None:
    """Plan all of a scenario. Raises ScenarioError for what no such network can do."""
    scenario = network.scenario
    for node in network.nodes:
        if node.beat_ms is not None:
            network.at(node.beat_ms * US_PER_MS, network.beat, node)
    _adjustments(network)
    for topic in scenario.topics:
        _subscribe(network, topic)
    for edge in network.edges:
        network.wires.tie(edge)
        network.at(0, network.connect, edge.dialler, edge.other)
    first = 0
    for each, traffic in enumerate(scenario.traffic):
        _traffic(network, traffic, first, each)
        first += traffic.count
    if scenario.churn.nodes:
        _churn(network, scenario.churn)
    _script(network)


def message_bytes(number: int, size_bytes: int) -> bytes:
    """The data of a message: its number, then zeros."""
    return number.to_bytes(NUMBER_BYTES, "big").ljust(size_bytes, b"\0")


def _adjustments(network: NetworkSimulation) -> None:
    """Each node's controller has a phase of its own, as nodes do not start together."""
    die = Random(f"{network.scenario.seed}/adjustments")
    for node in network.nodes:
        every_ms = node.family.adjust_ms(node.config.parameters)
        if every_ms is not None:
            every_us = every_ms * US_PER_MS
            phase_us = die.randrange(1, every_us)
            if node.family.adjusts(node.group.protocol, node.config.parameters):
                network.at(phase_us, network.apps.adjust, node, every_us)


def _subscribe(network: NetworkSimulation, topic: Topic) -> None:
    pubsub = [node.number for node in network.nodes if node.family.has_topics]
    if isinstance(topic.subscribers, tuple):
        chosen: Sequence[Peer] = [_existing(network, n, f"topic {topic.name}") for n in topic.subscribers]
    elif topic.subscribers == 1:
        chosen = pubsub
    else:
        die = Random(f"{network.scenario.seed}/topic/{topic.name}")
        chosen = sorted(die.sample(pubsub, round(topic.subscribers * len(pubsub))))
    for number in chosen:
        if topic.partial:
            _demand_partial(network, number)
        network.at(0, network.apps.join, number, topic.name, topic.partial)
    for node in network.nodes:
        if not node.family.has_topics and topic.name == network.scenario.topics[0].name:
            # A mempool has no topics; that it takes transactions is all that there is to subscribe to.
            network.at(0, network.apps.takes_transactions, node)


def _existing(network: NetworkSimulation, number: int, where: str) -> Peer:
    if not 0 <= number < len(network.nodes):
        raise ScenarioError(f"{where}: node {number}, and nodes are 0 to {len(network.nodes) - 1}")
    return number


def _demand_partial(network: NetworkSimulation, number: Peer) -> None:
    node = network.nodes[number]
    if "partial" not in node.driver.hello.capabilities:
        raise ScenarioError(
            f"node {number} ({node.group.router}, {node.group.protocol}) has no partial messages; give it "
            "the protocol partial-messages, partial-messages-jvm or partial-messages-go"
        )


# -- traffic and churn --------------------------------------------------------------------------------------


def _traffic(network: NetworkSimulation, traffic: Traffic, first: int, stream: int) -> None:
    if isinstance(traffic.publishers, tuple):
        for number in traffic.publishers:
            _existing(network, number, "traffic.publishers")
    die = Random(f"{network.scenario.seed}/traffic/{stream}")
    for k in range(traffic.count):
        at_us = round((traffic.start_s + k * traffic.every_s) * US_PER_S)
        network.at(at_us, _emit, network, traffic, first + k, k, die)


def _emit(network: NetworkSimulation, traffic: Traffic, number: int, turn: int, die: Random) -> None:
    """One message, of a node that is there now."""
    able = [
        node.number
        for node in network.nodes
        if node.is_alive and (not node.family.has_topics or traffic.topic in node.joined)
    ]
    if isinstance(traffic.publishers, tuple):
        able = [number for number in traffic.publishers if network.nodes[number].is_alive]
    if not able:
        return
    publisher = die.choice(able) if traffic.publishers == "random" else able[turn % len(able)]
    network.emitted += 1
    network.apps.publish(publisher, traffic.topic, message_bytes(number, traffic.size_bytes))


def _churn(network: NetworkSimulation, churn: Churn) -> None:
    die = Random(f"{network.scenario.seed}/churn")
    neighbours: dict[Peer, list[Peer]] = defaultdict(list)
    for edge in network.edges:
        neighbours[edge.dialler].append(edge.other)
        neighbours[edge.other].append(edge.dialler)
    chosen = sorted(die.sample(range(len(network.nodes)), round(churn.nodes * len(network.nodes))))
    for number in chosen:
        # Each node's times are drawn beforehand, so that what happens to one changes nothing for another.
        at_s = churn.start_s
        while at_s < network.scenario.end_s:
            at_s += die.expovariate(1 / churn.up_s)
            network.at(round(at_s * US_PER_S), network.leave_network, number)
            at_s += die.expovariate(1 / churn.down_s)
            network.at(round(at_s * US_PER_S), network.enter_network, number, neighbours[number])


# -- the script ---------------------------------------------------------------------------------------------


def _script(network: NetworkSimulation) -> None:
    script = network.scenario.script
    for number in nodes_named(script):
        _existing(network, number, "script")
    for node in network.nodes if script else ():
        for at_s, step in steps_of(script, node.number):
            _step(network, node.number, round(at_s * US_PER_S), step)


def _step(network: NetworkSimulation, number: Peer, at_us: int, step: Instruction) -> None:
    apps = network.apps
    match step:
        case ConnectInstruction():
            for other in step.connectTo:
                network.at(at_us, network.connect, number, other)
        case DisconnectInstruction():
            network.at(at_us, _disconnect, network, number, step.disconnectFrom)
        case SubscribeToTopicInstruction():
            if step.partial:
                _demand_partial(network, number)
            network.at(at_us, apps.join, number, step.topicID, step.partial)
        case UnsubscribeInstruction():
            network.at(at_us, apps.leave, number, step.topicID)
        case SetTopicValidationDelayInstruction():
            apps.delays_us[number, step.topicID] = round(step.delaySeconds * US_PER_S)
        case PublishInstruction():
            _demand_family(network, number, "publish", topics=True)
            data = message_bytes(step.messageID, step.messageSizeBytes)
            network.at(at_us, apps.publish, number, step.topicID, data)
        case SubmitTransactionInstruction():
            _demand_family(network, number, "submit", topics=False)
            data = message_bytes(step.messageID, step.messageSizeBytes)
            network.at(at_us, apps.publish, number, TX_TOPIC, data)
        case AddPartialMessageInstruction():
            indices = [index for index in range(PARTS) if step.parts >> index & 1]
            network.at(at_us, _add_parts, network, number, step.topicID, group_bytes(step.groupID), indices)
        case PublishPartialInstruction():
            _demand_partial(network, number)
            group, to = group_bytes(step.groupID), step.publishToNodeIDs or ()
            network.at(at_us, apps.publish_partial, number, step.topicID, group, to)
        case InitGossipSubInstruction():
            # Its parameters were given to the node when it was opened.
            return


def _demand_family(network: NetworkSimulation, number: Peer, what: str, *, topics: bool) -> None:
    if network.nodes[number].family.has_topics is not topics:
        raise ScenarioError(
            f"script: {what} at node {number} ({network.nodes[number].group.protocol}): pubsub nodes "
            "publish, nodes of a mempool are submitted to"
        )


def _disconnect(network: NetworkSimulation, number: Peer, peers: tuple[Peer, ...]) -> None:
    node = network.nodes[number]
    network.wake(node)
    for peer in peers or tuple(node.links):
        network.part(number, peer)


def _add_parts(
    network: NetworkSimulation, number: Peer, topic: str, group: bytes, indices: list[int]
) -> None:
    network.apps.parts_of(number).add(topic, group, indices)
