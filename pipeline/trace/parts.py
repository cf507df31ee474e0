"""Parts of RPCs between the vocabulary of the model and traces.

Peers are their libp2p peer ids; message ids, groups and what partial messages carry are the symbols that
stand for them, as UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast, get_args

from attrs import frozen

from quidnunc.impl.wire.keys import peer_id, peer_of
from quidnunc.model.rpc import (
    CONTROL_SHAPES,
    OTHER_AUTHORS,
    SHAPE_OF,
    Control,
    Extensions,
    Fault,
    FieldKind,
    Graft,
    HaveTx,
    IDontWant,
    IHave,
    IWant,
    Message,
    Part,
    Partial,
    PartShape,
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
from quidnunc.pipeline.trace.rpc import (
    ControlMeta,
    ExtensionsMeta,
    GraftMeta,
    IDontWantMeta,
    IHaveMeta,
    IWantMeta,
    MempoolMeta,
    MessageMeta,
    OtherControlMeta,
    PartialMeta,
    PruneMeta,
    RpcMeta,
    SubscriptionMeta,
)
from quidnunc.pipeline.trace.shapes import TraceError

MAX_PEER = 1024
"""Peer ids are looked for among those of the integers up to here."""
MAX_PARTS = 100_000

_OF_TX: dict[str, type[Any]] = {"txs": Tx, "haveTx": HaveTx, "seenTx": SeenTx, "wantTx": WantTx}
_STRAYS = {f"stray:{fault}": Stray(fault) for fault in get_args(Fault)}
_TX_OF = {kind: name for name, kind in _OF_TX.items()}


def peer_read(identity: bytes | None) -> Peer:
    """The integer of a peer id. Raises TraceError where it is of no peer of the harness."""
    if identity is None:
        raise TraceError("the record does not say which peer")
    found = peer_of(identity)
    if found is None:
        for peer in (*range(MAX_PEER + 1), *OTHER_AUTHORS):
            peer_id(peer)
        found = peer_of(identity)
    if found is None:
        raise TraceError(f"peer {identity.hex()} is none of the harness's first {MAX_PEER}")
    return found


def symbol(raw: bytes | None) -> str:
    """What a trace's bytes stand for: themselves, where they are a symbol; `x` and hex otherwise."""
    if raw is None:
        raise TraceError("the record lacks an id")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return f"x{raw.hex()}"


def record_kind(text: str | None) -> RecordKind:
    """What a trace says of signed records. Raises TraceError where it is no kind of them."""
    for kind in get_args(RecordKind):
        if kind == (text or ""):
            return cast("RecordKind", kind)
    raise TraceError(f"records: {text!r} is none of {', '.join(k for k in get_args(RecordKind) if k)}")


def required_value(value: Any, what: str) -> Any:
    """`value`, which the record must have. Raises TraceError."""
    if value is None:
        raise TraceError(f"the record lacks its {what}")
    return value


