"""One HTML page of what was found: it needs no network, and is read without script."""

from __future__ import annotations

import datetime
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from quidnunc import __version__
from quidnunc.output import UsageError, count, near_file, write_text
from quidnunc.properties.bounded import read_bounded
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import load
from quidnunc.reports.matrix import DEPARTS, LEGEND, verdict_of_cell
from quidnunc.reports.pages.drawing import drawn
from quidnunc.reports.pages.finding import (
    VERDICTS,
    WITHHELD,
    ReportedFinding,
    finding_of,
    finding_of_row,
    worst_first,
)
from quidnunc.reports.summary import UNDECIDED

if TYPE_CHECKING:
    from quidnunc.reports.pages.network_drawing import DrawnNetwork

MAX_RESULT_BYTES = 64 << 20
MAX_PAGE_BYTES = 3_000_000
MAX_TITLES = 3
SIGNS: Mapping[str, str] = {
    "broken": "✖",
    "fails": "■",
    "refuted": "■",
    "deviates": "▲",
    "observed": "○",
    "undecided": "?",
    "disputed": "?",
    "expected": "◇",
    "not-refuted": "✓",
    "fixed": "✓",
    "suite": "✓",
}
"""Verdict -> a shape, so that no verdict is told by its colour alone."""


@frozen(kw_only=True)
class ReportedResult:
    """What is known of one router under one protocol, or of a folder of cases about it."""

    router: str
    version: str = ""
    name: str = ""
    """What a matrix calls it."""
    protocol: str
    findings: tuple[ReportedFinding, ...] = ()
    searched: str = ""
    """How it was searched; empty where there are cases alone."""
    claims: tuple[tuple[str, str], ...] = ()
    """(claim, verdict) of all claims."""
    not_checked: tuple[str, ...] = ()
    leans_on: tuple[str, ...] = ()
    broken: str = ""
    """Why there is no result."""

    @property
    def title(self) -> str:
        return self.name or f"{self.router} {self.version}".strip()

    @property
    def verdicts(self) -> list[tuple[str, int]]:
        """How many root causes have each verdict, the worst first."""
        counts = Counter(each.verdict for each in self.findings)
        return [(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]]

    @property
    def causes(self) -> int:
        """How many root causes are known; a departure whose cause was not found in time is none."""
        return sum(each.verdict != UNDECIDED for each in self.findings)

    @property
    def held(self) -> int:
        return sum(verdict == "not-refuted" for _, verdict in self.claims)


@frozen(kw_only=True)
class MatrixTable:
    """The matrix of several routers: a row for each claim."""

    protocol: str
    routers: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    left_out: tuple[str, ...] = ()
    """A line about each router that has no column."""

    @property
    def telling(self) -> list[tuple[str, tuple[str, ...]]]:
        """The rows in which some router is not in order."""
        return [row for row in self.rows if {*map(verdict_of_cell, row[1])} & DEPARTS]

    @property
    def others(self) -> list[tuple[str, tuple[str, ...]]]:
        return [row for row in self.rows if row not in self.telling]


@frozen(kw_only=True)
class ReportContent:
    """All that a page tells."""

    results: tuple[ReportedResult, ...]
    matrices: tuple[MatrixTable, ...] = ()
    again: str = ""
    """The command that makes the results anew."""
    date: str = field(factory=lambda: str(datetime.date.today()))

    @property
    def heading(self) -> str:
        """Its routers; of many results without their versions, which the summary has."""
        titles = list(dict.fromkeys(each.title for each in self.results))
        if len(titles) > MAX_TITLES:
            titles = list(dict.fromkeys(re.split("[ @]", title)[0] for title in titles))
        return ", ".join(titles)


# -- what is read -------------------------------------------------------------------------------------------


