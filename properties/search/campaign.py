"""A campaign: a sequence of short searches in worker processes, merged into one table of claims.

Batches of at most `BATCH` runs, each seeded from the campaign's seed and its number, in rounds of `WIDTH`:
a batch starts with the quirks that earlier rounds found, whatever the number of cores, so that `--runs` with
a seed gives the same table everywhere. Worker processes keep memory flat and contain a crash.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import repeat
from typing import Any

from attrs import evolve, field, frozen, mutable

from quidnunc.impl.seam import Profile
from quidnunc.model.edit import Edit
from quidnunc.model.edits.ambiguities import WIDE
from quidnunc.model.edits.catalogue import edit_named, size_of
from quidnunc.model.edits.operators.catalogue import operated
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.file import parse, render
from quidnunc.properties.search.batch import BatchRequest, Workers, run_batch
from quidnunc.properties.search.rows import (
    PENDING,
    Contradiction,
    RootCause,
    RootCauses,
    grouped_by_edit,
    is_crash,
    keep,
    note_contradiction,
    sharing_explanations,
    sharing_readings,
    telling,
    with_true_excuses,
    without_withdrawn,
)
from quidnunc.properties.search.unsent import add_sent

BATCH = 100
MIN_BATCH = 20
WIDTH = 4
MOST_REFUTING_CASES = 8
"""Of the runs that refute one explanation in all batches, so many are kept."""
MOST_AGAIN = 12
"""Findings that one round explains again."""
HAND_OVER = 0.1
"""Of a budget, the part that is left for workers to hand over what they have, after which they are ended."""
MAX_HAND_OVER_S = 6.0
SHOWN_EVERY_S = 1.0
"""How often progress is shown."""
SETTLE_LATE = 0.05
"""Of a budget, by how much the last check of findings may exceed it."""


@mutable
class Campaign:
    """What was asked and what was found."""

    protocol: str
    against: str
    seed: int
    version: str = ""
    capabilities: frozenset[str] = frozenset()
    fixed: Mapping[str, float] = field(factory=dict)
    profile: Profile = "shipped"
    switched: Mapping[str, tuple[str, ...]] = field(factory=dict)
    """What the driver switches, fixes or lifts -> the clauses that lean on it (`Hello.switched`)."""
    has_additions: bool = False
    """Whether the router adds something to the protocol that its driver can switch off."""
    known: tuple[str, ...] = ()
    """Of the suite: root causes of just this release that were known before, and were tried first."""
    without: tuple[str, ...] = ()
    """Additions of the router that were found to depart, and were off in the rest of the search."""
    runs: int = 0
    steps: int = 0
    blurred: int = 0
    unrepeated: int = 0
    seconds: float = 0.0
    applied: Counter[str] = field(factory=Counter)
    sent: dict[str, bool] = field(factory=dict)
    """Kind of what it was allowed to send (`IDontWant`) -> whether it sent any."""
    roots: RootCauses = field(factory=dict)
    broken: list[str] = field(factory=list)
    withdrawn: set[str] = field(factory=set)
    """Names of explanations that some run refuted."""
    contradicted: dict[str, Contradiction] = field(factory=dict)
    """Such a name -> the shortest run that did."""
    refuting: dict[str, tuple[str, ...]] = field(factory=dict)
    """Such a name -> the cases of runs that did, the shortest first."""
    left_out: list[str] = field(factory=list)
    """What could not be asked of this router, in words."""
    pending: RootCauses = field(factory=dict)
    """Departures that were being minimised when their worker was ended: not replayed, not explained."""
    unfiled: Counter[tuple[str, str]] = field(factory=Counter)
    """(`unexplained:KIND` or `crash`, clause) -> departures that leave the clause open and have no row."""
    asked_again: dict[tuple[str, str], frozenset[str]] = field(factory=dict)
    """Key of a row -> what was in force when it was explained last."""
    interrupted: bool = False
    not_played: list[str] = field(factory=list)
    """Names of cases of the suite that fit the router and were not played (`ended_by`)."""
    not_explained: list[str] = field(factory=list)
    """Names of cases of the suite that depart, and that nobody came to explain."""
    open_cases: int = 0
    """Cases of the suite that depart and have no row yet."""
    at_stake: set[str] = field(factory=set)
    """Clauses that had a part in those cases: what is behind them may break each."""

    @property
    def ended_by(self) -> str:
        """Why a suite ended before all was played and explained, in words."""
        if self.interrupted:
            return "the suite was interrupted"
        return "the driver broke" if self.broken else "the time was up"

    @property
    def rows(self) -> RootCauses:
        """The root causes, and the departures of which none is known yet."""
        return {**self.roots, **self.pending}

    @property
    def quirks(self) -> tuple[Edit, ...]:
        """What is in force: what explains a row and was refuted by no run."""
        spec = protocol_named(self.protocol)
        edits = (r.quirk for r in self.roots.values() if r.kind not in ("unexplained", "addition"))
        return tuple(edit_named(name, spec) for name in edits if name not in self.withdrawn)


@mutable
class Recording:
    """Where the runs of a campaign are written down: one file per batch, `PATH.NUMBER.part`."""

    recorder: str
    path: str
    parts: list[str] = field(factory=list)
    """The files, in the order of the batches."""

    def of_batch(self, number: int) -> tuple[str, str]:
        """What the request of the next batch says of it."""
        self.parts.append(f"{self.path}.{number}.part")
        return self.recorder, self.parts[-1]


@frozen
class SoFar:
    """How far a campaign is, with what workers have told of batches that go on."""

    runs: int
    steps: int
    roots: int
    """Root causes; some may turn out to be one."""
    seconds: float

    @classmethod
    def of(cls, campaign: Campaign, under_way: Iterable[Mapping[str, Any]]) -> SoFar:
        told = list(under_way)
        roots = {(root["clause"], root["quirk"]) for each in told for root in each.get("roots", ())}
        return cls(
            campaign.runs + sum(each.get("runs", 0) for each in told),
            campaign.steps + sum(each.get("steps", 0) for each in told),
            len(roots | campaign.roots.keys()),
            campaign.seconds,
        )


Progress = Callable[[SoFar, str], None]


@frozen
class Deadlines:
    """The points of a search with a budget, as `time.monotonic` tells them."""

    stop: float
    """No new run is started, and what is minimised stays as it is."""
    end: float
    """Workers that are not back are ended."""
    settle: float

    @classmethod
    def of(cls, started: float, budget_s: float) -> Deadlines:
        stop = max(budget_s / 2, budget_s - min(max(1.0, HAND_OVER * budget_s), MAX_HAND_OVER_S))
        return cls(started + stop, started + budget_s, started + budget_s * (1 + SETTLE_LATE) + 1)


def run_campaign(
    protocol: str,
    against: str,
    *,
    seed: int = 0,
    runs: int | None = None,
    budget_s: float | None = None,
    started: float | None = None,
    acts: int = 40,
    steered: bool = True,
    profile: Profile = "shipped",
    workers: int | None = None,
    processes: Workers | None = None,
    progress: Progress | None = None,
    stop: Callable[[Campaign], bool] | None = None,
    recording: Recording | None = None,
) -> Campaign:
    """Search until `runs` are done, or `budget_s` seconds after `started` (now). One of the two is given.

    Whoever gives `processes` may stop them, or end them, from a signal handler or another thread; the
    campaign then comes back with what was found.
    """
    if (runs is None) == (budget_s is None):
        raise ValueError("give either runs or budget_s")
    campaign = Campaign(protocol, against, seed, profile=profile)
    processes = processes or Workers()
    started = time.monotonic() if started is None else started
    deadlines = None if budget_s is None else Deadlines.of(started, budget_s)
    batch = _batch_size(runs)
    asked = BatchRequest(
        protocol=protocol, against=against, seed=seed, runs=batch, acts=acts, steered=steered, profile=profile
    )
    held = [(deadlines.stop, processes.stop), (deadlines.end, processes.end)] if deadlines else []
    pool = ThreadPoolExecutor(workers or os.cpu_count() or 1)
    shown = partial(_showing, campaign, started, processes, progress)
    with _at(held), shown("searching"), pool, processes:
        for numbers in _rounds(runs, batch):
            requests = _requests(asked, numbers, campaign, recording)
            _play_round(campaign, requests, pool, processes)
            campaign.seconds = time.monotonic() - started
            if campaign.broken or processes.stopping or (stop is not None and stop(campaign)):
                break
    campaign.interrupted = processes.interrupted
    if not campaign.interrupted:
        with shown("comparing what was found in"):
            settle(campaign, until=None if deadlines is None else deadlines.settle)
    elif len(campaign.roots) > 1:
        campaign.left_out.append("whether some root causes are one: that is asked at the end of a search")
    campaign.seconds = time.monotonic() - started
    return campaign


def _play_round(
    campaign: Campaign, requests: Sequence[BatchRequest], pool: ThreadPoolExecutor, processes: Workers
) -> None:
    """Play the batches of one round and merge each, which is under way no longer then."""
    answers = pool.map(run_batch, requests, repeat(processes))
    for request, answer in zip(requests, answers, strict=True):
        with processes.merging:
            merge(campaign, answer)
            processes.under_way.pop(request.seed, None)


@contextmanager
def _showing(
    campaign: Campaign, started: float, processes: Workers, progress: Progress | None, what: str
) -> Iterator[None]:
    """Show each second how far it is, and once more at the end: a batch in which much is explained takes
    minutes."""

    def show() -> None:
        campaign.seconds = time.monotonic() - started
        if progress is not None:
            with processes.merging:
                far = SoFar.of(campaign, [*processes.under_way.values()])
            progress(far, what)

    try:
        with each_second(show):
            yield
    finally:
        show()


@contextmanager
def each_second(show: Callable[[], None]) -> Iterator[None]:
    """Meanwhile, call `show` each second, from another thread."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(SHOWN_EVERY_S):
            show()

    shower = threading.Thread(target=go_on, daemon=True)
    shower.start()
    try:
        yield
    finally:
        over.set()
        shower.join()


