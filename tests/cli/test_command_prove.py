"""quidnunc prove: what it prints, its JSON, and what it says of wrong usage."""

from __future__ import annotations

from pathlib import Path

import pytest

from quidnunc.properties import network_prove
from tests.conftest import Command

pytest.importorskip("z3", reason="z3-solver is not installed: pip install 'quidnunc[prove]'")
pytest.importorskip("numpy", reason="numba is not installed: pip install 'quidnunc[prove]'")


def test_a_refutation_is_printed_with_its_trace(quidnunc: Command, tmp_path: Path) -> None:
    ran = quidnunc("prove", "mesh-link-backoff-silent", "--smt2", tmp_path)
    assert ran.code == 0
    assert "mesh-link-backoff-silent: REFUTED" in ran.out
    assert "A ignores the GRAFT of B" in ran.out or "B ignores the GRAFT of A" in ran.out
    assert "none of fewer (3 questions unsatisfiable)" in ran.out
    assert len(list(tmp_path.glob("*.smt2"))) == 4
    assert ran.out.rstrip().endswith("again: quidnunc prove mesh-link-backoff-silent")


def test_results_in_json(quidnunc: Command) -> None:
    ran = quidnunc("prove", "*-silent", "--json")
    assert ran.code == 0
    (result,) = ran.data["results"]
    assert set(result) >= {"name", "verdict", "scope", "assumptions", "engine", "seconds", "vacuous"}
    assert (result["name"], result["verdict"], result["vacuous"]) == (
        "mesh-link-backoff-silent",
        "refuted",
        False,
    )
    assert result["trace"]["length"] == 3
    assert ran.data["questions"] == {"asked": 4, "rechecked": 0, "unknown": []}


def test_what_is_not_decided_is_no_success(quidnunc: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_prove, "DEPTH", 2)
    monkeypatch.setattr(network_prove, "_table", lambda name, capacity: None)
    ran = quidnunc("prove", "mesh-link-backoff-unsub", "--quiet")
    assert ran.code == 3
    assert "undetermined" in ran.out and "no trace of up to 2 steps" in ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [("mesh-lynk", "did you mean mesh-link"), ("cat*", "there are mesh-link")],
)
def test_wrong_usage(quidnunc: Command, arguments: str, said: str) -> None:
    ran = quidnunc("prove", *arguments.split())
    assert ran.code == 2
    assert said in ran.err


def test_what_is_not_installed_is_named(quidnunc: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ran = quidnunc("prove")
    assert ran.code == 2
    assert "pip install 'quidnunc[prove]'" in ran.err
