"""The two sides of the JSON lines: what they say to each other, and what becomes of a child that does not."""

from __future__ import annotations

import io
import json
import os
import random
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from quidnunc.impl import sidecar_host
from quidnunc.impl.ours.pubsub import open_ours
from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import (
    CAPABILITIES,
    FORMAT,
    AdapterError,
    Config,
    Delivery,
    Driver,
    Hello,
    Reply,
    sidecar,
)
from quidnunc.impl.seam.sidecar import ExecDriver, open_exec
from quidnunc.impl.seam.sidecar_json import config_of, hello_json, hello_of, init_of, reply_json, reply_of
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.model.events import MEMPOOL, MESHSUB_1_2
from quidnunc.model.parameters import DogParameters, Parameters
from tests.helpers.seam_schema import fits, of

CONFIG = Config(seed=3, protocol="gossipsub-1.2", parameters=Parameters(explicit_peers=frozenset({9, 8})))
HOST = f"{shlex.quote(sys.executable)} -m quidnunc.impl.sidecar_host"


def test_the_checker_refuses() -> None:
    good = {"op": "rpc", "peer": 1, "channel": 0, "data": "AAE="}
    assert fits(good, of("request"))
    for wrong in (
        {**good, "peer": -1},
        {**good, "peer": True},
        {**good, "channel": 1},
        {**good, "data": "not base64!"},
        {**good, "more": 1},
        {"op": "rpc", "peer": 1, "channel": 0},
        {**good, "op": "publish"},
    ):
        assert not fits(wrong, of("request")), wrong
    assert fits({"t": 0, "out": [[1, 0, ""]]}, of("reply"))
    assert not fits({"t": 0, "out": [[1, 0]]}, of("reply"))
    assert not fits({"t": -1}, of("reply"))
    assert not fits({"hello": {"name": "x", "version": "1", "protocols": [1], "format": 1}}, of("answer"))


class Loopback:
    """A pipe to the host in this process, which checks every line against the schema."""

    command = "loopback"

    def __init__(self, open_driver: sidecar_host.Open) -> None:
        self.open_driver, self.driver, self.lines = open_driver, None, 0

    def ask(self, request: dict[str, object]) -> dict[str, object]:
        assert fits(json.loads(json.dumps(request)), of("request")), request
        answer, self.driver = sidecar_host._answer(
            self.open_driver, self.driver, json.dumps(request).encode()
        )
        assert fits(json.loads(json.dumps(answer)), of("answer")), answer
        self.lines += 1
        if "error" in answer:
            raise AdapterError(str(answer["error"]))
        return answer

    def release(self) -> None:
        if self.driver is not None:
            self.driver.close()


def looped(config: Config, open_driver: sidecar_host.Open = open_ours) -> tuple[ExecDriver, Loopback]:
    pipe = Loopback(open_driver)
    hello = hello_of(pipe.ask(init_of(config)))
    return ExecDriver(pipe, hello), pipe


def sub(topic: str, on: bool = True) -> bytes:
    return wire.RPC(subscriptions=[wire.RPC.SubOpts(subscribe=on, topicid=topic)]).SerializeToString()


def walk(driver: Driver, seed: int) -> Iterator[Reply]:
    """A seeded run over every pubsub request."""
    draw = random.Random(seed)
    graft = wire.RPC(control=wire.ControlMessage(graft=[wire.ControlGraft(topicID="t")])).SerializeToString()
    for peer in range(1, 7):
        yield driver.connect(peer, MESHSUB_1_2, peer % 2 == 0)
        yield driver.rpc(peer, sub("t"))
    for _ in range(60):
        peer = draw.randrange(1, 7)
        yield draw.choice(
            [
                lambda: driver.join("t"),
                lambda: driver.leave("t"),
                lambda: driver.advance(500),
                lambda p=peer: driver.rpc(p, graft),
                lambda p=peer: driver.raw(p, bytes([len(graft)]) + graft),
                lambda: driver.publish("t", b"data %d" % draw.randrange(99)),
                lambda p=peer: driver.stall(p),
                lambda p=peer: driver.resume(p),
                lambda: driver.verdict(b"none", "ignore"),
                lambda p=peer: driver.score(p, draw.randrange(-30, 30)),
                lambda: driver.state(),
            ]
        )()
    yield driver.disconnect(1)


def as_json(reply: Reply) -> object:
    """JSON has no tuples and no keys that are numbers, so the state is compared as JSON."""
    return json.loads(json.dumps(reply_json(reply)))


