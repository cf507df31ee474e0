"""Proofs of mesh links: each is shown to fail where a rule is wrong, and none is vacuous."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.model.errors import SpecError

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from quidnunc.properties.proofs import prove as network_prove
from quidnunc.properties.proofs.mesh.links import VARIANTS
from quidnunc.properties.proofs.mesh.mesh_link import BIDIRECTIONAL, mesh_link
from quidnunc.properties.proofs.mesh.projection import PairTable, footprints, simulation, symbols_in, table_of
from quidnunc.properties.solver.explore import explore
from quidnunc.properties.solver.induction import check_induction, expression_after, refuting_trace, start_of
from quidnunc.properties.solver.questions import SolverSession, has_cvc5
from quidnunc.properties.solver.rules import NetworkModel, NetworkRule
from quidnunc.properties.solver.trace import is_valid_trace, shortest_trace

PROVED = "mesh-link-backoff"
REPAIRED = "mesh-link-backoff-waits"


@pytest.fixture(scope="module")
def table() -> PairTable:
    found = table_of(PROVED, capacity=4)
    assert found is not None
    return found


def with_rule(network: NetworkModel, name: str, change: Callable[[NetworkRule], NetworkRule]) -> NetworkModel:
    """The network with every rule of the kind changed."""
    assert any(rule.kind == name for rule in network.rules)
    return evolve(network, rules=tuple(change(rule) if rule.kind == name else rule for rule in network.rules))


def without_update(kind: str) -> Callable[[NetworkRule], NetworkRule]:
    """A rule that forgets to write fields of a kind."""
    return lambda rule: evolve(
        rule, updates={n: v for n, v in rule.updates.items() if not n.startswith(f"{kind}_")}
    )


def unguarded(kind: str) -> Callable[[NetworkRule], NetworkRule]:
    """A rule whose guard takes every field of a kind for false."""

    def change(rule: NetworkRule) -> NetworkRule:
        names = [n for n in symbols_in(rule.guard) if n.startswith(f"{kind}_")]
        return evolve(
            rule, guard=z3.substitute(rule.guard, *((z3.Bool(n), z3.BoolVal(False)) for n in names))
        )

    return change


# -- what is refuted ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in (PROVED, REPAIRED)])
def test_bounded_search_finds_what_exhaustion_finds(name: str) -> None:
    network = mesh_link(name, peers=2, d_high=1)
    questions = SolverSession()
    trace = refuting_trace(questions, network, network.claim(BIDIRECTIONAL), depth=10)
    assert trace is not None and is_valid_trace(trace)
    assert len(trace.rules) == len(shortest_trace(network, BIDIRECTIONAL, engine="python").rules)
    assert questions.asked == len(trace.rules) + 1 and not questions.unknown


def test_bounded_search_says_nothing_beyond_its_depth() -> None:
    network = mesh_link("mesh-link", peers=2, d_high=1)
    assert refuting_trace(SolverSession(), network, network.claim(BIDIRECTIONAL), depth=3) is None


def test_a_refutation_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    (result,) = network_prove.prove("mesh-link-backoff-silent", SolverSession())
    assert (result.verdict, result.vacuous) == ("refuted", False)
    assert result.trace is not None and len(result.trace.rules) == 3
    assert network_prove.TIMING in result.assumptions


# -- what is proved -----------------------------------------------------------------------------------------


def test_a_pair_needs_queues_of_three_and_no_more(table: PairTable) -> None:
    assert (len(table.states), table.longest, table.unbounded) == (136, 3, True)
    short = table_of(PROVED, capacity=3)
    assert short is not None and not short.unbounded


def test_backoff_proves_the_claim_for_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numpy", reason="numba is not installed: pip install '.[prove]'")
    monkeypatch.setattr(network_prove, "PROVED_SIZES", (2, 3))
    results = {result.name: result for result in network_prove.prove(PROVED, SolverSession())}
    assert list(results) == [PROVED, f"{PROVED}.clauses", f"{PROVED}.claim-alone"]
    assert not any(result.vacuous for result in results.values())
    whole = results[PROVED]
    assert whole.verdict == "proved" and whole.scope.startswith("every N, every D_high")
    assert whole.assumptions == (
        network_prove.CHANNELS, network_prove.ATOMIC, network_prove.NO_LOSS, network_prove.JOINS,
        network_prove.UNANNOUNCED, network_prove.SCORES, network_prove.TIMING,
    ) and whole.seconds > 0  # fmt: skip
    mixed = (
        "rules of gs1.0: join, leave, graft, accept, refuse-outside; of gs1.1: prune, expire, refuse, pruned"
    )
    assert mixed in whole.evidence
    assert any("54 rules map to a rule of the pair, 90 leave it as it is" in line for line in whole.evidence)
    reasons = results[f"{PROVED}.clauses"]
    assert reasons.verdict == "proved" and 5 < len(reasons.evidence) < 20
    assert results[f"{PROVED}.claim-alone"].verdict == "refuted"


def test_waiting_repairs_the_silence_of_v1_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_prove, "PROVED_SIZES", (2,))
    monkeypatch.setattr(network_prove, "DEPTH", 5)
    results = {result.name: result for result in network_prove.prove(REPAIRED, SolverSession())}
    assert list(results) == [REPAIRED, f"{REPAIRED}.claim-alone"]
    assert (results[REPAIRED].verdict, results[REPAIRED].vacuous) == ("proved", False)


def test_the_table_of_one_variant_proves_nothing_of_another(table: PairTable) -> None:
    network = mesh_link("mesh-link-backoff-any", peers=2, d_high=None, capacity=4)
    shown = check_induction(
        SolverSession(), network, table.says(network, (0, 1)), network.claim(BIDIRECTIONAL).holds, label="x"
    )
    assert not shown.proved and shown.broken_by


def test_an_invariant_that_is_empty_is_noticed() -> None:
    network = mesh_link(PROVED, peers=2, d_high=1)
    shown = check_induction(SolverSession(), network, z3.BoolVal(False), z3.BoolVal(False), label="x")
    assert not shown.starts and not shown.broken_by and len(shown.idle) == len(network.rules)


# -- planted errors, each caught by a count and by a proof --------------------------------------------------


PLANTED: dict[str, tuple[str, Callable[[NetworkRule], NetworkRule]]] = {
    "PRUNE received starts no backoff": ("pruned", without_update("backoff")),
    "PRUNE sent starts no backoff": ("prune", without_update("backoff")),
    "leaving starts no backoff": ("leave", without_update("backoff")),
    "GRAFT sent within the backoff": ("graft", unguarded("backoff")),
    "GRAFT accepted within the backoff": ("accept", unguarded("backoff")),
    "refusing outside the topic starts no backoff": ("refuse-outside", without_update("backoff")),
    "GRAFT refused but not taken from the queue": ("refuse", lambda r: evolve(r, updates=_half(r))),
    "PRUNE received and the link kept": ("pruned", without_update("mesh")),
}


def _half(rule: NetworkRule) -> dict[str, object]:
    """Of two channels the one that is written to."""
    i, j = rule.about
    return {name: value for name, value in rule.updates.items() if name == f"channel_{i}_{j}"}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_error_is_caught_twice(table: PairTable, planted: str) -> None:
    kind, change = PLANTED[planted]
    wrong = with_rule(mesh_link(PROVED, peers=2, d_high=1), kind, change)
    found = explore(wrong, engine="python", memory_bytes=10_000_000)
    assert (found.states, found.transitions) != (112, 406), "the count"
    free = with_rule(mesh_link(PROVED, peers=2, d_high=None, capacity=4), kind, change)
    shown = check_induction(
        SolverSession(), free, table.says(free, (0, 1)), free.claim(BIDIRECTIONAL).holds, label="x"
    )
    assert any(name.startswith(f"{kind}_") for name in shown.broken_by), "the proof"


# -- the projection -----------------------------------------------------------------------------------------


def test_every_rule_is_a_rule_of_the_pair_or_leaves_it(table: PairTable) -> None:
    network = mesh_link(PROVED, peers=3, d_high=None, capacity=4)
    seen = simulation(SolverSession(), network, table.abstraction)
    assert seen.holds and (seen.mapped, seen.stutters) == (54, 90)
    # With the degree limit as it is, every rule is still one of the pair, whose degree tests are free.
    assert simulation(
        SolverSession(), mesh_link(PROVED, peers=3, d_high=1, capacity=4), table.abstraction
    ).holds


def test_a_rule_that_looks_at_a_third_peer_is_noticed(table: PairTable) -> None:
    def nosy(rule: NetworkRule) -> NetworkRule:
        third = 3 - sum(rule.about)
        name = f"mesh_{rule.about[0]}_{rule.about[1]}"
        other = z3.Bool(f"mesh_{rule.about[0]}_{third}")
        return evolve(rule, updates={**rule.updates, name: z3.And(rule.updates[name], other)})

    network = mesh_link(PROVED, peers=3, d_high=None, capacity=4)
    assert not [f for f in footprints(network) if f.foreign]
    wrong = with_rule(network, "accept", nosy)
    foreign = [f for f in footprints(wrong) if f.foreign]
    assert len(foreign) == 6 and foreign[0].foreign == ("mesh_0_2",)
    assert not simulation(SolverSession(), wrong, table.abstraction).holds
    # One that writes to a pair of others is neither a rule of that pair nor nothing to it.
    meddling = with_rule(
        network, "join", lambda r: evolve(r, updates={**r.updates, "mesh_0_1": z3.BoolVal(True)})
    )
    assert any(
        "join_2 as seen by 0 and 1" in b
        for b in simulation(SolverSession(), meddling, table.abstraction).broken
    )


# -- questions ----------------------------------------------------------------------------------------------


def test_questions_are_written_and_asked_again(tmp_path: Path) -> None:
    network = mesh_link("mesh-link", peers=2, d_high=1)
    questions = SolverSession(smt2=tmp_path, recheck=has_cvc5())
    rule = next(r for r in network.rules if r.kind == "join")
    goal = network.claim(BIDIRECTIONAL).holds
    assert questions.valid(
        "kept by a join", z3.Implies(z3.And(goal, rule.guard), expression_after(network, rule, goal))
    )
    assert questions.possible("at the start", start_of(network), goal)
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["0001-kept_by_a_join.smt2", "0002-at_the_start.smt2"]
    assert "(check-sat)" in (tmp_path / written[0]).read_text(encoding="utf-8")
    assert questions.rechecked == (2 if has_cvc5() else 0)


def test_solvers_that_contradict_each_other_stop_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quidnunc.properties.solver.questions.answer_of_cvc5", lambda text, ms: "sat")
    with pytest.raises(SpecError, match="z3 says unsat, cvc5 says sat"):
        SolverSession(recheck=True).ask("nothing", z3.BoolVal(False))


def test_cvc5_reads_what_z3_writes() -> None:
    pytest.importorskip("cvc5", reason="cvc5 is not installed: pip install '.[prove]'")
    from quidnunc.properties.solver.questions import answer_of_cvc5

    assert answer_of_cvc5("(set-logic QF_BV)(declare-fun a () Bool)(assert a)(check-sat)") == "sat"
    assert answer_of_cvc5("(set-logic QF_BV)(assert false)(check-sat)") == "unsat"
