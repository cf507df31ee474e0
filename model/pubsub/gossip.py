"""Lazy gossip: IHAVE, IWANT and the message cache.

gossipsub v1.0, "Message Cache", "IHAVE", "IWANT" and "Gossip Emission"; v1.1, "Adaptive Gossip
Dissemination" and "Spam Protection Measures".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from quidnunc.model.choices import Choose, Reveals, settled
from quidnunc.model.events import Sent
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.router import HeartbeatCounts, ReceivedPart, Router
from quidnunc.model.pubsub.step import run
from quidnunc.model.rpc import IHave, IWant, Peer
from quidnunc.model.rules import Targets, rule
from quidnunc.model.values import evolve

LEAST_LIKELY_SILENCE = 1e-12
"""Peers to gossip to are picked at random. Once a router that does so would pass a peer over for so long with
less than this probability, the peer is owed gossip."""

IWANT_ALLOWANCE = 8
"""The text bounds the answers to one (peer, id) and gives no number; implementations have 3. Up to this
many are free, more are not."""

# -- IHAVE received -----------------------------------------------------------------------------------------


@rule(
    "gs1.1/threshold.gossip-ignored",
    lacking="Heeds IHAVE from peers below the gossip threshold.",
    when="it drops an IHAVE from a peer below the gossip threshold",
)
def ihave_from_low_score(r: Router, g: ReceivedPart[IHave], choose: Choose) -> Step[Router] | None:
    """Gossip of a peer below the gossip threshold is ignored."""
    low = r.gate_below(g.peer, r.parameters.gossip_threshold)
    return Step(r) if settled(low, "threshold.gossip", choose) else None


@rule(
    "gs1.1/ihave.caps",
    lacking="Heeds IHAVE beyond the caps of a heartbeat.",
    when="it drops an IHAVE beyond the caps of a heartbeat",
)
def ihave_beyond_caps(r: Router, g: ReceivedPart[IHave], choose: Choose) -> Step[Router] | None:
    """So many IHAVEs, and so many ids, per peer and heartbeat; surplus is ignored.

    Whether a message is an RPC or an entry of one is not said: between the two counts it is free.
    """
    p, heard = r.parameters, r.heard.get(g.peer, HeartbeatCounts())
    now = evolve(heard, ihaves=heard.ihaves + 1)
    counted = evolve(r, heard={**r.heard, g.peer: now})
    if now.ihave_rpcs > p.max_ihave_messages or heard.ihave_ids >= p.max_ihave_length:
        return Step(counted)
    # Which of too many ids are asked for is not said either, nor whether those count that we have seen.
    if now.ihaves > p.max_ihave_messages or heard.ihave_named + len(g.part.ids) > p.max_ihave_length:
        return _request(counted, g, choose, must=False)
    return None


@rule(
    "gs1.0/ihave.request-unseen",
    lacking="Does not request unseen messages that an IHAVE names.",
    when="it requests unseen messages that an IHAVE names",
)
def request_unseen(r: Router, g: ReceivedPart[IHave], choose: Choose) -> Step[Router]:
    """Ids that we have not seen are requested from the one who advertised them, whatever their topic."""
    heard = r.heard.get(g.peer, HeartbeatCounts())
    r = evolve(r, heard={**r.heard, g.peer: evolve(heard, ihaves=heard.ihaves + 1)})
    return _request(r, g, choose, must=True)


def _request(r: Router, g: ReceivedPart[IHave], choose: Choose, *, must: bool) -> Step[Router]:
    """Request what is unseen, within the cap on ids. No text says that gossip is only read in our topics."""
    clause = "gs1.0/ihave.request-unseen" if g.part.topic in r.topics else "gs1.0/ihave.any-topic"
    fresh, heard = _fresh(r, g), r.heard.get(g.peer, HeartbeatCounts())
    named = heard.ihave_named + len(g.part.ids)
    now = evolve(heard, ihave_ids=heard.ihave_ids + len(fresh), ihave_named=named)
    r = evolve(r, heard={**r.heard, g.peer: now})
    asked = ((i, must and r.seen.get(i) is None) for i in fresh)
    permits = tuple(Permit(Sent(g.peer, IWant((i,))), owed, clause) for i, owed in asked)
    if "announce" in r.protocol.handlers and fresh:
        known = {i: r.asked.get(i, frozenset()) | {g.peer} for i in fresh}
        r = evolve(r, asked={**r.asked, **known})
    return Step(r, permits).then(
        run(r, "requested", ReceivedPart(g.peer, IHave(g.part.topic, tuple(fresh))), choose)
    )


def _fresh(r: Router, g: ReceivedPart[IHave]) -> list[str]:
    return [i for i in dict.fromkeys(g.part.ids) if _unseen(r, i)]


def _unseen(r: Router, message_id: str) -> bool:
    first = r.seen.get(message_id)
    return first is None or r.now_ms - first >= r.parameters.seen_ttl_ms


# -- IWANT received -----------------------------------------------------------------------------------------


@rule(
    "gs1.1/threshold.gossip-ignored",
    lacking="Answers IWANT from peers below the gossip threshold.",
    when="it drops an IWANT from a peer below the gossip threshold",
)
def iwant_from_low_score(r: Router, g: ReceivedPart[IWant], choose: Choose) -> Step[Router] | None:
    low = r.gate_below(g.peer, r.parameters.gossip_threshold)
    return Step(r) if settled(low, "threshold.gossip", choose) else None


@rule("gs1.1/iwant.retransmission", lacking="Does not answer IWANT.", when="it answers an IWANT")
def serve_within_bound(r: Router, g: ReceivedPart[IWant], choose: Choose) -> Step[Router] | None:
    """Answers per peer and id are bounded. The first is owed; up to the allowance more are free."""
    return _serve(r, g, owed=1, allowed=max(IWANT_ALLOWANCE, r.parameters.gossip_retransmission))


@rule("gs1.0/iwant.serve", lacking="Does not answer IWANT.", when="it answers an IWANT")
def serve(r: Router, g: ReceivedPart[IWant], choose: Choose) -> Step[Router]:
    """v1.0: whatever is in the cache goes to the one who asked."""
    return _serve(r, g, owed=None, allowed=None)


def _serve(r: Router, g: ReceivedPart[IWant], *, owed: int | None, allowed: int | None) -> Step[Router]:
    permits: list[Permit] = []
    served = dict(r.served)
    for message_id in g.part.ids:
        message = r.cached.get(message_id)
        if message is None:
            continue
        count = served[g.peer, message_id] = served.get((g.peer, message_id), 0) + 1
        if allowed is not None and count > allowed:
            continue
        # An IDONTWANT for it is outside the letter here; implementations differ, so it is free.
        unwanted = message_id in r.unwanted.get(g.peer, {})
        must = (owed is None or count <= owed) and not unwanted and message_id not in r.perhaps_cached
        permits.append(Permit(Sent(g.peer, message), must, "gs1.0/iwant.serve"))
    return Step(evolve(r, served=served), tuple(permits))


# -- gossip emission ---------------------------------------------------------------------------------------


@rule(
    "gs1.0/gossip.targets",
    lacking="Sends gossip to none of the peers in the topic.",
    when="it looks up the peers that it can gossip to",
)
def topic_speakers(r: Router, topic: str) -> frozenset[Peer]:
    return r.mesh_speakers(topic)


@rule(
    "gs1.0/gossip.outside-mesh",
    lacking="Sends gossip to members of its mesh or fanout.",
    when="it leaves members of its mesh and fanout out of those to gossip to",
)
def in_mesh_or_fanout(r: Router, topic: str, peer: Peer) -> bool | None:
    """Members of the mesh and the fanout get the messages themselves."""
    if peer in r.mesh_of(topic):
        return True
    entry = r.fanout.get(topic)
    return None if entry is not None and entry.tentative else r.fanout_of(topic).holds(peer)


@rule(
    "gs1.1/explicit.no-gossip",
    lacking="Sends gossip to explicit peers.",
    when="it leaves explicit peers out of those to gossip to",
)
def explicit_has_it(r: Router, topic: str, peer: Peer) -> bool | None:
    """Explicit peers get the messages themselves; that they get no gossip is practice, not text."""
    return None if r.is_explicit(peer) else False


@rule(
    "gs1.1/threshold.gossip",
    lacking="Sends gossip to peers below the gossip threshold.",
    when="it checks whether a peer to gossip to is below the gossip threshold",
)
def below_gossip(r: Router, topic: str, peer: Peer) -> bool | None:
    return r.gate_below(peer, r.parameters.gossip_threshold)


@rule("gs1.0/gossip.targets", lacking="Sends no gossip at the heartbeat.", when="it gossips at the heartbeat")
def gossip_to_d_lazy(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """v1.0: to D_lazy random members at most.

    Its pseudo-code picks among all members and leaves mesh and fanout out afterwards, its prose picks among
    the rest. By both no fewer get gossip than are picked beyond those in mesh and fanout, and nobody is
    passed over for ever.
    """

    def count(eligible: Targets, topic: str) -> tuple[int, int]:
        picked = r.parameters.d_lazy
        beside = picked_among(r, topic) - len(eligible.must)
        return max(0, min(picked - beside, len(eligible.must))), min(picked, len(eligible.all))

    return _gossip(r, count, choose, random=True)


def picked_among(r: Router, topic: str) -> int:
    """The most members of the topic, mesh and fanout included, among which gossip can be picked."""
    return len(r.mesh_speakers(topic) | r.mesh_of(topic) | r.fanout_of(topic).all)


@rule(
    "gs1.1/gossip.adaptive", lacking="Sends no gossip at the heartbeat.", when="it gossips at the heartbeat"
)
def gossip_adaptively(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """v1.1: to max(D_lazy, factor * non-mesh peers) of them.

    Whether the fraction is taken of those eligible or of all members outside the mesh, and how it is
    rounded, is free.
    """

    return _gossip(r, lambda eligible, topic: adaptive_count(r, eligible, topic), choose, random=True)


def adaptive_count(r: Router, eligible: Targets, topic: str) -> tuple[int, int]:
    """(least, most) of the eligible peers that v1.1 gossips to."""
    few = len(eligible.must)
    outside = max(few, len(r.members(topic) - r.mesh_of(topic)))
    factor, lazy = r.parameters.gossip_factor, r.parameters.d_lazy
    most = max(lazy, math.ceil(factor * outside))
    return (min(few, max(lazy, math.floor(factor * few))), min(len(eligible.all), most))


def _gossip(
    r: Router, count: Callable[[Targets, str], tuple[int, int]], choose: Choose, *, random: bool = False
) -> Step[Router] | None:
    clause, before = "gs1.0/gossip.targets", r
    permits: list[Permit] = []
    for topic in sorted({*r.mesh, *r.fanout}):
        ids = r.gossip_ids(topic)
        if not ids:
            continue
        eligible = r.protocol.set_of("gossip_candidates", r, topic, choose)
        # From v1.1 on a message holds so many, because nobody looks at more: which ones is free.
        whole = "score" not in r.protocol.handlers or len(ids) <= r.parameters.max_ihave_length
        least, most = count(eligible, topic)
        sure = [i for i in ids if r.surely_gossips(i)]
        hidden = not whole or not sure or r.reads("gossip-count-hidden")
        if hidden or (topic in r.fanout and r.fanout[topic].tentative):
            least = 0
        if not most:
            continue
        shown_by = _any_of(topic, sure[:1] if whole and sure else ids)
        chosen = choose.some("gossip.targets", clause, eligible, (least, most), reveals=shown_by)
        owed = frozenset[Peer]()
        if random and not hidden and not (topic in r.fanout and r.fanout[topic].tentative):
            r, owed = _passed_over(r, topic, eligible, chosen)
            chosen |= owed
        must = sure if whole else []
        permits += [
            Permit(Sent(p, IHave(topic, (i,))), i in must, clause if p in owed else "gs1.0/gossip.ids")
            for p in sorted(chosen)
            for i in ids
        ]
    return Step(r, tuple(permits)) if permits or r is not before else None


def _passed_over(
    r: Router, topic: str, eligible: Targets, chosen: frozenset[Peer]
) -> tuple[Router, frozenset[Peer]]:
    """Keep how likely each peer was to be passed over for so long; and those for whom that is too unlikely.

    Each heartbeat picks anew: a peer is passed over with 1 - D_lazy / (all members) at most.
    """
    passed = 1 - min(1.0, r.parameters.d_lazy / max(1, picked_among(r, topic)))
    if not passed:
        # All are picked, and that many are owed at once.
        return r, frozenset()
    kept = {p: odds for (t, p), odds in r.passed_over.items() if t == topic and p in r.members(topic)}
    odds = {p: kept.get(p, 1.0) * passed for p in eligible.must - chosen}
    owed = frozenset(p for p, likely in odds.items() if likely < LEAST_LIKELY_SILENCE)
    kept = {p: likely for p, likely in (kept | odds).items() if p not in chosen | owed}
    others = {key: likely for key, likely in r.passed_over.items() if key[0] != topic}
    return evolve(r, passed_over={**others, **{(topic, p): likely for p, likely in kept.items()}}), owed


def _any_of(topic: str, ids: Sequence[str]) -> Reveals:
    """Whoever is sent one of the ids was chosen."""
    return lambda peer: tuple(Sent(peer, IHave(topic, (i,))) for i in ids)


# -- windows -----------------------------------------------------------------------------------------------


@rule(
    "gs1.0/mcache.shift",
    lacking="Keeps messages in its message cache beyond its history.",
    when="it shifts its message cache at the heartbeat",
)
def shift(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """Once per heartbeat, after gossip; what falls out of mcache_len windows is gone."""
    if not r.cached:
        return None
    windows = ((), *r.windows[: r.parameters.mcache_len - 1])
    kept = {i for window in windows for i in window}
    gone = r.cached.keys() - kept
    r = evolve(r, windows=windows, cached={i: m for i, m in r.cached.items() if i in kept})
    if r.perhaps_cached:
        r = evolve(r, perhaps_cached=r.perhaps_cached & kept)
    return Step(evolve(r, served={k: v for k, v in r.served.items() if k[1] not in gone}) if gone else r)


@rule(
    "gs1.1/ihave.caps",
    lacking="Counts IHAVE over all heartbeats, not anew in each.",
    when="it restarts its counts of IHAVE at the heartbeat",
)
def start_counting_anew(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    kept = {p: HeartbeatCounts(iwants_before=c.iwants) for p, c in r.heard.items() if c.iwants}
    return Step(evolve(r, heard=kept)) if r.heard else None
