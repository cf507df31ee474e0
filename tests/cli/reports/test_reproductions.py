"""A finding as a test of the router's own: it needs nothing of the kit, and fails on the release."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.impl.drivers.js_libp2p import builds as js_libp2p
from quidnunc.impl.routers import available
from quidnunc.impl.seam import Delivery, Reply
from quidnunc.impl.wire import mempool_pb2
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.keys import peer_id
from quidnunc.properties.cases.file import load, parse
from quidnunc.reports.reproductions import go, javascript, python
from quidnunc.reports.reproductions.catalogue import reproduction_of
from quidnunc.reports.reproductions.recorded import LineReader, NoReproductionError, recorded
from quidnunc.reports.reproductions.shaken import shaken
from quidnunc.reports.reproductions.wording import prose, rule_of, title_words
from tests.conftest import Command

ROUTERS = Path(__file__).parents[3] / "counterexamples" / "routers"
PY = sorted((ROUTERS / "py-libp2p").glob("*.case"))
SHARED = ROUTERS / "py-libp2p" / "gs1.0.mesh.members.control-lists-shared.case"
NETWORK = ROUTERS.parent / "networks" / "mesh.graft-is-symmetric.gossipsub-1.0.case"
DRIVERS = ROUTERS.parents[1] / "impl" / "drivers"
IN_GO = {
    "go-libp2p-pubsub": DRIVERS / "go_libp2p" / "locks" / "0.19.0",
    "cometbft": DRIVERS / "cometbft" / "locks" / "2.0.0-rc1",
}
"""Routers in Go, and the modules that a release of each is tested with."""
TOLD = (
    "py-libp2p/gs1.0.mesh.members.unsubscribed-stays-in-mesh.case",
    "py-libp2p/gs1.0.rpc.control-fields.hex-ids-decoded.case",
    "py-libp2p/gs1.1.backoff.regraft.backoff-in-whole-seconds.case",
    "py-libp2p/gs1.1.ihave.caps.ihave-capped-otherwise.case",
    "py-libp2p/gs1.1.threshold.negative-score.grafts-peers-whose-score-is-negative.case",
    "js-libp2p/floodsub.relay.joined-topics.accepts-messages-in-topics-that-it-has-not-joined.case",
    "js-libp2p/gs1.0.join.fill.build-mesh-sees-all-newest.case",
    "js-libp2p/gs1.0.join.fill.twice-build-mesh.case",
    "js-libp2p/gs1.1.backoff.announced-period.rpc-with-backoff-from-2-53-s-dropped.case",
    "js-libp2p/gs1.1.score.mesh-deliveries.joined-members-unscored.case",
    "go-libp2p-pubsub/gs1.0.heartbeat.cut.cut-at-d-high.case",
    "go-libp2p-pubsub/gs1.0.rpc.payload-first.control-before-payload.case",
    "go-libp2p-pubsub/gs1.1.backoff.both-ends.backoff-overflows-2-63-ns.case",
    "go-libp2p-pubsub/gs1.1.backoff.regraft.backoff-overflows-2-63-ns.case",
    "cometbft/dog.havetx.first-sender-gone.stale-route.case",
    "cometbft/flood.send.once.sends-pool-again.case",
)
"""Sixteen findings over four routers; the test of each is run on the release."""
MAX_LINES = 40
MAX_ISSUE = 60_000
"""Characters of a test: an issue of GitHub has 65,536 at most."""
MARK = re.compile(r"^(?:#|//) -- this finding -+\n", re.MULTILINE)


def own_part(text: str) -> str:
    """What of a test is about its finding."""
    return MARK.split(text)[1].strip()


def chosen(router: str, cases: list[Path]) -> list[Path]:
    """`cases`, and those of its findings that are told."""
    return sorted({*cases, *(ROUTERS / name for name in TOLD if name.startswith(f"{router}/"))})


def played(folder: Path) -> str:
    """What pytest says of a folder, without this kit."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:quidnunc", "."],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": "0", "COLUMNS": "300"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.stdout


