"""Claims of one peer's own clock, watched event by event in plain Python over a bucket of silver.

What the queries of `gold/sql/claims.sql` find by joins, this finds by remembering, one peer after the other:
the two know nothing of each other but what a claim says. A worker is given the path of its file, because
moving rows from the JVM to Python would cost more than to watch them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from attrs import field, frozen, mutable

from quidnunc.pipeline.lake.gold.claims import TraceSettings
from quidnunc.pipeline.lake.silver.schema import RowKind

NS_PER_MS = 1_000_000
NEVER = -(1 << 62)
"""For the time of an event without one."""
Row: TypeAlias = tuple[int, int, int, int, int, int, int, float]
"""seq, at_ns, code, remote, message, topic, source, value; -1 where there is none, the value not a number."""
DELIVER, OPEN, CLOSED, HEARTBEAT, IN_MESH, OUT_OF_MESH, ENABLED = (
    type * 32 for type in (3, 4, 5, 101, 11, 12, 106)
)
RECEIVED, SENT = 6 * 32, 7 * 32
WATCHED = frozenset(
    {
        *(DELIVER, OPEN, CLOSED, HEARTBEAT, IN_MESH, OUT_OF_MESH, ENABLED),
        *(
            SENT + k
            for k in (
                RowKind.MESSAGE,
                RowKind.GRAFT,
                RowKind.PRUNE,
                RowKind.RESET_ROUTE,
                RowKind.IWANT,
                RowKind.TXS,
            )
        ),
        *(
            RECEIVED + k
            for k in (RowKind.IDONTWANT, RowKind.IWANT, RowKind.PRUNE, RowKind.RESET_ROUTE, RowKind.IHAVE)
        ),
    }
)
"""`type * 32 + kind` of the rows that a watch looks at."""
CLAIMS = (
    *("deliver.once", "relay.not-back", "relay.once", "idontwant.honoured", "ihave.requested"),
    *("backoff.no-graft", "send.once-to-others", "controller.resets-when-low", "reset.one"),
)


@frozen
class EventViolation:
    """One violation: the event that should not be, by its number."""

    claim: str
    run: int
    peer: int
    seq: int
    remote: int


@frozen
class BucketResult:
    """What came of one bucket."""

    events: int
    violations: tuple[EventViolation, ...]


@mutable
class PeerMonitor:
    """What is remembered of one peer in one run."""

    run: int
    peer: int
    settings: TraceSettings
    meshed: bool
    """Its GRAFT and PRUNE events are traced, so its mesh is known."""
    found: list[EventViolation] = field(factory=list)
    _delivered: dict[int, tuple[int, int]] = field(factory=dict)
    _unwanted: dict[tuple[int, int], int] = field(factory=dict)
    _asked: set[tuple[int, int]] = field(factory=set)
    _offered: set[tuple[int, int]] = field(factory=set)
    _sent: dict[tuple[int, int], int] = field(factory=dict)
    _carried: dict[tuple[int, int], int] = field(factory=dict)
    _mesh: set[tuple[int, int]] = field(factory=set)
    _backoff: dict[tuple[int, int], int] = field(factory=dict)
    _away: set[int] = field(factory=set)
    _routes: dict[int, int] = field(factory=dict)
    _reset_ns: int = NEVER

    def take(self, rows: Iterable[Row]) -> None:
        """All rows of the peer, in their order."""
        relay, unwanted, told = SENT + RowKind.MESSAGE, self._unwanted, RECEIVED + RowKind.IDONTWANT
        for seq, at_ns, code, remote, message, topic, source, value in rows:
            # The two that most rows are of come first.
            if code == told:
                unwanted[remote, message] = at_ns
            elif code == relay:
                self._relay(seq, at_ns, remote, message, topic)
            else:
                self._other(seq, at_ns, code, remote, message, topic, source, value)

    def _say(self, claim: str, seq: int, remote: int) -> None:
        self.found.append(EventViolation(claim, self.run, self.peer, seq, remote))

    def _relay(self, seq: int, at_ns: int, remote: int, message: int, topic: int) -> None:
        key = remote, message
        before_ns = self._sent.get(key)
        self._sent[key] = at_ns
        if key in self._asked:
            return
        if before_ns is not None and self._within(at_ns, before_ns, self.settings.seen_ttl_ms, exact=False):
            self._say("relay.once", seq, remote)
        first = self._delivered.get(message)
        if first is not None and first[0] == remote and remote != self.peer:
            self._say("relay.not-back", seq, remote)
        said_ns = self._unwanted.get(key)
        if said_ns is None or said_ns == NEVER or at_ns == NEVER:
            return
        heeded = at_ns - said_ns <= self.settings.idontwant_window_ms * NS_PER_MS
        if heeded and (not self.meshed or topic < 0 or (remote, topic) in self._mesh):
            self._say("idontwant.honoured", seq, remote)

    def _within(self, at_ns: int, before_ns: int, limit_ms: int, *, exact: bool) -> bool:
        """Whether so little time has passed; where times are missing, unless it must be `exact`."""
        if NEVER in (at_ns, before_ns):
            return not exact
        return at_ns - before_ns < limit_ms * NS_PER_MS

    def _other(
        self,
        seq: int,
        at_ns: int,
        code: int,
        remote: int,
        message: int,
        topic: int,
        source: int,
        value: float,
    ) -> None:
        key = remote, message
        if code == DELIVER:
            self._deliver(seq, at_ns, remote, message)
        elif code == RECEIVED + RowKind.IWANT:
            self._asked.add(key)
        elif code == RECEIVED + RowKind.IHAVE:
            self._offered.add(key)
        elif code == SENT + RowKind.IWANT:
            if key not in self._offered and message >= 0:
                self._say("ihave.requested", seq, remote)
        elif code == IN_MESH:
            self._mesh.add((remote, topic))
        elif code == OUT_OF_MESH:
            self._mesh.discard((remote, topic))
        elif code == HEARTBEAT:
            # From here on a router may have forgotten what it was told.
            self._unwanted.clear()
        elif code in (SENT + RowKind.PRUNE, RECEIVED + RowKind.PRUNE):
            self._prune(at_ns, remote, topic, value)
        elif code == SENT + RowKind.GRAFT:
            if at_ns != NEVER and at_ns < self._backoff.get((remote, topic), NEVER):
                self._say("backoff.no-graft", seq, remote)
        else:
            self._of_mempool(seq, at_ns, code, remote, message, source)

    def _deliver(self, seq: int, at_ns: int, remote: int, message: int) -> None:
        if message < 0:
            return
        before = self._delivered.get(message)
        if before is None:
            self._delivered[message] = (remote, at_ns)
            return
        if self._within(at_ns, before[1], self.settings.seen_ttl_ms, exact=False):
            self._say("deliver.once", seq, remote)
        self._delivered[message] = (before[0], at_ns)

    def _prune(self, at_ns: int, remote: int, topic: int, value: float) -> None:
        seconds = self.settings.prune_backoff_s if value != value else value
        if seconds is not None and at_ns != NEVER:
            until_ns = at_ns + int(min(seconds, 1e6) * 1e9)
            self._backoff[remote, topic] = max(until_ns, self._backoff.get((remote, topic), NEVER))

    def _of_mempool(self, seq: int, at_ns: int, code: int, remote: int, message: int, source: int) -> None:
        key = remote, message
        if code == SENT + RowKind.TXS:
            if key in self._carried and key not in self._asked:
                self._say("send.once-to-others", seq, remote)
            self._carried[key] = seq
        elif code == SENT + RowKind.RESET_ROUTE:
            limit_ms = max(0, self.settings.adjust_interval_ms - self.settings.timer_slack_ms)
            if self._within(at_ns, self._reset_ns, limit_ms, exact=True):
                self._say("controller.resets-when-low", seq, remote)
            self._reset_ns = at_ns
        elif code == RECEIVED + RowKind.RESET_ROUTE:
            self._routes[remote] = self._routes.get(remote, 0) + 1
        elif code == ENABLED and not {remote, source} & self._away:
            self._routes[remote] = self._routes.get(remote, 0) - 1
            if self._routes[remote] < 0:
                self._say("reset.one", seq, remote)
        elif code == CLOSED:
            self._away.add(remote)
            self._reset_ns = NEVER
            self._mesh = {link for link in self._mesh if link[0] != remote}
            self._carried = {k: v for k, v in self._carried.items() if k[0] != remote}
        elif code == OPEN:
            self._away.discard(remote)


def watch_bucket(path: Path, settings: TraceSettings) -> BucketResult:
    """Every peer of one bucket, one after the other."""
    from pyarrow import parquet

    table = parquet.read_table(path, columns=[*COLUMNS, "run", "peer"])
    found: list[EventViolation] = []
    for run, peer, meshed, rows in _peers(table):
        watch = PeerMonitor(run, peer, settings, meshed)
        watch.take(rows)
        found += watch.found
    return BucketResult(int(table.num_rows), tuple(found))


COLUMNS = ("seq", "at_ns", "type", "kind", "remote", "message", "topic", "source", "value")


def _peers(table: Any) -> Iterator[tuple[int, int, bool, Iterator[Row]]]:
    """Run, peer, whether its mesh is traced, and the rows that are watched; a run of a peer at a time."""
    import numpy

    def column(name: str, absent: Any = -1) -> Any:
        return table[name].fill_null(absent).to_numpy()

    code = column("type").astype(numpy.int32) * 32 + column("kind")
    wanted = numpy.isin(code, list(WATCHED)) & (column("peer") >= 0)
    owner = column("run").astype(numpy.int64) << 32 | column("peer").astype(numpy.int64)
    owner, code = owner[wanted], code[wanted]
    if not len(owner):
        return
    # A row of silver is of the run that its peer's last RUN event began, which only ever grows.
    ends = numpy.append(numpy.flatnonzero(numpy.diff(owner)) + 1, len(owner)).tolist()
    rest = [column(n, NEVER if n == "at_ns" else -1)[wanted] for n in COLUMNS[:2] + COLUMNS[4:8]]
    value = column("value", float("nan"))[wanted]
    start = 0
    for end in ends:
        seq, at_ns, remote, message, topic, source = (each[start:end].tolist() for each in rest)
        some = code[start:end]
        meshed = bool((some == IN_MESH).any())
        rows = zip(
            seq, at_ns, some.tolist(), remote, message, topic, source, value[start:end].tolist(), strict=True
        )
        yield int(owner[start] >> 32), int(owner[start] & 0xFFFFFFFF), meshed, rows
        start = end


@frozen
class BucketMonitor:
    """`watch_bucket` under some settings, as a worker is sent it."""

    settings: TraceSettings

    def __call__(self, path: str) -> BucketResult:
        return watch_bucket(Path(path), self.settings)
