"""Extensions in the model: named first, once, on streams of v1.3; and the test extension."""

from __future__ import annotations

from quidnunc.model.events import MESHSUB_1_2, MESHSUB_1_3, Connect, Disconnect, Event, Join, Raw, Sent
from quidnunc.model.parameters import Parameters
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_3
from quidnunc.model.rpc import Extensions, Graft, Subscribe, TestExtension
from quidnunc.model.score_interval import ScoreInterval, between, interval
from quidnunc.model.score_parameters import ScoreParameters
from quidnunc.properties.judge.oracle import Oracle
from tests.helpers.pubsub_run import After, T, after, of

TEST = Extensions(("test",))


def run(*events: Event, **parameters: object) -> After:
    return after(*events, protocol=GOSSIPSUB_1_3, **parameters)  # type: ignore[arg-type]


def connected(*more: Event, stream: str = MESHSUB_1_3, **parameters: object) -> After:
    return run(Connect((1,), stream), *more, **parameters)


class TestNaming:
    def test_first_of_all(self) -> None:
        assert connected().due(Extensions) == {1: [TEST]}

    def test_beside_the_subscriptions(self) -> None:
        end = run(Join(T), Connect((1,), MESHSUB_1_3))
        assert (end.due(Extensions), end.due(Subscribe)) == ({1: [TEST]}, {1: [Subscribe(T)]})

    def test_who_has_none_may_say_so(self) -> None:
        end = connected(test_extension=False)
        assert (end.due(Extensions), end.free(Extensions)) == ({}, {1: [Extensions()]})

    def test_not_on_older_streams(self) -> None:
        assert Extensions not in {type(o.part) for o in connected(stream=MESHSUB_1_2).all}  # type: ignore[union-attr]


class TestTestExtension:
    def test_each_sends_one_where_both_have_it(self) -> None:
        assert connected(of(1, TEST)).due(TestExtension) == {1: [TestExtension()]}

    def test_not_to_who_has_not_named_it(self) -> None:
        for said in (of(1), of(1, Extensions()), of(1, Extensions(("x4000001",))), of(1, TestExtension())):
            assert not connected(said).all

    def test_not_without_it(self) -> None:
        assert not connected(of(1, TEST), test_extension=False).all

    def test_once(self) -> None:
        assert not connected(of(1, TEST), of(1, TEST)).all

    def test_late_it_is_free(self) -> None:
        end = connected(of(1, Subscribe(T)), of(1, TEST))
        assert (end.due(TestExtension), end.free(TestExtension)) == ({}, {1: [TestExtension()]})

    def test_an_rpc_without_parts_is_an_rpc(self) -> None:
        assert not connected(Raw((1,), "empty-frame"), of(1, TEST)).due(TestExtension)

    def test_on_older_streams_it_is_free(self) -> None:
        end = connected(of(1, TEST), stream=MESHSUB_1_2)
        assert (end.due(TestExtension), end.free(TestExtension)) == ({}, {1: [TestExtension()]})

    def test_what_was_named_goes_with_the_stream(self) -> None:
        end = connected(of(1, TEST), Disconnect((1,)), Connect((1,), MESHSUB_1_3), of(1))
        assert not end.all
        assert end.router.peers[1].extensions == frozenset()


class TestMisuse:
    """Named late or twice: the text leaves open what follows, a behaviour penalty (P7) included."""

    SCORES = ScoreParameters(behaviour_penalty_weight=-1.0)

    def score(self, *events: Event, stream: str = MESHSUB_1_3) -> ScoreInterval:
        return connected(*events, stream=stream, scores=self.SCORES).router.bounds(1)

    def test_once_and_first_costs_nothing(self) -> None:
        assert self.score(of(1, TEST)) == self.score(of(1, Extensions())) == interval(0)

    def test_what_is_named_late_or_twice_may_cost_a_penalty(self) -> None:
        free = between(-100, 0)
        assert self.score(of(1, Subscribe(T)), of(1, TEST)) == free
        assert self.score(of(1, TEST), of(1, TEST)) == free
        assert self.score(of(1, TEST, TEST)) == free
        assert self.score(of(1, TEST), of(1, Extensions())) == free, "one without names is one too"
        assert self.score(of(1, TEST), of(1, TEST), stream=MESHSUB_1_2) == free

    def test_on_another_stream_it_is_the_first_again(self) -> None:
        again = (Disconnect((1,)), Connect((1,), MESHSUB_1_3), of(1, TEST))
        assert self.score(of(1, TEST), *again) == interval(0)

    def test_a_router_that_penalises_and_one_that_does_not_keep_to_the_protocol(self) -> None:
        """Of two that are alike otherwise, one grafts the peer and one does not."""
        events = (Connect((1,), MESHSUB_1_3), of(1, TEST), of(1, Subscribe(T), TEST), Join(T))
        for grafts in (True, False):
            oracle = Oracle(GOSSIPSUB_1_3, Parameters(scores=self.SCORES))
            for event in events[:-1]:
                oracle.judge(event, [])
            part = [Sent(1, Subscribe(T)), *([Sent(1, Graft(T))] if grafts else [])]
            assert not oracle.judge(events[-1], part).departures
