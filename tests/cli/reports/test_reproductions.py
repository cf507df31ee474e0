"""A finding as a test of the router's own: it needs nothing of the kit, and fails on the release."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.impl.seam import Delivery, Reply
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.properties.cases.file import load, parse
from quidnunc.reports.reproductions import python
from quidnunc.reports.reproductions.catalogue import reproduction_of
from quidnunc.reports.reproductions.recorded import NoReproductionError, recorded, words_in
from quidnunc.reports.reproductions.wording import prose
from tests.conftest import Command

ROUTERS = Path(__file__).parents[3] / "counterexamples" / "routers"
PY = sorted((ROUTERS / "py-libp2p").glob("*.case"))
SHARED = ROUTERS / "py-libp2p" / "gs1.0.mesh.members.control-lists-shared.case"
NETWORK = ROUTERS.parent / "networks" / "mesh.graft-is-symmetric.gossipsub-1.0.case"
MAX_LINES = 40
MARK = re.compile(r"^(?:#|//) -- this finding -+\n", re.MULTILINE)


def own_part(text: str) -> str:
    """What of a test is about its finding."""
    return MARK.split(text)[1].strip()


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
    cases = PY[::4]
    for at, path in enumerate(cases):
        case = load(path)
        text, run = python.reproduction_of(case), recorded(case, python.setup_of)
        assert len(own_part(text).splitlines()) <= MAX_LINES, path
        imported = {n.module or "" for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)}
        assert not [name for name in imported if name.startswith("quidnunc")]
        (tmp_path / f"test_departs_{at}.py").write_text(text, encoding="utf-8")
        alike = f"    assert sorted(router.said, key=str) == {sorted(run.said, key=str)!r}\n"
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
    sent = ("subscribe a", "unsubscribe b", "message a m1", "ihave a 01", "ihave a 02", "iwant 03", "graft a")
    reply = Reply(
        out=((7, 0, rpc.SerializeToString()),), delivered=(Delivery(topic="a", data=b"m1\n"),), closed=(7,)
    )
    assert [*words_in(reply)] == [
        *((7, words) for words in (*sent, "prune a backoff=60", "prune b", "idontwant 04")),
        (None, "deliver a m1"),
        (None, "close 7"),
    ]


def test_bytes_in_hexadecimal() -> None:
    for data in (b"", b"\x01\x02", b"\xff" * 40, b"\x01" + b"\xff" * 40 + b"\x02"):
        written = python.in_hex(data)
        assert bytes.fromhex(ast.literal_eval(written) if "*" not in written else eval(written)) == data
        assert len(written) < 40


def test_what_is_no_test_says_why() -> None:
    pytest.importorskip("libp2p")
    case = load(SHARED)
    with pytest.raises(NoReproductionError, match="case of a network"):
        reproduction_of(load(NETWORK))
    with pytest.raises(NoReproductionError, match="case of ours is not told"):
        reproduction_of(evolve(case, against="ours"))
    with pytest.raises(NoReproductionError, match="does not depart as recorded"):
        python.reproduction_of(parse(SHARED.read_text(encoding="utf-8").replace("join t2\n", "")))


def test_prose_ends_no_comment() -> None:
    told = prose('a """ b */ c \\ d\x00\n"')
    assert '"' not in told and "*/" not in told and "\\" not in told and told.isprintable()


def test_the_command_writes_the_test_alone(quidnunc: Command, tmp_path: Path) -> None:
    pytest.importorskip("libp2p")
    ran = quidnunc("report", SHARED, "--reproduction", "-o", tmp_path / "test_it.py")
    assert ran.code == 0
    assert (tmp_path / "test_it.py").read_text(encoding="utf-8") == reproduction_of(load(SHARED))
    assert quidnunc("report", NETWORK, "--reproduction").code == 2
    assert "without a test: a case of a network" in quidnunc("report", NETWORK, "--markdown").err
