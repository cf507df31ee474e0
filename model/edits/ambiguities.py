"""The places where the texts are silent, or contradict themselves, and what can be made of each.

A question has the kit's own reading and others by name, and a separating trace for each of them
(`properties/cases/dialects/READING.case`). A place without a question says why it has none.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from quidnunc.model.edit import Edit
from quidnunc.model.edits.catalogue import NAMED
from quidnunc.model.edits.readings import NARROWED


@frozen
class Question:
    """One thing that a router can be seen to do in several ways."""

    place: str
    """Id of the ambiguity it belongs to."""
    asks: str
    own: str
    """What the kit reads."""
    readings: tuple[str, ...]
    """Names of the others."""

    @property
    def others(self) -> tuple[Edit, ...]:
        return tuple(reading_named(name) for name in self.readings)

    @property
    def narrowed(self) -> Edit | None:
        """The edit that gives the kit's own reading where its rules leave more free."""
        return next((NARROWED[name] for name in self.readings if name in NARROWED), None)


@frozen
class Ambiguity:
    """One open place: its clause and, where nothing is asked about it, the reason."""

    id: str
    says: str
    clauses: tuple[str, ...]
    unasked: str = ""
    """Why (a part of) it is not a question to one router."""
    settled: str = ""
    """What settles it, where a sentence does: it is open no more, and a router of another reading fails."""


WIDE = frozenset(
    {
        "ihave-capped-otherwise",
        "iwant-capped-otherwise",
        "idontwant-before-signature",
        "idontwant-evicts-oldest",
        "graft-on-subscribe",
    }
)
"""Readings that allow what the kit's own reading does as well: who keeps to the latter has the latter."""


def reading_named(name: str) -> Edit:
    """The reading, whether or not departures are explained by it. Raises KeyError."""
    return NAMED["pubsub"][name]


