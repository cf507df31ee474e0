"""Instructions to nodes: those of gossipsub-interop's params.json, under its names, and some of our own.

Each node reads the whole script from the top. `waitUntil` holds it back, `ifNodeIDEquals` is for one node
alone, and everything else it does at once. Ours are `unsubscribe`, `disconnect` and
`submit`; a script that has one of them is none that gossipsub-interop could run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from attrs import field, frozen

NodeId: TypeAlias = int
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
MAX_DURATION_S = 7 * 24 * 3600


def _seconds() -> Any:
    def check(_: object, attribute: Any, value: float) -> None:
        if not 0 <= value <= MAX_DURATION_S:
            raise ValueError(f"{attribute.name} is from 0 to {MAX_DURATION_S}, got {value}")

    return field(default=0.0, validator=check)


@frozen(kw_only=True)
class ConnectInstruction:
    """Dial these nodes."""

    type: Literal["connect"] = "connect"
    connectTo: tuple[NodeId, ...] = ()


@frozen(kw_only=True)
class WaitUntilInstruction:
    """Go on when so many seconds have passed since the start."""

    type: Literal["waitUntil"] = "waitUntil"
    elapsedSeconds: float = _seconds()


@frozen(kw_only=True)
class PublishInstruction:
    """A message: its number as 8 bytes big-endian, then zeros up to its size."""

    type: Literal["publish"] = "publish"
    messageID: int = 0
    messageSizeBytes: int = 8
    topicID: str = ""


@frozen(kw_only=True)
class SubscribeToTopicInstruction:
    type: Literal["subscribeToTopic"] = "subscribeToTopic"
    topicID: str = ""
    partial: bool = False


@frozen(kw_only=True)
class SetTopicValidationDelayInstruction:
    type: Literal["setTopicValidationDelay"] = "setTopicValidationDelay"
    topicID: str = ""
    delaySeconds: float = _seconds()


@frozen(kw_only=True)
class InitGossipSubInstruction:
    """Parameters, under the names of go-libp2p-pubsub; durations in nanoseconds."""

    type: Literal["initGossipSub"] = "initGossipSub"
    gossipSubParams: Mapping[str, Any] = field(factory=dict)


@frozen(kw_only=True)
class AddPartialMessageInstruction:
    """Some of the eight parts of a group, of 1024 bytes each: bit k for part k."""

    type: Literal["addPartialMessage"] = "addPartialMessage"
    topicID: str = ""
    groupID: int = 0
    parts: int = 0


@frozen(kw_only=True)
class PublishPartialInstruction:
    """Tell of what one has of a group; with `publishToNodeIDs`, these nodes."""

    type: Literal["publishPartial"] = "publishPartial"
    topicID: str = ""
    groupID: int = 0
    publishToNodeIDs: tuple[NodeId, ...] | None = None


@frozen(kw_only=True)
class UnsubscribeInstruction:
    """Ours: leave the topic."""

    type: Literal["unsubscribe"] = "unsubscribe"
    topicID: str = ""


@frozen(kw_only=True)
class DisconnectInstruction:
    """Ours: drop the connections with these nodes; with all, where none is named."""

    type: Literal["disconnect"] = "disconnect"
    disconnectFrom: tuple[NodeId, ...] = ()


@frozen(kw_only=True)
class SubmitTransactionInstruction:
    """Ours, for a mempool: a user's transaction; its number and size as those of a message."""

    type: Literal["submit"] = "submit"
    messageID: int = 0
    messageSizeBytes: int = 8


@frozen(kw_only=True)
class IfNodeIDEqualsInstruction:
    type: Literal["ifNodeIDEquals"] = "ifNodeIDEquals"
    nodeID: NodeId = 0
    instruction: Instruction = ConnectInstruction()


Instruction: TypeAlias = (
    ConnectInstruction
    | WaitUntilInstruction
    | PublishInstruction
    | SubscribeToTopicInstruction
    | SetTopicValidationDelayInstruction
    | InitGossipSubInstruction
    | AddPartialMessageInstruction
    | PublishPartialInstruction
    | UnsubscribeInstruction
    | DisconnectInstruction
    | SubmitTransactionInstruction
    | IfNodeIDEqualsInstruction
)
THEIRS: tuple[type, ...] = (
    *(
        ConnectInstruction,
        WaitUntilInstruction,
        PublishInstruction,
        SubscribeToTopicInstruction,
        SetTopicValidationDelayInstruction,
        InitGossipSubInstruction,
    ),
    *(AddPartialMessageInstruction, PublishPartialInstruction, IfNodeIDEqualsInstruction),
)
OURS: tuple[type, ...] = (UnsubscribeInstruction, DisconnectInstruction, SubmitTransactionInstruction)
BY_TYPE: Mapping[str, type] = MappingProxyType({kind().type: kind for kind in (*THEIRS, *OURS)})


