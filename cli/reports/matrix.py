"""The matrix of several routers under one protocol, made of what `check --json` said of each."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from quidnunc.model.machine import PROTOCOLS
from quidnunc.output import count, table
from quidnunc.properties.claims.catalogue import claims_of
from quidnunc.reports.summary import causes_text

WORDS: Mapping[str, str] = {
    "not-refuted": "holds",
    "fails": "FAILS",
    "deviates": "deviates",
    "observed": "observed",
    "unsupported": "-",
    "inconclusive": "?",
    "undecided": "hidden",
}
LEGEND = """\
holds N   no counterexample; the claim applied N times
FAILS 1   the router breaks a MUST, or departs from what the text says; root cause 1 of this router
deviates  it does not follow advice
observed  the text is silent or unclear, and this is how the router reads it
hidden    another root cause was in the way
?         the claim never applied
-         the driver lacks what the claim needs
broken    the driver or the router ended, so nothing is known of it"""


@frozen(kw_only=True)
class MatrixColumn:
    """One router: what `check` reported of it, or why there is no report."""

    router: str
    report: Mapping[str, Any] | None = None
    broken: str = ""
    clauses_of: Mapping[str, frozenset[str]] = field(factory=dict)
    """Claim -> its clauses."""

    @property
    def title(self) -> str:
        version = self.report["router_version"] if self.report else ""
        return f"{self.router} {version}" if version and version not in self.router else self.router

    @property
    def roots(self) -> Sequence[Mapping[str, Any]]:
        """Its root causes, numbered from 1 in this order."""
        return self.report["root_causes"] if self.report else ()

    def claims(self) -> dict[str, Mapping[str, Any]]:
        return {each["id"]: each for each in self.report["claims"]} if self.report else {}

    def cell(self, claim: str) -> str:
        """What is known of one claim."""
        if self.report is None:
            return "broken"
        found = self.claims().get(claim)
        if found is None:
            return "-"
        word = WORDS.get(found["verdict"], found["verdict"])
        if found["verdict"] == "not-refuted":
            return f"{word} {found['applied']}"
        mine = self.clauses_of.get(claim, frozenset())
        numbers = [str(at) for at, root in enumerate(self.roots, 1) if mine & set(root["clauses"])]
        judged = found["verdict"] in ("fails", "deviates", "observed")
        return f"{word} {','.join(numbers)}" if judged and numbers else word


def columns_of(protocol: str, reports: Mapping[str, Mapping[str, Any] | str]) -> tuple[MatrixColumn, ...]:
    """A column for each router. A report that is text says why there is none."""
    clauses = {each.id: frozenset(each.clauses) for each in claims_of(PROTOCOLS[protocol])}
    return tuple(
        MatrixColumn(router=name, broken=it, clauses_of=clauses)
        if isinstance(it, str)
        else MatrixColumn(router=name, report=it, clauses_of=clauses)
        for name, it in reports.items()
    )


def cells_of(columns: Sequence[MatrixColumn]) -> dict[str, tuple[str, ...]]:
    """Claim -> a cell for each router."""
    claims = dict.fromkeys(claim for column in columns for claim in column.claims())
    return {claim: tuple(column.cell(claim) for column in columns) for claim in claims}


def headline(root: Mapping[str, Any]) -> str:
    """What a router does, in one line. Of a crash nothing is told that helps to repeat it."""
    if root["text"] is None:
        return "The router crashes."
    return " ".join(root["text"].split("\n\n", 1)[0].split()) or str(root["quirk"])


def as_text(protocol: str, columns: Sequence[MatrixColumn]) -> str:
    """Root causes counted, and the claims in which some router is not in order."""
    lines = [f"{protocol}: {count(len(columns), 'router')}", ""]
    for column in columns:
        lines.append(f"  {column.title}: {_summary(column)}")
    rows = [
        (claim, *cells)
        for claim, cells in cells_of(columns).items()
        if any(not cell.startswith(("holds", "-", "?", "broken")) for cell in cells)
    ]
    lines += ["", table(("claim", *(column.title for column in columns)), rows), "", LEGEND]
    return "\n".join(lines)


def _summary(column: MatrixColumn) -> str:
    if column.report is None:
        return f"broken: {column.broken}"
    it = column.report
    causes = causes_text([root["verdict"] for root in column.roots])
    held = sum(each["verdict"] == "not-refuted" for each in it["claims"])
    return f"{causes}; {held} of {len(it['claims'])} claims not refuted in {count(it['runs'], 'run')}"


def as_markdown(protocol: str, columns: Sequence[MatrixColumn], again: str, folder: Path) -> str:
    """The whole of it as a document with its date and versions, to be put into `folder`."""
    return "\n".join(_document(protocol, columns, again, folder)) + "\n"


def _document(protocol: str, columns: Sequence[MatrixColumn], again: str, folder: Path) -> Iterator[str]:
    yield f"# Routers under {protocol}"
    yield ""
    yield f"Made on {datetime.date.today()}; `{again.partition(': ')[2]}` makes it again."
    yield "A search proves nothing: `holds` says that no counterexample was found."
    yield ""
    yield "| router | profile | steps | result |"
    yield "|---|---|---:|---|"
    for column in columns:
        it = column.report or {"profile": "", "steps": ""}
        yield f"| {column.title} | {it['profile']} | {it['steps']} | {_cell(_summary(column))} |"
    yield from ("", "```", *LEGEND.splitlines(), "```", "", "## Claims", "")
    yield f"| claim | {' | '.join(_cell(column.title) for column in columns)} |"
    yield f"|---{'|---' * len(columns)}|"
    for claim, cells in cells_of(columns).items():
        yield f"| `{claim}` | {' | '.join(cells)} |"
    for column in columns:
        yield from ("", f"## {column.title}", "")
        if column.report is None:
            yield f"Broken: {column.broken}"
            continue
        for at, root in enumerate(column.roots, 1):
            clauses = ", ".join(root["clauses"])
            where = f" ([case]({os.path.relpath(root['case'], folder)}))" if root["case"] else ""
            yield f"{at}. **{root['verdict']}**, `{clauses}`: {headline(root)}{where}"
        if leans := dict.fromkeys(each for claim in column.report["claims"] for each in claim["leans_on"]):
            yield from ("", "Verdicts that lean on the driver, which does this:", "")
            yield from (f"- {each}" for each in leans)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
