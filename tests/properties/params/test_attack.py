"""Attacks on parameters, penalties and guarantees: the figures against plain arithmetic."""

from __future__ import annotations

from fractions import Fraction

import pytest
from attrs import evolve

pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")
pytest.importorskip("yaml", reason="PyYAML is not installed: pip install '.[prove]'")

from quidnunc.properties.params.advice import longer_memory, no_starving, shed
from quidnunc.properties.params.attack import least_counter, needed_rate, simulate_attack, starving_attack
from quidnunc.properties.params.file import read_file, shipped_files
from quidnunc.properties.params.guarantees import KEPT, REACHED, Guarantee, guarantees, quiet_line
from quidnunc.properties.params.punish import (
    MAX_DECAYS,
    decays_until,
    delivery_quota,
    invalid_until_graylisted,
    neighbours_until,
    penalties,
)
from quidnunc.properties.params.read import network_of
from quidnunc.properties.params.values import ZERO, NetworkParameters, TopicParameters
from quidnunc.properties.solver.questions import SolverSession

NETWORKS = {name: network_of(read_file(path)) for name, path in shipped_files().items()}

TOPIC = TopicParameters(
    name="a",
    topic_weight=Fraction(1),
    time_in_mesh_weight=Fraction(1),
    time_in_mesh_quantum_ms=Fraction(1000),
    time_in_mesh_cap=Fraction(5),
    first_message_deliveries_weight=Fraction(2),
    first_message_deliveries_decay=Fraction(1, 2),
    first_message_deliveries_cap=Fraction(10),
    mesh_message_deliveries_weight=Fraction(-1),
    mesh_message_deliveries_decay=Fraction(1, 2),
    mesh_message_deliveries_cap=Fraction(20),
    mesh_message_deliveries_threshold=Fraction(4),
    mesh_message_deliveries_activation_ms=Fraction(3000),
    mesh_failure_penalty_weight=Fraction(-1),
    mesh_failure_penalty_decay=Fraction(1, 2),
    invalid_message_deliveries_weight=Fraction(-10),
    invalid_message_deliveries_decay=Fraction(1, 2),
)
SMALL = NetworkParameters(
    name="small",
    topics=(TOPIC, evolve(TOPIC, name="b", count=2)),
    graylist_threshold=Fraction(-100),
    behaviour_penalty_weight=Fraction(-1),
    behaviour_penalty_decay=Fraction(1, 2),
    ip_colocation_factor_weight=Fraction(-4),
    ip_colocation_factor_threshold=3,
    retain_score_ms=Fraction(60_000),
)


def test_a_counter_settles_where_repetition_leads() -> None:
    for rate in (1, 3, 50):
        counter = ZERO
        for _ in range(60):
            counter = min(Fraction(20), counter + rate) / 2
        least = least_counter(Fraction(rate), Fraction(1, 2), Fraction(20), Fraction(1, 100))
        assert abs(least - counter) < Fraction(1, 10**9)
    assert least_counter(ZERO, Fraction(1, 2), Fraction(20), Fraction(1, 100)) == 0
    assert least_counter(Fraction(1), ZERO, Fraction(20), Fraction(1, 100)) == 0
    assert least_counter(Fraction(1), Fraction(1), Fraction(20), Fraction(1, 100)) == 20


def test_the_needed_rate_is_just_enough() -> None:
    rate = needed_rate(TOPIC)
    assert rate == 4
    assert least_counter(rate, Fraction(1, 2), Fraction(20), ZERO) == 4
    assert needed_rate(evolve(TOPIC, mesh_message_deliveries_cap=Fraction(7))) is None
    assert needed_rate(evolve(TOPIC, mesh_message_deliveries_weight=ZERO)) == 0


