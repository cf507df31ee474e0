"""The routes of DOG towards one node, with HaveTx and ResetRoute in flight: who is cut off, and is it mended?

One node, the target, and its neighbours. Each neighbour holds, for each source that a transaction may have
come from first, whether its route from there to the target is disabled. HaveTx and ResetRoute of the target
touch no route with another target (`dog/havetx.target`, `dog/reset.own-target`), so that every node of a
network is such a target by itself, as far as its routes go. Transactions are a free choice: a duplicate may
come over any enabled route, and the target's controller may find too little, too much, or neither.

In a queue to a neighbour are HaveTx of a transaction that came first from some source there, from the target
itself, or from the neighbour's own user; and ResetRoute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TypeAlias

from attrs import evolve, frozen

from quidnunc.model.errors import SpecError
from quidnunc.properties.lazy import z3
from quidnunc.properties.proofs.variants import phrases_of, variants_of
from quidnunc.properties.solver.rules import (
    PEER_LETTERS,
    Expression,
    MessageChannel,
    NetworkClaim,
    NetworkField,
    NetworkModel,
    NetworkRule,
    channel_width,
    content_of,
    guarded,
    name_of,
    new_field,
    put,
    symbol_of,
)

PROGRESS = "dog-routes.progress"
ONE_IN_FLIGHT = "dog-routes.one-havetx-in-flight"
NOT_CUT_OFF = "dog-routes.not-cut-off"
MENDED = "dog-routes.cut"
CAPACITY = 2
TARGET = "N"
"""The target's letter; neighbours have the others."""

Source: TypeAlias = int
"""A neighbour, or the holder of the route, which then stands for the target itself."""


@frozen(kw_only=True)
class RouteRevision:
    """What the texts say otherwise (`quidnunc.model.mempool.dog.variants`), as far as routes go."""

    summary: str
    resets_all: bool = False
    """ResetRoute enables every route to its sender."""
    stuck: bool = False
    """ResetRoute that finds nothing to enable stays, and as a node has one inbox, so does all behind it:
    another node's ResetRoute may jam a neighbour at any time."""
    any_sender: bool = False
    """HaveTx disables the route from any of the senders."""
    starts_blocked: bool = False
    low_blocks: bool = False
    """Too little redundancy takes the permission for HaveTx back."""
    band_blocks: bool = False
    self_route: bool = True
    """HaveTx of a transaction that came first from the target itself disables a route."""
    keep_alive: bool = False
    """After idle intervals a neighbour is asked as well."""


REVISIONS: Mapping[str, RouteRevision] = variants_of("dog-routes", RouteRevision)

LOW_RULES = frozenset({"low", "idle-ask"})
"""The controller asks one neighbour for a route."""
TAKING = frozenset({"cuts", "nothing-to-cut", "resets", "resets-all", "nothing-to-reset"})
"""A neighbour takes the oldest message."""


@frozen(eq=False)
class RouteFields:
    """The fields of a network, and what is said over them."""

    revision: RouteRevision
    neighbours: int
    fields: tuple[NetworkField, ...]
    capacity: int

    def symbol(self, kind: str, *about: int) -> Expression:
        return symbol_of(self.fields, kind, *about)

    def cut(self, p: int, s: Source) -> Expression:
        """The route at p from s to the target is disabled."""
        return self.symbol("cut", p, s)

    def sources(self, p: int) -> list[Source]:
        """Where p's routes come from; p itself stands for the target."""
        return [s for s in range(self.neighbours) if s != p or self.revision.self_route]

    def cuts(self) -> list[tuple[int, Source]]:
        return [(p, s) for p in range(self.neighbours) for s in self.sources(p)]

    @property
    def own(self) -> int:
        """The message HaveTx of a transaction of the neighbour's own user."""
        return self.neighbours + 1

    @property
    def reset(self) -> int:
        return self.neighbours + 2

    def have(self, s: Source) -> int:
        """The message HaveTx of a transaction that came first from s; the holder itself: the target."""
        return s + 1

    def channel(self, p: int) -> MessageChannel:
        return MessageChannel(self.symbol("channel", p), self.reset, self.capacity)

    def blocked(self) -> Expression:
        """HaveTx is not allowed. Fields start false: one that starts blocked counts the other way."""
        return z3.Not(self.symbol("allowed")) if self.revision.starts_blocked else self.symbol("blocked")

    def blocking(self, value: bool) -> dict[str, Expression]:
        """The update that blocks HaveTx, or allows it."""
        return put(not value, "allowed") if self.revision.starts_blocked else put(value, "blocked")

    def name(self, p: int) -> str:
        return name_of("channel", (p,))


