"""Small line plots as SVG, with error bars: for pages that are regenerated and read without a program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from attrs import frozen

WIDTH, HEIGHT = 560, 320
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 30, 50
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Told apart by most eyes (Okabe and Ito)."""
TICKS = 5
FONT = "font-family='sans-serif' font-size='11'"


@frozen
class Point:
    """One measured point; `error` is half of its interval."""

    x: float
    y: float
    error: float = 0.0


@frozen
class Series:
    label: str
    points: tuple[Point, ...]
    dashed: bool = False


@frozen(kw_only=True)
class Axes:
    """Labels, and whether an axis is logarithmic (base 2 for x, 10 for y)."""

    title: str
    x: str
    y: str
    log_x: bool = False
    log_y: bool = False
    from_zero: bool = True


def line_plot(axes: Axes, series: Sequence[Series]) -> str:
    """The plot of some series. Raises ValueError where there is nothing to plot."""
    points = [p for each in series for p in each.points]
    if not points:
        raise ValueError(f"plot {axes.title!r}: no points")
    xs = _scale([p.x for p in points], axes.log_x, False)
    ys = _scale([v for p in points for v in (p.y - p.error, p.y + p.error)], axes.log_y, axes.from_zero)
    plot = _Plot(axes, xs, ys)
    body = [plot.frame(), *(plot.line(each, number) for number, each in enumerate(series))]
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' "
        f"viewBox='0 0 {WIDTH} {HEIGHT}' role='img'>\n<title>{escape(axes.title)}</title>\n"
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='white'/>\n" + "\n".join(body) + "\n</svg>\n"
    )


@frozen
class _Scale:
    low: float
    high: float
    log: bool

    def share(self, value: float) -> float:
        """How far along the axis, 0 to 1."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log(max(value, low)), math.log(low), math.log(high)
        return (value - low) / (high - low) if high > low else 0.5

    def ticks(self, base: int) -> list[float]:
        if not self.log:
            return [self.low + (self.high - self.low) * k / TICKS for k in range(TICKS + 1)]
        first, last = math.log(self.low, base), math.log(self.high, base)
        step = max(1, math.ceil((last - first) / 8))
        return [float(base**k) for k in range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1, step)]


def _scale(values: Sequence[float], log: bool, from_zero: bool) -> _Scale:
    low, high = min(values), max(values)
    if log:
        positive = [v for v in values if v > 0] or [1.0]
        return _Scale(min(positive), max(positive), True)
    low = min(0.0, low) if from_zero else low
    high = _round_up(high) if high > low else low + 1
    return _Scale(low, high, False)


def _round_up(value: float) -> float:
    """The next number that five ticks divide into plain ones."""
    if value <= 0:
        return value
    unit: float = 10.0 ** math.floor(math.log10(value))
    return next(unit * k for k in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7.5, 10) if unit * k >= value * 0.999)


@frozen
class _Plot:
    axes: Axes
    xs: _Scale
    ys: _Scale

    def x(self, value: float) -> float:
        return round(LEFT + self.xs.share(value) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        return round(HEIGHT - BOTTOM - self.ys.share(value) * (HEIGHT - TOP - BOTTOM), 1)

    def frame(self) -> str:
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        parts = [
            f"<text x='{LEFT}' y='18' {FONT} font-weight='bold'>{escape(self.axes.title)}</text>",
            f"<path d='M{LEFT} {TOP}V{bottom}H{right}' fill='none' stroke='#444'/>",
            f"<text x='{(LEFT + right) / 2}' y='{HEIGHT - 10}' {FONT} text-anchor='middle'>"
            f"{escape(self.axes.x)}</text>",
            f"<text transform='translate(14 {(TOP + bottom) / 2}) rotate(-90)' {FONT} "
            f"text-anchor='middle'>{escape(self.axes.y)}</text>",
        ]
        for tick in self.xs.ticks(2):
            parts.append(f"<path d='M{self.x(tick)} {bottom}v4' stroke='#444'/>")
            at = f"x='{self.x(tick)}' y='{bottom + 16}'"
            parts.append(f"<text {at} {FONT} text-anchor='middle'>{_short(tick)}</text>")
        for tick in self.ys.ticks(10):
            parts.append(f"<path d='M{LEFT} {self.y(tick)}H{right}' stroke='#ddd'/>")
            parts.append(
                f"<text x='{LEFT - 6}' y='{self.y(tick) + 4}' {FONT} text-anchor='end'>{_short(tick)}</text>"
            )
        return "\n".join(parts)

    def line(self, series: Series, number: int) -> str:
        colour = COLOURS[number % len(COLOURS)]
        dashes = " stroke-dasharray='5 4'" if series.dashed else ""
        path = " ".join(f"{self.x(p.x)},{self.y(p.y)}" for p in series.points)
        parts = [f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='1.5'{dashes}/>"]
        for p in series.points:
            x, y = self.x(p.x), self.y(p.y)
            if p.error:
                low, high = self.y(p.y - p.error), self.y(p.y + p.error)
                parts.append(
                    f"<path d='M{x} {low}V{high}M{x - 3} {low}h6M{x - 3} {high}h6' stroke='{colour}'/>"
                )
            if not series.dashed:
                parts.append(f"<circle cx='{x}' cy='{y}' r='2.5' fill='{colour}'/>")
        at = TOP + 14 * (number + 1)
        right = WIDTH - RIGHT + 10
        parts.append(f"<path d='M{right} {at - 4}h18' stroke='{colour}' stroke-width='1.5'{dashes}/>")
        parts.append(f"<text x='{right + 23}' y='{at}' {FONT}>{escape(series.label)}</text>")
        return "\n".join(parts)


def _short(value: float) -> str:
    for size, unit in ((1 << 20, "Mi"), (1 << 10, "Ki")):
        if value >= size and value == int(value) and int(value) % size == 0:
            return f"{int(value) // size} {unit}"
    return f"{value:.3g}" if value < 1e5 else f"{value:.1e}"
