"""Every event and every output has a line, and reading the line gives it back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quidnunc.model import events as ev
from quidnunc.model.events import Advance, Connect, Event, Output, Publish, Receive, Sent
from quidnunc.model.rpc import ROUTER, UNSAID, Graft, IHave, IWant, Message, Prune, Subscribe
from quidnunc.properties.notation.lines import Notation, event_text, in_order, output_text
from quidnunc.properties.notation.parts import Mentions
from quidnunc.properties.notation.words import peer_named, peer_text, peers_named, peers_text
from tests.helpers.case_values import EVENTS, RUNS_OF_OUTPUTS


def notation(signed: bool = True) -> Notation:
    return Notation(Mentions(signed))


@given(events=st.lists(EVENTS, max_size=4), signed=st.booleans())
def test_events_round_trip(events: Sequence[Event], signed: bool) -> None:
    writer, reader = notation(signed), notation(signed)
    lines = [writer.event_text(event) for event in events]
    assert all("\n" not in line and line == line.strip() for line in lines)
    assert [reader.event(line) for line in lines] == events


@given(events=st.lists(EVENTS, max_size=2), outputs=RUNS_OF_OUTPUTS, signed=st.booleans())
def test_outputs_round_trip_after_any_events(
    events: Sequence[Event], outputs: tuple[Output, ...], signed: bool
) -> None:
    writer, reader = notation(signed), notation(signed)
    for event in events:
        reader.event(writer.event_text(event))
    lines = writer.output_texts(outputs)
    assert tuple(o for line in lines for o in reader.outputs(line)) == outputs


@given(RUNS_OF_OUTPUTS)
def test_the_order_of_cases_keeps_every_output(outputs: tuple[Output, ...]) -> None:
    assert sorted(map(repr, in_order(outputs))) == sorted(map(repr, outputs))
    assert in_order(reversed(outputs)) == in_order(outputs)


@pytest.mark.parametrize(
    ("line", "event"),
    [
        ("connect a..d /meshsub/1.2.0 outbound", Connect((1, 2, 3, 4), ev.MESHSUB_1_2, outbound=True)),
        ("connect a,c /floodsub/1.0.0", Connect((1, 3), ev.FLOODSUB)),
        ("a..c,f: subscribe t1", Receive((1, 2, 3, 6), (Subscribe("t1"),))),
        ("a: nothing", Receive((1,), ())),
        ("a: graft t1; prune t2 backoff=5 peers=c,d", Receive((1,), (Graft("t1"), Prune("t2", 5, (3, 4))))),
        ("a: 3x iwant m1 x0aff", Receive((1,), (IWant(("m1", "x0aff")),) * 3)),
        ("a: ihave t1 m1@origin", Receive((1,), (IHave("t1", ("m1@origin",)),))),
        ("b: message m1 t1 forged", Receive((2,), (Message("m1", "t1", 2, 0, "forged"),))),
        ("b: message m1 t1 by c size=2000", Receive((2,), (Message("m1", "t1", 3, 2000),))),
        ("publish m1 t1", Publish(Message("m1", "t1", ROUTER))),
        ("advance 3s", Advance(3000)),
        ("advance 1500ms", Advance(1500)),
        ("a: raw not-protobuf", ev.Raw((1,), "not-protobuf")),
        ("score a,b -5", ev.Score((1, 2), -5)),
        ("verdict m1 reject", ev.Verdict("m1", "reject")),
        ('join "two words"', ev.Join("two words")),
        ("adjust", ev.Adjust()),
    ],
)
def test_lines_of_events(line: str, event: Event) -> None:
    assert notation().event(line) == event
    assert event_text(event) == line


def test_a_message_is_described_once() -> None:
    writer = notation()
    m1 = Message("m1", "t1", 3, 2000)
    assert writer.event_text(Receive((1,), (m1,))) == "a: message m1 t1 by c size=2000"
    assert writer.event_text(Receive((2,), (m1,))) == "b: message m1 t1"
    assert writer.output_texts([ev.Delivered(m1), Sent(4, m1)]) == ["deliver m1 t1", "d: message m1 t1"]
    changed = Message("m1", "t1", None, 0, "altered")
    assert writer.output_texts([Sent(4, changed)]) == ["d: message m1 t1 by nobody size=0 altered"]


def test_authors_follow_the_signature_policy() -> None:
    assert notation(signed=False).event("a: message m1 t1") == Receive((1,), (Message("m1", "t1"),))
    assert notation(signed=False).event("publish m1 t1") == Publish(Message("m1", "t1"))
    assert notation().event("a: message m1 t1 by nobody") == Receive((1,), (Message("m1", "t1"),))


def test_equal_outputs_share_a_line() -> None:
    outputs = [*(Sent(p, Graft("t1")) for p in (1, 2, 3, 5)), *[Sent(1, IWant(("m1",)))] * 3]
    assert notation().output_texts(outputs) == ["a..c,e: graft t1", "a: 3x iwant m1"]
    assert output_text(Sent(1, Prune("t1", UNSAID))) == "a: prune t1 backoff=any"
    assert notation().output_texts([ev.Closed(1), ev.Closed(2), ev.Dialled(3)]) == ["close a,b", "dial c"]


def test_what_a_router_says_of_its_crash_stays_on_one_line() -> None:
    assert output_text(ev.Crashed("KeyError: 't1'")) == "crash KeyError: 't1'"
    assert output_text(ev.Crashed("two\nlines")) == 'crash "two\\nlines"'


@pytest.mark.parametrize(
    ("peer", "letters"),
    [(1, "a"), (26, "z"), (27, "aa"), (52, "az"), (53, "ba"), (703, "aaa"), (18_279, "p18279")],
)
def test_letters(peer: int, letters: str) -> None:
    assert peer_text(peer) == letters
    assert peer_named(letters) == peer


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "expected an event"),
        ("jion t1", "expected an event (connect, disconnect"),
        ("join", "expected a topic after 'join'"),
        ("join t1 t2", "expected the end, got 't2'"),
        ("join t=1", "other characters go in double quotes"),
        ('join "t1', "closing quote"),
        ("connect a", "expected the protocol of the streams"),
        ("connect a /meshsub/1.2.0 inbound", "expected outbound, or address=NUMBER, got 'inbound'"),
        ("connect A /meshsub/1.2.0", "expected a peer as letters"),
        ("d..a: subscribe t1", "lower to a higher peer"),
        ("a..zzz: subscribe t1", "at most 1000 peers"),
        ("a: hello t1", "expected a part (subscribe"),
        ("a: graft t1; ", "expected a part"),
        ("a: 99999x graft t1", "at most 10000 repeats"),
        ("a: 9999x graft t1; 2x graft t1", "at most 10000 parts"),
        ("a: prune t1 backoff=-3", "a whole number of 0 or more"),
        ("a: prune t1 backoff=999999999999999999999", "a whole number of 0 or more, of at most 20 digits"),
        ("a: prune t1 backoff=3 backoff=4", "once each"),
        ("a: message m1 t1 by c by d", "expected by once"),
        ("a: message m1 t1 wrong", "or a flaw: unsigned or forged"),
        ("a,b: message m1 t1", "expected `by PEER`"),
        ("advance 3", "expected a duration of at most 15 digits (1500ms or 3s)"),
        ("score a many", "expected a score: a whole number"),
        ("verdict m1 maybe", "accept or reject or ignore"),
        ("self: graft t1", "expected a peer as letters"),
        ('connect "a" /meshsub/1.2.0', "in quotes"),
    ],
)
def test_bad_events_say_what_was_expected(line: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        notation().event(line)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("join t1", "expected an output (deliver, offer, gossip, hand, dial, close, crash, or `a: PART`)"),
        ("deliver m1", "expected a topic"),
        ("a: graft t1; graft t2", "one thing to a line"),
        ("close stranger", "expected a peer as letters"),
        ('crash "open', "expected text in double quotes"),
    ],
)
def test_bad_outputs_say_what_was_expected(line: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        notation().outputs(line)
    assert said in str(caught.value)


@pytest.mark.parametrize("event", [Advance(-1), Connect((-4,)), Connect((1,) * 1001)])
def test_what_no_line_can_say_is_not_written(event: Event) -> None:
    with pytest.raises(ValueError, match=r"forwards|peer is 1 or more|at most 1000 peers"):
        event_text(event)


def test_order_and_repetition_of_peers_are_kept() -> None:
    for peers in [(3, 4, 5, 1, 2), (1, 1), (5, 4, 3), (0, 1, 2, 3), (-1, 0)]:
        assert peers_named(peers_text(peers), strangers=True) == peers
    assert peers_text((3, 4, 5, 1, 2)) == "c..e,a,b"
