"""What several routers do with the events of one case, event by event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from quidnunc.properties.cases.file import RULER, body_of
from quidnunc.properties.cases.outcome import CaseReplay


@frozen
class DoneAlike:
    """Routers that answer an event in the same way."""

    routers: tuple[str, ...]
    lines: tuple[str, ...]
    """What they do, as in a case file: `+ ` before what departs, `- ` before what is missing."""


@frozen
class EventBeside:
    """One event of the case, and what each router does upon it whose replay comes to it."""

    event: str
    answers: tuple[DoneAlike, ...]


def beside(replays: Mapping[str, CaseReplay]) -> tuple[EventBeside, ...]:
    """The replays of a case of one router side by side, by the names of the routers that played it.

    A replay ends where it departs: that router has no answer to later events.
    """
    columns = {router: [*_answers(replayed)] for router, replayed in replays.items()}
    longest = max(columns.values(), key=len, default=[])
    return tuple(
        EventBeside(event, _alike({name: told[at][1] for name, told in columns.items() if at < len(told)}))
        for at, (event, _) in enumerate(longest)
    )


def _answers(replayed: CaseReplay) -> Sequence[tuple[str, tuple[str, ...]]]:
    """Each event that was played, with the lines of what the router did."""

    def of_blocks() -> Iterator[tuple[str, tuple[str, ...]]]:
        for lines in body_of(replayed.rewritten):
            ruler = lines.index(RULER)
            *silent, last = lines[:ruler]
            yield from ((event, ()) for event in silent)
            yield last, tuple(lines[ruler + 1 :])

    return [*of_blocks()][: replayed.reached]


def _alike(answers: Mapping[str, tuple[str, ...]]) -> tuple[DoneAlike, ...]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for router, lines in answers.items():
        groups.setdefault(lines, []).append(router)
    return tuple(DoneAlike(tuple(routers), lines) for lines, routers in groups.items())
