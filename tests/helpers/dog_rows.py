"""The disagreements of DOG's documents beside the separating traces of their switches, as rows of a table."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from attrs import frozen

from quidnunc.model.events import Connect, Event, Stall
from quidnunc.properties.regress.expect import DeclaredChange, load_declared, trace_of
from quidnunc.properties.regress.sides import side_named
from tests.helpers.dog_conflicts import ROWS, Conflict

ROOT = Path(__file__).parents[2]
TRANSCRIBED = Path(__file__).with_name("dog_rows.toml")
PAGE = ROOT / "docs" / "dog-switches.md"
SET = {"exact-bounds": "target_redundancy=0.1", "full-pool-first": "pool_size=1"}
"""Switch -> the parameter without which nobody sees it."""


@frozen
class Transcription:
    """The trace of one row as the catalogue has it, and what follows for a peer to see its end."""

    id: str
    events: tuple[str, ...]
    shown_by: tuple[str, ...]

    @property
    def length(self) -> int:
        return len(self.events) + len(self.shown_by)


@frozen
class Shortest:
    """The shortest committed trace of one switch."""

    switch: str
    length: int
    verdict: str
    declared: DeclaredChange


def transcribed() -> Mapping[str, Transcription]:
    """By row."""
    rows = tomllib.loads(TRANSCRIBED.read_text(encoding="utf-8"))["row"]
    found = [Transcription(r["id"], tuple(r["events"]), tuple(r.get("shown_by", ()))) for r in rows]
    return {each.id: each for each in found}


def file_of(switch: str) -> Path:
    """Where the changes of a switch are declared."""
    base = f"dog+{SET[switch]}" if switch in SET else "dog"
    return ROOT / "counterexamples" / "regress" / f"{base}--{base}+{switch}.toml"


def length_of(events: Iterable[Event]) -> int:
    """Events as the catalogue counts them: neighbours are there from the start, a burst of the same is one,
    and that a peer's routine runs late is no event, though it is one that it runs."""
    met: set[int] = set()
    counted: list[Event] = []
    for event in events:
        if isinstance(event, Connect) and not met & set(event.peers):
            met |= set(event.peers)
        elif not isinstance(event, Stall) and event not in counted[-1:]:
            counted.append(event)
    return len(counted)


@lru_cache
def shortest_of(switch: str) -> Shortest:
    """Of all that is declared for a switch, the one with the fewest events."""
    path, side = file_of(switch), side_named("dog")
    told = []
    for each in load_declared(path):
        trace = trace_of(each, side, path.name)
        assert trace is not None, f"{path.name}: {each.cause} has no trace"
        told.append(Shortest(switch, length_of(trace[1]), each.verdict, each))
    return min(told, key=lambda each: each.length)


def page() -> str:
    """The rows as Markdown."""
    known = transcribed()
    lines = [
        "<!-- Written by `make regenerate` (PARTS=dog-switches). Change what writes it, not this page. -->",
        "# DOG's switches and their traces",
        "",
        "Where DOG's documents disagree in a way that a node's behaviour shows, the model has a switch.",
        "`quidnunc regress dog dog+SWITCH --as-one --shortest` found a separating trace for each switch;",
        "the traces are committed in `counterexamples/regress`. The table compares their lengths with those",
        "of a catalogue made by hand (`tests/helpers/dog_rows.toml`), which counts in the same way:",
        "neighbours are there from the start, a burst is one event, and a trace ends with something that a",
        "peer can see. Of a row with several switches the shortest trace is compared. A test checks this",
        "page against the files, and that no trace is longer than the catalogue's.",
        "",
        "| row | disagreement | switch | trace, events | direction | catalogue, events |",
        "|---|---|---|---|---|---|",
    ]
    for row in ROWS:
        for switch in row.switches:
            found, told = shortest_of(switch), known[row.id]
            lines.append(
                f"| {row.id} | {row.topic} | `{switch}` | {found.length} | {found.verdict} | {told.length} |"
            )
    lines += [
        "",
        "The other rows are not the behaviour of one node, or not ours to switch:",
        "",
        "| row | disagreement | why |",
    ]
    lines += ["|---|---|---|", *(f"| {row.id} | {row.topic} | {row.why} |" for row in rest())]
    return "\n".join([*lines, ""])


def rest() -> list[Conflict]:
    """The rows without a switch."""
    return [row for row in ROWS if not row.switches]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}", file=sys.stderr)
