"""A libp2p host without a network: what py-libp2p's pubsub asks of a host, its streams and its connections.

The router's own read loop, decoder and queues run on these streams; the bytes it writes are kept as it wrote
them, less the length prefix.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from attrs import define, field, frozen

from quidnunc.impl.seam import AdapterError
from quidnunc.impl.wire import keys
from quidnunc.impl.wire.framing import FrameDecoder
from quidnunc.model.rpc import ROUTER, Peer

UNREAD_BYTES_MAX = 64 << 20
"""Of one stream whose reader has stopped; beyond it the driver refuses to feed more."""

FRAME_BYTES_MAX = 64 << 20
"""Of one frame that the router writes."""

PEERS_MAX = 4096
"""How far a peer id is looked for among the known keys, when the router dials someone not yet seen."""


@frozen(eq=False)
class HostLibrary:
    """The names of libp2p that the fake host is made with; they moved between releases. One a process."""

    trio: Any
    private_key: Callable[[Peer], Any]
    """Of the router, which is that peer."""
    peer_id: Callable[[bytes], Any]
    peer_info: Callable[[Any, list[Any]], Any]
    address: Callable[[str], Any]
    peer_store: Callable[[], Any]
    end_of_stream: type[Exception]
    stream_closed: type[Exception]
    cannot_connect: type[Exception]


@lru_cache(maxsize=PEERS_MAX)
def identity(kit: HostLibrary, peer: Peer) -> Any:
    """The ID of `peer`, as libp2p's own object. Raises AdapterError where there is no such peer."""
    try:
        return kit.peer_id(keys.peer_id(peer))
    except ValueError as error:
        raise AdapterError(f"py-libp2p: {error}") from error


def address_of(peer: Peer) -> str:
    """Each peer has an IP of its own: routers that count peers per address must find nothing to count."""
    return f"10.{peer >> 16 & 255}.{peer >> 8 & 255}.{peer & 255}"


@define(eq=False)
class HostConnection:
    """Of one peer: what `get_connections` shows, and both streams."""

    peer: Peer
    protocol: str
    outbound: bool
    muxed_conn: Any
    inbound: InStream | None = None
    is_stalled: bool = False
    resumed: Any = None
    """A trio Event while the peer does not read."""


class InStream:
    """The peer's stream to the router. What is fed to it the router's read loop reads."""

    metric_send_channel = None

    def __init__(self, host: FakeHost, connection: HostConnection) -> None:
        self.muxed_conn = connection.muxed_conn
        self._host, self._connection = host, connection
        self._buffer = bytearray()
        self._arrived = host.kit.trio.Event()
        self._ended = False

    def get_protocol(self) -> str:
        return self._connection.protocol

    def set_protocol(self, protocol: str) -> None:
        self._connection.protocol = protocol

    def feed(self, data: bytes) -> None:
        if len(self._buffer) + len(data) > UNREAD_BYTES_MAX:
            raise AdapterError(
                f"py-libp2p: {len(self._buffer)} bytes from peer {self._connection.peer} to the router are "
                "unread: its read loop has stopped; disconnect the peer"
            )
        self._buffer += data
        self._wake()

    def end(self) -> None:
        self._ended = True
        self._wake()

    async def read(self, n: int | None = None) -> bytes:
        while not self._buffer:
            if self._ended:
                raise self._host.kit.end_of_stream("the peer closed its stream")
            await self._arrived.wait()
        size = len(self._buffer) if n is None or n < 0 else n
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    async def write(self, data: bytes) -> None:
        # The protocol writes on its own outbound stream alone; the kit counts writing here as a breach.
        self._host.failed(RuntimeError("the router wrote on the stream that its peer had opened"))

    async def close(self) -> None:
        await self.reset()

    async def reset(self) -> None:
        self._host.hang_up(self._connection)

    def _wake(self) -> None:
        self._arrived.set()
        self._arrived = self._host.kit.trio.Event()


class OutStream:
    """The router's stream to the peer. Each frame it writes becomes one output."""

    metric_send_channel = None

    def __init__(self, host: FakeHost, connection: HostConnection) -> None:
        self.muxed_conn = connection.muxed_conn
        self._host, self._connection = host, connection
        self._frames = FrameDecoder(max_bytes=FRAME_BYTES_MAX)

    def get_protocol(self) -> str:
        return self._connection.protocol

    async def write(self, data: bytes) -> None:
        connection, host = self._connection, self._host
        while connection.is_stalled and host.has(connection):
            await connection.resumed.wait()
        if not host.has(connection):
            raise host.kit.stream_closed(f"the connection with peer {connection.peer} is gone")
        payloads, wrong = self._frames.feed(data)
        host.out.extend((connection.peer, 0, payload) for payload in payloads)
        if wrong is not None:
            host.failed(wrong)
        await host.kit.trio.lowlevel.checkpoint()

    async def close(self) -> None:
        await self.reset()

    async def reset(self) -> None:
        self._host.hang_up(self._connection)


