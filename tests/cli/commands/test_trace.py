"""quidnunc trace: what is lost of a trace, or odd about it, is said and told by the exit status."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from quidnunc.pipeline.trace.events import DeliverMessage, TraceEvent
from tests.conftest import Command
from tests.helpers.trace_files import write_trace

FIRST_NS = 1_700_000_000_000_000_001


def trace_at(path: Path, count: int = 20) -> Path:
    """A trace of some deliveries."""
    events = [
        TraceEvent(DeliverMessage(message_id=b"%d" % at, topic="t"), b"a", FIRST_NS + at * 1000)
        for at in range(count)
    ]
    write_trace(events, path)
    return path


# -- what is lost -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["one bad line", "two bad lines", "checksum", "unreadable", "unfinished"])
def test_figures_of_a_part_of_a_trace_are_no_success(tmp_path: Path, quidnunc: Command, how: str) -> None:
    data = trace_at(tmp_path / "land" / "a.jsonl").read_bytes()
    source, said = tmp_path / "land", f"b.jsonl: {how}"
    if "line" in how:
        bad = b'{"type": 77}\n' * (1 if how.startswith("one") else 2)
        source = tmp_path / "b.jsonl"
        source.write_bytes(data + bad)
        said = "1 record could not be read" if how.startswith("one") else "2 records could not be read"
    elif how == "checksum":
        source = tmp_path / "b.jsonl.gz"
        source.write_bytes(gzip.compress(data)[:-8] + bytes(8))
        said = "a gzip stream fails its checksum"
    else:
        (source / "b.jsonl").write_bytes(b"" if how == "unfinished" else b"\x00\x01")
    if how == "unreadable":
        said = "1 record could not be read"
    found = quidnunc("trace", "metrics", source)
    assert found.code == 3 and quidnunc("trace", "metrics", source, "--json").code == 3
    (why,) = [line for line in found.out.splitlines() if line.startswith("exit 3: ")]
    assert said in why and "metrics of 1 run, 20 events" in found.out


def test_a_run_that_was_made_of_a_part_of_a_trace_is_no_success(tmp_path: Path, quidnunc: Command) -> None:
    pytest.importorskip("pyarrow", reason="pip install '.[spark]'")
    source, run = trace_at(tmp_path / "a.jsonl"), tmp_path / "run"
    source.write_bytes(source.read_bytes() + b'{"type": 77}\n')
    made = quidnunc("ingest", source, "-o", run, "--engine", "duckdb")
    assert (
        made.code == 3
        and "exit 3: incomplete: 1 record could not be read; the first: a.jsonl:21:" in made.out
    )
    assert "1 bad record put aside" in made.err
    found = quidnunc("trace", "metrics", run)
    assert found.code == 3 and "the figures are of what is there: 1 record could not be read" in found.out


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty so far"),
        (gzip.compress(b"", mtime=0), "a gzip stream of nothing"),
        (b"\n\n\n", "all of it is blank"),
    ],
)
def test_a_file_of_nothing_is_named_and_no_success(
    tmp_path: Path, quidnunc: Command, data: bytes, said: str
) -> None:
    pytest.importorskip("pyarrow", reason="pip install '.[spark]'")
    good, run = trace_at(tmp_path / "a.jsonl"), tmp_path / "run"
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(data)
    found = quidnunc("trace", "metrics", good, empty)
    assert found.code == 3 and "empty.jsonl:" in found.err and said in found.err
    made = quidnunc("ingest", good, empty, "-o", run, "--engine", "duckdb")
    assert made.code == 3 and "empty.jsonl:" in made.err and said in made.err
    alone = quidnunc("trace", "metrics", empty)
    assert alone.code == 2 and said in alone.err


@pytest.mark.parametrize("text", ["", '"claims"', '{"claims": [{}]}', '{"claims": 1, "runs": 1}', "[" * 9999])
@pytest.mark.parametrize("name", ["claims.json", "metrics.json", "violations.json"])
def test_a_folder_that_is_not_whole_is_refused_in_a_line(
    tmp_path: Path, quidnunc: Command, name: str, text: str
) -> None:
    pytest.importorskip("pyarrow", reason="pip install '.[spark]'")
    run = tmp_path / "run"
    assert quidnunc("ingest", trace_at(tmp_path / "a.jsonl"), "-o", run, "--engine", "duckdb").code == 0
    (file,) = run.glob(f"gold/*/{name}")
    file.write_text(text, encoding="utf-8")
    what = "metrics" if name == "metrics.json" else "check"
    found = quidnunc("trace", what, run)
    assert found.code == 2 and f"{file}: not what `quidnunc ingest` writes there" in found.err
    assert len(found.err.splitlines()) == 1 and f"remove {file.parent}" in found.err


def test_what_is_printed_as_json_says_its_schema(tmp_path: Path, quidnunc: Command) -> None:
    pytest.importorskip("pyarrow", reason="pip install '.[spark]'")
    source, run = trace_at(tmp_path / "a.jsonl"), tmp_path / "run"
    assert quidnunc("ingest", source, "-o", run, "--engine", "duckdb").code == 0
    cut = tmp_path / "cut.jsonl"
    recorded = tmp_path / "recorded.jsonl"
    quidnunc("check", "flood", "--against", "ours", "--runs", 1, "--record", recorded)
    cut.write_bytes(recorded.read_bytes()[:-9])
    for words in (("metrics", source), ("metrics", run), ("check", run), ("check", recorded), ("check", cut)):
        assert quidnunc("trace", *words, "--json").data["schema"] == 1, words
