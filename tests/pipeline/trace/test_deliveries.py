"""Tables of deliveries: a small one by hand, and the real one where it is at hand."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from quidnunc.pipeline.trace.deliveries import Deliveries
from quidnunc.pipeline.trace.events import DeliverMessage, PublishMessage
from quidnunc.pipeline.trace.metrics import metrics_of
from quidnunc.pipeline.trace.shapes import TraceError

HEAD = "node,node_peer_id,col1_peer,col2_peer,msg_uuid,t_sent_ns,t_recv_ns,seq\n"
ROWS = "n0,A,A,A,m,1,1000000,1\nn1,B,B,A,m,1,3000000,1\nn2,C,C,B,m,1,8000000,1\n"


@pytest.mark.parametrize("packed", [False, True])
def test_a_table_is_measured(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "deliveries.csv"
    data = (HEAD + ROWS).encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    events = list(Deliveries(path))
    assert [type(e.body) for e in events] == [PublishMessage, *[DeliverMessage] * 3]
    (found,) = metrics_of(events)
    assert (found.messages, found.deliveries, found.hops) == (1, 2, {1: 1, 2: 1})
    assert found.latency_ms == {"p50": 2.0, "p95": 7.0, "p99": 7.0, "max": 7.0}


def test_bad_rows_are_kept_aside(tmp_path: Path) -> None:
    path = tmp_path / "deliveries.csv"
    path.write_text(HEAD + "n0,A,A,A,m,1,soon,1\n" + ROWS + "n0,A,A\n")
    reading = Deliveries(path)
    assert len(list(reading)) == 4
    assert [b.position for b in reading.bad] == [2, 6]


def test_a_line_that_is_too_long_is_one_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "deliveries.csv"
    path.write_text(HEAD + "x" * 10_000 + "\n" + ROWS + "y" * 5000)
    reading = Deliveries(path)
    assert [type(e.body) for e in reading] == [PublishMessage, *[DeliverMessage] * 3]
    assert [(b.position, b.lost) for b in reading.bad] == [(2, 10_001), (6, 5000)]
    assert "more than 4096 characters" in str(reading.bad[0])


def test_a_quote_that_is_not_closed_costs_its_row_alone(tmp_path: Path) -> None:
    """Mutant: it takes the rows up to the next quote into one field, and nobody is told."""
    path, open_row = tmp_path / "deliveries.csv", 'n0,A,A,A,"m,1,1000000,1\n'
    path.write_text(HEAD + open_row + ROWS + open_row + ROWS)
    reading = Deliveries(path)
    assert len(list(reading)) == 8
    assert [b.lost for b in reading.bad] == [len(open_row)] * 2
    assert "a quote that is not closed in its row" in str(reading.bad[0])


def test_a_row_that_is_not_utf_8_is_bad(tmp_path: Path) -> None:
    """Mutant: what stands in place of the bytes makes one peer of three, and `deliver.once` fails."""
    path = tmp_path / "deliveries.csv"
    path.write_bytes(
        (HEAD + "".join(f"n,{c},{c},ä,m,1,1,1\n" for c in "äöü")).encode("latin-1") + ROWS.encode()
    )
    reading = Deliveries(path)
    assert len(list(reading)) == 4
    assert [(b.position, b.problem, b.lost) for b in reading.bad] == [(n, "not UTF-8", 0) for n in (2, 3, 4)]
    path.write_bytes((HEAD.replace("seq", "größe") + ROWS).encode("latin-1"))
    with pytest.raises(TraceError, match="header cannot be read: not UTF-8"):
        list(Deliveries(path))


def test_white_space_around_a_field_is_no_part_of_it(tmp_path: Path) -> None:
    """Mutant: ` B` and `B` are two peers, and nobody is told."""
    path = tmp_path / "deliveries.csv"
    path.write_text((HEAD + ROWS).replace(",", ", ").replace("\n", "\t\n"))
    reading, plain = Deliveries(path), tmp_path / "plain.csv"
    plain.write_text(HEAD + ROWS)
    assert list(reading) == list(Deliveries(plain)) and not reading.bad
    path.write_text(HEAD + 'n0,A,A, "A, 1",m,1,1000000,1\nn0,A, ,A,m,1,1,1\n')
    (event,) = reading
    assert isinstance(event.body, DeliverMessage) and event.body.received_from == b"A, 1"
    assert "a row without col1_peer" in str(reading.bad[0])


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """Mutant: the second one counts in silence."""
    path = tmp_path / "deliveries.csv"
    path.write_text(HEAD.rstrip("\n") + ",t_recv_ns\n" + ROWS)
    with pytest.raises(TraceError, match="column t_recv_ns is there twice"):
        list(Deliveries(path))


def test_a_row_with_more_or_fewer_fields_than_the_header_is_bad(tmp_path: Path) -> None:
    path = tmp_path / "deliveries.csv"
    path.write_text(HEAD + "n0,A,A,m,1,1000000,1\nn0,A,A,A,m,1,1000000,1,9\n" + ROWS)
    reading = Deliveries(path)
    assert len(list(reading)) == 4
    assert [(b.position, b.lost) for b in reading.bad] == [(2, 0), (3, 0)]
    assert "a row of 7 fields, where the header has 8" in str(reading.bad[0])


def test_a_number_that_is_no_time_is_named(tmp_path: Path) -> None:
    path = tmp_path / "deliveries.csv"
    path.write_text(HEAD + "n0,A,A,A,m,1,99999999999999999999999,1\nn0,,A,A,m,1,5,1\nn0,A,,A,m,1,5,1\n")
    reading = Deliveries(path)
    assert len(list(reading)) == 2, "what a peer sent itself it published"
    assert "t_recv_ns is no time in ns from 0 to 2^63 - 1: '99999999999999999999999'" in str(reading.bad[0])
    assert "a row without col1_peer" in str(reading.bad[1])


@pytest.mark.parametrize("left", ["n2,C,C,B,m,1,8000000", "n2,C,C,B,m,1,80", "n2,C"])
def test_a_table_that_is_cut_off_in_a_row_has_lost_it(tmp_path: Path, left: str) -> None:
    """Half of a number is another number: no such row is taken, whatever it lacks."""
    path = tmp_path / "deliveries.csv"
    path.write_text(HEAD + "n0,A,A,A,m,1,1000000,1\n" + left)
    reading = Deliveries(path)
    assert len(list(reading)) == 2
    (bad,) = reading.bad
    assert bad.lost == len(left) and "cut off" in bad.problem
    path.write_text(HEAD + ROWS.rstrip("\n"))
    assert len(list(Deliveries(path))) == 4, (
        "the last line need not have an end: seq tells where the time ends"
    )


def test_a_last_time_without_an_end_may_be_another(tmp_path: Path) -> None:
    """Mutant: a table that is cut off in its last number is whole, and that number is a tenth."""
    path, rows = tmp_path / "deliveries.csv", "A,A,m,1000000\nB,A,m,3000000\n"
    path.write_text("col1_peer,col2_peer,msg_uuid,t_recv_ns\n" + rows[:-2])
    reading = Deliveries(path)
    assert [e.at_ns for e in reading] == [1_000_000] * 2
    (bad,) = reading.bad
    assert (bad.position, bad.lost, bad.is_cut) == (3, len("B,A,m,300000"), True)
    assert "cut off: the last line has no end" in bad.problem
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r") + b"\r")
    assert len(list(Deliveries(path))) == 3, "a line may end as they did on old machines"


def test_a_table_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "deliveries.csv"
    path.write_bytes((HEAD + ROWS).encode("utf-8-sig"))
    assert len(list(Deliveries(path))) == 4


def test_a_compressed_table_that_is_cut_off_has_lost_something(tmp_path: Path) -> None:
    path = tmp_path / "deliveries.csv.gz"
    rows = "".join(f"n0,A,A,A,m{n},1,{n * 1_000_003},{n}\n" for n in range(2000))
    path.write_bytes(gzip.compress((HEAD + rows).encode())[:-2000])
    reading = Deliveries(path)
    assert 0 < len(list(reading)) < 4000
    (bad,) = reading.bad
    assert bad.lost > 0 and "cut off" in bad.problem


def test_what_is_no_such_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deliveries.csv"
    packed = gzip.compress((HEAD + ROWS).encode())
    for data, said in (
        (b"", "no column col1_peer"),
        (b"a,b\n1,2\n", "no column col1_peer"),
        (packed[:12], "header cannot be read: cut off"),
        (packed[:20] + b"\xff" * 20 + packed[40:], "header cannot be read"),
    ):
        path.write_bytes(data)
        with pytest.raises(TraceError, match=said):
            list(Deliveries(path))


DATA = Path(os.environ.get("QUIDNUNC_DATA", Path(__file__).parents[4] / "shared" / "data"))
REAL = DATA / "whiteblock" / "ba_series_9a.1_deliveries.csv.gz"


@pytest.mark.skipif(
    not REAL.exists(), reason="set QUIDNUNC_DATA to a directory with the whiteblock deliveries"
)
def test_the_real_deliveries_reach_everybody() -> None:
    reading = Deliveries(REAL)
    (found,) = metrics_of(reading)
    assert reading.bad_count == 0
    assert (found.messages, found.deliveries) == (3600, 3600 * 19)
    assert found.latency_ms is not None
    assert 0 < found.latency_ms["p50"] < found.latency_ms["p99"]
    assert sum(found.hops.values()) == 3600 * 19
