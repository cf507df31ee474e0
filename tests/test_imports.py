"""Who may import whom, and what is loaded only when it is needed.

`LAYERS` is the whole of it: the packages in the order of the flow, and the shelves of each. Arrows point up
the page and nowhere else. An import inside a function, or for types alone, is an import like any other.
`model` is pure; `impl` has the vocabulary of `model` and never its rules, or the routers would be tested
against themselves; `properties` has the model and the seam; nobody imports the command line.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import pytest
from attrs import frozen

ROOT = Path(__file__).parents[1]

LAYERS = """
model         : attrs
  vocabulary    :                         = errors rpc events versions parameters score_parameters
  rules         : vocabulary              = values score_interval permits rules choices profiles granting edit
  pubsub        : vocabulary rules
  mempool       : vocabulary rules pubsub
  edits         : vocabulary rules pubsub mempool
  front         : vocabulary rules pubsub mempool  = machine own

impl          : attrs google cryptography model/vocabulary
  seam          :
  mutant        :                         = mutant
  wire          : seam                    = wire wire_pb2
  gossipsub     : seam wire
  mempool       : seam mutant wire
  mutants       : mutant wire gossipsub mempool
  ours          : seam mutant wire gossipsub mempool mutants
  tcp           : seam wire gossipsub ours  = tcp_node tcp_main
  drivers       : seam wire
  routers       : seam mutant mutants ours drivers  = routers
  sidecar_host  : seam routers            = sidecar_host
  skeletons     : seam
  own_names     :                         = own_names

properties    : attrs hypothesis z3 cvc5 numba numpy yaml model impl/seam impl/mutant impl/wire impl/routers
  lazy          :                         = lazy
  tables        :                         = tables
  bounded       :                         = bounded
  processes     :                         = processes
  documents     :
  sources       :                         = sources
  occasions     :
  blame         : occasions
  claims        : documents occasions     = claims claim_tables
  judge         : occasions blame claims
  explain       : occasions blame claims judge
  notation      :
  networks      : judge notation
  statements    : documents claims networks
  cases         : bounded documents blame claims judge explain notation networks statements
  neighbours    : tables
  search        : bounded documents sources claims judge explain notation cases neighbours
  suite         : processes tables claims judge explain cases neighbours search
  replays       : judge cases networks statements
  recall        : tables cases replays
  solver        : lazy
  params        : bounded lazy tables judge solver
  proofs        : lazy tables networks solver params
  exports       : documents lazy tables solver proofs
  regress       : bounded processes documents claims judge explain notation cases neighbours suite networks \
                  replays
  coverage      : documents claims cases suite proofs  = coverage
  mutants       : documents claims        = mutants

pipeline      : attrs duckdb google cattrs networkx numpy ptars pyarrow pyspark yaml model \
                impl/seam impl/wire impl/routers \
                properties/claims properties/judge properties/explain properties/notation properties/cases \
                properties/search properties/sources properties/lazy properties/bounded properties/processes
  folder_lock   :                         = folder_lock
  trace         :
  simulation    : folder_lock trace
  lake          : trace
  sweep         : folder_lock trace simulation lake

cli           : attrs hypothesis jinja2 matplotlib pytest model impl/seam impl/wire impl/routers \
                impl/skeletons impl/own_names properties pipeline
  output        :                         = __init__ output
  options       : output
  arguments     : output                  = arguments trace_run
  reports       : output arguments
  commands      : output options arguments reports
  front         : output options arguments = __main__ conformance pytest_plugin pytest_regress
