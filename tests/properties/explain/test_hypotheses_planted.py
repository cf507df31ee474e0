"""What was seen in released routers, planted in our own one, is told by its name.

Our router knows nothing of the edits: it is changed here at its seams, in code of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.gossipsub.scores import ScoreKeeper, TopicRecord
from quidnunc.impl.mutant import around, patch
from quidnunc.impl.ours.pubsub import PubsubDriver
from quidnunc.impl.seam import Config
from quidnunc.model.events import Advance, Connect, Disconnect, Event, Join, Leave, Score, Verdict
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, IDontWant, IHave, Message, Prune, Subscribe
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from quidnunc.properties.explain.root_cause import Finding, last_departures
from quidnunc.properties.judge.play import WireSubject, messages_in, play
from quidnunc.properties.search.machine import FindingSearch
from quidnunc.properties.search.worker import hello_of
from tests.helpers.pubsub_run import T, of

SPEC = protocol_named("gossipsub-1.2")

Plant = Callable[[GossipsubRouter], None]


def told_of(plant: Plant, events: Sequence[Event], parameters: Parameters) -> Finding:
    """The finding of the events, minimised, with what explains it in runs of the planted router."""

    def opened(config: Config) -> WireSubject:
        assert isinstance(config.parameters, Parameters)
        router = GossipsubRouter(
            config.parameters, protocol=config.protocol, seed=config.seed, own=config.identity
        )
        plant(router)
        return WireSubject(PubsubDriver(router, name="ours"), config)

    hunt = FindingSearch("gossipsub-1.2", opened, hello_of("ours", "gossipsub-1.2"))
    subject = opened(hunt.config(parameters, 0))
    subject.declare(messages_in(events))
    run = play(events, subject, SPEC, parameters)
    departures = last_departures(run)
    assert departures, "the planted departure does not show"
    key = hunt.file(events, departures, parameters, 0)
    assert key is not None
    return hunt.found[key].finding


# -- the deficit of mesh deliveries (P3) --------------------------------------------------------------------


def owes_until_its_next_graft(router: GossipsubRouter) -> None:
    """A mark is set at the decay that finds a member over its activation, and cleared at a GRAFT alone."""
    keeper = router.core.keeper
    if keeper is None:
        return
    marked: set[int] = set()
    decay_topic, grafted = keeper.decay_topic, keeper.grafted

    def decayed(p: TopicScoreParameters, s: TopicRecord, now_ms: int) -> None:
        decay_topic(p, s, now_ms)
        if keeper.is_active(p, s):
            marked.add(id(s))

    def taken(peer: int, topic: str, now_ms: int) -> None:
        record = keeper.records.get(peer)
        known = record.topics.get(topic) if record is not None else None
        if known is not None and known.grafted_ms is None:
            marked.discard(id(known))
        grafted(peer, topic, now_ms)

    usual = keeper.in_topic

    def in_topic(p: TopicScoreParameters, s: TopicRecord) -> float:
        value = float(usual(p, s))
        if s.grafted_ms is None and id(s) in marked:
            lacking = max(0.0, p.mesh_message_deliveries_threshold - s.mesh_deliveries)
            value += p.topic_weight * p.mesh_message_deliveries_weight * lacking * lacking
        return value

    patch(keeper, "decay_topic", decayed)
    patch(keeper, "grafted", taken)
    patch(keeper, "in_topic", in_topic)


def test_a_former_member_that_owes_deliveries_until_its_next_graft() -> None:
    topic = TopicScoreParameters(
        topic=T, mesh_message_deliveries_weight=-1.0, mesh_message_deliveries_threshold=4.0
    )
    events = (
        Join(T),
        Connect((8,), outbound=True),
        of(8, Subscribe(T), Graft(T)),
        *[Advance(1000)] * 4,
        Score((8,), -1),
        of(8, IHave(T, ("m31",))),
        Advance(500),
    )
    told = told_of(owes_until_its_next_graft, events, Parameters(scores=ScoreParameters(topics=(topic,))))
    assert told.cause == "mesh-deliveries-owed-until-regraft"


# -- counters that are lost ---------------------------------------------------------------------------------


def losing(counter: str, *, positive_too: bool = True) -> Plant:
    def plant(router: GossipsubRouter) -> None:
        def disconnected(r: GossipsubRouter, usual: Callable[..., Any], peer: int, now_ms: int) -> None:
            keeper = r.core.keeper
            assert isinstance(keeper, ScoreKeeper)
            loses = peer in keeper.records and (positive_too or r.core.score(peer) <= 0)
            usual(peer, now_ms)
            for record in keeper.records[peer].topics.values() if loses else ():
                setattr(record, counter, 0.0)

        if router.core.keeper is not None:
            around("core.keeper.disconnected", disconnected)(router)

    return plant


RETURNS = (Disconnect((5,)), Connect((5,)))


def test_first_deliveries_that_are_lost_with_a_score_that_is_not_positive() -> None:
    """The peer has a score below zero as it goes, and one above if what it delivered counts as it returns."""
    topic = TopicScoreParameters(
        topic=T, first_message_deliveries_weight=2.0, first_message_deliveries_decay=0.9
    )
    events = (
        Join(T),
        Connect((5,)),
        of(5, Subscribe(T)),
        of(5, Message("m1", T, author=5)),
        Score((5,), -3),
        *RETURNS,
        Score((5,), -1),
        of(5, Subscribe(T), Graft(T)),
        Advance(500),
    )
    scored = Parameters(scores=ScoreParameters(topics=(topic,)))
    told = told_of(losing("first_deliveries", positive_too=False), events, scored)
    assert told.cause == "first-deliveries-lost-with-score-at-most-0"


def test_invalid_messages_that_are_lost_at_disconnection() -> None:
    topic = TopicScoreParameters(
        topic=T, invalid_message_deliveries_weight=-1.0, invalid_message_deliveries_decay=0.9
    )
    events = (
        Join(T),
        Connect((5,)),
        of(5, Subscribe(T)),
        *(of(5, Message(f"m{n}", T, author=5)) for n in range(1, 4)),
        *(Verdict(f"m{n}", "reject") for n in range(1, 4)),
        *RETURNS,
        Advance(1000),
        of(5, Subscribe(T), Graft(T)),
        Advance(500),
    )
    scored = Parameters(scores=ScoreParameters(topics=(topic,)), validation="manual")
    told = told_of(losing("invalid"), events, scored)
    assert told.cause == "invalid-messages-lost-at-disconnection"


# -- IDONTWANT ----------------------------------------------------------------------------------------------


def reading_ten_ids(router: GossipsubRouter, *, counts_rpcs: bool) -> None:
    """Of the IDONTWANTs in one RPC ten ids are read, whatever else is counted."""
    usual, count = router.gossip.on_idontwant, router.gossip.count_idontwants

    def received(peer: int, control: Any) -> None:
        left = 10
        for entry in control.idontwant:
            del entry.messageIDs[left:]
            left -= len(entry.messageIDs)
        usual(peer, control)

    router.control[router.control.index(usual)] = received
    if counts_rpcs:
        patch(router.gossip, "count_idontwants", lambda heard, first: count(heard, first) if first else None)


def unwanted(ids: Sequence[str], apart: bool) -> tuple[Event, ...]:
    said = tuple(IDontWant((i,)) for i in ids) if apart else (IDontWant(tuple(ids)),)
    return (
        *(Connect((peer,)) for peer in (2, 3)),
        Join(T),
        of(2, Subscribe(T)),
        of(3, Subscribe(T), Graft(T)),
        of(3, *said),
        of(2, Message(ids[-1], T, author=2)),
        Advance(500),
    )


@pytest.mark.parametrize("counts_rpcs", [True, False])
def test_ten_ids_of_an_rpc_and_what_is_counted(counts_rpcs: bool) -> None:
    """The cap is exceeded by the seventh of seven; ten ids by the eleventh of eleven."""
    ids = [f"m{n}" for n in range(1, 8 if counts_rpcs else 12)]
    parameters = Parameters(max_idontwant_messages=6) if counts_rpcs else Parameters()
    told = told_of(
        lambda router: reading_ten_ids(router, counts_rpcs=counts_rpcs), unwanted(ids, True), parameters
    )
    name = "idontwant-cap-counts-rpcs" if counts_rpcs else "idontwant-beyond-ten-ids-of-rpc-unread"
    assert told.cause == name


def test_an_announced_backoff_is_none_of_these() -> None:
    """A router that has nothing planted departs nowhere."""
    events = (Connect((1,)), Join(T), of(1, Prune(T, 8)), of(1, Graft(T)), Advance(1000))
    with pytest.raises(AssertionError, match="does not show"):
        told_of(lambda router: None, events, Parameters())


# -- a check that does not end what it decides --------------------------------------------------------------


def refuses_and_takes(router: GossipsubRouter) -> None:
    """A GRAFT inside the backoff is answered by a PRUNE, and the peer is in the mesh all the same."""
    mesh, checks = router.mesh, router.mesh.graft_checks
    at = checks.index(mesh.backing_off)

    def goes_on(peer: int, topic: str) -> None:
        if mesh.backing_off(peer, topic) is not None:
            mesh.say_prune(peer, topic, router.core.parameters.prune_backoff_s)
            mesh.back_off(peer, topic, router.core.parameters.prune_backoff_s)

    checks[at] = goes_on


def test_a_check_that_refuses_and_does_not_end() -> None:
    start = (Connect((1,)), Join(T), of(1, Subscribe(T), Graft(T)), of(1, Prune(T, 6)), of(1, Graft(T)))
    told = told_of(refuses_and_takes, (*start, Leave(T), Advance(1000)), Parameters(prune_backoff_s=6))
    assert told.cause == "goes-on-while-backing-off"
    says = (
        "Updates its own state, sends what is due and still goes on to its next check "
        "when it refuses a GRAFT inside the backoff."
    )
    assert told.quirks[0].says == says
