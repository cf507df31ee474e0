"""A specification read as sentences: Markdown of any revision, or the text of a web page that shows it.

What comes out is the same whether a sentence is wrapped, in a list, in a table or on a page, because
sentences are compared by their words alone. A row of a table and a block of code count as one each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Literal, TypeAlias

from attrs import define, field, frozen

from quidnunc.model.errors import SpecError

Kind: TypeAlias = Literal["prose", "item", "step", "row", "code"]
"""`step` is an item of a numbered list."""

MAX_BYTES = 1_000_000
"""The longest specification that the kit knows has 45 kB."""

MAX_SENTENCES = 3_000
"""The longest has 300. Two revisions are compared sentence by sentence, each with each at the worst."""


@frozen(slots=False)
class Sentence:
    """One sentence of a document, where it stands, without its markup."""

    text: str
    heading: str
    """The nearest heading above, or nothing."""
    line: int
    """The first line of the paragraph, item, row or block that it is part of; from 1."""
    kind: Kind = "prose"

    @cached_property
    def words(self) -> tuple[str, ...]:
        return words_of(self.text)

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """Its words with the operators that count where it stands: by these two revisions are compared."""
        found = (CODE_WORDS if self.kind == "code" else PROSE_WORDS).findall(self.text)
        return tuple(_cased(word) for word in found)

    @cached_property
    def run(self) -> str:
        """Its words with a space around each, in which a fragment is looked for."""
        return run_of(self.words)

    @property
    def normative(self) -> bool:
        """Whether it may ask for something: it has a word that does, or is a step or code of an algorithm."""
        return self.kind in ("step", "code") or NORMATIVE.search(self.text) is not None


NORMATIVE = re.compile(
    r"\b(must|shall|should|may|required?s?|recommend(ed|s)?|optional(ly)?|ha(s|ve) to|needs? to|can ?not|"
    r"can't|never|always|will|could|would)\b",
    re.IGNORECASE,
)
"""Words of RFC 2119 in either case, and those by which documents without them say what a router does."""

CAPITALS = frozenset("MUST SHALL SHOULD MAY NOT REQUIRED RECOMMENDED OPTIONAL".split())
"""Words whose case is part of what they say."""


CODE_WORDS = re.compile(r"[^\W_]+|[<>=!:]=|&&|\|\||[-+*/%<>=!&|^~()≤≥≠×÷−]")
PROSE_WORDS = re.compile(r"[^\W_]+|[<>=!]=|&&|\|\||[<>=+%≤≥≠×÷−]|(?<=\S )\*(?= \S)")
"""In prose a hyphen, a slash and most stars are punctuation."""


def words_of(text: str) -> tuple[str, ...]:
    """The words and comparisons of a text, without case, markup and punctuation."""
    return tuple(_cased(word) for word in re.findall(r"[^\W_]+|[<>=!]=|[<>=+%]", text))


def _cased(word: str) -> str:
    return word if word in CAPITALS else word.lower()


def read_file(path: str) -> tuple[Sentence, ...]:
    """The sentences of a file. Raises SpecError where it cannot be read or is no text."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror or error}; name a file with a specification") from None
    if len(data) > MAX_BYTES:
        raise SpecError(f"{path}: longer than {MAX_BYTES} bytes, which no specification is")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: byte {error.start} is not UTF-8; name a text file") from None
    found = read(text)
    if not found:
        raise SpecError(f"{path}: has no sentences; name a file with a specification")
    if len(found) > MAX_SENTENCES:
        raise SpecError(
            f"{path}: has {len(found)} sentences, at most {MAX_SENTENCES} are read; split the file"
        )
    return found


def read(text: str) -> tuple[Sentence, ...]:
    """The sentences of a specification, in order, without the frame of a web page around it."""
    lines, paged = _unframed(list(enumerate(text.replace("\r\n", "\n").split("\n"), start=1)))
    if any(re.match(r"#{1,6}\s", line) for _, line in lines):
        blocks = _markdown(lines)
    else:
        # An open comment hides the rest of Markdown; on a page these are signs that it shows.
        if text.rfind("<!--") < text.rfind("-->"):
            lines = list(_without_comments(lines))
        blocks = _page(lines) if paged else _flattened(lines)
    return tuple(s for block in blocks for s in block.sentences())


STRUCK = re.compile(
    r"(?<!~)~~(?=[^\s~])[^~]{1,1000}~~(?!~)|<(del|s|strike)>[^<>]{0,1000}</(?:del|s|strike)>", re.IGNORECASE
)
"""What is struck out, which a text says no longer; bounded as in `plain`."""


