"""What is decided of a star: whether its mesh comes to rest, whether GRAFTs end, whether all get in."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import frozen

from quidnunc.properties.lazy import z3
from quidnunc.properties.proofs.messages.star import CEILING, STARS, LeafFields, leaves_of, mesh_star
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
from quidnunc.properties.solver.rules import PEER_LETTERS, Expression
from quidnunc.properties.solver.trace import shortest_trace

D_HIGH = 2
SIZES = (4, 5)
"""Peers, the hub among them: more leaves than D_high."""
SHOWN = 8
"""Steps of a loop that are told."""

ATOMIC = "a GRAFT and its answer are one step; nobody leaves; scores play no part"
ALONE = "a leaf has no neighbour but the hub, so that its heartbeat asks whenever no backoff forbids it"
WEAK = "weak fairness: heartbeats come, and backoffs end"
CHANCE = "who asks when is left to chance: where a run may yet lead there, in the end one does"


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
    return ProofResult(
        name=f"{name}.ceiling",
        text=network.claim(CEILING).text,
        verdict=seen.verdict,
        scope=f"{STARS[name].summary}; {SIZES[0] - 1} leaves, D_high {D_HIGH}, all {found.states} states",
        assumptions=(ATOMIC, ALONE),
        engine="the interpreter, every reachable state",
        vacuous=crowded.verdict != "proved",
        evidence=(f"a trace of {seen.trace_length} steps, and none of fewer",) if refuted else (),
        trace=shortest_trace(network, CEILING, engine="python") if refuted else None,
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
