"""A finding about js-libp2p's gossipsub as a test in JavaScript, on the runner of Node.

Its prelude is the driver's own source, as far as the test needs it.
"""

from __future__ import annotations

import json
import re
from importlib import resources

from quidnunc.properties.cases.case import Case
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.finding import finding_of
from quidnunc.reports.reproductions.calls import CallNotation, default_lines, init_lines
from quidnunc.reports.reproductions.recorded import NoReproductionError, RecordedRun, recorded
from quidnunc.reports.reproductions.shaken import SourceSyntax, shaken
from quidnunc.reports.reproductions.wording import FINDING, PRELUDE, cited, prose, rule_of

TEMPLATE = "js_libp2p.test.mjs"
FILE = "finding.test.mjs"
PLACE = (
    "where `npm i @libp2p/gossipsub@{version} @libp2p/crypto @libp2p/peer-id @libp2p/peer-record "
    "@multiformats/multiaddr @sinonjs/fake-timers` was run"
)
IMPORT = re.compile(r"^import (?:(\w+)|\{ (.+) \}) from ('.+')\n", re.MULTILINE)
SWITCHES = re.compile(r"^  const off = switchOff\(.*\n", re.MULTILINE)
"""Where the driver switches additions of the release off."""
SCORES = (
    (re.compile(r"Object\.fromEntries\(given\.topics\.map\(.*\)\)"), "{}"),
    (re.compile(r"^  liftBounds\(.*\n", re.MULTILINE), ""),
)
"""Where the driver reads parameters of scores."""
OWN_CLASSES = ("Keys", "Router", "Run", "Time")
"""Of which the release calls no method."""
SYNTAX = SourceSyntax(
    comment=re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL),
    attached=("//", "/*", " *"),
    named=re.compile(r"(?:(?:async )?function (?:\* )?|class |const |let )(?P<name>\w+)"),
    class_line=re.compile(r"class "),
    member=re.compile(r"(?:static )?(?:async )?(?:get )?(?:\* )?#?(?P<name>(?!constructor\b)\w+) \("),
    is_called=lambda owner, name: owner not in OWN_CLASSES,
)
DRIVER = "quidnunc.impl.drivers.js_libp2p"
LOADED = re.compile(r"^const \{ load, version \} = .*$", re.MULTILINE)
ERA = re.compile(r"^const era = .*$", re.MULTILINE)
ERAS = re.compile(r"^function eraOf .*?^}$", re.MULTILINE | re.DOTALL)
"""How the driver chooses by the release what drives it."""
OLDER_DRAWS = re.compile(r"^    drawFromSeed\(\)\n", re.MULTILINE)
"""Of releases before that."""
FIRST_CURRENT = re.compile(r"^const FIRST_CURRENT = (\d+)$", re.MULTILINE)
CONVERSATION = "\nconst REQUESTS = "
"""Where the driver begins to speak JSON."""


def reproduction_of(case: Case) -> str:
    """The file. Raises NoReproductionError, and what `open_router` raises."""
    run = recorded(case)
    sources = prelude(run.version)
    if case.profile == "shipped":
        sources, times = SWITCHES.subn("  const off = []\n", sources)
        assert times == 1
    if getattr(case.parameters, "scores", None) is None:
        for place, nothing in SCORES:
            sources, times = place.subn(nothing, sources)
            assert times == 1, place.pattern
    text = rendered(
        TEMPLATE,
        headline=prose(finding_of(case).act),
        sentence=prose(cited(case)),
        version=run.version,
        file=FILE,
        command=command_of(case),
        sources=sources,
        defaults=default_lines(run),
        body=body_of(run),
    )
    head, above, whole, below, own = re.split(f"({PRELUDE}.*\n|{FINDING}.*\n)", text)
    whole = shaken(whole, own, SYNTAX)

    def used(found: re.Match[str]) -> str:
        names = [
            name for name in (found[1] or found[2]).split(", ") if re.search(rf"\b{name}\b", whole + own)
        ]
        written = found[1] or f"{{ {', '.join(names)} }}"
        return f"import {written} from {found[3]}\n" if names else ""

    return f"{IMPORT.sub(used, head)}{above}\n{whole}\n\n{below}{own}"


def command_of(case: Case) -> str:
    """What runs the test in its folder."""
    return f"node --test {FILE}"


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
    world, times = OLDER_DRAWS.subn("", world)
    assert times == 1
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
        f"  it({quoted(rule_of(run.case))}, async () => {{",
        "    const r = await Router.of(" + "\n      ".join(init_lines(run)) + ")",
        *(f"    {line}" for line in NOTATION.calls(run)),
        "  })",
        "})",
    ]
    return "\n".join(lines)


def quoted(value: str) -> str:
    """A literal of JavaScript, in single quotes as its own tests have them."""
    return "'" + json.dumps(value)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"


NOTATION = CallNotation(before="await ", quoted=quoted, repeated="{}.repeat({})")
