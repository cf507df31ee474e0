"""A run: events go to a subject and to the model, outputs are judged, everything is written down.

A subject is anything that takes events and gives outputs: a real router behind the seam (`WireSubject`), or
the model itself as a router (`ModelSubject`), which needs no bytes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, cast

from attrs import evolve, field, frozen, mutable

from quidnunc.impl.seam import AdapterError, AddressedDriver, Config, Driver, Hello, Reply
from quidnunc.impl.wire.families import WIRES, WireFamily
from quidnunc.impl.wire.keys import peer_id
from quidnunc.model.choices import SeededChoices
from quidnunc.model.errors import RuleError, SpecError
from quidnunc.model.events import (
    ANY_STATE,
    NOTHING_KEPT,
    Adjust,
    Advance,
    Closed,
    Commit,
    Connect,
    Crashed,
    Delivered,
    Dialled,
    Disconnect,
    Event,
    Feedback,
    Join,
    Leave,
    Offered,
    Output,
    Publish,
    PublishPartial,
    Raw,
    Receive,
    Resume,
    Score,
    Sent,
    Stall,
    Submit,
    Verdict,
    output_key,
)
from quidnunc.model.machine import PROTOCOLS, Family, family_of, protocol_named
from quidnunc.model.permits import Permit
from quidnunc.model.rpc import UNSAID, Extensions, Message, Part, Prune, atoms, ids_named
from quidnunc.model.rules import Protocol as Rules
from quidnunc.properties.judge import partial_requests as partial_wire
from quidnunc.properties.judge.crashes import crash_name
from quidnunc.properties.judge.oracle import Departure, EventJudgement, Oracle

Opener: TypeAlias = Callable[[Config], "Subject"]


class Subject(Protocol):
    """A router under test, at the level of events."""

    hello: Hello

    def do(self, event: Event) -> tuple[Output, ...]:
        """Take one event that names one peer at most, and say what was seen until the router rested."""
        ...

    def declare(self, messages: Sequence[Message]) -> None:
        """Messages that will be spoken of, so that their ids are known before they are sent."""
        ...

    def close(self) -> None: ...


@mutable
class WireSubject:
    """A real router behind the seam. Translates events to bytes and back with the kit's only codec."""

    driver: Driver
    config: Config
    hello: Hello = field(init=False)
    _family: WireFamily = field(init=False)
    _codec: Any = field(init=False)
    _told: set[int] = field(factory=set)
    """Peers that the router has written to since they connected."""

    def __attrs_post_init__(self) -> None:
        self.hello = self.driver.hello
        protocol = protocol_named(self.config.protocol)
        parameters = self.config.parameters or family_of(protocol).parameters()
        self._family = WIRES[protocol.family]
        self._codec = self._family.codec(protocol.name, parameters, "extension" in protocol.handlers)

    def do(self, event: Event) -> tuple[Output, ...]:
        return tuple(self._outputs(self._request(event)))

    def _request(self, event: Event) -> Reply:
        driver, codec = self.driver, self._codec
        match event:
            case Receive((peer,), parts):
                return self._receive(peer, parts)
            case Advance(ms):
                return driver.advance(ms)
            case Connect((peer,), protocol, outbound, address):
                self._told.discard(peer)
                # From here on the router may name the peer by its id.
                peer_id(peer)
                if address:
                    return cast("AddressedDriver", driver).connect(peer, protocol, outbound, address)
                return driver.connect(peer, protocol, outbound)
            case Disconnect((peer,)):
                return driver.disconnect(peer)
            case Stall((peer,)):
                return driver.stall(peer)
            case Resume((peer,)):
                return driver.resume(peer)
            case Raw((peer,), kind):
                return driver.raw(peer, self._family.malformed[kind]())
            case Join(topic, requests, supports):
                if requests or supports:
                    return partial_wire.join(driver, topic, requests, supports)
                return driver.join(topic)
            case PublishPartial() | Feedback():
                return partial_wire.request(driver, event)
            case Leave(topic):
                return driver.leave(topic)
            case Publish(message):
                return driver.publish(message.topic, codec.data_of(message))
            case Verdict(message_id, judgement):
                return driver.verdict(codec.id_bytes(message_id), judgement)
            case Score((peer,), value):
                return driver.score(peer, value)
            case Submit(tx):
                return driver.submit(codec.tx_bytes(tx))
            case Commit(tx):
                return driver.commit(codec.tx_bytes(tx))
            case Adjust():
                return driver.adjust()
        raise AdapterError(f"an event for one peer was expected, got {event!r}")

    def _receive(self, peer: int, parts: tuple[Part, ...]) -> Reply:
        messages = self._family.messages(self._codec, parts, peer)
        # Who has one channel alone is not asked for another.
        replies = [
            self.driver.rpc(peer, data, channel) if channel else self.driver.rpc(peer, data)
            for channel, data in messages
        ]
        if len(replies) == 1:
            return replies[0]
        return Reply(
            t_ms=replies[-1].t_ms if replies else 0,
            out=tuple(o for each in replies for o in each.out),
            closed=tuple(c for each in replies for c in each.closed),
            crashed=next((each.crashed for each in replies if each.crashed), ""),
        )

    def _outputs(self, reply: Reply) -> Iterator[Output]:
        for peer, channel, data in reply.out:
            if channel and not self._family.has_channels:
                raise AdapterError(
                    f"{self.hello.name}: `out` has an RPC to peer {peer} on channel {channel}; pubsub has no "
                    "channels, so answer 0"
                )
            parts = self._family.parts(self._codec, channel, data)
            late = peer in self._told
            self._told.add(peer)
            for part in parts:
                if late and isinstance(part, Extensions):
                    part = evolve(part, late=True)
                for atom in atoms(part):
                    yield Sent(peer, atom)
        yield from partial_wire.outputs(reply.partial)
        for delivery in reply.delivered:
            yield Delivered(self._codec.delivered(delivery.topic, delivery.data))
        for peer in reply.dials:
            yield Dialled(peer)
        for peer in reply.closed:
            yield Closed(peer)
        if reply.crashed:
            yield Crashed(reply.crashed)

    def declare(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self._family.declare(self._codec, message)

    def id_of(self, symbol: str) -> bytes:
        """The bytes by which routers name that message or transaction."""
        return self._family.id_bytes(self._codec, symbol)

    def name_of(self, message_id: bytes) -> str:
        """The symbol of a message, or of a transaction, by the bytes of its id."""
        return str(self._codec.symbol_of(message_id))

    def close(self) -> None:
        self.driver.close()


@mutable
class ModelSubject:
    """The model as a router: does what it must, and of what it may, what its die says."""

    protocol: Rules
    parameters: Any
    seed: int = 0
    hello: Hello = field(init=False)
    _state: Any = field(init=False)
    _family: Family = field(init=False)
    _die: random.Random = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._family = family_of(self.protocol)
        self._state = self._family.start(self.protocol, self.parameters)
        self._die = random.Random(self.seed)
        self.hello = Hello(name="model", version=self.protocol.name, protocols=())

    def do(self, event: Event) -> tuple[Output, ...]:
        if not self._family.applicable(self._state, event):
            # Another protocol than the judge's may be elsewhere by now.
            return ()
        after = self._family.step(self._state, event, SeededChoices(self._die))
        self._state = after.router
        shared: dict[object, bool] = {}
        said = [as_sent(p.output) for p in after.permits if p.must or self._likes(p, shared)]
        return tuple(dict.fromkeys(said))

    def _likes(self, permit: Permit, shared: dict[object, bool]) -> bool:
        """Half of what is free; `shared` keeps what was drawn for what goes to all peers or to none."""
        if not permit.together or not isinstance(permit.output, Sent):
            return self._die.random() < 0.5
        key = permit.clause, permit.output.part
        if key not in shared:
            shared[key] = self._die.random() < 0.5
        return shared[key]

    def declare(self, messages: Sequence[Message]) -> None:
        pass

    def close(self) -> None:
        pass


def as_sent(output: Output) -> Output:
    """A permitted output as one that can be sent."""
    if isinstance(output, Sent) and isinstance(output.part, Prune) and output.part.backoff_s == UNSAID:
        return Sent(output.peer, Prune(output.part.topic))
    if isinstance(output, Sent) and isinstance(output.part, Prune) and output.part.records == "any":
        return Sent(output.peer, evolve(output.part, peers=output.part.peers[:2], records=""))
    if isinstance(output, Offered) and output.state == ANY_STATE:
        return evolve(output, state=NOTHING_KEPT)
    return output


@frozen
class Moment:
    """One event of a run, what the router did, and what was judged of it."""

    event: Event
    outputs: tuple[Output, ...]
    judged: EventJudgement


def clauses_tested(judged: EventJudgement) -> set[str]:
    """Clauses that the router was seen to keep to in one moment.

    Of a moment that departs, these are the obligations that were met; a crash leaves none.
    """
    if not judged.departures:
        return (set(judged.because) - set(judged.untested)) | set(judged.spent)
    return set(judged.spent) - clauses_left_open(judged)


def clauses_left_open(judged: EventJudgement) -> set[str]:
    """Clauses that a departing moment leaves open: those of its departures.

    After a crash they are all that the event was judged by, because the router may have done none of it.
    """
    found = {d.clause for d in judged.departures}
    if any(d.kind == "crash" for d in judged.departures):
        found |= {*judged.because, *judged.spent}
    return found


def clauses_at_work(moments: Iterable[Moment]) -> set[str]:
    """All clauses that a run was judged by: one of them is broken if it departs, whatever is behind that."""
    found = set[str]()
    for judged in (moment.judged for moment in moments):
        found |= {*judged.because, *judged.spent, *clauses_tested(judged), *clauses_left_open(judged)}
    return found


RecordedStep: TypeAlias = tuple[Event, tuple[Output, ...]]
"""An event, and what the router did."""


def steps_of(moments: Iterable[Moment]) -> tuple[RecordedStep, ...]:
    """Moments without what was judged of them."""
    return tuple((moment.event, moment.outputs) for moment in moments)


@mutable
class Play:
    """One run of a subject beside the model. `run` is over at the first departure."""

    subject: Subject
    oracle: Oracle
    moments: list[Moment] = field(factory=list)
    applied: Counter[str] = field(factory=Counter)
    sent: dict[str, bool] = field(factory=dict)
    """Kind of what it was allowed to send (`IDontWant`) -> whether it sent any."""
    steps: int = 0
    blurred: bool = False
    own: set[str] = field(factory=set)
    shown: set[str] = field(factory=set)
    """Ids of own messages that some peer has been told; nobody can name another one before."""

    def do(self, event: Event) -> tuple[Departure, ...]:
        """`event`, one peer and one heartbeat at a time; what is not applicable is left out.

        Returns the departures of the first step that has any; the rest of a burst is then not played.
        """
        if self.blurred:
            return ()
        for single in singles(event, self.oracle):
            if not self.oracle.applicable(single) or self._names_what_nobody_knows(single):
                continue
            found = self._step(single)
            if found or self.blurred:
                return found
        return ()

    def _names_what_nobody_knows(self, event: Event) -> bool:
        """Whether a peer names, or sends, a message of the router's own that the router has sent nobody: its
        sequence number is not known, and a guess at it is another message."""
        if not isinstance(event, Receive):
            return False
        named = [i for part in event.parts for i in ids_named(part)]
        named += [part.id for part in event.parts if isinstance(part, Message)]
        return any(i in self.own and i not in self.shown for i in named)

    def _step(self, event: Event) -> tuple[Departure, ...]:
        if isinstance(event, Publish):
            self.own.add(event.message.id)
        outputs = self.subject.do(event)
        judged = judged_by(self.oracle, event, outputs)
        self.moments.append(Moment(event, outputs, judged))
        self.applied.update(clauses_tested(judged))
        self.steps += 1
        for permit in judged.permits:
            if isinstance(permit.output, Sent):
                self.sent.setdefault(type(permit.output.part).__name__, False)
        for output in outputs:
            if isinstance(output, Sent):
                self.sent[type(output.part).__name__] = True
                if isinstance(output.part, Message):
                    self.shown.add(output.part.id)
        self.blurred = judged.blurred
        return () if judged.blurred else judged.departures


def singles(event: Event, oracle: Oracle) -> Iterator[Event]:
    """`event`, one peer and one heartbeat at a time; the state of `oracle` says when the next one is."""
    if isinstance(event, Advance):
        left = event.ms
        while left > 0:
            slice_ms = min(left, family_of(oracle.protocol).until_tick_ms(oracle.state))
            left -= slice_ms
            yield Advance(slice_ms)
    elif hasattr(event, "peers"):
        burst: Any = event
        for peer in burst.peers:
            yield evolve(burst, peers=(peer,))
    else:
        yield event


def play(events: Sequence[Event], subject: Subject, protocol: Rules, parameters: Any) -> Play:
    """Play all of `events`, to the first departure. Closes the subject."""
    return play_judged_by(Oracle(protocol, parameters), events, subject)


def play_judged_by(oracle: Oracle, events: Sequence[Event], subject: Subject) -> Play:
    """As `play`, by an oracle of the caller's."""
    run = Play(subject, oracle)
    try:
        subject.declare(messages_in(events))
        for event in events:
            if run.do(event) or run.blurred:
                break
    finally:
        subject.close()
    return run


def messages_in(events: Sequence[Event]) -> list[Message]:
    """Every good message of the events, each once."""
    parts = [p for e in events if isinstance(e, Receive) for p in e.parts]
    found = [p for p in parts if isinstance(p, Message) and not p.flaw]
    found += [e.message for e in events if isinstance(e, Publish)]
    return list({m.id: m for m in found}.values())


def rejudge(moments: Sequence[Moment], protocol: Rules, parameters: Any) -> tuple[int, tuple[Departure, ...]]:
    """Judge recorded outputs by another protocol: (moments agreed with, departures of the next)."""
    oracle = Oracle(protocol, parameters, tells=False)
    for at, moment in enumerate(moments):
        if oracle.passes_over(moment.event, moment.outputs):
            continue
        if not oracle.follows(moment.event):
            return at, (Departure("choice", "", reason="the event cannot happen under this protocol"),)
        judged = judged_by(oracle, moment.event, moment.outputs)
        if judged.blurred:
            return at, ()
        if judged.departures:
            return at, judged.departures
    return len(moments), ()


def judged_by(oracle: Oracle, event: Event, outputs: Sequence[Output]) -> EventJudgement:
    """As `oracle.judge`; where edited rules raise, they and the router are said to differ, at no clause.

    An edit can take away what other rules count on, after many runs for which it accounted. Rules without an
    edit may not raise: that is an error of ours, and stays one.
    """
    try:
        return oracle.judge(event, outputs)
    except (RuleError, SpecError):
        raise
    except Exception as error:
        if oracle.protocol is PROTOCOLS.get(oracle.protocol.name):
            raise
        reason = f"the edited rules cannot judge this event: {type(error).__name__}: {error}"
        return EventJudgement((Departure("choice", "", reason=reason),), (), (), ())


def same_act(a: Departure, b: Departure) -> bool:
    """Whether two departures are of one kind, clause and act (peers aside)."""
    return (a.kind, a.clause, act_of(a)) == (b.kind, b.clause, act_of(b))


def act_of(departure: Departure) -> str:
    """What was done or left out, without whom it concerned: `Graft`, `Message`, `choice`; for a
    crash, which one."""
    output = departure.observed or departure.expected
    if output is None:
        return departure.reason.split(":")[0]
    if isinstance(output, Crashed):
        return f"Crashed: {crash_name(output)}"
    output = output_key(output)
    if isinstance(output, Sent):
        return type(output.part).__name__
    return type(output).__name__ if not isinstance(getattr(output, "message", None), Message) else "Delivered"
