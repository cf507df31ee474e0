"""Stars: states counted by a second hand, runs that are stepped again, and rules that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import pytest
from attrs import evolve

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from quidnunc.model.errors import SpecError
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.proofs.messages.star import (
    QUESTIONS,
    STARS,
    loop_against,
    mesh_star,
    shut_out,
    star_results,
)
from quidnunc.properties.solver.explore import explore
from quidnunc.properties.solver.liveness import graph_of
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.rules import NetworkModel, NetworkRule

REST, QUIET = QUESTIONS
EXPECTED = {
    "mesh-star": ("refuted", "refuted", "refuted", "proved"),
    "mesh-star-inbound": ("proved", "proved", "refuted", "refuted"),
    "mesh-star-outbound": ("refuted", "refuted", "refuted", "proved"),
    "mesh-star-inbound-go": ("proved", "refuted", "refuted", "proved"),
}


def test_what_is_decided() -> None:
    """No star with too many leaves both comes to rest and lets everybody in; none is ever quiet."""
    assert set(EXPECTED) == set(STARS)
    for name, verdicts in EXPECTED.items():
        found = list(star_results(name, SolverSession()))
        assert tuple(r.verdict for r in found) == verdicts, name
        assert [r.name for r in found] == [
            f"{name}.{part}" for part in ("ceiling", "rest", "quiet", "admits")
        ]
        assert not any(r.vacuous for r in found)


def moves(state: frozenset[tuple[str, int]], name: str, leaves: int) -> Iterator[frozenset[tuple[str, int]]]:
    """Leaves that are in or back off, written from the words of the protocol; D_high is 2, and D is 1."""
    inside = {leaf for what, leaf in state if what == "in"}
    out = [leaf for leaf in range(leaves) if not {("in", leaf), ("off", leaf)} & state]
    refuses, backs_off = "inbound" in name, name != "mesh-star"
    for leaf in out:
        if len(inside) < 2 or not refuses:
            yield state | {("in", leaf)}
        else:
            yield state | {("off", leaf)}
        if not inside:
            yield state | {("in", leaf)}
    for leaf in range(leaves):
        if ("off", leaf) in state:
            yield state - {("off", leaf)}
    if len(inside) > (1 if name.endswith("-go") else 2):
        for gone in combinations(sorted(inside), len(inside) - 1):
            yield (state - {("in", leaf) for leaf in gone}) | {("off", leaf) for leaf in gone if backs_off}


@pytest.mark.parametrize("name", STARS)
def test_a_second_hand_counts_the_same(name: str) -> None:
    start: frozenset[tuple[str, int]] = frozenset()
    seen, pending, transitions = {start}, [start], 0
    while pending:
        for after in moves(pending.pop(), name, 4):
            transitions += 1
            if after not in seen:
                seen.add(after)
                pending.append(after)
    found = explore(mesh_star(name, peers=5, d_high=2), engine="python")
    assert (found.states, found.transitions, found.complete) == (len(seen), transitions, True)


def test_clauses_words_and_sizes() -> None:
    known = set(load())
    for name in STARS:
        network = mesh_star(name, peers=4, d_high=2)
        assert {rule.clause for rule in network.rules} <= known
        assert {claim.clause for claim in network.claims} <= known
        assert {rule.kind for rule in network.rules} <= set(network.phrases)
    with pytest.raises(SpecError, match="needs 2 to 8 peers .the hub included., got 9"):
        mesh_star("mesh-star", peers=9, d_high=2)
    with pytest.raises(SpecError, match="needs a D_high above its D of 1, got 1"):
        mesh_star("mesh-star-inbound-go", peers=4, d_high=1)


def planted(name: str, kind: str, change: Callable[[NetworkRule], NetworkRule]) -> NetworkModel:
    network = mesh_star(name, peers=4, d_high=2)
    assert any(rule.kind == kind for rule in network.rules)
    rules = tuple(change(r) if r.kind == kind else r for r in network.rules)
    return evolve(network, rules=rules)


def test_planted_errors_change_what_is_decided() -> None:
    inbound = "mesh-star-inbound"
    full = planted(inbound, "graft", lambda r: evolve(r, guard=z3.Not(z3.Bool(f"linked_{r.about[0]}"))))
    assert loop_against(graph_of(full), REST) is not None, "a GRAFT is accepted at D_high"
    deaf = planted(inbound, "expire", lambda r: evolve(r, guard=z3.BoolVal(False)))
    assert loop_against(graph_of(deaf), QUIET) is None, "a backoff never ends"
    lost = planted("mesh-star-outbound", "expire", lambda r: evolve(r, guard=z3.BoolVal(False)))
    assert shut_out(graph_of(lost), 0), "a backoff never ends"
