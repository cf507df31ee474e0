"""Our mempool reactor, clause by clause: each scenario holds of ours and kills the mutants of its clause."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import frozen

from quidnunc.impl.dog import open_dog
from quidnunc.impl.dog_mutants import DOG_MUTANTS
from quidnunc.impl.mempool_codec import CONTROL_CHANNEL, TX_CHANNEL, MempoolCodec
from quidnunc.impl.seam import Config, Reply
from quidnunc.model.events import MEMPOOL
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import HaveTx, Part, ResetRoute, Tx

Sent = list[tuple[int, Part]]


class Node:
    """One reactor and its neighbours, in symbols."""

    def __init__(self, protocol: str, mutant: str | None, parameters: DogParameters | None = None) -> None:
        config = Config(seed=7, protocol=protocol, dog=parameters or DogParameters())
        self.driver = open_dog(config, mutant)
        self.codec = MempoolCodec()

    def sent(self, reply: Reply) -> Sent:
        assert not reply.crashed
        assert not reply.closed
        return [
            (peer, part)
            for peer, channel, data in reply.out
            for part in self.codec.decode(channel, data)
        ]  # fmt: skip

    def connect(self, *peers: int) -> Sent:
        return [sent for p in peers for sent in self.sent(self.driver.connect(p, MEMPOOL, False))]

    def lose(self, peer: int) -> Sent:
        return self.sent(self.driver.disconnect(peer))

    def receive(self, peer: int, part: Part) -> Sent:
        channel, data = self.codec.encode(part)
        return self.sent(self.driver.rpc(peer, data, channel))

    def submit(self, symbol: str) -> Sent:
        return self.sent(self.driver.submit(self.codec.tx_bytes(symbol)))

    def commit(self, symbol: str) -> Sent:
        return self.sent(self.driver.commit(self.codec.tx_bytes(symbol)))

    def adjust(self) -> Sent:
        return self.sent(self.driver.adjust())

    def stall(self, peer: int) -> None:
        assert self.sent(self.driver.stall(peer)) == []

    def resume(self, peer: int) -> Sent:
        return self.sent(self.driver.resume(peer))

    def routes(self) -> object:
        return self.driver.state().state["routes"]

    def count(self) -> tuple[object, object]:
        state = self.driver.state().state
        return state["first_time"], state["duplicates"]

    def load(self, first: int, duplicates: int) -> None:
        """Let that many first-time and duplicate transactions come, from users, since the last adjustment."""
        for k in range(first):
            self.submit(f"load{k}")
        for _ in range(duplicates):
            self.submit("load0")
        assert self.count() == (first, duplicates)


@frozen
class Scenario:
    name: str
    clause: str
    run: Callable[[Node], None]

    @property
    def protocol(self) -> str:
        return self.clause.split("/")[0]


SCENARIOS: dict[str, Scenario] = {}


def shows(clause: str) -> Callable[[Callable[[Node], None]], Callable[[Node], None]]:
    def keep(run: Callable[[Node], None]) -> Callable[[Node], None]:
        SCENARIOS[run.__name__] = Scenario(run.__name__, clause, run)
        return run

    return keep


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


@shows("flood/submit.to-all")
def a_users_transaction_goes_to_all(node: Node) -> None:
    node.connect(1, 2, 3)
    assert node.submit("a") == [(1, Tx("a")), (2, Tx("a")), (3, Tx("a"))]


@shows("flood/peer.whole-pool")
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


@shows("flood/txs-only")
def flood_ignores_the_control_channel(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    assert node.receive(2, Tx("a")) == []
    assert node.receive(2, HaveTx("a")) == []
    assert node.receive(2, ResetRoute()) == []
    assert node.routes() == []
    assert node.receive(1, Tx("b")) == [(2, Tx("b"))]
    assert node.adjust() == node.lose(1) == []


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


@shows("dog/count.duplicate")
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


@shows("dog/havetx.no-sender")
def a_havetx_for_our_own_or_the_unknown_changes_nothing(node: Node) -> None:
    node.connect(1, 2)
    node.submit("a")
    node.receive(1, Tx("b"))
    node.commit("b")
    before = node.driver.state()
    for symbol in ("a", "b", "never-seen"):
        assert node.receive(2, HaveTx(symbol)) == []
    assert node.driver.state() == before


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


@shows("dog/send.disabled-route")
def an_own_transaction_that_came_back_is_filtered(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    node.receive(2, HaveTx("a"))
    node.stall(2)
    node.submit("b")
    node.receive(1, Tx("b"))
    assert node.resume(2) == []


# DOG: ResetRoute received.


def with_two_cut(node: Node) -> None:
    """The routes from 1 and 2 to 3 are disabled, and that from 1 to 2."""
    node.connect(1, 2, 3)
    node.receive(1, Tx("a"))
    node.receive(2, Tx("b"))
    node.receive(3, HaveTx("a"))
    node.receive(3, HaveTx("b"))
    node.receive(2, HaveTx("a"))
    assert node.routes() == [[1, 2], [1, 3], [2, 3]]


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
    before = node.driver.state()
    assert node.receive(1, ResetRoute()) == []
    assert node.driver.state() == before
    assert node.receive(1, Tx("a")) == [(2, Tx("a"))]


@shows("dog/reset.not-retroactive")
def what_was_withheld_stays_so(node: Node) -> None:
    node.connect(1, 2)
    node.receive(1, Tx("a"))
    node.receive(2, HaveTx("a"))
    assert node.receive(1, Tx("b")) == []
    assert node.receive(2, ResetRoute()) == []
    assert node.receive(1, Tx("c")) == [(2, Tx("c"))]


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


@shows("dog/controller.unblock")
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


@shows("dog/peer.adjust-at-loss")
def the_lost_peer_is_not_asked(node: Node) -> None:
    for peer in range(1, 30):
        node.connect(peer)
    for k, peer in enumerate(range(1, 29)):
        node.submit(f"t{k}")
        assert all(target > peer for target, part in node.lose(peer) if part == ResetRoute())
    node.submit("last")
    assert node.lose(29) == []


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_ours_does_what_the_clause_says(name: str) -> None:
    scenario = SCENARIOS[name]
    scenario.run(Node(scenario.protocol, None))


KEPT_BY_DOG = [n for n, s in SCENARIOS.items() if s.protocol == "flood" and s.clause != "flood/txs-only"]


@pytest.mark.parametrize("name", sorted(KEPT_BY_DOG))
def test_dog_keeps_floods_clauses(name: str) -> None:
    SCENARIOS[name].run(Node("dog", None))


@pytest.mark.parametrize("name", sorted(DOG_MUTANTS))
def test_each_mutant_is_killed_by_a_scenario_of_its_clause(name: str) -> None:
    mutant = DOG_MUTANTS[name]
    scenarios = [s for s in SCENARIOS.values() if s.clause == mutant.clause]
    assert scenarios, f"no scenario shows {mutant.clause}"

    def survives(scenario: Scenario) -> bool:
        try:
            scenario.run(Node(mutant.protocol, name))
        except AssertionError:
            return False
        return True

    assert not all(survives(scenario) for scenario in scenarios)


def test_channels_of_what_is_sent() -> None:
    node = Node("dog", None)
    node.connect(1, 2)
    reply = node.driver.rpc(1, node.codec.encode(Tx("a"))[1], TX_CHANNEL)
    assert [(peer, channel) for peer, channel, _ in reply.out] == [(2, TX_CHANNEL)]
    reply = node.driver.rpc(2, node.codec.encode(Tx("a"))[1], TX_CHANNEL)
    assert [(peer, channel) for peer, channel, _ in reply.out] == [(2, CONTROL_CHANNEL)]
