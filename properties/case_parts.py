"""The parts of an RPC as text, and back.

A message's author and size are written where an event first mentions it, and nowhere again unless they
differ; so a part is read in the light of those before it, which a `Mentions` holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias, cast, get_args

from attrs import field, frozen, mutable

from quidnunc.model.rpc import (
    ROUTER,
    UNSAID,
    Control,
    Extensions,
    Fault,
    Flaw,
    Graft,
    HaveTx,
    IDontWant,
    IHave,
    IWant,
    Message,
    Part,
    Partial,
    Peer,
    Prune,
    RecordKind,
    ResetRoute,
    SeenTx,
    Stray,
    Subscribe,
    TestExtension,
    Tx,
    Unsubscribe,
    WantTx,
)
from quidnunc.properties.case_words import (
    MAX_REPEAT,
    Words,
    integer,
    one_of,
    peer_named,
    peer_text,
    peers_named,
    peers_text,
    phrases,
    sentence,
    word,
)

RECORDS: tuple[str, ...] = tuple(r for r in get_args(RecordKind) if r)
FAULTS: tuple[str, ...] = get_args(Fault)
FLAWS: tuple[str, ...] = tuple(f for f in get_args(Flaw) if f)
PART_NAMES = (
    "subscribe, unsubscribe, message, ihave, iwant, graft, prune, idontwant, extensions, testextension, "
    "partial, tx, havetx, resetroute, seentx, wanttx, stray, control"
)
LATE = "late=yes"
"""Of Extensions. No name is written so."""

_TIMES = re.compile(r"([1-9][0-9]{0,6})x")
_OF_SUBSCRIPTION: Mapping[str, Callable[[str, bool, bool], Part]] = {
    "subscribe": Subscribe,
    "unsubscribe": Unsubscribe,
}
_OF_TX: Mapping[str, Callable[[str], Part]] = {
    "tx": Tx,
    "havetx": HaveTx,
    "seentx": SeenTx,
    "wanttx": WantTx,
}
_OF_IDS: Mapping[str, Callable[[tuple[str, ...]], Part]] = {"iwant": IWant, "idontwant": IDontWant}

Author: TypeAlias = Peer | None
"""None: a message without one."""


@frozen
class Unsaid:
    """What is meant where the mention of a message leaves it out."""

    author: Author
    size: int = 0
    ambiguous: bool = False
    """No one author follows, so one must be said."""


@mutable
class Mentions:
    """The messages that the events so far have mentioned."""

    signed: bool = True
    """StrictSign: a new message is by its sender unless it says otherwise. Else it is by nobody."""
    first: dict[str, Message] = field(factory=dict)

    def mention(self, message: Message) -> None:
        self.first.setdefault(message.id, message)

    def by_router(self) -> Unsaid:
        """What a message of the router itself leaves out."""
        return Unsaid(ROUTER if self.signed else None)

    def by_sender(self, peers: Sequence[Peer]) -> Unsaid:
        """What a message that `peers` send leaves out."""
        if not self.signed:
            return Unsaid(None)
        return Unsaid(peers[0]) if len(peers) == 1 else Unsaid(None, ambiguous=True)

    def _as_before(self, message_id: str, unsaid: Unsaid) -> Unsaid:
        before = self.first.get(message_id)
        return unsaid if before is None else Unsaid(before.author, before.size)

    # -- messages -----------------------------------------------------------------------------------------

    def message_text(self, message: Message, unsaid: Unsaid) -> str:
        """`m1 t1 [by PEER] [size=BYTES] [FLAW]`."""
        unsaid = self._as_before(message.id, unsaid)
        text = sentence(message.id, message.topic)
        if unsaid.ambiguous or message.author != unsaid.author:
            text += f" by {'nobody' if message.author is None else peer_text(message.author)}"
        if message.size != unsaid.size:
            text += f" size={message.size}"
        return text + (f" {message.flaw}" if message.flaw else "")

    def message(self, words: Words, unsaid: Unsaid) -> Message:
        message_id, topic = words.name("a message id"), words.name("a topic")
        unsaid = self._as_before(message_id, unsaid)
        author, size, flaw = unsaid.author, unsaid.size, ""
        said: set[str] = set()
        while words.left:
            option = words.bare("`by PEER`, `size=BYTES` or a flaw")
            kind = "flaw" if option in FLAWS else option.partition("=")[0]
            if kind in said:
                raise ValueError(f"expected {kind} once, got it again: {option!r}")
            said.add(kind)
            if option == "by":
                author = _author(words.bare("an author"))
            elif option.startswith("size="):
                size = integer(option[len("size=") :], "a size in bytes", least=0)
            else:
                flaw = one_of(option, FLAWS, "`by PEER`, `size=BYTES` or a flaw")
        if unsaid.ambiguous and "by" not in said:
            raise ValueError(f"expected `by PEER`, for message {message_id!r} has not one sender")
        return Message(message_id, topic, author, size, cast("Flaw", flaw))

    # -- parts --------------------------------------------------------------------------------------------

    def parts_text(self, parts: Sequence[Part], unsaid: Unsaid) -> str:
        """`PART; 9x PART`, or `nothing`. Mentions their messages."""
        texts = []
        for part, equal in groupby(parts):
            times = len(list(equal))
            texts.append(("" if times == 1 else f"{times}x ") + self.part_text(part, unsaid))
            if isinstance(part, Message):
                self.mention(part)
        return "; ".join(texts) or "nothing"

    def parts(self, text: str, unsaid: Unsaid) -> tuple[Part, ...]:
        """The parts of one RPC. Mentions their messages."""
        if text.strip() == "nothing":
            return ()
        found: list[Part] = []
        for words in phrases(text):
            repeats = times(words)
            part = self.part(words, unsaid)
            words.end()
            if isinstance(part, Message):
                self.mention(part)
            if len(found) + repeats > MAX_REPEAT:
                raise ValueError(f"expected at most {MAX_REPEAT} parts in an RPC")
            found += [part] * repeats
        return tuple(found)

    def part_text(self, part: Part, unsaid: Unsaid) -> str:
        match part:
            case Message():
                return f"message {self.message_text(part, unsaid)}"
            case IHave(topic, ids):
                return f"ihave {sentence(topic, *ids)}"
            case IWant(ids) | IDontWant(ids):
                return " ".join((_name(part), *map(word, ids)))
            case Prune(topic, backoff_s, peers, records):
                backoff = "" if backoff_s is None else f" backoff={_backoff_text(backoff_s)}"
                offered = f" peers={peers_text(peers)}" if peers else ""
                return f"prune {word(topic)}{backoff}{offered}" + (f" records={records}" if records else "")
            case Subscribe(topic, requests, supports) | Unsubscribe(topic, requests, supports):
                return f"{_name(part)} {word(topic)}{flags_text(requests, supports)}"
            case Extensions(names, late):
                return " ".join(("extensions", *map(word, names), *((LATE,) if late else ())))
            case Partial():
                return f"partial {partial_text(part)}"
            case ResetRoute() | TestExtension():
                return _name(part)
            case Tx(name) | HaveTx(name) | SeenTx(name) | WantTx(name):
                return f"{_name(part)} {word(name)}"
            case Stray(fault):
                return f"stray {fault}"
            case Control(name, ids):
                return f"control {sentence(name, *ids)}"
        return f"{_name(part)} {word(part.topic)}"

    def part(self, words: Words, unsaid: Unsaid) -> Part:
        name = words.bare("a part")
        if name in _OF_SUBSCRIPTION:
            return _OF_SUBSCRIPTION[name](words.name("a topic"), *flags(words))
        if name in _OF_TX:
            return _OF_TX[name](words.name("a transaction id"))
        if name in _OF_IDS:
            return _OF_IDS[name](_ids(words))
        match name:
            case "message":
                return self.message(words, unsaid)
            case "ihave":
                return IHave(words.name("a topic"), _ids(words))
            case "prune":
                return _prune(words)
            case "graft":
                return Graft(words.name("a topic"))
            case "extensions":
                return _extensions(words)
            case "testextension":
                return TestExtension()
            case "partial":
                return partial(words)
            case "resetroute":
                return ResetRoute()
            case "control":
                return Control(words.name("the name of a control message"), _ids(words))
            case "stray":
                return Stray(cast("Fault", one_of(words.bare("a fault"), FAULTS)))
        raise ValueError(f"expected a part ({PART_NAMES}), got {name!r}")


def times(words: Words) -> int:
    """The repeat count in front of a part (`9x`); 1 where there is none."""
    first = words.tokens[0] if words.tokens else None
    found = None if first is None or first.quoted else _TIMES.fullmatch(first.text)
    if found is None:
        return 1
    words.bare("a repeat count")
    if int(found[1]) > MAX_REPEAT:
        raise ValueError(f"expected at most {MAX_REPEAT} repeats, got {found[1]}")
    return int(found[1])


def flags_text(requests: bool, supports: bool) -> str:
    """` requests supports`: those that are set."""
    return (" requests" if requests else "") + (" supports" if supports else "")


def flags(words: Words) -> tuple[bool, bool]:
    """(requests, supports), each of which may follow once and in this order."""
    found = []
    for name in ("requests", "supports"):
        if words.next_is(name):
            words.bare(name)
        else:
            name = ""
        found.append(bool(name))
    return found[0], found[1]


def option_text(name: str, value: str | None) -> str:
    """` payload p1`, or nothing where there is no value."""
    return "" if value is None else f" {name} {word(value)}"


def options(words: Words, names: Sequence[str]) -> dict[str, str]:
    """`payload p1 metadata w1`: each name of `names` once at most."""
    found: dict[str, str] = {}
    while words.left:
        name = one_of(words.bare(" or ".join(names)), names)
        if name in found:
            raise ValueError(f"expected {name} once, got it again")
        found[name] = words.name(f"what the {name} is")
    return found


def partial_text(part: Partial) -> str:
    """`t1 g1 [payload p1] [metadata w1]`."""
    carried = option_text("payload", part.payload) + option_text("metadata", part.metadata)
    return sentence(part.topic, part.group) + carried


def partial(words: Words) -> Partial:
    """The same, read."""
    topic, group = words.name("a topic"), words.name("a group")
    found = options(words, ("payload", "metadata"))
    return Partial(topic, group, found.get("payload"), found.get("metadata"))


def _extensions(words: Words) -> Extensions:
    names: list[str] = []
    while words.left and not words.next_is(LATE):
        names.append(words.name("an extension"))
    late = words.left and bool(words.bare(LATE))
    return Extensions(tuple(names), late)


def _name(part: Part) -> str:
    return type(part).__name__.lower()


def _author(text: str) -> Author:
    return None if text == "nobody" else peer_named(text, strangers=True)


def _ids(words: Words) -> tuple[str, ...]:
    found = []
    while words.left:
        found.append(words.name("an id"))
    return tuple(found)


def _backoff_text(backoff_s: int) -> str:
    return "any" if backoff_s == UNSAID else str(backoff_s)


def _backoff(text: str) -> int:
    return UNSAID if text == "any" else integer(text, "a backoff in seconds", least=0)


def _prune(words: Words) -> Prune:
    topic = words.name("a topic")
    said: dict[str, str] = {}
    while words.left:
        option = words.bare("`backoff=SECONDS`, `peers=PEERS` or `records=KIND`")
        name, equals, value = option.partition("=")
        if name not in ("backoff", "peers", "records") or not equals or name in said:
            raise ValueError(f"expected `backoff=SECONDS` and `peers=PEERS` once each, got {option!r}")
        said[name] = value
    backoff_s = _backoff(said["backoff"]) if "backoff" in said else None
    records = one_of(said["records"], RECORDS) if "records" in said else ""
    peers = peers_named(said["peers"], strangers=True) if "peers" in said else ()
    return Prune(topic, backoff_s, peers, cast("RecordKind", records))
