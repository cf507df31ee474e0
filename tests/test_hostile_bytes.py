"""Bytes of strangers against every reader: a value or one of our own errors, soon and within little memory.

A minute as it is, with the same bytes each time. For others, an hour of them:

    QUIDNUNC_FUZZ_MINUTES=60 python -m pytest -n 0 tests/test_hostile_bytes.py       # or: make fuzz
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import signal
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.helpers.readers import OURS, READERS, Reader

MINUTES = float(os.environ.get("QUIDNUNC_FUZZ_MINUTES", "60" if os.environ.get("QUIDNUNC_NIGHTLY") else "0"))
EXAMPLES = 100
"""Of each reader, at a time."""
MAX_CPU_S = 2.0
MAX_BYTES = 64 << 20
MAX_DATA = 8 << 20
"""Bytes of one example: what is read is held twice, or three times."""
MAX_LINES = 10
MAX_CHARACTERS = 3000
"""Of an error, besides what it quotes: file, place, and what was expected there. Commands show less."""

TOKENS = (
    b"", b"\0", b"\n", b"\r", b"\xff", b"\xed\xa0\x80", b"\x1b[2J", b"'", b'"', b"`", b"#", b"&a ",
    b"*a", b"!!python/object/apply:os.getpid []", b"<<", b"null", b"true", b"[]", b"{}", b'""',
    b'"\\ud800"', b"-1", b"0", b"1e999", b"-1e999", b"1e-999", b".nan", b"NaN", b"-Infinity",
    b"9223372036854775808", b"18446744073709551616", b"1" * 25, b"9" * 5000, b"0." + b"1" * 5000,
    b"[" * 3000, b"{" * 3000, b"[{" * 3000, b"a." * 3000, b"- " * 3000, b'{"a":' * 3000, b"x" * 10_000,
    b"../" * 20 + b"etc/passwd", b"/dev/zero", b"exec:touch x", b"python:os:getpid", b"10001x",
    b"a..zz", b"1:00", b"0x10", b"1_000", b"2001-01-01", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\x80" * 20,
    b"\x0a\xff\xff\xff\xff\x0f", b"\x1f\x8b\x08\x00", b"\x0b" * 500, b"{", b"}", b"[", b"]", b",", b":",
    b"----",
)  # fmt: skip
WORD = re.compile(rb'"[^"\n]*"|[-+.\w]+|[^\s\w]')


@st.composite
def hostile(draw: st.DrawFn, reader: Reader) -> bytes:
    """Any bytes; or a valid example, changed a few times."""
    data = draw(st.sampled_from((b"", *reader.examples()[:8])))
    if not data:
        return draw(st.binary(max_size=300))
    for _ in range(draw(st.integers(0, 3))):
        data = draw(st.sampled_from(CHANGES))(draw, data, reader)
    if reader.packed and draw(st.integers(0, 3)) == 0:
        data = gzip.compress(data, 1, mtime=0)
        if draw(st.booleans()):
            data = draw(st.sampled_from((flipped, cut, repeated)))(draw, data, reader)
    return data[:MAX_DATA]


def _place(draw: st.DrawFn, data: bytes) -> tuple[int, int]:
    """The start and end of some part: of a word, or anywhere."""
    words = [found.span() for found in WORD.finditer(data[:20_000])]
    if words and draw(st.booleans()):
        return draw(st.sampled_from(words))
    start = draw(st.integers(0, len(data)))
    return start, min(len(data), start + draw(st.integers(0, 40)))


def flipped(draw: st.DrawFn, data: bytes, reader: Reader) -> bytes:
    at = draw(st.integers(0, max(0, len(data) - 1)))
    return data[:at] + bytes((data[at] ^ 1 << draw(st.integers(0, 7)),)) + data[at + 1 :] if data else data


def cut(draw: st.DrawFn, data: bytes, reader: Reader) -> bytes:
    start, end = _place(draw, data)
    return data[:start] + (b"" if draw(st.booleans()) else data[end:])


def repeated(draw: st.DrawFn, data: bytes, reader: Reader) -> bytes:
    start, end = _place(draw, data)
    return data[:end] + data[start:end] * draw(st.sampled_from((1, 2, 50, 2000))) + data[end:]


def replaced(draw: st.DrawFn, data: bytes, reader: Reader) -> bytes:
    start, end = _place(draw, data)
    return data[:start] + draw(st.sampled_from(TOKENS)) + data[end:]


def spliced(draw: st.DrawFn, data: bytes, reader: Reader) -> bytes:
    other = draw(st.sampled_from(reader.examples()))
    start, end = _place(draw, data)
    first, last = _place(draw, other)
    return data[:start] + other[first:last] + data[end:]


Change = Callable[[st.DrawFn, bytes, Reader], bytes]
CHANGES: tuple[Change, ...] = (flipped, cut, repeated, replaced, replaced, replaced, spliced)


class Hangs(BaseException):
    """A reader took longer than it may. No `except Exception` of its own stops this."""


def _over(number: int, at: FrameType | None) -> None:
    raise Hangs


@contextmanager
def bounded(*, traced: bool) -> Iterator[None]:
    """Within the limit on time, and on memory where allocations are traced. Raises Hangs.

    The time is the CPU's: a machine may be busy.
    """
    before = signal.signal(signal.SIGVTALRM, _over)
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_CPU_S)
    if traced:
        tracemalloc.start(1)
    try:
        yield
        if traced:
            peak = tracemalloc.get_traced_memory()[1]
            assert peak < MAX_BYTES, f"{peak} bytes at once"
    finally:
        tracemalloc.stop()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def attempt(reader: Reader, data: bytes) -> bool:
    """Give it to the reader as a file; whether it was taken."""
    folder = Path(tempfile.mkdtemp())
    path = folder / reader.name
    try:
        path.write_bytes(data)
        try:
            with bounded(traced=True):
                reader.read(path)
        except Hangs:
            # A traced allocation takes five times as long. The limit is on the reader alone.
            try:
                with bounded(traced=False):
                    reader.read(path)
            except Hangs:
                raise AssertionError(f"more than {MAX_CPU_S} s of CPU") from None
        return True
    except OURS as error:
        lines = str(error).splitlines()
        assert 0 < len(lines) <= MAX_LINES, lines[:20]
        assert len(str(error)) <= 2 * len(data) + MAX_CHARACTERS, lines
        return False
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_its_examples(name: str) -> None:
    for data in READERS[name].examples():
        assert attempt(READERS[name], data)


FOUND = {
    "coverage of a campaign": b"[" * 100_000,
    "keys and records": b"\x08\x00\x12\xff" + bytes(40_000),
    "manifest of a run": b'{"schema": 2, "silver": "a"}',
    "pubsub stream": b"\x05\x12\x03\x12\x01x",
    "scenario, JSON": b'{"script":[{"type":"initGossipSub","gossipSubParams":{"D":1e9996}}]}',
    "scores, YAML": b"[" * 40_000,
}
"""What once ended a reader with a traceback, or never."""


@pytest.mark.parametrize("name", FOUND)
def test_what_once_ended_a_reader(name: str) -> None:
    assert attempt(READERS[name], FOUND[name]) is (name == "keys and records")


def test_a_network_without_parameters_is_refused() -> None:
    (example,) = READERS["simulated network"].examples()
    assert not attempt(READERS["simulated network"], example.replace(b"parameters", b"no"))


@pytest.mark.parametrize("name", READERS)
def test_no_bytes_end_a_reader(name: str) -> None:
    reader = READERS[name]
    reader.examples()

    def once(number: int) -> None:
        @seed(number)
        @settings(
            max_examples=EXAMPLES // reader.slow,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(data=hostile(reader))
        def search(data: bytes) -> None:
            attempt(reader, data)

        search()

    until_s = time.monotonic() + 60 * MINUTES / len(READERS)
    once(0)
    rounds = time.time_ns() if MINUTES else 0
    while time.monotonic() < until_s:
        rounds += 1
        once(rounds)
