"""A working application of partial messages: a group is a list of equal parts, metadata two bitlists.

It plugs into our router where a user's application would, owns the parts and all that their bytes mean, and
keeps what it knows of each peer with the router, as bytes. Parts are checked one by one, so that what one
peer sends can be passed on before the whole is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256

from attrs import define, evolve, field, frozen

from quidnunc.impl.gossipsub.partial import PartialMessages, States
from quidnunc.impl.seam import PartialDecision
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.model.rpc import Peer

CHECK_BYTES = 8
MAX_PARTS = 4096
MAX_GROUPS = 256
"""Groups that an application holds parts of. Beyond it the oldest is given up."""


# -- bytes --------------------------------------------------------------------------------------------------


def bitlist(bits: int, length: int) -> bytes:
    """A bitlist as SSZ has them: bit 0 first and lowest, and after the last one a bit that marks the end."""
    if not 0 <= length <= MAX_PARTS or bits >> length:
        raise ValueError(f"a bitlist of {length} bits cannot hold {bits.bit_length()}; at most {MAX_PARTS}")
    return (bits | 1 << length).to_bytes(length // 8 + 1, "little")


def bitlist_read(data: bytes) -> tuple[int, int]:
    """(bits, length). Raises ValueError for what is no bitlist, or too long a one."""
    if not data or not data[-1] or len(data) > MAX_PARTS // 8 + 1:
        raise ValueError(
            f"{len(data)} bytes are no bitlist of at most {MAX_PARTS} bits: the end is not marked"
        )
    number = int.from_bytes(data, "little")
    length = number.bit_length() - 1
    return number ^ 1 << length, length


def make_part(group: bytes, index: int, content: bytes) -> bytes:
    """One part: the content, and a checksum over group, index and content."""
    return content + _checksum(group, index, content)


def is_part(group: bytes, index: int, part: bytes) -> bool:
    return part[-CHECK_BYTES:] == _checksum(group, index, part[:-CHECK_BYTES])


def _checksum(group: bytes, index: int, content: bytes) -> bytes:
    return sha256(b"%d|%d|" % (len(group), index) + group + content).digest()[:CHECK_BYTES]


@frozen
class PeerPartsView:
    """What the application knows of one peer and one group, as the router keeps it for it."""

    has: int = 0
    wants: int = 0
    told: int = -1
    """What we have last told it that we have; -1: nothing yet."""
    heard: bool = False

    def encoded(self, length: int) -> bytes:
        told = bitlist(max(self.told, 0), length)
        flags = bytes((self.heard | (self.told >= 0) << 1,))
        return flags + bitlist(self.has, length) + bitlist(self.wants, length) + told

    @classmethod
    def decoded(cls, state: object, length: int) -> PeerPartsView:
        if not isinstance(state, bytes) or not state:
            return cls()
        size = length // 8 + 1
        has, wants, told = (bitlist_read(state[1 + k * size : 1 + (k + 1) * size])[0] for k in range(3))
        return cls(has, wants, told if state[0] & 2 else -1, bool(state[0] & 1))


# -- the application ----------------------------------------------------------------------------------------


@define(eq=False)
class GroupParts:
    """What is held of one group, and what peers said that has not been taken into their views yet."""

    parts: dict[int, bytes] = field(factory=dict)
    said: dict[Peer, tuple[int, int] | None] = field(factory=dict)
    """Peer -> (has, wants) of its last metadata; None where it sent none."""
    sent_us: dict[Peer, int] = field(factory=dict)
    gossip_to: set[Peer] = field(factory=set)

    def bits(self) -> int:
        return sum(1 << index for index in self.parts)


class BitmapApp:
    """An application on one router in one topic. `requests`: it wants parts; else it can only send them.

    `on_whole(group, data)` is called once when the last part of a group comes: to publish the whole in full
    is the application's decision, and this is the place for it.
    """

    def __init__(
        self,
        library: PartialMessages,
        topic: str,
        *,
        length: int,
        requests: bool = True,
        eager: bool = False,
        on_whole: Callable[[bytes, bytes], None] | None = None,
    ) -> None:
        self.library = library
        self.topic = topic
        self.length = length
        self.requests = requests
        self.eager = eager
        self.on_whole = on_whole
        self.held: dict[bytes, GroupParts] = {}
        self.refused = 0
        """Messages and parts that were no good."""
        library.application = self

    # -- what we have ------------------------------------------------------------------------------------

    def add(self, group: bytes, parts: Iterable[tuple[int, bytes]]) -> bool:
        """Take in parts that check out. Returns whether any was new."""
        held = self._held(group)
        before = len(held.parts)
        for index, part in parts:
            if 0 <= index < self.length and is_part(group, index, part):
                held.parts.setdefault(index, part)
            else:
                self.refused += 1
        if before < self.length == len(held.parts) and self.on_whole is not None:
            self.on_whole(group, self.whole(group))
        return len(held.parts) > before

    def is_complete(self, group: bytes) -> bool:
        return group in self.held and len(self.held[group].parts) == self.length

    def whole(self, group: bytes) -> bytes:
        """The full message of a complete group: length and bytes of the group id, then the parts in order."""
        parts = self.held[group].parts
        return bytes((len(group),)) + group + b"".join(parts[index] for index in range(self.length))

    def take_whole(self, data: bytes) -> bytes | None:
        """A full message has come the ordinary way: all its parts, told on to whoever wants them."""
        group, body = data[1 : 1 + data[0]], data[1 + data[0] :]
        size, rest = divmod(len(body), self.length)
        if rest or not size:
            self.refused += 1
            return None
        self.add(group, ((k, body[k * size : (k + 1) * size]) for k in range(self.length)))
        self.publish(group)
        return group

    # -- what the router calls ---------------------------------------------------------------------------

    def on_partial(self, peer: Peer, partial: wire.PartialMessagesExtension, states: States) -> None:
        """Any combination of payload and metadata. Without both it says nothing, and is not answered."""
        if partial.topicID != self.topic:
            return
        group = partial.groupID
        try:
            parts = self._payload(partial.partialMessage) if partial.HasField("partialMessage") else []
            said = self._metadata(partial.partsMetadata) if partial.HasField("partsMetadata") else None
        except ValueError:
            self.refused += 1
            return
        held = self._held(group)
        if parts:
            held.sent_us[peer] = held.sent_us.get(peer, 0) | sum(1 << index for index, _ in parts)
        if said is not None:
            held.said[peer] = said
        is_news = self.add(group, parts)
        if is_news or said is not None:
            self.publish(group)

    def on_gossip(self, topic: str, group: bytes, peers: Sequence[Peer], states: States) -> None:
        """Tell peers outside the mesh what we have."""
        if topic == self.topic and group in self.held:
            self.held[group].gossip_to.update(peers)
            self.publish(group)

    # -- what we send ------------------------------------------------------------------------------------

    def publish(self, group: bytes) -> None:
        self.library.publish(self.topic, group, lambda states, wants: self._decide(group, states, wants))

    def _decide(
        self, group: bytes, states: States, wants_parts: Callable[[Peer], bool]
    ) -> Iterator[PartialDecision]:
        held = self._held(group)
        mine = held.bits()
        everybody = {*states, *held.said, *held.sent_us, *held.gossip_to}
        for peer in sorted(everybody):
            view = self._view(held, peer, states.get(peer))
            parts = self._parts_for(view, mine) if wants_parts(peer) else 0
            # Who has been told and has all that we have learns nothing from being told again.
            tells = view.told != mine and (bool(mine & ~view.has) or self._missing(mine) & view.has != 0)
            known = evolve(view, has=view.has | parts, told=mine if tells else view.told)
            yield PartialDecision(
                peer=peer,
                payload=self._encoded(held, parts) if parts else None,
                metadata=self._own_metadata(mine) if tells else None,
                next_state=known.encoded(self.length),
            )
        held.said.clear()
        held.sent_us.clear()
        held.gossip_to.clear()

    def _view(self, held: GroupParts, peer: Peer, state: object) -> PeerPartsView:
        """What is known of the peer with what it has said since: later metadata replaces earlier."""
        view = PeerPartsView.decoded(state, self.length)
        said = held.said.get(peer)
        if said is not None:
            view = evolve(view, has=said[0], wants=said[1], heard=True)
        return evolve(view, has=view.has | held.sent_us.get(peer, 0))

    def _parts_for(self, view: PeerPartsView, mine: int) -> int:
        """What the peer wants and lacks; all that it may lack, if we push before it has spoken."""
        if view.heard:
            return mine & view.wants & ~view.has
        return mine & ~view.has if self.eager else 0

    def _missing(self, mine: int) -> int:
        return ((1 << self.length) - 1) & ~mine if self.requests else 0

    def _own_metadata(self, mine: int) -> bytes:
        return bitlist(mine, self.length) + bitlist(self._missing(mine), self.length)

    def _metadata(self, data: bytes) -> tuple[int, int]:
        """(has, wants). Raises ValueError where these are not two bitlists of our length."""
        half = self.length // 8 + 1
        has, wants = bitlist_read(data[:half]), bitlist_read(data[half:])
        if (has[1], wants[1]) != (self.length, self.length):
            raise ValueError(f"need two bitlists of {self.length} bits, got {has[1]} and {wants[1]}")
        return has[0], wants[0]

    def _encoded(self, held: GroupParts, parts: int) -> bytes:
        """A bitlist of which parts, then those, in order."""
        chosen = (held.parts[index] for index in range(self.length) if parts >> index & 1)
        return bitlist(parts, self.length) + b"".join(chosen)

    def _payload(self, data: bytes) -> list[tuple[int, bytes]]:
        """Raises ValueError where these are not a bitlist and as many equal parts as it says."""
        half = self.length // 8 + 1
        bits, length = bitlist_read(data[:half])
        indices = [index for index in range(length) if bits >> index & 1]
        size, rest = divmod(len(data) - half, max(len(indices), 1))
        if length != self.length or rest or size <= CHECK_BYTES:
            raise ValueError(f"{len(data)} bytes are no payload of {len(indices)} parts")
        return [(i, data[half + k * size : half + (k + 1) * size]) for k, i in enumerate(indices)]

    def _held(self, group: bytes) -> GroupParts:
        found = self.held.get(group)
        if found is None:
            if len(self.held) >= MAX_GROUPS:
                del self.held[next(iter(self.held))]
            found = self.held[group] = GroupParts()
        return found
