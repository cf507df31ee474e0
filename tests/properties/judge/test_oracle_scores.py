"""A threshold inside the bounds of a score: what was seen settles it; where nothing tells, the run ends."""

from __future__ import annotations

from attrs import evolve

from quidnunc.model.events import (
    MESHSUB_1_1,
    Advance,
    Connect,
    Delivered,
    Event,
    Join,
    Output,
    Publish,
    PublishPartial,
    Receive,
    Score,
    Sent,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_1
from quidnunc.model.rpc import Graft, IDontWant, IHave, IWant, Message, Prune, Subscribe
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from quidnunc.properties.judge.oracle import EventJudgement, Oracle

PARAMETERS = Parameters(
    scores=ScoreParameters(behaviour_penalty_weight=-1.0, behaviour_penalty_decay=0.5), prune_backoff_s=1
)


STRICT = evolve(PARAMETERS, scores=evolve(PARAMETERS.scores, behaviour_penalty_weight=-16.0))


def judged(last: Event, *outputs: Output, application: int = 0) -> EventJudgement:
    return warned(PARAMETERS, application).judge(last, outputs)


def warned(parameters: Parameters, application: int = 0) -> Oracle:
    """Of a peer whose early GRAFT may have been penalised: -4 to 0, and what the application says."""
    oracle = Oracle(GOSSIPSUB_1_1, parameters)
    refused = Sent(1, Prune("t1", 1))
    before: list[tuple[Event, tuple[Output, ...]]] = [
        (Connect((1,), "/meshsub/1.1.0"), ()),
        (Join("t1"), (Sent(1, Subscribe("t1")),)),
        (Receive((1,), (Subscribe("t1"),)), ()),
        (Receive((1,), (Prune("t1", 1),)), ()),
        (Receive((1,), (Graft("t1"),)), (refused,)),
        (Score((1,), application), ()),
    ]
    for event, said in before:
        assert oracle.judge(event, said).departures == ()
    return oracle


def test_either_side_of_it_is_in_order() -> None:
    """The gossip threshold is -10; the score is somewhere from -12 to -8."""
    asked = Receive((1,), (IHave("t1", ("x",)),))
    found = judged(asked, Sent(1, IWant(("x",))), application=-8)
    assert (found.departures, found.blurred) == ((), False)
    # An IWANT may still come with the next heartbeat: that it has not does not tell.
    found = judged(asked, application=-8)
    assert (found.departures, found.blurred) == ((), True)


def test_beyond_the_bounds_it_is_not() -> None:
    asked = Receive((1,), (IHave("t1", ("x",)),))
    wanted = Sent(1, IWant(("x",)))
    for application, kinds in ((-6, []), (-10, []), (-11, ["unexpected"])):
        assert [d.kind for d in judged(asked, wanted, application=application).departures] == kinds


def test_where_nothing_tells_the_run_is_over() -> None:
    """Whether the RPC of a peer at the graylist threshold was read: it changes its topics, unseen."""
    found = judged(Receive((1,), (Subscribe("t2"),)), application=-38)
    assert (found.departures, found.blurred) == ((), True)
    found = judged(Receive((1,), (Subscribe("t2"),)), application=-36)
    assert (found.departures, found.blurred) == ((), False)


def test_what_nobody_can_tell_and_makes_no_difference_goes_on() -> None:
    found = judged(Receive((1,), (IDontWant(("x",)),)), application=-38)
    assert (found.departures, found.blurred) == ((), False)


def test_an_answer_that_ends_the_step_hides_no_other() -> None:
    """From -64 to 0: the RPC is ignored, or its GRAFT is refused, or it is taken."""
    for outputs in ((), (Sent(1, Prune("t2", 1)),)):
        oracle = warned(STRICT)
        assert oracle.judge(Join("t2"), (Sent(1, Subscribe("t2")),)).departures == ()
        assert oracle.judge(Receive((1,), (Graft("t2"),)), outputs).departures == ()


def test_a_fanout_of_before_may_hold_none_that_is_published_to() -> None:
    """Whether publishing parts makes a fanout is open: one of a peer that is below the threshold since."""
    parameters = Parameters(flood_publish=False)
    for score, owed in ((-21, False), (0, True)):
        oracle = Oracle(protocol_named("partial-messages"), parameters)
        for event in (
            Connect((1,), MESHSUB_1_1),
            Receive((1,), (Subscribe("t1"),)),
            PublishPartial("t1", "g1"),
            Score((1,), score),
            Connect((2,), MESHSUB_1_1),
            Receive((2,), (Subscribe("t1"),)),
        ):
            assert oracle.judge(event, ()).departures == ()
        published = oracle.judge(Publish(Message("m1", "t1")), ())
        assert bool(published.departures) is owed


def test_a_message_beyond_the_size_limit_is_no_first_delivery() -> None:
    """Its sender is below the gossip threshold without P2, and at it with one: its IHAVE is not asked for."""
    topic = TopicScoreParameters(topic="t1", first_message_deliveries_weight=1.0)
    for size, asked in ((2000, ()), (10, (Sent(1, IWant(("x",))),))):
        oracle = Oracle(
            GOSSIPSUB_1_1, Parameters(scores=ScoreParameters(topics=(topic,)), max_message_bytes=1000)
        )
        big = Message("m1", "t1", author=1, size=size)
        delivered = (Delivered(big),) if asked else ()
        for event, said in (
            (Connect((1,), "/meshsub/1.1.0"), ()),
            (Join("t1"), (Sent(1, Subscribe("t1")),)),
            (Receive((1,), (big,)), delivered),
            (Score((1,), -11), ()),
            (Receive((1,), (IHave("t1", ("x",)),)), asked),
            (Advance(500), ()),
        ):
            assert oracle.judge(event, said).departures == (), (size, event)


def pruned_in_both(members: int) -> EventJudgement:
    """All members of t1 owe deliveries, are pruned there, and so may be negative in t3 as well."""
    owing = TopicScoreParameters(
        topic="t1", mesh_message_deliveries_weight=-1.0, mesh_failure_penalty_weight=-0.5
    )
    wide = evolve(PARAMETERS, scores=ScoreParameters(topics=(owing,)), d=members, d_high=members)
    oracle = Oracle(GOSSIPSUB_1_1, wide)
    peers, topics = tuple(range(1, members + 1)), ("t1", "t3")
    each = [(p, t) for p in peers for t in topics]
    before: list[tuple[Event, tuple[Output, ...]]] = [
        *((Join(t), ()) for t in topics),
        *((Connect((p,), "/meshsub/1.1.0"), tuple(Sent(p, Subscribe(t)) for t in topics)) for p in peers),
        *((Receive((p,), tuple(map(Subscribe, topics))), ()) for p in peers),
        (Advance(500), tuple(Sent(p, Graft(t)) for p, t in each)),
        (Advance(1000), ()),
    ]
    for event, said in before:
        assert oracle.judge(event, said).departures == ()
    return oracle.judge(Advance(1000), [Sent(p, Prune(t, 1)) for p, t in each])


def test_what_was_seen_is_tried_first() -> None:
    """Six free scores have 64 outcomes, and the last of them is what was seen."""
    found = pruned_in_both(6)
    assert (found.departures, found.blurred) == ((), False)


def test_more_outcomes_than_are_tried_end_the_run() -> None:
    found = pruned_in_both(7)
    assert (found.departures, found.blurred) == ((), True)
