"""Changes in time are aimed at: waits around deadlines that a change reads; what is never at work is told."""

from __future__ import annotations

from typing import Any

from quidnunc.model.events import Advance
from quidnunc.model.parameters import Parameters
from quidnunc.properties.regress.compare import behaviour
from quidnunc.properties.regress.deadlines import aimed_traces, parameters_read, time_ms
from quidnunc.properties.regress.diff import changes_between
from quidnunc.properties.regress.expect import DeclarationComparison
from quidnunc.properties.regress.search import suite_traces
from quidnunc.properties.regress.sides import side_named
from quidnunc.reports.regress import RegressReport

OLD = side_named("gossipsub-1.0")


def test_a_time_that_changes_is_waited_for_between_its_two_values() -> None:
    new = side_named("gossipsub-1.0+seen_ttl_ms=121000")
    (change,) = changes_between(OLD, new)
    (trace, *_) = suite_traces(OLD, new)
    aimed = list(aimed_traces(change, OLD, new, [trace]))
    assert aimed and all(Advance(120_500) in events for _, events in aimed)
    assert not list(aimed_traces(change, OLD, OLD, [trace]))


def test_what_a_changed_rule_reads_is_found_in_its_code() -> None:
    changes = {c.key: c for c in changes_between(side_named("gossipsub-1.0"), side_named("gossipsub-1.1"))}
    assert any("prune_backoff_s" in parameters_read(change) for change in changes.values())
    parameters = Parameters()
    assert time_ms(parameters, "prune_backoff_s") == 60_000 and time_ms(parameters, "d") is None


def test_a_seen_cache_that_forgets_a_second_later_is_separated() -> None:
    """Without the aimed traces neither walks nor short traces show it."""
    found = behaviour(OLD, side_named("gossipsub-1.0+seen_ttl_ms=121000"), walks=0, steps=1)
    assert [each.direction for each in found.separations] == ["newly-forbidden"]


def reported(found: Any) -> RegressReport:
    nothing: Any = ()
    compared = DeclarationComparison((), (), ())
    return RegressReport(found, (), None, nothing, (), (), None, compared, False, "")


def test_a_change_that_was_never_at_work_is_inconclusive() -> None:
    new = side_named("gossipsub-1.1+fanout_ttl_ms=61000")
    found = behaviour(side_named("gossipsub-1.1"), new, walks=0, steps=1)
    assert not found.separations and [each.never_at_work for each in found.unseparated] == [True]
    assert reported(found).exit_status == 3
    assert reported(found).inconclusive == ("fanout_ttl_ms: the default -> 61000",)
    same = behaviour(OLD, OLD, walks=0)
    assert reported(same).exit_status == 0 and not reported(same).inconclusive
