"""The small networks in which statements about gossipsub are looked at, and what puts them to the test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from quidnunc.model.events import Connect, Disconnect, Verdict
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import Graft, IDontWant, IHave, Message, Prune
from quidnunc.model.score_parameters import ScoreParameters
from quidnunc.properties.networks.acts import Kind
from quidnunc.properties.networks.places import SMALL
from quidnunc.properties.networks.pubsub import PubsubMove
from quidnunc.properties.statements.gossipsub.mesh import grafting
from quidnunc.properties.statements.gossipsub.steps import joined, published, received_parts, relayed_parts
from tools.decide.place import Place, Run, StatementSearch


def place(
    graph: str,
    kinds: tuple[Kind, ...],
    text: str,
    parameters: Parameters = SMALL,
    prelude: tuple[str, ...] = ("settle",),
    **more: Any,
) -> Place:
    """A place of small meshes, in which routers have said hello."""
    return Place(graph, kinds, text, parameters, prelude=prelude, **more)


LIFE: tuple[Kind, ...] = ("join", "leave", "heartbeat")
ALL = ("all join t",)
MESHED = ("all join t", "rounds 1")

FULL = evolve(SMALL, d_low=2)
"""Two members are too few by one: whoever can be is grafted."""
LINKED = evolve(SMALL, d=1, d_high=1)
"""One member each."""
MANUAL = evolve(FULL, validation="manual")
FLOODING = evolve(SMALL, flood_publish=True)
QUOTA = evolve(SMALL, d_low=2, d_out=1)
EXPLICIT = evolve(SMALL, explicit_peers=frozenset({1}))
SCORED = evolve(SMALL, scores=ScoreParameters(behaviour_penalty_weight=-1.0, behaviour_penalty_decay=0.5))
SLOWLY = evolve(LINKED, scores=SCORED.scores)

PAIR = place("pair", LIFE, "routers join and leave")
PAIR_MESHED = place("pair", LIFE, "both in the mesh, then they leave and join", prelude=MESHED)
RING_OF_ONE = place("ring", LIFE, "degree one, routers leave and join", LINKED, MESHED)
RING_OF_TWO = place(
    "ring", (*LIFE, "settle"), "C in the topic, the others come and go", SMALL, ("join C t", "settle")
)
CHURN = place("pair", (*LIFE, "connect", "disconnect"), "connections open and break")
CHURN_OF_THREE = place("ring", (*LIFE, "connect", "disconnect"), "connections open and break", prelude=MESHED)
PAIR_SCORED = place("pair", ("join", "leave", "score"), "scores fall and rise", scores=(-50, 0))
PAIR_PENALISED = place("pair", LIFE, "penalties count", SCORED)
SLOW = place("ring", ("publish", "heartbeat"), "penalties count", SLOWLY, MESHED)
FOREIGN = place(
    "pair",
    ("join", "say", "heartbeat"),
    "B says what it likes",
    attackers=(2,),
    says=("graft t", "subscribe t"),
)
CROSSING = place("pair", ("join", "heartbeat"), "routers join")
QUOTAS = place("clique of four", ("heartbeat",), "D_out is 1", QUOTA, ALL)
NEWCOMER = place(
    "clique of four", ("join", "settle"), "three in a full mesh, then D joins", FULL,
    ("join A t", "join B t", "join C t", "rounds 2"),
)  # fmt: skip
CLIQUE = place("clique of four", ("join", "heartbeat"), "routers join")
NEAR_EXPLICIT = place("pair", LIFE, "B and A are explicit to B", EXPLICIT)

STATIC = tuple(
    place(graph, ("publish", "heartbeat"), "all in the mesh", FULL, ("all join t", "rounds 2"), messages=2)
    for graph in ("line", "ring", "star")
)
UNMESHED = place("pair", ("publish", "heartbeat"), "subscriptions known, no mesh yet", prelude=ALL)
UNMESHED_LINE = place("line", ("publish", "heartbeat"), "no mesh yet, flood publishing", FLOODING, ALL)
LATE = place(
    "line", ("publish", "heartbeat"), "C outside the mesh", LINKED,
    ("join A t", "join B t", "rounds 1", "join C t")
)  # fmt: skip
SPREADING = place("ring", ("publish", "heartbeat", "leave"), "all in the mesh", FULL, MESHED)
OUTSIDE = place("ring", ("publish", "heartbeat"), "degree one", LINKED, MESHED)
COMING = place("ring", ("publish", "join", "leave", "heartbeat"), "routers join and leave")
JUDGED = place(
    "line", ("publish", "verdict", "leave", "heartbeat"), "messages wait", MANUAL, MESHED,
    judgements=("accept", "reject", "ignore"),
)  # fmt: skip
WAITING = place("line", ("publish", "verdict"), "messages wait", MANUAL, ("all join t", "rounds 2"))
WAITING_RING = place(
    "ring", ("publish", "verdict"), "messages wait", MANUAL, ("all join t", "rounds 2")
)  # fmt: skip
LEAVING = place("line", ("publish", "leave", "verdict"), "messages wait", MANUAL, MESHED)
FORGED = place(
    "line of four", ("publish", "say"), "D forges what A publishes", attackers=(4,), prelude=MESHED,
    says=("message m1 t by A forged",), origins=(1,),
)  # fmt: skip
UNWILLING = place(
    "star", ("publish", "say"), "D wants nothing", attackers=(4,), prelude=MESHED,
    says=("idontwant m1", "subscribe t; graft t"),
)  # fmt: skip
CROWDED = place(
    "star", ("say", "heartbeat"), "D says what it likes", attackers=(4,), prelude=MESHED,
    says=("graft t", "subscribe t", "prune t"),
)  # fmt: skip
PARTS = place("pair", ("join", "publish", "heartbeat"), "parts requested", joins=("", "requests", "supports"))
SQUATTED = place(
    "star",
    ("say",),
    "all but A say what they like, two groups in all, one each",
    evolve(SMALL, max_groups_per_topic=2, max_groups_per_peer=1),
    (
        "join A t supports",
        *(f"say {peer}>A extensions partial; subscribe t requests supports" for peer in "BCD"),
    ),
    attackers=(2, 3, 4),
    says=("partial t g1 payload x", "partial t g2 payload x", "partial t g3 payload x"),
)


def grafts(move: PubsubMove) -> bool:
    """Somebody has a GRAFT to take."""
    return any(received_parts(seen, Graft) for seen in move.steps)


def prunes(move: PubsubMove) -> bool:
    """Somebody has a PRUNE to take."""
    return any(received_parts(seen, Prune) for seen in move.steps)


def publishes(move: PubsubMove) -> bool:
    """Something is published."""
    return bool(published(move))


def breaks(move: PubsubMove) -> bool:
    """A connection of somebody in the topic breaks or opens."""
    of_links = any(isinstance(seen.event, Connect | Disconnect) for seen in move.steps)
    return of_links and bool(joined(move.after))


def crosses(move: PubsubMove) -> bool:
    """Two GRAFTs are on their way to meet."""
    links = move.after.links
    return any(grafting(links[a, b]) and grafting(links[b, a]) for a, b in links)


def duplicates(move: PubsubMove) -> bool:
    """Somebody gets a message that it has seen."""
    return any(m.id in seen.before.seen for seen in move.steps for m in received_parts(seen, Message))


def passes_on(move: PubsubMove) -> bool:
    """A message is relayed."""
    return any(map(relayed_parts, move.steps))


def drops(move: PubsubMove) -> bool:
    """A message is rejected or ignored."""
    verdicts = [seen.event for seen in move.steps if isinstance(seen.event, Verdict)]
    return any(each.judgement != "accept" for each in verdicts)


def comes_foreign(move: PubsubMove) -> bool:
    """A message comes to a router that has left its topic."""
    return any(m.topic not in s.before.topics for s in move.steps for m in received_parts(s, Message))


def unwants(move: PubsubMove) -> bool:
    """Somebody takes an IDONTWANT."""
    return any(received_parts(seen, IDontWant) for seen in move.steps)


def advertises(move: PubsubMove) -> bool:
    """Somebody takes an IHAVE."""
    return any(received_parts(seen, IHave) for seen in move.steps)


def forges(move: PubsubMove) -> bool:
    """Somebody gets a copy that breaks the policy."""
    return any(m.flaw for seen in move.steps for m in received_parts(seen, Message))


_LEAVES_IN_FLIGHT: Run = (
    *("join B t", "leave B t", "deliver B>A", "join A t", "join B t"),
    *("deliver B>A", "deliver A>B", "deliver B>A", "settle"),
)

# -- the statements -----------------------------------------------------------------------------------------

SEARCHES: Mapping[str, StatementSearch] = {
    "mesh.of-joined-topics": StatementSearch((COMING,)),
    "mesh.of-connected-speakers": StatementSearch((CHURN, CHURN_OF_THREE), occasion=breaks),
    "mesh.members-announced-the-topic": StatementSearch((FOREIGN,)),
    "mesh.graft-is-symmetric": StatementSearch((PAIR, PAIR_MESHED), occasion=grafts),
    "mesh.one-sided-link-is-repaired": StatementSearch(
        (PAIR, PAIR_MESHED, RING_OF_TWO),
        occasion=grafts,
        rounds=True,
        tried=tuple((place, _LEAVES_IN_FLIGHT) for place in (PAIR_MESHED, PAIR)),
    ),
    "mesh.crossing-grafts-agree": StatementSearch((CROSSING,), occasion=crosses),
    "mesh.graft-joins-or-is-pruned": StatementSearch((PAIR, RING_OF_ONE), occasion=grafts),
    "mesh.pruned-peer-gets-nothing": StatementSearch((SPREADING,), occasion=prunes),
    "mesh.leave-prunes-each-member": StatementSearch((LEAVING,)),
    "degree.at-most-d-high": StatementSearch((QUOTAS,)),
    "degree.clique-settles-in-bounds": StatementSearch((NEWCOMER, CLIQUE), occasion=grafts, rounds=True),
    "subscriptions.known-to-all-neighbours": StatementSearch((CHURN, PAIR_SCORED)),
    "backoff.no-graft-before-its-end": StatementSearch((PAIR_MESHED, RING_OF_ONE)),
    "backoff.no-graft-before-a-heeded-end": StatementSearch((PAIR_MESHED, RING_OF_ONE), occasion=prunes),
    "backoff.kept-by-both-ends": StatementSearch((PAIR_MESHED, NEAR_EXPLICIT)),
    "backoff.never-shortened": StatementSearch((PAIR_MESHED, RING_OF_ONE), occasion=prunes),
    "messages.delivered-once": StatementSearch((OUTSIDE, STATIC[1]), occasion=duplicates),
    "messages.sent-once-to-a-peer": StatementSearch((OUTSIDE, STATIC[1]), occasion=duplicates),
    "messages.not-sent-back": StatementSearch((STATIC[0], STATIC[1]), occasion=passes_on),
    "messages.outside-joined-topics-ignored": StatementSearch((SPREADING,), occasion=comes_foreign),
    "validation.precedes-relay": StatementSearch((JUDGED,), occasion=passes_on),
    "validation.dropped-stays-dropped": StatementSearch((JUDGED,), occasion=drops),
    "delivery.over-a-connected-mesh": StatementSearch(STATIC, occasion=publishes),
    "delivery.in-a-connected-topic": StatementSearch((UNMESHED,), occasion=publishes, rounds=True),
    "delivery.in-a-connected-topic-by-flooding": StatementSearch(
        (UNMESHED_LINE,), occasion=publishes, rounds=True
    ),
    "delivery.repaired-by-gossip": StatementSearch((UNMESHED, LATE), occasion=publishes),
    "gossip.advertised-is-served-at-once": StatementSearch((LATE, OUTSIDE), occasion=advertises),
    "gossip.advertised-is-served-however-late": StatementSearch((LATE, OUTSIDE), occasion=advertises),
    "idontwant.names-received-messages": StatementSearch((WAITING_RING,), occasion=unwants),
    "idontwant.sent-to-the-mesh": StatementSearch((WAITING,), occasion=unwants),
    "idontwant.sent-once": StatementSearch((WAITING,), occasion=unwants),
    "idontwant.sent-at-first-copy": StatementSearch((WAITING,)),
    "idontwant.suppresses-relay": StatementSearch((WAITING_RING, STATIC[1]), occasion=unwants),
    "idontwant.costs-nobody-a-message": StatementSearch((UNWILLING, STATIC[1]), occasion=unwants),
    "scores.races-cost-nothing": StatementSearch((PAIR_PENALISED, SLOW)),
    "partial.requester-of-non-sender-gets-full": StatementSearch((PARTS,), occasion=publishes),
    "attack.bad-copy-does-not-block-good": StatementSearch((FORGED,), occasion=forges),
    "attack.forged-copies-do-not-stop-delivery": StatementSearch((FORGED,), occasion=forges),
    "attack.idontwant-before-signature": StatementSearch((FORGED,), occasion=forges),
    "attack.honest-routers-do-not-back-off": StatementSearch((CROWDED,), occasion=grafts),
    "attack.groups-cannot-be-used-up": StatementSearch((SQUATTED,)),
}
