"""Which clause names which sentence: the tables that ship, and tables that are wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from quidnunc.model.errors import SpecError
from quidnunc.properties.documents import named_sentences as clause_names
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.documents.named_sentences import (
    SpecificationText,
    digest,
    named_sentences,
    parse,
    quoted_at,
    read_prints,
    recognised_text,
    texts,
    write_prints,
)
from quidnunc.properties.documents.revisions import report
from quidnunc.properties.documents.sentences import read, read_file

SPECIFICATIONS = "QUIDNUNC_SPECIFICATIONS"
"""A folder with specifications, as they are published; the tests that need them are skipped without."""

TABLE = """\
[text]
name = "gossipsub-1.2"
title = "Whispers"
documents = ["gossipsub-1.2"]
revision = "r1"
source = "somewhere"

[names]
"gs1.2/idontwant.cap" = ["at most ten whispers", "no more than that"]

[prose]
"An example." = ["for example ten"]
"""

OWN = """\
# Whispers

## Limits

A peer may send at most ten whispers. It must send no more than that, for example ten.
That should be for example ten. It is never loud.

## Skipping

When later relaying the messageId message to the mesh the peers found in `dont_send_message_ids` MUST be
skipped.
"""


@pytest.fixture
def own() -> SpecificationText:
    return parse("gossipsub-1.2", TABLE, "")


# -- the tables that ship -----------------------------------------------------------------------------------


def test_no_demand_of_a_specification_is_without_a_clause_or_a_reason() -> None:
    """Of the prints, which need no specification at hand: the share of it that CI sees on every machine."""
    open_ = [
        (text.name, p.heading, p.digest)
        for text in texts().values()
        for p in text.prints
        if p.normative and not p.names and not p.prose
    ]
    assert open_ == []
    assert sum(p.normative for text in texts().values() for p in text.prints) > 500


def test_every_text_has_prints_and_clauses() -> None:
    for text in texts().values():
        assert len(text.prints) >= 10, text.name
        assert any(p.names for p in text.prints), text.name


@pytest.mark.parametrize("name", texts())
def test_names_are_clauses_of_the_text_and_are_used(name: str) -> None:
    text, known = texts()[name], load()
    printed = {clause for p in text.prints for clause in p.names}
    for _, clause in text.names:
        assert clause in known, f"texts/{name}.toml names {clause}, which no table has"
        assert known[clause].document in text.documents, clause
    assert {clause for _, clause in text.names} <= printed, "a fragment is in no sentence"
    assert printed <= set(known), f"texts/{name}.prints is older than the tables; write it anew"


def test_reasons_are_sentences() -> None:
    for text in texts().values():
        for _, reason in text.prose:
            assert len(reason) > 10 and reason.endswith("."), reason


def test_a_quote_is_of_some_text() -> None:
    """Of each document whose text the kit has the prints of; what is read off code has none."""
    printed = {document for text in texts().values() for document in text.documents}
    quoted = {clause for text in texts().values() for clause in text.quoted}
    clauses = [clause for clause in load().values() if clause.document in printed and clause.quote]
    lost = [clause.id for clause in clauses if clause.id not in quoted]
    assert lost == [], "quotes that no specification has: correct them, or write the prints anew (--prints)"


def test_every_specification_at_hand_is_named_in_full() -> None:
    """The documents themselves, where they are: nothing moved, changed, gone or unnamed in any."""
    folder = os.environ.get(SPECIFICATIONS)
    if not folder:
        pytest.skip(f"{SPECIFICATIONS} names no folder with specifications")
    files = sorted(path for path in Path(folder).rglob("*") if path.suffix in (".md", ".txt"))
    assert files
    for path in files:
        sentences = read_file(str(path))
        found = report(sentences, recognised_text(sentences))
        assert found.unnamed == (), path
        assert [q for q in found.quotes if q.fate != "found"] == [], path
        assert (found.altered, found.lost) == ((), ()), path


# -- naming -------------------------------------------------------------------------------------------------


def test_sentences_are_named_by_fragments_and_quotes(own: SpecificationText) -> None:
    found = named_sentences(read(OWN), own)
    assert [(n.names, n.reason, n.unnamed) for n in found] == [
        (("gs1.2/idontwant.cap",), "", False),
        (("gs1.2/idontwant.cap",), "", False),
        ((), "An example.", False),
        ((), "", True),
        (("gs1.2/idontwant.skip",), "", False),
    ]
    assert found[4].quoting == ("gs1.2/idontwant.skip",) and found[0].quoting == ()


def test_a_quote_may_span_sentences_or_be_a_piece() -> None:
    sentences = read("One two three. Four five six. Seven eight.")
    assert quoted_at(sentences, "two three. Four") == (0, 1)
    assert quoted_at(sentences, "five") == (1,)
    assert quoted_at(sentences, "Seven eight.") == (2,)
    assert quoted_at(sentences, "three five") == () == quoted_at(sentences, "")
    assert quoted_at(sentences, "our") == (), "a piece of a word is no word"


def test_prints_say_what_was_named(own: SpecificationText) -> None:
    prints = read_prints("here", write_prints(read(OWN), own))
    assert [(p.heading, p.normative, p.names, p.quoting, p.prose) for p in prints] == [
        ("Limits", True, ("gs1.2/idontwant.cap",), (), False),
        ("Limits", True, ("gs1.2/idontwant.cap",), (), False),
        ("Limits", True, (), (), True),
        ("Limits", True, (), (), False),
        ("Skipping", True, ("gs1.2/idontwant.skip",), ("gs1.2/idontwant.skip",), False),
    ]
    assert prints[3].digest == digest(("it", "is", "never", "loud"))


def test_a_text_is_recognised_by_its_sentences(
    monkeypatch: pytest.MonkeyPatch, own: SpecificationText
) -> None:
    prints = write_prints(read(OWN), own)
    known = {
        "old": parse("gossipsub-1.2", TABLE, prints.replace(digest(("it", "is", "never", "loud")), "0" * 12)),
        "new": parse("gossipsub-1.2", TABLE, prints),
    }
    monkeypatch.setattr(clause_names, "texts", lambda: known)
    assert recognised_text(read(OWN)) is known["new"]
    with pytest.raises(SpecError, match="no text that the kit knows; it knows old, new"):
        recognised_text(read("Something else. Entirely so. In four. Sentences."))


# -- tables that are wrong ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("[text]", "[text", "not TOML"),
        ('title = "Whispers"\n', "", "needs [text] with"),
        ("[prose]", "[notes]", "needs [text] with"),
        ('documents = ["gossipsub-1.2"]', 'documents = ["whisper"]', "documents are wrong"),
        ('name = "gossipsub-1.2"', 'name = "other"', "documents are wrong: other"),
        ('["for example ten"]', "[]", "[prose]: 'An example.' needs a list of fragments"),
        ('["for example ten"]', '["..."]', "[prose]: 'An example.': '...' has no words"),
        ('["for example ten"]', "[7]", "[prose]: 'An example.': 7 has no words"),
    ],
)
def test_a_wrong_table_is_refused_by_file_and_entry(old: str, new: str, complaint: str) -> None:
    assert old in TABLE
    with pytest.raises(SpecError) as refused:
        parse("gossipsub-1.2", TABLE.replace(old, new), "")
    assert str(refused.value).startswith("clauses/texts/gossipsub-1.2.toml: ")
    assert complaint in str(refused.value)


def test_wrong_prints_are_refused_by_line() -> None:
    with pytest.raises(SpecError, match="x.prints:2: 'oops' is no print"):
        read_prints("x.prints", "# head\noops\n")


def test_a_package_without_its_tables_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clauses" / "texts").mkdir(parents=True)
    monkeypatch.setattr(clause_names, "files", lambda package: tmp_path)
    read_them: Mapping[str, SpecificationText]
    with pytest.raises(SpecError, match="no tables in .*: the package data is missing"):
        read_them = texts.__wrapped__()
        assert read_them


def test_every_phrase_stands_in_a_text_or_says_in_which_revision() -> None:
    """Else nothing looks for it. Mutant: a phrase without `phrase_in` that no sentence of a text has."""
    named = {name for text in texts().values() for each in text.prints for name in each.names}
    phrases = [clause for clause in load().values() if clause.phrase]
    assert len(phrases) > 3
    assert [c.id for c in phrases if not (c.phrase_in or c.id in named)] == []
