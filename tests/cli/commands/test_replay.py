"""quidnunc replay of network cases, of cases of several protocols and of strangers; and pytest on them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from quidnunc.properties.cases.file import load
from tests.conftest import Command

ROOT = Path(__file__).parents[3]

CASE = """\
Refuted: at rest every neighbour knows what topics a router is in.

format: 2
claim: subscriptions.known-to-all-neighbours
clause: gs1.1/threshold.graylist
protocols: gossipsub-1.1
against: model
status: {status}

node A
node B
link A>B
settle

join A t
----
  A>B: subscribe t

score B A -50
deliver A>B
score B A 0
----
+ broken: B does not know that A is in t
"""
REGRAFT = """\
Accepts a GRAFT inside the backoff.

format: 2
claim: {claim}
clause: {clause}
protocols: gossipsub-1.2
against: {against}
status: {status}
quirk: accepts-graft-inside-backoff

connect a /meshsub/1.2.0
join t1
----
  a: subscribe t1

a: prune t1
a: graft t1
advance 500ms
----
- a: prune t1 backoff=60
"""
ALONE = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio")


def regraft(**fields: str) -> str:
    """The case of a planted departure, with other values of these fields."""
    front = {
        "claim": "backoff.regraft-refused",
        "clause": "gs1.1/backoff.regraft",
        "against": "ours:regraft-taken",
        "status": "open",
    }
    return REGRAFT.format(**{**front, **fields})


pytest_plugins = ("pytester",)


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A network case of a claim that is false."""
    path = tmp_path / "subscriptions.known-to-all-neighbours.case"
    path.write_text(CASE.format(status="open"), encoding="utf-8")
    return path


def test_a_network_case_departs_as_recorded(quidnunc: Command, case: Path) -> None:
    ran = quidnunc("replay", case)
    assert ran.code == 1
    assert f"{case} against model: same" in ran.out
    assert "+ broken: B does not know that A is in t" in ran.out
    assert ran.out.splitlines()[-1] == f"again: quidnunc replay {case}"


def test_a_network_case_as_data(quidnunc: Command, case: Path) -> None:
    ran = quidnunc("replay", case, "--emit", "json")
    (replayed,) = ran.data["replays"]
    assert (replayed["outcome"], replayed["at"], replayed["departs"]) == ("same", 3, True)
    assert replayed["case"]["nodes"] == ["A", "B"]
    first = {"acts": ["join A t"], "said": ["A>B: subscribe t"], "broken": None}
    assert replayed["case"]["blocks"][0] == first


def test_a_network_case_by_another_protocol(quidnunc: Command, case: Path) -> None:
    ran = quidnunc("replay", case, "--protocol", "gossipsub-1.0", "--json")
    assert ran.code == 0
    assert ran.data["replays"][0]["outcome"] == "fixed"


def test_a_network_case_on_our_routers(quidnunc: Command, case: Path) -> None:
    ran = quidnunc("replay", case, "--against", "ours", "--json")
    (replayed,) = ran.data["replays"]
    assert (ran.code, replayed["against"], replayed["outcome"], replayed["at"]) == (1, "ours", "same", 3)
    assert replayed["reason"].startswith("on ours, seed 0: subscriptions.known-to-all-neighbours is broken")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--against", "ours", "--rewrite"), "--rewrite would write what another"),
        (("--against", "nobody"), "no router 'nobody'"),
        (("--protocol", "dog"), "is of a pubsub protocol"),
        (("--protocol", "gossipsub-1.0", "--rewrite"), "--rewrite would write what another"),
    ],
)
def test_wrong_usage(quidnunc: Command, case: Path, options: tuple[str, ...], said: str) -> None:
    ran = quidnunc("replay", case, *options)
    assert ran.code == 2
    assert said in ran.err


