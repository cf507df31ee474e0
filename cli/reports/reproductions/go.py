"""A finding about a router in Go as a test in Go, in a bubble of testing/synctest.

Its prelude is the driver's own source, as far as the test needs it.
"""

from __future__ import annotations

import json
import re
from importlib import resources

from attrs import frozen

from quidnunc.properties.cases.case import Case
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.finding import finding_of
from quidnunc.reports.reproductions.calls import CallNotation, default_lines, init_lines
from quidnunc.reports.reproductions.recorded import RecordedRun, recorded
from quidnunc.reports.reproductions.shaken import SourceSyntax, shaken
from quidnunc.reports.reproductions.wording import FINDING, PRELUDE, cited, prose, title_words

FILE = "finding_test.go"
OF_TEST = (
    *("encoding/hex", "encoding/json", "fmt", "runtime", "slices", "strings"),
    *("testing", "testing/synctest", "time"),
)
"""Imports of the template."""
IMPORT = re.compile(r'^\t((\w+) )?"([^"]+)"$', re.MULTILINE)
EXTENDED = frozenset({"gossipsub-1.3", "partial-messages", "partial-messages-go"})
"""Protocols whose routers need `GoRouter.extended`."""
SCORES = (
    re.compile(r"^\tScores +\*scoreParameters .*\n", re.MULTILINE),
    re.compile(r"^\tif p\.Scores != nil \{\n.*\n\t\}\n", re.MULTILINE),
    re.compile(r"^\tgiven := n\.asked\.Parameters\.Scores\n(?:.*\n)*?(?=\treturn params\n\})", re.MULTILINE),
)
"""Where the driver reads parameters of scores."""
PARAMETERS = re.compile(r"(?<=^type parameters struct \{\n)(?:\t\w+ +\S+ +`.*`\n)+", re.MULTILINE)
"""The fields of its parameters."""
SYNTAX = SourceSyntax(
    comment=re.compile(r"//.*"),
    attached=("//",),
    named=re.compile(r"(?:func (?:\((?:\w+ )?\*?(?P<owner>\w+)\) )?|type |var (?!_\b)|const )(?P<name>\w+)"),
    grouped=re.compile(r"^\t(\w+)", re.MULTILINE),
    # A method that begins with a capital may be one of an interface that the router calls.
    is_called=lambda owner, name: name[0].isupper(),
)
NOTATION = CallNotation(quoted=json.dumps, repeated="strings.Repeat({}, {})")
"""JSON's escapes are among those of Go."""


@frozen(kw_only=True)
class GoRouter:
    """A router in Go: where its driver is, and where a test of its own stands."""

    name: str
    driver: str
    """The package of this kit with its driver."""
    sources: tuple[str, ...]
    """Of that, the files that a test takes."""
    extended: tuple[str, str] = ("", "")
    """A file for protocols with extensions, and the one that stands for it elsewhere."""
    type: str
    """The driver's name of the router with its neighbours."""
    template: str
    package: str
    place: str
    by: str
    """How the driver plays peers."""
    imports: tuple[str, ...] = ()
    """Of the template, beside those of every one."""

    def reproduction_of(self, case: Case) -> str:
        """The file. Raises NoReproductionError, and what `open_router` raises."""
        run = recorded(case)
        title = title_of(case)
        named, sources = self.sources_and_imports(case.protocol)
        if getattr(case.parameters, "scores", None) is None:
            sources = without_scores(sources)
        text = rendered(
            self.template,
            headline=prose(finding_of(case).act),
            sentence=prose(cited(case)),
            name=self.name,
            version=run.version,
            file=FILE,
            place=self.place,
            command=command_of(case),
            by=self.by,
            package=self.package,
            imports=["IMPORTS"],
            sources=sources,
            defaults=default_lines(run),
            driver=self.type,
            body=body_of(run, title),
        )
        head, above, prelude, below, own = re.split(f"({PRELUDE}.*\n|{FINDING}.*\n)", text)
        prelude = shaken(prelude, own, SYNTAX)
        imports = "\n".join(f"\t{line}" if line else "" for line in _imports(named, prelude + own))
        head = head.replace("\tIMPORTS", imports)
        return f"{head}{above}\n{prelude}\n\n{below}{own}"

    def sources_and_imports(self, protocol: str) -> tuple[dict[str, str], str]:
        """Path -> alias of what may be imported, and the driver's source."""
        folder = resources.files(self.driver) / "source"
        named = dict.fromkeys((*OF_TEST, *self.imports), "")
        texts = []
        extended, plain = self.extended
        variant = extended if protocol in EXTENDED else plain
        for name in filter(None, (*self.sources, variant)):
            text = (folder / name).read_text(encoding="utf-8")
            head, _, body = text.partition("\n)\n")
            named |= {path: alias for _, alias, path in IMPORT.findall(head)}
            texts.append(body.strip())
        return named, "\n\n".join(texts)


def without_scores(sources: str) -> str:
    """The driver's source for a router that is given no parameters of scores."""
    if "scoreParameters" in sources:
        for place in SCORES:
            sources, times = place.subn("", sources)
            assert times == 1, place.pattern
        sources = PARAMETERS.sub(lambda found: _aligned(found[0]), sources)
    return sources


def _aligned(struct: str) -> str:
    """A struct in the columns that gofmt gives its fields."""
    rows = [line.split(maxsplit=2) for line in struct.splitlines()]
    wide, typed = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "".join(f"\t{name:{wide}} {type:{typed}} {tag}\n" for name, type, tag in rows)


def _imports(named: dict[str, str], text: str) -> list[str]:
    """Those of `text`, what is of Go itself first."""
    bare = SYNTAX.comment.sub("", text)
    used = []
    for path, alias in sorted(named.items(), key=lambda each: ("." in each[0], each[0])):
        if re.search(rf"(?<![.\w]){alias or path.rpartition('/')[2]}\.", bare):
            used.append(f'{alias} "{path}"' if alias else f'"{path}"')
    at = next(at for at, line in enumerate(used) if "." in line)
    return [*used[:at], "", *used[at:]]


def title_of(case: Case) -> str:
    """The name of its test: the rule that is broken."""
    return "Test" + "".join(word[:1].upper() + word[1:] for word in title_words(case))


def command_of(case: Case) -> str:
    """What runs the test in its folder."""
    return f"go test -run {title_of(case)} ."


GO_LIBP2P = GoRouter(
    name="go-libp2p-pubsub",
    driver="quidnunc.impl.drivers.go_libp2p",
    sources=("peers.go", "host.go", "parameters.go", "router.go", "seam.go"),
    extended=("extended.go", "plain.go"),
    type="node",
    template="go_libp2p_test.go",
    package="pubsub_test",
    place="beside the release's own tests",
    by="on streams in memory",
    imports=("google.golang.org/protobuf/proto",),
)
COMETBFT = GoRouter(
    name="CometBFT",
    driver="quidnunc.impl.drivers.cometbft",
    sources=("node.go", "peer.go", "seam.go"),
    type="router",
    template="cometbft_test.go",
    package="mempool_test",
    place="in the folder mempool of the release",
    by="on a switch that is not started,",
)


def body_of(run: RecordedRun, title: str) -> str:
    """The test, below the prelude."""
    given = "\n\t\t".join(init_lines(run)).replace("`", " ")
    lines = [f"func {title}(t *testing.T) {{", f"\tinVirtualTime(t, `{given}`, func(r *underTest) {{"]
    lines += [f"\t\t{line}" for line in NOTATION.calls(run)]
    return "\n".join([*lines, "\t})", "}"])
