"""quidnunc params: what it prints, its JSON, and what it says of broken files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command

pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")
pytest.importorskip("yaml", reason="PyYAML is not installed: pip install '.[prove]'")


def test_a_shipped_network(quidnunc: Command) -> None:
    ran = quidnunc("params", "filecoin")
    assert ran.code == 1
    assert ran.out.startswith("params: Filecoin, 2 topics, a decay interval of 1 s")
    assert "2 of 2 topics starved for ever" in ran.out and "restores it" in ran.out
    assert "A router refuses to start:" in ran.out
    assert ran.out.rstrip().endswith("again: quidnunc params filecoin")


def test_json(quidnunc: Command) -> None:
    ran = quidnunc("params", "good-10", "--json")
    assert ran.code == 1 and ran.data["asked"].startswith("the paper's proposal, cap 10, 2 topics")
    rows = {row["id"]: row for row in ran.data["guarantees"]}
    assert rows["no-starving"]["verdict"] == "holds" and rows["no-shadowing"]["verdict"] == "fails"
    fields = "id text verdict found assumptions clauses advisories advice"
    assert set(rows["punished"]) == {*fields.split()}


def test_an_advisory_is_named_where_its_guarantee_fails(quidnunc: Command) -> None:
    known = "known as: GHSA-77r2-q4c3-v635 (CVE-2022-47547)"
    assert known in quidnunc("params", "eth2").out
    assert known not in quidnunc("params", "good-10").out


def test_nothing_fails(quidnunc: Command, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    topic = (
        '{"TopicWeight": 1, "MeshMessageDeliveriesWeight": -1, "MeshMessageDeliveriesDecay": 0.5, '
        '"MeshMessageDeliveriesCap": 20, "MeshMessageDeliveriesThreshold": 1, '
        '"MeshFailurePenaltyWeight": -1, "MeshFailurePenaltyDecay": 0.5, '
        '"InvalidMessageDeliveriesWeight": -9, "InvalidMessageDeliveriesDecay": 0.5}'
    )
    path.write_text(
        f'{{"Topics": {{"t": {topic}}}, "DecayInterval": 1000000000, "DecayToZero": 0.01, '
        '"RetainScore": 60000000000, "IPColocationFactorWeight": -1, "IPColocationFactorThreshold": 1, '
        '"BehaviourPenaltyWeight": -1, "BehaviourPenaltyDecay": 0.9}'
    )
    ran = quidnunc("params", path)
    assert ran.code == 0, ran.out
    assert "FAILS" not in ran.out and "no-starving" in ran.out


def test_the_name_of_a_network_is_shown_and_not_obeyed(quidnunc: Command, tmp_path: Path) -> None:
    shipped = Path(quidnunc("params", "--list", "--json").data["shipped"]["eth2"]).read_text(encoding="utf-8")
    lines = [line for line in shipped.splitlines() if not line.startswith("name:")]
    path = tmp_path / "p\x1b[31m.yaml"
    path.write_text("\n".join(['name: "E\\e[31mth"', *lines]), encoding="utf-8")
    ran = quidnunc("params", path)
    assert r"params: E\x1b[31mth, " in ran.out and "\x1b" not in ran.out + ran.err
    assert f"again: quidnunc params $'{tmp_path}/p\\x1b[31m.yaml'" in ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "expected one or two FILEs, got 0"),
        ("filecoyn", "no file 'filecoyn', and no shipped one of that name (did you mean filecoin?)"),
        ("nowhere.yaml", "nowhere.yaml: No such file"),
    ],
)
def test_wrong_usage(quidnunc: Command, arguments: str, said: str) -> None:
    ran = quidnunc("params", *arguments.split())
    assert ran.code == 2 and said in ran.err


def test_a_broken_file_names_the_field(quidnunc: Command, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("scores:\n  decay_interval: 1s\n  topics:\n    t: {topic_weight: much}\n")
    ran = quidnunc("params", path)
    assert ran.code == 2
    assert "p.yaml:4: scores.topics.t.topic_weight: expected a number, got 'much'" in ran.err


def test_the_shipped_ones_are_listed(quidnunc: Command) -> None:
    ran = quidnunc("params", "--list")
    assert ran.code == 0 and "eth2-subnets" in ran.out
    assert set(quidnunc("params", "--list", "--json").data["shipped"]) >= {"eth2", "filecoin"}


def test_what_is_not_installed_is_named(quidnunc: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install '.[prove]'" in quidnunc("params", "eth2").err


NODE = "[mempool]\ndog_protocol_enabled = true\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("node.toml --replay ours", "a config.toml has none"),
        ("node.toml other.toml --replay ours", "a config.toml has none"),
        ("node.toml other.toml --round-trip 9ms", "--round-trip needs one config.toml"),
        ("filecoin --round-trip 9ms", "--round-trip needs two FILEs"),
        ("filecoin eth2 --replay ours", "--replay needs one FILE"),
        ("--list filecoin", "--list cannot be combined"),
    ],
)
def test_an_option_without_a_meaning_is_refused(
    quidnunc: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("node.toml", "other.toml"):
        (tmp_path / name).write_text(NODE, encoding="utf-8")
    ran = quidnunc("params", *arguments.split())
    assert ran.code == 2 and said in ran.err


def test_what_is_said_last_gives_the_same_again(quidnunc: Command, tmp_path: Path) -> None:
    path = tmp_path / "my node.TOML"
    path.write_text(NODE, encoding="utf-8")
    ran = quidnunc("params", path, "--round-trip", "250ms")
    assert ran.out.splitlines()[-1] == f"again: quidnunc params '{path}' --round-trip 250ms"


def test_two_files_of_one_name_are_told_apart(quidnunc: Command, tmp_path: Path) -> None:
    paths = [tmp_path / folder / "config.toml" for folder in "ab"]
    for path in paths:
        path.parent.mkdir()
        path.write_text(NODE, encoding="utf-8")
    ran = quidnunc("params", *paths)
    assert ran.out.startswith(f"params: {paths[0]} beside {paths[1]}\n")
