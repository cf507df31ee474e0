"""Statements P77 to P120: scores, extensions and partial messages, robustness, and one attacker."""

from __future__ import annotations

from typing import cast

from quidnunc.model.choices import Choose
from quidnunc.model.permits import Step
from quidnunc.model.router import From, Router
from quidnunc.model.rpc import Graft, Message
from quidnunc.model.rules import Protocol, Rule
from quidnunc.model.step import run
from quidnunc.properties import pubsub_claims as one
from quidnunc.properties import pubsub_claims_ends as end
from quidnunc.properties import pubsub_places as at
from quidnunc.properties.gossipsub_list_mesh import AT_REST
from quidnunc.properties.gossipsub_statement import Statement
from quidnunc.properties.pubsub_network import Move


def forges(move: Move) -> bool:
    """Somebody gets a copy that breaks the policy."""
    return any(m.flaw for seen in move.steps for m in one.received(seen, Message))


def publishes(move: Move) -> bool:
    """Something is published."""
    return bool(end.published(move))


def grafts(move: Move) -> bool:
    """Somebody has a GRAFT to take."""
    return any(one.received(seen, Graft) for seen in move.steps)


def telling_before_the_signature(protocol: Protocol) -> Protocol:
    """IDONTWANT is said of a copy before its signature is looked at."""
    plain = next(each for each in protocol["message"].rules if each.name == "flawed")

    def told(r: Router, m: From[Message], choose: Choose) -> Step[Router] | None:
        dropped = cast("Step[Router] | None", plain.step(r, m, choose))
        if dropped is None or m.part.id in r.seen:
            return dropped
        return run(r, "announce", m, choose)

    return protocol.with_rule("flawed", Rule("flawed", plain.clause, told))


SCORES: tuple[Statement, ...] = (
    Statement(id="P77", says="A counter decays by its factor at each interval, to zero below DecayToZero.",
              since="gossipsub-1.1", claims=("score.decays",)),
    Statement(id="P78", says="The counters of P1, P2 and P3 keep to their caps.", since="gossipsub-1.1",
              claims=("score.time-in-mesh", "score.first-deliveries", "score.mesh-deliveries")),
    Statement(id="P79", says="A score is bounded from above by its caps.", since="gossipsub-1.1",
              claims=("score.weighted-sum",), needs="z3: `quidnunc prove score-algebra`"),
    Statement(id="P80", says="More bad events never raise a score, more first deliveries never lower it.",
              since="gossipsub-1.1", claims=("score.invalid-messages", "score.behaviour"),
              needs="z3: `quidnunc prove score-algebra`"),
    Statement(id="P81", says="P3, P3b, P4, P6 and P7 never add to a score.", since="gossipsub-1.1",
              claims=("score.mesh-deliveries", "score.mesh-failures", "score.invalid-messages",
                      "score.colocation", "score.behaviour")),
    Statement(id="P82", says="Misbehaviour in one topic makes a score negative in the end.",
              since="gossipsub-1.1",
              needs="z3: `quidnunc prove scores-*`, false for some parameters that are in use"),
    Statement(id="P83", says="An RPC of a peer below the graylist threshold causes nothing.",
              since="gossipsub-1.1", claims=("score.graylist",)),
    Statement(id="P84", says="A negative score outlives a reconnect within RetainScore.",
              since="gossipsub-1.1", claims=("score.retained",)),
    Statement(
        id="P85",
        says="No honest router falls below zero for a race.",
        since="gossipsub-1.1",
        clause="gs1.1/backoff.penalty",
        look=one.always(one.honest_not_negative),
        places=(at.PAIR_PENALISED, at.SLOW),
        assumes="Each RPC arrives in the end, however late. All are honest; P7 alone counts.",
        reading="May fall: the text lets a GRAFT inside the backoff be penalised.",
    ),
    Statement(id="P86", says="Accept counts for P2 and P3, Reject for P4 of all senders, Ignore for nothing.",
              since="gossipsub-1.1",
              claims=("score.first-deliveries", "score.mesh-deliveries", "score.invalid-messages")),
    Statement(id="P87", says="Thresholds that are not in their order are refused.", since="gossipsub-1.1",
              claims=("config.thresholds",)),
    Statement(id="P88", says="Opportunistic grafting adds so many, above the median, when it is due.",
              since="gossipsub-1.1", claims=("opportunistic.better-only",)),
)  # fmt: skip

