"""Two choices of one step that show alike: which of them took whom is found, or it is said to be unknown.

Opportunistic grafting comes after the mesh is filled to 4, and only where the median of those four is poor
(below 5); then it takes everyone with a better score. Who grafts all at once has filled with the poor ones.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.model.events import MESHSUB_1_1, Advance, Connect, Event, Join, Output, Receive, Score, Sent
from quidnunc.model.parameters import Parameters
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_1
from quidnunc.model.rpc import Graft, Prune, Subscribe
from quidnunc.model.score_parameters import ScoreParameters
from quidnunc.properties.judge.oracle import EventJudgement, Oracle

T = "t1"
PARAMETERS = Parameters(
    d=4, d_low=4, d_high=30, d_out=0, scores=ScoreParameters(), opportunistic_graft_threshold=5
)


def all_grafted(*scores: int, backed_off: bool = False) -> EventJudgement:
    """The heartbeat in which the router grafts all peers. None must be of those that were backed off."""
    oracle = Oracle(GOSSIPSUB_1_1, PARAMETERS)
    peers = dict(enumerate(scores, 1))
    before: list[tuple[Event, tuple[Output, ...]]] = [
        (Join(T), ()),
        *((Connect((p,), MESHSUB_1_1), (Sent(p, Subscribe(T)),)) for p in peers),
        *((Score((p,), score), ()) for p, score in peers.items()),
        *((Receive((p,), (Subscribe(T),)), ()) for p in peers),
    ]
    if backed_off:
        before += [
            *((Receive((p,), (Prune(T, 1),)), ()) for p in peers),
            (Advance(500), ()),
            (Advance(500), ()),
        ]
    for event, said in before:
        assert oracle.judge(event, said).departures == (), event
    return oracle.judge(Advance(500), [Sent(p, Graft(T)) for p in peers])


@pytest.mark.parametrize("better", [7, 8, 16])
def test_the_last_of_many_splits_is_found(better: int) -> None:
    """4 of 11, 12 and 20. Mutant: the first 64 are tried, and what they leave over is a departure."""
    found = all_grafted(*[6] * better, 0, 0, 0, 0)
    assert (found.departures, found.blurred) == ((), False)


def test_one_that_took_less_than_it_could_is_found() -> None:
    """Of two peers the lower median is that of the poor one; of three or four it is not. Mutant: the first 64
    that are tried are fours, and what they leave over is a departure."""
    found = all_grafted(*[6] * 10, 0, backed_off=True)
    assert (found.departures, found.blurred) == ((), False)


def test_one_that_could_have_taken_all_is_found_to_have_left_some() -> None:
    """Two are grafted: one may fill the mesh, and the other comes opportunistically, as the median of the two
    members is poor then. Had both filled it, it would have had D_low members and lacked an outbound one.
    Mutant: a choice that can account for all that shows is never tried with less."""
    oracle = Oracle(GOSSIPSUB_1_1, evolve(PARAMETERS, d_low=3, d_out=1))
    met: list[tuple[Event, tuple[Output, ...]]] = [(Join(T), ())]
    for peer, score in enumerate((7, 7, 0), 1):
        met += [(Connect((peer,), MESHSUB_1_1), (Sent(peer, Subscribe(T)),)), (Score((peer,), score), ())]
        met.append((Receive((peer,), (Subscribe(T), Graft(T))), ()))
    met += [(Receive((peer,), (Prune(T, 1),)), ()) for peer in (2, 3)]
    met += [(Advance(500), ()), (Advance(1000), ())]
    met.append((Connect((4,), MESHSUB_1_1, outbound=True), (Sent(4, Subscribe(T)),)))
    met.append((Receive((4,), (Subscribe(T),)), ()))
    for event, said in met:
        assert oracle.judge(event, said).departures == (), event
    found = oracle.judge(Advance(1000), [Sent(2, Graft(T)), Sent(3, Graft(T))])
    assert (found.departures, found.blurred) == ((), False)


def test_what_no_split_accounts_for_departs() -> None:
    found = all_grafted(*[6] * 7, 0, 0, 0, 0, -1)
    assert [(d.clause, d.observed) for d in found.departures] == [
        ("gs1.1/threshold.negative-score", Sent(12, Graft(T)))
    ]


@pytest.mark.parametrize("peers", [7, 13, 20])
def test_too_many_that_are_all_alike_depart(peers: int) -> None:
    """Mutant: who can be exchanged counts as another split, of which there are too many to know."""
    found = all_grafted(*[6] * peers)
    assert (len(found.departures), found.blurred) == (peers - 4, False)


def test_too_many_splits_to_know_end_the_run() -> None:
    """No two peers are alike, and the last one must not be grafted: none of the 10626 ways to fill accounts
    for it, which is not known before all are tried. Mutant: what was not tried is told as a departure."""
    found = all_grafted(*range(40, 20, -1), 4, 3, 2, 1, -1)
    assert (found.departures, found.blurred) == ((), True)
