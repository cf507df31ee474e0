"""The sentence that a step breaks forbids what is seen there, or demands what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from quidnunc.model.events import MESHSUB_1_1, Connect, Event, Join, Publish, PublishPartial, Score, Submit
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_2
from quidnunc.model.rpc import Graft, HaveTx, IDontWant, IHave, Message, Prune, ResetRoute, Subscribe, Tx
from quidnunc.model.score_parameters import ScoreParameters
from quidnunc.properties.explain.broken import broken_clauses
from quidnunc.properties.explain.runs import blamed_clauses
from tests.properties.explain.test_runs import BEAT, T, a_message, hear, link, meet, own, played, speaks_1_3

HALF = Parameters(scores=ScoreParameters(app_specific_weight=0.5))


@pytest.mark.parametrize(
    ("name", "protocol", "parameters", "events", "about", "broken"),
    [
        (
            "application-half",
            "gossipsub-1.2",
            Parameters(scores=ScoreParameters(app_specific_weight=1.0), gossip_threshold=-10),
            (meet(1), Join(T), Score((1,), -15), hear(1, IHave(T, ("m1",)))),
            "gs1.1/score.application",
            "gs1.1/threshold.gossip-ignored",
        ),
        (
            "idontwant-mutes",
            "gossipsub-1.2",
            Parameters(flood_publish=False),
            (Join(T), meet(1), hear(1, Graft(T)), hear(1, IDontWant(("m2",))), Publish(own("m1")), BEAT),
            "gs1.2/idontwant.per-peer",
            "gs1.0/publish.mesh",
        ),
        (
            "idontwant-ignored",
            "gossipsub-1.2",
            Parameters(),
            (Join(T), meet(1, 3), hear(1, Graft(T)), hear(1, IDontWant(("m1",))), hear(3, a_message())),
            "gs1.2/idontwant.skip",
            "gs1.2/idontwant.skip",
        ),
        (
            "reset-is-ignored",
            "dog",
            DogParameters(),
            (link(1, 2), hear(1, Tx("x1")), hear(2, HaveTx("x1")), hear(2, ResetRoute()), hear(1, Tx("x2"))),
            "dog/reset.one",
            "dog/reset.one",
        ),
        (
            "own-is-filtered",
            "dog",
            DogParameters(),
            (link(1), hear(1, Tx("x1")), hear(1, HaveTx("x1")), Submit("x2")),
            "dog/route.filter",
            "flood/submit.to-all",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_step_breaks_what_forbids_or_demands_it_whatever_the_run_is_about(
    name: str, protocol: str, parameters: Any, events: tuple[Event, ...], about: str, broken: str
) -> None:
    run, spec = played(name, protocol, parameters, events), protocol_named(protocol)
    assert about in blamed_clauses(run.moments, spec, parameters)
    assert broken in broken_clauses(run.moments, spec, parameters)
    assert about == broken or about not in broken_clauses(run.moments, spec, parameters)


def test_the_sentence_of_the_root_cause_stands_where_it_is_that_of_the_step() -> None:
    """A message after a PRUNE may go to who is still taken for a member, or to nobody's mesh at all."""
    parameters = Parameters(flood_publish=False)
    start = (meet(1), hear(1, Subscribe(T)), Join(T), hear(1, Prune(T, 60)))
    run = played("prune-ignored", "gossipsub-1.2", parameters, (*start, Publish(own("m1"))))
    assert broken_clauses(run.moments, GOSSIPSUB_1_2, parameters) == ("gs1.0/prune.remove",)
    told = broken_clauses(run.moments, GOSSIPSUB_1_2, parameters, "gs1.0/publish.mesh")
    assert told == ("gs1.0/publish.mesh",)


def test_an_idontwant_to_a_peer_of_an_older_version_has_a_sentence_of_its_own() -> None:
    events = (Join(T), Connect((1,), MESHSUB_1_1, False), hear(1, Graft(T)), meet(3), hear(3, a_message()))
    run = played("idontwant-to-old", "gossipsub-1.2", Parameters(), events)
    assert broken_clauses(run.moments, GOSSIPSUB_1_2, Parameters()) == ("gs1.2/idontwant.feature-peers",)


@pytest.mark.parametrize(
    ("name", "protocol", "parameters", "events", "clause"),
    [
        (
            "any-length-taken",
            "gossipsub-1.2",
            Parameters(max_message_bytes=1000),
            (Join(T), meet(1), hear(1, Graft(T)), meet(3), hear(3, Message("m1", T, 9, 2000))),
            "pubsub/rpc.size-limit",
        ),
        (
            "invalid-pooled",
            "dog",
            DogParameters(),
            (link(1, 2), hear(1, Tx("bad1t"))),
            "flood/receive.invalid-dropped",
        ),
        (
            "all-offered",
            "partial-messages-jvm",
            Parameters(),
            (speaks_1_3(3, 4), hear(3, Subscribe(T)), Join(T, False, True), PublishPartial(T, "g1")),
            "pm-jvm/publish.fanout",
        ),
    ],
)
def test_what_a_rule_drops_is_against_its_sentence(
    name: str, protocol: str, parameters: Any, events: tuple[Event, ...], clause: str
) -> None:
    run = played(name, protocol, parameters, events)
    assert set(broken_clauses(run.moments, protocol_named(protocol), parameters)) == {clause}