def _requests(
    asked: BatchRequest, numbers: Iterable[tuple[int, int]], campaign: Campaign, recording: Recording | None
) -> list[BatchRequest]:
    """Those of one round."""
    quirks = tuple(dict.fromkeys(q.name for q in campaign.quirks))
    numbers = list(numbers)
    told = _to_explain_again(campaign, quirks)
    again = [tuple(told[at :: len(numbers)]) for at in range(len(numbers))]
    refuting = {name: cases for name, cases in campaign.refuting.items() if name in campaign.withdrawn}
    return [
        evolve(
            asked,
            again=again[at],
            refuting=refuting if again[at] else {},
            seed=asked.seed * 1_000_003 + number,
            runs=count,
            quirks=quirks,
            without=campaign.without,
            refuted=tuple(sorted(campaign.withdrawn & WIDE)),
            recorder=recording.of_batch(number) if recording is not None else ("", ""),
        )
        for at, (number, count) in enumerate(numbers)
        if count or again[at]
    ]


def _to_explain_again(campaign: Campaign, quirks: Iterable[str]) -> list[tuple[str, str]]:
    """Rows that are unexplained, whenever more is in force than when they were explained last; and once those
    that an operator's edit explains. (explanation, case) of each."""
    made, in_force = operated(protocol_named(campaign.protocol)), frozenset(quirks)
    told = list[tuple[str, str]]()
    rows = sorted(campaign.roots.items(), key=lambda row: (row[1].kind != "unexplained", row[0]))
    for key, root in rows:
        unexplained = root.kind == "unexplained" and not is_crash(root)
        if not unexplained and root.quirk not in made:
            continue
        known = campaign.asked_again.get(key)
        once = known is not None and not unexplained
        if once or in_force <= (known or {*root.case.as_built, root.quirk}):
            continue
        if len(told) == MOST_AGAIN:
            break
        campaign.asked_again[key] = in_force
        told.append(("" if unexplained else root.quirk, render(root.case)))
    return told


