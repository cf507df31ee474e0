"""The neighbours of one pubsub router as one value: what they know, and what their acts share.

`quidnunc.properties.neighbours.pubsub` draws one of them for a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from attrs import evolve, field, mutable

from quidnunc.model.events import Advance, Event
from quidnunc.model.parameters import Parameters
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import Flaw, Message, Peer
from quidnunc.properties.neighbours.edges import late_start, size_at_bound, with_key
from quidnunc.properties.neighbours.seeded_draws import SeededDraws, weighted_name

TOPICS = ("t1", "t2", "t3")
MAX_PEERS = 48

SMALL: Mapping[str, object] = {
    "d": 4,
    "d_low": 3,
    "d_high": 6,
    "d_score": 2,
    "d_out": 1,
    "d_lazy": 2,
    "fanout_ttl_ms": 3000,
    "prune_backoff_s": 6,
    "unsubscribe_backoff_s": 3,
    "opportunistic_graft_ticks": 3,
    "opportunistic_graft_threshold": 3,
    "max_ihave_messages": 4,
    "max_ihave_length": 12,
    "max_idontwant_messages": 6,
}
"""Parameters in which everything happens within a few peers and seconds."""


def draw_parameters(d: SeededDraws, capabilities: frozenset[str], protocol: str) -> Parameters:
    """Parameters of one run, of those that the router can be given."""
    chosen: dict[str, object] = {}
    if d.chance(75):
        chosen.update(SMALL)
        if d.chance(30):
            # Shorter than gossip about what was published lasts, so that its end can be seen.
            chosen["fanout_ttl_ms"] = 1000
    if d.chance(15):
        chosen["seen_ttl_ms"] = 8000
    chosen["flood_publish"] = "flood-publish" in capabilities and d.chance(40)
    if "verdict" in capabilities and d.chance(35):
        chosen["validation"] = "manual"
    if d.chance(35):
        chosen["message_id"] = "content" if d.chance(70) else "hex"
        if "strict-no-sign" in capabilities and d.chance(50):
            chosen["signature_policy"] = "StrictNoSign"
    if "explicit" in capabilities and d.chance(25):
        chosen["explicit_peers"] = frozenset({2, 5}) if d.chance(50) else frozenset({3})
    if d.chance(20):
        chosen["idontwant_min_bytes"] = 500
    return Parameters(**chosen)  # type: ignore[arg-type]


LIMIT_SALT = 0x11417


def with_limit(p: Parameters, d: SeededDraws, capabilities: frozenset[str]) -> Parameters:
    """`p`, in some runs with a limit on the size of messages that some of them exceed. Nothing is taken of
    `d`, so that a router without the limit has the runs that it had."""
    limited = "message-limit" in capabilities and SeededDraws(d.state ^ LIMIT_SALT).chance(15)
    return evolve(p, max_message_bytes=1000) if limited else p


@mutable
class Neighbours:
    """The neighbours of one router. `view` is the model's state of it, read before each act."""

    protocol: str
    parameters: Parameters
    capabilities: frozenset[str]
    weights: Mapping[str, int]
    last_peer: Peer = 0
    streams: set[str] = field(factory=set)
    """Of those who arrived."""
    last_message: int = 0
    view: Router = field(default=None)
    known: dict[str, Message] = field(factory=dict)
    """Every message that this run has named, by id."""
    planned: list[Message] = field(factory=list)
    """Messages that were spoken of, and that somebody may still send."""
    undeclared: list[Message] = field(factory=list)
    last_counted: Peer | None = None
    """Whose counters the last act that was about somebody's has changed."""
    common: Mapping[str, Act] = field(factory=dict)
    """What the peers of every protocol do, by the names that `weights` has."""
    more: Mapping[str, Act] = field(factory=dict)
    """Acts beside those of every protocol."""
    finish: Callable[[Neighbours, list[Event], SeededDraws], list[Event]] | None = None
    """What becomes of the events of an act, where a protocol's peers say more than those of others."""

    def act(self, view: Router, d: SeededDraws) -> list[Event]:
        """What happens next; never empty."""
        self.view = view
        if not view.now_ms and not self.last_peer and (late := late_start(self.parameters, d)):
            return [late]
        table = {name: w for name, w in self.weights.items() if w > 0}
        for _ in range(4):
            events = {**self.common, **self.more}[weighted_name(table, d)](self, d)
            if events:
                return self.finish(self, events, d) if self.finish else events
        return [self.to_heartbeat(view)]

    # -- helpers --------------------------------------------------------------------------------------

    def to_heartbeat(self, view: Router) -> Advance:
        p = view.parameters
        ran = view.now_ms - p.heartbeat_delay_ms
        return Advance(-ran if ran < 0 else p.heartbeat_interval_ms - ran % p.heartbeat_interval_ms)

    def peer(self, d: SeededDraws, among: Sequence[Peer] | None = None) -> Peer | None:
        pool = sorted(self.view.peers) if among is None else among
        return d.one_of(pool) if pool else None

    def mesh_peer(self, d: SeededDraws, topic: str) -> Peer | None:
        mesh = sorted(self.view.mesh_of(topic))
        return d.one_of(mesh) if mesh and d.chance(80) else self.peer(d)

    def topic(self, d: SeededDraws) -> str:
        joined = sorted(self.view.topics)
        return d.one_of(joined) if joined and d.chance(85) else d.one_of(TOPICS)

    def new_message(self, d: SeededDraws, topic: str, author: Peer, flaw: Flaw = "") -> Message:
        self.last_message += 1
        size = 0 if d.chance(70) else d.one_of((600, 2000))
        size = size_at_bound(size, d, self.parameters)
        message = Message(f"m{self.last_message}", topic, self.author_of(author), size, flaw)
        message = with_key(message, d, self.capabilities)
        self.known[message.id] = message
        if not flaw:
            self.undeclared.append(message)
        return message

    def take_undeclared(self) -> list[Message]:
        """Messages that were named since this was last asked. Their ids mean nothing to a subject before it
        has been told of them, and who names one may be heard before who sends it."""
        named, self.undeclared = self.undeclared, []
        return named

    def author_of(self, author: Peer) -> Peer | None:
        return None if self.parameters.signature_policy == "StrictNoSign" else author

    def some_id(self, d: SeededDraws) -> str:
        """An id: cached, or seen, or about to come."""
        pool = sorted(self.view.cached) or sorted(self.known)
        if pool and d.chance(75):
            return d.one_of(pool)
        seen = sorted(self.known)
        return d.one_of(seen) if seen and d.chance(50) else self.planned_id(d, self.topic(d))

    def planned_id(self, d: SeededDraws, topic: str) -> str:
        """The id of a message that nobody has sent yet."""
        return self.planned_message(d, topic).id

    def planned_message(self, d: SeededDraws, topic: str) -> Message:
        message = self.new_message(d, topic, self.peer(d) or 1)
        self.planned.append(message)
        return message


Act: TypeAlias = Callable[[Neighbours, SeededDraws], list[Event]]
"""What the neighbours do next; no events where they cannot do it now."""
