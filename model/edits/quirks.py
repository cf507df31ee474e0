"""Quirks: rules as routers in the field have them, by which the root cause of a failure is named.

A departure is explained by the smallest edit of the protocol under which model and router agree again: a
reading, a dropped rule, or one of these. A quirk turns nothing green; it keeps one failure from hiding the
next, and makes a router, as built, a difference to the specification. First the rules as routers in the field
have them, then the edits that put them in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias, cast

from quidnunc.model.choices import Choose, PartialSet
from quidnunc.model.edit import (
    Edit,
    RuleWrapper,
    around,
    asking_first,
    dropping,
    in_turn,
    reading_as,
    replacing,
    replacing_present,
)
from quidnunc.model.edits.extension_quirks import EXTENSION_QUIRKS
from quidnunc.model.edits.idontwant_quirks import IDONTWANT_QUIRKS
from quidnunc.model.edits.memory_quirks import MEMORY_QUIRKS, seen_or_waits_again
from quidnunc.model.edits.operators.wrapped import ENDLESS, reading_parameter
from quidnunc.model.edits.reading_rules import heartbeats_by
from quidnunc.model.edits.score_quirks import SCORE_QUIRKS
from quidnunc.model.errors import SpecError
from quidnunc.model.events import Closed, Output, Sent
from quidnunc.model.permits import Permit, Step, may_send
from quidnunc.model.pubsub import gossip, mesh, messages
from quidnunc.model.pubsub.router import (
    BACKOFF_SWEEP_HEARTBEATS,
    ENDED,
    HeartbeatCounts,
    ReceivedPart,
    Router,
    TopicFanout,
    WaitingMessage,
    without_key,
)
from quidnunc.model.pubsub.scores import counting, terms
from quidnunc.model.pubsub.scores.ledger import TopicTally
from quidnunc.model.pubsub.step import CLOSES_ALL, gone, run
from quidnunc.model.rpc import Graft, IDontWant, IHave, IWant, Message, Part, Peer, Prune
from quidnunc.model.rules import Exclusion, FirstMatch, Phases, Protocol, Rule, Targets, rule, total
from quidnunc.model.score_interval import ZERO, ScoreInterval, interval
from quidnunc.model.score_parameters import TopicScoreParameters
from quidnunc.model.values import evolve
from quidnunc.model.versions import STREAM_PROTOCOLS

Grafted: TypeAlias = tuple[int, tuple[str, ...], int, tuple[Peer, ...]]

# -- mesh and backoff ---------------------------------------------------------------------------------------


@rule("gs1.1/backoff.regraft")
def backing_off_in_whole_seconds(r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
    """The end of the backoff is cut to whole seconds, so that up to a second of it is missing."""
    inside = r.now_ms // 1000 < r.ends_backoff_ms(g.part.topic, g.peer) // 1000
    refused = mesh.refuse_and_back_off(r, g, "gs1.1/backoff.regraft")
    return mesh.prune_at_once(refused) if inside else None


@rule("gs1.1/backoff.both-ends")
def free_in_last_second(r: Router, topic: str, peer: Peer) -> bool | None:
    ends = r.ends_backoff_ms(topic, peer)
    if r.now_ms // 1000 < ends // 1000:
        return True
    swept = ends + BACKOFF_SWEEP_HEARTBEATS * r.parameters.heartbeat_interval_ms
    return None if ends and r.now_ms < swept else False


@rule("gs1.0/fanout.expire")
def expire_in_whole_seconds(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """The age of a fanout is cut to whole seconds, so that it lives up to one longer."""
    ttl_s = r.parameters.fanout_ttl_ms // 1000
    kept = {t: f for t, f in r.fanout.items() if r.now_ms // 1000 - f.published_ms // 1000 <= ttl_s}
    return Step(evolve(r, fanout=kept)) if len(kept) < len(r.fanout) else None


@around("gs1.0/fanout.expire")
def expire_where_announced(old: Rule, r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """The heartbeat passes over a fanout whose topic nobody is in any more: it does not age."""
    deserted = {t: f for t, f in r.fanout.items() if not r.members(t)}
    rest = evolve(r, fanout={t: f for t, f in r.fanout.items() if t not in deserted})
    step = cast("Step[Router] | None", old.step(rest, None, choose))
    if step is None:
        return None
    return Step(evolve(step.router, fanout={**step.router.fanout, **deserted}), step.permits)


@around("gs1.1/backoff.regraft")
def refused_without_extension(
    old: Rule, r: Router, g: ReceivedPart[Graft], choose: Choose
) -> Step[Router] | None:
    """A GRAFT inside the backoff is pruned, and the backoff stays as it was."""
    refused = cast("Step[Router] | None", old.step(r, g, choose))
    if refused is None:
        return None
    return Step(evolve(refused.router, backoff=r.backoff), refused.permits)


@around("gs1.1/backoff.announce")
def cut_with_bare_prune(old: Rule, r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """The PRUNEs of the heartbeat announce no backoff."""
    return _bare(old.step(r, None, choose))


def _bare(step: Step[object] | None) -> Step[Router] | None:
    if step is None:
        return None
    permits = tuple(
        evolve(p, output=Sent(p.output.peer, Prune(p.output.part.topic)))
        if isinstance(p.output, Sent) and isinstance(p.output.part, Prune)
        else p
        for p in step.permits
    )
    return Step(cast("Router", step.router), permits)


@rule("gs1.0/heartbeat.cut")
def cut_at_d_high(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """The mesh is cut at D_high already, not above it."""

    def cut(r: Router, topic: str) -> Step[Router] | None:
        return mesh._cut(r, topic, choose) if len(r.mesh[topic]) >= r.parameters.d_high else None

    return mesh.each_topic(r, cut)


def without_leaks(heartbeat: bool, outputs: tuple[Output, ...]) -> tuple[Output, ...]:
    """A heartbeat whose control lists are shared: each grafted peer is told all that those before it were.

    Sorted by length, each peer's own part is what its list adds to the one before; where the lists do not
    grow in that way, nothing is read into them.
    """
    control: dict[Peer, Counter[Output]] = {}
    for o in outputs:
        if isinstance(o, Sent) and isinstance(o.part, Graft | Prune | IHave):
            control.setdefault(o.peer, Counter())[Sent(0, o.part)] += 1
    grafted = {o.peer for o in outputs if isinstance(o, Sent) and isinstance(o.part, Graft)}
    if not heartbeat:
        return outputs
    outputs = _without_stale_gossip(outputs, grafted)
    chain = sorted(grafted, key=lambda p: (control[p].total(), p))
    own: dict[Peer, Counter[Output]] = {}
    before: Counter[Output] = Counter()
    for peer in chain:
        if before - control[peer]:
            return outputs
        own[peer] = control[peer] - before
        before = control[peer]
    kept = []
    for o in outputs:
        if isinstance(o, Sent) and o.peer in own and isinstance(o.part, Graft | Prune | IHave):
            left = own[o.peer]
            if not left[Sent(0, o.part)]:
                continue
            left[Sent(0, o.part)] -= 1
        kept.append(o)
    return tuple(kept)


def _without_stale_gossip(outputs: tuple[Output, ...], grafted: set[Peer]) -> tuple[Output, ...]:
    """Who is pruned is told the gossip of the peer before it, where there is none for itself. Which of them
    it was cannot be told, so none of it is read."""
    pruned = {o.peer for o in outputs if isinstance(o, Sent) and isinstance(o.part, Prune)} - grafted
    return tuple(
        o for o in outputs if not (isinstance(o, Sent) and o.peer in pruned and isinstance(o.part, IHave))
    )


@around("gs1.1/heartbeat.keep-best")
def best_or_all_outbound(old: Rule, r: Router, topic: str, kept: frozenset[Peer]) -> bool:
    """Outbound members may fill the whole mesh, where D_out of them should be kept beside the best."""
    outbound = r.outbound_of(r.mesh[topic])
    filled = len(r.outbound_of(kept)) >= min(r.parameters.d, len(outbound))
    return bool(old.apply(r, topic, kept)) or filled


@rule("gs1.1/threshold.graylist")
def prune_graylisted(r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
    """Of a graylisted peer only the GRAFT is refused; the rest of its RPCs is taken."""
    low = r.score(g.peer) < r.parameters.graylist_threshold and not r.is_explicit(g.peer)
    return mesh.refuse(r, g, "gs1.1/threshold.graylist") if low else None


# -- messages -----------------------------------------------------------------------------------------------


@rule("gs1.0/relay.seen")
def wait_unmarked(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """A copy that comes while another one is validated is taken for a first copy too."""
    waiting = r.waiting.get(m.part.id)
    if waiting is None:
        return None
    also = evolve(waiting, also=(*waiting.also, m.peer))
    told = run(evolve(r, waiting={**r.waiting, m.part.id: also}), "announce", m, choose)
    return told


@rule("gs1.1/validation.accept")
def accept_each_copy(r: Router, v: tuple[WaitingMessage, str], choose: Choose) -> Step[Router] | None:
    """Every copy that came meanwhile is delivered and forwarded."""
    waiting, judgement = v
    if judgement != "accept":
        return None
    found: Step[Router] = Step(r)
    for forwarder in (waiting.forwarder, *waiting.also):
        m = ReceivedPart(forwarder, waiting.message)
        told = found.then(run(found.router, "announce", m, choose))
        found = told.then(run(told.router, "accepted", m, choose))
    return found


@around("gs1.0/relay.seen")
def request_while_validating(old: Rule, r: Router, g: ReceivedPart[IHave], choose: Choose) -> Step[Router]:
    """What is being validated is requested again; and what was not accepted, perhaps."""
    unmarked = (i for i in dict.fromkeys(g.part.ids) if i in r.seen and i not in r.cached)
    again = [i for i in unmarked if r.parameters.validation == "manual"]
    step = cast("Step[Router]", old.step(r, g, choose))
    # Who caps or decodes otherwise asks for less, and is told by other edits.
    few = 2 * step.router.heard.get(g.peer, HeartbeatCounts()).ihaves <= r.parameters.max_ihave_messages
    ours = few and g.part.topic in r.topics and r.parameters.message_id == "origin"
    asked = ((Sent(g.peer, IWant((i,))), ours and i in r.waiting) for i in again)
    return step.plus(*(Permit(output, owed, "gs1.0/relay.seen", "now") for output, owed in asked))


@around("gs1.0/relay.mesh")
def deliver_accepted_alone(
    old: Rule, r: Router, v: tuple[WaitingMessage, str], choose: Choose
) -> Step[Router] | None:
    """An accepted message is delivered and cached, and goes to nobody."""
    step = cast("Step[Router] | None", old.step(r, v, choose))
    if step is None:
        return None
    relayed = (isinstance(p.output, Sent) and isinstance(p.output.part, Message) for p in step.permits)
    kept = (p for p, sent in zip(step.permits, relayed, strict=True) if not sent)
    return Step(step.router, tuple(kept))


@around("gs1.0/relay.mesh")
def forget_accepted_late(
    old: Rule, r: Router, v: tuple[WaitingMessage, str], choose: Choose
) -> Step[Router] | None:
    """Once its windows are over an accepted message is delivered, and neither cached nor relayed."""
    if not _is_late(r, v[0]):
        return cast("Step[Router] | None", old.step(r, v, choose))
    step = deliver_accepted_alone.apply(old, r, v, choose)
    if not isinstance(step, Step):
        return None
    return Step(evolve(step.router, cached=r.cached, windows=r.windows), step.permits)


@around("gs1.0/relay.mesh")
def lose_accepted_late(
    old: Rule, r: Router, v: tuple[WaitingMessage, str], choose: Choose
) -> Step[Router] | None:
    """As `forget_accepted_late`, and it counts for nobody."""
    step = forget_accepted_late.apply(old, r, v, choose)
    return _uncounted_where_late(step, r, v[0]) if isinstance(step, Step) else None


@around("gs1.1/score.invalid-messages")
def lose_rejected_late(
    old: Rule, r: Router, v: tuple[WaitingMessage, str], choose: Choose
) -> Step[Router] | None:
    """Once its windows are over a rejected message counts against nobody."""
    step = cast("Step[Router] | None", old.step(r, v, choose))
    return None if step is None else _uncounted_where_late(step, r, v[0])


def _uncounted_where_late(step: Step[Router], before: Router, waiting: WaitingMessage) -> Step[Router]:
    if not _is_late(before, waiting):
        return step
    ledger = step.router.ledger
    copies = {i: known for i, known in ledger.copies.items() if i != waiting.message.id}
    return Step(evolve(step.router, ledger=evolve(ledger, copies=copies)), step.permits)


def _is_late(r: Router, waiting: WaitingMessage) -> bool:
    """Whether the windows in which the message came are over."""
    came_ms = r.seen.get(waiting.message.id, r.now_ms)
    return heartbeats_by(r, r.now_ms) - heartbeats_by(r, came_ms) >= r.parameters.mcache_len


@around("gs1.1/validation.late-verdict")
def wait_cached(old: Rule, r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """A message is in the message cache while it waits."""
    step = cast("Step[Router] | None", old.step(r, m, choose))
    return None if step is None else Step(step.router.with_cached(m.part), step.permits)


@around("gs1.1/validation.late-verdict")
def serve_waiting_too(old: Rule, r: Router, g: ReceivedPart[IWant], choose: Choose) -> Step[Router] | None:
    """What waits for its verdict is given to who asks for it."""
    waiting = {i: w.message for i, w in r.waiting.items()}
    step = cast("Step[Router] | None", old.step(evolve(r, cached={**waiting, **r.cached}), g, choose))
    return None if step is None else Step(evolve(step.router, cached=r.cached), step.permits)


@around("gs1.0/publish.mesh")
def publish_sparing_low(old: Rule, r: Router, m: Message, choose: Choose) -> Step[Router] | None:
    """Graylisted members of the mesh get no own messages."""
    step = cast("Step[Router] | None", old.step(r, m, choose))
    if step is None:
        return None
    low = {p for p in r.mesh_of(m.topic) if r.score(p) < r.parameters.graylist_threshold}
    spared = {p for p in low if not r.is_explicit(p)}
    kept = tuple(p for p in step.permits if not (isinstance(p.output, Sent) and p.output.peer in spared))
    return Step(step.router, kept)


def graylisted_of(r: Router, peers: frozenset[Peer]) -> frozenset[Peer]:
    """Those below the graylist threshold, but for explicit peers, who get messages all the same."""
    low = (p for p in peers if r.score(p) < r.parameters.graylist_threshold)
    return frozenset(p for p in low if not r.is_explicit(p))


@around("gs1.0/publish.fanout")
def fanout_sparing_low(old: Rule, r: Router, m: Message, choose: Choose) -> Step[Router]:
    """And for the fanout, where they take a place all the same."""
    pool = r.protocol.set_of("fanout_candidates", r, m.topic, choose).all | r.fanout_of(m.topic).all
    low = graylisted_of(r, pool)
    if low:
        kept, d = r.fanout_of(m.topic), r.parameters.d
        rest = pool - low
        most = min(d, len(rest))
        hidden = PartialSet(kept.must - low, rest - kept.must, max(0, min(d, len(pool)) - len(low)), most)
        r = evolve(r, fanout={**r.fanout, m.topic: TopicFanout(hidden, r.now_ms)})
        if not rest:
            return Step(r)
    return cast("Step[Router]", old.step(r, m, choose))


@around("gs1.0/relay.mesh")
def relay_where_announced(old: Rule, r: Router, m: ReceivedPart[Message]) -> Targets:
    """Nothing is relayed in a topic that no peer has announced, to whoever is in its mesh."""
    if not r.members(m.part.topic):
        return Targets(frozenset(), messages.connected_explicit(r))
    base = old.apply(r, m)
    return base if isinstance(base, Targets) else Targets()


@around("gs1.0/relay.mesh")
def cut_where_announced(old: Rule, r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """Some cut the mesh of such a topic all the same, and some do not."""
    silent = {t: members for t, members in r.mesh.items() if not r.members(t)}
    # From D_high on, as another edit may have it.
    if all(len(members) < r.parameters.d_high for members in silent.values()) or choose.free(
        "mesh.cut-unannounced",
        lambda o: isinstance(o, Sent) and isinstance(o.part, Prune) and o.part.topic in silent,
    ):
        return cast("Step[Router] | None", old.step(r, None, choose))
    rest = evolve(r, mesh={t: members for t, members in r.mesh.items() if t not in silent})
    step = cast("Step[Router] | None", old.step(rest, None, choose))
    if step is None:
        return None
    return Step(evolve(step.router, mesh={**step.router.mesh, **silent}), step.permits)


@around("gs1.0/publish.mesh")
def publish_where_announced(old: Rule, r: Router, m: Message, choose: Choose) -> Step[Router] | None:
    """The same for own messages, to the mesh and to a fanout that has kept who left the topic."""
    if r.members(m.topic) or not (r.mesh_of(m.topic) | r.fanout_of(m.topic).all):
        return cast("Step[Router] | None", old.step(r, m, choose))
    return Step(r)


@rule("gs1.1/score.application")
def no_application_score(r: Router, peer: Peer) -> int:
    """The application's score does not count at the publish and gossip thresholds."""
    return 0


