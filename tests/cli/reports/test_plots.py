"""Plots of the pages."""

from __future__ import annotations

import re

import pytest

from quidnunc.reports.pages.plots import Line, line_plot

pytest.importorskip("matplotlib", reason="pip install '.[trace]'")


def ticks(svg: str) -> list[float]:
    """The numbers that are written at the axes."""
    return [float(text.replace("\u2212", "-")) for text in re.findall(r">([\u2212\d.]+)</text>", svg)]


def test_a_small_difference_is_no_jump() -> None:
    """2.00 and 2.02 copies filled the picture from its bottom to its top."""
    line = Line("", (10.0, 20.0), (2.0, 2.02))
    assert ticks(line_plot([line], "nodes", "copies", points=True, zero=True)).count(0.0) == 1
    assert 0.0 not in ticks(line_plot([line], "nodes", "copies", points=True))
    below = Line("", (10.0, 20.0), (-1.0, -1.02))
    assert min(ticks(line_plot([below], "nodes", "score", points=True, zero=True))) < -1
