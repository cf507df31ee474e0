"""A suite with a time limit plays first, explains while there is time, and loses nothing of what departs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from attrs import evolve, field, mutable

from quidnunc.impl.seam import AdapterError, Config
from quidnunc.model.edit import edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import NOT_EXPLAINED
from quidnunc.properties.cases.router import repeated
from quidnunc.properties.judge.play import ModelSubject
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.machine import FindingSearch
from quidnunc.properties.search.verdicts import (
    compare,
    exit_of,
    explained_too_late,
    verdict_of_root,
    verdicts_of,
)
from quidnunc.properties.search.worker import hello_of, opener_of
from quidnunc.properties.suite import explainers
from quidnunc.properties.suite import run as suite_run
from quidnunc.properties.suite.files import suite_of
from quidnunc.properties.suite.run import run_suite
from quidnunc.properties.suite.time_limit import TimeIsUpError, TimeLimit, demand_time
from quidnunc.reports.suite import suite_exit

NAME = "gossipsub-1.2"


@mutable
class Clock:
    """A clock that stands still until it is set."""

    at: float = 0.0

    def now(self) -> float:
        return self.at


@mutable
class ClockSetter:
    """Sets a clock after each case, by what was found so far."""

    clock: Clock
    time_of: Callable[[Campaign], float]
    seen: list[Campaign] = field(factory=list)

    def __call__(self, campaign: Campaign) -> None:
        self.seen[:] = [campaign]
        self.clock.at = self.time_of(campaign)


def built_with(*names: str) -> Callable[[Config], ModelSubject]:
    """A router that is the model with these edits."""
    spec = protocol_named(NAME)
    built = edited(spec, [edit_named(each, spec) for each in names])
    return lambda config: ModelSubject(built, config.parameters, config.seed)


def only(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Leave these cases of the suite."""
    cases = [(name, case) for name, case in suite_of(NAME) if name in names]
    monkeypatch.setattr(suite_run, "suite_of", lambda _: cases)


def exit_code(campaign: Campaign) -> int:
    verdicts = verdicts_of(campaign)
    return suite_exit(exit_of(verdicts, campaign, None, strict=False), campaign, verdicts).code


def unexplained(name: str, against: str) -> Campaign:
    """What a suite tells that has time to play, and none to explain."""
    return run_suite(name, against, opener_of(against), limit=TimeLimit(explain_s=0.0))


# -- the limits ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget_s", [0.5, 15.0, 60.0, 1200.0])
def test_a_budget_is_for_playing_then_for_explaining_then_for_filing(budget_s: float) -> None:
    limit = TimeLimit.of(100.0, budget_s)
    assert 100 < limit.explain_s < limit.play_s < 100 + budget_s < limit.file_s
    assert limit.file_s < 100 + 1.1 * budget_s + 5 - 2, "a report takes time, too"


def test_the_cases_of_a_search_are_replayed_as_long_as_its_budget_may_be_exceeded() -> None:
    """Ten replays of each of many cases had no end."""
    clock = Clock()
    limit = TimeLimit.of_search(100.0, 60.0, clock.now)
    assert 160 < limit.file_s < 100 + 1.1 * 60 + 5 - 1 and not limit.explaining_is_over()
    root = next(iter(run_suite("flood", "ours:echo-to-sender").roots.values()))

    def opened(config: Config) -> Any:
        clock.at += 20.0
        return opener_of("ours:echo-to-sender")(config)

    assert repeated(root.case, opened, 10, limit.filing_is_over) == (9, 9)
    assert repeated(root.case, opened, 10, limit.filing_is_over) is None


def test_without_a_budget_there_is_no_limit() -> None:
    assert not TimeLimit().is_set and TimeLimit.of(0.0, 1.0).is_set
    late = TimeLimit(now=lambda: 1e9)
    assert not (late.explaining_is_over() or late.playing_is_over() or late.filing_is_over())


def test_who_asks_goes_on_until_the_time_is_up() -> None:
    hunt = FindingSearch(NAME, opener_of("ours"), hello_of("ours", NAME))
    demand_time(hunt)
    hunt.out_of_time = lambda: True
    with pytest.raises(TimeIsUpError):
        demand_time(hunt)


def test_who_waits_for_a_process_goes_on_once_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    hunt, looked = FindingSearch(NAME, opener_of("ours"), hello_of("ours", NAME)), list[int]()
    monkeypatch.setattr(explainers, "LOOK_S", 0.001)
    hunt.out_of_time = lambda: (looked.append(1), len(looked) > 3)[1]
    with pytest.raises(TimeIsUpError):
        explainers._result(Future(), hunt)
    done: Future[str] = Future()
    done.set_result("found")
    assert explainers._result(done, hunt) == "found"


# -- what is told -------------------------------------------------------------------------------------------


