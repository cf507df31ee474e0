"""What happens to bytes between two nodes: when they arrive, and whether they do."""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random

from attrs import define, field

from quidnunc.pipeline.simulation.scenario.values import MAX_MS, Latency, LinkConditions, ScenarioError
from quidnunc.pipeline.simulation.topology import Edge
from quidnunc.properties.bounded import shortened

US_PER_MS = 1000
MAX_REGIONS = 1024


@define(eq=False)
class NetworkLinks:
    """All connections of one network. Times are in whole microseconds since the start."""

    links: LinkConditions
    nodes: int
    seed: int
    lost: int = 0
    _die: Random = field(init=False)
    _base_us: dict[tuple[int, int], int] = field(factory=dict)
    _last_us: dict[tuple[int, int], int] = field(factory=dict)
    """When the last RPC in that direction arrives: none overtakes it."""
    _free_us: list[int] = field(init=False)
    """When each node has sent what it has to send."""
    _regions: tuple[int, ...] = field(init=False)
    _matrix: tuple[tuple[float, ...], ...] = field(init=False)
    _latencies: Random = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._die = Random(f"{self.seed}/links")
        self._latencies = Random(f"{self.seed}/latency")
        self._free_us = [0] * self.nodes
        latency = self.links.latency
        self._matrix = matrix_of(latency) if latency.kind == "matrix" else ()
        self._regions = _regions(latency, len(self._matrix), self.nodes, self._latencies)

    def tie(self, edge: Edge) -> None:
        """Give a connection its latency, if its edge says one. Others get theirs when they are first used."""
        if edge.latency_ms is not None:
            for way in ((edge.dialler, edge.other), (edge.other, edge.dialler)):
                self._base_us[way] = round(edge.latency_ms * US_PER_MS)

    def latency_us(self, sender: int, receiver: int) -> int:
        """One way, without jitter."""
        found = self._base_us.get((sender, receiver))
        if found is not None:
            return found
        latency = self.links.latency
        if latency.kind == "matrix":
            ms = self._matrix[self._regions[sender]][self._regions[receiver]]
        elif latency.kind == "uniform":
            # By the pair and not by the order of asking, so that a lost RPC elsewhere changes nothing here.
            low, high = sorted((sender, receiver))
            ms = Random(f"{self.seed}/latency/{low}/{high}").uniform(latency.low_ms, latency.high_ms)
        else:
            ms = latency.ms
        self._base_us[sender, receiver] = found = round(ms * US_PER_MS)
        return found

    def arrival_us(self, sender: int, receiver: int, size_bytes: int, now_us: int) -> int | None:
        """When `size_bytes` that are sent now arrive; None where they are lost."""
        links = self.links
        leaves_us = now_us
        if links.bandwidth_mbit is not None:
            # A megabit a second is a bit a microsecond.
            leaves_us = max(now_us, self._free_us[sender]) + round(8 * size_bytes / links.bandwidth_mbit)
            self._free_us[sender] = leaves_us
        if links.loss and self._die.random() < links.loss:
            self.lost += 1
            return None
        at_us = leaves_us + self.latency_us(sender, receiver)
        if links.jitter_ms:
            at_us += round(self._die.random() * links.jitter_ms * US_PER_MS)
        way = (sender, receiver)
        at_us = max(at_us, self._last_us.get(way, 0))
        self._last_us[way] = at_us
        return at_us


def _regions(latency: Latency, regions: int, nodes: int, die: Random) -> tuple[int, ...]:
    if not regions:
        return ()
    if latency.regions == "round-robin":
        return tuple(node % regions for node in range(nodes))
    weights = latency.weights or (1.0,) * regions
    if len(weights) != regions or min(weights) < 0 or not sum(weights):
        raise ScenarioError(
            f"links.latency.weights: {len(weights)} weights for {regions} regions; give one of each, "
            "none below 0 and one above it"
        )
    return tuple(die.choices(range(regions), weights, k=nodes))


def matrix_of(latency: Latency) -> tuple[tuple[float, ...], ...]:
    """The matrix, from the scenario or its file: as many rows as columns. Raises ScenarioError."""
    where = latency.path or "links.latency.matrix"
    rows = _read(Path(latency.path)) if latency.path else [list(row) for row in latency.matrix]
    if not 0 < len(rows) <= MAX_REGIONS or any(len(row) != len(rows) for row in rows):
        widths = sorted({len(row) for row in rows})
        raise ScenarioError(f"{where}: {len(rows)} rows of {widths} values; a latency matrix is square")
    if not all(0 <= value <= MAX_MS for row in rows for value in row):
        raise ScenarioError(f"{where}: a latency is from 0 to {MAX_MS} ms")
    return tuple(tuple(row) for row in rows)


def _read(path: Path) -> list[list[float]]:
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            table = [row for row in csv.reader(stream) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ScenarioError(f"links.latency.path: {path}: {error}") from None
    names = len(table) > 1 and not _is_number(table[1][0])
    try:
        return [[float(cell) for cell in row[names:]] for row in table[1:]]
    except ValueError as error:
        raise ScenarioError(
            f"links.latency.path: {path}: {shortened(str(error))}; expected a header, then rows"
        ) from None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
