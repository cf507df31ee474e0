"""One event as one object in JSON, as go's JSONTracer writes them, and as this kit adds to it.

The type is go's number (its names are read too, old and new), bytes are base64, and what is absent is left
out. Who reads this with floats for numbers spoils the timestamps.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Literal, NoReturn, TypeAlias

from attrs import frozen

from quidnunc.pipeline.trace.events import TYPE_OF_NAME, TYPE_OF_NUMBER, TYPES, BodyType, TraceEvent
from quidnunc.pipeline.trace.shapes import TraceError, from_plain, member, read_int, to_plain

Names: TypeAlias = Literal["new", "old"]
"""go renamed two types in April 2026: `new` is since then."""

_ENVELOPE = frozenset({"type", "peerID", "timestamp"})
_FIELDS = {name: t for t in TYPES for name in (t.field, t.old_field) if name}


@frozen
class _Envelope:
    peer: bytes | None = member("peerID", "bytes")


def line_of(event: TraceEvent, names: Names = "new") -> str:
    """The event as one line, without its end."""
    return json.dumps(object_of(event, names), separators=(",", ":"), ensure_ascii=False)


def object_of(event: TraceEvent, names: Names = "new") -> dict[str, Any]:
    """The event as an object."""
    kind = event.type
    field = kind.old_field if names == "old" and kind.old_field else kind.field
    envelope = to_plain(_Envelope(event.peer))
    result: dict[str, Any] = {"type": kind.number, **envelope}
    if event.at_ns is not None:
        result["timestamp"] = event.at_ns
    result[field] = to_plain(event.body)
    return result


def event_of_line(line: bytes, unknown: Counter[str] | None = None) -> TraceEvent:
    """The event of one line. Raises TraceError that says what is wrong with it."""
    try:
        plain = json.loads(line, parse_constant=_no_constant)
    except UnicodeDecodeError:
        raise TraceError("not UTF-8") from None
    except (json.JSONDecodeError, TraceError) as error:
        raise TraceError(f"not JSON: {error}") from None
    except ValueError:
        # Python's own words advise to change it.
        raise TraceError("not JSON that is read here: a number with thousands of digits") from None
    except RecursionError:
        raise TraceError("not JSON that is read here: nested too deep") from None
    return event_of(plain, unknown)


def event_of(plain: object, unknown: Counter[str] | None = None) -> TraceEvent:
    """The event of one object. `unknown` counts fields that are in no schema here. Raises TraceError."""
    if not isinstance(plain, dict):
        what = "null" if plain is None else type(plain).__name__
        raise TraceError(f"expected a JSON object, got {what}")
    kind = _type_of(plain)
    bodies = [name for name in plain if name in _FIELDS]
    if [_FIELDS[name] for name in bodies] != [kind]:
        there = ", ".join(bodies) or "none"
        raise TraceError(f"a {kind.enum} event has one body, {kind.field}; there is {there}")
    if unknown is not None:
        unknown.update(name[:200] for name in plain if name not in _ENVELOPE and name not in _FIELDS)
    # go leaves the body's fields out where they are empty, and a body without fields is an object still.
    body: Any = from_plain(kind.kind, plain[bodies[0]], bodies[0], unknown)
    head = from_plain(_Envelope, {"peerID": plain.get("peerID")}, "event")
    at = plain.get("timestamp")
    return TraceEvent(body, head.peer, None if at is None else read_int(at, "timestamp"))


def _type_of(plain: dict[str, Any]) -> BodyType:
    named = plain.get("type")
    if named is None:
        raise TraceError("the event has no type")
    if isinstance(named, str) and named in TYPE_OF_NAME:
        return TYPE_OF_NAME[named]
    number = read_int(named, "type")
    if number not in TYPE_OF_NUMBER:
        raise TraceError(f"type {number} is in no schema here: go's are 0 to 12, this kit's from 100")
    return TYPE_OF_NUMBER[number]


def _no_constant(text: str) -> NoReturn:
    raise TraceError(f"{text} is no number")
