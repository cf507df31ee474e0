"""How fast a router is searched, and how fast its driver is alone: the calls of one search, made again on it.

`python bench/driver.py [--against py-libp2p --against js-libp2p] [--runs N]`. Seconds are of CPU time, of
this process and of those in which a router runs, with their start; the last two figures of a router are of
the same runs. What is left of the whole machine's time is ours: Hypothesis, the neighbours, the model and
the judgement. Of several routers, each is set beside the first.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from typing import Any

from attrs import evolve, field, frozen

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import AdapterError, Config, Driver, Hello
from quidnunc.impl.seam.sidecar import close_parked
from quidnunc.properties.judge.play import Subject, WireSubject
from quidnunc.properties.search.machine import ACTS_PER_RUN, FindingSearch, search
from quidnunc.properties.search.worker import hello_of, opener_of

Call = tuple[str, tuple[Any, ...]]


def cpu_s() -> float:
    """CPU seconds of this process and of the children that it had, which are ended for that."""
    close_parked()
    taken = os.times()
    return taken.user + taken.system + taken.children_user + taken.children_system


@frozen
class RecordingDriver:
    """A driver that writes down what is asked of it."""

    driver: Driver
    calls: list[Call] = field(factory=list)

    @property
    def hello(self) -> Hello:
        return self.driver.hello

    def __getattr__(self, name: str) -> Callable[..., Any]:
        asked = getattr(self.driver, name)

        def ask(*arguments: Any) -> Any:
            self.calls.append((name, arguments))
            return asked(*arguments)

        return ask


def record(against: str, hunt: FindingSearch) -> list[tuple[Config, list[Call]]]:
    """Let the routers that `hunt` opens from now on write down what is asked of them."""
    kept: list[tuple[Config, list[Call]]] = []

    def opener(config: Config) -> Subject:
        config = evolve(config, profile="spec")
        driver = RecordingDriver(open_router(against, config))
        kept.append((config, driver.calls))
        return WireSubject(driver, config)

    hunt.opener = opener
    return kept


def explained(against: str, protocol: str, runs: int, seed: int) -> tuple[FindingSearch, float]:
    """A search that has found and explained what `runs` runs find, and the seconds that it took."""
    hunt = FindingSearch(protocol, opener_of(against), hello_of(against, protocol))
    started = cpu_s()
    search(hunt, runs=runs, seed=seed)
    return hunt, cpu_s() - started


def with_its_quirks(found: FindingSearch, against: str, opener: Any = None) -> FindingSearch:
    """A new search in which what `found` has explained is in force."""
    hunt = FindingSearch(found.protocol_name, opener or opener_of(against), found.hello)
    hunt.quirks += found.quirks
    return hunt


def again(against: str, recorded: list[tuple[Config, list[Call]]]) -> float:
    """Seconds that the driver alone takes for the calls."""
    started = cpu_s()
    for config, calls in recorded:
        driver = open_router(against, config)
        for name, arguments in calls:
            getattr(driver, name)(*arguments)
        driver.close()
    return cpu_s() - started


def main() -> int:
    # A router that keeps its peers in sets does something else under other hashes.
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONHASHSEED": "0"})
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", action="append", help="again for another (default py-libp2p)")
    parser.add_argument("--protocol", default="gossipsub-1.2")
    parser.add_argument(
        "--first", type=int, default=240, help="runs in which to find and explain (default 240)"
    )
    parser.add_argument("--runs", type=int, default=120, help="runs to measure (default 120)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        told = [measured(each, options) for each in options.against or ["py-libp2p"]]
    except (AdapterError, ValueError) as error:
        print(error, file=sys.stderr)
        return 4
    first = told[0]["driver alone"]["runs_of_40_events_per_s"]
    beside = {
        each["router"]: round(each["driver alone"]["runs_of_40_events_per_s"] / first, 2) for each in told
    }
    print(json.dumps({"routers": told, "driver alone, beside the first": beside}, indent=1))
    return 0


def measured(against: str, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of one router."""
    runs, seed = options.runs, options.seed
    first, first_s = explained(against, options.protocol, options.first, seed)
    # Other runs of the same router, of which next to nothing is still to be explained.
    hunt = with_its_quirks(first, against)
    started = cpu_s()
    search(hunt, runs=runs, seed=seed + 1)
    whole_s = cpu_s() - started
    writing = with_its_quirks(first, against)
    recorded = record(against, writing)
    search(writing, runs=runs, seed=seed + 1)
    return figures(first, first_s, hunt, whole_s, recorded, again(against, recorded))


def figures(
    first: FindingSearch,
    first_s: float,
    hunt: FindingSearch,
    whole_s: float,
    recorded: list[tuple[Config, list[Call]]],
    alone_s: float,
) -> dict[str, Any]:
    """What is printed. A session is a router opened: a run, or a trial of the minimiser.

    A run has 40 acts of the neighbours, and a burst is one act; an event is what one peer does: one call.
    """
    sessions, calls = len(recorded), sum(len(calls) for _, calls in recorded)
    return {
        "python": platform.python_version(),
        "router": f"{hunt.hello.name} {hunt.hello.version}",
        "acts_per_run": ACTS_PER_RUN,
        "finding and explaining": {
            "runs": first.runs,
            "root_causes": len(first.found),
            "seconds": round(first_s, 2),
            "runs_per_s": round(first.runs / first_s, 1),
        },
        "whole machine, with what was found in force": {
            "runs": hunt.runs,
            "steps_per_run": round(hunt.steps / hunt.runs, 1),
            "root_causes": len(hunt.found),
            "seconds": round(whole_s, 2),
            "runs_per_s": round(hunt.runs / whole_s, 1),
            "events_per_s": round(hunt.steps / whole_s),
            "runs_of_40_events_per_s": round(hunt.steps / whole_s / 40, 1),
        },
        "driver alone": {
            "sessions": sessions,
            "calls_per_session": round(calls / sessions, 1),
            "seconds": round(alone_s, 2),
            "sessions_per_s": round(sessions / alone_s, 1),
            "calls_per_s": round(calls / alone_s),
            "runs_of_40_events_per_s": round(calls / alone_s / 40, 1),
            "share_of_whole": round(alone_s / whole_s, 2),
        },
    }


if __name__ == "__main__":
    raise SystemExit(main())
