"""An explanation stands if it predicts runs that it was not made for, and falls if it does not."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import pytest
from attrs import evolve, frozen

from quidnunc.model.edit import Edit, edited
from quidnunc.model.edits.catalogue import edit_named, hypotheses_of
from quidnunc.model.edits.operators.catalogue import operated
from quidnunc.model.events import (
    MEMPOOL,
    Advance,
    Connect,
    Disconnect,
    Event,
    Join,
    Leave,
    Output,
    Score,
    Sent,
    Submit,
    Verdict,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import Graft, IHave, IWant, Message, Prune, Subscribe
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from quidnunc.properties.explain import hypotheses
from quidnunc.properties.explain.followed import (
    MEASURED,
    PROBE,
    SCORED,
    FollowedRun,
    FreshRun,
    agreement,
)
from quidnunc.properties.explain.grouping import groups_by_edit, suspects_of
from quidnunc.properties.explain.hypotheses import Prediction, is_refuted, standing, standing_and_ties
from quidnunc.properties.judge.oracle import Departure
from quidnunc.properties.judge.play import ModelSubject
from tests.helpers.pubsub_run import T, of

SPEC = protocol_named("gossipsub-1.2")
SMALL = Parameters(d=3, d_low=2, d_high=4, d_score=2, d_out=0, d_lazy=2, prune_backoff_s=6)
TRUE = edit_named("silent-while-backing-off", SPEC)


def run_of(events: tuple[Event, ...], edit: str = TRUE.name) -> FreshRun:
    """What a router with the edit does."""
    subject = ModelSubject(edit_named(edit, SPEC).change(SPEC), SMALL)
    return FreshRun(tuple((event, subject.do(event)) for event in events), SMALL)


def regraft(after_ms: int, announced_s: int = 6) -> tuple[Event, ...]:
    waits = (Advance(500), *[Advance(1000)] * (after_ms // 1000))
    return (
        Connect((1,)),
        Join(T),
        of(1, Graft(T)),
        of(1, Prune(T, announced_s)),
        *waits,
        of(1, Graft(T)),
        Advance(1000),
    )


INSIDE = [run_of(regraft(ms)) for ms in (0, 1000, 2000, 3000)]


@frozen
class TheseRuns:
    """Fresh runs that were played before."""

    runs: tuple[FreshRun, ...]

    def around(self) -> list[FreshRun]:
        return [run for run in self.runs if not run.varied]

    def measured(self, edits: Sequence[Edit]) -> list[FreshRun]:
        return [run for run in self.runs if run.varied == MEASURED]

    def varied(self, read: Collection[str], readings: Sequence[str] = ()) -> list[FreshRun]:
        return [run for run in self.runs if run.varied not in ("", MEASURED)]


def fresh(*runs: FreshRun) -> TheseRuns:
    return TheseRuns(runs)


def departure_of(run: FreshRun) -> Departure:
    return agreement(run, SPEC).departures[0]


def test_the_true_one_stands() -> None:
    assert standing([TRUE], fresh(*INSIDE), SPEC, departure_of(INSIDE[0])) == [TRUE]


def test_one_that_is_wrong_where_the_run_goes_on_falls() -> None:
    """Without the rule nothing is sent either, and in a run of a router that does send that is wrong."""
    lucky = edit_named("accepts-graft-inside-backoff", SPEC)
    departure = departure_of(INSIDE[0])
    assert lucky in standing([lucky], fresh(*INSIDE), SPEC, departure), "the runs are too short to tell"
    conforming = run_of(regraft(0), edit="unknown-topic-graft-pruned")
    assert not standing([lucky], fresh(*INSIDE, conforming), SPEC, departure)


def test_one_that_says_less_than_the_specification_in_any_run_falls() -> None:
    conforming = run_of(regraft(1000), edit="unknown-topic-graft-pruned")
    assert agreement(conforming, SPEC).agreed == len(conforming.steps)
    assert not standing([TRUE], fresh(*INSIDE, conforming), SPEC, departure_of(INSIDE[0]))


def test_one_run_is_not_enough() -> None:
    assert not standing([TRUE], fresh(INSIDE[0]), SPEC, departure_of(INSIDE[0]))


def with_another_fault(run: FreshRun, *more: Output) -> FreshRun:
    """The run, in which the router sends more where the last GRAFT comes."""
    *before, (event, outputs), beat = run.steps
    return evolve(run, steps=(*before, (event, (*outputs, *more)), beat))


def test_another_fault_at_the_same_moment_does_not_refute_it() -> None:
    gossip = Sent(1, IHave(T, ("m9",)))
    both = [with_another_fault(run, gossip) for run in INSIDE[:2]]
    departure = departure_of(INSIDE[0])
    found = [{d.kind for d in agreement(run, SPEC).departures} for run in both]
    assert found == [{"missing", "unexpected"}] * 2
    assert standing([TRUE], fresh(*INSIDE[1:], *both), SPEC, departure) == [TRUE]
    other = edit_named("while-backing-off-to-explicit", SPEC)
    same = [run_of(regraft(ms), edit="unknown-topic-graft-pruned") for ms in (0, 1000)]
    assert standing([other, TRUE], fresh(*INSIDE, *both, *same), SPEC, departure) == [], "it refuses in these"


IN_SECONDS = edit_named("backoff-in-whole-seconds", SPEC)
A_MOMENT = edit_named("while-backing-off-clock-a-moment-ahead", SPEC)


def regraft_at_the_end(less_ms: int) -> tuple[Event, ...]:
    """A GRAFT so long before the end of a backoff of 2 s that does not start at a whole second."""
    start = (Connect((1,)), Join(T), of(1, Graft(T)), Advance(500), Advance(300), of(1, Prune(T, 2)))
    waits = (Advance(700), Advance(1000), Advance(300 - less_ms))
    return (*start, *waits, of(1, Graft(T)), Advance(700 + less_ms))


def test_numbers_that_are_varied_tell_a_moment_from_a_second() -> None:
    late = [run_of(regraft_at_the_end(1), IN_SECONDS.name) for _ in range(4)]
    departure = departure_of(late[0])
    both = [A_MOMENT, IN_SECONDS]
    assert {*standing(both, fresh(*late), SPEC, departure)} == {*both}, "the runs are too much alike to tell"
    varied = [
        evolve(run_of(regraft_at_the_end(less_ms), IN_SECONDS.name), varied="event 8")
        for less_ms in (1, 10, 99, 299)
    ]
    assert standing(both, fresh(*late, *varied), SPEC, departure) == [IN_SECONDS]


def test_no_more_runs_are_played_once_a_number_has_refuted_the_last_edit() -> None:
    late = [run_of(regraft_at_the_end(1), IN_SECONDS.name) for _ in range(4)]
    refuting = evolve(run_of(regraft_at_the_end(299), IN_SECONDS.name), varied="event 8")
    others = [evolve(late[0], varied=f"event {at}") for at in (9, 10, 11)]
    played = list[str]()

    @frozen
    class PlayedRuns:
        def around(self) -> list[FreshRun]:
            return late

        def measured(self, edits: Sequence[Edit]) -> list[FreshRun]:
            return []

        def varied(self, read: Collection[str], readings: Sequence[str] = ()) -> Iterator[FreshRun]:
            for run in (refuting, refuting, *others):
                played.append(run.varied)
                yield run

    assert not standing([A_MOMENT], PlayedRuns(), SPEC, departure_of(late[0]))
    assert played == ["event 8", "event 8", "event 9"], "with the next number all runs of one are known"


def test_one_that_only_allows_what_is_always_sent_falls() -> None:
    """Under it, no message of a topic has to be relayed; the router leaves one peer out."""
    peers = [(Connect((p,), outbound=p != 2), of(p, Subscribe(T)), of(p, Graft(T))) for p in (1, 2, 3, 4)]
    events = (Join(T), *itertools.chain(*peers), of(3, Message("m1", T, 3)), Advance(500))
    told = "forward-to-outbound"
    runs = [run_of(events, told) for _ in range(4)]
    vague, true = edit_named("forward-sees-no-topics", SPEC), edit_named(told, SPEC)
    assert standing([vague, true], fresh(*runs), SPEC, departure_of(runs[0])) == [true]


@pytest.mark.parametrize(("only_allowed", "stands"), [(0, True), (2, True), (3, False), (7, False)])
def test_one_that_only_allows_what_was_due_in_more_than_one_of_four_runs_falls(
    only_allowed: int, stands: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The router sends it at times: such an edit does not say when."""
    predict = hypotheses.predict

    def told(edit: Edit, followed: Iterable[FollowedRun], of: Departure) -> Prediction:
        return evolve(predict(edit, followed, of), only_allowed=only_allowed)

    monkeypatch.setattr(hypotheses, "predict", told)
    runs = fresh(*INSIDE, *INSIDE)
    assert bool(standing([TRUE], runs, SPEC, departure_of(INSIDE[0]))) is stands


