"""Each named choice has a control, which is allowed, and a mutant, which is a departure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from quidnunc.model.edits import ambiguities
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import (
    MEMPOOL,
    Adjust,
    Advance,
    Closed,
    Commit,
    Connect,
    Delivered,
    Disconnect,
    Event,
    Join,
    Output,
    Raw,
    Receive,
    Resume,
    Score,
    Sent,
    Stall,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import (
    ROUTER,
    Graft,
    HaveTx,
    IDontWant,
    IHave,
    Message,
    Part,
    Prune,
    ResetRoute,
    Subscribe,
    Tx,
    Unsubscribe,
)
from quidnunc.model.rules import Protocol
from tests.helpers.pubsub_run import BEAT, T, grafted, message, of, own, peers, sent
from tests.helpers.puppet import Step, judge

GOSSIPSUB, DOG = protocol_named("gossipsub-1.2"), protocol_named("dog")
SMALL: dict[str, Any] = {"d": 3, "d_low": 2, "d_high": 4, "d_score": 2, "d_out": 0, "d_lazy": 2}
TO_BEAT = Advance(500)


@frozen(kw_only=True)
class Choice:
    """After `before` the control is allowed, and each mutant is not: (what it did, its kind)."""

    name: str
    before: tuple[Event, ...]
    control: tuple[Step, ...]
    mutants: tuple[tuple[tuple[Step, ...], str], ...]
    protocol: Protocol = GOSSIPSUB
    parameters: Any = Parameters(**SMALL)


def flat(*events: Event | Iterable[Event]) -> tuple[Event, ...]:
    return tuple(e for each in events for e in (each if isinstance(each, list | tuple) else [each]))  # type: ignore[union-attr,misc]


def on(event: Event, *outputs: frozenset[Output] | Output) -> Step:
    return event, [o for each in outputs for o in (each if isinstance(each, frozenset) else [each])]


def parts(part: Part, *numbers: int) -> frozenset[Output]:
    return sent(part, *numbers)


SUBSCRIBED = parts(Subscribe(T), 1, 2, 3, 4, 5)
MINE = {k: Message(f"m{k}", T, ROUTER) for k in (1, 2)}
QUIET = Parameters(**{**SMALL, "flood_publish": False})
FIVE = flat(Join(T), peers(1, 2, 3, 4, 5, outbound=True))
CROWD = flat(FIVE, grafted(1, 2, 3, 4, 5))

MESH = (
    Choice(
        name="mesh.join",
        before=flat(peers(1, 2, 3, 4, 5)),
        control=(on(Join(T), SUBSCRIBED, parts(Graft(T), 2, 3, 5)),),
        mutants=(
            ((on(Join(T), SUBSCRIBED, parts(Graft(T), 2, 3)),), "choice"),
            ((on(Join(T), SUBSCRIBED, parts(Graft(T), 1, 2, 3, 4)),), "unexpected"),
        ),
    ),
    Choice(
        name="mesh.fill",
        before=FIVE,
        control=(on(TO_BEAT, parts(Graft(T), 1, 3, 5)),),
        mutants=(
            ((on(TO_BEAT, parts(Graft(T), 1, 3)),), "choice"),
            ((on(TO_BEAT, parts(Graft(T), 1, 2, 3, 4)),), "unexpected"),
            ((on(TO_BEAT, parts(Graft(T), 1, 2, 9)),), "unexpected"),
        ),
    ),
    Choice(
        name="mesh.cut",
        before=flat(CROWD, Score((5,), 3), Score((4,), 2)),
        control=(on(TO_BEAT, parts(Prune(T, 60), 1, 3)),),
        mutants=(
            ((on(TO_BEAT, parts(Prune(T, 60), 1)),), "choice"),
            ((on(TO_BEAT, parts(Prune(T, 60), 1, 4)),), "choice"),
            ((on(TO_BEAT, parts(Prune(T, 60), 1, 2, 3)),), "unexpected"),
        ),
    ),
    Choice(
        name="mesh.outbound",
        before=flat(Join(T), peers(1, 2, 3), grafted(1, 2, 3), peers(7, 8, outbound=True)),
        parameters=Parameters(**{**SMALL, "d_out": 1}),
        control=(on(TO_BEAT, parts(Graft(T), 8)),),
        mutants=(
            ((on(TO_BEAT),), "choice"),
            ((on(TO_BEAT, parts(Graft(T), 7, 8)),), "unexpected"),
        ),
    ),
    Choice(
        name="mesh.opportunistic",
        before=flat(Join(T), peers(1, 2, 3), grafted(1, 2, 3), peers(7, 8, 9), Score((7, 8, 9), 5)),
        parameters=Parameters(
            **{**SMALL, "opportunistic_graft_threshold": 2, "opportunistic_graft_ticks": 1}
        ),
        control=(on(TO_BEAT, parts(Graft(T), 7, 9)),),
        mutants=(
            ((on(TO_BEAT),), "choice"),
            ((on(TO_BEAT, parts(Graft(T), 7)),), "choice"),
        ),
    ),
    Choice(
        name="mesh.on-subscribe",
        protocol=ambiguities.reading_named("graft-on-subscribe").change(GOSSIPSUB),
        before=flat(Join(T), Connect((1,))),
        control=(on(of(1, Subscribe(T)), parts(Graft(T), 1)),),
        mutants=(
            ((on(of(1, Subscribe("t2")), parts(Graft(T), 1)),), "unexpected"),
            ((on(of(1, Subscribe(T)), parts(Graft("t2"), 1)),), "unexpected"),
        ),
    ),
)

LATE = (
    Choice(
        name="fanout.use",
        before=flat(peers(1, 2, 3, 4, 5)),
        parameters=QUIET,
        control=(on(own("m1"), parts(MINE[1], 1, 4, 5)), on(own("m2"), parts(MINE[2], 1, 4, 5))),
        mutants=(
            ((on(own("m1"), parts(MINE[1], 1, 4)),), "choice"),
            ((on(own("m1"), parts(MINE[1], 1, 2, 4, 5)),), "unexpected"),
            # Chosen anew for the second message.
            ((on(own("m1"), parts(MINE[1], 1, 4, 5)), on(own("m2"), parts(MINE[2], 1, 2, 3))), "unexpected"),
        ),
    ),
    Choice(
        name="fanout.refill",
        before=flat(peers(1, 2, 3, 4, 5), own("m1"), Disconnect((3,))),
        parameters=QUIET,
        control=(on(TO_BEAT, parts(IHave(T, ("m1",)), 4)), on(own("m2"), parts(MINE[2], 1, 2, 5))),
        mutants=(
            ((on(TO_BEAT), on(own("m2"), parts(MINE[2], 1, 2))), "choice"),
            ((on(TO_BEAT), on(own("m2"), parts(MINE[2], 1, 4, 5))), "choice"),
        ),
    ),
    Choice(
        name="gossip.targets",
        before=flat(Join(T), peers(1, 2), grafted(1, 2), peers(7, 8, 9), of(1, message())),
        control=(on(TO_BEAT, parts(IHave(T, ("m1",)), 7, 9)),),
        mutants=(
            ((on(TO_BEAT, parts(IHave(T, ("m1",)), 7)),), "choice"),
            ((on(TO_BEAT, parts(IHave(T, ("m1",)), 7, 8, 9)),), "unexpected"),
            ((on(TO_BEAT, parts(IHave(T, ("m1",)), 2, 7, 8)),), "unexpected"),
        ),
    ),
    Choice(
        name="seen.expired",
        before=flat(Join(T), peers(1, 2), grafted(1, 2), of(1, message()), TO_BEAT, BEAT, BEAT),
        parameters=Parameters(**{**SMALL, "seen_ttl_ms": 2500}),
        control=(on(of(1, message()), Delivered(message()), parts(message(), 2)),),
        mutants=(
            # Relayed and not delivered: it is no new message then, so nothing goes out.
            ((on(of(1, message()), parts(message(), 2)),), "unexpected"),
            ((on(of(1, message()), Delivered(message())), on(BEAT)), "missing"),
        ),
    ),
    Choice(
        name="stream.closed",
        before=flat(Join(T), peers(1, 2)),
        control=(on(Raw((1,), "not-protobuf"), Closed(1)),),
        mutants=(
            ((on(Raw((1,), "not-protobuf"), Closed(2)),), "unexpected"),
            ((on(Raw((1,), "empty-frame"), Closed(1)),), "unexpected"),
            # Closed, and still told things.
            (
                (on(Raw((1,), "not-protobuf"), Closed(1)), on(Join("t2"), parts(Subscribe("t2"), 1, 2))),
                "unexpected",
            ),
        ),
    ),
)


def joined(*numbers: int) -> tuple[Event, ...]:
    return (Connect(numbers, MEMPOOL),)


ROUTE = flat(joined(1, 2, 3), of(1, Tx("a")), of(2, HaveTx("a")), of(2, ResetRoute()))
"""The one route from 1 to 2 was disabled and is enabled again."""
TWO_ROUTES = flat(
    joined(1, 2, 3, 4), of(1, Tx("a")), of(4, Tx("b")), of(2, HaveTx("a"), HaveTx("b")), of(2, ResetRoute())
)
"""Of two disabled routes to 2, from 1 and from 4, one was enabled again: which one has not shown."""

FROM_1_TO_ALL = on(of(1, Tx("c")), parts(Tx("c"), 2, 3, 4))

MEMPOOL_CHOICES = (
    Choice(
        name="havetx.perhaps",
        protocol=DOG,
        parameters=DogParameters(),
        before=flat(joined(1, 2), of(1, Tx("a")), Commit("a")),
        control=(on(of(2, Tx("a")), parts(HaveTx("a"), 2)),),
        mutants=(
            ((on(of(2, Tx("a")), parts(HaveTx("a"), 1)),), "unexpected"),
            # Answered, it is blocked, and says no second one.
            (
                (on(of(2, Tx("a")), parts(HaveTx("a"), 2)), on(of(1, Tx("a")), parts(HaveTx("a"), 1))),
                "unexpected",
            ),
        ),
    ),
    Choice(
        name="reset.target",
        protocol=DOG,
        parameters=DogParameters(),
        before=flat(joined(1, 2, 3), of(1, Tx("a"))),
        control=(on(Adjust(), parts(ResetRoute(), 3)),),
        mutants=(
            ((on(Adjust()),), "choice"),
            ((on(Adjust(), parts(ResetRoute(), 1, 3)),), "unexpected"),
        ),
    ),
    Choice(
        name="reset.waited",
        protocol=DOG,
        parameters=DogParameters(),
        before=flat(joined(1, 2, 3), of(1, Tx("a")), Stall((1, 2, 3)), Adjust(), Resume((1,))),
        control=(on(Resume((2,)), parts(ResetRoute(), 2)), on(Resume((3,)))),
        mutants=(
            # It waited for one of them, so that it does not come twice, nor never.
            (
                (on(Resume((2,)), parts(ResetRoute(), 2)), on(Resume((3,)), parts(ResetRoute(), 3))),
                "unexpected",
            ),
            ((on(Resume((2,))), on(Resume((3,)))), "missing"),
        ),
    ),
    Choice(
        name="route.unresolved",
        protocol=DOG,
        parameters=DogParameters(),
        before=TWO_ROUTES,
        control=(FROM_1_TO_ALL, on(of(4, Tx("d")), parts(Tx("d"), 1, 3))),
        mutants=(
            # Both enabled, and both still disabled.
            ((FROM_1_TO_ALL, on(of(4, Tx("d")), parts(Tx("d"), 1, 2, 3))), "unexpected"),
            (
                (on(of(1, Tx("c")), parts(Tx("c"), 3, 4)), on(of(4, Tx("d")), parts(Tx("d"), 1, 3))),
                "missing",
            ),
        ),
    ),
    Choice(
        name="connection.closed",
        protocol=DOG,
        parameters=DogParameters(),
        before=ROUTE,
        control=(on(Raw((1,), "not-protobuf"), Closed(1), parts(ResetRoute(), 2)),),
        mutants=(
            ((on(Raw((1,), "not-protobuf"), Closed(2)),), "unexpected"),
            ((on(Raw((1,), "not-protobuf"), parts(ResetRoute(), 2)),), "unexpected"),
        ),
    ),
)


def comes(name: str, *to: int) -> Step:
    """A message of a stranger by 1, and who is sent it."""
    said = message(name, author=9)
    return on(of(1, said), Delivered(said), parts(said, *to))


MANY = tuple(range(1, 14))
UNANNOUNCED = Choice(
    name="mesh.cut-unannounced",
    protocol=edit_named("relay-needs-a-subscriber", GOSSIPSUB).change(GOSSIPSUB),
    parameters=Parameters(heartbeat_delay_ms=500),
    before=flat(Join(T), Connect(MANY, outbound=True), grafted(*MANY)),
    control=(on(TO_BEAT),),
    mutants=(
        # Who cuts it cuts it to D.
        ((on(TO_BEAT, parts(Prune(T, 60), *MANY[5:])),), "unexpected"),
    ),
)

UNWANTED = (
    Choice(
        name="idontwant.evicted",
        protocol=ambiguities.reading_named("idontwant-evicts-oldest").change(GOSSIPSUB),
        parameters=Parameters(**SMALL, max_idontwant_messages=2, idontwant_min_bytes=10_000),
        before=flat(
            Join(T), peers(1, 2, 3), grafted(1, 2, 3), *(of(2, IDontWant((f"m{k}",))) for k in (1, 2, 3))
        ),
        control=(comes("m1", 2, 3), comes("m2", 3), comes("m3", 3), on(TO_BEAT)),
        mutants=(
            # The newest one counts for sure.
            ((comes("m3", 2, 3),), "unexpected"),
            # Whoever heeds all of them has no cap.
            ((comes("m1", 3), comes("m2", 3), comes("m3", 3), on(TO_BEAT)), "missing"),
            ((comes("m3", 3), comes("m2", 3), comes("m1", 3), on(TO_BEAT)), "missing"),
        ),
    ),
)

CHOICES = {choice.name: choice for choice in (*MESH, UNANNOUNCED, *LATE, *UNWANTED, *MEMPOOL_CHOICES)}


@pytest.mark.parametrize("name", CHOICES)
def test_the_control_is_allowed(name: str) -> None:
    choice = CHOICES[name]
    assert judge(choice.protocol, choice.parameters, choice.before, *choice.control) == []


@pytest.mark.parametrize(
    ("name", "at"), [(c.name, at) for c in CHOICES.values() for at in range(len(c.mutants))]
)
def test_the_mutant_is_not(name: str, at: int) -> None:
    choice = CHOICES[name]
    steps, kind = choice.mutants[at]
    found = judge(choice.protocol, choice.parameters, choice.before, *steps)
    assert kind in {d.kind for d in found}, found
    if kind == "choice":
        assert any(d.reason.startswith(f"{name}:") for d in found) or name == "fanout.refill"


def test_every_choice_of_the_model_is_among_them() -> None:
    """By the names that the model's sources ask for."""
    families = "mesh|fanout|gossip|seen|idontwant|stream|havetx|reset|route|connection"
    folder = Path(ambiguities.__file__).parents[1]
    asked = {
        name
        for path in folder.rglob("*.py")
        for name in re.findall(rf'"((?:{families})\.[a-z-]+)"', path.read_text(encoding="utf-8"))
    }
    assert asked == set(CHOICES)


def test_nothing_is_chosen_of_peers_that_unsubscribed() -> None:
    found = judge(
        GOSSIPSUB,
        QUIET,
        flat(peers(1, 2), Receive((1,), (Unsubscribe(T),))),
        on(Join(T), parts(Subscribe(T), 1, 2), parts(Graft(T), 1, 2)),
    )
    assert [(d.kind, d.clause, d.observed) for d in found] == [
        ("unexpected", "gs1.0/mesh.members", Sent(1, Graft(T)))
    ]
