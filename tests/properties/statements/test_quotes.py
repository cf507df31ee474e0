"""What statements quote is in the documents, and what is ours quotes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.properties.documents.sentences import run_of, words_of
from quidnunc.properties.statements.catalogue import STATEMENTS, statement_named
from quidnunc.properties.statements.quotes import OURS, quotes_of, told
from quidnunc.properties.statements.statement import Statement

SEEDS = Path(__file__).parents[4] / "shared" / "seeds"
ADR = "ADR 119: Dynamic Optimal Graph (DOG) gossip protocol"


def statement(name: str) -> Statement:
    found = statement_named(name)
    assert found is not None
    return found


@pytest.mark.parametrize("each", STATEMENTS, ids=lambda s: s.id)
def test_a_statement_quotes_or_says_why_not(each: Statement) -> None:
    found = quotes_of(each)
    assert bool(found) != told(each).startswith((OURS, "not quoted", "no sentence is quoted"))
    assert not (each.unquoted and each.quotes)
    assert not each.unquoted or each.unquoted.startswith((OURS, "not quoted: ", "ours; no sentence"))


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the documents are not beside the checkout")
def test_what_the_adr_is_quoted_for_is_in_it() -> None:
    texts = [run_of(words_of(path.read_text(encoding="utf-8"))) for path in sorted(SEEDS.glob("*.txt"))]
    quotes = {q.words for each in STATEMENTS for q in quotes_of(each) if q.document == ADR}
    assert len(quotes) > 5
    for words in quotes:
        assert any(run_of(words_of(words)).strip() in text for text in texts), words


@pytest.mark.parametrize(
    "quote", ["adr-119: DOG is never slower than Flood.", "dog: no such run of words", "dog/havetx.to-sender"]
)
def test_what_no_document_says_is_refused(quote: str) -> None:
    with pytest.raises(KeyError):
        quotes_of(evolve(statement("P-46"), unquoted="", quotes=(quote,)))


def test_a_quote_is_shown_with_its_place() -> None:
    shown = told(statement("P-13"))
    assert shown.endswith(f'if the redundancy is too high." ({ADR}: TryAddTx)')
    assert told(statement("P-46")).startswith(f"{OURS}: ")
    assert told(statement("P-5")) == "no sentence is quoted; rests on `dog/havetx.to-sender`"
