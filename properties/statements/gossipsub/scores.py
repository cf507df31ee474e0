"""Scores, and what they are made of."""

from __future__ import annotations

from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.pubsub import RouterStep
from quidnunc.properties.statements.gossipsub import places
from quidnunc.properties.statements.gossipsub.revisions import since
from quidnunc.properties.statements.gossipsub.steps import always
from quidnunc.properties.statements.statement import Statement


def honest_not_negative(seen: RouterStep) -> str:
    """No router may hold another below zero."""
    r = seen.after
    for peer in sorted(r.peers):
        if r.bounds(peer).lo < 0:
            return f"{name_of(seen.node)} may hold {name_of(peer)}, which did as it should, below zero"
    return ""


STATEMENTS: tuple[Statement, ...] = (
    Statement(id="scores.counters-decay", old_id="P77",
              says="A counter decays by its factor at each interval, to zero below DecayToZero.",
              revisions=since("gossipsub-1.1"), claims=("score.decays",)),
    Statement(id="scores.counters-are-capped", old_id="P78",
              says="The counters of P1, P2 and P3 keep to their caps.", revisions=since("gossipsub-1.1"),
              claims=("score.time-in-mesh", "score.first-deliveries", "score.mesh-deliveries")),
    Statement(id="scores.bounded-from-above", old_id="P79", says="A score is bounded from above by its caps.",
              revisions=since("gossipsub-1.1"), claims=("score.weighted-sum",),
              needs="z3: `quidnunc prove score-algebra`"),
    Statement(id="scores.monotone-in-events", old_id="P80",
              says="More bad events never raise a score, more first deliveries never lower it.",
              revisions=since("gossipsub-1.1"), claims=("score.invalid-messages", "score.behaviour"),
              needs="z3: `quidnunc prove score-algebra`"),
    Statement(
        id="scores.penalties-never-add",
        old_id="P81",
        says="P3, P3b, P4, P6 and P7 never add to a score.",
        revisions=since("gossipsub-1.1"),
        claims=(
            "score.mesh-deliveries",
            "score.mesh-failures",
            "score.invalid-messages",
            "score.colocation",
            "score.behaviour",
        ),
    ),
    Statement(id="scores.misbehaviour-turns-negative", old_id="P82",
              says="Misbehaviour in one topic makes a score negative in the end.",
              revisions=since("gossipsub-1.1"), clauses=("gs1.1/score.weights", "gs1.1/score.topics"),
              needs="z3: `quidnunc prove scores-*`, false for some parameters that are in use"),
    Statement(id="scores.graylisted-rpc-has-no-effect", old_id="P83",
              says="An RPC of a peer below the graylist threshold causes nothing.",
              revisions=since("gossipsub-1.1"), claims=("score.graylist",)),
    Statement(id="scores.negative-outlives-reconnect", old_id="P84",
              says="A negative score outlives a reconnect within RetainScore.",
              revisions=since("gossipsub-1.1"), claims=("score.retained",)),
    Statement(
        id="scores.races-cost-nothing",
        old_id="P85",
        says="No honest router falls below zero for a race.",
        revisions=since("gossipsub-1.1"),
        clauses=("gs1.1/backoff.penalty",),
        look=always(honest_not_negative),
        places=(places.PAIR_PENALISED, places.SLOW),
        assumes="Each RPC arrives in the end, however late. All are honest; P7 alone counts.",
        reading="May fall: the text lets a GRAFT inside the backoff be penalised.",
    ),
    Statement(id="scores.verdicts-count", old_id="P86",
              says="Accept counts for P2 and P3, Reject for P4 of all senders, Ignore for nothing.",
              revisions=since("gossipsub-1.1"),
              claims=("score.first-deliveries", "score.mesh-deliveries", "score.invalid-messages")),
    Statement(id="scores.thresholds-are-ordered", old_id="P87",
              says="Thresholds that are not in their order are refused.", revisions=since("gossipsub-1.1"),
              claims=("config.thresholds",)),
    Statement(id="scores.opportunistic-grafts-above-median", old_id="P88",
              says="Opportunistic grafting adds so many, above the median, when it is due.",
              revisions=since("gossipsub-1.1"), claims=("opportunistic.better-only",)),
    Statement(id="scores.penalty-is-earned", old_id="P113",
              says="P7 of a peer comes of what it has sent, and of what it promised.",
              revisions=since("gossipsub-1.1"), claims=("score.regraft-penalty", "score.broken-promises")),
)  # fmt: skip
