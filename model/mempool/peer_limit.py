"""The limit on how many peers are sent transactions: a slot for each, in two classes, and peers that wait.

CometBFT's experimental_max_gossip_connections_to_{persistent,non_persistent}_peers, beside Flood. Who of the
waiting gets a slot that becomes free is not said, and shows with what it is sent.
"""

from __future__ import annotations

from quidnunc.model.choices import Choose, PartialSet
from quidnunc.model.mempool.flood import FloodObservation, offer
from quidnunc.model.mempool.node import Node
from quidnunc.model.mempool.node_step import run
from quidnunc.model.permits import Step
from quidnunc.model.rpc import Peer
from quidnunc.model.rules import rule

ALWAYS = "always"
"""In the place of a class: those that need no slot."""


def class_of(n: Node, peer: Peer) -> str:
    return "persistent" if peer in n.parameters.persistent_peers else "other"


def limit_of(n: Node, name: str) -> int:
    """The slots of a class; 0 where it is not limited."""
    return n.parameters.max_persistent if name == "persistent" else n.parameters.max_non_persistent


def members(n: Node, name: str) -> frozenset[Peer]:
    """The connected peers of a class that need a slot."""
    free = n.slots_of(ALWAYS).must
    return frozenset(p for p in n.peers if p not in free and class_of(n, p) == name)


# -- a peer comes -----------------------------------------------------------------------------------------


@rule(
    "peer-limit/slot.by-connection",
    lacking="Gives no slot to a peer that connects.",
    when="it decides whether a new peer gets a slot",
)
def enter(n: Node, peer: Peer, choose: Choose) -> Step[Node] | None:
    """Once, when it connects. Nothing is said to it."""
    return run(n, "enter", peer, choose)


@rule(
    "peer-limit/send.unconditional",
    lacking="Limits unconditional peers as well.",
    when="it lets in an unconditional peer",
)
def unconditional(n: Node, peer: Peer, choose: Choose) -> Step[Node] | None:
    return _taken(n, ALWAYS, peer) if peer in n.parameters.unconditional_peers else None


@rule(
    "peer-limit/config.limits",
    lacking="Limits a class of peers whose limit is 0.",
    when="it lets in a peer of a class whose limit is 0",
)
def unlimited(n: Node, peer: Peer, choose: Choose) -> Step[Node] | None:
    """A limit of 0 is none; that of the other class is no matter."""
    return _taken(n, ALWAYS, peer) if not limit_of(n, class_of(n, peer)) else None


@rule(
    "peer-limit/slot.by-connection",
    lacking="Leaves a free slot empty when a peer connects.",
    when="it gives a free slot to a new peer",
)
def take_free_slot(n: Node, peer: Peer, choose: Choose) -> Step[Node] | None:
    """Who comes while there is one has it."""
    name = class_of(n, peer)
    return _taken(n, name, peer) if n.slots_of(name).most < limit_of(n, name) else None


@rule(
    "peer-limit/slot.held",
    lacking="Gives a new peer the slot of another.",
    when="it lets a new peer wait for a slot",
)
def wait_for_slot(n: Node, peer: Peer, choose: Choose) -> Step[Node]:
    """Those who have one keep it."""
    return Step(n)


def _taken(n: Node, name: str, peer: Peer) -> Step[Node]:
    known = n.slots_of(name)
    more = PartialSet(known.must | {peer}, known.may, known.least + 1, known.most + 1)
    return Step(n.with_slots(name, more))


# -- to whom it goes --------------------------------------------------------------------------------------


@rule(
    "peer-limit/send.at-most",
    lacking="Sends transactions to peers without a slot.",
    when="it checks whether a peer has a slot before it sends a transaction",
)
def without_slot(n: Node, tx: str, peer: Peer) -> bool | None:
    """Who has no slot is not sent anything; of whom it is not known, it shows with this transaction."""
    held = [known.holds(peer) for known in n.slots.values()]
    return False if True in held else None if None in held else True


@rule(
    "peer-limit/send.at-most",
    lacking="Moves a slot from one peer to another while both are connected.",
    when="it sends a transaction to the peers with a slot",
)
def learn_slots(n: Node, s: FloodObservation, choose: Choose) -> Step[Node]:
    for name, known in n.slots.items():
        got = known.must | (s.sent & known.may)
        left = known.may - s.free
        n = n.with_slots(name, PartialSet(got, left, known.least, known.most).settled())
    return Step(n)


# -- a peer goes ------------------------------------------------------------------------------------------


@rule(
    "peer-limit/slot.freed",
    lacking="Keeps the slot of a peer that disconnects.",
    when="it frees the slot of a peer that disconnects",
)
def free_slot(n: Node, lost: Peer, choose: Choose) -> Step[Node] | None:
    """Who is gone holds none."""
    of = next((name for name, known in n.slots.items() if lost in known.all), None)
    return Step(n.with_slots(of, n.slots[of].less([lost]))) if of is not None else None


@rule(
    "peer-limit/slot.freed",
    lacking="Leaves the slot of a peer that disconnects empty.",
    when="it passes on the slot of a peer that disconnects",
)
def pass_slot_on(n: Node, lost: Peer, choose: Choose) -> Step[Node] | None:
    """It goes to one that waits in its class, which is then offered the whole pool from the front."""
    passed = slots_passed_on(n, lost)
    if passed is None:
        return None
    n, waiting = passed
    total: Step[Node] = Step(n)
    for tx in n.pool:
        total = total.then(offer(total.router, tx, waiting, "peer-limit/slot.freed", choose))
    return total


def slots_passed_on(n: Node, lost: Peer) -> tuple[Node, frozenset[Peer]] | None:
    """The node whose free slot of the class of `lost` has gone to one of those who may wait, and these; None
    where no slot became free, or nobody waits."""
    name = class_of(n, lost)
    known, left = n.slots_of(name), members(n, name) - {lost}
    count = min(limit_of(n, name), len(left))
    if known.least >= count:
        return None
    waiting = left - known.must
    return n.with_slots(name, PartialSet(known.must, waiting, count, count).settled()), waiting
