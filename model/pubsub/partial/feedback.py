"""What the application says partial messages were worth, in the score of the peer that sent them.

The merged text says nothing of it. In the JVM design an invalid part is misbehaviour; the Go router counts a
useful one as a delivery, and an invalid one as an invalid message.
"""

from __future__ import annotations

from quidnunc.model.events import Feedback
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import Router
from quidnunc.model.pubsub.scores.counting import MISUSE_PENALTIES, CountedDelivery, with_penalty
from quidnunc.model.pubsub.scores.events import count
from quidnunc.model.rules import Witness, rule
from quidnunc.model.values import evolve


@rule(
    "pm-jvm/score.feedback",
    lacking="Does not count an invalid part as misbehaviour.",
    when="it counts an invalid part as misbehaviour",
)
def penalise_invalid_part(r: Router, told: Feedback, _: Witness) -> Step[Router] | None:
    """An invalid part is misbehaviour, of which the design does not say how much: one count at least.

    A useful part, or one that is ignored, counts for nothing.
    """
    if told.kind != "invalid":
        return None
    return Step(_noted(with_penalty(r, told.peer, 1, MISUSE_PENALTIES), told))


@rule(
    "pm-go/score.feedback",
    lacking="Does not count a useful part as a delivery.",
    when="it counts a useful part as a delivery",
)
def deliver_useful_part(r: Router, told: Feedback, _: Witness) -> Step[Router] | None:
    """A useful part is a first delivery, and one of a member if the peer is in the mesh."""
    if told.kind != "useful":
        return None
    meshed = told.peer in r.mesh_of(told.topic)
    return Step(_noted(count(r, "delivery", CountedDelivery(told.peer, told.topic, "first", meshed)), told))


@rule(
    "pm-go/score.feedback",
    lacking="Does not count an invalid part as an invalid message.",
    when="it counts an invalid part as an invalid message",
)
def count_invalid_part(r: Router, told: Feedback, _: Witness) -> Step[Router] | None:
    """An invalid part is an invalid message."""
    if told.kind != "invalid":
        return None
    return Step(_noted(count(r, "delivery", CountedDelivery(told.peer, told.topic, "invalid")), told))


def _noted(r: Router, told: Feedback) -> Router:
    return evolve(r, ledger=evolve(r.ledger, told_of=r.ledger.told_of | {told.peer}))
