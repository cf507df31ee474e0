"""Score parameters in the front matter of a case: `scores.decay_interval_ms=500 scores.t1.topic_weight=2`.

What is the default is left out; `scores=on` and `scores.t1=on` say that there are some, of which all are.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from attrs import fields

from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters

PREFIX = "scores"
ON = "on"

ScoreSet: TypeAlias = ScoreParameters | TopicScoreParameters
Read: TypeAlias = Callable[[str, object, str], object]
"""(text, type hint, name) -> value."""

_TOPIC = re.compile(r"[^\s=]+")


def scores_text(scores: ScoreParameters) -> Iterator[str]:
    """The words that say `scores`. Raises ValueError for a topic that no word can name."""
    yield from _differing(scores, PREFIX, {"topics"})
    for topic in scores.topics:
        if not _TOPIC.fullmatch(topic.topic):
            raise ValueError(f"a topic with score parameters has no spaces and no `=`, got {topic.topic!r}")
        yield from _differing(topic, f"{PREFIX}.{topic.topic}", {"topic"})


def _differing(given: ScoreSet, prefix: str, without: set[str]) -> Iterator[str]:
    said = False
    for each in fields(type(given)):
        value = getattr(given, each.name)
        if each.name not in without and value != each.default:
            yield f"{prefix}.{each.name}={value}"
            said = True
    if not said:
        yield f"{prefix}={ON}"


def is_of_scores(word: str) -> bool:
    return word.startswith((f"{PREFIX}=", f"{PREFIX}."))


def scores_read(words: Iterable[str], read: Read) -> ScoreParameters:
    """The parameters that `words` say. Raises ValueError that names the word and what was expected."""
    of_router: dict[str, Any] = {}
    of_topics: dict[str, dict[str, Any]] = {}
    for word in words:
        path, equals, value = word.partition("=")
        topic, _, name = path.removeprefix(PREFIX).removeprefix(".").rpartition(".")
        if not equals:
            raise ValueError(f"expected `{PREFIX}.NAME=value`, got {word!r}")
        if value == ON and path != PREFIX:
            of_topics.setdefault(path.removeprefix(f"{PREFIX}."), {})
        elif value != ON:
            given = of_topics.setdefault(topic, {}) if topic else of_router
            if name in given:
                raise ValueError(f"expected {path} once, got it again")
            given[name] = read(value, _hint(TopicScoreParameters if topic else ScoreParameters, name), path)
    topics = tuple(TopicScoreParameters(topic=name, **given) for name, given in of_topics.items())
    return ScoreParameters(topics=topics, **of_router)


def _hint(kind: type[ScoreSet], name: str) -> object:
    known: dict[str, object] = {
        each.name: float if isinstance(each.default, float) else int
        for each in fields(kind)
        if each.name not in ("topic", "topics")
    }
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]!r}" if close else f"there are {', '.join(known)}"
        raise ValueError(f"expected a score parameter, got {name!r}; {hint}")
    return known[name]
