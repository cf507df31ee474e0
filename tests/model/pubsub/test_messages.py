"""A message from its arrival to its relay, clause by clause."""

from __future__ import annotations

from typing import get_args

import pytest

from quidnunc.model.events import (
    FLOODSUB,
    MESHSUB_1_2,
    Advance,
    Connect,
    Delivered,
    Event,
    Join,
    Leave,
    Receive,
    Score,
    Sent,
    Verdict,
)
from quidnunc.model.pubsub.protocols import PUBSUB
from quidnunc.model.rpc import ROUTER, Flaw, IDontWant, IHave, Message, Subscribe
from quidnunc.model.rules import Protocol
from tests.helpers.pubsub_run import (
    MESH_VERSIONS,
    SINCE_1_1,
    STREAM_OF,
    After,
    T,
    after,
    grafted,
    message,
    of,
    onward,
    own,
    peers,
    sent,
)

EVERY = pytest.mark.parametrize("protocol", PUBSUB.values(), ids=list(PUBSUB))
MESHED = pytest.mark.parametrize("protocol", MESH_VERSIONS, ids=[p.name for p in MESH_VERSIONS])
LATER = pytest.mark.parametrize("protocol", SINCE_1_1, ids=[p.name for p in SINCE_1_1])

M1 = message("m1")


def members(protocol: Protocol, *numbers: int) -> list[Event]:
    """Members of the topic that the router relays to under each protocol: of its mesh, or of the topic."""
    stream = STREAM_OF[protocol.name]
    joined: list[Event] = [Join(T), *peers(*numbers, stream=stream)]
    return joined if protocol.name == "floodsub" else [*joined, grafted(*numbers)]


def delivered(m: Message = M1) -> Delivered:
    return Delivered(m)


@EVERY
class TestAcceptance:
    def test_delivered_and_relayed(self, protocol: Protocol) -> None:
        end = after(members(protocol, 1, 2, 3), of(1, M1), protocol=protocol)
        assert end.must == {delivered(), *sent(M1, 2, 3)}

    def test_in_a_topic_that_we_are_not_in_it_is_dropped(self, protocol: Protocol) -> None:
        stream = STREAM_OF[protocol.name]
        end = after(peers(1, 2, stream=stream), of(1, M1), protocol=protocol)
        assert not end.all
        assert not end.router.seen
        after_leave = after(members(protocol, 1, 2), Leave(T), of(1, M1), protocol=protocol)
        assert not after_leave.all

    def test_once_whoever_sends_it_again(self, protocol: Protocol) -> None:
        base = members(protocol, 1, 2, 3)
        for again in (1, 2, 3):
            assert not after(base, of(1, M1), of(again, M1), protocol=protocol).all
        end = after(base, of(1, M1, M1), protocol=protocol)
        assert [p.output for p in end.permits if p.must].count(delivered()) == 1

    def test_not_to_the_author(self, protocol: Protocol) -> None:
        end = after(members(protocol, 1, 2, 3), of(1, message(author=2)), protocol=protocol)
        assert set(end.due(Message)) == {3}

    def test_what_claims_to_be_ours_is_forwarded_to_nobody(self, protocol: Protocol) -> None:
        """Whether the application gets it the text does not say."""
        ours = message(author=ROUTER)
        end = after(members(protocol, 1, 2), of(1, ours), protocol=protocol)
        assert not end.must and end.may == {Delivered(ours)}
        assert not end.router.seen

    def test_our_own_echo_is_dropped(self, protocol: Protocol) -> None:
        echo = Message("m1", T, ROUTER)
        assert not after(members(protocol, 1, 2), own(), of(1, echo), protocol=protocol).all

    @pytest.mark.parametrize("flaw", [f for f in get_args(Flaw) if f])
    def test_a_flawed_copy_is_dropped_and_poisons_no_good_one(self, protocol: Protocol, flaw: Flaw) -> None:
        base = members(protocol, 1, 2, 3)
        bad = message(flaw=flaw)
        assert not after(base, of(1, bad), protocol=protocol).all
        end = after(base, of(1, bad), of(2, M1), protocol=protocol)
        assert end.must == {delivered(), *sent(M1, 1, 3)}
        both = after(base, of(1, bad, M1), protocol=protocol)
        assert both.must == {delivered(), *sent(M1, 2, 3)}

    def test_of_unknown_author(self, protocol: Protocol) -> None:
        """StrictNoSign: nobody is the author, so nobody is left out for it."""
        nobody = Message("m1", T, None)
        unsigned = {"signature_policy": "StrictNoSign", "message_id": "content"}
        end = after(members(protocol, 1, 2), of(1, nobody), protocol=protocol, **unsigned)
        assert end.must == {delivered(nobody), *sent(nobody, 2)}


