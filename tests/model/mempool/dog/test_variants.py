"""The variants of DOG: a trace that tells each switch from our reading, a reason for each row without one."""

from __future__ import annotations

import pytest
from attrs import frozen

from quidnunc.model.choices import AngelicChoices
from quidnunc.model.edits.catalogue import hypotheses_of
from quidnunc.model.events import (
    MEMPOOL,
    MEMPOOL_WITHOUT_DOG,
    Adjust,
    Commit,
    Connect,
    Disconnect,
    Event,
    Output,
    Receive,
    Resume,
    Sent,
    Stall,
    Submit,
)
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.mempool.dog.variants import SWITCHES, TURNED, VARIANTS, variant
from quidnunc.model.mempool.node import started_node
from quidnunc.model.mempool.node_step import applicable, step
from quidnunc.model.mempool.protocols import DOG
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import HaveTx, Part, ResetRoute, Tx
from quidnunc.model.rules import Protocol
from quidnunc.properties.documents.clauses import load
from tests.helpers.dog_conflicts import ROWS

RESET = ResetRoute()
Outputs = frozenset[Output]


def of(peer: int, *parts: Part) -> Receive:
    return Receive((peer,), parts)


def joined(*peers: int) -> list[Event]:
    return [Connect((peer,), MEMPOOL) for peer in peers]


def loaded(count: int, duplicates: int) -> list[Event]:
    """So many first-time and duplicate transactions of users."""
    return [*(Submit(f"u{k}") for k in range(count)), *(Submit("u0") for _ in range(duplicates))]


@frozen
class Trace:
    """What happens; at the last event `ours` is what our reading must do, and `theirs` what the switch must.

    Where something is free, `seen` is what is seen to happen, and the other reading has a problem with it.
    """

    events: tuple[Event, ...]
    ours: Outputs = frozenset()
    theirs: Outputs = frozenset()
    parameters: DogParameters = DogParameters()
    seen: Outputs = frozenset()


def sent(*pairs: tuple[int, Part]) -> Outputs:
    return frozenset(Sent(peer, part) for peer, part in pairs)


TWO_CUT = (*joined(1, 2, 3), of(1, Tx("a")), of(2, Tx("b")), of(3, HaveTx("a")), of(3, HaveTx("b")))
STALE = (*joined(1, 2), of(1, Tx("a")), Disconnect((1,)), of(2, HaveTx("a")), *joined(1))
CUT_2_TO_3 = (*joined(1, 2, 3), of(2, Tx("z")), of(3, HaveTx("z")))

