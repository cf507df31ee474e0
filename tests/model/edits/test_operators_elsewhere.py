"""Operators on rules beside those of gossipsub: what each makes of a rule."""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.edits.operators.catalogue import LIMITS, switches_of
from quidnunc.model.edits.operators.wrapped import WHOM, waits_for_slot
from quidnunc.model.errors import SpecError
from quidnunc.model.events import (
    MEMPOOL,
    Adjust,
    Advance,
    Commit,
    Connect,
    Disconnect,
    Event,
    Join,
    Leave,
    Output,
    Publish,
    PublishPartial,
    Receive,
    Sent,
    Submit,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import (
    ROUTER,
    Fault,
    Flaw,
    Graft,
    HaveTx,
    IWant,
    Message,
    Prune,
    ResetRoute,
    SeenTx,
    Stray,
    Subscribe,
    Tx,
    WantTx,
)
from quidnunc.model.rules import Protocol
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import ModelSubject
from tests.helpers.pubsub_run import T, after, grafted, peers, sent


def arriving(*peers: int) -> list[Event]:
    return [Connect((peer,), MEMPOOL) for peer in peers]


def edited(protocol: str, name: str) -> Protocol:
    spec = protocol_named(protocol)
    return edit_named(name, spec).change(spec) if name else spec


def seen(
    protocol: str, name: str, events: list[Event], parameters: DogParameters | None = None
) -> set[Output]:
    """What the model with the edit does with the last event."""
    subject = ModelSubject(edited(protocol, name), parameters or DogParameters())
    return {*[subject.do(event) for event in events][-1]}


def departs(
    protocol: str, name: str, run: list[tuple[Event, set[Output]]], parameters: DogParameters
) -> bool:
    oracle = Oracle(edited(protocol, name), parameters)
    return any(oracle.judge(event, tuple(outputs)).departures for event, outputs in run)


def to(part: Tx | SeenTx | WantTx | HaveTx | ResetRoute, *peers: int) -> set[Output]:
    return {Sent(peer, part) for peer in peers}


def test_what_is_due_to_several_goes_to_one() -> None:
    events = [*arriving(1, 2, 3), Submit("x1")]
    assert seen("flood", "", events) == to(Tx("x1"), 1, 2, 3)
    assert len(seen("flood", "one-forward-own", events)) == 1


def test_which_one_that_is_the_router_says() -> None:
    for told, wrong in (({1}, False), ({3}, False), ({1, 3}, True), (set(), True)):
        run = [*((event, set()) for event in arriving(1, 2, 3)), (Submit("x1"), to(Tx("x1"), *told))]
        assert departs("flood", "one-forward-own", run, DogParameters()) == wrong


LOW: list[Event] = [*arriving(1, 2, 3), Submit("x1"), Adjust()]


def test_everybody_is_chosen_where_one_is_due() -> None:
    assert len(seen("dog", "", LOW)) == 1
    assert seen("dog", "all-too-little", LOW) == to(ResetRoute(), 1, 2, 3)


def test_a_switch_of_the_state_is_set_once_a_rule_has_come_in() -> None:
    again = [*LOW, Receive((1,), (Tx("x1"),))]
    assert switches_of(protocol_named("dog")) == ("blocked",)
    assert not switches_of(protocol_named("flood"))
    assert seen("dog", "", again) == to(HaveTx("x1"), 1)
    assert not seen("dog", "sets-blocked-too-little", again)
    third = [*again, Receive((2,), (Tx("x1"),))]
    assert not seen("dog", "", third), "one HaveTx blocks the next"
    assert seen("dog", "clears-blocked-block-next", third) == to(HaveTx("x1"), 2)


def test_what_is_received_is_passed_on() -> None:
    events = [*arriving(1, 2, 3), Receive((2,), (WantTx("x1"),))]
    assert not seen("cat-classic", "", events)
    assert seen("cat-classic", "passes-on-nothing-to-serve", events) == to(WantTx("x1"), 1, 3)


def test_what_the_protocol_passes_on_itself_has_no_such_edit() -> None:
    with pytest.raises(SpecError):
        edit_named("passes-on-pool-with-sender", protocol_named("flood"))


@pytest.mark.parametrize(("policy", "shown"), [("StrictSign", "junk-key"), ("StrictNoSign", "stamped")])
def test_what_is_published_has_a_flaw_and_so_has_what_is_served_of_it(policy: str, shown: Flaw) -> None:
    given = Parameters(signature_policy=policy, message_id="content")  # type: ignore[arg-type]
    own = Message("m1", "t1", ROUTER if policy == "StrictSign" else None)
    subject = ModelSubject(edited("gossipsub-1.2", "everywhere-published-with-junk-key"), given)
    for event in (Connect((1,)), Connect((2,)), Receive((1,), (Subscribe("t1"),))):
        subject.do(event)
    sent = {o for o in subject.do(Publish(own)) if isinstance(o, Sent)}
    assert sent == {Sent(1, evolve(own, flaw=shown))}
    served = subject.do(Receive((2,), (IWant(("m1",)),)))
    assert served == (Sent(2, evolve(own, flaw=shown)),)


def test_a_field_is_left_out_of_what_is_sent() -> None:
    events: list[Event] = [Connect((1,)), Receive((1,), (Subscribe("t1"), Graft("t1")))]
    for name, backoff_s in (("", 10), ("everywhere-backoff-s-left-out", None)):
        subject = ModelSubject(edited("gossipsub-1.2", name), Parameters())
        for event in (Join("t1"), *events):
            subject.do(event)
        pruned = {o for o in subject.do(Leave("t1")) if isinstance(o, Sent) and isinstance(o.part, Prune)}
        assert [o.part.backoff_s for o in pruned if isinstance(o.part, Prune)] == [backoff_s], name


def test_what_has_left_the_pool_is_taken_for_pooled() -> None:
    name = "announce-pool-sees-all-in-pool"
    events = [Submit("x1"), Submit("x2"), Commit("x1")]
    told = [*((event, set()) for event in events), *((event, to(SeenTx("x1"), 1)) for event in arriving(1))]
    assert departs("cat-classic", "", told, DogParameters())
    assert not departs("cat-classic", name, told, DogParameters())
    oracle = Oracle(edited("cat-classic", name), DogParameters())
    for event, outputs in told:
        oracle.judge(event, tuple(outputs))
    assert {*oracle.state.pool} == {"x2"}, "to look at it puts nothing back"


ONE_SLOT = DogParameters(dog=False, max_persistent=1, persistent_peers=frozenset({1, 2, 3}))


@pytest.mark.parametrize(("peer", "forwards"), [(1, True), (2, False), (9, True)])
def test_who_waits_for_a_slot_is_not_heard(peer: int, forwards: bool) -> None:
    events = [*arriving(1, 2, 9), Receive((peer,), (Tx("x1"),))]
    assert bool(seen("peer-limit", "take-in-deaf-to-waiting", events, ONE_SLOT)) == forwards
    assert seen("peer-limit", "", events, ONE_SLOT)


@pytest.mark.parametrize("forwards", [False, True])
def test_who_may_wait_for_a_slot_may_be_heard(forwards: bool) -> None:
    """The slot of the first has gone to the second or to the third."""
    start = [*arriving(1, 2, 3, 9), Disconnect((1,))]
    heard = to(Tx("x1"), 9) if forwards else set()
    run = [*((event, set()) for event in start), (Receive((2,), (Tx("x1"),)), heard)]
    assert not departs("peer-limit", "take-in-deaf-to-waiting", run, ONE_SLOT)
    oracle = Oracle(protocol_named("peer-limit"), ONE_SLOT)
    for event in start:
        oracle.judge(event, ())
    assert [waits_for_slot(oracle.state, peer) for peer in (2, 3, 9)] == [None, None, False]


@pytest.mark.parametrize(("limit", "served"), [(1, {1, 2}), (0, {1, 2, 3})])
def test_limits_that_one_rule_compares_with_are_off_together(limit: int, served: set[int]) -> None:
    """A limit of 0 is none, and stays so."""
    assert frozenset({"max_persistent", "max_non_persistent"}) in LIMITS
    name = "everywhere-max-non-persistent-and-max-persistent-as-one-more"
    for persistent in (frozenset[int](), frozenset({1, 2, 3})):
        limits = {"max_persistent" if persistent else "max_non_persistent": limit}
        given = DogParameters(dog=False, persistent_peers=persistent, **limits)
        events = [*arriving(1, 2, 3), Submit("x1")]
        assert seen("peer-limit", name, events, given) == to(Tx("x1"), *served)


def test_a_number_that_one_rule_works_out_is_off_by_one() -> None:
    """A time to live of three heartbeats is the least, whatever is configured."""
    for word, lives in (("", 3), ("one-less", 2), ("one-more", 4)):
        name = f"three-at-least-{word}" if word else ""
        oracle = Oracle(edited("partial-messages-go", name), Parameters(group_ttl_heartbeats=1))
        oracle.judge(PublishPartial("t1", "g1", ()), ())
        assert [group.heartbeats_left for group in oracle.state.groups.values()] == [lives]


def test_a_rule_does_what_its_like_in_another_protocol_does() -> None:
    spec, other = protocol_named("partial-messages-go"), protocol_named("partial-messages-jvm")
    edit = edit_named("keep-in-place-as-keep-decided", spec)
    changed = {rule.name: rule for _, rule in edit.change(spec).rules()}["keep_in_place"]
    meant = {rule.name: rule for _, rule in other.rules()}["keep_decided"]
    assert changed.apply is meant.apply and changed.clause == "pm-go/api.state-in-place"


@pytest.mark.parametrize(
    ("name", "fault", "kinds"),
    [
        ("everywhere-want-tx-with-wrong-channel", "channel", (WantTx,)),
        ("everywhere-control-with-wrong-bytes", "bytes", (SeenTx, WantTx)),
        ("everywhere-seen-tx-with-wrong-key", "key", (SeenTx,)),
    ],
)
def test_what_is_of_one_kind_breaks_the_format(name: str, fault: Fault, kinds: tuple[type, ...]) -> None:
    events = [*arriving(1, 2), Receive((1,), (SeenTx("x1"),)), Receive((1,), (Tx("x1"),))]
    spec, edit = (ModelSubject(edited("cat-classic", n), DogParameters()) for n in ("", name))
    for event in events:
        usual, sent = {*spec.do(event)}, {*edit.do(event)}
        meant = {o for o in usual if isinstance(o, Sent) and isinstance(o.part, kinds)}
        assert sent == (usual - meant) | {Sent(o.peer, Stray(fault)) for o in meant if isinstance(o, Sent)}


def test_it_is_against_the_sentence_that_the_message_breaks() -> None:
    edit = edit_named("everywhere-seen-tx-with-wrong-key", protocol_named("cat-classic"))
    assert edit.against("cat-classic/rpc.key-length") == "cat-classic/rpc.key-length"


def test_messages_that_look_alike_may_show_two_choices() -> None:
    """Either transaction is requested of one who has it, and both may be of the same peer."""
    name = "everywhere-want-tx-with-wrong-channel"

    def stray(*peers: int) -> tuple[Output, ...]:
        return tuple(Sent(peer, Stray("channel")) for peer in peers)

    oracle = Oracle(edited("cat-classic", name), DogParameters())
    run: list[tuple[Event, tuple[Output, ...]]] = [(event, ()) for event in arriving(4, 5, 6)]
    for tx, first, others in (("x1", 4, (5, 6)), ("x2", 5, (4, 6))):
        run.append((Receive((first,), (SeenTx(tx),)), stray(first)))
        run += [(Receive((other,), (SeenTx(tx),)), ()) for other in others]
    for event, outputs in (*run, (Advance(200), stray(6, 6))):
        assert not oracle.judge(event, outputs).departures


def test_a_set_is_chosen_from_all_peers() -> None:
    """Mutant: whoever did not announce a transaction is not asked for it."""
    events = [*arriving(1, 2), Receive((2,), (SeenTx("x1t"),))]
    late = [*events, Advance(200)]
    assert seen("cat-classic", "", late) == set()
    assert seen("cat-classic", "sources-of-all", late) <= to(WantTx("x1t"), 1, 2)
    asked: list[tuple[Event, set[Output]]] = [(event, set()) for event in arriving(1, 2)]
    asked += [(events[-1], to(WantTx("x1t"), 2)), (late[-1], to(WantTx("x1t"), 1))]
    assert departs("cat-classic", "", asked, DogParameters())
    assert not departs("cat-classic", "sources-of-all", asked, DogParameters())


def test_the_pool_comes_in_any_order() -> None:
    """Mutant: what a peer is sent against the order of the pool is in order."""
    for name, departing in (("", True), ("pool-in-any-order", False)):
        oracle = Oracle(edited("flood", name), DogParameters())
        for event in (Submit("x1t"), Submit("x2t")):
            assert not oracle.judge(event, ()).departures
        backwards = tuple(Sent(1, Tx(tx)) for tx in ("x2t", "x1t"))
        assert bool(oracle.judge(Connect((1,), MEMPOOL), backwards).departures) == departing


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("", {"b"}),
        ("leaves-slot-of-peer-that-disconnects-empty", {"c"}),
        ("keeps-slot-of-peer-that-disconnects", set()),
    ],
)
def test_a_slot_that_is_freed_is_passed_on(name: str, sent: set[str]) -> None:
    """Mutants: a slot that nobody gets until the next peer comes, and one that nobody gets at all."""
    limited = DogParameters(dog=False, max_non_persistent=1)
    events = [Submit("x1t"), *arriving(1, 2), Disconnect((1,)), *arriving(3)]
    subject = ModelSubject(edited("peer-limit", name), limited)
    told = {output for event in events for output in subject.do(event)}
    assert told - to(Tx("x1t"), 1) == to(Tx("x1t"), *[{"b": 2, "c": 3}[each] for each in sent])


def test_one_too_many_is_one_beside_a_right_choice() -> None:
    """Mutant: the member that a cut removes too many has to be one that it may remove."""
    small = {"d": 3, "d_low": 2, "d_high": 3, "d_score": 0, "d_out": 1}
    members = [Join(T), *peers(1, 2, 4), *peers(3, outbound=True), grafted(1, 2, 4, 3)]
    for name, refused in (("", True), ("more-cut-to-d", False)):
        beat = after(
            *members, Advance(500), protocol=edited("gossipsub-1.1", name), seen=sent(Prune(T), 1, 3), **small
        )
        assert bool(beat.problems or beat.mesh() != {2, 4}) == refused


def test_outsiders_are_in_no_mesh() -> None:
    _, is_one = WHOM["outsiders"]
    r = after(*peers(1, 2), Join(T), grafted(1)).router
    assert [peer for peer in r.peers if is_one(r, T, peer)] == [p for p in r.peers if p not in r.mesh_of(T)]
    assert not any(is_one(r, T, peer) for peer in r.mesh_of(T))
