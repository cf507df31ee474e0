"""Where the sentence of a clause stands in the published specification."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from attrs import frozen

from quidnunc.properties.documents.clauses import documents, load
from quidnunc.properties.documents.named_sentences import texts

SOURCE = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+), (?P<path>\S+\.(?:md|go))")
"""How the source of a text names its file."""


@frozen
class SpecificationPlace:
    """A document, and the heading in it."""

    title: str
    revision: str
    url: str
    """Of the newest published text, at the heading; empty where the document is not one published file."""
    heading: str = ""


def place_of(clause: str) -> SpecificationPlace | None:
    """Where the sentence of a clause stands; None for an unknown clause.

    The link is to the newest text, which may have changed since `revision`.
    """
    known = load().get(clause)
    if known is None:
        return None
    if found := _quoted().get(clause):
        return found
    document = documents()[known.document]
    return SpecificationPlace(document.title, document.revision, url_of(document.source))


@lru_cache(maxsize=1)
def _quoted() -> Mapping[str, SpecificationPlace]:
    """The clauses that some sentence of a text is named for: where it is quoted, else in the document that it
    is of, else in the first text."""
    own: dict[str, SpecificationPlace] = {}
    found: dict[str, SpecificationPlace] = {}
    quotes: dict[str, SpecificationPlace] = {}
    for text in texts().values():
        for sentence in text.prints:
            url = url_of(text.source)
            anchor = f"#{slug(sentence.heading)}" if url and sentence.heading else ""
            place = SpecificationPlace(text.title, text.revision, url + anchor, sentence.heading)
            for clause in sentence.names:
                found.setdefault(clause, place)
                if clause in load() and load()[clause].document == text.name:
                    own.setdefault(clause, place)
            for clause in sentence.quoting:
                quotes.setdefault(clause, place)
    return {**found, **own, **quotes}


def url_of(source: str) -> str:
    named = SOURCE.search(source)
    return f"https://github.com/{named['repository']}/blob/HEAD/{named['path']}" if named else ""


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
