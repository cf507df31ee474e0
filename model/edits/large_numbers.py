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


MANY_OFFERED = (16,)
"""Of the peers that a PRUNE offers, how many some routers read at most."""

OVERFLOWS = {
    "2-31-ms": (1000, 32),
    "2-31-s": (1, 32),
    "2-63-ns": (10**9, 64),
    "2-63-ms": (1000, 64),
}
"""Word -> how many units there are in a second, and how many bits a signed number of them has."""


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


def backoff_overflows(
    per_s: int, bits: int, old: Rule, r: Router, p: ReceivedPart[Prune], choose: Choose
) -> Step[Router] | None:
    """The backoff is taken as a signed whole number of so many bits and so many units a second. One that is
    negative after that is over; others last for as long as is left of them."""
    announced = (p.part.backoff_s or 0) * per_s
    half = 1 << (bits - 1)
    left = (announced + half) % (2 * half) - half
    if left == announced:
        return cast("Step[Router] | None", old.step(r, p, choose))
    if left <= 0:
        return backoff_is_over(0, old, r, p, choose)
    ends, key = r.now_ms + left * 1000 // per_s, (p.part.topic, p.peer)
    return Step(evolve(r, backoff={**r.backoff, key: max(ends, r.ends_backoff_ms(*key))}))


def drops_many_offered(
    most: int, old: Rule, r: Router, rpc: ReceivedPart[tuple[Part, ...]], choose: Choose
) -> Step[Router] | None:
    """An RPC with a PRUNE that offers so many peers is not read at all."""
    if any(isinstance(part, Prune) and len(part.peers) > most for part in rpc.part):
        return Step(r)
    return cast("Step[Router] | None", old.step(r, rpc, choose))


def drops_the_rpc(
    least_s: int, old: Rule, r: Router, rpc: ReceivedPart[tuple[Part, ...]], choose: Choose
) -> Step[Router] | None:
    """An RPC with so long a backoff in it is not read at all."""
    if any(isinstance(part, Prune) and (part.backoff_s or 0) >= least_s for part in rpc.part):
        return Step(r)
    return cast("Step[Router] | None", old.step(r, rpc, choose))


def _edits() -> Iterator[Edit]:
    for word, (per_s, bits) in OVERFLOWS.items():
        wraps = RuleWrapper("gs1.1/backoff.announced-period", partial(backoff_overflows, per_s, bits))
        least_s, said = TOO_LARGE_S[word]
        yield Edit(
            f"backoff-overflows-{word}",
            "replaced",
            "gs1.1/backoff.announced-period",
            f"Loses the backoff of a PRUNE to an overflow at {said}: one of {least_s:,} s or more is over at "
            "once, or lasts for another time.",
            replacing_present(back_off_as_announced=wraps),
            of_number=True,
        )
    for most in MANY_OFFERED:
        dropped = RuleWrapper("pubsub/rpc.any-combination", partial(drops_many_offered, most))
        yield Edit(
            f"rpc-with-prune-of-over-{most}-peers-dropped",
            "replaced",
            "gs1.0/prune.remove",
            f"Drops an RPC with a PRUNE that offers more than {most} peers.",
            replacing_present(take=dropped),
            of_number=True,
        )
    for word, (least_s, said) in TOO_LARGE_S.items():
        over = RuleWrapper("gs1.1/backoff.announced-period", partial(backoff_is_over, least_s))
        yield Edit(
            f"backoff-from-{word}-is-over",
            "replaced",
            "gs1.1/backoff.announced-period",
            f"Takes the backoff of a PRUNE for over where it is of {said} or more.",
            replacing_present(back_off_as_announced=over),
            of_number=True,
        )
        dropped = RuleWrapper("pubsub/rpc.any-combination", partial(drops_the_rpc, least_s))
        yield Edit(
            f"rpc-with-backoff-from-{word}-dropped",
            "replaced",
            "gs1.1/backoff.announced-period",
            f"Drops an RPC with a PRUNE that announces a backoff of {said} or more.",
            replacing_present(take=dropped),
            of_number=True,
        )


LARGE_NUMBERS: tuple[Edit, ...] = tuple(_edits())
