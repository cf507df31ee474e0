"""Symbolic parts as RPC bytes and back: the only place where a message's symbol meets its bytes.

A codec serves one run against one router. A message is the symbol, a newline, and bytes of 0xff up to its
size. Its message id is a pure function of that and of its author, so an id can be named only once author and
size are known: by a Message with that symbol, or by `Codec.declare`. An id that is named before is taken for
one of its sender's messages, until the message shows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen
from google.protobuf.message import DecodeError

from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.bounded import BoundedDict
from quidnunc.impl.wire.extension_fields import extensions_of, extensions_value, partial_of, partial_value
from quidnunc.impl.wire.keys import peer_id, peer_of
from quidnunc.impl.wire.malformed import MALFORMED as MALFORMED
from quidnunc.impl.wire.signed_records import kind_of, record_of
from quidnunc.impl.wire.signing import ID_FUNCTIONS, author_bytes, id_function, set_author, signature_fault
from quidnunc.impl.wire.symbols import (
    UNKNOWN,
    check_flaw,
    check_symbol,
    data_bytes,
    id_and_spelling,
    seqno_of,
    stamp,
    symbol_in,
)
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import (
    CONTROL_SHAPES,
    ROUTER,
    SHAPE_OF,
    Extensions,
    IDontWant,
    IHave,
    Message,
    Part,
    Partial,
    PartShape,
    Peer,
    Prune,
    RecordKind,
    Subscribe,
    TestExtension,
    Unsubscribe,
)

MAX_ENTRIES = 65_536
"""Messages and ids that a codec remembers; beyond it forgets the oldest."""
MAX_CACHED_RPCS = 4096

_READ = tuple(shape for shape in CONTROL_SHAPES if shape.kind is not Extensions)
"""Control messages in the order in which they are read. The one that names extensions comes first of all."""
_OF_SEEN_IDS = (IHave, IDontWant)
"""Whose ids are of messages that the sender has seen."""

NO_PEER: Peer = -1
"""Stands in a PRUNE for an offered peer that is none of ours."""


class WireError(Exception):
    """The router under test sent bytes that are not an RPC."""


@frozen
class _Binding:
    """What a symbol stands for."""

    author: Peer
    size: int
    id: bytes
    firm: bool
    """False where only an id was named so far, and author and size are a guess."""


class Codec:
    """Parts to unframed RPC bytes and back, under one router's parameters.

    Raises ValueError where the parameters give every message the same id (StrictNoSign with `origin`).
    """

    def __init__(
        self, parameters: Parameters, *, max_entries: int = MAX_ENTRIES, extended: bool = False
    ) -> None:
        """`extended`: what the router says of extensions and partial messages is looked at. Before v1.3 these
        fields mean nothing, and are passed over."""
        if parameters.signature_policy == "StrictNoSign" and parameters.message_id == "origin":
            raise ValueError(
                "StrictNoSign messages have neither author nor seqno, so `origin` ids are all the same; "
                "use message_id='content'"
            )
        self._policy = parameters.signature_policy
        self._extended = extended
        self._by_origin = parameters.message_id == "origin"
        self._id_of = id_function(parameters.message_id)
        self._bound: BoundedDict[str, _Binding] = BoundedDict(max_entries)
        self._symbols: BoundedDict[bytes, str] = BoundedDict(max_entries)
        self._wire_of: BoundedDict[Message, wire.Message] = BoundedDict(max_entries)
        self._value_of: BoundedDict[bytes, Message] = BoundedDict(max_entries)
        self._by_data: BoundedDict[tuple[str, bytes], Message] = BoundedDict(max_entries)
        self._own: dict[str, Message] = {}
        self._seqnos: dict[str, int] = {}
        """Of the router's own messages, as far as they have shown."""
        self._encoded: BoundedDict[tuple[Part, ...], bytes] = BoundedDict(MAX_CACHED_RPCS)
        self._decoded: BoundedDict[bytes, tuple[Part, ...]] = BoundedDict(MAX_CACHED_RPCS)
        self._aliases: BoundedDict[bytes, str] = BoundedDict(max_entries)
        self._settled = True
        # Whether what is being decoded would be read the same later, and may be remembered.
        self._shown: set[str] = set()
        self._referred: set[str] = set()

    # -- what a symbol stands for ------------------------------------------------------------------------

    def declare(self, message: Message, *, sender: Peer = ROUTER) -> None:
        """Fix author and size of `message`, so that its id can be named before it is sent.

        `sender` is the author where `message` names none. Raises ValueError where its symbol stands already
        for a message of another id.
        """
        self._bind(message, sender)

    def id_bytes(self, symbol: str, *, sender: Peer = ROUTER) -> bytes:
        """The message id that `symbol` stands for; of a message of `sender` where nothing is known of it.

        `x` and hex digits stand for those bytes. Raises ValueError for what is no symbol.
        """
        known = self._bound.get(symbol)
        if known is not None:
            return known.id
        if UNKNOWN.fullmatch(symbol):
            return bytes.fromhex(symbol[1:])
        check_symbol(symbol)
        return self._keep(symbol, sender, 0, firm=False).id

    def symbol_of(self, id_bytes: bytes) -> str:
        """The symbol of a message id. By another function than the configured one it is `m1@origin`, say; `x`
        and its hex where nothing is known of it."""
        known = self._symbols.get(id_bytes) or self._aliases.get(id_bytes)
        if known is not None:
            return known
        plain, spelling = id_and_spelling(id_bytes)
        if spelling and (known := self._symbols.get(plain) or self._aliases.get(plain)):
            return f"{known}@{spelling}"
        self._settled = False
        return f"x{id_bytes.hex()}"

    def _bind(self, message: Message, sender: Peer) -> _Binding:
        author = sender if message.author is None else message.author
        known = self._bound.get(message.id)
        if known is None or not known.firm:
            check_symbol(message.id)
            return self._keep(message.id, author, message.size, firm=True)
        if self._by_origin:
            same = message.author in (None, known.author)
        else:
            same = data_bytes(message.id, message.size) == data_bytes(message.id, known.size)
        if not same:
            raise ValueError(
                f"message {message.id!r} was {known.size} bytes of peer {known.author} before, and is now "
                f"{message.size} of {author}: equal symbols mean equal message ids, so give it another symbol"
            )
        return known

    def _keep(self, symbol: str, author: Peer, size: int, *, firm: bool) -> _Binding:
        bare = wire.Message(data=data_bytes(symbol, size), seqno=seqno_of(symbol))
        set_author(bare, author)
        self._name_otherwise(symbol, bare)
        return self._keep_id(symbol, author, size, self._id_of(bare), firm=firm)

    def _name_otherwise(self, symbol: str, message: wire.Message) -> None:
        """Note what the id would be by the other id functions."""
        for name, function in ID_FUNCTIONS.items():
            if function is not self._id_of:
                self._aliases[function(message)] = f"{symbol}@{name}"

    def _keep_id(self, symbol: str, author: Peer, size: int, id_bytes: bytes, *, firm: bool) -> _Binding:
        if symbol in self._bound:
            self._encoded.clear()
        self._bound[symbol] = made = _Binding(author, size, id_bytes, firm)
        self._symbols[id_bytes] = symbol
        return made

    # -- messages of the router under test ---------------------------------------------------------------

    def data_of(self, message: Message) -> bytes:
        """The data to hand to `Driver.publish`. Notes that the router is about to author `message`."""
        if message.id not in self._own and len(self._own) < MAX_ENTRIES:
            self._bind(evolve(message, author=ROUTER), ROUTER)
            self._own[message.id] = message
            self._by_data[message.topic, data_bytes(message.id, message.size)] = message
        return data_bytes(message.id, message.size)

    def delivered(self, topic: str, data: bytes) -> Message:
        """The message that the router handed to its application."""
        known = self._by_data.get((topic, data))
        if known is not None:
            return known
        return Message(symbol_in(data) or f"x{data[:32].hex()}", topic, None, len(data), "altered")

    def _learn(self, symbol: str, id_bytes: bytes) -> None:
        """A message of the router's own has shown its id."""
        size = self._own[symbol].size
        self._keep_id(symbol, ROUTER, size, id_bytes, firm=True)
        self._shown.add(symbol)

    def _learn_by_order(self, ids: Iterable[bytes], topic: str | None) -> None:
        """Ids of the router's own messages that were named before any copy showed, in order of sequence.

        Such a message reached nobody yet. The newest ones are still in the router's cache.
        """
        own = peer_id(ROUTER)
        known = self._symbols if self._by_origin else self._aliases
        plain = {id_and_spelling(i)[0] for i in ids}
        new = sorted(i for i in plain if i.startswith(own) and i not in known)
        if not new:
            return
        unseen = {s: m for s, m in self._own.items() if s not in self._shown}
        hidden = [s for s, m in unseen.items() if topic in (None, m.topic)]
        if len(hidden) < len(new):
            # It names messages of other topics, too, and not of all: mostly their numbers are consecutive.
            bound = ((at, self._bound.get(s)) for at, s in enumerate(self._own) if s in self._shown)
            shown = {at: known.id for at, known in bound if known is not None and known.id.startswith(own)}
            hidden = _numbered([*self._own], unseen, new, shown)
        for symbol, id_bytes in zip(reversed(hidden), reversed(new), strict=False):
            if self._by_origin:
                self._learn(symbol, id_bytes)
            else:
                self._aliases[id_bytes] = f"{symbol}@origin"

    # -- encoding ----------------------------------------------------------------------------------------

    def encode(self, parts: Iterable[Part], *, sender: Peer) -> bytes:
        """One RPC with all of `parts`, unframed, as `sender` would write it.

        Raises ValueError for a part that no pubsub RPC can carry, and for a flaw without a meaning.
        """
        key = tuple(parts)
        known = self._encoded.get(key)
        if known is not None:
            return known
        rpc = wire.RPC()
        for part in key:
            # Messages first, so that ids in the same RPC stand for them.
            if type(part) is Message:
                rpc.publish.append(self.message(part, sender=sender))
        for part in key:
            self._add(rpc, part, sender)
        data = rpc.SerializeToString()
        self._encoded[key] = data
        return data

    def _add(self, rpc: wire.RPC, part: Part, sender: Peer) -> None:
        match part:
            case Message():
                pass
            case Subscribe(topic, requests, supports) | Unsubscribe(topic, requests, supports):
                said = rpc.subscriptions.add(subscribe=type(part) is Subscribe, topicid=topic)
                if requests or supports:
                    said.requestsPartial, said.supportsSendingPartial = requests, supports
            case Extensions():
                rpc.control.extensions.CopyFrom(extensions_of(part))
            case TestExtension():
                rpc.testExtension.SetInParent()
            case Partial():
                rpc.partial.CopyFrom(partial_of(part))
            case Prune(topic, backoff_s, peers, records):
                prune = rpc.control.prune.add(topicID=topic)
                for each in peers:
                    prune.peers.add(
                        peerID=peer_id(each), signedPeerRecord=record_of(each, records) if records else None
                    )
                if backoff_s is not None:
                    _check_backoff(backoff_s)
                    prune.backoff = backoff_s
            case _ if SHAPE_OF[type(part)].number:
                self._add_control(rpc.control, part, sender)
            case _:
                raise ValueError(f"{part!r} is no part of a pubsub RPC; MempoolCodec has those of a mempool")

    def _add_control(self, control: wire.ControlMessage, part: Part, sender: Peer) -> None:
        """A control message that has a topic, ids or both."""
        shape = SHAPE_OF[type(part)]
        added = getattr(control, shape.word).add()
        for name, kind in shape.fields:
            if kind == "topic":
                added.topicID = getattr(part, name)
            else:
                added.messageIDs.extend(self._ids(getattr(part, name), sender))

    def _ids(self, ids: Iterable[str], sender: Peer) -> list[bytes]:
        return [self.id_bytes(each, sender=sender) for each in ids]

    def message(self, message: Message, *, sender: Peer) -> wire.Message:
        """The bytes of one copy, flaw and all. Equal values give equal bytes."""
        known = self._wire_of.get(message)
        if known is not None:
            return known
        bound = self._bind(message, sender)
        author = bound.author if message.author is None else message.author
        made = wire.Message(topic=message.topic, data=data_bytes(message.id, message.size))
        check_flaw(message, self._policy)
        if self._policy == "StrictSign" or message.flaw == "stamped":
            stamp(made, author, message.flaw, key=message.key)
        id_bytes = self._id_of(made)
        if id_bytes not in self._symbols:
            # Without its author or seqno it has another id, by which a router that takes it speaks of it.
            self._symbols[id_bytes] = message.id
        self._wire_of[message] = made
        canonical = made.SerializeToString(deterministic=True)
        if canonical not in self._value_of:
            self._value_of[canonical] = message
        if not message.flaw or (message.topic, made.data) not in self._by_data:
            self._by_data[message.topic, made.data] = message
        return made

    # -- decoding ----------------------------------------------------------------------------------------

    def decode(self, data: bytes) -> tuple[Part, ...]:
        """The parts of one RPC: extensions, subscriptions, messages, control, messages of extensions.

        Raises WireError where the bytes are no RPC.
        """
        known = self._decoded.get(data)
        if known is not None:
            return known
        self._settled = True
        try:
            rpc = wire.RPC.FromString(data)
        except DecodeError as error:
            raise WireError(f"{len(data)} bytes are not an RPC: {error}") from error
        if not rpc.IsInitialized():
            raise WireError(f"{len(data)} bytes are not an RPC: a required field is missing")
        parts: list[Part] = []
        if self._extended and rpc.control.HasField("extensions"):
            parts.append(extensions_value(rpc.control.extensions))
        for each in rpc.subscriptions:
            kind = Subscribe if each.subscribe else Unsubscribe
            said = (each.requestsPartial, each.supportsSendingPartial) if self._extended else ()
            parts.append(kind(_text(each.topicid), *said))
        parts += [self._message_value(each) for each in rpc.publish]
        if rpc.HasField("control"):
            parts += self._control_values(rpc.control)
        if self._extended and rpc.HasField("testExtension"):
            parts.append(TestExtension())
        if self._extended and rpc.HasField("partial"):
            parts.append(partial_value(rpc.partial))
        found = tuple(parts)
        if self._settled:
            self._decoded[data] = found
        return found

    def _control_values(self, control: wire.ControlMessage) -> list[Part]:
        parts: list[Part] = []
        for shape in _READ:
            for each in getattr(control, shape.word):
                parts.append(_prune(each) if shape.kind is Prune else self._control_value(shape, each))
        return parts

    def _control_value(self, shape: PartShape, said: Any) -> Part:
        """A control message that has a topic, ids or both."""
        held: dict[str, Any] = {}
        if shape.kind in _OF_SEEN_IDS:
            self._learn_by_order(said.messageIDs, getattr(said, "topicID", None))
        for name, kind in shape.fields:
            held[name] = _text(said.topicID) if kind == "topic" else self._known(said.messageIDs)
        part: Part = shape.kind(**held)
        return part

    def _known(self, ids: Iterable[bytes]) -> tuple[str, ...]:
        return tuple([self.symbol_of(each) for each in ids])

    def _message_value(self, message: wire.Message) -> Message:
        # Written anew, so that the order in which a router writes its fields makes no difference.
        canonical = message.SerializeToString(deterministic=True)
        known = self._value_of.get(canonical)
        if known is not None:
            return known
        self._settled = False
        return self._first_sight(message, canonical)

    def _first_sight(self, message: wire.Message, canonical: bytes) -> Message:
        """A copy that was not sent to the router: its own message, or one that it changed."""
        id_bytes = self._id_of(message)
        named, known = symbol_in(message.data), self._symbols.get(id_bytes)
        signed = self._policy == "StrictSign"
        stale = signed and named in self._own and not self._grows(named, message)
        symbol = (named if stale else known or named) or f"x{id_bytes.hex()}"
        own = self._own.get(symbol)
        if own is None or symbol in self._referred or not _carries(message, own):
            return _altered(message, symbol)
        # The first copy of its own message is what later ones are compared with.
        self._referred.add(symbol)
        if not stale or known is None:
            self._learn(symbol, id_bytes)
            self._name_otherwise(symbol, message)
        flaw = "stale-seqno" if stale else signature_fault(message, self._policy)
        self._value_of[canonical] = value = evolve(own, flaw=flaw)
        # Whoever echoes it sends these bytes, and not our guess at them.
        self._wire_of[own] = wire.Message.FromString(canonical)
        self._encoded.clear()
        return value

    def _grows(self, symbol: str, message: wire.Message) -> bool:
        """Whether the sequence number is on the right side of those of the router's other messages."""
        if author_bytes(message) != peer_id(ROUTER) or symbol in self._seqnos:
            return True
        place = {each: at for at, each in enumerate(self._own)}
        number = int.from_bytes(message.seqno, "big")
        others = [*self._seqnos.items()]
        self._seqnos[symbol] = number
        return all(
            known < number if place[each] < place[symbol] else number < known for each, known in others
        )


