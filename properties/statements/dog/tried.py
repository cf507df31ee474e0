"""Runs that were thought of and not drawn, as `tried.toml` has them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

from quidnunc.properties.networks.acts import acts_of
from quidnunc.properties.networks.places import Place
from quidnunc.properties.statements.dog.places import (
    FORGED,
    ONE_LEAVES,
    REPEATING_UNADJUSTED,
    RING_OF_FIVE,
    RING_OF_FIVE_LEFT,
    UNADJUSTED,
)
from quidnunc.properties.statements.statement import Run

_PLACES = (*UNADJUSTED, RING_OF_FIVE, RING_OF_FIVE_LEFT, *ONE_LEAVES, *REPEATING_UNADJUSTED, *FORGED)


@lru_cache(maxsize=1)
def _every() -> Mapping[str, tuple[Place, Run]]:
    text = files("quidnunc.properties.statements.dog").joinpath("tried.toml").read_text(encoding="utf-8")
    places = {place.name: place for place in _PLACES}
    return {
        name: (places[run["place"]], tuple(map(str, acts_of(run["acts"]))))
        for name, run in tomllib.loads(text).items()
    }


def runs(*names: str) -> tuple[tuple[Place, Run], ...]:
    """The runs of those names, each with its place. Raises KeyError."""
    return tuple(_every()[name] for name in names)


CUT_OFF = runs("two-users", "one-route-each", "one-route-each-one-queue")
"""Runs in which somebody never gets a transaction."""