@define(eq=False)
class HostNetwork:
    """The part of a swarm that pubsub uses: who is connected, and whom to tell."""

    host: FakeHost
    notifee: Any = None

    def register_notifee(self, notifee: Any) -> None:
        self.notifee = notifee

    def get_connections(self, peer_id: Any = None) -> list[HostConnection]:
        live = self.host.connections.values()
        return [c for c in live if peer_id is None or c.muxed_conn.peer_id == peer_id]


@define(eq=False)
class FakeHost:
    """Peer `own`. Keeps what the router did since the last reply in `out`, `dials` and `closed`."""

    kit: HostLibrary
    failed: Callable[[Exception], None]
    """Told of what the router must never do."""
    spawn: Callable[..., None]
    own: Peer = ROUTER
    connections: dict[Peer, HostConnection] = field(factory=dict)
    out: list[tuple[Peer, int, bytes]] = field(factory=list)
    dials: list[Peer] = field(factory=list)
    closed: list[Peer] = field(factory=list)
    handlers: dict[str, Any] = field(factory=dict)
    network: HostNetwork = field(init=False)
    peer_store: Any = field(init=False)
    addresses: list[Any] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.network = HostNetwork(self)
        self.peer_store = self.kit.peer_store()
        self.addresses = [self.kit.address(f"/ip4/{address_of(self.own)}/tcp/4001/p2p/{self.get_id()}")]

    def get_id(self) -> Any:
        return identity(self.kit, self.own)

    def get_private_key(self) -> Any:
        return self.kit.private_key(self.own)

    def get_public_key(self) -> Any:
        return self.get_private_key().get_public_key()

    def get_network(self) -> HostNetwork:
        return self.network

    def get_peerstore(self) -> Any:
        return self.peer_store

    def get_addrs(self) -> list[Any]:
        return self.addresses

    def get_live_peers(self) -> list[Any]:
        return [c.muxed_conn.peer_id for c in self.connections.values()]

    def set_stream_handler(self, protocol: str, handler: Any) -> None:
        self.handlers[protocol] = handler

    async def connect(self, info: Any) -> None:
        """The router dials. Whether the peer answers is the harness's to say, by a connect request."""
        peer = self.number_of(info.peer_id)
        if peer is not None:
            self.dials.append(peer)
        await self.kit.trio.lowlevel.checkpoint()

    async def disconnect(self, peer_id: Any) -> None:
        for connection in self.network.get_connections(peer_id):
            self.hang_up(connection)

    async def new_stream(self, peer_id: Any, protocols: Any) -> OutStream:
        for connection in self.network.get_connections(peer_id):
            if connection.protocol in protocols:
                await self.kit.trio.lowlevel.checkpoint()
                return OutStream(self, connection)
        raise self.kit.cannot_connect(f"no connection with {peer_id} that speaks one of {list(protocols)}")

    def number_of(self, peer_id: Any) -> Peer | None:
        """The number of a peer by its ID; None for one that is nobody's among the first 4,096."""
        known = keys.peer_of(peer_id.to_bytes())
        for peer in range(PEERS_MAX if known is None else 0):
            if keys.peer_id(peer) == peer_id.to_bytes():
                return peer
        return known

    def info_of(self, peer: Peer) -> Any:
        address = self.kit.address(f"/ip4/{address_of(peer)}/tcp/4001")
        return self.kit.peer_info(identity(self.kit, peer), [address])

    def open(self, peer: Peer, protocol: str, outbound: bool) -> HostConnection:
        """Both ends are up: the connection, with the peer's stream on it."""
        peer_id = identity(self.kit, peer)
        wire = SimpleNamespace(remote_addr=(address_of(peer), 4001), is_initiator=outbound)
        muxed = SimpleNamespace(peer_id=peer_id, conn=wire, is_initiator=outbound, is_closed=False)
        connection = HostConnection(peer, protocol, outbound, muxed)
        connection.inbound = InStream(self, connection)
        self.connections[peer] = connection
        return connection

    def has(self, connection: HostConnection) -> bool:
        return self.connections.get(connection.peer) is connection

    def drop(self, connection: HostConnection) -> None:
        """The connection is gone, on whichever side's account; its streams end."""
        self.connections.pop(connection.peer, None)
        connection.muxed_conn.is_closed = True
        if connection.inbound is not None:
            connection.inbound.end()
        if connection.resumed is not None:
            connection.resumed.set()

    def hang_up(self, connection: HostConnection) -> None:
        """The router reset a stream. A peer without its stream has no use for the connection and drops it."""
        if self.has(connection):
            self.closed.append(connection.peer)
            self.drop(connection)
            self.spawn(self.network.notifee.disconnected, self.network, connection)
