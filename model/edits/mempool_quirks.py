"""Rules of a mempool as routers in the field have them, or could; the same as `quirks` has of pubsub."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import cast

from quidnunc.model.choices import Choose, PartialSet
from quidnunc.model.edit import (
    Change,
    Edit,
    RuleWrapper,
    around,
    dropping,
    in_turn,
    replacing,
    replacing_present,
)
from quidnunc.model.edits.operators.wrapped import own_protocol, seeing, taking
from quidnunc.model.errors import SpecError
from quidnunc.model.events import Sent
from quidnunc.model.mempool.cat.rules import ask
from quidnunc.model.mempool.dog import rules as dog
from quidnunc.model.mempool.flood import IN_ANY_ORDER, offer
from quidnunc.model.mempool.node import Node
from quidnunc.model.mempool.peer_limit import class_of, slots_passed_on
from quidnunc.model.mempool.routes import with_one_freed, with_source
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.router import ReceivedPart, without_key
from quidnunc.model.rpc import ROUTER, HaveTx, Peer, ResetRoute, SeenTx, Tx, WantTx
from quidnunc.model.rules import Protocol, Rule, first, rule
from quidnunc.model.values import evolve


@rule("dog/peer.forget-routes")
def forget_routes_to(n: Node, lost: Peer, choose: Choose) -> Step[Node] | None:
    """Routes from a peer that is lost stay disabled."""
    return Step(evolve(n, routes=without_key(n.routes, lost))) if lost in n.routes else None


@rule("dog/peer.forget-routes")
def forget_routes_from(n: Node, lost: Peer, choose: Choose) -> Step[Node] | None:
    """Routes to a peer that is lost stay disabled."""
    routes = {target: sources.less([lost]) for target, sources in n.routes.items()}
    return Step(evolve(n, routes=routes)) if routes != n.routes else None


@rule("dog/havetx.first-sender")
def disable_all_senders(n: Node, h: ReceivedPart[HaveTx], choose: Choose) -> Step[Node]:
    """The routes from all senders that are there, to the one who said HaveTx."""
    known = n.disabled_to(h.peer)
    for sender in n.senders(h.part.id):
        known = with_source(known, sender) if sender in n.peers else known
    return Step(n.with_disabled_to(h.peer, known))


@rule("dog/havetx.first-sender")
def disable_way_back(n: Node, h: ReceivedPart[HaveTx], choose: Choose) -> Step[Node] | None:
    """The route from the one who said HaveTx to the first sender."""
    first_sender = n.first_sender(h.part.id)
    if first_sender is None:
        return None
    return Step(n.with_disabled_to(first_sender, with_source(n.disabled_to(first_sender), h.peer)))


@rule("dog/controller.idle")
def ask_while_idle(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """Silence passes for too little redundancy."""
    return dog.ask_one(n, lost, choose) if not n.first_time and not n.duplicates else None


@around("dog/peer.adjust-at-loss")
def reset_all_and_adjust(old: Rule, n: Node, lost: Peer, choose: Choose) -> Step[Node]:
    """Every peer is asked for a route, before the counters are looked at."""
    peers = sorted(n.protocol.set_of("asked", n, lost, choose).must)
    asked = tuple(Permit(Sent(p, ResetRoute()), True, "dog/controller.reset", "now") for p in peers)
    return Step(n, asked).then(cast("Step[Node]", old.step(n, lost, choose)))


@rule("dog/count.first")
def count_first_of_peers(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """What a user submits is not counted."""
    is_first = not n.knows(t.part.id) and t.peer != ROUTER
    return Step(evolve(n, first_time=n.first_time + 1)) if is_first else None


@rule("dog/controller.reset")
def ask_at_bound(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
    """At the lower bound, too."""
    return dog.ask_one(n, lost, choose) if dog.redundancy(n) <= dog.bounds(n)[0] else None


def _comparing(redundancy: Callable[[Node], float], bounds: Callable[[Node], tuple[float, float]]) -> Change:
    """Another number is compared, or with other bounds."""

    @rule("dog/controller.reset")
    def ask_below(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
        return dog.ask_one(n, lost, choose) if redundancy(n) < bounds(n)[0] else None

    @rule("dog/controller.unblock")
    def unblock_from(n: Node, lost: Peer | None, choose: Choose) -> Step[Node] | None:
        return Step(evolve(n, blocked=False)) if redundancy(n) >= bounds(n)[1] else None

    return replacing_present(too_little=ask_below, too_much=unblock_from)


def _whole_redundancy(n: Node) -> float:
    return float(n.duplicates // n.first_time) if n.first_time else 0.0


def _share_of_duplicates(n: Node) -> float:
    return n.duplicates / (n.duplicates + n.first_time) if n.first_time else 0.0


def _deviation_as_it_is(n: Node) -> tuple[float, float]:
    target, delta = n.parameters.target_redundancy, n.parameters.delta_percent / 100
    return target - delta, target + delta


@around("dog/count.duplicate")
def count_what_is_answered(old: Rule, n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """A duplicate counts where it may be answered."""
    return None if n.blocked else cast("Step[Node] | None", old.step(n, t, choose))


@around("flood/receive.committed")
def forget_committed(old: Rule, n: Node, tx: str, choose: Choose) -> Step[Node]:
    """A block takes it out of the cache as well."""
    step = cast("Step[Node]", old.step(n, tx, choose))
    return Step(evolve(step.router, cache=step.router.cache - {tx}), step.permits)


@around("dog/send.own-unfiltered")
def cut_off_from_anybody(old: Rule, n: Node, tx: str, peer: Peer) -> bool | None:
    """Without a sender, whoever is the target of a disabled route is left out."""
    if n.first_sender(tx) is not None:
        return cast("bool | None", old.apply(n, tx, peer))
    disabled = n.disabled_to(peer)
    return True if disabled.must else None if disabled.may else False


@around("dog/count.duplicate")
def count_any_duplicate(old: Rule, n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """A user's, too."""
    return Step(evolve(n, duplicates=n.duplicates + 1)) if n.knows(t.part.id) else None


