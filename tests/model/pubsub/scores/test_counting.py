"""The counters behind the score: what counts, what decays, what is remembered. Worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from quidnunc.model.events import Advance, Connect, Disconnect, Join, Score, Verdict
from quidnunc.model.machine import protocol_named
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import IHave, Prune, Subscribe
from quidnunc.model.score_interval import ScoreInterval, between, interval
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from tests.helpers.pubsub_run import T, after, grafted, message, of, onward, peers, pruned

BASE = [Join(T), *peers(1, 2, 3), grafted(1, 2)]


UNITS = 3
"""Of the last place: a part of a quantum is rounded outward before it is weighted."""


def scored(r: Router, peer: int) -> ScoreInterval:
    return r.bounds(peer)


def run(*events: Any, of_router: dict[str, Any] | None = None, **of_topic: Any) -> Router:
    topic = TopicScoreParameters(topic=T, **of_topic)
    scores = ScoreParameters(topics=(topic,), **(of_router or {}))
    return after(BASE, *events, scores=scores, validation="manual").router


def brought(peer: int, name: str, judgement: str = "accept") -> list[Any]:
    return [of(peer, message(name)), Verdict(name, judgement)]  # type: ignore[arg-type]


class TestTimeInMesh:
    def test_quanta_as_of_the_last_decay(self) -> None:
        rules = {"time_in_mesh_weight": 0.5, "time_in_mesh_quantum_ms": 1500, "time_in_mesh_cap": 3.0}
        values = [scored(run(Advance(ms), **rules), 1) for ms in (999, 2999, 3000, 9000)]
        assert values[0] == interval(0) and values[2:] == [interval(1), interval(1.5)]
        # 2000 ms are one and a third.
        assert values[1].lo == interval(0.5).lo and abs(values[1].hi - interval(2 / 3).hi) <= UNITS

    def test_whether_a_part_of_a_quantum_counts_is_free(self) -> None:
        rules = {"time_in_mesh_weight": 3.0, "time_in_mesh_quantum_ms": 1500}
        found = scored(run(Advance(1000), **rules), 1)
        assert found.lo == interval(0).lo and abs(found.hi - interval(2).hi) <= UNITS

    def test_outside_the_mesh_it_is_nothing_and_it_starts_anew(self) -> None:
        r = run(Advance(3000), pruned(1, backoff_s=1), time_in_mesh_weight=1.0)
        assert scored(r, 1) == scored(r, 3) == interval(0)
        assert scored(onward(r, Advance(1500), grafted(1)).router, 1) == interval(0)


class TestDeliveries:
    def test_the_first_one_counts_up_to_the_cap(self) -> None:
        rules = {"first_message_deliveries_weight": 2.0, "first_message_deliveries_cap": 2.0}
        r = run(*brought(1, "a"), of(2, message("a")), **rules)
        assert (scored(r, 1), scored(r, 2)) == (interval(2), interval(0))
        r = run(*brought(1, "a"), *brought(1, "b"), *brought(1, "c"), **rules)
        assert scored(r, 1) == interval(4)

    def test_neither_rejected_nor_ignored_ones_count(self) -> None:
        for judgement in ("reject", "ignore"):
            r = run(*brought(1, "a", judgement), first_message_deliveries_weight=1.0)
            assert scored(r, 1) == interval(0)

    RULES = {
        "mesh_message_deliveries_weight": -1.0,
        "mesh_message_deliveries_threshold": 3.0,
        "mesh_message_deliveries_activation_ms": 1000,
        "mesh_message_deliveries_window_ms": 50,
        "mesh_message_deliveries_decay": 0.5,
    }

    def test_the_deficit_is_squared_once_a_member_is_active(self) -> None:
        assert [scored(run(Advance(ms), **self.RULES), 1) for ms in (1000, 2000)] == [
            interval(0),
            interval(-9),
        ]
        assert scored(run(Advance(2000), **self.RULES), 3) == interval(0)

    @pytest.mark.parametrize(
        ("late_ms", "expected"), [(49, interval(-4)), (50, between(-9, -4)), (51, interval(-9))]
    )
    def test_near_first_copies_count_within_the_window(self, late_ms: int, expected: ScoreInterval) -> None:
        """On its very end it is free."""
        r = run(Advance(2000), *brought(1, "a"), Advance(late_ms), of(2, message("a")), **self.RULES)
        assert (scored(r, 1), scored(r, 2)) == (interval(-4), expected)

    def test_copies_during_validation_count_once(self) -> None:
        copies = [of(1, message("a")), of(2, message("a")), of(2, message("a")), Verdict("a", "accept")]
        r = run(Advance(2000), *copies, **self.RULES)
        assert (scored(r, 1), scored(r, 2)) == (interval(-4), interval(-4))

    def test_only_a_prune_for_a_negative_score_is_sure_to_cost_the_deficit(self) -> None:
        rules = {**self.RULES, "mesh_failure_penalty_weight": -1.0}
        r = run(Advance(2000), **rules)
        assert scored(onward(r, Advance(500)).router, 1) == interval(-9)
        by_itself = onward(run(Advance(1499), Score((1,), 20), Advance(501), **rules), pruned(1)).router
        assert scored(by_itself, 1) == between(11, 20)


class TestInvalid:
    def test_the_number_is_squared(self) -> None:
        bad = [*brought(1, "a", "reject"), *brought(1, "b", "reject"), *brought(1, "c", "ignore")]
        assert scored(run(*bad, invalid_message_deliveries_weight=-3.0), 1) == interval(-12)

    def test_who_sent_another_copy_may_be_counted(self) -> None:
        copies = [of(1, message("a")), of(2, message("a")), Verdict("a", "reject")]
        r = run(*copies, invalid_message_deliveries_weight=-1.0)
        assert (scored(r, 1), scored(r, 2)) == (interval(-1), between(-1, 0))


def test_peers_of_one_address_beyond_the_threshold_are_squared() -> None:
    rules = {"ip_colocation_factor_weight": -2.0, "ip_colocation_factor_threshold": 1}
    r = run(Connect((4, 5, 6), address=7), Connect((7,), address=8), of_router=rules)
    assert [scored(r, p) for p in (1, 4, 5, 6, 7)] == [interval(v) for v in (0, -8, -8, -8, 0)]
    # Whether one that is gone still counts is not said.
    assert scored(onward(r, Disconnect((6,))).router, 4) == between(-8, -2)


class TestBehaviour:
    RULES = {"behaviour_penalty_weight": -1.0, "iwant_followup_ms": 700, "behaviour_penalty_decay": 0.5}

    def test_a_promise_that_nobody_keeps_is_penalised(self) -> None:
        r = run(Advance(100), of(3, IHave(T, ("x",))), of_router=self.RULES)
        assert [scored(onward(r, Advance(ms)).router, 3) for ms in (699, 700, 900, 1400)] == [
            interval(0),
            between(-1, 0),
            between(-1, 0),
            interval(-1),
        ]

    def test_once_it_was_judged_it_counts_no_more(self) -> None:
        """So a router that never judges one is told from ours."""
        r = run(Advance(100), of(3, IHave(T, ("x",))), of_router=self.RULES)
        lenient = protocol_named("gossipsub-1.2").without_rule("break_promises")
        r = evolve(r, protocol=lenient)
        scores = [scored(onward(r, Advance(ms), Advance(ms)).router, 3) for ms in (450, 700, 1400)]
        assert scores == [between(-1, 0), between(-1, 0), interval(0)]

    def test_one_that_anybody_keeps_is_not(self) -> None:
        r = run(Advance(100), of(3, IHave(T, ("x",))), *brought(1, "x", "reject"), of_router=self.RULES)
        assert scored(onward(r, Advance(1400)).router, 3) == interval(0)

    def test_which_of_several_ids_was_tracked_is_free(self) -> None:
        r = run(Advance(100), of(3, IHave(T, ("x", "y"))), *brought(1, "x"), of_router=self.RULES)
        assert scored(onward(r, Advance(1400)).router, 3) == between(-1, 0)

    def test_a_graft_inside_the_backoff_may_be_penalised(self) -> None:
        r = run(of(1, Prune(T)), grafted(1), of_router=self.RULES)
        assert scored(r, 1) == between(-4, 0)


class TestDecay:
    RULES = {"first_message_deliveries_weight": 1.0, "first_message_deliveries_decay": 0.5}

    def test_by_the_factor_and_then_to_nothing(self) -> None:
        scale = {"decay_to_zero": 0.2}
        values = [
            scored(run(*brought(1, "a"), Advance(ms), of_router=scale, **self.RULES), 1)
            for ms in (999, 1000, 2000, 3000)
        ]
        assert values == [interval(v) for v in (1, 0.5, 0.25, 0)]

    def test_one_that_comes_with_a_heartbeat_comes_first(self) -> None:
        r = run(Advance(500), Score((1,), -1), *brought(1, "a"), of_router={"decay_interval_ms": 750})
        assert 1 in onward(r, Advance(250)).mesh()
        end = after(
            BASE,
            *brought(1, "a"),
            Score((1,), -1),
            Advance(500),
            scores=ScoreParameters(
                topics=(TopicScoreParameters(topic=T, **self.RULES),), decay_interval_ms=500
            ),
            validation="manual",
        )
        assert 1 not in end.mesh()


class TestRetained:
    RULES = {"retain_score_ms": 3000}
    TOPIC = {"invalid_message_deliveries_weight": -1.0, "invalid_message_deliveries_decay": 0.5}

    def returned(self, away_ms: int) -> ScoreInterval:
        gone = [*brought(1, "a", "reject"), Disconnect((1,)), Advance(away_ms)]
        r = run(*gone, Connect((1,)), of(1, Subscribe(T)), of_router=self.RULES, **self.TOPIC)
        return scored(r, 1)

    def test_for_the_time_and_no_longer(self) -> None:
        """Whether counters decay meanwhile, and when between the end and the next decay they go, is free."""
        assert self.returned(500) == interval(-1)
        assert self.returned(1000) == between(-1, -0.25)
        assert self.returned(3000).lo == interval(-1).lo
        assert self.returned(4000) == interval(0)

    @pytest.mark.parametrize(
        ("away_ms", "judgement", "least", "most"),
        [(500, "reject", -1, -1), (4000, "reject", -1, 0), (500, "accept", 2, 2), (4000, "accept", 0, 2)],
    )
    def test_whether_a_verdict_counts_for_a_peer_that_is_forgotten_is_free(
        self, away_ms: int, judgement: Any, least: int, most: int
    ) -> None:
        late = [of(1, message("a")), Disconnect((1,)), Advance(away_ms), Verdict("a", judgement)]
        topic = {**self.TOPIC, "first_message_deliveries_weight": 2.0}
        r = run(*late, Connect((1,)), of(1, Subscribe(T)), of_router=self.RULES, **topic)
        assert scored(r, 1) == between(least, most)


def test_what_topics_add_is_capped_from_above_alone() -> None:
    good = {"topic_weight": 2.0, "first_message_deliveries_weight": 1.0}
    cap = {"topic_score_cap": 3.0}
    assert scored(run(*brought(1, "a"), of_router=cap, **good), 1) == interval(2)
    assert scored(run(*brought(1, "a"), *brought(1, "b"), of_router=cap, **good), 1) == interval(3)
    bad = {"topic_weight": 2.0, "invalid_message_deliveries_weight": -9.0}
    assert scored(run(*brought(1, "a", "reject"), of_router=cap, **bad), 1) == interval(-18)


def test_the_application_has_its_weight() -> None:
    r = run(Score((1,), -6), of_router={"app_specific_weight": 0.25})
    assert scored(r, 1) == interval(-1.5)
    assert (r.below(1, -1), r.below(1, -2), r.score(1)) == (True, False, -2)
