"""The report of `quidnunc clauses --text`: one specification, or two revisions of one."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

from quidnunc.model.errors import SpecError
from quidnunc.output import UsageError, count, fields_of, suggestion
from quidnunc.properties.documents import named_sentences as clause_names
from quidnunc.properties.documents.named_sentences import (
    NamedSentence,
    SpecificationText,
    named_sentences,
    recognised_text,
)
from quidnunc.properties.documents.revisions import (
    Quote,
    SentenceChange,
    SpecificationReport,
    changes,
    report,
)
from quidnunc.properties.documents.sentences import Sentence, read_file

NO_TEXT = SpecificationText(
    name="", title="unknown", documents=(), revision="", source="", names=(), prose=(), prints=()
)
"""Stands for a text without clauses, of which revisions can still be compared."""

MAX_NEW = 20
"""New sentences without a demand that are listed in the text; another document may be all new."""


def read(path: str, name: str | None) -> tuple[tuple[Sentence, ...], SpecificationText]:
    """The sentences of a file and the text that it is a revision of. Raises UsageError."""
    try:
        sentences = read_file(path)
        return sentences, _named(name) if name else recognised_text(sentences)
    except SpecError as error:
        message = str(error)
        raise UsageError(message if path in message else f"{path}: {message}") from None


def _named(name: str) -> SpecificationText:
    known = clause_names.texts()
    if name not in known:
        raise UsageError(f"unknown text {name!r}{suggestion(name, known)}; choose from {', '.join(known)}")
    return known[name]


def check_text(path: str, name: str | None) -> SpecificationReport:
    """A specification compared with the clauses of its documents. Raises UsageError."""
    sentences, text = read(path, name)
    return report(sentences, text)


def compare_texts(
    paths: Sequence[str], name: str | None
) -> tuple[tuple[SpecificationText, SpecificationText], tuple[SentenceChange, ...]]:
    """Two revisions, each read with the clauses of its own text. Raises UsageError."""
    sides = []
    for path in paths:
        try:
            sides.append(read(path, name))
        except UsageError as error:
            if "no text that the kit knows" not in str(error):
                raise
            sides.append((read_file(path), NO_TEXT))
    (old, old_text), (new, new_text) = sides
    return (old_text, new_text), changes(named_sentences(old, old_text), named_sentences(new, new_text))


def prints(path: str, name: str | None) -> str:
    """The prints of a specification, as `clauses/texts` keeps them. Raises UsageError."""
    sentences, text = read(path, name)
    return clause_names.write_prints(sentences, text)


def fails(found: SpecificationReport) -> bool:
    """Whether something in the text is not as the clauses have it, or is in none of them."""
    words = any(each.fails for each in (*found.quotes, *found.phrases))
    return bool(words or found.unnamed or found.new or found.lost or found.altered)


# -- one text -----------------------------------------------------------------------------------------------


def print_report(found: SpecificationReport, path: str) -> None:
    """What became of the quotes, and the demands that are in no clause."""
    text = found.text
    print(f"{path}: {text.title}, compared with its clauses of {text.revision}")
    print(f"{len(found.sentences)} sentences, {100 * found.known:.0f} % of them unchanged\n")
    fates = Counter(q.fate for q in found.quotes)
    print("quotes: " + ", ".join(f"{fates[f]} {f}" for f in ("found", "moved", "changed", "gone")))
    for quote in found.quotes:
        _print_fate(quote)
    _print_phrases(found.phrases)
    normative = sum(n.sentence.normative for n in found.sentences)
    print(
        f"\ndemands: {normative} sentences may demand something by their words, "
        f"{len(found.unnamed)} of them belong to no clause"
    )
    for sentence in found.unnamed:
        _print_sentence(sentence)
    if found.new:
        print(f"\nnew, and belongs to no clause: {count(len(found.new), 'sentence')}")
    for sentence in found.new[:MAX_NEW]:
        _print_sentence(sentence)
    if len(found.new) > MAX_NEW:
        print(f"  {len(found.new) - MAX_NEW} more: --json")
    print(f"\nsentences that clauses name: {len(found.altered)} changed, {len(found.removed)} removed")
    for each in found.altered:
        where = f"line {each.sentence.line}, under {each.sentence.heading or 'no heading'}"
        print(f"  changed: {', '.join(each.names)}: {where}")
        _indented(each.sentence.text)
        for change in each.changes:
            _indented(f"named by: {change}")
    for each_removed in found.removed:
        heading = each_removed.heading or "no heading"
        print(f"  removed: {', '.join(each_removed.names)}: was under {heading}")


def _print_fate(quote: Quote) -> None:
    """Where a quote or a phrase stands that is not as it was."""
    if quote.fate == "found":
        return
    where = f"line {quote.line}, under {quote.heading or 'no heading'}" if quote.line else "not there"
    was = f"; was under {quote.was}" if quote.fate == "moved" else ""
    print(f"  {quote.fate:8}{quote.clause}: {where}{was}")
    _indented(quote.change)


def _print_phrases(phrases: Sequence[Quote]) -> None:
    """The words that show a keyword; those of another revision need not be there."""
    if not phrases:
        return
    elsewhere = [each for each in phrases if each.only_in and each.fate != "found"]
    fates = Counter(each.fate for each in phrases if each not in elsewhere)
    counted = ", ".join(f"{fates[f]} {f}" for f in ("found", "changed", "gone"))
    print(f"\nphrases that show a keyword: {counted}, {len(elsewhere)} of another revision")
    for each in phrases:
        if each in elsewhere:
            print(f"  {each.clause}: only in {each.only_in}")
        else:
            _print_fate(each)


def _print_sentence(sentence: Sentence) -> None:
    print(f"  line {sentence.line}, under {sentence.heading or 'no heading'}")
    _indented(sentence.text)


def report_json(found: SpecificationReport, path: str) -> dict[str, Any]:
    """The same, and every sentence with the clauses that name it, in the shape that scripts read."""
    return {
        "schema": 1,
        "file": path,
        "text": found.text.name,
        "revision": found.text.revision,
        "as_then": round(found.known, 4),
        "quotes": [
            fields_of(quote, "clause", "fate", "line", "heading", "was", "change") for quote in found.quotes
        ],
        "phrases": [
            fields_of(phrase, "clause", "fate", "line", "heading", "change", "only_in")
            for phrase in found.phrases
        ],
        "sentences": [_sentence(n) for n in found.sentences],
        "unnamed": [_place(s) for s in found.unnamed],
        "new": [_place(s) for s in found.new],
        "altered": [
            {
                **_place(n.sentence),
                "normative": n.sentence.normative,
                "clauses": list(n.names),
                "no_rule": "",
                "changes": list(n.changes),
            }
            for n in found.altered
        ],
        "lost": [{"heading": p.heading, "clauses": list(p.names)} for p in found.lost],
    }


def _sentence(each: NamedSentence) -> dict[str, Any]:
    return {
        **_place(each.sentence),
        "normative": each.sentence.normative,
        "clauses": list(each.names),
        "no_rule": each.reason,
    }


def _place(sentence: Sentence) -> dict[str, Any]:
    return fields_of(sentence, "line", "heading", "text")


# -- two revisions ------------------------------------------------------------------------------------------


def print_changes(
    sides: tuple[SpecificationText, SpecificationText], found: Sequence[SentenceChange], paths: Sequence[str]
) -> None:
    """Each changed sentence, in the order of the new revision, with its clauses."""
    for word, path, text in zip(("from", "to  "), paths, sides, strict=True):
        print(f"{word} {path}: {text.title}{', ' + text.revision if text.revision else ''}")
    kinds = Counter(c.kind for c in found)
    counted = ", ".join(f"{kinds[k]} {k}" for k in ("changed", "added", "removed", "moved"))
    print(f"\nsentences: {counted}")
    for change in found:
        side = change.new or change.old
        assert side is not None
        print(f"  {change.kind}, line {side.sentence.line}: {', '.join(change.clauses) or 'in no clause'}")
        _indented(change.text)


def changes_json(
    sides: tuple[SpecificationText, SpecificationText], found: Sequence[SentenceChange], paths: Sequence[str]
) -> dict[str, Any]:
    """What `print_changes` says, in the shape that scripts read."""
    return {
        "schema": 1,
        "files": list(paths),
        "texts": [text.name for text in sides],
        "changes": [
            {
                "kind": c.kind,
                "clauses": list(c.clauses),
                "old": _place(c.old.sentence) if c.old else None,
                "new": _place(c.new.sentence) if c.new else None,
                "change": c.text,
            }
            for c in found
        ],
    }


def _indented(text: str) -> None:
    if text:
        print(textwrap.fill(" ".join(text.split()), 100, initial_indent="    ", subsequent_indent="    "))
