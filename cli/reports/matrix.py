"""The matrix of several routers under a protocol, made of what `check --json` said of each."""

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

LEGEND = """\
not-refuted N  no counterexample; the claim applied N times
fails 1        the router breaks a MUST, or departs from what the text says; root cause 1 of this router
deviates       it does not follow advice
observed       the text is silent or unclear, and this is how the router reads it
undecided      another root cause was in the way
inconclusive   the claim never applied
unsupported    the driver lacks what the claim needs
-              the claim is not asked of this router
broken         the router ended, or our own router departs in the control run too: nothing is known of it"""
DEPARTS = frozenset({"fails", "deviates", "observed", "undecided"})
"""Verdicts of cells whose row is shown first."""


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
        word: str = found["verdict"]
        if word == "not-refuted":
            return f"{word} {found['applied']}"
        mine = self.clauses_of.get(claim, frozenset())
        numbers = [
            str(at)
            for at, root in enumerate(self.roots, 1)
            if mine & set(root["clauses"]) and root["verdict"] == word
        ]
        return f"{word} {','.join(numbers)}" if numbers else word


def verdict_of_cell(cell: str) -> str:
    """The verdict of a cell, or `-`."""
    return cell.partition(" ")[0]


@frozen
class RouterMatrix:
    """The routers that were tested under one protocol."""

    protocol: str
    columns: tuple[MatrixColumn, ...]
    unspoken: Mapping[str, tuple[str, ...]] = field(factory=dict)
    """Of those that do not speak it, the protocols that they do speak."""

    def cells(self) -> dict[str, tuple[str, ...]]:
        """Claim -> a cell for each column."""
        claims = dict.fromkeys(claim for column in self.columns for claim in column.claims())
        return {claim: tuple(column.cell(claim) for column in self.columns) for claim in claims}

    def left_out(self) -> list[str]:
        """A line about each router that has no column."""
        return [f"{name} does not speak it; it speaks {', '.join(it)}" for name, it in self.unspoken.items()]


def matrix_of(
    protocol: str,
    reports: Mapping[str, Mapping[str, Any] | str],
    unspoken: Mapping[str, tuple[str, ...]] | None = None,
) -> RouterMatrix:
    """A column for each router. A report that is text says why there is none."""
    clauses = {each.id: frozenset(each.clauses) for each in claims_of(PROTOCOLS[protocol])}
    columns = tuple(
        MatrixColumn(router=name, broken=it, clauses_of=clauses)
        if isinstance(it, str)
        else MatrixColumn(router=name, report=it, clauses_of=clauses)
        for name, it in reports.items()
    )
    return RouterMatrix(protocol, columns, unspoken or {})


def headline(root: Mapping[str, Any]) -> str:
    """What a router does, in one line. Of a crash nothing is told that helps to repeat it."""
    if root["text"] is None:
        return "The router crashes."
    return " ".join(root["text"].split("\n\n", 1)[0].split()) or str(root["quirk"])


def as_text(matrices: Sequence[RouterMatrix]) -> str:
    """Root causes counted, and the claims in which some router is not in order."""
    lines = []
    for matrix in matrices:
        lines += [f"{matrix.protocol}: {count(len(matrix.columns), 'router')}", ""]
        lines += [f"  {column.title}: {_summary(column)}" for column in matrix.columns]
        lines += [f"  {line}" for line in matrix.left_out()]
        rows = [
            (claim, *cells)
            for claim, cells in matrix.cells().items()
            if any(verdict_of_cell(cell) in DEPARTS for cell in cells)
        ]
        if rows:
            lines += ["", table(("claim", *(column.title for column in matrix.columns)), rows)]
        lines.append("")
    return "\n".join([*lines, LEGEND])


def _summary(column: MatrixColumn) -> str:
    if column.report is None:
        return f"broken: {column.broken}"
    it = column.report
    causes = causes_text([root["verdict"] for root in column.roots])
    held = sum(each["verdict"] == "not-refuted" for each in it["claims"])
    said = f"{causes}; {held} of {len(it['claims'])} claims not refuted in {count(it['runs'], 'run')}"
    suite, why = it.get("suite", {}), "the driver broke" if it["broken"] else "the time was up"
    for key, what in (("not_played", "not played"), ("not_explained", "not explained")):
        said += f"; {count(len(suite[key]), 'case')} {what}: {why}" if suite.get(key) else ""
    return said


def as_markdown(matrices: Sequence[RouterMatrix], again: str, folder: Path) -> str:
    """The whole of it as a document with its date and versions, to be put into `folder`."""
    return "\n".join(_document(matrices, again, folder)) + "\n"


def _document(matrices: Sequence[RouterMatrix], again: str, folder: Path) -> Iterator[str]:
    yield f"# Routers under {', '.join(matrix.protocol for matrix in matrices)}"
    yield ""
    yield f"Made on {datetime.date.today()}; `{again.partition(': ')[2]}` makes it again."
    yield "A search proves nothing: `not-refuted` says that no counterexample was found."
    yield ""
    yield "| protocol | router | profile | steps | result |"
    yield "|---|---|---|---:|---|"
    for matrix in matrices:
        for column in matrix.columns:
            it = column.report or {"profile": "", "steps": ""}
            yield (
                f"| {matrix.protocol} | {column.title} | {it['profile']} | {it['steps']} "
                f"| {_cell(_summary(column))} |"
            )
    for matrix in matrices:
        if left_out := matrix.left_out():
            yield from ("", f"{matrix.protocol}: {'; '.join(left_out)}.")
    yield from ("", "```", *LEGEND.splitlines(), "```")
    for matrix in matrices:
        yield from _section(matrix, folder)


def _section(matrix: RouterMatrix, folder: Path) -> Iterator[str]:
    yield from ("", f"## {matrix.protocol}", "")
    if not matrix.columns:
        yield "No router here speaks it."
        return
    yield f"| claim | {' | '.join(_cell(column.title) for column in matrix.columns)} |"
    yield f"|---{'|---' * len(matrix.columns)}|"
    for claim, cells in matrix.cells().items():
        yield f"| `{claim}` | {' | '.join(cells)} |"
    for column in matrix.columns:
        yield from ("", f"### {column.title} under {matrix.protocol}", "")
        if column.report is None:
            yield f"Broken: {column.broken}"
            continue
        if not column.roots:
            yield "No root cause was found."
        for at, root in enumerate(column.roots, 1):
            clauses = ", ".join(root["clauses"])
            where = f" ([case]({os.path.relpath(root['case'], folder)}))" if root["case"] else ""
            yield f"{at}. **{root['verdict']}**, `{clauses}`: {headline(root)}{where}"
        if leans := dict.fromkeys(each for claim in column.report["claims"] for each in claim["leans_on"]):
            yield from ("", "Verdicts that lean on the driver, which does this:", "")
            yield from (f"- {each}" for each in leans)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