def test_a_number_that_only_allows_stands_once_the_router_is_seen_to_have_its_rule() -> None:
    """One that grafts a second early. Until then it may have no such rule."""
    none, early = edit_named("grafts-peers-inside-their-backoff", SPEC), "backing-off-clock-a-second-ahead"

    def pruned(announced_s: int, *waits: Advance) -> FreshRun:
        start = (Connect((1,)), Join(T), of(1, Subscribe(T)), of(1, Graft(T)))
        return run_of((*start, of(1, Prune(T, announced_s)), *waits), early)

    at_once = [pruned(1, Advance(500), Advance(1000)) for _ in range(4)]
    departure, true = departure_of(at_once[0]), edit_named(early, SPEC)
    assert standing([none, true], fresh(*at_once), SPEC, departure) == [none]
    waiting = pruned(5, Advance(500), Advance(1000), Advance(1000))
    assert standing([none, true], fresh(*at_once, waiting), SPEC, departure) == [true]


def test_a_number_that_allows_it_everywhere_falls_where_the_router_has_its_rule() -> None:
    """Messages that were seen are delivered again after Leave, and not at once: that is no matter of time."""
    none = edit_named("delivers-and-relays-message-that-it-has-seen", SPEC)
    zero, half = (edit_named(f"seen-before-seen-ttl-ms-{of}", SPEC) for of in ("as-zero", "as-half"))
    came = of(1, Message("m1", T))

    def played(router: str, *between: Event) -> FreshRun:
        return run_of((Connect((1,)), Join(T), came, *between, came, Advance(500)), router)

    left = [played("leave-forgets-seen", Leave(T), Join(T)) for _ in range(4)]
    at_once = played("leave-forgets-seen", of(1, Subscribe(T)))
    assert standing([none, zero], fresh(*left, at_once), SPEC, departure_of(left[0])) == []
    with pytest.MonkeyPatch.context() as otherwise:
        otherwise.setattr(hypotheses, "_has_rule_there", lambda *_: True)
        assert standing([none, zero], fresh(*left, at_once), SPEC, departure_of(left[0])) == [zero]
    minute = (Advance(500), *[Advance(1000)] * 61)
    late = [played(none.name, *minute) for _ in range(4)]
    at_once = played(half.name, of(1, Subscribe(T)))
    assert standing([none, half], fresh(*late, at_once), SPEC, departure_of(late[0])) == [half]


