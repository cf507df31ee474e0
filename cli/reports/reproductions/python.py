"""A finding about py-libp2p as a test in Python, on trio."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from quidnunc.impl.seam import Driver
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.telling import sentence_of
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.finding import finding_of
from quidnunc.reports.reproductions.recorded import Assertion, RecordedCall, RecordedRun, recorded
from quidnunc.reports.reproductions.wording import comment, in_hex, prose, title_of

TEMPLATE = "py_libp2p.py"
FILE = "test_finding.py"
WIDTH = 110


def setup_of(driver: Driver) -> dict[str, Any]:
    """How the driver made its router."""
    made: dict[str, Any] = driver.setup()  # type: ignore[attr-defined]
    return made


def reproduction_of(case: Case) -> str:
    """The file. Raises NoReproductionError, and what `open_router` raises."""
    run = recorded(case, setup_of)
    return rendered(
        TEMPLATE,
        headline=prose(finding_of(case).act),
        sentence=prose(sentence_of(case.clause)),
        version=run.version,
        file=FILE,
        seed=case.seed,
        body=body_of(run, title_of(case)),
    )


def body_of(run: RecordedRun, title: str) -> str:
    """The test, below the prelude."""
    lines = ["@in_virtual_time", f"async def test_{title}(router):", *_indented(_start(run.setup))]
    lines += _indented(map(_line, run.before))
    lines.append("    router.forget()")
    lines += _indented(map(_line, run.last))
    lines += _indented(map(_assert, run.assertions))
    return "\n".join(lines)


def _indented(lines: Any) -> Iterator[str]:
    return (f"    {line}" for line in lines)


def _start(setup: dict[str, Any]) -> Iterator[str]:
    """How the router is made, in lines of at most `WIDTH`."""
    router = {k: v for k, v in setup["router"].items() if k != "protocols"}
    given = {
        "streams": setup["streams"],
        "router": router or None,
        "service": setup["service"],
        "scores": setup["scores"],
        "explicit": setup["explicit"],
        "without": setup["methods"],
        "ids": "" if setup["message_id"] == "origin" else setup["message_id"],
        "asks": setup["asks"],
        "sweeps": setup["sweeps"],
    }
    yield "await router.start("
    for name, value in given.items():
        if value or name in ("router", "sweeps"):
            yield from _wrapped(f"    {name}={value!r},")
    yield ")"


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent=" " * 8, break_long_words=False)


def _line(call: RecordedCall) -> str:
    peers, values = _numbers(call.peers), call.values
    match call.request:
        case "connect":
            protocol, outbound, *_ = values
            return f"await router.connect({peers}, {protocol!r}{', outbound=True' if outbound else ''})"
        case "disconnect":
            return f"await router.disconnect_peer({peers})"
        case "stall" | "resume":
            return f"await router.{call.request}({peers})"
        case "rpc":
            return f"await router.send({peers}, {hex_in_python(values[0])})  # {comment(call.says)}"
        case "raw":
            data = hex_in_python(values[0])
            return f"await router.send({peers}, {data}, framed=False)  # {comment(call.says)}"
        case "score":
            return f"await router.score({peers}, {values[0]!r})"
        case "publish":
            return f"await router.publish({values[0]!r}, {hex_in_python(values[1])})  # {comment(call.says)}"
        case "verdict":
            return f"await router.verdict({hex_in_python(values[0])}, {values[1]!r})  # {comment(call.says)}"
    return f"await router.{call.request}({', '.join(map(repr, values))})"


def _assert(each: Assertion) -> str:
    if each.everybody:
        return f"assert {each.words!r} not in [said for _, said in router.said], router.said"
    heard = f"router.heard({'' if each.peer is None else each.peer})"
    if each.must:
        return f"assert any(said.startswith({each.words!r}) for said in {heard}), {heard}"
    if each.most:
        return f"assert {heard}.count({each.words!r}) <= {each.most}"
    return f"assert {each.words!r} not in {heard}"


def _numbers(peers: Sequence[int]) -> str:
    first = peers[0] if peers else 0
    if len(peers) > 2 and [*peers] == [*range(first, first + len(peers))]:
        return f"range({first}, {first + len(peers)})"
    return repr([*peers])


def hex_in_python(data: bytes) -> str:
    """A literal of hexadecimal; runs of one byte are products."""
    parts = [repr(text) if times == 1 else f"{text!r} * {times}" for text, times in in_hex(data)]
    return " + ".join(parts) or "''"
