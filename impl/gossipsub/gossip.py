"""Gossip of our router: IHAVE and IWANT with their caps, and IDONTWANT.

gossipsub v1.0, "Gossip Emission"; v1.1, "Adaptive Gossip Dissemination" and "Spam Protection Measures"; v1.2,
"IDONTWANT Message".
"""

from __future__ import annotations

from attrs import define

from quidnunc.impl.gossipsub.cache import MessageCache, SeenCache
from quidnunc.impl.gossipsub.core import MAX_ID_BYTES, RouterCore
from quidnunc.impl.gossipsub.fanout import Fanout
from quidnunc.impl.gossipsub.mesh import Mesh
from quidnunc.impl.gossipsub.outbox import Outbox
from quidnunc.impl.gossipsub.score_events import DeliveryWatch
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.bounded import BoundedDict
from quidnunc.model.rpc import Peer

MAX_ASKED_IDS = 10_000
MAX_UNWANTED_IDS = 10_000
"""Ids that one peer can have us remember that it does not want."""


@define(eq=False)
class GossipCounts:
    """What one peer sent since the last heartbeat, as far as it is capped."""

    ihave_rpcs: int = 0
    ihave_ids: int = 0
    idontwants: int = 0


class Gossip:
    """Everything about ids without their messages."""

    def __init__(self, core: RouterCore, outbox: Outbox, mesh: Mesh, fanout: Fanout) -> None:
        self.core = core
        self.outbox = outbox
        self.mesh = mesh
        self.fanout = fanout
        self.seen = SeenCache(core.parameters.seen_ttl_ms)
        self.cache = MessageCache(core.parameters.mcache_len, core.parameters.mcache_gossip)
        self.heard: dict[Peer, GossipCounts] = {}
        self.watch = DeliveryWatch(core)
        self.asked: BoundedDict[bytes, set[Peer]] = BoundedDict(MAX_ASKED_IDS)
        """Id -> whom we asked for it by IWANT, until it comes."""
        self.unwanted: dict[Peer, dict[bytes, int]] = {}
        """Peer -> id -> heartbeats for which it is remembered."""

    # -- IHAVE -------------------------------------------------------------------------------------------

    def on_ihave(self, peer: Peer, control: wire.ControlMessage) -> None:
        """Ask for what we have not seen, within the caps."""
        hardened = self.core.features.hardened
        if self.is_poor(peer):
            return
        if hardened and self.counts_as_ihave(control) and not self.under_ihave_cap(self._heard(peer)):
            return
        for entry in control.ihave:
            ids = list(entry.messageIDs)
            if hardened:
                ids = self.under_id_cap(self._heard(peer), ids)
            unseen = [i for i in self.asked_for(entry.topicID, ids) if self.is_news(i)]
            if unseen:
                self.outbox.to(peer).iwant.update(dict.fromkeys(unseen))
                self.watch.asked(peer, unseen)
                self.note_asked(peer, entry.topicID, unseen)

    def asked_for(self, topic: str, ids: list[bytes]) -> list[bytes]:
        """Those worth a request: v1.0 asks for what it has not seen, in its own topics or not."""
        return ids

    def note_asked(self, peer: Peer, topic: str, ids: list[bytes]) -> None:
        """From v1.2 on a request can be cancelled; the draft has the mesh told of it at once."""
        if not self.core.features.idontwant:
            return
        for id_bytes in ids:
            self.asked[id_bytes] = {*self.asked.get(id_bytes, ()), peer}
            for other in sorted(self.told_of_request(topic)):
                self.outbox.idontwant(other, id_bytes)

    def told_of_request(self, topic: str) -> set[Peer]:
        """A potential strategy of the draft, which r1 does not have."""
        if self.core.features.must_skip:
            return set()
        return {p for p in self.mesh.of.get(topic, ()) if self.is_told_idontwant(p)}

    def cancel_requests(self, forwarder: Peer, id_bytes: bytes) -> None:
        """It came: those who were asked for it besides need not send it."""
        for peer in sorted(self.asked_besides(forwarder, self.asked.pop(id_bytes, set()))):
            if peer in self.core.neighbours and self.is_told_idontwant(peer):
                self.outbox.idontwant(peer, id_bytes)

    def asked_besides(self, forwarder: Peer, asked: set[Peer]) -> set[Peer]:
        return asked - {forwarder}

    def is_poor(self, peer: Peer) -> bool:
        """Below the gossip threshold: nothing of its gossip counts, and it gets none."""
        return self.core.score(peer) < self.core.parameters.gossip_threshold

    def counts_as_ihave(self, control: wire.ControlMessage) -> bool:
        return len(control.ihave) > 0

    def under_ihave_cap(self, heard: GossipCounts) -> bool:
        """One more RPC with IHAVEs since the heartbeat."""
        heard.ihave_rpcs += 1
        return heard.ihave_rpcs <= self.core.parameters.max_ihave_messages

    def under_id_cap(self, heard: GossipCounts, ids: list[bytes]) -> list[bytes]:
        """As many of `ids` as may still be advertised before the next heartbeat."""
        taken = ids[: max(0, self.core.parameters.max_ihave_length - heard.ihave_ids)]
        heard.ihave_ids += len(taken)
        return taken

    def is_news(self, id_bytes: bytes) -> bool:
        return len(id_bytes) <= MAX_ID_BYTES and not self.seen.has(id_bytes, self.core.now_ms)

    # -- IWANT -------------------------------------------------------------------------------------------

    def on_iwant(self, peer: Peer, control: wire.ControlMessage) -> None:
        """Give what is in the cache, to the one who asked."""
        if self.is_poor(peer):
            return
        for id_bytes in dict.fromkeys(i for entry in control.iwant for i in entry.messageIDs):
            message = self.cache.get(id_bytes)
            if message is not None and self.may_serve(peer, id_bytes):
                self.outbox.to(peer).messages.append(message)

    def may_serve(self, peer: Peer, id_bytes: bytes) -> bool:
        """From v1.1 on, each message a few times to the same peer."""
        times = self.cache.count_served(id_bytes, peer)
        return not self.core.features.hardened or times <= self.core.parameters.gossip_retransmission

    # -- IDONTWANT ---------------------------------------------------------------------------------------

    def on_idontwant(self, peer: Peer, control: wire.ControlMessage) -> None:
        """Remember what the peer does not want, within the caps."""
        if not control.idontwant or not self.reads_idontwant(peer):
            return
        heard = self._heard(peer)
        unwanted = self.unwanted.setdefault(peer, {})
        for at, entry in enumerate(control.idontwant):
            self.count_idontwants(heard, at == 0)
            if not self.under_idontwant_cap(heard):
                return
            for id_bytes in entry.messageIDs:
                if len(id_bytes) <= MAX_ID_BYTES and len(unwanted) < MAX_UNWANTED_IDS:
                    unwanted[id_bytes] = self.core.parameters.idontwant_heartbeats
                    self.outbox.withdraw(peer, self.cache.get(id_bytes))

    def count_idontwants(self, heard: GossipCounts, first_of_rpc: bool) -> None:
        """Each IDONTWANT counts against the cap, and not each RPC."""
        heard.idontwants += 1

    def reads_idontwant(self, peer: Peer) -> bool:
        return self.core.features.idontwant and self.core.neighbours[peer].knows_idontwant

    def under_idontwant_cap(self, heard: GossipCounts) -> bool:
        return heard.idontwants <= self.core.parameters.max_idontwant_messages

    def is_unwanted(self, peer: Peer, id_bytes: bytes) -> bool:
        """Whether to spare `peer` this message. r1 obliges us to; in the draft it is a toss."""
        if id_bytes not in self.unwanted.get(peer, ()):
            return False
        return self.core.features.must_skip or self.core.die.random() < 0.5

    def say_idontwant(self, topic: str, message: wire.Message, id_bytes: bytes) -> None:
        """At once, to every mesh member that can read it, if the message is worth it."""
        if not self.core.features.idontwant:
            return
        if len(message.data) >= self.core.parameters.idontwant_min_bytes:
            quiet = self.not_told(topic)
            for peer in self.told_of_message(topic):
                if peer not in quiet:
                    self.outbox.idontwant(peer, id_bytes)

    def told_of_message(self, topic: str) -> list[Peer]:
        """All of the mesh that can read it."""
        return [p for p in sorted(self.mesh.of[topic]) if self.is_told_idontwant(p)]

    def is_told_idontwant(self, peer: Peer) -> bool:
        return self.core.neighbours[peer].knows_idontwant

    def not_told(self, topic: str) -> set[Peer]:
        """Who sends us no full messages anyway; with partial messages alone there is anybody."""
        return set()

    # -- the heartbeat -----------------------------------------------------------------------------------

    def start_heartbeat(self) -> None:
        """The caps are per heartbeat, and what is unwanted is forgotten after some of them."""
        self.heard.clear()
        for peer, ids in tuple(self.unwanted.items()):
            left = {i: left for i, heartbeats in ids.items() if (left := self.heartbeats_left(heartbeats))}
            if left:
                self.unwanted[peer] = left
            else:
                del self.unwanted[peer]
        self.seen.sweep(self.core.now_ms)

    def heartbeats_left(self, heartbeats: int) -> int:
        """For how many heartbeats what is unwanted is remembered still."""
        return heartbeats - 1

    def emit(self) -> None:
        """IHAVE to some peers outside mesh and fanout, for each topic with something to tell."""
        for topic in sorted({*self.mesh.of, *self.fanout.of}):
            ids = self.ids_to_gossip(topic)
            if not ids and not self.core.features.partial:
                continue
            pool = self.gossip_pool(topic)
            for peer in self.divert(topic, self.picked(pool)):
                if ids:
                    self.outbox.to(peer).ihave[topic] = self.sampled(ids)

    def picked(self, pool: set[Peer]) -> list[Peer]:
        """Some of those who may be told, at random and anew each time."""
        return self.core.some(pool, self.gossip_count(len(pool)))

    def divert(self, topic: str, targets: list[Peer]) -> list[Peer]:
        """Those of the targets that get IHAVE; with partial messages some do not."""
        return targets

    def ids_to_gossip(self, topic: str) -> list[bytes]:
        return self.cache.gossip_ids(topic)

    def gossip_pool(self, topic: str) -> set[Peer]:
        """Who may be told."""
        inside = self.mesh.of.get(topic, set()) | self.fanout.of.get(topic, set())
        return {p for p in self.core.speakers(topic) - inside if self.may_tell(p)}

    def may_tell(self, peer: Peer) -> bool:
        return not self.core.is_explicit(peer) and not self.is_poor(peer)

    def gossip_count(self, eligible: int) -> int:
        parameters = self.core.parameters
        if not self.core.features.hardened:
            return parameters.d_lazy
        return max(parameters.d_lazy, int(parameters.gossip_factor * eligible))

    def sampled(self, ids: list[bytes]) -> list[bytes]:
        """As many as the other side will look at. v1.0 has no limit."""
        limit = self.core.parameters.max_ihave_length
        if not self.core.features.hardened or len(ids) <= limit:
            return ids
        return self.core.die.sample(ids, limit)

    # -- the rest ----------------------------------------------------------------------------------------

    def _heard(self, peer: Peer) -> GossipCounts:
        found = self.heard.get(peer)
        if found is None:
            found = self.heard[peer] = GossipCounts()
        return found

    def forget(self, peer: Peer) -> None:
        """The peer is gone. What it was counted for stays until the heartbeat."""
        self.unwanted.pop(peer, None)
