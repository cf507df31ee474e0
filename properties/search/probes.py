"""Short runs that lead up to a departure and then ask for something else.

Many edits say the same of one departure: no backoff after a cut, say, and no backoff at all. What tells them
apart is a run that the departure does not need: a GRAFT inside a backoff that a PRUNE has announced. So one
peer or another does what peers do, in the state that is there before the last event of the minimal run, or
says again what was said in it. Where the run needs a score, each is asked at a score below each threshold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil, floor
from typing import Any, TypeVar, get_args

from attrs import evolve, frozen

from quidnunc.model.edits.operators import words
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
from quidnunc.model.rpc import (
    ROUTER,
    Flaw,
    Graft,
    IDontWant,
    IHave,
    IWant,
    Message,
    Part,
    Peer,
    Prune,
    Subscribe,
    Tx,
)
from quidnunc.properties.explain.thresholds import limits_of
from quidnunc.properties.judge.play import messages_in

MOST_AGAIN = 4
"""RPCs of a minimal run that come again, the last ones."""
BACKOFF_S = 8
MINE, LAST, WANTED = "m901", "m902", "m903"
"""Messages: of the peer that is asked about, of another peer, and of nobody yet."""

COUNTED = (20, 3)
"""First-time transactions, in runs that ask about redundancy."""
MOST_ADVERTISED = 24
"""A cap on IHAVEs or their ids is reached where it is no more than that."""
ADVERTISED_FROM = 910
"""The number of the first message that is advertised for that."""
MOST_DUPLICATES = 60
FLAWS = tuple(flaw for flaw in get_args(Flaw) if flaw in words.FLAWS)

Acts = tuple[Event, ...]
P = TypeVar("P", bound=Part)


def probes(events: Sequence[Event], parameters: Any) -> Iterator[Acts]:
    """The events of each run, in a topic and with peers of the minimal run `events` and others."""
    opened = _opened(events, parameters, events[:-1])
    if opened is None:
        return
    one, other, topic = opened.one, opened.other, opened.topic
    busy = Counter(peer for event in events[:-1] for peer in getattr(event, "peers", ())).most_common(1)
    beat = Advance(parameters.heartbeat_interval_ms)
    last = (Receive((other,), (Message(LAST, topic),)), beat)
    asked = (acts for peer in (one, *(peer for peer, _ in busy)) for acts in _asks(peer, other, topic))
    for acts in dict.fromkeys(asked):
        yield (*opened.acts, *acts, *_verdicts(acts, parameters), *last)
    yield from ((*acts, beat) for acts in _again(events, parameters, other))
    for at, peer, topic in _last_prune(events):
        # Whether it ends a membership tells a backoff that is not kept from a PRUNE that is not read.
        graft = Receive((peer,), (Graft(topic),))
        asked_by = (Connect((other,)), Receive((other,), (Message(LAST, topic),)), beat)
        yield (*events[:at], graft, events[at], *asked_by)
    if unwanted := _unwanted(events, topic):
        # All that was not wanted comes: a cap on what is remembered shows in what is sent all the same.
        joined = (Connect((other,)), Receive((other,), (Subscribe(topic),)))
        sent = tuple(Receive((other,), (message,)) for message in unwanted)
        yield (*events[:-1], *joined, *sent, *_verdicts((*events[:-1], *sent), parameters), beat)
    yield from ((*acts, beat) for acts in _advertised(events, topic, parameters))
    yield from ((*acts, beat) for acts in _flawed_otherwise(events))
    if isinstance(events[-1], Publish):
        # To two more subscribers, one of whom is in the mesh: who is sent it says more than to one.
        topic, new = events[-1].message.topic, (other + 1, other + 2)
        both = (Connect(new), Receive(new, (Subscribe(topic),)), Receive(new[:1], (Graft(topic),)))
        yield (*events[:-1], *both, events[-1], beat)


def probes_of_redundancy(events: Sequence[Event], parameters: Any) -> Iterator[Acts]:
    """Adjustments of DOG's controller at, below and above each bound, where the minimal run has any: what is
    wrong about a bound, or about what is compared with it, shows beside another."""
    if not any(isinstance(event, Adjust) for event in events):
        return
    target, width = (
        parameters.target_redundancy,
        parameters.target_redundancy * parameters.delta_percent / 100,
    )
    one = max(_peers(events), default=0) + 1
    for first in COUNTED:
        bounds = (target - width, target, target + width)
        near = {at for bound in bounds for at in (ceil(bound * first) - 1, floor(bound * first) + 1)}
        counts = near | {floor(bound * first) for bound in (*bounds, target / 2, 2 * target)}
        for duplicates in sorted(count for count in counts if 0 <= count <= MOST_DUPLICATES):
            txs = tuple(Tx(f"c{number}t") for number in range(first))
            again = (Receive((one + 1,), txs[:1]),) * duplicates
            yield Connect((one, one + 1)), Receive((one,), txs), *again, Adjust(), Receive((one,), txs[:1])


def with_authors(acts: Sequence[Event], parameters: Any) -> Acts:
    """The acts, in which whoever sends a message first is its author, where messages have authors."""
    if getattr(parameters, "signature_policy", "StrictNoSign") == "StrictNoSign":
        return tuple(acts)
    first: dict[str, Peer] = {}

    def signed(event: Event) -> Event:
        if isinstance(event, Publish):
            return Publish(_signed(event.message, ROUTER, first))
        if not isinstance(event, Receive):
            return event
        return evolve(event, parts=tuple(_signed(part, event.peers[0], first) for part in event.parts))

    return tuple(map(signed, acts))


def _signed(part: P, sender: Peer, first: dict[str, Peer]) -> P:
    if not isinstance(part, Message) or part.flaw:
        return part
    known = part.author if part.author is not None else first.get(part.id, sender)
    return evolve(part, author=first.setdefault(part.id, known))


def _advertised(events: Sequence[Event], topic: str, parameters: Any) -> Iterator[Acts]:
    """In place of an IHAVE at the end, one of a message that has come and is decided on: whether it is
    requested says whether messages are known at all. And after it, at once, twice of what the caps allow and
    more: what is capped otherwise has an end, too."""
    last = events[-1]
    if isinstance(last, Receive) and any(isinstance(part, IHave) for part in last.parts):
        ids, rpcs = parameters.max_ihave_length, parameters.max_ihave_messages
        if ids <= MOST_ADVERTISED:
            yield (*events, *_ihaves(last.peers[:1], topic, 3, ids))
        if rpcs <= MOST_ADVERTISED:
            yield (*events, *_ihaves(last.peers[:1], topic, 2 * rpcs + 1, 1))
        came = Receive(last.peers[:1], (Message(MINE, topic),))
        advertised = Receive(last.peers[:1], (IHave(topic, (MINE,)),))
        yield (*events[:-1], came, *_verdicts((came,), parameters), advertised)


def _ihaves(peers: tuple[Peer, ...], topic: str, number: int, ids: int) -> Iterator[Receive]:
    """So many IHAVEs, each of so many messages that nobody has heard of."""
    for first in range(ADVERTISED_FROM, ADVERTISED_FROM + number * ids, ids):
        yield Receive(peers, (IHave(topic, tuple(f"m{first + at}" for at in range(ids))),))


def _unwanted(events: Sequence[Event], topic: str) -> list[Message]:
    """The messages that several IDONTWANTs name and that have not come before the last event."""
    parts = [part for event in events[:-1] if isinstance(event, Receive) for part in event.parts]
    named = dict.fromkeys(i for part in parts if isinstance(part, IDontWant) for i in part.ids)
    come = {message.id for message in messages_in(events[:-1])}
    own = {message.id: message for message in messages_in(events[-1:])}
    left = [own.get(name, Message(name, topic)) for name in named if name not in come]
    return left if len(left) > 1 else []


def _flawed_otherwise(events: Sequence[Event]) -> Iterator[Acts]:
    """In place of a message at the end that breaks the signature policy, one that breaks it otherwise: who
    overlooks one thing is told apart from who overlooks several."""
    last = events[-1]
    if not isinstance(last, Receive):
        return
    for message in (part for part in last.parts if isinstance(part, Message) and part.flaw in FLAWS):
        for flaw in FLAWS:
            if flaw != message.flaw:
                yield (*events[:-1], evolve(last, parts=(evolve(message, id=MINE, flaw=flaw),)))


def _last_prune(events: Sequence[Event]) -> Iterator[tuple[int, Peer, str]]:
    """Where the last PRUNE comes, of whom, and in which topic; nothing if none does."""
    for at in reversed(range(len(events))):
        event = events[at]
        for part in event.parts if isinstance(event, Receive) else ():
            if isinstance(part, Prune):
                assert isinstance(event, Receive)
                yield at, event.peers[0], part.topic
                return


def probes_at_scores(events: Sequence[Event], parameters: Any) -> Iterator[tuple[Acts, tuple[Acts, ...]]]:
    """A run in which a peer has the score 0, and the same run at a score below each threshold; where the
    minimal run has a score at all. Nothing else of it is in them: what a score makes shows by itself."""
    opened = _opened(events, parameters, ())
    if opened is None or not any(isinstance(event, Score) for event in events):
        return
    beat = Advance(parameters.heartbeat_interval_ms)
    lows = [limit - 1 for limit in limits_of(parameters)]
    plain, *low = (tuple(_at_score(opened, value, beat)) for value in (0, *lows))
    for at, acts in enumerate(plain):
        ends = (*_verdicts(acts, parameters), beat)
        yield (*opened.acts, *acts, *ends), tuple((*opened.acts, *those[at], *ends) for those in low)


@frozen
class ProbeStage:
    """What comes first: some events of the minimal run, then two more peers in a topic of it that the router
    has joined."""

    acts: Acts
    topic: str
    one: Peer
    other: Peer


def _opened(events: Sequence[Event], parameters: Any, before: Sequence[Event]) -> ProbeStage | None:
    topic = next(iter(topics_of(events)), "")
    if not topic or not hasattr(parameters, "graylist_threshold"):
        return None
    one = max(_peers(events), default=0) + 1
    acts = (
        *before,
        *(() if _is_joined(before, topic) else (Join(topic),)),
        Connect((one, one + 1)),
        Receive((one, one + 1), (Subscribe(topic),)),
    )
    return ProbeStage(acts, topic, one, one + 1)


def _asks(one: Peer, other: Peer, topic: str) -> Iterator[Acts]:
    """What shows whether a peer is in the mesh or in backoff, and what is known of its messages."""
    graft, prune = Receive((one,), (Graft(topic),)), Receive((one,), (Prune(topic, BACKOFF_S),))
    yield (graft,)
    yield (prune, graft)
    yield (graft, prune, graft)
    own = Receive((one,), (Message(MINE, topic),))
    yield (own, Receive((other,), (Message(MINE, topic),)))
    yield (own, Receive((other,), (IWant((MINE,)),)))
    yield (Receive((one,), (IHave(topic, (WANTED,)),)),)
    yield (Leave(topic), Join(topic))


def _at_score(opened: ProbeStage, value: int, beat: Event) -> Iterator[Acts]:
    """A peer with this score is heard, answered and sent to, in the mesh and outside; and a heartbeat later,
    when the score may be forgotten."""
    one, other, topic = opened.one, opened.other, opened.topic
    low, graft = Score((one,), value), Receive((one,), (Graft(topic),))
    relayed = Receive((other,), (Message(LAST, topic),))
    yield (low,)
    yield (low, graft, relayed)
    yield (low, beat, graft, relayed)
    yield (graft, low, relayed)
    yield (graft, low, Publish(Message(LAST, topic)))
    yield (low, Receive((one,), (Message(MINE, topic),)))
    yield (low, Receive((one,), (IHave(topic, (WANTED,)),)))
    yield (relayed, low, Receive((one,), (IWant((LAST,)),)))


def _again(events: Sequence[Event], parameters: Any, other: Peer) -> Iterator[Acts]:
    """The minimal run, after which one of its RPCs comes once more, from the same peers or from another."""
    told = [event for event in events if isinstance(event, Receive)][-MOST_AGAIN:]
    verdicts = _verdicts(events, parameters)
    for each in told:
        yield (*events, each, *verdicts)
        yield (*events, Connect((other,)), Receive((other,), each.parts), *verdicts)


def _verdicts(events: Sequence[Event], parameters: Any) -> Acts:
    """The acceptance of each message that waits for it."""
    if getattr(parameters, "validation", "") != "manual":
        return ()
    told = {event.id for event in events if isinstance(event, Verdict)}
    heard = [m.id for event in events if isinstance(event, Receive) for m in messages_in([event])]
    return tuple(Verdict(name, "accept") for name in dict.fromkeys(heard) if name not in told)


def topics_of(events: Sequence[Event]) -> list[str]:
    """The topics that are named, those of the last events first."""
    found: dict[str, None] = {}
    for event in reversed(events):
        parts = event.parts if isinstance(event, Receive) else ()
        named = (event, *parts, *messages_in([event]))
        found |= dict.fromkeys(topic for each in named if (topic := getattr(each, "topic", "")))
    return list(found)


def _peers(events: Sequence[Event]) -> set[Peer]:
    return {peer for event in events for peer in getattr(event, "peers", ())}


def _is_joined(events: Sequence[Event], topic: str) -> bool:
    told = [event for event in events if isinstance(event, Join | Leave) and event.topic == topic]
    return bool(told) and isinstance(told[-1], Join)
