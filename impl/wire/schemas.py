"""What each version of a protocol has on the wire, and what a reader of one makes of the bytes of another.

The kit's own descriptions of the messages hold the fields of all versions; here they are cut to those that a
version has, and loaded as message types of their own, so that what is said of bytes was tried on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from attrs import frozen
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError

from quidnunc.impl.wire import cat_pb2, mempool_pb2, wire_pb2
from quidnunc.model.rpc import (
    PARTS,
    ControlField,
    Message,
    Partial,
    PartShape,
    Prune,
    Subscribe,
    TestExtension,
    Unsubscribe,
)
from quidnunc.model.versions import VERSIONS, Version

LABELS = {1: "optional", 2: "required", 3: "repeated"}
TYPES = {4: "uint64", 8: "bool", 9: "string", 11: "message", 12: "bytes"}
MESSAGE = 11
COUNTS = (0, 1, 2)

_PLACE_OF: Mapping[type, str] = {
    Subscribe: "RPC.subscriptions",
    Unsubscribe: "RPC.subscriptions",
    Message: "RPC.publish",
    TestExtension: "RPC.testExtension",
    Partial: "RPC.partial",
}
"""Parts of pubsub that are no control messages -> the field that holds them."""
_FIELD_OF: Mapping[tuple[type, str], str] = {
    (Subscribe, "requests"): "SubOpts.requestsPartial",
    (Subscribe, "supports"): "SubOpts.supportsSendingPartial",
    (Prune, "backoff_s"): "ControlPrune.backoff",
    (Prune, "peers"): "ControlPrune.peers",
}
"""Fields that a later version added to a part."""
_NAMED_BY: Mapping[type, str] = {
    TestExtension: "ControlExtensions.testExtension",
    Partial: "ControlExtensions.partialMessages",
}
"""Parts of an extension -> the flag that names it."""


def _fields_of(shape: PartShape) -> Iterator[tuple[str, str]]:
    """(the version that it came with, field) of everything on the wire that is there for one kind of part."""
    yield shape.since, _PLACE_OF.get(shape.kind, f"ControlMessage.{shape.word}")
    if shape.kind in _NAMED_BY:
        yield shape.since, _NAMED_BY[shape.kind]
    for name, since in shape.later.items():
        if (shape.kind, name) in _FIELD_OF:
            yield since, _FIELD_OF[shape.kind, name]


_PUBSUB = frozenset(
    {"RPC.control"} | {name for shape in PARTS if shape.since for _, name in _fields_of(shape)}
)
"""Every field that came with some version of pubsub."""


def _later_than(version: Version) -> frozenset[str]:
    """The fields that this version does not have."""
    added = {name for shape in PARTS for since, name in _fields_of(shape) if since in version.lineage}
    if any(shape.number for shape in version.parts):
        added.add("RPC.control")
    return _PUBSUB - added


_OF_DOG = frozenset({"Message.have_tx", "Message.reset_route"})
_OF_CAT = frozenset({"SeenTx.sequence", "SeenTx.signer"})

Names: TypeAlias = tuple[str, int]
"""A message, and the number of a field."""


def _cut(protocol: str) -> tuple[FileDescriptorProto, str, frozenset[str]]:
    """The description that holds a protocol, its root message, and the fields that it does not have."""
    file = FileDescriptorProto()
    if protocol.startswith("cat"):
        cat_pb2.DESCRIPTOR.CopyToProto(file)
        return file, "Message", _OF_CAT if protocol == "cat-classic" else frozenset()
    if protocol not in VERSIONS:
        mempool_pb2.DESCRIPTOR.CopyToProto(file)
        return file, "Message", frozenset() if protocol.startswith("dog") else _OF_DOG
    wire_pb2.DESCRIPTOR.CopyToProto(file)
    return file, "RPC", _later_than(VERSIONS[protocol])


@frozen
class WireSchema:
    """What a protocol has on the wire: that of one of the kit, and control messages of somebody's own."""

    protocol: str
    messages: tuple[ControlField, ...] = ()
    called: str = ""
    """Under which name it is told; empty: that of the protocol."""

    @property
    def name(self) -> str:
        return self.called or self.protocol


def schema_of(protocol: str | WireSchema) -> WireSchema:
    """That of a protocol of the kit by its name; one that is a schema already as it is."""
    return WireSchema(protocol) if isinstance(protocol, str) else protocol


@lru_cache
def root_of(which: str | WireSchema) -> Any:
    """The type of the outermost message of a protocol, with the fields that it has."""
    schema = schema_of(which)
    protocol = schema.protocol
    file, root, without = _cut(protocol)
    for message in _messages(file.message_type):
        kept = [f for f in message.field if f"{message.name}.{f.name}" not in without]
        del message.field[:]
        message.field.extend(kept)
        if protocol == "gossipsub-1.2-draft" and message.name == "ControlIDontWant":
            message.field[0].name = "messageID"
            message.field[0].label = FieldDescriptorProto.LABEL_REQUIRED
            message.field[0].ClearField("json_name")
    for own in schema.messages:
        _add_control(file, own)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.{root}"))


def _add_control(file: FileDescriptorProto, own: ControlField) -> None:
    kind = f"Control{own.name.title().replace('_', '')}"
    made = file.message_type.add(name=kind)
    repeated = FieldDescriptorProto.LABEL_REPEATED
    made.field.add(name="ids", number=1, label=repeated, type=FieldDescriptorProto.TYPE_BYTES)
    control = next(m for m in file.message_type if m.name == "ControlMessage")
    control.field.add(
        name=own.name,
        number=own.number,
        label=repeated,
        type=FieldDescriptorProto.TYPE_MESSAGE,
        type_name=f".{file.package}.{kind}",
    )


