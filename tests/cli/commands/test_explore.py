"""quidnunc explore: what it prints, its JSON, its exit status, and what it says of wrong usage."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command

pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")


def test_a_network_in_which_every_claim_holds(quidnunc: Command) -> None:
    ran = quidnunc("explore", "mesh-link-backoff", "--engine", "python")
    assert ran.code == 0
    assert "complete: 112 states, 406 transitions, depth 9" in ran.out
    assert ran.out.startswith("mesh-link-backoff: peers 2, d_high 1, capacity 2")
    assert ran.out.rstrip().endswith(
        "again: quidnunc explore mesh-link-backoff --peers 2 --d-high 1 --engine python"
    )


def test_a_refuted_claim_in_json(quidnunc: Command) -> None:
    ran = quidnunc("explore", "mesh-link", "--engine", "python", "--json")
    assert ran.code == 1
    assert ran.data["schema"] == 1
    assert (ran.data["states"], ran.data["transitions"], ran.data["complete"]) == (387, 1354, True)
    assert ran.data["claims"][0] == {
        "id": "mesh-link.bidirectional",
        "kind": "always",
        "verdict": "refuted",
        "trace_length": 9,
    }
    assert "orbits" not in ran.data


def test_orbits_in_json(quidnunc: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIDNUNC_CACHE", str(tmp_path))
    pytest.importorskip("numba", reason="numba is not installed: pip install '.[prove]'")
    ran = quidnunc("explore", "mesh-link", "--symmetry", "--json")
    assert ran.code == 1
    assert (ran.data["orbits"], ran.data["states"], ran.data["transitions"]) == (201, 387, 1354)


def test_the_memory_limit_is_no_proof(quidnunc: Command) -> None:
    ran = quidnunc("explore", "mesh-link-backoff", "--engine", "python", "--memory", "40k")
    assert ran.code == 3
    assert "UNDETERMINED" in ran.out


def test_a_trace_as_a_table_and_as_data(quidnunc: Command) -> None:
    asked = (
        "explore",
        "mesh-link-backoff-silent",
        "--engine",
        "python",
        "--trace",
        "mesh-link.bidirectional",
    )
    ran = quidnunc(*asked)
    assert ran.code == 1
    assert "B ignores the GRAFT of A" in ran.out and "gs1.1/graft.unknown-topic" in ran.out
    data = quidnunc(*asked, "--json").data
    assert data["schema"] == 1
    assert data["trace"]["length"] == 3
    assert data["trace"]["steps"][-1] == {
        "rule": "ignore_1_0",
        "clause": "gs1.1/graft.unknown-topic",
        "state": {"mesh_0_1": 1, "sub_0": 1},
    }
    assert quidnunc("explore", "mesh-link", "--engine", "python", "--trace", "mesh-link.linked").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("mesh-lynk", "did you mean mesh-link"),
        ("mesh-link --peers 1", "2 to 8 peers"),
        ("mesh-link --peers 7", "take fewer peers"),
        ("mesh-link --d-high 0", "D_high of at least 1"),
        ("mesh-link --memory 2", "invalid size '2': write 500M"),
        ("mesh-link --engine python --symmetry", "needs the compiled engine"),
        ("mesh-link --trace nosuch", "there are mesh-link.bidirectional"),
        ("mesh-link-backoff --engine python --trace mesh-link.bidirectional", "no reachable state breaks it"),
    ],
)
def test_wrong_usage(quidnunc: Command, arguments: str, said: str) -> None:
    ran = quidnunc("explore", *arguments.split())
    assert ran.code == 2
    assert said in ran.err


def test_what_is_not_installed_is_named(quidnunc: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ran = quidnunc("explore", "mesh-link")
    assert ran.code == 2
    assert "z3 and numba must be installed: pip install '.[prove]'" in ran.err
