"""Flood, clause by clause, of our mempool reactor; DOG keeps these clauses but one."""

from __future__ import annotations

import pytest

from quidnunc.model.rpc import HaveTx, ResetRoute, Tx
from tests.helpers.mempool_node import SCENARIOS, Node, shows

# Flood.


@shows("flood/receive.first-time")
def a_new_transaction_goes_to_all_others(node: Node) -> None:
    node.connect(1, 2, 3)
    assert node.receive(1, Tx("a")) == [(2, Tx("a")), (3, Tx("a"))]


@shows("flood/send.not-to-senders")
def nobody_gets_what_they_sent(node: Node) -> None:
    node.connect(1, 2)
    assert node.receive(1, Tx("a")) == [(2, Tx("a"))]
    node.receive(2, Tx("b"))
    node.receive(2, Tx("a"))
    node.lose(2)
    node.receive(1, Tx("c"))
    assert node.connect(2) == [(2, Tx("c"))]


@shows("flood/send.once")
def each_goes_once_to_each(node: Node) -> None:
    node.connect(1, 2)
    assert node.receive(1, Tx("a")) == [(2, Tx("a"))]
    assert [sent for sent in node.receive(1, Tx("a")) if sent[1] == Tx("a")] == []
    assert [sent for sent in node.submit("a") if sent[1] == Tx("a")] == []


@shows("flood/receive.duplicate")
def a_duplicate_adds_its_sender(node: Node) -> None:
    node.connect(1, 2, 3)
    node.stall(3)
    node.receive(1, Tx("a"))
    assert (3, Tx("a")) not in node.receive(3, Tx("a"))
    assert [sent for sent in node.resume(3) if sent[1] == Tx("a")] == []


@shows("flood/receive.duplicate")
def the_same_sender_twice_is_one_sender(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    node.receive(2, Tx("a"))
    node.receive(1, Tx("a"))
    senders = node.driver.state().state["senders"]
    assert isinstance(senders, dict)
    assert list(senders.values()) == [[1, 2]]


@shows("flood/receive.committed")
def a_committed_transaction_does_not_come_back(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    node.commit("a")
    assert (1, Tx("a")) not in node.receive(2, Tx("a"))
    assert node.driver.state().state["pool"] == []


@shows("flood/commit.leaves-pool")
def a_committed_transaction_is_not_offered(node: Node) -> None:
    node.connect(1)
    node.receive(1, Tx("a"))
    node.receive(1, Tx("b"))
    node.commit("a")
    assert node.connect(2) == [(2, Tx("b"))]


@shows("flood/receive.invalid-dropped")
def what_the_application_refuses_goes_nowhere(node: Node) -> None:
    node.connect(1, 2)
    assert (2, Tx("bad")) not in node.receive(1, Tx("bad"))
    assert node.submit("bad2") == []
    assert node.state()["pool"] == []
    assert node.connect(3) == []


@shows("flood/submit.to-all")
def a_users_transaction_goes_to_all(node: Node) -> None:
    node.connect(1, 2, 3)
    assert node.submit("a") == [(1, Tx("a")), (2, Tx("a")), (3, Tx("a"))]


@shows("flood/peer.whole-pool")
def a_new_peer_is_offered_the_pool(node: Node) -> None:
    node.connect(1)
    node.receive(1, Tx("a"))
    node.submit("b")
    assert sorted(node.connect(2), key=str) == [(2, Tx("a")), (2, Tx("b"))]


@shows("flood/send.pool-order")
def a_new_peer_is_offered_the_pool_in_order(node: Node) -> None:
    node.connect(1)
    for symbol in "abc":
        node.receive(1, Tx(symbol))
    assert node.connect(2) == [(2, Tx("a")), (2, Tx("b")), (2, Tx("c"))]


@shows("flood/send.at-decision")
def a_stalled_peer_is_decided_on_when_it_reads_again(node: Node) -> None:
    node.connect(1, 2, 3)
    node.receive(1, Tx("z"))
    node.stall(3)
    assert node.receive(1, Tx("a")) == [(2, Tx("a"))]
    assert node.receive(1, Tx("b")) == [(2, Tx("b"))]
    node.receive(1, Tx("c"))
    node.receive(3, Tx("b"))
    node.commit("c")
    node.stall(3)
    assert [sent for sent in node.resume(3) if isinstance(sent[1], Tx)] == [(3, Tx("a"))]
    assert node.resume(3) == []


@shows("flood/rpc.txs-only")
def flood_ignores_the_control_channel(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    assert node.receive(2, Tx("a")) == []
    assert node.receive(2, HaveTx("a")) == []
    assert node.receive(2, ResetRoute()) == []
    assert node.routes() == []
    assert node.receive(1, Tx("b")) == [(2, Tx("b"))]
    assert node.adjust() == node.lose(1) == []


NAMES = [name for name, each in SCENARIOS.items() if each.run.__module__ == __name__]
KEPT_BY_DOG = [name for name in NAMES if SCENARIOS[name].clause != "flood/rpc.txs-only"]


@pytest.mark.parametrize("name", NAMES)
def test_flood_does_what_the_clause_says(name: str) -> None:
    SCENARIOS[name].run(Node("flood", None))


@pytest.mark.parametrize("name", KEPT_BY_DOG)
def test_dog_keeps_it(name: str) -> None:
    SCENARIOS[name].run(Node("dog", None))
