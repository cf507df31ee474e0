"""The protocols, each as its tuples of rules. What one version adds to another is what is written here."""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.model.parameters import Parameters
from quidnunc.model.pubsub import (
    extensions,
    fanout,
    gossip,
    idontwant,
    intake,
    membership,
    mesh,
    messages,
    peer_exchange,
)
from quidnunc.model.pubsub.partial import feedback as partial_feedback
from quidnunc.model.pubsub.partial import gossip as partial_gossip
from quidnunc.model.pubsub.partial import groups as partial_groups
from quidnunc.model.pubsub.partial import metadata as partial
from quidnunc.model.pubsub.router import Router
from quidnunc.model.pubsub.scores import counting as scores_counting
from quidnunc.model.pubsub.scores import terms as scores
from quidnunc.model.rules import Protocol, first, phases, total, without

FLOODSUB = Protocol(
    "floodsub",
    {
        "connect": phases(membership.say_hello),
        "join": phases(membership.announce_join),
        "leave": phases(membership.announce_leave),
        "rpc": first(intake.take),
        "intake": phases(intake.read_subscriptions, intake.read_messages),
        "subscribe": phases(membership.enter_topic),
        "unsubscribe": phases(membership.quit_topic),
        "message": first(
            messages.not_joined,
            messages.too_large,
            messages.flawed,
            messages.from_itself,
            messages.seen_before,
            messages.wait_for_verdict,
            messages.accept_message,
        ),
        "verdict": first(messages.accepted_by_validator, messages.dropped_by_validator),
        "accepted": phases(messages.deliver, messages.forward),
        "relay": without(messages.all_members, messages.the_forwarder, messages.the_author),
        "publish": phases(messages.remember_own, messages.publish_to_members),
    },
)

GOSSIPSUB_1_0 = FLOODSUB.extended(
    "gossipsub-1.0",
    disconnect=phases(membership.leave_candidates),
    join=phases(membership.announce_join, mesh.build_mesh),
    leave=phases(membership.announce_leave, mesh.prune_members),
    intake=phases(
        intake.read_subscriptions,
        intake.read_messages,
        intake.read_ihaves,
        intake.read_iwants,
        intake.read_grafts,
        intake.read_prunes,
    ),
    unsubscribe=phases(membership.quit_topic, membership.quit_mesh, membership.quit_fanout),
    accepted=phases(messages.deliver, messages.cache, messages.forward),
    relay=without(messages.mesh_and_floodsub, messages.the_forwarder, messages.the_author),
    publish=phases(messages.remember_own, messages.send_own),
    publish_to=first(messages.publish_to_mesh, messages.publish_to_fanout),
    graft=first(mesh.prune_unsubscribed, mesh.already_member, mesh.accept),
    prune=first(mesh.remove),
    ihave=first(gossip.request_unseen),
    iwant=first(gossip.serve),
    graft_candidates=without(mesh.mesh_speakers, mesh.already_in_mesh),
    fanout_candidates=without(fanout.fanout_speakers),
    gossip_candidates=without(gossip.topic_speakers, gossip.in_mesh_or_fanout),
    heartbeat=phases(
        mesh.fill_to_d,
        mesh.cut_to_d,
        fanout.expire,
        fanout.refill,
        gossip.gossip_to_d_lazy,
        gossip.shift,
    ),
)

