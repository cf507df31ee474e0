"""The first results page, from its campaign: `python -m tools.first_networks docs/results`.

Carries out docs/results/first-networks.yaml (what has been done of it is not done again), writes its figures
to first-networks.json, and from them the page and its plots; with `--only-page`, from the figures there are.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from attrs import frozen

from quidnunc.pipeline.sweep.summary import SeedSpread
from quidnunc.reports.pages.plots import Line, line_plot, picture

NAME = "first-networks"
CAMPAIGN = Path(".quidnunc") / NAME
Figures: TypeAlias = Mapping[str, Mapping[str, Any]]
PROTOCOL = "nodes.0.protocol"
SIZE = "traffic.0.size_bytes"


@frozen
class CampaignRow:
    """One point of the campaign."""

    point: Mapping[str, Any]
    runs: int
    figures: Figures

    def mean(self, name: str) -> float:
        mean: float = self.figures[name]["mean"] if name in self.figures else 0.0
        return mean

    def told(self, name: str, digits: int = 2) -> str:
        """`1.23 ± 0.04`, or without the spread where there is none."""
        if name not in self.figures:
            return "-"
        spread = self.figures[name]["ci95"] or 0.0
        shown = f"{self.mean(name):,.{digits}f}"
        return f"{shown} ± {spread:.{digits}f}" if round(spread, digits) else shown

    def half_interval(self, name: str) -> float:
        """Half of the 95 % interval of the mean over seeds; 0 where there is none."""
        return self.figures.get(name, {}).get("ci95") or 0.0


def rows_of(summary: Mapping[str, Any], campaign: int) -> list[CampaignRow]:
    """The points of one campaign, in its order."""
    return [
        CampaignRow(each["point"], each["runs"], each["figures"])
        for each in summary["simulate"]
        if each["campaign"] == campaign
    ]


# -- 1: copies of Flood -------------------------------------------------------------------------------------


def closed_form(row: CampaignRow) -> float:
    """Copies of a transaction per node: 2E/N - (N - 1)/N."""
    nodes = row.mean("nodes")
    return (2 * row.mean("connections") - (nodes - 1)) / nodes


def flood_section(rows: Sequence[CampaignRow]) -> list[str]:
    """What was measured beside what must come."""
    table = []
    for row in rows:
        form, copies = closed_form(row), row.mean("copies_per_node")
        table.append(
            (
                _topology(row.point["topology"]),
                f"{row.mean('connections'):.1f}",
                row.told("copies_per_node", 3),
                f"{form:.3f}",
                f"{100 * (copies - form) / form:+.2f} %",
            )
        )
    worst = max(abs(row.mean("copies_per_node") / closed_form(row) - 1) for row in rows)
    return [
        "## Copies of Flood",
        "",
        "Every node sends a transaction on when it first comes, to all who have not sent it: over each edge "
        "of the tree of first arrivals one copy, over each other edge two. So a node gets 2E/N - (N - 1)/N "
        "of them, whatever the latencies. Measured in 50 nodes, ten transactions a run, "
        f"{rows[0].runs} runs each; the largest difference is {100 * worst:.2f} %.",
        "",
        *_table(("topology", "edges", "copies per node", "closed form", "difference"), table),
        "",
        f"![copies of Flood]({NAME}-flood.svg)",
        "",
    ]


def flood_plot(rows: Sequence[CampaignRow]) -> str:
    by_edges = sorted(rows, key=lambda row: row.mean("connections"))
    edges = [row.mean("connections") for row in by_edges]
    form = Line("closed form", edges, [closed_form(row) for row in by_edges])
    return _plot("Flood, 50 nodes", [form, _line("measured", edges, by_edges, "copies_per_node")], "edges")


def _line(label: str, x: Sequence[float], rows: Sequence[CampaignRow], name: str) -> Line:
    return Line(label, x, [row.mean(name) for row in rows], [row.half_interval(name) for row in rows])


def _plot(title: str, lines: Sequence[Line], x: str, y: str = "copies per node", *, log: bool = False) -> str:
    return picture(line_plot(lines, x, y, points=True, log=log), title)


def _topology(given: Mapping[str, Any]) -> str:
    how = given.get("degree", given.get("probability"))
    return f"{given['kind']} {how:g}"


# -- 2: protocols beside each other -------------------------------------------------------------------------

COLUMNS = (
    ("copies per node", "copies_per_node", 2),
    ("bytes per message and node", "bytes_per_message_and_node", 0),
    ("median latency, ms", "latency_p50_ms", 0),
    ("99 %, ms", "latency_p99_ms", 0),
    ("delivery ratio", "delivery_ratio", 4),
)


def protocols_section(rows: Sequence[CampaignRow]) -> list[str]:
    """A line for each protocol, and what DOG saves and loses."""
    table = [
        (str(row.point[PROTOCOL]), *(row.told(name, digits) for _, name, digits in COLUMNS)) for row in rows
    ]
    dog = next(row for row in rows if row.point[PROTOCOL] == "dog")
    flood = next(row for row in rows if row.point[PROTOCOL] == "flood")
    saved = 1 - dog.mean("bytes_per_message_and_node") / flood.mean("bytes_per_message_and_node")
    missed = 1 - dog.mean("delivery_ratio")
    return [
        "## Protocols on one topology",
        "",
        "40 nodes, each with 8 neighbours, messages of 1 KiB, two a second, from a random node; mempools "
        "are measured after 90 s, pubsub after 10 s. With the peer limit a node sends to the first 2 that "
        "connect. Pubsub's messages are signed, and carry author, number and signature (some 120 bytes); "
        "transactions carry nothing.",
        "",
        *_table(("protocol", *(title for title, _, _ in COLUMNS)), table),
        "",
        f"Settled, DOG (target redundancy 1) saves {100 * saved:.0f} % of Flood's bytes, and "
        f"{100 * missed:.1f} % of the pairs of a transaction and a node are not delivered: a route that is "
        "switched off can be the only one by which some transaction would have come.",
        "",
    ]


# -- 3: how many have DOG -----------------------------------------------------------------------------------


def share_of_dog(row: CampaignRow) -> float:
    """Of the nodes."""
    counts = {"dog": 0, "flood": 0}
    for group in row.point["nodes"]:
        counts[group["protocol"]] += group["count"]
    return counts["dog"] / sum(counts.values())


def dog_section(rows: Sequence[CampaignRow]) -> list[str]:
    """A line for each share of nodes with DOG."""
    table = [
        (f"{100 * share_of_dog(row):.0f} %", *(row.told(name, digits) for _, name, digits in COLUMNS))
        for row in rows
    ]
    return [
        "## When some nodes have DOG",
        "",
        "The same network; of the 40 nodes so many have DOG, at random, and the others flood. A node that "
        "floods takes HaveTx and ResetRoute and does nothing.",
        "",
        *_table(("with DOG", *(title for title, _, _ in COLUMNS)), table),
        "",
        f"![copies by share of DOG]({NAME}-dog-copies.svg) "
        f"![delivery by share of DOG]({NAME}-dog-delivery.svg)",
        "",
    ]


def dog_plots(rows: Sequence[CampaignRow]) -> tuple[str, str]:
    title, x = "DOG among nodes that flood", "nodes with DOG, %"
    shares = [100 * share_of_dog(row) for row in rows]
    copies = _plot(title, [_line("", shares, rows, "copies_per_node")], x)
    return copies, _plot(title, [_line("", shares, rows, "delivery_ratio")], x, "delivery ratio")


# -- 4: IDONTWANT -------------------------------------------------------------------------------------------


def idontwant_section(rows: Sequence[CampaignRow]) -> list[str]:
    """Both versions by the size of messages, and where they are even."""
    plain, spoken = _by_size(rows, "gossipsub-1.1"), _by_size(rows, "gossipsub-1.2")
    ratios = [(size, _ratio(spoken[size], plain[size])) for size in plain]
    table = [
        (
            _bytes(size),
            plain[size].told("copies_per_node"),
            spoken[size].told("copies_per_node"),
            plain[size].told("bytes_per_message_and_node", 0),
            spoken[size].told("bytes_per_message_and_node", 0),
            f"{ratio.mean:.3f} ± {ratio.ci95 or 0.0:.3f}",
        )
        for size, ratio in ratios
    ]
    even = break_even([(size, ratio.mean) for size, ratio in ratios])
    said = (
        f"The two are even at some {_bytes(round(even))} (between the sizes, interpolated)."
        if even is not None
        else "No size here is where the two are even."
    )
    return [
        "## From which size IDONTWANT pays",
        "",
        "40 nodes with 12 neighbours, D = 8, 50 Mbit/s out of each node, 5 ms of validation; six messages a "
        "run. gossipsub 1.1 and 1.2 differ in IDONTWANT alone, which is sent for every size here. Bytes are "
        "all that is sent, IHAVE too; the last column compares runs of one seed.",
        "",
        *_table(
            ("size", "copies, 1.1", "copies, 1.2", "bytes, 1.1", "bytes, 1.2", "bytes of 1.2 / 1.1"), table
        ),
        "",
        said,
        "",
        f"![bytes with IDONTWANT]({NAME}-idontwant.svg)",
        "",
    ]


def idontwant_plot(rows: Sequence[CampaignRow]) -> str:
    plain, spoken = _by_size(rows, "gossipsub-1.1"), _by_size(rows, "gossipsub-1.2")
    spreads = [_ratio(spoken[size], plain[size]) for size in plain]
    means, errors = [s.mean for s in spreads], [s.ci95 or 0.0 for s in spreads]
    lines = [Line("even", list(plain), [1.0] * len(plain)), Line("1.2 / 1.1", list(plain), means, errors)]
    title = "Bytes with IDONTWANT, beside those without"
    return _plot(title, lines, "bytes of a message", "bytes of 1.2 / 1.1", log=True)


def _by_size(rows: Iterable[CampaignRow], protocol: str) -> dict[int, CampaignRow]:
    return {row.point[SIZE]: row for row in rows if row.point[PROTOCOL] == protocol}


def _ratio(one: CampaignRow, other: CampaignRow) -> SeedSpread:
    """The ratio of their bytes, and its spread: seed by seed, as both ran in the same network."""
    name = "bytes_per_message_and_node"
    pairs = zip(one.figures[name]["values"], other.figures[name]["values"], strict=True)
    return SeedSpread.of([a / b for a, b in pairs])


def break_even(ratios: Sequence[tuple[float, float]]) -> float | None:
    """The size at which the ratio comes down to 1, between two sizes by their logarithms; None where it is
    never above 1 and then below."""
    for (size, ratio), (next_size, next_ratio) in zip(ratios, ratios[1:], strict=False):
        if ratio > 1 >= next_ratio:
            share = (ratio - 1) / (ratio - next_ratio)
            return float(2 ** (math.log2(size) + share * (math.log2(next_size) - math.log2(size))))
    return None


def _bytes(size: int) -> str:
    return f"{size >> 10} KiB" if size >= 1024 and size % 1024 == 0 else f"{size} B"


# -- the page -----------------------------------------------------------------------------------------------


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}", *lines]


def page_of(summary: Mapping[str, Any]) -> str:
    """The page, of the figures of its campaign."""
    lines = [
        "<!-- Written by `make regenerate` (PARTS=first-networks). Change what writes it, not this page. -->",
        "# First networks",
        "",
        "Simulated networks of this kit's own routers, each run fixed by its seed. The campaign "
        f"is in [{NAME}.yaml]({NAME}.yaml), and its figures are in [{NAME}.json]({NAME}.json). "
        "After ± is half of the 95 % interval of the mean over the seeds (Student's t). Latencies are drawn "
        "from 1 to 147 ms for each pair, with up to 4 ms of jitter. What the simulator simplifies: "
        "[simulate.md](../simulate.md).",
        "",
        *flood_section(rows_of(summary, 0)),
        *protocols_section([*rows_of(summary, 1), *rows_of(summary, 2)]),
        *dog_section(rows_of(summary, 3)),
        *idontwant_section(rows_of(summary, 4)),
        "## What this does not show",
        "",
        "- These are our routers, which follow the texts; releases of others differ.",
        "- Networks of 40 and 50 nodes, one size of degree, no loss and no churn.",
        "- No figure that others have published is reproduced here but the closed form.",
        "",
    ]
    return "\n".join(_wrapped(line) for line in lines)


def _wrapped(line: str) -> str:
    import textwrap

    if line.startswith(("|", "#", "!")) or len(line) <= 110:
        return line
    indent = "  " if line.startswith("- ") else ""
    return "\n".join(
        textwrap.wrap(line, 110, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    )


def plots_of(summary: Mapping[str, Any]) -> dict[str, str]:
    """File name -> SVG."""
    copies, delivery = dog_plots(rows_of(summary, 3))
    return {
        f"{NAME}-flood.svg": flood_plot(rows_of(summary, 0)),
        f"{NAME}-dog-copies.svg": copies,
        f"{NAME}-dog-delivery.svg": delivery,
        f"{NAME}-idontwant.svg": idontwant_plot(rows_of(summary, 4)),
    }


def write_page(folder: Path, summary: Mapping[str, Any]) -> None:
    (folder / f"{NAME}.md").write_text(page_of(summary), encoding="utf-8")
    for name, text in plots_of(summary).items():
        (folder / name).write_text(text, encoding="utf-8")


def carried_out(folder: Path, campaign: Path, workers: int | None) -> Mapping[str, Any]:
    """The summary of the campaign, done as far as it is not yet."""
    from quidnunc.pipeline.sweep.executors import LocalExecutor
    from quidnunc.pipeline.sweep.file import load_sweep
    from quidnunc.pipeline.sweep.run import carry_out
    from quidnunc.properties.sources import SIMULATED, digest_of_sources

    plan = load_sweep(folder / f"{NAME}.yaml", digest_of_sources(SIMULATED))
    done = carry_out(
        plan, campaign, LocalExecutor(workers), progress=lambda text: print(text, file=sys.stderr, flush=True)
    )
    return done.summary


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.first_networks", description=__doc__)
    parser.add_argument("folder", type=Path, help="docs/results")
    parser.add_argument("--campaign", type=Path, default=CAMPAIGN, help="where it is carried out")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--only-page", action="store_true", help="from the figures there are")
    options = parser.parse_args()
    place = options.folder / f"{NAME}.json"
    if options.only_page:
        summary = json.loads(place.read_text(encoding="utf-8"))
    else:
        summary = carried_out(options.folder, options.campaign, options.workers)
        place.write_text(json.dumps(summary, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    write_page(options.folder, summary)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