def steps_of(script: tuple[Instruction, ...], node: NodeId) -> Iterator[tuple[float, Instruction]]:
    """(seconds since the start, instruction) for one node, in order, waits and conditions taken away."""
    at_s = 0.0
    for each in script:
        while isinstance(each, IfNodeIDEqualsInstruction) and each.nodeID == node:
            each = each.instruction
        if isinstance(each, IfNodeIDEqualsInstruction):
            continue
        if isinstance(each, WaitUntilInstruction):
            at_s = max(at_s, each.elapsedSeconds)
        else:
            yield at_s, each


def last_wait_s(script: tuple[Instruction, ...]) -> float:
    """Until when some node is held back."""
    last_s = 0.0
    for each in script:
        while isinstance(each, IfNodeIDEqualsInstruction):
            each = each.instruction
        if isinstance(each, WaitUntilInstruction):
            last_s = max(last_s, each.elapsedSeconds)
    return last_s


def topics_named(script: tuple[Instruction, ...]) -> set[str]:
    """Every topic that a script subscribes somebody to."""
    found = set()
    for each in script:
        while isinstance(each, IfNodeIDEqualsInstruction):
            each = each.instruction
        if isinstance(each, SubscribeToTopicInstruction):
            found.add(each.topicID)
    return found


def nodes_named(script: tuple[Instruction, ...]) -> set[NodeId]:
    """Every node that a script speaks of."""
    found: set[NodeId] = set()
    for each in script:
        while isinstance(each, IfNodeIDEqualsInstruction):
            found.add(each.nodeID)
            each = each.instruction
        found |= set(getattr(each, "connectTo", ())) | set(getattr(each, "disconnectFrom", ()))
        found |= set(getattr(each, "publishToNodeIDs", None) or ())
    return found


# -- parameters of go ---------------------------------------------------------------------------------------

GO_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "d_low": 5,
        "heartbeat_delay_ms": 100,
        "flood_publish": False,
        "idontwant_min_bytes": 1024,
        "max_idontwant_messages": 1000,
        "signature_policy": "StrictNoSign",
        "message_id": "content",
        "max_message_bytes": 10 << 20,
    }
)
"""What gossipsub-interop's Go node runs with, where it is not what the specification's defaults are."""

_COUNTS: Mapping[str, str] = MappingProxyType(
    {
        "D": "d",
        "Dlo": "d_low",
        "Dhi": "d_high",
        "Dscore": "d_score",
        "Dout": "d_out",
        "Dlazy": "d_lazy",
        "HistoryLength": "mcache_len",
        "HistoryGossip": "mcache_gossip",
        "GossipRetransmission": "gossip_retransmission",
        "PrunePeers": "prune_peers",
        "OpportunisticGraftTicks": "opportunistic_graft_ticks",
        "OpportunisticGraftPeers": "opportunistic_graft_peers",
        "MaxIHaveLength": "max_ihave_length",
        "MaxIHaveMessages": "max_ihave_messages",
        "MaxIDontWantMessages": "max_idontwant_messages",
        "IDontWantMessageThreshold": "idontwant_min_bytes",
        "IDontWantMessageTTL": "idontwant_heartbeats",
    }
)
_DURATIONS: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "HeartbeatInitialDelay": ("heartbeat_delay_ms", NS_PER_MS),
        "HeartbeatInterval": ("heartbeat_interval_ms", NS_PER_MS),
        "FanoutTTL": ("fanout_ttl_ms", NS_PER_MS),
        "PruneBackoff": ("prune_backoff_s", NS_PER_S),
        "UnsubscribeBackoff": ("unsubscribe_backoff_s", NS_PER_S),
    }
)
WITHOUT_COUNTERPART = frozenset(
    {
        *("SlowHeartbeatWarning", "Connectors", "MaxPendingConnections", "ConnectionTimeout"),
        *("DirectConnectTicks", "DirectConnectInitialDelay", "GraftFloodThreshold", "MaxIDontWantLength"),
        "IWantFollowupTime",
    }
)
"""Names of go that this kit's parameters do not have: dialling, logging, and what no document describes."""


def parameters_of_go(given: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of `Parameters` for go's. Raises ValueError for a name that go has not, or a value of no use."""
    found: dict[str, Any] = dict(GO_DEFAULTS)
    for name, value in given.items():
        if name in WITHOUT_COUNTERPART:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"gossipSubParams.{name}: expected a number, got {value!r}")
        # Go's own fields are of 64 bits. The comparison is false for NaN too.
        if not abs(value) < 1 << 63:
            raise ValueError(f"gossipSubParams.{name}: expected a number below 2^63 in size")
        if name == "GossipFactor":
            found["gossip_factor"] = float(value)
        elif name in _COUNTS:
            found[_COUNTS[name]] = int(value)
        elif name in _DURATIONS:
            ours, unit_ns = _DURATIONS[name]
            found[ours] = round(value / unit_ns)
        else:
            raise ValueError(f"gossipSubParams.{name}: go-libp2p-pubsub has no such parameter")
    return found
