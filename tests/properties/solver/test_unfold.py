"""What follows by logic alone, with every comparison left open, and what needs arithmetic."""

from __future__ import annotations

import pytest

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from quidnunc.properties.solver.unfold import by_definition


def test_a_rule_that_is_repeated() -> None:
    x, y, bound = z3.Ints("x y bound")
    fires = z3.And(x > 0, y >= bound * x)
    assert by_definition(z3.And(x > 0, y >= bound * x, bound > 3), z3.Or(fires, x == 7))
    # What the premise names is put in first.
    assert by_definition(z3.And(x == 0, y > 0), z3.Not(fires))
    assert by_definition(z3.And(z3.BoolVal(True), x == y), 2 * x + 1 == 2 * y + 1)
    assert by_definition(x == y, z3.If(x > 3, x * x, 0) == z3.If(y > 3, y * y, 0))


def test_what_needs_arithmetic() -> None:
    x, y, bound = z3.Ints("x y bound")
    assert not by_definition(x > 1, x > 0)
    assert not by_definition(z3.And(x >= y, y >= bound), x >= bound)
    assert not by_definition(z3.And(x > 0, bound > 0), bound * x > 0)
    assert not by_definition(x > 0, z3.If(x > 3, x, 0) == x)


def test_what_is_false() -> None:
    x, y = z3.Ints("x y")
    assert not by_definition(x == 0, x > 0)
    assert not by_definition(x == y, x == y + 1)
    assert not by_definition(z3.And(x == 0, x == y), y == 1)
