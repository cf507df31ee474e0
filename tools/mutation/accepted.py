"""Claims by which a mutant may be killed besides the one that rests on its clause, and why.

One trace often speaks against several sentences, and the shortest is not always the one that the planted edit
was made for. What is not listed here, and kills a mutant all the same, is a question to its finder.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen


@frozen
class EquivalentClaims:
    """Claims that speak of the same breach, as one trace shows it."""

    claims: tuple[str, ...]
    reason: str


_ROWS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # CAT.
    ("cat-announces-unstored", ("cat.served",), "What is not stored cannot be served."),
    # Variants of DOG.
    ("go-user-duplicates-counted",
     ("controller.resets-when-low", "controller.unblocks-when-high", "havetx.reply", "controller.rests"),
     "The counters show only in what the controller does, and in the HaveTx that it allows."),
    # The peer limit.
    ("limit-zero-is-none", ("send.whole-pool", "send.own-to-all", "send.once-to-others"),
     "Who waits for a slot that never comes is sent nothing."),
    ("limit-of-one-class", ("send.whole-pool", "send.once-to-others", "limit.at-most"),
     "A persistent peer waits for a slot of the others and is offered nothing, or takes one of theirs."),
    ("limit-newcomer-displaces", ("limit.at-most",), "The newcomer is sent transactions without a slot."),
    ("limit-slot-stays-idle", ("send.once-to-others",),
     "Who should have the slot is not sent what comes next."),
    ("limit-deaf-to-waiting", ("send.once-to-others",),
     "What is not taken is not sent on to those who have a slot."),
    # Topics and mesh.
    ("unsubscribe-ignored", ("mesh.members", "fanout.kept"),
     "Who left the topic stays in its mesh and its fanout."),
    ("join-fanout-untold", ("gossip.targets", "mesh.floor"),
     "Who was not told is a member for the router alone: it is not grafted again and gets no IHAVE."),
    ("leave-silently", ("backoff.unsubscribe",),
     "The mesh is forgotten before the backoff of Leave is noted, so that a Join at once grafts again."),
    ("prune-ignored", ("backoff.no-graft", "backoff.honoured", "backoff.regraft-refused"),
     "The backoff that the PRUNE announces is not noted either."),
    ("prune-unknown-aborts", ("backoff.no-graft", "backoff.regraft-refused", "mesh.floor", "px.offered"),
     "Whose PRUNE is skipped has no backoff, and is not grafted again because it is taken for a member; "
     "whom the PRUNE offers is not dialled."),
    ("full-above-d-high", ("mesh.no-churn",),
     "Whom it should refuse it takes, and the heartbeat cuts the mesh: one of those PRUNEs is the refusal."),
    # Scores.
    ("failures-forgotten", ("score.mesh-deliveries", "score.time-in-mesh"),
     "Who was pruned is a member for its score alone, so that its time and its deficit there go on."),
    ("behaviour-linear", ("score.decays", "score.broken-promises"),
     "The square of a counter of one is one: the difference shows where the counter has decayed, or where\n"
     "  two promises were broken."),
    # Backoff.
    ("backoff-overwritten", ("backoff.regraft-refused", "backoff.honoured"),
     "Inside the longer backoff a GRAFT is accepted, or a PRUNE answered as if it were over."),
    ("backoff-not-heard", ("backoff.no-graft", "backoff.regraft-refused"),
     "Inside an announced period that is longer than the default a GRAFT is sent or accepted."),
    ("backoff-overflow", ("backoff.no-graft", "backoff.regraft-refused"),
     "Inside a backoff that is taken for none a GRAFT is sent or accepted."),
    ("backoff-zero-default", ("backoff.no-graft", "backoff.regraft-refused"),
     "Inside the default backoff a GRAFT is sent or accepted."),
    # Messages.
    ("seqno-reused", ("publish.targets", "publish.flood", "fanout.kept", "gossip.targets", "gossip.ids"),
     "No claim is about sequence numbers; the second own message has the id of the first, so that it is\n"
     "  missing where it or its IHAVE is due."),
    ("floodsub-forgotten", ("publish.targets", "fanout.kept", "publish.flood"),
     "Own messages miss floodsub peers as relayed ones do."),
    ("seen-half-as-long", ("deliver.once", "ihave.requested", "idontwant.immediate"),
     "What is forgotten too early is delivered, requested or announced again."),
    ("explicit-forgotten", ("publish.targets", "publish.flood", "fanout.kept"),
     "Own messages miss explicit peers as relayed ones do."),
    # Gossip.
    ("gossip-of-any-topic", ("gossip.ids",), "The ids are not those of the topic that the IHAVE names."),
    # Mempool.
    ("cut-all-senders", ("reset.one",),
     "One HaveTx disabled several routes, so that one ResetRoute does not enable all of them."),
    ("cut-the-other-way", ("route.filter",), "The route that HaveTx should disable is used."),
    ("own-uncounted", ("controller.resets-when-low", "controller.unblocks-when-high"),
     "What is counted shows only in what the controller does."),
)  # fmt: skip

ACCEPTED: Mapping[str, EquivalentClaims] = MappingProxyType(
    {name: EquivalentClaims(claims, reason) for name, claims, reason in _ROWS}
)
"""By name of the mutant."""
