"""Readings: where a text is silent or contradicts itself, what a router may be seen to make of it.

A router that shows one is `observed` to have it; that is no failure.
"""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.model.edit import Change, Edit, asking_first, dropping, reading_as, replacing, replacing_present
from quidnunc.model.edits import reading_rules as read


def _reading(name: str, clause: str, says: str, change: Change) -> Edit:
    return Edit(name, "reading", clause, says, change)


def _traced(name: str, clause: str, says: str, change: Change) -> Edit:
    return Edit(name, "reading", clause, says, change, explains=False)


EXPLAINING: tuple[Edit, ...] = (
    _reading(
        "unsubscribed-stays-in-mesh",
        "gs1.0/mesh.members",
        "A peer that unsubscribes stays in the mesh until it prunes or disconnects.",
        reading_as("unsubscribed-stays-in-mesh"),
    ),
    _reading(
        "unsubscribed-stays-until-heartbeat",
        "gs1.0/mesh.members",
        "A peer that unsubscribes stays in the mesh until the heartbeat.",
        read.late_mesh,
    ),
    _reading(
        "unsubscribed-stays-in-fanout",
        "gs1.0/fanout.members",
        "A peer that unsubscribes stays in the fanout until the heartbeat.",
        read.late_fanout,
    ),
    _reading(
        "ihave-capped-otherwise",
        "gs1.1/ihave.caps",
        "IHAVEs are capped per topic or per second, not per peer and heartbeat.",
        replacing(ihave_beyond_caps=read.ihave_capped_otherwise),
    ),
    _reading(
        "iwant-capped-otherwise",
        "gs1.1/iwant.retransmission",
        "A peer's IWANTs are capped per second or per heartbeat, in addition to the cap on answers per "
        "message or instead of it.",
        replacing(serve_within_bound=read.iwant_capped_otherwise),
    ),
    _reading(
        "zero-backoff-is-none",
        "gs1.1/backoff.announced-period",
        "A PRUNE with a backoff of 0 starts no backoff.",
        replacing_present(back_off_as_announced=read.back_off_for_no_time),
    ),
    # "... plus some slack to account for the offset until the next heartbeat that clears the backoff".
    _reading(
        "backoff-ends-at-heartbeat",
        "gs1.1/backoff.announced-period",
        "A GRAFT after the backoff is refused until the next heartbeat.",
        replacing_present(while_backing_off=read.refuse_until_cleared),
    ),
    _reading(
        "idontwant-evicts-oldest",
        "gs1.2/idontwant.cap",
        "Beyond the cap on IDONTWANT new entries take the place of old ones.",
        read.evicting_idontwants,
    ),
    _reading(
        "graylisted-subscriptions-count",
        "gs1.1/threshold.graylist",
        "The subscriptions of a graylisted RPC are read.",
        reading_as("graylisted-subscriptions-count"),
    ),
    _reading(
        "prune-of-unknown-topic-backs-off",
        "gs1.1/prune.unknown-topic",
        "A PRUNE for a topic that the router is not in starts a backoff.",
        reading_as("prune-of-unknown-topic-backs-off"),
    ),
    _reading(
        "stranger-prune-ignored",
        "gs1.1/backoff.announced-period",
        "A PRUNE from a peer outside the mesh starts no backoff.",
        read.backing_off_members_only,
    ),
    _reading(
        "graft-on-subscribe",
        "gs1.0/heartbeat.no-churn",
        "A new subscriber is grafted at once where the mesh has room.",
        read.grafting_subscribers,
    ),
    _reading(
        "idontwant-before-signature",
        "gs1.2/idontwant.before-validation",
        "IDONTWANT goes out before the signature of the message is checked.",
        replacing_present(flawed=read.telling_before_the_signature),
    ),
    _reading(
        "cached-since-arrival",
        "gs1.0/mcache.put",
        "The windows of a message that waited for its verdict count from its arrival.",
        replacing(cache=read.cache_since_arrival),
    ),
    _reading(
        "own-from-outside-marked-seen",
        "gs1.0/relay.own-not-forwarded",
        "A message from outside that names the router as author is marked seen.",
        replacing_present(from_itself=read.own_from_outside),
    ),
    _reading(
        "unannounced-graft-ignored",
        "gs1.0/graft.accept",
        "A GRAFT of a peer that did not announce the topic is ignored.",
        read.answering_strangers(read.ignored_stranger),
    ),
    _reading(
        "unannounced-graft-pruned",
        "gs1.0/graft.accept",
        "A GRAFT of a peer that did not announce the topic is answered with PRUNE.",
        read.answering_strangers(read.pruned_stranger),
    ),
    _reading(
        "graft-announces",
        "gs1.0/graft.accept",
        "A GRAFT counts as the announcement of its topic.",
        read.announcing_by_graft,
    ),
    # r1: peers in the set MUST be skipped, and a receiver MAY ignore IDONTWANT, that is, keep no set.
    _reading(
        "idontwant-not-honoured",
        "gs1.2/idontwant.skip",
        "A message is relayed also to peers that sent IDONTWANT for it.",
        dropping("who_said_idontwant"),
    ),
    # v1.1 says of the ignored that they are not forwarded, and not whether they were seen.
    _reading(
        "ignored-forgotten",
        "gs1.1/validation.reject-ignore",
        "A message that the application ignored is not seen: a later copy is validated anew.",
        replacing(dropped_by_validator=read.forget_ignored),
    ),
    # v1.0 sends to all of the mesh, and does not say what where it is empty.
    _reading(
        "empty-mesh-passed-over",
        "gs1.0/publish.mesh",
        "Where the mesh of a joined topic is empty an own message goes to other members of the topic.",
        asking_first("publish_to", read.publish_past_empty_mesh),
    ),
    # v1.0 has a "timed least-recently-used cache".
    _reading(
        "seen-refreshed",
        "gs1.0/seen.ttl",
        "Each copy of a message renews its entry among the seen ones.",
        replacing_present(seen_before=read.seen_from_last_copy),
    ),
)
"""Readings that are tried as the root cause of a departure."""

