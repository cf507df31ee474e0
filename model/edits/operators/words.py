"""The words of operators: how parameters, fields of the state, and sets are called in a headline."""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.model.rpc import Fault
from quidnunc.model.rules import Rule

NO_CAP = 1e12

PARAMETERS: Mapping[str, str] = {
    "d": "D",
    "d_low": "D_low",
    "d_high": "D_high",
    "d_score": "D_score",
    "d_out": "D_out",
    "d_lazy": "D_lazy",
    "gossip_factor": "the gossip factor",
    "heartbeat_interval_ms": "the heartbeat interval",
    "heartbeat_delay_ms": "the delay of the first heartbeat",
    "fanout_ttl_ms": "fanout_ttl",
    "mcache_len": "mcache_len",
    "mcache_gossip": "mcache_gossip",
    "seen_ttl_ms": "seen_ttl",
    "prune_backoff_s": "the prune backoff",
    "unsubscribe_backoff_s": "the unsubscribe backoff",
    "flood_publish": "flood publishing",
    "gossip_threshold": "the gossip threshold",
    "publish_threshold": "the publish threshold",
    "graylist_threshold": "the graylist threshold",
    "opportunistic_graft_threshold": "the opportunistic graft threshold",
    "opportunistic_graft_ticks": "the number of heartbeats between opportunistic grafts",
    "opportunistic_graft_peers": "the number of peers of an opportunistic graft",
    "gossip_retransmission": "the cap on answers to IWANT",
    "max_ihave_messages": "the cap on IHAVEs",
    "max_ihave_length": "the cap on the ids of IHAVEs",
    "max_idontwant_messages": "the cap on IDONTWANTs",
    "idontwant_min_bytes": "the least size of messages for IDONTWANT",
    "idontwant_heartbeats": "the lifetime of an IDONTWANT",
    "max_message_bytes": "the size limit of messages",
    "test_extension": "the test extension",
    "group_ttl_heartbeats": "the time to live of groups",
    "max_groups_per_topic": "the limit on groups of a topic",
    "max_groups_per_peer": "the limit on groups of a peer",
    "explicit_peers": "explicit peers",
    "prune_peers": "the number of peers that a PRUNE offers",
    "accept_px_threshold": "AcceptPXThreshold",
    "dog": "DOG",
    "target_redundancy": "the target redundancy",
    "delta_percent": "the allowed deviation of the redundancy",
    "adjust_interval_ms": "the interval of adjustments",
    "cache_size": "the size of the cache",
    "pool_size": "the size of the pool",
    "max_pool_bytes": "the limit on the bytes of the pool",
    "max_tx_bytes": "the size limit of transactions",
    "max_announced_peers": "the number of ranked peers",
    "max_persistent": "the limit on persistent peers",
    "max_non_persistent": "the limit on non-persistent peers",
    "persistent_peers": "persistent peers",
    "unconditional_peers": "unconditional peers",
}
"""Parameter -> its name in the documents, or in words where they give it none, or one of another language."""

SCORES: Mapping[str, tuple[str, float]] = {
    "app_specific_weight": ("Takes 1 for the weight of the application's score (P5)", 1.0),
    "topic_weight": ("Takes 1 for the weights of all topics", 1.0),
    "topic_score_cap": ("Does not apply the cap on the score of all topics", 0.0),
    "time_in_mesh_cap": ("Does not apply the cap on the time in the mesh (P1)", NO_CAP),
    "first_message_deliveries_cap": ("Does not apply the cap on first deliveries (P2)", NO_CAP),
    "mesh_message_deliveries_cap": ("Does not apply the cap on mesh deliveries (P3)", NO_CAP),
    "mesh_message_deliveries_activation_ms": ("Does not wait for the activation of mesh deliveries (P3)", -1),
    "first_message_deliveries_decay": ("Does not let first deliveries (P2) decay", 1.0),
    "mesh_message_deliveries_decay": ("Does not let mesh deliveries (P3) decay", 1.0),
    "mesh_failure_penalty_decay": ("Does not let the penalty for mesh failures (P3b) decay", 1.0),
    "invalid_message_deliveries_decay": ("Does not let invalid messages (P4) decay", 1.0),
    "behaviour_penalty_decay": ("Does not let the behaviour penalty (P7) decay", 1.0),
    "decay_to_zero": ("Does not apply DecayToZero", 0.0),
}
"""Parameter of scores -> what a router does that is without it, and the value that does the same."""

