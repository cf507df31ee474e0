"""The peer score. gossipsub v1.1, "Peer Scoring": for now the application-specific term alone."""

from __future__ import annotations

from quidnunc.model.router import Router
from quidnunc.model.rpc import Peer
from quidnunc.model.rules import rule


@rule("gs1.1/score.application")
def application(r: Router, peer: Peer) -> int:
    """P5, with weight 1."""
    return r.scores.get(peer, 0)
