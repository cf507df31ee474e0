"""A standalone cluster of two worker processes gives what one process does; `make campaign` runs this.

The workers' Python has every package but this one: it comes to them as the zip that the driver sends.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from quidnunc.pipeline.lake.spark_session import why_not
from tests.conftest import Ran

parquet = pytest.importorskip("pyarrow.parquet", reason="pip install '.[spark]'")
pyspark = pytest.importorskip("pyspark", reason="pip install '.[spark]'")
from tests.helpers.networks import SAID, land

pytestmark = [
    pytest.mark.skipif(not os.environ.get("QUIDNUNC_NIGHTLY"), reason="takes two minutes: make campaign"),
    pytest.mark.skipif(bool(why_not()), reason=str(why_not())),
]
START_S = 60
SWEEP = """
simulate:
  - scenario: {nodes: [{count: 6}], topology: {degree: 3}, traffic: [{count: 2}]}
    vary: {links.loss: [0, 0.1]}
    seeds: 4
check:
  - {protocol: flood, against: ours, runs: 20, batch: 10}
"""
WHERE = """
import sys
from collections.abc import Iterator
from quidnunc.pipeline.lake.spark_session import spark_session
def where(_):
    import os, quidnunc
    from pyspark import BarrierTaskContext
    # Each worker has one core: who waits here for the other is on a worker of its own.
    BarrierTaskContext.get().barrier()
    yield os.environ["SPARK_EXECUTOR_DIRS"], quidnunc.__file__
session = spark_session(master=sys.argv[1])
found = session.sparkContext.parallelize(range(2), 2).barrier().mapPartitions(where).collect()
for executor, file in sorted(set(found)):
    print(executor, file)
"""


@frozen
class Cluster:
    """A master, and where its workers' Python is."""

    url: str
    python: Path

    def command(self, *arguments: object, cwd: Path, here: bool = False) -> Ran:
        """Run `python ARGUMENTS...` as a driver of this cluster, or `here`, without it."""
        python = sys.executable if here else str(self.python)
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": python}
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def quidnunc(self, *arguments: object, cwd: Path, here: bool = False) -> Ran:
        ran = self.command("-m", "quidnunc", *arguments, cwd=cwd, here=here)
        assert ran.code == 0, ran.err
        return ran


def python_without_the_kit(folder: Path) -> Path:
    """An interpreter with links to what is installed here, except to this package."""
    venv.create(folder / "venv", symlinks=True)
    site = next((folder / "venv").glob("lib/python*/site-packages"))
    for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(place).iterdir():
            if "quidnunc" not in entry.name and not (site / entry.name).exists():
                (site / entry.name).symlink_to(entry)
    python = folder / "venv" / "bin" / "python"
    there = subprocess.run([python, "-c", "import attrs, quidnunc"], capture_output=True, text=True)
    assert "No module named 'quidnunc'" in there.stderr
    return python


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers of a core each, in processes of their own, until the last test is done."""
    folder = tmp_path_factory.mktemp("cluster")
    python = python_without_the_kit(folder)
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    started = [_started(folder / "master.log", "master.Master", "--port", str(port))]
    try:
        logs = [folder / f"worker{k}.log" for k in range(2)]
        for k, log in enumerate(logs):
            more = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work{k}"), url)
            started.append(_started(log, "worker.Worker", *more))
        _await_registration(started, logs)
        yield Cluster(url, python)
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def _started(log: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    command = [str(program), f"org.apache.spark.deploy.{name}", *arguments]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    with log.open("wb") as into:
        return subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--webui-port", "0"],
            stdout=into,
            stderr=into,
            env=environment,
            cwd=log.parent,
        )


def _await_registration(started: list[subprocess.Popen[bytes]], logs: list[Path]) -> None:
    end = time.monotonic() + START_S
    while not all("Successfully registered with master" in log.read_text() for log in logs):
        said = "\n".join(log.read_text()[-2000:] for log in logs)
        assert time.monotonic() < end, said
        try:
            started[0].wait(0.2)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(f"the master ended: {said}")


def test_both_workers_have_the_package_from_the_zip(cluster: Cluster, tmp_path: Path) -> None:
    ran = cluster.command("-c", WHERE, cluster.url, cwd=tmp_path)
    found = [line.split() for line in ran.out.splitlines()]
    assert ran.code == 0 and len({executor for executor, _ in found}) == 2, ran.err
    assert all("quidnunc.zip" in file for _, file in found)


def test_a_sweep_comes_to_the_same(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SWEEP)
    on_cluster = ("--executor", "spark", "--master", cluster.url)
    for name, where in {"cluster": on_cluster, "local": ("--workers", "1")}.items():
        cluster.quidnunc("sweep", "s.yaml", "-o", name, *where, cwd=tmp_path, here=name == "local")
    there, here = (_everything(tmp_path / name) for name in ("cluster", "local"))
    assert there == here and len(here) > 10


def test_traces_are_ingested_and_checked_to_the_same(cluster: Cluster, tmp_path: Path) -> None:
    landing = land(tmp_path / "land", faulty=True)
    checks = []
    for name, where in {"cluster": ("--master", cluster.url), "local": ()}.items():
        run = tmp_path / name
        asked = ("ingest", landing.folder, "-o", run, *SAID, *where, "--json")
        cluster.quidnunc(*asked, cwd=tmp_path, here=not where)
        ran = cluster.command("-m", "quidnunc", "trace", "check", run, "--json", cwd=tmp_path, here=True)
        assert ran.code == 1, ran.err
        checks.append(_about(json.loads(ran.out)))
    assert checks[0] == checks[1]
    tables = [_buckets(tmp_path / name) for name in ("cluster", "local")]
    assert tables[0] == tables[1] and sum(map(len, tables[0])) > 1000


def _about(told: dict[str, Any]) -> dict[str, Any]:
    """What a check says, but for where the run is."""
    text = json.dumps(told)
    for name in ("cluster", "local"):
        text = text.replace(f"/{name}", "/RUN")
    return dict(json.loads(text))


def _buckets(run: Path) -> list[list[dict[str, Any]]]:
    files = sorted(run.glob("silver/*/bucket-*.parquet"))
    return [parquet.read_table(file).to_pylist() for file in files]


def _everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
