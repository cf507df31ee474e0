"""Partial messages in the model: what the three readings have in common, and each of their differences."""

from __future__ import annotations

import pytest

from quidnunc.model.events import (
    MESHSUB_1_3,
    Advance,
    Connect,
    Decision,
    Disconnect,
    Event,
    GossipAsked,
    Join,
    Leave,
    Offered,
    PartialIn,
    PublishPartial,
)
from quidnunc.model.pubsub.protocols import PARTIAL, PARTIAL_GO, PARTIAL_JVM
from quidnunc.model.pubsub.router import PartialFlags
from quidnunc.model.rpc import Extensions, Graft, IDontWant, IHave, Message, Partial, Subscribe, Unsubscribe
from quidnunc.model.rules import Protocol
from tests.helpers.pubsub_run import After, T, after, message, of, own

READINGS = (PARTIAL, PARTIAL_JVM, PARTIAL_GO)
EVERY = pytest.mark.parametrize("reading", READINGS, ids=[p.name for p in READINGS])
M1 = message("m1")
BEAT = Advance(500)
WANTS = Subscribe(T, requests=True, supports=True)


def run(reading: Protocol, *events: Event | list[Event], **parameters: object) -> After:
    given = {"test_extension": False, **parameters}
    return after(*events, protocol=reading, **given)  # type: ignore[arg-type]


def peer(number: int, said: Subscribe = WANTS, *, named: bool = True, mesh: bool = True) -> list[Event]:
    """One that connects, names the extension or not, subscribes and grafts itself or not."""
    parts = (Extensions(("partial",)),) if named else ()
    graft = (Graft(T),) if mesh else ()
    return [Connect((number,), MESHSUB_1_3), of(number, *parts, said, *graft)]


def joined(*, requests: bool = False, supports: bool = True) -> Join:
    return Join(T, requests, supports)


def publish(*decisions: Decision, group: str = "g1") -> PublishPartial:
    return PublishPartial(T, group, decisions)


@EVERY
class TestFlags:
    def test_requesting_is_supporting_at_both_ends(self, reading: Protocol) -> None:
        end = run(reading, *peer(1, Subscribe(T, requests=True)), Join(T, requests=True))
        assert end.router.peers[1].flags_in(T) == PartialFlags(True, True)
        assert end.due(Subscribe) == {1: [Subscribe(T, True, True)]}

    def test_the_last_subscription_counts(self, reading: Protocol) -> None:
        end = run(reading, *peer(1), of(1, Subscribe(T)))
        assert end.router.peers[1].flags_in(T) == PartialFlags()

    def test_an_unsubscription_leaves_none(self, reading: Protocol) -> None:
        end = run(reading, *peer(1), of(1, Unsubscribe(T, True, True)))
        assert end.router.peers[1].flags == {}


@EVERY
class TestFullMessages:
    def test_not_to_requesters(self, reading: Protocol) -> None:
        end = run(reading, joined(), *peer(1), *peer(2, Subscribe(T)), *peer(3), of(2, M1))
        assert not end.due(Message) and not end.free(Message)

    def test_to_who_does_not_request(self, reading: Protocol) -> None:
        end = run(reading, joined(), *peer(1, Subscribe(T, supports=True)), *peer(2), of(2, M1))
        assert set(end.due(Message)) == {1}

    def test_own_ones_neither(self, reading: Protocol) -> None:
        end = run(reading, joined(), *peer(1), *peer(2, Subscribe(T)), own("m1"), flood_publish=False)
        assert set(end.due(Message)) == {2}

    def test_a_requester_takes_them(self, reading: Protocol) -> None:
        end = run(reading, joined(requests=True), *peer(1, Subscribe(T)), of(1, M1))
        assert M1 in [getattr(o, "message", None) for o in end.must]