"""
"""A package, and what it may import of other people and of the packages above it, whole or one shelf; then
its shelves, and what each may import of those above it. A shelf is a folder, unless modules follow a `=`."""

PURE = frozenset(
    {
        "__future__",
        "collections",
        "difflib",
        "enum",
        "fractions",
        "functools",
        "itertools",
        "math",
        "types",
        "typing",
    }
)
"""What of the standard library a model needs. No clock, randomness, files or bytes are among it."""

LAZY = (
    "hypothesis",
    "jinja2",
    "matplotlib",
    "networkx",
    "cattrs",
    "yaml",
    "z3",
    "numba",
    "numpy",
    "pyarrow",
    "pyspark",
    "duckdb",
    "libp2p",
    "trio",
    "pytest",
)

PUBLIC = {
    "quidnunc": ("conforms",),
    "quidnunc.impl.seam": ("AdapterError", "Config", "Delivery", "Hello", "Reply"),
    "quidnunc.impl.sidecar_host": ("main",),
    "quidnunc.impl.tcp_main": ("main",),
    "quidnunc.impl.tcp_node": ("TcpNode",),
    "quidnunc.impl.wire_pb2": ("RPC",),
    "quidnunc.model.choices": ("SeededChoices",),
    "quidnunc.model.errors": ("SpecError",),
    "quidnunc.model.events": ("Advance",),
    "quidnunc.model.machine": ("protocol_named",),
    "quidnunc.model.own": ("with_control",),
    "quidnunc.model.parameters": ("Parameters",),
    "quidnunc.model.permits": ("Step", "must_send"),
    "quidnunc.model.rpc": ("ControlField", "Prune"),
    "quidnunc.model.rules": ("first", "phases", "rule", "total", "without"),
    "quidnunc.properties.claim_tables": ("Claim", "claim"),
}
"""What documents tell others to import: a module that moves leaves these names where they were."""


STARTED = {
    "quidnunc.__main__": "the command",
    "quidnunc.conformance": "quidnunc.conforms, in a test of somebody's",
    "quidnunc.pytest_plugin": "pytest loads it, by its entry point",
    "quidnunc.properties.search.worker": "a search starts it in a process of its own",
    "quidnunc.properties.solver.kernel": "compiled searches are made of its source",
}
"""Module that nothing need import -> who starts it. The modules of commands are found by their names."""


@frozen
class Shelf:
    """A row of the table: what is named there, in the words of the table."""

    package: str
    name: str
    modules: tuple[str, ...]
    """Names directly below the package: folders and modules."""
    may: frozenset[str]


def read_layers(text: str) -> tuple[dict[str, frozenset[str]], tuple[Shelf, ...]]:
    """What each package may import from outside, and the shelves, in the order of the page."""
    packages: dict[str, frozenset[str]] = {}
    shelves: list[Shelf] = []
    for line in filter(str.strip, text.splitlines()):
        name, _, rest = line.partition(":")
        may, _, modules = rest.partition("=")
        if not line.startswith(" "):
            packages[name.strip()] = frozenset(may.split())
        else:
            package = [*packages][-1]
            held = tuple(modules.split()) or (name.strip(),)
            shelves.append(Shelf(package, name.strip(), held, frozenset(may.split())))
    return packages, tuple(shelves)


PACKAGES, SHELVES = read_layers(LAYERS)


def modules_of(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    """`model/pubsub/mesh.py` is `quidnunc.model.pubsub.mesh`, `cli/output.py` is `quidnunc.output`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    kept = parts[1:] if parts[0] == "cli" else parts
    return ".".join(("quidnunc", *(p for p in kept if p != "__init__")))


MODULES = {name_of(path): path for folder in PACKAGES for path in modules_of(folder)}


def imports_in(text: str) -> Iterator[str]:
    """Every module that a text imports, at whatever depth. Of ours it is the module, not the name in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            base = node.module or ""
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if inner in MODULES else base


def top(module: str) -> str:
    return module.split(".")[0]


def shelf_of(module: str) -> Shelf | None:
    """The shelf that holds a module of ours."""
    parts = module.split(".")[1:]
    package = parts[0] if parts and parts[0] in PACKAGES else "cli"
    below = (parts if package == "cli" else parts[1:]) or ["__init__"]
    return next((s for s in SHELVES if s.package == package and below[0] in s.modules), None)


def allowed(importer: Shelf, module: str) -> bool:
    """Whether the table lets a shelf import a module."""
    outside = PACKAGES[importer.package]
    if top(module) != "quidnunc":
        library = PURE if importer.package == "model" else sys.stdlib_module_names
        return top(module) in library | outside
    shelf = shelf_of(module)
    if shelf is None:
        return False
    if shelf.package == importer.package:
        return shelf == importer or shelf.name in importer.may
    return bool({shelf.package, f"{shelf.package}/{shelf.name}"} & outside)


@lru_cache
def arrows() -> tuple[tuple[str, str], ...]:
    """Every import in what ships, as importer and imported."""
    return tuple(
        (name, module)
        for name, path in MODULES.items()
        # What the protobuf compiler writes imports what the compiler likes.
        if not path.stem.endswith("_pb2")
        for module in imports_in(path.read_text(encoding="utf-8"))
    )


def cycles(graph: Mapping[str, Iterable[str]]) -> set[frozenset[str]]:
    """The sets of nodes that reach each other."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        todo = [*graph[start]]
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo += graph.get(node, ())
        reached[start] = seen
    found = {frozenset(n for n in reached[a] if a in reached.get(n, ())) for a in graph if a in reached[a]}
    return {group for group in found if group}


# -- the rules ----------------------------------------------------------------------------------------------


