"""Files of score parameters: every field is read, and what is wrong is named with its field and line."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

pytest.importorskip("yaml", reason="PyYAML is not installed: pip install '.[prove]'")

from quidnunc.properties.params.file import MAX_FILE_BYTES, ParamsError, read_file, shipped_files
from quidnunc.properties.params.read import FIELDS, network_of, remarks
from quidnunc.properties.params.values import NetworkParameters, decimal, for_router

SMALL = """\
scores:
  decay_interval: 1s
  topics:
    T:
      topic_weight: 0.5
      time_in_mesh_weight: 0.1
      time_in_mesh_quantum: 1500ms
      first_message_deliveries_decay: 1/3
"""

OF_GO = {
    "SkipAtomicValidation": False,
    "Topics": {"/t/1": {"TopicWeight": 0.5, "TimeInMeshWeight": 0.1, "TimeInMeshQuantum": 1500000000}},
    "TopicScoreCap": 32.72,
    "AppSpecificScore": None,
    "IPColocationFactorWhitelist": None,
    "DecayInterval": 12000000000,
    "DecayToZero": 0.01,
    "RetainScore": 3600000000000,
}


def read(tmp_path: Path, text: str, name: str = "p.yaml") -> NetworkParameters:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return network_of(read_file(path))


def test_numbers_are_exact(tmp_path: Path) -> None:
    network = read(tmp_path, SMALL)
    (topic,) = network.topics
    assert topic.topic_weight == Fraction(1, 2) and topic.time_in_mesh_weight == Fraction(1, 10)
    assert topic.first_message_deliveries_decay == Fraction(1, 3)
    assert topic.time_in_mesh_quantum_ms == 1500 and network.decay_interval_ms == 1000
    assert network.name == "p" and network.retain_score_ms is None


def test_the_json_of_go_is_read(tmp_path: Path) -> None:
    network = read(tmp_path, json.dumps(OF_GO, indent="\t"), "GO.JSON")
    assert network.decay_interval_ms == 12_000 and network.retain_score_ms == 3_600_000
    assert network.topic_score_cap == Fraction(3272, 100)
    assert network.topic("/t/1").time_in_mesh_quantum_ms == 1500
    whole = {"PeerScoreParams": OF_GO, "PeerScoreThresholds": {"GraylistThreshold": -80}}
    assert read(tmp_path, json.dumps(whole), "both.json").graylist_threshold == -80


def test_both_spellings_are_one_field(tmp_path: Path) -> None:
    camel = SMALL.replace("topic_weight", "TopicWeight").replace("decay_interval", "DecayInterval")
    assert read(tmp_path, camel) == read(tmp_path, SMALL)
    twice = SMALL + "      TopicWeight: 1\n"
    with pytest.raises(ParamsError, match=r"p.yaml:9: scores.topics.T.TopicWeight: expected once"):
        read(tmp_path, twice)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "topic_weight: 0.5",
            "topic_weight: heavy",
            "p.yaml:5: scores.topics.T.topic_weight: expected a num",
        ),
        ("topic_weight: 0.5", "topic_weight: -1", "topic_weight: expected a number of 0 or more, got '-1'"),
        ("topic_weight: 0.5", "topic_wait: 1", "topic_wait: no such field; did you mean TopicWeight?"),
        ("topic_weight: 0.5", "topic_weight: [1]", "topic_weight: expected a number, got a list"),
        ("topic_weight: 0.5", "topic_weight: 1e999999", "topic_weight: expected a number"),
        ("topic_weight: 0.5", "topic_weight: 1/0", "topic_weight: expected a number"),
        ("topic_weight: 0.5", "topic_weight: .nan", "topic_weight: expected a number"),
        ("topic_weight: 0.5", "count: 2000", "count: expected a whole number from 1 to 1024"),
        ("1500ms", "1500", "time_in_mesh_quantum: expected a duration with its unit"),
        ("1500ms", "0s", "time_in_mesh_quantum: expected TimeInMeshQuantum above 0"),
        ("1/3", "1.5", "first_message_deliveries_decay: expected a factor from 0 to 1, got '1.5'"),
        ("decay_interval: 1s", "decay_interval: 0s", "decay_interval: expected a duration above 0"),
        ("decay_interval: 1s", "retain_score: 1s", "scores: expected DecayInterval"),
        ("scores:", "skores:", "skores: no such field; did you mean scores?"),
        ("    T:", "    T: &a", None),
        ("topic_weight: 0.5", "topic_weight: &x 1\n      time_in_mesh_cap: *x", "got the alias"),
        ("topic_weight: 0.5", "topic_weight: 1\n      topic_weight: 2", "expected once, got it again"),
        ("    T:", "    {a: b}:", None),
        ("scores:", "scores: {", "expected YAML"),
        (SMALL, "- 1\n", "the file: expected a group of fields, got a list"),
        (SMALL, "", "the file is empty"),
        (SMALL, "[" * 500 + "]" * 500, "nested deeper than 100"),
        (SMALL, "scores: {decay_interval: 1s, topics: {}}", "topics: expected one topic at least"),
        (SMALL, "scores: {decay_interval: 1s}", "expected a group `Topics`"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, said: str | None) -> None:
    assert old in SMALL
    text = SMALL.replace(old, new)
    if said is None:
        # An anchor without an alias does no harm; a name that is a group is none.
        if "&" in new:
            assert read(tmp_path, text).topics
            return
        said = "expected"
    with pytest.raises(ParamsError) as error:
        read(tmp_path, text)
    assert said in str(error.value) and "p.yaml" in str(error.value)


def test_weights_that_punish_are_not_positive(tmp_path: Path) -> None:
    for name in ("mesh_message_deliveries_weight", "mesh_failure_penalty_weight", "behaviour_penalty_weight"):
        place = "  decay_interval: 1s" if name.startswith("behaviour") else "      topic_weight: 0.5"
        indent = place[: len(place) - len(place.lstrip())]
        with pytest.raises(ParamsError, match=f"{name}: expected a weight of 0 or less, got '3'"):
            read(tmp_path, SMALL.replace(place, f"{place}\n{indent}{name}: 3"))


def test_thresholds_are_in_order(tmp_path: Path) -> None:
    text = "thresholds: {gossip_threshold: -10, graylist_threshold: -5}\n" + SMALL
    with pytest.raises(ParamsError, match="graylist_threshold: expected at most the gossip threshold"):
        read(tmp_path, text)
    assert read(tmp_path, text.replace("-5", "-50")).graylist_threshold == -50


@pytest.mark.parametrize(
    ("mesh", "said"),
    [
        ("D: 8, D_low: 60, D_high: 1", "gossipsub.D_low: expected at most D, which is 8, got '60'"),
        ("D: 8, D_high: 1", "gossipsub.D: expected at most Dhi, which is 1"),
        ("D_low: 5, D_high: 4", "gossipsub.D_low: expected at most Dhi, which is 4"),
        ("D: 0, D_low: 0, D_high: 0", "gossipsub.D: expected a degree of 1 or more"),
        ("heartbeat_interval: 0ms", "gossipsub.heartbeat_interval: expected a duration above 0"),
    ],
)
def test_a_mesh_that_no_router_keeps_is_none(tmp_path: Path, mesh: str, said: str) -> None:
    with pytest.raises(ParamsError, match=said):
        read(tmp_path, f"{SMALL}gossipsub: {{{mesh}}}\n")
    assert read(tmp_path, f"{SMALL}gossipsub: {{D: 8, D_low: 6, D_high: 12}}\n").mesh.d == 8


def test_a_file_has_its_limits(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(ParamsError, match="at most 1048576 are read"):
        read_file(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ParamsError, match="expected UTF-8, byte 0"):
        read_file(path)
    with pytest.raises(ParamsError, match=r"expected a file named \.yaml"):
        read_file(tmp_path / "x.ini")
    with pytest.raises(ParamsError, match="No such file"):
        read_file(tmp_path / "x.json")
    twice = tmp_path / "twice.json"
    twice.write_text('{"a": 1, "a": 2}', encoding="utf-8")
    with pytest.raises(ParamsError, match="a: expected once"):
        read_file(twice)


def test_every_field_of_the_values_can_be_given() -> None:
    from attrs import fields

    from quidnunc.properties.params.values import TopicParameters

    of_topic = {attribute for attribute, _ in FIELDS["topic"].values() if attribute}
    assert of_topic == {each.name for each in fields(TopicParameters)} - {"name"}
    of_scores = {attribute for attribute, _ in FIELDS["scores"].values() if attribute}
    besides = {"name", "topics", "mesh", "gossip_threshold", "publish_threshold", "graylist_threshold"}
    assert of_scores == {each.name for each in fields(NetworkParameters)} - besides


def test_shipped_parameters_are_read_and_fit_a_router() -> None:
    networks = {name: network_of(read_file(path)) for name, path in shipped_files().items()}
    assert set(networks) == {"eth2", "eth2-subnets", "filecoin", "good-10", "good-100"}
    assert [sum(t.count for t in n.topics) for n in networks.values()] == [5, 14, 2, 2, 2]
    for network in networks.values():
        assert len(for_router(network).topics) == sum(t.count for t in network.topics)
    assert not list(remarks(networks["eth2"]))
    assert "BLOCKS: invalid_message_deliveries_decay is 1; here: a counter never decays" in list(
        remarks(networks["filecoin"])
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 2), "0.5"),
        (Fraction(-300), "-300"),
        (Fraction(1, 3), "~0.333333"),
        (Fraction(0), "0"),
        (Fraction(-1, 10**9), "~-1e-09"),
        (Fraction(10**12), "1000000000000"),
    ],
)
def test_numbers_for_people(value: Fraction, text: str) -> None:
    assert decimal(value) == text
