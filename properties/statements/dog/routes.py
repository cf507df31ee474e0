"""DOG: routes, and the control messages and the controller that change them."""

from __future__ import annotations

from typing import cast

from quidnunc.model.rpc import HaveTx, ResetRoute, Tx
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.mempool import MempoolMove, MempoolNetwork
from quidnunc.properties.networks.runs import BrokenClaim, Memory
from quidnunc.properties.statements.dog.moves import (
    ADJUSTING,
    adjusts,
    always,
    asks,
    bounds,
    cuts,
    kept,
    nodes,
    packed,
    ratio,
    route_name,
    routes_of,
    says_have_tx,
    sent_of,
    taken_message,
)
from quidnunc.properties.statements.dog.places import BOTH, CHANGING
from quidnunc.properties.statements.dog.revisions import DOG, FLOODING
from quidnunc.properties.statements.dog.rounds import (
    Rounds,
    at_each,
    everywhere,
    in_rounds,
    nowhere,
    somewhere,
)
from quidnunc.properties.statements.statement import Statement


def routes_are_of_others(move: MempoolMove) -> str:
    found = (name for name, i, n in nodes(move) if any(i in route for route in routes_of(n)))
    return next((f"a route of {name} mentions {name}" for name in found), "")


def only_heard_routes_change(move: MempoolMove) -> str:
    part = taken_message(move)
    for name, i, n in nodes(move):
        was, now = routes_of(move.before.nodes[i]), routes_of(n)
        added, removed = now - was, was - now
        heard = i == move.act.at and isinstance(part, HaveTx | ResetRoute)
        changed = added if isinstance(part, HaveTx) else removed
        other = removed if isinstance(part, HaveTx) else added
        if heard and (other or len(changed) > 1 or any(r[1] != move.act.node for r in changed)):
            return f"{move.act} at {name} adds {len(added)} and removes {len(removed)} routes"
        loses = removed and move.act.kind in ("notice", "leave") and i == move.act.node
        if not heard and (added or removed and not loses):
            return f"{move.act} changes a route of {name}"
    return ""


def have_tx_is_of_the_pool(move: MempoolMove) -> str:
    for name, i, n in nodes(move):
        for _, part in move.after.waiting(i):
            if isinstance(part, HaveTx) and part.id not in n.pool:
                return f"{name} is told of {part.id}, which it does not have"
    return ""


def adjustment_is_one(move: MempoolMove) -> str:
    if not adjusts(move):
        return ""
    low, high = bounds(move.before.nodes[move.act.node])
    was, now = move.before.nodes[move.act.node], move.after.nodes[move.act.node]
    both = bool(sent_of(move, ResetRoute)) and bool(was.blocked) and not now.blocked
    return "one adjustment asks for more and allows HaveTx" if both or low > high else ""


def adjustment_starts_anew(move: MempoolMove) -> str:
    if move.act.kind != "adjust":
        return ""
    was, now = move.before.nodes[move.act.node], move.after.nodes[move.act.node]
    if adjusts(move):
        return "counters are kept" if now.first_time or now.duplicates else ""
    return "an idle adjustment changes something" if was != now or move.sent else ""


def links_are_sound(move: MempoolMove) -> str:
    for name, i, n in nodes(move):
        if any(sender not in n.peers for sender, _ in move.after.inbox[i]):
            return f"a message to {name} is of no peer"
        if any(i not in move.after.nodes[p].peers for p in n.peers):
            return f"a peer of {name} does not know it"
    return routes_are_of_peers(move)


def routes_are_of_peers(move: MempoolMove) -> str:
    for name, _, n in nodes(move):
        for route in routes_of(n):
            if not set(route) <= n.peers.keys():
                return f"route {route_name(route)} at {name} is of no peer"
    return ""


def no_self_route(move: MempoolMove) -> str:
    found = ((name, r) for name, _, n in nodes(move) for r in routes_of(n) if r[0] == r[1])
    return next((f"route {route_name(r)} at {name}" for name, r in found), "")


