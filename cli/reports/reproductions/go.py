"""A finding about a router in Go as a test in Go, in a bubble of testing/synctest.

Its prelude is the driver's own source, less what speaks JSON.
"""

from __future__ import annotations

import json
import re
from importlib import resources

from attrs import frozen

from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.telling import sentence_of
from quidnunc.reports.pages.environment import rendered
from quidnunc.reports.pages.finding import finding_of
from quidnunc.reports.reproductions.calls import CallNotation, default_lines, init_lines
from quidnunc.reports.reproductions.recorded import RecordedRun, recorded
from quidnunc.reports.reproductions.wording import prose, title_of

FILE = "finding_test.go"
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
)
IMPORT = re.compile(r'^\t((\w+) )?"([^"]+)"$', re.MULTILINE)
NOTATION = CallNotation(nobody="nobody", quoted=json.dumps, repeated="strings.Repeat({}, {})")
"""JSON's escapes are among those of Go."""


@frozen(kw_only=True)
class GoRouter:
    """A router in Go: where its driver is, and where a test of its own stands."""

    name: str
    driver: str
    """The package of this kit with its driver."""
    sources: tuple[str, ...]
    """Of that, the files that a test takes."""
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
        title = "Test" + "".join(word[:1].upper() + word[1:] for word in title_of(case).split("_"))
        imports, sources = self.prelude()
        return rendered(
            self.template,
            headline=prose(finding_of(case).act),
            sentence=prose(sentence_of(case.clause)),
            name=self.name,
            version=run.version,
            file=FILE,
            place=self.place,
            by=self.by,
            package=self.package,
            title=title,
            imports=imports,
            sources=sources,
            defaults=default_lines(run),
            driver=self.type,
            body=body_of(run, title),
        )

    def prelude(self) -> tuple[list[str], str]:
        """The imports, and the driver's source as far as a test needs it."""
        folder = resources.files(self.driver) / "source"
        of_test = (*OF_TEST, *self.imports)
        named: dict[str, tuple[str, str]] = {path: ("", path) for path in of_test}
        texts = []
        for name in self.sources:
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
            if path in of_test or re.search(rf"\b{alias or path.rpartition('/')[2]}\.", source):
                used.append(f'{alias} "{path}"' if alias else f'"{path}"')
        at = next(at for at, line in enumerate(used) if "." in line)
        used.insert(at, "")
        return used, source


GO_LIBP2P = GoRouter(
    name="go-libp2p-pubsub",
    driver="quidnunc.impl.drivers.go_libp2p",
    sources=("peers.go", "host.go", "parameters.go", "router.go", "seam.go", "extended.go"),
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
