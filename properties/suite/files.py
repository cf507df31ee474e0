"""The files of the suite: `cases/RULE.case`, of every protocol that its front matter lists.

Where a rule is shown by another trace in some protocols, that one is `cases/RULE.PROTOCOL.case`, by the first
of them. The first sentence, the claim and the clause are of the case, so that protocols in which they differ
have files of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path

from attrs import evolve

from quidnunc.model.errors import CaseError, SpecError
from quidnunc.model.machine import PROTOCOLS
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import parse, render
from quidnunc.properties.cases.front_matter import read_fields

SUFFIX = ".case"


def rule_of(name: str) -> str:
    """The rule that a file of the suite is about."""
    return name.partition(".")[0]


@lru_cache
def _shipped() -> tuple[tuple[str, str, frozenset[str]], ...]:
    """(name, text, protocols) of every file, by name."""
    folder = resources.files("quidnunc.properties.suite").joinpath("cases")
    files = sorted((e for e in folder.iterdir() if e.name.endswith(SUFFIX)), key=lambda e: e.name)
    texts = [(each.name, each.read_text(encoding="utf-8")) for each in files]
    return tuple((name, text, _protocols_in(text)) for name, text in texts)


def _protocols_in(text: str) -> frozenset[str]:
    front = text.split("\n\n", 2)[1]
    return frozenset(read_fields(enumerate(front.split("\n"), 1))["protocols"].text.split())


@cache
def _parsed(name: str, text: str) -> Case:
    return parse(text, path=f"suite/{name}")


@lru_cache
def suite_of(protocol: str) -> tuple[tuple[str, Case], ...]:
    """(rule, case) of every case of a protocol, by rule, each of this protocol alone.

    Raises SpecError where the protocol has none.
    """
    # To read the front matter alone takes a tenth of the time.
    own = [(name, text) for name, text, protocols in _shipped() if protocol in protocols]
    if not own:
        raise SpecError(f"no suite for {protocol!r}; `make suite` writes it")
    return tuple((rule_of(name), _parsed(name, text).under(protocol)) for name, text in own)


# -- a folder that is written -------------------------------------------------------------------------------


def read_rule(folder: Path, rule: str) -> dict[str, Case]:
    """Protocol -> its case of a rule. A file that is no case counts for nothing."""
    found: dict[str, Case] = {}
    for path in _files_of(folder, rule):
        try:
            case = parse(path.read_text(encoding="utf-8"), path=str(path))
        except CaseError:
            continue
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