def one_have_tx_in_flight(move: MempoolMove) -> str:
    flying = [s for i in move.after.nodes for s, part in move.after.waiting(i) if isinstance(part, HaveTx)]
    twice = next((s for s in flying if flying.count(s) > 1), None)
    return f"two HaveTx of {name_of(twice)} are on their way" if twice is not None else ""


def asked_is_a_peer(move: MempoolMove) -> str:
    for by, to in sent_of(move, ResetRoute):
        if to not in move.after.nodes[by].peers:
            return f"{name_of(by)} asks {name_of(to)}, which is no peer of it"
    return ""


def of_no_sender_is_harmless(move: MempoolMove) -> str:
    """What a HaveTx for a transaction without senders costs: the sender may not say another, for nothing."""
    part = taken_message(move)
    node, sender = move.act.peer, move.act.node
    if not isinstance(part, HaveTx) or move.before.nodes[node].senders(part.id):
        return ""
    if move.before.nodes[node] != move.after.nodes[node]:
        return f"{name_of(node)} changes"
    blocked = move.after.nodes[sender].blocked
    return f"{name_of(sender)} stays blocked, and nothing is cut" if blocked else ""


def one_have_tx_between_unblocks(memory: Memory, move: MempoolMove) -> Memory:
    said = kept(memory)
    if adjusts(move) and not move.after.nodes[move.act.node].blocked:
        said.pop(move.act.node, None)
    for by, _ in sent_of(move, HaveTx):
        said[by] = cast("int", said.get(by, 0)) + 1
        if said[by] != 1:
            return BrokenClaim(f"{name_of(by)} says a second HaveTx and was not unblocked")
    return packed(said)


def one_control_message_a_window(memory: Memory, move: MempoolMove) -> Memory:
    said = kept(memory)
    if move.act.kind in ADJUSTING:
        said.pop(move.act.node, None)
    for by, part, _ in move.sent:
        if isinstance(part, HaveTx | ResetRoute):
            said[by] = cast("int", said.get(by, 0)) + 1
            if said[by] != 1:
                return BrokenClaim(f"{name_of(by)} says {type(part).__name__}, its second since it adjusted")
    return packed(said)


def have_tx_after_high(memory: Memory, move: MempoolMove) -> Memory:
    """The last adjustment that was not idle found too much."""
    high = kept(memory)
    if adjusts(move):
        n = move.before.nodes[move.act.node]
        high[move.act.node] = ratio(n) >= bounds(n)[1]
    for by, _ in sent_of(move, HaveTx):
        if not high.get(by):
            return BrokenClaim(f"{name_of(by)} says HaveTx, and its last adjustment found no excess")
    return packed(high)


def none_cut_while_low(memory: Memory, move: MempoolMove) -> Memory:
    """While the last adjustment of a node found too little, no further route to it is disabled."""
    low = kept(memory)
    if adjusts(move):
        n = move.before.nodes[move.act.node]
        low[move.act.node] = ratio(n) < bounds(n)[0]
    for name, i, n in nodes(move):
        for route in routes_of(n) - routes_of(move.before.nodes[i]):
            if low.get(route[1]):
                return BrokenClaim(f"{name} cuts {route_name(route)}, and {name_of(route[1])} asks for more")
    return packed(low)


def stays_cut(network: MempoolNetwork, rounds: Rounds) -> str:
    """A route stays disabled although its target has less than it wants, at every adjustment."""
    for i in network.joined():
        cut = any((routes_of(n) and any(r[1] == i for r in routes_of(n))) for n in network.nodes.values())
        mine = [m for m in rounds.moves if m.act.kind == "adjust" and m.act.node == i]
        starved = all(not m.before.nodes[i].duplicates for m in mine)
        freed = any(
            any(r[1] == i for r in routes_of(m.before.nodes[j]) - routes_of(m.after.nodes[j]))
            for m in rounds.moves
            for j in m.after.nodes
        )
        if cut and starved and not freed:
            return f"routes to {name_of(i)} stay cut for ever"
    return ""