def test_findings_in_python_fail_on_the_release_as_they_say(tmp_path: Path) -> None:
    """Each fails at its assertion, and the router says what it said to the driver, and nothing else."""
    pytest.importorskip("libp2p")
    # What a router keeps in sets may come in another order here: these do not depend on it.
    # Of a choice of the router no one output is wrong, and there is no test of it; another case is of a set.
    other = ("gs1.1.prune.unknown-topic.", "gs1.2.idontwant.cap.")
    shown = [path for path in PY if not path.name.startswith(other)]
    cases = chosen("py-libp2p", shown[3::4])
    for at, path in enumerate(cases):
        case = load(path)
        text, run = python.reproduction_of(case), recorded(case, python.setup_of)
        assert len(own_part(text).splitlines()) <= MAX_LINES, path
        imported = {n.module or "" for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)}
        assert not [name for name in imported if name.startswith("quidnunc")]
        (tmp_path / f"test_departs_{at}.py").write_text(text, encoding="utf-8")
        alike = f"    assert sorted(router.did) == {sorted(run.did)!r}\n"
        kept = [line for line in text.splitlines(True) if not line.startswith("    assert ")]
        (tmp_path / f"test_alike_{at}.py").write_text("".join([*kept, alike]), encoding="utf-8")
    said = played(tmp_path)
    failed = sorted(re.findall(r"^FAILED test_(\w+)_\d+\.py::\S+ - (\w+)", said, re.MULTILINE))
    assert failed == [("departs", "AssertionError")] * len(cases), said
    assert f"{len(cases)} failed, {len(cases)} passed" in said


MENDED = """\
handle = GossipSub.handle_graft


async def mended(self, graft, sender):
    if graft.topicID in self.mesh:
        await handle(self, graft, sender)


GossipSub.handle_graft = mended

"""


def test_a_router_that_is_mended_passes(tmp_path: Path) -> None:
    """Here it answers no GRAFT for a topic that it does not know."""
    pytest.importorskip("libp2p")
    (path,) = (path for path in PY if "unknown-topic-graft-pruned" in path.name)
    prelude, mark, own = python.reproduction_of(load(path)).partition("# -- this finding")
    (tmp_path / "test_mended.py").write_text(prelude + MENDED + mark + own, encoding="utf-8")
    assert "1 passed" in played(tmp_path)
    (tmp_path / "test_mended.py").write_text(prelude + mark + own, encoding="utf-8")
    assert "1 failed" in played(tmp_path)


@pytest.mark.parametrize(
    "name",
    ["gs1.0.rpc.payload-first.control-before-payload", "gs1.0.relay.mesh.relay-needs-a-subscriber"],
)
def test_what_comes_before_it_must_is_seen(name: str) -> None:
    """What is due by the heartbeat may come at once; a test that forgets it fails on a right router."""
    pytest.importorskip("libp2p")
    run = recorded(load(ROUTERS / "py-libp2p" / f"{name}.case"), python.setup_of)
    assert any(each.kind == "must" for each in run.assertions)
    first, then = (call.request for call in run.last)
    assert first in ("rpc", "publish") and then == "advance"


def test_the_words_of_bytes() -> None:
    rpc = wire.RPC(
        subscriptions=[wire.RPC.SubOpts(subscribe=True, topicid="a"), wire.RPC.SubOpts(topicid="b")],
        publish=[wire.Message(topic="a", data=b"m1\n\xff\xff")],
    )
    rpc.control.ihave.add(topicID="a", messageIDs=[b"\x01", b"\x02"])
    rpc.control.iwant.add(messageIDs=[b"\x03"])
    rpc.control.graft.add(topicID="a")
    rpc.control.prune.add(topicID="a", backoff=60)
    rpc.control.prune.add(topicID="b")
    rpc.control.idontwant.add(messageIDs=[b"\x04"])
    offering = rpc.control.prune.add(topicID="a", backoff=60)
    for peer in (2, 27):
        offering.peers.add(peerID=peer_id(peer))
    offering.peers.add(peerID=b"whoever")
    sent = ("subscribe a", "unsubscribe b", "message m1 a", "ihave a 01", "ihave a m2", "iwant 03", "graft a")
    reply = Reply(
        out=((7, 0, rpc.SerializeToString()),), delivered=(Delivery(topic="a", data=b"m1\n"),), closed=(7,)
    )
    prunes = ("prune a backoff=60", "prune b", "prune a backoff=60 peers=b,aa,stranger")
    reader = LineReader(lambda id: "m2" if id == b"\x02" else id.hex())
    assert [*reader.lines_in(reply)] == [
        *(f"g: {words}" for words in (*sent, *prunes, "idontwant 04")),
        "deliver m1 a",
        "close g",
    ]
    assert reader.ids["m2"] == "02"


