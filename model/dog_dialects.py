"""The dialects of DOG, and the rows in which its documents differ: each a switch, or a reason why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen

from quidnunc.model import dog_readings as read
from quidnunc.model.mempool import DOG
from quidnunc.model.readings import Reading
from quidnunc.model.rules import Protocol, Rule

Edit = Callable[[Protocol], Protocol]


def _with(**rules: Rule) -> Edit:
    """Rules that take the place of those named."""

    def edit(p: Protocol) -> Protocol:
        for name, other in rules.items():
            p = p.with_rule(name, other)
        return p

    return edit


def _without(*names: str) -> Edit:
    def edit(p: Protocol) -> Protocol:
        for name in names:
            p = p.without_rule(name)
        return p

    return edit


_SWITCHES: tuple[Reading, ...] = (
    Reading("resets-all", "dog/reset.one", "ResetRoute enables every route to its sender.",
            _with(enable_one=read.enable_all)),
    Reading("one-inbox", "dog/reset.none",
            "A ResetRoute that finds nothing to enable stays, and no message behind it is read.",
            read.behind_one_inbox),
    Reading("some-sender-cut", "dog/havetx.first-sender",
            "HaveTx disables the route from any one of the senders.",
            lambda p: _with(disable_first=read.disable_some_sender)(
                _without("first_sender_gone", "disabled_already")(p))),
    Reading("some-sender-filters", "dog/route.filter",
            "What is withheld goes by the route from any one of the senders.",
            _with(cut_off=read.cut_by_some_sender, learn_route=read.learn_of_lone_sender)),
    Reading("self-route-refused", "dog/havetx.self-route",
            "HaveTx from the first sender itself disables nothing.", read.self_route_refused),
    Reading("stale-routes", "dog/havetx.first-sender-gone",
            "HaveTx disables the route from a first sender that is no longer connected.",
            _without("first_sender_gone")),
    Reading("first-live-sender", "dog/havetx.first-sender-gone",
            "In the place of a first sender that is gone stands the next one that is connected.",
            lambda p: _with(
                disable_first=read.disable_first_live, cut_off=read.cut_by_first_live,
                learn_route=read.learn_of_first_live,
            )(_without("first_sender_gone", "disabled_already")(p))),
    Reading("lost-may-be-asked", "dog/peer.reset-not-to-lost",
            "The ResetRoute at a loss may go to the peer just lost.",
            lambda p: _with(too_little=read.ask_even_the_lost)(_without("the_lost")(p))),
    Reading("reset-may-be-lost", "dog/peer.reset-not-to-lost",
            "The ResetRoute at a loss may be meant for the peer just lost, and then reaches nobody.",
            _with(too_little=read.ask_perhaps_in_vain)),
    Reading("strict-upper-bound", "dog/controller.unblock", "HaveTx is allowed above the upper bound only.",
            _with(too_much=read.too_much_strictly)),
    Reading("integers", "dog/config.bounds", "Bounds and redundancy are integers, rounded down.",
            _with(too_little=read.too_little_in_integers, too_much=read.too_much_in_integers)),
    Reading("exact-bounds", "dog/config.bounds", "Bounds and redundancy are compared without rounding.",
            _with(too_little=read.too_little_exactly, too_much=read.too_much_exactly)),
    Reading("starts-blocked", "dog/havetx.initially-allowed",
            "No HaveTx before the first adjustment that finds too much.",
            lambda p: p.reading("starts-blocked")),
    Reading("low-blocks", "dog/controller.reset", "Too little redundancy blocks HaveTx again.",
            _with(too_little=read.too_little_blocks)),
    Reading("in-band-blocks", "dog/controller.in-band",
            "Redundancy between the bounds blocks HaveTx again.", _with(in_band=read.in_band_blocks)),
    Reading("user-duplicates-uncounted", "dog/count.user-duplicate",
            "A duplicate that a user submits is not counted.", _without("count_user_duplicate")),
    Reading("own-never-filtered", "dog/route.filter",
            "A user's transaction goes to all peers, though a peer has sent it too.",
            _with(pool_own=read.pool_own_for_good, cut_off=read.cut_off_but_own)),
    Reading("committed-answered", "dog/havetx.for-committed",
            "A duplicate of a committed transaction is answered as any other.",
            _without("of_committed", "while_perhaps_blocked")),
    Reading("invalid-forgotten", "flood/receive.invalid-cached",
            "An invalid transaction leaves the cache, so that each copy of it is a first one.",
            _with(know_refused=read.forget_refused)),
    Reading("full-pool-first", "flood/receive.order-of-checks",
            "While the pool is full no transaction is looked at, be it a duplicate.", read.full_pool_first),
    Reading("joiner-gets-later", "flood/peer.whole-pool",
            "A new peer is offered nothing of the present pool.", _without("offer_pool")),
    Reading("keep-alive", "dog/controller.idle",
            "After some idle intervals one peer is asked for a route.",
            _with(nothing_came=read.nothing_came_for_long, count_anew=read.count_anew_and_awake)),
)  # fmt: skip

SWITCHES: Mapping[str, Reading] = {each.name: each for each in _SWITCHES}


def dialect(name: str, *switches: str) -> Protocol:
    """DOG with those switches turned, in that order, under another name."""
    found = DOG
    for each in switches:
        found = SWITCHES[each].edit(found)
    return found.extended(name)


TURNED: Mapping[str, tuple[str, ...]] = {
    "dog-adr": (
        "resets-all", "strict-upper-bound", "starts-blocked", "low-blocks", "in-band-blocks",
        "own-never-filtered",
    ),
    "dog-quint": ("stale-routes", "lost-may-be-asked", "integers", "joiner-gets-later", "one-inbox"),
    "dog-quint-run": ("stale-routes", "lost-may-be-asked", "integers", "joiner-gets-later"),
    "dog-go": (
        "some-sender-cut", "some-sender-filters", "reset-may-be-lost", "user-duplicates-uncounted",
        "committed-answered", "invalid-forgotten", "full-pool-first",
    ),
    "dog-proposed": (
        "first-live-sender", "self-route-refused", "low-blocks", "user-duplicates-uncounted", "keep-alive",
    ),
}  # fmt: skip
"""What each text says in other words than our reading. The Go node's any sender may be a lost one too."""

