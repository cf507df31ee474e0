"""A network of model nodes: what an act does, what it cannot do, and that searches find what is planted."""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.model.mempool.protocols import CAT_CLASSIC, DOG, FLOOD
from quidnunc.model.rpc import HaveTx, ResetRoute, Tx, WantTx
from quidnunc.model.rules import Protocol
from quidnunc.properties.networks.acts import act_of, acts_of
from quidnunc.properties.networks.mempool import MempoolMove, MempoolNetwork
from quidnunc.properties.networks.network import act_variants, network_after
from quidnunc.properties.networks.runs import ActError, BrokenClaim, Memory
from quidnunc.properties.networks.world import World
from tests.helpers.small_networks import network_of, world_of
from tools.decide.acts import moves_of
from tools.decide.runs import breadth_first, judge_run, minimised_run, walks
from tools.decide.searches.dog import NO_ADJUSTMENT, STILL

RING = ((1, 2), (1, 3), (2, 3))


def after(text: str, **transport: bool) -> MempoolNetwork:
    return network_of(DOG, RING, text, **transport)


def world(protocol: Protocol = DOG) -> World:
    return world_of(protocol, RING, STILL)


@pytest.mark.parametrize(
    "text",
    ["submit A t1", "offer A", "deliver A>B", "adjust A", "adjust A | reset.target=B", "notice A B",
     "notice A B | reset.target=C", "join A B,C", "wait A 200ms", "leave A", "say B>A havetx t1",
     "say B>A resetroute", "deliver B>A | routes.kept=-", "commit A t1", "begin A>B", "begin A"],
)  # fmt: skip
def test_an_act_is_written_as_it_is_read(text: str) -> None:
    assert str(act_of(text)) == text


@pytest.mark.parametrize(
    "text", ["", "U(A,t1)", "submit", "submit a t1", "say B>A nothing t1", "say B>A tx", "wait A soon"]
)
def test_what_is_no_act_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        act_of(text)


@pytest.mark.parametrize(
    ("before", "act"),
    [
        ("", "offer A"),
        ("", "deliver B>A"),
        ("", "notice A B"),
        ("", "join A B"),
        ("", "wait A 200ms"),
        ("leave A", "submit A t1"),
        ("submit A t1", "adjust A | reset.target=D"),
        ("", "adjust A | reset.target=B"),
        ("leave A, notice B A", "join A B,C"),
    ],
)
def test_what_cannot_happen_is_refused(before: str, act: str) -> None:
    network = after(before)
    with pytest.raises(ActError):
        network_after(network, act_of(act))


def test_a_transaction_is_offered_when_its_node_gets_to_it() -> None:
    network = after("submit A t1, submit A t2")
    assert not any(network.inbox.values())
    network = network_after(network, act_of("offer A")).after
    assert network.waiting(2) == network.waiting(3) == [(1, Tx("t1"))]
    assert network.offered[1] == 1
    assert not network.quiet()


def test_senders_that_came_meanwhile_are_left_out() -> None:
    network = after("submit A t1, submit B t1, offer B, deliver B>A, offer A")
    assert network.waiting(2) == [(1, HaveTx("t1"))]
    assert network.waiting(3) == [(2, Tx("t1")), (1, Tx("t1"))]


def test_a_link_is_in_order_and_links_are_not() -> None:
    network = after("submit A t1, submit B t2, offer A, offer B")
    assert [part for _, part in network.waiting(3)] == [Tx("t1"), Tx("t2")]
    assert [*network_after(network, act_of("deliver B>C")).after.nodes[3].pool] == ["t2"]
    queue = after("submit A t1, submit B t2, offer A, offer B", one_queue=True)
    with pytest.raises(ActError):
        network_after(queue, act_of("deliver B>C"))


def test_every_peer_can_be_asked_and_no_other() -> None:
    network = after("submit A t1")
    asked = {str(move.act): move.sent for move in act_variants(network, act_of("adjust A"))}
    assert asked == {
        "adjust A": [(1, ResetRoute(), 2)],
        "adjust A | reset.target=C": [(1, ResetRoute(), 3)],
    }


