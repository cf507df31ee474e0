"""A finding about py-libp2p as a test in Python, on trio.

Its prelude is a template, as far as the test needs it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import Config, Driver
from quidnunc.model.parameters import Parameters
from quidnunc.properties.cases.case import Case, router_of
from quidnunc.properties.cases.router import config_of
from quidnunc.properties.notation.words import peers_text
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.finding import finding_of
from quidnunc.reports.reproductions.recorded import Assertion, RecordedCall, RecordedRun, recorded
from quidnunc.reports.reproductions.shaken import SourceSyntax, shaken
from quidnunc.reports.reproductions.wording import (
    FINDING,
    PRELUDE,
    cited,
    comment,
    did_by,
    in_hex,
    prose,
    seeded,
    title_words,
)

TEMPLATE = "py_libp2p.py"
FILE = "test_finding.py"
PLACE = "where `pip install libp2p=={version} pytest` was run"
WIDTH = 110
OF_TEST = "# What the test does."
"""In the template: above it, what pubsub asks of a host and its network."""
IMPORT = re.compile(r"^(from \S+ )?import (.+)\n", re.MULTILINE)
SYNTAX = SourceSyntax(
    comment=re.compile(r"#.*"),
    attached=("#", "@"),
    named=re.compile(r"(?:(?:async )?def |class )?(?P<name>[A-Za-z_]\w*)"),
    class_line=re.compile(r"class "),
    member=re.compile(r"(?:async )?def (?P<name>(?!__)\w+)"),
    is_called=lambda owner, name: owner != "Router",
)


def setup_of(driver: Driver) -> dict[str, Any]:
    """How the driver made its router."""
    made: dict[str, Any] = driver.setup()  # type: ignore[attr-defined]
    return made


def reproduction_of(case: Case) -> str:
    """The file. Raises NoReproductionError, and what `open_router` raises."""
    run = recorded(case, setup_of)
    usual = _given(_usual_setup(case, config_of(case)))
    text = rendered(
        TEMPLATE,
        headline=prose(finding_of(case).act),
        sentence=prose(cited(case)),
        version=run.version,
        command=command_of(case),
        seed=run.case.seed,
        usual={name: _wrapped(repr(value)) for name, value in usual.items()},
        body=body_of(run, usual, "_".join(["test", *title_words(case)]).lower()),
    )
    head, above, prelude, below, own = re.split(f"({PRELUDE}.*\n|{FINDING}.*\n)", text)
    of_host = {*re.findall(r"def (\w+)", prelude.partition(OF_TEST)[0])}
    syntax = evolve(SYNTAX, is_called=lambda owner, name: owner != "Router" or name in of_host)
    prelude = shaken(prelude, own, syntax)

    def used(found: re.Match[str]) -> str:
        names = [name for name in found[2].split(", ") if re.search(rf"\b{name}\b", prelude + own)]
        return f"{found[1] or ''}import {', '.join(names)}\n" if names else ""

    return f"{IMPORT.sub(used, head)}{above}\n{prelude}\n\n\n{below}{own}"


def command_of(case: Case) -> str:
    """What runs the test in its folder."""
    return f"PYTHONHASHSEED=0 pytest {FILE}"


def body_of(run: RecordedRun, usual: Mapping[str, Any], title: str) -> str:
    """The test, below the prelude."""
    lines = ["@in_virtual_time", f"async def {title}(router):"]
    if run.case.seed:
        lines.append(f"    # {seeded(run)}")
    lines += _indented(_start(_given(run.setup), usual))
    lines += _indented(map(_line, run.before))
    lines += _indented(f"router.names[{id!r}] = {name!r}  # the id of {name}" for name, id in run.ids)
    lines.append("    router.forget()")
    lines += _indented(map(_line, run.last))
    lines.append(f"    # {comment(did_by(run))}")
    lines += _indented(map(_assert, run.assertions))
    return "\n".join(lines)


def _indented(lines: Any) -> Iterator[str]:
    return (f"    {line}" for line in lines)


def _usual_setup(case: Case, config: Config) -> dict[str, Any]:
    """How the driver makes a router of that protocol where nothing is asked for."""
    usual = evolve(config, parameters=Parameters(), profile="shipped")
    driver = open_router(router_of(case), usual)
    try:
        return setup_of(driver)
    finally:
        driver.close()


def _given(setup: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the template's `start`."""
    return {
        "streams": setup["streams"],
        "router": {k: v for k, v in setup["router"].items() if k != "protocols"},
        "service": setup["service"],
        "scores": setup["scores"],
        "explicit": setup["explicit"],
        "without": setup["methods"],
        "ids": setup["message_id"],
        "asks": setup["asks"],
        "sweeps": setup["sweeps"],
    }


def _start(given: Mapping[str, Any], usual: Mapping[str, Any]) -> Iterator[str]:
    """How the router is made, in lines of at most `WIDTH`."""
    told = []
    for name, value in given.items():
        if isinstance(value, dict):
            value = {k: v for k, v in value.items() if k not in usual[name] or usual[name][k] != v}
        if value != usual[name] and (value or not isinstance(value, dict)):
            told.append(f"{name}={value!r}")
    yield from _wrapped(f"await router.start({', '.join(told)})")


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(
        line, WIDTH, subsequent_indent=" " * 4, break_long_words=False, break_on_hyphens=False
    )


def _line(call: RecordedCall) -> str:
    peers, values = peers_text(call.peers), call.values
    match call.request:
        case "connect":
            protocol, outbound, *_ = values
            return f"await router.connect({peers!r}, {protocol!r}{', outbound=True' if outbound else ''})"
        case "disconnect":
            return f"await router.disconnect_peer({peers!r})"
        case "stall" | "resume":
            return f"await router.{call.request}({peers!r})"
        case "rpc":
            return f"await router.send({peers!r}, {hex_in_python(values[0])})  # {comment(call.says)}"
        case "raw":
            data = hex_in_python(values[0])
            return f"await router.send({peers!r}, {data}, framed=False)  # {comment(call.says)}"
        case "score":
            return f"await router.score({peers!r}, {values[0]!r})"
        case "publish":
            return f"await router.publish({values[0]!r}, {hex_in_python(values[1])})  # {comment(call.says)}"
        case "verdict":
            return f"await router.verdict({hex_in_python(values[0])}, {values[1]!r})  # {comment(call.says)}"
        case "advance":
            return f"await router.advance_ms({values[0]!r})"
    return f"await router.{call.request}({', '.join(map(repr, values))})"


def _assert(each: Assertion) -> str:
    match each.kind:
        case "must":
            held, expected = f"{each.line!r} in router.did", each.line
        case "must begin":
            held = f"any(f'{{each}} '.startswith({each.line + ' '!r}) for each in router.did)"
            expected = f"what begins with {each.line}"
        case "nobody":
            held = f"not any(each.endswith({': ' + each.line!r}) for each in router.did)"
            expected = f"nobody to be sent {each.line}"
        case "at most":
            held, expected = (
                f"router.did.count({each.line!r}) <= {each.most}",
                f"at most {each.most} of {each.line}",
            )
            if not each.most:
                held, expected = f"{each.line!r} not in router.did", f"no {each.line}"
    return f"assert {held}, router.instead_of({expected!r})"


def hex_in_python(data: bytes) -> str:
    """A literal of hexadecimal; runs of one byte are products."""
    parts = [repr(text) if times == 1 else f"{text!r} * {times}" for text, times in in_hex(data)]
    return " + ".join(parts) or "''"
