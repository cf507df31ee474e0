"""A folder of cases of the suite that is written: one file for each distinct case of a rule."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import evolve

from quidnunc.model.machine import PROTOCOLS
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import parse, render
from quidnunc.properties.suite.files import SUFFIX, rule_of


def read_rule(folder: Path, rule: str) -> dict[str, Case]:
    """Protocol -> its case of a rule. Raises CaseError for a file that is no case: to write would lose it."""
    found: dict[str, Case] = {}
    for path in _files_of(folder, rule):
        case = parse(path.read_text(encoding="utf-8"), path=str(path))
        found |= {protocol: case.under(protocol) for protocol in case.protocols}
    return found


def write_rule(folder: Path, rule: str, cases: Mapping[str, Case]) -> None:
    """The files of a rule, one for each distinct case; others of the rule go."""
    order = [protocol for protocol in PROTOCOLS if protocol in cases]
    alike: dict[Case, list[str]] = {}
    for protocol in order:
        alike.setdefault(evolve(cases[protocol], protocols=order[0]), []).append(protocol)
    written: set[Path] = set()
    folder.mkdir(parents=True, exist_ok=True)
    for case, protocols in alike.items():
        path = folder / f"{rule}{f'.{protocols[0]}' if written else ''}{SUFFIX}"
        path.write_text(render(evolve(case, protocols=protocols), strict=True), encoding="utf-8")
        written.add(path)
    for path in _files_of(folder, rule):
        if path not in written:
            path.unlink()


def _files_of(folder: Path, rule: str) -> list[Path]:
    return sorted(path for path in folder.glob(f"{rule}.*") if rule_of(path.name) == rule)


def rules_in(folder: Path) -> list[str]:
    """The rules that have a file."""
    return sorted({rule_of(path.name) for path in folder.glob(f"*{SUFFIX}")})
