"""The claims of the mempool protocols."""

from __future__ import annotations

from quidnunc.properties.claims.claim import Claim, claim
from quidnunc.properties.occasions import mempool as step
from quidnunc.properties.occasions.occasion import when

MEMPOOL: tuple[Claim, ...] = (
    claim(
        "pool.first-time",
        "A first-time transaction enters the pool with its sender; one from a user has none.",
        "flood/receive.first-time",
        "flood/submit.no-sender",
        "flood/pool.cached",
    ),
    claim(
        "pool.duplicate",
        "A duplicate adds its sender once, and nothing else; a committed one adds nothing.",
        "flood/receive.duplicate",
        "flood/receive.committed",
        "flood/sender.ordered",
    ),
    claim(
        "pool.valid",
        "What the application refuses is neither pooled nor sent.",
        "flood/receive.invalid-dropped",
    ),
    claim(
        "pool.refused-known",
        "What was refused is known from then on, where the text keeps it in the cache.",
        "flood/receive.invalid-cached",
    ),
    claim(
        "pool.full-first",
        "Go: while the pool is full a duplicate changes nothing.",
        "flood/receive.order-of-checks",
    ),
    claim("pool.committed", "A committed transaction leaves the pool.", "flood/commit.leaves-pool"),
    claim(
        "send.once-to-others",
        "Each pool entry is offered once to each peer that had not sent it when that was decided.",
        "flood/send.once",
        "flood/send.not-to-senders",
        "flood/send.at-decision",
        "flood/relay.once",
    ),
    claim("send.own-to-all", "A transaction from a user is offered to all peers.", "flood/submit.to-all"),
    claim("send.whole-pool", "A new peer is offered the whole pool.", "flood/peer.whole-pool"),
    claim(
        "send.pool-order",
        "A peer is sent transactions in the order of the pool.",
        when("flood/send.pool-order", step.sends_several, step.in_pool_order),
    ),
    claim(
        "dog.channel",
        "HaveTx and ResetRoute are on the control channel.",
        when("dog/rpc.control-channel", step.sends_control_of_dog, step.of_dog),
    ),
    claim("flood.txs-only", "Flood sends nothing but transactions.", "flood/rpc.txs-only"),
    claim(
        "mempool.malformed",
        "Malformed input closes that connection at most.",
        when("flood/rpc.malformed", step.malformed, step.every_node),
    ),
    claim(
        "havetx.reply",
        "A duplicate is answered with HaveTx to its sender, unless that is blocked; then it is blocked.",
        "dog/havetx.reply",
        "dog/havetx.to-sender",
        "dog/havetx.then-blocked",
        "dog/havetx.while-blocked",
        "dog/havetx.not-to-user",
        "dog/havetx.for-committed",
    ),
    claim(
        "havetx.cuts-first-sender",
        "HaveTx disables the route from the first sender to the one who said it, and nothing else.",
        "dog/havetx.first-sender",
        "dog/havetx.first-sender-gone",
        "dog/havetx.no-sender",
        "dog/havetx.one-route",
        "dog/havetx.self-route",
    ),
    claim(
        "route.filter",
        "Nothing is sent over a disabled route, and all over an enabled one.",
        "dog/route.filter",
    ),
    claim(
        "reset.one",
        "ResetRoute enables one route to its sender, if there is one.",
        "dog/reset.one",
        "dog/reset.none",
    ),
    claim(
        "count.first-and-duplicate",
        "First-time and duplicate transactions are counted.",
        "dog/count.first",
        "dog/count.duplicate",
        "dog/count.user-duplicate",
    ),
    claim(
        "controller.resets-when-low",
        "Below the lower bound one ResetRoute goes to one random peer.",
        "dog/controller.reset",
        "dog/controller.ratio",
    ),
    claim(
        "controller.unblocks-when-high",
        "At the upper bound HaveTx is allowed again.",
        "dog/controller.unblock",
    ),
    claim(
        "controller.rests",
        "In the band, and without traffic, the controller does nothing; after each look it counts anew.",
        "dog/controller.idle",
        "dog/controller.interval",
        "dog/controller.in-band",
        "dog/controller.restart",
    ),
    claim(
        "peer.loss",
        "With a peer go its routes, and the controller runs once, without asking the lost one.",
        "dog/peer.forget-routes",
        "dog/peer.adjust-at-loss",
        "dog/peer.reset-not-to-lost",
    ),
)

