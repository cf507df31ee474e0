"""`quidnunc ingest` of a directory that grows, with faults: kills, truncations, renames, clock jumps, full
disks.

At the end DuckDB counts the landing files by itself, as text: the run has as many events of each peer and
type, or says that it is incomplete. Six faults over 20,000 events as it is; `make campaign` has a hundred
over two million, with Spark in turn (QUIDNUNC_FAULTS and QUIDNUNC_FAULT_EVENTS say how many).
"""

from __future__ import annotations

import base64
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from quidnunc.pipeline.lake.spark_session import why_not
from quidnunc.pipeline.trace.files import MAX_BAD_KEPT

duckdb = pytest.importorskip("duckdb", reason="pip install '.[trace]'")

NIGHTLY = bool(os.environ.get("QUIDNUNC_NIGHTLY"))
FAULTS = int(os.environ.get("QUIDNUNC_FAULTS", "100" if NIGHTLY else "6"))
EVENTS = int(os.environ.get("QUIDNUNC_FAULT_EVENTS", "2000000" if NIGHTLY else "20000"))
SEED = 7
PEERS = 50
ENGINES = ("duckdb", "duckdb", "spark") if NIGHTLY and not why_not() else ("duckdb",)
BODIES: tuple[tuple[int, str, dict[str, str]], ...] = (
    (9, "join", {"topic": "t"}),
    (10, "leave", {"topic": "t"}),
    (3, "deliverMessage", {"messageID": "bQ=="}),
)
Counts = dict[tuple[str, int], int]