def test_the_table_points_up_the_page() -> None:
    for shelf in SHELVES:
        above = [s.name for s in SHELVES[: SHELVES.index(shelf)] if s.package == shelf.package]
        assert shelf.may <= {*above}, f"{shelf.package}/{shelf.name} imports what is below it"
    of_ours = {*PACKAGES, *(f"{s.package}/{s.name}" for s in SHELVES)}
    for place, (package, outside) in enumerate(PACKAGES.items()):
        above = [*PACKAGES][:place]
        assert {top(o.replace("/", ".")) for o in outside if o in of_ours or "/" in o} <= {*above}, package


def test_every_module_stands_on_a_shelf() -> None:
    roots = {f"quidnunc.{package}" for package in PACKAGES}
    assert [name for name in MODULES if name not in roots and shelf_of(name) is None] == []
    held = [(s.package, m) for s in SHELVES for m in s.modules]
    assert len(held) == len({*held}), "a module stands on one shelf"
    for package, module in held:
        place = ROOT / package / module
        assert place.is_dir() or place.with_suffix(".py").is_file(), f"there is no {package}/{module}"


def test_imports_keep_to_the_table() -> None:
    problems = []
    for name, module in arrows():
        shelf = shelf_of(name)
        if shelf is not None and not allowed(shelf, module):
            problems.append(f"{shelf.package}/{shelf.name} may not import {module} (in {MODULES[name]})")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("model.pubsub.mesh", "random"),
        ("model.pubsub.mesh", "time"),
        ("model.pubsub.mesh", "google.protobuf"),
        ("model.pubsub.mesh", "hypothesis"),
        ("model.pubsub.mesh", "quidnunc.impl.seam"),
        ("model.pubsub.mesh", "quidnunc.model.mempool.flood"),
        ("model.rules", "quidnunc.model.pubsub.mesh"),
        ("impl.gossipsub.router", "quidnunc.model.pubsub.mesh"),
        ("impl.gossipsub.router", "quidnunc.model.rules"),
        ("impl.gossipsub.router", "quidnunc.impl.mutants.pubsub"),
        ("impl.seam", "quidnunc.impl.wire.codec"),
        ("impl.routers", "quidnunc.properties.judge.play"),
        ("impl.routers", "hypothesis"),
        ("properties.judge.play", "quidnunc.impl.gossipsub.router"),
        ("properties.judge.play", "quidnunc.impl.ours.pubsub"),
        ("properties.judge.play", "quidnunc.properties.search.machine"),
        ("properties.judge.play", "quidnunc.output"),
        ("properties.judge.play", "libp2p"),
        ("properties.judge.play", "tools.nightly"),
        ("pipeline.trace.check", "quidnunc.impl.ours.pubsub"),
        ("pipeline.trace.check", "quidnunc.properties.regress.compare"),
        ("pipeline.trace.check", "quidnunc.pipeline.lake.ingest"),
        ("pipeline.trace.check", "quidnunc.output"),
        ("reports.check", "quidnunc.commands.check"),
        ("commands.check", "quidnunc.impl.ours.pubsub"),
        ("commands.check", "quidnunc.impl"),
    ],
)
def test_the_table_refuses(importer: str, imported: str) -> None:
    shelf = shelf_of(f"quidnunc.{importer}")
    assert shelf is not None and not allowed(shelf, imported)


def test_no_modules_import_each_other() -> None:
    """Imports inside functions and for types alone are counted."""
    graph: dict[str, set[str]] = {name: set() for name in MODULES}
    for name, module in arrows():
        if module in MODULES and module != name:
            graph[name].add(module)
    assert not cycles(graph)


def reached(graph: Mapping[str, Iterable[str]], roots: Iterable[str]) -> set[str]:
    """The modules that are loaded when all of `roots` are: with each module the packages that it is in."""
    seen: set[str] = set()
    todo = [*roots]
    while todo:
        module = todo.pop()
        if module not in seen:
            seen.add(module)
            todo += [*graph.get(module, ()), *filter(None, [module.rpartition(".")[0]])]
    return seen


NAMED = re.compile(r"[\"'](quidnunc(?:\.\w+)+)\b")
"""A module that a text names in place of importing it."""


def test_nothing_ships_for_tests_or_tools_alone() -> None:
    """What ships is a command, a public module, started by somebody, or used by one of these."""
    graph: dict[str, set[str]] = {name: set() for name in MODULES}
    for name, module in arrows():
        graph[name].add(module)
    for name, path in MODULES.items():
        graph[name].update(NAMED.findall(path.read_text(encoding="utf-8")))
    commands = (n for n in MODULES if n.startswith(("quidnunc.commands.", "quidnunc.options.")))
    assert MODULES.keys() - reached(graph, [*PUBLIC, *STARTED, *commands]) == set()


