"""The long search: its plan, its journal, and what it makes of the answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quidnunc.model.machine import PROTOCOLS, protocol_named
from quidnunc.properties.claims.catalogue import claims_of
from quidnunc.properties.search.batch import BatchRequest, Workers
from quidnunc.properties.sources import SEARCHED, digest_of_sources
from tools import nightly
from tools.nightly import (
    NightlyBatch,
    campaigns,
    carry_out,
    plan,
    report,
    status,
)

Ask = Callable[[BatchRequest], dict[str, Any]]


def answer(protocol: str, runs: int, *, without: str = "") -> dict[str, Any]:
    """Of a batch in which every claim applied, but for one."""
    claims = claims_of(protocol_named(protocol))
    clauses = {c for claim in claims for c in claim.clauses}
    left_out = {c for claim in claims if claim.id == without for c in claim.clauses}
    return {
        "version": "1",
        "name": "ours",
        "capabilities": sorted({need for claim in claims for need in claim.needs}),
        "fixed": {},
        "switched": {},
        "has_additions": False,
        "without": [],
        "runs": runs,
        "steps": 10 * runs,
        "blurred": 0,
        "unrepeated": 0,
        "applied": {c: runs for c in clauses - left_out},
        "roots": [],
    }


def test_the_plan_has_enough_of_each_protocol() -> None:
    batches = plan(PROTOCOLS, 20_000, 0, "code")
    of = {name: sum(b.runs for b in batches if b.protocol == name) for name in PROTOCOLS}
    assert min(of.values()) >= 2_000
    assert sum(of.values()) >= 20_000
    assert len({b.request.seed for b in batches if b.protocol == "dog"}) == sum(
        b.protocol == "dog" for b in batches
    )
    assert {sum(b.runs for b in plan([name], 5, 0, "code")) for name in PROTOCOLS} == {2_000}


def test_it_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    journal, asked = tmp_path / "deep" / "journal.jsonl", []
    batches = plan(["flood", "dog"], 1_600, 0, "code", fewest=10)

    def ask(request: BatchRequest, workers: Workers) -> dict[str, Any]:
        asked.append(request)
        if len(asked) == 3:
            return {"broken": "the worker ended"}
        return answer(request.protocol, request.runs)

    first = list(carry_out(batches, journal, workers=1, ask=ask))
    assert len(first) == len(asked) == len(batches) == 4
    # The last line is cut off as by a kill, and one batch was broken: both are asked again, nothing else is.
    whole = journal.read_text("utf-8").splitlines()
    journal.write_text("\n".join([*whole[:-1], whole[-1][:20]]), "utf-8")
    asked.clear()
    asked += [batches[0].request] * 3
    again = list(carry_out(batches, journal, workers=1, ask=ask))
    assert len(asked) - 3 == 2
    assert {b.key for b, _ in again} == {b.key for b in batches}
    assert not any("broken" in a for _, a in again)
    assert sum(a["runs"] for _, a in carry_out(batches, journal, workers=1, ask=never)) == 1_600


def never(request: BatchRequest, workers: Workers) -> dict[str, Any]:
    raise AssertionError(f"{request} is in the journal")


def test_another_state_of_the_code_is_another_search(tmp_path: Path) -> None:
    assert digest_of_sources(SEARCHED) == digest_of_sources.__wrapped__(SEARCHED)
    assert digest_of_sources(SEARCHED) != digest_of_sources(SEARCHED[:1])
    journal = tmp_path / "journal.jsonl"
    list(carry_out([NightlyBatch("dog", 0, 5, 0, "old")], journal, ask=lambda r, _: answer("dog", r.runs)))
    with pytest.raises(AssertionError, match="is in the journal"):
        list(carry_out([NightlyBatch("dog", 0, 5, 0, "new")], journal, ask=never))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, 0),
        ({"without": "reset.one"}, 3),
        ({"broken": "no reply"}, 4),
    ],
)
def test_the_exit_status(changed: dict[str, str], expected: int) -> None:
    said = (
        {"broken": changed["broken"]}
        if "broken" in changed
        else answer("dog", 5, without=changed.get("without", ""))
    )
    found = campaigns([(NightlyBatch("dog", 0, 5, 0, ""), said)], ["dog"], 0)
    assert status(found) == expected
    never = [(name, v.claim.id) for name, v in nightly.never_applied(found)]
    assert (("dog", "reset.one") in never) == (expected != 0)
    if expected == 0:
        assert "| dog | 5 | 50 | " in report(found)


def test_a_finding_is_told_with_its_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The real search, of a mutant in place of our router."""
    arguments = ["--runs", "4", "--fewest", "4", "--workers", "1", "--table", str(tmp_path / "table.md")]
    arguments += ["--journal", str(tmp_path / "journal.jsonl"), "flood"]
    kept, nightly.AGAINST = nightly.AGAINST, "ours:echo-to-sender"
    try:
        assert nightly.main(arguments) == 1
    finally:
        nightly.AGAINST = kept
    said = capsys.readouterr()
    assert "claim: send.once-to-others" in said.out
    assert "| flood | 4 |" in (tmp_path / "table.md").read_text("utf-8")
    assert "4 of 4 runs" in said.err
    assert (
        len([json.loads(line) for line in (tmp_path / "journal.jsonl").read_text("utf-8").splitlines()]) == 1
    )


def test_an_unknown_protocol_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        nightly.main(["dogg"])
    assert left.value.code == 2
    assert "no protocol 'dogg'" in capsys.readouterr().err
