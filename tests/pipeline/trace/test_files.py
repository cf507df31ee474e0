"""Traces as files: what is written is what is read, and what cannot be read is kept aside with its place."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quidnunc.pipeline.trace import carriers as trace_carriers
from quidnunc.pipeline.trace.carriers import Carrier, carrier_of
from quidnunc.pipeline.trace.events import (
    DeliverMessage,
    HeartbeatEvent,
    JoinEvent,
    OpenedStream,
    PublishMessage,
    RunStart,
    SentRpc,
    TraceEvent,
)
from quidnunc.pipeline.trace.files import read_trace, side_of
from quidnunc.pipeline.trace.json_lines import Names, line_of
from quidnunc.pipeline.trace.rpc import MessageMeta, RpcMeta
from quidnunc.pipeline.trace.shapes import TraceError
from tests.helpers.trace_files import CARRIERS, write_trace
from tests.helpers.trace_values import events

FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SEVERAL = [
    TraceEvent(JoinEvent(topic="t"), b"\x00\x24a", 1_757_586_484_746_971_127),
    TraceEvent(HeartbeatEvent(), b"\x00\x24a", 1_757_586_484_746_971_128),
    TraceEvent(PublishMessage(message_id=b"m1", topic="t", size=8), b"\x00\x24a", 5),
    TraceEvent(
        SentRpc(peer=b"b", meta=RpcMeta(messages=(MessageMeta(message_id=b"m1", topic="t"),)), length=9)
    ),
    TraceEvent(DeliverMessage(message_id=b"m1", topic="t", received_from=b"a"), b"b", 7),
]
GO_ALONE = [SEVERAL[0], SEVERAL[4], SEVERAL[0]]


def read_back(path: Path) -> list[TraceEvent]:
    reading = read_trace(path)
    found = list(reading.events())
    assert reading.bad == []
    assert not reading.unknown
    return found


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("names", ["new", "old"])
@given(st.lists(events(go=False), max_size=8))
@FEW
def test_ours_come_back_as_they_were(names: Names, suffix: str, written: list[TraceEvent]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"trace.jsonl{suffix}"
        assert write_trace(written, path, "json", names) == len(written)
        assert read_back(path) == written
        assert not side_of(path).exists()


@pytest.mark.parametrize("carrier", CARRIERS)
@given(st.lists(events(go=True), max_size=20))
@FEW
def test_events_of_go_need_no_side_file(carrier: Carrier, written: list[TraceEvent]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        write_trace(written, path, carrier)
        assert not side_of(path).exists()
        assert read_back(path) == written


@pytest.mark.parametrize("carrier", ["protobuf", "batches"])
@given(st.lists(events(go=False), max_size=20))
@FEW
def test_what_go_cannot_hold_is_beside_it(carrier: Carrier, written: list[TraceEvent]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        write_trace(written, path, carrier)
        assert read_back(path) == written


def test_without_its_side_file_a_trace_is_what_go_can_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.pb"
    write_trace(SEVERAL, path, "protobuf")
    assert side_of(path).exists()
    side_of(path).unlink()
    found = read_back(path)
    assert [type(e.body) for e in found] == [JoinEvent, PublishMessage, SentRpc, DeliverMessage]
    assert found[1].body == PublishMessage(message_id=b"m1", topic="t")


def test_a_line_is_as_go_writes_it() -> None:
    event = TraceEvent(
        OpenedStream(peer=b"\x00\x24", protocol="/meshsub/1.1.0"), b"a", 1_757_586_484_746_971_127
    )
    new = '{"type":4,"peerID":"YQ==","timestamp":1757586484746971127,"onNewOutboundStream":'
    assert line_of(event) == new + '{"peerID":"ACQ=","proto":"/meshsub/1.1.0"}}'
    assert line_of(event, "old") == line_of(event).replace("onNewOutboundStream", "addPeer")


def test_delimited_protobuf_is_as_go_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "trace.pb"
    write_trace(
        [TraceEvent(DeliverMessage(message_id=b"m", topic="t", received_from=b"r"), b"p", 3)],
        path,
        "protobuf",
    )
    body = bytes.fromhex("0a016d 120174 1a0172")
    event = bytes.fromhex("0803 120170 1803 3a09") + body
    assert path.read_bytes() == bytes([len(event)]) + event


def test_names_of_all_ages_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(
        '{"type":4,"addPeer":{"peerID":"YQ=="}}\n'
        '{"type":4,"onNewOutboundStream":{"peerID":"YQ=="}}\n'
        '{"type":"ADD_PEER","timestamp":"12","onNewOutboundStream":{"peerID":"YQ=="}}\n'
        '{"type":0,"publishMessage":{"messageID":"YQ==","topics":["t"]}}\n'
    )
    found = read_back(path)
    assert [type(e.body) for e in found] == [OpenedStream] * 3 + [PublishMessage]
    assert found[2].at_ns == 12
    assert found[3].body == PublishMessage(message_id=b"a", topic="t")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("[1]", "expected a JSON object"),
        ("{}", "no type"),
        ('{"type":77}', "type 77 is in no schema"),
        ('{"type":true,"join":{}}', "type: expected a whole number"),
        ('{"type":9}', "there is none"),
        ('{"type":9,"leave":{}}', "there is leave"),
        ('{"type":4,"addPeer":{},"onNewOutboundStream":{}}', "there is addPeer, onNewOutboundStream"),
        ('{"type":9,"join":[]}', "join: expected an object"),
        ('{"type":9,"join":{"topic":3}}', "join.topic: expected a text, got 3"),
        ('{"type":9,"join":{"topic":"\\ud800"}}', "half of a surrogate pair"),
        ('{"type":9,"timestamp":1.7e18,"join":{}}', "timestamp: expected a whole number"),
        ('{"type":9,"timestamp":9223372036854775808,"join":{}}', "timestamp: expected a whole number"),
        ('{"type":11,"graft":{"peerID":"*"}}', "graft.peerID: '*' is not base64"),
        ('{"type":0,"publishMessage":{"topics":["a","b"]}}', "expected a list of one, got 2"),
        ('{"type":104,"score":{"value":NaN}}', "NaN is no number"),
        ('{"type":104,"score":{"value":1e999}}', "score.value: expected a number"),
        ("[" * 100_000, "not JSON"),
        ('{"type":9,"timestamp":' + "9" * 5000 + ',"join":{}}', "a number with thousands of digits"),
        ('{"type":9,"peerID":"\xff', "not UTF-8"),
    ],
)
def test_a_bad_line_is_kept_aside_with_its_place(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "trace.json"
    good = line_of(SEVERAL[0])
    path.write_bytes(f"{good}\n\n{line}\n{good}\n".encode("latin-1"))
    reading = read_trace(path)
    assert list(reading.events()) == [SEVERAL[0]] * 2
    (bad,) = reading.bad
    assert (bad.position, reading.bad_count, reading.good_count) == (3, 1, 2)
    assert said in bad.problem
    assert str(bad).startswith(f"{path}:3: ")


def test_fields_of_later_schemas_are_counted_and_the_event_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text('{"type":9,"join":{"topic":"t","colour":1},"later":2}\n' * 3)
    reading = read_trace(path)
    assert [e.body for e in reading.events()] == [JoinEvent(topic="t")] * 3
    assert reading.unknown == {"join.colour": 3, "later": 3}


def test_a_line_that_is_too_long_is_one_bad_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_carriers, "MAX_RECORD_BYTES", 100)
    path = tmp_path / "trace.json"
    good = '{"type":9,"join":{}}'
    path.write_text(f"{good}\n" + '{"type":9,"join":{"topic":"' + "x" * 500 + f'"}}}}\n{good}\n')
    reading = read_trace(path)
    assert len(list(reading)) == 2
    assert [(b.position, b.problem) for b in reading.bad] == [(2, "a line of more than 100 bytes")]


@pytest.mark.parametrize("carrier", ["protobuf", "batches"])
def test_a_cut_file_gives_all_that_is_whole(tmp_path: Path, carrier: Carrier) -> None:
    whole = tmp_path / "whole"
    written = [TraceEvent(JoinEvent(topic=os.urandom(8).hex()), b"a", n) for n in range(100)]
    write_trace(written, whole, carrier)
    for size in range(0, whole.stat().st_size, 97):
        cut = tmp_path / "cut"
        cut.write_bytes(whole.read_bytes()[:size])
        reading = read_trace(cut)
        found = list(reading.events())
        assert found == written[: len(found)]
        assert reading.bad_count <= 1
        assert len(found) < 100 or reading.bad_count == 1


def test_a_corrupt_record_between_good_ones(tmp_path: Path) -> None:
    path = tmp_path / "trace.pb"
    write_trace(GO_ALONE, path, "protobuf")
    data = bytearray(path.read_bytes())
    second = data[0] + 1
    data[second + 2] = 0x63
    path.write_bytes(data)
    reading = read_trace(path)
    assert list(reading.events()) == [GO_ALONE[0], GO_ALONE[2]]
    assert [(b.position, "type 99" in b.problem) for b in reading.bad] == [(second, True)]


def test_a_length_that_cannot_be_believed_ends_the_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.pb"
    write_trace(GO_ALONE, path, "protobuf")
    for tail, said in ((b"\xff\xff\xff\xff\x0f", "the most that is read"), (b"\xff" * 12, "has no end")):
        path.write_bytes(path.read_bytes() + tail)
        reading = read_trace(path)
        assert len(list(reading)) == 3
        assert said in reading.bad[0].problem
        write_trace(GO_ALONE, path, "protobuf")


def test_a_corrupt_gzip_stream(tmp_path: Path) -> None:
    path = tmp_path / "trace.gz"
    data = bytearray(gzip.compress(b"\x04\x08\x09\x6a\x00" * 5000, 1))
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    reading = read_trace(path)
    list(reading)
    assert reading.bad_count >= 1
    assert str(path) in str(reading.bad[0])


def test_a_directory_is_read_by_name_each_file_once(tmp_path: Path) -> None:
    write_trace(SEVERAL, tmp_path / "b.pb", "protobuf")
    write_trace(SEVERAL[:1], tmp_path / "a.json")
    shutil.copy(tmp_path / "a.json", tmp_path / "c.json")
    for name in ("current", ".hidden.pb", "d.part"):
        (tmp_path / name).write_text('{"being written')
    (tmp_path / ".gitkeep").touch()
    reading = read_trace(tmp_path)
    assert list(reading.events()) == [SEVERAL[0], *SEVERAL]
    assert [(a.name, b.name) for a, b in reading.duplicates] == [("c.json", "a.json")]
    assert {(e.path.name, e.state) for e in reading.left_out} == {
        *((name, "unfinished") for name in ("current", ".hidden.pb", "d.part")),
        *((name, "ignored") for name in (".gitkeep", "b.pb.side.jsonl")),
    }
    assert reading.bad == []


def test_clocks_that_step_back_are_counted_and_the_order_kept(tmp_path: Path) -> None:
    written = [
        TraceEvent(HeartbeatEvent(), peer, at) for peer, at in ((b"a", 5), (b"b", 1), (b"a", 4), (b"a", 9))
    ]
    write_trace(written, tmp_path / "trace.json")
    reading = read_trace(tmp_path / "trace.json")
    assert list(reading.events()) == written
    assert reading.steps_back == {b"a": 1}


def test_each_recorded_run_has_a_clock_of_its_own(tmp_path: Path) -> None:
    """Else every trace that `check --record` writes would be said to step back."""
    run = [
        TraceEvent(RunStart(name="r"), None, 0),
        *(TraceEvent(HeartbeatEvent(), b"a", at) for at in (5, 9)),
    ]
    write_trace([*run, *run], tmp_path / "t.jsonl")
    reading = read_trace(tmp_path / "t.jsonl")
    assert reading.good_count == 0 and len(list(reading)) == 6
    assert not reading.steps_back


def test_digits_in_names_are_numbers(tmp_path: Path) -> None:
    for name in ("bob-9.jsonl", "bob-10.jsonl", "bob-010.jsonl", "alice.jsonl", "9.pb", "x2y10", "x2y9"):
        (tmp_path / name).write_bytes(b"{}")
    assert [p.name for p in read_trace(tmp_path).files] == [
        *("9.pb", "alice.jsonl", "bob-9.jsonl", "bob-010.jsonl", "bob-10.jsonl", "x2y9", "x2y10")
    ]


def test_a_side_file_of_another_trace_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "trace.pb"
    write_trace(SEVERAL, path, "protobuf")
    side = side_of(path)
    entries = [json.loads(line) for line in side.read_text().splitlines()]
    entries[1]["event"]["publishMessage"]["topic"] = "other"
    side.write_text("".join(json.dumps(e) + "\n" for e in entries) + "{}\n")
    reading = read_trace(path)
    assert len(list(reading)) == 4
    assert [b.file.name for b in reading.bad] == ["trace.pb", "trace.pb.side.jsonl"]
    assert "another event than line 2" in reading.bad[0].problem


def test_where_nothing_can_be_done_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file"):
        read_trace(tmp_path / "none")
    with pytest.raises(TraceError, match="contains no trace"):
        read_trace(tmp_path)
    (tmp_path / "noise").write_bytes(b"PAR1 and more")
    reading = read_trace(tmp_path)
    assert list(reading) == []
    with pytest.raises(TraceError, match="contains no trace event.*starts with 50 41 52 31"):
        reading.demand_some()


@pytest.mark.parametrize("topic", ["", "x" * 60, "x" * 111, "x" * 115, "x" * 119, "x" * 300])
def test_the_carrier_is_told_whatever_the_length_of_the_first_record(tmp_path: Path, topic: str) -> None:
    for carrier in CARRIERS:
        write_trace([TraceEvent(JoinEvent(topic=topic))], tmp_path / "trace", carrier)
        assert read_back(tmp_path / "trace") == [TraceEvent(JoinEvent(topic=topic))]


def test_every_length_that_is_a_brace_is_told_apart() -> None:
    assert carrier_of(b'{"type":0') == "json"
    assert carrier_of(b"{\x08\x00") == "protobuf"
    assert carrier_of(b"{\n\x05") == "batches"


def test_an_unfinished_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    write_trace(SEVERAL, path)

    def failing() -> object:
        yield SEVERAL[0]
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write_trace(failing(), path)  # type: ignore[arg-type]
    assert read_back(path) == SEVERAL


DATA = Path(os.environ.get("QUIDNUNC_DATA", Path(__file__).parents[4] / "shared" / "data"))
REAL = DATA / "real_trace_lines.ndjson"


@pytest.mark.skipif(not REAL.exists(), reason="set QUIDNUNC_DATA to a directory with real_trace_lines.ndjson")
def test_real_lines_read_and_come_back(tmp_path: Path) -> None:
    reading = read_trace(REAL)
    found = list(reading.events())
    assert [e.type.enum for e in found] == ["JOIN", "SEND_RPC", "GRAFT", "RECV_RPC"]
    assert (reading.bad, dict(reading.unknown)) == ([], {})
    assert found[0].at_ns == 1757586484746971127
    lines = [json.loads(line) for line in REAL.read_text().splitlines()]
    assert [json.loads(line_of(e)) for e in found] == lines
    write_trace(found, tmp_path / "trace.pb", "protobuf")
    assert read_back(tmp_path / "trace.pb") == found
