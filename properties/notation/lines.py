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

from quidnunc.model.errors import near_word
from quidnunc.model.events import (
    NOTHING_KEPT,
    Adjust,
    Advance,
    Closed,
    Commit,
    Connect,
    Crashed,
    Decision,
    Delivered,
    Dialled,
    Disconnect,
    Event,
    Feedback,
    FeedbackKind,
    GossipAsked,
    Join,
    Judgement,
    Leave,
    Offered,
    Output,
    PartialIn,
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
)
from quidnunc.model.rpc import Peer
from quidnunc.properties.notation.parts import (
    Mentions,
    flags,
    flags_text,
    option_text,
    options,
    partial,
    partial_text,
    times,
)
from quidnunc.properties.notation.words import (
    WordReader,
    duration_read,
    duration_text,
    free_text,
    free_text_read,
    integer,
    one_of,
    peer_named,
    peer_text,
    peers_named,
    peers_text,
    phrase,
    phrases,
    sentence,
    word,
)

JUDGEMENTS: tuple[str, ...] = get_args(Judgement)
FEEDBACK: tuple[str, ...] = get_args(FeedbackKind)
EVENT_NAMES = (
    "connect, disconnect, stall, resume, join, leave, publish, verdict, partial, feedback, score, advance, "
    "submit, commit, adjust"
)
OUTPUT_NAMES = "deliver, offer, gossip, hand, dial, close, crash"

