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
from quidnunc.properties.lazy import z3
from quidnunc.properties.proofs.mesh.projection import symbols_in
from quidnunc.properties.proofs.variants import phrases_of, variants_of
from quidnunc.properties.solver.explore import explore
from quidnunc.properties.solver.induction import check_induction
from quidnunc.properties.solver.liveness import FairnessCondition, fair_loop, graph_of
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.result import ProofResult
from quidnunc.properties.solver.rules import (
    PEER_LETTERS,
    Expression,
    NetworkClaim,
    NetworkField,
    NetworkModel,
    NetworkRule,
    guarded,
    name_of,
    new_field,
    put,
    symbol_of,
)
from quidnunc.properties.solver.trace import is_valid_trace, shortest_trace

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
    """Who was told skips, as r1 has it beside a MAY ignore; otherwise it could relay (the draft)."""
    content_ids: bool = False
    """An id binds the content: a forged copy has another."""
    gossip: bool = False
    """V has a neighbour outside its mesh that gets the message and gossips."""
    asks_all_lacking: bool = True
    """V asks for whatever it lacks; where not, a planted error, not for what it said IDONTWANT of."""


REVISIONS: Mapping[str, IDontWantRevision] = variants_of("idontwant", IDontWantRevision)


@frozen(eq=False)
class HolderFields:
    """The fields, and what is said over them."""

    revision: IDontWantRevision
    count: int
    fields: tuple[NetworkField, ...]

    def at(self, kind: str, *about: int) -> Expression:
        return symbol_of(self.fields, kind, *about)

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
        phrases=phrases_of("idontwant-forged"),
    )


def holders_of(network: NetworkModel) -> HolderFields:
    """The fields of a network that `idontwant_forged` made."""
    return HolderFields(REVISIONS[network.name], network.peers - 1, network.fields)


# -- rules --------------------------------------------------------------------------------------------------


def _telling(at: HolderFields, besides: int | None = None) -> dict[str, Expression]:
    """At the first copy V tells its mesh, but for who sent it."""
    told = at.at("told")
    found = put(True, "told")
    for h in at.each():
        if h != besides:
            notice = at.at("notice", h)
            found |= put(z3.If(told, notice, z3.BoolVal(True)), "notice", h)
    return found


def rules_of(at: HolderFields) -> Iterator[NetworkRule]:
    """What the attacker, the victim and the holders do."""
    if not at.revision.content_ids:
        early = _telling(at) if at.revision.before_check else {}
        clause = "gs1.2/idontwant.immediate" if early else "pubsub/signing.reject"
        free = z3.And(z3.Not(at.at("forged")), z3.Not(at.at("got")))
        yield guarded("forge", (), clause, free, put(True, "forged"), early)
    for h in at.each():
        yield from _of_holder(at, h)
    if at.revision.gossip:
        heard = at.at("heard")
        yield guarded("hear", (), "gs1.0/relay.mesh", z3.Not(heard), put(True, "heard"))
        asks = z3.And(heard, z3.Not(at.at("got")))
        if not at.revision.asks_all_lacking:
            asks = z3.And(asks, z3.Not(at.at("told")))
        yield guarded("gossip", (), "gs1.0/ihave.request-unseen", asks, put(True, "got"), _telling(at))


def _of_holder(at: HolderFields, h: int) -> Iterator[NetworkRule]:
    """h gets the message, heeds an IDONTWANT, and relays or skips; then V takes the copy."""
    has, unwanted, notice = (at.at(kind, h) for kind in ("has", "unwanted", "notice"))
    yield guarded("obtain", (h,), "gs1.0/relay.mesh", z3.Not(has), put(True, "has", h))
    heeded = put(False, "notice", h), put(True, "unwanted", h)
    yield guarded("heed", (h,), "gs1.2/idontwant.per-peer", notice, *heeded)
    due, decided = z3.And(has, z3.Not(at.at("decided", h))), put(True, "decided", h)
    free = due if not at.revision.must_skip else z3.And(due, z3.Not(unwanted))
    yield guarded("relay", (h,), "gs1.0/relay.mesh", free, decided, put(True, "copy", h))
    clause = "gs1.2/idontwant.skip" if at.revision.must_skip else "gs1.2-draft/idontwant.may-skip"
    yield guarded("skip", (h,), clause, z3.And(due, unwanted), decided)
    taken = put(True, "got"), put(False, "copy", h), _telling(at, besides=h)
    yield guarded("take", (h,), "gs1.2/idontwant.immediate", at.at("copy", h), *taken)


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


# -- what is decided, for any number of holders -----------------------------------------------------------


PROVED_SIZES = (2, 3, 4, 5)
KNOWN_ID = "the attacker knows the id in advance, for example because it is an author and a counter"
MESH = "the holders have V in their mesh throughout, so that none of them gossips to it"
ONCE = "a router relays a message once, when it gets it, and forgets no IDONTWANT before"
HONOURED = "who is told IDONTWANT honours it: r1 says MUST skip, and that a receiver MAY ignore IDONTWANT"
KEPT = "a copy with a bad signature does not make the good one a duplicate (pubsub/signing.reject)"


