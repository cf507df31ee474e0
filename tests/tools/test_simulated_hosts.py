"""Findings in go-libp2p-pubsub on hosts of go-libp2p that are no fakes, where these are compiled here."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from quidnunc.impl.drivers.go_libp2p import builds
from tests.conftest import Command
from tools import simulated_hosts

ROOT = Path(__file__).parents[2]
CASES = ROOT / "counterexamples/routers" / builds.NAME
needs_build = pytest.mark.skipif(
    simulated_hosts.release().record is None,
    reason="the simulated hosts are not compiled here; to compile them: python -m tools.simulated_hosts",
)


def test_it_is_the_driver_of_the_newest_release_but_for_its_host() -> None:
    names = [path.name for path in simulated_hosts.files()]
    assert names.count("host.go") == 1
    assert {*builds.COMMON} <= {*names}
    assert f"/{builds.NAME} v{builds.DEFAULT}\n" in (simulated_hosts.FOLDER / "go.mod").read_text()


def test_each_edit_meets_the_driver_once() -> None:
    edits = tomllib.loads((simulated_hosts.FOLDER / "edits.toml").read_text())["edit"]
    for edit in edits:
        text = (builds.FOLDER / "source" / edit["file"]).read_text()
        assert text.count(edit["old"]) == 1, edit


@needs_build
@pytest.mark.parametrize(
    "name",
    ["pubsub.signing.reject.flawed-overlooks-no-seqno", "gs1.0.relay.mesh.relay-needs-a-subscriber"],
)
def test_a_finding_owes_nothing_to_the_fake_host(name: str, quidnunc: Command) -> None:
    said = quidnunc("replay", CASES / f"{name}.case", "--against", simulated_hosts.built(print))
    assert "1 same" in said.out


@needs_build
def test_a_case_that_holds_holds_there_too(quidnunc: Command) -> None:
    case = ROOT / "properties/suite/cases/accept.gossipsub-1.1.case"
    said = quidnunc("replay", case, "--against", simulated_hosts.built(print))
    assert "1 holds" in said.out
