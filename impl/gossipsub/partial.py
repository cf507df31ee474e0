"""Partial messages of our router: flags, what they spare whom, groups, and the application's callbacks.

Three readings: the merged text, the design of the JVM router, and what the Go router does. Written from
those, and not from our model of them. On what the merged text leaves to libraries it does as the JVM design
has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

from attrs import define, field

from quidnunc.impl.gossipsub.core import RouterCore
from quidnunc.impl.gossipsub.extensions import ExtensionSupport
from quidnunc.impl.gossipsub.fanout import Fanout
from quidnunc.impl.gossipsub.mesh import Mesh
from quidnunc.impl.gossipsub.outbox import Outbox
from quidnunc.impl.seam import PartialCall, PartialDecision
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.model.rpc import PARTIAL_EXTENSION, Peer

MAX_GROUPS = 10_000
"""Of all topics together. The limits on groups are per topic, and a peer can name any topic."""
MAX_CALLS = 100_000

States: TypeAlias = Mapping[Peer, object]
"""What the application keeps of each peer of a group; None at first."""
Decide: TypeAlias = Callable[[States, Callable[[Peer], bool]], Iterable[PartialDecision]]
"""The application decides: it is given the states and a test of who wants payload."""


class PartialApplication(Protocol):
    """Who owns the parts. Called in the middle of the router's work; it may call `publish` then."""

    def on_partial(self, peer: Peer, partial: wire.PartialMessagesExtension, states: States) -> None: ...
    def on_gossip(self, topic: str, group: bytes, peers: Sequence[Peer], states: States) -> None: ...


@define(eq=False)
class GroupState:
    """What is kept of one group."""

    heartbeats_left: int
    initiator: Peer | None
    """The peer that started it; None where we did."""
    states: dict[Peer, object] = field(factory=dict)


