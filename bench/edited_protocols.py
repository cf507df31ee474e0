"""Single edits of rules, each as a protocol: what `bench/regress_edits.py` asks `quidnunc regress` to find.

They were written from the documents, before the search was changed for them.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve

from quidnunc.model.choices import Choose, PartialSet, settled
from quidnunc.model.machine import protocol_named
from quidnunc.model.mempool.cat import accounts as cat_accounts
from quidnunc.model.mempool.dog import rules as dog
from quidnunc.model.mempool.node import Node
from quidnunc.model.mempool.routes import with_source
from quidnunc.model.permits import Step
from quidnunc.model.pubsub import fanout, gossip, idontwant, intake, mesh, messages
from quidnunc.model.pubsub.router import HeartbeatCounts, ReceivedPart, Router
from quidnunc.model.rpc import ROUTER, HaveTx, Message, Peer
from quidnunc.model.rules import Protocol, rule


def edited(protocol: str, **rules: Any) -> Protocol:
    """The protocol with each of the rules named replaced."""
    found = protocol_named(protocol)
    for name, other in rules.items():
        found = found.with_rule(name, other)
    return found


# -- time --------------------------------------------------------------------------------------------------


@rule("gs1.0/seen.ttl")
def seen_slides(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """Each copy renews the entry."""
    step: Any = messages.seen_before.apply(r, m, choose)
    return None if step is None else Step(step.router.with_seen(m.part.id), step.permits)


@rule("gs1.0/fanout.expire")
def fanout_from_creation(r: Router, m: Message, choose: Choose) -> Step[Router]:
    """A publish to a fanout that there is does not renew it."""
    before = r.fanout.get(m.topic)
    step: Any = messages.publish_to_fanout.apply(r, m, choose)
    after = step.router
    if before is None or m.topic not in after.fanout:
        return Step(after, step.permits)
    kept = evolve(after.fanout[m.topic], published_ms=before.published_ms)
    return Step(evolve(after, fanout={**after.fanout, m.topic: kept}), step.permits)


@rule("gs1.0/fanout.expire")
def fanout_at_ttl(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """At fanout_ttl, and not after it."""
    sooner = evolve(r, parameters=evolve(r.parameters, fanout_ttl_ms=r.parameters.fanout_ttl_ms - 1))
    step: Any = fanout.expire.apply(sooner, _, choose)
    return None if step is None else Step(evolve(step.router, parameters=r.parameters))


@rule("gs1.1/backoff.regraft")
def regraft_not_extended(r: Router, g: Any, choose: Choose) -> Step[Router] | None:
    """A GRAFT inside the backoff does not start it anew."""
    step: Any = mesh.while_backing_off.apply(r, g, choose)
    return None if step is None else Step(evolve(step.router, backoff=r.backoff), step.permits)


@rule("gs1.1/backoff.both-ends")
def grafts_a_second_early(r: Router, topic: str, peer: Peer) -> bool | None:
    """The heartbeat counts a backoff as over a second before its end."""
    found: Any = mesh.backing_off.apply(evolve(r, now_ms=r.now_ms + 1000), topic, peer)
    return None if found is not True and r.now_ms < r.ends_backoff_ms(topic, peer) else found


@rule("gs1.2/idontwant.prune-old")
def idontwant_a_heartbeat_longer(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """IDONTWANTs are aged at every second heartbeat."""
    return idontwant.age.apply(r, _, choose) if r.heartbeats % 2 == 0 else None  # type: ignore[no-any-return]


@rule("gs1.1/ihave.caps")
def ihaves_counted_over_two(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """The counts of IHAVE are restarted at every second heartbeat."""
    return gossip.start_counting_anew.apply(r, _, choose) if r.heartbeats % 2 == 0 else None  # type: ignore[no-any-return]


@rule("cat/want.timeout")
def waits_a_second_longer(n: Node, tx: str) -> int:
    return 61_000


# -- counters and bounds -----------------------------------------------------------------------------------


@rule("dog/controller.reset")
def too_little_at_the_bound(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """At the lower bound, too, one peer is asked."""
    return dog.ask_one(n, lost, choose) if dog.redundancy(n) <= dog.bounds(n)[0] else None


@rule("dog/controller.restart")
def duplicates_go_on(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """The count of duplicates is not restarted."""
    return Step(evolve(n, first_time=0)) if n.first_time else None


@rule("dog/controller.in-band")
def unblocks_in_band(n: Node, lost: Peer | None, choose: Choose) -> Step[Node]:
    return Step(evolve(n, blocked=False))


@rule("gs1.0/heartbeat.cut")
def cuts_at_d_high(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """With D_high members, and not with more alone."""
    lower = evolve(r, parameters=evolve(r.parameters, d_high=max(r.parameters.d, r.parameters.d_high - 1)))
    step: Any = mesh.cut_to_d.apply(lower, _, choose)
    return None if step is None else Step(evolve(step.router, parameters=r.parameters), step.permits)


@rule("gs1.0/heartbeat.fill")
def fills_at_d_low(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """With D_low members, too."""
    higher = evolve(r, parameters=evolve(r.parameters, d_low=min(r.parameters.d, r.parameters.d_low + 1)))
    step: Any = mesh.fill_to_d.apply(higher, _, choose)
    return None if step is None else Step(evolve(step.router, parameters=r.parameters), step.permits)


@rule("gs1.1/ihave.caps")
def rpcs_of_ihave_uncounted(r: Router, rpc: Any, choose: Choose) -> Step[Router] | None:
    """RPCs with IHAVE are not counted against the cap."""
    step: Any = intake.read_ihaves.apply(r, rpc, choose)
    if step is None:
        return None
    heard = step.router.heard.get(rpc.peer, HeartbeatCounts())
    return Step(
        evolve(step.router, heard={**step.router.heard, rpc.peer: evolve(heard, ihave_rpcs=0)}), step.permits
    )


@rule("gs1.1/iwant.retransmission")
def answers_without_end(r: Router, g: Any, choose: Choose) -> Step[Router] | None:
    return gossip.serve.apply(r, g, choose)  # type: ignore[no-any-return]


# -- the rest ----------------------------------------------------------------------------------------------


@rule("gs1.0/gossip.outside-mesh")
def fanout_is_told(r: Router, topic: str, peer: Peer) -> bool:
    """IHAVE goes to members of a fanout, too."""
    return peer in r.mesh_of(topic)


@rule("gs1.1/threshold.graylist")
def graylists_explicit(r: Router, rpc: Any, choose: Choose) -> Step[Router] | None:
    """Explicit peers are graylisted as others are."""
    low = settled(r.below(rpc.peer, r.parameters.graylist_threshold), "threshold.graylist", choose)
    return Step(r) if low else None


@rule("dog/havetx.first-sender")
def cuts_the_last_sender(n: Node, h: ReceivedPart[HaveTx], choose: Choose) -> Step[Node] | None:
    """HaveTx disables the route from the last sender."""
    senders = n.senders(h.part.id)
    return (
        Step(n.with_disabled_to(h.peer, with_source(n.disabled_to(h.peer), senders[-1]))) if senders else None
    )


@rule("dog/reset.one")
def enables_none(n: Node, q: Any, choose: Choose) -> Step[Node]:
    """ResetRoute is read and changes nothing."""
    return Step(n)


@rule("dog/peer.forget-routes")
def keeps_routes_to_the_lost(n: Node, lost: Peer, choose: Choose) -> Step[Node] | None:
    """Only routes from a lost peer are forgotten."""
    routes: dict[Peer, PartialSet] = {target: sources.less([lost]) for target, sources in n.routes.items()}
    return Step(evolve(n, routes=routes)) if routes != n.routes else None


# -- the third ten: written after the search, and asked once ------------------------------------------------


@rule("gs1.0/mcache.shift")
def shifts_every_other(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """The message cache is shifted at every second heartbeat."""
    return gossip.shift.apply(r, _, choose) if r.heartbeats % 2 == 0 else None  # type: ignore[no-any-return]


@rule("gs1.1/backoff.announced-period")
def backs_off_a_second_less(r: Router, p: Any, choose: Choose) -> Step[Router] | None:
    """A backoff that a PRUNE announces is kept a second less."""
    step: Any = mesh.back_off_as_announced.apply(r, p, choose)
    if step is None:
        return None
    sooner = dict(step.router.backoff)
    for key, end in step.router.backoff.items():
        if r.backoff.get(key) != end:
            sooner[key] = end - 1000
    return Step(evolve(step.router, backoff=sooner), step.permits)


@rule("cat/seen.queued")
def waits_for_turn_anew(n: Node, s: Any, choose: Choose) -> Step[Node] | None:
    """Each announcement of what is ahead of its turn begins its two minutes anew."""
    step: Any = cat_accounts.wait_for_turn.apply(n, s, choose)
    if step is None:
        return None
    known = {**step.router.queued[s.part.id], s.peer: n.now_ms}
    return Step(evolve(step.router, queued={**step.router.queued, s.part.id: known}))


@rule("gs1.1/threshold.graylist")
def graylists_at_threshold(r: Router, rpc: Any, choose: Choose) -> Step[Router] | None:
    """Who has the graylist threshold as its score is graylisted, too."""
    lower = evolve(r.parameters, graylist_threshold=r.parameters.graylist_threshold + 1)
    step: Any = intake.ignore_graylisted.apply(evolve(r, parameters=lower), rpc, choose)
    return None if step is None else Step(evolve(step.router, parameters=r.parameters), step.permits)


@rule("dog/count.first-time")
def counts_peers_alone(n: Node, t: Any, choose: Choose) -> Step[Node] | None:
    """What a user submits is not counted as new."""
    return dog.count_first_time.apply(n, t, choose) if t.peer != ROUTER else None  # type: ignore[no-any-return]


SEEN_SLIDES = edited("gossipsub-1.0", seen_before=seen_slides)
FANOUT_FROM_CREATION = edited("gossipsub-1.0", publish_to_fanout=fanout_from_creation)
FANOUT_AT_TTL = edited("gossipsub-1.1", expire=fanout_at_ttl)
REGRAFT_NOT_EXTENDED = edited("gossipsub-1.1", while_backing_off=regraft_not_extended)
GRAFTS_A_SECOND_EARLY = edited("gossipsub-1.1", backing_off=grafts_a_second_early)
IDONTWANT_LONGER = edited("gossipsub-1.2", age=idontwant_a_heartbeat_longer)
IHAVES_OVER_TWO = edited("gossipsub-1.1", start_counting_anew=ihaves_counted_over_two)
CAT_WAITS_LONGER = edited("cat", after_a_minute=waits_a_second_longer)
TOO_LITTLE_AT_BOUND = edited("dog", too_little=too_little_at_the_bound)
DUPLICATES_GO_ON = edited("dog", count_anew=duplicates_go_on)
UNBLOCKS_IN_BAND = edited("dog", in_band=unblocks_in_band)
CUTS_AT_D_HIGH = edited("gossipsub-1.0", cut_to_d=cuts_at_d_high)
FILLS_AT_D_LOW = edited("gossipsub-1.0", fill_to_d=fills_at_d_low)
IHAVE_RPCS_UNCOUNTED = edited("gossipsub-1.1", read_ihaves=rpcs_of_ihave_uncounted)
ANSWERS_WITHOUT_END = edited("gossipsub-1.1", serve_within_bound=answers_without_end)
FANOUT_IS_TOLD = edited("gossipsub-1.0", in_mesh_or_fanout=fanout_is_told)
GRAYLISTS_EXPLICIT = edited("gossipsub-1.1", ignore_graylisted=graylists_explicit)
CUTS_LAST_SENDER = edited("dog", disable_first=cuts_the_last_sender)
ENABLES_NONE = edited("dog", enable_one=enables_none)
KEEPS_ROUTES = edited("dog", forget_routes=keeps_routes_to_the_lost)
SHIFTS_EVERY_OTHER = edited("gossipsub-1.0", shift=shifts_every_other)
BACKS_OFF_A_SECOND_LESS = edited("gossipsub-1.1", back_off_as_announced=backs_off_a_second_less)
WAITS_FOR_TURN_ANEW = edited("cat", wait_for_turn=waits_for_turn_anew)
GRAYLISTS_AT_THRESHOLD = edited("gossipsub-1.1", ignore_graylisted=graylists_at_threshold)
COUNTS_PEERS_ALONE = edited("dog", count_first_time=counts_peers_alone)