GOSSIPSUB_1_1 = GOSSIPSUB_1_0.extended(
    "gossipsub-1.1",
    explicit=without(messages.explicit_peers),
    any_time=phases(membership.dial_explicit),
    score=total(scores.application),
    weighted_score=total(scores.topics_capped, scores.application, scores.colocation, scores.behaviour),
    topic_score=total(
        scores.time_in_mesh,
        scores.first_deliveries,
        scores.mesh_deliveries,
        scores.mesh_failures,
        scores.invalid_messages,
    ),
    delivery=phases(scores_counting.count_first, scores_counting.count_meshed, scores_counting.count_invalid),
    regraft=phases(scores_counting.penalise_regraft),
    tally=phases(scores_counting.note_pruned, scores_counting.note_grafted, scores_counting.break_promises),
    decay=phases(scores_counting.forget_departed, scores_counting.refresh_time, scores_counting.decay),
    departed=phases(scores_counting.remember_departed),
    recognised=phases(scores_counting.recognise),
    rpc=first(intake.ignore_graylisted, intake.take),
    leave=phases(membership.announce_leave, mesh.back_off_members, mesh.prune_members),
    relay=without(
        messages.mesh_floodsub_and_explicit,
        messages.the_forwarder,
        messages.the_author,
        messages.floodsub_below_publish,
        messages.graylisted,
    ),
    publish_to=first(messages.flood_own, messages.publish_to_mesh, messages.publish_to_fanout),
    graft=first(
        mesh.unknown_topic,
        mesh.from_explicit_peer,
        mesh.already_member,
        mesh.while_backing_off,
        mesh.negative_score,
        mesh.inbound_while_full,
        mesh.accept,
    ),
    prune=phases(peer_exchange.heed_offer, mesh.remove, mesh.back_off_as_announced),
    exchange=first(
        peer_exchange.offered_by_negative,
        peer_exchange.offered_by_untrusted,
        peer_exchange.unsound_records,
        peer_exchange.dial_offered,
    ),
    offered=without(
        peer_exchange.members,
        peer_exchange.the_pruned,
        peer_exchange.from_the_negative,
        peer_exchange.named_below_zero,
    ),
    backs_off=phases(mesh.pruner_backs_off),
    ihave=first(gossip.ihave_from_low_score, gossip.ihave_beyond_caps, gossip.request_unseen),
    iwant=first(gossip.iwant_from_low_score, gossip.serve_within_bound),
    graft_candidates=without(
        mesh.mesh_speakers, mesh.already_in_mesh, mesh.explicit, mesh.backing_off, mesh.scores_below_zero
    ),
    fanout_candidates=without(
        fanout.fanout_speakers,
        fanout.explicit_beside_fanout,
        fanout.below_publish,
        fanout.backing_off_is_free,
    ),
    gossip_candidates=without(
        gossip.topic_speakers, gossip.in_mesh_or_fanout, gossip.explicit_has_it, gossip.below_gossip
    ),
    kept_in_cut=phases(mesh.keeps_the_best, mesh.keeps_the_outbound_quota),
    heartbeat=phases(
        mesh.drop_negative,
        mesh.fill_to_d,
        mesh.cut_to_d,
        mesh.fill_outbound,
        mesh.graft_opportunistically,
        fanout.expire,
        fanout.drop_low,
        fanout.refill,
        gossip.gossip_adaptively,
        gossip.shift,
        gossip.start_counting_anew,
    ),
)

_RELAY_1_1 = (
    messages.the_forwarder,
    messages.the_author,
    messages.floodsub_below_publish,
    messages.graylisted,
)
_INTAKE_1_2 = phases(*GOSSIPSUB_1_1["intake"].rules, intake.read_idontwants)
_DISCONNECT_1_2 = phases(membership.leave_candidates, membership.forget_unwanted)
_HEARTBEAT_1_2 = phases(*GOSSIPSUB_1_1["heartbeat"].rules, idontwant.age)

GOSSIPSUB_1_2_DRAFT = GOSSIPSUB_1_1.extended(
    "gossipsub-1.2-draft",
    announce=phases(idontwant.tell_mesh, idontwant.cancel_requests),
    requested=phases(idontwant.tell_before),
    accepted=phases(*GOSSIPSUB_1_1["accepted"].rules, idontwant.offer_instead),
    intake=_INTAKE_1_2,
    idontwant=first(idontwant.beyond_the_cap, idontwant.remember_unwanted),
    disconnect=_DISCONNECT_1_2,
    heartbeat=_HEARTBEAT_1_2,
    relay=without(messages.mesh_floodsub_and_explicit, *_RELAY_1_1, idontwant.who_may_be_skipped),
)

GOSSIPSUB_1_2 = GOSSIPSUB_1_2_DRAFT.extended(
    "gossipsub-1.2",
    # Two strategies of the draft that r1 does not have.
    requested=phases(),
    accepted=GOSSIPSUB_1_1["accepted"],
    relay=without(messages.mesh_floodsub_and_explicit, *_RELAY_1_1, idontwant.who_said_idontwant),
)

GOSSIPSUB_1_3 = GOSSIPSUB_1_2.extended(
    "gossipsub-1.3",
    connect=phases(extensions.name_extensions, extensions.name_none, membership.say_hello),
    intake=phases(extensions.read_extensions, *_INTAKE_1_2.rules),
    extension=first(
        extensions.unknown, extensions.on_older_stream, extensions.named_late, extensions.note_extension
    ),
    both_have=phases(extensions.send_test),
    misuse=phases(scores_counting.penalise_misuse),
)

_HEARTBEAT_PARTIAL = tuple(
    partial_gossip.gossip_with_parts if each is gossip.gossip_adaptively else each
    for each in GOSSIPSUB_1_2["heartbeat"].rules
)

