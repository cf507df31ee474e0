"""Cases of the suite are explained alike by several processes and by one."""

from __future__ import annotations

from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest

from quidnunc.properties.cases.file import render
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.worker import opener_of
from quidnunc.properties.suite import explainers
from quidnunc.properties.suite.run import run_suite

AGAINST = "ours:prune-ignored"


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


def test_a_process_that_is_gone_is_replaced_by_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explainers.os, "cpu_count", lambda: 2)

    def gone(self: Any, question: Any) -> Any:
        raise BrokenProcessPool

    monkeypatch.setattr(explainers.Explainers, "_ask", gone)
    assert run_suite("gossipsub-1.2", AGAINST).roots
