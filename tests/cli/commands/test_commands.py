"""Every command: its example, its text, its JSON, its exit status, and what it says of wrong usage."""

from __future__ import annotations

import argparse
import base64
import json
import shlex
from pathlib import Path

import pytest

from quidnunc.__main__ import COMMANDS, parser_of
from quidnunc.impl.ours.pubsub import open_ours
from quidnunc.impl.seam.requests import REQUESTS
from quidnunc.impl.seam.sidecar_json import config_of
from quidnunc.model.events import Sent
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.rpc import Subscribe
from quidnunc.output import given_options
from quidnunc.properties.cases.export import plain, vector
from quidnunc.properties.cases.file import load, parse
from quidnunc.properties.documents.clauses import load as clauses
from tests.conftest import Command

RELEASE_CASE = next(
    Path(__file__).parents[3].glob("counterexamples/routers/py-libp2p/older/gs1.0.fanout*.case")
)
"""It names py-libp2p@0.2.8."""

CASE = """\
A mesh of D_high members is cut.

format: 1
claim: mesh.ceiling
clause: gs1.0/heartbeat.cut
protocol: gossipsub-1.2
against: {against}
status: {status}
quirk: cut-at-d-high
parameters: D=4 D_low=3 D_high=6 D_score=2 D_out=1

connect a..f /meshsub/1.2.0
join t1
a..f: graft t1
advance 500ms
----
+ a,b: prune t1 backoff=60
"""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """An open case of a planted departure of ours."""
    path = tmp_path / "cut.case"
    path.write_text(CASE.format(against="ours:cut-at-d-high", status="open"), encoding="utf-8")
    return path


