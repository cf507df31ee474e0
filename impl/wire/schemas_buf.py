"""A second opinion on two schemas: the breaking-change detection of buf, where it is installed.

buf is a program that the package `buf-bin` brings. It is given the descriptions of
`quidnunc.impl.wire.schemas` as files, once each way round, and asked for what breaks bytes (its category
WIRE). It judges each field by its description; what a reader does with the other's bytes is tried by
`quidnunc.impl.wire.schemas.exchanges`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from attrs import frozen
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from quidnunc.impl.seam import AdapterError
from quidnunc.impl.wire.schemas import WireSchema, root_of

CONFIG = '{"version": "v2", "breaking": {"use": ["WIRE"]}}'
FOUND = 100
"""Exit status of buf where something breaks."""
MAX_SECONDS = 30
MAX_BYTES = 1 << 20
"""Of what it says."""


@frozen
class BreakingChange:
    """One thing that buf says breaks."""

    rule: str
    says: str


@frozen
class BufOpinion:
    """What buf says of two schemas, each way round."""

    to_new: tuple[BreakingChange, ...]
    """What breaks where OLD becomes NEW."""
    to_old: tuple[BreakingChange, ...]
    """What breaks where NEW becomes OLD."""


def buf_program() -> str | None:
    """The program, beside this Python or on the path; None where there is none."""
    beside = Path(sysconfig.get_path("scripts")) / ("buf.exe" if os.name == "nt" else "buf")
    return str(beside) if beside.is_file() else shutil.which("buf")


def opinion(old: str | WireSchema, new: str | WireSchema) -> BufOpinion | None:
    """What buf says; None where it is not installed, or where the two have no message in common.

    Raises AdapterError where it cannot be asked.
    """
    program = buf_program()
    files = [_file(which) for which in (old, new)]
    if program is None or files[0].package != files[1].package:
        return None
    with tempfile.TemporaryDirectory(prefix="quidnunc-buf-") as folder:
        paths = []
        for name, file in zip(("old", "new"), files, strict=True):
            paths.append(Path(folder) / f"{name}.binpb")
            paths[-1].write_bytes(FileDescriptorSet(file=[file]).SerializeToString())
        was, now = paths
        return BufOpinion(_breaking(program, now, was), _breaking(program, was, now))


def _file(which: str | WireSchema) -> FileDescriptorProto:
    """The description of what can be reached from the outermost message, without the rest."""
    root, file = root_of(which).DESCRIPTOR, FileDescriptorProto()
    root.file.CopyToProto(file)
    reached, todo = {root.name}, [root]
    while todo:
        inner = [f.message_type for f in todo.pop().fields if f.message_type]
        todo += [each for each in inner if each.name not in reached]
        reached |= {each.name for each in inner}
    kept = [each for each in file.message_type if each.name in reached]
    del file.message_type[:]
    file.message_type.extend(kept)
    return file


def _breaking(program: str, path: Path, against: Path) -> tuple[BreakingChange, ...]:
    command = [program, "breaking", str(path), "--against", str(against), "--config", CONFIG]
    # It keeps nothing of what it was asked, and reads no settings of the user.
    environment = {**os.environ, "BUF_CACHE_DIR": str(path.parent), "BUF_CONFIG_DIR": str(path.parent)}
    try:
        ran = subprocess.run(
            [*command, "--error-format", "json"],
            capture_output=True,
            cwd=path.parent,
            env=environment,
            timeout=MAX_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AdapterError(f"{program}: {error}; try: {program} --version") from None
    said = ran.stdout[:MAX_BYTES].decode("utf-8", "replace")
    if ran.returncode not in (0, FOUND):
        why = ran.stderr[:MAX_BYTES].decode("utf-8", "replace").strip() or f"status {ran.returncode}"
        raise AdapterError(f"{program} breaking: {why}; try: {program} --version")
    try:
        rows = [json.loads(line) for line in said.splitlines() if line.strip()]
        return tuple(
            sorted({BreakingChange(r["type"], r["message"]) for r in rows}, key=lambda b: (b.rule, b.says))
        )
    except (ValueError, KeyError, TypeError):
        raise AdapterError(
            f"{program} breaking: expected one JSON object a line, got {said[:200]!r}"
        ) from None