TRACES: dict[str, Trace] = {
    "resets-all": Trace(
        (*TWO_CUT, of(3, RESET), of(1, Tx("c"))),
        ours=sent((2, Tx("c"))),
        theirs=sent((2, Tx("c")), (3, Tx("c"))),
    ),
    "one-inbox": Trace((*joined(1, 2), of(2, RESET), of(1, Tx("a"))), ours=sent((2, Tx("a"))), theirs=sent()),
    "some-sender-cut": Trace(
        (*joined(1, 2, 3), of(1, Tx("a")), of(2, Tx("a")), of(3, HaveTx("a")), of(1, Tx("b"))),
        ours=sent((2, Tx("b"))),
        theirs=sent((2, Tx("b")), (3, Tx("b"))),
        seen=sent((3, Tx("b"))),
    ),
    "some-sender-filters": Trace(
        (*CUT_2_TO_3, Stall((3,)), of(1, Tx("a")), of(2, Tx("a")), Resume((3,))),
        ours=sent((3, Tx("a"))),
        theirs=sent(),
    ),
    "self-route-refused": Trace(
        (*TWO_CUT[:4], of(1, HaveTx("a")), of(2, Tx("b")), of(1, HaveTx("b")), of(1, RESET), of(2, Tx("c"))),
        ours=sent((3, Tx("c"))),
        theirs=sent((1, Tx("c")), (3, Tx("c"))),
    ),
    "stale-routes": Trace((*STALE, of(1, Tx("b"))), ours=sent((2, Tx("b"))), theirs=sent()),
    "first-live-sender": Trace(
        (
            *joined(1, 2, 3),
            of(1, Tx("a")),
            of(2, Tx("a")),
            Disconnect((1,)),
            of(3, HaveTx("a")),
            of(2, Tx("b")),
        ),
        ours=sent((3, Tx("b"))),
        theirs=sent(),
    ),
    "lost-may-be-asked": Trace(
        (*joined(1, 2), of(1, Tx("a")), Disconnect((1,))), theirs=sent((1, RESET)), seen=sent((1, RESET))
    ),
    "reset-may-be-lost": Trace((*joined(1, 2), of(1, Tx("a")), Disconnect((1,)))),
    "strict-upper-bound": Trace(
        (*joined(1), *loaded(10, 10), of(1, Tx("u1")), Adjust(), of(1, Tx("u1"))),
        ours=sent((1, HaveTx("u1"))),
        parameters=DogParameters(target_redundancy=1.0),
    ),
    "integers": Trace(
        (*joined(1), *loaded(20, 19), Adjust()),
        theirs=sent((1, RESET)),
        seen=sent((1, RESET)),
    ),
    "exact-bounds": Trace(
        (*joined(1), *loaded(100, 9), Adjust()),
        ours=sent((1, RESET)),
        parameters=DogParameters(target_redundancy=0.1),
        seen=sent((1, RESET)),
    ),
    "starts-blocked": Trace((*joined(1, 2), of(1, Tx("a")), of(2, Tx("a"))), ours=sent((2, HaveTx("a")))),
    "low-blocks": Trace((*joined(1), Submit("a"), Adjust(), of(1, Tx("a"))), ours=sent((1, HaveTx("a")))),
    "in-band-blocks": Trace(
        (*joined(1), *loaded(1, 1), Adjust(), of(1, Tx("u0"))), ours=sent((1, HaveTx("u0")))
    ),
    "user-duplicates-uncounted": Trace(
        (*joined(1), *loaded(1, 1), Adjust()), theirs=sent((1, RESET)), seen=sent((1, RESET))
    ),
    "own-never-filtered": Trace(
        (*CUT_2_TO_3, Stall((3,)), Submit("a"), of(2, Tx("a")), Resume((3,))),
        theirs=sent((3, Tx("a"))),
    ),
    "committed-answered": Trace(
        (*joined(1), Submit("a"), Commit("a"), of(1, Tx("a"))), theirs=sent((1, HaveTx("a")))
    ),
    "invalid-forgotten": Trace(
        (*joined(1), *loaded(1, 0), of(1, Tx("bad")), of(1, Tx("bad")), of(1, Tx("bad")), Adjust()),
        theirs=sent((1, RESET)),
        seen=sent((1, RESET)),
    ),
    "full-pool-first": Trace(
        (*joined(1, 2), of(1, Tx("a")), of(2, Tx("a"))),
        ours=sent((2, HaveTx("a"))),
        parameters=DogParameters(pool_size=1),
    ),
    "joiner-gets-later": Trace((Submit("a"), *joined(1)), ours=sent((1, Tx("a")))),
    "told-without-dog": Trace(
        (Connect((1,), MEMPOOL_WITHOUT_DOG), of(1, Tx("a")), of(1, Tx("a"))), theirs=sent((1, HaveTx("a")))
    ),
    "keep-alive": Trace(
        (*joined(1), Adjust(), Adjust(), Adjust()), theirs=sent((1, RESET)), seen=sent((1, RESET))
    ),
}


def last_of(trace: Trace, protocol: Protocol) -> tuple[Outputs, int]:
    """What the last event obliges to, and how many problems there are with what is seen."""
    node = started_node(protocol, trace.parameters)
    for event in trace.events[:-1]:
        assert applicable(node, event), event
        blind = frozenset(p for p, each in node.peers.items() if each.stalled)
        node = step(node, event, AngelicChoices(frozenset(), blind=blind)).router
    oracle = AngelicChoices(trace.seen)
    after = step(node, trace.events[-1], oracle)
    return frozenset(p.output for p in after.permits if p.must), len(oracle.problems)


