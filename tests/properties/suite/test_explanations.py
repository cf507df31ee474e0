"""Which explanations of other cases are tried on a case: those under which its run might go further."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve, field, mutable

from quidnunc.impl.seam import Config, Hello
from quidnunc.model.edit import Edit, edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.edits.operators.catalogue import operated
from quidnunc.model.edits.operators.everywhere import EVERYWHERE
from quidnunc.model.events import MESHSUB_1_1, Advance, Connect, Event, Join, Output, Score, Verdict
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, Message, Subscribe
from quidnunc.model.rules import Protocol
from quidnunc.properties.cases.case import CaseBlock, events_of, parameters_of
from quidnunc.properties.explain.root_cause import Finding, accounts_for, last_departures
from quidnunc.properties.judge.play import ModelSubject, Play, Subject, play, steps_of
from quidnunc.properties.search.machine import FindingSearch
from quidnunc.properties.suite.explainers import Answer, Question
from quidnunc.properties.suite.explanations import (
    DepartingCase,
    ExplainedRun,
    PassedCase,
    SuiteExplanations,
    SuiteFinding,
    _how_far,
    _may_go_further,
)
from quidnunc.properties.suite.files import suite_of
from quidnunc.properties.suite.run import ToldCases, _explained
from tests.helpers.pubsub_run import T, of

SPEC = protocol_named("gossipsub-1.2")
SMALL = Parameters(d=2, d_low=1, d_high=3, d_score=1, d_out=0)
REFUSES_NOBODY, BARE = "accepts-graft-from-inbound-peer-at-d-high", "heartbeat-prunes-bare"
BOTH = (REFUSES_NOBODY, BARE)
HELLO = Hello(name="x", version="1", protocols=())
CASE = dict(suite_of(SPEC.name))["mesh-high"]
"""One that departs at a cut."""
SILENT_JOIN, DEAF = "does-not-announce-topic-that-it-joins", "everywhere-in-message-deaf-to-members"

GRAFTED = (event for n in range(1, 6) for event in (Connect((n,)), of(n, Subscribe(T), Graft(T))))
CUT = (Join(T), *GRAFTED, Advance(1000))
PEERS = (Connect((1, 2), MESHSUB_1_1), of(1, Subscribe(T)), of(2, Subscribe(T)))
LATER = (Advance(1000),) * 3
ACCEPTED = (*PEERS, Join(T), of(1, Message("m1", T, 1)), Verdict("m1", "accept"), *LATER)


def built_with(*faults: str) -> Protocol:
    return edited(SPEC, [edit_named(name, SPEC) for name in faults])


def run_of(faults: Sequence[str], events: Sequence[Event], given: Parameters, beside: Protocol) -> Play:
    return play(events, ModelSubject(built_with(*faults), given), beside, given)


@pytest.mark.parametrize(
    ("faults", "events", "tried", "may"),
    [
        pytest.param(BOTH[:1], CUT, REFUSES_NOBODY, True, id="it accounts for all"),
        pytest.param(BOTH, CUT, REFUSES_NOBODY, True, id="it leaves fewer departures of the same step"),
        pytest.param(BOTH, CUT, "cut-at-d-high", False, id="it leaves them all"),
        pytest.param(BOTH, CUT, SILENT_JOIN, False, id="the router departs from it earlier"),
        # Whoever drops the message has no verdict to wait for: what comes then was not seen in this run.
        pytest.param(["accepted-not-relayed"], ACCEPTED, DEAF, True, id="an event cannot be under it"),
    ],
)
def test_what_may_go_further_is_played(
    faults: Sequence[str], events: Sequence[Event], tried: str, may: bool
) -> None:
    given = SMALL if events is CUT else Parameters(validation="manual")
    run, changed = run_of(faults, events, given, SPEC), built_with(tried)
    assert _may_go_further(run, changed, given) == may
    assert (_how_far(run_of(faults, events, given, changed)) > _how_far(run)) == may


def departing(name: str, *faults: str) -> DepartingCase:
    given = parameters_of(CASE)
    return DepartingCase(name, CASE, given, run_of(faults, events_of(CASE), given, SPEC))


def test_cases_that_are_asked_again_have_the_same_in_force_until_all_were_asked() -> None:
    """What an answer taught goes into the next round. There one case of each way to depart is asked once
    more, and others to which what is new makes a difference."""
    cases = [departing(name, "cut-at-d-high") for name in ("first", "second", "never", "last")]
    run = cases[0].run
    bare = Finding(cases[0].events, tuple(run.moments), last_departures(run)[0], ())
    edit = edit_named(REFUSES_NOBODY, SPEC)
    explained_when = {"first": 1, "second": 2, "never": 99, "last": 0}
    asked = list[tuple[str, int]]()

    @mutable
    class Explains:
        confirmed: list[Edit] = field(factory=list)
        withdrawn: Sequence[str] = ()

        def finding(self, each: DepartingCase, after: Sequence[DepartingCase]) -> SuiteFinding:
            return self.again(each, (), after)

        def again(
            self, each: DepartingCase, known: Sequence[Edit], after: Sequence[DepartingCase]
        ) -> SuiteFinding:
            asked.append((each.name, len(known)))
            if len(known) < explained_when[each.name]:
                return SuiteFinding(bare)
            self.confirmed.append(edit)
            return SuiteFinding(evolve(bare, quirks=(edit,)))

        def in_the_end(self, told: SuiteFinding) -> SuiteFinding:
            return told

        def may_differ(self, each: DepartingCase, known: Sequence[Edit], before: int) -> bool:
            assert len(known) == before + 1
            return each.name == "second"

    explain: Any = Explains()
    found = [*_explained(cases, explain, ToldCases(explain))]
    assert asked == [
        *[(name, 0) for name in explained_when],
        *[("first", 1), ("second", 1)],
        ("second", 2),
    ]
    assert [(each.name, bool(told and told.finding.quirks)) for told, each in found] == [
        *[("last", True), ("first", True), ("never", False), ("second", True)]
    ]


WIDE = "everywhere-d-high-as-endless"


def told_of(explanations: Sequence[Sequence[str]]) -> tuple[list[tuple[str, ...]], list[str], list[str]]:
    """Which edits are in force when a case is asked whose answers are these, what is told of it, and what is
    confirmed in the end. Another case, which explains itself, comes before it."""
    hunt = FindingSearch(SPEC.name, lambda config: ModelSubject(SPEC, config.parameters), HELLO)
    answers, asked = iter(explanations), list[tuple[str, ...]]()

    def explain(question: Question, ahead: object) -> Answer:
        asked.append(question.in_force)
        return Answer((), tuple(next(answers)), (), frozenset())

    suite = SuiteExplanations(hunt, explain)
    suite.confirmed.append(edit_named("relay-needs-a-subscriber", SPEC))
    found = [*_explained([departing("case", "cut-at-d-high")], suite, ToldCases(suite))]
    quirks = [edit.name for told, _ in found if told is not None for edit in told.finding.quirks]
    return asked, quirks, [edit.name for edit in suite.confirmed[1:]]


def test_what_is_wrong_in_several_rules_at_once_is_asked_again_with_all_that_is_known() -> None:
    """Two faults of one case may look like it, of which the other cases show one."""
    known = ("relay-needs-a-subscriber",)
    assert told_of([[WIDE], ["cut-at-d-high"]]) == ([(), known], ["cut-at-d-high"], ["cut-at-d-high"])
    # Nothing else explains it: it stays.
    assert told_of([[WIDE], []]) == ([(), known], [WIDE], [WIDE])
    assert told_of([["cut-at-d-high"]]) == ([()], ["cut-at-d-high"], ["cut-at-d-high"])


def test_a_case_for_which_what_waits_accounts_is_not_asked_beside_it() -> None:
    first, second = (departing(name, "cut-at-d-high") for name in ("first", "second"))
    moments, given = first.run.moments, first.parameters
    wide = next(
        made.edit
        for name, made in operated(SPEC).items()
        if name.startswith(EVERYWHERE) and accounts_for(made.edit, moments, SPEC, given)
    )
    hunt = FindingSearch(SPEC.name, lambda config: ModelSubject(SPEC, config.parameters), HELLO)
    asked = list[Question]()

    def explain(question: Question, ahead: object) -> Answer:
        asked.append(question)
        return Answer((), (wide.name,), (), frozenset())

    suite = SuiteExplanations(hunt, explain)
    told = [suite.finding(each) for each in (first, second)]
    names = [each.finding.quirks[0].name for each in told if each is not None and each.waits]
    assert names == [wide.name] * 2
    assert len(asked) == 1 and not suite.confirmed
    for each in told:
        assert each is not None and suite.in_the_end(each).is_explained
    assert [edit.name for edit in suite.confirmed] == [wide.name]


def test_a_router_that_never_does_the_same_is_played_anew() -> None:
    """What it did once is not mixed with what it does now."""
    subjects = list[Subject]()

    @mutable
    class Silent:
        hello: Hello = HELLO

        def do(self, event: Event) -> tuple[Output, ...]:
            return ()

        def declare(self, messages: Sequence[Message]) -> None: ...

        def close(self) -> None: ...

    def opener(config: Config) -> Subject:
        like_before = ModelSubject(built_with("cut-at-d-high"), config.parameters)
        subjects.append(like_before if subjects else Silent())
        return subjects[-1]

    hunt = FindingSearch(SPEC.name, opener, HELLO)
    suite = SuiteExplanations(hunt, lambda question, ahead: pytest.fail("nothing is asked"))
    each = departing("cut", "cut-at-d-high")
    del each.seen[-1]
    run = suite._played(each, SPEC)
    assert len(subjects) == 2
    assert steps_of(run.moments) == steps_of(each.run.moments)


def test_what_a_router_passes_refutes_an_edit_by_which_it_would_act_otherwise() -> None:
    """Who follows the specification refuses the GRAFT beyond D_high; who refuses nobody would take it."""
    run = run_of((), CUT, SMALL, SPEC)
    passed = PassedCase("cut", departing("cut", "cut-at-d-high").case, SMALL, tuple(run.moments))
    assert not last_departures(run)
    assert passed.refutes(edit_named(REFUSES_NOBODY, SPEC), SPEC)
    assert not passed.refutes(edit_named("cut-at-d-high", SPEC), SPEC), "the mesh is never full there"


NO_SCORES, ONLY_GRAFTS = "leaves-applications-term-out-of-score", "graylist-refuses-grafts-only"
ANY_SCORE = "grafts-peers-whose-score-is-negative"
COMES = (Connect((1,), MESHSUB_1_1), of(1, Subscribe(T)))
GRAYLISTED = (Join(T), *COMES, Score((1,), -100), of(1, Graft(T)))
NEGATIVE = (*COMES, Score((1,), -1), Join(T))
LONGER = (*COMES, Advance(500), Advance(1000), Score((1,), -1), Join(T))


def departing_in(events: Sequence[Event], *faults: str) -> DepartingCase:
    given = Parameters(graylist_threshold=-50, publish_threshold=-40, gossip_threshold=-30)
    written = evolve(CASE, parameters=given, blocks=tuple(CaseBlock((event,)) for event in events))
    return DepartingCase(str(len(events)), written, given, run_of(faults, events, given, SPEC))


def test_what_is_explained_breaks_under_what_does_not_go_with_it() -> None:
    """Who leaves the application's term out of scores has no peer at -100 whose GRAFT it refuses."""
    refuses, none = edit_named(ONLY_GRAFTS, SPEC), edit_named(NO_SCORES, SPEC)
    each = departing_in(GRAYLISTED, ONLY_GRAFTS)
    run = ExplainedRun((refuses,), tuple(each.run.moments), each.parameters)
    assert last_departures(each.run) and run.breaks_under(none, SPEC)
    assert not any(run.breaks_under(edit_named(name, SPEC), SPEC) for name in (ONLY_GRAFTS, ANY_SCORE))
    other = departing_in(NEGATIVE, ANY_SCORE)
    shown = ExplainedRun((none,), tuple(other.run.moments), other.parameters)
    assert last_departures(other.run) and not shown.breaks_under(refuses, SPEC)