def test_rewriting_a_network_case_is_idempotent(quidnunc: Command, case: Path) -> None:
    whole = case.read_text(encoding="utf-8")
    case.write_text(whole.replace("  A>B: subscribe t\n", ""), encoding="utf-8")
    assert quidnunc("replay", case, "--json").data["replays"][0]["outcome"] == "different"
    assert quidnunc("replay", case, "--rewrite", "--json").data["replays"][0]["rewritten"]
    assert case.read_text(encoding="utf-8") == whole
    assert not quidnunc("replay", case, "--rewrite", "--json").data["replays"][0]["rewritten"]


def test_what_cannot_happen_tells_nothing(quidnunc: Command, case: Path) -> None:
    case.write_text(CASE.format(status="open").replace("join A t", "leave A t"), encoding="utf-8")
    ran = quidnunc("replay", case)
    assert ran.code == 3
    assert "inconclusive" in ran.out


def test_explain_shows_a_network_case(quidnunc: Command, case: Path) -> None:
    ran = quidnunc("explain", case)
    assert ran.code == 0
    assert "gs1.1/threshold.graylist" in ran.out
    assert "score B A -50" in ran.out


@pytest.mark.parametrize(
    ("status", "options", "outcome", "said"),
    [
        ("open", (), {"xfailed": 1}, "XFAIL*open: subscriptions.known-to-all-neighbours is broken*"),
        ("fixed", (), {"failed": 1}, "*See `quidnunc replay *subscriptions.known-to-all-neighbours.case`.*"),
        (
            "open",
            ("--quidnunc-against", "ours"),
            {"xfailed": 1},
            "XFAIL*open: on ours, seed 0: subscriptions.known-to-all-neighbours is broken*",
        ),
        ("open", ("--quidnunc-against", "ours:graylist-off"), {"failed": 1}, "*B says that it holds*"),
        ("closed", (), {"failed": 1}, "*subscriptions.known-to-all-neighbours.case:8: expected a status*"),
    ],
)
def test_pytest_judges_a_network_case(
    pytester: pytest.Pytester, status: str, options: tuple[str, ...], outcome: dict[str, int], said: str
) -> None:
    (pytester.path / "subscriptions.known-to-all-neighbours.case").write_text(
        CASE.format(status=status), encoding="utf-8"
    )
    result = pytester.runpytest(*ALONE, "-rsxfE", *options)
    result.assert_outcomes(**outcome)
    result.stdout.fnmatch_lines([said])


def test_a_bad_file_costs_the_others_nothing(quidnunc: Command, case: Path) -> None:
    text = case.read_text(encoding="utf-8")
    (case.parent / "a.case").write_text(text.replace("status: open", "status: closed"), encoding="utf-8")
    (case.parent / "b.case").write_text(
        SEVERAL.format(status="open").replace("ours:cut-at-d-high", "nobody"), encoding="utf-8"
    )
    ran = quidnunc("replay", case.parent)
    assert ran.code == 2 and f"{case} against model: same" in ran.out
    assert f"{case.parent / 'a.case'}:8: expected a status" in ran.err
    assert f"{case.parent / 'b.case'}: no router 'nobody'" in ran.err
    data = quidnunc("replay", case.parent, "--json").data
    assert (len(data["replays"]), len(data["errors"])) == (1, 2)


def test_a_folder_leads_nowhere_else(quidnunc: Command, case: Path, tmp_path: Path) -> None:
    """What a link leads to out of it is neither read nor written; named, it is replayed."""
    folder, text = tmp_path / "theirs", case.read_text(encoding="utf-8").replace("  A>B: subscribe t\n", "")
    folder.mkdir()
    (folder / "inside.case").write_text(case.read_text(encoding="utf-8"), encoding="utf-8")
    outside = tmp_path / "outside.case"
    outside.write_text(text, encoding="utf-8")
    (folder / "link.case").symlink_to("../outside.case")
    (folder / "passwd.case").symlink_to("/etc/passwd")
    (folder / "again.case").symlink_to("inside.case")
    for options in ((), ("--rewrite",)):
        ran = quidnunc("replay", folder, *options, "--json")
        assert ran.code == 2 and "root:" not in ran.err and len(ran.data["replays"]) == 2
        for name in ("link.case", "passwd.case"):
            assert f"{folder / name}: a link out of {folder}" in ran.err
    assert outside.read_text(encoding="utf-8") == text
    ran = quidnunc("report", folder, "-o", tmp_path / "page.html")
    assert ran.code == 2 and "a link out of" in ran.err
    (folder / "passwd.case").unlink()
    quidnunc("replay", folder / "link.case", "--rewrite")
    assert outside.read_text(encoding="utf-8") != text


