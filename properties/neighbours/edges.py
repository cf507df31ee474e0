"""Inputs at the edges: keys of every type and none, values at bounds, peers that come back.

They are drawn beside the run, by numbers of their own: a run that meets none of them is the run that it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from quidnunc.model.events import Advance
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import (
    ECDSA_AUTHOR,
    OTHER_AUTHORS,
    ROUTER,
    RSA_AUTHOR,
    SECP256K1_AUTHOR,
    Flaw,
    Message,
    Peer,
)
from quidnunc.properties.neighbours.seeded_draws import SeededDraws

KEYS, SIZES, BACKOFFS, SCORES, STREAMS, RETURNS, OLD_ENTRIES, ONE_RPC, MIXED, ALL_COME = range(
    0x5EED01, 0x5EED0B
)
LATE, STALLED, OFFERED, WINDOWS, COUNTED, SERVED = range(0x5EED0B, 0x5EED11)
"""What tells the numbers for one kind of input from those for another."""

STALLS_TWICE = 30
"""Percent of the peers that stopped reading and read again that stop once more."""

BAD_KEYS: Sequence[tuple[Flaw, Peer | None]] = (
    ("other-key", None),
    ("other-key", SECP256K1_AUTHOR),
    ("junk-key", None),
    ("junk-key", RSA_AUTHOR),
    ("no-key", RSA_AUTHOR),
    ("no-key", ECDSA_AUTHOR),
    ("forged", RSA_AUTHOR),
    ("forged", SECP256K1_AUTHOR),
    ("forged", ECDSA_AUTHOR),
)
"""Flaw and author; None: whoever it was."""


def beside(d: SeededDraws, kind: int) -> SeededDraws:
    """Numbers that follow from `d` and take nothing of it."""
    return SeededDraws(d.state ^ kind)


def takes_author(author: Peer | None, capabilities: frozenset[str]) -> bool:
    """Whether a router of these capabilities verifies what `author` signs."""
    kind = None if author is None else OTHER_AUTHORS.get(author)
    return kind is None or f"{kind}-keys" in capabilities


def with_key(message: Message, d: SeededDraws, capabilities: frozenset[str]) -> Message:
    """`message` of a peer, now and then with its key where none is needed, by an author whose key is of
    another type, or, where its key is flawed, with one of the flaws that a key has."""
    own = beside(d, KEYS)
    if message.author in (None, ROUTER) or message.flaw == "stamped":
        return message
    if message.flaw == "junk-key":
        flaw, author = own.one_of(BAD_KEYS)
        return evolve(message, flaw=flaw, author=author or message.author)
    if message.flaw:
        return message
    if not own.chance(12):
        return message
    authors = [each for each in OTHER_AUTHORS if takes_author(each, capabilities)]
    author = own.one_of((None, *authors))
    if author is None:
        return evolve(message, key=True)
    return evolve(message, author=author, key=author == SECP256K1_AUTHOR and own.chance(50))


OVERHEAD = 256
"""More than an RPC with one message has beside the data: author, sequence number, topic and signature, with
keys of Ed25519."""


def has_bad_key(d: SeededDraws, p: Parameters) -> bool:
    """Whether the next message has one of `BAD_KEYS`."""
    return p.signature_policy == "StrictSign" and beside(d, KEYS).chance(13)


def size_at_bound(size: int, d: SeededDraws, p: Parameters) -> int:
    """A size below, at or above one of the bounds on it, in place of some that are not small."""
    own, limit = beside(d, SIZES), p.max_message_bytes
    bounds = [each for each in (p.idontwant_min_bytes, limit) if 100 <= each <= 5000]
    drawn = own.one_of(bounds) + own.below(3) - 1 if size and bounds and own.chance(60) else size
    # The text limits the Message, and some routers its data or its RPC: who counts what shows just below.
    return max(limit - OVERHEAD, 1) if limit - OVERHEAD < drawn <= limit else drawn


def backoff_at_bound(backoff: int | None, d: SeededDraws, p: Parameters) -> int | None:
    """A backoff below, at or above one that the router has itself, or at the end of the field's range."""
    own = beside(d, BACKOFFS)
    if not own.chance(30):
        return backoff
    bounds = (p.prune_backoff_s, p.unsubscribe_backoff_s)
    return own.one_of((max(own.one_of(bounds) + own.below(3) - 1, 0), 2**32, 2**63 - 1))


def wait_of(backoff: int | None, d: SeededDraws, p: Parameters) -> Advance | None:
    """Until a ms before, at or after the end of a backoff; None where it is long."""
    own = beside(d, BACKOFFS)
    seconds = p.prune_backoff_s if backoff is None else backoff
    return Advance(seconds * 1000 + own.below(3) - 1) if 0 < seconds <= 10 and own.chance(50) else None


def score_at_bound(value: int, d: SeededDraws, p: Parameters) -> int:
    """A score below, at or above a threshold, zero, or far away."""
    own = beside(d, SCORES)
    bounds = (
        p.graylist_threshold,
        p.publish_threshold,
        p.gossip_threshold,
        p.opportunistic_graft_threshold,
        0,
    )
    if not own.chance(30):
        return value
    return own.one_of((*(own.one_of(bounds) + step for step in (-1, 0, 1)), 10**6, -(10**6)))


def unmet_stream(streams: Sequence[str], seen: set[str]) -> str:
    """The oldest version that nobody has arrived with, once somebody has; else empty."""
    return next((each for each in reversed(streams) if each not in seen), "") if seen else ""


def late_start(p: Parameters, d: SeededDraws) -> Advance | None:
    """In some runs the router has run for longer than it remembers a message before anybody comes: what is
    not over yet is told from what began long after the start. Nothing happens meanwhile."""
    own = beside(d, LATE)
    often = 12 if p.scores is None else 35
    return Advance(p.seen_ttl_ms + own.one_of((1, 1000, 1300))) if own.chance(often) else None
