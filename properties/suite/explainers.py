"""What is behind a case of the suite that departs, asked of several processes at once.

To explain a case means to play the router in some ninety fresh runs, and takes seconds. Which explanation a
case gets depends on those before it. So the cases that come next are asked ahead of their turn, with what is
known so far, and an answer counts only if nothing was learnt since that takes part in the case. What is no
longer among those that come next is let go. The answers are the same as from one process.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias

from attrs import evolve, field, frozen, mutable

from quidnunc.impl.seam import AdapterError, Profile
from quidnunc.model.edits.catalogue import edit_named, hypotheses_of
from quidnunc.model.edits.operators.catalogue import operated
from quidnunc.model.events import Event
from quidnunc.properties.explain.root_cause import Finding, last_departures
from quidnunc.properties.explain.runs import blamed_clauses
from quidnunc.properties.judge.oracle import Departure
from quidnunc.properties.judge.play import Moment, play, same_act
from quidnunc.properties.processes import process_pool, submitted
from quidnunc.properties.search.fresh_runs import FreshRuns
from quidnunc.properties.search.machine import FindingSearch, with_what_is_known
from quidnunc.properties.search.worker import collect_less_often, hello_of, opener_of
from quidnunc.properties.suite.time_limit import TimeIsUpError, demand_time

MOST_AT_ONCE = 4
COMING = 6
"""Questions that come next, as far as is looked ahead."""
VALUES_BETWEEN_COLLECTIONS = 1_000_000
"""In a process that explains. What is kept of the runs of one question is no garbage, and is a lot to look
through; nor does the process live for long."""
LOOK_S = 0.25
"""Who waits for a process looks so often whether the time is up."""

AskedRouter: TypeAlias = tuple[str, str, Profile, tuple[str, ...], tuple[str, ...]]
"""Protocol, name of the router, profile, additions that are off, causes that are known."""


@frozen
class Question:
    """A run of a case that departs."""

    events: tuple[Event, ...]
    moments: tuple[Moment, ...]
    parameters: Any
    seed: int
    in_force: tuple[str, ...] = ()
    """Names of the edits under which it was judged."""
    withdrawn: tuple[str, ...] = ()
    """Names of those that do not explain it."""

    @property
    def departure(self) -> Departure:
        return self.moments[-1].judged.departures[0]


@frozen
class Answer:
    """A `Finding` without what the question holds; its edits by name, because functions cannot be sent."""

    blamed: tuple[str, ...]
    quirks: tuple[str, ...]
    ties: tuple[str, ...]
    suspects: frozenset[str]
    known: str = ""

    def finding(self, question: Question, hunt: FindingSearch) -> Finding:
        return Finding(
            question.events,
            question.moments,
            question.departure,
            tuple(edit_named(name, hunt.spec) for name in self.quirks),
            self.blamed,
            self.suspects,
            tuple(edit_named(name, hunt.spec) for name in self.ties),
            known=self.known,
        )


def answer(question: Question, hunt: FindingSearch, is_let_go: Callable[[], bool] = lambda: False) -> Answer:
    """The explanations of the run that predict fresh runs of the router, as in a search.

    What is known of this release is asked first, and of fewer runs.

    Raises NoLongerAskedError before a fresh run if the question was let go.
    """

    def out_of_time() -> bool:
        if is_let_go():
            raise NoLongerAskedError
        return False

    hunt.quirks[:] = [edit_named(name, hunt.spec) for name in question.in_force]
    hunt.withdrawn[:] = question.withdrawn
    protocol, events, parameters = hunt.protocol, question.events, question.parameters
    blamed = blamed_clauses(question.moments, protocol, parameters)
    bare = Finding(events, question.moments, question.departure, (), blamed)
    fresh = FreshRuns(hunt, protocol, events, (parameters,), question.seed, out_of_time, apart=hunt.apart)
    found = hunt.explained_as_known(bare, parameters, fresh) or hunt.explained(bare, parameters, fresh)
    if not found.quirks:
        found = evolve(found, blamed=_without_scores(hunt, question, blamed))
    found = with_what_is_known(found, parameters, partial(hunt.counted_otherwise, fresh))
    quirks, ties = (tuple(edit.name for edit in edits) for edits in (found.quirks, found.ties))
    return Answer(found.blamed, quirks, ties, found.suspects, found.known)


def _without_scores(hunt: FindingSearch, question: Question, blamed: tuple[str, ...]) -> tuple[str, ...]:
    """The clauses that departures are blamed on; those of scores only where none departs without scores."""
    if getattr(question.parameters, "scores", None) is None:
        return blamed
    parameters = evolve(question.parameters, scores=None)
    try:
        opened = hunt.opener(hunt.config(parameters, question.seed))
        run = play(question.events, opened, hunt.protocol, parameters)
    except (AdapterError, ValueError):
        return blamed
    same = [each for each in last_departures(run) if same_act(each, question.departure)]
    if not same:
        return blamed
    told = dict(
        zip(last_departures(run), blamed_clauses(run.moments, hunt.protocol, parameters), strict=True)
    )
    departures = question.moments[-1].judged.departures
    return tuple(
        told[same[0]] if d == question.departure else c for d, c in zip(departures, blamed, strict=True)
    )


@frozen
class SortedOut:
    """What a run is beside the same one without any addition of the router to the protocol."""

    without: Literal["the same", "in order", "departs", "unknown"]
    """What the router does then. Unknown: it refuses, or what is in order is not known."""
    readings: tuple[str, ...] = ()
    """Names of the readings of the texts each of which allows what it does with them."""

    @property
    def goes_away(self) -> bool:
        """Whether nothing departs without them."""
        return self.without == "in order"


def sorted_out(question: Question, hunt: FindingSearch) -> SortedOut:
    """Play the run without any addition."""
    config = evolve(hunt.config(question.parameters, question.seed), without=(*hunt.hello.additions,))
    without: Literal["in order", "departs", "unknown"] = "unknown"
    try:
        run = play(question.events, hunt.opener(config), hunt.spec, question.parameters)
    except AdapterError:
        pass
    else:
        if tuple(run.moments) == question.moments and not run.blurred:
            return SortedOut("the same")
        if not run.blurred:
            without = "departs" if last_departures(run) else "in order"
    bare = Finding(question.events, question.moments, question.departure, ())
    return SortedOut(without, hunt.readings_of(bare, question.parameters))


class NoLongerAskedError(Exception):
    """Nobody waits for the answer."""


Explain: TypeAlias = Callable[[Question, Iterator[Question]], Answer]
"""The answer to a question, given those that may be asked next. Raises TimeIsUpError if the search that asks
is out of time."""


def _answer_here(question: Question, hunt: FindingSearch) -> Answer:
    """The answer of this process, under the time limit of `hunt`."""
    try:
        return answer(question, hunt, hunt.out_of_time)
    except NoLongerAskedError:
        raise TimeIsUpError from None


def _result(future: Future[Any], hunt: FindingSearch) -> Any:
    """What a process found, once it has. Raises TimeIsUpError if `hunt` is out of time first."""
    while not wait([future], timeout=LOOK_S).done:
        demand_time(hunt)
    return future.result()


@frozen
class ThisProcess:
    """Answers questions as they come."""

    hunt: FindingSearch

    def __call__(self, question: Question, ahead: Iterator[Question]) -> Answer:
        return _answer_here(question, self.hunt)

    def sort_out(self, question: Question) -> Callable[[], SortedOut]:
        def found() -> SortedOut:
            demand_time(self.hunt)
            return sorted_out(question, self.hunt)

        return found


@contextmanager
def explainers(hunt: FindingSearch, against: str) -> Iterator[ThisProcess | Explainers]:
    """Who answers questions about the router of `hunt`: processes that open it by the name `against`, or this
    one where it has none, or where there is one processor. The processes start at once."""
    at_once = min(MOST_AT_ONCE, os.cpu_count() or 1)
    if not against or at_once < 2:
        yield ThisProcess(hunt)
        return
    with TemporaryDirectory() as folder, process_pool(at_once) as pool:
        submitted(pool, _get_ready, [_named(hunt, against)] * at_once)
        asked = Explainers(hunt, against, at_once, pool, Path(folder))
        yield asked
        asked.let_all_go()


@frozen
class AskedQuestion:
    """A question that a process has."""

    router: AskedRouter
    question: Question
    future: Future[Any]
    mark: Path
    """A file that is there as long as the answer may be wanted."""


@mutable
class Explainers:
    """Processes that answer questions, the next ones ahead of their turn."""

    hunt: FindingSearch
    against: str
    at_once: int
    pool: ProcessPoolExecutor
    folder: Path
    """For marks of questions."""
    asked: list[AskedQuestion] = field(factory=list)
    count: int = 0

    def __call__(self, question: Question, ahead: Iterator[Question]) -> Answer:
        try:
            coming = deque(self._let_go(question, ahead))
            while (wanted := self._future_of(question)) is None or not wanted.done():
                demand_time(self.hunt)
                running = [each.future for each in self.asked if not each.future.done()]
                if len(running) < self.at_once and (found := self._next(question, coming, ahead)) is not None:
                    self._ask(found)
                else:
                    wait(running, LOOK_S, FIRST_COMPLETED)
            told: Answer = wanted.result()
        except BrokenProcessPool:
            # The system ended one, most likely for its memory; what is left goes on in this process.
            return _answer_here(question, self.hunt)
        return told

    def sort_out(self, question: Question) -> Callable[[], SortedOut]:
        """Begin to sort out a run; what is given waits for the end of it."""
        try:
            (future,) = submitted(self.pool, _sorted_out, [(self._router, question)])
        except BrokenProcessPool:
            return lambda: sorted_out(question, self.hunt)

        def found() -> SortedOut:
            try:
                told: SortedOut = _result(future, self.hunt)
            except BrokenProcessPool:
                return sorted_out(question, self.hunt)
            return told

        return found

    def _next(
        self, question: Question, coming: deque[Question], ahead: Iterator[Question]
    ) -> Question | None:
        """What is asked next: the question itself, then what comes after it. Of the last ones the longest,
        which would keep one process busy after all others are done."""
        coming.extend(islice(ahead, COMING - len(coming)))
        is_tail = len(coming) < COMING
        for each in [each for each in coming if self._future_of(each) is not None]:
            coming.remove(each)
        left = [*([question] if self._future_of(question) is None else []), *coming]
        if not left:
            return None
        return max(left, key=lambda each: len(each.moments)) if is_tail else left[0]

    @property
    def _router(self) -> AskedRouter:
        return _named(self.hunt, self.against)

    def _future_of(self, question: Question) -> Future[Any] | None:
        """The answer to a question that was asked."""
        router = self._router
        same = (each.future for each in self.asked if (each.router, each.question) == (router, question))
        return next(same, None)

    def _ask(self, question: Question) -> None:
        self.count += 1
        mark = self.folder / str(self.count)
        mark.touch()
        (future,) = submitted(self.pool, _answer, [(self._router, question, mark)])
        self.asked.append(AskedQuestion(self._router, question, future, mark))

    def let_all_go(self) -> None:
        """Let go of what nobody came to ask."""
        for each in self.asked:
            each.mark.unlink(missing_ok=True)

    def _let_go(self, question: Question, ahead: Iterator[Question]) -> list[Question]:
        """Let go of what is neither asked now nor comes next; those that do."""
        others = [each for each in self.asked if not each.future.done() and each.question != question]
        coming = [*islice(ahead, COMING)] if others else []
        for each in others:
            if each.question not in coming:
                each.mark.unlink()
                self.asked.remove(each)
        return coming


def _answer(asked: tuple[AskedRouter, Question, Path]) -> Answer:
    router, question, mark = asked
    return answer(question, _hunt_of(*router), lambda: not mark.exists())


def _sorted_out(asked: tuple[AskedRouter, Question]) -> SortedOut:
    router, question = asked
    return sorted_out(question, _hunt_of(*router))


def _get_ready(router: AskedRouter) -> None:
    """Do what the first answer takes besides: import, open the router, make the edits that are tried."""
    hunt = _hunt_of(*router)
    hypotheses_of(hunt.spec), operated(hunt.spec)


def _named(hunt: FindingSearch, against: str) -> AskedRouter:
    return hunt.protocol_name, against, hunt.profile, hunt.without, hunt.known


@lru_cache(maxsize=1)
def _hunt_of(
    protocol: str, against: str, profile: Profile, without: tuple[str, ...], known: tuple[str, ...]
) -> FindingSearch:
    collect_less_often(VALUES_BETWEEN_COLLECTIONS)
    hello = hello_of(against, protocol, profile=profile, without=without)
    opener = opener_of(against)
    return FindingSearch(protocol, opener, hello, profile=profile, without=without, known=known)
