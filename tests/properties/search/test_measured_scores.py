"""Runs that measure a score: they tell edits apart that all raise it, or all lower it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from attrs import evolve

from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.gossipsub.scores import TopicRecord
from quidnunc.impl.mutant import patch
from quidnunc.impl.ours.pubsub import PubsubDriver
from quidnunc.impl.seam import Config
from quidnunc.model.edit import Edit
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.edits.operators.catalogue import operated
from quidnunc.model.events import Advance, Connect, Event, Join, Publish, Score, Sent
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, IHave, IWant, Message, Subscribe
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from quidnunc.properties.explain.followed import MEASURED, FollowedRun, FreshRun
from quidnunc.properties.explain.hypotheses import is_refuted
from quidnunc.properties.judge.play import WireSubject
from quidnunc.properties.search.fresh_runs import FreshRuns
from quidnunc.properties.search.machine import FindingSearch
from quidnunc.properties.search.measured_scores import (
    ASKED_FOR,
    MeasuredScore,
    TermsOff,
    counts_in,
    is_of_scores,
    measured_runs,
    scored_lives,
    steps_before,
)
from quidnunc.properties.search.worker import hello_of, opener_of
from tests.helpers.pubsub_run import T, of

PROTOCOL = "gossipsub-1.2"
SPEC = protocol_named(PROTOCOL)
GIVEN = Parameters(scores=ScoreParameters())
EVENTS: tuple[Event, ...] = (Join(T), Connect((1,)), Score((1,), -10), of(1, IHave(T, ("m1",))))
RIVALS = (
    *("time-in-mesh-counted-twice", "time-in-mesh-doubled", "time-in-mesh-adds-up", "mesh-deliveries-halved"),
    *("first-deliveries-before-verdict", "first-deliveries-doubled", "invalid-messages-halved"),
    *("topics-capped-without-topic-weight", "colocation-halved", "behaviour-halved", "mesh-failures-halved"),
)


def edit(name: str) -> Edit:
    made = operated(SPEC).get(name)
    return made.edit if made is not None else edit_named(name, SPEC)


def fresh_runs(against: str, events: Sequence[Event] = EVENTS, given: Parameters = GIVEN) -> FreshRuns:
    router = FindingSearch(PROTOCOL, opener_of(against), hello_of(against, PROTOCOL))
    return FreshRuns(router, SPEC, events, (given,), seed=1)


def runs_of(
    against: str, edits: Sequence[Edit], events: Sequence[Event] = EVENTS, given: Parameters = GIVEN
) -> list[FreshRun]:
    return [*fresh_runs(against, events, given).measured(edits)]


def left(against: str) -> set[str]:
    """Those of the rivals that are not refuted."""
    edits = [edit(name) for name in RIVALS]
    runs = [FollowedRun.of(run, SPEC) for run in runs_of(against, edits)]
    return {each.name for each in edits if not any(is_refuted(each, run) for run in runs)}


@pytest.mark.parametrize(
    ("against", "name"),
    [
        ("ours:time-in-mesh-doubled", "time-in-mesh-counted-twice"),
        ("ours:topic-unweighted", "topics-capped-without-topic-weight"),
    ],
)
def test_of_all_that_change_a_score_the_true_one_is_left(against: str, name: str) -> None:
    assert left(against) == {name}


def test_one_that_leaves_a_score_open_falls_where_the_router_has_what_the_specification_says() -> None:
    """Mutant: a router that keeps a peer that has left as a member is said to look at no mesh: it may."""
    edits = [edit(name) for name in ("topics-capped-sees-no-mesh", "idle-note-pruned")]

    def members_for_good(router: GossipsubRouter) -> None:
        if router.core.keeper is not None:
            patch(router.core.keeper, "pruned", lambda peer, topic: None)

    played = evolve(planted(members_for_good), parameters=(GIVEN,)).measured(edits)
    runs = [FollowedRun.of(run, SPEC) for run in played]
    assert [any(is_refuted(each, run) for run in runs) for each in edits] == [True, False]


def test_one_that_lets_a_score_be_higher_falls_where_it_is_not() -> None:
    """Mutant: what is allowed and not done says nothing of who allows it."""
    lax = edit("mesh-deliveries-sees-no-mesh")
    runs = [FollowedRun.of(run, SPEC) for run in runs_of("ours", [lax])]
    assert any(is_refuted(lax, run) for run in runs)


def test_of_a_router_without_a_fault_none_is_left() -> None:
    assert left("ours") == set()


def test_only_edits_of_scores_are_asked() -> None:
    assert is_of_scores(edit("time-in-mesh-halved"), SPEC) and is_of_scores(
        edit("copies-counted-again"), SPEC
    )
    other = edit("relay-needs-a-subscriber")
    assert not is_of_scores(other, SPEC)
    assert {run.parameters for run in runs_of("ours", [other])} == {GIVEN}, "in the minimal run alone"


@pytest.mark.parametrize(("against", "falls"), [("ours:time-in-mesh-doubled", True), ("ours", False)])
def test_what_has_a_score_to_it_is_told_by_no_other_fault(against: str, falls: bool) -> None:
    """Mutant: who floods to a peer with too high a score is said to flood past its mesh."""
    weighted = TopicScoreParameters(topic=T, time_in_mesh_weight=1, time_in_mesh_cap=40)
    given = evolve(GIVEN, scores=ScoreParameters(topics=(weighted,)))
    met = (Join(T), Connect((1,)), of(1, Subscribe(T)), of(1, Graft(T)), Advance(2100))
    events = (*met, Score((1,), -23), Publish(Message("m1", T)))
    other = edit("flood-own-sees-no-mesh")
    runs = [FollowedRun.of(run, SPEC) for run in runs_of(against, [other], events, given)]
    assert any(other.name in run.run.asks for run in runs)
    assert any(is_refuted(other, run) for run in runs) == falls


@pytest.mark.parametrize(
    ("clause", "now"),
    [
        ("gs1.1/score.time-in-mesh", "gs1.1/score.mesh-deliveries"),
        ("gs1.1/score.retain", "gs1.1/score.mesh-deliveries"),
        ("gs1.1/score.mesh-failures", "gs1.1/score.mesh-failures"),
        ("gs1.1/score.decay", "gs1.1/score.decay"),
        ("gs1.1/threshold.graylist", "gs1.1/threshold.graylist"),
    ],
)
def test_no_term_is_blamed_that_counts_as_it_should(clause: str, now: str) -> None:
    """Mutant: a wrong deficit of mesh deliveries fails the time in the mesh, which is right."""
    off = TermsOff(
        "P3 and P3b count otherwise.", ("gs1.1/score.mesh-deliveries", "gs1.1/score.mesh-failures")
    )
    assert off.refiled(clause) == now
    assert TermsOff().refiled(clause) == clause


@pytest.mark.parametrize(
    ("against", "said"),
    [
        ("ours", ""),
        (
            "ours:application-half",
            "It heeds peers as if their scores were higher, or the gossip threshold lower.",
        ),
        (
            "ours:deficit-linear",
            "In runs where only the deficit of mesh deliveries (P3) counts, a score is higher than the "
            "specification says, in the mesh; and in runs where only mesh failures (P3b) counts, a score is "
            "higher than the specification says, once it is pruned for its score.",
        ),
    ],
)
def test_what_is_known_of_scores_that_nothing_explains(against: str, said: str) -> None:
    assert fresh_runs(against).counted_otherwise().says == said


def test_a_score_that_is_lost_with_the_connection_is_of_no_term() -> None:
    """Mutant: each term fails that counts as it should until the peer comes back."""
    lost = fresh_runs("ours:score-lost-with-connection").counted_otherwise()
    assert {*lost.clauses} == {"gs1.1/score.retain"}
    assert {*fresh_runs("ours:deficit-linear").counted_otherwise().clauses} == {
        "gs1.1/score.mesh-deliveries",
        "gs1.1/score.mesh-failures",
    }


@pytest.mark.parametrize(
    ("parameters", "capabilities", "fixed"),
    [
        (Parameters(), frozenset({"score", "verdict"}), {}),
        (GIVEN, frozenset({"verdict"}), {}),
        (GIVEN, frozenset({"score", "verdict"}), {"scores": GIVEN.scores}),
    ],
)
def test_what_cannot_be_scored_is_not_measured(
    parameters: Parameters, capabilities: frozenset[str], fixed: dict[str, object]
) -> None:
    assert not [*scored_lives(EVENTS, parameters, capabilities, fixed)]


def test_without_verdicts_messages_are_accepted_as_they_come() -> None:
    lives = [*scored_lives(EVENTS, GIVEN, frozenset({"score"}), {})]
    assert {life.parameters.validation for life in lives} == {"accept"}


def test_a_burst_is_as_many_steps_as_peers_and_a_wait_as_heartbeats() -> None:
    told = (Join(T), Connect((1, 2)), Advance(1000), Advance(200))
    done = (Join(T), Connect((1,)), Connect((2,)), Advance(500), Advance(500), Advance(200))
    assert steps_before(told, FreshRun(tuple((event, ()) for event in done), GIVEN)) == [0, 1, 3, 5, 6]


@pytest.mark.parametrize(("least", "kept"), [(20, 5), (-9, 5), (99, 5), (-99_999, 0), (99_999, 0)])
def test_what_is_between_the_edges_is_found_in_few_runs(least: int, kept: int) -> None:
    """Mutant: a router that never requests anything is said to have low scores."""
    measured = MeasuredScore((), 1, T, tuple(range(31)), frozenset({"one"}))

    def play(acts: Sequence[Event]) -> FreshRun:
        score, advertised, _ = acts
        assert isinstance(score, Score)
        asked.append(score.value)
        wanted = (Sent(1, IWant((ASKED_FOR,))),) if score.value >= least else ()
        return FreshRun(((score, ()), (advertised, wanted)), GIVEN)

    asked: list[int] = []
    runs = measured_runs(measured, 1000, play)
    assert len(runs) == kept and len(asked) <= 6
    if 0 < least < 31:
        assert {least, least - 1} <= {*asked}


def test_whom_a_run_asks_is_told_with_it() -> None:
    """Mutant: a check of a recorded trace lets stand what the search has refuted."""
    run = FreshRun(((Join(T), ()),), GIVEN, MEASURED, asks=frozenset({"b", "a"}), spares=frozenset({"a"}))
    assert run.told == f"{MEASURED}: a b -a"
    assert FreshRun.as_told(run.steps, GIVEN, run.told) == run
    plain = evolve(run, varied="event 3", asks=frozenset(), spares=frozenset())
    assert FreshRun.as_told(run.steps, GIVEN, plain.told) == plain


def planted(*plants: Callable[[GossipsubRouter], None]) -> FreshRuns:
    """Runs of our router with the faults."""

    def opened(config: Config) -> WireSubject:
        assert isinstance(config.parameters, Parameters)
        router = GossipsubRouter(
            config.parameters, protocol=config.protocol, seed=config.seed, own=config.identity
        )
        for plant in plants:
            plant(router)
        return WireSubject(PubsubDriver(router, name="ours"), config)

    weighted = TopicScoreParameters(topic=T, first_message_deliveries_weight=1)
    given = evolve(GIVEN, scores=ScoreParameters(topics=(weighted,)))
    return FreshRuns(
        FindingSearch(PROTOCOL, opened, hello_of("ours", PROTOCOL)), SPEC, EVENTS, (given,), seed=1
    )


def cached_scores(router: GossipsubRouter) -> None:
    """A score is worked out again once it is a second old."""
    known: dict[int, tuple[int, float]] = {}
    usual = router.core.score

    def score(peer: int) -> float:
        at_ms, value = known.get(peer, (-1000, 0.0))
        if router.core.now_ms - at_ms >= 1000:
            known[peer] = at_ms, value = router.core.now_ms, usual(peer)
        return value

    patch(router.core, "score", score)


def twice_first(router: GossipsubRouter) -> None:
    if (keeper := router.core.keeper) is not None:
        usual = keeper.in_topic

        def in_topic(p: TopicScoreParameters, s: TopicRecord) -> float:
            return (
                float(usual(p, s)) + p.topic_weight * p.first_message_deliveries_weight * s.first_deliveries
            )

        patch(keeper, "in_topic", in_topic)


def more_and_more(router: GossipsubRouter) -> None:
    """First deliveries count twice, and from the second membership on six times."""
    if (keeper := router.core.keeper) is not None:
        usual = keeper.in_topic

        def in_topic(p: TopicScoreParameters, s: TopicRecord) -> float:
            more = (5 if router.core.now_ms >= 6400 else 1) * p.first_message_deliveries_weight
            return float(usual(p, s)) + p.topic_weight * more * s.first_deliveries

        patch(keeper, "in_topic", in_topic)


def forgotten_at_disconnect(router: GossipsubRouter) -> None:
    if (keeper := router.core.keeper) is not None:
        usual = keeper.disconnected

        def disconnected(peer: int, now_ms: int) -> None:
            usual(peer, now_ms)
            keeper.records.pop(peer, None)

        patch(keeper, "disconnected", disconnected)


def test_a_score_that_comes_late_is_not_measured() -> None:
    """Mutant: a router with a cache of scores has no explanation of a score that is another one."""
    edits = [edit("first-deliveries-doubled")]
    assert [*planted(twice_first).measured(edits)]
    late = planted(twice_first, cached_scores)
    assert not [*late.measured(edits)] and late.counted_otherwise() == TermsOff()


def test_another_fault_later_in_a_life_does_not_refute_the_true_edit() -> None:
    """The score is forgotten at a new connection, too. Mutant: then nothing explains what counts twice."""
    true, rival = edit("first-deliveries-doubled"), edit("time-in-mesh-doubled")
    fresh = planted(twice_first, forgotten_at_disconnect)
    runs = [FollowedRun.of(run, SPEC) for run in fresh.measured([true, rival])]
    assert [any(is_refuted(each, run) for run in runs) for each in (true, rival)] == [False, True]
    assert {name for run in runs for name in run.run.spares} == {true.name}


def test_a_wrong_amount_refutes_what_was_right_before() -> None:
    """Mutant: who has once said what a score is may say anything of it afterwards."""
    doubled = edit("first-deliveries-doubled")
    runs = [FollowedRun.of(run, SPEC) for run in planted(more_and_more).measured([doubled])]
    assert any(is_refuted(doubled, run) for run in runs)


def test_runs_are_recorded_with_whom_they_spare() -> None:
    """Mutant: a check of a recorded trace refutes what the search has kept."""
    recorded: list[FreshRun] = []
    fresh = evolve(planted(twice_first, forgotten_at_disconnect), record=recorded.append)
    runs = [*fresh.measured([edit("first-deliveries-doubled")])]
    assert sum(bool(run.spares) for run in runs) == sum(bool(run.spares) for run in recorded) > 0
    assert len(recorded) == len(runs)


def test_what_does_not_count_in_the_minimal_run_refutes_no_amount() -> None:
    assert counts_in("first deliveries (P2)", GIVEN), "where nothing counts, everything may"
    weighted = TopicScoreParameters(topic=T, first_message_deliveries_weight=1)
    given = evolve(GIVEN, scores=ScoreParameters(topics=(weighted,)))
    assert counts_in("first deliveries (P2) at their cap", given)
    assert not counts_in("the deficit of mesh deliveries (P3)", given)
