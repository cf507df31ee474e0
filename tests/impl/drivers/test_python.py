"""What a router of the user's own may do in this process: the kit says who did it, and where."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import CAPABILITIES, AdapterError, Config, Driver, Hello, Reply
from quidnunc.impl.seam.conformance import DriverClock, check_known, checked_hello
from quidnunc.model.parameters import DogParameters, Parameters

CONFIG = Config(protocol="floodsub", parameters=Parameters())

SOURCE = """\
import os, signal, sys
from quidnunc.impl.seam import AdapterError, Delivery, Hello, Reply

class Plain:
    hello = Hello(name="x", version="1", protocols=("floodsub",), capabilities=frozenset({"clock"}))
    now_ms = 0
    own = "its own"
    def join(self, topic): return Reply(t_ms=self.now_ms, delivered=(Delivery(topic=topic, data=b"d"),))
    def advance(self, ms):
        self.now_ms += ms
        return Reply(t_ms=self.now_ms)
    def rpc(self, peer, data, channel=0): return Reply(t_ms=channel)
    def close(self): pass

def made(**methods): return lambda config: type("Made", (Plain,), methods)()
def raising(error):
    def it(*values): raise error
    return it
def said(**values): return made(join=lambda self, topic: Reply(**values))

def hangs(self, topic):
    while True:
        pass

def ends(self, topic): os._exit(0)

def ends_a_child(self, topic):
    child = os.fork()
    if not child:
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    return Reply(t_ms=self.now_ms)

plain = made()
ends_the_kit, ends_another = made(join=ends), made(join=ends_a_child)
key_error = made(join=raising(KeyError("oops")))
leaves = made(join=raising(SystemExit(0)))
interrupts_itself = made(join=raising(KeyboardInterrupt()))
def interrupt(self, topic):
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        pass
interrupted = made(join=interrupt)
class Odd(BaseException): pass
raises_odd = made(join=raising(Odd("odd")))
def closes(self, topic):
    sys.stdout.close()
    return Reply(t_ms=self.now_ms)
closes_stdout = made(join=closes)
refuses = made(join=raising(AdapterError("x cannot join")))
no_reply = made(join=lambda self, topic: None)
dict_hello = made(hello={"name": "x"})
letters = made(hello=Hello(name="x", version="1", protocols="floodsub"))
wrong_capability = made(hello=Hello(name="x", version="1", protocols=(), capabilities={"Clock"}))
wrong_fixed = made(hello=Hello(name="x", version="1", protocols=(), fixed={"Dlow": 3}))
wrong_close = made(close=raising(OSError("closed before")))
wrong_twice = made(join=raising(KeyError("oops")), close=raising(OSError("closed before")))
stuck = made(advance=lambda self, ms: Reply(t_ms=0))
peer_text = said(out=(("1", 0, b""),))
out_pair = said(out=((1, b""),))
out_text = said(out=((1, 0, "text"),))
delivered_pair = said(delivered=(("t", b"d"),))
dials_text = said(dials=("1",))
to_nobody = said(out=((1, 0, b""), (-1, 0, b"")))
to_itself = said(out=((0, 0, b""),))
dials_nobody = said(dials=(999, -4))
closes_nobody = said(closed=(1_000_001,))
stuck_in_a_loop = made(join=hangs)
drained = said(out=iter(()))
late = said(t_ms="soon")
before = made(join=lambda self, topic: Reply(t_ms=-5), hello=Hello(name="x", version="1", protocols=()))

def never_made(config): hangs(None, "")
def fails(config): raise RuntimeError("no database")
def none(config): return None
def prints(config):
    print("made")
    def join(self, topic):
        print("joined", topic)
        return Reply()
    return made(join=join)(config)
