"""The rules by which scores are computed, as switches; an edit turns one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import evolve, frozen

from quidnunc.properties.params.values import TopicParameters
from quidnunc.properties.solver.edits import EditableVariants

T = TypeVar("T", bound=Any)


@frozen(kw_only=True)
class ScoreRules:
    """Each switch is a planted error where it is not as here."""

    turned: str = ""
    """The weight that counts with the other sign: `w2` is that of first deliveries."""
    caps_counters: bool = True
    """A counter that is raised stays under its cap."""
    keeps_deficit: bool = True
    """What a member lacks when it leaves is added to P3b."""

    def signed(self, weights: Mapping[str, T]) -> dict[str, T]:
        """The weights, each with its sign."""
        return {name: -value if name == self.turned else value for name, value in weights.items()}


SCORES: Mapping[str, ScoreRules] = EditableVariants({"v1.1": ScoreRules()})


def rules() -> ScoreRules:
    """The rules, with the edit that is in force."""
    return SCORES["v1.1"]


def followed(topic: TopicParameters) -> TopicParameters:
    """The parameters of a topic with the signs that the rules give their weights."""
    first = rules().signed({"w2": topic.first_message_deliveries_weight})["w2"]
    return evolve(topic, first_message_deliveries_weight=first)
