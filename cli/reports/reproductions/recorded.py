"""What a driver was asked in one run of a case, and what a test may assert of the last answer.

Words here are one thing that a router did, `prune t1 backoff=60`: every language reads the router's bytes
into the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from attrs import evolve, field, frozen, mutable

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import Config, Driver, Hello, Reply
from quidnunc.impl.wire import mempool_pb2
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.model.events import Advance, Closed, Crashed, Delivered, Dialled, Event, Output, Sent
from quidnunc.model.rpc import (
    UNSAID,
    Graft,
    HaveTx,
    IDontWant,
    IHave,
    IWant,
    Message,
    Peer,
    Prune,
    ResetRoute,
    Subscribe,
    Tx,
    Unsubscribe,
)
from quidnunc.properties.cases.case import Case, router_of
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.judge.oracle import Departure
from quidnunc.properties.judge.play import Moment, WireSubject
from quidnunc.properties.notation.lines import event_text

REQUESTS = frozenset(
    {
        *("connect", "disconnect", "stall", "resume", "rpc", "raw"),
        *("join", "leave", "publish", "verdict", "score"),
        *("submit", "commit", "adjust"),
    }
)
"""That a test can make beside `advance`."""


class NoReproductionError(ValueError):
    """A finding that no test is written of. Says why."""


@frozen
class RecordedCall:
    """One request to the driver, to one peer or to several alike."""

    request: str
    peers: tuple[Peer, ...]
    values: tuple[Any, ...]
    """Without the peer."""
    says: str
    """The event, as a case has it, without the peer."""

    def merged(self, other: RecordedCall) -> RecordedCall | None:
        """Both as one call; None where they differ in more than the peer, or the time that passes."""
        if self.request == other.request == "advance":
            return evolve(self, values=(self.values[0] + other.values[0],))
        alike = (self.request, self.values) == (other.request, other.values)
        if not alike or not self.peers or self.request in ("raw", "score"):
            return None
        return evolve(self, peers=(*self.peers, *other.peers))


@frozen
class Assertion:
    """What holds of the last answer of a router that follows the text."""

    peer: Peer | None
    """To whom something is sent; None where it concerns no peer's stream."""
    words: str
    must: bool
    """Something that begins so is there. Otherwise, exactly this is not there."""
    most: int = 0
    """Where it must not be: how often it may be all the same."""
    everybody: bool = False
    """It must not be sent to any peer: which one it was sent to may be the router's choice."""


@frozen
class RecordedRun:
    """A run of a case as calls and assertions."""

    case: Case
    version: str
    setup: dict[str, Any]
    """How the driver made the router, in values."""
    before: tuple[RecordedCall, ...]
    last: tuple[RecordedCall, ...]
    """After which the router departs: the last event, and those before it that could bring what is due."""
    assertions: tuple[Assertion, ...]
    said: tuple[tuple[Peer | None, str], ...]
    """All that the router did at `last`: to whom, and in which words."""


