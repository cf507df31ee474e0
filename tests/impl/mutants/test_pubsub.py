"""Every planted departure changes what is seen from outside, and nothing else of the router knows of it."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

import pytest

from quidnunc.impl.gossipsub.core import FEATURES
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutant import patch
from quidnunc.impl.mutants.partial import PARTIAL_MUTANTS
from quidnunc.impl.mutants.peer_exchange import PX_MUTANTS
from quidnunc.impl.mutants.pubsub import MUTANTS
from quidnunc.impl.mutants.scores import SCORE_MUTANTS
from quidnunc.impl.ours.pubsub import open_ours
from quidnunc.impl.seam import AdapterError, Config
from quidnunc.model.parameters import Parameters
from quidnunc.model.versions import VERSIONS
from tests.helpers.neighbourhood import walk

SIGNED: dict[str, Any] = {}
UNSIGNED: dict[str, Any] = {"signature_policy": "StrictNoSign", "message_id": "content"}
WORLDS: tuple[dict[str, Any], ...] = (
    {**SIGNED, "explicit_peers": frozenset({2, 5}), "gossip_factor": 0.6},
    {**SIGNED, "validation": "manual"},
    {**SIGNED, "flood_publish": True, "explicit_peers": frozenset({3})},
    {**SIGNED, "max_message_bytes": 100},
    UNSIGNED,
)
SEEDS = 20
_plain: dict[tuple[str, int, int], list[object]] = {}


def plain(protocol: str, world: int, seed: int) -> list[object]:
    key = (protocol, world, seed)
    if key not in _plain:
        _plain[key] = walk(seed, protocol=protocol, **WORLDS[world])
    return _plain[key]


OF_IDONTWANT = ("idontwant-cap-on-rpcs", "idontwant-for-ever")
"""Who needs many IDONTWANTs in one RPC, or one of long ago: their killing cases show them."""
ELSEWHERE = frozenset((*SCORE_MUTANTS, *PX_MUTANTS, *PARTIAL_MUTANTS, *OF_IDONTWANT))
"""Who needs score parameters or offers to show (tests/impl/mutants/test_scores.py, test_gossipsub_px.py), or
neighbours that know of extensions and parts: there are none in these walks."""


@pytest.mark.parametrize("name", sorted(set(MUTANTS) - ELSEWHERE))
def test_a_mutant_is_seen_from_outside(name: str) -> None:
    protocol = MUTANTS[name].protocol
    for seed in range(SEEDS):
        for world, changes in enumerate(WORLDS):
            try:
                seen = walk(seed, protocol=protocol, mutant=name, **changes)
            except AssertionError:
                return  # It crashed, which is a way to be seen.
            if seen != plain(protocol, world, seed):
                return
    pytest.fail(f"{name} did what the router does in {SEEDS * len(WORLDS)} walks")


def test_names_and_clauses() -> None:
    assert len(MUTANTS) >= 22
    known = {
        clause["id"]
        for each in resources.files("quidnunc.model").joinpath("clauses").iterdir()
        if each.name.endswith(".toml")
        for clause in tomllib.loads(each.read_text("utf-8"))["clause"]
    }
    for name, mutant in MUTANTS.items():
        assert mutant.name == name and name.replace("-", "").isalnum() and name.islower()
        assert mutant.summary.endswith(".")
        assert mutant.protocol in FEATURES
        assert mutant.clause in known, f"{name}: no clause {mutant.clause}"


@pytest.mark.parametrize("protocol", FEATURES)
def test_each_can_be_planted_from_its_protocol_on(protocol: str) -> None:
    for name, mutant in MUTANTS.items():
        config = Config(protocol=protocol, parameters=Parameters())
        if mutant.protocol in VERSIONS[protocol].lineage:
            assert open_ours(config, name).hello.name == f"ours:{name}"
        else:
            with pytest.raises(AdapterError, match=f"ours:{name} differs from {mutant.protocol} on"):
                open_ours(config, name)


def test_a_seam_that_is_gone_is_noticed() -> None:
    with pytest.raises(AttributeError, match="Router has no method 'no_such_seam' to replace"):
        patch(GossipsubRouter(Parameters()), "no_such_seam", lambda: None)


def test_a_mutant_edits_its_own_kind_alone() -> None:
    with pytest.raises(TypeError, match="mutant echo edits a GossipsubRouter, not a dict"):
        MUTANTS["echo"].apply({})


def test_an_unknown_mutant() -> None:
    with pytest.raises(AdapterError, match="no pubsub mutant 'x'; .quidnunc routers --all. lists them"):
        open_ours(Config(parameters=Parameters()), "x")


def test_walks_repeat() -> None:
    assert walk(3, protocol="gossipsub-1.2", steps=60) == walk(3, protocol="gossipsub-1.2", steps=60)
