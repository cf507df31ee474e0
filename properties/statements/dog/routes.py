"""DOG: routes, and the control messages and the controller that change them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from attrs import evolve

from quidnunc.model.choices import Choose
from quidnunc.model.mempool.dog import rules as dog
from quidnunc.model.mempool.node import Node
from quidnunc.model.permits import Step
from quidnunc.model.rpc import HaveTx, Peer, ResetRoute, Tx
from quidnunc.model.rules import Protocol, first, rule
from quidnunc.properties.networks.acts import name_of
from quidnunc.properties.networks.mempool import MempoolMove, MempoolNetwork
from quidnunc.properties.networks.runs import BrokenClaim, Memory
from quidnunc.properties.networks.world import Look
from quidnunc.properties.statements.dog.moves import (
    ADJUSTING,
    adjusts,
    always,
    bounds,
    kept,
    nodes,
    packed,
    ratio,
    route_name,
    routes_of,
    sent_of,
    taken_message,
)
from quidnunc.properties.statements.dog.rounds import (
    Rounds,
    at_each,
    everywhere,
    in_rounds,
    nowhere,
    somewhere,
)


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
    if (move.act.node, move.act.node) in move.before.begun:
        return f"{name_of(move.act.node)} acts on counters that were set to 0 since it read them"
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
    if move.act.kind == "notice":
        was, now = (each.nodes[move.act.node] for each in (move.before, move.after))
        low = was.first_time + was.duplicates > 0 and ratio(was) < bounds(was)[0]
        if low and now.peers and not any(by == move.act.node for by, _ in sent_of(move, ResetRoute)):
            asking, gone = name_of(move.act.node), name_of(move.act.peer)
            return f"{asking} asks nobody: its ResetRoute is meant for {gone}"
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
    if move.act.kind in ADJUSTING and not move.after.nodes[move.act.node].blocked:
        said.pop(move.act.node, None)
    for by, _ in sent_of(move, HaveTx):
        said[by] = cast("int", said.get(by, 0)) + 1
        if said[by] != 1:
            return BrokenClaim(f"{name_of(by)} says a second HaveTx and was not unblocked")
    return packed(said)


def metric_is_the_number(memory: Memory, move: MempoolMove) -> Memory:
    """As the Go node reports it: after a HaveTx, a ResetRoute and a loss."""
    reported, at = kept(memory), move.act.at
    begun = move.before.begun.get((at, move.act.node))
    if move.act.kind == "deliver" and isinstance(begun, int):
        reported[at] = begun
    elif move.act.kind == "deliver" and isinstance(taken_message(move), HaveTx | ResetRoute):
        reported[at] = len(routes_of(move.after.nodes[at]))
    elif move.act.kind in ("notice", "leave"):
        reported[at] = len(routes_of(move.after.nodes[at]))
    for name, i, n in nodes(move):
        number, busy = len(routes_of(n)), any(isinstance(move.after.begun.get((i, p)), int) for p in n.peers)
        if not busy and reported.get(i, 0) != number:
            return BrokenClaim(f"{name} reports {reported.get(i, 0)} disabled routes, and has {number}")
    return packed(reported)


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
    """Somebody to whom a route is disabled asks in every round and hears no duplicate, ever."""
    for i in network.joined():
        if not any(route[1] == i for n in network.nodes.values() for route in routes_of(n)):
            continue
        asked = sum(by == i and m.act.kind == "adjust" for m in rounds.moves for by, part, _ in m.sent)
        heard = any(m.after.nodes[i].duplicates for m in rounds.moves)
        if asked and not heard:
            return f"{name_of(i)} asks in every round and never hears a duplicate"
    return ""


@rule("dog/controller.unblock")
def always_too_much(n: Node, lost: Peer | None, choose: Choose) -> Step[Node]:
    """Of a target of 0 both bounds are 0: HaveTx is allowed whenever something came, and nobody is asked."""
    return Step(evolve(n, blocked=False))


def routing_alone(protocol: Protocol) -> Protocol:
    """Dynamic routing without redundancy control: a target of 0."""
    return protocol.extended(protocol.name, controller=first(dog.nothing_came, always_too_much))


EDITS: Mapping[str, Callable[[Protocol], Protocol]] = {"routes.form-spanning-trees": routing_alone}
LOOKS: Mapping[str, Look] = {
    "routes.never-mention-their-node": always(routes_are_of_others),
    "routes.change-one-at-a-time": always(only_heard_routes_change),
    "havetx.names-what-the-receiver-has": always(have_tx_is_of_the_pool),
    "havetx.one-between-unblocks": one_have_tx_between_unblocks,
    "controller.resets-or-unblocks": always(adjustment_is_one),
    "controller.restarts-its-counters": always(adjustment_starts_anew),
    "routes.of-peers-in-a-static-network": always(links_are_sound),
    "routes.of-peers-only": always(routes_are_of_peers),
    "routes.never-to-self": always(no_self_route),
    "controller.one-message-per-interval": one_control_message_a_window,
    "havetx.only-after-excess": have_tx_after_high,
    "havetx.one-in-flight": always(one_have_tx_in_flight),
    "reset.goes-to-a-peer": always(asked_is_a_peer),
    "routes.reopen-with-traffic": in_rounds(somewhere, stays_cut_with_traffic),
    "routes.reopen-without-traffic": in_rounds(nowhere, stays_cut),
    "routes.not-disabled-while-low": none_cut_while_low,
    "routes.form-spanning-trees": in_rounds(at_each, no_tree),
    "reset.brings-duplicates": in_rounds(everywhere, asks_in_vain),
    "havetx.without-sender-is-harmless": always(of_no_sender_is_harmless),
    "metrics.count-disabled-routes": metric_is_the_number,
}
