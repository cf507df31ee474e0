"""Files of parameters, read into values that know their field and line: YAML, JSON and TOML.

A number stays the text that was written, so that `0.1` means a tenth and not the float next to it. Nothing in
a file can make the reader build more than the file says: aliases of YAML are refused, sizes are limited.
"""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from attrs import frozen

from quidnunc.model.errors import install_words
from quidnunc.properties.bounded import demand_shallow, parse_toml, read_bounded, shortened

MAX_FILE_BYTES = 1 << 20
MAX_DEPTH = 12
YES = frozenset({"true", "yes", "on"})
MAX_SHOWN = 40
"""Characters of a wrong value that an error repeats."""


class ParamsError(ValueError):
    """A file of parameters does not read. Names the file, the line where there is one, and the field."""


Content: TypeAlias = "str | bool | None | tuple[FileValue, ...] | Mapping[str, FileValue]"


@frozen(kw_only=True)
class FileValue:
    """One value of a file: a number is its text."""

    file: str
    path: str
    """Names from the top, with dots between."""
    line: int | None
    content: Content

    def wrong(self, expected: str) -> ParamsError:
        """The error that says what was expected here."""
        return ParamsError(f"{self.place}: expected {expected}, got {self.shown()}")

    @property
    def place(self) -> str:
        at = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{at}: {self.path or 'the file'}"

    def shown(self) -> str:
        """The value in few words."""
        if isinstance(self.content, Mapping):
            return "a group of fields"
        if isinstance(self.content, tuple):
            return "a list"
        if self.content is None:
            return "nothing"
        text = str(self.content)
        return repr(text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}...")

    def fields(self) -> Mapping[str, FileValue]:
        """The fields of a group. Raises ParamsError."""
        if not isinstance(self.content, Mapping):
            raise self.wrong("a group of fields")
        return self.content


def read_file(path: Path) -> FileValue:
    """The content of a file, by its suffix: .yaml, .yml, .json or .toml. Raises ParamsError."""
    readers: dict[str, Callable[[str, str], FileValue]] = {
        ".yaml": _yaml,
        ".yml": _yaml,
        ".json": _json,
        ".toml": _toml,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ParamsError(f"{path}: expected a file named {', '.join(readers)}")
    try:
        text = read_bounded(path, MAX_FILE_BYTES).decode()
        demand_shallow(text)
        return reader(str(path), text)
    except OSError as error:
        raise ParamsError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ParamsError(f"{path}: expected UTF-8, byte {error.start} is not") from None
    except RecursionError:
        raise ParamsError(f"{path}: expected groups at most {MAX_DEPTH} deep") from None
    except ParamsError:
        raise
    except ValueError as error:
        raise ParamsError(f"{path}: {shortened(str(error))}") from None


def _child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


# -- YAML ---------------------------------------------------------------------------------------------------


def _yaml(file: str, text: str) -> FileValue:
    if importlib.util.find_spec("yaml") is None:
        raise ParamsError(f"{file}: PyYAML must be installed: {install_words('prove')}")
    import yaml

    # The one in C, where it is built, is ten times as fast.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                place = f"{file}:{event.start_mark.line + 1}"
                raise ParamsError(f"{place}: expected values written out, got the alias *{event.anchor}")
        node = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = file if mark is None else f"{file}:{mark.line + 1}"
        raise ParamsError(f"{place}: expected YAML: {getattr(error, 'problem', None) or error}") from None
    if node is None:
        raise ParamsError(f"{file}: expected parameters, the file is empty")
    return _of_node(file, "", node, 0)


def _of_node(file: str, path: str, node: Any, depth: int) -> FileValue:
    line = node.start_mark.line + 1
    if depth > MAX_DEPTH:
        raise ParamsError(f"{file}:{line}: {path}: expected groups at most {MAX_DEPTH} deep")
    content: Content
    if node.id == "mapping":
        found: dict[str, FileValue] = {}
        for key, value in node.value:
            if key.id != "scalar":
                raise ParamsError(f"{file}:{line}: {path or 'the file'}: expected names of fields")
            if key.value in found:
                twice = key.start_mark.line + 1
                raise ParamsError(f"{file}:{twice}: {_child(path, key.value)}: expected once, got it again")
            found[key.value] = _of_node(file, _child(path, key.value), value, depth + 1)
        content = found
    elif node.id == "sequence":
        content = tuple(
            _of_node(file, _child(path, str(n)), value, depth + 1) for n, value in enumerate(node.value)
        )
    else:
        kind = node.tag.rpartition(":")[2]
        content = None if kind == "null" else node.value.lower() in YES if kind == "bool" else node.value
    return FileValue(file=file, path=path, line=line, content=content)


# -- JSON and TOML ------------------------------------------------------------------------------------------


def _json(file: str, text: str) -> FileValue:
    def once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
            raise ParamsError(f"{file}: {shortened(twice)}: expected once")
        return found

    try:
        value = json.loads(text, object_pairs_hook=once, parse_float=str, parse_int=str, parse_constant=str)
    except json.JSONDecodeError as error:
        raise ParamsError(f"{file}:{error.lineno}: expected JSON: {error.msg}") from None
    return _of_value(file, "", value, 0)


def _toml(file: str, text: str) -> FileValue:
    try:
        value = parse_toml(text, parse_float=str)
    except ValueError as error:
        raise ParamsError(f"{file}: expected TOML: {shortened(str(error))}") from None
    return _of_value(file, "", value, 0)


def _of_value(file: str, path: str, value: object, depth: int) -> FileValue:
    if depth > MAX_DEPTH:
        raise ParamsError(f"{file}: {path}: expected groups at most {MAX_DEPTH} deep")
    content: Content
    if isinstance(value, dict):
        content = {n: _of_value(file, _child(path, n), v, depth + 1) for n, v in value.items()}
    elif isinstance(value, list):
        content = tuple(_of_value(file, _child(path, str(n)), v, depth + 1) for n, v in enumerate(value))
    else:
        content = value if isinstance(value, bool) or value is None else str(value)
    return FileValue(file=file, path=path, line=None, content=content)


# -- files that come with the kit -------------------------------------------------------------------------


FOLDER = Path(__file__).parent / "known"
SUFFIXES = (".yaml", ".toml", ".json")


def shipped_files() -> dict[str, Path]:
    """Name -> file."""
    found = {path.stem: path for path in FOLDER.iterdir() if path.suffix in SUFFIXES}
    return dict(sorted(found.items()))
