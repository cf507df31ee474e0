"""The neighbours of one of our routers, for tests: what they say, in symbols, and what they hear back.

`Hood` drives any `Driver` by hand. `walk` lets a seeded die drive it, with a bent for what is rare.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

from quidnunc.impl.gossipsub.core import FEATURES
from quidnunc.impl.ours.pubsub import open_ours
from quidnunc.impl.seam import Config, Driver, Reply
from quidnunc.impl.wire.codec import Codec
from quidnunc.impl.wire.malformed import MALFORMED
from quidnunc.model.events import MESHSUB_1_3
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import (
    Extensions,
    Flaw,
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
from quidnunc.model.versions import VERSIONS

SMALL: dict[str, Any] = {
    "d": 4,
    "d_low": 3,
    "d_high": 6,
    "d_score": 2,
    "d_out": 1,
    "d_lazy": 2,
    "flood_publish": False,
    "fanout_ttl_ms": 3000,
    "seen_ttl_ms": 8000,
    "prune_backoff_s": 6,
    "unsubscribe_backoff_s": 3,
    "opportunistic_graft_ticks": 3,
    "opportunistic_graft_threshold": 3,
    "max_ihave_messages": 3,
    "max_ihave_length": 6,
    "max_idontwant_messages": 3,
}
"""Parameters under which everything happens within a few peers and seconds."""

KNOWN = frozenset({IHave, IWant, Graft, Prune, IDontWant, Extensions})
"""Control messages that acts of their own send."""

STREAMS = {each.name: tuple(reversed(each.streams)) for each in FEATURES.values()}
"""Newest first."""


class Hood:
    """A router and all its neighbours. What the last request made it do is in `sent`, by peer."""

    def __init__(
        self, *, protocol: str = "gossipsub-1.2", mutant: str | None = None, seed: int = 1, **changes: Any
    ) -> None:
        self.parameters = Parameters(**{**SMALL, **changes})
        self.protocol = protocol
        config = Config(seed=seed, protocol=protocol, parameters=self.parameters)
        self.driver: Driver = open_ours(config, mutant)
        self.codec = Codec(self.parameters)
        self.sent: dict[Peer, list[Part]] = {}
        self.reply = Reply()

    def note(self, reply: Reply) -> dict[Peer, list[Part]]:
        assert not reply.crashed, reply.crashed
        self.reply, self.sent = reply, {}
        for peer, channel, data in reply.out:
            assert channel == 0
            parts = [atom for part in self.codec.decode(data) for atom in atoms(part)]
            self.sent.setdefault(peer, []).extend(parts)
        return self.sent

    def connect(self, *peers: Peer, stream: str = "", outbound: bool = False, topics: str = "t1") -> None:
        """Connect and subscribe each of `peers` to the space-separated `topics`."""
        for peer in peers:
            self.note(self.driver.connect(peer, stream or STREAMS[self.protocol][0], outbound))
            if topics:
                self.say(peer, *(Subscribe(topic) for topic in topics.split()))

    def say(self, peer: Peer, *parts: Part) -> dict[Peer, list[Part]]:
        return self.note(self.driver.rpc(peer, self.codec.encode(parts, sender=peer)))

    def join(self, topic: str = "t1") -> dict[Peer, list[Part]]:
        return self.note(self.driver.join(topic))

    def leave(self, topic: str = "t1") -> dict[Peer, list[Part]]:
        return self.note(self.driver.leave(topic))

    def publish(self, message: Message) -> dict[Peer, list[Part]]:
        return self.note(self.driver.publish(message.topic, self.codec.data_of(message)))

    def verdict(self, symbol: str, judgement: Any) -> dict[Peer, list[Part]]:
        return self.note(self.driver.verdict(self.codec.id_bytes(symbol), judgement))

    def score(self, peer: Peer, value: int) -> None:
        self.note(self.driver.score(peer, value))

    def advance(self, ms: int) -> dict[Peer, list[Part]]:
        return self.note(self.driver.advance(ms))

    def beat(self) -> dict[Peer, list[Part]]:
        """Up to and over the next heartbeat."""
        now_ms, p = self.reply.t_ms, self.parameters
        return self.advance(
            p.heartbeat_interval_ms - (now_ms - p.heartbeat_delay_ms) % p.heartbeat_interval_ms
        )

    def mesh(self, topic: str = "t1") -> set[Peer]:
        mesh = self.driver.state().state["mesh"]
        assert isinstance(mesh, dict)
        return set(mesh.get(topic, ()))

    def fanout(self, topic: str = "t1") -> set[Peer]:
        fanout = self.driver.state().state["fanout"]
        assert isinstance(fanout, dict)
        return set(fanout.get(topic, ()))

    def got(self, part: Part) -> set[Peer]:
        """Who was sent exactly `part` by the last request."""
        return {peer for peer, parts in self.sent.items() if part in parts}

    def got_any(self, kind: type) -> set[Peer]:
        """Who was sent a part of that kind by the last request."""
        return {peer for peer, parts in self.sent.items() if any(type(p) is kind for p in parts)}

    def delivered(self) -> list[str]:
        return [self.codec.delivered(d.topic, d.data).id for d in self.reply.delivered]


TOPICS = ("t1", "t1", "t1", "t2", "t3")
FLAWS: tuple[Flaw, ...] = ("unsigned", "forged", "foreign-key", "no-author", "no-seqno")


class Walk:
    """Acts at random on a router; `log` says what came of each."""

    def __init__(self, hood: Hood, seed: int) -> None:
        self.hood = hood
        self.die = Random(seed)
        self.peers: list[Peer] = []
        self.messages: list[Message] = []
        self.log: list[object] = []
        self.last_peer = 0
        self.later = [s for s in VERSIONS[self.hood.protocol].parts if s.number and s.kind not in KNOWN]
        self.acts = (
            self.arrive, self.depart, self.join_or_leave, self.mesh_control, self.mesh_control, self.message,
            self.message, self.message, self.gossip, self.gossip, self.publish, self.verdict, self.score,
            self.beat, self.beat, self.subscribe, self.mixed, self.idontwant, self.old_copies, self.raw,
            self.crowd, self.flood_of_control, self.rejoin, self.poor_friend, self.ask_again,
            self.from_outside,
            *((self.later_control,) if self.later else ()),
        )  # fmt: skip

    def run(self, steps: int) -> list[object]:
        self.arrive()
        self.hood.join()
        for _ in range(steps):
            act = self.die.choice(self.acts)
            act()
            reply = self.hood.reply
            self.log.append((reply.out, reply.delivered, reply.closed))
        return self.log

    def say(self, *parts: Part) -> None:
        if self.peers:
            self.hood.say(self.die.choice(self.peers), *parts)

    def arrive(self) -> None:
        for _ in range(self.die.choice((1, 2, 9))):
            if len(self.peers) < 30:
                self.last_peer += 1
                stream = self.die.choice((STREAMS[self.hood.protocol][0], *STREAMS[self.hood.protocol]))
                self.hood.connect(self.last_peer, stream=stream, outbound=self.die.random() < 0.2, topics="")
                self.log.append(self.hood.reply.out)
                self.introduce(self.last_peer, stream)
                if self.die.random() < 0.9:
                    self.hood.say(self.last_peer, Subscribe(self.die.choice(TOPICS)))
                self.peers.append(self.last_peer)

    def introduce(self, peer: Peer, stream: str) -> None:
        """Name extensions, of which the router knows one; after a reconnect too."""
        if stream == MESHSUB_1_3:
            self.hood.say(peer, Extensions(("test", "x4000001") if peer % 3 else ("test",)))
            self.log.append((self.hood.reply.out, self.hood.reply.closed))
            if peer % 2 and not self.hood.reply.closed:
                self.hood.driver.disconnect(peer)
                self.hood.connect(peer, stream=stream, topics="")
                self.hood.say(peer, Extensions(("test",)))
                self.log.append(self.hood.reply.out)

    def depart(self) -> None:
        if len(self.peers) > 8:
            gone = self.die.choice(self.peers)
            self.peers.remove(gone)
            self.hood.note(self.hood.driver.disconnect(gone))

    def join_or_leave(self) -> None:
        topic = self.die.choice(TOPICS)
        topics = self.hood.driver.state().state["topics"]
        assert isinstance(topics, list)
        if topic not in topics:
            self.hood.join(topic)
        elif self.die.random() < 0.4:
            self.hood.leave(topic)
            if self.die.random() < 0.5:
                self.hood.join(topic)

    def mesh_control(self) -> None:
        topic = self.die.choice(TOPICS)
        for _ in range(self.die.choice((1, 1, 3, 8))):
            backoff_s = self.die.choice((None, 0, 1, 2, 9, 2**63))
            self.say(self.die.choice((Graft(topic), Graft(topic), Prune(topic, backoff_s))))

    def new_message(self, flaw: Flaw = "", topic: str = "") -> Message:
        signed = self.hood.parameters.signature_policy == "StrictSign"
        author = self.die.choice((*self.peers, 0)) if signed and self.peers else None
        topic = topic or self.die.choice(TOPICS)
        made = Message(f"m{len(self.messages) + 1}", topic, author, self.die.choice((0, 300)), flaw)
        self.messages.append(made)
        return made

    def message(self) -> None:
        signed = self.hood.parameters.signature_policy == "StrictSign"
        flaw: Flaw = self.die.choice(FLAWS if signed else ("stamped",)) if self.die.random() < 0.2 else ""
        bad = self.new_message(flaw)
        self.say(bad)
        if self.die.random() < 0.6:
            self.say(Message(bad.id, bad.topic, bad.author, bad.size))

    def ids(self) -> tuple[str, ...]:
        known = self.messages[-6:]
        return (
            tuple({self.die.choice(known).id: 0 for _ in range(self.die.choice((1, 2, 9)))}) if known else ()
        )

    def later_control(self) -> None:
        """A control message that no other act knows, and a message in its topic."""
        topic = self.die.choice(TOPICS)
        self.say(self.die.choice(self.later).sample(topic, f"m{len(self.messages) + 1}"))
        self.say(self.new_message(topic=topic))

    def gossip(self) -> None:
        topic = self.die.choice(TOPICS)
        for _ in range(self.die.choice((1, 1, 5))):
            self.say(self.die.choice((IHave(topic, self.ids()), IWant(self.ids()), IDontWant(self.ids()))))

    def publish(self, topic: str = "") -> None:
        signed = self.hood.parameters.signature_policy == "StrictSign"
        topic = topic or self.die.choice(("t1", "t2", "t3"))
        made = Message(f"m{len(self.messages) + 1}", topic, 0 if signed else None)
        self.messages.append(made)
        self.hood.publish(made)

    def verdict(self) -> None:
        for each in self.messages[-4:]:
            self.hood.verdict(each.id, self.die.choice(("accept", "accept", "reject", "ignore")))

    def score(self) -> None:
        if self.peers:
            self.hood.score(self.die.choice(self.peers), self.die.choice((-50, -30, -15, -1, 0, 0, 2, 5)))

    def beat(self) -> None:
        if self.die.random() < 0.3:
            self.hood.advance(self.die.choice((200, 700, 2600)))
        else:
            self.hood.beat()

    def subscribe(self) -> None:
        topic = self.die.choice(TOPICS)
        self.say(self.die.choice((Subscribe(topic), Unsubscribe(topic))))

    def mixed(self) -> None:
        made = self.new_message()
        parts: Iterable[Part] = (
            made, IHave(made.topic, (made.id,)), IWant((made.id,)), Prune("t9"), Prune("t1"), Graft("t8"),
        )  # fmt: skip
        self.say(*self.die.sample(list(parts), self.die.choice((2, 4, 6))))

    def crowd(self) -> None:
        """Everyone grafts, scores are set, and the heartbeat has to choose."""
        for peer in self.peers:
            self.hood.score(peer, self.die.choice((0, 1, 2, 5)))
            self.hood.say(peer, Graft("t1"))
            self.log.append(self.hood.reply.out)
        self.hood.beat()

    def flood_of_control(self) -> None:
        """One peer says more than the caps allow, and then something that counts."""
        peer = self.die.choice(sorted(self.hood.mesh()) or self.peers)
        kind = self.die.choice((IDontWant(()), Graft("t9"), IHave("t1", ())))
        for _ in range(4):
            self.hood.say(peer, kind)
        made = self.new_message(topic="t1")
        self.hood.say(peer, IDontWant((made.id,)), IHave(made.topic, (made.id,)))
        self.log.append(self.hood.reply.out)
        self.say(made)

    def rejoin(self) -> None:
        """Come back at the very end of the backoff, between two heartbeats."""
        self.hood.leave()
        self.hood.advance(1000 * self.hood.parameters.unsubscribe_backoff_s)
        self.hood.join()

    def from_outside(self) -> None:
        """Publish to a topic that the router is not in, lose a peer of the fanout, join the topic."""
        self.hood.leave("t3")
        self.hood.advance(1000 * self.hood.parameters.unsubscribe_backoff_s + 1000)
        for peer in self.peers[:9]:
            self.hood.say(peer, Subscribe("t3"))
        self.publish("t3")
        leavers = sorted(self.hood.sent)[: self.die.choice((0, 1))]
        for peer in leavers:
            self.hood.say(peer, Unsubscribe("t3"))
        self.publish("t3")
        self.log.append(self.hood.reply.out)
        if not leavers:
            self.hood.join("t3")

    def poor_friend(self) -> None:
        """An explicit peer that the application does not like."""
        for peer in self.hood.parameters.explicit_peers.intersection(self.peers):
            self.hood.score(peer, -50)
            self.hood.say(peer, Graft("t1"))

    def ask_again(self) -> None:
        """One peer asks for the same messages more often than it may."""
        peer, ids = self.die.choice(self.peers), self.ids()
        for _ in range(5):
            self.hood.say(peer, IWant(ids))
            self.log.append(self.hood.reply.out)
        self.hood.say(peer, *(IHave("t1", (f"n{i}",)) for i in range(9)))

    def old_copies(self) -> None:
        """The same message again and again, for longer than it is remembered."""
        made = self.new_message()
        for _ in range(4):
            self.say(made)
            self.log.append(self.hood.reply.out)
            self.hood.advance(3000)

    def raw(self) -> None:
        if len(self.peers) > 8 and self.die.random() < 0.3:
            peer = self.peers.pop()
            kind = MALFORMED[self.die.choice(sorted(MALFORMED))]
            self.hood.note(self.hood.driver.raw(peer, kind()))
            self.log.append(self.hood.reply.closed)
            self.hood.driver.disconnect(peer)

    def idontwant(self) -> None:
        made = self.new_message()
        self.say(IDontWant((made.id,)))
        self.say(made)


def walk(seed: int, steps: int = 150, **hood: Any) -> list[object]:
    """What a router said to a random walk. The same for the same arguments."""
    return Walk(Hood(seed=seed, **hood), seed).run(steps)
