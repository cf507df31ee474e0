"""The page of results shows the traces and clauses that the kit finds."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from quidnunc.output import table
from quidnunc.properties.proofs.mesh.mesh_link import BIDIRECTIONAL, mesh_link
from quidnunc.properties.solver.trace import is_valid_trace, shortest_trace

PAGE = Path(__file__).parents[3] / "docs" / "results" / "mesh-link.md"
REFUTED = ("mesh-link", "mesh-link-backoff-any", "mesh-link-backoff-silent", "mesh-link-backoff-announced")


@pytest.mark.parametrize("name", REFUTED)
def test_the_page_shows_the_shortest_trace(name: str) -> None:
    trace = shortest_trace(mesh_link(name, peers=2, d_high=1), BIDIRECTIONAL, engine="python")
    assert is_valid_trace(trace)
    assert table(trace.header(), trace.rows()) in PAGE.read_text(encoding="utf-8")


def test_the_page_gives_the_reason_that_is_proved() -> None:
    pytest.importorskip("numpy", reason="numba is not installed: pip install '.[prove]'")
    from quidnunc.properties.proofs.mesh.infer import clause_sentence, inferred_clauses
    from quidnunc.properties.proofs.mesh.projection import table_of

    pair = table_of("mesh-link-backoff", capacity=3)
    assert pair is not None
    found = inferred_clauses(pair)
    assert found
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    shown = [
        line.removeprefix("- ") for line in lines if line.startswith(("- if ", "- never: ", "- always: "))
    ]
    assert shown == [clause_sentence(clause) for clause in found]
