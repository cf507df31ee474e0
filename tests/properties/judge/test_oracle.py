"""The oracle: what is due and until when, what no permit covers, and what cannot be seen."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from quidnunc.model.events import (
    FLOODSUB,
    MESHSUB_1_0,
    MESHSUB_1_1,
    MESHSUB_1_2,
    MESHSUB_1_3,
    Advance,
    Connect,
    Crashed,
    Delivered,
    Disconnect,
    Event,
    Join,
    Leave,
    Output,
    Publish,
    Raw,
    Receive,
    Resume,
    Score,
    Sent,
    Stall,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import (
    ROUTER,
    Flaw,
    Graft,
    IDontWant,
    IHave,
    IWant,
    Message,
    Prune,
    Subscribe,
    Unsubscribe,
)
from quidnunc.properties.claims.catalogue import applied_clauses, untested_clauses
from quidnunc.properties.claims.tables import BY_SUBJECT
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import clauses_tested
from quidnunc.properties.occasions.occasion import ObservedStep, by_permits
from tests.helpers.pubsub_run import BEAT, T, grafted, message, of, own, peers, sent
from tests.helpers.puppet import judge, state_after

SPEC = protocol_named("gossipsub-1.2")
SMALL = Parameters(d=3, d_low=2, d_high=4, d_score=2, d_out=0, d_lazy=2)
MEMBERS: list[Event] = [Join(T), *peers(1, 2, 3), grafted(1, 2, 3)]
M1 = message("m1")
TO_BEAT = Advance(500)
RELAY = {*sent(M1, 2, 3), Delivered(M1)}


def said(before: list[Event], *steps: tuple[Event, Any], parameters: Parameters = SMALL) -> list[Departure]:
    return judge(SPEC, parameters, before, *steps)


def kinds(found: list[Departure]) -> list[str]:
    return [d.kind for d in found]


class TestWhenItIsDue:
    def test_at_once_or_at_any_step_up_to_the_heartbeat(self) -> None:
        assert not said(MEMBERS, (of(1, M1), RELAY), (TO_BEAT, ()))
        assert not said(MEMBERS, (of(1, M1), ()), (Advance(100), RELAY), (Advance(400), ()))
        assert not said(MEMBERS, (of(1, M1), ()), (TO_BEAT, {*RELAY}))

    def test_missing_at_the_heartbeat(self) -> None:
        found = said(MEMBERS, (of(1, M1), sent(M1, 2)), (Advance(499), ()), (Advance(1), ()))
        assert {(d.kind, d.clause, d.expected) for d in found} == {
            ("missing", "gs1.0/relay.mesh", Sent(3, M1)),
            ("missing", "floodsub/deliver.once", Delivered(M1)),
        }

    def test_not_missing_before(self) -> None:
        assert not said(MEMBERS, (of(1, M1), ()), (Advance(499), ()))

    def test_what_the_heartbeat_causes_is_due_with_it(self) -> None:
        thin: list[Event] = [Join(T), *peers(1, 2, 3)]
        assert kinds(said(thin, (TO_BEAT, ()))) == ["choice"]
        assert not said(thin, (TO_BEAT, sent(Graft(T), 1, 2, 3)))

    def test_at_the_instant_itself(self) -> None:
        """IDONTWANT is said at once or not at all."""
        early = (of(1, M1), {*RELAY, *sent(IDontWant(("m1",)), 2, 3)})
        late = (Advance(1), sent(IDontWant(("m1",)), 2))
        assert not said(MEMBERS, early)
        assert kinds(said(MEMBERS, (of(1, M1), RELAY), late)) == ["unexpected"]

    def test_to_all_or_to_none(self) -> None:
        told = IDontWant(("m1",))
        assert not said(MEMBERS, (of(1, M1), RELAY))
        assert not said(MEMBERS, (of(1, M1), {*RELAY, *sent(told, 1)})), "who brought it need not be told"
        assert kinds(said(MEMBERS, (of(1, M1), {*RELAY, *sent(told, 2)}))) == ["missing"]

    def test_once(self) -> None:
        assert kinds(said(MEMBERS, (of(1, M1), [*RELAY, Sent(2, M1)]))) == ["unexpected"]
        assert kinds(said(MEMBERS, (of(1, M1), RELAY), (Advance(1), sent(M1, 2)))) == ["unexpected"]

    def test_what_an_rpc_asks_for_twice_is_owed_once(self) -> None:
        cached = [*MEMBERS, of(1, M1)]
        twice = of(2, IWant(("m1",)), IWant(("m1",)))
        assert not said(cached, (twice, [Sent(2, M1)]), (TO_BEAT, ()))
        assert not said(cached, (twice, [Sent(2, M1)] * 2), (TO_BEAT, ()))
        assert kinds(said(cached, (twice, ()), (TO_BEAT, ()))) == ["missing"]


class TestWhatIsVoid:
    def test_what_a_lost_peer_was_owed(self) -> None:
        steps = (of(1, M1), [Sent(2, M1), Delivered(M1)]), (Disconnect((3,)), ()), (TO_BEAT, ())
        assert not said(MEMBERS, *steps)
        # To whom is no longer there nothing can be sent.
        gone = (of(1, M1), [Sent(2, M1), Delivered(M1)]), (Disconnect((3,)), ()), (Advance(1), sent(M1, 3))
        assert kinds(said(MEMBERS, *gone)) == ["unexpected"]

    def test_what_was_owed_in_a_topic_that_was_left_is_free(self) -> None:
        left = {*sent(Prune(T, 10), 1, 2, 3), *sent(Unsubscribe(T), 1, 2, 3)}
        assert not said(MEMBERS, (of(1, M1), ()), (Leave(T), left), (TO_BEAT, ()))
        assert not said(MEMBERS, (of(1, M1), ()), (Leave(T), {*left, *RELAY}), (TO_BEAT, ()))


class TestStalledPeers:
    BEFORE: list[Event] = [Join(T), *peers(1, 2, stream=FLOODSUB), Stall((2,))]

    def test_what_they_are_owed_waits(self) -> None:
        deliver = (of(1, M1), [Delivered(M1)])
        assert not said(self.BEFORE, deliver, (TO_BEAT, ()), (BEAT, ()))
        assert not said(self.BEFORE, deliver, (TO_BEAT, ()), (Resume((2,)), sent(M1, 2)))

    def test_and_comes_once(self) -> None:
        twice = (Resume((2,)), [Sent(2, M1)] * 2)
        assert kinds(said(self.BEFORE, (of(1, M1), [Delivered(M1)]), twice)) == ["unexpected"]

    def test_a_queue_may_have_dropped_it(self) -> None:
        assert not said(self.BEFORE, (of(1, M1), [Delivered(M1)]), (Resume((2,)), ()), (TO_BEAT, ()))

    def test_a_choice_that_may_have_fallen_on_one_cannot_be_judged(self) -> None:
        oracle = Oracle(SPEC, SMALL, state_after(SPEC, SMALL, [*peers(1, 2, 3, 4), Stall((4,))]))
        subscribed = sent(Subscribe(T), 1, 2, 3)
        judged = oracle.judge(Join(T), (*subscribed, *sent(Graft(T), 1, 2)))
        assert (judged.blurred, judged.departures) == (True, ())


class TestWhatDiffers:
    def test_a_relayed_message_in_any_detail(self) -> None:
        for other in (evolve(M1, size=9), evolve(M1, author=3), evolve(M1, flaw="altered")):
            found = said(MEMBERS, (of(1, M1), [Sent(2, other), Sent(3, M1), Delivered(M1)]))
            assert [(d.kind, d.clause) for d in found] == [("differs", "pubsub/relay.unchanged")]
            assert (found[0].expected, found[0].observed) == (Sent(2, M1), Sent(2, other))

    @pytest.mark.parametrize(("backoff", "right"), [(60, True), (59, False), (None, False), (0, False)])
    def test_the_announced_backoff(self, backoff: int | None, right: bool) -> None:
        before = [Join(T), *peers(1), Score((1,), -1)]
        found = said(before, (grafted(1), [Sent(1, Prune(T, backoff))]))
        assert [(d.kind, d.clause) for d in found] == (
            [] if right else [("differs", "gs1.1/backoff.announce")]
        )

    @pytest.mark.parametrize("backoff", [60, 3, None])
    def test_what_1_0_peers_are_told_is_open(self, backoff: int | None) -> None:
        before = [Join(T), *peers(1, stream=MESHSUB_1_0), Score((1,), -1)]
        assert not said(before, (grafted(1), [Sent(1, Prune(T, backoff))]))


class TestUnexpected:
    def test_a_crash_is_one_whatever_else(self) -> None:
        found = said(MEMBERS, (of(1, M1), [*RELAY, Crashed("its own words")]))
        assert [(d.kind, d.observed) for d in found] == [("crash", Crashed("its own words"))]

    def test_the_model_goes_on_from_what_it_was_seen_to_do(self) -> None:
        """A GRAFT beyond the count is noted, and the step is readable all the same."""
        oracle = Oracle(SPEC, SMALL, state_after(SPEC, SMALL, peers(1, 2, 3, 4)))
        subscribed = sent(Subscribe(T), 1, 2, 3, 4)
        judged = oracle.judge(Join(T), (*subscribed, *sent(Graft(T), 1, 2, 3, 4)))
        assert kinds(list(judged.departures)) == ["unexpected"]
        assert len(oracle.state.mesh_of(T)) == 3

    def test_several_departures_of_one_step_are_all_noted(self) -> None:
        found = said(MEMBERS, (of(1, M1), [*RELAY, Sent(1, M1), Sent(1, Graft("t2"))]))
        assert sorted(kinds(found)) == ["unexpected", "unexpected"]


class TestSplits:
    """More was seen than one choice can account for, because several choices made it."""

    def test_fill_and_outbound_quota_in_two_topics_at_once(self) -> None:
        parameters = Parameters(d=4, d_low=3, d_high=6, d_score=2, d_out=1)
        inbound, outbound = (1, 2, 3, 4, 5, 6), (7, 8)
        topics = ("t1", "t2")
        before: list[Event] = [Join(t) for t in topics]
        before += [Connect(inbound), Connect(outbound, outbound=True)]
        before += [Receive((*inbound, *outbound), tuple(Subscribe(t) for t in topics))]

        def beat(first: tuple[int, ...], second: tuple[int, ...]) -> list[Departure]:
            outputs = [*sent(Graft("t1"), *first), *sent(Graft("t2"), *second)]
            return judge(SPEC, parameters, before, (TO_BEAT, outputs))

        # Four of anybody fill the mesh; an outbound one may come on top where there was none among them.
        assert not beat((1, 2, 3, 4), (1, 2, 4, 6, 7))
        assert not beat((2, 3, 5, 6, 8), (1, 2, 4, 6, 7))
        assert not beat((2, 3, 5, 8), (1, 2, 4, 6, 7))
        assert not beat((2, 3, 7, 8), (1, 2, 4, 7))
        for wrong in ((1, 2, 3), (1, 2, 3, 4, 5), (1, 2, 3, 7, 8, 4), (7, 8)):
            assert beat(wrong, (1, 2, 4, 6, 7)), wrong
            assert beat((1, 2, 4, 6, 7), wrong), wrong

    def test_fill_and_opportunistic_grafting(self) -> None:
        parameters = evolve(SMALL, opportunistic_graft_threshold=3, d=2, d_low=2)
        before = [*peers(1, 2, 3, 4, 5, 6), Join(T), Score((3, 4), 2), of(2, Unsubscribe(T))]
        # One missing to D, and two that are better than those who are in.
        assert not said(before, (TO_BEAT, sent(Graft(T), 5, 3, 4)), parameters=parameters)
        assert said(before, (TO_BEAT, sent(Graft(T), 5, 6, 3)), parameters=parameters)


class TestOccasions:
    """Clauses that no rule decides count where there was an occasion to break them."""

    R = state_after(SPEC, SMALL, [*MEMBERS, *peers(4, stream=MESHSUB_1_0)])

    def clauses_at(
        self, event: Event, *outputs: Output, ticked: bool = False, because: tuple[str, ...] = ()
    ) -> set[str]:
        return set(applied_clauses(ObservedStep(self.R, event, ticked, outputs, because)))

    def unsigned(self) -> Router:
        policy = evolve(SMALL, signature_policy="StrictNoSign", message_id="content")
        return evolve(self.R, parameters=policy)

    def test_each_has_one(self) -> None:
        ids = evolve(self.R, parameters=evolve(SMALL, message_id="hex"))
        found = self.clauses_at(BEAT, ticked=True)
        found |= self.clauses_at(pruned := of(1, Prune(T)))
        found |= self.clauses_at(pruned, Sent(1, Prune(T, 60)))
        found |= self.clauses_at(of(1, M1), Sent(2, M1))
        found |= self.clauses_at(BEAT, because=("gs1.1/threshold.graylist",))
        found |= set(applied_clauses(ObservedStep(ids, of(1, IHave(T, ("m1",))), False, ())))
        found |= self.clauses_at(Raw((1,), "not-protobuf"))
        found |= self.clauses_at(own("m2"), *sent(Message("m2", T, ROUTER), 1))
        unsigned = tuple(sent(Message("m2", T, ROUTER), 1))
        found |= set(applied_clauses(ObservedStep(self.unsigned(), own("m2"), False, unsigned)))
        found |= self.clauses_at(Score((1,), 2))
        found |= self.clauses_at(BEAT, Sent(1, IHave(T, ("m1",))), ticked=True)
        for stream in (MESHSUB_1_1, MESHSUB_1_2, MESHSUB_1_3):
            found |= self.clauses_at(Connect((9,), stream))
        subjects = ("pubsub", "ids", "messages", "mesh", "backoff", "scores", "gossip")
        occasions = (each for name in subjects for claim in BY_SUBJECT[name] for each in claim.occasions)
        assert found == {each.clause for each in occasions if each.applies is not by_permits}
        assert len(found) == 16

    @pytest.mark.parametrize(
        ("event", "outputs"),
        [
            (BEAT, ()),
            (Raw((1,), "empty-frame"), ()),
            (of(1, Graft(T)), ()),
            (of(1, Graft("t2")), (Sent(4, Prune("t2")),)),
            (of(1, IHave(T, ("m1",))), (Sent(1, IWant(("m1",))),)),
            (Publish(Message("m1", T, ROUTER)), ()),
            (Connect((9,), FLOODSUB), ()),
        ],
        ids=str,
    )
    def test_no_occasion(self, event: Event, outputs: tuple[Output, ...]) -> None:
        assert not self.clauses_at(event, *outputs)

    def test_ids_by_content_are_an_occasion_for_one_of_the_two(self) -> None:
        content = evolve(self.R, parameters=evolve(SMALL, message_id="content"))
        step = ObservedStep(content, of(1, IWant(("m1",))), False, ())
        assert applied_clauses(step) == ("pubsub/id.supplied",)

    @pytest.mark.parametrize(
        ("event", "outputs", "untested"),
        [
            (of(1, M1), (), ("gs1.0/mcache.put", "gs1.0/mcache.shift", "gs1.0/rpc.payload-first")),
            (of(1, M1, Graft(T)), (), ("gs1.0/mcache.put", "gs1.0/mcache.shift")),
            (BEAT, (Sent(1, IHave(T, ("m1",))),), ("gs1.0/rpc.payload-first",)),
        ],
        ids=str,
    )
    def test_a_rule_that_ran_where_no_router_could_break_it_does_not_count(
        self, event: Event, outputs: tuple[Output, ...], untested: tuple[str, ...]
    ) -> None:
        ran = ("gs1.0/rpc.payload-first", "gs1.0/mcache.put", "gs1.0/mcache.shift", "gs1.0/relay.mesh")
        step = ObservedStep(self.R, event, False, outputs, ran)
        assert sorted(untested_clauses(step)) == list(untested)

    def test_what_is_untested_has_not_applied(self) -> None:
        judged = Oracle(SPEC, SMALL, self.R).judge(of(1, M1), (*RELAY,))
        assert {"gs1.0/rpc.payload-first", "gs1.0/mcache.put"} <= set(judged.because)
        assert not {"gs1.0/rpc.payload-first", "gs1.0/mcache.put"} & clauses_tested(judged)

    def test_a_mempool_node_has_one(self) -> None:
        dog = protocol_named("dog")
        node = state_after(dog, DogParameters(), [])
        assert not applied_clauses(ObservedStep(node, Advance(1), True, ()))
        raw = ObservedStep(node, Raw((1,), "not-protobuf"), False, ())
        assert applied_clauses(raw) == ("flood/rpc.malformed",)

    def test_they_are_told_with_what_was_met(self) -> None:
        oracle = Oracle(SPEC, SMALL, self.R)
        spent = oracle.judge(of(1, M1), (*RELAY,)).spent
        assert set(spent) == {"gs1.0/relay.mesh", "floodsub/deliver.once", "pubsub/relay.unchanged"}
        mine = oracle.judge(own("m2"), tuple(sent(Message("m2", T, ROUTER), 1, 2, 3))).spent
        assert set(mine) == {"gs1.1/publish.flood", "pubsub/publish.seqno", "pubsub/signing.sign"}

    @pytest.mark.parametrize(
        ("flaw", "clause"),
        [
            ("no-author", "pubsub/signing.sign"),
            ("unsigned", "pubsub/signing.sign"),
            ("no-seqno", "pubsub/publish.seqno"),
            ("stamped", "pubsub/signing.no-sign"),
            ("altered", "pubsub/relay.unchanged"),
        ],
    )
    def test_what_is_wrong_with_an_own_message(self, flaw: Flaw, clause: str) -> None:
        """It was published and not relayed: how it is stamped is another demand than to leave it alone."""
        oracle = Oracle(SPEC, SMALL, self.R)
        judged = oracle.judge(own("m2"), tuple(sent(Message("m2", T, ROUTER, flaw=flaw), 1, 2, 3)))
        assert {d.clause for d in judged.departures} == {clause}
