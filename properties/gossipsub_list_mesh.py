"""Statements P01 to P35: meshes and membership, backoff and peer exchange."""

from __future__ import annotations

from quidnunc.model.events import Connect, Disconnect
from quidnunc.model.rpc import Graft, Prune
from quidnunc.properties import pubsub_claims as one
from quidnunc.properties import pubsub_claims_ends as end
from quidnunc.properties import pubsub_claims_state as state
from quidnunc.properties import pubsub_places as at
from quidnunc.properties.gossipsub_statement import Statement
from quidnunc.properties.pubsub_network import Move

AT_REST = "Nothing is on its way and nothing waits for a verdict."
ROUNDS = "From a state at rest, rounds: all arrives after each heartbeat, and choices are drawn fairly."


def grafts(move: Move) -> bool:
    """Somebody has a GRAFT to take."""
    return any(one.received(seen, Graft) for seen in move.steps)


def prunes(move: Move) -> bool:
    """Somebody has a PRUNE to take."""
    return any(one.received(seen, Prune) for seen in move.steps)


def breaks(move: Move) -> bool:
    """A connection of somebody in the topic breaks or opens."""
    of_links = any(isinstance(seen.event, Connect | Disconnect) for seen in move.steps)
    return of_links and bool(end.joined(move.after))


