"""quidnunc simulate, and trace check and metrics of what it writes."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from quidnunc.__main__ import main
from tests.conftest import Command

NETWORK = """
nodes: [{count: 7}, {count: 1, router: "ours:echo"}]
topology: {degree: 5}
traffic: [{count: 3}]
"""


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "net.yaml"
    path.write_text(NETWORK)
    return path


def test_a_network_is_run_measured_and_checked(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    honest = ["--set", 'nodes.1.router="ours"']
    assert main(["simulate", str(network), "-o", str(run), *honest]) == 0
    said = capsys.readouterr().out
    assert "7 gossipsub-1.2 (ours)" in said and "delivery ratio 1.0000" in said
    assert "not checked" in said and said.splitlines()[-1].startswith("again: quidnunc simulate")
    assert main(["trace", "metrics", str(run), "--json"]) == 0
    (measured,) = json.loads(capsys.readouterr().out)["runs"]
    assert measured["delivery_ratio"] == 1 and measured["messages"] == 3
    # Some claims that a MUST rests on never apply in so quiet a network.
    assert main(["trace", "check", str(run)]) == 3
    checked = capsys.readouterr().out
    assert "8 nodes, each checked against the model" in checked
    assert main(["trace", "check", str(run), "--claims", "relay.once"]) == 0
    # A simulation that checks ends as the check of its run does, for the same reason.
    capsys.readouterr()
    assert main(["simulate", str(network), "-o", str(run), *honest, "--check"]) == 3
    (why,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("exit "))
    assert why.startswith("exit 3: never applied: ") and why in checked.splitlines()


def test_a_trace_that_is_cut_off_is_no_success(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main(["simulate", str(network), "-o", str(run)]) == 0
    whole = gzip.decompress((run / "trace.jsonl.gz").read_bytes())
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(whole[:-20])
    line = whole.count(b"\n")
    capsys.readouterr()
    assert main(["trace", "metrics", str(cut)]) == 3
    assert f"exit 3: the trace is cut off at {cut}:{line}; " in capsys.readouterr().out
    assert main(["trace", "check", str(cut)]) == 3
    assert f"{cut}:{line}: cut off: the last line has no end" in capsys.readouterr().err
    assert main(["trace", "check", str(cut), "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["bad_records"] == 1 and "the trace is not whole" in told["error"]
    # Of a compressed one the end is missing as well.
    packed = tmp_path / "cut.jsonl.gz"
    packed.write_bytes(gzip.compress(whole)[:-200])
    assert main(["trace", "metrics", str(packed)]) == 3
    assert main(["trace", "check", str(packed)]) == 3
    assert "cut off: the gzip stream has no end" in capsys.readouterr().err
    # What is broken in its midst is not cut off, and no trace.
    lines = whole.splitlines(keepends=True)
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(b"".join([*lines[:5], b"{\n", *lines[5:]]))
    assert main(["trace", "check", str(broken)]) == 2


def test_the_page_has_figures_departures_and_the_network(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("numpy", reason="pip install '.[trace]'")
    page = tmp_path / "page.html"
    asked = ["simulate", str(network), "-o", str(tmp_path / "run"), "--check", "--report", str(page)]
    assert main(asked) == 1
    said = capsys.readouterr()
    assert said.err.endswith(f"wrote {page}\n") and said.out.splitlines()[-1].endswith(f"--report {page}")
    text = page.read_text(encoding="utf-8")
    assert "delivery ratio 1.0000" in text and "<code>floodsub/relay.not-back</code>" in text
    assert "claims never applied" in text, "what was not checked"
    assert text.count("<title>") == 1 + 8, "of the page, and of each node"
    # Read without script: the picture stands at a moment in which somebody has the message.
    assert 'class="node np"' in text and "<noscript>" in text and 'class="controls" hidden' in text
    first = text
    assert main(asked) == 1 and page.read_text(encoding="utf-8") == first


def test_trace_check_writes_the_same_page_of_the_run(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("numpy", reason="pip install '.[trace]'")
    run, page = tmp_path / "run", tmp_path / "page.html"
    assert main(["simulate", str(network), "-o", str(run)]) == 0
    asked = ["trace", "check", str(run), "--claims", "relay.not-back", "--report", str(page)]
    assert main(asked) == 1
    assert capsys.readouterr().out.splitlines()[-1].endswith(f"--report {page}")
    text = page.read_text(encoding="utf-8")
    assert "<code>floodsub/relay.not-back</code>" in text and '<figure class="net"' in text
    assert main(["trace", "metrics", str(run), "--report", str(page)]) == 2
    assert "--report goes with `trace check`" in capsys.readouterr().err


def test_trace_check_writes_a_page_of_a_recorded_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, page = tmp_path / "runs.trace", tmp_path / "page.html"
    searched = ["check", "gossipsub-1.2", "--against", "ours:echo", "--runs", "20", "--record", str(trace)]
    assert main(searched) == 1
    assert main(["trace", "check", str(trace), "--report", str(page)]) == 1
    text = page.read_text(encoding="utf-8")
    assert "<code>floodsub/relay.not-back</code>" in text and "a trace: 20 runs" in text
    assert "Not checked (" in text and "<script" not in text


def test_a_page_without_numpy_is_refused_before_the_run(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    run = tmp_path / "run"
    assert main(["simulate", str(network), "-o", str(run), "--report", str(tmp_path / "page.html")]) == 2
    assert "pip install '.[trace]'" in capsys.readouterr().err and not run.exists()


def test_a_failure_is_found_and_made_small(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, cases = tmp_path / "run", tmp_path / "cases"
    arguments = ["simulate", str(network), "-o", str(run), "--check", "--cases", str(cases), "--json"]
    assert main(arguments) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["outcome"]["nodes"] == 8 and told["metrics"]["delivery_ratio"] == 1
    (violation,) = told["violations"]
    assert violation["clause"] == "floodsub/relay.not-back" and violation["witness"].startswith("after `")
    assert [c["verdict"] for c in told["claims"] if c["id"] == "relay.not-back"] == ["not-refuted", "fails"]
    (case,) = told["cases"]
    assert main(["replay", case]) == 1
    capsys.readouterr()
    # The same run again takes the place of the old one.
    assert main(["trace", "check", str(run)]) == 1
    assert "departs from floodsub/relay.not-back" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--set", "links.los=1"], "links.los: no such field (did you mean loss?)"),
        (["--set", "links.loss"], "expected FIELD=VALUE"),
        (["--cases", "c"], "--cases needs --check"),
    ],
)
def test_wrong_usage(
    more: list[str], says: str, network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", str(network), "-o", str(tmp_path / "run"), *more]) == 2
    assert says in capsys.readouterr().err and not (tmp_path / "run").exists()


def test_what_is_no_run_is_left_alone(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("summary.json", "trace.jsonl.gz", "notes.txt"):
        # A campaign of `sweep` has a summary too, and what nobody here wrote is not ours to remove.
        (mine / name).write_text("{}", encoding="utf-8")
        if name != "trace.jsonl.gz":
            assert main(["simulate", str(network), "-o", str(mine)]) == 2
            assert "is no simulated run; name another place" in capsys.readouterr().err
    assert {each.name for each in mine.iterdir()} == {"summary.json", "trace.jsonl.gz", "notes.txt"}
    (mine / "notes.txt").unlink()
    # What is left has the names of a run's files, and may be one of another scenario.
    assert main(["simulate", str(network), "-o", str(mine)]) == 2
    assert "has a run of another scenario" in capsys.readouterr().err
    assert main(["simulate", str(network), "-o", str(mine), "--replace"]) == 0
    assert (mine / "scenario.yaml").is_file()


def test_a_run_is_made_again_from_inside_its_directory(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["simulate", str(network), "-o", str(tmp_path / "run")]) == 0
    monkeypatch.chdir(tmp_path / "run")
    assert main(["simulate", str(network), "-o", ".", "--seed", "5"]) == 2
    assert main(["simulate", str(network), "-o", ".", "--seed", "5", "--replace"]) == 0
    assert json.loads((tmp_path / "run" / "summary.json").read_bytes())["seed"] == 5


def test_messages_that_were_not_sent_are_counted(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "a run"
    short = ["--set", "duration_s=6.5"]
    none = ["--set", 'topics=[{"subscribers":0}]']
    assert main(["simulate", str(network), "-o", str(run), *short]) == 0
    said = capsys.readouterr().out
    assert "1 messages not sent: no node could send them, or the run was over" in said
    # What is printed to do it again does it again: spaces are quoted, and nothing is left out.
    words = shlex.split(said.splitlines()[-1])
    assert words == ["again:", "quidnunc", "simulate", str(network), "-o", str(run), *short]
    assert main(["simulate", str(network), "-o", str(run), "--replace", *none]) == 0
    assert "3 messages not sent" in capsys.readouterr().out
    assert json.loads((run / "summary.json").read_bytes())["outcome"]["unsent"] == 3
    assert main(["trace", "check", str(run), "--claims", "relay*", "--strict"]) == 3
    words = shlex.split(capsys.readouterr().out.splitlines()[-1])
    assert words == [*("again:", "quidnunc", "trace", "check", str(run), "--claims", "relay*", "--strict")]


def test_a_refused_run_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = tmp_path / "small.yaml"
    small.write_text("{nodes: [{count: 4}], traffic: [{count: 1}]}\n")
    assert main(["simulate", str(small), "-o", str(tmp_path / "run")]) == 2
    hint = "topology.degree is 8, and 4 nodes allow at most 3: --set topology.degree=3"
    assert hint in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["small.yaml"]
    again = ["simulate", str(small), "-o", str(tmp_path / "run"), "--set", "topology.degree=3"]
    assert main(again) == 0
    capsys.readouterr()
    assert main(["trace", "metrics", str(tmp_path / "run")]) == 0
    counts = re.findall(r"(\d+) events", capsys.readouterr().out)
    assert len(counts) == 2 and len(set(counts)) == 1


def test_a_topology_of_a_file_needs_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.yaml"
    path.write_text("nodes: [{count: 4}]\ntopology: {kind: file}\n")
    assert main(["simulate", str(path), "-o", str(tmp_path / "run")]) == 2
    assert "topology.kind file needs topology.path" in capsys.readouterr().err


def test_a_sweep_looks_at_its_places_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "sweep.yaml", tmp_path / "out"
    path.write_text("{check: [{protocol: gossipsub-1.2, against: ours, runs: 10}]}\n")
    assert main(["sweep", str(path), "-o", str(out), "--with", str(tmp_path / "none")]) == 2
    assert "none" in capsys.readouterr().err and not out.exists()
    out.write_text("")
    assert main(["sweep", str(path), "-o", str(out)]) == 2
    assert "is not a folder; name another folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("nodes", "links", "code"),
    [
        ("[{count: 5}, {count: 1, router: 'ours:echo'}]", "{degree: 3}", 1),
        ("[{count: 3}]", "{degree: 2}", 3),
    ],
)
def test_a_sweep_ends_as_what_it_checked(
    tmp_path: Path, quidnunc: Command, nodes: str, links: str, code: int
) -> None:
    """Mutant: one of ours that departs is no failure, and what never applied is a pass."""
    scenario = f"{{nodes: {nodes}, topology: {links}, traffic: [{{count: 2}}]}}"
    path = tmp_path / "sweep.yaml"
    path.write_text(f"simulate: [{{scenario: {scenario}, check: true}}]\n")
    told = quidnunc("sweep", path, "-o", tmp_path / "swept", "--engine", "local", "--workers", "1")
    assert told.code == code, told.out + told.err
