"""Extensions and partial messages in the search: neighbours, occasions, blame, and the suite's cases."""

from __future__ import annotations

from collections import Counter

import pytest

from quidnunc.model.events import (
    MESHSUB_1_3,
    Advance,
    Connect,
    Delivered,
    GossipAsked,
    Offered,
    PartialIn,
    PublishPartial,
    Receive,
    Sent,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.protocols import PARTIAL, PARTIAL_GO, PARTIAL_JVM
from quidnunc.model.rpc import Extensions, IDontWant, IHave, Message, Partial, Subscribe
from quidnunc.properties import partial_blame, partial_occasions
from quidnunc.properties.digits import Digits
from quidnunc.properties.neighbours import draw_neighbours
from quidnunc.properties.partial_neighbours import MORE, OF_PARTIAL, PARTIAL_WEIGHTS, WEIGHTS
from quidnunc.properties.suite import run_suite, suite_of
from tests.model.pubsub_run import T, message, of
from tests.model.test_partial import joined, peer, publish, run
from tests.properties.puppet import EVERYTHING
from tests.properties.test_neighbours import run_of

EXTENDED = ("gossipsub-1.3", "partial-messages", "partial-messages-jvm", "partial-messages-go")
R = run(PARTIAL, joined(), *peer(1), *peer(2, Subscribe(T)), *peer(3, named=False), publish()).router


class TestNeighbours:
    def test_every_act_comes_somewhere(self) -> None:
        assert (set(MORE), set(OF_PARTIAL)) == (set(WEIGHTS), set(PARTIAL_WEIGHTS))
        live: Counter[str] = Counter()
        for number in range(12):
            _, played, neighbours = run_of("partial-messages-jvm", number, acts=12)
            neighbours.view = played.oracle.state
            for name, act in neighbours.more.items():
                live[name] += bool(act(neighbours, Digits(number)))
        mine = {*MORE, *OF_PARTIAL}
        assert mine <= set(live)
        assert all(live[name] for name in mine), live

    @pytest.mark.parametrize("name", ["gossipsub-1.2", "dog"])
    def test_others_know_nothing_of_it(self, name: str) -> None:
        happened = [e for acts in run_of(name, 5)[0] for e in acts]
        parts = [p for e in happened if isinstance(e, Receive) for p in e.parts]
        assert not any(isinstance(p, Extensions | Partial) for p in parts)
        assert not any(isinstance(e, PublishPartial) for e in happened)

    def test_extensions_come_first_as_a_rule(self) -> None:
        first: Counter[bool] = Counter()
        for number in range(10):
            happened = [e for acts in run_of("partial-messages", number)[0] for e in acts]
            new = {
                p for e in happened if isinstance(e, Connect) and e.protocol == MESHSUB_1_3 for p in e.peers
            }
            for event in happened:
                if isinstance(event, Receive) and event.peers and event.peers[0] in new:
                    first[any(isinstance(p, Extensions) for p in event.parts)] += 1
                    new -= set(event.peers)
        assert first[True] > 4 * first[False] > 0

    def test_a_driver_is_asked_for_what_it_can(self) -> None:
        able = EVERYTHING - {"partial", "test-extension"}
        for number in range(6):
            happened, _, neighbours = run_of("partial-messages", number, capabilities=able)
            assert not any(isinstance(e, PublishPartial) for acts in happened for e in acts)
            assert neighbours.parameters.test_extension
        off = [
            draw_neighbours(Digits(k), "gossipsub-1.3", EVERYTHING).parameters.test_extension
            for k in range(60)
        ]
        assert set(off) == {True, False}


class TestOccasions:
    def test_each_has_one(self) -> None:
        wants = run(PARTIAL, joined(requests=True), *peer(1), *peer(2, Subscribe(T))).router
        unsupported = run(PARTIAL, *peer(1)).router
        found = set(partial_occasions.found(R, of(1), [Sent(2, Subscribe("t2"))]))
        found |= set(partial_occasions.found(wants, of(2, message("m1")), [Delivered(message("m1"))]))
        found |= set(partial_occasions.found(unsupported, of(1), [Sent(1, message("m1"))]))
        assert found == partial_occasions.CLAUSES

    def test_none_where_nothing_is_sent(self) -> None:
        assert not list(partial_occasions.found(R, Advance(1), []))


@pytest.mark.parametrize(
    ("output", "clause"),
    [
        (Sent(1, Message("m1", T)), "pm/send.partial-to-requester"),
        (Sent(2, Message("m1", T)), ""),
        (Sent(1, IHave(T, ("m1",))), "pm/gossip.no-ihave"),
        (Sent(2, IDontWant(("m1",))), ""),
        (Sent(2, Partial(T, "g1", "p1")), "pm/application.interface"),
        (PartialIn(3, Partial(T, "g1")), "pm/send.advertised"),
        (PartialIn(1, Partial(T, "g1")), "pm/application.forwarded"),
        (GossipAsked(T, "g1", 1), "pm/gossip.partial-instead"),
        (Offered(T, "g1", 1), "pm/application.interface"),
    ],
    ids=str,
)
def test_blame(output: Sent | PartialIn | GossipAsked | Offered, clause: str) -> None:
    assert partial_blame.of(output, of(1), R) == clause


@pytest.mark.parametrize(
    ("part", "to", "clause"),
    [
        (Partial(T, "g1", "p1"), 2, "pm/send.no-part-unrequested"),
        (Partial(T, "g1", None, "w1"), 2, "pm/send.metadata-supporter"),
        (Partial(T, "g1", "p1"), 3, "pm/send.advertised"),
    ],
)
def test_blame_of_a_publish(part: Partial, to: int, clause: str) -> None:
    assert partial_blame.of(Sent(to, part), publish(), R) == clause


def test_blame_goes_by_the_reading() -> None:
    told = Sent(1, IDontWant(("m1",)))
    for reading, clause in (
        (PARTIAL_JVM, "pm-jvm/idontwant.suppressed"),
        (PARTIAL_GO, "pm-go/idontwant.suppressed"),
    ):
        r = run(reading, joined(requests=True), *peer(1)).router
        assert partial_blame.of(told, of(1), r) == clause
        assert partial_blame.of_state(r).startswith(clause.split("/")[0])


@pytest.mark.parametrize("name", EXTENDED)
def test_the_suite_holds_on_ours(name: str) -> None:
    campaign = run_suite(name, "ours")
    assert not campaign.roots and not campaign.left_out, campaign.roots
    rules = {rule.name for _, rule in protocol_named(name).rules()}
    cases = {rule for rule, _ in suite_of(name)}
    assert cases <= rules and len(cases) > 80
