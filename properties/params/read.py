"""A file of score parameters, read: ours in YAML, or the JSON of go-libp2p-pubsub's PeerScoreParams.

Field names are those of gossipsub v1.1, in any spelling of case and underscores: `TimeInMeshQuantum` and
`time_in_mesh_quantum` are one. A duration has its unit (`700ms`, `12s`); in JSON a bare number is in
nanoseconds, as Go writes it. What a file leaves out is zero, as in Go. A field that is not known is an error.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from attrs import frozen

from quidnunc.properties.params.file import FileValue, ParamsError
from quidnunc.properties.params.values import MAX_TOPICS, MeshParameters, NetworkParameters, TopicParameters
from quidnunc.properties.tables import table

_NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?")
_RATIO = re.compile(r"[+-]?\d{1,18}/\d{1,18}")
_DURATION = re.compile(r"(?:\d{1,12}(?:\.\d{1,9})?(?:ns|us|ms|s|m|h))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)")
_MS = {
    "ns": Fraction(1, 10**6),
    "us": Fraction(1, 1000),
    "ms": Fraction(1),
    "s": Fraction(1000),
    "m": Fraction(60_000),
    "h": Fraction(3_600_000),
}

Read: TypeAlias = Callable[[FileValue], object]


# -- single values ------------------------------------------------------------------------------------------


def number(given: FileValue) -> Fraction:
    """An exact number: `0.1` is a tenth, `818/25` a ratio. Raises ParamsError."""
    text = given.content
    if isinstance(text, str) and _NUMBER.fullmatch(text):
        return Fraction(text)
    if isinstance(text, str) and _RATIO.fullmatch(text) and int(text.partition("/")[2]):
        return Fraction(text)
    raise given.wrong("a number")


def positive(given: FileValue) -> Fraction:
    """A number of 0 or more."""
    value = number(given)
    if value < 0:
        raise given.wrong("a number of 0 or more")
    return value


def penalty(given: FileValue) -> Fraction:
    """The weight of something that is held against a peer."""
    value = number(given)
    if value > 0:
        raise given.wrong("a weight of 0 or less")
    return value


def factor(given: FileValue) -> Fraction:
    """A decay; 0 forgets at once, 1 never does."""
    value = number(given)
    if not 0 <= value <= 1:
        raise given.wrong("a factor from 0 to 1")
    return value


def whole(given: FileValue) -> int:
    """A whole number of 0 or more."""
    value = number(given)
    if value.denominator != 1 or value < 0:
        raise given.wrong("a whole number of 0 or more")
    return int(value)


def copies(given: FileValue) -> int:
    """How many topics are meant."""
    value = whole(given)
    if not 1 <= value <= MAX_TOPICS:
        raise given.wrong(f"a whole number from 1 to {MAX_TOPICS}")
    return value


def duration_ms(given: FileValue) -> Fraction:
    """Milliseconds. A bare number is of nanoseconds, and taken in JSON alone."""
    text = given.content
    if isinstance(text, str) and _DURATION.fullmatch(text):
        return sum((Fraction(n) * _MS[unit] for n, unit in _PART.findall(text)), Fraction(0))
    if given.file.lower().endswith(".json") and isinstance(text, str) and _NUMBER.fullmatch(text):
        return positive(given) * _MS["ns"]
    raise given.wrong("a duration with its unit, such as 700ms or 12s")


def anything(given: FileValue) -> None:
    """What is there in Go and says nothing of a score."""


# -- groups of fields ---------------------------------------------------------------------------------------

_TABLES = table("properties.params", "read.toml")
_READERS = (positive, penalty, factor, whole, copies, duration_ms, anything)
_BY_NAME: Mapping[str, Read] = {each.__name__: each for each in _READERS}
FIELDS: Mapping[str, Mapping[str, tuple[str, Read]]] = {
    group: {name: (attribute, _BY_NAME[read]) for name, (attribute, read) in fields.items()}
    for group, fields in _TABLES["fields"].items()
}
"""Group -> field -> its attribute, empty where it says nothing of a score, and what reads it."""


GROUPS: Mapping[str, str] = _TABLES["groups"]
"""Name of a group, spelt plainly -> what it holds."""


def plain(name: str) -> str:
    """A name without its spelling: small letters, no underscores and hyphens."""
    return re.sub(r"[_-]", "", name).lower()


@frozen
class _Fields:
    """What was read of one group: attribute -> value, and where each was."""

    values: dict[str, Any]
    given: dict[str, FileValue]


def _group(given: FileValue, known_fields: Mapping[str, tuple[str, Read]], besides: str = "") -> _Fields:
    known = {plain(name): name for name in known_fields}
    found = _Fields({}, {})
    for name, value in given.fields().items():
        if plain(name) == besides:
            continue
        if plain(name) not in known:
            raise ParamsError(f"{value.place}: no such field{_near(name, known_fields)}")
        attribute, read = known_fields[known[plain(name)]]
        result = read(value)
        if not attribute:
            continue
        if attribute in found.values:
            raise ParamsError(f"{value.place}: expected once, got it again in another spelling")
        found.values[attribute] = result
        found.given[attribute] = value
    return found


def _near(name: str, known_fields: Mapping[str, object]) -> str:
    plainly = {plain(known): known for known in known_fields}
    near = difflib.get_close_matches(plain(name), plainly, 1)
    return f"; did you mean {plainly[near[0]]}?" if near else f"; there are {', '.join(known_fields)}"


def network_of(given: FileValue) -> NetworkParameters:
    """The parameters that a file gives. Raises ParamsError that names the field."""
    top = given.fields()
    parts: dict[str, FileValue] = {}
    if any(plain(name) == "topics" for name in top):
        parts["scores"] = given
    else:
        for name, value in top.items():
            group = GROUPS.get(plain(name))
            if group is None:
                raise ParamsError(f"{value.place}: no such field{_near(name, dict.fromkeys(GROUPS))}")
            if group in parts:
                raise ParamsError(f"{value.place}: expected once, got it again in another spelling")
            parts[group] = value
    if "scores" not in parts:
        raise given.wrong("a group `scores`, or `Topics`")
    scores = _group(parts["scores"], FIELDS["scores"], besides="topics")
    limits = _group(parts["thresholds"], FIELDS["thresholds"]) if "thresholds" in parts else _Fields({}, {})
    mesh = _mesh(parts["mesh"]) if "mesh" in parts else MeshParameters()
    said = parts["name"].content if "name" in parts else None
    _checked(parts["scores"], scores, limits)
    return NetworkParameters(
        name=said if isinstance(said, str) else Path(given.file).stem,
        topics=tuple(_topics(parts["scores"])),
        mesh=mesh,
        **scores.values,
        **limits.values,
    )


def _mesh(given: FileValue) -> MeshParameters:
    """The group of the mesh. Raises ParamsError where the degrees are not in order, or no heartbeat comes."""
    found = _group(given, FIELDS["mesh"])
    values, at = found.values, found.given
    if "heartbeat_interval_ms" in values and not values["heartbeat_interval_ms"]:
        raise at["heartbeat_interval_ms"].wrong("a duration above 0")
    degrees = [
        (name, said) for name, said in (("d_low", "Dlo"), ("d", "D"), ("d_high", "Dhi")) if name in values
    ]
    for (lower, _), (upper, said) in pairwise(degrees):
        if values[lower] > values[upper]:
            raise at[lower].wrong(f"at most {said}, which is {values[upper]}")
    if values.get("d") == 0:
        raise at["d"].wrong("a degree of 1 or more")
    return MeshParameters(**values)


def _checked(place: FileValue, scores: _Fields, limits: _Fields) -> None:
    """What one field says against another. Raises ParamsError."""
    if scores.values.get("decay_interval_ms") is None:
        raise ParamsError(f"{place.place}: expected DecayInterval, which every decay is of")
    if not scores.values["decay_interval_ms"]:
        raise scores.given["decay_interval_ms"].wrong("a duration above 0")
    if scores.values.get("ip_colocation_factor_weight") and not scores.values.get(
        "ip_colocation_factor_threshold"
    ):
        at = scores.given.get("ip_colocation_factor_threshold", place)
        raise at.wrong("IPColocationFactorThreshold of 1 or more, as its weight is not 0")
    order = [n for n in ("graylist", "publish", "gossip") if f"{n}_threshold" in limits.values]
    for lower, upper in zip(order, order[1:], strict=False):
        if limits.values[f"{lower}_threshold"] > limits.values[f"{upper}_threshold"]:
            raise limits.given[f"{lower}_threshold"].wrong(f"at most the {upper} threshold")


def _topics(scores: FileValue) -> Iterator[TopicParameters]:
    (topics,) = [v for n, v in scores.fields().items() if plain(n) == "topics"] or [scores]
    if topics is scores:
        raise scores.wrong("a group `Topics`")
    total = 0
    for name, given in topics.fields().items():
        found = _group(given, FIELDS["topic"])
        topic = TopicParameters(name=name, **found.values)
        total += topic.count
        if topic.time_in_mesh_weight and not found.values.get("time_in_mesh_quantum_ms"):
            at = found.given.get("time_in_mesh_quantum_ms", given)
            raise at.wrong("TimeInMeshQuantum above 0, as TimeInMeshWeight is not 0")
        if total > MAX_TOPICS:
            raise given.wrong(f"at most {MAX_TOPICS} topics in all")
        yield topic
    if not total:
        raise topics.wrong("one topic at least")


# -- what a router would not take ---------------------------------------------------------------------------


def remarks(network: NetworkParameters) -> Iterator[str]:
    """Parameters that go-libp2p-pubsub refuses at its start, and what they are taken for here."""
    meanings = {0: "a counter is forgotten at each decay", 1: "a counter never decays"}
    for topic in network.topics:
        for term in ("first_message_deliveries", "mesh_message_deliveries", "mesh_failure_penalty"):
            decay = getattr(topic, f"{term}_decay")
            if getattr(topic, f"{term}_weight") and decay in (0, 1):
                yield f"{topic.name}: {term}_decay is {decay}; here: {meanings[int(decay)]}"
        if topic.invalid_message_deliveries_decay in (0, 1):
            decay = int(topic.invalid_message_deliveries_decay)
            yield f"{topic.name}: invalid_message_deliveries_decay is {decay}; here: {meanings[decay]}"
        if topic.mesh_message_deliveries_weight and not topic.mesh_message_deliveries_threshold:
            yield f"{topic.name}: mesh_message_deliveries_threshold is 0; here: nobody ever has a deficit"
        if not topic.invalid_message_deliveries_weight:
            yield f"{topic.name}: invalid_message_deliveries_weight is 0; here: invalid messages are free"
    if network.behaviour_penalty_weight and network.behaviour_penalty_decay in (0, 1):
        decay = int(network.behaviour_penalty_decay)
        yield f"behaviour_penalty_decay is {decay}; here: {meanings[decay]}"
    if network.decay_interval_ms < 1000:
        yield "decay_interval is below a second"
