"""The properties of scores: each verdict against random counters, computed apart from the solver."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from attrs import evolve

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")
pytest.importorskip("yaml", reason="PyYAML is not installed: pip install '.[prove]'")

from quidnunc.model.score_interval import DENOMINATOR
from quidnunc.properties.params import claims as params_claims
from quidnunc.properties.params import score as params_score
from quidnunc.properties.params.claims import CellSolver, PropertyCell, cells, no_shadowing, punished
from quidnunc.properties.params.file import read_file, shipped_files
from quidnunc.properties.params.read import network_of
from quidnunc.properties.params.score import (
    FORMS,
    Form,
    PeerCounters,
    TopicCounters,
    rational,
    topic_expression,
    topic_score,
    total_score,
)
from quidnunc.properties.params.values import ZERO, NetworkParameters, TopicParameters, for_router
from quidnunc.properties.solver.questions import SolverSession

NETWORKS = {name: network_of(read_file(path)) for name, path in shipped_files().items()}


def drawn(die: random.Random, topic: TopicParameters, *, whole: bool) -> TopicCounters:
    """Counters that there may be, often at the places where a term changes."""

    def one(most: Fraction) -> Fraction:
        value = Fraction(die.choice([ZERO, most, most / 2, Fraction(die.randint(0, 100), 10)]))
        value = min(value, most)
        return Fraction(int(value)) if whole else value

    activation = topic.mesh_message_deliveries_activation_ms
    return TopicCounters(
        time_ms=Fraction(die.choice([0, 1, activation, activation + 1, 10**6])),
        first=one(topic.first_message_deliveries_cap),
        meshed=one(topic.mesh_message_deliveries_cap),
        failures=one(Fraction(3)),
        invalid=one(Fraction(2)),
    )


@pytest.mark.parametrize("form", FORMS)
def test_both_ways_to_compute_a_score_agree(form: Form) -> None:
    die = random.Random(7)
    for network in NETWORKS.values():
        for topic in network.topics:
            for _ in range(15):
                counters = drawn(die, topic, whole=False)
                values = {name: rational(getattr(counters, name)) for name in params_score.NAMES}
                found = z3.simplify(topic_expression(topic, values, form))
                assert found.as_fraction() == topic_score(topic, counters, form)


def test_the_model_scores_alike() -> None:
    """The third way: the rules of the model, on a router with these parameters."""
    from quidnunc.model.parameters import Parameters
    from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_1, started
    from quidnunc.model.pubsub.scores.ledger import TopicTally
    from quidnunc.model.score_interval import between

    network = NETWORKS["eth2"]
    die = random.Random(11)
    start = started(GOSSIPSUB_1_1, Parameters(scores=for_router(network)))
    names = {"BLOCKS": "BLOCKS", "AGG": "AGG", "SUB": "SUB1"}
    for _ in range(40):
        topic = die.choice(network.topics)
        # Whole quanta: the model counts no parts of one.
        quanta = die.choice([0, 3, 40, 400])
        counters = evolve(drawn(die, topic, whole=True), time_ms=quanta * topic.time_in_mesh_quantum_ms)
        tally = TopicTally(
            since_ms=0,
            mesh_ms=int(counters.time_ms),
            **{
                name: between(float(getattr(counters, name)), float(getattr(counters, name)))
                for name in ("first", "meshed", "failures", "invalid")
            },
        )
        name = names[topic.name]
        router = evolve(
            start,
            topics=frozenset({name}),
            mesh={name: frozenset({1})},
            ledger=evolve(start.ledger, tallies={(1, name): tally}),
        )
        expected = total_score(network, topic_score(topic, counters), PeerCounters())
        bounds = router.bounds(1)
        assert bounds.lo <= expected * DENOMINATOR <= bounds.hi, (topic.name, counters)
        assert bounds.hi - bounds.lo < DENOMINATOR / 100


def verdicts(found: list[PropertyCell]) -> dict[tuple[str, str, str], set[str]]:
    by: dict[tuple[str, str, str], set[str]] = {}
    for cell in found:
        by.setdefault((cell.property, cell.topic, cell.term), set()).add(cell.verdict)
    return by


@pytest.fixture(scope="module")
def decided() -> dict[str, list[PropertyCell]]:
    return {name: list(cells(NETWORKS[name], SolverSession())) for name in ("eth2", "filecoin", "good-10")}


def test_no_cell_is_left_open(decided: dict[str, list[PropertyCell]]) -> None:
    for found in decided.values():
        assert not [cell for cell in found if cell.verdict == "undetermined"]


def test_the_verdicts_on_the_published_parameters(decided: dict[str, list[PropertyCell]]) -> None:
    eth2, filecoin, good = (verdicts(decided[name]) for name in ("eth2", "filecoin", "good-10"))
    # Eth2: any topic hides, whatever the counters and the application.
    assert all(eth2["no-shadowing", topic, ""] == {"refuted"} for topic in ("BLOCKS", "AGG", "SUB"))
    # Filecoin: only where the application speaks up, for what never decays is a whole number.
    for cell in decided["filecoin"]:
        if cell.property == "no-shadowing":
            assert cell.verdict == ("refuted" if cell.application else "proved")
    # Its P3 says nothing at all: the deficit is zero by its parameters.
    assert filecoin["punished", "BLOCKS", "P3"] == {"vacuous"}
    assert filecoin["punished", "BLOCKS", "P3b"] == {"refuted"}
    assert filecoin["punished", "BLOCKS", "P4"] == {"proved"}
    # The proposal hides a little, with whole counters too.
    assert good["no-shadowing", "MSGS", ""] == {"refuted"}
    for found in (eth2, filecoin, good):
        assert found["fair", "", ""] == {"proved"}
        assert found["punished", "", "P6"] == found["punished", "", "P7"] == {"proved"}
    settled = [c for c in decided["eth2"] if c.property == "good-is-good" and c.settled]
    assert settled and {c.verdict for c in settled} == {"proved"}
    early = [c for c in decided["eth2"] if c.property == "good-is-good" and not c.settled and c.term == "P1"]
    assert {c.verdict for c in early} == {"refuted"}


def test_what_is_proved_no_draw_breaks(decided: dict[str, list[PropertyCell]]) -> None:
    die = random.Random(3)
    for name, found in decided.items():
        network = NETWORKS[name]
        for cell in found:
            if cell.property != "no-shadowing" or cell.verdict != "proved":
                continue
            for _ in range(60):
                scores = {t.name: topic_score(t, drawn(die, t, whole=True)) for t in network.topics}
                total = total_score(network, sum(scores.values(), ZERO), PeerCounters())
                assert scores[cell.topic] >= 0 or total <= 0, cell


def test_a_witness_is_what_it_says(decided: dict[str, list[PropertyCell]]) -> None:
    for name, found in decided.items():
        network = NETWORKS[name]
        for cell in found:
            if cell.property == "no-shadowing" and cell.verdict == "refuted":
                assert cell.before is not None and cell.held is not None
                own = topic_score(network.topic(cell.topic), cell.before)
                assert cell.totals == (own, total_score(network, own + cell.others, cell.held))
                assert cell.totals[0] < 0 < cell.totals[1]
                if cell.whole:
                    assert cell.before.invalid.denominator == cell.before.meshed.denominator == 1


# -- planted errors -----------------------------------------------------------------------------------------


def small(**changes: Fraction) -> NetworkParameters:
    """One topic that punishes, and one that does not."""
    topic = TopicParameters(
        name="a",
        topic_weight=Fraction(1),
        mesh_message_deliveries_weight=Fraction(-1),
        mesh_message_deliveries_threshold=Fraction(2),
        mesh_message_deliveries_cap=Fraction(10),
        mesh_message_deliveries_decay=Fraction(1, 2),
        invalid_message_deliveries_weight=Fraction(-1),
    )
    return NetworkParameters(name="small", topics=(evolve(topic, **changes),))


def test_a_weight_of_zero_is_noticed() -> None:
    asked = CellSolver(small(), "v1.1", SolverSession())
    assert punished(asked, asked.network.topics[0], "P4", whole=False, settled=True).verdict == "proved"
    free = CellSolver(small(invalid_message_deliveries_weight=ZERO), "v1.1", SolverSession())
    assert punished(free, free.network.topics[0], "P4", whole=False, settled=True).verdict == "refuted"
    assert no_shadowing(asked, asked.network.topics[0], whole=False, application=False).verdict == "proved"


def test_the_published_form_counts_a_deficit_twice() -> None:
    topic = evolve(small().topics[0], mesh_failure_penalty_weight=Fraction(-3))
    counters = TopicCounters(time_ms=Fraction(10))
    assert topic_score(topic, counters) == -4
    assert topic_score(topic, counters, "published") == -16


def test_a_solver_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from quidnunc.model.errors import SpecError

    monkeypatch.setattr(params_claims, "topic_score", lambda *_: Fraction(1))
    asked = CellSolver(NETWORKS["eth2"], "v1.1", SolverSession())
    with pytest.raises(SpecError, match="does not come to the same in fractions"):
        no_shadowing(asked, asked.network.topics[0], whole=False, application=False)