def _numbered(
    own: Sequence[str], unseen: Collection[str], ids: Sequence[bytes], shown: Mapping[int, bytes]
) -> list[str]:
    """Which of the own messages have these ids, in order, if their numbers are consecutive, or all `unseen`.

    `shown`: place among `own` -> its id. Where there is none, the newest are taken that lie as far apart.
    """
    width = len(peer_id(ROUTER))
    numbers = [int.from_bytes(each[width:], "big") for each in ids]
    known = [at - int.from_bytes(each[width:], "big") for at, each in shown.items()]
    for first in known[-1:] or range(len(own) - 1 - max(numbers), -min(numbers) - 1, -1):
        places = [first + each for each in numbers]
        found = [own[at] for at in places if 0 <= at < len(own)]
        if len(found) == len(places) and all(each in unseen for each in found):
            return found
    return [*unseen]


def _carries(message: wire.Message, value: Message) -> bool:
    return message.topic == value.topic and message.data == data_bytes(value.id, value.size)


def _altered(message: wire.Message, symbol: str) -> Message:
    author = _peer(author_bytes(message)) if message.HasField("from") else None
    size = 0 if message.data == data_bytes(symbol, 0) else len(message.data)
    return Message(symbol, _text(message.topic), author, size, "altered")


def _prune(prune: wire.ControlPrune) -> Prune:
    backoff_s = prune.backoff if prune.HasField("backoff") else None
    peers = tuple(_peer(each.peerID) for each in prune.peers)
    kinds = {kind_of(each.signedPeerRecord, each.peerID) for each in prune.peers} or {""}
    records: RecordKind = "forged" if "forged" in kinds else "signed" if "signed" in kinds else ""
    return Prune(_text(prune.topicID), backoff_s, peers, records)


def _check_backoff(backoff_s: int) -> None:
    if not 0 <= backoff_s < 1 << 64:
        raise ValueError(f"a backoff is 0 to 2^64 - 1 seconds on the wire, got {backoff_s}")


def _text(topic: str | bytes) -> str:
    """A topic as text. protobuf gives bytes where it is not UTF-8."""
    return topic if isinstance(topic, str) else topic.decode("utf-8", "backslashreplace")


def _peer(identity: bytes) -> Peer:
    found = peer_of(identity)
    return NO_PEER if found is None else found