def test_the_words_of_a_mempool() -> None:
    told = (
        mempool_pb2.Message(txs=mempool_pb2.Txs(txs=[b"t\n", b"u\n"])),
        mempool_pb2.Message(have_tx=mempool_pb2.HaveTx(tx_key=b"\x01\x02")),
        mempool_pb2.Message(reset_route=mempool_pb2.ResetRoute()),
    )
    reply = Reply(
        out=tuple((7, 0x31 if at else 0x30, each.SerializeToString()) for at, each in enumerate(told))
    )
    lines = LineReader(lambda id: {b"\x01\x02": "t"}[id]).lines_in(reply)
    assert [*lines] == ["g: tx t", "g: tx u", "g: havetx t", "g: resetroute"]


def test_bytes_in_hexadecimal() -> None:
    for data in (b"", b"\x01\x02", b"\xff" * 40, b"\x01" + b"\xff" * 40 + b"\x02"):
        written = python.hex_in_python(data)
        assert bytes.fromhex(ast.literal_eval(written) if "*" not in written else eval(written)) == data
        assert len(written) < 40


def test_what_is_no_test_says_why() -> None:
    pytest.importorskip("libp2p")
    case = load(SHARED)
    with pytest.raises(NoReproductionError, match="case of a network"):
        reproduction_of(load(NETWORK))
    with pytest.raises(NoReproductionError, match="no test can be made for a case of ours yet"):
        reproduction_of(evolve(case, against="ours"))
    with pytest.raises(NoReproductionError, match="does not depart as recorded"):
        joined = "join t2\n----\n  b: graft t2\n  a,b: subscribe t2\n\n"
        text = SHARED.read_text(encoding="utf-8")
        assert joined in text
        python.reproduction_of(parse(text.replace(joined, "")))


def test_a_finding_in_a_router_of_ones_own_is_told_without_a_test(quidnunc: Command, tmp_path: Path) -> None:
    """Mutant: the router is looked up to be started, and the command ends with an error of its own."""
    text = SHARED.read_text(encoding="utf-8").replace("against: py-libp2p 0.8.1", "against: python 1")
    path = tmp_path / "own.case"
    path.write_text(text, encoding="utf-8")
    ran = quidnunc("report", path, "--markdown")
    assert (ran.code, "without a test: it is of a router of your own" in ran.err) == (0, True)
    assert "`python 1` (gossipsub 1.2) departs" in ran.out
    assert quidnunc("report", path, "--reproduction").code == 2


def test_prose_ends_no_comment() -> None:
    told = prose('a """ b */ c \\ d\x00\n"')
    assert '"' not in told and "*/" not in told and "\\" not in told and told.isprintable()


def test_the_command_writes_the_test_alone(quidnunc: Command, tmp_path: Path) -> None:
    pytest.importorskip("libp2p")
    ran = quidnunc("report", SHARED, "--reproduction", "-o", tmp_path / "test_it.py")
    assert ran.code == 0
    assert (tmp_path / "test_it.py").read_text(encoding="utf-8") == reproduction_of(load(SHARED))
    assert quidnunc("report", NETWORK, "--reproduction").code == 2
    ran = quidnunc("report", NETWORK, "--markdown")
    assert "without a test: no test can be made for a case of a network" in ran.err
    assert "## Reproduce\n\nThe sequence above is all that it takes." in ran.out


