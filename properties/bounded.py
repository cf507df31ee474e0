"""Files of strangers, read within limits: of size, of kind, of depth."""

from __future__ import annotations

import errno
import re
import stat
import tomllib
import unicodedata
from pathlib import Path
from typing import Any

MAX_DEPTH = 100
MAX_DIGITS = 1000
"""Of brackets in a text, and of the dotted name of a value; parsers take the square of it."""
MAX_SHOWN = 300
_DOTTED = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MAX_DEPTH}}}")
"""Each word is read once: without that, a long one would take the square of its length."""


def read_bounded(path: Path, most: int) -> bytes:
    """What is in a file of at most `most` bytes. Raises OSError, whose strerror says why not: also for a FIFO
    or a device, which may have no end."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "is no regular file", str(path))
    if found.st_size > most:
        raise OSError(errno.EFBIG, f"{found.st_size} bytes, and at most {most} are read", str(path))
    return path.read_bytes()


def demand_shallow(text: str) -> None:
    """Raises ValueError for brackets that are nested deeper than `MAX_DEPTH`."""
    depth = 0
    for found in re.finditer(r"[\[{\]}]", text):
        depth += 1 if found[0] in "[{" else -1
        if depth > MAX_DEPTH:
            line = text.count("\n", 0, found.start()) + 1
            raise ValueError(f"line {line}: brackets nested deeper than {MAX_DEPTH}")


def demand_plain(value: object) -> None:
    """Raises ValueError for an integer of more than `MAX_DIGITS` digits, however it was written, and for a
    text with a zero byte, which no path may have, or with what a terminal obeys, anywhere in a value of
    JSON or YAML."""
    if isinstance(value, int) and value.bit_length() > 3.33 * MAX_DIGITS:
        raise ValueError(f"an integer of more than {MAX_DIGITS} digits")
    if isinstance(value, str) and "\0" in value:
        raise ValueError(f"a text with a zero byte: {value[:40]!r}")
    if isinstance(value, str) and any(unicodedata.category(c) == "Cc" and c not in "\t\n\r" for c in value):
        raise ValueError(f"a text with a control character: {value[:40]!r}")
    if isinstance(value, dict):
        for name, each in value.items():
            demand_plain(name)
            demand_plain(each)
    elif isinstance(value, list):
        for each in value:
            demand_plain(each)


def read_toml(path: Path, most: int) -> dict[str, Any]:
    """The table of a file. Raises OSError as `read_bounded`, ValueError for what is no TOML or too deep."""
    return parse_toml(read_bounded(path, most).decode())


def parse_toml(text: str, **options: Any) -> dict[str, Any]:
    """The table of a text; `options` are those of `tomllib.loads`. Raises ValueError as `read_toml`."""
    demand_shallow(text)
    if found := _DOTTED.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"line {line}: a name of more than {MAX_DEPTH} parts")
    return tomllib.loads(text, **options)


def shortened(text: str, most: int = MAX_SHOWN) -> str:
    """A message that quotes what a file says, no longer than a person reads."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


MARK = "| "
_COMMAND = re.compile(r"##(?=\w*\[)")
"""How a line of a log begins a command to the service that keeps the log, wherever it stands."""


def printable(text: str) -> str:
    """A text as it can be shown anywhere: what it quotes may hold what is no text, codes of terminals, and
    commands that a service obeys which reads them in a log (`::error::`, `##[group]`, `##vso[...]`). These
    get a mark before or a blank within."""
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    plain = _COMMAND.sub("# #", plain)
    # Blanks before it are trimmed there.
    return MARK + plain if plain.lstrip().startswith("::") else plain
