"""A case judged by the model from what its file says. No router is played."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quidnunc.model.edit import edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.errors import SpecError
from quidnunc.model.events import Advance
from quidnunc.model.machine import protocol_named
from quidnunc.model.rules import Protocol
from quidnunc.properties.cases.case import Case, Misfit
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import singles


def departures_by_text(
    case: Case, watched: Callable[[Protocol], Protocol] = lambda protocol: protocol
) -> tuple[Departure, ...] | None:
    """Of the last step, each with the clause that the model judges it by. None where that cannot be told: of
    a network, and of a run whose outputs are not all written down.

    `watched`: the protocol, with something that looks on.
    """
    found = _departures_of_steps(case, watched)
    return None if found is None else found[-1] if found else ()


def are_judged_alike(case: Case, other: Case) -> bool:
    """Whether the model says the same of each of their steps. False where that cannot be told."""
    found = _departures_of_steps(case)
    return found is not None and found == _departures_of_steps(other)


def _departures_of_steps(
    case: Case, watched: Callable[[Protocol], Protocol] = lambda protocol: protocol
) -> list[tuple[Departure, ...]] | None:
    if case.is_network:
        return None
    found: list[tuple[Departure, ...]] = []
    try:
        spec = protocol_named(case.protocol)
        protocol = edited(spec, [edit_named(name, spec) for name in case.as_built])
        oracle = Oracle(watched(protocol), case.parameters, tells=False)
        for block in case.blocks:
            seen = [each.what for each in block.shown if each.side in ("both", "router")]
            if any(isinstance(what, Misfit) for what in seen):
                return None
            outputs: Any = tuple(seen)
            for at, event in enumerate(block.events, 1):
                # A case has the outputs of all that happens at once together: they belong to the last of it.
                left = event.ms if isinstance(event, Advance) else len(getattr(event, "peers", (0,)))
                for one in singles(event, oracle):
                    left -= one.ms if isinstance(one, Advance) else 1
                    now = at == len(block.events) and not left
                    found.append(oracle.judge(one, outputs if now else ()).departures)
    except (SpecError, KeyError, ValueError, ArithmeticError):
        return None
    return found