# -- all of them --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_that_parses(quidnunc: Command, name: str) -> None:
    shown = quidnunc(name, "--help")
    assert shown.code == 0
    examples = [line.strip() for line in shown.out.splitlines() if line.strip().startswith("quidnunc ")]
    assert examples
    parser = parser_of(*COMMANDS)
    shown_for = [parser.parse_args(shlex.split(e.split(" > ")[0])[1:]).command for e in examples]
    assert name in shown_for


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("check nosuch --against ours", "unknown protocol 'nosuch'"),
        ("check gossipsub-1.3x --against ours", "did you mean gossipsub-1.3?"),
        ("check dog --against ours --claims havetx.repyl", "did you mean havetx.reply?"),
        ("check dog --against pylibp2p", "did you mean py-libp2p?"),
        ("check auto --against pylibp2p", "did you mean py-libp2p?"),
        ("diff gossipsub-1.2 gossipsub-13", "did you mean gossipsub-1.3?"),
        ("explore mesh-lnk", "did you mean mesh-link?"),
        ("prove mesh-lnk", "did you mean mesh-link?"),
        ("replay fil", "did you mean file?"),
        ("report fil", "did you mean file?"),
        ("check dog --against nobody", "no router 'nobody'"),
        ("check dog --against rust-libp2p", "no adapter yet"),
        ("check dog --against ours:nosuch", "no mutant 'nosuch'"),
        ("check dog --against ours --runs 0", "--runs must be 1 or more"),
        ("check dog --against ours --budget soon", "invalid duration 'soon': write 90s"),
        ("check dog --against ours --budget 0s", "invalid budget '0s': nothing can be tried in no time"),
        ("check dog --against ours --suite --budget 0s", "invalid budget '0s'"),
        (
            "check dog --against ours --suite --runs 5",
            "--suite plays fixed cases, and --runs is for a search",
        ),
        ("matrix dog --against ours --suite --runs 5 -o x", "--suite plays fixed cases"),
        ("check dog --against ours --update-expect", "needs --expect FILE"),
        ("check dog --against ours --expect . --update-expect", "--expect . is a folder"),
        ("check dog --against ours --expect .", ".: is no regular file"),
        ("check dog --against ours --cases file", "--cases file is not a folder; name another"),
        ("check dog --against ours --cases file/x", "cannot be written: "),
        ("check dog --against ours --record .", "--record . is a folder"),
        ("check gossipsub-1.2 --against ours --suite --documented go-libp2p-pubsub", "needs --dialect"),
        ("check dog --against ours --expect nosuch.toml", "--update-expect writes it"),
        ("check dog --against ours --claims mesh.*", "selects nothing"),
        ("check dog", "--against"),
        ("replay nosuch.case", "does not exist"),
        (
            "check dog --against ours --against ours",
            "--against is given twice; `quidnunc matrix` tests several",
        ),
        ("replay .", "contains no .case file"),
        ("doctor nobody", "no router 'nobody'"),
        ("doctor ours --protocol gossip", "unknown protocol 'gossip'"),
        ("suite gossipsub", "did you mean gossipsub-1."),
        ("clauses gossipsub-9", "unknown protocol 'gossipsub-9'"),
        ("explain gs1.1/backof.regraft", "did you mean gs1.1/backoff.regraft?"),
        ("explain nosuch.case", "does not exist"),
        ("nosuch", "no command 'nosuch'"),
        ("chek", "no command 'chek' (did you mean check?)"),
    ],
)
def test_wrong_usage_names_the_thing(
    quidnunc: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    ran = quidnunc(*shlex.split(command))
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert not ran.out


@pytest.mark.parametrize("router", ["exec:nosuchcommand", "python:nosuchmodule:open_it"])
def test_a_driver_that_cannot_be_opened_is_broken(quidnunc: Command, router: str) -> None:
    ran = quidnunc("check", "floodsub", "--against", router, "--runs", "1")
    assert ran.code == 4
    assert router in ran.err


def test_a_fault_of_the_tool_is_no_failure_of_a_router(
    quidnunc: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(options: object) -> int:
        raise RuntimeError("a slip")

    monkeypatch.setattr("quidnunc.commands.routers.run", broken)
    ran = quidnunc("routers")
    assert ran.code == 4
    assert "RuntimeError: a slip" in ran.err and "a bug in quidnunc" in ran.err


def test_a_driver_that_ends_the_process_does_not(
    quidnunc: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "    made = open_ours(config)\n    made.join = lambda topic: exit(0)\n    return made\n"
    opened = "from quidnunc.impl.ours.pubsub import open_ours\n\n\ndef it(config):\n"
    (tmp_path / "leaves.py").write_text(opened + source)
    monkeypatch.chdir(tmp_path)
    said = "python:leaves:it: at request join: SystemExit: 0 (leaves.py:6)"
    ran = quidnunc("check", "floodsub", "--suite", "--against", "python:leaves:it")
    assert ran.code == 4 and f"exit 4: {said}" in ran.out and "nothing was played" in ran.out
    ran = quidnunc("doctor", "--protocol", "floodsub", "python:leaves:it")
    assert (ran.code, ran.out) == (4, "") and said in ran.err


# -- tables -------------------------------------------------------------------------------------------------


def test_routers(quidnunc: Command) -> None:
    listed = {r["name"]: r for r in quidnunc("routers", "--json").data["routers"]}
    assert listed["ours"]["available"] and listed["ours"]["kind"] == "ours"
    assert listed["ours:cut-at-d-high"]["kind"] == "mutant"
    assert not listed["rust-libp2p"]["available"] and listed["rust-libp2p"]["reason"]
    assert set(listed["ours"]) == {"name", "kind", "version", "available", "reason"}
    text = quidnunc("routers")
    assert "py-libp2p" in text.out and "ours:cut-at-d-high" not in text.out
    assert "ours:cut-at-d-high" in quidnunc("routers", "--all").out


@pytest.fixture
def nothing_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIDNUNC_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("nothing_built")
def test_releases_that_can_be_built(quidnunc: Command) -> None:
    listed = {r["name"]: r for r in quidnunc("routers", "--json").data["routers"]}
    release = listed["py-libp2p@0.2.8"]
    assert (release["kind"], release["version"], release["available"]) == ("release", "0.2.8", False)
    assert release["reason"].endswith("to build it: quidnunc routers build py-libp2p@0.2.8")
    assert "releases that can be built" in quidnunc("routers").out
    for words, said in (
        (("build",), "name a release"),
        (("build", "py-libp2p@9"), "no release '9' of py-libp2p"),
        (("build", "ours"), "'ours' cannot be built"),
    ):
        ran = quidnunc("routers", *words)
        assert ran.code == 2 and said in ran.err


@pytest.mark.usefixtures("nothing_built")
def test_a_release_that_is_not_built_is_never_built_unasked(quidnunc: Command, tmp_path: Path) -> None:
    build = "to build it: quidnunc routers build py-libp2p@0.2.8"
    for words in (
        ("check", "gossipsub-1.0", "--against", "py-libp2p@0.2.8"),
        ("check", "auto", "--against", "py-libp2p@0.2.8"),
        ("doctor", "py-libp2p@0.2.8"),
        ("replay", str(RELEASE_CASE), "--against", "py-libp2p@0.2.8"),
    ):
        ran = quidnunc(*words)
        assert ran.code == 2 and build in ran.err
    ran = quidnunc("replay", str(RELEASE_CASE))
    assert (
        ran.code == 3 and f"py-libp2p@0.2.8 is not built here; {build}" in ran.out and "1 skipped" in ran.out
    )
    assert not (tmp_path / "cache").exists()


def test_clauses(quidnunc: Command) -> None:
    rows = {c["id"]: c for c in quidnunc("clauses", "--json").data["clauses"]}
    assert set(rows) == set(clauses())
    regraft = rows["gs1.1/backoff.regraft"]
    assert regraft["status"] == "ruled" and regraft["protocol"] == "gossipsub-1.1"
    (rule,) = regraft["rules"]
    assert rule.startswith("model/pubsub/mesh.py:") and rule.endswith(" while_backing_off")
    assert "backoff.regraft-refused" in regraft["claims"] and regraft["mutants"]
    for row in rows.values():
        assert row["status"] in ("ruled", "by-construction", "exception", "not-modelled")
        assert row["reason"] or row["status"] not in ("exception", "not-modelled")


def test_clauses_of_one_protocol_leave_out_what_a_later_version_replaced(quidnunc: Command) -> None:
    newer = {c["id"] for c in quidnunc("clauses", "gossipsub-1.1", "--json").data["clauses"]}
    older = {c["id"] for c in quidnunc("clauses", "gossipsub-1.0", "--json").data["clauses"]}
    assert "gs1.0/gossip.targets" in older
    assert "gs1.1/backoff.regraft" in newer - older
    assert not any(id.startswith("dog/") for id in newer)


def test_uncovered_clauses_say_what_is_missing(quidnunc: Command) -> None:
    rows = quidnunc("clauses", "--uncovered", "--json").data["clauses"]
    assert rows
    assert all(row["lacks"] or row["status"] == "not-modelled" for row in rows)
    shown = quidnunc("clauses", "--uncovered").out
    bare = quidnunc("clauses", "--json").data["coverage"]["without_mutant"]
    known = {row["id"]: row for row in quidnunc("clauses", "--json").data["clauses"]}
    assert "pubsub/rpc.framing" in bare and all(not known[c]["mutants"] and known[c]["held"] for c in bare)
    assert f"because none is wanted: {len(bare)}\n" in shown and "\n  pubsub/rpc.framing\n" in shown
    assert f"; {len(bare)} of these have no planted bug\n" in shown
    assert "what is missing" in shown and shown.splitlines()[-1] == "again: quidnunc clauses --uncovered"


def test_a_clause_is_explained(quidnunc: Command) -> None:
    shown = quidnunc("explain", "gs1.1/backoff.regraft").out
    for expected in (
        "the algorithm does",
        "quote:",
        "model/pubsub/mesh.py:",
        "backoff.regraft-refused",
        "refusal-does-not-extend",
    ):
        assert expected in shown
    assert shown.splitlines()[-1] == "again: quidnunc explain gs1.1/backoff.regraft"
    assert "MUST" not in shown.partition("quote:")[0]


@pytest.mark.parametrize(
    ("what", "kind", "said"),
    [
        ("backoff.regraft-refused", "claim", "gs1.1/backoff.regraft"),
        ("cut-at-d-high", "quirk", "gs1.0/heartbeat.cut"),
        ("while_backing_off", "rule", "gs1.1/backoff.regraft"),
        ("floodsub/the_forwarder", "case", "floodsub/relay.not-back"),
        ("idontwant-not-honoured", "quirk", "gs1.2/idontwant.skip"),
        ("one-inbox", "edit", "dog/reset.none"),
        ("later:unknown_topic", "edit", "reordered"),
        ("P-1", "statement", "pool.without-repeats"),
        ("pool.without-repeats", "statement", "P-1"),
        ("dog-controller.idle", "line of prove", "dog/controller.idle"),
        ("gs1.1/score.colocation", "clause", "neighbours"),
        ("flood/pool.no-repeats", "clause", "pool.without-repeats"),
        ("dog/controller.idle", "clause", "dog-controller.idle"),
        ("dog-proposed", "protocol", "quidnunc clauses dog-proposed"),
        ("dog-cut-off", "network of prove", "quidnunc prove dog-cut-off"),
    ],
)
def test_explained_by_name(quidnunc: Command, what: str, kind: str, said: str) -> None:
    found = quidnunc("explain", what, "--json").data
    assert found["kind"] == kind
    assert said in json.dumps(found)


def test_renamed_names_are_listed(quidnunc: Command) -> None:
    rows = quidnunc("explain", "--renamed", "--json").data["renamed"]
    assert {"kind": "statement", "old": "P-1", "new": "pool.without-repeats"} in rows
    assert "pool.without-repeats" in quidnunc("explain", "--renamed").out
    assert quidnunc("explain").code == 2
    rows = quidnunc("explain", "--renamed", "P-4", "--json").data["renamed"]
    assert rows == [{"kind": "statement", "old": "P-4", "new": "routes.change-one-at-a-time"}]
    assert quidnunc("explain", "--renamed", "nothing").code == 2


def test_a_clause_tells_which_texts_of_dog_read_it_otherwise(quidnunc: Command) -> None:
    rows = quidnunc("explain", "dog/reset.one", "--json").data["read_otherwise_by"]
    says = "Enables every route to the sender of a ResetRoute. (resets-all)"
    assert rows == [f"dog-adr: {says}", f"dog-adr-prose: {says}"]
    assert "read otherwise by" not in quidnunc("explain", "dog/reset.own-target").out


def test_a_statement_is_shown_with_its_sentence(quidnunc: Command) -> None:
    rows = quidnunc("explain", "P-13", "--json").data["what_the_text_says"]
    assert len(rows) == 1 and "if the redundancy is too high." in rows[0] and "TryAddTx" in rows[0]
    assert quidnunc("explain", "P-22", "--json").data["what_the_text_says"] == ["ours; no sentence"]


def test_an_old_name_is_explained_by_the_new_one(quidnunc: Command) -> None:
    shown = quidnunc("explain", "P-4").out
    assert shown.startswith("statement routes.change-one-at-a-time (once called P-4)\n")
    assert "dog: not refuted: 180 runs" in shown and "page: docs/results/dog-statements.md" in shown
    cases = quidnunc("explain", "havetx.one-in-flight", "--json").data["cases"]
    assert cases == ["counterexamples/networks/havetx.one-in-flight.dog.case"]


def test_a_case_is_explained(quidnunc: Command, case: Path) -> None:
    shown = quidnunc("explain", case).out
    assert "Cuts its mesh at D_high, not above it." in shown
    assert CASE.split("\n\n")[-1].strip() in shown


# -- suite --------------------------------------------------------------------------------------------------


def test_the_suite_is_listed(quidnunc: Command) -> None:
    rows = quidnunc("suite", "floodsub", "--json").data["cases"]
    rules = {r.name for _, r in PROTOCOLS["floodsub"].rules()}
    assert rows and {row["rule"] for row in rows} <= rules
    assert "the_forwarder" in quidnunc("suite", "floodsub").out


def test_an_exported_case_can_be_played_without_the_kit(quidnunc: Command) -> None:
    """Its requests, sent to our router as a sidecar would get them, lead to what it says they oblige to."""
    exported = quidnunc("suite", "floodsub", "--emit", "json").data
    assert exported["schema"] == 1 and exported["suite_version"] == 1
    (one,) = (c for c in exported["cases"] if c["rule"] == "the_forwarder")
    driver = open_ours(config_of(one["init"]))
    told = []
    for step in one["steps"]:
        assert not step["choices"] and all(permit["must"] for permit in step["allowed"])
        replies = [REQUESTS[request["op"]](driver, request) for request in step["requests"]]
        sent = sorted(peer for reply in replies for peer, _, _ in reply.out)
        due = [permit["output"] for permit in step["allowed"]]
        assert sent == sorted(output["peer"] for output in due if output["is"] == "Sent")
        assert sum(len(r.delivered) for r in replies) == sum(output["is"] == "Delivered" for output in due)
        told += due
    assert told


def test_choices_are_exported_with_their_bounds() -> None:
    text = CASE.format(against="any", status="suite").replace("+ a,b", "  a,b")
    steps = vector(parse(text))["steps"]
    joined = next(s for s in steps if s["event"] == "join t1")
    assert [r["op"] for r in joined["requests"]] == ["join"]
    assert {p["text"] for p in joined["allowed"]} >= {f"{peer}: subscribe t1" for peer in "abcdef"}
    grafted = [s for s in steps if s["event"].endswith("graft t1")]
    assert len(grafted) == 6, "a burst is one step per peer"
    (request,) = grafted[0]["requests"]
    assert base64.b64decode(request["data"])


def test_values_are_plain() -> None:
    assert plain(Sent(3, Subscribe("t1"))) == {
        "is": "Sent",
        "peer": 3,
        "part": {"is": "Subscribe", "topic": "t1", "requests": False, "supports": False},
    }
    assert plain(frozenset({2, 1})) == [1, 2]


# -- replay -------------------------------------------------------------------------------------------------


def test_replay_departs_as_recorded(quidnunc: Command, case: Path) -> None:
    ran = quidnunc("replay", case)
    assert ran.code == 1
    assert f"{case} against ours:cut-at-d-high: same" in ran.out
    assert ran.out.splitlines()[-1] == f"again: quidnunc replay {case}"


def test_replay_of_a_repaired_router(quidnunc: Command, case: Path) -> None:
    ran = quidnunc("replay", case, "--against", "ours", "--json")
    assert ran.code == 0
    (replayed,) = ran.data["replays"]
    assert (replayed["outcome"], replayed["departs"]) == ("fixed", False)


def test_replay_of_a_folder(quidnunc: Command, case: Path) -> None:
    held = case.with_name("held.case")
    held.write_text(CASE.format(against="any", status="suite").replace("+ a,b", "  a,b"), encoding="utf-8")
    ran = quidnunc("replay", case.parent, "--json")
    assert ran.code == 1
    assert sorted(r["outcome"] for r in ran.data["replays"]) == ["holds", "same"]


def test_replay_by_another_protocol(quidnunc: Command, case: Path) -> None:
    assert quidnunc("replay", case, "--protocol", "gossipsub-1.1").code == 1
    wrong = quidnunc("replay", case, "--protocol", "dog")
    assert wrong.code == 2 and "mempool" not in wrong.out and "is of a pubsub protocol" in wrong.err


def test_rewriting_is_idempotent(quidnunc: Command, case: Path) -> None:
    written = case.read_text(encoding="utf-8").replace("+ a,b: prune t1 backoff=60", "+ c: graft t1")
    case.write_text(written, encoding="utf-8")
    assert quidnunc("replay", case, "--rewrite").code == 1
    once = case.read_text(encoding="utf-8")
    assert once != written and "prune t1 backoff=60" in once
    assert not quidnunc("replay", case, "--rewrite", "--json").data["replays"][0]["rewritten"]
    assert case.read_text(encoding="utf-8") == once
    assert load(case).quirk == "cut-at-d-high"


def test_rewriting_from_another_router_is_refused(quidnunc: Command, case: Path) -> None:
    before = case.read_text(encoding="utf-8")
    ran = quidnunc("replay", case, "--rewrite", "--against", "ours")
    assert ran.code == 2 and "would write what another" in ran.err
    assert case.read_text(encoding="utf-8") == before


def test_a_case_as_data(quidnunc: Command, case: Path) -> None:
    (replayed,) = quidnunc("replay", case, "--emit", "json").data["replays"]
    events = [e["text"] for block in replayed["case"]["blocks"] for e in block["events"]]
    assert events[-1] == "advance 500ms"
    assert replayed["case"]["parameters"]["d_high"] == 6


def test_a_root_cause_that_nobody_knows_is_wrong_usage(quidnunc: Command, case: Path) -> None:
    """Else any departure at that event would pass for the recorded one."""
    text = case.read_text(encoding="utf-8").replace("quirk: cut-at-d-high", "quirk: cut-at-d-hihg")
    case.write_text(text, encoding="utf-8")
    ran = quidnunc("replay", case)
    assert ran.code == 2
    assert f"{case}:9: " in ran.err and "no edit 'cut-at-d-hihg'" in ran.err


def test_a_case_that_does_not_read_is_wrong_usage(quidnunc: Command, case: Path) -> None:
    case.write_text(case.read_text(encoding="utf-8").replace("join t1", "jion t1"), encoding="utf-8")
    ran = quidnunc("replay", case)
    assert ran.code == 2
    assert f"{case}:13: expected an event" in ran.err


# -- check and doctor ---------------------------------------------------------------------------------------


def test_check_by_the_suite(quidnunc: Command) -> None:
    ran = quidnunc("check", "floodsub", "--against", "ours", "--suite", "--json")
    assert ran.code == 0, ran.out
    keys = {
        "schema", "protocols", "against", "router_version", "tool_version", "suite_version", "spec_revisions",
        "profile", "parameters", "seed", "runs", "steps", "claims", "root_causes", "not_checked",
    }  # fmt: skip
    assert keys <= set(ran.data)
    for claim in ran.data["claims"]:
        assert set(claim) == {
            "id", "protocol", "clause", "level", "why", "keywords", "bases", "verdict", "reason", "leans_on",
            "applied", "case", "events", "replay"
        }  # fmt: skip
    assert ran.data["spec_revisions"]["pubsub"] == "r3"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("check", "floodsub", "--against", "ours", "--budgt", "5s"),
            "(did you mean --budget?); `quidnunc check",
        ),
        (
            ("replay", "x.case", "--againts=ours"),
            "replay takes no option '--againts=ours' (did you mean --against?)",
        ),
        (
            ("diff", "floodsub", "gossipsub-1.0", "more"),
            "diff takes no argument 'more'; `quidnunc diff --help`",
        ),
    ],
)
def test_an_option_that_there_is_not_is_refused_with_the_nearest(
    quidnunc: Command, words: tuple[str, ...], said: str
) -> None:
    ran = quidnunc(*words)
    assert ran.code == 2 and said in ran.err


