"""Edits by which a large number in a PRUNE does not arrive, and two that hang on a bound."""

from __future__ import annotations

import pytest
from attrs import evolve

from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.edits.large_numbers import LARGE_NUMBERS, MANY_OFFERED, OVERFLOWS, TOO_LARGE_S
from quidnunc.model.events import Advance, Connect, Event, Join, Output, Publish, Score, Sent
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import ROUTER, Graft, IDontWant, IHave, IWant, Message, Prune
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import ModelSubject
from tests.helpers.pubsub_run import T, of, peers

SPEC = protocol_named("gossipsub-1.2")


def after(name: str, events: tuple[Event, ...], parameters: Parameters) -> set[Output]:
    """What the model with the edit does at the last event."""
    subject = ModelSubject(edit_named(name, SPEC).change(SPEC) if name else SPEC, parameters)
    return {o for o in [subject.do(event) for event in events][-1] if isinstance(o, Sent)}


@pytest.mark.parametrize("word", TOO_LARGE_S)
def test_a_backoff_that_overflows_is_over_at_once_and_a_shorter_one_is_kept(word: str) -> None:
    least_s = TOO_LARGE_S[word][0]
    for seconds, refused in ((least_s, False), (least_s - 1, True)):
        events = (Connect((1,)), Join(T), of(1, Prune(T, seconds)), of(1, Graft(T)))
        sent = after(f"backoff-from-{word}-is-over", events, Parameters())
        assert any(isinstance(o, Sent) and isinstance(o.part, Prune) for o in sent) == refused
        assert after("", events, Parameters()), "the specification refuses both"


@pytest.mark.parametrize("word", TOO_LARGE_S)
def test_an_rpc_with_a_number_that_is_too_large_is_not_read(word: str) -> None:
    least_s = TOO_LARGE_S[word][0]
    for seconds, read in ((least_s, False), (least_s - 1, True)):
        events = (Connect((1,)), Join(T), of(1, Graft(T)), of(1, Prune(T, seconds)))
        oracle = Oracle(edit_named(f"rpc-with-backoff-from-{word}-dropped", SPEC).change(SPEC), Parameters())
        for event in events:
            oracle.judge(event, ())
        assert (1 not in oracle.state.mesh_of(T)) == read


def test_each_says_another_thing() -> None:
    edits = 2 * len(TOO_LARGE_S) + len(OVERFLOWS) + len(MANY_OFFERED)
    assert len({each.says for each in LARGE_NUMBERS}) == len(LARGE_NUMBERS) == edits


@pytest.mark.parametrize("word", OVERFLOWS)
def test_what_is_left_of_an_overflow_is_over_where_it_is_negative_and_counts_where_it_is_not(
    word: str,
) -> None:
    per_s, bits = OVERFLOWS[word]
    whole = 1 << bits
    # The first number of seconds that leaves less than nothing, and the first after it that leaves a minute.
    negative, positive = TOO_LARGE_S[word][0], -(-(whole + 60 * per_s) // per_s)
    for seconds, refused in ((negative, False), (positive, True)):
        events = (Connect((1,)), Join(T), of(1, Prune(T, seconds)), of(1, Graft(T)))
        sent = after(f"backoff-overflows-{word}", events, Parameters())
        assert any(isinstance(o, Sent) and isinstance(o.part, Prune) for o in sent) == refused


def test_an_rpc_that_offers_too_many_peers_is_not_read() -> None:
    (most,) = MANY_OFFERED
    for offered, read in ((most, True), (most + 1, False)):
        pruned = Prune(T, 60, tuple(range(10, 10 + offered)), "signed")
        name = f"rpc-with-prune-of-over-{most}-peers-dropped"
        oracle = Oracle(edit_named(name, SPEC).change(SPEC), Parameters())
        for event in (Connect((1,)), Join(T), of(1, Graft(T)), of(1, pruned)):
            oracle.judge(event, ())
        assert (1 not in oracle.state.mesh_of(T)) == read


def test_who_falls_below_the_threshold_in_a_fanout_is_sent_to_until_it_is_chosen_anew() -> None:
    told = Parameters(d=2, d_low=1, d_high=3, d_score=1, d_out=0, flood_publish=False, publish_threshold=-20)
    first, second = (Publish(Message(f"m{n}", T, ROUTER)) for n in (1, 2))
    events = (*peers(1), *peers(2), first, Score((1,), -21), second)
    sent = {name: {o.peer for o in after(name, events, told) if isinstance(o, Sent)} for name in ("", NAME)}
    assert sent == {"": {2}, NAME: {1, 2}}
    low = (*peers(1), *peers(2), Score((1,), -21), first)
    assert {o.peer for o in after(NAME, low, told) if isinstance(o, Sent)} == {2}, "it is asked at the choice"


NAME = "fanout-threshold-asked-once"


def test_the_idontwants_of_one_rpc_use_up_one_of_the_cap() -> None:
    told = evolve(Parameters(), max_idontwant_messages=2)
    ids = ("m1", "m2", "m3")
    together = of(1, *(IDontWant((i,)) for i in ids))
    apart = tuple(of(1, IDontWant((i,))) for i in ids)
    start = (*peers(1), *peers(2), Join(T), of(1, Graft(T)))
    third = of(2, Message("m3", T))

    def relayed(name: str, *events: Event) -> bool:
        return any(isinstance(o, Sent) and o.peer == 1 for o in after(name, (*start, *events, third), told))

    name = "idontwant-cap-counts-rpcs"
    assert relayed("", together) and relayed("", *apart), "the third is beyond the cap"
    assert not relayed(name, together) and relayed(name, *apart)
    assert relayed(name, *apart[:2], together), "two RPCs have used it up"
    assert not relayed(name, *apart[:2], Advance(500), together), "a heartbeat begins a new count"


def test_an_rpc_with_a_control_message_uses_up_the_cap_on_ihaves() -> None:
    told = evolve(Parameters(), max_ihave_messages=1)
    events = (*peers(1), Join(T), of(1, IWant(("m9",))), of(1, IHave(T, ("m1",))))
    assert after("", events, told)
    assert not after("ihave-cap-counts-control", events, told)
    later = (*events[:-1], Advance(500), events[-1])
    assert after("ihave-cap-counts-control", later, told), "a heartbeat begins a new count"
