"""Prove or refute statements about DOG's routes: progress, isolation, and that disabled routes come back.

The proof of the last one uses a rank: the number of disabled routes, plus the HaveTx in flight, plus one
while HaveTx is allowed. While the target finds too little redundancy at each adjustment, no step raises the
rank, and each ResetRoute that enables a route lowers it. So if every neighbour is sent ResetRoute again and
again, and takes its messages, every route is enabled in the end. z3 shows each of these steps. For small
networks the graph of all states is searched for a fair loop as well: there is none, and there is one as soon
as one of the hypotheses is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from quidnunc.properties.lazy import z3
from quidnunc.properties.proofs.dog.routes import (
    LOW_RULES,
    NOT_CUT_OFF,
    PROGRESS,
    REVISIONS,
    TAKING,
    RouteFields,
    dog_routes,
    routes_of,
    takes,
    weight,
)
from quidnunc.properties.solver.explore import explore
from quidnunc.properties.solver.induction import expression_after
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
from quidnunc.properties.solver.result import ProofResult
from quidnunc.properties.solver.rules import PEER_LETTERS, Expression, NetworkModel, NetworkRule, name_of
from quidnunc.properties.solver.trace import shortest_trace

RANKED_SIZES = (3, 4, 5)
"""Peers, the target among them."""
SEARCHED_PEERS = 3
"""Peers of the network of which every state is visited, the target among them."""
RANK_BITS = 6
"""Width of a rank: `rank` checks that the greatest one fits."""

CHANNELS = "channels are reliable and first-in first-out; nobody leaves"
FREE = "transactions are a free choice: whatever may come over an enabled route may come"
ONE_TARGET = (
    "a node's HaveTx and ResetRoute touch routes to that node alone (dog/havetx.target, dog/reset.own-target)"
)
LOW = "stays low: no adjustment of the target finds its redundancy at the upper bound or above"
ASKED = "fair choice: each neighbour is sent ResetRoute again and again"
TAKEN = "weak fairness: a neighbour with a message to take takes it in the end"


def route_results(name: str, questions: SolverSession) -> Iterator[ProofResult]:
    """The lines of `quidnunc prove` about one revision of DOG's routes."""
    yield from _of_states(name)
    graph = graph_of(dog_routes(name, peers=SEARCHED_PEERS))
    yield _ranking(name, questions, graph)
    yield from _of_runs(name, graph)


# -- of states ----------------------------------------------------------------------------------------------


def _of_states(name: str) -> Iterator[ProofResult]:
    network = dog_routes(name, peers=SEARCHED_PEERS)
    found = explore(network, engine="python", memory_bytes=1 << 30)
    for identity in (PROGRESS, NOT_CUT_OFF):
        claim = network.claim(identity)
        (seen,) = [c for c in found.claims if c.id == identity]
        refuted = seen.verdict == "refuted"
        yield ProofResult(
            name=f"{name}.{identity.partition('.')[2]}",
            text=claim.text,
            verdict=seen.verdict,
            scope=f"{REVISIONS[name].summary}; a target and {SEARCHED_PEERS - 1} neighbours, "
            f"queues of {network.parameters['capacity']}, all {found.states:,} states",
            assumptions=(CHANNELS, FREE, ONE_TARGET),
            engine="the interpreter, every reachable state",
            vacuous=found.states < 2,
            evidence=(f"a trace of {seen.trace_length} steps, and none of fewer",) if refuted else (),
            trace=shortest_trace(network, identity, engine="python") if refuted else None,
            states=(network, identity),
        )


# -- the ranking --------------------------------------------------------------------------------------------


def rank(at: RouteFields) -> Expression:
    """Disabled routes, HaveTx in flight, and one while HaveTx is allowed."""
    assert greatest_rank(at) < 1 << RANK_BITS, "a rank would overflow"
    one, none = z3.BitVecVal(1, RANK_BITS), z3.BitVecVal(0, RANK_BITS)
    total = z3.If(at.blocked(), none, one)
    for p, s in at.cuts():
        total = total + z3.If(at.cut(p, s), one, none)
    haves = frozenset(range(1, at.reset))
    for p in range(at.neighbours):
        total = total + weight(at, p, haves, RANK_BITS)
    return total


