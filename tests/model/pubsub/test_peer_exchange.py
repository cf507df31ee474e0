"""Peer exchange: who may be offered, and who must, may or must not be dialled."""

from __future__ import annotations

from typing import Any

from quidnunc.model.events import Advance, Dialled, Join, Score
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_0, GOSSIPSUB_1_1
from quidnunc.model.rpc import Prune
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from tests.helpers.pubsub_run import After, T, after, grafted, of, peers

ON = {"prune_peers": 2}


def offered(
    score: int = 5, sender: int = 1, records: str = "signed", count: int = 2, **changes: Any
) -> After:
    named = tuple(range(20, 20 + count))
    base = [Join(T), *peers(1, 2), grafted(1), Score((sender,), score)]
    part = Prune(T, 5, named, records)  # type: ignore[arg-type]
    return after(base, of(sender, part), protocol=GOSSIPSUB_1_1, **{**ON, **changes})


def dials(end: After) -> tuple[set[int], set[int]]:
    """(must, may)."""
    return (
        {o.peer for o in end.must if isinstance(o, Dialled)},
        {o.peer for o in end.may if isinstance(o, Dialled)},
    )


def test_whom_a_trusted_member_names_is_dialled() -> None:
    assert dials(offered()) == ({20, 21}, set())
    # Of more than it takes the text does not say which.
    assert dials(offered(count=4)) == (set(), {20, 21, 22, 23})
    assert dials(offered(prune_peers=0)) == (set(), set())


def test_at_the_threshold_it_is_free_and_below_it_nothing() -> None:
    for score, expected in ((6, ({20, 21}, set())), (5, (set(), {20, 21})), (4, (set(), set()))):
        assert dials(offered(score, accept_px_threshold=5.0)) == expected
    assert dials(offered(-1)) == (set(), set())


def test_records() -> None:
    assert dials(offered(records="")) == (set(), {20, 21})
    assert dials(offered(records="forged")) == dials(offered(records="foreign")) == (set(), set())


def test_who_is_no_member_may_be_heeded() -> None:
    assert dials(offered(sender=2)) == (set(), {20, 21})


def test_the_mesh_is_left_all_the_same() -> None:
    assert offered(-1).mesh() == offered().mesh() == set()


def pruned(scores: dict[int, int], **changes: Any) -> dict[int, Prune]:
    base = [Join(T), *peers(*range(1, 7), outbound=True), grafted(*range(1, 7))]
    set_scores = [Score((p,), s) for p, s in scores.items()]
    end = after(base, *set_scores, Advance(1000), **{**ON, **changes})
    return {peer: parts[0] for peer, parts in end.due(Prune).items()}


def test_a_prune_may_list_the_topic_but_for_the_pruned_and_the_negative() -> None:
    found = pruned({1: -1, 2: 3})
    assert len(found) >= 2
    assert found[1].peers == () and found[1].records == ""
    for peer, prune in found.items():
        if peer != 1:
            assert set(prune.peers) == set(range(2, 7)) - {peer} and prune.records == "any"


def test_switched_off_and_before_v1_1_nobody_is_listed() -> None:
    assert {p.peers for p in pruned({}, prune_peers=0).values()} == {()}
    assert {p.peers for p in pruned({}, protocol=GOSSIPSUB_1_0).values()} == {()}


def test_a_score_that_its_prune_changes_may_count_as_it_was_or_as_it_is() -> None:
    topic = TopicScoreParameters(
        topic=T,
        mesh_message_deliveries_weight=-1.0,
        mesh_message_deliveries_threshold=2.0,
        mesh_message_deliveries_activation_ms=1000,
    )
    base = [Join(T), *peers(1, outbound=True), grafted(1), Advance(2000)]
    part = Prune(T, 5, (20, 21), "signed")
    told = {"prune_peers": 2, "protocol": GOSSIPSUB_1_1, "scores": ScoreParameters(topics=(topic,))}
    # Its deficit is 4 in the mesh; outside, between 0 and 4: P3b may count it again.
    for score, expected in ((3, (set(), {20, 21})), (9, ({20, 21}, set())), (-1, (set(), set()))):
        assert dials(after(base, Score((1,), score), of(1, part), **told)) == expected
