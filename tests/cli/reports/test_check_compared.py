"""What the comparison with expectations says: that nothing is new only where that is known."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest
from attrs import evolve

from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.verdicts import Expectation, ExpectationComparison
from quidnunc.properties.suite.run import run_suite
from quidnunc.reports.check import print_compared

AGAINST = "ours:echo-to-sender"
MET = ExpectationComparison(
    (Expectation("floodsub/relay.not-back", "sends-message-back-to-peer-it-came-from", "fails", "known"),),
    (),
    (),
    (),
)


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return run_suite("flood", AGAINST)


def printed(campaign: Campaign, capsys: pytest.CaptureFixture[str]) -> str:
    print_compared(MET, [campaign], argparse.Namespace(against=AGAINST))
    return capsys.readouterr().out.strip().splitlines()[0]


def test_as_expected_and_nothing_new(campaign: Campaign, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(campaign, capsys) == "expected and found: 1, and nothing new"


@pytest.mark.parametrize(
    "unknown",
    [
        lambda c: evolve(c, pending=dict(c.roots)),
        lambda c: evolve(c, unrepeated=1),
        lambda c: evolve(c, broken=["a batch"]),
    ],
    ids=["too late", "not repeated", "broken"],
)
def test_what_nobody_explained_may_be_new(
    campaign: Campaign, unknown: Callable[[Campaign], Campaign], capsys: pytest.CaptureFixture[str]
) -> None:
    """Mutant: it is said of what was explained alone."""
    assert campaign.roots
    assert printed(unknown(campaign), capsys) == "expected and found: 1"
