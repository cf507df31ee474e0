"""What the release of py-libp2p in this environment is and takes: looked up by name and signature, never by
version.

Also its additions to the protocol (`release.toml`), and how each is switched off.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import logging
import os
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from attrs import field, frozen

from quidnunc.impl.drivers.py_libp2p.host import FakeHost, HostLibrary
from quidnunc.impl.drivers.py_libp2p.loop import substitute
from quidnunc.impl.seam import AdapterError, Config
from quidnunc.impl.wire import keys
from quidnunc.model.errors import install_words
from quidnunc.model.events import FLOODSUB, MESHSUB_1_0, MESHSUB_1_1, MESHSUB_1_2, MESHSUB_1_3
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Peer

VALIDATION_TIMEOUT_S = 3600
"""Of an asynchronous validator, where the release has one: verdicts are the harness's to time."""

NEVER_TICKS = 1 << 31
"""Heartbeats between two acts of what is switched off."""

NEVER_MS = 1 << 31
"""How long seen ids are kept by a release that never forgets them because of their age."""

VALIDATORS_MAX = 100_000
"""Messages that may wait for a verdict at a time; the default of ten would deadlock a harness."""

_SPOKEN = (
    # (protocol of the kit, protocol of the stream, the constant that a release which speaks it has)
    ("gossipsub-1.0", MESHSUB_1_0, "PROTOCOL_ID"),
    ("gossipsub-1.1", MESHSUB_1_1, "PROTOCOL_ID_V11"),
    ("gossipsub-1.2-draft", MESHSUB_1_2, "PROTOCOL_ID_V12"),
    ("gossipsub-1.2", MESHSUB_1_2, "PROTOCOL_ID_V12"),
    ("gossipsub-1.3", MESHSUB_1_3, "PROTOCOL_ID_V13"),
)


def _answers(methods: Mapping[str, object]) -> Mapping[str, object]:
    """TOML has no None."""
    return {name: None if answer == "None" else answer for name, answer in methods.items()}


@frozen(kw_only=True)
class ProtocolAddition:
    """One addition of the router to the protocol, and what switches it off."""

    name: str
    says: str
    """What the router does that the protocol does not have, as the rest of "Adds ..."."""
    clauses: tuple[str, ...] = field(converter=tuple)
    """Sentences (globs) whose verdicts lean on whether it is on."""
    argument: str = ""
    """A boolean argument of the constructor."""
    methods: Mapping[str, object] = field(factory=dict, converter=_answers)
    """Methods of the router to replace, each by one that does nothing but answer this.

    Synchronous or not as the original is; a method that the release lacks is left alone.
    """
    otherwise: Mapping[str, object] = field(factory=dict, converter=_answers)
    """Methods to replace instead, in releases that have none of `methods`."""

    def is_in(self, router: Any) -> bool:
        """Whether this class of router has it."""
        methods = (*self.methods, *self.otherwise)
        return self.argument in _arguments(router) or any(hasattr(router, name) for name in methods)


_TEXT = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
ADDITIONS = tuple(ProtocolAddition(name=name, **row) for name, row in tomllib.loads(_TEXT).items())


