"""Hermes's JSON lines, by hand: no real file is at hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from quidnunc.pipeline.trace.events import DeliverMessage, GraftEvent, SentRpc
from quidnunc.pipeline.trace.hermes import HermesLines, nanoseconds
from quidnunc.pipeline.trace.rpc import (
    ControlMeta,
    IDontWantMeta,
    IHaveMeta,
    MessageMeta,
    PruneMeta,
    RpcMeta,
    SubscriptionMeta,
)
from quidnunc.pipeline.trace.shapes import TraceError

AT = "2024-05-01T12:00:00.123456789Z"
AT_NS = 1_714_564_800_123_456_789


def line(kind: str, data: Any) -> str:
    return json.dumps({"Type": kind, "Topic": "", "PeerID": "16Uiu2", "Timestamp": AT, "Data": data}) + "\n"


def test_events_of_each_shape(tmp_path: Path) -> None:
    path = tmp_path / "hermes.jsonl"
    control = {
        "IHave": [{"TopicID": "t", "MsgIDs": ["00ff"]}],
        "IWant": None,
        "Prune": [{"TopicID": "t", "PeerIDs": ["p"]}],
        "Idontwant": [{"MsgIDs": ["01"]}],
    }
    rpc = {
        "PeerID": "q",
        "Subs": [{"Subscribe": False, "TopicID": "t"}],
        "Msgs": [{"MsgID": "0a", "Topic": "t"}],
        "Control": control,
    }
    message = {"PeerID": "q", "Topic": "t", "MsgID": "0a", "Local": False, "MsgSize": 70, "Seq": "00"}
    path.write_text(
        line("GRAFT", {"PeerID": "q", "Topic": "t"})
        + line("DELIVER_MESSAGE", message)
        + line("SEND_RPC", rpc)
        + line("VALIDATE_MESSAGE", message)
        + line("HANDLE_STATUS", {})
    )
    reading = HermesLines(path)
    found = list(reading)
    assert {(e.peer, e.at_ns) for e in found} == {(b"16Uiu2", AT_NS)}
    assert [e.body for e in found] == [
        GraftEvent(peer=b"q", topic="t"),
        DeliverMessage(message_id=b"\x0a", topic="t", received_from=b"q", size=70),
        SentRpc(
            peer=b"q",
            meta=RpcMeta(
                messages=(MessageMeta(message_id=b"\x0a", topic="t"),),
                subscription=(SubscriptionMeta(subscribe=False, topic="t"),),
                control=ControlMeta(
                    ihave=(IHaveMeta(topic="t", message_ids=(b"\x00\xff",)),),
                    prune=(PruneMeta(topic="t", peers=(b"p",)),),
                    idontwant=(IDontWantMeta(message_ids=(b"\x01",)),),
                ),
            ),
        ),
    ]
    assert reading.skipped == {"VALIDATE_MESSAGE": 1, "HANDLE_STATUS": 1}
    assert reading.bad_count == 0


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("{", "not JSON"),
        ("[]", "an object"),
        ("{}", "Type"),
        (line("GRAFT", {}), "PeerID"),
        (line("GRAFT", None), "PeerID"),
        (line("DELIVER_MESSAGE", {"PeerID": "q", "Topic": "t", "MsgID": "zz"}), "hexadecimal"),
        (line("SEND_RPC", {"PeerID": "q", "Msgs": [1]}), "list of objects as Msgs"),
        (line("JOIN", {"Topic": "t"}).replace("2024-", "24-"), "RFC 3339"),
    ],
)
def test_a_bad_line_is_kept_aside(tmp_path: Path, bad: str, said: str) -> None:
    path = tmp_path / "hermes.jsonl"
    good = line("JOIN", {"Topic": "t"})
    path.write_text(good + bad.strip() + "\n" + good)
    reading = HermesLines(path)
    assert len(list(reading)) == 2
    assert [b.position for b in reading.bad] == [2]
    assert said in reading.bad[0].problem


def test_times_keep_their_nanoseconds() -> None:
    assert nanoseconds(AT) == AT_NS
    assert nanoseconds("2024-05-01T14:00:00.5+02:00") == AT_NS - 123_456_789 + 500_000_000
    assert nanoseconds("1969-12-31T23:59:59Z") == -1_000_000_000
    with pytest.raises(TraceError, match="RFC 3339"):
        nanoseconds("2024-13-01T00:00:00Z")


def test_a_record_of_a_stranger_does_not_end_an_ingest(tmp_path: Path) -> None:
    """Go's zero time, years beyond 64 bits, half of a surrogate pair, sizes of thirty digits; compressed."""
    pytest.importorskip("pyarrow", reason="pip install '.[spark]'")
    from quidnunc.pipeline.lake.ingest import SourceOptions, manifest_of
    from quidnunc.pipeline.lake.run_folder import RunFolder
    from tests.helpers.networks import silver_of

    def line(**changes: object) -> str:
        data = {"PeerID": "p", "Topic": "t", "MsgID": "00", "MsgSize": 1, **changes}
        told = {"Type": "DELIVER_MESSAGE", "PeerID": "o", "Timestamp": "2026-01-01T00:00:00Z"}
        told |= {name: data.pop(name) for name in ("Timestamp", "Observer") if name in data}  # type: ignore[misc]
        return json.dumps({**told, "Data": data})

    good = [line(), line(MsgID="01", Timestamp="0001-01-01T00:00:00Z")]
    bad = [
        line(Timestamp="9999-12-31T23:59:59Z"),
        line(Timestamp="0001-01-01T00:00:01Z"),
        line(Topic="\ud800"),
        line(PeerID="\udfff"),
        line(MsgSize=10**30),
        line(MsgID="\ud800"),
    ]
    own = '{"type":9,"timestamp":5,"join":{"topic":"\\ud800"}}\n{"type":9,"join":{"topic":"t"}}\n'
    (tmp_path / "land").mkdir()
    packed = gzip.compress("\n".join([*good, *bad]).encode())
    (tmp_path / "land" / "hermes.jsonl.gz").write_bytes(packed)
    (tmp_path / "land" / "own.jsonl").write_text(own)
    silver_of(tmp_path / "land", tmp_path / "run", SourceOptions(buckets=1))
    files = {f["name"]: f for f in manifest_of(RunFolder(tmp_path / "run"))["files"]}
    hermes, ours = files["hermes.jsonl.gz"], files["own.jsonl"]
    assert (hermes["kind"], hermes["records"], hermes["bad"]) == ("hermes", len(good), len(bad))
    assert (ours["records"], ours["bad"]) == (1, 1)
