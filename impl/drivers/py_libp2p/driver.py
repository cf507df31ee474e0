"""The released py-libp2p as a router under test: in process, in virtual time, repeatable from the seed.

Its own decoder, signatures, queues and read loop run on a host without a network. Equal seed and requests
give equal outputs, across processes where PYTHONHASHSEED is fixed (the router keeps its peers in sets).

What the driver does that a network would: a peer whose stream the router resets drops its connection, and
says nothing more until it is connected again; an exception that leaves the router's stream handler is a
crash, as it takes the whole host down in every release.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

from attrs import define, field

from quidnunc.impl.drivers.py_libp2p.host import FakeHost, HostConnection, identity
from quidnunc.impl.drivers.py_libp2p.loop import EPOCH_S, Lockstep
from quidnunc.impl.drivers.py_libp2p.release import (
    MESSAGE_IDS,
    InstalledRelease,
    installed_release,
    replaced_methods,
    switched_off,
)
from quidnunc.impl.seam import AdapterError, Config, Delivery, Driver, Hello, Reply, parameters_of
from quidnunc.impl.wire.framing import frame
from quidnunc.model.events import Judgement
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Peer

NAME = "py-libp2p"
PACKAGE = "libp2p"
"""Of Python, where its own functions are."""

WITHOUT_EXPLICIT_PEERS = ("floodsub", "gossipsub-1.0")

CRASH_TEXT_MAX = 200
"""Characters of the router's own words that a reply repeats."""


def open_py_libp2p(config: Config) -> Driver:
    """One router of the installed release, started, at time 0 with no peers.

    Raises AdapterError where libp2p is absent, does not speak `config.protocol`, or `config` is a mempool's.
    """
    return PyLibp2pDriver(installed_release(), config)


@define(eq=False)
class _WaitingCopies:
    """Copies of one message that wait for the same verdict."""

    decided: Any
    accepted: bool = False


