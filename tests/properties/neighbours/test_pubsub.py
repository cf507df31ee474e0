"""The neighbours of a router: what they do can happen, is the same for the same numbers, and covers much."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from quidnunc.model.events import (
    Advance,
    Connect,
    Event,
    Publish,
    PublishPartial,
    Raw,
    Receive,
    Score,
    Stall,
    Verdict,
)
from quidnunc.model.machine import PROTOCOLS, protocol_named
from quidnunc.model.pubsub.protocols import PUBSUB
from quidnunc.model.rpc import CONTROL, Message, Partial
from quidnunc.model.versions import STREAM_PROTOCOLS
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import ModelSubject, Play
from quidnunc.properties.neighbours.acts import ACTS
from quidnunc.properties.neighbours.draw import draw_neighbours
from quidnunc.properties.neighbours.mempool import ACTS as MEMPOOL_ACTS
from quidnunc.properties.neighbours.mempool_acts import MAX_PEERS as MAX_MEMPOOL_PEERS
from quidnunc.properties.neighbours.neighbourhood import MAX_PEERS, draw_parameters
from quidnunc.properties.neighbours.pubsub import draw_pubsub_neighbours
from quidnunc.properties.neighbours.score_acts import SCORING
from quidnunc.properties.neighbours.scores import CAPABILITY, EXCHANGE
from quidnunc.properties.neighbours.seeded_draws import SeededDraws, weighted_name
from quidnunc.properties.neighbours.weights import THEMES, WEIGHTS
from quidnunc.properties.search.worker import hello_of
from tests.helpers.puppet import EVERYTHING

EACH = pytest.mark.parametrize("name", PROTOCOLS)


def run_of(
    name: str, number: int, *, capabilities: frozenset[str] = EVERYTHING, steered: bool = True, acts: int = 30
) -> tuple[list[list[Event]], Play, Any]:
    """One run of a conforming router, by number: what happened, act by act."""
    protocol = protocol_named(name)
    digits = SeededDraws(number)
    neighbours = draw_neighbours(digits, name, capabilities, steered=steered)
    parameters = neighbours.parameters
    run = Play(ModelSubject(protocol, parameters, number), Oracle(protocol, parameters))
    happened = []
    for _ in range(acts):
        events = neighbours.act(run.oracle.state, digits)
        happened.append(events)
        for event in events:
            assert not run.do(event)
    return happened, run, neighbours


class TestDigits:
    def test_the_same_number_gives_the_same_digits(self) -> None:
        one, other = SeededDraws(7), SeededDraws(7)
        assert [one.below(10) for _ in range(50)] == [other.below(10) for _ in range(50)]
        assert [SeededDraws(8).below(1000) for _ in range(3)] != [
            SeededDraws(7).below(1000) for _ in range(3)
        ]

    @pytest.mark.parametrize("n", [1, 2, 7, 100])
    def test_within_bounds_and_about_even(self, n: int) -> None:
        d = SeededDraws(3)
        found = Counter(d.below(n) for _ in range(n * 300))
        assert set(found) == set(range(n))
        assert max(found.values()) < 2 * min(found.values())

    def test_small_numbers_are_not_small_choices(self) -> None:
        """Neighbouring numbers have nothing in common."""
        assert len({tuple(d.below(100) for _ in range(4)) for d in map(SeededDraws, range(200))}) == 200

    def test_weights(self) -> None:
        d = SeededDraws(1)
        found = Counter(weighted_name({"a": 1, "b": 0, "c": 3}, d) for _ in range(2000))
        assert set(found) == {"a", "c"}
        assert 2 < found["c"] / found["a"] < 4.5
        with pytest.raises(ZeroDivisionError):
            weighted_name({}, d)

    def test_chances(self) -> None:
        d = SeededDraws(5)
        assert not any(d.chance(0) for _ in range(100))
        assert all(d.chance(100) for _ in range(100))


@EACH
class TestRuns:
    def test_the_same_number_gives_the_same_run(self, name: str) -> None:
        assert run_of(name, 12)[0] == run_of(name, 12)[0]
        assert run_of(name, 12)[0] != run_of(name, 13)[0]

    def test_something_happens_at_every_act(self, name: str) -> None:
        for number in range(5):
            happened, run, _ = run_of(name, number)
            assert all(happened)
            assert run.steps > 20

    def test_peers_have_bounds(self, name: str) -> None:
        most = MAX_PEERS if name in PUBSUB else MAX_MEMPOOL_PEERS
        for number in range(6):
            _, run, _ = run_of(name, number, acts=60)
            assert len(run.oracle.state.peers) <= most

    def test_without_steering_too(self, name: str) -> None:
        happened, run, _ = run_of(name, 3, steered=False)
        assert all(happened)
        assert run.steps > 15


@pytest.mark.parametrize("name", PUBSUB)
class TestOfPubsub:
    def test_streams_are_of_versions_that_the_router_speaks(self, name: str) -> None:
        seen = set()
        for number in range(12 if "extension" not in PUBSUB[name].handlers else 24):
            happened, _, _ = run_of(name, number)
            seen |= {e.protocol for events in happened for e in events if isinstance(e, Connect)}
        assert seen == set(STREAM_PROTOCOLS[name])

    def test_a_driver_is_asked_for_what_it_can(self, name: str) -> None:
        """Without the capability the event does not come at all."""
        lacking = {"score": Score, "verdict": Verdict, "stall": Stall, "raw": Raw}
        for capability, kind in lacking.items():
            able = EVERYTHING - {capability}
            for number in range(6):
                happened, _, _ = run_of(name, number, capabilities=able)
                assert not any(isinstance(e, kind) for events in happened for e in events), capability

    def test_parameters_are_legal_and_within_what_the_driver_can(self, name: str) -> None:
        drawn = [draw_parameters(SeededDraws(k), EVERYTHING, name) for k in range(200)]
        assert len({repr(p) for p in drawn}) > 20
        assert {p.validation for p in drawn} == {"accept", "manual"}
        assert {p.message_id for p in drawn} == {"origin", "content", "hex"}
        assert {p.flood_publish for p in drawn} == {True, False}
        bare = [draw_parameters(SeededDraws(k), frozenset(), name) for k in range(200)]
        assert {p.validation for p in bare} == {"accept"}
        assert not any(p.flood_publish or p.explicit_peers for p in bare)
        assert {p.signature_policy for p in bare} == {"StrictSign"}

    def test_ids_are_named_once_and_kept(self, name: str) -> None:
        _, _, neighbours = run_of(name, 4)
        assert all(m.id == key for key, m in neighbours.known.items())


def test_floodsub_neighbours_say_no_control() -> None:
    for number in range(10):
        happened, _, _ = run_of("floodsub", number)
        parts = [p for events in happened for e in events if isinstance(e, Receive) for p in e.parts]
        assert not any(isinstance(p, CONTROL) for p in parts)


def test_every_act_comes_somewhere() -> None:
    """Each act of the tables leads to events in some run: none is dead."""
    for acts, weights in ((ACTS, WEIGHTS["pubsub"]), (MEMPOOL_ACTS, WEIGHTS["mempool"])):
        assert set(weights) == set(acts)
    live: Counter[str] = Counter()
    for number in range(100):
        plain = EVERYTHING - {CAPABILITY}
        _, run, neighbours = run_of("gossipsub-1.2", number, acts=15, capabilities=plain)
        neighbours.view = run.oracle.state
        for name, act in ACTS.items():
            live[name] += bool(act(neighbours, SeededDraws(number)))
    assert set(live) == {name for name, count in live.items() if count}
    for number in range(20):
        _, run, neighbours = run_of("dog", number, acts=15)
        for name, act in MEMPOOL_ACTS.items():
            live[f"dog {name}"] += bool(act(neighbours, run.oracle.state, SeededDraws(number)))
    assert [name for name, count in live.items() if not count] == []


def test_every_act_on_scores_comes_somewhere() -> None:
    """In runs with score parameters, which are about a third of those that may have them."""
    live: Counter[str] = Counter()
    scored = [n for n in range(40) if run_of("gossipsub-1.2", n, acts=1)[2].parameters.scores is not None]
    assert 8 <= len(scored) <= 22
    for number in scored:
        _, run, neighbours = run_of("gossipsub-1.2", number, acts=12)
        neighbours.view = run.oracle.state
        for name, act in SCORING.items():
            live[name] += bool(act(neighbours, SeededDraws(number)))
    assert {name for name in SCORING if not live[name]} == set()


def test_runs_without_score_parameters_are_those_of_before() -> None:
    """What a run draws does not depend on whether another one keeps scores."""
    for number in range(12):
        _, _, scored = run_of("gossipsub-1.2", number, acts=3)
        happened, _, plain = run_of("gossipsub-1.2", number, acts=3, capabilities=EVERYTHING - {CAPABILITY})
        assert plain.parameters.scores is None and "probe" not in plain.weights
        if scored.parameters.scores is None:
            assert run_of("gossipsub-1.2", number, acts=3)[0] == happened


@pytest.mark.parametrize("name", ["partial-messages", "partial-messages-jvm", "partial-messages-go"])
def test_parts_are_exchanged_beside_scores_and_peer_exchange(name: str) -> None:
    """One run has parts, a score at its thresholds and now and then peers in a PRUNE; so has our router."""
    assert {"partial", CAPABILITY, EXCHANGE} <= hello_of("ours", name).capabilities
    able = EVERYTHING | {EXCHANGE}
    drawn = {n: draw_pubsub_neighbours(SeededDraws(n), name, able) for n in range(40)}
    scored = [n for n, neighbours in drawn.items() if neighbours.parameters.scores is not None]
    assert 8 <= len(scored) <= 22
    shown: Counter[str] = Counter()
    for number in scored[:8]:
        happened, _, neighbours = run_of(name, number, acts=40, capabilities=able)
        assert {"probe", "publish_partial", "partial_in"} <= {n for n, w in neighbours.weights.items() if w}
        events = [event for acts in happened for event in acts]
        parts = [part for each in events if isinstance(each, Receive) for part in each.parts]
        shown["published"] += any(isinstance(each, PublishPartial) for each in events)
        shown["received"] += any(isinstance(part, Partial) for part in parts)
        shown["judged"] += any(isinstance(each, Score) for each in events)
        shown["offered"] += neighbours.parameters.prune_peers > 0
    assert all(shown[what] for what in ("published", "received", "judged", "offered")), shown
    assert min(shown["published"], shown["received"]) >= 6


def test_themes_steer() -> None:
    assert THEMES
    for theme, weights in THEMES.items():
        assert set(weights) <= set(WEIGHTS["pubsub"]), theme


def test_a_run_has_bursts_late_verdicts_and_waits() -> None:
    """What some departures need: fourteen to twenty peers, a verdict after other events, a second's part."""
    runs = [run_of("gossipsub-1.2", number)[0] for number in range(40)]
    events = [e for acts in runs for act in acts for e in act]
    assert max(len(e.peers) for e in events if isinstance(e, Connect)) >= 20
    assert any(isinstance(e, Verdict) for e in events)
    waits = {e.ms for e in events if isinstance(e, Advance)}
    assert {100, 300, 500} & waits
    assert max(waits) > 5000
    assert any(isinstance(e, Receive) and len(e.parts) >= 4 for e in events)
    assert any(isinstance(e, Publish) for e in events)
    sizes = {p.size for e in events if isinstance(e, Receive) for p in e.parts if isinstance(p, Message)}
    assert {0, 600, 2000} <= sizes
