"""Code does not ask which family a protocol is of: it looks the family up, once, in one of the tables.

A table has pubsub and mempool side by side, by the name that `Protocol.family` has. A third family is then a
third row of each table, and no search through the code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from quidnunc.model.machine import FAMILIES, PROTOCOLS

ROOT = Path(__file__).parents[1]
SHIPPED = ("cli", "model", "properties", "impl", "pipeline")
TABLES = {
    "model/machine.py": "parameters, start, step, heartbeats, streams",
    "model/edits/operators/catalogue.py": "parameters and states, and what operators know of them",
    "model/edits/operators/words.py": "the words of fields of a state",
    "impl/wire/families.py": "codec, messages, malformed bytes",
    "impl/tcp_node/families.py": "frames and timers of a node on TCP",
    "properties/claims/catalogue.py": "occasions",
    "properties/judge/oracle.py": "the order of outputs",
    "properties/neighbours/draw.py": "neighbours and their parameters",
    "properties/suite/traces.py": "walks",
    "properties/networks/acts.py": "the acts of a network",
    "properties/networks/places.py": "small networks",
    "properties/replays/network.py": "worlds of network cases",
    "properties/regress/small.py": "small worlds",
    "properties/regress/mixed.py": "mixed networks",
    "pipeline/trace/families.py": "nodes of a simulated network",
    "pipeline/simulation/wire.py": "the languages of RPCs",
}
"""The modules with a table, and what is in it."""
ASKS = {
    "impl/seam/__init__.py": 2,  # The alias `config.dog`, and the message about parameters of another family.
    "properties/params/comet.py": 1,  # A section of CometBFT's config.toml is called mempool.
}
"""How often modules ask all the same. These numbers may only become smaller."""


def families_asked(tree: ast.AST) -> Iterator[int]:
    """The lines on which code asks for a family: by its name, or by the class of parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            named = any(isinstance(s, ast.Constant) and s.value in FAMILIES for s in sides)
            if named and not all(isinstance(s, ast.Constant) for s in sides):
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            classes = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
            if classes & {family.parameters.__name__ for family in FAMILIES.values()}:
                yield node.lineno
        elif isinstance(node, ast.Attribute | ast.FunctionDef):
            name = node.attr if isinstance(node, ast.Attribute) else node.name
            if name in {f"is_{family}" for family in FAMILIES}:
                yield node.lineno


def has_table(tree: ast.AST) -> bool:
    """Whether a mapping has a value for each family."""
    keys = [
        {key.value for key in node.keys if isinstance(key, ast.Constant)}
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict)
    ]
    return any(each >= FAMILIES.keys() for each in keys)


@cache
def trees() -> tuple[tuple[str, ast.AST], ...]:
    """The modules that ship."""
    paths = sorted(p for folder in SHIPPED for p in (ROOT / folder).rglob("*.py"))
    return tuple((p.relative_to(ROOT).as_posix(), ast.parse(p.read_text(encoding="utf-8"))) for p in paths)


def test_no_module_asks_for_a_family() -> None:
    asked = {path: lines for path, tree in trees() if (lines := [*families_asked(tree)])}
    assert {path: len(lines) for path, lines in asked.items()} == ASKS, asked


def test_every_table_is_listed() -> None:
    assert {path for path, tree in trees() if has_table(tree)} == TABLES.keys()


def test_what_is_forbidden_is_noticed() -> None:
    asks = (
        'if protocol.family == "pubsub":\n    pass',
        'if "mempool" != family:\n    pass',
        "isinstance(config.parameters, Parameters)",
        "isinstance(p, Parameters | DogParameters)",
        "node.is_pubsub",
        "def is_mempool():\n    pass",
    )
    for text in asks:
        assert [*families_asked(ast.parse(text))], text
    assert not [
        *families_asked(ast.parse("FAMILIES[protocol.family].parameters; one.family == other.family"))
    ]
    assert has_table(ast.parse('X = {"pubsub": 1, "mempool": 2}')) and not has_table(ast.parse("X = {}"))


def test_every_protocol_has_a_family() -> None:
    assert {protocol.family for protocol in PROTOCOLS.values()} == FAMILIES.keys()
