"""The fifty statements that the documents about Flood, DOG, CAT and the peer limit make or rely on.

Each with how it is read here where that is not plain, where it is looked at, and what looks at it. One that
none of these engines can decide names the one that can.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from quidnunc.properties import cat_statements as cat
from quidnunc.properties import dog_claims as one
from quidnunc.properties import dog_claims_ends as end
from quidnunc.properties.dog_places import (
    BOTH,
    CATS,
    CHANGING,
    CHURN,
    CUT,
    FORGED,
    GRAPHS,
    KITE,
    LIMITED,
    LIMITED_CHANGING,
    LINE,
    ONE_LEAVES,
    PAIR,
    REPEATING,
    RING,
    UNADJUSTED,
    WAITING,
    Place,
)
from quidnunc.properties.mempool_search import Look, Move

Occasion = Callable[[Move], bool]


@frozen
class Statement:
    """One statement."""

    id: str
    says: str
    families: tuple[str, ...] = ("dog",)
    look: Look | None = None
    places: tuple[Place, ...] = BOTH
    reading: str = ""
    occasion: Occasion | None = None
    """What must have happened for it to be put to the test; nothing more than a run, where that is enough."""
    rounds: bool = False
    """It plays rounds from every quiet state, so that fewer states are looked at."""
    needs: str = ""
    """The engine that it needs, and why."""


ALL = ("flood", "dog")
STATEMENTS: tuple[Statement, ...] = (
    Statement(
        "P-1",
        "A pool has no repeats, what was offered is of the pool, cache and pool are one set.",
        ALL,
        one.always(one.pool_is_sound),
        reading="No repeats by construction: a pool is a mapping in the model.",
    ),
    Statement(
        "P-2",
        "Senders are known of the pool only, without repeats, and never the node itself.",
        ALL,
        one.always(one.senders_are_sound),
        occasion=one.gets_a_sender,
    ),
    Statement(
        "P-3",
        "Routes stored at a node never mention it.",
        look=one.always(one.routes_are_of_others),
        occasion=one.cuts,
    ),
    Statement(
        "P-4",
        "HaveTx of q adds one route at most, to q; ResetRoute of q removes one at most, to q; otherwise "
        "only the loss of a peer changes routes.",
        look=one.always(one.only_heard_routes_change),
        occasion=one.cuts,
    ),
    Statement(
        "P-5",
        "A HaveTx(t) on its way to p implies that p has t.",
        look=one.always(one.have_tx_is_of_the_pool),
        occasion=one.says_have_tx,
    ),
    Statement(
        "P-6",
        "Between two adjustments that unblock, a node says one HaveTx at most.",
        look=one.one_have_tx_between_unblocks,
        occasion=one.says_have_tx,
    ),
    Statement(
        "P-7",
        "The lower bound is not above the upper; one adjustment does not both reset and unblock.",
        look=one.always(one.adjustment_is_one),
        occasion=one.adjusts,
    ),
    Statement(
        "P-8",
        "After an adjustment with traffic the counters are 0; without, nothing has changed.",
        look=one.always(one.adjustment_starts_anew),
        occasion=one.adjusts,
    ),
    Statement(
        "P-9",
        "Nobody leaves: messages on their way are between peers, who know each other, and routes "
        "mention peers.",
        ALL,
        one.always(one.links_are_sound),
    ),
    Statement(
        "P-10",
        "Disabled routes never mention who is no peer.",
        look=one.always(one.routes_are_of_peers),
        places=CHANGING,
        occasion=one.cuts,
    ),
    Statement(
        "P-11",
        "Source and target of a route differ.",
        look=one.always(one.no_self_route),
        occasion=one.cuts,
    ),
    Statement(
        "P-12",
        "In one iteration of the controller, one HaveTx or one ResetRoute is said at most.",
        look=one.one_control_message_a_window,
        reading="An iteration begins with its adjustment.",
        occasion=one.says_have_tx,
    ),
    Statement(
        "P-13",
        "Who says HaveTx found too much at its last adjustment that was not idle.",
        look=one.have_tx_after_high,
        reading="Before the first one there was none.",
        occasion=one.says_have_tx,
    ),
    Statement(
        "P-14",
        "One HaveTx of a node is on its way at most.",
        look=one.always(one.one_have_tx_in_flight),
        occasion=one.says_have_tx,
    ),
    Statement(
        "P-15",
        "ResetRoute goes to a peer.",
        look=one.always(one.asked_is_a_peer),
        places=CHANGING,
        occasion=one.asks,
    ),
    Statement(
        "P-16",
        "Flood's invariant: if A is a sender of x at B, no x of B is on its way to A.",
        ALL,
        one.always(one.not_sent_back),
    ),
    Statement(
        "P-17",
        "Where messages wait, a next step can be taken.",
        ALL,
        one.always(one.inboxes_move),
        places=(*BOTH, Place("ring", CHURN)),
        reading="A step that takes one of the messages.",
    ),
    Statement("P-18", "Some node always has peers.", ALL, one.always(one.network_lives), places=CHANGING),
    Statement(
        "P-19",
        "What a user submits is offered to all peers.",
        ALL,
        one.own_goes_to_all,
        reading="But for those who have sent it.",
    ),
    Statement(
        "P-20",
        "If from some time on a node hears too little at each adjustment, something new in each "
        "window, from the same peers, then a route to it that is disabled is removed in the end.",
        look=end.in_rounds(end.somewhere, end.stays_cut_with_traffic),
        rounds=True,
        occasion=one.cuts,
    ),
    Statement(
        "P-21",
        "P-20 without something new in each window.",
        look=end.in_rounds(end.nowhere, end.stays_cut),
        rounds=True,
        occasion=one.cuts,
    ),
    Statement(
        "P-22",
        "While a node hears too little the number of disabled routes to it does not grow.",
        look=one.none_cut_while_low,
        occasion=one.cuts,
    ),
    Statement(
        "P-23",
        "Flood, nobody leaves, connected: what is in one pool is in all in the end.",
        ("flood",),
        end.everyone_has_it,
        (PAIR, RING, LINE, KITE),
        occasion=one.gets_a_sender,
    ),
    Statement(
        "P-24",
        "DOG, one node leaves, T = 1: all connected nodes get every transaction.",
        look=end.everyone_has_it_after_loss,
        places=ONE_LEAVES,
        occasion=one.has_left,
    ),
    Statement(
        "P-25",
        "DOG, nobody leaves, one HaveTx of each node: every transaction reaches all.",
        look=end.everyone_has_it_after(1),
        places=CUT,
        occasion=one.cuts,
    ),
    Statement(
        "P-26",
        "After P-25 the controller repairs.",
        look=end.in_rounds(end.at_each, end.goes_without),
        places=CUT,
        rounds=True,
        reading="From any quiet state, one user submitting for ever.",
        occasion=one.cuts,
    ),
    Statement(
        "P-27",
        "An interval not below the longest round trip excludes isolation.",
        look=end.everyone_has_it_after(1),
        places=UNADJUSTED,
        reading="A run without adjustment fits into one interval of any length.",
        occasion=one.cuts,
    ),
    Statement(
        "P-28",
        "T = 0 with HaveTx alone: a static honest network still delivers.",
        look=end.everyone_has_it_after(1),
        places=UNADJUSTED,
        reading="A run without adjustment is one for every T.",
        occasion=one.cuts,
    ),
    Statement(
        "P-29",
        "Routes converge to a superposition of spanning trees.",
        look=end.in_rounds(end.at_each, end.no_tree),
        rounds=True,
        reading="In rounds that repeat, each node gets one copy.",
    ),
    Statement(
        "P-30",
        "With every node's redundancy within bounds all transactions are delivered.",
        look=end.everyone_has_it_in_band,
        places=(RING, *REPEATING),
        occasion=one.is_in_band,
    ),
    Statement(
        "P-31",
        "P-30 in the large: the delivered fraction tends to 1.",
        needs="a simulation of hundreds of nodes: a limit is no property of a small network; P-30 is refuted",
    ),
    Statement(
        "P-32",
        "Redundancy stays within bounds in the end.",
        look=end.in_rounds(end.everywhere, end.out_of_band),
        rounds=True,
    ),
    Statement(
        "P-33",
        "T > 0 protects against one Byzantine peer.",
        look=end.honest_have_it,
        places=FORGED,
        reading="An honest node that lacks something of another has a redundancy that asks for more.",
        occasion=one.cuts,
    ),
    Statement(
        "P-34",
        "No peer can force the traffic of Flood.",
        places=FORGED,
        look=one.uncounted(lambda m: m.act.kind == "R" and m.act.peers == (4,), "what D sent"),
        reading="What one peer sends does not make another node ask for more, or for less.",
        occasion=one.asks,
    ),
    Statement(
        "P-35",
        "A node's own RPC load does not affect its routing.",
        look=one.uncounted(lambda m: m.act.kind == "U", "its own"),
        places=(PAIR,),
    ),
    Statement(
        "P-36",
        "CAT: one SeenTx(t) for each peer's connection at most.",
        ("cat",),
        cat.announced_once,
        (*CATS, *WAITING),
        occasion=one.announces,
    ),
    Statement(
        "P-37",
        "CAT: one WantTx of a transaction is outstanding at most.",
        ("cat",),
        cat.one_request,
        (*CATS, *WAITING),
        occasion=one.wants,
    ),
    Statement(
        "P-38",
        "CAT: what a live peer announces is obtained in the end.",
        ("cat",),
        cat.obtained,
        (*CATS, *WAITING),
        occasion=one.wants,
    ),
    Statement(
        "P-39",
        "CAT: WantTx after SeenTx of that peer only; SeenTx after storage only.",
        ("cat",),
        cat.asked_who_announced,
        (*CATS, *WAITING),
        occasion=one.wants,
    ),
    Statement(
        "P-40",
        "CAT: without timeouts one copy comes, and those that are pushed.",
        ("cat",),
        cat.received_once,
        CATS,
        occasion=one.wants,
    ),
    Statement(
        "P-41",
        "CAT: every peer learns of t.",
        ("cat",),
        cat.everyone_learns,
        (*CATS, Place("star", "UR", 1, announced=1, text="one peer is told")),
    ),
    Statement(
        "P-42",
        "Peer limit: the directed gossip graph stays connected if the peers' graph is.",
        ("peer-limit",),
        end.everyone_has_it,
        LIMITED,
        reading="What one submits reaches all.",
    ),
    Statement(
        "P-43",
        "Peer limit: a free slot with a waiter is taken within 30 s.",
        ("peer-limit",),
        one.always(one.no_idle_slot),
        (*LIMITED, *LIMITED_CHANGING),
        reading="At once: the model has no timed acquire.",
    ),
    Statement(
        "P-44",
        "Flood: one submission, everyone forwards before it hears a duplicate: 2E-(N-1) copies.",
        ("flood",),
        end.copies,
        tuple(Place(graph, "UDR", 1, origins=(1,), text="one submission") for graph in GRAPHS),
        occasion=one.gets_a_sender,
    ),
    Statement(
        "P-45",
        "ResetRoute leads to more duplicates in the end.",
        rounds=True,
        look=end.in_rounds(end.everywhere, end.asks_in_vain),
        occasion=one.asks,
    ),
    Statement(
        "P-46",
        "DOG is not slower than Flood.",
        look=end.as_near_as_flood,
        places=(LINE, RING, KITE),
        reading="In hops, when nothing else moves.",
        occasion=one.cuts,
    ),
    Statement(
        "P-47",
        "What is withheld on a disabled route has come by another way.",
        look=end.withheld_has_it,
        places=CUT,
        occasion=one.cuts,
    ),
    Statement(
        "P-48",
        "A HaveTx for an RPC transaction with no sender is harmless and useless.",
        look=one.always(one.of_no_sender_is_harmless),
        reading="Harmful: its sender has used up its permission, and no route is cut.",
        occasion=one.says_have_tx,
    ),
    Statement(
        "P-49",
        "The metric of disabled routes equals their number after each event.",
        needs="a node with metrics: a test holds those of ours (`config.metrics`), none those of Go",
    ),
    Statement(
        "P-50",
        "Permanent silence is impossible if every node submits in each window.",
        rounds=True,
        look=end.in_rounds(end.everywhere, end.silence),
        occasion=one.asks,
    ),
)

CLAUSES = {
    "P-10": "dog/peer.forget-routes",
    "P-11": "dog/havetx.self-route",
    "P-12": "dog/controller.one-message",
    "P-13": "dog/havetx.then-blocked",
    "P-14": "dog/havetx.then-blocked",
    "P-15": "dog/peer.reset-not-to-lost",
    "P-16": "flood/send.at-decision",
    "P-17": "dog/reset.none",
    "P-19": "dog/send.own-unfiltered",
    "P-21": "dog/controller.idle",
    "P-22": "dog/controller.one-message",
    "P-24": "dog/peer.forget-routes",
    "P-25": "dog/havetx.first-sender",
    "P-26": "dog/controller.reset",
    "P-29": "dog/route.filter",
    "P-32": "dog/controller.in-band",
    "P-33": "dog/havetx.first-sender",
    "P-34": "dog/count.duplicate",
    "P-35": "dog/count.user-duplicate",
    "P-41": "cat/submit.push",
    "P-42": "peer-limit/send.at-most",
    "P-45": "dog/reset.not-retroactive",
    "P-46": "dog/route.filter",
    "P-47": "dog/route.filter",
    "P-48": "dog/havetx.no-sender",
}
"""Statement -> the clause that a case of it is filed under. P-30 has none: its run is too long for one."""
