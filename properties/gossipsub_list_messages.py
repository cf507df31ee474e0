"""Statements P36 to P76: messages, gossip, IWANT and IDONTWANT."""

from __future__ import annotations

from quidnunc.model.events import Verdict
from quidnunc.model.rpc import IDontWant, IHave, Message
from quidnunc.properties import pubsub_claims as one
from quidnunc.properties import pubsub_claims_ends as end
from quidnunc.properties import pubsub_claims_state as state
from quidnunc.properties import pubsub_places as at
from quidnunc.properties.gossipsub_list_mesh import AT_REST, ROUNDS
from quidnunc.properties.gossipsub_statement import Statement
from quidnunc.properties.pubsub_network import Move

FAIR = "Each RPC arrives in the end, however late."


def duplicates(move: Move) -> bool:
    """Somebody gets a message that it has seen."""
    return any(m.id in seen.before.seen for seen in move.steps for m in one.received(seen, Message))


def passes_on(move: Move) -> bool:
    """A message is relayed."""
    return any(map(one.relayed, move.steps))


def drops(move: Move) -> bool:
    """A message is rejected or ignored."""
    verdicts = [seen.event for seen in move.steps if isinstance(seen.event, Verdict)]
    return any(each.judgement != "accept" for each in verdicts)


def advertises(move: Move) -> bool:
    """Somebody takes an IHAVE."""
    return any(one.received(seen, IHave) for seen in move.steps)


def unwants(move: Move) -> bool:
    """Somebody takes an IDONTWANT."""
    return any(one.received(seen, IDontWant) for seen in move.steps)


def comes_foreign(move: Move) -> bool:
    """A message comes to a router that has left its topic."""
    return any(m.topic not in s.before.topics for s in move.steps for m in one.received(s, Message))


def publishes(move: Move) -> bool:
    """Something is published."""
    return bool(end.published(move))


MESSAGES: tuple[Statement, ...] = (
    Statement(
        id="P36",
        says="An id reaches an application once within seen_ttl.",
        since="floodsub",
        claims=("deliver.once",),
        look=one.remembering(one.delivered_once),
        places=(at.OUTSIDE, at.STATIC[1]),
        occasion=duplicates,
    ),
    Statement(
        id="P37",
        says="An id is sent to a peer once within seen_ttl, but for what it asks for.",
        since="floodsub",
        claims=("relay.once",),
        look=one.remembering(one.forwarded_once),
        places=(at.OUTSIDE, at.STATIC[1]),
        occasion=duplicates,
    ),
    Statement(
        id="P38",
        says="A message goes neither to whom it came from first nor to its author.",
        since="floodsub",
        claims=("relay.not-back",),
        look=one.remembering(one.not_sent_back),
        places=(at.STATIC[0], at.STATIC[1]),
        occasion=passes_on,
    ),
    Statement(
        id="P39",
        says="Nothing is passed on before its validators accept it.",
        since="floodsub",
        claims=("validation.verdicts",),
        look=one.remembering(state.relayed_after_accept),
        places=(at.JUDGED,),
        occasion=passes_on,
    ),
    Statement(
        id="P40",
        says="What was rejected or ignored is neither delivered, sent nor advertised.",
        since="floodsub",
        claims=("validation.verdicts",),
        look=one.remembering(state.rejected_is_buried),
        places=(at.JUDGED,),
        occasion=drops,
    ),
    Statement(
        id="P41",
        says="A message is relayed to exactly the mesh, floodsub members and explicit peers of its topic, "
        "less forwarder, author and who did not want it.",
        since="floodsub",
        claims=("relay.targets", "relay.not-back", "idontwant.honoured"),
    ),
    Statement(
        id="P42",
        says="An own message goes to exactly whom the publish rules name.",
        since="floodsub",
        claims=("publish.targets", "publish.flood"),
    ),
    Statement(
        id="P43", says="A fanout has D peers at most, of the topic and above the publish threshold.",
        claims=("fanout.kept",),
    ),
    Statement(
        id="P44", says="A fanout goes at the first heartbeat after fanout_ttl, and not before.",
        claims=("fanout.kept",),
    ),
    Statement(
        id="P45",
        says="A message in a topic that the router is not in has no effect.",
        since="floodsub",
        claims=("relay.joined-only",),
        look=one.always(state.dropped_outside_the_topic),
        places=(at.SPREADING,),
        occasion=comes_foreign,
    ),
    Statement(
        id="P46", says="What is relayed equals what came, unknown fields included.", since="floodsub",
        claims=("message.unchanged",),
    ),
    Statement(
        id="P47", says="Messages of one id are one, those of two ids two.", since="floodsub",
        claims=("id.same-everywhere", "relay.once"),
    ),
    Statement(
        id="P48",
        says="Every subscriber gets what is published, over a mesh that is connected.",
        since="floodsub",
        claims=("relay.targets", "deliver.once"),
        look=end.over_the_mesh,
        places=at.STATIC,
        occasion=publishes,
        assumes=f"{AT_REST} {FAIR} The mesh is one component of mutual links and does not change meanwhile.",
    ),
    Statement(
        id="P48b",
        says="Every subscriber gets what is published, in a topic that is connected.",
        since="floodsub",
        clause="gs1.0/gossip.outside-mesh",
        look=end.over_the_topic(6),
        places=(at.UNMESHED,),
        occasion=publishes,
        rounds=True,
        assumes=f"{ROUNDS} Six of them, twice what gossip has. When it was published all were known.",
    ),
    Statement(
        id="P48c",
        says="The same with flood publishing.",
        since="gossipsub-1.1",
        clause="gs1.0/gossip.outside-mesh",
        look=end.over_the_topic(6),
        places=(at.UNMESHED_LINE,),
        occasion=publishes,
        rounds=True,
        assumes=f"{ROUNDS} Six of them, twice what gossip has. When it was published all were known.",
    ),
    Statement(
        id="P49",
        says="Who lacks a message that a neighbour has is offered it within mcache_gossip heartbeats.",
        clause="gs1.0/gossip.outside-mesh",
        look=end.repaired_by_gossip,
        places=(at.UNMESHED, at.LATE),
        occasion=publishes,
        assumes=f"{AT_REST} {FAIR} Each draw of gossip falls on who can be drawn.",
    ),
    Statement(
        id="P50", says="Frames keep to the size limit, and those that an RPC is split into carry all of it.",
        since="floodsub",
        claims=("rpc.total",),
        needs="a real router: the model has no frames",
    ),
    Statement(
        id="P51",
        says="A GRAFT or PRUNE that a full queue drops is said again, until it has no point.",
        needs="a real router: queues of the model lose nothing",
        assumes="Heartbeats go on.",
    ),
    Statement(
        id="P52", says="An id is taken again after seen_ttl, and not before.", since="floodsub",
        claims=("relay.once", "deliver.once"),
    ),
    Statement(
        id="P53", says="What keeps to the signature policy is accepted, what does not is not.",
        since="floodsub",
        claims=("signing.enforced",),
    ),
)  # fmt: skip

