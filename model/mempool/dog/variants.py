"""The variants of DOG, and the rows in which its documents differ: each a switch, or a reason why not."""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.model.edit import Change, Edit, dropping, in_turn, replacing
from quidnunc.model.mempool.dog import variant_rules as read
from quidnunc.model.mempool.protocols import DOG
from quidnunc.model.rules import Protocol


def _switch(name: str, clause: str, says: str, change: Change) -> Edit:
    return Edit(name, "variant", clause, says, change)


_SWITCHES: tuple[Edit, ...] = (
    _switch("resets-all", "dog/reset.one", "Enables every route to the sender of a ResetRoute.",
            replacing(enable_one=read.enable_all)),
    _switch("one-inbox", "dog/reset.none",
            "Keeps a ResetRoute that finds nothing to enable, and reads no message behind it.",
            read.behind_one_inbox),
    _switch("some-sender-cut", "dog/havetx.first-sender",
            "Disables the route from any one of the senders of a transaction when it receives HaveTx.",
            in_turn(dropping("first_sender_gone", "disabled_already"),
                    replacing(disable_first=read.disable_some_sender))),
    _switch("some-sender-filters", "dog/route.filter",
            "Withholds a transaction by the route from any one of its senders.",
            replacing(cut_off=read.cut_by_some_sender, learn_route=read.learn_of_lone_sender)),
    _switch("self-route-refused", "dog/havetx.self-route",
            "Disables no route when the first sender itself says HaveTx.", read.self_route_refused),
    _switch("stale-routes", "dog/havetx.first-sender-gone",
            "Disables the route from a first sender that is no longer connected.",
            dropping("first_sender_gone")),
    _switch("first-live-sender", "dog/havetx.first-sender-gone",
            "Takes the next sender that is connected for the first one that is gone.",
            in_turn(dropping("first_sender_gone", "disabled_already"),
                    replacing(disable_first=read.disable_first_live, cut_off=read.cut_by_first_live,
                              learn_route=read.learn_of_first_live))),
    _switch("lost-may-be-asked", "dog/peer.reset-not-to-lost",
            "May send the ResetRoute of a lost peer to that peer.",
            in_turn(dropping("the_lost"), replacing(too_little=read.ask_even_the_lost))),
    _switch("reset-may-be-lost", "dog/peer.reset-not-to-lost",
            "May choose the peer that it has just lost for its ResetRoute, which then reaches nobody.",
            replacing(too_little=read.ask_perhaps_in_vain)),
    _switch("strict-upper-bound", "dog/controller.unblock",
            "Allows HaveTx above the upper bound only, and not at it.",
            replacing(too_much=read.too_much_strictly)),
    _switch("integers", "dog/config.bounds", "Compares bounds and redundancy as integers, rounded down.",
            replacing(too_little=read.too_little_in_integers, too_much=read.too_much_in_integers)),
    _switch("exact-bounds", "dog/config.bounds", "Compares bounds and redundancy without rounding.",
            replacing(too_little=read.too_little_exactly, too_much=read.too_much_exactly)),
    _switch("starts-blocked", "dog/havetx.initially-allowed",
            "Sends no HaveTx before the first adjustment that finds too much redundancy.",
            read.start_blocked),
    _switch("low-blocks", "dog/controller.reset", "Blocks HaveTx where it finds too little redundancy.",
            replacing(too_little=read.too_little_blocks)),
    _switch("in-band-blocks", "dog/controller.in-band",
            "Blocks HaveTx where the redundancy is between the bounds.",
            replacing(in_band=read.in_band_blocks)),
    _switch("user-duplicates-uncounted", "dog/count.user-duplicate",
            "Does not count a duplicate that a user submits.", dropping("count_user_duplicate")),
    _switch("own-never-filtered", "dog/route.filter",
            "Sends a user's transaction to all peers although a peer has sent it too.",
            replacing(pool_own=read.pool_own_for_good, cut_off=read.cut_off_but_own)),
    _switch("committed-answered", "dog/havetx.for-committed",
            "Answers a duplicate of a committed transaction as any other.",
            dropping("of_committed", "while_perhaps_blocked")),
    _switch("invalid-forgotten", "flood/receive.invalid-cached",
            "Takes an invalid transaction out of the cache, so that each copy of it is a first one.",
            replacing(know_refused=read.forget_refused)),
    _switch("full-pool-first", "flood/receive.order-of-checks",
            "Looks at no transaction while the pool is full, not even at a duplicate.", read.full_pool_first),
    _switch("joiner-gets-later", "flood/peer.whole-pool",
            "Sends a new peer nothing of its present pool.", dropping("offer_pool")),
    _switch("told-without-dog", "dog/peer.without-dog",
            "Sends HaveTx and ResetRoute to peers without DOG, too.",
            dropping("from_one_without_dog", "has_no_dog")),
    _switch("keep-alive", "dog/controller.idle",
            "Sends ResetRoute to one peer after some idle intervals.",
            replacing(nothing_came=read.nothing_came_for_long, count_anew=read.count_anew_and_awake)),
)  # fmt: skip

SWITCHES: Mapping[str, Edit] = {each.name: each for each in _SWITCHES}


def variant(name: str, *switches: str) -> Protocol:
    """DOG with those switches turned, in that order, under another name."""
    return in_turn(*(SWITCHES[each].change for each in switches))(DOG).extended(name)


TURNED: Mapping[str, tuple[str, ...]] = {
    "dog-adr": ("resets-all", "strict-upper-bound", "own-never-filtered"),
    "dog-adr-prose": (
        "resets-all", "strict-upper-bound", "own-never-filtered",
        "starts-blocked", "low-blocks", "in-band-blocks",
    ),
    "dog-quint": ("stale-routes", "lost-may-be-asked", "integers", "joiner-gets-later", "one-inbox"),
    "dog-quint-run": ("stale-routes", "lost-may-be-asked", "integers", "joiner-gets-later"),
    "dog-go": (
        "some-sender-cut", "some-sender-filters", "reset-may-be-lost", "user-duplicates-uncounted",
        "committed-answered", "invalid-forgotten", "full-pool-first", "told-without-dog",
    ),
    "dog-proposed": (
        "first-live-sender", "self-route-refused", "low-blocks", "user-duplicates-uncounted", "keep-alive",
    ),
}  # fmt: skip
"""What each text says in other words than our reading. The Go node's any sender may be a lost one too.

ADR-119 has two readings of when HaveTx may be said. `dog-adr` is its struct: `blockHaveTx atomic.Bool`, "If
true, do not send HaveTx messages", is false at the start, and no sentence says that redundancy in band, or
below, blocks again. `dog-adr-prose` is its prose: "send HaveTx messages if the redundancy is too high".
"""

VARIANTS: Mapping[str, Protocol] = {name: variant(name, *switches) for name, switches in TURNED.items()}
