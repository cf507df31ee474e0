"""What a router keeps of groups of partial messages: who started them, for how long, and what of which peer.

The text says nothing of it but that state which peers start should be limited; the JVM design and the
Go router each say when a group is over, and differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from quidnunc.model.choices import Choose, PartialSet
from quidnunc.model.events import ANY_STATE, NOTHING_KEPT, Offered, PartialIn, PublishPartial, Sent
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.partial.metadata import named_it
from quidnunc.model.pubsub.router import PartialGroup, ReceivedPart, Router, TopicFanout, without_key
from quidnunc.model.pubsub.step import run
from quidnunc.model.rpc import ROUTER, Partial, Peer
from quidnunc.model.rules import Targets, Total, rule
from quidnunc.model.values import evolve

LEAST_GO_HEARTBEATS = 3
"""A shorter time to live the Go router raises to this."""

Groups: TypeAlias = Mapping[tuple[str, str], PartialGroup]

# -- a partial message comes in -----------------------------------------------------------------------------


@rule(
    "pm/send.advertised",
    lacking="Hands over partial messages from peers that have not named the extension.",
    when="it handles a partial message from a peer that has not named the extension",
)
def from_one_without(r: Router, p: ReceivedPart[Partial], choose: Choose) -> Step[Router] | None:
    """That a peer which has not named the extension is not heard follows from no sentence of the text."""
    return _handed(r, p, must=False) if named_it(r, p.peer) is not True else None


@rule(
    "pm-jvm/receive.before-handshake",
    lacking="Reads partial messages from peers that have not named the extension.",
    when="it drops a partial message from a peer that has not named the extension",
)
def before_handshake(r: Router, p: ReceivedPart[Partial], choose: Choose) -> Step[Router] | None:
    """Before Extensions, and without it, nothing of the extension is read."""
    named = named_it(r, p.peer)
    if named:
        return None
    return Step(r) if named is False else _handed(r, p, must=False)


@rule(
    "pm/group.bounded",
    lacking="Hands over partial messages beyond the limits on groups.",
    when="it drops a partial message beyond the limits on groups",
)
def beyond_advice(r: Router, p: ReceivedPart[Partial], choose: Choose) -> Step[Router] | None:
    """The text wants every message handed over, and advises limits. A peer that has sent no more messages
    than it may start groups is beyond no limit; what comes after them is free."""
    return _handed(r, p, must=False) if _full(r, p) else None


@rule(
    "pm-jvm/group.topic-cap",
    lacking="Lets peers start more groups than a topic may have.",
    when="it refuses to let peers start more groups than a topic may have",
)
def topic_is_full(r: Router, p: ReceivedPart[Partial], choose: Choose) -> Step[Router] | None:
    """So many groups of a topic that peers started; the message that would start one more is dropped."""
    full = _started_in(r, p.part.topic) >= r.parameters.max_groups_per_topic
    return Step(r) if _is_new(r, p) and full else None


@rule(
    "pm-jvm/group.peer-cap",
    lacking="Lets a peer start more groups than it may.",
    when="it refuses to let a peer start more groups than it may",
)
def peer_has_started_enough(r: Router, p: ReceivedPart[Partial], choose: Choose) -> Step[Router] | None:
    """And so many of one peer."""
    full = r.started.get((p.part.topic, p.peer), 0) >= r.parameters.max_groups_per_peer
    return Step(r) if _is_new(r, p) and full else None


@rule(
    "pm/application.forwarded",
    lacking="Does not hand partial messages to the application.",
    when="it hands a partial message to the application",
)
def hand_over_and_count(r: Router, p: ReceivedPart[Partial], choose: Choose) -> Step[Router]:
    """How long a group lasts is not said, so any message may be the first of a new one."""
    started = {**r.started, (p.part.topic, p.peer): r.started.get((p.part.topic, p.peer), 0) + 1}
    return Step(evolve(r, started=started), _handed(r, p, must=True).permits)


@rule(
    "pm/application.forwarded",
    lacking="Does not hand partial messages to the application.",
    when="it hands a partial message to the application",
)
def hand_over(r: Router, p: ReceivedPart[Partial], choose: Choose) -> Step[Router]:
    """Whatever it carries, from whomever, it goes to the application, which alone knows what it is worth."""
    handed = _handed(r, p, must=True)
    if not _is_new(r, p):
        return handed
    started = {**r.started, (p.part.topic, p.peer): r.started.get((p.part.topic, p.peer), 0) + 1}
    fresh = PartialGroup(group_time(r), p.peer)
    opened = evolve(r, started=started, groups={**r.groups, (p.part.topic, p.part.group): fresh})
    return Step(opened, handed.permits)


def _handed(r: Router, p: ReceivedPart[Partial], *, must: bool) -> Step[Router]:
    return Step(r, (Permit(PartialIn(p.peer, p.part), must, "pm/application.forwarded", "now"),))


def _is_new(r: Router, p: ReceivedPart[Partial]) -> bool:
    return (p.part.topic, p.part.group) not in r.groups


def _started_in(r: Router, topic: str) -> int:
    return sum(count for (t, _), count in r.started.items() if t == topic)


def _full(r: Router, p: ReceivedPart[Partial]) -> bool:
    by_peer = r.started.get((p.part.topic, p.peer), 0)
    limits = r.parameters
    return (
        by_peer >= limits.max_groups_per_peer or _started_in(r, p.part.topic) >= limits.max_groups_per_topic
    )


# -- the application publishes to a group -------------------------------------------------------------------


@rule(
    "pm-jvm/group.refreshed",
    lacking="Keeps no group when the application publishes parts.",
    when="it opens a group because the application publishes parts",
)
def open_group(r: Router, p: PublishPartial, choose: Choose) -> Step[Router]:
    """It is ours from now on, whoever started it, and its time begins anew."""
    return _opened(r, p)


@rule(
    "pm/application.interface",
    lacking="Keeps no group when the application publishes parts.",
    when="it opens a group because the application publishes parts",
)
def open_unsaid(r: Router, p: PublishPartial, choose: Choose) -> Step[Router]:
    """What a library keeps of a group is not said, but that there is something to gossip about."""
    return _opened(r, p)


def group_time(r: Router) -> int:
    """How long a group lives, in heartbeats: as configured, where nothing else is said."""
    of_protocol = r.protocol.handlers.get("group_time")
    return of_protocol(r, None) if isinstance(of_protocol, Total) else r.parameters.group_ttl_heartbeats


@rule(
    "pm-go/group.least-time",
    lacking="Gives groups no time to live.",
    when="it works out how long a group lives",
)
def three_at_least(r: Router, _: None) -> int:
    """Go: what is configured, and three heartbeats at least."""
    return max(LEAST_GO_HEARTBEATS, r.parameters.group_ttl_heartbeats)


def _opened(r: Router, p: PublishPartial) -> Step[Router]:
    key = (p.topic, p.group)
    known = r.groups.get(key, PartialGroup(0, ROUTER))
    r = _released(r, p.topic, known.initiator)
    ours = evolve(known, heartbeats_left=group_time(r), initiator=ROUTER, fresh=True)
    return Step(evolve(r, groups={**r.groups, key: ours}))


@rule(
    "pm/application.interface",
    lacking="Offers no peers to an application that publishes parts.",
    when="it offers peers to an application that publishes parts",
)
def offer_anybody(r: Router, p: PublishPartial, choose: Choose) -> Step[Router] | None:
    """Whom the application is offered, and what it is told of them, the text leaves to the library, as it
    does whether this counts as publishing to a fanout."""
    offered = (Offered(p.topic, p.group, peer, ANY_STATE) for peer in sorted(r.peers))
    permits = tuple(Permit(each, False, "pm/application.interface", "now") for each in offered)
    r = (
        r
        if p.topic in r.topics
        else _with_fanout(r, p.topic, TopicFanout(PartialSet(), r.now_ms, tentative=True))
    )
    return Step(r, permits) if permits or p.topic not in r.topics else None


@rule(
    "pm-jvm/publish.fanout",
    lacking="Offers no peers to an application that publishes parts.",
    when="it offers peers to an application that publishes parts",
)
def offer_mesh_or_fanout(r: Router, p: PublishPartial, choose: Choose) -> Step[Router]:
    """The mesh, or the fanout where that is empty; and whoever something is kept of in this group."""
    found = r.protocol.set_of("offered_to", r, p.topic, choose)
    clause = r.protocol["offered_to"].rules[-1].clause
    new = choose.some(
        "partial.offered",
        clause,
        found,
        (len(found.must), len(found.all)),
        reveals=lambda peer: Offered(p.topic, p.group, peer),
        such_that=lambda s: found.must <= s,
    )
    group = _of(r, p)
    states = {**dict.fromkeys(sorted(new), NOTHING_KEPT), **group.states}
    r = _published_to(_with_group(r, p, evolve(group, states=states)), p.topic)
    permits = tuple(
        Permit(
            Offered(p.topic, p.group, peer, state, _requests(r, p.topic, peer)),
            True,
            # Of whom something was kept is offered as long as the group lives.
            _life_clause(r) if peer in group.states else clause,
            "now",
        )
        for peer, state in sorted(states.items())
    )
    return Step(r, permits)


def _life_clause(r: Router) -> str:
    late = any(each is drop_spent_then_count for each in r.protocol["heartbeat"].rules)
    return "pm-go/group.one-heartbeat-more" if late else "pm-jvm/group.time-to-live"


def _requests(r: Router, topic: str, peer: Peer) -> bool:
    return peer in r.peers and r.peers[peer].flags_in(topic).requests


def _published_to(r: Router, topic: str) -> Router:
    """Outside the topic this is publishing to a fanout, one that shows in nothing but offers."""
    if topic in r.topics:
        return r
    known = r.fanout.get(topic)
    if known is None or not known.peers.all:
        entry = TopicFanout(PartialSet(), r.now_ms, tentative=True)
    else:
        entry = evolve(known, published_ms=r.now_ms)
    return _with_fanout(r, topic, entry)


def _with_fanout(r: Router, topic: str, entry: TopicFanout) -> Router:
    return evolve(r, fanout={**r.fanout, topic: entry})


@rule(
    "pm-jvm/publish.fanout",
    lacking="Offers no new peers to an application that publishes parts.",
    when="it looks up the peers to offer to an application that publishes parts",
)
def mesh_or_fanout(r: Router, topic: str) -> Targets:
    """Where nobody is in either, whom of the topic's peers it falls on is not said."""
    mesh = r.mesh_of(topic)
    if mesh:
        return Targets(mesh)
    known = r.fanout.get(topic)
    if known is None or known.tentative or topic in r.topics or not known.peers.all:
        return Targets(frozenset(), r.mesh_speakers(topic))
    return Targets(known.peers.must, known.peers.may)


