"""docs/json.md names each key that `--json` prints, and none that it does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
ABSENT = re.compile(r"may be (null|missing)|alone|only if|of a (recorded|simulated)|; of searches")
"""In the meaning of a key that not every object has."""
NETWORK = "nodes: [{count: 4}]\ntopology: {degree: 3}\ntraffic: [{count: 2}]\n"


def tables_of(section: str) -> Iterator[list[tuple[str, str]]]:
    """(key, meaning) of each table below a heading."""
    (text,) = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    for block in re.findall(r"^\| key \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", text, re.MULTILINE):
        rows = [line.strip("|").split(" | ", 1) for line in block.splitlines()]
        yield [(key, meaning) for keys, meaning in rows for key in re.findall(r"`([^`]+)`", keys)]


def paths_of(value: Any, at: str = "") -> Iterator[str]:
    """The path of each leaf; of what is empty, that of its container."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from paths_of(inner, f"{at}.{key}" if at else key)
    elif isinstance(value, list) and value:
        for inner in value:
            yield from paths_of(inner, f"{at}[]")
    else:
        yield f"{at}[]" if isinstance(value, list) else at


def pattern_of(key: str) -> re.Pattern[str]:
    """A name in capitals is any name, dots included."""
    return re.compile(re.sub(r"\b[A-Z]{3,}\b", ".+", re.escape(key)))


def undocumented(data: dict[str, Any], *sections: str) -> set[str]:
    """Paths that no key covers. A key without keys below it covers all that is below."""
    keys = [key for section in sections for table in tables_of(section) for key, _ in table]
    whole = [key for key in keys if not any(other.startswith((f"{key}.", f"{key}[]")) for other in keys)]
    named, below = [pattern_of(key) for key in keys], [pattern_of(key) for key in whole]
    return {
        path
        for path in paths_of(data)
        if not any(p.fullmatch(path) or p.fullmatch(path.removesuffix("[]")) for p in named)
        and not any((m := p.match(path)) and path[m.end()] in ".[" for p in below)
        and not any(is_inside(key, path) for key in keys)
    }


def is_inside(key: str, path: str) -> bool:
    """Whether a path is something empty, in which the key would be."""
    return key.startswith(path) and key[len(path) :][:1] in (".", "[")


def missing(data: dict[str, Any], tables: list[list[tuple[str, str]]]) -> set[str]:
    """Keys that every object should have, and that this one has not."""
    always = [key for table in tables for key, meaning in table if not ABSENT.search(meaning)]
    found = set(paths_of(data))
    return {key for key in always if not any(map(partial(is_at, key), found))}


def is_at(key: str, path: str) -> bool:
    """Whether a path is of the key, of what is in it, or of something empty around it."""
    ends = pattern_of(key).match(path)
    return bool(ends and path[ends.end() :][:1] in ("", ".", "[")) or is_inside(key, path)


def agree(data: dict[str, Any], section: str, tables: int = 1) -> None:
    """The object has the keys of the first `tables` tables of a section, and no others than the page has."""
    assert undocumented(data, section) == set()
    assert missing(data, [*tables_of(section)][:tables]) == set()


CHEAP = {
    "suite": ("suite", "flood"),
    "routers": ("routers",),
    "clauses": ("clauses", "flood"),
    "spec": ("spec", "flood"),
    "diff": ("diff", "flood", "dog"),
    "doctor": ("doctor", "ours", "--protocol", "flood"),
    "explain": ("explain", "gs1.1/backoff.regraft"),
    "recall": ("recall", "GO-17", "RS-03"),
    "matrix": ("matrix", "flood", "--against", "ours", "--suite", "-o", "matrix"),
}


@pytest.mark.parametrize("section", CHEAP)
def test_the_page_has_the_keys_of(
    section: str, quidnunc: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    agree(quidnunc(*CHEAP[section], "--json").data, section)


def test_the_page_has_the_keys_of_a_search(quidnunc: Command, tmp_path: Path) -> None:
    planted = ("--against", "ours:echo-to-sender", "--cases", tmp_path / "cases")
    agree(quidnunc("check", "flood", *planted, "--runs", 20, "--json").data, "check")


def test_the_page_has_the_keys_of_a_suite_with_expectations(quidnunc: Command, tmp_path: Path) -> None:
    expected = tmp_path / "expected.toml"
    asked = ("check", "flood", "--suite", "--expect", expected)
    assert quidnunc(*asked, "--against", "ours:echo-to-sender", "--update-expect").code == 0
    other = quidnunc(*asked, "--against", "ours:commit-is-ignored", "--dialect", "--json").data
    assert other["expected"]["unexpected"] and other["suite"]["cases"]
    agree(other, "check", tables=3)


def test_the_page_has_the_keys_of_a_replay(quidnunc: Command) -> None:
    case = ROOT / "counterexamples" / "mutants" / "cut-at-d-high.case"
    agree(quidnunc("replay", case, "--against", "ours", "--json").data, "replay")


def test_the_page_has_the_keys_of_a_comparison(quidnunc: Command) -> None:
    found = quidnunc("regress", "gossipsub-1.2-draft", "gossipsub-1.2", "--budget", "3s", "--json").data
    agree(found, "regress")


def test_the_page_has_the_keys_of_proofs(quidnunc: Command) -> None:
    pytest.importorskip("z3", reason="pip install '.[prove]'")
    agree(quidnunc("prove", "mesh-link", "--json").data, "prove")
    found = quidnunc("explore", "mesh-link", "--json").data
    agree(found, "explore")
    traced = quidnunc("explore", "mesh-link", "--trace", "mesh-link.bidirectional", "--json").data
    assert undocumented(traced, "explore") == set() and traced["trace"]["steps"]
    agree(quidnunc("params", "eth2", "--json").data, "params")


def test_the_page_has_the_keys_of_networks(quidnunc: Command, tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="pip install '.[test]'")
    scenario, sweep = tmp_path / "network.yaml", tmp_path / "sweep.yaml"
    scenario.write_text(NETWORK)
    sweep.write_text("simulate: {scenario: network.yaml, seeds: 2}")
    run, tables = tmp_path / "run", tmp_path / "tables"
    made = quidnunc("simulate", scenario, "-o", run, "--check", "--json").data
    assert undocumented(made, "simulate", "trace") == set() and made["claims"]
    assert missing(made, [*tables_of("simulate")]) == set() and {"kinds", "violations"} <= made.keys()
    agree(quidnunc("trace", "check", run, "--json").data, "trace")
    agree(quidnunc("ingest", run, "-o", tables, "--engine", "duckdb", "--json").data, "ingest")
    checked = quidnunc("trace", "check", tables, "--json").data
    assert undocumented(checked, "trace") == set() and missing(checked, [*tables_of("trace")][1:]) == set()
    agree(quidnunc("sweep", sweep, "-o", tmp_path / "swept", "--engine", "local", "--json").data, "sweep")


def test_a_key_that_the_page_lacks_is_noticed() -> None:
    data = {"schema": 1, "replays": [{"path": "a", "added": 1}], "new": {}}
    assert undocumented(data, "replay") == {"replays[].added", "new"}
    assert "replays[].outcome" in missing(data, [*tables_of("replay")])
    assert "errors[]" not in missing(data, [*tables_of("replay")])
    assert not is_at("runs[].bytes", "run") and undocumented({"run": {}}, "replay") == {"run"}
