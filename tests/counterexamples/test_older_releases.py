"""Defects that release notes call fixed: in the last release that has one, and gone in the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from quidnunc.impl.drivers.py_libp2p.builds import release_named
from quidnunc.properties.cases.case import router_of
from quidnunc.properties.cases.file import load
from quidnunc.properties.replays.replay import replay
from quidnunc.properties.search.worker import opener_of

FOLDER = Path(__file__).parents[2] / "counterexamples" / "routers" / "py-libp2p" / "older"

FIXED_IN = {
    "gs1.0.fanout.expire.fanout-never-expires": "0.2.9",
    "pubsub.rpc.any-combination.ihave-ids-read-as-literals": "0.3.0",
    "pubsub.id.supplied.ids-sent-as-text": "0.8.0",
    "pubsub.id.supplied.ids-sent-as-hex": "0.8.0",
}
"""By case, the first release without it; the case itself names the last one that has it. (0.7.0 has text no
more, and hexadecimal digits instead.)"""


def test_every_case_of_an_older_release_is_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.case")} == set(FIXED_IN)


def test_packages_of_whoever_starts_it_are_not_those_of_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = load(FOLDER / "gs1.0.fanout.expire.fanout-never-expires.case")
    release = release_named(router_of(case).partition("@")[2])
    if release.record is None:
        pytest.skip(f"{release.name} is not built here; to build it: {release.command}")
    (tmp_path / "libp2p.py").write_text("raise ImportError('another release')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert replay(case, opener_of).outcome == "same"


@pytest.mark.parametrize("name", sorted(FIXED_IN))
def test_the_defect_is_found_before_its_fix_and_gone_after(name: str) -> None:
    case = load(FOLDER / f"{name}.case")
    before, after = release_named(router_of(case).partition("@")[2]), release_named(FIXED_IN[name])
    for release in (before, after):
        if release.record is None:
            pytest.skip(f"{release.name} is not built here; to build it: {release.command}")
    assert replay(case, opener_of).outcome == "same"
    assert replay(case, opener_of, against=after.name).outcome == "fixed"
