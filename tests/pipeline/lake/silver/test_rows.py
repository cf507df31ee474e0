"""The rows of one event."""

from __future__ import annotations

from quidnunc.pipeline.lake.silver.rows import rows_of
from quidnunc.pipeline.trace.events import PartBytes, ReceivedRpc, TraceEvent


def test_bytes_that_a_file_claims_beyond_64_bits_fit_their_column() -> None:
    """Mutant: they are added up as they are, and a file of two lines ends `ingest` with a traceback."""
    parts = tuple(PartBytes(kind=None, bytes=count) for count in (1, (1 << 63) - 1))
    (row, *others) = rows_of(
        TraceEvent(ReceivedRpc(peer=None, meta=None, length=None, parts=parts), None, None)
    )
    assert max(each.wire or 0 for each in (row, *others)) == (1 << 63) - 1
