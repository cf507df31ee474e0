"""Trace events at random, drawn from the declarations of their fields."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from quidnunc.pipeline.trace.events import TYPES, TraceEvent
from quidnunc.pipeline.trace.shapes import Shape, shapes

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=5)
OF_KIND: dict[str, st.SearchStrategy[Any]] = {
    "bytes": st.binary(max_size=5),
    "text": TEXT,
    "int": INT64,
    "uint": st.integers(0, (1 << 64) - 1),
    "flag": st.booleans(),
    "real": st.floats(allow_nan=False, allow_infinity=False),
}


def _member(shape: Shape, go: bool) -> st.SearchStrategy[Any]:
    if go and shape.ours:
        return st.just(()) if shape.many else st.none()
    one = values(shape.of, go=go) if shape.of is not None else OF_KIND[shape.kind]
    return st.lists(one, max_size=2).map(tuple) if shape.many else st.none() | one


def values(kind: type, *, go: bool) -> st.SearchStrategy[Any]:
    """Values of one class; with `go` no field that only this kit has."""
    return st.builds(kind, **{name: _member(shape, go) for name, shape in shapes(kind)})


def events(*, go: bool) -> st.SearchStrategy[TraceEvent]:
    """Events of go's schema, or of all of ours."""
    bodies = st.one_of([values(t.kind, go=go) for t in TYPES if not (go and t.ours)])
    return st.builds(TraceEvent, bodies, st.none() | st.binary(max_size=5), st.none() | INT64)
