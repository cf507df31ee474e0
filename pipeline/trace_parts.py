"""Parts of RPCs between the vocabulary of the model and traces.

Peers are their libp2p peer ids; message ids, groups and what partial messages carry are the symbols that
stand for them, as UTF-8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast, get_args

from quidnunc.impl.keys import peer_id, peer_of
from quidnunc.model.rpc import (
    Control,
    Extensions,
    Fault,
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
from quidnunc.pipeline.trace_rpc import (
    ControlMeta,
    ExtensionsMeta,
    GraftMeta,
    IDontWantMeta,
    IHaveMeta,
    IWantMeta,
    MempoolMeta,
    MessageMeta,
    PartialMeta,
    PruneMeta,
    RpcMeta,
    SubscriptionMeta,
)
from quidnunc.pipeline.trace_shapes import TraceError

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
        for peer in range(MAX_PEER + 1):
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


def said(value: Any, what: str) -> Any:
    """`value`, which the record must have. Raises TraceError."""
    if value is None:
        raise TraceError(f"the record lacks its {what}")
    return value


def optional(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def maybe_symbol(raw: bytes | None) -> str | None:
    return None if raw is None else symbol(raw)


def message_fields(message: Message) -> dict[str, Any]:
    """A message, as the fields that all records of one have."""
    return {
        "message_id": message.id.encode(),
        "topic": message.topic,
        "size": message.size or None,
        "author": None if message.author is None else peer_id(message.author),
        "flaw": message.flaw or None,
    }


def message_read(meta: Any) -> Message:
    """The message of any record that has those fields. Raises TraceError."""
    author = None if meta.author is None else peer_read(meta.author)
    flaw: Any = meta.flaw or ""
    return Message(symbol(meta.message_id), said(meta.topic, "topic"), author, meta.size or 0, flaw)


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


_CONTROL = ("ihave", "iwant", "graft", "prune", "idontwant", "extensions")
_ORDER = ("messages", "subscription", *_CONTROL, "test_extension", "partial", "mempool")


def _meta(part: Part) -> tuple[str, Any]:
    match part:
        case Message():
            return "messages", MessageMeta(**message_fields(part))
        case Subscribe(topic, requests, supports) | Unsubscribe(topic, requests, supports):
            subscribe = isinstance(part, Subscribe)
            return "subscription", SubscriptionMeta(
                subscribe=subscribe,
                topic=topic,
                requests_partial=requests or None,
                supports_partial=supports or None,
            )
        case IHave(topic, ids):
            return "ihave", IHaveMeta(topic=topic, message_ids=tuple(i.encode() for i in ids))
        case IWant(ids):
            return "iwant", IWantMeta(message_ids=tuple(i.encode() for i in ids))
        case Graft(topic):
            return "graft", GraftMeta(topic=topic)
        case Prune(topic, backoff_s, peers, records):
            known = tuple(map(peer_id, peers))
            return "prune", PruneMeta(topic=topic, backoff_s=backoff_s, peers=known, records=records or None)
        case IDontWant(ids):
            return "idontwant", IDontWantMeta(message_ids=tuple(i.encode() for i in ids))
        case Extensions(names, late):
            return "extensions", ExtensionsMeta(names=names, late=late or None)
        case TestExtension():
            return "test_extension", None
        case Partial():
            return "partial", partial_meta(part)
        case ResetRoute():
            return "mempool", MempoolMeta(kind="resetRoute")
        case Stray(fault):
            return "mempool", MempoolMeta(kind=f"stray:{fault}")
        case Control(name):
            raise ValueError(f"{name} is of somebody's own protocol, and a trace has no field for it")
        case _:
            return "mempool", MempoolMeta(kind=_TX_OF[type(part)], tx=part.id.encode())


def partial_meta(part: Partial) -> PartialMeta:
    return PartialMeta(
        topic=part.topic,
        group=part.group.encode(),
        payload=optional(part.payload),
        metadata=optional(part.metadata),
    )


def partial_read(meta: PartialMeta) -> Partial:
    payload, metadata = maybe_symbol(meta.payload), maybe_symbol(meta.metadata)
    return Partial(said(meta.topic, "topic"), symbol(meta.group), payload, metadata)


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
        kind = Subscribe if said(each.subscribe, "subscribe") else Unsubscribe
        yield kind(said(each.topic, "topic"), bool(each.requests_partial), bool(each.supports_partial))
    control = meta.control or ControlMeta()
    for ihave in control.ihave:
        yield IHave(said(ihave.topic, "topic"), tuple(map(symbol, ihave.message_ids)))
    for iwant in control.iwant:
        yield IWant(tuple(map(symbol, iwant.message_ids)))
    for graft in control.graft:
        yield Graft(said(graft.topic, "topic"))
    for prune in control.prune:
        known = tuple(map(peer_read, prune.peers))
        yield Prune(said(prune.topic, "topic"), prune.backoff_s, known, record_kind(prune.records))
    for idontwant in control.idontwant:
        yield IDontWant(tuple(map(symbol, idontwant.message_ids)))
    for extensions in control.extensions:
        yield Extensions(extensions.names, bool(extensions.late))
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
