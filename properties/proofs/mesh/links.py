"""What the rules of mesh links speak of: the variants, and the fields of peers, pairs and channels.

Of the seven variants `mesh-link` is v1.0, without backoff: it takes every GRAFT for a topic that it is in,
and the heartbeat prunes from a mesh of more than D_high. The others have v1.1's PRUNE for a negative score.
Scores are left open, so that any member may be pruned at any time. Two have the backoff of v1.1 beside v1.0's
PRUNE in answer to a GRAFT for a topic that its receiver is not in, which no single version has together:
`mesh-link-backoff-any` lets a backoff expire at any time, `mesh-link-backoff` only when the channels of the
pair are drained both ways. `mesh-link-backoff-silent` is the latter with such a GRAFT ignored, as v1.1 asks;
`mesh-link-backoff-unsub` moreover announces an unsubscription, which takes the peer out of the mesh.

Two more look for a repair of the last. In `mesh-link-backoff-announced` joining is announced as well, and
only who is known to be in the topic is grafted; in `mesh-link-backoff-waits` moreover who left waits for its
backoffs before it joins again, as v1.1 advises. Their claim is of pairs with nothing at all in flight.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from attrs import frozen

from quidnunc.properties.lazy import z3
from quidnunc.properties.solver.edits import EditableVariants
from quidnunc.properties.solver.rules import (
    Expression,
    MessageChannel,
    NetworkField,
    channel_width,
    name_of,
    new_field,
    ordered_pairs,
    put,
)

GRAFT, PRUNE, UNSUB, SUB = 1, 2, 3, 4
Pair: TypeAlias = tuple[int, int]


@frozen(kw_only=True)
class LinkVariant:
    """What distinguishes one reading of the protocol from another."""

    backoff: bool = False
    expires_in_flight: bool = False
    """Whether a backoff may expire while GRAFT or PRUNE is in flight between the two."""
    silent: bool = False
    """A GRAFT for a topic that its receiver is not in is ignored, and not answered with a PRUNE."""
    unsub: bool = False
    """Who leaves says so on every channel, and who hears it drops the link without a backoff."""
    announced: bool = False
    """Who joins says so too, and a GRAFT is sent to those alone who are known to be in the topic."""
    waits: bool = False
    """Who leaves backs off from everybody, and does not join again before those backoffs have expired."""


VARIANTS: Mapping[str, LinkVariant] = EditableVariants(
    {
        "mesh-link": LinkVariant(),
        "mesh-link-backoff-any": LinkVariant(backoff=True, expires_in_flight=True),
        "mesh-link-backoff": LinkVariant(backoff=True),
        "mesh-link-backoff-silent": LinkVariant(backoff=True, silent=True),
        "mesh-link-backoff-unsub": LinkVariant(backoff=True, silent=True, unsub=True),
        "mesh-link-backoff-announced": LinkVariant(backoff=True, silent=True, unsub=True, announced=True),
        "mesh-link-backoff-waits": LinkVariant(
            backoff=True, silent=True, unsub=True, announced=True, waits=True
        ),
    }
)


@frozen(eq=False)
class LinkFields:
    """The fields of a network of `peers`, and what the rules say about them."""

    peers: int
    d_high: int | None
    """None where the degree test is a free choice of each rule: what is shown then holds for every D_high."""
    variant: LinkVariant
    capacity: int
    fields: tuple[NetworkField, ...]
    at: Mapping[str, Expression]

    def sub(self, i: int) -> Expression:
        return self.at[name_of("sub", (i,))]

    def mesh(self, pair: Pair) -> Expression:
        return self.at[name_of("mesh", pair)]

    def backoff(self, pair: Pair) -> Expression:
        """Whether the first of the pair backs off from the second; never, without backoff."""
        return self.at[name_of("backoff", pair)] if self.variant.backoff else z3.BoolVal(False)

    def channel(self, pair: Pair) -> MessageChannel:
        """What is in flight from the first of the pair to the second."""
        return MessageChannel(self.at[name_of("channel", pair)], kinds_of(self.variant), self.capacity)

    def others(self, i: int) -> list[int]:
        return [j for j in range(self.peers) if j != i]

    def below_ceiling(self, i: int) -> Expression:
        """Whether i has fewer than D_high members in its mesh."""
        if self.d_high is None:
            return z3.Bool(name_of("free", (i,)))
        if self.d_high >= self.peers:
            return z3.BoolVal(True)
        members = [z3.If(self.mesh((i, j)), z3.BitVecVal(1, 4), z3.BitVecVal(0, 4)) for j in self.others(i)]
        return z3.ULT(z3.Sum(members), z3.BitVecVal(self.d_high, 4))

    def above_ceiling(self, i: int) -> Expression:
        """Whether i has more than D_high members in its mesh."""
        if self.d_high is None:
            return z3.Bool(name_of("free", (i,)))
        members = [z3.If(self.mesh((i, j)), z3.BitVecVal(1, 4), z3.BitVecVal(0, 4)) for j in self.others(i)]
        return z3.UGT(z3.Sum(members), z3.BitVecVal(self.d_high, 4))

    def started(self, pair: Pair, when: bool | Expression = True) -> dict[str, Expression]:
        """The backoff of the pair begins (`when`, if that is given)."""
        if not self.variant.backoff:
            return {}
        return put(when if when is True else z3.Or(self.backoff(pair), when), "backoff", *pair)

    def sent(self, pair: Pair, message: int) -> dict[str, Expression]:
        return put(self.channel(pair).with_appended(message), "channel", *pair)

    def taken(self, pair: Pair) -> dict[str, Expression]:
        """The oldest message from the second of the pair to the first is received."""
        back = (pair[1], pair[0])
        return put(self.channel(back).without_head(), "channel", *back)

    def linked(self, pair: Pair, yes: bool) -> dict[str, Expression]:
        return put(yes, "mesh", *pair)

    def known(self, pair: Pair, yes: bool) -> dict[str, Expression]:
        """The first of the pair knows whether the second is in the topic, where that is announced."""
        return put(yes, "knows", *pair) if self.variant.announced else {}


def kinds_of(variant: LinkVariant) -> int:
    return 4 if variant.announced else 3 if variant.unsub else 2


def links(variant: LinkVariant, *, peers: int, d_high: int | None, capacity: int = 2) -> LinkFields:
    """The fields of the network: of every pair its backoff, mesh and channel, and of every peer `sub`."""
    found: list[NetworkField] = []
    pairs = list(ordered_pairs(peers))
    if variant.backoff:
        found += [new_field("backoff", pair, 1) for pair in pairs]
    if variant.announced:
        found += [new_field("knows", pair, 1) for pair in pairs]
    found += [new_field("mesh", pair, 1) for pair in pairs]
    found += [new_field("sub", (i,), 1) for i in range(peers)]
    width = channel_width(kinds_of(variant), capacity)
    found += [new_field("channel", pair, width) for pair in pairs]
    return LinkFields(peers, d_high, variant, capacity, tuple(found), {f.name: f.symbol for f in found})
