"""Handler vectors of leanSpec (`gossipsub_handler_test`): a state, one RPC, what is sent, the mesh after.

The form is that of its `fill` command: JSON, one object per test id. A state cannot be set in a router under
test, so each is reached by events: who is in the mesh has grafted, what was seen has come before. What is
compared are decisions and not bytes: message ids are names here, and theirs are computed for that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from attrs import Factory, define, frozen

from quidnunc.impl.seam import Config, Driver
from quidnunc.model.errors import CaseError
from quidnunc.model.events import (
    MESHSUB_1_2,
    Advance,
    Connect,
    Delivered,
    Disconnect,
    Event,
    Join,
    Output,
    Receive,
    Sent,
    Stall,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import (
    Graft,
    IDontWant,
    IHave,
    IWant,
    Message,
    Part,
    Peer,
    Prune,
    Subscribe,
    Unsubscribe,
    atoms,
)
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import Play, WireSubject, messages_in

FORM = "gossipsub_handler_test"
PROTOCOL = "gossipsub-1.2"
IDONTWANT_MIN_BYTES = 1024
"""Theirs: from that size on a message is told of."""
MAX_FILE_BYTES = 32 << 20
MAX_PEERS = 1000
_INVALID_SNAPPY = bytes(4)
# The domain in their ids for data that does not decompress, as that of the vectors does not.


class UnreachableState(Exception):
    """No events lead a router into the state of a vector, or it asks for what no text allows. Says why."""


@frozen
class LeanSpecVector:
    """One vector as it stands in its file."""

    name: str
    params: Mapping[str, int]
    state: Mapping[str, Any]
    event: Mapping[str, Any]
    now_s: float
    sent: tuple[Mapping[str, Any], ...]
    mesh_after: Mapping[str, frozenset[str]]


@frozen
class VectorResult:
    """What became of a vector. `model` and `router`: what differs, each in a line; empty where they agree."""

    name: str
    model: tuple[str, ...] = ()
    router: tuple[str, ...] = ()
    not_played: str = ""
    played_with: str = ""
    """What had to be changed for the text to allow it."""


# -- files --------------------------------------------------------------------------------------------------


def files_of(paths: Sequence[Path]) -> Iterator[Path]:
    """The JSON files among `paths` and below them, in order."""
    for path in paths:
        yield from sorted(path.rglob("*.json")) if path.is_dir() else (path,)


def read(path: Path) -> list[LeanSpecVector]:
    """The handler vectors of a file; other forms in it are left out.

    Raises CaseError, naming file and key, where it is not of the form; OSError where it cannot be read.
    """
    if path.stat().st_size > MAX_FILE_BYTES:
        raise CaseError(f"{path}: more than {MAX_FILE_BYTES} bytes; give the files of handler tests alone")
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CaseError(f"{path}: JSON was expected: {error}") from error
    if not isinstance(whole, dict):
        raise CaseError(f"{path}: an object of vectors by their test ids was expected")
    return [_vector(f"{path}: {name}", name, each) for name, each in whole.items() if _is_handler(each)]


def _is_handler(each: object) -> bool:
    if not isinstance(each, dict):
        return False
    info = each.get("_info")
    return (info.get("fixtureFormat") if isinstance(info, dict) else "") == FORM or "handlerName" in each


def _vector(place: str, name: str, each: Mapping[str, Any]) -> LeanSpecVector:
    try:
        expected = each["expected"]
        found = LeanSpecVector(
            name=name.rpartition("::")[2].partition("[")[0] or name,
            params={key: int(each["params"][key]) for key in ("d", "dLow", "dHigh", "dLazy")},
            state=dict(each["initialState"]),
            event=dict(each["event"]),
            now_s=float(each["now"]),
            sent=tuple(dict(rpc) for rpc in expected["sentRpcs"]),
            mesh_after={t: frozenset(peers) for t, peers in expected["meshAfter"].items()},
        )
        if len(found.state["peers"]) > MAX_PEERS:
            raise CaseError(f"{place}: more than {MAX_PEERS} peers")
        return found
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CaseError(f"{place}: a vector of {FORM} was expected: {error!r}") from error


# -- a vector as events -------------------------------------------------------------------------------------


def message_id(topic: str, data: bytes) -> str:
    """The id of a message as leanSpec computes it where the data is not compressed: hexadecimal, 20 bytes."""
    said = topic.encode()
    return "0x" + sha256(_INVALID_SNAPPY + len(said).to_bytes(8, "little") + said + data).digest()[:20].hex()


@define
class VectorScript:
    """A vector as events: `before` reaches its state, `event` is its RPC, `sent` what it expects."""

    vector: LeanSpecVector
    peers: dict[str, Peer] = Factory(dict)
    symbols: dict[str, str] = Factory(dict)
    messages: dict[str, Message] = Factory(dict)
    before: list[Event] = Factory(list)

    def __attrs_post_init__(self) -> None:
        self.peers = {name: at for at, name in enumerate(sorted(self.vector.state["peers"]), 1)}
        for each in self.vector.state.get("cachedMessages", ()):
            self._message(each["topic"], each["data"], each["messageId"])
        for each in (*self.vector.event.get("publish", ()), *self._published()):
            self._message(each["topic"], each.get("data") or "0x")
        self.before = [*self._remembered(), *self._neighbours()]

    def _published(self) -> Iterator[Mapping[str, Any]]:
        for rpc in self.vector.sent:
            yield from rpc.get("publish", ())

    # Names.

    def peer(self, name: str) -> Peer:
        if name not in self.peers:
            raise UnreachableState(f"{name} takes part, and is no peer")
        return self.peers[name]

    def symbol(self, id_hex: str) -> str:
        return self.symbols.setdefault(id_hex.lower(), f"m{len(self.symbols) + 1}")

    def _message(self, topic: str, data_hex: str, id_hex: str = "") -> Message:
        data = bytes.fromhex(data_hex.removeprefix("0x"))
        found = Message(self.symbol(id_hex or message_id(topic, data)), topic, None, len(data))
        return self.messages.setdefault(found.id, found)

    # What was seen and what is cached, before anybody is there to be told of it.

    def _remembered(self) -> Iterator[Event]:
        state, helper = self.vector.state, len(self.peers) + 1
        topics = list(state["subscriptions"])
        cached = [self.messages[self.symbol(m["messageId"])] for m in state.get("cachedMessages", ())]
        seen = [self.symbol(each) for each in state.get("seenMessageIds", ())]
        yield from (Join(topic) for topic in topics)
        if not seen and not cached:
            return
        if not topics or any(message.topic not in topics for message in cached):
            raise UnreachableState("a message was seen in a topic that the router is not in")
        yield Connect((helper,), MESHSUB_1_2)
        forgotten = [m for m in seen if m not in {c.id for c in cached}]
        if forgotten:
            old = [self.messages.get(m) or Message(m, topics[0]) for m in forgotten]
            yield Receive((helper,), tuple(old))
            p = self.parameters()
            yield Advance(p.heartbeat_delay_ms + p.mcache_len * p.heartbeat_interval_ms)
        if cached:
            yield Receive((helper,), tuple(cached))
        yield Disconnect((helper,))

    # Who is there, and in the mesh.

    def _neighbours(self) -> Iterator[Event]:
        state = self.vector.state
        for name, each in state["peers"].items():
            peer = self.peers[name]
            yield Connect((peer,), MESHSUB_1_2)
            if not each.get("withStream", True):
                yield Stall((peer,))
            if each.get("subscriptions"):
                yield Receive((peer,), tuple(Subscribe(topic) for topic in each["subscriptions"]))
            for topic, expiry_s in each.get("backoff", {}).items():
                left_s = int(expiry_s - self.vector.now_s)
                if left_s > 0:
                    yield Receive((peer,), (Graft(topic),))
                    yield Receive((peer,), (Prune(topic, left_s),))
            if each.get("dontWantIds"):
                yield Receive((peer,), (IDontWant(tuple(map(self.symbol, each["dontWantIds"]))),))
        for topic, members in state.get("meshes", {}).items():
            yield from (Receive((self.peer(name),), (Graft(topic),)) for name in members)

    # The vector itself.

    def parameters(self) -> Parameters:
        """Raises Unreachable where no text allows them, even with D between its bounds."""
        said = self.vector.params
        d = min(max(said["d"], said["dLow"]), said["dHigh"])
        try:
            return Parameters(
                d=d,
                d_low=said["dLow"],
                d_high=said["dHigh"],
                d_lazy=said["dLazy"],
                d_out=0,
                d_score=0,
                signature_policy="StrictNoSign",
                message_id="content",
                idontwant_min_bytes=IDONTWANT_MIN_BYTES,
            )
        except ValueError as error:
            raise UnreachableState(str(error)) from error

    def changed(self) -> str:
        d, played = self.vector.params["d"], self.parameters().d
        return "" if d == played else f"D {d}, outside its bounds, taken as {played}"

    def event(self) -> Receive:
        event = self.vector.event
        parts: list[Part] = [
            self._message(m["topic"], m.get("data") or "0x") for m in event.get("publish", ())
        ]
        parts += [IHave(each["topicId"], self._ids(each)) for each in event.get("ihave", ())]
        parts += [IWant(self._ids(each)) for each in event.get("iwant", ())]
        parts += [Graft(each["topicId"]) for each in event.get("graft", ())]
        parts += [Prune(each["topicId"], each.get("backoff") or None) for each in event.get("prune", ())]
        parts += [IDontWant(self._ids(each)) for each in event.get("idontwant", ())]
        return Receive((self.peer(event["fromPeer"]),), tuple(parts))

    def sent(self) -> list[Output]:
        return [
            Sent(self.peer(rpc["toPeer"]), atom)
            for rpc in self.vector.sent
            for part in self._sent_parts(rpc)
            for atom in atoms(part)
        ]

    def _sent_parts(self, rpc: Mapping[str, Any]) -> Iterator[Part]:
        for each in rpc.get("subscriptions") or ():
            yield (Subscribe if each["subscribe"] else Unsubscribe)(each["topicId"])
        for each in rpc.get("publish") or ():
            yield self._message(each["topic"], each["data"])
        control = rpc.get("control") or {}
        yield from (Graft(each["topicId"]) for each in control.get("graft") or ())
        yield from (Prune(each["topicId"], each["backoff"]) for each in control.get("prune") or ())
        yield from (IWant(self._ids(each)) for each in control.get("iwant") or ())
        yield from (IDontWant(self._ids(each)) for each in control.get("idontwant") or ())

    def _ids(self, each: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(map(self.symbol, each["messageIds"]))

    def mesh_after(self) -> dict[str, list[Peer]]:
        return {
            topic: sorted(self.peer(name) for name in names)
            for topic, names in self.vector.mesh_after.items()
        }


# -- judged -------------------------------------------------------------------------------------------------


def run_vector(vector: LeanSpecVector, opener: Callable[[Config], Driver]) -> VectorResult:
    """Play it on a router, and ask of the model whether it allows exactly what the vector expects."""
    try:
        script = VectorScript(vector)
        event, wanted, mesh = script.event(), script.sent(), script.mesh_after()
        driver = opener(Config(protocol=PROTOCOL, parameters=script.parameters()))
        try:
            moments, model = _reach(script, driver, event)
            router = _compared(wanted, mesh, moments, _mesh_of(driver))
        finally:
            driver.close()
    except UnreachableState as reason:
        return VectorResult(vector.name, not_played=str(reason))
    # What goes to the application is no part of a vector; it may go there.
    judged = model.judge(event, [*wanted, *(o for o in moments if isinstance(o, Delivered))])
    differing = [f"{d.kind}: {d.observed or d.expected or d.reason}" for d in judged.departures]
    # A handler of theirs is done when it returns, so what the text still asks for later is left out there.
    differing += [f"missing: {p.output}" for p in model.open if p.must]
    after = {topic: sorted(model.state.mesh.get(topic, ())) for topic in mesh}
    differing += [f"mesh {after}, expected {mesh}"] if after != mesh else []
    return VectorResult(vector.name, tuple(differing), tuple(router), played_with=script.changed())


def _reach(script: VectorScript, driver: Driver, event: Receive) -> tuple[list[Output], Oracle]:
    """What the router does at the vector's RPC, and the model as it is before it."""
    config = Config(protocol=PROTOCOL, parameters=script.parameters())
    subject, model = WireSubject(driver, config), Oracle(protocol_named(PROTOCOL), config.parameters)
    run = Play(subject, model)
    subject.declare([*script.messages.values(), *messages_in([*script.before, event])])
    for each in script.before:
        if run.do(each) or run.blurred:
            raise UnreachableState(f"the router departs from the model on the way, at {each}")
    before = {
        t: sorted(map(script.peer, names)) for t, names in script.vector.state.get("meshes", {}).items()
    }
    mesh = _mesh_of(driver)
    if {topic: mesh.get(topic, []) for topic in before} != before:
        raise UnreachableState(f"the mesh is {mesh} then, and {before} was wanted")
    return list(subject.do(event)), model


def _mesh_of(driver: Driver) -> dict[str, list[Peer]]:
    mesh = driver.state().state.get("mesh")
    if not isinstance(mesh, dict):
        raise UnreachableState("the router's state names no mesh")
    return {str(topic): sorted(peers) for topic, peers in mesh.items()}


def _compared(
    wanted: Sequence[Output],
    mesh: Mapping[str, Sequence[Peer]],
    did: Sequence[Output],
    after: Mapping[str, Any],
) -> Iterator[str]:
    """What differs, a line each."""
    sent = [each for each in did if isinstance(each, Sent)]
    yield from (f"sent {each} besides" for each in sent if each not in wanted)
    yield from (f"did not send {each}" for each in wanted if each not in sent)
    found = {topic: after.get(topic, []) for topic in mesh}
    if found != dict(mesh):
        yield f"mesh {found}, expected {dict(mesh)}"