def content_of(paths: Iterable[Path], again: str = "") -> ReportContent:
    """What case files, folders of them, and results of `check --json` and `matrix --json` tell.

    Raises UsageError for what is none of these, CaseError for a case that cannot be read.
    """
    cases: list[Case] = []
    results: list[ReportedResult] = []
    matrices: list[MatrixTable] = []
    for path in paths:
        if path.suffix == ".json" and path.is_file():
            found = content_of_json(_json_in(path), str(path))
            results += found.results
            matrices += found.matrices
        else:
            cases += cases_in(path)
    return ReportContent(results=(*results, *results_of_cases(cases)), matrices=tuple(matrices), again=again)


def cases_in(path: Path) -> list[Case]:
    """The case of a file, or all of a folder. Raises UsageError, CaseError for a case that cannot be read."""
    if not path.exists():
        near = near_file(path)
        raise UsageError(f"{path} does not exist{near}; `quidnunc check ... --cases DIR` writes cases")
    if not path.is_dir():
        return [load(path)]
    inside = sorted(path.rglob("*.case"))
    if not inside:
        raise UsageError(f"{path} contains no .case file")
    return [load(each, path) for each in inside]


def _json_in(path: Path) -> Any:
    try:
        return json.loads(read_bounded(path, MAX_RESULT_BYTES))
    except (ValueError, RecursionError) as error:
        why = "nested too deep" if isinstance(error, RecursionError) else error
        raise UsageError(f"{path} is not JSON: {why}") from None


def content_of_json(found: Any, name: str, again: str = "") -> ReportContent:
    """What `check --json` or `matrix --json` printed. Raises UsageError for anything else."""
    try:
        if "matrices" in found:
            matrices = found["matrices"]
            return ReportContent(
                results=tuple(
                    _result_of_column(each, matrix["protocol"])
                    for matrix in matrices
                    for each in matrix["routers"]
                ),
                matrices=tuple(map(_table_of, matrices)),
                again=again,
            )
        reports = found["reports"] if "reports" in found else [found]
        return ReportContent(results=tuple(map(_result_of_report, reports)), again=again)
    except (KeyError, TypeError, IndexError, AttributeError):
        raise UsageError(
            f"{name} is no result of `quidnunc check --json` or `quidnunc matrix --json`; of a replay, name "
            "the case files"
        ) from None


def _table_of(matrix: Mapping[str, Any]) -> MatrixTable:
    return MatrixTable(
        protocol=matrix["protocol"],
        routers=tuple(each["title"] for each in matrix["routers"]),
        rows=tuple((claim, tuple(cells)) for claim, cells in matrix["claims"].items()),
        left_out=tuple(
            f"{name} does not speak it; it speaks {', '.join(it)}" for name, it in matrix["unspoken"].items()
        ),
    )


def _result_of_column(column: Mapping[str, Any], protocol: str) -> ReportedResult:
    if column["report"] is None:
        return ReportedResult(router=column["name"], protocol=protocol, broken=column["broken"])
    return evolve(_result_of_report(column["report"]), name=column["title"])


def _result_of_report(report: Mapping[str, Any]) -> ReportedResult:
    leans = dict.fromkeys(each for claim in report["claims"] for each in claim["leans_on"])
    interrupted = ", interrupted" if report["interrupted"] else ""
    compared = report.get("expected", {})
    met, new = (
        {(each["clause"], each["cause"]) for each in compared.get(key, ())} for key in ("met", "unexpected")
    )

    def found(number: int, row: Mapping[str, Any]) -> ReportedFinding:
        one = finding_of_row(number, row, report)
        is_met = (row["clauses"][0], row["quirk"]) in met - new
        return evolve(one, verdict="expected", expected_as=one.verdict) if is_met else one

    return ReportedResult(
        router=report["against"],
        version=report["router_version"],
        protocol=report["protocols"][0],
        findings=tuple(worst_first(found(n, row) for n, row in enumerate(report["root_causes"], 1))),
        searched=f"{count(report['runs'], 'run')}, {count(report['steps'], 'step')}, seed {report['seed']}, "
        f"profile {report['profile']}{interrupted}",
        claims=tuple((each["id"], each["verdict"]) for each in report["claims"]),
        not_checked=tuple(report["not_checked"]),
        leans_on=tuple(leans),
    )


