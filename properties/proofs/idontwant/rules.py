"""IDONTWANT and a forged copy: does the one who was lied to ever get the message?

A victim V, with mesh members A, B, ... that relay a message to it once they have it; and an attacker X, who
knows the id that the message will have and sends V a copy of it with a bad signature. V says IDONTWANT to its
mesh at the first copy: where that is done before the signature is looked at, it says so of a message that it
will not keep. One message, one id; each rule is atomic, and what is in flight is one bit for each message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from attrs import frozen

from quidnunc.model.errors import SpecError
from quidnunc.properties.solver.lazy_z3 import z3
from quidnunc.properties.solver.rules import (
    PEER_LETTERS,
    Expression,
    NetworkClaim,
    NetworkField,
    NetworkModel,
    NetworkRule,
    name_of,
    new_field,
)

DELIVERED = "idontwant-forged.delivered"
FORGED = "idontwant-forged.lied-to"
VICTIM, ATTACKER = "V", "X"


@frozen(kw_only=True)
class IDontWantRevision:
    """What is done, and in which order."""

    summary: str
    before_check: bool = True
    """IDONTWANT is said before the signature is looked at."""
    must_skip: bool = True
    """Who was told MUST skip (r1); otherwise it could (the draft)."""
    content_ids: bool = False
    """An id binds the content: a forged copy has another."""
    gossip: bool = False
    """V has a neighbour outside its mesh that gets the message and gossips."""


REVISIONS: Mapping[str, IDontWantRevision] = {
    "idontwant-forged": IDontWantRevision(summary="r1, IDONTWANT before the signature is looked at"),
    "idontwant-forged-draft": IDontWantRevision(
        summary="the draft, where who was told may relay all the same", must_skip=False
    ),
    "idontwant-forged-checked": IDontWantRevision(
        summary="r1, IDONTWANT after the signature was looked at", before_check=False
    ),
    "idontwant-forged-content": IDontWantRevision(
        summary="r1, with ids that bind the content", content_ids=True
    ),
    "idontwant-forged-gossip": IDontWantRevision(
        summary="r1, with a holder outside the mesh that gossips to the victim", gossip=True
    ),
}

PHRASES = {
    "forge": f"{VICTIM} takes a forged copy from {ATTACKER}",
    "obtain": "{0} gets the message from elsewhere",
    "heed": f"{{0}} takes the IDONTWANT of {VICTIM}",
    "relay": f"{{0}} relays to {VICTIM}",
    "skip": f"{{0}} skips {VICTIM}",
    "take": f"{VICTIM} takes the message of {{0}}",
    "hear": f"a neighbour of {VICTIM} outside the mesh gets the message",
    "gossip": f"that neighbour offers it, {VICTIM} asks, and has it",
}


@frozen(eq=False)
class HolderFields:
    """The fields, and what is said over them."""

    revision: IDontWantRevision
    count: int
    fields: tuple[NetworkField, ...]

    def at(self, kind: str, *about: int) -> Expression:
        name = name_of(kind, about)
        return next(f.symbol for f in self.fields if f.name == name)

    def each(self) -> range:
        return range(self.count)


def idontwant_forged(name: str, *, peers: int) -> NetworkModel:
    """One of `REVISIONS`: a victim and `peers` - 1 mesh members that hold the message, and an attacker.

    Raises SpecError where there are too many.
    """
    revision, count = REVISIONS[name], peers - 1
    if not 1 <= count <= 7:
        raise SpecError(f"{name} needs 2 to 8 peers (the victim included), got {peers}")
    kinds = ["told", "got", "forged"] + (["heard"] if revision.gossip else [])
    fields = [new_field(kind, (), 1) for kind in kinds]
    for h in range(count):
        fields += [new_field(kind, (h,), 1) for kind in ("has", "decided", "unwanted", "notice", "copy")]
    at = HolderFields(revision, count, tuple(fields))
    return NetworkModel(
        name=name,
        peers=peers,
        parameters={"peers": peers},
        fields=at.fields,
        rules=tuple(rules_of(at)),
        claims=tuple(claims_of(at)),
        shown=partial(_shown, at),
        phrases=PHRASES,
    )


def holders_of(network: NetworkModel) -> HolderFields:
    """The fields of a network that `idontwant_forged` made."""
    return HolderFields(REVISIONS[network.name], network.peers - 1, network.fields)


# -- rules --------------------------------------------------------------------------------------------------


def _telling(at: HolderFields, besides: int | None = None) -> dict[str, Expression]:
    """At the first copy V tells its mesh, but for who sent it."""
    told = at.at("told")
    found = {"told": z3.BoolVal(True)}
    for h in at.each():
        if h != besides:
            notice = at.at("notice", h)
            found[name_of("notice", (h,))] = z3.If(told, notice, z3.BoolVal(True))
    return found


def rules_of(at: HolderFields) -> Iterator[NetworkRule]:
    """What the attacker, the victim and the holders do."""
    yes, no = z3.BoolVal(True), z3.BoolVal(False)
    if not at.revision.content_ids:
        early = _telling(at) if at.revision.before_check else {}
        yield NetworkRule(
            kind="forge",
            about=(),
            clause="gs1.2/idontwant.immediate" if early else "pubsub/signing.reject",
            guard=z3.And(z3.Not(at.at("forged")), z3.Not(at.at("got"))),
            updates={"forged": yes} | early,
        )
    for h in at.each():
        has, decided, unwanted = (at.at(kind, h) for kind in ("has", "decided", "unwanted"))
        yield _rule("obtain", h, "gs1.0/relay.mesh", z3.Not(has), {"has": yes})
        yield _rule(
            "heed", h, "gs1.2/idontwant.per-peer", at.at("notice", h), {"notice": no, "unwanted": yes}
        )
        due = z3.And(has, z3.Not(decided))
        free = due if not at.revision.must_skip else z3.And(due, z3.Not(unwanted))
        yield _rule("relay", h, "gs1.0/relay.mesh", free, {"decided": yes, "copy": yes})
        clause = "gs1.2/idontwant.skip" if at.revision.must_skip else "gs1.2-draft/idontwant.may-skip"
        yield _rule("skip", h, clause, z3.And(due, unwanted), {"decided": yes})
        yield NetworkRule(
            kind="take",
            about=(h,),
            clause="gs1.2/idontwant.immediate",
            guard=at.at("copy", h),
            updates={"got": yes, name_of("copy", (h,)): no} | _telling(at, besides=h),
        )
    if at.revision.gossip:
        heard, got = at.at("heard"), at.at("got")
        yield NetworkRule(
            kind="hear", about=(), clause="gs1.0/relay.mesh", guard=z3.Not(heard), updates={"heard": yes}
        )
        yield NetworkRule(
            kind="gossip",
            about=(),
            clause="gs1.0/ihave.request-unseen",
            guard=z3.And(heard, z3.Not(got)),
            updates={"got": yes} | _telling(at),
        )


def _rule(
    kind: str, h: int, clause: str, guard: Expression, updates: Mapping[str, Expression]
) -> NetworkRule:
    named = {name_of(field, (h,)): value for field, value in updates.items()}
    return NetworkRule(kind=kind, about=(h,), clause=clause, guard=guard, updates=named)


# -- claims -------------------------------------------------------------------------------------------------


def claims_of(at: HolderFields) -> Iterator[NetworkClaim]:
    """What is asked of the end."""
    yield NetworkClaim(
        id=DELIVERED,
        clause="gs1.2/idontwant.immediate",
        kind="always",
        text="when every holder has relayed or skipped and nothing is in flight, the victim has the message",
        holds=z3.Implies(over(at), at.at("got")),
    )
    if not at.revision.content_ids:
        yield NetworkClaim(
            id=FORGED,
            clause="pubsub/signing.reject",
            kind="sometimes",
            text="the victim has had a forged copy, and the message as well",
            holds=z3.And(at.at("forged"), at.at("got"), z3.Or(*(at.at("decided", h) for h in at.each()))),
        )


def over(at: HolderFields) -> Expression:
    """Every holder has decided, and nothing is in flight."""
    rest = [
        z3.And(at.at("decided", h), z3.Not(at.at("copy", h)), z3.Not(at.at("notice", h))) for h in at.each()
    ]
    return z3.And(*rest)


def invariant(at: HolderFields) -> Expression:
    """What holds where IDONTWANT is said of what was kept alone: the reason, clause by clause."""
    each = []
    for h in at.each():
        each.append(z3.Implies(z3.Or(at.at("notice", h), at.at("unwanted", h)), at.at("told")))
        each.append(z3.Implies(at.at("decided", h), z3.Or(at.at("copy", h), at.at("got"))))
    return z3.And(z3.Implies(at.at("told"), at.at("got")), *each)


INVARIANT = (
    "who said IDONTWANT has the message",
    "IDONTWANT is in flight or heeded only if it was said",
    "who has decided has sent a copy that is in flight, or the victim has the message",
)


def _shown(at: HolderFields, values: Mapping[str, int]) -> list[tuple[str, str]]:
    words = {"forged": "was lied to", "told": "said IDONTWANT", "got": "has it"}
    found = [(VICTIM, ", ".join(text for kind, text in words.items() if values[kind]) or "-")]
    for h in at.each():
        kinds = {"has": "has it", "unwanted": "is not to send", "decided": "is done"}
        said = [text for kind, text in kinds.items() if values[name_of(kind, (h,))]]
        found.append((PEER_LETTERS[h], ", ".join(said) or "-"))
        flying = {"notice": f"IDONTWANT to {PEER_LETTERS[h]}", "copy": f"the message to {VICTIM}"}
        there = [text for kind, text in flying.items() if values[name_of(kind, (h,))]]
        found.append((f"{VICTIM}-{PEER_LETTERS[h]}", ", ".join(there) or "-"))
    return found