@rule(
    "pm-jvm/publish.fanout",
    lacking="Offers the application peers that take no part in partial messages.",
    when="it checks whether a peer to offer takes part in partial messages",
)
def has_no_part_in_it(r: Router, topic: str, peer: Peer) -> bool | None:
    """Neither sends us parts that we request, nor requests what we send; or has not named the extension."""
    named = named_it(r, peer)
    return True if not _concerned(r, topic, peer) else None if named is None else not named


@rule(
    "pm-go/publish.unnamed-offered",
    lacking="Offers the application peers that take no part in partial messages.",
    when="it checks whether a peer to offer takes part in partial messages",
)
def has_no_part_in_it_go(r: Router, topic: str, peer: Peer) -> bool | None:
    """That the peer has named the extension is asked of the first of the two alone."""
    own, theirs = r.own_flags(topic), r.peers[peer].flags_in(topic)
    if own.supports and theirs.requests:
        return False
    if not (own.requests and theirs.supports):
        return True
    named = named_it(r, peer)
    return None if named is None else not named


def _concerned(r: Router, topic: str, peer: Peer) -> bool:
    own, theirs = r.own_flags(topic), r.peers[peer].flags_in(topic)
    return (own.requests and theirs.supports) or (own.supports and theirs.requests)


@rule(
    "pm/application.interface",
    lacking="Does not send the parts that the application decided to send.",
    when="it sends the parts that the application decided to send",
)
def send_decided(r: Router, p: PublishPartial, choose: Choose) -> Step[Router] | None:
    """What the application decided goes out, less what a peer may not be sent. What failed sends nothing."""
    permits: list[Permit] = []
    for d in p.decisions:
        if d.error:
            continue
        what = (p.topic, d)
        targets = r.protocol.set_of("sent_to", r, what, choose)
        payload = metadata = None
        if d.payload is not None and d.peer in r.protocol.set_of("part_to", r, what, choose).all:
            payload = d.payload
        if d.metadata is not None and d.peer in r.protocol.set_of("metadata_to", r, what, choose).all:
            metadata = d.metadata
        if d.peer not in targets.all or (payload is None and metadata is None):
            continue
        part = Partial(p.topic, p.group, payload, metadata)
        permits.append(Permit(Sent(d.peer, part), d.peer in targets.must, "pm/application.interface"))
    return Step(r, tuple(permits)) if permits else None


