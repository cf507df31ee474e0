"""The one Spark session of a process: made when it is first asked for, and fit for workers of any kind.

Local mode is embedded: workers run this interpreter and import the package from where it is installed. Those
of a cluster are sent the package as a zip, which is what its wheel is under another name; they need a Python
with attrs, protobuf and pyarrow, whose path is `PYSPARK_PYTHON`.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quidnunc.model.errors import install_words
from quidnunc.pipeline.lake.engines.seam import EngineMissing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES = ("quidnunc", "quidnunc.model", "quidnunc.properties", "quidnunc.impl", "quidnunc.pipeline")
MIN_JAVA = 17
MASTER = "QUIDNUNC_SPARK_MASTER"
"""The environment variable that names a cluster, as `--master` does."""
FIRST_TIERS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
ALL_TIERS = "-XX:+UseSerialGC"


def spark_session(
    *,
    master: str | None = None,
    short: bool = False,
    memory: str = "2g",
    settings: dict[str, str] | None = None,
) -> SparkSession:
    """The session of this process; a running one is returned as it is.

    `master` is Spark's URL of a cluster; without it `QUIDNUNC_SPARK_MASTER`, else every core here. `short` is
    for work of seconds, as tests are: the JVM then compiles less. `memory` is the JVM's, in local mode.

    Raises EngineMissing where Java or pyspark is not there.
    """
    _demand_pyspark()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    _demand_java()
    url = master or os.environ.get(MASTER) or "local[*]"
    # Else workers take the first `python3` on the path, which need not have pyarrow.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(url).appName("quidnunc")
    for name, value in {**_settings(url, short, memory), **(settings or {})}.items():
        builder = builder.config(name, value)
    with _quiet() as said:
        try:
            session: SparkSession = builder.getOrCreate()
        except Exception as error:
            raise EngineMissing(
                f"Spark does not start at {url}: {error}; the JVM's own words: {said}"
            ) from None
    if not is_local(url):
        session.sparkContext.addPyFile(str(package_zip(Path(tempfile.mkdtemp(prefix="quidnunc-")))))
    return session


def is_local(url: str) -> bool:
    """Whether workers are on this machine and of this interpreter."""
    return url == "local" or url.startswith("local[")


@contextmanager
def _quiet() -> Iterator[Path]:
    """The JVM that is started within writes to a file what it would tell the terminal."""
    folder = Path(tempfile.mkdtemp(prefix="quidnunc-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    said = folder / "jvm.log"
    sys.stderr.flush()
    terminal = os.dup(2)
    try:
        with said.open("wb") as into:
            os.dup2(into.fileno(), 2)
        yield said
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)


def _settings(url: str, short: bool, memory: str) -> dict[str, str]:
    cores = os.cpu_count() or 1
    shared = {
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # A task's start costs a tenth of what it does over TCP.
        "spark.python.unix.domain.socket.enabled": "true",
        # Routers in Python act in the order of their sets.
        "spark.executorEnv.PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),
    }
    if not is_local(url):
        # On a cluster somebody wants to see what it does.
        return {**shared, "spark.ui.enabled": "true"}
    return {
        **shared,
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": FIRST_TIERS if short else ALL_TIERS,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.default.parallelism": str(2 * cores),
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "quidnunc-warehouse"),
    }


def _demand_pyspark() -> None:
    lacking = [name for name in ("pyspark", "pyarrow") if importlib.util.find_spec(name) is None]
    if lacking:
        raise EngineMissing(f"{' and '.join(lacking)} must be installed: {install_words('spark')}")


def _demand_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    said = f"Java {MIN_JAVA} or newer is what Spark runs on: apt-get install openjdk-17-jre-headless"
    if java is None or not Path(java).is_file():
        where = f"JAVA_HOME is {home}, which has no bin/java" if home else "there is no `java` on the path"
        raise EngineMissing(f"{where}. {said}")
    found = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    version = re.search(r'version "(?:1\.)?(\d+)', found.stderr + found.stdout)
    if version is None or int(version[1]) < MIN_JAVA:
        there = f"Java {version[1]}" if version else "a program that does not say its version"
        raise EngineMissing(f"{java} is {there}. {said}, or set JAVA_HOME")


def why_not() -> str | None:
    """Why no session can be started here; None where one can."""
    try:
        _demand_pyspark()
        _demand_java()
    except EngineMissing as error:
        return str(error)
    return None


def in_a_line(error: Exception) -> str:
    """What ended an engine: a full disk, a JVM or worker that was killed. Other errors are raised again."""
    if isinstance(error, OSError) and not isinstance(error, ConnectionError):
        return f"{error}; free space or name another folder, then repeat the command"
    module = type(error).__module__
    embedded = module.startswith(("duckdb", "_duckdb", "concurrent.futures"))
    if not (embedded or isinstance(error, ConnectionError) or module.startswith(("py4j", "pyspark"))):
        raise error
    causes = re.findall(r"(?:Error|Exception): ([^\n]{1,300})", str(error))
    said = causes[-1] if causes else str(error).split("\n", 1)[0][:300] or type(error).__name__
    who = "the embedded engine" if embedded else "Spark"
    return f"{who} ended with {said}; what is whole is kept: repeat the command"


def package_zip(folder: Path) -> Path:
    """The package as a zip in `folder`, laid out as its wheel is, for `addPyFile`."""
    target = folder / "quidnunc.zip"
    # Installed from a wheel, the packages lie in the first one's folder, and would be written twice.
    written: set[str] = set()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as into:
        for package in PACKAGES:
            found: Any = importlib.import_module(package)
            home = Path(next(iter(found.__path__)))
            for path in sorted(home.rglob("*")):
                if not path.is_file() or "__pycache__" in path.parts:
                    continue
                name = f"{package.replace('.', '/')}/{path.relative_to(home).as_posix()}"
                if name not in written:
                    written.add(name)
                    into.write(path, name)
    return target
