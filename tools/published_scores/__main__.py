"""Prints the tables of docs/results/acl2s.md anew: `python -m tools.published_scores`."""

from __future__ import annotations

from quidnunc.properties.solver.questions import SolverSession
from tools.published_scores.compare import table_rows

if __name__ == "__main__":
    print("\n".join(table_rows(SolverSession())))
