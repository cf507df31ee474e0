"""A finding about js-libp2p's gossipsub as a test in JavaScript, on the runner of Node.

Its prelude is the driver's own source, less what speaks JSON and what drives older releases.
"""

from __future__ import annotations

import json
import re
from importlib import resources

from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.telling import sentence_of
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.finding import finding_of
from quidnunc.reports.reproductions.calls import CallNotation, default_lines, init_lines
from quidnunc.reports.reproductions.recorded import NoReproductionError, RecordedRun, recorded
from quidnunc.reports.reproductions.wording import comment, prose

TEMPLATE = "js_libp2p.test.mjs"
FILE = "finding.test.mjs"
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
        defaults=default_lines(run),
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
    lines = [
        "describe('gossipsub', () => {",
        f"  it({quoted(comment(finding_of(run.case).act))}, async () => {{",
        "    const r = await Router.of(" + "\n      ".join(init_lines(run)) + ")",
        *(f"    {line}" for line in NOTATION.calls(run)),
        "  })",
        "})",
    ]
    return "\n".join(lines)


def quoted(value: str) -> str:
    """A literal of JavaScript, in single quotes as its own tests have them."""
    return "'" + json.dumps(value)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"


NOTATION = CallNotation(before="await ", nobody="NOBODY", quoted=quoted, repeated="{}.repeat({})")