@frozen(eq=False)
class InstalledRelease:
    """The installed py-libp2p."""

    version: str
    kit: HostLibrary
    pubsub: Any
    gossipsub: Any
    floodsub: Any
    service: Callable[[Any], Any]
    """`background_trio_service`, from where this release keeps it."""

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols of the kit that this release says it speaks."""
        # Releases before 0.4 have a constant of 1.1 and refuse its peers.
        taken = self.gossipsub.GossipSub.add_peer.__code__.co_names
        spoken = tuple(name for name, _, constant in _SPOKEN if constant in taken)
        return ("floodsub", *spoken)

    @property
    def forgets_seen(self) -> bool:
        """Whether seen ids are forgotten by age, and not only when they are too many (before 0.2.3)."""
        return hasattr(self.pubsub, "LastSeenCache")

    @property
    def has_scores(self) -> bool:
        """Whether an application-specific score can be given."""
        return "app_specific_score_fn" in self._score_arguments()

    @property
    def key_types(self) -> frozenset[str]:
        """The types of keys whose messages it verifies, by the capability of each."""
        taken = importlib.import_module("libp2p.crypto.serialization").key_type_to_public_key_deserializer
        kinds: Any = importlib.import_module("libp2p.crypto.keys").KeyType
        named = {"rsa-keys": kinds.RSA, "secp256k1-keys": kinds.Secp256k1}
        return frozenset(name for name, kind in named.items() if kind.value in taken)

    @property
    def has_explicit_peers(self) -> bool:
        return "direct_peers" in _arguments(self.gossipsub.GossipSub)

    def _score_arguments(self) -> frozenset[str]:
        parameters = getattr(self.gossipsub, "ScoreParams", None)
        return _arguments(parameters) if parameters else frozenset()

    @property
    def additions(self) -> tuple[ProtocolAddition, ...]:
        """What this release adds to gossipsub."""
        return tuple(each for each in ADDITIONS if each.is_in(self.gossipsub.GossipSub))

    def fixed(self, config: Config, parameters: Parameters) -> dict[str, float]:
        """Parameters that the release sets itself: how many are gossiped to stands in its code, and own
        messages go to the mesh or the fanout alone."""
        if config.protocol == "floodsub":
            return {}
        # Its opportunistic grafting has times and scores of its own, and where it is off there is no other.
        is_off = any(each.name == "opportunistic-grafting" for each in self.off(config))
        fixed: dict[str, float] = {"opportunistic_graft_ticks": NEVER_TICKS} if is_off else {}
        if not self.forgets_seen:
            fixed["seen_ttl_ms"] = NEVER_MS
        if hasattr(self.gossipsub.GossipSub, "_check_ihave_rate_limit"):
            # It has no limit on the ids of an IHAVE, which the specification demands: any value shows that.
            fixed["max_ihave_messages"] = 10
        if hasattr(self.gossipsub.GossipSub, "_get_adaptive_gossip_peers_count"):
            return fixed | {"d_lazy": 6, "gossip_factor": 0.25, "flood_publish": 0}
        # Before 0.6: as many as the mesh should have, and no share of the rest.
        return fixed | {"d_lazy": parameters.d, "gossip_factor": 0.0, "flood_publish": 0}

    def streams(self, protocol: str) -> tuple[str, ...]:
        """What a router of this protocol offers its peers, the best first. Raises AdapterError."""
        if protocol not in self.protocols:
            spoken = ", ".join(self.protocols)
            raise AdapterError(
                f"py-libp2p {self.version} does not speak {protocol!r}: choose one of {spoken}"
            )
        if protocol == "floodsub":
            return (FLOODSUB,)
        offered: list[str] = []
        for name, stream, _ in _SPOKEN:
            if stream not in offered:
                offered.append(stream)
            if name == protocol:
                break
        return (*reversed(offered), FLOODSUB)

    def off(self, config: Config) -> tuple[ProtocolAddition, ...]:
        """The additions that are off. Raises AdapterError for a name of none of the table."""
        names = {each.name for each in ADDITIONS}
        if unknown := sorted(set(config.without) - names):
            raise AdapterError(
                f"py-libp2p: no addition {', '.join(unknown)}; there are {', '.join(sorted(names))}"
            )
        if config.protocol == "floodsub":
            return ()
        return tuple(each for each in self.additions if not config.extras or each.name in config.without)

    def switched(self, config: Config) -> dict[str, tuple[str, ...]]:
        """What the driver makes of this router that is not its default, and which clauses lean on it."""
        told: dict[str, tuple[str, ...]] = {
            "it sets the timeout of validators to an hour and lets 100,000 wait at a time": (
                "gs1.1/validation.*",
                "pubsub/validation.*",
            ),
        }
        if self.forgets_seen:
            told["it lets the cache of seen ids forget in virtual time"] = ("gs1.0/seen.ttl",)
        if config.protocol == "floodsub":
            return told
        if self.has_scores:
            text = "it sets the thresholds, which are off by default, and gives weight to the application's"
            told[f"{text} score alone"] = ("gs1.1/threshold.*", "gs1.1/score.*")
        for each in self.off(config):
            told[f"it switches off {each.name}: {each.says}"] = each.clauses
        return told

    def router(
        self, host: FakeHost, parameters: Parameters, score: Callable[[Any], float], config: Config
    ) -> Any:
        """A GossipSub or FloodSub of these parameters, with its additions as asked."""
        streams = list(self.streams(config.protocol))
        if config.protocol == "floodsub":
            return self.floodsub.FloodSub(streams)
        wanted = self.arguments(parameters, config)
        wanted["direct_peers"] = [host.info_of(peer) for peer in sorted(parameters.explicit_peers)]
        if self.has_scores:
            given = self.thresholds(parameters)
            wanted["score_params"] = self.gossipsub.ScoreParams(**given, app_specific_score_fn=score)
        router = self.gossipsub.GossipSub(**_known(self.gossipsub.GossipSub, wanted))
        for each in self.off(config):
            _switch_off(router, each)
        return router

    def arguments(self, parameters: Parameters, config: Config) -> dict[str, object]:
        """Arguments of GossipSub that are numbers, flags, or lists of text."""
        wanted = _router_arguments(parameters) | {"protocols": list(self.streams(config.protocol))}
        wanted |= {each.argument: False for each in self.off(config) if each.argument}
        return _known(self.gossipsub.GossipSub, wanted)

    def thresholds(self, parameters: Parameters) -> dict[str, float]:
        """Arguments of ScoreParams that are numbers."""
        # Of the components only the application's has a weight: the kit dictates the score, as P5 does.
        wanted = {
            "publish_threshold": float(parameters.publish_threshold),
            "gossip_threshold": float(parameters.gossip_threshold),
            "graylist_threshold": float(parameters.graylist_threshold),
            "accept_px_threshold": 0.0,
            "p6_appl_slack_weight": 1.0,
        }
        known = self._score_arguments()
        return {name: value for name, value in wanted.items() if name in known}

    def service_arguments(self, parameters: Parameters) -> dict[str, object]:
        """Arguments of Pubsub, less the function of message ids."""
        wanted = {
            "seen_ttl": _whole(parameters.seen_ttl_ms),
            "strict_signing": parameters.signature_policy == "StrictSign",
            "max_concurrent_validator_count": VALIDATORS_MAX,
            "validation_timeout": float(VALIDATION_TIMEOUT_S),
        }
        return _known(self.pubsub.Pubsub, wanted)

    def attached(self, host: FakeHost, router: Any, parameters: Parameters, config: Config) -> Any:
        """The Pubsub around `router`. As shipped, it makes ids of author and seqno by its own function."""
        _issue_record(host)
        wanted = self.service_arguments(parameters)
        if not config.extras or parameters.message_id != "origin":
            wanted["msg_id_constructor"] = MESSAGE_IDS[parameters.message_id]
        return self.pubsub.Pubsub(host, router, **_known(self.pubsub.Pubsub, wanted))


def _origin_id(message: Any) -> bytes:
    return bytes(message.from_id) + bytes(message.seqno)


def _content_id(message: Any) -> bytes:
    return hashlib.sha256(message.data).digest()


def _hex_id(message: Any) -> bytes:
    return _content_id(message).hex().encode()


MESSAGE_IDS: Mapping[str, Callable[[Any], bytes]] = {
    "origin": _origin_id,
    "content": _content_id,
    "hex": _hex_id,
}


def _router_arguments(parameters: Parameters) -> dict[str, object]:
    """Arguments of GossipSub. It has none for D_score, D_out, and the limits on IHAVE and IWANT; `fixed` has
    those that it sets itself."""
    return {
        "degree": parameters.d,
        "degree_low": parameters.d_low,
        "degree_high": parameters.d_high,
        "time_to_live": _whole(parameters.fanout_ttl_ms),
        "gossip_window": parameters.mcache_gossip,
        "gossip_history": parameters.mcache_len,
        "heartbeat_initial_delay": _whole(parameters.heartbeat_delay_ms),
        "heartbeat_interval": _whole(parameters.heartbeat_interval_ms),
        "prune_back_off": parameters.prune_backoff_s,
        "unsubscribe_back_off": parameters.unsubscribe_backoff_s,
        "max_idontwant_messages": parameters.max_idontwant_messages,
    }


def _whole(ms: int) -> float:
    """In seconds; an int where it is one, since the router's own default is."""
    return ms // 1000 if ms % 1000 == 0 else ms / 1000


