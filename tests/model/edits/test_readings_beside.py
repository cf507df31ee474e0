"""Readings beside other edits of the same rule: none takes back what is in force."""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.model.edit import Edit, edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import Advance, Connect, Delivered, Event, Join, Output, Sent
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, IDontWant, Message, Prune, Subscribe
from quidnunc.properties.explain.followed import FreshRun, agreement
from quidnunc.properties.judge.play import RecordedStep
from tests.helpers.pubsub_run import T, after, grafted, of, peers

SPEC = protocol_named("gossipsub-1.2")
UNNUMBERED = Message("m1", T, 2, flaw="no-seqno")


def allowed(names: tuple[str, ...], *events: Event) -> frozenset[Output]:
    """What a router built so may do at the last event; peer 1 is in its mesh."""
    protocol = edited(SPEC, [edit_named(name, SPEC) for name in names])
    return after([Join(T), *peers(1, 2), grafted(1)], *events, protocol=protocol).all


def refuses(names: tuple[str, ...], peer: int, seconds: int) -> bool:
    """A GRAFT, after a PRUNE with that backoff."""
    told = allowed(names, of(peer, Prune(T, seconds)), of(peer, Graft(T)))
    return any(isinstance(o, Sent) and isinstance(o.part, Prune) for o in told)


@pytest.mark.parametrize(("reading", "ignores"), [("ignored", True), ("pruned", False)])
@pytest.mark.parametrize("backs_off", [True, False])
def test_a_stranger_in_its_backoff_may_be_refused_for_either(
    reading: str, ignores: bool, backs_off: bool
) -> None:
    """Some look at the backoff before they look at the announcement, and some after it."""
    built = edited(SPEC, [edit_named(f"unannounced-graft-{reading}", SPEC)])
    greeted: RecordedStep = (Connect((3,)), (Sent(3, Subscribe(T)),))
    pruned: tuple[RecordedStep, ...] = ((of(3, Prune(T, 60)), ()),) if backs_off else ()

    def is_allowed(*answer: Output) -> bool:
        asked: tuple[RecordedStep, ...] = ((of(3, Graft(T)), answer), (Advance(500), ()))
        steps: tuple[RecordedStep, ...] = ((Join(T), ()), greeted, *pruned, *asked)
        return agreement(FreshRun(steps, Parameters()), built).agreed == len(steps)

    assert is_allowed(Sent(3, Prune(T, 60))) == (backs_off or not ignores)
    assert is_allowed() == ignores


IN_BOTH_ORDERS = pytest.mark.parametrize("step", [1, -1], ids=["in order", "the other way round"])


@IN_BOTH_ORDERS
def test_idontwant_before_the_signature_leaves_what_the_router_overlooks(step: int) -> None:
    names = ("flawed-overlooks-no-seqno", "idontwant-before-signature")[::step]
    assert Delivered(UNNUMBERED) in allowed(names, of(2, UNNUMBERED))
    forged = Message("m2", T, 2, size=2000, flaw="other-key")
    assert Sent(1, IDontWant(("m2",))) in allowed(names, of(2, forged))


@IN_BOTH_ORDERS
@pytest.mark.parametrize(
    ("reading", "peer", "seconds"), [("zero-backoff-is-none", 1, 0), ("stranger-prune-ignored", 2, 60)]
)
def test_a_reading_of_backoffs_leaves_one_that_overflows(
    reading: str, peer: int, seconds: int, step: int
) -> None:
    names = ("backoff-overflows-2-63-ns", reading)[::step]
    assert refuses((), peer, seconds)
    assert not refuses(names, peer, seconds)
    assert refuses((reading,), 1, 9_223_372_037)
    assert not refuses(names, 1, 9_223_372_037)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("idontwant-before-signature", "flawed"),
        ("zero-backoff-is-none", "back_off_as_announced"),
        ("stranger-prune-ignored", "back_off_as_announced"),
        ("own-from-outside-marked-seen", "from_itself"),
        ("seen-refreshed", "seen_before"),
    ],
)
def test_a_reading_goes_on_with_the_rule_that_is_in_force(name: str, rule: str) -> None:
    """Mutant: it calls the rule of the specification, whatever is in its place."""
    plain = next(each for _, each in SPEC.rules() if each.name == rule)
    asked = []

    def noted(*arguments: object) -> object:
        asked.append(arguments)
        return plain.apply(*arguments)

    before = Edit("noted", "replaced", "", "", lambda p: p.with_rule(rule, evolve(plain, apply=noted)))
    built = edited(SPEC, [before, edit_named(name, SPEC)])
    again = (of(2, Message("m3", T, 2)), of(1, Message("m3", T, 2)), of(1, Prune(T, 60)))
    after([Join(T), *peers(1, 2), grafted(1)], *again, protocol=built)
    assert asked
