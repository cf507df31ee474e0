"""CometBFT's config.toml, and two configurations beside each other."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.properties.params.comet import CometConfig, comet_lines, comet_of, firsts_at_rest, refusals
from quidnunc.properties.params.file import ParamsError, read_file
from quidnunc.properties.params.guarantees import Guarantee
from quidnunc.properties.params.pair import comet_pair_lines, pair_lines
from quidnunc.properties.params.values import MeshParameters, NetworkParameters, TopicParameters
from tests.conftest import Command
from tests.helpers.dog_config import dog_parameters

RTT_MS = Fraction(322)


def read(tmp_path: Path, text: str) -> CometConfig:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return comet_of(read_file(path), "node")


def by_id(comet: CometConfig) -> dict[str, Guarantee]:
    return {line.id: line for line in comet_lines(comet, RTT_MS)}


def test_settings_are_read(tmp_path: Path) -> None:
    comet = read(
        tmp_path,
        '[rpc]\nladdr = "x"\n[mempool]\ntype = "flood"\nrecheck = true\ndog_protocol_enabled = true\n'
        'dog_target_redundancy = 0.5\ndog_adjust_interval = "1500ms"\n[p2p]\nmax_num_inbound_peers = 20\n',
    )
    assert (comet.dog, comet.target, comet.interval_ms, comet.peers) == (True, Fraction(1, 2), 1500, 30)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[p2p]\n", r"expected a section \[mempool\]"),
        (
            "[mempool]\ndog_protocol_enabled = 1",
            "mempool.dog_protocol_enabled: expected true or false, got '1'",
        ),
        ('[mempool]\ndog_target_redundancy = "much"', "mempool.dog_target_redundancy: expected a number"),
        ("[mempool]\ndog_adjust_interval = 1000", "dog_adjust_interval: expected a duration with its unit"),
        ("[mempool]\ndog_target = 1", "no such setting; did you mean dog_target_redundancy?"),
        ("[mempool]\nmax_tx_bytes = -1", "max_tx_bytes: expected a whole number of 0 or more"),
        ("mempool = 3", "mempool: expected a group of fields"),
        ("[mempool", "expected TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ParamsError, match=said):
        read(tmp_path, text)


def test_two_nodes_without_dog_control_nothing() -> None:
    """What neither does is no line that holds."""
    off, on = CometConfig(name="off"), CometConfig(name="on", dog=True)
    verdicts = {
        (left.dog, right.dog): [x.verdict for x in comet_pair_lines(left, right) if x.id == "mixed"]
        for left in (off, on)
        for right in (off, on)
    }
    assert verdicts == {
        (False, False): [],
        (False, True): ["fails"],
        (True, False): ["fails"],
        (True, True): ["holds"],
    }


@pytest.mark.parametrize(
    ("target", "verdict"),
    [("0.009", "fails"), ("0.01", "depends"), ("0.05", "depends"), ("1", "holds"), ("2.1", "fails")],
)
def test_the_targets_that_were_tried_are_those_of_the_assumption(target: str, verdict: str) -> None:
    line = by_id(CometConfig(name="node", dog=True, target=Fraction(target)))["target"]
    assert line.verdict == verdict and "targets 0.01 to 2" in line.assumptions[0]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"dog": True},
        {"dog": True, "target": Fraction(0)},
        {"dog": True, "interval_ms": Fraction(999)},
        {"dog": True, "interval_ms": Fraction(1000)},
        {"dog": True, "max_others": 10},
        {"dog": False, "max_others": 10},
        {"dog": True, "kind": "nop"},
        {"dog": False, "target": Fraction(-1)},
    ],
)
def test_what_does_not_start_our_reactor_refuses_too(changes: dict[str, object]) -> None:
    comet = evolve(CometConfig(name="node"), **changes)
    settings: dict[str, object] = {
        "mempool.dog_protocol_enabled": comet.dog,
        "mempool.dog_adjust_interval": f"{comet.interval_ms}ms",
        "mempool.dog_target_redundancy": float(comet.target),
        "mempool.type": comet.kind,
        "mempool.experimental_max_gossip_connections_to_non_persistent_peers": comet.max_others,
    }
    refused = False
    try:
        dog_parameters(settings)
    except ValueError:
        refused = True
    assert bool(list(refusals(comet))) == refused
    line = by_id(comet)["starts"]
    assert line.verdict == ("fails" if refused else "holds")
    assert all(advice.restored and advice.change for advice in line.advice)


def test_an_interval_below_the_round_trip() -> None:
    comet = CometConfig(name="node", dog=True)
    assert by_id(comet)["interval"].verdict == "holds"
    (line,) = [x for x in comet_lines(comet, Fraction(1200)) if x.id == "interval"]
    assert line.verdict == "fails" and line.advice[0].restored
    assert line.advice[0].change == "dog_adjust_interval = 1200 ms"


def test_targets() -> None:
    found = {
        target: by_id(CometConfig(name="node", dog=True, target=Fraction(target)))["target"].verdict
        for target in ("1", "1/2", "0.005", "0.2", "2", "3")
    }
    assert found == {
        "1": "holds",
        "1/2": "holds",
        "0.005": "fails",
        "0.2": "depends",
        "2": "depends",
        "3": "fails",
    }


def test_where_the_controller_rests() -> None:
    assert firsts_at_rest(Fraction(1)) == 1
    assert firsts_at_rest(Fraction(1, 2)) == 2
    for target in (Fraction(15, 100), Fraction(7, 10), Fraction(1, 10)):
        found = firsts_at_rest(target)
        within = [
            n
            for n in range(1, 40)
            if any(target * Fraction(9, 10) <= Fraction(d, n) < target * Fraction(11, 10) for d in range(99))
        ]
        assert found == within[0]


def test_the_time_to_stable_routes_is_the_published_one() -> None:
    (line,) = [x for x in comet_lines(CometConfig(name="n", dog=True), RTT_MS) if x.id == "stable"]
    assert "50 peers at most, so up to 2450 routes" in line.found[0] and "~40.8333 minutes" in line.found[0]


def test_the_peer_limit() -> None:
    assert by_id(CometConfig(name="n", max_others=10))["connected"].verdict == "depends"
    assert by_id(CometConfig(name="n"))["connected"].verdict == "holds"


@pytest.mark.parametrize(
    ("text", "reason", "change"),
    [
        ('type = "nop"', "type is 'nop'", 'type = "flood"'),
        ('Type = "nop"', "type is 'nop'", 'type = "flood"'),
        ("broadcast = false", "broadcast is false", "broadcast = true"),
        ("size = 0", "size is 0", "size = 5000"),
        ("max_tx_bytes = 0", "max_tx_bytes is 0", "max_tx_bytes = 1048576"),
    ],
)
def test_who_is_silent_sends_nothing(tmp_path: Path, text: str, reason: str, change: str) -> None:
    line = by_id(read(tmp_path, f"[mempool]\n{text}\n"))["connected"]
    assert line.verdict == "fails" and reason in line.found[0]
    assert [(advice.change, advice.restored) for advice in line.advice] == [(change, True)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('type = "dog"', "type is 'dog', and must be flood or nop"),
        ("size = -1", "size is '-1', and must be a whole number from 0 to 9223372036854775807"),
        ('size = "many"', "size is 'many', and must be a whole number"),
        ("size = 1e23", "size is '1e23', and must be a whole number"),
        ("max_tx_bytes = 1e23", "max_tx_bytes is '1e23', and must be a whole number of at most"),
        ('dog_adjust_interval = "99999999h"', "must be a duration of at most 292 years"),
        ('recheck_timeout = "99999999h"', "must be a duration of 0 to 292 years"),
        ("recheck = 3", "recheck is '3', and must be true or false"),
    ],
)
def test_what_a_node_refuses_does_not_start(tmp_path: Path, text: str, reason: str) -> None:
    line = by_id(read(tmp_path, f"[mempool]\n{text}\n"))["starts"]
    assert line.verdict == "fails" and reason in line.found[0]
    assert all(advice.restored and advice.change for advice in line.advice)
    assert "no others" in line.assumptions[1]


def test_names_that_are_not_read_are_told(tmp_path: Path) -> None:
    comet = read(tmp_path, "[mempool]\nenable_dog_protocol = true\nfoo = 1\nwal_dir = 'x'\n")
    hint = "mempool.enable_dog_protocol; did you mean dog_protocol_enabled?"
    assert comet.ignored == (hint, "mempool.foo") and not comet.dog


@pytest.mark.parametrize("value", ["nan", "1e308"])
def test_a_target_has_a_limit(tmp_path: Path, value: str) -> None:
    with pytest.raises(ParamsError, match="expected a number of at most 1e99"):
        read(tmp_path, f"[mempool]\ndog_target_redundancy = {value}\n")


def test_with_dog_a_node_may_be_cut_off() -> None:
    line = by_id(CometConfig(name="n", dog=True))["connected"]
    assert line.verdict == "depends" and "docs/results/dog-cut-off.md" in line.found[0]


# -- two ----------------------------------------------------------------------------------------------------

MESH = MeshParameters(
    heartbeat_interval_ms=Fraction(1000),
    prune_backoff_ms=Fraction(60_000),
    unsubscribe_backoff_ms=Fraction(10_000),
    mcache_len=5,
    mcache_gossip=3,
    max_ihave_messages=10,
    max_ihave_length=5000,
    max_idontwant_messages=1000,
    max_idontwant_length=10,
    iwant_followup_ms=Fraction(3000),
    max_message_bytes=1 << 20,
)


def network(name: str, **changes: object) -> NetworkParameters:
    topics = (TopicParameters(name="t", count=3),)
    mesh = evolve(MESH, **changes)
    return NetworkParameters(name=name, topics=topics, mesh=mesh, behaviour_penalty_weight=Fraction(-10))


def paired(left: NetworkParameters, right: NetworkParameters) -> dict[str, Guarantee]:
    return {line.id: line for line in pair_lines(left, right, Fraction(500))}


def test_two_alike_hold_nothing_against_each_other() -> None:
    lines = paired(network("x"), network("y"))
    assert len(lines) == 10 and {line.verdict for line in lines.values()} == {"holds"}


@pytest.mark.parametrize(
    ("changes", "line", "said"),
    [
        (
            {"prune_backoff_ms": Fraction(15_000)},
            "backoff (x of y)",
            "up to 3 GRAFTs too early, -90 of score",
        ),
        ({"unsubscribe_backoff_ms": Fraction(4000)}, "backoff (x of y)", "up to 2 GRAFTs too early"),
        ({"heartbeat_interval_ms": Fraction(200)}, "IHAVE (x of y)", "15 IHAVEs may come"),
        ({"max_ihave_length": 6000}, "IHAVE (x of y)", "up to 6000 ids, 5000 are heeded"),
        ({"max_idontwant_length": 50}, "IDONTWANT (x of y)", "up to 50 ids in one, 10 are kept"),
        ({"mcache_len": 3}, "promises (x of y)", "a broken promise, -10 of score"),
        ({"iwant_followup_ms": Fraction(100)}, "promises (y of x)", "100 ms are given"),
        ({"max_message_bytes": 1 << 21}, "sizes (x of y)", "up to 2097152 bytes are sent, 1048576 are read"),
    ],
)
def test_what_one_holds_against_the_other(changes: dict[str, object], line: str, said: str) -> None:
    lines = paired(network("x"), network("y", **changes))
    assert lines[line].verdict == "fails" and said in "; ".join(lines[line].found)
    there, back = line.split(" (")[0], "y of x" if "x of y" in line else "x of y"
    assert lines[f"{there} ({back})"].verdict == "holds", "the other way round there is nothing"


def test_what_is_not_said_is_left_open() -> None:
    lines = paired(network("x"), evolve(network("y"), mesh=MeshParameters()))
    assert {line.verdict for line in lines.values()} == {"depends"}
    assert lines["sizes (x of y)"].found == ("not said: max_message_bytes of y",)


def test_nodes_of_cometbft_beside_each_other() -> None:
    on, off = CometConfig(name="on", dog=True), CometConfig(name="off", max_tx_bytes=2 << 20)
    lines = {line.id: line for line in comet_pair_lines(on, off)}
    assert lines["mixed"].verdict == "fails" and "off drops HaveTx" in lines["mixed"].found[0]
    assert lines["sizes (on of off)"].verdict == "fails" and lines["sizes (off of on)"].verdict == "holds"
    both = {line.id: line for line in comet_pair_lines(on, evolve(on, interval_ms=Fraction(2000)))}
    assert both["mixed"].verdict == "holds" and both["pace"].verdict == "depends"


def test_of_two_nodes_one_that_takes_nothing_takes_nothing_of_the_other() -> None:
    on, nop = CometConfig(name="on"), CometConfig(name="nop", kind="nop")
    verdicts = {line.id: line.verdict for line in comet_pair_lines(on, nop)}
    assert verdicts["sizes (nop of on)"] == "fails"
    assert verdicts["sizes (on of nop)"] == "depends", "it is offered nothing"


def test_a_node_that_sends_nobody_a_transaction_leaves_its_neighbour_undecided() -> None:
    on, silent = CometConfig(name="on"), CometConfig(name="silent", broadcast=False)
    verdicts = {line.id: line.verdict for line in comet_pair_lines(on, silent)}
    assert verdicts["sizes (on of silent)"] == "depends"
    assert verdicts["sizes (silent of on)"] == "holds"


# -- the command --------------------------------------------------------------------------------------------


def test_the_command_takes_one_or_two(quidnunc: Command, tmp_path: Path) -> None:
    pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")
    bad, good = tmp_path / "bad.toml", tmp_path / "good.toml"
    bad.write_text("[mempool]\ndog_protocol_enabled = true\ndog_adjust_interval = '200ms'\n")
    good.write_text("[mempool]\n")
    ran = quidnunc("params", bad)
    assert ran.code == 1 and "dog_adjust_interval is 200 ms, and must be 1000 ms or more" in ran.out
    assert quidnunc("params", good).code == 0
    assert quidnunc("params", bad, "--round-trip", "soon").code == 2
    both = quidnunc("params", bad, good, "--json")
    assert both.code == 1 and both.data["guarantees"][0]["id"] == "mixed"


def test_the_two_are_of_one_kind(quidnunc: Command, tmp_path: Path) -> None:
    pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")
    pytest.importorskip("yaml", reason="PyYAML is not installed: pip install '.[prove]'")
    node = tmp_path / "node.toml"
    node.write_text("[mempool]\n")
    ran = quidnunc("params", "eth2", node)
    assert ran.code == 2 and "give two of one kind" in ran.err
    ran = quidnunc("params", "eth2", "filecoin")
    assert ran.code == 0 and "not said: prune_backoff_ms of Eth2, three subnets" in ran.out


def test_the_report_names_what_it_leaves_out(quidnunc: Command, tmp_path: Path) -> None:
    pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")
    on, off = tmp_path / "on.toml", tmp_path / "off.toml"
    on.write_text("[mempool]\ndog_protocol_enabled = true\n")
    off.write_text("[mempool]\nfoo = 1\n")
    assert "that no node is cut off (docs/results/dog-cut-off.md)" in quidnunc("params", on).out
    ran = quidnunc("params", off)
    assert "dog-cut-off" not in ran.out and "Ignored, as these are no settings" in ran.out
    assert "  mempool.foo of off\n" in quidnunc("params", on, off).out
    assert quidnunc("params", off, "--json").data["ignored"] == ["mempool.foo"]
