"""The sentence that the last step of a run breaks.

It forbids what is seen there, or demands what is missing. `runs.blamed_clauses` says what the whole run is
about, by which a finding without an explanation is filed: the term of a score, or a cap. The step often
breaks another sentence: one on a threshold, whichever term was counted wrongly before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from quidnunc.model.events import Sent
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import HaveTx, IDontWant, Peer, ResetRoute
from quidnunc.model.rules import Protocol
from quidnunc.properties.explain.runs import blamed_beside, blamed_clauses, states_before
from quidnunc.properties.judge.oracle import Departure, is_left_out
from quidnunc.properties.judge.play import Moment

DEMANDING = ("pm/receive.full-accepted", "pm/send.full-unsupported")
"""What a run can be about that itself demands an output. The others say why it is due all the same."""
TO_WHOM_IS_NOT_SAID = "flood/send.once"
"""It demands that a transaction is sent, and not to whom: that is for what a run tells of routes."""
NEWER_PEERS = "gs1.2/idontwant.feature-peers"


def broken_clauses(
    moments: Sequence[Moment], protocol: Protocol, parameters: Any, filed: str = ""
) -> tuple[str, ...]:
    """The clause that each departure of the last moment breaks. `filed` is that of its explanation."""
    told = blamed_clauses(moments, protocol, parameters)
    of_scores = blamed_beside(moments, protocol, parameters)
    departures = moments[-1].judged.departures
    older = _older_peers(moments, protocol, parameters)
    return tuple(
        _broken(d, clause, filed, of_scores, older) for d, clause in zip(departures, told, strict=True)
    )


def _broken(d: Departure, told: str, filed: str, of_scores: Collection[str], older: Collection[Peer]) -> str:
    if d.clause == filed or told in of_scores:
        return d.clause
    if is_left_out(d):
        # What is due has the clause that demands it.
        return told if told in DEMANDING or d.clause == TO_WHOM_IS_NOT_SAID else d.clause
    match d.observed:
        case Sent(peer, IDontWant()) if peer in older:
            return NEWER_PEERS
        case Sent(_, HaveTx() | ResetRoute()) if d.kind == "unexpected":
            return d.clause
    return told


def _older_peers(moments: Sequence[Moment], protocol: Protocol, parameters: Any) -> frozenset[Peer]:
    """Peers whose streams know no IDONTWANT."""
    last = states_before(moments, protocol, parameters)[-1]
    known = last.peers.items() if isinstance(last, Router) else ()
    return frozenset(peer for peer, neighbour in known if not neighbour.knows_idontwant)
