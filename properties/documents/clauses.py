"""The clauses of the protocols: what each sentence of a document demands, under a name of words.

The tables are data, one TOML file per document, in `quidnunc.model`. Rules, claims, permits and reports name
a clause by its id (`gs1.1/backoff.regraft`); this module is the one place where the tables are read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast, get_args

from attrs import Attribute, fields, frozen

from quidnunc.model.errors import SpecError

Keyword: TypeAlias = Literal["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "none"]
"""The word that the text itself writes in capitals, or none."""

Basis: TypeAlias = Literal[
    "sentence", "advice", "permission", "algorithm", "pseudo-code", "table", "schema", "convention"
]
"""What the clause rests on: a normative sentence, a sentence with `should` or `may` in lower case, a step of
the algorithm or what follows from its steps, pseudo-code, a table of parameters, a definition of messages, or
no text at all but common practice."""

GROUNDS: Mapping[Basis, str] = MappingProxyType(
    {
        "sentence": "the text says so",
        "advice": "the text advises it",
        "permission": "the text permits it",
        "algorithm": "the algorithm does",
        "pseudo-code": "the pseudo-code does",
        "table": "by a table of parameters",
        "schema": "by the message format",
        "convention": "by common practice",
    }
)
"""Basis of a clause without a keyword -> how reports say it."""

Breach: TypeAlias = Literal["fails", "deviates", "observed"]
"""The verdict on a router that departs from a clause."""

Status: TypeAlias = Literal["ruled", "by-construction", "exception", "not-modelled"]
"""`ruled`: a rule of the model formalises it; `by-construction`: it holds of the values, the codec or the
harness and needs no rule; `exception`: we do not hold a router to it; `not-modelled`: not yet. The last two
must give a reason."""

MAX_QUOTED_SENTENCES = 2


@frozen(kw_only=True)
class Document:
    """What the clauses of one file are from."""

    name: str
    """The file's name without `.toml`: `gossipsub-1.1`."""
    prefix: str
    """The part before the slash in the ids: `gs1.1`."""
    title: str
    revision: str
    date: str
    """Of the revision, as YYYY-MM-DD."""
    source: str


@frozen(kw_only=True)
class Clause:
    """One sentence, or what one part of a sentence demands."""

    id: str
    """`prefix/topic.short-name`, in words; never changes and is never used for another sentence."""
    ref: str
    """The row of the reference catalogue that it was taken from; several clauses may share one."""
    keyword: Keyword
    basis: Basis
    phrase: str = ""
    """The words around the keyword, where no quote shows it."""
    phrase_in: str = ""
    """The revision that the phrase is of, where the revision of the document does not have it."""
    status: Status
    carried_by: str = ""
    """Of a clause that no rule is named for: the clause whose rule it is part of, or, where it holds by
    construction, the one whose claim fails where it does not."""
    text: str
    """Our own paraphrase."""
    quote: str = ""
    """The document's words without their markup, at most two sentences; empty where they are not short."""
    context: str = ""
    """What a reader of the quote alone lacks: whom its "it" means, and why it binds here."""
    violation: str
    """What an observer of one router would see if it did not hold."""
    reason: str = ""
    disputed: str = ""
    """Where the document contradicts itself, is contradicted by all routers, or can be read in two ways."""
    disputed_for: str = ""
    """Names of the root causes that this is about, where it is not about all against the clause."""
    document: str
    """The name of the document."""

    @property
    def level(self) -> str:
        """M, S or Y where the text writes MUST, SHOULD or MAY in capitals; I everywhere else."""
        return {"MU": "M", "SH": "S", "MA": "Y"}.get(self.keyword[:2], "I")

    @property
    def ground(self) -> str:
        """The keyword, or in a few words why a router is asked to keep to the clause without one."""
        return self.keyword if self.keyword != "none" else GROUNDS[self.basis]

    def dispute_about(self, cause: str) -> str:
        """What is disputed of the clause, if a root cause of that name is touched by it."""
        about = self.disputed_for.split()
        return "" if about and cause not in about else " ".join(self.disputed.split())

    @property
    def optional(self) -> bool:
        """Whether the text leaves it to the router."""
        return self.keyword == "MAY" or (self.keyword == "none" and self.basis == "permission")

    @property
    def breach(self) -> Breach:
        """What to make of a router that departs from it."""
        if self.level in "SY" or (self.keyword == "none" and self.basis in ("advice", "permission")):
            return "deviates"
        return "observed" if self.basis == "convention" else "fails"


