"""The sentences that statements are about, word for word, with the document and heading of each."""

from __future__ import annotations

from attrs import frozen

from quidnunc.properties.documents.clauses import load
from quidnunc.properties.documents.named_sentences import digest, texts
from quidnunc.properties.documents.sentences import read, run_of, words_of
from quidnunc.properties.statements.catalogue import clauses_of
from quidnunc.properties.statements.statement import Statement

OURS = "ours; no sentence"


@frozen
class Quote:
    """One sentence, or a part of one, and where it stands."""

    words: str
    document: str
    """The title of the document."""
    heading: str


def quotes_of(statement: Statement) -> tuple[Quote, ...]:
    """The sentences that it names; else the first quote of a clause that it rests on.

    Raises KeyError where it names a clause without a quote, or a sentence that is not in its document.
    """
    if statement.unquoted:
        return ()
    if statement.quotes:
        return tuple(map(_quote, statement.quotes))
    return next(((_of_clause(clause),) for clause in clauses_of(statement) if load()[clause].quote), ())


def _quote(of: str) -> Quote:
    name, _, words = of.partition(": ")
    return _of_text(name, words) if words else _of_clause(of)


def _of_clause(clause: str) -> Quote:
    text = next((text for text in texts().values() if clause in text.quoted), None)
    words = load()[clause].quote
    if text is None or not words:
        raise KeyError(f"{clause} has no quote")
    return Quote(words, text.title, text.quoted[clause])


def _of_text(name: str, words: str) -> Quote:
    """A sentence of a text, or a run of words that its table of fragments has."""
    text, wanted = texts()[name], {digest(sentence.marks) for sentence in read(words)}
    found = [each.heading for each in text.prints if each.digest in wanted]
    run = run_of(words_of(words))
    if len(wanted) == 1 and found:
        return Quote(words, text.title, found[0])
    if not any(run in fragment for fragment, _ in (*text.names, *text.prose)):
        raise KeyError(f"neither a sentence of {name} nor a fragment that its table has: {words}")
    return Quote(words, text.title, "")


def told(statement: Statement) -> str:
    """The quotes for a cell of a table, or that there is no sentence."""
    found = quotes_of(statement)
    if found:
        return "<br>".join(f'"{q.words}" ({": ".join(filter(None, (q.document, q.heading)))})' for q in found)
    if statement.unquoted or not clauses_of(statement):
        return statement.unquoted or OURS
    return (
        f"no sentence is quoted; rests on {', '.join(f'`{clause}`' for clause in clauses_of(statement)[:2])}"
    )
