"""A made-up gossipsub network as traces of go's PBTracer, with faults whose places are known.

Every peer runs v1.2 on one clock: messages flood a mesh of about D links each, a first copy is answered with
IDONTWANT to the other members, a copy that is not wanted any more is not sent, links come and go with their
backoff, and some ids are gossiped and asked for. All of it is arithmetic on arrays, so that ten million
events take seconds; nothing of the kit is used but its protobuf class.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen, mutable

from quidnunc.pipeline.trace.trace_pb2 import TraceEvent

MS = 1_000_000
START_NS = 1_757_586_480_000_000_000
TOPIC = "blocks"
BACKOFF_S = 60
CODES = (
    "publish deliver duplicate open join send_msg recv_msg send_idontwant recv_idontwant send_graft "
    "recv_graft send_prune recv_prune graft prune send_subscribe recv_subscribe send_ihave recv_ihave "
    "send_iwant recv_iwant leave"
).split()
CODE = {name: at for at, name in enumerate(CODES)}
BODY = {"deliver": "deliverMessage", "duplicate": "duplicateMessage", "open": "onNewOutboundStream"}


@frozen(kw_only=True)
class Faults:
    """How many of each are put in."""

    idontwant: int = 31
    one_sided: int = 60
    echoes: int = 25
    backoff: int = 12
    twice: int = 17


CLEAN = Faults(idontwant=0, one_sided=0, echoes=0, backoff=0, twice=0)


@mutable
class Network:
    """`events` once it is made, and `expected`: (claim, peer, remote) of every fault, peers by number."""

    peers: int
    messages: int
    seed: int = 1
    degree: int = 8
    seconds: int = 300
    faults: Faults = field(factory=Faults)
    expected: list[tuple[str, int, int]] = field(factory=list)
    _parts: list[tuple[Any, ...]] = field(factory=list)
    _random: Any = None

    def make(self) -> dict[str, Any]:
        """Columns time, peer, code, remote, message; -1 where there is none."""
        self._random = np.random.default_rng(self.seed)
        links = self._links()
        everyone = np.arange(self.peers)
        self._add("join", everyone * 1000, everyone)
        # Every trace goes on to the end: a peer that is silent may have died.
        self._add("leave", self.seconds * 1000 * MS + everyone * 1000, everyone)
        self._streams(links)
        self._churn(links)
        self._one_sided(links)
        for message in range(self.messages):
            self._spread(message, links)
        columns = [np.concatenate([part[i] for part in self._parts]) for i in range(5)]
        return dict(zip(("time", "peer", "code", "remote", "message"), columns, strict=True))

    def _add(self, code: str, time: Any, peer: Any, remote: Any = -1, message: int = -1) -> None:
        time = np.asarray(time, np.int64)
        shape = time.shape
        full = (np.broadcast_to(np.asarray(v, np.int32), shape) for v in (peer, remote, message))
        peer, remote, number = full
        self._parts.append((time, peer, np.full(shape, CODE[code], np.int8), remote, number))

    # -- links ----------------------------------------------------------------------------------------------

    def _links(self) -> dict[str, Any]:
        """Each link once, its lower end first: when it is up, and how long a message takes, in ns."""
        pairs = set()
        for _ in range(self.degree // 2):
            order = self._random.permutation(self.peers)
            pairs |= {tuple(sorted(p)) for p in zip(order, np.roll(order, 1), strict=True)}
        low, high = np.array(sorted(pairs), np.int32).T
        count = len(low)
        up = self._random.integers(100 * MS, 900 * MS, count)
        # A fifth of the links are pruned once; half of those are grafted again after the backoff.
        pruned = self._random.random(count) < 0.2
        end = self.seconds * 1000 * MS
        down = np.where(
            pruned, self._random.integers(10_000 * MS, max(end - 20_000 * MS, 10_001 * MS), count), end
        )
        again = down + self._random.integers(61_000 * MS, 63_000 * MS, count)
        again = np.where(pruned & (np.arange(count) % 2 == 0) & (again < end - 5_000 * MS), again, 0)
        way = self._random.integers(5 * MS, 80 * MS, count)
        return {
            "low": low,
            "high": high,
            "up": up,
            "pruned": pruned,
            "down": down,
            "again": again,
            "way": way,
        }

    def _streams(self, links: dict[str, Any]) -> None:
        low, high, way = links["low"], links["high"], links["way"]
        for a, b in ((low, high), (high, low)):
            at = 2 * MS + self._random.integers(0, MS, len(a))
            self._add("open", at, a, b)
            self._add("send_subscribe", at + 5000, a, b)
            self._add("recv_subscribe", at + 5000 + way, b, a)

    def _graft(self, time: Any, a: Any, b: Any, way: Any) -> None:
        self._add("graft", time, a, b)
        self._add("send_graft", time + 2000, a, b)
        self._add("recv_graft", time + 2000 + way, b, a)
        self._add("graft", time + 3000 + way, b, a)

    def _prune(self, time: Any, a: Any, b: Any, way: Any) -> None:
        self._add("prune", time, a, b)
        self._add("send_prune", time + 2000, a, b)
        self._add("recv_prune", time + 2000 + way, b, a)
        self._add("prune", time + 3000 + way, b, a)

    def _churn(self, links: dict[str, Any]) -> None:
        low, high, way = links["low"], links["high"], links["way"]
        self._graft(links["up"], low, high, way)
        pruned, again = links["pruned"], links["again"] > 0
        self._prune(links["down"][pruned], low[pruned], high[pruned], way[pruned])
        self._graft(links["again"][again], low[again], high[again], way[again])
        # Who asks again ten seconds after a PRUNE, on links that are not taken up later, is sent another.
        room = links["down"] < (self.seconds - 15) * 1000 * MS
        for at in self._chosen(np.flatnonzero(pruned & ~again & room), self.faults.backoff):
            time, a, b, wait = links["down"][at] + 10_000 * MS, low[at], high[at], way[at]
            self._add("send_graft", [time], a, b)
            self._add("recv_graft", [time + wait], b, a)
            self._add("send_prune", [time + wait + 1000], b, a)
            self._add("recv_prune", [time + 2 * wait + 1000], a, b)
            self.expected.append(("backoff.no-graft", int(a), int(b)))

    def _one_sided(self, links: dict[str, Any]) -> None:
        linked = set(zip(links["low"].tolist(), links["high"].tolist(), strict=True))
        while sum(claim == "mesh.mutual" for claim, _, _ in self.expected) < self.faults.one_sided:
            a, b = (int(v) for v in self._random.integers(0, self.peers, 2))
            if a == b or (min(a, b), max(a, b)) in linked:
                continue
            linked.add((min(a, b), max(a, b)))
            time = int(self._random.integers(5_000, self.seconds * 1000 - 10_000)) * MS
            self._add("graft", [time], a, b)
            self._add("prune", [time + int(self._random.integers(2_000, 5_000)) * MS], a, b)
            self.expected.append(("mesh.mutual", a, b))

    def _chosen(self, among: Any, count: int) -> list[int]:
        if len(among) < count:
            raise ValueError(f"the network is too small for {count} faults of a kind")
        return [int(v) for v in self._random.choice(among, count, replace=False)]

    # -- messages -------------------------------------------------------------------------------------------

    def _spread(self, message: int, links: dict[str, Any]) -> None:
        start = int((2_000 + (self.seconds - 8_000 / 1000) * 1000 * message / max(self.messages, 1)) * MS)
        held = (links["up"] + 1_000 * MS < start) & (
            (links["down"] > start + 5_000 * MS)
            | ((links["again"] > 0) & (links["again"] + 1_000 * MS < start))
        )
        src = np.concatenate([links["low"][held], links["high"][held]])
        dst = np.concatenate([links["high"][held], links["low"][held]])
        way = np.concatenate([links["way"][held]] * 2) + self._random.integers(0, MS, 2 * int(held.sum()))
        publisher = int(self._random.integers(self.peers))
        arrival, parent = self._arrivals(publisher, start, src, dst, way)
        forward = np.where(arrival < FAR, arrival + 1_200_000, FAR)
        forward[publisher] = start + 10_000
        self._add("publish", [start], publisher, -1, message)
        self._add("deliver", [start + 1000], publisher, publisher, message)
        got = np.flatnonzero((arrival < FAR) & (np.arange(self.peers) != publisher))
        self._add("deliver", arrival[got] + 1_000_000, got, parent[got], message)
        # IDONTWANT goes to the members but the one that the message came from.
        told = (arrival[src] < FAR) & (src != publisher) & (dst != parent[src])
        said = arrival[src] + 100_000
        self._add("send_idontwant", said[told], src[told], dst[told], message)
        self._add("recv_idontwant", (said + way)[told], dst[told], src[told], message)
        back = _reverse(src, dst)
        heard = np.where(told[back], (said + way)[back], FAR)
        able = (forward[src] < FAR) & (dst != parent[src]) & (dst != publisher)
        sent = able & (heard > forward[src])
        self._copies(message, src[sent], dst[sent], forward[src][sent], way[sent], parent)
        self._faults_in(message, publisher, src, dst, way, parent, arrival, forward, able & ~sent, heard)
        self._gossip(message, arrival, got)

    def _arrivals(self, publisher: int, start: int, src: Any, dst: Any, way: Any) -> tuple[Any, Any]:
        arrival = np.full(self.peers, FAR, np.int64)
        arrival[publisher] = start + 10_000 - 1_200_000
        while True:
            there = np.where(arrival[src] < FAR, arrival[src] + 1_200_000 + way, FAR)
            best = arrival.copy()
            np.minimum.at(best, dst, there)
            if (best == arrival).all():
                break
            arrival = best
        parent = np.full(self.peers, -1, np.int32)
        first = there == arrival[dst]
        parent[dst[first]] = src[first]
        parent[publisher] = -1
        return arrival, parent

    def _copies(self, message: int, src: Any, dst: Any, time: Any, way: Any, parent: Any) -> None:
        self._add("send_msg", time, src, dst, message)
        self._add("recv_msg", time + way, dst, src, message)
        late = parent[dst] != src
        self._add("duplicate", (time + way)[late] + 50_000, dst[late], src[late], message)

    def _faults_in(
        self,
        message: int,
        publisher: int,
        src: Any,
        dst: Any,
        way: Any,
        parent: Any,
        arrival: Any,
        forward: Any,
        held_back: Any,
        heard: Any,
    ) -> None:
        def due(count: int) -> int:
            return count * (message + 1) // self.messages - count * message // self.messages

        unwanted = np.flatnonzero(held_back & (forward[src] - heard < 900 * MS))
        for at in self._chosen(unwanted, due(self.faults.idontwant)):
            self._copies(
                message,
                src[at : at + 1],
                dst[at : at + 1],
                forward[src[at : at + 1]],
                way[at : at + 1],
                parent,
            )
            self.expected.append(("idontwant.honoured", int(src[at]), int(dst[at])))
        near = np.flatnonzero((parent == publisher) & (arrival < FAR))
        for peer in self._chosen(near, due(self.faults.echoes)):
            self._add("send_msg", [forward[peer] + 300_000], peer, publisher, message)
            self.expected.append(("relay.not-back", peer, publisher))
        for peer in self._chosen(near, due(self.faults.twice)):
            other = int((publisher + 1 + peer) % self.peers)
            self._add("deliver", [arrival[peer] + 50 * MS], peer, other, message)
            self.expected.append(("deliver.once", peer, other))

    def _gossip(self, message: int, arrival: Any, got: Any) -> None:
        """An early peer advertises to a late one, which asks for it; the answer comes after the mesh's
        copy."""
        order = got[np.argsort(arrival[got])]
        count = max(1, len(order) // 50)
        early, late = order[:count], order[-count:]
        time = arrival[early] + 2 * MS
        there = time + 1 * MS
        sooner = there < arrival[late]
        early, late, time, there = early[sooner], late[sooner], time[sooner], there[sooner]
        self._add("send_ihave", time, early, late, message)
        self._add("recv_ihave", there, late, early, message)
        self._add("send_iwant", there + 1000, late, early, message)
        self._add("recv_iwant", there + 1000 + MS, early, late, message)
        answer = there + 2000 + MS
        self._add("send_msg", answer, early, late, message)
        self._add("recv_msg", answer + 2_000 * MS, late, early, message)
        self._add("duplicate", answer + 2_000 * MS + 50_000, late, early, message)


FAR = np.int64(1) << 61


def _reverse(src: Any, dst: Any) -> Any:
    """The place of the edge that leads back: edges are all low to high, then all high to low."""
    half = len(src) // 2
    return np.concatenate([np.arange(half, 2 * half), np.arange(half)])


# -- as files -----------------------------------------------------------------------------------------------


def peer_id(number: int) -> bytes:
    """An Ed25519 peer id that says which peer it is."""
    return b"\x00\x24\x08\x01\x12\x20" + number.to_bytes(32, "big")


def message_id(number: int) -> bytes:
    return b"\xee" * 12 + number.to_bytes(8, "big")


def _template(code: str) -> tuple[bytes, int, int, int, int]:
    """A record after its length, and where in it peer, time, remote and message are to be put (-1:
    nowhere)."""
    peer, remote, message = b"\xa1" * 38, b"\xa2" * 38, b"\xa3" * 20
    made = TraceEvent(peerID=peer, timestamp=START_NS)
    way, _, what = code.partition("_")
    if what:
        made.type = 7 if way == "send" else 6
        rpc = made.sendRPC if way == "send" else made.recvRPC
        setattr(rpc, "sendTo" if way == "send" else "receivedFrom", remote)
        _fill_rpc(rpc.meta, what, message)
    elif code == "publish":
        made.type = 0
        made.publishMessage.messageID, made.publishMessage.topic = message, TOPIC
    elif code == "join":
        made.type, made.join.topic = 9, TOPIC
    elif code == "leave":
        made.type, made.leave.topic = 10, TOPIC
    elif code in ("graft", "prune"):
        made.type = 11 if code == "graft" else 12
        body = getattr(made, code)
        body.peerID, body.topic = remote, TOPIC
    elif code == "open":
        made.type = 4
        made.onNewOutboundStream.peerID, made.onNewOutboundStream.proto = remote, "/meshsub/1.2.0"
    else:
        made.type = 3 if code == "deliver" else 2
        body = getattr(made, BODY[code])
        body.messageID, body.topic, body.receivedFrom = message, TOPIC, remote
    data = made.SerializeToString()
    head = (
        len(data).to_bytes(1, "big") if len(data) < 128 else bytes([len(data) & 0x7F | 0x80, len(data) >> 7])
    )
    data = head + data
    time = data.index(peer) + 39
    return data, data.index(peer), time, data.find(remote), data.find(message)


def _fill_rpc(meta: Any, what: str, message: bytes) -> None:
    if what == "msg":
        added = meta.messages.add()
        added.messageID, added.topic = message, TOPIC
    elif what == "subscribe":
        added = meta.subscription.add()
        added.subscribe, added.topic = True, TOPIC
    elif what in ("graft", "prune"):
        getattr(meta.control, what).add().topic = TOPIC
    else:
        added = getattr(meta.control, what).add()
        added.messageIDs.append(message)
        if what == "ihave":
            added.topic = TOPIC


def write_files(events: dict[str, Any], folder: Path, count: int) -> int:
    """Write `count` files of delimited protobuf, each of some peers and in the order of time; returns
    bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    peers = 1 + max(int(events["peer"].max()), int(events["remote"].max()))
    ids = np.frombuffer(b"".join(map(peer_id, range(peers))), np.uint8).reshape(peers, 38)
    messages = 1 + max(int(events["message"].max()), 0)
    names = np.frombuffer(b"".join(map(message_id, range(messages))), np.uint8).reshape(messages, 20)
    templates = [_template(code) for code in CODES]
    total = 0
    for number in range(count):
        mine = np.flatnonzero(events["peer"] % count == number)
        mine = mine[np.argsort(events["time"][mine], kind="stable")]
        data = _encoded({name: column[mine] for name, column in events.items()}, templates, ids, names)
        (folder / f"trace.{number:04}.pb").write_bytes(data.tobytes())
        total += len(data)
    return total


