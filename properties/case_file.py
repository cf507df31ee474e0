"""Cases as text: a reason, front matter, and blocks of input, `----` and output (docs/cases.md).

A case is source, read and written by people and rewritten by the tool: reading what was written gives the
same case, and writing it again gives the same text.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar, cast, get_args

from attrs import evolve, field, frozen, validators

from quidnunc.impl.malformed import MALFORMED
from quidnunc.model.errors import CaseError, SpecError
from quidnunc.model.events import Event, Output, Raw
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.properties.case_front import (
    REQUIRED,
    Entry,
    Misread,
    ParameterSet,
    counted,
    field_lines,
    names_read,
    names_text,
    one_line,
    parameters_read,
    parameters_text,
    read_fields,
    wrapped,
)
from quidnunc.properties.case_parts import Mentions
from quidnunc.properties.case_text import Notation
from quidnunc.properties.case_words import free_text, free_text_read, integer, one_of

T = TypeVar("T")

FORMAT = 1
MAX_BYTES = 256 * 1024
MAX_LINES = 2000
MAX_BODY_LINES = 40
"""Of a new case: with more than that the shrinker is not done."""
RULER = "----"

Status: TypeAlias = Literal["open", "fixed", "suite", "observed", "disputed"]
"""`open`: the router departs. `fixed`: it did, and must not again. `suite`: part of a fixed suite, and must
hold. `observed`: shows which reading of a silent text the router has. `disputed`: the kit may be wrong."""
STATUSES: tuple[str, ...] = get_args(Status)

Side: TypeAlias = Literal["both", "model", "router"]
PREFIX: dict[Side, str] = {"both": "  ", "model": "- ", "router": "+ "}


@frozen
class Misfit:
    """A choice of the router outside what the text leaves free; stands where no one output is wrong."""

    name: str
    reason: str


@frozen
class Shown:
    """One output, and who says it: `both`, the `model` alone (it was due), or the `router` alone."""

    side: Side
    what: Output | Misfit


@frozen
class Block:
    """Events, and what the last of them led to."""

    events: tuple[Event, ...]
    shown: tuple[Shown, ...] = ()

    @property
    def departs(self) -> bool:
        return any(each.side != "both" for each in self.shown)


_said = validators.and_(validators.instance_of(str), validators.min_len(1))


@frozen(kw_only=True)
class Case:
    """One counterexample or one case of a suite. White space of its texts is normalised."""

    reason: str = field(converter=one_line, validator=_said)
    """What must happen, or what goes wrong, in prose."""
    claim: str = field(converter=one_line, validator=_said)
    clause: str = field(converter=one_line, validator=_said)
    protocol: str = field(converter=one_line, validator=_said)
    against: str = field(converter=one_line, validator=_said)
    """A router and its version (`py-libp2p 0.8.1`), a mutant (`ours:NAME`), `ours`, or `any`."""
    status: Status = field(default="open", validator=validators.in_(STATUSES))
    quirk: str = field(default="", converter=one_line)
    """The root cause: the edit under which model and router agree (`quidnunc.model.quirks`)."""
    as_built: tuple[str, ...] = ()
    """Other quirks of the router that are in force in this case, so that it gets as far as its own."""
    found_by: str = field(default="", converter=one_line)
    argument: str = field(default="", converter=one_line)
    """Why the text forbids it."""
    parameters: ParameterSet = Parameters()
    extras: bool = False
    """Whether the router's own additions to the protocol are on."""
    seed: int = 0
    reproduced: tuple[int, int] | None = None
    """(k, n): a router that cannot be seeded departed k times of n."""
    blocks: tuple[Block, ...] = field(default=(), validator=validators.min_len(1))
    path: str = field(default="<text>", eq=False)

    @property
    def signed(self) -> bool:
        return not isinstance(self.parameters, Parameters) or self.parameters.signature_policy == "StrictSign"


def events_of(case: Case) -> tuple[Event, ...]:
    return tuple(event for block in case.blocks for event in block.events)


def parameters_of(case: Case) -> ParameterSet:
    return case.parameters


def router_of(case: Case) -> str:
    """What to replay against: the first word of `against`, or all of an `exec:` command; `ours` for `any`."""
    name = case.against if case.against.startswith("exec:") else case.against.split()[0]
    return "ours" if name == "any" else name