def _messages(some: Any) -> Iterator[DescriptorProto]:
    for each in some:
        yield each
        yield from _messages(each.nested_type)


@lru_cache
def fields_of(protocol: str | WireSchema) -> Mapping[Names, str]:
    """Every field that can be reached from the root: (message, number) -> `repeated bytes messageIDs`."""
    found: dict[Names, str] = {}
    todo, seen = [root_of(protocol).DESCRIPTOR], set()
    while todo:
        message = todo.pop(0)
        if message.full_name in seen:
            continue
        seen.add(message.full_name)
        for each in _fields(message):
            kind = each.type_name.rpartition(".")[2] or TYPES.get(each.type, str(each.type))
            found[message.name, each.number] = f"{LABELS[each.label]} {kind} {each.name}"
            if each.type == MESSAGE:
                todo.append(message.fields_by_number[each.number].message_type)
    return found


def _fields(message: Any) -> list[FieldDescriptorProto]:
    proto = DescriptorProto()
    message.CopyToProto(proto)
    return list(proto.field)


@frozen
class FieldChange:
    """One field that one side has otherwise than the other, or not at all (empty)."""

    message: str
    number: int
    old: str
    new: str


@frozen
class CrossDecoding:
    """What a reader of one version makes of bytes of the other."""

    writer: str
    reader: str
    what: str
    bytes: bytes
    result: str
    same: bool


def schema_changes(old: str | WireSchema, new: str | WireSchema) -> tuple[FieldChange, ...]:
    """The fields in which two protocols differ on the wire, by name."""
    was, now = fields_of(old), fields_of(new)
    places = [place for place in dict.fromkeys([*was, *now]) if was.get(place, "") != now.get(place, "")]
    return tuple(FieldChange(*place, was.get(place, ""), now.get(place, "")) for place in places)


def exchanges(old: str | WireSchema, new: str | WireSchema) -> tuple[CrossDecoding, ...]:
    """Bytes with each field that differs, written by either side and read by the other."""
    found = []
    one, other = schema_of(old), schema_of(new)
    for change in schema_changes(old, new):
        for writer, reader, said in ((one, other, change.old), (other, one, change.new)):
            if said:
                found += [_exchange(writer, reader, change, n) for n in _counts(said, change)]
    return tuple(found)


def _counts(said: str, change: FieldChange) -> tuple[int, ...]:
    """How many values: none too, where one side demands one and the other does not."""
    if not said.startswith("repeated"):
        return (1,)
    return COUNTS if "required" in (change.old + change.new) else (1,)


def _exchange(writer: WireSchema, reader: WireSchema, change: FieldChange, count: int) -> CrossDecoding:
    root = root_of(writer)()
    inner = _into(root, _path(root.DESCRIPTOR, change.message))
    descriptor = inner.DESCRIPTOR.fields_by_number[change.number]
    _fill(inner, descriptor, count)
    if "subscriptions" in root.DESCRIPTOR.fields_by_name:
        # Something else in the same RPC, to see whether it is lost.
        root.subscriptions.add(subscribe=True, topicid="t1")
    data = root.SerializeToString(deterministic=True)
    what = f"{change.message}.{descriptor.name} with {count} {'value' if count == 1 else 'values'}"
    result, same = _read(root_of(reader), data, change, count)
    return CrossDecoding(writer.name, reader.name, what, data, result, same)


def _read(reader: Any, data: bytes, change: FieldChange, count: int) -> tuple[str, bool]:
    try:
        read = reader.FromString(data)
        if not read.IsInitialized():
            return "undecodable: a required field is missing, and all of the RPC is lost", False
    except DecodeError:
        return "undecodable: a required field is missing, and all of the RPC is lost", False
    inner = _into(read, _path(read.DESCRIPTOR, change.message), add=False)
    known = None if inner is None else inner.DESCRIPTOR.fields_by_number.get(change.number)
    if inner is None or known is None:
        return "passed over: a field that the reader does not know", False
    value = getattr(inner, known.name)
    kept = len(value) if known.is_repeated else int(inner.HasField(known.name))
    if kept < count:
        return f"the last value alone is kept, {count - kept} of {count} lost", False
    return "read as written", True


def _path(root: Any, name: str) -> tuple[str, ...] | None:
    """Names of the fields that lead from the root to the message `name`; None where none do."""
    todo: list[tuple[Any, tuple[str, ...]]] = [(root, ())]
    seen = set()
    while todo:
        message, path = todo.pop(0)
        if message.name == name:
            return path
        if message.full_name in seen:
            continue
        seen.add(message.full_name)
        todo += [(f.message_type, (*path, f.name)) for f in message.fields if f.message_type]
    return None


def _into(message: Any, path: tuple[str, ...] | None, *, add: bool = True) -> Any:
    """The message at the end of `path`, made on the way (`add`) or None where it is not there."""
    if path is None:
        return None
    for name in path:
        field = message.DESCRIPTOR.fields_by_name[name]
        if field.is_repeated:
            held = getattr(message, name)
            if not held and not add:
                return None
            message = held.add() if add else held[0]
        else:
            message = getattr(message, name)
            if add:
                message.SetInParent()
    return message


def _fill(message: Any, field: Any, count: int) -> None:
    samples = {4: 7, 8: True, 9: "t1", 12: b"m1"}
    for number in range(count):
        if field.message_type:
            held = getattr(message, field.name)
            made = held.add() if field.is_repeated else held
            made.SetInParent()
            for demanded in made.DESCRIPTOR.fields:
                if demanded.is_required:
                    setattr(made, demanded.name, samples[demanded.type])
        elif field.is_repeated:
            getattr(message, field.name).append(f"m{number + 1}".encode())
        else:
            setattr(message, field.name, samples[field.type])
