"""Partial messages over a network of our routers: who completes, who is spared what, and who is starved."""

from __future__ import annotations

from random import Random

import pytest

from tests.helpers.partial_network import Kind, Network

READINGS = ("partial-messages", "partial-messages-jvm", "partial-messages-go")
EVERY_READING = pytest.mark.parametrize("reading", READINGS)
PARTS = 64
NODES = 20
FULL_ONLY = (5, 10, 15, 20)


def kinds() -> list[Kind]:
    return ["full" if n in FULL_ONLY else "requests" for n in range(1, NODES + 1)]


def spread(net: Network, seed: int) -> None:
    """Each part to two of the nodes that can hold parts, so that nobody has more than some of them."""
    die = Random(seed)
    holders = [n for n, node in net.nodes.items() if node.app is not None]
    of: dict[int, list[int]] = {n: [] for n in holders}
    for part in range(PARTS):
        for n in die.sample(holders, 2):
            of[n].append(part)
    for n in holders:
        net.give(n, of[n])


def network(reading: str, *, republish: bool, seed: int = 3) -> Network:
    net = Network(reading, kinds(), length=PARTS, seed=seed, republish=republish)
    net.connect_at_random(6, seed)
    net.advance(3)
    return net


@EVERY_READING
def test_parts_make_the_whole_everywhere_where_somebody_republishes_it(reading: str) -> None:
    """20 nodes, 4 of them full-only, 64 parts: all complete, and who can send parts sends no requester
    a full message."""
    net = network(reading, republish=True)
    spread(net, 8)
    net.advance(5)
    assert net.lacking() == []
    assert net.full_to_requesters == []
    assert all(net.nodes[n].full for n in FULL_ONLY)
    assert all(node.app.refused == 0 for node in net.nodes.values() if node.app is not None)


@EVERY_READING
def test_without_republishing_full_only_nodes_get_nothing(reading: str) -> None:
    """Parts never become a full message by themselves: no text promises it to who cannot read parts."""
    net = network(reading, republish=False)
    spread(net, 8)
    net.advance(5)
    assert net.lacking() == list(FULL_ONLY)
    assert net.sent["full"] == 0


def beside_a_full_only_node(reading: str) -> Network:
    """1 has the whole and is full-only in this topic, though it has the extension; 2 requests, and knows
    nobody else."""
    net = Network(reading, ["full", "requests"], length=8)
    net.connect(1, 2)
    net.advance(2)
    net.publish_whole(1)
    net.advance(5)
    return net


@pytest.mark.parametrize("reading", ["partial-messages", "partial-messages-go"])
def test_a_requester_gets_full_messages_of_who_has_no_parts_to_send(reading: str) -> None:
    net = beside_a_full_only_node(reading)
    assert net.lacking() == []
    assert len(net.nodes[2].full) == 1


def test_the_jvm_design_starves_it() -> None:
    """It holds back the full message because of the request alone, and there is nobody to send parts."""
    net = beside_a_full_only_node("partial-messages-jvm")
    assert net.lacking() == [2]
    assert net.sent == {"full": 0, "partial": 0}


@EVERY_READING
def test_support_without_request(reading: str) -> None:
    """2 supports and does not request: it is sent full messages, and answers the metadata of a requester."""
    net = Network(reading, ["full", "supports", "requests"], length=8)
    net.connect(1, 2)
    net.connect(2, 3)
    net.advance(2)
    net.publish_whole(1)
    net.advance(4)
    assert net.lacking() == []
    assert len(net.nodes[2].full) == 1 and net.nodes[3].full == []
    assert net.full_to_requesters == []