def test_a_path_without_a_case_costs_the_others_nothing(quidnunc: Command, case: Path) -> None:
    (case.parent / "empty").mkdir()
    ran = quidnunc("replay", case.parent / "empty", case.parent / "no.case", case)
    assert ran.code == 2 and f"{case} against model: same" in ran.out
    assert "empty contains no .case file" in ran.err and "no.case does not exist" in ran.err


# -- several protocols --------------------------------------------------------------------------------------

SEVERAL = """\
A mesh of D_high members is cut.

format: 2
claim: mesh.ceiling
clause: gs1.0/heartbeat.cut
protocols: gossipsub-1.1 gossipsub-1.2
against: ours:cut-at-d-high
status: {status}
quirk: cut-at-d-high
parameters: D=4 D_low=3 D_high=6 D_score=2 D_out=1
seed: 0

connect a..f /meshsub/1.1.0
join t1
a..f: graft t1
advance 500ms
----
+ a,b: prune t1 backoff=60
"""


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """A case of two protocols."""
    path = tmp_path / "cut.case"
    path.write_text(SEVERAL.format(status="open"), encoding="utf-8")
    return path


def test_a_case_of_several_protocols_is_replayed_under_each(quidnunc: Command, several: Path) -> None:
    ran = quidnunc("replay", several)
    assert ran.code == 1 and "replay of 1 case: 2 replays" in ran.out and "2 same" in ran.out
    for protocol in ("gossipsub-1.1", "gossipsub-1.2"):
        assert f"{several} under {protocol} against ours:cut-at-d-high: same" in ran.out
        (replayed,) = quidnunc("replay", several, "--protocol", protocol, "--json").data["replays"]
        assert (replayed["protocol"], replayed["outcome"]) == (protocol, "same")


def test_another_release_than_the_recorded_one_is_named(quidnunc: Command, several: Path) -> None:
    text = several.read_text(encoding="utf-8")
    several.write_text(text.replace("against: ours:cut-at-d-high", "against: ours:cut-at-d-high 9.9"))
    assert "against ours:cut-at-d-high (recorded on 9.9, replayed on " in quidnunc("replay", several).out
    assert "recorded on" not in quidnunc("replay", several, "--against", "ours").out


def test_several_routers_are_shown_side_by_side(quidnunc: Command, several: Path) -> None:
    routers = ("ours", "ours:cut-at-d-high", "ours:leave-silently")
    options = [word for router in routers for word in ("--against", router)]
    ran = quidnunc("replay", several, "--protocol", "gossipsub-1.2", *options)
    lines = ran.out.splitlines()
    assert ran.code == 1 and "replay of 1 case: 3 replays" in lines
    told = [line.split(maxsplit=1) for line in lines[4:7]]
    assert [router for router, _ in told] == [*routers]
    assert told[0][1] == told[2][1] == "in order"
    assert told[1][1].startswith("departs as recorded at `advance 500ms`: unexpected Prune (")
    at = lines.index("  advance 500ms")
    assert lines[at + 1] == "    ours, ours:leave-silently: nothing"
    assert lines[at + 2] == "    ours:cut-at-d-high:"
    assert lines[at + 3].startswith("    + ") and lines[at + 3].endswith(": prune t1 backoff=60")
    assert "    all:" in lines[:at]
    data = quidnunc("replay", several, "--protocol", "gossipsub-1.2", *options, "--json").data
    assert [each["against"] for each in data["replays"]] == [*routers]


