"""All the neighbours of one pubsub router, played by a source of numbers: what could happen next, steered.

Acts are drawn with weights that depend on the run's theme and on what the model says of the router, because
some claims apply only to a peer in backoff, to a message on its way, or to a burst of twenty peers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from attrs import evolve, field, frozen, mutable

from quidnunc.model.events import Advance, Event
from quidnunc.model.parameters import Parameters
from quidnunc.model.protocols import PUBSUB
from quidnunc.model.router import Router
from quidnunc.model.rpc import Flaw, Message, Peer
from quidnunc.properties.digits import Digits, weighted
from quidnunc.properties.score_neighbours import CAPABILITY, CHANCE, own_digits, with_scores
from quidnunc.properties.score_neighbours import WEIGHTS as SCORE_WEIGHTS

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


def draw_parameters(d: Digits, capabilities: frozenset[str], protocol: str) -> Parameters:
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


def with_limit(p: Parameters, d: Digits, capabilities: frozenset[str]) -> Parameters:
    """`p`, in some runs with a limit on the size of messages that some of them exceed. Nothing is taken of
    `d`, so that a router without the limit has the runs that it had."""
    limited = "message-limit" in capabilities and Digits(d.state ^ LIMIT_SALT).chance(15)
    return evolve(p, max_message_bytes=1000) if limited else p


@mutable
class Neighbours:
    """The neighbours of one router. `view` is the model's state of it, read before each act."""

    protocol: str
    parameters: Parameters
    capabilities: frozenset[str]
    weights: Mapping[str, int]
    last_peer: Peer = 0
    last_message: int = 0
    view: Router = field(default=None)
    known: dict[str, Message] = field(factory=dict)
    """Every message that this run has named, by id."""
    planned: list[Message] = field(factory=list)
    """Messages that were spoken of, and that somebody may still send."""
    undeclared: list[Message] = field(factory=list)
    more: Mapping[str, Act] = field(factory=dict)
    """Acts beside those of every protocol."""
    finish: Callable[[Neighbours, list[Event], Digits], list[Event]] | None = None
    """What becomes of the events of an act, where a protocol's peers say more than those of others."""

    def act(self, view: Router, d: Digits) -> list[Event]:
        """What happens next; never empty."""
        from quidnunc.properties.acts import ACTS

        self.view = view
        table = {name: w for name, w in self.weights.items() if w > 0}
        for _ in range(4):
            events = {**ACTS, **self.more}[weighted(table, d)](self, d)
            if events:
                return self.finish(self, events, d) if self.finish else events
        return [self.to_heartbeat(view)]

    # -- helpers --------------------------------------------------------------------------------------

    def to_heartbeat(self, view: Router) -> Advance:
        p = view.parameters
        ran = view.now_ms - p.heartbeat_delay_ms
        return Advance(-ran if ran < 0 else p.heartbeat_interval_ms - ran % p.heartbeat_interval_ms)

    def peer(self, d: Digits, among: Sequence[Peer] | None = None) -> Peer | None:
        pool = sorted(self.view.peers) if among is None else among
        return d.one_of(pool) if pool else None

    def mesh_peer(self, d: Digits, topic: str) -> Peer | None:
        mesh = sorted(self.view.mesh_of(topic))
        return d.one_of(mesh) if mesh and d.chance(80) else self.peer(d)

    def topic(self, d: Digits) -> str:
        joined = sorted(self.view.topics)
        return d.one_of(joined) if joined and d.chance(85) else d.one_of(TOPICS)

    def new_message(self, d: Digits, topic: str, author: Peer, flaw: Flaw = "") -> Message:
        self.last_message += 1
        size = 0 if d.chance(70) else d.one_of((600, 2000))
        message = Message(f"m{self.last_message}", topic, self.author_of(author), size, flaw)
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

    def some_id(self, d: Digits) -> str:
        """An id: cached, or seen, or about to come."""
        pool = sorted(self.view.cached) or sorted(self.known)
        if pool and d.chance(75):
            return d.one_of(pool)
        seen = sorted(self.known)
        return d.one_of(seen) if seen and d.chance(50) else self.planned_id(d, self.topic(d))

    def planned_id(self, d: Digits, topic: str) -> str:
        """The id of a message that nobody has sent yet."""
        message = self.new_message(d, topic, self.peer(d) or 1)
        self.planned.append(message)
        return message.id


Act: TypeAlias = Callable[[Neighbours, Digits], list[Event]]
"""What the neighbours do next; no events where they can not do it now."""