SCORE_THRESHOLDS: Mapping[str, str] = {
    "ip_colocation_factor_threshold": "the threshold of peers at one IP address (P6)",
    "behaviour_penalty_threshold": "the threshold of the behaviour penalty (P7)",
    "mesh_message_deliveries_threshold": "the threshold of mesh deliveries (P3)",
}
"""Parameters of scores that something is compared with, and that a router may miss by one."""

OF_COUNTERS: Mapping[str, str] = {
    "time_in_mesh": "the time in the mesh (P1)",
    "first_message_deliveries": "first deliveries (P2)",
    "mesh_message_deliveries": "mesh deliveries (P3)",
    "mesh_failure_penalty": "mesh failures (P3b)",
    "invalid_message_deliveries": "invalid messages (P4)",
}
"""How the names of parameters about one counter of a topic begin -> the counter."""

FOR_ANOTHER: Mapping[str, str] = {
    "_weight": "Weighs {} by the weight of {}",
    "_cap": "Caps {} at the cap of {}",
    "_decay": "Decays {} by the factor of {}",
}
"""How the names of those parameters end -> what a router does that takes that of another counter."""

OF_VERSIONS = frozenset({"gossipsub-newest"})
"""Views of the versions that peers speak."""

BOUNDS = ("the cap", "the limit", "the size limit")
"""How the names of bounds begin."""

UNITS: Mapping[str, str] = {"_ms": "a millisecond", "_s": "a second", "_bytes": "a byte"}
"""How the name of a parameter ends -> its unit; others are numbers."""

STATE: Mapping[str, Mapping[str, str]] = {
    "pubsub": {
        "asked": "what it has asked for by IWANT",
        "backoff": "its backoffs",
        "cached": "the messages in its message cache",
        "fanout": "its fanouts",
        "groups": "its groups of partial messages",
        "heard": "how much its peers have sent since the last heartbeat",
        "heartbeats": "its count of heartbeats",
        "kept": "the state of its own rules",
        "ledger": "the counters behind its peers' scores",
        "mesh": "its meshes",
        "own": "what it announces of partial messages",
        "passed_over": "for how long it has gossiped to others",
        "peers": "what it knows of its peers",
        "poor_for": "how long opportunistic grafting has been due",
        "scores": "the scores that the application gives to its peers",
        "seen": "which messages it has seen",
        "served": "how often it has answered IWANT",
        "started": "how many groups its peers have started",
        "topics": "the topics that it has joined",
        "unwanted": "its peers' IDONTWANTs",
        "waiting": "the messages that wait for validation",
        "windows": "the windows of its message cache",
    },
    "mempool": {
        "blocked": "whether HaveTx is blocked",
        "cache": "its cache",
        "duplicates": "its count of duplicates",
        "first_time": "its count of first-time transactions",
        "holders": "which peers have which transaction",
        "announcers": "who announced which transaction",
        "idle": "its count of idle intervals",
        "kept": "the state of its own rules",
        "own": "which transactions users have submitted",
        "peers": "what it knows of its peers",
        "pool": "its pool",
        "queued": "the announcements that wait for their turn",
        "ranks": "the ranks of its peers",
        "routes": "which routes are disabled",
        "slots": "the slots of its peers",
        "stuck": "whether a ResetRoute waits for a route",
        "taken": "which transaction of a signer is next",
        "undecided": "the transactions that wait for a stalled peer",
        "waiting_resets": "the ResetRoutes that wait for a stalled peer",
        "wanted": "what it has requested",
    },
}
"""Family -> field of its state -> what is in it, as an object of "ignores" and "does not update"."""

SWITCHES: Mapping[str, tuple[str, str]] = {
    "blocked": ("Blocks HaveTx", "Unblocks HaveTx"),
    "stuck": ("Begins to wait for a route", "Stops waiting for a route"),
}
"""Field of a state that is on or off -> what a router does that sets it, and that clears it."""

SENT: Mapping[str, str] = {
    "tx": "transaction",
    "have_tx": "HaveTx",
    "reset_route": "ResetRoute",
    "seen_tx": "SeenTx",
    "want_tx": "WantTx",
    "control": "control message",
}
"""Kind of message that goes alone -> in words."""

FAULTS: Mapping[Fault, str] = {
    "bytes": "as bytes that are no message",
    "channel": "on a channel where it does not belong",
    "key": "with a key that is no hash",
    "signer": "without the signer of the transaction",
}
"""What is wrong with a message that is sent -> in words."""

PLUS: Mapping[int, str] = {1: "plus", -1: "minus"}