def test_a_reading_is_taken_only_where_a_run_could_refute_it() -> None:
    reading = edit_named("ihave-capped-otherwise", SPEC)
    parameters = evolve(SMALL, max_ihave_length=2, max_ihave_messages=10)

    def advertised(times: int, varied: str = "") -> FreshRun:
        names = [of(1, IHave(T, (f"m{n}",))) for n in range(times)]
        events = (Join(T), Connect((1,)), *names)
        subject = ModelSubject(SPEC.without_rule("ihave_beyond_caps"), parameters)
        steps = tuple((event, subject.do(event)) for event in events)
        return FreshRun(steps, parameters, varied)

    few = [advertised(3) for _ in range(4)]
    departure = departure_of(few[0])
    uncapped = edit_named("heeds-ihave-beyond-caps-of-heartbeat", SPEC)
    assert standing([reading, uncapped], fresh(*few), SPEC, departure) == [uncapped]


def test_one_that_still_departs_without_what_the_run_needs_falls() -> None:
    """The router departs because the peer was pruned before; it does prune a GRAFT from others."""
    departure = departure_of(INSIDE[0])
    lucky = edit_named("accepts-graft-inside-backoff", SPEC)
    assert lucky in standing([lucky], fresh(*INSIDE), SPEC, departure), "the runs are too short to tell"
    needed = evolve(run_of(regraft(0), edit="unknown-topic-graft-pruned"), varied="without event 3")
    assert not standing([lucky], fresh(*INSIDE, needed), SPEC, departure)


