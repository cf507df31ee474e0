"""The fixed suite: short traces in which a missing or a wrong rule changes what is allowed.

A case is one file, whatever number of protocols it is of (`quidnunc.properties.suite.files`). The suite is
found by `tools.rule_search` and is the same on every machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import evolve, field, mutable

from quidnunc.impl.seam import AdapterError, Config, Hello, Profile
from quidnunc.model.events import Event
from quidnunc.model.machine import protocol_named
from quidnunc.model.rules import Protocol
from quidnunc.properties.cases.case import Case, events_of, profile_text
from quidnunc.properties.cases.fitting import fitted_parameters
from quidnunc.properties.explain.root_cause import last_departures
from quidnunc.properties.judge.play import ModelSubject, play, rejudge
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.rows import fewest_rows, with_true_excuses
from quidnunc.properties.search.unsent import add_sent
from quidnunc.properties.suite.files import suite_of
from quidnunc.properties.suite.known import known_causes
from quidnunc.properties.suite.time_limit import TimeIsUpError, TimeLimit, demand_time

if TYPE_CHECKING:
    from quidnunc.properties.suite.explainers import Explainers, SortedOut, ThisProcess
    from quidnunc.properties.suite.explanations import (
        DepartingCase,
        PassedCase,
        SuiteExplanations,
        SuiteFinding,
    )
    from quidnunc.properties.suite.rows import SuiteRows

    Explained: TypeAlias = Iterator[tuple[SuiteFinding | None, DepartingCase]]
    Unexplained: TypeAlias = tuple[DepartingCase, SuiteFinding, int]
    """A case, what is told of it so far, and how many explanations were confirmed when it was asked."""

SUITE_VERSION = 1


def departs(events: Sequence[Event], parameters: Any, subject: Protocol, oracle: Protocol, die: int) -> bool:
    """Whether `subject`, played with this die, does what `oracle` does not allow.

    What `subject` itself would not have allowed (the oracle's search of splits is bounded) does not count.
    """
    run = play(events, ModelSubject(subject, parameters, die), oracle, parameters)
    if not last_departures(run):
        return False
    agreed, found = rejudge(run.moments, subject, parameters)
    return agreed == len(run.moments) and not found


def run_suite(
    name: str,
    against: str,
    opener: Callable[[Any], Any] | None = None,
    *,
    profile: Profile = "shipped",
    hello: Hello | None = None,
    shortest: bool = False,
    known: Sequence[str] | None = None,
    limit: TimeLimit | None = None,
    progress: Callable[[Campaign], None] = lambda campaign: None,
) -> Campaign:
    """Every case of the suite against a router; what departs is explained as in a search.

    Cases that need what the driver lacks are left out and named. A driver that breaks ends it: `broken` of
    the campaign says how. `hello` is that of `opener`, if not the one of `against`. With `shortest` the case
    of each row is made as short as it gets for this router. Edits whose names are `known` are tried first;
    where none are given, what the kit knows of just this release. What a `limit`, an interrupt or a broken
    driver leaves is named, and what departs has a row. `progress` is told after each case.
    """
    # What searches loads Hypothesis.
    from quidnunc.properties.search.machine import FindingSearch
    from quidnunc.properties.search.worker import hello_of, opener_of
    from quidnunc.properties.suite.rows import SuiteRows

    started = time.monotonic()
    named = against if opener is None else ""
    opener = opener or opener_of(against)
    hello = hello or hello_of(against, name, profile=profile)
    campaign = _campaign(name, against, hello, profile)
    campaign.known = known_causes(named, hello) if known is None else tuple(known)
    hunt = FindingSearch(name, opener, hello, profile=profile, known=campaign.known)
    rows = SuiteRows(campaign, hunt)

    def tell() -> None:
        campaign.seconds = time.monotonic() - started
        campaign.open_cases = len(rows.open_cases)
        progress(campaign)

    try:
        _play_and_file(rows, hello, named, limit or TimeLimit(), tell)
        if shortest:
            campaign.roots = fewest_rows(campaign.roots)
            for _ in rows.shorten():
                tell()
    except AdapterError as error:
        campaign.broken.append(str(error))
    except KeyboardInterrupt:
        campaign.interrupted = True
        raise
    finally:
        _file_the_rest(rows)
        campaign.seconds = time.monotonic() - started
    return campaign


def _campaign(name: str, against: str, hello: Hello, profile: Profile) -> Campaign:
    campaign = Campaign(name, against, 0, hello.version, hello.capabilities, hello.fixed)
    campaign.profile, campaign.switched = profile, hello.switched
    campaign.has_additions = bool(hello.additions)
    return campaign


def _file_the_rest(rows: SuiteRows) -> None:
    """File what is still open where the suite was interrupted, or the router broke; then the fewest rows."""
    campaign, hunt = rows.campaign, rows.hunt
    campaign.without, campaign.unfiled = hunt.without, hunt.unfiled
    for each in list(rows.open_cases.values()):
        rows.leave_unexplained(each)
    campaign.roots = with_true_excuses(fewest_rows(campaign.roots))


def _play_and_file(
    rows: SuiteRows, hello: Hello, named: str, limit: TimeLimit, tell: Callable[[], None]
) -> None:
    """Play all cases, and file what is behind those that depart, as far as there is time."""
    from quidnunc.properties.suite.unfinished import file_unexplained

    hunt, passed = rows.hunt, list["PassedCase"]()
    hunt.out_of_time = limit.explaining_is_over
    cases: Iterable[DepartingCase] = _departing(rows, hello, passed, limit, tell)
    if limit.is_set:
        # Processes that explain would take from the time in which cases are played.
        cases = list(cases)
    try:
        _explain_and_file(rows, named, cases, passed, tell)
    except TimeIsUpError:
        file_unexplained(rows, limit)
    hunt.out_of_time = limit.filing_is_over
    rows.drop_false_ones()
    rows.note_readings()
    with suppress(TimeIsUpError):
        for departed, each in rows.explanations.given_up() if rows.explanations is not None else ():
            rows.note_alike(departed, each)
    hunt.out_of_time = limit.explaining_is_over


def _explain_and_file(
    rows: SuiteRows,
    named: str,
    cases: Iterable[DepartingCase],
    passed: Sequence[PassedCase],
    tell: Callable[[], None],
) -> None:
    """File what is behind the cases. Raises TimeIsUpError where the time is up for more."""
    from quidnunc.properties.suite.additions import ShownOfAdditions
    from quidnunc.properties.suite.explainers import explainers
    from quidnunc.properties.suite.explanations import SuiteExplanations

    hunt = rows.hunt
    with ExitStack() as stack:
        explain: ThisProcess | Explainers | None = None
        sorting: list[Callable[[], SortedOut]] = []
        for each in cases:
            demand_time(hunt)
            # Processes that explain start while the other cases are played.
            explain = explain or stack.enter_context(explainers(hunt, named))
            if hunt.hello.additions:
                sorting.append(explain.sort_out(each.question(each.run)))
        if explain is not None:
            departing, by_additions = list(rows.open_cases.values()), ShownOfAdditions(hunt)

            def as_shipped(cases: Sequence[DepartingCase]) -> Explained:
                explanations = SuiteExplanations(hunt, explain, cases, passed)
                return _explained(cases, explanations, ToldCases(explanations))

            sorted_out = [found() for found in sorting]
            for shown, each in by_additions.of(departing, sorted_out, as_shipped):
                rows.add(shown, each)
                tell()
            left = by_additions.left
            # Of some an addition was told, and they depart without it as well.
            rows.open_cases.update((each.name, each) for each in left)
            told = SuiteExplanations(hunt, explain, left, [*passed, *by_additions.passed])
            rows.explanations, told_of = told, ToldCases(told)
            first = _explained(left, told, told_of)
            for found, each in chain(first, _behind(left, told), told_of.told_anew()):
                rows.look_into(each)
                if found is not None:
                    rows.add(found, each)
                tell()


def _departing(
    rows: SuiteRows,
    hello: Hello,
    passed: list[PassedCase],
    limit: TimeLimit,
    tell: Callable[[], None],
) -> Iterator[DepartingCase]:
    """Play every case and count it; those that depart, which `rows` has from then on. The others are put into
    `passed`."""
    from quidnunc.properties.suite.explanations import DepartingCase, PassedCase

    campaign, name, profile = rows.campaign, rows.campaign.protocol, rows.campaign.profile
    for case_name, case, parameters in _fitting(campaign, hello):
        if limit.playing_is_over():
            return
        subject = rows.hunt.opener(config_of(name, parameters, case.seed, profile))
        run = play(events_of(case), subject, protocol_named(name), parameters)
        campaign.not_played.remove(case_name)
        campaign.runs += 1
        campaign.steps += run.steps
        campaign.applied.update(run.applied)
        add_sent(campaign.sent, run.sent)
        if last_departures(run):
            told = evolve(case, profile=profile_text(campaign.against, profile))
            rows.open_cases[case_name] = DepartingCase(case_name, told, parameters, run)
            yield rows.open_cases[case_name]
        elif not run.blurred:
            passed.append(PassedCase(case_name, case, parameters, tuple(run.moments)))
        tell()


def _fitting(campaign: Campaign, hello: Hello) -> list[tuple[str, Case, Any]]:
    """The cases that fit the router, which are `not_played` so far; the others are left out."""
    name, found = campaign.protocol, list[tuple[str, Case, Any]]()
    for case_name, case in suite_of(name):
        parameters, lacking = fitted_parameters(case, hello)
        if lacking:
            needs = f"which needs: {', '.join(lacking)}"
            campaign.left_out.append(f"the suite's case {name}/{case_name}, {needs}")
        else:
            found.append((case_name, case, parameters))
    campaign.not_played = [case_name for case_name, _, _ in found]
    return found


def _explained(
    departing: Iterable[DepartingCase], explain: SuiteExplanations, told_of: ToldCases
) -> Explained:
    """The finding of each case, or none where others account for it.

    What departs in one way explains itself best; what departs in several is then known in part. What nothing
    explains is tried again where more is known at the end.
    """
    cases = sorted(departing, key=lambda each: (len(last_departures(each.run)), len(each.run.moments)))
    left: list[Unexplained] = []
    for at, each in enumerate(cases, 1):
        told = explain.finding(each, cases[at:])
        # What another explanation shows to be wrong is asked again, in its turn.
        cases += told_of.without_explanation()
        if told is None or told.is_explained:
            told_of.note(told, each)
            yield told, each
        else:
            # What waits was asked with those alone that take part in it; it is asked again with all.
            left.append((each, told, 0 if told.waits else len(explain.confirmed)))
    yield from _asked_again(left, explain, told_of)


def _asked_again(left: list[Unexplained], explain: SuiteExplanations, told_of: ToldCases) -> Explained:
    """The finding of each case that has no explanation yet, or one that waits."""
    from quidnunc.properties.search.machine import signature_of

    # In the first round a case of each way to depart is asked. To the others what is new has to make a
    # difference, and not to fresh runs alone.
    ways = set[tuple[str, str, str]]()
    while left:
        # All are asked with the same in force, so that an answer to one does not call back the others.
        known = tuple(explain.confirmed)
        # What waits is likely to have one now, and with it the others.
        waiting = [unexplained for unexplained in left if unexplained[1].waits]
        others = [unexplained for unexplained in left if not unexplained[1].waits]
        asked, left = (waiting, others) if waiting else (left, [])
        for at, (each, told, how_many) in enumerate(asked, 1):
            if not told.stands(explain.withdrawn):
                told_of.note(told, each)
                continue
            way = signature_of(told.finding.departure)
            if told.waits and (found := explain.accounted(each)) is not None:
                told_of.note(found, each)
                yield found, each
                continue
            may_help = how_many < len(known) and (
                way not in ways or explain.may_differ(each, known, how_many)
            )
            ways.add(way)
            if not may_help:
                yield explain.in_the_end(told), each
                continue
            after = [
                other
                for other, its, seen in asked[at:]
                if seen < len(known) and signature_of(its.finding.departure) not in ways
            ]
            again = explain.again(each, known, after)
            if again is None or again.is_explained:
                told_of.note(again, each)
                yield again, each
            else:
                # With more in force it may have no explanation: then the one that it has stays.
                left.append((each, told if told.waits else again, len(known)))
        yield from told_of.told_anew()


@mutable
class ToldCases:
    """What was told of cases, as long as its explanation stands."""

    explain: SuiteExplanations
    _told: list[tuple[SuiteFinding, DepartingCase]] = field(factory=list)

    def note(self, told: SuiteFinding | None, each: DepartingCase) -> None:
        if told is not None:
            self._told.append((told, each))

    def without_explanation(self) -> list[DepartingCase]:
        """The cases whose explanation was withdrawn since, each once."""
        withdrawn = self.explain.withdrawn
        again = [each for told, each in self._told if not told.stands(withdrawn)]
        self._told = [(told, each) for told, each in self._told if told.stands(withdrawn)]
        return again

    def told_anew(self) -> Explained:
        """What is told of those cases now."""
        while again := self.without_explanation():
            for each in again:
                found = self.explain.finding(each)
                self.note(found, each)
                yield found if found is None else self.explain.in_the_end(found), each


def _behind(
    departing: Sequence[DepartingCase], explain: SuiteExplanations
) -> Iterator[tuple[SuiteFinding, DepartingCase]]:
    """What departs in the cases behind a deviation, which would hide a failure otherwise."""
    for at, each in enumerate(departing, 1):
        for found in explain.behind(each, departing[at:]):
            yield found, each


def config_of(name: str, parameters: Any, seed: int, profile: Profile) -> Config:
    """What the router of a case is opened with."""
    return Config(seed=seed, protocol=name, parameters=parameters, profile=profile)
