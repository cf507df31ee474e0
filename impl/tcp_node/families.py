"""Our routers on a connection, by family of protocols: streams, frames and timers, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from quidnunc.impl.gossipsub.core import FEATURES
from quidnunc.impl.seam import Config, Driver, Reply, parameters_of
from quidnunc.impl.wire.cat_codec import VERSIONS as CAT_VERSIONS
from quidnunc.impl.wire.framing import MAX_FRAME_BYTES
from quidnunc.model.events import MEMPOOL
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import Peer


@frozen(kw_only=True)
class ConnectedFamily:
    """What a node of one family needs beside its router."""

    has_topics: bool
    """Its application joins topics and publishes there; else its users submit transactions."""
    config: Callable[[str, int, int], Config]
    """(protocol, seed, heartbeat in ms) -> how a node is opened that is told no more."""
    parameters: Callable[[Config], Any]
    """Those of its router. Raises AdapterError where `config` has those of another family."""
    streams: Callable[[str], tuple[str, ...]]
    """The protocols that a router of that name negotiates, newest first."""
    frame: Callable[[int, bytes], bytes]
    """(channel, message) -> the payload of a frame."""
    receive: Callable[[Driver, Peer, bytes], Reply]
    """The router takes a payload."""
    frame_bytes_max: Callable[[Any], int]
    adjust_ms: Callable[[str, Any], int]
    """(protocol, parameters) -> how often a redundancy controller takes its turn; 0 where there is none."""


def _pubsub_config(protocol: str, seed: int, heartbeat_ms: int) -> Config:
    first_ms = min(500, heartbeat_ms)
    parameters = Parameters(heartbeat_interval_ms=heartbeat_ms, heartbeat_delay_ms=first_ms)
    return Config(seed=seed, protocol=protocol, parameters=parameters)


def _mempool_config(protocol: str, seed: int, heartbeat_ms: int) -> Config:
    return Config(seed=seed, protocol=protocol, parameters=DogParameters(dog=protocol.startswith("dog")))


FAMILIES: Mapping[str, ConnectedFamily] = {
    "pubsub": ConnectedFamily(
        has_topics=True,
        config=_pubsub_config,
        parameters=lambda config: parameters_of(config, Parameters, "a node"),
        streams=lambda protocol: FEATURES[protocol].streams,
        frame=lambda channel, message: message,
        receive=lambda core, peer, payload: core.rpc(peer, payload),
        frame_bytes_max=lambda p: max(MAX_FRAME_BYTES, 2 * p.max_message_bytes),
        adjust_ms=lambda protocol, p: 0,
    ),
    "mempool": ConnectedFamily(
        has_topics=False,
        config=_mempool_config,
        parameters=lambda config: parameters_of(config, DogParameters, "a node"),
        streams=lambda protocol: (MEMPOOL,),
        frame=lambda channel, message: bytes((channel,)) + message,
        receive=lambda core, peer, payload: core.raw(peer, payload),
        frame_bytes_max=lambda p: p.max_tx_bytes + 1024,
        adjust_ms=lambda protocol, p: 0 if protocol in CAT_VERSIONS else p.adjust_interval_ms,
    ),
}


def connected_family(protocol: str) -> ConnectedFamily:
    """The family of a protocol of our routers."""
    return FAMILIES["pubsub" if protocol in FEATURES else "mempool"]
