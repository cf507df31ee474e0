"""What a driver was asked in one run of a case, and what a test may assert of the last answer.

What a router did is told here in lines of a case, one thing each: `a: prune t1 backoff=60`. Every language
reads the router's bytes into the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from attrs import evolve, field, frozen, mutable

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import Config, Driver, Hello, Reply
from quidnunc.impl.wire import mempool_pb2
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.keys import peer_of
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
from quidnunc.properties.notation.words import STRANGER, peer_text

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


AssertionKind: TypeAlias = Literal["must", "must begin", "at most", "nobody"]


@frozen
class Assertion:
    """What holds of the last answer of a router that follows the text."""

    kind: AssertionKind
    """`must`: the line is there. `must begin`: one that begins so is. `at most`: no more than so often.
    `nobody`: it is sent to no peer: which one it was sent to may be the router's choice."""
    line: str
    """As a case has it; of `nobody`, without the peer."""
    most: int = 0
    """Of `at most`."""

    def holds(self, did: Sequence[str]) -> bool:
        """Whether it holds where the router did this."""
        match self.kind:
            case "must":
                return self.line in did
            case "must begin":
                return any(f"{each} ".startswith(f"{self.line} ") for each in did)
            case "nobody":
                return not any(each.partition(": ")[2] == self.line for each in did)
        return did.count(self.line) <= self.most


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
    did: tuple[str, ...]
    """All that the router did at `last`, a line each."""
    ids: tuple[tuple[str, str], ...]
    """(name, hexadecimal id) of what `did` and `assertions` name by its id."""
    fixed: frozenset[str]
    """Parameters that the release sets itself, whatever is asked for."""


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

    The seed of a case is taken over only where the run is another without it. Raises NoReproductionError
    where the router does not depart, or where no test can be made of how it departs; AdapterError and
    ValueError as `open_router` does.
    """
    if case.is_network:
        raise NoReproductionError("a case of a network is about no router")
    if case.without:
        raise NoReproductionError("additions of the router are switched off in this case")
    run = _recorded(case, setup_of)
    if case.seed:
        try:
            unseeded = _recorded(evolve(case, seed=0), setup_of)
        except NoReproductionError:
            return run
        if (unseeded.assertions, sorted(unseeded.did)) == (run.assertions, sorted(run.did)):
            return unseeded
    return run


def _recorded(case: Case, setup_of: Callable[[Driver], dict[str, Any]]) -> RecordedRun:
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
    reader = LineReader(subject.inner.name_of)
    did = tuple(line for reply in subject.last for line in reader.lines_in(reply))
    assertions = tuple(_assertion(each, departures, permits, did) for each in departures)
    if all(each.holds(did) for each in assertions):
        raise NoReproductionError("the departure is one of order alone")
    named = [name for each in assertions for name in _NAMED_BY_ID.findall(each.line)]
    # An id that the router said, since its own are its own affair.
    ids = {name: subject.inner.id_of(name).hex() for name in named} | reader.ids
    return RecordedRun(
        case,
        replayed.version,
        subject.setup,
        tuple(_merged(call for step in subject.steps[: subject.begins] for call in step)),
        tuple(_merged(call for step in subject.steps[subject.begins :] for call in step)),
        tuple(dict.fromkeys(assertions)),
        did,
        tuple(sorted(ids.items())),
        frozenset(subject.hello.fixed),
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
    departure: Departure, departures: Sequence[Departure], permits: Sequence[Output], did: Sequence[str]
) -> Assertion:
    """What a router that follows the text does in the place of a departure."""
    wanted, seen = departure.expected, departure.observed
    if isinstance(seen, Crashed):
        raise NoReproductionError("what makes a router crash is told in private")
    if wanted is not None:
        return Assertion("must begin" if _is_open(wanted) else "must", _line_of(wanted))
    if seen is None:
        raise NoReproductionError("the router's choice is at fault, and no one output of it")
    line = _line_of(seen)
    times, wrong = did.count(line), [each.observed for each in departures].count(seen)
    if times < wrong:
        raise NoReproductionError(f"what it did is not seen in its bytes: {line}")
    if isinstance(seen, Sent) and not any(_alike(seen, each) for each in permits):
        words = line.partition(": ")[2]
        blamed = [_line_of(each.observed) for each in departures if isinstance(each.observed, Sent)]
        if all(each in blamed for each in did if each.partition(": ")[2] == words):
            return Assertion("nobody", words)
    return Assertion("at most", line, times - wrong)


def _is_open(wanted: Output) -> bool:
    """Whether a PRUNE may offer some peers or none, or announce whatever backoff."""
    part = wanted.part if isinstance(wanted, Sent) else None
    return isinstance(part, Prune) and (part.records == "any" or part.backoff_s == UNSAID)


def _alike(seen: Sent, permitted: Output) -> bool:
    """Whether something of this kind and topic is permitted to whatever peer."""
    if not isinstance(permitted, Sent) or type(permitted.part) is not type(seen.part):
        return False
    return getattr(permitted.part, "topic", None) == getattr(seen.part, "topic", None)


_NAMED_BY_ID = re.compile(r"(?:iwant|idontwant|havetx|ihave \S+) (\S+)$")
"""A line that names something by its id."""


def _line_of(output: Output) -> str:
    """An output as a line."""
    match output:
        case Sent(peer, part):
            return f"{peer_text(peer)}: {_part_words(part)}"
        case Delivered(message):
            return f"deliver {message.id} {message.topic}"
        case Closed(peer):
            return f"close {peer_text(peer)}"
        case Dialled(peer):
            return f"dial {peer_text(peer)}"
    raise NoReproductionError(f"no test is written of {type(output).__name__}")


def _part_words(part: Any) -> str:
    match part:
        case Subscribe(topic) | Unsubscribe(topic) | Graft(topic):
            return f"{type(part).__name__.lower()} {topic}"
        case Prune(topic, backoff, peers, records):
            names = [] if records == "any" else [*map(peer_text, peers or ())]
            return _prune_words(topic, names, None if backoff == UNSAID else backoff)
        case Message(name, topic):
            return f"message {name} {topic}"
        case IHave(topic, (name,)):
            return f"ihave {topic} {name}"
        case IWant((name,)) | IDontWant((name,)):
            return f"{type(part).__name__.lower()} {name}"
        case Tx(name):
            return f"tx {name}"
        case HaveTx(name):
            return f"havetx {name}"
        case ResetRoute():
            return "resetroute"
    raise NoReproductionError(f"no test is written of {type(part).__name__}")


@mutable
class LineReader:
    """What replies say, in lines."""

    name_of: Callable[[bytes], str]
    """The name of what has that id."""
    ids: dict[str, str] = field(factory=dict)
    """name -> id in hexadecimal, of those that were said."""

    def lines_in(self, reply: Reply) -> Iterator[str]:
        """All that a reply says, one thing a line."""
        for peer, channel, data in reply.out:
            # Channel 0 is of pubsub; the others are a mempool's.
            words_of = self._of_mempool if channel else self._of_rpc
            yield from (f"{peer_text(peer)}: {words}" for words in words_of(data))
        yield from (f"deliver {_name(each.data)} {each.topic}" for each in reply.delivered)
        yield from (f"close {peer_text(peer)}" for peer in reply.closed)
        yield from (f"dial {peer_text(peer)}" for peer in reply.dials)

    def _id(self, data: bytes) -> str:
        name = self.name_of(data)
        self.ids[name] = data.hex()
        return name

    def _of_rpc(self, data: bytes) -> Iterator[str]:
        """What an RPC says, one thing a word, in the order of its fields."""
        rpc = wire.RPC.FromString(data)
        for sub in rpc.subscriptions:
            yield f"{'subscribe' if sub.subscribe else 'unsubscribe'} {sub.topicid}"
        for message in rpc.publish:
            yield f"message {_name(message.data)} {message.topic}"
        control = rpc.control
        for have in control.ihave:
            yield from (f"ihave {have.topicID} {self._id(each)}" for each in have.messageIDs)
        for want in control.iwant:
            yield from (f"iwant {self._id(each)}" for each in want.messageIDs)
        yield from (f"graft {graft.topicID}" for graft in control.graft)
        for prune in control.prune:
            backoff = prune.backoff if prune.HasField("backoff") else None
            yield _prune_words(prune.topicID, [_peer_name(each.peerID) for each in prune.peers], backoff)
        for refused in control.idontwant:
            yield from (f"idontwant {self._id(each)}" for each in refused.messageIDs)

    def _of_mempool(self, data: bytes) -> Iterator[str]:
        """The same of a message of a mempool."""
        message = mempool_pb2.Message.FromString(data)
        yield from (f"tx {_name(tx)}" for tx in message.txs.txs)
        if message.HasField("have_tx"):
            yield f"havetx {self._id(message.have_tx.tx_key)}"
        if message.HasField("reset_route"):
            yield "resetroute"


def _prune_words(topic: str, offered: Sequence[str], backoff: int | None) -> str:
    said = f"prune {topic}" if backoff is None else f"prune {topic} backoff={backoff}"
    return f"{said} peers={','.join(offered)}" if offered else said


def _peer_name(peer_id: bytes) -> str:
    peer = peer_of(peer_id)
    return peer_text(peer if peer is not None else STRANGER)


def _name(data: bytes) -> str:
    """The name of a message: its data up to the first line break."""
    return data.partition(b"\n")[0].decode("utf-8", "replace")
