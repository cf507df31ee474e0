"""Who is cut off from a source in DOG: counted by a second hand, and run again on nodes of the model."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest
from attrs import evolve

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from quidnunc.model.errors import SpecError
from quidnunc.model.mempool.dog.variants import VARIANTS
from quidnunc.model.mempool.protocols import DOG
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.networks.acts import Act
from quidnunc.properties.networks.mempool import MempoolNetwork as Nodes
from quidnunc.properties.networks.network import network_after
from quidnunc.properties.proofs.dog import relays as network_dog_relays
from quidnunc.properties.proofs.dog.cut_off import dog_cut_off
from quidnunc.properties.proofs.dog.cut_off_prove import (
    CASES,
    PEERS,
    CutOffProblem,
    allowed,
    cut_off_results,
    fairness,
    loop_against,
    trace_to,
)
from quidnunc.properties.proofs.dog.relays import PLAIN, TEXTS, RelaySetting
from quidnunc.properties.solver.liveness import StateGraph, graph_of, holds_in
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.rules import NetworkModel, NetworkRule, guarded
from quidnunc.properties.solver.trace import NetworkTrace, is_valid_trace
from tests.helpers.small_networks import network_of

DOG_NAME, ADR, PROSE, QUINT, GO, PROPOSED = TEXTS
CASE = {end: case for case in CASES for end, _ in (*case.claims, *case.for_ever)}
CLAIMS = {end: claim for case in CASES for end, claim in case.claims}


def graph_anew(name: str, case: CutOffProblem) -> StateGraph:
    return graph_of(dog_cut_off(name, peers=PEERS, setting=case.setting))


graph = lru_cache(maxsize=None)(graph_anew)


def refuting(name: str, end: str, *, anew: bool = False) -> NetworkTrace | None:
    """A shortest trace against the claim of a line."""
    found = (graph_anew if anew else graph)(name, CASE[end])
    against = found.where(found.network.claim(CLAIMS[end]).noted())
    return trace_to(found, min(against), CLAIMS[end]) if against else None


# -- what is decided ----------------------------------------------------------------------------------------


def test_the_lines_of_the_specification() -> None:
    found = {r.name.removeprefix(f"{DOG_NAME}."): r for r in cut_off_results(DOG_NAME, SolverSession())}
    assert list(found) == list(CASE)
    assert not any(r.vacuous for r in found.values())
    proved = {end for end, r in found.items() if r.verdict == "proved"}
    assert proved == {
        "in-the-end",
        "relay-leaves.asks-who-is-there",
        "relay-leaves.in-the-end",
        "source-leaves.back-is-open",
    }
    lengths = {end: len(r.trace.rules) for end, r in found.items() if r.trace is not None}
    assert lengths == {"at-rest": 11, "relay-leaves.at-rest": 5, "own.reset-opens": 10, "own.is-offered": 7}
    assert all(r.trace is None or is_valid_trace(r.trace) for r in found.values())


@pytest.mark.parametrize(
    ("name", "end", "steps"),
    [
        (QUINT, "relay-leaves.asks-who-is-there", 2),
        (GO, "relay-leaves.asks-who-is-there", 2),
        (GO, "source-leaves.back-is-open", 6),
        (ADR, "own.is-offered", None),
        (ADR, "own.reset-opens", None),
        (PROPOSED, "own.reset-opens", None),
    ],
)
def test_where_the_texts_differ(name: str, end: str, steps: int | None) -> None:
    trace = refuting(name, end)
    assert (None if trace is None else len(trace.rules)) == steps


def test_words_clauses_and_sizes() -> None:
    known = set(load())
    for name in TEXTS:
        for case in CASES:
            network = dog_cut_off(name, peers=PEERS, setting=case.setting)
            assert {rule.clause for rule in network.rules} | {c.clause for c in network.claims} <= known
            assert {rule.kind for rule in network.rules} <= set(network.phrases)
    with pytest.raises(SpecError, match="needs 4 or 5 peers .*, got 3"):
        dog_cut_off(DOG_NAME, peers=3)


@pytest.mark.parametrize("most", [0, 4])
def test_counters_hold_the_most_of_an_interval(most: int) -> None:
    with pytest.raises(SpecError, match=f"most: expected 1 to 3, got {most}"):
        RelaySetting(most=most)


def test_a_rule_updates_a_field_once() -> None:
    with pytest.raises(AssertionError, match="two updates of one field"):
        guarded("loses", (0,), "", z3.BoolVal(True), {"lost_0": True}, {"lost_0": False})


# -- a second hand ------------------------------------------------------------------------------------------

State = tuple[Any, ...]
"""(HaveTx allowed, N has the transaction, new, again; routes cut; copies; messages to A and to B)."""


def outcome(new: int, again: int) -> str:
    """At a target of 1 and 10 percent."""
    if not new or not again:
        return "low" if new else "high" if again else "idle"
    ratio = again / new
    return "low" if ratio < 0.9 else "band" if ratio < 1.1 else "high"


def moves(state: State) -> Iterator[State]:
    """Written from the words of the protocol and not from the rules."""
    allowed, known, new, again, cuts, copies, queues = state

    def put(among: tuple[Any, ...], p: int, one: Any) -> tuple[Any, ...]:
        return tuple(one if i == p else other for i, other in enumerate(among))

    if new < 3:
        yield allowed, known, new + 1, again, cuts, copies, queues
    if not any(copies):
        yield allowed, known, new, again, cuts, tuple(not cut for cut in cuts), queues
    what = outcome(new, again)
    if what in ("band", "high"):
        yield allowed or what == "high", known, 0, 0, cuts, copies, queues
    for p in (0, 1):
        if what == "low" and len(queues[p]) < 2:
            yield allowed, known, 0, 0, cuts, copies, put(queues, p, (*queues[p], "reset"))
        if copies[p]:
            left = put(copies, p, False)
            if not known and new < 3:
                yield allowed, any(left), new + 1, again, cuts, left, queues
            if known and again < 3 and not allowed:
                yield allowed, any(left), new, again + 1, cuts, left, queues
            if known and again < 3 and allowed and len(queues[p]) < 2:
                told = put(queues, p, (*queues[p], "have"))
                yield False, any(left), new, again + 1, cuts, left, told
        if queues[p]:
            rest = put(queues, p, queues[p][1:])
            yield allowed, known, new, again, put(cuts, p, queues[p][0] == "have"), copies, rest


def test_a_second_hand_counts_the_same() -> None:
    start: State = (True, False, 0, 0, (False, False), (False, False), ((), ()))
    seen, transitions, pending = {start}, 0, [start]
    while pending:
        for after in moves(pending.pop()):
            transitions += 1
            if after not in seen:
                seen.add(after)
                pending.append(after)
    found = graph(DOG_NAME, CASE["at-rest"])
    assert (len(found.states), sum(map(len, found.steps))) == (len(seen), transitions)
    assert len(seen) == 11410


# -- on nodes of the model ----------------------------------------------------------------------------------

S, A, B, N = 1, 2, 3, 4
RELAYS = (A, B)


class Replay:
    """A trace of rules, done by nodes of the model that are joined as the network is."""

    def __init__(self, protocol: Any) -> None:
        self.network: Nodes = network_of(protocol, [(S, A), (S, B), (A, N), (B, N)])
        self.count = 0

    def do(self, *acts: Act) -> None:
        for act in acts:
            self.network = network_after(self.network, act).after

    def fresh(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def handed_on(self, tx: str) -> None:
        self.do(Act("submit", S, id=tx), Act("offer", S))
        for p in RELAYS:
            if any(sender == S for sender, _ in self.network.inbox[p]):
                self.do(Act("deliver", S, p), Act("offer", p))

    def follow(self, rule: NetworkRule) -> None:
        p = RELAYS[rule.about[0]] if rule.about else 0
        match rule.kind:
            case "submit":
                self.handed_on(self.fresh())
            case "own":
                self.do(Act("submit", N, id=self.fresh()))
            case "first" | "again" | "answered":
                before = len(self.network.inbox[p])
                self.do(Act("deliver", p, N))
                assert (len(self.network.inbox[p]) > before) == (rule.kind == "answered")
            case "low":
                self.do(Act("adjust", N, picks=(("reset.target", frozenset([p])),)))
            case "high" | "in-band":
                self.do(Act("adjust", N))
            case "cuts" | "resets" | "nothing-to-reset":
                self.do(Act("deliver", N, p))
            case "leaves-in-band":
                self.do(Act("leave", p), Act("notice", N, p))
            case "loses":
                self.do(Act("leave", S), Act("notice", p, S))
            case "returns":
                self.do(Act("join", S, peers=(p,)))
            case "user":
                self.do(Act("submit", p, id="own"))
            case "both":
                self.do(Act("submit", S, id="own"), Act("offer", S), Act("deliver", S, p))
            case "withholds":
                self.do(Act("offer", p))
            case _:
                raise AssertionError(f"no act stands for {rule.kind}")


def followed(protocol: Any, trace: NetworkTrace) -> Replay:
    replay = Replay(protocol)
    for number in trace.rules:
        replay.follow(trace.network.rules[number])
    return replay


@pytest.mark.parametrize("end", ["at-rest", "relay-leaves.at-rest"])
@pytest.mark.parametrize("name", [DOG_NAME, ADR, PROSE, GO, PROPOSED])
def test_nodes_of_the_model_are_cut_off_as_well(name: str, end: str) -> None:
    trace = refuting(name, end)
    assert trace is not None
    replay = followed(DOG if name == DOG_NAME else VARIANTS[name.replace("-cut-off", "")], trace)
    assert not any(replay.network.inbox.values())
    tx = replay.fresh()
    replay.handed_on(tx)
    assert tx in replay.network.nodes[B].pool and not replay.network.inbox[N]


def test_a_node_of_the_model_withholds_its_own() -> None:
    trace = refuting(DOG_NAME, "own.is-offered")
    assert trace is not None
    replay = followed(DOG, trace)
    assert "own" in replay.network.nodes[A].pool and not replay.network.inbox[N]
    # ADR-119 has it go to all peers: the same end of a run that has cut A off from the target.
    found = graph(ADR, CASE["own.is-offered"])
    cut = trace_to(found, min(found.where(z3.Bool("cut_0"))), CLAIMS["own.is-offered"])
    adr = followed(VARIANTS["dog-adr"], cut)
    assert S in adr.network.nodes[A].disabled_to(N).must
    waiting = len(adr.network.inbox[N])
    adr.do(
        Act("submit", A, id="own"),
        Act("submit", S, id="own"),
        Act("offer", S),
        Act("deliver", S, A),
        Act("offer", A),
    )
    assert len(adr.network.inbox[N]) == waiting + 1


def test_a_route_from_a_source_that_was_gone_is_stale_in_the_quint_text() -> None:
    trace = refuting(QUINT, "source-leaves.back-is-open")
    assert trace is not None
    stale = followed(VARIANTS["dog-quint"], trace).network.nodes
    assert S in stale[B].disabled_to(N).must or S in stale[A].disabled_to(N).must
    mended = followed(DOG, trace).network.nodes
    assert not mended[B].disabled_to(N).most and not mended[A].disabled_to(N).most


# -- planted errors -----------------------------------------------------------------------------------------


def planted(network: NetworkModel, kind: str, without: str) -> NetworkModel:
    """The network with rules of one kind that leave some fields as they are."""
    assert any(rule.kind == kind for rule in network.rules)
    return evolve(
        network,
        rules=tuple(
            evolve(r, updates={n: v for n, v in r.updates.items() if not n.startswith(without)})
            if r.kind == kind
            else r
            for r in network.rules
        ),
    )


def cut_off_somewhere(network: NetworkModel, claim: str) -> bool:
    found = graph_of(network)
    return bool(found.where(network.claim(claim).noted()))


def test_a_planted_error_changes_what_is_refuted() -> None:
    plain = dog_cut_off(DOG_NAME, peers=PEERS, setting=evolve(PLAIN, capacity=1))
    assert cut_off_somewhere(plain, CLAIMS["at-rest"])
    assert not cut_off_somewhere(planted(plain, "cuts", "cut"), CLAIMS["at-rest"])
    losing = dog_cut_off(DOG_NAME, peers=PEERS, setting=CASE["source-leaves.back-is-open"].setting)
    assert cut_off_somewhere(planted(losing, "loses", "cut"), CLAIMS["source-leaves.back-is-open"])


@pytest.mark.parametrize(
    ("end", "switch"),
    [
        ("relay-leaves.asks-who-is-there", {"asks_lost": True}),
        ("source-leaves.back-is-open", {"stale": True}),
        ("own.is-offered", {"own_filtered": False}),
    ],
)
def test_each_line_turns_on_its_switch(
    end: str, switch: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = refuting(DOG_NAME, end)
    turned = {**TEXTS, DOG_NAME: evolve(TEXTS[DOG_NAME], **switch)}
    monkeypatch.setattr(network_dog_relays, "TEXTS", turned)
    monkeypatch.setattr("quidnunc.properties.proofs.dog.cut_off.TEXTS", turned)
    assert (refuting(DOG_NAME, end, anew=True) is None) != (before is None)


def looped(network: NetworkModel, setting: RelaySetting, user: bool) -> bool:
    found = graph_of(network)
    lasso = loop_against(found, setting, user)
    if lasso is not None:
        assert holds_in(found, lasso, fairness(found, user), allowed(found, user))
    return lasso is not None


def test_who_asks_in_vain_is_cut_off_for_ever() -> None:
    setting = evolve(PLAIN, capacity=1)
    plain = dog_cut_off(DOG_NAME, peers=PEERS, setting=setting)
    assert not looped(plain, setting, user=True)
    assert looped(planted(plain, "resets", "cut"), setting, user=True)
    # And without anything of its own it never asks, unless it does after idle intervals.
    assert looped(plain, setting, user=False)
    assert not looped(dog_cut_off(PROPOSED, peers=PEERS, setting=setting), setting, user=False)
