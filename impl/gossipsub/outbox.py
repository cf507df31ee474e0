"""What our router has to say, gathered per peer and written as few RPCs ("Control Message Piggybacking")."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from attrs import define, field

from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.framing import frame
from quidnunc.impl.wire.keys import peer_id
from quidnunc.model.rpc import Peer

MAX_RPC_BYTES = 1 << 20
"""What an RPC may take before it is split. A single message may take more."""
MAX_IDS_PER_ENTRY = 5000
MAX_QUEUED_RPCS = 256


@define(eq=False)
class PendingRpc:
    """What one peer is to be told in one go. A later GRAFT or PRUNE of a topic replaces an earlier one."""

    subscriptions: dict[str, bool] = field(factory=dict)
    messages: list[wire.Message] = field(factory=list)
    ihave: dict[str, list[bytes]] = field(factory=dict)
    iwant: dict[bytes, None] = field(factory=dict)
    graft: dict[str, None] = field(factory=dict)
    offered: dict[str, list[Peer]] = field(factory=dict)
    """Topic -> peers that the PRUNE there lists."""
    prune: dict[str, int | None] = field(factory=dict)
    """Topic -> backoff in seconds, or None for a bare PRUNE."""
    idontwant: list[bytes] = field(factory=list)
    extensions: wire.ControlExtensions | None = None
    test: bool = False
    flags: dict[str, tuple[bool, bool]] = field(factory=dict)
    """Topic -> (requestsPartial, supportsSendingPartial), of subscriptions."""
    partials: list[wire.PartialMessagesExtension] = field(factory=list)

    def rpcs(self, ids_per_idontwant: int) -> Iterator[wire.RPC]:
        """All of it. An RPC has room for one partial message, so that more of them take more RPCs."""
        rpc = self.rpc(ids_per_idontwant)
        if self.partials:
            rpc.partial.CopyFrom(self.partials[0])
        yield rpc
        for partial in self.partials[1:]:
            yield wire.RPC(partial=partial)

    def rpc(self, ids_per_idontwant: int) -> wire.RPC:
        """All but partial messages, as one RPC."""
        rpc = wire.RPC(publish=self.messages)
        if self.extensions is not None:
            rpc.control.extensions.CopyFrom(self.extensions)
        if self.test:
            rpc.testExtension.SetInParent()
        for topic, inside in self.subscriptions.items():
            said = rpc.subscriptions.add(subscribe=inside, topicid=topic)
            if inside and topic in self.flags:
                said.requestsPartial, said.supportsSendingPartial = self.flags[topic]
        for topic, ids in self.ihave.items():
            rpc.control.ihave.add(topicID=topic, messageIDs=ids)
        if self.iwant:
            rpc.control.iwant.add(messageIDs=self.iwant)
        for topic in self.graft:
            rpc.control.graft.add(topicID=topic)
        for topic, backoff_s in self.prune.items():
            pruned = rpc.control.prune.add(topicID=topic, backoff=backoff_s)
            for offered in self.offered.get(topic, ()):
                pruned.peers.add(peerID=peer_id(offered))
        for at in range(0, len(self.idontwant), ids_per_idontwant):
            rpc.control.idontwant.add(messageIDs=self.idontwant[at : at + ids_per_idontwant])
        return rpc

    def absorb_older(self, older: PendingRpc) -> None:
        """Take over what must not be lost of something queued earlier: all but messages and gossip."""
        self.extensions = self.extensions or older.extensions
        self.test = self.test or older.test
        self.flags = {**older.flags, **self.flags}
        self.subscriptions = {**older.subscriptions, **self.subscriptions}
        for topic in older.graft:
            if topic not in self.prune:
                self.graft.setdefault(topic)
        for topic, backoff_s in older.prune.items():
            if topic not in self.graft:
                self.prune.setdefault(topic, backoff_s)


class Outbox:
    """Gathers what is to be sent, and writes frames when it is flushed.

    A peer that stopped reading has a queue of `MAX_QUEUED_RPCS`; beyond it the oldest gives way, except that
    its subscriptions, GRAFTs and PRUNEs move on to the next.
    """

    def __init__(self, *, ids_per_idontwant: int = MAX_IDS_PER_ENTRY) -> None:
        self.frames: list[tuple[Peer, bytes]] = []
        self._ids_per_idontwant = ids_per_idontwant
        self._pending: dict[Peer, PendingRpc] = {}
        self._urgent: dict[Peer, PendingRpc] = {}
        self._queues: dict[Peer, deque[PendingRpc]] = {}

    def to(self, peer: Peer) -> PendingRpc:
        """What `peer` will be told with the next flush."""
        found = self._pending.get(peer)
        if found is None:
            found = self._pending[peer] = PendingRpc()
        return found

    def graft(self, peer: Peer, topic: str) -> None:
        pending = self.to(peer)
        pending.prune.pop(topic, None)
        pending.graft[topic] = None

    def prune(self, peer: Peer, topic: str, backoff_s: int | None) -> None:
        pending = self.to(peer)
        pending.graft.pop(topic, None)
        pending.prune[topic] = backoff_s

    def offer(self, peer: Peer, topic: str, others: list[Peer]) -> None:
        """With the PRUNE of that topic, others to connect to."""
        if others:
            self.to(peer).offered[topic] = others

    def idontwant(self, peer: Peer, id_bytes: bytes) -> None:
        """In an RPC of its own, ahead of everything else."""
        self._urgent.setdefault(peer, PendingRpc()).idontwant.append(id_bytes)

    def flush(self) -> None:
        """Write everything that was gathered."""
        if self._urgent:
            self._write(self._urgent)
            self._urgent = {}
        if self._pending:
            self._write(self._pending)
            self._pending = {}

    def _write(self, gathered: dict[Peer, PendingRpc]) -> None:
        for peer, pending in gathered.items():
            queue = self._queues.get(peer)
            if queue is None:
                self._send(peer, pending)
                continue
            if len(queue) >= MAX_QUEUED_RPCS:
                oldest = queue.popleft()
                queue[0].absorb_older(oldest)
            queue.append(pending)

    def _send(self, peer: Peer, pending: PendingRpc) -> None:
        for rpc in pending.rpcs(self._ids_per_idontwant):
            for each in (rpc,) if rpc.ByteSize() <= MAX_RPC_BYTES else split(rpc):
                self.frames.append((peer, frame(each.SerializeToString())))

    # -- peers that do not read --------------------------------------------------------------------------

    def stall(self, peer: Peer) -> None:
        self._queues.setdefault(peer, deque())

    def resume(self, peer: Peer) -> None:
        for pending in self._queues.pop(peer, ()):
            self._send(peer, pending)

    def withdraw(self, peer: Peer, message: wire.Message | None) -> None:
        """Take a message out of what waits for a peer that does not read."""
        for pending in self._queues.get(peer, ()) if message is not None else ():
            pending.messages[:] = [each for each in pending.messages if each is not message]

    def forget(self, peer: Peer) -> None:
        """Drop whatever `peer` was still to be told."""
        self._pending.pop(peer, None)
        self._urgent.pop(peer, None)
        self._queues.pop(peer, None)

    def queued(self, peer: Peer) -> int:
        """RPCs that wait for `peer` to read."""
        return len(self._queues.get(peer, ()))


def split(rpc: wire.RPC) -> Iterator[wire.RPC]:
    """The same parts in RPCs of at most `MAX_RPC_BYTES` each, where no part alone takes more."""
    whole = wire.RPC()
    size = 0
    for piece in _pieces(rpc):
        more = piece.ByteSize()
        if size and size + more > MAX_RPC_BYTES:
            yield whole
            whole, size = wire.RPC(), 0
        whole.MergeFrom(piece)
        size += more
    if size:
        yield whole


def _pieces(rpc: wire.RPC) -> Iterator[wire.RPC]:
    """Each part as an RPC of its own, in the order in which a reader takes them."""
    if rpc.control.HasField("extensions"):
        yield wire.RPC(control=wire.ControlMessage(extensions=rpc.control.extensions))
    for subscription in rpc.subscriptions:
        yield wire.RPC(subscriptions=[subscription])
    for message in rpc.publish:
        yield wire.RPC(publish=[message])
    for ihave in rpc.control.ihave:
        for ids in _chunks(ihave.messageIDs):
            part = wire.ControlIHave(topicID=ihave.topicID, messageIDs=ids)
            yield wire.RPC(control=wire.ControlMessage(ihave=[part]))
    for iwant in rpc.control.iwant:
        for ids in _chunks(iwant.messageIDs):
            yield wire.RPC(control=wire.ControlMessage(iwant=[wire.ControlIWant(messageIDs=ids)]))
    for graft in rpc.control.graft:
        yield wire.RPC(control=wire.ControlMessage(graft=[graft]))
    for prune in rpc.control.prune:
        yield wire.RPC(control=wire.ControlMessage(prune=[prune]))
    for idontwant in rpc.control.idontwant:
        yield wire.RPC(control=wire.ControlMessage(idontwant=[idontwant]))
    if rpc.HasField("testExtension"):
        yield wire.RPC(testExtension=rpc.testExtension)
    if rpc.HasField("partial"):
        yield wire.RPC(partial=rpc.partial)


def _chunks(ids: Iterable[bytes]) -> Iterator[list[bytes]]:
    every = list(ids)
    for at in range(0, len(every), MAX_IDS_PER_ENTRY):
        yield every[at : at + MAX_IDS_PER_ENTRY]