def greatest_rank(at: RouteFields) -> int:
    """An upper bound of the rank: every route disabled, every queue full of HaveTx, HaveTx allowed."""
    return len(at.cuts()) + at.capacity * at.neighbours + 1


def _well_formed(at: RouteFields) -> Expression:
    """Each queue holds a code that stands for some content; not every value of its bits does."""
    channels = [at.channel(p) for p in range(at.neighbours)]
    return z3.And(*(z3.ULE(c.symbol, c._value(c._least(c.capacity + 1) - 1)) for c in channels))


@frozen
class ProofObligation:
    """One step of the argument, and what z3 found against it."""

    text: str
    broken_by: tuple[str, ...]
    asked: int
    """Questions that were put to z3."""

    @property
    def holds(self) -> bool:
        return not self.broken_by


def low_rules(network: NetworkModel) -> list[NetworkRule]:
    """The rules that are left if no adjustment of the target finds too much redundancy."""
    return [rule for rule in network.rules if rule.kind != "high"]


def obligations(network: NetworkModel, questions: SolverSession) -> Iterator[ProofObligation]:
    """The steps of the argument, for a network of one size. Each asks z3 as it is taken."""
    at = routes_of(network)
    falling = low_rules(network)
    mending = [rule for rule in network.rules if rule.kind.startswith("resets")]
    steps = (
        (
            f"each of {len(falling)} rules never raises the rank",
            _kept(network, at, questions, "never raises the rank", falling, strict=False),
        ),
        (
            f"each of {len(mending)} rules mends, and lowers the rank",
            _kept(network, at, questions, "mends, and lowers the rank", mending, strict=True),
        ),
        (
            "a disabled route is enabled by a ResetRoute that its holder takes, and by nothing else",
            _mended_otherwise(network, at, questions),
        ),
        (
            "the oldest message can be taken, and a ResetRoute does not leave every disabled route as it is",
            _not_taken(network, at, questions),
        ),
        (
            "nothing passes the oldest message, and who cannot be asked for want of room has one to take",
            _passing(network, at, questions),
        ),
    )
    for text, faults in steps:
        before = questions.asked
        yield ProofObligation(text, tuple(faults), questions.asked - before)


def _kept(
    network: NetworkModel,
    at: RouteFields,
    questions: SolverSession,
    text: str,
    rules: Sequence[NetworkRule],
    *,
    strict: bool,
) -> Iterator[str]:
    """The rules that raise the rank, or, if `strict`, do not lower it."""
    for rule in rules:
        now, then = rank(at), expression_after(network, rule, rank(at))
        met = z3.And(_well_formed(at), rule.guard)
        if rule.kind == "resets-all":
            p = rule.about[0]
            met = z3.And(met, z3.Or(*(at.cut(p, s) for s in at.sources(p))))
        less = z3.UGT(now, then) if strict else z3.UGE(now, then)
        label = f"{network.name}, {network.peers}: {rule.name}"
        if not questions.valid(f"{label} {text}", z3.Implies(met, less)):
            yield rule.name
        # A rule that is enabled nowhere proves nothing.
        elif not questions.possible(f"{label} is enabled", met, z3.Not(False)):
            yield f"{rule.name}, which is never enabled"


def _mended_otherwise(network: NetworkModel, at: RouteFields, questions: SolverSession) -> Iterator[str]:
    """The rules that enable a disabled route, and are no ResetRoute that its holder takes."""
    for p, s in at.cuts():
        for rule in network.rules:
            # A rule that does not write the route leaves it as it is.
            if name_of("cut", (p, s)) not in rule.updates or _mends(rule, p):
                continue
            cut = at.cut(p, s)
            kept = z3.Implies(z3.And(_well_formed(at), rule.guard, cut), expression_after(network, rule, cut))
            if not questions.valid(f"{network.name}: {rule.name} keeps the route at {p} from {s} cut", kept):
                yield rule.name


