"""IDONTWANT: to whom, when, for how long, and what the draft and r1 make of it."""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.model.events import (
    FLOODSUB,
    MESHSUB_1_0,
    MESHSUB_1_1,
    MESHSUB_1_2,
    Advance,
    Disconnect,
    Join,
    Sent,
    Verdict,
)
from quidnunc.model.pubsub.idontwant import who_said_idontwant
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_1, GOSSIPSUB_1_2, GOSSIPSUB_1_2_DRAFT
from quidnunc.model.pubsub.router import ReceivedPart
from quidnunc.model.rpc import IDontWant, IHave, Message
from quidnunc.model.rules import Protocol
from tests.helpers.pubsub_run import After, T, after, grafted, message, of, onward, own, peers, sent

BOTH = pytest.mark.parametrize("protocol", [GOSSIPSUB_1_2_DRAFT, GOSSIPSUB_1_2], ids=["draft", "r1"])
MEMBERS = [Join(T), *peers(1, 2, 3), grafted(1, 2, 3)]
M1 = message("m1")
DONT = IDontWant(("m1",))


@BOTH
class TestSaid:
    def test_at_the_first_copy_to_the_mesh_the_sender_included(self, protocol: Protocol) -> None:
        end = after(MEMBERS, of(1, M1), protocol=protocol)
        assert set(end.free(IDontWant)) == {1, 2, 3}
        assert not end.due(IDontWant)

    def test_at_once_and_not_with_the_heartbeat(self, protocol: Protocol) -> None:
        end = after(MEMBERS, of(1, M1), protocol=protocol)
        assert {p.within for p in end.permits if p.output in end.may} == {"now"}

    def test_to_all_of_them_or_to_none(self, protocol: Protocol) -> None:
        """But for the one who brought it, its author, and who was asked for it."""
        base = [*MEMBERS, *peers(4, 5), grafted(4, 5), of(2, IHave(T, ("m1",)))]
        end = after(base, of(1, message("m1", author=3)), protocol=protocol, d_high=6)
        together = {p.output.peer for p in end.permits if p.together and isinstance(p.output, Sent)}
        assert together == {4, 5}
        assert not any(p.must for p in end.permits if p.together)

    def test_not_at_a_duplicate(self, protocol: Protocol) -> None:
        assert not after(MEMBERS, of(1, M1), of(2, M1), protocol=protocol).all

    def test_not_to_others(self, protocol: Protocol) -> None:
        base = [*MEMBERS, *peers(4), *peers(5, stream=FLOODSUB)]
        assert set(after(base, of(1, M1), protocol=protocol).free(IDontWant)) == {1, 2, 3}

    @pytest.mark.parametrize(("stream", "told"), [(MESHSUB_1_0, 0), (MESHSUB_1_1, 0), (MESHSUB_1_2, 1)])
    def test_only_on_streams_that_know_it(self, protocol: Protocol, stream: str, told: int) -> None:
        base = [Join(T), *peers(1, stream=stream), *peers(2), grafted(1, 2)]
        assert len(after(base, of(2, M1), protocol=protocol).free(IDontWant)) == 1 + told

    def test_before_the_verdict_or_with_it(self, protocol: Protocol) -> None:
        base = [*MEMBERS, of(1, M1)]
        early = after(base, protocol=protocol, validation="manual")
        assert set(early.free(IDontWant)) == {1, 2, 3}
        late = onward(early.router, Verdict("m1", "accept"))
        assert set(late.free(IDontWant)) == {1, 2, 3}
        assert not onward(early.router, Verdict("m1", "reject")).all

    def test_about_own_messages_too(self, protocol: Protocol) -> None:
        assert set(after(MEMBERS, own("m1"), protocol=protocol).free(IDontWant)) == {1, 2, 3}

    def test_not_about_what_is_dropped(self, protocol: Protocol) -> None:
        assert not after(MEMBERS, of(1, message(flaw="forged")), protocol=protocol).all
        assert not after(MEMBERS, of(1, message(topic="t2")), protocol=protocol).all


def relay(*before: object, protocol: Protocol = GOSSIPSUB_1_2, **rest: object) -> After:
    """What becomes of m1 from peer 1 after `before`."""
    return after(MEMBERS, *before, of(1, M1), protocol=protocol, **rest)  # type: ignore[arg-type]


