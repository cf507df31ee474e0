"""Every reader of what comes from outside, as a function of a file, with valid examples of what it reads."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from attrs import frozen

from quidnunc.impl.ours.pubsub import open_ours
from quidnunc.impl.seam import AdapterError, Hello, Reply
from quidnunc.impl.seam.sidecar_json import hello_json, hello_of, init_of, reply_json, reply_of
from quidnunc.impl.sidecar_host import serve
from quidnunc.impl.tcp_node.link import TcpHello, read_hello
from quidnunc.impl.wire import other_keys, signed_records
from quidnunc.impl.wire.cat_codec import CatCodec, seen_tx, want_tx
from quidnunc.impl.wire.codec import Codec, WireError
from quidnunc.impl.wire.framing import FrameDecoder, FrameError, frame
from quidnunc.impl.wire.keys import key_in_id, peer_id, public_key
from quidnunc.impl.wire.mempool_codec import MempoolCodec, StrayMessage
from quidnunc.model.errors import CaseError, SpecError
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import (
    Graft,
    HaveTx,
    IHave,
    IWant,
    Message,
    Prune,
    ResetRoute,
    Subscribe,
    Tx,
)
from quidnunc.pipeline.lake.ingest import gold_wanted
from quidnunc.pipeline.lake.landing import landing_file, records_of
from quidnunc.pipeline.lake.run_folder import MANIFEST, SCHEMA, RunFolder
from quidnunc.pipeline.simulation.links import matrix_of
from quidnunc.pipeline.simulation.scenario.file import load_scenario
from quidnunc.pipeline.simulation.scenario.values import Latency, ScenarioError, Topology
from quidnunc.pipeline.simulation.topology import edges_of
from quidnunc.pipeline.sweep.file import load_sweep
from quidnunc.pipeline.sweep.run import COVERAGE, _coverage_in
from quidnunc.pipeline.sweep.summary import merged_coverage
from quidnunc.pipeline.trace.check import check_recorded
from quidnunc.pipeline.trace.events import RunStart, TraceEvent
from quidnunc.pipeline.trace.files import TraceReader, side_of
from quidnunc.pipeline.trace.metrics import metrics_of
from quidnunc.pipeline.trace.network_check import check_network
from quidnunc.pipeline.trace.record import runs_of
from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.properties.cases.file import load, render
from quidnunc.properties.documents.sentences import read_file as read_sentences
from quidnunc.properties.params.comet import comet_of
from quidnunc.properties.params.file import ParamsError
from quidnunc.properties.params.file import read_file as read_parameters
from quidnunc.properties.params.read import network_of
from quidnunc.properties.regress.as_built import edit_as_built
from quidnunc.properties.regress.expect import load_declared
from quidnunc.properties.search.verdicts import load_expectations
from tests.helpers.simulated import run as simulated
from tests.helpers.trace_files import CARRIERS, write_trace

ROOT = Path(__file__).parents[2]
OURS = (
    AdapterError,
    CaseError,
    FrameError,
    ParamsError,
    ScenarioError,
    SpecError,
    StrayMessage,
    TraceError,
    WireError,
)
"""What a reader may say of bytes that it does not take."""


@frozen(kw_only=True)
class Reader:
    """One reader: what it makes of a file, and files that it takes."""

    read: Callable[[Path], object]
    examples: Callable[[], tuple[bytes, ...]]
    name: str = "given"
    """Of the file; readers of several kinds go by it."""
    packed: bool = False
    """Whether the file may also be a gzip stream."""
    slow: int = 1
    """How many times fewer examples it is given."""


# -- files ------------------------------------------------------------------------------------------------


def _files(*patterns: str, most: int = 6, largest: int = 20_000) -> Callable[[], tuple[bytes, ...]]:
    """Small files of this checkout, spread over all that match."""

    def found() -> tuple[bytes, ...]:
        every = [p for each in patterns for p in sorted(ROOT.glob(each)) if p.stat().st_size < largest]
        assert every, patterns
        return tuple(path.read_bytes() for path in every[:: -(-len(every) // most)])

    return found


def _texts(*texts: str) -> Callable[[], tuple[bytes, ...]]:
    return lambda: tuple(text.encode() for text in texts)


def _case(path: Path) -> object:
    return render(load(path))


def _as_built(path: Path) -> object:
    return edit_as_built(path, protocol_named("gossipsub-1.2"))


def _scores(path: Path) -> object:
    return network_of(read_parameters(path))


def _mempool(path: Path) -> object:
    return comet_of(read_parameters(path), "given")


def _graph(path: Path) -> object:
    return edges_of(Topology(kind="file", path=str(path)), 6, 0)


def _matrix(path: Path) -> object:
    return matrix_of(Latency(kind="matrix", path=str(path)))


def _coverage(path: Path) -> object:
    return merged_coverage([_coverage_in(path.parent)])


# -- traces and runs ----------------------------------------------------------------------------------------


def _trace(path: Path) -> object:
    """What `trace metrics` and `ingest` read."""
    reading = TraceReader([path])
    found = [r.plain() for r in metrics_of(reading.events())]
    landed = [str(record) for record in records_of(landing_file(path))]
    return found, landed, list(map(str, reading.bad))


def _side(path: Path) -> object:
    main = path.with_name("main.pb")
    shutil.copy(_small_traces() / "protobuf", main)
    shutil.copy(path, side_of(main))
    return _trace(main)


def _recorded(path: Path) -> object:
    return check_recorded(runs_of(TraceReader([path])))


def _network(path: Path) -> object:
    return check_network(TraceReader([path]))


def _manifest(path: Path) -> object:
    shutil.copy(path, path.with_name(MANIFEST))
    return gold_wanted(RunFolder(path.parent))


@lru_cache(maxsize=1)
def _network_events() -> tuple[TraceEvent, ...]:
    _, events = simulated(
        nodes=[{"count": 3}],
        topology={"kind": "complete"},
        duration_s=2.2,
        traffic=[{"count": 1, "start_s": 0.5}],
    )
    return tuple(events)


@lru_cache(maxsize=1)
def _small_traces() -> Path:
    import tempfile

    folder = Path(tempfile.mkdtemp())
    events = [e for e in _network_events() if not isinstance(e.body, RunStart)][:40]
    for carrier in CARRIERS:
        write_trace(events, folder / carrier, carrier)
    return folder


def _carried(carrier: str) -> Callable[[], tuple[bytes, ...]]:
    return lambda: ((_small_traces() / carrier).read_bytes(),)


def _of_network() -> tuple[bytes, ...]:
    path = _small_traces() / "network"
    write_trace(_network_events(), path)
    return (path.read_bytes(),)


def _of_check() -> tuple[bytes, ...]:
    from quidnunc.__main__ import main

    path = _small_traces() / "recorded.jsonl"
    if not path.exists():
        words = ("check", "floodsub", "--against", "ours", "--runs", "4", "--json", "--record", str(path))
        main(words)
    return (b"\n".join(path.read_bytes().split(b"\n")[:60]),)


def _manifests() -> tuple[bytes, ...]:
    settings = {"skew_ms": 5, "prune_backoff_s": 60}
    files = [{"name": "a.pb", "digest": "00", "path": "/a.pb", "size": 1, "time_ns": 2}]
    held = {
        "schema": SCHEMA,
        "files": files,
        "silver": "a",
        "completeness": "full",
        "clock": "one",
        "settings": settings,
    }
    return (json.dumps({**held, "settings": settings}).encode(),)


HERMES = """\
{"Type":"GRAFT","Topic":"","PeerID":"p","Timestamp":"2024-05-01T12:00:00.1Z","Data":{"PeerID":"q","Topic":"t"}}
{"Type":"DELIVER_MESSAGE","PeerID":"p","Timestamp":"2024-05-01T12:00:00Z","Data":{"PeerID":"q","Topic":"t","MsgID":"0a","MsgSize":70}}
{"Type":"SEND_RPC","PeerID":"p","Timestamp":"2024-05-01T12:00:01+01:00","Data":{"PeerID":"q","Subs":[{"Subscribe":true,"TopicID":"t"}],"Msgs":[{"MsgID":"0a","Topic":"t"}],"Control":{"IHave":[{"TopicID":"t","MsgIDs":["00ff"]}],"Prune":[{"TopicID":"t","PeerIDs":["p"]}]}}}
"""
DELIVERIES = (
    "col1_peer,col2_peer,msg_uuid,t_sent_ns,t_recv_ns\na,a,m,5,10\nb,a,m,5,20\nc,b,m,5,30\nb,c,m,5,40\n"
)

# -- streams ------------------------------------------------------------------------------------------------


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    """Lines of JSON, as `Pipe.ask` takes them from a sidecar."""
    for line in path.read_bytes().splitlines():
        try:
            plain = json.loads(line)
        except (ValueError, RecursionError):
            raise AdapterError("its line is not JSON") from None
        if not isinstance(plain, dict):
            raise AdapterError("expected a line with a JSON object")
        yield plain


def _sidecar(path: Path) -> object:
    return [hello_of(plain) if "hello" in plain else reply_of(plain) for plain in _objects(path)]


def _host(path: Path) -> object:
    """A stranger's requests: each has an answer of one line."""
    said = io.BytesIO()
    serve(open_ours, io.BytesIO(path.read_bytes()), said)
    answers = [json.loads(line) for line in said.getvalue().splitlines()]
    assert not any("Traceback" in str(answer) for answer in answers)
    return answers


