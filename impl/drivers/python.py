"""A router of the user's in this process: `python:MODULE:FACTORY`.

Nothing that it does may end this process, or pass for what the kit says: whatever it raises is an
AdapterError that names the router, the request and the line, and what it prints goes to stderr.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from types import FrameType
from typing import Any, NoReturn, cast

from attrs import frozen

from quidnunc.impl.seam import AdapterError, Config, Delivery, Driver, Hello, PartialCall, Reply
from quidnunc.impl.seam.conformance import DriverClock, check_peers, checked_hello
from quidnunc.impl.seam.requests import REQUESTS

ERROR_CHARACTERS = 500
"""Of what was raised, what is shown."""

TIMEOUT_S = 60.0
"""A request that takes longer is given up, as one to a process is."""


@frozen
class _Stderr:
    """What a driver has for stdout: stderr, which it does not close."""

    stream: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def close(self) -> None: ...


def open_python(rest: str, config: Config) -> Driver:
    """`MODULE:FACTORY`: FACTORY(config) gives a Driver. The current folder is searched for MODULE too.

    Raises ValueError for what is not written so, AdapterError where module or factory fail.
    """
    spec = f"python:{rest}"
    module_name, colon, factory_name = rest.partition(":")
    if not module_name or not colon or not factory_name:
        raise ValueError(f"{spec}: write python:MODULE:FACTORY, for instance python:my_router:open_it")
    module = _imported(spec, module_name)
    file = getattr(module, "__file__", None) or ""
    factory = getattr(module, factory_name, None)
    if not callable(factory):
        raise AdapterError(f"{spec}: {module_name} has no callable {factory_name!r}")
    return opened(factory, config, spec, file)


def opened(factory: Callable[[Config], object], config: Config, spec: str, file: str) -> Driver:
    """What `factory` makes of `config`, guarded. `spec`: its name for messages; `file`: of its module.

    Raises AdapterError where the factory fails, or gives no Driver.
    """
    name = getattr(factory, "__name__", spec)
    with blamed(f"{spec}: {name} raised", file), answering():
        driver = factory(config)
        hello = getattr(driver, "hello", None)
    if hello is None:
        raise AdapterError(
            f"{spec}: {name} gave a {type(driver).__name__} without `hello`; "
            "it has to return a Driver (quidnunc.impl.seam)"
        )
    try:
        return cast(
            "Driver", PythonDriver(spec, driver, checked_hello(_hello(hello), config), file, config.identity)
        )
    except AdapterError as error:
        raise AdapterError(f"{spec}: {error}") from None


class PythonDriver:
    """The requests of `quidnunc.impl.seam.Driver`, each guarded; the rest is the object's own."""

    def __init__(self, spec: str, driver: Any, hello: Hello, file: str, own: int) -> None:
        """`spec`: its name for messages; `file`: of its module; `own`: which peer the router is."""
        self.hello = hello
        self._own = own
        self._spec, self._driver, self._file = spec, driver, file
        self._clock = DriverClock("clock" in hello.capabilities)
        self._broke = False

    def __getattr__(self, name: str) -> Any:
        if name not in REQUESTS:
            return getattr(self._driver, name)

        def request(*values: Any, **named: Any) -> Reply:
            return self._ask(name, lambda: getattr(self._driver, name)(*values, **named))

        # Kept, so that each is looked for once.
        setattr(self, name, request)
        return request

    def advance(self, ms: int) -> Reply:
        self._clock.now_ms += ms
        return self._ask("advance", lambda: self._driver.advance(ms))

    def close(self) -> None:
        """What fails here after a request has failed is not worth telling."""
        broke, self._broke = self._broke, True
        try:
            self._guarded("close", lambda: self._driver.close())
        except AdapterError:
            if not broke:
                raise

    def _ask(self, name: str, request: Callable[[], Any]) -> Reply:
        reply = self._guarded(name, request)
        try:
            checked = _reply(reply)
            self._clock.check(checked)
            check_peers(checked, self._own)
        except AdapterError as error:
            self._broke = True
            raise AdapterError(f"{self._spec}: at request {name}: {error}") from None
        return checked

    def _guarded(self, name: str, request: Callable[[], Any]) -> Any:
        try:
            with blamed(f"{self._spec}: at request {name}:", self._file), answering():
                return request()
        except AdapterError:
            self._broke = True
            raise


@contextmanager
def blamed(where: str, file: str) -> Iterator[None]:
    """Raises AdapterError, `where` and what it was, for all that is raised inside, as long as it is no
    interrupt: whoever interrupts is a person, and no fault of the module. What is printed goes to stderr."""
    interrupts = list[int]()
    shown: Any = None if sys.stderr is None else _Stderr(sys.stderr)
    try:
        with redirect_stdout(shown), noting_interrupts(interrupts), staying():
            yield
    except AdapterError:
        # Its own words.
        raise
    except BaseException as error:
        # SIGTERM has a kind of its own.
        theirs = type(error) is KeyboardInterrupt and not interrupts
        if isinstance(error, KeyboardInterrupt) and not theirs:
            raise
        raise AdapterError(f"{where} {_fault(error, file)}") from error


