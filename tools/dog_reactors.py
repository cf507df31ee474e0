"""Networks of CometBFT's own reactors with DOG: `python -m tools.dog_reactors docs/results`.

Writes dog-reactors.json and, from it, dog-reactors.md; with `--only-page`, from the figures there are. Needs
the router `cometbft` (`quidnunc routers build cometbft`). Each network runs in one process of the driver, on
virtual time, with each reactor's controller on its own timer. The first one runs in the kit's simulator as
well, with our own routers after `dog-go`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import mean, stdev
from typing import Any

from attrs import asdict, frozen

from quidnunc.impl.drivers.cometbft import builds
from quidnunc.impl.drivers.go_builds import DRIVER
from quidnunc.pipeline.simulation.links import US_PER_MS, NetworkLinks
from quidnunc.pipeline.simulation.run import run_simulation
from quidnunc.pipeline.simulation.scenario.file import scenario_of
from quidnunc.pipeline.simulation.topology import edges_of

NAME = "dog-reactors"
MINUTES = 15
LAST_MINUTES = 5
"""Figures are of these, at the end; what is still on its way after `GRACE_MS` is lost."""
START_MS, GRACE_MS = 5000, 10_000


@frozen(kw_only=True)
class Point:
    """One kind of network."""

    nodes: int = 40
    degree: int = 8
    per_second: float = 2
    """Transactions that users submit in the whole network, each at a random node."""
    target: float = 1.0
    dog: bool = True
    seeds: int = 3


POINTS = (Point(), Point(nodes=20), Point(nodes=50, seeds=1), Point(dog=False, seeds=1))
SIMULATED = ("ours",)
"""Routers of the first point in the kit's simulator, one run each."""


def scenario(point: Point, router: str, seed: int) -> Any:
    """The same network, for the simulator."""
    raw = {
        "seed": seed,
        "nodes": [{"count": point.nodes, "protocol": "dog-go", "router": router}],
        "topology": {"kind": "random-regular", "degree": point.degree},
        "links": {"latency": {"kind": "uniform", "low_ms": 1, "high_ms": 147}},
        "measure_from_s": (MINUTES - LAST_MINUTES) * 60,
        "traffic": [
            {
                "start_s": START_MS / 1000,
                "every_s": 1 / point.per_second,
                "count": len(traffic(point, seed)),
            }
        ],
    }
    return scenario_of(raw, Path("dog-reactors"))


def traffic(point: Point, seed: int) -> list[tuple[int, int]]:
    """(ms, node) of each transaction."""
    die = Random(f"{seed}/traffic")
    count = round((MINUTES * 60_000 - START_MS) * point.per_second / 1000)
    return [(START_MS + round(k * 1000 / point.per_second), die.randrange(point.nodes)) for k in range(count)]


def network(point: Point, seed: int) -> dict[str, Any]:
    """What the driver's `network` reads."""
    drawn = scenario(point, "ours", seed)
    links = NetworkLinks(drawn.links, point.nodes, seed)
    edges = edges_of(drawn.topology, point.nodes, seed)
    return {
        "nodes": point.nodes,
        "edges": [
            (each.dialler, each.other, round(links.latency_us(each.dialler, each.other) / US_PER_MS))
            for each in edges
        ],
        "dog": {
            "dog": point.dog,
            "target_redundancy": point.target,
            "cache_size": 1_000_000,
            "pool_size": 1_000_000,
            "max_pool_bytes": 1 << 30,
            "max_tx_bytes": 1 << 20,
        },
        "interval_ms": 1000,
        "traffic": traffic(point, seed),
        "until_ms": MINUTES * 60_000 + GRACE_MS,
    }


def measure(point: Point, seed: int) -> dict[str, float]:
    """One run of real reactors."""
    given = network(point, seed)
    command = [str(builds.release_named(builds.DEFAULT).needed() / DRIVER), "network"]
    ran = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=True)
    return figures_of(point, given["traffic"], json.loads(ran.stdout))


def figures_of(point: Point, sent: Sequence[tuple[int, int]], said: Mapping[str, Any]) -> dict[str, float]:
    """Shares of pairs of a transaction and a node that did not submit it, and what the nodes said."""
    others = point.nodes - 1
    late_ms = (MINUTES - LAST_MINUTES) * 60_000
    late = [tx for tx, (ms, _) in enumerate(sent) if ms >= late_ms]
    reached, copies = said["reached"], said["copies"]
    return {
        "delivered": mean((count - 1) / others for count in reached),
        "delivered_late": mean((reached[tx] - 1) / others for tx in late),
        "whole_late": mean(reached[tx] == point.nodes for tx in late),
        "copies_late": mean(copies[tx] / point.nodes for tx in late),
        "have_tx_late": sum(said["have_tx"][MINUTES - LAST_MINUTES : MINUTES]),
        "reset_route_late": sum(said["reset_route"][MINUTES - LAST_MINUTES : MINUTES]),
        "disabled_routes": sum(said["disabled_routes"]),
        "longest_silence_s": longest_silence_ms(sent, said["missed"] or ()) / 1000,
    }


