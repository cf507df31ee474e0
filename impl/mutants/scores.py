"""Planted departures of our router's peer score, by name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from attrs import evolve

from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.gossipsub.scores import ScoreKeeper, TopicRecord
from quidnunc.impl.mutant import Usual, around, nothing, patch, put
from quidnunc.impl.mutants.mesh import Edit
from quidnunc.impl.mutants.table import read_mutants
from quidnunc.model.score_parameters import TopicScoreParameters


def _keeper(edit: Edit) -> Edit:
    """An edit of the score keeper, which a router without score parameters has not."""
    return lambda r: None if r.core.keeper is None else edit(r)


def _put(name: str, by: Callable[..., object]) -> Edit:
    return _keeper(put(f"core.keeper.{name}", by))


def _around(name: str, by: Callable[..., object]) -> Edit:
    """As `around` does; `by` gets the keeper in the place of the router."""
    return _keeper(around(f"core.keeper.{name}", lambda r, *given: by(r.core.keeper, *given)))


def _keeping(r: GossipsubRouter) -> ScoreKeeper:
    assert r.core.keeper is not None
    return r.core.keeper


def _time_of_two(p: TopicScoreParameters, s: TopicRecord) -> float:
    return min(float(2 * s.in_mesh_ms // p.time_in_mesh_quantum_ms), p.time_in_mesh_cap)


def _of_each_topic(change: Callable[[TopicScoreParameters], TopicScoreParameters]) -> Edit:
    """Runs with other parameters than it was given."""

    def edit(r: GossipsubRouter) -> None:
        keeper = _keeping(r)
        keeper.of_topic = {topic: change(p) for topic, p in keeper.of_topic.items()}

    return _keeper(edit)


def _duplicates_are_first(r: GossipsubRouter, again: Usual, peer: int, id_bytes: bytes) -> None:
    watched = r.gossip.watch.messages.get(id_bytes)
    again(peer, id_bytes)
    if watched is not None and watched.verdict == "accept" and peer != watched.first:
        _keeping(r).first_delivery(peer, watched.topic)


def _linear_invalid(_: ScoreKeeper, plain: Usual, p: TopicScoreParameters, s: TopicRecord) -> object:
    wrong = s.invalid - s.invalid * s.invalid
    return plain(p, s) + p.topic_weight * p.invalid_message_deliveries_weight * wrong


def _forgets_at_once(keeper: ScoreKeeper, disconnected: Usual, peer: int, now_ms: int) -> None:
    disconnected(peer, now_ms)
    keeper.records.pop(peer, None)


def _never_forgets(r: GossipsubRouter) -> None:
    keeper = _keeping(r)
    keeper.parameters = evolve(keeper.parameters, retain_score_ms=10**9)


def _promise_kept_by_its_maker(
    r: GossipsubRouter, came: Usual, peer: int, id_bytes: bytes, topic: str
) -> None:
    """Only the advertiser's own copy keeps a promise."""
    kept = dict(r.gossip.watch.promises)
    came(peer, id_bytes, topic)
    r.gossip.watch.promises = {k: due for k, due in kept.items() if k != (peer, id_bytes)}


def _linear_behaviour(keeper: ScoreKeeper, score: Usual, peer: int, application: float) -> object:
    record = keeper.records.get(peer)
    c = record.misbehaved if record is not None else 0.0
    return score(peer, application) + keeper.parameters.behaviour_penalty_weight * (c - c * c)


def _forgets_failures(keeper: ScoreKeeper, pruned: Usual, peer: int, topic: str) -> None:
    deficit, keeper.deficit = keeper.deficit, lambda p, s: 0.0  # type: ignore[method-assign]
    pruned(peer, topic)
    keeper.deficit = deficit  # type: ignore[method-assign]


