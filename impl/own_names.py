"""What each router calls the parameters of the specification, in which unit, and what their defaults are: for
those who maintain it.

Only what its driver sets. Names without an entry are told as the kit has them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from attrs import frozen

UNIT = "_ms"
"""How the kit's names of times end."""


SHOWN: Mapping[str, str] = {
    "origin": "author and sequence number",
    "content": "the SHA-256 of the data",
    "hex": "the SHA-256 of the data, in hexadecimal digits",
    "manual": "a validator that the test answers",
    "accept": "none",
}
"""Value of the kit -> the same for a reader who does not have it."""


@frozen
class DriverSetting:
    """What a driver sets, where no parameter of the kit says it. As Markdown: names are code."""

    setting: str
    default: str
    where: str
    """A pattern of what a case says where it can matter."""
    always: bool = True
    """Whether it is set in the other runs too."""


@frozen(kw_only=True)
class OwnNames:
    """The names of one router."""

    release: str
    """Whose defaults those are."""

    named: Mapping[str, str]
    """Attribute of the kit's parameters -> how it is set: `{}` is the value, `{ms}` and `{s}` are the value
    in milliseconds and in seconds where the kit counts otherwise."""
    flags: tuple[str, str] = ("no", "yes")
    of_scores: Callable[[str], str] | None = None
    """Makes the router's name of a score parameter; None where it takes none."""
    scores: tuple[str, str, str] = ("", "", "")
    """What takes the parameters of scores; the only weight where a case has none; what that is by default."""
    defaults: Mapping[str, str] = {}
    """Attribute -> its value by default, as the kit says it; `NONE` for what has none, and words for what is
    no value of the kit's."""
    told_defaults: Mapping[str, str] = {}
    """Attribute -> what is said of its default, where its value does not say it."""
    driver: tuple[DriverSetting, ...] = ()
    tells_only_what_is_needed: bool = False
    """Whether its driver fixes no parameter of the kit, so that a case tells those alone that it needs."""

    def setting(self, path: str, value: str) -> str | None:
        """`d_high`, `12` as the router has it; None for what has no name of its own. A score parameter has a
        path, `scores.t1.topic_weight`."""
        *place, name = path.split(".")
        if place and self.of_scores is not None:
            own = ".".join([*place[1:], self.of_scores(name.removesuffix(UNIT))])
            return f"{own} = {value}{' ms' if name.endswith(UNIT) else ''}"
        if place or name not in self.named:
            return None
        shown = {"no": self.flags[0], "yes": self.flags[1], **SHOWN}.get(value, value)
        number = float(value) if value.replace(".", "", 1).isdigit() else 0.0
        return self.named[name].format(shown, ms=f"{number * 1000:g}", s=f"{number / 1000:g}")


NONE = ""
"""For the default of what must be given."""


NOWHERE = r"(?!)"
"""For what is set, and can matter to no sequence that the kit plays."""
_HEARTBEAT = r"^advance (?:[5-9]\d\d|\d{4,})ms|^advance [\d.]+s"
_MANUAL = r"^parameters:.*\bvalidation=manual"


def _words(name: str) -> list[str]:
    return ["IP" if word == "ip" else word.capitalize() for word in name.split("_")]


def _pascal(name: str) -> str:
    return "".join(_words(name))


def _camel(name: str) -> str:
    first, *others = _words(name)
    return "".join([first if first == "IP" else first.lower(), *others])