def _rpcs(path: Path) -> object:
    """One stream of a pubsub peer."""
    payloads, error = FrameDecoder().feed(path.read_bytes())
    codec = Codec(Parameters(), extended=True)
    found = [codec.decode(payload) for payload in payloads]
    if error is not None:
        raise error
    return found


def _flood(path: Path) -> object:
    data = path.read_bytes()
    return MempoolCodec().decode(data[0] if data else 0, data[1:])


def _cat(path: Path) -> object:
    data = path.read_bytes()
    return CatCodec("cat").decode(data[0] if data else 0, data[1:])


def _keys(path: Path) -> object:
    data = path.read_bytes()
    return (
        signed_records.is_valid(data, peer_id(1)),
        signed_records.kind_of(data, peer_id(1)),
        other_keys.key_parts(data),
        other_keys.verify(data, b"data", data),
        key_in_id(data),
    )


def _hello(path: Path) -> object:
    return read_hello(path.read_bytes())


def _pubsub_streams() -> tuple[bytes, ...]:
    codec = Codec(Parameters(), extended=True)
    parts = [Subscribe("t1"), Graft("t1"), Prune("t1", 60), IHave("t1", ("m1", "m2")), IWant(("m1",))]
    whole = codec.encode([*parts, Message("m1", "t1", 3)], sender=1)
    return frame(whole), b"".join(frame(codec.encode([part], sender=2)) for part in parts)


