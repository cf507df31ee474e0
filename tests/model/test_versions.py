"""The tables of parts and versions: complete, and the same as what is said a second time elsewhere."""

from __future__ import annotations

from typing import get_args

import pytest

from quidnunc.impl.gossipsub.core import FEATURES
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.model.pubsub.protocols import PUBSUB
from quidnunc.model.rpc import CONTROL_SHAPES, PARTS, IDontWant, Part, Partial, PartShape
from quidnunc.model.versions import STREAMS, VERSIONS, Version
from quidnunc.properties.notation.lines import Notation
from quidnunc.properties.notation.parts import PART_NAMES


def test_every_part_has_one_row() -> None:
    assert sorted(s.kind.__name__ for s in PARTS) == sorted(kind.__name__ for kind in get_args(Part))
    assert PART_NAMES.startswith("subscribe, unsubscribe, message, ihave, iwant, graft, prune, idontwant")
    assert len({shape.word for shape in PARTS}) == len(PARTS)


def test_a_row_that_does_not_fit_its_class_is_refused() -> None:
    with pytest.raises(ValueError, match="IDontWant has 1 fields"):
        PartShape(IDontWant, ("topic", "ids"))


@pytest.mark.parametrize("shape", PARTS, ids=lambda shape: shape.word)
def test_a_part_and_its_later_fields_come_with_known_versions(shape: PartShape) -> None:
    assert not shape.since or shape.since in VERSIONS
    assert set(shape.later) <= set(shape.names)
    assert set(shape.later.values()) <= set(VERSIONS)


def test_field_numbers_are_those_of_the_codec() -> None:
    theirs = {f.name: f.number for f in wire.ControlMessage.DESCRIPTOR.fields}
    assert {shape.word: shape.number for shape in CONTROL_SHAPES} == theirs


@pytest.mark.parametrize("version", VERSIONS.values(), ids=VERSIONS)
def test_a_version_has_rules_and_our_router_has_it(version: Version) -> None:
    assert list(PUBSUB) == list(VERSIONS)
    assert version.streams == FEATURES[version.name].streams[::-1]
    assert set(version.lineage) <= set(VERSIONS) and version.stream in STREAMS


def test_a_version_has_the_parts_of_those_below_it() -> None:
    older, newer = ({s.kind for s in VERSIONS[v].parts} for v in ("gossipsub-1.1", "gossipsub-1.3"))
    assert older < newer and IDontWant in newer - older
    assert Partial not in newer


@pytest.mark.parametrize("shape", CONTROL_SHAPES, ids=lambda shape: shape.word)
def test_a_sample_of_each_control_message_reads_as_written(shape: PartShape) -> None:
    part = shape.sample("t1", "m1")
    notation = Notation()
    text = notation.mentions.part_text(part, notation.mentions.by_router())
    assert text.startswith(shape.word)
    assert notation.mentions.parts(text, notation.mentions.by_router()) == (part,)