def test_a_router_that_departs_early_has_no_answer_to_what_comes_later(
    quidnunc: Command, several: Path
) -> None:
    several.write_text(f"{SEVERAL.format(status='open')}\njoin t2\n----\n", encoding="utf-8")
    ran = quidnunc("replay", several, "--against", "ours", "--against", "ours:cut-at-d-high")
    later = ran.out.split("  join t2\n")[1]
    assert (
        "    ours:\n" in later and "cut-at-d-high:" not in later.split("again: ")[0].split("on 2 routers")[0]
    )


def test_a_router_that_is_not_built_costs_the_others_nothing(
    quidnunc: Command, several: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIDNUNC_CACHE", str(tmp_path / "cache"))
    ran = quidnunc(
        "replay", several, "--protocol", "gossipsub-1.2", "--against", "ours", "--against", "js-libp2p"
    )
    assert ran.code == 3
    assert "  ours       in order\n" in ran.out
    assert "in order" in ran.out.rpartition("\nagain:")[0].splitlines()[-1]
    assert "  js-libp2p  skipped: " in ran.out and "quidnunc routers build js-libp2p" in ran.out


def test_what_the_router_of_a_case_is_built_like_is_not_asked_of_another(
    quidnunc: Command, several: Path
) -> None:
    text = several.read_text(encoding="utf-8").replace("quirk: cut-at-d-high", "as built: cut-at-d-high")
    several.write_text(text, encoding="utf-8")
    own = quidnunc("replay", several, "--protocol", "gossipsub-1.2", "--json").data["replays"][0]
    assert not own["departs"]
    other = quidnunc("replay", several, "--protocol", "gossipsub-1.2", "--against", "ours", "--json").data
    assert not other["replays"][0]["departs"]


def test_rewriting_keeps_the_protocols(quidnunc: Command, several: Path) -> None:
    assert quidnunc("replay", several, "--rewrite").code == 1
    text = several.read_text(encoding="utf-8")
    assert "protocols: gossipsub-1.1 gossipsub-1.2\n" in text
    # All that was due, allowed and seen at the step.
    assert text.endswith("----\n  a..f: subscribe t1\n+ a,b: prune t1 backoff=60\n") or "+ " in text
    quidnunc("replay", several, "--rewrite")
    assert several.read_text(encoding="utf-8") == text


def test_pytest_plays_each_protocol(pytester: pytest.Pytester) -> None:
    (pytester.path / "cut.case").write_text(SEVERAL.format(status="open"))
    pytester.runpytest(*ALONE).assert_outcomes(xfailed=1)
    (pytester.path / "cut.case").write_text(SEVERAL.format(status="fixed"))
    pytester.runpytest(*ALONE).assert_outcomes(failed=1)


# -- cases of strangers -------------------------------------------------------------------------------------


def attack(folder: Path, form: str, against: str) -> Path:
    """A case that names a command as its router. It would leave a file `pwned`."""
    text = SEVERAL.format(status="open").replace("ours:cut-at-d-high", against)
    if form == "1":
        text = text.replace("format: 2", "format: 1").replace(
            "protocols: gossipsub-1.1 gossipsub-1.2", "protocol: gossipsub-1.2"
        )
    path = folder / "attack.case"
    path.write_text(text, encoding="utf-8")
    (folder / "evil.py").write_text(f"open({str(folder / 'pwned')!r}, 'w')\n", encoding="utf-8")
    return path


ATTACKS = ("exec:sh -c 'touch {folder}/pwned'", "python:evil:factory")


@pytest.mark.parametrize("against", ATTACKS)
def test_replay_starts_nothing_that_only_a_file_names(
    quidnunc: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, against: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    ran = quidnunc("replay", attack(tmp_path, "1", against.format(folder=tmp_path)))
    assert ran.code == 3
    assert "skipped" in ran.out and "no router is started that only a file names" in ran.out
    rewritten = quidnunc("replay", tmp_path / "attack.case", "--rewrite", "--json")
    assert rewritten.data["replays"][0]["outcome"] == "skipped"
    ran = quidnunc("replay", attack(tmp_path, "2", against.format(folder=tmp_path)))
    assert ran.code == 2 and "a case holds no command" in ran.err
    assert not (tmp_path / "pwned").exists()


def test_the_user_may_start_it(quidnunc: Command, tmp_path: Path) -> None:
    path = attack(tmp_path, "1", ATTACKS[0].format(folder=tmp_path))
    assert quidnunc("replay", path, "--against", "ours:cut-at-d-high").code == 1
    assert not (tmp_path / "pwned").exists()
    # It is no router, so the driver breaks once it was started.
    assert quidnunc("replay", path, "--allow-exec").code == 4
    assert (tmp_path / "pwned").exists()


def test_a_case_of_ones_own_router_is_replayed_and_rewritten_with_it(
    quidnunc: Command, tmp_path: Path
) -> None:
    path = attack(tmp_path, "2", "exec 1.2")
    command = shlex.join([sys.executable, "-m", "quidnunc.impl.sidecar_host", "ours:cut-at-d-high"])
    ran = quidnunc("replay", path, "--against", f"exec:{command}", "--rewrite")
    assert ran.code == 1 and "2 same" in ran.out
    assert "against: exec 1.2\n" in path.read_text(encoding="utf-8")
    assert quidnunc("replay", path).code == 3
    assert quidnunc("replay", path, "--against", "ours", "--rewrite").code == 2


@pytest.mark.parametrize("against", ATTACKS)
def test_pytest_starts_nothing_that_only_a_file_names(pytester: pytest.Pytester, against: str) -> None:
    attack(pytester.path, "1", against.format(folder=pytester.path))
    result = pytester.runpytest(*ALONE, "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no router is started that only a file names*"])
    attack(pytester.path, "2", against.format(folder=pytester.path))
    pytester.runpytest(*ALONE).assert_outcomes(failed=1)
    assert not (pytester.path / "pwned").exists()


def test_an_unknown_clause_of_a_network_is_placed(quidnunc: Command, tmp_path: Path) -> None:
    path = tmp_path / "a.case"
    text = next(ROOT.glob("counterexamples/networks/routes.never-to-self.*")).read_text()
    path.write_text(text.replace("\nclause: ", "\nclause: x", 1))
    line = text[: text.index("\nclause: ")].count("\n") + 2
    ran = quidnunc("replay", path)
    assert ran.code == 2 and f"{path}:{line}: no clause 'x" in ran.err


@pytest.mark.parametrize(
    ("field", "name", "said"),
    [
        ("claim", "flood.txs-only", "flood.txs-only is no claim of gossipsub-1.2"),
        ("clause", "gs1.3/extensions.first-rpc", "gs1.3/extensions.first-rpc is no clause of gossipsub-1.2"),
        ("claim", "gs1.3/extensions.first-rpc", "gs1.3/extensions.first-rpc is no clause of gossipsub-1.2"),
    ],
)
def test_a_name_of_another_protocol_is_an_error(
    quidnunc: Command, tmp_path: Path, field: str, name: str, said: str
) -> None:
    path = tmp_path / "a.case"
    path.write_text(regraft(**{field: name}))
    line = 4 if field == "claim" else 5
    ran = quidnunc("replay", path)
    assert ran.code == 2 and f"{path}:{line}: {said}" in ran.err
    assert "`quidnunc clauses gossipsub-1.2` lists" in ran.err


def test_what_a_router_sends_too_much_may_be_of_a_later_protocol(tmp_path: Path) -> None:
    path = tmp_path / "a.case"
    path.write_text(regraft(clause="gs1.3/extensions.once") + "+ a: extensions\n")
    assert load(path).clause == "gs1.3/extensions.once"
