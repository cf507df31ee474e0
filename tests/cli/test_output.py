"""What files, routers and names hold is shown and not obeyed by a terminal; files are written whole."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quidnunc.output import UsageError, repeat_command, shell_line, show, table, write_text, write_whole
from quidnunc.pipeline.trace.events import RunStart, SentRpc, TraceEvent
from quidnunc.pipeline.trace.rpc import ControlMeta, GraftMeta, PruneMeta, RpcMeta
from tests.conftest import Command
from tests.helpers.trace_files import write_trace

RED = "t\x1b[31m"
SHOWN = r"t\x1b[31m"
FIRST_NS = 1_700_000_000_000_000_001


def grafts_too_soon(path: Path) -> Path:
    """A trace in which a node grafts in a backoff, in a topic of colour."""
    lists = [
        ControlMeta(prune=(PruneMeta(topic=RED),)),
        ControlMeta(graft=(GraftMeta(topic=RED),)),
    ]
    bodies = [SentRpc(peer=b"b", meta=RpcMeta(control=each)) for each in lists]
    write_trace([TraceEvent(body, b"a", FIRST_NS + at * 10**8) for at, body in enumerate(bodies)], path)
    return path


def test_topics_in_violations_are_shown(tmp_path: Path, quidnunc: Command) -> None:
    pytest.importorskip("pyarrow", reason="pip install '.[spark]'")
    source, run = grafts_too_soon(tmp_path / "a.jsonl"), tmp_path / RED
    made = quidnunc("ingest", source, "-o", run, "--engine", "duckdb", "--set", "prune_backoff_s=60")
    checked = quidnunc("trace", "check", run)
    assert checked.code == 1 and f" in {SHOWN}, " in checked.out
    assert "\x1b" not in made.out + made.err + checked.out + checked.err
    assert quidnunc("trace", "check", run, "--json").data["violations"]


def test_who_was_checked_is_shown(tmp_path: Path, quidnunc: Command) -> None:
    """The headline of a recorded check names the router as the trace has it."""
    said = {"schema": 1, "source": "check", "kind": "batch", "protocol": "flood", "against": RED, "name": "n"}
    said |= {"quirks": [], "version": "", "protocols": [], "capabilities": [], "fixed": {}, "extras": False}
    start = TraceEvent(RunStart(name=RED, manifest=json.dumps(said | {"seed": 0, "without": []})), b"a", 0)
    write_trace([start], tmp_path / f"{RED}.jsonl")
    checked = quidnunc("trace", "check", tmp_path / f"{RED}.jsonl")
    assert f"flood against {SHOWN}, from a trace" in checked.out, checked.err
    assert f"$'{tmp_path}/{SHOWN}.jsonl'" in checked.out and "\x1b" not in checked.out + checked.err


def test_a_line_to_repeat_is_read_by_a_shell_as_it_was_meant() -> None:
    words = [f"it's {RED}", "a\\b", "\x07", "plain", "two words"]
    line = shell_line(*words)
    assert line.isprintable() and repeat_command(*words) == f"again: quidnunc {line}"
    echo = [sys.executable, "-c", "'import sys; print(ascii(sys.argv[1:]))'"]
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(echo)} {line}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ascii(words)


def test_tables_and_lines_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show(f"one {RED}\ntwo")
    assert capsys.readouterr().out == f"one {SHOWN}\ntwo\n"
    assert table(("a",), [(RED,)]).splitlines()[-1] == SHOWN


@pytest.mark.parametrize(("written", "read"), [("a\x1b[31mb\n", r"a\x1b[31mb"), ("ä\tb\r\n", "ä\tb\r")])
def test_no_command_writes_to_stdout_what_a_terminal_obeys(written: str, read: str) -> None:
    """Whatever it prints, and however."""
    code = f"from quidnunc.output import go_on_without_reader as g; g(); print({written!r}, end='')"
    done = subprocess.run([sys.executable, "-X", "utf8", "-c", code], capture_output=True, check=True)
    assert done.stdout.decode() == f"{read}\n"


LOUD = """
import os, sys
from quidnunc.impl.ours.pubsub import open_ours

class Loud:
    def __init__(self, config):
        self.inner = open_ours(config)
        self.hello = self.inner.hello

    def __getattr__(self, name):
        os.write(1, b"noise")
        sys.stdout.close()
        sys.__stdout__.close()
        return getattr(self.inner, name)
"""


@pytest.mark.parametrize("how", ["--suite", "--runs=1"])
def test_what_a_router_in_python_writes_is_no_part_of_a_report(
    tmp_path: Path, quidnunc_apart: Command, how: str
) -> None:
    """Below Python too, as what is written in C does, and whichever stdout it closes."""
    (tmp_path / "loud.py").write_text(LOUD)
    ran = quidnunc_apart("check", "floodsub", "--against=python:loud:Loud", how, "--json", cwd=tmp_path)
    assert ran.code in (0, 3), ran.err
    assert ran.data["against"] == "python:loud:Loud" and "Traceback" not in ran.err


def test_a_file_is_there_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, linked = tmp_path / "a" / "known.toml", tmp_path / "link"
    write_text(path, "first")
    path.chmod(0o640)
    linked.symlink_to(path)
    write_text(linked, "second")
    assert linked.is_symlink() and path.read_text() == "second" and path.stat().st_mode & 0o777 == 0o640

    (inside := tmp_path / "found.case").symlink_to(path)
    write_whole(inside, "a case")
    assert not inside.is_symlink() and inside.read_text() == "a case" and path.read_text() == "second"

    def full(self: Path, *given: Any, **options: Any) -> int:
        self.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(UsageError, match="known.toml cannot be written: No space left"):
        write_text(path, "third")
    assert path.read_text() == "second" and [*path.parent.iterdir()] == [path]
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "third")


def test_a_device_is_written_to(capfd: pytest.CaptureFixture[str]) -> None:
    write_text(Path("/dev/stdout"), "shown")
    assert capfd.readouterr().out == "shown"
