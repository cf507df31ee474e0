"""House rules that no linter knows. Each one is also shown to notice what it forbids."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import pytest

from tests.conftest import A_SET

ROOT = Path(__file__).parents[1]
SHIPPED = ("cli", "model", "properties", "impl", "pipeline")
OURS = (*SHIPPED, "tools")
MODULES = (*OURS, ".ci", "bench", "tests")
TEXTS = (*MODULES, "adapters", "counterexamples", "docs")
TEXT_SUFFIXES = frozenset(
    {".py", ".pyi", ".md", ".toml", ".case", ".proto", ".json", ".js", ".mjs", ".txt", ".sql"}
)

MAX_FUNCTION_LINES = 50
MAX_LOOSE_LINES = 3 * MAX_FUNCTION_LINES
"""Definitions that neither name the rest of their module nor are named by it may be as many lines."""
MAX_FOLDER_MODULES = 25
MAX_SHARED_PREFIX = 2
MAX_LINES_WITHOUT_DOCSTRING = 15

# Put together of halves, so that this file does not say what it forbids.
UNFINISHED_WORDS = tuple(
    map("".join, (("TO", "DO"), ("FIX", "ME"), ("X", "XX"), ("NotImpl", "ementedError")))
)
MACHINE_FOLDERS = ("work", "tmp", "root", "home", "Users")
INDEX_HOSTS = tuple(
    map(".".join, (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("crates", "io")))
)
UNFINISHED = re.compile(rf"\b({'|'.join(UNFINISHED_WORDS)})\b")
OF_A_MACHINE = re.compile(rf"(?<![\w.~$}}])/({'|'.join(MACHINE_FOLDERS)})/\w")
OF_AN_INDEX = re.compile("|".join(map(re.escape, INDEX_HOSTS)))
FORBIDDEN_TEXT = {
    "left open": UNFINISHED,
    "a path of one machine": OF_A_MACHINE,
    "the host of a package index": OF_AN_INDEX,
}

FOREIGN = frozenset({"node_modules", "outside"})
"""Folders whose modules are not of our writing, or stand for somebody else's."""
ACROSS = frozenset({"our", "robust"})
"""Subjects of tests that are about all modules of a folder."""

SUBCLASSED = frozenset(
    {
        "Action",
        "BaseException",
        "Exception",
        "KeyboardInterrupt",
        "ValueError",
        "Enum",
        "Generic",
        "Mapping",
        "Protocol",
        "Shape",
        "TypedDict",
        "RawIOBase",
        "RuleBasedStateMachine",
    }
)
"""What a class of ours may be based on: errors, names, shapes, and what a framework demands."""

EVENTS = frozenset({"Sent", "Delivered", "Offered", "Dialled", "Closed", "Crashed"})
"""What happened, in the words that stand in cases and traces."""
PARTICIPLE = re.compile(
    r"_?([A-Z][a-z]*ed|Bound|Broken|Built|Chosen|Done|Drawn|Fallen|Found|Given|Gone|Hidden|Held|Heard|Kept|Known"
    r"|Left|Lost|Made|Meant|Met|Put|Said|Seen|Sent|Shown|Sought|Taken|Told|Thrown|Won|Written)"
)
RIDDLES = ("rest", "ends", "told", "misc", "utils", "common")
"""Last words of a module's name that say no subject: most were made to get below a limit of lines."""

Check = Callable[[ast.Module, str], Iterator[str]]
Tree = Mapping[str, str]
"""Path below the root -> text, of modules."""


def modules(*folders: str) -> list[Path]:
    """Modules of our own writing."""
    found = [p for folder in folders for p in sorted((ROOT / folder).rglob("*.py"))]
    return [p for p in found if not p.stem.endswith("_pb2") and not FOREIGN & set(p.parts)]


def texts() -> list[Path]:
    """Files that people read: all of the above, and those at the root."""
    found = [p for folder in TEXTS for p in (ROOT / folder).rglob("*") if p.suffix in TEXT_SUFFIXES]
    found += [p for p in ROOT.iterdir() if p.suffix in TEXT_SUFFIXES or p.name == "Makefile"]
    found += [ROOT / ".ci" / "run"]
    return sorted(p for p in found if p.is_file() and "node_modules" not in p.parts)


