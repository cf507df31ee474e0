"""What is known of a release is asked first: of fewer runs, and to the same result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from quidnunc.impl.seam import Hello
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS
from quidnunc.properties.search.fresh_runs import FreshRuns
from quidnunc.properties.search.worker import opener_of
from quidnunc.properties.suite import explainers
from quidnunc.properties.suite import run as suite_run
from quidnunc.properties.suite.files import suite_of
from quidnunc.properties.suite.known import known_causes
from quidnunc.properties.suite.run import run_suite
from quidnunc.properties.tables import table

PROTOCOL, AGAINST = "gossipsub-1.2", "ours:regraft-taken"
CAUSE = "accepts-graft-inside-backoff"
PREDICTS_NOTHING, PREDICTS_TOO = "back-off-as-announced-sees-no-topics", "held-while-backing-off"
"""Both account for the case; the second predicts the runs around it as well."""
CASE = "while_backing_off"


def is_there(name: str) -> bool:
    for protocol in PROTOCOLS.values():
        try:
            edit_named(name, protocol)
        except SpecError:
            continue
        return True
    return False


def test_every_known_cause_is_an_edit_of_a_protocol() -> None:
    rows = table("properties.suite", "known.toml")["known"]
    assert {row["router"] for row in rows} == {"py-libp2p", "js-libp2p", "go-libp2p-pubsub", "cometbft"}
    assert [name for row in rows for name in row["causes"] if not is_there(name)] == []
    assert not is_there("no-such-cause")


def test_causes_are_known_of_one_release_alone() -> None:
    row = table("properties.suite", "known.toml")["known"][0]
    same, other = (Hello(name=row["router"], version=v, protocols=()) for v in (row["version"], "0"))
    assert known_causes(same) == tuple(row["causes"]) and known_causes(other) == ()


def rows_with(
    known: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[tuple[str, str]], list[str]]:
    """The root causes, and which runs were asked for beyond those around the minimal one."""
    every, asked = dict(suite_of(PROTOCOL)), list[str]()
    varied = FreshRuns.varied

    def noted(self: FreshRuns, *given: Any) -> Iterator[Any]:
        asked.append("varied")
        return varied(self, *given)

    monkeypatch.setattr(FreshRuns, "varied", noted)
    monkeypatch.setattr(suite_run, "suite_of", lambda _: [(CASE, every[CASE])])
    monkeypatch.setattr(explainers, "known_causes", lambda _: tuple(known))
    roots = run_suite(PROTOCOL, AGAINST, opener=opener_of(AGAINST)).roots
    return [(root.clause, root.quirk) for root in roots.values()], asked


def test_a_known_cause_is_told_after_fewer_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    told, asked = rows_with((), monkeypatch)
    assert [cause for _, cause in told] == [CAUSE] and asked
    assert rows_with((CAUSE,), monkeypatch) == (told, [])


@pytest.mark.parametrize("known", [(PREDICTS_NOTHING,), (PREDICTS_NOTHING, "no-such-cause")])
def test_what_is_known_and_does_not_predict_changes_nothing(
    known: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    told, asked = rows_with(known, monkeypatch)
    assert [cause for _, cause in told] == [CAUSE] and asked


def test_of_two_that_predict_all_runs_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    told, asked = rows_with((PREDICTS_TOO, CAUSE), monkeypatch)
    assert [cause for _, cause in told] == [CAUSE] and asked
