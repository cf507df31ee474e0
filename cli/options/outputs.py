"""What a command is asked to write, and whether it can: found out before it works for an hour."""

from __future__ import annotations

import argparse
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from quidnunc.output import UsageError

FOLDERS = frozenset(
    {
        ("check", "cases"),
        ("check", "private"),
        ("ingest", "output"),
        ("matrix", "output"),
        ("prove", "export"),
        ("prove", "smt2"),
        ("recall", "output"),
        ("simulate", "cases"),
        ("simulate", "output"),
        ("sweep", "output"),
    }
)
"""(command, option) of a folder that is written."""
FILES = frozenset(
    {
        *((command, "report") for command in ("check", "matrix", "regress", "replay", "simulate", "sweep")),
        *((command, option) for command in ("check", "regress", "replay") for option in ("junit", "sarif")),
        ("check", "expect"),
        ("check", "record"),
        ("regress", "expect"),
        ("report", "output"),
        ("spec", "html"),
        ("trace", "output"),
        ("trace", "report"),
    }
)
"""(command, option) of a file that is written."""


def demand_writable(options: argparse.Namespace) -> None:
    """Raises UsageError for an output that cannot be written: after the work it would be lost."""
    for name, path, folder in _outputs(options):
        if why := _refusal(path, folder=folder):
            raise UsageError(f"{name} {path} {why}; name another {'folder' if folder else 'file'}")


def _outputs(options: argparse.Namespace) -> Iterator[tuple[str, Path, bool]]:
    """(option, path, whether it is a folder) of all that the command writes."""
    for of, is_folder in ((FOLDERS, True), (FILES, False)):
        for name in sorted(option for command, option in of if command == options.command):
            path: Path | None = getattr(options, name)
            if path is not None and _is_written(name, options):
                yield "-o" if name == "output" else f"--{name}", path, is_folder
    if options.command == "replay" and options.rewrite:
        yield from (("--rewrite", path, False) for path in options.paths if path.is_file())


def _is_written(name: str, options: argparse.Namespace) -> bool:
    """Whether an option that has a value is one that is written: some have a default, or are read as well."""
    if name == "expect":
        return bool(options.update_expect)
    return not (options.command == "trace" and name == "output" and options.what != "report")


def _refusal(path: Path, *, folder: bool) -> str:
    """Why a file or a folder cannot be written; empty where it can."""
    try:
        if path.exists() and path.is_dir() != folder:
            return "is not a folder" if folder else "is a folder, not a file"
        there = next(each for each in (path, *path.absolute().parents) if each.exists())
        if there != path and not there.is_dir():
            return f"cannot be written: {there} is not a folder"
    except OSError as error:
        return f"cannot be written: {error.strerror or error}"
    try:
        _try(there)
    except OSError as error:
        return f"cannot be written: {there} refuses it: {error.strerror or error}"
    return ""


def _try(there: Path) -> None:
    """Raises OSError where nothing can be written to what is there. Permissions alone do not tell: they allow
    the administrator everything, in a file system that takes no files too."""
    if there.is_dir():
        with tempfile.TemporaryFile(dir=there):
            return
    if there.is_file():
        with there.open("ab"):
            return
    # A device or a pipe; to open one may wait for ever.
    if not os.access(there, os.W_OK):
        raise PermissionError(errno.EACCES, "Permission denied")
