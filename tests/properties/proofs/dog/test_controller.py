"""The arithmetic of DOG's controller: z3's formulas, fractions and the model's rules say the same."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from attrs import evolve

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from quidnunc.model.events import MEMPOOL, Adjust, Connect, Sent
from quidnunc.model.mempool import node_step
from quidnunc.model.mempool.dog.variants import VARIANTS
from quidnunc.model.mempool.node import started_node
from quidnunc.model.mempool.protocols import DOG
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import ResetRoute
from quidnunc.properties.networks.choices import NamedChoices
from quidnunc.properties.proofs.dog import controller_prove as proving
from quidnunc.properties.proofs.dog import floats as network_dog_floats
from quidnunc.properties.proofs.dog.controller import CONTROLLERS, ControllerRevision, found
from quidnunc.properties.proofs.dog.controller_prove import controller_results, symbols
from quidnunc.properties.proofs.dog.floats import found_in_floats
from quidnunc.properties.solver.questions import SolverSession

PLAIN, ADR, QUINT, GO, PROPOSED = CONTROLLERS
PROTOCOLS = {name: VARIANTS.get(name.replace("-controller", ""), DOG) for name in CONTROLLERS}


def verdicts(name: str) -> dict[str, str]:
    results = list(controller_results(name, SolverSession()))
    assert not any(r.vacuous for r in results)
    return {r.name.removeprefix(f"{name}."): r.verdict for r in results}


def refuted(name: str) -> set[str]:
    return {line for line, verdict in verdicts(name).items() if verdict == "refuted"}


def test_what_is_false_of_each_text() -> None:
    assert refuted(PLAIN) == {"above-target"}
    assert refuted(ADR) == {"upper-bound", "above-target"}
    assert refuted(QUINT) == {"bounds", "asks", "above-target"}
    assert refuted(GO) == {"above-target", "floats", "rounding"}
    assert refuted(PROPOSED) == {"above-target", "idle"}
    assert {v for name in CONTROLLERS for v in verdicts(name).values()} == {
        "proved",
        "refuted",
        "by definition",
    }


def test_what_repeats_a_rule_is_no_proof() -> None:
    repeated = {name: {n for n, v in verdicts(name).items() if v == "by definition"} for name in CONTROLLERS}
    every = {"upper-bound", "duplicates-alone", "idle"}
    assert repeated == {
        PLAIN: every,
        ADR: every - {"upper-bound"},
        QUINT: every,
        GO: every,
        PROPOSED: every - {"idle"},
    }


def test_witnesses() -> None:
    lines = {r.name: r.evidence for name in CONTROLLERS for r in controller_results(name, SolverSession())}
    assert lines["dog-controller-quint.bounds"][0].startswith("target 1, delta 10 %")
    assert "bounds 1 and 1" in lines["dog-controller-quint.bounds"][0]
    assert "10 new, 11 again: bounds 9/10 and 11/10" in lines["dog-controller-adr.upper-bound"][0]
    assert lines["dog-controller-go.rounding"] == (
        "target 0.1, 100 new, 9 again: low, exactly in-band",
        "4 of 17613 differ, with targets 0.1",
    )
    assert found_in_floats(0.1, 100, 9) == "low"
    assert lines["dog-controller-go.floats"][0] == "target 5e-324: bounds 5e-324 and 5e-324"


# -- three ways to compute ----------------------------------------------------------------------------------


def by_the_model(name: str, target: str, delta: int, first: int, again: int) -> str:
    """What the controller of a node does, which begins with HaveTx blocked."""
    parameters = DogParameters(target_redundancy=float(target), delta_percent=float(delta))
    node = started_node(PROTOCOLS[name], parameters)
    node = node_step.step(node, Connect((1,), MEMPOOL), NamedChoices()).router
    node = evolve(node, first_time=first, duplicates=again, blocked=True)
    after = node_step.step(node, Adjust(), NamedChoices())
    asked = [p.output for p in after.permits] == [Sent(1, ResetRoute())]
    assert asked == bool(after.permits)
    if asked:
        return "low"
    return "in-band" if after.router.blocked else "high"


@pytest.mark.parametrize("name", CONTROLLERS)
def test_the_model_decides_the_same(name: str) -> None:
    by, seen = CONTROLLERS[name], set()
    for target in ("1", "2", "10") if by.whole else ("0.5", "1", "2.5"):
        for delta in (10,) if by.fixed_delta else (10, 25):
            for first in (0, 1, 2, 4, 10, 20):
                for again in (0, 1, 2, 3, 9, 11, 18, 22, 27, 110):
                    expected = found(by, Fraction(target), Fraction(delta), first, again)
                    seen.add(expected)
                    if expected != "idle":
                        assert by_the_model(name, target, delta, first, again) == expected
                    elif by is CONTROLLERS[PLAIN]:
                        assert by_the_model(name, target, delta, 0, 0) == "in-band"
    assert seen == {"idle", "low", "in-band", "high"}


@pytest.mark.parametrize("name", CONTROLLERS)
def test_z3_decides_the_same(name: str) -> None:
    by, die = CONTROLLERS[name], random.Random(7)
    at = symbols(by)
    for _ in range(60):
        target = Fraction(die.randint(0 if by.zero_target else 1, 12))
        delta = Fraction(10 if by.fixed_delta else die.randint(1, 99))
        first, again = die.randint(0, 9), die.randint(0, 60)
        width = target * delta / 100
        values = {
            at.target: target,
            at.delta: delta,
            at.width: Fraction(width.__floor__()) if by.whole else width,
        }
        values |= {at.first: Fraction(first), at.again: Fraction(again), at.idle: Fraction(0)}
        values |= {at.quotient: Fraction(again // first if first else 0)}
        swaps = [
            (s, z3.IntVal(int(v)) if z3.is_int(s) else z3.Q(v.numerator, v.denominator))
            for s, v in values.items()
        ]
        said = [z3.is_true(z3.simplify(z3.substitute(e, *swaps))) for e in (at.given, at.asks(), at.allows())]
        outcome = found(by, target, delta, first, again)
        assert said == [True, outcome == "low", outcome == "high"], (target, delta, first, again)


# -- planted errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "line", "error", "turned"),
    [
        (PLAIN, "upper-bound", {"strict": True}, {"by definition", "refuted"}),
        (PLAIN, "asks", {"zero_target": True}, {"proved", "refuted"}),
        (PLAIN, "idle", {"keep_alive": True}, {"by definition", "refuted"}),
        (GO, "bounds", {"whole": True}, {"proved", "refuted"}),
        (PLAIN, "bounds", {"zero_delta": True}, {"proved", "refuted"}),
        (PROPOSED, "bounds", {"zero_delta": True}, {"proved", "refuted"}),
    ],
)
def test_a_planted_error_turns_its_line(
    name: str, line: str, error: dict[str, bool], turned: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = verdicts(name)[line]
    wrong: ControllerRevision = evolve(CONTROLLERS[name], floats=False, **error)
    monkeypatch.setattr(proving, "CONTROLLERS", {name: wrong})
    assert {before, verdicts(name)[line]} == turned


def test_bounds_that_overlap_do_two_things() -> None:
    """With a negative delta an adjustment would ask and allow at once, and the witness is computed again."""
    at = symbols(CONTROLLERS[PLAIN])
    line = next(each for each in proving.lines(CONTROLLERS[PLAIN]) if each.name == "one-thing")
    turned = [100 * at.width == at.target * at.delta, at.delta == -10, at.target == 1, at.first == 1]
    assert SolverSession().solve("planted", *turned, z3.Not(line.conclusion))[0] == "sat"
    assert line.fails(CONTROLLERS[PLAIN], Fraction(1), Fraction(-10), 1, 1)


def test_less_room_for_rounding_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_dog_floats, "NEAR", Fraction(1, 2**53))
    assert verdicts(GO)["rounding.near"] == "undetermined"