def flipped(text: str) -> str:
    """The test with its assertions the other way round: they hold of a router that departs."""
    prelude, mark, own = re.split(r"(// -- this finding -+\n)", text)
    turned = {"must": "lacks", "mustBegin": "lacks", "mustNot": "has", "atMost": "has"}
    own, times = re.subn(
        r"r\.(must|mustBegin|mustNot|atMost)\((.+?)(, \d+)?\)$",
        lambda found: f"r.{turned[found[1]]}({found[2]})",
        own,
        flags=re.MULTILINE,
    )
    assert times, own
    return prelude + TURNED["go" if "func " in prelude else "javascript"] + mark + own


TURNED = {
    "go": """
func (r *underTest) has(line string) {
	if !strings.Contains(strings.Join(r.did, ";")+";", line+";") {
		r.t.Error(line)
	}
}

func (r *underTest) lacks(line string) {
	if strings.Contains(strings.Join(r.did, ";")+";", line+";") {
		r.t.Error(line)
	}
}
""",
    "javascript": """
Router.prototype.has = function (line) { assert.ok(this.did.includes(line)) }
Router.prototype.lacks = function (line) { assert.ok(!this.did.includes(line)) }
""",
}
"""What a test that is turned calls, by language."""


def cases_of(router: str, *, step: int, most: int | None = None) -> list[Path]:
    """Some of its committed cases. Skips where the release is not built."""
    absent = {info.name: info.reason for info in available() if not info.available}
    if router in absent:
        pytest.skip(f"{router}: {absent[router]}")
    return chosen(router, sorted((ROUTERS / router).glob("*.case"))[::step][:most])


def ran(*command: str, folder: Path) -> str:
    # As drivers are compiled, so that Go compiles nothing of a release again.
    as_built = {"GOFLAGS": "-mod=readonly -trimpath", "CGO_ENABLED": "0"}
    done = subprocess.run(command, cwd=folder, env={**os.environ, **as_built}, capture_output=True, text=True)
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("router", "protocol"),
    [(go.GO_LIBP2P, "gossipsub-1.2"), (go.GO_LIBP2P, "gossipsub-1.3"), (go.COMETBFT, "dog")],
)
def test_a_prelude_in_go_is_what_the_driver_is_made_of(router: go.GoRouter, protocol: str) -> None:
    """Needs no Go, and so fails where one of the two is changed alone."""
    imports, sources = router.sources_and_imports(protocol)
    prelude = shaken(go.without_scores(sources), "open(request{})", go.SYNTAX)
    assert len(imports) > len(go.OF_TEST) and f"type {router.type} struct" in prelude
    for name in ("hello", "answer", "actOfPeer"):
        method = f"func ({router.type[0]} *{router.type}) {name}("
        assert method in sources and method not in prelude
    assert "scoreParameters" not in prelude
    assert ("OnIncomingRPC" in prelude) == (protocol == "gossipsub-1.3")


def test_a_prelude_in_javascript_is_what_the_driver_is_made_of() -> None:
    sources = javascript.prelude("17.1.1")
    for place in (javascript.SWITCHES, *(place for place, _ in javascript.SCORES)):
        assert len(place.findall(sources)) == 1, place.pattern
    whole = shaken(sources, "await Run.of(init)", javascript.SYNTAX)
    assert "class CurrentStream" in whole and "async publish (" in sources
    assert "async publish (" not in whole


def test_a_test_is_named_by_the_rule_in_words() -> None:
    case = load(SHARED)
    assert rule_of(case).startswith("Members of a mesh are gossipsub peers that are in the topic")
    named = "_".join(title_words(case))
    assert named == "Members_of_mesh_are_gossipsub_peers_that_are_in_topic"
    long = load(ROUTERS / "go-libp2p-pubsub" / "gs1.2.idontwant.cap.counts-rpcs.case")
    assert go.title_of(long).endswith("IDONTWANTMessagesAreHeeded")


def test_a_seed_is_left_out_where_it_decides_nothing() -> None:
    pytest.importorskip("libp2p")
    case = load(SHARED)
    assert recorded(evolve(case, seed=7)).case.seed == 0


