"""The whole pipeline on Spark, in one session: as DuckDB has it row for row, and growing with its
directory."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from quidnunc.pipeline.lake.gold.build import CLAIMS_FILE, METRICS_FILE, gold_of
from quidnunc.pipeline.lake.ingest import SourceOptions, gold_wanted
from quidnunc.pipeline.lake.run_folder import RunFolder
from quidnunc.pipeline.trace.events import HeartbeatEvent, RunStart, TraceEvent
from tests.conftest import Command, Ran

parquet = pytest.importorskip("pyarrow.parquet", reason="pip install '.[spark]'")
from quidnunc.pipeline.lake.gold.witness import VIOLATIONS, VIOLATIONS_JSON
from tests.helpers.duck import Duck
from tests.helpers.networks import SAID, Landing, land, silver_of
from tests.helpers.trace_files import write_trace

TABLES = (
    *(
        "message_stats",
        "mesh_spans",
        "mesh_degree",
        "mesh_over_time",
        "one_sided",
        "missing",
        "redundancy",
        "hops",
    ),
)


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Landing:
    return land(tmp_path_factory.mktemp("land"), faulty=True)


def test_ingest_gives_what_duckdb_does_and_the_commands_tell_it(
    spark: Any, landing: Landing, tmp_path: Path, quidnunc: Command
) -> None:
    """One test, because it is the one that takes Spark long; what is told of the run needs Spark no more."""
    root = tmp_path / "made"
    ran = quidnunc("ingest", landing.folder, "-o", root, *SAID, "--engine", "spark", "--json")
    assert ran.code == 0, ran.err
    as_duckdb_has_it(landing, root, tmp_path, ran)
    told_of_the_run(quidnunc, root, landing)
    wrong_usage_is_said(quidnunc, root, landing, tmp_path)


def test_a_manifest_that_is_nested_too_deep_says_nothing(tmp_path: Path) -> None:
    """Mutant: one event of a stranger's trace ends the making of gold with a RecursionError."""
    start = TraceEvent(RunStart(name="deep", manifest="[" * 5000 + "]" * 5000), None, 1)
    write_trace([start, TraceEvent(HeartbeatEvent(), b"p", 2)], tmp_path / "land" / "a.jsonl", "json")
    silver = silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=1))
    assert len(gold_of(Duck(silver), gold_wanted(RunFolder(tmp_path / "run"))).metrics) == 1


def as_duckdb_has_it(landing: Landing, root: Path, tmp_path: Path, ran: Ran) -> None:
    """Silver as it is made in one process, gold as DuckDB has it, and every fault in its place."""
    gold = Path(ran.data["gold"])
    run = RunFolder(root)
    silver = run.silver(ran.data["silver"])
    assert same_rows(silver, silver_of(landing.folder, tmp_path / "run"))
    assert not (root / "work").exists()

    duck = Duck(silver)
    expected = gold_of(duck, gold_wanted(run))
    for name in TABLES:
        table = parquet.read_table(gold / name)
        other = duck.rows(f"SELECT {', '.join(table.column_names)} FROM {name}")
        assert counted(table.to_pylist()) == counted(other), name
        # Nobody misses a message in these traces; test_claims_missing.py has faults for that table.
        assert other or name == "missing", name
    assert rounded(json.loads((gold / METRICS_FILE).read_bytes())["runs"]) == rounded(expected.metrics)
    assert json.loads((gold / CLAIMS_FILE).read_bytes())["claims"] == expected.claims
    found = json.loads((gold / VIOLATIONS_JSON).read_bytes())
    assert [(v["claim"], v["sequence"]) for v in found] == [
        (v["claim"], v["seq"]) for v in expected.violations
    ]
    assert sorted((v["claim"], v["peer"]) for v in found) == landing.faults
    assert parquet.read_table(gold / VIOLATIONS).to_pylist() == found


def same_rows(silver: Path, other: Path) -> bool:
    return all(
        parquet.read_table(file).equals(parquet.read_table(other / file.name))
        for file in silver.glob("*.parquet")
    )


def counted(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    """Rows as a multiset; sums of floats depend on their order."""
    return Counter(tuple(round(v, 9) if isinstance(v, float) else v for v in row.values()) for row in rows)


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


# -- what is said of a run needs no Spark -------------------------------------------------------------------


def told_of_the_run(quidnunc: Command, root: Path, landing: Landing) -> None:
    """`trace metrics` and `trace check` of a run."""
    told = quidnunc("trace", "metrics", root)
    assert told.code == 0
    assert (
        "delivery ratio" in told.out and "one sided too long 5" in told.out and "routes disabled" in told.out
    )
    assert quidnunc("trace", "metrics", root, "--json").data["runs"][0]["delivery_ratio"] == 1.0

    checked = quidnunc("trace", "check", root)
    assert checked.code == 1
    assert "idontwant.honoured          fails" in checked.out and "exit 1: fails: " in checked.out
    assert "who had said IDONTWANT at event" in checked.out or "more; --json lists all" in checked.out
    plain = quidnunc("trace", "check", root, "--json").data
    assert len(plain["violations"]) == len(landing.faults)
    assert {"claim", "peer", "sequence", "witness"} <= plain["violations"][0].keys()
    one = quidnunc("trace", "check", root, "--claims", "reset.*", "--json")
    assert (one.code, [c["id"] for c in one.data["claims"]]) == (0, ["reset.one"])
    left_out = quidnunc("trace", "check", root, "--claims", "reset.*").out
    assert "outside --claims: backoff.no-graft" in left_out and "no claim was left out" not in left_out
    assert quidnunc("trace", "check", root, "--claims", "nothing").code == 2


def wrong_usage_is_said(quidnunc: Command, root: Path, landing: Landing, tmp_path: Path) -> None:
    """What cannot be asked is refused, with the reason."""
    for arguments, said in (
        (("ingest", tmp_path / "none", "-o", tmp_path / "run"), "no such file or directory"),
        (("ingest", landing.folder, "-o", landing.folder), "is the source as well as the run"),
        (("ingest", landing.folder, "-o", tmp_path / "run", "--set", "x=1"), "no setting 'x'"),
        (("ingest", landing.folder, "-o", tmp_path / "run", "--buckets", "0"), "--buckets must be from 1"),
        (("trace", "check", root, landing.folder), "not both"),
        (("trace", "metrics", landing.folder, "--set", "skew_ms=1"), "need a folder of `quidnunc ingest`"),
    ):
        ran = quidnunc(*arguments)
        assert (ran.code, said in ran.err) == (2, True), ran.err


def test_where_spark_is_asked_for_its_lack_is_said(
    quidnunc: Command, landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quidnunc.pipeline.lake import spark_session

    def missing() -> None:
        raise spark_session.EngineMissing("Java 17 or newer: apt-get install openjdk-17-jre-headless")

    monkeypatch.setattr(spark_session, "_demand_pyspark", missing)
    ran = quidnunc("ingest", landing.folder, "-o", tmp_path / "run", "--engine", "spark")
    assert (ran.code, "apt-get install openjdk-17-jre-headless" in ran.err) == (2, True)
    assert not (tmp_path / "run").exists()
