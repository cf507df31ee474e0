"""Events and outputs as one line of text each, and back.

A line is read in the light of those before it, because a message's author and size are written once; so one
`Notation` reads or writes the lines of one case in their order. Errors are ValueErrors that say what was
expected; who reads a file adds its name and line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import cast, get_args

from attrs import field, mutable

from quidnunc.model.events import (
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
    Join,
    Judgement,
    Leave,
    Output,
    Publish,
    Raw,
    Receive,
    Resume,
    Score,
    Sent,
    Stall,
    Submit,
    Verdict,
)
from quidnunc.model.rpc import Peer
from quidnunc.properties.case_parts import Mentions, times
from quidnunc.properties.case_words import (
    Words,
    duration_read,
    duration_text,
    free_text,
    free_text_read,
    integer,
    one_of,
    peers_named,
    peers_text,
    phrase,
    word,
)

JUDGEMENTS: tuple[str, ...] = get_args(Judgement)
EVENT_NAMES = (
    "connect, disconnect, stall, resume, join, leave, publish, verdict, score, advance, submit, commit, "
    "adjust"
)
OUTPUT_NAMES = "deliver, dial, close, crash"

_FROM = re.compile(r'([^\s:;"]+):(?:\s+(.*))?')
_RAW = re.compile(r"raw(?:\s+(.*))?")
_OF_PEERS: Mapping[str, Callable[[tuple[Peer, ...]], Event]] = {
    "disconnect": Disconnect,
    "stall": Stall,
    "resume": Resume,
}
_OF_NAME: Mapping[str, tuple[Callable[[str], Event], str]] = {
    "join": (Join, "a topic"),
    "leave": (Leave, "a topic"),
    "submit": (Submit, "a transaction id"),
    "commit": (Commit, "a transaction id"),
}


@mutable
class Notation:
    """Reads or writes the lines of one case. `Notation(Mentions(signed=False))` for StrictNoSign."""

    mentions: Mentions = field(factory=Mentions)

    # -- events -------------------------------------------------------------------------------------------

    def event_text(self, event: Event) -> str:
        """One line. Raises ValueError for what no line can say (time that passes backwards, say)."""
        match event:
            case Receive(peers, parts):
                said = self.mentions.parts_text(parts, self.mentions.by_sender(peers))
                return f"{peers_text(peers)}: {said}"
            case Raw(peers, kind):
                return f"{peers_text(peers)}: raw {word(kind)}"
            case Connect(peers, protocol, outbound):
                return f"connect {peers_text(peers)} {word(protocol)}{' outbound' if outbound else ''}"
            case Score(peers, value):
                return f"score {peers_text(peers)} {value}"
            case Disconnect(peers) | Stall(peers) | Resume(peers):
                return f"{_name(event)} {peers_text(peers)}"
            case Publish(message):
                text = f"publish {self.mentions.message_text(message, self.mentions.by_router())}"
                self.mentions.mention(message)
                return text
            case Verdict(message_id, judgement):
                return f"verdict {word(message_id)} {judgement}"
            case Advance(ms):
                return f"advance {duration_text(ms)}"
            case Join(name) | Leave(name) | Submit(name) | Commit(name):
                return f"{_name(event)} {word(name)}"
            case Adjust():
                return "adjust"

    def event(self, text: str) -> Event:
        """The event of one line. Raises ValueError that says what was expected."""
        received = _FROM.fullmatch(text)
        if received is not None:
            return self._received(peers_named(received[1]), received[2] or "")
        words = phrase(text)
        found = self._event(words.bare("an event"), words)
        words.end()
        return found

    def _received(self, peers: tuple[Peer, ...], text: str) -> Event:
        raw = _RAW.fullmatch(text)
        if raw is None:
            return Receive(peers, self.mentions.parts(text, self.mentions.by_sender(peers)))
        words = phrase(raw[1] or "")
        kind = words.name("a kind of bytes")
        words.end()
        return Raw(peers, kind)

    def _event(self, name: str, words: Words) -> Event:
        if name in _OF_PEERS:
            return _OF_PEERS[name](_peers(words))
        if name in _OF_NAME:
            made, what = _OF_NAME[name]
            return made(words.name(what))
        match name:
            case "connect":
                peers, protocol = _peers(words), words.name("the protocol of the streams")
                outbound = words.left and bool(one_of(words.bare("outbound"), ("outbound",)))
                return Connect(peers, protocol, outbound)
            case "score":
                return Score(_peers(words), integer(words.bare("a score"), "a score"))
            case "publish":
                message = self.mentions.message(words, self.mentions.by_router())
                self.mentions.mention(message)
                return Publish(message)
            case "verdict":
                message_id = words.name("a message id")
                judgement = one_of(words.bare("a judgement"), JUDGEMENTS, "a judgement")
                return Verdict(message_id, cast("Judgement", judgement))
            case "advance":
                return Advance(duration_read(words.bare("a duration")))
            case "adjust":
                return Adjust()
        raise ValueError(f"expected an event ({EVENT_NAMES}, or `a: PART; PART`), got {name!r}")

    # -- outputs ------------------------------------------------------------------------------------------

    def output_texts(self, outputs: Iterable[Output]) -> list[str]:
        """Lines for `outputs`, in their order; neighbours that differ in the peer alone share one."""
        return [self._output_text(list(alike)) for _, alike in groupby(outputs, _shape)]

    def _output_text(self, alike: Sequence[Output]) -> str:
        match alike[0]:
            case Sent(_, part):
                peers = _peers_of(alike)
                text = self.mentions.part_text(part, self.mentions.by_router())
                if len(peers) > 1 and len(set(peers)) == 1:
                    return f"{peers_text(peers[:1])}: {len(peers)}x {text}"
                return f"{peers_text(peers)}: {text}"
            case Delivered(message):
                return f"deliver {self.mentions.message_text(message, self.mentions.by_router())}"
            case Dialled():
                return f"dial {peers_text(_peers_of(alike))}"
            case Closed():
                return f"close {peers_text(_peers_of(alike))}"
            case Crashed(text):
                return f"crash {free_text(text)}"

    def outputs(self, text: str) -> tuple[Output, ...]:
        """The outputs of one line. Raises ValueError that says what was expected."""
        name, _, rest = text.partition(" ")
        if name == "crash":
            return (Crashed(free_text_read(rest.strip())),)
        sent = _FROM.fullmatch(text)
        if sent is None:
            words = phrase(rest)
            found = self._output(name, words)
        else:
            peers, words = peers_named(sent[1]), phrase(sent[2] or "")
            repeats = times(words)
            part = self.mentions.part(words, self.mentions.by_router())
            found = tuple(Sent(peer, part) for peer in peers for _ in range(repeats))
        words.end()
        return found

    def _output(self, name: str, words: Words) -> tuple[Output, ...]:
        match name:
            case "deliver":
                return (Delivered(self.mentions.message(words, self.mentions.by_router())),)
            case "dial":
                return tuple(Dialled(peer) for peer in _peers(words, strangers=True))
            case "close":
                return tuple(Closed(peer) for peer in _peers(words))
        raise ValueError(f"expected an output ({OUTPUT_NAMES}, or `a: PART`), got {name!r}")


def event_text(event: Event, *, signed: bool = True) -> str:
    """One event on its own, for reports."""
    return Notation(Mentions(signed)).event_text(event)


def output_text(output: Output, *, signed: bool = True) -> str:
    """One output on its own, for reports."""
    return Notation(Mentions(signed)).output_texts((output,))[0]


def in_order(outputs: Iterable[Output]) -> tuple[Output, ...]:
    """`outputs` in the order of cases. Which of them one step makes first says nothing."""
    return tuple(sorted(outputs, key=_order))


def _order(output: Output) -> tuple[object, ...]:
    kind = (Delivered, Sent, Dialled, Closed, Crashed).index(type(output))
    said = repr(output.part) if isinstance(output, Sent) else repr(getattr(output, "message", ""))
    # Numbers by value, so that m2 comes before m10.
    pieces = re.split(r"([0-9]{1,18})", said)
    natural = tuple((int(p), "") if at % 2 else (0, p) for at, p in enumerate(pieces))
    return kind, natural, getattr(output, "peer", 0), getattr(output, "text", "")


def _shape(output: Output) -> object:
    """Equal for outputs that share a line."""
    match output:
        case Sent(_, part):
            return part
        case Dialled() | Closed():
            return type(output)
        case _:
            # A line of its own, whatever its neighbours are.
            return object()


def _peers_of(outputs: Sequence[Output]) -> tuple[Peer, ...]:
    return tuple(each.peer for each in outputs if isinstance(each, Sent | Dialled | Closed))


def _peers(words: Words, *, strangers: bool = False) -> tuple[Peer, ...]:
    return peers_named(words.bare("peers"), strangers=strangers)


def _name(event: Event) -> str:
    return type(event).__name__.lower()