def test_a_module_that_only_a_tool_uses_is_noticed() -> None:
    graph = {"quidnunc.commands.check": ["quidnunc.a.b"], "quidnunc.a.b": [], "quidnunc.c": ["quidnunc.a.b"]}
    assert graph.keys() - reached(graph, ["quidnunc.commands.check"]) == {"quidnunc.c"}
    assert "quidnunc.a" in reached(graph, ["quidnunc.commands.check"])


def test_a_cycle_is_noticed() -> None:
    assert cycles({"a": ["b"], "b": ["c"], "c": ["b"], "d": ["d", "a"]}) == {frozenset("bc"), frozenset("d")}
    lazy = "def f():\n    from quidnunc.model import rules\nif TYPE_CHECKING:\n    import quidnunc.model.own"
    assert [*imports_in(lazy)] == ["quidnunc.model.rules", "quidnunc.model.own"]


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_are_where_documents_say(module: str) -> None:
    held = importlib.import_module(module)
    assert [name for name in PUBLIC[module] if not hasattr(held, name)] == []


def test_what_documents_import_is_public() -> None:
    """An example imports nothing that a later move would take away."""
    told = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", *(ROOT / "tests" / "outside").rglob("*.py")]
    lines = [line for path in told for line in path.read_text(encoding="utf-8").splitlines()]
    example = re.compile(r"\s*(from quidnunc\S* import|import quidnunc)")
    imports = [line.strip() for line in lines if example.match(line)]
    missing = []
    for line in imports:
        for node in ast.walk(ast.parse(line)):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    if whole not in PUBLIC and alias.name not in PUBLIC.get(node.module or "", ()):
                        missing.append(line)
    assert imports and not missing


def test_our_routers_do_not_know_the_codec_of_the_kit() -> None:
    """The codec turns the model's words into bytes; our pubsub router reads bytes for itself."""
    problems = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in modules_of("impl")
        if "gossipsub" in path.parts
        for module in imports_in(path.read_text(encoding="utf-8"))
        if module in ("quidnunc.impl.wire.codec", "quidnunc.impl.wire.symbols")
    ]
    assert not problems, "\n".join(problems)


def test_nothing_goes_by_the_name_of_its_folder() -> None:
    """`import model.rpc` works from the root of the tree, and makes a second copy with other classes."""
    folders = {*PACKAGES}
    problems = [
        f"{path.relative_to(ROOT)} imports {module}"
        for folder in (*sorted(folders), "tests", "bench", "tools")
        for path in modules_of(folder)
        for module in imports_in(path.read_text(encoding="utf-8"))
        if top(module) in folders
    ]
    assert not problems, "\n".join(problems)


def loaded_by(statement: str) -> set[str]:
    """Top-level modules that are loaded after `statement`, in a process of its own."""
    script = f"{statement}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("module", "kept_out"),
    [
        ("quidnunc", (*LAZY, "attrs", "google", "cryptography", "argparse")),
        ("quidnunc.conformance", set(LAZY) - {"pytest"}),
        ("quidnunc.model.machine", (*LAZY, "google", "cryptography")),
        ("quidnunc.impl.seam", (*LAZY, "google", "cryptography")),
        ("quidnunc.properties.replays.replay", LAZY),
        ("quidnunc.properties.search.verdicts", LAZY),
        ("quidnunc.commands.check", LAZY),
        ("quidnunc.commands.explore", LAZY),
        ("quidnunc.commands.params", LAZY),
        ("quidnunc.commands.trace", (*LAZY, "google", "networkx")),
        ("quidnunc.pipeline.trace.files", (*LAZY, "cryptography", "networkx")),
        ("quidnunc.pipeline.lake.spark_session", LAZY),
        ("quidnunc.commands.simulate", (*LAZY, "google")),
        ("quidnunc.pipeline.simulation.scenario.file", (*LAZY, "google")),
        ("quidnunc.impl.routers", LAZY),
        ("quidnunc.pytest_plugin", ("attrs", "google", "cryptography", "hypothesis", "libp2p")),
    ],
)
def test_loaded_only_when_needed(module: str, kept_out: Iterable[str]) -> None:
    assert not loaded_by(f"import {module}") & set(kept_out)


def test_the_package_is_imported_fast() -> None:
    """Under 0.3 s of processor time, the start of Python among it; the best of three."""

    def seconds() -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", "import quidnunc"], check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(seconds() for _ in range(3)) < 0.3


def test_what_is_loaded_is_seen() -> None:
    assert {"hypothesis", "attrs"} <= loaded_by("import quidnunc.properties.search.machine")