def against_text(router: str, version: str) -> str:
    """What `router_of` reads back. A command of the user's own may have words, so no version follows it."""
    return router if router.startswith("exec:") else f"{router} {version}".strip()


def command_of(protocol: str, against: str, *more: str, extras: bool = False) -> str:
    """The command that looks for what was found, as a shell reads it."""
    switches = ("--extras",) if extras else ()
    return shlex.join(("quidnunc", "check", protocol, "--against", against, *more, *switches))


# -- writing ------------------------------------------------------------------------------------------------


def render(case: Case, *, strict: bool = False) -> str:
    """The text of `case`, which `parse` reads back.

    Raises CaseError for what no text can say and, where `strict` (a new case), beyond `MAX_BODY_LINES`.
    """
    try:
        body = body_of(case)
        front = field_lines(_values(case))
    except ValueError as error:
        raise CaseError(f"{case.path}: {error}") from None
    lines = sum(map(len, body))
    if strict and lines > MAX_BODY_LINES:
        raise CaseError(
            f"{case.path}: expected at most {MAX_BODY_LINES} lines of body, got {lines}: "
            "shrink the events, or take smaller bursts and parameters"
        )
    paragraphs = [wrapped(case.reason), front, *body]
    return "\n\n".join("\n".join(lines) for lines in paragraphs) + "\n"


def body_of(case: Case) -> list[list[str]]:
    """The lines of each block."""
    notation = Notation(Mentions(case.signed))
    return [_block_lines(block, notation) for block in case.blocks]


def _block_lines(block: Block, notation: Notation) -> list[str]:
    lines = [notation.event_text(event) for event in block.events]
    lines.append(RULER)
    for (side, chosen), group in groupby(block.shown, lambda s: (s.side, isinstance(s.what, Misfit))):
        what = [each.what for each in group]
        if chosen:
            texts = [f"choice {m.name}: {free_text(m.reason)}" for m in what if isinstance(m, Misfit)]
        else:
            texts = notation.output_texts(o for o in what if not isinstance(o, Misfit))
        lines += [PREFIX[side] + text for text in texts]
    return lines


def _values(case: Case) -> dict[str, str]:
    return {
        "format": str(FORMAT),
        "claim": case.claim,
        "clause": case.clause,
        "protocol": case.protocol,
        "against": case.against,
        "status": case.status,
        "quirk": case.quirk,
        "as built": names_text(case.as_built),
        "found by": case.found_by,
        "argument": case.argument,
        "parameters": parameters_text(case.parameters),
        "extras": "yes" if case.extras else "",
        "seed": str(case.seed),
        "reproduced": "" if case.reproduced is None else "{}/{}".format(*case.reproduced),
    }


# -- reading ------------------------------------------------------------------------------------------------


