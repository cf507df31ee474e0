"""`quidnunc spec`: each sentence once, with what hangs on it, and what nothing checks is seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.properties.cases.file import load
from quidnunc.properties.coverage import coverage
from quidnunc.properties.documents.named_sentences import texts
from quidnunc.reports.pages import specification
from quidnunc.reports.pages.specification import (
    STATES,
    AnnotatedClause,
    AnnotatedText,
    annotated_texts,
    specification_page,
)
from tests.cli.reports.test_pages import CUT, read
from tests.conftest import Command

FOLDER = CUT.parent


def told(shown: tuple[AnnotatedText, ...]) -> list[AnnotatedClause]:
    return [c for each in shown for c in (*(c for s in each.sentences for c in s.told), *each.unnamed)]


@pytest.mark.parametrize("protocol", ["floodsub", "gossipsub-1.2", "dog", "cat"])
def test_every_clause_and_every_sentence_is_there_once(protocol: str) -> None:
    shown = annotated_texts(protocol)
    ids = [each.id for each in told(shown)]
    assert sorted(ids) == sorted(each.clause.id for each in coverage(protocol))
    for each in shown:
        assert each.total == len(texts()[each.name].prints)
        assert each.demanding == sum(number for _, number in each.states)
    first = next(each for each in shown if each.demanding)
    assert dict(first.states).get("elsewhere", 0) <= first.demanding / 2


def test_the_page_stands_alone() -> None:
    shown = annotated_texts("gossipsub-1.2", [load(CUT)])
    page = read(specification_page("gossipsub-1.2", shown, ["go-libp2p-pubsub"], "quidnunc spec"))
    assert len(page.ids) == len({*page.ids}) > 300
    assert page.open == [] and page.loaded == ["data:,"] and "script" not in page.tags
    inside = {link[1:] for link in page.links if link.startswith("#")}
    assert inside <= {*page.ids} and len(inside) > 300
    assert all(link.startswith(("#", "https://github.com/")) for link in page.links)


def test_a_clause_has_its_rule_its_claims_and_what_routers_do() -> None:
    shown = annotated_texts("gossipsub-1.2", [load(CUT)])
    (cut,) = (each for each in told(shown) if each.id == "gs1.0/heartbeat.cut")
    assert cut.state == "checked" and cut.coverage.claims
    assert any("@rule" in source and "gs1.0/heartbeat.cut" in source for _, source in cut.code)
    (finding,) = cut.findings
    assert finding.router == "go-libp2p-pubsub" and finding.verdict in ("fails", "deviates")
    text = specification_page("gossipsub-1.2", shown, [], "again")
    assert finding.headline in text and "No cases of routers were read" in text


def test_what_nothing_checks_is_seen(monkeypatch: pytest.MonkeyPatch, quidnunc: Command) -> None:
    without = tuple(
        evolve(each, claims=()) if each.clause.id == "gs1.2/idontwant.skip" else each
        for each in coverage("gossipsub-1.2")
    )
    monkeypatch.setattr(specification, "coverage", lambda protocol: without)
    shown = annotated_texts("gossipsub-1.2")
    assert [each.id for each in told(shown) if each.state == "unchecked"] == ["gs1.2/idontwant.skip"]
    (sentence,) = (s for each in shown for s in each.sentences if s.state == "unchecked")
    text = specification_page("gossipsub-1.2", shown, [], "again")
    name = f'href="#gossipsub-1.2-{sentence.number}" title="sentence {sentence.number}: unchecked"'
    assert f'class="s-unchecked" {name}' in text
    said = quidnunc("spec", "gossipsub-1.2", "--cases", CUT)
    assert f"unchecked: gossipsub-1.2, sentence {sentence.number}: gs1.2/idontwant.skip" in said.out


def test_a_sentence_that_may_demand_something_and_that_no_clause_names_is_unchecked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = texts()["gossipsub-1.2"]
    at = next(n for n, each in enumerate(text.prints) if each.normative and each.names)
    bare = evolve(text.prints[at], names=(), quoting=())
    changed = evolve(text, prints=(*text.prints[:at], bare, *text.prints[at + 1 :]))
    monkeypatch.setattr(specification, "texts", lambda: {"gossipsub-1.2": changed})
    (shown,) = annotated_texts("gossipsub-1.2")
    assert [each.number for each in shown.sentences if each.state == "unchecked"] == [at + 1]
    assert "no clause names it" in specification_page("gossipsub-1.2", (shown,), [], "again")


def test_the_command_writes_the_page(tmp_path: Path, quidnunc: Command) -> None:
    file = tmp_path / "spec.html"
    ran = quidnunc("spec", "gossipsub-1.2", "--html", file, "--cases", FOLDER)
    assert ran.code == 0 and f"wrote {file}" in ran.out
    text = file.read_text(encoding="utf-8")
    assert "go-libp2p-pubsub 0.19.0" in text
    data = quidnunc("spec", "gossipsub-1.2", "--json", "--cases", FOLDER).data
    assert {each["state"] for text in data["texts"] for each in text["sentences"]} <= {*STATES}
    assert quidnunc("spec", "gossipsub-9").code == 2
    assert quidnunc("spec", "gossipsub-1.2", "--cases", tmp_path / "none").code == 2


def test_the_command_says_which_sentences_it_counts(quidnunc: Command) -> None:
    assert "demanding: clauses name it, or its words may demand" in quidnunc("spec", "floodsub").out
