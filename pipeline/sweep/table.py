"""The simulated runs of a sweep as one table: a row for each run, for pandas, R or DuckDB."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quidnunc.pipeline.sweep.file import Job, Result
from quidnunc.pipeline.sweep.summary import COUNTED, figures_of
from quidnunc.properties.lazy import parquet, pyarrow

CSV, PARQUET = "runs.csv", "runs.parquet"
COMMON = ("campaign", "seed", "broken")


def write_runs(folder: Path, runs: Sequence[tuple[Job, Result]]) -> None:
    """Write the table as CSV, and as Parquet where pyarrow is there.

    Columns: campaign, seed, broken (the reason), `vary.NAME` for each varied value, and each figure. What
    was not measured is empty; what was not sent is 0.
    """
    if not runs:
        return
    columns, rows = table_of(runs)
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    _replace(folder / CSV, text.getvalue().encode())
    if importlib.util.find_spec("pyarrow"):
        into = io.BytesIO()
        arrays = {name: pyarrow.array([row.get(name) for row in rows]) for name in columns}
        parquet.write_table(pyarrow.table(arrays), into)
        _replace(folder / PARQUET, into.getvalue())


def table_of(runs: Sequence[tuple[Job, Result]]) -> tuple[list[str], list[dict[str, Any]]]:
    """The names of all columns, and the rows in the order of the plan."""
    # What a run has sent nothing of, it has sent none of.
    kinds = {n for _, r in runs if "broken" not in r for n in figures_of(r) if n.startswith(COUNTED)}
    none_sent = dict.fromkeys(sorted(kinds), 0.0)
    rows = []
    for job, result in runs:
        figures = {} if "broken" in result else {**none_sent, **figures_of(result)}
        varied = {f"vary.{name}": value for name, value in job["point"].items()}
        rows.append(
            {
                "campaign": job["campaign"],
                "seed": job["seed"],
                "broken": result.get("broken"),
                **varied,
                **{name: float(value) for name, value in figures.items()},
            }
        )
    names = dict.fromkeys(name for row in rows for name in row)
    varied_names = [name for name in names if name.startswith("vary.")]
    for name in varied_names:
        values = [row[name] for row in rows if name in row]
        if len({_kind(value) for value in values}) > 1 or _kind(values[0]) == "other":
            # A column has one type: what is no plain value, or a number here and a text there, is JSON.
            for row in rows:
                if name in row:
                    row[name] = json.dumps(row[name], sort_keys=True)
    return [*COMMON, *varied_names, *sorted(set(names) - set(COMMON) - set(varied_names))], rows


def _kind(value: Any) -> str:
    if isinstance(value, bool | str):
        return type(value).__name__
    return "number" if isinstance(value, int | float) else "other"


def _replace(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(content)
    os.replace(part, path)