def test_a_reset_frees_any_one_route_and_it_is_known_which() -> None:
    cut = "say B>A tx t1, say C>A tx t2, deliver B>A, deliver C>A, say B>A havetx t1, say B>A havetx t2"
    network = after(f"{cut}, deliver B>A, deliver B>A, say B>A resetroute")
    assert network.nodes[1].disabled_to(2).must == {2, 3}
    left = {
        str(move.act): move.after.nodes[1].disabled_to(2)
        for move in act_variants(network, act_of("deliver B>A"))
    }
    assert {key: known.must for key, known in left.items()} == {
        "deliver B>A": {2},
        "deliver B>A | routes.kept=C": {3},
    }
    assert all(not known.may for known in left.values())


def test_who_leaves_starts_anew_and_what_is_on_its_links_is_lost() -> None:
    network = after("submit A t1, offer A, leave A")
    assert not network.nodes[1].pool
    assert not network_after(network, act_of("notice B A")).after.inbox[2]
    kept = after("submit A t1, offer A, leave A, notice B A", leaver_keeps=True)
    assert kept.nodes[1].pool
    assert kept.waiting(2) == [(1, Tx("t1"))]


def test_who_joins_is_known_to_both_sides() -> None:
    network = after("leave A, notice B A, notice C A, join A C")
    assert [*network.nodes[1].peers] == [3]
    assert 1 in network.nodes[3].peers
    assert 1 not in network.nodes[2].peers


def test_equal_networks_have_equal_keys() -> None:
    one, other = after("submit A t1, submit B t2, offer A"), after("submit B t2, submit A t1, offer A")
    assert one.key() == other.key()
    assert one.key() != after("submit A t1, submit B t2").key()
    assert hash(one.key()) == hash(other.key())


# -- what leaves the pool, and what a node does at once ----------------------------------------------------


def test_what_a_block_takes_leaves_the_pool_and_is_offered_no_more() -> None:
    network = after("submit A t1, submit A t2, offer A, commit A t1")
    assert [*network.nodes[1].pool] == ["t2"]
    assert "t1" in network.nodes[1].cache
    # The place in the pool is that of what is offered next.
    assert network.offered[1] == 0
    assert network_after(network, act_of("offer A")).after.waiting(2)[-1] == (1, Tx("t2"))
    with pytest.raises(ActError, match="not in the pool"):
        network_after(network, act_of("commit A t1"))


TWO_COPIES = "submit A t1, submit B t1, submit C t1, offer B, offer C"


def test_two_routines_read_that_havetx_is_allowed_and_each_says_one() -> None:
    begun = after(f"{TWO_COPIES}, begin B>A, begin C>A", routines=True)
    # The duplicates are counted, and nothing is said yet.
    assert begun.nodes[1].duplicates == 2 and not begun.nodes[1].blocked
    assert not begun.quiet() and HaveTx("t1") not in [part for _, part in begun.waiting(2)]
    ended = after(f"{TWO_COPIES}, begin B>A, begin C>A, deliver B>A, deliver C>A", routines=True)
    assert [(1, HaveTx("t1"))] == ended.waiting(2)[-1:] == ended.waiting(3)[-1:]
    assert ended.nodes[1].blocked and not ended.begun
    one = after(f"{TWO_COPIES}, deliver B>A, deliver C>A", routines=True)
    assert (1, HaveTx("t1")) not in one.waiting(3)


def test_counts_between_reading_the_counters_and_setting_them_to_0_are_lost() -> None:
    network = after("submit A t1, begin A, submit A t2, adjust A", routines=True)
    assert (network.nodes[1].first_time, network.nodes[1].duplicates) == (0, 0)
    assert after("submit A t1, begin A, submit A t2", routines=True).nodes[1].first_time == 2


def test_a_routine_ends_with_its_connection() -> None:
    assert not after(f"{TWO_COPIES}, begin B>A, leave B, notice A B", routines=True).begun
    assert not after(f"{TWO_COPIES}, begin B>A, leave A", routines=True).begun


