"""Signed peer records: what verifies, what does not, and bytes that are nothing of the kind."""

from __future__ import annotations

import random

import pytest

from quidnunc.impl.wire.keys import peer_id
from quidnunc.impl.wire.signed_records import MAX_RECORD_BYTES, is_valid, kind_of, record_of


def test_the_record_of_a_peer_is_its_own() -> None:
    record = record_of(7)
    assert is_valid(record, peer_id(7))
    assert not is_valid(record, peer_id(8))
    assert record_of(7) == record and record_of(7, seq=2) != record


@pytest.mark.parametrize("kind", ["forged", "foreign"])
def test_what_is_not_sound_does_not_verify(kind: str) -> None:
    record = record_of(7, kind)  # type: ignore[arg-type]
    assert not is_valid(record, peer_id(7))
    assert is_valid(record, peer_id(8)) == (kind == "foreign")


def test_kinds_are_told_apart() -> None:
    identity = peer_id(3)
    assert kind_of(b"", identity) == ""
    assert kind_of(record_of(3), identity) == "signed"
    assert kind_of(record_of(3, "forged"), identity) == kind_of(record_of(3, "foreign"), identity) == "forged"


def test_any_changed_byte_is_noticed() -> None:
    record, identity = record_of(5), peer_id(5)
    for at in range(len(record)):
        changed = record[:at] + bytes((record[at] ^ 1,)) + record[at + 1 :]
        assert not is_valid(changed, identity), at


def test_no_bytes_are_too_strange() -> None:
    die = random.Random(4)
    record, identity = record_of(5), peer_id(5)
    for _ in range(300):
        cut = record[: die.randrange(len(record))] + die.randbytes(die.randrange(6))
        assert is_valid(cut, identity) in (True, False)
    assert not is_valid(b"\xff" * 64, identity)
    assert not is_valid(record + bytes(MAX_RECORD_BYTES), identity)


def test_fields_that_nobody_knows_are_passed_over() -> None:
    unknown = b"\x7a\x03abc" + b"\x78\x05"
    assert is_valid(record_of(5) + unknown, peer_id(5))


def test_the_envelope_is_laid_out_as_the_specification_has_it() -> None:
    """Field 1 holds the protobuf public key, field 2 the type, field 3 the payload, field 5 the signature."""
    record = record_of(1)
    assert record[:2] == b"\x0a\x24"
    assert record[38:42] == b"\x12\x02\x03\x01"
    assert record[42:43] == b"\x1a"
    assert record[-66:-64] == b"\x2a\x40"
