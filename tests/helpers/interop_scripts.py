"""Scripts as gossipsub-interop's experiment.py makes them, for any number of nodes: the three scenarios of
partial messages. Made here, and not copied, from what they are described to do."""

from __future__ import annotations

from random import Random
from typing import Any

Script = list[dict[str, Any]]
NS_PER_MS = 1_000_000


def at(node: int, instruction: dict[str, Any]) -> dict[str, Any]:
    return {"type": "ifNodeIDEquals", "nodeID": node, "instruction": instruction}


def wait(seconds: int) -> dict[str, Any]:
    return {"type": "waitUntil", "elapsedSeconds": seconds}


def started(nodes: int) -> Script:
    """Heartbeats a tenth of a millisecond apart."""
    return [
        at(
            node,
            {
                "type": "initGossipSub",
                "gossipSubParams": {"HeartbeatInitialDelay": 100 * NS_PER_MS + 100_000 * (node + 1)},
            },
        )
        for node in range(nodes)
    ]


def connected(nodes: int, wanted: int, die: Random) -> Script:
    links: dict[int, set[int]] = {node: set() for node in range(nodes)}
    script = []
    for node in range(nodes):
        dialled = []
        while len(links[node]) < min(wanted, nodes - 1):
            other = die.choice([n for n in range(nodes) if n != node and n not in links[node]])
            links[node].add(other)
            links[other].add(node)
            dialled.append(other)
        if dialled:
            script.append(at(node, {"type": "connect", "connectTo": dialled}))
    return script


def parts(topic: str, group: int, bits: int) -> dict[str, Any]:
    return {"type": "addPartialMessage", "topicID": topic, "groupID": group, "parts": bits}


def tell(topic: str, group: int, **more: Any) -> dict[str, Any]:
    return {"type": "publishPartial", "topicID": topic, "groupID": group, **more}


def partial_messages(nodes: int, seed: int) -> Script:
    """Every node has some parts of one group, and tells the others."""
    die, topic = Random(seed), "a-subnet"
    bits = [die.randrange(256) for _ in range(nodes)]
    if nodes == 2:
        bits[1] = 255 ^ bits[0]
    return [
        *started(nodes),
        *connected(nodes, 20, die),
        {"type": "subscribeToTopic", "topicID": topic, "partial": True},
        wait(30),
        *(at(node, parts(topic, 77, bits[node])) for node in range(nodes)),
        tell(topic, 77),
        wait(40),
    ]


def partial_messages_chain(nodes: int, groups: int = 16) -> Script:
    """Nodes in a line; the parts of each group are dealt out one by one."""
    topic = "partial-msg-chain"
    script = [
        *started(nodes),
        *(at(node, {"type": "connect", "connectTo": [node + 1]}) for node in range(nodes - 1)),
        {"type": "subscribeToTopic", "topicID": topic, "partial": True},
        wait(30),
    ]
    script += [
        at((group * 8 + part) % nodes, parts(topic, group, 1 << part))
        for group in range(groups)
        for part in range(8)
    ]
    for group in range(groups):
        script += [wait(32 + 2 * group), tell(topic, group)]
    return [*script, wait(60 + 2 * groups)]


def partial_messages_fanout(nodes: int, seed: int) -> Script:
    """Node 0 has everything, is not in the topic, and tells seven others."""
    die, topic = Random(seed), "a-subnet"
    joins = [{"type": "subscribeToTopic", "topicID": topic, "partial": True}] * nodes
    return [
        *started(nodes),
        *connected(nodes, 20, die),
        *(at(node, joins[node]) for node in range(1, nodes)),
        wait(30),
        at(0, parts(topic, 9, 255)),
        at(0, tell(topic, 9, publishToNodeIDs=list(range(1, min(8, nodes))))),
        wait(40),
    ]


def subnet_blob(nodes: int, seed: int, messages: int = 3) -> Script:
    """Full messages of 96 KiB in one topic, validated in 5 ms."""
    die, topic = Random(seed), "a-subnet"
    script = [
        *started(nodes),
        {"type": "setTopicValidationDelay", "topicID": topic, "delaySeconds": 0.005},
        *connected(nodes, 20, die),
        {"type": "subscribeToTopic", "topicID": topic},
        wait(120),
    ]
    for number in range(messages):
        publish = {
            "type": "publish", "messageID": number, "topicID": topic, "messageSizeBytes": 2 * 1024 * 48,
        }  # fmt: skip
        script += [at(die.randrange(nodes), publish), wait(132 + 12 * number)]
    return script
