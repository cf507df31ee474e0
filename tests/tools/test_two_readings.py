"""Pairs of readings: the tool finds what it is there to find, and what it found stays mended."""

from __future__ import annotations

import pytest

from quidnunc.impl.ours import readings
from quidnunc.model.edits.ambiguities import QUESTIONS
from quidnunc.properties.suite import run as suite_run
from quidnunc.properties.suite.files import suite_of
from tools import two_readings
from tools.two_readings import main, pairs, told_of


def test_the_two_of_a_pair_are_of_different_places() -> None:
    asked = pairs()
    names = [name for question in QUESTIONS for name in question.readings]
    assert {name for pair in asked for name in pair} == {*names} <= readings.READINGS_OF_OURS.keys()
    assert ("unannounced-graft-ignored", "unannounced-graft-pruned") not in asked


@pytest.mark.parametrize("runs", [0, 8])
def test_a_router_that_breaks_a_rule_is_accused(runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from quidnunc.impl.mutants.pubsub import MUTANTS

    monkeypatch.setattr(two_readings, "READINGS_OF_OURS", {**readings.READINGS_OF_OURS, **MUTANTS})
    cases = [("the_forwarder", dict(suite_of("gossipsub-1.2"))["the_forwarder"])]
    monkeypatch.setattr(suite_run, "suite_of", lambda _: cases)
    told = told_of(["echo", "control-before-payload"], runs)
    assert any("floodsub/relay.not-back" in each for each in told.accused), told


def test_the_exit_status_says_whether_any_is_accused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = {1: (), 2: ("fails CLAUSE CAUSE",)}
    asked = list[object]()

    def answer(pair: tuple[str, str], runs: int, seed: int) -> two_readings.ToldOfPair:
        asked.append(pair)
        return two_readings.ToldOfPair(pair, ("x",), told[len(asked)])

    monkeypatch.setattr(two_readings, "told_of", answer)
    assert main(["--count", "1"]) == 0
    assert main(["--count", "1"]) == 1
    assert "1 pairs of readings: 1 accused" in capsys.readouterr().out


def test_what_two_readings_allow_together_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GRAFT that is ignored leaves room for a new subscriber, which is grafted at once. Neither reading
    alone makes a difference in that case."""
    both = ("unannounced-graft-ignored", "graft-on-subscribe")
    every = dict(suite_of("gossipsub-1.2"))
    cases = [(name, every[name]) for name in ("accept", "from_explicit_peer", "fill_outbound-1")]
    monkeypatch.setattr(suite_run, "suite_of", lambda _: cases)
    told = told_of(both)
    assert not told.accused and {*told.observed} == {*both}