def longest_silence_ms(sent: Sequence[tuple[int, int]], missed: Iterable[Sequence[int]]) -> int:
    """From the first to the last of those transactions of one source that one node missed in a row."""
    misses = {(tx, node) for tx, node in missed}
    by_source: dict[int, list[int]] = {}
    for tx, (_, source) in enumerate(sent):
        by_source.setdefault(source, []).append(tx)
    longest = 0
    for node in {node for _, node in misses}:
        for all_of_one in by_source.values():
            first = None
            for tx in all_of_one:
                if (tx, node) not in misses:
                    first = None
                    continue
                first = tx if first is None else first
                longest = max(longest, sent[tx][0] - sent[first][0])
    return longest


def simulate(router: str, seed: int) -> dict[str, float]:
    """The first point in the kit's simulator, whose clock runs each controller once a second."""
    said = run_simulation(scenario(POINTS[0], router, seed)).metrics.plain()
    return {"delivered_late": said["delivery_ratio"]}


def measured() -> dict[str, Any]:
    """All figures: minutes."""
    points = []
    for point in POINTS:
        runs = [measure(point, seed) for seed in range(point.seeds)]
        print(asdict(point), runs[0], file=sys.stderr, flush=True)
        points.append({"point": asdict(point), "runs": runs})
    simulated = {router: [simulate(router, 0)] for router in SIMULATED}
    return {"router": f"{builds.NAME} {builds.DEFAULT}", "points": points, "simulated": simulated}


# -- the page -----------------------------------------------------------------------------------------------


def told(runs: Iterable[Mapping[str, float]], name: str, digits: int = 4) -> str:
    """Mean and, where there are several, the standard deviation."""
    values = [run[name] for run in runs]
    spread = stdev(values) if len(values) > 1 else 0.0
    shown = f"{mean(values):,.{digits}f}"
    return f"{shown} ± {spread:.{digits}f}" if round(spread, digits) else shown


def page_of(figures: Mapping[str, Any]) -> str:
    """The page, from the figures of `measured`."""
    rows = []
    for each in figures["points"]:
        point, runs = Point(**each["point"]), each["runs"]
        what = f"cometbft, {f'DOG, target {point.target:g}' if point.dog else 'Flood'}"
        rows.append(_row(f"{what}, on its own timers", point, runs))
    for router, runs in figures["simulated"].items():
        name = "ours, after `dog-go`" if router == "ours" else router
        rows.append(_row(f"{name}, in the simulator", POINTS[0], runs))
    columns = ("nodes are", "number", "runs", *(says for says, *_ in COLUMNS))
    return PAGE.format(table="\n".join(_line(row) for row in (columns, ["---"] * len(columns), *rows)))


COLUMNS = (
    ("delivered, 15 min", "delivered", 4),
    ("delivered, last 5 min", "delivered_late", 4),
    ("to all nodes, last 5 min", "whole_late", 2),
    ("copies a node, last 5 min", "copies_late", 2),
    ("HaveTx, last 5 min", "have_tx_late", 0),
    ("ResetRoute, last 5 min", "reset_route_late", 0),
    ("longest silence, s", "longest_silence_s", 0),
)


def _row(name: str, point: Point, runs: Sequence[Mapping[str, float]]) -> list[str]:
    told_of = (told(runs, key, digits) if key in runs[0] else "-" for _, key, digits in COLUMNS)
    return [name, str(point.nodes), str(len(runs)), *told_of]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


PAGE = """\
<!-- Written by `python -m tools.dog_reactors docs/results`. Change what writes it, not this page. -->
# DOG in the released reactors

Do networks of the code lose transactions, as the model of DOG does? They do, about as many. That the cause is
the same is [not shown](dog-loss.md). The reactors are those of CometBFT 2.0.0-rc1, all in one process and on
virtual time ([the driver](../adapters.md#cometbft)), each with its
controller on its own timer of one second. Each node has 8 neighbours (random regular); latencies are drawn
from 1 to 147 ms for each pair. Users submit two transactions a second in the whole network, each at a random
node, for 15 minutes. Nobody leaves, no block is made, and the pool has room for all. What is not there ten
seconds after the end is lost.

{table}

*Delivered* is the share of pairs of a transaction and a node that did not submit it. *To all nodes* is the
share of transactions that every node has. The *longest silence* is the time from the first to the last of
those transactions of one source that one node missed in a row. After ± is the standard deviation of the runs.

- Under Flood nothing is lost, in the same network with the same code: the loss is DOG's.
- The loss does not go away: the last five minutes are like the fifteen. Two of three transactions miss some
  node of forty.
- The model loses about as much. The last row is that network with our own routers after `dog-go`, and
  [the first networks](first-networks.md), with DOG as our reading has it, deliver 0.956 ± 0.037 in the same
  kind of network. [Why it is lost](dog-loss.md).
- No node was deaf to one source for five minutes, but some were for a minute or two. The routes do not come
  to rest: in five minutes forty nodes say HaveTx some fifteen times a second, and ResetRoute twelve times.
- The redundancy of the whole network is some 1.1 duplicates for a first copy, at the upper end of what the
  controllers want (0.9 to 1.1). No controller sees that something is lost.

## What this does not show

- Networks of hundreds of nodes, other rates, targets and degrees. At two transactions a second a controller
  decides on two or so at a time.
- Nodes that leave, blocks, and pools that are full.
- Links have no bandwidth.
- The release cannot be seeded: a repeated run has other figures, of this spread.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.dog_reactors", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only-page", action="store_true")
    options = parser.parse_args(arguments)
    path = options.folder / f"{NAME}.json"
    if not options.only_page:
        path.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
    figures = json.loads(path.read_text(encoding="utf-8"))
    (options.folder / f"{NAME}.md").write_text(page_of(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
