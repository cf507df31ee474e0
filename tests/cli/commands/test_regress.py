"""quidnunc diff and regress: text, JSON, Markdown, statuses and wrong usage."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from quidnunc.impl.wire.schemas_buf import BreakingChange, BufOpinion
from tests.cli.reports.test_pages import read
from tests.conftest import Command

PAIR = ("gossipsub-1.2-draft", "gossipsub-1.2")
MUTANTS = Path(__file__).parents[3] / "counterexamples" / "mutants"
CASE = "idontwant-ignored.case"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the folder of the kit, whose committed cases would all be replayed."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def committed(tmp_path: Path) -> Path:
    """Two committed cases, of which one comes out otherwise."""
    folder = tmp_path / "counterexamples"
    folder.mkdir()
    for name in (CASE, "iwant-uncapped.case"):
        shutil.copy(MUTANTS / name, folder)
    return folder


def test_the_page_has_each_difference(quidnunc: Command, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ran = quidnunc("regress", *PAIR, "--report", page)
    assert ran.code == 1 and ran.out.splitlines()[-1].endswith(f"--report {page}")
    text = page.read_text(encoding="utf-8")
    read_page = read(text)
    assert not read_page.open and len(read_page.ids) == len({*read_page.ids})
    assert {link[1:] for link in read_page.links if link.startswith("#")} <= {*read_page.ids}
    assert text.count("<article") == text.count('role="img"') == 3 and "exit 1: 3 undeclared" in text
    assert text.index("Not checked:") < text.index("<article"), "the summary comes first"
    assert text.count("<td>✖ no</td>") == 3, "none is declared"
    assert "<li><code>a: message m1 t1</code></li>" in text, "what only the draft allows"
    assert "MUST be skipped" in text and "every router got the message in 56 of 56 runs" in text


def test_diff_says_what_is_written_otherwise(quidnunc: Command) -> None:
    shown = quidnunc("diff", *PAIR)
    assert shown.code == 0
    assert "who_may_be_skipped -> who_said_idontwant" in shown.out
    assert "required bytes messageID" in shown.out
    assert shown.out.splitlines()[-1] == "again: quidnunc diff gossipsub-1.2-draft gossipsub-1.2"
    found = json.loads(quidnunc("diff", *PAIR, "--json").out)
    assert sorted(r["change"] for r in found["rules"]) == ["removed", "removed", "replaced"]
    assert len(found["clauses"]["removed"]) == 2 and found["wire"][0]["number"] == 1


def test_diff_tells_the_opinion_of_buf_or_that_there_is_none(
    quidnunc: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = BufOpinion((BreakingChange("FIELD_SAME_CARDINALITY", "a label"),), ())
    monkeypatch.setattr("quidnunc.commands.diff.opinion", lambda old, new: said)
    shown = quidnunc("diff", *PAIR)
    assert "of the wire format, by buf (forth: gossipsub-1.2-draft becomes gossipsub-1.2): 1" in shown.out
    assert "a label" in shown.out
    found = quidnunc("diff", *PAIR, "--json").data["buf"]
    assert found == {"to_new": [{"rule": "FIELD_SAME_CARDINALITY", "says": "a label"}], "to_old": []}
    monkeypatch.setattr("quidnunc.commands.diff.opinion", lambda old, new: None)
    monkeypatch.setattr("quidnunc.commands.diff.buf_program", lambda: None)
    assert "pip install '.[wire]'" in quidnunc("diff", *PAIR).out
    assert quidnunc("diff", *PAIR, "--json").data["buf"] is None


def test_regress_shows_the_trace_and_fails_where_nothing_is_declared(quidnunc: Command) -> None:
    shown = quidnunc("regress", *PAIR)
    assert shown.code == 1
    assert "- a: message m1 t1" in shown.out and "newly undescribed" in shown.out
    assert "1 of 2 lost" in shown.out and "undecodable" in shown.out
    (left,) = (line for line in shown.out.splitlines() if line.startswith("Not checked: "))
    assert "the proofs of `quidnunc prove`" in left and "no folder of them is here" in left
    found = json.loads(quidnunc("regress", *PAIR, "--json").out)
    [change] = found["changes"]
    assert change["direction"] == "newly-forbidden" and change["events"] <= 6 and not change["alone"]
    assert {c["clause"] for c in found["undescribed"]} == {
        "gs1.2-draft/ihave.instead-of-message",
        "gs1.2-draft/idontwant.on-ihave",
    }
    assert sorted((u["cause"], u["verdict"]) for u in found["undeclared"]) == [
        ("accepted/offer_instead", "newly-undescribed"),
        ("relay/who_said_idontwant", "newly-forbidden"),
        ("requested/tell_before", "newly-undescribed"),
    ]
    assert "idontwant.honoured" in {c["id"] for c in found["claims"]}


def test_that_no_committed_case_was_replayed_is_said(quidnunc: Command, tmp_path: Path) -> None:
    """The one that is there is of another protocol."""
    folder = tmp_path / "others"
    folder.mkdir()
    shutil.copy(MUTANTS / "send-twice.case", folder)
    shown = quidnunc("regress", *PAIR, "--cases", folder)
    assert "committed cases: none was replayed" in shown.out and "none have another outcome" not in shown.out


def test_a_declared_change_passes_and_one_that_is_gone_fails(quidnunc: Command, tmp_path: Path) -> None:
    path = str(tmp_path / "changes.toml")
    assert quidnunc("regress", *PAIR, "--expect", path, "--update-expect").code == 0
    assert quidnunc("regress", *PAIR, "--expect", path).code == 0
    gone = quidnunc("regress", PAIR[1], PAIR[1], "--expect", path)
    assert gone.code == 1 and "declared, but does not occur: relay/who_said_idontwant" in gone.out
    # A person's words stay.
    text = Path(path).read_text(encoding="utf-8")
    reason = next(line for line in text.splitlines() if line.startswith("reason"))
    Path(path).write_text(text.replace(reason, 'reason = "Ours."', 1), encoding="utf-8")
    assert quidnunc("regress", *PAIR, "--expect", path, "--update-expect").code == 0
    assert 'reason = "Ours."' in Path(path).read_text(encoding="utf-8")


def test_markdown_is_for_a_pull_request(quidnunc: Command, committed: Path) -> None:
    shown = quidnunc("regress", *PAIR, "--markdown")
    assert shown.code == 1 and shown.out.startswith("### What changes in behaviour")
    assert "| newly-forbidden |" in shown.out and "<details>" in shown.out
    assert "**committed cases, replayed under both:**" in shown.out
    assert "- 2 in counterexamples; 1 have another outcome" in shown.out
    assert (
        f"- counterexamples/{CASE} (ours:idontwant-ignored): {PAIR[0]}: holds; {PAIR[1]}: departs:"
        in shown.out
    )


def test_committed_cases_are_replayed_from_the_folder_that_is_named(
    quidnunc: Command, committed: Path
) -> None:
    other = committed.rename(committed.parent / "other")
    pair = ("gossipsub-1.2", "gossipsub-1.2+without:who_said_idontwant")
    shown = quidnunc("regress", *pair, "--walks", "1", "--cases", other, "--json")
    found = shown.data["committed"]
    assert found["replayed"] == 2 and not found["left_out"] and found["folder"] == str(other)
    assert [(Path(c["path"]).name, c["new"]) for c in found["changed"]] == [(CASE, "holds")]
    assert found["changed"][0]["old"] == "departs: unexpected Message"
    told = quidnunc("regress", *pair, "--walks", "1", "--cases", other).out
    assert "2 in " in told and f"{CASE} (ours:idontwant-ignored)" in told and f"--cases {other}" in told


def test_the_same_twice_says_that_nothing_was_searched(quidnunc: Command) -> None:
    shown = quidnunc("regress", PAIR[1], PAIR[1])
    assert shown.code == 0 and "nothing was searched" in shown.out and "equal" not in shown.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("diff", "gossipsub-9", "dog"), "no protocol"),
        (("diff", "gossipsub-1.2", "dog"), "family"),
        (("regress", *PAIR, "--walks", "0"), "--walks"),
        (("regress", *PAIR, "--update-expect"), "--expect FILE"),
        (("regress", *PAIR, "--markdown", "--json"), "exclude each other"),
        (("regress", *PAIR, "--expect", "no-such-file.toml"), "does not exist"),
        (("regress", *PAIR, "--cases", "no-such-folder"), "is not a folder"),
        (("regress", *PAIR, "--expect", "."), "`--update-expect` writes one"),
        (("regress", *PAIR, "--expect", ".", "--update-expect"), "--expect . is a folder, not a file"),
        (
            ("regress", *PAIR, "--expect", "/dev/null/x.toml", "--update-expect"),
            "cannot be written: ",
        ),
    ],
)
def test_wrong_usage_is_told(quidnunc: Command, arguments: tuple[str, ...], said: str) -> None:
    shown = quidnunc(*arguments)
    assert shown.code == 2 and said in shown.err


LOUD = """
from quidnunc.model.machine import protocol_named
from quidnunc.model.rules import rule

