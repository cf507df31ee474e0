"""The rules by which a variant of DOG differs from ours, where its documents disagree.

Three texts describe the protocol: ADR-119, the specification with its Quint files, and the Go node
(v2.0.0-rc1). Our reading is the specification's, repaired where it deadlocks or names a dead peer. Each
switch turns one sentence to another reading of it; `quidnunc.model.mempool.dog.variants` says which text has
which.
"""

from __future__ import annotations

from fractions import Fraction

from quidnunc.model.choices import Choose, PartialSet
from quidnunc.model.errors import SpecError
from quidnunc.model.mempool import flood
from quidnunc.model.mempool.dog import rules as dog
from quidnunc.model.mempool.flood import FloodObservation
from quidnunc.model.mempool.node import Node
from quidnunc.model.mempool.node_step import run
from quidnunc.model.mempool.routes import with_one_of, with_source
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import ReceivedPart
from quidnunc.model.rpc import ROUTER, HaveTx, Part, Peer, ResetRoute, Tx
from quidnunc.model.rules import FirstMatch, Protocol, Rule, first, rule
from quidnunc.model.values import evolve

KEEP_ALIVE_INTERVALS = 3
"""After so many idle adjustments the proposal asks for a route. Ours."""

# -- HaveTx and ResetRoute --------------------------------------------------------------------------------


@rule("dog/reset.one")
def enable_all(n: Node, q: ReceivedPart[ResetRoute], choose: Choose) -> Step[Node]:
    """D-1: every route to the one who asks."""
    return Step(n.with_disabled_to(q.peer, PartialSet()))


@rule(
    "dog/reset.none",
    lacking="Drops a ResetRoute that finds no disabled route.",
    when="it leaves a ResetRoute unread that finds no disabled route",
)
def wait_for_a_route(n: Node, q: ReceivedPart[ResetRoute], choose: Choose) -> Step[Node] | None:
    """D-2: the message stays at the head of the one inbox, and nothing behind it is read."""
    return Step(evolve(n, stuck=True)) if not n.disabled_to(q.peer).most else None


@rule(
    "dog/reset.none",
    lacking="Reads on while a ResetRoute waits for a route.",
    when="it leaves messages unread while a ResetRoute waits for a route",
)
def while_stuck(n: Node, part: ReceivedPart[Part], choose: Choose) -> Step[Node] | None:
    return Step(n) if n.stuck and part.peer != ROUTER else None


def _goes_on(handler: str) -> Rule:
    kind = {"tx": "transaction", "have_tx": "HaveTx", "reset_route": "ResetRoute"}[handler]

    @rule("dog/reset.none", lacking=f"Ignores every {kind}.", when=f"it reads a {kind}")
    def unless_stuck(n: Node, part: ReceivedPart[Part], choose: Choose) -> Step[Node]:
        return run(n, f"{handler}_read", part, choose)

    return evolve(unless_stuck, name=f"read_{handler}")


def _read_at_once(p: Protocol, *names: str) -> None:
    """Raises SpecError where messages are read in two steps already: another time it would never end."""
    if any(f"{name}_read" in p.handlers for name in names):
        raise SpecError(f"{p.name} has a step before it reads a message already")


def start_blocked(p: Protocol) -> Protocol:
    """D-16, as an edit. Raises SpecError where it is so already: the switch would be turned back."""
    if "starts-blocked" in p.features:
        raise SpecError(f"{p.name} starts blocked already")
    return p.reading("starts-blocked")


def behind_one_inbox(p: Protocol) -> Protocol:
    """D-2, as an edit. Raises SpecError where it does not fit."""
    names = ("tx", "have_tx", "reset_route")
    _read_at_once(p, *names)
    stuck = p.with_rule("nothing_disabled", wait_for_a_route)
    read = {f"{name}_read": stuck[name] for name in names}
    return stuck.extended(
        stuck.name, **read, **{name: first(while_stuck, _goes_on(name)) for name in names}
    ).reading("one-inbox")


@rule("flood/receive.invalid-cached")
def forget_refused(n: Node, tx: str, choose: Choose) -> Step[Node]:
    """D-21: it leaves the cache, so that each copy of it counts as the first."""
    return Step(n)


