"""`make nightly`: the long search of our own router under every protocol, with a journal to go on from.

python -m tools.nightly [--runs 50000] [--journal .quidnunc/nightly.jsonl] [--table FILE]

Exit status: 0 nothing was found and every claim that can fail applied; 1 something was found; 3 nothing was
found, and some such claim never applied; 4 a batch broke. Where several hold, 1 before 4 before 3.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from attrs import frozen

from quidnunc.model.machine import PROTOCOLS
from quidnunc.properties.cases.file import render
from quidnunc.properties.search.batch import BatchRequest, Workers, run_batch
from quidnunc.properties.search.campaign import Campaign, merge
from quidnunc.properties.search.verdicts import ClaimVerdict, verdicts_of
from quidnunc.properties.sources import SEARCHED, digest_of_sources
from tools.journal import end_last_line

JOURNAL = Path(".quidnunc/nightly.jsonl")
RUNS = 50_000
FEWEST = 2_000
"""Of each protocol, however few runs are asked for."""
BATCH = 400
"""Larger than a campaign's: little is found, so that few findings are looked for twice."""
AGAINST = "ours"


@frozen
class NightlyBatch:
    """One entry of the plan. Its answer is looked up in the journal by these values."""

    protocol: str
    number: int
    runs: int
    seed: int
    code: str
    """Digest of the sources that take part: what another version of them found is not counted."""

    @property
    def request(self) -> BatchRequest:
        seed = self.seed * 1_000_003 + self.number
        return BatchRequest(protocol=self.protocol, against=AGAINST, seed=seed, runs=self.runs)

    @property
    def key(self) -> str:
        return f"{self.code} {self.seed} {self.protocol} {self.number} {self.runs}"


