"""Rules of a mempool as routers in the field have them, or could; the same as `quirks` has of pubsub."""

from __future__ import annotations

from typing import cast

from quidnunc.model.choices import Choose
from quidnunc.model.edit import Edit, around, dropping, in_turn, replacing, replacing_present
from quidnunc.model.events import Sent
from quidnunc.model.mempool.dog import rules as dog
from quidnunc.model.mempool.node import Node
from quidnunc.model.mempool.routes import with_source
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.router import ReceivedPart, without_key
from quidnunc.model.rpc import ROUTER, HaveTx, Peer, ResetRoute, Tx
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


def _counting_have_tx(protocol: Protocol) -> Protocol:
    answers = protocol["have_tx"]

    @rule("dog/havetx.nothing-else")
    def count_have_tx(n: Node, h: ReceivedPart[HaveTx], choose: Choose) -> Step[Node]:
        step = cast("Step[Node]", answers(n, h, choose) or Step(n))
        return Step(evolve(step.router, duplicates=step.router.duplicates + 1), step.permits)

    return protocol.extended(protocol.name, have_tx=first(count_have_tx))


MEMPOOL_QUIRKS: tuple[Edit, ...] = (
    Edit(
        "routes-from-lost-kept",
        "replaced",
        "dog/peer.forget-routes",
        "Keeps the routes disabled that come from a peer that disconnects.",
        replacing(forget_routes=forget_routes_to),
    ),
    Edit(
        "routes-to-lost-kept",
        "replaced",
        "dog/peer.forget-routes",
        "Keeps the routes disabled that lead to a peer that disconnects.",
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
        "own-uncounted",
        "replaced",
        "dog/count.first",
        "Does not count the transactions of its users as first-time ones.",
        replacing(count_first_time=count_first_of_peers),
    ),
)
