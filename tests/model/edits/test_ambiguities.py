"""The register of open places: complete, asked about or not for a reason, and on clauses that exist."""

from __future__ import annotations

from quidnunc.model.edits.ambiguities import (
    AMBIGUITIES,
    BY_ID,
    QUESTIONS,
    SETTLED,
    SETTLED_QUESTIONS,
    WIDE,
    reading_named,
)
from quidnunc.model.edits.catalogue import explaining_edits
from quidnunc.model.edits.readings import NARROWED, READINGS
from quidnunc.model.errors import SpecError
from quidnunc.model.profiles import PROFILES
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_2
from quidnunc.properties.documents.clauses import load


def test_every_place_is_asked_about_or_says_why_not() -> None:
    asked = {question.place for question in QUESTIONS}
    assert {f"A{n}" for n in range(1, 27)} <= set(BY_ID)
    assert asked <= set(BY_ID)
    for each in AMBIGUITIES:
        assert each.id in asked or each.unasked, f"{each.id} is neither asked about nor left out for a reason"


def test_a_settled_place_says_by_what_and_is_no_open_one() -> None:
    assert {question.place for question in SETTLED_QUESTIONS} == {each.id for each in SETTLED}
    assert all(each.settled for each in SETTLED) and not any(each.settled for each in AMBIGUITIES)
    assert {each.id for each in AMBIGUITIES}.isdisjoint(each.id for each in SETTLED)
    kinds = {reading_named(name).kind for question in SETTLED_QUESTIONS for name in question.readings}
    assert kinds == {"replaced"}
    open_kinds = {reading_named(name).kind for question in QUESTIONS for name in question.readings}
    assert open_kinds == {"reading"}


def test_the_clauses_that_leave_it_open_exist() -> None:
    known = load()
    for each in BY_ID.values():
        assert set(each.clauses) <= set(known), each.id


def test_every_reading_of_a_search_has_a_question() -> None:
    asked = {name for question in QUESTIONS for name in question.readings}
    assert {each.name for each in READINGS} <= asked
    assert set(NARROWED) | WIDE <= asked
    explained = {q.name for q in explaining_edits(GOSSIPSUB_1_2) if q.kind == "reading"}
    assert explained <= asked


def test_every_reading_changes_the_protocol() -> None:
    for question in (*QUESTIONS, *SETTLED_QUESTIONS):
        for reading in question.others:
            try:
                edited = reading.change(GOSSIPSUB_1_2)
            except SpecError as error:
                raise AssertionError(f"{reading.name} does not fit: {error}") from None
            assert edited != GOSSIPSUB_1_2, reading.name


def test_profiles_hold_readings_with_where_they_are_documented() -> None:
    assert len(PROFILES) == 6
    for profile in PROFILES.values():
        for name, where in profile.readings.items():
            assert reading_named(name).name == name
            assert where
        against = {name for question in SETTLED_QUESTIONS for name in question.readings}
        assert against.isdisjoint(profile.readings)
