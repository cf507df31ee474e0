"""What a router was not seen to do is not counted: a crash, or a departure, ends what its run says."""

from __future__ import annotations

import pytest
from attrs import asdict

from quidnunc.properties.judge.oracle import Departure, EventJudgement
from quidnunc.properties.judge.play import clauses_left_open, clauses_tested
from quidnunc.properties.search.batch import BatchRequest
from quidnunc.properties.search.campaign import Campaign, merge
from quidnunc.properties.search.verdicts import verdicts_of
from quidnunc.properties.search.worker import run

CRASHING = "python:tests.helpers.failing_router:open_crashing"


def campaign_of(against: str, runs: int) -> Campaign:
    campaign = Campaign("floodsub", against, 0)
    merge(campaign, run(asdict(BatchRequest(protocol="floodsub", against=against, seed=3, runs=runs))))
    return campaign


def test_nothing_is_said_of_deliveries_by_a_router_that_crashes_at_every_message() -> None:
    campaign = campaign_of(CRASHING, 12)
    assert ("pubsub/rpc.any-combination", "crash:RuntimeError: enough") in campaign.roots
    verdicts = {v.claim.id: v for v in verdicts_of(campaign)}
    delivered = verdicts["deliver.once"]
    assert (delivered.verdict, delivered.applied) == ("undecided", 0)
    assert delivered.reason.startswith("hidden by ") and "crash" in delivered.reason
    relayed = verdicts["relay.once"]
    assert (relayed.verdict, relayed.applied) in {("inconclusive", 0), ("undecided", 0)}
    # What needs no message was seen.
    assert verdicts["hello.complete"].verdict == "not-refuted"


@pytest.mark.parametrize(
    ("departures", "tested", "opened"),
    [
        ((), {"a/rule.one", "a/met.two"}, set()),
        # One thing was missing: what was met was met, and of what else applied nothing is known.
        ((Departure("missing", "a/late.three"),), {"a/met.two"}, {"a/late.three"}),
        ((Departure("missing", "a/met.two"),), set(), {"a/met.two"}),
        ((Departure("crash", "a/crash.four"),), set(), {"a/crash.four", "a/rule.one", "a/met.two"}),
    ],
)
def test_a_departing_moment_tests_what_was_met_in_it(
    departures: tuple[Departure, ...], tested: set[str], opened: set[str]
) -> None:
    judged = EventJudgement(departures, ("a/rule.one",), ("a/met.two",), ())
    assert clauses_tested(judged) - opened == tested
    assert clauses_left_open(judged) == opened
    assert not clauses_tested(judged) & clauses_left_open(judged)
