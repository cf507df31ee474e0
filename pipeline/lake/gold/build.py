"""Silver to gold: tables of metrics, and the violations of every claim that the trace can decide.

All of it is a function of silver and of the settings, whose digest is the version's name.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen

from quidnunc.pipeline.lake.engines.seam import QueryEngine, Rows
from quidnunc.pipeline.lake.gold import hops
from quidnunc.pipeline.lake.gold.claims import (
    CLAIMS,
    RunFacts,
    TraceClaim,
    TraceSettings,
    clauses_of_trace,
    denial_reason,
    families,
    granted_needs,
    protocols_named,
)
from quidnunc.pipeline.lake.gold.metrics import metrics_of_rows
from quidnunc.pipeline.lake.gold.queries import (
    HOPS,
    METRICS,
    OF_CLAIMS,
    PREPARED,
    VIOLATION,
    GoldQuery,
    with_settings,
)
from quidnunc.pipeline.lake.gold.views import write_views
from quidnunc.pipeline.lake.gold.witness import write_witnesses
from quidnunc.pipeline.lake.run_folder import SCHEMA, RunFolder, version_of, write_json
from quidnunc.pipeline.lake.silver.build import unreadable_files
from quidnunc.pipeline.trace.shapes import TraceError

CLAIMS_FILE, METRICS_FILE = "claims.json", "metrics.json"
GOLD_SCHEMA = 8
"""Raised whenever a query or a file of gold changes, so that an older gold is made again."""
MAX_VIOLATIONS = 100_000
"""Kept of all claims; all are counted."""


@frozen(kw_only=True)
class GoldRequest:
    """What a gold is made of: a silver, what is known of its making, and the settings."""

    silver: str
    completeness: str
    clock: str
    settings: TraceSettings

    @property
    def version(self) -> str:
        settings = attrs.asdict(self.settings)
        return version_of("gold", SCHEMA, GOLD_SCHEMA, self.silver, self.completeness, self.clock, settings)


@frozen(kw_only=True)
class GoldResults:
    """What the queries found, before it is put in words."""

    runs: list[dict[str, Any]]
    metrics: list[dict[str, Any]]
    claims: list[dict[str, Any]]
    violations: Rows


def gold_of(engine: QueryEngine, wanted: GoldRequest) -> GoldResults:
    """Everything that gold has, by any engine."""
    values = wanted.settings.texts()
    rows = {q.name: engine.make(q) for q in with_settings(METRICS, values)}
    engine.group("hops", hops.WANTED, "message", hops.hop_batches, hops.SCHEMA)
    rows |= {q.name: engine.make(q) for q in with_settings(HOPS, values)}
    runs = _runs(rows, wanted)
    claims, violations = _decide(engine, wanted.settings, runs, rows)
    return GoldResults(runs=runs, metrics=metrics_of_rows(rows, runs), claims=claims, violations=violations)


def make_gold(run: RunFolder, wanted: GoldRequest, engine: Callable[[Path, Path], QueryEngine]) -> Path:
    """The gold of a silver, made or found; returns its folder.

    `engine` makes one of the folder of silver and that of the tables.
    """
    target = run.gold(wanted.version)
    if (target / CLAIMS_FILE).is_file():
        return target
    if bad := unreadable_files(run.silver(wanted.silver)):
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        again = f"`quidnunc ingest` with the same sources and -o {run.root} makes the tables anew"
        raise TraceError(f"{bad[0]}{more}: missing, or cannot be read to its end; {again}")
    making = run.work / f"gold-{wanted.version}.part"
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    silver = run.silver(wanted.silver)
    asked = engine(silver, making)
    gold = gold_of(asked, wanted)
    asked.forget()
    write_json(making / METRICS_FILE, {"runs": gold.metrics})
    write_witnesses(gold.violations, gold.runs, silver, making)
    write_views(silver, making, str(target.relative_to(run.root)))
    write_json(making / CLAIMS_FILE, {"claims": gold.claims, "settings": attrs.asdict(wanted.settings)})
    target.parent.mkdir(parents=True, exist_ok=True)
    making.rename(target)
    return target


def _runs(rows: Mapping[str, Rows], wanted: GoldRequest) -> list[dict[str, Any]]:
    """The runs of a folder, by number: what their RUN events say, and what was said of the whole."""
    runs = {row["run"]: _described(row["run"], row["more"], wanted) for row in rows["run_events"]}
    for row in rows["run_spans"]:
        runs.setdefault(row["run"], _described(row["run"], None, wanted))
    return [runs[number] for number in sorted(runs)]


def _described(number: int, line: str | None, wanted: GoldRequest) -> dict[str, Any]:
    event = json.loads(line)["run"] if line else {}
    try:
        manifest = json.loads(event.get("manifest") or "{}")
    except (ValueError, RecursionError):
        manifest = {}
    said = manifest if isinstance(manifest, dict) else {}
    return {
        "id": number,
        "name": event.get("name") or "",
        # What a user says of a trace has more weight than what its writer did.
        "completeness": _weaker(wanted.completeness, said.get("completeness")),
        "clock": str(said.get("clock") or "own") if wanted.clock == "unknown" else wanted.clock,
        "protocols": protocols_named(said),
    }


def _weaker(of_all: str, of_run: object) -> str:
    if of_all != "full" or of_run is None:
        return of_all
    return str(of_run)[:40]


# -- claims -------------------------------------------------------------------------------------------------


def _decide(
    engine: QueryEngine, settings: TraceSettings, runs: Sequence[Mapping[str, Any]], rows: Mapping[str, Rows]
) -> tuple[list[dict[str, Any]], Rows]:
    """What is said of each claim, and the violations."""
    allowed = _allowed(settings, runs, rows)
    values = settings.texts()
    for query in with_settings(PREPARED, values):
        engine.make(query)
    asked = [claim for claim in CLAIMS if any(not why for why in allowed[claim.id].values())]
    applied = _applied(engine, asked)
    violations, counts = _violations(engine, asked, values, allowed)
    there = families((row["type"], row["kind"]) for row in rows["kind_counts"])
    named = [run["protocols"] for run in runs]
    clauses = clauses_of_trace(frozenset().union(*named) if all(named) else (), there)
    found = [_verdict(c, allowed[c.id], applied, counts, clauses.get(c.id, "")) for c in CLAIMS]
    return found, [row for row in violations if row["claim"] in clauses]


def _allowed(
    settings: TraceSettings, runs: Sequence[Mapping[str, Any]], rows: Mapping[str, Rows]
) -> dict[str, dict[int, str]]:
    """Why a claim cannot be decided on a run, or nothing: claim -> run -> reason."""
    spans = {row["run"]: row for row in rows["run_spans"]}
    backoffs = {row["run"] for row in rows["backoff_values"] if row["said"]}
    prunes = {row["run"] for row in rows["backoff_values"]}
    result: dict[str, dict[int, str]] = {claim.id: {} for claim in CLAIMS}
    for run in runs:
        span = spans.get(run["id"])
        if span is None:
            continue
        told = RunFacts(
            completeness=run["completeness"],
            clock=run["clock"],
            types=frozenset(r["type"] for r in rows["kind_counts"] if r["run"] == run["id"]),
            observers=span["observers"],
            times=span["first_ns"] is not None,
            backoffs=run["id"] in backoffs,
        )
        granted = granted_needs(told, settings)
        for claim in CLAIMS:
            result[claim.id][run["id"]] = denial_reason(
                claim, granted, told.completeness, prunes=run["id"] in prunes
            )
    return result


def _applied(engine: QueryEngine, asked: Sequence[TraceClaim]) -> dict[tuple[str, int], int]:
    if not asked:
        return {}
    parts = [
        f"SELECT '{c.id}' AS claim, run, applied FROM ({OF_CLAIMS[c.id, 'applied']}) AS one" for c in asked
    ]
    return {(r["claim"], r["run"]): r["applied"] or 0 for r in engine.rows(" UNION ALL ".join(parts))}


def _violations(
    engine: QueryEngine,
    asked: Sequence[TraceClaim],
    values: Mapping[str, object],
    allowed: Mapping[str, Mapping[int, str]],
) -> tuple[Rows, dict[str, int]]:
    """The violations in runs that can be judged, and how many there are of each claim."""
    if not asked:
        return [], {}
    columns = ", ".join(VIOLATION)
    found = {c.id: OF_CLAIMS[c.id, "violations"].format(**values) for c in asked}
    text = " UNION ALL ".join(
        f"SELECT '{id}' AS claim, {columns} FROM ({q}) AS one" for id, q in found.items()
    )
    engine.make(GoldQuery("violations_found", "kept", text))
    judged = {(claim, run) for claim, runs in allowed.items() for run, why in runs.items() if not why}
    counts: dict[str, int] = {}
    for row in engine.rows("SELECT claim, run, COUNT(*) AS n FROM violations_found GROUP BY claim, run"):
        if (row["claim"], row["run"]) in judged:
            counts[row["claim"]] = counts.get(row["claim"], 0) + row["n"]
    room = f"LIMIT {MAX_VIOLATIONS}"
    rows = (
        engine.rows(f"SELECT * FROM violations_found ORDER BY claim, run, peer, seq, remote {room}")
        if counts
        else []
    )
    return [row for row in rows if (row["claim"], row["run"]) in judged], counts


def _verdict(
    claim: TraceClaim,
    allowed: Mapping[int, str],
    applied: Mapping[tuple[str, int], int],
    counts: Mapping[str, int],
    clause: str,
) -> dict[str, Any]:
    """`clause`: the one by which it is asked; empty where it is of other protocols than the trace."""
    from quidnunc.properties.claims.catalogue import breach_of, level_of

    judged = [run for run, why in allowed.items() if not why]
    how_often = sum(applied.get((claim.id, run), 0) for run in judged)
    violations = counts.get(claim.id, 0) if clause else 0
    breach = breach_of(clause or claim.clause) if claim.promised else "observed"
    verdict: str
    reason = ""
    if not clause:
        verdict, reason = "inconclusive", "never applied: it is of other protocols than the trace"
    elif not judged:
        verdict, reason = "inconclusive", next(iter(allowed.values()), "there is no event in it")
    elif violations:
        verdict = breach
        some = "1 violation" if violations == 1 else f"{violations} violations"
        reason = some if claim.promised else f"{violations} of {how_often} did not"
    elif not how_often:
        verdict, reason = "inconclusive", "never applied"
    else:
        verdict = "not-refuted"
    if judged and len(judged) < len(allowed):
        reason = f"{reason}; " if reason else ""
        reason += f"{len(allowed) - len(judged)} of {len(allowed)} runs could not be judged"
    return {
        "id": claim.id,
        "clause": clause or claim.clause,
        "says": claim.says,
        "level": level_of(clause or claim.clause),
        "binding": breach == "fails",
        "tier": claim.tier,
        "asked": bool(clause),
        "verdict": verdict,
        "applied": how_often,
        "violations": violations,
        "reason": reason,
    }
