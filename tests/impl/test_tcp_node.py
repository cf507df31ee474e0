"""Our routers on TCP: nodes meet, deliver and leave nothing behind, whatever a bad neighbour does."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from quidnunc.impl import tcp_main, tcp_node
from quidnunc.impl.gossipsub.outbox import MAX_QUEUED_RPCS
from quidnunc.impl.ours.pubsub import PROTOCOLS
from quidnunc.impl.seam import AdapterError, Config, PartialCall, PartialDecision
from quidnunc.impl.tcp_node import TcpNode
from quidnunc.impl.tcp_node import link as tcp_link
from quidnunc.impl.tcp_node.link import MAX_HELLO_BYTES, TcpHello, read_hello
from quidnunc.impl.wire.codec import Codec
from quidnunc.impl.wire.framing import FrameDecoder, FrameError, frame, varint
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import Message

HOST = "127.0.0.1"
PUBSUB = tuple(p for p in PROTOCOLS if p.startswith(("floodsub", "gossipsub", "partial")))
MEMPOOL = tuple(p for p in PROTOCOLS if p not in PUBSUB)


def config(protocol: str = "gossipsub-1.2") -> Config:
    if protocol in MEMPOOL:
        on = protocol.startswith("dog")
        return Config(protocol=protocol, parameters=DogParameters(dog=on, adjust_interval_ms=100))
    return Config(protocol=protocol, parameters=Parameters(heartbeat_interval_ms=50, heartbeat_delay_ms=20))


async def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Come back when it holds; a test that waits for too long fails there."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


def leaving_nothing(run: Callable[[], Coroutine[object, object, None]]) -> None:
    """Run it in an event loop of its own; no task and no open file is left after it."""

    async def watched() -> None:
        before = _open_files()
        await run()
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert _open_files() == before

    asyncio.run(watched())


def _open_files() -> int:
    listed = Path("/proc/self/fd")
    return len(list(listed.iterdir())) if listed.exists() else 0


def joined_by(node: TcpNode, *peers: int, topic: str = "t") -> bool:
    """Whether the node has heard that these are in the topic."""
    known = node.state()["peers"]
    assert isinstance(known, dict)
    return all(topic in known.get(str(peer), {"topics": ()})["topics"] for peer in peers)


def has_pooled(node: TcpNode) -> bool:
    return bool(node.state()["pool"])


async def hello_of(reader: asyncio.StreamReader) -> TcpHello:
    return read_hello(await frame_of(reader))


async def frame_of(reader: asyncio.StreamReader) -> bytes:
    decoder = FrameDecoder()
    while True:
        payloads, _ = decoder.feed(await reader.readexactly(1))
        if payloads:
            return payloads[0]


class Stranger:
    """A neighbour that says whatever a test wants it to."""

    def __init__(self, number: int, port: int, protocol: str = "gossipsub-1.2") -> None:
        self.port = port
        streams = ("mempool",) if protocol in MEMPOOL else ("/meshsub/1.1.0",)
        self.hello = TcpHello(number=number, protocol=protocol, streams=streams)

    async def __aenter__(self) -> Stranger:
        self.reader, self.writer = await asyncio.open_connection(HOST, self.port)
        await hello_of(self.reader)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()
        await asyncio.gather(self.writer.wait_closed(), return_exceptions=True)

    async def is_closed(self) -> bool:
        async with asyncio.timeout(5):
            while await self.reader.read(1 << 16):
                pass
        return True


# -- two nodes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PUBSUB)
def test_two_pubsub_nodes_meet_deliver_and_close(protocol: str) -> None:
    async def run() -> None:
        got: list[tuple[str, bytes]] = []
        a = TcpNode(config(protocol), number=1)
        b = TcpNode(config(protocol), number=2, delivered=lambda topic, data: got.append((topic, data)))
        b.join("t")
        await a.dial(HOST, await b.listen(HOST, 0))
        a.join("t")
        await until(lambda: joined_by(a, 2) and joined_by(b, 1))
        a.publish("t", b"hello")
        await until(lambda: got == [("t", b"hello")])
        await asyncio.gather(a.close(), b.close())
        assert not a.everyone and not b.everyone and not a.links

    leaving_nothing(run)


@pytest.mark.parametrize("protocol", MEMPOOL)
def test_two_mempools_share_a_transaction_and_close(protocol: str) -> None:
    async def run() -> None:
        a, b = TcpNode(config(protocol), number=1), TcpNode(config(protocol), number=2)
        await a.dial(HOST, await b.listen(HOST, 0))
        await until(lambda: 1 in b.links and 2 in a.links)
        a.submit(b"tx\n")
        await until(lambda: has_pooled(b))
        assert b.state()["pool"] == a.state()["pool"]
        b.commit(b"tx\n")
        assert not has_pooled(b)
        await asyncio.gather(a.close(), b.close())

    leaving_nothing(run)


def test_parts_cross_the_wire_and_the_application_is_called() -> None:
    async def run() -> None:
        calls: list[PartialCall] = []
        a = TcpNode(config("partial-messages"), number=1)
        b = TcpNode(config("partial-messages"), number=2, partial=calls.append)
        await a.dial(HOST, await b.listen(HOST, 0))
        for node in (a, b):
            node.join("t", requests=True, supports=True)
        await until(lambda: joined_by(a, 2) and joined_by(b, 1))
        a.publish_partial("t", b"group", (PartialDecision(peer=2, payload=b"part", next_state=b"1"),))
        await until(lambda: [(c.kind, c.peer, c.payload) for c in calls] == [("hand", 1, b"part")])
        await asyncio.gather(a.close(), b.close())

    leaving_nothing(run)


def test_the_heartbeat_runs_by_the_clock_of_the_machine() -> None:
    async def run() -> None:
        a, b = TcpNode(config(), number=1), TcpNode(config(), number=2)
        a.join("t")
        await a.dial(HOST, await b.listen(HOST, 0))
        # The neighbour enters later, so that only a heartbeat can take it into the mesh.
        await until(lambda: 1 in b.links)
        b.join("t")
        await until(lambda: a.state()["mesh"] == {"t": [2]} and b.state()["mesh"] == {"t": [1]})
        await asyncio.gather(a.close(), b.close())

    leaving_nothing(run)


def test_of_two_connections_between_a_pair_that_of_the_lower_number_stays() -> None:
    async def run() -> None:
        a, b = TcpNode(config(), number=1), TcpNode(config(), number=2)
        at_a, at_b = await a.listen(HOST, 0), await b.listen(HOST, 0)
        await asyncio.gather(a.dial(HOST, at_b), b.dial(HOST, at_a))
        await until(lambda: len(a.everyone) == len(b.everyone) == len(a.links) == len(b.links) == 1)
        assert a.links[2].outbound and not b.links[1].outbound
        await asyncio.gather(a.close(), b.close())

    leaving_nothing(run)


def test_a_kept_address_is_dialled_until_it_answers_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_node, "REDIAL_SECONDS", (0.01,))

    async def run() -> None:
        first = TcpNode(config(), number=2)
        port = await first.listen(HOST, 0)
        await first.close()
        a = TcpNode(config(), number=1)
        a.keep(HOST, port)
        b = TcpNode(config(), number=2)
        await asyncio.sleep(0.02)
        assert not a.links
        await b.listen(HOST, port)
        await until(lambda: 2 in a.links)
        b.links[1].close("the test ends it")
        await until(lambda: not a.links)
        await until(lambda: 2 in a.links)
        await asyncio.gather(a.close(), b.close())

    leaving_nothing(run)


# -- bad neighbours -----------------------------------------------------------------------------------------


def hearing(got: list[bytes], protocol: str = "gossipsub-1.2") -> TcpNode:
    return TcpNode(config(protocol), number=1, delivered=lambda topic, data: got.append(data))


BAD_FRAMES = {
    "a frame that is too long": varint(1 << 40),
    "a length that does not end": b"\xff" * 11,
    "bytes that are no RPC": frame(b"\xff\xff\xff\xff"),
}


@pytest.mark.parametrize("bad", BAD_FRAMES)
@pytest.mark.parametrize("protocol", ["gossipsub-1.2", "dog", "cat"])
def test_a_malformed_frame_closes_that_stream_alone(protocol: str, bad: str) -> None:
    async def run() -> None:
        node = TcpNode(config(protocol), number=1)
        port = await node.listen(HOST, 0)
        async with Stranger(2, port, protocol) as good, Stranger(3, port, protocol) as evil:
            good.writer.write(good.hello.frame())
            evil.writer.write(evil.hello.frame() + BAD_FRAMES[bad])
            assert await evil.is_closed()
            await until(lambda: set(node.links) == {2} and len(node.everyone) == 1)
            assert not node.failed.done()
        await until(lambda: not node.everyone)
        await node.close()

    leaving_nothing(run)


BAD_HELLOS = {
    "not JSON": frame(b"hello"),
    "too long": varint(MAX_HELLO_BYTES + 1),
    "another's key": frame(
        TcpHello(number=2, protocol="dog", streams=()).frame()[2:].replace(b":2,", b":3,")
    ),
    "no common stream": TcpHello(number=2, protocol="dog", streams=("mempool",)).frame(),
    "us": TcpHello(number=1, protocol="gossipsub-1.2", streams=("/meshsub/1.2.0",)).frame(),
}


@pytest.mark.parametrize("bad", BAD_HELLOS)
def test_who_does_not_say_who_it_is_gets_nowhere(bad: str) -> None:
    async def run() -> None:
        notes: list[str] = []
        node = TcpNode(config(), number=1, note=notes.append)
        async with Stranger(2, await node.listen(HOST, 0)) as stranger:
            stranger.writer.write(BAD_HELLOS[bad])
            assert await stranger.is_closed()
        await until(lambda: not node.everyone)
        assert not node.links and len(notes) == 1
        await node.close()

    leaving_nothing(run)


def test_silence_and_a_crowd_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_link, "HELLO_SECONDS", 0.05)
    monkeypatch.setattr(tcp_node, "MAX_CONNECTIONS", 2)

    async def run() -> None:
        node = TcpNode(config(), number=1)
        port = await node.listen(HOST, 0)
        async with Stranger(2, port) as silent, Stranger(3, port):
            reader, writer = await asyncio.open_connection(HOST, port)
            assert await reader.read() == b""
            writer.close()
            assert len(node.everyone) == 2
            assert await silent.is_closed()
        await until(lambda: not node.everyone)
        await node.close()

    leaving_nothing(run)


NEWS = frame(Codec(Parameters()).encode([Message("m1", "t", 3)], sender=3))


@pytest.mark.parametrize("little", [b"", frame(b""), b"\x7f"], ids=["nothing", "empty RPCs", "half a frame"])
def test_who_sends_nothing_of_use_gives_way_where_no_place_is_left(
    little: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tcp_node, "MAX_CONNECTIONS", 2)
    monkeypatch.setattr(tcp_node, "IDLE_SECONDS", 0.3)

    async def run() -> None:
        node = TcpNode(config(), number=1)
        node.join("t")
        port = await node.listen(HOST, 0)
        async with Stranger(2, port) as idle, Stranger(3, port) as busy:
            for each in (idle, busy):
                each.writer.write(each.hello.frame())
            await until(lambda: set(node.links) == {2, 3})
            await asyncio.sleep(0.4)
            idle.writer.write(little)
            busy.writer.write(NEWS)
            await asyncio.sleep(0.05)
            async with Stranger(4, port) as late:
                late.writer.write(late.hello.frame())
                await until(lambda: set(node.links) == {3, 4})
        await until(lambda: not node.everyone)
        await node.close()

    leaving_nothing(run)


def test_strangers_leave_places_for_those_who_are_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_node, "MAX_CONNECTIONS", 2)
    monkeypatch.setattr(tcp_node, "MAX_ACCEPTED", 1)

    async def run() -> None:
        node, other = TcpNode(config(), number=1), TcpNode(config(), number=5)
        port = await node.listen(HOST, 0)
        async with Stranger(2, port) as first:
            first.writer.write(first.hello.frame())
            await until(lambda: set(node.links) == {2})
            reader, writer = await asyncio.open_connection(HOST, port)
            assert await reader.read() == b""
            writer.close()
            await node.dial(HOST, await other.listen(HOST, 0))
            await until(lambda: set(node.links) == {2, 5})
        await asyncio.gather(node.close(), other.close())

    leaving_nothing(run)


def test_a_peer_that_sends_much_leaves_others_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames of one read take a while; what another peer sends meanwhile is handled among them."""
    monkeypatch.setattr(tcp_link, "TURN_SECONDS", 0.01)

    async def run() -> None:
        node = TcpNode(config(), number=1)
        handled: list[int] = []

        def slow(link: tcp_link.TcpLink, payload: bytes) -> None:
            until_s = time.monotonic() + 0.002
            while time.monotonic() < until_s:
                pass
            assert link.hello is not None
            handled.append(link.hello.number)

        monkeypatch.setattr(node, "received", slow)
        port = await node.listen(HOST, 0)
        async with Stranger(2, port) as greedy, Stranger(3, port) as modest:
            for each in (greedy, modest):
                each.writer.write(each.hello.frame())
            await until(lambda: set(node.links) == {2, 3})
            greedy.writer.write(frame(b"") * 500)
            await until(lambda: 2 in handled)
            modest.writer.write(frame(b""))
            await until(lambda: handled.count(2) == 500 and 3 in handled)
            assert handled.index(3) < 400, "the other waited for all of them"
        await until(lambda: not node.everyone)
        await node.close()

    leaving_nothing(run)