def _not_counting_users(protocol: Protocol) -> Protocol:
    if "count_user_duplicate" in {rule.name for _, rule in protocol.rules()}:
        raise SpecError(f"{protocol.name} counts the duplicates of its users")
    return protocol


def _counting_have_tx(protocol: Protocol) -> Protocol:
    answers = protocol["have_tx"]

    @rule("dog/havetx.nothing-else")
    def count_have_tx(n: Node, h: ReceivedPart[HaveTx], choose: Choose) -> Step[Node]:
        step = cast("Step[Node]", answers(n, h, choose) or Step(n))
        return Step(evolve(step.router, duplicates=step.router.duplicates + 1), step.permits)

    return protocol.extended(protocol.name, have_tx=first(count_have_tx))


def _in_any_order(protocol: Protocol) -> Protocol:
    if "pool_own" not in {r.name for _, r in protocol.rules()}:
        raise SpecError(f"{protocol.name} has no order of the pool")
    return evolve(protocol, features=protocol.features | {IN_ANY_ORDER})


@rule("dog/reset.one")
def enable_one_of_anybody(n: Node, q: ReceivedPart[ResetRoute], choose: Choose) -> Step[Node]:
    """Of all routes one is enabled, whoever asks. Where there are several, nobody knows which."""
    disabled = {target: known for target, known in n.routes.items() if known.most}
    for target, known in disabled.items():
        # It was one of these.
        perhaps = PartialSet(frozenset(), known.all, max(0, known.least - 1), known.most)
        n = n.with_disabled_to(target, perhaps if len(disabled) > 1 else with_one_freed(known))
    return Step(n)


@rule("cat-classic/want.after-seen")
def announcers_here_or_gone(n: Node, tx: str) -> frozenset[Peer]:
    """A peer that is gone counts among those who announced it."""
    return n.announcers.get(tx, frozenset())


