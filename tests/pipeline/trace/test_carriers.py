"""Damaged carriers: what precedes the damage is kept, and what is lost is counted."""

from __future__ import annotations

import gzip
import io
import random
import re
import zlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quidnunc.pipeline.lake.bronze.frames import blocks_of
from quidnunc.pipeline.trace.carriers import MAX_RECORD_BYTES, carrier_of, damage_of, found_in, open_plain
from quidnunc.pipeline.trace.events import JoinEvent, TraceEvent
from quidnunc.pipeline.trace.files import read_trace
from quidnunc.pipeline.trace.json_lines import line_of
from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.pipeline.trace.trace_pb2 import TraceEvent as Wire

RECORDS = 30_000


def records(count: int) -> bytes:
    """So many records of 40 bytes, none like another."""
    die = random.Random(count)
    made = [Wire(type=9, peerID=die.randbytes(30), join=Wire.Joined(topic="t")) for _ in range(count)]
    return b"".join(bytes([len(d)]) + d for d in (each.SerializeToString() for each in made))


WHOLE = records(RECORDS)
SIZE = len(WHOLE) // RECORDS


def counted(path: Path) -> tuple[int, list[str], int]:
    """Good records, problems and lost bytes, as both readers have them."""
    with path.open("rb") as raw:
        single = {each.position: each for each in found_in(open_plain(raw), "protobuf")}
    frames, lost = 0, 0
    problems = []
    for good, _, wrong in blocks_of(path, 1000):
        frames += len(good)
        for place, problem, _, behind in wrong:
            assert (single[place].problem, single[place].lost) == (problem, behind)
            problems.append(problem)
            lost += behind
    # What is damaged may be a record all the same, of nonsense.
    assert frames + len(problems) == len(single)
    return frames, problems, lost


@pytest.mark.parametrize("share", [0.001, 0.3, 0.99])
def test_a_truncated_stream_keeps_what_precedes_the_cut(tmp_path: Path, share: float) -> None:
    packed = gzip.compress(WHOLE)
    cut = packed[: int(len(packed) * share)]
    there = zlib.decompressobj(31).decompress(cut)
    (tmp_path / "t.pb.gz").write_bytes(cut)
    good, problems, lost = counted(tmp_path / "t.pb.gz")
    assert good == len(there) // SIZE and len(there) > 500
    assert problems == ["cut off: the gzip stream has no end"] and lost == len(there) % SIZE


@pytest.mark.parametrize("share", [0.01, 0.5, 0.999])
def test_a_corrupt_stream_keeps_what_precedes_the_damage(tmp_path: Path, share: float) -> None:
    at = int(len(packed := gzip.compress(WHOLE)) * share)
    (tmp_path / "t.pb.gz").write_bytes(packed[:at] + b"\xff" * 200 + packed[at + 200 :])
    good, problems, lost = counted(tmp_path / "t.pb.gz")
    assert good >= RECORDS * share * 0.9 - 50, "16 MiB before the damage were lost with it"
    assert len(problems) == 1 and lost > 0


def test_a_wrong_checksum_is_said_and_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.pb.gz").write_bytes(gzip.compress(WHOLE)[:-8] + bytes(8))
    good, problems, _ = counted(tmp_path / "t.pb.gz")
    assert good == RECORDS and len(problems) == 1 and "the gzip stream is corrupt" in problems[0]


def test_bytes_behind_a_record_that_cannot_be_believed_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.pb"
    path.write_bytes(WHOLE + b"\xff\xff\xff\x7f" + WHOLE)
    good, problems, lost = counted(path)
    assert (good, lost) == (RECORDS, 4 + len(WHOLE)) and "the most that is read" in problems[0]
    path.write_bytes(WHOLE + b"\xff" * 10 + WHOLE)
    assert counted(path) == (RECORDS, ["a record's length has no end"], 10 + len(WHOLE))


def test_members_and_padding_are_one_stream(tmp_path: Path) -> None:
    packed = gzip.compress(WHOLE)
    for data, problems in (
        (packed + packed, 0),
        (packed + bytes(70_000) + packed + bytes(70_000), 0),
        (packed + packed + b"garbage", 1),
    ):
        (tmp_path / "t.pb.gz").write_bytes(data)
        good, said, _ = counted(tmp_path / "t.pb.gz")
        assert (good, len(said)) == (2 * RECORDS, problems)