def test_all_is_played_and_what_departs_has_a_row_that_says_that_nothing_was_tried() -> None:
    against = "ours:echo-to-sender"
    told, whole = unexplained("flood", against), run_suite("flood", against)
    assert told.runs == whole.runs and not told.not_played and told.applied == whole.applied
    assert whole.roots and not whole.not_explained
    assert told.not_explained and len(told.not_explained) == len({*told.not_explained})
    for root in told.roots.values():
        assert root.kind == "unexplained" and NOT_EXPLAINED in root.says and NOT_EXPLAINED in root.case.reason
        assert "No single edit" not in root.case.reason and root.case.blocks
    assert {v.claim.id for v in verdicts_of(whole) if v.verdict == "fails"} <= {
        v.claim.id for v in verdicts_of(told) if v.verdict in ("fails", "undecided")
    }
    assert exit_code(told) == exit_code(whole) == 1


def test_what_was_not_explained_fails_no_claim_and_the_suite_fails() -> None:
    """What departs may belong to another claim than the one whose sentence judged it."""
    told = unexplained("flood", "ours:echo-to-sender")
    assert {*map(verdict_of_root, told.roots.values())} == {"undecided"}
    verdicts = verdicts_of(told)
    assert not [v.claim.id for v in verdicts if v.verdict == "fails"]
    end = exit_of(verdicts, told, None, strict=False)
    assert end.code == 1 and "the time was up" in end.why


def test_what_was_not_explained_is_not_unexpected() -> None:
    """It may be of a root cause that is expected."""
    told = unexplained("flood", "ours:echo-to-sender")
    assert told.roots and all(map(explained_too_late, told.roots.values()))
    compared = compare([*told.roots.values()], (), {})
    assert compared.agrees
    end = suite_exit(exit_of(verdicts_of(told), told, compared, strict=False), told)
    assert end.code == 3 and "not explained: the time was up" in end.why


def test_what_was_explained_in_time_has_its_rows_and_all_that_they_account_for() -> None:
    """The clock goes on at the first row."""
    faults, clock = ("cut-at-d-high", "relay-needs-a-subscriber"), Clock()
    goes_on = ClockSetter(clock, lambda campaign: float(bool(campaign.roots)))
    limit = TimeLimit(explain_s=1.0, now=clock.now)
    told = run_suite(NAME, "ours", built_with(*faults), limit=limit, progress=goes_on)
    (known,) = (root.quirk for root in told.roots.values() if root.kind != "unexplained")
    assert known in faults and told.not_explained
    alone = run_suite(NAME, "ours", built_with(known), limit=TimeLimit(explain_s=0.0))
    assert alone.not_explained and {*alone.not_explained}.isdisjoint(told.not_explained)


def test_what_may_be_a_reading_is_undecided() -> None:
    against = "ours:unsubscribed-stays-in-mesh"
    told = unexplained(NAME, against)
    assert told.not_explained and not told.roots
    assert {*map(verdict_of_root, told.pending.values())} == {"undecided"}
    assert all(NOT_EXPLAINED in root.case.reason for root in told.pending.values())
    assert exit_code(told) == 3


def test_a_claim_that_may_be_behind_what_was_not_explained_does_not_hold() -> None:
    told = unexplained("flood", "ours:echo-to-sender")
    known = {v.claim.id: v for v in verdicts_of(evolve(told, roots={}, pending={}))}
    assert told.at_stake
    at_stake = [v for v in known.values() if told.at_stake & {*v.claim.clauses}]
    assert at_stake and {v.verdict for v in at_stake} == {"undecided"}
    assert all("not explained: the time was up" in v.reason for v in at_stake)