AMBIGUITIES: tuple[Ambiguity, ...] = (
    Ambiguity("A1", "r1 says MUST skip and, of receivers, MAY ignore.", ("gs1.2/idontwant.skip",)),
    Ambiguity(
        "A2",
        "What else than relay to the mesh an IDONTWANT holds for.",
        ("gs1.2/idontwant.relay-only", "gs1.2/idontwant.skip"),
        "own messages: nobody can name one before it is sent; floodsub peers have no IDONTWANT to send",
    ),
    Ambiguity(
        "A4",
        "Whether D_out may be half of D.",
        ("gs1.1/outbound.config",),
        "a matter of configuration: a router refuses the parameters or runs as with others",
    ),
    Ambiguity(
        "A5",
        "Whether a score that equals the threshold of peer exchange is enough.",
        ("gs1.1/px.accept-threshold",),
    ),
    Ambiguity(
        "A6",
        "Which prunes leave the penalty P3b.",
        ("gs1.1/score.mesh-failures",),
        "no switch: the rules of the score decide it",
    ),
    Ambiguity(
        "A7",
        "Whether P3 counts after the mesh was left.",
        ("gs1.1/score.mesh-deliveries",),
        "no switch: the rules of the score decide it",
    ),
    Ambiguity("A8", "Whether an ignored message is validated again.", ("gs1.1/validation.reject-ignore",)),
    Ambiguity("A9", "Whether subscriptions of a graylisted peer count.", ("gs1.1/threshold.graylist",)),
    Ambiguity("A10", "Whether payload is processed before control.", ("gs1.0/rpc.payload-first",)),
    Ambiguity(
        "A11",
        "Whether gossip targets are picked before they are filtered.",
        ("gs1.0/gossip.targets",),
        "free by construction: v1.0 bounds the number from above, and who picks first may hit any number",
    ),
    Ambiguity(
        "A12",
        "Whether a PRUNE of a peer outside the mesh, or in an unknown topic, starts a backoff.",
        ("gs1.1/backoff.announced-period", "gs1.1/prune.unknown-topic"),
    ),
    Ambiguity(
        "A13", "When a peer that unsubscribes is removed.", ("gs1.0/mesh.members", "gs1.0/fanout.members")
    ),
    Ambiguity("A14", "What a GRAFT of a peer that did not announce the topic does.", ("gs1.0/graft.accept",)),
    Ambiguity("A15", "Whom an own message goes to when the mesh is empty.", ("gs1.0/publish.mesh",)),
    Ambiguity(
        "A16", "For how long, and per what, answers to IWANT are counted.", ("gs1.1/iwant.retransmission",)
    ),
    Ambiguity(
        "A17",
        "Whether a positive score is kept when its peer disconnects.",
        ("gs1.1/score.retain",),
        "no switch: the rules of the score decide it",
    ),
    Ambiguity(
        "A18",
        "Whether a signature covers the key.",
        ("pubsub/signing.strict-fields",),
        "by construction: a peer id of Ed25519 holds its key, so no message here has the field",
    ),
    Ambiguity(
        "A19",
        "Whether StrictSign requires a sequence number.",
        ("pubsub/signing.strict-required",),
        "no message of the vocabulary lacks its sequence number alone",
    ),
    Ambiguity(
        "A20",
        "Unit and ends of the life of a group of partial messages.",
        ("pm/group.bounded",),
        "a version of its own for each reading: partial-messages, -jvm, -go",
    ),
    Ambiguity(
        "A21",
        "Whose support suppresses full messages.",
        ("pm/send.partial-to-requester",),
        "a version of its own for each reading: partial-messages, -jvm, -go",
    ),
    Ambiguity(
        "A22",
        "What extensions named after the first RPC do.",
        ("gs1.3/extensions.first-rpc",),
        "free by construction: whether they count, and whether they cost a penalty",
    ),
    Ambiguity(
        "A24",
        "How our state of parts and the peer's stand to each other while messages cross.",
        ("pm/rpc.opaque",),
        "by construction: what an application makes of parts is opaque, so no order of them is wrong",
    ),
    Ambiguity(
        "A25",
        "Whether a copy renews the entry of a seen message, and what goes when seen is full.",
        ("gs1.0/seen.ttl",),
        "what goes when it is full: no document gives a size, so no run is long enough",
    ),
    Ambiguity("B1", "Whether a new subscriber waits for the heartbeat.", ("gs1.0/heartbeat.no-churn",)),
    Ambiguity("B2", "Whether a forged message of ours is seen.", ("gs1.0/relay.own-not-forwarded",)),
    Ambiguity("B3", "Whether a fanout is filled when it is used.", ("gs1.0/publish.fanout",)),
    Ambiguity("B4", "Per what IHAVEs are capped.", ("gs1.1/ihave.caps",)),
    Ambiguity("B5", "What the cap on IDONTWANT drops.", ("gs1.2/idontwant.cap",)),
    Ambiguity("B6", "What a backoff of 0 announces.", ("gs1.1/backoff.announced-period",)),
    Ambiguity(
        "B7",
        "Whether the check of a signature is part of the validation that IDONTWANT may precede.",
        ("gs1.2/idontwant.before-validation",),
    ),
    Ambiguity(
        "B8",
        "Whether a message that waits for its verdict enters the cache when it comes or when it is accepted.",
        ("gs1.0/mcache.put", "gs1.0/mcache.length"),
    ),
    Ambiguity(
        "B9",
        "Whether a GRAFT is refused between the end of a backoff and the heartbeat that clears it.",
        ("gs1.1/backoff.announced-period", "gs1.1/backoff.regraft"),
    ),
)
"""A1 to A26 were found by reading; B1 and on by running routers."""

SETTLED: tuple[Ambiguity, ...] = (
    Ambiguity(
        "A3",
        "Whether D_high members are too many.",
        ("gs1.0/heartbeat.cut",),
        settled="v1.0 cuts where there are more than D_high",
    ),
    Ambiguity(
        "A23",
        "Whether a full mesh takes outbound peers.",
        ("gs1.1/outbound.inbound-refused",),
        settled="v1.0 accepts every GRAFT in its topics, and v1.1 takes those of inbound peers from that",
    ),
    Ambiguity(
        "A26",
        "Whether the outbound quota may take the place of one of the D_score best.",
        ("gs1.1/heartbeat.keep-best", "gs1.1/outbound.cut-quota"),
        settled="v1.1 replaces the random and lower scoring peers of the selection until D_out are outbound",
    ),
)
"""Places that were taken for open, and that a sentence settles after all. Routers differ in them, and
`--dialect` says which way a router takes the sentence; one that does not follow it fails."""

