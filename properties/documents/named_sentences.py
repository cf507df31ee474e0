"""Which clause names which sentence of a specification, and which sentences demand nothing.

The specifications themselves are not part of the kit. Of each there are two files in `clauses/texts`: a table
of short fragments, each with the clause that names the sentences which have it (or with the reason why they
are no rule), and the prints of all its sentences at the revision that the clauses were taken from.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib.resources import files
from itertools import zip_longest
from typing import Any

from attrs import frozen

from quidnunc.model.errors import SpecError
from quidnunc.properties.documents.clauses import Clause, Document, documents, load
from quidnunc.properties.documents.sentences import Sentence, read, run_of, words_of

FIELDS = frozenset({"text", "names", "prose"})
HEADER = frozenset({"name", "title", "documents", "revision", "source"})


@frozen
class SentenceDigest:
    """One sentence at the revision that the clauses were taken from, without its words."""

    digest: str
    heading: str
    normative: bool
    names: tuple[str, ...]
    """The clauses that name it."""
    quoting: tuple[str, ...]
    """Those of them that quote it."""
    prose: bool
    """It is named as no rule, with a reason."""
    with_next: str = ""
    """The digest of it and the next sentence as one, which a page may show so; where one of them is named."""


@frozen(kw_only=True, slots=False)
class SpecificationText:
    """A specification, without its words."""

    name: str
    title: str
    documents: tuple[str, ...]
    """The tables of clauses that it is a source of."""
    revision: str
    source: str
    names: tuple[tuple[str, str], ...]
    """(run of words, clause id)."""
    prose: tuple[tuple[str, str], ...]
    """(run of words, reason)."""
    prints: tuple[SentenceDigest, ...]

    @cached_property
    def digests(self) -> frozenset[str]:
        return frozenset(d for p in self.prints for d in (p.digest, p.with_next) if d)

    def lost(self, digests: Collection[str]) -> tuple[SentenceDigest, ...]:
        """The sentences that some clause names and that are in no sentence of these prints."""
        before = ["", *(p.with_next for p in self.prints)]
        return tuple(
            p
            for p, joined in zip(self.prints, before, strict=False)
            if p.names and not {p.digest, p.with_next, joined} & set(digests)
        )

    @cached_property
    def quoted(self) -> Mapping[str, str]:
        """The clauses whose quote is from this text, with the heading that it stood under."""
        found: dict[str, str] = {}
        for each in self.prints:
            for clause in each.quoting:
                found.setdefault(clause, each.heading)
        return found

    def clauses(self) -> tuple[Clause, ...]:
        return tuple(c for c in load().values() if c.document in self.documents)


@frozen
class NamedSentence:
    """A sentence, and what names it."""

    sentence: Sentence
    names: tuple[str, ...]
    quoting: tuple[str, ...]
    reason: str
    """Why it is no rule, where it is none."""

    @property
    def unnamed(self) -> bool:
        """Whether it may demand something that no clause has."""
        return self.sentence.normative and not self.names and not self.reason


def digest(words: Iterable[str]) -> str:
    """The print of one sentence: the first 12 digits of the SHA-256 of its words and operators."""
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:12]


def named_sentences(sentences: Sequence[Sentence], text: SpecificationText) -> tuple[NamedSentence, ...]:
    """Each sentence with the clauses of `text` that name or quote it, or show their keyword by it."""
    phrases = ((run_of(words_of(c.phrase)), c.id) for c in text.clauses() if c.phrase)
    fragments = (*text.names, *phrases)
    quoting: dict[int, dict[str, None]] = {}
    for clause in text.clauses():
        for at in quoted_at(sentences, clause.quote):
            quoting.setdefault(at, {})[clause.id] = None
    found = []
    for at, sentence in enumerate(sentences):
        quoted = tuple(quoting.get(at, ()))
        names = dict.fromkeys((*quoted, *(c for run, c in fragments if run in sentence.run)))
        reason = next((why for run, why in text.prose if run in sentence.run), "")
        found.append(NamedSentence(sentence, tuple(names), quoted, "" if names else reason))
    return tuple(found)


def quoted_at(sentences: Sequence[Sentence], quote: str) -> tuple[int, ...]:
    """The places of the sentences that a quote spans, or none where its words are not there in a row."""
    wanted = run_of(words_of(quote))
    if not wanted.strip():
        return ()
    whole = run_of(word for s in sentences for word in s.words)
    start = whole.find(wanted)
    if start < 0:
        return ()
    first = len(whole[:start].split())
    last = first + len(wanted.split())
    places, at = [], 0
    for place, sentence in enumerate(sentences):
        after = at + len(sentence.words)
        if at < last and after > first:
            places.append(place)
        at = after
    return tuple(places)


def clauses_saying(text: str) -> tuple[str, ...]:
    """The clauses that name a sentence; or, of words that are no whole sentence, those whose words have them
    or are in them."""
    asked = {digest(sentence.marks) for sentence in read(text)}
    prints = (each for specification in texts().values() for each in specification.prints)
    named = dict.fromkeys(name for each in prints if each.digest in asked for name in each.names)
    if named:
        return tuple(named)
    run = run_of(words_of(text)).lower()
    quoted = [(c.quote, c.id) for c in load().values()] + [(c.phrase, c.id) for c in load().values()]
    runs = [(run_of(words_of(words)).lower(), clause) for words, clause in quoted if words]
    runs += [(words.lower(), clause) for each in texts().values() for words, clause in each.names]
    return tuple(dict.fromkeys(clause for words, clause in runs if run in words or words in run))


def recognised_text(sentences: Sequence[Sentence]) -> SpecificationText:
    """The text of which `sentences` are a revision: the one that they share most with. Raises SpecError."""
    digests = {digest(s.marks) for s in sentences}

    def shared(text: SpecificationText) -> tuple[int, float]:
        common = len(digests & text.digests)
        # Of two revisions that are texts of their own, the nearer has the larger share of its sentences here.
        return common, common / max(len(text.digests), 1)

    best = max(texts().values(), key=shared)
    # Headers, authors and references are alike in many documents; three such sentences prove nothing.
    if shared(best)[0] < max(1, min(4, len(sentences) // 2)):
        raise SpecError(f"no text that the kit knows; it knows {', '.join(texts())} (name one with --as)")
    return best


@lru_cache(maxsize=1)
def texts() -> Mapping[str, SpecificationText]:
    """The texts by name. Raises SpecError."""
    folder = files("quidnunc.model") / "clauses" / "texts"
    found = {}
    for file in sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name):
        name = file.name.removesuffix(".toml")
        prints = folder / f"{name}.prints"
        lines = prints.read_text(encoding="utf-8") if prints.is_file() else ""
        found[name] = parse(name, file.read_text(encoding="utf-8"), lines)
    if not found:
        raise SpecError(f"no tables in {folder}: the package data is missing, reinstall quidnunc")
    return found


def source_of(clause: Clause) -> Document | SpecificationText:
    """The document that a clause is from: that of its quote, where its table is of several."""
    document = documents()[clause.document]
    quoted = next((text for text in texts().values() if clause.id in text.quoted), None)
    # The title of a table may go on after that of its text, or have it in another case.
    if quoted is None or document.title.casefold().startswith(quoted.title.casefold()):
        return document
    return quoted


def parse(name: str, table: str, prints: str) -> SpecificationText:
    """The text `name` of its two files. Raises SpecError, which names the file and the entry."""
    where = f"clauses/texts/{name}.toml"
    try:
        data = tomllib.loads(table)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{where}: not TOML: {error}") from None
    header = data.get("text")
    if not isinstance(header, dict) or header.keys() != HEADER or data.keys() - FIELDS:
        raise SpecError(f"{where}: needs [text] with {', '.join(sorted(HEADER))}, then [names] and [prose]")
    unknown = sorted(set(header["documents"]) - documents().keys())
    if header["name"] != name or unknown:
        raise SpecError(f"{where}: [text]: name or documents are wrong: {header['name']} {unknown}")
    return SpecificationText(
        name=name,
        title=header["title"],
        documents=tuple(header["documents"]),
        revision=header["revision"],
        source=header["source"],
        names=_fragments(f"{where}: [names]", data.get("names", {})),
        prose=_fragments(f"{where}: [prose]", data.get("prose", {})),
        prints=read_prints(f"clauses/texts/{name}.prints", prints),
    )


def _fragments(place: str, table: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """(run of words, clause or reason) of a table of fragments by clause or by reason."""
    found: list[tuple[str, str]] = []
    for key, fragments in table.items():
        if not isinstance(fragments, list) or not fragments:
            raise SpecError(f"{place}: {key!r} needs a list of fragments")
        for fragment in fragments:
            words = words_of(fragment) if isinstance(fragment, str) else ()
            if not words:
                raise SpecError(f"{place}: {key!r}: {fragment!r} has no words")
            found.append((run_of(words), key))
    return tuple(found)


def read_prints(where: str, text: str) -> tuple[SentenceDigest, ...]:
    """The prints of a file that `write_prints` wrote. Raises SpecError, which names the line."""
    found, heading = [], ""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("## "):
            heading = line[3:]
        elif line and not line.startswith("# "):
            parts = re.fullmatch(r"([0-9a-f]{12})(!?)(?:\+([0-9a-f]{12}))?((?: \S+)*)", line)
            if parts is None:
                raise SpecError(f"{where}:{number}: {line!r} is no print; write the file anew")
            words = parts[4].split()
            names = tuple(w.removesuffix('"') for w in words if w != "~")
            quoting = tuple(w[:-1] for w in words if w.endswith('"'))
            read = SentenceDigest(
                parts[1], heading, bool(parts[2]), names, quoting, "~" in words, parts[3] or ""
            )
            found.append(read)
    return tuple(found)


def write_prints(sentences: Sequence[Sentence], text: SpecificationText) -> str:
    """The prints of a revision of `text`: a line for each sentence, by heading, and what names it.

    `!` marks a sentence that may demand something, `~` one that is named as no rule, and a quotation mark the
    clauses that quote it. After `+` stands the print of it and the next one, where a clause names either.
    """
    all_of_them = named_sentences(sentences, text)
    lines = [f"# {text.title}, {text.revision}: prints of its sentences, and the clauses that name each"]
    heading = ""
    for each, after in zip_longest(all_of_them, all_of_them[1:]):
        if each.sentence.heading != heading:
            heading = each.sentence.heading
            lines.append(f"## {heading}")
        names = [f'{n}"' if n in each.quoting else n for n in each.names] or (["~"] if each.reason else [])
        mark = "!" if each.sentence.normative else ""
        if after is not None and (each.names or after.names):
            mark += f"+{digest((*each.sentence.marks, *after.sentence.marks))}"
        lines.append(" ".join([digest(each.sentence.marks) + mark, *names]))
    return "\n".join(lines) + "\n"
