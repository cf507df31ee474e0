"""Plays what `quidnunc suite --emit json` exports, from that JSON and the bytes of the wire alone.

It stands for a program in another language: of the kit it uses the router, which it asks as a sidecar is
asked, and protobuf's description of the messages. No case, rule, oracle or codec.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode
from collections.abc import Iterator
from typing import Any, Literal

from google.protobuf.unknown_fields import UnknownFieldSet

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import Driver, Reply
from quidnunc.impl.seam.requests import REQUESTS
from quidnunc.impl.seam.sidecar_json import config_of
from quidnunc.impl.wire import cat_pb2, mempool_pb2, wire_pb2

Verdict = Literal["holds", "departs", "elsewhere"]
"""`elsewhere`: the router took another of several allowed ways, of which the vector says nothing."""
Value = dict[str, Any]


class Reader:
    """One vector on one router."""

    def __init__(self, vector: Value, router: str) -> None:
        self.vector = vector
        self.protocol: str = vector["init"]["protocol"]
        self.pubsub = vector["init"]["parameters"] is not None
        self.driver: Driver = open_router(router, config_of(vector["init"]))
        self.names = {b64decode(value): name for name, value in vector["ids"].items()}
        self.open: list[Value] = []
        self.stalled: set[int] = set()
        self.free = False
        self.why = ""

    def play(self) -> Verdict:
        for step in self.vector["steps"]:
            self.free |= bool(step["choices"])
            done: list[Value] = []
            for request in step["requests"]:
                self.note(request)
                done += self.outputs(REQUESTS[request["op"]](self.driver, request))
            if not self.accounts(step, done):
                return "elsewhere" if self.free else "departs"
        return "holds"

    # -- permits -----------------------------------------------------------------------------------------

    def note(self, request: Value) -> None:
        """What an event makes void of what was owed before."""
        op, peer = request["op"], request.get("peer")
        if op == "disconnect":
            self.open = [p for p in self.open if p["output"].get("peer") != peer]
            self.stalled.discard(peer)
        elif op == "leave":
            for permit in self.open:
                permit["must"] &= topic_of(permit["output"]) != request["topic"]
        elif op == "stall":
            self.stalled.add(peer)
        elif op == "resume":
            self.stalled.discard(peer)

    def accounts(self, step: Value, done: list[Value]) -> bool:
        """Use up a permit for each output, obligations first; what is due must have come."""
        granted = [dict(p) for p in step["allowed"]]
        for at, permit in enumerate(granted):
            # What one step asks for twice is owed once.
            permit["must"] &= all(p["output"] != permit["output"] for p in granted[:at] if p["must"])
        due = {id(p) for p in granted if p["within"] == "now"}
        permits = [*self.open, *granted]
        for output in done:
            found = [p for p in permits if covers(p["output"], output)]
            if not found:
                self.why = f"{step['event']}: {output} is not allowed"
                return False
            permits.remove(max(found, key=lambda p: p["must"]))
        for permit in permits:
            waits = permit["output"]["is"] == "Sent" and permit["output"]["peer"] in self.stalled
            if permit["must"] and not waits and (step["settles"] or id(permit) in due):
                self.why = f"{step['event']}: {permit['text']} did not come"
                return False
        self.open = [p for p in permits if self.stays(p, due, step["settles"])]
        return True

    def stays(self, permit: Value, due: set[int], settles: bool) -> bool:
        if permit["output"]["is"] == "Sent" and permit["output"]["peer"] in self.stalled:
            permit["must"] = False
            return True
        return not settles and id(permit) not in due

    # -- what the router did -----------------------------------------------------------------------------

    def outputs(self, reply: Reply) -> list[Value]:
        assert not reply.crashed, reply.crashed
        found: list[Value] = []
        for peer, _, data in reply.out:
            parts = self.rpc(data) if self.pubsub else self.mempool(data)
            found += [{"is": "Sent", "peer": peer, "part": part} for part in parts]
        found += [
            {"is": "Delivered", "message": {"is": "Message", "id": name_in(d.data), "topic": d.topic}}
            for d in reply.delivered
        ]
        found += [{"is": "Dialled", "peer": peer} for peer in reply.dials]
        found += [{"is": "Closed", "peer": peer} for peer in reply.closed]
        for call in reply.partial:
            about = {"topic": call.topic, "group": text(call.group), "peer": call.peer}
            if call.kind == "offer":
                state = "" if call.state is None else text(call.state)
                found.append({"is": "Offered", **about, "state": state, "requests": call.requests})
            elif call.kind == "gossip":
                found.append({"is": "GossipAsked", **about})
            else:
                part = {"is": "Partial", "topic": call.topic, "group": text(call.group)}
                part |= {"payload": text(call.payload), "metadata": text(call.metadata)}
                found.append({"is": "PartialIn", "peer": call.peer, "part": part})
        return found

    def rpc(self, data: bytes) -> Iterator[Value]:
        """The parts of an RPC, one id each."""
        rpc = wire_pb2.RPC.FromString(data)
        yield from extended(rpc)
        for each in rpc.subscriptions:
            kind = "Subscribe" if each.subscribe else "Unsubscribe"
            flags = {"requests": each.requestsPartial, "supports": each.supportsSendingPartial}
            yield {"is": kind, "topic": each.topicid, **flags}
        for message in rpc.publish:
            self.names.setdefault(self.id_of(message), name_in(message.data))
            yield {"is": "Message", "id": name_in(message.data), "topic": message.topic}
        for ihave in rpc.control.ihave:
            yield from (
                {"is": "IHave", "topic": ihave.topicID, "ids": [n]} for n in self.ids(ihave.messageIDs)
            )
        for iwant in rpc.control.iwant:
            yield from ({"is": "IWant", "ids": [name]} for name in self.ids(iwant.messageIDs))
        for graft in rpc.control.graft:
            yield {"is": "Graft", "topic": graft.topicID}
        for prune in rpc.control.prune:
            backoff_s = prune.backoff if prune.HasField("backoff") else None
            yield {"is": "Prune", "topic": prune.topicID, "backoff_s": backoff_s, "peers": len(prune.peers)}
        for said in rpc.control.idontwant:
            yield from ({"is": "IDontWant", "ids": [name]} for name in self.ids(said.messageIDs))

    def ids(self, ids: list[bytes]) -> list[str]:
        # An id that is not listed is one of the router's own, which nobody knows before it shows.
        return [self.names.get(each, "?") for each in ids]

    def id_of(self, message: wire_pb2.Message) -> bytes:
        by = self.vector["init"]["parameters"]["message_id"]
        if by == "origin":
            return bytes(getattr(message, "from")) + message.seqno
        digest = hashlib.sha256(message.data)
        return digest.digest() if by == "content" else digest.hexdigest().encode()

    def mempool(self, data: bytes) -> Iterator[Value]:
        if self.protocol.startswith("cat"):
            said = cat_pb2.Message.FromString(data)
            named = {"seen_tx": ("SeenTx", said.seen_tx.tx_key), "want_tx": ("WantTx", said.want_tx.tx_key)}
        else:
            said = mempool_pb2.Message.FromString(data)
            named = {"have_tx": ("HaveTx", said.have_tx.tx_key)}
        kind = said.WhichOneof("sum")
        if kind == "txs":
            yield from ({"is": "Tx", "id": name_in(tx)} for tx in said.txs.txs)
        elif kind == "reset_route":
            yield {"is": "ResetRoute"}
        else:
            yield {"is": named[kind][0], "id": self.names.get(named[kind][1], named[kind][1].hex())}


def extended(rpc: wire_pb2.RPC) -> Iterator[Value]:
    """Extensions, and what they bring; before v1.3 our routers say none of it."""
    if rpc.control.HasField("extensions"):
        said = rpc.control.extensions
        names = {"partial": said.partialMessages, "test": said.testExtension}
        assert not len(UnknownFieldSet(said))
        yield {"is": "Extensions", "names": sorted(name for name, there in names.items() if there)}
    if rpc.HasField("testExtension"):
        yield {"is": "TestExtension"}
    if rpc.HasField("partial"):
        part = rpc.partial
        payload = text(part.partialMessage) if part.HasField("partialMessage") else None
        metadata = text(part.partsMetadata) if part.HasField("partsMetadata") else None
        named = {"topic": part.topicID, "group": text(part.groupID)}
        yield {"is": "Partial", **named, "payload": payload, "metadata": metadata}


def name_in(data: bytes) -> str:
    """Data starts with the name of its message, and a newline."""
    return data.partition(b"\n")[0].decode("latin-1")


def text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def topic_of(output: Value) -> str | None:
    about = output.get("part") or output.get("message") or {}
    topic: str | None = about.get("topic")
    return topic


def covers(permit: Value, output: Value) -> bool:
    """Whether this output uses up that permit: equal in every field that both have, and that counts."""
    if permit["is"] != output["is"]:
        return False
    if permit.get("state") == "*":
        output = {key: value for key, value in output.items() if key not in ("state", "requests")}
    for key, value in output.items():
        if isinstance(value, dict):
            if not covers(permit[key], value):
                return False
        elif key == "peers":
            # Whom a PRUNE may list is bounded here by number alone.
            if value > len(permit[key]):
                return False
        elif (key, permit[key]) != ("backoff_s", -1):
            if value != permit[key] and value != ["?"]:
                return False
    return True
