"""One message over a small mesh: counted by a second hand, and proofs that fail where a rule is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations

import pytest
from attrs import evolve

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from quidnunc.model.errors import SpecError
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.proofs.messages.flow import (
    DELIVERED,
    FLOWS,
    RELAYED,
    flow_results,
    invariant,
    mesh_flow,
    peers_of,
)
from quidnunc.properties.solver.explore import explore
from quidnunc.properties.solver.induction import check_induction
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.rules import NetworkModel, NetworkRule

PLAIN, ONE_SIDED, CHURN, GOSSIP, GRAFTS, ONE = FLOWS


def test_what_is_decided() -> None:
    found = {name: next(iter(flow_results(name, SolverSession()))) for name in FLOWS if name != GOSSIP}
    assert not any(r.vacuous for r in found.values())
    lengths = {n: r.trace and len(r.trace.rules) for n, r in found.items()}
    assert lengths == {PLAIN: None, ONE_SIDED: 3, CHURN: 5, GRAFTS: 6, ONE: 9}
    assert [r.verdict for r in found.values()] == ["proved"] + ["refuted"] * 4


def test_words_clauses_and_sizes() -> None:
    known = set(load())
    for name in FLOWS:
        network = mesh_flow(name, peers=3)
        assert {rule.clause for rule in network.rules} | {c.clause for c in network.claims} <= known
        assert {rule.kind for rule in network.rules} <= set(network.phrases)
    with pytest.raises(SpecError, match="needs 2 to 5 peers, got 6"):
        mesh_flow(PLAIN, peers=6)


# -- a second hand ------------------------------------------------------------------------------------------

Pairs = frozenset[tuple[int, int]]
State = tuple[bool, frozenset[int], Pairs, Pairs]
"""(published; who has it; who holds whom; copies in flight)."""
THREE = (0, 1, 2)


def whole(links: Pairs) -> bool:
    """Whether three peers are connected: two of the three links are enough."""
    return len({frozenset(pair) for pair in links}) >= 2


def moves(state: State) -> Iterator[State]:
    """`mesh-flow-churn` of three peers, written from the words of the protocol and not from the rules."""
    published, has, holds, copies = state
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = frozenset({(i, j), (j, i)})
        if both <= holds and whole(holds - both):
            yield published, has, holds - both, copies
        if published and not both & holds:
            yield published, has, holds | both, copies
    if not published:
        yield True, has | {0}, holds, frozenset((0, j) for j in (1, 2) if (0, j) in holds)
    for i, j in copies:
        new = frozenset() if j in has else frozenset((j, k) for k in THREE if k != i and (j, k) in holds)
        yield published, has | {j}, holds, (copies - {(i, j)}) | new


def test_a_second_hand_counts_the_same() -> None:
    start: State = (False, frozenset(), frozenset(permutations(THREE, 2)), frozenset())
    seen, pending, transitions, missed = {start}, [start], 0, False
    while pending:
        state = pending.pop()
        missed |= state[0] and not state[3] and len(state[1]) < 3
        for after in moves(state):
            transitions += 1
            if after not in seen:
                seen.add(after)
                pending.append(after)
    found = explore(mesh_flow(CHURN, peers=3), engine="python")
    assert (found.states, found.transitions, found.complete) == (len(seen), transitions, True)
    assert missed and len(seen) > 50


# -- planted errors -----------------------------------------------------------------------------------------


def without(kind: str, field: str) -> Callable[[NetworkRule], NetworkRule]:
    def change(rule: NetworkRule) -> NetworkRule:
        left = {n: v for n, v in rule.updates.items() if not n.startswith(field)}
        return evolve(rule, updates=left) if rule.kind == kind else rule

    return change


def proved(network: NetworkModel) -> bool:
    goal = network.claim(DELIVERED).holds
    return check_induction(
        SolverSession(), network, invariant(peers_of(network)), goal, label="planted"
    ).proved


def changed(network: NetworkModel, change: Callable[[NetworkRule], NetworkRule]) -> NetworkModel:
    rules = tuple(change(rule) for rule in network.rules)
    assert rules != network.rules
    return evolve(network, rules=rules)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (PLAIN, without("publish", "copy")),
        (PLAIN, without("take", "has")),
        (PLAIN, without("drop", "apart_1_0")),
        (GOSSIP, without("heartbeat", "notice")),
        (GOSSIP, without("hear", "copy")),
    ],
)
def test_a_planted_error_breaks_the_proof(name: str, change: Callable[[NetworkRule], NetworkRule]) -> None:
    network = mesh_flow(name, peers=3)
    assert proved(network)
    assert not proved(changed(network, change))


def test_exhaustion_notices_the_same() -> None:
    """And a mesh that may be parted is refuted by both."""
    network = mesh_flow(PLAIN, peers=3)
    pushing_nothing = changed(network, without("publish", "copy"))
    parted = changed(
        network, lambda r: evolve(r, guard=z3.Not(z3.Bool("started"))) if r.kind == "drop" else r
    )
    for wrong in (pushing_nothing, parted):
        verdicts = {c.id: c.verdict for c in explore(wrong, engine="python").claims}
        assert verdicts[DELIVERED] == "refuted" and not proved(wrong)
    assert {c.id: c.verdict for c in explore(network, engine="python").claims} == {
        DELIVERED: "proved",
        RELAYED: "proved",
    }


def test_a_graft_takes_the_proof_of_gossip_away() -> None:
    """Who is grafted after the push and before the heartbeat is neither pushed to nor told."""
    network = mesh_flow(GRAFTS, peers=3)
    goal = network.claim(DELIVERED).holds
    shown = check_induction(SolverSession(), network, invariant(peers_of(network)), goal, label="grafts")
    assert {name.partition("_")[0] for name in shown.broken_by} == {"graft"}
