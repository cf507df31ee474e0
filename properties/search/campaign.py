"""A campaign: a sequence of short searches in worker processes, merged into one table of claims.

Batches of at most `BATCH` runs, each seeded from the campaign's seed and its number, in rounds of `WIDTH`:
a batch starts with the quirks that earlier rounds found, whatever the number of cores, so that `--runs` with
a seed gives the same table everywhere. Worker processes keep memory flat and contain a crash.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from attrs import asdict, field, frozen, mutable

from quidnunc.impl.seam import Profile
from quidnunc.model.edit import Edit
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import parse, render
from quidnunc.properties.cases.finding import brief

BATCH = 100
MIN_BATCH = 20
WIDTH = 4
WORKER_TIMEOUT_S = 1800
MAX_REPLY_BYTES = 64 << 20


@frozen(kw_only=True)
class BatchRequest:
    """What one batch is asked."""

    protocol: str
    against: str
    seed: int
    runs: int
    acts: int = 40
    quirks: tuple[str, ...] = ()
    steered: bool = True
    profile: Profile = "shipped"
    without: tuple[str, ...] = ()
    seconds: float | None = None
    """Stop after so much time, in whichever run."""
    settle: tuple[str, ...] = ()
    """Instead of a search: cases, of which to say whether the quirks together account for them."""
    recorder: tuple[str, str] = ("", "")
    """`module:function` of what writes the runs down, given a path, the request as a dict and the hello; and
    that path."""


@frozen
class RootCause:
    """One root cause: a clause, the edit that accounts for it, and the case that shows it."""

    clause: str
    quirk: str
    kind: str
    """reading, replaced, dropped, unexplained, or addition: one of the router's own."""
    says: str
    case: Case
    also: tuple[str, ...] = ()
    """Other edits that account for the case as well."""
    holds_on_ours: bool | None = None
    """The control: whether our own router passes the same events; None where it could not be asked."""


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
    without: tuple[str, ...] = ()
    """Additions of the router that were found to depart, and were off in the rest of the search."""
    runs: int = 0
    steps: int = 0
    blurred: int = 0
    unrepeated: int = 0
    seconds: float = 0.0
    applied: Counter[str] = field(factory=Counter)
    roots: dict[tuple[str, str], RootCause] = field(factory=dict)
    broken: list[str] = field(factory=list)
    left_out: list[str] = field(factory=list)
    """What could not be asked of this router, in words."""

    @property
    def quirks(self) -> tuple[Edit, ...]:
        spec = protocol_named(self.protocol)
        edits = (r.quirk for r in self.roots.values() if r.kind not in ("unexplained", "addition"))
        return tuple(edit_named(name, spec) for name in edits)


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


Progress = Callable[[Campaign, str], None]


def run_campaign(
    protocol: str,
    against: str,
    *,
    seed: int = 0,
    runs: int | None = None,
    budget_s: float | None = None,
    acts: int = 40,
    steered: bool = True,
    profile: Profile = "shipped",
    workers: int | None = None,
    progress: Progress | None = None,
    stop: Callable[[Campaign], bool] | None = None,
    recording: Recording | None = None,
) -> Campaign:
    """Search until `runs` are done, or `budget_s` seconds have passed. One of the two is given."""
    if (runs is None) == (budget_s is None):
        raise ValueError("give either runs or budget_s")
    campaign = Campaign(protocol, against, seed, profile=profile)
    started = time.monotonic()
    batch = _batch_size(runs)
    with ThreadPoolExecutor(max_workers=workers or os.cpu_count() or 1) as pool:
        for numbers in _rounds(runs, batch, started, budget_s):
            quirks = tuple(dict.fromkeys(q.name for q in campaign.quirks))
            left = None if budget_s is None else max(1.0, budget_s - (time.monotonic() - started))
            requests = [
                BatchRequest(
                    protocol=protocol,
                    against=against,
                    seed=seed * 1_000_003 + number,
                    runs=count,
                    acts=acts,
                    quirks=quirks,
                    steered=steered,
                    profile=profile,
                    without=campaign.without,
                    seconds=left,
                    recorder=recording.of_batch(number) if recording is not None else ("", ""),
                )
                for number, count in numbers
            ]
            for answer in pool.map(run_batch, requests):
                merge(campaign, answer)
                campaign.seconds = time.monotonic() - started
                if progress is not None:
                    progress(campaign, "searching")
            if campaign.broken or (stop is not None and stop(campaign)):
                break
    settle(campaign)
    return campaign


