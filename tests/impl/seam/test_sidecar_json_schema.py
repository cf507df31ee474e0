"""What the schema says of each parameter, held against the classes that read it: names, units and ranges."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import attrs
import pytest

from quidnunc.impl.seam import Config
from quidnunc.impl.seam.sidecar_json import init_of
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from quidnunc.properties.notation.parameters import parameter_docs
from tests.helpers.seam_schema import SCHEMA, fits, in_range, of

KINDS: Mapping[str, type] = {
    "pubsub_parameters": Parameters,
    "score_parameters": ScoreParameters,
    "topic_score_parameters": TopicScoreParameters,
    "mempool_parameters": DogParameters,
}
UNITS_IN_NAMES = {"_ms": "ms", "_s": "s", "_bytes": "bytes", "_percent": "percent of the target"}
BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
BESIDE: Mapping[str, Mapping[str, object]] = {
    "d": {"d_low": 0, "d_out": 0},
    "d_low": {"d_out": 0},
    "d_high": {"d": 0, "d_low": 0, "d_out": 0},
    "mcache_len": {"mcache_gossip": 1},
    "gossip_threshold": {"publish_threshold": -1, "graylist_threshold": -2},
    "publish_threshold": {"gossip_threshold": -1, "graylist_threshold": -2},
    "graylist_threshold": {"gossip_threshold": -1, "publish_threshold": -1},
    "max_persistent": {"dog": False},
    "max_non_persistent": {"dog": False},
}
"""What else must be said for a parameter to reach its bound: the rules of the schema that join parameters."""


JOINED: Mapping[str, str] = {
    "d": "0 <= D_low <= D <= D_high",
    "d_low": "0 <= D_low <= D <= D_high",
    "d_high": "0 <= D_low <= D <= D_high",
    "mcache_gossip": "1 <= mcache_gossip",
    "mcache_len": "1 <= mcache_gossip",
    "graylist_threshold": "graylist < publish",
    "publish_threshold": "gossip < 0",
    "gossip_threshold": "gossip < 0",
}
"""How the error names a rule that joins parameters."""
PROPERTIES = [(name, each) for name in KINDS for each in SCHEMA["$defs"][name]["properties"]]
NUMBERS = [
    (name, each)
    for name, each in PROPERTIES
    if SCHEMA["$defs"][name]["properties"][each].get("type") in ("integer", "number")
]


def made(kind: type, **given: object) -> object:
    return kind(**({"topic": "t"} if kind is TopicScoreParameters else {}), **given)


@pytest.mark.parametrize("name", KINDS)
def test_the_parameters_are_those_of_the_schema(name: str) -> None:
    schema, names = SCHEMA["$defs"][name], [each.name for each in attrs.fields(KINDS[name])]
    assert list(schema["properties"]) == schema["required"] == names


@pytest.mark.parametrize(("name", "each"), PROPERTIES)
def test_a_parameter_is_described_as_its_class_has_it(name: str, each: str) -> None:
    said, kind = SCHEMA["$defs"][name]["properties"][each], KINDS[name]
    hint = get_type_hints(kind)[each]
    assert said["description"].startswith(parameter_docs(kind)[each].removesuffix("."))
    if each == "topic":
        return
    default = getattr(made(kind), each)
    assert said["default"] == (list(default) if isinstance(default, frozenset | tuple) else default)
    if get_origin(hint) is Literal:
        assert said["enum"] == list(get_args(hint))
    elif hint in (bool, int, float):
        assert said["type"] == {bool: "boolean", int: "integer", float: "number"}[hint]


@pytest.mark.parametrize(("name", "each"), NUMBERS)
def test_a_number_has_a_unit_and_a_range_that_its_class_keeps(name: str, each: str) -> None:
    said, kind = SCHEMA["$defs"][name]["properties"][each], KINDS[name]
    beside = BESIDE.get(each, {})
    for ending, unit in UNITS_IN_NAMES.items():
        assert not each.endswith(ending) or said["unit"] == unit
    assert said["unit"] and set(said) & set(BOUNDS)
    for bound in set(said) & set(BOUNDS):
        at, down = said[bound], -1 if "inimum" in bound else 1
        inside = at if not bound.startswith("exclusive") else at - 0.001 * down
        outside = at if bound.startswith("exclusive") else at + down
        assert in_range(inside, said) and not in_range(outside, said)
        more = {"mesh_message_deliveries_threshold": inside} if each == "mesh_message_deliveries_cap" else {}
        assert getattr(made(kind, **{each: inside}, **beside, **more), each) == inside
        with pytest.raises(ValueError, match=f"{JOINED.get(each, each)}"):
            made(kind, **{each: outside}, **beside)


def test_every_init_that_is_sent_fits_the_schema() -> None:
    scores = ScoreParameters(topics=(TopicScoreParameters(topic="t"),))
    for parameters in (
        Parameters(),
        Parameters(scores=scores, explicit_peers=frozenset({2})),
        DogParameters(),
    ):
        protocol = "dog" if isinstance(parameters, DogParameters) else "gossipsub-1.2"
        config = Config(protocol=protocol, parameters=parameters)
        init: dict[str, Any] = json.loads(json.dumps(init_of(config)))
        assert fits(init, of("init"))
        key = "dog" if protocol == "dog" else "parameters"
        for name in init[key]:
            assert not fits({**init, key: {k: v for k, v in init[key].items() if k != name}}, of("init"))
        assert not fits({**init, key: {**init[key], "dLow": 3}}, of("init"))