@rule(
    "pm-jvm/api.state-atomic",
    lacking="Does not keep the peer states that the application decided on.",
    when="it keeps the peer states that the application decided on",
)
def keep_decided(r: Router, p: PublishPartial, choose: Choose) -> Step[Router] | None:
    """What is to be kept of a peer is kept at once; a decision that failed changes nothing."""
    return _keep(r, p, lambda failed: not failed)


@rule(
    "pm-go/api.state-in-place",
    lacking="Does not keep the peer states that the application decided on.",
    when="it keeps the peer states that the application decided on",
)
def keep_in_place(r: Router, p: PublishPartial, choose: Choose) -> Step[Router] | None:
    """The application writes to the router's own map: what it wrote before it failed stays."""
    return _keep(r, p, lambda failed: True)


def _keep(r: Router, p: PublishPartial, counts: Callable[[bool], bool]) -> Step[Router] | None:
    new = {d.peer: d.next for d in p.decisions if d.next is not None and counts(d.error)}
    if not new:
        return None
    group = _of(r, p)
    return Step(_with_group(r, p, evolve(group, states={**group.states, **new})))


def _of(r: Router, p: PublishPartial) -> PartialGroup:
    return r.groups.get((p.topic, p.group), PartialGroup(0, ROUTER))


def _with_group(r: Router, p: PublishPartial, group: PartialGroup) -> Router:
    return evolve(r, groups={**r.groups, (p.topic, p.group): group})


