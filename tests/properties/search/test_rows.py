"""As few rows as account for all that was found."""

from __future__ import annotations

from itertools import permutations

from attrs import evolve

from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import UNEXPLAINED, Case, CaseBlock
from quidnunc.properties.cases.telling import OF_EXPLANATION
from quidnunc.properties.search.rows import (
    Contradiction,
    RootCause,
    either,
    grouped_by_edit,
    note_contradiction,
    rows_of,
    sharing_explanations,
    sharing_readings,
    unexplained,
    without_withdrawn,
)

CLAUSE = "gs1.1/backoff.regraft"


def root(
    quirk: str, *also: str, clause: str = CLAUSE, kind: str = "replaced", reason: str = "R."
) -> RootCause:
    case = Case(
        reason=reason,
        claim="c",
        clause=clause,
        protocols="gossipsub-1.2",
        against="ours",
        quirk=quirk,
        blocks=(CaseBlock(()),),
    )
    return RootCause(clause, quirk, kind, "It says.", case, also)


def test_a_withdrawn_explanation_gives_way_to_the_next() -> None:
    rows = rows_of([root("idle-while-backing-off", "refusal-does-not-extend")])
    (found,) = without_withdrawn(rows, {"idle-while-backing-off"}).values()
    assert (found.quirk, found.also, found.case.quirk) == (
        "refusal-does-not-extend",
        (),
        "refusal-does-not-extend",
    )
    assert "does not extend" in found.says


def test_where_none_is_left_it_is_unexplained() -> None:
    (found,) = without_withdrawn(
        rows_of([root("idle-while-backing-off")]), {"idle-while-backing-off"}
    ).values()
    assert found.kind == "unexplained" and not found.case.quirk and found.clause == CLAUSE


def test_the_headline_of_what_nothing_explains_any_more_begins_with_what_the_router_does() -> None:
    act, note = "Does not send PRUNE t1 to a (gs1.1/backoff.regraft).", f"{OF_EXPLANATION}x/y: A sentence."
    explained = root("idle-while-backing-off")
    shown = evolve(explained, act=act, case=evolve(explained.case, notes=("A note.", note)))
    (found,) = without_withdrawn(rows_of([shown]), {"idle-while-backing-off"}).values()
    assert found.case.reason == f"{act} {UNEXPLAINED} Nearly: It says. Some runs contradict that."
    assert found.says == found.case.reason.removeprefix(act).strip()
    assert found.case.notes == ("A note.",)
    two = evolve(found, clause="gs1.0/mesh.members"), evolve(found, clause="gs1.0/join.fill")
    cut = "cut-at-d-high"
    (grouped,) = grouped_by_edit(rows_of(evolve(each, suspects=frozenset({cut})) for each in two)).values()
    assert grouped.case.reason.startswith(f"{act} {UNEXPLAINED} 2 findings are shown")


def test_a_reading_stays() -> None:
    rows = rows_of([root("unsubscribed-stays-in-mesh", kind="reading")])
    assert without_withdrawn(rows, {"unsubscribed-stays-in-mesh"}) == rows


def test_rows_with_an_explanation_in_common_are_one() -> None:
    one = root(
        "silent-prune-members", "sends-no-prune-to-mesh-when-it-leaves-topic", clause="gs1.0/leave.prune-each"
    )
    other = root(
        "sends-no-prune-to-mesh-when-it-leaves-topic",
        clause="gs1.0/leave.prune-each",
        reason="Longer reason.",
    )
    (found,) = sharing_explanations(rows_of([one, other])).values()
    assert found.quirk == "sends-no-prune-to-mesh-when-it-leaves-topic"


