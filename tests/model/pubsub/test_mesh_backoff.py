"""Backoff: from when to when, on either end, and from every path into the mesh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import pytest
from attrs import frozen

from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import Advance, Connect, Event, Join, Leave, Output, Score, Sent
from quidnunc.model.parameters import Parameters
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_0, GOSSIPSUB_1_2
from quidnunc.model.pubsub.router import BACKOFF_SWEEP_HEARTBEATS
from quidnunc.model.rpc import Graft, Message, Prune, Subscribe
from quidnunc.properties.explain.root_cause import hypotheses, last_departures
from quidnunc.properties.judge.play import ModelSubject, play
from tests.helpers.pubsub_run import After, T, after, grafted, of, onward, peers, pruned, sent, to_heartbeat

SHORT = {"prune_backoff_s": 6, "unsubscribe_backoff_s": 3}


def pruned_by(backoff_s: int | None = None, *last: Event, **parameters: object) -> After:
    """At 100 ms peer 1, a member, prunes us; then what follows. Peer 2 is alone in the mesh."""
    base = [Join(T), *peers(1, 2), grafted(1, 2), Advance(100), pruned(1, backoff_s=backoff_s)]
    return after(base, *last, **{**SHORT, **parameters})  # type: ignore[arg-type]


class TestHowLong:
    @pytest.mark.parametrize(
        ("announced", "seconds"), [(None, 6), (0, 6), (1, 1), (5, 5), (9, 9), (70, 70), (2**63, 2**63)]
    )
    def test_the_announced_period_or_our_own(self, announced: int | None, seconds: int) -> None:
        end = pruned_by(announced)
        assert end.router.ends_backoff_ms(T, 1) == 100 + 1000 * seconds

    def test_a_running_backoff_is_never_shortened(self) -> None:
        assert pruned_by(9, Advance(200), pruned(1, backoff_s=1)).router.ends_backoff_ms(T, 1) == 9100
        assert pruned_by(1, Advance(200), pruned(1, backoff_s=9)).router.ends_backoff_ms(T, 1) == 9300

    def test_a_stranger_in_the_topic_starts_one_too(self) -> None:
        end = after(Join(T), peers(1), pruned(1), **SHORT)
        assert end.router.ends_backoff_ms(T, 1) == 6000

    def test_a_topic_that_we_are_not_in_starts_none(self) -> None:
        assert not after(peers(1), pruned(1), **SHORT).router.backoff

    def test_it_is_per_topic_and_peer(self) -> None:
        end = pruned_by()
        assert end.router.ends_backoff_ms(T, 2) == 0
        assert end.router.ends_backoff_ms("t2", 1) == 0

    def test_v1_0_has_none(self) -> None:
        end = after(Join(T), peers(1), grafted(1), pruned(1, backoff_s=5), protocol=GOSSIPSUB_1_0)
        assert not end.router.backoff


class TestGraftInside:
    @pytest.mark.parametrize(("at_ms", "taken"), [(1, False), (4999, False), (5000, True), (5001, True)])
    def test_the_instant_of_expiry_is_outside(self, at_ms: int, taken: bool) -> None:
        end = pruned_by(5, Advance(at_ms), of(1, Graft(T)))
        assert (1 in end.mesh()) is taken
        assert end.must == (frozenset() if taken else sent(Prune(T, 6), 1))

    def test_it_extends_the_backoff_by_our_period(self) -> None:
        end = pruned_by(5, Advance(4000), of(1, Graft(T)))
        assert end.router.ends_backoff_ms(T, 1) == 4100 + 6000

    def test_it_does_not_shorten_a_longer_one(self) -> None:
        end = pruned_by(70, Advance(1000), of(1, Graft(T)))
        assert end.router.ends_backoff_ms(T, 1) == 70_100

    def test_each_further_graft_extends_again(self) -> None:
        first = pruned_by(5, Advance(4000), of(1, Graft(T)))
        again = onward(first.router, Advance(5999), of(1, Graft(T)))
        assert again.must == sent(Prune(T, 6), 1)
        assert onward(again.router, Advance(6000), of(1, Graft(T))).mesh() == {1, 2}

    def test_several_in_one_rpc_are_each_refused(self) -> None:
        end = pruned_by(5, of(1, Graft(T), Graft(T)))
        assert [p.output for p in end.permits if p.must] == [*sent(Prune(T, 6), 1)] * 2


class TestOurOwnGrafts:
    """None inside the backoff; free from its end until a sweep must have cleared it; due from then on."""

    def at(self, ms: int) -> After:
        """The heartbeat that runs `ms` after the end of a backoff of two seconds (at 2.1 s)."""
        start = after(Join(T), peers(1), grafted(1), Advance(100), pruned(1, backoff_s=2), **SHORT)
        target = 2100 + ms
        router = start.router
        while router.now_ms + to_heartbeat(router).ms < target:
            router = onward(router, to_heartbeat(router), seen=()).router
        return onward(router, to_heartbeat(router), seen=())

    def test_inside(self) -> None:
        end = self.at(-600)
        assert (end.router.now_ms, end.problems, end.mesh()) == (1500, (), set())

    def test_not_even_if_the_router_does_it(self) -> None:
        start = after(Join(T), peers(1), grafted(1), Advance(100), pruned(1, backoff_s=2), **SHORT)
        end = onward(start.router, to_heartbeat(start.router), seen=sent(Graft(T), 1))
        assert (end.mesh(), end.all) == (set(), frozenset())

    def test_free_after_the_end(self) -> None:
        start = after(Join(T), peers(1), grafted(1), Advance(100), pruned(1, backoff_s=1), **SHORT)
        at_1_5 = onward(start.router, to_heartbeat(start.router), Advance(400)).router
        silent = onward(at_1_5, to_heartbeat(at_1_5), seen=())
        assert (silent.problems, silent.mesh()) == ((), set())
        takes = onward(at_1_5, to_heartbeat(at_1_5), seen=sent(Graft(T), 1))
        assert (takes.problems, takes.mesh()) == ((), {1})

    def test_due_after_the_sweep(self) -> None:
        slack = 1000 * BACKOFF_SWEEP_HEARTBEATS
        before = self.at(slack - 1000)
        assert not before.problems
        late = self.at(slack)
        assert [p.name for p in late.problems] == ["mesh.fill"]

    @pytest.mark.parametrize("path", ["join", "fill", "outbound"])
    def test_every_path_into_the_mesh_keeps_to_it(self, path: str) -> None:
        member = [*peers(1, outbound=True), Join(T), pruned(1)]
        quota = {"d": 2, "d_low": 2, "d_out": 1} if path == "outbound" else {}
        last: list[Event] = [Leave(T), Join(T)] if path == "join" else [Advance(500)]
        others = [*peers(2, 3), grafted(2, 3)] if path == "outbound" else []
        end = after(member, others, last, **{**SHORT, **quota})
        assert not end.due(Graft)
        assert not end.free(Graft)
        # Without the exclusion each of these paths would graft.
        open_ = GOSSIPSUB_1_2.without_rule("backing_off")
        assert after(member, others, last, protocol=open_, **{**SHORT, **quota}).due(Graft) == {1: [Graft(T)]}


class TestOurOwnPrunes:
    def test_whom_we_prune_we_back_off(self) -> None:
        end = after(Join(T), peers(1), grafted(1), Score((1,), -1), Advance(500), **SHORT)
        assert end.must == sent(Prune(T, 6), 1)
        assert end.router.ends_backoff_ms(T, 1) == 6500

    def test_whom_we_leave_we_back_off_for_less(self) -> None:
        end = after(Join(T), peers(1), grafted(1), Leave(T), **SHORT)
        assert end.must >= sent(Prune(T, 3), 1)
        assert end.router.ends_backoff_ms(T, 1) == 3000

    def test_the_other_end_may_not_graft_in_a_refusal(self) -> None:
        """The refusal of a full mesh starts a backoff, so that the next GRAFT meets it even with room."""
        base = [Join(T), *peers(1, 2, 3, 4, 5), grafted(1, 2, 3, 4), grafted(5), pruned(1)]
        end = after(base, grafted(5), **SHORT)
        assert end.must == sent(Prune(T, 6), 5)
        assert "gs1.1/backoff.regraft" in end.because


class TestInV1_0:
    """The text of v1.0 says nothing of fields that it does not define: protobuf skips them."""

    def test_a_prune_with_the_field_of_v1_1_is_a_prune(self) -> None:
        """As py-libp2p answers, whatever version its peer speaks."""
        subject = ModelSubject(GOSSIPSUB_1_0, Parameters())
        run = play(
            [Connect((1,)), of(1, Graft(T))], OtherPrune(subject, Prune(T, 60)), GOSSIPSUB_1_0, Parameters()
        )
        assert run.moments[-1].outputs == (Sent(1, Prune(T, 60)),)
        assert not run.moments[-1].judged.departures

    def test_a_router_that_keeps_a_backoff_is_told_as_that(self) -> None:
        later = edit_named("backoff-of-later-version", GOSSIPSUB_1_0)
        built = later.change(GOSSIPSUB_1_0)
        events = [Join(T), Connect((1,)), of(1, Subscribe(T)), of(1, Graft(T)), of(1, Prune(T)), Advance(500)]
        run = play(events, ModelSubject(built, Parameters()), GOSSIPSUB_1_0, Parameters())
        assert [d.clause for d in last_departures(run)] == ["gs1.0/heartbeat.fill"]
        assert later in hypotheses(run.moments, GOSSIPSUB_1_0, Parameters(), GOSSIPSUB_1_0)


@frozen
class OtherPrune:
    """A router that sends another PRUNE than it means to."""

    inner: ModelSubject
    prune: Prune

    def do(self, event: Event) -> tuple[Output, ...]:
        said = self.inner.do(event)
        return tuple(Sent(o.peer, self.prune) if _is_prune(o) else o for o in said)

    def declare(self, messages: Sequence[Message]) -> None:
        self.inner.declare(messages)

    def close(self) -> None:
        self.inner.close()


def _is_prune(output: Output) -> TypeGuard[Sent]:
    return isinstance(output, Sent) and isinstance(output.part, Prune)
