"""Acts of a network of mempool nodes, and how they are written.

    U(A,t1)     a user submits t1 at A            X(A)     A leaves
    D(A)        A offers the next of its pool     L(A,B)   A notices that B has left
    R(A,B)      A takes the oldest message of B   J(A,BC)  A joins, connected to B and C
    A(A)=B      A's controller runs; B is asked   W(A,200) 200 ms pass at A
    F(A,B,HaveTx t1)   B, who need not be honest, has said so to A

What stands behind "=" are the choices that were made, in order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias, cast

from attrs import frozen

from quidnunc.model.rpc import HaveTx, Part, Peer, ResetRoute, SeenTx, Tx, WantTx
from quidnunc.properties.network_runs import ActError

Kind: TypeAlias = Literal["U", "D", "R", "A", "X", "L", "J", "W", "F"]
Picks: TypeAlias = tuple[frozenset[Peer], ...]
SAYS: Mapping[str, type[Tx | HaveTx | SeenTx | WantTx]] = {
    "Tx": Tx,
    "HaveTx": HaveTx,
    "SeenTx": SeenTx,
    "WantTx": WantTx,
}


@frozen
class Act:
    """One step of the network. `peers` are the others concerned, `what` a transaction, a part or a time."""

    kind: Kind
    node: Peer
    peers: tuple[Peer, ...] = ()
    tx: str = ""
    part: Part | None = None
    ms: int = 0
    picks: Picks = ()

    def __str__(self) -> str:
        others = name_of(*self.peers)
        said = {"U": self.tx, "W": str(self.ms), "F": f"{others},{_said(self.part)}"}.get(self.kind, others)
        picked = ",".join(name_of(*sorted(each)) or "-" for each in self.picks)
        return (
            f"{self.kind}({name_of(self.node)}{',' + said if said else ''}){'=' + picked if picked else ''}"
        )


def name_of(*nodes: Peer) -> str:
    """A letter for each node."""
    return "".join(chr(64 + i) for i in nodes)


def node_named(letter: str) -> Peer:
    """The node of a letter. Raises ActError."""
    if len(letter) != 1 or not "A" <= letter <= "Z":
        raise ActError(f"{letter!r} is no node: nodes are letters A to Z")
    return ord(letter) - 64


_ACT = re.compile(r"([UDRAXLJWF])\(([A-Z])(?:,([^()]*))?\)(?:=([-A-Z,]+))?")


def act_of(text: str) -> Act:
    """Read one act. Raises ActError that shows the text."""
    found = _ACT.fullmatch(text.strip())
    if found is None:
        raise ActError(f"{text!r} is no act: expected such as U(A,t1), D(A), R(B,A), A(A)=B")
    kind, node, what = cast("Kind", found[1]), node_named(found[2]), found[3] or ""
    picks = tuple(
        frozenset() if each == "-" else frozenset(map(node_named, each))
        for each in (found[4] or "").split(",")
        if each
    )
    if kind == "U":
        return Act(kind, node, tx=what, picks=picks)
    if kind == "W":
        return Act(kind, node, ms=int(what), picks=picks)
    if kind == "F":
        sender, _, said = what.partition(",")
        return Act(kind, node, (node_named(sender),), part=_part_of(said), picks=picks)
    return Act(kind, node, tuple(map(node_named, what)), picks=picks)


def acts_of(text: str) -> tuple[Act, ...]:
    """Read acts with semicolons between them."""
    return tuple(act_of(each) for each in text.split(";") if each.strip())


def _said(part: Part | None) -> str:
    kind = type(part).__name__
    return f"{kind} {part.id}" if isinstance(part, Tx | HaveTx | SeenTx | WantTx) else kind


def _part_of(text: str) -> Part:
    kind, _, tx = text.partition(" ")
    if kind == "ResetRoute":
        return ResetRoute()
    if kind not in SAYS or not tx:
        raise ActError(f"{text!r} is no message: expected one of {', '.join(SAYS)} with an id, or ResetRoute")
    return SAYS[kind](tx)
