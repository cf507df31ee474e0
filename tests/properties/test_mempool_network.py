"""A network of model nodes: what an act does, what it can not do, and that searches find what is planted."""

from __future__ import annotations

import pytest

from quidnunc.model.mempool import DOG, FLOOD
from quidnunc.model.rpc import HaveTx, ResetRoute, Tx
from quidnunc.properties.mempool_network import Network, Rules, acted, started, ways
from quidnunc.properties.mempool_network_acts import act_of, acts_of
from quidnunc.properties.mempool_search import (
    Broken,
    Memory,
    Move,
    World,
    breadth_first,
    judged,
    minimised,
    moves,
    walks,
)
from quidnunc.properties.network_runs import ActError

RING = ((1, 2), (1, 3), (2, 3))


def after(text: str, rules: Rules | None = None, links: tuple[tuple[int, int], ...] = RING) -> Network:
    network = started(rules or Rules(DOG), links)
    for act in acts_of(text):
        network = acted(network, act).network
    return network


@pytest.mark.parametrize(
    "text",
    ["U(A,t1)", "D(A)", "R(B,A)", "A(A)", "A(A)=B", "L(A,B)=C", "J(A,BC)", "W(A,200)", "F(A,B,HaveTx t1)",
     "F(A,B,ResetRoute)", "R(A,B)=-", "J(A,BC)=B,C"],
)  # fmt: skip
def test_an_act_is_written_as_it_is_read(text: str) -> None:
    assert str(act_of(text)) == text


@pytest.mark.parametrize("text", ["", "Z(A)", "U", "U(a,t1)", "F(A,B,Nothing t1)", "F(A,B,Tx)", "J(A,b)"])
def test_what_is_no_act_is_refused(text: str) -> None:
    with pytest.raises(ActError):
        act_of(text)


@pytest.mark.parametrize(
    ("before", "act"),
    [
        ("", "D(A)"),
        ("", "R(A,B)"),
        ("", "L(A,B)"),
        ("", "J(A,B)"),
        ("", "W(A,200)"),
        ("X(A)", "U(A,t1)"),
        ("U(A,t1)", "A(A)=D"),
        ("", "A(A)=B"),
        ("X(A); L(B,A)", "J(A,BC)"),
    ],
)
def test_what_can_not_happen_is_refused(before: str, act: str) -> None:
    network = after(before)
    with pytest.raises(ActError):
        acted(network, act_of(act))


def test_a_transaction_is_offered_when_its_node_gets_to_it() -> None:
    network = after("U(A,t1); U(A,t2)")
    assert not any(network.inbox.values())
    network = acted(network, act_of("D(A)")).network
    assert network.inbox[2] == network.inbox[3] == ((1, Tx("t1")),)
    assert network.offered[1] == 1
    assert not network.quiet()


def test_senders_that_came_meanwhile_are_left_out() -> None:
    network = after("U(A,t1); U(B,t1); D(B); R(A,B); D(A)")
    assert network.inbox[2] == ((1, HaveTx("t1")),)
    assert network.inbox[3] == ((2, Tx("t1")), (1, Tx("t1")))


def test_a_link_is_in_order_and_links_are_not() -> None:
    network = after("U(A,t1); U(B,t2); D(A); D(B)")
    assert [part for _, part in network.inbox[3]] == [Tx("t1"), Tx("t2")]
    assert [*acted(network, act_of("R(C,B)")).network.nodes[3].pool] == ["t2"]
    queue = after("U(A,t1); U(B,t2); D(A); D(B)", Rules(DOG, one_queue=True))
    with pytest.raises(ActError):
        acted(queue, act_of("R(C,B)"))


def test_every_peer_can_be_asked_and_no_other() -> None:
    network = after("U(A,t1)")
    asked = {str(act): moved.sent[0][1] for act, moved in ways(network, act_of("A(A)"))}
    assert {key: sent.peer for key, sent in asked.items()} == {"A(A)=B": 2, "A(A)=C": 3}
    assert all(sent.part == ResetRoute() for sent in asked.values())


