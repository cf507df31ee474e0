"""Claims over traces, by DuckDB: planted faults are found, each where it is; clean data has none."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import pytest

from quidnunc.pipeline.lake.gold.build import GoldRequest, GoldResults, gold_of
from quidnunc.pipeline.lake.gold.claims import (
    CLAIMS,
    TraceSettings,
    clauses_of_trace,
    families,
    protocols_named,
)
from quidnunc.pipeline.lake.gold.metrics import metrics_of_rows
from quidnunc.pipeline.lake.gold.queries import OF_CLAIMS
from quidnunc.pipeline.lake.silver.schema import RowKind
from quidnunc.pipeline.simulation.run import write_run
from quidnunc.pipeline.simulation.scenario.file import load_scenario
from quidnunc.pipeline.trace.events import SentRpc, TraceEvent
from quidnunc.pipeline.trace.files import read_trace
from quidnunc.pipeline.trace.metrics import metrics_of
from quidnunc.pipeline.trace.rpc import ControlMeta, GraftMeta, PruneMeta, RpcMeta
from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.properties.claims.catalogue import level_of
from quidnunc.properties.claims.tables import ALL

pytest.importorskip("pyarrow", reason="pip install '.[spark]'")
from quidnunc.pipeline.lake.gold.witness import VIOLATIONS_JSON, write_witnesses
from quidnunc.trace_run import exit_of
from tests.helpers.duck import Duck
from tests.helpers.networks import SETTINGS, Landing, land, silver_of
from tests.helpers.trace_files import write_trace


def wanted(silver: Path, **said: Any) -> GoldRequest:
    given = {"completeness": "full", "clock": "one", "settings": SETTINGS, **said}
    return GoldRequest(silver=silver.name, **given)


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Landing:
    return land(tmp_path_factory.mktemp("land"), faulty=True)


@pytest.fixture(scope="module")
def silver(landing: Landing, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return silver_of(landing.folder, tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def gold(silver: Path) -> GoldResults:
    return gold_of(Duck(silver), wanted(silver))


def verdicts(gold: GoldResults) -> dict[str, str]:
    return {claim["id"]: claim["verdict"] for claim in gold.claims}


def test_every_fault_is_found_where_it_is_and_none_is_invented(
    gold: GoldResults, silver: Path, landing: Landing, tmp_path: Path
) -> None:
    write_witnesses(gold.violations, gold.runs, silver, tmp_path)
    found = json.loads((tmp_path / VIOLATIONS_JSON).read_bytes())
    assert sorted((each["claim"], each["peer"]) for each in found) == landing.faults
    counts = Counter(claim for claim, _ in landing.faults)
    assert {c["id"]: c["violations"] for c in gold.claims if c["violations"]} == counts
    assert len(counts) == 6
    (one,) = (each for each in found if each["claim"] == "controller.resets-when-low")
    assert "100 ms after" in one["witness"]


def test_clean_data_has_no_violation(tmp_path: Path) -> None:
    clean = silver_of(land(tmp_path / "land", faulty=False).folder, tmp_path / "run")
    gold = gold_of(Duck(clean), wanted(clean))
    assert gold.violations == []
    assert {c["id"] for c in gold.claims if c["verdict"] == "not-refuted" and c["applied"] > 0} == {
        claim.id for claim in CLAIMS
    }


def test_metrics_are_those_of_plain_python(gold: GoldResults, landing: Landing) -> None:
    # Plain Python takes events as they come, so who joined when is told in the order of time.
    events = sorted(read_trace(landing.folder).events(), key=lambda event: event.at_ns or 0)
    (plain,) = (run.plain() for run in metrics_of(events))
    (ours,) = gold.metrics
    latency = plain.pop("latency_ms")
    assert ours["latency_ms"] == pytest.approx(latency, abs=0.001)
    assert {name: ours[name] for name in plain} == plain
    assert ours["idontwant"]["sent"] == plain["sent"]["idontwant"]
    assert ours["mesh"]["one_sided_too_long"] == sum(claim == "mesh.mutual" for claim, _ in landing.faults)
    assert ours["dog"]["peers_stable"] == 4 and ours["dog"]["stable_after_ms"] > 9000


@pytest.mark.parametrize(
    ("said", "claim", "reason"),
    [
        ({"completeness": "sampled"}, "relay.not-back", "needs a complete trace, and this one is sampled"),
        ({"completeness": "lossy"}, "idontwant.honoured", "is lossy"),
        ({"clock": "own"}, "mesh.mutual", "needs one clock for all peers"),
        (
            {"settings": TraceSettings()},
            "backoff.no-graft",
            "needs the backoffs of PRUNEs, or --set prune_backoff_s=N",
        ),
    ],
)
def test_what_a_trace_cannot_decide_is_inconclusive_by_name(
    silver: Path, said: dict[str, Any], claim: str, reason: str
) -> None:
    gold = gold_of(Duck(silver), wanted(silver, **said))
    (found,) = (c for c in gold.claims if c["id"] == claim)
    assert found["verdict"] == "inconclusive" and reason in found["reason"]
    assert claim not in {violation["claim"] for violation in gold.violations}
    assert verdicts(gold)["deliver.once"] == "fails", "two deliveries are two in any trace"


def test_a_trace_that_is_not_in_order_decides_nothing(silver: Path) -> None:
    """It accuses nobody either: a message may be there twice because a file is."""
    gold = gold_of(Duck(silver), wanted(silver, completeness="disordered"))
    assert set(verdicts(gold).values()) == {"inconclusive"}
    assert all("events in order" in claim["reason"] for claim in gold.claims)
    assert not gold.violations
    assert "counts are of a trace that is disordered" in gold.metrics[0]["lacking"]


def test_a_known_skew_stands_for_one_clock(silver: Path) -> None:
    settings = attrs.evolve(SETTINGS, skew_ms=100)
    gold = gold_of(Duck(silver), wanted(silver, clock="own", settings=settings))
    assert verdicts(gold)["mesh.mutual"] == "fails"
    wide = attrs.evolve(SETTINGS, skew_ms=10_000)
    assert (
        verdicts(gold_of(Duck(silver), wanted(silver, clock="own", settings=wide)))["mesh.mutual"]
        == "not-refuted"
    )


def test_ends_of_a_link_that_lost_a_graft_need_not_agree(tmp_path: Path) -> None:
    def gold_with(loss: float, name: str) -> dict[str, Any]:
        path = tmp_path / f"{name}.yaml"
        path.write_text(
            "{nodes: [{count: 20, protocol: gossipsub-1.1}], topology: {degree: 6}, "
            f"links: {{loss: {loss}}}, traffic: [{{count: 4}}], duration_s: 40}}"
        )
        write_run(load_scenario(path), tmp_path / name)
        silver = silver_of(tmp_path / name, tmp_path / f"{name} run")
        gold = gold_of(Duck(silver), wanted(silver))
        (claim,) = (each for each in gold.claims if each["id"] == "mesh.mutual")
        return {**claim, "one_sided": gold.metrics[0]["mesh"]["one_sided_too_long"]}

    lossy, whole = gold_with(0.1, "lossy"), gold_with(0, "whole")
    assert lossy["one_sided"] > 0 and lossy["verdict"] == whole["verdict"] == "not-refuted"
    assert 0 < lossy["applied"] < whole["applied"], "links that lost nothing are judged"


OF_NETWORKS = {"mesh.mutual", "deliver.published-first", "deliver.to-all"}
"""Claims of several nodes, and not of one router."""


def test_claims_are_the_kits_by_name_and_clause() -> None:
    known = {claim.id: claim for claim in ALL}
    for claim in CLAIMS:
        if claim.id not in OF_NETWORKS:
            assert claim.clause in known[claim.id].clauses
        assert level_of(claim.clause) in "MSYI"
        assert "{remote}" in claim.witness or claim.id == "deliver.once"
    assert {c.id for c in CLAIMS} - set(known) == OF_NETWORKS


MEMPOOL = frozenset({"mempool"})
EACH = frozenset({"deliver.once", "deliver.to-all", "relay.not-back", "send.once-to-others"})


@pytest.mark.parametrize(
    ("protocols", "asked"),
    [
        (["flood"], EACH),
        (["dog"], EACH | {"havetx.reply", "controller.resets-when-low", "reset.one"}),
        (["cat"], {"deliver.to-all"}),
        (
            ["floodsub"],
            {"deliver.once", "deliver.published-first", "deliver.to-all", "relay.not-back", "relay.once"},
        ),
    ],
)
def test_a_trace_is_asked_the_claims_of_its_protocols(protocols: list[str], asked: set[str]) -> None:
    """A clean network of a mempool was inconclusive: claims of gossipsub never applied in it."""
    found = clauses_of_trace(protocols, MEMPOOL)
    assert found.keys() == asked
    pubsub = {name.partition("/")[0] for name in found.values()} & {"floodsub", "gs1.0", "gs1.1", "pubsub"}
    assert bool(pubsub) == (protocols == ["floodsub"])


def test_a_revision_is_not_asked_what_came_later() -> None:
    old, new = (
        clauses_of_trace([name], frozenset({"pubsub"})) for name in ("gossipsub-1.1", "gossipsub-1.2")
    )
    assert new.keys() - old.keys() == {"idontwant.honoured"}
    assert clauses_of_trace(["gossipsub-1.1", "dog"], MEMPOOL)["deliver.once"] == "floodsub/deliver.once"


def test_a_trace_that_names_no_protocol_is_asked_by_what_is_in_it() -> None:
    """Nodes of a mempool publish, deliver and join as well."""
    every = {claim.id for claim in CLAIMS}
    assert families([(0, 0), (3, 0), (9, 0), (7, RowKind.TXS)]) == MEMPOOL
    assert families([(0, 0), (3, 0), (9, 0)]) == {"pubsub"}
    assert families([(12, 0), (113, 0)]) == {"pubsub", "mempool"}
    assert clauses_of_trace([], frozenset({"pubsub", "mempool"})).keys() == every
    assert clauses_of_trace([], MEMPOOL).keys() == every - {
        *("deliver.published-first", "relay.once", "idontwant.honoured", "ihave.requested"),
        *("backoff.no-graft", "mesh.mutual"),
    }
    assert protocols_named({"kinds": [{"init": {"protocol": "dog"}}]}) == {"dog"}
    for strange in ({}, {"kinds": 3}, {"kinds": [3, {"init": 4}]}, {"kinds": [{"init": {"protocol": "x"}}]}):
        assert protocols_named(strange) == frozenset()


def test_a_clean_mempool_is_decided(tmp_path: Path) -> None:
    path = tmp_path / "dog.yaml"
    path.write_text(
        "{nodes: [{count: 6, protocol: dog}], topology: {degree: 3}, traffic: [{count: 10, every_s: 1}]}"
    )
    write_run(load_scenario(path), tmp_path / "dog")
    silver = silver_of(tmp_path / "dog", tmp_path / "dog run")
    gold = gold_of(Duck(silver), wanted(silver))
    assert {c["verdict"] for c in gold.claims if c["asked"]} == {"not-refuted"}
    assert exit_of(gold.claims, strict=False) == (0, "")


def test_every_claim_has_its_two_queries_and_no_query_is_of_none() -> None:
    assert set(OF_CLAIMS) == {(claim.id, role) for claim in CLAIMS for role in ("applied", "violations")}
    assert OF_CLAIMS["deliver.once", "applied"].startswith("SELECT run, COUNT(*) AS applied FROM delivered")


def test_settings_are_read_and_refused() -> None:
    read = TraceSettings().changed(["skew_ms=5", "prune_backoff_s=1.5"])
    assert (read.skew_ms, read.prune_backoff_s) == (5, 1.5)
    for bad in ("skew=5", "skew_ms=x", "skew_ms=-1", "skew_ms"):
        with pytest.raises(TraceError, match="--set"):
            TraceSettings().changed([bad])


def test_a_run_without_events_has_no_metrics() -> None:
    runs = [{"id": 0, "name": "", "completeness": "full", "clock": "own"}]
    assert metrics_of_rows({"run_spans": []}, runs) == []


def test_a_watch_of_single_peers_sees_what_the_queries_find(gold: GoldResults, silver: Path) -> None:
    from bench import monitor

    watched = [monitor.watch_bucket(path, SETTINGS) for path in sorted(silver.glob("bucket-*.parquet"))]
    seen = sorted((v.claim, v.peer, v.seq, v.remote) for each in watched for v in each.violations)
    found = [v for v in gold.violations if v["claim"] in monitor.CLAIMS]
    assert seen == sorted((v["claim"], v["peer"], v["seq"], v["remote"]) for v in found)
    assert {claim for claim, *_ in seen} == {c.id for c in CLAIMS if c.id in dict(counts_of(gold))} - {
        "mesh.mutual"
    }


def counts_of(gold: GoldResults) -> list[tuple[str, int]]:
    return [(claim["id"], claim["violations"]) for claim in gold.claims if claim["violations"]]


def test_backoffs_are_asked_for_where_there_is_a_prune(tmp_path: Path) -> None:
    """Without one, to say how long they are would decide nothing."""
    found = {}
    for control in (ControlMeta(prune=(PruneMeta(topic="t"),)), ControlMeta(graft=(GraftMeta(topic="t"),))):
        source = tmp_path / f"{len(found)}.jsonl"
        sent = SentRpc(peer=b"b", meta=RpcMeta(control=control))
        write_trace([TraceEvent(sent, b"a", 1_700_000_000_000_000_001)], source)
        made = silver_of(source, tmp_path / f"run{len(found)}")
        claims = gold_of(Duck(made), wanted(made, settings=TraceSettings())).claims
        (found[len(found)],) = (c["reason"] for c in claims if c["id"] == "backoff.no-graft")
    assert "needs the backoffs of PRUNEs" in found[0] and found[1] == "never applied: no PRUNE"
