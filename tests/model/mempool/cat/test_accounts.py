"""Accounts in CAT's model: whose turn it is, what waits, what has passed, and the ranks of peers."""

from __future__ import annotations

import pytest

from quidnunc.model.events import Advance, Commit, Disconnect, Sent, Submit
from quidnunc.model.mempool.cat.accounts import QUEUED_MS
from quidnunc.model.mempool.node_step import applicable
from quidnunc.model.mempool.protocols import CAT
from quidnunc.model.rpc import SeenTx, Tx, WantTx, account_of
from tests.model.mempool.cat.test_rules import after, joined, of


@pytest.mark.parametrize(
    ("tx", "account"),
    [
        *(("s1n0", ("s1", 0)), ("s12n34b", ("s12", 34)), ("x1t", ("x1t", 0)), ("sn1", ("sn1", 0))),
        *(
            ("s1", ("s1", 0)),
            ("s1n", ("s1n", 0)),
            ("bad1", ("bad1", 0)),
            ("s1n123456789012", ("s1n123456789012", 0)),
        ),
    ],
)
def test_a_name_tells_the_account(tx: str, account: tuple[str, int]) -> None:
    assert account_of(tx) == account


def test_what_is_ahead_waits_for_its_turn() -> None:
    early = [*joined(1), of(1, SeenTx("s1n1"))]
    assert after(early, protocol=CAT).must == set()
    turn = after(early, Submit("s1n0"), protocol=CAT, seen={Sent(1, SeenTx("s1n0")), Sent(1, WantTx("s1n1"))})
    assert turn.must == {Sent(1, SeenTx("s1n0")), Sent(1, WantTx("s1n1"))} and not turn.problems
    assert turn.node.queued == {}


def test_it_does_not_wait_for_ever_nor_for_who_is_gone() -> None:
    told = {Sent(1, SeenTx("s1n0"))}
    early = [*joined(1), of(1, SeenTx("s1n1"))]
    late = after(early, Advance(QUEUED_MS), Submit("s1n0"), protocol=CAT, seen=told)
    assert late.must == told and not late.problems
    assert after(early, Disconnect((1,)), protocol=CAT).node.queued == {}


def test_what_has_passed_is_neither_asked_for_nor_taken() -> None:
    rival = [*joined(1, 2), of(1, SeenTx("s1n0b")), of(2, SeenTx("s1n0b")), Submit("s1n0")]
    assert after(rival, of(2, SeenTx("s1n0c")), protocol=CAT).must == set()
    taken = after(rival, of(1, Tx("s1n0b")), protocol=CAT)
    assert taken.must == set() and "s1n0b" not in taken.node.pool and taken.node.wanted == {}
    assert after(rival, Advance(60_000), protocol=CAT).must == set()


def test_blocks_and_users_take_a_signers_transactions_in_order() -> None:
    node = after(Submit("s1n0"), Submit("s1n1"), protocol=CAT).node
    assert applicable(node, Submit("s1n2")) and not applicable(node, Submit("s1n3"))
    assert applicable(node, Commit("s1n0")) and not applicable(node, Commit("s1n1"))
    node = after(Submit("s1n0"), Submit("s1n1"), Commit("s1n0"), protocol=CAT).node
    assert node.taken == {"s1": 1} and applicable(node, Commit("s1n1"))


def test_the_peers_of_a_signer_are_the_same_every_time() -> None:
    first = [*joined(1, 2, 3), Submit("s1n0")]
    node = after(first, protocol=CAT, seen={Sent(2, SeenTx("s1n0"))}, max_announced_peers=1).node
    assert node.ranks == {"s1": frozenset({(2, 1), (2, 3)})}
    problems = [
        after(
            first, Submit("s1n1"), protocol=CAT, seen={Sent(p, SeenTx("s1n1"))}, max_announced_peers=1
        ).problems
        for p in (1, 2, 3)
    ]
    # Played with the first possible choice, the first transaction goes to peer 1.
    assert problems == [0, 1, 1]
