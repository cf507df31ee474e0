"""What a reconnect does to a score: lemmas that fail without what they rest on; our router's scores."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import pytest

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from quidnunc.impl.gossipsub.scores import ScoreKeeper
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from quidnunc.properties.params import retain as params_retain
from quidnunc.properties.params.retain import RetentionStatement, questions_of, retention_results
from quidnunc.properties.solver.questions import SolverSession

PROVED = {"member.failures-weigh", "silence.no-first-deliveries", "forgotten.application-alone"}
ASKED = {each.name: each for each in questions_of()}


def verdicts() -> dict[str, str]:
    found = {r.name.removeprefix("score-retention."): r for r in retention_results(SolverSession())}
    assert not any(r.vacuous for r in found.values())
    return {name: r.verdict for name, r in found.items()}


def test_what_is_decided() -> None:
    found = verdicts()
    assert set(found) == set(ASKED)
    assert {name for name, verdict in found.items() if verdict == "proved"} == PROVED
    assert {found[name] for name in set(ASKED) - PROVED} == {"refuted"}


def test_witnesses_are_told_in_small_numbers() -> None:
    found = {r.name: r.evidence for r in retention_results(SolverSession())}
    assert found["score-retention.member"][0] == "weights w3 -1; quanta 1, meshed 1: -1 and then 0"
    assert found["score-retention.forgotten"][0] == "weights w3b -1; failures 1: -1 and then 0"


# -- what each proof rests on -------------------------------------------------------------------------------


def broken(question: RetentionStatement, old: str, new: str) -> bool:
    """Whether the statement fails once what is assumed of one symbol is assumed of another."""
    peer = params_retain._peer()
    premise = z3.substitute(question.premise, (z3.Real(old), -z3.Real(old) if new == "-" else z3.Real(new)))
    holds = peer.score(question.after) <= peer.score(question.before)
    return SolverSession().solve("planted", premise, z3.Not(holds))[0] == "sat"


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("member.failures-weigh", "w1", "-"),
        ("member.failures-weigh", "w3b", "w3"),
        ("silence.no-first-deliveries", "w4", "-"),
        ("silence.no-first-deliveries", "w7", "-"),
        ("forgotten.application-alone", "w2", "-"),
        ("forgotten.application-alone", "invalid", "failures"),
    ],
)
def test_a_planted_error_is_noticed(name: str, old: str, new: str) -> None:
    assert broken(ASKED[name], old, new)
    assert not broken(ASKED[name], old, old)


def test_a_witness_that_fractions_do_not_confirm_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scores are computed a second time, by code that shares nothing with the expressions."""
    real = params_retain.in_fractions

    def outside(values: Mapping[str, Fraction], held: Mapping[str, Fraction]) -> Fraction:
        return real(values, {**held, "member": Fraction(0)})

    monkeypatch.setattr(params_retain, "in_fractions", outside)
    assert verdicts()["member"] == "undetermined"


# -- our router's scores ------------------------------------------------------------------------------------


def kept(w3: float, w3b: float) -> tuple[float, float, float]:
    """The score of a member that lacks deliveries, after it is gone and back, and after RetainScore."""
    topic = TopicScoreParameters(
        topic="t",
        topic_weight=1.0,
        time_in_mesh_weight=0.0,
        first_message_deliveries_weight=0.0,
        mesh_message_deliveries_weight=w3,
        mesh_message_deliveries_threshold=2.0,
        mesh_message_deliveries_activation_ms=0,
        mesh_failure_penalty_weight=w3b,
    )
    keeper = ScoreKeeper(ScoreParameters(topics=(topic,), retain_score_ms=10_000))
    keeper.connected(1, 0)
    keeper.grafted(1, "t", 0)
    keeper.decay(1000)
    before = keeper.score(1, 0.0)
    keeper.disconnected(1, 1500)
    keeper.connected(1, 0)
    at_once = keeper.score(1, 0.0)
    keeper.disconnected(1, 2000)
    keeper.decay(13_000)
    keeper.connected(1, 0)
    return before, at_once, keeper.score(1, 0.0)


def test_our_router_keeps_what_it_should() -> None:
    assert kept(w3=-1.0, w3b=0.0) == (-4.0, 0.0, 0.0)
    assert kept(w3=-1.0, w3b=-1.0) == (-4.0, -4.0, 0.0)