PARTS: tuple[Statement, ...] = (
    Statement(id="P89", says="Extensions is in the first RPC of a router that has one.",
              since="gossipsub-1.3",
              claims=("extensions.first",)),
    Statement(id="P90", says="It is sent once on a stream.", since="gossipsub-1.3",
              claims=("extensions.once",)),
    Statement(id="P91", says="Unknown extensions change nothing.", since="gossipsub-1.3",
              claims=("extensions.unknown-ignored",)),
    Statement(id="P92", says="Messages of an extension go to those that named it, and count from those.",
              since="gossipsub-1.3", claims=("extensions.test-exchanged", "partial.to-those-that-named-it")),
    Statement(id="P93", says="What a peer named is of its stream.", since="gossipsub-1.3",
              claims=("extensions.of-the-stream",)),
    Statement(id="P94", says="Where both name the test extension each sends its message once.",
              since="gossipsub-1.3", claims=("extensions.test-exchanged",),
              assumes="Each RPC arrives in the end."),
    Statement(id="P95", says="Who requests parts of who sends them gets no full message.",
              since="partial-messages", claims=("partial.no-full-to-requester",)),
    Statement(
        id="P96",
        says="Who requests parts of who can send none gets full messages.",
        since="partial-messages",
        claims=("partial.not-starved",),
        clause="pm-jvm/send.suppress-full",
        look=one.always(one.requester_gets_full),
        places=(at.PARTS,),
        occasion=publishes,
    ),
    Statement(id="P97", says="Who requests no parts gets none.", since="partial-messages",
              claims=("partial.no-part-unrequested",)),
    Statement(id="P98", says="Who requests parts of who sends them gets no IHAVE.", since="partial-messages",
              claims=("partial.gossip", "partial-jvm.callback",
              "partial-go.callback")),
    Statement(id="P99", says="Who is sent parts says no IDONTWANT to who sends them.",
              since="partial-messages",
              claims=("partial-jvm.idontwant", "partial-go.idontwant")),
    Statement(id="P100", says="Flags of partial messages go with the subscription and the connection.",
              since="partial-messages", claims=("partial.flags-followed",)),
    Statement(id="P101", says="Who requests is taken for one that supports.", since="partial-messages",
              claims=("partial.flags-followed", "partial.flags-announced")),
    Statement(id="P102", says="Peers start so many groups of a topic, and each so many, that live.",
              since="partial-messages", claims=("partial.groups-bounded", "partial-jvm.caps")),
    Statement(id="P103", says="A group that nobody publishes to is gone after its time.",
              since="partial-messages", claims=("partial-jvm.group-life", "partial-go.group-life"),
              assumes="Heartbeats go on."),
    Statement(id="P104", says="Every partial message within the caps reaches the application, once.",
              since="partial-messages", claims=("partial.handed-over",)),
    Statement(id="P105", says="The application is asked to gossip of its own groups.",
              since="partial-messages", claims=("partial.gossip", "partial-jvm.callback",
              "partial-go.callback")),
    Statement(id="P106", says="Who requests parts takes full messages as ever.", since="partial-messages",
              claims=("partial.full-accepted",)),
    Statement(id="P107", says="Every requester gets all parts that connected supporters have.",
              since="partial-messages", claims=("parts.answered", "parts.expected"),
              needs="a network of our own nodes with an application (`tests/impl/test_partial_network.py`)",
              assumes="Applications answer metadata, and groups live for as many rounds as parts travel."),
    Statement(id="P108", says="Groups of two topics are two, of whatever name.", since="partial-messages",
              claims=("partial.handed-over", "parts.group-id")),
)  # fmt: skip

