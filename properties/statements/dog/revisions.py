"""The revisions of Flood, DOG, CAT and the peer limit that there is a model of."""

from __future__ import annotations

from functools import cache

from attrs import evolve

from quidnunc.model.choices import Choose
from quidnunc.model.machine import protocol_named
from quidnunc.model.mempool.node import Node
from quidnunc.model.mempool.node_step import run
from quidnunc.model.parameters import DogParameters
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import ReceivedPart
from quidnunc.model.rpc import Peer, Tx
from quidnunc.model.rules import Protocol, rule
from quidnunc.properties.networks.network import Transport
from quidnunc.properties.networks.places import Revision

AS_BUILT = "cat-classic-go"
"""Classic CAT as the Go node has it, by its code."""
TRIGGERED = "dog-adr-triggered"
"""A third reading of ADR-119, of which what is recorded stands apart."""
BY_CODE = ("dog-go", AS_BUILT)
"""Read from the code of a node whose peers have a routine each."""
FLOOD = ("flood",)
DOG = ("dog", "dog-adr", "dog-adr-prose", "dog-quint", "dog-quint-run", "dog-go", "dog-proposed")
CAT = ("cat-classic", AS_BUILT, "cat")
PEER_LIMIT = ("peer-limit",)
FLOODING = (*FLOOD, *DOG)
NAMES = (*FLOODING, *CAT, *PEER_LIMIT)
"""In the order of the table."""
GROUPS = {"flood": FLOOD, "dog": DOG, "flooding": FLOODING, "cat": CAT, "peer-limit": PEER_LIMIT}


@cache
def revision(name: str) -> Revision:
    """The revision of that name."""
    protocol = _as_built() if name == AS_BUILT else protocol_named(name)
    if "quint" in name:
        return quint_revision(protocol)
    return Revision(name, protocol, transport=Transport(routines=name in BY_CODE))


def quint_protocol() -> Protocol:
    """The protocol that our Quint text is a text of: the published semantics with what makes it run."""
    return protocol_named("dog-quint-run")


def quint_revision(protocol: Protocol | None = None) -> Revision:
    """A network as dog.md has it, with the numbers that the traces are taken with."""
    # The constants of networks.qnt. In integers both bounds of a target of 1 are 1.
    parameters = DogParameters(target_redundancy=1.0, delta_percent=10.0)
    protocol = protocol or quint_protocol()
    return Revision(protocol.name, protocol, parameters, Transport(one_queue=True, leaver_keeps=True))


@rule("cat-classic/receive.new-only")
def announce_known(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """What is in the pool already is announced as well."""
    if t.part.id in n.pool:
        return run(n, "announce", t.part.id, choose)
    return run(n, "new", t, choose) if not n.knows(t.part.id) else None


def _as_built() -> Protocol:
    return evolve(protocol_named("cat-classic").with_rule("take_new", announce_known), name=AS_BUILT)


@rule("dog/controller.interval")
def adjust_and_unblock(n: Node, lost: Peer | None, choose: Choose) -> Step[Node]:
    """Whatever the redundancy, one HaveTx may be said after the mechanism has been triggered."""
    step = run(n, "controller", lost, choose)
    return Step(evolve(step.router, blocked=False), step.permits)


def unblocked_whenever_triggered() -> Revision:
    """ADR-119 by "unblocked by the redundancy control mechanism once it is triggered again" alone.

    `dog-adr` reads that with the pseudo-code, where redundancy above the bounds alone enables route
    disabling.
    """
    protocol = protocol_named("dog-adr").with_rule("look_at_counters", adjust_and_unblock)
    return Revision(TRIGGERED, evolve(protocol, name=TRIGGERED))
