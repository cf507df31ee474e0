"""Campaigns: many runs that differ in what a file varies, as jobs that any machine can do.

A sweep is of simulated networks (`simulate`: a scenario, values of some of its fields, seeds) or of property
tests (`check`: protocols and routers, runs). A job is plain values and depends on nothing else, so where and
in which order jobs are done makes no difference to what they come to.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeAlias

from attrs import evolve, field, frozen

from quidnunc.model.errors import did_you_mean
from quidnunc.model.machine import PROTOCOLS
from quidnunc.pipeline.simulation.scenario.file import (
    change,
    demand_shipped,
    demand_shipped_nodes,
    inside,
    plain_of,
    read_mapping,
    scenario_of,
    structured_value,
)
from quidnunc.pipeline.simulation.scenario.values import FORMAT, ScenarioError

MAX_JOBS = 100_000
BATCH = 100
MIN_BATCH = 5
ROUND = 16
"""Batches of property tests that start with the same quirks, however many are done at once."""
SEED_STEP = 1_000_003

Job: TypeAlias = dict[str, Any]
Result: TypeAlias = dict[str, Any]


@frozen(kw_only=True)
class SimulationGroup:
    """Networks: each combination of the varied values, and each of the points, with every seed."""

    scenario: Any = None
    """The path of a scenario, or one."""
    vary: Any = field(factory=dict)
    """`nodes.0.parameters.d` -> values."""
    points: tuple[Any, ...] = ()
    """What changes together: fields and values."""
    seeds: Any = 1
    """How many, from 0; or which."""
    check: bool = False
    """Replay every node beside the model, and make small what departs."""

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.scenario, str | dict) or not self.scenario:
            raise ValueError("scenario: expected the path of a scenario, or a scenario")
        if not isinstance(self.vary, dict) or not all(isinstance(v, list) and v for v in self.vary.values()):
            raise ValueError("vary: expected fields with lists of values, such as {links.loss: [0, 0.1]}")
        if not all(isinstance(point, dict) for point in self.points):
            raise ValueError("points: expected a list of fields with values")
        for name in (name for fields in (self.vary, *self.points) for name in fields):
            if not isinstance(name, str):
                raise ValueError(f"expected the name of a field, such as links.loss, got {name!r}")
        listed = isinstance(self.seeds, list) and all(type(s) is int for s in self.seeds)
        if not listed and (type(self.seeds) is not int or self.seeds < 1):
            raise ValueError(f"seeds: expected how many, or a list of seeds, got {self.seeds!r}")

    @property
    def count(self) -> int:
        """How many runs these are."""
        points = math.prod(len(values) for values in self.vary.values()) * (len(self.points) or 1)
        return points * (self.seeds if isinstance(self.seeds, int) else len(self.seeds))


@frozen(kw_only=True)
class CheckGroup:
    """Property tests of one router under one protocol."""

    protocol: str = "gossipsub-1.2"
    against: str = "ours"
    runs: int = 1000
    batch: int = BATCH
    seed: int = 0

    def __attrs_post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise ValueError(f"protocol: no {self.protocol!r}{did_you_mean(self.protocol, PROTOCOLS)}")
        if self.runs < 1 or not MIN_BATCH <= self.batch:
            raise ValueError(f"runs must be 1 or more and batch {MIN_BATCH} or more")


@frozen(kw_only=True)
class Sweep:
    """What a sweep's file says."""

    format: int = FORMAT
    name: str = ""
    simulate: tuple[SimulationGroup, ...] = ()
    check: tuple[CheckGroup, ...] = ()

    def __attrs_post_init__(self) -> None:
        if self.format != FORMAT:
            raise ValueError(f"format: expected {FORMAT}, got {self.format}")
        if not self.simulate and not self.check:
            raise ValueError("a sweep needs `simulate` or `check`, a list of campaigns")


