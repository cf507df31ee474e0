"""What each router calls the parameters of the specification, and in which unit: for those who maintain it.

Only what its driver sets. Names without an entry are told as the kit has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen

UNIT = "_ms"
"""How the kit's names of times end."""


@frozen(kw_only=True)
class OwnNames:
    """The names of one router."""

    named: Mapping[str, str]
    """Attribute of the kit's parameters -> how it is set: `{}` is the value, `{ms}` and `{s}` are the value
    in milliseconds and in seconds where the kit counts otherwise."""
    flags: tuple[str, str] = ("no", "yes")
    of_scores: Callable[[str], str] | None = None
    """Makes the router's name of a score parameter; None where it takes none."""

    def setting(self, path: str, value: str) -> str | None:
        """`d_high`, `12` as the router has it; None for what has no name of its own. A score parameter has a
        path, `scores.t1.topic_weight`."""
        *place, name = path.split(".")
        if place and self.of_scores is not None:
            own = ".".join([*place[1:], self.of_scores(name.removesuffix(UNIT))])
            return f"{own} = {value}{' ms' if name.endswith(UNIT) else ''}"
        if place or name not in self.named:
            return None
        shown = {"no": self.flags[0], "yes": self.flags[1]}.get(value, value)
        number = float(value) if value.replace(".", "", 1).isdigit() else 0.0
        return self.named[name].format(shown, ms=f"{number * 1000:g}", s=f"{number / 1000:g}")


def _words(name: str) -> list[str]:
    return ["IP" if word == "ip" else word.capitalize() for word in name.split("_")]


def _pascal(name: str) -> str:
    return "".join(_words(name))


def _camel(name: str) -> str:
    first, *others = _words(name)
    return "".join([first if first == "IP" else first.lower(), *others])


