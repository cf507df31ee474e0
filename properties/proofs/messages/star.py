"""A star with more leaves than its hub's mesh may hold: does the mesh come to rest, does each leaf get in?

A hub H, and leaves A, B, ... that have no neighbour but the hub: a leaf outside the hub's mesh is below its
own D_low, and asks at each heartbeat (libp2p/specs, issue 215). One topic, and everybody stays in it. A GRAFT
and its answer are one step, so that both ends of a link are of one mind; a heartbeat of the hub cuts to D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from attrs import frozen

from quidnunc.model.errors import SpecError
from quidnunc.properties.lazy import z3
from quidnunc.properties.proofs.variants import phrases_of, variants_of
from quidnunc.properties.solver.explore import explore
from quidnunc.properties.solver.liveness import (
    FairnessCondition,
    Lasso,
    StateGraph,
    fair_loop,
    graph_of,
    holds_in,
    told,
)
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.result import ProofResult, Verdict
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
    rules_by_version,
    symbol_of,
)
from quidnunc.properties.solver.trace import shortest_trace

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
    """What is asked of every state; the rest is a matter of runs."""
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


# -- what is decided: whether the mesh comes to rest, whether all get in ----------------------------------


D_HIGH = 2
SIZES = (4, 5)
"""Peers, the hub among them: more leaves than D_high."""
SHOWN = 8
"""Steps of a loop that are told."""

ATOMIC = "a GRAFT and its answer are one step; nobody leaves; scores play no part"
ALONE = "a leaf has no neighbour but the hub, so that its heartbeat asks whenever no backoff forbids it"
WEAK = "weak fairness: heartbeats come, and backoffs end"
CHANCE = "the order in which leaves ask is random: a state that can still be reached is reached in the end"


@frozen(kw_only=True)
class RecurrenceQuestion:
    """Something that is not to happen again and again."""

    name: str
    text: str
    hits: Callable[[LeafFields], Expression]
    """States that one is in again and again where it does."""


def _anybody_outside(at: LeafFields) -> Expression:
    return z3.Or(*(at.outside(leaf) for leaf in at.each()))


QUESTIONS = (
    # Links are taken away by the cut alone, and it is due in these states alone.
    RecurrenceQuestion(name="rest", text="from some time on no link is taken away", hits=LeafFields.to_cut),
    RecurrenceQuestion(name="quiet", text="from some time on no GRAFT is sent", hits=_anybody_outside),
)


def star_results(name: str, questions: SolverSession) -> Iterator[ProofResult]:
    """Every line about one of `STARS`. Nothing here is asked of z3."""
    yield _ceiling(name)
    graphs = [graph_of(mesh_star(name, peers=peers, d_high=D_HIGH)) for peers in SIZES]
    # As many leaves as there is always room for.
    control = graph_of(
        mesh_star(name, peers=D_HIGH + (0 if STARS[name].cuts_at_d_high else 1), d_high=D_HIGH)
    )
    for each in QUESTIONS:
        yield _of_runs(name, each, graphs, control)
    yield _admits(name, graphs, control)


def _ceiling(name: str) -> ProofResult:
    network = mesh_star(name, peers=SIZES[0], d_high=D_HIGH)
    found = explore(network, engine="python")
    seen, crowded = found.claims
    refuted = seen.verdict == "refuted"
    traced = (f"a trace of {seen.trace_length} steps, and none of fewer",) if refuted else ()
    return ProofResult(
        name=f"{name}.ceiling",
        text=network.claim(CEILING).text,
        verdict=seen.verdict,
        scope=f"{STARS[name].summary}; {SIZES[0] - 1} leaves, D_high {D_HIGH}, all {found.states} states",
        assumptions=(ATOMIC, ALONE),
        engine="the interpreter, every reachable state",
        vacuous=crowded.verdict != "proved",
        evidence=(*traced, rules_by_version(network)),
        trace=shortest_trace(network, CEILING, engine="python") if refuted else None,
        states=(network, CEILING),
    )


def _verdict(against: int, graphs: list[StateGraph]) -> Verdict:
    return "proved" if not against else "refuted" if against == len(graphs) else "undetermined"


def _scope(name: str, graphs: list[StateGraph]) -> str:
    leaves = " and ".join(str(graph.network.peers - 1) for graph in graphs)
    states = " and ".join(str(len(graph.states)) for graph in graphs)
    return f"{STARS[name].summary}; {leaves} leaves, D_high {D_HIGH}, all {states} states"


def _control(control: StateGraph) -> str:
    leaves = control.network.peers - 1
    return (
        f"the control: with {leaves} {'leaf' if leaves == 1 else 'leaves'}, for which there is room, it holds"
    )


def fairness(graph: StateGraph) -> list[FairnessCondition]:
    """The groups of rules that must have their share, each where it is enabled without end."""
    found = []
    for leaf in range(leaves_of(graph.network).count):
        rules = {n: r for n, r in enumerate(graph.network.rules) if r.about == (leaf,)}
        letter = PEER_LETTERS[leaf]
        asks = frozenset(n for n, r in rules.items() if r.kind in ("graft", "refused"))
        ends = frozenset(n for n, r in rules.items() if r.kind == "expire")
        found += [
            FairnessCondition(name=f"{letter} asks", rules=asks),
            FairnessCondition(name=f"the backoff of {letter} ends", rules=ends),
        ]
    return [
        *(each for each in found if each.rules),
        FairnessCondition(name="the hub cuts", rules=_cuts(graph)),
    ]


def _cuts(graph: StateGraph) -> frozenset[int]:
    return graph.rules(lambda kind: kind == "cut")


def loop_against(graph: StateGraph, question: RecurrenceQuestion) -> Lasso | None:
    """A fair run for ever that answers with no; None where there is none."""
    everywhere = frozenset(range(len(graph.states)))
    hits = graph.where(question.hits(leaves_of(graph.network)))
    everything = graph.rules(lambda kind: True)
    return fair_loop(graph, fair=fairness(graph), within=everywhere, allowed=everything, hits=hits)


def _of_runs(
    name: str, question: RecurrenceQuestion, graphs: list[StateGraph], control: StateGraph
) -> ProofResult:
    against = [(graph, found) for graph in graphs if (found := loop_against(graph, question)) is not None]
    everything = graphs[0].rules(lambda kind: True)
    again = all(holds_in(graph, lasso, fairness(graph), everything) for graph, lasso in against)
    # Where a star with room fails too, it is not the crowd that is shown.
    roomy = not against or loop_against(control, question) is None
    return ProofResult(
        name=f"{name}.{question.name}",
        text=question.text,
        verdict=_verdict(len(against), graphs),
        scope=_scope(name, graphs),
        assumptions=(ATOMIC, ALONE, WEAK),
        engine="fair components of the graph of all states; each loop stepped again",
        vacuous=not (again and roomy),
        evidence=(told(against[0][0].network, against[0][1], SHOWN), _control(control)) if against else (),
    )


def shut_out(graph: StateGraph, leaf: int) -> frozenset[int]:
    """States from which no run leads to one with the leaf in the mesh."""
    reaching = set(graph.where(leaves_of(graph.network).linked(leaf)))
    before = [(at, to) for at, steps in enumerate(graph.steps) for _, to in steps]
    grown = True
    while grown:
        more = {at for at, to in before if to in reaching} - reaching
        reaching |= more
        grown = bool(more)
    return frozenset(range(len(graph.states))) - reaching


def _admits(name: str, graphs: list[StateGraph], control: StateGraph) -> ProofResult:
    against = [(graph, shut) for graph in graphs if (shut := shut_out(graph, 0))]
    evidence = []
    if against:
        graph, shut = against[0]
        stem = [graph.network.spoken(graph.network.rules[r]) for r in graph.run_to(min(shut))]
        evidence = [f"{'; '.join(stem)}; then A never gets in", _control(control)]
    out = all(graph.where(leaves_of(graph.network).outside(0)) for graph in graphs)
    return ProofResult(
        name=f"{name}.admits",
        text="every leaf gets into the hub's mesh again and again",
        verdict=_verdict(len(against), graphs),
        scope=_scope(name, graphs),
        assumptions=(ATOMIC, ALONE, CHANCE),
        engine="from every state of the graph of all states, a run to where it is in",
        vacuous=not out or (bool(against) and bool(shut_out(control, 0))),
        evidence=tuple(evidence),
    )
