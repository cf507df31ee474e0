"""Statements about DOG that one state, one step or one window of a run can break.

Each is a `Look` of `quidnunc.properties.mempool_search`: what it remembers of a run, and what breaks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import cast

from attrs import evolve

from quidnunc.model import dog
from quidnunc.model.dog_readings import too_much_in_integers
from quidnunc.model.node import Node
from quidnunc.model.peer_limit import limit_of, members
from quidnunc.model.rpc import HaveTx, Peer, ResetRoute, SeenTx, Tx, WantTx
from quidnunc.model.rules import Protocol
from quidnunc.properties.mempool_network import Network, acted
from quidnunc.properties.mempool_network_acts import Act, name_of
from quidnunc.properties.mempool_search import Broken, Look, Memory, Move
from quidnunc.properties.network_runs import ActError

Says = Callable[[Move], str]
"""What is wrong after a move, or nothing."""


def always(says: Says) -> Look:
    """A statement that remembers nothing."""

    def look(memory: Memory, move: Move) -> Memory:
        wrong = says(move)
        return Broken(wrong) if wrong else None

    return look


def kept(memory: Memory) -> dict[object, object]:
    """A memory of pairs, to be changed and then `packed`."""
    return dict(cast("tuple[tuple[object, object], ...]", memory or ()))


def packed(found: Mapping[object, object]) -> Memory:
    """The hashable form of what a statement remembers by node."""
    return tuple(sorted(found.items(), key=repr))


def routes_of(n: Node) -> frozenset[tuple[Peer, Peer]]:
    """Disabled routes of a node, as (source, target)."""
    return frozenset((source, target) for target, known in n.routes.items() for source in known.must)


def route_name(route: tuple[Peer, Peer]) -> str:
    return f"{name_of(route[0])}->{name_of(route[1])}"


def nodes(move: Move) -> Iterator[tuple[str, Peer, Node]]:
    for i, n in move.after.nodes.items():
        yield name_of(i), i, n


def taken(move: Move) -> object:
    """The message that a move took, if it took one."""
    if move.act.kind != "R":
        return None
    return next(part for sender, part in move.before.inbox[move.act.node] if (sender,) == move.act.peers)


def sent_of(move: Move, kind: type[HaveTx | ResetRoute | Tx]) -> list[tuple[Peer, Peer]]:
    """(by whom, to whom) of what a move sent of a kind."""
    return [(by, to) for by, part, to in move.sent if isinstance(part, kind)]


def adjusts(move: Move) -> bool:
    """Whether a controller ran, and something had come."""
    n = move.before.nodes[move.act.node]
    return move.act.kind in "AL" and n.first_time + n.duplicates > 0


@lru_cache(maxsize=64)
def in_integers(protocol: Protocol) -> bool:
    """Whether its controller reckons in integers."""
    return any(each.apply is too_much_in_integers.apply for _, each in protocol.rules())


def bounds(n: Node) -> tuple[float, float]:
    """The accepted redundancy, as the node reckons."""
    if not in_integers(n.protocol):
        return dog.bounds(n)
    target = int(n.parameters.target_redundancy)
    width = target * int(n.parameters.delta_percent) // 100
    return target - width, target + width


def cuts(move: Move) -> bool:
    """Whether a route was disabled."""
    return any(routes_of(n) - routes_of(move.before.nodes[i]) for i, n in move.after.nodes.items())


def says_have_tx(move: Move) -> bool:
    return bool(sent_of(move, HaveTx))


def asks(move: Move) -> bool:
    return bool(sent_of(move, ResetRoute))


def has_left(move: Move) -> bool:
    return move.act.kind == "L" and move.after.quiet()


def gets_a_sender(move: Move) -> bool:
    return isinstance(taken(move), Tx)


def announces(move: Move) -> bool:
    return any(isinstance(part, SeenTx) for _, part, _ in move.sent)


def wants(move: Move) -> bool:
    return any(isinstance(part, WantTx) for _, part, _ in move.sent)


def is_in_band(move: Move) -> bool:
    """Whether nothing moves and every node's redundancy is within its bounds."""
    nodes_now = [move.after.nodes[i] for i in move.after.joined()]
    return move.after.quiet() and all(
        n.first_time and bounds(n)[0] <= ratio(n) < bounds(n)[1] for n in nodes_now
    )


def ratio(n: Node) -> float:
    """The redundancy of a window in which something came, as the node reckons."""
    if not n.first_time:
        return bounds(n)[1]
    return n.duplicates // n.first_time if in_integers(n.protocol) else n.duplicates / n.first_time


# -- one state ----------------------------------------------------------------------------------------------


def pool_is_sound(move: Move) -> str:
    for name, i, n in nodes(move):
        if move.after.offered[i] > len(n.pool):
            return f"{name} has offered more than it has"
        if n.cache != frozenset(n.pool):
            return f"cache and pool of {name} differ"
    return ""


