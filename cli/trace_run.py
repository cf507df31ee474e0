"""`quidnunc trace` on folders that `quidnunc ingest` made."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quidnunc.output import (
    UsageError,
    clear_progress,
    count,
    given_options,
    print_json,
    progress_line,
    repeat_command,
    show,
    table,
)
from quidnunc.properties.bounded import printable

if TYPE_CHECKING:
    from quidnunc.pipeline.lake.engines.seam import Engine
    from quidnunc.pipeline.lake.run_folder import RunFolder

SHOWN = 10
"""Violations that are printed."""
REPLAY_COST = 100
"""How many times as long a byte takes to replay as to ingest, at least."""


def asked_again(options: argparse.Namespace) -> str:
    """How to ask the same again."""
    claims = [] if options.claims == "*" else ["--claims", options.claims]
    named = given_options(options, "strict", "replay", "report", "set", "engine", "master")
    return repeat_command("trace", options.what, *options.traces, *claims, *named)


@contextmanager
def opened_engine(options: argparse.Namespace, size: int) -> Iterator[Engine]:
    """The engine that `--engine` and `--master` name, for so many bytes; stderr says which.

    Raises UsageError, EngineMissing.
    """
    from quidnunc.pipeline.lake.engines.choose import opened

    if options.engine == "duckdb" and options.master:
        raise UsageError("--master is for Spark, and --engine is duckdb")
    try:
        asked = options.engine or "auto"
        with opened(asked, progress_line(), tell, master=options.master, size=size) as engine:
            yield engine
    finally:
        clear_progress()


def tell(text: str) -> None:
    show(text, file=sys.stderr)


def gold_folder(run: Path, options: argparse.Namespace) -> Path:
    """The gold of a run, under the settings asked for; an engine is started where it is not there yet.

    Raises UsageError.
    """
    from quidnunc.impl.seam import AdapterError
    from quidnunc.pipeline.lake.engines.seam import EngineMissing
    from quidnunc.pipeline.lake.gold.build import CLAIMS_FILE, make_gold
    from quidnunc.pipeline.lake.ingest import gold_wanted
    from quidnunc.pipeline.lake.run_folder import RunFolder
    from quidnunc.pipeline.lake.spark_session import in_a_line
    from quidnunc.pipeline.trace.shapes import TraceError

    folder = RunFolder(run)
    try:
        wanted = gold_wanted(folder)
        wanted = gold_wanted(folder, wanted.settings.changed(options.set))
        found = folder.gold(wanted.version)
        if (found / CLAIMS_FILE).is_file():
            return found
        with folder.locked(), opened_engine(options, _size(folder)) as engine:
            return make_gold(folder, wanted, engine.queries)
    except (TraceError, EngineMissing) as error:
        raise UsageError(str(error)) from None
    except Exception as error:
        raise AdapterError(in_a_line(error)) from None


def _size(run: RunFolder) -> int:
    """Bytes of the silver of a run."""
    from quidnunc.pipeline.lake.silver.parts import bucket_files

    return sum(path.stat().st_size for path in bucket_files(run.silver(run.read_manifest()["silver"])))


def incomplete(manifest: Mapping[str, Any]) -> str:
    """What a run lacks that was meant to be in it; empty where nothing is known to be missing."""
    from quidnunc.pipeline.trace.files import not_read

    if bad := manifest["bad_records"]:
        return f"{not_read(bad, manifest['lost_bytes'])}; the first: {manifest['first_bad']}"
    if not manifest["complete"]:
        return "files are unfinished or unreadable; finish or move them, and ingest again"
    return ""


def _say_manifests(options: argparse.Namespace) -> list[str]:
    """Say what `ingest` found odd about the runs: warnings on stderr, which are returned, and on stdout how
    complete each is, where it is not."""
    from quidnunc.pipeline.lake.run_folder import RunFolder

    warnings = []
    for run in options.traces:
        manifest = RunFolder(run).read_manifest()
        warnings += [str(line) for line in manifest.get("warnings", ())]
        if manifest["completeness"] != "full" and not options.json:
            why = f"{manifest['completeness']} ({manifest['completeness_because']})"
            show(f"  completeness of {run}: {why}")
    for line in warnings:
        tell(f"warning: {line}")
    return warnings


def _lacking(options: argparse.Namespace) -> str:
    """The same of the first run that lacks something."""
    from quidnunc.pipeline.lake.run_folder import RunFolder

    found = (incomplete(RunFolder(run).read_manifest()) for run in options.traces)
    return next(filter(None, found), "")


def metrics(options: argparse.Namespace) -> int:
    """Print the metrics of runs."""
    from quidnunc.pipeline.lake.gold.stored import stored_metrics

    found: list[dict[str, Any]] = []
    for run in options.traces:
        found += _stored(stored_metrics, gold_folder(run, options))
    lacking = _lacking(options)
    code = 3 if lacking else 0
    if options.json:
        print_json({"schema": 1, "runs": found, "warnings": _say_manifests(options)})
        return code
    show(f"metrics of {count(len(found), 'run')}, {count(sum(r['events'] for r in found), 'event')}")
    _say_manifests(options)
    for each in found:
        _print_metrics(each)
    if lacking:
        show(f"exit 3: the figures are of what is there: {lacking}")
    show(asked_again(options))
    return code


def _print_metrics(found: Mapping[str, Any]) -> None:
    name = printable(found["run"]) or "(the whole trace)"
    events, peers = count(found["events"], "event"), count(found["observers"], "peer")
    show(f"\nrun {name}: {events} of {peers}")
    ratio, copies = found["delivery_ratio"], found["copies"]
    rows: list[tuple[str, object]] = [
        ("messages", found["messages"]),
        ("deliveries", found["deliveries"]),
        ("delivery ratio", "unknown" if ratio is None else f"{ratio:.4f}"),
        ("missing at who stayed", f"{_number(found['missing'])} of {found['stayed']}"),
        ("copies per delivery", "unknown" if copies is None else f"{copies:.3f}"),
        ("duplicates", found["duplicates"]),
        ("rejected", found["rejected"]),
    ]
    if found["latency_ms"] is not None:
        shown = ", ".join(f"{n} {found['latency_ms'][n]:.3f}" for n in ("p50", "p95", "p99", "max"))
        rows.append((f"latency from the {found['latency_from']}, ms", shown))
    for name, counts in (
        ("deliveries by hop", found["deliveries_by_hop"]),
        ("items sent", found["sent"]),
        ("bytes", found["bytes"]),
        ("mesh", found["mesh"]),
        ("IDONTWANT", found["idontwant"]),
        ("IWANT", found["iwant"]),
        ("DOG", found["dog"]),
    ):
        if counts:
            rows.append((name, ", ".join(f"{k.replace('_', ' ')} {_number(v)}" for k, v in counts.items())))
    show(table(("metric", "value"), rows))
    for line in found["lacking"]:
        show(f"  note: {line}")


def _number(value: object) -> str:
    if value is None:
        return "unknown"
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def check(options: argparse.Namespace) -> int:
    """Print the verdicts of claims over runs; returns the exit status."""
    from quidnunc.pipeline.lake.gold.stored import stored_claims, stored_violations

    claims: list[dict[str, Any]] = []
    violations: list[dict[str, Any]] = []
    outside: set[str] = set()
    for run in options.traces:
        folder = gold_folder(run, options)
        every = _stored(stored_claims, folder)
        chosen = _chosen(every, options.claims)
        claims += [{**c, "trace": str(run)} for c in chosen]
        outside |= {c["id"] for c in every if c not in chosen}
        found = _stored(stored_violations, folder)
        violations += [v for v in found if v["claim"] in {c["id"] for c in claims}]
    if not claims:
        raise UsageError(f"--claims {options.claims} selects no claim over traces")
    code, why = exit_of(claims, options.strict)
    if not code and options.claims == "*" and not any(c["asked"] and c["binding"] for c in claims):
        code, why = 3, "no claim over traces that can fail is asked of this protocol; see --replay"
    if not code and (lacking := _lacking(options)):
        code, why = 3, f"nothing in what is there contradicts a claim: {lacking}"
    if options.json:
        warnings = _say_manifests(options)
        print_json({"schema": 1, "claims": claims, "violations": violations, "warnings": warnings})
        return code
    asked = [c for c in claims if c["asked"]]
    shown = [(c["id"], c["verdict"], c["applied"], c["violations"], c["reason"]) for c in asked]
    show(f"{count(len(asked), 'claim')} over {' '.join(map(str, options.traces))}")
    _say_manifests(options)
    show(table(("claim", "verdict", "applied", "violations", "reason"), shown))
    _print_violations(violations)
    others = sorted(c["id"] for c in claims if not c["asked"])
    if outside:
        others.append(f"outside --claims: {', '.join(sorted(outside))}")
    show(f"not checked: what no claim over traces covers; {', '.join(others) or 'no claim was left out'}")
    if code:
        show(f"exit {code}: {why}")
    show(asked_again(options))
    return code


def _print_violations(found: Sequence[Mapping[str, Any]]) -> None:
    for each in found[:SHOWN]:
        place = f" ({each['file']}:{each['position']})" if each.get("file") else ""
        where = f"peer {each['peer']}, event {each['sequence']}{place}"
        show(f"  {each['claim']}: {where}: {printable(each['witness'])}")
    if len(found) > SHOWN:
        show(f"  and {len(found) - SHOWN} more; --json lists all")


def replay(options: argparse.Namespace) -> int:
    """Check every peer of runs against the model; returns the exit status."""
    from quidnunc.pipeline.lake.engines.seam import EngineMissing
    from quidnunc.pipeline.lake.replay import replay as replayed
    from quidnunc.pipeline.lake.run_folder import RunFolder
    from quidnunc.pipeline.trace.shapes import TraceError

    claims: list[dict[str, Any]] = []
    violations: list[dict[str, Any]] = []
    try:
        for run in options.traces:
            with _replaying(options, RunFolder(run)) as engine:
                reports = replayed(RunFolder(run), engine.tasks)
            for (protocol, router), report in sorted(reports.items()):
                head = {"trace": str(run), "protocol": protocol, "against": router, "tier": "replay"}
                claims += [
                    {
                        "id": v.claim.id,
                        "clause": v.claim.clauses[0],
                        "level": v.level,
                        "binding": v.binding,
                        "asked": True,
                        "verdict": v.verdict,
                        "applied": v.applied,
                        "reason": v.reason,
                        **head,
                    }
                    for v in report.verdicts()
                ]
                violations += [
                    {
                        "claim": v.claim,
                        "clause": v.clause,
                        "run": v.run,
                        "peer": v.node,
                        "sequence": v.sequence,
                        "witness": f"{v.cause}: {v.witness}",
                    }
                    for v in report.violations
                ]
    except (TraceError, EngineMissing) as error:
        raise UsageError(str(error)) from None
    finally:
        clear_progress()
    return _print_replay(options, claims, violations)


@contextmanager
def _replaying(options: argparse.Namespace, run: RunFolder) -> Iterator[Engine]:
    """What replays a run: processes here, unless Spark is asked for, since a small run is done before it has
    started."""
    from quidnunc.pipeline.lake.engines.embedded import EmbeddedEngine, workers_for

    size = REPLAY_COST * _size(run)
    if options.master or options.engine == "spark":
        with opened_engine(options, size) as asked:
            yield asked
        return
    with EmbeddedEngine(workers_for(size), progress_line()) as engine:
        yield engine


def _print_replay(
    options: argparse.Namespace, claims: list[dict[str, Any]], violations: list[dict[str, Any]]
) -> int:
    chosen = _chosen(claims, options.claims)
    if not chosen:
        raise UsageError(f"--claims {options.claims} selects no claim of these protocols")
    names = {(c["id"]) for c in chosen}
    found = [v for v in violations if v["claim"] in names or v["clause"] in names]
    code, why = exit_of(chosen, options.strict)
    if options.json:
        print_json({"schema": 1, "claims": chosen, "violations": found})
        return code
    shown = [(c["protocol"], c["against"], c["id"], c["verdict"], c["applied"]) for c in chosen]
    show(f"every peer checked against the model: {' '.join(map(str, options.traces))}")
    show(table(("protocol", "router", "claim", "verdict", "applied"), shown))
    _print_violations(found)
    if code:
        show(f"exit {code}: {why}")
    show(asked_again(options))
    return code


def exit_of(claims: Sequence[Mapping[str, Any]], strict: bool) -> tuple[int, str]:
    """The exit status of `trace check` over runs, and why."""
    failing = [c["id"] for c in claims if c["verdict"] == "fails" or strict and c["verdict"] == "deviates"]
    if failing:
        return 1, f"fails: {', '.join(dict.fromkeys(failing))}"
    open_verdicts = ("inconclusive", "undecided")
    idle = [c["id"] for c in claims if c["asked"] and c["binding"] and c["verdict"] in open_verdicts]
    if idle:
        return 3, f"could not be decided: {', '.join(dict.fromkeys(idle))}"
    return 0, ""


def _chosen(claims: Sequence[dict[str, Any]], pattern: str) -> list[dict[str, Any]]:
    return [c for c in claims if fnmatch(c["id"], pattern) or fnmatch(c["clause"], pattern)]


def _stored(read: Callable[[Path], list[dict[str, Any]]], gold: Path) -> list[dict[str, Any]]:
    """What `read` gives of a folder of gold. Raises UsageError."""
    from quidnunc.pipeline.trace.shapes import TraceError

    try:
        return read(gold)
    except TraceError as error:
        raise UsageError(str(error)) from None