OWN_NAMES: Mapping[str, OwnNames] = {
    "py-libp2p": OwnNames(
        flags=("False", "True"),
        named={
            "d": "degree = {}",
            "d_low": "degree_low = {}",
            "d_high": "degree_high = {}",
            "fanout_ttl_ms": "time_to_live = {s}",
            "mcache_gossip": "gossip_window = {}",
            "mcache_len": "gossip_history = {}",
            "prune_backoff_s": "prune_back_off = {}",
            "unsubscribe_backoff_s": "unsubscribe_back_off = {}",
            "max_idontwant_messages": "max_idontwant_messages = {}",
            "heartbeat_interval_ms": "heartbeat_interval = {s}",
            "heartbeat_delay_ms": "heartbeat_initial_delay = {s}",
            "seen_ttl_ms": "seen_ttl = {s}",
            "publish_threshold": "publish_threshold = {}",
            "gossip_threshold": "gossip_threshold = {}",
            "graylist_threshold": "graylist_threshold = {}",
            "explicit_peers": "direct_peers = {}",
            "validation": "set_topic_validator: {}",
        },
    ),
    "js-libp2p": OwnNames(
        flags=("false", "true"),
        of_scores=_camel,
        named={
            "d": "D = {}",
            "d_low": "Dlo = {}",
            "d_high": "Dhi = {}",
            "d_score": "Dscore = {}",
            "d_out": "Dout = {}",
            "d_lazy": "Dlazy = {}",
            "gossip_factor": "gossipFactor = {}",
            "heartbeat_interval_ms": "heartbeatInterval = {}",
            "fanout_ttl_ms": "fanoutTTL = {}",
            "mcache_len": "mcacheLength = {}",
            "mcache_gossip": "mcacheGossip = {}",
            "seen_ttl_ms": "seenTTL = {}",
            "prune_backoff_s": "pruneBackoff = {ms}",
            "unsubscribe_backoff_s": "unsubcribeBackoff = {ms}",
            "flood_publish": "floodPublish = {}",
            "opportunistic_graft_ticks": "opportunisticGraftTicks = {}",
            "opportunistic_graft_peers": "opportunisticGraftPeers = {}",
            "opportunistic_graft_threshold": "opportunisticGraftThreshold = {}",
            "idontwant_min_bytes": "idontwantMinDataSize = {}",
            "max_idontwant_messages": "idontwantMaxMessages = {}",
            "prune_peers": "doPX = true, prunePeers = {}",
            "gossip_threshold": "gossipThreshold = {}",
            "publish_threshold": "publishThreshold = {}",
            "graylist_threshold": "graylistThreshold = {}",
            "accept_px_threshold": "acceptPXThreshold = {}",
            "signature_policy": "globalSignaturePolicy = {}",
            "validation": "asyncValidation = true",
            "explicit_peers": "directPeers = {}",
        },
    ),
    "go-libp2p-pubsub": OwnNames(
        flags=("false", "true"),
        of_scores=_pascal,
        named={
            "d": "GossipSubD = {}",
            "d_low": "GossipSubDlo = {}",
            "d_high": "GossipSubDhi = {}",
            "d_score": "GossipSubDscore = {}",
            "d_out": "GossipSubDout = {}",
            "d_lazy": "GossipSubDlazy = {}",
            "gossip_factor": "GossipSubGossipFactor = {}",
            "heartbeat_interval_ms": "GossipSubHeartbeatInterval = {} ms",
            "heartbeat_delay_ms": "GossipSubHeartbeatInitialDelay = {} ms",
            "fanout_ttl_ms": "GossipSubFanoutTTL = {} ms",
            "mcache_len": "GossipSubHistoryLength = {}",
            "mcache_gossip": "GossipSubHistoryGossip = {}",
            "seen_ttl_ms": "WithSeenMessagesTTL: {} ms",
            "prune_backoff_s": "GossipSubPruneBackoff = {} s",
            "unsubscribe_backoff_s": "GossipSubUnsubscribeBackoff = {} s",
            "flood_publish": "WithFloodPublish({})",
            "opportunistic_graft_ticks": "GossipSubOpportunisticGraftTicks = {}",
            "opportunistic_graft_peers": "GossipSubOpportunisticGraftPeers = {}",
            "opportunistic_graft_threshold": "OpportunisticGraftThreshold = {}",
            "gossip_retransmission": "GossipSubGossipRetransmission = {}",
            "max_ihave_messages": "GossipSubMaxIHaveMessages = {}",
            "max_ihave_length": "GossipSubMaxIHaveLength = {}",
            "max_idontwant_messages": "GossipSubMaxIDontWantMessages = {}",
            "idontwant_min_bytes": "GossipSubIDontWantMessageThreshold = {}",
            "idontwant_heartbeats": "GossipSubIDontWantMessageTTL = {}",
            "prune_peers": "WithPeerExchange(true), GossipSubPrunePeers = {}",
            "gossip_threshold": "GossipThreshold = {}",
            "publish_threshold": "PublishThreshold = {}",
            "graylist_threshold": "GraylistThreshold = {}",
            "accept_px_threshold": "AcceptPXThreshold = {}",
            "signature_policy": "WithMessageSignaturePolicy({})",
            "validation": "WithDefaultValidator: {}",
            "explicit_peers": "WithDirectPeers: {}",
        },
    ),
    "cometbft": OwnNames(
        named={
            "pool_size": "Size = {}",
            "cache_size": "CacheSize = {}",
            "max_pool_bytes": "MaxTxsBytes = {}",
            "max_tx_bytes": "MaxTxBytes = {}",
            "max_persistent": "ExperimentalMaxGossipConnectionsToPersistentPeers = {}",
            "max_non_persistent": "ExperimentalMaxGossipConnectionsToNonPersistentPeers = {}",
            "target_redundancy": "DOGTargetRedundancy = {}",
            "adjust_interval_ms": "DOGAdjustInterval = {} ms",
        },
    ),
}
"""Router -> its names."""


def own_setting(router: str, path: str, value: str) -> str | None:
    """A parameter and its value in the words of that router; None where it has none."""
    own = OWN_NAMES.get(router)
    return own.setting(path, value) if own else None
