"""Runs that were thought of and not drawn; each is judged, and minimised, as the drawn ones are."""

from __future__ import annotations

from quidnunc.properties.networks.acts import acts_of
from quidnunc.properties.networks.places import Place
from quidnunc.properties.statements.dog.places import (
    FORGED,
    ONE_LEAVES,
    REPEATING_UNADJUSTED,
    RING_OF_FIVE,
    RING_OF_FIVE_LEFT,
    UNADJUSTED,
)
from quidnunc.properties.statements.statement import Run


def _run(text: str) -> Run:
    return tuple(map(str, acts_of(text)))


TWO_USERS: tuple[Place, Run] = (
    UNADJUSTED[0],
    _run(
        "submit A t1, offer A, deliver A>B, submit C t1, offer B, deliver B>C, offer C, deliver C>B, "
        "submit A t2, offer A, deliver A>B, offer B"
    ),
)
"""One transaction, two users."""
ONE_ROUTE_EACH: tuple[Place, Run] = (
    UNADJUSTED[2],
    _run(
        "submit A t1, submit A t2, offer A, offer A, deliver A>B, deliver A>B, offer B, offer B, "
        "deliver B>D, offer D, deliver D>C, deliver B>C, deliver B>C, offer C, offer C, deliver C>D, "
        "deliver B>D, deliver C>B, deliver D>B, submit A t3, offer A, deliver A>B, offer B, offer D"
    ),
)
"""Each node disables one route."""
ONE_ROUTE_EACH_ONE_QUEUE: tuple[Place, Run] = (
    RING_OF_FIVE,
    _run(
        "submit A t1, offer A, deliver A>E, offer E, deliver E>D, offer D, deliver D>C, deliver A>B, "
        "offer B, deliver B>C, deliver C>B, offer C, submit B t2, offer B, deliver B>C, offer C, "
        "deliver C>D, deliver B>A, offer A, deliver A>E, offer E, deliver E>D, deliver D>E, offer D, "
        "submit A t3, offer A, deliver A>B, deliver A>E, offer B, offer E"
    ),
)
"""The same, where all messages to a node are in one queue."""
CUT_OFF = (TWO_USERS, ONE_ROUTE_EACH, ONE_ROUTE_EACH_ONE_QUEUE)
"""Runs in which somebody never gets a transaction."""
ONE_ROUTE_EACH_ONE_LEAVES: tuple[Place, Run] = (
    RING_OF_FIVE_LEFT,
    _run(
        "submit A t1, offer A, deliver A>E, offer E, deliver E>D, offer D, deliver D>C, deliver A>B, "
        "offer B, deliver B>C, deliver C>B, offer C, submit B t2, offer B, deliver B>C, offer C, "
        "deliver C>D, deliver B>A, offer A, deliver A>E, offer E, deliver E>D, deliver D>E, offer D, "
        "deliver D>E, submit A t3, offer A, deliver A>B, deliver A>E, offer B, offer E, leave B, "
        "notice A B, notice C B, deliver E>A, deliver A>E, deliver C>D, deliver D>C, deliver D>E, "
        "deliver E>D"
    ),
)
"""The same, and one leaves."""
LEAVES_EARLY: tuple[Place, Run] = (
    ONE_LEAVES[0],
    _run(
        "submit A t1, offer A, deliver A>B, deliver A>C, offer B, deliver B>C, deliver C>B, offer C, "
        "submit A t2, offer A, deliver A>B, offer B, leave A, notice C A, notice B A, deliver B>C"
    ),
)
"""One leaves before what it has sent is taken."""
IN_BOUNDS: tuple[Place, Run] = (
    REPEATING_UNADJUSTED[0],
    _run(
        "submit A t1, submit A t2, offer A, offer A, deliver A>B, deliver A>B, offer B, offer B, "
        "deliver B>D, offer D, deliver D>C, deliver B>C, deliver B>C, offer C, offer C, deliver C>D, "
        "deliver B>D, deliver C>B, deliver D>B, submit A t3, offer A, deliver A>B, offer B, offer D, "
        "submit A t1, submit A t1, submit A t1, submit B t1, submit B t1, submit B t1, submit C t1, "
        "submit D t1"
    ),
)
"""Users repeat themselves until every redundancy is within bounds."""
IN_BOUNDS_ONE_QUEUE: tuple[Place, Run] = (
    REPEATING_UNADJUSTED[1],
    _run(
        "submit A t1, offer A, deliver A>E, offer E, deliver E>D, offer D, deliver D>C, deliver A>B, "
        "offer B, deliver B>C, deliver C>B, offer C, submit B t2, offer B, deliver B>C, offer C, "
        "deliver C>D, deliver B>A, offer A, deliver A>E, offer E, deliver E>D, deliver D>E, offer D, "
        "deliver D>E, submit A t3, offer A, deliver A>B, deliver A>E, offer B, offer E, submit A t1, "
        "submit A t1, submit A t1, submit B t1, submit B t1, submit B t1, submit C t1, submit C t1, "
        "submit D t1, submit D t1, submit E t1, submit E t1, submit E t1"
    ),
)
"""Users repeat themselves until every redundancy is within bounds, where queues are one."""
REPEATING_PEER: tuple[Place, Run] = (
    FORGED[0],
    _run(
        "submit A t1, say D>C tx t1, deliver D>C, offer A, deliver A>B, offer B, deliver B>C, "
        "deliver C>B, offer C, submit A t2, offer A, deliver A>B, offer B"
    ),
)
"""A Byzantine peer repeats what it is sent."""