CAT: tuple[Claim, ...] = (
    claim(
        "cat.pushed",
        "A user's transaction goes whole to every peer that is not known to have it.",
        "cat-classic/submit.push",
    ),
    claim(
        "cat.own-announced",
        "A user's transaction is announced as any other, and not pushed.",
        "cat/submit.announced",
    ),
    claim(
        "cat.announced",
        "A new transaction is pooled and then announced, so that whoever is told can be served.",
        "cat-classic/receive.announce-after",
        "cat-classic/receive.announce",
    ),
    claim(
        "cat.announced-to-some",
        "A transaction is announced to a bounded number of peers, and to no fewer.",
        "cat/announce.sticky",
    ),
    claim("cat.announced-once", "Only a new transaction is announced.", "cat-classic/receive.new-only"),
    claim(
        "cat.not-to-holders",
        "Who sent or announced a transaction is not told of it.",
        "cat-classic/receive.request-marked",
        "cat-classic/seen.recorded",
    ),
    claim(
        "cat.requested-only",
        "What was not asked for is neither pooled nor announced.",
        "cat/receive.unrequested",
    ),
    claim(
        "cat.wanted", "An announced transaction that is not known is asked for.", "cat-classic/seen.request"
    ),
    claim(
        "cat.not-wanted",
        "A transaction that is in the pool, or was, is not asked for.",
        "cat-classic/seen.ignored",
    ),
    claim(
        "cat.one-request",
        "One peer at a time is asked for a transaction, and none twice.",
        "cat-classic/want.one-outstanding",
        "cat/want.not-again",
    ),
    claim(
        "cat.empty-handed",
        "Who asks for what is not there gets nothing, or its own request back.",
        "cat-classic/want.not-found",
    ),
    claim(
        "cat.pool-told",
        "A new peer is told of what is in the pool, if of anything.",
        "cat-classic/peer.pool-announced",
    ),
    claim(
        "cat.in-turn",
        "What is ahead of its turn is asked for when its turn comes, and not before.",
        "cat/seen.queued",
        "cat/seen.request-expected",
        "cat/seen.expectation",
    ),
    claim(
        "cat.not-past",
        "What has had its turn is neither asked for nor taken.",
        "cat/seen.stale",
        "cat/receive.stale",
    ),
    claim(
        "cat.same-peers",
        "For one signer the same peers are told, as far as they are there and lack the transaction.",
        "cat/announce.rendezvous",
    ),
    claim(
        "cat.persistent-told",
        "Beside the bounded number four persistent peers may be told, and no more.",
        "cat/announce.persistent",
    ),
    claim(
        "cat.channels",
        "Each message is on its channel.",
        when("cat-classic/rpc.channels", step.names_tx_in_classic, step.of_cat_classic),
        when("cat/rpc.channels", step.names_tx_in_cat, step.of_cat),
    ),
    claim(
        "cat.keys",
        "A transaction is named by 32 bytes, and who names it by fewer is dropped.",
        when("cat-classic/rpc.key-length", step.names_tx_in_classic, step.of_cat_classic),
        when("cat/rpc.key-length", step.names_tx_in_cat, step.of_cat),
    ),
    claim(
        "cat.signer",
        "An announcement names a signer and a sequence.",
        when("cat/seen.signer", step.announces_in_cat, step.of_cat),
    ),
    claim(
        "cat.one-transaction",
        "Who sends another number of transactions in a message than one is dropped.",
        "cat/receive.malformed",
    ),
    claim("cat.served", "Who asks for a transaction of the pool gets it.", "cat-classic/want.answered"),
    claim(
        "cat.asked-elsewhere",
        "Where no answer comes in time another announcer is asked, one that was not asked before.",
        "cat-classic/want.timeout",
        "cat/want.per-peer",
        "cat-classic/want.after-seen",
    ),
    claim(
        "cat.peer-loss",
        "With a peer goes what it had, and what was asked of it is asked of another.",
        "cat-classic/state.per-connection",
        "cat-classic/peer.gone",
    ),
)

PEER_LIMIT: tuple[Claim, ...] = (
    claim(
        "limit.at-most",
        "At a time at most so many peers of a class are sent transactions as its limit says.",
        "peer-limit/send.at-most",
    ),
    claim(
        "limit.two-classes",
        "Each class has its own limit, and at 0 none.",
        "peer-limit/config.limits",
    ),
    claim(
        "limit.unconditional",
        "Unconditional peers are always sent transactions, and take no slot.",
        "peer-limit/send.unconditional",
    ),
    claim(
        "limit.held",
        "Who connects while a slot is free has it until it goes.",
        "peer-limit/slot.by-connection",
        "peer-limit/slot.held",
    ),
    claim(
        "limit.passed-on",
        "A slot that becomes free goes to one that waits, which is then offered the whole pool.",
        "peer-limit/slot.freed",
    ),
)
