"""Where a command cannot write what it is asked to, it says so before it works."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quidnunc.__main__ import COMMANDS, parser_of
from quidnunc.options.outputs import FILES, FOLDERS, demand_writable
from quidnunc.output import UsageError
from tests.conftest import Command

READ = {
    *(("clauses", "text"), ("ingest", "sources"), ("params", "files"), ("recall", "ids")),
    *(("regress", "cases"), ("replay", "paths"), ("report", "paths"), ("simulate", "scenario")),
    *(("spec", "cases"), ("sweep", "sweep"), ("sweep", "earlier"), ("trace", "traces")),
}
"""(command, option) of a path that is read."""


def paths_of(command: str) -> set[tuple[str, str]]:
    (found,) = (
        a.choices[command]
        for a in parser_of(command)._actions
        if isinstance(a, argparse._SubParsersAction) and a.choices
    )
    return {(command, action.dest) for action in found._actions if action.type is Path}


def test_every_path_is_read_or_tried() -> None:
    """An option that is added later and written blindly would fail when the work is done."""
    paths = {each for command in COMMANDS for each in paths_of(command)}
    assert {*FILES, *FOLDERS} <= paths
    assert paths - FILES - FOLDERS <= READ
    assert not READ & (FILES | FOLDERS)


@pytest.mark.parametrize(
    "words",
    [
        "check dog --against ours --runs 1000000 --cases {0}",
        "check dog --against ours --runs 1000000 --junit {0}",
        "check dog --against ours --runs 1000000 --update-expect --expect {0}",
        "ingest README.md -o {0}",
        "matrix dog --against ours --runs 1000000 -o {0}",
        "prove mesh-link --smt2 {0}",
        "recall -o {0}",
        "regress gossipsub-1.1 gossipsub-1.2 --sarif {0}",
        "replay counterexamples/networks --report {0}",
        "report counterexamples/networks -o {0}",
        "simulate docs/examples/network.yaml -o {0}",
        "spec dog --html {0}",
        "sweep docs/examples/sweep.yaml -o {0}",
        "trace report README.md -o {0}",
        "trace check README.md --report {0}",
    ],
)
@pytest.mark.parametrize("path", ["/proc/x", "/dev/null/x"])
def test_what_cannot_be_written_is_told_first(quidnunc: Command, words: str, path: str) -> None:
    """Also to an administrator, to whom /proc seems writable. A search of a million runs would time out."""
    ran = quidnunc(*words.format(path).split())
    option = words.split()[-2]
    assert ran.code == 2 and not ran.out
    assert f"quidnunc {words.split()[0]}: {option} {path} cannot be written: " in ran.err
    assert "; name another f" in ran.err and "bug in quidnunc" not in ran.err


def test_a_file_is_no_folder_and_a_folder_no_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept", encoding="utf-8")
    options = argparse.Namespace(command="ingest", output=file)
    with pytest.raises(UsageError, match="is not a folder; name another folder"):
        demand_writable(options)
    options = argparse.Namespace(command="report", output=tmp_path)
    with pytest.raises(UsageError, match="is a folder, not a file; name another file"):
        demand_writable(options)
    demand_writable(argparse.Namespace(command="report", output=file))
    demand_writable(argparse.Namespace(command="ingest", output=tmp_path / "new" / "folder"))
    assert [*tmp_path.iterdir()] == [file] and file.read_text(encoding="utf-8") == "kept"


def test_a_file_that_is_only_read_may_be_anywhere(tmp_path: Path) -> None:
    """`check --expect FILE` reads it; only with --update-expect it is written."""
    names = ("cases", "private", "record", "report", "junit", "sarif")
    options = argparse.Namespace(command="check", **dict.fromkeys(names), update_expect=False)
    options.expect = Path("/proc/version")
    demand_writable(options)
    options.update_expect, options.expect = True, Path("/proc/x.toml")
    with pytest.raises(UsageError, match="--expect /proc/x.toml cannot be written"):
        demand_writable(options)
    page = argparse.Namespace(command="trace", what="check", output=Path("/proc/x"), report=None)
    demand_writable(page)


def test_a_command_whose_output_is_closed_ends_with_its_own_status(tmp_path: Path) -> None:
    """As `| head -1` closes it: else a failure ends with 0."""
    read, write = os.pipe()
    os.close(read)
    words = "check", "floodsub", "--against", "ours:echo", "--runs", "2"
    ran = subprocess.run(
        [sys.executable, "-m", "quidnunc", *words],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    os.close(write)
    assert ran.returncode == 1 and "Broken" not in ran.stderr