def dog_routes(name: str, *, peers: int, capacity: int = CAPACITY) -> NetworkModel:
    """One of `REVISIONS`, of a target and `peers` - 1 neighbours. Raises SpecError where that is too many."""
    revision, neighbours = REVISIONS[name], peers - 1
    if not 2 <= neighbours <= 4:
        raise SpecError(f"{name} needs 3 to 5 peers, got {peers}")
    kinds = neighbours + 2
    fields = [new_field("allowed" if revision.starts_blocked else "blocked", (), 1)]
    for p in range(neighbours):
        fields += [new_field("cut", (p, s), 1) for s in range(neighbours) if s != p or revision.self_route]
        fields.append(new_field("channel", (p,), channel_width(kinds, capacity)))
        fields += [new_field("jam", (p,), 1)] if revision.stuck else []
    at = RouteFields(revision, neighbours, tuple(fields), capacity)
    return NetworkModel(
        name=name,
        peers=peers,
        parameters={"peers": peers, "capacity": capacity},
        fields=at.fields,
        rules=tuple(rules_of(at)),
        claims=tuple(claims_of(at)),
        shown=partial(_shown, at),
        phrases=phrases_of("dog-routes"),
    )


def routes_of(network: NetworkModel) -> RouteFields:
    """The fields of a network that `dog_routes` made."""
    return RouteFields(
        REVISIONS[network.name], network.peers - 1, network.fields, int(network.parameters["capacity"])
    )


# -- rules --------------------------------------------------------------------------------------------------


def rules_of(at: RouteFields) -> Iterator[NetworkRule]:
    """What the target does, and what each neighbour makes of it."""
    yield guarded("high", (), "dog/controller.unblock", at.blocked(), at.blocking(False))
    if at.revision.band_blocks:
        yield guarded("in-band", (), "dog/controller.in-band", z3.BoolVal(True), at.blocking(True))
    for p in range(at.neighbours):
        yield from _of_target(at, p)
        yield from _of_neighbour(at, p)
        if at.revision.stuck:
            free = z3.Not(at.symbol("jam", p))
            yield guarded("jam", (p,), "dog/reset.none", free, put(True, "jam", p))


def _route(kind: str, p: int, s: Source) -> tuple[str, tuple[int, ...]]:
    """The kind of a rule about the route from s at p, and whom it is about: s may be the target."""
    return (f"{kind}-echo", (p,)) if s == p else (kind, (p, s))


def _sent(at: RouteFields, p: int, message: int) -> dict[str, Expression]:
    return put(at.channel(p).with_appended(message), "channel", p)


def _of_target(at: RouteFields, p: int) -> Iterator[NetworkRule]:
    room, blocked = at.channel(p).room(), at.blocking(True)
    free = z3.And(z3.Not(at.blocked()), room)
    for s in range(at.neighbours):
        route = at.cut(p, s) if s in at.sources(p) else None
        there = free if route is None else z3.And(free, z3.Not(route))
        sent = _sent(at, p, at.have(s))
        yield guarded(*_route("duplicate", p, s), "dog/havetx.reply", there, sent, blocked)
    yield guarded("duplicate-own", (p,), "dog/havetx.reply", free, _sent(at, p, at.own), blocked)
    asked = _sent(at, p, at.reset)
    yield guarded("low", (p,), "dog/controller.reset", room, asked, blocked if at.revision.low_blocks else {})
    if at.revision.keep_alive:
        yield guarded("idle-ask", (p,), "dog/controller.idle", room, asked)


def _of_neighbour(at: RouteFields, p: int) -> Iterator[NetworkRule]:
    """What p does with the oldest message to it, unless it is jammed."""
    for rule in _taken(at, p):
        jammed = at.symbol("jam", p) if at.revision.stuck else None
        yield rule if jammed is None else evolve(rule, guard=z3.And(rule.guard, z3.Not(jammed)))


def _taken(at: RouteFields, p: int) -> Iterator[NetworkRule]:
    channel = at.channel(p)
    taken = put(channel.without_head(), "channel", p)
    for s in at.sources(p):
        # Whoever else sent it too may be taken for the first.
        named = at.sources(p) if at.revision.any_sender else [s]
        told = z3.Or(*(channel.head_is(at.have(other)) for other in named))
        yield guarded(*_route("cuts", p, s), "dog/havetx.first-sender", told, taken, put(True, "cut", p, s))
    empty = [channel.head_is(at.own)]
    if not at.revision.self_route:
        empty.append(channel.head_is(at.have(p)))
    yield guarded("nothing-to-cut", (p,), "dog/havetx.no-sender", z3.Or(*empty), taken)
    yield from _reset_taken(at, p, taken)


