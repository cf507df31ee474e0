"""Our own routers behind the seam: `open_ours` gives the `Driver` of one, a planted departure included.

The pubsub router is `quidnunc.impl.gossipsub.router`; those of a mempool are opened by
`quidnunc.impl.ours.mempool`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from attrs import evolve

from quidnunc.impl.gossipsub.core import FEATURES
from quidnunc.impl.gossipsub.partial import States
from quidnunc.impl.gossipsub.router import GossipsubRouter, RouterEffects
from quidnunc.impl.mempool.driver import PROTOCOLS as MEMPOOL_PROTOCOLS
from quidnunc.impl.seam import (
    AdapterError,
    Config,
    Delivery,
    Driver,
    Hello,
    PartialCall,
    PartialDecision,
    Reply,
    parameters_of,
)
from quidnunc.impl.wire.framing import FrameDecoder, frame
from quidnunc.model.events import FeedbackKind, Judgement
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Peer
from quidnunc.model.versions import VERSIONS

VERSION = "1"
PROTOCOLS = (*FEATURES, *MEMPOOL_PROTOCOLS)
"""Every protocol that `open_ours` opens."""

MAX_READ_BYTES = 1 << 32
"""The harness reads whatever the router writes."""
MAX_ADVANCE_MS = 7 * 24 * 3_600_000
"""A week: an advance runs every heartbeat on its way."""


def open_ours(config: Config, mutant: str | None = None) -> Driver:
    """Our router for `config.protocol`, one of `PROTOCOLS`. `mutant` names a planted departure,
    or another reading of an ambiguous text.

    Raises AdapterError for an unknown protocol or mutant, and for parameters that it cannot run under.
    """
    if config.protocol in MEMPOOL_PROTOCOLS:
        from quidnunc.impl.ours.mempool import open_mempool

        return open_mempool(config, mutant)
    if config.protocol not in FEATURES:
        raise AdapterError(f"ours does not speak {config.protocol!r}: choose one of {', '.join(PROTOCOLS)}")
    parameters = parameters_of(config, Parameters, f"ours ({config.protocol})")
    try:
        router = GossipsubRouter(parameters, protocol=config.protocol, seed=config.seed, own=config.identity)
    except ValueError as error:
        raise AdapterError(f"ours ({config.protocol}) cannot run so: {error}") from error
    if mutant is None:
        return PubsubDriver(router, name="ours")
    return PubsubDriver(router, name=f"ours:{mutant}", protocols=_plant(router, mutant))


def _plant(router: GossipsubRouter, mutant: str) -> tuple[str, ...]:
    """Make the departure, and say in which protocols it can be seen."""
    from quidnunc.impl.mutants.pubsub import MUTANTS
    from quidnunc.impl.ours.readings import READINGS_OF_OURS

    edit = MUTANTS.get(mutant) or READINGS_OF_OURS.get(mutant)
    if edit is None:
        raise AdapterError(f"ours has no pubsub mutant {mutant!r}; `quidnunc routers --all` lists them")
    first, here = edit.protocol, router.core.features.name
    seen = tuple(name for name, version in VERSIONS.items() if first in version.lineage)
    if here not in seen:
        raise AdapterError(f"ours:{mutant} differs from {first} on, and {here} does not add to that")
    edit.apply(router)
    return seen


class PubsubDriver:
    """The requests of the seam on one pubsub router, bytes and frames and all.

    A fault of the router is a reply with `crashed` set; after it, every request gets that reply.
    """

    def __init__(
        self, router: GossipsubRouter, *, name: str, protocols: tuple[str, ...] = tuple(FEATURES)
    ) -> None:
        self.router = router
        features = router.core.features
        since_1_1 = {"score", "explicit", "flood-publish", "score-parameters", "peer-exchange"}
        hardened = since_1_1 if features.hardened else set()
        extended = {"test-extension"} if features.extensions else set()
        extended |= {"partial", "feedback"} if features.partial else set()
        self.hello = Hello(
            name=name,
            version=VERSION,
            protocols=protocols,
            capabilities=frozenset(
                {"verdict", "state", "clock", "stall", "raw", "strict-no-sign", "identity", "message-limit"}
                | {"rsa-keys", "secp256k1-keys", "ecdsa-keys"}
                | hardened
                | extended
            ),
        )
        self._crashed = ""
        self._readers: dict[Peer, FrameDecoder] = {}
        self._gone: set[Peer] = set()
        # Whom the router closed, and the harness has not disconnected yet. What they say reaches nobody.

    # -- connections -------------------------------------------------------------------------------------

    def connect(self, peer: Peer, protocol: str, outbound: bool, address: int = 0) -> Reply:
        core = self.router.core
        if peer in core.neighbours:
            raise AdapterError(f"ours, connect {peer}: it is connected; disconnect it first")
        if protocol not in core.features.streams:
            spoken = ", ".join(core.features.streams)
            raise AdapterError(
                f"ours ({core.features.name}), connect {peer}: speaks {spoken}, not {protocol!r}"
            )
        self._gone.discard(peer)
        self._readers[peer] = FrameDecoder(max_bytes=MAX_READ_BYTES)
        return self._run(lambda: self.router.connect(peer, protocol, outbound=outbound, address=address))

    def disconnect(self, peer: Peer) -> Reply:
        reply = self._of_peer("disconnect", peer, lambda: self.router.disconnect(peer))
        self._gone.discard(peer)
        return reply

    def stall(self, peer: Peer) -> Reply:
        return self._of_peer("stall", peer, lambda: self.router.stall(peer))

    def resume(self, peer: Peer) -> Reply:
        return self._of_peer("resume", peer, lambda: self.router.resume(peer))

    # -- bytes -------------------------------------------------------------------------------------------

    def rpc(self, peer: Peer, data: bytes, channel: int = 0) -> Reply:
        """One RPC, unframed protobuf bytes."""
        if channel != 0:
            raise AdapterError(f"ours, rpc from {peer}: pubsub has channel 0 alone, got {channel}")
        return self.raw(peer, frame(data))

    def raw(self, peer: Peer, data: bytes) -> Reply:
        """Bytes as they are on the stream, framing included."""
        return self._of_peer("rpc", peer, lambda: self.router.receive(peer, data))

    # -- the application ---------------------------------------------------------------------------------

    def join(self, topic: str) -> Reply:
        return self._run(lambda: self.router.join(topic))

    def join_partial(self, topic: str, requests: bool, supports: bool) -> Reply:
        return self._run(lambda: self.router.join(topic, requests=requests, supports=supports))

    def publish_partial(self, topic: str, group: bytes, decisions: Sequence[PartialDecision]) -> Reply:
        """The application answers with `decisions` whatever it is offered; what it is offered is noted."""
        offers: list[PartialCall] = []

        def decide(states: States, requests: Callable[[Peer], bool]) -> Iterator[PartialDecision]:
            for peer, state in sorted(states.items()):
                kept = state if isinstance(state, bytes) else None
                offers.append(
                    PartialCall(
                        kind="offer", topic=topic, group=group, peer=peer, state=kept, requests=requests(peer)
                    )
                )
            yield from decisions

        reply = self._run(lambda: self.router.publish_partial(topic, group, decide))
        return evolve(reply, partial=(*offers, *reply.partial))

    def feedback(self, topic: str, peer: Peer, kind: FeedbackKind) -> Reply:
        """What the parts of a peer were worth; of one that is not connected it counts for nothing."""
        return self._run(lambda: self.router.feedback(topic, peer, kind))

    def leave(self, topic: str) -> Reply:
        return self._run(lambda: self.router.leave(topic))

    def publish(self, topic: str, data: bytes) -> Reply:
        limit = self.router.core.parameters.max_message_bytes
        if len(data) > limit:
            # The router refuses this to its application; at the seam a refusal is that nothing happens.
            return self._reply()
        return self._run(lambda: self.router.publish(topic, data))

    def verdict(self, message_id: bytes, judgement: Judgement) -> Reply:
        return self._run(lambda: self.router.judge(message_id, judgement))

    def score(self, peer: Peer, value: int) -> Reply:
        """The application can score a peer that is not connected."""
        return self._run(lambda: self.router.set_score(peer, value))

    def advance(self, ms: int) -> Reply:
        if not 0 <= ms <= MAX_ADVANCE_MS:
            raise AdapterError(f"ours, advance {ms} ms: need 0 to {MAX_ADVANCE_MS}; take it in several steps")
        return self._run(lambda: self.router.advance(ms))

    def submit(self, tx: bytes) -> Reply:
        raise self._no_mempool("submit")

    def commit(self, tx: bytes) -> Reply:
        raise self._no_mempool("commit")

    def adjust(self) -> Reply:
        raise self._no_mempool("adjust")

    # -- views -------------------------------------------------------------------------------------------

    def state(self) -> Reply:
        """Peers by topic, for people to read."""
        router = self.router
        return self._reply(
            {
                "topics": sorted(router.core.joined),
                "mesh": {topic: sorted(peers) for topic, peers in sorted(router.mesh.of.items())},
                "fanout": {topic: sorted(peers) for topic, peers in sorted(router.fanout.of.items())},
                "backoff_ends_ms": [
                    [topic, peer, ends_ms]
                    for (topic, peer), ends_ms in sorted(router.mesh.backoff_ends_ms.items())
                ],
                "peers": {
                    str(peer): {
                        "stream": each.stream,
                        "outbound": each.outbound,
                        "topics": sorted(each.topics),
                    }
                    for peer, each in sorted(router.core.neighbours.items())
                },
                "waiting": len(router.relay.waiting),
                "cached": len(router.gossip.cache),
            }
        )

    def close(self) -> None:
        """Nothing is held that needs closing."""

    # -- the common part ---------------------------------------------------------------------------------

    def _of_peer(self, request: str, peer: Peer, act: Callable[[], None]) -> Reply:
        if peer in self._gone:
            return self._reply()
        if peer not in self.router.core.neighbours:
            raise AdapterError(f"ours, {request} {peer}: it is not connected; connect it first")
        return self._run(act)

    def _run(self, act: Callable[[], None]) -> Reply:
        if not self._crashed:
            try:
                act()
            except Exception as error:
                self._crashed = f"{type(error).__name__}: {error}"
        return self._reply()

    def _reply(self, state: dict[str, object] | None = None) -> Reply:
        effects = self.router.take()
        self._gone.update(effects.closed)
        return Reply(
            t_ms=self.router.core.now_ms,
            out=self._unframed(effects),
            delivered=tuple(Delivery(topic=topic, data=data) for topic, data in effects.delivered),
            dials=effects.dials,
            closed=effects.closed,
            crashed=self._crashed,
            state=state or {},
            partial=effects.partial,
        )

    def _unframed(self, effects: RouterEffects) -> tuple[tuple[Peer, int, bytes], ...]:
        """What a peer reads off its stream."""
        out: list[tuple[Peer, int, bytes]] = []
        for peer, written in effects.frames:
            payloads, error = self._readers[peer].feed(written)
            out += [(peer, 0, payload) for payload in payloads]
            if error is not None:
                self._crashed = f"wrote a bad frame: {error}"
        return tuple(out)

    def _no_mempool(self, request: str) -> AdapterError:
        return AdapterError(
            f"ours ({self.router.core.features.name}), {request}: transactions need protocol flood or dog"
        )