@contextmanager
def _at(calls: Iterable[tuple[float, Callable[[], None]]]) -> Iterator[None]:
    """Meanwhile, make each call at its time."""
    timers = [threading.Timer(max(0.0, at - time.monotonic()), call) for at, call in calls]
    for timer in timers:
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()


def settle(campaign: Campaign, *, until: float | None = None) -> None:
    """The fewest rows that account for all that was found.

    A row goes whose case the explanations of all others account for. Of what stays, rows with an explanation
    in common become one; done first, the one case that is kept of them would speak for all. What no single
    edit explains is let go of where those found elsewhere together do. Of what is left unexplained, what one
    edit could be behind is one row. After `until` (of `time.monotonic`) all stays, and the campaign says so.
    """
    _let_go_of_covered(campaign, until)
    campaign.roots = sharing_readings(sharing_explanations(campaign.roots))
    _let_go_of_combined(campaign, until)
    campaign.roots = with_true_excuses(grouped_by_edit(campaign.roots))


def _let_go_of_covered(campaign: Campaign, until: float | None) -> None:
    """An explanation goes that accounts for nothing that the others leave: first those that operators make,
    and of these the largest. What only a reading allows is accounted for by nothing.

    Its clauses stay open, under the rows that share one with it; where none does, the row stays. So it does
    where the case of another row is excused by it, and says that it has a row.
    """
    spec = protocol_named(campaign.protocol)
    made = operated(spec)
    alone = ("unexplained", "reading", "addition", "pending")
    rows = [root for root in campaign.roots.values() if root.kind not in alone and not is_crash(root)]
    sizes = {root.quirk: size_of(edit_named(root.quirk, spec), spec) for root in rows}
    rows.sort(key=lambda root: (root.quirk in made, sizes[root.quirk], root.quirk), reverse=True)
    excuses = {name for root in campaign.rows.values() for name in root.case.as_built}
    told = [
        root
        for root in rows
        if root.quirk not in excuses and any(_share(root, other) for other in rows if other is not root)
    ]
    if not told:
        return
    cases = dict[str, tuple[str, ...]]()
    for root in told:
        cases[root.quirk] = (*cases.get(root.quirk, ()), render(root.case))
    answer = _settled(campaign, until, cover=tuple(cases.items()))
    if "covered" not in answer:
        campaign.left_out.append("whether some root causes are accounted for by the others")
    left = {(root.clause, root.quirk) for root in rows}
    for root in (each for each in told if each.quirk in answer.get("covered", ())):
        own = (root.clause, root.quirk)
        sharing = [key for key in left - {own} if _share(root, campaign.roots[key])]
        if sharing:
            left.remove(own)
            del campaign.roots[own]
        for key in sharing:
            other = campaign.roots[key]
            campaign.roots[key] = evolve(other, leaves_open=other.leaves_open | root.leaves_open)


