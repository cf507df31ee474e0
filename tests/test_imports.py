"""Who may import whom, and what is loaded only when it is needed.

`model` imports attrs alone; `impl` the vocabulary of `model` and never its rules, or the routers would be
tested against themselves; `properties` the model and the seam; nobody imports the command line.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VOCABULARY = frozenset(
    f"quidnunc.model.{name}" for name in ("rpc", "events", "parameters", "score_parameters", "errors")
)
PURE = frozenset(
    {"__future__", "collections", "enum", "fractions", "functools", "itertools", "math", "types", "typing"}
)
"""What of the standard library a model needs. No clock, randomness, files or bytes are among it."""

SEAM = frozenset(
    f"quidnunc.impl.{name}"
    for name in (
        *("seam", "sidecar", "sidecar_json", "codec", "mempool_codec", "cat_codec", "malformed", "keys"),
        *("routers", "mutant", "mutants", "extension_fields"),
    )
)
"""The part of `impl` that `properties` rests on: no router of ours is among it."""

WIRE = frozenset(
    f"quidnunc.impl.{name}" for name in ("wire_pb2", "mempool_pb2", "cat_pb2", "signing", "signed_records")
)
"""What a simulated network reads of the bytes between its nodes."""


PROVERS = frozenset({"z3", "cvc5", "numba", "numpy", "yaml"})
"""What the network rules are proved and searched with, and parameters read with; it is of an extra."""

OF_PIPELINE = frozenset(
    {"networkx", "prometheus_client", "numpy", "pyarrow", "pyspark", "ptars", "cattrs", "yaml"}
)
"""What the pipeline uses where it is installed."""

LAZY = (
    "hypothesis",
    "networkx",
    "cattrs",
    "yaml",
    "z3",
    "numba",
    "numpy",
    "pyarrow",
    "pyspark",
    "libp2p",
    "trio",
    "pytest",
)


def modules_of(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imports_in(text: str) -> Iterator[str]:
    """Every module that a text imports, at whatever depth: `from a import b` may name `a.b`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            base = node.module or ""
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names if base.startswith("quidnunc"))


def top(module: str) -> str:
    return module.split(".")[0]


def within(module: str, packages: frozenset[str]) -> bool:
    """Whether `module` is one of `packages`, inside one, or the way to one."""
    return any(module == p or module.startswith(f"{p}.") or p.startswith(f"{module}.") for p in packages)


def of_model(module: str) -> bool:
    return top(module) in PURE | {"attrs"} or within(module, frozenset({"quidnunc.model"}))


def of_impl(module: str) -> bool:
    if top(module) != "quidnunc":
        return top(module) in sys.stdlib_module_names | {"attrs", "google", "cryptography"}
    return within(module, VOCABULARY | {"quidnunc.impl"})


def of_properties(module: str) -> bool:
    if top(module) != "quidnunc":
        return top(module) in sys.stdlib_module_names | PROVERS | {"attrs", "hypothesis"}
    return within(module, SEAM | {"quidnunc.model", "quidnunc.properties"})


def of_pipeline(module: str) -> bool:
    if top(module) != "quidnunc":
        return top(module) in sys.stdlib_module_names | {"attrs", "google"} | OF_PIPELINE
    return within(module, SEAM | WIRE | {"quidnunc.model", "quidnunc.properties", "quidnunc.pipeline"})


ALLOWED = {"model": of_model, "impl": of_impl, "properties": of_properties, "pipeline": of_pipeline}
FORBIDDEN = {
    "model": ("random", "time", "os", "pathlib", "google.protobuf", "quidnunc.impl.seam", "hypothesis"),
    "impl": ("quidnunc.model.mesh", "quidnunc.model.rules", "quidnunc.properties.play", "hypothesis"),
    "properties": ("quidnunc.impl.gossipsub", "quidnunc.impl.ours", "quidnunc.output", "libp2p"),
    "pipeline": ("quidnunc.impl.gossipsub", "quidnunc.impl.ours", "quidnunc.output", "libp2p"),
}


@pytest.mark.parametrize("folder", ALLOWED)
def test_imports_keep_the_rule(folder: str) -> None:
    allowed = ALLOWED[folder]
    problems = []
    for path in modules_of(folder):
        # What is written by the protobuf compiler imports what the compiler likes.
        if path.stem.endswith("_pb2"):
            continue
        for module in imports_in(path.read_text(encoding="utf-8")):
            # `from quidnunc.model.rpc import Peer` also reads as a module that is no module.
            if not allowed(module):
                problems.append(f"{path.relative_to(ROOT)} imports {module}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("folder", ALLOWED)
def test_the_rule_refuses(folder: str) -> None:
    for module in FORBIDDEN[folder]:
        assert not ALLOWED[folder](module), f"{folder} could import {module}"


def test_nobody_imports_the_command_line() -> None:
    own = {f"quidnunc.{path.stem}" for path in modules_of("cli")} | {"quidnunc.__version__"}
    problems = [
        f"{path.relative_to(ROOT)} imports {module}"
        for folder in ("model", "impl", "properties", "pipeline")
        for path in modules_of(folder)
        for module in imports_in(path.read_text(encoding="utf-8"))
        if module in own
    ]
    assert not problems, "\n".join(problems)


def test_our_routers_do_not_know_the_codec_of_the_kit() -> None:
    """The codec turns the model's words into bytes; our pubsub router reads bytes for itself."""
    problems = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in modules_of("impl")
        if path.stem.split("_")[0] == "gossipsub"
        for module in imports_in(path.read_text(encoding="utf-8"))
        if module in ("quidnunc.impl.codec", "quidnunc.impl.symbols")
    ]
    assert not problems, "\n".join(problems)


def test_nothing_goes_by_the_name_of_its_folder() -> None:
    """`import model.rpc` works from the root of the tree, and makes a second copy with other classes."""
    folders = {"model", "properties", "impl", "cli", "pipeline"}
    problems = [
        f"{path.relative_to(ROOT)} imports {module}"
        for folder in (*sorted(folders), "tests", "bench")
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
        ("quidnunc.model.machine", (*LAZY, "google", "cryptography")),
        ("quidnunc.impl.seam", (*LAZY, "google", "cryptography")),
        ("quidnunc.properties.cases", LAZY),
        ("quidnunc.properties.verdicts", LAZY),
        ("quidnunc.command_check", LAZY),
        ("quidnunc.command_explore", LAZY),
        ("quidnunc.command_params", LAZY),
        ("quidnunc.command_trace", (*LAZY, "google", "networkx", "prometheus_client")),
        ("quidnunc.pipeline.trace_files", (*LAZY, "cryptography", "networkx", "prometheus_client")),
        ("quidnunc.pipeline.spark_session", LAZY),
        ("quidnunc.command_simulate", (*LAZY, "google")),
        ("quidnunc.pipeline.scenario_file", (*LAZY, "google")),
        ("quidnunc.impl.routers", LAZY),
        ("quidnunc.pytest_plugin", ("attrs", "google", "cryptography", "hypothesis", "libp2p")),
    ],
)
def test_loaded_only_when_needed(module: str, kept_out: tuple[str, ...]) -> None:
    assert not loaded_by(f"import {module}") & set(kept_out)


def test_what_is_loaded_is_seen() -> None:
    assert {"hypothesis", "attrs"} <= loaded_by("import quidnunc.properties.machine")