@EVERY
class TestSeenTime:
    """seen_ttl 8 s."""

    @pytest.mark.parametrize(("at_ms", "duplicate"), [(1, True), (7999, True), (8000, False), (9000, False)])
    def test_within_it_is_a_duplicate_afterwards_it_is_free(
        self, protocol: Protocol, at_ms: int, duplicate: bool
    ) -> None:
        start = after(members(protocol, 1, 2), of(1, M1), Advance(at_ms), protocol=protocol, seen_ttl_ms=8000)
        kept = onward(start.router, of(2, M1), seen=())
        assert not kept.all
        anew = onward(start.router, of(2, M1), seen={delivered()})
        assert anew.must == (set() if duplicate else {delivered(), *sent(M1, 1)})

    def test_a_duplicate_does_not_prolong_it(self, protocol: Protocol) -> None:
        end = after(
            members(protocol, 1, 2), of(1, M1), Advance(7000), of(2, M1), Advance(1000), of(2, M1),
            protocol=protocol, seen_ttl_ms=8000, seen={delivered()},
        )  # fmt: skip
        assert end.must == {delivered(), *sent(M1, 1)}

    def test_taken_again_it_counts_from_then_on(self, protocol: Protocol) -> None:
        start = after(members(protocol, 1, 2), of(1, M1), Advance(8000), protocol=protocol, seen_ttl_ms=8000)
        anew = onward(start.router, of(2, M1), seen={delivered()}).router
        assert not onward(anew, Advance(7999), of(1, M1), seen={delivered()}).all

    @pytest.mark.parametrize(("at_ms", "duplicate"), [(7999, True), (8000, False)])
    def test_in_a_topic_that_the_router_is_not_in_relay_shows_that_it_is_over(
        self, protocol: Protocol, at_ms: int, duplicate: bool
    ) -> None:
        """Mutant: nothing but a delivery shows it, and nobody gets one there."""
        away = Message("m1", "t3", 1)
        accepting = protocol.without_rule("not_joined")
        before = [
            *peers(1, 2, stream=STREAM_OF[protocol.name]),
            *peers(3, topic="t3", stream="/floodsub/1.0.0"),
        ]
        start = after(before, of(1, away), Advance(at_ms), protocol=accepting, seen_ttl_ms=8000)
        assert (sent(away, 3) <= onward(start.router, of(2, away), seen=sent(away, 3)).all) is not duplicate
        # Who brings a copy may ask for it in the same RPC: the answer shows nothing.
        assert not onward(start.router, of(3, away), seen=sent(away, 3)).all


@EVERY
class TestVerdicts:
    def waiting(self, protocol: Protocol, *last: Event) -> After:
        base = [*members(protocol, 1, 2, 3), of(1, M1)]
        return after(base, *last, protocol=protocol, validation="manual")

    def test_nothing_before_the_verdict(self, protocol: Protocol) -> None:
        end = after(members(protocol, 1, 2, 3), of(1, M1), protocol=protocol, validation="manual")
        assert not end.must
        assert not any(isinstance(o, Sent) and isinstance(o.part, Message) for o in end.may)

    def test_accept_delivers_and_relays(self, protocol: Protocol) -> None:
        end = self.waiting(protocol, Verdict("m1", "accept"))
        assert end.must == {delivered(), *sent(M1, 2, 3)}

    @pytest.mark.parametrize("judgement", ["reject", "ignore"])
    def test_reject_and_ignore_do_neither(self, protocol: Protocol, judgement: str) -> None:
        end = self.waiting(protocol, Verdict("m1", judgement))  # type: ignore[arg-type]
        assert not end.all
        # What was refused stays seen.
        again = onward(end.router, of(2, M1), seen={delivered()})
        assert not again.all

    def test_copies_meanwhile_are_duplicates(self, protocol: Protocol) -> None:
        assert not self.waiting(protocol, of(2, M1)).all
        end = self.waiting(protocol, of(2, M1), Verdict("m1", "accept"))
        assert end.must == {delivered(), *sent(M1, 3)}
        # Whether the sender of such a copy is sent the message is not said.
        assert {*sent(M1, 2)} <= {*end.may}

    @pytest.mark.parametrize(("at_ms", "duplicate"), [(7999, True), (8000, False)])
    def test_a_copy_after_the_seen_time_may_be_a_first_one(
        self, protocol: Protocol, at_ms: int, duplicate: bool
    ) -> None:
        late = Message("m1", "t1", size=2000)
        if protocol.name < "gossipsub-1.2" or protocol.name == "gossipsub-1.2-draft":
            pytest.skip("nothing shows of a message that waits")
        start = after(
            [*members(protocol, 1, 2, 3), of(1, late)], Advance(at_ms),
            protocol=protocol, validation="manual", seen_ttl_ms=8000,
        )  # fmt: skip
        told = Sent(3, IDontWant(("m1",)))
        assert not onward(start.router, of(2, late), seen=()).all
        assert (told in onward(start.router, of(2, late), seen={told}).all) is not duplicate

    def test_the_peers_of_the_verdict_count_not_those_of_the_arrival(self, protocol: Protocol) -> None:
        late = [*peers(4, stream=STREAM_OF[protocol.name]), of(2, Subscribe("t2"))]
        late += [] if protocol.name == "floodsub" else [grafted(4)]
        end = self.waiting(protocol, *late, Verdict("m1", "accept"))
        assert set(end.due(Message)) == {2, 3, 4}

    def test_after_leaving_the_topic_relay_is_free(self, protocol: Protocol) -> None:
        end = self.waiting(protocol, Leave(T), Verdict("m1", "accept"))
        assert not end.must
        assert delivered() in end.may


