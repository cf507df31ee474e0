"""What is proved of scores in general: each lemma fails where what it rests on is taken away."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")
pytest.importorskip("numpy", reason="numba is not installed: pip install '.[prove]'")
pytest.importorskip("yaml", reason="PyYAML is not installed: pip install '.[prove]'")

from quidnunc.properties.params.prove import ScoreLemma, lemmas, names
from quidnunc.properties.proofs.prove import prove, provers
from quidnunc.properties.solver.questions import SolverSession, answer_of_cvc5, has_cvc5

LEMMAS = {lemma.name: lemma for lemma in lemmas()}
FALSE = "silence-is-free"


def test_the_algebra() -> None:
    found = {
        result.name.removeprefix("score-algebra."): result
        for result in prove("score-algebra", SolverSession())
    }
    assert list(found) == list(LEMMAS)
    assert {name for name, result in found.items() if result.verdict == "refuted"} == {FALSE}
    assert not any(result.vacuous for result in found.values())
    assert {r.verdict for name, r in found.items() if name != FALSE} == {"proved"}


def broken(lemma: ScoreLemma, old: str, new: str) -> bool:
    """Whether the lemma fails once a symbol is replaced by an expression of another sign."""
    symbol = z3.Real(old)
    swap = (symbol, -symbol if new == "-" else z3.RealVal(new))
    premise = z3.substitute(lemma.premise, swap)
    # What is replaced in the premise alone changes what is assumed, and not what is claimed.
    return SolverSession().solve("planted", premise, z3.Not(lemma.conclusion))[0] == "sat"


@pytest.mark.parametrize(
    ("name", "weight"),
    [
        ("upper-bound", "w3"),
        ("invalid-never-helps", "w4"),
        ("delivery-never-hurts", "w2"),
        ("forgiveness", "w3b"),
        ("clean-is-not-negative", "w1"),
    ],
)
def test_a_weight_of_the_wrong_sign_is_noticed(name: str, weight: str) -> None:
    assert broken(LEMMAS[name], weight, "-")


def test_a_factor_above_one_is_noticed() -> None:
    assert broken(LEMMAS["counter-stays-in-bounds"], "decay", "1/2") is True
    assert SolverSession().solve("as it is", LEMMAS["counter-stays-in-bounds"].premise)[0] == "sat"


def test_no_draw_breaks_a_lemma() -> None:
    """The formulas in numbers: every premise that a draw meets has its conclusion."""
    die = random.Random(5)
    weights = {"topic_weight": 1, "w1": 1, "w2": 1, "w3": -1, "w3b": -1, "w4": -1}
    met = 0
    for _ in range(25):
        values = {name: sign * Fraction(die.randint(0, 4)) for name, sign in weights.items()}
        values |= {name: Fraction(die.randint(1, 9)) for name in ("cap1", "cap2", "cap3", "threshold")}
        values |= {"decay": Fraction(die.randint(1, 9), 10), "to_zero": Fraction(1, 10)}
        values |= {
            name: Fraction(die.randint(0, 12), 2)
            for name in ("quanta", "first", "meshed", "failures", "invalid", "more")
        }
        swaps = [(z3.Real(name), z3.Q(v.numerator, v.denominator)) for name, v in values.items()]
        for name, lemma in LEMMAS.items():
            if z3.is_true(z3.simplify(z3.substitute(lemma.premise, *swaps))):
                met += 1
                held = z3.is_true(z3.simplify(z3.substitute(lemma.conclusion, *swaps)))
                assert held or name == FALSE, (name, values)
    assert met > 20


def test_every_configuration_is_among_the_names() -> None:
    assert set(names()) <= set(provers())
    assert "scores-filecoin" in names()


def test_the_published_result_is_decided_in_both_forms() -> None:
    found = {result.name: result for result in prove("scores-filecoin", SolverSession())}
    assert len(found) == 8
    assert found["scores-filecoin.punished.v1.1"].verdict == "refuted"
    assert found["scores-filecoin.good-is-good.published"].verdict == "proved"
    evidence = found["scores-filecoin.punished.v1.1"].evidence
    assert any(line.startswith("vacuous: P3, BLOCKS") for line in evidence)
    assert not any(result.vacuous for result in found.values())


def test_cvc5_agrees_on_the_algebra() -> None:
    if not has_cvc5():
        pytest.skip("cvc5 is not installed: pip install '.[prove]'")
    questions = SolverSession(recheck=True)
    lemma = LEMMAS["clean-is-not-negative"]
    assert questions.solve("cvc5", lemma.premise, z3.Not(lemma.conclusion))[0] == "unsat"
    assert questions.rechecked == 1
    text = "(set-logic QF_NIRA)(declare-fun x () Real)(assert (< (* x x) 0.0))(check-sat)"
    assert answer_of_cvc5(text) == "unsat"
