"""The claims of the mempool protocols other than Flood and DOG."""

from __future__ import annotations

from quidnunc.properties.claim_tables import Claim, claim

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
    claim("cat.channels", "Each message is on its channel.", "cat-classic/rpc.channels", "cat/rpc.channels"),
    claim(
        "cat.keys",
        "A transaction is named by 32 bytes, and who names it by fewer is dropped.",
        "cat-classic/rpc.key-length",
        "cat/rpc.key-length",
    ),
    claim("cat.signer", "An announcement names a signer and a sequence.", "cat/seen.signer"),
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
