"""The parts of an RPC as text, and back.

A message's author and size are written where an event first mentions it, and nowhere again unless they
differ; so a part is read in the light of those before it, which a `Mentions` holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias, cast, get_args

from attrs import field, frozen, mutable

from quidnunc.model.errors import near_word
from quidnunc.model.rpc import (
    PARTS,
    ROUTER,
    SHAPE_OF,
    UNSAID,
    Fault,
    FieldKind,
    Flaw,
    Message,
    Part,
    Partial,
    PartShape,
    Peer,
    RecordKind,
)
from quidnunc.properties.notation.words import (
    MAX_REPEAT,
    WordReader,
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
PART_NAMES = ", ".join(shape.word for shape in PARTS)
WITH_KEY = "with-key"
LATE = "late=yes"
"""Of Extensions. No name is written so."""

_TIMES = re.compile(r"([1-9][0-9]{0,6})x")
_SHAPE_NAMED: Mapping[str, PartShape] = {shape.word: shape for shape in PARTS}

Author: TypeAlias = Peer | None
"""None: a message without one."""


@frozen
class MessageDefaults:
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

    def by_router(self) -> MessageDefaults:
        """What a message of the router itself leaves out."""
        return MessageDefaults(ROUTER if self.signed else None)

    def by_sender(self, peers: Sequence[Peer]) -> MessageDefaults:
        """What a message that `peers` send leaves out."""
        if not self.signed:
            return MessageDefaults(None)
        return MessageDefaults(peers[0]) if len(peers) == 1 else MessageDefaults(None, ambiguous=True)

    def _as_before(self, message_id: str, unsaid: MessageDefaults) -> MessageDefaults:
        before = self.first.get(message_id)
        return unsaid if before is None else MessageDefaults(before.author, before.size)

    # -- messages -----------------------------------------------------------------------------------------

    def message_text(self, message: Message, unsaid: MessageDefaults) -> str:
        """`m1 t1 [by PEER] [size=BYTES] [with-key] [FLAW]`."""
        unsaid = self._as_before(message.id, unsaid)
        text = sentence(message.id, message.topic)
        if unsaid.ambiguous or message.author != unsaid.author:
            text += f" by {'nobody' if message.author is None else peer_text(message.author)}"
        if message.size != unsaid.size:
            text += f" size={message.size}"
        text += f" {WITH_KEY}" if message.key else ""
        return text + (f" {message.flaw}" if message.flaw else "")

    def message(self, words: WordReader, unsaid: MessageDefaults) -> Message:
        message_id, topic = words.name("a message id"), words.name("a topic")
        unsaid = self._as_before(message_id, unsaid)
        author, size, flaw = unsaid.author, unsaid.size, ""
        said: set[str] = set()
        while words.left:
            option = words.bare("`by PEER`, `size=BYTES`, `with-key` or a flaw")
            kind = "flaw" if option in FLAWS else option.partition("=")[0]
            if kind in said:
                raise ValueError(f"expected {kind} once, got it again: {option!r}")
            said.add(kind)
            if option == "by":
                author = _author(words.bare("an author"))
            elif option == WITH_KEY:
                pass
            elif option.startswith("size="):
                size = integer(option[len("size=") :], "a size in bytes", least=0)
            else:
                flaw = one_of(option, FLAWS, "`by PEER`, `size=BYTES`, `with-key` or a flaw")
        if unsaid.ambiguous and "by" not in said:
            raise ValueError(f"expected `by PEER`, for message {message_id!r} has not one sender")
        return Message(message_id, topic, author, size, cast("Flaw", flaw), key=WITH_KEY in said)

    # -- parts --------------------------------------------------------------------------------------------

    def parts_text(self, parts: Sequence[Part], unsaid: MessageDefaults) -> str:
        """`PART; 9x PART`, or `nothing`. Mentions their messages."""
        texts = []
        for part, equal in groupby(parts):
            times = len(list(equal))
            texts.append(("" if times == 1 else f"{times}x ") + self.part_text(part, unsaid))
            if isinstance(part, Message):
                self.mention(part)
        return "; ".join(texts) or "nothing"

    def parts(self, text: str, unsaid: MessageDefaults) -> tuple[Part, ...]:
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

    def part_text(self, part: Part, unsaid: MessageDefaults) -> str:
        """The word of the part, and each of its fields as `_FIELDS` has it."""
        shape = SHAPE_OF[type(part)]
        if isinstance(part, Message):
            return f"{shape.word} {self.message_text(part, unsaid)}"
        return shape.word + "".join(
            _field_text(kind, name, getattr(part, name)) for name, kind in shape.fields
        )

    def part(self, words: WordReader, unsaid: MessageDefaults) -> Part:
        name = words.bare("a part")
        shape = _SHAPE_NAMED.get(name)
        if shape is None:
            raise ValueError(f"expected a part ({PART_NAMES}), got {name!r}{near_word(name, _SHAPE_NAMED)}")
        if shape.kind is Message:
            return self.message(words, unsaid)
        return _part(shape, words)


def times(words: WordReader) -> int:
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


def flags(words: WordReader) -> tuple[bool, bool]:
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


def options(words: WordReader, names: Sequence[str]) -> dict[str, str]:
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
    return "".join(_field_text(kind, name, getattr(part, name)) for name, kind in SHAPE_OF[Partial].fields)[
        1:
    ]


def partial(words: WordReader) -> Partial:
    """The same, read."""
    return cast("Partial", _part(SHAPE_OF[Partial], words))


def _author(text: str) -> Author:
    return None if text == "nobody" else peer_named(text, strangers=True)


# -- one way for each kind of field -------------------------------------------------------------------------


@frozen
class FieldText:
    """How a field of one kind is written after those before it, and read again. `name` is the field's."""

    text: Callable[[str, Any], str]
    read: Callable[[WordReader, str], Any]


