"""Scenario files: what they may say, what is said of those that are wrong, and that params.json is one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quidnunc.pipeline.simulation.run import write_run
from quidnunc.pipeline.simulation.scenario.file import load_scenario, plain_of, scenario_of, scenario_text
from quidnunc.pipeline.simulation.scenario.script import BY_TYPE, OURS, THEIRS, steps_of
from quidnunc.pipeline.simulation.scenario.values import Scenario, ScenarioError
from quidnunc.pipeline.simulation.shrink import explicit_scenario, without_nodes
from quidnunc.pipeline.simulation.topology import Edge, edges_of
from quidnunc.pipeline.sweep.file import load_sweep
from tests.helpers.interop_scripts import partial_messages, subnet_blob

FULL = """
name: everything
seed: 7
duration_s: 30
nodes:
  - {count: 20, parameters: {d: 8, d_high: 14, scores: {topics: [{topic: t, topic_weight: 2}]}}}
  - {count: 2, protocol: gossipsub-1.0, router: "ours:echo"}
mixed: false
topology: {kind: small-world, degree: 4, probability: 0.2}
links: {latency: {kind: uniform, low_ms: 1, high_ms: 9}, jitter_ms: 3, loss: 0.01, bandwidth_mbit: 10}
topics: [{name: t, subscribers: 0.5}, {name: u, subscribers: [1, 2]}]
traffic: [{topic: u, publishers: [1, 2], count: 5, size_bytes: 1000}]
validation: {delay_ms: 5}
churn: {nodes: 0.1}
heartbeats: together
script: [{type: waitUntil, elapsedSeconds: 3.5}, {type: unsubscribe, topicID: u}]
"""


def read(text: str, folder: Path) -> Scenario:
    path = folder / "a.yaml"
    path.write_text(text, encoding="utf-8")
    return load_scenario(path)


def test_a_file_says_all_of_a_scenario(tmp_path: Path) -> None:
    scenario = read(FULL, tmp_path)
    assert scenario.node_count == 22 and scenario.end_s == 30
    first, second = scenario.nodes
    assert first.parameters is not None and (first.parameters.d, first.parameters.d_low) == (8, 4)
    assert first.parameters.message_id == "content" and first.parameters.scores is not None
    assert second.router == "ours:echo" and second.parameters is None
    assert scenario.traffic[0].publishers == (1, 2) and scenario.links.bandwidth_mbit == 10


@pytest.mark.parametrize("text", [FULL, "nodes: [{count: 3, parameters: {message_id: origin}}]"])
def test_what_is_written_reads_the_same(text: str, tmp_path: Path) -> None:
    scenario = read(text, tmp_path)
    assert read(scenario_text(scenario), tmp_path) == scenario


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nodes: [{count: yes}]", r"nodes\.0\.count: expected a whole number, got True"),
        ("nodes: [{count: 0}]", r"nodes\.0: count must be 1 or more, got 0"),
        ("nodes: 3", r"nodes: expected fields with names, or a list"),
        ("nodes: [{}]\nlinks: {jiter_ms: 3}", r"links\.jiter_ms: no such field \(did you mean jitter_ms\?\)"),
        ("nodes: [{parameters: {dd: 3}}]", r"nodes\.0\.parameters: no parameter 'dd' \(did you mean d\?\)"),
        ("nodes: [{parameters: {d: 80}}]", r"nodes\.0\.parameters: need 0 <= D_low <= D <= D_high"),
        ("nodes: [{protocol: dogg}]", r"nodes\.0: protocol: no 'dogg' .did you mean dog"),
        ("nodes: [{protocol: dog, parameters: {}}]", r"nodes\.0: parameters: dog is of a mempool"),
        ("nodes: [{}]\nlinks: {latency: {kind: x}}", r"links\.latency\.kind: expected one of"),
        ("nodes: [{}]\nlinks: {latency: {ms: x}}", r"links\.latency\.ms: expected a number, got 'x'"),
        ("nodes: [{}]\nlinks: {loss: 3}", r"links: loss must be 0 or more and at most 1, got 3"),
        ("nodes: [{}]\nscript: [{type: boo}]", r"script\.0: type: expected one of connect, waitUntil"),
        ("nodes: [{}]\ntraffic: [{publishers: me}]", r"traffic\.0\.publishers: expected random, round-robin"),
        ("nodes: [{}", r"a\.yaml:[12]: not YAML"),
        ("a: &b [1]\nc: *b", r"has a YAML alias"),
        ("seed: 1\nnodes: [{count: 4}]\nseed: 2", r":3: 'seed' is there twice"),
        ("nodes:\n- count: 4\n  count: 5", r":3: 'count' is there twice"),
        ('name: "\\e[31mred"\nnodes: [{}]', r"a text with a control character: '.x1b\[31mred'"),
        ("{}", r"nodes: expected at least one group, such as"),
        ("{", r"a\.yaml:[12]: not YAML"),
        ("[1]", r"expected fields with names"),
        ("", r"empty"),
        ("nodes: [{}]\nformat: 2", r"format: expected 1, got 2"),
    ],
)
def test_what_is_wrong_is_named(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=says) as raised:
        read(text, tmp_path)
    assert "a.yaml" in str(raised.value)


def test_every_wrong_field_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as raised:
        read("nodes: [{count: x}, {cuont: 1}]\nseed: 1.5", tmp_path)
    assert all(each in str(raised.value) for each in ("nodes.0.count", "nodes.1.cuont", "seed"))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"no\.yaml: No such file or directory; give the path"):
        load_scenario(tmp_path / "no.yaml")


def test_values_can_be_set(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("nodes: [{count: 3}, {count: 4}]")
    changed = load_scenario(path, {"links.loss": 0.5, "nodes.1.parameters.d": 7, "seed": 9})
    assert (changed.links.loss, changed.seed) == (0.5, 9)
    assert changed.nodes[1].parameters is not None and changed.nodes[1].parameters.d == 7
    for where in ("nodes.5.count", "nodes.x.count", "nodes.0.count.more"):
        with pytest.raises(ScenarioError, match=where.replace(".", r"\.")):
            load_scenario(path, {where: 1})


def test_a_brace_begins_yaml_where_the_name_says_so(tmp_path: Path) -> None:
    text = "{nodes: [{count: 3}]}"
    assert read(text, tmp_path).node_count == 3
    other = tmp_path / "a.json"
    other.write_text(text)
    with pytest.raises(ScenarioError, match=r"a\.json:1: not JSON"):
        load_scenario(other)


def test_params_json_is_a_scenario(tmp_path: Path) -> None:
    path = tmp_path / "params.json"
    path.write_text(json.dumps({"script": partial_messages(6, 1)}))
    scenario = load_scenario(path)
    assert scenario.node_count == 6 and scenario.topology.kind == "none" and scenario.end_s == 45
    assert {g.protocol for g in scenario.nodes} == {"partial-messages-go"}
    for group in scenario.nodes:
        assert group.parameters is not None
        # What go's node runs with, where the script says nothing.
        assert (group.parameters.d_low, group.parameters.flood_publish) == (5, False)
        assert group.parameters.signature_policy == "StrictNoSign"
        assert group.parameters.heartbeat_delay_ms in (100, 101)
    blob = scenario_of({"script": subnet_blob(4, 1)}, path)
    assert {g.protocol for g in blob.nodes} == {"gossipsub-1.2"}


@pytest.mark.parametrize(
    ("given", "says"),
    [({"Dx": 3}, "go-libp2p-pubsub has no such parameter"), ({"D": "8"}, "expected a number, got '8'")],
)
def test_parameters_of_go_are_looked_at(given: dict[str, Any], says: str, tmp_path: Path) -> None:
    script = [{"type": "initGossipSub", "gossipSubParams": given}]
    with pytest.raises(ScenarioError, match=says):
        scenario_of({"script": script}, tmp_path)


def test_each_node_has_its_own_part_of_a_script(tmp_path: Path) -> None:
    def only(node: int, what: dict[str, Any]) -> dict[str, Any]:
        return {"type": "ifNodeIDEquals", "nodeID": node, "instruction": what}

    script = [
        {"type": "connect", "connectTo": [1]},
        only(0, {"type": "waitUntil", "elapsedSeconds": 4}),
        {"type": "subscribeToTopic", "topicID": "a"},
        only(1, only(1, {"type": "unsubscribe", "topicID": "a"})),
    ]
    scenario = scenario_of({"script": script}, tmp_path)
    told = {n: [(at_s, s.type) for at_s, s in steps_of(scenario.script, n)] for n in (0, 1)}
    assert told[0] == [(0, "connect"), (4, "subscribeToTopic")]
    assert told[1] == [(0, "connect"), (0, "subscribeToTopic"), (0, "unsubscribe")]


def test_the_names_of_instructions() -> None:
    assert {kind().type for kind in THEIRS} == {
        *("connect", "ifNodeIDEquals", "waitUntil", "publish", "subscribeToTopic", "initGossipSub"),
        *("setTopicValidationDelay", "addPartialMessage", "publishPartial"),
    }
    assert len(BY_TYPE) == len(THEIRS) + len(OURS)


# -- files that a scenario names ----------------------------------------------------------------------------


def with_files(folder: Path) -> Path:
    (folder / "links.edges").write_text("0 1 7\n1 2\n", encoding="utf-8")
    (folder / "ms.csv").write_text("a,b\n1,2\n2,1\n", encoding="utf-8")
    path = folder / "net.yaml"
    path.write_text(
        "nodes: [{count: 3}]\ntopology: {kind: file, path: links.edges}\n"
        "links: {latency: {kind: matrix, path: ms.csv}}\ntraffic: [{count: 1}]\n",
        encoding="utf-8",
    )
    return path


def test_a_run_tells_its_scenario_so_that_it_runs_again_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    scenario = load_scenario(Path("net.yaml"))
    first = write_run(scenario, Path("deep/run"))
    monkeypatch.chdir("/")
    told = tmp_path / "deep" / "run" / "scenario.yaml"
    assert load_scenario(told) == scenario
    assert write_run(load_scenario(told), tmp_path / "again").plain() == first.plain()
    # It is of what was in the files, and not of their names.
    (tmp_path / "ms.csv").write_text("a,b\n1,9\n9,1\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"links\.latency\.sha256: \S+ms\.csv has changed since"):
        load_scenario(told)


def test_a_sweep_is_of_what_is_in_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_files(tmp_path)
    (tmp_path / "sweep.yaml").write_text("simulate: {scenario: net.yaml, seeds: 2}", encoding="utf-8")
    first = load_sweep(tmp_path / "sweep.yaml")
    monkeypatch.chdir(tmp_path)
    assert load_sweep(Path("sweep.yaml")).id == first.id, "from another directory it is the same sweep"
    ids = {first.id}
    for name, text in (("links.edges", "0 1 8\n1 2\n"), ("ms.csv", "a,b\n1,3\n3,1\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        ids.add(load_sweep(Path("sweep.yaml")).id)
    assert len(ids) == 3


def test_a_smaller_network_keeps_the_latencies_of_its_edges(tmp_path: Path) -> None:
    made = explicit_scenario(load_scenario(with_files(tmp_path)))
    assert (made.topology.edges, made.topology.latencies_ms) == (((0, 1), (1, 2)), (7.0, None))
    assert edges_of(made.topology, 3, 0) == (Edge(0, 1, 7.0), Edge(1, 2))
    fewer = without_nodes(made, {2})
    assert fewer is not None and fewer.topology.latencies_ms == (7.0,)
    assert scenario_of(plain_of(fewer), tmp_path / "x") == fewer


# -- times that no run ends by, and traffic that is never sent ----------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("links: {jitter_ms: .inf}", r"links: jitter_ms must be 0 or more and at most 1e\+06"),
        ("links: {latency: {ms: 1.0e+300}}", r"ms must be 0 or more and at most"),
        ("links: {bandwidth_mbit: .inf}", "bandwidth_mbit"),
        ("traffic: [{start_s: .inf}]", r"start_s must be 0 or more and at most 604800"),
        ("traffic: [{start_s: 1.0e+30}]", r"start_s must be 0 or more and at most 604800"),
        ("traffic: [{count: 3, every_s: 604000}]", "the plan takes 1.208"),
        ("measure_from_s: .nan", "measure_from_s must be 0 or more"),
        ("script: [{type: waitUntil, elapsedSeconds: .inf}]", "elapsedSeconds is from 0 to 604800"),
        (
            "nodes: [{count: 1, parameters: {heartbeat_interval_ms: 1}}]\nduration_s: 604800",
            "604800000 heartbeats, adjustments and departures, at most 100000000",
        ),
        (
            "nodes: [{count: 1, protocol: dog, dog: {adjust_interval_ms: 1}}]\nduration_s: 604800",
            "604800000 heartbeats, adjustments and departures, at most 100000000",
        ),
        ("nodes: [{count: 9999}]\nduration_s: 604800", "6047395200 heartbeats"),
        (
            "churn: {nodes: 1, up_s: 0.001, down_s: 0.001}\nduration_s: 604800",
            "909014400 heartbeats, adjustments and departures",
        ),
        ("topology: {kind: edges, edges: [[0, 1]], latencies_ms: [1, 2]}", "2 for 1 edges"),
        ("traffic: [{topic: typo}]", "traffic: nobody subscribes to typo; topics are t"),
        ("traffic: [{publishers: []}]", "publishers: expected node numbers"),
        ("topology: {kind: file, path: none.edges}", r"topology\.path: \S+none\.edges: No such file"),
    ],
)
def test_what_would_not_end_or_not_begin_is_refused(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=says):
        read(text if text.startswith("nodes:") else f"nodes: [{{count: 3}}]\n{text}", tmp_path)


def test_topics_of_a_script_and_of_mempools_are_topics(tmp_path: Path) -> None:
    script = "script: [{type: subscribeToTopic, topicID: s}]"
    assert read(f"nodes: [{{count: 2}}]\ntraffic: [{{topic: s}}]\n{script}", tmp_path).traffic
    assert read("nodes: [{count: 2, protocol: dog}]\ntraffic: [{topic: any}]", tmp_path).traffic
