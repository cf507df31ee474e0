"""Our router, edited so that it does otherwise where a text leaves that free: it conforms all the same.

And one that does otherwise where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from quidnunc.impl.gossipsub.mesh import GraftAnswer
from quidnunc.impl.gossipsub.relay import ArrivedMessage
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.mutant import Usual, around, nothing, patch
from quidnunc.impl.ours.pubsub import PubsubDriver
from quidnunc.impl.seam import Config, parameters_of
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Peer
from quidnunc.properties.judge.play import WireSubject

Edit = Callable[[Any], None]


def opener_of(edit: Edit) -> Callable[[Config], WireSubject]:
    """Opens our router with this edit."""

    def opened(config: Config) -> WireSubject:
        parameters = parameters_of(config, Parameters, "ours")
        router = GossipsubRouter(parameters, protocol=config.protocol, seed=config.seed)
        edit(router)
        return WireSubject(PubsubDriver(router, name="ours"), config)

    return opened


def _heeds_offers_last(r: GossipsubRouter) -> None:
    """By the score that its sender has once it has left the mesh."""
    heed, on_prune = r.mesh.exchange.on_offer, r.mesh.on_prune
    offered: list[tuple[Peer, Any]] = []

    def pruned(peer: Peer, topic: str, announced_s: int | None) -> bool:
        known = on_prune(peer, topic, announced_s)
        while offered:
            heed(*offered.pop())
        return known

    patch(r.mesh.exchange, "on_offer", lambda *offer: offered.append(offer))
    patch(r.mesh, "on_prune", pruned)


def _caches_in_its_topics(r: GossipsubRouter, usual: Usual, arrival: ArrivedMessage) -> None:
    """Not what is accepted after it left the topic."""
    put = r.gossip.cache.put
    if arrival.message.topic not in r.core.joined:
        patch(r.gossip.cache, "put", nothing)
    usual(arrival)
    patch(r.gossip.cache, "put", put)


def _fills_the_quota_later(r: GossipsubRouter) -> None:
    """Not in the heartbeat that has filled the mesh from below D_low."""
    found: dict[str, int] = {}
    at = r.mesh.upkeep.index(r.mesh.fill)

    def note(topic: str) -> None:
        found[topic] = len(r.mesh.of[topic])

    def fill_outbound(topic: str) -> None:
        if found[topic] >= r.core.parameters.d_low:
            r.mesh.fill_outbound(topic)

    r.mesh.upkeep[r.mesh.upkeep.index(r.mesh.fill_outbound)] = fill_outbound
    r.mesh.upkeep.insert(at, note)


def _prunes_regrafts_later(r: GossipsubRouter) -> None:
    """A GRAFT inside the backoff is pruned with what the next heartbeat sends."""
    backing_off, heartbeat = r.mesh.backing_off, r.mesh.heartbeat
    waits: list[tuple[Peer, str]] = []

    def backed_off(peer: Peer, topic: str) -> GraftAnswer | None:
        if backing_off(peer, topic) is None:
            return None
        r.mesh.back_off(peer, topic, r.core.parameters.prune_backoff_s)
        waits.append((peer, topic))
        return GraftAnswer.LEAVE

    def beat() -> None:
        for peer, topic in waits:
            if peer in r.core.neighbours:
                r.mesh.say_prune(peer, topic, r.core.parameters.prune_backoff_s)
        waits.clear()
        heartbeat()

    r.mesh.graft_checks[r.mesh.graft_checks.index(backing_off)] = backed_off
    r.beats[r.beats.index(heartbeat)] = beat


REGRAFT_PRUNED_LATE: Edit = _prunes_regrafts_later
CONFORMING: Mapping[str, Edit] = {
    "offers-heeded-after-the-prune": _heeds_offers_last,
    "quota-in-the-next-heartbeat": _fills_the_quota_later,
    "late-verdict-not-cached": around("relay.accept", _caches_in_its_topics),
}
