"""What is decided of a target of DOG that hears of a source through relays: cut off, and for ever?

Each line is about all states of one small network, in which every transaction is told. A state in which the
target is cut off is found by search, with a shortest run; whether it is cut off for ever by the components
of the graph of all states, each loop stepped again.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from quidnunc.properties.lazy import z3
from quidnunc.properties.proofs.dog.controller_prove import READ_AS_HIGH, READ_AS_IDLE
from quidnunc.properties.proofs.dog.cut_off import (
    ASKS,
    AT_REST,
    BACK,
    LEFT,
    OFFERED,
    OPENS,
    dog_cut_off,
    relays_of,
)
from quidnunc.properties.proofs.dog.relays import PLAIN, SOURCE, TARGET, TEXTS, RelaySetting, any_of
from quidnunc.properties.solver.interpret import interpreter
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
from quidnunc.properties.solver.rules import PEER_LETTERS, Expression
from quidnunc.properties.solver.trace import NetworkTrace

PEERS = 4
"""The source, the target, two relays."""
SHORT = 1
"""Messages in a queue, where the question is not about what may wait there."""

CHANNELS = "channels are reliable and first-in first-out, one for each direction"
ONE_BY_ONE = "a transaction of the source is handed on by all relays at once, and the next comes after it"
FIRST = "the relays have each transaction first from the source, and have no other peers"
FEW = "at most three new transactions and three duplicates in an interval, or two where queues are of one"
STAYS = "nobody leaves"
ONE_LEAVES = "one relay leaves the target at most, and does not come back"
DELTA = "a delta of 10 percent, and a target redundancy of 1 unless it is said to be 0"
WEAK = "weak fairness: the source submits, copies land, relays take their messages"
RUNS = "the controller runs again and again, and its choice of whom to ask is fair"
ALONE = "nothing comes to the target but what the source has"
EACH = "a user of the target submits a transaction in each interval"

ASKING = frozenset({"low", "idle-ask"})
TAKING = frozenset({"cuts", "cuts-nothing", "resets", "nothing-to-reset"})
LANDING = frozenset({"first", "again", "answered"})
CONTROLLING = ASKING | {"high", "in-band"}


@frozen(kw_only=True)
class CutOffProblem:
    """A setting, with the states that are asked about and what to say of them."""

    setting: RelaySetting
    claims: tuple[tuple[str, str], ...] = ()
    """(the end of a line's name, the claim)."""
    for_ever: tuple[tuple[str, bool], ...] = ()
    """(the end of a line's name, whether the target's user submits too)."""
    assumptions: tuple[str, ...] = (CHANNELS, ONE_BY_ONE, FIRST, FEW, STAYS, DELTA)
    said: str = ""
    met: str = ""
    """The kind of a rule without which the claims are about nothing."""


_LEAVING = (CHANNELS, ONE_BY_ONE, FIRST, FEW, ONE_LEAVES, DELTA)
CASES = (
    CutOffProblem(
        setting=PLAIN,
        claims=(("at-rest", AT_REST),),
        for_ever=(("in-the-end-alone", False), ("in-the-end", True)),
        met="cuts",
    ),
    CutOffProblem(
        setting=evolve(PLAIN, redundancy=0),
        for_ever=(("target-0.in-the-end", True),),
        said=", a target redundancy of 0",
        met="cuts",
    ),
    CutOffProblem(
        setting=evolve(PLAIN, leaves=True, most=2, capacity=SHORT),
        claims=(("relay-leaves.at-rest", LEFT), ("relay-leaves.asks-who-is-there", ASKS)),
        for_ever=(("relay-leaves.in-the-end-alone", False), ("relay-leaves.in-the-end", True)),
        assumptions=_LEAVING,
        said=", one of which may leave",
        met="leaves-asks",
    ),
    CutOffProblem(
        setting=evolve(PLAIN, source_lost=True, most=2, capacity=SHORT),
        claims=(("source-leaves.back-is-open", BACK),),
        assumptions=(CHANNELS, ONE_BY_ONE, FIRST, FEW, DELTA),
        said=", which may lose the source and get it back",
        met="returns",
    ),
    CutOffProblem(
        setting=evolve(PLAIN, echo=True, most=2, capacity=SHORT),
        claims=(("own.reset-opens", OPENS),),
        said="; the target and A may submit the same",
        met="resets",
    ),
    CutOffProblem(
        setting=evolve(PLAIN, users=True, most=2, capacity=SHORT),
        claims=(("own.is-offered", OFFERED),),
        said="; A and the source may submit the same",
        met="offers",
    ),
)


def cut_off_results(name: str, questions: SolverSession) -> Iterator[ProofResult]:
    """Every line about one of `TEXTS`. Nothing here is asked of z3."""
    for case in CASES:
        graph = graph_of(dog_cut_off(name, peers=PEERS, setting=case.setting))
        for end, claim in case.claims:
            yield _of_states(name, end, claim, case, graph)
        for end, user in case.for_ever:
            yield _of_runs(name, end, user, case, graph)


def _scope(name: str, case: CutOffProblem, graph: StateGraph) -> str:
    queues = case.setting.capacity
    return (
        f"{TEXTS[name].routes.summary}; a source, a target and {PEERS - 2} relays{case.said}; "
        f"queues of {queues}, all {len(graph.states):,} states"
    )


def _assumed(name: str, case: CutOffProblem) -> tuple[str, ...]:
    """What a text leaves undefined is read, besides what the setting takes for granted."""
    undefined = TEXTS[name].controller.undefined_at_zero
    return (*case.assumptions, READ_AS_HIGH, READ_AS_IDLE) if undefined else case.assumptions


def _of_states(name: str, end: str, claim_id: str, case: CutOffProblem, graph: StateGraph) -> ProofResult:
    claim = graph.network.claim(claim_id)
    against = graph.where(claim.noted())
    trace = trace_to(graph, min(against), claim_id) if against else None
    steps = len(trace.rules) if trace is not None else 0
    return ProofResult(
        name=f"{name}.{end}",
        text=claim.text,
        verdict="refuted" if against else "proved",
        scope=_scope(name, case, graph),
        assumptions=_assumed(name, case),
        engine="the interpreter, every reachable state",
        vacuous=not _fires(graph, case.met),
        evidence=(f"a trace of {steps} steps, and none of fewer",) if against else (),
        trace=trace,
        states=(graph.network, claim_id),
    )


def trace_to(graph: StateGraph, state: int, claim_id: str) -> NetworkTrace:
    """A shortest run to a state: states are numbered in the order of a breadth-first search."""
    steps, rules, at = interpreter(graph.network), graph.run_to(state), 0
    words = [steps.word(graph.states[0])]
    for rule in rules:
        at = next(to for number, to in graph.steps[at] if number == rule)
        words.append(steps.word(graph.states[at]))
    return NetworkTrace(graph.network, claim_id, tuple(words), tuple(rules))


def _fires(graph: StateGraph, kind: str) -> bool:
    """Whether a rule of that kind is enabled somewhere."""
    wanted = graph.rules(lambda each: each == kind)
    return any(rule in wanted for steps in graph.steps for rule, _ in steps)


# -- for ever -----------------------------------------------------------------------------------------------


def fairness(graph: StateGraph, user: bool) -> list[FairnessCondition]:
    """The groups of rules that must have their share."""
    rules = graph.network.rules

    def of(kinds: frozenset[str], p: int | None = None) -> frozenset[int]:
        return frozenset(
            n for n, rule in enumerate(rules) if rule.kind in kinds and (p is None or rule.about == (p,))
        )

    asking = ASKING - {"idle-ask"} if user else ASKING
    found = [
        FairnessCondition(name=f"{SOURCE} submits", rules=of(frozenset({"submit"}))),
        FairnessCondition(name="the controller runs", rules=of(CONTROLLING - (ASKING - asking)), strong=True),
    ]
    if user:
        found.append(FairnessCondition(name=f"a user of {TARGET} submits", rules=of(frozenset({"own"}))))
    for p in range(graph.network.peers - 2):
        letter = PEER_LETTERS[p]
        found.append(FairnessCondition(name=f"the copy of {letter} lands", rules=of(LANDING, p)))
        found.append(FairnessCondition(name=f"{letter} takes", rules=of(TAKING, p)))
        found.append(FairnessCondition(name=f"{letter} is asked", rules=of(asking, p), strong=True))
    return [each for each in found if each.rules]


def allowed(graph: StateGraph, user: bool) -> frozenset[int]:
    """The rules that may be taken for ever: no interval is idle, or the source alone has something."""
    return graph.rules(lambda kind: kind != ("idle-ask" if user else "own"))


def cut_off(graph: StateGraph, setting: RelaySetting) -> Expression:
    """States in which nothing of the source comes to the target; after a relay has left, where one may."""
    at = relays_of(graph.network, setting)
    if setting.leaves:
        return z3.And(at.cut_off(), any_of(*(at.at("gone", p) for p in at.each())))
    return at.cut_off()


def loop_against(graph: StateGraph, setting: RelaySetting, user: bool) -> Lasso | None:
    """A fair run in which the target is cut off from some time on; None where there is none."""
    shut = graph.where(cut_off(graph, setting))
    return fair_loop(graph, fair=fairness(graph, user), within=shut, allowed=allowed(graph, user), hits=shut)


def _of_runs(name: str, end: str, user: bool, case: CutOffProblem, graph: StateGraph) -> ProofResult:
    lasso = loop_against(graph, case.setting, user)
    again = lasso is None or holds_in(graph, lasso, fairness(graph, user), allowed(graph, user))
    who = "who is cut off" if not case.setting.leaves else "who is cut off after a relay has left"
    return ProofResult(
        name=f"{name}.{end}",
        text=f"{who} is so no longer in the end, "
        + (f"if a user of {TARGET} submits in each interval" if user else f"though {SOURCE} alone submits"),
        verdict="proved" if lasso is None else "refuted",
        scope=_scope(name, case, graph),
        assumptions=(*_assumed(name, case), WEAK, RUNS, EACH if user else ALONE),
        engine="fair components of the graph of all states; each loop stepped again",
        vacuous=not again or not graph.where(cut_off(graph, case.setting)),
        evidence=() if lasso is None else (told(graph.network, lasso),),
    )