def test_what_is_recorded_is_recorded_again(quidnunc: Command, tmp_path: Path) -> None:
    check = ("check", "floodsub", "--against", "ours", "--runs", "1", "--seed", "0")
    ran = quidnunc(*check, "--record", tmp_path / "x.trace")
    assert ran.out.splitlines()[-1] == f"again: quidnunc {shlex.join(check)} --record {tmp_path / 'x.trace'}"


def test_check_finds_files_and_tells(quidnunc: Command, tmp_path: Path) -> None:
    check = ("check", "gossipsub-1.2", "--against", "ours:echo", "--suite")
    ran = quidnunc(*check, "--cases", tmp_path, "--verbose")
    assert ran.code == 1
    first, *_, last = ran.out.splitlines()
    assert first.startswith("gossipsub-1.2 against ours:echo")
    assert last == f"again: quidnunc {shlex.join((*check, '--cases', str(tmp_path)))}"
    assert "not run, or not decided:" in ran.out
    files = sorted(tmp_path.glob("*.case"))
    assert files
    for file in files:
        assert f"quidnunc replay {file}" in ran.out
        assert quidnunc("replay", file).code == 1
        assert quidnunc("replay", file, "--against", "ours").code == 0


EXTRA = """
from quidnunc.impl.routers import open_router


def open_it(config):
    # Its additions are another router's.
    return open_router("ours:echo" if config.extras else "ours", config)
"""