class TestHeard:
    def test_r1_must_skip(self) -> None:
        end = relay(of(2, DONT))
        assert (set(end.due(Message)), set(end.free(Message))) == ({3}, set())

    def test_the_draft_may_skip(self) -> None:
        end = relay(of(2, DONT), protocol=GOSSIPSUB_1_2_DRAFT)
        assert (set(end.due(Message)), set(end.free(Message))) == ({3}, {2})

    def test_v1_1_knows_nothing_of_it(self) -> None:
        assert set(relay(of(2, DONT), protocol=GOSSIPSUB_1_1).due(Message)) == {2, 3}

    @BOTH
    def test_other_ids_and_other_peers_are_not_concerned(self, protocol: Protocol) -> None:
        assert set(relay(of(2, IDontWant(("m2",))), protocol=protocol).due(Message)) == {2, 3}
        assert set(relay(of(1, DONT), protocol=protocol).due(Message)) == {2, 3}

    @BOTH
    def test_several_ids_in_one_entry_and_several_entries(self, protocol: Protocol) -> None:
        for said in ((IDontWant(("m0", "m1", "m2")),), (IDontWant(("m0",)), DONT)):
            assert set(relay(of(2, *said), protocol=protocol).due(Message)) == {3}

    @BOTH
    def test_without_ids_it_says_nothing(self, protocol: Protocol) -> None:
        assert set(relay(of(2, IDontWant(())), protocol=protocol).due(Message)) == {2, 3}

    def test_in_the_rpc_with_the_message_it_comes_too_late_for_it(self) -> None:
        """Payload first: what the same RPC does not want was accepted before."""
        end = after(MEMBERS, of(1, M1, IDontWant(("m2",))))
        assert set(end.due(Message)) == {2, 3}

    @BOTH
    def test_between_arrival_and_verdict_it_counts(self, protocol: Protocol) -> None:
        end = after(
            MEMBERS, of(1, M1), of(2, DONT), Verdict("m1", "accept"), protocol=protocol, validation="manual"
        )
        assert set(end.due(Message)) == {3}

    def test_floodsub_and_explicit_peers_are_outside_the_letter(self) -> None:
        base = [*peers(5), of(5, DONT)]
        end = relay(base, explicit_peers=frozenset({5}))
        assert (set(end.due(Message)), set(end.free(Message))) == ({2, 3}, {5})

    @pytest.mark.parametrize(("explicit", "skipped"), [(frozenset({2}), None), (frozenset({9}), True)])
    def test_so_is_an_explicit_peer_in_the_mesh(self, explicit: frozenset[int], skipped: bool | None) -> None:
        """Only a router that departs has one there, and it gets every message as an explicit peer."""
        r = after(MEMBERS, of(2, DONT), explicit_peers=frozenset({9})).router
        r = evolve(r, parameters=evolve(r.parameters, explicit_peers=explicit))
        assert 2 in r.mesh_of(T)
        assert who_said_idontwant.apply(r, ReceivedPart(1, M1), 2) is skipped

    def test_who_leaves_the_mesh_between_is_no_target(self) -> None:
        end = relay(of(2, DONT), Disconnect((2,)), peers(2), grafted(2))
        assert set(end.due(Message)) == {2, 3}


class TestForHowLong:
    @pytest.mark.parametrize(("wait_ms", "skipped"), [(1, True), (499, True), (500, False), (5000, False)])
    def test_at_least_to_the_next_heartbeat_then_it_is_free(self, wait_ms: int, skipped: bool) -> None:
        end = relay(of(2, DONT), Advance(wait_ms))
        assert set(end.due(Message)) == {3}
        assert set(end.free(Message)) == (set() if skipped else {2})

    def test_said_again_it_is_fresh(self) -> None:
        end = relay(of(2, DONT), Advance(500), of(2, DONT))
        assert not end.free(Message)


class TestCap:
    """Three messages of one peer per heartbeat; an entry with several ids may count as several."""

    CAP = {"max_idontwant_messages": 3}

    @pytest.mark.parametrize(("earlier", "heeded"), [(2, True), (3, False)])
    def test_beyond_it_they_are_not_heeded(self, earlier: int, heeded: bool) -> None:
        said = [of(2, IDontWant((f"x{k}",))) for k in range(earlier)]
        end = relay(said, of(2, DONT), **self.CAP)
        assert not end.free(Message)
        assert (2 in end.due(Message)) is not heeded

    def test_the_surplus_of_one_entry(self) -> None:
        end = relay(of(2, IDontWant(("x0", "x1", "x2", "m1"))), **self.CAP)
        assert set(end.free(Message)) == {2}
        end = relay(of(2, IDontWant(("x0", "x1", "m1", "x2"))), **self.CAP)
        assert not end.free(Message)

    def test_what_was_binding_stays_so(self) -> None:
        end = relay(of(2, DONT), of(2, IDontWant(("x0", "x1", "x2", "m1"))), **self.CAP)
        assert not end.free(Message)

    def test_the_heartbeat_starts_anew(self) -> None:
        said = of(2, IDontWant(("x0", "x1", "x2")))
        assert not relay(said, Advance(500), of(2, DONT), **self.CAP).free(Message)

    def test_per_peer(self) -> None:
        said = of(3, IDontWant(("x0", "x1", "x2")))
        assert not relay(said, of(2, DONT), **self.CAP).free(Message)

    def test_on_a_stream_that_does_not_know_it_it_is_free(self) -> None:
        base = [Join(T), *peers(1), *peers(2, stream=MESHSUB_1_1), grafted(1, 2)]
        end = after(base, of(2, DONT), of(1, M1))
        assert (set(end.due(Message)), set(end.free(Message))) == (set(), {2})


def test_the_set_is_bounded_by_what_a_heartbeat_keeps() -> None:
    """After the heartbeat entries are free; they are not kept beyond what the peer said."""
    end = after(MEMBERS, of(2, DONT), Advance(500))
    assert end.router.unwanted == {2: {"m1": -1}}
    assert not after(MEMBERS, of(2, DONT), Disconnect((2,))).router.unwanted
    assert sent(M1, 2) <= relay(of(2, DONT), Advance(500)).may
