"""DOG's messages and routes, clause by clause, of our mempool reactor."""

from __future__ import annotations

import pytest

from quidnunc.impl.wire.mempool_codec import CONTROL_CHANNEL, TX_CHANNEL
from quidnunc.model.events import MEMPOOL_WITHOUT_DOG
from quidnunc.model.rpc import HaveTx, ResetRoute, Tx
from tests.helpers.mempool_node import SCENARIOS, Node, shows, with_two_cut

# DOG: HaveTx sent.


@shows("dog/havetx.to-sender")
def a_duplicate_is_answered_to_its_sender(node: Node) -> None:
    node.connect(1, 2, 3)
    node.receive(1, Tx("a"))
    assert node.receive(3, Tx("a")) == [(3, HaveTx("a"))]


@shows("dog/havetx.initially-allowed")
def the_first_duplicate_ever_is_answered(node: Node) -> None:
    node.connect(1)
    node.submit("a")
    assert node.receive(1, Tx("a")) == [(1, HaveTx("a"))]


@shows("dog/peer.without-dog")
def a_peer_without_dog_is_told_nothing_of_it(node: Node) -> None:
    """And what it is not told blocks nothing."""
    node.sent(node.driver.connect(1, MEMPOOL_WITHOUT_DOG, False))
    node.connect(2)
    node.receive(1, Tx("a"))
    assert node.receive(1, Tx("a")) == []
    assert node.receive(2, Tx("a")) == [(2, HaveTx("a"))]
    node.adjust()
    for k in range(20):
        node.submit(f"b{k}")
        assert node.adjust() == [(2, ResetRoute())]