def _encoded(
    events: dict[str, Any], templates: list[tuple[bytes, int, int, int, int]], ids: Any, names: Any
) -> Any:
    lengths = np.array([len(t[0]) for t in templates])[events["code"]]
    begins = np.concatenate([[0], np.cumsum(lengths)])
    out = np.empty(int(begins[-1]), np.uint8)
    shifts = np.arange(0, 63, 7)
    for code, (data, peer, time, remote, message) in enumerate(templates):
        rows = np.flatnonzero(events["code"] == code)
        for some in np.array_split(rows, max(1, len(rows) // 100_000)):
            block = np.tile(np.frombuffer(data, np.uint8), (len(some), 1))
            block[:, peer : peer + 38] = ids[events["peer"][some]]
            stamps = (events["time"][some, None] + START_NS) >> shifts
            block[:, time + 0 : time + 9] = (stamps & 0x7F) | np.where(np.arange(9) < 8, 0x80, 0)
            if remote >= 0:
                block[:, remote : remote + 38] = ids[events["remote"][some]]
            if message >= 0:
                block[:, message : message + 20] = names[events["message"][some]]
            out[begins[some][:, None] + np.arange(len(data))] = block
    return out


# -- DOG, which go's schema cannot hold --------------------------------------------------------------------


def write_dog(path: Path, *, peers: int, fault: bool, seed: int = 1) -> tuple[str, int, int] | None:
    """A small network of DOG as our lines of JSON; with a fault, one ResetRoute too many. Returns its
    place."""
    from quidnunc.pipeline.trace.events import (
        ReceivedRpc,
        RedundancyEvent,
        RouteDisableEvent,
        RouteEnableEvent,
        SentRpc,
    )
    from quidnunc.pipeline.trace.events import TraceEvent as Event
    from quidnunc.pipeline.trace.json_lines import line_of
    from quidnunc.pipeline.trace.rpc import MempoolMeta, RpcMeta

    random = np.random.default_rng(seed)
    base = 1_000_000
    lines: list[tuple[int, str]] = []

    def add(time: int, peer: int, body: Any) -> None:
        lines.append((time, line_of(Event(body, peer_id(base + peer), START_NS + time))))

    def rpc(kind: str, tx: bytes | None = None) -> RpcMeta:
        return RpcMeta(mempool=(MempoolMeta(kind=kind, tx=tx),))

    def send(time: int, a: int, b: int, kind: str, tx: bytes | None = None) -> None:
        add(time, a, SentRpc(peer=peer_id(base + b), meta=rpc(kind, tx), length=40))
        add(time + 20 * MS, b, ReceivedRpc(peer=peer_id(base + a), meta=rpc(kind, tx), length=40))

    for second in range(30):
        for peer in range(peers):
            at = second * 1000 * MS + peer * MS
            other, third = (peer + 1) % peers, (peer + 2) % peers
            tx = b"tx" + (second * peers + peer).to_bytes(6, "big")
            send(at, peer, other, "txs", tx)
            send(at + 100 * MS, other, peer, "haveTx", tx)
            disabled = RouteDisableEvent(source=peer_id(base + third), target=peer_id(base + other))
            add(at + 121 * MS, peer, disabled)
            value = 3.0 if second < 10 else 1.0 + 0.05 * float(random.random())
            add(at + 500 * MS, peer, RedundancyEvent(value=value))
            if second % 5 == 4:
                send(at + 600 * MS, other, peer, "resetRoute")
                enabled = RouteEnableEvent(source=disabled.source, target=disabled.target)
                add(at + 621 * MS, peer, enabled)
    place = None
    if fault:
        send(9 * 1000 * MS + 700 * MS, 1, 0, "resetRoute")
        place = ("controller.resets-when-low", base + 1, base)
    lines.sort()
    path.write_text("".join(f"{line}\n" for _, line in lines), encoding="utf-8")
    return place


def expected_json(expected: list[tuple[str, int, int]]) -> str:
    """Faults by claim, for people."""
    counts: dict[str, int] = {}
    for claim, _, _ in expected:
        counts[claim] = counts.get(claim, 0) + 1
    return json.dumps(counts, sort_keys=True)
