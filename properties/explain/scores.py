"""Which clause on scores a minimal run breaks that keeps its score parameters.

Parameters are minimised as events are, so a term whose weight is left is one that the run needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from quidnunc.model.events import Advance, Connect, Disconnect, Event, Feedback, Receive, Score, Sent, Verdict
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import IDontWant, IHave, Message, Peer
from quidnunc.model.score_interval import DENOMINATOR, ZERO
from quidnunc.model.score_parameters import ScoreParameters
from quidnunc.properties.judge.play import Moment
from quidnunc.properties.occasions.scores import (
    BEHAVIOUR,
    COUNTERS,
    FED,
    feedback_clauses,
)

CAP = "gs1.1/score.weights"
DECAY = "gs1.1/score.decay"
NO_PENALTY = "gs1.2/idontwant.no-penalty"
PENALTY = "gs1.1/backoff.penalty"
PROMISE = "gs1.1/iwant.promise"
RETAINED = "gs1.1/score.retain"
APPLICATION = "gs1.1/score.application"
WEIGHTS = {
    "invalid_message_deliveries_weight": "gs1.1/score.invalid-messages",
    "mesh_failure_penalty_weight": "gs1.1/score.mesh-failures",
    "mesh_message_deliveries_weight": "gs1.1/score.mesh-deliveries",
    "first_message_deliveries_weight": "gs1.1/score.first-deliveries",
    "time_in_mesh_weight": "gs1.1/score.time-in-mesh",
}


def clauses_of(moments: Sequence[Moment], states: Sequence[Router]) -> tuple[str, ...]:
    """The clauses, the likeliest first, of a run whose `states` are those before each moment."""
    return tuple(dict.fromkeys(_told(moments, states)))


def _told(moments: Sequence[Moment], states: Sequence[Router]) -> Iterator[str]:
    p = states[-1].parameters.scores
    if p is None:
        return
    events = [m.event for m in moments]
    needed = [*_needed(p)]
    unscored = bool(p.topics) and not {t.topic for t in p.topics} & set(_topics(events))
    # The sum is over the topics that have parameters, and such a run needs one that it never names.
    if unscored or p.topic_score_cap or any(t.topic_weight != 1 for t in p.topics):
        yield CAP
    for clause in needed:
        yield from _of_term(clause, moments, states)
    if not needed and any(isinstance(e, Score) for e in events):
        # Score parameters without a term are left for what they make of the application's.
        yield APPLICATION
    yield from needed


def _topics(events: Iterable[Event]) -> Iterator[str]:
    """The topics that events name."""
    for event in events:
        parts = event.parts if isinstance(event, Receive) else ()
        for named in (event, getattr(event, "message", None), *parts):
            topic = getattr(named, "topic", None)
            if topic is not None:
                yield topic


def _needed(p: ScoreParameters) -> Iterator[str]:
    if p.behaviour_penalty_weight:
        yield BEHAVIOUR
    if p.ip_colocation_factor_weight:
        yield "gs1.1/score.colocation"
    for name, clause in WEIGHTS.items():
        if any(getattr(t, name) for t in p.topics):
            yield clause


def _of_term(clause: str, moments: Sequence[Moment], states: Sequence[Router]) -> Iterator[str]:
    """The clauses of one term: of what becomes of its counter, and of what is counted."""
    events = [m.event for m in moments]
    if clause != BEHAVIOUR and clause not in COUNTERS:
        yield clause
        return
    if any(isinstance(e, Disconnect) for e in events) and any(isinstance(e, Connect) for e in events):
        yield RETAINED
    if any(isinstance(e, Feedback) for e in events):
        yield from (c for c in sorted(feedback_clauses(states[-1])) if clause in FED.get(c, ()))
    seen = [_counters(r, clause) for r in states]
    ever = {key for counters in seen for key in counters}
    if any(key not in seen[-1] for key in ever) or any(_fractional(seen[-1][key]) for key in ever):
        yield DECAY
    if clause == BEHAVIOUR:
        if _breaks_promise(events, states[-1]):
            yield PROMISE
        else:
            yield NO_PENALTY if _sent_unwanted(moments) else PENALTY
    elif clause.endswith("invalid-messages") and any(
        isinstance(e, Verdict) and e.judgement == "ignore" for e in events
    ):
        yield "gs1.1/validation.ignore-unpenalised"


def _sent_unwanted(moments: Sequence[Moment]) -> bool:
    """Whether a peer sends a message that it was told IDONTWANT for."""
    told: set[tuple[Peer, str]] = set()
    for moment in moments:
        event = moment.event
        sent = [p.id for p in event.parts if isinstance(p, Message)] if isinstance(event, Receive) else []
        if isinstance(event, Receive) and any((p, i) in told for p in event.peers for i in sent):
            return True
        for output in moment.outputs:
            if isinstance(output, Sent) and isinstance(output.part, IDontWant):
                told |= {(output.peer, i) for i in output.part.ids}
    return False


def _breaks_promise(events: Sequence[Event], r: Router) -> bool:
    """Whether there was time, after an IHAVE, for what it promised not to come."""
    assert r.parameters.scores is not None
    left_ms = 0
    for event in reversed(events):
        left_ms += event.ms if isinstance(event, Advance) else 0
        told = isinstance(event, Receive) and any(isinstance(part, IHave) for part in event.parts)
        if told and left_ms >= r.parameters.scores.iwant_followup_ms:
            return True
    return False


def _counters(r: Router, clause: str) -> dict[Any, Any]:
    if clause == BEHAVIOUR:
        return {peer: c for peer, c in r.ledger.behaviour.items() if c != ZERO}
    name = COUNTERS[clause]
    return {key: c for key, t in r.ledger.tallies.items() if (c := getattr(t, name)) != ZERO}


def _fractional(counter: Any) -> bool:
    return bool(counter.lo % DENOMINATOR)
