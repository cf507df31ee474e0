"""Messages through our router: what is taken, what waits for a verdict, and who gets it next.

pubsub README; gossipsub v1.0, "Message Processing"; v1.1, "Flood Publishing", "Explicit Peering Agreements",
"Extended Validators"; v1.2, "IDONTWANT Message".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from attrs import frozen

from quidnunc.impl.gossipsub.core import RouterCore
from quidnunc.impl.gossipsub.fanout import Fanout
from quidnunc.impl.gossipsub.gossip import Gossip
from quidnunc.impl.gossipsub.mesh import Mesh
from quidnunc.impl.gossipsub.outbox import Outbox
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.keys import peer_id
from quidnunc.impl.wire.signing import (
    SEQNO_BYTES,
    author_bytes,
    id_function,
    set_author,
    sign_as,
    signature_fault,
)
from quidnunc.model.events import Judgement
from quidnunc.model.rpc import Peer

MAX_WAITING = 1024
"""Messages that wait for a verdict. Beyond it the oldest is given up, as if it had been ignored."""


@frozen
class ArrivedMessage:
    """A message as it came in."""

    forwarder: Peer
    id: bytes
    message: wire.Message


Check: TypeAlias = Callable[[ArrivedMessage], bool]


class Relay:
    """Takes messages from peers, from the application and from validation, and sends them on."""

    def __init__(self, core: RouterCore, outbox: Outbox, mesh: Mesh, fanout: Fanout, gossip: Gossip) -> None:
        self.core = core
        self.outbox = outbox
        self.mesh = mesh
        self.fanout = fanout
        self.gossip = gossip
        self.id_of = id_function(core.parameters.message_id)
        self.waiting: dict[bytes, ArrivedMessage] = {}
        self.delivered: list[tuple[str, bytes]] = []
        self.checks: list[Check] = [
            self.is_in_topic,
            self.is_short_enough,
            self.is_new,
            self.is_sound,
            self.is_not_own,
        ]
        self.last_seqno = 0

    # -- from a peer -------------------------------------------------------------------------------------

    def on_message(self, peer: Peer, message: wire.Message) -> None:
        """What fails a check leaves no trace: a bad copy must not make a good one a duplicate."""
        arrival = ArrivedMessage(peer, self.id_of(message), message)
        refused = next((check for check in self.checks if not check(arrival)), None)
        if refused is not None:
            self.note_refused(arrival, refused)
            return
        self.note_receipt(arrival)
        self.gossip.watch.came(peer, arrival.id, message.topic)
        self.gossip.say_idontwant(message.topic, message, arrival.id)
        self.gossip.cancel_requests(peer, arrival.id)
        if self.core.parameters.validation == "accept":
            self.accept(arrival)
            self.gossip.watch.judged(arrival.id, "accept")
        else:
            self.await_verdict(arrival)

    def note_refused(self, arrival: ArrivedMessage, check: Check) -> None:
        """What a copy that is not taken counts for in the score of its sender."""
        if check == self.is_new:
            self.gossip.watch.came_again(arrival.forwarder, arrival.id)
        elif check == self.is_sound:
            self.gossip.watch.came_bad(arrival.forwarder, arrival.message.topic)

    def is_in_topic(self, arrival: ArrivedMessage) -> bool:
        return arrival.message.topic in self.core.joined

    def is_short_enough(self, arrival: ArrivedMessage) -> bool:
        return len(arrival.message.data) <= self.core.parameters.max_message_bytes

    def is_new(self, arrival: ArrivedMessage) -> bool:
        """Neither seen within the TTL nor waiting, however long validation takes."""
        return not self.gossip.seen.has(arrival.id, self.core.now_ms) and arrival.id not in self.waiting

    def is_sound(self, arrival: ArrivedMessage) -> bool:
        policy = self.core.parameters.signature_policy
        return not signature_fault(arrival.message, policy, lax=self.core.lax)

    def is_not_own(self, arrival: ArrivedMessage) -> bool:
        return author_bytes(arrival.message) != peer_id(self.core.own)

    def note_receipt(self, arrival: ArrivedMessage) -> None:
        """Seen from now on, whatever validation will say."""
        self.gossip.seen.add(arrival.id, self.core.now_ms)

    # -- validation --------------------------------------------------------------------------------------

    def await_verdict(self, arrival: ArrivedMessage) -> None:
        if len(self.waiting) >= MAX_WAITING:
            del self.waiting[next(iter(self.waiting))]
        self.waiting[arrival.id] = arrival

    def judge(self, id_bytes: bytes, judgement: Judgement) -> None:
        """The application's verdict on a message that waits. What does not wait any more is let be."""
        arrival = self.waiting.pop(id_bytes, None)
        if arrival is not None:
            if self.passes(judgement):
                self.accept(arrival)
            self.gossip.watch.judged(id_bytes, judgement)

    def passes(self, judgement: Judgement) -> bool:
        return judgement == "accept"

    def accept(self, arrival: ArrivedMessage) -> None:
        """Deliver, keep for those who ask, and relay."""
        message = arrival.message
        if message.topic in self.core.joined:
            # A verdict may come after we left; then there is no mesh either, but others still want it.
            self.delivered.append((message.topic, message.data))
        self.gossip.cache.put(arrival.id, message)
        targets = self.relay_targets(arrival)
        for peer in sorted(targets):
            self.outbox.to(peer).messages.append(message)
        for peer in sorted(self.offered_instead(arrival, targets)):
            self.outbox.to(peer).ihave.setdefault(message.topic, []).append(arrival.id)

    # -- to peers ----------------------------------------------------------------------------------------

    def relay_targets(self, arrival: ArrivedMessage) -> set[Peer]:
        """Floodsub and explicit peers in the topic and the mesh; not back, and not to the author."""
        topic = arrival.message.topic
        members = sorted(self.mesh.of.get(topic, ()))
        willing = {p for p in members if not self.gossip.is_unwanted(p, arrival.id)}
        targets = willing | self.floodsub_targets(topic) | self.explicit_targets(topic)
        return targets - {arrival.forwarder} - self.authors(arrival.message) - self.spared(topic)

    def offered_instead(self, arrival: ArrivedMessage, targets: set[Peer]) -> set[Peer]:
        """A potential strategy of the draft: who was spared the message is told that it is there."""
        features, topic = self.core.features, arrival.message.topic
        if not features.idontwant or features.must_skip:
            return set()
        unwanted = {p for p in self.mesh.of.get(topic, ()) if arrival.id in self.gossip.unwanted.get(p, ())}
        return unwanted - targets - {arrival.forwarder}

    def floodsub_targets(self, topic: str) -> set[Peer]:
        return self.core.flooded(topic)

    def explicit_targets(self, topic: str) -> set[Peer]:
        return {p for p in self.core.members(topic) if self.core.is_explicit(p)}

    def authors(self, message: wire.Message) -> set[Peer]:
        author = self.core.numbers.get(author_bytes(message))
        return set() if author is None else {author}

    # -- from the application ----------------------------------------------------------------------------

    def publish(self, topic: str, data: bytes) -> None:
        """A message of our own. Raises ValueError where it is longer than anybody would take."""
        limit = self.core.parameters.max_message_bytes
        if len(data) > limit:
            raise ValueError(f"a message of {len(data)} bytes in {topic!r}: the limit is {limit}")
        message = self.stamped(topic, data)
        id_bytes = self.id_of(message)
        if self.gossip.seen.has(id_bytes, self.core.now_ms):
            # With ids by content, the same data again is the same message again.
            return
        self.gossip.seen.add(id_bytes, self.core.now_ms)
        self.gossip.cache.put(id_bytes, message)
        for peer in sorted(self.publish_targets(topic)):
            self.outbox.to(peer).messages.append(message)

    def stamped(self, topic: str, data: bytes) -> wire.Message:
        """Author, seqno and signature under StrictSign; none of them under StrictNoSign."""
        message = wire.Message(topic=topic, data=data)
        if self.core.parameters.signature_policy == "StrictSign":
            message.seqno = self.next_seqno().to_bytes(SEQNO_BYTES, "big")
            set_author(message, self.core.own)
            sign_as(message, self.core.own)
        return message

    def next_seqno(self) -> int:
        self.last_seqno += 1
        return self.last_seqno

    def publish_targets(self, topic: str) -> set[Peer]:
        """Flooding: every member. Else floodsub and explicit peers, and mesh or fanout."""
        if self.core.features.hardened and self.core.parameters.flood_publish:
            return self.above_publish_threshold(self.core.members(topic)) - self.spared(topic)
        peers = self.mesh.of[topic] if topic in self.core.joined else self.fanout.for_publish(topic)
        everyone = peers | self.floodsub_targets(topic) | self.explicit_targets(topic)
        return self.above_publish_threshold(everyone) - self.spared(topic)

    def spared(self, topic: str) -> set[Peer]:
        """Who gets no full messages; with partial messages alone there is anybody."""
        return set()

    def above_publish_threshold(self, peers: Iterable[Peer]) -> set[Peer]:
        return {p for p in peers if self.is_fit_to_publish_to(p)}

    def is_fit_to_publish_to(self, peer: Peer) -> bool:
        """Explicit peers are outside the vagaries of scores."""
        return self.core.is_explicit(peer) or self.core.score(peer) >= self.core.parameters.publish_threshold
