"""Scores: for now what the application says, and every threshold that it is held against."""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import Join, Score
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_0, GOSSIPSUB_1_1, GOSSIPSUB_1_2
from quidnunc.model.rpc import Graft, IHave, IWant, Message, Subscribe
from quidnunc.model.rules import Protocol, Rule, total
from tests.helpers.pubsub_run import SINCE_1_1, After, T, after, grafted, message, of, onward, peers, sent

LATER = pytest.mark.parametrize("protocol", SINCE_1_1, ids=[p.name for p in SINCE_1_1])


@LATER
class TestApplicationScore:
    def test_it_is_the_score(self, protocol: Protocol) -> None:
        r = after(peers(1, 2), Score((1,), -7), protocol=protocol).router
        assert (r.score(1), r.gate_score(1), r.score(2)) == (-7, -7, 0)

    def test_the_last_word_counts(self, protocol: Protocol) -> None:
        r = after(peers(1, 2), Score((1, 2), -7), Score((1,), 3), protocol=protocol).router
        assert (r.score(1), r.score(2)) == (3, -7)


def test_v1_0_has_no_score() -> None:
    r = after(peers(1), Score((1,), -7), protocol=GOSSIPSUB_1_0).router
    assert r.score(1) == 0


def test_without_its_term_the_score_is_nought() -> None:
    protocol = GOSSIPSUB_1_2.without_rule("application")
    assert after(peers(1), Score((1,), -7), protocol=protocol).router.score(1) == 0


class TestGraylist:
    """Below -40 the whole RPC is ignored."""

    def read(self, score: int, protocol: Protocol = GOSSIPSUB_1_2, **rest: object) -> After:
        base = [Join(T), *peers(1, 2), grafted(2), Score((1,), score)]
        rpc = of(1, Subscribe("t2"), message(), IHave(T, ("x",)), Graft(T))
        return after(base, rpc, protocol=protocol, **rest)  # type: ignore[arg-type]

    @LATER
    def test_at_the_threshold_it_is_read(self, protocol: Protocol) -> None:
        end = self.read(-40, protocol)
        assert "t2" in end.router.peers[1].topics
        assert set(end.due(Message)) == {2}

    @LATER
    def test_below_it_nothing_is(self, protocol: Protocol) -> None:
        end = self.read(-41, protocol)
        assert not end.all
        assert (end.router.peers[1].topics, end.router.seen) == ({T}, {})

    def test_the_reading_that_takes_its_subscriptions(self) -> None:
        end = self.read(-41, GOSSIPSUB_1_2.reading("graylisted-subscriptions-count"))
        assert not end.all
        assert (end.router.peers[1].topics, end.router.seen) == ({T, "t2"}, {})

    @LATER
    def test_explicit_peers_are_always_read(self, protocol: Protocol) -> None:
        end = self.read(-99, protocol, explicit_peers=frozenset({1}))
        assert set(end.due(Message)) == {2}

    @pytest.mark.parametrize(("score", "free"), [(-40, False), (-41, True)])
    def test_whether_they_are_sent_anything_is_open(self, score: int, free: bool) -> None:
        """The text says what is not read of them; that they are spared is what some routers do as well."""
        base = [Join(T), *peers(1, 2), grafted(1, 2), Score((1,), score)]
        end = after(base, of(2, message()))
        assert (set(end.due(Message)), set(end.free(Message))) == ((set(), {1}) if free else ({1}, set()))


def test_a_quirk_holds_other_scores_against_the_gates() -> None:
    """The publish and gossip thresholds read `gate_score`, mesh and graylist `score`."""
    protocol = edit_named("gates-ignore-application-score", GOSSIPSUB_1_1).change(GOSSIPSUB_1_1)
    base = [Join(T), *peers(1, 2), Score((1,), -30)]
    end = after(base, of(1, IHave(T, ("x",))), protocol=protocol)
    assert end.must == sent(IWant(("x",)), 1)
    assert not after(base, grafted(1), protocol=protocol).mesh()


def test_several_terms_add_up() -> None:
    """A `total` is the sum of its terms."""

    def term(name: str) -> Rule:
        return Rule(name, "gs1.1/score.application", lambda r, peer: r.scores.get(peer, 0))

    twice = total(term("one"), term("other"))
    protocol = evolve(GOSSIPSUB_1_1, handlers={**GOSSIPSUB_1_1.handlers, "score": twice})
    r = after(Join(T), peers(1), Score((1,), -21), protocol=protocol).router
    assert r.score(1) == -42
    assert not onward(r, of(1, message())).all
