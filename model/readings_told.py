"""Readings that no departure is explained by: a separating trace tells them.

Some narrow what the kit leaves free, so that both ends of the freedom have a name. Others read otherwise a
sentence that the kit holds to be plain: in a search that is judged by the clause, and `--dialect` says
which reading it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from quidnunc.model import gossip, idontwant, mesh, messages, peer_exchange
from quidnunc.model.choices import Choose
from quidnunc.model.events import Dialled, Judgement, Sent
from quidnunc.model.permits import Step, must_send
from quidnunc.model.quirks import REPLACED
from quidnunc.model.readings import Reading
from quidnunc.model.router import From, Router, Waiting, without_key
from quidnunc.model.rpc import Graft, IWant, Message, Peer, Prune
from quidnunc.model.rules import Phases, Protocol, Rule, Targets, rule
from quidnunc.model.values import evolve

Edit: TypeAlias = Callable[[Protocol], Protocol]


def replacing(name: str, by: Rule) -> Edit:
    """The edit that puts one rule in the place of another."""
    return lambda protocol: protocol.with_rule(name, by)


# -- IDONTWANT ----------------------------------------------------------------------------------------------


def _answer(r: Router, g: From[IWant], choose: Choose, *, owed: bool) -> Step[Router] | None:
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
def answer_all(r: Router, g: From[IWant], choose: Choose) -> Step[Router] | None:
    """An IWANT outdoes an earlier IDONTWANT."""
    return _answer(r, g, choose, owed=True)


@rule("gs1.2/idontwant.relay-only")
def answer_the_wanted(r: Router, g: From[IWant], choose: Choose) -> Step[Router] | None:
    """What a peer said it does not want it is not given when it asks, either."""
    return _answer(r, g, choose, owed=False)


@rule("gs1.2/idontwant.skip")
def skip_in_mesh_only(r: Router, m: From[Message], peer: Peer) -> bool | None:
    """Explicit peers get every message, whatever they said."""
    if r.is_explicit(peer):
        return False
    return cast("bool | None", idontwant.who_said_idontwant.apply(r, m, peer))


@rule("gs1.2/idontwant.skip")
def skip_explicit_too(r: Router, m: From[Message], peer: Peer) -> bool | None:
    """Explicit peers are spared what they said they do not want, like the mesh."""
    age = r.unwanted.get(peer, {}).get(m.part.id)
    return None if age is None or age < 0 else True


# -- messages -----------------------------------------------------------------------------------------------


@rule("gs1.1/validation.reject-ignore")
def forget_ignored(r: Router, v: tuple[Waiting, Judgement], choose: Choose) -> Step[Router]:
    """A message that was ignored is not seen: a later copy is validated anew."""
    waiting, judgement = v
    return Step(evolve(r, seen=without_key(r.seen, waiting.message.id)) if judgement == "ignore" else r)


def _seen(r: Router, m: From[Message], choose: Choose, *, refreshed: bool) -> Step[Router] | None:
    """The rule of duplicates, with the end of an entry at its instant."""
    first = r.seen.get(m.part.id)
    over = first is None or r.now_ms - first >= r.parameters.seen_ttl_ms
    if over and m.part.id not in r.waiting:
        return None
    found = cast("Step[Router]", messages.seen_before.step(r, m, choose))
    return Step(found.router.with_seen(m.part.id)) if refreshed else found


@rule("gs1.0/seen.ttl")
def seen_from_first_copy(r: Router, m: From[Message], choose: Choose) -> Step[Router] | None:
    """An entry of seen ends seen_ttl after the first copy."""
    return _seen(r, m, choose, refreshed=False)


@rule("gs1.0/seen.ttl")
def seen_from_last_copy(r: Router, m: From[Message], choose: Choose) -> Step[Router] | None:
    """Each copy renews the entry."""
    return _seen(r, m, choose, refreshed=True)


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


# -- IWANT --------------------------------------------------------------------------------------------------


@rule("gs1.1/iwant.retransmission")
def count_answers_anew(r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """The bound on answers is one per heartbeat."""
    return Step(evolve(r, served={})) if r.served else None


def _counted_per_heartbeat(protocol: Protocol) -> Protocol:
    beats = (*protocol["heartbeat"].rules, count_answers_anew)
    # The bound is there from v1.1 on; without it there is nothing to count.
    kept = protocol.with_rule("serve_within_bound", gossip.serve_within_bound)
    return evolve(kept, handlers={**kept.handlers, "heartbeat": Phases(beats)})


# -- peer exchange ------------------------------------------------------------------------------------------


@rule("gs1.1/px.accept-threshold")
def dial_at_threshold_too(r: Router, p: From[Prune], choose: Choose) -> Step[Router]:
    """A score that equals AcceptPXThreshold is enough."""
    plain = cast("Step[Router]", peer_exchange.dial_offered.step(r, p, choose))
    sound = p.part.records == "signed" and p.peer in r.mesh_of(p.part.topic)
    owed = {Dialled(peer) for peer in p.part.peers[: r.parameters.prune_peers] if sound}
    return Step(plain.router, tuple(evolve(x, must=x.must or x.output in owed) for x in plain.permits))


@rule("gs1.1/px.accept-threshold")
def offered_at_threshold(r: Router, p: From[Prune], choose: Choose) -> Step[Router] | None:
    """What a peer offers whose score does not exceed AcceptPXThreshold is ignored."""
    return Step(r) if r.score(p.peer) <= r.parameters.accept_px_threshold else None


# -- mesh ---------------------------------------------------------------------------------------------------


@rule("gs1.0/graft.accept")
def ignore_unannounced(r: Router, g: From[Graft], choose: Choose) -> Step[Router] | None:
    """A GRAFT of a peer that did not announce the topic is ignored."""
    return Step(r) if g.part.topic not in r.peers[g.peer].topics else None


@rule("gs1.0/graft.accept")
def prune_unannounced(r: Router, g: From[Graft], choose: Choose) -> Step[Router] | None:
    """A GRAFT of a peer that did not announce the topic is answered with PRUNE."""
    strange = g.part.topic in r.topics and g.part.topic not in r.peers[g.peer].topics
    return mesh.refuse(r, g, "gs1.0/graft.accept") if strange else None


def _graft_announces(protocol: Protocol) -> Protocol:
    """A GRAFT puts its sender in the topic, and is then read as ever."""
    plain = protocol["graft"]

    @rule("gs1.0/graft.accept")
    def announce_by_graft(r: Router, g: From[Graft], choose: Choose) -> Step[Router] | None:
        neighbour = r.peers[g.peer]
        known = evolve(neighbour, topics=neighbour.topics | {g.part.topic})
        r = evolve(r, peers={**r.peers, g.peer: known})
        return cast("Step[Router] | None", plain(r, g, choose)) or Step(r)

    return protocol.with_first("graft", announce_by_graft)


@rule("gs1.1/outbound.inbound-refused")
def anyone_while_full(r: Router, g: From[Graft], choose: Choose) -> Step[Router] | None:
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


def _best_first(protocol: Protocol) -> Protocol:
    best = protocol.with_rule("keeps_the_best", keeps_the_best_first)
    return best.with_rule("keeps_the_outbound_quota", keeps_the_quota_after)


def _seen_in_the_field(name: str) -> Reading:
    return next(Reading(*row) for row in REPLACED if row[0] == name)


TOLD: Mapping[str, Reading] = {
    each.name: each
    for each in (
        Reading(
            "idontwant-not-honoured",
            "gs1.2/idontwant.skip",
            "Who said IDONTWANT is relayed to all the same.",
            lambda protocol: protocol.without_rule("who_said_idontwant"),
        ),
        Reading(
            "idontwant-stops-iwant-answers",
            "gs1.2/idontwant.relay-only",
            "What a peer said it does not want it is not given when it asks by IWANT.",
            replacing("serve_within_bound", answer_the_wanted),
        ),
        Reading(
            "idontwant-spares-explicit",
            "gs1.2/idontwant.skip",
            "Explicit peers are spared what they said they do not want.",
            replacing("who_said_idontwant", skip_explicit_too),
        ),
        Reading(
            "px-above-threshold-only",
            "gs1.1/px.accept-threshold",
            "Peers offered by one whose score equals AcceptPXThreshold are not dialled.",
            replacing("offered_by_untrusted", offered_at_threshold),
        ),
        _seen_in_the_field("cut-at-d-high"),
        _seen_in_the_field("control-before-payload"),
        _seen_in_the_field("fanout-filled-at-publish"),
        Reading(
            "ignored-forgotten",
            "gs1.1/validation.reject-ignore",
            "A message that the application ignored is not seen: a later copy is validated anew.",
            replacing("dropped_by_validator", forget_ignored),
        ),
        Reading(
            "unannounced-graft-ignored",
            "gs1.0/graft.accept",
            "A GRAFT of a peer that did not announce the topic is ignored.",
            lambda protocol: protocol.with_first("graft", ignore_unannounced),
        ),
        Reading(
            "unannounced-graft-pruned",
            "gs1.0/graft.accept",
            "A GRAFT of a peer that did not announce the topic is answered with PRUNE.",
            lambda protocol: protocol.with_first("graft", prune_unannounced),
        ),
        Reading(
            "graft-announces",
            "gs1.0/graft.accept",
            "A GRAFT counts as the announcement of its topic.",
            _graft_announces,
        ),
        Reading(
            "empty-mesh-passed-over",
            "gs1.0/publish.mesh",
            "Where the mesh of a joined topic is empty an own message goes to other members of the topic.",
            lambda protocol: protocol.with_first("publish_to", publish_past_empty_mesh),
        ),
        Reading(
            "iwant-counted-per-heartbeat",
            "gs1.1/iwant.retransmission",
            "Answers to IWANT are bounded per heartbeat, not for as long as the message is cached.",
            _counted_per_heartbeat,
        ),
        Reading(
            "outbound-refused-when-full",
            "gs1.1/outbound.inbound-refused",
            "At D_high a GRAFT is refused from outbound peers too.",
            replacing("inbound_while_full", anyone_while_full),
        ),
        Reading(
            "seen-refreshed",
            "gs1.0/seen.ttl",
            "Each copy of a message renews its entry among the seen ones.",
            replacing("seen_before", seen_from_last_copy),
        ),
        Reading(
            "best-kept-before-quota",
            "gs1.1/heartbeat.keep-best",
            "In the cut the outbound quota takes no place of one of the D_score best.",
            _best_first,
        ),
    )
}
"""By name. Those that were seen in the field explain departures too (`quidnunc.model.quirks`)."""

OWN: Mapping[str, Edit] = {
    "idontwant-stops-iwant-answers": replacing("serve_within_bound", answer_all),
    "idontwant-spares-explicit": replacing("who_said_idontwant", skip_in_mesh_only),
    "seen-refreshed": replacing("seen_before", seen_from_first_copy),
    "px-above-threshold-only": replacing("dial_offered", dial_at_threshold_too),
}
"""Reading -> what the other side of it is, where the rules of the kit leave both free."""