@around("cat-classic/seen.ignored")
def ask_for_pooled(old: Rule, n: Node, s: ReceivedPart[SeenTx], choose: Choose) -> Step[Node] | None:
    """What is in the pool is asked of each announcer, whomever it was asked of before."""
    return ask(n, s.part.id, s.peer, "cat-classic/seen.ignored") if s.part.id in n.pool else None


@around("flood/commit.leaves-pool")
def leave_pool_and_wait_no_more(old: Rule, n: Node, tx: str, choose: Choose) -> Step[Node]:
    """What is committed nobody waits for."""
    return cast("Step[Node]", old.step(evolve(n, wanted=without_key(n.wanted, tx)), tx, choose))


SERVED = "served-before"
"""Of `Node.kept`: who was given which transaction, or told that it is not there."""


@around("cat-classic/want.answered")
def serve_once(old: Rule, n: Node, w: ReceivedPart[WantTx], choose: Choose) -> Step[Node] | None:
    """A second request of a peer for the same transaction has no answer."""
    served = cast("frozenset[tuple[Peer, str]]", n.kept.get(SERVED, frozenset()))
    key = (w.peer, w.part.id)
    if key in served:
        return Step(n)
    return cast("Step[Node] | None", old.step(evolve(n, kept={**n.kept, SERVED: served | {key}}), w, choose))


@around("dog/reset.one")
def enable_and_offer(old: Rule, n: Node, q: ReceivedPart[ResetRoute], choose: Choose) -> Step[Node]:
    """What was withheld from the one who asks is offered to it again."""
    step = cast("Step[Node]", old.step(n, q, choose))
    for tx in n.pool:
        first_sender = n.first_sender(tx)
        if first_sender is not None and n.disabled_to(q.peer).holds(first_sender) is not False:
            step = step.then(offer(step.router, tx, [q.peer], "dog/reset.one", choose))
    return step


@around("cat-classic/seen.ignored")
def ask_for_committed(old: Rule, n: Node, s: ReceivedPart[SeenTx], choose: Choose) -> Step[Node] | None:
    """What is known and not in the pool is asked of each announcer, whomever it was asked of before."""
    return _requested(n, s) if n.knows(s.part.id) and s.part.id not in n.pool else None


def _requested(n: Node, s: ReceivedPart[SeenTx]) -> Step[Node]:
    """For this request nobody waits."""
    return Step(n, (Permit(Sent(s.peer, WantTx(s.part.id)), True, "cat-classic/seen.ignored", "now"),))


@rule("peer-limit/slot.held")
def displace(n: Node, peer: Peer, choose: Choose) -> Step[Node]:
    """Where no slot is free, one of those who have one loses it to the newcomer."""
    name = class_of(n, peer)
    known = n.slots_of(name)
    slots = PartialSet(frozenset({peer}), known.all, known.least, known.most)
    return Step(n.with_slots(name, slots.settled()))


@around("cat/seen.expectation")
def next_after_blocks(old: Rule, n: Node, signer: str) -> int:
    """The place after those that blocks have taken, whatever the pool has."""
    return n.taken.get(signer, 0)


@lru_cache(maxsize=64)
def _expecting_blocks(protocol: Protocol) -> Protocol:
    return replacing_present(first_gap=next_after_blocks)(protocol)


def expecting_by_blocks(old: Rule, n: Node, *rest: object) -> object:
    """What the application takes next is known from blocks alone. The application itself knows better."""
    seen = seeing(lambda n: evolve(n, protocol=_expecting_blocks(n.protocol)), own_protocol, old)
    return seen.apply(n, *rest)


@around("peer-limit/send.at-most")
def offer_past_slots(old: Rule, n: Node, tx: str, choose: Choose) -> Step[Node] | None:
    """What is forwarded goes to peers without a slot, too; what a new peer is offered does not."""
    return cast("Step[Node] | None", taking("without_slot", old).apply(n, tx, choose))


