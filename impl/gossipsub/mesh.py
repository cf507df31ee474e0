"""The mesh of our router: Join and Leave, GRAFT and PRUNE with backoff, and upkeep at the heartbeat.

gossipsub v1.0, "Topic Membership", "Message Processing", "Mesh Maintenance"; v1.1, "Prune Backoff", "Outbound
Mesh Quotas", "Peer Scoring". Written from those texts, and not from our model of them, which tests it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from quidnunc.impl.gossipsub.core import RouterCore
from quidnunc.impl.gossipsub.outbox import Outbox
from quidnunc.impl.gossipsub.peer_exchange import PeerExchange
from quidnunc.model.rpc import Peer

MAX_BACKOFFS = 1 << 16


class GraftAnswer(Enum):
    """What becomes of a GRAFT."""

    TAKE = "into the mesh"
    LEAVE = "nothing"
    PRUNE = "answered by PRUNE"
    BACK_OFF = "answered by PRUNE, and a backoff starts"
    CROWDED = "answered by PRUNE that names others, and a backoff starts"


Check = Callable[[Peer, str], GraftAnswer | None]
Upkeep = Callable[[str], None]


class Mesh:
    """Topic -> members, for exactly the topics that we are in; and who is to be left alone until when."""

    def __init__(self, core: RouterCore, outbox: Outbox) -> None:
        self.core = core
        self.outbox = outbox
        self.of: dict[str, set[Peer]] = {}
        self.backoff_ends_ms: dict[tuple[str, Peer], int] = {}
        self.exchange = PeerExchange(core)
        self.heartbeats = 0
        self.graft_checks: list[Check] = [self.outside_topic, self.already_member]
        self.upkeep: list[Upkeep] = [self.fill, self.cut]
        if core.features.hardened:
            self.graft_checks += [self.from_explicit, self.backing_off, self.negative, self.full]
            self.upkeep = [self.drop_negative, *self.upkeep, self.fill_outbound, self.graft_better]

    # -- Join and Leave ----------------------------------------------------------------------------------

    def join(self, topic: str, from_fanout: Iterable[Peer]) -> None:
        """Up to D members: those of the fanout move over, others join them. Each is told."""
        self.of[topic] = set()
        eligible = self.eligible_at_join(topic)
        d = self.core.parameters.d
        self._graft(topic, self.core.some(eligible & set(from_fanout), d))
        self._graft(topic, self.core.some(eligible - self.of[topic], d - len(self.of[topic])))

    def leave(self, topic: str) -> None:
        """Each member is told, and left alone for the short backoff."""
        seconds = self.core.parameters.unsubscribe_backoff_s
        for peer in sorted(self.of.pop(topic)):
            self.note_left(peer, topic)
            self.say_prune(peer, topic, self.seconds_at_leave())
            self.back_off_after_leave(peer, topic, seconds)

    def eligible_at_join(self, topic: str) -> set[Peer]:
        return self.eligible(topic)

    def seconds_at_leave(self) -> int:
        return self.core.parameters.unsubscribe_backoff_s

    def back_off_after_leave(self, peer: Peer, topic: str, seconds: int) -> None:
        self.back_off(peer, topic, seconds)

    # -- GRAFT -------------------------------------------------------------------------------------------

    def on_graft(self, peer: Peer, topic: str) -> None:
        """The first check that has an answer decides."""
        answer = next(
            (a for check in self.graft_checks if (a := check(peer, topic)) is not None), GraftAnswer.TAKE
        )
        if answer is GraftAnswer.TAKE:
            self.admit(peer, topic)
        elif answer is not GraftAnswer.LEAVE:
            self.say_prune(peer, topic, self.core.parameters.prune_backoff_s)
            if answer is GraftAnswer.CROWDED:
                self.outbox.offer(peer, topic, self.exchange.offered_to(peer, topic))
            if answer is not GraftAnswer.PRUNE:
                self.back_off(peer, topic, self.core.parameters.prune_backoff_s)

    def outside_topic(self, peer: Peer, topic: str) -> GraftAnswer | None:
        """v1.0 answers by PRUNE. From v1.1 on there is silence, so that nobody can make us talk."""
        if topic in self.of:
            return None
        return GraftAnswer.LEAVE if self.core.features.hardened else GraftAnswer.PRUNE

    def already_member(self, peer: Peer, topic: str) -> GraftAnswer | None:
        """GRAFTs that cross."""
        return GraftAnswer.LEAVE if peer in self.of[topic] else None

    def from_explicit(self, peer: Peer, topic: str) -> GraftAnswer | None:
        return GraftAnswer.PRUNE if self.core.is_explicit(peer) else None

    def backing_off(self, peer: Peer, topic: str) -> GraftAnswer | None:
        """To the millisecond: the slack is for our own GRAFTs."""
        if self.core.now_ms >= self.backoff_ends_ms.get((topic, peer), 0):
            return None
        self.penalise_regraft(peer)
        return GraftAnswer.BACK_OFF

    def penalise_regraft(self, peer: Peer) -> None:
        """The text permits it: who grafts too early misbehaves."""
        if self.core.keeper is not None:
            self.core.keeper.misbehaved(peer)

    def negative(self, peer: Peer, topic: str) -> GraftAnswer | None:
        return GraftAnswer.BACK_OFF if self.core.score(peer) < 0 else None

    def full(self, peer: Peer, topic: str) -> GraftAnswer | None:
        """A full mesh takes none but those we dialled."""
        if not self.is_full(len(self.of[topic])) or self.core.neighbours[peer].outbound:
            return None
        return GraftAnswer.CROWDED

    def is_full(self, degree: int) -> bool:
        return degree >= self.core.parameters.d_high

    # -- PRUNE and backoff -------------------------------------------------------------------------------

    def on_prune(self, peer: Peer, topic: str, announced_s: int | None) -> bool:
        """`announced_s`: 0 where the field is absent. Gives back whether the topic is known."""
        if topic not in self.of:
            return False
        self.expel(peer, topic)
        if self.core.features.hardened:
            self.back_off(peer, topic, self.seconds_to_wait(announced_s))
        return True

    def seconds_to_wait(self, announced_s: int | None) -> int:
        """As announced; the default where nothing is, and where it is no time at all."""
        return announced_s or self.core.parameters.prune_backoff_s

    def say_prune(self, peer: Peer, topic: str, seconds: int) -> None:
        """A bare PRUNE to those who know no backoff."""
        self.outbox.prune(peer, topic, seconds if self.tells_backoff(peer) else None)

    def tells_backoff(self, peer: Peer) -> bool:
        return self.core.features.hardened and self.core.neighbours[peer].knows_backoff

    def back_off(self, peer: Peer, topic: str, seconds: int) -> None:
        """From now on; a backoff that runs longer stays as it is. v1.0 has none."""
        if not self.core.features.hardened:
            return
        key = (topic, peer)
        ends_ms = self.later(self.backoff_ends_ms.get(key, 0), self.core.now_ms + 1000 * seconds)
        self.backoff_ends_ms[key] = ends_ms
        if len(self.backoff_ends_ms) > MAX_BACKOFFS:
            del self.backoff_ends_ms[next(iter(self.backoff_ends_ms))]

    def later(self, running_ms: int, new_ms: int) -> int:
        return max(running_ms, new_ms)

    def sweep_backoffs(self) -> None:
        """Entries end at a heartbeat only, and we graft nobody who has one: that is the slack."""
        over = [key for key, ends_ms in self.backoff_ends_ms.items() if ends_ms <= self.core.now_ms]
        for key in over:
            del self.backoff_ends_ms[key]

    # -- upkeep ------------------------------------------------------------------------------------------

    def heartbeat(self) -> None:
        self.heartbeats += 1
        self.sweep_backoffs()
        # Step by step and not topic by topic: who is cut from one mesh loses what it earned there, and this
        # does not count against it in another before the next heartbeat.
        for upkeep in self.upkeep:
            for topic in sorted(self.of):
                upkeep(topic)

    def drop_negative(self, topic: str) -> None:
        bad = {p for p in self.of[topic] if self.core.score(p) < 0}
        self._prune(topic, sorted(bad))

    def fill(self, topic: str) -> None:
        """Below D_low, up to D."""
        degree = len(self.of[topic])
        if degree < self.core.parameters.d_low:
            self._graft(topic, self.core.some(self.eligible(topic), self.wanted() - degree))

    def wanted(self) -> int:
        return self.core.parameters.d

    def cut(self, topic: str) -> None:
        """Above D_high, down to D."""
        members = self.of[topic]
        if self.is_over(len(members)):
            self._prune(topic, sorted(members - set(self.survivors(members))), crowded=True)

    def is_over(self, degree: int) -> bool:
        return degree > self.core.parameters.d_high

    def survivors(self, members: set[Peer]) -> list[Peer]:
        """D of `members`: in v1.1 the best D_score, others at random, D_out outbound if there are."""
        d = self.core.parameters.d
        shuffled = self.core.some(members, len(members))
        if not self.core.features.hardened:
            return shuffled[:d]
        # The sort is stable, so equals stay in random order.
        best = sorted(shuffled, key=lambda p: -self.core.score(p))[: self.best_kept()]
        rest = [p for p in shuffled if p not in best]
        return self.keep_outbound([*best, *rest][:d], [*best, *rest][d:])

    def best_kept(self) -> int:
        return self.core.parameters.d_score

    def keep_outbound(self, kept: list[Peer], gone: list[Peer]) -> list[Peer]:
        """Swap in outbound peers, for the random ones first and then for the worst of the others."""
        missing = self.core.parameters.d_out - len(self.core.outbound(set(kept)))
        spare = [p for p in gone if self.core.neighbours[p].outbound][: max(missing, 0)]
        inbound = [p for p in kept if not self.core.neighbours[p].outbound]
        replaced = inbound[len(inbound) - len(spare) :] if spare else []
        return [p for p in kept if p not in replaced] + spare

    def fill_outbound(self, topic: str) -> None:
        """With D_low members or more, the outbound ones that are missing to D_out."""
        members, parameters = self.of[topic], self.core.parameters
        missing = parameters.d_out - len(self.core.outbound(members))
        if len(members) >= parameters.d_low and missing > 0:
            self._graft(topic, self.core.some(self.core.outbound(self.eligible(topic)), missing))

    def graft_better(self, topic: str) -> None:
        """Opportunistic grafting: now and then, if the median member is poor, some who are better."""
        members, parameters = self.of[topic], self.core.parameters
        if not members or self.heartbeats % parameters.opportunistic_graft_ticks:
            return
        median = self.median([self.core.score(p) for p in members])
        if median < parameters.opportunistic_graft_threshold:
            better = {p for p in self.eligible(topic) if self.is_better(self.core.score(p), median)}
            self._graft(topic, self.core.some(better, parameters.opportunistic_graft_peers))

    def is_better(self, score: float, median: float) -> bool:
        return score > median

    def median(self, scores: list[float]) -> float:
        """The text does not say which of the two in the middle: their mean."""
        ordered = sorted(scores)
        middle = len(ordered) // 2
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2

    # -- who can be grafted ------------------------------------------------------------------------------

    def eligible(self, topic: str) -> set[Peer]:
        """Whom we may GRAFT now."""
        members = self.of[topic]
        return {p for p in self.core.speakers(topic) - members if self.may_graft(p, topic)}

    def may_graft(self, peer: Peer, topic: str) -> bool:
        """Nobody who is explicit, in backoff (slack included), or below zero."""
        return not (self.core.is_explicit(peer) or self.waits(peer, topic) or self.is_negative(peer))

    def waits(self, peer: Peer, topic: str) -> bool:
        return (topic, peer) in self.backoff_ends_ms

    def is_negative(self, peer: Peer) -> bool:
        return self.core.score(peer) < 0

    def _graft(self, topic: str, peers: Iterable[Peer]) -> None:
        for peer in peers:
            self.admit(peer, topic)
            self.outbox.graft(peer, topic)

    def _prune(self, topic: str, peers: Iterable[Peer], *, crowded: bool = False) -> None:
        for peer in peers:
            self.expel(peer, topic)
            self.say_prune(peer, topic, self.core.parameters.prune_backoff_s)
            if crowded:
                self.outbox.offer(peer, topic, self.exchange.offered_to(peer, topic))
            self.back_off(peer, topic, self.core.parameters.prune_backoff_s)

    def admit(self, peer: Peer, topic: str) -> None:
        """Into the mesh; its time there counts from now on."""
        self.of[topic].add(peer)
        if self.core.keeper is not None:
            self.core.keeper.grafted(peer, topic, self.core.now_ms)

    def expel(self, peer: Peer, topic: str) -> None:
        """Out of it, if it was there."""
        if peer in self.of[topic]:
            self.of[topic].discard(peer)
            self.note_left(peer, topic)

    def note_left(self, peer: Peer, topic: str) -> None:
        if self.core.keeper is not None:
            self.core.keeper.pruned(peer, topic)

    # -- peers that leave --------------------------------------------------------------------------------

    def quit(self, peer: Peer, topic: str) -> None:
        """The peer left the topic."""
        if topic in self.of:
            self.expel(peer, topic)

    def forget(self, peer: Peer) -> None:
        """The peer is gone. Its backoffs stay, or it could graft again by connecting again."""
        for members in self.of.values():
            members.discard(peer)
