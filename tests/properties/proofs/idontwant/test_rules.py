"""A forged copy and IDONTWANT: counts by a second hand, proofs that fail where a rule is wrong, the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import evolve

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from quidnunc.model.errors import SpecError
from quidnunc.properties.cases.file import parse
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.proofs.idontwant.rules import (
    DELIVERED,
    REVISIONS,
    far_reaching,
    holders_of,
    idontwant_forged,
    idontwant_results,
    invariant,
)
from quidnunc.properties.replays.network import replay_network
from quidnunc.properties.solver.explore import explore
from quidnunc.properties.solver.induction import check_induction
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.rules import NetworkModel, NetworkRule

PLAIN, CHECKED, CONTENT = "idontwant-forged", "idontwant-forged-checked", "idontwant-forged-content"
CASE = (
    Path(__file__).parents[4]
    / "counterexamples"
    / "networks"
    / "attack.idontwant-before-signature.gossipsub-1.2-draft.case"
)


def verdict(network: NetworkModel) -> str:
    found = explore(network, engine="python")
    return next(claim for claim in found.claims if claim.id == DELIVERED).verdict


# -- the results --------------------------------------------------------------------------------------------


def test_what_is_decided() -> None:
    found = {r.name: r for name in REVISIONS for r in idontwant_results(name, SolverSession())}
    assert {name: r.verdict for name, r in found.items()} == {
        PLAIN: "refuted",
        f"{PLAIN}-draft": "refuted",
        CHECKED: "proved",
        CONTENT: "proved",
        f"{PLAIN}-gossip": "refuted",
        f"{PLAIN}-gossip.in-the-end": "proved",
    }
    assert not any(r.vacuous for r in found.values())
    trace = found[PLAIN].trace
    assert trace is not None
    kinds = [trace.network.rules[rule].kind for rule in trace.rules]
    assert sorted(kinds) == ["forge", "heed", "obtain", "skip"] and kinds[-1] == "skip"


def test_exhaustion_agrees_with_the_proofs_for_three_holders() -> None:
    for name in REVISIONS:
        expected = "proved" if name in (CHECKED, CONTENT) else "refuted"
        assert verdict(idontwant_forged(name, peers=4)) == expected


def test_clauses_words_and_sizes() -> None:
    known = set(load())
    for name in REVISIONS:
        network = idontwant_forged(name, peers=3)
        assert {rule.clause for rule in network.rules} <= known
        assert {claim.clause for claim in network.claims} <= known
        assert {rule.kind for rule in network.rules} <= set(network.phrases)
        assert not far_reaching(network)
    with pytest.raises(SpecError, match="needs 2 to 8 peers .the victim included., got 9"):
        idontwant_forged(PLAIN, peers=9)


# -- a second hand ------------------------------------------------------------------------------------------

Holder = tuple[str, bool, bool, bool]
"""(lacks it, has it or is done; IDONTWANT in flight; IDONTWANT heeded; the message in flight)."""
State = tuple[bool, bool, bool, tuple[Holder, ...]]
"""(forged copy taken, IDONTWANT said, message had, holders)."""


def moves(state: State) -> Iterator[State]:
    """`idontwant-forged`, written from the words of the protocol and not from the rules."""
    forged, told, got, holders = state

    def telling(besides: int = -1) -> tuple[Holder, ...]:
        if told:
            return holders
        return tuple(h if n == besides else (h[0], True, *h[2:]) for n, h in enumerate(holders))

    def one(among: tuple[Holder, ...], n: int, holder: Holder) -> tuple[Holder, ...]:
        return (*among[:n], holder, *among[n + 1 :])

    if not forged and not got:
        yield True, True, got, telling()
    for n, (has, notice, unwanted, copy) in enumerate(holders):
        if has == "lacks":
            yield forged, told, got, one(holders, n, ("has", notice, unwanted, copy))
        if notice:
            yield forged, told, got, one(holders, n, (has, False, True, copy))
        if has == "has":
            yield forged, told, got, one(holders, n, ("done", notice, unwanted, copy or not unwanted))
        if copy:
            later = telling(besides=n)
            yield forged, True, True, one(later, n, (*later[n][:3], False))


def test_a_second_hand_counts_the_same() -> None:
    start: State = (False, False, False, (("lacks", False, False, False),) * 2)
    seen, pending, transitions, lost = {start}, [start], 0, False
    while pending:
        state = pending.pop()
        quiet = all(h[0] == "done" and not h[1] and not h[3] for h in state[3])
        lost |= quiet and not state[2]
        for after in moves(state):
            transitions += 1
            if after not in seen:
                seen.add(after)
                pending.append(after)
    found = explore(idontwant_forged(PLAIN, peers=3), engine="python")
    assert (found.states, found.transitions, found.complete) == (len(seen), transitions, True)
    assert lost and len(seen) > 100


def test_machine_code_and_symmetry_count_the_same() -> None:
    pytest.importorskip("numba", reason="numba is not installed: pip install '.[prove]'")
    network = idontwant_forged(PLAIN, peers=3)
    slow, fast = explore(network, engine="python"), explore(network, symmetry=True)
    assert (fast.states, fast.transitions, fast.claims) == (slow.states, slow.transitions, slow.claims)
    assert fast.orbits is not None and fast.orbits < fast.states


# -- planted errors -----------------------------------------------------------------------------------------


def without(field: str) -> Callable[[NetworkRule], NetworkRule]:
    return lambda rule: evolve(
        rule, updates={n: v for n, v in rule.updates.items() if not n.startswith(field)}
    )


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("take", without("got")),
        ("relay", without("copy")),
        ("forge", lambda rule: evolve(rule, updates={**rule.updates, "told": z3.BoolVal(True)})),
        ("obtain", lambda rule: evolve(rule, updates={f"unwanted_{rule.about[0]}": z3.BoolVal(True)})),
    ],
)
def test_a_planted_error_breaks_the_proof(kind: str, change: Callable[[NetworkRule], NetworkRule]) -> None:
    network = idontwant_forged(CHECKED, peers=3)
    goal = network.claim(DELIVERED).holds
    wrong = evolve(network, rules=tuple(change(r) if r.kind == kind else r for r in network.rules))
    shown = check_induction(SolverSession(), wrong, invariant(holders_of(network)), goal, label="planted")
    assert any(name.startswith(kind) for name in shown.broken_by)
    right, found = (explore(each, engine="python") for each in (network, wrong))
    assert (found.states, found.transitions) != (right.states, right.transitions)


def test_a_rule_that_looks_at_a_third_holder_is_noticed() -> None:
    network = idontwant_forged(CHECKED, peers=4)

    def nosy(rule: NetworkRule) -> NetworkRule:
        return evolve(rule, guard=z3.And(rule.guard, z3.Bool(f"has_{(rule.about[0] + 1) % 3}")))

    rules = tuple(nosy(r) if r.kind == "relay" else r for r in network.rules)
    assert far_reaching(evolve(network, rules=rules)) == [f"the reach of relay_{h}" for h in range(3)]


# -- the rich model -----------------------------------------------------------------------------------------


def test_routers_of_the_model_lose_the_message_and_do_not_where_the_check_comes_first() -> None:
    case = parse(CASE.read_text(encoding="utf-8"), str(CASE))
    assert replay_network(case).outcome == "same"
    # r1 obliges the holder to skip; the draft allows it, and the choice is not named there.
    assert replay_network(case, "gossipsub-1.2").reason.startswith(
        "attack.idontwant-before-signature is broken"
    )
    checked = evolve(
        case,
        claim="attack.forged-copies-do-not-stop-delivery",
        blocks=tuple(evolve(b, shown=()) for b in case.blocks),
    )
    assert not replay_network(checked).departs