def test_ours_is_the_same_behind_both_bindings_and_keeps_to_the_schema() -> None:
    for seed in range(5):
        config = Config(seed=seed, protocol="gossipsub-1.2", parameters=Parameters())
        direct = open_ours(config)
        driver, pipe = looped(config)
        assert driver.hello == direct.hello
        pairs = list(zip(walk(direct, seed), walk(driver, seed), strict=True))
        assert [as_json(one) for one, _ in pairs] == [as_json(other) for _, other in pairs]
        assert any(one.out for one, _ in pairs) and pipe.lines == len(pairs) + 1


def test_mempool_requests_keep_to_the_schema() -> None:
    driver, _ = looped(Config(protocol="dog", parameters=DogParameters()))
    driver.connect(1, MEMPOOL, False)
    assert driver.submit(b"tx").out
    for reply in (driver.commit(b"tx"), driver.adjust(), driver.rpc(1, b"", 0x31), driver.state()):
        assert not reply.crashed


def test_a_child_process_says_the_same() -> None:
    config = Config(seed=2, protocol="gossipsub-1.2", parameters=Parameters())
    direct, child = open_ours(config), open_exec(f"{HOST} ours", config)
    try:
        assert child.hello == direct.hello
        for one, other in zip(walk(direct, 2), walk(child, 2), strict=True):
            assert as_json(one) == as_json(other)
        with pytest.raises(AdapterError, match=r"exec:.*sidecar_host ours: .*\"peer\":77.*connect it first"):
            child.rpc(77, sub("t"))
        assert child.advance(1).t_ms == direct.advance(1).t_ms
    finally:
        child.close()
        sidecar.close_parked()


def test_a_child_that_serves_again_is_kept() -> None:
    config = Config(seed=2, protocol="gossipsub-1.2", parameters=Parameters())
    first = open_router(f"exec:{HOST} ours", config)
    one = [as_json(reply) for reply in walk(first, 4)]
    child = first.pipe.child
    first.close()
    first.close()
    second = open_router(f"exec:{HOST} ours", config)
    assert second.pipe.child is child and child.poll() is None
    assert [as_json(reply) for reply in walk(second, 4)] == one
    with pytest.raises(AdapterError, match="'state' after close"):
        first.state()
    second.close()
    sidecar.close_parked()
    assert child.returncode == 0


# JSON values.


def test_config_there_and_back() -> None:
    assert config_of(json.loads(json.dumps(init_of(CONFIG)))) == CONFIG
    dog = Config(
        protocol="flood", parameters=DogParameters(cache_size=7), profile="shipped", without=("a", "b")
    )
    told = json.loads(json.dumps(init_of(dog)))
    assert fits(told, of("init")) and config_of(told) == dog
    node = Config(parameters=Parameters(), identity=12)
    told = json.loads(json.dumps(init_of(node)))
    assert fits(told, of("init")) and config_of(told) == node
    # A driver that knows of no identity is not troubled with one.
    assert "identity" not in init_of(CONFIG)


def test_hello_and_reply_there_and_back() -> None:
    hello = Hello(
        name="x",
        version="1",
        protocols=("dog",),
        capabilities=CAPABILITIES,
        fixed={"d": 3, "gossip_factor": 0.5},
        additions={"a": "a thing of its own"},
        switched={"it switches off b": ("gs1.0/relay.*",)},
    )
    answer = json.loads(json.dumps({"hello": hello_json(hello)}))
    assert fits(answer, of("answer")) and hello_of(answer) == hello
    assert type(hello_of(answer).fixed["d"]) is int
    reply = Reply(
        t_ms=7,
        out=((1, 0x30, b"\x00\xff"),),
        delivered=(Delivery(topic="t", data=b""),),
        dials=(2,),
        closed=(3,),
        crashed="Boom",
        state={"mesh": {"t": [1]}},
    )
    answer = json.loads(json.dumps(reply_json(reply)))
    assert fits(answer, of("answer")) and reply_of(answer) == reply
    assert reply_json(Reply(t_ms=5)) == {"t": 5}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": 2}, "format 2, this side speaks 1"),
        ({"seed": "x"}, "init.seed: need int, got str"),
        ({"parameters": {"d": 3, "dee": 3}}, "init.parameters: no parameter dee"),
        ({"parameters": {"d_low": 99}}, "init.parameters: need 0 <= D_low"),
        ({"parameters": {"explicit_peers": ["x"]}}, "explicit_peers: need int, got str"),
    ],
)
def test_init_that_is_wrong(change: dict[str, object], says: str) -> None:
    with pytest.raises(AdapterError, match=says):
        config_of({**init_of(CONFIG), **change})


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({}, "reply.t: need int"),
        ({"t": True}, "reply.t: need int, got bool"),
        ({"t": 0, "out": [[1, 0]]}, "need .peer, channel, base64., got 2"),
        ({"t": 0, "out": [[1, 0, "%%%"]]}, "reply.out bytes: not base64"),
        ({"t": 0, "delivered": [["t"]]}, "need .topic, base64., got 1"),
        ({"t": 0, "dials": "x"}, "reply.dials: need list, got str"),
        ({"t": 0, "crash": "Boom"}, r"unknown key 'crash' \(did you mean 'crashed'\?\)$"),
        ({"t": 0, "again": True}, "unknown key 'again'; there are closed, crashed, delivered"),
    ],
)
def test_reply_that_is_wrong(answer: dict[str, object], says: str) -> None:
    with pytest.raises(AdapterError, match=says):
        reply_of(answer)


