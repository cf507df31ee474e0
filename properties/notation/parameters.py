"""Parameters as words: `D=4 D_low=3 explicit=b,e`, and `scores.t1.topic_weight=2` for those of scores.

What is the default is left out; `scores=on` and `scores.t1=on` say that there are some, of which all are.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from attrs import fields

from quidnunc.model.machine import family_of, protocol_named
from quidnunc.model.parameters import ParameterSet
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from quidnunc.properties.notation.words import integer, one_of, peers_named, peers_text

ScoreSet: TypeAlias = ScoreParameters | TopicScoreParameters

PREFIX = "scores"
ON = "on"
NAMES: Mapping[str, str] = {
    "d": "D",
    "d_low": "D_low",
    "d_high": "D_high",
    "d_score": "D_score",
    "d_out": "D_out",
    "d_lazy": "D_lazy",
    "explicit_peers": "explicit",
}
"""Names of parameters in text, where they are not those of the attributes."""

LIFTED = 1 << 31
"""The value by which a driver says that its router has no limit, or never does it."""

_ATTRIBUTES = {text: attribute for attribute, text in NAMES.items()}
_NUMBER = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:e[-+]?[0-9]{1,3})?")
_TOPIC = re.compile(r"[^\s=]+")


def parameters_text(parameters: ParameterSet) -> str:
    """`D=4 D_low=3 explicit=b,e`: what differs from the defaults, in the order of the attributes."""
    defaults = type(parameters)()
    hints = _types_of(type(parameters))
    said: list[str] = []
    for each in fields(type(parameters)):
        value = getattr(parameters, each.name)
        if isinstance(value, ScoreParameters):
            said += scores_text(value)
        elif value != getattr(defaults, each.name):
            said.append(f"{NAMES.get(each.name, each.name)}={_value_text(value, hints[each.name])}")
    return " ".join(said)


def _types_of(kind: type) -> Mapping[str, Any]:
    """The types of its attributes by their names."""
    return _resolved_types(kind)


# Whoever calls it with a union of classes has nothing with a hash, by their types.
_resolved_types = cache(get_type_hints)


def value_text(parameters: ParameterSet, attribute: str) -> str:
    """The value of one of them, as a case has it."""
    return _value_text(getattr(parameters, attribute), _types_of(type(parameters))[attribute])


def value_read(attribute: str, text: str, kind: type[ParameterSet]) -> object:
    """The value that `text` is for one of them. Raises ValueError."""
    return _value_read(text, _types_of(kind)[attribute], attribute)


def attribute_of(name: str) -> str:
    """The attribute of the parameters that a case calls so."""
    return _ATTRIBUTES.get(name, name)


def parameters_told(parameters: ParameterSet) -> tuple[str, ...]:
    """A line for each parameter that differs from its default: name, value, default and what it is; and one
    for those that a driver has lifted."""
    told: list[str] = []
    lifted: list[str] = []
    for word in parameters_text(parameters).split():
        path, _, value = word.partition("=")
        of_scores = is_of_scores(word)
        name = path.rpartition(".")[2] if of_scores else _ATTRIBUTES.get(path, path)
        kind: type = type(parameters)
        if of_scores:
            kind = TopicScoreParameters if path.count(".") > 1 else ScoreParameters
        if value == str(LIFTED):
            lifted.append(path)
        elif name in parameter_docs(kind):
            default = next(each.default for each in fields(kind) if each.name == name)
            instead = _value_text(default, _types_of(kind)[name])
            told.append(f"{word} (default {instead}): {parameter_docs(kind)[name]}")
    if lifted:
        told.append(f"Out of play, because the driver lifts the limit: {', '.join(lifted)}.")
    return tuple(told)


@cache
def parameter_docs(kind: type) -> Mapping[str, str]:
    """Attribute -> the first sentence of its docstring, of a class of parameters."""
    body = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for before, each in pairwise(body.body):
        said = ast.get_docstring(ast.Module([each], []))
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and said:
            found[before.target.id] = " ".join(said.split()).partition(". ")[0].removesuffix(".") + "."
    return found


def parameters_read(text: str, protocol: str) -> ParameterSet:
    """The parameters of a router of `protocol`. Raises ValueError, and SpecError for an unknown protocol."""
    kind: type = family_of(protocol_named(protocol)).parameters().__class__
    hints = _types_of(kind)
    given: dict[str, Any] = {}
    words = text.split()
    of_scores = [each for each in words if is_of_scores(each)] if "scores" in hints else []
    if of_scores:
        given["scores"] = scores_read(of_scores)
    for each in (word for word in words if word not in of_scores):
        name, equals, value = each.partition("=")
        attribute = _ATTRIBUTES.get(name, name)
        if attribute not in hints or name in NAMES or not equals:
            names = [NAMES.get(a, a) for a in hints]
            close = [NAMES[name]] if name in NAMES else difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {close[0]!r}" if close else f"there are {', '.join(names)}"
            raise ValueError(f"expected a parameter of {protocol} (`name=value`), got {each!r}; {hint}")
        if attribute in given:
            raise ValueError(f"expected {name} once, got it again")
        given[attribute] = _value_read(value, hints[attribute], name)
    made: ParameterSet = kind(**given)
    return made


def _value_text(value: object, hint: object) -> str:
    # By the kind of parameter and not of value: a driver that fixes a switch says so by the number 0 or 1.
    if hint is bool:
        return "yes" if value else "no"
    if isinstance(value, frozenset):
        return peers_text(sorted(value))
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"a parameter is a finite number, got {value}")
        return str(int(value) if hint is int and value.is_integer() else value)
    return str(value)


def _value_read(text: str, hint: object, name: str) -> object:
    if hint is bool:
        return one_of(text, ("yes", "no"), name) == "yes"
    if hint is int:
        return integer(text, name)
    if hint is float:
        if not _NUMBER.fullmatch(text):
            raise ValueError(f"expected {name}: a number, got {text!r}")
        return float(text)
    if get_origin(hint) is Literal:
        return one_of(text, get_args(hint), name)
    return frozenset(peers_named(text))


# -- parameters of scores -----------------------------------------------------------------------------------


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


def scores_read(words: Iterable[str]) -> ScoreParameters:
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
            given[name] = _value_read(
                value, _hint(TopicScoreParameters if topic else ScoreParameters, name), path
            )
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
