"""Mutated modules in place of the originals: compiled from the changed tree, no file is written."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType

from attrs import field, frozen

from tools.source_mutants.mutants import PACKAGE, mutated


@frozen(eq=False)
class MutatedSource:
    """Finder and loader of the modules that have a mutant."""

    trees: Mapping[str, ast.Module]
    """Full name of a module -> its changed tree."""
    loaded: set[str] = field(factory=set)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The original's spec, loaded by us."""
        if name not in self.trees:
            return None
        for finder in sys.meta_path:
            found = finder.find_spec(name, path, target) if finder is not self else None
            if found is not None:
                return importlib.util.spec_from_loader(name, self, origin=found.origin)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """An ordinary module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed tree."""
        name = module.__name__
        self.loaded.add(name)
        exec(compile(self.trees[name], f"<mutant of {name}>", "exec"), module.__dict__)


@contextmanager
def mutants_loaded(ids: Iterable[str]) -> Iterator[MutatedSource]:
    """Whoever imports our routers meanwhile gets these mutants.

    Raises ValueError for a mutant that there is not, and RuntimeError where a router was imported before.
    """
    by_module: dict[str, list[str]] = {}
    for each in ids:
        by_module.setdefault(each.partition("#")[0].partition(":")[0], []).append(each)
    trees = {f"{PACKAGE}.{module}": mutated(module, some) for module, some in by_module.items()}
    early = sorted(trees.keys() & sys.modules.keys())
    if early:
        raise RuntimeError(f"{', '.join(early)}: imported before its mutant; start a process for each mutant")
    source = MutatedSource(trees)
    sys.meta_path.insert(0, source)
    try:
        yield source
    finally:
        sys.meta_path.remove(source)