PARTIAL = GOSSIPSUB_1_3.extended(
    "partial-messages",
    join=phases(partial.requesting_supports, *GOSSIPSUB_1_3["join"].rules),
    intake=phases(*GOSSIPSUB_1_3["intake"].rules, intake.read_partials),
    subscribe=phases(*GOSSIPSUB_1_3["subscribe"].rules, partial.note_flags, partial.coerce_support),
    unsubscribe=phases(*GOSSIPSUB_1_3["unsubscribe"].rules, partial.forget_flags),
    suppressed=without(partial.requesters, partial.we_send_none, partial.unnamed_is_free),
    relay=without(
        messages.mesh_floodsub_and_explicit, *_RELAY_1_1, idontwant.who_said_idontwant, partial.who_gets_parts
    ),
    publish_to=first(*map(partial.sparing, GOSSIPSUB_1_2["publish_to"].rules)),
    partial=first(
        partial_groups.from_one_without, partial_groups.beyond_advice, partial_groups.hand_over_and_count
    ),
    publish_partial=phases(
        partial_groups.open_unsaid, partial_groups.offer_anybody, partial_groups.send_decided
    ),
    sent_to=without(partial.decided_peer, partial.without_the_extension),
    part_to=without(partial.decided_peer, partial.did_not_request),
    metadata_to=without(partial.decided_peer, partial.can_send_nothing),
    diverted=without(partial_gossip.requesters_of_parts, partial.we_send_none, partial.unnamed_is_free),
    asked=without(partial_gossip.diverted_peers, partial_gossip.asked_or_not_fresh),
    asked_about=phases(partial_gossip.note_who),
    leave=phases(*GOSSIPSUB_1_3["leave"].rules, partial_groups.not_fresh_when_left),
    heartbeat=phases(*_HEARTBEAT_PARTIAL, partial_groups.no_longer_fresh),
)

PARTIAL_JVM = PARTIAL.extended(
    "partial-messages-jvm",
    announce=phases(partial.tell_those, idontwant.cancel_requests),
    idontwant_to=without(partial.mesh_that_knows_it, partial.sends_us_parts),
    suppressed=without(partial.requesters, partial.has_not_named_it),
    partial=first(
        partial_groups.before_handshake,
        partial_groups.topic_is_full,
        partial_groups.peer_has_started_enough,
        partial_groups.hand_over,
    ),
    publish_partial=phases(
        partial_groups.open_group,
        partial_groups.offer_mesh_or_fanout,
        partial_groups.send_decided,
        partial_groups.keep_decided,
    ),
    offered_to=without(partial_groups.mesh_or_fanout, partial_groups.has_no_part_in_it),
    metadata_to=without(partial.decided_peer),
    diverted=without(partial_gossip.requesters_of_parts, partial.we_send_none, partial.has_not_named_it),
    asked=without(partial_gossip.diverted_peers, partial_gossip.not_ours),
    asked_about=phases(),
    heartbeat=phases(*_HEARTBEAT_PARTIAL, partial_groups.count_down, partial_groups.drop_empty),
    leave=phases(*GOSSIPSUB_1_3["leave"].rules, partial_groups.drop_groups_of_topic),
    disconnect=phases(*GOSSIPSUB_1_3["disconnect"].rules, partial_groups.forget_states),
    feedback=first(partial_feedback.penalise_invalid_part),
)

PARTIAL_GO = PARTIAL_JVM.extended(
    "partial-messages-go",
    idontwant_to=without(partial.mesh_that_knows_it, partial.says_it_sends_us_parts),
    suppressed=without(partial.requesters, partial.we_send_none),
    publish_partial=phases(
        partial_groups.open_group,
        partial_groups.offer_mesh_or_fanout,
        partial_groups.send_decided,
        partial_groups.keep_in_place,
    ),
    offered_to=without(partial_groups.mesh_or_fanout, partial_groups.has_no_part_in_it_go),
    sent_to=without(partial.decided_peer),
    diverted=without(partial_gossip.requesters_of_parts, partial.we_send_none),
    asked=without(partial_gossip.diverted_peers, partial_gossip.not_ours, partial_gossip.kept_already),
    asked_about=phases(partial_gossip.keep_place),
    heartbeat=phases(*_HEARTBEAT_PARTIAL, partial_groups.drop_spent_then_count),
    group_time=total(partial_groups.three_at_least),
    leave=GOSSIPSUB_1_3["leave"],
    disconnect=phases(
        *GOSSIPSUB_1_3["disconnect"].rules, partial_groups.forget_states, partial_groups.release_counts
    ),
    feedback=first(partial_feedback.deliver_useful_part, partial_feedback.count_invalid_part),
)

PUBSUB: Mapping[str, Protocol] = {
    p.name: p
    for p in (
        *(FLOODSUB, GOSSIPSUB_1_0, GOSSIPSUB_1_1, GOSSIPSUB_1_2_DRAFT, GOSSIPSUB_1_2, GOSSIPSUB_1_3),
        *(PARTIAL, PARTIAL_JVM, PARTIAL_GO),
    )
}
"""The rules of each version of `quidnunc.model.versions`, by the same names."""


def started(protocol: Protocol, parameters: Parameters) -> Router:
    """A router that has just started."""
    return Router(protocol=protocol, parameters=parameters)
