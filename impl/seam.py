"""The seam to a router under test: what the harness may do to it and what it may see.

Two bindings: in process (any object with the methods of `Driver`) and a child process that speaks JSON lines
(`quidnunc.impl.sidecar`). RPCs cross the seam as unframed protobuf bytes, so that this side keeps the only
codec. Peers are small integers; their keys follow from the integer (`quidnunc.impl.keys`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from attrs import field, frozen

from quidnunc.model.events import Judgement
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import Peer

FORMAT = 1

CAPABILITIES = frozenset(
    {"score", "verdict", "state", "clock", "stall", "explicit", "flood-publish", "raw", "strict-no-sign"}
)
"""What a driver may say that it can. `clock`: time is virtual; `explicit`: explicit peers can be given."""


class AdapterError(Exception):
    """Their code broke the seam. Names the router, the request and what to try next."""


@frozen(kw_only=True)
class Config:
    """What `init` carries. Exactly one of `parameters` and `dog` is set."""

    seed: int = 0
    protocol: str = "gossipsub-1.2"
    parameters: Parameters | None = None
    dog: DogParameters | None = None
    extras: bool = False
    """Keep the router's own additions to the protocol switched on (off where its driver can)."""


@frozen(kw_only=True)
class Hello:
    """A driver's answer to `init`."""

    name: str
    version: str
    protocols: tuple[str, ...]
    capabilities: frozenset[str] = frozenset()
    fixed: Mapping[str, float] = field(factory=dict)
    """Parameters that the router sets itself and can not be given (name of `Parameters` -> value)."""
    format: int = FORMAT


@frozen(kw_only=True)
class Delivery:
    topic: str
    data: bytes


@frozen(kw_only=True)
class Reply:
    """What the router did between the request and its coming to rest."""

    t_ms: int = 0
    out: tuple[tuple[Peer, int, bytes], ...] = ()
    """(peer, channel, unframed protobuf RPC). Channel 0 for pubsub, 0x30 and 0x31 for a mempool."""
    delivered: tuple[Delivery, ...] = ()
    dials: tuple[Peer, ...] = ()
    closed: tuple[Peer, ...] = ()
    crashed: str = ""
    """The router's own words when it failed; the driver stays usable for `close`."""
    state: dict[str, object] = field(factory=dict)


class Driver(Protocol):
    """One router under test. Every request is answered when the router has come to rest.

    Raises AdapterError where a request makes no sense to the driver (an unknown peer, say).
    """

    hello: Hello

    def connect(self, peer: Peer, protocol: str, outbound: bool) -> Reply: ...
    def disconnect(self, peer: Peer) -> Reply: ...
    def stall(self, peer: Peer) -> Reply: ...
    def resume(self, peer: Peer) -> Reply: ...
    def rpc(self, peer: Peer, data: bytes, channel: int = 0) -> Reply:
        """One RPC, unframed protobuf bytes."""
        ...

    def raw(self, peer: Peer, data: bytes) -> Reply:
        """Bytes as they are on the stream, framing included."""
        ...

    def join(self, topic: str) -> Reply: ...
    def leave(self, topic: str) -> Reply: ...
    def publish(self, topic: str, data: bytes) -> Reply: ...
    def verdict(self, message_id: bytes, judgement: Judgement) -> Reply: ...
    def score(self, peer: Peer, value: int) -> Reply: ...
    def advance(self, ms: int) -> Reply: ...
    def submit(self, tx: bytes) -> Reply: ...
    def commit(self, tx: bytes) -> Reply: ...
    def adjust(self) -> Reply: ...
    def state(self) -> Reply: ...
    def close(self) -> None: ...
