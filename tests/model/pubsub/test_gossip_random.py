"""v1.0 picks peers to gossip to at random: what that obliges to at once, and in the long run."""

from __future__ import annotations

import random

import pytest
from attrs import evolve

from quidnunc.model.events import Advance, Disconnect, Join, Output, Sent
from quidnunc.model.permits import Permit
from quidnunc.model.pubsub.gossip import LEAST_LIKELY_SILENCE
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_0
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import IHave
from tests.helpers.pubsub_run import After, T, after, grafted, message, of, onward, peers

DEGREES = {"d": 3, "d_low": 2, "d_high": 4, "d_out": 0, "d_lazy": 2}
OUTSIDE = (4, 5, 6, 7)


def started(outside: tuple[int, ...] = OUTSIDE) -> Router:
    """Three members of the mesh, and others that can be gossiped to."""
    base = [Join(T), *peers(1, 2, 3), grafted(1, 2, 3), *peers(*outside), Advance(500)]
    return after(base, protocol=GOSSIPSUB_1_0, **DEGREES).router


def silent_heartbeats(r: Router, told: tuple[int, ...]) -> tuple[int, set[int]]:
    """After how many heartbeats with gossip to `told` alone somebody else is owed it, and who."""
    for number in range(1, 400):
        r = onward(r, of(1, message(f"m{number}"))).router
        seen: list[Output] = [Sent(p, IHave(T, (i,))) for p in told for i in ids(r)]
        end = onward(r, Advance(1000), seen=seen)
        assert not end.problems
        owed = {p for p, parts in end.due(IHave).items() if parts and p not in told}
        if owed:
            return number, owed
        r = end.router
    return 0, set()


def ids(r: Router) -> tuple[str, ...]:
    return tuple(i for window in r.windows[: r.parameters.mcache_gossip] for i in window)


def test_a_silent_router_owes_gossip_once_that_is_too_unlikely() -> None:
    """Each heartbeat picks 2 of 7 members: with 5/7 it passes one over."""
    number, owed = silent_heartbeats(started(), ())
    assert owed == set(OUTSIDE)
    assert (5 / 7) ** number < LEAST_LIKELY_SILENCE <= (5 / 7) ** (number - 1)


def test_a_router_that_always_picks_the_same_owes_the_others() -> None:
    number, owed = silent_heartbeats(started(), (4, 5))
    assert owed == {6, 7} and number == silent_heartbeats(started(), ())[0]


@pytest.mark.parametrize("pool", [(1, 2, 3, *OUTSIDE), OUTSIDE], ids=["before", "after"])
def test_a_router_that_picks_at_random_owes_nothing(pool: tuple[int, ...]) -> None:
    """Whether it leaves the mesh out before it picks or afterwards."""
    die, r, least = random.Random(1), started(), 1.0
    for number in range(300):
        r = onward(r, of(1, message(f"m{number}"))).router
        told = [p for p in die.sample(pool, 2) if p in OUTSIDE]
        end = onward(r, Advance(1000), seen=[Sent(p, IHave(T, (i,))) for p in told for i in ids(r)])
        assert not end.problems and set(end.due(IHave)) <= set(told)
        r = end.router
        least = min([least, *r.passed_over.values()])
    assert LEAST_LIKELY_SILENCE < least < 0.1


@pytest.mark.parametrize(("lazy", "least"), [(2, 0), (4, 1), (5, 2), (7, 4), (9, 4)])
def test_more_than_mesh_and_fanout_hold_cannot_all_be_picked_in_vain(lazy: int, least: int) -> None:
    """Of `lazy` picks among seven members three at most are in the mesh."""
    r = started()
    r = evolve(r, parameters=evolve(r.parameters, d_lazy=lazy))
    end = onward(r, of(1, message("m1"))).router
    silent: After = onward(end, Advance(1000), seen=())
    assert bool(silent.problems) == bool(least)
    assert not least or f"at least {least} required" in silent.problems[0].reason


def test_who_is_gone_is_forgotten() -> None:
    r = onward(started(), of(1, message("m1"))).router
    r = onward(r, Advance(1000), seen=()).router
    assert {p for _, p in r.passed_over} == set(OUTSIDE)
    r = onward(r, Disconnect((4,)), of(1, message("m2"))).router
    r = onward(r, Advance(1000), seen=()).router
    assert {p for _, p in r.passed_over} == {5, 6, 7}


def test_a_permit_says_why() -> None:
    r = started((4,))
    r = onward(r, of(1, message("m1"))).router
    permits: tuple[Permit, ...] = onward(r, Advance(1000), seen=[Sent(4, IHave(T, ("m1",)))]).permits
    assert {p.clause for p in permits} == {"gs1.0/gossip.ids"}
