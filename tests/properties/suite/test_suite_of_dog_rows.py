"""Every disagreement of DOG's documents: a trace no longer than the catalogue's, or a reason why not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from quidnunc.model.events import Adjust, Connect, Receive, Stall, Submit
from quidnunc.model.mempool.dog.variants import SWITCHES
from quidnunc.model.rpc import Tx
from quidnunc.properties.regress.expect import trace_of
from quidnunc.properties.regress.sides import side_named
from tests.helpers.dog_conflicts import ROWS
from tests.helpers.dog_rows import PAGE, length_of, page, rest, shortest_of, transcribed

BEHAVIOURAL = [row for row in ROWS if row.switches]


def test_the_rows_are_all_there() -> None:
    assert [row.id for row in ROWS] == [f"D-{n}" for n in range(1, 41)]
    assert {switch for row in BEHAVIOURAL for switch in row.switches} <= SWITCHES.keys()
    assert transcribed().keys() == {row.id for row in BEHAVIOURAL}
    assert all(row.why for row in rest())


@pytest.mark.parametrize("row", BEHAVIOURAL, ids=lambda row: row.id)
def test_the_trace_is_no_longer_than_the_catalogues(row: Any) -> None:
    # That it still separates is for the test that replays all that is declared.
    lengths = {switch: shortest_of(switch).length for switch in row.switches}
    assert min(lengths.values()) <= transcribed()[row.id].length, lengths


def test_events_are_counted_as_the_catalogue_does() -> None:
    tx = Receive((1,), (Tx("x1t"),))
    assert length_of([Connect((1, 2)), tx, tx, Adjust(), tx]) == 3
    assert length_of([Connect((1, 2)), Stall((2,)), tx]) == 1
    assert length_of([Connect((1,)), Connect((2,)), Connect((1,))]) == 1
    assert length_of([Submit("x1t"), Submit("x2t")]) == 2


def test_the_page_is_what_the_files_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.helpers.dog_rows writes it anew"


# -- where counts must be large -----------------------------------------------------------------------------


def counts(switch: str) -> tuple[int, int]:
    """First-time transactions and duplicates before the controller looks, in the trace of a switch."""
    trace = trace_of(shortest_of(switch).declared, side_named("dog"), switch)
    assert trace is not None
    known: set[str] = set()
    first = duplicates = 0
    for event in trace[1]:
        if isinstance(event, Adjust):
            break
        parts = [p for p in getattr(event, "parts", ()) if isinstance(p, Tx)]
        ids = [p.id for p in parts] * len(getattr(event, "peers", (1,)))
        for tx in [*ids, *([event.id] if isinstance(event, Submit) else [])]:
            duplicates += tx in known
            first += tx not in known
            known.add(tx)
    return first, duplicates


def fewest(switch: str, target: float) -> int:
    """The fewest transactions on which the controller decides otherwise with the switch, minimised by z3.

    `target`: the redundancy that is aimed at; the band around it is 10 %.
    """
    z3 = pytest.importorskip("z3", reason="z3 is not installed")
    first, duplicates = z3.Ints("first duplicates")
    exact = Fraction(str(target))
    # A quotient that is the upper bound is rounded to the same number as the bound; the lower one is not what
    # it is meant to be.
    low, high = Fraction(target - target * 10 / 100), exact * Fraction(11, 10)
    bounds = {
        "strict-upper-bound": (at_least(duplicates, high, first), above(duplicates, high, first)),
        "exact-bounds": (
            at_least(duplicates, low, first),
            at_least(duplicates, exact * Fraction(9, 10), first),
        ),
    }
    optimize = z3.Optimize()
    optimize.add(first >= 1, duplicates >= 0, bounds[switch][0] != bounds[switch][1])
    total = optimize.minimize(first + duplicates)
    assert optimize.check() == z3.sat
    return int(optimize.lower(total).as_long())


def at_least(duplicates: Any, bound: Fraction, first: Any) -> Any:
    """duplicates / first >= bound, without a division."""
    return duplicates * bound.denominator >= first * bound.numerator


def above(duplicates: Any, bound: Fraction, first: Any) -> Any:
    """duplicates / first > bound."""
    return duplicates * bound.denominator > first * bound.numerator


@pytest.mark.parametrize(("switch", "target"), [("strict-upper-bound", 1.0), ("exact-bounds", 0.1)])
def test_a_burst_is_no_larger_than_it_must_be(switch: str, target: float) -> None:
    assert sum(counts(switch)) == fewest(switch, target)
