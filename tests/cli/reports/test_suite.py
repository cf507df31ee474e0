"""What `quidnunc check --suite` says otherwise than a search: its verdicts, its exit status, its limits."""

from __future__ import annotations

import json

import pytest

from quidnunc.__main__ import main
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.verdicts import ExitStatus, verdicts_of
from quidnunc.properties.suite.edits import ShownEdits
from quidnunc.properties.suite.files import suite_of
from quidnunc.reports.check import not_checked
from quidnunc.reports.suite import not_run, not_seen, suite_exit, suite_json, unfinished_lines, word_of


def test_our_router_exits_with_zero_although_a_claim_never_applied(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check", "dog-adr", "--against", "ours", "--suite"]) == 0
    said = capsys.readouterr().out
    assert "20 passes, 1 not run" in said and "verdict: passes = " in said
    assert "mempool.malformed: it applied in no case before a departure" in said
    assert "a router without 7 rules" in said and "not-refuted" not in said


def test_a_planted_bug_fails_and_json_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "flood", "--against", "ours:echo-to-sender", "--suite", "--json"]) == 1
    suite = json.loads(capsys.readouterr().out)["suite"]
    assert suite["cases"] == suite["played"] == len(suite_of("flood"))
    assert "fails" in suite["verdicts"].values() and "not-refuted" not in suite["verdicts"].values()
    assert suite["not_seen"]["rules"]


def test_a_suite_of_which_nothing_was_played_does_not_pass() -> None:
    nothing = Campaign("flood", "somebody", 0)
    assert not_run(nothing, verdicts_of(nothing))[0] == "every claim: not one case was played"
    assert suite_exit(ExitStatus(0), nothing).code == 3
    assert suite_exit(ExitStatus(1, "claims fail"), nothing).code == 1
    assert suite_exit(ExitStatus(3), Campaign("flood", "somebody", 0, runs=1)).code == 0


def test_what_a_driver_lacks_is_counted_by_what_it_is() -> None:
    lean = Campaign("flood", "somebody", 0)
    lean.left_out += [
        "the suite's case flood/a, which needs: stall",
        "the suite's case flood/b, which needs: stall",
    ]
    verdicts = verdicts_of(lean)
    assert {word_of(v) for v in verdicts} == {"not run"}
    assert "2 cases: the driver lacks stall" in not_run(lean, verdicts)


def test_what_it_never_sent_is_said() -> None:
    lean = Campaign("gossipsub-1.2", "somebody", 0, sent={"IDontWant": False, "Graft": True})
    said = "IDONTWANT: the router was allowed to send some, and sent none"
    assert said in not_run(lean, verdicts_of(lean)) and said in not_checked(lean, verdicts_of(lean))


def test_what_is_undecided_is_named_with_what_hides_it() -> None:
    hiding = Campaign("flood", "somebody", 0, runs=1)
    hiding.applied["flood/send.once"] = 1
    hiding.unfiled["unexplained:missing", "flood/send.once"] = 2
    verdicts = verdicts_of(hiding)
    undecided = [v for v in verdicts if word_of(v) == "undecided"]
    assert undecided
    for each in undecided:
        line = f"{each.claim.id}: hidden by unexplained:missing (2 not looked into)"
        assert line in not_run(hiding, verdicts)
    end = suite_exit(ExitStatus(3), hiding, verdicts)
    assert end.code == 3 and end.why.startswith("undecided: ") and undecided[0].claim.id in end.why


def test_edits_that_no_case_shows_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    edits = ShownEdits(10, {"forward": ["sends nothing", "one more"]})
    assert edits.missed == 2 and edits.shown == 8
    monkeypatch.setattr("quidnunc.reports.suite.shown_edits", lambda name: edits)
    assert any("in 2 of the 10 small edits" in line for line in not_seen(Campaign("flood", "ours", 0)))


def test_a_protocol_whose_edits_nobody_tried_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = Campaign("flood", "ours", 0)
    assert not any("small edits were not tried" in line for line in not_seen(campaign))
    monkeypatch.setattr("quidnunc.reports.suite.shown_edits", lambda name: ShownEdits())
    assert any("small edits were not tried" in line for line in not_seen(campaign))


def test_what_the_time_was_up_for_is_counted_and_what_makes_it_whole_is_said() -> None:
    cut = Campaign("flood", "ours", 0, runs=2, not_played=["a", "b", "c"], not_explained=["d"])
    cases = len(suite_of("flood"))
    said = [f"3 of {cases} cases were not played: the time was up"]
    said += ["1 of the cases that depart was not explained: the time was up"]
    whole = "without a time limit, or with a longer --budget: quidnunc check ..."
    assert unfinished_lines([cut], "quidnunc check ...") == ["", *said, whole]
    assert unfinished_lines([cut, Campaign("dog", "ours", 0)], "")[1] == f"flood: {said[0]}"
    assert not unfinished_lines([Campaign("flood", "ours", 0, runs=2)], "")
    assert {*said} <= {*not_run(cut, verdicts_of(cut))} & {*not_checked(cut, verdicts_of(cut))}
    suite = suite_json(cut, verdicts_of(cut), "quidnunc check ...")["suite"]
    assert (suite["not_played"], suite["not_explained"]) == (["a", "b", "c"], ["d"])
    assert suite["without_limit"] == "quidnunc check ..."
    assert "without_limit" not in suite_json(Campaign("flood", "ours", 0, runs=2), (), "")["suite"]


def test_an_interrupted_suite_says_what_was_not_played() -> None:
    cut = Campaign("flood", "ours", 0, runs=2, interrupted=True, not_played=["a", "b", "c"])
    said = f"3 of {len(suite_of('flood'))} cases were not played: the suite was interrupted"
    assert unfinished_lines([cut], "quidnunc check ...") == [
        "",
        said,
        "to play and explain all of it: quidnunc check ...",
    ]
    assert said in not_run(cut, verdicts_of(cut))
    suite = suite_json(cut, verdicts_of(cut), "quidnunc check ...")["suite"]
    assert suite["not_played"] == ["a", "b", "c"] and "passes" not in suite["verdicts"].values()


def test_a_suite_whose_time_was_up_does_not_pass() -> None:
    for cut in ({"not_played": ["a"]}, {"not_explained": ["a"]}):
        end = suite_exit(ExitStatus(0), Campaign("flood", "ours", 0, runs=2, **cut))
        assert end.code == 3 and "the time was up" in end.why
        assert suite_exit(ExitStatus(3), Campaign("flood", "ours", 0, runs=2, **cut)).code == 3
        assert suite_exit(ExitStatus(1), Campaign("flood", "ours", 0, runs=2, **cut)).code == 1
