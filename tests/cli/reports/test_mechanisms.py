"""What is told of the sources of released routers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import evolve

import quidnunc.reports.pages
from quidnunc.properties.cases.file import load
from quidnunc.reports.pages.finding import finding_of
from quidnunc.reports.pages.markdown import issue_of
from quidnunc.reports.pages.mechanisms import mechanism_of, mechanisms_of
from quidnunc.reports.pages.page import ReportContent, page_of, results_of_cases

ROUTERS = Path(__file__).parents[3] / "counterexamples" / "routers"
TOLD = [path.stem for path in (Path(quidnunc.reports.pages.__file__).parent / "mechanisms").glob("*.toml")]


def test_each_router_with_cases_has_its_file() -> None:
    assert sorted(TOLD) == sorted(path.name for path in ROUTERS.iterdir())


@pytest.mark.parametrize("router", TOLD)
def test_each_is_of_a_case_of_the_release_that_was_read(router: str) -> None:
    release, told = mechanisms_of(router)
    for name, each in told.items():
        case = load(ROUTERS / router / f"{name}.case")
        assert case.against == f"{router} {release}", name
        assert mechanism_of(case) is each
        assert each.mechanism.endswith((".", "`")) and each.where.startswith("`"), name
        assert not each.fix.endswith("."), name


@pytest.mark.parametrize("router", TOLD)
def test_each_case_of_the_newest_release_has_one(router: str) -> None:
    release, told = mechanisms_of(router)
    cases = {path.stem for path in (ROUTERS / router).glob("*.case")}
    assert cases == {*told}, cases ^ {*told}
    assert release


def test_another_release_is_told_nothing() -> None:
    case = load(ROUTERS / "go-libp2p-pubsub" / "gs1.0.heartbeat.cut.cut-at-d-high.case")
    assert "### What happens" in issue_of(case) and "issue 589" in issue_of(case)
    older = evolve(case, against="go-libp2p-pubsub 0.18.0")
    assert mechanism_of(older) is None and "### What happens" not in issue_of(older)
    assert mechanism_of(evolve(case, against="python 1.0")) is None


def test_a_root_cause_that_was_just_found_is_known_by_its_clause_and_name() -> None:
    path = ROUTERS / "js-libp2p" / "gs1.1.validation.late-verdict.served-before-verdict.case"
    case = load(path)
    found = evolve(case, path="found/one.case")
    assert mechanism_of(found) == mechanism_of(case) is not None
    assert mechanism_of(evolve(found, quirk="another")) is None
    # The kit may tell it by another name since.
    now = mechanism_of(evolve(found, clause="gs1.0/mesh.members", quirk="mesh-speakers-sees-all-newest"))
    assert now is not None and "fallbackToFloodsub" in now.mechanism
    assert finding_of(found).mechanism is not None


def test_the_page_tells_it_too() -> None:
    case = load(ROUTERS / "cometbft" / "flood.send.once.sends-without-end.case")
    page = page_of(ReportContent(results=results_of_cases([case])))
    assert "<code>pickLane</code> finds a lane exhausted" in page and "issue 1147" in page


def test_names_are_code_and_nothing_else_is_markup() -> None:
    for router in TOLD:
        for each in mechanisms_of(router)[1].values():
            said = " ".join((each.where, each.mechanism, each.fix, each.upstream, each.state))
            assert said.count("`") % 2 == 0 and not re.search(r"[*\\<]", re.sub(r"`[^`]*`", "", said)), said
