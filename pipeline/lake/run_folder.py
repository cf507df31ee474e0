"""The folder of a run: bronze, silver and gold, each piece there whole or not at all.

    manifest.json             what was ingested, in which order, how complete it is, which silver is current
    bronze/KEY/               landing files, small ones together: events-TYPE.parquet, bad.parquet, entry.json
    silver/VERSION/           rows in buckets of peers, and the tables of ids (`silver/parts.py`)
    gold/VERSION/             tables, metrics.json, claims.json
    work/                     what is being made; whatever is found here may be thrown away

A piece is made under `work` and renamed to its place. Its name is a digest of what it is made from, so that
to ask for it twice is to find it, and one that was cut off is made again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import field, frozen

from quidnunc.pipeline.trace.shapes import TraceError

SCHEMA = 3
MANIFEST = "manifest.json"


@frozen
class RunFolder:
    """Where the parts of a run are."""

    root: Path = field(converter=Path)

    @property
    def manifest(self) -> Path:
        return self.root / MANIFEST

    @property
    def work(self) -> Path:
        return self.root / "work"

    def bronze(self, key: str) -> Path:
        return self.root / "bronze" / key

    def silver(self, version: str) -> Path:
        return self.root / "silver" / version

    def gold(self, version: str) -> Path:
        return self.root / "gold" / version

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else writes to the folder within. Raises TraceError where somebody does.

        The lock goes with its process, however that ends.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        if self.manifest.exists() is False and any(self.root.iterdir()) and not self._ours():
            raise TraceError(f"{self.root} is not empty and no run of this kit: name another folder")
        with (self.root / ".lock").open("w") as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise TraceError(f"{self.root}: another process is ingesting into it") from None
            yield

    def _ours(self) -> bool:
        return (self.root / ".lock").exists()

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Write it, and a copy beside the silver that it names, from which a lost one is restored."""
        text = _in_lines(manifest)
        _write_text(self.silver(manifest["silver"]) / MANIFEST, text)
        _write_text(self.manifest, text)

    def _manifest_copy(self) -> Path | None:
        copies = list(self.root.glob(f"silver/*/{MANIFEST}"))
        return max(copies, key=lambda path: path.stat().st_mtime_ns, default=None)

    def read_manifest(self) -> dict[str, Any]:
        """Raises TraceError where there is none, or one of another version."""
        try:
            read = json.loads(self.manifest.read_bytes())
        except FileNotFoundError:
            if copy := self._manifest_copy():
                write_json(self.manifest, json.loads(copy.read_bytes()))
                return self.read_manifest()
            raise TraceError(
                f"{self.root}: no run; `quidnunc ingest SOURCE -o {self.root}` makes one"
            ) from None
        except (ValueError, RecursionError):
            raise TraceError(f"{self.manifest}: not JSON") from None
        if not isinstance(read, dict) or read.get("schema") != SCHEMA or not _is_whole(read):
            raise TraceError(
                f"{self.manifest}: expected a manifest of schema {SCHEMA}; ingest the source again"
            )
        return read


def _is_whole(manifest: Mapping[str, Any]) -> bool:
    """Whether it has what every manifest has, in its shape."""
    files = manifest.get("files")
    return (
        all(isinstance(manifest.get(name), str) for name in ("silver", "completeness", "clock"))
        and str(manifest["silver"]).isalnum()
        and isinstance(manifest.get("settings"), dict)
        and isinstance(files, list)
        and all(isinstance(each, dict) and {"name", "digest"} <= set(each) for each in files)
    )


def is_run(path: Path) -> bool:
    """Whether a path is the folder of a run, and not a trace or a folder of traces."""
    return (path / MANIFEST).is_file() or any(path.glob(f"silver/*/{MANIFEST}"))


def write_json(path: Path, value: object) -> None:
    """Write a file that is there whole or not at all."""
    _write_text(path, _in_lines(value))


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with part.open("w", encoding="utf-8") as into:
        into.write(text + "\n")
        into.flush()
        os.fsync(into.fileno())
    os.replace(part, path)


def _in_lines(value: object) -> str:
    """JSON with a line for each member, and for each element of a list in it: as much as a person wants to
    look at, at a tenth of the cost of full indentation."""
    if isinstance(value, dict):
        members = (f"{json.dumps(n)}: {_list_in_lines(value[n])}" for n in sorted(value))
        return "{\n" + ",\n".join(members) + "\n}"
    return _list_in_lines(value)


def _list_in_lines(value: object) -> str:
    encode = json.JSONEncoder(sort_keys=True).encode
    if not isinstance(value, list):
        return encode(value)
    return "[\n " + ",\n ".join(map(encode, value)) + "\n]" if value else "[]"


@contextmanager
def made_whole(target: Path, work: Path) -> Iterator[Path]:
    """A folder to make a piece in; renamed to `target` at the end, and gone where that does not come.

    Whoever was first wins: the piece is the same.
    """
    part = work / f"{target.parent.name}-{target.name}.{os.getpid()}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    yield part
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(part, target)
    except OSError:
        if not target.is_dir():
            raise
        shutil.rmtree(part, ignore_errors=True)


def version_of(*what: object) -> str:
    """A name for what is made from `what`."""
    text = json.dumps(what, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
