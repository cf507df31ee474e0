"""A router in a process of its own, which speaks JSON lines: a request on its stdin, a reply on its stdout.

`open_exec("node driver.mjs", config)` starts it. What it must say is in docs/adapters.md, and as a schema in
seam.schema.json. Its stderr is kept for error messages. Needs a POSIX system.

Starting an interpreter may take longer than a whole run. A child that says `"again": true` beside its hello
serves the next router too: it is parked when its driver is closed, one a command, and ends with this process.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import selectors
import shlex
import signal
import subprocess
import time
import weakref
from collections import deque
from collections.abc import Sequence

from attrs import define, field

from quidnunc.impl.seam import AdapterError, Config, Driver, Hello, PartialDecision, Reply
from quidnunc.impl.seam.conformance import DriverClock, check_peers, checked_hello
from quidnunc.impl.seam.partial_json import decisions_json
from quidnunc.impl.seam.sidecar_json import LINE_BYTES_MAX, hello_of, init_of, reply_of, text_of
from quidnunc.model.events import FeedbackKind, Judgement
from quidnunc.model.rpc import ROUTER, Peer

TIMEOUT_S = 20.0
"""How long a child may take over one request, its start included."""

CLOSE_TIMEOUT_S = 2.0
"""How long it may take to go once its stdin is closed; then it is killed."""

STDERR_LINES = 20
STDERR_BYTES = 8192
"""Of its last words on stderr, what is kept."""

PARKED_MAX = 4
"""Children that wait for another router."""

SHOWN_BYTES = 200
_encoded = json.JSONEncoder(separators=(",", ":")).encode
_CHUNK_BYTES = 1 << 16


def open_exec(command: str, config: Config, *, timeout_s: float = TIMEOUT_S) -> Driver:
    """Start `command` (split as a shell would, no shell is run) and say `init` to it.

    The child finds PYTHONHASHSEED=0 in its environment unless that is set. Raises AdapterError where it
    cannot be started, answers with anything but a hello, or takes longer than `timeout_s` seconds.
    """
    pipe = _unparked(command) or Pipe(command, _started(command))
    pipe.timeout_s = timeout_s
    try:
        request = init_of(config)
        answer = pipe.ask(request)
        pipe.serves_again = answer.get("again") is True
        try:
            hello = checked_hello(hello_of(answer), config)
        except AdapterError as error:
            raise pipe.broken(request, f"its answer is no hello: {error}") from error
    except BaseException:
        pipe.close()
        raise
    return ExecDriver(pipe, hello, config.identity)


_live: weakref.WeakSet[Pipe] = weakref.WeakSet()


def end_children() -> None:
    """Kill every child of this process at once, with all that each started; called before it dies itself."""
    for pipe in list(_live):
        if pipe.child.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pipe.child.pid, signal.SIGKILL)


def _started(command: str) -> subprocess.Popen[bytes]:
    try:
        words = shlex.split(command)
    except ValueError:
        raise AdapterError(f"exec: a quotation mark is not closed in {command!r}") from None
    if not words:
        raise AdapterError("exec: no command given; write exec:COMMAND, for instance 'exec:node driver.mjs'")
    try:
        return subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PYTHONHASHSEED": "0", **os.environ},
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        raise AdapterError(
            f"exec:{command}: cannot start {words[0]!r}: {error.strerror}; check the path"
        ) from error


_parked: dict[tuple[int, str], Pipe] = {}
"""By the process that parked it, since a fork must not speak on its parent's pipes."""


def _park(pipe: Pipe) -> bool:
    key = (os.getpid(), pipe.command)
    if key in _parked or len(_parked) >= PARKED_MAX:
        return False
    _parked[key] = pipe
    return True


def _unparked(command: str) -> Pipe | None:
    pipe = _parked.pop((os.getpid(), command), None)
    if pipe is not None and pipe.child.poll() is not None:
        pipe.close()
        return None
    return pipe


@atexit.register
def close_parked() -> None:
    """End the children that this process has parked."""
    for key in [key for key in _parked if key[0] == os.getpid()]:
        _parked.pop(key).close()


