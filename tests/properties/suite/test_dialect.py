"""Separating traces of readings: each tells its reading of our router, and nothing else of it."""

from __future__ import annotations

from functools import lru_cache

import pytest
from attrs import evolve

from quidnunc.impl.routers import mutants_by_name, readings_by_name
from quidnunc.model.edits.ambiguities import QUESTIONS, SETTLED_QUESTIONS, reading_named
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.file import render
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.search.verdicts import verdict_of_root
from quidnunc.properties.search.worker import hello_of, opener_of
from quidnunc.properties.suite.dialect import (
    NEITHER,
    NOT_TOLD,
    OWN,
    DialectAnswer,
    candidates,
    dialect_of,
    questions_of,
    separates,
    separating_traces,
    unasked_places,
)
from quidnunc.properties.suite.run import run_suite

ALL = (*QUESTIONS, *SETTLED_QUESTIONS)
NAMES = [name for question in ALL for name in question.readings]
COVERED = {
    # Who relays to everyone shows nothing of whose IDONTWANT was dropped.
    "idontwant-not-honoured": "B5",
    # A mesh that outbound peers cannot enter when it is full never has too many of them.
    "outbound-refused-when-full": "A26",
}
"""Readings that hide another question: that one cannot be told then, and must not be guessed."""


@lru_cache
def told_of(
    against: str, protocol: str = "gossipsub-1.2", quirks: tuple[str, ...] = ()
) -> tuple[DialectAnswer, ...]:
    spec = protocol_named(protocol)
    known = [edit_named(name, spec) for name in quirks]
    return dialect_of(protocol, opener_of(against), hello_of(against, protocol), known)


def reading_at(place: str, told: tuple[DialectAnswer, ...], nth: int = 0) -> DialectAnswer:
    return [each for each in told if each.question.place == place][nth]


def test_each_reading_has_one_case_and_one_edit_of_our_router() -> None:
    assert len(NAMES) == len(set(NAMES))
    assert set(separating_traces()) == set(NAMES)
    # One of them is planted as a departure as well.
    assert set(NAMES) - set(readings_by_name()) == {"cut-at-d-high"} <= set(mutants_by_name())
    assert not set(readings_by_name()) & set(mutants_by_name())


@pytest.mark.parametrize("name", NAMES)
def test_its_case_separates_it_from_the_kits_own(name: str) -> None:
    case = separating_traces()[name]
    (question,) = [q for q in ALL if name in q.readings]
    by_name = {c.name: c.rules for c in candidates(question, protocol_named(case.protocol))}
    assert case.clause == reading_named(name).clause
    assert separates(case, case.parameters, by_name[OWN], by_name[name])


@pytest.mark.parametrize("name", NAMES)
def test_its_case_holds_of_our_router_and_says_what_it_did(name: str) -> None:
    case = separating_traces()[name]
    replayed = replay_router(case, opener_of("ours"))
    assert replayed.outcome == "holds"
    assert render(replayed.rewritten, strict=True) == render(case, strict=True)


@pytest.mark.parametrize(
    "protocol", ["gossipsub-1.1", "gossipsub-1.2-draft", "gossipsub-1.2", "gossipsub-1.3"]
)
def test_our_router_reads_all_places_as_the_kit_does(protocol: str) -> None:
    told = told_of("ours", protocol)
    assert [t.question for t in told] == list(questions_of(protocol))
    assert len(told) >= 18
    assert {t.reading for t in told} == {OWN}


@pytest.mark.parametrize("name", NAMES)
def test_the_switch_is_named_and_only_it(name: str) -> None:
    told = told_of(f"ours:{name}")
    assert [t.reading for t in told if t.is_other] == [name]
    others = {(t.question.place, t.reading) for t in told if t.reading not in (name, OWN)}
    assert others == ({(COVERED[name], NOT_TOLD)} if name in COVERED else set())


@pytest.mark.parametrize("name", [name for question in QUESTIONS for name in question.readings])
def test_no_reading_of_an_open_place_fails_the_suite(name: str) -> None:
    campaign = run_suite("gossipsub-1.2", f"ours:{name}")
    assert {root.quirk: verdict_of_root(root) for root in campaign.roots.values()} in ({}, {name: "observed"})
    assert not campaign.unfiled


@pytest.mark.parametrize("name", [name for question in SETTLED_QUESTIONS for name in question.readings])
def test_who_reads_a_settled_place_otherwise_fails_the_suite(name: str) -> None:
    campaign = run_suite("gossipsub-1.2", f"ours:{name}")
    assert {root.quirk: verdict_of_root(root) for root in campaign.roots.values()} == {name: "fails"}
    (told,) = [t for t in told_of(f"ours:{name}") if t.reading == name]
    assert "Not open: " in told.reason


def test_what_no_reading_allows_is_neither_until_its_cause_is_known() -> None:
    assert reading_at("A8", told_of("ours:ihave-seen-requested")).reading == NEITHER
    assert reading_at("A1", told_of("ours:echo")).reading == NEITHER
    cause = ("sends-message-back-to-peer-it-came-from", "sends-message-to-author")
    assert reading_at("A1", told_of("ours:echo", quirks=cause)).reading == OWN


def test_what_a_known_quirk_accounts_for_tells_no_reading() -> None:
    mutant, quirk = "ours:seen-after-verdict", "seen-after-validation"
    assert reading_at("A8", told_of(mutant)).reading == "ignored-forgotten"
    again = reading_at("A8", told_of(mutant, quirks=(quirk,)))
    assert again.reading in (OWN, NOT_TOLD)


def test_what_the_driver_lacks_is_named() -> None:
    hello = hello_of("ours", "gossipsub-1.2")
    poor = evolve(hello, capabilities=hello.capabilities - {"verdict", "score"})
    told = dialect_of("gossipsub-1.2", opener_of("ours"), poor)
    for place, lacking in (("A8", "verdict"), ("A9", "score")):
        each = reading_at(place, told)
        assert (each.reading, each.reason) == (NOT_TOLD, f"needs {lacking}")
    assert reading_at("A1", told).reading == OWN


def test_parameters_under_which_the_readings_agree_tell_nothing() -> None:
    hello = hello_of("ours", "gossipsub-1.2")
    fixed = evolve(hello, fixed={"max_ihave_messages": 50})
    told = reading_at("B4", dialect_of("gossipsub-1.2", opener_of("ours"), fixed))
    assert told.reading == NOT_TOLD
    assert "do not differ" in told.reason


def test_a_protocol_without_open_places_is_asked_nothing() -> None:
    assert questions_of("dog") == questions_of("floodsub") == ()
    assert all(why for _, why in unasked_places())