def _share(one: RootCause, other: RootCause) -> bool:
    return not one.leaves_open.isdisjoint(other.leaves_open)


def _settled(campaign: Campaign, until: float | None, **asked: Any) -> dict[str, Any]:
    """The answer of a worker that plays cases again, as the router is known to be built."""
    request = BatchRequest(
        protocol=campaign.protocol,
        against=campaign.against,
        seed=campaign.seed,
        runs=0,
        quirks=tuple(dict.fromkeys(q.name for q in campaign.quirks)),
        profile=campaign.profile,
        without=campaign.without,
        **asked,
    )
    processes = Workers()
    with _at([] if until is None else [(until, processes.end)]):
        return run_batch(request, processes)


def _let_go_of_combined(campaign: Campaign, until: float | None) -> None:
    """Findings that no single edit explains, or that a reading explained which a run refuted, go where those
    found elsewhere together do."""
    refuted = [r for r in campaign.roots.values() if r.kind == "reading" and r.quirk in campaign.withdrawn]
    unexplained = [
        k for k, r in campaign.roots.items() if r in refuted or (r.kind == "unexplained" and not is_crash(r))
    ]
    if not unexplained or not campaign.quirks:
        return
    answer = _settled(campaign, until, settle=tuple(render(campaign.roots[k].case) for k in unexplained))
    if "settled" not in answer:
        campaign.left_out.append("whether the root causes together account for what is unexplained")
    for key, settled in zip(unexplained, answer.get("settled", ()), strict=False):
        if settled:
            del campaign.roots[key]
    for key, perhaps in zip(unexplained, answer.get("perhaps_settled", ()), strict=False):
        if perhaps and (known := _most_telling_fault(campaign)) is not None:
            # Its clauses stay open: another fault could be behind it.
            left, root = campaign.roots.pop(key), campaign.roots[known]
            open_now = root.leaves_open | left.leaves_open | {left.clause}
            campaign.roots[known] = evolve(root, leaves_open=open_now)


def _most_telling_fault(campaign: Campaign) -> tuple[str, str] | None:
    """The row of a fault that is explained, if there is one."""
    others = ("unexplained", "reading", "addition", "pending")
    explained = (key for key, root in campaign.roots.items() if root.kind not in others)
    return min(explained, key=lambda key: telling(campaign.roots[key]), default=None)


