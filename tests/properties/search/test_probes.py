"""What else a router does in the state that a departure needs."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from quidnunc.model.events import (
    Adjust,
    Advance,
    Connect,
    Event,
    Join,
    Leave,
    Publish,
    Receive,
    Score,
    Verdict,
)
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import Graft, IDontWant, IHave, Message, Prune, Subscribe
from quidnunc.properties.search.probes import MINE, probes, probes_at_scores, probes_of_redundancy, topics_of

GRAFT = Receive((1,), (Graft("t1"),))
EVENTS: tuple[Event, ...] = (Join("t1"), Connect((1,)), Receive((1,), (Subscribe("t1"),)), GRAFT, Leave("t1"))
PARAMETERS = Parameters(graylist_threshold=-40, publish_threshold=-20, gossip_threshold=-10)
BEAT = Advance(PARAMETERS.heartbeat_interval_ms)


def test_the_last_event_is_left_out_and_another_thing_is_asked() -> None:
    told = [*probes(EVENTS, PARAMETERS)]
    assert len({*told}) == len(told) > 10
    assert all(run[:4] == EVENTS[:4] and run[-1] == BEAT for run in told)
    pruned = [run for run in told if any(isinstance(e, Receive) and Prune("t1", 8) in e.parts for e in run)]
    assert {e.peers for run in pruned for e in run if isinstance(e, Receive) and Graft("t1") in e.parts} == {
        (1,),
        (2,),
    }, "of the peer that was there, and of a new one"


def test_what_was_said_is_said_again_after_the_minimal_run_by_the_same_peer_and_another() -> None:
    again = [run for run in probes(EVENTS, PARAMETERS) if run[: len(EVENTS)] == EVENTS]
    assert [run[len(EVENTS)] for run in again if run[len(EVENTS)] == GRAFT] == [GRAFT]
    assert Receive((3,), (Graft("t1"),)) in {event for run in again for event in run}


def test_a_message_is_flawed_otherwise_as_well() -> None:
    """Mutant: who takes another's key is told to take malformed ones too, or the other way round."""
    flawed = Message("m1", "t1", author=1, flaw="other-key")
    events = (Join("t1"), Connect((1,)), Receive((1,), (flawed,)))
    last = [run[2] for run in probes(events, Parameters()) if run[:2] == events[:2]]
    sent = {part for e in last if isinstance(e, Receive) for part in e.parts if isinstance(part, Message)}
    flaws = {part.flaw for part in sent if part.id == MINE}
    assert flaws >= {"unsigned", "forged", "foreign-key", "junk-key", "no-author", "no-seqno"}
    assert not flaws & {"other-key", "altered", "stale-seqno"}


def test_small_caps_on_ihaves_are_passed_twice_over() -> None:
    """Mutant: who has no cap at all is told to count by another measure."""
    ihave = Receive((1,), (IHave("t1", ("m1", "m2")),))
    events = (Connect((1,)), ihave)

    def more(**caps: int) -> set[tuple[int, int]]:
        runs = [run[2:] for run in probes(events, Parameters(**caps)) if run[:2] == events]
        told = [[e.parts[0] for e in run if isinstance(e, Receive)] for run in runs]
        return {(len(run), len(run[0].ids)) for run in told if all(isinstance(part, IHave) for part in run)}

    assert more(max_ihave_length=12, max_ihave_messages=10) >= {(3, 12), (21, 1)}
    assert not more() & {(3, 5000)}


def test_messages_that_wait_are_accepted() -> None:
    events = (Join("t1"), Connect((1,)), Receive((1,), (Message("m1", "t1"),)))
    manual = Parameters(validation="manual")
    again = [run for run in probes(events, manual) if run[: len(events)] == events]
    assert again and all(Verdict("m1", "accept") in run for run in again)
    assert not any(isinstance(event, Verdict) for run in probes(events, PARAMETERS) for event in run)


