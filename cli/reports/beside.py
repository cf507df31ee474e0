"""What several routers do with the events of one case, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from quidnunc.properties.bounded import printable
from quidnunc.properties.cases.beside import beside
from quidnunc.properties.cases.outcome import CaseReplay


def side_by_side(replays: Mapping[str, CaseReplay]) -> Iterator[str]:
    """A block for each event: who did what upon it. Replays by the names of the routers."""
    for step in beside(replays):
        yield ""
        yield printable(step.event)
        for each in step.answers:
            if len(step.answers) == 1 and not each.lines:
                continue
            who = "all" if len(each.routers) == len(replays) else ", ".join(each.routers)
            yield f"  {who}:" if each.lines else f"  {who}: nothing"
            yield from (f"  {printable(line)}" for line in each.lines)
    yield ""
    yield "+ departs, - is missing. A replay ends where its router departs."
