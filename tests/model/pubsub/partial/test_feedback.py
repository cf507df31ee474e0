"""What the application says of parts, in the score: what an invalid one costs is open in the JVM design."""

from __future__ import annotations

import pytest

from quidnunc.model.events import Advance, Feedback, Score, Sent
from quidnunc.model.pubsub.protocols import PARTIAL_JVM
from quidnunc.model.rpc import Prune
from quidnunc.model.score_parameters import ScoreParameters
from tests.helpers.pubsub_run import T
from tests.model.pubsub.partial.test_metadata import joined, peer, run

SQUARED = ScoreParameters(behaviour_penalty_weight=-1.0)


PRUNED = (Sent(1, Prune(T, backoff_s=60)),)


@pytest.mark.parametrize(
    ("parts", "score", "must", "may"),
    [
        # One count or ten: the penalty is between 1 and 100.
        (1, 0, True, True),
        (1, 1, False, True),
        (1, 99, False, True),
        (1, 100, False, False),
        # Between 2 and 20: from 4 to 400.
        (2, 3, True, True),
        (2, 4, False, True),
        (2, 400, False, False),
    ],
)
def test_an_invalid_part_costs_from_one_count_to_ten(parts: int, score: int, must: bool, may: bool) -> None:
    """Mutant: it costs one count, or as little as none."""
    told = (*[Feedback(T, 1, "invalid")] * parts, Score((1,), score), Advance(500))
    kept, pruned = (
        run(PARTIAL_JVM, joined(), *peer(1), *told, scores=SQUARED, seen=seen) for seen in ((), PRUNED)
    )
    assert (1 in kept.due(Prune), 1 in pruned.due(Prune)) == (must, may)