@lru_cache(maxsize=1)
def load() -> Mapping[str, Clause]:
    """All clauses by id, in the order of the files' names and then of the files. Raises SpecError."""
    table: dict[str, Clause] = {}
    for _, clauses in _tables():
        for clause in clauses:
            if clause.id in table:
                other = table[clause.id].document
                raise SpecError(f"clauses/{clause.document}.toml: {clause.id} is in {other}.toml already")
            table[clause.id] = clause
    for clause in table.values():
        _check_carrier(clause, table)
    return MappingProxyType(table)


@lru_cache(maxsize=1)
def documents() -> Mapping[str, Document]:
    """The documents by name. Raises SpecError."""
    return MappingProxyType({document.name: document for document, _ in _tables()})


@lru_cache(maxsize=1)
def _tables() -> tuple[tuple[Document, tuple[Clause, ...]], ...]:
    folder = files("quidnunc.model") / "clauses"
    found = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    if not found:
        raise SpecError(f"no clause tables in {folder}: the package data is missing, reinstall quidnunc")
    return tuple(parse(f.name.removesuffix(".toml"), f.read_text(encoding="utf-8")) for f in found)


def _check_carrier(clause: Clause, table: Mapping[str, Clause]) -> None:
    """A carrier has a rule or a claim of its own, so that no chain has to be followed."""
    if not clause.carried_by:
        return
    place = f"clauses/{clause.document}.toml: {clause.id}"
    carrier = table.get(clause.carried_by)
    if carrier is None:
        raise SpecError(f"{place}: carried_by names {clause.carried_by!r}, which no file has")
    if clause.status == "ruled" and (carrier.status != "ruled" or carrier.carried_by):
        raise SpecError(f"{place}: carried_by names {carrier.id}, which has no rule of its own")
    if carrier.status not in ("ruled", "by-construction"):
        raise SpecError(f"{place}: carried_by names {carrier.id}, to which nothing is held")


def parse(name: str, text: str) -> tuple[Document, tuple[Clause, ...]]:
    """Read the table of document `name`. Raises SpecError, which names the file and the clause."""
    where = f"clauses/{name}.toml"
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise SpecError(f"{where}: not TOML: {e}") from None
    unknown = sorted(data.keys() - {"document", "clause"})
    if unknown:
        raise SpecError(f"{where}: unknown table {unknown[0]!r}; there are [document] and [[clause]]")
    header, rows = data.get("document"), data.get("clause")
    if not isinstance(header, dict) or not isinstance(rows, list) or not rows:
        raise SpecError(f"{where}: needs one [document] table and at least one [[clause]]")
    document = _document(where, name, header)
    clauses = tuple(_clause(where, at, row, document) for at, row in enumerate(rows, start=1))
    _refuse_twins(where, clauses)
    return document, clauses


def _document(where: str, name: str, row: Mapping[str, object]) -> Document:
    place = f"{where}: [document]"
    _check_fields(place, row, fields(Document))
    document = Document(**cast("dict[str, Any]", row))
    if document.name != name:
        raise SpecError(f"{place}: name is {document.name!r}, the file's is {name!r}")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", document.date):
        raise SpecError(f"{place}: date is {document.date!r}, needed is YYYY-MM-DD")
    return document


