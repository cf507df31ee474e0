"""Ingest of files with wrong bytes: what nobody may have written is held against no router."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from quidnunc.pipeline.trace.carriers import Carrier
from quidnunc.pipeline.trace.events import DeliverMessage, TraceEvent
from tests.conftest import Command
from tests.helpers.trace_files import write_trace

pytest.importorskip("pyarrow", reason="pip install '.[spark]'")

FIRST_NS = 1_700_000_000_000_000_001
DUCKDB = ("--engine", "duckdb")


def twice(path: Path, carrier: Carrier = "json") -> bytes:
    """A trace in which every message is delivered twice."""
    events = [
        TraceEvent(DeliverMessage(message_id=b"%d" % (at // 2), topic="t"), b"a", FIRST_NS + at * 1000)
        for at in range(200)
    ]
    write_trace(events, path, carrier)
    return path.read_bytes()


@pytest.mark.parametrize("carrier", ["json", "protobuf"])
@pytest.mark.parametrize(
    ("damage", "verdict", "completeness"),
    [
        ("none", "fails", "filtered"),
        ("checksum", "inconclusive", "damaged"),
        ("length", "inconclusive", "damaged"),
        ("cut", "fails", "lossy"),
        ("garbage behind", "fails", "lossy"),
    ],
)
def test_records_of_a_stream_that_fails_its_checksum_are_held_against_nobody(
    tmp_path: Path, quidnunc: Command, carrier: Carrier, damage: str, verdict: str, completeness: str
) -> None:
    """One bit makes another event of one. What only ends too early is as it was written up to there."""
    packed = bytearray(gzip.compress(twice(tmp_path / "plain", carrier), mtime=0))
    if damage in ("checksum", "length"):
        packed[-8 if damage == "checksum" else -4] ^= 1
    elif damage == "cut":
        del packed[-40:]
    elif damage == "garbage behind":
        packed += b"GARBAGE"
    (tmp_path / "t.gz").write_bytes(packed)
    made = quidnunc("ingest", tmp_path / "t.gz", "-o", tmp_path / "run", *DUCKDB, "--json")
    assert made.code == (0 if damage == "none" else 3), made.err
    assert made.data["completeness"] == completeness, made.data["completeness_because"]
    checked = quidnunc("trace", "check", tmp_path / "run", "--claims", "deliver.once", "--json")
    (claim,) = checked.data["claims"]
    assert (claim["verdict"], checked.code) == (verdict, 1 if verdict == "fails" else 3)
    assert ("fails its checksum" in claim["reason"]) == (completeness == "damaged")


def test_a_length_that_a_wrong_byte_has_made_does_not_hide_the_checksum(
    tmp_path: Path, quidnunc: Command
) -> None:
    """Reading ends there, and the checksum is behind it."""
    plain = twice(tmp_path / "plain", "protobuf") + b"\xff\xff\xff\x7f" + bytes(9)
    packed = bytearray(gzip.compress(plain, mtime=0))
    packed[-8] ^= 1
    (tmp_path / "t.gz").write_bytes(packed)
    made = quidnunc("ingest", tmp_path / "t.gz", "-o", tmp_path / "run", *DUCKDB, "--json")
    assert made.data["completeness"] == "damaged" and made.code == 3
    assert "the most that is read" in made.data["first_bad"] and "data check" in made.data["first_bad"]
