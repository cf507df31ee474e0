"""Planted departures of our router's peer score, by name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from attrs import evolve

from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.gossipsub.scores import ScoreKeeper, TopicRecord
from quidnunc.impl.mutant import nothing, patch, put
from quidnunc.impl.mutants.mesh import Edit
from quidnunc.impl.mutants.table import read_mutants
from quidnunc.model.score_parameters import TopicScoreParameters


def _keeper(edit: Edit) -> Edit:
    """An edit of the score keeper, which a router without score parameters has not."""

    def of_router(r: GossipsubRouter) -> None:
        if r.core.keeper is not None:
            edit(r)

    return of_router


def _put(name: str, by: object) -> Edit:
    def edit(r: GossipsubRouter) -> None:
        assert r.core.keeper is not None and callable(by)
        patch(r.core.keeper, name, by)

    return _keeper(edit)


def _keeping(r: GossipsubRouter) -> ScoreKeeper:
    assert r.core.keeper is not None
    return r.core.keeper


def _uncapped_time(r: GossipsubRouter) -> None:
    patch(_keeping(r), "quanta", lambda p, s: float(s.in_mesh_ms // p.time_in_mesh_quantum_ms))


def _time_of_two(r: GossipsubRouter) -> None:
    patch(
        _keeping(r),
        "quanta",
        lambda p, s: min(float(2 * s.in_mesh_ms // p.time_in_mesh_quantum_ms), p.time_in_mesh_cap),
    )


def _of_each_topic(change: Callable[[TopicScoreParameters], TopicScoreParameters]) -> Edit:
    """Runs with other parameters than it was given."""

    def edit(r: GossipsubRouter) -> None:
        keeper = _keeping(r)
        keeper.of_topic = {topic: change(p) for topic, p in keeper.of_topic.items()}

    return _keeper(edit)


def _duplicates_are_first(r: GossipsubRouter) -> None:
    again, watch = r.gossip.watch.came_again, r.gossip.watch

    def credited(peer: int, id_bytes: bytes) -> None:
        watched = watch.messages.get(id_bytes)
        again(peer, id_bytes)
        if watched is not None and watched.verdict == "accept" and peer != watched.first:
            _keeping(r).first_delivery(peer, watched.topic)

    patch(watch, "came_again", credited)


def _linear_deficit(r: GossipsubRouter) -> None:
    keeper, deficit = _keeping(r), _keeping(r).deficit
    patch(keeper, "deficit", lambda p, s: deficit(p, s) ** 0.5)


def _always_active(p: TopicScoreParameters, s: TopicRecord) -> bool:
    return s.grafted_ms is not None


def _linear_invalid(r: GossipsubRouter) -> None:
    def in_topic(p: TopicScoreParameters, s: TopicRecord) -> float:
        wrong = s.invalid - s.invalid * s.invalid
        return plain(p, s) + p.topic_weight * p.invalid_message_deliveries_weight * wrong

    keeper, plain = _keeping(r), _keeping(r).in_topic
    patch(keeper, "in_topic", in_topic)


def _nothing_shrinks(r: GossipsubRouter) -> None:
    patch(_keeping(r), "shrunk", lambda counter, factor: counter)


def _never_zero(r: GossipsubRouter) -> None:
    patch(_keeping(r), "shrunk", lambda counter, factor: counter * factor)


def _forgets_at_once(r: GossipsubRouter) -> None:
    keeper, disconnected = _keeping(r), _keeping(r).disconnected

    def forget(peer: int, now_ms: int) -> None:
        disconnected(peer, now_ms)
        keeper.records.pop(peer, None)

    patch(keeper, "disconnected", forget)


def _never_forgets(r: GossipsubRouter) -> None:
    keeper = _keeping(r)
    keeper.parameters = evolve(keeper.parameters, retain_score_ms=10**9)


def _promise_kept_by_its_maker(r: GossipsubRouter) -> None:
    """Only the advertiser's own copy keeps a promise."""
    watch, came = r.gossip.watch, r.gossip.watch.came

    def by_maker(peer: int, id_bytes: bytes, topic: str) -> None:
        kept = dict(watch.promises)
        came(peer, id_bytes, topic)
        watch.promises = {k: due for k, due in kept.items() if k != (peer, id_bytes)}

    patch(watch, "came", by_maker)


def _ten_for_a_regraft(r: GossipsubRouter) -> None:
    patch(r.mesh, "penalise_regraft", lambda peer: _keeping(r).misbehaved(peer, 10))