def test_the_number_of_starved_topics() -> None:
    # Kept without being first: 5 each; starved: 5 - 16 = -11. Of three topics none can be starved.
    copies = starving_attack(SMALL, SolverSession(), "copies")
    assert (copies.starved, copies.topics, copies.confirmed) == (0, 3, True)
    # First as often as counts, 5 + 2 * 5 = 15 right after a decay: 30 - 11 > 0, and 15 - 22 < 0.
    first = starving_attack(SMALL, SolverSession(), "first")
    assert (first.starved, first.confirmed) == (1, True)
    assert first.score > 0 and first.messages <= 10
    played = simulate_attack(SMALL, first)
    assert played.settled and 0 < played.least <= first.score


def test_starving_is_no_matter_of_the_cap() -> None:
    capped = evolve(SMALL, topic_score_cap=Fraction(1))
    assert starving_attack(capped, SolverSession(), "first").starved == 1
    assert simulate_attack(capped, starving_attack(capped, SolverSession(), "first")).least <= 1


@pytest.mark.parametrize(
    ("name", "starved", "topics"),
    [("eth2", 2, 5), ("eth2-subnets", 13, 14), ("filecoin", 2, 2), ("good-10", 0, 2), ("good-100", 0, 2)],
)
def test_published_parameters(name: str, starved: int, topics: int) -> None:
    network = NETWORKS[name]
    for means in ("copies", "first"):
        attack = starving_attack(network, SolverSession(), means)  # type: ignore[arg-type]
        assert (attack.starved, attack.topics, attack.confirmed) == (starved, topics, True)
        played = simulate_attack(network, attack)
        assert played.settled and 0 < played.least <= attack.score


def test_an_attack_that_does_not_pay_is_seen_when_played() -> None:
    attack = starving_attack(NETWORKS["eth2"], SolverSession(), "copies")
    everything = evolve(
        attack,
        parts=tuple(evolve(p, starved=p.topic.count, kept=0) for p in attack.parts),
    )
    assert simulate_attack(NETWORKS["eth2"], everything).least < 0


def test_the_advice_against_starving_is_tried() -> None:
    for name in ("eth2", "filecoin"):
        (advice,) = no_starving(NETWORKS[name], SolverSession())
        assert advice.restored and "mesh_message_deliveries_weight -" in advice.change


# -- penalties ----------------------------------------------------------------------------------------------


def test_how_long_a_penalty_lasts() -> None:
    found = {(p.offence, p.topic): p for p in penalties(SMALL)}
    one = found["one invalid message", "a"]
    # Halved until it is below a hundredth: seven times.
    assert (one.score, one.zero, one.graylist) == (-10, 7, 0)
    many = found["4 invalid messages at once", "a"]
    assert (many.score, many.zero, many.graylist) == (-160, 9, 1)
    assert found["pruned after delivering nothing", "a"].score == -16
    assert found["one broken promise or early GRAFT", ""].zero == 7
    assert not shed(SMALL, list(found.values()))


def test_what_never_ends_is_said_to() -> None:
    for_ever = evolve(SMALL, behaviour_penalty_decay=Fraction(1), retain_score_ms=ZERO)
    held = list(penalties(for_ever))
    assert held[-1].zero is None and shed(for_ever, held) == held
    (advice,) = longer_memory(for_ever)
    assert advice.restored and "decays of 0.99 instead of 1" not in advice.change
    of_topics = evolve(for_ever, topics=(evolve(TOPIC, invalid_message_deliveries_decay=Fraction(1)),))
    (advice,) = longer_memory(of_topics)
    assert advice.restored and "decays of 0.99 instead of 1" in advice.change
    slow = evolve(SMALL, behaviour_penalty_decay=1 - Fraction(1, 10**9))
    assert list(penalties(slow))[-1].zero == MAX_DECAYS


def test_decays_are_counted_as_by_hand() -> None:
    for numerator in (1, 30, 98):
        decay = Fraction(numerator, 100)
        counter, count = Fraction(9), 0
        while counter >= SMALL.decay_to_zero and -counter < -2:
            counter, count = counter * decay, count + 1
        assert decays_until(SMALL, Fraction(9), decay, lambda c: -c, Fraction(-2)) == count


