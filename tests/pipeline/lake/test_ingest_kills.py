"""`quidnunc ingest` killed at twenty instants at random, its JVM and workers too; `make campaign` runs this.

One kill for each stage, at a place that is known, is in test_ingest.py.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from quidnunc.pipeline.lake.spark_session import why_not

parquet = pytest.importorskip("pyarrow.parquet", reason="pip install '.[spark]'")
from tests.helpers.networks import SAID, land

pytestmark = pytest.mark.skipif(
    not os.environ.get("QUIDNUNC_NIGHTLY"), reason="takes twenty minutes: make campaign"
)
KILLS = 20
SEED = 20


def ingest(folder: Path, root: Path, engine: str) -> subprocess.Popen[bytes]:
    """Start it as the leader of a process group, which its JVM and workers belong to."""
    command = [sys.executable, "-m", "quidnunc", "ingest", str(folder), "-o", str(root), *SAID]
    command += ["--engine", engine]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def everything(root: Path) -> tuple[Any, ...]:
    """The manifest, the rows of silver, and what gold says: all but what names the instant it was made."""
    manifest = json.loads((root / "manifest.json").read_bytes())
    silver = root / "silver" / manifest["silver"]
    rows = [parquet.read_table(file).to_pylist() for file in sorted(silver.glob("bucket-*.parquet"))]
    gold = {path.name: path.read_bytes() for path in sorted(root.glob("gold/*/*.json"))}
    return manifest, rows, gold


def left(root: Path) -> frozenset[str]:
    """The kinds of things that lie in a run."""
    return frozenset(path.name for path in root.iterdir()) if root.exists() else frozenset()


@pytest.mark.parametrize("engine", ["spark", "duckdb"])
def test_twenty_kills_at_random_lose_nothing_and_count_nothing_twice(engine: str, tmp_path: Path) -> None:
    if engine == "spark" and (reason := why_not()):
        pytest.skip(reason)
    landing = land(tmp_path / "land", faulty=True, files=6)
    began = time.monotonic()
    assert ingest(landing.folder, tmp_path / "whole", engine).wait() == 0
    takes_s = time.monotonic() - began
    whole = everything(tmp_path / "whole")
    assert sum(map(len, whole[1])) > 1000
    die = random.Random(SEED)
    root = tmp_path / "run"
    killed, met = 0, set()
    while killed < KILLS:
        # Half the times what is left is taken up and killed again, as a machine that keeps failing does.
        process = ingest(landing.folder, root, engine)
        try:
            process.wait(die.uniform(0.2, 1.0) * takes_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            killed += 1
            met.add(left(root))
            if killed < KILLS and die.random() < 0.5:
                continue
            assert ingest(landing.folder, root, engine).wait() == 0
        assert process.returncode in (0, -signal.SIGKILL)
        assert everything(root) == whole
        shutil.rmtree(root)
    print(f"killed {killed} times, in {takes_s:.0f} s; what was there then: {sorted(map(sorted, met))}")
    assert len(met) >= 3, "the kills did not meet different stages"
