"""The runs of a sweep as a table: what others read of it is what the summary has."""

from __future__ import annotations

import csv
import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from quidnunc.pipeline.sweep.executors import LocalExecutor
from quidnunc.pipeline.sweep.file import load_sweep
from quidnunc.pipeline.sweep.run import carry_out
from quidnunc.pipeline.sweep.table import table_of, write_runs

SWEEP = """
name: small
simulate:
  - scenario:
      nodes: [{count: 5}]
      topology: {degree: 3}
      traffic: [{count: 3}]
    vary: {links.loss: [0, 0.2]}
    seeds: 2
"""


def result(delivered: float, **more: Any) -> dict[str, Any]:
    metrics = {"messages": 2, "delivery_ratio": delivered, "copies": 1.5, "deliveries": 8, "latency_ms": None}
    metrics |= {"sent": {"graft": 3}, "bytes": {"graft": 30}}
    return {"metrics": metrics, "outcome": {"nodes": 4, "lost_rpcs": 0, "connections": 6}, **more}


def test_values_of_several_kinds_share_a_column_as_json(tmp_path: Path) -> None:
    points: list[dict[str, Any]] = [{"links": {"kind": "pairs"}}, {"links": 3}, {}]
    runs = [({"campaign": 0, "seed": n, "point": point}, result(0.5)) for n, point in enumerate(points)]
    runs.append(({"campaign": 0, "seed": 3, "point": {}}, {"broken": "it, and\nall"}))
    columns, rows = table_of(runs)
    assert columns[:4] == ["campaign", "seed", "broken", "vary.links"]
    assert [row.get("vary.links") for row in rows] == ['{"kind": "pairs"}', "3", None, None]
    assert "delivery_ratio" not in rows[3] and rows[0]["delivery_ratio"] == 0.5
    runs[0][1]["metrics"]["sent"] = {"iwant": 2}
    assert [row.get("sent_iwant") for row in table_of(runs)[1]] == [2.0, 0.0, 0.0, None]
    write_runs(tmp_path, runs)
    with (tmp_path / "runs.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["broken"] for row in read] == ["", "", "", "it, and\nall"]


def test_a_sweep_without_networks_has_no_table(tmp_path: Path) -> None:
    write_runs(tmp_path, [])
    assert not list(tmp_path.iterdir())


def test_means_of_the_table_are_those_of_the_summary(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install '.[trace]'")
    (tmp_path / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    carry_out(load_sweep(tmp_path / "sweep.yaml", "sources"), tmp_path / "out", LocalExecutor(1))
    rows = parquet.read_table(tmp_path / "out" / "runs.parquet").to_pylist()
    assert [(row["vary.links.loss"], row["seed"]) for row in rows] == [(0, 0), (0, 1), (0.2, 0), (0.2, 1)]
    for point in json.loads((tmp_path / "out" / "summary.json").read_bytes())["simulate"]:
        here = [row for row in rows if row["vary.links.loss"] == point["point"]["links.loss"]]
        for name, spread in point["figures"].items():
            assert statistics.fmean(row[name] or 0.0 for row in here) == pytest.approx(spread["mean"]), name
