"""Planted departures of our pubsub router: its mesh, its backoffs, and what neighbours are told of topics.

Each is one edit at one seam of the parts in `quidnunc.impl.gossipsub.router`, which know nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from quidnunc.impl.gossipsub.mesh import GraftAnswer
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutant import Usual, around, nothing, patch, put
from quidnunc.impl.mutants.table import read_mutants
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.model.rpc import Peer

Edit = Callable[[GossipsubRouter], None]


def _fanout_not_told(r: GossipsubRouter, join: Usual, topic: str, from_fanout: Iterable[Peer]) -> None:
    join(topic, ())
    r.mesh.of[topic].update(from_fanout)


def _join_in_backoff(r: GossipsubRouter, usual: Usual, topic: str) -> set[Peer]:
    core = r.mesh.core
    return {p for p in core.speakers(topic) if not core.is_explicit(p) and not r.mesh.is_negative(p)}


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


def _forget_backoff_early(r: GossipsubRouter, usual: Usual, p: Peer, topic: str) -> bool:
    return r.core.now_ms + 1000 < r.mesh.backoff_ends_ms.get((topic, p), 0)


def _one_backoff(r: GossipsubRouter) -> None:
    """Of each peer, in whatever topic it began."""
    mesh = r.mesh

    def ends_ms(p: Peer) -> int:
        return max((ends for (_, peer), ends in mesh.backoff_ends_ms.items() if peer == p), default=0)

    mesh.graft_checks[_BACKING_OFF] = lambda p, topic: (
        GraftAnswer.BACK_OFF if r.core.now_ms < ends_ms(p) else None
    )
    patch(mesh, "waits", lambda p, topic: ends_ms(p) > 0)


def _fill_one_topic(r: GossipsubRouter) -> None:
    fill = r.mesh.fill
    at = r.mesh.upkeep.index(fill)
    r.mesh.upkeep[at] = lambda topic: fill(topic) if topic == min(r.mesh.of) else None


def _grafts_shared(r: GossipsubRouter) -> None:
    """Who is grafted is told of all topics in which somebody was, since the heartbeat began."""
    graft, told = r.outbox.graft, dict[str, None]()

    def graft_in_all(peer: Peer, topic: str) -> None:
        told[topic] = None
        for each in told:
            graft(peer, each)

    patch(r.outbox, "graft", graft_in_all)
    r.beats.insert(0, told.clear)


def _prune_answered(
    r: GossipsubRouter, on_prune: Usual, peer: Peer, topic: str, announced_s: int | None
) -> bool:
    known: bool = on_prune(peer, topic, announced_s)
    if known:
        r.mesh.say_prune(peer, topic, r.core.parameters.prune_backoff_s)
    return known


def _stop_at_unknown(r: GossipsubRouter) -> None:
    def read(peer: Peer, control: wire.ControlMessage) -> None:
        all(r.mesh.on_prune(peer, prune.topicID, prune.backoff) for prune in control.prune)

    r.control[r.control.index(r.read_prunes)] = read


def _stays_subscribed(r: GossipsubRouter) -> None:
    def read(peer: Peer, rpc: wire.RPC) -> None:
        r.read_subscriptions(peer, wire.RPC(subscriptions=[s for s in rpc.subscriptions if s.subscribe]))

    r.intake[r.intake.index(r.read_subscriptions)] = read


_EDITS: Mapping[str, Edit] = {
    "hello-empty": put("say_hello", nothing),
    "announce-to-topic": lambda r: patch(r, "told_of", lambda topic: sorted(r.core.members(topic))),
    "unsubscribe-ignored": _stays_subscribed,
    "unsubscriber-in-mesh": put("mesh.quit", nothing),
    "join-takes-one": around(
        "mesh.eligible_at_join", lambda r, usual, topic: {*sorted(r.mesh.eligible(topic))[:1]}
    ),
    "join-drops-fanout": around("mesh.join", lambda r, join, topic, from_fanout: join(topic, ())),
    "join-fanout-untold": around("mesh.join", _fanout_not_told),
    "leave-silently": around("mesh.leave", lambda r, usual, topic: r.mesh.of.pop(topic)),
    "graft-unknown-silent": _answer(_OUTSIDE, GraftAnswer.LEAVE),
    "graft-crossing-pruned": _answer(_MEMBER, GraftAnswer.PRUNE),
    "graft-not-taken": lambda r: r.mesh.graft_checks.append(lambda p, topic: GraftAnswer.LEAVE),
    "prune-ignored": put("mesh.on_prune", lambda *_: True),
    "prune-answered": around("mesh.on_prune", _prune_answered),
    "fill-never": _without_upkeep("fill"),
    "fill-one-topic": _fill_one_topic,
    "grafts-shared": _grafts_shared,
    "fill-past-d": lambda r: patch(r.mesh, "wanted", lambda: r.core.parameters.d + 1),
    "cut-never": _without_upkeep("cut"),
    "cut-at-d-high": lambda r: patch(r.mesh, "is_over", lambda degree: degree >= r.core.parameters.d_high),
    "cut-too-far": around("mesh.survivors", lambda r, survivors, members: survivors(members)[:-1]),
    "explicit-grafted": around(
        "mesh.may_graft", lambda r, usual, p, topic: not (r.mesh.waits(p, topic) or r.mesh.is_negative(p))
    ),
    "explicit-graft-taken": _answer(_EXPLICIT, None),
    "graft-unknown-pruned": _answer(_OUTSIDE, GraftAnswer.PRUNE),
    "leave-no-backoff": put("mesh.back_off_after_leave", nothing),
    "leave-long-backoff": around("mesh.seconds_at_leave", lambda r, usual: r.core.parameters.prune_backoff_s),
    "join-in-backoff": around("mesh.eligible_at_join", _join_in_backoff),
    "regraft-taken": _answer(_BACKING_OFF, None),
    "regraft-silent": _answer(_BACKING_OFF, GraftAnswer.LEAVE),
    "regraft-not-extended": _answer(_BACKING_OFF, GraftAnswer.PRUNE),
    "backoff-of-any-topic": _one_backoff,
    "backoff-a-second-short": around("mesh.waits", _forget_backoff_early),
    "backoff-overwritten": put("mesh.later", lambda running_ms, new_ms: new_ms),
    "backoff-not-heard": around(
        "mesh.seconds_to_wait", lambda r, usual, s: r.core.parameters.prune_backoff_s
    ),
    "backoff-overflow": around(
        "mesh.seconds_to_wait", lambda r, usual, s: 0 if (s or 0) * 10**9 >= 1 << 63 else usual(s)
    ),
    "backoff-zero-default": put("mesh.seconds_to_wait", lambda s: s or 0),
    "backoff-not-told": put("mesh.tells_backoff", lambda p: False),
    "prune-unknown-aborts": _stop_at_unknown,
    "negative-kept": _without_upkeep("drop_negative"),
    "negative-grafted": put("mesh.is_negative", lambda p: False),
    "negative-graft-taken": _answer(_NEGATIVE, None),
    "full-takes-inbound": _answer(_FULL, None),
    "full-above-d-high": lambda r: patch(r.mesh, "is_full", lambda degree: degree > r.core.parameters.d_high),
    "full-refuses-outbound": _full_for_all,
    "cut-ignores-outbound": put("mesh.keep_outbound", lambda kept, gone: kept),
    "cut-ignores-scores": put("mesh.best_kept", lambda: 0),
    "outbound-not-filled": _without_upkeep("fill_outbound"),
    "never-opportunistic": _without_upkeep("graft_better"),
    "opportunistic-equals": put("mesh.is_better", lambda score, median: score >= median),
}

MESH_MUTANTS = read_mutants(__file__, GossipsubRouter, _EDITS)
