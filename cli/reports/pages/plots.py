"""Plots as SVG that a page can hold: drawn by matplotlib, in the colours of the page around them."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Any
from xml.sax.saxutils import escape

from attrs import frozen

from quidnunc.model.errors import install_words
from quidnunc.output import UsageError

INK = "#010203"
"""Stands for the colour of the page's text, light or dark."""
COLOURS = ("#2a7fc9", "#c75a00", "#0a9067", "#b8639a", "#a87b00", "#7d6ad1")
"""Told apart by most eyes, and seen on black and on white."""
STYLES = ("-", "--", "-.", ":")
WHITE = '<rect width="100%" height="100%" fill="white"/>'
WIDTH_IN, HEIGHT_IN = 7.0, 3.2


@frozen
class Line:
    """One line of a plot; `error` is half of the interval of each y, or empty."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    error: Sequence[float] = ()


def line_plot(
    lines: Sequence[Line], x: str, y: str, *, points: bool = False, log: bool = False, zero: bool = False
) -> str:
    """Lines over a common axis. `points`: each value has a mark; otherwise a value holds until the next.
    `log`: the x axis is logarithmic. `zero`: the y axis starts at 0, if no value is below it:
    elsewhere a small difference looks like a jump."""

    def draw(axes: Any) -> None:
        for number, line in enumerate(lines):
            look = {"color": COLOURS[number % len(COLOURS)], "linestyle": STYLES[number % len(STYLES)]}
            look |= {"label": line.label, "marker": "o" if points else ""}
            if line.error:
                axes.errorbar(line.x, line.y, yerr=line.error, capsize=3, **look)
            else:
                axes.plot(line.x, line.y, drawstyle="default" if points else "steps-post", **look)
        if log:
            axes.set_xscale("log")
        if zero and all(value >= 0 for line in lines for value in line.y):
            axes.set_ylim(bottom=0)
        if len(lines) > 1 or lines[0].label:
            axes.legend(frameon=False, labelcolor=INK)

    return _svg(draw, x, y)


def bar_plot(names: Sequence[object], counts: Sequence[float], x: str, y: str) -> str:
    """A bar for each name."""

    def draw(axes: Any) -> None:
        axes.bar([str(name) for name in names], counts, color=COLOURS[0])

    return _svg(draw, x, y)


def picture(svg: str, title: str) -> str:
    """A plot as a file of its own: black on white, wherever it is shown."""
    shown = svg.replace("currentColor", "#000000")
    opened = shown.index(">", shown.index("<svg")) + 1
    return f"{shown[:opened]}\n<title>{escape(title)}</title>\n{WHITE}{shown[opened:]}"


def apart(svg: str, name: str) -> str:
    """A plot whose names begin with `name`, so that no other on the page has the same."""
    return re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)


def _svg(draw: Callable[[Any], None], x: str, y: str) -> str:
    """The picture, the same bytes for the same values. Raises UsageError where matplotlib is not there."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(f"plots need matplotlib: {install_words('trace')}") from None
    shared: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "quidnunc",
        "font.family": "sans-serif",
        "font.size": 10,
    }
    with rc_context({**shared, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
        axes: Any = figure.subplots()
        draw(axes)
        axes.set_xlabel(x, color=INK)
        axes.set_ylabel(y, color=INK)
        axes.tick_params(colors=INK)
        for spine in axes.spines.values():
            spine.set_color(INK)
        into = io.StringIO()
        figure.savefig(into, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = into.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor").replace("<svg ", '<svg role="img" ', 1)
    # Groups have names that nobody refers to.
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    return re.sub(r'<g id="[^"]*"', "<g", text)
