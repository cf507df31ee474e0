"""A campaign from its plan to its summary, over any executor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import field, mutable

from quidnunc.pipeline.folder_lock import locked_folder
from quidnunc.pipeline.simulation.scenario.values import ScenarioError
from quidnunc.pipeline.sweep.executors import SweepExecutor
from quidnunc.pipeline.sweep.file import Job, SweepPlan, batches, with_quirks
from quidnunc.pipeline.sweep.store import SweepStore, read_whole, write_whole
from quidnunc.pipeline.sweep.summary import coverage_of, merged_coverage, summary_of
from quidnunc.pipeline.sweep.table import write_runs
from quidnunc.properties.search.campaign import Campaign, merge, settle

SUMMARY = "summary.json"
COVERAGE = "coverage.json"
CASES = "cases"
Progress = Callable[[str], None]


@mutable
class SweepResult:
    """A campaign that is done."""

    plan: SweepPlan
    summary: dict[str, Any]
    coverage: dict[str, Any]
    cases: list[str] = field(factory=list)
    done: int = 0
    """Jobs that were done now; the others' results were there."""
    had: int = 0
    interrupt: KeyboardInterrupt | None = None
    """What came before the last job was done: the summary is of those that were."""


def carry_out(
    plan: SweepPlan,
    folder: Path,
    executor: SweepExecutor,
    *,
    earlier: Sequence[Path] = (),
    progress: Progress = lambda text: None,
) -> SweepResult:
    """Do what is not done yet, and sum up everything. `earlier`: campaigns whose coverage is merged in.

    An interrupt ends it with a summary of what was done. Raises ScenarioError for a directory that is
    another's or that another process writes to, and whatever the executor raises.
    """
    coverage = list(map(_coverage_in, earlier))
    with locked_folder(folder, ScenarioError):
        store = SweepStore(folder, plan)
        store.open()
        carried = SweepResult(plan, {}, {}, had=store.had)
        campaigns: list[Campaign] = []
        try:
            _fill(store, plan.simulations, executor, carried, progress)
            for number, each in enumerate(plan.checks):
                campaigns.append(Campaign(each.protocol, each.against, each.seed))
                _search(store, campaigns[-1], batches(each, number), executor, carried, progress)
        except KeyboardInterrupt as interrupt:
            carried.interrupt = interrupt
        runs = list(store.results(plan.simulations))
        carried.summary, texts = summary_of(plan, runs, campaigns)
        carried.summary |= {
            "complete": carried.interrupt is None,
            "jobs": {"planned": plan.job_count(), "done": carried.done + carried.had},
        }
        carried.cases = _file(folder / CASES, texts)
        write_whole(folder / SUMMARY, carried.summary)
        write_runs(folder, runs)
        carried.coverage = merged_coverage([coverage_of(runs, campaigns), *coverage])
        write_whole(folder / COVERAGE, carried.coverage)
    return carried


def _search(
    store: SweepStore,
    campaign: Campaign,
    rounds: Sequence[Sequence[Job]],
    executor: SweepExecutor,
    carried: SweepResult,
    progress: Progress,
) -> None:
    """One search, round by round; what a round has when it is interrupted counts."""
    try:
        for jobs in rounds:
            told = with_quirks(jobs, list(dict.fromkeys(q.name for q in campaign.quirks)))
            try:
                _fill(store, told, executor, carried, progress)
            finally:
                for _, result in store.results(told):
                    merge(campaign, result["answer"])
    finally:
        settle(campaign)


def _fill(
    store: SweepStore, jobs: Sequence[Job], executor: SweepExecutor, carried: SweepResult, progress: Progress
) -> None:
    missing = store.missing(jobs)
    if not missing:
        return
    for number, (name, result) in enumerate(executor.run(missing), 1):
        store.keep(name, result)
        carried.done += 1
        progress(f"{number} of {len(missing)} jobs done ({missing[0][1]['kind']})")


def _file(folder: Path, texts: dict[str, str]) -> list[str]:
    """One file for each distinct root cause; what an earlier state of this campaign had filed goes."""
    if not texts and not folder.exists():
        return []
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [str(folder / name) for name in sorted(texts)]


def _coverage_in(folder: Path) -> dict[str, Any]:
    remedy = "name the directory of a finished sweep with --with"
    found = read_whole(folder / COVERAGE, remedy)
    applied = found.get("applied")
    told = applied.values() if isinstance(applied, dict) else ("nothing",)
    if not all(isinstance(each, dict) and all(type(n) is int for n in each.values()) for each in told):
        raise ScenarioError(f"{folder / COVERAGE}: expected counts of what was applied; {remedy}")
    return found
