"""The rules of open sentences read otherwise, and how they come into a protocol; `readings.py` names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from quidnunc.model.choices import Choose, PartialSet
from quidnunc.model.edit import Change, around, replacing_present
from quidnunc.model.errors import SpecError
from quidnunc.model.events import Dialled, Judgement, Sent, output_key
from quidnunc.model.permits import Step, must_send
from quidnunc.model.pubsub import gossip, idontwant, mesh, peer_exchange
from quidnunc.model.pubsub.router import HeartbeatCounts, ReceivedPart, Router, WaitingMessage, without_key
from quidnunc.model.pubsub.step import run
from quidnunc.model.rpc import (
    Graft,
    IDontWant,
    IHave,
    IWant,
    Message,
    Peer,
    Prune,
    Subscribe,
    Unsubscribe,
)
from quidnunc.model.rules import FirstMatch, Phases, Protocol, Rule, Targets, rule
from quidnunc.model.values import evolve

# -- mesh and fanout ----------------------------------------------------------------------------------------


def kept_in_fanout(r: Router, s: ReceivedPart[Unsubscribe], choose: Choose) -> Step[Router] | None:
    """A peer that unsubscribes stays in the fanout until the heartbeat."""
    return None


@rule("gs1.0/fanout.members")
def drop_unsubscribed(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """At the heartbeat, who is not in the topic any more leaves the fanout; a topic in which nobody is left
    may be passed over."""
    fanout = {}
    for topic, entry in r.fanout.items():
        gone = entry.peers.all - r.members(topic)
        left = entry.peers.less(gone)
        if gone and not left.all:
            left = PartialSet(frozenset(), entry.peers.all, 0, entry.peers.most)
        fanout[topic] = evolve(entry, peers=left)
    return Step(evolve(r, fanout=fanout)) if fanout != r.fanout else None


@rule("gs1.0/mesh.members")
def with_kept_fanout(r: Router, topic: str) -> Targets:
    """Join moves the fanout as it is, those who have left the topic included."""
    return Targets(r.mesh_speakers(topic), r.fanout_of(topic).all)


def late_fanout(protocol: Protocol) -> Protocol:
    if "fanout_candidates" not in protocol.handlers:
        raise SpecError(f"{protocol.name} has no fanout")
    lazy = Rule("quit_fanout", "gs1.0/fanout.members", kept_in_fanout)
    beats = (drop_unsubscribed, *protocol["heartbeat"].rules)
    late = protocol.with_rule("quit_fanout", lazy).with_rule("mesh_speakers", with_kept_fanout)
    return evolve(late, handlers={**late.handlers, "heartbeat": Phases(beats)})


@around("gs1.1/backoff.announced-period")
def refuse_until_cleared(old: Rule, r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
    """A GRAFT is inside the backoff until the first heartbeat at its end or later has cleared it."""
    ends, p = r.ends_backoff_ms(g.part.topic, g.peer), r.parameters
    last_beat = p.heartbeat_delay_ms + (r.heartbeats - 1) * p.heartbeat_interval_ms if r.heartbeats else 0
    if not last_beat < ends <= r.now_ms:
        return cast("Step[Router] | None", old.step(r, g, choose))
    # To the rule it comes in the last moment of the backoff; what it starts counts from now.
    refused = cast("Step[Router]", old.step(evolve(r, now_ms=ends - 1), g, choose))
    after = evolve(refused.router, now_ms=r.now_ms)
    return Step(after.with_backoff(g.part.topic, [g.peer], p.prune_backoff_s), refused.permits)


@rule("gs1.0/mesh.members")
def stay_until_heartbeat(r: Router, s: ReceivedPart[Unsubscribe], choose: Choose) -> Step[Router] | None:
    """A member that unsubscribes is noted, and leaves the mesh at the heartbeat."""
    if s.peer not in r.mesh_of(s.part.topic):
        return None
    leaving = cast("frozenset[tuple[str, Peer]]", r.kept.get(LEAVING, frozenset())) | {(s.part.topic, s.peer)}
    return Step(evolve(r, kept={**r.kept, LEAVING: leaving}))


@rule("gs1.0/mesh.members")
def drop_leaving(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """Who unsubscribed since the last heartbeat, and did not come back, leaves the mesh; it is not told."""
    leaving = cast("frozenset[tuple[str, Peer]]", r.kept.get(LEAVING, frozenset()))
    if not leaving:
        return None
    gone = {(t, p) for t, p in leaving if p not in r.members(t)}
    kept = {t: frozenset(p for p in members if (t, p) not in gone) for t, members in r.mesh.items()}
    return Step(evolve(r, mesh=kept, kept=without_key(r.kept, LEAVING)))


LEAVING = "leaving"
"""Of `Router.kept`: the topics and peers that leave a mesh at the next heartbeat."""


def late_mesh(protocol: Protocol) -> Protocol:
    """Raises SpecError for a protocol without mesh."""
    if "graft_candidates" not in protocol.handlers:
        raise SpecError(f"{protocol.name} has no mesh")
    beats = (drop_leaving, *protocol["heartbeat"].rules)
    late = protocol.with_rule("quit_mesh", stay_until_heartbeat)
    return evolve(late, handlers={**late.handlers, "heartbeat": Phases(beats)})


@rule("gs1.0/heartbeat.no-churn")
def graft_new_subscriber(r: Router, s: ReceivedPart[Subscribe], choose: Choose) -> Step[Router] | None:
    """A mesh below D takes a new subscriber at once, without waiting for the heartbeat."""
    topic = s.part.topic
    if topic not in r.topics or len(r.mesh_of(topic)) >= r.parameters.d:
        return None
    eligible = r.protocol.set_of("graft_candidates", r, topic, choose)
    only = Targets(frozenset(), eligible.all & {s.peer})
    clause = "gs1.0/heartbeat.no-churn"
    return mesh.graft_some(r, topic, "mesh.on-subscribe", clause, only, (0, len(only.may)), None, choose)


def grafting_subscribers(protocol: Protocol) -> Protocol:
    if "graft_candidates" not in protocol.handlers:
        raise SpecError(f"{protocol.name} has no mesh")
    rules = (*protocol["subscribe"].rules, graft_new_subscriber)
    return evolve(protocol, handlers={**protocol.handlers, "subscribe": Phases(rules)})


def answering_strangers(answer: Callable[[Router, ReceivedPart[Graft]], Step[Router] | None]) -> Change:
    """A GRAFT of a peer that did not announce the topic gets that answer, or the one of another check that
    refuses it: no text says which comes first."""

    def change(protocol: Protocol) -> Protocol:
        plain = cast("FirstMatch", protocol["graft"])
        refusals = evolve(plain, rules=tuple(each for each in plain.rules if each.name != "accept"))

        @rule("gs1.0/graft.accept")
        def answer_stranger(r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
            if g.part.topic in r.peers[g.peer].topics:
                return None
            refused, pruned = refusals(r, g, choose), Sent(g.peer, Prune(g.part.topic))
            if refused is not None and choose.whether("graft.stranger", lambda o: output_key(o) == pruned):
                return cast("Step[Router]", refused)
            return answer(r, g)

        return protocol.with_first("graft", answer_stranger)

    return change


def ignored_stranger(r: Router, g: ReceivedPart[Graft]) -> Step[Router]:
    """A GRAFT of a peer that did not announce the topic is ignored."""
    return Step(r)


def pruned_stranger(r: Router, g: ReceivedPart[Graft]) -> Step[Router] | None:
    """A GRAFT of a peer that did not announce the topic is answered with PRUNE."""
    return mesh.refuse(r, g, "gs1.0/graft.accept") if g.part.topic in r.topics else None


def announcing_by_graft(protocol: Protocol) -> Protocol:
    """A GRAFT puts its sender in the topic, and is then read as ever."""
    plain = protocol["graft"]

    @rule("gs1.0/graft.accept")
    def announce_by_graft(r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
        neighbour = r.peers[g.peer]
        known = evolve(neighbour, topics=neighbour.topics | {g.part.topic})
        r = evolve(r, peers={**r.peers, g.peer: known})
        return cast("Step[Router] | None", plain(r, g, choose)) or Step(r)

    return protocol.with_first("graft", announce_by_graft)


@rule("gs1.1/outbound.inbound-refused")
def anyone_while_full(r: Router, g: ReceivedPart[Graft], choose: Choose) -> Step[Router] | None:
    """At D_high nobody may graft itself, whoever dialled."""
    full = len(r.mesh_of(g.part.topic)) >= r.parameters.d_high
    return mesh.refuse_and_back_off(r, g, "gs1.1/outbound.inbound-refused") if full else None


@rule("gs1.1/heartbeat.keep-best")
def keeps_the_best_first(r: Router, topic: str, kept: frozenset[Peer]) -> bool:
    """The D_score best stay, whatever the outbound quota lacks."""
    p, members = r.parameters, r.mesh[topic]
    ranked = sorted(members, key=lambda peer: (-r.score(peer), peer not in kept))
    return frozenset(ranked[: min(p.d_score, p.d)]) <= kept


@rule("gs1.1/outbound.cut-quota")
def keeps_the_quota_after(r: Router, topic: str, kept: frozenset[Peer]) -> bool:
    """D_out outbound members stay, as far as the best leave room."""
    room = r.parameters.d - min(r.parameters.d_score, r.parameters.d)
    wanted = min(r.parameters.d_out, len(r.outbound_of(r.mesh[topic])), room)
    return len(r.outbound_of(kept)) >= wanted


def best_first(protocol: Protocol) -> Protocol:
    best = protocol.with_rule("keeps_the_best", keeps_the_best_first)
    return best.with_rule("keeps_the_outbound_quota", keeps_the_quota_after)


# -- PRUNE and peer exchange --------------------------------------------------------------------------------


@around("gs1.1/backoff.announced-period")
def back_off_members_only(
    old: Rule, r: Router, p: ReceivedPart[Prune], choose: Choose
) -> Step[Router] | None:
    """A PRUNE from a peer outside the mesh starts no backoff. Runs before the sender is removed."""
    if p.peer not in r.mesh_of(p.part.topic):
        return None
    return cast("Step[Router] | None", old.step(r, p, choose))


@around("gs1.1/backoff.announced-period")
def back_off_for_no_time(old: Rule, r: Router, p: ReceivedPart[Prune], choose: Choose) -> Step[Router] | None:
    """A period of 0 is a period too; where none is announced it is the default."""
    if p.part.backoff_s == 0:
        return None
    return cast("Step[Router] | None", old.step(r, p, choose))


def backing_off_members_only(protocol: Protocol) -> Protocol:
    if "backs_off" not in protocol.handlers:
        raise SpecError(f"{protocol.name} has no backoff")
    # What comes before has nothing to do with it: whom the PRUNE names, say.
    changed = replacing_present(back_off_as_announced=back_off_members_only)(protocol)
    moved = ("back_off_as_announced", "remove")
    present = {each.name: each for each in changed["prune"].rules}
    others = (each for name, each in present.items() if name not in moved)
    rules = (*others, *(present[name] for name in moved if name in present))
    return evolve(protocol, handlers={**protocol.handlers, "prune": Phases(rules)})


@rule("gs1.1/px.accept-threshold")
def dial_at_threshold_too(r: Router, p: ReceivedPart[Prune], choose: Choose) -> Step[Router]:
    """A score that equals AcceptPXThreshold is enough."""
    plain = cast("Step[Router]", peer_exchange.dial_offered.step(r, p, choose))
    sound = p.part.records == "signed" and p.peer in r.mesh_of(p.part.topic)
    owed = {Dialled(peer) for peer in p.part.peers[: r.parameters.prune_peers] if sound}
    return Step(plain.router, tuple(evolve(x, must=x.must or x.output in owed) for x in plain.permits))


@rule("gs1.1/px.accept-threshold")
def offered_at_threshold(r: Router, p: ReceivedPart[Prune], choose: Choose) -> Step[Router] | None:
    """What a peer offers whose score does not exceed AcceptPXThreshold is ignored."""
    return Step(r) if r.score(p.peer) <= r.parameters.accept_px_threshold else None


# -- messages -----------------------------------------------------------------------------------------------


@around("gs1.0/relay.own-not-forwarded")
def own_from_outside(old: Rule, r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """A message that names the router as its author and comes from outside is marked seen and dropped."""
    dropped = old.step(r, m, choose)
    return Step(r.with_seen(m.part.id)) if dropped is not None else None


@around("gs1.2/idontwant.before-validation")
def telling_before_the_signature(
    old: Rule, r: Router, m: ReceivedPart[Message], choose: Choose
) -> Step[Router] | None:
    """IDONTWANT is said of the first copy of a message before its signature is checked."""
    dropped = cast("Step[Router] | None", old.step(r, m, choose))
    if dropped is None or m.part.id in r.seen:
        return dropped
    return run(r, "announce", m, choose)


@rule("gs1.0/mcache.put")
def cache_since_arrival(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router]:
    """A message that waited for its verdict goes into the window of the heartbeat in which it came."""
    if m.part.id in r.cached:
        return Step(r)
    # Another edit may set the clock back.
    at = max(0, heartbeats_by(r, r.now_ms) - heartbeats_by(r, r.seen.get(m.part.id, r.now_ms)))
    if at >= r.parameters.mcache_len:
        return Step(r)
    windows = r.windows + ((),) * (at + 1 - len(r.windows))
    windows = (*windows[:at], (*windows[at], m.part.id), *windows[at + 1 :])
    return Step(evolve(r, cached={**r.cached, m.part.id: m.part}, windows=windows))


def heartbeats_by(r: Router, ms: int) -> int:
    return max(0, (ms - r.parameters.heartbeat_delay_ms) // r.parameters.heartbeat_interval_ms + 1)


@rule("gs1.1/validation.reject-ignore")
def forget_ignored(r: Router, v: tuple[WaitingMessage, Judgement], choose: Choose) -> Step[Router]:
    """A message that was ignored is not seen: a later copy is validated anew."""
    waiting, judgement = v
    return Step(evolve(r, seen=without_key(r.seen, waiting.message.id)) if judgement == "ignore" else r)


def _seen(
    old: Rule, r: Router, m: ReceivedPart[Message], choose: Choose, *, refreshed: bool
) -> Step[Router] | None:
    """The rule of duplicates, with the end of an entry at its instant."""
    first = r.seen.get(m.part.id)
    over = first is None or r.now_ms - first >= r.parameters.seen_ttl_ms
    if over and m.part.id not in r.waiting:
        return None
    found = cast("Step[Router] | None", old.step(r, m, choose))
    return Step(found.router.with_seen(m.part.id)) if found and refreshed else found


@around("gs1.0/seen.ttl")
def seen_from_first_copy(
    old: Rule, r: Router, m: ReceivedPart[Message], choose: Choose
) -> Step[Router] | None:
    """An entry of seen ends seen_ttl after the first copy."""
    return _seen(old, r, m, choose, refreshed=False)


@around("gs1.0/seen.ttl")
def seen_from_last_copy(
    old: Rule, r: Router, m: ReceivedPart[Message], choose: Choose
) -> Step[Router] | None:
    """Each copy renews the entry."""
    return _seen(old, r, m, choose, refreshed=True)


@rule("gs1.0/publish.mesh")
def publish_past_empty_mesh(r: Router, m: Message, choose: Choose) -> Step[Router] | None:
    """In a topic whose mesh is empty an own message goes to members of the topic, up to D or all of them."""
    if m.topic not in r.topics or r.mesh_of(m.topic) or r.parameters.flood_publish:
        return None
    pool = {p for p in r.members(m.topic) if r.gate_score(p) >= r.parameters.publish_threshold}
    clause = "gs1.0/publish.mesh"
    chosen = choose.some(
        "publish.instead",
        clause,
        Targets(frozenset(pool)),
        (min(r.parameters.d, len(pool)), len(pool)),
        reveals=lambda p: Sent(p, Message(m.id, m.topic)),
    )
    return Step(r, must_send(chosen, m, clause))


# -- IHAVE and IWANT ----------------------------------------------------------------------------------------


@rule("gs1.1/ihave.caps")
def ihave_capped_otherwise(r: Router, g: ReceivedPart[IHave], choose: Choose) -> Step[Router] | None:
    """IHAVEs are counted by topic, or by the second: beyond half of the cap it is free whether one counts.

    A second overlaps two heartbeats, each of which may have had its half. The caps stay: they may be had
    twice, and the one on IHAVEs in each topic. At one instant and in one topic they may be had once.
    """
    heard = r.heard.get(g.peer, HeartbeatCounts())
    since_ms = r.now_ms if heard.ihave_since_ms is None else heard.ihave_since_ms
    topics = heard.ihave_topics | {g.part.topic}
    heard = evolve(heard, ihave_topics=topics, ihave_since_ms=since_ms)
    r = evolve(r, heard={**r.heard, g.peer: heard})
    times = max(2 if r.now_ms > since_ms else 1, len(topics))
    ids_over = heard.ihave_ids >= min(times, 2) * r.parameters.max_ihave_length
    if ids_over or heard.ihave_rpcs > times * r.parameters.max_ihave_messages:
        return Step(r)
    plain = next(each for each in r.protocol["ihave"].rules if each.name == "request_unseen")
    step = cast("Step[Router]", plain.step(r, g, choose))
    if 2 * (heard.ihaves + 1) <= r.parameters.max_ihave_messages:
        return step
    return Step(step.router, tuple(evolve(p, must=False) for p in step.permits))


IWANTS_A_HEARTBEAT = 20
"""Of one peer; more are not served by who counts IWANTs by the second. The text has no number."""


@rule("gs1.1/iwant.retransmission")
def iwant_capped_otherwise(r: Router, g: ReceivedPart[IWant], choose: Choose) -> Step[Router]:
    """IWANTs of a peer are counted by the second, whatever they ask for: beyond the allowance for one message
    it is free whether one is answered, and beyond the cap none is."""
    heard = r.heard.get(g.peer, HeartbeatCounts())
    now = evolve(heard, iwants=heard.iwants + 1)
    counted = evolve(r, heard={**r.heard, g.peer: now})
    # A second overlaps two heartbeats.
    owed = 1 if now.iwants + now.iwants_before <= gossip.IWANT_ALLOWANCE else 0
    return gossip._serve(counted, g, owed=owed, allowed=None if now.iwants <= IWANTS_A_HEARTBEAT else 0)


@rule("gs1.1/iwant.retransmission")
def count_answers_anew(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """The bound on answers is one per heartbeat."""
    return Step(evolve(r, served={})) if r.served else None


def counting_per_heartbeat(protocol: Protocol) -> Protocol:
    beats = (*protocol["heartbeat"].rules, count_answers_anew)
    # The bound is there from v1.1 on; without it there is nothing to count.
    kept = protocol.with_rule("serve_within_bound", gossip.serve_within_bound)
    return evolve(kept, handlers={**kept.handlers, "heartbeat": Phases(beats)})


# -- IDONTWANT ----------------------------------------------------------------------------------------------


@rule("gs1.2/idontwant.cap")
def idontwant_evicts(r: Router, d: ReceivedPart[IDontWant], choose: Choose) -> Step[Router] | None:
    """Beyond the cap a new entry takes the place of an old one, and nobody says of which.

    The new one surely counts. Of several that come as one, as many as there is room for may.
    """
    heard = r.heard.get(d.peer, HeartbeatCounts())
    named = heard.idontwants + len(d.part.ids)
    if named <= r.parameters.max_idontwant_messages:
        return None
    surely = d.part.ids if len(d.part.ids) == 1 and r.peers[d.peer].knows_idontwant else ()
    entries = r.unwanted.get(d.peer, {})
    counted = evolve(
        heard,
        idontwants=named,
        idontwant_messages=heard.idontwant_messages + 1,
        evictable=heard.evictable | {i for i, age in entries.items() if age == 0} | {*d.part.ids},
    )
    free = dict.fromkeys((*entries, *d.part.ids), -1)
    unwanted = {**r.unwanted, d.peer: {**free, **dict.fromkeys(surely, 0)}}
    return Step(evolve(r, unwanted=unwanted, heard={**r.heard, d.peer: counted}))


@rule("gs1.2/idontwant.cap")
def entries_show(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
    """A relay that is left out shows that its entry is kept, and no more are than the cap allows."""
    unwanted = dict(r.unwanted)
    for peer, entries in r.unwanted.items():
        uncertain = m.part.id in r.heard.get(peer, HeartbeatCounts()).evictable and entries.get(m.part.id)
        if uncertain and not r.peers[peer].stalled and peer in _relayed_to_otherwise(r, m, choose):
            unwanted[peer] = _shown(r, peer, m.part, choose)
    return Step(evolve(r, unwanted=unwanted)) if unwanted != r.unwanted else None


def _relayed_to_otherwise(r: Router, m: ReceivedPart[Message], choose: Choose) -> frozenset[Peer]:
    """To whom `m` had to go if nobody had sent IDONTWANT."""
    if m.part.topic not in r.topics:
        return frozenset()
    return r.protocol.set_of("relay", evolve(r, unwanted={}), m, choose).must


def _shown(r: Router, peer: Peer, message: Message, choose: Choose) -> Mapping[str, int]:
    """The entries of `peer`, after the relay of `message` showed whether there is one for it."""
    entries, heard = dict(r.unwanted[peer]), r.heard[peer]
    relayed = output_key(Sent(peer, message))
    if choose.whether("idontwant.evicted", lambda o: output_key(o) == relayed):
        del entries[message.id]
        return entries
    entries[message.id] = 0
    kept = sum(age == 0 for age in entries.values())
    # Whether the cap is on ids or on messages, the text does not say; nor, then, how many ids may be kept.
    if heard.idontwants > heard.idontwant_messages or kept < r.parameters.max_idontwant_messages:
        return entries
    return {i: age for i, age in entries.items() if age == 0 or i not in heard.evictable}


def evicting_idontwants(protocol: Protocol) -> Protocol:
    capped = protocol.with_rule("beyond_the_cap", idontwant_evicts)
    shown = Phases((*capped["accepted"].rules, entries_show))
    return evolve(capped, handlers={**capped.handlers, "accepted": shown})


def _answer(r: Router, g: ReceivedPart[IWant], choose: Choose, *, owed: bool) -> Step[Router] | None:
    """The answer to an IWANT, of which what its sender said it does not want is owed, or is not given."""
    plain = cast("Step[Router] | None", gossip.serve_within_bound.step(r, g, choose))
    if plain is None:
        return None
    permits = []
    for each in plain.permits:
        sent = cast("Message", cast("Sent", each.output).part)
        if sent.id not in r.unwanted.get(g.peer, {}):
            permits.append(each)
        elif owed:
            permits.append(evolve(each, must=each.must or not r.served.get((g.peer, sent.id))))
    return Step(plain.router, tuple(permits))


@rule("gs1.0/iwant.serve")
def answer_all(r: Router, g: ReceivedPart[IWant], choose: Choose) -> Step[Router] | None:
    """An IWANT outdoes an earlier IDONTWANT."""
    return _answer(r, g, choose, owed=True)


@rule("gs1.2/idontwant.relay-only")
def answer_the_wanted(r: Router, g: ReceivedPart[IWant], choose: Choose) -> Step[Router] | None:
    """What a peer said it does not want it is not given when it asks, either."""
    return _answer(r, g, choose, owed=False)


@rule("gs1.2/idontwant.skip")
def skip_in_mesh_only(r: Router, m: ReceivedPart[Message], peer: Peer) -> bool | None:
    """Explicit peers get every message, whatever they said."""
    if r.is_explicit(peer):
        return False
    return cast("bool | None", idontwant.who_said_idontwant.apply(r, m, peer))


@rule("gs1.2/idontwant.skip")
def skip_explicit_too(r: Router, m: ReceivedPart[Message], peer: Peer) -> bool | None:
    """Explicit peers are spared what they said they do not want, like the mesh."""
    age = r.unwanted.get(peer, {}).get(m.part.id)
    return None if age is None or age < 0 else True