def _mends(rule: NetworkRule, p: int) -> bool:
    return rule.kind.startswith("resets") and rule.about[0] == p


def _not_taken(network: NetworkModel, at: RouteFields, questions: SolverSession) -> Iterator[str]:
    """Who has a message that it cannot take, or where a route is cut and a ResetRoute mends none."""
    for p in range(at.neighbours):
        waiting = z3.And(_well_formed(at), z3.Not(at.channel(p).empty()))
        if not questions.valid(f"{network.name}: {p} can take what waits", z3.Implies(waiting, takes(at, p))):
            yield f"a message to {PEER_LETTERS[p]}"
        mends = [rule.guard for rule in network.rules if _mends(rule, p)]
        due = z3.And(at.channel(p).head_is(at.reset), z3.Or(*(at.cut(p, s) for s in at.sources(p))))
        if not questions.valid(f"{network.name}: {p} mends one", z3.Implies(due, z3.Or(*mends))):
            yield f"a ResetRoute to {PEER_LETTERS[p]}"


def _passing(network: NetworkModel, at: RouteFields, questions: SolverSession) -> Iterator[str]:
    """The rules by which something passes what waits, which else comes nearer to the head with every message
    taken; and who is not asked though there is room."""
    for p in range(at.neighbours):
        channel = at.channel(p)
        for rule in network.rules:
            if at.name(p) not in rule.updates or (_takes(rule.kind) and rule.about[0] == p):
                continue
            for message in range(1, at.reset + 1):
                head = channel.head_is(message)
                kept = z3.Implies(
                    z3.And(_well_formed(at), rule.guard, head), expression_after(network, rule, head)
                )
                if not questions.valid(f"{network.name}: {rule.name} leaves the head of {p}", kept):
                    yield rule.name
        asking = [r for r in network.rules if r.kind in LOW_RULES and r.about == (p,)]
        room = z3.Implies(z3.And(_well_formed(at), z3.Not(channel.room())), z3.Not(channel.empty()))
        if not asking or not questions.valid(f"{network.name}: {p} without room has a message", room):
            yield f"asking {PEER_LETTERS[p]}"


def _ranking(name: str, questions: SolverSession, graph: StateGraph) -> ProofResult:
    evidence, sound = [], True
    for peers in RANKED_SIZES:
        network = dog_routes(name, peers=peers)
        for step in obligations(network, questions):
            sound &= step.holds
            if not step.holds or peers == RANKED_SIZES[0]:
                broken = ", ".join(sorted(set(step.broken_by))[:4])
                said = "shown" if step.holds else f"NOT shown, for {broken}"
                evidence.append(f"{peers} peers, {step.asked} questions: {step.text}: {said}")
        evidence.append(f"{peers} peers: the rank is at most {greatest_rank(routes_of(network))}")
    lasso = None if sound else loop_against(graph, Hypotheses())
    whole = Hypotheses()
    refuted = lasso is not None and holds_in(graph, lasso, fairness(graph, whole), allowed(graph, whole))
    if lasso is not None:
        evidence.append(told(graph.network, lasso))
    met = questions.possible(
        f"{name}: a route is cut", rank(routes_of(dog_routes(name, peers=SEARCHED_PEERS))) != 0
    )
    sizes = ", ".join(map(str, RANKED_SIZES))
    return ProofResult(
        name=f"{name}.route-reset",
        text="while the target's redundancy stays low, every disabled route to it is enabled in the end",
        verdict="proved" if sound else "refuted" if refuted else "undetermined",
        scope=f"{REVISIONS[name].summary}; from any state; {sizes} peers, the target among them",
        assumptions=(LOW, ASKED, TAKEN, CHANNELS, FREE, ONE_TARGET),
        engine="z3: a rank that never grows, and that every effective ResetRoute lowers",
        vacuous=not met,
        evidence=tuple(evidence),
    )