def test_a_peer_that_does_not_read_is_stalled_and_its_queue_bounded() -> None:
    async def run() -> None:
        node = TcpNode(config(), number=1)
        router = node.core.router  # type: ignore[attr-defined]
        node.join("t")
        async with Stranger(2, await node.listen(HOST, 0)) as deaf:
            subscribe = b"\x0a\x05\x08\x01\x12\x01t"
            deaf.writer.write(deaf.hello.frame() + frame(subscribe))
            await until(lambda: joined_by(node, 2))
            sent = 0
            while sent < 2 * MAX_QUEUED_RPCS or not router.outbox.queued(2):
                node.publish("t", bytes(64 << 10) + sent.to_bytes(4, "big"))
                sent += 1
                assert sent < 4 * MAX_QUEUED_RPCS
                # Frames go to the system between turns, until its buffers are full.
                await asyncio.sleep(0)
            unsent_bytes = node.links[2].unsent_bytes
            assert router.outbox.queued(2) <= MAX_QUEUED_RPCS
            assert tcp_link.HIGH_BYTES < unsent_bytes < tcp_link.HIGH_BYTES + (1 << 20)
            await _read_all(deaf.reader, lambda: not router.outbox.queued(2))
            assert set(node.links) == {2}
        await node.close()

    leaving_nothing(run)