print("on import")

@rule("mine/loud")
def loud(r, g, choose):
    print("in a rule")

FORK = protocol_named("gossipsub-1.2").with_rule("unknown_topic", loud)
"""


@pytest.mark.parametrize("command", [("diff",), ("regress", "--walks", "1")])
def test_what_a_module_prints_is_no_result(
    quidnunc: Command, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """Kills: what a module prints on import, or in a rule, comes before the object."""
    name = f"loud_for_{command[0]}"
    (tmp_path / f"{name}.py").write_text(LOUD, encoding="utf-8")
    ran = quidnunc(command[0], "gossipsub-1.2", f"python:{name}:FORK", *command[1:], "--json")
    assert ran.data["new"] == f"python:{name}:FORK" and "on import" in ran.err
    assert ("in a rule" in ran.err) == (command[0] == "regress")


def test_a_wrong_side_is_told_in_plain_words(quidnunc: Command, tmp_path: Path) -> None:
    """Kills: of two values the last counts in silence; git's own words; a parameter that nothing reads."""
    twice = quidnunc("regress", PAIR[1], f"{PAIR[1]}+d=8+D=9")
    assert twice.code == 2 and "d is given 2 times" in twice.err
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    lost = quidnunc("diff", "nosuch@python:my_fork:FORK", PAIR[1])
    assert lost.code == 2 and "has no revision 'nosuch'" in lost.err and "rev-parse" not in lost.err
    unread = quidnunc("regress", "floodsub", "floodsub+d=8", "--walks", "1")
    assert "warning: No rule of floodsub reads d: to set it changes nothing." in unread.err


