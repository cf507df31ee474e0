"""The peer limit of the model: two classes of slots, who waits, and how a slot that passed on shows."""

from __future__ import annotations

import pytest
from attrs import frozen

from quidnunc.model.choices import AngelicChoices, PartialSet, ScriptedChoices
from quidnunc.model.events import (
    MEMPOOL,
    Commit,
    Connect,
    Disconnect,
    Event,
    Output,
    Receive,
    Sent,
    Stall,
    Submit,
)
from quidnunc.model.mempool.node import Node, started_node
from quidnunc.model.mempool.node_step import applicable, step
from quidnunc.model.mempool.protocols import FLOOD, PEER_LIMIT
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import Tx


@frozen
class After:
    node: Node
    must: frozenset[Output]
    problems: int


def joined(*peers: int) -> list[Event]:
    return [Connect((peer,), MEMPOOL) for peer in peers]


def after(*events: Event | list[Event], seen: tuple[int, ...] = (), tx: str = "a", **given: object) -> After:
    """Play `events`; at the last one `tx` is seen to go to the peers of `seen`."""
    parameters = DogParameters(dog=False, **given)  # type: ignore[arg-type]
    node = started_node(PEER_LIMIT, parameters)
    flat = [e for each in events for e in (each if isinstance(each, list) else [each])]
    for event in flat[:-1]:
        assert applicable(node, event), event
        node = step(node, event, AngelicChoices(frozenset())).router
    angel = AngelicChoices(frozenset(Sent(p, Tx(tx)) for p in seen))
    last = step(node, flat[-1], angel)
    return After(last.router, frozenset(p.output for p in last.permits if p.must), len(angel.problems))


def to(*peers: int, tx: str = "a") -> frozenset[Output]:
    return frozenset(Sent(p, Tx(tx)) for p in peers)


def test_without_limits_it_is_flood() -> None:
    assert after(joined(1, 2, 3), Submit("a")).must == to(1, 2, 3)
    assert after(Submit("a"), joined(1)).must == to(1)


def test_the_first_to_come_are_sent_transactions() -> None:
    end = after(joined(3, 1, 2), Submit("a"), max_non_persistent=2)
    assert end.must == to(3, 1)
    assert after(Submit("a"), joined(1, 2), max_non_persistent=1).must == frozenset()


def test_the_classes_do_not_share_their_slots() -> None:
    given = {"persistent_peers": frozenset({3, 4, 5}), "max_non_persistent": 1}
    assert after(joined(1, 2, 3, 4, 5), Submit("a"), **given).must == to(1, 3, 4, 5)
    assert after(joined(1, 2, 3, 4, 5), Submit("a"), max_persistent=2, **given).must == to(1, 3, 4)


def test_unconditional_peers_take_no_slot() -> None:
    given = {"unconditional_peers": frozenset({1, 4}), "max_non_persistent": 1}
    assert after(joined(1, 2, 3, 4), Submit("a"), **given).must == to(1, 2, 4)


def test_everybody_is_listened_to() -> None:
    end = after(joined(1, 2, 3), Receive((3,), (Tx("a"),)), max_non_persistent=2)
    assert end.must == to(1, 2)


def test_a_freed_slot_goes_to_one_that_waits_and_gets_the_pool() -> None:
    base = [*joined(1, 2, 3), Submit("a")]
    chosen = after(base, Disconnect((1,)), seen=(3,), max_non_persistent=1)
    assert (chosen.must, chosen.problems) == (to(3), 0)
    assert chosen.node.slots["other"] == PartialSet.of([3])
    assert after(base, Disconnect((1,)), max_non_persistent=1).problems == 1
    assert after(base, Disconnect((2,)), max_non_persistent=1).must == frozenset()
    assert after([*joined(1, 2), Submit("a")], Disconnect((1,)), max_non_persistent=1).must == to(2)


def test_who_has_it_shows_with_the_next_transaction() -> None:
    base = [*joined(1, 2, 3), Submit("a"), Commit("a"), Disconnect((1,))]
    hidden = after(base, max_non_persistent=1).node.slots["other"]
    assert hidden == PartialSet(frozenset(), frozenset({2, 3}), 1, 1)
    end = after(base, Submit("b"), seen=(3,), tx="b", max_non_persistent=1)
    assert (end.must, end.problems) == (to(3, tx="b"), 0)
    assert end.node.slots["other"] == PartialSet.of([3])
    assert after(base, Submit("b"), tx="b", max_non_persistent=1).problems == 1
    both = after(base, Submit("b"), seen=(2, 3), tx="b", max_non_persistent=1)
    assert len(both.must) == 1, "one of the two is sent without a slot"


def test_a_loss_while_it_has_not_shown() -> None:
    base = [*joined(1, 2, 3, 4), Disconnect((1,)), Disconnect((2,))]
    hidden = after(base, max_non_persistent=1).node.slots["other"]
    assert hidden == PartialSet(frozenset(), frozenset({3, 4}), 1, 1)
    assert after(base, Disconnect((3,)), max_non_persistent=1).node.slots["other"] == PartialSet.of([4])


def test_dog_and_a_limit_are_refused_together_and_so_is_a_negative_one() -> None:
    with pytest.raises(ValueError, match="cannot both be on"):
        DogParameters(max_persistent=1)
    with pytest.raises(ValueError, match="must be 0 or more"):
        DogParameters(dog=False, max_non_persistent=-1)


def test_it_says_nothing_of_peers_that_do_not_read_and_is_flood_otherwise() -> None:
    node = step(started_node(PEER_LIMIT, DogParameters(dog=False)), joined(1)[0], ScriptedChoices()).router
    assert not applicable(node, Stall((1,)))
    differ = {h for h, rules in PEER_LIMIT.handlers.items() if FLOOD.handlers.get(h) is not rules}
    assert differ == {"connect", "enter", "targets", "shown", "disconnect"}
    assert FLOOD.handlers.keys() - PEER_LIMIT.handlers.keys() == {"resume"}
