"""Which verdicts lean on what a driver switches, fixes or lifts in its router."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatch

from quidnunc.properties.notation.parameters import LIFTED

READ_BY: Mapping[str, tuple[str, ...]] = {
    "d": ("gs1.0/join.fill", "gs1.0/heartbeat.*", "gs1.0/fanout.*"),
    "d_low": ("gs1.0/heartbeat.fill",),
    "d_high": ("gs1.0/heartbeat.cut", "gs1.1/outbound.*"),
    "d_score": ("gs1.1/heartbeat.keep-best",),
    "d_out": ("gs1.1/outbound.*",),
    "d_lazy": ("gs1.*/gossip.*",),
    "gossip_factor": ("gs1.1/gossip.adaptive",),
    "fanout_ttl_ms": ("gs1.0/fanout.expire",),
    "mcache_len": ("gs1.0/mcache.*", "gs1.0/iwant.serve"),
    "mcache_gossip": ("gs1.0/gossip.ids",),
    "seen_ttl_ms": ("gs1.0/seen.*",),
    "prune_backoff_s": ("gs1.1/backoff.*",),
    "unsubscribe_backoff_s": ("gs1.1/backoff.unsubscribe", "gs1.1/backoff.resubscribe"),
    "flood_publish": ("gs1.1/publish.*",),
    "gossip_threshold": ("gs1.1/threshold.gossip*",),
    "publish_threshold": ("gs1.1/threshold.publish",),
    "graylist_threshold": ("gs1.1/threshold.graylist",),
    "opportunistic_graft_threshold": ("gs1.1/opportunistic.*",),
    "opportunistic_graft_ticks": ("gs1.1/opportunistic.*",),
    "opportunistic_graft_peers": ("gs1.1/opportunistic.*",),
    "gossip_retransmission": ("gs1.1/iwant.retransmission",),
    "max_ihave_messages": ("gs1.1/ihave.caps",),
    "max_ihave_length": ("gs1.1/ihave.caps",),
    "max_idontwant_messages": ("gs1.2/idontwant.cap",),
    "idontwant_min_bytes": ("gs1.2/idontwant.size",),
    "idontwant_heartbeats": ("gs1.2/idontwant.prune-old",),
    "max_message_bytes": ("pubsub/rpc.size-limit",),
}
"""The clauses (globs) whose verdicts depend on the value of a parameter."""


def untested(name: str, value: float) -> str:
    """A parameter that the driver sets, and that a search therefore does not vary."""
    if value == LIFTED:
        return f"{name}: the driver {'lifts this limit' if name.startswith('max_') else 'switches it off'}"
    return f"other values of {name}: the driver sets {value}"


def leaning(
    clauses: Sequence[str], fixed: Mapping[str, float], switched: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """What a verdict on these clauses leans on, in words: fixed parameters, switches of the driver."""

    def concerns(patterns: Sequence[str]) -> bool:
        return any(fnmatch(clause, pattern) for clause in clauses for pattern in patterns)

    set_by_driver = (
        untested(name, value) if value == LIFTED else f"the driver sets {name} to {value:g}"
        for name, value in sorted(fixed.items())
        if concerns(READ_BY.get(name, ()))
    )
    return (*set_by_driver, *(what for what, patterns in switched.items() if concerns(patterns)))
