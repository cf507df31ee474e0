"""Mesh links with messages in flight: GRAFT and PRUNE between fully connected peers of one topic.

The rules of every variant (`mesh/links.py`), and what is claimed of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from attrs import evolve

from quidnunc.properties.lazy import z3
from quidnunc.properties.proofs.mesh.links import (
    GRAFT,
    PRUNE,
    SUB,
    UNSUB,
    VARIANTS,
    LinkFields,
    LinkVariant,
    Pair,
    kinds_of,
    links,
)
from quidnunc.properties.proofs.variants import phrases_of
from quidnunc.properties.solver.rules import (
    PEER_LETTERS,
    Expression,
    NetworkClaim,
    NetworkModel,
    NetworkRule,
    content_of,
    guarded,
    name_of,
    ordered_pairs,
    put,
)

MESSAGES = {GRAFT: "GRAFT", PRUNE: "PRUNE", UNSUB: "UNSUB", SUB: "SUB"}

BIDIRECTIONAL = "mesh-link.bidirectional"
CEILING = "mesh-link.ceiling"
LINKED = "mesh-link.linked"


def mesh_link(name: str, *, peers: int, d_high: int | None, capacity: int = 2) -> NetworkModel:
    """One of `VARIANTS` among `peers`, with at most `d_high` members in a mesh.

    With None the degree test is a free choice each time, which allows whatever some D_high allows.
    """
    return mesh_link_of(name, VARIANTS[name], peers=peers, d_high=d_high, capacity=capacity)


def mesh_link_of(
    name: str, variant: LinkVariant, *, peers: int, d_high: int | None, capacity: int = 2
) -> NetworkModel:
    """The same of any variant."""
    at = links(variant, peers=peers, d_high=d_high, capacity=capacity)
    ceiling = "free" if d_high is None else d_high
    return NetworkModel(
        name=name,
        peers=peers,
        parameters={"peers": peers, "d_high": ceiling, "capacity": capacity},
        fields=at.fields,
        rules=tuple(_chosen(at, rule) if d_high is None else rule for rule in rules_of(at)),
        claims=tuple(claims_of(at)),
        shown=partial(shown_state, at),
        phrases=phrases_of("mesh-link"),
    )


def shown_state(at: LinkFields, values: Mapping[str, int]) -> list[tuple[str, str]]:
    """A state in columns: each peer, then each channel."""
    found = []
    for i in range(at.peers):
        parts = ["in" if values[name_of("sub", (i,))] else "out"]
        for kind, verb in (("mesh", "holds"), ("backoff", "backs off from"), ("knows", "knows")):
            held = [PEER_LETTERS[j] for j in at.others(i) if values.get(name_of(kind, (i, j)))]
            parts += [f"{verb} {' '.join(held)}"] if held else []
        found.append((PEER_LETTERS[i], ", ".join(parts)))
    for pair in ordered_pairs(at.peers):
        content = content_of(values[name_of("channel", pair)], kinds_of(at.variant))
        found.append((">".join(PEER_LETTERS[p] for p in pair), " ".join(MESSAGES[m] for m in content) or "-"))
    return found


# -- rules --------------------------------------------------------------------------------------------------


def rules_of(at: LinkFields) -> Iterator[NetworkRule]:
    """Every rule of every peer and pair."""
    for i in range(at.peers):
        yield from _own_rules(at, i)
        for j in at.others(i):
            yield from _link_rules(at, (i, j))
            yield from _received_graft(at, (i, j))
            yield from _received_rest(at, (i, j))


def _chosen(at: LinkFields, rule: NetworkRule) -> NetworkRule:
    """The rule, enabled where it is for some outcome of the degree tests; no update depends on them."""
    guards = [rule.guard]
    for i in range(at.peers):
        test = at.below_ceiling(i)
        guards = [z3.substitute(g, (test, z3.BoolVal(way))) for g in guards for way in (True, False)]
        # A guard without the test is doubled; once is enough.
        guards = guards[:1] if all(g.eq(guards[0]) for g in guards) else guards
    return evolve(rule, guard=guards[0] if len(guards) == 1 else z3.Or(*guards))


def _own_rules(at: LinkFields, i: int) -> Iterator[NetworkRule]:
    joining = put(True, "sub", i)
    allowed = [z3.Not(at.sub(i))]
    for j in at.others(i):
        if at.variant.announced:
            joining |= at.sent((i, j), SUB)
            allowed.append(at.channel((i, j)).room())
        if at.variant.waits:
            allowed.append(z3.Not(at.backoff((i, j))))
    clause = "gs1.1/backoff.resubscribe" if at.variant.waits else "gs1.0/join.fill"
    yield guarded("join", (i,), clause, z3.And(*allowed), joining)
    rooms: list[Expression] = []
    leaving = put(False, "sub", i)
    for j in at.others(i):
        pair = (i, j)
        channel, member = at.channel(pair), at.mesh(pair)
        sent = z3.If(member, channel.with_appended(PRUNE), channel.symbol)
        if at.variant.unsub:
            sent = channel.with_appended(UNSUB, sent)
            rooms.append(z3.If(member, channel.room(2), channel.room()))
        else:
            rooms.append(z3.If(member, channel.room(), z3.BoolVal(True)))
        leaving |= put(sent, "channel", *pair) | at.linked(pair, False)
        leaving |= at.started(pair, True if at.variant.waits else member)
    yield guarded("leave", (i,), "gs1.0/leave.prune-each", z3.And(at.sub(i), *rooms), leaving)


def _link_rules(at: LinkFields, pair: Pair) -> Iterator[NetworkRule]:
    i, j = pair
    room = at.channel(pair).room()
    allowed = z3.And(at.sub(i), z3.Not(at.mesh(pair)), at.below_ceiling(i), room, z3.Not(at.backoff(pair)))
    if at.variant.announced:
        allowed = z3.And(allowed, at.at[name_of("knows", pair)])
    yield guarded("graft", pair, "gs1.0/heartbeat.fill", allowed, at.linked(pair, True), at.sent(pair, GRAFT))
    pruned = at.linked(pair, False), at.sent(pair, PRUNE), at.started(pair)
    may = z3.And(at.mesh(pair), room)
    if at.variant.backoff:
        # No field has the score: it may be negative at any heartbeat.
        yield guarded("prune", pair, "gs1.1/threshold.negative-pruned", may, *pruned)
    else:
        yield guarded("prune", pair, "gs1.0/heartbeat.cut", z3.And(may, at.above_ceiling(i)), *pruned)
    if at.variant.backoff:
        drained = z3.And(at.channel(pair).empty(), at.channel((j, i)).empty())
        when = z3.And(at.backoff(pair), z3.BoolVal(True) if at.variant.expires_in_flight else drained)
        yield guarded("expire", pair, "gs1.1/backoff.announced-period", when, put(False, "backoff", *pair))


def _received_graft(at: LinkFields, pair: Pair) -> Iterator[NetworkRule]:
    """What i does with a GRAFT that is the oldest message from j."""
    i, j = pair
    graft, taken = at.channel((j, i)).head_is(GRAFT), at.taken(pair)
    # v1.0 has no reason to refuse a GRAFT but the topic.
    room = z3.And(at.below_ceiling(i), z3.Not(at.backoff(pair))) if at.variant.backoff else z3.BoolVal(True)
    member = z3.Or(at.mesh(pair), room)
    accepted = z3.And(at.sub(i), member)
    yield guarded("accept", pair, "gs1.0/graft.accept", z3.And(graft, accepted), at.linked(pair, True), taken)
    answered, outside = z3.And(graft, at.channel(pair).room()), z3.Not(at.sub(i))
    # Whoever sends a PRUNE backs off, be it in answer to a GRAFT.
    pruned, unsubscribed = (taken, at.sent(pair, PRUNE), at.started(pair)), "gs1.0/graft.unsubscribed"
    if not at.variant.backoff:
        yield guarded("refuse", pair, unsubscribed, z3.And(answered, z3.Not(accepted)), *pruned)
        return
    refused = z3.And(answered, at.sub(i), z3.Not(member))
    yield guarded("refuse", pair, "gs1.1/backoff.regraft", refused, *pruned)
    if at.variant.silent:
        yield guarded("ignore", pair, "gs1.1/graft.unknown-topic", z3.And(graft, outside), taken)
    else:
        yield guarded("refuse-outside", pair, unsubscribed, z3.And(answered, outside), *pruned)


def _received_rest(at: LinkFields, pair: Pair) -> Iterator[NetworkRule]:
    """What i does with another message from j."""
    channel, taken, gone = at.channel((pair[1], pair[0])), at.taken(pair), at.linked(pair, False)
    clause = "gs1.1/backoff.both-ends" if at.variant.backoff else "gs1.0/prune.remove"
    yield guarded("pruned", pair, clause, channel.head_is(PRUNE), gone, taken, at.started(pair))
    table = "pubsub/subscription.table"
    if at.variant.unsub:
        left = channel.head_is(UNSUB)
        yield guarded("unsubscribed", pair, table, left, gone, at.known(pair, False), taken)
    if at.variant.announced:
        yield guarded("subscribed", pair, table, channel.head_is(SUB), at.known(pair, True), taken)


# -- claims -------------------------------------------------------------------------------------------------


def claims_of(at: LinkFields) -> Iterator[NetworkClaim]:
    """What is asked of the links."""
    pairs = [pair for pair in ordered_pairs(at.peers) if pair[0] < pair[1]]
    yield NetworkClaim(
        id=BIDIRECTIONAL,
        clause="gs1.0/mesh.mutual",
        kind="always",
        text=f"when no {_loud(at)} is in flight between A and B, A holds B exactly if B holds A",
        holds=z3.And(*(bidirectional(at, pair) for pair in pairs)),
    )
    if at.variant.backoff and at.d_high is not None and at.d_high < at.peers - 1:
        yield NetworkClaim(
            id=CEILING,
            clause="gs1.0/heartbeat.cut",
            kind="always",
            text="nobody has more than D_high members in its mesh",
            holds=z3.And(*(_at_most(at, i) for i in range(at.peers))),
        )
    yield NetworkClaim(
        id=LINKED,
        clause="gs1.0/graft.accept",
        kind="sometimes",
        text="two peers hold each other and nothing is in flight between them",
        holds=z3.Or(*(z3.And(quiet(at, p), at.mesh(p), at.mesh((p[1], p[0]))) for p in pairs)),
    )


def quiet(at: LinkFields, pair: Pair) -> Expression:
    """No GRAFT or PRUNE is in flight between the two; with announcements, nothing at all."""
    both = (at.channel(pair), at.channel((pair[1], pair[0])))
    if at.variant.announced:
        # An UNSUB in flight stands for a PRUNE: it takes a link away.
        return z3.And(*(channel.empty() for channel in both))
    return z3.And(*(z3.Not(channel.holds((GRAFT, PRUNE))) for channel in both))


def _loud(at: LinkFields) -> str:
    return "message" if at.variant.announced else "GRAFT or PRUNE"


def bidirectional(at: LinkFields, pair: Pair) -> Expression:
    return z3.Implies(quiet(at, pair), at.mesh(pair) == at.mesh((pair[1], pair[0])))


def _at_most(at: LinkFields, i: int) -> Expression:
    members = [z3.If(at.mesh((i, j)), z3.BitVecVal(1, 4), z3.BitVecVal(0, 4)) for j in at.others(i)]
    return z3.ULE(z3.Sum(members), z3.BitVecVal(at.d_high, 4))