def _known(constructor: Any, wanted: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in wanted.items() if name in _arguments(constructor)}


@lru_cache(maxsize=16)
def _arguments(constructor: Any) -> frozenset[str]:
    return frozenset(inspect.signature(constructor).parameters)


def _switch_off(router: Any, addition: ProtocolAddition) -> None:
    for name, (answer, is_async) in replaced_methods(router, addition).items():
        setattr(router, name, _answering(answer, is_async))


def replaced_methods(router: Any, addition: ProtocolAddition) -> dict[str, tuple[object, bool]]:
    """Method of this router or class -> what it answers without the addition, and whether it is `async`."""
    present = {name: answer for name, answer in addition.methods.items() if hasattr(router, name)}
    found = {}
    for name, answer in (present or addition.otherwise).items():
        original = getattr(router, name, None)
        if original is not None:
            found[name] = answer, inspect.iscoroutinefunction(original)
    return found


def _answering(answer: object, is_async: bool) -> Callable[..., object]:
    async def later(*_: object, **__: object) -> object:
        return answer

    def now(*_: object, **__: object) -> object:
        return answer

    return later if is_async else now


def switched_off(router: Any) -> list[str]:
    """Which additions of the table this router object has, and has off."""
    names = []
    for each in ADDITIONS:
        replaced = any(name in vars(router) for name in (*each.methods, *each.otherwise))
        if replaced or (each.argument and getattr(router, each.argument, None) is False):
            names.append(each.name)
    return names


