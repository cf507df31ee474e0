"""A node of ours on TCP: one of our routers, which do no I/O, with sockets, a clock and bounds around it.

Every call of the router is made in the event loop, and answered when the router has come to rest. Two nodes
share one connection, whoever dialled it; where both dial at once, that of the lower number stays.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence

from attrs import evolve

from quidnunc.impl.ours.pubsub import PubsubDriver, open_ours
from quidnunc.impl.seam import Config, Driver, PartialCall, PartialDecision, Reply
from quidnunc.impl.tcp_node.families import connected_family
from quidnunc.impl.tcp_node.link import LINGER_SECONDS, TcpHello, TcpLink, common_stream
from quidnunc.impl.wire.keys import PEER_BITS
from quidnunc.model.rpc import Peer

IDLE_SECONDS = 60.0
"""After so long without anything of use a connection that others made gives way, where no place is left."""
MAX_CONNECTIONS = 256
"""Connections of one node, those without a hello yet included. One more is closed at once."""
MAX_ACCEPTED = 192
"""Of these, connections that others made: strangers leave places for whom we dial."""
TICK_SECONDS = 0.02
"""How often the router is told the time, beside at every event."""
MAX_CATCH_UP_MS = 60_000
"""A process that was stopped for longer goes on as if it had been stopped for so long."""
DIAL_SECONDS = 5.0
REDIAL_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Pauses between attempts to reach an address; the last one over and over."""

Delivered = Callable[[str, bytes], None]


class NodeFailure(Exception):
    """The router broke. Its own words."""


def open_core(config: Config, *, number: Peer) -> Driver:
    """Our router for `config`, with a name of its own and sequence numbers that no run before it had.

    Raises ValueError, or AdapterError as `open_ours` does, for what it cannot run under.
    """
    if getattr(config.parameters, "validation", "") == "manual":
        raise ValueError("a node on TCP gives no verdicts: leave validation='manual' out")
    core = open_ours(evolve(config, identity=number))
    if isinstance(core, PubsubDriver):
        core.router.relay.last_seqno = time.time_ns()
    return core


