"""Extensions and partial messages in the search: neighbours, occasions, blame, and the suite's cases."""

from __future__ import annotations

from collections import Counter

import pytest

from quidnunc.model.events import (
    MESHSUB_1_3,
    Advance,
    Connect,
    Delivered,
    Event,
    Feedback,
    FeedbackKind,
    GossipAsked,
    Offered,
    Output,
    PartialIn,
    PublishPartial,
    Receive,
    Sent,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.pubsub.protocols import PARTIAL, PARTIAL_GO, PARTIAL_JVM
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import Extensions, Graft, IDontWant, IHave, Message, Partial, Subscribe
from quidnunc.model.score_parameters import ScoreParameters
from quidnunc.properties.blame import partial as partial_blame
from quidnunc.properties.claims.catalogue import applied_clauses
from quidnunc.properties.claims.tables import BY_SUBJECT
from quidnunc.properties.neighbours.draw import draw_neighbours
from quidnunc.properties.neighbours.partial import MORE, OF_PARTIAL
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.neighbours.weights import WEIGHTS
from quidnunc.properties.occasions.occasion import ObservedStep
from quidnunc.properties.occasions.scores import FED
from quidnunc.properties.suite.files import rule_cases
from quidnunc.properties.suite.run import run_suite
from tests.helpers.pubsub_run import T, message, of
from tests.helpers.puppet import EVERYTHING
from tests.model.pubsub.partial.test_metadata import joined, peer, publish, run
from tests.properties.neighbours.test_pubsub import run_of

EXTENDED = ("gossipsub-1.3", "partial-messages", "partial-messages-jvm", "partial-messages-go")
R = run(PARTIAL, joined(), *peer(1), *peer(2, Subscribe(T)), *peer(3, named=False), publish()).router


class TestNeighbours:
    def test_every_act_comes_somewhere(self) -> None:
        assert (set(MORE), set(OF_PARTIAL)) == (set(WEIGHTS["extensions"]), set(WEIGHTS["partial"]))
        live: Counter[str] = Counter()
        for number in range(12):
            _, played, neighbours = run_of("partial-messages-jvm", number, acts=12)
            neighbours.view = played.oracle.state
            for name, act in neighbours.more.items():
                live[name] += bool(act(neighbours, SeededDraws(number)))
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
            draw_neighbours(SeededDraws(k), "gossipsub-1.3", EVERYTHING).parameters.test_extension
            for k in range(60)
        ]
        assert set(off) == {True, False}


class TestOccasions:
    def test_each_has_one(self) -> None:
        wants = run(PARTIAL, joined(requests=True), *peer(1), *peer(2, Subscribe(T))).router
        unsupported = run(PARTIAL, *peer(1)).router
        found = self.clauses_at(R, of(1), Sent(2, Subscribe("t2")))
        found |= self.clauses_at(wants, of(2, message("m1")), Delivered(message("m1")))
        found |= self.clauses_at(unsupported, of(1), Sent(1, message("m1")))
        claims = (*BY_SUBJECT["extensions"], *BY_SUBJECT["partial"])
        own = {each.clause for claim in claims for each in claim.occasions} - set(FED)
        assert found & own == own and len(own) == 4

    @pytest.mark.parametrize(("kind", "applies"), [("invalid", True), ("useful", False), ("ignored", False)])
    def test_feedback_has_one_where_the_score_turns_on_it(self, kind: FeedbackKind, applies: bool) -> None:
        scores = ScoreParameters(behaviour_penalty_weight=-1.0)
        member = (*peer(1), of(1, Graft(T)))
        r = run(PARTIAL_JVM, joined(), *member, Feedback(T, 1, kind), Advance(1), scores=scores).router
        step = ObservedStep(r, Advance(500), True, ())
        assert ("pm-jvm/score.feedback" in applied_clauses(step)) == applies

    def clauses_at(self, router: Router, event: Event, *outputs: Output) -> set[str]:
        return set(applied_clauses(ObservedStep(router, event, False, outputs)))

    def test_none_where_nothing_is_sent(self) -> None:
        assert not self.clauses_at(R, Advance(1))


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
    assert partial_blame.blamed_clause(output, of(1), R) == clause


@pytest.mark.parametrize(
    ("part", "to", "clause"),
    [
        (Partial(T, "g1", "p1"), 2, "pm/send.no-part-unrequested"),
        (Partial(T, "g1", None, "w1"), 2, "pm/send.metadata-supporter"),
        (Partial(T, "g1", "p1"), 3, "pm/send.advertised"),
    ],
)
def test_blame_of_a_publish(part: Partial, to: int, clause: str) -> None:
    assert partial_blame.blamed_clause(Sent(to, part), publish(), R) == clause


def test_blame_goes_by_the_reading() -> None:
    told = Sent(1, IDontWant(("m1",)))
    for reading, clause in (
        (PARTIAL_JVM, "pm-jvm/idontwant.suppressed"),
        (PARTIAL_GO, "pm-go/idontwant.suppressed"),
    ):
        r = run(reading, joined(requests=True), *peer(1)).router
        assert partial_blame.blamed_clause(told, of(1), r) == clause
        assert partial_blame.of_state(r).startswith(clause.split("/")[0])


@pytest.mark.parametrize("name", EXTENDED)
def test_the_suite_holds_on_ours(name: str) -> None:
    campaign = run_suite(name, "ours")
    assert not campaign.roots and not campaign.left_out, campaign.roots
    rules = {rule.name for _, rule in protocol_named(name).rules()}
    cases = {rule for rule, _ in rule_cases(name)}
    assert cases <= rules and len(cases) > 80
