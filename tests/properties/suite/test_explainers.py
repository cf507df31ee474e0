"""Cases of the suite are explained alike by several processes and by one."""

from __future__ import annotations

import threading
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from quidnunc.impl.seam import Hello
from quidnunc.model.edit import edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import Advance, Connect, Join, Receive
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, IHave, Prune, Subscribe
from quidnunc.model.score_parameters import ScoreParameters
from quidnunc.properties.cases.case import events_of, parameters_of
from quidnunc.properties.cases.file import render
from quidnunc.properties.explain.root_cause import last_departures
from quidnunc.properties.explain.runs import blamed_clauses
from quidnunc.properties.judge.play import ModelSubject, play
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.machine import UNEXPLAINED_TRIES, FindingSearch, signature_of
from quidnunc.properties.search.worker import opener_of
from quidnunc.properties.suite import explainers
from quidnunc.properties.suite.explainers import Question
from quidnunc.properties.suite.explanations import DepartingCase, SuiteExplanations
from quidnunc.properties.suite.files import suite_of
from quidnunc.properties.suite.run import run_suite

AGAINST = "ours:prune-ignored"
HELLO = Hello(name="x", version="1", protocols=())


def on_two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explainers.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(explainers, "MOST_AT_ONCE", 2)


def told(campaign: Campaign) -> list[tuple[str, str, str]]:
    return [(root.clause, root.quirk, render(root.case)) for root in campaign.roots.values()]


def test_several_processes_tell_what_one_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    on_two_processors(monkeypatch)
    asked = list[object]()
    ask = explainers.Explainers._ask
    monkeypatch.setattr(explainers.Explainers, "_ask", lambda self, q: (asked.append(q), ask(self, q))[1])
    several = run_suite("gossipsub-1.2", AGAINST)
    assert asked and several.roots
    one = run_suite("gossipsub-1.2", AGAINST, opener=opener_of(AGAINST))
    assert told(several) == told(one)


def test_processes_start_with_the_first_case_that_departs_and_where_none_does_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_two_processors(monkeypatch)
    played, started = list[int](), list[int]()

    def one_of_this_thread(workers: int) -> ThreadPoolExecutor:
        started.append(len(played))
        return ThreadPoolExecutor(1)

    monkeypatch.setattr(explainers, "process_pool", one_of_this_thread)
    run_suite("gossipsub-1.0", AGAINST, progress=lambda campaign: played.append(campaign.runs))
    assert len(started) == 1 and started[0] < max(played), "while others are played"
    run_suite("flood", "ours")
    assert len(started) == 1


def departing_of(*names: str) -> tuple[FindingSearch, list[DepartingCase]]:
    """A search of a router with these edits, and the cases of the suite that depart."""
    spec = protocol_named("gossipsub-1.2")
    built = edited(spec, [edit_named(each, spec) for each in names])
    departing = []
    for name, case in suite_of(spec.name):
        parameters = parameters_of(case)
        run = play(events_of(case), ModelSubject(built, parameters), spec, parameters)
        if last_departures(run):
            departing.append(DepartingCase(name, case, parameters, run))
    hunt = FindingSearch(spec.name, lambda config: ModelSubject(built, config.parameters), HELLO)
    return hunt, departing


def test_what_was_given_up_is_not_asked_ahead() -> None:
    hunt, departing = departing_of("cut-at-d-high", "relay-needs-a-subscriber", "ids-sent-as-text")
    suite = SuiteExplanations(hunt, lambda question, ahead: pytest.fail("nothing is asked"), departing)
    first, *after = departing
    asked = suite._question(first)
    assert isinstance(asked, Question)
    ahead = [*suite._ahead(asked, map(suite._question, after))]
    assert len(ahead) > 1
    hunt.signatures[signature_of(ahead[0].departure)] = UNEXPLAINED_TRIES
    assert [*suite._ahead(asked, map(suite._question, after))] == ahead[1:]


@frozen
class ToyQuestion:
    text: str
    moments: tuple[None, ...] = ()
    """As many as it takes long."""


def asking(pool: Executor, folder: Path) -> Any:
    hunt = FindingSearch("gossipsub-1.2", opener_of(AGAINST), HELLO)
    return explainers.Explainers(hunt, AGAINST, 2, pool, folder)


