"""Score parameters made as plain as a departure allows: fewer topics, and terms switched off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve, fields

from quidnunc.model.parameters import Parameters
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters


def plainer_scores(parameters: Parameters, fails: Callable[[Parameters], bool]) -> Parameters:
    """`parameters` with each score parameter at its default, and each topic gone, that may be."""
    for candidate_of in _edits(parameters.scores):
        scores = parameters.scores
        assert scores is not None
        try:
            candidate = evolve(parameters, scores=candidate_of(scores))
        except ValueError:
            continue
        if candidate != parameters and fails(candidate):
            parameters = candidate
    return parameters


def each_without_a_term(parameters: Parameters) -> Iterator[Parameters]:
    """`parameters` without one term of the score that counts, or without one of its topics."""
    scores = parameters.scores
    assert scores is not None
    weights = [_plain(each) for each in fields(ScoreParameters) if each.name.endswith("_weight")]
    for topic in scores.topics:
        weights.append(_without(topic.topic))
        terms = [each for each in fields(TopicScoreParameters) if each.name.endswith("_weight")]
        weights += [_plain_in(topic.topic, each) for each in terms]
    for candidate_of in weights:
        try:
            candidate = evolve(parameters, scores=candidate_of(scores))
        except ValueError:
            continue
        if candidate != parameters:
            yield candidate


Edit = Callable[[ScoreParameters], ScoreParameters]


def _edits(scores: ScoreParameters | None) -> Iterator[Edit]:
    topics = scores.topics if scores is not None else ()
    yield from (_without(topic.topic) for topic in topics)
    yield from (_plain(each) for each in fields(ScoreParameters) if each.name != "topics")
    for topic in topics:
        yield from (
            _plain_in(topic.topic, each) for each in fields(TopicScoreParameters) if each.name != "topic"
        )


def _without(name: str) -> Edit:
    return lambda s: evolve(s, topics=tuple(t for t in s.topics if t.topic != name))


def _plain(attribute: Any) -> Edit:
    return lambda s: evolve(s, **{attribute.name: attribute.default})


def _plain_in(name: str, attribute: Any) -> Edit:
    def edit(s: ScoreParameters) -> ScoreParameters:
        change = {attribute.name: attribute.default}
        return evolve(s, topics=tuple(evolve(t, **change) if t.topic == name else t for t in s.topics))

    return edit
