"""Extensions in the model: named first, once, on streams of v1.3; and the test extension."""

from __future__ import annotations

from quidnunc.model.events import MESHSUB_1_2, MESHSUB_1_3, Connect, Disconnect, Event, Join, Raw
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_3
from quidnunc.model.rpc import Extensions, Subscribe, TestExtension
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