def test_a_reading_gives_way_to_what_explains_its_row_and_another() -> None:
    """So it does where it is one of the others there, too: it says less of those runs than the first one."""
    evicts, counts = "idontwant-evicts-oldest", "idontwant-cap-counts-rpcs"
    reading = evolve(root(evicts, counts, kind="reading"), leaves_open=frozenset({"gs1.0/relay.mesh"}))
    other = evolve(root(counts), leaves_open=frozenset({CLAUSE}))
    (found,) = sharing_explanations(rows_of([reading, other])).values()
    assert (found.quirk, found.leaves_open) == (counts, {CLAUSE, "gs1.0/relay.mesh"})
    both = rows_of([reading, evolve(other, also=(evicts,))])
    assert [row.quirk for row in sharing_explanations(both).values()] == [counts]
    alone = rows_of([evolve(reading, also=()), other])
    assert len(sharing_explanations(alone)) == 2, "nothing else explains its own"


def test_those_that_tie_are_told_until_one_is_withdrawn() -> None:
    names = ("idle-while-backing-off", "refusal-does-not-extend")
    edits = [edit_named(name, protocol_named("gossipsub-1.2")) for name in names]
    says = either(*edits)
    assert says.count("; or ") == 1 and all(edit.says[1:-1] in says for edit in edits)
    tied = evolve(root(*names), says=says, ties=names[1:])
    (kept,) = without_withdrawn(rows_of([tied]), {"silent-prune-members"}).values()
    assert kept.says == says
    (found,) = without_withdrawn(rows_of([tied]), {names[1]}).values()
    assert (found.quirk, found.says, found.ties) == (names[0], edits[0].says, ())


def test_the_case_that_excuses_least_and_breaks_the_sentence_of_its_cause_is_shown() -> None:
    plain = root("silent-prune-members", reason="A long reason, which nobody needs.")
    other = evolve(plain, case=evolve(plain.case, argument="gs1.0/relay.mesh (gossipsub-1.0): It is sent."))
    own = evolve(plain, case=evolve(plain.case, argument=f"{CLAUSE} (gossipsub-1.1): It is pruned."))
    leaning = evolve(own, case=evolve(own.case, as_built=("idle-while-backing-off",)))
    assert [*rows_of([leaning, other, own]).values()] == [own]
    assert [*rows_of([leaning, other]).values()] == [other]


def test_an_edit_of_several_rules_is_one_row_whatever_sentence_a_case_breaks() -> None:
    name = "everywhere-sees-no-backoff"
    rows = rows_of([root(name, clause="gs1.1/backoff.regraft"), root(name, clause="gs1.1/backoff.both-ends")])
    assert len(rows) == 2 and len(sharing_explanations(rows)) == 1


def test_what_rules_do_alike_makes_three_rows_one_and_not_two() -> None:
    wide = "everywhere-in-weighted-score-only-application"
    terms = ("topics", "ip-colocation", "behaviour-penalty")
    clauses = ("gs1.1/score.weights", "gs1.1/score.colocation", "gs1.1/score.behaviour")
    rows = [
        evolve(root(f"leaves-{term}-out-of-score", clause=clause), also=(wide,))
        for term, clause in zip(terms, clauses, strict=True)
    ]
    assert [row.quirk for row in sharing_explanations(rows_of(rows)).values()] == [wide]
    assert len(sharing_explanations(rows_of(rows[:2]))) == 2
    alone = evolve(rows[2], also=())
    assert len(sharing_explanations(rows_of([*rows[:2], alone]))) == 3
    named = root(wide, clause=clauses[2])
    assert [row.quirk for row in sharing_explanations(rows_of([*rows[:2], named])).values()] == [wide]
    assert len(sharing_explanations(rows_of([rows[0], named]))) == 2


def test_an_addition_is_one_row_whatever_sentence_it_breaks() -> None:
    clauses = ("gs1.0/heartbeat.fill", "gs1.1/outbound.fill")
    rows = rows_of(
        evolve(root("adds:echo", clause=clause, kind="addition"), leaves_open=frozenset({clause}))
        for clause in clauses
    )
    (found,) = sharing_explanations(rows).values()
    assert (found.quirk, found.leaves_open) == ("adds:echo", frozenset(clauses))