GOSSIP: tuple[Statement, ...] = (
    Statement(
        id="P54",
        says="IHAVE goes to members of the topic outside mesh and fanout, not explicit, above the threshold.",
        claims=("gossip.targets", "score.gossip"),
    ),
    Statement(
        id="P55", says="Gossip goes to as many as D_lazy and the factor say.", claims=("gossip.targets",)
    ),
    Statement(
        id="P56", says="IHAVE names messages of its topic in the newest mcache_gossip windows.",
        claims=("gossip.ids",),
    ),
    Statement(
        id="P57",
        says="What an IHAVE names can be fetched right away.",
        claims=("mcache.windows", "iwant.served"),
        look=one.remembering(one.advertised_is_served),
        places=(at.LATE, at.OUTSIDE),
        occasion=advertises,
        reading="Until the next heartbeat of who advertised it.",
    ),
    Statement(
        id="P57b",
        says="What an IHAVE names can be fetched, once.",
        clause="gs1.0/iwant.serve",
        look=one.remembering(one.requested_is_served),
        places=(at.LATE, at.OUTSIDE),
        occasion=advertises,
        assumes=FAIR,
        reading="However long the IHAVE and its IWANT are on their way.",
    ),
    Statement(
        id="P58", says="IWANT names ids of the IHAVEs that it answers, and none that was seen.",
        claims=("ihave.requested",),
    ),
    Statement(
        id="P59", says="So many IHAVEs and ids of a peer are heeded in a heartbeat, and no more.",
        since="gossipsub-1.1", claims=("ihave.capped",),
    ),
    Statement(
        id="P60", says="IHAVE within the caps is answered, whatever other control comes.",
        since="gossipsub-1.1", claims=("ihave.requested", "ihave.capped"),
    ),
    Statement(
        id="P61", says="IWANT for what is in the cache is answered, within score and bound.",
        claims=("iwant.served",),
    ),
    Statement(
        id="P62", says="Answers to one peer for one id are bounded.", since="gossipsub-1.1",
        claims=("iwant.bounded",),
    ),
    Statement(
        id="P63", says="A message can be fetched for mcache_len heartbeats, is gossiped for mcache_gossip.",
        claims=("mcache.windows", "gossip.ids"),
    ),
    Statement(
        id="P64", says="A promise is broken only where nobody delivered the id in time.",
        since="gossipsub-1.1",
        claims=("score.broken-promises",),
    ),
    Statement(
        id="P65", says="Who advertises what it never delivers is penalised.", since="gossipsub-1.1",
        claims=("score.broken-promises",),
        assumes="Heartbeats go on.",
    ),
)  # fmt: skip

