"""Scores, and what they are made of."""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.pubsub import RouterStep
from quidnunc.properties.statements.gossipsub import places
from quidnunc.properties.statements.gossipsub.steps import always
from quidnunc.properties.statements.statement import FromTexts, looked_at


def honest_not_negative(seen: RouterStep) -> str:
    """No router may hold another below zero."""
    r = seen.after
    for peer in sorted(r.peers):
        if r.bounds(peer).lo < 0:
            return f"{name_of(seen.node)} may hold {name_of(peer)}, which did as it should, below zero"
    return ""


LOOKS: Mapping[str, FromTexts] = {
    "scores.races-cost-nothing": looked_at(always(honest_not_negative), (places.PAIR_PENALISED, places.SLOW)),
}