@around("gs1.0/publish.fanout")
def publish_to_topped_up_fanout(old: Rule, r: Router, m: Message, choose: Choose) -> Step[Router]:
    """A fanout below D is filled at each publish, not by the heartbeat alone."""
    kept = r.fanout_of(m.topic)
    pool = r.protocol.set_of("fanout_candidates", r, m.topic, choose)
    if kept.all and kept.least < r.parameters.d:
        d = r.parameters.d
        # Where graylisted peers are spared they take a place and show nothing.
        spared = graylisted_of(r, pool.all) if r.reads("graylisted-spared") else frozenset()
        wider = PartialSet(
            kept.must,
            (kept.may | pool.all) - kept.must - spared,
            max(0, min(d, len(kept.must | pool.must)) - len(spared)),
            max(kept.most, min(d, len((kept.all | pool.all) - spared))),
        )
        r = evolve(r, fanout={**r.fanout, m.topic: TopicFanout(wider, r.now_ms)})
    found = old.step(r, m, choose)
    return cast("Step[Router]", found)


@around("gs1.0/fanout.expire")
def publish_without_renewing(old: Rule, r: Router, m: Message, choose: Choose) -> Step[Router]:
    """The age of a fanout counts from its first publish."""
    step = cast("Step[Router]", old.step(r, m, choose))
    known = r.fanout.get(m.topic)
    if known is None or m.topic not in step.router.fanout:
        return step
    aged = evolve(step.router.fanout[m.topic], published_ms=known.published_ms)
    return Step(evolve(step.router, fanout={**step.router.fanout, m.topic: aged}), step.permits)


