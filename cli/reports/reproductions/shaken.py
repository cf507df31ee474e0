"""A prelude without what its test does not call.

A source is split into its parts by indentation alone, as formatters of the three languages write it. What is
kept is found by names: a part stays where what stays already has its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from attrs import evolve, frozen

CLOSING = ("}", ")", "]")
MEMBER = re.compile(r"[.#](\w+)")
WORD = re.compile(r"\w+")


@frozen(kw_only=True)
class SourceSyntax:
    """How a language names its parts."""

    comment: re.Pattern[str]
    attached: tuple[str, ...]
    """How lines begin that belong to what follows them."""
    named: re.Pattern[str]
    """The first line of a part: `name`, and in some languages `owner`, whose method it is."""
    grouped: re.Pattern[str] | None = None
    """Names within a part whose first line has none."""
    class_line: re.Pattern[str] | None = None
    member: re.Pattern[str] | None = None
    """The first line of a method, in languages where methods stand within their class."""
    is_called: Callable[[str, str], bool]
    """Whether the router calls that method of that class: by which names does not show here."""


@frozen
class SourcePart:
    """A declaration with the comment above it."""

    text: str
    gap: int
    """How many empty lines stand before it."""
    names: tuple[str, ...] = ()
    """Empty where it always stays."""
    owner: str = ""
    members: tuple[SourcePart, ...] = ()
    """Of a class; `text` is then what stands before them."""
    indent: str = ""

    def rendered(self) -> str:
        if not self.members:
            return self.text
        lines = _joined(self.members).splitlines()
        return "\n".join([self.text, *(self.indent + line if line else "" for line in lines), *self.closing])

    @property
    def closing(self) -> tuple[str, ...]:
        return ("}",) if self.text.endswith("{") else ()


def shaken(source: str, calls: str, syntax: SourceSyntax) -> str:
    """`source` as far as `calls` needs it."""
    parts = [_named(part, syntax) for part in _parts(source, syntax)]
    size = -1
    live, words, members = calls, set[str](), set[str]()
    while size != len(live):
        size = len(live)
        bare = syntax.comment.sub("", live)
        words, members = {*WORD.findall(bare)}, {*MEMBER.findall(bare)}
        kept = [*_kept(parts, words, members, syntax)]
        live = "\n".join([calls, *(part.rendered() for part in kept)])
    return _joined(kept)


def _kept(
    parts: Sequence[SourcePart], words: Collection[str], members: Collection[str], syntax: SourceSyntax
) -> Iterator[SourcePart]:
    gap = 0
    for part in parts:
        gap = max(gap, part.gap)
        if part.owner:
            is_live = part.owner in words and any(
                name in members or syntax.is_called(part.owner, name) for name in part.names
            )
        else:
            is_live = any(name in words for name in part.names)
        if is_live or not part.names:
            inner = tuple(_kept(part.members, words, members, syntax))
            yield evolve(part, gap=gap, members=inner)
            gap = 0


def _joined(parts: Sequence[SourcePart]) -> str:
    return "\n".join("\n" * part.gap * bool(at) + part.rendered() for at, part in enumerate(parts))


def _parts(source: str, syntax: SourceSyntax) -> Iterator[SourcePart]:
    """Each begins in the first column, below the lines that are attached to it."""
    held: list[str] = []
    gap, begun = 0, False
    for line in source.splitlines():
        starts = bool(line) and not line[0].isspace() and not line.startswith(CLOSING)
        if starts and begun:
            text = "\n".join(held).rstrip()
            yield SourcePart(text, gap)
            held, gap, begun = [], len(held) - len(text.splitlines()), False
        if not line and not begun:
            # A comment on a whole file, where there is one.
            held, gap = [], gap + (not held)
            continue
        held.append(line)
        begun = begun or (starts and not line.startswith(syntax.attached))
    if "".join(held).strip():
        yield SourcePart("\n".join(held).rstrip(), gap)


def _named(part: SourcePart, syntax: SourceSyntax) -> SourcePart:
    lines = part.text.splitlines()
    at = next((at for at, line in enumerate(lines) if not line.startswith((*syntax.attached, " "))), 0)
    found = syntax.named.match(lines[at])
    if found is None:
        grouped = syntax.grouped.findall(part.text) if syntax.grouped is not None else []
        return evolve(part, names=tuple(grouped))
    part = evolve(part, names=(found["name"],), owner=found.groupdict().get("owner") or "")
    if syntax.class_line is None or syntax.member is None or not syntax.class_line.match(lines[at]):
        return part
    inner = [line for line in lines[at + 1 :] if not line.startswith(CLOSING)]
    indent = re.match(r"\s*", next(line for line in inner if line))
    width = len(indent[0]) if indent else 0
    within = _parts("\n".join(line[width:] for line in inner), syntax)
    members = [_member(each, found["name"], syntax) for each in within]
    return evolve(part, text="\n".join(lines[: at + 1]), members=tuple(members), indent=" " * width)


def _member(part: SourcePart, owner: str, syntax: SourceSyntax) -> SourcePart:
    lines = [line for line in part.text.splitlines() if not line.startswith((*syntax.attached, " "))]
    assert syntax.member is not None
    found = syntax.member.match(lines[0]) if lines else None
    return evolve(part, names=(found["name"],), owner=owner) if found is not None else part