@pytest.mark.parametrize(
    ("before", "act", "routines"),
    [
        (TWO_COPIES, "begin B>A", False),
        ("submit A t1, offer A", "begin A>B", True),
        (f"{TWO_COPIES}, begin B>A", "begin B>A", True),
        ("", "begin A", True),
        ("", "begin B>A", True),
        ("", "disconnect A-B", True),
        ("", "connect A>B", True),
    ],
)
def test_what_is_one_step_is_not_begun(before: str, act: str, routines: bool) -> None:
    with pytest.raises(ActError):
        network_after(after(before, routines=routines), act_of(act))


def test_a_connection_breaks_and_is_made_again() -> None:
    links = ((1, 2), (2, 3))
    lost = network_of(CAT_CLASSIC, links, "submit A t1, deliver A>B, disconnect B-C")
    assert not lost.linked(2, 3) and not lost.inbox[3]
    made = network_of(CAT_CLASSIC, links, "submit A t1, deliver A>B, disconnect B-C, connect B>C")
    # Nothing that the pool has is announced again.
    assert made.linked(2, 3) and made.nodes[2].pool and not made.inbox[3]


def test_two_routines_ask_for_one_transaction_and_one_is_in_the_book() -> None:
    ring = ((1, 2), (2, 3), (3, 4), (1, 4))
    acts = "submit A t1, deliver A>B, deliver A>D, begin B>C, begin D>C, deliver B>C, deliver D>C"
    network = network_of(CAT_CLASSIC, ring, acts, routines=True)
    assert (3, WantTx("t1")) in network.waiting(2) and (3, WantTx("t1")) in network.waiting(4)
    assert network.nodes[3].wanted["t1"].of == 2


# -- searches -----------------------------------------------------------------------------------------------


def nobody_has_two(memory: Memory, move: MempoolMove) -> Memory:
    found = any(len(n.pool) > 1 for n in move.after.nodes.values())
    return BrokenClaim("two transactions") if found else None


def test_the_breadth_first_search_finds_a_shortest_run() -> None:
    found = breadth_first(world(FLOOD), nobody_has_two, 1000)
    assert found.acts is not None
    assert [str(act) for act in found.acts] == ["submit A t1", "submit A t2"]


def test_a_small_world_is_gone_through() -> None:
    pair = evolve(world_of(FLOOD, ((1, 2),), NO_ADJUSTMENT), messages=("t1",))
    found = breadth_first(pair, lambda memory, move: None)
    assert found.complete
    assert found.acts is None
    # The longest: both submit it, both offer it, both take it.
    assert found.depth == 6
    assert found.states > 10


def test_a_bound_cuts_the_search_off_and_it_says_so() -> None:
    found = breadth_first(world(), lambda memory, move: None, 200)
    assert (found.complete, found.states) == (False, 200)


def test_drawn_runs_are_the_same_for_the_same_seed_and_short() -> None:
    one = walks(world(), nobody_has_two, runs=50, length=30, seed=7)
    assert one == walks(world(), nobody_has_two, runs=50, length=30, seed=7)
    assert one.acts is not None
    assert {act.kind for act in one.acts} == {"submit"}
    assert len(one.acts) == 2


def test_a_run_is_minimised_to_what_it_needs() -> None:
    acts = acts_of("submit A t1, offer A, adjust A, deliver A>B, deliver A>B, adjust B, submit B t2, offer B")
    short, why = minimised_run(world(), nobody_has_two, acts)
    assert why == "two transactions"
    assert len(short) < len(acts)
    assert judge_run(world(), nobody_has_two, short).acts == short
    with pytest.raises(ValueError, match="breaks nothing"):
        minimised_run(world(), nobody_has_two, acts[:2])


def test_moves_are_those_that_can_happen() -> None:
    assert {str(move.act) for move in moves_of(world(), world().start())} == {
        "submit A t1", "submit B t1", "submit C t1", "adjust A", "adjust B", "adjust C"
    }  # fmt: skip