@define(eq=False)
class PyLibp2pDriver:
    """See `quidnunc.impl.seam.Driver`. A verdict on a message that waits for none, or for whom none waits, is
    without effect: the router may have dropped it on other grounds."""

    release: InstalledRelease
    config: Config
    hello: Hello = field(init=False)
    parameters: Parameters = field(init=False)
    _host: FakeHost = field(init=False)
    _router: Any = field(init=False)
    _pubsub: Any = field(init=False)
    _loop: Lockstep = field(init=False)
    _scores: dict[Any, float] = field(factory=dict)
    _waiting: dict[bytes, _WaitingCopies] = field(factory=dict)
    _delivered: list[Delivery] = field(factory=list)
    _gone: set[Peer] = field(factory=set)
    """Peers that the router hung up on, until they are disconnected or connected anew."""
    _crashed: str = ""
    _is_open: bool = True

    def __attrs_post_init__(self) -> None:
        self.parameters = parameters_of(self.config, Parameters, NAME)
        release = self.release
        can = {"verdict", "state", "clock", "stall", "explicit", "raw", "identity"}
        if release.has_scores and self.config.protocol != "floodsub":
            can.add("score")
        if self.config.protocol in WITHOUT_EXPLICIT_PEERS or not release.has_explicit_peers:
            can.discard("explicit")
        can |= release.key_types
        on_offer = () if self.config.protocol == "floodsub" else release.additions
        self.hello = Hello(
            name=NAME,
            version=release.version,
            protocols=release.protocols,
            capabilities=frozenset(can),
            fixed=release.fixed(self.config, self.parameters),
            additions={each.name: each.says for each in on_offer},
            switched=release.switched(self.config),
        )
        release.streams(self.config.protocol)
        self._loop = Lockstep(self._main, seed=self.config.seed)
        self._check_crash()
        if self._crashed:
            raise AdapterError(f"py-libp2p {release.version} does not start: {self._crashed}")

    async def _main(self, nursery: Any) -> None:
        """Build the router and serve it until cancelled: inside the loop, where its clock is in force."""
        self._host = FakeHost(
            self.release.kit, failed=self._fail, spawn=nursery.start_soon, own=self.config.identity
        )
        self._router = self.release.router(self._host, self.parameters, self._score_of, self.config)
        self._pubsub = self.release.attached(self._host, self._router, self.parameters, self.config)
        if self.release.forgets_seen:
            nursery.start_soon(self._sweep, self._pubsub.seen_messages)
        async with AsyncExitStack() as services:
            await services.enter_async_context(self.release.service(self._pubsub))
            await self._pubsub.wait_until_ready()
            if hasattr(self._router, "run"):
                await services.enter_async_context(self.release.service(self._router))
            await self.release.kit.trio.sleep_forever()

    async def _sweep(self, cache: Any) -> None:
        """The cache of seen ids forgets in sweeps, which it would make in a thread, in real time."""
        while True:
            await self.release.kit.trio.sleep(cache.sweep_interval)
            cache._sweep()

    # Requests of the seam.

    def connect(self, peer: Peer, protocol: str, outbound: bool) -> Reply:
        offered = self.release.streams(self.config.protocol)
        if protocol not in offered:
            raise self._wrong("connect", peer, f"no protocol in common: it offers {', '.join(offered)}")
        if peer in self._host.connections:
            raise self._wrong("connect", peer, "it is connected; disconnect it first")
        if peer == self.config.identity:
            raise self._wrong("connect", peer, "that is the router itself")
        self._gone.discard(peer)
        connection = self._host.open(peer, protocol, outbound)
        self._loop.spawn(self._serve, connection)
        return self._do(self._host.network.notifee.connected, self._host.network, connection)

    def disconnect(self, peer: Peer) -> Reply:
        connection = self._connection("disconnect", peer)
        self._gone.discard(peer)
        if connection is None:
            return self._settled()
        with self._loop.turning():
            self._host.drop(connection)
        return self._do(self._host.network.notifee.disconnected, self._host.network, connection)

    def stall(self, peer: Peer) -> Reply:
        connection = self._connection("stall", peer)
        if connection is not None and not connection.is_stalled:
            connection.is_stalled, connection.resumed = True, self.release.kit.trio.Event()
        return self._settled()

    def resume(self, peer: Peer) -> Reply:
        connection = self._connection("resume", peer)
        if connection is not None and connection.is_stalled:
            connection.is_stalled = False
            with self._loop.turning():
                connection.resumed.set()
        return self._settled()

    def rpc(self, peer: Peer, data: bytes, channel: int = 0) -> Reply:
        if channel != 0:
            raise self._wrong("rpc", peer, f"channel {channel:#x}: a pubsub router has channel 0 alone")
        return self._feed("rpc", peer, frame(data))

    def raw(self, peer: Peer, data: bytes) -> Reply:
        return self._feed("raw", peer, data)

    def join(self, topic: str) -> Reply:
        self._judged(topic)
        return self._do(self._subscribe, topic)

    def leave(self, topic: str) -> Reply:
        return self._do(self._pubsub.unsubscribe, topic)

    def publish(self, topic: str, data: bytes) -> Reply:
        self._judged(topic)
        return self._do(self._pubsub.publish, topic, data)

    def verdict(self, message_id: bytes, judgement: Judgement) -> Reply:
        waiting = self._waiting.pop(message_id, None)
        if waiting is not None:
            waiting.accepted = judgement == "accept"
            with self._loop.turning():
                waiting.decided.set()
        return self._settled()

    def score(self, peer: Peer, value: int) -> Reply:
        if "score" not in self.hello.capabilities:
            raise self._wrong("score", peer, "this release takes no score from its application")
        self._scores[identity(self.release.kit, peer)] = float(value)
        return self._settled()

    def advance(self, ms: int) -> Reply:
        if ms < 0:
            raise AdapterError(f"py-libp2p, advance {ms}: time in ms cannot be negative")
        self._loop.advance(ms)
        return self._reply()

    def submit(self, tx: bytes) -> Reply:
        raise self._mempool("submit")

    def commit(self, tx: bytes) -> Reply:
        raise self._mempool("commit")

    def adjust(self) -> Reply:
        raise self._mempool("adjust")

    def state(self) -> Reply:
        """`mesh` and `fanout` by topic, `backoff_s` by topic and peer, `topics`, `peers`, `waiting` message
        ids in hexadecimal, `additions_off`."""
        router, number = self._router, self._host.number_of
        now_s = EPOCH_S + self._loop.world.clock.now_s
        backoffs = getattr(router, "back_off", {})
        state: dict[str, object] = {
            "topics": sorted(self._pubsub.topic_ids),
            "peers": sorted(self._host.connections),
            "mesh": self._by_topic(getattr(router, "mesh", {})),
            "fanout": self._by_topic(getattr(router, "fanout", {})),
            "backoff_s": {
                topic: {str(number(peer)): until_s - now_s for peer, until_s in peers.items()}
                for topic, peers in sorted(backoffs.items())
            },
            "waiting": sorted(message_id.hex() for message_id in self._waiting),
            "additions_off": switched_off(router),
        }
        return Reply(t_ms=self._loop.now_ms, crashed=self._crashed, state=state)

    def setup(self) -> dict[str, Any]:
        """How the router was made, in values that a program can be written of: arguments of GossipSub,
        ScoreParams and Pubsub, methods that were replaced, explicit peers, the id function."""
        release, config, parameters = self.release, self.config, self.parameters
        flood = config.protocol == "floodsub"
        methods: dict[str, Any] = {}
        for each in release.off(config):
            methods |= replaced_methods(release.gossipsub.GossipSub, each)
        return {
            "streams": list(release.streams(config.protocol)),
            "router": {} if flood else release.arguments(parameters, config),
            "scores": {} if flood or not release.has_scores else release.thresholds(parameters),
            "service": release.service_arguments(parameters),
            "methods": methods,
            "explicit": [] if flood else sorted(parameters.explicit_peers),
            "message_id": parameters.message_id,
            "asks": parameters.validation == "manual",
            "sweeps": release.forgets_seen,
        }

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._loop.close()

    # What the requests are made of.

    def _by_topic(self, peers: dict[str, Any]) -> dict[str, list[int]]:
        number = self._host.number_of
        return {t: sorted(n for p in ids if (n := number(p)) is not None) for t, ids in sorted(peers.items())}

    def _connection(self, request: str, peer: Peer) -> HostConnection | None:
        """Its connection; None where the router has hung up on it. Raises AdapterError for a stranger."""
        connection = self._host.connections.get(peer)
        if connection is None and peer not in self._gone and not self._crashed:
            raise self._wrong(request, peer, "no such peer; connect it first")
        return connection

    def _feed(self, request: str, peer: Peer, data: bytes) -> Reply:
        connection = self._connection(request, peer)
        if connection is not None and connection.inbound is not None:
            with self._loop.turning():
                connection.inbound.feed(data)
        return self._settled()

    def _do(self, function: Callable[..., Awaitable[object]], *arguments: object) -> Reply:
        self._loop.spawn(self._call, function, arguments)
        return self._settled()

    async def _call(self, function: Callable[..., Awaitable[object]], arguments: tuple[object, ...]) -> None:
        try:
            await function(*arguments)
        except Exception as error:
            self._fail(error)

    async def _serve(self, connection: HostConnection) -> None:
        handler = self._host.handlers[connection.protocol]
        try:
            await handler(connection.inbound)
        except Exception as error:
            self._fail(error)

    async def _subscribe(self, topic: str) -> None:
        trio = self.release.kit.trio
        is_new = topic not in self._pubsub.topic_ids
        subscription = await self._pubsub.subscribe(topic)
        while is_new:
            try:
                message = await subscription.get()
            except trio.EndOfChannel:
                return
            self._delivered.append(Delivery(topic=topic, data=bytes(message.data)))

    def _judged(self, topic: str) -> None:
        if self.parameters.validation == "manual":
            self._pubsub.set_topic_validator(topic, self._judge, True)

    async def _judge(self, forwarder: Any, message: Any) -> bool:
        """The application's validator. It wrote its own messages and has nothing to ask about them."""
        if forwarder == self._host.get_id():
            return True
        message_id = MESSAGE_IDS[self.parameters.message_id](message)
        waiting = self._waiting.setdefault(message_id, _WaitingCopies(self.release.kit.trio.Event()))
        await waiting.decided.wait()
        return waiting.accepted

    def _score_of(self, peer_id: Any) -> float:
        return self._scores.get(peer_id, 0.0)

    def _fail(self, error: BaseException) -> None:
        """The router failed: keep its words. Nothing of it runs any further."""
        self._crashed = self._crashed or crash_text(error)
        self._loop.stop()

    def _check_crash(self) -> None:
        if self._loop.failure is not None:
            self._crashed = self._crashed or crash_text(self._loop.failure)

    def _settled(self) -> Reply:
        self._loop.settle()
        return self._reply()

    def _reply(self) -> Reply:
        self._check_crash()
        host = self._host
        reply = Reply(
            t_ms=self._loop.now_ms,
            out=tuple(host.out),
            delivered=tuple(self._delivered),
            dials=tuple(host.dials),
            closed=tuple(host.closed),
            crashed=self._crashed,
        )
        self._gone.update(host.closed)
        for seen in (host.out, self._delivered, host.dials, host.closed):
            seen.clear()
        return reply

    def _wrong(self, request: str, peer: Peer, why: str) -> AdapterError:
        return AdapterError(f"py-libp2p, {request} peer {peer} at {self._loop.now_ms} ms: {why}")

    def _mempool(self, request: str) -> AdapterError:
        return AdapterError(f"py-libp2p: {request!r} is a request to a mempool; a pubsub router has no pool")


def crash_text(error: BaseException) -> str:
    """`TYPE in PLACE: WORDS` of the first exception that is no mere group, less bytes that a peer may have
    sent. The place is the innermost function of the router's own package; without one, there is none."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    own = [f for f in frames if str(f.f_globals.get("__name__", "")).startswith(f"{PACKAGE}.")]
    place = f" in {own[-1].f_globals['__name__']}.{own[-1].f_code.co_qualname}" if own else ""
    words = re.sub(r"""b(['"]).*?\1|\\x[0-9a-f]{2}|\b[0-9a-f]{16,}\b""", "...", str(error).partition("\n")[0])
    return f"{type(error).__name__}{place}: {words}"[:CRASH_TEXT_MAX].rstrip(": ")
