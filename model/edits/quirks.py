"""Quirks: rules as routers in the field have them, by which the root cause of a failure is named.

A departure is explained by the smallest edit of the protocol under which model and router agree again: a
reading, a dropped rule, or one of these. A quirk turns nothing green; it keeps one failure from hiding the
next, and makes a router, as built, a difference to the specification.
"""

from __future__ import annotations

from quidnunc.model.edit import Edit, asking_first, dropping, in_turn, replacing, replacing_present
from quidnunc.model.edits import quirk_rules as seen
from quidnunc.model.errors import SpecError
from quidnunc.model.pubsub import gossip, mesh
from quidnunc.model.rules import Exclusion, Phases, Protocol, total
from quidnunc.model.values import evolve


def _payload_last(protocol: Protocol) -> Protocol:
    rules = protocol["intake"].rules
    payload = tuple(r for r in rules if r.name == "read_messages")
    if not payload or payload == rules[-1:]:
        raise SpecError(f"{protocol.name} has its payload last already")
    order = (*(r for r in rules if r.name != "read_messages"), *payload)
    return evolve(protocol, handlers={**protocol.handlers, "intake": Phases(order)})


def _without_application_score(protocol: Protocol) -> Protocol:
    handlers = {**protocol.handlers, "gate": total(seen.no_application_score)}
    return evolve(protocol, handlers=handlers, features=protocol.features | {"graylisted-spared"})


def _no_gossip_in_backoff(protocol: Protocol) -> Protocol:
    old = protocol["gossip_candidates"]
    assert isinstance(old, Exclusion)
    changed = Exclusion(old.base, (*old.exclusions, seen.spared_in_backoff))
    return evolve(protocol, handlers={**protocol.handlers, "gossip_candidates": changed})


QUIRKS: tuple[Edit, ...] = (
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
        replacing_present(
            while_backing_off=seen.backing_off_in_whole_seconds, backing_off=seen.free_in_last_second
        ),
    ),
    Edit(
        "fanout-ttl-in-whole-seconds",
        "replaced",
        "gs1.0/fanout.expire",
        "Rounds the age of a fanout down to whole seconds, so that it lives up to a second longer.",
        replacing(expire=seen.expire_in_whole_seconds),
    ),
    Edit(
        "deserted-fanout-kept",
        "replaced",
        "gs1.0/fanout.expire",
        "Lets no fanout expire whose topic nobody is in any more.",
        replacing_present(expire=seen.expire_where_announced),
    ),
    Edit(
        "refusal-does-not-extend",
        "replaced",
        "gs1.1/backoff.regraft",
        "Refuses a GRAFT inside the backoff and does not extend the backoff.",
        replacing_present(while_backing_off=seen.refused_without_extension),
    ),
    Edit(
        "heartbeat-prunes-bare",
        "replaced",
        "gs1.1/backoff.announce",
        "Announces no backoff in the PRUNEs of the heartbeat.",
        replacing_present(cut_to_d=seen.cut_with_bare_prune, drop_negative=seen.cut_with_bare_prune),
    ),
    Edit(
        "cut-at-d-high",
        "replaced",
        "gs1.0/heartbeat.cut",
        "Cuts its mesh at D_high, not above it.",
        replacing(cut_to_d=seen.cut_at_d_high),
    ),
    Edit(
        "control-lists-shared",
        "replaced",
        "gs1.0/mesh.members",
        "The heartbeat's control lists are shared between peers: one is told what was meant for another.",
        lambda p: evolve(p, lens=seen.without_leaks, features=p.features | {"gossip-count-hidden"}),
    ),
    Edit(
        "seen-after-validation",
        "replaced",
        "gs1.0/relay.seen",
        "Marks a message as seen only after its validation: copies that come meanwhile are delivered and "
        "forwarded again.",
        in_turn(
            asking_first("message", seen.wait_unmarked),
            replacing_present(
                accepted_by_validator=seen.accept_each_copy, request_unseen=seen.request_while_validating
            ),
        ),
    ),
    Edit(
        "relay-needs-a-subscriber",
        "replaced",
        "gs1.0/relay.mesh",
        "Sends no messages to a mesh whose topic no peer has announced, and does not cut it.",
        replacing_present(
            mesh_floodsub_and_explicit=seen.relay_where_announced,
            publish_to_mesh=seen.publish_where_announced,
            publish_to_fanout=seen.publish_where_announced,
            cut_to_d=seen.cut_where_announced,
        ),
    ),
    Edit(
        "gates-ignore-application-score",
        "replaced",
        "gs1.1/score.application",
        "Compares the publish and gossip thresholds with the topic scores alone.",
        in_turn(
            _without_application_score,
            replacing_present(
                publish_to_mesh=seen.publish_sparing_low, publish_to_fanout=seen.fanout_sparing_low
            ),
        ),
    ),
    Edit(
        "graylist-refuses-grafts-only",
        "replaced",
        "gs1.1/threshold.graylist",
        "Reads the RPCs of graylisted peers and refuses only their GRAFTs.",
        in_turn(dropping("ignore_graylisted"), asking_first("graft", seen.prune_graylisted)),
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
        replacing_present(publish_to_fanout=seen.publish_to_topped_up_fanout),
    ),
    Edit(
        "no-gossip-in-backoff",
        "replaced",
        "gs1.1/gossip.adaptive",
        "Sends no gossip to peers in backoff.",
        _no_gossip_in_backoff,
    ),
    Edit(
        "iwant-unbounded",
        "replaced",
        "gs1.1/iwant.retransmission",
        "Answers IWANT for one message without bound.",
        replacing(serve_within_bound=gossip.serve),
    ),
    Edit(
        "ids-sent-as-hex",
        "replaced",
        "pubsub/id.supplied",
        "Sends message ids as hexadecimal digits in IHAVE and IWANT.",
        replacing_present(gossip_adaptively=seen.gossip_spelled("hexed"), request_unseen=seen.request_in_hex),
    ),
    Edit(
        "ids-sent-as-text",
        "replaced",
        "pubsub/id.supplied",
        "Sends message ids in IHAVE as the text of a Python tuple, and knows no id in one as seen.",
        replacing_present(gossip_adaptively=seen.gossip_spelled("text"), request_unseen=seen.request_all),
    ),
    Edit(
        "hex-ids-decoded",
        "replaced",
        "gs1.0/rpc.control-fields",
        "Decodes ids that look like hexadecimal text to other ids in IHAVE and IWANT.",
        in_turn(
            asking_first("iwant", seen.serve_by_decoded_id),
            replacing_present(request_unseen=seen.request_by_decoded_id),
        ),
    ),
    Edit(
        "cache-by-origin-id",
        "replaced",
        "pubsub/id.supplied",
        "Keys its message cache by author and seqno where another id function is configured.",
        in_turn(
            asking_first("iwant", seen.serve_by_origin_id),
            replacing_present(gossip_adaptively=seen.gossip_by_origin_id),
        ),
    ),
)