class TestRelayTargets:
    @EVERY
    def test_floodsub_members_get_everything(self, protocol: Protocol) -> None:
        base = [*members(protocol, 1), *peers(5, stream=FLOODSUB), *peers(6, topic="t2", stream=FLOODSUB)]
        assert set(after(base, of(1, M1), protocol=protocol).due(Message)) == {5}

    @MESHED
    def test_mesh_peers_outside_the_mesh_get_nothing(self, protocol: Protocol) -> None:
        base = [*members(protocol, 1, 2), *peers(3, stream=STREAM_OF[protocol.name])]
        assert set(after(base, of(1, M1), protocol=protocol).due(Message)) == {2}

    @LATER
    def test_explicit_members_get_everything(self, protocol: Protocol) -> None:
        explicit = frozenset({4, 5})
        base = [*members(protocol, 1, 2), *peers(4), Connect((5,), MESHSUB_1_2), Score((4,), -99)]
        end = after(base, of(1, M1), protocol=protocol, explicit_peers=explicit)
        assert set(end.due(Message)) == {2, 4}
        # Whether those outside the topic get it too is not said.
        assert set(end.free(Message)) == {5}

    @LATER
    @pytest.mark.parametrize(("score", "free"), [(-20, False), (-21, True)])
    def test_relay_to_floodsub_peers_below_the_publish_threshold_is_free(
        self, protocol: Protocol, score: int, free: bool
    ) -> None:
        base = [*members(protocol, 1), *peers(5, stream=FLOODSUB), Score((5,), score)]
        end = after(base, of(1, M1), protocol=protocol)
        assert (set(end.due(Message)), set(end.free(Message))) == ((set(), {5}) if free else ({5}, set()))

    @LATER
    def test_the_mesh_gets_it_whatever_its_scores(self, protocol: Protocol) -> None:
        base = [*members(protocol, 1, 2), Score((2,), -30)]
        assert set(after(base, of(1, M1), protocol=protocol).due(Message)) == {2}


@MESHED
def test_the_payload_of_an_rpc_comes_before_its_control(protocol: Protocol) -> None:
    """So that an id that is advertised beside the message itself is not requested."""
    combined = Receive((1,), (IHave(T, ("m1",)), M1))
    end = after(members(protocol, 1, 2), combined, protocol=protocol)
    assert end.must == {delivered(), *sent(M1, 2)}


@EVERY
def test_the_empty_rpc_is_an_rpc(protocol: Protocol) -> None:
    start = after(members(protocol, 1, 2), protocol=protocol).router
    end = onward(start, Receive((1,), ()))
    assert (end.router, end.all) == (start, frozenset())


@EVERY
def test_subscriptions_of_an_rpc_come_before_its_messages(protocol: Protocol) -> None:
    """Floodsub peers count from the subscription in the same RPC on."""
    base = [Join(T), Connect((1, 2), FLOODSUB), of(1, Subscribe(T))]
    end = after(base, of(2, M1, Subscribe(T)), of(1, message("m2")), protocol=protocol)
    assert set(end.due(Message)) == {2}


def test_idontwant_is_no_part_of_what_older_streams_are_told() -> None:
    for protocol in PUBSUB.values():
        end = after(members(protocol, 1, 2), of(1, M1), protocol=protocol)
        assert set(end.free(IDontWant)) == ({1, 2} if "idontwant" in protocol.handlers else set())
