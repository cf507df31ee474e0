"""Schemas by version, and what a reader of one makes of bytes of another: all of it tried on protobuf."""

from __future__ import annotations

import pytest

from quidnunc.impl.wire import wire_pb2
from quidnunc.impl.wire.schemas import CrossDecoding, exchanges, fields_of, root_of, schema_changes
from quidnunc.model.machine import PROTOCOLS

DRAFT, R1 = "gossipsub-1.2-draft", "gossipsub-1.2"


def read(writer: str, reader: str, values: int) -> CrossDecoding:
    wanted = f"with {values} value"
    return next(
        e for e in exchanges(DRAFT, R1) if e.writer == writer and e.reader == reader and wanted in e.what
    )


def test_the_draft_and_r1_differ_in_one_field() -> None:
    [change] = schema_changes(DRAFT, R1)
    assert (change.message, change.number) == ("ControlIDontWant", 1)
    assert (change.old, change.new) == ("required bytes messageID", "repeated bytes messageIDs")


def test_one_id_is_read_alike_by_both() -> None:
    there, back = read(DRAFT, R1, 1), read(R1, DRAFT, 1)
    assert there.same and back.same and there.bytes == back.bytes


def test_the_draft_loses_all_but_the_last_of_several_ids() -> None:
    found = read(R1, DRAFT, 2)
    assert "1 of 2 lost" in found.result and not found.same
    # The bytes say so without the code that says it.
    rpc = root_of(DRAFT).FromString(found.bytes)
    assert [each.messageID for each in rpc.control.idontwant] == [b"m2"]
    assert [list(e.messageIDs) for e in wire_pb2.RPC.FromString(found.bytes).control.idontwant] == [
        [b"m1", b"m2"]
    ]


def test_the_draft_cannot_read_an_empty_entry_nor_what_is_beside_it() -> None:
    found = read(R1, DRAFT, 0)
    assert "undecodable" in found.result
    assert wire_pb2.RPC.FromString(found.bytes).subscriptions[0].topicid == "t1"


def test_the_draft_writes_neither_none_nor_several() -> None:
    assert not any(e.writer == DRAFT and "with 1 value" not in e.what for e in exchanges(DRAFT, R1))


def test_an_older_reader_passes_over_what_is_new() -> None:
    found = exchanges("gossipsub-1.0", "gossipsub-1.1")
    assert found and all(e.writer == "gossipsub-1.1" for e in found)
    assert {e.result for e in found} == {"passed over: a field that the reader does not know"}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_has_a_schema_and_none_against_itself(name: str) -> None:
    assert fields_of(name)
    assert not schema_changes(name, name) and not exchanges(name, name)


@pytest.mark.parametrize(
    ("name", "place", "there"),
    [
        ("floodsub", ("RPC", 3), False),
        ("gossipsub-1.0", ("ControlPrune", 3), False),
        ("gossipsub-1.1", ("ControlMessage", 5), False),
        ("gossipsub-1.3", ("RPC", 10), False),
        ("partial-messages-go", ("RPC", 10), True),
        ("flood", ("Message", 2), False),
        ("dog-adr", ("Message", 2), True),
        ("cat-classic", ("SeenTx", 2), False),
        ("cat", ("SeenTx", 2), True),
    ],
)
def test_a_version_has_its_fields_and_no_later_ones(name: str, place: tuple[str, int], there: bool) -> None:
    assert (place in fields_of(name)) is there


def test_every_field_that_differs_can_be_written_where_it_is_there() -> None:
    """A message with a required field in it too: the draft's entry of IDONTWANT."""
    found = exchanges("gossipsub-1.1", DRAFT)
    assert {e.what for e in found} >= {"ControlMessage.idontwant with 1 value"}
    assert all(root_of(e.writer).FromString(e.bytes).IsInitialized() for e in found)