@pytest.mark.parametrize("router", IN_GO)
def test_findings_in_go_fail_on_the_release_as_they_say(router: str, tmp_path: Path) -> None:
    for name in ("go.mod", "go.sum"):
        shutil.copy(IN_GO[router] / name, tmp_path)
    for path in cases_of(router, step=2, most=4):
        text = reproduction_of(load(path))
        assert len(own_part(text).splitlines()) <= MAX_LINES and len(text) < MAX_ISSUE, path
        assert "quidnunc" not in text
        (tmp_path / "finding_test.go").write_text(text, encoding="utf-8")
        said = ran("go", "test", "-vet=off", ".", folder=tmp_path)
        assert re.search(r'^ +finding_test\.go:\d+: expected .*"', said, re.MULTILINE), said
        if "nobodyIsSent" not in own_part(text):
            (tmp_path / "finding_test.go").write_text(flipped(text), encoding="utf-8")
            assert ran("go", "test", "-vet=off", ".", folder=tmp_path).startswith("ok"), path


def test_a_release_that_is_driven_otherwise_has_no_test_in_javascript() -> None:
    assert "class OlderConnection" not in javascript.prelude("17.1.1")
    with pytest.raises(NoReproductionError, match="js-libp2p 15 and later"):
        javascript.prelude("9.1.0")


COMPARING = """\
    const { router } = r.run
    const select = router.selectPeersToPublish.bind(router)
    router.selectPeersToPublish = (topic, flood) => {
      const selected = select(topic, flood)
      for (const id of selected.tosend) {
        if (router.score.score(id) < router.opts.scoreThresholds.publishThreshold) {
          selected.tosend.delete(id)
        }
      }
      return selected
    }
"""


def test_a_router_that_asks_for_the_publish_threshold_passes(tmp_path: Path) -> None:
    """With its cache of scores as released: the mend is of one place."""
    (path,) = [p for p in cases_of("js-libp2p", step=1) if "fanout-threshold-asked-once" in p.name]
    modules = js_libp2p.release_named(js_libp2p.DEFAULT).needed() / "node_modules"
    (tmp_path / "node_modules").symlink_to(modules)
    text = reproduction_of(load(path))
    mended, times = re.subn(r"(= await Router\.of\(.*\)\n)", lambda made: made[1] + COMPARING, text)
    assert times == 1
    for name, written, passes in (("released", text, 0), ("mended", mended, 1)):
        (tmp_path / f"{name}.test.mjs").write_text(written, encoding="utf-8")
        said = ran("node", "--test", f"{name}.test.mjs", folder=tmp_path)
        assert f"pass {passes}\n" in said, said


def test_findings_in_javascript_fail_on_the_release_as_they_say(tmp_path: Path) -> None:
    without = ("choice", "cut-keeps-d-outbound", "ihave-of-own-topics-alone")
    named = [p for p in cases_of("js-libp2p", step=3) if not any(word in p.name for word in without)]
    # No test switches single additions off.
    cases = [p for p in named if not load(p).without]
    (tmp_path / "node_modules").symlink_to(
        js_libp2p.release_named(js_libp2p.DEFAULT).needed() / "node_modules"
    )
    for at, path in enumerate(cases):
        text = reproduction_of(load(path))
        assert len(own_part(text).splitlines()) <= MAX_LINES and len(text) < MAX_ISSUE, path
        (tmp_path / f"departs-{at}.test.mjs").write_text(text, encoding="utf-8")
        if "nobodyIsSent" not in own_part(text):
            (tmp_path / f"flipped-{at}.test.mjs").write_text(flipped(text), encoding="utf-8")
    files = sorted(tmp_path.glob("*.mjs"))
    said = {path.name: ran("node", "--test", path.name, folder=tmp_path) for path in files}
    assert sum("departs" in name for name in said) == len(cases) > 4
    for name, told in said.items():
        assert "# tests 1" in told or "tests 1" in told, told
        assert ("ERR_ASSERTION" in told) == name.startswith("departs"), told
        assert ("pass 1" in told) == name.startswith("flipped"), told
