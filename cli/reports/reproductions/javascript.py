"""A finding about js-libp2p's gossipsub as a test in JavaScript, on the runner of Node.

Its prelude is the driver's own source, less what speaks JSON and what drives older releases.
"""

from __future__ import annotations

import json
import re
import textwrap
from importlib import resources

from quidnunc.impl.seam.sidecar_json import init_of
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.router import config_of
from quidnunc.properties.cases.telling import sentence_of
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.finding import finding_of
from quidnunc.reports.reproductions.recorded import (
    Assertion,
    NoReproductionError,
    RecordedCall,
    RecordedRun,
    recorded,
)
from quidnunc.reports.reproductions.wording import comment, in_hex, prose

TEMPLATE = "js_libp2p.test.mjs"
FILE = "finding.test.mjs"
WIDTH = 110
DRIVER = "quidnunc.impl.drivers.js_libp2p"
LOADED = re.compile(r"^const \{ load, version \} = .*$", re.MULTILINE)
ERA = re.compile(r"^const era = .*$", re.MULTILINE)
ERAS = re.compile(r"^function eraOf .*?^}$", re.MULTILINE | re.DOTALL)
"""How the driver chooses by the release what drives it."""
FIRST_CURRENT = re.compile(r"^const FIRST_CURRENT = (\d+)$", re.MULTILINE)
CONVERSATION = "\nconst REQUESTS = "
"""Where the driver begins to speak JSON."""


def reproduction_of(case: Case) -> str:
    """The file. Raises NoReproductionError, and what `open_router` raises."""
    run = recorded(case)
    return rendered(
        TEMPLATE,
        headline=prose(finding_of(case).act),
        sentence=prose(sentence_of(case.clause)),
        version=run.version,
        file=FILE,
        sources=prelude(run.version),
        body=body_of(run),
    )


def prelude(version: str) -> str:
    """The driver's source as far as a test of that release needs it.

    Raises NoReproductionError for releases with packages of other names.
    """
    folder = resources.files(DRIVER)
    world, era, release, driver = (
        (folder / f"{name}.mjs").read_text(encoding="utf-8")
        for name in ("world", "current", "release", "driver")
    )
    driver, found, _ = driver.partition(CONVERSATION)
    first = FIRST_CURRENT.search(driver)
    assert found and first
    if int(version.partition(".")[0]) < int(first[1]):
        raise NoReproductionError(f"tests are written for js-libp2p {first[1]} and later")
    for place, text in (
        (LOADED, "const load = async (name) => await import(name)"),
        (ERA, "const era = await current(load)"),
        (ERAS, ""),
        (FIRST_CURRENT, ""),
    ):
        driver, times = place.subn(text, driver)
        assert times == 1, place.pattern
    lines = "\n\n".join(each.strip() for each in (world, era, release, driver)).splitlines()
    return "\n".join(line.removeprefix("export ") for line in lines if not line.startswith("import "))


def body_of(run: RecordedRun) -> str:
    """The test, below the prelude."""
    asked = json.dumps(init_of(config_of(run.case)))
    given = textwrap.wrap(asked, WIDTH, break_long_words=False, break_on_hyphens=False)
    calls = [_line(call) for call in run.before] + ["r.forget()"] + [_line(call) for call in run.last]
    lines = [
        "describe('gossipsub', () => {",
        f"  it({_text(comment(finding_of(run.case).act))}, async () => {{",
        "    const r = await Router.of(" + "\n      ".join(given) + ")",
        *(f"    {line}" for line in calls),
        *(f"    {_assert(each)}" for each in run.assertions),
        "  })",
        "})",
    ]
    return "\n".join(lines)


def _line(call: RecordedCall) -> str:
    peers = "".join(f", {peer}" for peer in call.peers)
    values = call.values
    match call.request:
        case "connect":
            protocol, outbound, *address = values
            given = f"{_text(protocol)}, {'true' if outbound else 'false'}{peers}"
            return f"await r.connectFrom({address[0]}, {given})" if address else f"await r.connect({given})"
        case "disconnect" | "stall" | "resume":
            return f"await r.of({_text(call.request)}{peers})"
        case "rpc" | "raw":
            verb = "send" if call.request == "rpc" else "raw"
            return f"await r.{verb}({hex_in_javascript(values[0])}{peers}) // {comment(call.says)}"
        case "score":
            return f"await r.score({values[0]}{peers})"
        case "publish":
            data = hex_in_javascript(values[1])
            return f"await r.publish({_text(values[0])}, {data}) // {comment(call.says)}"
        case "verdict":
            message = hex_in_javascript(values[0])
            return f"await r.verdict({message}, {_text(values[1])}) // {comment(call.says)}"
        case "advance":
            return f"await r.advance({values[0]})"
    return f"await r.{call.request}({', '.join(map(_text, values))})"


def _assert(each: Assertion) -> str:
    if each.everybody:
        return f"r.nobodyIs({_text(each.words)})"
    peer = "NOBODY" if each.peer is None else str(each.peer)
    if each.must:
        return f"r.must({peer}, {_text(each.words)})"
    return f"r.mustNot({peer}, {_text(each.words)}, {each.most})"


def _text(value: str) -> str:
    """A literal of JavaScript, in single quotes as its own tests have them."""
    return "'" + json.dumps(value)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"


def hex_in_javascript(data: bytes) -> str:
    """A literal of hexadecimal; runs of one byte are written by how many there are."""
    parts = [f"'{text}'" if times == 1 else f"'{text}'.repeat({times})" for text, times in in_hex(data)]
    return " + ".join(parts) or "''"
