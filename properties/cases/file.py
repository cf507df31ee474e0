"""Cases as text: a reason, front matter, and blocks of input, `----` and output (docs/cases.md).

A case is of one router, or of a network: then a paragraph of nodes and links stands before its blocks, and
its input is a schedule. Both have one grammar, and this module reads and writes it. A case is source, read
and written by people and rewritten by the tool: reading what was written gives the same case, and writing it
again gives the same text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from attrs import evolve, field, frozen, mutable

from quidnunc.impl.seam import PROFILES
from quidnunc.impl.wire.families import WIRES
from quidnunc.model.errors import CaseError, SpecError
from quidnunc.model.events import Advance, Event, Output, Raw
from quidnunc.model.machine import protocol_named
from quidnunc.properties.bounded import read_bounded, shortened
from quidnunc.properties.cases.case import (
    CONTROLS,
    MODEL,
    STATUSES,
    Case,
    CaseBlock,
    CaseOutput,
    Control,
    Misfit,
    NodeOutput,
    Side,
    Status,
)
from quidnunc.properties.cases.front_matter import (
    REQUIRED,
    CaseSyntaxError,
    FrontField,
    field_lines,
    names_read,
    names_text,
    parsed_count,
    raise_all,
    read_fields,
    upgraded,
    wrapped,
)
from quidnunc.properties.cases.names import wrong_names
from quidnunc.properties.networks.acts import KINDS, act_of
from quidnunc.properties.networks.runs import BrokenClaim
from quidnunc.properties.notation.lines import Notation
from quidnunc.properties.notation.parameters import parameters_read, parameters_text
from quidnunc.properties.notation.parts import Mentions
from quidnunc.properties.notation.words import free_text, free_text_read, integer, one_line, one_of

T = TypeVar("T")

FORMAT = 2
"""What is written. Format 1 is read too (`quidnunc.properties.cases.front_matter.upgraded`)."""
MAX_BYTES = 256 * 1024
MAX_LINES = 2000
MAX_ERRORS = 9
"""Of one file, that are told."""
MAX_BODY_LINES = 40
"""Of a new case: with more than that the shrinker is not done."""
MAX_TIME_MS = 24 * 3600 * 1000
MAX_HEARTBEATS = 100_000
"""In all of the time that passes in a case of one router."""
MAX_DATA_BYTES = 64 << 20
"""Of all messages that are sent and published in a case, each as often as it is sent."""
MAX_PARTS = 100_000
"""Parts that all peers of a case send together, each `connect` and the like counted as one."""
MAX_WORK = 5_000_000
"""Of a case: `CaseWork.work`, about 3 us each."""
BYTE_ORDER_MARK = "\ufeff"
RULER = "----"
NOTE = "# "
BROKEN = "broken: "
NETWORK_STATUSES: tuple[Status, ...] = ("open", "disputed", "fixed")
MARKS: Mapping[Side, str] = {"both": "  ", "model": "- ", "router": "+ ", "later": "= ", "may": "~ "}
"""Of an output, by its side."""


# -- the lines of a block -----------------------------------------------------------------------------------


@mutable
class _RouterLines:
    """Lines of a case of one router."""

    kinds: Collection[str]
    """Names of bytes that are no honest RPC."""
    notation: Notation

    def event(self, text: str) -> Event:
        """An event; of one made of bytes, the codec has to know the name."""
        event = self.notation.event(text)
        if isinstance(event, Raw):
            one_of(event.kind, sorted(self.kinds), "a kind of bytes")
        return event

    def event_text(self, event: Event) -> str:
        return self.notation.event_text(event)

    def outputs(self, side: Side, text: str) -> Sequence[Output | Misfit]:
        if not text.startswith("choice "):
            return self.notation.outputs(text)
        name, colon, reason = text[len("choice ") :].partition(": ")
        if not colon or not name:
            raise ValueError(f"expected `choice NAME: REASON`, got {text!r}")
        return (Misfit(name, free_text_read(reason)),)

    def texts(self, outputs: Sequence[Any]) -> Iterator[str]:
        for chosen, group in groupby(outputs, lambda what: isinstance(what, Misfit)):
            if chosen:
                yield from (f"choice {each.name}: {free_text(each.reason)}" for each in group)
            else:
                yield from self.notation.output_texts(group)


@frozen
class _ScheduleLines:
    """Lines of a case of a network: acts, what nodes send, and how the claim is broken."""

    event: Callable[[str], Any]
    event_text: Callable[[Any], str]

    def outputs(self, side: Side, text: str) -> Sequence[NodeOutput | BrokenClaim]:
        if side == "router" and text.startswith(BROKEN):
            return (BrokenClaim(text[len(BROKEN) :]),)
        if side != "both":
            raise ValueError(
                f"expected an output behind two spaces, or `{MARKS['router']}{BROKEN}WHY`, got {text!r}"
            )
        return (NodeOutput(text),)

    def texts(self, outputs: Sequence[Any]) -> Iterator[str]:
        for each in outputs:
            yield BROKEN + each.why if isinstance(each, BrokenClaim) else each.text


SCHEDULES: Mapping[str, _ScheduleLines] = {
    family: _ScheduleLines(partial(act_of, kinds=kinds), str) for family, kinds in KINDS.items()
}
"""Family -> how acts of its networks are written."""


def schedule_of(protocol: str) -> _ScheduleLines:
    """How acts of a network are written. Raises SpecError for an unknown protocol."""
    return SCHEDULES[protocol_named(protocol).family]


def _lines_of(case: Case) -> _RouterLines | _ScheduleLines:
    if case.is_network:
        return schedule_of(case.protocol)
    kinds = WIRES[protocol_named(case.protocol).family].malformed
    return _RouterLines(kinds, Notation(Mentions(case.signed)))


# -- writing ------------------------------------------------------------------------------------------------


def render(case: Case, *, strict: bool = False) -> str:
    """The text of `case`, which `parse` reads back.

    Raises CaseError for what no text can say and, where `strict` (a new case), beyond `MAX_BODY_LINES`.
    """
    try:
        place, body = [*_place_lines(case)], body_of(case)
        front = field_lines(_values(case))
    except ValueError as error:
        raise CaseError(f"{case.path}: {error}") from None
    lines = sum(map(len, (place, *body)))
    if strict and lines > MAX_BODY_LINES:
        raise CaseError(
            f"{case.path}: expected at most {MAX_BODY_LINES} lines of body, got {lines}: "
            "shrink the events, or take smaller bursts and parameters"
        )
    notes = [line for note in case.notes for line in wrapped(NOTE + one_line(note), indent=NOTE + "  ")]
    middle = [each for each in (notes, place) if each]
    paragraphs = [wrapped(case.reason), front, *middle, *body]
    return "\n\n".join("\n".join(lines) for lines in paragraphs) + "\n"


def body_of(case: Case) -> list[list[str]]:
    """The lines of each block."""
    notation = _lines_of(case)
    return [_block_lines(block, notation) for block in case.blocks]


def _block_lines(block: CaseBlock, notation: _RouterLines | _ScheduleLines) -> list[str]:
    lines = [notation.event_text(event) for event in block.events]
    lines.append(RULER)
    for side, group in groupby(block.shown, lambda each: each.side):
        lines += [MARKS[side] + text for text in notation.texts([each.what for each in group])]
    return lines


def letter_of(node: int) -> str:
    """A node by its letter."""
    return chr(64 + node)


def _place_lines(case: Case) -> Iterator[str]:
    for node in case.nodes:
        yield f"node {letter_of(node)}" + (" attacker" if node in case.attackers else "")
    for a, b in case.links:
        yield f"link {letter_of(a)}>{letter_of(b)}"
    yield from map(schedule_of(case.protocol).event_text, case.before)


def _values(case: Case) -> dict[str, str]:
    return {
        "format": str(FORMAT),
        "claim": case.claim,
        "clause": case.clause,
        "protocols": " ".join(case.protocols),
        "against": case.against,
        "status": case.status,
        "quirk": case.quirk,
        "explanation": case.explanation,
        "as built": names_text(case.as_built),
        "control": case.control or "",
        "reproduced": "" if case.reproduced is None else "{}/{}".format(*case.reproduced),
        "found by": case.found_by,
        "argument": case.argument,
        "parameters": parameters_text(case.parameters),
        "profile": case.profile,
        "without": names_text(case.without),
        # A network of model nodes leaves nothing to a seed.
        "seed": "" if case.is_network else str(case.seed),
    }


# -- reading ------------------------------------------------------------------------------------------------


def load(path: str | Path, within: Path | None = None) -> Case:
    """The case in a file. Raises CaseError that names the file, the line and what was expected there.

    `within`: the folder in which it was found, which may be a stranger's: a link out of it is refused.
    """
    file = Path(path)
    if within is not None and not file.resolve().is_relative_to(within.resolve()):
        raise CaseError(f"{path}: a link out of {within}: name what it leads to as a path of its own")
    try:
        data = read_bounded(file, MAX_BYTES)
        text = data.decode("utf-8").removeprefix(BYTE_ORDER_MARK)
    except OSError as error:
        raise CaseError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise CaseError(f"{path}:{line}: expected UTF-8, got byte {data[error.start]:#04x}") from None
    case = parse(text, path=str(path))
    wrong = sorted((_line_of(name, text), what) for name, what in wrong_names(case))
    if wrong:
        raise CaseError("\n".join(f"{path}:{line}: {shortened(what)}" for line, what in wrong))
    return case


def _line_of(name: str, text: str) -> int:
    """The line of a field of the front matter, or else of the event that names it."""
    lines = text.splitlines()
    fields = (at for at, line in enumerate(lines, 1) if line.startswith(f"{name}:"))
    events = (at for at, line in enumerate(lines, 1) if name in line.split())
    return next(chain(fields, events), 1)


def parse(text: str, path: str = "<text>") -> Case:
    """The case in `text`. Raises CaseError: `path:line: expected this, got that`."""
    lines = [line.rstrip() for line in text.split("\n")]
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise CaseError(f"{path}:1: expected at most {MAX_BYTES // 1024} KiB, got more")
    if len(lines) - 1 > MAX_LINES:
        raise CaseError(f"{path}:{MAX_LINES + 1}: expected at most {MAX_LINES} lines, got {len(lines) - 1}")
    try:
        return evolve(_parsed(lines), path=path)
    except CaseSyntaxError as error:
        wrong = (error, *error.others)
        lines = [f"{path}:{each.line}: {shortened(str(each))}" for each in wrong[:MAX_ERRORS]]
        more = [f"{path}: and {len(wrong) - MAX_ERRORS} errors more"] if len(wrong) > MAX_ERRORS else []
        raise CaseError("\n".join([*lines, *more])) from None


_NODE = re.compile(r"node ([A-Z])( attacker)?")
_LINK = re.compile(r"link ([A-Z])>([A-Z])")
_Paragraph: TypeAlias = Sequence[tuple[int, str]]
"""Lines with their numbers."""


def _parsed(lines: Sequence[str]) -> Case:
    paragraphs = list(_paragraphs(lines))
    if not paragraphs:
        raise CaseSyntaxError(1, "the file is empty; `quidnunc check ... --cases DIR` writes cases")
    if paragraphs[0][0][1].startswith("format:"):
        raise CaseSyntaxError(1, f"expected the reason, a paragraph of prose, before `format: {FORMAT}`")
    if len(paragraphs) < 2:
        raise CaseSyntaxError(
            len(lines), f"expected front matter after the reason: `format: {FORMAT}` and so on"
        )
    reason, front, *body = paragraphs
    found, command = upgraded(read_fields(front))
    raise_all(
        [
            CaseSyntaxError(
                found[name].line if name in found else front[0][0], f"expected a value for {name!r}"
            )
            for name in REQUIRED
            if not found.get(name, FrontField("", 0)).text
        ]
    )
    notes = _notes_read(body.pop(0)) if body and body[0][0][1].startswith("#") else ()
    network = bool(body) and any(_NODE.fullmatch(line) for _, line in body[0])
    case = evolve(_headed(found, " ".join(text for _, text in reason), network=network), notes=notes)
    if network:
        case = _placed(case, body.pop(0))
    if not body:
        raise CaseSyntaxError(len(lines), f"expected a block: events, `{RULER}`, outputs")
    notation = _lines_of(case)
    work = CaseWork(case.parameters)
    errors: list[CaseSyntaxError] = []
    blocks = tuple(_block(each, notation, work, case.nodes, errors) for each in body)
    raise_all(errors)
    if case.status not in ("suite", "fixed") and not any(each.departs or each.broken for each in blocks):
        raise CaseSyntaxError(len(lines), f"expected what departs (`+` or `-`): the case is {case.status}")
    return evolve(case, blocks=blocks, command=command)


def _notes_read(paragraph: _Paragraph) -> tuple[str, ...]:
    """The notes of a paragraph of lines that begin with `#`; an indented one continues the one before."""
    notes: list[str] = []
    for number, line in paragraph:
        if not line.startswith("#"):
            raise CaseSyntaxError(number, f"expected a note (`{NOTE}TEXT`) or a blank line, got {line!r}")
        if line.startswith(f"{NOTE}  ") and notes:
            notes[-1] = one_line(f"{notes[-1]} {line[1:]}")
        else:
            notes.append(one_line(line[1:]))
    return tuple(notes)


def _headed(found: Mapping[str, FrontField], reason: str, *, network: bool) -> Case:
    """The case without its nodes and blocks; in place of these there is an empty one."""

    def read(name: str, default: str, how: Callable[[str], T]) -> T:
        entry = found.get(name) or FrontField(default, found["format"].line)
        try:
            return how(entry.text)
        except (ValueError, SpecError) as error:
            errors.append(CaseSyntaxError(entry.line, str(error)))
            # Nothing is made of it: the errors are raised first.
            return cast("T", None)

    errors: list[CaseSyntaxError] = []
    protocols = read("protocols", "", _protocols_read)
    statuses = NETWORK_STATUSES if network else STATUSES
    text = {name: entry.text for name, entry in found.items()}
    # What profiles were before they had names.
    extras = read("extras", "", lambda t: one_of(t, ("yes",), "of extras") and "shipped" if t else "")
    status = read("status", "", lambda t: cast("Status", one_of(t, statuses, "a status")))
    profile = read("profile", extras, lambda t: one_of(t, PROFILES, "a profile") if t else "")
    control = read("control", "", lambda t: cast("Control", one_of(t, CONTROLS, "control")) if t else None)
    seed = read("seed", "0", lambda t: integer(t, "a seed"))
    reproduced = read("reproduced", "", lambda t: parsed_count(t) if t else None)
    # What a parameter may be depends on the protocol.
    parameters = read("parameters", "", lambda t: parameters_read(t, protocols[0])) if protocols else None
    raise_all(errors)
    assert parameters is not None
    bare = Case(
        reason=reason,
        claim=text["claim"],
        clause=text["clause"],
        protocols=protocols,
        against="any",
        status=status,
        quirk=text.get("quirk", ""),
        explanation=text.get("explanation", ""),
        as_built=names_read(text.get("as built", "")),
        found_by=text.get("found by", ""),
        argument=text.get("argument", ""),
        parameters=parameters,
        profile=profile,
        without=names_read(text.get("without", "")),
        control=control,
        seed=seed,
        reproduced=reproduced,
        blocks=(CaseBlock(()),),
    )
    models = (MODEL,) if network else (text["against"],)
    made = read("against", "", lambda t: evolve(bare, against=one_of(t, models, "what a network is of")))
    raise_all(errors)
    return made


def _protocols_read(text: str) -> tuple[str, ...]:
    """Names of protocols of one family, each once."""
    known = [protocol_named(name) for name in text.split()]
    names = tuple(each.name for each in known)
    if len(set(names)) < len(names):
        raise ValueError(f"expected each protocol once, got {text!r}")
    if len({each.family for each in known}) > 1:
        raise ValueError(f"expected protocols of one family, got {text!r}")
    return names


def _placed(case: Case, place: _Paragraph) -> Case:
    act_of = schedule_of(case.protocol).event
    nodes: list[int] = []
    attackers, links, before = set[int](), list[tuple[int, int]](), list[Any]()
    for number, line in place:
        node, link = _NODE.fullmatch(line), _LINK.fullmatch(line)
        try:
            if node is not None:
                nodes.append(ord(node[1]) - 64)
                attackers |= {nodes[-1]} if node[2] else set()
            elif link is not None:
                links.append((ord(link[1]) - 64, ord(link[2]) - 64))
                if not {*links[-1]} <= {*nodes}:
                    raise ValueError(f"expected a link of two nodes that are named above, got {line!r}")
            else:
                before.append(act_of(line))
        except ValueError as error:
            raise CaseSyntaxError(number, str(error)) from None
    return evolve(
        case, nodes=tuple(nodes), attackers=frozenset(attackers), links=tuple(links), before=tuple(before)
    )


def _paragraphs(lines: Sequence[str]) -> Iterator[_Paragraph]:
    """Runs of lines that are not blank."""
    for blank, group in groupby(enumerate(lines, 1), lambda numbered: not numbered[1]):
        if not blank:
            yield list(group)


@mutable
class CaseWork:
    """What the events of a case ask of a machine, so far."""

    parameters: Any
    ms: int = 0
    parts: int = 0
    data: int = 0
    messages: int = 0
    peers: set[Any] = field(factory=set)
    told: set[str] = field(factory=set)
    """The limits that it is beyond, each told once: all events that follow are beyond it, too."""

    @property
    def work(self) -> int:
        """What the events cost together: a heartbeat visits every peer, and a message is passed on or
        announced to many."""
        heartbeats = self.ms // getattr(self.parameters, "heartbeat_interval_ms", 1000)
        return heartbeats * (50 + len(self.peers)) + 20 * self.messages * len(self.peers)

    def add(self, event: Any) -> None:
        """Raises ValueError at the first event beyond a limit. A file of strangers must not occupy a machine
        for days."""
        self.ms += event.ms if isinstance(event, Advance) else getattr(event, "wait_ms", 0)
        peers, parts = getattr(event, "peers", ()), getattr(event, "parts", ())
        self.parts += len(peers) * max(1, len(parts))
        self.peers.update(peers)
        self.messages += max(1, len(peers)) * sum(hasattr(part, "size") for part in parts)
        self.messages += hasattr(event, "message")
        self.data += max(1, len(peers)) * sum(getattr(part, "size", 0) for part in parts)
        self.data += getattr(getattr(event, "message", None), "size", 0)
        for limit, what in self._beyond():
            if limit not in self.told:
                self.told.add(limit)
                raise ValueError(what)

    def _beyond(self) -> Iterator[tuple[str, str]]:
        """(limit, what is wrong) of each limit that the events are beyond."""
        limit_ms = min(MAX_TIME_MS, MAX_HEARTBEATS * getattr(self.parameters, "heartbeat_interval_ms", 1000))
        if self.ms > limit_ms:
            at_most = f"expected at most {limit_ms // 1000} s in all the events of a case"
            yield "time", f"{at_most} ({MAX_HEARTBEATS} heartbeats, and a day), got {_seconds(self.ms)}"
        if self.parts > MAX_PARTS:
            yield "parts", f"expected at most {MAX_PARTS} parts in all the events of a case, got more"
        if self.data > MAX_DATA_BYTES:
            yield "data", f"expected messages of at most {MAX_DATA_BYTES} bytes, got {self.data}"
        # What takes too long alone is told already.
        if self.work > MAX_WORK and self.ms <= limit_ms:
            load = f"{len(self.peers)} peers, {self.messages} messages and {_seconds(self.ms)}"
            yield "work", f"{load} are too much for one case: expected fewer of one of them"


def _seconds(ms: int) -> str:
    """`1.5 s`, and a large number without an exponent."""
    return f"{ms // 1000}{f'.{ms % 1000:03}'.rstrip('0').rstrip('.')} s"


def _block(
    paragraph: _Paragraph,
    notation: _RouterLines | _ScheduleLines,
    work: CaseWork,
    nodes: Sequence[int],
    errors: list[CaseSyntaxError],
) -> CaseBlock:
    """A block without the lines that are wrong, which go to `errors`."""
    events: list[Any] = []
    shown: list[CaseOutput] = []
    ruled = False
    for number, line in paragraph:
        try:
            if line == RULER and not ruled and number > paragraph[0][0]:
                ruled = True
            elif ruled:
                side = _side_of(line)
                shown += [CaseOutput(side, what) for what in notation.outputs(side, line[2:])]
            else:
                events.append(notation.event(line))
                work.add(events[-1])
                if nodes:
                    _demand_nodes(events[-1], nodes, line)
        except ValueError as error:
            errors.append(CaseSyntaxError(number, str(error)))
    if not ruled:
        errors.append(CaseSyntaxError(paragraph[-1][0], f"expected `{RULER}` after the events of a block"))
    return CaseBlock(tuple(events), tuple(shown))


def _demand_nodes(act: Any, nodes: Sequence[int], line: str) -> None:
    """Raises ValueError for an act of a node that the case does not have."""
    for node in (act.node, act.peer, *act.peers):
        if node and node not in nodes:
            raise ValueError(
                f"{line!r}: no node {letter_of(node)}; there are {', '.join(map(letter_of, nodes))}"
            )


def _side_of(line: str) -> Side:
    for side, prefix in MARKS.items():
        if line.startswith(prefix):
            return side
    marks = ", ".join(f"`{prefix}`" for prefix in MARKS.values() if prefix.strip())
    raise ValueError(f"expected an output behind two spaces or one of {marks}, got {line!r}")