# The host.


def served(*lines: bytes, open_driver: sidecar_host.Open = open_ours) -> list[dict[str, Any]]:
    answers = io.BytesIO()
    sidecar_host.serve(open_driver, io.BytesIO(b"".join(line + b"\n" for line in lines)), answers)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def test_host_answers_what_is_wrong_and_goes_on() -> None:
    init = json.dumps(init_of(CONFIG)).encode()
    said = served(
        b'{"op":"state"}',
        b"nonsense",
        b"[]",
        b'{"op":"dance"}',
        init,
        b'{"op":"join"}',
        b'{"op":"advance","ms":5}',
    )
    assert said[0] == {"error": "state before init: say init first"}
    assert said[1]["error"].startswith("JSONDecodeError")
    assert said[2] == {"error": "a request is a JSON object"}
    assert said[3]["error"].startswith("no request 'dance': there are init, connect, disconnect")
    assert said[4]["hello"]["format"] == FORMAT
    assert said[5] == {"error": "join: need 'topic' as str, got None"}
    assert said[6] == {"t": 5, "dials": [8, 9]}
    assert all(fits(answer, of("answer")) for answer in said)


def test_host_bounds_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidecar_host, "LINE_BYTES_MAX", 30)
    assert served(b'{"op":"state"}', b"x" * 40, b'{"op":"state"}')[1:] == [
        {"error": "a line of more than 30 bytes"}
    ]


def test_host_passes_on_what_a_driver_raises() -> None:
    def failing(config: Config) -> Driver:
        raise KeyError("its own mistake")

    (answer,) = served(json.dumps(init_of(CONFIG)).encode(), open_driver=failing)
    assert answer == {"error": "KeyError: 'its own mistake'"}


def test_host_says_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert sidecar_host.main([]) == 2
    assert "usage: python -m quidnunc.impl.sidecar_host ROUTER" in capsys.readouterr().err


# Children that misbehave.

HELLO = json.dumps({"hello": {"name": "x", "version": "1", "protocols": [], "format": 1}})
READ_ONE = "import sys; read = sys.stdin.readline; say = lambda s: print(s, flush=True); read()"


def child(program: str) -> str:
    return f"{shlex.quote(sys.executable)} -S -c {shlex.quote(program)}"


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (
            "import sys; print('no such key', file=sys.stderr); sys.exit(3)",
            "exited with status 3.*no such key",
        ),
        (f"{READ_ONE}; say('Listening on port 80')", "its line is not JSON: 'Listening on port 80"),
        (f"{READ_ONE}; say('[' * 100_000)", "its line is not JSON: '\\[\\[\\["),
        (f"{READ_ONE}; say('9' * 5000)", "its line is not JSON: '999"),
        (f"{READ_ONE}; say('[]')", "expected a line with a JSON object, got list"),
        (f"{READ_ONE}; say('{{}}')", "its answer is no hello: hello: need dict"),
        (f'{READ_ONE}; say(\'{{"hello":{{"format":9}}}}\')', "hello.format: 9, this kit speaks 1"),
        (f'{READ_ONE}; say(\'{{"error":"not today"}}\')', "init.*: not today"),
        ("import os; os.close(1); import sys; sys.stdin.read()", "ended its stdout"),
    ],
)
def test_child_that_does_not_say_hello(program: str, says: str) -> None:
    with pytest.raises(AdapterError, match=f"(?s)^exec:.*{says}") as raised:
        open_exec(child(program), CONFIG)
    if "not today" not in says:
        assert "next: run the command by hand" in str(raised.value)
        assert '"op":"init"' in str(raised.value)