def _issue_record(host: FakeHost) -> None:
    """Let the router sign its peer record now, in releases that have one, and not when it first sends it.

    The record is numbered by a counter of the whole process, which would make a run depend on others.
    """
    if importlib.util.find_spec("libp2p.peer.peer_record") is None:
        return
    record: Any = importlib.import_module("libp2p.peer.peer_record")
    store: Any = importlib.import_module("libp2p.peer.peerstore")
    if hasattr(record, "_last_timestamp") and hasattr(store, "env_to_send_in_RPC"):
        record._last_timestamp = 0
        store.env_to_send_in_RPC(host)


def reason_unavailable() -> str:
    """Why py-libp2p cannot be driven here, and what to do; empty where it can."""
    if importlib.util.find_spec("libp2p") is None:
        return f"the package libp2p is not installed: {install_words('py-libp2p')}"
    try:
        installed_release()
    except AdapterError as error:
        return str(error)
    return ""


def installed_version() -> str:
    try:
        return importlib.metadata.version("libp2p")
    except importlib.metadata.PackageNotFoundError:
        return ""


@lru_cache(maxsize=1)
def installed_release() -> InstalledRelease:
    """The release in this environment. Raises AdapterError where it is absent, broken or too old."""
    version = installed_version() or "(unknown version)"
    try:
        release = _load(version)
    except ImportError as error:
        raise AdapterError(
            f"py-libp2p {version} cannot be imported ({error}): install it with what it needs, "
            + install_words("py-libp2p")
        ) from error
    except AttributeError as error:
        raise AdapterError(
            f"py-libp2p {version} is too old for the driver ({error}): install 0.2.0 or later"
        ) from error
    substitute(("libp2p.pubsub", "libp2p.peer.", "libp2p.tools.timed_cache", "libp2p.tools.anyio_service"))
    if not os.environ.get("LIBP2P_DEBUG"):
        # It warns of every malformed message it is sent, which is what it is here for.
        for name in ("libp2p", "async_service"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return release


@frozen(eq=False)
class _SigningKey:
    """The router's Ed25519 key for releases whose own sign nothing that verifies (before 0.5)."""

    peer: Peer
    public_key: Any

    def sign(self, data: bytes) -> bytes:
        return keys.sign(self.peer, data)

    def get_public_key(self) -> Any:
        return self.public_key

    def get_type(self) -> Any:
        return self.public_key.get_type()


@lru_cache(maxsize=4096)
def _router_key(peer: Peer) -> Any:
    """The key of a router that is `peer`: the release's own where that is what its seed stands for."""
    ed25519 = importlib.import_module("libp2p.crypto.ed25519")
    own = ed25519.create_new_key_pair(peer.to_bytes(4, "little") + bytes(28)).private_key
    public = keys.public_key(peer)[-32:]
    if own.get_public_key().to_bytes() == public:
        return own
    return _SigningKey(peer, ed25519.Ed25519PublicKey.from_bytes(public))


def _load(version: str) -> InstalledRelease:
    def of(module: str, name: str) -> Any:
        return getattr(importlib.import_module(module), name)

    service = "libp2p.tools.anyio_service"
    if importlib.util.find_spec(service) is None:
        service = "libp2p.tools.async_service"
    kit = HostLibrary(
        trio=importlib.import_module("trio"),
        private_key=_router_key,
        peer_id=of("libp2p.peer.id", "ID"),
        peer_info=of("libp2p.peer.peerinfo", "PeerInfo"),
        address=of("multiaddr", "Multiaddr"),
        peer_store=of("libp2p.peer.peerstore", "PeerStore"),
        end_of_stream=of("libp2p.network.stream.exceptions", "StreamEOF"),
        stream_closed=of("libp2p.network.stream.exceptions", "StreamClosed"),
        cannot_connect=of("libp2p.network.exceptions", "SwarmException"),
    )
    return InstalledRelease(
        version=version,
        kit=kit,
        pubsub=importlib.import_module("libp2p.pubsub.pubsub"),
        gossipsub=importlib.import_module("libp2p.pubsub.gossipsub"),
        floodsub=importlib.import_module("libp2p.pubsub.floodsub"),
        service=of(service, "background_trio_service"),
    )
