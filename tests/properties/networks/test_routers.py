"""Networks of our real routers: they do as the model beside each, and are followed by rules of links."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from attrs import evolve

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from quidnunc.impl.seam import AdapterError
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import parse
from quidnunc.properties.networks.places import Revision
from quidnunc.properties.networks.routers import RouterLinks, held_by_model, held_by_router
from quidnunc.properties.replays.network import claims_on
from tools.network_rules.followed import FollowingTally, drawn_run, follow_runs, main, places, tally_of
from tools.network_rules.refine import RefinementResult, follow, pairs_of, rules_for

FOLDER = Path(__file__).parents[3] / "counterexamples"
PATHS = sorted(path for name in ("networks", "proofs") for path in (FOLDER / name).glob("*.case"))


@cache
def read(path: Path) -> Case:
    return parse(path.read_text(encoding="utf-8"), str(path))


PUBSUB = [path for path in PATHS if protocol_named(read(path).protocol).family == "pubsub"]


def base(protocol: str) -> str:
    return "gossipsub-1.0" if protocol == "gossipsub-1.0" else "gossipsub-1.1"


# -- cases by rules of links --------------------------------------------------------------------------------


def pairs_followed(case: Case) -> list[RefinementResult]:
    world = claims_on(case.protocol).world(case, case.protocol)
    start = network = world.start()
    moves = []
    for act in case.acts:
        moves.append(world.move(network, act))
        network = moves[-1].after
    pairs = [*pairs_of(start)]
    return [follow(start, moves, pair, rules_for(base(case.protocol))) for pair in pairs]


NO_RUNS: Mapping[str, tuple[str, str]] = {
    "subscriptions.known-to-all-neighbours.gossipsub-1.1": (
        "deliver A>B: receive at B",
        "the RPC of who is graylisted is not read: links have no scores",
    ),
}
"""Cases that rules of links cannot follow: where, and why that is no error."""


def test_cases_of_networks_are_runs_of_links() -> None:
    """Every pair of routers in every case; a rule that none takes would say nothing."""
    tally, broken = tally_of("gossipsub-1.1"), {}
    for path in PUBSUB:
        for found in pairs_followed(read(path)):
            tally.add(found)
            if found.broken:
                broken[path.stem] = found.broken
    assert broken == {name: where for name, (where, _) in NO_RUNS.items()}
    assert tally.pairs > 30 and tally.left < tally.pairs / 2
    assert {*tally.never} <= {"expire", "ignore"}


# -- routers of ours by rules of links ----------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["gossipsub-1.0", "gossipsub-1.3"])
def test_what_our_routers_do_is_rules_of_links(protocol: str) -> None:
    found = follow_runs(protocol_named(protocol), range(2), against="ours")
    assert found.broken == []
    # Rare ones: that all are taken is recorded from more runs (test_network_fired).
    assert {*found.never} <= {"prune", "refuse", "ignore", "expire"}
    assert found.pairs > 3 * found.left / 2


@pytest.mark.parametrize("protocol", ["gossipsub-1.0", "gossipsub-1.2"])
def test_our_routers_do_as_the_model_beside_each(protocol: str) -> None:
    """And they say of their state what the model holds of it."""
    for place in places(protocol):
        world = place.world(Revision(protocol, protocol_named(protocol)))
        run = drawn_run(world, 5, against="ours")
        assert run.departures == ()
        for move, held in zip(run.moves, run.held, strict=True):
            for seen, each in zip(move.steps, held, strict=True):
                model = held_by_model(seen.after)
                assert each == evolve(model, mesh={t: m for t, m in model.mesh.items() if t in each.mesh})
                assert all(not m for t, m in model.mesh.items() if t not in each.mesh)


NOTICED: Mapping[str, str] = {
    "leave-silently": "gossipsub-1.0",
    "unsubscriber-in-mesh": "gossipsub-1.0",
    "unsubscribe-ignored": "gossipsub-1.0",
    "graft-not-taken": "gossipsub-1.0",
    "prune-ignored": "gossipsub-1.0",
    "regraft-silent": "gossipsub-1.1",
}


@pytest.mark.parametrize("mutant", NOTICED)
def test_a_planted_departure_is_no_run_of_links(mutant: str) -> None:
    """By the rules of links alone: what the model says is not asked."""
    seeds = range(8)
    assert any(
        follow_runs(protocol_named(NOTICED[mutant]), [seed], against=f"ours:{mutant}").broken
        for seed in seeds
    )


# -- what is counted ----------------------------------------------------------------------------------------


def test_what_never_applied_is_inconclusive() -> None:
    tally = tally_of("gossipsub-1.0")
    assert tally.outcome == "inconclusive"
    rest = tuple(f"{kind}_0_1" for kind in tally.kinds if kind != "graft")
    tally.add(RefinementResult(rules=rest, clauses=frozenset()))
    assert (tally.never, tally.outcome) == (("graft",), "inconclusive")
    tally.add(RefinementResult(rules=("graft_1_0",), clauses=frozenset({"gs1.0/heartbeat.fill"})))
    assert tally.outcome == "followed"
    tally.add(RefinementResult(rules=(), clauses=frozenset(), broken="heartbeat A: advance at A"))
    assert tally.outcome == "broken" and isinstance(tally, FollowingTally)


def test_the_command_counts_rules(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--runs", "1", "--protocol", "gossipsub-1.0", "--against", "ours"])
    said = capsys.readouterr()
    assert code in (0, 3)
    assert said.out.startswith("links, followed: ours") and "accept" in said.out
    assert ("never taken" in said.out) == (code == 3)
    assert main(["--runs", "1", "--protocol", "gossipsub-1.0", "--against", "nobody"]) == 2


def test_a_router_that_does_not_say_its_state() -> None:
    with pytest.raises(AdapterError, match="expected topics, mesh and peers"):
        held_by_router({"mesh": {}})
    with pytest.raises(AdapterError, match="expected topics, mesh and peers"):
        held_by_router({"topics": ["t"], "mesh": {"t": [2]}, "peers": [2]})
    held = held_by_router({"topics": ["t"], "mesh": {"t": [2]}, "peers": {"2": {"topics": ["t"]}}})
    assert held == RouterLinks(frozenset("t"), {"t": frozenset({2})}, {2: frozenset("t")})