def load(path: str | Path) -> Case:
    """The case in a file. Raises CaseError that names the file, the line and what was expected there."""
    file = Path(path)
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        text = data.decode("utf-8")
    except OSError as error:
        raise CaseError(f"{path}: expected a case, got {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise CaseError(f"{path}:{line}: expected UTF-8, got byte {data[error.start]:#04x}") from None
    return parse(text, path=str(path))


def parse(text: str, path: str = "<text>") -> Case:
    """The case in `text`. Raises CaseError: `path:line: expected this, got that`."""
    lines = [line.rstrip() for line in text.split("\n")]
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise CaseError(f"{path}:1: expected at most {MAX_BYTES // 1024} KiB, got more")
    if len(lines) - 1 > MAX_LINES:
        raise CaseError(f"{path}:{MAX_LINES + 1}: expected at most {MAX_LINES} lines, got {len(lines) - 1}")
    try:
        return evolve(_parsed(lines), path=path)
    except Misread as error:
        raise CaseError(f"{path}:{error.line}: {error}") from None


def _parsed(lines: Sequence[str]) -> Case:
    paragraphs = list(_paragraphs(lines))
    if not paragraphs or paragraphs[0][0][1].startswith("format:"):
        raise Misread(1, "expected the reason, a paragraph of prose, before `format: 1`")
    if len(paragraphs) < 2:
        raise Misread(len(lines), "expected front matter after the reason: `format: 1` and so on")
    reason, front, *body = paragraphs
    found = read_fields(front)
    for name in REQUIRED:
        if not found.get(name, Entry("", 0)).text:
            raise Misread(
                found[name].line if name in found else front[0][0], f"expected a value for {name!r}"
            )
    case = _headed(found, " ".join(text for _, text in reason))
    if not body:
        raise Misread(len(lines), f"expected a block: events, `{RULER}`, outputs")
    notation = Notation(Mentions(case.signed))
    pubsub = isinstance(case.parameters, Parameters)
    return evolve(case, blocks=tuple(_block(paragraph, notation, pubsub=pubsub) for paragraph in body))


def _headed(found: Mapping[str, Entry], reason: str) -> Case:
    """The case without its blocks, in whose place there is an empty one."""

    def read(name: str, default: str, how: Callable[[str], T]) -> T:
        entry = found.get(name) or Entry(default, found["format"].line)
        try:
            return how(entry.text)
        except (ValueError, SpecError) as error:
            raise Misread(entry.line, str(error)) from None

    read("format", "", _format)
    protocol = read("protocol", "", protocol_named).name
    text = {name: entry.text for name, entry in found.items()}
    return Case(
        reason=reason,
        claim=text["claim"],
        clause=text["clause"],
        protocol=protocol,
        against=text["against"],
        status=read("status", "", lambda t: cast("Status", one_of(t, STATUSES, "a status"))),
        quirk=text.get("quirk", ""),
        as_built=names_read(text.get("as built", "")),
        found_by=text.get("found by", ""),
        argument=text.get("argument", ""),
        parameters=read("parameters", "", lambda t: parameters_read(t, protocol)),
        extras=read("extras", "", lambda t: bool(t) and one_of(t, ("yes",), "of extras") == "yes"),
        seed=read("seed", "0", lambda t: integer(t, "a seed")),
        reproduced=read("reproduced", "", lambda t: counted(t) if t else None),
        blocks=(Block(()),),
    )


def _format(text: str) -> None:
    if text != str(FORMAT):
        raise ValueError(f"expected `format: {FORMAT}`, got {text!r}; another version of quidnunc reads that")


def _paragraphs(lines: Sequence[str]) -> Iterator[list[tuple[int, str]]]:
    """Runs of lines that are not blank, with their numbers."""
    for blank, group in groupby(enumerate(lines, 1), lambda numbered: not numbered[1]):
        if not blank:
            yield list(group)


def _of_known_bytes(event: Event, *, pubsub: bool) -> Event:
    """`event`, whose bytes, if it is made of bytes, have a name that the codec knows."""
    if isinstance(event, Raw):
        one_of(event.kind, sorted(MALFORMED if pubsub else _mempool_kinds()), "a kind of bytes")
    return event


def _mempool_kinds() -> Collection[str]:
    # Not at the top: cases of pubsub do without the mempool's messages.
    from quidnunc.impl.cat_codec import MALFORMED_CAT

    return MALFORMED_CAT


def _block(paragraph: Sequence[tuple[int, str]], notation: Notation, *, pubsub: bool) -> Block:
    events: list[Event] = []
    shown: list[Shown] = []
    ruled = False
    for number, line in paragraph:
        try:
            if line == RULER and not ruled and events:
                ruled = True
            elif ruled:
                shown += _shown(line, notation)
            else:
                events.append(_of_known_bytes(notation.event(line), pubsub=pubsub))
        except ValueError as error:
            raise Misread(number, str(error)) from None
    if not ruled:
        raise Misread(paragraph[-1][0], f"expected `{RULER}` after the events of a block")
    return Block(tuple(events), tuple(shown))


def _shown(line: str, notation: Notation) -> list[Shown]:
    for side, prefix in PREFIX.items():
        if not line.startswith(prefix):
            continue
        text = line[len(prefix) :]
        if text.startswith("choice "):
            name, colon, reason = text[len("choice ") :].partition(": ")
            if not colon or not name:
                raise ValueError(f"expected `choice NAME: REASON`, got {text!r}")
            return [Shown(side, Misfit(name, free_text_read(reason)))]
        return [Shown(side, output) for output in notation.outputs(text)]
    raise ValueError(f"expected an output behind two spaces, `- ` or `+ `, got {line!r}")