TRACED: tuple[Edit, ...] = (
    _traced(
        "idontwant-stops-iwant-answers",
        "gs1.2/idontwant.relay-only",
        "An IWANT for a message is not answered after an IDONTWANT for it from the same peer.",
        replacing(serve_within_bound=read.answer_the_wanted),
    ),
    _traced(
        "idontwant-spares-explicit",
        "gs1.2/idontwant.skip",
        "Explicit peers are not sent messages for which they sent IDONTWANT.",
        replacing(who_said_idontwant=read.skip_explicit_too),
    ),
    _traced(
        "px-above-threshold-only",
        "gs1.1/px.accept-threshold",
        "Peers offered by one whose score equals AcceptPXThreshold are not dialled.",
        replacing(offered_by_untrusted=read.offered_at_threshold),
    ),
    _traced(
        "iwant-counted-per-heartbeat",
        "gs1.1/iwant.retransmission",
        "Answers to IWANT are bounded per heartbeat, not for as long as the message is cached.",
        read.counting_per_heartbeat,
    ),
)
"""Readings that a separating trace tells, and that explain no departure: the kit leaves free what they do."""

AGAINST_THE_TEXT: tuple[Edit, ...] = (
    Edit(
        "outbound-refused-when-full",
        "replaced",
        "gs1.1/outbound.inbound-refused",
        "At D_high a GRAFT is refused from outbound peers too.",
        replacing(inbound_while_full=read.anyone_while_full),
    ),
    Edit(
        "best-kept-before-quota",
        "replaced",
        "gs1.1/outbound.cut-quota",
        "A cut keeps the D_score best members even where the outbound quota then stays unmet.",
        read.best_first,
    ),
)
"""What routers make of sentences that were taken for open, and that are plain: who does so fails."""

NARROWED: Mapping[str, Edit] = {
    "idontwant-stops-iwant-answers": _traced(
        "iwant-outdoes-idontwant",
        "gs1.0/iwant.serve",
        "An IWANT for a message is answered even after an IDONTWANT for it from the same peer.",
        replacing(serve_within_bound=read.answer_all),
    ),
    "idontwant-spares-explicit": _traced(
        "explicit-sent-anyway",
        "gs1.2/idontwant.skip",
        "Explicit peers are sent every message, even those for which they sent IDONTWANT.",
        replacing(who_said_idontwant=read.skip_in_mesh_only),
    ),
    "seen-refreshed": _traced(
        "seen-from-first-copy",
        "gs1.0/seen.ttl",
        "The entry of a seen message ends seen_ttl after the first copy.",
        replacing_present(seen_before=read.seen_from_first_copy),
    ),
    "px-above-threshold-only": _traced(
        "px-at-threshold",
        "gs1.1/px.accept-threshold",
        "Peers offered by one whose score equals AcceptPXThreshold are dialled.",
        replacing(dial_offered=read.dial_at_threshold_too),
    ),
}
"""Reading -> the edit to the kit's own reading, where the rules of the kit leave both free."""

READINGS: tuple[Edit, ...] = (*EXPLAINING, *TRACED)