@pytest.mark.parametrize("how", [("--suite",), ("--runs", "10", "--workers", "1")], ids=["suite", "search"])
def test_the_router_is_tested_as_shipped_and_so_are_its_cases(
    quidnunc_apart: Command, tmp_path: Path, how: tuple[str, ...]
) -> None:
    (tmp_path / "with_extras.py").write_text(EXTRA, encoding="utf-8")
    check = ("check", "floodsub", "--against", "python:with_extras:open_it", *how)
    assert quidnunc_apart(*check, "--profile", "spec", cwd=tmp_path).code == 0
    assert quidnunc_apart(*check, "--cases", "found", cwd=tmp_path).code == 1
    files = sorted((tmp_path / "found").glob("*.case"))
    assert files and all("\nprofile: shipped\n" in file.read_text(encoding="utf-8") for file in files)
    words = "--suite" if how[0] == "--suite" else "--runs 10 --seed 0"
    assert all(f"--against python {words}" in load(file).found_by for file in files)
    # No file may start the module; the user may.
    against = ("--against", "python:with_extras:open_it")
    for named, outcome in (((), "skipped"), (against, "same")):
        replayed = quidnunc_apart("replay", "found", *named, "--json", cwd=tmp_path)
        assert [r["outcome"] for r in replayed.data["replays"]] == [outcome] * len(files)
    by_spec = quidnunc_apart("replay", "found", *against, "--profile", "spec", "--json", cwd=tmp_path)
    assert [r["outcome"] for r in by_spec.data["replays"]] == ["fixed"] * len(files)


