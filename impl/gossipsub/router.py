"""Our pubsub router: floodsub, gossipsub v1.0, v1.1, v1.2 in its draft and in r1, v1.3, and
partial messages.

It does no I/O and reads no clock: bytes of streams come in, framed bytes go out, and time is told. What it
does is spread over its parts; here is what comes when: `intake`, `control` and `beats` are phases, in order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from random import Random

from attrs import field, frozen
from google.protobuf.message import DecodeError

from quidnunc.impl.gossipsub.core import FEATURES, ConnectedPeer, RouterCore, VersionFeatures
from quidnunc.impl.gossipsub.extensions import ExtensionSupport
from quidnunc.impl.gossipsub.fanout import Fanout
from quidnunc.impl.gossipsub.gossip import Gossip
from quidnunc.impl.gossipsub.mesh import Mesh
from quidnunc.impl.gossipsub.outbox import MAX_IDS_PER_ENTRY, Outbox
from quidnunc.impl.gossipsub.partial import Decide, PartialMessages
from quidnunc.impl.gossipsub.relay import Relay
from quidnunc.impl.seam import PartialCall
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.framing import MAX_FRAME_BYTES, FrameDecoder
from quidnunc.model.events import FeedbackKind, Judgement
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import PARTIAL_EXTENSION, ROUTER, TEST_EXTENSION, Peer

EXPLICIT_CHECK_MS = 300_000
"""How often lost connections to explicit peers are dialled again; the text recommends five minutes."""


@frozen
class RouterEffects:
    """What the router did since it was last asked."""

    frames: tuple[tuple[Peer, bytes], ...] = ()
    """(peer, bytes for its stream): one whole frame each."""
    delivered: tuple[tuple[str, bytes], ...] = ()
    """(topic, data) for the application."""
    dials: tuple[Peer, ...] = ()
    closed: tuple[Peer, ...] = field(default=())
    """Peers whose stream was closed because of what they sent."""
    partial: tuple[PartialCall, ...] = ()
    """What the application was called for about partial messages, where it is not one of its own."""


class GossipsubRouter:
    """One pubsub router. `protocol` is a name of `FEATURES`, as in `Config.protocol`.

    Every method but `take` and the views is an event. Raises ValueError for an unknown protocol, and for
    parameters under which it could not run.
    """

    def __init__(
        self, parameters: Parameters, *, protocol: str = "gossipsub-1.2", seed: int = 0, own: Peer = ROUTER
    ) -> None:
        features = FEATURES.get(protocol)
        if features is None:
            raise ValueError(f"protocol {protocol!r} is none of {', '.join(FEATURES)}")
        _check(parameters)
        self.core = RouterCore(parameters, features, Random(seed), own)
        self.outbox = Outbox(ids_per_idontwant=MAX_IDS_PER_ENTRY if features.must_skip else 1)
        # The draft has one id per entry of IDONTWANT.
        self.mesh = Mesh(self.core, self.outbox)
        self.fanout = Fanout(self.core)
        self.gossip = Gossip(self.core, self.outbox, self.mesh, self.fanout)
        self.relay = Relay(self.core, self.outbox, self.mesh, self.fanout, self.gossip)
        self.extensions = ExtensionSupport(self.core, self.outbox, own_extensions(features, parameters))
        self.partial = PartialMessages(self.core, self.outbox, self.mesh, self.fanout, self.extensions)
        self.next_heartbeat_ms = parameters.heartbeat_delay_ms
        self.next_decay_ms = parameters.scores.decay_interval_ms if parameters.scores is not None else 0
        self._next_check_ms = EXPLICIT_CHECK_MS
        self._dials: list[Peer] = []
        self._closed: list[Peer] = []
        self.intake: list[Callable[[Peer, wire.RPC], None]] = [
            self.read_subscriptions,
            self.read_messages,
            self.read_control,
        ]
        self.control: list[Callable[[Peer, wire.ControlMessage], None]] = [
            self.gossip.on_ihave,
            self.gossip.on_iwant,
            self.read_grafts,
            self.read_prunes,
            self.gossip.on_idontwant,
        ]
        self.beats: list[Callable[[], None]] = [
            self.gossip.watch.heartbeat,
            self.gossip.start_heartbeat,
            self.mesh.heartbeat,
            self.fanout.heartbeat,
            self.gossip.emit,
            self.gossip.cache.shift,
            self.check_explicit,
        ]
        if features.extensions:
            self.intake.insert(0, self.extensions.on_rpc)
        if features.partial:
            self.attach_partial()
        self.dial_explicit()

    def attach_partial(self) -> None:
        """Partial messages have a say in what full messages, gossip and IDONTWANT go to whom."""
        self.intake.append(self.partial.on_rpc)
        self.beats.append(self.partial.heartbeat)
        partial = self.partial
        self.relay.spared = lambda topic: partial.spared(topic)  # type: ignore[method-assign]
        self.gossip.not_told = lambda topic: partial.senders_of_parts(topic)  # type: ignore[method-assign]
        self.gossip.divert = lambda topic, targets: partial.divert(topic, targets)  # type: ignore[method-assign]

    def take(self) -> RouterEffects:
        """Everything done since the last call."""
        frames, self.outbox.frames = tuple(self.outbox.frames), []
        delivered, self.relay.delivered = tuple(self.relay.delivered), []
        dials, self._dials = (*self._dials, *self.mesh.exchange.dials), []
        self.mesh.exchange.dials.clear()
        closed, self._closed = tuple(self._closed), []
        return RouterEffects(frames, delivered, dials, closed, self.partial.taken())

    # -- connections -------------------------------------------------------------------------------------

    def connect(self, peer: Peer, stream: str, *, outbound: bool, address: int = 0) -> None:
        """Streams of that protocol are open both ways. The peer is told our topics first of all.

        Peers of one `address`, from 1, share an IP; with 0 one shares its own with nobody.

        Raises ValueError where the peer is connected, or the stream is none that this version speaks.
        """
        if peer in self.core.neighbours:
            raise ValueError(f"peer {peer} is connected already")
        if stream not in self.core.features.streams:
            spoken = ", ".join(self.core.features.streams)
            raise ValueError(f"{self.core.features.name} does not speak {stream!r}, only {spoken}")
        limit = max(MAX_FRAME_BYTES, 2 * self.core.parameters.max_message_bytes)
        self.core.greet(peer, ConnectedPeer(stream, outbound, FrameDecoder(max_bytes=limit)))
        self.mesh.exchange.connected(peer)
        if self.core.keeper is not None:
            self.core.keeper.connected(peer, address)
        self.say_hello(peer)
        self.outbox.flush()

    def say_hello(self, peer: Peer) -> None:
        self.extensions.greet(peer)
        if self.core.joined:
            self.outbox.to(peer).subscriptions = dict.fromkeys(sorted(self.core.joined), True)
            self.outbox.to(peer).flags = dict(self.partial.own)

    def disconnect(self, peer: Peer) -> None:
        """The peer is gone: from the mesh, the fanout and every set of candidates."""
        if peer not in self.core.neighbours:
            return
        self.mesh.forget(peer)
        self.fanout.forget(peer)
        self.gossip.forget(peer)
        self.extensions.forget(peer)
        self.partial.forget(peer)
        self.outbox.forget(peer)
        self.core.forget(peer)

    def close(self, peer: Peer) -> None:
        """Its bytes cannot be read, and neither can any that come after them."""
        self.disconnect(peer)
        self._closed.append(peer)

    def stall(self, peer: Peer) -> None:
        """The peer stopped reading."""
        self.outbox.stall(peer)

    def resume(self, peer: Peer) -> None:
        """It reads again."""
        self.outbox.resume(peer)

    # -- bytes of a peer ---------------------------------------------------------------------------------

    def receive(self, peer: Peer, chunk: bytes) -> None:
        """The next bytes of the stream of a connected peer, in any portions."""
        payloads, error = self.core.neighbours[peer].decoder.feed(chunk)
        for payload in payloads:
            rpc = parsed_rpc(payload)
            if rpc is None:
                self.close(peer)
                break
            self.read(peer, rpc)
        if error is not None and peer in self.core.neighbours:
            self.close(peer)
        self.outbox.flush()

    def read(self, peer: Peer, rpc: wire.RPC) -> None:
        if not self.is_graylisted(peer):
            for phase in self.intake:
                phase(peer, rpc)

    def is_graylisted(self, peer: Peer) -> bool:
        """Whether nothing counts that the peer sends. What explicit peers send always does."""
        return self.core.score(peer) < self.core.parameters.graylist_threshold and not self.core.is_explicit(
            peer
        )

    def read_subscriptions(self, peer: Peer, rpc: wire.RPC) -> None:
        for each in rpc.subscriptions:
            topic = each.topicid
            if not isinstance(topic, str):
                # What protobuf gives for a string that is not UTF-8. No topic of ours is called that.
                continue
            if each.subscribe:
                self.core.enter(peer, topic)
                self.partial.enter(peer, topic, each.requestsPartial, each.supportsSendingPartial)
            else:
                self.core.quit(peer, topic)
                self.partial.quit(peer, topic)
                self.mesh.quit(peer, topic)
                self.fanout.quit(peer, topic)

    def read_messages(self, peer: Peer, rpc: wire.RPC) -> None:
        for message in rpc.publish:
            self.relay.on_message(peer, message)

    def read_control(self, peer: Peer, rpc: wire.RPC) -> None:
        """Floodsub has no control messages."""
        if rpc.HasField("control") and not self.core.neighbours[peer].speaks_floodsub:
            for phase in self.control:
                phase(peer, rpc.control)

    def read_grafts(self, peer: Peer, control: wire.ControlMessage) -> None:
        for graft in control.graft:
            if isinstance(graft.topicID, str):
                self.mesh.on_graft(peer, graft.topicID)

    def read_prunes(self, peer: Peer, control: wire.ControlMessage) -> None:
        for prune in control.prune:
            if prune.peers and peer in self.mesh.of.get(prune.topicID, ()):
                self.mesh.exchange.on_offer(peer, prune.peers)
            announced_s = prune.backoff if prune.HasField("backoff") else None
            self.mesh.on_prune(peer, prune.topicID, announced_s)

    # -- the application ---------------------------------------------------------------------------------

    def join(self, topic: str, *, requests: bool = False, supports: bool = False) -> None:
        """Enter a topic; a topic that we are in is let be. `requests` and `supports` are of partial messages;
        whoever requests them also supports sending them."""
        if topic in self.core.joined:
            return
        self.partial.join(topic, requests, supports)
        self.core.joined.add(topic)
        self.announce(topic, True)
        self.mesh.join(topic, self.fanout.take(topic))
        self.outbox.flush()

    def sign_laxly(self) -> None:
        """The legacy policies: StrictSign becomes LaxSign, and StrictNoSign LaxNoSign. Own messages are as
        before; of others a signature is verified where there is one, and missed nowhere."""
        said = "LaxSign and LaxNoSign are legacy, and any peer can speak for another: use a strict policy"
        warnings.warn(said, DeprecationWarning, stacklevel=2)
        self.core.lax = True

    def leave(self, topic: str) -> None:
        """Leave a topic; a topic that we are not in is let be."""
        if topic not in self.core.joined:
            return
        self.core.joined.discard(topic)
        self.announce(topic, False)
        self.mesh.leave(topic)
        self.partial.leave(topic)
        self.outbox.flush()

    def announce(self, topic: str, inside: bool) -> None:
        """To every peer, whether or not the topic is one of theirs."""
        for peer in self.told_of(topic):
            pending = self.outbox.to(peer)
            pending.subscriptions[topic] = inside
            if topic in self.partial.own:
                pending.flags[topic] = self.partial.own[topic]

    def told_of(self, topic: str) -> list[Peer]:
        return sorted(self.core.neighbours)

    def publish(self, topic: str, data: bytes) -> None:
        """Raises ValueError where the message is too long."""
        self.relay.publish(topic, data)
        self.outbox.flush()

    def publish_partial(self, topic: str, group: bytes, decide: Decide) -> None:
        """The application publishes what it has of a group: `decide` is asked what to send to whom. In a
        callback of the application it calls `partial.publish` itself."""
        self.partial.publish(topic, group, decide)
        self.outbox.flush()

    def judge(self, id_bytes: bytes, judgement: Judgement) -> None:
        """The verdict on a message that waits for one."""
        self.relay.judge(id_bytes, judgement)
        self.outbox.flush()

    def set_score(self, peer: Peer, value: int) -> None:
        """The application's term, which without score parameters is all of our score."""
        self.core.scores[peer] = value

    def feedback(self, topic: str, peer: Peer, kind: FeedbackKind) -> None:
        """The application tells what the parts of a peer were worth, and the texts disagree on what follows.

        To the Go router a useful part is a delivery, of a member if the peer is in the mesh, and an invalid
        one an invalid message. The JVM design takes an invalid one for misbehaviour. The merged text says
        nothing.
        """
        keeper, reading = self.core.keeper, self.core.features.partial
        if keeper is None:
            return
        if reading == "go" and kind == "useful":
            keeper.first_delivery(peer, topic)
            if peer in self.mesh.of.get(topic, ()):
                keeper.mesh_delivery(peer, topic)
        elif reading == "go" and kind == "invalid":
            keeper.invalid_message(peer, topic)
        elif reading == "jvm" and kind == "invalid":
            keeper.misbehaved(peer)

    # -- time --------------------------------------------------------------------------------------------

    def advance(self, ms: int) -> None:
        """Time passes; every heartbeat that falls due fires at its instant."""
        end_ms = self.core.now_ms + ms
        while self.next_heartbeat_ms <= end_ms:
            self.decay_until(self.next_heartbeat_ms)
            self.core.now_ms = self.next_heartbeat_ms
            self.next_heartbeat_ms += self.core.parameters.heartbeat_interval_ms
            for beat in self.beats:
                beat()
            self.outbox.flush()
        self.decay_until(end_ms)
        self.core.now_ms = end_ms

    def decay_until(self, end_ms: int) -> None:
        """Scores decay at every multiple of their interval."""
        keeper = self.core.keeper
        while keeper is not None and self.next_decay_ms <= end_ms:
            keeper.decay(self.next_decay_ms)
            self.next_decay_ms += keeper.parameters.decay_interval_ms

    def check_explicit(self) -> None:
        if self.core.now_ms >= self._next_check_ms:
            self._next_check_ms += EXPLICIT_CHECK_MS
            self.dial_explicit()

    def dial_explicit(self) -> None:
        """Dial the explicit peers that are not connected."""
        if self.core.features.hardened:
            self._dials += sorted(self.core.parameters.explicit_peers - self.core.neighbours.keys())


def own_extensions(features: VersionFeatures, parameters: Parameters) -> frozenset[str]:
    """What a router of that version names at the head of a stream."""
    test = features.extensions and parameters.test_extension
    return frozenset(
        ({TEST_EXTENSION} if test else set()) | ({PARTIAL_EXTENSION} if features.partial else set())
    )


def parsed_rpc(payload: bytes) -> wire.RPC | None:
    """The RPC in `payload`, or None where there is none."""
    try:
        rpc = wire.RPC.FromString(payload)
    except DecodeError:
        return None
    return rpc if rpc.IsInitialized() else None


def _check(parameters: Parameters) -> None:
    for name in ("heartbeat_interval_ms", "opportunistic_graft_ticks"):
        if getattr(parameters, name) < 1:
            raise ValueError(f"{name} must be at least 1, got {getattr(parameters, name)}")
    if parameters.signature_policy == "StrictNoSign" and parameters.message_id == "origin":
        raise ValueError("StrictNoSign messages have no origin, so use message_id='content'")