@around("gs1.0/mcache.length")
def prune_and_drop_cached(old: Rule, r: Router, topic: str, choose: Choose) -> Step[Router]:
    """Who leaves a topic throws its messages out of the message cache."""
    step = cast("Step[Router]", old.step(r, topic, choose))
    kept = {i: m for i, m in step.router.cached.items() if m.topic != topic}
    windows = tuple(tuple(i for i in window if i in kept) for window in step.router.windows)
    return Step(evolve(step.router, cached=kept, windows=windows), step.permits)


@around("gs1.1/backoff.both-ends")
def build_mesh_of_whole_fanout(old: Rule, r: Router, topic: str, choose: Choose) -> Step[Router]:
    """Peers of the fanout are grafted at Join, be they in backoff."""
    left = {
        (t, p): ends for (t, p), ends in r.backoff.items() if t != topic or p not in r.fanout_of(topic).all
    }
    step = cast("Step[Router]", old.step(evolve(r, backoff=left), topic, choose))
    return Step(evolve(step.router, backoff=r.backoff), step.permits)


@around("gs1.0/join.fill")
def build_mesh_beside_fanout(old: Rule, r: Router, topic: str, choose: Choose) -> Step[Router]:
    """Join grafts D peers beside those that a smaller fanout gave."""
    candidates = r.protocol.set_of("graft_candidates", r, topic, choose).must
    known, d = r.fanout_of(topic), r.parameters.d
    # Whom the heartbeat refilled it with has not shown, and counts.
    moved = max(len(known.must & candidates), known.least - len(known.all - candidates))
    beyond = d + moved if moved < d else d
    return cast("Step[Router]", reading_parameter("d", lambda p: beyond, old).step(r, topic, choose))


@around("gs1.0/join.graft-each")
def build_mesh_and_take_fanout(old: Rule, r: Router, topic: str, choose: Choose) -> Step[Router]:
    """Those of the fanout are members as well, and are not told."""
    known = r.fanout_of(topic).must
    without = evolve(r, fanout=without_key(r.fanout, topic))
    step = cast("Step[Router]", old.step(without, topic, choose))
    return Step(step.router.with_mesh(topic, step.router.mesh_of(topic) | known), step.permits)


@around("gs1.2/rpc.protocol-id")
def close_newest(old: Rule, r: Router, peer: Peer, choose: Choose) -> Step[Router]:
    """A peer that speaks it is closed, once it is told the topics."""
    step = cast("Step[Router] | None", old.step(r, peer, choose)) or Step(r)
    if r.peers[peer].protocol not in STREAM_PROTOCOLS.get(r.protocol.name, ())[:1]:
        return step
    closed = Permit(Closed(peer), True, "gs1.2/rpc.protocol-id", "now")
    after = run(step.router, "disconnect", peer, choose)
    return Step(gone(after.router, peer), (*step.permits, closed, *after.permits))


