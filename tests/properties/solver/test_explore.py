"""The compiled explorer beside its slow oracle: the same states, transitions, depths, traces."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.model.errors import SpecError

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")
np = pytest.importorskip("numpy", reason="numba is not installed: pip install '.[prove]'")
pytest.importorskip("numba", reason="numba is not installed: pip install '.[prove]'")

from quidnunc.properties.proofs.mesh.links import VARIANTS
from quidnunc.properties.proofs.mesh.mesh_link import BIDIRECTIONAL, LINKED, mesh_link
from quidnunc.properties.solver import emit as network_emit
from quidnunc.properties.solver.explore import ExplorationResult, StateSearch, explore
from quidnunc.properties.solver.interpret import interpreter
from quidnunc.properties.solver.rules import NetworkModel
from quidnunc.properties.solver.symmetry import all_permutations, bit_maps, certificate
from quidnunc.properties.solver.trace import MissingTrace, is_valid_trace, shortest_trace


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder of this module's own, so that what is compiled here is compiled from this tree."""
    folder = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUIDNUNC_CACHE", str(folder))
        yield folder


def counted(found: ExplorationResult) -> tuple[object, ...]:
    """What engines must agree about."""
    return found.states, found.transitions, found.depth, found.deadlocks, found.complete, found.claims


TWO_PEERS = {
    "mesh-link": (387, 1354, 9),
    "mesh-link-backoff-any": (1075, 4716, 9),
    "mesh-link-backoff": (112, 406, None),
    "mesh-link-backoff-silent": (128, 470, 3),
    "mesh-link-backoff-unsub": (935, 2810, 3),
    "mesh-link-backoff-announced": (625, 1708, 10),
    "mesh-link-backoff-waits": (136, 340, None),
}
"""States and transitions, which Spin counts too (`test_network_spin.py`), and the steps to a broken claim."""


LINKED_STEPS = {"mesh-link-backoff-announced": 6, "mesh-link-backoff-waits": 6}
"""Announcements are to be heard first."""


@pytest.mark.parametrize("name", VARIANTS)
def test_the_slow_oracle_counts(name: str) -> None:
    found = explore(mesh_link(name, peers=2, d_high=1), engine="python")
    claims = {claim.id: claim for claim in found.claims}
    assert (found.states, found.transitions, claims[BIDIRECTIONAL].trace_length) == TWO_PEERS[name]
    assert (
        found.complete
        and claims[LINKED].verdict == "proved"
        and claims[LINKED].trace_length == LINKED_STEPS.get(name, 4)
    )


def test_engines_agree_on_two_peers(cache: Path) -> None:
    network = mesh_link("mesh-link", peers=2, d_high=1)
    slow = explore(network, engine="python")
    assert counted(explore(network)) == counted(slow)
    symmetric = explore(network, symmetry=True)
    assert counted(symmetric) == counted(slow)
    assert symmetric.orbits is not None and slow.states / 2 <= symmetric.orbits < slow.states


def test_an_open_table_finds_what_bits_find(cache: Path) -> None:
    """Three peers with backoff have states of 33 bits, too many for a set of bits; Spin counts the same."""
    network = mesh_link("mesh-link-backoff", peers=3, d_high=1)
    search = StateSearch(network, symmetry=True, memory_bytes=1 << 30)
    found = search.run(None)
    assert not search.as_bits
    assert (found.states, found.transitions, found.depth) == (162_484, 1_250_172, 24)


def test_orbits_add_up_to_what_was_entered(cache: Path) -> None:
    search = StateSearch(mesh_link("mesh-link", peers=3, d_high=1), symmetry=True, memory_bytes=1 << 30)
    found = search.run(None)
    assert found.complete and found.states == 9_688_038
    # In parts, so that no copy of all the bits is made.
    parts = (search.known[at : at + (1 << 16)] for at in range(0, len(search.known), 1 << 16))
    assert sum(int(np.unpackbits(part.view(np.uint8)).sum()) for part in parts) == found.states
    assert found.transitions == 75_763_875 and found.orbits == 1_616_201


# -- the emitted function, word by word ---------------------------------------------------------------------


def z3_step(network: NetworkModel, word: int) -> dict[int, int]:
    """Number of an enabled rule -> the next word, by substitution and simplification in z3."""
    values = network.unpacked(word)
    known = [
        (
            f.symbol,
            z3.BoolVal(bool(values[f.name])) if f.width == 1 else z3.BitVecVal(values[f.name], f.width),
        )
        for f in network.fields
    ]

    def value(expression: object) -> int:
        result = z3.simplify(z3.substitute(expression, *known))
        return result.as_long() if z3.is_bv(result) else int(z3.is_true(result))

    return {
        number: network.packed(values | {name: value(e) for name, e in rule.updates.items()})
        for number, rule in enumerate(network.rules)
        if value(rule.guard)
    }


def test_random_words_step_alike_in_z3_and_in_machine_code(cache: Path) -> None:
    network = mesh_link("mesh-link-backoff", peers=3, d_high=1)
    module = network_emit.compiled_module(network, symmetry=True)
    steps = interpreter(network)
    out, fired = np.zeros(64, np.uint64), np.zeros(64, np.int64)
    draw = random.Random(7)
    enabled_in_all = 0
    for _ in range(25):
        # No reachable word need be among them: the rules are functions of all words.
        word = draw.getrandbits(network.bits)
        count = module.successors(np.uint64(word), out, fired)
        compiled = {int(fired[k]): int(out[k]) for k in range(count)}
        assert compiled == z3_step(network, word)
        assert compiled == {number: steps.word(s) for number, s in steps.enabled(steps.state(word))}
        assert int(module.noted(np.uint64(word))) == steps.noted(steps.state(word))
        enabled_in_all += count
    assert enabled_in_all > 50


