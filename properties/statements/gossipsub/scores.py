"""Scores, and what they are made of."""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.pubsub import RouterStep
from quidnunc.properties.networks.world import Look
from quidnunc.properties.statements.gossipsub.steps import always


def honest_not_negative(seen: RouterStep) -> str:
    """No router may hold another below zero."""
    r = seen.after
    for peer in sorted(r.peers):
        if r.bounds(peer).lo < 0:
            return f"{name_of(seen.node)} may hold {name_of(peer)}, which did as it should, below zero"
    return ""


LOOKS: Mapping[str, Look] = {
    "scores.races-cost-nothing": always(honest_not_negative),
}