IDONTWANT: tuple[Statement, ...] = (
    Statement(
        id="P66",
        says="IDONTWANT names what its sender has received or published.",
        since="gossipsub-1.2-draft",
        claims=("idontwant.immediate",),
        look=one.always(one.unwanted_is_held),
        places=(at.WAITING_RING,),
        occasion=unwants,
    ),
    Statement(
        id="P67",
        says="IDONTWANT goes to the mesh, less whom the message came from.",
        since="gossipsub-1.2-draft",
        claims=("idontwant.immediate",),
        clause="gs1.2/idontwant.immediate",
        look=one.remembering(one.unwanted_said_to_mesh),
        places=(at.WAITING,),
        occasion=unwants,
        reading="Both texts of v1.2 say: to all of the mesh.",
    ),
    Statement(
        id="P68",
        says="IDONTWANT is said once to a peer of an id.",
        since="gossipsub-1.2-draft",
        clause="gs1.2/idontwant.immediate",
        look=one.remembering(one.unwanted_said_once),
        places=(at.WAITING,),
        occasion=unwants,
        reading="It may be said before validation and after it, and neither text says not both.",
    ),
    Statement(
        id="P69",
        says="At the first copy of a message the others of the mesh are told at once.",
        since="gossipsub-1.2-draft",
        claims=("idontwant.immediate",),
        clause="gs1.2/idontwant.immediate",
        look=one.always(one.unwanted_said_at_once),
        places=(at.WAITING,),
        reading="Obliged to; the texts allow a router to do without.",
    ),
    Statement(
        id="P70",
        says="Who said IDONTWANT is not relayed the message, until the next heartbeat at least.",
        since="gossipsub-1.2-draft",
        claims=("idontwant.honoured",),
        clause="gs1.2/idontwant.skip",
        look=one.remembering(one.unwanted_is_spared),
        places=(at.WAITING_RING, at.STATIC[1]),
        occasion=unwants,
    ),
    Statement(
        id="P71",
        says="IDONTWANT suppresses that id to that peer, and nothing else.",
        since="gossipsub-1.2-draft",
        claims=("idontwant.honoured", "relay.targets"),
    ),
    Statement(
        id="P72",
        says="What IDONTWANT leaves behind is bounded, and goes.",
        since="gossipsub-1.2-draft",
        claims=("idontwant.capped", "idontwant.forgotten"),
    ),
    Statement(
        id="P73",
        says="Neither IDONTWANT nor ignoring it changes a score.",
        since="gossipsub-1.2-draft",
        claims=("score.mesh-deliveries", "score.behaviour"),
        reading="No rule of a score names it; that honouring it lowers mesh deliveries is another matter.",
    ),
    Statement(
        id="P74",
        says="P48, and P48 with one who wants nothing: IDONTWANT costs nobody else a message.",
        since="gossipsub-1.2-draft",
        claims=("idontwant.honoured",),
        look=end.over_the_mesh,
        places=(at.UNWILLING, at.STATIC[1]),
        occasion=unwants,
        assumes=f"{AT_REST} {FAIR} The mesh of the honest is one component and does not change meanwhile.",
    ),
    Statement(
        id="P75",
        says="No IDONTWANT below v1.2, no extensions below v1.3, no backoff and no exchange below v1.1.",
        claims=("backoff.announced", "idontwant.immediate", "extensions.not-below"),
    ),
    Statement(
        id="P76",
        says="What v1.2 encodes for one id the draft decodes as the same.",
        only=("gossipsub-1.2-draft", "gossipsub-1.2"),
        needs="z3, over the wire types; `quidnunc diff gossipsub-1.2-draft gossipsub-1.2` shows them",
    ),
)

STATEMENTS: tuple[Statement, ...] = (*MESSAGES, *GOSSIP, *IDONTWANT)
