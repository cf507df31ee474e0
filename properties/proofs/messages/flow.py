"""One message over a small mesh: does every peer get it, by eager push alone, and with gossip?

All peers are connected with each other and subscribed. The mesh is any that is left when links have been
taken out of the full one, so that one search is about all meshes. Then A publishes: it pushes the message to
its mesh, and everybody who gets it for the first time pushes it on, but not back. With gossip a heartbeat of
who has the message tells those outside its mesh, who ask for what they have not, and are served.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from attrs import frozen

from quidnunc.model.errors import SpecError
from quidnunc.properties.lazy import z3
from quidnunc.properties.proofs.variants import phrases_of, variants_of
from quidnunc.properties.solver.explore import explore
from quidnunc.properties.solver.induction import check_induction
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
    ordered_pairs,
    put,
    symbol_of,
)
from quidnunc.properties.solver.trace import MissingTrace, NetworkTrace, is_valid_trace, shortest_trace

DELIVERED = "mesh-flow.delivered"
RELAYED = "mesh-flow.relayed"
MOST_PEERS = 5

Pair = tuple[int, int]


@frozen(kw_only=True)
class FlowVariant:
    """What may happen to the mesh, and whether there is gossip."""

    summary: str
    connected: bool = True
    """The mesh is connected throughout: nothing is taken out of it that would part it."""
    one_sided: bool = False
    """Before the message is published a peer may cease to hold one that still holds it."""
    prunes: bool = False
    """Links are taken away at any time."""
    grafts: bool = False
    """Links are made at any time."""
    gossip: bool = False
    tells_one: bool = False
    """A heartbeat tells one of those outside the mesh (D_lazy of 1), and not all of them."""


FLOWS: Mapping[str, FlowVariant] = variants_of("flow", FlowVariant)


@frozen(eq=False)
class FlowFields:
    """The fields, and what is said over them."""

    flow: FlowVariant
    count: int
    fields: tuple[NetworkField, ...]

    def at(self, kind: str, *about: int) -> Expression:
        return symbol_of(self.fields, kind, *about)

    def each(self) -> range:
        return range(self.count)

    def others(self, i: int) -> Iterator[int]:
        return (j for j in self.each() if j != i)

    def pairs(self) -> list[Pair]:
        return list(ordered_pairs(self.count))

    def holds(self, i: int, j: int) -> Expression:
        """j is in the mesh of i."""
        return z3.Not(self.at("apart", i, j))

    def connected(self, less: Pair | None = None) -> Expression:
        """Every peer is reached from the first over links that an end holds, without that of the pair."""

        def linked(i: int, j: int) -> Expression:
            if less is not None and {i, j} == set(less):
                return z3.BoolVal(False)
            return z3.Or(self.holds(i, j), self.holds(j, i))

        reached = [z3.BoolVal(i == 0) for i in self.each()]
        for _ in range(self.count - 1):
            reached = [
                z3.Or(reached[j], *(z3.And(reached[i], linked(i, j)) for i in self.others(j)))
                for j in self.each()
            ]
        return z3.And(*reached)

    def resting(self) -> Expression:
        """It was published, nothing is in flight, and with gossip all who have it have had a heartbeat."""
        quiet = [z3.Not(self.at("copy", i, j)) for i, j in self.pairs()]
        if self.flow.gossip:
            quiet += [z3.Not(self.at("notice", i, j)) for i, j in self.pairs()]
            quiet += [z3.Implies(self.at("has", i), self.at("beat", i)) for i in self.each()]
        return z3.And(self.at("started"), *quiet)


def mesh_flow(name: str, *, peers: int) -> NetworkModel:
    """One of `FLOWS`. Raises SpecError where there are too few peers, or too many."""
    flow = FLOWS[name]
    if not 2 <= peers <= MOST_PEERS:
        raise SpecError(f"{name} needs 2 to {MOST_PEERS} peers, got {peers}")
    fields = [new_field("started", (), 1)]
    fields += [new_field("has", (i,), 1) for i in range(peers)]
    for i, j in ordered_pairs(peers):
        fields += [new_field(kind, (i, j), 1) for kind in ("apart", "copy")]
    if flow.gossip:
        fields += [new_field("beat", (i,), 1) for i in range(peers)]
        fields += [new_field("notice", pair, 1) for pair in ordered_pairs(peers)]
    at = FlowFields(flow, peers, tuple(fields))
    return NetworkModel(
        name=name,
        peers=peers,
        parameters={"peers": peers},
        fields=at.fields,
        rules=tuple(rules_of(at)),
        claims=tuple(claims_of(at)),
        shown=partial(_shown, at),
        phrases=phrases_of("mesh-flow"),
    )


def peers_of(network: NetworkModel) -> FlowFields:
    """The fields of a network that `mesh_flow` made."""
    return FlowFields(FLOWS[network.name], network.peers, network.fields)


# -- rules --------------------------------------------------------------------------------------------------


def rules_of(at: FlowFields) -> Iterator[NetworkRule]:
    """What becomes of the mesh, and of the message."""
    started = at.at("started")
    for i, j in at.pairs():
        if i < j:
            yield from _of_link(at, i, j)
        if at.flow.one_sided:
            both = z3.And(z3.Not(started), at.holds(i, j), at.holds(j, i))
            yield guarded("lapse", (i, j), "gs1.0/prune.remove", both, put(True, "apart", i, j))
    yield guarded("publish", (0,), "gs1.0/relay.mesh", z3.Not(started), _published(at))
    for i, j in at.pairs():
        yield guarded("take", (i, j), "gs1.0/relay.mesh", at.at("copy", i, j), _taken(at, i, j))
    if at.flow.gossip:
        yield from _of_gossip(at)


def _of_link(at: FlowFields, i: int, j: int) -> Iterator[NetworkRule]:
    started, whole = at.at("started"), at.connected(less=(i, j)) if at.flow.connected else z3.BoolVal(True)
    linked, gone = (
        z3.And(at.holds(i, j), at.holds(j, i), whole),
        (put(True, "apart", i, j), put(True, "apart", j, i)),
    )
    yield guarded("drop", (i, j), "gs1.0/prune.remove", z3.And(z3.Not(started), linked), *gone)
    if at.flow.prunes:
        yield guarded("prune", (i, j), "gs1.0/prune.remove", z3.And(started, linked), *gone)
    if at.flow.grafts:
        apart = z3.And(started, z3.Not(at.holds(i, j)), z3.Not(at.holds(j, i)))
        yield guarded(
            "graft", (i, j), "gs1.0/graft.accept", apart, put(False, "apart", i, j), put(False, "apart", j, i)
        )


def _published(at: FlowFields) -> dict[str, Expression]:
    pushed = {name_of("copy", (0, j)): at.holds(0, j) for j in at.others(0)}
    return put(True, "started") | put(True, "has", 0) | pushed


def _taken(at: FlowFields, i: int, j: int) -> dict[str, Expression]:
    """j takes the copy of i; the first one it pushes on, but not back."""
    found = put(False, "copy", i, j) | put(True, "has", j)
    for k in at.others(j):
        if k != i:
            pushed = z3.And(z3.Not(at.at("has", j)), at.holds(j, k))
            found |= put(z3.Or(at.at("copy", j, k), pushed), "copy", j, k)
    return found


def _of_gossip(at: FlowFields) -> Iterator[NetworkRule]:
    for i in at.each():
        due = z3.And(at.at("has", i), z3.Not(at.at("beat", i)))
        over = put(True, "beat", i)
        if at.flow.tells_one:
            for j in at.others(i):
                guard, told = (z3.And(due, z3.Not(at.holds(i, j))), put(True, "notice", i, j))
                yield guarded("heartbeat-to", (i, j), "gs1.0/gossip.at-most-d-lazy", guard, over, told)
            due = z3.And(due, *(at.holds(i, j) for j in at.others(i)))
        all_told = {
            name_of("notice", (i, j)): z3.Or(at.at("notice", i, j), z3.Not(at.holds(i, j)))
            for j in at.others(i)
        }
        yield guarded("heartbeat", (i,), "gs1.0/gossip.outside-mesh", due, over, all_told)
    for i, j in at.pairs():
        served = z3.Or(at.at("copy", i, j), z3.Not(at.at("has", j)))
        heard = put(False, "notice", i, j) | put(served, "copy", i, j)
        yield guarded("hear", (i, j), "gs1.0/ihave.request-unseen", at.at("notice", i, j), heard)


# -- claims -------------------------------------------------------------------------------------------------


def claims_of(at: FlowFields) -> Iterator[NetworkClaim]:
    """What is asked of the end."""
    after = ", and all who have it have had a heartbeat" if at.flow.gossip else ""
    yield NetworkClaim(
        id=DELIVERED,
        clause="gs1.0/relay.mesh",
        kind="always",
        text=f"when nothing is in flight{after}, every peer has the message",
        holds=z3.Implies(at.resting(), z3.And(*(at.at("has", i) for i in at.each()))),
    )
    yield NetworkClaim(
        id=RELAYED,
        clause="gs1.0/relay.mesh",
        kind="sometimes",
        text="every peer has the message, though not every one has it from the publisher's push",
        holds=z3.And(
            *(at.at("has", i) for i in at.each()), z3.Or(*(z3.Not(at.holds(0, j)) for j in at.others(0)))
        ),
    )


def invariant(at: FlowFields) -> Expression:
    """Why all get it where they do: whoever has it has seen to those that it is for."""
    started, parts = at.at("started"), [z3.Implies(at.at("started"), at.at("has", 0))]
    for i, j in at.pairs():
        has, reached = at.at("has", i), z3.Or(at.at("has", j), at.at("copy", i, j))
        parts.append(z3.Implies(at.at("copy", i, j), has))
        parts.append(z3.Implies(has, started))
        if not at.flow.gossip:
            parts += [z3.Implies(z3.And(has, at.holds(i, j)), reached), at.holds(i, j) == at.holds(j, i)]
            continue
        told, beat = at.at("notice", i, j), at.at("beat", i)
        parts += [z3.Implies(told, has), z3.Implies(beat, has)]
        parts.append(z3.Implies(z3.And(has, z3.Not(beat), at.holds(i, j)), reached))
        parts.append(z3.Implies(beat, z3.Or(reached, told)))
    return z3.And(*parts, *([at.connected()] if at.flow.connected else []))


INVARIANT = "who has it has pushed a copy to each of its mesh, which is in flight or has come"
INVARIANT_GOSSIP = "and after its heartbeat has told each of the others, or they have it"


# -- words --------------------------------------------------------------------------------------------------


def _shown(at: FlowFields, values: Mapping[str, int]) -> list[tuple[str, str]]:
    found = []
    for i in at.each():
        held = [PEER_LETTERS[j] for j in at.others(i) if not values[name_of("apart", (i, j))]]
        said = [f"holds {' '.join(held)}" if held else "holds nobody"]
        said += ["has it"] if values[name_of("has", (i,))] else []
        flying = {"copy": "copy to", "notice": "IHAVE to"}
        for kind, text in flying.items():
            to = [PEER_LETTERS[j] for j in at.others(i) if values.get(name_of(kind, (i, j)))]
            said += [f"{text} {' '.join(to)}"] if to else []
        found.append((PEER_LETTERS[i], ", ".join(said)))
    return found


# -- what is decided: clauses where all get it, a shortest run where not ----------------------------------


SEARCHED = 3
PROVED_SIZES = (3, 4)

RELIABLE = "no copy is lost, and nobody leaves or refuses it"
ATOMIC = "both ends of a link change in one step; a copy in flight arrives even if the link is removed"
ASKED = "all peers know each other and want the topic, and ask for what they are told of and lack"
TO_ALL = "an IHAVE goes to all outside the mesh (D_lazy is as many at least), and lists the message"
CACHED = "what was told of is still in the cache when it is asked for (mcache_len above mcache_gossip)"


def flow_results(name: str, questions: SolverSession) -> Iterator[ProofResult]:
    """Whether every peer gets the message, in one of `FLOWS`."""
    network = mesh_flow(name, peers=SEARCHED)
    try:
        trace = shortest_trace(network, DELIVERED, engine="python")
    except MissingTrace:
        yield _proved(name, questions)
    else:
        yield _refuted(name, trace)


def _assumptions(name: str) -> tuple[str, ...]:
    gossip = (ASKED, CACHED) if FLOWS[name].tells_one else (ASKED, TO_ALL, CACHED)
    return (RELIABLE, ATOMIC, *(gossip if FLOWS[name].gossip else ()))


def _refuted(name: str, trace: NetworkTrace) -> ProofResult:
    return ProofResult(
        name=name,
        text=trace.network.claim(DELIVERED).text,
        verdict="refuted",
        scope=f"{FLOWS[name].summary}; {SEARCHED} peers, and more, for the others may be anywhere",
        assumptions=_assumptions(name),
        engine="the interpreter, breadth first",
        vacuous=not is_valid_trace(trace),
        evidence=(f"a trace of {len(trace.rules)} steps, and none of fewer",),
        trace=trace,
    )


def _proved(name: str, questions: SolverSession) -> ProofResult:
    evidence, sound, idle = [], True, False
    for peers in PROVED_SIZES:
        network = mesh_flow(name, peers=peers)
        goal = network.claim(DELIVERED).holds
        shown = check_induction(
            questions, network, invariant(peers_of(network)), goal, label=f"{name}, {peers} peers"
        )
        sound &= shown.proved
        idle |= bool(shown.idle)
        broken = ", ".join(shown.broken_by) or "nothing"
        evidence.append(
            f"{peers} peers: the clauses are kept by each of {len(network.rules)} rules, and imply it"
            if shown.proved
            else f"{peers} peers: the clauses are broken by {broken}"
        )
    found = explore(mesh_flow(name, peers=SEARCHED), engine="python")
    met = {claim.id: claim.verdict for claim in found.claims}
    evidence.append(f"{SEARCHED} peers: true of all {found.states:,} states")
    clauses = (INVARIANT, INVARIANT_GOSSIP) if FLOWS[name].gossip else (INVARIANT,)
    return ProofResult(
        name=name,
        text=mesh_flow(name, peers=SEARCHED).claim(DELIVERED).text,
        verdict="proved" if sound and met[DELIVERED] == "proved" else "undetermined",
        scope=f"{FLOWS[name].summary}; {' and '.join(map(str, PROVED_SIZES))} peers, every mesh of them",
        assumptions=_assumptions(name),
        engine="z3, inductive clauses; and the interpreter, every reachable state",
        vacuous=idle or met[RELAYED] != "proved",
        evidence=(*clauses, *evidence),
    )
