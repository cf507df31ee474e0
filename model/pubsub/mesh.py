"""The topic mesh: GRAFT, PRUNE and backoff, Join and Leave, and its upkeep at the heartbeat.

gossipsub v1.0, "Topic Membership", "Message Processing" and "Mesh Maintenance"; v1.1, "Prune Backoff and Peer
Exchange", "Explicit Peering Agreements", "Outbound Mesh Quotas" and "Adaptive Gossip Dissemination".
"""

from __future__ import annotations

from collections.abc import Callable

from quidnunc.model.choices import Choose, settled
from quidnunc.model.events import Sent, output_key
from quidnunc.model.permits import Permit, Step, must_send
from quidnunc.model.pubsub import peer_exchange
from quidnunc.model.pubsub.router import BACKOFF_SWEEP_HEARTBEATS, ReceivedPart, Router, without_key
from quidnunc.model.pubsub.scores import events as scores_events
from quidnunc.model.pubsub.step import run
from quidnunc.model.rpc import UNSAID, Graft, Peer, Prune
from quidnunc.model.rules import Targets, rule
from quidnunc.model.values import evolve

# -- GRAFT ------------------------------------------------------------------------------------------------


@rule(
    "gs1.0/graft.unsubscribed",
    lacking="Sends no PRUNE for a GRAFT in a topic that it has not joined.",
    when="it refuses a GRAFT in a topic that it has not joined",
)
def prune_unsubscribed(r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
    """v1.0 answers a GRAFT for a topic that we are not in with PRUNE."""
    return refuse(r, g, "gs1.0/graft.unsubscribed") if g.part.topic not in r.topics else None


@rule(
    "gs1.1/graft.unknown-topic",
    lacking="Treats a GRAFT in a topic that it has not joined like any other.",
    when="it drops a GRAFT in a topic that it has not joined",
)
def unknown_topic(r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
    """v1.1 ignores it, as a protection against spam."""
    return Step(r) if g.part.topic not in r.topics else None


@rule(
    "gs1.0/graft.idempotent",
    lacking="Treats a GRAFT from a mesh member as a new one.",
    when="it drops a GRAFT from a mesh member",
)
def already_member(r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
    """Two GRAFTs that cross leave the link as it is."""
    return Step(r) if g.peer in r.mesh_of(g.part.topic) else None


@rule(
    "gs1.1/explicit.graft-pruned",
    lacking="Accepts a GRAFT from a peer with which it has an explicit peering agreement.",
    when="it refuses a GRAFT from an explicit peer",
)
def from_explicit_peer(r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
    return refuse(r, g, "gs1.1/explicit.graft-pruned") if r.is_explicit(g.peer) else None


@rule(
    "gs1.1/backoff.regraft",
    lacking="Accepts a GRAFT inside the backoff.",
    when="it refuses a GRAFT inside the backoff",
)
def while_backing_off(r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
    """A GRAFT inside the backoff is pruned at once, and the backoff extended: its PRUNE may not wait."""
    # "Inside" excludes the instant of expiry.
    inside = r.now_ms < r.ends_backoff_ms(g.part.topic, g.peer)
    if not inside:
        return None
    refused = prune_at_once(refuse_and_back_off(r, g, "gs1.1/backoff.regraft"))
    if r.parameters.scores is None:
        return refused
    return Step(scores_events.count(refused.router, "regraft", g.peer), refused.permits)


@rule(
    "gs1.1/graft.negative-score",
    lacking="Accepts a GRAFT from a peer whose score is negative.",
    when="it refuses a GRAFT from a peer with a negative score",
)
def negative_score(r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
    """A peer with a negative score is not taken into the mesh."""
    refused = Sent(g.peer, Prune(g.part.topic))
    negative = settled(r.below(g.peer, 0), "threshold.zero", choose, lambda o: output_key(o) == refused)
    return refuse_and_back_off(r, g, "gs1.1/graft.negative-score") if negative else None


@rule(
    "gs1.1/outbound.inbound-refused",
    lacking="Accepts a GRAFT from an inbound peer at D_high.",
    when="it refuses a GRAFT from an inbound peer at D_high",
)
def inbound_while_full(r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
    """At D_high, only a peer that we dialled may still graft itself."""
    full = len(r.mesh_of(g.part.topic)) >= r.parameters.d_high
    refused = full and not r.peers[g.peer].outbound
    return refuse_and_back_off(r, g, "gs1.1/outbound.inbound-refused") if refused else None


@rule(
    "gs1.0/graft.accept",
    lacking="Does not take a peer that sends GRAFT into its mesh.",
    when="it takes a peer that sends GRAFT into its mesh",
)
def accept(r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
    if g.part.topic not in r.topics:
        return None
    return Step(r.with_mesh(g.part.topic, r.mesh_of(g.part.topic) | {g.peer}))


def refuse(r: Router, g: ReceivedPart[Graft], clause: str) -> Step[Router]:
    return Step(r, (prune_to(r, g.peer, g.part.topic, r.parameters.prune_backoff_s, clause),))


def refuse_and_back_off(r: Router, g: ReceivedPart[Graft], clause: str) -> Step[Router]:
    refused = refuse(r, g, clause)
    backed = r.with_backoff(g.part.topic, [g.peer], r.parameters.prune_backoff_s)
    return Step(backed, refused.permits)


def prune_at_once(refused: Step[Router]) -> Step[Router]:
    """The same, whose PRUNE is due now: v1.1 has "immediately" for the one inside the backoff alone.

    An explicit peer is refused for what it is, and its PRUNE may wait, also inside a backoff.
    """
    return Step(refused.router, tuple(evolve(p, within="now") for p in refused.permits))


def prune_to(r: Router, peer: Peer, topic: str, seconds: int, clause: str) -> Permit:
    """A PRUNE with the backoff, to those who know the field; what v1.0 peers are told is not said."""
    neighbour = r.peers.get(peer)
    knows = neighbour is not None and neighbour.knows_backoff
    told = seconds if knows else UNSAID
    offered = peer_exchange.pool(r, topic, peer) if knows else ()
    part = Prune(topic, told if "backs_off" in r.protocol.handlers else UNSAID)
    part = evolve(part, peers=offered, records="any") if offered else part
    return Permit(Sent(peer, part), True, clause)


# -- PRUNE ------------------------------------------------------------------------------------------------


@rule(
    "gs1.0/prune.remove",
    lacking="Keeps a peer in its mesh that has sent PRUNE.",
    when="it takes a peer that sends PRUNE out of its mesh",
)
def remove(r: Router, p: ReceivedPart[Prune], choose: Choose) -> Step[Router] | None:
    if p.peer not in r.mesh_of(p.part.topic):
        return None
    return Step(r.with_mesh(p.part.topic, r.mesh_of(p.part.topic) - {p.peer}))


@rule(
    "gs1.1/backoff.announced-period",
    lacking="Starts no backoff when it receives a PRUNE.",
    when="it starts a backoff because of a PRUNE",
)
def back_off_as_announced(r: Router, p: ReceivedPart[Prune], choose: Choose) -> Step[Router] | None:
    """The announced period, or our own default where none is announced."""
    if p.part.topic not in r.topics and not r.reads("prune-of-unknown-topic-backs-off"):
        return None
    seconds = p.part.backoff_s if p.part.backoff_s else r.parameters.prune_backoff_s
    return Step(r.with_backoff(p.part.topic, [p.peer], seconds))


# -- Join and Leave ---------------------------------------------------------------------------------------


@rule(
    "gs1.0/join.fill",
    lacking="Builds no mesh when it joins a topic.",
    when="it builds a mesh on joining a topic",
)
def build_mesh(r: Router, topic: str, choose: Choose) -> Step[Router]:
    """Up to D peers: those of the fanout first, then other members. Each is told by GRAFT."""
    eligible = r.protocol.set_of("graft_candidates", r, topic, choose)
    kept = r.fanout_of(topic).must & eligible.must
    full = r.parameters.d
    most = max(min(full, len(eligible.all)), min(len(kept), full))
    least = min(full, len(eligible.must))
    r = evolve(r, fanout=without_key(r.fanout, topic)).with_mesh(topic, frozenset())

    def moves_the_fanout(chosen: frozenset[Peer]) -> bool:
        return kept <= chosen or (len(kept) > full and chosen <= kept)

    clause = "gs1.0/join.fill"
    return graft_some(r, topic, "mesh.join", clause, eligible, (least, most), moves_the_fanout, choose)


@rule(
    "gs1.0/leave.prune-each",
    lacking="Sends no PRUNE to its mesh when it leaves a topic.",
    when="it prunes the mesh of a topic that it leaves",
)
def prune_members(r: Router, topic: str, choose: Choose) -> Step[Router]:
    """PRUNE to each member of the mesh, which is then forgotten."""
    members = r.mesh_of(topic)
    seconds = r.parameters.unsubscribe_backoff_s
    permits = tuple(prune_to(r, p, topic, seconds, "gs1.0/leave.prune-each") for p in sorted(members))
    return Step(evolve(r, mesh=without_key(r.mesh, topic), poor_for=without_key(r.poor_for, topic)), permits)


@rule(
    "gs1.1/backoff.unsubscribe",
    lacking="Starts no backoff for its mesh when it leaves a topic.",
    when="it starts the backoff of its mesh on leaving a topic",
)
def back_off_members(r: Router, topic: str, choose: Choose) -> Step[Router] | None:
    """The one who unsubscribes keeps the (shorter) backoff too. Runs before the mesh is forgotten."""
    members = r.mesh_of(topic)
    return Step(r.with_backoff(topic, members, r.parameters.unsubscribe_backoff_s)) if members else None


# -- Who may be grafted ------------------------------------------------------------------------------------


@rule(
    "gs1.0/mesh.members",
    lacking="Grafts none of the peers in the topic.",
    when="it looks up the peers that it can graft",
)
def mesh_speakers(r: Router, topic: str) -> frozenset[Peer]:
    """Candidates are gossipsub peers in the topic."""
    return r.mesh_speakers(topic)


@rule(
    "gs1.0/heartbeat.fill",
    lacking="Grafts peers that are in its mesh already.",
    when="it leaves mesh members out of the peers to graft",
)
def already_in_mesh(r: Router, topic: str, peer: Peer) -> bool:
    return peer in r.mesh_of(topic)


@rule(
    "gs1.1/explicit.no-mesh",
    lacking="Grafts peers with which it has an explicit peering agreement.",
    when="it leaves explicit peers out of the peers to graft",
)
def explicit(r: Router, topic: str, peer: Peer) -> bool:
    """Explicit peers are outside the mesh."""
    return r.is_explicit(peer)


@rule(
    "gs1.1/backoff.both-ends",
    lacking="Grafts peers inside their backoff.",
    when="it checks whether a peer to graft is in backoff",
)
def backing_off(r: Router, topic: str, peer: Peer) -> bool | None:
    """Not before the end of the backoff; from then on free until it must have been cleared."""
    ends = r.ends_backoff_ms(topic, peer)
    if r.now_ms < ends:
        return True
    swept = ends + BACKOFF_SWEEP_HEARTBEATS * r.parameters.heartbeat_interval_ms
    return None if ends and r.now_ms < swept else False


@rule(
    "gs1.1/threshold.negative-score",
    lacking="Grafts peers whose score is negative.",
    when="it checks whether the score of a peer to graft is negative",
)
def scores_below_zero(r: Router, topic: str, peer: Peer) -> bool | None:
    return r.below(peer, 0)


# -- Heartbeat --------------------------------------------------------------------------------------------


@rule(
    "gs1.1/threshold.negative-pruned",
    lacking="Keeps mesh members whose score is negative.",
    when="it prunes members with a negative score at the heartbeat",
)
def drop_negative(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """Members with a negative score are pruned."""
    clause = "gs1.1/threshold.negative-pruned"

    def is_negative(r: Router, topic: str, peer: Peer) -> bool:
        pruned = Sent(peer, Prune(topic))
        return settled(r.below(peer, 0), "threshold.zero", choose, lambda o: output_key(o) == pruned)

    def drop(r: Router, topic: str) -> Step[Router] | None:
        low = {p for p in sorted(r.mesh[topic]) if is_negative(r, topic, p)}
        return prune_these(r, topic, low, clause, choose)

    return each_topic(r, drop)


@rule(
    "gs1.0/heartbeat.fill",
    lacking="Does not fill its mesh to D at the heartbeat.",
    when="it fills its mesh to D at the heartbeat",
)
def fill_to_d(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """Below D_low, as many as are missing to D."""
    return each_topic(r, lambda r, t: _fill(r, t, choose) if len(r.mesh[t]) < r.parameters.d_low else None)


def _fill(r: Router, topic: str, choose: Choose) -> Step[Router] | None:
    missing = r.parameters.d - len(r.mesh[topic])
    eligible = r.protocol.set_of("graft_candidates", r, topic, choose)
    count = (min(missing, len(eligible.must)), min(missing, len(eligible.all)))
    done = graft_some(r, topic, "mesh.fill", "gs1.0/heartbeat.fill", eligible, count, None, choose)
    return Step(evolve(done.router, filled={**r.filled, topic: r.heartbeats}), done.permits)


@rule(
    "gs1.0/heartbeat.cut",
    lacking="Does not cut its mesh to D at the heartbeat.",
    when="it cuts its mesh to D at the heartbeat",
)
def cut_to_d(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """Above D_high, down to D; which members go is what `kept_in_cut` leaves free."""
    return each_topic(r, lambda r, t: _cut(r, t, choose) if len(r.mesh[t]) > r.parameters.d_high else None)


def _cut(r: Router, topic: str, choose: Choose) -> Step[Router] | None:
    members = r.mesh[topic]
    kept = r.protocol["kept_in_cut"].rules if "kept_in_cut" in r.protocol.handlers else ()
    for each in kept:
        choose.fired(each.clause)
    excess = len(members) - r.parameters.d

    def keeps_whom_it_must(gone: frozenset[Peer]) -> bool:
        return all(each.apply(r, topic, members - gone) for each in kept)

    gone = choose.some(
        "mesh.cut",
        "gs1.0/heartbeat.cut",
        Targets(members),
        (excess, excess),
        reveals=lambda p: Sent(p, Prune(topic)),
        such_that=keeps_whom_it_must,
    )
    return prune_these(r, topic, gone, "gs1.0/heartbeat.cut", choose)


@rule(
    "gs1.1/heartbeat.keep-best",
    lacking="Cuts a mesh without keeping the members with the best scores.",
    when="it chooses the best members to keep in a cut",
)
def keeps_the_best(r: Router, topic: str, kept: frozenset[Peer]) -> bool:
    """The D_score members with the best scores stay, unless the outbound quota needs the room."""
    p, members = r.parameters, r.mesh[topic]
    outbound = r.outbound_of(members)
    # Ties are free: of equal scores those pass for the best that stayed, the inbound ones first.
    # Of what is free in a score, it is the higher end that a member stayed for, and the lower it went for.
    ranked = sorted(
        members,
        key=lambda peer: (-r.end_of_score(peer, high=peer in kept), peer not in kept, peer in outbound),
    )
    best = frozenset(ranked[: min(p.d_score, p.d)])
    displaced = min(p.d_out, len(outbound)) - (p.d - len(best)) - len(best & outbound)
    return len(best - kept) <= max(0, displaced)


@rule(
    "gs1.1/outbound.cut-quota",
    lacking="Cuts a mesh without keeping D_out outbound members.",
    when="it chooses the outbound members to keep in a cut",
)
def keeps_the_outbound_quota(r: Router, topic: str, kept: frozenset[Peer]) -> bool:
    """D_out outbound members stay, if the mesh had as many."""
    return len(r.outbound_of(kept)) >= min(r.parameters.d_out, len(r.outbound_of(r.mesh[topic])))


@rule(
    "gs1.1/outbound.fill",
    lacking="Does not graft outbound peers to reach D_out.",
    when="it grafts outbound peers to reach D_out at the heartbeat",
)
def fill_outbound(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """With D_low members or more, but fewer than D_out outbound ones, the missing outbound ones.

    Whether a mesh that this heartbeat has filled from below D_low "already" has them is not said.
    """
    return each_topic(
        r, lambda r, t: _fill_outbound(r, t, choose) if len(r.mesh[t]) >= r.parameters.d_low else None
    )


def _fill_outbound(r: Router, topic: str, choose: Choose) -> Step[Router] | None:
    missing = r.parameters.d_out - len(r.outbound_of(r.mesh[topic]))
    if missing <= 0:
        return None
    eligible = r.protocol.set_of("graft_candidates", r, topic, choose)
    outbound = Targets(r.outbound_of(eligible.must), r.outbound_of(eligible.may))
    owed = 0 if r.filled.get(topic) == r.heartbeats else min(missing, len(outbound.must))
    count = (owed, min(missing, len(outbound.all)))
    return graft_some(r, topic, "mesh.outbound", "gs1.1/outbound.fill", outbound, count, None, choose)


@rule(
    "gs1.1/opportunistic.graft",
    lacking="Grafts no better peers while the median score of its mesh is poor.",
    when="it grafts better peers because the median score of its mesh is poor",
)
def graft_opportunistically(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """Now and then, where the median score is poor, at least two better peers are grafted.

    When in the minute is free: it may happen at any heartbeat where the median is poor, and must happen
    once that has lasted a whole period.
    """
    return each_topic(r, lambda r, t: _graft_opportunistically(r, t, choose))


def _graft_opportunistically(r: Router, topic: str, choose: Choose) -> Step[Router] | None:
    lowest = sorted(r.end_of_score(p, high=False) for p in r.mesh[topic])
    highest = sorted(r.end_of_score(p, high=True) for p in r.mesh[topic])
    # Of an even number of scores either middle one passes for the median.
    lower, upper = (lowest[(len(lowest) - 1) // 2], highest[len(highest) // 2]) if lowest else (0, 0)
    threshold = r.threshold_as_scores(r.parameters.opportunistic_graft_threshold)
    if lower >= threshold or not lowest:
        return Step(evolve(r, poor_for={**r.poor_for, topic: 0})) if r.poor_for.get(topic) else None
    eligible = r.protocol.set_of("graft_candidates", r, topic, choose)
    # The better are above the median; to a router that reads it otherwise, not below.
    more = 0 if r.reads("opportunistic-at-median") else 1
    better = Targets(
        frozenset(p for p in eligible.must if r.end_of_score(p, high=False) >= upper + more),
        frozenset(p for p in eligible.all if r.end_of_score(p, high=True) >= lower + more),
    )
    wanted = r.parameters.opportunistic_graft_peers
    # The text has a median of one score, too; some routers ask for two members.
    surely = upper < threshold and len(better.must) >= wanted and len(lowest) > 1
    lasted = r.poor_for.get(topic, 0) + 1 if surely else 0
    least = wanted if lasted >= r.parameters.opportunistic_graft_ticks else 0
    clause = "gs1.1/opportunistic.graft"
    found = graft_some(r, topic, "mesh.opportunistic", clause, better, (least, len(better.all)), None, choose)
    # What was grafted now is not due again before another period is over.
    grafted = found.router.mesh_of(topic) != r.mesh_of(topic)
    waited = {**r.poor_for, topic: 0 if grafted else lasted}
    return Step(evolve(found.router, poor_for=waited), found.permits)


# -- shared -----------------------------------------------------------------------------------------------


def each_topic(r: Router, act: Callable[[Router, str], Step[Router] | None]) -> Step[Router] | None:
    """`act` on each topic of the mesh in turn."""
    found: Step[Router] | None = None
    for topic in sorted(r.mesh):
        one = act(r if found is None else found.router, topic)
        if one is not None:
            found = one if found is None else found.then(one)
    return found


def graft_some(
    r: Router,
    topic: str,
    name: str,
    clause: str,
    eligible: Targets,
    count: tuple[int, int],
    such_that: Callable[[frozenset[Peer]], bool] | None,
    choose: Choose,
) -> Step[Router]:
    """Take `count` of the eligible peers into the mesh, with a GRAFT to each (gs1.0/join.graft-each)."""
    if count[1] <= 0:
        return Step(r)
    chosen = choose.some(
        name, clause, eligible, count, reveals=lambda p: Sent(p, Graft(topic)), such_that=such_that
    )
    return Step(r.with_mesh(topic, r.mesh_of(topic) | chosen), must_send(chosen, Graft(topic), clause))


def prune_these(
    r: Router, topic: str, gone: set[Peer] | frozenset[Peer], clause: str, choose: Choose
) -> Step[Router] | None:
    """Out of the mesh, with a PRUNE to each; from v1.1 on they are backed off (handler `backs_off`)."""
    if not gone:
        return None
    seconds = r.parameters.prune_backoff_s
    permits = tuple(prune_to(r, p, topic, seconds, clause) for p in sorted(gone))
    after = run(r.with_mesh(topic, r.mesh_of(topic) - gone), "backs_off", (topic, frozenset(gone)), choose)
    return Step(after.router, permits)


@rule(
    "gs1.1/backoff.both-ends",
    lacking="Starts no backoff for a peer that it prunes.",
    when="it starts the backoff of a peer that it prunes",
)
def pruner_backs_off(r: Router, pruned: tuple[str, frozenset[Peer]], choose: Choose) -> Step[Router]:
    """Who sends a PRUNE keeps to the backoff as well."""
    topic, gone = pruned
    return Step(r.with_backoff(topic, gone, r.parameters.prune_backoff_s))