def test_check_of_all_that_a_router_speaks(quidnunc: Command) -> None:
    ran = quidnunc("check", "auto", "--against", "ours", "--suite", "--json")
    found = [report["protocols"] for report in ran.data["reports"]]
    assert ["floodsub"] in found and ["dog"] in found and ["gossipsub-1.2-draft"] not in found


def test_claims_are_chosen_by_name_or_clause(quidnunc: Command) -> None:
    for pattern in ("relay.not-back", "floodsub/relay.not-*"):
        ran = quidnunc("check", "floodsub", "--against", "ours", "--suite", "--claims", pattern, "--json")
        assert [c["id"] for c in ran.data["claims"]] == ["relay.not-back"]


def test_root_causes_outside_the_claims_are_named(quidnunc: Command) -> None:
    asked = ("check", "gossipsub-1.2", "--against", "ours:graft-not-taken", "--runs", "3", "--workers", "1")
    narrow, whole = quidnunc(*asked, "--claims", "backoff.*", "--verbose"), quidnunc(*asked)
    assert "1 root cause outside --claims: not counted" in narrow.out
    assert "exit 1" not in narrow.out and "the algorithm does" in narrow.out
    assert "no counterexample in 3 runs" in narrow.out
    assert whole.code == 1 and "outside --claims" not in whole.out
    assert "1 root cause (1 fails):" in whole.out