def _sidecar_lines() -> tuple[bytes, ...]:
    hello = Hello(name="n", version="1", protocols=("floodsub",), capabilities=frozenset({"clock"}))
    reply = Reply(t_ms=5, out=((1, 0, b"ab"),), closed=(1,), dials=(2,), state={"a": [1]})
    lines = (hello_json(hello), reply_json(reply))
    return tuple(json.dumps(each).encode() for each in ({"hello": lines[0], "again": True}, lines[1]))


def _requests() -> tuple[bytes, ...]:
    from quidnunc.impl.seam import Config

    lines: list[dict[str, Any]] = [{"op": "init", **init_of(Config(protocol="gossipsub-1.2"))}]
    lines += [
        {"op": "connect", "peer": 1, "protocol": "/meshsub/1.2.0", "outbound": True},
        {"op": "join", "topic": "t"},
        {"op": "rpc", "peer": 1, "channel": 0, "data": ""},
        {"op": "advance", "ms": 1000},
        {"op": "publish", "topic": "t", "data": "aGVsbG8="},
        {"op": "state"},
    ]
    return ("\n".join(map(json.dumps, lines)).encode(),)


def _mempool_messages() -> tuple[bytes, ...]:
    codec = MempoolCodec()
    codec.tx_bytes("tx1")
    parts = (Tx("tx1"), HaveTx("tx1"), ResetRoute())
    return tuple(bytes((channel,)) + data for channel, data in map(codec.encode, parts))


def _cat_messages() -> tuple[bytes, ...]:
    key = bytes(32)
    return b"\x32" + want_tx(key), b"\x31" + seen_tx(key, signed=True)


# -- all of them --------------------------------------------------------------------------------------------

