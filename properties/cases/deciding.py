"""Parameters at their defaults on which the last step of a departing run turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attrs import fields

from quidnunc.model.edit import edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.edits.operators.reads import names_read
from quidnunc.model.edits.operators.rule_use import UseRecorder
from quidnunc.model.edits.operators.wrapped import with_parameter
from quidnunc.model.machine import protocol_named
from quidnunc.model.rules import Protocol
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.rejudged import departures_by_text
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import Moment, rejudge
from quidnunc.properties.notation.parameters import NAMES, parameter_docs

MOST = 3
"""More than that is not read."""


def deciding_defaults(moments: Sequence[Moment], protocol: Protocol, parameters: Any) -> tuple[str, ...]:
    """A line for each: name, value and what it is. One more or one less of it, and the model would say
    something else of the last step, and the same of all before."""
    shown = set(moments[-1].judged.departures)

    def decides(name: str) -> bool:
        for step in (-1, 1):
            value = getattr(parameters, name) + step
            try:
                agreed, found = rejudge(moments, protocol, with_parameter(parameters, name, value))
            except (KeyError, ValueError, ArithmeticError):
                # A value that the specification forbids.
                continue
            if agreed >= len(moments) - 1 and set(found) != shown:
                return True
        return False

    kind: type = type(parameters)
    docs = parameter_docs(kind)
    asked = (name for name in _at_default(parameters) if name in docs)
    read = _read_last(moments, protocol, parameters)
    told = [name for name in asked if name in read and decides(name)][:MOST]
    return tuple(
        f"{NAMES.get(name, name)}={getattr(parameters, name)}, the kit's default, decides here: {docs[name]}"
        for name in told
    )


def _at_default(parameters: Any) -> Iterator[str]:
    """Numbers; when a heartbeat comes is said by the time of the departure."""
    for each in fields(type(parameters)):
        number = type(each.default) in (int, float) and not each.name.startswith("heartbeat")
        if number and getattr(parameters, each.name) == each.default:
            yield each.name


def _read_last(moments: Sequence[Moment], protocol: Protocol, parameters: Any) -> frozenset[str]:
    """The names that the rules read which took part in the last step."""
    recorder = UseRecorder()
    oracle = Oracle(recorder.watching(protocol), parameters, tells=False)
    for moment in moments:
        recorder.take()
        oracle.follow(moment.event, moment.outputs)
    used = recorder.take()
    return frozenset(name for _, rule in protocol.rules() if rule.name in used for name in names_read(rule))


def names_in_play(case: Case) -> frozenset[str] | None:
    """The names that some rule read which was asked anything in the run of a case, as its file has it. None
    where that cannot be told: of a network, and of a run whose outputs are not all written down.

    A parameter that is not among them changes nothing in this run, whatever its value.
    """
    recorder = UseRecorder()
    if departures_by_text(case, recorder.watching) is None:
        return None
    used = recorder.take()
    spec = protocol_named(case.protocol)
    protocol = edited(spec, [edit_named(name, spec) for name in case.as_built])
    return frozenset(name for _, rule in protocol.rules() if rule.name in used for name in names_read(rule))
