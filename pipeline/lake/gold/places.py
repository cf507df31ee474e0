"""Where an event of silver stood: the landing file, and the line or byte in it, which bronze has noted."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path

from quidnunc.pipeline.lake.run_folder import RunFolder
from quidnunc.properties.lazy import numpy, parquet

PLACE = tuple[str, int]
"""A file as the run calls it; its line, from 1, or of a binary file the byte, from 0."""


def places_of(run: RunFolder, sequences: Iterable[int]) -> dict[int, PLACE]:
    """The places of some events by their sequence, which counts the records of all files in their order.

    Without those of files whose bronze is gone.
    """
    files = run.read_manifest()["files"]
    ends = list(accumulate(file["records"] for file in files))
    wanted: dict[int, list[int]] = defaultdict(list)
    for sequence in set(sequences):
        at = bisect_right(ends, sequence)
        if at < len(files):
            wanted[at].append(sequence)
    found: dict[int, PLACE] = {}
    begins: dict[str, int] = {}
    for file, end in zip(files, ends, strict=True):
        begins.setdefault(file["key"], end - file["records"])
    for at, some in wanted.items():
        first = begins[files[at]["key"]]
        positions = _positions(run.bronze(files[at]["key"]), [sequence - first for sequence in some])
        found |= {first + record: (files[at]["name"], place) for record, place in positions.items()}
    return found


def _positions(bronze: Path, records: list[int]) -> dict[int, int]:
    """Record -> position, of some records of one folder of bronze."""
    found: dict[int, int] = {}
    for path in sorted(bronze.glob("events-*.parquet")):
        table = parquet.read_table(path, columns=["record", "position"])
        numbers = table["record"].to_numpy()
        rows = numpy.flatnonzero(numpy.isin(numbers, records))
        positions = table["position"].to_numpy()
        found |= {int(numbers[row]): int(positions[row]) for row in rows}
    return found