KEY_MATCHES = "pubsub/signing.key-matches"
FLAWS: Mapping[str, tuple[str, str]] = {
    "unsigned": ("a missing signature", ""),
    "forged": ("a signature that does not verify", ""),
    "foreign-key": ("the signature and the key of another peer", KEY_MATCHES),
    "other-key": ("a key that is not its author's", KEY_MATCHES),
    "junk-key": ("a malformed key", ""),
    "any-key": ("a key that is another peer's or malformed", KEY_MATCHES),
    "any-signature": ("a missing or wrong signature or key", ""),
    "anything-signed": ("a missing or wrong signature or key, or without author or sequence number", ""),
    "no-key": ("a missing key", ""),
    "no-author": ("a missing author", ""),
    "no-seqno": ("a missing sequence number", ""),
    "stamped": ("an author, a sequence number or a signature that must not be there", ""),
}
"""What can be wrong with a message that is received -> what it is, and the clause where it has its own."""

_SIGNATURES = frozenset({"unsigned", "forged", "foreign-key", "other-key", "junk-key", "no-key"})
OVERLOOKED: Mapping[str, frozenset[str]] = {
    "any-key": frozenset({"other-key", "junk-key"}),
    "any-signature": _SIGNATURES,
    "anything-signed": _SIGNATURES | {"no-author", "no-seqno"},
}
"""Those that several flaws of a message are."""

STALE = "Publishes messages whose sequence number is no higher than an earlier one."

OPTIONAL: Mapping[str, str] = {
    "backoff_s": "the backoff",
    "peers": "the offered peers",
    "payload": "the payload",
    "metadata": "the parts metadata",
}
"""Fields of a message that may be left out -> what they hold."""


def leaving_out_field(name: str, *, handed_over: bool) -> str:
    return f"Leaves {OPTIONAL[name]} out of what it {'hands to the application' if handed_over else 'sends'}"


ANNOUNCED: Mapping[str, str] = {
    "backoff_s": "the backoff that a peer announces",
    "requests": "whether a peer requests partial messages",
    "supports": "whether a peer supports partial messages",
}
"""Fields of a message that comes in -> what they hold."""


JUDGED: Mapping[str, str] = {
    "accept": "that the application accepts",
    "reject": "that the application rejects",
    "ignore": "that the application ignores",
}
"""Verdict -> which messages."""
AS_JUDGED: Mapping[str, str] = {"accept": "accepted", "reject": "rejected", "ignore": "ignored"}

SETS: Mapping[str, str] = {
    "graft_candidates": "the peers that it grafts",
    "fanout_candidates": "the peers that it takes into its fanout",
    "gossip_candidates": "the peers that it gossips to",
    "relay": "the peers that it forwards a message to",
    "offered": "the peers that it offers in a PRUNE",
    "suppressed": "the peers that it sends no whole message to",
    "diverted": "the peers that it gossips parts to",
    "targets": "the peers that it forwards a transaction to",
    "lacking": "the peers that it announces a transaction to",
    "sources": "the peers that it requests a transaction from",
}
"""Handler of a set -> who is in it."""

SUMS: Mapping[str, str] = {
    "weighted_score": "the score",
    "topic_score": "the score in a topic",
}
"""Handler of a sum -> what it is."""
LEFT_OUT = ("Leaves ", " out of the score.")
"""Around the term, what is said of a router that lacks it in a sum."""

ANSWERS: Mapping[str, str] = {
    "graft": "a GRAFT",
    "prune": "a PRUNE",
    "subscribe": "a subscription",
    "unsubscribe": "the end of a subscription",
    "ihave": "an IHAVE",
    "iwant": "an IWANT",
    "idontwant": "an IDONTWANT",
    "message": "a message",
    "delivery": "the delivery of a message",
    "verdict": "the verdict of validation",
    "publish_to": "a message of its own",
    "exchange": "the peers that a PRUNE offers",
    "extension": "an extension",
    "partial": "a partial message",
    "tx": "a transaction",
    "first_time": "a new transaction",
    "again": "a transaction that it has seen",
    "have_tx": "a HaveTx",
    "reset_route": "a ResetRoute",
    "duplicate": "a duplicate",
    "new": "a new transaction",
    "seen_tx": "a SeenTx",
    "want_tx": "a WantTx",
    "arrived": "a transaction that it has requested",
}
"""Handler -> what its rules answer."""