def senders_are_sound(move: Move) -> str:
    for name, i, n in nodes(move):
        for tx, senders in n.pool.items():
            if len(set(senders)) < len(senders):
                return f"{name} has a sender of {tx} twice"
            if i in senders:
                return f"{name} is a sender of {tx} to itself"
    return ""


def routes_are_of_others(move: Move) -> str:
    found = (name for name, i, n in nodes(move) if any(i in route for route in routes_of(n)))
    return next((f"a route of {name} mentions {name}" for name in found), "")


def only_heard_routes_change(move: Move) -> str:
    part = taken(move)
    for name, i, n in nodes(move):
        was, now = routes_of(move.before.nodes[i]), routes_of(n)
        added, removed = now - was, was - now
        heard = i == move.act.node and isinstance(part, HaveTx | ResetRoute)
        changed = added if isinstance(part, HaveTx) else removed
        other = removed if isinstance(part, HaveTx) else added
        if heard and (other or len(changed) > 1 or any((r[1],) != move.act.peers for r in changed)):
            return f"{move.act} at {name} adds {len(added)} and removes {len(removed)} routes"
        loses = removed and move.act.kind in "LX" and i == move.act.node
        if not heard and (added or removed and not loses):
            return f"{move.act} changes a route of {name}"
    return ""


def have_tx_is_of_the_pool(move: Move) -> str:
    for name, i, n in nodes(move):
        for _, part in move.after.inbox[i]:
            if isinstance(part, HaveTx) and part.id not in n.pool:
                return f"{name} is told of {part.id}, which it does not have"
    return ""


def adjustment_is_one(move: Move) -> str:
    if not adjusts(move):
        return ""
    low, high = bounds(move.before.nodes[move.act.node])
    was, now = move.before.nodes[move.act.node], move.after.nodes[move.act.node]
    both = bool(sent_of(move, ResetRoute)) and bool(was.blocked) and not now.blocked
    return "one adjustment asks for more and allows HaveTx" if both or low > high else ""


def adjustment_starts_anew(move: Move) -> str:
    if move.act.kind != "A":
        return ""
    was, now = move.before.nodes[move.act.node], move.after.nodes[move.act.node]
    if adjusts(move):
        return "counters are kept" if now.first_time or now.duplicates else ""
    return "an idle adjustment changes something" if was != now or move.sent else ""


def links_are_sound(move: Move) -> str:
    for name, i, n in nodes(move):
        if any(sender not in n.peers for sender, _ in move.after.inbox[i]):
            return f"a message to {name} is of no peer"
        if any(i not in move.after.nodes[p].peers for p in n.peers):
            return f"a peer of {name} does not know it"
    return routes_are_of_peers(move)


def routes_are_of_peers(move: Move) -> str:
    for name, _, n in nodes(move):
        for route in routes_of(n):
            if not set(route) <= n.peers.keys():
                return f"route {route_name(route)} at {name} is of no peer"
    return ""


def no_self_route(move: Move) -> str:
    found = ((name, r) for name, _, n in nodes(move) for r in routes_of(n) if r[0] == r[1])
    return next((f"route {route_name(r)} at {name}" for name, r in found), "")


def one_have_tx_in_flight(move: Move) -> str:
    flying = [s for waiting in move.after.inbox.values() for s, part in waiting if isinstance(part, HaveTx)]
    twice = next((s for s in flying if flying.count(s) > 1), None)
    return f"two HaveTx of {name_of(twice)} are on their way" if twice is not None else ""


def asked_is_a_peer(move: Move) -> str:
    for by, to in sent_of(move, ResetRoute):
        if to not in move.after.nodes[by].peers:
            return f"{name_of(by)} asks {name_of(to)}, which is no peer of it"
    return ""


def not_sent_back(move: Move) -> str:
    for name, _, n in nodes(move):
        for tx, senders in n.pool.items():
            for sender in senders:
                if (n_id(move, name), Tx(tx)) in move.after.inbox[sender]:
                    return f"{name} has sent {tx} back to {name_of(sender)}"
    return ""


def n_id(move: Move, name: str) -> Peer:
    return next(i for i in move.after.nodes if name_of(i) == name)


def inboxes_move(move: Move) -> str:
    """The oldest message of a node can be taken."""
    for i in move.after.joined():
        if move.after.inbox[i] and not can_take(move.after, i):
            return f"{name_of(i)} can take nothing of what waits for it"
    return ""


def can_take(network: Network, node: Peer) -> bool:
    """Whether some message that waits for `node` can be taken."""
    for sender, _ in network.inbox[node]:
        try:
            acted(network, Act("R", node, (sender,)))
        except ActError:
            continue
        return True
    return False


def network_lives(move: Move) -> str:
    return "" if move.after.joined() else "nobody has peers"


