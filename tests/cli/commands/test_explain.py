"""`quidnunc explain` knows every name that the kit prints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import pytest

from quidnunc.commands.explain import known_names, named
from quidnunc.model.edits.readings import READINGS
from quidnunc.model.machine import PROTOCOLS
from quidnunc.pipeline.lake.gold.claims import CLAIMS
from quidnunc.properties.cases.outcome import Outcome
from quidnunc.properties.claims.catalogue import VerdictName
from quidnunc.properties.params.citations import ROWS
from quidnunc.properties.proofs.citations import VERDICTS
from quidnunc.properties.proofs.networks import NETWORKS, claims_of_network
from quidnunc.properties.recall.bugs import known_bugs
from quidnunc.properties.search.crashes import ANY_CRASH
from quidnunc.properties.solver.result import Verdict
from tests.conftest import Command

ROOT = Path(__file__).parents[3]
PAGE_LINE = re.compile(r"^\| `([\w.-]+)`", re.MULTILINE)


def causes_printed() -> list[str]:
    """Causes of committed expectations, and those that name no edit."""
    text = (ROOT / "counterexamples/routers/py-libp2p/expect.toml").read_text(encoding="utf-8")
    kinds = ("missing", "unexpected", "differs", "choice", "withdrawn")
    unnamed = [f"unexplained:{kind}" for kind in kinds]
    return [*re.findall(r'^cause = "(.+)"$', text, re.MULTILINE), *unnamed, ANY_CRASH, "crash 3", "adds:x"]


def changes_printed() -> list[str]:
    """Rules as `diff` and `regress` name them."""
    return list(dict.fromkeys(f"{h}/{r.name}" for p in PROTOCOLS.values() for h, r in p.rules()))


PRINTED: Mapping[str, list[str]] = {
    "lines of prove": list(VERDICTS),
    "claims of traces": [claim.id for claim in CLAIMS],
    "claims of explore": [claim.id for name in NETWORKS for claim in claims_of_network(name)],
    "networks": list(NETWORKS),
    "readings": [reading.name for reading in READINGS],
    "causes": causes_printed(),
    "changes": changes_printed(),
    "guarantees": list(ROWS),
    "known bugs": list(known_bugs()),
    "verdicts": [*get_args(VerdictName), *get_args(Outcome), *get_args(Verdict)],
    "protocols": list(PROTOCOLS),
    "kinds": [name for _, names, _ in known_names() for name in names],
}
"""What prints it -> the names, of the tables from which they are printed."""


@pytest.mark.parametrize("kind", PRINTED)
def test_every_name_that_is_printed_is_explained(kind: str) -> None:
    assert PRINTED[kind]
    assert [name for name in dict.fromkeys(PRINTED[kind]) if named(name) is None] == []


@pytest.mark.parametrize("kind", range(len(known_names())))
def test_each_kind_of_thing_can_be_told(kind: int) -> None:
    _, names, describe = known_names()[kind]
    for name in (min(names), max(names)):
        assert any(describe(names[name]).values()), name


def test_lines_of_the_page_are_lines_that_are_known() -> None:
    lines = PAGE_LINE.findall((ROOT / "docs" / "prove.md").read_text(encoding="utf-8"))
    assert len(lines) > 50 and {*lines} <= {*VERDICTS}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mesh-star.rest", "recorded: refuted"),
        ("deliver.to-all", "it is counted only"),
        ("mesh-link.bidirectional", "networks:"),
        ("unexplained:choice", "chose what the texts do not allow"),
        ("graft/while_backing_off", "change of: rule while_backing_off of graft"),
        ("no-starving", "does not keep a score above zero for ever"),
        ("GO-02", "quidnunc recall GO-02"),
        ("undecided", "something else that the router does hides it"),
    ],
)
def test_what_is_said_of_a_name(quidnunc: Command, name: str, said: str) -> None:
    assert said in quidnunc("explain", name).out


def test_a_name_that_nothing_has_gets_the_nearest(quidnunc: Command) -> None:
    ran = quidnunc("explain", "deliver.to-al")
    assert ran.code == 2 and "did you mean deliver.to-all?" in ran.err
    assert quidnunc("explain", "graft/no_such_rule").code == 2
    assert quidnunc("explain", "unexplainable").code == 2


@pytest.mark.parametrize(
    "words",
    [
        "After processing the message payload, the router will process the control payload.",
        "first process the message payload",
        "Upon receiving a message, the router will first process the message payload. And then the rest.",
    ],
)
def test_a_sentence_is_taken_for_its_clause(quidnunc: Command, words: str) -> None:
    ran = quidnunc("explain", words)
    assert ran.code == 0 and ran.out.startswith("clause gs1.0/rpc.payload-first\n")
    assert ran.out.endswith("again: quidnunc explain gs1.0/rpc.payload-first\n")


def test_words_of_several_clauses_or_of_none_are_refused(quidnunc: Command) -> None:
    several, none = quidnunc("explain", "the router will"), quidnunc("explain", "the router emits words")
    assert (several.code, none.code) == (2, 2)
    assert "clauses have these words, name one of them:\n  gs1.0/" in several.err
    assert re.search(r"\n  and \d+ more\n", several.err) and "  gs1.0/relay.seen: A message" in several.err
    assert "no clause has the words 'the router emits words'; `quidnunc clauses` lists" in none.err


def test_a_quote_is_said_to_be_of_its_own_document(quidnunc: Command) -> None:
    """The table of DOG's clauses is of two documents."""
    assert "dog.md)" in quidnunc("explain", "dog/reset.one", "--json").data["document"]
    assert quidnunc("explain", "dog/havetx.reply", "--json").data["document"].startswith("ADR 119")
    rows = {row["id"]: row for row in quidnunc("clauses", "dog", "--json").data["clauses"]}
    assert rows["dog/reset.one"]["source"].endswith("gossip/dog.md")
    assert "ADR-119" in rows["dog/havetx.reply"]["source"]


def test_a_keyword_is_shown_in_the_words_of_the_text(quidnunc: Command) -> None:
    assert "\nphrase: " in quidnunc("explain", "gs1.2/iwant.cancel").out
    assert "\nkeyword: none\nbasis: algorithm\n" in quidnunc("explain", "gs1.1/backoff.regraft").out
    for row in quidnunc("clauses", "--json").data["clauses"]:
        assert row["keyword"] == "none" or row["keyword"] in f"{row['quote']} {row['phrase']}", row["id"]


@pytest.mark.parametrize("name", ["cat/announcers", "gossipsub-1.2/while_backing_off-1"])
def test_a_rule_or_a_case_is_found_with_its_protocol(quidnunc: Command, name: str) -> None:
    """Kills: the names that a suite prints are unknown to explain."""
    assert quidnunc("explain", name).code == 0
    assert quidnunc("explain", name.replace("/", "/no_")).code == 2