def plan(
    protocols: Sequence[str], runs: int, seed: int, code: str, *, fewest: int = FEWEST
) -> list[NightlyBatch]:
    """`runs` runs over all protocols, at least `fewest` of each; one batch of each protocol in turn."""
    each = max(fewest, -(-runs // len(protocols)))
    starts = range(0, each, BATCH)
    return [
        NightlyBatch(name, number, min(BATCH, each - start), seed, code)
        for number, start in enumerate(starts)
        for name in protocols
    ]


def read_journal(path: Path) -> dict[str, dict[str, Any]]:
    """Batch key -> answer. A last line that was cut off by a stop is passed over."""
    found = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
                found[str(entry["key"])] = entry["answer"]
            except (ValueError, KeyError, TypeError):
                continue
    return found


Ask = Callable[[BatchRequest, Workers], dict[str, Any]]


def carry_out(
    batches: Sequence[NightlyBatch], journal: Path, *, workers: int | None = None, ask: Ask = run_batch
) -> Iterator[tuple[NightlyBatch, dict[str, Any]]]:
    """Every batch and its answer: those of the journal first, then those that are still to be asked.

    An answer is in the journal before it is given here. One that says that the batch broke is not kept.
    """
    known = read_journal(journal)
    left = []
    for batch in batches:
        if batch.key in known:
            yield batch, known[batch.key]
        else:
            left.append(batch)
    if not left:
        return
    journal.parent.mkdir(parents=True, exist_ok=True)
    end_last_line(journal)
    pool, processes = ThreadPoolExecutor(workers or os.cpu_count()), Workers()
    with journal.open("a", encoding="utf-8") as out, pool, processes:
        asked = {pool.submit(ask, batch.request, processes): batch for batch in left}
        for done in as_completed(asked):
            batch, answer = asked[done], done.result()
            if "broken" not in answer:
                out.write(json.dumps({"key": batch.key, "answer": answer}) + "\n")
                out.flush()
            yield batch, answer


def campaigns(
    answers: Iterable[tuple[NightlyBatch, dict[str, Any]]], protocols: Sequence[str], seed: int
) -> Mapping[str, Campaign]:
    """The answers merged, by protocol."""
    found = {name: Campaign(name, AGAINST, seed) for name in protocols}
    for batch, answer in answers:
        merge(found[batch.protocol], answer)
    return found


def never_applied(found: Mapping[str, Campaign]) -> list[tuple[str, ClaimVerdict]]:
    """(protocol, verdict) of each claim that did not apply once."""
    return [
        (name, v)
        for name, c in found.items()
        for v in verdicts_of(c)
        if v.verdict in ("inconclusive", "unsupported", "undecided")
    ]


def status(found: Mapping[str, Campaign]) -> int:
    """The exit status."""
    if any(c.roots for c in found.values()):
        return 1
    if any(c.broken for c in found.values()):
        return 4
    return 3 if any(v.binding for _, v in never_applied(found)) else 0


def report(found: Mapping[str, Campaign]) -> str:
    """Runs of each protocol, and how often each claim applied, as two tables in Markdown."""
    lines = ["| protocol | runs | steps | claims that applied | found |", "|---|---:|---:|---:|---:|"]
    for name, c in found.items():
        verdicts = verdicts_of(c)
        applied = sum(1 for v in verdicts if v.applied)
        lines.append(f"| {name} | {c.runs} | {c.steps} | {applied} of {len(verdicts)} | {len(c.roots)} |")
    total = sum(c.runs for c in found.values()), sum(c.steps for c in found.values())
    lines += [f"| all | {total[0]} | {total[1]} | | {sum(len(c.roots) for c in found.values())} |", ""]
    by_claim: dict[str, dict[str, ClaimVerdict]] = {}
    for name, c in found.items():
        for v in verdicts_of(c):
            by_claim.setdefault(v.claim.id, {})[name] = v
    lines += [f"| claim | why | {' | '.join(found)} |", "|---|---|" + "---:|" * len(found)]
    for claim, said in by_claim.items():
        cells = (str(said[name].applied) if name in said else "" for name in found)
        lines.append(f"| {claim} | {next(iter(said.values())).ground} | {' | '.join(cells)} |")
    return "\n".join(lines)


def findings(found: Mapping[str, Campaign]) -> Iterator[str]:
    for campaign in found.values():
        for root in campaign.roots.values():
            yield render(root.case)
        yield from (f"broken: {text}" for text in campaign.broken)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.nightly", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"over all protocols (default {RUNS})")
    parser.add_argument("--fewest", type=int, default=FEWEST, help=f"of each protocol (default {FEWEST})")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--journal", type=Path, default=JOURNAL, help=f"default {JOURNAL}")
    parser.add_argument("--workers", type=int, help="default: one per core")
    parser.add_argument("--table", type=Path, help="write the tables there as well")
    parser.add_argument("protocols", nargs="*", metavar="PROTOCOL", help=f"default: {', '.join(PROTOCOLS)}")
    options = parser.parse_args(arguments)
    protocols = options.protocols or list(PROTOCOLS)
    unknown = sorted(set(protocols) - set(PROTOCOLS))
    if unknown:
        parser.error(f"no protocol {unknown[0]!r}; there are {', '.join(PROTOCOLS)}")
    batches = plan(protocols, options.runs, options.seed, digest_of_sources(SEARCHED), fewest=options.fewest)
    total, done, started = sum(b.runs for b in batches), 0, time.monotonic()

    def noted() -> Iterator[tuple[NightlyBatch, dict[str, Any]]]:
        nonlocal done
        for batch, answer in carry_out(batches, options.journal, workers=options.workers):
            done += batch.runs
            took_s = time.monotonic() - started
            print(f"{done} of {total} runs, {took_s:.0f} s: {batch.protocol}", file=sys.stderr, flush=True)
            yield batch, answer

    found = campaigns(noted(), protocols, options.seed)
    tables = report(found)
    if options.table:
        options.table.write_text(tables + "\n", encoding="utf-8")
    print(tables)
    for text in findings(found):
        print(f"\n{text}")
    for name, v in never_applied(found):
        print(f"\nnever applied under {name}: {v.claim.id} ({v.ground}): {v.reason}")
    return status(found)


if __name__ == "__main__":
    raise SystemExit(main())