def _batch_size(runs: int | None) -> int:
    """Runs of a batch: several rounds, so that not every batch of the next looks for what one has found."""
    return BATCH if runs is None else min(BATCH, max(MIN_BATCH, -(-runs // (4 * WIDTH))))


def _rounds(runs: int | None, batch: int) -> Iterator[list[tuple[int, int]]]:
    """(number, runs) of the batches of each round. The last has no runs: what was found late may explain what
    was not explained before."""
    number, left = 0, runs
    while left is None or left > 0:
        numbers = []
        for _ in range(WIDTH):
            count = batch if left is None else min(batch, left)
            if count > 0:
                numbers.append((number, count))
                number += 1
                left = left - count if left is not None else None
        yield numbers
    yield [(number + at, 0) for at in range(WIDTH)]


def merge(campaign: Campaign, answer: dict[str, Any]) -> None:
    """Add one batch's answer, or what it told before it was ended."""
    if "broken" in answer:
        campaign.broken.append(str(answer["broken"]))
    if "runs" not in answer:
        return
    campaign.version = answer["version"]
    campaign.capabilities = frozenset(answer["capabilities"])
    campaign.fixed = answer["fixed"]
    campaign.switched = {what: tuple(clauses) for what, clauses in answer["switched"].items()}
    campaign.has_additions = answer["has_additions"]
    campaign.without = tuple(dict.fromkeys((*campaign.without, *answer["without"])))
    campaign.runs += answer["runs"]
    campaign.steps += answer["steps"]
    campaign.blurred += answer["blurred"]
    campaign.unrepeated += answer["unrepeated"]
    campaign.applied.update(answer["applied"])
    add_sent(campaign.sent, answer.get("sent", {}))
    for row, clause, number in answer.get("unfiled", ()):
        campaign.unfiled[row, clause] += number
    for found in answer.get("roots", ()):
        keep(campaign.roots, _root_of(found))
    _merge_refuted(campaign, answer)
    if pending := answer.get("pending"):
        quirk = PENDING + pending["quirk"].removeprefix("unexplained:")
        keep(campaign.pending, evolve(_root_of(pending), quirk=quirk, kind="pending"))


def _merge_refuted(campaign: Campaign, answer: dict[str, Any]) -> None:
    """Explanations that a batch has withdrawn, and those that nothing refutes any more."""
    campaign.withdrawn.update(answer.get("withdrawn", ()))
    # One that another batch of the round has refuted meanwhile stays so.
    for name, asked in answer.get("reinstated", {}).items():
        if tuple(asked) == campaign.refuting.get(name):
            campaign.withdrawn.discard(name)
            del campaign.refuting[name]
            campaign.contradicted.pop(name, None)
    for name, cases in answer.get("refuting", {}).items():
        both = dict.fromkeys((*campaign.refuting.get(name, ()), *cases))
        campaign.refuting[name] = tuple(sorted(both, key=len)[:MOST_REFUTING_CASES])
    for name, (events, says) in answer.get("contradicted", {}).items():
        note_contradiction(campaign.contradicted, name, (events, says))
    campaign.roots = without_withdrawn(campaign.roots, campaign.withdrawn, campaign.contradicted)
    for text, clause, quirk in answer.get("explained_again", ()):
        _take_over(campaign, text, (clause, quirk))


def _take_over(campaign: Campaign, text: str, key: tuple[str, str]) -> None:
    """Have the row `key` stand for the unexplained one with the case `text`, which was explained again."""
    explained = campaign.roots.get(key)
    if explained is None:
        # Another batch has refuted that explanation.
        return
    for other, root in list(campaign.roots.items()):
        if root.kind == "unexplained" and render(root.case) == text:
            del campaign.roots[other]
            explained = evolve(explained, leaves_open=explained.leaves_open | root.leaves_open)
    campaign.roots[key] = explained


def _root_of(told: dict[str, Any]) -> RootCause:
    return RootCause(
        clause=told["clause"],
        quirk=told["quirk"],
        kind=told["kind"],
        says=told["says"],
        case=parse(told["case"]),
        also=tuple(told["also"]),
        ties=tuple(told.get("ties", ())),
        unexplained_as=tuple(told.get("unexplained_as", ("", "unexplained:withdrawn"))),
        allowed_by=tuple(told.get("allowed_by", ())),
        suspects=frozenset(told.get("suspects", ())),
        holds_on_ours=told["holds_on_ours"],
        leaves_open=frozenset(told.get("leaves_open", ())),
        minimised=told.get("minimised", True),
        act=told.get("act", ""),
    )
