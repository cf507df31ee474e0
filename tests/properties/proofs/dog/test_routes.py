"""DOG's routes: states counted by a second hand, proofs that fail where a rule is wrong, loops that run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attrs import evolve

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from quidnunc.model.errors import SpecError
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.proofs.dog import routes_prove as network_dog_prove
from quidnunc.properties.proofs.dog.routes import NOT_CUT_OFF, REVISIONS, dog_routes, routes_of, weight
from quidnunc.properties.proofs.dog.routes_prove import (
    Hypotheses,
    allowed,
    fairness,
    loop_against,
    obligations,
    route_results,
)
from quidnunc.properties.solver.explore import explore
from quidnunc.properties.solver.liveness import FairnessCondition, fair_loop, graph_of, holds_in
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.rules import NetworkModel, NetworkRule, content_of
from quidnunc.properties.solver.trace import is_valid_trace, shortest_trace

PLAIN, GO, QUINT = "dog-routes", "dog-routes-go", "dog-routes-quint"


# -- a second hand ------------------------------------------------------------------------------------------

By = tuple[bool, tuple[frozenset[int], ...], tuple[tuple[Any, ...], ...]]
"""(blocked, routes cut at each neighbour, messages to each): sources are 0 and 1, "N" the target."""


def moves(state: By, *, any_sender: bool) -> Iterator[By]:
    """Two neighbours, written from the words of the protocol and not from the rules."""
    blocked, cuts, queues = state

    def put(p: int, queue: tuple[Any, ...]) -> tuple[tuple[Any, ...], ...]:
        return tuple(queue if i == p else q for i, q in enumerate(queues))

    def cutting(p: int, routes: frozenset[Any]) -> tuple[frozenset[Any], ...]:
        return tuple(routes if i == p else c for i, c in enumerate(cuts))

    if blocked:
        yield False, cuts, queues
    for p in (0, 1):
        other = 1 - p
        if len(queues[p]) < 2:
            yield blocked, cuts, put(p, (*queues[p], "reset"))
            if not blocked:
                for source in (other, "N", "own"):
                    if source not in cuts[p]:
                        yield True, cuts, put(p, (*queues[p], ("have", source)))
        if not queues[p]:
            continue
        head, rest = queues[p][0], put(p, queues[p][1:])
        if head == "reset":
            for source in cuts[p]:
                yield blocked, cutting(p, cuts[p] - {source}), rest
            if not cuts[p]:
                yield blocked, cuts, rest
        elif head == ("have", "own"):
            yield blocked, cuts, rest
        else:
            for source in (other, "N") if any_sender else (head[1],):
                yield blocked, cutting(p, cuts[p] | {source}), rest


@pytest.mark.parametrize(("name", "any_sender"), [(PLAIN, False), (GO, True)])
def test_a_second_hand_counts_the_same(name: str, any_sender: bool) -> None:
    start: By = (False, (frozenset(), frozenset()), ((), ()))
    seen, transitions = {start}, 0
    pending = [start]
    while pending:
        for after in moves(pending.pop(), any_sender=any_sender):
            transitions += 1
            if after not in seen:
                seen.add(after)
                pending.append(after)
    found = explore(dog_routes(name, peers=3), engine="python", memory_bytes=1 << 30)
    assert (found.states, found.transitions, found.complete) == (len(seen), transitions, True)
    assert found.states == 9248


def test_machine_code_counts_the_same() -> None:
    pytest.importorskip("numba", reason="numba is not installed: pip install '.[prove]'")
    found = explore(dog_routes(PLAIN, peers=3))
    assert (found.states, found.transitions, found.depth) == (9248, 33728, 20)
    # Messages name neighbours, so that a renaming of fields is not enough to exchange two of them.
    with pytest.raises(SpecError, match="is not symmetric in its peers"):
        explore(dog_routes(PLAIN, peers=3), symmetry=True)


def test_every_rule_has_its_clause_and_its_words() -> None:
    known = set(load())
    for name in REVISIONS:
        network = dog_routes(name, peers=3)
        assert {rule.clause for rule in network.rules} <= known
        assert {rule.kind for rule in network.rules} <= set(network.phrases)
        assert {claim.clause for claim in network.claims} <= known
    with pytest.raises(SpecError, match="needs 3 to 5 peers, got 2"):
        dog_routes(PLAIN, peers=2)


def test_messages_are_counted() -> None:
    network = dog_routes(PLAIN, peers=3)
    at = routes_of(network)
    counted = weight(at, 0, frozenset({1, 3}))
    for code in range(21):
        expected = sum(m in (1, 3) for m in content_of(code, at.reset))
        value = z3.simplify(z3.substitute(counted, (at.channel(0).symbol, z3.BitVecVal(code, 5))))
        assert value.as_long() == expected


# -- the results --------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_dog_prove, "RANKED_SIZES", (3,))


def test_what_is_decided() -> None:
    found = {r.name.removeprefix(f"{PLAIN}."): r for r in route_results(PLAIN, SolverSession())}
    assert not any(r.vacuous for r in found.values())
    assert found["progress"].verdict == found["route-reset"].verdict == "proved"
    assert found["route-reset.components"].verdict == "proved"
    assert found["not-cut-off"].trace is not None and len(found["not-cut-off"].trace.rules) == 5
    for hypothesis in ("stays-low", "fair-choice", "messages-are-taken"):
        assert found[f"route-reset.without-{hypothesis}"].verdict == "refuted"


def test_a_stuck_inbox_refutes_what_rests_on_it() -> None:
    network = dog_routes(QUINT, peers=3)
    steps = list(obligations(network, SolverSession()))
    assert [step.holds for step in steps] == [True, True, True, False, True]
    assert "a ResetRoute to A" in steps[3].broken_by
    graph = graph_of(network)
    lasso = loop_against(graph, Hypotheses())
    assert lasso is not None
    assert holds_in(graph, lasso, fairness(graph, Hypotheses()), allowed(graph, Hypotheses()))
    assert any(network.rules[rule].kind == "jam" for rule in lasso.stem)


def test_every_question_is_counted() -> None:
    session, before = SolverSession(), 0
    for step in obligations(dog_routes(PLAIN, peers=3), session):
        assert step.asked == session.asked - before > 0, step.text
        before = session.asked


def test_a_rank_that_would_overflow_is_refused() -> None:
    at = routes_of(dog_routes(PLAIN, peers=3))
    with pytest.raises(AssertionError, match="overflow"):
        network_dog_prove.rank(evolve(at, capacity=1 << network_dog_prove.RANK_BITS))


def test_a_loop_that_does_not_replay_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(dog_routes(PLAIN, peers=3))
    monkeypatch.setattr(network_dog_prove, "holds_in", lambda *_: False)
    found = list(network_dog_prove._of_runs(PLAIN, graph))
    assert [r.verdict for r in found] == ["proved", *["undetermined"] * 3]
    assert not any(r.vacuous for r in found)


def test_a_cut_off_node_has_a_trace_that_replays() -> None:
    network = dog_routes("dog-routes-proposed", peers=3)
    trace = shortest_trace(network, NOT_CUT_OFF, engine="python")
    assert is_valid_trace(trace) and len(trace.rows()) == 6


# -- planted errors -----------------------------------------------------------------------------------------


def planted(network: NetworkModel, kind: str, change: Callable[[NetworkRule], NetworkRule]) -> NetworkModel:
    assert any(rule.kind == kind for rule in network.rules)
    return evolve(network, rules=tuple(change(r) if r.kind == kind else r for r in network.rules))


def without(field: str) -> Callable[[NetworkRule], NetworkRule]:
    return lambda rule: evolve(
        rule, updates={n: v for n, v in rule.updates.items() if not n.startswith(field)}
    )


ERRORS: dict[str, tuple[str, Callable[[NetworkRule], NetworkRule]]] = {
    "HaveTx is not blocked after one was sent": ("duplicate", without("blocked")),
    "ResetRoute is taken and mends nothing": ("resets", without("cut")),
    "asking cuts a route": (
        "low",
        lambda r: evolve(r, updates={**r.updates, f"cut_{r.about[0]}_{r.about[0]}": z3.BoolVal(True)}),
    ),
}


@pytest.mark.parametrize("error", ERRORS)
def test_a_planted_error_is_caught_twice(error: str) -> None:
    kind, change = ERRORS[error]
    wrong = planted(dog_routes(PLAIN, peers=3), kind, change)
    graph = graph_of(wrong)
    caught = {
        "proof": any(not step.holds for step in obligations(wrong, SolverSession())),
        "count": (len(graph.states), sum(map(len, graph.steps))) != (9248, 33728),
        "loop": loop_against(graph, Hypotheses()) is not None,
    }
    assert caught["proof"] and sum(caught.values()) >= 2, caught


# -- loops --------------------------------------------------------------------------------------------------


def test_a_loop_is_a_run() -> None:
    graph = graph_of(dog_routes(PLAIN, peers=3))
    for asked in (Hypotheses(low=False), Hypotheses(asked=False), Hypotheses(taken=False)):
        lasso = loop_against(graph, asked)
        assert lasso is not None and holds_in(graph, lasso, fairness(graph, asked), allowed(graph, asked))
        # The same run is none under all hypotheses.
        whole = Hypotheses()
        kinds = {graph.network.rules[rule].kind for rule in lasso.loop}
        assert "high" in kinds or not holds_in(graph, lasso, fairness(graph, whole), allowed(graph, whole))


def toy(*edges: tuple[int, int]) -> NetworkModel:
    """A graph of two bits as a network, one rule for each edge."""
    from quidnunc.properties.solver.rules import new_field

    a, b = new_field("a", (), 1), new_field("b", (), 1)

    def at(number: int) -> Any:
        return z3.And(a.symbol == bool(number & 1), b.symbol == bool(number & 2))

    rules = tuple(
        NetworkRule(
            kind=f"{x}{y}",
            about=(),
            clause="",
            guard=at(x),
            updates={"a": z3.BoolVal(bool(y & 1)), "b": z3.BoolVal(bool(y & 2))},
        )
        for x, y in edges
    )
    return NetworkModel(name="toy", peers=2, parameters={}, fields=(a, b), rules=rules, claims=())


def loops(network: NetworkModel, fair: list[tuple[str, bool]], within: set[int] | None = None) -> bool:
    graph = graph_of(network)
    everywhere = frozenset(range(len(graph.states)))
    groups = [
        FairnessCondition(name=k, rules=graph.rules(lambda kind, k=k: kind == k), strong=s) for k, s in fair
    ]  # type: ignore[misc]
    stays = (
        everywhere
        if within is None
        else frozenset(n for n in everywhere if graph.states[n][0] + 2 * graph.states[n][1] in within)
    )
    return (
        fair_loop(graph, fair=groups, within=stays, allowed=graph.rules(lambda k: True), hits=stays)
        is not None
    )


def test_weak_and_strong_fairness() -> None:
    # 0 and 1 in turn, and a way out to 3 from 1 alone.
    network = toy((0, 1), (1, 0), (1, 3), (3, 3))
    inside = {0, 1}
    assert loops(network, [], inside)
    # It is not enabled throughout, so weak fairness does not force it; strong fairness does.
    assert loops(network, [("13", False)], inside)
    assert not loops(network, [("13", True)], inside)
    # With a way out from everywhere weak fairness is enough... but each way is a rule of its own.
    both = toy((0, 1), (1, 0), (0, 3), (1, 3), (3, 3))
    assert loops(both, [("13", False), ("03", False)], inside)
    assert not loops(both, [("13", True)], inside)


def test_a_run_that_ends_is_one_for_ever() -> None:
    network = toy((0, 1), (1, 3))
    assert loops(network, [("13", True)], {3})
    assert not loops(network, [], {0, 1})


def test_too_many_states_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quidnunc.properties.solver.liveness.MAX_STATES", 3)
    with pytest.raises(SpecError, match="more than 3 states"):
        graph_of(toy((0, 1), (1, 2), (2, 3)))