FORGETTING: Mapping[str, str] = {
    "join": "Forgets {} in a topic when it joins the topic.",
    "leave": "Forgets {} in a topic when it leaves the topic.",
    "connect": "Forgets {} for a peer when the peer connects.",
    "disconnect": "Forgets {} for a peer when the peer disconnects.",
    "subscribe": "Forgets {} for a peer in a topic when the peer subscribes to it.",
    "unsubscribe": "Forgets {} for a peer in a topic when the peer unsubscribes.",
    "prune": "Forgets {} for a peer in a topic when it receives a PRUNE.",
    "heartbeat": "Forgets {} at each heartbeat.",
}
"""Handler -> when a router may forget something, and of what."""
FORGETTING_A_PEER = frozenset({"connect", "disconnect"})
FORGETTING_THE_SENDER: Mapping[str, str] = {
    "subscribe": "Forgets {} for a peer when the peer subscribes to a topic.",
    "unsubscribe": "Forgets {} for a peer when the peer unsubscribes from a topic.",
    "prune": "Forgets {} for a peer when it receives a PRUNE from the peer.",
}
"""The same of what is kept of the peer, whatever the topic."""
FORGETTING_ALL = "heartbeat"
NOT_FORGOTTEN = frozenset({"passed_over", "kept"})
"""Fields that no router has: one is there to judge chance by, one is of somebody's own protocol."""

PARTS_NAMED: Mapping[str, str] = {
    "IHave": "IHAVEs",
    "IWant": "IWANTs",
    "Graft": "GRAFTs",
    "Prune": "PRUNEs",
    "IDontWant": "IDONTWANTs",
    "Message": "messages",
}

RELAYED = frozenset(
    {
        "message",
        "delivery",
        "verdict",
        "publish_to",
        "tx",
        "first_time",
        "again",
        "duplicate",
        "new",
        "arrived",
    }
)
"""Those of them whose messages the protocol itself passes on to others."""

EXCLUDED: Mapping[str, str] = {
    "already_in_mesh": "mesh members",
    "backing_off": "peers in backoff",
    "backing_off_is_free": "peers in backoff",
    "below_gossip": "peers below the gossip threshold",
    "below_publish": "peers below the publish threshold",
    "explicit": "explicit peers",
    "explicit_beside_fanout": "explicit peers",
    "explicit_has_it": "explicit peers",
    "in_mesh_or_fanout": "mesh and fanout members",
    "scores_below_zero": "peers with a negative score",
}
"""Rule of an exclusion from such a set -> whom it excludes."""


def excluded(exclusion: Rule) -> str:
    """Whom it leaves out of a set."""
    return EXCLUDED.get(exclusion.name, f"peers that {exclusion.clause} is about")


def leaving_out(handler: str, exclusion: Rule) -> str:
    """What a router does whose set leaves out also those whom another set does."""
    return f"Leaves {excluded(exclusion)} out of {SETS[handler]}."


def instead(parameter: str, word: str, *, negative: bool = False) -> str:
    """What a router does that takes another value for a parameter; `word` is how the edit's name says it."""
    name = PARAMETERS[parameter]
    unit = next((said for end, said in UNITS.items() if parameter.endswith(end)), "one")
    infinity = "minus infinity" if negative else "infinity"
    if word == "endless" and name.startswith(BOUNDS):
        return f"Does not apply {name}"
    return {
        "switched": f"Reads the switch for {name} the wrong way round",
        "none": f"Ignores the list of {name}",
        "default": f"Uses the default for {name}, whatever is configured,",
        "one-more": _off_by_one(parameter, name, unit, "more"),
        "one-less": _off_by_one(parameter, name, unit, "less"),
        "zero": f"Uses 0 instead of {name}",
        "half": f"Uses half of {name}",
        "double": f"Uses twice {name}",
        "endless": f"Uses {infinity} instead of {name}",
    }[word]


def _off_by_one(parameter: str, name: str, unit: str, word: str) -> str:
    """A limit that is off by the least there is shows as a comparison that is strict and should not be, or
    the other way round: which of them is in the source cannot be seen."""
    time = parameter.endswith("_ms")
    if (
        time
        or parameter.endswith("_threshold")
        or parameter in ("d_low", "d_high")
        or name.startswith(BOUNDS)
    ):
        side = {"more": ("high", "late"), "less": ("low", "soon")}[word][time]
        return (
            f"Puts the boundary of {name} {unit} too {side} (a strict comparison in place of one that is "
            "not, or the reverse, does the same)"
        )
    return f"Uses {name} {'plus' if word == 'more' else 'minus'} {unit}"


def taken_for(parameter: str, other: str) -> str:
    """What a router does that reads one parameter as another."""
    return f"Uses {PARAMETERS[other]} instead of {PARAMETERS[parameter]}"
