"""What our router watches for its scores: copies of messages, and promises. gossipsub v1.1.

"Mesh Message Delivery" (near-first deliveries) and "Spam Protection Measures" (broken promises).
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define, field

from quidnunc.impl.gossipsub.core import RouterCore
from quidnunc.impl.gossipsub.scores import ScoreKeeper
from quidnunc.model.events import Judgement
from quidnunc.model.rpc import Peer

MAX_WATCHED = 1 << 16
"""Messages, and promises, that are watched at a time; beyond it the oldest is not any more."""


@define(eq=False)
class WatchedMessage:
    """One message and who brought it."""

    topic: str
    first: Peer
    came_ms: int
    others: dict[Peer, None] = field(factory=dict)
    verdict: Judgement | None = None
    verdict_ms: int = 0


class DeliveryWatch:
    """Does nothing where the router keeps no scores."""

    def __init__(self, core: RouterCore) -> None:
        self.core = core
        self.messages: dict[bytes, WatchedMessage] = {}
        self.promises: dict[tuple[Peer, bytes], int] = {}
        """(peer, id) -> when the message is overdue."""

    @property
    def keeper(self) -> ScoreKeeper | None:
        return self.core.keeper

    # -- copies ------------------------------------------------------------------------------------------

    def came(self, peer: Peer, id_bytes: bytes, topic: str) -> None:
        """A first copy, with a good signature; its promises are kept, whatever is thought of it later."""
        if self.keeper is None:
            return
        self.messages.pop(id_bytes, None)
        self.messages[id_bytes] = WatchedMessage(topic, peer, self.core.now_ms)
        if len(self.messages) > MAX_WATCHED:
            del self.messages[next(iter(self.messages))]
        self.keep_promises(id_bytes)

    def came_again(self, peer: Peer, id_bytes: bytes) -> None:
        """A later copy: it counts while the first is being validated, and shortly afterwards."""
        watched = self.messages.get(id_bytes)
        if self.keeper is None or watched is None or peer == watched.first or peer in watched.others:
            return
        watched.others[peer] = None
        if watched.verdict == "accept":
            if self.is_near(watched):
                self.credit_member(peer, watched.topic)
        elif watched.verdict == "reject":
            self.keeper.invalid_message(peer, watched.topic)

    def is_near(self, watched: WatchedMessage) -> bool:
        assert self.keeper is not None
        p = self.keeper.of_topic.get(watched.topic)
        late_ms = self.core.now_ms - watched.verdict_ms
        return p is not None and late_ms <= p.mesh_message_deliveries_window_ms

    def came_bad(self, peer: Peer, topic: str) -> None:
        """A copy that breaks the signature policy."""
        if self.keeper is not None:
            self.keeper.invalid_message(peer, topic)

    def judged(self, id_bytes: bytes, judgement: Judgement) -> None:
        """Validation is over."""
        watched = self.messages.get(id_bytes)
        if self.keeper is None or watched is None:
            return
        watched.verdict, watched.verdict_ms = judgement, self.core.now_ms
        if judgement == "accept":
            self.keeper.first_delivery(watched.first, watched.topic)
            for peer in (watched.first, *watched.others):
                self.credit_member(peer, watched.topic)
        elif self.is_penalised(judgement):
            for peer in (watched.first, *watched.others):
                self.keeper.invalid_message(peer, watched.topic)

    def is_penalised(self, judgement: Judgement) -> bool:
        return judgement == "reject"

    def credit_member(self, peer: Peer, topic: str) -> None:
        if self.keeper is not None and self.is_member(peer, topic):
            self.keeper.mesh_delivery(peer, topic)

    def is_member(self, peer: Peer, topic: str) -> bool:
        assert self.keeper is not None
        record = self.keeper.records.get(peer)
        counters = record.topics.get(topic) if record is not None else None
        return counters is not None and counters.grafted_ms is not None

    # -- promises ----------------------------------------------------------------------------------------

    def asked(self, peer: Peer, ids: Iterable[bytes]) -> None:
        """An IHAVE has led to an IWANT for `ids`: one of them is tracked."""
        if self.keeper is None:
            return
        tracked = self.core.die.choice(sorted(ids))
        due_ms = self.core.now_ms + self.keeper.parameters.iwant_followup_ms
        self.promises.setdefault((peer, tracked), due_ms)
        if len(self.promises) > MAX_WATCHED:
            del self.promises[next(iter(self.promises))]

    def keep_promises(self, id_bytes: bytes) -> None:
        """It came, from whomever."""
        for key in [key for key in self.promises if key[1] == id_bytes]:
            del self.promises[key]

    def heartbeat(self) -> None:
        """Overdue promises are broken; what is out of every window is not watched any longer."""
        if self.keeper is None:
            return
        now_ms = self.core.now_ms
        for key in [key for key, due_ms in self.promises.items() if due_ms < now_ms]:
            del self.promises[key]
            self.keeper.misbehaved(key[0])
        ttl_ms = self.core.parameters.seen_ttl_ms
        for id_bytes in [i for i, w in self.messages.items() if w.verdict and now_ms - w.came_ms >= ttl_ms]:
            del self.messages[id_bytes]
