"""Cases of networks: a claim, nodes, links, and the schedule that breaks the claim (docs/cases.md).

A network case is a `.case` file as any other, with a paragraph of nodes and links before its blocks. Its
routers are those of the model, so that replay is about the claim: the schedule is played, and the claim must
be broken by its last act, with the RPCs that are shown. What differs between the two families is a `Family`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from quidnunc.model.errors import CaseError, SpecError
from quidnunc.model.machine import protocol_named
from quidnunc.properties.case_file import MAX_BODY_LINES, MAX_BYTES, MAX_LINES, RULER, Status
from quidnunc.properties.case_front import (
    REQUIRED,
    Entry,
    Misread,
    ParameterSet,
    field_lines,
    one_line,
    parameters_read,
    parameters_text,
    read_fields,
    wrapped,
)
from quidnunc.properties.case_words import one_of
from quidnunc.properties.network_runs import ActError, Broken, Memory

MODEL = "model"
"""What a network case is against."""
MAX_NODES = 26
STATUSES: tuple[Status, ...] = ("open", "disputed", "fixed")
_NODE = re.compile(r"node ([A-Z])( attacker)?")
_LINK = re.compile(r"link ([A-Z])>([A-Z])")
_BROKEN = "+ broken: "


@frozen
class Block:
    """Acts, and what the last of them led to: lines of RPCs and deliveries, and how the claim is broken."""

    acts: tuple[Any, ...]
    said: tuple[str, ...] = ()
    broken: str = ""


@frozen(kw_only=True)
class NetworkCase:
    """One claim about a network that a schedule breaks."""

    reason: str = field(converter=one_line)
    claim: str
    """A statement of `quidnunc.properties.gossipsub_statements` or `dog_statements`, by its id."""
    clause: str
    protocol: str
    against: str = MODEL
    status: Status = "open"
    found_by: str = ""
    argument: str = ""
    parameters: ParameterSet
    nodes: tuple[int, ...]
    attackers: frozenset[int] = frozenset()
    links: tuple[tuple[int, int], ...] = ()
    before: tuple[Any, ...] = ()
    """Acts that lead to where the schedule begins."""
    blocks: tuple[Block, ...] = ()
    path: str = field(default="<text>", eq=False)
    quirk: str = ""

    @property
    def acts(self) -> tuple[Any, ...]:
        return tuple(act for block in self.blocks for act in block.acts)


@frozen(kw_only=True)
class Family:
    """What a network case needs of one family of protocols."""

    look: Callable[[NetworkCase, str], Callable[[Memory, Any], Memory]]
    """(case, protocol) -> what it is looked at for. Raises SpecError for an unknown claim."""
    world: Callable[[NetworkCase, str], Any]
    """(case, protocol) -> its world, in which nothing but the acts before has happened."""
    act_text: Callable[[Any], str]
    act_of: Callable[[str], Any]
    """Raises ValueError that says what was expected."""
    said: Callable[[Any], Sequence[str]]
    """Lines for what was sent and delivered in a move."""
    about: Callable[[str, str], bool]
    """(claim, protocol) -> whether the claim is about it; of another it may ask for what that has not."""
    placed: Callable[[NetworkCase, str, str, int], Any]
    """(case, protocol, router, seed) -> the same with real routers: a world with `close`, `departures`,
    `hidden`, `silent` and `blurred`. Raises SpecError where the claim is of no router, AdapterError for one
    that can not run so."""


def family_of(protocol: str) -> Family:
    """The family of a protocol. Raises SpecError for an unknown one."""
    # Not at the top: each reads cases with this module.
    from quidnunc.properties import network_case_mempool, network_case_pubsub

    found: Mapping[str, Family] = {
        "pubsub": network_case_pubsub.FAMILY,
        "mempool": network_case_mempool.FAMILY,
    }
    return found[protocol_named(protocol).family]


def letters(node: int) -> str:
    """A node by its letter."""
    return chr(64 + node)


# -- writing ------------------------------------------------------------------------------------------------


def render_network(case: NetworkCase, *, strict: bool = False) -> str:
    """The text of a case, which `parse_network` reads back. Raises CaseError, where `strict` (a new case),
    beyond `MAX_BODY_LINES`."""
    family = family_of(case.protocol)
    body = [[*_place(case, family)], *(_block_lines(block, family) for block in case.blocks)]
    lines = sum(map(len, body))
    if strict and lines > MAX_BODY_LINES:
        raise CaseError(f"{case.path}: expected at most {MAX_BODY_LINES} lines of body, got {lines}")
    values = {
        "format": "1",
        "claim": case.claim,
        "clause": case.clause,
        "protocol": case.protocol,
        "against": case.against,
        "status": case.status,
        "found by": case.found_by,
        "argument": case.argument,
        "parameters": parameters_text(case.parameters),
    }
    return "\n\n".join("\n".join(each) for each in [wrapped(case.reason), field_lines(values), *body]) + "\n"


def _place(case: NetworkCase, family: Family) -> Iterator[str]:
    for node in case.nodes:
        yield f"node {letters(node)}" + (" attacker" if node in case.attackers else "")
    for a, b in case.links:
        yield f"link {letters(a)}>{letters(b)}"
    yield from map(family.act_text, case.before)


def _block_lines(block: Block, family: Family) -> list[str]:
    shown = [f"  {line}" for line in block.said] + ([_BROKEN + block.broken] if block.broken else [])
    return [*map(family.act_text, block.acts), RULER, *shown]


# -- reading ------------------------------------------------------------------------------------------------


def is_network(text: str) -> bool:
    """Whether a case is of a network: it names nodes."""
    return any(_NODE.fullmatch(line.rstrip()) for line in text.splitlines())


def parse_network(text: str, path: str = "<text>") -> NetworkCase:
    """The case in `text`. Raises CaseError: `path:line: expected this, got that`."""
    lines = [line.rstrip() for line in text.split("\n")]
    if len(text) > MAX_BYTES or len(lines) > MAX_LINES + 1:
        raise CaseError(f"{path}:1: expected at most {MAX_BYTES // 1024} KiB and {MAX_LINES} lines, got more")
    try:
        return evolve(_parsed(lines), path=path)
    except Misread as error:
        raise CaseError(f"{path}:{error.line}: {error}") from None


def _parsed(lines: Sequence[str]) -> NetworkCase:
    paragraphs = [*_paragraphs(lines)]
    if len(paragraphs) < 4:
        raise Misread(len(lines), "expected a reason, front matter, nodes and links, and a block")
    reason, front, place, *body = paragraphs
    found = read_fields(front)
    for name in REQUIRED:
        if not found.get(name, Entry("", 0)).text:
            line = found[name].line if name in found else front[0][0]
            raise Misread(line, f"expected a value for {name!r}")
    case = _headed(found, " ".join(text for _, text in reason))
    family = family_of(case.protocol)
    case = _placed(case, place, family)
    blocks = tuple(_block(paragraph, family) for paragraph in body)
    return evolve(case, blocks=blocks)


def _paragraphs(lines: Sequence[str]) -> Iterator[list[tuple[int, str]]]:
    found: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if line:
            found.append((number, line))
        elif found:
            yield found
            found = []
    if found:
        yield found


def _headed(found: Mapping[str, Entry], reason: str) -> NetworkCase:
    def read(name: str, how: Callable[[str], Any]) -> Any:
        entry = found.get(name) or Entry("", found["format"].line)
        try:
            return how(entry.text)
        except (ValueError, SpecError) as error:
            raise Misread(entry.line, str(error)) from None

    read("format", lambda t: one_of(t, ("1",), "a format"))
    protocol = read("protocol", protocol_named).name
    text = {name: entry.text for name, entry in found.items()}
    return NetworkCase(
        reason=reason,
        claim=text["claim"],
        clause=text["clause"],
        protocol=protocol,
        against=read("against", lambda t: one_of(t, (MODEL,), "what a network is of")),
        status=read("status", lambda t: one_of(t, STATUSES, "a status")),
        found_by=text.get("found by", ""),
        argument=text.get("argument", ""),
        parameters=read("parameters", lambda t: parameters_read(t, protocol)),
        nodes=(),
    )


def _placed(case: NetworkCase, place: Sequence[tuple[int, str]], family: Family) -> NetworkCase:
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
                before.append(family.act_of(line))
        except ValueError as error:
            raise Misread(number, str(error)) from None
    return evolve(
        case,
        nodes=tuple(nodes),
        attackers=frozenset(attackers),
        links=tuple(links),
        before=tuple(before),
    )


def _block(paragraph: Sequence[tuple[int, str]], family: Family) -> Block:
    acts: list[Any] = []
    said, broken, ruled = list[str](), "", False
    for number, line in paragraph:
        try:
            if line == RULER and not ruled and acts:
                ruled = True
            elif not ruled:
                acts.append(family.act_of(line))
            elif line.startswith(_BROKEN):
                broken = line[len(_BROKEN) :]
            elif line.startswith("  "):
                said.append(line[2:])
            else:
                raise ValueError(f"expected an output behind two spaces, or `{_BROKEN}WHY`, got {line!r}")
        except ValueError as error:
            raise Misread(number, str(error)) from None
    if not ruled:
        raise Misread(paragraph[-1][0], f"expected `{RULER}` after the acts of a block")
    return Block(tuple(acts), tuple(said), broken)


# -- playing ------------------------------------------------------------------------------------------------


def played(case: NetworkCase, protocol: str = "", world: Any = None) -> NetworkCase:
    """The case with its blocks anew, as the rules of its protocol (or another) have them, to where the claim
    breaks; in `world`, where its nodes are not those of the model. Raises ActError where an act can not
    happen, and SpecError for an unknown claim."""
    protocol = protocol or case.protocol
    family = family_of(protocol)
    look = family.look(case, protocol)
    world = family.world(case, protocol) if world is None else world
    network, memory = world.start(), None
    blocks, silent = list[Block](), list[Any]()
    for act in case.acts:
        move = world.move(network, act)
        memory = look(memory, move)
        network = move.after
        silent.append(act)
        said = tuple(family.said(move))
        broken = memory.why if isinstance(memory, Broken) else ""
        if said or broken:
            blocks.append(Block(tuple(silent), said, broken))
            silent = []
        if broken:
            break
    if silent:
        blocks.append(Block(tuple(silent)))
    return evolve(case, blocks=tuple(blocks))


def load_either(path: str | Path) -> Any:
    """A `Case` or a `NetworkCase`. Raises CaseError that names the file, the line and what was expected."""
    from quidnunc.properties.cases import load

    try:
        with Path(path).open("rb") as stream:
            text = stream.read(MAX_BYTES + 1).decode("utf-8", "replace")
    except OSError as error:
        raise CaseError(f"{path}: expected a case, got {error.strerror or error}") from None
    return parse_network(text, str(path)) if is_network(text) else load(path)


__all__ = ["ActError", "Block", "Family", "NetworkCase", "load_either", "parse_network", "render_network"]
