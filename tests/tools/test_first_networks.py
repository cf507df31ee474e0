"""The first results page: that it is what its figures say, and that these say what must hold."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from quidnunc.pipeline.sweep.file import load_sweep
from tools.first_networks import (
    NAME,
    break_even,
    closed_form,
    page_of,
    plots_of,
    rows_of,
    share_of_dog,
)

FOLDER = Path(__file__).parents[2] / "docs" / "results"
SUMMARY = json.loads((FOLDER / f"{NAME}.json").read_text())


def test_the_page_and_its_plots_are_those_of_the_figures() -> None:
    assert (FOLDER / f"{NAME}.md").read_text() == page_of(SUMMARY)
    for name, text in plots_of(SUMMARY).items():
        # Releases of matplotlib differ in how they write a line, not in what is on the axes.
        assert words(text) == words((FOLDER / name).read_text()) != [], name


def words(svg: str) -> list[str]:
    """What is written on a plot, in its order."""
    return [text for each in ElementTree.fromstring(svg).iter() if (text := (each.text or "").strip())]


def test_the_figures_are_of_the_campaign_that_is_there() -> None:
    plan = load_sweep(FOLDER / f"{NAME}.yaml")
    told = [(p["campaign"], p["point"], p["runs"]) for p in SUMMARY["simulate"]]
    planned: dict[str, list[object]] = {}
    for job in plan.simulations:
        key = json.dumps([job["campaign"], job["point"]])
        planned.setdefault(key, [job["campaign"], job["point"], 0])[2] += 1
    assert [list(each) for each in told] == list(planned.values())
    assert not SUMMARY["broken"] and not any(p["broken"] for p in SUMMARY["simulate"])


def test_copies_of_flood_are_within_two_percent_of_the_closed_form() -> None:
    rows = rows_of(SUMMARY, 0)
    assert len(rows) == 6
    for row in rows:
        assert row.mean("nodes") == 50 and row.mean("delivery_ratio") == 1
        assert row.mean("copies_per_node") == pytest.approx(closed_form(row), rel=0.02)


def test_what_the_figures_must_show() -> None:
    by_protocol = {r.point["nodes.0.protocol"]: r for k in (1, 2) for r in rows_of(SUMMARY, k)}
    assert set(by_protocol) == {
        *("flood", "dog", "cat", "cat-classic", "peer-limit"),
        *("floodsub", "gossipsub-1.1", "gossipsub-1.2"),
    }
    # Whoever floods, and whoever asks first, reaches everybody; floodsub floods too, and CAT sends one copy.
    for name in ("flood", "floodsub", "cat", "gossipsub-1.2"):
        assert by_protocol[name].mean("delivery_ratio") == pytest.approx(1, abs=0.01), name
    assert by_protocol["cat"].mean("copies_per_node") < 1.05
    copies = by_protocol["flood"].mean("copies_per_node")
    assert by_protocol["dog"].mean("copies_per_node") < copies / 2
    shares = [share_of_dog(row) for row in rows_of(SUMMARY, 3)]
    assert shares[0] == 0 and shares[-1] == 1 and shares == sorted(shares)
    every = [p for p in SUMMARY["simulate"] if p["runs"] > 1]
    assert len(every) == len(SUMMARY["simulate"])


def test_where_two_are_even() -> None:
    assert break_even([(64, 1.2), (256, 1.1), (1024, 0.9)]) == pytest.approx(512)
    assert break_even([(64, 1.2), (256, 1.0)]) == 256
    assert break_even([(64, 0.9), (256, 0.8)]) is None and break_even([(64, 1.3), (256, 1.1)]) is None