def test_command_that_does_not_start() -> None:
    with pytest.raises(AdapterError, match="cannot start '/no/such/router': No such file"):
        open_exec("/no/such/router --fast", CONFIG)
    with pytest.raises(AdapterError, match="no command given"):
        open_exec("", CONFIG)


def test_silent_child_is_given_up_on() -> None:
    with pytest.raises(AdapterError, match="no reply within 0.2 seconds"):
        open_exec(child("import sys; sys.stdin.read()"), CONFIG, timeout_s=0.2)


def opened(program: str, **options: Any) -> ExecDriver:
    driver = open_exec(child(f"{READ_ONE}; say({HELLO!r}); {program}"), CONFIG, **options)
    assert isinstance(driver, ExecDriver)
    return driver


def test_child_that_dies_later_is_named_with_its_last_words() -> None:
    driver = opened("read(); sys.stderr.write('x\\n' * 50 + 'out of memory\\n'); sys.exit(1)")
    with pytest.raises(AdapterError) as raised:
        driver.rpc(4, b"secret bytes")
    text = str(raised.value)
    assert '{"op":"rpc","peer":4,"channel":0}' in text and "status 1" in text
    assert text.count("\n  x") == sidecar.STDERR_LINES - 1 and "\n  out of memory\n" in text
    assert "c2VjcmV0" not in text
    # The conversation is over, and says so again.
    with pytest.raises(AdapterError, match="out of memory"):
        driver.state()
    driver.close()


def test_child_that_says_too_much() -> None:
    driver = opened('read(); say(\'{"t":0}\\n{"t":1}\'); read()')
    driver.join("t")
    with pytest.raises(AdapterError, match="no request asked for"):
        driver.leave("t")
    driver.close()


def test_line_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidecar, "LINE_BYTES_MAX", 100_000)
    driver = opened("read(); sys.stdout.write('x' * 300_000); sys.stdout.flush(); read()")
    with pytest.raises(AdapterError, match="its line is longer than 100000 bytes"):
        driver.state()
    driver.close()


def test_half_a_line_is_told_from_none() -> None:
    """Who prints without a newline, or without flushing it, reads what came."""
    driver = opened("read(); sys.stdout.write('{}'); sys.stdout.flush(); read()", timeout_s=0.3)
    with pytest.raises(AdapterError, match="no reply within 0.3 seconds, but 2 bytes without a newline"):
        driver.state()
    driver.close()


def test_child_that_does_not_read() -> None:
    driver = opened("import signal; signal.pause()", timeout_s=0.3)
    with pytest.raises(AdapterError, match="no reply within 0.3 seconds"):
        driver.publish("t", bytes(1 << 20))
    driver.close()


def test_long_lines_and_busy_stderr_do_not_block() -> None:
    driver = opened(
        "line = read(); sys.stderr.write('noise\\n' * 50_000); say('{\"t\":%d}' % len(line)); read()"
    )
    assert driver.publish("t", bytes(3 << 20)).t_ms > 4 << 20
    driver.close()
    assert driver.pipe.child.returncode == 0


def test_child_that_will_not_go_is_killed_with_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidecar, "CLOSE_TIMEOUT_S", 0.1)
    driver = opened(
        "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); read()\n"
        "born = os.fork()\n"
        "if born: say('{\"t\":%d}' % born)\n"
        "while True: signal.pause()"
    )
    grandchild = driver.join("t").t_ms
    driver.close()
    assert driver.pipe.child.returncode == -9
    # A zombie of another parent still has a number; what is left of it does not run.
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(grandchild)], capture_output=True, text=True
    ).stdout
    # A letter for how nice it was may follow.
    assert state.strip()[:1] in ("", "Z")


def test_reply_that_breaks_the_schema_ends_it() -> None:
    driver = opened('read(); say(\'{"t":"soon"}\'); read()')
    with pytest.raises(
        AdapterError, match="(?s)its reply breaks the schema: reply.t: need int, got str.*next:"
    ):
        driver.adjust()
    with pytest.raises(AdapterError, match="breaks the schema"):
        driver.adjust()
    driver.close()


def test_hash_seed_is_fixed_for_the_child() -> None:
    driver = opened("import os; read(); say('{\"t\":%s}' % os.environ['PYTHONHASHSEED'])")
    assert driver.state().t_ms == int(os.environ.get("PYTHONHASHSEED", "0").replace("random", "0"))
    driver.close()