def test_rows_without_one_stay_apart() -> None:
    rows = rows_of(
        [
            root("silent-prune-members"),
            root("does-not-cut-mesh-to-d-at-heartbeat", clause="gs1.0/heartbeat.cut"),
        ]
    )
    assert sharing_explanations(rows) == rows


def test_what_one_edit_could_be_behind_is_one_row_that_says_so() -> None:
    cut, fill = "cut-to-d-d-as-one-more", "fill-to-d-d-as-one-more"
    first = evolve(unexplained(root("x")), suspects=frozenset({cut}))
    second = evolve(first, clause="gs1.0/heartbeat.fill", suspects=frozenset({cut, fill}))
    crash = evolve(first, quirk="crash:KeyError", clause="pubsub/rpc.any-combination")
    found = grouped_by_edit(rows_of([first, second, crash]))
    assert len(found) == 2
    assert any("a change in one rule could" in row.says for row in found.values())


def test_of_edits_that_could_be_behind_as_much_one_of_the_broken_sentence_is_told() -> None:
    suspects = frozenset({"application-one-less", "fill-to-d-d-as-one-more"})
    first = evolve(unexplained(root("x", clause="gs1.0/heartbeat.fill")), suspects=suspects)
    (row,) = grouped_by_edit(rows_of([first, evolve(first, clause="gs1.0/mesh.members")])).values()
    assert "“fill to d”" in row.says


def test_two_faults_of_one_rule_are_two_rows() -> None:
    first = evolve(unexplained(root("x")), suspects=frozenset({"cut-to-d-d-as-one-more"}))
    other = evolve(first, clause="gs1.1/outbound.keep", suspects=frozenset({"cut-to-d-d-as-d-high"}))
    assert len(grouped_by_edit(rows_of([first, other]))) == 2


def test_rules_that_read_the_same_thing_wrongly_are_one_row() -> None:
    rows = rows_of(
        [
            root("fill-to-d-sees-all-newest", clause="gs1.0/heartbeat.fill", reason="A longer reason."),
            root("build-mesh-sees-all-newest", clause="gs1.0/join.fill"),
            root("build-mesh-d-as-one-more", clause="gs1.0/join.fill"),
        ]
    )
    found = sharing_readings(rows)
    assert {quirk for _, quirk in found} == {"build-mesh-sees-all-newest", "build-mesh-d-as-one-more"}


def test_rows_that_become_one_have_the_cases_of_both() -> None:
    first = evolve(
        unexplained(root("x")), suspects=frozenset({"cut-to-d-d-as-one-more"}), seen_in=frozenset({"a"})
    )
    same = evolve(first, seen_in=frozenset({"b"}))
    other = evolve(first, clause="gs1.0/heartbeat.fill", seen_in=frozenset({"c"}))
    (found,) = grouped_by_edit(rows_of([first, same, other])).values()
    assert found.seen_in == {"a", "b", "c"}


def test_an_explanation_that_a_run_contradicts_is_said_beside_what_is_unexplained() -> None:
    (found,) = without_withdrawn(
        rows_of([root("idle-while-backing-off")]), {"idle-while-backing-off"}
    ).values()
    assert found.says.endswith("Nearly: It says. Some runs contradict that.")


def test_of_runs_that_contradict_an_explanation_the_shortest_is_told_whoever_found_it() -> None:
    name, runs = "idle-while-backing-off", [(7, "Seven."), (4, "Four."), (4, "Fourth.")]
    for order in permutations(runs):
        known: dict[str, Contradiction] = {}
        for told in order:
            note_contradiction(known, name, told)
        (found,) = without_withdrawn(rows_of([root(name)]), {name}, known).values()
        assert found.says.endswith("Nearly: It says. Four.") and found.case.reason == found.says


def test_a_reading_that_may_be_kept_at_times_is_not_contradicted() -> None:
    rows, name = rows_of([root("unsubscribed-stays-in-mesh", kind="reading")]), "unsubscribed-stays-in-mesh"
    assert without_withdrawn(rows, {name}, {name: (4, "Four.")}) == rows