def test_a_budget_ends_it_and_names_what_is_left(quidnunc: Command) -> None:
    """Kills: the budget is not kept, or not a part of the command; what is left is not named."""
    assert quidnunc("regress", *PAIR, "--budget", "soon").code == 2
    ran = quidnunc("regress", "floodsub", "gossipsub-1.3", "--budget", "3s")
    assert ran.code in (1, 3) and "not compared to the end, because the time was up" in ran.out
    assert "more, --json lists all" in ran.out
    assert ran.out.splitlines()[-1] == "again: quidnunc regress floodsub gossipsub-1.3 --budget 3s"


def test_a_changed_parameter_has_the_clause_of_the_table_in_its_file(
    quidnunc: Command, tmp_path: Path
) -> None:
    """Kills: the file has no clause for a parameter; an entry without one is refused."""
    path, pair = tmp_path / "changes.toml", ("gossipsub-1.2", "gossipsub-1.2+prune_backoff_s=10")
    assert quidnunc("regress", *pair, "--expect", path, "--update-expect").code == 0
    text = path.read_text(encoding="utf-8")
    assert text.count('clause = "gs1.1/backoff.announce"') == text.count("[[expect]]") == 2
    path.write_text(text.replace('clause = "gs1.1/backoff.announce"\n', "", 1), encoding="utf-8")
    ran = quidnunc("regress", *pair, "--expect", path, "--json")
    assert ran.code == 0 and {each["clause"] for each in ran.data["changes"]} == {"gs1.1/backoff.announce"}
    assert {each["change"] for each in ran.data["cases"]} == {"parameter/prune_backoff_s"}