@shows("dog/havetx.then-blocked")
def the_second_duplicate_is_only_counted(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    node.receive(2, Tx("a"))
    assert node.receive(2, Tx("a")) == node.receive(1, Tx("a")) == []
    assert node.count() == (1, 3)


@shows("dog/count.user-duplicate")
def a_users_duplicate_is_counted_and_not_answered(node: Node) -> None:
    node.connect(1)
    node.submit("a")
    assert node.submit("a") == []
    assert node.count() == (1, 1)
    assert node.receive(1, Tx("a")) == [(1, HaveTx("a"))]


@shows("dog/havetx.for-committed")
def a_committed_duplicate_is_counted_and_answered(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    node.commit("a")
    assert node.receive(2, Tx("a")) == [(2, HaveTx("a"))]
    assert node.count() == (1, 1)


# DOG: HaveTx received.


@shows("dog/havetx.first-sender")
def the_route_of_the_first_sender_is_cut(node: Node) -> None:
    node.connect(1, 2, 3, 4)
    node.receive(1, Tx("a"))
    node.receive(2, Tx("a"))
    assert node.receive(4, HaveTx("a")) == []
    assert node.routes() == [[1, 4]]
    assert node.receive(1, Tx("b")) == [(2, Tx("b")), (3, Tx("b"))]
    assert node.receive(2, Tx("c")) == [(1, Tx("c")), (3, Tx("c")), (4, Tx("c"))]


@shows("dog/havetx.first-sender")
def the_first_sender_filters_what_waited(node: Node) -> None:
    node.connect(1, 2, 4)
    node.receive(1, Tx("a"))
    node.receive(4, HaveTx("a"))
    node.stall(4)
    node.receive(1, Tx("b"))
    node.receive(2, Tx("b"))
    assert node.resume(4) == []


@shows("dog/havetx.one-route")
def one_havetx_cuts_one_route(node: Node) -> None:
    node.connect(1, 2, 3)
    node.receive(1, Tx("a"))
    node.receive(2, Tx("a"))
    node.receive(3, HaveTx("a"))
    node.receive(3, HaveTx("a"))
    assert node.routes() == [[1, 3]]


@shows("dog/havetx.target")
def the_target_is_the_one_who_said_it(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    node.receive(2, HaveTx("a"))
    assert node.receive(1, Tx("b")) == []
    assert node.receive(2, Tx("c")) == [(1, Tx("c"))]


@shows("dog/havetx.nothing-else")
def a_havetx_changes_nothing_but_the_route(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    before = node.state()
    node.receive(2, HaveTx("a"))
    assert node.state() == {**before, "routes": [[1, 2]]}


@shows("dog/havetx.no-sender")
def a_havetx_for_our_own_or_the_unknown_changes_nothing(node: Node) -> None:
    node.connect(1, 2)
    node.submit("a")
    node.receive(1, Tx("b"))
    node.commit("b")
    before = node.state()
    for symbol in ("a", "b", "never-seen"):
        assert node.receive(2, HaveTx(symbol)) == []
    assert node.state() == before


@shows("dog/havetx.first-sender-gone")
def a_route_from_the_dead_is_not_cut(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    node.lose(1)
    node.receive(2, HaveTx("a"))
    assert node.routes() == []
    node.connect(1)
    assert node.receive(1, Tx("b")) == [(2, Tx("b"))]


@shows("dog/havetx.self-route")
def a_self_route_filters_nothing(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    node.receive(1, HaveTx("a"))
    assert node.routes() == [[1, 1]]
    assert node.receive(1, Tx("b")) == [(2, Tx("b"))]
    assert node.receive(2, Tx("c")) == [(1, Tx("c"))]


@shows("dog/send.own-unfiltered")
def a_users_transaction_ignores_the_routes(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    node.receive(2, HaveTx("a"))
    assert node.submit("b") == [(1, Tx("b")), (2, Tx("b"))]


@shows("dog/route.filter")
def an_own_transaction_that_came_back_is_filtered(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    node.receive(2, HaveTx("a"))
    node.stall(2)
    node.submit("b")
    node.receive(1, Tx("b"))
    assert node.resume(2) == []


# DOG: ResetRoute received.


@shows("dog/reset.one")
def a_reset_frees_exactly_one(node: Node) -> None:
    with_two_cut(node)
    assert node.receive(3, ResetRoute()) == []
    assert node.routes() in ([[1, 2], [1, 3]], [[1, 2], [2, 3]])
    node.receive(3, ResetRoute())
    assert node.routes() == [[1, 2]]


@shows("dog/reset.own-target")
def a_reset_leaves_the_routes_of_others(node: Node) -> None:
    with_two_cut(node)
    node.receive(3, ResetRoute())
    node.receive(3, ResetRoute())
    node.receive(3, ResetRoute())
    assert node.routes() == [[1, 2]]
    assert node.receive(1, Tx("c")) == [(3, Tx("c"))]


@shows("dog/reset.none")
def a_reset_without_a_route_is_nothing(node: Node) -> None:
    node.connect(1, 2)
    before = node.state()
    assert node.receive(1, ResetRoute()) == []
    assert node.state() == before
    assert node.receive(1, Tx("a")) == [(2, Tx("a"))]


@shows("dog/reset.not-retroactive")
def what_was_withheld_stays_so(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    node.receive(2, HaveTx("a"))
    assert node.receive(1, Tx("b")) == []
    assert node.receive(2, ResetRoute()) == []
    assert node.receive(1, Tx("c")) == [(2, Tx("c"))]


@shows("flood/receive.invalid-cached")
def what_was_refused_is_known_from_then_on(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("bad"))
    node.receive(2, Tx("bad"))
    assert node.count() == (1, 1)


@shows("dog/rpc.control-channel")
def each_message_is_on_its_channel(node: Node) -> None:
    node.connect(1, 2)
    reply = node.driver.rpc(1, node.codec.encode(Tx("a"))[1], TX_CHANNEL)
    assert [(peer, channel) for peer, channel, _ in reply.out] == [(2, TX_CHANNEL)]
    reply = node.driver.rpc(2, node.codec.encode(Tx("a"))[1], TX_CHANNEL)
    assert [(peer, channel) for peer, channel, _ in reply.out] == [(2, CONTROL_CHANNEL)]


NAMES = [name for name, each in SCENARIOS.items() if each.run.__module__ == __name__]


@pytest.mark.parametrize("name", NAMES)
def test_dog_does_what_the_clause_says(name: str) -> None:
    SCENARIOS[name].run(Node("dog", None))