def test_how_many_it_takes() -> None:
    assert invalid_until_graylisted(SMALL, TOPIC, ZERO) == 4  # 10 * 16 > 100
    assert invalid_until_graylisted(SMALL, TOPIC, Fraction(60)) == 5  # 10 * 16 is not more than 160
    assert neighbours_until(SMALL, ZERO, ZERO) == 4
    assert neighbours_until(SMALL, Fraction(-100), ZERO) == 9  # 4 * 25 is not more than 100


def test_quiet_topics() -> None:
    found = delivery_quota(SMALL, TOPIC)
    assert found is not None
    # A full counter of 20 is 5 after two decays; three decays from nothing give 7/8 of a message each.
    assert (found.rate, found.silence, found.cost) == (4, 2, -16)
    assert found.at_first == Fraction(4) / Fraction(7, 8)
    busy, idle = (evolve(SMALL, topics=(evolve(TOPIC, messages_per_interval=Fraction(n)),)) for n in (5, 4))
    assert (quiet_line(busy).verdict, quiet_line(idle).verdict) == ("holds", "fails")
    assert quiet_line(SMALL).verdict == "depends"


# -- the report ---------------------------------------------------------------------------------------------


def lines(network: NetworkParameters) -> dict[str, Guarantee]:
    return {line.id: line for line in guarantees(network, SolverSession(), lambda text: None)}


def test_a_network_in_which_everything_holds() -> None:
    """So that no line is one that cannot hold."""
    good = evolve(
        SMALL,
        topics=(evolve(TOPIC, time_in_mesh_weight=ZERO, first_message_deliveries_weight=ZERO),),
        ip_colocation_factor_weight=ZERO,
    )
    found = lines(good)
    verdicts = {name: line.verdict for name, line in found.items()}
    # Without anything that raises a score no topic hides; addresses that do not count are not punished.
    assert verdicts["no-shadowing"] == verdicts["no-starving"] == verdicts["kept"] == "holds"
    assert verdicts["forgiven"] == verdicts["graylist"] == verdicts["neighbours"] == "holds"
    assert verdicts["quiet"] == "depends"
    assert verdicts["punished"] == "fails", "P6 has no weight"
    assert all(line.assumptions for name, line in found.items() if name not in ("graylist",))


def test_filecoin_hides_nothing_in_a_state_that_its_file_reaches() -> None:
    """An invalid message never decays there, so that there is no half of one."""
    line = lines(NETWORKS["filecoin"])["no-shadowing"]
    assert line.verdict == "holds"
    assert [said.split(":")[0] for said in line.found[:2]] == [
        "if invalid messages decayed, which by this file they do not"
    ] * 2
    assert "MESSAGES at -25 hides under 25.0027" in line.found[1] and "0.5 invalid" in line.found[1]
    assert line.found[2] == "with an application score above zero also BLOCKS, MESSAGES"
    assert KEPT in line.assumptions


def test_where_whole_counters_change_the_verdict_both_are_told() -> None:
    filecoin = NETWORKS["filecoin"]
    decaying = tuple(
        evolve(topic, invalid_message_deliveries_decay=Fraction(9, 10)) for topic in filecoin.topics
    )
    line = lines(evolve(filecoin, topics=decaying))["no-shadowing"]
    assert line.verdict == "fails" and line.assumptions == (REACHED,)
    # One message counts 0.9 after a decay, and hides below 0.7435.
    assert any("MESSAGES at" in said and "invalid messages, 3 decays ago" in said for said in line.found)
    assert "MESSAGES: with whole counters, as before their first decay, it does not hide" in line.found


def test_the_lines_of_eth2() -> None:
    found = lines(NETWORKS["eth2"])
    verdicts = {name: line.verdict for name, line in found.items()}
    assert verdicts == {
        "no-starving": "fails",
        "no-shadowing": "fails",
        "punished": "fails",
        "good-is-good": "holds",
        "fair": "holds",
        "forgiven": "holds",
        "kept": "depends",
        "graylist": "holds",
        "quiet": "fails",
        "neighbours": "depends",
    }
    assert "the first 42.412 of any penalty is hidden" in found["punished"].found[-1]
    assert all(advice.restored for line in found.values() for advice in line.advice)
