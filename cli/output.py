"""What every command shares: usage errors, durations, progress on stderr, tables."""

from __future__ import annotations

import argparse
import difflib
import io
import json
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from attrs import frozen

from quidnunc.model.errors import near_word
from quidnunc.properties.bounded import printable, shortened

MAX_LINE_CHARACTERS = 1000
MAX_NEAR_FILES = 5000
"""That are compared with a mistyped one."""


_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""What a terminal obeys and no line of ours has: whatever prints, it does not reach one."""


class UsageError(Exception):
    """The command was used wrongly; exit status 2."""


@frozen
class PatientOutput:
    """A file descriptor whose reader may stop reading: what is written then is lost. As `io.RawIOBase`."""

    number: int
    closed: bool = False

    def write(self, data: Any) -> int:
        shown = memoryview(_CONTROL.sub(lambda found: b"\\x%02x" % found[0][0], bytes(data)))
        while shown:
            try:
                shown = shown[os.write(self.number, shown) :]
            except BrokenPipeError:
                break
        return memoryview(data).nbytes

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def isatty(self) -> bool:
        return os.isatty(self.number)

    def fileno(self) -> int:
        return self.number

    def flush(self) -> None: ...

    def close(self) -> None: ...


def go_on_without_reader(*, aside: bool = False) -> None:
    """Let a command whose output is closed, as `| head -1` closes it, come to its own exit status. Where a
    router of the user's runs in this process, what it writes to descriptor 1 goes to stderr: `aside`."""
    old = sys.stdout
    if isinstance(old, io.TextIOWrapper):
        number = old.fileno()
        if aside and number == 1:
            from quidnunc.impl.seam.own_stdout import stdout_aside

            number = stdout_aside()
        raw: Any = PatientOutput(number)
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw), old.encoding, old.errors, line_buffering=old.line_buffering
        )


def show(text: object = "", file: TextIO | None = None) -> None:
    """Print what may quote a file or a router, each line as it can be shown anywhere."""
    print("\n".join(map(printable, str(text).split("\n"))), file=file)


def say_refusal(command: str, error: object) -> None:
    """Say what is wrong, on stderr; it may quote what a file has, or a router says."""
    lines = [shortened(printable(line), MAX_LINE_CHARACTERS) for line in str(error).splitlines()]
    print(f"quidnunc {command}: " + "\n".join(lines), file=sys.stderr)


def duration_s(text: str) -> float:
    """`90s`, `5m`, `1h` in seconds. Raises UsageError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)", text)
    if not found:
        raise UsageError(f"invalid duration {text!r}: write 90s, 5m or 1h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def budget_s(text: str) -> float:
    """The same of a budget, in which there is time to do something. Raises UsageError."""
    seconds = duration_s(text)
    if not seconds:
        raise UsageError(f"invalid budget {text!r}: nothing can be tried in no time; write 90s, 5m or 1h")
    return seconds


def process_started() -> float:
    """When this process was started, as `time.monotonic` tells it; where the system does not say, now."""
    try:
        with open("/proc/self/stat", "rb") as stat:
            ticks = int(stat.read().rpartition(b")")[2].split()[19])
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        age_s = 0.0
    return time.monotonic() - age_s


def progress_line() -> Callable[[str], None]:
    """A function that shows progress on stderr: in place on a terminal, every ten seconds elsewhere."""
    last = 0.0
    terminal = sys.stderr.isatty()

    def show(text: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < (0.2 if terminal else 10):
            return
        last = now
        end = "\r" if terminal else "\n"
        shown = printable(text)
        print(f"\x1b[2K{shown}" if terminal else shown, end=end, file=sys.stderr, flush=True)

    return show


def clear_progress() -> None:
    if sys.stderr.isatty():
        print("\x1b[2K", end="\r", file=sys.stderr, flush=True)


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as their widest cell; the last one is not padded. Cells are made `printable`."""
    text = [[printable(str(c)) for c in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in text) for i in range(len(header))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in text]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(lines)


def write_text(path: Path, text: str) -> None:
    """As `write_whole`, of a file that a user named: the folder is made, and a link is followed. Raises
    UsageError where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path if _is_device(path) else path.resolve(), text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None


def write_whole(path: Path, text: str) -> None:
    """Write a file, which is there whole afterwards, or as it was before. Raises OSError.

    It takes the place of a link: where that leads is not ours in a folder that somebody else made.
    """
    if _is_device(path):
        path.write_text(text, encoding="utf-8")
        return
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        if path.exists():
            shutil.copymode(path, part)
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise


def _is_device(path: Path) -> bool:
    """Whether there is nothing to lose in it; /dev/stdout may be a file that somebody else has open."""
    return path.parts[:2] in (("/", "dev"), ("/", "proc")) or (path.exists() and not path.is_file())


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 root cause`, `2 root causes`. `plural` is for nouns that take more than an s."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def fields_of(value: object, *names: str) -> dict[str, Any]:
    """Attributes of a value as JSON has them, under their own names: a tuple is a list."""
    found = {name: getattr(value, name) for name in names}
    return {name: list(each) if isinstance(each, tuple) else each for name, each in found.items()}


def json_text(value: object) -> str:
    return json.dumps(value, indent=1, sort_keys=False)


def print_json(value: object) -> None:
    print(json_text(value))


def repeat_command(*words: object) -> str:
    """The line that says how to repeat a command, quoted for a shell."""
    return f"again: quidnunc {shell_line(*words)}"


def shell_line(*words: object) -> str:
    """Words of a command line, quoted for a shell. What cannot be shown is in quotes of bash: `$'\\x1b'`."""
    return " ".join(map(_shell_word, map(str, words)))


def _shell_word(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    kept = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{printable(kept)}'"


def given_options(options: argparse.Namespace, *names: str) -> list[str]:
    """The options `names` as the words of a command line: a flag that is set, an option with its value, a
    list as the option once for each of its values. Nothing for one that is unset or None; a default is
    written out like any other value."""
    words: list[str] = []
    for name in names:
        value = getattr(options, name)
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif isinstance(value, list):
            words += [word for each in value for word in (flag, str(each))]
        elif value is not None and value is not False:
            words += [flag, str(value)]
    return words


def fix_hash_seed() -> None:
    """Start this process anew with the hash seed of every search, unless it has it.

    A router in Python that keeps its peers in sets acts in the order of their hashes, so that a case could
    not be replayed in a second process.
    """
    if sys.flags.hash_randomization and os.environ.get("PYTHONHASHSEED") != "0":
        again = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, again, {**os.environ, "PYTHONHASHSEED": "0"})


def choices(name: str, names: Iterable[str]) -> str:
    """` (did you mean X?)`, or else `; choose from` all of them."""
    known = list(names)
    return suggestion(name, known) or f"; choose from {', '.join(known)}"


def near_file(path: Path) -> str:
    """` (did you mean PATH?)` of a file beside it, or nothing."""
    if not path.parent.is_dir():
        return ""
    names = [each.name for each in islice(path.parent.iterdir(), MAX_NEAR_FILES)]
    near = difflib.get_close_matches(path.name, names, 1)
    return f" (did you mean {path.parent / near[0]}?)" if near else ""


def suggestion(name: str, names: Iterable[str]) -> str:
    """` (did you mean X?)`, or nothing."""
    return near_word(name, names)
