"""The claims on pubsub routers, by subject."""

from __future__ import annotations

from quidnunc.model.versions import VERSIONS
from quidnunc.properties.claims.claim import Claim, claim
from quidnunc.properties.occasions import pubsub as step
from quidnunc.properties.occasions import scores as score
from quidnunc.properties.occasions.occasion import by_permits, when

PUBSUB: tuple[Claim, ...] = (
    claim(
        "hello.complete",
        "A new peer is told every topic that the router is in.",
        "pubsub/hello.current-subscriptions",
    ),
    claim(
        "subscription.announced",
        "Each Join and Leave is announced to every connected peer.",
        "pubsub/subscription.announce-to-all",
    ),
    claim(
        "subscription.followed",
        "Peers' subscriptions are followed: candidates are those, and only those, that announced the topic.",
        "pubsub/subscription.table",
        "floodsub/relay.members",
    ),
    claim(
        "rpc.total",
        "Any combination of parts is taken, and bytes that are no RPC close that stream at most.",
        "pubsub/rpc.any-combination",
        when("pubsub/rpc.malformed", step.malformed, step.every_router),
    ),
    claim(
        "signing.enforced",
        "A copy that breaks the signature policy is not delivered nor forwarded, and poisons no good copy.",
        "pubsub/signing.reject",
    ),
    claim(
        "publish.seqno",
        "Own messages are stamped and signed, or neither, as the policy asks; sequence numbers have eight "
        "bytes and rise.",
        when("pubsub/publish.seqno", step.sends_own_signed, step.every_router),
        when("pubsub/signing.sign", step.sends_own_signed),
        when("pubsub/signing.no-sign", step.sends_own_unsigned),
    ),
    claim(
        "stream.spoken",
        "A stream of any version that the router speaks is kept.",
        *(
            when(f"{each.clauses}/rpc.protocol-id", step.connected_by(each.stream), step.with_backoff)
            for each in VERSIONS.values()
            if each.checks_stream
        ),
    ),
    claim(
        "message.bounded",
        "A message beyond the limit of size is neither delivered nor relayed.",
        "pubsub/rpc.size-limit",
        needs=["message-limit"],
    ),
    claim(
        "message.unchanged",
        "What is relayed equals what came, in every byte.",
        when("pubsub/relay.unchanged", step.relays, step.every_router),
    ),
    claim(
        "id.same-everywhere",
        "One message id function serves the seen cache, the message cache, IHAVE, IWANT and IDONTWANT.",
        when("pubsub/id.supplied", step.names_other_ids, step.with_backoff),
        "pubsub/id.pure",
    ),
)

IDS: tuple[Claim, ...] = (
    claim(
        "id.opaque",
        "Message ids are bytes; nothing is read into them.",
        when("gs1.0/rpc.control-fields", step.names_hex_ids, step.with_mesh),
    ),
)

MESSAGES: tuple[Claim, ...] = (
    claim(
        "deliver.once",
        "A message is delivered exactly once to a subscribed application.",
        "floodsub/deliver.once",
    ),
    claim(
        "relay.once",
        "A message id is forwarded once within seen_ttl, whatever copies come, and never our own echo.",
        "gs1.0/relay.seen",
        "gs1.0/relay.own-not-forwarded",
        "floodsub/relay.once",
    ),
    claim(
        "relay.not-back",
        "A message goes back neither to the one who forwarded it nor to its author.",
        "floodsub/relay.not-back",
        "floodsub/relay.not-to-author",
    ),
    claim(
        "relay.targets",
        "A message is relayed to exactly the mesh, floodsub members and explicit peers.",
        "gs1.0/relay.mesh",
        "gs1.1/explicit.forward",
    ),
    claim(
        "relay.joined-only",
        "Messages in topics that we are not in are dropped.",
        "floodsub/relay.joined-topics",
    ),
    claim(
        "publish.targets",
        "An own message goes to exactly the peers that the publish rules name.",
        "gs1.0/publish.mesh",
        "gs1.0/publish.cached",
        "gs1.1/threshold.publish",
    ),
    claim(
        "publish.flood",
        "With flood publishing an own message goes to every member at or above the publish threshold.",
        "gs1.1/publish.flood",
        needs=["flood-publish"],
    ),
    claim(
        "fanout.kept",
        "Outside the topic up to D peers are chosen, kept until fanout_ttl, and refilled at the heartbeat.",
        "gs1.0/publish.fanout",
        "gs1.0/fanout.members",
        "gs1.0/fanout.expire",
        "gs1.0/fanout.refill",
    ),
    claim(
        "validation.verdicts",
        "A message is delivered and forwarded only after Accept; Reject and Ignore do neither.",
        "gs1.1/validation.accept",
        "gs1.1/validation.reject-ignore",
        "gs1.1/validation.late-verdict",
        needs=["verdict"],
    ),
)