EVERYWHERE_NONE = "everywhere-sees-no-scores"


@pytest.mark.parametrize(
    ("events", "wrong", "withdrawn_when_asked"),
    [
        pytest.param(NEGATIVE, NO_SCORES, [(), (NO_SCORES,)], id="it was taken"),
        pytest.param(LONGER, NO_SCORES, [(), (NO_SCORES,)], id="it is not taken"),
        pytest.param(NEGATIVE, EVERYWHERE_NONE, [(), (), (EVERYWHERE_NONE,)], id="it waits"),
    ],
)
def test_an_explanation_that_does_not_go_with_another_one_is_withdrawn(
    events: Sequence[Event], wrong: str, withdrawn_when_asked: list[tuple[str, ...]]
) -> None:
    """Whichever comes first; its case is asked again, because it may have kept smaller ones from standing."""
    hunt = FindingSearch(SPEC.name, lambda config: ModelSubject(SPEC, config.parameters), HELLO)
    asked = list[tuple[str, ...]]()

    def explain(question: Question, ahead: object) -> Answer:
        if question.events == GRAYLISTED:
            return Answer((), (ONLY_GRAFTS,), (), frozenset())
        asked.append(question.withdrawn)
        return Answer((), (ANY_SCORE,) if question.withdrawn else (wrong,), (), frozenset())

    suite = SuiteExplanations(hunt, explain)
    cases = [departing_in(events, ANY_SCORE), departing_in(GRAYLISTED, ONLY_GRAFTS)]
    found = _explained(cases, suite, ToldCases(suite))
    told = {each.events: its for its, each in found if its is not None}
    assert {each.finding.quirks[0].name for each in told.values()} == {ANY_SCORE, ONLY_GRAFTS}
    assert asked == withdrawn_when_asked and suite.withdrawn == [wrong]
    assert {edit.name for edit in suite.confirmed} == {ANY_SCORE, ONLY_GRAFTS}


