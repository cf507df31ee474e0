"""Mesh links with messages in flight: GRAFT and PRUNE between fully connected peers of one topic.

Five variants. `mesh-link` is v1.0, without backoff. Of the four with the backoff of v1.1,
`mesh-link-backoff-any` lets it expire at any time; `mesh-link-backoff` only when the channels of the pair are
drained both ways;
`mesh-link-backoff-silent` is that with a GRAFT for an unknown topic ignored, as v1.1 asks;
`mesh-link-backoff-unsub` moreover announces an unsubscription, which takes the peer out of the mesh.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TypeAlias

from attrs import evolve, frozen

from quidnunc.properties.network_rules import (
    PEER_LETTERS,
    Channel,
    Expression,
    Field,
    Network,
    NetworkClaim,
    Rule,
    channel_width,
    content_of,
    name_of,
    new_field,
    ordered_pairs,
)

GRAFT, PRUNE, UNSUB = 1, 2, 3
MESSAGES = {GRAFT: "GRAFT", PRUNE: "PRUNE", UNSUB: "UNSUB"}

PHRASES = {
    "join": "{0} joins",
    "leave": "{0} leaves",
    "graft": "{0} grafts {1}",
    "prune": "{0} prunes {1}",
    "expire": "{0}'s backoff from {1} expires",
    "accept": "{0} accepts the GRAFT of {1}",
    "refuse": "{0} refuses the GRAFT of {1}",
    "ignore": "{0} ignores the GRAFT of {1}",
    "pruned": "{0} takes the PRUNE of {1}",
    "unsubscribed": "{0} hears that {1} left",
}

BIDIRECTIONAL = "mesh-link.bidirectional"
CEILING = "mesh-link.ceiling"
LINKED = "mesh-link.linked"

Pair: TypeAlias = tuple[int, int]


@frozen(kw_only=True)
class Variant:
    """What distinguishes one reading of the protocol from another."""

    backoff: bool = False
    expires_in_flight: bool = False
    """Whether a backoff may expire while GRAFT or PRUNE is in flight between the two."""
    silent: bool = False
    """A GRAFT for a topic that its receiver is not in is ignored, and not answered with a PRUNE."""
    unsub: bool = False
    """Who leaves says so on every channel, and who hears it drops the link without a backoff."""


VARIANTS: Mapping[str, Variant] = {
    "mesh-link": Variant(),
    "mesh-link-backoff-any": Variant(backoff=True, expires_in_flight=True),
    "mesh-link-backoff": Variant(backoff=True),
    "mesh-link-backoff-silent": Variant(backoff=True, silent=True),
    "mesh-link-backoff-unsub": Variant(backoff=True, silent=True, unsub=True),
}


@frozen(eq=False)
class Links:
    """The fields of a network of `peers`, and what the rules say about them."""

    peers: int
    d_high: int | None
    """None where the degree test is a free choice of each rule: what is shown then holds for every D_high."""
    variant: Variant
    capacity: int
    fields: tuple[Field, ...]
    at: Mapping[str, Expression]

    def sub(self, i: int) -> Expression:
        return self.at[name_of("sub", (i,))]

    def mesh(self, pair: Pair) -> Expression:
        return self.at[name_of("mesh", pair)]

    def backoff(self, pair: Pair) -> Expression:
        """Whether the first of the pair backs off from the second; never, without backoff."""
        from z3 import BoolVal

        return self.at[name_of("backoff", pair)] if self.variant.backoff else BoolVal(False)

    def channel(self, pair: Pair) -> Channel:
        """What is in flight from the first of the pair to the second."""
        return Channel(self.at[name_of("channel", pair)], kinds_of(self.variant), self.capacity)

    def others(self, i: int) -> list[int]:
        return [j for j in range(self.peers) if j != i]

    def below_ceiling(self, i: int) -> Expression:
        """Whether i has fewer than D_high members in its mesh."""
        from z3 import ULT, BitVecVal, Bool, BoolVal, If, Sum

        if self.d_high is None:
            return Bool(name_of("free", (i,)))
        if self.d_high >= self.peers:
            return BoolVal(True)
        members = [If(self.mesh((i, j)), BitVecVal(1, 4), BitVecVal(0, 4)) for j in self.others(i)]
        return ULT(Sum(members), BitVecVal(self.d_high, 4))

    def started(self, pair: Pair, when: Expression | None = None) -> dict[str, Expression]:
        """The backoff of the pair begins (`when`, if that is given)."""
        from z3 import BoolVal, Or

        if not self.variant.backoff:
            return {}
        return {name_of("backoff", pair): BoolVal(True) if when is None else Or(self.backoff(pair), when)}

    def sent(self, pair: Pair, message: int) -> dict[str, Expression]:
        return {name_of("channel", pair): self.channel(pair).with_appended(message)}

    def taken(self, pair: Pair) -> dict[str, Expression]:
        """The oldest message from the second of the pair to the first is received."""
        back = (pair[1], pair[0])
        return {name_of("channel", back): self.channel(back).without_head()}

    def linked(self, pair: Pair, yes: bool) -> dict[str, Expression]:
        from z3 import BoolVal

        return {name_of("mesh", pair): BoolVal(yes)}


def kinds_of(variant: Variant) -> int:
    return 3 if variant.unsub else 2


def links(variant: Variant, *, peers: int, d_high: int | None, capacity: int = 2) -> Links:
    """The fields of the network: of every pair its backoff, mesh and channel, and of every peer `sub`."""
    found: list[Field] = []
    pairs = list(ordered_pairs(peers))
    if variant.backoff:
        found += [new_field("backoff", pair, 1) for pair in pairs]
    found += [new_field("mesh", pair, 1) for pair in pairs]
    found += [new_field("sub", (i,), 1) for i in range(peers)]
    width = channel_width(kinds_of(variant), capacity)
    found += [new_field("channel", pair, width) for pair in pairs]
    return Links(peers, d_high, variant, capacity, tuple(found), {f.name: f.symbol for f in found})


def mesh_link(name: str, *, peers: int, d_high: int | None, capacity: int = 2) -> Network:
    """One of `VARIANTS` among `peers`, with at most `d_high` members in a mesh.

    With None the degree test is a free choice each time, which allows whatever some D_high allows.
    """
    at = links(VARIANTS[name], peers=peers, d_high=d_high, capacity=capacity)
    ceiling = "free" if d_high is None else d_high
    return Network(
        name=name,
        peers=peers,
        parameters={"peers": peers, "d_high": ceiling, "capacity": capacity},
        fields=at.fields,
        rules=tuple(_chosen(at, rule) if d_high is None else rule for rule in rules_of(at)),
        claims=tuple(claims_of(at)),
        shown=partial(shown_state, at),
        phrases=PHRASES,
    )


def shown_state(at: Links, values: Mapping[str, int]) -> list[tuple[str, str]]:
    """A state in columns: each peer, then each channel."""
    found = []
    for i in range(at.peers):
        parts = ["in" if values[name_of("sub", (i,))] else "out"]
        for kind, verb in (("mesh", "holds"), ("backoff", "backs off from")):
            held = [PEER_LETTERS[j] for j in at.others(i) if values.get(name_of(kind, (i, j)))]
            parts += [f"{verb} {' '.join(held)}"] if held else []
        found.append((PEER_LETTERS[i], ", ".join(parts)))
    for pair in ordered_pairs(at.peers):
        content = content_of(values[name_of("channel", pair)], kinds_of(at.variant))
        found.append((">".join(PEER_LETTERS[p] for p in pair), " ".join(MESSAGES[m] for m in content) or "-"))
    return found


# -- rules --------------------------------------------------------------------------------------------------


def rules_of(at: Links) -> Iterator[Rule]:
    """Every rule of every peer and pair."""
    for i in range(at.peers):
        yield from _own_rules(at, i)
        for j in at.others(i):
            yield from _link_rules(at, (i, j))
            yield from _received(at, (i, j))


def _chosen(at: Links, rule: Rule) -> Rule:
    """The rule, enabled where it is for some outcome of the degree tests; no update depends on them."""
    from z3 import BoolVal, Or, substitute

    guards = [rule.guard]
    for i in range(at.peers):
        test = at.below_ceiling(i)
        guards = [substitute(g, (test, BoolVal(way))) for g in guards for way in (True, False)]
        # A guard without the test is doubled; once is enough.
        guards = guards[:1] if all(g.eq(guards[0]) for g in guards) else guards
    return evolve(rule, guard=guards[0] if len(guards) == 1 else Or(*guards))


def _own_rules(at: Links, i: int) -> Iterator[Rule]:
    from z3 import And, BoolVal, If, Not

    me = name_of("sub", (i,))
    yield Rule(
        kind="join", about=(i,), clause="gs1.0/join.fill", guard=Not(at.sub(i)), updates={me: BoolVal(True)}
    )
    rooms: list[Expression] = []
    updates: dict[str, Expression] = {me: BoolVal(False)}
    for j in at.others(i):
        pair = (i, j)
        channel, member = at.channel(pair), at.mesh(pair)
        if at.variant.unsub:
            pruned = If(member, channel.with_appended(PRUNE), channel.symbol)
            updates[name_of("channel", pair)] = channel.with_appended(UNSUB, pruned)
            rooms.append(If(member, channel.room(2), channel.room()))
        else:
            updates[name_of("channel", pair)] = If(member, channel.with_appended(PRUNE), channel.symbol)
            rooms.append(If(member, channel.room(), BoolVal(True)))
        updates |= at.linked(pair, False) | at.started(pair, member)
    yield Rule(
        kind="leave",
        about=(i,),
        clause="gs1.0/leave.prune-each",
        guard=And(at.sub(i), *rooms),
        updates=updates,
    )


def _link_rules(at: Links, pair: Pair) -> Iterator[Rule]:
    from z3 import And, BoolVal, Not

    i, j = pair
    room = at.channel(pair).room()
    allowed = And(at.sub(i), Not(at.mesh(pair)), at.below_ceiling(i), room, Not(at.backoff(pair)))
    yield Rule(
        kind="graft",
        about=pair,
        clause="gs1.0/heartbeat.fill",
        guard=allowed,
        updates=at.linked(pair, True) | at.sent(pair, GRAFT),
    )
    yield Rule(
        kind="prune",
        about=pair,
        clause="gs1.0/heartbeat.cut",
        guard=And(at.mesh(pair), room),
        updates=at.linked(pair, False) | at.sent(pair, PRUNE) | at.started(pair),
    )
    if at.variant.backoff:
        drained = And(at.channel(pair).empty(), at.channel((j, i)).empty())
        when = BoolVal(True) if at.variant.expires_in_flight else drained
        yield Rule(
            kind="expire",
            about=pair,
            clause="gs1.1/backoff.announced-period",
            guard=And(at.backoff(pair), when),
            updates={name_of("backoff", pair): BoolVal(False)},
        )


def _received(at: Links, pair: Pair) -> Iterator[Rule]:
    """What i does with the oldest message from j."""
    from z3 import And, Not, Or

    i, j = pair
    channel = at.channel((j, i))
    graft, prune = channel.head_is(GRAFT), channel.head_is(PRUNE)
    member = Or(at.mesh(pair), And(at.below_ceiling(i), Not(at.backoff(pair))))
    accepted = And(at.sub(i), member)
    yield Rule(
        kind="accept",
        about=pair,
        clause="gs1.0/graft.accept",
        guard=And(graft, accepted),
        updates=at.linked(pair, True) | at.taken(pair),
    )
    refused = And(at.sub(i), Not(member)) if at.variant.silent else Not(accepted)
    yield Rule(
        kind="refuse",
        about=pair,
        clause="gs1.1/backoff.regraft" if at.variant.backoff else "gs1.0/graft.unsubscribed",
        guard=And(graft, refused, at.channel(pair).room()),
        updates=at.taken(pair) | at.sent(pair, PRUNE),
    )
    if at.variant.silent:
        yield Rule(
            kind="ignore",
            about=pair,
            clause="gs1.1/graft.unknown-topic",
            guard=And(graft, Not(at.sub(i))),
            updates=at.taken(pair),
        )
    yield Rule(
        kind="pruned",
        about=pair,
        clause="gs1.1/backoff.both-ends" if at.variant.backoff else "gs1.0/prune.remove",
        guard=prune,
        updates=at.linked(pair, False) | at.taken(pair) | at.started(pair),
    )
    if at.variant.unsub:
        yield Rule(
            kind="unsubscribed",
            about=pair,
            clause="pubsub/subscription.table",
            guard=channel.head_is(UNSUB),
            updates=at.linked(pair, False) | at.taken(pair),
        )


# -- claims -------------------------------------------------------------------------------------------------


def claims_of(at: Links) -> Iterator[NetworkClaim]:
    """What is asked of the links."""
    from z3 import And, Or

    pairs = [pair for pair in ordered_pairs(at.peers) if pair[0] < pair[1]]
    yield NetworkClaim(
        id=BIDIRECTIONAL,
        clause="gs1.0/mesh.mutual",
        kind="always",
        text="when no GRAFT or PRUNE is in flight between A and B, A holds B exactly if B holds A",
        holds=And(*(bidirectional(at, pair) for pair in pairs)),
    )
    if at.d_high is not None and at.d_high < at.peers - 1:
        yield NetworkClaim(
            id=CEILING,
            clause="gs1.0/heartbeat.cut",
            kind="always",
            text="nobody has more than D_high members in its mesh",
            holds=And(*(_at_most(at, i) for i in range(at.peers))),
        )
    yield NetworkClaim(
        id=LINKED,
        clause="gs1.0/graft.accept",
        kind="sometimes",
        text="two peers hold each other and nothing is in flight between them",
        holds=Or(*(And(quiet(at, p), at.mesh(p), at.mesh((p[1], p[0]))) for p in pairs)),
    )


def quiet(at: Links, pair: Pair) -> Expression:
    """No GRAFT or PRUNE is in flight between the two."""
    from z3 import And, Not

    both = (at.channel(pair), at.channel((pair[1], pair[0])))
    return And(*(Not(channel.holds((GRAFT, PRUNE))) for channel in both))


def bidirectional(at: Links, pair: Pair) -> Expression:
    from z3 import Implies

    return Implies(quiet(at, pair), at.mesh(pair) == at.mesh((pair[1], pair[0])))


def _at_most(at: Links, i: int) -> Expression:
    from z3 import ULE, BitVecVal, If, Sum

    members = [If(at.mesh((i, j)), BitVecVal(1, 4), BitVecVal(0, 4)) for j in at.others(i)]
    return ULE(Sum(members), BitVecVal(at.d_high, 4))
