"""A message from its arrival, or its publication, to its relay.

pubsub README, "Message Signing" and "Topic Validation"; floodsub (v1.0, "In the beginning was floodsub");
gossipsub v1.0, "Message Processing" and "Fanout Maintenance"; v1.1, "Flood Publishing", "Explicit Peering
Agreements" and "Extended Validators".
"""

from __future__ import annotations

from quidnunc.model.choices import Choose, PartialSet, settled
from quidnunc.model.events import Delivered, Judgement, Output, Sent, output_key
from quidnunc.model.permits import Permit, Step, may_send, must_send
from quidnunc.model.pubsub.idontwant import is_old
from quidnunc.model.pubsub.router import ReceivedPart, Router, TopicFanout, WaitingMessage
from quidnunc.model.pubsub.step import run
from quidnunc.model.rpc import ROUTER, IDontWant, Message, Peer
from quidnunc.model.rules import UNNOTICED, Targets, rule
from quidnunc.model.values import evolve

# -- acceptance --------------------------------------------------------------------------------------------


@rule(
    "floodsub/relay.joined-topics",
    lacking="Accepts messages in topics that it has not joined.",
    when="it drops a message in a topic that it has not joined",
)
def not_joined(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """A message in a topic that we are not in is dropped."""
    return Step(r) if m.part.topic not in r.topics else None


@rule(
    "pubsub/rpc.size-limit",
    lacking="Accepts messages beyond the size limit.",
    when="it drops a message beyond the size limit",
)
def too_large(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """A message beyond the configured size is rejected."""
    return Step(r) if m.part.size > r.parameters.max_message_bytes else None


@rule(
    "pubsub/signing.reject",
    lacking="Accepts messages that break the signature policy.",
    when="it drops a message that breaks the signature policy",
)
def flawed(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """A copy that breaks the signature policy is dropped, and does not make a good copy a duplicate."""
    return Step(r) if m.part.flaw else None


@rule(
    "gs1.0/relay.own-not-forwarded",
    lacking="Accepts messages from a peer that name the router as their author.",
    when="it drops a message from a peer that names the router as its author",
)
def from_itself(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """What claims to be ours and comes from outside is not forwarded. Whether the application gets it, the
    first time, the text does not say."""
    if m.part.author != ROUTER:
        return None
    delivery = Permit(Delivered(m.part), False, "gs1.0/relay.own-not-forwarded")
    return Step(r, () if m.part.id in r.seen else (delivery,))


@rule(
    "gs1.0/relay.seen",
    lacking="Delivers and relays a message that it has seen.",
    when="it drops a message that it has seen",
)
def seen_before(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """Within seen_ttl of its first copy a message id is a duplicate; afterwards it may be kept for longer,
    whether or not the first copy still waits for its verdict."""
    first = r.seen.get(m.part.id)
    if first is None:
        return None
    waiting = r.waiting.get(m.part.id)
    expired = r.now_ms - first >= r.parameters.seen_ttl_ms
    if expired and choose.whether("seen.expired", lambda o: _shows_first(r, o, m), default=waiting is None):
        return None
    if waiting is None:
        return Step(r)
    also = evolve(waiting, also=(*waiting.also, m.peer))
    return Step(evolve(r, waiting={**r.waiting, m.part.id: also}))


def _shows_first(r: Router, o: Output, m: ReceivedPart[Message]) -> bool:
    """A first copy shows where it is delivered, or, while it waits for its verdict, where others are told. In
    a topic that the router is not in nobody gets it delivered, and its relay shows as much; who brought it
    may have asked for it as well."""
    if isinstance(o, Sent) and isinstance(o.part, IDontWant):
        return m.part.id in o.part.ids
    if isinstance(o, Sent) and isinstance(o.part, Message):
        return o.part.id == m.part.id and o.peer != m.peer and m.part.topic not in r.topics
    return output_key(o) == Delivered(Message(m.part.id, m.part.topic))


@rule(
    "gs1.1/validation.late-verdict",
    lacking="Delivers and relays a message before its validators have answered.",
    when="it lets a message wait for its validators",
)
def wait_for_verdict(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """The first copy waits for its validators; what can be said of it before is said."""
    if r.parameters.validation != "manual":
        return None
    waiting = {**r.waiting, m.part.id: WaitingMessage(m.part, m.peer)}
    return run(evolve(r.with_seen(m.part.id), waiting=waiting), "announce", m, choose)


@rule("gs1.0/relay.mesh", lacking="Accepts no messages.", when="it accepts a message")
def accept_message(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router]:
    told = run(r.with_seen(m.part.id), "announce", m, choose)
    return told.then(run(told.router, "accepted", m, choose))


# -- verdicts ---------------------------------------------------------------------------------------------


@rule(
    "gs1.1/validation.accept",
    lacking="Drops messages that its validators accept.",
    when="it handles a message that its validators accept",
)
def accepted_by_validator(
    r: Router, v: tuple[WaitingMessage, Judgement], choose: Choose
) -> Step[Router] | None:
    waiting, judgement = v
    if judgement != "accept":
        return None
    m = ReceivedPart(waiting.forwarder, waiting.message)
    told = run(r, "announce", m, choose)
    after = told.then(run(told.router, "accepted", m, choose))
    free = tuple(_free_of(each, waiting) for each in after.permits)
    return Step(_perhaps_cached(after.router, r, m.part.topic), free)


def _perhaps_cached(r: Router, before: Router, topic: str) -> Router:
    """Whether a message that is accepted after we left its topic is cached is not said."""
    new = frozenset() if topic in r.topics else r.cached.keys() - before.cached.keys()
    return evolve(r, perhaps_cached=r.perhaps_cached | new) if new else r


def _free_of(permit: Permit, waiting: WaitingMessage) -> Permit:
    """Whether the message still goes to those who sent a copy of it meanwhile is not said."""
    o = permit.output
    back = isinstance(o, Sent) and o.peer in waiting.also and isinstance(o.part, Message)
    return evolve(permit, must=False) if back else permit


@rule(
    "gs1.1/validation.reject-ignore",
    lacking="Does not drop messages that its validators reject or ignore.",
    when="it drops a message that its validators reject or ignore",
)
def dropped_by_validator(r: Router, v: tuple[WaitingMessage, Judgement], choose: Choose) -> Step[Router]:
    """Reject and Ignore: neither delivered nor forwarded. They differ in the score alone."""
    return Step(r)


# -- what an accepted message causes -----------------------------------------------------------------------


@rule(
    "floodsub/deliver.once",
    lacking="Does not deliver accepted messages to the application.",
    when="it delivers an accepted message to the application",
)
def deliver(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router]:
    return Step(r, (Permit(Delivered(m.part), m.part.topic in r.topics, "floodsub/deliver.once"),))


@rule(
    "gs1.0/mcache.put",
    lacking="Does not keep accepted messages in its message cache.",
    when="it puts an accepted message into its message cache",
)
def cache(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router]:
    return Step(r.with_cached(m.part))


@rule("gs1.0/relay.mesh", lacking="Does not relay accepted messages.", when="it relays an accepted message")
def forward(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router]:
    targets = r.protocol.set_of("relay", r, m, choose)
    clause = "gs1.0/relay.mesh" if "graft" in r.protocol.handlers else "floodsub/relay.members"
    if m.part.topic not in r.topics:
        # The verdict came after we had left; whether, and to whom, the message still goes out is not said.
        anyone = (targets.all | r.members(m.part.topic)) - {m.peer, m.part.author}
        if "fanout_candidates" in r.protocol.handlers:
            # Nor whether that counts as publishing, and makes a fanout.
            unsure = TopicFanout(PartialSet(), r.now_ms, tentative=True)
            r = evolve(r, fanout={**r.fanout, m.part.topic: unsure})
        return Step(r, may_send(anyone, m.part, clause))
    late = frozenset(p for p in targets.must if is_old(r, p, m.part.id))
    owed = must_send(targets.must - late, m.part, clause)
    owed += must_send(late, m.part, "gs1.2/idontwant.prune-old")
    return Step(r, owed + may_send(targets.may, m.part, clause))


# -- relay targets ----------------------------------------------------------------------------------------


@rule(
    "floodsub/relay.members",
    lacking="Relays messages to none of the peers in the topic.",
    when="it looks up the peers to which it relays a message",
)
def all_members(r: Router, m: ReceivedPart[Message]) -> frozenset[Peer]:
    return r.members(m.part.topic)


@rule(
    "gs1.0/relay.mesh",
    lacking="Relays messages to neither its mesh nor floodsub peers.",
    when="it looks up the peers to which it relays a message",
)
def mesh_and_floodsub(r: Router, m: ReceivedPart[Message]) -> frozenset[Peer]:
    """Every floodsub peer in the topic, then the mesh."""
    return r.mesh_of(m.part.topic) | r.floodsub_speakers(m.part.topic)


@rule(
    "gs1.1/explicit.forward",
    lacking="Relays messages to neither its mesh nor floodsub nor explicit peers.",
    when="it looks up the peers to which it relays a message",
)
def mesh_floodsub_and_explicit(r: Router, m: ReceivedPart[Message]) -> Targets:
    """v1.1 adds the explicit peers: those in the topic; whether also those outside it is not said."""
    beside = r.floodsub_speakers(m.part.topic) | explicit_members(r, m.part.topic)
    return Targets(r.mesh_of(m.part.topic) | beside, connected_explicit(r))


@rule(
    "floodsub/relay.not-back",
    lacking="Sends a message back to the peer it came from.",
    when="it checks whether a peer to relay to is the one the message came from",
)
def the_forwarder(r: Router, m: ReceivedPart[Message], peer: Peer) -> bool:
    return peer == m.peer


@rule(
    "floodsub/relay.not-to-author",
    lacking="Sends a message to its author.",
    when="it checks whether a peer to relay to is the author of the message",
)
def the_author(r: Router, m: ReceivedPart[Message], peer: Peer) -> bool:
    return peer == m.part.author


@rule(
    "gs1.1/threshold.publish",
    lacking="Relays messages to floodsub peers below the publish threshold.",
    when="it checks whether a floodsub peer to relay to is below the publish threshold",
)
def floodsub_below_publish(r: Router, m: ReceivedPart[Message], peer: Peer) -> bool | None:
    """The text sets the publish threshold for own messages; routers apply it to relay to floodsub as well."""
    if peer not in r.floodsub_speakers(m.part.topic):
        return False
    low = r.gate_below(peer, r.parameters.publish_threshold) is not False
    return None if low and not r.is_explicit(peer) else False


@rule(
    "gs1.1/threshold.graylist",
    lacking="Relays messages to graylisted peers.",
    when="it checks whether a peer to relay to is graylisted",
)
def graylisted(r: Router, m: ReceivedPart[Message], peer: Peer) -> bool | None:
    """What a graylisted peer says is ignored; whether it is still sent to, until the heartbeat takes it out
    of the mesh, is not said."""
    low = r.below(peer, r.parameters.graylist_threshold) is not False
    return None if low and not r.is_explicit(peer) else False


# -- publish ----------------------------------------------------------------------------------------------


@rule(
    "gs1.0/publish.cached",
    lacking="Keeps its own messages neither as seen nor in its message cache.",
    when="it puts its own message into its caches",
)
def remember_own(r: Router, m: Message, choose: Choose) -> Step[Router]:
    """Our own message is seen and cached; whether it is delivered to ourselves is not said."""
    seen = r.with_seen(m.id).with_cached(m)
    return run(seen, "announce", ReceivedPart(ROUTER, m), choose).plus(
        Permit(Delivered(m), False, "gs1.0/publish.cached")
    )


@rule(
    "floodsub/relay.members",
    lacking="Sends its own messages to none of the peers in the topic.",
    when="it publishes to the peers in the topic",
)
def publish_to_members(r: Router, m: Message, choose: Choose) -> Step[Router]:
    return Step(r, must_send(r.members(m.topic), m, "floodsub/relay.members"))


@rule("gs1.0/publish.mesh", lacking="Sends its own messages to nobody.", when="it sends its own message")
def send_own(r: Router, m: Message, choose: Choose) -> Step[Router]:
    return run(r, "publish_to", m, choose)


@rule(
    "gs1.1/publish.flood",
    lacking="Sends its own messages to its mesh alone, although flood publishing is on.",
    when="it floods its own message to the peers in the topic",
)
def flood_own(r: Router, m: Message, choose: Choose) -> Step[Router] | None:
    """Flood publishing: to every member with a score of at least the publish threshold."""
    if not r.parameters.flood_publish:
        return None
    fit = {p: _may_publish_to(r, p) for p in r.members(m.topic)}
    reached = frozenset(p for p, said in fit.items() if said)
    unsure = frozenset(p for p, said in fit.items() if said is None)
    sent = must_send(reached, m, "gs1.1/publish.flood") + may_send(unsure, m, "gs1.1/threshold.publish")
    # A member of the mesh that announced nothing is no subscriber, and the mesh gets messages all the same.
    mesh = frozenset(p for p in r.mesh_of(m.topic) - fit.keys() if _may_publish_to(r, p) is not False)
    friends = connected_explicit(r) - reached - mesh
    beside = may_send(mesh, m, "gs1.0/publish.mesh") + may_send(friends, m, "gs1.1/explicit.forward")
    return Step(r, sent + beside)


@rule(
    "gs1.0/publish.mesh",
    lacking="Sends its own messages to a fanout in a topic that it has joined.",
    when="it publishes in a topic that it has joined",
)
def publish_to_mesh(r: Router, m: Message, choose: Choose) -> Step[Router] | None:
    """In the topic: to floodsub peers (and explicit ones), and to the mesh."""
    if m.topic not in r.topics:
        return None
    beside = _floodsub_and_explicit(r, m)
    # Whether the publish threshold holds for members of the mesh too the text leaves open.
    low = frozenset(p for p in r.mesh_of(m.topic) if not _may_publish_to(r, p))
    owed = (r.mesh_of(m.topic) - low) | beside.must
    targets = Targets(owed, (beside.may | low) - owed)
    targets = _spared(r, ReceivedPart(ROUTER, m), targets, choose)
    clause = "gs1.0/publish.mesh"
    return Step(r, must_send(targets.must, m, clause) + may_send(targets.may, m, clause))


@rule(
    "gs1.0/publish.fanout",
    lacking="Sends its own messages to nobody in a topic that it has not joined.",
    when="it publishes in a topic that it has not joined",
)
def publish_to_fanout(r: Router, m: Message, choose: Choose) -> Step[Router]:
    """Not in the topic: to the fanout, of up to D peers, chosen when it is empty and then kept."""
    clause = "gs1.0/publish.fanout"
    all_of_it = r.fanout_of(m.topic).all
    low = [p for p in sorted(all_of_it) if not _publishes_to(r, p, m, choose)]
    kept = r.fanout_of(m.topic).less(low)
    pool = r.protocol.set_of("fanout_candidates", r, m.topic, choose)
    d = r.parameters.d
    if m.topic in r.fanout and r.fanout[m.topic].tentative:
        # Who was chosen while it could be is in it still, and may be all that is.
        stale = any(_may_publish_to(r, p) is not True for p in r.mesh_speakers(m.topic))
        least = 0 if stale else min(1, len(pool.must))
        kept = PartialSet(frozenset(), pool.all, least, min(d, len(pool.all)))
    elif not kept.all:
        kept = PartialSet(frozenset(), pool.all, min(d, len(pool.must)), min(d, len(pool.all)))
    was, filled = kept.all, min(len(pool.must), max(0, d - len(pool.may)))
    if not kept.least and not kept.must and m.topic in r.fanout:
        # Of those that are left none may be in it, and then it is filled.
        kept = PartialSet(frozenset(), was | pool.all, 0, max(kept.most, min(d, len(pool.all))))
    chosen, unshown = kept.must, _who_gets_no_message(r, m.topic) & kept.all
    if kept.may or len(kept.must) < kept.least:
        chosen = choose.some(
            "fanout.use",
            clause,
            Targets(kept.all - unshown),
            (max(0, kept.least - len(unshown)), kept.most),
            reveals=lambda p: Sent(p, Message(m.id, m.topic)),
            such_that=lambda s: (
                kept.must - unshown <= s and (s <= was or len(s & pool.must) >= filled - len(unshown))
            ),
        )
    beside = _floodsub_and_explicit(r, m)
    must = chosen | beside.must
    sent = must_send(must, m, clause) + may_send((beside.may | unshown) - must, m, clause)
    entry = _shown_fanout(r, m.topic, kept, chosen)
    return Step(evolve(r, fanout={**r.fanout, m.topic: entry}), sent)


def _publishes_to(r: Router, peer: Peer, m: Message, choose: Choose) -> bool:
    sent = Sent(peer, Message(m.id, m.topic))
    return settled(_may_publish_to(r, peer), "threshold.publish", choose, lambda o: output_key(o) == sent)


def _shown_fanout(r: Router, topic: str, kept: PartialSet, chosen: frozenset[Peer]) -> TopicFanout:
    """What the message tells of the fanout. Explicit peers get it in any case: which are in it, if any, of
    those that could be, has not shown."""
    free = (connected_explicit(r) | _who_gets_no_message(r, topic)) & kept.all
    surely = chosen - free
    if not surely:
        return TopicFanout(PartialSet(), r.now_ms, tentative=True)
    whole = len(surely | free)
    least = max(len(surely), min(kept.least, whole))
    return TopicFanout(PartialSet(surely, free, least, min(kept.most, whole)).settled(), r.now_ms)


def _who_gets_no_message(r: Router, topic: str) -> frozenset[Peer]:
    """Those that are sent parts instead: that they are in a fanout does not show."""
    if "suppressed" not in r.protocol.handlers:
        return frozenset()
    return r.protocol.set_of("suppressed", r, topic, UNNOTICED).all


@rule(
    "gs1.1/explicit.configured",
    lacking="Ignores its explicit peering agreements.",
    when="it looks up its explicit peers",
)
def explicit_peers(r: Router, _: None) -> frozenset[Peer]:
    """Those that the operator agreed with, while they are connected."""
    return r.parameters.explicit_peers & r.peers.keys()


def connected_explicit(r: Router) -> frozenset[Peer]:
    return frozenset(p for p in r.peers if r.is_explicit(p))


def explicit_members(r: Router, topic: str) -> frozenset[Peer]:
    return frozenset(p for p in r.members(topic) if r.is_explicit(p))


def _floodsub_and_explicit(r: Router, m: Message) -> Targets:
    fit = {p: _may_publish_to(r, p) for p in r.floodsub_speakers(m.topic)}
    plain = frozenset(p for p, said in fit.items() if said)
    unsure = frozenset(p for p, said in fit.items() if said is None)
    return Targets(plain | explicit_members(r, m.topic), connected_explicit(r) | unsure)


def _may_publish_to(r: Router, peer: Peer) -> bool | None:
    """From v1.1 on own messages do not go below the publish threshold; explicit peers are exempt."""
    if "score" not in r.protocol.handlers or r.is_explicit(peer):
        return True
    low = r.gate_below(peer, r.parameters.publish_threshold)
    return None if low is None else not low


def _spared(r: Router, m: ReceivedPart[Message], targets: Targets, choose: Choose) -> Targets:
    """Who said IDONTWANT may be spared an own publish too: outside the letter, so free."""
    said = frozenset(p for p in targets.must if m.part.id in r.unwanted.get(p, {}))
    return Targets(targets.must - said, targets.may | said)
