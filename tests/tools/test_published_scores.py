"""Our verdicts and scores beside those of the published formal model, and the advisory that came of it."""

from __future__ import annotations

from fractions import Fraction

import pytest
from attrs import evolve

pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")
pytest.importorskip("yaml", reason="PyYAML is not installed: pip install '.[prove]'")

from quidnunc.properties.params.advice import heavier
from quidnunc.properties.params.attack import starved_score, starving_attack
from quidnunc.properties.params.guarantees import starving_line
from quidnunc.properties.params.replay import replay_attack
from quidnunc.properties.params.score import FORMS, PeerCounters, TopicCounters, topic_score, total_score
from quidnunc.properties.params.values import ZERO, NetworkParameters, decimal
from quidnunc.properties.solver.questions import SolverSession
from tests.helpers.readers import ROOT
from tools.published_scores.compare import (
    ComparedVerdict,
    compared_verdicts,
    network_named,
    published_attack,
    recomputed_lemmas,
    recomputed_numbers,
    table_rows,
)

PAGE = ROOT / "docs" / "results" / "acl2s.md"
ADVISORY = "GHSA-77r2-q4c3-v635 (CVE-2022-47547)"


@pytest.fixture(scope="module")
def compared() -> dict[str, list[ComparedVerdict]]:
    return {form: list(compared_verdicts(SolverSession(), form)) for form in FORMS}


def test_each_published_verdict_is_ours_or_is_known_to_differ(
    compared: dict[str, list[ComparedVerdict]],
) -> None:
    for found in compared.values():
        assert len(found) == 12
        for row in found:
            assert row.cells and row.same == row.agrees, (row.number, row.application, row.ours)
            assert row.agrees or row.why
    assert {(r.number, r.application) for r in compared["published"] if not r.agrees} == {
        (1, "fc, application score free"),
        (2, "fc"),
        (1, "proposal, cap 10"),
        (1, "proposal, cap 100"),
    }


def test_a_wrong_verdict_of_ours_would_be_noticed(compared: dict[str, list[ComparedVerdict]]) -> None:
    row = compared["published"][0]
    turned = evolve(row, cells=tuple(evolve(cell, verdict="proved") for cell in row.cells))
    assert row.same and not turned.same
    assert not evolve(row, cells=()).same


def test_every_recorded_score_is_computed_again() -> None:
    found = list(recomputed_numbers())
    assert len(found) == 14
    # Of property 1 no counters are recorded: those scores are what the counters were chosen for.
    assert {n.witness for n in found if n.fitted} == {"property 1, eth"} and sum(n.fitted for n in found) == 6
    assert all(number.same for number in found), [n for n in found if not n.same]
    # With the score of v1.1, whose P3b has no present deficit, some differ: the numbers tell the two apart.
    assert not all(number.same for number in recomputed_numbers("v1.1"))


def test_the_recorded_change_of_property_2_does_not_count_p6() -> None:
    eth2 = network_named("eth2")
    (then,) = (n for n in recomputed_numbers() if n.of == "the total then")
    assert then.ours == eth2.topic_score_cap
    with_p6 = then.ours + eth2.ip_colocation_factor_weight
    assert decimal(with_p6) == "-2.39"


def test_the_lemmas_hold_as_written_and_not_for_the_proposal_with_its_weight() -> None:
    found = list(recomputed_lemmas())
    assert all(lemma.as_written < 0 for lemma in found)
    assert {lemma.network for lemma in found if lemma.weighted >= 0} == {"good-10"}
    good = network_named("good-10")
    assert good.greatest - good.topics[0].topic_weight * 1001 < 0


def test_the_published_attack_goes_as_recorded() -> None:
    rounds = list(published_attack())
    assert [each.hidden for each in rounds] == [False] + [True] * 55


def test_above_zero_is_broken_by_a_peer_in_no_mesh() -> None:
    """Property 1 as the files write it."""
    for name in ("eth2", "filecoin", "good-10"):
        network = network_named(name)
        topic, *others = network.each()
        assert topic_score(topic, TopicCounters()) == 0 < sum(other.greatest for other in others)


# -- the advisory -------------------------------------------------------------------------------------------


def silent_total(network: NetworkParameters) -> Fraction:
    """What a mesh member has that delivers nothing in any topic."""
    return total_score(network, sum(map(starved_score, network.each()), ZERO), PeerCounters())


@pytest.mark.parametrize("name", ["eth2", "eth2-subnets"])
def test_the_advisory(name: str) -> None:
    """A positive score for ever without a message in a topic; and not without a message in all of them."""
    network = network_named(name)
    line = starving_line(network, SolverSession())
    assert line.verdict == "fails" and line.advisories == (ADVISORY,)
    attack = starving_attack(network, SolverSession(), "copies")
    assert 0 < attack.starved < attack.topics and attack.confirmed and attack.score > 0
    assert silent_total(network) < 0


def test_the_advisory_fits_filecoin_as_well() -> None:
    network = network_named("filecoin")
    attack = starving_attack(network, SolverSession(), "copies")
    assert attack.starved == attack.topics == 2 and attack.messages == 0
    assert silent_total(network) == attack.score > 0


def test_no_advisory_where_nothing_can_be_starved() -> None:
    line = starving_line(heavier(network_named("filecoin")), SolverSession())
    assert line.verdict == "holds" and line.advisories == ()


def test_the_advisory_on_a_router() -> None:
    """Ethereum's parameters, three subnets: our router never prunes the attacker."""
    network = network_named("eth2")
    attack = starving_attack(network, SolverSession(), "copies")
    assert replay_attack(network, attack, "ours").succeeded


# -- the page -----------------------------------------------------------------------------------------------


WITNESS = 4
"""The column of witnesses, of which another z3 may find others."""


def without_witness(row: str) -> str:
    columns = row.strip("| ").split(" | ")
    return " | ".join([*columns[:WITNESS], *columns[WITNESS + 1 :]])


def test_the_page_has_what_is_computed() -> None:
    page = PAGE.read_text(encoding="utf-8").splitlines()
    there = set(map(without_witness, page))
    missing = [row for row in table_rows(SolverSession()) if without_witness(row) not in there]
    assert not missing, "\n".join(missing)
    text = " ".join(" ".join(page).split())
    for name in ("eth2", "eth2-subnets", "filecoin"):
        network = network_named(name)
        attack = starving_attack(network, SolverSession(), "copies")
        assert f"{attack.starved} of {attack.topics} topics at a score of {decimal(attack.score)}" in text
        assert decimal(silent_total(network)) in text
