"""DOG: routes disabled by HaveTx and enabled by ResetRoute, and the controller that asks for either.

ADR-119 and spec/mempool/gossip/dog.md of CometBFT. Our reading repairs the specification where it deadlocks
(`nothing_disabled`) or names a dead peer (`first_sender_gone`, `the_lost`).
"""

from __future__ import annotations

from collections.abc import Iterable

from quidnunc.model.choices import MAX_FORKS, Choose, PartialSet
from quidnunc.model.events import Sent
from quidnunc.model.mempool.flood import FloodObservation
from quidnunc.model.mempool.node import Node
from quidnunc.model.mempool.node_step import run
from quidnunc.model.mempool.routes import shown_disabled, shown_enabled, with_one_freed, with_source
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.router import ReceivedPart, without_key
from quidnunc.model.rpc import ROUTER, HaveTx, Peer, ResetRoute, Tx
from quidnunc.model.rules import Targets, rule
from quidnunc.model.values import evolve

# -- a transaction arrives --------------------------------------------------------------------------------


@rule(
    "dog/count.first",
    lacking="Does not count first-time transactions.",
    when="it counts a first-time transaction",
)
def count_first_time(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """From a peer or a user. Nothing is said about it."""
    return Step(evolve(n, first_time=n.first_time + 1)) if not n.knows(t.part.id) else None


@rule(
    "dog/count.duplicate",
    lacking="Does not count duplicates that peers send.",
    when="it counts a duplicate that a peer sends",
)
def count_duplicate(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """In the pool or not: a committed one counts as any other."""
    from_peer = n.knows(t.part.id) and t.peer != ROUTER
    return Step(evolve(n, duplicates=n.duplicates + 1)) if from_peer else None


@rule(
    "dog/count.user-duplicate",
    lacking="Does not count duplicates that users submit.",
    when="it counts a duplicate that a user submits",
)
def count_user_duplicate(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    from_user = n.knows(t.part.id) and t.peer == ROUTER
    return Step(evolve(n, duplicates=n.duplicates + 1)) if from_user else None


@rule("dog/havetx.reply", lacking="Does not answer duplicates with HaveTx.", when="it handles a duplicate")
def answer_duplicate(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    return run(n, "duplicate", t, choose) if n.knows(t.part.id) else None


@rule(
    "dog/havetx.not-to-user",
    lacking="Answers a user's duplicate with HaveTx.",
    when="it drops a duplicate that a user submits",
)
def from_user(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """There is nobody to answer."""
    return Step(n) if t.peer == ROUTER else None


@rule(
    "dog/peer.without-dog",
    lacking="Answers a duplicate of a peer without DOG with HaveTx.",
    when="it handles a duplicate of a peer without DOG",
)
def from_one_without_dog(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """A peer that does not have DOG enabled is not sent its messages, and none of them is blocked by that."""
    peer = n.peers.get(t.peer)
    return Step(n) if peer is not None and not peer.has_dog else None


@rule(
    "dog/havetx.while-blocked",
    lacking="Sends HaveTx while HaveTx is blocked.",
    when="it handles a duplicate while HaveTx is blocked",
)
def while_blocked(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    return Step(n) if n.blocked else None


@rule(
    "dog/havetx.for-committed",
    lacking="Answers a duplicate of a committed transaction with HaveTx.",
    when="it handles a duplicate of a committed transaction",
)
def of_committed(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """Removal from the pool is outside the specification's model: it may be answered, or not."""
    return _perhaps_answered(n, t, n.blocked, choose) if t.part.id not in n.pool else None


@rule(
    "dog/havetx.reply",
    lacking="Sends HaveTx while HaveTx may be blocked.",
    when="it handles a duplicate while HaveTx may be blocked",
)
def while_perhaps_blocked(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """After a committed duplicate of a stalled peer; it is surely blocked then, be it by this answer."""
    return _perhaps_answered(n, t, True, choose) if n.blocked is None else None


@rule(
    "dog/havetx.reply",
    lacking="Does not answer a duplicate of a pooled transaction with HaveTx.",
    when="it answers a duplicate of a pooled transaction with HaveTx",
)
def of_pooled(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node]:
    return run(n, "say_have_tx", t, choose)


@rule(
    "dog/havetx.to-sender",
    lacking="Sends no HaveTx to the sender of a duplicate.",
    when="it sends HaveTx to the sender of a duplicate",
)
def tell_sender(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node]:
    """HaveTx goes to the one who sent the duplicate, and names it."""
    return Step(n, (Permit(Sent(t.peer, HaveTx(t.part.id)), True, "dog/havetx.to-sender", "now"),))


@rule(
    "dog/havetx.then-blocked",
    lacking="Does not block HaveTx after it has sent one.",
    when="it blocks HaveTx after it has sent one",
)
def block_next(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node]:
    return Step(evolve(n, blocked=True))


def _perhaps_answered(n: Node, t: ReceivedPart[Tx], otherwise: bool | None, choose: Choose) -> Step[Node]:
    """An answer that is free; without one, HaveTx is blocked as `otherwise` says."""
    have = HaveTx(t.part.id)
    if n.peers[t.peer].stalled:
        unseen = evolve(n, blocked=None if otherwise is False else otherwise)
        return Step(unseen, (Permit(Sent(t.peer, have), False, "dog/havetx.for-committed", "now"),))
    answered = choose.some(
        "havetx.perhaps",
        "dog/havetx.for-committed",
        Targets(frozenset(), frozenset([t.peer])),
        (0, 1),
        reveals=lambda p: Sent(p, have),
    )
    return run(n, "say_have_tx", t, choose) if answered else Step(evolve(n, blocked=otherwise))


# -- HaveTx and ResetRoute arrive -------------------------------------------------------------------------


@rule(
    "dog/havetx.no-sender",
    lacking="Disables a route for a transaction that has no sender.",
    when="it drops a HaveTx for a transaction that has no sender",
)
def no_sender(n: Node, h: ReceivedPart[HaveTx], choose: Choose) -> Step[Node] | None:
    """For what is unknown, gone from the pool, or from a user, there is no route to disable."""
    return Step(n) if n.first_sender(h.part.id) is None else None


@rule(
    "dog/havetx.first-sender-gone",
    lacking="Disables a route from a peer that has disconnected.",
    when="it drops a HaveTx for a transaction whose first sender has disconnected",
)
def first_sender_gone(n: Node, h: ReceivedPart[HaveTx], choose: Choose) -> Step[Node] | None:
    """A route is between peers. As written, the specification adds one from a peer that it has lost."""
    return Step(n) if n.first_sender(h.part.id) not in n.peers else None


@rule(
    "dog/havetx.one-route",
    lacking="Disables another route for a repeated HaveTx.",
    when="it drops a HaveTx whose route is disabled already",
)
def disabled_already(n: Node, h: ReceivedPart[HaveTx], choose: Choose) -> Step[Node] | None:
    """The same HaveTx again disables no further one."""
    first = n.first_sender(h.part.id)
    return Step(n) if first is not None and n.disabled_to(h.peer).holds(first) else None


@rule(
    "dog/havetx.first-sender",
    lacking="Disables no route when it receives HaveTx.",
    when="it disables a route because of a HaveTx",
)
def disable_first(n: Node, h: ReceivedPart[HaveTx], choose: Choose) -> Step[Node] | None:
    """From the first sender of the transaction to the one who said HaveTx."""
    first = n.first_sender(h.part.id)
    if first is None:
        return None
    return Step(n.with_disabled_to(h.peer, with_source(n.disabled_to(h.peer), first)))


@rule(
    "dog/reset.none",
    lacking="Waits with a ResetRoute that finds no disabled route.",
    when="it receives a ResetRoute and has no disabled route",
)
def nothing_disabled(n: Node, q: ReceivedPart[ResetRoute], choose: Choose) -> Step[Node] | None:
    """The message is consumed. As written, the specification waits for ever for a route to enable."""
    return Step(n) if not n.disabled_to(q.peer).most else None


@rule(
    "dog/reset.one",
    lacking="Enables no route when it receives ResetRoute.",
    when="it enables a route because of a ResetRoute",
)
def enable_one(n: Node, q: ReceivedPart[ResetRoute], choose: Choose) -> Step[Node]:
    """One of the routes to the one who asks. Which one shows with what is sent to it, or never."""
    return Step(n.with_disabled_to(q.peer, with_one_freed(n.disabled_to(q.peer))))


# -- to whom it goes --------------------------------------------------------------------------------------


@rule(
    "dog/route.filter",
    lacking="Sends transactions over disabled routes.",
    when="it checks whether a route is disabled before it forwards a transaction",
)
def cut_off(n: Node, tx: str, peer: Peer) -> bool | None:
    """The route from the first sender is disabled; without senders, as from a user, there is no route."""
    first = n.first_sender(tx)
    return n.disabled_to(peer).holds(first) if first is not None else False


@rule(
    "dog/route.filter",
    lacking="Changes its routes without a HaveTx or ResetRoute.",
    when="it forwards a transaction over its routes",
)
def learn_route(n: Node, s: FloodObservation, choose: Choose) -> Step[Node] | None:
    """What was sent, or withheld, tells which routes are enabled."""
    source = n.first_sender(s.tx)
    if source is None:
        return None
    for peer in s.free:
        learn = shown_enabled if peer in s.sent else shown_disabled
        n = n.with_disabled_to(peer, learn(n.disabled_to(peer), source))
    return Step(n)


# -- the controller ---------------------------------------------------------------------------------------


def bounds(n: Node) -> tuple[float, float]:
    """The accepted redundancy: from the first, up to and without the second."""
    target, delta = n.parameters.target_redundancy, n.parameters.delta_percent
    # One order of operations for all: it decides the last bit of a bound.
    return target - target * delta / 100, target + target * delta / 100


def redundancy(n: Node) -> float:
    """Duplicates per first-time transaction."""
    return n.duplicates / n.first_time if n.first_time else 0.0


@rule(
    "dog/controller.interval",
    lacking="Does not adjust its redundancy after an interval.",
    when="it adjusts its redundancy after an interval",
)
def look_at_counters(n: Node, lost: Peer | None, choose: Choose) -> Step[Node]:
    return run(n, "controller", lost, choose)


@rule(
    "dog/controller.idle",
    lacking="Unblocks HaveTx after an idle interval.",
    when="it finds that nothing came in an interval",
)
def nothing_came(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """Nothing at all is done, to preserve the routes."""
    return Step(n) if not n.first_time and not n.duplicates else None


@rule(
    "dog/controller.ratio",
    lacking="Sends ResetRoute after an interval with duplicates alone.",
    when="it finds that only duplicates came in an interval",
)
def nothing_new_came(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """Duplicates alone count as the upper bound."""
    return Step(evolve(n, blocked=False)) if not n.first_time else None


@rule(
    "dog/controller.reset",
    lacking="Sends no ResetRoute at low redundancy.",
    when="it sends ResetRoute because its redundancy is low",
)
def too_little(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """One peer, any one, is asked for one route more. The permission to say HaveTx stays as it is."""
    return ask_one(n, lost, choose) if redundancy(n) < bounds(n)[0] else None


@rule(
    "dog/controller.unblock",
    lacking="Does not unblock HaveTx at high redundancy.",
    when="it unblocks HaveTx because its redundancy is high",
)
def too_much(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """At the upper bound or above, one HaveTx may be said again."""
    return Step(evolve(n, blocked=False)) if redundancy(n) >= bounds(n)[1] else None


@rule(
    "dog/controller.in-band",
    lacking="Acts on a redundancy within its bounds.",
    when="it finds its redundancy within the bounds",
)
def in_band(n: Node, lost: Peer | None, choose: Choose) -> Step[Node]:
    return Step(n)


@rule(
    "dog/controller.restart",
    lacking="Does not restart its counters after an adjustment.",
    when="it restarts its counters after an adjustment",
)
def count_anew(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    return Step(evolve(n, first_time=0, duplicates=0)) if n.first_time or n.duplicates else None


@rule(
    "dog/controller.reset",
    lacking="Sends ResetRoute to nobody.",
    when="it looks up the peers to which it can send ResetRoute",
)
def any_peer(n: Node, lost: Peer | None) -> frozenset[Peer]:
    return frozenset(n.peers)


@rule(
    "dog/peer.reset-not-to-lost",
    lacking="Sends ResetRoute to the peer that it has just lost.",
    when="it leaves the peer that it has just lost out of those that it can send ResetRoute to",
)
def the_lost(n: Node, lost: Peer | None, peer: Peer) -> bool:
    """A message goes to a peer. As written, the one just lost may be asked."""
    return peer == lost


@rule(
    "dog/peer.without-dog",
    lacking="Sends ResetRoute to peers without DOG.",
    when="it leaves peers without DOG out of those that it can send ResetRoute to",
)
def has_no_dog(n: Node, lost: Peer | None, peer: Peer) -> bool:
    return not n.peers[peer].has_dog


def ask_one(n: Node, lost: Peer | None, choose: Choose, *, perhaps: bool = False) -> Step[Node]:
    """Exactly one ResetRoute: now to a peer that reads, or later to one of those that do not.

    `perhaps`: or none, because it was meant for one who is gone, or who does not have DOG.
    """
    peers = n.protocol.set_of("asked", n, lost, choose).must
    perhaps = perhaps or any(p not in peers and p != lost for p in n.peers)
    waiting = frozenset(p for p in peers if n.peers[p].stalled and len(n.waiting_resets) < MAX_FORKS)
    open_now = Targets(peers - waiting)
    count = (0 if waiting or perhaps else min(1, len(peers)), min(1, len(open_now.must)))
    clause = "dog/controller.reset"
    asked = choose.some("reset.target", clause, open_now, count, reveals=_reset_to)
    if waiting and not asked:
        one_of = PartialSet(frozenset(), waiting, 0 if perhaps else 1, 1).settled()
        n = evolve(n, waiting_resets=(*n.waiting_resets, one_of))
    return Step(n, tuple(_ask(p) for p in asked))


@rule(
    "dog/controller.reset",
    lacking="Drops a ResetRoute that waits for a peer that does not read.",
    when="it sends a waiting ResetRoute to a peer that reads again",
)
def settle_resets(n: Node, peer: Peer, choose: Choose) -> Step[Node] | None:
    """A peer reads again: a ResetRoute that waited for it comes; one that may have waited for it may."""
    concerned = [each for each in n.waiting_resets if each.holds(peer) is not False]
    permits: list[Permit] = []
    left = [each for each in n.waiting_resets if each.holds(peer) is False]
    for each in concerned:
        # Of several it cannot be told which one came, so that each is allowed and none is owed.
        sure = each.holds(peer) is True
        came = sure or (
            len(concerned) == 1 and choose.whether("reset.waited", lambda o: o == _reset_to(peer))
        )
        if came or len(concerned) > 1:
            permits.append(_ask(peer, must=came))
        if not came:
            left.append(each.less([peer]) if len(concerned) > 1 else shown_enabled(each, peer))
    return Step(evolve(n, waiting_resets=_possible(left)), tuple(permits)) if concerned else None


def _reset_to(peer: Peer) -> Sent:
    return Sent(peer, ResetRoute())


def _ask(peer: Peer, *, must: bool = True) -> Permit:
    return Permit(_reset_to(peer), must, "dog/controller.reset", "now")


def _possible(resets: Iterable[PartialSet]) -> tuple[PartialSet, ...]:
    return tuple(each for each in resets if each.most)


# -- a peer is lost ---------------------------------------------------------------------------------------


@rule(
    "dog/peer.forget-routes",
    lacking="Keeps the routes of a peer that disconnects.",
    when="it forgets the routes of a peer that disconnects",
)
def forget_routes(n: Node, lost: Peer, choose: Choose) -> Step[Node] | None:
    """Those from it and those to it."""
    routes = {target: sources.less([lost]) for target, sources in without_key(n.routes, lost).items()}
    return Step(evolve(n, routes=routes)) if routes != n.routes else None


@rule(
    "dog/controller.reset",
    lacking="Keeps a ResetRoute that waits for a peer that disconnects.",
    when="it drops the ResetRoutes that wait for a peer that disconnects",
)
def forget_resets(n: Node, lost: Peer, choose: Choose) -> Step[Node] | None:
    """What waited for it is lost with it."""
    left = _possible(each.less([lost]) for each in n.waiting_resets)
    return Step(evolve(n, waiting_resets=left)) if left != n.waiting_resets else None


@rule(
    "dog/peer.adjust-at-loss",
    lacking="Does not adjust its redundancy when it loses a peer.",
    when="it adjusts its redundancy because it loses a peer",
)
def adjust_at_loss(n: Node, lost: Peer, choose: Choose) -> Step[Node]:
    return run(n, "adjust", lost, choose)
