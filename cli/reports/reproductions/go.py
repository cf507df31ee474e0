"""A finding about go-libp2p-pubsub as a test in Go, in a bubble of testing/synctest.

Its prelude is the driver's own source, less what speaks JSON.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from importlib import resources

from quidnunc.impl.seam.sidecar_json import init_of
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.router import config_of
from quidnunc.properties.cases.telling import sentence_of
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.finding import finding_of
from quidnunc.reports.reproductions.recorded import Assertion, RecordedCall, RecordedRun, recorded
from quidnunc.reports.reproductions.wording import comment, in_hex, prose, title_of

TEMPLATE = "go_libp2p_test.go"
FILE = "finding_test.go"
WIDTH = 110
DRIVER = "quidnunc.impl.drivers.go_libp2p"
SOURCES = ("peers.go", "host.go", "parameters.go", "router.go", "seam.go", "extended.go")
LEFT_OUT = ("hello", "state", "answer")
"""Functions that only a conversation in JSON needs."""
OF_TEST = (
    "encoding/hex",
    "encoding/json",
    "fmt",
    "runtime",
    "strings",
    "testing",
    "testing/synctest",
    "time",
    "google.golang.org/protobuf/proto",
)
IMPORT = re.compile(r'^\t((\w+) )?"([^"]+)"$', re.MULTILINE)


def reproduction_of(case: Case) -> str:
    """The file. Raises NoReproductionError, and what `open_router` raises."""
    run = recorded(case)
    title = "Test" + "".join(word[:1].upper() + word[1:] for word in title_of(case).split("_"))
    imports, sources = prelude()
    return rendered(
        TEMPLATE,
        headline=prose(finding_of(case).act),
        sentence=prose(sentence_of(case.clause)),
        version=run.version,
        file=FILE,
        title=title,
        imports=imports,
        sources=sources,
        body=body_of(run, title),
    )


def prelude() -> tuple[list[str], str]:
    """The imports, and the driver's source as far as a test needs it."""
    folder = resources.files(DRIVER) / "source"
    named: dict[str, tuple[str, str]] = {path: ("", path) for path in OF_TEST}
    texts = []
    for name in SOURCES:
        text = (folder / name).read_text(encoding="utf-8")
        head, _, body = text.partition("\n)\n")
        for _, alias, path in IMPORT.findall(head):
            named[path] = alias, path
        texts.append(body.strip())
    source = "\n\n".join(texts)
    for function in LEFT_OUT:
        source, times = re.subn(
            rf"(?m)(^//.*\n)*^func (\(\w+ \*\w+\) )?{function}\((.*\n)+?^}}\n\n?", "", source
        )
        assert times == 1, function
    used = []
    for alias, path in sorted(named.values(), key=lambda each: ("." in each[1], each[1])):
        if path in OF_TEST or re.search(rf"\b{alias or path.rpartition('/')[2]}\.", source):
            used.append(f'{alias} "{path}"' if alias else f'"{path}"')
    at = next(at for at, line in enumerate(used) if "." in line)
    used.insert(at, "")
    return used, source


def body_of(run: RecordedRun, title: str) -> str:
    """The test, below the prelude."""
    asked = json.dumps(init_of(config_of(run.case)))
    given = textwrap.wrap(asked.replace("`", " "), WIDTH, break_long_words=False, break_on_hyphens=False)
    lines = [
        f"func {title}(t *testing.T) {{",
        "\tinVirtualTime(t, `" + "\n\t\t".join(given) + "`, func(r *router) {",
    ]
    lines += [f"\t\t{_line(call)}" for call in run.before]
    lines.append("\t\tr.forget()")
    lines += [f"\t\t{_line(call)}" for call in run.last]
    lines += [f"\t\t{_assert(each)}" for each in run.assertions]
    return "\n".join([*lines, "\t})", "}"])


def _line(call: RecordedCall) -> str:
    peers = "".join(f", {peer}" for peer in call.peers)
    values = call.values
    match call.request:
        case "connect":
            protocol, outbound, *address = values
            given = f"{_text(protocol)}, {'true' if outbound else 'false'}{peers}"
            return f"r.connectFrom({address[0]}, {given})" if address else f"r.connect({given})"
        case "disconnect" | "stall" | "resume":
            return f"r.of({_text(call.request)}{peers})"
        case "rpc" | "raw":
            verb = "send" if call.request == "rpc" else "raw"
            return f"r.{verb}({hex_in_go(values[0])}{peers}) // {comment(call.says)}"
        case "score":
            return f"r.score({values[0]}{peers})"
        case "publish":
            return f"r.publish({_text(values[0])}, {hex_in_go(values[1])}) // {comment(call.says)}"
        case "verdict":
            return f"r.verdict({hex_in_go(values[0])}, {_text(values[1])}) // {comment(call.says)}"
        case "advance":
            return f"r.advance({values[0]})"
    return f"r.{call.request}({', '.join(map(_text, values))})"


def _assert(each: Assertion) -> str:
    if each.everybody:
        return f"r.nobodyIs({_text(each.words)})"
    peer = "nobody" if each.peer is None else str(each.peer)
    if each.must:
        return f"r.must({peer}, {_text(each.words)})"
    return f"r.mustNot({peer}, {_text(each.words)}, {each.most})"


def _text(value: str) -> str:
    """A literal of Go; JSON's escapes are among its own."""
    return json.dumps(value)


def hex_in_go(data: bytes) -> str:
    """A literal of hexadecimal; runs of one byte are written by how many there are."""

    def parts() -> Iterator[str]:
        for text, times in in_hex(data):
            yield f'"{text}"' if times == 1 else f'strings.Repeat("{text}", {times})'

    return " + ".join(parts()) or '""'