DIALECTS: Mapping[str, Protocol] = {name: dialect(name, *switches) for name, switches in TURNED.items()}


@frozen
class Row:
    """One disagreement of the documents: what turns it, or why nothing that a node does would show it."""

    id: str
    topic: str
    clause: str
    switches: tuple[str, ...] = ()
    why: str = ""


_RACE = "A race between goroutines; the harness lets one event come to rest before the next."
_TEXT = "The documents differ in prose or reference alone."

ROWS: tuple[Row, ...] = (
    Row("D-1", "effect of ResetRoute", "dog/reset.one", ("resets-all",)),
    Row("D-2", "ResetRoute with nothing disabled", "dog/reset.none", ("one-inbox",)),
    Row("D-3", "target of ResetRoute", "dog/controller.reset",
        why="To ask only those who were told HaveTx is a proposal that was not merged; no text has it."),
    Row("D-4", "whose route HaveTx disables", "dog/havetx.first-sender", ("some-sender-cut",)),
    Row("D-5", "whose route filters", "dog/route.filter", ("some-sender-filters",)),
    Row("D-6", "route from a peer to itself", "dog/havetx.self-route", ("self-route-refused",)),
    Row("D-7", "first sender gone", "dog/havetx.first-sender-gone", ("stale-routes", "first-live-sender")),
    Row("D-8", "stale route after a reconnect", "dog/havetx.first-sender-gone", ("stale-routes",)),
    Row("D-9", "adjustment at a loss", "dog/peer.reset-not-to-lost",
        ("lost-may-be-asked", "reset-may-be-lost")),
    Row("D-10", "at the upper bound", "dog/controller.unblock", ("strict-upper-bound",)),
    Row("D-11", "an interval without traffic", "dog/controller.idle", ("keep-alive",)),
    Row("D-12", "duplicates alone", "dog/controller.ratio",
        why="ADR-119 divides by zero; read as beyond every bound, that is what the others say."),
    Row("D-13", "type of the numbers", "dog/config.bounds", ("integers",)),
    Row("D-14", "rounding", "dog/config.bounds", ("exact-bounds",)),
    Row("D-15", "size of the band", "dog/config.bounds",
        why="A parameter, delta_percent; ADR-119 and the Go node fix it at 10."),
    Row("D-16", "HaveTx before the first adjustment", "dog/havetx.initially-allowed", ("starts-blocked",)),
    Row("D-17", "permission withdrawn", "dog/controller.reset", ("low-blocks", "in-band-blocks")),
    Row("D-18", "a target of 0", "dog/config.target",
        why="A parameter that the Go node and the kit refuse; such a node would never ask for a route."),
    Row("D-19", "duplicates of a user", "dog/count.user-duplicate", ("user-duplicates-uncounted",)),
    Row("D-20", "an own transaction that a peer sends too", "dog/route.filter", ("own-never-filtered",)),
    Row("D-21", "invalid transactions", "flood/receive.invalid-cached", ("invalid-forgotten",)),
    Row("D-22", "full pool, large transactions", "flood/receive.order-of-checks", ("full-pool-first",)),
    Row("D-23", "committed transactions", "dog/havetx.for-committed", ("committed-answered",)),
    Row("D-24", "the same peer twice", "dog/count.duplicate", why="Text and code agree: it counts."),
    Row("D-25", "counters are set back", "dog/controller.restart", why=_RACE),
    Row("D-26", "check of the permission", "dog/havetx.then-blocked", why=_RACE),
    Row("D-27", "cache overflow", "flood/pool.cached",
        why="The documents assume a cache without limit; beyond the configured one nothing new arrives."),
    Row("D-28", "what triggers the controller", "dog/controller.interval", why=_TEXT),
    Row("D-29", "origin of the interval", "dog/controller.interval",
        why="The controller's timer is an event of the harness, which comes whenever it likes."),
    Row("D-30", "mixed networks", "dog/peer.mixed",
        why="Of the connection and not of the node; what each makes of the other's bytes is tested."),
    Row("D-31", "number of the channel", "dog/rpc.control-channel",
        why="Of bytes and not of behaviour; what each makes of the other's bytes is tested."),
    Row("D-32", "channels and order", "flood/rpc.reliable", why=_RACE),
    Row("D-33", "what a joiner gets", "flood/peer.whole-pool", ("joiner-gets-later",)),
    Row("D-34", "leaving", "dog/peer.forget-routes",
        why="Of what a node does when it leaves itself; the harness plays those who leave it."),
    Row("D-35", "a network can die", "dog/peer.forget-routes",
        why="Of a network; a node without peers is one event away from having one."),
    Row("D-36", "peer limit beside DOG", "dog/config.peer-limit",
        why="A refusal of parameters: the kit refuses both, as the Go node does."),
    Row("D-37", "references", "dog/config.bounds", why=_TEXT),
    Row("D-38", "shortest interval", "dog/config.interval",
        why="A refusal of parameters: less than 1000 ms is refused, though experiments had 500."),
    Row("D-39", "time to stabilise", "dog/config.interval", why="Of a network under load."),
    Row("D-40", "prose against its own code", "dog/controller.one-message",
        why="The prose promises what its own code breaks; the clause is marked as an exception."),
)  # fmt: skip