def no_idle_slot(move: Move) -> str:
    """Peer limit: nobody waits while a slot is free."""
    for name, _, n in nodes(move):
        held = n.slots_of("other").must
        waiting = members(n, "other") - held
        if waiting and len(held) < limit_of(n, "other"):
            return f"{name} has a free slot, and {name_of(*sorted(waiting))} waits"
    return ""


def of_no_sender_is_harmless(move: Move) -> str:
    """What a HaveTx for a transaction without senders costs: the sender may not say another, for nothing."""
    part = taken(move)
    if not isinstance(part, HaveTx) or move.before.nodes[move.act.node].senders(part.id):
        return ""
    if move.before.nodes[move.act.node] != move.after.nodes[move.act.node]:
        return f"{name_of(move.act.node)} changes"
    sender = move.after.nodes[move.act.peers[0]]
    return f"{name_of(*move.act.peers)} stays blocked, and nothing is cut" if sender.blocked else ""


# -- a window of a run --------------------------------------------------------------------------------------


def one_have_tx_between_unblocks(memory: Memory, move: Move) -> Memory:
    said = kept(memory)
    if adjusts(move) and not move.after.nodes[move.act.node].blocked:
        said.pop(move.act.node, None)
    for by, _ in sent_of(move, HaveTx):
        said[by] = cast("int", said.get(by, 0)) + 1
        if said[by] != 1:
            return Broken(f"{name_of(by)} says a second HaveTx and was not unblocked")
    return packed(said)


def one_control_message_a_window(memory: Memory, move: Move) -> Memory:
    said = kept(memory)
    if move.act.kind in "AL":
        said.pop(move.act.node, None)
    for by, part, _ in move.sent:
        if isinstance(part, HaveTx | ResetRoute):
            said[by] = cast("int", said.get(by, 0)) + 1
            if said[by] != 1:
                return Broken(f"{name_of(by)} says {type(part).__name__}, its second since it adjusted")
    return packed(said)


def have_tx_after_high(memory: Memory, move: Move) -> Memory:
    """The last adjustment that was not idle found too much."""
    high = kept(memory)
    if adjusts(move):
        n = move.before.nodes[move.act.node]
        high[move.act.node] = ratio(n) >= bounds(n)[1]
    for by, _ in sent_of(move, HaveTx):
        if not high.get(by):
            return Broken(f"{name_of(by)} says HaveTx, and its last adjustment found no excess")
    return packed(high)


def none_cut_while_low(memory: Memory, move: Move) -> Memory:
    """While the last adjustment of a node found too little, no further route to it is disabled."""
    low = kept(memory)
    if adjusts(move):
        n = move.before.nodes[move.act.node]
        low[move.act.node] = ratio(n) < bounds(n)[0]
    for name, i, n in nodes(move):
        for route in routes_of(n) - routes_of(move.before.nodes[i]):
            if low.get(route[1]):
                return Broken(f"{name} cuts {route_name(route)}, and {name_of(route[1])} asks for more")
    return packed(low)


def own_goes_to_all(memory: Memory, move: Move) -> Memory:
    """What a user submitted first at a node goes to all its peers but those who have sent it."""
    own = frozenset(cast("frozenset[tuple[Peer, str]]", memory or ()))
    act = move.act
    if act.kind == "U" and act.tx not in move.before.nodes[act.node].cache:
        own |= {(act.node, act.tx)}
    if act.kind == "D":
        n = move.before.nodes[act.node]
        tx = [*n.pool][move.before.offered[act.node]]
        missing = n.peers.keys() - set(n.senders(tx)) - {to for _, to in sent_of(move, Tx)}
        if (act.node, tx) in own and missing:
            return Broken(f"{name_of(act.node)} withholds its own {tx} from {name_of(*sorted(missing))}")
    return own


def uncounted(by_whom: Callable[[Move], bool], what: str) -> Look:
    """What `by_whom` says came in does not change what a controller does: with it left out of the counters,
    the adjustment does the same."""

    def look(memory: Memory, move: Move) -> Memory:
        came = kept(memory)
        node = move.act.node
        was, now = move.before.nodes[node], move.after.nodes[node]
        if move.act.kind in "AL":
            first, again = cast("tuple[int, int]", came.pop(node, (0, 0)))
            less = evolve(was, first_time=was.first_time - first, duplicates=was.duplicates - again)
            if move.act.kind == "A" and (first or again) and _decides(less) != _decides(was):
                return Broken(f"{name_of(node)} {_decides(was)}; without {what} it {_decides(less)}")
        elif by_whom(move):
            first, again = cast("tuple[int, int]", came.get(node, (0, 0)))
            came[node] = (first + now.first_time - was.first_time, again + now.duplicates - was.duplicates)
        return packed(came)

    return look


def _decides(n: Node) -> str:
    if not n.first_time + n.duplicates:
        return "does nothing"
    low, high = bounds(n)
    return "asks for more" if ratio(n) < low else "allows HaveTx" if ratio(n) >= high else "does nothing"