def stays_cut_with_traffic(network: MempoolNetwork, rounds: Rounds) -> str:
    """The same, where something new comes in every window."""
    busy = all(m.before.nodes[m.act.node].first_time for m in rounds.moves if m.act.kind == "adjust")
    return stays_cut(network, rounds) if busy else ""


def no_tree(network: MempoolNetwork, rounds: Rounds) -> str:
    """Some node gets another number of copies than one, in all rounds."""
    for i in network.joined():
        came = sum(m.act.at == i and isinstance(taken_message(m), Tx) for m in rounds.moves)
        submitted = sum(m.act.kind == "submit" and m.act.node != i for m in rounds.moves)
        if submitted and came != submitted:
            return f"{name_of(i)} gets {came} copies of {submitted} transactions, for ever"
    return ""


def asks_in_vain(network: MempoolNetwork, rounds: Rounds) -> str:
    """Somebody asks in every round and hears no duplicate, ever."""
    for i in network.joined():
        asked = sum(by == i and m.act.kind == "adjust" for m in rounds.moves for by, part, _ in m.sent)
        heard = any(m.after.nodes[i].duplicates for m in rounds.moves)
        if asked and not heard:
            return f"{name_of(i)} asks in every round and never hears a duplicate"
    return ""


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        id="routes.never-mention-their-node",
        old_id="P-3",
        says="Routes stored at a node never mention it.",
        revisions=DOG,
        clauses=("dog/route.initially-enabled",),
        look=always(routes_are_of_others),
        places=BOTH,
        occasion=cuts,
    ),
    Statement(
        id="routes.change-one-at-a-time",
        old_id="P-4",
        says=(
            "HaveTx of q adds one route at most, to q; ResetRoute of q removes one at most, to q; otherwise "
            "only the loss of a peer changes routes."
        ),
        revisions=DOG,
        clauses=("dog/havetx.one-route", "dog/havetx.target", "dog/reset.one", "dog/reset.own-target"),
        look=always(only_heard_routes_change),
        places=BOTH,
        occasion=cuts,
    ),
    Statement(
        id="havetx.names-what-the-receiver-has",
        old_id="P-5",
        says="A HaveTx(t) on its way to p implies that p has t.",
        revisions=DOG,
        clauses=("dog/havetx.to-sender",),
        look=always(have_tx_is_of_the_pool),
        places=BOTH,
        occasion=says_have_tx,
    ),
    Statement(
        id="havetx.one-between-unblocks",
        old_id="P-6",
        says="Between two adjustments that unblock, a node says one HaveTx at most.",
        revisions=DOG,
        clauses=("dog/havetx.then-blocked", "dog/havetx.while-blocked"),
        look=one_have_tx_between_unblocks,
        places=BOTH,
        occasion=says_have_tx,
    ),
    Statement(
        id="controller.resets-or-unblocks",
        old_id="P-7",
        says="The lower bound is not above the upper; one adjustment does not both reset and unblock.",
        revisions=DOG,
        clauses=("dog/controller.reset", "dog/controller.unblock"),
        look=always(adjustment_is_one),
        places=BOTH,
        occasion=adjusts,
    ),
    Statement(
        id="controller.restarts-its-counters",
        old_id="P-8",
        says="After an adjustment with traffic the counters are 0; without, nothing has changed.",
        revisions=DOG,
        clauses=("dog/controller.restart", "dog/controller.idle"),
        look=always(adjustment_starts_anew),
        places=BOTH,
        occasion=adjusts,
    ),
    Statement(
        id="routes.of-peers-in-a-static-network",
        old_id="P-9",
        says=(
            "Nobody leaves: messages on their way are between peers, who know each other, and routes "
            "mention peers."
        ),
        revisions=FLOODING,
        clauses=("dog/route.initially-enabled", "flood/rpc.reliable"),
        look=always(links_are_sound),
        places=BOTH,
    ),
    Statement(
        id="routes.of-peers-only",
        old_id="P-10",
        says="Disabled routes never mention who is no peer.",
        revisions=DOG,
        clauses=("dog/peer.forget-routes",),
        look=always(routes_are_of_peers),
        places=CHANGING,
        occasion=cuts,
    ),
    Statement(
        id="routes.never-to-self",
        old_id="P-11",
        says="Source and target of a route differ.",
        revisions=DOG,
        clauses=("dog/havetx.self-route",),
        look=always(no_self_route),
        places=BOTH,
        occasion=cuts,
    ),
    Statement(
        id="controller.one-message-per-interval",
        old_id="P-12",
        says="In one iteration of the controller, one HaveTx or one ResetRoute is said at most.",
        revisions=DOG,
        clauses=("dog/controller.one-message",),
        look=one_control_message_a_window,
        places=BOTH,
        occasion=says_have_tx,
        reading="An iteration begins with its adjustment.",
    ),
    Statement(
        id="havetx.only-after-excess",
        old_id="P-13",
        says="Who says HaveTx found too much at its last adjustment that was not idle.",
        revisions=DOG,
        clauses=("dog/havetx.then-blocked",),
        look=have_tx_after_high,
        places=BOTH,
        occasion=says_have_tx,
        reading="Before the first one there was none.",
    ),
    Statement(
        id="havetx.one-in-flight",
        old_id="P-14",
        says="One HaveTx of a node is on its way at most.",
        revisions=DOG,
        clauses=("dog/havetx.then-blocked",),
        look=always(one_have_tx_in_flight),
        places=BOTH,
        occasion=says_have_tx,
    ),
    Statement(
        id="reset.goes-to-a-peer",
        old_id="P-15",
        says="ResetRoute goes to a peer.",
        revisions=DOG,
        clauses=("dog/peer.reset-not-to-lost",),
        look=always(asked_is_a_peer),
        places=CHANGING,
        occasion=asks,
    ),
    Statement(
        id="routes.reopen-with-traffic",
        old_id="P-20",
        says=(
            "If from some time on a node hears too little at each adjustment, something new in each "
            "window, from the same peers, then a route to it that is disabled is removed in the end."
        ),
        revisions=DOG,
        clauses=("dog/controller.reset", "dog/reset.one"),
        look=in_rounds(somewhere, stays_cut_with_traffic),
        places=BOTH,
        occasion=cuts,
        rounds=True,
    ),
    Statement(
        id="routes.reopen-without-traffic",
        old_id="P-21",
        says=(
            "If from some time on a node hears too little at each adjustment, from the same peers, then a "
            "route to it that is disabled is removed in the end, though nothing new comes."
        ),
        revisions=DOG,
        clauses=("dog/controller.idle",),
        look=in_rounds(nowhere, stays_cut),
        places=BOTH,
        occasion=cuts,
        rounds=True,
    ),
    Statement(
        id="routes.not-disabled-while-low",
        old_id="P-22",
        says="While a node hears too little the number of disabled routes to it does not grow.",
        revisions=DOG,
        clauses=("dog/controller.one-message",),
        look=none_cut_while_low,
        places=BOTH,
        occasion=cuts,
    ),
    Statement(
        id="routes.form-spanning-trees",
        old_id="P-29",
        says="Routes converge to a superposition of spanning trees.",
        revisions=DOG,
        clauses=("dog/route.filter",),
        look=in_rounds(at_each, no_tree),
        places=BOTH,
        rounds=True,
        reading="In rounds that repeat, each node gets one copy.",
    ),
    Statement(
        id="reset.brings-duplicates",
        old_id="P-45",
        says="ResetRoute leads to more duplicates in the end.",
        revisions=DOG,
        clauses=("dog/reset.not-retroactive",),
        look=in_rounds(everywhere, asks_in_vain),
        places=BOTH,
        occasion=asks,
        rounds=True,
    ),
    Statement(
        id="havetx.without-sender-is-harmless",
        old_id="P-48",
        says="A HaveTx for an RPC transaction with no sender is harmless and useless.",
        revisions=DOG,
        clauses=("dog/havetx.no-sender",),
        look=always(of_no_sender_is_harmless),
        places=BOTH,
        occasion=says_have_tx,
        reading="Harmful: its sender has used up its permission, and no route is cut.",
    ),
)