def test_a_peer_that_stays_tells_a_score_that_is_not_kept_from_one_that_is_not_counted() -> None:
    """A first delivery makes up for the application's score, unless the peer was away since."""
    topic = TopicScoreParameters(topic=T, first_message_deliveries_weight=4.0)
    parameters = evolve(SMALL, scores=ScoreParameters(topics=(topic,)))
    kept, counted = "positive-score-not-kept", "count-first-sees-no-topics"

    def first_then(*away: Event, score: int = -2) -> FreshRun:
        start = (Connect((1,)), Join(T), of(1, Message("m1", T, 1)), *away, Score((1,), score))
        subject = ModelSubject(edit_named(kept, SPEC).change(SPEC), parameters)
        steps = tuple((e, subject.do(e)) for e in (*start, of(1, Graft(T)), Advance(1000)))
        return FreshRun(steps, parameters)

    away = [first_then(Disconnect((1,)), Connect((1,)), score=score) for score in (-1, -2, -3, -2)]
    departure = departure_of(away[0])
    both = [edit_named(name, SPEC) for name in (counted, kept)]
    assert {*standing(both, fresh(*away), SPEC, departure)} == {*both}, "the runs are too much alike to tell"
    stayed = evolve(first_then(), varied="without events 3 and 4")
    assert standing(both, fresh(*away, stayed), SPEC, departure) == both[1:]


def test_an_edit_is_judged_alike_from_where_it_can_matter() -> None:
    """Of runs that depart and of others: one that an edit accounts for, and one that it does not."""
    runs = [INSIDE[0], run_of(regraft(2000), edit="unknown-topic-graft-pruned"), run_of(regraft(7000))]
    tried = [*hypotheses_of(SPEC), *(made.edit for made in operated(SPEC).values())][::5]
    followed = [FollowedRun.of(run, SPEC) for run in runs]
    differing = Counter[bool]()
    for edit in tried:
        changed = edit.applied_to(SPEC)
        for each in followed if changed is not None else ():
            assert changed is not None
            whole = agreement(each.run, changed)
            assert each.under(edit) == whole, edit.name
            differing[whole != each.plain] += 1
    assert differing[True] > 20 and differing[False] > 500, differing


