"""The small networks in which claims about gossipsub are looked at."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from quidnunc.model.parameters import Parameters
from quidnunc.model.score_parameters import ScoreParameters
from quidnunc.properties.networks.acts import Kind
from quidnunc.properties.networks.places import SMALL, Place


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