@rule(
    "flood/receive.order-of-checks",
    lacking="Takes in transactions while its pool is full.",
    when="it drops a transaction because its pool is full",
)
def while_full(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """D-22: nothing is looked at, not even whether it is known."""
    return Step(n) if len(n.pool) >= n.parameters.pool_size else None


def full_pool_first(p: Protocol) -> Protocol:
    """D-22, as an edit. Raises SpecError where it does not fit."""
    _read_at_once(p, "tx")
    return p.extended(p.name, tx=first(while_full, _goes_on("tx")), tx_read=p["tx"])


@rule("dog/havetx.first-sender")
def disable_some_sender(n: Node, h: ReceivedPart[HaveTx], choose: Choose) -> Step[Node]:
    """D-4: the list of senders has no order, so that the route is from any one of them."""
    senders = frozenset(n.senders(h.part.id))
    return Step(n.with_disabled_to(h.peer, with_one_of(n.disabled_to(h.peer), senders)))


@rule("dog/route.filter")
def cut_by_some_sender(n: Node, tx: str, peer: Peer) -> bool | None:
    """D-5: and the route that is looked at is that from any one, not always the same."""
    held = {n.disabled_to(peer).holds(sender) for sender in n.senders(tx)}
    return held.pop() if len(held) == 1 else None if held else False


@rule("dog/route.filter")
def learn_of_lone_sender(n: Node, s: FloodObservation, choose: Choose) -> Step[Node] | None:
    found = dog.learn_route.step(n, s, choose) if len(n.senders(s.tx)) == 1 else None
    return found  # type: ignore[return-value]


@rule("dog/havetx.first-sender")
def disable_first_live(n: Node, h: ReceivedPart[HaveTx], choose: Choose) -> Step[Node]:
    """D-7, repaired further: the first sender that is still connected."""
    source = _first_live(n, h.part.id)
    if source is None:
        return Step(n)
    return Step(n.with_disabled_to(h.peer, with_source(n.disabled_to(h.peer), source)))


@rule(
    "dog/havetx.self-route",
    lacking="Disables the route from a peer to itself.",
    when="it drops a HaveTx from the first sender of the transaction",
)
def to_itself(n: Node, h: ReceivedPart[HaveTx], choose: Choose) -> Step[Node] | None:
    return Step(n) if _first_live(n, h.part.id) == h.peer else None


@rule("dog/route.filter")
def cut_by_first_live(n: Node, tx: str, peer: Peer) -> bool | None:
    source = _first_live(n, tx)
    return n.disabled_to(peer).holds(source) if source is not None else False


@rule("dog/route.filter")
def learn_of_first_live(n: Node, s: FloodObservation, choose: Choose) -> Step[Node] | None:
    senders = n.senders(s.tx)
    live = tuple(p for p in senders if p in n.peers)
    found = dog.learn_route.step(evolve(n, pool={**n.pool, s.tx: live}), s, choose)
    if found is None:
        return None
    learned: Node = found.router  # type: ignore[assignment]
    return Step(evolve(n, routes=learned.routes))


def _first_live(n: Node, tx: str) -> Peer | None:
    return next((p for p in n.senders(tx) if p in n.peers), None)


@rule("flood/submit.no-sender")
def pool_own_for_good(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """D-20: what a user submitted stays the node's own, whoever sends it too."""
    own = evolve(n, own=n.own | {t.part.id}) if t.peer == ROUTER else n
    found = flood.pool_own.step(own, t, choose)
    return found  # type: ignore[return-value]


@rule("dog/route.filter")
def cut_off_but_own(n: Node, tx: str, peer: Peer) -> bool | None:
    """D-20: to all means to all."""
    first_sender = n.first_sender(tx)
    if tx in n.own or first_sender is None:
        return False
    return n.disabled_to(peer).holds(first_sender)


# -- the controller ---------------------------------------------------------------------------------------


@rule("dog/controller.reset")
def ask_even_the_lost(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """D-9 of the specification: the peers are those from before the loss, and one of them is told."""
    if lost is not None:
        n = evolve(n, peers={**n.peers, lost: evolve(n.peers[lost], stalled=False)})
    return dog.too_little.step(n, lost, choose)  # type: ignore[return-value]


@rule("dog/controller.reset")
def ask_perhaps_in_vain(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """D-9 of the Go node: the lost peer may be chosen, and then the message reaches nobody."""
    if dog.redundancy(n) >= dog.bounds(n)[0]:
        return None
    return dog.ask_one(n, lost, choose, perhaps=lost is not None)


@rule("dog/controller.unblock")
def too_much_strictly(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """D-10: above the upper bound, and not at it."""
    return Step(evolve(n, blocked=False)) if dog.redundancy(n) > dog.bounds(n)[1] else None


def _in_integers(n: Node) -> tuple[int, int, int]:
    """Lower bound, upper bound and redundancy, each division rounded down."""
    target, delta = int(n.parameters.target_redundancy), int(n.parameters.delta_percent)
    width, ratio = target * delta // 100, n.duplicates // n.first_time if n.first_time else 0
    return target - width, target + width, ratio


@rule("dog/controller.reset")
def too_little_in_integers(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """D-13."""
    lower, _, ratio = _in_integers(n)
    if ratio >= lower:
        return None
    n = n if lost is None else evolve(n, peers={**n.peers, lost: evolve(n.peers[lost], stalled=False)})
    return dog.ask_one(n, lost, choose)


@rule("dog/controller.unblock")
def too_much_in_integers(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """D-13."""
    _, upper, ratio = _in_integers(n)
    return Step(evolve(n, blocked=False)) if ratio >= upper else None


def _exactly(n: Node) -> tuple[Fraction, Fraction, Fraction]:
    target, delta = (Fraction(str(x)) for x in (n.parameters.target_redundancy, n.parameters.delta_percent))
    width = target * delta / 100
    ratio = Fraction(n.duplicates, n.first_time) if n.first_time else Fraction(0)
    return target - width, target + width, ratio


@rule("dog/controller.reset")
def too_little_exactly(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """D-14: without the rounding of floating point numbers."""
    lower, _, ratio = _exactly(n)
    return dog.ask_one(n, lost, choose) if ratio < lower else None


@rule("dog/controller.unblock")
def too_much_exactly(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """D-14."""
    _, upper, ratio = _exactly(n)
    return Step(evolve(n, blocked=False)) if ratio >= upper else None


@rule("dog/controller.reset")
def too_little_blocks(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """D-17: the permission to say HaveTx is withdrawn with too little redundancy."""
    asked = dog.too_little.step(n, lost, choose)
    if asked is None:
        return None
    after: Node = asked.router  # type: ignore[assignment]
    return Step(evolve(after, blocked=True), asked.permits)


@rule("dog/controller.in-band")
def in_band_blocks(n: Node, lost: Peer | None, choose: Choose) -> Step[Node]:
    """D-17: it is given only where the last look found too much."""
    return Step(evolve(n, blocked=True))


@rule(
    "dog/controller.idle",
    lacking="Asks for no route after several idle intervals.",
    when="it finds that nothing came in several intervals",
)
def nothing_came_for_long(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """A proposal: who hears nothing for some intervals asks for a route, for it may be cut off from all."""
    if n.first_time or n.duplicates:
        return None
    if lost is not None:
        return Step(n)
    idle = n.idle + 1
    if idle < KEEP_ALIVE_INTERVALS:
        return Step(evolve(n, idle=idle))
    return dog.ask_one(evolve(n, idle=0), lost, choose)


@rule("dog/controller.restart")
def count_anew_and_awake(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    busy = n.first_time or n.duplicates
    return Step(evolve(n, first_time=0, duplicates=0, idle=0)) if busy else None


def self_route_refused(p: Protocol) -> Protocol:
    """D-6, as an edit: asked after it is known that there is a sender."""
    old = p["have_tx"]
    assert isinstance(old, FirstMatch)
    known = [each for each in old.rules if each.name == "no_sender"]
    rest = [each for each in old.rules if each.name != "no_sender"]
    return p.extended(p.name, have_tx=first(*known, to_itself, *rest))