@contextmanager
def noting_interrupts(seen: list[int]) -> Iterator[None]:
    """Adds to `seen` each SIGINT that comes while what is inside runs. Only the main thread hears of them."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        # One that the module has set is its own.
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, before)


@contextmanager
def staying() -> Iterator[None]:
    """Raises RuntimeError where what is inside would end this process at once, and nobody would be told. A
    process that it has forked may end so."""
    process, end = os.getpid(), os._exit

    def stay(status: int) -> NoReturn:
        if os.getpid() != process:
            end(status)
        raise RuntimeError(f"called os._exit({status}), which would end the kit")

    os._exit = stay
    try:
        yield
    finally:
        os._exit = end


@contextmanager
def answering() -> Iterator[None]:
    """Raises AdapterError where what is inside does not end within `TIMEOUT_S`.

    A signal interrupts it. Nothing does where signals are not ours: in another thread, beside somebody else's
    alarm, and while a person debugs.
    """
    ours = (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and sys.gettrace() is None
        and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    )
    if not ours:
        yield
        return
    signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, TIMEOUT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _interrupt(number: int, frame: object) -> None:
    raise TimeoutError(f"no reply within {TIMEOUT_S:g} seconds")


def _imported(spec: str, name: str) -> object:
    with blamed(f"{spec}: at import of {name!r}:", ""):
        try:
            return _module(name)
        except ImportError as error:
            raise AdapterError(
                f"{spec}: cannot import {name!r} ({error}); run from its folder, or install it"
            ) from error


def _module(name: str) -> object:
    folder = os.getcwd()
    if folder in sys.path or "" in sys.path:
        return importlib.import_module(name)
    # A console script does not look where it was called, and that is where the user's module most likely is.
    sys.path.append(folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


def _fault(error: BaseException, file: str) -> str:
    """`KeyError: 'x' (my_router.py:12)`: the last line on the way that is of `file`, or of any file."""
    said = f"{type(error).__name__}: {error}"[:ERROR_CHARACTERS]
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith("<")]
    theirs = [f for f in frames if f.filename not in (__file__, importlib.__file__)]
    last = ([f for f in theirs if f.filename == file] or theirs)[-1:]
    return said + "".join(f" ({os.path.basename(f.filename)}:{f.lineno})" for f in last)


def _hello(hello: object) -> Hello:
    """Raises AdapterError, naming the field, for what is no Hello."""
    if not isinstance(hello, Hello):
        raise AdapterError(f"its hello is a {type(hello).__name__}, need a Hello (quidnunc.impl.seam)")
    for name, value in (("protocols", hello.protocols), ("capabilities", hello.capabilities)):
        each: Any = value
        if not isinstance(each, tuple | list | set | frozenset) or not all(isinstance(s, str) for s in each):
            raise AdapterError(f"hello.{name}: need several str, got {value!r}"[:ERROR_CHARACTERS])
    for name, said in (("name", hello.name), ("version", hello.version)):
        _need(said, str, f"hello.{name}")
    return hello


def _reply(reply: object) -> Reply:
    """Raises AdapterError, naming the field, for what is no Reply."""
    if not isinstance(reply, Reply):
        raise AdapterError(f"it gave {type(reply).__name__}, need a Reply (quidnunc.impl.seam)")
    _need(reply.t_ms, int, "reply.t_ms")
    for item in _several(reply.out, "reply.out"):
        if not isinstance(item, tuple) or len(item) != 3:
            raise AdapterError(f"reply.out: need (peer, channel, bytes), got {item!r}"[:ERROR_CHARACTERS])
        _need(item[0], int, "reply.out peer")
        _need(item[1], int, "reply.out channel")
        _need(item[2], bytes, "reply.out bytes")
    for each in _several(reply.delivered, "reply.delivered"):
        _need(each, Delivery, "reply.delivered")
        _need(each.topic, str, "reply.delivered topic")
        _need(each.data, bytes, "reply.delivered bytes")
    for name in ("dials", "closed"):
        for peer in _several(getattr(reply, name), f"reply.{name}"):
            _need(peer, int, f"reply.{name}")
    for call in _several(reply.partial, "reply.partial"):
        _need(call, PartialCall, "reply.partial")
    _need(reply.crashed, str, "reply.crashed")
    return reply


def _several(values: object, where: str) -> Any:
    if not isinstance(values, tuple | list):
        raise AdapterError(f"{where}: need tuple, got {type(values).__name__}")
    return values


def _need(value: object, kind: type, where: str) -> None:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise AdapterError(f"{where}: need {kind.__name__}, got {type(value).__name__}")