def results_of_cases(cases: Sequence[Case], remarks: Sequence[str] = ()) -> tuple[ReportedResult, ...]:
    """Cases by the router and the protocol that they are of. `remarks`: what came of the replay of each."""
    groups: dict[tuple[str, str, str], list[ReportedFinding]] = {}
    for case, remark in zip(cases, remarks or [""] * len(cases), strict=True):
        each = finding_of(case, remark=remark)
        groups.setdefault((each.router, each.version, each.protocol), []).append(each)
    return tuple(
        ReportedResult(router=router, version=version, protocol=protocol, findings=tuple(worst_first(group)))
        for (router, version, protocol), group in groups.items()
    )


# -- what is written ----------------------------------------------------------------------------------------


def page_of(content: ReportContent) -> str:
    """The page. Raises UsageError where it would be too large to open: fewer cases make a smaller one."""
    from quidnunc.reports.pages.environment import rendered

    text = rendered(
        "report.html",
        content=content,
        verdicts=VERDICTS,
        signs=SIGNS,
        legend=LEGEND,
        withheld=WITHHELD,
        tool_version=__version__,
        drawn=drawn,
        count=count,
        verdict_of_cell=verdict_of_cell,
        totals=_totals(content),
        anchors=_anchors(content),
        cell_parts=cell_parts,
        id_of=id,
        networks=_networks(content),
    )
    size = len(text.encode())
    if size > MAX_PAGE_BYTES:
        raise UsageError(
            f"the page would have {size / 1e6:.1f} MB, and the limit is {MAX_PAGE_BYTES / 1e6:.0f} MB: name "
            "fewer cases"
        )
    return text


def write_page(path: Path, content: ReportContent) -> None:
    """Write the page. Raises UsageError where it cannot be written."""
    write_text(path, page_of(content))


def _networks(content: ReportContent) -> dict[int, DrawnNetwork]:
    """Finding, by its identity -> its network over time, where it is of one that can be drawn here."""
    cases = {id(each): each.case for each in _findings(content) if each.case and each.case.is_network}
    if not cases:
        return {}
    from quidnunc.pipeline.simulation.scenario.values import ScenarioError
    from quidnunc.reports.pages.case_network import history_of_case
    from quidnunc.reports.pages.network_drawing import drawn_network

    histories = {name: history_of_case(case) for name, case in cases.items() if case is not None}
    try:
        return {name: drawn_network(each) for name, each in histories.items() if each is not None}
    except ScenarioError as error:
        print(f"without pictures of networks: {error}", file=sys.stderr)
        return {}


def _findings(content: ReportContent) -> list[ReportedFinding]:
    return [finding for result in content.results for finding in result.findings]


def _anchors(content: ReportContent) -> dict[int, str]:
    """Finding, by its identity -> its name in the page. One that a matrix numbers is found by its number."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for result in content.results:
        for each in result.findings:
            plain = f"finding-{len(names) + 1}"
            name = anchor_of(result.title, each.protocol, each.number) if each.number else plain
            names[id(each)] = plain if name in taken else name
            taken.add(names[id(each)])
    return names


def anchor_of(router: str, protocol: str, number: int) -> str:
    """The name of a numbered finding in a page."""
    return re.sub(r"[^a-z0-9]+", "-", f"cause-{router}-{protocol}-{number}".lower())


def cell_parts(cell: str, router: str, protocol: str) -> list[tuple[str, str]]:
    """A cell as pieces of text, each with the anchor that it leads to or none."""
    word, _, numbers = cell.partition(" ")
    if word == "not-refuted" or not numbers:
        return [(cell, "")]
    return [(word, ""), *((each, anchor_of(router, protocol, int(each))) for each in numbers.split(","))]


def _totals(content: ReportContent) -> list[tuple[str, int]]:
    counts = Counter(each.verdict for each in _findings(content))
    return [(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]]
