"""How the values of a trace are written as plain JSON values, declared beside each field.

A field names itself as go-libp2p-pubsub's trace has it, with the names that it had before, and says whether
that schema can hold it at all. One walk over these declarations reads and writes every value.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, TypeVar

import attrs
from attrs import frozen

T = TypeVar("T")

Kind: TypeAlias = Literal["bytes", "text", "int", "uint", "flag", "real", "value"]

MAX_DEPTH = 8
"""Values are nested no deeper than a control message in an RPC; this bounds what a file can ask for."""
INT64 = 1 << 63


class TraceError(ValueError):
    """A trace, or one record of it, cannot be read. Names what was expected and what was there."""

    def __init__(self, message: str, *, is_cut: bool = False) -> None:
        super().__init__(message)
        self.is_cut = is_cut
        """Whether it only ends too early: what it does not have may be what would decide a claim."""


CUT_OFF = "cut off"
"""How the problem begins of a record that has no end."""
CORRUPT = "the gzip stream is corrupt"
"""In the problem of a member of a gzip stream that fails its checksum, or cannot be read on: what precedes
the place where that is noticed may be wrong, too."""


@frozen
class Shape:
    """One field of a value: its name in JSON and in protobuf, and what it holds."""

    name: str
    kind: Kind
    many: bool = False
    of: type | None = None
    """The class of a nested value."""
    ours: bool = False
    """go's schema has no place for it."""
    old: tuple[str, ...] = ()
    """Names that it had in earlier releases of go-libp2p-pubsub."""


def member(
    name: str,
    kind: Kind = "text",
    *,
    many: bool = False,
    of: type | None = None,
    ours: bool = False,
    old: tuple[str, ...] = (),
) -> Any:
    """A field of a trace value: None where it is absent, and an empty tuple for what may be there often."""
    shape = Shape(name, "value" if of is not None else kind, many, of, ours, old)
    return attrs.field(default=() if many else None, metadata={"shape": shape})


_shapes: dict[type, tuple[tuple[str, Shape], ...]] = {}


def shapes(kind: type) -> tuple[tuple[str, Shape], ...]:
    """The fields of a trace value: (name of the attribute, shape)."""
    if kind not in _shapes:
        declared = [(a.name, a.metadata.get("shape")) for a in attrs.fields(kind)]
        _shapes[kind] = tuple((name, shape) for name, shape in declared if shape is not None)
    return _shapes[kind]


def to_plain(value: object) -> dict[str, Any]:
    """A trace value as JSON has it. What is absent is left out; bytes are base64."""
    result: dict[str, Any] = {}
    for name, shape in shapes(type(value)):
        held = getattr(value, name)
        if held is None or held == () and shape.many:
            continue
        result[shape.name] = [_plain(shape, v) for v in held] if shape.many else _plain(shape, held)
    return result


def _plain(shape: Shape, value: Any) -> Any:
    if shape.kind == "bytes":
        return base64.b64encode(value).decode("ascii")
    return to_plain(value) if shape.kind == "value" else value


def from_plain(
    kind: type[T], plain: object, where: str, unknown: Counter[str] | None = None, depth: int = 0
) -> T:
    """The value that `to_plain` wrote, old names included. Fields that nobody knows go into `unknown`.

    Raises TraceError that names the field, what was expected and what was there.
    """
    if not isinstance(plain, Mapping):
        raise TraceError(f"{where}: expected an object, got {_short(plain)}")
    if depth > MAX_DEPTH:
        raise TraceError(f"{where}: nested deeper than {MAX_DEPTH}")
    given: dict[str, Any] = {}
    known: set[str] = set()
    for name, shape in shapes(kind):
        names = [n for n in (shape.name, *shape.old) if n in plain]
        known.update(names)
        if len(names) > 1:
            raise TraceError(f"{where}: both {names[0]} and {names[1]}, which are one field")
        if not names or plain[names[0]] is None:
            continue
        here = f"{where}.{names[0]}"
        given[name] = _read_member(
            shape, plain[names[0]], here, unknown, depth, renamed=names[0] in shape.old
        )
    if unknown is not None:
        unknown.update(f"{where}.{name}"[:200] for name in plain if name not in known)
    return kind(**given)


