"""House rules that no linter knows. Each one is also shown to notice what it forbids."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHIPPED = ("cli", "model", "properties", "impl", "pipeline")
MODULES = (*SHIPPED, "bench", "tests")
TEXTS = (*MODULES, "adapters", "counterexamples", "docs")
TEXT_SUFFIXES = frozenset({".py", ".pyi", ".md", ".toml", ".case", ".proto", ".json", ".js", ".mjs", ".txt"})

MAX_MODULE_LINES = 450
MAX_FUNCTION_LINES = 50
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
    {"Exception", "ValueError", "Enum", "Generic", "Protocol", "Shape", "TypedDict", "RuleBasedStateMachine"}
)
"""What a class of ours may be based on: errors, names, shapes, and what a framework demands."""

Check = Callable[[ast.Module, str], Iterator[str]]


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


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def lines_of(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


# -- the rules ----------------------------------------------------------------------------------------------


def too_long(tree: ast.Module, text: str) -> Iterator[str]:
    """Modules and functions of bounded length; what is defined inside a function counts for itself."""
    lines = text.count("\n")
    if lines > MAX_MODULE_LINES:
        yield f"{lines} lines: does the subject split?"
    for function in functions(tree):
        inner = [n for n in ast.walk(function) if isinstance(n, ast.FunctionDef) and n is not function]
        own = lines_of(function) - sum(lines_of(n) for n in inner)
        if own > MAX_FUNCTION_LINES:
            yield f"{function.name} has {own} lines"


def without_docstring(tree: ast.Module, text: str) -> Iterator[str]:
    """Every module says what it is, and every public function whose name can not say it all."""
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
    "docstring": (without_docstring, MODULES, "def f():\n" + "    x = 1\n" * 20),
    "subclass": (subclasses, SHIPPED, '"""A."""\nclass A(B):\n    pass\n'),
    "values": (other_values, SHIPPED, '"""A."""\nfrom dataclasses import dataclass\n'),
    "vague": (vague_tests, ("tests",), "import pytest\n@pytest.mark.skip\ndef test_a():\n    assert x\n"),
    "nothing": (asserting_nothing, ("tests",), "def test_a():\n    f()\n"),
}


@pytest.mark.parametrize("name", RULES)
def test_modules_keep_the_rule(name: str) -> None:
    check, folders, _ = RULES[name]
    problems = []
    for path in modules(*folders):
        text = path.read_text(encoding="utf-8")
        problems += [f"{path.relative_to(ROOT)}: {p}" for p in check(ast.parse(text), text)]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", RULES)
def test_the_rule_notices_what_it_forbids(name: str) -> None:
    check, _, bad = RULES[name]
    assert list(check(ast.parse(bad), bad))


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


def test_tests_mirror_sources() -> None:
    """`tests/impl/test_dog_flood.py` is about `impl/dog*.py`: a test module's topic is a module's."""
    problems = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        folder = path.parent.relative_to(ROOT / "tests")
        if folder == Path("."):
            continue
        topics = {p.stem.split("_")[0].rstrip("s") for p in (ROOT / folder).glob("*.py")}
        topic = path.stem.removeprefix("test_").split("_")[0].rstrip("s")
        if topic not in topics | ACROSS:
            problems.append(f"{path.relative_to(ROOT)} is about no module of {folder}/")
    assert not problems, "\n".join(problems)