@mutable
class _RecordedDriver:
    """A driver, with what it was asked."""

    inner: Any
    hello: Hello = field(init=False)
    asked: list[tuple[str, tuple[Any, ...], Reply]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.hello = self.inner.hello

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if name not in REQUESTS and name != "advance":
            return method

        def ask(*values: Any) -> Reply:
            reply: Reply = method(*values)
            self.asked.append((name, values, reply))
            return reply

        return ask


@mutable
class _RecordedSubject:
    """A subject that keeps the calls of each event."""

    driver: _RecordedDriver
    config: Config
    setup: dict[str, Any]
    inner: WireSubject = field(init=False)
    hello: Hello = field(init=False)
    steps: list[list[RecordedCall]] = field(factory=list)
    replies: list[list[Reply]] = field(factory=list)
    begins: int = 0
    """The step from which on outputs are looked at."""

    def __attrs_post_init__(self) -> None:
        self.inner = WireSubject(self.driver, self.config)
        self.hello = self.inner.hello

    def do(self, event: Event) -> tuple[Output, ...]:
        self.driver.asked.clear()
        outputs = self.inner.do(event)
        says = event_text(event)
        if not isinstance(event, Advance):
            says = says.partition(": ")[2] or says
        self.steps.append([_call(*asked[:2], says) for asked in self.driver.asked])
        self.replies.append([reply for _, _, reply in self.driver.asked])
        return outputs

    @property
    def last(self) -> list[Reply]:
        """What the driver answered since `begins`."""
        return [reply for replies in self.replies[self.begins :] for reply in replies]

    def declare(self, messages: Any) -> None:
        self.inner.declare(messages)

    def close(self) -> None:
        self.inner.close()


def _call(request: str, values: tuple[Any, ...], says: str) -> RecordedCall:
    if request in ("connect", "disconnect", "stall", "resume", "rpc", "raw", "score"):
        return RecordedCall(request, (values[0],), values[1:], says)
    return RecordedCall(request, (), values, says)


def recorded(case: Case, setup_of: Callable[[Driver], dict[str, Any]] = lambda driver: {}) -> RecordedRun:
    """The calls of a replay of `case` on the router that it names, which departs.

    Raises NoReproductionError where it does not, or where no test can be made of how it departs; AdapterError
    and ValueError as `open_router` does.
    """
    if case.is_network:
        raise NoReproductionError("a case of a network is about no router")
    if case.without:
        raise NoReproductionError("additions of the router are switched off in this case")
    subjects: list[_RecordedSubject] = []

    def opener(config: Config) -> _RecordedSubject:
        driver = open_router(router_of(case), config)
        setup = setup_of(driver)
        subjects.append(_RecordedSubject(_RecordedDriver(driver), config, setup))
        return subjects[-1]

    replayed = replay_router(case, opener)
    if replayed.outcome != "same":
        raise NoReproductionError(f"the replay does not depart as recorded: {replayed.reason}")
    (subject,) = subjects
    departures = replayed.departures
    subject.begins = min(_due_since(each, replayed.moments) for each in departures)
    permits = [permit.output for permit in replayed.moments[-1].judged.permits]
    assertions = tuple(_assertion(each, departures, permits, subject) for each in departures)
    if all(_holds(each, subject) for each in assertions):
        raise NoReproductionError("the departure is one of order alone")
    return RecordedRun(
        case,
        replayed.version,
        subject.setup,
        tuple(_merged(call for step in subject.steps[: subject.begins] for call in step)),
        tuple(_merged(call for step in subject.steps[subject.begins :] for call in step)),
        tuple(dict.fromkeys(assertions)),
        tuple(each for reply in subject.last for each in words_in(reply)),
    )


def _due_since(departure: Departure, moments: Sequence[Moment]) -> int:
    """The first moment at which what a departure lacks could have come: it may be due for some time."""
    since = len(moments) - 1
    while since and departure.expected in [p.output for p in moments[since - 1].judged.permits]:
        since -= 1
    return since


def _merged(calls: Iterable[RecordedCall]) -> Iterator[RecordedCall]:
    """Neighbours that differ in the peer alone are one."""
    held: RecordedCall | None = None
    for call in calls:
        both = held.merged(call) if held is not None else None
        if held is not None and both is None:
            yield held
        held = both or call
    if held is not None:
        yield held


def _assertion(
    departure: Departure,
    departures: Sequence[Departure],
    permits: Sequence[Output],
    subject: _RecordedSubject,
) -> Assertion:
    """What a router that follows the text does in the place of a departure."""
    wanted, seen = departure.expected, departure.observed
    if isinstance(seen, Crashed):
        raise NoReproductionError("what makes a router crash is told in private")
    output = wanted if wanted is not None else seen
    if output is None:
        raise NoReproductionError("the router's choice is at fault, and no one output of it")
    words = _words_of(output, subject)
    peer = output.peer if isinstance(output, Sent) else None
    if wanted is not None:
        return Assertion(peer, words, True)
    told = [each for reply in subject.last for each in words_in(reply)]
    times = told.count((peer, words))
    wrong = [each.observed for each in departures].count(seen)
    if times < wrong:
        raise NoReproductionError(f"what it did is not seen in its bytes: {words}")
    blamed = {each.observed.peer for each in departures if isinstance(each.observed, Sent)}
    elsewhere = any(said == words and to not in blamed for to, said in told)
    if isinstance(seen, Sent) and not elsewhere and not any(_alike(seen, each) for each in permits):
        return Assertion(None, words, False, everybody=True)
    return Assertion(peer, words, False, times - wrong)


def _alike(seen: Sent, permitted: Output) -> bool:
    """Whether something of this kind and topic is permitted to whatever peer."""
    if not isinstance(permitted, Sent) or type(permitted.part) is not type(seen.part):
        return False
    return getattr(permitted.part, "topic", None) == getattr(seen.part, "topic", None)


def _holds(assertion: Assertion, subject: _RecordedSubject) -> bool:
    """Whether it holds of the router as it was recorded."""
    told = [each for reply in subject.last for each in words_in(reply)]
    said = [w for peer, w in told if assertion.everybody or peer == assertion.peer]
    if assertion.must:
        return any(words.startswith(assertion.words) for words in said)
    return said.count(assertion.words) <= assertion.most


def _words_of(output: Output, subject: _RecordedSubject) -> str:
    """An output in words."""
    match output:
        case Sent(_, part):
            return _part_words(part, subject)
        case Delivered(message):
            return f"deliver {message.topic} {message.id}"
        case Closed(peer):
            return f"close {peer}"
        case Dialled(peer):
            return f"dial {peer}"
    raise NoReproductionError(f"no test is written of {type(output).__name__}")


def _part_words(part: Any, subject: _RecordedSubject) -> str:
    match part:
        case Subscribe(topic) | Unsubscribe(topic) | Graft(topic):
            return f"{type(part).__name__.lower()} {topic}"
        case Prune(topic, _, _, "any"):
            # How many peers it offers is left open.
            return f"prune {topic}"
        case Prune(topic, backoff, peers):
            return _prune_words(topic, len(peers or ()), None if backoff == UNSAID else backoff)
        case Message(name, topic):
            return f"message {topic} {name}"
        case IHave(topic, (name,)):
            return f"ihave {topic} {_id(name, subject)}"
        case IWant((name,)) | IDontWant((name,)):
            return f"{type(part).__name__.lower()} {_id(name, subject)}"
        case Tx(name):
            return f"tx {name}"
        case HaveTx(name):
            return f"havetx {subject.inner.id_of(name).hex()}"
        case ResetRoute():
            return "resetroute"
    raise NoReproductionError(f"no test is written of {type(part).__name__}")


def _id(name: str, subject: _RecordedSubject) -> str:
    """An id in hexadecimal: that of the bytes that were said, since a router's own are its own affair."""
    for reply in subject.last:
        for _, words in words_in(reply):
            last = words.rpartition(" ")[2]
            if words.startswith(("ihave", "iwant", "idontwant")) and last:
                if subject.inner.name_of(bytes.fromhex(last)) == name:
                    return last
    return subject.inner.id_of(name).hex()


def words_in(reply: Reply) -> Iterator[tuple[Peer | None, str]]:
    """(peer, words) of all that a reply says."""
    for peer, channel, data in reply.out:
        # Channel 0 is of pubsub; the others are a mempool's.
        words_of = words_of_mempool if channel else words_of_rpc
        yield from ((peer, words) for words in words_of(data))
    for each in reply.delivered:
        yield None, f"deliver {each.topic} {_name(each.data)}"
    yield from ((None, f"close {peer}") for peer in reply.closed)
    yield from ((None, f"dial {peer}") for peer in reply.dials)


def words_of_rpc(data: bytes) -> Iterator[str]:
    """What an RPC says, one thing a word, in the order of its fields."""
    rpc = wire.RPC.FromString(data)
    for sub in rpc.subscriptions:
        yield f"{'subscribe' if sub.subscribe else 'unsubscribe'} {sub.topicid}"
    for message in rpc.publish:
        yield f"message {message.topic} {_name(message.data)}"
    control = rpc.control
    for have in control.ihave:
        yield from (f"ihave {have.topicID} {each.hex()}" for each in have.messageIDs)
    for want in control.iwant:
        yield from (f"iwant {each.hex()}" for each in want.messageIDs)
    yield from (f"graft {graft.topicID}" for graft in control.graft)
    for prune in control.prune:
        backoff = prune.backoff if prune.HasField("backoff") else None
        yield _prune_words(prune.topicID, len(prune.peers), backoff)
    for refused in control.idontwant:
        yield from (f"idontwant {each.hex()}" for each in refused.messageIDs)


def _prune_words(topic: str, offered: int, backoff: int | None) -> str:
    """How many peers it offers comes first: a test asks how words begin."""
    said = f"prune {topic}" + (f" px={offered}" if offered else "")
    return said if backoff is None else f"{said} backoff={backoff}"


def words_of_mempool(data: bytes) -> Iterator[str]:
    """The same of a message of a mempool."""
    message = mempool_pb2.Message.FromString(data)
    yield from (f"tx {_name(tx)}" for tx in message.txs.txs)
    if message.HasField("have_tx"):
        yield f"havetx {message.have_tx.tx_key.hex()}"
    if message.HasField("reset_route"):
        yield "resetroute"


def _name(data: bytes) -> str:
    """The name of a message: its data up to the first line break."""
    return data.partition(b"\n")[0].decode("utf-8", "replace")
