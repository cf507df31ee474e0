"""Random single edits: each is separated, or it is said how far the search came; none is silently equal."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from attrs import evolve

from quidnunc.model.edit import moved_later, softened
from quidnunc.model.errors import SpecError
from quidnunc.properties.regress.compare import behaviour
from quidnunc.properties.regress.diff import changes_between
from quidnunc.properties.regress.pair import partings_of
from quidnunc.properties.regress.sides import Side, levelled_sides, side_named
from quidnunc.properties.regress.small import searched_small
from tools.single_edits import EditResult, SingleEdit, drawn_edits, result_of, table

EDITS = drawn_edits(0, 20)
AT_A_TIME = 3
TODAY = datetime.now(UTC).date().toordinal()
"""Which of them run goes on with the day; all twenty are in docs/single-edits.md."""
CHOSEN = [EDITS[(AT_A_TIME * TODAY + n) % len(EDITS)] for n in range(AT_A_TIME)]
R1 = side_named("gossipsub-1.2")


@pytest.mark.parametrize("edit", CHOSEN, ids=lambda edit: edit.side)
def test_a_random_edit_is_separated_or_bounded(edit: SingleEdit) -> None:
    result = result_of(edit, walks=12, steps=1000)
    assert result.found.changes and not result.silent
    said = list(result.lines())
    assert len(said) >= len(result.found.changes)
    assert all(" events" in line for line in said)


def test_the_draw_is_the_same_every_time_and_varied() -> None:
    assert drawn_edits(0, 20) == EDITS != drawn_edits(1, 20)
    assert len(set(EDITS)) == 20 and len({e.base for e in EDITS}) > 4
    assert len({e.edit.partition(":")[0] for e in EDITS if ":" in e.edit}) == 3
    assert any("=" in e.edit for e in EDITS)


def test_what_nothing_is_said_of_is_silent() -> None:
    """The planted error of the check: a result whose findings were lost."""
    edit = SingleEdit("gossipsub-1.2", "without:who_said_idontwant")
    result = result_of(edit, walks=4, steps=200)
    assert not result.silent and result.found.separations
    lost = EditResult(edit, evolve(result.found, separations=()))
    assert lost.silent == ("relay/who_said_idontwant",)
    assert "`relays-message-to-peer-that-sent-idontwant-for-it`" in table([result], 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gossipsub-1.2+may:no_such_rule", "no rule"),
        ("gossipsub-1.2+may:behaviour", "that demands or excludes"),
        ("dog+may:while_blocked", "grants no output"),
        ("gossipsub-1.2+later:accept", "follows in order"),
        ("gossipsub-1.2+without:no_such_rule", "no rule"),
    ],
)
def test_an_edit_that_cannot_be_made_is_refused(text: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        side_named(text)


def test_a_rule_that_demands_nothing_and_one_that_comes_later() -> None:
    soft = evolve(R1, protocol=softened(R1.protocol, "from_explicit_peer"))
    assert [c.key for c in changes_between(R1, soft)] == ["graft/from_explicit_peer"]
    moved = evolve(R1, protocol=moved_later(R1.protocol, "unknown_topic"))
    assert [c.kind for c in changes_between(R1, moved)] == ["reordered"]


# -- every short trace --------------------------------------------------------------------------------------


def small(old: str, new: str, key: str, steps: int = 2000) -> dict[str, int]:
    """Direction -> events of what the small search finds alone."""
    one, other = levelled_sides(side_named(old), side_named(new))
    change = next(c for c in changes_between(one, other) if c.key == key)
    found = searched_small(change, one, other, steps).found
    for direction, each in found.items():
        # The oracle of the search: the same trace, held against both models by the engine of the walks.
        assert direction in partings_of(change, one, other, each.trace, each.die)
    return {direction: len(each.trace[1]) for direction, each in found.items()}


@pytest.mark.parametrize(
    ("old", "new", "key", "direction", "events"),
    [
        ("gossipsub-1.2-draft", "gossipsub-1.2", "relay/who_said_idontwant", "newly-forbidden", 5),
        ("gossipsub-1.0", "gossipsub-1.1", "graft/unknown_topic", "newly-forbidden", 2),
        (
            "gossipsub-1.2",
            "gossipsub-1.2+prune_backoff_s=9",
            "parameter/prune_backoff_s",
            "newly-forbidden",
            5,
        ),
        ("dog", "dog+starts-blocked", "reading/starts-blocked", "newly-forbidden", 3),
    ],
)
def test_every_short_trace_holds_a_shortest_one(
    old: str, new: str, key: str, direction: str, events: int
) -> None:
    assert small(old, new, key)[direction] <= events


def test_a_shorter_trace_takes_the_place_of_what_a_case_shows() -> None:
    """The case has the first sender leave and come back."""
    old, new = side_named("dog"), side_named("dog+some-sender-cut")
    shown, shorter = (
        behaviour(old, new, as_one=True, walks=1, shortest=shortest) for shortest in (False, True)
    )
    lengths = [min(len(s.found.trace[1]) for s in each.separations) for each in (shown, shorter)]
    assert lengths[1] < lengths[0]


def test_how_far_it_came_is_said_and_grows_with_what_it_may_try() -> None:
    one, other = levelled_sides(R1, side_named("gossipsub-1.2+max_groups_per_peer=9"))
    [change] = changes_between(one, other)
    some, more = (searched_small(change, one, other, steps) for steps in (300, 3000))
    assert not some.found and not more.found
    assert [e.depth for e in some.exhausted] < [e.depth for e in more.exhausted]
    assert all(e.pairs > 10 and e.depth >= 2 for e in more.exhausted)
    assert "nor in any trace over 2 peers of" in str(more)


def test_a_rule_that_is_never_at_work_is_told() -> None:
    """Nobody has a score in so small a world."""
    without = Side("without", R1.protocol.without_rule("behaviour"))
    [change] = changes_between(R1, without)
    searched = searched_small(change, R1, without, 400)
    assert all(each.idle for each in searched.exhausted)
    assert "it was at work in none of them" in str(searched)