@rule("peer-limit/slot.freed")
def pass_slot_on_unseen(n: Node, lost: Peer, choose: Choose) -> Step[Node] | None:
    """Whoever waits may get the slot, and is then offered the pool. Which of them has it does not show later,
    because those without one are sent the same."""
    passed = slots_passed_on(n, lost)
    if passed is None:
        return None
    after, waiting = passed
    must = len(waiting) == 1 and not n.slots_of(class_of(n, lost)).may - {lost}
    offered = ((peer, tx) for tx in n.pool for peer in sorted(waiting - {*n.senders(tx)}))
    clause = "peer-limit/slot.freed"
    return Step(after, tuple(Permit(Sent(peer, Tx(tx)), must, clause, "now") for peer, tx in offered))


CONTROLLER = ("dog/controller.reset", "dog/controller.unblock", "dog/config.bounds")

MEMPOOL_QUIRKS: tuple[Edit, ...] = (
    Edit(
        "routes-from-lost-kept",
        "replaced",
        "dog/peer.forget-routes",
        "Keeps the routes from a peer disabled after the peer disconnects.",
        replacing(forget_routes=forget_routes_to),
    ),
    Edit(
        "routes-to-lost-kept",
        "replaced",
        "dog/peer.forget-routes",
        "Keeps the routes to a peer disabled after the peer disconnects.",
        replacing(forget_routes=forget_routes_from),
    ),
    Edit(
        "havetx-cuts-all-senders",
        "replaced",
        "dog/havetx.one-route",
        "Disables the routes of all senders of a transaction when it receives HaveTx.",
        in_turn(
            dropping("first_sender_gone", "disabled_already"), replacing(disable_first=disable_all_senders)
        ),
    ),
    Edit(
        "havetx-cuts-way-back",
        "replaced",
        "dog/havetx.first-sender",
        "Disables the route from the sender of a HaveTx to the first sender of its transaction, and not the "
        "other way.",
        in_turn(dropping("disabled_already"), replacing(disable_first=disable_way_back)),
    ),
    Edit(
        "havetx-counted-as-duplicate",
        "replaced",
        "dog/havetx.nothing-else",
        "Counts each HaveTx that it receives as a duplicate.",
        _counting_have_tx,
    ),
    Edit(
        "idle-asks-for-route",
        "replaced",
        "dog/controller.idle",
        "Sends ResetRoute after an interval in which nothing came.",
        replacing(nothing_came=ask_while_idle),
    ),
    Edit(
        "loss-resets-all",
        "replaced",
        "dog/peer.no-mass-reset",
        "Sends ResetRoute to all its peers when it loses one.",
        replacing_present(adjust_at_loss=reset_all_and_adjust),
    ),
    Edit(
        "lower-bound-asks",
        "replaced",
        "dog/controller.reset",
        "Sends ResetRoute also when redundancy equals its lower bound, not only below it.",
        replacing(too_little=ask_at_bound),
    ),
    Edit(
        "redundancy-rounded-down",
        "replaced",
        "dog/controller.reset",
        "Rounds redundancy down to a whole number.",
        _comparing(_whole_redundancy, dog.bounds),
        clauses=CONTROLLER,
    ),
    Edit(
        "redundancy-of-all",
        "replaced",
        "dog/controller.reset",
        "Computes redundancy as the share of duplicates among all transactions received.",
        _comparing(_share_of_duplicates, dog.bounds),
        clauses=CONTROLLER,
    ),
    Edit(
        "deviation-not-of-target",
        "replaced",
        "dog/config.bounds",
        "Takes the allowed deviation of redundancy as an absolute number, not as a share of the target.",
        _comparing(dog.redundancy, _deviation_as_it_is),
        clauses=CONTROLLER,
    ),
    Edit(
        "blocked-duplicates-uncounted",
        "replaced",
        "dog/count.duplicate",
        "Counts no duplicate while HaveTx is blocked.",
        replacing_present(count_duplicate=count_what_is_answered),
    ),
    Edit(
        "user-duplicates-counted",
        "replaced",
        "dog/count.duplicate",
        "Counts the duplicates that its users submit.",
        in_turn(_not_counting_users, replacing_present(count_duplicate=count_any_duplicate)),
    ),
    Edit(
        "own-filtered",
        "replaced",
        "dog/send.own-unfiltered",
        "Does not send a user's transaction to a peer to which it has disabled a route.",
        replacing_present(cut_off=cut_off_from_anybody),
    ),
    Edit(
        "committed-forgotten",
        "replaced",
        "flood/receive.committed",
        "Forgets a transaction when it is committed, and takes its next copy for a new one.",
        replacing_present(leave_pool=forget_committed),
    ),
    Edit(
        "reset-enables-route-to-anybody",
        "replaced",
        "dog/reset.one",
        "Enables a route when it receives ResetRoute, and not always one to the peer that sent it.",
        in_turn(dropping("nothing_disabled"), replacing(enable_one=enable_one_of_anybody)),
    ),
    Edit(
        "announcers-outlive-connections",
        "replaced",
        "cat-classic/state.per-connection",
        "Keeps what it knew of a peer that disconnects, and requests transactions from it.",
        in_turn(dropping("forget_holder"), replacing(announcers=announcers_here_or_gone)),
    ),
    Edit(
        "reset-sends-what-was-withheld",
        "replaced",
        "dog/reset.one",
        "Sends a peer that sends ResetRoute the transactions of the pool that were withheld from that peer.",
        replacing_present(enable_one=enable_and_offer),
    ),
    Edit(
        "serves-each-peer-once",
        "replaced",
        "cat-classic/want.answered",
        "Answers the first request of a peer for a transaction, and no further one.",
        replacing_present(serve=serve_once),
    ),
    Edit(
        "committed-asked-of-each-announcer",
        "replaced",
        "cat-classic/seen.ignored",
        "Requests a transaction that is no longer in its pool from each peer that announces it.",
        replacing_present(left_pool=ask_for_committed),
    ),
    Edit(
        "expects-by-blocks",
        "replaced",
        "cat/seen.expectation",
        "Expects of a signer the transaction after those that blocks have taken, whatever is in its pool.",
        replacing_present(
            **{
                name: RuleWrapper("cat/seen.expectation", expecting_by_blocks)
                for name in (
                    "drop_stale",
                    "turn_has_passed",
                    "wait_for_turn",
                    "ask_in_turn",
                    "whose_turn_has_passed",
                )
            }
        ),
    ),
    Edit(
        "newcomer-displaces",
        "replaced",
        "peer-limit/slot.held",
        "Gives a new peer the slot of another one where no slot is free.",
        replacing_present(wait_for_slot=displace, pass_slot_on=pass_slot_on_unseen),
    ),
    Edit(
        "pooled-asked-of-each-announcer",
        "replaced",
        "cat-classic/seen.ignored",
        "Requests a transaction that is in its pool from each peer that announces it.",
        replacing_present(in_pool=ask_for_pooled, leave_pool=leave_pool_and_wait_no_more),
    ),
    Edit(
        "forwards-past-slots",
        "replaced",
        "peer-limit/send.at-most",
        "Forwards transactions to peers without a slot.",
        replacing_present(
            forward=offer_past_slots, forward_own=offer_past_slots, pass_slot_on=pass_slot_on_unseen
        ),
    ),
    Edit(
        "pool-in-any-order",
        "replaced",
        "flood/send.pool-order",
        "Sends the transactions of its pool in another order than that of the pool.",
        _in_any_order,
    ),
    Edit(
        "own-uncounted",
        "replaced",
        "dog/count.first",
        "Does not count the transactions of its users as first-time ones.",
        replacing(count_first_time=count_first_of_peers),
    ),
)