MESH: tuple[Claim, ...] = (
    claim(
        "join.fills",
        "Join grafts up to D peers, the fanout's first, one GRAFT each.",
        "gs1.0/join.fill",
        when("gs1.0/join.graft-each", by_permits, step.with_mesh),
    ),
    claim(
        "leave.prunes", "Leave sends one PRUNE to each member and forgets the mesh.", "gs1.0/leave.prune-each"
    ),
    claim(
        "mesh.members",
        "Mesh members are connected mesh-protocol peers in the topic.",
        "gs1.0/mesh.members",
        "gs1.0/peer.gone",
    ),
    claim(
        "mesh.floor",
        "Below D_low the heartbeat grafts what is missing to D, as far as there are candidates.",
        "gs1.0/heartbeat.fill",
    ),
    claim("mesh.ceiling", "Above D_high the heartbeat cuts to D.", "gs1.0/heartbeat.cut"),
    claim(
        "mesh.no-churn",
        "Between the bounds no GRAFT and no PRUNE is sent unasked.",
        when("gs1.0/heartbeat.no-churn", step.between_bounds, step.with_mesh),
    ),
    claim(
        "graft.accepted",
        "A GRAFT that nothing speaks against makes the sender a member.",
        "gs1.0/graft.accept",
    ),
    claim(
        "graft.idempotent",
        "A GRAFT from a member changes nothing and is not answered.",
        "gs1.0/graft.idempotent",
    ),
    claim(
        "graft.unknown-topic",
        "A GRAFT for a topic that we are not in: PRUNE in v1.0, silence from v1.1 on.",
        "gs1.1/graft.unknown-topic",
        "gs1.0/graft.unsubscribed",
    ),
    claim(
        "prune.effective",
        "A PRUNE removes its sender from the mesh.",
        "gs1.0/prune.remove",
        "gs1.1/prune.unknown-topic",
    ),
    claim(
        "prune.unanswered",
        "A PRUNE is not answered.",
        when("gs1.0/prune.not-answered", step.pruned, step.with_mesh),
    ),
    claim(
        "outbound.inbound-refused",
        "At D_high a GRAFT is accepted from outbound connections only.",
        "gs1.1/outbound.inbound-refused",
    ),
    claim(
        "outbound.quota-kept",
        "A cut keeps D_out outbound members, if there were as many.",
        "gs1.1/outbound.cut-quota",
    ),
    claim(
        "outbound.quota-filled",
        "A mesh short of outbound members grafts the missing ones.",
        "gs1.1/outbound.fill",
    ),
    claim(
        "explicit.outside-mesh",
        "Explicit peers are never grafted, and their GRAFT is answered with PRUNE.",
        "gs1.1/explicit.no-mesh",
        "gs1.1/explicit.graft-pruned",
        "gs1.1/explicit.configured",
        needs=["explicit"],
    ),
    claim(
        "explicit.dialled",
        "Explicit peers, and no others, are dialled while they are not connected.",
        "gs1.1/explicit.connect",
        needs=["explicit"],
    ),
)

BACKOFF: tuple[Claim, ...] = (
    claim(
        "backoff.no-graft", "Neither end grafts inside a backoff, from any path.", "gs1.1/backoff.both-ends"
    ),
    claim(
        "backoff.regraft-refused",
        "",
        "gs1.1/backoff.regraft",
    ),
    claim(
        "backoff.announced",
        "A PRUNE tells the backoff to those who know the field.",
        when("gs1.1/backoff.announce", step.prunes_who_knows_backoff, step.with_backoff),
    ),
    claim(
        "backoff.honoured",
        "The announced period is kept, however long, and a running one never shortened.",
        "gs1.1/backoff.announced-period",
    ),
    claim(
        "backoff.unsubscribe",
        "Leave keeps the unsubscribe backoff on our side too.",
        "gs1.1/backoff.unsubscribe",
    ),
)