class Site:
    """A landing directory that others write to, a run of it, and what has happened."""

    def __init__(self, root: Path) -> None:
        self.landing, self.run, self.die = root / "landing", root / "run", random.Random(SEED)
        self.landing.mkdir()
        self.each = EVENTS // (2 * FAULTS)
        self.number = 0
        self.takes_s = 3.0
        self.ended: list[tuple[str, int]] = []

    # -- the writers ----------------------------------------------------------------------------------------

    def arrive(self, *, clock_ns: int | None = None, whole: bool = True) -> Path:
        """One file more, renamed into place; cut off in the middle of a record if not `whole`."""
        start_ns = self.number * 10**9 if clock_ns is None else clock_ns
        lines = [self._line(start_ns + at) for at in range(self.each)]
        data = "".join(lines).encode()
        path = self.landing / f"trace-{self.number}.jsonl"
        part = path.with_suffix(".part")
        part.write_bytes(data if whole else data[: len(data) * 2 // 3 - 9])
        self.number += 1
        return part.rename(path)

    def _line(self, at_ns: int) -> str:
        peer = base64.b64encode(b"peer%d" % self.die.randrange(PEERS)).decode()
        kind, name, body = self.die.choice(BODIES)
        return json.dumps({"type": kind, "peerID": peer, "timestamp": at_ns, name: body}) + "\n"

    def some_file(self) -> Path:
        return self.die.choice(sorted(self.landing.glob("*.jsonl")))

    # -- the ingest -----------------------------------------------------------------------------------------

    def start(self, limit_bytes: int | None = None) -> subprocess.Popen[bytes]:
        """Start it as the leader of a process group. No file may grow beyond the limit: a full disk."""

        def limited() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            if limit_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

        words = (
            "ingest",
            self.landing,
            "-o",
            self.run,
            "--engine",
            self.die.choice(ENGINES),
            "--buckets",
            "2",
            *(["--no-gold"] if self.die.random() < 0.5 else []),
        )
        return subprocess.Popen(
            [sys.executable, "-m", "quidnunc", *map(str, words)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=limited,
        )

    def end(self, process: subprocess.Popen[bytes]) -> str:
        """Wait for it; what it said. It never ends with a traceback."""
        _, said = process.communicate(timeout=1800)
        assert b"Traceback" not in said and b"bug in quidnunc" not in said, said.decode()[-2000:]
        return said.decode()

    def settle(self) -> None:
        """Repeat the command, as it says; it takes what is there."""
        began = time.monotonic()
        process = self.start()
        said = self.end(process)
        assert process.returncode in (0, 3), said
        self.takes_s = time.monotonic() - began


# -- the faults --------------------------------------------------------------------------------------------


def kill(site: Site) -> None:
    process = site.start()
    try:
        process.wait(site.die.uniform(0.2, 1.0) * site.takes_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    site.ended.append(("kill", process.returncode))


def cut_off(site: Site) -> None:
    """A file that ends in the middle of a record, for good."""
    site.arrive(whole=False)


def truncate(site: Site) -> None:
    """A file that was taken is cut off: refused by name. Then it comes back."""
    site.settle()
    path = site.some_file()
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    process = site.start()
    said = site.end(process)
    assert process.returncode == 2 and path.name in said, said
    path.write_bytes(data)
    site.ended.append(("truncate", process.returncode))


def rename(site: Site) -> None:
    """While it is read, or before, or after."""
    process = site.start()
    with suppress(subprocess.TimeoutExpired):
        process.wait(site.die.uniform(0, 1.0) * site.takes_s)
    path = site.some_file()
    path.rename(path.with_name(f"moved-{site.number}-{site.die.randrange(10**6)}.jsonl"))
    site.end(process)
    site.ended.append(("rename", process.returncode))


def jump(site: Site) -> None:
    """The clock of the machine steps, and that of a peer: times of files and of events."""
    far = site.die.choice((0, 4_000_000_000))
    os.utime(site.some_file(), (far, far))
    os.utime(site.arrive(clock_ns=site.die.choice((1, 2**62))), (far, far))


def fill(site: Site) -> None:
    process = site.start(limit_bytes=site.die.choice((0, 500, 5000, 50_000)))
    said = site.end(process)
    assert process.returncode in (0, 3) or said.strip(), "it failed and did not say why"
    site.ended.append(("fill", process.returncode))


KINDS: tuple[Callable[[Site], None], ...] = (kill, cut_off, truncate, rename, jump, fill)


# -- the two counts ----------------------------------------------------------------------------------------


def in_landing(site: Site) -> Counts:
    """What DuckDB reads in the files, a line at a time; lines that are no JSON do not count."""
    found = duckdb.sql(f"""
        SELECT line->>'peerID' AS peer, CAST(line->>'type' AS INT) AS type, COUNT(*) AS n
        FROM (SELECT CASE WHEN json_valid(text) THEN CAST(text AS JSON) END AS line
              FROM read_csv('{site.landing}/*.jsonl', columns = {{'text': 'VARCHAR'}}, delim = chr(1),
                            quote = '', escape = '', header = false, auto_detect = false))
        WHERE line IS NOT NULL GROUP BY ALL""").fetchall()
    return {(peer, kind): n for peer, kind, n in found}


def in_run(site: Site) -> Counts:
    manifest = json.loads((site.run / "manifest.json").read_bytes())
    silver = site.run / "silver" / manifest["silver"]
    found = duckdb.sql(f"""
        SELECT to_base64(p.value) AS peer, e.type, COUNT(*) AS n
        FROM read_parquet('{silver}/bucket-*.parquet') AS e
        JOIN read_parquet('{silver}/peers-*.parquet') AS p ON e.peer = p.id
        WHERE e.item = 0 GROUP BY ALL""").fetchall()
    return {(peer, kind): n for peer, kind, n in found}


def ends_in_a_record(path: Path) -> bool:
    """Whether a file is cut off in the middle of its last record; one without its last newline is whole."""
    last = path.read_bytes().rpartition(b"\n")[2]
    try:
        return bool(last) and not json.loads(last)
    except ValueError:
        return True


def test_faults_lose_nothing_without_saying_so(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.arrive()
    kinds = [KINDS[at % len(KINDS)] for at in range(FAULTS)]
    site.die.shuffle(kinds)
    for number, inflict in enumerate(kinds):
        while site.number < 2 * number + 1:
            site.arrive()
        inflict(site)
        if site.die.random() < 0.3:
            site.settle()
    while site.number < 2 * FAULTS:
        site.arrive()
    site.settle()
    counts = in_run(site)
    assert counts == in_landing(site)
    assert sum(counts.values()) > EVENTS * 0.8
    manifest = json.loads((site.run / "manifest.json").read_bytes())
    cut = sum(map(ends_in_a_record, site.landing.glob("*.jsonl")))
    assert manifest["bad_records"] == cut <= MAX_BAD_KEPT
    assert manifest["records"] - cut == sum(counts.values()) or manifest["records"] == sum(counts.values())
    # Files that come again, cut, have events twice.
    assert (manifest["completeness"] in ("lossy", "disordered")) is (cut > 0)
    print(f"{FAULTS} faults, {sum(counts.values())} events, {cut} files cut off; ended: {sorted(site.ended)}")