@define(eq=False)
class Pipe:
    """The three pipes of one child. Nothing here waits longer than the timeout, whatever the child does."""

    command: str
    child: subprocess.Popen[bytes]
    timeout_s: float = TIMEOUT_S
    serves_again: bool = False
    """Whether the child takes another init."""
    _unread: bytearray = field(factory=bytearray, init=False)
    _stderr: deque[str] = field(factory=lambda: deque(maxlen=STDERR_LINES), init=False)
    _stderr_rest: bytes = field(default=b"", init=False)
    _ended: set[int] = field(factory=set, init=False)
    """Descriptors at their end."""
    _broken: str = field(default="", init=False)
    _selector: selectors.BaseSelector = field(factory=selectors.DefaultSelector, init=False)
    """Of what the child writes; of its stdin only while it does not take what is written."""

    def __attrs_post_init__(self) -> None:
        _live.add(self)
        for descriptor in self._descriptors():
            os.set_blocking(descriptor, False)
        for descriptor in self._descriptors()[1:]:
            self._selector.register(descriptor, selectors.EVENT_READ)

    def ask(self, request: dict[str, object]) -> dict[str, object]:
        """One line out, one line in. Raises AdapterError, after which the child is done for."""
        if self._broken:
            raise AdapterError(self._broken)
        if self._unread:
            raise self.broken(request, f"it wrote a line that no request asked for: {self._shown()}")
        line = _encoded(request).encode() + b"\n"
        answer = self._exchange(request, line)
        try:
            # To look for the encoding of what begins so takes as long as to read it.
            value = json.loads(answer.decode() if answer.startswith(b"{") else answer)
        except (ValueError, RecursionError) as error:
            self._unread[:0] = answer[: 2 * SHOWN_BYTES]
            raise self.broken(request, f"its line is not JSON: {self._shown()}") from error
        if not isinstance(value, dict):
            raise self.broken(request, f"expected a line with a JSON object, got {type(value).__name__}")
        if "error" in value:
            # Its own refusal of this request; the conversation goes on.
            raise AdapterError(f"exec:{self.command}: {_short(request)}: {value['error']}")
        return value

    def broken(self, request: dict[str, object], why: str) -> AdapterError:
        """The error that ends the conversation: command, request, reason, its last words, the next step."""
        self._drain_stderr()
        words = list(self._stderr) + (
            [self._stderr_rest.decode(errors="replace")] if self._stderr_rest else []
        )
        last = "; its stderr ended with:\n  " + "\n  ".join(words) if words else "; it said nothing on stderr"
        self._broken = (
            f"exec:{self.command}: at request {_short(request)}: {why}{last}\n"
            "next: run the command by hand, give it the requests one a line, compare with docs/adapters.md"
        )
        return AdapterError(self._broken)

    def release(self) -> None:
        """Its driver is done with it: park it where it may serve again, else close it."""
        may_serve = self.serves_again and not self._broken and not self._unread
        if not (may_serve and self.child.poll() is None and _park(self)):
            self.close()

    def close(self) -> None:
        """Close its stdin, wait, and kill it with all it started if it stays. Twice is harmless."""
        self._selector.close()
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            self.child.wait(0.1 if self._broken else CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            # It is the leader of a session of its own, so its children go with it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()

    def _exchange(self, request: dict[str, object], line: bytes) -> bytes:
        """Write `line` and read one line, both as far as the child lets us, until done or out of time."""
        stdin, stdout, _ = self._descriptors()
        deadline_s = time.monotonic() + self.timeout_s
        to_write = self._write(stdin, memoryview(line))
        if to_write:
            self._selector.register(stdin, selectors.EVENT_WRITE)
        searched = 0
        try:
            while (end := self._unread.find(b"\n", searched)) < 0:
                searched = len(self._unread)
                if searched > LINE_BYTES_MAX:
                    raise self.broken(request, f"its line is longer than {LINE_BYTES_MAX} bytes")
                if stdout in self._ended:
                    raise self.broken(request, f"it ended its stdout{self._exit()}")
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    half = f", but {len(self._unread)} bytes without a newline" if self._unread else ""
                    raise self.broken(request, f"no reply within {self.timeout_s:g} seconds{half}")
                for key, _ in self._selector.select(left_s):
                    if key.fd != stdin:
                        self._read(key.fd)
                    elif to_write := self._write(stdin, to_write):
                        continue
                    else:
                        self._selector.unregister(stdin)
        finally:
            if to_write:
                self._selector.unregister(stdin)
        answer = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return answer

    def _write(self, stdin: int, data: memoryview) -> memoryview:
        try:
            return data[os.write(stdin, data[:_CHUNK_BYTES]) :]
        except BlockingIOError:
            return data
        except BrokenPipeError:
            # It is gone; what it said before, or the end of its stdout, tells the rest.
            return data[:0]

    def _read(self, descriptor: int) -> bool:
        """Read what is there. False at the end."""
        try:
            data = os.read(descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return True
        if not data:
            self._ended.add(descriptor)
            self._selector.unregister(descriptor)
            return False
        if descriptor == self._descriptors()[1]:
            self._unread += data
        else:
            *lines, rest = (self._stderr_rest + data).split(b"\n")
            self._stderr.extend(
                line[-STDERR_BYTES:].decode(errors="replace") for line in lines[-STDERR_LINES:]
            )
            self._stderr_rest = rest[-STDERR_BYTES:]
        return True

    def _drain_stderr(self) -> None:
        stderr = self._descriptors()[2]
        with selectors.DefaultSelector() as selector:
            selector.register(stderr, selectors.EVENT_READ)
            # Bounded: a child that never stops talking is not listened to for ever.
            for _ in range(64):
                if stderr in self._ended or not selector.select(0.05) or not self._read(stderr):
                    return

    def _descriptors(self) -> tuple[int, int, int]:
        stdin, stdout, stderr = self.child.stdin, self.child.stdout, self.child.stderr
        assert stdin is not None and stdout is not None and stderr is not None
        return stdin.fileno(), stdout.fileno(), stderr.fileno()

    def _exit(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return f" and exited with status {self.child.wait(0.5)}"
        return ""

    def _shown(self) -> str:
        text = self._unread[:SHOWN_BYTES].decode(errors="replace")
        return repr(text) + (" ..." if len(self._unread) > SHOWN_BYTES else "")


def _short(request: dict[str, object]) -> str:
    """The request as it may stand in a message: without bytes, which may be a crash's and are long."""
    shown = {k: v for k, v in request.items() if k not in ("data", "tx", "parameters", "dog", "decisions")}
    return json.dumps(shown, separators=(",", ":"))


@define(eq=False)
class ExecDriver:
    """The requests of the seam, each one line to the child. See `quidnunc.impl.seam.Driver`."""

    pipe: Pipe
    hello: Hello
    own: Peer = ROUTER
    """Which peer the router is."""
    _is_open: bool = field(default=True, init=False)
    _clock: DriverClock = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._clock = DriverClock("clock" in self.hello.capabilities)

    def connect(self, peer: Peer, protocol: str, outbound: bool, address: int = 0) -> Reply:
        # Whoever has not heard of addresses is not asked for one.
        at = {"address": address} if address else {}
        return self._ask("connect", peer=peer, protocol=protocol, outbound=outbound, **at)

    def disconnect(self, peer: Peer) -> Reply:
        return self._ask("disconnect", peer=peer)

    def stall(self, peer: Peer) -> Reply:
        return self._ask("stall", peer=peer)

    def resume(self, peer: Peer) -> Reply:
        return self._ask("resume", peer=peer)

    def rpc(self, peer: Peer, data: bytes, channel: int = 0) -> Reply:
        return self._ask("rpc", peer=peer, channel=channel, data=text_of(data))

    def raw(self, peer: Peer, data: bytes) -> Reply:
        return self._ask("raw", peer=peer, data=text_of(data))

    def join(self, topic: str) -> Reply:
        return self._ask("join", topic=topic)

    def join_partial(self, topic: str, requests: bool, supports: bool) -> Reply:
        return self._ask("join_partial", topic=topic, requests=requests, supports=supports)

    def publish_partial(self, topic: str, group: bytes, decisions: Sequence[PartialDecision]) -> Reply:
        said = decisions_json(decisions)
        return self._ask("publish_partial", topic=topic, group=text_of(group), decisions=said)

    def feedback(self, topic: str, peer: Peer, kind: FeedbackKind) -> Reply:
        return self._ask("feedback", topic=topic, peer=peer, kind=kind)

    def leave(self, topic: str) -> Reply:
        return self._ask("leave", topic=topic)

    def publish(self, topic: str, data: bytes) -> Reply:
        return self._ask("publish", topic=topic, data=text_of(data))

    def verdict(self, message_id: bytes, judgement: Judgement) -> Reply:
        return self._ask("verdict", message=text_of(message_id), judgement=judgement)

    def score(self, peer: Peer, value: int) -> Reply:
        return self._ask("score", peer=peer, value=value)

    def advance(self, ms: int) -> Reply:
        self._clock.now_ms += ms
        return self._ask("advance", ms=ms)

    def submit(self, tx: bytes) -> Reply:
        return self._ask("submit", tx=text_of(tx))

    def commit(self, tx: bytes) -> Reply:
        return self._ask("commit", tx=text_of(tx))

    def adjust(self) -> Reply:
        return self._ask("adjust")

    def state(self) -> Reply:
        return self._ask("state")

    def close(self) -> None:
        """Once is enough, and twice is harmless."""
        if self._is_open:
            self._is_open = False
            self.pipe.release()

    def _ask(self, op: str, **values: object) -> Reply:
        request: dict[str, object] = {"op": op, **values}
        if not self._is_open:
            raise AdapterError(f"exec:{self.pipe.command}: {op!r} after close; open another driver")
        answer = self.pipe.ask(request)
        try:
            reply = reply_of(answer)
            self._clock.check(reply)
            check_peers(reply, self.own)
            return reply
        except AdapterError as error:
            raise self.pipe.broken(request, f"its reply breaks the schema: {error}") from error
