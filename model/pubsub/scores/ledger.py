"""What a router has noted of its peers' behaviour: counters, promises, copies of messages, addresses.

Values alone. The rules that write them are in `quidnunc.model.pubsub.scores.counting`, those that make a
score of them in `quidnunc.model.pubsub.scores.terms`.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from quidnunc.model.rpc import Peer
from quidnunc.model.score_interval import ZERO, ScoreInterval


@frozen(slots=False)
class TopicTally:
    """Of one peer in one topic."""

    since_ms: int | None = None
    """When it came into the mesh; None outside."""
    mesh_ms: int = 0
    """Its time there, as of the last decay."""
    past_ms: int = 0
    """Its time there when it left last; 0 while it is there. No rule reads it; an edit does."""
    first: ScoreInterval = ZERO
    """First deliveries."""
    meshed: ScoreInterval = ZERO
    """First and near-first deliveries while in the mesh."""
    failures: ScoreInterval = ZERO
    """Squared deficits at prunes."""
    invalid: ScoreInterval = ZERO
    known: list[tuple[object, object, bool, ScoreInterval]] = field(
        factory=list, init=False, eq=False, repr=False
    )
    """What the terms of the topic came to: of which total, under which parameters, gone or not."""


NO_TALLY = TopicTally()


@frozen
class IWantPromise:
    """One of the ids in an IHAVE is tracked; which one is the router's secret."""

    peer: Peer
    asked: frozenset[str]
    missing: frozenset[str]
    """Those that have not surely been received in time."""
    ends_ms: int
    least: int
    """Penalties if all are missing; `most` is how many there may be if any is."""
    most: int


@frozen
class MessageCopies:
    """Of one message, who sent a copy, and whether that peer was in the mesh then."""

    senders: Mapping[Peer, bool]
    forwarder: Peer
    judged_ms: int | None = None
    """When its validation was over; None while it lasts."""
    accepted: bool = True


@frozen(slots=False)
class ScoreLedger:
    """All of it. Empty where the parameters ask for no scores."""

    tallies: Mapping[tuple[Peer, str], TopicTally] = field(factory=dict)
    behaviour: Mapping[Peer, ScoreInterval] = field(factory=dict)
    promises: tuple[IWantPromise, ...] = ()
    copies: Mapping[str, MessageCopies] = field(factory=dict)
    addresses: Mapping[Peer, int] = field(factory=dict)
    gone_ms: Mapping[Peer, int] = field(factory=dict)
    """When a peer that is remembered disconnected."""
    returned: frozenset[Peer] = frozenset()
    """Who came back with the counters of before."""
    sought: frozenset[Peer] = frozenset()
    """Peers that were offered in exchange, and may have been dialled for it."""
    told_of: frozenset[Peer] = frozenset()
    """Peers of whose parts the application said what counts."""


NO_LEDGER = ScoreLedger()
