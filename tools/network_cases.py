"""New cases of networks: what their schedules lead to is played, and must break their claims."""

from __future__ import annotations

from quidnunc.model.errors import CaseError
from quidnunc.properties.cases.case import Case
from quidnunc.properties.replays.network import played_case


def denied(says: str) -> str:
    """What a case of a statement shows."""
    # HaveTx, IDONTWANT and T are names.
    first = says.split()[0]
    plain = first == "A" or (first.istitle() and first[1:2].islower())
    return f"Refuted: {says[0].lower() + says[1:] if plain else says}"


def new_case(case: Case) -> Case:
    """The case, with what its schedule leads to. Raises CaseError where that breaks nothing."""
    found = played_case(case)
    if not found.blocks[-1].broken:
        raise CaseError(f"{case.path}: this schedule does not break {case.claim}")
    return found
