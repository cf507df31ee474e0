"""Peer exchange of our router: whom it names, whom it dials, and that its planted departures differ."""

from __future__ import annotations

from typing import Any

import pytest

from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutants.peer_exchange import PX_MUTANTS
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.keys import peer_id, peer_of
from quidnunc.impl.wire.signed_records import record_of
from quidnunc.model.parameters import Parameters

SMALL: dict[str, Any] = {"d": 3, "d_low": 2, "d_high": 4, "d_score": 2, "d_out": 0}


def crowded(scores: dict[int, int], *, mutant: str = "", **changes: Any) -> dict[int, set[int]]:
    """Six members graft themselves; (who is pruned) -> (whom it is told of)."""
    r = GossipsubRouter(Parameters(**{**SMALL, "prune_peers": 16, **changes}))
    plant(r, mutant)
    r.join("t")
    for peer in range(1, 7):
        r.connect(peer, "/meshsub/1.1.0", outbound=True)
        r.core.enter(peer, "t")
        r.mesh.admit(peer, "t")
    r.core.scores.update(scores)
    r.take()
    r.advance(1000)
    told: dict[int, set[int]] = {}
    for peer, frame in r.take().frames:
        rpc = wire.RPC.FromString(frame[_prefix(frame) :])
        for prune in rpc.control.prune:
            told[peer] = {peer_of(each.peerID) or -1 for each in prune.peers}
    return told


def _prefix(frame: bytes) -> int:
    return next(at for at, byte in enumerate(frame) if byte < 0x80) + 1


def plant(r: GossipsubRouter, mutant: str) -> None:
    for each in PX_MUTANTS.values():
        if each.name == mutant:
            each.apply(r)


def dialled(kind: str = "signed", *, score: int = 5, mutant: str = "", **changes: Any) -> tuple[int, ...]:
    """A member with that score prunes us and names 20 to 23 with such records."""
    r = GossipsubRouter(Parameters(**{"prune_peers": 3, **changes}))
    plant(r, mutant)
    r.join("t")
    r.connect(1, "/meshsub/1.1.0", outbound=True)
    r.connect(20, "/meshsub/1.1.0", outbound=True)
    r.mesh.admit(1, "t")
    r.core.scores[1] = score
    control = wire.ControlMessage()
    prune = control.prune.add(topicID="t")
    for peer in (20, 21, 22, 23):
        record = record_of(peer, kind) if kind else None  # type: ignore[arg-type]
        prune.peers.add(peerID=peer_id(peer), signedPeerRecord=record)
    r.take()
    r.read_prunes(1, control)
    return r.take().dials


def test_who_is_cut_is_told_of_others() -> None:
    told = crowded({})
    assert len(told) == 3
    for peer, others in told.items():
        assert others == set(range(1, 7)) - {peer}
    assert all(len(others) == 2 for others in crowded({}, prune_peers=2).values())
    assert set(map(frozenset, crowded({}, prune_peers=0).values())) == {frozenset()}


def test_negative_peers_are_neither_told_nor_named() -> None:
    told = crowded({1: -1, 2: 3, 3: 3})
    assert told[1] == set()
    assert all(1 not in others for others in told.values())


def test_who_is_offered_soundly_is_dialled_up_to_the_limit() -> None:
    assert dialled() == (21, 22)
    assert dialled(prune_peers=16) == (21, 22, 23)
    assert dialled(prune_peers=0) == ()
    assert dialled("") == dialled("forged") == dialled("foreign") == ()


def test_only_trusted_peers_are_heeded() -> None:
    assert dialled(score=0) == (21, 22)
    assert dialled(score=-1) == ()
    assert dialled(score=4, accept_px_threshold=5.0) == ()
    assert dialled(score=5, accept_px_threshold=5.0) == (21, 22)


@pytest.mark.parametrize("mutant", sorted(PX_MUTANTS))
def test_each_planted_departure_differs(mutant: str) -> None:
    cuts = ({1: -1, 2: 3, 3: 3}, {})
    offers = ({}, {"score": -1}, {"score": 4, "accept_px_threshold": 5.0}, {"kind": "forged"})
    assert any(crowded(s, mutant=mutant) != crowded(s) for s in cuts) or any(
        dialled(**o, mutant=mutant) != dialled(**o)
        for o in offers  # type: ignore[arg-type]
    )