@pytest.mark.parametrize("name", SWITCHES)
def test_each_switch_has_a_trace_that_separates_it(name: str) -> None:
    trace = TRACES[name]
    (ours, our_problems), (theirs, their_problems) = last_of(trace, DOG), last_of(trace, variant("x", name))
    assert theirs == trace.theirs and their_problems == 0
    assert ours == trace.ours
    assert (ours, our_problems) != (theirs, their_problems)


def test_the_rows_are_the_forty_and_each_is_turned_or_explained() -> None:
    assert [row.id for row in ROWS] == [f"D-{k}" for k in range(1, 41)]
    for row in ROWS:
        assert bool(row.switches) != (len(row.why) > 20), row.id
        assert row.clause in load(), row.id
    assert {switch for row in ROWS for switch in row.switches} == set(SWITCHES)
    assert {each.clause for each in SWITCHES.values()} <= set(load())


def test_variants_are_protocols_that_differ_by_their_tuples_alone() -> None:
    assert set(VARIANTS) == set(TURNED) < set(PROTOCOLS)
    for name, protocol in VARIANTS.items():
        assert protocol.name == name and protocol.family == "mempool"
        differ = {h for h, rules in protocol.handlers.items() if DOG.handlers.get(h) is not rules}
        assert differ, name
    quint, runs = VARIANTS["dog-quint"], VARIANTS["dog-quint-run"]
    assert set(TURNED["dog-quint"]) - set(TURNED["dog-quint-run"]) == {"one-inbox"}
    assert quint.handlers.keys() - runs.handlers.keys() == {"tx_read", "have_tx_read", "reset_route_read"}


def test_a_stuck_inbox_is_of_peers_and_a_user_is_still_heard() -> None:
    node = started_node(VARIANTS["dog-quint"], DogParameters())
    for event in (*joined(1, 2), of(2, RESET)):
        node = step(node, event, AngelicChoices(frozenset())).router
    assert node.stuck
    after = step(node, Submit("a"), AngelicChoices(frozenset()))
    assert {p.output for p in after.permits} == sent((1, Tx("a")), (2, Tx("a")))
    deaf = step(node, of(1, HaveTx("a")), AngelicChoices(frozenset())).router
    assert deaf == node


def test_what_cannot_be_followed_is_left_out() -> None:
    """Whether the inbox gets stuck is not known where it is not known if a route is left."""
    node = started_node(VARIANTS["dog-quint"], DogParameters())
    assert applicable(step(node, joined(1)[0], AngelicChoices(frozenset())).router, of(1, RESET))
    for event in TWO_CUT:
        node = step(node, event, AngelicChoices(frozenset())).router
    for event in (of(3, RESET), of(3, HaveTx("a"))):
        node = step(node, event, AngelicChoices(frozenset())).router
    assert applicable(node, of(3, RESET))
    node = step(node, of(3, RESET), AngelicChoices(frozenset())).router
    assert not applicable(node, of(3, RESET))


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_is_not_turned_twice(name: str) -> None:
    """Mutant: a protocol that starts blocked is told to start unblocked, and one that looks at no message
    while its pool is full looks for ever."""
    once = SWITCHES[name].change(DOG)
    twice = SWITCHES[name].applied_to(once)
    assert twice is None or (twice.features, twice.handlers.keys()) == (once.features, once.handlers.keys())


def test_two_that_read_messages_in_two_steps_do_not_go_together() -> None:
    assert SWITCHES["full-pool-first"].applied_to(SWITCHES["one-inbox"].change(DOG)) is None
    assert "full-pool-first" not in {edit.name for edit in hypotheses_of(VARIANTS["dog-go"])}
