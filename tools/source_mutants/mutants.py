"""Every mutant of our routers' sources, by a name that says where it is, and the sources that it makes."""

from __future__ import annotations

import ast
import importlib.util
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from attrs import field, frozen

from tools.source_mutants.operators import OPERATORS, Function

PACKAGE = "quidnunc.impl"
MODULES = (
    "gossipsub.cache",
    "gossipsub.core",
    "gossipsub.extensions",
    "gossipsub.fanout",
    "gossipsub.gossip",
    "gossipsub.mesh",
    "gossipsub.outbox",
    "gossipsub.partial",
    "gossipsub.peer_exchange",
    "gossipsub.relay",
    "gossipsub.router",
    "gossipsub.score_events",
    "gossipsub.scores",
    "mempool.cat.accounts",
    "mempool.cat.reactor",
    "mempool.cat.requests",
    "mempool.dog.metrics",
    "mempool.dog.reactor",
    "mempool.dog.redundancy",
    "mempool.dog.routes",
    "mempool.peer_limit",
    "mempool.pool",
)
"""Modules of our routers. `mempool.driver` is the seam, and `impl/ours` and `impl/mutants` plant switches."""

SHOWN_CHARACTERS = 100
UNTOUCHED_FIELDS = frozenset({"annotation", "returns", "decorator_list", "type_comment", "exc", "cause"})
UNTOUCHED = (ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Global, ast.Nonlocal)


@frozen
class Mutant:
    """One change of one node."""

    id: str
    """`gossipsub.mesh:Mesh.fill#boundary.1`: module, function, operator, and its how-manieth there."""
    module: str
    """Below `quidnunc.impl`."""
    function: str
    """Qualified name, empty at the top of the module."""
    operator: str
    line: int
    before: str
    after: str

    @property
    def place(self) -> str:
        """Module and function, as in the table of clauses."""
        return f"{self.module}:{self.function}" if self.function else self.module


@frozen(eq=False)
class Place:
    """A node with what is needed to put another in its place."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    inside: Function | None
    """The innermost function."""
    name: str
    outermost: ast.stmt
    """The statement of the module that it is in."""

    @property
    def unit(self) -> ast.AST:
        """What is compared to tell whether a change is another one: the function, or else the statement."""
        return self.inside if self.inside is not None else self.outermost

    def put(self, node: ast.AST) -> None:
        """Set what stands there."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


@frozen(eq=False)
class Change:
    """A mutant, and how to make it in the tree that it was found in."""

    mutant: Mutant
    place: Place
    node: ast.AST = field(repr=False)

    def make(self) -> None:
        """Change the tree."""
        self.place.put(self.node)


def source_of(module: str) -> tuple[Path, str]:
    """File and text of one of `MODULES`."""
    spec = importlib.util.find_spec(f"{PACKAGE}.{module}")
    if spec is None or spec.origin is None:
        raise ValueError(f"{PACKAGE}.{module} has no source")
    path = Path(spec.origin)
    return path, path.read_text("utf-8")


@lru_cache
def mutants_of(module: str) -> tuple[Mutant, ...]:
    """All mutants of one module, in the order of its text."""
    _, text = source_of(module)
    return tuple(change.mutant for change in changes_in(ast.parse(text), module))


def all_mutants() -> dict[str, Mutant]:
    """All mutants of `MODULES`, by id."""
    return {mutant.id: mutant for module in MODULES for mutant in mutants_of(module)}


def drawn(seed: int, count: int) -> tuple[Mutant, ...]:
    """The first `count` in an order that the seed shuffles: a larger sample begins with a smaller one."""
    found = all_mutants()
    names = sorted(found)
    random.Random(seed).shuffle(names)
    return tuple(found[name] for name in names[:count])


def drawn_pairs(among: Sequence[Mutant], seed: int, count: int) -> tuple[tuple[Mutant, Mutant], ...]:
    """Pairs of mutants, at random. Neither function of a pair is inside the other."""
    pairs = [(a, b) for at, a in enumerate(among) for b in among[at + 1 :] if _apart(a, b)]
    random.Random(seed).shuffle(pairs)
    return tuple(pairs[:count])


