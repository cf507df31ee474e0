"""Whether a router that reads two open sentences otherwise is accused of anything: it conforms.

    python -m tools.two_readings --count 60              pairs of readings, drawn by --seed, and the suite
    python -m tools.two_readings --count 40 --runs 80    and a search

A line is printed for each pair. The exit status is 1 if any is accused.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from itertools import combinations

from attrs import frozen

from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.ours.pubsub import PubsubDriver
from quidnunc.impl.ours.readings import READINGS_OF_OURS
from quidnunc.impl.seam import Config, parameters_of
from quidnunc.model.edits.ambiguities import QUESTIONS
from quidnunc.model.parameters import Parameters
from quidnunc.properties.judge.play import WireSubject
from quidnunc.properties.search.machine import FindingSearch, search
from quidnunc.properties.search.rows import RootCause
from quidnunc.properties.search.verdicts import verdict_of_root
from quidnunc.properties.search.worker import hello_of
from quidnunc.properties.suite.run import run_suite
from tools.reported import rows_reported

PROTOCOL = "gossipsub-1.2"


@frozen
class ToldOfPair:
    """What a report says of a router with these readings."""

    readings: tuple[str, ...]
    observed: tuple[str, ...]
    accused: tuple[str, ...]
    """Verdict, clause and cause of each root cause that is not a reading."""


def pairs() -> list[tuple[str, str]]:
    """Readings of two different places."""
    places = [(at, name) for at, question in enumerate(QUESTIONS) for name in question.readings]
    return [(one, other) for (a, one), (b, other) in combinations(places, 2) if a != b]


def opener_with(names: Sequence[str]) -> Callable[[Config], WireSubject]:
    """Our router with all these readings."""

    def opened(config: Config) -> WireSubject:
        router = GossipsubRouter(
            parameters_of(config, Parameters, "ours"), protocol=config.protocol, seed=config.seed
        )
        for name in names:
            READINGS_OF_OURS[name].apply(router)
        return WireSubject(PubsubDriver(router, name="ours"), config)

    return opened


def told_of(names: Sequence[str], runs: int = 0, seed: int = 0) -> ToldOfPair:
    """By the suite, or by a search of so many runs."""
    opener = opener_with(names)
    rows: list[RootCause]
    if runs:
        hunt = FindingSearch(PROTOCOL, opener, hello_of("ours", PROTOCOL))
        search(hunt, runs=runs, seed=seed)
        rows = rows_reported(hunt)
    else:
        rows = [*run_suite(PROTOCOL, "ours", opener).roots.values()]
    judged = [(verdict_of_root(row), row) for row in rows]
    return ToldOfPair(
        tuple(names),
        tuple(row.quirk for verdict, row in judged if verdict == "observed"),
        tuple(f"{verdict} {row.clause} {row.quirk}" for verdict, row in judged if verdict != "observed"),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="whether conforming routers are accused")
    parser.add_argument("--count", type=int, default=60, help="pairs (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the draw and of the searches (%(default)s)")
    parser.add_argument("--runs", type=int, default=0, help="search so many runs in place of the suite")
    options = parser.parse_args(arguments)
    drawn = pairs()
    random.Random(options.seed).shuffle(drawn)
    found = []
    for pair in drawn[: options.count]:
        each = told_of(pair, options.runs, options.seed)
        found.append(each)
        told = f"accused: {'; '.join(each.accused)}" if each.accused else "not accused"
        print(f"{' + '.join(pair)}: {told}; observed: {', '.join(each.observed) or 'nothing'}", flush=True)
    accused = sum(bool(each.accused) for each in found)
    silent = sum(not each.observed for each in found)
    print(f"{len(found)} pairs of readings: {accused} accused; of {silent} nothing was observed")
    return 1 if accused else 0


if __name__ == "__main__":
    sys.exit(main())
