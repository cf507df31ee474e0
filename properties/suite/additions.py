"""Cases that depart only because the router adds something of its own to the protocol.

A router as shipped may do what no sentence has (`Hello.additions`). What departs for that reason alone is a
finding about the addition. As in a search, everything else is then explained with that addition switched off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TypeAlias

from attrs import evolve, field, mutable

from quidnunc.impl.seam import AdapterError, Hello
from quidnunc.properties.explain.root_cause import Finding, last_departures
from quidnunc.properties.explain.runs import blamed_clauses
from quidnunc.properties.judge.play import Play, clauses_left_open, play
from quidnunc.properties.search.machine import FindingSearch
from quidnunc.properties.suite.explainers import SortedOut
from quidnunc.properties.suite.explanations import DepartingCase, PassedCase, SuiteFinding
from quidnunc.properties.suite.time_limit import demand_time

Shown: TypeAlias = tuple[SuiteFinding, DepartingCase]
Explained: TypeAlias = Callable[
    [Sequence[DepartingCase]], Iterator[tuple[SuiteFinding | None, DepartingCase]]
]
"""What is behind cases, each asked of the router."""


@mutable
class ShownOfAdditions:
    """What cases show of the additions of a router."""

    hunt: FindingSearch
    left: list[DepartingCase] = field(factory=list)
    """What departs all the same, as it is played without the additions that were found."""
    passed: list[PassedCase] = field(factory=list)
    """What is in order once those additions are off."""
    _runs: dict[tuple[str, tuple[str, ...]], Play | None] = field(factory=dict)
    """By the name of a case, and what is off in it."""

    def of(
        self, departing: Sequence[DepartingCase], sorted_out: Sequence[SortedOut], explained: Explained
    ) -> Iterator[Shown]:
        """The cases that depart because of additions: these are off in `hunt` from then on. `sorted_out`:
        what each case is without any, where the router has some."""
        hunt, shipped = self.hunt, self.hunt.hello
        if not hunt.hello.additions:
            self.left += departing
            return
        untouched, read, others = _told_apart(departing, sorted_out)
        touched = (*others, *chain.from_iterable(read.values()))
        goes = {each.name for each, its in zip(departing, sorted_out, strict=True) if its.goes_away}
        yield from self._found_alone([each for each in touched if each.name in goes])
        if not hunt.without:
            self.left += departing
            return
        self.left += untouched
        shown = [self._shown(each) for each in others if self._is_of_additions(each)]
        yield from shown
        fails = Counter(told.addition for told, _ in shown)
        to_ask = []
        for cases in read.values():
            of_additions = [each for each in cases if self._is_of_additions(each)]
            # What the texts leave open is no less open to an addition. One that mostly fails is not read so.
            if of_additions and len(of_additions) > fails[self._shown(of_additions[0])[0].addition]:
                to_ask += of_additions
            else:
                yield from map(self._shown, of_additions)
        with _as_shipped(hunt, shipped):
            told = list(explained(to_ask))
            # What was told before its explanation was withdrawn was told again.
            told = [(found, each) for found, each in told if found is None or found.stands(hunt.withdrawn)]
        for found, each in told:
            if found is not None:
                yield (found, each) if found.finding.quirks else self._shown(each)

    def _is_of_additions(self, each: DepartingCase) -> bool:
        """Whether its first departure goes with the additions; what it does then is left, if it departs."""
        now = self._played(each, self.hunt.without)
        if now is None:
            clauses = {*clauses_left_open(each.run.moments[-1].judged)}
            self.hunt.leave_open(None, last_departures(each.run)[0], clauses)
            return False
        if last_departures(now):
            self.left.append(DepartingCase(each.name, each.case, each.parameters, now))
        else:
            self.passed.append(PassedCase(each.name, each.case, each.parameters, tuple(now.moments)))
        return _goes_further(now, each.run)

    def _found_alone(self, cases: Sequence[DepartingCase]) -> Iterator[Shown]:
        """Those of the cases, all in order without any addition, that are so once one is off, until all such
        additions are."""
        hunt = self.hunt
        for each in cases:
            now = self._played(each, hunt.without)
            if now is None or not last_departures(now):
                continue
            finding = self._finding(each, now)
            if name := hunt.addition_behind(finding, each.parameters, each.case.seed):
                yield SuiteFinding(finding, addition=name, without=hunt.without), each
                hunt.switch_off(name, each.parameters, each.case.seed)

    def _shown(self, each: DepartingCase) -> Shown:
        """By the addition behind its first departure; by the first one where only several together are."""

        def is_behind(name: str) -> bool:
            run = self._played(each, (name,))
            return run is not None and _goes_further(run, each.run)

        addition = next(filter(is_behind, self.hunt.without), self.hunt.without[0])
        return SuiteFinding(self._finding(each, each.run), addition=addition), each

    def _played(self, each: DepartingCase, without: tuple[str, ...]) -> Play | None:
        """The case without these additions; None where the driver refuses, or what is in order is not
        known."""
        if not without:
            return each.run
        key = (each.name, tuple(sorted(without)))
        if key not in self._runs:
            demand_time(self.hunt)
            config = evolve(self.hunt.config(each.parameters, each.case.seed), without=without)
            try:
                run = play(each.events, self.hunt.opener(config), self.hunt.spec, each.parameters)
            except AdapterError:
                self._runs[key] = None
            else:
                self._runs[key] = None if run.blurred else run
        return self._runs[key]

    def _finding(self, each: DepartingCase, run: Play) -> Finding:
        moments = tuple(run.moments)
        told = blamed_clauses(moments, self.hunt.spec, each.parameters)
        return Finding(each.events, moments, last_departures(run)[0], (), told)


def _told_apart(
    departing: Sequence[DepartingCase], sorted_out: Sequence[SortedOut]
) -> tuple[list[DepartingCase], dict[tuple[str, ...], list[DepartingCase]], list[DepartingCase]]:
    """The cases that depart in the same way without any addition; those that readings of the texts allow, by
    the names of these; all others."""
    untouched, others = list[DepartingCase](), list[DepartingCase]()
    read: dict[tuple[str, ...], list[DepartingCase]] = {}
    for each, its in zip(departing, sorted_out, strict=True):
        if its.without == "the same":
            untouched.append(each)
        elif its.readings:
            read.setdefault(its.readings, []).append(each)
        else:
            others.append(each)
    return untouched, read, others


def _goes_further(run: Play, other: Play) -> bool:
    """Whether it departs later than `other` does, or not at all."""
    return not last_departures(run) or len(run.moments) > len(other.moments)


@contextmanager
def _as_shipped(hunt: FindingSearch, hello: Hello) -> Iterator[None]:
    """Nothing is off until the end of this, and what is given up, or left open, is so no longer."""
    kept = hunt.hello, hunt.signatures, hunt.unfiled
    withdrawn, hunt.withdrawn = hunt.withdrawn, []
    off, hunt.hello, hunt.signatures, hunt.unfiled = hunt.without, hello, Counter(), Counter()
    hunt.play_without(())
    try:
        yield
    finally:
        hunt.hello, hunt.signatures, hunt.unfiled = kept
        hunt.withdrawn = withdrawn
        hunt.play_without(off)