def _deficit_unsquared(keeper: ScoreKeeper) -> None:
    """To square the root of it is not the same: what is rounded off makes a score of zero negative."""
    deficit, squared, told = keeper.deficit, keeper.squared, list[float]()

    def noted(p: TopicScoreParameters, s: TopicRecord) -> float:
        told[:] = [deficit(p, s)]
        return told[0]

    patch(keeper, "deficit", noted)
    patch(keeper, "squared", lambda value: told.pop() if told and told[0] is value else squared(value))


def _capped_from_below(keeper: ScoreKeeper, usual: Usual, topics: float) -> float:
    cap = keeper.parameters.topic_score_cap
    return max(-cap, min(topics, cap)) if cap else topics


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
    """A topic without parameters has those of the first one, where one has."""
    keeper = _keeping(r)
    if not keeper.parameters.topics:
        return
    patch(keeper, "counts", lambda topic: True)
    keeper.of_topic = defaultdict(lambda: keeper.parameters.topics[0], keeper.of_topic)


_EDITS: Mapping[str, Edit] = {
    "time-in-mesh-uncounted": _put("quanta", lambda p, s: 0.0),
    "time-in-mesh-uncapped": _put("quanta", lambda p, s: float(s.in_mesh_ms // p.time_in_mesh_quantum_ms)),
    "time-in-mesh-doubled": _put("quanta", _time_of_two),
    "first-deliveries-uncounted": _put("first_delivery", nothing),
    "first-deliveries-uncapped": _of_each_topic(lambda p: evolve(p, first_message_deliveries_cap=1e9)),
    "duplicates-are-first": _keeper(around("gossip.watch.came_again", _duplicates_are_first)),
    "deficit-unpenalised": _put("deficit", lambda p, s: 0.0),
    "deficit-linear": _keeper(lambda r: _deficit_unsquared(_keeping(r))),
    "deficit-from-the-start": _put("is_active", lambda p, s: s.grafted_ms is not None),
    "mesh-deliveries-uncapped": _of_each_topic(lambda p: evolve(p, mesh_message_deliveries_cap=1e9)),
    "near-first-for-ever": put("gossip.watch.is_near", lambda watched: True),
    "near-first-never": put("gossip.watch.is_near", lambda watched: False),
    "failures-forgotten": _around("pruned", _forgets_failures),
    "invalid-uncounted": _put("invalid_message", nothing),
    "invalid-linear": _around("in_topic", _linear_invalid),
    "ignored-penalised": put("gossip.watch.is_penalised", lambda judgement: True),
    "application-half": _around("score", lambda _, score, peer, application: score(peer, application / 2)),
    "colocation-uncounted": _put("surplus", lambda address: 0),
    "colocation-of-all": _around(
        "surplus",
        lambda keeper, usual, address: (
            usual(address) and usual(address) + keeper.parameters.ip_colocation_factor_threshold
        ),
    ),
    "behaviour-uncounted": _put("misbehaved", nothing),
    "behaviour-linear": _around("score", _linear_behaviour),
    "promise-never-broken": put("gossip.watch.asked", nothing),
    "promise-kept-by-its-maker": _keeper(around("gossip.watch.came", _promise_kept_by_its_maker)),
    "regraft-costs-ten": _keeper(
        around("mesh.penalise_regraft", lambda r, usual, p: _keeping(r).misbehaved(p, 10))
    ),
    "nothing-decays": _put("shrunk", lambda counter, factor: counter),
    "decay-never-ends": _put("shrunk", lambda counter, factor: counter * factor),
    "score-lost-with-connection": _around("disconnected", _forgets_at_once),
    "score-kept-for-ever": _keeper(_never_forgets),
    "topic-cap-off": _put("capped", lambda topics: topics),
    "topic-cap-both-ways": _around("capped", _capped_from_below),
    "idontwant-enforced": _keeper(_enforces_idontwant),
    "score-of-any-topic": _keeper(_any_topic_counts),
    "topic-unweighted": _of_each_topic(lambda p: evolve(p, topic_weight=1.0)),
}

SCORE_MUTANTS = read_mutants(__file__, GossipsubRouter, _EDITS)