def test_a_mutant_is_explained(quidnunc: Command) -> None:
    told = quidnunc("explain", "ours:graft-not-taken", "--json").data
    assert told["kind"] == "mutant" and told["clause"] == "gs1.0/graft.accept"
    assert told["claim_expected"] == "graft.accepted"
    assert (Path(__file__).parents[3] / told["file"]).is_file()


def test_a_clause_without_its_prefix_is_suggested(quidnunc: Command) -> None:
    ran = quidnunc("explain", "backoff.regraft")
    assert ran.code == 2 and "did you mean gs1.1/backoff.regraft?" in ran.err


def test_the_same_seed_gives_the_same_table(quidnunc_apart: Command, tmp_path: Path) -> None:
    arguments = ("check", "floodsub", "--against", "ours", "--runs", "8", "--seed", "5", "--json")
    first, second = (quidnunc_apart(*arguments, cwd=tmp_path) for _ in range(2))
    assert first.data == second.data
    assert first.data["runs"] >= 8


def test_doctor(quidnunc: Command) -> None:
    ran = quidnunc("doctor", "ours", "--protocol", "floodsub", "--json")
    assert ran.code in (0, 3)
    (examined,) = ran.data["protocols"]
    assert not examined["lacks"] or "verdict" not in examined["lacks"]
    controls = {c["id"]: c for c in examined["claims"]}
    assert controls["relay.not-back"]["control"] == "holds" and controls["relay.not-back"]["cases"]
    text = quidnunc("doctor", "ours", "--protocol", "floodsub").out
    assert text.splitlines()[-1] == "again: quidnunc doctor ours --protocol floodsub"


def test_options_are_repeated_as_they_are_written() -> None:
    options = argparse.Namespace(cases_in=None, dry_run=True, json=False, set=["d=8", "d_low=6"], per_node=0)
    words = given_options(options, "cases_in", "dry_run", "json", "set", "per_node")
    assert words == ["--dry-run", "--set", "d=8", "--set", "d_low=6", "--per-node", "0"]


def test_a_root_cause_is_explained_with_what_refers_to_it(
    quidnunc: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])
    said = quidnunc("explain", "control-lists-shared", "--json").data
    assert said["clause"] == "gs1.0/mesh.members" and said["claims"] == ["mesh.members"]
    case = "gs1.0.mesh.members.control-lists-shared.case"
    assert said["cases"] == [f"counterexamples/routers/py-libp2p/{case}"]
    assert quidnunc("explain", "cut-at-d-high", "--json").data["cases"]
