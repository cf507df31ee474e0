"""Gossip: IHAVE, IWANT and the message cache."""

from __future__ import annotations

from quidnunc.model.rpc import IHave, IWant, Message
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.pubsub import PubsubMove, RouterStep
from quidnunc.properties.statements.gossipsub import places
from quidnunc.properties.statements.gossipsub.revisions import since
from quidnunc.properties.statements.gossipsub.steps import (
    FAIR,
    is_heartbeat,
    received_parts,
    remembering,
    sender,
    sent_parts,
)
from quidnunc.properties.statements.statement import Statement


def advertised_is_served(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """What was advertised can be fetched until the next heartbeat of who did."""
    if is_heartbeat(seen):
        facts -= {fact for fact in facts if fact[0] == seen.node}
    for peer, have in sent_parts(seen, IHave):
        facts |= {(seen.node, peer, i) for i in have.ids}
    by, sent = sender(seen), sent_parts(seen, Message)
    for i in (i for want in received_parts(seen, IWant) for i in want.ids):
        if (seen.node, by, i) in facts and not any(p == by and m.id == i for p, m in sent):
            return f"{name_of(seen.node)} does not serve {i}, which it advertised to {name_of(by)}"
        # It is owed once.
        facts.discard((seen.node, by, i))
    return ""


def requested_is_served(facts: set[tuple[object, ...]], seen: RouterStep) -> str:
    """What was advertised can be fetched, however long that is on its way."""
    for peer, have in sent_parts(seen, IHave):
        facts |= {(seen.node, peer, i) for i in have.ids}
    by, sent = sender(seen), sent_parts(seen, Message)
    for i in (i for want in received_parts(seen, IWant) for i in want.ids):
        if (seen.node, by, i) in facts and not any(p == by and m.id == i for p, m in sent):
            return f"{name_of(seen.node)} does not serve {i}, which it advertised to {name_of(by)}"
        facts.discard((seen.node, by, i))
    return ""


def advertises(move: PubsubMove) -> bool:
    """Somebody takes an IHAVE."""
    return any(received_parts(seen, IHave) for seen in move.steps)


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        id="gossip.exact-ihave-targets",
        old_id="P54",
        says="IHAVE goes to members of the topic outside mesh and fanout, not explicit, above the threshold.",
        revisions=since("gossipsub-1.0"),
        claims=("gossip.targets", "score.gossip"),
    ),
    Statement(id="gossip.number-of-targets", old_id="P55",
              says="Gossip goes to as many as D_lazy and the factor say.", revisions=since("gossipsub-1.0"),
              claims=("gossip.targets",)),
    Statement(id="gossip.ihave-names-recent-messages", old_id="P56",
              says="IHAVE names messages of its topic in the newest mcache_gossip windows.",
              revisions=since("gossipsub-1.0"), claims=("gossip.ids",)),
    Statement(
        id="gossip.advertised-is-served-at-once",
        old_id="P57",
        says="What an IHAVE names can be fetched right away.",
        revisions=since("gossipsub-1.0"),
        claims=("mcache.windows", "iwant.served"),
        look=remembering(advertised_is_served),
        places=(places.LATE, places.OUTSIDE),
        occasion=advertises,
        reading="Until the next heartbeat of who advertised it.",
    ),
    Statement(
        id="gossip.advertised-is-served-however-late",
        old_id="P57b",
        says="What an IHAVE names can be fetched, once.",
        revisions=since("gossipsub-1.0"),
        clauses=("gs1.0/iwant.serve",),
        look=remembering(requested_is_served),
        places=(places.LATE, places.OUTSIDE),
        occasion=advertises,
        assumes=FAIR,
        reading="However long the IHAVE and its IWANT are on their way.",
    ),
    Statement(id="gossip.iwant-answers-ihave", old_id="P58",
              says="IWANT names ids of the IHAVEs that it answers, and none that was seen.",
              revisions=since("gossipsub-1.0"), claims=("ihave.requested",)),
    Statement(id="gossip.ihave-is-capped", old_id="P59",
              says="So many IHAVEs and ids of a peer are heeded in a heartbeat, and no more.",
              revisions=since("gossipsub-1.1"), claims=("ihave.capped",)),
    Statement(id="gossip.ihave-is-answered", old_id="P60",
              says="IHAVE within the caps is answered, whatever other control comes.",
              revisions=since("gossipsub-1.1"), claims=("ihave.requested", "ihave.capped")),
    Statement(id="gossip.cached-is-served", old_id="P61",
              says="IWANT for what is in the cache is answered, within score and bound.",
              revisions=since("gossipsub-1.0"), claims=("iwant.served",)),
    Statement(id="gossip.serving-is-bounded", old_id="P62",
              says="Answers to one peer for one id are bounded.", revisions=since("gossipsub-1.1"),
              claims=("iwant.bounded",)),
    Statement(id="gossip.cache-windows", old_id="P63",
              says="A message can be fetched for mcache_len heartbeats, is gossiped for mcache_gossip.",
              revisions=since("gossipsub-1.0"), claims=("mcache.windows", "gossip.ids")),
    Statement(id="gossip.promise-broken-only-if-undelivered", old_id="P64",
              says="A promise is broken only where nobody delivered the id in time.",
              revisions=since("gossipsub-1.1"), claims=("score.broken-promises",)),
    Statement(id="gossip.empty-advertisement-is-penalised", old_id="P65",
              says="Who advertises what it never delivers is penalised.", revisions=since("gossipsub-1.1"),
              claims=("score.broken-promises",), assumes="Heartbeats go on."),
)  # fmt: skip
