"""One TCP connection of a node: the hello in front, frames after it, and bounds on what waits.

The hello is one frame of JSON that names who speaks what. It proves nothing: the keys of this kit follow from
public integers. This is not libp2p's security, and a node belongs on a network that is trusted.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from typing import Protocol, cast

from attrs import frozen

from quidnunc.impl.wire.framing import FrameDecoder, FrameError, frame
from quidnunc.impl.wire.keys import PEER_BITS, peer_id
from quidnunc.model.rpc import Peer

FORMAT = 1
MAX_HELLO_BYTES = 1024
HELLO_SECONDS = 5.0
"""How long a connection may take to say who it is."""
TURN_SECONDS = 0.01
"""How long the frames of one peer are handled before others have their turn."""
LINGER_SECONDS = 2.0
"""How long a connection that is being closed may take to write what is left."""
HIGH_BYTES = 256 << 10
"""Unsent bytes from which on a peer counts as one that does not read."""
LOW_BYTES = 64 << 10
"""Unsent bytes from which down it reads again."""
MAX_UNSENT_BYTES = 64 << 20
"""Unsent bytes at which a connection is given up: a router that is told of a stalled peer stops before."""


@frozen(kw_only=True)
class TcpHello:
    """Who is at the other end, by its own account."""

    number: Peer
    protocol: str
    streams: tuple[str, ...]
    """What it speaks, in the order of preference, the best last."""

    def frame(self) -> bytes:
        said = {
            "quidnunc": FORMAT,
            "number": self.number,
            "id": peer_id(self.number).hex(),
            "protocol": self.protocol,
            "streams": list(self.streams),
        }
        return frame(json.dumps(said, separators=(",", ":")).encode())


def read_hello(payload: bytes) -> TcpHello:
    """Raises FrameError where the bytes are no hello, or its peer id is not that of its number."""
    try:
        said = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"{len(payload)} bytes are no hello: {error}") from error
    if not isinstance(said, dict) or said.get("quidnunc") != FORMAT:
        raise FrameError(f"a hello names its format as quidnunc: {FORMAT}")
    number, protocol, streams = said.get("number"), said.get("protocol"), said.get("streams")
    if type(number) is not int or not 0 < number < 1 << PEER_BITS:
        raise FrameError(f"a hello needs a number from 1 to 2^{PEER_BITS} - 1")
    if said.get("id") != peer_id(number).hex():
        raise FrameError(f"the peer id in the hello is not that of peer {number}")
    if not isinstance(protocol, str) or not isinstance(streams, list):
        raise FrameError("a hello needs a protocol and a list of streams")
    return TcpHello(
        number=number, protocol=protocol, streams=tuple(each for each in streams if isinstance(each, str))
    )


class LinkOwner(Protocol):
    """What a connection asks of the node that it belongs to."""

    hello: TcpHello
    frame_bytes_max: int

    def made(self, link: TcpLink) -> bool:
        """Whether there is room for one connection more."""
        ...

    def greeted(self, link: TcpLink, hello: TcpHello) -> None:
        """The peer has said who it is. Closes the connection where it is not welcome."""
        ...

    def received(self, link: TcpLink, payload: bytes) -> None: ...
    def stalled(self, link: TcpLink, is_stalled: bool) -> None: ...
    def closing(self, link: TcpLink, reason: str) -> None: ...
    def lost(self, link: TcpLink) -> None: ...


class TcpLink(asyncio.Protocol):
    """One connection, from accept or dial to its end. Holds no task: the event loop calls it."""

    def __init__(self, owner: LinkOwner, *, outbound: bool) -> None:
        self.owner = owner
        self.outbound = outbound
        self.hello: TcpHello | None = None
        self.is_open = False
        """Whether the peer has been greeted, and the connection not been given up."""
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._told = False
        self._head = bytearray()
        self.useful_s = time.monotonic()
        """When it was made, or last sent what the router made something of."""
        self._waiting: deque[bytes] = deque()
        self._error: FrameError | None = None
        self._frames = FrameDecoder(max_bytes=owner.frame_bytes_max)

    # -- what the event loop calls -----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = made = cast("asyncio.Transport", transport)
        made.set_write_buffer_limits(high=HIGH_BYTES, low=LOW_BYTES)
        if not self.owner.made(self):
            made.abort()
            return
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(HELLO_SECONDS, lambda: self.close("no hello came in time"))
        made.write(self.owner.hello.frame())

    def data_received(self, data: bytes) -> None:
        rest = data if self.is_open else self._greet(data)
        if not self.is_open:
            return
        payloads, error = self._frames.feed(rest)
        self._waiting += payloads
        self._error = self._error or error
        self._handle_some()

    def _handle_some(self) -> None:
        """Handle frames for a while; what is left waits its turn, and the peer with it."""
        if self._transport is None or not self.is_open:
            return
        until_s = time.monotonic() + TURN_SECONDS
        while self._waiting and time.monotonic() < until_s:
            self.owner.received(self, self._waiting.popleft())
            if not self.is_open:
                return
        if self._waiting:
            self._transport.pause_reading()
            asyncio.get_running_loop().call_soon(self._handle_some)
        elif self._error is not None:
            self.close(str(self._error))
        else:
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        self.owner.stalled(self, True)

    def resume_writing(self) -> None:
        self.owner.stalled(self, False)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._closing("the other end closed" if exc is None else str(exc))
        self._transport = None
        self.owner.lost(self)
        if not self.gone.done():
            self.gone.set_result(None)

    # -- what the node calls -----------------------------------------------------------------------------

    @property
    def unsent_bytes(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def send(self, payload: bytes) -> None:
        """One frame. A peer for whom too much waits is given up."""
        if self._transport is None or not self.is_open:
            return
        if self.unsent_bytes + len(payload) > MAX_UNSENT_BYTES:
            self.give_up(f"more than {MAX_UNSENT_BYTES} bytes wait for it")
            return
        self._transport.write(frame(payload))

    def give_up(self, reason: str) -> None:
        """Close at once, without what is left to write."""
        self._closing(reason)
        if self._transport is not None:
            self._transport.abort()

    def close(self, reason: str) -> None:
        """Write what is left, for a while, and close. What comes in from now on is let be."""
        if self._transport is None or self._transport.is_closing():
            return
        self._closing(reason)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(LINGER_SECONDS, self._transport.abort)
        self._transport.close()

    def _closing(self, reason: str) -> None:
        self.is_open = False
        self._head.clear()
        if not self._told:
            self._told = True
            self.owner.closing(self, reason)

    def _greet(self, data: bytes) -> bytes:
        """Take the hello off the front; what is behind it."""
        if self._transport is None or self._transport.is_closing():
            return b""
        self._head += data
        try:
            found = _first_frame(bytes(self._head))
            if found is None:
                return b""
            payload, end = found
            hello = read_hello(payload)
        except FrameError as error:
            self.close(str(error))
            return b""
        rest = bytes(self._head[end:])
        self._head.clear()
        if self._timer is not None:
            self._timer.cancel()
        self.hello, self.is_open = hello, True
        self.owner.greeted(self, hello)
        return rest


def _first_frame(data: bytes) -> tuple[bytes, int] | None:
    """(payload, where it ends) of a frame of at most `MAX_HELLO_BYTES`; None where it is not complete."""
    if not data or (data[0] >= 0x80 and len(data) < 2):
        return None
    length, start = (data[0], 1) if data[0] < 0x80 else (data[0] & 0x7F | data[1] << 7, 2)
    if length > MAX_HELLO_BYTES:
        raise FrameError(f"a hello of more than {MAX_HELLO_BYTES} bytes")
    return (data[start : start + length], start + length) if len(data) >= start + length else None


def common_stream(ours: tuple[str, ...], theirs: tuple[str, ...]) -> str | None:
    """The best of our streams that they speak too."""
    return next((each for each in reversed(ours) if each in theirs), None)
