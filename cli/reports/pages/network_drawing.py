"""A network over time as a picture: where nodes and links stand, and each frame in letters for a slider."""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot

from attrs import frozen

from quidnunc.pipeline.simulation.layout import MAX_RING, node_places
from quidnunc.pipeline.trace.history import NODE_WORDS, Flow, LinkState, NetworkHistory, NodeState

WIDTH, HEIGHT, MARGIN = 820.0, 520.0, 26.0
MEDIUM_WIDTH, MEDIUM_HEIGHT = 560.0, 400.0
SMALL_WIDTH, SMALL_HEIGHT = 380.0, 280.0
MAX_NODES, MAX_LINKS = 400, 2500
"""That can be told apart in a picture, at most."""
MAX_MEDIUM, MAX_LARGE, MAX_NAMED = 20, 60, 120
"""Nodes up to which a picture is of medium size, has large nodes, and has their names."""
NODE_LETTERS: Mapping[NodeState, str] = {
    "away": "a",
    "outside": "o",
    "lacks": "l",
    "has": "h",
    "new": "n",
    "publisher": "p",
    "failed": "x",
    "attacker": "t",
}
LINK_LETTERS: Mapping[LinkState, str] = {"closed": "a", "open": "c", "half": "o", "full": "b"}
FLOW_LETTERS: Mapping[Flow, str] = {"none": "z", "forth": "f", "back": "r"}


@frozen
class PlacedNode:
    name: str
    x: float
    y: float


@frozen
class PlacedLink:
    """From the rim of one node to that of the other."""

    x1: float
    y1: float
    x2: float
    y2: float


@frozen(kw_only=True)
class DrawnNetwork:
    """What the template draws."""

    history: NetworkHistory
    width: int
    height: int
    radius: float
    nodes: tuple[PlacedNode, ...]
    links: tuple[PlacedLink, ...]
    """Empty where there are too many nodes for a picture."""
    letters: tuple[tuple[str, str, str], ...]
    """Of each frame, a letter for each node, link, and flow."""
    legend_nodes: tuple[tuple[str, str], ...]
    legend_links: tuple[tuple[str, str], ...]
    has_flows: bool
    notes: tuple[str, ...]

    @property
    def data(self) -> list[list[str]]:
        """What the slider shows: instant, words, and the letters."""
        frames = zip(self.history.frames, self.letters, strict=True)
        return [[f.at, f.says, "; ".join(self.counted(f.counts)), *letters] for f, letters in frames]

    def counted(self, counts: tuple[str, ...]) -> list[str]:
        """Figures with what they are of."""
        return [f"{name}: {figure}" for name, figure in zip(self.history.columns, counts, strict=True)]

    @property
    def best(self) -> int:
        return self.history.best


def drawn_network(history: NetworkHistory) -> DrawnNetwork:
    """The picture. Raises ScenarioError where nodes cannot be laid out here."""
    nodes, total = len(history.names), len(history.links)
    kept = _links_to_draw(history)
    notes = list(history.notes)
    if nodes > MAX_NODES:
        notes.append(f"{nodes} nodes are too many for a picture; at most {MAX_NODES} are drawn.")
    elif len(kept) < total:
        notes.append(f"{len(kept)} of {total} links are drawn: those that carry most first copies.")
    letters = tuple(
        (
            "".join(NODE_LETTERS[state] for state in frame.nodes),
            "".join(LINK_LETTERS[frame.links[at]] for at in kept),
            "".join(FLOW_LETTERS[frame.flows[at]] for at in kept),
        )
        for frame in history.frames
    )
    width, height, radius = _sizes(nodes)
    placed = _placed(history, width, height) if nodes <= MAX_NODES else ()
    seen = {state for frame in history.frames for state in frame.nodes}
    linked = {frame.links[at] for frame in history.frames for at in kept}
    return DrawnNetwork(
        history=history,
        width=round(width),
        height=round(height),
        radius=radius,
        nodes=placed,
        links=tuple(_between(placed, history.links[at], radius) for at in kept) if placed else (),
        letters=letters if placed else tuple(("", "", "") for _ in history.frames),
        legend_nodes=tuple((NODE_LETTERS[each], NODE_WORDS[each]) for each in NODE_WORDS if each in seen),
        legend_links=tuple(
            (LINK_LETTERS[each], says) for each, says in history.link_words.items() if each in linked
        ),
        has_flows=any("f" in flows or "r" in flows for _, _, flows in letters),
        notes=tuple(notes),
    )


def _sizes(nodes: int) -> tuple[float, float, float]:
    """Width, height, and the radius of a node."""
    if nodes <= MAX_RING:
        return SMALL_WIDTH, SMALL_HEIGHT, 15.0
    if nodes <= MAX_MEDIUM:
        return MEDIUM_WIDTH, MEDIUM_HEIGHT, 12.0
    return WIDTH, HEIGHT, 11.0 if nodes <= MAX_LARGE else 8.0 if nodes <= MAX_NAMED else 5.0


def _links_to_draw(history: NetworkHistory) -> list[int]:
    """Places of the links that are drawn: all, or those that matter most."""
    every = range(len(history.links))
    if len(every) <= MAX_LINKS:
        return list(every)
    use = [0] * len(every)
    for frame in history.frames:
        for at in every:
            use[at] += 2 * (frame.flows[at] != "none") + (frame.links[at] == "full")
    return sorted(sorted(every, key=lambda at: -use[at])[:MAX_LINKS])


def _placed(history: NetworkHistory, width: float, height: float) -> tuple[PlacedNode, ...]:
    places = node_places(len(history.names), history.links)
    return tuple(
        PlacedNode(
            name,
            round(MARGIN + x * (width - 2 * MARGIN), 1),
            round(MARGIN + y * (height - 2 * MARGIN), 1),
        )
        for name, (x, y) in zip(history.names, places, strict=True)
    )


def _between(placed: tuple[PlacedNode, ...], link: tuple[int, int], radius: float) -> PlacedLink:
    a, b = placed[link[0]], placed[link[1]]
    long = max(1.0, hypot(b.x - a.x, b.y - a.y))
    dx, dy = (b.x - a.x) / long * (radius + 1), (b.y - a.y) / long * (radius + 1)
    return PlacedLink(round(a.x + dx, 1), round(a.y + dy, 1), round(b.x - dx, 1), round(b.y - dy, 1))