def test_a_question_that_comes_no_longer_is_let_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun, over = threading.Event(), threading.Event()
    first, second, guess, better = map(ToyQuestion, ("first", "second", "a guess", "a better guess"))

    def answered(asked: Any) -> Any:
        question, mark = asked[-2:]
        if question == first:
            assert begun.wait(20)
        elif question == guess:
            begun.set()
            while mark.exists():
                over.wait(0.01)
            over.set()
        elif question == second:
            assert over.wait(20)
        return question

    monkeypatch.setattr(explainers, "_answer", answered)
    with ThreadPoolExecutor(2) as pool:
        explain = asking(pool, tmp_path)
        assert explain(first, iter([guess])) == first
        assert explain(second, iter([better])) == second
        assert {each.question for each in explain.asked} == {first, second, better}


@pytest.mark.parametrize("more", [0, explainers.COMING])
def test_of_the_last_questions_the_longest_is_asked_first(
    more: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where many come, they are asked in their order: what is asked ahead of its turn may be for nothing."""
    begun: list[str] = []

    def answered(asked: Any) -> Any:
        begun.append(asked[1].text)
        return asked[1]

    monkeypatch.setattr(explainers, "_answer", answered)
    coming = [
        ToyQuestion("short", (None,)),
        ToyQuestion("long", (None,) * 9),
        *(ToyQuestion(f"other {n}", (None,)) for n in range(more)),
    ]
    with ThreadPoolExecutor(1) as pool:
        first = ToyQuestion("first", (None,))
        assert asking(pool, tmp_path)(first, iter(coming)) == first
    assert begun[0] == ("first" if more else "long")


def test_a_run_is_sorted_out_by_other_processes_as_by_this_one(tmp_path: Path) -> None:
    hunt = FindingSearch("gossipsub-1.2", opener_of(AGAINST), HELLO)
    name, case = next(each for each in suite_of(hunt.spec.name) if each[0] == "read_prunes")
    parameters = parameters_of(case)
    run = play(events_of(case), hunt.opener(hunt.config(parameters, case.seed)), hunt.spec, parameters)
    assert last_departures(run)
    question = DepartingCase(name, case, parameters, run).question(run)
    with ThreadPoolExecutor(1) as pool:
        found = asking(pool, tmp_path).sort_out(question)()
    assert found == explainers.ThisProcess(hunt).sort_out(question)() == explainers.SortedOut("the same")


def test_an_answer_that_nobody_waits_for_is_broken_off_before_a_fresh_run() -> None:
    hunt, departing = departing_of("cut-at-d-high")
    question = departing[0].question(departing[0].run)
    with pytest.raises(explainers.NoLongerAskedError):
        explainers.answer(question, hunt, lambda: True)
    assert not hunt.apart


def test_a_process_that_is_gone_is_replaced_by_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    on_two_processors(monkeypatch)

    def gone(self: Any, question: Any) -> Any:
        raise BrokenProcessPool

    monkeypatch.setattr(explainers.Explainers, "_ask", gone)
    assert run_suite("gossipsub-1.0", AGAINST).roots


def test_what_departs_without_scores_is_not_filed_under_a_clause_of_theirs() -> None:
    """An IWANT is missing, of a peer that may have been penalised. Mutant: the penalty is blamed."""
    spec = protocol_named("gossipsub-1.2")
    deaf = edit_named("does-not-request-unseen-messages-that-ihave-names", spec).change(spec)
    given = Parameters(scores=ScoreParameters(behaviour_penalty_weight=-1.0))
    grafts = (Receive((1,), (part,)) for part in (Subscribe("t1"), Graft("t1"), Prune("t1"), Graft("t1")))
    events = (Join("t1"), Connect((1,)), *grafts, Receive((1,), (IHave("t1", ("m1",)),)), Advance(500))
    run = play(events, ModelSubject(deaf, given), spec, given)
    hunt = FindingSearch(spec.name, lambda config: ModelSubject(deaf, config.parameters), HELLO)
    blamed = blamed_clauses(run.moments, spec, given)
    assert blamed == ("gs1.1/backoff.penalty",)
    question = Question(events, tuple(run.moments), given, 0)
    assert explainers._without_scores(hunt, question, blamed) == ("gs1.0/ihave.request-unseen",)
