"""DOG's redundancy controller and the loss of peers, clause by clause, of our mempool reactor."""

from __future__ import annotations

import pytest

from quidnunc.model.rpc import HaveTx, ResetRoute, Tx
from tests.helpers.mempool_node import SCENARIOS, Node, shows, with_two_cut

# DOG: the controller.


@shows("dog/controller.idle")
def an_idle_window_changes_nothing(node: Node) -> None:
    node.connect(1)
    before = node.driver.state()
    assert node.adjust() == []
    assert node.driver.state() == before


@shows("dog/controller.reset")
def too_little_asks_exactly_one_peer(node: Node) -> None:
    node.connect(1, 2, 3)
    node.load(100, 89)
    sent = node.adjust()
    assert [part for _, part in sent] == [ResetRoute()]
    assert node.count() == (0, 0)


@shows("dog/count.first")
def first_time_counts_peers_and_users(node: Node) -> None:
    node.connect(1)
    node.submit("a")
    node.receive(1, Tx("b"))
    assert node.count() == (2, 0)


@shows("dog/controller.reset")
def too_little_leaves_the_permission(node: Node) -> None:
    node.connect(1)
    node.load(1, 0)
    assert node.adjust() == [(1, ResetRoute())]
    assert node.receive(1, Tx("load0")) == [(1, HaveTx("load0"))]


@shows("dog/controller.in-band")
def the_band_includes_its_lower_bound_and_not_its_upper(node: Node) -> None:
    node.connect(1)
    node.load(10, 9)
    assert node.adjust() == []
    node.submit("fresh")
    assert node.receive(1, Tx("fresh")) == [(1, HaveTx("fresh"))]
    node.adjust()
    for k in range(100):
        node.submit(f"more{k}")
    for _ in range(109):
        node.submit("more0")
    assert node.adjust() == []
    assert node.receive(1, Tx("more1")) == []


@shows("dog/controller.unblock")
def the_upper_bound_itself_unblocks(node: Node) -> None:
    node.connect(1)
    node.load(10, 10)
    assert node.receive(1, Tx("load1")) == [(1, HaveTx("load1"))]
    assert node.adjust() == []
    assert node.receive(1, Tx("load2")) == [(1, HaveTx("load2"))]


@shows("dog/controller.ratio")
def duplicates_alone_unblock(node: Node) -> None:
    node.connect(1)
    node.submit("a")
    node.receive(1, Tx("a"))
    node.adjust()
    assert node.receive(1, Tx("a")) == []
    node.adjust()
    assert node.receive(1, Tx("a")) == [(1, HaveTx("a"))]


@shows("dog/controller.restart")
def the_counters_start_anew(node: Node) -> None:
    node.connect(1)
    node.load(5, 1)
    node.adjust()
    assert node.count() == (0, 0)
    assert node.adjust() == []


# DOG: peers.


@shows("dog/peer.forget-routes")
def a_lost_target_is_forgotten(node: Node) -> None:
    with_two_cut(node)
    node.lose(3)
    assert node.routes() == [[1, 2]]
    node.connect(3)
    assert (3, Tx("c")) in node.receive(1, Tx("c"))


@shows("dog/peer.forget-routes")
def a_lost_source_is_forgotten(node: Node) -> None:
    with_two_cut(node)
    node.lose(1)
    assert node.routes() == [[2, 3]]


@shows("dog/peer.adjust-at-loss")
def a_loss_runs_the_controller(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    assert node.lose(1) == [(2, ResetRoute())]
    assert node.count() == (0, 0)


@shows("dog/peer.no-mass-reset")
def a_loss_asks_one_at_most(node: Node) -> None:
    node.connect(1, 2, 3, 4)
    assert node.lose(1) == []
    node.receive(2, Tx("a"))
    assert [part for _, part in node.lose(2)] == [ResetRoute()]


@shows("dog/peer.reset-not-to-lost")
def the_lost_peer_is_not_asked(node: Node) -> None:
    for peer in range(1, 30):
        node.connect(peer)
    for k, peer in enumerate(range(1, 29)):
        node.submit(f"t{k}")
        assert all(target > peer for target, part in node.lose(peer) if part == ResetRoute())
    node.submit("last")
    assert node.lose(29) == []


NAMES = [name for name, each in SCENARIOS.items() if each.run.__module__ == __name__]


@pytest.mark.parametrize("name", NAMES)
def test_dog_does_what_the_clause_says(name: str) -> None:
    SCENARIOS[name].run(Node("dog", None))