_FROM = re.compile(r'([^\s:;"]+):(?:\s+(.*))?')
_RAW = re.compile(r"raw(?:\s+(.*))?")
_OF_PEERS: Mapping[str, Callable[[tuple[Peer, ...]], Event]] = {
    "disconnect": Disconnect,
    "stall": Stall,
    "resume": Resume,
}
_OF_NAME: Mapping[str, tuple[Callable[[str], Event], str]] = {
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
            case Connect(peers, protocol, outbound, address):
                at = f" address={address}" if address else ""
                return f"connect {peers_text(peers)} {word(protocol)}{' outbound' if outbound else ''}{at}"
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
            case Join(topic, requests, supports):
                return f"join {word(topic)}{flags_text(requests, supports)}"
            case PublishPartial(topic, group, decisions):
                return "; ".join((f"partial {sentence(topic, group)}", *map(_decision_text, decisions)))
            case Feedback(topic, peer, kind):
                return f"feedback {word(topic)} {peer_text(peer)} {kind}"
            case Leave(name) | Submit(name) | Commit(name):
                return f"{_name(event)} {word(name)}"
            case Adjust():
                return "adjust"

    def event(self, text: str) -> Event:
        """The event of one line. Raises ValueError that says what was expected."""
        received = _FROM.fullmatch(text)
        if received is not None:
            return self._received(peers_named(received[1]), received[2] or "")
        if text.startswith("partial "):
            return _published(text)
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

    def _event(self, name: str, words: WordReader) -> Event:
        if name in _OF_PEERS:
            return _OF_PEERS[name](_peers(words))
        if name in _OF_NAME:
            made, what = _OF_NAME[name]
            return made(words.name(what))
        match name:
            case "connect":
                peers, protocol = _peers(words), words.name("the protocol of the streams")
                outbound = words.next_is("outbound") and bool(words.bare("outbound"))
                return Connect(peers, protocol, outbound, _address(words))
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
            case "join":
                return Join(words.name("a topic"), *flags(words))
            case "feedback":
                topic, peer = words.name("a topic"), peer_named(words.bare("a peer"))
                kind = one_of(words.bare("a feedback"), FEEDBACK, "a feedback")
                return Feedback(topic, peer, cast("FeedbackKind", kind))
            case "advance":
                return Advance(duration_read(words.bare("a duration")))
            case "adjust":
                return Adjust()
        near = near_word(name, EVENT_NAMES.split(", "))
        raise ValueError(f"expected an event ({EVENT_NAMES}, or `a: PART; PART`), got {name!r}{near}")

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
            case Offered(topic, group, _, state, requests):
                kept = option_text("state", state or None) + (" requests" if requests else "")
                return f"offer {peers_text(_peers_of(alike))} {sentence(topic, group)}{kept}"
            case GossipAsked(topic, group):
                return f"gossip {peers_text(_peers_of(alike))} {sentence(topic, group)}"
            case PartialIn(_, part):
                return f"hand {peers_text(_peers_of(alike))} {partial_text(part)}"
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

    def _output(self, name: str, words: WordReader) -> tuple[Output, ...]:
        match name:
            case "deliver":
                return (Delivered(self.mentions.message(words, self.mentions.by_router())),)
            case "offer":
                return _offered(words)
            case "gossip":
                peers, topic, group = _peers(words), words.name("a topic"), words.name("a group")
                return tuple(GossipAsked(topic, group, peer) for peer in peers)
            case "hand":
                peers, part = _peers(words), partial(words)
                return tuple(PartialIn(peer, part) for peer in peers)
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
    return tuple(sorted(outputs, key=case_order))


_KINDS = (Offered, GossipAsked, PartialIn, Delivered, Sent, Dialled, Closed, Crashed)


def without_peer(output: Output) -> object:
    """What an output says, whomever it goes to."""
    match output:
        case Sent(_, part) | PartialIn(_, part):
            return part
        case Offered(topic, group, _, state, requests):
            return topic, group, state, requests
        case GossipAsked(topic, group):
            return topic, group
        case _:
            return getattr(output, "message", "")


def case_order(output: Output) -> tuple[object, ...]:
    """The key by which outputs stand in a case."""
    kind = _KINDS.index(type(output))
    said = repr(without_peer(output))
    # Numbers by value, so that m2 comes before m10.
    pieces = re.split(r"([0-9]{1,18})", said)
    natural = tuple((int(p), "") if at % 2 else (0, p) for at, p in enumerate(pieces))
    return kind, natural, getattr(output, "peer", 0), getattr(output, "text", "")


def _shape(output: Output) -> object:
    """Equal for outputs that share a line."""
    match output:
        case Sent(_, part):
            return part
        case Offered() | GossipAsked() | PartialIn():
            return type(output), without_peer(output)
        case Dialled() | Closed():
            return type(output)
        case _:
            # A line of its own, whatever its neighbours are.
            return object()


def _peers_of(outputs: Sequence[Output]) -> tuple[Peer, ...]:
    return tuple(each.peer for each in outputs if not isinstance(each, Delivered | Crashed))


def _address(words: WordReader) -> int:
    """`address=2`, or nothing."""
    if not words.left:
        return 0
    name, _, value = words.bare("`outbound` or `address=NUMBER`").partition("=")
    if name != "address":
        raise ValueError(f"expected outbound, or address=NUMBER, got {name!r}")
    return integer(value, "an address", least=1)


def _decision_text(each: Decision) -> str:
    """`a payload p1 metadata w1 next s1 error`."""
    said = (("payload", each.payload), ("metadata", each.metadata), ("next", each.next))
    text = peer_text(each.peer) + "".join(option_text(name, value) for name, value in said)
    return text + (" error" if each.error else "")


def _published(text: str) -> Event:
    """`partial t1 g1; DECISION; DECISION`."""
    first, *rest = phrases(text)
    first.bare("partial")
    topic, group = first.name("a topic"), first.name("a group")
    first.end()
    return PublishPartial(topic, group, tuple(map(_decision, rest)))


def _decision(words: WordReader) -> Decision:
    peer = peer_named(words.bare("a peer"))
    error = words.ends_with("error")
    said = options(words, ("payload", "metadata", "next"))
    return Decision(peer, said.get("payload"), said.get("metadata"), said.get("next"), error)


def _offered(words: WordReader) -> tuple[Output, ...]:
    peers, topic, group = _peers(words), words.name("a topic"), words.name("a group")
    requests = words.ends_with("requests")
    state = options(words, ("state",)).get("state", NOTHING_KEPT)
    return tuple(Offered(topic, group, peer, state, requests) for peer in peers)


def _peers(words: WordReader, *, strangers: bool = False) -> tuple[Peer, ...]:
    return peers_named(words.bare("peers"), strangers=strangers)


def _name(event: Event) -> str:
    return type(event).__name__.lower()
