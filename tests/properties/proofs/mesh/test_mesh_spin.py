"""The hand-written Promela model counts what the rules in z3 count."""

from __future__ import annotations

import pytest

from quidnunc.properties.proofs.mesh.links import VARIANTS
from tests.helpers.spin import witness as network_spin
from tests.helpers.spin.witness import SpinError, count, defines, parsed_report

needs_spin = pytest.mark.skipif(
    network_spin.missing() is not None, reason=network_spin.missing() or "spin is there"
)

REPORT = """
State-vector 20 byte, depth reached 196, errors: 0
      387 states, stored
     1090 states, matched
     1477 transitions (= stored+matched)
        0 atomic steps
"""


@needs_spin
@pytest.mark.parametrize("name", [name for name, variant in VARIANTS.items() if not variant.announced])
def test_spin_counts_what_the_rules_reach(name: str) -> None:
    pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")
    from quidnunc.properties.proofs.mesh.mesh_link import mesh_link
    from quidnunc.properties.solver.explore import explore

    ours = explore(mesh_link(name, peers=2, d_high=1), engine="python")
    spin = count(name, peers=2, d_high=1, hash_bits=12, optimised=False)
    assert spin.complete
    assert (spin.states, spin.transitions) == (ours.states, ours.transitions)


@needs_spin
def test_spin_counts_three_peers_with_backoff() -> None:
    """The numbers of `test_network_explore.py`."""
    spin = count("mesh-link-backoff", peers=3, d_high=1, optimised=False)
    assert (spin.states, spin.transitions) == (162_484, 1_250_172)


def test_reports_are_read() -> None:
    run = parsed_report(REPORT, 1.5, 0.5, 1024)
    assert (run.states, run.transitions, run.complete) == (387, 1476, True)
    assert not parsed_report(REPORT + "error: max search depth too small\n", 1.5, 0.5, 1024).complete
    with pytest.raises(SpinError, match="no counts: syntax error"):
        parsed_report("syntax error", 0, 0, 0)


def test_what_the_model_has_not_is_refused() -> None:
    assert defines("mesh-link-backoff-any", peers=3, d_high=2) == [
        "-DN=3",
        "-DD_HIGH=2",
        "-DBACKOFF",
        "-DANY",
    ]
    with pytest.raises(SpinError, match="no join announcements"):
        defines("mesh-link-backoff-waits", peers=2, d_high=1)
    with pytest.raises(SpinError, match="2 or 3 peers, not 4"):
        defines("mesh-link", peers=4, d_high=1)


def test_a_program_that_fails_is_told() -> None:
    with pytest.raises(SpinError, match="failed with 3: so it is"):
        network_spin._run(["sh", "-c", "echo so it is; exit 3"], ".", 30)
    with pytest.raises(SpinError, match="could not be run"):
        network_spin._run(["no-such-program-here"], ".", 30)


def test_what_is_absent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert network_spin.missing() == "spin and gcc not installed (Debian packages spin and gcc)"