def _one_word(what: str) -> FieldText:
    return FieldText(lambda name, value: f" {word(value)}", lambda words, name: words.name(what))


def _all_words(what: str) -> FieldText:
    """The rest of the words, up to the mark of `late`."""

    def read(words: WordReader, name: str) -> tuple[str, ...]:
        found = []
        while words.left and not (what == "an extension" and words.next_is(LATE)):
            found.append(words.name(what))
        return tuple(found)

    return FieldText(lambda name, value: "".join(f" {word(each)}" for each in value), read)


def _mark(of: Callable[[str], str]) -> FieldText:
    """A word of the notation's own, there or not."""
    return FieldText(
        lambda name, value: f" {of(name)}" if value else "",
        lambda words, name: words.next_is(of(name)) and bool(words.bare(of(name))),
    )


_FIELDS: Mapping[FieldKind, FieldText] = {
    "topic": _one_word("a topic"),
    "group": _one_word("a group"),
    "tx": _one_word("a transaction id"),
    "control": _one_word("the name of a control message"),
    "ids": _all_words("an id"),
    "words": _all_words("an id"),
    "names": _all_words("an extension"),
    "late": _mark(lambda name: LATE),
    "flag": _mark(lambda name: name),
    "fault": FieldText(
        lambda name, value: f" {value}", lambda words, name: one_of(words.bare("a fault"), FAULTS)
    ),
}


@frozen
class OptionText:
    """How `KIND=VALUE` is written, where there is a value, and read again."""

    text: Callable[[Any], str]
    read: Callable[[str], Any]


_OPTIONS: Mapping[FieldKind, OptionText] = {
    "backoff": OptionText(
        lambda seconds: "any" if seconds == UNSAID else str(seconds),
        lambda text: UNSAID if text == "any" else integer(text, "a backoff in seconds", least=0),
    ),
    "peers": OptionText(peers_text, lambda text: peers_named(text, strangers=True)),
    "records": OptionText(str, lambda text: one_of(text, RECORDS)),
}


def _field_text(kind: FieldKind, name: str, value: Any) -> str:
    if kind in _OPTIONS:
        return "" if value in (None, (), "") else f" {kind}={_OPTIONS[kind].text(value)}"
    return option_text(name, value) if kind == "opaque" else _FIELDS[kind].text(name, value)


def _part(shape: PartShape, words: WordReader) -> Part:
    """The fields that have a place of their own, then those that have a name."""
    given = {name: _FIELDS[kind].read(words, name) for name, kind in shape.fields if kind in _FIELDS}
    optional = {kind: name for name, kind in shape.fields if kind in _OPTIONS}
    if optional:
        given |= {optional[kind]: value for kind, value in _assigned(words).items()}
    named = [name for name, kind in shape.fields if kind == "opaque"]
    if named:
        given |= options(words, named)
    part: Part = shape.kind(**given)
    return part


def _assigned(words: WordReader) -> dict[FieldKind, Any]:
    """`backoff=5 peers=a..c`, in any order, each once at most."""
    said: dict[FieldKind, str] = {}
    while words.left:
        option = words.bare("`backoff=SECONDS`, `peers=PEERS` or `records=KIND`")
        name, equals, value = option.partition("=")
        kind = next((each for each in _OPTIONS if each == name and equals and each not in said), None)
        if kind is None:
            raise ValueError(f"expected `backoff=SECONDS` and `peers=PEERS` once each, got {option!r}")
        said[kind] = value
    return {kind: _OPTIONS[kind].read(value) for kind, value in said.items()}
