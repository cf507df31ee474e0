"""What differs between the sentences that two protocols are written in, and the parameters that they read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

from attrs import frozen

from quidnunc.model.machine import PROTOCOLS, family_of
from quidnunc.model.mempool.node import Node
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rules import Protocol, Rule
from quidnunc.properties.documents.clauses import Clause, documents, load
from quidnunc.properties.regress.code_equality import codes_in
from quidnunc.properties.regress.sides import Side

NOT_ITS_OWN: Mapping[str, frozenset[str]] = {
    "floodsub": frozenset({"gossipsub-1.0", "gossipsub-1.1"}),
    "gossipsub-1.0": frozenset({"gossipsub-1.1"}),
    "gossipsub-1.2-draft": frozenset({"gossipsub-1.2"}),
    "cat": frozenset({"cat-classic"}),
}
"""Protocol -> documents whose clause ids its rules reuse, although it is not written in them."""


@frozen
class ClauseChanges:
    """Of the documents that one side rests on and the other does not."""

    added: tuple[Clause, ...]
    removed: tuple[Clause, ...]
    """Of OLD, with no counterpart in NEW: what they permit or demand is described no more."""
    levels: tuple[tuple[Clause, Clause], ...]
    """Counterparts of another level."""
    no_longer_ruled: tuple[str, ...]
    """Ids of clauses that a rule of OLD formalises and none of NEW, of documents that both rest on."""


def documents_of(protocol: Protocol) -> tuple[str, ...]:
    """The documents that a protocol is written in: its own, and those that its rules bear clauses of."""
    table = load()
    borne = {table[r.clause].document for _, r in protocol.rules() if r.clause in table}
    borne |= {protocol.name} & documents().keys()
    return tuple(sorted(borne - NOT_ITS_OWN.get(protocol.name, frozenset())))


def clause_changes(old: Side, new: Side) -> ClauseChanges:
    """Clauses are counterparts where they have one topic and the words of the one are among the other's."""
    was, now = documents_of(old.protocol), documents_of(new.protocol)
    table = load().values()
    gone = [c for c in table if c.document in was and c.document not in now]
    come = [c for c in table if c.document in now and c.document not in was]
    levels: list[tuple[Clause, Clause]] = []
    removed: list[Clause] = []
    met: set[str] = set()
    for clause in gone:
        others = [c for c in come if _counterparts(clause, c)]
        met |= {c.id for c in others}
        if not others:
            removed.append(clause)
        levels += [(clause, c) for c in others[:1] if _force(c) != _force(clause)]
    ruled = [{r.clause for _, r in side.protocol.rules()} for side in (old, new)]
    both = {c.id for c in table if c.document in was and c.document in now}
    return ClauseChanges(
        tuple(c for c in come if c.id not in met),
        tuple(removed),
        tuple(levels),
        tuple(sorted((ruled[0] - ruled[1]) & both)),
    )


def _force(clause: Clause) -> tuple[str, str, bool]:
    return clause.keyword, clause.breach, clause.optional


def _counterparts(one: Clause, other: Clause) -> bool:
    topics, names = zip(*(c.id.partition("/")[2].split(".", 1) for c in (one, other)), strict=True)
    words = [frozenset(name.split("-")) for name in names]
    return topics[0] == topics[1] and (words[0] <= words[1] or words[1] <= words[0])


# -- parameters ---------------------------------------------------------------------------------------------


def parameters_read(protocol: Protocol) -> tuple[str, ...]:
    """The parameters that the rules of a protocol look at, themselves or by functions of the model."""
    names = {a.name for a in type(family_of(protocol).parameters()).__attrs_attrs__}
    read: set[str] = set()
    seen: set[int] = set()
    todo: list[Any] = [rule.apply for _, rule in protocol.rules()]
    while todo:
        function = todo.pop()
        if not isinstance(function, FunctionType) or id(function) in seen:
            continue
        seen.add(id(function))
        for code in codes_in(function.__code__):
            read |= names & set(code.co_names)
            todo += _called(function.__globals__, code)
        todo += [c.cell_contents for c in function.__closure__ or ()]
    return tuple(sorted(read))


def _called(names: Mapping[str, Any], code: CodeType) -> Iterator[Any]:
    """Functions of the model that a code names: its module's, another module's, a method of the state."""
    modules = [names[n] for n in code.co_names if isinstance(names.get(n), ModuleType)]
    for name in code.co_names:
        for value in (names.get(name), *(vars(m).get(name) for m in (*modules, Router, Node))):
            plain = value.apply if isinstance(value, Rule) else getattr(value, "fget", value)
            if isinstance(plain, FunctionType) and plain.__module__.startswith("quidnunc.model"):
                yield plain


@frozen
class ParameterChange:
    """A parameter that one side alone reads, or that the two have otherwise; None where it is not read."""

    name: str
    old: object
    new: object


def parameter_changes(old: Side, new: Side) -> tuple[ParameterChange, ...]:
    """By name; values are the defaults where a side sets none."""
    rows = []
    for side in (old, new):
        values = side.parameters(family_of(side.protocol).parameters())
        read = {*parameters_read(side.protocol), *(name for name, _ in side.overrides)}
        rows.append({name: getattr(values, name) for name in read})
    names = sorted(rows[0].keys() | rows[1].keys())
    return tuple(
        ParameterChange(n, rows[0].get(n), rows[1].get(n)) for n in names if rows[0].get(n) != rows[1].get(n)
    )


@lru_cache(maxsize=10)
def _read_by_some(family: str) -> frozenset[str]:
    """Parameters that the rules of some protocol of the family read. What no rule does (the codec may read
    it, or the application) is not known to be unread."""
    of_family = (p for p in PROTOCOLS.values() if p.family == family)
    return frozenset().union(*map(parameters_read, of_family))


def not_read(side: Side) -> tuple[str, ...]:
    """Parameters that a side sets, that its rules do not read, and that those of other protocols do."""
    read = parameters_read(side.protocol)
    return tuple(n for n, _ in side.overrides if n not in read and n in _read_by_some(side.protocol.family))


def not_read_lines(*sides: Side) -> tuple[str, ...]:
    """A sentence for each of `not_read`."""
    return tuple(
        dict.fromkeys(
            f"No rule of {side.name.partition('+')[0]} reads {name}: to set it changes nothing."
            for side in sides
            for name in not_read(side)
        )
    )