@pytest.mark.parametrize(("delivers", "steps"), [(False, 6), (True, 4)])
def test_a_verdict_on_a_message_that_the_edit_drops_is_passed_over(delivers: bool, steps: int) -> None:
    """The router does nothing at it, because it dropped the message; if it does something, the edit errs."""
    edited = edit_named("marks-seen-flawed", SPEC).change(SPEC)
    asked = evolve(SMALL, validation="manual")
    bad, good = of(1, Message("m1", T, 9, flaw="forged")), of(1, Message("m1", T, 9))
    events: tuple[Event, ...] = (Connect((1,)), Join(T), bad, good, Verdict("m1", "accept"), Advance(500))
    subject = ModelSubject(SPEC if delivers else edited, asked)
    run = FreshRun(tuple((event, subject.do(event)) for event in events), asked)
    found = agreement(run, edited)
    assert (found.agreed, found.departures) == (steps, ()), "and it is not said how it departs"
    assert agreement(run, SPEC).agreed == (6 if delivers else 5), "the message is due by the next heartbeat"


def test_of_two_that_stand_the_order_given_is_kept() -> None:
    twin = edit_named("while-backing-off-to-others", SPEC)
    other = edit_named("while-backing-off-to-mesh", SPEC)
    departure = departure_of(INSIDE[0])
    both = [e for e in (twin, other, TRUE) if standing([e], fresh(*INSIDE), SPEC, departure)]
    assert len(both) >= 2
    for order in (both, both[::-1]):
        assert standing(order, fresh(*INSIDE), SPEC, departure) == order


class TestGroups:
    def test_findings_that_one_edit_could_be_behind_are_one(self) -> None:
        suspects = {1: frozenset("ab"), 2: frozenset("bc"), 3: frozenset("b"), 4: frozenset("d")}
        assert groups_by_edit(suspects) == [("b", (1, 2, 3))]

    def test_each_is_in_one_group(self) -> None:
        suspects = {n: frozenset(edits) for n, edits in enumerate(("ab", "ab", "bc", "c", "c"))}
        groups = groups_by_edit(suspects)
        told = [key for _, keys in groups for key in keys]
        assert sorted(told) == sorted(set(told))

    def test_edits_of_several_rules_and_of_what_all_goes_through_make_no_group(self) -> None:
        wide = ("everywhere-in-weighted-score-only-application", "rpc-with-prune-of-over-16-peers-dropped")
        edits = [edit_named(name, SPEC) for name in (*wide, "cut-to-d-d-as-one-more")]
        assert suspects_of(edits, SPEC) == {"cut-to-d-d-as-one-more"}


def test_those_that_nothing_tells_from_the_first_tie_with_it() -> None:
    twin = edit_named("while-backing-off-to-others", SPEC)
    other = edit_named("while-backing-off-to-explicit", SPEC)
    mesh = edit_named("while-backing-off-to-mesh", SPEC)
    departure = departure_of(INSIDE[0])
    tried = [each for each in (mesh, other, TRUE) if standing([each], fresh(*INSIDE), SPEC, departure)]
    assert tried == [mesh, other, TRUE]
    listed, ties = standing_and_ties([mesh, other, twin, TRUE], fresh(*INSIDE), SPEC, departure)
    assert listed[0] == mesh and ties == (other,), "they are alike, and the true one is of another size"


def test_one_that_needs_what_is_explained_already_comes_last() -> None:
    """A user's transaction goes to a peer without a slot. That it had a sender accounts for it too, but only
    since what comes from a sender goes to peers without a slot: that is in force."""
    spec, limited = protocol_named("peer-limit"), DogParameters(dog=False, max_non_persistent=1)
    relayed, own, leaning = (
        edit_named(name, spec)
        for name in (
            "forward-takes-without-slot",
            "forward-own-takes-without-slot",
            "records-sender-for-transaction-that-user-submits",
        )
    )
    in_force = edited(spec, [relayed])
    played = []
    for more in range(4):
        subject = ModelSubject(edited(spec, [relayed, own]), limited)
        events = [*[Connect((peer,), MEMPOOL) for peer in range(1, 3 + more)], Submit("x1t")]
        played.append(FreshRun(tuple((event, subject.do(event)) for event in events), limited))
    departure = agreement(played[0], in_force).departures[0]
    for tried in ([leaning, own], [own, leaning]):
        listed, ties = standing_and_ties(tried, fresh(*played), in_force, departure, spec=spec)
        assert listed == [own, leaning] and not ties


