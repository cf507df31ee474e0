"""What one attacker can do, and what no peer may bring about."""

from __future__ import annotations

from typing import cast

from quidnunc.model.choices import Choose
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import ReceivedPart, Router
from quidnunc.model.pubsub.step import run
from quidnunc.model.rpc import Message
from quidnunc.model.rules import Protocol, Rule
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.pubsub import PubsubMove
from quidnunc.properties.networks.runs import BrokenClaim, Memory
from quidnunc.properties.statements.gossipsub import places
from quidnunc.properties.statements.gossipsub.messages import over_the_mesh
from quidnunc.properties.statements.gossipsub.partial import group_is_open
from quidnunc.properties.statements.gossipsub.revisions import since
from quidnunc.properties.statements.gossipsub.steps import (
    AT_REST,
    always,
    grafts,
    received_parts,
)
from quidnunc.properties.statements.statement import Statement


def honest_do_not_back_off(memory: Memory, move: PubsubMove) -> Memory:
    """No router backs off from another router."""
    for i, r in sorted(move.after.nodes.items()):
        for (_, peer), ends in sorted(r.backoff.items()):
            if peer in move.after.nodes and ends > r.now_ms:
                return BrokenClaim(f"{name_of(i)} backs off from {name_of(peer)}")
    return None


def forges(move: PubsubMove) -> bool:
    """Somebody gets a copy that breaks the policy."""
    return any(m.flaw for seen in move.steps for m in received_parts(seen, Message))


def telling_before_the_signature(protocol: Protocol) -> Protocol:
    """IDONTWANT is said of a copy before its signature is looked at."""
    plain = next(each for each in protocol["message"].rules if each.name == "flawed")

    def told(r: Router, m: ReceivedPart[Message], choose: Choose) -> Step[Router] | None:
        dropped = cast("Step[Router] | None", plain.step(r, m, choose))
        if dropped is None or m.part.id in r.seen:
            return dropped
        return run(r, "announce", m, choose)

    return protocol.with_rule("flawed", Rule("flawed", plain.clause, told))


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        id="attack.bad-copy-does-not-block-good",
        old_id="P115",
        says="A copy that breaks the policy does not make a good one a duplicate.",
        revisions=since("floodsub"),
        claims=("signing.enforced",),
        look=over_the_mesh,
        places=(places.FORGED,),
        occasion=forges,
        assumes=f"{AT_REST} The mesh of the honest is one component and does not change meanwhile.",
    ),
    Statement(
        id="attack.forged-copies-do-not-stop-delivery",
        old_id="P116",
        says=(
            "Every subscriber gets what is published over a connected mesh, though one forges messages "
            "of others by their ids."
        ),
        revisions=since("gossipsub-1.2-draft"),
        claims=("signing.enforced",),
        look=over_the_mesh,
        places=(places.FORGED,),
        occasion=forges,
        assumes=f"{AT_REST} The mesh of the honest is one component and does not change meanwhile.",
        reading="IDONTWANT is said of copies that keep to the signature policy.",
    ),
    Statement(
        id="attack.idontwant-before-signature",
        old_id="P116b",
        says="The same, where IDONTWANT is said before the signature is looked at.",
        revisions=since("gossipsub-1.2-draft"),
        clauses=("gs1.2/idontwant.immediate",),
        look=over_the_mesh,
        places=(places.FORGED,),
        occasion=forges,
        edit=telling_before_the_signature,
        assumes=f"{AT_REST} The mesh of the honest is one component and does not change meanwhile.",
        reading="IDONTWANT before validation can be read so; go-libp2p-pubsub does it, by its code.",
    ),
    Statement(id="attack.prune-of-a-stranger", old_id="P117",
              says="A PRUNE of who is no member changes nothing but its own backoff.",
              revisions=since("gossipsub-1.0"), claims=("prune.effective", "prune.unanswered")),
    Statement(
        id="attack.honest-routers-do-not-back-off",
        old_id="P118",
        says="An attacker cannot make two honest routers back off from each other.",
        revisions=since("gossipsub-1.1"),
        clauses=("gs1.1/backoff.both-ends",),
        look=honest_do_not_back_off,
        places=(places.CROWDED,),
        occasion=grafts,
    ),
    Statement(id="attack.iwant-is-bounded", old_id="P119",
              says="What IWANT makes a router send is bounded in a heartbeat.",
              revisions=since("gossipsub-1.1"), claims=("iwant.bounded",)),
    Statement(
        id="attack.groups-cannot-be-used-up",
        old_id="P120",
        says="Nobody can use up the groups that others may start.",
        revisions=("partial-messages-jvm", "partial-messages-go"),
        claims=("partial-jvm.caps", "partial.groups-bounded"),
        clauses=("pm-jvm/group.topic-cap",),
        look=always(group_is_open),
        places=(places.SQUATTED,),
        reading="At any time, by as many peers as it takes. In the merged text the caps are advice.",
    ),
    Statement(id="robustness.no-bytes-crash-it", old_id="P109",
              says="No bytes crash a router or hang it; malformed ones close that stream at most.",
              revisions=since("floodsub"), claims=("rpc.total",)),
    Statement(id="robustness.memory-is-bounded", old_id="P110",
              says="What a peer can make a router keep is bounded, and goes with it.",
              revisions=since("floodsub"), claims=("idontwant.capped", "partial.groups-bounded"),
              needs="a real router: the model keeps what it likes"),
    Statement(id="robustness.sending-is-bounded", old_id="P111",
              says="What a peer can make a router send is bounded.", revisions=since("floodsub"),
              claims=("iwant.bounded",), needs="a real router: the model has no bytes"),
    Statement(id="robustness.equal-choices-equal-runs", old_id="P112",
              says="Equal choices lead to equal runs.", revisions=since("floodsub"),
              needs="a test: every network case is replayed (`tests/properties/replays/test_network.py`)"),
    Statement(id="robustness.only-allowed-behaviour", old_id="P114",
              says="What a router does is allowed, and what it must do it does in time.",
              revisions=since("floodsub"),
              needs="one router beside the model: every claim there is decided by it"),
)  # fmt: skip
