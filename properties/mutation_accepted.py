"""Claims by which a mutant may be killed besides the one that rests on its clause, and why.

One trace often speaks against several sentences, and the shortest is not always the one that the planted edit
was made for. What is not listed here, and kills a mutant all the same, is a question to its finder.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen


@frozen
class Accepted:
    """Claims that speak of the same breach, as one trace shows it."""

    claims: tuple[str, ...]
    reason: str


_MEMBER = (
    "mesh.members",
    "mesh.floor",
    "mesh.ceiling",
    "mesh.no-churn",
    "graft.accepted",
    "outbound.quota-filled",
    "relay.targets",
    "publish.targets",
    "gossip.targets",
    "idontwant.immediate",
)
"""What shows who the router takes for a member of its mesh."""

_BACKOFF = ("backoff.no-graft", "backoff.honoured", "backoff.regraft-refused")
"""What shows until when the router thinks that a backoff runs."""

_ROWS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # Topics and mesh.
    ("unsubscribe-ignored", (*_MEMBER, "fanout.kept", "publish.flood"),
     "Who left the topic stays in its mesh and fanout too."),
    ("join-fanout-untold", _MEMBER, "Who was not told is a member for the router and for nobody else."),
    ("leave-silently", ("backoff.unsubscribe", "graft.accepted"),
     "Where the topic is joined again at once, a missing backoff or mesh accounts for what follows."),
    ("prune-ignored", (*_MEMBER, *_BACKOFF),
     "Who pruned us stays a member, so that a GRAFT in the backoff is not answered."),
    ("prune-unknown-aborts", (*_MEMBER, *_BACKOFF),
     "Whose PRUNE is skipped stays a member, without a backoff."),
    ("full-above-d-high", ("mesh.no-churn", "mesh.ceiling", "idontwant.immediate", "relay.targets"),
     "One too many is taken in silence; what a member is told, or the next cut, shows it first."),
    ("full-refuses-outbound", ("graft.accepted",), "A GRAFT that should be accepted is not."),
    ("fill-past-d", ("mesh.no-churn",), "The surplus GRAFT is one that nobody asked for."),
    ("floodsub-in-mesh", tuple(c for c in _MEMBER if c != "mesh.members"),
     "A floodsub peer is told what a member is told."),
    ("opportunistic-equals", ("mesh.no-churn", "mesh.floor"),
     "A GRAFT that no better score excuses is one that nobody asked for."),
    # Backoff.
    ("leave-long-backoff", ("backoff.announced",), "The PRUNE of a Leave announces another period."),
    ("join-in-backoff", ("backoff.unsubscribe",),
     "After Leave and Join at once: as if Leave had kept no backoff."),
    ("regraft-silent", ("backoff.honoured",), "As if no backoff had been kept, and the sender was a member."),
    ("backoff-a-second-short", ("mesh.no-churn",), "The GRAFT is one that nobody asked for."),
    ("backoff-overwritten", ("backoff.regraft-refused", "backoff.honoured"),
     "The shorter backoff shows where a GRAFT inside the longer one is accepted."),
    ("backoff-not-heard", ("backoff.no-graft", "backoff.regraft-refused", "graft.accepted"),
     "Another period than the announced one shows in who is grafted, refused or accepted meanwhile."),
    ("backoff-overflow", ("backoff.no-graft", "backoff.regraft-refused", "backoff.announced"),
     "A backoff that is taken for none shows in who is grafted, and in GRAFTs that are not refused."),
    ("backoff-zero-default", ("backoff.no-graft", "backoff.regraft-refused"),
     "A backoff that is not kept shows in who is grafted, and in GRAFTs that are not refused."),
    # Messages.
    ("seqno-reused", ("publish.targets", "publish.flood", "relay.targets", "fanout.kept", "gossip.targets",
                      "gossip.ids", "subscription.followed"),
     "No claim is about sequence numbers yet; the second message has the id of the first, and is missing."),
    ("publish-unsigned", ("message.unchanged",), "What should be in an own message differs in its bytes."),
    ("publish-empty-key", ("message.unchanged",), "What should be in an own message differs in its bytes."),
    ("signatures-unchecked", ("message.unchanged",), "The bad copy is relayed in place of a good one."),
    ("unsigned-taken", ("message.unchanged",), "The bad copy is relayed in place of a good one."),
    ("forged-taken", ("message.unchanged",), "The bad copy is relayed in place of a good one."),
    ("foreign-key-taken", ("message.unchanged",), "The bad copy is relayed in place of a good one."),
    ("stamped-taken", ("message.unchanged",), "The bad copy is relayed in place of a good one."),
    ("bad-copy-is-seen", ("deliver.once", "relay.once", "relay.targets", "gossip.targets", "gossip.ids",
                          "ihave.requested"),
     "The good copy that comes after it is taken for a duplicate: not delivered, relayed or gossiped about."),
    ("echo", ("relay.once", "relay.targets"), "Whoever sent it gets it, after a late verdict too."),
    ("deliver-twice", ("relay.once", "relay.targets"), "What is accepted twice is relayed twice."),
    ("floodsub-forgotten", ("publish.targets", "fanout.kept", "publish.flood"),
     "Own messages miss floodsub peers too."),
    ("own-relayed", ("idontwant.immediate", "deliver.once"), "What is accepted is announced and delivered."),
    ("seen-half-as-long", ("deliver.once", "ihave.requested", "idontwant.immediate"),
     "What is forgotten is delivered, announced or requested again."),
    ("seen-after-verdict", ("rpc.payload-first", "validation.verdicts", "idontwant.immediate",
                            "ihave.requested"),
     "An id that is not yet seen is requested, as if control came before the payload."),
    ("explicit-forgotten", ("publish.targets", "publish.flood", "fanout.kept"),
     "Own messages miss explicit peers too."),
    ("explicit-graylisted", ("deliver.once", "relay.targets", "relay.once", "gossip.targets", "gossip.ids",
                             "idontwant.immediate", "subscription.followed", "ihave.requested"),
     "Nothing happens of what the ignored RPC asks for."),
    ("publish-to-all", ("score.application-counts", "fanout.kept", "publish.flood"),
     "As if the application's score counted for nothing, where publishing asks for it."),
    ("not-flooding", ("publish.targets",), "An own message misses some that it should reach."),
    ("fanout-chosen-anew", ("publish.targets",), "A peer outside the fanout gets an own message."),
    # Gossip.
    ("ihave-seen-requested", ("id.same-everywhere",), "As if the ids of IHAVE were kept in another form."),
    ("ihave-silenced", ("ihave.capped", "id.same-everywhere"), "As if the cap of IHAVEs were lower."),
    ("iwant-unserved", ("iwant.bounded",), "As if the rule that bounds the answers were not there at all."),
    ("iwant-uncapped", ("relay.once",), "An answer beyond the bound is a message that nothing permits."),
    ("poor-gossip-heeded", ("score.application-counts",),
     "As if the application's score counted for nothing, where gossip asks for it."),
    ("gossip-to-mesh", ("score.gossip",), "A member with a low score is told, which no one else would be."),
    ("gossip-of-any-topic", ("gossip.ids",), "The ids are not those of the topic's windows."),
    ("gossip-to-one-more", ("join.fills", "gossip.ids"),
     "Beside a GRAFT, an IHAVE too many is what a router with shared control lists sends."),
    ("gossip-not-adaptive", ("join.fills", "gossip.ids"),
     "Beside a GRAFT, IHAVEs that are missing are what a router with shared control lists sends."),
    ("gossip-after-shift", ("gossip.targets", "gossip.ids", "join.fills", "publish.targets", "iwant.served"),
     "What has left its window is not gossiped about, as if it had not been published."),
    ("gossip-window-wide", ("mcache.windows",), "As if the windows were not shifted."),
    ("cache-shifted-twice", ("gossip.targets", "gossip.ids", "join.fills", "publish.targets", "iwant.served"),
     "What has left the cache is neither gossiped about nor served, as if it had not been published."),
    # IDONTWANT.
    ("idontwant-for-all", ("relay.targets",), "Those who said nothing miss the message."),
    ("idontwant-mutes", ("relay.targets", "publish.flood", "publish.targets", "fanout.kept"),
     "Own messages do not reach those who said it."),
    # Mempool.
    ("forget-later-senders", ("pool.first-time", "send.once-to-others"),
     "Who sent a duplicate is offered the transaction, as if its senders were not kept."),
    ("readmit-committed", ("send.once-to-others", "pool.committed"), "What left the pool is offered again."),
    ("last-sender", ("send.once-to-others", "route.filter"), "A route shows only in what is sent over it."),
    ("cut-all-senders", ("send.once-to-others", "route.filter"),
     "A route shows only in what is sent over it."),
    ("cut-the-other-way", ("send.once-to-others", "route.filter"),
     "A route shows only in what is sent over it."),
    ("havetx-is-a-duplicate",
     ("controller.resets-when-low", "controller.rests", "controller.unblocks-when-high",
      "count.first-and-duplicate", "peer.loss", "havetx.reply"),
     "The counters show only in what the controller does."),
    ("own-is-filtered", ("send.own-to-all", "send.once-to-others"),
     "A user's transaction does not go to all."),
    ("reset-all", ("route.filter", "send.once-to-others"), "A route shows only in what is sent over it."),
    ("reset-any-target", ("route.filter", "send.once-to-others"),
     "A route shows only in what is sent over it."),
    ("reset-resends", ("send.once-to-others", "route.filter"),
     "What is sent was decided before, and is not decided again."),
    ("strict-upper", ("count.first-and-duplicate", "havetx.reply", "controller.rests"),
     "At the bound: as if the last duplicate had not counted. HaveTx then stays blocked."),
    ("own-uncounted", ("controller.resets-when-low", "controller.unblocks-when-high", "havetx.reply",
                       "controller.rests", "peer.loss"),
     "The counters show only in what the controller does, and in the HaveTx that it allows."),
    ("user-duplicates-uncounted", ("controller.resets-when-low", "havetx.reply", "controller.rests"),
     "The counters show only in what the controller does, and in the HaveTx that it allows."),
    ("counts-kept", ("controller.resets-when-low", "controller.unblocks-when-high", "havetx.reply",
                     "count.first-and-duplicate", "peer.loss"),
     "The counters show only in what the controller does, and in the HaveTx that it allows."),
    ("permission-withdrawn", ("havetx.reply",), "The HaveTx that is due does not come."),
    ("mass-reset", ("controller.rests", "controller.resets-when-low"),
     "A ResetRoute to more than one, or where there was no traffic, is one that nothing permits."),
    ("stale-source", ("send.once-to-others", "route.filter"), "A route shows only in what is sent over it."),
    ("stale-target", ("send.once-to-others", "route.filter"), "A route shows only in what is sent over it."),
)  # fmt: skip

ACCEPTED: Mapping[str, Accepted] = MappingProxyType(
    {name: Accepted(claims, reason) for name, claims, reason in _ROWS}
)
"""By name of the mutant."""