def test_one_that_says_much_less_than_the_best_is_no_other_explanation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would take the place of the best one if that fell."""
    worse = edit_named("while-backing-off-to-explicit", SPEC)
    runs, departure = fresh(*INSIDE, *INSIDE), departure_of(INSIDE[0])
    assert standing([TRUE, worse], runs, SPEC, departure) == [TRUE, worse]
    predict = hypotheses.predict

    def told(edit: Edit, followed: Iterable[FollowedRun], of: Departure) -> Prediction:
        found = predict(edit, followed, of)
        return evolve(found, right=5) if edit == worse else found

    monkeypatch.setattr(hypotheses, "predict", told)
    assert standing([TRUE, worse], runs, SPEC, departure) == [TRUE], "it says so in five runs of eight"
    reading = evolve(TRUE, kind="reading")
    assert standing([reading, worse], runs, SPEC, departure) == [reading, worse], "it is the best of its kind"


@pytest.mark.parametrize(
    ("right", "agreed", "near"), [(9, 100, True), (12, 97, True), (8, 100, False), (12, 96, False)]
)
def test_nearly_as_much_is_in_three_of_four_runs_and_of_all_but_a_few_steps(
    right: int, agreed: int, near: bool
) -> None:
    best = Prediction(right=12, agreed_in=(60, 40))
    assert Prediction(right=right, agreed_in=(60, agreed - 60)).is_near(best) is near


class TestScores:
    LOW = Parameters(graylist_threshold=-40, publish_threshold=-20, gossip_threshold=-10)
    NARROW = edit_named("graylist-refuses-grafts-only", SPEC)
    WIDE = edit_named("leaves-applications-term-out-of-score", SPEC)

    def run(self, *last: Event, varied: str = "") -> FreshRun:
        """Of a router that refuses GRAFTs of graylisted peers, and heeds whatever else they send."""
        events = (Connect((1,)), Join(T), of(1, Subscribe(T)), Score((1,), -41), *last)
        subject = ModelSubject(self.NARROW.change(SPEC), self.LOW)
        return FreshRun(tuple((event, subject.do(event)) for event in events), self.LOW, varied)

    def test_one_of_all_scores_falls_where_a_score_alone_makes_the_router_depart(self) -> None:
        heeded = [self.run(of(1, Message(f"m{n}", T))) for n in range(4)]
        departure = departure_of(heeded[0])
        assert self.WIDE in standing([self.WIDE], fresh(*heeded), SPEC, departure)
        refused = self.run(of(1, Graft(T)), varied=SCORED)
        assert agreement(refused, SPEC).departures, "it is no run of a router that follows the protocol"
        both = [self.WIDE, self.NARROW]
        assert standing(both, fresh(*heeded, refused), SPEC, departure) == [self.NARROW]
        asked = evolve(refused, varied=PROBE)
        assert self.WIDE in standing([self.WIDE], fresh(*heeded, asked), SPEC, departure)

    FORGETS = edit_named("heartbeat-forgets-scores", SPEC)
    KEEPS = edit_named("keeps-mesh-members-whose-score-is-negative", SPEC)

    def kept(self, *last: Event, varied: str = "") -> FreshRun:
        """Of one that refuses these GRAFTs and keeps members with a negative score."""
        events = (Connect((1,)), Join(T), of(1, Subscribe(T), Graft(T)), Score((1,), -41), *last)
        subject = ModelSubject(edited(SPEC, [self.NARROW, self.KEEPS]), self.LOW)
        return FreshRun(tuple((event, subject.do(event)) for event in events), self.LOW, varied)

    def test_a_score_that_still_counts_after_a_heartbeat_was_not_forgotten(self) -> None:
        beat, graft = Advance(500), of(1, Graft(T))
        runs = [self.kept(beat, of(2, IHave(T, (f"m{n}",)))) for n in range(4)]
        departure, both = departure_of(runs[0]), [self.FORGETS, self.KEEPS]
        assert departure.clause == "gs1.1/threshold.negative-pruned"
        assert set(standing(both, fresh(*runs), SPEC, departure)) == {*both}
        at_once = self.kept(graft, varied=SCORED)
        assert agreement(at_once, SPEC).departures
        assert self.FORGETS in standing(both, fresh(*runs, at_once), SPEC, departure), "another fault"
        later = self.kept(beat, graft, varied=SCORED)
        assert standing(both, fresh(*runs, later), SPEC, departure) == [self.KEEPS]


class TestTwoFaultsOfOneMessage:
    """A router that leaves a topic announces another backoff, and lists peers though peer exchange is off."""

    BACKOFF = edit_named("prune-members-unsubscribe-backoff-s-as-prune-backoff-s", SPEC)
    LISTS = edit_named("prune-members-prune-peers-as-endless", SPEC)
    SAYS_NOTHING = edit_named("prune-members-sees-all-floodsub", SPEC)
    """What is sent to a floodsub peer is not judged, so that it takes any backoff and any list."""

    def left(self, members: int, lead_s: int, backoff_s: int = SMALL.prune_backoff_s) -> FreshRun:
        """What it does in a run in which it leaves a mesh of so many: the lists need another member."""
        peers = tuple(range(1, members + 1))
        connects, grafts = (Connect((p,)) for p in peers), (of(p, Subscribe(T), Graft(T)) for p in peers)
        waits = (Advance(500), *[Advance(1000)] * lead_s)
        run = run_of((*connects, Join(T), *grafts, *waits, Leave(T)), edit="unknown-topic-graft-pruned")
        *before, (leave, outputs) = run.steps
        assert sum(isinstance(o, Sent) and isinstance(o.part, Prune) for o in outputs) == members

        def changed(output: Output) -> Output:
            if not isinstance(output, Sent) or not isinstance(output.part, Prune):
                return output
            others = tuple(peer for peer in peers if peer != output.peer)
            return evolve(output, part=evolve(output.part, backoff_s=backoff_s, peers=others))

        return evolve(run, steps=(*before, (leave, tuple(changed(output) for output in outputs))))

    def test_the_one_of_each_field_is_told_though_others_show_both(self) -> None:
        runs = [self.left(members, lead_s) for members in (1, 2, 3) for lead_s in (0, 1, 2)]
        edits = [self.SAYS_NOTHING, self.BACKOFF]
        assert standing(edits, fresh(*runs), SPEC, departure_of(runs[0])) == [self.BACKOFF]

    def test_one_that_takes_any_content_explains_nothing(self) -> None:
        runs = [self.left(2, lead_s, SMALL.unsubscribe_backoff_s) for lead_s in (0, 1, 2, 3)]
        edits = [self.SAYS_NOTHING, self.LISTS]
        assert standing(edits, fresh(*runs), SPEC, departure_of(runs[0])) == [self.LISTS]
        assert not standing([self.SAYS_NOTHING], fresh(*runs), SPEC, departure_of(runs[0]))

    def test_one_that_accounts_for_no_field_misses_the_departure(self) -> None:
        runs = [self.left(members, lead_s) for members in (1, 2) for lead_s in (0, 1, 2)]
        assert not standing([self.LISTS], fresh(*runs), SPEC, departure_of(runs[0]))


def test_a_separating_trace_is_asked_of_its_own_reading_alone() -> None:
    """Mutant: it is a run as any other, and other faults of the router that show in it refute a true one."""
    conforming = run_of(regraft(1000), edit="unknown-topic-graft-pruned")
    probe = evolve(conforming, varied=PROBE)
    departure = departure_of(INSIDE[0])
    assert not standing([TRUE], fresh(*INSIDE, evolve(probe, separates=TRUE.name)), SPEC, departure)
    assert standing([TRUE], fresh(*INSIDE, evolve(probe, separates="another")), SPEC, departure) == [TRUE]


def advertised(count: int, joined: bool = True, apart_ms: int = 100) -> FreshRun:
    """A router without a cap on ids, at so many IHAVEs of two ids each, so long after each other."""
    given = evolve(SMALL, max_ihave_length=2)
    uncapped = edit_named("ihave-beyond-caps-max-ihave-length-as-endless", SPEC)
    subject = ModelSubject(uncapped.change(SPEC), given)
    told = (of(1, IHave(T, (f"m{2 * at + 1}", f"m{2 * at + 2}"))) for at in range(count))
    waits = [Advance(apart_ms)] if apart_ms else []
    apart = (each for one in told for each in (one, *waits))
    events = (Connect((1,)), *([Join(T)] if joined else []), *apart)
    return FreshRun(tuple((event, subject.do(event)) for event in events), given)


@pytest.mark.parametrize(("ihaves", "stands"), [(2, True), (4, False)])
def test_a_reading_that_allows_much_falls_where_a_probe_goes_beyond_it(ihaves: int, stands: bool) -> None:
    """Mutant: a router without any cap is one that counts by the second."""
    reading = edit_named("ihave-capped-otherwise", SPEC)
    runs = [advertised(2), advertised(2, joined=False), advertised(2)]
    asked = fresh(*runs, evolve(advertised(ihaves), varied=PROBE))
    assert [reading][: int(stands)] == standing([reading], asked, SPEC, departure_of(runs[0]))


def test_who_counts_by_the_second_has_its_cap_once_at_one_instant() -> None:
    """Mutant: a router that forgets its counts when the peer reconnects is one that counts by the second."""
    reading = edit_named("ihave-capped-otherwise", SPEC)
    runs = [advertised(2, apart_ms=0), advertised(2, joined=False, apart_ms=0), advertised(2, apart_ms=0)]
    assert standing([reading], fresh(*runs), SPEC, departure_of(runs[0])) == []


def test_the_parameter_that_an_edit_of_several_rules_is_about_is_varied() -> None:
    """Mutant: one that takes a threshold for its default stands, because every run is at the default."""
    wide = [
        edit_named(f"everywhere-{name}", SPEC) for name in ("accept-px-threshold-as-default", "sees-no-seen")
    ]
    assert hypotheses.parameters_named(wide, SPEC) == {"accept_px_threshold"}


@pytest.mark.parametrize("asked", [True, False])
def test_an_edit_that_says_another_score_than_the_router_has_is_wrong_where_that_is_measured(
    asked: bool,
) -> None:
    """Mutant: what raises a score too little explains as much as what raises it as the router does."""
    weighted = TopicScoreParameters(topic=T, time_in_mesh_weight=1, time_in_mesh_cap=100)
    given = Parameters(validation="accept", scores=ScoreParameters(topics=(weighted,)))
    doubled, twice = (
        edit_named(name, SPEC) for name in ("time-in-mesh-doubled", "time-in-mesh-counted-twice")
    )
    events = (
        *(Join(T), Connect((1,)), of(1, Subscribe(T)), of(1, Graft(T)), Advance(500), Advance(600)),
        *(Score((1,), -14), of(1, IHave(T, ("m9",))), Advance(400)),
    )
    outputs = {7: (Sent(1, IWant(("m9",))),)}
    subject = ModelSubject(SPEC, given)
    steps = tuple((event, outputs.get(at, subject.do(event))) for at, event in enumerate(events))
    asks = frozenset({doubled.name, twice.name} if asked else ())
    run = FollowedRun.of(FreshRun(steps, given, MEASURED, asks=asks), SPEC)
    assert is_refuted(doubled, run) == is_refuted(twice, run) == asked
    assert not is_refuted(edit_named("time-in-mesh-adds-up", SPEC), run)