@around("gs1.0/mcache.shift")
def shift_twice(old: Rule, r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """Two windows in the place of one."""
    step = cast("Step[Router] | None", old.step(r, None, choose))
    again = None if step is None else cast("Step[Router] | None", old.step(step.router, None, choose))
    return step if step is None or again is None else step.then(again)


@around("gs1.0/join.fill")
def build_mesh_of_one(old: Rule, r: Router, topic: str, choose: Choose) -> Step[Router]:
    """One peer of those that are eligible, whether or not it is in the fanout."""
    bare = evolve(r, fanout=without_key(r.fanout, topic))
    made = reading_parameter("d", lambda p: 1, old)
    return cast("Step[Router]", made.apply(bare, topic, choose))


ONE_ID = "one-id-of-own"
"""Of `Router.kept`: which of its own messages has the one id, and whether it was sent to anybody."""


@around("pubsub/publish.seqno")
def send_own_under_one_id(old: Rule, r: Router, m: Message, choose: Choose) -> Step[Router]:
    """All its own messages have one sequence number, and so one id. While it is seen, no other is sent."""
    if r.parameters.signature_policy == "StrictNoSign":
        return cast("Step[Router]", old.step(r, m, choose))
    name, sent = cast("tuple[str, bool]", r.kept.get(ONE_ID, ("", False)))
    since_ms = r.seen.get(name, -r.parameters.seen_ttl_ms)
    if r.parameters.message_id == "origin" and r.now_ms - since_ms < r.parameters.seen_ttl_ms:
        # It goes by the name of the one that was sent, or else of the last one. What is cached stays.
        shown = name if sent else m.id
        cached = {i: each for i, each in r.cached.items() if i not in (name, m.id)}
        if name in r.cached:
            cached[shown] = evolve(r.cached[name], id=shown)
        windows = tuple(_renamed(window, name, shown, {name, m.id}) for window in r.windows)
        after = evolve(r, windows=windows, cached=cached)
        told = {**r.kept, ONE_ID: (shown, sent)}
        return Step(evolve(after, seen={**r.seen, shown: since_ms}, kept=told))
    step = cast("Step[Router]", old.step(r, evolve(m, flaw="stale-seqno") if sent else m, choose))
    sent = sent or any(p.must and isinstance(p.output, Sent) for p in step.permits)
    return Step(evolve(step.router, kept={**step.router.kept, ONE_ID: (m.id, sent)}), step.permits)


def _renamed(window: tuple[str, ...], old: str, new: str, names: Collection[str]) -> tuple[str, ...]:
    """With another name for one id, and without the other `names`."""
    return tuple(new if i == old else i for i in window if i == old or i not in names)


@around("gs1.1/validation.late-verdict")
def count_where_nobody_is_waited_for(
    old: Rule, r: Router, d: counting.CountedDelivery, choose: Choose
) -> Step[Router] | None:
    """What validators judge counts for nobody."""
    waits = r.parameters.validation == "manual"
    return None if waits else cast("Step[Router] | None", old.step(r, d, choose))


LEFT = "members-of-left"
"""Of `Router.kept`: (peer, topic) of the members of a mesh that was left, until they are members again."""


@rule("gs1.0/leave.prune-each")
def forget_mesh(r: Router, topic: str, choose: Choose) -> Step[Router]:
    """The mesh is forgotten, and nobody is told."""
    known = cast("frozenset[tuple[Peer, str]]", r.kept.get(LEFT, frozenset()))
    kept = {**r.kept, LEFT: known | {(peer, topic) for peer in r.mesh_of(topic)}}
    rest = without_key(r.mesh, topic)
    return Step(evolve(r, mesh=rest, poor_for=without_key(r.poor_for, topic), kept=kept))


@rule("gs1.1/backoff.unsubscribe")
def back_off_nobody(r: Router, topic: str, choose: Choose) -> Step[Router] | None:
    return None


@around("gs1.0/leave.prune-each")
def note_pruned_unless_left(old: Rule, r: Router, before: Router, choose: Choose) -> Step[Router] | None:
    """Who was in the mesh of a topic that the router has left stays there for the score."""
    known = cast("frozenset[tuple[Peer, str]]", r.kept.get(LEFT, frozenset()))
    left = frozenset((p, t) for p, t in known if p in r.peers and p not in r.mesh_of(t))
    mesh = dict(r.mesh)
    for peer, topic in left:
        mesh[topic] = mesh.get(topic, frozenset()) | {peer}
    step = cast("Step[Router] | None", old.step(evolve(r, mesh=mesh), before, choose))
    if step is None:
        return None if left == known else Step(evolve(r, kept={**r.kept, LEFT: left}))
    return Step(evolve(step.router, mesh=r.mesh, kept={**r.kept, LEFT: left}), step.permits)


SEEN_IN = "topics-of-seen"
"""Of `Router.kept`: message id -> topic, of what was accepted."""


@around("gs1.0/relay.seen")
def accept_in_topic(old: Rule, r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """The topic of what was seen is kept with it."""
    known = {i: t for i, t in cast("Mapping[str, str]", r.kept.get(SEEN_IN, {})).items() if i in r.seen}
    kept = {**r.kept, SEEN_IN: {**known, m.part.id: m.part.topic}}
    return cast("Step[Router] | None", old.step(evolve(r, kept=kept), m, choose))


@around("gs1.0/relay.seen")
def leave_and_forget(old: Rule, r: Router, topic: str, choose: Choose) -> Step[Router] | None:
    """What was seen in the topic is new again."""
    step = cast("Step[Router] | None", old.step(r, topic, choose)) or Step(r)
    forgotten = {i for i, t in cast("Mapping[str, str]", r.kept.get(SEEN_IN, {})).items() if t == topic}
    seen = {i: ms for i, ms in step.router.seen.items() if i not in forgotten}
    return Step(evolve(step.router, seen=seen), step.permits)


GRAFTED = "grafted-since-heartbeat"
"""Of `Router.kept`: the heartbeat, the topics in which somebody was grafted since, and the time and peers of
the last."""


@around("gs1.0/join.graft-each")
def graft_in_all(old: Rule, r: Router, what: object, choose: Choose) -> Step[Router] | None:
    """Who is grafted may be told of all topics in which somebody was since the heartbeat began. In which
    order it sees them is not said."""
    step = cast("Step[Router] | None", old.step(r, what, choose))
    grafted = _grafted_by(step)
    if step is None or not grafted:
        return step
    if len(r.topics) > 1:
        # A GRAFT may be meant, or be told besides: where both agree with what was seen, who is in is open.
        choose.free("which GRAFT is meant")
    beat, topics, at_ms, peers = cast("Grafted", r.kept.get(GRAFTED, (0, (), 0, ())))
    topics = topics if beat == r.heartbeats else ()
    peers = peers if (beat, at_ms) == (r.heartbeats, r.now_ms) else ()
    topics = tuple(dict.fromkeys((*topics, *(topic for _, topic in grafted))))
    peers = tuple(dict.fromkeys((*peers, *(peer for peer, _ in grafted))))
    also = (permit for topic in topics for permit in may_send(peers, Graft(topic), "gs1.0/join.graft-each"))
    kept = {**step.router.kept, GRAFTED: (r.heartbeats, topics, r.now_ms, peers)}
    return Step(evolve(step.router, kept=kept), (*step.permits, *also))


def _grafted_by(step: Step[Router] | None) -> list[tuple[Peer, str]]:
    outputs = (permit.output for permit in step.permits) if step is not None else ()
    return [(o.peer, o.part.topic) for o in outputs if isinstance(o, Sent) and isinstance(o.part, Graft)]


@around("gs1.1/px.offer")
def members_and_the_pruned(old: Rule, r: Router, what: tuple[str, Peer]) -> frozenset[Peer]:
    return cast("frozenset[Peer]", old.apply(r, what)) | {what[1]}


@around("gs1.0/publish.mesh")
def publish_to_mesh_with_members(old: Rule, r: Router, m: Message, choose: Choose) -> Step[Router] | None:
    """Where the mesh is empty, an own message goes to a fanout, as in a topic that is not joined."""
    if m.topic in r.topics and not r.mesh_of(m.topic):
        return None
    return cast("Step[Router] | None", old.step(r, m, choose))


@around("gs1.1/threshold.publish")
def publish_to_whole_fanout(old: Rule, r: Router, m: Message, choose: Choose) -> Step[Router]:
    """The threshold is asked of who is taken into a fanout, and not of who is in it."""
    rule = (
        reading_parameter("publish_threshold", lambda p: -ENDLESS, old) if r.fanout_of(m.topic).all else old
    )
    return cast("Step[Router]", rule.step(r, m, choose))


# -- gossip -------------------------------------------------------------------------------------------------


@around("gs1.1/ihave.caps")
def count_control(
    old: Rule, r: Router, rpc: ReceivedPart[tuple[Part, ...]], choose: Choose
) -> Step[Router] | None:
    """An RPC with any control message counts against the cap on IHAVEs."""
    if any(isinstance(p, CONTROL) for p in rpc.part) and not any(isinstance(p, IHave) for p in rpc.part):
        heard = r.heard.get(rpc.peer, HeartbeatCounts())
        r = evolve(r, heard={**r.heard, rpc.peer: evolve(heard, ihave_rpcs=heard.ihave_rpcs + 1)})
    return cast("Step[Router] | None", old.step(r, rpc, choose))


CONTROL = (Graft, Prune, IWant, IDontWant)


@around("gs1.2/idontwant.cap")
def count_idontwant_rpcs(
    old: Rule, r: Router, rpc: ReceivedPart[tuple[Part, ...]], choose: Choose
) -> Step[Router] | None:
    """However many IDONTWANTs an RPC brings, it counts as one against the cap."""
    before = r.heard.get(rpc.peer, HeartbeatCounts())
    if before.idontwant_messages >= r.parameters.max_idontwant_messages:
        return cast("Step[Router] | None", old.step(r, rpc, choose))
    found: Step[Router] | None = None
    for part in rpc.part:
        if isinstance(part, IDontWant):
            now = r if found is None else found.router
            again = evolve(now, heard={**now.heard, rpc.peer: before})
            one = cast("Step[Router] | None", old.step(again, evolve(rpc, part=(part,)), choose))
            if one is not None:
                found = Step(one.router, (found.permits if found else ()) + one.permits)
    if found is None:
        return None
    once = evolve(before, idontwants=before.idontwants + 1, idontwant_messages=before.idontwant_messages + 1)
    counted = evolve(found.router, heard={**found.router.heard, rpc.peer: once})
    # Who counts RPCs may bound the ids in each: what the cap would have let pass is heeded all the same.
    heeded = cast("Step[Router]", old.step(r, rpc, choose)).router.unwanted.get(rpc.peer, {})
    free = {message_id: -1 for message_id in _ids_beyond(rpc)}
    return Step(_with_ages(counted, rpc, free | _only(heeded, free)), found.permits)


MOST_IDS_IN_RPC = 10
"""Ids in the IDONTWANTs of one RPC that the Go router reads by default."""


def _ids_beyond(rpc: ReceivedPart[tuple[Part, ...]]) -> frozenset[str]:
    """Those that no IDONTWANT of the RPC names among the first ones."""
    ids = [i for part in rpc.part if isinstance(part, IDontWant) for i in part.ids]
    return frozenset(ids[MOST_IDS_IN_RPC:]) - {*ids[:MOST_IDS_IN_RPC]}


def _only(ages: Mapping[str, int], ids: Collection[str]) -> dict[str, int]:
    return {message_id: age for message_id, age in ages.items() if message_id in ids}


def _with_ages(r: Router, rpc: ReceivedPart[tuple[Part, ...]], ages: Mapping[str, int]) -> Router:
    """The ids beyond the first ones as old as `ages` says, and not noted where it does not."""
    beyond = _ids_beyond(rpc)
    if not beyond:
        return r
    kept = {i: age for i, age in r.unwanted.get(rpc.peer, {}).items() if i not in beyond}
    return evolve(r, unwanted={**r.unwanted, rpc.peer: kept | _only(ages, beyond)})


@around("gs1.2/idontwant.per-peer")
def read_first_ids(
    old: Rule, r: Router, rpc: ReceivedPart[tuple[Part, ...]], choose: Choose
) -> Step[Router] | None:
    """Of the ids in the IDONTWANTs of one RPC the first ten are read."""
    step = cast("Step[Router] | None", old.step(r, rpc, choose))
    if step is None:
        return None
    return Step(_with_ages(step.router, rpc, r.unwanted.get(rpc.peer, {})), step.permits)


@around("gs1.2/idontwant.immediate")
def told_of_each_copy(
    old: Rule, r: Router, rpc: ReceivedPart[tuple[Part, ...]], choose: Choose
) -> Step[Router] | None:
    """Of a message that one RPC brings several times the mesh is told as often."""
    step = cast("Step[Router] | None", old.step(r, rpc, choose))
    copies = Counter(part.id for part in rpc.part if isinstance(part, Message))
    if step is None or copies.total() == len(copies):
        return step
    again: list[Permit] = []
    for permit in step.permits:
        told = permit.output.part if isinstance(permit.output, Sent) else None
        times = copies[told.ids[0]] if isinstance(told, IDontWant) and len(told.ids) == 1 else 1
        again += [permit] * (times - 1)
    return step.plus(*again)


@rule("gs1.1/gossip.adaptive")
def spared_in_backoff(r: Router, topic: str, peer: Peer) -> bool | None:
    """Peers in backoff get no gossip."""
    return cast("bool | None", mesh.backing_off.apply(r, topic, peer))


@around("gs1.0/gossip.targets")
def speakers_and_pruned(old: Rule, r: Router, topic: str) -> frozenset[Peer]:
    """Members that the heartbeat prunes get its gossip, and be it that they never announced the topic."""
    ends = r.now_ms + 1000 * r.parameters.prune_backoff_s
    pruned = {p for p in r.peers.keys() - r.mesh_of(topic) if r.ends_backoff_ms(topic, p) == ends}
    return cast("frozenset[Peer]", old.apply(r, topic)) | pruned


@around("pubsub/id.supplied")
def gossip_by_origin_id(old: Rule, r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """The message cache goes by author and seqno where another id function is configured."""
    if r.parameters.message_id == "origin":
        return cast("Step[Router] | None", old.step(r, None, choose))
    renamed = evolve(
        r,
        cached={f"{i}@origin": m for i, m in r.cached.items()},
        windows=tuple(tuple(f"{i}@origin" for i in window) for window in r.windows),
    )
    step = old.step(renamed, None, choose)
    return Step(r, step.permits) if step is not None else None


@rule("pubsub/id.supplied")
def serve_by_origin_id(r: Router, g: ReceivedPart[IWant], choose: Choose) -> Step[Router] | None:
    """An IWANT by the configured id finds nothing in the cache."""
    if r.parameters.message_id == "origin":
        return None
    return Step(r)


@around("gs1.0/ihave.any-topic")
def request_in_own_topics(old: Rule, r: Router, g: ReceivedPart[IHave], choose: Choose) -> Step[Router]:
    """What is advertised in a topic that the router is not in is not requested."""
    if g.part.topic in r.topics:
        return cast("Step[Router]", old.step(r, g, choose))
    heard = r.heard.get(g.peer, HeartbeatCounts())
    return Step(evolve(r, heard={**r.heard, g.peer: evolve(heard, ihaves=heard.ihaves + 1)}))


@around("gs1.0/rpc.control-fields")
def request_by_decoded_id(old: Rule, r: Router, g: ReceivedPart[IHave], choose: Choose) -> Step[Router]:
    """Ids that look like hexadecimal text are decoded, and so never recognised."""
    if r.parameters.message_id != "hex":
        return cast("Step[Router]", old.step(r, g, choose))
    heard = r.heard.get(g.peer, HeartbeatCounts())
    r = evolve(r, heard={**r.heard, g.peer: evolve(heard, ihaves=heard.ihaves + 1)})
    asked = (Sent(g.peer, IWant((f"{i}@content",))) for i in dict.fromkeys(g.part.ids))
    return Step(r, tuple(Permit(o, False, "gs1.0/rpc.control-fields", "now") for o in asked))


@rule("gs1.0/rpc.control-fields")
def serve_by_decoded_id(r: Router, g: ReceivedPart[IWant], choose: Choose) -> Step[Router] | None:
    """An IWANT by such an id finds nothing."""
    return Step(r) if r.parameters.message_id == "hex" else None


def _spelled(message_id: str, r: Router, spelling: str) -> str:
    """How an id of the message cache looks on the wire, where the cache goes by author and seqno."""
    plain = message_id if r.parameters.message_id == "origin" else f"{message_id}@origin"
    return f"{plain}@{spelling}"


def _in_gossip(change: RuleWrapper) -> dict[str, RuleWrapper]:
    """The change of the rule that gossips at the heartbeat, whichever version has it."""
    return {"gossip_adaptively": change, "gossip_to_d_lazy": change}


def gossip_spelled(spelling: str) -> RuleWrapper:
    def gossip_respelled(old: Rule, r: Router, _: None, choose: Choose) -> Step[Router] | None:
        renamed = evolve(
            r,
            cached={_spelled(i, r, spelling): m for i, m in r.cached.items()},
            windows=tuple(tuple(_spelled(i, r, spelling) for i in window) for window in r.windows),
        )
        step = cast("Step[Router] | None", old.step(renamed, None, choose))
        return Step(r, step.permits) if step is not None else None

    return RuleWrapper("pubsub/id.supplied", gossip_respelled)


@rule("pubsub/id.supplied")
def request_in_hex(r: Router, g: ReceivedPart[IHave], choose: Choose) -> Step[Router]:
    """Unseen ids are requested in hexadecimal digits, which nobody else knows for ids."""
    ids = [i for i in dict.fromkeys(g.part.ids) if i not in r.seen]
    asked = (Sent(g.peer, IWant((f"{i}@hexed",))) for i in ids)
    # Due as any request is: a router that requests nothing has another fault.
    return Step(r, tuple(Permit(o, True, "pubsub/id.supplied") for o in asked))


@rule("pubsub/id.supplied")
def request_all(r: Router, g: ReceivedPart[IHave], choose: Choose) -> Step[Router]:
    """No id is recognised as seen, because ids are kept as text; all are requested."""
    asked = {i: Sent(g.peer, IWant((i,))) for i in g.part.ids}
    return Step(r, tuple(Permit(o, i not in r.seen, "pubsub/id.supplied") for i, o in asked.items()))


# -- whole protocols ----------------------------------------------------------------------------------------


def _payload_last(protocol: Protocol) -> Protocol:
    rules = protocol["intake"].rules
    payload = tuple(r for r in rules if r.name == "read_messages")
    if not payload or payload == rules[-1:]:
        raise SpecError(f"{protocol.name} has its payload last already")
    order = (*(r for r in rules if r.name != "read_messages"), *payload)
    return evolve(protocol, handlers={**protocol.handlers, "intake": Phases(order)})


def _heeding_graylisted(protocol: Protocol) -> Protocol:
    """Another edit may have dropped the rule already."""
    if "score" not in protocol.handlers:
        raise SpecError(f"{protocol.name} has no scores")
    dropped = Edit("", "dropped", "", "", dropping("ignore_graylisted")).applied_to(protocol)
    return dropped or protocol


def _without_application_score(protocol: Protocol) -> Protocol:
    handlers = {**protocol.handlers, "gate": total(no_application_score)}
    return evolve(protocol, handlers=handlers, features=protocol.features | {"graylisted-spared"})


@rule("gs1.0/prune.remove")
def end_at_unknown_topic(r: Router, p: ReceivedPart[Prune], choose: Choose) -> Step[Router] | None:
    """A PRUNE in a topic that it has not joined is the last one of its RPC that a router reads."""
    return Step(evolve(r, kept={**r.kept, ENDED: Prune.__name__})) if p.part.topic not in r.topics else None


def _ending_prunes(protocol: Protocol) -> Protocol:
    rules = (*protocol["prune"].rules, end_at_unknown_topic)
    return protocol.extended(protocol.name, prune=Phases(rules))


@around("gs1.1/px.ignored-from-negative")
def untrusted_unless_negative(
    old: Rule, r: Router, p: ReceivedPart[Prune], choose: Choose
) -> Step[Router] | None:
    """What a peer below a threshold offers is ignored, unless its score is negative."""
    return None if r.below(p.peer, 0) else cast("Step[Router] | None", old.step(r, p, choose))


SURELY_ASKED = "surely-asked"
"""Of `Router.kept`: message id -> of whom it was requested for certain, and not perhaps."""


@around("gs1.2/iwant.cancel")
def request_and_note(old: Rule, r: Router, g: ReceivedPart[IHave], choose: Choose) -> Step[Router] | None:
    """Of too many ids nobody knows which the router requests."""
    step = cast("Step[Router] | None", old.step(r, g, choose))
    if step is None:
        return None
    asked = dict(cast("Mapping[str, frozenset[Peer]]", r.kept.get(SURELY_ASKED, {})))
    for permit in step.permits:
        if permit.must and isinstance(permit.output, Sent) and isinstance(permit.output.part, IWant):
            for i in permit.output.part.ids:
                asked[i] = asked.get(i, frozenset()) | {permit.output.peer}
    return Step(evolve(step.router, kept={**step.router.kept, SURELY_ASKED: asked}), step.permits)


@around("gs1.2/iwant.cancel")
def cancel_to_sender_too(
    old: Rule, r: Router, m: ReceivedPart[Message], choose: Choose
) -> Step[Router] | None:
    """Who answered an IWANT is told as well that the message is not wanted."""
    step = cast("Step[Router] | None", old.step(r, m, choose))
    if m.peer not in r.asked.get(m.part.id, ()) or not r.peers[m.peer].knows_idontwant:
        return step
    surely = cast("Mapping[str, frozenset[Peer]]", r.kept.get(SURELY_ASKED, {})).get(m.part.id, ())
    permit = Permit(Sent(m.peer, IDontWant((m.part.id,))), m.peer in surely, old.clause, "now")
    return Step(r, (permit,)) if step is None else step.plus(permit)


@around("gs1.0/graft.accept")
def refuse_and_accept(old: Rule, r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
    """The GRAFT is answered with PRUNE, and its sender is a member all the same."""
    step = cast("Step[Router] | None", old.step(r, g, choose))
    if step is None:
        return None
    member = mesh.accept.apply(step.router, g, choose)
    return step.then(member) if isinstance(member, Step) else step


@rule("gs1.0/ihave.any-topic")
def end_at_unknown_ihave(r: Router, g: ReceivedPart[IHave], choose: Choose) -> Step[Router] | None:
    """An IHAVE in a topic that it has not joined is the last one of its RPC that a router reads."""
    return Step(evolve(r, kept={**r.kept, ENDED: IHave.__name__})) if g.part.topic not in r.topics else None


def _ending_ihaves(protocol: Protocol) -> Protocol:
    old = protocol["ihave"]
    return protocol.extended(protocol.name, ihave=FirstMatch((end_at_unknown_ihave, *old.rules)))


def _no_gossip_in_backoff(protocol: Protocol) -> Protocol:
    old = protocol["gossip_candidates"]
    assert isinstance(old, Exclusion)
    changed = Exclusion(old.base, (*old.exclusions, spared_in_backoff))
    return evolve(protocol, handlers={**protocol.handlers, "gossip_candidates": changed})


def _with_backoff_of_later(protocol: Protocol) -> Protocol:
    """v1.0 with the backoff after a PRUNE that v1.1 has."""
    candidates, pruned = protocol["graft_candidates"], protocol["prune"]
    if "backs_off" in protocol.handlers or not isinstance(candidates, Exclusion):
        raise SpecError(f"{protocol.name} has a backoff already")
    return evolve(
        protocol,
        handlers={
            **protocol.handlers,
            "graft_candidates": Exclusion(candidates.base, (*candidates.exclusions, mesh.backing_off)),
            "prune": Phases((*pruned.rules, mesh.back_off_as_announced)),
        },
    )


# -- scores -------------------------------------------------------------------------------------------------


@around("gs1.1/score.retain")
def remember_unless_positive(old: Rule, r: Router, peer: Peer, choose: Choose) -> Step[Router]:
    """Of a peer that disconnects with a positive score nothing is kept."""
    step = cast("Step[Router]", old.step(r, peer, choose))
    return Step(counting.forgotten(step.router, peer)) if r.score(peer) > 0 else step


@around("gs1.1/score.time-in-mesh")
def note_grafted_unless_joining(old: Rule, r: Router, before: Router, choose: Choose) -> Step[Router] | None:
    """Members that JOIN puts into a mesh are none to the score; those that come later are."""
    joined = r.topics - before.topics
    old_members = {t: r.mesh_of(t) if t in joined else before.mesh_of(t) & r.mesh_of(t) for t in r.mesh}
    new = evolve(r, mesh={t: members - old_members[t] for t, members in r.mesh.items()})
    step = cast("Step[Router] | None", old.step(new, before, choose))
    return Step(evolve(step.router, mesh=r.mesh), step.permits) if step is not None else None


@around("gs1.1/score.mesh-deliveries")
def count_noted_members(
    old: Rule, r: Router, d: counting.CountedDelivery, choose: Choose
) -> Step[Router] | None:
    """And what they deliver does not count as a member's."""
    noted = counting.tally_of(r, d.peer, d.topic).since_ms is not None
    return cast("Step[Router] | None", old.step(r, d, choose)) if noted else None


@around("gs1.1/score.mesh-deliveries")
def owed_by_former_members(old: Rule, r: Router, what: terms.InTopic) -> ScoreInterval:
    """Who was a member for longer than the activation owes deliveries until it is grafted again."""
    _, p, tally = what
    if tally.since_ms is not None:
        owes = tally.mesh_ms > p.mesh_message_deliveries_activation_ms
    else:
        owes = tally.past_ms > p.mesh_message_deliveries_activation_ms
    if not owes:
        return ZERO
    lacking = interval(p.mesh_message_deliveries_threshold).less(tally.meshed).at_least_zero()
    return interval(p.mesh_message_deliveries_weight).times(lacking.squared())


@around("gs1.1/score.time-in-mesh")
def note_first_graft(old: Rule, r: Router, before: Router, choose: Choose) -> Step[Router] | None:
    """The time in the mesh counts from the first GRAFT of a peer, whatever came between."""
    step = cast("Step[Router] | None", old.step(r, before, choose)) or Step(r)
    past = cast("Mapping[tuple[Peer, str], int]", r.kept.get(FIRST_GRAFTS, {}))
    known = {key: ms for key, ms in past.items() if key[0] in r.peers or key[0] in r.ledger.gone_ms}
    tallies = step.router.ledger.tallies
    first = {key: known.get(key, t.since_ms) for key, t in tallies.items() if t.since_ms is not None}
    if known == past and first.keys() <= known.keys() and step.router is r:
        return None
    counted = {key: evolve(t, since_ms=first[key]) if key in first else t for key, t in tallies.items()}
    kept = {**r.kept, FIRST_GRAFTS: {**known, **first}}
    return Step(evolve(step.router, ledger=evolve(step.router.ledger, tallies=counted), kept=kept))


FIRST_GRAFTS = "first-grafts"
"""Of `Router.kept`: (peer, topic) -> when it came into the mesh for the first time, in ms."""


def _uncapped(p: TopicScoreParameters) -> TopicScoreParameters:
    return evolve(p, first_message_deliveries_cap=float(ENDLESS))


@around("gs1.1/score.first-deliveries")
def count_first_uncapped(
    old: Rule, r: Router, d: counting.CountedDelivery, choose: Choose
) -> Step[Router] | None:
    """First deliveries are counted without a cap ..."""
    scores = r.parameters.scores
    assert scores is not None
    wide = evolve(scores, topics=tuple(map(_uncapped, scores.topics)))
    wider = evolve(r, parameters=evolve(r.parameters, scores=wide))
    step = cast("Step[Router] | None", old.step(wider, d, choose))
    return Step(evolve(step.router, parameters=r.parameters)) if step is not None else None


@around("gs1.1/score.first-deliveries")
def first_deliveries_capped(old: Rule, r: Router, what: terms.InTopic) -> ScoreInterval:
    """... and capped where the score is worked out."""
    peer, p, tally = what
    capped = evolve(tally, first=tally.first.at_most(interval(p.first_message_deliveries_cap)))
    return cast("ScoreInterval", old.apply(r, (peer, p, capped)))


@around("gs1.1/score.weights")
def topics_capped_each(old: Rule, r: Router, peer: Peer) -> ScoreInterval:
    """The cap is one for each topic."""
    scores = r.parameters.scores
    assert scores is not None

    def alone(topic: TopicScoreParameters) -> ScoreInterval:
        only = evolve(r.parameters, scores=evolve(scores, topics=(topic,)))
        return cast("ScoreInterval", old.apply(evolve(r, parameters=only), peer))

    return sum(map(alone, scores.topics), ZERO)


LOST_AT_DISCONNECTION = {
    "first": ("first-deliveries", "the first deliveries (P2)"),
    "meshed": ("mesh-deliveries", "the mesh deliveries (P3)"),
    "failures": ("mesh-failures", "the mesh failures (P3b)"),
    "invalid": ("invalid-messages", "the invalid messages (P4)"),
}
"""Counter of a peer in a topic -> the first word of its edit, and what it counts."""


def without_counter(
    counter: str, positive_too: bool, old: Rule, r: Router, peer: Peer, choose: Choose
) -> Step[Router]:
    """One counter of a peer that disconnects is set to zero in all topics."""
    router, score = cast("Step[Router]", old.step(r, peer, choose)).router, r.bounds(peer)
    if score.lo > 0 and not positive_too:
        return Step(router)
    surely = positive_too or score.hi <= 0

    def lost(tally: TopicTally) -> TopicTally:
        before: ScoreInterval = getattr(tally, counter)
        changed: dict[str, Any] = {counter: ZERO if surely else before.or_also(ZERO)}
        return evolve(tally, **changed)

    known = router.ledger.tallies
    tallies = {key: lost(tally) if key[0] == peer else tally for key, tally in known.items()}
    return Step(evolve(router, ledger=evolve(router.ledger, tallies=tallies)))


def without_behaviour(old: Rule, r: Router, peer: Peer, choose: Choose) -> Step[Router]:
    """The behaviour counter of a peer that disconnects is set to zero."""
    router = cast("Step[Router]", old.step(r, peer, choose)).router
    left = without_key(router.ledger.behaviour, peer)
    return Step(evolve(router, ledger=evolve(router.ledger, behaviour=left)))


def _counters_lost() -> Iterator[Edit]:
    clause = "gs1.1/score.retain-statistics"
    yield Edit(
        "behaviour-lost-at-disconnection",
        "replaced",
        clause,
        "Forgets the behaviour penalty (P7) of a peer when it disconnects.",
        replacing_present(remember_departed=RuleWrapper(clause, without_behaviour)),
    )
    for counter, (name, words) in LOST_AT_DISCONNECTION.items():
        yield _counter_lost(
            f"{name}-lost-at-disconnection", f"Forgets {words} of a peer when it disconnects.", counter, True
        )
    # Of bad marks a positive score is rarely left with any; of good ones this is what the Go router does.
    yield _counter_lost(
        "first-deliveries-lost-with-score-at-most-0",
        "Forgets the first deliveries (P2) of a peer that disconnects while its score is not positive.",
        "first",
        False,
    )


def _counter_lost(name: str, says: str, counter: str, positive_too: bool) -> Edit:
    clause = "gs1.1/score.retain-statistics"
    loses = RuleWrapper(clause, partial(without_counter, counter, positive_too))
    return Edit(name, "replaced", clause, says, replacing_present(remember_departed=loses))


@around("gs1.1/score.first-deliveries")
def count_verdict_twice(
    old: Rule, r: Router, d: counting.CountedDelivery, choose: Choose
) -> Step[Router] | None:
    """A first delivery that waited for its verdict counts twice."""
    step = cast("Step[Router] | None", old.step(r, d, choose))
    if step is None or d.kind != "first" or r.parameters.validation != "manual":
        return step
    return cast("Step[Router] | None", old.step(step.router, d, choose))


@rule("gs1.1/score.retain-statistics")
def begin_anew(r: Router, peer: Peer, choose: Choose) -> Step[Router] | None:
    """What was kept of a peer is lost when it connects again."""
    return Step(counting.forgotten(r, peer)) if peer in r.ledger.gone_ms else None


QUIRKS: tuple[Edit, ...] = (
    Edit(
        "backoff-of-later-version",
        "replaced",
        "gs1.0/heartbeat.fill",
        "Keeps the backoff of v1.1 after a PRUNE, and grafts nobody inside it.",
        _with_backoff_of_later,
    ),
    Edit(
        "unknown-topic-graft-pruned",
        "replaced",
        "gs1.1/graft.unknown-topic",
        "Answers a GRAFT in a topic that it has not joined with PRUNE.",
        replacing(unknown_topic=mesh.prune_unsubscribed),
    ),
    Edit(
        "backoff-in-whole-seconds",
        "replaced",
        "gs1.1/backoff.regraft",
        "Rounds the end of a backoff down to whole seconds.",
        replacing_present(while_backing_off=backing_off_in_whole_seconds, backing_off=free_in_last_second),
    ),
    Edit(
        "fanout-ttl-in-whole-seconds",
        "replaced",
        "gs1.0/fanout.expire",
        "Rounds the age of a fanout down to whole seconds, so that it lives up to a second longer.",
        replacing(expire=expire_in_whole_seconds),
    ),
    Edit(
        "deserted-fanout-kept",
        "replaced",
        "gs1.0/fanout.expire",
        "Lets no fanout expire whose topic nobody is in any more.",
        replacing_present(expire=expire_where_announced),
    ),
    Edit(
        "backoff-shortened",
        "replaced",
        "gs1.1/backoff.both-ends",
        "Lets a shorter backoff take the place of one that still runs.",
        reading_as("backoff-shortened"),
        clauses=("gs1.1/backoff.both-ends", "gs1.1/backoff.announced-period", "gs1.1/backoff.regraft"),
    ),
    Edit(
        "opportunistic-at-median",
        "replaced",
        "gs1.1/opportunistic.graft",
        "Grafts opportunistically peers whose score is the median, and no better.",
        reading_as("opportunistic-at-median"),
    ),
    Edit(
        "ignored-penalised",
        "replaced",
        "gs1.1/validation.ignore-unpenalised",
        "Counts a message that the application ignores as an invalid one (P4).",
        reading_as("ignored-penalised"),
    ),
    Edit(
        "refusal-does-not-extend",
        "replaced",
        "gs1.1/backoff.regraft",
        "Refuses a GRAFT inside the backoff and does not extend the backoff.",
        replacing_present(while_backing_off=refused_without_extension),
    ),
    Edit(
        "heartbeat-prunes-bare",
        "replaced",
        "gs1.1/backoff.announce",
        "Announces no backoff in the PRUNEs of the heartbeat.",
        replacing_present(cut_to_d=cut_with_bare_prune, drop_negative=cut_with_bare_prune),
    ),
    Edit(
        "join-takes-fanout-in-backoff",
        "replaced",
        "gs1.1/backoff.both-ends",
        "Grafts the peers of its fanout at Join, whether or not they are in backoff.",
        replacing_present(build_mesh=build_mesh_of_whole_fanout),
    ),
    Edit(
        "join-fills-beyond-d",
        "replaced",
        "gs1.0/join.fill",
        "Grafts D peers at Join beside those of its fanout, so that a mesh can begin with nearly twice D.",
        replacing_present(build_mesh=build_mesh_beside_fanout),
    ),
    Edit(
        "fanout-not-renewed",
        "replaced",
        "gs1.0/fanout.expire",
        "Counts the age of a fanout from its first publish, not from the last one.",
        replacing_present(publish_to_fanout=publish_without_renewing),
    ),
    Edit(
        "cache-dropped-at-leave",
        "replaced",
        "gs1.0/mcache.length",
        "Drops the messages of a topic from its message cache when it leaves the topic.",
        replacing_present(prune_members=prune_and_drop_cached),
    ),
    Edit(
        "cut-at-d-high",
        "replaced",
        "gs1.0/heartbeat.cut",
        "Cuts its mesh at D_high, not above it.",
        replacing(cut_to_d=cut_at_d_high),
    ),
    Edit(
        "control-lists-shared",
        "replaced",
        "gs1.0/mesh.members",
        "The heartbeat shares its control lists between peers: one is sent what is meant for another.",
        lambda p: evolve(p, lens=without_leaks, features=p.features | {"gossip-count-hidden"}),
    ),
    Edit(
        "seen-after-validation",
        "replaced",
        "gs1.0/relay.seen",
        "Marks a message as seen only after its validation: copies that come meanwhile are delivered and "
        "forwarded again.",
        in_turn(
            asking_first("message", wait_unmarked),
            replacing_present(
                accepted_by_validator=accept_each_copy, request_unseen=request_while_validating
            ),
        ),
    ),
    Edit(
        "accepted-not-relayed",
        "replaced",
        "gs1.0/relay.mesh",
        "Delivers what its validators accept, and relays it to nobody.",
        replacing_present(accepted_by_validator=deliver_accepted_alone),
        clauses=("floodsub/relay.members",),
    ),
    Edit(
        "accepted-late-not-relayed",
        "replaced",
        "gs1.0/relay.mesh",
        "Does not relay a message that validators accept only after its time in the message cache.",
        replacing_present(accepted_by_validator=forget_accepted_late),
    ),
    Edit(
        "late-verdict-lost",
        "replaced",
        "gs1.0/relay.mesh",
        "Ignores a verdict that comes after the message's time in the message cache: does not relay an "
        "accepted message, and does not count the verdict.",
        replacing_present(accepted_by_validator=lose_accepted_late, dropped_by_validator=lose_rejected_late),
    ),
    Edit(
        "cached-before-verdict",
        "replaced",
        "gs1.1/validation.late-verdict",
        "Puts a message into its message cache while it waits for its validators.",
        in_turn(
            replacing_present(wait_for_verdict=wait_cached),
            replacing_present(seen_before=seen_or_waits_again),
        ),
    ),
    Edit(
        "served-before-verdict",
        "replaced",
        "gs1.1/validation.late-verdict",
        "Answers IWANT with messages that still wait for their validators.",
        in_turn(
            replacing_present(serve=serve_waiting_too, serve_within_bound=serve_waiting_too),
            replacing_present(seen_before=seen_or_waits_again),
        ),
    ),
    Edit(
        "relay-needs-a-subscriber",
        "replaced",
        "gs1.0/relay.mesh",
        "Sends no messages to a mesh whose topic no peer has announced.",
        replacing_present(
            mesh_floodsub_and_explicit=relay_where_announced,
            publish_to_mesh=publish_where_announced,
            publish_to_fanout=publish_where_announced,
            cut_to_d=cut_where_announced,
        ),
    ),
    Edit(
        "publish-needs-a-subscriber",
        "replaced",
        "gs1.0/publish.mesh",
        "Does not send its own messages to a mesh whose topic no peer has announced.",
        replacing_present(publish_to_mesh=publish_where_announced, publish_to_fanout=publish_where_announced),
    ),
    Edit(
        "gates-ignore-application-score",
        "replaced",
        "gs1.1/score.application",
        "Does not count the application's score at the publish and gossip thresholds.",
        in_turn(
            _without_application_score,
            replacing_present(publish_to_mesh=publish_sparing_low, publish_to_fanout=fanout_sparing_low),
        ),
    ),
    Edit(
        "graylist-refuses-grafts-only",
        "replaced",
        "gs1.1/threshold.graylist",
        "Reads the RPCs of graylisted peers and refuses only their GRAFTs.",
        in_turn(_heeding_graylisted, asking_first("graft", prune_graylisted)),
    ),
    # The texts leave room for it: when payload counts as processed, if validation takes time, is disputed.
    Edit(
        "control-before-payload",
        "reading",
        "gs1.0/rpc.payload-first",
        "The control part of an RPC is processed before its payload.",
        _payload_last,
    ),
    # That a fanout is filled by the heartbeat does not forbid to fill it earlier.
    Edit(
        "fanout-filled-at-publish",
        "reading",
        "gs1.0/publish.fanout",
        "A fanout below D is filled at each publish.",
        replacing_present(publish_to_fanout=publish_to_topped_up_fanout),
    ),
    Edit(
        "fanout-threshold-asked-once",
        "replaced",
        "gs1.1/threshold.publish",
        "Checks the publish threshold when it adds a peer to a fanout, and not at each publish.",
        replacing_present(publish_to_fanout=publish_to_whole_fanout),
    ),
    Edit(
        "positive-score-not-kept",
        "replaced",
        "gs1.1/score.retain",
        "Forgets the score of a peer that disconnects with a positive score.",
        replacing_present(remember_departed=remember_unless_positive),
    ),
    Edit(
        "score-lost-at-connection",
        "replaced",
        "gs1.1/score.retain-statistics",
        "Forgets the score of a peer when it connects again.",
        replacing_present(recognise=begin_anew),
    ),
    *_counters_lost(),
    Edit(
        "promise-kept-by-maker-alone",
        "replaced",
        "gs1.1/iwant.promise",
        "Counts the promise of an IHAVE as broken although another peer brought the message.",
        reading_as("promise-kept-by-maker"),
    ),
    Edit(
        "copies-uncounted-while-validating",
        "replaced",
        "gs1.1/score.mesh-deliveries",
        "Counts no copies that come while the message waits for its validators (P3).",
        reading_as("copies-uncounted-while-validating"),
    ),
    Edit(
        "time-in-mesh-from-first-graft",
        "replaced",
        "gs1.1/score.time-in-mesh",
        "Counts the time in the mesh (P1) from the first GRAFT of a peer, not from the last.",
        replacing_present(note_grafted=note_first_graft),
    ),
    *SCORE_QUIRKS,
    *EXTENSION_QUIRKS,
    *IDONTWANT_QUIRKS,
    *MEMORY_QUIRKS,
    Edit(
        "join-takes-fanout-untold",
        "replaced",
        "gs1.0/join.graft-each",
        "Takes the peers of its fanout into the mesh at Join without GRAFT, beside those that it grafts.",
        replacing_present(build_mesh=build_mesh_and_take_fanout),
    ),
    Edit(
        "closes-newest-protocol",
        "replaced",
        "gs1.2/rpc.protocol-id",
        "Closes the connection of a peer that speaks the newest protocol that the router speaks.",
        replacing_present(say_hello=close_newest),
    ),
    Edit(
        "cache-shifted-twice",
        "replaced",
        "gs1.0/mcache.shift",
        "Shifts its message cache by two windows at each heartbeat.",
        replacing_present(shift=shift_twice),
    ),
    Edit(
        "own-messages-under-one-id",
        "replaced",
        "pubsub/publish.seqno",
        "Gives all its own messages one sequence number; while one is in its seen cache, sends no other.",
        replacing_present(send_own=send_own_under_one_id),
    ),
    Edit(
        "relays-before-verdict-uncounted",
        "replaced",
        "gs1.1/validation.late-verdict",
        "Delivers and relays messages before validators have answered, and counts them for no score.",
        in_turn(
            dropping("wait_for_verdict"),
            replacing_present(
                count_first=count_where_nobody_is_waited_for, count_meshed=count_where_nobody_is_waited_for
            ),
        ),
    ),
    Edit(
        "leave-tells-nobody",
        "replaced",
        "gs1.0/leave.prune-each",
        "Sends no PRUNE and starts no backoff when it leaves a topic, and still scores its former members.",
        replacing_present(
            prune_members=forget_mesh, note_pruned=note_pruned_unless_left, back_off_members=back_off_nobody
        ),
        clauses=("gs1.0/leave.prune-each", "gs1.1/backoff.unsubscribe"),
    ),
    Edit(
        "leave-forgets-seen",
        "replaced",
        "gs1.0/relay.seen",
        "Forgets the messages that it has seen in a topic when it leaves it.",
        replacing_present(accept_message=accept_in_topic, announce_leave=leave_and_forget),
    ),
    Edit(
        "grafts-shared",
        "replaced",
        "gs1.0/join.graft-each",
        "Sends a peer that it grafts also the GRAFTs for the other topics in which it has grafted anybody "
        "since its last heartbeat.",
        replacing_present(
            build_mesh=graft_in_all,
            fill_to_d=graft_in_all,
            fill_outbound=graft_in_all,
            graft_opportunistically=graft_in_all,
        ),
    ),
    Edit(
        "join-grafts-one",
        "replaced",
        "gs1.0/join.fill",
        "Takes only one peer into the mesh at Join.",
        replacing_present(build_mesh=build_mesh_of_one),
    ),
    Edit(
        "offers-the-pruned",
        "replaced",
        "gs1.1/px.offer",
        "Lists the pruned peer among the peers that it offers to that peer.",
        in_turn(dropping("the_pruned"), replacing_present(members=members_and_the_pruned)),
    ),
    Edit(
        CLOSES_ALL,
        "replaced",
        "pubsub/rpc.any-combination",
        "Closes the connections of all its peers when one of them sends bytes that are no RPC.",
        reading_as(CLOSES_ALL),
    ),
    Edit(
        "first-deliveries-capped-late",
        "replaced",
        "gs1.1/score.first-deliveries",
        "Caps the first deliveries (P2) where it works out a score, not where it counts them.",
        replacing_present(count_first=count_first_uncapped, first_deliveries=first_deliveries_capped),
    ),
    Edit(
        "topics-capped-one-by-one",
        "replaced",
        "gs1.1/score.weights",
        "Caps the score of each topic, not that of all topics together.",
        replacing_present(topics_capped=topics_capped_each),
    ),
    Edit(
        "mesh-deliveries-owed-until-regraft",
        "replaced",
        "gs1.1/score.mesh-deliveries",
        "Keeps counting a peer's deficit of mesh deliveries (P3) after the peer leaves the mesh, until its "
        "next GRAFT.",
        replacing_present(mesh_deliveries=owed_by_former_members),
    ),
    Edit(
        "first-delivery-counted-twice",
        "replaced",
        "gs1.1/score.first-deliveries",
        "Counts a first delivery twice where the message waited for its verdict.",
        replacing_present(count_first=count_verdict_twice, count_meshed=count_verdict_twice),
        clauses=("gs1.1/score.first-deliveries", "gs1.1/score.mesh-deliveries"),
    ),
    Edit(
        "joined-members-unscored",
        "replaced",
        "gs1.1/score.mesh-deliveries",
        "Leaves the members that JOIN puts into a mesh out of the scoring: their time in the mesh and their "
        "deliveries do not count.",
        replacing_present(note_grafted=note_grafted_unless_joining, count_meshed=count_noted_members),
        clauses=(
            "gs1.1/score.mesh-deliveries",
            "gs1.1/score.mesh-failures",
            "gs1.1/score.time-in-mesh",
        ),
    ),
    Edit(
        "cut-keeps-d-outbound",
        "replaced",
        "gs1.1/heartbeat.keep-best",
        "Keeps up to D outbound members in a cut instead of D_out, and prunes members with the best scores "
        "to make room.",
        replacing_present(keeps_the_best=best_or_all_outbound),
    ),
    Edit(
        "fanout-for-empty-mesh",
        "replaced",
        "gs1.0/publish.mesh",
        "Sends its own messages to a fanout in a topic that it has joined, where the mesh is empty.",
        replacing_present(publish_to_mesh=publish_to_mesh_with_members),
    ),
    Edit(
        "idontwant-of-each-copy-in-rpc",
        "replaced",
        "gs1.2/idontwant.immediate",
        "Sends IDONTWANT for a message once for each copy of it in one RPC.",
        replacing_present(read_messages=told_of_each_copy),
    ),
    Edit(
        "ihave-cap-counts-control",
        "replaced",
        "gs1.1/ihave.caps",
        "Counts each RPC with a control message against the cap on IHAVEs.",
        replacing_present(take=count_control),
    ),
    Edit(
        "idontwant-cap-counts-rpcs",
        "replaced",
        "gs1.2/idontwant.cap",
        "Counts RPCs that bring IDONTWANT against the cap, and not the IDONTWANTs in them.",
        replacing_present(read_idontwants=count_idontwant_rpcs),
    ),
    Edit(
        "idontwant-beyond-ten-ids-of-rpc-unread",
        "replaced",
        "gs1.2/idontwant.per-peer",
        "Reads only the first ten ids of the IDONTWANTs in an RPC.",
        replacing_present(read_idontwants=read_first_ids),
    ),
    Edit(
        "ihave-of-own-topics-alone",
        "replaced",
        "gs1.0/ihave.any-topic",
        "Requests nothing that is advertised in topics that it has not joined.",
        replacing_present(request_unseen=request_in_own_topics),
    ),
    Edit(
        "unknown-topic-prune-ends-prunes",
        "replaced",
        "gs1.0/prune.remove",
        "Reads no more PRUNEs of an RPC after one in a topic that it has not joined.",
        _ending_prunes,
    ),
    Edit(
        "offers-heeded-from-negative",
        "replaced",
        "gs1.1/px.ignored-from-negative",
        "Dials the peers that a peer with a negative score offers, whatever AcceptPXThreshold is.",
        replacing_present(
            offered_by_negative=untrusted_unless_negative, offered_by_untrusted=untrusted_unless_negative
        ),
    ),
    Edit(
        "cancels-to-sender-too",
        "replaced",
        "gs1.2/iwant.cancel",
        "Sends IDONTWANT for a requested message also to the peer that answered the request.",
        replacing_present(cancel_requests=cancel_to_sender_too, request_unseen=request_and_note),
    ),
    Edit(
        "refused-in-backoff-kept",
        "replaced",
        "gs1.1/backoff.regraft",
        "Answers a GRAFT inside the backoff with PRUNE, and takes its sender into the mesh all the same.",
        replacing_present(while_backing_off=refuse_and_accept),
    ),
    Edit(
        "refused-with-negative-score-kept",
        "replaced",
        "gs1.1/graft.negative-score",
        "Answers a GRAFT with PRUNE because of a negative score, and takes its sender into the mesh all the "
        "same.",
        replacing_present(negative_score=refuse_and_accept),
    ),
    Edit(
        "refused-at-d-high-kept",
        "replaced",
        "gs1.1/outbound.inbound-refused",
        "Answers a GRAFT at D_high with PRUNE, and takes its sender into the mesh all the same.",
        replacing_present(inbound_while_full=refuse_and_accept),
    ),
    Edit(
        "unknown-topic-ihave-ends-ihaves",
        "replaced",
        "gs1.0/ihave.any-topic",
        "Ignores an IHAVE in a topic that it has not joined, and all IHAVEs after it in the same RPC.",
        _ending_ihaves,
    ),
    Edit(
        "no-gossip-in-backoff",
        "replaced",
        "gs1.1/gossip.adaptive",
        "Sends no gossip to peers in backoff.",
        _no_gossip_in_backoff,
    ),
    Edit(
        "pruned-members-get-gossip",
        "replaced",
        "gs1.0/gossip.targets",
        "Sends gossip to members that it prunes at the heartbeat, though they have not announced the topic.",
        replacing_present(topic_speakers=speakers_and_pruned),
    ),
    Edit(
        "iwant-unbounded",
        "replaced",
        "gs1.1/iwant.retransmission",
        "Answers IWANT for the same message any number of times.",
        replacing(serve_within_bound=gossip.serve),
    ),
    Edit(
        "ids-sent-as-hex",
        "replaced",
        "pubsub/id.supplied",
        "Sends message ids as hexadecimal digits in IHAVE and IWANT.",
        replacing_present(**_in_gossip(gossip_spelled("hexed")), request_unseen=request_in_hex),
    ),
    Edit(
        "ids-sent-as-text",
        "replaced",
        "pubsub/id.supplied",
        "Sends message ids in IHAVE as the text of a Python tuple, and recognises no id in an IHAVE as seen.",
        replacing_present(**_in_gossip(gossip_spelled("text")), request_unseen=request_all),
    ),
    Edit(
        "hex-ids-decoded",
        "replaced",
        "gs1.0/rpc.control-fields",
        "Decodes ids that look like hexadecimal text to other ids in IHAVE and IWANT.",
        in_turn(
            asking_first("iwant", serve_by_decoded_id),
            replacing_present(request_unseen=request_by_decoded_id),
        ),
    ),
    Edit(
        "cache-by-origin-id",
        "replaced",
        "pubsub/id.supplied",
        "Keys its message cache by author and seqno where another id function is configured.",
        in_turn(
            asking_first("iwant", serve_by_origin_id),
            replacing_present(**_in_gossip(gossip_by_origin_id)),
        ),
    ),
)