def test_a_score_is_asked_for_below_each_threshold_beside_none() -> None:
    pairs = [*probes_at_scores((*EVENTS[:-1], Score((1,), -9), EVENTS[-1]), PARAMETERS)]
    assert pairs
    for plain, low in pairs:
        values = [[e.value for e in run if isinstance(e, Score)] for run in (plain, *low)]
        assert values == [[0], [-41], [-21], [-11], [-1]]
        without = [[e for e in run if not isinstance(e, Score)] for run in (plain, *low)]
        assert all(run == without[0] for run in without), "they differ in the score alone"
    later = [
        low[0][at + 1 : at + 3] for _, low in pairs for at, e in enumerate(low[0]) if isinstance(e, Score)
    ]
    assert (BEAT, Receive((2,), (Graft("t1"),))) in later, "is it forgotten at a heartbeat?"


def test_no_score_is_asked_for_where_the_run_has_none() -> None:
    assert not [*probes_at_scores(EVENTS, PARAMETERS)]


def test_nothing_is_asked_without_a_topic() -> None:
    assert not [*probes((Connect((1,)), BEAT), PARAMETERS)]
    assert topics_of(EVENTS) == ["t1"]


def test_a_member_is_pruned_and_a_message_comes() -> None:
    pruned = Receive((1,), (Prune("t1", 60),))
    events = (Join("t1"), Connect((1,)), pruned, GRAFT)
    (told,) = (run for run in probes(events, PARAMETERS) if run[2:4] == (GRAFT, pruned))
    assert any(isinstance(event, Receive) and isinstance(event.parts[0], Message) for event in told[4:])


def test_an_own_message_goes_to_subscribers_of_whom_one_is_in_the_mesh() -> None:
    own = Publish(Message("m1", "t1"))
    told = [run for run in probes((*EVENTS[:3], own), PARAMETERS) if own in run and run[-1] == BEAT]
    subscribed = [e.peers for e in told[-1][3:] if isinstance(e, Receive) and e.parts == (Subscribe("t1"),)]
    grafted = [e.peers for e in told[-1][3:] if isinstance(e, Receive) and e.parts == (Graft("t1"),)]
    assert subscribed == [(4, 5)] and grafted == [(4,)]


def test_all_that_idontwant_names_comes_where_it_names_several() -> None:
    """Who caps what is remembered sends some of it, whichever; who caps nothing sends none."""
    named = Receive((1,), (IDontWant(("m5", "m6")), IDontWant(("m7",))))
    come, last = (Receive((9,), (Message(name, "t1", size=30),)) for name in ("m5", "m7"))
    begins = (Join("t1"), Connect((1, 9)), come)
    asked = (run for run in probes((*begins, named, last), PARAMETERS) if run[:4] == (*begins, named))
    sent = [_sent(run[4:]) for run in asked]
    assert [Message("m6", "t1"), Message("m7", "t1", size=30)] in sent


def _sent(events: Sequence[Event]) -> list[Message]:
    parts = [part for event in events if isinstance(event, Receive) for part in event.parts]
    return [part for part in parts if isinstance(part, Message)]


def test_adjustments_lie_at_below_and_above_each_bound() -> None:
    """Mutant: none lies between a bound and the next number of duplicates."""
    parameters = DogParameters(target_redundancy=2.0, delta_percent=10.0)
    ratios = set[Fraction]()
    for acts in probes_of_redundancy((Connect((1,)), Adjust()), parameters):
        first = {part.id for event in acts for part in getattr(event, "parts", ())}
        duplicates = sum(isinstance(event, Receive) for event in acts) - 2
        assert acts[0] == Connect((2, 3)) and acts[-2] == Adjust()
        ratios.add(Fraction(duplicates, len(first)))
    bounds = [Fraction(18, 10), Fraction(22, 10)]
    for bound in bounds:
        assert {bound - Fraction(1, 20), bound, bound + Fraction(1, 20)} <= ratios
    assert {Fraction(1), Fraction(2)} <= ratios


def test_nothing_is_asked_of_redundancy_where_the_run_adjusts_nothing() -> None:
    assert not [*probes_of_redundancy((Connect((1,)),), DogParameters())]