def _read_member(
    shape: Shape, held: object, here: str, unknown: Counter[str] | None, depth: int, *, renamed: bool
) -> Any:
    if not shape.many:
        if renamed and isinstance(held, list):
            # What is one topic now was a list of them until 2020.
            if len(held) != 1:
                raise TraceError(f"{here}: expected a list of one, got {len(held)}")
            held = held[0]
        return _read_one(shape, held, here, unknown, depth)
    if not isinstance(held, list):
        raise TraceError(f"{here}: expected a list, got {_short(held)}")
    return tuple(_read_one(shape, v, f"{here}[]", unknown, depth) for v in held)


def _read_one(shape: Shape, held: object, here: str, unknown: Counter[str] | None, depth: int) -> Any:
    if shape.of is not None:
        return from_plain(shape.of, held, here, unknown, depth + 1)
    return READ[shape.kind](held, here)


def _bytes(held: object, here: str) -> bytes:
    if not isinstance(held, str):
        raise TraceError(f"{here}: expected bytes as base64, got {_short(held)}")
    try:
        return base64.b64decode(held, validate=True)
    except (binascii.Error, ValueError):
        raise TraceError(f"{here}: {_short(held)} is not base64") from None


def read_text(held: object, here: str) -> str:
    """A text that can be written as UTF-8."""
    if not isinstance(held, str):
        raise TraceError(f"{here}: expected a text, got {_short(held)}")
    try:
        held.encode()
    except UnicodeEncodeError:
        raise TraceError(f"{here}: half of a surrogate pair is no text") from None
    return held


def read_int(held: object, here: str) -> int:
    """A whole number of 64 bits. Canonical protobuf JSON writes these as texts, go's tracer as numbers."""
    if isinstance(held, str) and len(held) <= 20 and held.removeprefix("-").isdecimal() and held.isascii():
        held = int(held)
    if not isinstance(held, int) or isinstance(held, bool) or not -INT64 <= held < INT64:
        raise TraceError(f"{here}: expected a whole number of 64 bits, got {_short(held)}")
    return held


def _unsigned(held: object, here: str) -> int:
    """What a peer may say in an unsigned field of 64 bits."""
    if isinstance(held, int) and not isinstance(held, bool) and 0 <= held < 2 * INT64:
        return held
    raise TraceError(f"{here}: expected a whole number from 0 to 2^64 - 1, got {_short(held)}")


def _flag(held: object, here: str) -> bool:
    if not isinstance(held, bool):
        raise TraceError(f"{here}: expected true or false, got {_short(held)}")
    return held


def _real(held: object, here: str) -> float:
    if isinstance(held, bool) or not isinstance(held, int | float) or not math.isfinite(held):
        raise TraceError(f"{here}: expected a number, got {_short(held)}")
    return held


READ: Mapping[str, Callable[[object, str], Any]] = {
    "bytes": _bytes,
    "text": read_text,
    "int": read_int,
    "uint": _unsigned,
    "flag": _flag,
    "real": _real,
}


def _short(value: object) -> str:
    text = repr(value) if not isinstance(value, list | Mapping) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def as_go(value: T) -> T:
    """`value` without what go's schema has no place for."""
    changes: dict[str, Any] = {}
    for name, shape in shapes(type(value)):
        held = getattr(value, name)
        if shape.ours:
            changes[name] = () if shape.many else None
        elif shape.kind == "value" and held is not None:
            changes[name] = tuple(map(as_go, held)) if shape.many else as_go(held)
    kept: T = attrs.evolve(value, **changes)  # type: ignore[misc]
    return kept
