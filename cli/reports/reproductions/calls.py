"""Calls of a run and what they must show, as Go and JavaScript write them: with braces, on a router `r`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve, frozen

from quidnunc.impl.seam.sidecar_json import init_of
from quidnunc.properties.cases.router import config_of
from quidnunc.reports.reproductions.recorded import Assertion, RecordedCall, RecordedRun
from quidnunc.reports.reproductions.wording import comment, in_hex

WIDTH = 110


@frozen(kw_only=True)
class CallNotation:
    """How a language writes a call."""

    before: str = ""
    """What stands before a call that takes time."""
    nobody: str
    """Who is told of what concerns no peer's stream."""
    quoted: Callable[[str], str]
    repeated: str
    """A literal, so many times."""

    def calls(self, run: RecordedRun) -> Iterator[str]:
        """The run, and what must hold at its end, a line each."""
        yield from map(self._call, run.before)
        yield "r.forget()"
        yield from map(self._call, run.last)
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
        match call.request:
            case "connect":
                protocol, outbound, *address = values
                given = [self.quoted(protocol), "true" if outbound else "false"]
                return self._text("connectFrom" if address else "connect", *address, *given, *call.peers)
            case "disconnect" | "stall" | "resume":
                return self._text("of", self.quoted(call.request), *call.peers)
            case "rpc" | "raw":
                data, *channel = values
                given = [*map(hex, channel), self.hexadecimal(data)]
                return self._text("send" if call.request == "rpc" else "raw", *given, *call.peers) + says
            case "publish" | "verdict":
                given = [self.hexadecimal(v) if isinstance(v, bytes) else self.quoted(v) for v in values]
                return self._text(call.request, *given) + says
            case "submit" | "commit":
                return self._text(call.request, self.hexadecimal(values[0])) + says
            case "score" | "advance":
                return self._text(call.request, *values, *call.peers)
        return self._text(call.request, *map(self.quoted, values))

    def _text(self, verb: str, *values: object) -> str:
        return f"{self.before}r.{verb}({', '.join(map(str, values))})"

    def _assertion(self, each: Assertion) -> str:
        words = self.quoted(each.words)
        if each.everybody:
            return f"r.nobodyIs({words})"
        peer = self.nobody if each.peer is None else each.peer
        return f"r.must({peer}, {words})" if each.must else f"r.mustNot({peer}, {words}, {each.most})"


def init_lines(run: RecordedRun) -> list[str]:
    """What the router is made of, as JSON, where it is not as in `default_lines`."""
    asked = init_of(config_of(run.case))
    usual = _usual(run)
    told = {key: _differing(value, usual[key]) for key, value in asked.items() if value != usual.get(key)}
    return _lines(told)


def default_lines(run: RecordedRun) -> list[str]:
    """What a router of that protocol is made of where nothing is said, as JSON."""
    return _lines(_usual(run))


def _usual(run: RecordedRun) -> dict[str, Any]:
    config = config_of(run.case)
    given = config.parameters
    usual = None if given is None else type(given)()
    return init_of(evolve(config, seed=0, parameters=usual, profile="shipped"))


def _differing(value: Any, usual: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(usual, dict):
        return value
    return {key: each for key, each in value.items() if key not in usual or each != usual[key]}


def _lines(told: dict[str, Any]) -> list[str]:
    return textwrap.wrap(json.dumps(told), WIDTH, break_long_words=False, break_on_hyphens=False)