class TestWhereNoPartsCanBeSent:
    @pytest.mark.parametrize(("reading", "fed"), [(PARTIAL, {1}), (PARTIAL_JVM, set()), (PARTIAL_GO, {1})])
    def test_only_the_jvm_design_starves_a_requester(self, reading: Protocol, fed: set[int]) -> None:
        end = run(reading, Join(T), *peer(1), *peer(2, Subscribe(T)), of(2, M1))
        assert set(end.due(Message)) == fed

    @pytest.mark.parametrize(("reading", "fed"), [(PARTIAL, set()), (PARTIAL_JVM, {1}), (PARTIAL_GO, set())])
    def test_flags_of_one_that_has_not_named_the_extension(self, reading: Protocol, fed: set[int]) -> None:
        end = run(reading, joined(), *peer(1, named=False), *peer(2, Subscribe(T)), of(2, M1))
        assert set(end.due(Message)) == fed
        assert set(end.free(Message)) == ({1} if reading is PARTIAL else set())


class TestIDontWant:
    @pytest.mark.parametrize(
        ("reading", "told"), [(PARTIAL, {1, 2, 3}), (PARTIAL_JVM, {2, 3}), (PARTIAL_GO, {2})]
    )
    def test_to_senders_of_parts(self, reading: Protocol, told: set[int]) -> None:
        base = [joined(requests=True), *peer(1), *peer(2, Subscribe(T)), *peer(3, named=False)]
        assert set(run(reading, *base, of(2, M1)).free(IDontWant)) == told


@EVERY
class TestSending:
    def sent(self, reading: Protocol, said: Subscribe, decision: Decision) -> list[object]:
        end = run(reading, joined(), *peer(1, said, mesh=False), publish(decision))
        return list(end.due(Partial).get(1, []))

    def test_what_was_decided(self, reading: Protocol) -> None:
        assert self.sent(reading, WANTS, Decision(1, "p1", "w1")) == [Partial(T, "g1", "p1", "w1")]

    def test_no_part_unrequested(self, reading: Protocol) -> None:
        supports = Subscribe(T, supports=True)
        assert self.sent(reading, supports, Decision(1, "p1", "w1")) == [Partial(T, "g1", None, "w1")]
        assert self.sent(reading, supports, Decision(1, "p1")) == []

    def test_metadata_to_who_can_send_nothing(self, reading: Protocol) -> None:
        expected = [] if reading is PARTIAL else [Partial(T, "g1", None, "w1")]
        assert self.sent(reading, Subscribe(T), Decision(1, None, "w1")) == expected

    def test_what_failed_is_not_sent(self, reading: Protocol) -> None:
        assert self.sent(reading, WANTS, Decision(1, "p1", "w1", error=True)) == []

    def test_to_one_that_has_not_named_the_extension(self, reading: Protocol) -> None:
        end = run(reading, joined(), *peer(1, named=False), publish(Decision(1, "p1")))
        assert set(end.due(Partial)) == ({1} if reading is PARTIAL_GO else set())


@EVERY
class TestReceiving:
    @pytest.mark.parametrize("payload", [None, "p1"])
    @pytest.mark.parametrize("metadata", [None, "w1"])
    def test_all_combinations_are_handed_over(
        self, reading: Protocol, payload: str | None, metadata: str | None
    ) -> None:
        part = Partial("elsewhere", "g1", payload, metadata)
        assert PartialIn(1, part) in run(reading, *peer(1, mesh=False), of(1, part)).must

    def test_before_the_handshake(self, reading: Protocol) -> None:
        end = run(reading, *peer(1, named=False), of(1, Partial(T, "g1")))
        assert PartialIn(1, Partial(T, "g1")) not in end.must
        assert (PartialIn(1, Partial(T, "g1")) in end.may) == (reading is PARTIAL)

    def test_with_the_handshake(self, reading: Protocol) -> None:
        part = Partial(T, "g1", "p1")
        first = of(1, part, Extensions(("partial",)))
        assert PartialIn(1, part) in run(reading, Connect((1,), MESHSUB_1_3), first).must

    def test_limits(self, reading: Protocol) -> None:
        many = [of(1, Partial(T, f"g{k}")) for k in range(3)]
        end = run(reading, *peer(1), *many, max_groups_per_peer=2)
        over = PartialIn(1, Partial(T, "g2"))
        assert over not in end.must
        assert (over in end.may) == (reading is PARTIAL)


def states(end: After) -> dict[int, str]:
    return {o.peer: o.state for o in end.must if isinstance(o, Offered)}


KEPT = publish(Decision(1, next="s1"), Decision(2, next="s2", error=True))