async def _read_all(reader: asyncio.StreamReader, is_done: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not is_done():
            assert await reader.read(1 << 20)


def test_a_peer_that_cannot_be_told_to_wait_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_link, "MAX_UNSENT_BYTES", 1 << 20)

    async def run() -> None:
        notes: list[str] = []
        node = TcpNode(config("cat-classic"), number=1, note=notes.append)
        async with Stranger(2, await node.listen(HOST, 0), "cat-classic") as deaf:
            deaf.writer.write(deaf.hello.frame())
            await until(lambda: 2 in node.links)
            for k in range(400):
                node.submit(bytes(64 << 10) + k.to_bytes(4, "big"))
                await asyncio.sleep(0)
            assert not node.links
            assert "more than 1048576 bytes wait for it" in notes[-1]
        await node.close()

    leaving_nothing(run)


def test_a_router_that_breaks_is_heard_of() -> None:
    async def run() -> None:
        node = TcpNode(config(), number=1)
        router = node.core.router  # type: ignore[attr-defined]
        router.beats.insert(0, lambda: 1 // 0)
        with pytest.raises(tcp_node.NodeFailure, match="ZeroDivisionError"):
            await asyncio.wait_for(node.failed, 5)
        await node.close()

    leaving_nothing(run)


def test_what_no_node_can_be_is_refused() -> None:
    async def run() -> None:
        for number in (0, 1 << 32):
            with pytest.raises(ValueError, match="number is from 1"):
                TcpNode(config(), number=number)
        with pytest.raises(AdapterError, match="does not speak"):
            TcpNode(Config(protocol="gossip"), number=1)
        with pytest.raises(ValueError, match="verdicts"):
            TcpNode(Config(parameters=Parameters(validation="manual")), number=1)
        with pytest.raises(FrameError, match="format"):
            read_hello(b"[]")

    leaving_nothing(run)


# -- two processes ------------------------------------------------------------------------------------------


def node_process(*options: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-X",
        "dev",
        "-W",
        "error",
        "-m",
        "quidnunc.impl.tcp_main",
        "--json",
        *options,
    ]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("protocol", ["gossipsub-1.2", "dog"])
def test_two_processes_join_publish_deliver_and_close(protocol: str) -> None:
    """With warnings as errors: a socket or a task that is left would be told of on stderr."""
    topic = ("--join", "t", "--heartbeat", "100ms") if protocol in PUBSUB else ()
    kind = ("--protocol", protocol, *topic)
    with node_process("--number", "1", "--listen", f"{HOST}:0", "--for", "20s", *kind) as a:
        assert a.stdout is not None
        port = json.loads(a.stdout.readline())["port"]
        with node_process("--number", "2", "--connect", f"{HOST}:{port}", "--for", "20s", *kind) as b:
            assert b.stdin is not None
            b.stdin.write("t hello\n")
            b.stdin.flush()
            heard = json.loads(a.stdout.readline())
            a.terminate()
            b.terminate()
            assert (a.wait(10), b.wait(10)) == (0, 0)
            assert b.stderr is not None and a.stderr is not None
            told = a.stderr.read() + b.stderr.read()
    if protocol in PUBSUB:
        assert heard == {"event": "delivered", "topic": "t", "data": "aGVsbG8="}
    else:
        assert heard["event"] == "pooled"
    assert "peer 1" in told and "peer 2" in told and "Warning" not in told and "Error" not in told


def test_the_command_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (
        ["--number", "1"],
        ["--number", "0", "--listen", "h:1"],
        ["--number", "1", "--listen", "h"],
    ):
        with pytest.raises(SystemExit) as ended:
            tcp_main.main(wrong)
        assert ended.value.code == 2
    assert "--connect" in capsys.readouterr().err