print("imported")
"""


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "odd_router.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "odd_router", raising=False)
    return tmp_path


def opened(factory: str) -> Driver:
    return open_router(f"python:odd_router:{factory}", CONFIG)


def test_a_driver_that_keeps_to_the_seam_is_passed_on(odd: Path) -> None:
    driver = opened("plain")
    assert driver.hello.capabilities == {"clock"}
    assert driver.join("a").delivered[0].topic == "a"
    assert [driver.advance(5).t_ms, driver.advance(7).t_ms] == [5, 12]
    assert driver.rpc(1, b"", channel=12).t_ms == 12
    assert driver.own == "its own"  # type: ignore[attr-defined]
    driver.close()


@pytest.mark.parametrize(
    ("factory", "says"),
    [
        ("key_error", r"at request join: KeyError: 'oops' \(odd_router.py:17\)"),
        ("leaves", r"at request join: SystemExit: 0 \(odd_router.py:17\)"),
        ("interrupts_itself", r"at request join: KeyboardInterrupt:  \(odd_router.py:17\)"),
        ("raises_odd", r"at request join: Odd: odd \(odd_router.py:17\)"),
        (
            "ends_the_kit",
            r"at request join: RuntimeError: called os._exit\(0\), which would end the kit \(odd",
        ),
        ("no_reply", "at request join: it gave NoneType, need a Reply"),
        ("peer_text", "at request join: reply.out peer: need int, got str"),
        ("out_pair", r"reply.out: need \(peer, channel, bytes\)"),
        ("out_text", "reply.out bytes: need bytes, got str"),
        ("delivered_pair", "reply.delivered: need Delivery, got tuple"),
        ("dials_text", "reply.dials: need int, got str"),
        ("to_nobody", "at request join: reply.out peer: need a number from 0 to 1000000, got -1"),
        ("to_itself", "at request join: reply.out peer: 0 is the router itself"),
        ("dials_nobody", "at request join: reply.dials: need a number from 0 to 1000000, got -4"),
        ("closes_nobody", "at request join: reply.closed: need a number from 0 to 1000000, got 1000001"),
        ("drained", "reply.out: need tuple, got tuple_iterator"),
        ("late", "reply.t_ms: need int, got str"),
        ("before", "at request join: reply.t: need milliseconds since init, got -5"),
    ],
)
def test_a_request_that_breaks(odd: Path, factory: str, says: str) -> None:
    driver = opened(factory)
    with pytest.raises(AdapterError, match=f"python:odd_router:{factory}: .*{says}"):
        driver.join("a")
    driver.close()


def test_a_request_that_does_not_end(odd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quidnunc.impl.drivers.python.TIMEOUT_S", 0.2)
    driver = opened("stuck_in_a_loop")
    says = r"python:odd_router:stuck_in_a_loop: at request join: TimeoutError: no reply within 0.2 seconds"
    with pytest.raises(AdapterError, match=rf"{says} \(odd_router.py:2[0-3]\)"):
        driver.join("a")
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    driver.close()
    with pytest.raises(AdapterError, match="never_made raised TimeoutError: no reply within 0.2 seconds"):
        opened("never_made")


def test_somebody_elses_alarm_is_left_alone(odd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quidnunc.impl.drivers.python.TIMEOUT_S", 0.2)
    rang = list[int]()
    monkeypatch.setattr(signal, "SIGALRM", signal.SIGUSR1)
    before = signal.signal(signal.SIGUSR1, lambda number, frame: rang.append(number))
    try:
        opened("plain").join("a")
        assert not rang and signal.getsignal(signal.SIGUSR1) is not signal.SIG_DFL
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize(
    ("factory", "says"),
    [
        ("fails", r"fails raised RuntimeError: no database \(odd_router.py:\d+\)"),
        ("none", "none gave a NoneType without `hello`"),
        ("dict_hello", "its hello is a dict, need a Hello"),
        ("letters", "hello.protocols: need several str, got 'floodsub'"),
        ("wrong_capability", r"no capability 'Clock' \(did you mean 'clock'\?\)"),
        ("wrong_fixed", r"hello.fixed: no parameter 'Dlow' \(did you mean 'd_low'\?\)"),
    ],
)
def test_a_factory_that_breaks(odd: Path, factory: str, says: str) -> None:
    with pytest.raises(AdapterError, match=f"python:odd_router:{factory}: .*{says}"):
        opened(factory)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def x(:", "at import of 'odd_module': SyntaxError"),
        ("raise ValueError('early')", r"ValueError: early \(odd_module.py:1\)"),
        ("import sys\nsys.exit(0)", r"SystemExit: 0 \(odd_module.py:2\)"),
        ("import os\nos._exit(0)", r"called os._exit\(0\), which would end the kit \(odd_module.py:2\)"),
        ("import nowhere_at_all", "cannot import 'odd_module'.*run from its folder"),
    ],
)
def test_a_module_that_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str) -> None:
    (tmp_path / "odd_module.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AdapterError, match=f"python:odd_module:x: .*{says}"):
        open_router("python:odd_module:x", CONFIG)


def test_a_process_of_the_driver_may_end_itself(odd: Path) -> None:
    before = os._exit
    assert opened("ends_another").join("a") == Reply()
    assert os._exit is before


def test_what_is_no_fault_of_the_driver_stays_what_it_is(odd: Path) -> None:
    # What a shell starts in the background ignores Ctrl-C.
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            opened("interrupted").join("a")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, ours)
    with pytest.raises(AdapterError, match="^x cannot join$"):
        opened("refuses").join("a")


def test_the_first_error_is_the_one_that_is_told(odd: Path) -> None:
    with pytest.raises(AdapterError, match="at request close: OSError: closed before"):
        opened("wrong_close").close()
    driver = opened("wrong_twice")
    with pytest.raises(AdapterError, match="oops"):
        driver.join("a")
    driver.close()


def test_what_it_prints_is_on_stderr(odd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened("prints").join("a")
    print("ours")
    told = capsys.readouterr()
    assert told.out == "ours\n"
    assert told.err == "imported\nmade\njoined a\n"


def test_it_cannot_close_what_it_prints_to(odd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Mutant: it closes stderr in place of stdout, and the kit ends without a word."""
    opened("closes_stdout").join("a")
    print("still there", file=sys.stderr)
    assert capsys.readouterr().err.endswith("still there\n")