def test_one_that_is_withdrawn_is_confirmed_no_longer() -> None:
    """Else the cases for which it accounts would be asked again for ever."""
    answers = iter([(NO_SCORES,), (ANY_SCORE,)])
    hunt = FindingSearch(SPEC.name, lambda config: ModelSubject(SPEC, config.parameters), HELLO)
    suite = SuiteExplanations(hunt, lambda question, ahead: Answer((), next(answers), (), frozenset()))
    none, refuses = edit_named(NO_SCORES, SPEC), edit_named(ONLY_GRAFTS, SPEC)
    suite.confirmed.append(none)
    graylisted, negative = departing_in(GRAYLISTED, ONLY_GRAFTS), departing_in(NEGATIVE, ANY_SCORE)
    suite._shown.append(ExplainedRun((refuses,), tuple(graylisted.run.moments), graylisted.parameters))
    told = suite._told(negative.question(negative.run), iter(()))
    assert [edit.name for edit in told.finding.quirks] == [ANY_SCORE]
    assert [edit.name for edit in suite.confirmed] == [ANY_SCORE] and suite.withdrawn == [NO_SCORES]


@pytest.mark.parametrize("known", [(NO_SCORES,), ()])
def test_a_known_one_that_a_passed_case_refutes_leaves_the_case_to_all_others(
    known: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[tuple[str, ...]]()

    def explain(question: Question, ahead: object) -> Answer:
        asked.append(question.withdrawn)
        return Answer((), (ANY_SCORE,) if NO_SCORES in question.withdrawn else (NO_SCORES,), (), frozenset())

    hunt = FindingSearch(SPEC.name, lambda config: ModelSubject(SPEC, config.parameters), HELLO, known=known)
    suite = SuiteExplanations(hunt, explain)
    monkeypatch.setattr(SuiteExplanations, "_is_refuted", lambda self, edit: edit.name == NO_SCORES)
    negative = departing_in(NEGATIVE, ANY_SCORE)
    told = suite._told(negative.question(negative.run), iter(()))
    assert [edit.name for edit in told.finding.quirks] == ([ANY_SCORE] if known else [])
    assert asked == ([(), (NO_SCORES,)] if known else [()]) and suite.withdrawn == []