def test_a_reset_frees_any_one_route_and_it_is_known_which() -> None:
    cut = "F(A,B,Tx t1); F(A,C,Tx t2); R(A,B); R(A,C); F(A,B,HaveTx t1); F(A,B,HaveTx t2); R(A,B); R(A,B)"
    network = after(f"{cut}; F(A,B,ResetRoute)")
    assert network.nodes[1].disabled_to(2).must == {2, 3}
    left = {str(act): moved.network.nodes[1].disabled_to(2) for act, moved in ways(network, act_of("R(A,B)"))}
    assert {key: known.must for key, known in left.items()} == {"R(A,B)=B": {3}, "R(A,B)=C": {2}}
    assert all(not known.may for known in left.values())


def test_who_leaves_starts_anew_and_what_is_on_its_links_is_lost() -> None:
    network = after("U(A,t1); D(A); X(A)")
    assert not network.nodes[1].pool
    assert not acted(network, act_of("L(B,A)")).network.inbox[2]
    kept = after("U(A,t1); D(A); X(A); L(B,A)", Rules(DOG, leaver_keeps=True))
    assert kept.nodes[1].pool
    assert kept.inbox[2] == ((1, Tx("t1")),)


def test_who_joins_is_known_to_both_sides() -> None:
    network = after("X(A); L(B,A); L(C,A); J(A,C)")
    assert [*network.nodes[1].peers] == [3]
    assert 1 in network.nodes[3].peers
    assert 1 not in network.nodes[2].peers


def test_equal_networks_have_equal_keys() -> None:
    one, other = after("U(A,t1); U(B,t2); D(A)"), after("U(B,t2); U(A,t1); D(A)")
    assert one.key() == other.key()
    assert one.key() != after("U(A,t1); U(B,t2)").key()
    assert hash(one.key()) == hash(other.key())


# -- searches -----------------------------------------------------------------------------------------------


def nobody_has_two(memory: Memory, move: Move) -> Memory:
    found = any(len(n.pool) > 1 for n in move.after.nodes.values())
    return Broken("two transactions") if found else None


def test_the_breadth_first_search_finds_a_shortest_run() -> None:
    found = breadth_first(World(Rules(FLOOD), RING), nobody_has_two, 1000)
    assert found.acts is not None
    assert [str(act) for act in found.acts] == ["U(A,t1)", "U(A,t2)"]


def test_a_small_world_is_gone_through() -> None:
    world = World(Rules(FLOOD), ((1, 2),), txs=("t1",), kinds=frozenset({"U", "D", "R"}))
    found = breadth_first(world, lambda memory, move: None)
    assert found.complete
    assert found.acts is None
    # The longest: both submit it, both offer it, both take it.
    assert found.depth == 6
    assert found.states > 10


def test_a_bound_cuts_the_search_off_and_it_says_so() -> None:
    found = breadth_first(World(Rules(DOG), RING), lambda memory, move: None, 200)
    assert (found.complete, found.states) == (False, 200)


def test_drawn_runs_are_the_same_for_the_same_seed_and_short() -> None:
    world = World(Rules(DOG), RING)
    one = walks(world, nobody_has_two, runs=50, length=30, seed=7)
    assert one == walks(world, nobody_has_two, runs=50, length=30, seed=7)
    assert one.acts is not None
    assert {act.kind for act in one.acts} == {"U"}
    assert len(one.acts) == 2


def test_a_run_is_minimised_to_what_it_needs() -> None:
    world = World(Rules(DOG), RING)
    acts = acts_of("U(A,t1); D(A); A(A)=B; R(B,A); R(B,A); A(B)=A; U(B,t2); D(B)")
    short, why = minimised(world, nobody_has_two, acts)
    assert why == "two transactions"
    assert len(short) < len(acts)
    assert judged(world, nobody_has_two, short).acts == short
    with pytest.raises(ValueError, match="breaks nothing"):
        minimised(world, nobody_has_two, acts[:2])


def test_moves_are_those_that_can_happen() -> None:
    world = World(Rules(DOG), RING)
    assert {str(move.act) for move in moves(world, world.start())} == {
        "U(A,t1)", "U(B,t1)", "U(C,t1)", "A(A)", "A(B)", "A(C)"
    }  # fmt: skip
