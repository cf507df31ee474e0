"""What is decided of one message over a mesh: clauses where all get it, a shortest run where not."""

from __future__ import annotations

from collections.abc import Iterator

from quidnunc.properties.proofs.messages.flow import (
    DELIVERED,
    FLOWS,
    INVARIANT,
    INVARIANT_GOSSIP,
    RELAYED,
    invariant,
    mesh_flow,
    peers_of,
)
from quidnunc.properties.solver.explore import explore
from quidnunc.properties.solver.induction import check_induction
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.result import ProofResult
from quidnunc.properties.solver.trace import MissingTrace, NetworkTrace, is_valid_trace, shortest_trace

SEARCHED = 3
PROVED_SIZES = (3, 4)

RELIABLE = "no copy is lost, and nobody leaves or refuses it"
ATOMIC = "both ends of a link change in one step; a copy that is in flight comes, though the link has gone"
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