def _reset_taken(at: RouteFields, p: int, taken: dict[str, Expression]) -> Iterator[NetworkRule]:
    reset, mended = at.channel(p).head_is(at.reset), {s: put(False, "cut", p, s) for s in at.sources(p)}
    if at.revision.resets_all:
        yield guarded("resets-all", (p,), "dog/reset.one", reset, taken, *mended.values())
        return
    for s, mends in mended.items():
        yield guarded(*_route("resets", p, s), "dog/reset.one", z3.And(reset, at.cut(p, s)), taken, mends)
    if not at.revision.stuck:
        nothing = z3.And(reset, *(z3.Not(at.cut(p, s)) for s in at.sources(p)))
        yield guarded("nothing-to-reset", (p,), "dog/reset.none", nothing, taken)


# -- claims -------------------------------------------------------------------------------------------------


def claims_of(at: RouteFields) -> Iterator[NetworkClaim]:
    """What is asked of every state; that routes are mended is a matter of runs (`dog/routes_prove.py`)."""
    everybody = range(at.neighbours)
    yield NetworkClaim(
        id=PROGRESS,
        clause="dog/reset.none",
        kind="always",
        text="the oldest message to a neighbour can be taken",
        holds=z3.And(*(z3.Implies(z3.Not(at.channel(p).empty()), takes(at, p)) for p in everybody)),
    )
    haves = [m for m in range(1, at.reset)]
    yield NetworkClaim(
        id=ONE_IN_FLIGHT,
        clause="dog/havetx.then-blocked",
        kind="always",
        text="at most one HaveTx of the target is in flight",
        holds=_at_most_one(at, haves),
    )
    relayed = [z3.And(*(at.cut(p, s) for s in everybody if s != p)) for p in everybody]
    yield NetworkClaim(
        id=NOT_CUT_OFF,
        clause="dog/controller.reset",
        kind="always",
        text="some neighbour hands on what it has from some other neighbour",
        holds=z3.Not(z3.And(*relayed)),
    )
    yield NetworkClaim(
        id=MENDED,
        clause="dog/havetx.one-route",
        kind="sometimes",
        text="a route is disabled, and nothing is in flight",
        holds=z3.And(
            z3.Or(*(at.cut(p, s) for p, s in at.cuts())), *(at.channel(p).empty() for p in everybody)
        ),
    )


def takes(at: RouteFields, p: int) -> Expression:
    """Whether p can take its oldest message."""
    return z3.Or(*(rule.guard for rule in _of_neighbour(at, p)))


def weight(at: RouteFields, p: int, messages: frozenset[int], width: int = 6) -> Expression:
    """How many of `messages` are in the queue to p."""
    channel = at.channel(p)
    result = z3.BitVecVal(0, width)
    for code in range(channel._least(channel.capacity + 1)):
        count = sum(m in messages for m in content_of(code, channel.kinds))
        if count:
            result = z3.If(channel.symbol == channel._value(code), z3.BitVecVal(count, width), result)
    return result


def _at_most_one(at: RouteFields, messages: list[int]) -> Expression:
    total = z3.BitVecVal(0, 6)
    for p in range(at.neighbours):
        total = total + weight(at, p, frozenset(messages))
    return z3.ULE(total, z3.BitVecVal(1, 6))


def _shown(at: RouteFields, values: Mapping[str, int]) -> list[tuple[str, str]]:
    allowed = values["allowed"] if at.revision.starts_blocked else not values["blocked"]
    found = [(TARGET, "HaveTx allowed" if allowed else "blocked")]
    for p in range(at.neighbours):
        cut = [TARGET if s == p else PEER_LETTERS[s] for s in at.sources(p) if values[name_of("cut", (p, s))]]
        said = f"cuts {' '.join(cut)}" if cut else "cuts nothing"
        said += ", stuck" if values.get(name_of("jam", (p,))) else ""
        found.append((PEER_LETTERS[p], said))
        words = [_word(at, p, m) for m in content_of(values[at.name(p)], at.reset)]
        found.append((f"{TARGET}>{PEER_LETTERS[p]}", " ".join(words) or "-"))
    return found


def _word(at: RouteFields, p: int, message: int) -> str:
    if message == at.reset:
        return "ResetRoute"
    if message == at.own:
        return "HaveTx(own)"
    return f"HaveTx({TARGET if message - 1 == p else PEER_LETTERS[message - 1]})"
