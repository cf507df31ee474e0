"""A changed copy of a frozen value is the one that attrs makes."""

from __future__ import annotations

import attrs
import pytest

from quidnunc.model.machine import family_of, protocol_named
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import Prune
from quidnunc.model.score_interval import ZERO
from quidnunc.model.values import evolve

PUBSUB = family_of(protocol_named("gossipsub-1.2")).start(protocol_named("gossipsub-1.2"), Parameters())
MEMPOOL = family_of(protocol_named("dog")).start(protocol_named("dog"), DogParameters())


@pytest.mark.parametrize(
    ("value", "changes"),
    [
        (PUBSUB, {"now_ms": 5, "topics": frozenset({"t"})}),
        (PUBSUB, {}),
        (MEMPOOL, {"now_ms": 7}),
        (Prune("t", 60), {"backoff_s": 10}),
    ],
)
def test_it_is_what_attrs_makes(value: object, changes: dict[str, object]) -> None:
    copy = evolve(value, **changes)  # type: ignore[type-var]
    assert copy == attrs.evolve(value, **changes)  # type: ignore[type-var]
    assert type(copy) is type(value) and copy is not value
    assert (copy == value) is (not changes)


def test_what_a_value_keeps_for_itself_is_not_handed_on() -> None:
    before = evolve(PUBSUB)
    before.known_bounds[7] = ZERO
    assert before.known_bounds and not evolve(before, now_ms=5).known_bounds


@pytest.mark.parametrize("value", [PUBSUB, Prune("t")])
def test_a_field_that_is_not_there_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="nowhere"):
        evolve(value, nowhere=1)  # type: ignore[type-var]