parsed = lru_cache(maxsize=None)(ast.parse)
"""Ten rules read the same modules."""


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def lines_of(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


# -- the rules ----------------------------------------------------------------------------------------------


def too_long(tree: ast.Module, text: str) -> Iterator[str]:
    """Functions of bounded length; what is defined inside a function counts for itself."""
    for function in functions(tree):
        inner = [n for n in ast.walk(function) if isinstance(n, ast.FunctionDef) and n is not function]
        own = lines_of(function) - sum(lines_of(n) for n in inner)
        if own > MAX_FUNCTION_LINES:
            yield f"{function.name} has {own} lines"


def two_subjects(tree: ast.Module, text: str) -> Iterator[str]:
    """A module is one subject, as long as that is: a table or a state machine may be long.

    Definitions belong together where one names the other. Two groups, both long, that never name each other
    are two modules.
    """
    groups = groups_of([n for n in tree.body if not isinstance(n, ast.Import | ast.ImportFrom | ast.Expr)])
    long = [g for g in groups if sum(map(lines_of, g)) > MAX_LOOSE_LINES]
    if len(long) > 1:
        firsts = ", ".join(" ".join(ast.unparse(g[0]).split()[:2]) for g in long)
        yield f"{len(long)} subjects that have nothing to do with each other, from: {firsts}"


def groups_of(nodes: Sequence[ast.stmt]) -> list[list[ast.stmt]]:
    """Definitions of a module, together where one names what another defines."""
    groups: list[tuple[set[str], set[str], list[ast.stmt]]] = []
    for node in nodes:
        names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
        defined = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined = {node.name}
        used = {n.id for n in names}
        touching = [g for g in groups if g[0] & used or g[1] & defined]
        groups = [g for g in groups if g not in touching]
        groups.append(
            (
                defined.union(*(g[0] for g in touching)),
                used.union(*(g[1] for g in touching)),
                [*(n for g in touching for n in g[2]), node],
            )
        )
    return [members for _, _, members in groups]


def participles(tree: ast.Module, text: str) -> Iterator[str]:
    """A class is named for a thing: `Verdict`, and not for what was done to it (`Judged`)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and PARTICIPLE.fullmatch(node.name) and node.name not in EVENTS:
            yield f"{node.name}: of what?"


def without_docstring(tree: ast.Module, text: str) -> Iterator[str]:
    """Every module says what it is, and every public function whose name cannot say it all."""
    if tree.body and not ast.get_docstring(tree):
        yield "the module has no docstring"
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        # A command's two functions and a program's `main` are the same everywhere.
        if node.name in ("main", "run", "add_arguments") or ast.get_docstring(node):
            continue
        # A test is named for what it says.
        if node.name.lower().startswith("test"):
            continue
        if lines_of(node) > MAX_LINES_WITHOUT_DOCSTRING:
            yield f"{node.name} has {lines_of(node)} lines and no docstring"


def subclasses(tree: ast.Module, text: str) -> Iterator[str]:
    """Values are combined and not inherited from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                name = ast.unparse(base).split("[")[0]
                if name.split(".")[-1] not in SUBCLASSED and not name.startswith("pytest."):
                    yield f"{node.name} is a subclass of {name}"


def other_values(tree: ast.Module, text: str) -> Iterator[str]:
    """Values are attrs classes."""
    for node in ast.walk(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
        if "dataclasses" in names:
            yield "dataclasses are imported: values are attrs classes"


def vague_tests(tree: ast.Module, text: str) -> Iterator[str]:
    """A test waits for nothing, and is left out for a reason that it gives."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call | ast.Attribute):
            continue
        name = ast.unparse(node.func if isinstance(node, ast.Call) else node)
        if isinstance(node, ast.Call) and name in ("time.sleep", "sleep"):
            yield f"line {node.lineno}: a test does not sleep"
        if name in ("pytest.mark.skip", "pytest.mark.skipif", "pytest.mark.xfail", "pytest.skip"):
            yield from _reasonless(node, name, tree)


def _reasonless(node: ast.Call | ast.Attribute, name: str, tree: ast.Module) -> Iterator[str]:
    if isinstance(node, ast.Attribute):
        called = any(isinstance(n, ast.Call) and n.func is node for n in ast.walk(tree))
        if not called:
            yield f"line {node.lineno}: {name} gives no reason"
        return
    given = any(k.arg == "reason" for k in node.keywords) or (name == "pytest.skip" and bool(node.args))
    if not given:
        yield f"line {node.lineno}: {name} gives no reason"


def asserting_nothing(tree: ast.Module, text: str) -> Iterator[str]:
    """Every test can fail: it asserts, or expects an error, or calls a helper of its module that does."""
    asserting = {f.name for f in functions(tree) if _asserts(f, frozenset())}
    for function in functions(tree):
        if function.name.startswith("test_") and not _asserts(function, frozenset(asserting)):
            yield f"{function.name} asserts nothing"


def _asserts(function: ast.FunctionDef | ast.AsyncFunctionDef, helpers: frozenset[str]) -> bool:
    # A scenario, from a table or as a parameter, asserts for itself.
    given = {a.arg for a in function.args.args}
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            name = called.split(".")[-1]
            if (
                called.startswith("SCENARIOS[")
                or name in helpers | given
                or name in ("raises", "fail", "assert_outcomes", "fnmatch_lines")
            ):
                return True
    return False


RULES: dict[str, tuple[Check, tuple[str, ...], str]] = {
    "length": (too_long, MODULES, "def f():\n" + "    x = 1\n" * 60),
    "cohesion": (
        two_subjects,
        MODULES,
        "A = [\n" + "    1,\n" * 200 + "]\nB = [\n" + "    2,\n" * 200 + "]\n",
    ),
    "participle": (participles, MODULES, "class Told:\n    pass\n"),
    "docstring": (without_docstring, MODULES, "def f():\n" + "    x = 1\n" * 20),
    "subclass": (subclasses, OURS, '"""A."""\nclass A(B):\n    pass\n'),
    "values": (other_values, OURS, '"""A."""\nfrom dataclasses import dataclass\n'),
    "vague": (vague_tests, ("tests",), "import pytest\n@pytest.mark.skip\ndef test_a():\n    assert x\n"),
    "nothing": (asserting_nothing, ("tests",), "def test_a():\n    f()\n"),
}


@pytest.mark.parametrize("name", RULES)
def test_modules_keep_the_rule(name: str) -> None:
    check, folders, _ = RULES[name]
    problems = []
    for path in modules(*folders):
        text = path.read_text(encoding="utf-8")
        problems += [f"{path.relative_to(ROOT)}: {p}" for p in check(parsed(text), text)]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", RULES)
def test_the_rule_notices_what_it_forbids(name: str) -> None:
    check, _, bad = RULES[name]
    assert list(check(ast.parse(bad), bad))


# -- rules of a folder --------------------------------------------------------------------------------------


def crowds(tree: Tree) -> Iterator[str]:
    """A folder is taken in at a glance."""
    for folder, stems in by_folder(tree).items():
        if len(stems) > MAX_FOLDER_MODULES:
            yield f"{folder} has {len(stems)} modules"


def prefixes(tree: Tree) -> Iterator[str]:
    """Three modules that share a prefix are a folder."""
    for folder, stems in by_folder(tree).items():
        for prefix, times in Counter(s.split("_")[0] for s in stems).items():
            if times > MAX_SHARED_PREFIX:
                yield f"{folder}/{prefix}_*.py are {times} modules: a folder {folder}/{prefix}"


def riddles(tree: Tree) -> Iterator[str]:
    """A module's name says its subject."""
    for path in tree:
        words = Path(path).stem.split("_")
        if words[-1] in RIDDLES or (words[0] in RIDDLES and len(words) > 1):
            yield f"{path}: the rest of what?"


def halves(tree: Tree) -> Iterator[str]:
    """A module that only its namesake beside it imports is a part of that one.

    Not where the import is inside a function: what is loaded only when it is needed is a module of its own.
    """
    importers: dict[str, list[str]] = {}
    for path, text in tree.items():
        for node in parsed(text).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in {node.module, *(f"{node.module}.{a.name}" for a in node.names)}:
                    importers.setdefault(name, []).append(path)
    everywhere = " ".join(tree.values())
    for path in tree:
        name = ".".join(("quidnunc", *Path(path).with_suffix("").parts)).replace("quidnunc.cli", "quidnunc")
        by = {*importers.get(name, ())}
        if len(by) == 1 and not re.search(rf"\n +(from {name} import|import {name})", everywhere):
            (other,) = map(Path, by)
            if (
                other.parent == Path(path).parent
                and other.stem.split("_")[0] == Path(path).stem.split("_")[0]
            ):
                yield f"{path} is a part of {other}, or both are a folder"


def by_folder(tree: Tree) -> dict[str, list[str]]:
    """Folder -> names of its modules."""
    found: dict[str, list[str]] = {}
    for path in map(Path, tree):
        if path.stem != "__init__":
            found.setdefault(path.parent.as_posix(), []).append(path.stem.removeprefix("test_"))
    return found


FOLDER_RULES: dict[str, tuple[Callable[[Tree], Iterator[str]], Tree]] = {
    "crowd": (crowds, {f"model/{number}.py": "" for number in range(26)}),
    "prefix": (prefixes, {f"model/mesh_{number}.py": "" for number in range(3)}),
    "riddle": (riddles, {"model/readings_told.py": ""}),
    "half": (halves, {"model/mesh_a.py": "", "model/mesh.py": "from quidnunc.model.mesh_a import one\n"}),
}


@pytest.mark.parametrize("name", FOLDER_RULES)
def test_folders_keep_the_rule(name: str) -> None:
    tree = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in modules(*OURS)}
    assert not [*FOLDER_RULES[name][0](tree)]


@pytest.mark.parametrize("name", FOLDER_RULES)
def test_the_rule_of_a_folder_notices_what_it_forbids(name: str) -> None:
    check, bad = FOLDER_RULES[name]
    assert [*check(bad)]


# -- texts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", FORBIDDEN_TEXT)
def test_texts_are_free_of(what: str) -> None:
    problems = []
    for path in texts():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if FORBIDDEN_TEXT[what].search(line):
                problems.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not problems, "\n".join(problems)


def test_forbidden_texts_are_noticed() -> None:
    for pattern, bad in (
        (UNFINISHED, f"# {UNFINISHED_WORDS[0]}: later"),
        (OF_A_MACHINE, "see " + "/".join(("", "home", "me", "x"))),
        (OF_AN_INDEX, f"https://{INDEX_HOSTS[0]}"),
    ):
        assert pattern.search(bad)
    assert not OF_A_MACHINE.search("model/home/x and $HOME/root.x")


_DOTTED = re.compile(r"(?<![\w/'\"-])quidnunc((?:\.[a-zA-Z]\w*)+)")
_TOOL = re.compile(r"python -m (tools(?:\.\w+)+)")
_FILE = re.compile(r"(?<![\w./<>{}*-])((?:[\w-]+/)+[\w-]+\.py)\b(?!`? \(new\))")
NO_MODULES = frozenset({"egg", "zip"})
"""What stands behind a dot in names of files."""


def lost_names(text: str, files: Mapping[str, str]) -> Iterator[str]:
    """Modules by their dotted names, and files by the ends of their paths, that are not among `files`."""
    for found in _DOTTED.finditer(text):
        parts = found[1].strip(".").split(".")
        at = "" if parts[0] in SHIPPED else "cli/"
        while parts and f"{at}{parts[0]}/__init__.py" in files:
            at += f"{parts.pop(0)}/"
        module = at + parts.pop(0) + ".py" if parts and f"{at}{parts[0]}.py" in files else f"{at}__init__.py"
        if parts and parts[0] not in NO_MODULES and not re.search(rf"\b{parts[0]}\b", files[module]):
            yield found[0]
    for found in _TOOL.finditer(text):
        place = found[1].replace(".", "/")
        if not {f"{place}.py", f"{place}/__main__.py"} & files.keys():
            yield found[1]
    for found in _FILE.finditer(text):
        if not any(f"/{path}".endswith(f"/{found[1]}") for path in files):
            yield found[1]


def test_modules_that_are_named_exist() -> None:
    """In code, comments and documents; a changelog and a decision tell of what was."""
    paths = [path for folder in MODULES for path in (ROOT / folder).rglob("*.py")]
    files = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    spoken = {path: text for path, text in files.items() if not re.match(r"tests/|.*_pb2\.py", path)}
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for path in documents:
        if path.name != "CHANGELOG.md" and path.parent.name != "decisions":
            spoken[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
    assert not [f"{path}: {name}" for path, text in spoken.items() for name in lost_names(text, files)]


_QUOTED = re.compile(r"`([a-z]\w*_\w+)`")


def lost_words(texts: Mapping[str, str]) -> Iterator[str]:
    """Names in backticks that are written nowhere without them: what they name is gone."""
    plain = {word for text in texts.values() for word in re.findall(r"\w+", _QUOTED.sub("", text))}
    for path, text in texts.items():
        yield from (f"{path}: {name}" for name in _QUOTED.findall(text) if name not in plain)


def test_what_is_named_in_backticks_exists() -> None:
    kinds = {".py", ".toml", ".proto", ".qnt"}
    paths = [p for folder in MODULES for p in (ROOT / folder).rglob("*") if p.suffix in kinds]
    # What is told of the sources of others names what is theirs.
    paths = [p for p in paths if p.parent.name != "mechanisms"]
    assert not [*lost_words({str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in paths})]


def test_a_name_in_backticks_that_is_gone_is_noticed() -> None:
    texts = {"a": '"""See `mesh_of` and `mesh_in`."""', "b": "def mesh_of(): ..."}
    assert [*lost_words(texts)] == ["a: mesh_in"]


def test_names_of_modules_that_are_gone_are_noticed() -> None:
    files = {
        "model/__init__.py": "",
        "model/rpc.py": "class Graft: ...",
        "cli/__init__.py": "",
        "tools/a.py": "",
    }
    text = "`quidnunc.model.rpc.Graft`, `model/rpc.py`, `model/choke.py` (new), build/quidnunc.zip"
    text += ", python -m tools.a"
    assert not [*lost_names(text, files)]
    gone = ("quidnunc.model.rpcs", "quidnunc.model.rpc.Choke", "quidnunc.network_fired", "model/rpcs.py")
    assert [*lost_names(" ".join(gone), files)] == [*gone]
    assert [*lost_names("python -m tools.b", files)] == ["tools.b"]


def test_tests_mirror_sources() -> None:
    """`tests/impl/mempool/test_dog_flood.py` is about `impl/mempool/dog`: a topic is a module or a folder."""
    problems = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        folder = path.parent.relative_to(ROOT / "tests")
        if folder == Path("."):
            continue
        inside = [p for p in (ROOT / folder).rglob("*") if p.suffix == ".py" or p.is_dir()]
        topics = {p.stem.split("_")[0].rstrip("s") for p in (*inside, ROOT / folder)}
        topic = path.stem.removeprefix("test_").split("_")[0].rstrip("s")
        if topic not in topics | ACROSS:
            problems.append(f"{path.relative_to(ROOT)} is about no module of {folder}/")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("name", "refused"),
    [("test[{'b', 'a'}]", True), ("test[frozenset()]", True), ("test[{'d': 0}]", False), ("test[a]", False)],
    ids=["set", "frozenset", "table", "word"],
)
def test_a_set_in_the_name_of_a_test_is_noticed(name: str, refused: bool) -> None:
    assert bool(A_SET.search(name)) is refused


def test_the_folders_at_the_top_are_those_that_we_name() -> None:
    """What a command wrote into the checkout was committed once."""
    named = {*MODULES, "counterexamples", "docs"}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this tree is not a git checkout, so what belongs to it is not known")
    found = {path.partition("/")[0] for path in listed.stdout.splitlines() if "/" in path}
    assert found == named, f"also name in MODULES, or take away: {sorted(found ^ named)}"