class PartialMessages:
    """Everything about partial messages. Does nothing where the protocol has none."""

    def __init__(
        self, core: RouterCore, outbox: Outbox, mesh: Mesh, fanout: Fanout, extensions: ExtensionSupport
    ) -> None:
        self.core = core
        self.outbox = outbox
        self.mesh = mesh
        self.fanout = fanout
        self.extensions = extensions
        self.reading = core.features.partial
        self.application: PartialApplication | None = None
        self.own: dict[str, tuple[bool, bool]] = {}
        """Topic that we are in -> (requests, supports)."""
        self.flags: dict[Peer, dict[str, tuple[bool, bool]]] = {}
        self.groups: dict[tuple[str, bytes], GroupState] = {}
        self.started: dict[tuple[str, Peer], int] = {}
        self._calls: list[PartialCall] = []

    def taken(self) -> tuple[PartialCall, ...]:
        """What the application was called for since this was last asked, where none is attached."""
        calls, self._calls = tuple(self._calls), []
        return calls

    # -- flags -------------------------------------------------------------------------------------------

    def join(self, topic: str, requests: bool, supports: bool) -> None:
        if self.reading and (requests or supports):
            self.own[topic] = (requests, self.own_support(requests, supports))

    def own_support(self, requests: bool, supports: bool) -> bool:
        return requests or supports

    def leave(self, topic: str) -> None:
        """In Go the groups of the topic stay till they age."""
        self.own.pop(topic, None)
        if self.drops_groups_of_left():
            for key in [key for key in self.groups if key[0] == topic]:
                self.drop(key)

    def drops_groups_of_left(self) -> bool:
        return self.reading != "go"

    def enter(self, peer: Peer, topic: str, requests: bool, supports: bool) -> None:
        """A later subscription replaces the flags of an earlier one."""
        if self.reading and topic in self.core.neighbours[peer].topics:
            self.flags.setdefault(peer, {})[topic] = (requests, self.support(requests, supports))

    def support(self, requests: bool, supports: bool) -> bool:
        """Who requests has to support."""
        return requests or supports

    def quit(self, peer: Peer, topic: str) -> None:
        self.flags.get(peer, {}).pop(topic, None)

    def forget(self, peer: Peer) -> None:
        """The peer is gone, and what was kept of it. In Go the groups that it started no longer count."""
        self.flags.pop(peer, None)
        for group in self.groups.values():
            group.states.pop(peer, None)
        if self.reading == "go":
            self.started = {key: count for key, count in self.started.items() if key[1] != peer}

    # -- views -------------------------------------------------------------------------------------------

    def named(self, peer: Peer) -> bool:
        return self.extensions.both_have(peer, PARTIAL_EXTENSION)

    def requests(self, peer: Peer, topic: str) -> bool:
        return self.flags.get(peer, {}).get(topic, _NO_FLAGS)[0]

    def supports(self, peer: Peer, topic: str) -> bool:
        return self.flags.get(peer, {}).get(topic, _NO_FLAGS)[1]

    def we_request(self, topic: str) -> bool:
        return self.own.get(topic, _NO_FLAGS)[0]

    def we_support(self, topic: str) -> bool:
        return self.own.get(topic, _NO_FLAGS)[1]

    def requesters(self, topic: str) -> set[Peer]:
        return {p for p in self.core.members(topic) if self.requests(p, topic)}

    def spared(self, topic: str) -> set[Peer]:
        """Who gets no full messages. The JVM design does not ask whether we can send parts; Go does not ask
        whether the peer has named the extension."""
        if not self.we_support(topic) and self.reading != "jvm":
            return set()
        return {p for p in self.requesters(topic) if self.reading == "go" or self.named(p)}

    def senders_of_parts(self, topic: str) -> set[Peer]:
        """Who sends us parts, and so needs no IDONTWANT."""
        if not self.we_request(topic):
            return set()
        members = self.core.members(topic)
        return {p for p in members if self.supports(p, topic) and (self.reading == "go" or self.named(p))}

    # -- gossip ------------------------------------------------------------------------------------------

    def divert(self, topic: str, targets: list[Peer]) -> list[Peer]:
        """Ask the application to gossip to those who requested parts; the others are left for IHAVE."""
        diverted = [p for p in targets if self.takes_gossip_as_parts(p, topic)]
        for key, group in sorted(self.groups.items()):
            if key[0] == topic and self.gossips(group):
                peers = self.to_ask_about(group, diverted)
                if peers:
                    self.ask(topic, key[1], peers, group)
        return [p for p in targets if p not in diverted]

    def takes_gossip_as_parts(self, peer: Peer, topic: str) -> bool:
        wanted = self.we_support(topic) and self.requests(peer, topic)
        return wanted and (self.reading == "go" or self.named(peer))

    def gossips(self, group: GroupState) -> bool:
        return group.initiator is None

    def to_ask_about(self, group: GroupState, peers: list[Peer]) -> list[Peer]:
        """In Go each peer once in a group; from then on something is kept of it, if nothing yet."""
        if self.reading != "go":
            return peers
        new = [p for p in peers if p not in group.states]
        group.states.update(dict.fromkeys(new))
        return new

    def ask(self, topic: str, group: bytes, peers: list[Peer], of: GroupState) -> None:
        if self.application is not None:
            self.application.on_gossip(topic, group, peers, self.shown(of))
            return
        for peer in peers:
            self._note(PartialCall(kind="gossip", topic=topic, group=group, peer=peer))

    # -- a partial message comes in ----------------------------------------------------------------------

    def on_rpc(self, peer: Peer, rpc: wire.RPC) -> None:
        """Whatever it carries goes to the application, if its sender has named the extension."""
        partial = rpc.partial
        if not rpc.HasField("partial") or not self.hears(peer) or not isinstance(partial.topicID, str):
            return
        group = self.group_of(peer, partial.topicID, partial.groupID)
        if group is None:
            return
        if self.application is not None:
            self.application.on_partial(peer, partial, self.shown(group))
        else:
            self._note(self.as_call(peer, partial))

    def hears(self, peer: Peer) -> bool:
        return self.named(peer)

    def as_call(self, peer: Peer, partial: wire.PartialMessagesExtension) -> PartialCall:
        return PartialCall(
            kind="hand",
            topic=partial.topicID,
            group=partial.groupID,
            peer=peer,
            payload=partial.partialMessage if partial.HasField("partialMessage") else None,
            metadata=partial.partsMetadata if partial.HasField("partsMetadata") else None,
        )

    def group_of(self, peer: Peer, topic: str, name: bytes) -> GroupState | None:
        """The group, started by the peer if there is none; None where that is one too many."""
        found = self.groups.get((topic, name))
        if found is not None:
            return found
        if self.is_over_cap(peer, topic) or len(self.groups) >= MAX_GROUPS:
            return None
        self.started[topic, peer] = self.started.get((topic, peer), 0) + 1
        made = self.groups[topic, name] = GroupState(self.time_to_live(), peer)
        return made

    def time_to_live(self) -> int:
        """In heartbeats. The Go router raises what is configured to three."""
        configured = self.core.parameters.group_ttl_heartbeats
        return max(3, configured) if self.core.features.partial == "go" else configured

    def is_over_cap(self, peer: Peer, topic: str) -> bool:
        return self.topic_is_full(topic) or self.peer_is_over(peer, topic)

    def topic_is_full(self, topic: str) -> bool:
        total = sum(count for (t, _), count in self.started.items() if t == topic)
        return total >= self.core.parameters.max_groups_per_topic

    def peer_is_over(self, peer: Peer, topic: str) -> bool:
        return self.started.get((topic, peer), 0) >= self.core.parameters.max_groups_per_peer

    # -- the application publishes -----------------------------------------------------------------------

    def publish(self, topic: str, name: bytes, decide: Decide) -> None:
        """Make the group ours, offer peers to the application, and send what it decides.

        Raises whatever `decide` raises; then nothing has been sent or kept, but in Go what it wrote itself.
        """
        group = self.groups.get((topic, name))
        if group is None:
            group = self.groups[topic, name] = GroupState(0, None)
        self.release(topic, group.initiator)
        group.initiator = None
        self.refresh(group)
        for peer in self.offered(topic):
            group.states.setdefault(peer, None)
        decisions = list(decide(self.shown(group), lambda peer: self.requests(peer, topic)))
        for each in decisions:
            if each.peer in self.core.neighbours:
                self.carry_out(topic, name, group, each)

    def refresh(self, group: GroupState) -> None:
        group.heartbeats_left = self.time_to_live()

    def shown(self, group: GroupState) -> States:
        """In Go the map itself, for the application to write to."""
        return group.states if self.reading == "go" else dict(group.states)

    def offered(self, topic: str) -> list[Peer]:
        """Mesh members that send us parts or want ours; without a mesh other members of the topic, and
        outside the topic its fanout."""
        if topic not in self.core.joined:
            pool = self.fanout.for_publish(topic)
        else:
            pool = self.mesh.of[topic] or set(
                self.core.some(self.core.speakers(topic), self.core.parameters.d)
            )
        return sorted(p for p in pool if self.is_offered(p, topic))

    def is_offered(self, peer: Peer, topic: str) -> bool:
        sends = self.we_request(topic) and self.supports(peer, topic)
        wants = self.we_support(topic) and self.requests(peer, topic)
        if self.reading == "go":
            return (sends and self.named(peer)) or wants
        return (sends or wants) and self.named(peer)

    def carry_out(self, topic: str, name: bytes, group: GroupState, d: PartialDecision) -> None:
        """One decision: send what may be sent, and keep what is to be kept, both or none."""
        if d.next_state is not None and self.keeps(d):
            group.states[d.peer] = d.next_state
        if d.error or not self.may_send(d.peer):
            return
        partial = wire.PartialMessagesExtension(topicID=topic, groupID=name)
        if d.payload is not None and self.may_send_payload(d.peer, topic):
            partial.partialMessage = d.payload
        if d.metadata is not None and self.may_send_metadata(d.peer, topic):
            partial.partsMetadata = d.metadata
        if partial.HasField("partialMessage") or partial.HasField("partsMetadata"):
            self.outbox.to(d.peer).partials.append(partial)

    def keeps(self, d: PartialDecision) -> bool:
        return not d.error or self.reading == "go"

    def may_send(self, peer: Peer) -> bool:
        return self.reading == "go" or self.named(peer)

    def may_send_payload(self, peer: Peer, topic: str) -> bool:
        return self.requests(peer, topic)

    def may_send_metadata(self, peer: Peer, topic: str) -> bool:
        """By the merged text only who can send parts is asked for them."""
        return self.reading != "merged" or self.supports(peer, topic)

    # -- the end of groups -------------------------------------------------------------------------------

    def heartbeat(self) -> None:
        """The JVM design drops a group when its count comes to zero, Go at the heartbeat after that."""
        late = self.reading == "go"
        for key, group in tuple(self.groups.items()):
            over = self.is_over(group) if late else False
            if not over:
                self.count_down(group)
            if over or (not late and self.is_over(group)):
                self.drop(key)

    def is_over(self, group: GroupState) -> bool:
        return group.heartbeats_left <= 0 or self.is_empty(group)

    def is_empty(self, group: GroupState) -> bool:
        return not group.states

    def count_down(self, group: GroupState) -> None:
        group.heartbeats_left -= 1

    def drop(self, key: tuple[str, bytes]) -> None:
        self.release(key[0], self.groups.pop(key).initiator)

    def release(self, topic: str, initiator: Peer | None) -> None:
        """One group fewer that the peer has started."""
        if initiator is not None and (count := self.started.get((topic, initiator), 0)):
            self.started[topic, initiator] = count - 1
            if count == 1:
                del self.started[topic, initiator]

    def _note(self, call: PartialCall) -> None:
        if len(self._calls) < MAX_CALLS:
            self._calls.append(call)


_NO_FLAGS = (False, False)
