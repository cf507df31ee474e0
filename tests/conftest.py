"""What several folders of tests share: the command line, in this process and in one of its own."""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from attrs import frozen

from quidnunc.pipeline.lake.spark_session import spark_session, why_not
from quidnunc.properties.suite import explainers

# A machine that is busy is not a fault of what is tested.
hypothesis.settings.register_profile(
    "busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("busy")


A_SET = re.compile(r"frozenset\(|\{'[^']*'[,}]")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A set in a name is written in another order by each worker, and then pytest-xdist starts none."""
    unordered = [item.nodeid for item in items if A_SET.search(item.nodeid)]
    if unordered:
        raise pytest.UsageError(
            f"a set in a test's name: write a tuple there, or give an id:\n{unordered[0]}"
        )


def pytest_collection_finish() -> None:
    """What is collected stays to the end, and runs make many values and few cycles: not to look for those all
    the time takes a tenth off."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True)
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite explains in the process of the test: the other processors have tests of their own."""
    monkeypatch.setattr(explainers, "MOST_AT_ONCE", 1)


@frozen
class Ran:
    """One command: its exit status and what it said."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The one JSON object on stdout."""
        return json.loads(self.out)


Command = Callable[..., Ran]


@pytest.fixture
def quidnunc(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command of the kit in this process: `quidnunc("check", "dog", ...)`."""
    from quidnunc.__main__ import main

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as left:
            # argparse leaves so, with 2 for what it cannot read and 0 for --help.
            code = int(left.code or 0)
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run


@pytest.fixture
def quidnunc_apart() -> Command:
    """Run a command of the kit as a user does, from the folder `cwd` and in a process of its own."""

    def run(*arguments: object, cwd: Path) -> Ran:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONHASHSEED"}
        done = subprocess.run(
            [sys.executable, "-m", "quidnunc", *map(str, arguments)],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one Spark session of the whole test run, in local mode."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    # What is compiled for each query pays where there is much to do, and there is next to nothing.
    settings = {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
    }
    session = spark_session(master="local[2]", short=True, memory="1g", settings=settings)
    yield session
    session.stop()
