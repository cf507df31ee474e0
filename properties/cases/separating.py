"""Separating traces: of each reading of an open place a run in which the kit's own reading and that one allow
different outputs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

from quidnunc.model.errors import SpecError
from quidnunc.model.events import Connect
from quidnunc.model.versions import STREAM_PROTOCOLS
from quidnunc.properties.cases.case import Case, events_of
from quidnunc.properties.cases.file import parse


@lru_cache
def separating_traces() -> Mapping[str, Case]:
    """Reading -> its separating trace. Raises SpecError where the kit lacks them."""
    folder = resources.files("quidnunc.properties.cases").joinpath("dialects")
    entries = [e for e in folder.iterdir() if e.name.endswith(".case")] if folder.is_dir() else []
    if not entries:
        raise SpecError("no cases of dialects: the package data is missing, reinstall quidnunc")
    return {
        e.name.removesuffix(".case"): parse(e.read_text(encoding="utf-8"), path=f"dialects/{e.name}")
        for e in sorted(entries, key=lambda e: e.name)
    }


def speaks_its_streams(reading: str, protocol: str) -> bool:
    """Whether the streams of the reading's trace are streams of the protocol."""
    streams = {e.protocol for e in events_of(separating_traces()[reading]) if isinstance(e, Connect)}
    return streams <= set(STREAM_PROTOCOLS[protocol])
