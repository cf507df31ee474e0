"""How a router was configured, in the words of those who maintain it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attrs import evolve

from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.file import load, parse, render
from quidnunc.reports.pages.configuration import configuration_of
from quidnunc.reports.pages.markdown import issue_of

ROUTERS = Path(__file__).parents[3] / "counterexamples" / "routers"


def of(router: str, start: str) -> Case:
    (path,) = (ROUTERS / router).glob(f"{start}*.case")
    return load(path)


def test_what_matters_is_apart_from_the_rest() -> None:
    told = configuration_of(of("go-libp2p-pubsub", "gs1.2.idontwant.cap"))
    assert told is not None
    assert told.matters == ("`GossipSubMaxIDontWantMessages = 2` (default: `1000`)",)
    assert "`WithFloodPublish(true)` (default: `WithFloodPublish(false)`)" in told.others
    assert not told.is_default


def test_a_default_of_the_kit_that_is_none_of_the_release_matters_where_it_decides() -> None:
    """The kit's threshold is -20, and that of js-libp2p is -50."""
    case = of("js-libp2p", "gs1.1.threshold.publish")
    told = configuration_of(case)
    assert told is not None and "`publishThreshold = -20` (default: `-50`)" in told.matters
    low = configuration_of(parse(render(case).replace("score c -21", "score c -51"), "<text>"))
    assert low is not None and not any("publishThreshold" in each for each in low.matters)
    assert any("appSpecificWeight = 1" in each for each in told.matters), "scores count"


def test_scores_are_told_with_what_their_terms_need() -> None:
    told = configuration_of(of("go-libp2p-pubsub", "gs1.1.score.mesh-deliveries"))
    assert told is not None
    (topic,) = (each for each in told.matters if each.startswith("for topic t1"))
    assert "`MeshMessageDeliveriesDecay = 0.5`" in topic and "FirstMessage" not in topic


def test_what_must_be_given_is_told_where_the_case_says_it() -> None:
    told = configuration_of(of("py-libp2p", "gs1.1.outbound.inbound-refused"))
    assert told is not None
    given = ("degree = 2", "degree_low = 1", "degree_high = 2")
    assert told.matters == tuple(f"`{each}` (no default)" for each in given)
    assert "`heartbeat_interval = 1` (default: `120`)" in told.others, "no heartbeat comes"


def test_additions_that_are_off_are_told() -> None:
    told = configuration_of(of("py-libp2p", "gs1.1.graft.unknown-topic"))
    assert told is not None and any("`on_peer_subscribed`" in each for each in told.matters)
    shipped = configuration_of(of("py-libp2p", "gs1.0.mesh.members.control"))
    assert shipped is not None and not any("on_peer_subscribed" in each for each in shipped.matters)


def test_what_a_case_of_a_mempool_sets_matters() -> None:
    """The specification answers a duplicate however full the pool is."""
    told = configuration_of(of("cometbft", "dog.havetx.to-sender"))
    assert told is not None and "`Size = 1` (default: `5000`)" in told.matters


def test_the_defaults_are_told_as_such() -> None:
    case = of("cometbft", "flood.send.once.sends-without-end")
    told = configuration_of(case)
    assert told is not None and told.is_default
    assert "Every setting has its default." in issue_of(case)
    js = issue_of(of("js-libp2p", "floodsub.relay.not-to-author"))
    assert "Nothing that this sequence depends on differs from its default." in js
    assert "its default configuration" not in js


def test_a_default_that_decides_is_told() -> None:
    """By the name that the router has for it; cases that are older call it the default."""
    case = of("go-libp2p-pubsub", "gs1.1.backoff.regraft")
    assert any("the kit's default, decides here" in note for note in case.notes)
    older = evolve(case, notes=tuple(n.replace("the kit's default", "the default") for n in case.notes))
    for each in (case, older):
        told = configuration_of(each)
        assert told is not None and told.defaults == ("`GossipSubPruneBackoff = 60 s`",)


def test_no_default_is_told_of_a_release_that_nobody_looked_at() -> None:
    case = of("go-libp2p-pubsub", "gs1.2.idontwant.cap")
    assert configuration_of(evolve(case, against="go-libp2p-pubsub 0.18.0")) is None
    told = issue_of(evolve(case, against="go-libp2p-pubsub 0.18.0"))
    assert "`GossipSubMaxIDontWantMessages = 2`: How many" in told and "(default:" not in told


@pytest.mark.parametrize("path", sorted(ROUTERS.glob("*/*.case")), ids=lambda path: path.stem)
def test_no_name_of_the_kit_is_in_it(path: Path) -> None:
    """But where the router has no such setting."""
    told = configuration_of(load(path))
    assert told is not None
    for each in (*told.matters, *told.others, *told.defaults):
        assert each.count("`") % 2 == 0
        if "no such limit" not in each and "py-libp2p" not in str(path):
            assert not re.search(r"`[a-z]+_[a-z_]+", each), each
