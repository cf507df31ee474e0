"""The scores that divide what is done with a peer."""

from __future__ import annotations

from typing import Any

THRESHOLDS = ("graylist_threshold", "publish_threshold", "gossip_threshold")


def limits_of(parameters: Any) -> list[int]:
    """Zero and the thresholds, the lowest first."""
    return sorted({0, *(getattr(parameters, name, 0) for name in THRESHOLDS)})
