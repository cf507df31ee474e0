"""IDONTWANT on the wire: the lemma, decoders that break it, and bytes that the protobuf library reads."""

from __future__ import annotations

import random
from typing import Any

import pytest

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from quidnunc.properties.proofs.idontwant.codec import (
    IDS,
    DecodedEntry,
    EncodedEntry,
    by_draft,
    codec,
    entries,
    same,
    sent_by_r1,
)
from quidnunc.properties.solver.questions import SolverSession


def test_what_is_decided() -> None:
    found = list(codec(SolverSession()))
    assert [(r.name.partition(".")[2], r.verdict, r.vacuous) for r in found] == [
        ("draft-reads-r1", "proved", False),
        ("r1-reads-draft", "proved", False),
    ]


def skips_the_empty(entry: EncodedEntry) -> DecodedEntry:
    return DecodedEntry(z3.BoolVal(False), by_draft(entry).reads)


def reads_the_first_two(entry: EncodedEntry) -> DecodedEntry:
    first = [z3.And(z3.UGT(entry.count, n), entry.ids[n] == entry.ids[n]) for n in range(2)]
    return DecodedEntry(
        entry.has(0),
        lambda v: z3.Or(*(z3.And(there, entry.ids[n] == v) for n, there in enumerate(first))),
    )


@pytest.mark.parametrize("decoder", [skips_the_empty, reads_the_first_two])
def test_another_decoder_breaks_the_lemma(decoder: Any) -> None:
    said = entries()
    one_each = z3.And(*(entry.has(1) for entry in said))
    lemma = z3.Implies(sent_by_r1(said), same(said, decoder) == one_each)
    assert not SolverSession().valid("another decoder", lemma)


def test_ids_that_are_said_twice_may_be_read_all_the_same() -> None:
    said = entries()
    twice = z3.And(said[0].has(2), said[1].has(1), said[2].has(1), said[0].ids[0] == said[1].ids[0])
    assert SolverSession().possible("said twice", twice, same(said, by_draft))


def draft_decoder() -> Any:
    """A protobuf class with one required `bytes messageID = 1`, as the draft has it."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="draft.proto", syntax="proto2", package="draft")
    entry = file.message_type.add(name="IDontWant")
    entry.field.add(name="messageID", number=1, type=12, label=2)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("draft.IDontWant"))


def test_the_protobuf_library_reads_bytes_so() -> None:
    pytest.importorskip("google.protobuf", reason="protobuf is not installed")
    from quidnunc.impl.wire import wire_pb2

    die, decoder = random.Random(1), draft_decoder()
    lengths = set()
    for _ in range(200):
        ids = [bytes([die.randrange(256)]) for _ in range(die.randrange(IDS + 1))]
        read = decoder()
        read.MergeFromString(wire_pb2.ControlIDontWant(messageIDs=ids).SerializeToString())  # type: ignore[attr-defined]
        # A required field that is not there: the entry is no entry, and parsing it in full raises.
        assert read.IsInitialized() == bool(ids)
        if ids:
            assert read.messageID == ids[-1]
            again = wire_pb2.ControlIDontWant.FromString(decoder(messageID=ids[0]).SerializeToString())  # type: ignore[attr-defined]
            assert list(again.messageIDs) == ids[:1]
        lengths.add(len(ids))
    assert lengths == {0, 1, 2, 3}
