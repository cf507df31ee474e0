"""Cases of the suite are explained alike by several processes and by one."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from quidnunc.impl.seam import Hello
from quidnunc.model.edit import edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import events_of, parameters_of
from quidnunc.properties.cases.file import render
from quidnunc.properties.explain.root_cause import last_departures
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


def told(campaign: Campaign) -> list[tuple[str, str, str]]:
    return [(root.clause, root.quirk, render(root.case)) for root in campaign.roots.values()]


def test_several_processes_tell_what_one_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explainers.os, "cpu_count", lambda: 2)
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
    monkeypatch.setattr(explainers.os, "cpu_count", lambda: 2)
    played, started = list[int](), list[int]()

    def one_of_this_thread(workers: int) -> ThreadPoolExecutor:
        started.append(len(played))
        return ThreadPoolExecutor(1)

    monkeypatch.setattr(explainers, "process_pool", one_of_this_thread)
    run_suite("gossipsub-1.2", AGAINST, progress=lambda campaign: played.append(campaign.runs))
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


def test_a_question_that_comes_no_longer_is_let_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun, over = threading.Event(), threading.Event()

    def answered(asked: Any) -> Any:
        question, mark = asked[-2:]
        if question == "first":
            assert begun.wait(20)
        elif question == "a guess":
            begun.set()
            while mark.exists():
                over.wait(0.01)
            over.set()
        elif question == "second":
            assert over.wait(20)
        return question

    monkeypatch.setattr(explainers, "_answer", answered)
    hunt = FindingSearch("gossipsub-1.2", opener_of(AGAINST), HELLO)
    with ThreadPoolExecutor(2) as pool:
        explain: Any = explainers.Explainers(hunt, AGAINST, 2, pool, tmp_path)
        assert explain("first", iter(["a guess"])) == "first"
        assert explain("second", iter(["a better guess"])) == "second"
        assert {each.question for each in explain.asked} == {"first", "second", "a better guess"}


def test_an_answer_that_nobody_waits_for_is_broken_off_before_a_fresh_run() -> None:
    hunt, departing = departing_of("cut-at-d-high")
    question = departing[0].question(departing[0].run)
    with pytest.raises(explainers.NoLongerAskedError):
        explainers.answer(question, hunt, lambda: True)
    assert not hunt.apart


def test_a_process_that_is_gone_is_replaced_by_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explainers.os, "cpu_count", lambda: 2)

    def gone(self: Any, question: Any) -> Any:
        raise BrokenProcessPool

    monkeypatch.setattr(explainers.Explainers, "_ask", gone)
    assert run_suite("gossipsub-1.2", AGAINST).roots
