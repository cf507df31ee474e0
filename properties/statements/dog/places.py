"""Small networks of mempool nodes in which statements are looked at."""

from __future__ import annotations

from typing import Any

from quidnunc.properties.networks.acts import Kind
from quidnunc.properties.networks.places import Place

NO_ADJUSTMENT: tuple[Kind, ...] = ("submit", "offer", "deliver")
STILL: tuple[Kind, ...] = (*NO_ADJUSTMENT, "adjust")
LEAVING: tuple[Kind, ...] = (*STILL, "leave", "notice")
CHURN: tuple[Kind, ...] = (*LEAVING, "join")
PATIENT: tuple[Kind, ...] = ("submit", "deliver")
_LIFE = {
    STILL: "nobody leaves",
    CHURN: "nodes leave and join",
    LEAVING: "one node leaves",
    NO_ADJUSTMENT: "no adjustment",
    PATIENT: "no request expires",
}


def place(
    graph: str, kinds: tuple[Kind, ...] = STILL, messages: int = 2, text: str = "", **more: Any
) -> Place:
    """A place with two transactions, named for what its nodes do."""
    return Place(graph, kinds, text or _LIFE[kinds], messages=messages, **more)


REPEATED = "users repeat themselves"
ONE_SLOT = {"dog": False, "max_non_persistent": 1}

PAIR, LINE, RING = place("pair"), place("line"), place("ring")
KITE = place("kite", messages=3)
BOTH = (PAIR, RING)
REPEATING = tuple(place(graph, messages=3, again=True, text=REPEATED) for graph in ("line", "kite"))
CHANGING = (place("pair", CHURN), place("ring", CHURN))
UNADJUSTED = (
    place("line", NO_ADJUSTMENT),
    place("ring", NO_ADJUSTMENT),
    place("kite", NO_ADJUSTMENT, 3),
)
CUT = (*UNADJUSTED, *REPEATING)
ONE_LEAVES = (place("ring", LEAVING), place("kite", LEAVING, 3))
RING_OF_FIVE = place("ring of five", NO_ADJUSTMENT, 3)
RING_OF_FIVE_LEFT = place("ring of five", LEAVING, 3)
REPEATING_UNADJUSTED = tuple(
    place(graph, NO_ADJUSTMENT, 3, "no adjustment, users repeat themselves", again=True)
    for graph in ("kite", "ring of five")
)
LIMITED = tuple(
    place(graph, NO_ADJUSTMENT, text="one slot", changes=ONE_SLOT) for graph in ("line", "ring", "star")
)
LIMITED_CHANGING = (
    place(
        "ring",
        (*NO_ADJUSTMENT, "leave", "notice", "join"),
        1,
        "one slot, nodes leave and join",
        changes=ONE_SLOT,
    ),
)
FORGED = (
    place(
        "line of four",
        text="D says what it likes",
        attackers=(4,),
        says=("resetroute", "tx t1", "havetx t1", "tx t2", "havetx t2"),
    ),
)
CATS = (place("kite", PATIENT, 1), place("ring of four", PATIENT, 1))
WAITING = tuple(
    place(graph, (*PATIENT, "wait"), 1, "requests expire", wait_ms=200) for graph in ("kite", "ring of four")
)
ONE_IS_TOLD = place("star", PATIENT, 1, "one peer is told", changes={"max_announced_peers": 1})
ONE_SUBMISSION = tuple(
    place(graph, NO_ADJUSTMENT, 1, "one submission", origins=(1,))
    for graph in (
        "pair", "line", "ring", "star", "line of four", "ring of four", "ring of five", "kite", "diamond",
        "mesh of four",
    )
)  # fmt: skip