SCENARIO = """\
nodes: [{count: 4, protocol: gossipsub-1.2, router: ours, parameters: {d: 6}}]
topology: {kind: edges, edges: [[0, 1], [1, 2], [2, 3]], latencies_ms: [1, null, 3]}
links: {latency: {kind: uniform, low_ms: 1, high_ms: 2}, loss: 0.1, bandwidth_mbit: 3}
topics: [{name: t, subscribers: [0, 1, 2]}]
traffic: [{topic: t, publishers: [0], start_s: 1, every_s: 1, count: 2, size_bytes: 99}]
churn: {nodes: 0.5, up_s: 3, down_s: 1}
"""
READERS: dict[str, Reader] = {
    "case": Reader(
        read=_case,
        name="a.case",
        examples=_files("counterexamples/**/*.case", "properties/suite/cases/**/*.case"),
    ),
    "expectations": Reader(
        read=load_expectations, examples=_files("counterexamples/routers/*/expect.toml", largest=1 << 20)
    ),
    "router as built": Reader(
        read=_as_built, examples=_files("counterexamples/routers/*/expect.toml", largest=1 << 20), slow=4
    ),
    "declared changes": Reader(
        read=load_declared, examples=_files("counterexamples/regress/*.toml", largest=3000)
    ),
    "scores, YAML": Reader(read=_scores, name="a.yaml", examples=_files("properties/params/known/*.yaml")),
    "scores, JSON": Reader(
        read=_scores,
        name="a.json",
        examples=_texts('{"decay_interval": "1s", "topics": {"t": {"topic_weight": 0.5}}}'),
    ),
    "mempool, TOML": Reader(
        read=_mempool,
        name="a.toml",
        examples=_texts('[mempool]\ntype = "flood"\nsize = 5000\nmax_txs_bytes = 1\n[p2p]\nladdr = "a"\n'),
    ),
    "scenario, YAML": Reader(read=load_scenario, name="a.yaml", examples=_texts(SCENARIO)),
    "scenario, JSON": Reader(
        read=load_scenario,
        name="params.json",
        examples=_texts(
            '{"script":[{"type":"initGossipSub","gossipSubParams":{"D":6,"HeartbeatInterval":700000000}},'
            '{"type":"ifNodeIDEquals","nodeID":1,"instruction":{"type":"connect","connectTo":[0]}},'
            '{"type":"subscribeToTopic","topicID":"t"},{"type":"waitUntil","elapsedSeconds":3},'
            '{"type":"publish","messageID":1,"messageSizeBytes":100,"topicID":"t"}]}'
        ),
    ),
    "sweep": Reader(
        read=load_sweep,
        name="a.yaml",
        examples=_texts(
            "name: s\nsimulate:\n- scenario: {nodes: [{count: 3}]}\n  vary: {links.loss: [0, 0.1]}\n"
            "  points: [{nodes.0.count: 2}]\n  seeds: 2\n"
            "check: [{protocol: dog, against: ours, runs: 10, batch: 5}]\n"
        ),
    ),
    "coverage of a campaign": Reader(
        read=_coverage,
        name=COVERAGE,
        examples=_texts(
            '{"schema": 1, "applied": {"gossipsub-1.2": {"gs1.0/join.graft-each": 3}}, "protocols": {}}'
        ),
    ),
    "edge list": Reader(read=_graph, name="a.edges", examples=_texts("0 1\n1 2 5.5\n# no\n2 3\n")),
    "GraphML": Reader(
        read=_graph,
        name="a.graphml",
        examples=_texts(
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="k" for="edge"'
            ' attr.name="latency_ms" attr.type="double"/><graph edgedefault="undirected">'
            '<node id="0"/><node id="1"/>'
            '<edge source="0" target="1"><data key="k">4.5</data></edge></graph></graphml>'
        ),
    ),
    "latencies": Reader(
        read=_matrix, name="a.csv", examples=_texts(",a,b\na,1,2\nb,3,4\n", "a,b\n1,2\n3,4\n")
    ),
    "specification": Reader(
        read=read_sentences,
        examples=_texts("# T\n\nA router MUST do. `x = 1`\n\n| a | b |\n|--|--|\n| 1 | 2 |\n"),
    ),
    "trace, JSON": Reader(read=_trace, examples=_carried("json"), packed=True),
    "trace, protobuf": Reader(read=_trace, examples=_carried("protobuf"), packed=True),
    "trace, batches": Reader(read=_trace, examples=_carried("batches")),
    "trace, Hermes": Reader(read=_trace, examples=_texts(HERMES), packed=True),
    "trace, deliveries": Reader(read=_trace, examples=_texts(DELIVERIES), packed=True),
    "side file": Reader(
        read=_side, examples=lambda: ((_small_traces() / "protobuf.side.jsonl").read_bytes(),)
    ),
    "recorded check": Reader(read=_recorded, examples=_of_check, slow=8),
    "simulated network": Reader(read=_network, examples=_of_network, slow=8),
    "manifest of a run": Reader(read=_manifest, examples=_manifests),
    "sidecar": Reader(read=_sidecar, examples=_sidecar_lines),
    "requests to a sidecar": Reader(read=_host, examples=_requests, slow=4),
    "pubsub stream": Reader(read=_rpcs, examples=_pubsub_streams),
    "mempool message": Reader(read=_flood, examples=_mempool_messages),
    "CAT message": Reader(read=_cat, examples=_cat_messages),
    "keys and records": Reader(
        read=_keys,
        examples=lambda: (
            public_key(1),
            peer_id(1),
            signed_records.record_of(1),
            other_keys.public_key(other_keys.SECP256K1_AUTHOR),
        ),
    ),
    "hello of a TCP node": Reader(
        read=_hello,
        examples=lambda: (TcpHello(number=1, protocol="dog", streams=("mempool",)).frame()[2:],),
    ),
}
