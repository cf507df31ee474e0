"""Networks that show whether DOG can cut a target off from a source of transactions.

A source S sends each transaction to the relays A, B, ... Each relay forwards it to the target N, unless a
HaveTx of N has disabled the relay's route from S to N. N counts new transactions and duplicates, and its
controller may run at any time. Every transaction is a part of the model here, so a counterexample is a run of
the whole network. In the module `routes` any transaction may come at any time, and a counterexample is a run
of routes alone. Fields and settings are in the module `relays`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from quidnunc.model.errors import SpecError
from quidnunc.properties.lazy import z3
from quidnunc.properties.proofs.dog.relays import (
    COUNTER_BITS,
    ECHO,
    HAVE,
    PLAIN,
    RESET,
    TEXTS,
    RelayFields,
    RelaySetting,
    any_of,
    fields_of,
    shown,
)
from quidnunc.properties.proofs.variants import phrases_of
from quidnunc.properties.solver.rules import (
    Expression,
    NetworkClaim,
    NetworkModel,
    NetworkRule,
    guarded,
    name_of,
    put,
)

AT_REST = "dog-cut-off.at-rest"
LEFT = "dog-cut-off.left"
ASKS = "dog-cut-off.asks-who-is-there"
BACK = "dog-cut-off.back-is-open"
OFFERED = "dog-cut-off.own-is-offered"
OPENS = "dog-cut-off.reset-opens"


def dog_cut_off(name: str, *, peers: int, setting: RelaySetting = PLAIN) -> NetworkModel:
    """The network of one of `TEXTS`, with a source, a target, and `peers` - 2 relays.

    Raises SpecError where the number of relays is not 2 or 3.
    """
    text, count = TEXTS[name], peers - 2
    if not 2 <= count <= 3:
        raise SpecError(f"{name} needs 4 or 5 peers (a source, a target, 2 or 3 relays), got {peers}")
    at = RelayFields(text, setting, count, tuple(fields_of(text, setting, count)))
    return NetworkModel(
        name=name,
        peers=peers,
        parameters={"peers": peers, "capacity": setting.capacity, "target": setting.redundancy},
        fields=at.fields,
        rules=tuple(rules_of(at)),
        claims=tuple(claims_of(at)),
        shown=partial(shown, at),
        phrases=phrases_of("dog-cut-off"),
    )


def relays_of(network: NetworkModel, setting: RelaySetting) -> RelayFields:
    """The fields of a network that `dog_cut_off` made in that setting."""
    return RelayFields(TEXTS[network.name], setting, network.peers - 2, network.fields)


# -- rules --------------------------------------------------------------------------------------------------


def rules_of(at: RelayFields) -> Iterator[NetworkRule]:
    """What the source, the target, the relays and their users do."""
    yield from _of_traffic(at)
    yield from _of_controller(at)
    for p in at.each():
        yield from _of_relay(at, p)
        if at.setting.leaves:
            yield from _leaving(at, p)
        if at.setting.source_lost:
            yield from _losing_source(at, p)
    if at.setting.echo:
        yield from _crossing(at, 0)
    if at.setting.users:
        yield from _of_user(at, 0)


def _raised(at: RelayFields, counter: str) -> dict[str, Expression]:
    return {counter: at.at(counter) + z3.BitVecVal(1, COUNTER_BITS)}


def _fewer(at: RelayFields, counter: str) -> Expression:
    """The counter has room: one more transaction may be counted before the controller runs."""
    return at.at(counter) != at.setting.most


def _anew() -> dict[str, Expression]:
    return {counter: z3.BitVecVal(0, COUNTER_BITS) for counter in ("first", "again")}


def _of_traffic(at: RelayFields) -> Iterator[NetworkRule]:
    none = z3.And(*(z3.Not(at.at("copy", p)) for p in at.each()))
    copies = {name_of("copy", (p,)): z3.Not(at.closed(p)) for p in at.each()}
    yield guarded("submit", (), "dog/route.filter", none, copies)
    yield guarded("own", (), "dog/count.first", _fewer(at, "first"), _raised(at, "first"))
    for p in at.each():
        copy, known = at.at("copy", p), at.at("known")
        others = (at.at("copy", q) for q in at.each() if q != p)
        landed = put(False, "copy", p) | put(any_of(*others), "known")
        first = z3.And(copy, z3.Not(known), _fewer(at, "first"))
        yield guarded("first", (p,), "dog/count.first", first, landed, _raised(at, "first"))
        known_too = z3.And(copy, known, _fewer(at, "again"))
        blocked = z3.And(known_too, at.blocked())
        yield guarded("again", (p,), "dog/havetx.while-blocked", blocked, landed, _raised(at, "again"))
        free = z3.And(known_too, z3.Not(at.blocked()), at.channel(p).room())
        told = [at.sent(p, HAVE), at.blocking(True)]
        yield guarded("answered", (p,), "dog/havetx.reply", free, landed, _raised(at, "again"), *told)


def _of_controller(at: RelayFields) -> Iterator[NetworkRule]:
    blocks = at.blocking(True)
    yield guarded("high", (), "dog/controller.unblock", at.finds("high"), _anew(), at.blocking(False))
    band = blocks if at.text.routes.band_blocks else {}
    yield guarded("in-band", (), "dog/controller.in-band", at.finds("in-band"), _anew(), band)
    for p in at.each():
        there = z3.And(z3.Not(at.perhaps("gone", p)), at.channel(p).room())
        asked = at.sent(p, RESET)
        low = z3.And(at.finds("low"), there)
        taken_back = blocks if at.text.routes.low_blocks else {}
        yield guarded("low", (p,), "dog/controller.reset", low, _anew(), asked, taken_back)
        if at.text.routes.keep_alive:
            idle = z3.And(at.finds("idle"), there)
            yield guarded("idle-ask", (p,), "dog/controller.idle", idle, asked)


def _of_relay(at: RelayFields, p: int) -> Iterator[NetworkRule]:
    """What p does with the oldest message to it."""
    head, taken = at.channel(p).head_is, at.taken(p)
    cut = put(True, "cut", p)
    open_again = put(False, "cut", p)
    disabled, echo = at.at("cut", p), at.perhaps("self", p)
    have, reset = head(HAVE), head(RESET)
    # Since the last HaveTx that it took S has not come back.
    seen = put(False, "back", p) if at.has("back", p) else {}
    if at.setting.source_lost and not at.text.stale:
        gone = z3.And(have, at.at("lost", p))
        yield guarded("cuts-nothing", (p,), "dog/havetx.first-sender-gone", gone, taken, seen)
        have = z3.And(have, z3.Not(at.at("lost", p)))
    yield guarded("cuts", (p,), "dog/havetx.first-sender", have, taken, cut, seen)
    if at.text.routes.resets_all:
        both = open_again | (put(False, "self", p) if at.has("self", p) else {})
        yield guarded("resets", (p,), "dog/reset.one", z3.And(reset, any_of(disabled, echo)), taken, both)
    else:
        yield guarded("resets", (p,), "dog/reset.one", z3.And(reset, disabled), taken, open_again)
    if not at.text.routes.stuck:
        nothing = z3.And(reset, z3.Not(disabled), z3.Not(echo))
        yield guarded("nothing-to-reset", (p,), "dog/reset.none", nothing, taken)


def _leaving(at: RelayFields, p: int) -> Iterator[NetworkRule]:
    """p leaves the target, and what is on the link is lost; the controller runs at once."""
    guard = z3.And(*(z3.Not(at.at("gone", q)) for q in at.each()))
    others = [q for q in at.each() if q != p]
    lost = put(True, "gone", p) | put(False, "cut", p) | put(False, "copy", p)
    lost |= put(z3.BitVecVal(0, at.at("channel", p).size()), "channel", p)
    lost |= put(z3.And(at.at("known"), any_of(*(at.at("copy", q) for q in others))), "known")
    blocks = at.blocking(True)
    band = blocks if at.text.routes.band_blocks else {}
    taken_back = blocks if at.text.routes.low_blocks else {}
    clause = "dog/peer.adjust-at-loss"
    yield guarded("leaves", (p,), "dog/controller.idle", z3.And(guard, at.finds("idle")), lost)
    high = z3.And(guard, at.finds("high"))
    yield guarded("leaves-high", (p,), clause, high, lost, _anew(), at.blocking(False))
    yield guarded("leaves-in-band", (p,), clause, z3.And(guard, at.finds("in-band")), lost, _anew(), band)
    low = z3.And(guard, at.finds("low"))
    for q in others:
        asked = z3.And(low, at.channel(q).room())
        yield guarded("leaves-asks", (p, q), clause, asked, lost, _anew(), at.sent(q, RESET), taken_back)
    if at.text.asks_lost:
        vain = put(True, "vain")
        yield guarded("leaves-vain", (p,), "dog/peer.reset-not-to-lost", low, lost, _anew(), taken_back, vain)


def _losing_source(at: RelayFields, p: int) -> Iterator[NetworkRule]:
    """p loses the source, and forgets the routes from there; later the source is back."""
    lost = at.at("lost", p)
    forgets = put(True, "lost", p) | put(False, "cut", p) | put(False, "back", p)
    yield guarded("loses", (p,), "dog/peer.forget-routes", z3.Not(lost), forgets)
    here = put(False, "lost", p) | put(True, "back", p)
    yield guarded("returns", (p,), "dog/peer.new-unrestricted", lost, here)


def _crossing(at: RelayFields, p: int) -> Iterator[NetworkRule]:
    """The same transaction is submitted at the target and at p, and each has it from the other."""
    free = z3.And(z3.Not(at.blocked()), at.channel(p).room(), _fewer(at, "again"))
    told = [_raised(at, "again"), at.sent(p, ECHO), at.blocking(True)]
    yield guarded("echo", (p,), "dog/havetx.reply", free, *told)
    head, taken = at.channel(p).head_is, at.taken(p)
    if not at.text.routes.self_route:
        yield guarded("echo-nothing", (p,), "dog/havetx.self-route", head(ECHO), taken)
        return
    cut = put(True, "self", p)
    yield guarded("cuts-echo", (p,), "dog/havetx.self-route", head(ECHO), taken, cut)
    if at.text.routes.resets_all:
        return
    freed = put(False, "self", p) | put(any_of(at.at("wasted"), at.at("cut", p)), "wasted")
    yield guarded("resets-echo", (p,), "dog/reset.one", z3.And(head(RESET), at.at("self", p)), taken, freed)


def _of_user(at: RelayFields, p: int) -> Iterator[NetworkRule]:
    """A user of p submits what S has too; p has it from S as well before it has offered its own."""
    user, both = at.at("user", p), at.at("both", p)
    yield guarded("user", (p,), "dog/count.first", z3.Not(user), put(True, "user", p))
    came = z3.And(user, z3.Not(both), z3.Not(at.stuck(p)))
    yield guarded("both", (p,), "dog/count.duplicate", came, put(True, "both", p))
    over = put(False, "user", p) | put(False, "both", p)
    withheld = z3.And(user, both, at.at("cut", p)) if at.text.own_filtered else z3.BoolVal(False)
    offered = z3.And(user, z3.Not(withheld), _fewer(at, "first"))
    yield guarded("offers", (p,), "dog/send.own-unfiltered", offered, over, _raised(at, "first"))
    if at.text.own_filtered:
        yield guarded("withholds", (p,), "dog/route.filter", withheld, over, put(True, "kept"))


# -- claims -------------------------------------------------------------------------------------------------


def claims_of(at: RelayFields) -> Iterator[NetworkClaim]:
    """The claims about every state. Whether a target stays cut off for ever is asked of runs instead."""

    def always(identity: str, clause: str, text: str, holds: Expression) -> NetworkClaim:
        return NetworkClaim(id=identity, clause=clause, kind="always", text=text, holds=holds)

    closed = z3.And(at.resting(), at.cut_off())
    yield always(
        AT_REST,
        "dog/controller.reset",
        "when nothing is in flight, what the source has comes to the target through some relay",
        z3.Not(closed),
    )
    if at.setting.leaves:
        left = any_of(*(at.at("gone", p) for p in at.each()))
        yield always(
            LEFT, "dog/peer.adjust-at-loss",
            "after a relay has left, when nothing is in flight, what the source has comes through another",
            z3.Implies(left, z3.Not(closed)),
        )  # fmt: skip
        yield always(
            ASKS, "dog/peer.reset-not-to-lost",
            "who asks for a route because a neighbour left asks one that is there", z3.Not(at.at("vain")),
        )  # fmt: skip
    if at.setting.source_lost:
        shut = [z3.And(at.at("back", p), at.at("cut", p)) for p in at.each()]
        yield always(
            BACK, "dog/peer.new-unrestricted",
            "what a first sender that was gone and is back sends is handed on until the next HaveTx",
            z3.Not(any_of(*shut)),
        )  # fmt: skip
    if at.setting.echo:
        yield always(
            OPENS, "dog/havetx.self-route",
            "a ResetRoute to a relay that withholds what the source has mends that", z3.Not(at.at("wasted")),
        )  # fmt: skip
    if at.setting.users:
        yield always(
            OFFERED, "dog/send.own-unfiltered",
            "what a user submits at a neighbour is offered to the target", z3.Not(at.at("kept")),
        )  # fmt: skip