@frozen(kw_only=True)
class SweepPlan:
    """A sweep with everything looked up: it can be carried out anywhere."""

    name: str
    simulations: tuple[Job, ...]
    checks: tuple[CheckGroup, ...]
    sources: str = ""
    """Digest of the kit's sources: results of others are not these."""

    @property
    def id(self) -> str:
        checks = [_plain_checks(each) for each in self.checks]
        return digest_of({"jobs": list(self.simulations), "checks": checks, "sources": self.sources})

    def job_count(self) -> int:
        """How many jobs it has."""
        return len(self.simulations) + sum(-(-each.runs // each.batch) for each in self.checks)


def load_sweep(path: Path, sources: str = "", *, allow_exec: bool = False) -> SweepPlan:
    """The plan of a sweep's file, which may be a stranger's: unless `allow_exec`, it names routers that this
    kit ships. Raises ScenarioError that names file and field."""
    raw = read_mapping(path)
    sweep: Sweep = structured_value(_lists(raw), Sweep, path)
    if not allow_exec:
        for number, checks in enumerate(sweep.check):
            demand_shipped(checks.against, path, f"check.{number}.against")
    count = sum(each.count for each in sweep.simulate)
    if count > MAX_JOBS:
        raise ScenarioError(f"{path}: simulate: {count} runs, at most {MAX_JOBS}; vary fewer values")
    count = sum(-(-each.runs // each.batch) for each in sweep.check)
    if count > MAX_JOBS:
        raise ScenarioError(f"{path}: check: {count} batches, at most {MAX_JOBS}; lower runs or raise batch")
    jobs = [job for at, each in enumerate(sweep.simulate) for job in _jobs(each, at, path, allow_exec)]
    return SweepPlan(
        name=sweep.name or path.stem, simulations=tuple(jobs), checks=sweep.check, sources=sources
    )


def _lists(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A single campaign need not be written as a list of one."""
    return {
        name: [value] if name in ("simulate", "check") and isinstance(value, dict) else value
        for name, value in raw.items()
    }


def _jobs(each: SimulationGroup, campaign: int, path: Path, allow_exec: bool) -> Iterator[Job]:
    where = path
    if isinstance(each.scenario, str):
        where = inside(path, each.scenario, f"simulate.{campaign}.scenario", "copy it there")
    base = read_mapping(where) if isinstance(each.scenario, str) else dict(each.scenario)
    seeds = range(each.seeds) if isinstance(each.seeds, int) else each.seeds
    for point in _points(each):
        raw = deepcopy(base)
        for name, value in point.items():
            change(raw, name, deepcopy(value))
        if not allow_exec:
            demand_shipped_nodes(raw, where)
        scenario = scenario_of(raw, where)
        for seed in seeds:
            yield {
                "kind": "simulate",
                "campaign": campaign,
                "point": dict(point),
                "seed": seed,
                "scenario": plain_of(evolve(scenario, seed=seed)),
                "check": each.check,
            }


def _points(each: SimulationGroup) -> Iterator[dict[str, Any]]:
    for together in each.points or ({},):
        for values in itertools.product(*each.vary.values()):
            yield {**together, **dict(zip(each.vary, values, strict=True))}


# -- property tests -----------------------------------------------------------------------------------------


def batches(checks: CheckGroup, campaign: int) -> list[list[Job]]:
    """The batches of one campaign of property tests, in rounds; the quirks of a round are put in later."""
    jobs: list[Job] = []
    for number, start in enumerate(range(0, checks.runs, checks.batch)):
        jobs.append(
            {
                "kind": "check",
                "campaign": campaign,
                "protocol": checks.protocol,
                "against": checks.against,
                "seed": checks.seed * SEED_STEP + number,
                "runs": min(checks.batch, checks.runs - start),
                "quirks": [],
            }
        )
    return [jobs[at : at + ROUND] for at in range(0, len(jobs), ROUND)]


def with_quirks(jobs: Sequence[Job], quirks: Sequence[str]) -> list[Job]:
    """The jobs of a round, told what earlier rounds have found."""
    return [{**job, "quirks": list(quirks)} for job in jobs]


def _plain_checks(checks: CheckGroup) -> list[Any]:
    return [checks.protocol, checks.against, checks.runs, checks.batch, checks.seed]


def id_of(job: Job, sources: str) -> str:
    """The name of a job's result: equal jobs of equal sources have one."""
    return digest_of({"job": job, "sources": sources})


def digest_of(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:20]
