"""A star with more leaves than its hub's mesh may hold: does the mesh come to rest, does each leaf get in?

A hub H, and leaves A, B, ... that have no neighbour but the hub: a leaf outside the hub's mesh is below its
own D_low, and asks at each heartbeat (libp2p/specs, issue 215). One topic, and everybody stays in it. A GRAFT
and its answer are one step, so that both ends of a link are of one mind; a heartbeat of the hub cuts to D.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from attrs import frozen

from quidnunc.model.errors import SpecError
from quidnunc.properties.lazy import z3
from quidnunc.properties.proofs.variants import phrases_of, variants_of
from quidnunc.properties.solver.rules import (
    PEER_LETTERS,
    Expression,
    NetworkClaim,
    NetworkField,
    NetworkModel,
    NetworkRule,
    name_of,
    new_field,
    put,
    symbol_of,
)

CEILING = "mesh-star.ceiling"
CROWDED = "mesh-star.crowded"
HUB = "H"
D = 1
"""What the hub cuts to; its D_low as well."""


@frozen(kw_only=True)
class StarVariant:
    """What the hub does with a leaf."""

    summary: str
    backoff: bool = True
    refuses: bool = True
    """At D_high a GRAFT is refused: always, where the leaf has dialled."""
    cuts_at_d_high: bool = False
    """The heartbeat cuts at D_high already, and not only above."""


STARS: Mapping[str, StarVariant] = variants_of("star", StarVariant)


@frozen(eq=False)
class LeafFields:
    """The fields, and what is said over them."""

    star: StarVariant
    count: int
    d_high: int
    fields: tuple[NetworkField, ...]

    def at(self, kind: str, leaf: int) -> Expression:
        return symbol_of(self.fields, kind, leaf)

    def linked(self, leaf: int) -> Expression:
        """The two hold each other."""
        return self.at("linked", leaf)

    def backs_off(self, leaf: int) -> Expression:
        return self.at("backoff", leaf) if self.star.backoff else z3.BoolVal(False)

    def each(self) -> range:
        return range(self.count)

    def degree(self) -> Expression:
        return z3.Sum(
            [z3.If(self.linked(leaf), z3.BitVecVal(1, 4), z3.BitVecVal(0, 4)) for leaf in self.each()]
        )

    def less_than(self, number: int) -> Expression:
        return z3.ULT(self.degree(), z3.BitVecVal(number, 4))

    def outside(self, leaf: int) -> Expression:
        """The leaf is not in the mesh, and may ask."""
        return z3.And(z3.Not(self.linked(leaf)), z3.Not(self.backs_off(leaf)))

    def to_cut(self) -> Expression:
        """The next heartbeat of the hub cuts."""
        return z3.Not(self.less_than(self.d_high + (0 if self.star.cuts_at_d_high else 1)))


def mesh_star(name: str, *, peers: int, d_high: int) -> NetworkModel:
    """One of `STARS`: a hub and `peers` - 1 leaves. Raises SpecError where it cuts to more than it holds."""
    count = peers - 1
    if not 1 <= count <= 7:
        raise SpecError(f"{name} needs 2 to 8 peers (the hub included), got {peers}")
    if STARS[name].cuts_at_d_high and d_high <= D:
        raise SpecError(f"{name} needs a D_high above its D of {D}, got {d_high}")
    kinds = ("linked", "backoff") if STARS[name].backoff else ("linked",)
    fields = tuple(new_field(kind, (leaf,), 1) for kind in kinds for leaf in range(count))
    at = LeafFields(STARS[name], count, d_high, fields)
    return NetworkModel(
        name=name,
        peers=peers,
        parameters={"peers": peers, "d": D, "d_high": d_high},
        fields=fields,
        rules=tuple(rules_of(at)),
        claims=tuple(claims_of(at)),
        shown=partial(_shown, at),
        phrases=phrases_of("mesh-star"),
    )


def leaves_of(network: NetworkModel) -> LeafFields:
    """The fields of a network that `mesh_star` made."""
    return LeafFields(
        STARS[network.name], network.peers - 1, int(network.parameters["d_high"]), network.fields
    )


def rules_of(at: LeafFields) -> Iterator[NetworkRule]:
    """Heartbeats of the leaves and of the hub."""
    for leaf in at.each():
        yield from _of_leaf(at, leaf)
        yield from _of_hub(at, leaf)


def _of_leaf(at: LeafFields, leaf: int) -> Iterator[NetworkRule]:
    accepts = at.less_than(at.d_high) if at.star.refuses else z3.BoolVal(True)
    yes = put(True, "linked", leaf)
    yield NetworkRule("graft", (leaf,), "gs1.0/graft.accept", z3.And(at.outside(leaf), accepts), yes)
    if at.star.refuses:
        guard = z3.And(at.outside(leaf), z3.Not(accepts))
        clause = "gs1.1/outbound.inbound-refused"
        yield NetworkRule("refused", (leaf,), clause, guard, put(True, "backoff", leaf))
    if at.star.backoff:
        expired = put(False, "backoff", leaf)
        yield NetworkRule("expire", (leaf,), "gs1.1/backoff.announced-period", at.backs_off(leaf), expired)


def _of_hub(at: LeafFields, leaf: int) -> Iterator[NetworkRule]:
    """It fills below D_low, and cuts to D; `leaf` is who is grafted, or who is kept."""
    yes = put(True, "linked", leaf)
    yield NetworkRule("fill", (leaf,), "gs1.0/heartbeat.fill", z3.And(at.outside(leaf), at.less_than(D)), yes)
    gone: dict[str, Expression] = {}
    for other in at.each():
        if other != leaf:
            gone |= put(False, "linked", other)
            if at.star.backoff:
                gone |= put(z3.Or(at.backs_off(other), at.linked(other)), "backoff", other)
    yield NetworkRule("cut", (leaf,), "gs1.0/heartbeat.cut", z3.And(at.to_cut(), at.linked(leaf)), gone)


def claims_of(at: LeafFields) -> Iterator[NetworkClaim]:
    """What is asked of every state; the rest is a matter of runs (`messages/star_prove.py`)."""
    yield NetworkClaim(
        id=CEILING,
        clause="gs1.1/outbound.inbound-refused",
        kind="always",
        text="the hub has at most D_high members, between heartbeats too",
        holds=at.less_than(at.d_high + 1),
    )
    if at.count >= at.d_high:
        yield NetworkClaim(
            id=CROWDED,
            clause="gs1.0/graft.accept",
            kind="sometimes",
            text="the hub has D_high members",
            holds=at.degree() == at.d_high,
        )


def _shown(at: LeafFields, values: Mapping[str, int]) -> list[tuple[str, str]]:
    held = [PEER_LETTERS[leaf] for leaf in at.each() if values[name_of("linked", (leaf,))]]
    found = [(HUB, f"holds {' '.join(held)}" if held else "holds nobody")]
    for leaf in at.each():
        states = {"linked": "in", "backoff": "backs off"}
        said = [text for kind, text in states.items() if values.get(name_of(kind, (leaf,)))]
        found.append((PEER_LETTERS[leaf], ", ".join(said) or "out"))
    return found
