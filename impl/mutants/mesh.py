"""Planted departures of our pubsub router: its mesh, its backoffs, and what neighbours are told of topics.

Each is one edit at one seam of the parts in `quidnunc.impl.gossipsub.router`, which know nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from quidnunc.impl.gossipsub.mesh import GraftAnswer
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutant import Mutant
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.model.rpc import Peer
from quidnunc.model.versions import VERSIONS

Edit = Callable[[GossipsubRouter], None]

FIRST_PROTOCOL: Mapping[str, str] = MappingProxyType(
    {"pubsub": "floodsub", **{each.clauses: each.name for each in VERSIONS.values()}}
)
"""Prefix of a clause -> the first protocol that it is in force for."""


def mutant(name: str, clause: str, edit: Edit, summary: str, protocol: str = "") -> Mutant:
    """A mutant of the pubsub router; its protocol is that of its clause unless said otherwise."""

    def apply(router: object) -> None:
        if not isinstance(router, GossipsubRouter):
            raise TypeError(f"mutant {name} edits a pubsub Router, not a {type(router).__name__}")
        edit(router)

    first = protocol or FIRST_PROTOCOL[clause.split("/")[0]]
    return Mutant(name=name, summary=summary, clause=clause, protocol=first, apply=apply)


def patch(owner: object, seam: str, by: Callable[..., object]) -> None:
    """Put `by` in the place of the method `seam` of one instance."""
    if not callable(getattr(owner, seam, None)):
        raise AttributeError(f"{type(owner).__name__} has no method {seam!r} to replace")
    setattr(owner, seam, by)


def nothing(*_: object) -> None:
    return None


def _leave_silently(r: GossipsubRouter) -> None:
    patch(r.mesh, "leave", lambda topic: r.mesh.of.pop(topic))


def _fanout_not_told(r: GossipsubRouter) -> None:
    join = r.mesh.join

    def join_silently(topic: str, from_fanout: Iterable[Peer]) -> None:
        join(topic, ())
        r.mesh.of[topic].update(from_fanout)

    patch(r.mesh, "join", join_silently)


def _fanout_dropped_at_join(r: GossipsubRouter) -> None:
    join = r.mesh.join
    patch(r.mesh, "join", lambda topic, from_fanout: join(topic, ()))


def _join_takes_one(r: GossipsubRouter) -> None:
    patch(r.mesh, "eligible_at_join", lambda topic: set(sorted(r.mesh.eligible(topic))[:1]))


def _join_in_backoff(r: GossipsubRouter) -> None:
    mesh = r.mesh
    patch(mesh, "eligible_at_join", lambda topic: {
        p for p in mesh.core.speakers(topic) if not mesh.core.is_explicit(p) and not mesh.is_negative(p)
    })  # fmt: skip


def _graft_explicit(r: GossipsubRouter) -> None:
    mesh = r.mesh
    patch(mesh, "may_graft", lambda p, topic: not mesh.waits(p, topic) and not mesh.is_negative(p))


def _answer(position: int, answer: GraftAnswer | None) -> Edit:
    """The GRAFT check at this position of v1.1 answers otherwise where it has an answer."""

    def edit(r: GossipsubRouter) -> None:
        check = r.mesh.graft_checks[position]
        r.mesh.graft_checks[position] = lambda p, topic: None if check(p, topic) is None else answer

    return edit


_OUTSIDE, _MEMBER, _EXPLICIT, _BACKING_OFF, _NEGATIVE, _FULL = range(6)


def _full_for_all(r: GossipsubRouter) -> None:
    mesh = r.mesh
    mesh.graft_checks[_FULL] = lambda p, topic: (
        GraftAnswer.BACK_OFF if mesh.is_full(len(mesh.of[topic])) else None
    )


def _without_upkeep(name: str) -> Edit:
    def edit(r: GossipsubRouter) -> None:
        r.mesh.upkeep.remove(getattr(r.mesh, name))

    return edit


def _forget_backoff_early(r: GossipsubRouter) -> None:
    mesh = r.mesh
    patch(mesh, "waits", lambda p, topic: mesh.core.now_ms + 1000 < mesh.backoff_ends_ms.get((topic, p), 0))


def _cut_too_far(r: GossipsubRouter) -> None:
    survivors = r.mesh.survivors
    patch(r.mesh, "survivors", lambda members: survivors(members)[:-1])


def _overflow(r: GossipsubRouter) -> None:
    wait = r.mesh.seconds_to_wait
    patch(r.mesh, "seconds_to_wait", lambda s: 0 if (s or 0) * 10**9 >= 1 << 63 else wait(s))


def _prune_answered(r: GossipsubRouter) -> None:
    on_prune = r.mesh.on_prune

    def answer(peer: Peer, topic: str, announced_s: int | None) -> bool:
        known = on_prune(peer, topic, announced_s)
        if known:
            r.mesh.say_prune(peer, topic, r.core.parameters.prune_backoff_s)
        return known

    patch(r.mesh, "on_prune", answer)


def _stop_at_unknown(r: GossipsubRouter) -> None:
    def read(peer: Peer, control: wire.ControlMessage) -> None:
        all(r.mesh.on_prune(peer, prune.topicID, prune.backoff) for prune in control.prune)

    r.control[r.control.index(r.read_prunes)] = read


def _stays_subscribed(r: GossipsubRouter) -> None:
    def read(peer: Peer, rpc: wire.RPC) -> None:
        r.read_subscriptions(peer, wire.RPC(subscriptions=[s for s in rpc.subscriptions if s.subscribe]))

    r.intake[r.intake.index(r.read_subscriptions)] = read


_ROWS: tuple[tuple[str, str, Edit, str], ...] = (
    ("hello-empty", "pubsub/hello.current-subscriptions", lambda r: patch(r, "say_hello", nothing),
     "Tells a new peer nothing of its topics."),
    ("announce-to-topic", "pubsub/subscription.announce-to-all",
     lambda r: patch(r, "told_of", lambda topic: sorted(r.core.members(topic))),
     "Announces a join or leave to the peers in the topic alone."),
    ("unsubscribe-ignored", "pubsub/subscription.table", _stays_subscribed,
     "Takes a peer that left a topic for a member still."),
    ("unsubscriber-in-mesh", "gs1.0/mesh.members", lambda r: patch(r.mesh, "quit", nothing),
     "Keeps a peer that left the topic in its mesh."),
    ("join-takes-one", "gs1.0/join.fill", _join_takes_one, "Takes one peer into its mesh at Join."),
    ("join-drops-fanout", "gs1.0/join.from-fanout", _fanout_dropped_at_join,
     "Forgets the fanout at Join and chooses anew."),
    ("join-fanout-untold", "gs1.0/join.graft-each", _fanout_not_told,
     "Moves fanout peers into the mesh without a GRAFT."),
    ("leave-silently", "gs1.0/leave.prune-each", _leave_silently,
     "Forgets the mesh at Leave and tells nobody."),
    ("graft-unknown-silent", "gs1.0/graft.unsubscribed", _answer(_OUTSIDE, GraftAnswer.LEAVE),
     "v1.0 that does not answer a GRAFT for a topic it is not in."),
    ("graft-crossing-pruned", "gs1.0/graft.idempotent", _answer(_MEMBER, GraftAnswer.PRUNE),
     "Answers a GRAFT from a member by PRUNE."),
    ("graft-not-taken", "gs1.0/graft.accept",
     lambda r: r.mesh.graft_checks.append(lambda p, topic: GraftAnswer.LEAVE),
     "Neither takes a GRAFT nor answers it."),
    ("prune-ignored", "gs1.0/prune.remove", lambda r: patch(r.mesh, "on_prune", lambda *_: True),
     "Keeps in the mesh who said PRUNE."),
    ("prune-answered", "gs1.0/prune.not-answered", _prune_answered, "Answers PRUNE by PRUNE."),
    ("fill-never", "gs1.0/heartbeat.fill", _without_upkeep("fill"), "Never fills a thin mesh."),
    ("fill-past-d", "gs1.0/heartbeat.fill",
     lambda r: patch(r.mesh, "wanted", lambda: r.core.parameters.d + 1), "Fills a thin mesh to D + 1."),
    ("cut-never", "gs1.0/heartbeat.cut", _without_upkeep("cut"), "Never cuts a mesh."),
    ("cut-at-d-high", "gs1.0/heartbeat.cut",
     lambda r: patch(r.mesh, "is_over", lambda degree: degree >= r.core.parameters.d_high),
     "Cuts a mesh of D_high members."),
    ("cut-too-far", "gs1.0/heartbeat.cut", _cut_too_far, "Cuts a mesh to D - 1."),
    ("explicit-grafted", "gs1.1/explicit.no-mesh", _graft_explicit, "Sends GRAFT to explicit peers."),
    ("explicit-graft-taken", "gs1.1/explicit.graft-pruned", _answer(_EXPLICIT, None),
     "Takes the GRAFT of an explicit peer."),
    ("graft-unknown-pruned", "gs1.1/graft.unknown-topic", _answer(_OUTSIDE, GraftAnswer.PRUNE),
     "v1.1 that answers a GRAFT for a topic it is not in."),
    ("leave-no-backoff", "gs1.1/backoff.unsubscribe",
     lambda r: patch(r.mesh, "back_off_after_leave", nothing),
     "Keeps no backoff of its own after Leave."),
    ("leave-long-backoff", "gs1.1/backoff.unsubscribe",
     lambda r: patch(r.mesh, "seconds_at_leave", lambda: r.core.parameters.prune_backoff_s),
     "Announces the long backoff at Leave."),
    ("join-in-backoff", "gs1.1/backoff.both-ends", _join_in_backoff, "Grafts peers in backoff at Join."),
    ("regraft-taken", "gs1.1/backoff.regraft", _answer(_BACKING_OFF, None),
     "Takes a GRAFT inside the backoff."),
    ("regraft-silent", "gs1.1/backoff.regraft", _answer(_BACKING_OFF, GraftAnswer.LEAVE),
     "Does not answer a GRAFT inside the backoff."),
    ("regraft-not-extended", "gs1.1/backoff.regraft", _answer(_BACKING_OFF, GraftAnswer.PRUNE),
     "Prunes a GRAFT inside the backoff and does not extend it."),
    # None grafts between the end of a backoff and the next heartbeat: the text asks for slack, does not say
    # how much, and so from the end on every GRAFT is free.
    ("backoff-a-second-short", "gs1.1/backoff.both-ends", _forget_backoff_early,
     "Grafts a second before the backoff ends."),
    ("backoff-overwritten", "gs1.1/backoff.both-ends",
     lambda r: patch(r.mesh, "later", lambda running_ms, new_ms: new_ms),
     "Lets a short backoff replace a long one that runs."),
    ("backoff-not-heard", "gs1.1/backoff.announced-period",
     lambda r: patch(r.mesh, "seconds_to_wait", lambda s: r.core.parameters.prune_backoff_s),
     "Waits its own default, whatever is announced."),
    ("backoff-overflow", "gs1.1/backoff.announced-period", _overflow,
     "Takes a backoff beyond 2^63 nanoseconds for none."),
    ("backoff-zero-default", "gs1.1/backoff.default",
     lambda r: patch(r.mesh, "seconds_to_wait", lambda s: s or 0),
     "Keeps no backoff after a PRUNE without the field."),
    ("backoff-not-told", "gs1.1/backoff.announce", lambda r: patch(r.mesh, "tells_backoff", lambda p: False),
     "Sends bare PRUNEs only."),
    # None tells peers of v1.0 the backoff too: no sentence forbids it, and they skip the field.
    ("prune-unknown-aborts", "gs1.0/prune.remove", _stop_at_unknown,
     "Skips what follows a PRUNE of an unknown topic in the same RPC."),
    ("negative-kept", "gs1.1/threshold.negative-pruned", _without_upkeep("drop_negative"),
     "Keeps members with a negative score."),
    ("negative-grafted", "gs1.1/threshold.negative-score",
     lambda r: patch(r.mesh, "is_negative", lambda p: False), "Sends GRAFT to peers with a negative score."),
    ("negative-graft-taken", "gs1.1/threshold.negative-score", _answer(_NEGATIVE, None),
     "Takes the GRAFT of a peer with a negative score."),
    ("full-takes-inbound", "gs1.1/outbound.inbound-refused", _answer(_FULL, None),
     "Takes any GRAFT at D_high."),
    ("full-above-d-high", "gs1.1/outbound.inbound-refused",
     lambda r: patch(r.mesh, "is_full", lambda degree: degree > r.core.parameters.d_high),
     "Is full above D_high only, and not at it."),
    ("full-refuses-outbound", "gs1.1/outbound.accepted-when-full", _full_for_all,
     "Refuses a peer that it dialled at D_high."),
    ("cut-ignores-outbound", "gs1.1/outbound.cut-quota",
     lambda r: patch(r.mesh, "keep_outbound", lambda kept, gone: kept), "Cuts without the outbound quota."),
    ("cut-ignores-scores", "gs1.1/heartbeat.keep-best", lambda r: patch(r.mesh, "best_kept", lambda: 0),
     "Cuts without a look at scores."),
    ("outbound-not-filled", "gs1.1/outbound.fill", _without_upkeep("fill_outbound"),
     "Never looks for outbound members."),
    ("never-opportunistic", "gs1.1/opportunistic.graft", _without_upkeep("graft_better"),
     "Never grafts opportunistically."),
    ("opportunistic-equals", "gs1.1/opportunistic.graft",
     lambda r: patch(r.mesh, "is_better", lambda score, median: score >= median),
     "Grafts opportunistically who is no better than the median."),
)  # fmt: skip

MESH_MUTANTS = tuple(mutant(*row) for row in _ROWS)