def idontwant_results(name: str, questions: SolverSession) -> Iterator[ProofResult]:
    """Whether the victim has the message in the end."""
    revision = REVISIONS[name]
    found = explore(idontwant_forged(name, peers=3), engine="python")
    (seen,) = [claim for claim in found.claims if claim.id == DELIVERED]
    if seen.verdict == "refuted":
        yield _refuted(name)
        if revision.gossip:
            yield _restored(name)
        return
    yield _proved(name, questions)


def _refuted(name: str) -> ProofResult:
    network = idontwant_forged(name, peers=2)
    trace = shortest_trace(network, DELIVERED, engine="python")
    steps = len(trace.rules)
    return ProofResult(
        name=name,
        text=network.claim(DELIVERED).text,
        verdict="refuted",
        scope=f"{REVISIONS[name].summary}; one holder, and any number of them, who may do as it does",
        assumptions=(KNOWN_ID, MESH, ONCE, *((HONOURED,) if REVISIONS[name].must_skip else ()), KEPT),
        engine="the interpreter, every reachable state",
        vacuous=not is_valid_trace(trace),
        evidence=(f"a trace of {steps} steps, and none of fewer",),
        trace=trace,
    )


def _restored(name: str) -> ProofResult:
    """With a holder that gossips, the victim has the message in the end in every fair run."""
    network = idontwant_forged(name, peers=3)
    graph = graph_of(network)
    got = graph.where(holders_of(network).at("got"))
    lacking = frozenset(range(len(graph.states))) - got
    everything = graph.rules(lambda kind: True)
    fair = [
        FairnessCondition(name=kind, rules=graph.rules(lambda k, kind=kind: k == kind))  # type: ignore[misc]
        for kind in ("hear", "gossip")
    ]
    lasso = fair_loop(graph, fair=fair, within=lacking, allowed=everything, hits=lacking)
    without = fair_loop(
        graph,
        fair=[],
        within=lacking,
        allowed=everything - graph.rules(lambda kind: kind in ("hear", "gossip")),
        hits=lacking,
    )
    return ProofResult(
        name=f"{name}.in-the-end",
        text="the victim has the message in the end",
        verdict="proved" if lasso is None else "refuted",
        scope=f"{REVISIONS[name].summary}; {network.peers - 1} holders in the mesh, "
        f"all {len(graph.states):,} states",
        assumptions=("the neighbour outside the mesh gets the message, and gossips: weak fairness", ONCE),
        engine="fair components of the graph of all states",
        vacuous=without is None,
        evidence=("without the gossip a run ends without the message",) if without is not None else (),
    )


def _proved(name: str, questions: SolverSession) -> ProofResult:
    evidence, sound, idle = [], True, False
    for peers in PROVED_SIZES:
        network = idontwant_forged(name, peers=peers)
        goal = network.claim(DELIVERED).holds
        shown = check_induction(
            questions, network, invariant(holders_of(network)), goal, label=f"{name}, {peers} peers"
        )
        alone = far_reaching(network)
        sound &= shown.proved and not alone
        idle |= bool(shown.idle)
        if not shown.proved or alone:
            broken = [*shown.broken_by, *alone] or ["the start, or the goal"]
            evidence.append(f"{peers} peers: broken by {', '.join(broken)}")
    met = True
    if not REVISIONS[name].content_ids:
        found = explore(idontwant_forged(name, peers=3), engine="python")
        met = next(claim for claim in found.claims if claim.id == FORGED).verdict == "proved"
    sizes = ", ".join(map(str, PROVED_SIZES))
    evidence.append(
        "a rule reads and writes the victim's, its holder's and one other holder's fields: 3 peers are all"
    )
    return ProofResult(
        name=name,
        text=idontwant_forged(name, peers=2).claim(DELIVERED).text,
        verdict="proved" if sound else "undetermined",
        scope=f"{REVISIONS[name].summary}; {sizes} peers, and any number",
        assumptions=(MESH, ONCE, KEPT),
        engine="z3, inductive clauses",
        vacuous=idle or not met,
        evidence=(*INVARIANT, *evidence),
    )


def far_reaching(network: NetworkModel) -> list[str]:
    """Rules of which an update reads beyond the victim, the holder of the rule and that of the field.

    Where there are none, whether a rule of one holder keeps a clause of another is a matter of these two and
    the victim: a network of three peers has every case.
    """
    about = {f.name: set(f.about) for f in network.fields}
    found = []
    for rule in network.rules:
        near = set(rule.about)
        guarded = symbols_in(rule.guard)
        written = [(symbols_in(value), near | about[name]) for name, value in rule.updates.items()]
        if any(not about[s] <= reach for names, reach in [(guarded, near), *written] for s in names):
            found.append(f"the reach of {rule.name}")
    return found
