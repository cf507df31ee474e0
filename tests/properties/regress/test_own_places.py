"""Where a change stands in a module of the user's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from quidnunc.properties.regress.diff import changes_between
from quidnunc.properties.regress.own_places import place_of_change
from quidnunc.properties.regress.sides import side_named

OWN = Path(__file__).parents[2] / "outside" / "own" / "my_fork.py"


def test_a_rule_is_at_its_function_and_a_parameter_where_it_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: the line of the decorator; a parameter at the first line; a place for a rule of the kit."""
    shutil.copy(OWN, tmp_path / "fork_with_places.py")
    monkeypatch.chdir(tmp_path)
    old, new = side_named("gossipsub-1.2"), side_named("python:fork_with_places:FORK")
    lines = OWN.read_text(encoding="utf-8").splitlines()
    rule = next(n for n, line in enumerate(lines, 1) if line.startswith("def refuse_unknown"))
    value = next(n for n, line in enumerate(lines, 1) if line.startswith("PARAMETERS"))
    fork = next(n for n, line in enumerate(lines, 1) if line.startswith("FORK"))
    places = {c.key: place_of_change(c, new.name) for c in changes_between(old, new)}
    assert places == {
        "graft/unknown_topic": ("fork_with_places.py", rule),
        "parameter/prune_backoff_s": ("fork_with_places.py", value),
    }
    gone = side_named("python:fork_with_places:FORK+without:while_backing_off")
    [change] = [c for c in changes_between(old, gone) if c.kind == "removed"]
    assert place_of_change(change, gone.name) == ("fork_with_places.py", fork)
    assert place_of_change(change, "gossipsub-1.2") is None