def test_images_are_renamings(cache: Path) -> None:
    network = mesh_link("mesh-link-backoff", peers=3, d_high=1)
    module = network_emit.compiled_module(network, symmetry=True)
    word = network.packed({"mesh_0_2": 1, "channel_1_0": 5, "backoff_2_1": 1, "sub_1": 1})
    seen = set()
    for number, permutation in enumerate(all_permutations(network)):
        a, b, c = permutation
        moved = {f"mesh_{a}_{c}": 1, f"channel_{b}_{a}": 5, f"backoff_{c}_{b}": 1, f"sub_{b}": 1}
        image = int(module.image(np.uint64(word), number))
        assert image == network.packed(moved)
        seen.add(image)
    assert len(seen) == int(module.orbit_size(np.uint64(word))) == 6
    assert int(module.least_image(np.uint64(word))) == min(seen)
    assert all(sorted(one) == list(range(network.bits)) for one in bit_maps(network))


# -- symmetry -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS)
def test_the_rules_are_symmetric(name: str) -> None:
    found = certificate(mesh_link(name, peers=3, d_high=1))
    assert found.holds and found.queries > 60


def test_a_rule_that_prefers_a_peer_is_not_symmetric(cache: Path) -> None:
    network = mesh_link("mesh-link", peers=3, d_high=1)
    preferred = tuple(
        evolve(rule, guard=z3.And(rule.guard, network.fields[0].symbol)) if rule.name == "graft_0_1" else rule
        for rule in network.rules
    )
    crooked = evolve(network, rules=preferred)
    assert any(name.startswith("graft_") for name in certificate(crooked).broken)
    with pytest.raises(SpecError, match="not symmetric in its peers: graft_"):
        explore(crooked, symmetry=True)
    missing = evolve(network, rules=network.rules[1:])
    assert not certificate(missing).holds


# -- limits -------------------------------------------------------------------------------------------------


def test_the_memory_limit_leaves_claims_undetermined(cache: Path) -> None:
    network = mesh_link("mesh-link-backoff", peers=3, d_high=1)
    found = explore(network, symmetry=True, memory_bytes=600_000)
    assert not found.complete and found.memory_bytes <= 600_000
    assert 0 < found.states < 162_484 and 0 < found.depth < 24
    assert {claim.id: claim.verdict for claim in found.claims}[BIDIRECTIONAL] == "undetermined"
    slow = explore(network, engine="python", memory_bytes=400_000)
    assert not slow.complete and slow.states >= 1000


def test_what_was_compiled_is_found_again(cache: Path) -> None:
    network = mesh_link("mesh-link", peers=2, d_high=1)
    module = network_emit.compiled_module(network, symmetry=False)
    assert network_emit.compiled_module(network, symmetry=False) is module
    (path,) = cache.glob(f"{module.__name__}.py")
    assert list(cache.glob(f"__pycache__/{module.__name__}.successors-*.nbi"))
    # A file with another text under the same name is not trusted.
    path.write_text("raise SystemExit", encoding="utf-8")
    assert network_emit._written(module.__name__, "x = 1\n") == path
    assert path.read_text(encoding="utf-8") == "x = 1\n"


def test_a_folder_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("QUIDNUNC_CACHE", str(blocked))
    path = network_emit._written("somewhere", "x = 1\n")
    assert path.read_text(encoding="utf-8") == "x = 1\n" and blocked not in path.parents


# -- traces -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", [BIDIRECTIONAL, LINKED])
def test_engines_take_the_same_shortest_trace(cache: Path, claim: str) -> None:
    network = mesh_link("mesh-link", peers=2, d_high=1)
    trace = shortest_trace(network, claim)
    assert trace == shortest_trace(network, claim, engine="python")
    assert len(trace.rules) == (9 if claim == BIDIRECTIONAL else 4)
    assert is_valid_trace(trace)
    assert not is_valid_trace(evolve(trace, words=(*trace.words[:-1], 0)))


def test_a_trace_reads_as_a_table() -> None:
    network = mesh_link("mesh-link-backoff-silent", peers=2, d_high=1)
    trace = shortest_trace(network, BIDIRECTIONAL, engine="python")
    assert trace.header() == ("step", "rule", "clause", "A", "B", "A>B", "B>A")
    assert [row[1] for row in trace.rows()] == [
        "the start",
        "A joins",
        "A grafts B",
        "B ignores the GRAFT of A",
    ]
    assert trace.rows()[-1][3:] == ("in, holds B", "out", "-", "-")
    for one, other in pairwise(trace.words):
        assert one != other


def test_what_is_proved_has_no_trace() -> None:
    network = mesh_link("mesh-link-backoff", peers=2, d_high=1)
    with pytest.raises(MissingTrace, match="no reachable state breaks it"):
        shortest_trace(network, BIDIRECTIONAL, engine="python")
    with pytest.raises(KeyError):
        shortest_trace(network, "mesh-link.nosuch", engine="python")
