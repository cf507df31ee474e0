"""Refuted lines of `quidnunc prove` as claims on networks of routers.

A line is of rules that leave most of a router out; a case shows it of whole routers, by the name of the line
as its claim. A line that says what happens for ever is shown by a state that comes back, after a heartbeat of
each router, with what should have ended in between. The cases are in
`tools.line_cases`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from quidnunc.model.rpc import Graft, Peer
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.mempool import MempoolMove
from quidnunc.properties.networks.pubsub import TOPIC, PubsubMove, RouterStep
from quidnunc.properties.networks.runs import BrokenClaim, Memory
from quidnunc.properties.networks.world import Look
from quidnunc.properties.statements.dog import moves as dog_moves
from quidnunc.properties.statements.gossipsub.steps import always, is_heartbeat, sent_parts

MAX_REMEMBERED = 400
"""States of a run that are looked for again."""

_Past = tuple[tuple[object, str, frozenset[Peer]], ...]
"""Of each state so far: what it was, what happened since, and who had a heartbeat since."""


def degree_is_capped_throughout(seen: RouterStep) -> str:
    """A mesh has D_high members at most, between heartbeats too."""
    degree, cap = len(seen.after.mesh_of(TOPIC)), seen.after.parameters.d_high
    return f"{name_of(seen.node)} has {degree} members, D_high is {cap}" if degree > cap else ""


def comes_to_an_end(what: Callable[[PubsubMove], str]) -> Look:
    """What a move says does not happen between a state and the same state again."""

    def look(memory: Memory, move: PubsubMove) -> Memory:
        happened = what(move)
        beating = frozenset(seen.node for seen in move.steps if is_heartbeat(seen))
        first = (move.before.key(), "", frozenset[Peer]())
        past: _Past = tuple(
            (key, since or happened, beats | beating)
            for key, since, beats in cast("_Past", memory or (first,))
        )
        key = move.after.key()
        for before, since, beats in past:
            if before == key and since and beats >= move.after.nodes.keys():
                return BrokenClaim(f"the same again: {since}, and so for ever")
        return (*past, (key, "", frozenset[Peer]()))[-MAX_REMEMBERED:]

    return look


def link_taken_away(move: PubsubMove) -> str:
    """Who lost whom from its mesh."""
    for seen in move.steps:
        gone = seen.before.mesh_of(TOPIC) - seen.after.mesh_of(TOPIC)
        if gone:
            return f"{name_of(seen.node)} drops {','.join(map(name_of, sorted(gone)))}"
    return ""


def graft_sent(move: PubsubMove) -> str:
    """Who grafted whom."""
    for seen in move.steps:
        if grafts := sent_parts(seen, Graft):
            return f"{name_of(seen.node)} grafts {name_of(grafts[0][0])}"
    return ""


PUBSUB: Mapping[str, Look] = {
    "mesh-star.ceiling": always(degree_is_capped_throughout),
    "mesh-star.rest": comes_to_an_end(link_taken_away),
    "mesh-star.quiet": comes_to_an_end(graft_sent),
    "mesh-star-inbound.quiet": comes_to_an_end(graft_sent),
    "mesh-star-inbound-go.rest": comes_to_an_end(link_taken_away),
    "mesh-star-inbound-go.quiet": comes_to_an_end(graft_sent),
    "mesh-star-outbound.ceiling": always(degree_is_capped_throughout),
    "mesh-star-outbound.rest": comes_to_an_end(link_taken_away),
    "mesh-star-outbound.quiet": comes_to_an_end(graft_sent),
}

READ_SO: Mapping[str, str] = {
    "mesh-star-inbound-go.rest": "cut-at-d-high",
    "mesh-star-inbound-go.quiet": "cut-at-d-high",
}
"""Line -> the reading that its rules have (`quidnunc.model.edits.catalogue`), where they are not a revision's
own.
"""


# -- routes of DOG ------------------------------------------------------------------------------------------


def somebody_hands_on(move: MempoolMove) -> str:
    """Of the neighbours of a node some hands on to it what it has from another."""
    for name, i, n in dog_moves.nodes(move):
        neighbours = sorted(n.peers)
        kept = [
            (p, s)
            for p in neighbours
            for s in neighbours
            if p != s and (s, i) not in dog_moves.routes_of(move.after.nodes[p])
        ]
        if len(neighbours) > 1 and not kept:
            return f"no neighbour of {name} hands on to it what another has sent"
    return ""


_DOG = (
    *("dog-routes", "dog-routes-adr", "dog-routes-adr-prose", "dog-routes-quint", "dog-routes-go"),
    "dog-routes-proposed",
)

MEMPOOL: Mapping[str, Look] = {f"{name}.not-cut-off": dog_moves.always(somebody_hands_on) for name in _DOG}
