"""A folder of cases of edited rules that is written: a file for each case."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import parse, render
from quidnunc.properties.suite.files import SUFFIX


def read_edit_cases(folder: Path) -> dict[str, Case]:
    """`RULE-N` -> case, of every file of a folder of edited rules."""
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    return {p.name.removesuffix(SUFFIX): parse(p.read_text("utf-8"), path=str(p)) for p in paths}


def write_edit_cases(folder: Path, cases: Mapping[str, Case]) -> None:
    """A file for each; others of the folder go."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob(f"*{SUFFIX}"):
        if path.name.removesuffix(SUFFIX) not in cases:
            path.unlink()
    for name, case in cases.items():
        (folder / f"{name}{SUFFIX}").write_text(render(case, strict=True), encoding="utf-8")
