"""The suite tells what a router adds to the protocol from what it does wrong, as a search does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from attrs import evolve

from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutants.pubsub import MUTANTS
from quidnunc.impl.ours.pubsub import PubsubDriver
from quidnunc.impl.ours.readings import READINGS_OF_OURS
from quidnunc.impl.seam import AdapterError, Config, Profile, parameters_of
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.parameters import Parameters
from quidnunc.properties.cases.case import events_of
from quidnunc.properties.cases.fitting import fitted_parameters
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.judge.play import WireSubject, play
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.machine import FindingSearch
from quidnunc.properties.search.verdicts import verdict_of_root
from quidnunc.properties.search.worker import hello_from
from quidnunc.properties.suite import run as suite_run
from quidnunc.properties.suite.explanations import PassedCase, SuiteExplanations
from quidnunc.properties.suite.files import suite_of
from quidnunc.properties.suite.run import run_suite

PROTOCOL = "gossipsub-1.2"
ADDED = {"echo": "copies of messages to who sent them", "early-grafts": "a graft of each new subscriber"}
EDITS = {**MUTANTS, **READINGS_OF_OURS}
OWN_EDITS = {
    "echo": ("echo",),
    "early-grafts": ("graft-on-subscribe", "echo"),
    "grafts-of-subscribers": ("graft-on-subscribe",),
    "nothing": (),
}

Opener = Callable[[Config], WireSubject]
Told = Callable[..., tuple[Campaign, list[tuple[str, str]]]]


def router(*wrong: str, adds: Sequence[str] = ("echo",), refuses: str = "") -> Opener:
    """Our router with these faults, and with edits that it calls additions."""

    def opened(config: Config) -> WireSubject:
        if refuses in config.without and refuses:
            raise AdapterError("it cannot be switched off")
        parameters = parameters_of(config, Parameters, "ours")
        built = GossipsubRouter(parameters, protocol=PROTOCOL, seed=config.seed)
        on = [name for name in adds if config.extras and name not in config.without]
        for name in dict.fromkeys([*wrong, *(edit for each in on for edit in OWN_EDITS[each])]):
            EDITS[name].apply(built)
        driver = PubsubDriver(built, name="ours")
        driver.hello = evolve(driver.hello, additions={name: ADDED.get(name, name) for name in adds})
        return WireSubject(driver, config)

    return opened


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """What a few cases of the suite tell of a router: verdicts and causes."""

    def run(
        opener: Opener, *names: str, profile: Profile = "shipped", shortest: bool = False
    ) -> tuple[Campaign, list[tuple[str, str]]]:
        every = dict(suite_of(PROTOCOL))
        monkeypatch.setattr(suite_run, "suite_of", lambda _: [(name, every[name]) for name in names])
        campaign = run_suite(
            PROTOCOL,
            "ours",
            opener,
            profile=profile,
            shortest=shortest,
            hello=hello_from(opener, PROTOCOL, profile),
        )
        return campaign, sorted((verdict_of_root(row), row.quirk) for row in campaign.roots.values())

    return run


def test_a_departure_is_put_down_to_the_addition_that_it_goes_with(told: Told) -> None:
    opener = router(adds=("nothing", "echo"))
    campaign, rows = told(opener, "the_forwarder", "twice", "accept")
    assert rows == [("fails", "adds:echo")] and campaign.without == ("echo",)
    (row,) = campaign.roots.values()
    assert row.holds_on_ours is True
    assert row.says == "Adds copies of messages to who sent them."
    assert "Adds copies" in row.case.reason and row.case.without == ()
    # Of our own router a case names no profile.
    case = evolve(row.case, profile="shipped")
    assert replay_router(case, opener).outcome == "same"
    assert replay_router(evolve(case, without=("echo",)), opener).outcome == "fixed"
    assert told(opener, "the_forwarder", "twice", profile="spec")[1] == []


def test_the_shortest_case_of_an_addition_still_goes_with_it(told: Told) -> None:
    opener = router(adds=("echo",))
    (long,) = told(opener, "served-anew")[0].roots.values()
    (short,) = told(opener, "served-anew", shortest=True)[0].roots.values()
    assert long.quirk == short.quirk == "adds:echo"
    assert len(events_of(short.case)) < len(events_of(long.case))
    case = evolve(short.case, profile="shipped")
    assert replay_router(case, opener).outcome == "same"
    assert replay_router(evolve(case, without=("echo",)), opener).outcome == "fixed"


def test_what_is_wrong_besides_has_a_row_of_its_own(told: Told) -> None:
    wrong = router("prune-ignored", adds=("echo",))
    campaign, rows = told(wrong, "the_forwarder", "read_prunes", "twice", "quit_mesh")
    assert ("fails", "adds:echo") in rows
    others = [row for row in campaign.roots.values() if row.quirk != "adds:echo"]
    assert others and all(row.case.without == ("echo",) for row in others)


def test_the_shortest_case_is_as_shipped_where_that_makes_no_difference(told: Told) -> None:
    """Mutant: all that was off when it was found stays off."""
    opener = router("leave-long-backoff", adds=("echo",))
    rows = told(opener, "the_forwarder", "prune_members", shortest=True)[0].roots.values()
    (row,) = (row for row in rows if row.quirk != "adds:echo")
    assert row.case.without == ()
    assert replay_router(evolve(row.case, profile="shipped"), opener).outcome == "same"


def test_what_is_the_same_without_any_addition_is_put_down_to_none(told: Told) -> None:
    campaign, rows = told(router("echo", adds=("nothing",)), "the_forwarder")
    assert campaign.without == () and not [cause for _, cause in rows if cause.startswith("adds:")] and rows


def test_what_the_texts_leave_open_is_no_less_open_to_an_addition(told: Told) -> None:
    """It fails in one case, and in most it does what one reading allows."""
    cases = ("accept", "fill_to_d", "members", "backing_off", "the_forwarder")
    campaign, rows = told(router(adds=("early-grafts",)), *cases)
    assert campaign.without == ("early-grafts",)
    assert rows == [("fails", "adds:early-grafts"), ("observed", "graft-on-subscribe")]


def test_a_fault_that_an_addition_shows_sooner_is_not_put_down_to_the_addition(told: Told) -> None:
    """It grafts floodsub peers wherever it grafts, those that have just subscribed among others."""
    opener = router("floodsub-in-mesh", adds=("grafts-of-subscribers",))
    cases = ("floodsub_below_publish", "accept", "members", "the_author-1", "floodsub-beside-mesh")
    campaign, rows = told(opener, *cases)
    assert campaign.without == ("grafts-of-subscribers",)
    assert ("observed", "graft-on-subscribe") in rows
    assert [cause for verdict, cause in rows if verdict == "fails"] == ["mesh-speakers-sees-all-newest"]


def test_a_driver_that_refuses_to_switch_something_off_shows_nothing_of_it(told: Told) -> None:
    campaign, rows = told(router(adds=("echo",), refuses="echo"), "the_forwarder")
    assert campaign.without == () and rows and not [cause for _, cause in rows if cause.startswith("adds:")]


def test_what_is_in_order_once_an_addition_is_off_may_refute_explanations(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case that departs as shipped for an addition alone says what the router does without it."""
    known: list[set[str]] = []

    class Listening(SuiteExplanations):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            known.append({each.name for each in self.passed})

    monkeypatch.setattr("quidnunc.properties.suite.explanations.SuiteExplanations", Listening)
    told(router(adds=("echo",)), "the_forwarder", "accept")
    assert "the_forwarder" not in known[0] and "the_forwarder" in known[-1]


def test_what_an_addition_mends_refutes_no_explanation_of_the_rest() -> None:
    """As shipped it takes no inbound peer at D_high; without its addition it does."""

    def opened(config: Config) -> WireSubject:
        mended = config.extras and "mend" not in config.without
        return router(*(() if mended else ("full-takes-inbound",)), adds=())(config)

    case = dict(suite_of(PROTOCOL))["inbound_while_full"]
    hunt = FindingSearch(PROTOCOL, opened, hello_from(opened, PROTOCOL, "shipped"), profile="shipped")
    suite = SuiteExplanations(hunt, lambda question, ahead: pytest.fail("nothing is asked"))
    parameters, _ = fitted_parameters(case, hunt.hello)
    run = play(events_of(case), opened(hunt.config(parameters, 0)), hunt.spec, parameters)
    suite.passed = (PassedCase("inbound_while_full", case, parameters, tuple(run.moments)),)
    takes_it = edit_named("accepts-graft-from-inbound-peer-at-d-high", hunt.spec)
    assert suite._is_refuted(takes_it)
    hunt.without = ("mend",)
    assert not suite._is_refuted(takes_it)