def settle(campaign: Campaign) -> None:
    """Let go of findings that no single edit explains and that the quirks found elsewhere together do."""
    unexplained = [k for k, r in campaign.roots.items() if r.kind == "unexplained" and not is_crash(r)]
    if not unexplained or not campaign.quirks:
        return
    request = BatchRequest(
        protocol=campaign.protocol,
        against=campaign.against,
        seed=campaign.seed,
        runs=0,
        quirks=tuple(dict.fromkeys(q.name for q in campaign.quirks)),
        profile=campaign.profile,
        without=campaign.without,
        settle=tuple(render(campaign.roots[k].case) for k in unexplained),
    )
    answer = run_batch(request)
    for key, settled in zip(unexplained, answer.get("settled", ()), strict=False):
        if settled:
            del campaign.roots[key]


def is_crash(root: RootCause) -> bool:
    """Whether the root cause is that the router failed: its events are for whoever runs the check alone."""
    return root.quirk == "unexplained:crash"


def _batch_size(runs: int | None) -> int:
    """Runs of a batch: several rounds, so that not every batch of the next looks for what one has found."""
    return BATCH if runs is None else min(BATCH, max(MIN_BATCH, -(-runs // (4 * WIDTH))))


def _rounds(
    runs: int | None, batch: int, started: float, budget_s: float | None
) -> Iterator[list[tuple[int, int]]]:
    number, left = 0, runs
    while left is None or left > 0:
        if budget_s is not None and time.monotonic() - started >= budget_s:
            return
        numbers = []
        for _ in range(WIDTH):
            count = batch if left is None else min(batch, left)
            if count > 0:
                numbers.append((number, count))
                number += 1
                left = left - count if left is not None else None
        yield numbers


def run_batch(request: BatchRequest) -> dict[str, Any]:
    """One batch in a process of its own."""
    asked = asdict(request)
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "quidnunc.properties.search.worker"],
            input=json.dumps(asked).encode(),
            capture_output=True,
            timeout=WORKER_TIMEOUT_S,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"broken": f"a batch of {request.runs} runs did not end within {WORKER_TIMEOUT_S} s"}
    if done.returncode != 0 or len(done.stdout) > MAX_REPLY_BYTES:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
        return {"broken": f"the worker ended with status {done.returncode}: {' / '.join(last)}"}
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        said = done.stdout[:200].decode(errors="replace")
        return {"broken": f"the worker's answer is not JSON: {said!r}; does the router write to its stdout?"}
    return answer


def merge(campaign: Campaign, answer: dict[str, Any]) -> None:
    """Add one batch's answer."""
    if "broken" in answer:
        campaign.broken.append(str(answer["broken"]))
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
    for found in answer["roots"]:
        root = RootCause(
            clause=found["clause"],
            quirk=found["quirk"],
            kind=found["kind"],
            says=found["says"],
            case=parse(found["case"]),
            also=tuple(found["also"]),
            holds_on_ours=found["holds_on_ours"],
        )
        key = (root.clause, root.quirk)
        old = campaign.roots.get(key)
        if old is None or _size(root) < _size(old):
            campaign.roots[key] = root


def _size(root: RootCause) -> int:
    """Characters of the case, without what else was due or allowed where it departs."""
    return len(render(brief(root.case)))
