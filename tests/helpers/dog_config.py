"""The settings of DOG under the names of ADR-119, and what a node refuses of them.

Three of its four parameters can be set; the width of the band cannot. The refusals are those of the Go node
(v2.0.0-rc1), which ADR-119 implies: a target that is none, an interval too short to see an effect in, and DOG
together with what it is not made for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from quidnunc.model.parameters import DogParameters

ENABLED = "mempool.dog_protocol_enabled"
INTERVAL = "mempool.dog_adjust_interval"
TARGET = "mempool.dog_target_redundancy"
DELTA = "TargetRedundancyDeltaPercent"
TYPE = "mempool.type"
LIMITS = (
    "mempool.experimental_max_gossip_connections_to_persistent_peers",
    "mempool.experimental_max_gossip_connections_to_non_persistent_peers",
)

MIN_INTERVAL_MS = 1000
DELTA_PERCENT = 10.0

_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|m)")
_MS = {"ms": 1, "s": 1000, "m": 60_000}


def dog_parameters(settings: Mapping[str, object]) -> DogParameters:
    """The parameters of a node with these settings; what is left out has the default of ADR-119.

    Raises ValueError that names the setting, what it is, and what it may be.
    """
    known = (ENABLED, INTERVAL, TARGET, TYPE, *LIMITS)
    for name in settings:
        if name == DELTA:
            raise ValueError(f"{DELTA} is fixed at {DELTA_PERCENT} % and no setting: leave it out")
        if name not in known:
            raise ValueError(f"no setting {name!r}; there are {', '.join(known)}")
    enabled = settings.get(ENABLED, True)
    if not isinstance(enabled, bool):
        raise ValueError(f"{ENABLED} is {enabled!r}: need true or false")
    persistent, others = (_count(name, settings.get(name, 0)) for name in LIMITS)
    kind = settings.get(TYPE, "flood")
    if enabled and kind != "flood":
        raise ValueError(f"{ENABLED} is true and {TYPE} is {kind!r}: DOG works with type flood only")
    if enabled and (persistent or others):
        raise ValueError(f"{ENABLED} is true and a limit on gossip connections is set: choose one of the two")
    return DogParameters(
        dog=enabled,
        target_redundancy=_target(settings.get(TARGET, 1.0)),
        delta_percent=DELTA_PERCENT,
        adjust_interval_ms=_interval_ms(settings.get(INTERVAL, "1s")),
        max_persistent=persistent,
        max_non_persistent=others,
    )


def _target(value: object) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # Written so that what is no number at all is refused too.
    if not number or not 0 < float(str(value)) < float("inf"):
        raise ValueError(f"{TARGET} is {value!r}: need a number above 0")
    return float(str(value))


def _interval_ms(value: object) -> int:
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f"{INTERVAL} is {value!r}: need a duration such as 1s or 1500ms")
    ms = float(found[1]) * _MS[found[2]]
    if ms < MIN_INTERVAL_MS:
        raise ValueError(f"{INTERVAL} is {value}: need {MIN_INTERVAL_MS}ms or more")
    return round(ms)


def _count(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} is {value!r}: need a whole number of 0 or more")
    return value