OWN_NAMES: Mapping[str, OwnNames] = {
    "py-libp2p": OwnNames(
        release="0.8.1",
        scores=("score_params", "p6_appl_slack_weight = 1.0", "0.0"),
        defaults={
            **dict.fromkeys(("d", "d_low", "d_high"), NONE),
            "fanout_ttl_ms": "60000",
            "mcache_gossip": "3",
            "mcache_len": "5",
            "prune_backoff_s": "60",
            "unsubscribe_backoff_s": "10",
            "max_idontwant_messages": "10",
            "heartbeat_interval_ms": "120000",
            "heartbeat_delay_ms": "100",
            "seen_ttl_ms": "120000",
            **dict.fromkeys(("publish_threshold", "gossip_threshold", "graylist_threshold"), "-inf"),
            "explicit_peers": "",
            "message_id": "origin",
            "validation": "accept",
        },
        told_defaults={**dict.fromkeys(("explicit_peers", "validation"), "none")},
        driver=(
            DriverSetting(
                "`validation_timeout = 3600`, `max_concurrent_validator_count = 100000`",
                "5 and 10",
                _MANUAL,
            ),
            DriverSetting(
                "`adaptive_gossip_enabled`, `spam_protection_enabled` and `eclipse_protection_enabled` "
                "are `False`",
                "`True`",
                r"^profile: spec",
                always=False,
            ),
            DriverSetting(
                "these methods do nothing: `on_peer_subscribed`, `send_recent_messages`, "
                "`flush_pending_messages`, `_maintain_mesh_quality`, `_perform_opportunistic_grafting`, "
                "`_check_equivocation`, `_check_graft_flood_protection`",
                "as released",
                r"^profile: spec",
                always=False,
            ),
        ),
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
            "message_id": "msg_id_constructor: {}",
            "validation": "set_topic_validator: {}",
        },
    ),
    "js-libp2p": OwnNames(
        release="17.1.1",
        scores=(
            "scoreParams",
            "appSpecificWeight = 1",
            "10; by default `IPColocationFactorWeight = -5` and `behaviourPenaltyWeight = -10` too",
        ),
        defaults={
            "d": "6",
            "d_low": "4",
            "d_high": "12",
            "d_score": "4",
            "d_out": "2",
            "d_lazy": "6",
            "gossip_factor": "0.25",
            "heartbeat_interval_ms": "1000",
            "fanout_ttl_ms": "60000",
            "mcache_len": "5",
            "mcache_gossip": "3",
            "seen_ttl_ms": "120000",
            "prune_backoff_s": "60",
            "unsubscribe_backoff_s": "10",
            "flood_publish": "yes",
            "opportunistic_graft_ticks": "60",
            "opportunistic_graft_peers": "2",
            "opportunistic_graft_threshold": "20",
            "idontwant_min_bytes": "512",
            "max_idontwant_messages": "512",
            "prune_peers": "0",
            "gossip_threshold": "-10",
            "publish_threshold": "-50",
            "graylist_threshold": "-80",
            "accept_px_threshold": "10",
            "signature_policy": "StrictSign",
            "validation": "accept",
            "explicit_peers": "",
        },
        told_defaults={
            "prune_peers": "doPX = false",
            "validation": "false",
            "explicit_peers": "none",
        },
        driver=(
            DriverSetting(
                "`msgIdFn`: the author's peer id and the sequence number",
                "the author's public key and the sequence number",
                r"^(?!.*message_id=).*\b(?:ihave|iwant|idontwant) ",
            ),
            DriverSetting("a first heartbeat after 500 ms", "100 ms", _HEARTBEAT),
            DriverSetting(
                "`allowPublishToZeroTopicPeers` and `ignoreDuplicatePublishError` are `true`",
                "`false`",
                NOWHERE,
            ),
            *(
                DriverSetting(what, "on", rf"^profile: spec|^without:.*{name}", always=False)
                for name, what in (
                    ("score-cache", "`scoreCache` is off: each score is computed anew"),
                    ("accept-list", "`acceptFromWhitelist` is off"),
                    ("graft-on-subscribe", "`graftOnSubscribe` is off"),
                    ("publish-to-d", "`selectPeersToPublish` adds nobody to a mesh that has members"),
                )
            ),
        ),
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
            "message_id": "msgIdFn: {}",
            "signature_policy": "globalSignaturePolicy = {}",
            "validation": "asyncValidation = true",
            "explicit_peers": "directPeers = {}",
        },
    ),
    "go-libp2p-pubsub": OwnNames(
        release="0.19.0",
        scores=("WithPeerScore", "AppSpecificWeight = 1", "no peer scores"),
        defaults={
            "d": "6",
            "d_low": "5",
            "d_high": "12",
            "d_score": "4",
            "d_out": "2",
            "d_lazy": "6",
            "gossip_factor": "0.25",
            "heartbeat_interval_ms": "1000",
            "heartbeat_delay_ms": "100",
            "fanout_ttl_ms": "60000",
            "mcache_len": "5",
            "mcache_gossip": "3",
            "seen_ttl_ms": "120000",
            "prune_backoff_s": "60",
            "unsubscribe_backoff_s": "10",
            "flood_publish": "no",
            "opportunistic_graft_ticks": "60",
            "opportunistic_graft_peers": "2",
            **dict.fromkeys(
                ("gossip_threshold", "publish_threshold", "graylist_threshold"), "no peer scores"
            ),
            "opportunistic_graft_threshold": "0",
            "accept_px_threshold": "0.0",
            "gossip_retransmission": "3",
            "max_ihave_messages": "10",
            "max_ihave_length": "5000",
            "max_idontwant_messages": "1000",
            "idontwant_min_bytes": "1024",
            "idontwant_heartbeats": "3",
            "prune_peers": "0",
            "message_id": "origin",
            "signature_policy": "StrictSign",
            "validation": "accept",
            "explicit_peers": "",
        },
        told_defaults={
            "prune_peers": "WithPeerExchange(false), GossipSubPrunePeers = 16",
            "validation": "none",
            "explicit_peers": "none",
        },
        driver=(
            DriverSetting(
                "`WithGossipSubProtocols`: `/meshsub/1.2.0` and older",
                "`/meshsub/1.3.0` and older",
                NOWHERE,
            ),
            DriverSetting(
                "`WithValidateQueueSize(16384)`, `WithValidateThrottle(100000)`, `WithValidateWorkers(1)`",
                "32, 8192, and one per CPU",
                _MANUAL,
            ),
            DriverSetting("`WithPartialMessagesExtension`", "off", r"^protocols: partial", always=False),
            DriverSetting(
                "`WithTestExtension`",
                "off",
                r"^protocols: (?:partial|gossipsub-1.3)(?!.*test_extension=no)",
                always=False,
            ),
        ),
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
            "message_id": "WithMessageIdFn: {}",
            "signature_policy": "WithMessageSignaturePolicy({})",
            "validation": "WithDefaultValidator: {}",
            "explicit_peers": "WithDirectPeers: {}",
        },
    ),
    "cometbft": OwnNames(
        release="2.0.0-rc1",
        tells_only_what_is_needed=True,
        defaults={
            "pool_size": "5000",
            "cache_size": "10000",
            "max_pool_bytes": "67108864",
            "max_tx_bytes": "1048576",
            "max_persistent": "0",
            "max_non_persistent": "0",
            "target_redundancy": "1.0",
            "adjust_interval_ms": "1000",
        },
        driver=(
            DriverSetting("`DOGProtocolEnabled = true`", "`false`", r"^protocols: dog", always=False),
            DriverSetting(
                "`DOGAdjustInterval = 24 h`; the timer fires where the sequence says `adjust`",
                "1 s",
                r"^adjust",
                always=False,
            ),
        ),
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


_VALUE = re.compile(r"-?[\d.]+|yes|no|StrictSign|origin")


def own_default(router: str, attribute: str) -> str | None:
    """What that router has by default, in its words; None where nobody has looked."""
    own = OWN_NAMES.get(router)
    if own is None or attribute not in own.defaults:
        return None
    value = own.defaults[attribute]
    if attribute in own.told_defaults or not _VALUE.fullmatch(value):
        return own.told_defaults.get(attribute, value)
    shown = own.setting(attribute, value) or value
    return shown.partition(" = ")[2] or shown.partition(": ")[2] or shown


def own_setting(router: str, path: str, value: str) -> str | None:
    """A parameter and its value in the words of that router; None where it has none."""
    own = OWN_NAMES.get(router)
    return own.setting(path, value) if own else None
