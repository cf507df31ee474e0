"""The test behind the plugin's fixture and option: it fails on an undeclared change in behaviour.

Every change found is recorded as a property of the test, which `--junitxml` writes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from quidnunc.model.errors import CaseError, RuleError, SpecError
from quidnunc.properties.regress.compare import WALKS, behaviour
from quidnunc.properties.regress.expect import (
    DeclarationComparison,
    compare,
    known_by_change,
    load_declared,
    trace_text,
)
from quidnunc.properties.regress.sides import Side, side_named

Record = Callable[[str, object], None]
"""(name, value) -> a property of the running test."""


def regressed(old: str, new: str, expect: Path | None, record: Record, walks: int = WALKS) -> None:
    """Fail the running test if behaviour changed and `expect` does not declare it, or the reverse.

    Sides are written as for `quidnunc regress`; without `expect` nothing is declared.
    """
    try:
        sides = side_named(old), side_named(new)
        declared = load_declared(expect) if expect is not None else ()
        known = known_by_change(declared, sides[1], str(expect))
        found = behaviour(*sides, walks=walks, declared=known)
        compared = compare(found.separations, declared, *sides, str(expect))
    except OSError as error:
        pytest.fail(
            f"{expect}: {error.strerror}; {_command(old, new, expect)} --update-expect writes it", False
        )
    except (CaseError, RuleError, SpecError, KeyError) as error:
        pytest.fail(f"{old} -> {new}: {error}", pytrace=False)
    for each in found.separations:
        record(each.change.key, f"{each.verdict}, {len(each.found.trace[1])} events")
    for left in found.unseparated:
        record(left.change.key, str(left))
    if not compared.agrees:
        pytest.fail(_told(compared, sides, _command(old, new, expect)), pytrace=False)


def _command(old: str, new: str, expect: Path | None) -> str:
    return f"quidnunc regress {old} {new} --expect {expect or 'FILE'}"


def _told(compared: DeclarationComparison, sides: tuple[Side, Side], command: str) -> str:
    old, new = sides
    lines = [f"behaviour from {old.name} to {new.name}:"]
    for each in compared.undeclared:
        lines.append(f"undeclared: {each.verdict}: {each.change.says} ({each.change.key})")
        lines += [f"    {line}".rstrip() for line in trace_text(each).splitlines()]
    lines += [f"declared, but does not occur: {d.cause} {d.verdict}" for d in compared.gone]
    lines += [f"declared differently: {each}" for each in compared.otherwise]
    return "\n".join([*lines, f"see {command}; add --update-expect to declare what it finds"])
