"""The occasion of each clause that a claim rests on and no rule decides."""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.model.versions import VERSIONS
from quidnunc.properties.occasions import mempool, pubsub, scores
from quidnunc.properties.occasions.occasion import MereRun, Occasion, by_permits, when

_OF_PUBSUB = (
    when("pubsub/rpc.malformed", pubsub.malformed, pubsub.every_router),
    when("pubsub/publish.seqno", pubsub.sends_own_signed, pubsub.every_router),
    when("pubsub/signing.sign", pubsub.sends_own_signed),
    when("pubsub/signing.no-sign", pubsub.sends_own_unsigned),
    when("pubsub/relay.unchanged", pubsub.relays, pubsub.every_router),
    when("pubsub/id.supplied", pubsub.names_other_ids, pubsub.with_backoff),
    when("gs1.0/rpc.control-fields", pubsub.names_hex_ids, pubsub.with_mesh),
    when("gs1.0/mcache.put", pubsub.shows_what_is_cached),
    when("gs1.0/join.graft-each", by_permits, pubsub.with_mesh),
    when("gs1.0/heartbeat.no-churn", pubsub.between_bounds, pubsub.with_mesh),
    when("gs1.0/prune.not-answered", pubsub.pruned, pubsub.with_mesh),
    when("gs1.0/gossip.ids", by_permits, pubsub.with_mesh),
    when("gs1.0/ihave.any-topic", by_permits, pubsub.with_mesh),
    when("gs1.1/backoff.announce", pubsub.prunes_who_knows_backoff, pubsub.with_backoff),
    when("gs1.1/px.offer", pubsub.offers_peers),
    when("gs1.1/px.none-to-negative", pubsub.prunes_negative),
    when("gs1.1/px.only-non-negative", pubsub.offers_beside_negative),
    when("gs1.1/score.local", pubsub.scored, pubsub.with_backoff),
    when("gs1.1/score.application", pubsub.held_to_threshold),
    when("gs1.1/iwant.promise", scores.promise_decides),
    when("gs1.1/backoff.penalty", scores.penalty_shows),
    when("gs1.1/score.decay", scores.decay_decides),
    when("gs1.1/score.retain", scores.retained_decides),
    when("pm-jvm/score.feedback", scores.feedback_decides),
    when("pm-go/score.feedback", scores.feedback_decides),
    when("gs1.2/idontwant.no-penalty", scores.repeats_unwanted, pubsub.with_idontwant),
    when("gs1.3/extensions.once", pubsub.sends_on_opened_stream, pubsub.with_extensions),
    when("pm/subscription.flags", pubsub.subscribes, pubsub.with_parts),
    when("pm/send.full-unsupported", pubsub.sends_full_to_requester),
    when("pm/receive.full-accepted", pubsub.delivers_where_requested, pubsub.with_parts),
)
_OF_STREAMS = (
    when(f"{each.clauses}/rpc.protocol-id", pubsub.connected_by(each.stream), pubsub.with_backoff)
    for each in VERSIONS.values()
    if each.checks_stream
)
_OF_MEMPOOL = (
    when("flood/send.pool-order", mempool.sends_several, mempool.in_pool_order),
    when("flood/rpc.malformed", mempool.malformed, mempool.every_node),
    when("dog/rpc.control-channel", mempool.sends_control_of_dog, mempool.of_dog),
    when("cat-classic/rpc.channels", mempool.names_tx_in_classic, mempool.of_cat_classic),
    when("cat-classic/rpc.key-length", mempool.names_tx_in_classic, mempool.of_cat_classic),
    when("cat/rpc.channels", mempool.names_tx_in_cat, mempool.of_cat),
    when("cat/rpc.key-length", mempool.names_tx_in_cat, mempool.of_cat),
    when("cat/seen.signer", mempool.announces_in_cat, mempool.of_cat),
)
OCCASIONS: Mapping[str, Occasion] = {each.clause: each for each in (*_OF_PUBSUB, *_OF_STREAMS, *_OF_MEMPOOL)}
"""By clause."""
MERE_RUNS = (
    MereRun("gs1.0/rpc.payload-first", pubsub.could_be_out_of_order),
    MereRun("gs1.0/mcache.shift", pubsub.gossips),
    MereRun("gs1.0/mcache.put", pubsub.shows_what_is_cached),
)
"""Of rules of pubsub."""
