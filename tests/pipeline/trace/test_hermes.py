"""Hermes's JSON lines, by hand: no real file is at hand."""

from __future__ import annotations

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
