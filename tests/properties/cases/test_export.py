"""What the suite exports is complete, and leads a reader that has only the data to the same verdicts."""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from typing import Any

import pytest

from quidnunc.commands.suite import exported_suites
from quidnunc.impl.routers import open_router
from quidnunc.model.machine import PROTOCOLS, protocol_named
from quidnunc.properties.cases.case import events_of
from quidnunc.properties.cases.router import config_of
from quidnunc.properties.explain.root_cause import last_departures
from quidnunc.properties.judge.play import WireSubject, play
from quidnunc.properties.suite.files import rule_cases, suite_of
from tests.helpers.vector_reader import Reader


@lru_cache
def vectors(protocol: str) -> list[dict[str, Any]]:
    """Exported, written as JSON, and read again."""
    found: list[dict[str, Any]] = json.loads(json.dumps(exported_suites({protocol: suite_of(protocol)})))[
        "cases"
    ]
    return found


def test_the_export_has_a_schema_a_version_and_every_case() -> None:
    whole = json.loads(json.dumps(exported_suites({"flood": suite_of("flood"), "dog": suite_of("dog")})))
    assert (whole["schema"], whole["suite_version"]) == (1, 1)
    assert {"tool_version", "spec_revisions", "peers"} <= whole.keys()
    cases = [(v["protocol"], v["rule"]) for v in whole["cases"]]
    assert cases == [(name, rule) for name in ("flood", "dog") for rule, _ in suite_of(name)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_exported_case_holds_on_ours(protocol: str) -> None:
    """Or goes elsewhere, where the text leaves a choice: in a few of the cases of missing rules. Those of
    edited rules have crowds, from which a router chooses: more of them go elsewhere, and none departs."""
    verdicts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    rules = {name for name, _ in rule_cases(protocol)}
    for vector in vectors(protocol):
        reader = Reader(vector, "ours")
        verdict = reader.play()
        assert verdict != "departs", (vector["rule"], reader.why)
        verdicts[vector["rule"] in rules][verdict] += 1
    of_rules, of_edits = verdicts[True], verdicts[False]
    assert of_rules.total() + of_edits.total() == len(suite_of(protocol))
    assert of_rules["holds"] >= 0.85 * of_rules.total()
    assert of_edits["holds"] >= 0.4 * of_edits.total()


def departs(case: Any, router: str) -> bool:
    """The verdict of the kit's own oracle on the same case."""
    config = config_of(case)
    subject = WireSubject(open_router(router, config), config)
    return bool(
        last_departures(play(events_of(case), subject, protocol_named(case.protocol), config_of_(case)))
    )


def config_of_(case: Any) -> Any:
    config = config_of(case)
    return config.parameters


@pytest.mark.parametrize(
    ("protocol", "mutant"),
    [
        ("floodsub", "echo"),
        ("gossipsub-1.1", "regraft-taken"),
        ("gossipsub-1.2", "idontwant-ignored"),
        ("gossipsub-1.3", "test-unsent"),
        ("partial-messages", "part-to-all"),
        ("dog", "route-of-the-dead"),
        ("cat", "cat-never-serves"),
        ("peer-limit", "limit-newcomer-waits"),
    ],
)
def test_the_reader_and_the_oracle_agree_on_a_planted_departure(protocol: str, mutant: str) -> None:
    by_rule, found = dict(suite_of(protocol)), 0
    for vector in vectors(protocol):
        reader = Reader(vector, f"ours:{mutant}")
        verdict = reader.play()
        if verdict != "elsewhere":
            oracle = departs(by_rule[vector["rule"]], f"ours:{mutant}")
            assert (verdict == "departs") == oracle, (vector["rule"], reader.why)
            found += oracle
    assert found
