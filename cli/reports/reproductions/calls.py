"""Calls of a run and what they must show, as Go and JavaScript write them: with braces, on a router `r`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve, frozen

from quidnunc.impl.seam.sidecar_json import init_of
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.router import config_of
from quidnunc.properties.notation.words import peers_text
from quidnunc.reports.reproductions.recorded import Assertion, AssertionKind, RecordedCall, RecordedRun
from quidnunc.reports.reproductions.wording import comment, did_by, in_hex, seeded

WIDTH = 110
ASSERTED: dict[AssertionKind, str] = {
    "must": "must",
    "must begin": "mustBegin",
    "at most": "atMost",
    "nobody": "nobodyIsSent",
}
"""What holds -> the method that asks for it."""


@frozen(kw_only=True)
class CallNotation:
    """How a language writes a call."""

    before: str = ""
    """What stands before a call that takes time."""
    quoted: Callable[[str], str]
    repeated: str
    """A literal, so many times."""

    def calls(self, run: RecordedRun) -> Iterator[str]:
        """The run, and what must hold at its end, a line each."""
        if run.case.seed:
            yield f"// {seeded(run)}"
        yield from map(self._call, run.before)
        yield from (
            f"r.names({self.quoted(name)}, {self.quoted(id)}) // the id of {name}" for name, id in run.ids
        )
        yield "r.forget()"
        yield from map(self._call, run.last)
        yield f"// {comment(did_by(run))}"
        yield from map(self._assertion, run.assertions)

    def hexadecimal(self, data: bytes) -> str:
        """A literal; runs of one byte are written by how many there are."""
        parts = [
            self.quoted(text) if times == 1 else self.repeated.format(self.quoted(text), times)
            for text, times in in_hex(data)
        ]
        return " + ".join(parts) or self.quoted("")

    def _call(self, call: RecordedCall) -> str:
        values, says = call.values, f" // {comment(call.says)}"
        peers = [self.quoted(peers_text(call.peers))] if call.peers else []
        match call.request:
            case "connect":
                protocol, outbound, *address = values
                given = [protocol, *(["outbound"] if outbound else []), *(f"address={a}" for a in address)]
                return self._text("connect", *peers, *map(self.quoted, given))
            case "rpc" | "raw":
                data, *channel = values
                given = [*map(hex, channel), self.hexadecimal(data)]
                return self._text("send" if call.request == "rpc" else "raw", *peers, *given) + says
            case "publish" | "verdict":
                given = [self.hexadecimal(v) if isinstance(v, bytes) else self.quoted(v) for v in values]
                return self._text(call.request, *given) + says
            case "submit" | "commit":
                return self._text(call.request, self.hexadecimal(values[0])) + says
            case "advance":
                return self._text("advanceMs", *values)
            case "score":
                return self._text("score", *peers, *values)
        return self._text(call.request, *peers, *map(self.quoted, values))

    def _text(self, verb: str, *values: object) -> str:
        return f"{self.before}r.{verb}({', '.join(map(str, values))})"

    def _assertion(self, each: Assertion) -> str:
        if each.kind == "at most" and not each.most:
            return f"r.mustNot({self.quoted(each.line)})"
        most = f", {each.most}" if each.kind == "at most" else ""
        return f"r.{ASSERTED[each.kind]}({self.quoted(each.line)}{most})"


def init_lines(run: RecordedRun) -> list[str]:
    """What the router is made of, as JSON, where it is not as in `default_lines`."""
    asked = init_of(config_of(run.case))
    usual = _usual(run.case)
    told = {key: _differing(value, usual[key]) for key, value in asked.items() if value != usual.get(key)}
    if isinstance(parameters := told.get("parameters"), dict):
        told["parameters"] = {key: value for key, value in parameters.items() if key not in run.fixed}
    return _lines({key: value for key, value in told.items() if value != {}})


def default_lines(run: RecordedRun) -> list[str]:
    """What a router of that protocol is made of where nothing is said, as JSON."""
    return _lines(_usual(run.case))


def _usual(case: Case) -> dict[str, Any]:
    config = config_of(case)
    given = config.parameters
    usual = None if given is None else type(given)()
    return init_of(evolve(config, seed=0, parameters=usual, profile="shipped"))


def _differing(value: Any, usual: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(usual, dict):
        return value
    return {key: each for key, each in value.items() if key not in usual or each != usual[key]}


def _lines(told: dict[str, Any]) -> list[str]:
    return textwrap.wrap(json.dumps(told), WIDTH, break_long_words=False, break_on_hyphens=False)