@define
class _Block:
    """A paragraph, an item, a row or a piece of code."""

    line: int
    kind: Kind
    heading: str
    lines: list[str] = field(factory=list)

    def sentences(self) -> Iterator[Sentence]:
        text = "\n".join(self.lines).strip()
        if self.kind != "code":
            text = STRUCK.sub("", text)
        if self.kind == "code":
            parts = [text]
        elif self.kind == "row":
            parts = [" | ".join(plain(c) for c in text.replace("\n", " ").strip("| ").split("|"))]
        else:
            parts = [plain(part) for part in split(" ".join(re.sub(r"</?br\s*/?>", " ", text).split()))]
        for part in parts:
            if words_of(part):
                yield Sentence(part, self.heading, self.line, self.kind)


Lines: TypeAlias = list[tuple[int, str]]
"""(number, line)."""


# -- the frame of a page ------------------------------------------------------------------------------------


def _unframed(lines: Lines) -> tuple[Lines, bool]:
    """The lines of the document, and whether each paragraph is one line, as on a page."""
    bars = sum(line.strip() == "|" for _, line in lines)
    if bars > len(lines) / 4:
        # A forge that shows the source in a table of lines: bars around each, and a head of its own. An
        # empty line leaves nothing but its bars.
        kept: Lines = []
        run = 0
        for number, line in lines:
            run = run + 1 if line.strip() == "|" else 0
            if run in (0, 3):
                kept.append((number, "" if run else line))
        start = next((i for i, (_, line) in enumerate(kept) if line.startswith("#")), 0)
        return kept[start:], False
    head = [i for i, (_, line) in enumerate(lines[:40]) if re.match(r"\d+ lines \(\d+ loc\)", line.strip())]
    if head and lines[0][1].strip() == "Skip to content":
        return lines[head[-1] + 1 :], True
    return lines, False


# -- Markdown -----------------------------------------------------------------------------------------------

BARE_TITLE = re.compile(r"(`[^`]+`|\*\*[^*]*[^*.:!?]\*\*)\s*")
"""A line of its own that is set off like a heading, and is used as one."""
FENCE = re.compile(r"\s*(?:>\s*)?(```+|~~~+)")
ITEM = re.compile(r"\s*(?:[-*+•◦▪]|(\d+)[.)])\s+(?=\S)")


def _markdown(lines: Lines) -> Iterator[_Block]:
    heading, titled, fence = "", False, ""
    current: _Block | None = None
    for number, raw in _without_comments(lines):
        found = FENCE.match(raw)
        if fence:
            if found and found[1].startswith(fence):
                fence = ""
                yield from _close(current)
                current = None
            elif current is not None:
                current.lines.append(raw)
            continue
        if found:
            fence = found[1]
            yield from _close(current)
            current = _Block(number, "code", heading)
            continue
        line = re.sub(r"^\s*>\s?", "", raw)
        title = re.match(r"#{1,6}\s+(.*?)\s*#*$", line) or (current is None and BARE_TITLE.fullmatch(line))
        item = ITEM.match(line)
        if title or not line.strip() or _is_no_text(line):
            yield from _close(current)
            current = None
            # What stands under the title of the document stands under no heading.
            heading, titled = (plain(title[1]) if titled else "", True) if title else (heading, titled)
        elif line.lstrip().startswith("|"):
            yield from _close(current)
            current = _Block(number, "row", heading, [line])
        elif item:
            yield from _close(current)
            current = _Block(number, "step" if item[1] else "item", heading, [line[item.end() :]])
        elif current is None or current.kind == "row":
            yield from _close(current)
            current = _Block(number, "prose", heading, [line])
        else:
            current.lines.append(line)
    yield from _close(current)


def _close(block: _Block | None) -> Iterator[_Block]:
    """A block that is complete, if one is open."""
    if block is not None:
        yield block


def _is_no_text(line: str) -> bool:
    """Rules, separators of tables, definitions of links, tables of contents and bare tags."""
    return bool(
        re.fullmatch(r"[\s|:=-]+", line)
        or re.match(r"\s*\[[^\]]+\]:\s", line)
        or re.fullmatch(r"\s*[-*+]\s+\[[^\]]*\]\(#[^)]*\)\s*", line)
        or re.fullmatch(r"\s*</?(details|summary)>(.*</summary>)?\s*", line)
    )


