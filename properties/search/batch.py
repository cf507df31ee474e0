"""One batch of a campaign in a worker process, which tells what it has found as it goes on.

The worker writes lines of JSON, each an object of what changed, so that a batch that is ended keeps what it
told. A line `stop` on its stdin asks it for the rest. The end of its stdin ends it, so that no worker
outlives the process that started it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from attrs import asdict, field, frozen, mutable

from quidnunc.impl.seam import Profile

WORKER_TIMEOUT_S = 1800
SAID_NOTHING = "nothing is on stderr; a driver in Python that ends its process ends the worker"
MAX_REPLY_BYTES = 64 << 20
MAX_STDERR_BYTES = 1 << 16
"""Of a worker's last words, what is kept."""
INTERRUPT_S = 2.0
"""How long workers may take to hand over what they have after an interrupt."""
EXIT_S = 0.3
"""How long a worker may take to go, with the routers it started, once its stdin is closed."""


@frozen(kw_only=True)
class BatchRequest:
    """What one batch is asked."""

    protocol: str
    against: str
    seed: int
    runs: int
    acts: int = 40
    quirks: tuple[str, ...] = ()
    refuted: tuple[str, ...] = ()
    """Explanations that are not to be tried again."""
    steered: bool = True
    profile: Profile = "shipped"
    without: tuple[str, ...] = ()
    settle: tuple[str, ...] = ()
    """Instead of a search: cases, of which to say whether the quirks together account for them."""
    cover: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Instead of a search: quirks, each with its cases, to be left out one after the other. Of each to say
    whether those that are left account for all its cases, after which it is gone."""
    again: tuple[tuple[str, str], ...] = ()
    """Before the search: the explanation of an earlier finding, empty where it has none, and its case, to be
    explained again now that more is in force."""
    refuting: Mapping[str, tuple[str, ...]] = field(factory=dict)
    """With `again`, explanations that runs have refuted, each with the cases of such runs: one that no longer
    refutes it, since more is in force, does not keep it from being an explanation."""
    recorder: tuple[str, str] = ("", "")
    """`module:function` of what writes the runs down, given a path, the request as a dict and the hello; and
    that path."""


Process: TypeAlias = "subprocess.Popen[bytes]"


@mutable(eq=False)
class Workers:
    """The worker processes of one campaign, to be stopped or ended together from any thread."""

    stopping: bool = False
    """No new batch is started, and each worker hands over what it has."""
    ended: bool = False
    interrupted: bool = False
    """Stopped by a signal, and not by a deadline."""
    under_way: dict[int, Mapping[str, Any]] = field(factory=dict)
    """Seed of a batch that is not merged yet -> what its worker has told so far."""
    merging: threading.Lock = field(factory=threading.Lock)
    """Held while a batch is merged, so that whoever counts runs counts each once."""
    _live: list[Process] = field(factory=list)
    _lock: threading.RLock = field(factory=threading.RLock)
    """A signal handler may interrupt its own thread."""

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Whatever stops the campaign with an error ends them."""
        if kind is not None:
            self.end()

    def start(self, request: BatchRequest) -> Process | None:
        """A worker that was given the request; None where the campaign is stopping."""
        if self.stopping:
            return None
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "quidnunc.properties.search.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            # Ctrl-C in a terminal is for the parent alone, which then asks for what was found.
            start_new_session=True,
        )
        _write(process, json.dumps(asdict(request)).encode() + b"\n")
        with self._lock:
            self._live.append(process)
            late, too_late = self.stopping, self.ended
        if late:
            _write(process, b"stop\n")
        if too_late:
            end_processes([process])
        return process

    def stop(self) -> None:
        """Ask every worker for what it has; one that does not come back is for `end`."""
        with self._lock:
            self.stopping = True
            for process in self._live:
                _write(process, b"stop\n")

    def end(self) -> None:
        """End every worker, with what it started."""
        with self._lock:
            self.stopping = self.ended = True
            live = list(self._live)
        end_processes(live)

    def interrupt(self) -> None:
        """For a signal handler: stop, and end those that do not come back in time, or at the second call."""
        if self.interrupted:
            self.end()
            return
        self.interrupted = True
        self.stop()
        timer = threading.Timer(INTERRUPT_S, self.end)
        timer.daemon = True
        timer.start()

    def gone(self, process: Process) -> None:
        with self._lock:
            self._live.remove(process)


def _write(process: Process, data: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError, ValueError):
        process.stdin.write(data)
        process.stdin.flush()


def end_processes(processes: list[Process]) -> None:
    """Close their stdin, at which a worker ends the routers it started; then kill what is left."""
    for process in processes:
        assert process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            process.stdin.close()
    until = time.monotonic() + EXIT_S
    while time.monotonic() < until and any(p.poll() is None for p in processes):
        time.sleep(0.01)
    for process in processes:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def run_batch(request: BatchRequest, workers: Workers | None = None) -> dict[str, Any]:
    """One batch in a process of its own: what the worker told, up to where it was ended.

    Empty where the workers were stopped before; with `broken` where the worker failed.
    """
    workers = workers or Workers()
    process = workers.start(request)
    if process is None:
        return {}
    late = threading.Event()

    def give_up() -> None:
        late.set()
        end_processes([process])

    words = bytearray()
    timer = threading.Timer(WORKER_TIMEOUT_S, give_up)
    listener = threading.Thread(target=_listen, args=(process, words), daemon=True)
    timer.start()
    listener.start()
    try:
        told, problem = _told(process, partial(workers.under_way.__setitem__, request.seed))
        if problem:
            end_processes([process])
        status = process.wait()
    finally:
        timer.cancel()
        workers.gone(process)
    if late.is_set():
        problem = f"a batch of {request.runs} runs did not end within {WORKER_TIMEOUT_S} s"
    elif workers.ended:
        problem = ""
    elif status != 0 and not problem:
        listener.join(1)
        last = " / ".join(words.decode(errors="replace").strip().splitlines()[-3:])
        problem = f"the worker ended with status {status}: {last or SAID_NOTHING}"
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        with contextlib.suppress(OSError):
            stream.close()
    return told | ({"broken": problem} if problem else {})


def _told(process: Process, note: Callable[[Mapping[str, Any]], None]) -> tuple[dict[str, Any], str]:
    """What a worker says until it closes its stdout, and what is wrong with that. `note` is called with all
    of it, as it grows."""
    assert process.stdout is not None
    told: dict[str, Any] = {}
    while line := process.stdout.readline(MAX_REPLY_BYTES + 1):
        if len(line) > MAX_REPLY_BYTES:
            return told, f"the worker's answer has a line of more than {MAX_REPLY_BYTES} bytes"
        if not line.endswith(b"\n"):
            # It ended in the middle; its exit status says why.
            break
        try:
            told = told | json.loads(line)
        except (ValueError, RecursionError, TypeError):
            said = line[:200].decode(errors="replace")
            return told, f"the worker's answer is not JSON: {said!r}; does the router write to its stdout?"
        note(told)
    return told, ""


def _listen(process: Process, words: bytearray) -> None:
    """Keep the end of what a worker writes to stderr."""
    assert process.stderr is not None
    with process.stderr as stderr:
        while data := os.read(stderr.fileno(), MAX_STDERR_BYTES):
            words += data
            del words[:-MAX_STDERR_BYTES]