def test_lines_before_the_damage_are_kept_and_half_a_line_is_none(tmp_path: Path) -> None:
    line = b'{"type":9,"timestamp":%d,"join":{"topic":"t"}}\n'
    packed = gzip.compress(b"".join(line % (10**17 + at) for at in range(5000)))
    cut = packed[: len(packed) // 2]
    whole = zlib.decompressobj(31).decompress(cut).count(b"\n")
    (tmp_path / "t.jsonl.gz").write_bytes(cut)
    reading = read_trace(tmp_path / "t.jsonl.gz")
    assert len(list(reading)) == whole > 1000 and reading.bad_count == 1
    assert "the gzip stream has no end" in reading.bad[0].problem


def test_a_line_that_is_too_long_counts_as_lost() -> None:
    found = list(found_in(io.BytesIO(b"{" * (3 * MAX_RECORD_BYTES) + b"\n{}\n"), "json"))
    assert [each.lost for each in found] == [3 * MAX_RECORD_BYTES + 1, 0]


@given(st.binary(max_size=300), st.integers(0, 400), st.integers(0, 255), st.integers(1, 50))
@example(b"x" * 100, 15, 0, 7)
def test_any_damage_is_told_as_zlib_tells_it(data: bytes, at: int, byte: int, step: int) -> None:
    """What is read is what zlib gives byte by byte, whatever sizes are asked for; it never raises."""
    packed = bytearray(gzip.compress(data, mtime=0))
    packed[at % len(packed) :] = packed[at % len(packed) :][1:] if byte == 0 else bytes([byte])
    if packed[:2] != b"\x1f\x8b":
        return
    inflate, expected, broken = zlib.decompressobj(31), b"", False
    try:
        for place in range(len(packed)):
            expected += inflate.decompress(packed[place : place + 1])
            if inflate.eof:
                break
    except zlib.error:
        broken = True
    stream = open_plain(io.BufferedReader(io.BytesIO(bytes(packed))))  # type: ignore[arg-type]
    found = b"".join(iter(lambda: stream.read(step), b""))
    assert found == expected
    if broken or not inflate.eof:
        assert damage_of(stream)


def test_a_line_that_is_cut_off_counts_as_lost() -> None:
    good = line_of(TraceEvent(JoinEvent(topic="t"), b"a", 1)).encode()
    found = list(found_in(io.BytesIO(good + b"\n{}\n" + good[:-9]), "json"))
    assert [(each.event is None, each.lost) for each in found] == [
        (False, 0),
        (True, 0),
        (True, len(good) - 9),
    ]
    # A whole record without a newline is no loss.
    assert [each.lost for each in found_in(io.BytesIO(good), "json")] == [0]


EVENT = line_of(TraceEvent(JoinEvent(topic="t"), b"a", 10**17))
ARRAY = "a JSON array: write one event a line, in UTF-8"


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (f"[{EVENT}]".encode(), ARRAY),
        (f"\n [\n  {EVENT}]".encode(), ARRAY),
        (EVENT.encode("utf-8-sig"), "a byte-order mark of UTF-8: write one event a line, in UTF-8 without"),
        (EVENT.encode("utf-16"), "a byte-order mark of UTF-16"),
        (EVENT.encode("utf-16-le"), "looks like UTF-16: write one event a line, in UTF-8"),
        (EVENT.encode("utf-16-be"), "looks like UTF-16"),
        (b"\n\n\n", "has no record: all of it is blank"),
        (b"x,col1_peer,col2_peer,msg_uuid,t_recv_ns\n", "a table of deliveries: `quidnunc ingest` it first"),
        (bytes(50), "starts with 00 00"),
    ],
)
def test_what_a_file_is_that_is_no_trace_is_said(head: bytes, said: str) -> None:
    with pytest.raises(TraceError, match=re.escape(said)):
        carrier_of(head)


@pytest.mark.parametrize("length", range(2, 128))
def test_no_record_is_taken_for_something_else(length: int) -> None:
    """Whatever length it begins with, and whatever its first event is called."""
    name = "col1_peer"[: max(0, length - 4)]
    assert carrier_of(bytes([length]) + b"\x08\x09" + name.encode() + b"\n") == "protobuf"
    batch = bytes([length]) + b"\n" + bytes([length - 2]) + b"\x08\x09" + name.encode()
    assert carrier_of(batch) == "batches"
    assert carrier_of(EVENT.replace('"t"', '"col1_peer"').encode()) == "json"
