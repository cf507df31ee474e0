"""A run: events taken apart, outputs judged, everything written down; and the model as a router."""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.impl.seam import Config, Hello, Reply
from quidnunc.impl.wire import keys
from quidnunc.model.events import Advance, Connect, Delivered, Event, Join, Raw, Receive, Sent, Stall
from quidnunc.model.machine import PROTOCOLS, family_of, protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import ROUTER, IHave, IWant, Message, Subscribe
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import (
    ModelSubject,
    Play,
    WireSubject,
    act_of,
    messages_in,
    play,
    rejudge,
    same_act,
)
from quidnunc.properties.search.worker import opener_of
from tests.helpers.pubsub_run import T, grafted, message, of, own, peers, sent
from tests.helpers.puppet import Puppet, hunt, played
from tools.rule_search.comparison import walk

SPEC = protocol_named("gossipsub-1.2")
SMALL = Parameters(d=3, d_low=2, d_high=4, d_score=2, d_out=0, d_lazy=2)
M1 = message("m1")


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_model_as_a_router_never_departs_from_itself(name: str) -> None:
    found = played(hunt(name, protocol_named(name)), runs=40, seed=11)
    assert found.runs == 40
    assert found.steps > 1000
    assert [f.finding.departure for f in found.found.values()] == []
    assert found.unrepeated == 0
    # A score whose interval holds a threshold may leave more open than can be followed; that ends a run.
    # Who names its extensions twice has such a score in v1.3: its penalty is free.
    handlers = protocol_named(name).handlers
    assert found.blurred <= (6 if "misuse" in handlers else 5 if "score" in handlers else 0)


@pytest.mark.parametrize("name", ["gossipsub-1.1", "gossipsub-1.2"])
def test_nor_does_it_with_tiny_parameters(name: str) -> None:
    """Caps of one or two ids, messages or heartbeats, with which a search seldom plays."""
    spec = protocol_named(name)
    walked = [walk(spec, spec, "gossip_adaptively", number) for number in range(100)]
    assert [trace for trace in walked if trace is not None] == []


def quiet_play(*answers: tuple[Event, ...]) -> Play:
    return Play(Puppet(list(answers)), Oracle(SPEC, SMALL))  # type: ignore[arg-type]


class TestTakingApart:
    def test_a_burst_is_one_event_per_peer(self) -> None:
        run = quiet_play()
        run.do(Connect((1, 2, 3)))
        assert [m.event for m in run.moments] == [Connect((p,)) for p in (1, 2, 3)]
        assert run.steps == 3

    def test_an_advance_stops_at_every_heartbeat(self) -> None:
        run = quiet_play()
        run.do(Advance(2700))
        assert [m.event for m in run.moments] == [Advance(ms) for ms in (500, 1000, 1000, 200)]

    def test_what_cannot_happen_is_left_out(self) -> None:
        run = quiet_play()
        run.do(of(1, M1))
        run.do(Connect((1,)))
        run.do(Receive((1, 2), ()))
        assert [m.event for m in run.moments] == [Connect((1,)), Receive((1,), ())]

    def test_the_rest_of_a_burst_is_not_played_after_a_departure(self) -> None:
        run = quiet_play((), (Sent(2, Subscribe("t9")),))
        departures = run.do(Connect((1, 2, 3)))
        assert [d.kind for d in departures] == ["unexpected"]
        assert run.steps == 2

    def test_nobody_names_an_own_message_that_was_told_to_nobody(self) -> None:
        """Its id is the router's secret till then: a real peer could not know it."""
        run = quiet_play()
        for event in (*peers(1), own("m1"), of(1, IWant(("m1",))), of(1, IHave(T, ("m1", "m2")))):
            run.do(event)
        assert run.moments[-1].event == own("m1")
        # Nor sends it, as a guess at its sequence number is another message.
        run.do(of(1, Message("m1", T, ROUTER)))
        assert run.moments[-1].event == own("m1")
        # Once somebody has been sent it, everybody may know it.
        told = quiet_play(*[()] * 4, tuple(sent(Message("m1", T, 0), 1, 2)))
        for event in (*peers(1, 2), own("m1"), of(2, IWant(("m1",)))):
            told.do(event)
        assert told.moments[-1].event == of(2, IWant(("m1",)))


class TestPlay:
    def test_to_the_first_departure_and_closes(self) -> None:
        puppet = Puppet([(), (Sent(1, Subscribe("t9")),)])
        run = play([Connect((1,)), Connect((2,)), Connect((3,))], puppet, SPEC, SMALL)  # type: ignore[arg-type]
        assert puppet.closed
        assert len(run.moments) == 2
        assert run.moments[-1].judged.departures

    def test_a_blurred_run_goes_no_further(self) -> None:
        events = [*peers(1, 2, 3, 4), Stall((4,)), Join(T), Advance(500)]
        answers: list[tuple[object, ...]] = [()] * 9
        answers.append((*sent(Subscribe(T), 1, 2, 3),))
        run = play(events, Puppet(answers), SPEC, SMALL)  # type: ignore[arg-type]
        assert run.blurred
        assert run.moments[-1].event == Join(T)
        assert not run.do(Advance(500))

    def test_declared_messages_are_the_good_ones(self) -> None:
        bad = evolve(M1, flaw="forged")
        events: list[Event] = [of(1, bad, message("m2")), of(2, M1, M1), own("m3"), Advance(1)]
        assert [m.id for m in messages_in(events)] == ["m2", "m1", "m3"]
        assert not any(m.flaw for m in messages_in(events))


