"""Which explanations of other cases are tried on a case: those under which its run might go further."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from quidnunc.model.edit import edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import MESHSUB_1_1, Advance, Connect, Event, Join, Verdict
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, Message, Subscribe
from quidnunc.model.rules import Protocol
from quidnunc.properties.judge.play import ModelSubject, Play, play
from quidnunc.properties.suite.explanations import _how_far, _may_go_further
from tests.helpers.pubsub_run import T, of

SPEC = protocol_named("gossipsub-1.2")
SMALL = Parameters(d=2, d_low=1, d_high=3, d_score=1, d_out=0)
REFUSES_NOBODY, BARE = "accepts-graft-from-inbound-peer-at-d-high", "heartbeat-prunes-bare"
BOTH = (REFUSES_NOBODY, BARE)
SILENT_JOIN, DEAF = "does-not-announce-topic-that-it-joins", "everywhere-in-message-deaf-to-members"

GRAFTED = (event for n in range(1, 6) for event in (Connect((n,)), of(n, Subscribe(T), Graft(T))))
CUT = (Join(T), *GRAFTED, Advance(1000))
PEERS = (Connect((1, 2), MESHSUB_1_1), of(1, Subscribe(T)), of(2, Subscribe(T)))
LATER = (Advance(1000),) * 3
ACCEPTED = (*PEERS, Join(T), of(1, Message("m1", T, 1)), Verdict("m1", "accept"), *LATER)


def built_with(*faults: str) -> Protocol:
    return edited(SPEC, [edit_named(name, SPEC) for name in faults])


def run_of(faults: Sequence[str], events: Sequence[Event], given: Parameters, beside: Protocol) -> Play:
    return play(events, ModelSubject(built_with(*faults), given), beside, given)


@pytest.mark.parametrize(
    ("faults", "events", "tried", "may"),
    [
        pytest.param(BOTH[:1], CUT, REFUSES_NOBODY, True, id="it accounts for all"),
        pytest.param(BOTH, CUT, REFUSES_NOBODY, True, id="it leaves fewer departures of the same step"),
        pytest.param(BOTH, CUT, "cut-at-d-high", False, id="it leaves them all"),
        pytest.param(BOTH, CUT, SILENT_JOIN, False, id="the router departs from it earlier"),
        # Whoever drops the message has no verdict to wait for: what comes then was not seen in this run.
        pytest.param(["accepted-not-relayed"], ACCEPTED, DEAF, True, id="an event cannot be under it"),
    ],
)
def test_what_may_go_further_is_played(
    faults: Sequence[str], events: Sequence[Event], tried: str, may: bool
) -> None:
    given = SMALL if events is CUT else Parameters(validation="manual")
    run, changed = run_of(faults, events, given, SPEC), built_with(tried)
    assert _may_go_further(run, changed, given) == may
    assert (_how_far(run_of(faults, events, given, changed)) > _how_far(run)) == may