# -- of runs ------------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Hypotheses:
    """Which hypotheses are made about an endless run."""

    low: bool = True
    asked: bool = True
    taken: bool = True

    def left_out(self) -> str:
        """The names of the hypotheses that are not made."""
        names = {"low": "stays low", "asked": "fair choice", "taken": "messages are taken"}
        return ", ".join(text for name, text in names.items() if not getattr(self, name))


def fairness(graph: StateGraph, asked: Hypotheses) -> list[FairnessCondition]:
    """The groups of rules that an endless run must take again and again, under these hypotheses."""
    at = routes_of(graph.network)
    found = []
    for p in range(at.neighbours):
        rules = {n: r for n, r in enumerate(graph.network.rules) if r.about[:1] == (p,)}
        if asked.taken:
            taking = frozenset(n for n, r in rules.items() if _takes(r.kind))
            found.append(FairnessCondition(name=f"{PEER_LETTERS[p]} takes", rules=taking))
        if asked.asked:
            asking = frozenset(n for n, r in rules.items() if r.kind in LOW_RULES)
            found.append(FairnessCondition(name=f"{PEER_LETTERS[p]} is asked", rules=asking, strong=True))
    if not asked.asked:
        everybody = graph.rules(lambda kind: kind in LOW_RULES)
        found.append(FairnessCondition(name="somebody is asked", rules=everybody, strong=True))
    return found


def _takes(kind: str) -> bool:
    return kind in TAKING or kind in ("cuts-echo", "resets-echo")


def allowed(graph: StateGraph, asked: Hypotheses) -> frozenset[int]:
    """The numbers of the rules that a loop may take, under these hypotheses."""
    return graph.rules(lambda kind: kind != "high" or not asked.low)


def loop_against(graph: StateGraph, asked: Hypotheses) -> Lasso | None:
    """A fair endless run in which some route is disabled again and again; None if there is none."""
    everywhere = frozenset(range(len(graph.states)))
    return fair_loop(
        graph,
        fair=fairness(graph, asked),
        within=everywhere,
        allowed=allowed(graph, asked),
        hits=_cut_somewhere(graph),
    )


def _cut_somewhere(graph: StateGraph) -> frozenset[int]:
    at = routes_of(graph.network)
    return graph.where(z3.Or(*(at.cut(p, s) for p, s in at.cuts())))


def _of_runs(name: str, graph: StateGraph) -> Iterator[ProofResult]:
    """The same statement by a search for fair loops: with all hypotheses, and without each of them."""
    whole = Hypotheses()
    text = "while the target's redundancy stays low, from some time on no route to it is disabled"
    yield _by_components(name, "route-reset.components", text, graph, whole)
    for asked in (Hypotheses(low=False), Hypotheses(asked=False), Hypotheses(taken=False)):
        text = f"the same without: {asked.left_out()}"
        identity = f"route-reset.without-{asked.left_out().replace(' ', '-')}"
        yield _by_components(name, identity, text, graph, asked)


def _by_components(name: str, identity: str, text: str, graph: StateGraph, asked: Hypotheses) -> ProofResult:
    lasso = loop_against(graph, asked)
    hypotheses = {LOW: asked.low, ASKED: asked.asked, TAKEN: asked.taken}
    # A loop that is no run of the network refutes nothing: the fault is in the search.
    replays = lasso is not None and holds_in(graph, lasso, fairness(graph, asked), allowed(graph, asked))
    return ProofResult(
        name=f"{name}.{identity}",
        text=text,
        verdict="proved" if lasso is None else "refuted" if replays else "undetermined",
        scope=f"{REVISIONS[name].summary}; {graph.network.peers} peers, queues of "
        f"{graph.network.parameters['capacity']}, all {len(graph.states):,} states",
        assumptions=(*(h for h, there in hypotheses.items() if there), CHANNELS, FREE, ONE_TARGET),
        engine="fair components of the graph of all states; each loop stepped again",
        vacuous=not _cut_somewhere(graph),
        evidence=() if lasso is None else (told(graph.network, lasso),),
    )
