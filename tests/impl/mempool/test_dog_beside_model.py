"""Our mempool reactor beside the model: it never departs, and its mutants do."""

from __future__ import annotations

import random

import pytest

from quidnunc.impl.mutants.dog import DOG_MUTANTS
from quidnunc.impl.ours.mempool import open_dog
from quidnunc.impl.seam import Config
from quidnunc.model.events import (
    MEMPOOL,
    MEMPOOL_WITHOUT_DOG,
    Adjust,
    Commit,
    Connect,
    Disconnect,
    Event,
    Receive,
    Resume,
    Stall,
    Submit,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.mempool.node import Node
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import HaveTx, Part, ResetRoute, Tx
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import WireSubject

PEERS = range(1, 7)


def next_event(view: Node, die: random.Random) -> Event | None:
    """Something that can happen to the node; None where nothing of the drawn kind can."""
    present = sorted(view.peers)
    absent = [p for p in PEERS if p not in view.peers]
    kind = die.random()
    if len(present) < 2 or (kind < 0.06 and absent):
        return Connect((die.choice(absent),), MEMPOOL)
    peer = die.choice(present)
    if kind < 0.10:
        return Disconnect((peer,))
    if kind < 0.14:
        return Resume((peer,)) if view.peers[peer].stalled else Stall((peer,))
    if kind < 0.19:
        return Submit(some_tx(view, die))
    if kind < 0.23:
        return Commit(die.choice(sorted(view.pool))) if view.pool else None
    if kind < 0.31:
        return Adjust() if view.protocol.name == "dog" else None
    return Receive((peer,), tuple(some_part(view, die) for _ in range(die.choice((1, 1, 1, 2)))))


def some_tx(view: Node, die: random.Random) -> str:
    known = sorted(view.cache)
    return die.choice(known[-12:]) if known and die.random() < 0.6 else f"t{len(known)}"


def some_part(view: Node, die: random.Random) -> Part:
    kind = die.random()
    if kind < 0.55:
        return Tx(some_tx(view, die))
    return HaveTx(some_tx(view, die)) if kind < 0.85 else ResetRoute()


def departures(events: list[Event] | int, protocol: str, mutant: str | None = None) -> tuple[Departure, ...]:
    """Those of the first step that has any, along `events` or a random run of that seed."""
    die = random.Random(f"{protocol} {events}")
    target = die.choice((0.5, 1.0, 1.0, 2.0)) if isinstance(events, int) else 1.0
    config = Config(
        seed=die.randrange(1000), protocol=protocol, parameters=DogParameters(target_redundancy=target)
    )
    wire = WireSubject(open_dog(config, mutant), config)
    oracle = Oracle(protocol_named(protocol), config.parameters)
    for k in range(60 if isinstance(events, int) else len(events)):
        event = next_event(oracle.state, die) if isinstance(events, int) else events[k]
        if event is None or not oracle.applicable(event):
            continue
        judged = oracle.judge(event, wire.do(event))
        assert not judged.blurred
        if judged.departures:
            return judged.departures
    return ()


@pytest.mark.parametrize("protocol", ["flood", "dog"])
def test_ours_never_departs(protocol: str) -> None:
    for seed in range(150):
        assert departures(seed, protocol) == (), f"seed {seed}"


def of(peer: int, *parts: Part) -> Event:
    return Receive((peer,), parts)


RARE: dict[str, list[Event]] = {
    "route-of-the-dead": [
        *(Connect((peer,), MEMPOOL) for peer in (1, 2)),
        of(1, Tx("a")),
        Disconnect((1,)),
        of(2, HaveTx("a")),
        Connect((1,), MEMPOOL),
        of(1, Tx("b")),
    ],
    "reset-all": [
        *(Connect((peer,), MEMPOOL) for peer in (1, 2, 3)),
        of(1, Tx("a")),
        of(2, Tx("b")),
        of(3, HaveTx("a"), HaveTx("b"), ResetRoute()),
        of(1, Tx("c")),
        of(2, Tx("d")),
    ],
    "dog-told-to-all": [Connect((1,), MEMPOOL_WITHOUT_DOG), of(1, Tx("a")), of(1, Tx("a"))],
    "invalid-pooled": [*(Connect((peer,), MEMPOOL) for peer in (1, 2)), of(2, Tx("bad1"))],
    "invalid-forgotten": [
        *(Connect((peer,), MEMPOOL) for peer in (1, 2)),
        of(1, Tx("bad1")),
        of(2, Tx("bad1")),
        Adjust(),
    ],
}
"""Events that random runs seldom bring together, or never: they have no transaction that is refused."""


@pytest.mark.parametrize("name", sorted(DOG_MUTANTS))
def test_the_model_notices_each_mutant(name: str) -> None:
    protocol = DOG_MUTANTS[name].protocol
    if name in RARE:
        assert departures(RARE[name], protocol) == ()
        assert departures(RARE[name], protocol, name)
    else:
        assert any(departures(seed, protocol, name) for seed in range(60))
