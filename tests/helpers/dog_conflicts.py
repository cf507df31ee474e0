"""Every disagreement of DOG's documents: the switches of the model that turn it, or why there is none."""

from __future__ import annotations

from attrs import frozen


@frozen
class Conflict:
    """One disagreement of the documents: what turns it, or why nothing that a node does would show it."""

    id: str
    topic: str
    clause: str
    switches: tuple[str, ...] = ()
    why: str = ""


_RACE = "A race between goroutines; the harness lets one event come to rest before the next."
_TEXT = "The documents differ in prose or reference alone."

ROWS: tuple[Conflict, ...] = (
    Conflict("D-1", "effect of ResetRoute", "dog/reset.one", ("resets-all",)),
    Conflict("D-2", "ResetRoute with nothing disabled", "dog/reset.none", ("one-inbox",)),
    Conflict("D-3", "target of ResetRoute", "dog/controller.reset",
        why="To ask only those who were told HaveTx is a proposal that was not merged; no text has it."),
    Conflict("D-4", "whose route HaveTx disables", "dog/havetx.first-sender", ("some-sender-cut",)),
    Conflict("D-5", "whose route filters", "dog/route.filter", ("some-sender-filters",)),
    Conflict("D-6", "route from a peer to itself", "dog/havetx.self-route", ("self-route-refused",)),
    Conflict("D-7", "first sender gone", "dog/havetx.first-sender-gone", ("stale-routes",
    "first-live-sender")), Conflict("D-8", "stale route after a reconnect", "dog/havetx.first-sender-gone",
    ("stale-routes",)), Conflict("D-9", "adjustment at a loss", "dog/peer.reset-not-to-lost",
        ("lost-may-be-asked", "reset-may-be-lost")),
    Conflict("D-10", "at the upper bound", "dog/controller.unblock", ("strict-upper-bound",)),
    Conflict("D-11", "an interval without traffic", "dog/controller.idle", ("keep-alive",)),
    Conflict("D-12", "duplicates alone", "dog/controller.ratio",
        why="ADR-119 divides by zero; read as beyond every bound, that is what the others say."),
    Conflict("D-13", "type of the numbers", "dog/config.bounds", ("integers",)),
    Conflict("D-14", "rounding", "dog/config.bounds", ("exact-bounds",)),
    Conflict("D-15", "size of the band", "dog/config.bounds",
        why="A parameter, delta_percent; ADR-119 and the Go node fix it at 10."),
    Conflict("D-16", "HaveTx before the first adjustment", "dog/havetx.initially-allowed",
    ("starts-blocked",)), Conflict("D-17", "permission withdrawn", "dog/controller.reset", ("low-blocks",
    "in-band-blocks")), Conflict("D-18", "a target of 0", "dog/config.target",
        why="A parameter that the Go node and the kit refuse; such a node would never ask for a route."),
    Conflict("D-19", "duplicates of a user", "dog/count.user-duplicate", ("user-duplicates-uncounted",)),
    Conflict("D-20", "an own transaction that a peer sends too", "dog/route.filter", ("own-never-filtered",)),
    Conflict("D-21", "invalid transactions", "flood/receive.invalid-cached", ("invalid-forgotten",)),
    Conflict("D-22", "full pool, large transactions", "flood/receive.order-of-checks", ("full-pool-first",)),
    Conflict("D-23", "committed transactions", "dog/havetx.for-committed", ("committed-answered",)),
    Conflict("D-24", "the same peer twice", "dog/count.duplicate", why="Text and code agree: it counts."),
    Conflict("D-25", "counters are set back", "dog/controller.restart", why=_RACE),
    Conflict("D-26", "check of the permission", "dog/havetx.then-blocked", why=_RACE),
    Conflict("D-27", "cache overflow", "flood/pool.cached",
        why="The documents assume a cache without limit; beyond the configured one nothing new arrives."),
    Conflict("D-28", "what triggers the controller", "dog/controller.interval", why=_TEXT),
    Conflict("D-29", "origin of the interval", "dog/controller.interval",
        why="The controller's timer is an event of the harness, which comes whenever it likes."),
    Conflict("D-30", "mixed networks", "dog/peer.without-dog", ("told-without-dog",)),
    Conflict("D-31", "number of the channel", "dog/rpc.control-channel",
        why="Of bytes and not of behaviour; what each makes of the other's bytes is tested."),
    Conflict("D-32", "channels and order", "flood/rpc.reliable", why=_RACE),
    Conflict("D-33", "what a joiner gets", "flood/peer.whole-pool", ("joiner-gets-later",)),
    Conflict("D-34", "leaving", "dog/peer.forget-routes",
        why="Of what a node does when it leaves itself; the harness plays those who leave it."),
    Conflict("D-35", "a network can die", "dog/peer.forget-routes",
        why="Of a network; a node without peers is one event away from having one."),
    Conflict("D-36", "peer limit beside DOG", "dog/config.peer-limit",
        why="A refusal of parameters: the kit refuses both, as the Go node does."),
    Conflict("D-37", "references", "dog/config.bounds", why=_TEXT),
    Conflict("D-38", "shortest interval", "dog/config.interval",
        why="A refusal of parameters: less than 1000 ms is refused, though experiments had 500."),
    Conflict("D-39", "time to stabilise", "dog/config.interval", why="Of a network under load."),
    Conflict("D-40", "prose against its own code", "dog/controller.one-message",
        why="The prose promises what its own code breaks; the clause is marked as an exception."),
)  # fmt: skip