class TestRejudge:
    EVENTS: tuple[Event, ...] = (Join(T), *peers(1, 2, 3), grafted(1, 2, 3), of(1, M1), Advance(500))

    def recorded(self, built: str = "") -> Play:
        protocol = SPEC.without_rule(built) if built else SPEC
        return play(self.EVENTS, ModelSubject(protocol, SMALL, 3), SPEC, SMALL)

    def test_what_was_in_order_is_so_again(self) -> None:
        run = self.recorded()
        assert rejudge(run.moments, SPEC, SMALL) == (len(run.moments), ())

    def test_another_protocol_says_otherwise(self) -> None:
        run = self.recorded("the_forwarder")
        at = len(run.moments) - 1
        agreed, departures = rejudge(run.moments, SPEC, SMALL)
        assert (agreed, departures) == (at, run.moments[-1].judged.departures)
        built = SPEC.without_rule("the_forwarder")
        assert rejudge(run.moments, built, SMALL) == (len(run.moments), ())

    def test_an_event_that_cannot_happen_ends_the_agreement(self) -> None:
        run = self.recorded()
        agreed, departures = rejudge(run.moments[1:], SPEC, SMALL)
        assert agreed < len(run.moments)
        assert departures or agreed == len(run.moments) - 1


class TestActs:
    @pytest.mark.parametrize(
        ("departure", "act"),
        [
            (Departure("unexpected", "c", observed=Sent(1, IHave(T, ("m1",)))), "IHave"),
            (Departure("missing", "c", expected=Sent(1, M1)), "Message"),
            (Departure("missing", "c", expected=Delivered(M1)), "Delivered"),
            (Departure("choice", "c", reason="mesh.cut: 1 chosen, at least 2 required"), "mesh.cut"),
        ],
    )
    def test_what_was_done(self, departure: Departure, act: str) -> None:
        assert act_of(departure) == act

    def test_peers_and_ids_do_not_matter(self) -> None:
        one = Departure("unexpected", "c", observed=Sent(1, IHave(T, ("m1",))))
        other = Departure("unexpected", "c", observed=Sent(2, IHave("t2", ("m2",))))
        assert same_act(one, other)
        assert not same_act(one, evolve(other, clause="d"))
        assert not same_act(one, evolve(other, kind="missing"))
        assert not same_act(one, evolve(other, observed=Sent(2, Subscribe("t2"))))


class TestWire:
    """A real router behind the seam gives outputs of the same vocabulary."""

    def test_outputs_are_atoms_and_values(self) -> None:
        subject = opener_of("ours")(Config(protocol="gossipsub-1.2", parameters=SMALL))
        subject.declare([M1, message("m2")])
        oracle = Oracle(SPEC, SMALL)
        run = Play(subject, oracle)
        for event in (Join(T), *peers(1, 2, 3), grafted(1, 2, 3), of(1, IHave(T, ("m1", "m2")))):
            assert not run.do(event)
        asked = {o for o in run.moments[-1].outputs if isinstance(o, Sent)}
        assert asked == {Sent(1, IWant(("m1",))), Sent(1, IWant(("m2",)))}
        assert not run.do(of(1, M1))
        assert Delivered(M1) in run.moments[-1].outputs
        assert sent(M1, 2, 3) <= set(run.moments[-1].outputs)
        subject.close()

    def test_malformed_bytes_close_one_stream(self) -> None:
        subject = opener_of("ours")(Config(protocol="gossipsub-1.2", parameters=SMALL))
        run = Play(subject, Oracle(SPEC, SMALL))
        for event in (Join(T), *peers(1, 2), Raw((1,), "not-protobuf"), Join("t2")):
            assert not run.do(event)
        assert set(run.oracle.state.peers) == {2}
        subject.close()


def test_a_simulated_router_of_another_protocol_may_be_elsewhere() -> None:
    """What cannot happen to it is answered with silence."""
    subject = ModelSubject(SPEC, SMALL)
    assert subject.do(of(1, M1)) == ()
    assert family_of(SPEC).applicable(subject._state, Connect((1,)))


def test_a_connected_peer_is_known_by_its_id() -> None:
    """The router may list it in a PRUNE before it has written anything."""
    peer = 31_007

    class Quiet:
        hello = Hello(name="quiet", version="1", protocols=("gossipsub-1.2",))

        def connect(self, peer: int, protocol: str, outbound: bool) -> Reply:
            return Reply()

    identity = keys.id_of_key(keys.public_key(peer))
    assert keys.peer_of(identity) is None
    WireSubject(Quiet(), Config()).do(Connect((peer,)))  # type: ignore[arg-type]
    assert keys.peer_of(identity) == peer