@frozen
class Theme:
    """What a run is mostly about: weights over those of every run."""

    name: str
    weights: Mapping[str, int]


BASE: Mapping[str, int] = {
    "arrive": 10,
    "depart": 2,
    "reconnect": 2,
    "join": 7,
    "leave": 2,
    "rejoin": 1,
    "publish": 3,
    "message": 6,
    "duplicate": 2,
    "graft": 4,
    "prune": 4,
    "ihave": 3,
    "iwant": 3,
    "idontwant": 3,
    "idontwant_known": 1,
    "subscribe": 3,
    "unsubscribe_mesh": 1,
    "combined": 3,
    "heartbeat": 8,
    "advance": 3,
    "verdict": 4,
    "score": 3,
    "stall": 1,
    "raw": 1,
    "crowd": 1,
    "better_outside": 1,
    "flood": 1,
    "old_copy": 2,
    "fanout_leaver": 1,
    "hated_friend": 2,
}

PREPARED = ("crowd", "better_outside", "flood", "old_copy", "fanout_leaver", "hated_friend")
"""Acts that lead up to one rare occasion (`quidnunc.properties.acts_rare`)."""

THEMES: tuple[Theme, ...] = (
    Theme("mixed", {}),
    Theme("mesh", {"arrive": 14, "graft": 14, "prune": 6, "heartbeat": 14, "unsubscribe_mesh": 3}),
    Theme("backoff", {"prune": 14, "graft": 12, "advance": 10, "rejoin": 6, "heartbeat": 10, "message": 1}),
    Theme("gossip", {"message": 14, "ihave": 10, "iwant": 10, "heartbeat": 14, "publish": 6}),
    Theme("fanout", {"publish": 16, "heartbeat": 8, "join": 4, "advance": 6, "unsubscribe_mesh": 5}),
    Theme("relay", {"message": 16, "duplicate": 8, "idontwant": 12, "combined": 6, "verdict": 10}),
    Theme("scores", {"score": 16, "heartbeat": 12, "graft": 8, "ihave": 5, "iwant": 5, "better_outside": 6}),
    Theme("crowds", {"crowd": 14, "score": 8, "graft": 6, "heartbeat": 10, "publish": 6}),
    Theme("floods", {"flood": 20, "message": 10, "ihave": 6, "iwant": 6, "fanout_leaver": 6}),
)

PLAIN_WEIGHTS: Mapping[str, int] = {**dict.fromkeys(BASE, 1), **dict.fromkeys(PREPARED, 0)}
"""Weights without steering, to compare with: every act as often as any other, and none that leads up to
something."""


def draw_theme(d: Digits, protocol: str, steered: bool = True) -> Mapping[str, int]:
    """The weights of one run."""
    if not steered:
        return PLAIN_WEIGHTS
    theme = d.one_of(THEMES)
    weights = {**BASE, **theme.weights}
    if protocol == "floodsub":
        keep = {"arrive", "depart", "reconnect", "join", "leave", "rejoin", "publish", "message", "duplicate"}
        keep |= {"subscribe", "heartbeat", "advance", "verdict", "stall", "raw"}
        weights = {k: v for k, v in weights.items() if k in keep}
    return weights


def draw_neighbours(
    d: Digits, protocol: str, capabilities: frozenset[str], *, steered: bool = True
) -> Neighbours:
    """The parameters and the neighbours of one run."""
    own = own_digits(d)
    parameters = with_limit(draw_parameters(d, capabilities, protocol), d, capabilities)
    drawn = Neighbours(protocol, parameters, capabilities, draw_theme(d, protocol, steered))
    handlers = PUBSUB[protocol].handlers
    if "extension" in handlers:
        from quidnunc.properties.partial_neighbours import extended

        drawn = extended(drawn, d, steered)
    able = {CAPABILITY, "score"} <= capabilities and "weighted_score" in handlers
    if able and steered and own.chance(CHANCE):
        from quidnunc.properties.acts_px import EXCHANGE_WEIGHTS, EXCHANGING
        from quidnunc.properties.acts_scores import SCORING

        drawn.parameters = with_scores(drawn.parameters, own, capabilities)
        # Of partial messages little is left out; other extensions say nothing that a score could count.
        parts = {k: drawn.weights[k] for k in drawn.more if "partial" in handlers and k in drawn.weights}
        drawn.weights, drawn.more = {**SCORE_WEIGHTS, **parts}, {**drawn.more, **SCORING, **EXCHANGING}
        if drawn.parameters.prune_peers:
            drawn.weights = {**drawn.weights, **EXCHANGE_WEIGHTS}
    return drawn
