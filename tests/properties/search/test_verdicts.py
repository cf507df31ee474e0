"""From what a campaign found to verdicts, expectations and an exit status."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.model.errors import CaseError
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import Case, CaseBlock
from quidnunc.properties.claims.catalogue import claims_of
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.rows import RootCause
from quidnunc.properties.search.verdicts import (
    Expectation,
    ExpectationComparison,
    compare,
    exit_of,
    header_of,
    header_read,
    load_expectations,
    render_expectations,
    verdict_of_root,
    verdicts_of,
    without_case,
)

MUST, SHOULD, MAY = "gs1.1/backoff.regraft", "gs1.1/backoff.announce", "gs1.2/idontwant.sender-optional"


def root(clause: str = MUST, quirk: str = "refusal-does-not-extend", kind: str = "replaced") -> RootCause:
    case = Case(
        reason="R.",
        claim="c",
        clause=clause,
        protocols="gossipsub-1.2",
        against="ours",
        blocks=(CaseBlock(()),),
    )
    return RootCause(clause, quirk, kind, "It says.", case)


def test_what_a_reading_allows_in_one_run_and_not_in_others_is_undecided() -> None:
    """Mutant: another fault of the router refutes the reading, and what the reading allows fails."""
    plain = root(quirk="unexplained:missing", kind="unexplained")
    assert verdict_of_root(plain) == "fails"
    assert verdict_of_root(evolve(plain, allowed_by=("zero-backoff-is-none",))) == "undecided"
    assert ended(campaign(evolve(plain, allowed_by=("zero-backoff-is-none",)))) == 3


def campaign(*roots: RootCause, everything: bool = True) -> Campaign:
    """Of gossipsub-1.2, in which every claim applied once unless said otherwise."""
    made = Campaign("gossipsub-1.2", "ours", 0, version="1", runs=3)
    made.roots = {(r.clause, r.quirk): r for r in roots}
    if everything:
        claims = claims_of(protocol_named("gossipsub-1.2"))
        made.applied = Counter({clause: 1 for claim in claims for clause in claim.clauses})
        made.capabilities = frozenset().union(*(claim.needs for claim in claims))
    return made


def ended(made: Campaign, compared: ExpectationComparison | None = None, strict: bool = False) -> int:
    return exit_of(verdicts_of(made), made, compared, strict).code


def expectation(of: RootCause, case: str = "") -> Expectation:
    return Expectation(of.clause, of.quirk, "fails", "Known.", case=case)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (root(), "fails"),
        (root(SHOULD), "deviates"),
        (root(MAY), "deviates"),
        (root(kind="reading"), "observed"),
        (evolve(root(), holds_on_ours=False), "broken"),
    ],
)
def test_the_verdict_follows_the_clause(found: RootCause, verdict: str) -> None:
    assert verdict_of_root(found) == verdict


def test_a_claim_that_never_applied_is_not_green() -> None:
    verdicts = verdicts_of(campaign(everything=False))
    assert {v.verdict for v in verdicts} == {"inconclusive", "unsupported"}
    assert {v.verdict for v in verdicts_of(campaign())} == {"not-refuted"}


def test_a_finding_that_no_claim_rests_on_is_a_finding() -> None:
    (alone,) = (v for v in verdicts_of(campaign(root("dog/reset.one"))) if v.roots)
    assert (alone.claim.id, alone.verdict) == ("dog/reset.one", "fails")
    assert ended(campaign(root("dog/reset.one"))) == 1


def test_exit_statuses() -> None:
    assert ended(campaign()) == 0
    assert ended(campaign(root())) == 1
    assert ended(campaign(root(SHOULD))) == 0
    assert ended(campaign(root(SHOULD)), strict=True) == 1
    assert ended(campaign(everything=False)) == 3


def test_what_played_nothing_is_not_green_though_nothing_else_was_expected() -> None:
    as_expected = compare([], [], {})
    nothing = campaign(everything=False)
    assert ended(nothing, as_expected) == 3
    nothing.steps = 10
    assert ended(nothing, as_expected) == 0


def test_the_worse_status_comes_first() -> None:
    broken = campaign(root(), everything=False)
    broken.broken.append("a batch broke")
    assert ended(broken) == 1
    broken.roots.clear()
    assert ended(broken) == 4


def test_what_is_expected_does_not_fail_and_what_is_not_does() -> None:
    known, other = root(), root(quirk="regraft")
    as_expected = compare([known], [expectation(known)], {})
    assert as_expected.agrees and ended(campaign(known), as_expected) == 0
    surprise = compare([known, other], [expectation(known)], {})
    assert surprise.unexpected == (other,) and ended(campaign(known, other), surprise) == 1


def test_another_verdict_than_the_expected_one_is_a_difference() -> None:
    known = root()
    compared = compare([known], [evolve(expectation(known), verdict="observed")], {})
    assert not compared.agrees and not compared.met and not compared.unexpected
    assert [(e.verdict, r) for e, r in compared.otherwise] == [("observed", known)]
    assert ended(campaign(known), compared) == 1


@pytest.mark.parametrize(("outcome", "agrees"), [("same", True), ("fixed", False), ("different", False)])
def test_what_the_search_did_not_meet_is_replayed(outcome: str, agrees: bool) -> None:
    compared = compare([], [expectation(root(), case="a.case")], {"a.case": outcome})
    assert compared.agrees is agrees
    assert bool(compared.gone) is not agrees


def test_another_unexplained_fault_against_a_sentence_does_not_pass_for_the_expected_one() -> None:
    """Both have the name of what nothing explains; the case of the expected one tells that it is fixed."""
    other = root(quirk="unexplained:missing", kind="unexplained")
    known = expectation(other, case="a.case")
    assert compare([other], [known], {"a.case": "same"}).agrees
    swapped = compare([other], [known], {"a.case": "fixed"})
    assert (swapped.gone, swapped.unexpected) == ((known,), (other,))


def test_an_expected_unexplained_fault_that_shows_in_more_cases_of_the_suite_is_new() -> None:
    found = evolve(root(quirk="unexplained:missing", kind="unexplained"), seen_in=frozenset({"a", "b", "c"}))
    known = evolve(expectation(found, case="a.case"), seen_in=("b",))
    compared = compare([found], [known], {"a.case": "same"})
    assert (compared.met, compared.unexpected) == ((known,), (found,))
    assert compared.also_in == ((found, ("a", "c")),)
    assert ended(campaign(found), compared) == 1


@pytest.mark.parametrize("listed", [("a", "b", "c"), ("a", "b"), ()])
def test_fewer_cases_than_listed_and_entries_that_list_none_agree(listed: tuple[str, ...]) -> None:
    found = evolve(root(quirk="unexplained:missing", kind="unexplained"), seen_in=frozenset({"a", "b"}))
    assert compare([found], [evolve(expectation(found), seen_in=listed)], {}).agrees
    # A search has no such names.
    assert compare(
        [evolve(found, seen_in=frozenset())], [evolve(expectation(found), seen_in=listed)], {}
    ).agrees


def test_an_unexplained_entry_has_its_cases_and_says_what_the_router_does(tmp_path: Path) -> None:
    file, one = tmp_path / "expect.toml", root(quirk="unexplained:missing", kind="unexplained")
    found = evolve(one, seen_in=frozenset({"b", "a"}), case=evolve(one.case, reason="Forgets to answer."))
    file.write_text(render_expectations(campaign(), [(found, "")], [], {}), encoding="utf-8")
    (entry,) = load_expectations(file)
    assert (entry.seen_in, entry.reason) == (("a", "b"), "Forgets to answer.")
    # A search meets it and has no names: those of the suite stay.
    again = render_expectations(campaign(), [(evolve(found, seen_in=frozenset()), "")], [entry], {})
    assert again == file.read_text(encoding="utf-8")
    # What an edit explains is told by its name.
    explained = evolve(root(), seen_in=frozenset({"a"}))
    assert "seen_in" not in render_expectations(campaign(), [(explained, "")], [], {})


def test_the_reason_of_a_fault_that_is_fixed_is_not_that_of_another_with_its_name(tmp_path: Path) -> None:
    found = root(quirk="unexplained:missing", kind="unexplained")
    old = evolve(expectation(found, case="a.case"), link="issue 7", seen_in=("a",))
    text = render_expectations(campaign(), [(found, "b.case")], [old], {"a.case": "fixed"})
    assert 'reason = "R."' in text and "issue 7" not in text and "seen_in" not in text
    assert "issue 7" in render_expectations(campaign(), [(found, "b.case")], [old], {"a.case": "same"})


@pytest.mark.parametrize("wrong", ['"a"', "[1]"])
def test_the_cases_of_an_entry_are_a_list_of_names(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "expect.toml"
    text = render_expectations(campaign(), [(root(), "")], [], {})
    file.write_text(f"{text}seen_in = {wrong}\n", encoding="utf-8")
    with pytest.raises(CaseError, match="expected a list of names of the suite's cases"):
        load_expectations(file)


def test_an_addition_is_expected_under_whatever_sentence_it_is_found() -> None:
    one, other = (evolve(root(), quirk="adds:echo", kind="addition", clause=c) for c in (MUST, "gs1.0/a.b"))
    assert compare([one], [evolve(expectation(root()), clause=other.clause, cause="adds:echo")], {}).agrees
    assert compare([one], [evolve(expectation(root()), cause="adds:other")], {}).unexpected == (one,)


def test_what_was_not_met_and_has_no_case_is_said_to_be_so() -> None:
    compared = compare([], [expectation(root())], {})
    assert compared.agrees and len(compared.not_met) == 1


def test_expectations_are_read_as_they_are_written(tmp_path: Path) -> None:
    file = tmp_path / "expect.toml"
    old = Expectation(MUST, root().quirk, "fails", 'They call it "fine", in \\ words.', link="issue 7")
    file.write_text(render_expectations(campaign(root()), [(root(), "a.case")], [old], {}), encoding="utf-8")
    assert load_expectations(file) == (evolve(old, case="a.case"),)


def test_an_update_without_cases_keeps_those_that_were_there() -> None:
    """Only with its case can an expectation be found gone."""
    old = expectation(root(), case="a.case")
    assert 'case = "a.case"' in render_expectations(campaign(root()), [(root(), "")], [old], {})
    assert 'case = "b.case"' in render_expectations(campaign(root()), [(root(), "b.case")], [old], {})


def test_an_update_by_another_router_does_not_relabel_the_file() -> None:
    made = campaign(root())
    old = "# What is known of elsewhere 1.0 against gossipsub-1.1."
    text = render_expectations(made, [(root(), "")], [expectation(root())], {}, header_read(f"{old}\n\n"))
    assert text.splitlines()[0] == old
    made.version = "2.0"
    again = render_expectations(made, [], [], {}, header_of(made, "").replace("2.0", "1.0"))
    assert again.splitlines()[0] == header_of(made, "") and "2.0" in again
    assert header_read("[[expect]]\n") == ""


def test_entries_without_a_case_are_counted() -> None:
    assert without_case([expectation(root()), expectation(root(), case="a.case")]) == 1


def test_an_update_is_read_again_whatever_the_router_says_of_itself(tmp_path: Path) -> None:
    made = campaign(root())
    made.version = "v1.2-3-gabc\n"
    old = Expectation(MUST, root().quirk, "fails", "A bell \x07 and a\nline.")
    file = tmp_path / "expect.toml"
    file.write_text(render_expectations(made, [(root(), "")], [old], {}), encoding="utf-8")
    assert [e.reason for e in load_expectations(file)] == ["A bell   and a line."]


def test_a_folder_is_no_file_of_expectations(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="no regular file"):
        load_expectations(tmp_path)


def test_an_update_drops_what_is_gone_and_keeps_what_was_not_met() -> None:
    gone, kept = Expectation(MUST, "x", "fails", "R.", case="x.case"), Expectation(MUST, "y", "fails", "R.")
    text = render_expectations(campaign(), [], [gone, kept], {"x.case": "fixed"})
    assert 'cause = "y"' in text and 'cause = "x"' not in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[expect]]\nclause = 1", "expect 1: expected cause, verdict, reason, too"),
        ("[[expect]]\nclaus = 'x'", "expect 1: no field 'claus' (did you mean clause?)"),
        ("expect = ", "not TOML"),
        ("expect = 5", "expected tables [[expect]]"),
        ("expect = [5]", "expect 1: expected a table, got 5"),
        ("[[expects]]\nclause = 'x'", "nothing else, got expects"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "expect.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CaseError) as caught:
        load_expectations(file)
    assert str(file) in str(caught.value) and said in str(caught.value)


def test_all_errors_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "expect.toml"
    good = 'clause = "gs1.0/mesh.members"\ncause = "x"\nverdict = "fails"\nreason = "R."\n'
    bad = [good.replace("claus", "claws"), good.replace("fails", "fals"), good]
    file.write_text("".join(f"[[expect]]\n{entry}" for entry in bad), encoding="utf-8")
    with pytest.raises(CaseError) as caught:
        load_expectations(file)
    told = [line.removeprefix(str(file)) for line in str(caught.value).splitlines()]
    assert told == [
        ":2: expect 1: no field 'clawse' (did you mean clause?)",
        ":9: expect 2: no verdict 'fals' (did you mean fails?)",
    ]


def test_names_that_there_are_not_are_refused_with_the_nearest(tmp_path: Path) -> None:
    """With a typo in it an entry expects what cannot happen, and nobody is told."""
    file = tmp_path / "expect.toml"
    good = 'clause = "gs1.0/mesh.members"\ncause = "control-lists-shared"\nverdict = "fails"\nreason = "R."\n'
    unnamed = [good.replace("control-lists-shared", cause) for cause in ("crash 1", "unexplained:missing")]
    file.write_text("".join(f"[[expect]]\n{entry}\n" for entry in (good, *unnamed)), encoding="utf-8")
    assert len(load_expectations(file, ["gossipsub-1.2"])) == 3
    bad = good.replace("mesh.members", "mesh.membres")
    file.write_text(f"[[expect]]\n{good}\n[[expect]]\n{bad}", encoding="utf-8")
    with pytest.raises(CaseError) as caught:
        load_expectations(file)
    assert str(caught.value) == (
        f"{file}:8: expect 2: no clause 'gs1.0/mesh.membres' (did you mean gs1.0/mesh.members?); "
        "`quidnunc clauses` lists the clauses"
    )
    file.write_text(f"[[expect]]\n{good.replace('lists', 'list')}", encoding="utf-8")
    with pytest.raises(CaseError) as caught:
        load_expectations(file, ["gossipsub-1.2"])
    said = "gossipsub-1.2 has no edit 'control-list-shared'; did you mean control-lists-shared"
    assert str(caught.value).startswith(f"{file}:3: expect 1: {said}")


# -- what a departure hides --------------------------------------------------------------------------------


def said(made: Campaign, claim: str) -> tuple[str, str]:
    (verdict,) = (v for v in verdicts_of(made) if v.claim.id == claim)
    return verdict.verdict, verdict.reason


DELIVER = "floodsub/deliver.once"
CRASH = evolve(
    root("pubsub/rpc.any-combination", "crash:RuntimeError", "unexplained"), leaves_open=frozenset({DELIVER})
)


def test_a_crash_hides_the_claims_that_were_due_in_it() -> None:
    """Every signed message crashed the router, and `deliver.once` was said to be not refuted."""
    verdict, reason = said(campaign(CRASH), "deliver.once")
    assert (verdict, reason) == ("undecided", "hidden by pubsub/rpc.any-combination crash:RuntimeError")
    assert said(campaign(CRASH), "relay.once")[0] == "not-refuted"
    # It is not that the claim never applied: it did, and nobody saw how.
    never = campaign(CRASH)
    never.applied[DELIVER] = 0
    assert said(never, "deliver.once")[0] == "undecided"


def test_a_departure_that_was_only_counted_hides_its_claim() -> None:
    made = campaign()
    made.unfiled["unexplained:missing", DELIVER] = 3
    assert said(made, "deliver.once") == ("undecided", "hidden by unexplained:missing (3 not looked into)")


def test_an_explained_departure_hides_the_claim_it_was_judged_by() -> None:
    elsewhere = evolve(root(), leaves_open=frozenset({DELIVER}))
    assert said(campaign(elsewhere), "deliver.once")[0] == "undecided"
    assert said(campaign(elsewhere), "backoff.regraft-refused")[0] == "fails"
    # Under a reading that was observed, the router does what the text says.
    assert said(campaign(evolve(elsewhere, kind="reading")), "deliver.once")[0] == "not-refuted"


def test_a_departure_that_came_too_late_leaves_its_own_claim_undecided() -> None:
    made, late = campaign(), evolve(root(DELIVER, "pending:missing", "pending"), minimised=False)
    made.pending[late.clause, late.quirk] = late
    assert said(made, "deliver.once")[0] == "undecided"


def test_undecided_is_no_success() -> None:
    made = campaign()
    made.unfiled["unexplained:missing", DELIVER] = 1
    assert ended(made) == 3
    assert "undecided: deliver.once" in exit_of(verdicts_of(made), made, None, strict=False).why
    # Of what a router need not do, nothing has to be decided.
    made.unfiled.clear()
    made.unfiled["unexplained:missing", SHOULD] = 1
    assert said(made, "backoff.announced")[0] == "undecided"
    assert ended(made) == 0


def test_a_convention_is_observed() -> None:
    """The text limits the answers to IWANT, and leaves the number to common practice."""
    practice = root("gs1.1/iwant.retransmission", "unexplained:missing", "unexplained")
    assert verdict_of_root(practice) == "observed"
    assert ended(campaign(practice)) == 0


def test_an_expectations_file_with_old_names_agrees(tmp_path: Path) -> None:
    found = root(quirk="accepts-graft-inside-backoff", kind="dropped")
    old = Expectation(MUST, "without:while_backing_off", "fails", "Known.")
    file = tmp_path / "expect.toml"
    file.write_text(
        f'[[expect]]\nclause = "{old.clause}"\ncause = "{old.cause}"\nverdict = "fails"\nreason = "Known."\n'
    )
    expected = load_expectations(file, ["gossipsub-1.2"])
    assert [each.cause for each in expected] == [found.quirk]
    assert compare([found], expected, {}).agrees
    # Written again, the entry is one, under its name of today.
    text = render_expectations(campaign(found), [(found, "")], expected, {})
    assert text.count("[[expect]]") == 1 and found.quirk in text and old.cause not in text


def test_of_a_campaign_without_runs_nothing_is_known_of_the_driver_either() -> None:
    made = evolve(campaign(everything=False), runs=0)
    assert {(v.verdict, v.reason) for v in verdicts_of(made)} == {("inconclusive", "no run was played")}