ROBUST: tuple[Statement, ...] = (
    Statement(id="P109", says="No bytes crash a router or hang it; malformed ones close that stream at most.",
              since="floodsub", claims=("rpc.total",)),
    Statement(id="P110", says="What a peer can make a router keep is bounded, and goes with it.",
              since="floodsub", claims=("idontwant.capped", "partial.groups-bounded"),
              needs="a real router: the model keeps what it likes"),
    Statement(id="P111", says="What a peer can make a router send is bounded.", since="floodsub",
              claims=("iwant.bounded",), needs="a real router: the model has no bytes"),
    Statement(id="P112", says="Equal choices lead to equal runs.", since="floodsub",
              needs="a test: every network case is replayed (`tests/properties/test_network_case.py`)"),
    Statement(id="P113", says="P7 of a peer comes of what it has sent, and of what it promised.",
              since="gossipsub-1.1", claims=("score.regraft-penalty", "score.broken-promises")),
    Statement(id="P114", says="What a router does is allowed, and what it must do it does in time.",
              since="floodsub", needs="one router beside the model: every claim there is decided by it"),
)  # fmt: skip

ATTACKED: tuple[Statement, ...] = (
    Statement(
        id="P115",
        says="A copy that breaks the policy does not make a good one a duplicate.",
        since="floodsub",
        claims=("signing.enforced",),
        look=end.over_the_mesh,
        places=(at.FORGED,),
        occasion=forges,
        assumes=f"{AT_REST} The mesh of the honest is one component and does not change meanwhile.",
    ),
    Statement(
        id="P116",
        says="P48 with one who forges messages of others, of ids that do not bind what they say.",
        since="gossipsub-1.2-draft",
        claims=("signing.enforced",),
        look=end.over_the_mesh,
        places=(at.FORGED,),
        occasion=forges,
        assumes=f"{AT_REST} The mesh of the honest is one component and does not change meanwhile.",
        reading="IDONTWANT is said of copies that keep to the signature policy.",
    ),
    Statement(
        id="P116b",
        says="The same, where IDONTWANT is said before the signature is looked at.",
        since="gossipsub-1.2-draft",
        clause="gs1.2/idontwant.immediate",
        look=end.over_the_mesh,
        places=(at.FORGED,),
        occasion=forges,
        edit=telling_before_the_signature,
        assumes=f"{AT_REST} The mesh of the honest is one component and does not change meanwhile.",
        reading="IDONTWANT before validation can be read so; go-libp2p-pubsub does it, by its code.",
    ),
    Statement(id="P117", says="A PRUNE of who is no member changes nothing but its own backoff.",
              claims=("prune.effective", "prune.unanswered")),
    Statement(
        id="P118",
        says="An attacker can not make two honest routers back off from each other.",
        since="gossipsub-1.1",
        clause="gs1.1/backoff.both-ends",
        look=one.honest_do_not_back_off,
        places=(at.CROWDED,),
        occasion=grafts,
    ),
    Statement(id="P119", says="What IWANT makes a router send is bounded in a heartbeat.",
              since="gossipsub-1.1", claims=("iwant.bounded",)),
    Statement(
        id="P120",
        says="Nobody can use up the groups that others may start.",
        only=("partial-messages-jvm", "partial-messages-go"),
        claims=("partial-jvm.caps", "partial.groups-bounded"),
        clause="pm-jvm/group.topic-cap",
        look=one.always(one.group_is_open),
        places=(at.SQUATTED,),
        reading="At any time, by as many peers as it takes. In the merged text the caps are advice.",
    ),
)  # fmt: skip

STATEMENTS: tuple[Statement, ...] = (*SCORES, *PARTS, *ROBUST, *ATTACKED)
