"""A protocol of somebody's own: a variable of a Python module, as it is now or at a revision of a repository.

The module may say more of its protocols: `PARAMETERS`, a mapping from names of parameters to the values that
they have here, and `CLAIMS`, what is asked of a router (`quidnunc.properties.claim_tables`).

The module is looked for as Python does, the working directory first. Of a revision the whole tree is taken
out of git into a folder of its own, and the module and what it imports from there are loaded from that.
"""

from __future__ import annotations

import atexit
import importlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from sysconfig import get_paths
from traceback import extract_tb
from types import ModuleType

from attrs import frozen

from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS, family_of
from quidnunc.model.rules import Protocol
from quidnunc.properties.claims.catalogue import check_claims
from quidnunc.properties.claims.claim import Claim
from quidnunc.properties.documents.clauses import load

OWN = "python:"
HERE = Path(__file__).resolve().parents[2]
"""The folder of the kit."""
MAX_TREE = 1 << 28
"""Bytes of a revision's tree, as an archive."""


@frozen
class OwnProtocol:
    """A protocol, and what else its module says."""

    protocol: Protocol
    claims: tuple[Claim, ...] = ()
    parameters: tuple[tuple[str, object], ...] = ()


def own_named(text: str) -> OwnProtocol:
    """The protocol that is written `python:MODULE:NAME`, or `REVISION@python:MODULE:NAME`.

    Raises SpecError where there is no such revision, module or variable, or the variable is no protocol.
    """
    revision, _, place = text.removeprefix(OWN).rpartition(f"@{OWN}")
    module_name, _, name = place.partition(":")
    if not module_name or not name or (bool(revision) == text.startswith(OWN)):
        raise SpecError(f"{text}: write python:MODULE:NAME, for instance python:my_fork:FORK")
    try:
        module = _at_revision(revision, module_name) if revision else _here(module_name)
    except SpecError:
        raise
    except ImportError as error:
        raise SpecError(f"{text}: cannot import {module_name!r} ({error}); run from its folder") from None
    except (Exception, SystemExit) as error:
        # What runs while it is loaded is somebody else's, and may end in any way.
        said = f"{type(error).__name__}: {error}{place_in_module(error)}"
        raise SpecError(f"{text}: {module_name} does not load: {said}") from None
    found = getattr(module, name, None)
    if not isinstance(found, Protocol):
        kind = "nothing" if found is None else f"a {type(found).__name__}"
        raise SpecError(f"{text}: {module_name}.{name} is {kind}, and a Protocol was expected")
    return OwnProtocol(found, _claims_of(module, text), _parameters_of(module, found, text))


def _claims_of(module: ModuleType, text: str) -> tuple[Claim, ...]:
    claims, module_name = getattr(module, "CLAIMS", ()), module.__name__
    if not isinstance(claims, list | tuple):
        raise SpecError(f"{text}: CLAIMS of {module_name} is {claims!r}, and a tuple of claims was expected")
    wrong = [each for each in claims if not isinstance(each, Claim)]
    if wrong:
        raise SpecError(f"{text}: CLAIMS of {module_name} holds {wrong[0]!r}, and a Claim was expected")
    # A mutant of the module may lack the very rule that a claim rests on.
    protocols = [*PROTOCOLS.values(), *(each for each in vars(module).values() if isinstance(each, Protocol))]
    try:
        check_claims(claims, protocols, load())
    except SpecError as error:
        raise SpecError(f"{text}: CLAIMS of {module_name}: {error}") from None
    return tuple(claims)


def _parameters_of(module: ModuleType, protocol: Protocol, text: str) -> tuple[tuple[str, object], ...]:
    set_here, place = getattr(module, "PARAMETERS", {}), f"{text}: PARAMETERS of {module.__name__}"
    if not isinstance(set_here, Mapping):
        raise SpecError(f"{place} is {set_here!r}, and a mapping from names to values was expected")
    defaults = family_of(protocol).parameters()
    known = [a.name for a in defaults.__attrs_attrs__]
    for name, value in set_here.items():
        if name not in known:
            raise SpecError(f"{place} names {name!r}; there are {known}")
        kind = type(getattr(defaults, name))
        # A whole number will do for a fraction; a switch is no number, although Python counts with it.
        fits = type(value) in (int, float) if kind is float else isinstance(value, kind)
        if kind is not type(None) and (not fits or (isinstance(value, bool) and kind is not bool)):
            raise SpecError(
                f"{place} sets {name} to {value!r}, and a value of type {kind.__name__} was expected"
            )
    return tuple(sorted(set_here.items()))


def place_in_module(error: BaseException) -> str:
    """The place in a file that is not of Python or of the kit, where the error came up."""
    others = (HERE, Path(get_paths()["stdlib"]))
    frames = [f for f in extract_tb(error.__traceback__) if not f.filename.startswith("<")]
    at = next((f for f in reversed(frames) if not any(_is_below(Path(f.filename), o) for o in others)), None)
    return f" ({at.filename}:{at.lineno})" if at is not None and not isinstance(error, SyntaxError) else ""


def _is_below(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder)


def _here(module_name: str) -> ModuleType:
    with _first_on_path(Path.cwd()):
        return importlib.import_module(module_name)


def _at_revision(revision: str, module_name: str) -> ModuleType:
    if revision.startswith("-"):
        raise SpecError(f"{revision!r} is no revision")
    root = Path(_git("rev-parse", "--show-toplevel").decode().strip()).resolve()
    try:
        commit = _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
    except SpecError:
        known = "`git branch --all`, `git tag` and `git log --oneline` list them"
        raise SpecError(f"{root} has no revision {revision!r}; {known}") from None
    return _at(root, Path.cwd().resolve().relative_to(root), commit, module_name)


@lru_cache
def _at(root: Path, below: Path, commit: str, module_name: str) -> ModuleType:
    """The module at a commit; what else is loaded of this repository is put aside meanwhile."""
    tree = _tree_of(root, commit)
    own = {name: m for name, m in sys.modules.items() if _is_of(m, root)}
    for name in own:
        del sys.modules[name]
    try:
        with _first_on_path(tree / below):
            return importlib.import_module(module_name)
    finally:
        for name in [name for name, m in sys.modules.items() if _is_of(m, tree)]:
            del sys.modules[name]
        sys.modules.update(own)


@contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def _is_of(module: ModuleType, folder: Path) -> bool:
    """Whether a module is of that tree, and not of the kit."""
    path = getattr(module, "__file__", None)
    if not path or module.__name__.partition(".")[0] == "quidnunc":
        return False
    return Path(path).resolve().is_relative_to(folder.resolve()) and "site-packages" not in path


@lru_cache
def _tree_of(root: Path, commit: str) -> Path:
    """The tree of a commit, in a folder that goes with this process."""
    archive = _git("-C", str(root), "archive", "--format=tar", commit)
    if len(archive) > MAX_TREE:
        raise SpecError(f"the tree of {commit} has more than {MAX_TREE} bytes")
    folder = Path(tempfile.mkdtemp(prefix="quidnunc-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with tarfile.open(fileobj=BytesIO(archive)) as tree:
        if hasattr(tarfile, "data_filter"):
            tree.extractall(folder, filter="data")
        else:
            # Of before Python 3.11.4. What git makes of a commit names no file outside of it.
            tree.extractall(folder)
    return folder


def _git(*arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SpecError(f"git could not be asked for a revision: {error}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise SpecError(f"git {' '.join(arguments)}: {said}; `git log --oneline` lists revisions")
    return done.stdout
