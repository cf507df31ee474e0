"""Records of bronze, as they are decoded by many at a time."""

from __future__ import annotations

import pytest

from quidnunc.pipeline.lake.bronze.schema import decode, decode_slowly

OVERFLOWING = b'\x08\x00"\xfc\xff\xff\xff\xff\xff\xff\xff\xff\x01"\x00'
"""A field whose length is 2**64 - 4."""


@pytest.mark.parametrize("told", [decode, decode_slowly])
def test_a_length_that_overflows_is_an_error_and_no_panic(told: object) -> None:
    """Mutant: ptars panics, which ends an ingest of a stranger's file with a stack of its own."""
    assert callable(told)
    with pytest.raises(ValueError, match=r"."):
        told([b"\x08\x00", OVERFLOWING])