class TestGroups:
    def base(self) -> list[Event]:
        return [joined(), *peer(1), *peer(2)]

    def test_jvm_keeps_nothing_of_what_failed(self) -> None:
        assert states(run(PARTIAL_JVM, *self.base(), KEPT, publish())) == {1: "s1", 2: ""}

    def test_go_keeps_what_was_written(self) -> None:
        assert states(run(PARTIAL_GO, *self.base(), KEPT, publish())) == {1: "s1", 2: "s2"}

    @pytest.mark.parametrize(("reading", "beats"), [(PARTIAL_JVM, 2), (PARTIAL_GO, 4)])
    def test_how_long_a_group_lives(self, reading: Protocol, beats: int) -> None:
        ticks = [BEAT, *[Advance(1000)] * (beats - 1)]
        over = run(reading, *self.base(), KEPT, *ticks, publish(), group_ttl_heartbeats=2)
        alive = run(reading, *self.base(), KEPT, *ticks[:-1], publish(), group_ttl_heartbeats=2)
        assert (states(over)[1], states(alive)[1]) == ("", "s1")

    @pytest.mark.parametrize(("reading", "state"), [(PARTIAL_JVM, ""), (PARTIAL_GO, "s1")])
    def test_leaving_the_topic(self, reading: Protocol, state: str) -> None:
        end = run(reading, *self.base(), KEPT, Leave(T), joined(), of(1, Graft(T)), publish())
        assert states(end).get(1, "") == state

    @pytest.mark.parametrize("reading", [PARTIAL_JVM, PARTIAL_GO])
    def test_a_peer_that_goes(self, reading: Protocol) -> None:
        end = run(reading, *self.base(), KEPT, Disconnect((1,)), publish())
        assert set(states(end)) == {2}

    @pytest.mark.parametrize(("reading", "heard"), [(PARTIAL_JVM, False), (PARTIAL_GO, True)])
    def test_go_releases_the_counts_of_a_peer_that_goes(self, reading: Protocol, heard: bool) -> None:
        back = [Disconnect((1,)), *peer(1)]
        end = run(
            reading, *peer(1), of(1, Partial(T, "g1")), *back, of(1, Partial(T, "g2")), max_groups_per_peer=1
        )
        assert (PartialIn(1, Partial(T, "g2")) in end.must) == heard

    def test_a_publish_makes_a_group_ours_and_frees_its_place(self) -> None:
        started = [*peer(1), of(1, Partial(T, "g1")), publish()]
        end = run(PARTIAL_JVM, *started, of(1, Partial(T, "g2")), max_groups_per_peer=1)
        assert PartialIn(1, Partial(T, "g2")) in end.must


class TestGossip:
    """Peers 1 to 3 are in the mesh, 4 and 5 are not; 4 requests."""

    def after_beats(self, reading: Protocol, beats: int) -> After:
        mesh = [e for p in (1, 2, 3) for e in peer(p, Subscribe(T))]
        others = [*peer(4, mesh=False), *peer(5, Subscribe(T), mesh=False)]
        events = [joined(), *mesh, *others, of(1, M1), publish(Decision(1, next="s1"))]
        return run(reading, *events, BEAT, *[Advance(1000)] * (beats - 1))

    @EVERY
    def test_the_application_is_asked_in_the_place_of_ihave(self, reading: Protocol) -> None:
        end = self.after_beats(reading, 1)
        assert GossipAsked(T, "g1", 4) in end.must
        assert set(end.due(IHave)) == {5}

    @pytest.mark.parametrize(("reading", "again"), [(PARTIAL_JVM, True), (PARTIAL_GO, False)])
    def test_at_each_heartbeat_or_once(self, reading: Protocol, again: bool) -> None:
        end = self.after_beats(reading, 2)
        assert (GossipAsked(T, "g1", 4) in end.all) == again

    def test_the_merged_text_asks_once_and_leaves_the_rest_free(self) -> None:
        end = self.after_beats(PARTIAL, 2)
        assert GossipAsked(T, "g1", 4) in end.may


def test_go_offers_a_requester_that_has_not_named_the_extension() -> None:
    base = [joined(), *peer(1, named=False), *peer(2, Subscribe(T))]
    assert set(states(run(PARTIAL_GO, *base, publish()))) == {1}
    assert set(states(run(PARTIAL_JVM, *base, publish()))) == set()
