"""What is known of a release is asked first: of fewer runs, and to the same result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from quidnunc.impl.seam import Hello
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS
from quidnunc.properties.search.fresh_runs import FreshRuns
from quidnunc.properties.search.worker import opener_of
from quidnunc.properties.suite import known
from quidnunc.properties.suite import run as suite_run
from quidnunc.properties.suite.files import suite_of
from quidnunc.properties.suite.known import known_causes, known_of
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


def hello(version: str) -> Hello:
    return Hello(name="py-libp2p", version=version, protocols=())


def test_causes_are_known_of_one_release_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    row = next(row for row in known_of().values() if row.router == "py-libp2p")
    monkeypatch.setattr(known, "sources_of", lambda router: row.sources)
    assert row.sources and known_causes("py-libp2p", hello(row.version)) == row.causes
    assert known_causes("py-libp2p", hello("0")) == ()
    # Whoever says that it is one: a driver of the user's own, or another driver of the kit.
    assert known_causes("python:mine:open", hello(row.version)) == ()
    assert known_causes("py-libp2p@0.8.1", hello(row.version)) == ()


def test_a_release_that_is_built_is_known_by_its_number_as_well() -> None:
    row = next(row for row in known_of().values() if row.router == "js-libp2p")
    for against in ("js-libp2p", f"js-libp2p@{row.version}"):
        assert known_causes(against, hello(row.version)) == row.causes
    assert known_causes("js-libp2p@1.0.1", hello(row.version)) == ()
    assert known_causes(f"js-libp2p@{row.version}", hello("1.0.1")) == ()


def test_a_release_that_was_changed_is_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = next(row for row in known_of().values() if row.router == "py-libp2p")
    (tmp_path / "pubsub").mkdir()
    (tmp_path / "pubsub" / "gossipsub.py").write_text("changed = True")

    class ChangedPackage:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr(known, "find_spec", lambda name: ChangedPackage())
    known.sources_of.cache_clear()
    try:
        assert known_causes("py-libp2p", hello(row.version)) == ()
    finally:
        known.sources_of.cache_clear()


def rows_with(
    names: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[tuple[str, str]], list[str]]:
    """The root causes, and which runs were asked for beyond those around the minimal one."""
    every, asked = dict(suite_of(PROTOCOL)), list[str]()
    varied = FreshRuns.varied

    def noted(self: FreshRuns, *given: Any) -> Iterator[Any]:
        asked.append("varied")
        return varied(self, *given)

    monkeypatch.setattr(FreshRuns, "varied", noted)
    monkeypatch.setattr(suite_run, "suite_of", lambda _: [(CASE, every[CASE])])
    roots = run_suite(PROTOCOL, AGAINST, opener=opener_of(AGAINST), known=names).roots
    return [(root.clause, root.quirk) for root in roots.values()], asked


def test_a_known_cause_is_told_after_fewer_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    told, asked = rows_with((), monkeypatch)
    assert [cause for _, cause in told] == [CAUSE] and asked
    assert rows_with((CAUSE,), monkeypatch) == (told, [])


@pytest.mark.parametrize("names", [(PREDICTS_NOTHING,), (PREDICTS_NOTHING, "no-such-cause")])
def test_what_is_known_and_does_not_predict_changes_nothing(
    names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    told, asked = rows_with(names, monkeypatch)
    assert [cause for _, cause in told] == [CAUSE] and asked


def test_of_two_that_predict_all_runs_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    told, asked = rows_with((PREDICTS_TOO, CAUSE), monkeypatch)
    assert [cause for _, cause in told] == [CAUSE] and asked
