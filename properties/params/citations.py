"""The clauses that each guarantee of `quidnunc params` rests on."""

from __future__ import annotations

from collections.abc import Mapping

PENALTIES = (
    "gs1.1/score.mesh-deliveries",
    "gs1.1/score.mesh-failures",
    "gs1.1/score.invalid-messages",
    "gs1.1/score.colocation",
    "gs1.1/score.behaviour",
)
REWARDS = ("gs1.1/score.time-in-mesh", "gs1.1/score.first-deliveries")
WEIGHTS = ("gs1.1/score.weights",)

OF_COMET_SIZES = "sizes of CometBFT"
CITED: Mapping[str, tuple[str, ...]] = {
    "no-starving": ("gs1.1/score.mesh-deliveries", "gs1.1/threshold.negative-pruned", *WEIGHTS),
    "no-shadowing": WEIGHTS,
    "punished": PENALTIES,
    "good-is-good": REWARDS,
    "fair": WEIGHTS,
    "forgiven": ("gs1.1/score.decay", "gs1.1/threshold.graylist"),
    "kept": ("gs1.1/score.retain", "gs1.1/score.retain-statistics"),
    "graylist": ("gs1.1/threshold.graylist", "gs1.1/score.invalid-messages"),
    "quiet": ("gs1.1/score.mesh-deliveries", "gs1.1/score.decay"),
    "neighbours": ("gs1.1/score.colocation",),
    "replay": ("gs1.1/score.mesh-deliveries", "gs1.1/threshold.negative-pruned"),
    "backoff": ("gs1.1/backoff.both-ends", "gs1.1/backoff.announced-period", "gs1.1/backoff.penalty"),
    "IHAVE": ("gs1.1/ihave.caps",),
    "IDONTWANT": ("gs1.2/idontwant.cap",),
    "promises": ("gs1.0/iwant.serve", "gs1.1/iwant.promise"),
    "sizes": ("pubsub/rpc.size-limit",),
    "starts": ("dog/config.target", "dog/config.interval", "dog/config.peer-limit"),
    "interval": ("dog/config.interval", "dog/controller.interval"),
    "target": ("dog/config.target",),
    "rest": ("dog/config.bounds", "dog/controller.in-band"),
    "stable": ("dog/config.interval", "dog/controller.reset"),
    "connected": ("flood/send.once", "peer-limit/send.at-most"),
    "mixed": ("dog/peer.mixed",),
    "pace": ("dog/controller.interval", "dog/havetx.then-blocked"),
    OF_COMET_SIZES: ("flood/config.defaults",),
}
"""First word of a guarantee's id, or a kind of it -> clause ids."""


def clauses_of_guarantee(identity: str) -> tuple[str, ...]:
    """The clauses of a guarantee by its id, which may go on with the names of two networks."""
    return CITED.get(identity.split(" ", 1)[0], ())


def guarantees_on(*clauses: str) -> tuple[str, ...]:
    """The guarantees that rest on any of `clauses`."""
    return tuple(name for name, cited in CITED.items() if set(clauses) & set(cited))