def _without_comments(lines: Lines) -> Iterator[tuple[int, str]]:
    """The lines without HTML comments, which may hold whole blocks of code."""
    inside = False
    for number, line in lines:
        kept = ""
        while line:
            before, mark, line = line.partition("-->" if inside else "<!--")
            kept += "" if inside else before
            inside = inside != bool(mark)
        yield number, kept


# -- pages and flattened text -------------------------------------------------------------------------------

PAGE_ITEM = re.compile(r"\s*(?:[•◦▪]|(\d+)[.)])\s+(?=\S)")
CODE = re.compile(r"[{};]\s*(//.*)?$|^\s*(//|\}|/\*\*?|\*/)|:=|\($|^\s*(fun|val|def|type|struct) ")


def _page(lines: Lines) -> Iterator[_Block]:
    """The text of a page: one paragraph is one line, and headings are lines that end without a stop."""
    heading, titled = "", False
    for _, group in groupby(lines, key=lambda each: bool(each[1].strip())):
        group_lines = list(group)
        if len(group_lines) == 1 and _is_title(group_lines[0][1]):
            heading, titled = (group_lines[0][1].strip() if titled else ""), True
            continue
        yield from _page_group(group_lines, heading)


def _page_group(lines: Lines, heading: str) -> Iterator[_Block]:
    code = [(n, line) for n, line in lines if not PAGE_ITEM.match(line)]
    is_code = any(CODE.search(line) for _, line in code)
    if is_code and code:
        yield _Block(code[0][0], "code", heading, [line for _, line in code])
    for number, line in lines:
        item = PAGE_ITEM.match(line)
        if item:
            yield _Block(number, "step" if item[1] else "item", heading, [line[item.end() :]])
        elif not is_code and line.strip():
            kind: Kind = "prose" if re.search(r"[.:!?]\s*$", line) else "row"
            yield _Block(number, kind, heading, [line])


def _is_title(line: str) -> bool:
    text = line.strip()
    if line.startswith(" "):
        return False
    return bool(text) and len(text) < 90 and not re.search(r"[.:,;!?}]$|^[•{(]|\|", text)


def _flattened(lines: Lines) -> Iterator[_Block]:
    """Text that lost its blank lines and headings: what is one paragraph shows in how lines begin and end."""
    current: _Block | None = None
    for number, line in lines:
        if not line.strip() or re.fullmatch(r"[\s|:=-]+", line):
            yield from _close(current)
            current = None
            continue
        kind: Kind = "code" if CODE.search(line) else "row" if "|" in line else "prose"
        begins = kind == "prose" and re.match(r"[A-Z][a-z]|/", line) is not None
        if current is None or current.kind != kind or begins:
            yield from _close(current)
            current = _Block(number, kind, "")
        current.lines.append(line)
    yield from _close(current)


# -- sentences ----------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """`text` without the marks of Markdown and HTML."""
    # What a mark may enclose is bounded, so that a file of opening brackets takes no longer than another.
    text = re.sub(r"!?\[([^\]]{0,500})\]\([^)]{0,500}\)", r"\1", text)
    text = re.sub(r"\[([^\]]{1,500})\]\[[^\]]{0,200}\]", r"\1", text)
    text = re.sub(r"</?[a-z]+[^<>]{0,200}>", "", text)
    text = re.sub(r"`|\*\*|__", "", text)
    text = re.sub(r"(?<!\w)[*_](\S(?:[^*_]{0,500}\S)?)[*_](?!\w)", r"\1", text)
    text = text.replace("\\_", "_").replace("\\*", "*").strip()
    return re.sub(r"\s+([.,;:)])(?=\s|$)", r"\1", text)


def split(text: str) -> list[str]:
    """The sentences of one paragraph. "I.e." and "e.g." within one do not end it."""
    text = re.sub(r"\s+([.,;:])(?=\s|$)", r"\1", text)
    parts, start = [], 0
    for stop in re.finditer(r"[.!?][\"')\]*_`]*\s+(?=[\"'(\[*_`]*[A-Z0-9`_*])", text):
        before = text[start : stop.start() + 1]
        if re.search(r"\b(e\.g|i\.e|etc|vs|cf|resp)\.$", before, re.IGNORECASE):
            continue
        parts.append(text[start : stop.end()].strip())
        start = stop.end()
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def run_of(words: Iterable[str]) -> str:
    """The words with one space around each."""
    return f" {' '.join(words)} "