def crosses(move: Move) -> bool:
    """Two GRAFTs are on their way to meet."""
    links = move.after.links
    return any(one.grafting(links[a, b]) and one.grafting(links[b, a]) for a, b in links)


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        id="P01",
        says="A router has a mesh of each topic that it is in and of no other, and a fanout of none of them.",
        claims=("join.fills", "leave.prunes", "fanout.kept"),
        look=one.always(state.mesh_is_of_joined_topics),
        places=(at.COMING,),
    ),
    Statement(
        id="P02",
        says="Members of a mesh are connected, speak gossipsub, and are not explicit nor the router itself.",
        claims=("mesh.members", "explicit.outside-mesh"),
        look=one.always(state.mesh_is_of_speakers),
        places=(at.CHURN, at.CHURN_OF_THREE),
        occasion=breaks,
    ),
    Statement(
        id="P03",
        says="Every member of a mesh has announced the topic.",
        clause="gs1.0/mesh.members",
        look=one.always(one.members_announced),
        places=(at.FOREIGN,),
        reading="No revision says that a GRAFT counts only after a subscription.",
    ),
    Statement(
        id="P04",
        says="At rest, of two in the topic each has the other in its mesh, or neither.",
        claims=("mesh.mutual", "backoff.waited-out"),
        clause="gs1.0/mesh.mutual",
        look=end.at_rest(end.links_are_mutual),
        places=(at.PAIR, at.PAIR_MESHED),
        occasion=grafts,
        assumes=AT_REST,
        reading="`quidnunc prove mesh-link*` decides views of it for every N.",
    ),
    Statement(
        id="P04b",
        says="A link that one end holds alone is repaired in the end.",
        clause="gs1.0/mesh.mutual",
        look=end.mutual_after(12),
        places=(at.PAIR, at.PAIR_MESHED, at.RING_OF_TWO),
        occasion=grafts,
        rounds=True,
        tried=(
            (
                "join B t",
                "leave B t",
                "deliver B>A",
                "join A t",
                "join B t",
                "deliver B>A",
                "deliver A>B",
                "deliver B>A",
                "settle",
            ),
        ),
        assumes=f"{ROUNDS} Twelve of them; nobody joins or leaves any more.",
    ),
    Statement(
        id="P05",
        says="Where both ends of a link graft at once, each has the other, and no PRUNE is sent.",
        claims=("graft.idempotent",),
        look=one.crossed_grafts,
        places=(at.CROSSING,),
        occasion=crosses,
        assumes=f"{AT_REST} Nobody leaves, and D_high leaves room.",
    ),
    Statement(
        id="P06",
        says="After a heartbeat a mesh has D_high members at most.",
        claims=("mesh.ceiling",),
        clause="gs1.1/outbound.fill",
        look=one.always(one.degree_is_capped),
        places=(at.QUOTAS,),
        reading="Whatever the heartbeat does; the cut alone keeps it.",
    ),
    Statement(id="P07", says="Where a heartbeat cuts, it cuts to D.", claims=("mesh.ceiling",)),
    Statement(
        id="P08",
        says="Below D_low a heartbeat grafts what is missing to D, as far as there are candidates.",
        claims=("mesh.floor",),
    ),
    Statement(
        id="P09",
        says="Between the bounds, and with the quota of outbound members met, a heartbeat changes nothing.",
        claims=("mesh.no-churn",),
    ),
    Statement(
        id="P10",
        says="A cut keeps D_out outbound members, if there were as many.",
        since="gossipsub-1.1",
        claims=("outbound.quota-kept",),
    ),
    Statement(
        id="P11",
        says="A mesh of D_low or more that lacks outbound members grafts the missing ones.",
        since="gossipsub-1.1",
        claims=("outbound.quota-filled",),
    ),
    Statement(
        id="P12",
        says="A cut keeps the D_score best, unless the outbound quota needs their room.",
        since="gossipsub-1.1",
        claims=("score.best-kept",),
    ),
    Statement(
        id="P13",
        says="After a heartbeat no member has a score that was negative when it began.",
        since="gossipsub-1.1",
        claims=("score.negative-out",),
    ),
    Statement(
        id="P14",
        says="Nobody with a negative score is grafted.",
        since="gossipsub-1.1",
        claims=("score.negative-not-in",),
    ),
    Statement(
        id="P15",
        says="A GRAFT for a joined topic ends in a member, or in one PRUNE back.",
        claims=("graft.accepted", "graft.idempotent"),
        look=one.always(one.graft_is_answered),
        places=(at.PAIR, at.RING_OF_ONE),
        occasion=grafts,
    ),
    Statement(
        id="P16",
        says="A GRAFT for a topic that the router is not in: from v1.1 on silence, in v1.0 one PRUNE.",
        claims=("graft.unknown-topic",),
    ),
    Statement(
        id="P17",
        says="At D_high a GRAFT over an inbound connection is refused, over an outbound one accepted.",
        since="gossipsub-1.1",
        claims=("outbound.inbound-refused",),
    ),
    Statement(
        id="P18",
        says="After a PRUNE nothing is relayed to its sender, until one of the two grafts.",
        claims=("prune.effective",),
        look=one.remembering(one.pruned_gets_nothing),
        places=(at.SPREADING,),
        occasion=prunes,
    ),
    Statement(
        id="P19",
        says="A Leave prunes each member once, and ends the traffic of that mesh.",
        claims=("leave.prunes",),
        clause="gs1.0/leave.prune-each",
        look=one.remembering(one.leave_is_complete),
        places=(at.LEAVING,),
        reading="Also what a validator accepts after the Leave.",
    ),
    Statement(
        id="P20",
        says="A Join grafts D peers at most, each once, and members of the topic alone.",
        claims=("join.fills",),
    ),
    Statement(
        id="P21",
        says="The first RPC to a new peer names every topic that the router is in.",
        since="floodsub",
        claims=("hello.complete",),
    ),
    Statement(
        id="P22",
        says="At rest every neighbour knows what topics a router is in.",
        since="floodsub",
        claims=("subscription.announced", "subscription.followed"),
        clause="gs1.1/threshold.graylist",
        look=end.at_rest(end.subscriptions_are_known),
        places=(at.CHURN, at.PAIR_SCORED),
        assumes=f"{AT_REST} A neighbour that graylists the router now is not asked.",
    ),
    Statement(
        id="P23",
        says="In a static clique every mesh has D_low to D_high members in the end.",
        clause="gs1.1/outbound.inbound-refused",
        look=end.converges(30),
        places=(at.NEWCOMER, at.CLIQUE),
        occasion=grafts,
        rounds=True,
        assumes=f"{ROUNDS} Thirty of them; all are honest, in the topic, and score zero.",
    ),
    Statement(
        id="P24",
        says="Under the premises of P23 the mesh is connected, as a rule.",
        needs="a simulation (`quidnunc simulate`): it is a statement of probability",
    ),
    Statement(
        id="P25",
        says="No router is a peer of itself.",
        claims=("mesh.members",),
        reading="A connection to oneself is no event of the vocabulary.",
    ),
    Statement(
        id="P26",
        says="Who has sent or received a PRUNE does not graft the other before its period is over.",
        since="gossipsub-1.1",
        claims=("backoff.no-graft",),
        clause="gs1.1/backoff.both-ends",
        look=one.remembering(one.no_graft_in_backoff),
        places=(at.PAIR_MESHED, at.RING_OF_ONE),
        reading="Also a PRUNE that arrives after its receiver has left, which v1.1 says nothing of.",
    ),
    Statement(
        id="P26b",
        says="The same of each PRUNE that its receiver takes while it is in the topic.",
        since="gossipsub-1.1",
        claims=("backoff.no-graft", "backoff.unsubscribe"),
        look=one.remembering(one.no_graft_in_heeded_backoff),
        places=(at.PAIR_MESHED, at.RING_OF_ONE),
        occasion=prunes,
    ),
    Statement(
        id="P27",
        says="Both ends of a PRUNE keep a backoff.",
        since="gossipsub-1.1",
        claims=("backoff.no-graft",),
        clause="gs1.1/backoff.both-ends",
        look=one.always(one.both_back_off),
        places=(at.PAIR_MESHED, at.NEAR_EXPLICIT),
    ),
    Statement(
        id="P28",
        says="A GRAFT inside the backoff gets a PRUNE, and the backoff is extended by a whole period.",
        since="gossipsub-1.1",
        claims=("backoff.regraft-refused",),
    ),
    Statement(
        id="P29",
        says="The end of a backoff never comes nearer.",
        since="gossipsub-1.1",
        claims=("backoff.honoured",),
        look=one.always(state.backoff_never_shortened),
        places=(at.PAIR_MESHED, at.RING_OF_ONE),
        occasion=prunes,
    ),
    Statement(
        id="P30",
        says="A backoff ends, and the peer can be grafted again.",
        since="gossipsub-1.1",
        claims=("backoff.no-graft", "mesh.floor"),
        assumes="Heartbeats go on; twenty of them after its end it is gone for certain.",
    ),
    Statement(
        id="P31",
        says="Whatever backoff is announced is taken for its own length, and ends.",
        since="gossipsub-1.1",
        claims=("backoff.honoured",),
        needs="z3: `quidnunc prove backoff-arithmetic`, over all of 64 bits",
    ),
    Statement(
        id="P32",
        says="An announced period counts, be it longer or shorter than the router's own.",
        since="gossipsub-1.1",
        claims=("backoff.honoured",),
    ),
    Statement(
        id="P33",
        says="A PRUNE to who knows the field has a backoff of a second or more, at a Leave the short one.",
        since="gossipsub-1.1",
        claims=("backoff.announced", "backoff.unsubscribe"),
    ),
    Statement(
        id="P34",
        says="Peers are offered in exchange to who scores zero or more; they do so too, are PrunePeers "
        "at most, and the pruned one is not among them.",
        since="gossipsub-1.1",
        claims=("px.offered", "px.none-to-negative", "px.only-non-negative"),
    ),
    Statement(
        id="P35",
        says="Whom a peer of AcceptPXThreshold or more offers in a sound record is dialled, nobody else.",
        since="gossipsub-1.1",
        claims=("px.trusted-only", "px.not-from-negative", "px.records-checked"),
    ),
)