SCORES: tuple[Claim, ...] = (
    claim(
        "score.negative-out",
        "Members with a negative score are pruned at the heartbeat.",
        "gs1.1/threshold.negative-pruned",
        needs=["score"],
    ),
    claim(
        "score.negative-not-in",
        "A peer with a negative score is neither grafted nor accepted.",
        "gs1.1/threshold.negative-score",
        needs=["score"],
    ),
    claim(
        "score.best-kept",
        "A cut keeps the D_score best members.",
        "gs1.1/heartbeat.keep-best",
        needs=["score"],
    ),
    claim(
        "score.graylist",
        "An RPC of a graylisted peer is ignored.",
        "gs1.1/threshold.graylist",
        needs=["score"],
    ),
    claim(
        "score.gossip",
        "No gossip to or from peers below the gossip threshold.",
        "gs1.1/threshold.gossip",
        "gs1.1/threshold.gossip-ignored",
        needs=["score"],
    ),
    claim(
        "opportunistic.better-only",
        "Opportunistic grafting adds peers above the median, when it is due.",
        "gs1.1/opportunistic.graft",
        needs=["score"],
    ),
    claim(
        "score.untold",
        "What the router thinks of a peer it tells nobody.",
        when("gs1.1/score.local", step.scored, step.with_backoff),
        needs=["score"],
    ),
    claim(
        "score.application-counts",
        "The application's score counts wherever the score does.",
        when("gs1.1/score.application", step.held_to_threshold),
        needs=["score"],
    ),
)

GOSSIP: tuple[Claim, ...] = (
    claim(
        "ihave.requested",
        "Unseen ids are requested from the one who advertised them, seen ones are not.",
        "gs1.0/ihave.request-unseen",
    ),
    claim("ihave.capped", "IHAVEs beyond the caps of a heartbeat are not followed.", "gs1.1/ihave.caps"),
    claim(
        "iwant.served",
        "What is in the cache goes to the one who asked, and to nobody else.",
        "gs1.0/iwant.serve",
    ),
    claim("iwant.bounded", "Answers to one peer for one id are bounded.", "gs1.1/iwant.retransmission"),
    claim(
        "gossip.targets",
        "IHAVE goes to D_lazy or more peers in the topic, outside mesh, fanout and explicit peers.",
        "gs1.0/gossip.targets",
        "gs1.1/gossip.adaptive",
        "gs1.0/gossip.outside-mesh",
        "gs1.1/explicit.no-gossip",
    ),
    claim(
        "gossip.ids",
        "IHAVE carries the ids of the gossip windows of its topic.",
        when("gs1.0/gossip.ids", by_permits, step.with_mesh),
    ),
    claim(
        "mcache.windows",
        "The message cache keeps mcache_len windows and gossips mcache_gossip of them.",
        "gs1.0/mcache.shift",
        "gs1.0/mcache.put",
    ),
    claim(
        "rpc.payload-first",
        "The payload of an RPC is processed before its control.",
        "gs1.0/rpc.payload-first",
    ),
)

IDONTWANT: tuple[Claim, ...] = (
    claim(
        "idontwant.immediate",
        "IDONTWANT is said at the first copy, at once, to mesh peers that know it.",
        "gs1.2/idontwant.immediate",
    ),
    claim(
        "idontwant.honoured",
        "Who said IDONTWANT is skipped in relay to the mesh.",
        "gs1.2/idontwant.skip",
        "gs1.2/idontwant.per-peer",
    ),
    claim(
        "idontwant.capped",
        "IDONTWANTs beyond the cap of a heartbeat are not followed.",
        "gs1.2/idontwant.cap",
    ),
    claim(
        "idontwant.optional", "Draft: who said IDONTWANT may be skipped.", "gs1.2-draft/idontwant.may-skip"
    ),
    claim(
        "iwant.cancelled",
        "Who was asked for a message that came from another may be told IDONTWANT, and not who brought it.",
        "gs1.2/iwant.cancel",
    ),
    claim(
        "idontwant.no-penalty",
        "Who sends a message after IDONTWANT for it scores as it did.",
        when("gs1.2/idontwant.no-penalty", score.repeats_unwanted, step.with_idontwant),
        needs=["score-parameters"],
    ),
    claim(
        "idontwant.before-message",
        "Draft: for what an IHAVE has it ask for a router says IDONTWANT to mesh members, and to no others.",
        "gs1.2-draft/idontwant.on-ihave",
    ),
    claim(
        "ihave.instead",
        "Draft: between heartbeats IHAVE goes to those who were spared the message, and to no others.",
        "gs1.2-draft/ihave.instead-of-message",
    ),
    claim("idontwant.forgotten", "Old entries go at the heartbeat.", "gs1.2/idontwant.prune-old"),
)
