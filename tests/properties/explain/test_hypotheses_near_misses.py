"""A number that fits the minimal run by chance heads no report: the router is asked about other values."""

from __future__ import annotations

from functools import partial

import pytest

from quidnunc.impl.seam import Config
from quidnunc.model.edit import RuleWrapper, replacing_present
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.edits.large_numbers import TOO_LARGE_S, backoff_is_over
from quidnunc.model.events import Advance, Connect, Event, Join
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.pubsub import mesh
from quidnunc.model.rpc import Graft, Prune, Subscribe
from quidnunc.model.rules import Protocol, rule
from quidnunc.properties.explain.root_cause import Finding, accounts_for, last_departures
from quidnunc.properties.judge.play import ModelSubject, play
from quidnunc.properties.search.fresh_runs import FreshRuns
from quidnunc.properties.search.machine import FindingSearch
from quidnunc.properties.search.worker import hello_of
from tests.helpers.pubsub_run import T, of

SPEC = protocol_named("gossipsub-1.2")
SMALL = Parameters(d=3, d_low=2, d_high=4, d_score=2, d_out=0, d_lazy=2, prune_backoff_s=6)


def explained(router: Protocol, events: tuple[Event, ...]) -> tuple[Finding, Finding]:
    """The finding of a minimal run of a router, as it comes and with the explanations that stand."""

    def opened(config: Config) -> ModelSubject:
        return ModelSubject(router, config.parameters, config.seed)

    hunt = FindingSearch("gossipsub-1.2", opened, hello_of("ours", "gossipsub-1.2"))
    run = play(events, opened(hunt.config(SMALL, 0)), SPEC, SMALL)
    found = last_departures(run)
    assert found, "the planted bug does not show"
    bare = Finding(events, tuple(run.moments), found[0], ())
    return bare, hunt.explained(bare, SMALL, FreshRuns(hunt, SPEC, events, (SMALL,), 0))


def regraft(announced_s: int) -> tuple[Event, ...]:
    return (Connect((1,)), Join(T), of(1, Prune(T, announced_s)), of(1, Graft(T)), Advance(1000))


def long_backoffs_are_over(least_s: int) -> Protocol:
    over = RuleWrapper("gs1.1/backoff.announced-period", partial(backoff_is_over, least_s))
    return replacing_present(back_off_as_announced=over)(SPEC)


@pytest.mark.parametrize("least_s", [100_000, TOO_LARGE_S["2-63-ns"][0] * 3])
def test_a_limit_that_no_edit_has_is_not_told_as_one_that_fits(least_s: int) -> None:
    bare, told = explained(long_backoffs_are_over(least_s), regraft(1 << 63))
    fits = [f"backoff-from-{word}-is-over" for word in TOO_LARGE_S]
    assert all(accounts_for(edit_named(name, SPEC), bare.moments, SPEC, SMALL) for name in fits)
    assert not [edit.name for edit in told.quirks if edit.of_number]


@pytest.mark.parametrize("word", TOO_LARGE_S)
def test_a_limit_that_an_edit_has_is_told_as_that(word: str) -> None:
    _, told = explained(long_backoffs_are_over(TOO_LARGE_S[word][0]), regraft(1 << 63))
    assert told.cause == f"backoff-from-{word}-is-over"


@rule("gs1.0/heartbeat.cut")
def cut_above_d_high_and_two(r, _, choose):  # type: ignore[no-untyped-def]
    return mesh.each_topic(
        r, lambda r, t: mesh._cut(r, t, choose) if len(r.mesh[t]) > r.parameters.d_high + 2 else None
    )


def test_a_bound_that_is_off_by_more_than_one_is_not_told_as_one_off() -> None:
    # A full mesh takes in one more if the router dialled it.
    peers = tuple(range(1, SMALL.d_high + 2))
    met = (Connect((p,), outbound=p == peers[-1]) for p in peers)
    events = (Join(T), *met, *(of(p, Subscribe(T), Graft(T)) for p in peers), Advance(1000))
    router = SPEC.with_rule("cut_to_d", cut_above_d_high_and_two)
    bare, told = explained(router, events)
    near = edit_named("cut-to-d-d-high-as-one-more", SPEC)
    assert accounts_for(near, bare.moments, SPEC, SMALL), "it fits the minimal run"
    assert not [edit.name for edit in told.quirks if edit.of_number]