def _clause(where: str, at: int, row: object, document: Document) -> Clause:
    if not isinstance(row, dict):
        raise SpecError(f"{where}: clause {at} is no table; write [[clause]] before it")
    place = f"{where}: {row.get('id', f'clause {at}')}"
    _check_fields(place, row, (a for a in fields(Clause) if a.name != "document"))
    _check_values(place, row, document.prefix)
    return Clause(**cast("dict[str, Any]", row), document=document.name)


def _check_fields(place: str, row: Mapping[str, object], known: Iterable[Attribute[Any]]) -> None:
    """Refuse unknown, missing, empty and wrongly typed fields."""
    by_name = {a.name: a for a in known}
    unknown = sorted(row.keys() - by_name.keys())
    if unknown:
        raise SpecError(f"{place}: unknown field {unknown[0]!r}; the fields are {', '.join(by_name)}")
    for name, attribute in by_name.items():
        # Every attribute that may be left out has an empty value as its default, so none is written.
        if name not in row:
            if attribute.default not in ("", False):
                raise SpecError(f"{place}: field {name!r} is missing")
            continue
        wanted: type = bool if attribute.default is False else str
        if not isinstance(row[name], wanted) or not row[name]:
            raise SpecError(f"{place}: field {name!r} is {row[name]!r}, needed is a filled {wanted.__name__}")


def _check_values(place: str, row: Mapping[str, object], prefix: str) -> None:
    """Refuse values that no clause may have, alone or together."""
    if not re.fullmatch(re.escape(prefix) + r"/[a-z]+\.[a-z]+(-[a-z]+)*", str(row["id"])):
        raise SpecError(f"{place}: the id must be {prefix}/topic.short-name, in lower-case words")
    for name, allowed in (
        ("keyword", get_args(Keyword)),
        ("basis", get_args(Basis)),
        ("status", get_args(Status)),
    ):
        if row[name] not in allowed:
            raise SpecError(f"{place}: {name} is {row[name]!r}, allowed are {', '.join(allowed)}")
    _check_keyword(place, row)
    if "carried_by" in row and row["status"] not in ("ruled", "by-construction"):
        raise SpecError(
            f"{place}: carried_by is for what is ruled or holds by construction, but the status is "
            f"{row['status']}"
        )
    if row["status"] in ("exception", "not-modelled") and "reason" not in row:
        raise SpecError(f"{place}: status {row['status']} needs a reason")
    quoted = sentences(str(row.get("quote", "")))
    if quoted > MAX_QUOTED_SENTENCES:
        raise SpecError(f"{place}: {quoted} sentences are quoted, at most {MAX_QUOTED_SENTENCES} may be")


def _check_keyword(place: str, row: Mapping[str, object]) -> None:
    """Refuse a keyword that the words of the text do not show in capitals."""
    keyword, shown = str(row["keyword"]), f"{row.get('quote', '')} {row.get('phrase', '')}"
    if "phrase_in" in row and "phrase" not in row:
        raise SpecError(f"{place}: phrase_in names the revision of a phrase, and there is no phrase")
    if keyword == "none":
        if "phrase" in row:
            raise SpecError(f"{place}: phrase shows a keyword, and the keyword is none")
        return
    if row["basis"] != "sentence":
        raise SpecError(f"{place}: a keyword stands in a sentence, but the basis is {row['basis']}")
    if not re.search(rf"\b{keyword}\b", shown):
        raise SpecError(f"{place}: neither quote nor phrase has {keyword} in capitals; write keyword none")


def _refuse_twins(where: str, clauses: Iterable[Clause]) -> None:
    seen: set[str] = set()
    for clause in clauses:
        if clause.id in seen:
            raise SpecError(f"{where}: {clause.id} is there twice")
        seen.add(clause.id)


def sentences(text: str) -> int:
    """How many sentences `text` has. "I.e." and "e.g." within one do not end it."""
    plain = re.sub(r"\b([IiEe])\.([eg])\.", r"\1\2", text.strip())
    return len([part for part in re.split(r"(?<=[.!?])\s+", plain) if part])
