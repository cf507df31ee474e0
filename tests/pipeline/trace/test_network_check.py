"""Claims over simulated networks, and failures made small."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.impl.wire.keys import peer_id
from quidnunc.model.events import Connect, Delivered, Event, Receive, Sent, Submit
from quidnunc.model.rpc import IHave, Message, Prune, SeenTx, Tx
from quidnunc.pipeline.simulation.run import write_run
from quidnunc.pipeline.simulation.scenario.file import load_scenario
from quidnunc.pipeline.simulation.shrink import (
    case_of,
    explicit_scenario,
    renamed_events,
    smaller_network,
    still_departs,
    without_nodes,
)
from quidnunc.pipeline.trace.events import DeliverMessage, RunStart, SentRpc, TraceEvent
from quidnunc.pipeline.trace.files import TraceRecord, read_trace
from quidnunc.pipeline.trace.network import network_runs, seen_from
from quidnunc.pipeline.trace.network_check import check_network, demand_whole
from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.properties.cases.file import parse
from tests.helpers.simulated import judged, run, scenario

SMALL = {"nodes": [{"count": 8}], "topology": {"degree": 5}, "traffic": [{"count": 3}]}
ECHO = {
    "nodes": [{"count": 7}, {"count": 1, "router": "ours:echo"}],
    "topology": {"degree": 5},
    "traffic": [{"count": 4}],
}


def test_a_run_on_disk_is_judged_as_it_was_in_memory(tmp_path: Path) -> None:
    write_run(scenario(**SMALL), tmp_path / "run")
    (on_disk,) = check_network(read_trace(tmp_path / "run")).values()
    (in_memory,) = judged(run(**SMALL)[1]).values()
    assert (on_disk.steps, on_disk.applied) == (in_memory.steps, in_memory.applied)
    # The scenario beside it is the same run again.
    again = load_scenario(tmp_path / "run" / "scenario.yaml")
    assert again == scenario(**SMALL)
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["outcome"]["nodes"] == 8


@pytest.mark.parametrize("gone", [slice(300, None), slice(40, 41)])
def test_a_trace_without_some_of_its_lines_is_not_judged(tmp_path: Path, gone: slice) -> None:
    """Each line is whole, and nodes would be blamed for what is not there."""
    write_run(scenario(**SMALL), tmp_path / "run")
    trace = tmp_path / "run" / "trace.jsonl.gz"
    lines = gzip.decompress(trace.read_bytes()).splitlines(keepends=True)
    before = len(lines) - 1
    del lines[gone]
    trace.write_bytes(gzip.compress(b"".join(lines)))
    reading = read_trace(trace)
    check_network(reading)
    with pytest.raises(TraceError, match=f"{len(lines) - 1} events, and summary.json .* {before}") as error:
        demand_whole(reading)
    assert error.value.is_cut


def test_a_whole_trace_is_judged_with_its_summary_and_without(tmp_path: Path) -> None:
    write_run(scenario(**SMALL), tmp_path / "run")
    shutil.copy(tmp_path / "run" / "trace.jsonl.gz", tmp_path / "twin.jsonl.gz")
    for traces in ([tmp_path / "run"], [tmp_path / "twin.jsonl.gz"]):
        reading = read_trace(*traces)
        assert check_network(reading)
        demand_whole(reading)


def test_a_summary_that_is_nested_too_deep_counts_nothing(tmp_path: Path) -> None:
    """Mutant: it ends the check with a RecursionError."""
    write_run(scenario(**SMALL), tmp_path / "run")
    (tmp_path / "run" / "summary.json").write_text("[" * 5000 + "]" * 5000)
    reading = read_trace(tmp_path / "run" / "trace.jsonl.gz")
    assert check_network(reading)
    demand_whole(reading)


def test_what_did_not_happen_is_inconclusive() -> None:
    (report,) = judged(run(**SMALL)[1]).values()
    by_claim = {v.claim.id: v for v in report.verdicts()}
    assert by_claim["relay.once"].verdict == "not-refuted" and by_claim["relay.once"].applied > 0
    assert by_claim["leave.prunes"].verdict == "inconclusive" and not by_claim["leave.prunes"].applied


def test_an_altered_trace_departs() -> None:
    """Each of: an RPC that was not sent, a delivery that was not made, a message that was not asked for."""
    _, events = run(**SMALL)
    sent = next(k for k, e in enumerate(events) if isinstance(e.body, SentRpc) and e.body.meta.messages)
    handed = next(k for k, e in enumerate(events) if isinstance(e.body, DeliverMessage))
    twice = [*events[: sent + 1], events[sent], *events[sent + 1 :]]
    for altered in (
        [e for k, e in enumerate(events) if k != sent],
        [e for k, e in enumerate(events) if k != handed],
        twice,
    ):
        (report,) = judged(altered).values()
        assert report.violations and {v.verdict for v in report.verdicts()} & {"fails"}


def test_a_value_is_told_as_its_node_sees_it() -> None:
    message = Message("m", "t", 3)
    assert seen_from(Receive((0,), (message, IHave("t", ("m",)))), 3) == Receive(
        (3,), (Message("m", "t", 0), IHave("t", ("m",)))
    )
    assert seen_from(Sent(5, Prune("t", 60, (0, 3))), 3) == Sent(5, Prune("t", 60, (3, 0)))
    assert seen_from((Delivered(message),), 0) == (Delivered(message),)


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (TraceEvent(RunStart(name="a", manifest="{"), peer_id(0), 0), "manifest is not JSON"),
        (TraceEvent(RunStart(name="a", manifest='{"source": "check"}'), peer_id(0), 0), "not the trace of"),
        (TraceEvent(RunStart(name="a", manifest='{"source": "simulate"}'), peer_id(0), 0), "the manifest"),
        (TraceEvent(DeliverMessage(), peer_id(0), 0), "begins with a RUN event"),
    ],
)
def test_what_is_no_network(event: TraceEvent, says: str) -> None:
    with pytest.raises(TraceError, match=says):
        list(network_runs([TraceRecord(event, Path("x"), 1)]))


def test_a_trace_with_a_hole_is_not_judged(tmp_path: Path) -> None:
    write_run(scenario(**SMALL), tmp_path / "run")
    import gzip

    path = tmp_path / "run" / "trace.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    lines[40] = b"{}\n"
    path.write_bytes(gzip.compress(b"".join(lines)))
    with pytest.raises(TraceError, match="1 of the records cannot be read"):
        check_network(read_trace(path))


# -- made small ---------------------------------------------------------------------------------------------


def test_a_failure_becomes_a_case() -> None:
    reports = judged(run(**ECHO)[1])
    (found,) = reports["gossipsub-1.2", "ours:echo"].departed
    text = case_of(found)
    assert text is not None
    case = parse(text)
    assert (case.clause, case.against) == ("floodsub/relay.not-back", "ours:echo 1")
    # A neighbour connects, the router is in the topic, and gets a message back that it has sent.
    assert len(text.splitlines()) <= 40 and len(case.blocks) <= 4


def test_names_become_plain() -> None:
    events = renamed_events(
        [Connect((44,)), Receive((44,), (Message("xff", "t", 9), IHave("t", ("xff", "xee"))))]
    )
    assert events == [Connect((1,)), Receive((1,), (Message("m1", "t", 2), IHave("t", ("m1", "m2"))))]


def test_names_of_transactions_that_say_something_stay() -> None:
    """CAT reads the signer and its place in a name, and the application refuses `bad...`."""
    kept: list[Event] = [Submit("s1n2"), Receive((1,), (SeenTx("s1n2"), Tx("bad1")))]
    assert renamed_events(kept) == kept
    assert renamed_events([Submit("xab")]) == [Submit("m1")]


def test_a_network_becomes_smaller() -> None:
    made = scenario(**ECHO)
    (found,) = judged(run(**ECHO)[1])["gossipsub-1.2", "ours:echo"].departed
    smaller = smaller_network(made, found, lambda text: None)
    assert still_departs(smaller, found)
    assert smaller.node_count <= 3 and smaller.traffic[0].count <= 2
    # Nobody departs so in a network of honest nodes.
    honest = (evolve(made.nodes[0], count=8),)
    assert not still_departs(evolve(smaller, nodes=honest, topology=made.topology), found)


def test_nodes_are_taken_away_with_their_edges() -> None:
    made = explicit_scenario(
        scenario(nodes=[{"count": 2}, {"count": 2, "router": "ours:echo"}], topology={"kind": "ring"})
    )
    assert made.node_count == 4 and len(made.topology.edges) == 4
    fewer = without_nodes(made, {1})
    assert fewer is not None and fewer.node_count == 3
    assert fewer.nodes == (made.nodes[0], *made.nodes[2:])
    assert {frozenset(e) for e in fewer.topology.edges} == {frozenset({1, 2}), frozenset({0, 2})}
    assert without_nodes(made, {0, 1, 2, 3}) is None
