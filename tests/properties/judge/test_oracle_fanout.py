"""What an oracle makes of a fanout whose members have not all shown."""

from __future__ import annotations

import pytest

from quidnunc.model.events import Connect, Delivered, Output, Publish, Sent
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import ROUTER, Message, Subscribe, Unsubscribe
from quidnunc.properties.judge.play import play
from tests.helpers.pubsub_run import T, of
from tests.helpers.puppet import Puppet

SPEC = protocol_named("gossipsub-1.2")
GIVEN = Parameters(flood_publish=False, explicit_peers=frozenset({2}))
FIRST, NEXT = (Message(name, T, ROUTER) for name in ("m1", "m2"))


@pytest.mark.parametrize(
    ("to", "departs"),
    [((2,), False), ((2, 3, 4), False), ((2, 3), True)],
)
def test_a_fanout_that_may_be_empty_may_be_filled(to: tuple[int, ...], departs: bool) -> None:
    """An explicit peer gets everything, so that it does not show whether it is in the fanout: once all others
    have left, the fanout is that peer, or empty and filled again.

    Mutant: a router that fills it departs.
    """
    peers = [each for p in (1, 2) for each in (Connect((p,)), of(p, Subscribe(T)))]
    more = [each for p in (3, 4) for each in (Connect((p,)), of(p, Subscribe(T)))]
    events = (*peers, Publish(FIRST), *more, of(1, Unsubscribe(T)), Publish(NEXT))
    said: list[tuple[Output, ...]] = [() for _ in events]
    said[4] = (Sent(1, FIRST), Sent(2, FIRST), Delivered(FIRST))
    said[-1] = (*(Sent(p, NEXT) for p in to), Delivered(NEXT))
    run = play(events, Puppet(said), SPEC, GIVEN)
    assert len(run.moments) == len(events)
    assert bool(run.moments[-1].judged.departures) == departs
