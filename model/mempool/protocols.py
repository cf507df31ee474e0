"""The mempool protocols, each as its tuples of rules. What DOG adds to Flood is what is written here."""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.model.mempool import flood, peer_limit
from quidnunc.model.mempool.cat import accounts as cat_accounts
from quidnunc.model.mempool.cat import rules as cat
from quidnunc.model.mempool.dog import rules as dog
from quidnunc.model.mempool.node import Node, started_node
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rules import Protocol, first, phases, total, without

FLOOD = Protocol(
    "flood",
    {
        "tx": phases(flood.take_in),
        "first_time": first(flood.refuse_invalid, flood.pool_own, flood.pool_with_sender),
        "again": first(flood.not_in_pool, flood.again_from_user, flood.sent_before, flood.add_sender),
        "refuse": phases(flood.know_refused),
        "forward": first(flood.forward_own, flood.forward),
        "targets": without(flood.every_peer, flood.who_sent_it),
        "connect": phases(flood.offer_pool),
        "resume": phases(flood.settle_waiting),
        "commit": phases(flood.leave_pool),
        "have_tx": first(flood.means_nothing),
        "reset_route": first(flood.means_nothing),
    },
    family="mempool",
)

DOG = FLOOD.extended(
    "dog",
    tx=phases(
        dog.count_first_time,
        dog.count_duplicate,
        dog.count_user_duplicate,
        dog.answer_duplicate,
        flood.take_in,
    ),
    duplicate=first(
        dog.from_user,
        dog.from_one_without_dog,
        dog.while_blocked,
        dog.of_committed,
        dog.while_perhaps_blocked,
        dog.of_pooled,
    ),
    say_have_tx=phases(dog.tell_sender, dog.block_next),
    have_tx=first(dog.no_sender, dog.first_sender_gone, dog.disabled_already, dog.disable_first),
    reset_route=first(dog.nothing_disabled, dog.enable_one),
    targets=without(flood.every_peer, flood.who_sent_it, dog.cut_off),
    shown=phases(dog.learn_route),
    adjust=phases(dog.look_at_counters, dog.count_anew),
    controller=first(dog.nothing_came, dog.nothing_new_came, dog.too_little, dog.too_much, dog.in_band),
    asked=without(dog.any_peer, dog.the_lost, dog.has_no_dog),
    disconnect=phases(dog.forget_routes, dog.forget_resets, dog.adjust_at_loss),
    resume=phases(flood.settle_waiting, dog.settle_resets),
)

CAT_CLASSIC = Protocol(
    "cat-classic",
    {
        "tx": phases(cat.note_sender, cat.take_new),
        "new": first(flood.refuse_invalid, cat.push_own, cat.announce_received),
        "refuse": phases(flood.know_refused),
        "announce": phases(cat.announce_to_all),
        "lacking": without(cat.every_peer, cat.who_has_it),
        "seen_tx": phases(cat.note_announcer, cat.consider),
        "seen": first(cat.in_pool, cat.left_pool, cat.while_asking, cat.ask_announcer),
        "want_tx": first(cat.serve, cat.nothing_to_serve),
        "want_timeout": total(cat.after_a_moment),
        "sources": without(cat.announcers, cat.asked_before),
        "tick": phases(cat.ask_others_in_time),
        "connect": phases(cat.announce_pool),
        "disconnect": phases(cat.forget_holder, cat.ask_others_at_loss),
        "commit": phases(flood.leave_pool),
        "refused": first(cat.short_key),
    },
    family="mempool",
)

CAT = CAT_CLASSIC.extended(
    "cat",
    tx=phases(cat.note_sender, cat.take_in, cat_accounts.ask_in_turn),
    arrived=first(cat.not_asked_for, cat_accounts.drop_stale, cat.take_new),
    new=first(flood.refuse_invalid, cat.announce_own, cat.announce_received),
    announce=phases(cat.announce_to_some, cat_accounts.announce_to_persistent),
    announce_to=first(cat_accounts.announce_by_rank),
    expected=total(cat_accounts.first_gap),
    seen=first(
        cat.in_pool,
        cat.left_pool,
        cat_accounts.turn_has_passed,
        cat.while_asking,
        cat.asked_already,
        cat_accounts.wait_for_turn,
        cat_accounts.ask_when_expected,
        cat.ask_announcer,
    ),
    sources=without(cat.announcers, cat.asked_before, cat_accounts.whose_turn_has_passed),
    commit=phases(flood.leave_pool, cat_accounts.take_place),
    disconnect=phases(cat.forget_holder, cat_accounts.forget_queued, cat.ask_others_at_loss),
    want_timeout=total(cat.after_a_minute),
    refused=first(cat.short_key, cat.not_one_transaction),
)


def started(protocol: Protocol, parameters: DogParameters) -> Node:
    """A node that has just started; with DOG switched off it is one of Flood, whatever it could speak."""
    if "adjust" in protocol.handlers and not parameters.dog:
        protocol = FLOOD.extended(protocol.name)
    return started_node(protocol, parameters)


# Of a peer that does not read the documents of the limit say nothing.
_READ_FLOOD = Protocol(
    FLOOD.name, {k: c for k, c in FLOOD.handlers.items() if k != "resume"}, family="mempool"
)
PEER_LIMIT = _READ_FLOOD.extended(
    "peer-limit",
    connect=phases(peer_limit.enter, flood.offer_pool),
    enter=first(
        peer_limit.unconditional, peer_limit.unlimited, peer_limit.take_free_slot, peer_limit.wait_for_slot
    ),
    targets=without(flood.every_peer, flood.who_sent_it, peer_limit.without_slot),
    shown=phases(peer_limit.learn_slots),
    disconnect=phases(peer_limit.free_slot, peer_limit.pass_slot_on),
)

MEMPOOL: Mapping[str, Protocol] = {p.name: p for p in (FLOOD, DOG)}
CATS: Mapping[str, Protocol] = {p.name: p for p in (CAT_CLASSIC, CAT)}
LIMITS: Mapping[str, Protocol] = {PEER_LIMIT.name: PEER_LIMIT}
