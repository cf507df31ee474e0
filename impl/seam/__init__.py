"""The seam to a router under test: what the harness may do to it and what it may see.

Two bindings: in process (any object with the methods of `Driver`) and a child process that speaks JSON lines
(`quidnunc.impl.seam.sidecar`). RPCs cross the seam as unframed protobuf bytes, so that this side keeps the
only codec. Peers are small integers; their keys follow from the integer (`quidnunc.impl.wire.keys`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias, TypeVar

from attrs import field, frozen

from quidnunc.model.events import FeedbackKind, Judgement
from quidnunc.model.parameters import DogParameters, Parameters, ParameterSet
from quidnunc.model.rpc import ROUTER, Peer

FORMAT = 1

Profile: TypeAlias = Literal["shipped", "spec"]
"""`shipped`: the router's default configuration. `spec`: what it adds to the protocol is switched off, where
its driver can."""
PROFILES: tuple[Profile, ...] = ("shipped", "spec")

CAPABILITIES = frozenset(
    {
        *("score", "verdict", "state", "clock", "stall", "explicit", "flood-publish", "raw"),
        *("strict-no-sign", "test-extension", "partial", "feedback", "score-parameters"),
        *("peer-exchange", "identity"),
        "peers-without-dog",
        *("message-limit", "rsa-keys", "secp256k1-keys", "ecdsa-keys"),
    }
)
"""What a driver may say that it can. `clock`: time is virtual; `explicit`: explicit peers can be given;
`test-extension`: the router can have it, and be without it; `partial`: the requests of `PartialDriver`;
`feedback`: the application's feedback on partial messages; `score-parameters`: it keeps
all of the peer score by `Parameters.scores`, and takes addresses of peers; `peer-exchange`: it has PX,
by `prune_peers` and `accept_px_threshold`; `identity`: it can be another peer than 0;
`peers-without-dog`: a mempool that can be told that a peer does not have DOG (`mempool/flood`);
`message-limit`: it takes `max_message_bytes`; `rsa-keys`, `secp256k1-keys`, `ecdsa-keys`: it verifies
messages whose authors have such keys."""


class AdapterError(Exception):
    """Their code broke the seam. Names the router, the request and what to try next."""


class NotBuiltError(Exception):
    """A release of a router that can be built, and is not. Names the command that builds it."""


@frozen(kw_only=True)
class Config:
    """What `init` carries."""

    seed: int = 0
    protocol: str = "gossipsub-1.2"
    parameters: ParameterSet | None = None
    """Those of the protocol's family; None: the defaults."""
    profile: Profile = "spec"
    without: tuple[str, ...] = ()
    """Of `shipped`: additions (names of `Hello.additions`) that are switched off all the same."""
    identity: Peer = ROUTER
    """Which peer the router is. In a network each node is another one; alone it is 0."""

    @property
    def extras(self) -> bool:
        """Whether the router's own additions to the protocol stay on: the key that `init` has for it."""
        return self.profile == "shipped"

    @property
    def dog(self) -> DogParameters | None:
        """`parameters` where they are a mempool's, else None: the key that `init` has for them."""
        return self.parameters if isinstance(self.parameters, DogParameters) else None


P = TypeVar("P", Parameters, DogParameters)


def parameters_of(config: Config, kind: type[P], router: str) -> P:
    """The parameters of `config`, or the defaults where it has none.

    Raises AdapterError that names `router` where they are those of another family.
    """
    given = config.parameters
    if given is None:
        return kind()
    if not isinstance(given, kind):
        own, whose = "mempool", "pubsub routers"
        if isinstance(given, DogParameters):
            own, whose = "pubsub router", "mempools"
        raise AdapterError(
            f"{router} is a {own}; this is about {whose}: "
            f"it takes {kind.__name__}, got {type(given).__name__}"
        )
    return given


@frozen(kw_only=True)
class Hello:
    """A driver's answer to `init`."""

    name: str
    version: str
    protocols: tuple[str, ...]
    capabilities: frozenset[str] = frozenset()
    fixed: Mapping[str, float] = field(factory=dict)
    """Parameters that the router sets itself and cannot be given (name of `Parameters` -> value)."""
    additions: Mapping[str, str] = field(factory=dict)
    """What the router adds to the protocol and its driver can switch off: name -> what it does."""
    switched: Mapping[str, tuple[str, ...]] = field(factory=dict)
    """What the driver switches, fixes or lifts in this router, in words -> the clauses (globs) whose verdicts
    lean on it."""
    format: int = FORMAT


@frozen(kw_only=True)
class Delivery:
    topic: str
    data: bytes


@frozen(kw_only=True)
class PartialCall:
    """The router called the application about partial messages.

    `offer`: it asked what to publish, with `peer` among the peers to choose from. `gossip`: it asked to
    gossip to `peer`. `hand`: it handed over what `peer` sent.
    """

    kind: Literal["offer", "gossip", "hand"]
    topic: str
    group: bytes
    peer: Peer
    state: bytes | None = None
    """Of `offer`: what the application keeps of the peer; None where that is nothing yet."""
    requests: bool = False
    """Of `offer`: whether the peer wants payload."""
    payload: bytes | None = None
    metadata: bytes | None = None


@frozen(kw_only=True)
class PartialDecision:
    """What the application decides for one peer (`quidnunc.model.events.Decision`, in bytes)."""

    peer: Peer
    payload: bytes | None = None
    metadata: bytes | None = None
    next_state: bytes | None = None
    error: bool = False


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
    partial: tuple[PartialCall, ...] = ()


class AddressedDriver(Protocol):
    """What a driver with score parameters has besides: peers of one address, from 1, share an IP."""

    def connect(self, peer: Peer, protocol: str, outbound: bool, address: int) -> Reply: ...


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


class PartialDriver(Protocol):
    """What a driver that can `partial` has beside the methods of `Driver`."""

    def join_partial(self, topic: str, requests: bool, supports: bool) -> Reply:
        """Join a topic with these flags in the subscription. What requests also supports."""
        ...

    def publish_partial(self, topic: str, group: bytes, decisions: Sequence[PartialDecision]) -> Reply:
        """The application publishes to a group; asked what to send to whom, it answers with `decisions`."""
        ...

    def feedback(self, topic: str, peer: Peer, kind: FeedbackKind) -> Reply: ...