QUESTIONS: tuple[Question, ...] = (
    Question("A1", "IDONTWANT in relay", "who said it is skipped", ("idontwant-not-honoured",)),
    Question("A2", "IDONTWANT, then IWANT", "is answered", ("idontwant-stops-iwant-answers",)),
    Question("A2", "IDONTWANT of explicit peers", "are sent to anyway", ("idontwant-spares-explicit",)),
    Question("A5", "peers offered at the threshold", "are dialled", ("px-above-threshold-only",)),
    Question("A8", "an ignored message", "stays seen", ("ignored-forgotten",)),
    Question("A9", "subscriptions of the graylisted", "are ignored", ("graylisted-subscriptions-count",)),
    Question("A10", "payload and control", "payload comes first", ("control-before-payload",)),
    Question("A12", "PRUNE from outside the mesh", "starts a backoff", ("stranger-prune-ignored",)),
    Question("A12", "PRUNE in an unknown topic", "is ignored", ("prune-of-unknown-topic-backs-off",)),
    Question(
        "A13",
        "unsubscribed while in the mesh",
        "leaves it",
        ("unsubscribed-stays-in-mesh", "unsubscribed-stays-until-heartbeat"),
    ),
    Question("A13", "unsubscribed while in the fanout", "leaves it", ("unsubscribed-stays-in-fanout",)),
    Question(
        "A14",
        "GRAFT without announcement",
        "is accepted",
        ("graft-announces", "unannounced-graft-ignored", "unannounced-graft-pruned"),
    ),
    Question("A15", "publishing with an empty mesh", "reaches nobody", ("empty-mesh-passed-over",)),
    Question(
        "A16",
        "the bound on answers to IWANT",
        "holds per message while it is cached",
        ("iwant-counted-per-heartbeat", "iwant-capped-otherwise"),
    ),
    Question("A25", "life of a seen message", "from the first copy", ("seen-refreshed",)),
    Question("B1", "a new subscriber", "waits for the heartbeat", ("graft-on-subscribe",)),
    Question("B2", "a forged message of ours", "is not seen", ("own-from-outside-marked-seen",)),
    Question("B3", "a fanout below D in use", "waits for the heartbeat", ("fanout-filled-at-publish",)),
    Question("B4", "the cap on IHAVEs", "per peer and heartbeat", ("ihave-capped-otherwise",)),
    Question("B5", "IDONTWANT beyond the cap", "is not heeded", ("idontwant-evicts-oldest",)),
    Question("B6", "PRUNE with a backoff of 0", "starts the default backoff", ("zero-backoff-is-none",)),
    Question("B7", "IDONTWANT for a forged message", "is not sent", ("idontwant-before-signature",)),
    Question("B8", "the windows of what waited", "count from its verdict", ("cached-since-arrival",)),
    Question("B9", "a GRAFT just after the backoff", "is accepted", ("backoff-ends-at-heartbeat",)),
)

"""Those about open places: whichever reading a router has, it does not fail by it."""

SETTLED_QUESTIONS: tuple[Question, ...] = (
    Question("A3", "a mesh of D_high", "is let be", ("cut-at-d-high",)),
    Question("A23", "outbound GRAFT to a full mesh", "is accepted", ("outbound-refused-when-full",)),
    Question("A26", "quota against the best", "the quota is met", ("best-kept-before-quota",)),
)
"""Those about sentences that are plain. A router with one of their readings fails; `--dialect` names it."""

BY_ID: Mapping[str, Ambiguity] = {each.id: each for each in (*AMBIGUITIES, *SETTLED)}
