"""Gossip where partial messages are spoken: the application is asked, in the place of IHAVE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from attrs import frozen

from quidnunc.model.choices import Choose
from quidnunc.model.events import NOTHING_KEPT, GossipAsked, Output, Sent
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.gossip import adaptive_count
from quidnunc.model.pubsub.partial.groups import note_asked
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import ROUTER, IHave, Peer
from quidnunc.model.rules import UNNOTICED, Targets, rule
from quidnunc.model.values import evolve

OfGroup: TypeAlias = tuple[str, str]
"""Topic and group."""
Asked: TypeAlias = tuple[str, str, frozenset[Peer]]
"""Topic, group, and the peers that the application was asked to gossip to."""


@rule(
    "pm/gossip.no-ihave",
    lacking="Sends IHAVE to peers that requested parts.",
    when="it looks up the gossip targets that requested parts",
)
def requesters_of_parts(r: Router, topic: str) -> frozenset[Peer]:
    """Gossip targets who requested parts get no IHAVE."""
    return frozenset(p for p in r.members(topic) if r.peers[p].flags_in(topic).requests)


# -- of which groups the application is asked for whom -------------------------------------------------------


@rule(
    "pm/gossip.partial-instead",
    lacking="Does not ask the application to gossip to peers that requested parts.",
    when="it looks up the peers for which it asks the application to gossip",
)
def diverted_peers(r: Router, g: OfGroup) -> Targets:
    return r.protocol.set_of("diverted", r, g[0], UNNOTICED)


@rule(
    "pm-jvm/gossip.callback",
    lacking="Asks the application to gossip about groups that it has not published to.",
    when="it checks whether it has published to a group to gossip about",
)
def not_ours(r: Router, g: OfGroup, peer: Peer) -> bool:
    """Only of groups that the application has published to."""
    return r.groups[g].initiator != ROUTER


@rule(
    "pm/gossip.partial-instead",
    lacking="Asks the application at every heartbeat to gossip about every group.",
    when="it checks whether it has asked the application to gossip about a group before",
)
def asked_or_not_fresh(r: Router, g: OfGroup, peer: Peer) -> bool | None:
    """Once after each publish it is called for; how often beyond that, and of whose groups, is not said."""
    group = r.groups[g]
    return False if group.fresh and peer not in group.asked and group.initiator == ROUTER else None


@rule(
    "pm-go/gossip.once",
    lacking="Asks the application to gossip to peers whose state it keeps already.",
    when="it checks whether it keeps the state of a peer to gossip to",
)
def kept_already(r: Router, g: OfGroup, peer: Peer) -> bool:
    """Only for peers of whom nothing is kept in this group yet."""
    return peer in r.groups[g].states


@rule(
    "pm/gossip.partial-instead",
    lacking="Does not note for which peers it asked the application to gossip.",
    when="it notes for which peers it asks the application to gossip",
)
def note_who(r: Router, a: Asked, choose: Choose) -> Step[Router]:
    topic, name, peers = a
    group = r.groups[topic, name]
    asked = evolve(group, asked=group.asked | peers)
    return Step(evolve(r, groups={**r.groups, (topic, name): asked}))


@rule(
    "pm-go/gossip.once",
    lacking="Keeps no state for peers for which it asked the application to gossip.",
    when="it starts to keep a peer's state because it asks the application to gossip to the peer",
)
def keep_place(r: Router, a: Asked, choose: Choose) -> Step[Router]:
    """From now on there is something kept of them, if nothing yet."""
    topic, name, peers = a
    group = r.groups[topic, name]
    kept = evolve(group, states={**dict.fromkeys(sorted(peers), NOTHING_KEPT), **group.states})
    return Step(evolve(r, groups={**r.groups, (topic, name): kept}))


# -- the heartbeat -------------------------------------------------------------------------------------------


@frozen
class _Round:
    """One topic at one heartbeat."""

    topic: str
    ids: tuple[str, ...]
    eligible: Targets
    diverted: Targets
    asked: Mapping[str, Targets]
    """Group -> those that the application would be asked about, if they are chosen."""

    def due(self, peer: Peer) -> str | None:
        """A group by which it shows that a diverted peer was chosen."""
        return next((g for g, targets in self.asked.items() if peer in targets.must), None)

    def shown(self) -> frozenset[Peer]:
        """Those of whom it shows whether they were chosen."""
        told = self.eligible.all - self.diverted.all if self.ids else frozenset()
        return told | frozenset(p for p in self.eligible.all & self.diverted.must if self.due(p) is not None)

    def reveals(self, peer: Peer) -> Output | tuple[Output, ...]:
        group = self.due(peer) if peer in self.diverted.must else None
        if group is not None:
            return GossipAsked(self.topic, group, peer)
        return tuple(Sent(peer, IHave(self.topic, (i,))) for i in self.ids)


@rule("pm/gossip.no-ihave", lacking="Sends no gossip at the heartbeat.", when="it gossips at the heartbeat")
def gossip_with_parts(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """The targets are chosen as ever; those who requested parts are left to the application."""
    permits: list[Permit] = []
    for topic in sorted({*r.mesh, *r.fanout}):
        round_ = _round(r, topic, choose)
        chosen = _chosen(r, round_, choose)
        permits += _ihaves(r, round_, chosen)
        for group, targets in round_.asked.items():
            asked = chosen & targets.must
            permits += _asks(topic, group, asked, must=True)
            unsure = (targets.may | (targets.must - round_.diverted.must)) & round_.eligible.all
            permits += _asks(topic, group, unsure - asked, must=False)
            r = note_asked(r, topic, group, asked, choose)
    return Step(r, tuple(permits)) if permits else None


def _round(r: Router, topic: str, choose: Choose) -> _Round:
    groups = [g for t, g in sorted(r.groups) if t == topic]
    return _Round(
        topic,
        r.gossip_ids(topic),
        r.protocol.set_of("gossip_candidates", r, topic, choose),
        r.protocol.set_of("diverted", r, topic, choose),
        {g: r.protocol.set_of("asked", r, (topic, g), choose) for g in groups},
    )


def _chosen(r: Router, round_: _Round, choose: Choose) -> frozenset[Peer]:
    least, most = adaptive_count(r, round_.eligible, round_.topic)
    tentative = round_.topic in r.fanout and r.fanout[round_.topic].tentative
    shown = round_.shown()
    if not shown or not most:
        return frozenset()
    unseen = len(round_.eligible.all - shown)
    # Of more ids than one message holds it is free which are sent, and the first may not be among them.
    hidden = tentative or len(round_.ids) > r.parameters.max_ihave_length or r.reads("gossip-count-hidden")
    hidden = hidden or (bool(round_.ids) and r.perhaps_cached.issuperset(round_.ids))
    least = 0 if hidden else max(0, least - unseen)
    return choose.some(
        "gossip.targets",
        "pm/gossip.partial-instead" if shown & round_.diverted.must else "gs1.0/gossip.targets",
        Targets(round_.eligible.must & shown, round_.eligible.may & shown),
        (least, most),
        reveals=round_.reveals,
    )


def _ihaves(r: Router, round_: _Round, chosen: frozenset[Peer]) -> list[Permit]:
    whole = len(round_.ids) <= r.parameters.max_ihave_length
    unsure = round_.eligible.all & round_.diverted.may
    must = [i for i in round_.ids if whole and i not in r.perhaps_cached]
    return [
        Permit(Sent(p, IHave(round_.topic, (i,))), i in must and p not in unsure, "gs1.0/gossip.ids")
        for p in sorted((chosen - round_.diverted.must) | unsure)
        for i in round_.ids
    ]


def _asks(topic: str, group: str, peers: frozenset[Peer], *, must: bool) -> list[Permit]:
    clause = "pm/gossip.partial-instead"
    return [Permit(GossipAsked(topic, group, p), must, clause, "now") for p in sorted(peers)]
