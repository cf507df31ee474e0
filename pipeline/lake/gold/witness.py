"""Violations in words: the ids of a trace in the place of silver's numbers, written as a table of gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quidnunc.pipeline.lake.gold.claims import CLAIMS
from quidnunc.pipeline.lake.gold.places import places_of
from quidnunc.pipeline.lake.run_folder import RunFolder, write_json
from quidnunc.pipeline.lake.silver.parts import id_values
from quidnunc.properties.lazy import parquet, pyarrow

VIOLATIONS = "violations.parquet"
VIOLATIONS_JSON = "violations.json"
_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
MAX_BASE58_BYTES = 128
_WITNESS = {claim.id: claim.witness for claim in CLAIMS}
_TABLE = {"peer": "peers", "remote": "peers", "topic": "names", "message": "messages"}


def write_witnesses(
    violations: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]], silver: Path, folder: Path
) -> None:
    """Write violations to `folder`, as Parquet and as JSON, in their order, each with its place in the
    landing files of the run that `silver` is of."""
    names = {column: _names(violations, column, silver) for column in _TABLE}
    places = places_of(RunFolder(silver.parent.parent), (each["seq"] for each in violations))
    run_name = {run["id"]: run["name"] for run in runs}
    rows = []
    for each in violations:
        said = {column: names[column].get(each[column], "unknown") for column in _TABLE}
        cause = "an earlier event" if each["cause"] is None else f"event {each['cause']}"
        file, position = places.get(each["seq"], (None, None))
        words = {**said, "cause": cause, "us": _duration(each["us"])}
        rows.append(
            {
                "claim": each["claim"],
                "run": run_name.get(each["run"], ""),
                "peer": said["peer"],
                "sequence": each["seq"],
                "at_ns": each["at_ns"],
                "cause": each["cause"],
                "file": file,
                "position": position,
                "witness": _WITNESS[each["claim"]].format(**words),
            }
        )
    text, long = pyarrow.string(), pyarrow.int64()
    columns = ("claim", "run", "peer", "sequence", "at_ns", "cause", "file", "position", "witness")
    numbers = {"sequence", "at_ns", "cause", "position"}
    schema = pyarrow.schema([(name, long if name in numbers else text) for name in columns])
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema), folder / VIOLATIONS, compression="zstd")
    write_json(folder / VIOLATIONS_JSON, rows)


def _names(violations: Sequence[Mapping[str, Any]], column: str, silver: Path) -> dict[Any, str]:
    """Number -> text, of those that are spoken of."""
    wanted = sorted({each[column] for each in violations if each[column] is not None})
    if not wanted:
        return {}
    values = id_values(silver, _TABLE[column]).take(wanted)
    show = peer_text if column in ("peer", "remote") else id_text
    return {number: show(value) for number, value in zip(wanted, values.to_pylist(), strict=True)}


def _duration(us: int | None) -> str:
    return "some time" if us is None else f"{us / 1000:g} ms"


def peer_text(raw: bytes) -> str:
    """A peer as libp2p writes it, in base58; an id that is a plain text as that text; a longer one than
    any of libp2p's in hexadecimal, as base58 takes the square of its length."""
    if raw and all(0x21 <= byte < 0x7F for byte in raw):
        return raw.decode()
    if len(raw) > MAX_BASE58_BYTES:
        return raw.hex()
    number, text = int.from_bytes(raw), ""
    while number:
        number, digit = divmod(number, 58)
        text = _ALPHABET[digit] + text
    return "1" * (len(raw) - len(raw.lstrip(b"\0"))) + text


def id_text(raw: bytes | str) -> str:
    """A message id or topic: itself where it is a plain text, else hexadecimal."""
    if isinstance(raw, str):
        return raw
    return raw.decode() if raw and all(0x21 <= byte < 0x7F for byte in raw) else raw.hex()