def test_a_failure_behind_a_deviation_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deviation is explained, and then the time is up."""
    mild, fault = "heartbeat-prunes-bare", "forgets-how-many-deliveries-pruned-member-still-owed"
    only(monkeypatch, "note_pruned")
    clock = Clock()
    goes_on = ClockSetter(clock, lambda campaign: float(bool(campaign.roots)))
    limit = TimeLimit(explain_s=1.0, now=clock.now)
    told = run_suite(NAME, "ours", built_with(mild, fault), limit=limit, progress=goes_on)
    assert [root.quirk for root in told.roots.values()] == [mild]
    (behind,) = told.pending.values()
    assert behind.case.as_built == (mild,) and NOT_EXPLAINED in behind.case.reason
    assert told.not_explained == ["note_pruned"] and exit_code(told) == 3


def test_that_nobody_looked_behind_a_deviation_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "note_pruned")
    clock = Clock()
    goes_on = ClockSetter(clock, lambda campaign: float(bool(campaign.roots)))
    limit = TimeLimit(explain_s=1.0, file_s=1.0, now=clock.now)
    told = run_suite(NAME, "ours", built_with("heartbeat-prunes-bare"), limit=limit, progress=goes_on)
    assert told.left_out == ["what comes behind the first departure in 1 of the cases"]


def test_cases_for_which_there_was_no_time_are_named_and_nothing_holds() -> None:
    clock = Clock()
    goes_on = ClockSetter(clock, lambda campaign: float(campaign.runs))
    limit = TimeLimit(explain_s=9.0, play_s=12.0, file_s=99.0, now=clock.now)
    told = run_suite("flood", "ours", opener_of("ours"), limit=limit, progress=goes_on)
    assert told.runs == 12 and told.not_played == [name for name, _ in suite_of("flood")[12:]]
    verdicts = verdicts_of(told)
    assert {v.verdict for v in verdicts} <= {"undecided", "unsupported"}
    assert any(
        f"{len(told.not_played)} of {len(suite_of('flood'))} cases were not played" in v.reason
        for v in verdicts
    )
    assert exit_code(told) == 3


def test_what_departed_is_told_where_the_limit_ends_the_playing_or_an_interrupt_does() -> None:
    clock = Clock()
    goes_on = ClockSetter(clock, lambda campaign: float(campaign.runs))
    limit = TimeLimit(explain_s=9.0, play_s=12.0, file_s=99.0, now=clock.now)
    told = run_suite("flood", "ours:echo-to-sender", limit=limit, progress=goes_on)
    assert told.not_played and told.rows and exit_code(told) == 1

    def stop(campaign: Campaign) -> float:
        if campaign.runs == 12:
            raise KeyboardInterrupt
        return 0.0

    stops = ClockSetter(clock, stop)
    with pytest.raises(KeyboardInterrupt):
        run_suite("flood", "ours:echo-to-sender", limit=TimeLimit.of(0.0, 60.0, clock.now), progress=stops)
    assert stops.seen[0].pending and stops.seen[0].not_explained


def test_of_what_an_interrupt_or_a_broken_driver_left_no_claim_passes() -> None:
    """A suite that was interrupted after half of its cases said `passes` of more claims than a whole one."""
    seen = list[Campaign]()

    def stop(campaign: Campaign) -> None:
        seen[:] = [campaign]
        if campaign.runs == 12:
            raise KeyboardInterrupt

    def breaks(config: Config) -> ModelSubject:
        if seen and seen[0].runs == 12:
            raise AdapterError("it broke")
        return ModelSubject(protocol_named("flood"), config.parameters, config.seed)

    def note(campaign: Campaign) -> None:
        seen[:] = [campaign]

    with pytest.raises(KeyboardInterrupt):
        run_suite("flood", "ours", opener_of("ours"), progress=stop)
    (stopped,) = seen
    seen.clear()
    broken = run_suite("flood", "ours", breaks, progress=note)
    for told, why in ((stopped, "the suite was interrupted"), (broken, "the driver broke")):
        assert told.runs == 12 and told.not_played == [name for name, _ in suite_of("flood")[12:]]
        verdicts = verdicts_of(told)
        assert {v.verdict for v in verdicts} <= {"undecided", "unsupported"}
        assert any(v.reason.endswith(f"cases were not played: {why}") for v in verdicts)


def test_a_claim_behind_what_an_interrupt_left_unexplained_does_not_pass() -> None:
    def stop(campaign: Campaign) -> None:
        seen[:] = [campaign]
        if not campaign.not_played:
            raise KeyboardInterrupt

    seen = list[Campaign]()
    with pytest.raises(KeyboardInterrupt):
        run_suite("flood", "ours:echo-to-sender", progress=stop)
    (told,) = seen
    assert told.interrupted and told.not_explained and not told.not_played
    known = {v.claim.id: v for v in verdicts_of(evolve(told, roots={}, pending={}))}
    at_stake = [v for v in known.values() if told.at_stake & {*v.claim.clauses}]
    assert at_stake and {v.verdict for v in at_stake} == {"undecided"}
    assert all("not explained: the suite was interrupted" in v.reason for v in at_stake)


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    far = TimeLimit.of(0.0, 60.0, lambda: 0.0)
    told, whole = (run_suite("flood", "ours:echo-to-sender", limit=each) for each in (far, None))
    assert told.roots == whole.roots and not told.not_explained and told.at_stake == set()


def test_a_wide_reading_is_told_of_what_no_fresh_run_explains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another fault may end the runs in which it is tried. It allows what all cases of the suite show."""
    reading = "idontwant-evicts-oldest"
    only(monkeypatch, "idontwant-caps")
    monkeypatch.setattr(FindingSearch, "explained", lambda hunt, finding, parameters, fresh: finding)
    monkeypatch.setattr(FindingSearch, "explained_as_known", lambda hunt, finding, parameters, fresh: None)
    (root,) = run_suite(NAME, "ours", built_with(reading)).roots.values()
    assert (root.quirk, root.kind) == (reading, "reading")
    others = run_suite(NAME, "ours", built_with("idontwant-not-honoured")).roots.values()
    assert {root.kind for root in others} == {"unexplained"}
