"""The Spark session: clear words where it cannot be, and workers that find the package."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quidnunc.pipeline.lake import spark_session as module
from quidnunc.pipeline.lake.engines.seam import outcome
from quidnunc.pipeline.lake.spark_session import in_a_line, is_local, package_zip, spark_session, why_not


def java_saying(folder: Path, version: str) -> None:
    """A home of Java in `folder` that claims to be of some version."""
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n", encoding="utf-8")
    java.chmod(0o755)


@pytest.fixture
def with_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if pyspark were installed: what is asked about is Java."""
    monkeypatch.setattr(module, "_demand_pyspark", lambda: None)


def test_without_java_it_says_what_to_install(
    with_pyspark: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = why_not()
    assert said is not None and "apt-get install openjdk-17-jre-headless" in said
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    said = why_not()
    assert said is not None and f"JAVA_HOME is {tmp_path}" in said


@pytest.mark.parametrize(
    ("version", "good"), [("1.8.0_392", False), ("11.0.2", False), ("17.0.15", True), ("21", True)]
)
def test_java_has_to_be_new_enough(
    version: str, good: bool, with_pyspark: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java_saying(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    said = why_not()
    assert (said is None) is good
    assert good or "Java 17 or newer" in str(said)


def test_without_pyspark_it_says_what_to_install() -> None:
    script = (
        "import sys\nsys.modules['pyspark'] = None\nimport importlib.util\n"
        "real = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name: None if name == 'pyspark' else real(name)\n"
        "from quidnunc.pipeline.lake.spark_session import spark_session\nspark_session()\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ran.returncode == 1
    assert "EngineMissing" in ran.stderr and "pip install '.[spark]'" in ran.stderr


def test_a_cluster_is_known_by_its_url() -> None:
    assert is_local("local") and is_local("local[*]")
    assert not is_local("spark://host:7077") and not is_local("local-cluster[2,1,1024]")


def test_the_zip_is_the_package(tmp_path: Path) -> None:
    """What a cluster is sent can be imported from the zip alone, its data too."""
    path = package_zip(tmp_path)
    names = zipfile.ZipFile(path).namelist()
    assert "quidnunc/pipeline/trace/trace.proto" in names and len(names) == len(set(names))
    script = (
        f"import sys\nsys.path.insert(0, {str(path)!r})\n"
        "import quidnunc\nassert '.zip' in quidnunc.__file__, quidnunc.__file__\n"
        "from quidnunc.properties.documents.clauses import load\nfrom quidnunc.pipeline.trace import files\n"
        "print(len(load()) > 100)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert ran.stdout.strip() == "True", ran.stderr


def test_workers_find_the_package_and_this_interpreter(spark: Any) -> None:
    def where(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        import quidnunc.pipeline.trace.events as found

        for batch in batches:
            rows = [[sys.executable, found.TYPE_OF_NUMBER[0].enum]] * batch.num_rows
            yield pyarrow.RecordBatch.from_pydict(
                {"python": [r[0] for r in rows], "name": [r[1] for r in rows]}
            )

    found = spark.range(1).mapInArrow(where, "python string, name string").collect()
    assert [(r.python, r.name) for r in found] == [(sys.executable, "PUBLISH_MESSAGE")]
    assert spark_session() is spark


def test_what_ends_spark_is_a_line() -> None:
    """A JVM that was killed, a full disk in a worker and one here; what is our own mistake is not hidden."""
    protocol = pytest.importorskip("py4j.protocol", reason="pip install '.[spark]'")
    killed = in_a_line(protocol.Py4JNetworkError("Answer from Java side is empty\n\tat x"))
    assert (
        killed == "Spark ended with Answer from Java side is empty; what is whole is kept: repeat the command"
    )
    java = protocol.Py4JError(
        "o1\norg.apache.SparkException: Job aborted\n\tat java\nCaused by: "
        "java.io.IOException: No space left on device\n\tat x"
    )
    assert "Spark ended with No space left on device; " in in_a_line(java)
    assert "\n" not in in_a_line(ConnectionRefusedError(111, "Connection refused"))
    assert in_a_line(OSError(28, "No space left on device", "x")).endswith("then repeat the command")
    with pytest.raises(KeyError):
        in_a_line(KeyError("our own"))


def test_a_full_disk_of_a_task_comes_back_in_its_own_words() -> None:
    def full(item: object) -> None:
        raise OSError(28, "No space left on device", "bronze")

    assert outcome(full, 1) == (None, "[Errno 28] No space left on device: 'bronze'")