class TcpNode:
    """One node. `config` is that of the seam; `number` (1 to 2^32 - 1) gives its key, as everywhere here.

    `delivered(topic, data)` is called for each message, `partial` for each call of the application about
    parts, `note` with one line for people about each connection. Use it inside a running event loop: `listen`
    and `keep` first, `close` at the end. Raises as `open_core` does.
    """

    def __init__(
        self,
        config: Config,
        *,
        number: Peer,
        delivered: Delivered = lambda topic, data: None,
        partial: Callable[[PartialCall], None] = lambda call: None,
        note: Callable[[str], None] = lambda line: None,
    ) -> None:
        if not 0 < number < 1 << PEER_BITS:
            raise ValueError(f"a node's number is from 1 to 2^{PEER_BITS} - 1, got {number}")
        self.core = open_core(config, number=number)
        self.family = connected_family(config.protocol)
        streams = self.family.streams(config.protocol)
        self.hello = TcpHello(number=number, protocol=config.protocol, streams=streams)
        parameters = self.family.parameters(config)
        self.frame_bytes_max = self.family.frame_bytes_max(parameters)
        self.links: dict[Peer, TcpLink] = {}
        self.everyone: set[TcpLink] = set()
        """Every connection that is not over, greeted or not."""
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the router broke."""
        self._adjust_ms = self.family.adjust_ms(config.protocol, parameters)
        self._next_adjust_ms = self._adjust_ms
        self._delivered, self._partial, self._note = delivered, partial, note
        self._servers: list[asyncio.Server] = []
        self._now_ms = 0
        self._started = time.monotonic()
        self._is_closing = False
        self._tasks = {asyncio.create_task(self._keep_time())}

    # -- connections -------------------------------------------------------------------------------------

    async def listen(self, host: str, port: int) -> int:
        """Take connections there; the port, which the system chooses where 0 is given."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: TcpLink(self, outbound=False), host, port)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def dial(self, host: str, port: int) -> TcpLink:
        """One attempt. Raises OSError or TimeoutError where nobody answers."""
        loop = asyncio.get_running_loop()
        made = loop.create_connection(lambda: TcpLink(self, outbound=True), host, port)
        return (await asyncio.wait_for(made, DIAL_SECONDS))[1]

    def keep(self, host: str, port: int) -> None:
        """Stay connected to that address: dial until somebody answers, and again when they are gone."""
        task = asyncio.create_task(self._keep_connected(host, port))
        self._tasks.add(task)

    async def _keep_connected(self, host: str, port: int) -> None:
        attempt = 0
        while not self._is_closing:
            try:
                link = await self.dial(host, port)
            except (OSError, TimeoutError) as error:
                self._note(f"{host}:{port}: {error}")
            else:
                await link.gone
                attempt = 0 if link.hello is not None else attempt
                while self._is_linked(link):
                    # Another connection to the same peer stayed: this address is served.
                    await self.links[self._number_of(link)].gone
            await asyncio.sleep(REDIAL_SECONDS[min(attempt, len(REDIAL_SECONDS) - 1)])
            attempt += 1

    def _is_linked(self, link: TcpLink) -> bool:
        return link.hello is not None and link.hello.number in self.links

    def _number_of(self, link: TcpLink) -> Peer:
        return -1 if link.hello is None else link.hello.number

    async def close(self) -> None:
        """Take no more, write what is left, and be gone: no task and no socket stays."""
        self._is_closing = True
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        links = list(self.everyone)
        for link in links:
            link.close("we close")
        if links:
            await asyncio.wait([link.gone for link in links], timeout=2 * LINGER_SECONDS)
        for server in self._servers:
            await server.wait_closed()
        self.core.close()
        if not self.failed.cancel() and not self.failed.cancelled():
            # Whoever closes after a failure has heard of it.
            self.failed.exception()

    # -- what connections tell (`link.Owner`) --------------------------------------------------------

    def made(self, link: TcpLink) -> bool:
        if self._is_closing:
            return False
        accepted = [each for each in self.everyone if not each.outbound]
        is_full = not link.outbound and len(accepted) >= MAX_ACCEPTED
        if is_full or len(self.everyone) >= MAX_CONNECTIONS:
            idlest = min(accepted, key=lambda each: each.useful_s, default=None)
            if idlest is None or time.monotonic() - idlest.useful_s < IDLE_SECONDS:
                return False
            idlest.give_up("nothing of use came from it, and its place is wanted")
        self.everyone.add(link)
        return True

    def greeted(self, link: TcpLink, hello: TcpHello) -> None:
        stream = common_stream(self.hello.streams, hello.streams)
        if hello.number == self.hello.number:
            link.close("it says that it is us")
        elif stream is None:
            link.close(f"it speaks {hello.protocol}, with no stream of ours")
        elif self._is_second(link, hello.number):
            link.close("another connection to it stays")
        else:
            self._note(f"peer {hello.number} ({hello.protocol}) over {stream}")
            self.links[hello.number] = link
            self._run(lambda: self.core.connect(hello.number, stream, link.outbound))

    def _is_second(self, link: TcpLink, number: Peer) -> bool:
        """Of two connections that of the lower number stays; of two of one dialler, the newer."""
        other = self.links.get(number)
        if other is None:
            return False
        lower_dialled = link.outbound == (self.hello.number < number)
        if link.outbound != other.outbound and not lower_dialled:
            return True
        other.close("a newer connection takes its place")
        return False

    def received(self, link: TcpLink, payload: bytes) -> None:
        number = self._number_of(link)
        reply = self._run(lambda: self.family.receive(self.core, number, payload))
        if reply.out or reply.delivered:
            link.useful_s = time.monotonic()

    def stalled(self, link: TcpLink, is_stalled: bool) -> None:
        if "stall" in self.core.hello.capabilities and self.links.get(self._number_of(link)) is link:
            act = self.core.stall if is_stalled else self.core.resume
            self._run(lambda: act(self._number_of(link)))

    def closing(self, link: TcpLink, reason: str) -> None:
        number = self._number_of(link)
        self._note(f"{'a stranger' if number < 0 else f'peer {number}'}: {reason}")
        if self.links.get(number) is link:
            del self.links[number]
            self._run(lambda: self.core.disconnect(number))

    def lost(self, link: TcpLink) -> None:
        self.everyone.discard(link)

    # -- the application ---------------------------------------------------------------------------------

    def join(self, topic: str, *, requests: bool = False, supports: bool = False) -> None:
        """`requests` and `supports` are of partial messages."""
        core = self.core
        if (requests or supports) and isinstance(core, PubsubDriver):
            self._run(lambda: core.join_partial(topic, requests, supports))
        else:
            self._run(lambda: core.join(topic))

    def leave(self, topic: str) -> None:
        self._run(lambda: self.core.leave(topic))

    def publish(self, topic: str, data: bytes) -> None:
        """Raises ValueError where the message is longer than a message may be."""
        if (
            isinstance(self.core, PubsubDriver)
            and len(data) > self.core.router.core.parameters.max_message_bytes
        ):
            raise ValueError(f"a message of {len(data)} bytes in {topic!r} is too long")
        self._run(lambda: self.core.publish(topic, data))

    def publish_partial(self, topic: str, group: bytes, decisions: Sequence[PartialDecision]) -> None:
        """Raises TypeError where the protocol has no partial messages."""
        core = self.core
        if not isinstance(core, PubsubDriver) or "partial" not in core.hello.capabilities:
            raise TypeError(f"{self.hello.protocol} has no partial messages")
        self._run(lambda: core.publish_partial(topic, group, decisions))

    def submit(self, tx: bytes) -> None:
        """A transaction from a user, to a mempool."""
        self._run(lambda: self.core.submit(tx))

    def commit(self, tx: bytes) -> None:
        self._run(lambda: self.core.commit(tx))

    def state(self) -> dict[str, object]:
        """What the router says of itself, for people to read."""
        return self.core.state().state

    # -- the router --------------------------------------------------------------------------------------

    def _run(self, act: Callable[[], Reply]) -> Reply:
        """Tell the router the time, then let it act, and do what it says."""
        self._do(self._catch_up())
        reply = act()
        self._do((reply,))
        return reply

    def _catch_up(self) -> Iterable[Reply]:
        """Let the router's clock go on to that of the machine, and DOG's controller take its turns."""
        passed_ms = int((time.monotonic() - self._started) * 1000) - self._now_ms
        if passed_ms > MAX_CATCH_UP_MS:
            self._started += (passed_ms - MAX_CATCH_UP_MS) / 1000
            passed_ms = MAX_CATCH_UP_MS
        end_ms = self._now_ms + max(passed_ms, 0)
        while self._adjust_ms and self._next_adjust_ms <= end_ms:
            # Noted before the router acts, as what it says may make a peer stall, which leads back here.
            due_ms, self._next_adjust_ms = self._next_adjust_ms, self._next_adjust_ms + self._adjust_ms
            yield self._advance_to(due_ms)
            yield self.core.adjust()
        if end_ms > self._now_ms:
            yield self._advance_to(end_ms)

    def _advance_to(self, end_ms: int) -> Reply:
        ms, self._now_ms = max(end_ms - self._now_ms, 0), max(end_ms, self._now_ms)
        return self.core.advance(ms)

    def _do(self, replies: Iterable[Reply]) -> None:
        for reply in replies:
            if reply.crashed and not self.failed.done():
                self.failed.set_exception(NodeFailure(reply.crashed))
            for peer, channel, data in reply.out:
                link = self.links.get(peer)
                if link is not None:
                    link.send(self.family.frame(channel, data))
            for peer in reply.closed:
                if peer in self.links:
                    self.links[peer].close("what it sent is no message")
            for each in reply.delivered:
                self._delivered(each.topic, each.data)
            for call in reply.partial:
                self._partial(call)

    async def _keep_time(self) -> None:
        try:
            while True:
                await asyncio.sleep(TICK_SECONDS)
                self._do(self._catch_up())
        except Exception as error:
            if not self.failed.done():
                self.failed.set_exception(error)