# -- the end of groups --------------------------------------------------------------------------------------


@rule(
    "pm-jvm/group.time-to-live",
    lacking="Keeps groups beyond their time to live.",
    when="it counts down the time to live of its groups at the heartbeat",
)
def count_down(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """One less at each heartbeat, and at zero it is over."""
    older = {k: evolve(g, heartbeats_left=g.heartbeats_left - 1) for k, g in r.groups.items()}
    spent = [k for k, g in older.items() if g.heartbeats_left <= 0]
    return Step(_without(evolve(r, groups=older), spent)) if older else None


@rule(
    "pm-jvm/group.empty",
    lacking="Keeps groups that hold no peer states.",
    when="it drops groups without peer states at the heartbeat",
)
def drop_empty(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """A group in which nothing is kept of anybody is over as well."""
    empty = [k for k, g in r.groups.items() if not g.states]
    return Step(_without(r, empty)) if empty else None


@rule(
    "pm-go/group.one-heartbeat-more",
    lacking="Keeps groups beyond their time to live.",
    when="it counts down the time to live of its groups at the heartbeat",
)
def drop_spent_then_count(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """What was at zero before this heartbeat, or is empty, goes; the others count down."""
    over = [k for k, g in r.groups.items() if g.heartbeats_left <= 0 or not g.states]
    r2 = _without(r, over)
    older = {k: evolve(g, heartbeats_left=g.heartbeats_left - 1) for k, g in r2.groups.items()}
    return Step(evolve(r2, groups=older)) if r.groups else None


@rule(
    "pm/gossip.partial-instead",
    lacking="Treats a published group as new after its heartbeat.",
    when="it stops treating a published group as new at the heartbeat",
)
def no_longer_fresh(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """What was published has had its heartbeat; how long gossip about it goes on is not said."""
    stale = {k: evolve(g, fresh=False) for k, g in r.groups.items()}
    return Step(evolve(r, groups=stale)) if any(g.fresh for g in r.groups.values()) else None


@rule(
    "pm/gossip.partial-instead",
    lacking="Treats a published group as new after it has left the topic.",
    when="it stops treating published groups as new on leaving their topic",
)
def not_fresh_when_left(r: Router, topic: str, choose: Choose) -> Step[Router] | None:
    """Whether groups outlive the membership in their topic is not said either."""
    stale = {k: evolve(g, fresh=g.fresh and k[0] != topic) for k, g in r.groups.items()}
    return Step(evolve(r, groups=stale)) if stale != r.groups else None


@rule(
    "pm-jvm/group.left",
    lacking="Keeps the groups of a topic that it leaves.",
    when="it drops the groups of a topic that it leaves",
)
def drop_groups_of_topic(r: Router, topic: str, choose: Choose) -> Step[Router] | None:
    """With the topic go its groups."""
    of_topic = [k for k in r.groups if k[0] == topic]
    return Step(_without(r, of_topic)) if of_topic else None


@rule(
    "pm-jvm/group.peer-gone",
    lacking="Keeps the group states of a peer that disconnects.",
    when="it forgets the group states of a peer that disconnects",
)
def forget_states(r: Router, peer: Peer, choose: Choose) -> Step[Router] | None:
    """What was kept of a peer goes with it, in every group."""
    if not any(peer in g.states for g in r.groups.values()):
        return None
    left = {k: evolve(g, states=without_key(g.states, peer)) for k, g in r.groups.items()}
    return Step(evolve(r, groups=left))


@rule(
    "pm-go/group.counts-released",
    lacking="Counts the groups of a disconnected peer against its limit.",
    when="it stops counting the groups of a peer that disconnects",
)
def release_counts(r: Router, peer: Peer, choose: Choose) -> Step[Router] | None:
    """The groups that a peer started no longer count once it has gone, though they live on till they age.

    When such a group ends later, one more is taken off whatever the peer has started since.
    """
    left = {k: count for k, count in r.started.items() if k[1] != peer}
    return Step(evolve(r, started=left)) if len(left) != len(r.started) else None


def _without(r: Router, keys: list[tuple[str, str]]) -> Router:
    for key in keys:
        r = _released(r, key[0], r.groups[key].initiator)
    return evolve(r, groups={k: g for k, g in r.groups.items() if k not in keys})


def _released(r: Router, topic: str, initiator: Peer) -> Router:
    """One group fewer that `initiator` has started, if any counts."""
    count = r.started.get((topic, initiator), 0)
    if not count:
        return r
    left = without_key(r.started, (topic, initiator))
    return evolve(r, started={**left, (topic, initiator): count - 1} if count > 1 else left)


def note_asked(r: Router, topic: str, group: str, peers: frozenset[Peer], choose: Choose) -> Router:
    """The application was asked to gossip to `peers`."""
    return run(r, "asked_about", (topic, group, peers), choose).router
