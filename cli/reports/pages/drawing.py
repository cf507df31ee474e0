"""Where the lanes and steps of a sequence diagram stand, in pixels. The template draws them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from attrs import frozen

from quidnunc.reports.pages.sequence import SequenceDiagram, SequenceStep

TIME_WIDTH = 64
LANE_WIDTH = 112
CHARACTER_WIDTH = 7.3
LINE_HEIGHT = 16
ARROW_SPACE = 18
"""Between the text of a step and the next one: the arrow stands there."""
HEAD_HEIGHT = 40
MAX_CHARACTERS = 64
"""Of a line of text."""
MAX_LINES = 4
MARKED_SPACE = 18
"""Of the word above a step that departs."""
WORDS = {"router": "not allowed", "model": "due, and missing", "later": "owed, not due yet"}


@frozen
class DrawnLane:
    name: str
    x: float
    is_peer: bool


@frozen
class DrawnStep:
    """A step with its lines of text from `top` on, and its arrow at `y`."""

    step: SequenceStep
    lines: tuple[str, ...]
    mark: str
    """The word above a step that is not as expected."""
    x: float
    top: float
    y: float
    left: float
    right: float
    heads: tuple[tuple[float, bool], ...]
    """(x, whether it points to the right) of each arrowhead."""
    dots: tuple[float, ...]
    """Where the arrow starts."""
    time: str
    """In the margin, where it differs from the step above."""


@frozen
class DrawnSequence:
    width: float
    height: float
    lanes: tuple[DrawnLane, ...]
    steps: tuple[DrawnStep, ...]
    says: str
    """For those who do not see it."""


def drawn(diagram: SequenceDiagram, words: Mapping[str, str] = WORDS) -> DrawnSequence:
    """The places of all lanes and steps. `words`: side of a step -> what is written above it."""
    margin = TIME_WIDTH if diagram.timed else 16
    spacing = max(LANE_WIDTH, *(CHARACTER_WIDTH * len(lane) + 24 for lane in diagram.lanes))
    middle = {lane: margin + spacing * (at + 0.5) for at, lane in enumerate(diagram.lanes)}
    y, time, steps = float(HEAD_HEIGHT), "", []
    for step in diagram.steps:
        now = f"{step.at_ms / 1000:g} s" if diagram.timed else ""
        each = _drawn_step(step, words, middle, y, now if now != time else "")
        steps.append(each)
        y, time = each.y + 12, now
    texts = [each.x + CHARACTER_WIDTH * max(map(len, each.lines), default=0) for each in steps]
    width = max(margin + spacing * len(diagram.lanes), *texts, 0.0) + 16
    lanes = tuple(
        DrawnLane(lane, x, diagram.timed and lane not in ("router", "application"))
        for lane, x in middle.items()
    )
    return DrawnSequence(width, y + 12, lanes, tuple(steps), _says(diagram, words))


def _drawn_step(
    step: SequenceStep, words: Mapping[str, str], middle: dict[str, float], y: float, time: str
) -> DrawnStep:
    wrapped = textwrap.wrap(step.text, MAX_CHARACTERS, max_lines=MAX_LINES, placeholder=" ...")
    lines, mark = tuple(wrapped), words.get(step.side, "")
    involved = [middle[lane] for lane in (*step.sources, *step.targets) if lane in middle]
    everywhere = step.kind == "time" or not involved
    left, right = min(involved, default=0.0), max(involved, default=0.0)
    if everywhere:
        left, right = min(middle.values()) - 40, max(middle.values()) + 40
    starts = [middle[lane] for lane in step.sources if lane in middle]
    heads = tuple(
        (middle[lane], middle[lane] > min(starts, default=0.0)) for lane in step.targets if lane in middle
    )
    top = y + (MARKED_SPACE if mark else 0) + LINE_HEIGHT
    below = top + LINE_HEIGHT * (len(lines) - 1)
    bottom = below + (ARROW_SPACE if step.kind == "message" else 14) - 8
    return DrawnStep(step, lines, mark, left + 8, top, bottom, left, right, heads, tuple(starts), time)


def _says(diagram: SequenceDiagram, words: Mapping[str, str]) -> str:
    departing = "; ".join(f"{words.get(each.side, '')}: {each.text}" for each in diagram.diverging)
    return f"{len(diagram.steps)} steps between {', '.join(diagram.lanes)}. {departing or 'Nothing departs'}."