def test_its_clock_shows_what_it_was_advanced_by(odd: Path) -> None:
    driver = opened("stuck")
    assert driver.join("a").t_ms == 0
    with pytest.raises(AdapterError, match="at request advance: reply.t: got 0 ms, need 5 ms"):
        driver.advance(5)


def test_clocks() -> None:
    real = DriverClock(is_virtual=False)
    real.now_ms = 500
    real.check(Reply(t_ms=731))
    with pytest.raises(AdapterError, match="need milliseconds"):
        real.check(Reply(t_ms=-1))
    virtual = DriverClock(is_virtual=True, now_ms=500)
    virtual.check(Reply(t_ms=500))
    with pytest.raises(AdapterError, match="got 501 ms, need 500 ms"):
        virtual.check(Reply(t_ms=501))
    # Of a router that has failed nothing more is asked.
    virtual.check(Reply(t_ms=500, crashed="Boom"))
    virtual.check(Reply(t_ms=0))


def test_the_hello_names_what_there_is() -> None:
    fine = Hello(
        name="x",
        version="1",
        protocols=(),
        capabilities=CAPABILITIES,
        fixed={"d_low": 3, "gossip_factor": 1, "flood_publish": 0},
    )
    assert checked_hello(fine, CONFIG) is fine


def test_what_a_hello_says_is_shown_on_one_line() -> None:
    """Mutant: a line of its own is a command to who keeps the log."""
    loud = Hello(name="x\x1b[2J", version="1\n::error::x", protocols=("a\nb", "é"))
    shown = checked_hello(loud, CONFIG)
    assert (shown.name, shown.version) == (r"x\x1b[2J", r"1\n::error::x")
    assert shown.protocols == (r"a\nb", "é")


@pytest.mark.parametrize(
    ("fixed", "says"),
    [
        ({"Dlow": 3}, r"no parameter 'Dlow' \(did you mean 'd_low'\?\)$"),
        ({"nothing_like_it": 3}, "no parameter 'nothing_like_it'; there are accept_px_threshold, d, d_high"),
        ({"message_id": 3}, "no parameter 'message_id'"),
        ({"target_redundancy": 3}, "no parameter 'target_redundancy'"),
        ({"d_low": 2.5}, "hello.fixed.d_low: need a whole number, got 2.5"),
        ({"d_low": True}, "hello.fixed.d_low: need a whole number, got True"),
        ({"flood_publish": 2}, "hello.fixed.flood_publish: need 0 or 1, got 2"),
        ({"gossip_factor": float("nan")}, "hello.fixed.gossip_factor: need a number, got nan"),
        ({"gossip_factor": "0.25"}, "hello.fixed.gossip_factor: need a number, got '0.25'"),
    ],
)
def test_parameters_that_cannot_be_fixed(fixed: dict[str, float], says: str) -> None:
    wrong = Hello(name="x", version="1", protocols=(), fixed=fixed)
    with pytest.raises(AdapterError, match=says):
        checked_hello(wrong, CONFIG)


def test_a_mempool_has_other_parameters() -> None:
    of_dog = Hello(name="x", version="1", protocols=(), fixed={"target_redundancy": 2})
    assert checked_hello(of_dog, Config(protocol="dog", parameters=DogParameters())) is of_dog


def test_unknown_names_are_bounded_in_what_is_told() -> None:
    with pytest.raises(AdapterError) as caught:
        check_known([f"{'x' * 1000}{number}" for number in range(1000)], {"t"}, "unknown key")
    assert len(str(caught.value)) < 600
