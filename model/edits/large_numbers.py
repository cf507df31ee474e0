"""Edits by which a large number in a PRUNE does not arrive: it overflows, or no RPC with it can be read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import cast

from quidnunc.model.choices import Choose
from quidnunc.model.edit import Edit, RuleWrapper, replacing_present
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import ReceivedPart, Router
from quidnunc.model.rpc import Part, Prune
from quidnunc.model.rules import Rule
from quidnunc.model.values import evolve

TOO_LARGE_S = {
    "2-31-ms": ((1 << 31) // 1000 + 1, "2^31 ms"),
    "2-31-s": (1 << 31, "2^31 s"),
    "2-32-s": (1 << 32, "2^32 s"),
    "2-63-ns": ((1 << 63) // 10**9 + 1, "2^63 ns"),
    "2-53-ms": ((1 << 53) // 1000 + 1, "2^53 ms"),
    "2-53-s": (1 << 53, "2^53 s"),
    "2-63-ms": ((1 << 63) // 1000 + 1, "2^63 ms"),
    "2-63-s": (1 << 63, "2^63 s"),
}
"""Word -> the least number of seconds that no longer fits, and what does not fit in it."""


def backoff_is_over(
    least_s: int, old: Rule, r: Router, p: ReceivedPart[Prune], choose: Choose
) -> Step[Router] | None:
    """So long a backoff ends in the past, as far as the router can tell; it may be kept until it is swept."""
    if (p.part.backoff_s or 0) < least_s:
        return cast("Step[Router] | None", old.step(r, p, choose))
    if r.ends_backoff_ms(p.part.topic, p.peer) > r.now_ms:
        return None
    # At the very start, nothing but a time before it is in the past.
    return Step(evolve(r, backoff={**r.backoff, (p.part.topic, p.peer): r.now_ms or -1}))


def drops_the_rpc(
    least_s: int, old: Rule, r: Router, rpc: ReceivedPart[tuple[Part, ...]], choose: Choose
) -> Step[Router] | None:
    """An RPC with so long a backoff in it is not read at all."""
    if any(isinstance(part, Prune) and (part.backoff_s or 0) >= least_s for part in rpc.part):
        return Step(r)
    return cast("Step[Router] | None", old.step(r, rpc, choose))


def _edits() -> Iterator[Edit]:
    for word, (least_s, said) in TOO_LARGE_S.items():
        over = RuleWrapper("gs1.1/backoff.announced-period", partial(backoff_is_over, least_s))
        yield Edit(
            f"backoff-from-{word}-is-over",
            "replaced",
            "gs1.1/backoff.announced-period",
            f"Takes the backoff of a PRUNE for over where it is of {said} or more.",
            replacing_present(back_off_as_announced=over),
        )
        dropped = RuleWrapper("pubsub/rpc.any-combination", partial(drops_the_rpc, least_s))
        yield Edit(
            f"rpc-with-backoff-from-{word}-dropped",
            "replaced",
            "gs1.1/backoff.announced-period",
            f"Drops an RPC with a PRUNE that announces a backoff of {said} or more.",
            replacing_present(take=dropped),
        )


LARGE_NUMBERS: tuple[Edit, ...] = tuple(_edits())
