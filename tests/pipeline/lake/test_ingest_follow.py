"""Files that keep coming: what is taken bit by bit is what is taken at once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from quidnunc.pipeline.lake.engines.embedded import EmbeddedEngine
from quidnunc.pipeline.lake.engines.seam import task_progress
from quidnunc.pipeline.lake.gold.claims import TraceSettings
from quidnunc.pipeline.lake.ingest import Follow, SourceOptions, ingest, manifest_of
from quidnunc.pipeline.lake.run_folder import RunFolder
from quidnunc.pipeline.trace.files import listed
from tests.conftest import Command
from tests.helpers.interrupts import hear_interrupts
from tests.helpers.networks import Landing, land

pytest.importorskip("duckdb", reason="pip install '.[trace]'")
SAID = ("--clock", "one", "--buckets", "3", "--engine", "duckdb")


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Landing:
    return land(tmp_path_factory.mktemp("land"), faulty=True, files=5)


def said_of(run: Path, quidnunc: Command) -> Any:
    """What gold says of each claim."""
    claims = quidnunc("trace", "check", run, "--json", "--engine", "duckdb").data["claims"]
    return [{name: value for name, value in claim.items() if name != "trace"} for claim in claims]


def test_who_follows_takes_what_comes_and_ends_with_all(
    landing: Landing, tmp_path: Path, quidnunc: Command
) -> None:
    growing, run = tmp_path / "growing", tmp_path / "run"
    growing.mkdir()
    command = [sys.executable, "-m", "quidnunc", "ingest", str(growing), "-o", str(run), "--follow", "0.1"]
    process = subprocess.Popen([*command, *SAID], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr is not None
    files = sorted(landing.folder.iterdir())
    try:
        for count, path in enumerate(files, 1):
            shutil.copy(path, tmp_path / path.name)
            (tmp_path / path.name).rename(growing / path.name)
            assert any("1 new file," in line and f"; {count} files," in line for line in process.stderr)
            assert not (run / "gold").exists()
        # What comes between the last look and the stop is taken.
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert "stopping: what is there is taken in" in err and "next: quidnunc trace metrics" in out
    assert quidnunc("ingest", landing.folder, "-o", tmp_path / "once", *SAID).code == 0
    assert said_of(run, quidnunc) == said_of(tmp_path / "once", quidnunc)


def test_nothing_that_came_is_said_at_the_stop(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    command = [sys.executable, "-m", "quidnunc", "ingest", "empty", "-o", "run", "--follow", "0.1", *SAID]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=hear_interrupts
    )
    assert process.stderr is not None
    assert any("following every 0.1 s" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 2 and "no trace event could be read; there is no file" in err, err


def test_metrics_and_claims_may_wait(landing: Landing, tmp_path: Path, quidnunc: Command) -> None:
    run = tmp_path / "run"
    assert quidnunc("ingest", landing.folder, "-o", run, "--no-gold", *SAID).code == 0
    assert manifest_of(RunFolder(run))["records"] > 5000 and not (run / "gold").exists()
    waited = said_of(run, quidnunc)
    assert (run / "gold").exists()
    assert quidnunc("ingest", landing.folder, "-o", tmp_path / "once", *SAID).code == 0
    assert waited == said_of(tmp_path / "once", quidnunc)


@pytest.mark.parametrize("seconds", ["0", "nan", "1e9", "-3"])
def test_an_interval_that_makes_no_sense_is_refused(tmp_path: Path, quidnunc: Command, seconds: str) -> None:
    ran = quidnunc("ingest", tmp_path, "-o", tmp_path / "run", f"--follow={seconds}")
    assert ran.code == 2 and "--follow must be from 0.1 to 86400 seconds" in ran.err


def test_few_new_files_start_no_processes() -> None:
    with EmbeddedEngine(4) as engine:
        engine.expect(1000)
        assert engine.tasks(TraceSettings, [], "nothing") == []
        assert engine.tasks(len, [[1], [1, 2]], "counting") == [1, 2]
        assert engine._pool is None
        engine.expect(1 << 30)
        assert engine.tasks(len, [[1], [1, 2]], "counting") == [1, 2]
        assert engine._pool is not None


def test_progress_has_a_rate_and_says_how_long() -> None:
    assert task_progress("silver", 0, 8, 30) == "silver: 0 of 8"
    assert task_progress("silver", 2, 8, 0.5) == "silver: 2 of 8"
    assert task_progress("silver", 2, 8, 10) == "silver: 2 of 8, 0.2 a second, about 30 s left"
    assert task_progress("silver", 1, 100, 60) == "silver: 1 of 100, 0.017 a second, about 1.6 h left"
    assert task_progress("silver", 50, 100, 600) == "silver: 50 of 100, 0.083 a second, about 10 min left"


def test_a_directory_that_rests_is_not_read_through_again(
    landing: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless something in it is unfinished."""
    looks = []

    def counted(*paths: Path) -> Any:
        looks.append(paths)
        if len(looks) == 4:
            stop.set()
        return listed(*paths)

    stop = threading.Event()
    monkeypatch.setattr("quidnunc.pipeline.lake.ingest.listed", counted)
    source = tmp_path / "land"
    shutil.copytree(landing.folder, source)
    (source / "current").touch()
    follow = Follow(0.01, stop, lambda text: None)
    run = RunFolder(tmp_path / "run")
    os.utime(source, (0, 0))
    ingest([source], run, SourceOptions(buckets=1), EmbeddedEngine(), gold=False, follow=follow)
    assert len(looks) == 4 + 1, "each time, and once at the end"
    (source / "current").unlink()
    os.utime(source, (0, 0))
    looks.clear()
    stop.clear()
    threading.Timer(1.0, stop.set).start()
    manifest, _ = ingest([source], run, SourceOptions(buckets=1), EmbeddedEngine(), gold=False, follow=follow)
    assert len(looks) == 2 and manifest["complete"]