def _linear_behaviour(r: GossipsubRouter) -> None:
    keeper, score = _keeping(r), _keeping(r).score

    def linear(peer: int, application: float) -> float:
        record = keeper.records.get(peer)
        c = record.misbehaved if record is not None else 0.0
        return score(peer, application) + keeper.parameters.behaviour_penalty_weight * (c - c * c)

    patch(keeper, "score", linear)


def _capped_from_below(r: GossipsubRouter) -> None:
    keeper = _keeping(r)
    cap = keeper.parameters.topic_score_cap
    patch(keeper, "capped", lambda topics: max(-cap, min(topics, cap)) if cap else topics)


def _one_more_at_the_address(r: GossipsubRouter) -> None:
    keeper, surplus = _keeping(r), _keeping(r).surplus
    patch(keeper, "surplus", lambda address: surplus(address) + 1 if surplus(address) else 0)


def _enforces_idontwant(r: GossipsubRouter) -> None:
    told: set[tuple[int, bytes]] = set()
    again, say = r.gossip.watch.came_again, r.outbox.idontwant

    def said(peer: int, id_bytes: bytes) -> None:
        say(peer, id_bytes)
        if len(told) < 1000:
            told.add((peer, id_bytes))

    def penalised(peer: int, id_bytes: bytes) -> None:
        again(peer, id_bytes)
        if (peer, id_bytes) in told:
            _keeping(r).misbehaved(peer, 2)

    patch(r.outbox, "idontwant", said)
    patch(r.gossip.watch, "came_again", penalised)


def _any_topic_counts(r: GossipsubRouter) -> None:
    """A topic without parameters has those of the first one."""
    keeper = _keeping(r)
    patch(keeper, "counts", lambda topic: True)
    keeper.of_topic = defaultdict(lambda: keeper.parameters.topics[0], keeper.of_topic)


def _half_weight(r: GossipsubRouter) -> None:
    keeper, score = _keeping(r), _keeping(r).score
    patch(keeper, "score", lambda peer, application: score(peer, application / 2))


_EDITS: Mapping[str, Edit] = {
    "time-in-mesh-uncounted": _put("quanta", lambda p, s: 0.0),
    "time-in-mesh-uncapped": _keeper(_uncapped_time),
    "time-in-mesh-doubled": _keeper(_time_of_two),
    "first-deliveries-uncounted": _put("first_delivery", nothing),
    "first-deliveries-uncapped": _of_each_topic(lambda p: evolve(p, first_message_deliveries_cap=1e9)),
    "duplicates-are-first": _keeper(_duplicates_are_first),
    "deficit-unpenalised": _put("deficit", lambda p, s: 0.0),
    "deficit-linear": _keeper(_linear_deficit),
    "deficit-from-the-start": _put("is_active", _always_active),
    "mesh-deliveries-uncapped": _of_each_topic(lambda p: evolve(p, mesh_message_deliveries_cap=1e9)),
    "near-first-for-ever": put("gossip.watch.is_near", lambda watched: True),
    "near-first-never": put("gossip.watch.is_near", lambda watched: False),
    "failures-forgotten": _put("pruned", lambda peer, topic: None),
    "invalid-uncounted": _put("invalid_message", nothing),
    "invalid-linear": _keeper(_linear_invalid),
    "ignored-penalised": put("gossip.watch.is_penalised", lambda judgement: True),
    "application-half": _keeper(_half_weight),
    "colocation-uncounted": _put("surplus", lambda address: 0),
    "colocation-of-all": _keeper(_one_more_at_the_address),
    "behaviour-uncounted": _put("misbehaved", nothing),
    "behaviour-linear": _keeper(_linear_behaviour),
    "promise-never-broken": put("gossip.watch.asked", nothing),
    "promise-kept-by-its-maker": _keeper(_promise_kept_by_its_maker),
    "regraft-costs-ten": _keeper(_ten_for_a_regraft),
    "nothing-decays": _keeper(_nothing_shrinks),
    "decay-never-ends": _keeper(_never_zero),
    "score-lost-with-connection": _keeper(_forgets_at_once),
    "score-kept-for-ever": _keeper(_never_forgets),
    "topic-cap-off": _put("capped", lambda topics: topics),
    "topic-cap-both-ways": _keeper(_capped_from_below),
    "idontwant-enforced": _keeper(_enforces_idontwant),
    "score-of-any-topic": _keeper(_any_topic_counts),
    "topic-unweighted": _of_each_topic(lambda p: evolve(p, topic_weight=1.0)),
}

SCORE_MUTANTS = read_mutants(__file__, GossipsubRouter, _EDITS)
