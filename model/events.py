"""What happens to one router (events) and what it is seen to do (outputs).

Time is an event, in integer milliseconds since the router started; nothing here reads a clock. An event that
names several peers is a burst: the same thing from each in turn, counted once per peer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from attrs import frozen

from quidnunc.model.rpc import Extensions, Message, Part, Partial, Peer, Prune, Subscribe

FLOODSUB = "/floodsub/1.0.0"
MESHSUB_1_0 = "/meshsub/1.0.0"
MESHSUB_1_1 = "/meshsub/1.1.0"
MESHSUB_1_2 = "/meshsub/1.2.0"
MESHSUB_1_3 = "/meshsub/1.3.0"
MEMPOOL = "mempool"
MEMPOOL_WITHOUT_DOG = "mempool/flood"
"""The connection of a peer that does not have DOG enabled, and so no control channel."""
"""The protocol of a CometBFT peer: both mempool channels, 0x30 and 0x31."""

Judgement: TypeAlias = Literal["accept", "reject", "ignore"]


@frozen
class Connect:
    """Streams of `protocol` are open both ways. `outbound`: it was the router that dialled."""

    peers: tuple[Peer, ...]
    protocol: str = MESHSUB_1_2
    outbound: bool = False
    address: int = 0
    """Peers of one address, from 1, share an IP. 0: it shares its own with nobody."""


@frozen
class Disconnect:
    peers: tuple[Peer, ...]


@frozen
class Stall:
    """The peers stop reading; what the router sends them waits in its queue."""

    peers: tuple[Peer, ...]


@frozen
class Resume:
    peers: tuple[Peer, ...]


@frozen
class Receive:
    """One RPC, with all of `parts`, from each of `peers`."""

    peers: tuple[Peer, ...]
    parts: tuple[Part, ...]


@frozen
class Raw:
    """Bytes that are not an RPC that the vocabulary can say, of a named kind
    (`quidnunc.impl.wire.malformed.MALFORMED`)."""

    peers: tuple[Peer, ...]
    kind: str


LEGAL_KINDS = frozenset(
    {"empty-frame", "unknown-field", "unknown-control", "empty-control", "bare-subscription"}
)
"""Kinds of `Raw` that are RPCs all the same: proto2 skips what it does not know."""


@frozen
class Join:
    topic: str
    requests: bool = False
    """Partial messages are wanted in this topic, which implies `supports`."""
    supports: bool = False
    """They can be sent in this topic."""


@frozen
class Leave:
    topic: str


@frozen
class Publish:
    message: Message


@frozen
class Verdict:
    """The application has judged message `id`, which was waiting for validation."""

    id: str
    judgement: Judgement


@frozen
class Decision:
    """What the application decides for one peer while it publishes a partial message."""

    peer: Peer
    payload: str | None = None
    metadata: str | None = None
    next: str | None = None
    """What it now keeps of this peer: an opaque value, by its id. None: as it was."""
    error: bool = False
    """The decision failed."""


@frozen
class PublishPartial:
    """The application publishes what it has of `group`. It is offered peers and decides, in order."""

    topic: str
    group: str
    decisions: tuple[Decision, ...] = ()


FeedbackKind: TypeAlias = Literal["useful", "invalid", "ignored"]


@frozen
class Feedback:
    """The application tells what a partial message of `peer` in `topic` was worth."""

    topic: str
    peer: Peer
    kind: FeedbackKind


@frozen
class Score:
    """The application-specific score (P5) of the peers is now `value`."""

    peers: tuple[Peer, ...]
    value: int


@frozen
class Advance:
    """Time passes. The harness stops at every heartbeat on the way."""

    ms: int


@frozen
class Submit:
    """A user hands the node transaction `id` (RPC)."""

    id: str


@frozen
class Commit:
    """A block took transaction `id` out of the pool."""

    id: str


@frozen
class Adjust:
    """DOG's redundancy controller runs once (its timer is an event of the harness)."""


Event: TypeAlias = (
    Connect
    | Disconnect
    | Stall
    | Resume
    | Receive
    | Raw
    | Join
    | Leave
    | Publish
    | Verdict
    | PublishPartial
    | Feedback
    | Score
    | Advance
    | Submit
    | Commit
    | Adjust
)


@frozen
class Sent:
    """The router sent `part` (an atom, `quidnunc.model.rpc.atoms`) to `peer`."""

    peer: Peer
    part: Part


@frozen
class Delivered:
    """The router handed `message` to its application."""

    message: Message


NOTHING_KEPT = ""
"""The state of a peer that the application has kept nothing of yet."""
ANY_STATE = "*"
"""In a permit: what is kept of the peer is not said."""


@frozen
class Offered:
    """`peer` was among those that the application was offered when it published a partial message."""

    topic: str
    group: str
    peer: Peer
    state: str = NOTHING_KEPT
    requests: bool = False
    """Whether the application was told that the peer wants payload."""


@frozen
class GossipAsked:
    """The application was asked to gossip about `group` to `peer`, in the place of IHAVE."""

    topic: str
    group: str
    peer: Peer


@frozen
class PartialIn:
    """The application was handed a partial message of `peer`."""

    peer: Peer
    part: Partial


@frozen
class Dialled:
    peer: Peer


@frozen
class Closed:
    """The router reset or closed its stream with `peer`."""

    peer: Peer


@frozen
class Crashed:
    """The router failed. `text` is its own words, without the bytes that did it."""

    text: str


Output: TypeAlias = Sent | Delivered | Offered | GossipAsked | PartialIn | Dialled | Closed | Crashed


def output_key(output: Output) -> Output:
    """`output` without the details that do not tell which act it was: a PRUNE's backoff and peers, the flags
    of a subscription, what a partial message carries, and all of a message but its id and topic."""
    if isinstance(output, Sent):
        bare = BARE.get(type(output.part))
        return output if bare is None else Sent(output.peer, bare(output.part))
    if isinstance(output, Delivered):
        return Delivered(Message(output.message.id, output.message.topic))
    if isinstance(output, Offered):
        return Offered(output.topic, output.group, output.peer)
    return output


BARE: Mapping[type, Callable[[Any], Part]] = {
    Prune: lambda part: Prune(part.topic),
    Message: lambda part: Message(part.id, part.topic),
    Subscribe: lambda part: Subscribe(part.topic),
    Extensions: lambda part: Extensions(),
    Partial: lambda part: Partial(part.topic, part.group),
}
"""What is left of a part without those details; of the others all is."""
