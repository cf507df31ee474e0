"""The claims on the terms of the peer score, which apply where a term decides, and on peer exchange."""

from __future__ import annotations

from quidnunc.properties.claims.claim import Claim, claim
from quidnunc.properties.occasions import pubsub as step
from quidnunc.properties.occasions import scores as score
from quidnunc.properties.occasions.occasion import when

NEEDED = ["score-parameters"]

EXCHANGES = ["peer-exchange", "score"]

EXCHANGE: tuple[Claim, ...] = (
    claim(
        "px.offered",
        "A PRUNE lists peers of the topic, the pruned one not among them.",
        when("gs1.1/px.offer", step.offers_peers),
        "gs1.1/px.record-optional",
        needs=EXCHANGES,
    ),
    claim(
        "px.none-to-negative",
        "A peer with a negative score is not told of others.",
        when("gs1.1/px.none-to-negative", step.prunes_negative),
        needs=EXCHANGES,
    ),
    claim(
        "px.only-non-negative",
        "No peer with a negative score is named.",
        when("gs1.1/px.only-non-negative", step.offers_beside_negative),
        needs=EXCHANGES,
    ),
    claim(
        "px.trusted-only",
        "Whom a member above AcceptPXThreshold names is dialled, whom one below it names is not.",
        "gs1.1/px.accept-threshold",
        needs=EXCHANGES,
    ),
    claim(
        "px.not-from-negative",
        "Nobody is dialled whom a peer with a negative score names.",
        "gs1.1/px.ignored-from-negative",
        needs=EXCHANGES,
    ),
    claim(
        "px.records-checked",
        "A signed record that does not verify, or is another peer's, leads nowhere.",
        "gs1.1/px.record-valid",
        needs=EXCHANGES,
    ),
)

SCORE_TERMS: tuple[Claim, ...] = (
    claim(
        "score.time-in-mesh",
        "P1: whole quanta in the mesh count, up to the cap, as of the last decay.",
        "gs1.1/score.time-in-mesh",
        needs=NEEDED,
    ),
    claim(
        "score.first-deliveries",
        "P2: first deliveries of good messages count, duplicates do not, up to the cap.",
        "gs1.1/score.first-deliveries",
        needs=NEEDED,
    ),
    claim(
        "score.mesh-deliveries",
        "P3: what a member's first and near-first deliveries lack is squared, once it is active.",
        "gs1.1/score.mesh-deliveries",
        needs=NEEDED,
    ),
    claim(
        "score.mesh-failures",
        "P3b: who is pruned for its score takes its squared deficit along.",
        "gs1.1/score.mesh-failures",
        needs=NEEDED,
    ),
    claim(
        "score.invalid-messages",
        "P4: the number of rejected messages is squared; ignored ones do not count.",
        "gs1.1/score.invalid-messages",
        "gs1.1/validation.ignore-unpenalised",
        "gs1.1/score.invalid-spam",
        needs=NEEDED,
    ),
    claim(
        "score.colocation",
        "P6: peers of one IP beyond the threshold are squared.",
        "gs1.1/score.colocation",
        needs=NEEDED,
    ),
    claim("score.behaviour", "P7: the behaviour counter is squared.", "gs1.1/score.behaviour", needs=NEEDED),
    claim(
        "score.broken-promises",
        "Who advertises what nobody delivers in time is penalised, and nobody else is.",
        when("gs1.1/iwant.promise", score.promise_decides),
        needs=NEEDED,
    ),
    claim(
        "score.regraft-penalty",
        "",
        when("gs1.1/backoff.penalty", score.penalty_shows),
        needs=NEEDED,
    ),
    claim(
        "score.decays",
        "Counters decay by their factors at each interval, and are zero below DecayToZero.",
        when("gs1.1/score.decay", score.decay_decides),
        needs=NEEDED,
    ),
    claim(
        "score.retained",
        "Counters survive a disconnect for RetainScore, good ones and bad ones, and no longer.",
        when("gs1.1/score.retain", score.retained_decides),
        "gs1.1/score.retain-statistics",
        needs=NEEDED,
    ),
    claim(
        "score.weighted-sum",
        "Topics add up by their weights, under the cap, which bounds from above alone.",
        "gs1.1/score.weights",
        needs=NEEDED,
    ),
)