def optional_value(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def maybe_symbol(raw: bytes | None) -> str | None:
    return None if raw is None else symbol(raw)


WITH_KEY = "with-key"
"""Of a message that carries its author's key where the peer id has it: it stands behind the flaw, if any."""


def message_fields(message: Message) -> dict[str, Any]:
    """A message, as the fields that all records of one have."""
    return {
        "message_id": message.id.encode(),
        "topic": message.topic,
        "size": message.size or None,
        "author": None if message.author is None else peer_id(message.author),
        "flaw": f"{message.flaw} {WITH_KEY * message.key}".strip() or None,
    }


def message_read(meta: Any) -> Message:
    """The message of any record that has those fields. Raises TraceError."""
    author = None if meta.author is None else peer_read(meta.author)
    flaw: Any = (meta.flaw or "").removesuffix(WITH_KEY).strip()
    topic, key = required_value(meta.topic, "topic"), (meta.flaw or "").endswith(WITH_KEY)
    return Message(symbol(meta.message_id), topic, author, meta.size or 0, flaw, key)


def meta_of(parts: Sequence[Part]) -> RpcMeta:
    """An RPC with all of `parts`."""
    bins: dict[str, list[Any]] = {}
    places: list[tuple[int, int]] = []
    for at, part in enumerate(parts):
        name, meta = _meta(part)
        bins.setdefault(name, []).append(meta)
        places.append((_ORDER.index(name), at))
    control = {n: tuple(bins[n]) for n in _CONTROL if n in bins}
    order = [at for _, at in sorted(places)]
    return RpcMeta(
        messages=tuple(bins.get("messages", ())),
        subscription=tuple(bins.get("subscription", ())),
        control=ControlMeta(**control) if control else None,
        test_extension=len(bins["test_extension"]) if "test_extension" in bins else None,
        partial=tuple(bins.get("partial", ())),
        mempool=tuple(bins.get("mempool", ())),
        order=() if order == sorted(order) else tuple(order),
    )


_META_OF: Mapping[type[Any], tuple[str, type[Any]]] = {
    Message: ("messages", MessageMeta),
    Subscribe: ("subscription", SubscriptionMeta),
    Unsubscribe: ("subscription", SubscriptionMeta),
    IHave: ("ihave", IHaveMeta),
    IWant: ("iwant", IWantMeta),
    Graft: ("graft", GraftMeta),
    Prune: ("prune", PruneMeta),
    IDontWant: ("idontwant", IDontWantMeta),
    Extensions: ("extensions", ExtensionsMeta),
    Partial: ("partial", PartialMeta),
}
"""Parts that have a field of their own in an RPC of a trace. Control messages that have none are `others`."""
OTHERS: tuple[PartShape, ...] = tuple(s for s in CONTROL_SHAPES if s.kind not in _META_OF)
_OTHER_NAMED = {shape.word: shape for shape in OTHERS}
_OF_CONTROL: tuple[type[Any], ...] = (IHave, IWant, Graft, Prune, IDontWant, Extensions)
_CONTROL = (*(_META_OF[kind][0] for kind in _OF_CONTROL), "others")
_ORDER = ("messages", "subscription", *_CONTROL, "test_extension", "partial", "mempool")


@frozen
class FieldRecord:
    """How a field of one kind is kept in a trace, and read again; both are given the name of the field."""

    name: Callable[[str], str]
    kept: Callable[[Any], Any]
    read: Callable[[Any, str], Any]


def _symbols(raw: Iterable[bytes], name: str) -> tuple[str, ...]:
    return tuple(map(symbol, raw))


def _encoded(texts: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(each.encode() for each in texts)


_FIELDS: Mapping[FieldKind, FieldRecord] = {
    "topic": FieldRecord(str, str, lambda value, name: required_value(value, name)),
    "group": FieldRecord(str, str.encode, lambda value, name: symbol(value)),
    "ids": FieldRecord(lambda name: "message_ids", _encoded, _symbols),
    "flag": FieldRecord(
        lambda name: f"{name}_partial", lambda value: value or None, lambda value, name: bool(value)
    ),
    "backoff": FieldRecord(str, lambda value: value, lambda value, name: value),
    "peers": FieldRecord(
        str, lambda peers: tuple(map(peer_id, peers)), lambda value, name: tuple(map(peer_read, value))
    ),
    "records": FieldRecord(str, lambda value: value or None, lambda value, name: record_kind(value)),
    "names": FieldRecord(str, tuple, lambda value, name: value),
    "late": FieldRecord(str, lambda value: value or None, lambda value, name: bool(value)),
    "opaque": FieldRecord(str, optional_value, lambda value, name: maybe_symbol(value)),
}


def _record(part: Part) -> dict[str, Any]:
    """The fields of a part as its record has them."""
    fields = SHAPE_OF[type(part)].fields
    return {_FIELDS[kind].name(name): _FIELDS[kind].kept(getattr(part, name)) for name, kind in fields}


def _read(kind: type[Any], meta: Any) -> Any:
    """The part of this kind that the record is of. Raises TraceError."""
    fields = ((name, _FIELDS[holds]) for name, holds in SHAPE_OF[kind].fields)
    return kind(**{name: each.read(getattr(meta, each.name(name)), name) for name, each in fields})


def _meta(part: Part) -> tuple[str, Any]:
    """The name of the field of an RPC that holds such a part, and its record there."""
    match part:
        case Message():
            return "messages", MessageMeta(**message_fields(part))
        case Subscribe() | Unsubscribe():
            record = _record(part)
            return "subscription", SubscriptionMeta(subscribe=isinstance(part, Subscribe), **record)
        case TestExtension():
            return "test_extension", None
        case ResetRoute():
            return "mempool", MempoolMeta(kind="resetRoute")
        case Stray(fault):
            return "mempool", MempoolMeta(kind=f"stray:{fault}")
        case Control(name):
            raise ValueError(f"{name} is of somebody's own protocol, and a trace has no field for it")
        case Tx() | HaveTx() | SeenTx() | WantTx():
            return "mempool", MempoolMeta(kind=_TX_OF[type(part)], tx=part.id.encode())
    known = _META_OF.get(type(part))
    if known is not None:
        return known[0], known[1](**_record(part))
    shape = SHAPE_OF[type(part)]
    held = {kind: _FIELDS[kind].kept(getattr(part, name)) for name, kind in shape.fields}
    return "others", OtherControlMeta(name=shape.word, topic=held.get("topic"), ids=held.get("ids", ()))


def _other(meta: OtherControlMeta) -> Part:
    shape = _OTHER_NAMED.get(meta.name or "")
    if shape is None:
        raise TraceError(f"a control message named {meta.name!r}")
    held = {"topic": meta.topic, "ids": meta.ids}
    part: Part = shape.kind(
        **{name: _FIELDS[kind].read(held[kind], name) for name, kind in shape.fields if kind in held}
    )
    return part


def partial_meta(part: Partial) -> PartialMeta:
    return PartialMeta(**_record(part))


def partial_read(meta: PartialMeta) -> Partial:
    found: Partial = _read(Partial, meta)
    return found


def parts_of(meta: RpcMeta | None) -> tuple[Part, ...]:
    """The parts of an RPC, in the order in which they were said. Raises TraceError."""
    if meta is None:
        return ()
    parts = list(_parts(meta))
    if not meta.order:
        return tuple(parts)
    if sorted(meta.order) != list(range(len(parts))):
        raise TraceError(f"the order of {len(parts)} parts is said to be {list(meta.order)[:20]}")
    at = {place: part for place, part in zip(meta.order, parts, strict=True)}
    return tuple(at[place] for place in range(len(parts)))


def _parts(meta: RpcMeta) -> Iterator[Part]:
    yield from map(message_read, meta.messages)
    for each in meta.subscription:
        yield _read(Subscribe if required_value(each.subscribe, "subscribe") else Unsubscribe, each)
    control = meta.control or ControlMeta()
    for kind in _OF_CONTROL:
        for record in getattr(control, _META_OF[kind][0]):
            yield _read(kind, record)
    yield from map(_other, control.others)
    if not 0 <= (meta.test_extension or 0) <= MAX_PARTS:
        raise TraceError(f"{meta.test_extension} messages of the test extension in one RPC")
    yield from [TestExtension()] * (meta.test_extension or 0)
    yield from map(partial_read, meta.partial)
    for mempool in meta.mempool:
        if mempool.kind == "resetRoute":
            yield ResetRoute()
        elif mempool.kind in _STRAYS:
            yield _STRAYS[mempool.kind]
        elif mempool.kind in _OF_TX:
            yield _OF_TX[mempool.kind](symbol(mempool.tx))
        else:
            raise TraceError(f"a mempool message of kind {mempool.kind!r}")
