"""The application of partial messages of a simulated node: that of gossipsub-interop, byte for byte.

A group has eight parts of 1024 bytes; metadata is one byte, bit k for part k; a payload is such a byte, the
parts, and the group's id. It asks its router whom there is to tell, and then decides: behind the seam the two
are two publications. What it knows of a peer it keeps with the router.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import define, field, frozen

from quidnunc.impl.seam import PartialCall, PartialDecision
from quidnunc.model.rpc import Peer

PARTS = 8
ALL = (1 << PARTS) - 1
PART_BYTES = 1024
GROUP_BYTES = 8
MAX_GROUPS = 4096
"""Groups of one node. Beyond it the oldest is given up."""


def group_bytes(group: int) -> bytes:
    return group.to_bytes(GROUP_BYTES, "big")


def part_of(group: bytes, index: int) -> bytes:
    """As the Go node fills it: zeros, and at the end the number of its last eight bytes, counted from the
    group's id on."""
    last = int.from_bytes(group, "big") + (index + 1) * (PART_BYTES // 8) - 1
    return bytes(PART_BYTES - 8) + (last % (1 << 64)).to_bytes(8, "big")


@frozen
class PeerGroupView:
    """What is known of one peer and one group."""

    has: int = 0
    heard: bool = False
    """It has said what it has."""
    told: int = 0
    """What it knows that we have."""
    greeted: bool = False

    def encoded(self) -> bytes:
        return bytes((self.has, self.heard, self.told, self.greeted))

    @classmethod
    def decoded(cls, state: bytes | None) -> PeerGroupView:
        if not state or len(state) != 4:
            return cls()
        return cls(state[0], bool(state[1]), state[2], bool(state[3]))


@define(eq=False)
class SimulatedGroup:
    """What a node has of one group, and what peers have said since it last published."""

    parts: dict[int, bytes] = field(factory=dict)
    said: dict[Peer, int] = field(factory=dict)
    gave: dict[Peer, int] = field(factory=dict)
    gossip: set[Peer] = field(factory=set)

    def bits(self) -> int:
        return sum(1 << index for index in self.parts)


@define(eq=False)
class NodeGroups:
    """All groups of one node, by topic and id."""

    held: dict[tuple[str, bytes], SimulatedGroup] = field(factory=dict)
    complete: set[tuple[str, bytes]] = field(factory=set)
    refused: int = 0
    """Payloads that were none."""

    def of(self, topic: str, group: bytes) -> SimulatedGroup:
        found = self.held.get((topic, group))
        if found is None:
            if len(self.held) >= MAX_GROUPS:
                del self.held[next(iter(self.held))]
            found = self.held[topic, group] = SimulatedGroup()
        return found

    def add(self, topic: str, group: bytes, indices: Iterable[int]) -> None:
        """The node has these parts from the start."""
        held = self.of(topic, group)
        for index in indices:
            held.parts[index] = part_of(group, index)
        self._note(topic, group, held)

    def _note(self, topic: str, group: bytes, held: SimulatedGroup) -> None:
        if len(held.parts) == PARTS:
            self.complete.add((topic, group))

    def take(self, call: PartialCall) -> None:
        """A peer sent metadata, parts, or both."""
        held = self.of(call.topic, call.group)
        if call.metadata:
            held.said[call.peer] = held.said.get(call.peer, 0) | call.metadata[0]
        if not call.payload:
            return
        found = _payload(call.payload, call.group)
        if found is None:
            self.refused += 1
            return
        for index, part in found.items():
            held.parts.setdefault(index, part)
        held.gave[call.peer] = held.gave.get(call.peer, 0) | sum(1 << index for index in found)
        self._note(call.topic, call.group, held)

    def decide(
        self,
        topic: str,
        group: bytes,
        offers: Iterable[PartialCall],
        linked: Mapping[Peer, Any],
        to: Iterable[Peer],
    ) -> list[PartialDecision]:
        """What to send to whom: to those in `to`, where any are named, and else to all that are known of."""
        held = self.of(topic, group)
        offered = {call.peer: call for call in offers}
        chosen = set(to) or {*offered, *held.said, *held.gave, *held.gossip}
        decisions = list(self._decisions(held, group, offered, sorted(chosen & linked.keys())))
        for noted in (held.said, held.gave):
            noted.clear()
        held.gossip.clear()
        return decisions

    def _decisions(
        self, held: SimulatedGroup, group: bytes, offered: Mapping[Peer, PartialCall], peers: Iterable[Peer]
    ) -> Iterator[PartialDecision]:
        mine = held.bits()
        for peer in peers:
            call = offered.get(peer)
            known = PeerGroupView.decoded(call.state if call is not None else None)
            gave, said = held.gave.get(peer, 0), held.said.get(peer)
            has, told = known.has | gave | (said or 0), known.told | gave
            heard = known.heard or said is not None
            payload = metadata = None
            if call is not None and call.requests and heard and mine & ~has:
                payload = _encoded(held, mine & ~has, group)
                told, has = told | mine, has | mine
            if not known.greeted or mine & ~told:
                told |= mine
                metadata = bytes((told,))
            yield PartialDecision(
                peer=peer,
                payload=payload,
                metadata=metadata,
                next_state=PeerGroupView(has, heard, told, known.greeted or metadata is not None).encoded(),
            )


def _encoded(held: SimulatedGroup, bits: int, group: bytes) -> bytes:
    parts = (held.parts[index] for index in range(PARTS) if bits >> index & 1)
    return bytes((bits,)) + b"".join(parts) + group


def _payload(data: bytes, group: bytes) -> dict[int, bytes] | None:
    """The parts in a payload; None where it is none of that group."""
    indices = [index for index in range(PARTS) if data[0] >> index & 1]
    body = data[1 : len(data) - GROUP_BYTES]
    if data[len(data) - GROUP_BYTES :] != group or len(body) != PART_BYTES * len(indices):
        return None
    return {index: body[k * PART_BYTES : (k + 1) * PART_BYTES] for k, index in enumerate(indices)}
