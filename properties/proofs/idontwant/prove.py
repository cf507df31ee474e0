"""What is decided of IDONTWANT and a forged copy, for any number of holders."""

from __future__ import annotations

from collections.abc import Iterator

from quidnunc.properties.proofs.idontwant.rules import (
    DELIVERED,
    FORGED,
    INVARIANT,
    REVISIONS,
    holders_of,
    idontwant_forged,
    invariant,
)
from quidnunc.properties.proofs.mesh.projection import symbols_in
from quidnunc.properties.solver.explore import explore
from quidnunc.properties.solver.induction import check_induction
from quidnunc.properties.solver.liveness import FairnessCondition, fair_loop, graph_of
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.result import ProofResult
from quidnunc.properties.solver.rules import NetworkModel
from quidnunc.properties.solver.trace import is_valid_trace, shortest_trace

PROVED_SIZES = (2, 3, 4, 5)
KNOWN_ID = "the attacker knows the id beforehand, as where it is an author and a counter"
MESH = "the holders have V in their mesh throughout, so that none of them gossips to it"
ONCE = "a router relays a message once, when it gets it, and forgets no IDONTWANT before"
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
        assumptions=(KNOWN_ID, MESH, ONCE, KEPT),
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
