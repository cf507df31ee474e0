"""The files of the suite: each is of every protocol that its front matter lists.

`cases/RULE.case` shows that a rule is missing. Where a rule is shown by another trace in some protocols, that
one is `cases/RULE.PROTOCOL.case`, by the first of them. The first sentence, the claim and the clause are of
the case, so that protocols in which they differ have files of their own.

`cases/edits/RULE-N.case` shows that this rule, and perhaps others, are there and wrong.

`cases/bounds/BOUND.case`, or `BOUND.PROTOCOL.case`, goes to a bound by hand: values below, at and above it.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from quidnunc.model.errors import SpecError
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import parse
from quidnunc.properties.cases.front_matter import read_fields

SUFFIX = ".case"
EDITS = "edits"
"""The folder of the cases of edited rules, below that of all cases."""
BOUNDS = "bounds"
"""That of the cases at bounds."""


def rule_of(name: str) -> str:
    """The rule that a file of the suite is about."""
    return name.partition(".")[0]


@cache
def _shipped(*below: str) -> tuple[tuple[str, str, frozenset[str]], ...]:
    """(name, text, protocols) of every file of the cases, or of a folder below them, by name."""
    folder = resources.files("quidnunc.properties.suite").joinpath("cases", *below)
    if not folder.is_dir():
        return ()
    files = sorted((e for e in folder.iterdir() if e.name.endswith(SUFFIX)), key=lambda e: e.name)
    texts = [(each.name, each.read_text(encoding="utf-8")) for each in files]
    return tuple((name, text, _protocols_in(text)) for name, text in texts)


def _protocols_in(text: str) -> frozenset[str]:
    front = text.split("\n\n", 2)[1]
    return frozenset(read_fields(enumerate(front.split("\n"), 1))["protocols"].text.split())


@cache
def _parsed(name: str, text: str) -> Case:
    return parse(text, path=f"suite/{name}")


@cache
def suite_of(protocol: str) -> tuple[tuple[str, Case], ...]:
    """(name, case) of every case of a protocol: those of missing rules, of edited rules, and at bounds.

    Raises SpecError where the protocol has none.
    """
    return rule_cases(protocol) + edit_cases(protocol) + bound_cases(protocol)


def file_of(protocol: str, name: str) -> Path:
    """Where the kit has the case of that name."""
    path = dict(suite_of(protocol))[name].path.removeprefix("suite/")
    return Path(str(resources.files("quidnunc.properties.suite"))) / "cases" / path


@cache
def rule_cases(protocol: str) -> tuple[tuple[str, Case], ...]:
    """(rule, case) of every case of a missing rule, by rule, each of this protocol alone.

    Raises SpecError where the protocol has none.
    """
    # To read the front matter alone takes a tenth of the time.
    own = [(name, text) for name, text, protocols in _shipped() if protocol in protocols]
    if not own:
        raise SpecError(f"no suite for {protocol!r}; `make suite` writes it")
    return tuple((rule_of(name), _parsed(name, text).under(protocol)) for name, text in own)


@cache
def edit_cases(protocol: str) -> tuple[tuple[str, Case], ...]:
    """(`RULE-N`, case) of every case of edited rules, each of this protocol alone."""
    return _in_folder(EDITS, protocol)


@cache
def bound_cases(protocol: str) -> tuple[tuple[str, Case], ...]:
    """(`BOUND`, case) of every case at a bound, each of this protocol alone."""
    return _in_folder(BOUNDS, protocol)


def _in_folder(folder: str, protocol: str) -> tuple[tuple[str, Case], ...]:
    own = [(name, text) for name, text, protocols in _shipped(folder) if protocol in protocols]
    return tuple((rule_of(name), _parsed(f"{folder}/{name}", text).under(protocol)) for name, text in own)