def _apart(a: Mutant, b: Mutant) -> bool:
    if a.module != b.module:
        return True
    return not f"{a.function}.".startswith(f"{b.function}.") and not f"{b.function}.".startswith(
        f"{a.function}."
    )


def mutated(module: str, ids: Iterable[str]) -> ast.Module:
    """The tree of a module with these mutants in it. Raises ValueError for one that it does not have."""
    _, text = source_of(module)
    tree, left = ast.parse(text), set(ids)
    # All changes are found before one is made: a change makes places of its own.
    for change in [c for c in changes_in(tree, module) if c.mutant.id in left]:
        change.make()
        left.discard(change.mutant.id)
    if left:
        raise ValueError(f"{module} has no mutant {', '.join(sorted(left))}")
    return ast.fix_missing_locations(tree)


def changes_in(tree: ast.Module, module: str) -> Iterator[Change]:
    """Every change of a tree that makes another one, each once."""
    numbers: Counter[tuple[str, str]] = Counter()
    known: dict[int, set[str]] = {}
    for place in list(places_in(tree)):
        seen = known.setdefault(id(place.unit), {ast.dump(place.unit)})
        for operator, change in OPERATORS.items():
            for node in change(place.node, place.inside):
                ast.copy_location(node, place.node)
                if not _is_another(place, node, seen):
                    continue
                numbers[place.name, operator] += 1
                name = f"{module}:{place.name}" if place.name else module
                yield Change(
                    Mutant(
                        id=f"{name}#{operator}.{numbers[place.name, operator]}",
                        module=module,
                        function=place.name,
                        operator=operator,
                        line=_line_of(place),
                        before=shown(place.node),
                        after=shown(node),
                    ),
                    place,
                    node,
                )


def _is_another(place: Place, node: ast.AST, seen: set[str]) -> bool:
    """Whether the change makes a text that no earlier one made."""
    place.put(node)
    # A whole statement of the module is replaced by nothing but `pass`.
    text = "pass" if place.node is place.unit else ast.dump(place.unit)
    place.put(place.node)
    if text in seen:
        return False
    seen.add(text)
    return True


def _line_of(place: Place) -> int:
    if isinstance(place.node, ast.comprehension):
        return place.node.target.lineno
    return int(getattr(place.node, "lineno", place.outermost.lineno))


def shown(node: ast.AST) -> str:
    """A node as text, in one line, without what it holds."""
    if isinstance(node, ast.comprehension):
        text = " ".join(f"if {ast.unparse(each)}" for each in node.ifs) or "(no filter)"
    elif isinstance(node, ast.If | ast.While):
        text = f"{type(node).__name__.lower()} {ast.unparse(node.test)}:"
    else:
        text = ast.unparse(node).strip().partition("\n")[0]
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


# -- places -------------------------------------------------------------------------------------------------


def places_in(tree: ast.Module) -> Iterator[Place]:
    """Every node that may be changed, in the order of the text."""
    for at, outermost in enumerate(tree.body):
        if not _is_alias(outermost):
            yield from _below(Place(outermost, tree, "body", at, None, "", outermost))


def _is_alias(outermost: ast.stmt) -> bool:
    """Whether the statement names a type."""
    if isinstance(outermost, ast.AnnAssign):
        return ast.unparse(outermost.annotation) == "TypeAlias"
    return isinstance(outermost, ast.Assign) and isinstance(outermost.value, ast.Subscript)


def _below(place: Place) -> Iterator[Place]:
    node = place.node
    if isinstance(node, UNTOUCHED):
        return
    yield place
    inside, name = place.inside, place.name
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        name = f"{name}.{node.name}" if name else node.name
        inside = inside if isinstance(node, ast.ClassDef) else node
    for each, value in ast.iter_fields(node):
        if each in UNTOUCHED_FIELDS:
            continue
        if isinstance(value, ast.AST):
            yield from _below(Place(value, node, each, None, inside, name, place.outermost))
        elif isinstance(value, list):
            for at, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _below(Place(item, node, each, at, inside, name, place.outermost))
