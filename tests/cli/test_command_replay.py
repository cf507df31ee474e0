"""quidnunc replay of network cases, and pytest on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command

CASE = """\
Not so: at rest every neighbour knows what topics a router is in.

format: 1
claim: P22
clause: gs1.1/threshold.graylist
protocol: gossipsub-1.1
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
ALONE = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio")

pytest_plugins = ("pytester",)


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A network case of a claim that is false."""
    path = tmp_path / "P22.case"
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
    assert replayed["reason"].startswith("on ours, seed 0: P22 is broken")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--against", "ours", "--rewrite"), "--rewrite would write of another"),
        (("--against", "nobody"), "no router 'nobody'"),
        (("--protocol", "dog"), "is of a pubsub protocol"),
        (("--protocol", "gossipsub-1.0", "--rewrite"), "--rewrite would write of another"),
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


def test_what_can_not_happen_tells_nothing(quidnunc: Command, case: Path) -> None:
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
        ("open", (), {"xfailed": 1}, "XFAIL*open: P22 is broken*"),
        ("fixed", (), {"failed": 1}, "*See `quidnunc replay *P22.case`.*"),
        (
            "open",
            ("--quidnunc-against", "ours"),
            {"xfailed": 1},
            "XFAIL*open: on ours, seed 0: P22 is broken*",
        ),
        ("open", ("--quidnunc-against", "ours:graylist-off"), {"failed": 1}, "*B says that it holds*"),
        ("closed", (), {"failed": 1}, "*P22.case:8: expected a status*"),
    ],
)
def test_pytest_judges_a_network_case(
    pytester: pytest.Pytester, status: str, options: tuple[str, ...], outcome: dict[str, int], said: str
) -> None:
    (pytester.path / "P22.case").write_text(CASE.format(status=status), encoding="utf-8")
    result = pytester.runpytest(*ALONE, "-rsxfE", *options)
    result.assert_outcomes(**outcome)
    result.stdout.fnmatch_lines([said])
