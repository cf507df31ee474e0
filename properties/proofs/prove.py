"""What is proved and refuted of the networks: each line with its scope, assumptions, engine, vacuity."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, permutations
from typing import Literal

from attrs import evolve

from quidnunc.properties.lazy import z3
from quidnunc.properties.params import prove as params_prove
from quidnunc.properties.params import retain as params_retain
from quidnunc.properties.proofs import degree
from quidnunc.properties.proofs.citations import clauses_of_line
from quidnunc.properties.proofs.dog import controller_prove, cut_off_prove, routes_prove
from quidnunc.properties.proofs.dog.controller import CONTROLLERS
from quidnunc.properties.proofs.dog.relays import TEXTS
from quidnunc.properties.proofs.dog.routes import REVISIONS
from quidnunc.properties.proofs.edits import EDITS, GONE, MISSING, RuleEdit, by_edit, edit_of_line
from quidnunc.properties.proofs.idontwant.codec import codec
from quidnunc.properties.proofs.idontwant.rules import REVISIONS as ORDERS
from quidnunc.properties.proofs.idontwant.rules import idontwant_results
from quidnunc.properties.proofs.mesh.infer import clause_sentence, expression_of, inferred_clauses, readable
from quidnunc.properties.proofs.mesh.links import VARIANTS
from quidnunc.properties.proofs.mesh.mesh_link import BIDIRECTIONAL, LINKED, mesh_link
from quidnunc.properties.proofs.mesh.projection import PairTable, footprints, simulation, table_of
from quidnunc.properties.proofs.messages.flow import FLOWS, flow_results
from quidnunc.properties.proofs.messages.star import STARS, star_results
from quidnunc.properties.solver.edits import editing
from quidnunc.properties.solver.induction import InductionCheck, check_induction, refuting_trace
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.result import ProofResult, Prover, Verdict
from quidnunc.properties.solver.rules import Expression, NetworkModel, rules_by_version
from quidnunc.properties.solver.trace import NetworkTrace, is_valid_trace

PROVED_SIZES = (2, 3, 4)
CAPACITIES = (3, 4, 5)
"""Queues that are tried, until no reachable state of a pair is ever short of room."""
DEPTH = 12
"""Steps of the longest trace that the bounded search looks for."""

CHANNELS = "channels between two peers are reliable and first-in first-out, one for each direction"
ATOMIC = "each rule is atomic, and both ends follow the rules"
NO_LOSS = "no connection is lost, and peers are known to each other throughout"
JOINS = "JOIN grafts nobody in its own step: others that are not shown may fill the mesh"
UNANNOUNCED = "nobody announces a topic, and a GRAFT may go to a peer that is not in it"
HALF_ANNOUNCED = (
    "who leaves a topic announces it, who joins does not, and a GRAFT may go to a peer that never joined"
)
SCORES = "scores are free: a member may be pruned at any time, as for a negative score"
TIMING = "a backoff expires only when nothing is in flight between the two, either way"


def provers() -> Mapping[str, Prover]:
    """Name -> what decides it. A name may give several results, which begin with it."""
    links: dict[str, Prover] = {name: partial(bidirectional, name) for name in VARIANTS}
    published = {
        name: partial(params_prove.of_published, name.removeprefix(params_prove.PREFIX))
        for name in params_prove.names()
        if name.startswith(params_prove.PREFIX)
    }
    return {
        **links,
        "mesh-degree": degree.bound_results,
        **{name: partial(star_results, name) for name in STARS},
        **{name: partial(flow_results, name) for name in FLOWS},
        "backoff-arithmetic": backoff_arithmetic,
        **{name: partial(routes_prove.route_results, name) for name in REVISIONS},
        **{name: partial(cut_off_prove.cut_off_results, name) for name in TEXTS},
        **{name: partial(controller_prove.controller_results, name) for name in CONTROLLERS},
        **{name: partial(idontwant_results, name) for name in ORDERS},
        "idontwant-codec": codec,
        **published,
        "score-algebra": params_prove.algebra,
        params_retain.NAME: params_retain.retention_results,
    }


def prove(name: str, questions: SolverSession) -> list[ProofResult]:
    """The results of one name, each with the seconds of CPU since the one before. Raises KeyError."""
    found = []
    started = time.process_time()
    for result in provers()[name](questions):
        now = time.process_time()
        clauses = clauses_of_line(result.name, name)
        edit = edit_of_line(result.name, name) if result.verdict == "proved" else None
        if edit is not None:
            result = evolve(result, edit=edit.says, edit_of=edit.clause)
        found.append(evolve(result, seconds=now - started, clauses=clauses))
        started = now
    return found


def with_edits(name: str, results: Sequence[ProofResult]) -> list[ProofResult]:
    """The results of one name, each proof with what becomes of it under its edit.

    The questions under an edit are of a session of their own.
    """
    lines = [(r.name, name) for r in results if r.verdict == "proved"]
    became: dict[str, str] = {}
    for (prover, number), wanted in by_edit(lines).items():
        became |= under_edit(prover, EDITS[number], wanted)
    return [evolve(r, edited=became.get(r.name, "")) for r in results]


def under_edit(prover: str, edit: RuleEdit, lines: Sequence[str]) -> dict[str, str]:
    """Line -> its verdict while a rule is edited; `GONE` where the statement it is a part of is refuted."""
    became: dict[str, str] = {}
    refuted: list[str] = []
    with editing(edit.switches):
        for result in provers()[prover](SolverSession()):
            refuted += [result.name] if result.verdict == "refuted" else []
            if result.name in lines:
                became[result.name] = result.verdict
            if len(became) == len(lines):
                break
    for line in lines:
        gone = any(line.startswith(f"{name}.") for name in refuted)
        became.setdefault(line, GONE if gone else MISSING)
    return became


def backoff_arithmetic(questions: SolverSession) -> Iterator[ProofResult]:
    """Whether a router takes every announced backoff for its own length, for each way to compute it."""
    from quidnunc.properties.proofs import backoff as network_backoff

    for way in network_backoff.WAYS.values():
        found = network_backoff.exact_range(questions, way)
        witness = found.first_wrong
        lines = [] if found.exact_up_to is None else [f"right for every value up to {found.exact_up_to}"]
        if witness is not None:
            lines.append(f"{witness} s becomes {found.becomes} of {way.unit} to the second")
        shown: Verdict = "proved" if found.exact_up_to is not None else "undetermined"
        yield ProofResult(
            name=f"backoff-arithmetic.{way.name}",
            text=way.text,
            verdict="refuted" if witness is not None else shown,
            scope="every unsigned 64-bit number of seconds",
            assumptions=("the length alone; what is added to it, such as the time of day, has room",),
            engine="z3, bit vectors",
            vacuous=not network_backoff.exact_for_a_minute(questions, way),
            evidence=tuple(lines),
        )


# -- mesh links ---------------------------------------------------------------------------------------------


def assumptions_of(name: str) -> tuple[str, ...]:
    """What the rules of a variant take for granted."""
    variant = VARIANTS[name]
    known = () if variant.announced else (HALF_ANNOUNCED,) if variant.unsub else (UNANNOUNCED,)
    scores = (SCORES,) if variant.backoff else ()
    timing = (TIMING,) if variant.backoff and not variant.expires_in_flight else ()
    return (CHANNELS, ATOMIC, NO_LOSS, JOINS, *known, *scores, *timing)


def bidirectional(name: str, questions: SolverSession) -> Iterator[ProofResult]:
    """Mesh links are mutual at rest, in one of `VARIANTS`: a shortest trace, or a proof for every N."""
    network = mesh_link(name, peers=2, d_high=1)
    trace = refuting_trace(questions, network, network.claim(BIDIRECTIONAL), depth=DEPTH)
    if trace is not None:
        yield _refutation(name, network, trace)
        return
    table = next((found for found in map(partial(_table, name), CAPACITIES) if found is not None), None)
    if table is None:
        yield _undecided(name, network, f"a pair is short of room with queues of {CAPACITIES[-1]} messages")
        return
    yield _for_every_size(name, table, questions)
    if readable(table):
        yield _readable(name, table.longest, questions)
    yield _not_by_itself(name, questions)


def _table(name: str, capacity: int) -> PairTable | None:
    """The states of a pair, where queues of `capacity` are as good as queues without a limit."""
    table = table_of(name, capacity=capacity)
    return table if table is not None and table.unbounded else None


def _text(network: NetworkModel) -> str:
    return network.claim(BIDIRECTIONAL).text


def _refutation(name: str, network: NetworkModel, trace: NetworkTrace) -> ProofResult:
    steps = len(trace.rules)
    return ProofResult(
        name=name,
        text=_text(network),
        verdict="refuted",
        scope="a pair of peers, any D_high, in any network with peers enough for the assumption on JOIN",
        assumptions=assumptions_of(name),
        engine="z3, bounded; the trace replayed by the interpreter",
        vacuous=not is_valid_trace(trace),
        evidence=(
            f"a trace of {steps} steps; none of fewer ({steps} questions unsatisfiable)",
            rules_by_version(network),
        ),
        trace=trace,
    )


def _undecided(name: str, network: NetworkModel, why: str) -> ProofResult:
    return ProofResult(
        name=name,
        text=_text(network),
        verdict="undetermined",
        scope=f"no trace of up to {DEPTH} steps between two peers",
        assumptions=assumptions_of(name),
        engine="z3, bounded",
        vacuous=False,
        evidence=(why,),
    )


def _for_every_size(name: str, table: PairTable, questions: SolverSession) -> ProofResult:
    """The claim from the table of a pair: inductive for small N, and by projection for every N."""
    evidence = [
        f"a pair has {len(table.states)} reachable states, with at most {table.longest} messages in a queue "
        f"of {table.capacity}, so that no queue is ever short of room",
        rules_by_version(table.abstraction),
    ]
    sound, vacuous = True, False
    for peers in PROVED_SIZES:
        network = mesh_link(name, peers=peers, d_high=None, capacity=table.capacity)
        foreign = [f for f in footprints(network) if f.foreign]
        seen = simulation(questions, network, table.abstraction) if peers > 2 else None
        shown = _inductive(questions, network, table.says, f"the table, N = {peers}")
        sound &= not foreign and shown.proved and (seen is None or seen.holds)
        vacuous |= bool(shown.idle) or not _met(questions, network, table)
        evidence.append(
            f"N = {peers}: the table is inductive and implies the claim; every rule is enabled in it"
            if shown.proved and not shown.idle
            else f"N = {peers}: the table is broken by {', '.join(shown.broken_by) or 'nothing'}"
        )
        if seen is not None:
            evidence.append(
                f"N = {peers}: {seen.mapped} rules map to a rule of the pair, {seen.stutters} leave it as it "
                f"is, {len(seen.broken)} do neither; updates that read beyond their pair: {len(foreign)}"
            )
    return ProofResult(
        name=name,
        text=_text(table.abstraction),
        verdict="proved" if sound else "undetermined",
        scope="every N, every D_high, queues of any capacity",
        assumptions=assumptions_of(name),
        engine="z3: inductive table of a pair, and link projection",
        vacuous=vacuous,
        evidence=tuple(evidence),
    )


def _met(questions: SolverSession, network: NetworkModel, table: PairTable) -> bool:
    """Whether the table has what the claim is about: two who hold each other, with nothing in flight."""
    linked = network.claim(LINKED).holds
    return questions.possible(
        f"{network.name}: a link at rest, N = {network.peers}", _all_pairs(network, table), linked
    )


def _all_pairs(network: NetworkModel, table: PairTable) -> Expression:
    return z3.And(*(table.says(network, pair) for pair in combinations(range(network.peers), 2)))


def _inductive(
    questions: SolverSession,
    network: NetworkModel,
    says: Callable[[NetworkModel, tuple[int, int]], Expression],
    label: str,
) -> InductionCheck:
    invariant = z3.And(
        *(says(network, pair) for pair in permutations(range(network.peers), 2) if pair[0] < pair[1])
    )
    goal = network.claim(BIDIRECTIONAL).holds
    return check_induction(questions, network, invariant, goal, label=f"{network.name}, {label}")


def _readable(name: str, capacity: int, questions: SolverSession) -> ProofResult:
    """The same from a few clauses that a person can read."""
    table = table_of(name, capacity=capacity)
    clauses = inferred_clauses(table) if table is not None else None

    def says(network: NetworkModel, pair: tuple[int, int]) -> Expression:
        both = (pair, (pair[1], pair[0]))
        return z3.And(*(expression_of(network, clause, one) for clause in clauses or () for one in both))

    proved, idle = bool(clauses), False
    for peers in PROVED_SIZES:
        network = mesh_link(name, peers=peers, d_high=None, capacity=capacity)
        shown = _inductive(questions, network, says, f"the clauses, N = {peers}")
        proved &= shown.proved
        idle |= bool(shown.idle)
    return ProofResult(
        name=f"{name}.clauses",
        text="the reason, in clauses of two peers A and B and their mirror images",
        verdict="proved" if proved else "undetermined",
        scope=f"N = 2, 3, 4, every D_high, queues of {capacity}, long enough by the table",
        assumptions=assumptions_of(name),
        engine="z3, of clauses inferred from the table",
        vacuous=idle,
        evidence=tuple(clause_sentence(clause) for clause in clauses or ()),
    )


def _not_by_itself(name: str, questions: SolverSession) -> ProofResult:
    """The claim is no invariant by itself: more must be known of what is in flight."""
    network = mesh_link(name, peers=2, d_high=None)
    goal = network.claim(BIDIRECTIONAL).holds
    shown = check_induction(questions, network, goal, goal, label=f"{name}, the claim by itself")
    verdict: Literal["proved", "refuted"] = "refuted" if shown.broken_by else "proved"
    return ProofResult(
        name=f"{name}.claim-alone",
        text="the claim by itself is inductive",
        verdict=verdict,
        scope="two peers, states that need not be reachable",
        assumptions=(),
        engine="z3",
        vacuous=bool(shown.idle),
        evidence=(f"broken by {', '.join(shown.broken_by)}",) if shown.broken_by else (),
    )
