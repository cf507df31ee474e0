"""A checker for the part of JSON Schema that seam.schema.json uses: the tests need no package for it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from quidnunc.impl.seam import sidecar

SCHEMA = json.loads((Path(sidecar.__file__).parent / "seam.schema.json").read_text())

TYPES: Mapping[str, Callable[[object], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
}
CHECKED = {
    *("type", "const", "enum", "oneOf", "$ref", "properties", "required", "additionalProperties", "items"),
    *("prefixItems", "minItems", "maxItems", "minimum", "maximum"),
    *("exclusiveMinimum", "exclusiveMaximum", "pattern"),
}
UNCHECKED = {"description", "title", "unit", "default", "$schema", "$defs"}
"""Notes for the reader of the schema."""


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether `value` is as `schema` says. A keyword that is not checked here is an error of the schema."""
    assert set(schema) <= CHECKED | UNCHECKED, set(schema)
    if "$ref" in schema and not fits(value, SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]):
        return False
    if "oneOf" in schema and sum(fits(value, one) for one in schema["oneOf"]) != 1:
        return False
    kinds = schema.get("type", [])
    if kinds and not any(TYPES[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        return False
    if ("const" in schema and value != schema["const"]) or ("enum" in schema and value not in schema["enum"]):
        return False
    if isinstance(value, dict):
        return fits_object(value, schema)
    if isinstance(value, list):
        heads = schema.get("prefixItems", [])
        inside = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        rest = value[len(heads) :] if "items" in schema else []
        pairs = [*zip(value, heads, strict=False), *((item, schema["items"]) for item in rest)]
        return inside and all(fits(item, one) for item, one in pairs)
    if isinstance(value, str):
        return re.search(schema.get("pattern", ""), value) is not None
    return isinstance(value, bool) or not isinstance(value, int | float) or in_range(value, schema)


def in_range(value: float, schema: Mapping[str, Any]) -> bool:
    least, most = schema.get("exclusiveMinimum", -math.inf), schema.get("exclusiveMaximum", math.inf)
    inside = schema.get("minimum", value) <= value <= schema.get("maximum", value)
    return bool(inside and least < value < most)


def fits_object(value: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    if not set(schema.get("required", ())) <= set(value):
        return False
    if others is False and not set(value) <= set(known):
        return False
    schemas = {k: known.get(k, others if isinstance(others, dict) else {}) for k in value}
    return all(fits(v, schemas[k]) for k, v in value.items())


def of(name: str) -> Mapping[str, Any]:
    return {"$ref": f"#/$defs/{name}"}
