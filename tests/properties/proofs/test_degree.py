"""Degrees after a heartbeat: bounds that break where a phase is wrong, and heartbeats of the model."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from attrs import evolve, frozen

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from quidnunc.model.events import Advance
from quidnunc.model.parameters import Parameters
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_0, GOSSIPSUB_1_1
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rules import Protocol
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.networks.acts import Act, act_of
from quidnunc.properties.networks.choices import NamedChoices
from quidnunc.properties.networks.network import NodeSetup, drawn, network_after, opened
from quidnunc.properties.networks.pubsub import PUBSUB, RouterStep
from quidnunc.properties.proofs.degree import (
    REVISIONS,
    HeartbeatRevision,
    HeartbeatSymbols,
    bound_results,
    bounds,
    heartbeat,
    of_bound,
)
from quidnunc.properties.solver.questions import SolverSession

REFUTED = {"mesh-degree.1.1.ceiling", "mesh-degree.1.1-go.ceiling"}


def test_what_is_decided() -> None:
    found = {r.name: r for r in bound_results(SolverSession())}
    assert {name for name, r in found.items() if r.verdict == "refuted"} == REFUTED
    assert {r.verdict for r in found.values()} == {"proved", "refuted"}
    assert len(found) == 18 and not any(r.vacuous for r in found.values())


def test_clauses_are_there() -> None:
    known = set(load())
    for revision in REVISIONS.values():
        assert {each.clause for each in bounds(heartbeat(revision))} <= known


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (HeartbeatRevision(quotas=False, fills=False), "floor"),
        (HeartbeatRevision(quotas=False, cuts_to_d=False), "ceiling"),
        (HeartbeatRevision(keeps_quota=False), "quota-passes"),
        (HeartbeatRevision(quotas=False, stops_at_d=False), "to-d"),
        (HeartbeatRevision(stops_at_d=False), "to-d"),
    ],
)
def test_a_planted_error_breaks_a_bound(wrong: HeartbeatRevision, name: str) -> None:
    beat = heartbeat(wrong)
    (bound,) = [each for each in bounds(beat) if each.name == name]
    found = of_bound(SolverSession(), "planted", beat, bound)
    assert found.verdict == "refuted" and found.evidence[0].startswith("with D")


def test_a_heartbeat_that_stops_at_d_low_keeps_the_other_bounds() -> None:
    """That they are one-sided is why there is a line of D itself."""
    beat = heartbeat(HeartbeatRevision(quotas=False, stops_at_d=False))
    found = [of_bound(SolverSession(), "planted", beat, each) for each in bounds(beat)]
    assert [r.name for r in found if r.verdict == "refuted"] == ["mesh-degree.planted.to-d"]


# -- heartbeats of the model --------------------------------------------------------------------------------


@frozen
class HeartbeatCounts:
    """What a heartbeat found, and what it left."""

    before: tuple[int, int]
    """Members and outbound members."""
    after: tuple[int, int]
    surely: tuple[int, int]
    """Candidates, and outbound ones."""
    perhaps: tuple[int, int]
    """The same, with those whose backoff may have been cleared or not."""


def counted(seen: RouterStep) -> HeartbeatCounts:
    def two(r: Router, peers: frozenset[int]) -> tuple[int, int]:
        return len(peers), len(r.outbound_of(peers))

    then = evolve(seen.before, now_ms=seen.after.now_ms)
    free = then.protocol.set_of("graft_candidates", then, "t", NamedChoices())
    return HeartbeatCounts(
        two(then, then.mesh_of("t")),
        two(seen.after, seen.after.mesh_of("t")),
        two(then, free.must),
        two(then, free.all),
    )


def fits(beat: HeartbeatSymbols, p: Parameters, c: HeartbeatCounts) -> bool:
    """Whether the counts are ones of a heartbeat."""
    solver, start = z3.Solver(), beat.before
    solver.add(*beat.related, beat.dropped == 0, beat.opportunistic == 0)
    solver.add(beat.d == p.d, beat.d_low == p.d_low, beat.d_high == p.d_high, beat.d_out == p.d_out)
    solver.add(start.members == c.before[0], start.outbound == c.before[1])
    solver.add(start.candidates >= c.surely[0], start.candidates <= c.perhaps[0])
    solver.add(start.outbound_candidates >= c.surely[1], start.outbound_candidates <= c.perhaps[1])
    solver.add(beat.after.members == c.after[0], beat.after.outbound == c.after[1])
    return bool(solver.check() == z3.sat)


CLIQUE = [(1, 2), (1, 3), (4, 1), (5, 1), (2, 3), (2, 4), (5, 2), (3, 4), (3, 5), (4, 5)]


def heartbeats(protocol: Protocol, seed: int) -> Iterator[tuple[Parameters, RouterStep]]:
    """Those of five routers who come and go."""
    die = random.Random(seed)
    d_low = die.randrange(1, 4)
    d = die.randrange(d_low, 4)
    out = 0 if protocol is GOSSIPSUB_1_0 else die.randrange(min(d_low, d // 2 + 1))
    parameters = Parameters(
        d=d, d_low=d_low, d_high=die.randrange(d, 4), d_out=out, d_score=0, d_lazy=1, prune_backoff_s=2
    )
    network = opened(PUBSUB, [NodeSetup(i, protocol, parameters) for i in range(1, 6)], CLIQUE)
    # Who joins first knows nobody, and is grafted by those that come later.
    for each in (Act("settle"), act_of("all join t")):
        network = network_after(network, each).after

    class Die:
        pick = staticmethod(die.choice)

    for _ in range(16):
        node = die.randrange(1, 6)
        said = die.choice(["join {} t", "heartbeat {}", "settle", "leave {} t"])
        move = drawn(network, act_of(said.format(chr(64 + node))), Die())  # type: ignore[arg-type]
        if move is None:
            continue
        network = move.after
        for seen in move.steps:
            if isinstance(seen.event, Advance) and "t" in seen.before.topics:
                yield parameters, seen


@pytest.mark.parametrize(
    ("protocol", "name", "wrong"),
    [
        (GOSSIPSUB_1_0, "1.0", HeartbeatRevision(quotas=False, fills=False)),
        (GOSSIPSUB_1_1, "1.1", HeartbeatRevision(fills=False)),
    ],
)
def test_heartbeats_of_the_model_are_such_heartbeats(
    protocol: Protocol, name: str, wrong: HeartbeatRevision
) -> None:
    right, other = heartbeat(REVISIONS[name]), heartbeat(wrong)
    changed = missed = 0
    for seed in range(16):
        for parameters, seen in heartbeats(protocol, seed):
            # An advance that is shorter than to the next heartbeat changes nothing.
            if seen.before.heartbeats == seen.after.heartbeats:
                continue
            found = counted(seen)
            changed += found.before != found.after
            assert fits(right, parameters, found), (seed, found)
            missed += not fits(other, parameters, found)
    assert changed > 15 and missed > 0, (changed, missed)
