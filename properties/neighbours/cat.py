"""The neighbours of one CAT node, classic or current: who announces, asks, answers late or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from attrs import evolve

from quidnunc.model.events import Advance, Disconnect, Event, Receive, Submit
from quidnunc.model.mempool.cat.rules import MEMORY_MS, timeout_ms
from quidnunc.model.mempool.node import Node
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import Peer, SeenTx, Tx, WantTx
from quidnunc.model.rules import Total
from quidnunc.properties.neighbours.mempool_acts import (
    Act,
    MempoolNeighbours,
    arrive,
    commit,
    depart,
    duplicate,
    first_time,
    invalid,
    known_of,
    peer_of,
    raw,
    reconnect,
    submit,
)
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.neighbours.weights import by_name


def _wanted_of(view: Node, d: SeededDraws) -> str | None:
    """A transaction that the node has not got and has asked for."""
    pool = sorted(view.wanted)
    return d.one_of(pool) if pool else None


def announce(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    """One peer, or several after each other, have what the node has not."""
    if not view.peers:
        return []
    peers = sorted(view.peers)
    tx = n.new_tx()
    first = d.below(len(peers))
    told = [peers[(first + k) % len(peers)] for k in range(min(len(peers), d.one_of((1, 1, 2, 3))))]
    return [Receive((peer,), (SeenTx(tx),)) for peer in told]


def announce_wanted(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    peer, tx = peer_of(view, d), _wanted_of(view, d)
    return [Receive((peer,), (SeenTx(tx),))] if peer and tx else []


def announce_known(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    peer, tx = peer_of(view, d), known_of(view, d)
    return [Receive((peer,), (SeenTx(tx),))] if peer and tx else []


def answer(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    """What was asked for comes: rather of those who were asked, in time or late."""
    tx = _wanted_of(view, d)
    if tx is None:
        return []
    asked: list[Peer] = sorted(view.wanted[tx].asked)
    peer = d.one_of(asked) if asked and d.chance(80) else peer_of(view, d)
    return [Receive((peer,), (Tx(tx),))] if peer is not None and peer in view.peers else []


def announce_of_account(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    """A transaction of one of few signers: its turn is now, later, or over; now and then a rival for it."""
    if n.protocol != "cat" or not view.peers:
        return []
    tx = _of_account(view, d, d.one_of((0, 0, 1, 1, 2, -1)))
    peers = sorted(view.peers)
    told = dict.fromkeys(d.one_of(peers) for _ in range(d.one_of((1, 1, 2))))
    return [Receive((peer,), (SeenTx(tx),)) for peer in told]


def submit_of_account(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    """The next transaction of a signer, or several of them, from a user."""
    if n.protocol != "cat":
        return []
    signer = d.one_of(SIGNERS)
    place = expected_of(view, signer)
    return [Submit(f"{signer}n{place + k}") for k in range(d.one_of((1, 1, 2, 3)))]


def _of_account(view: Node, d: SeededDraws, ahead: int) -> str:
    signer = d.one_of(SIGNERS)
    rival = "b" if d.chance(25) else ""
    return f"{signer}n{max(0, expected_of(view, signer) + ahead)}{rival}"


def expected_of(view: Node, signer: str) -> int:
    return cast("Total", view.protocol["expected"])(view, signer)


def want(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    peer, tx = peer_of(view, d), known_of(view, d)
    if peer is None:
        return []
    return [Receive((peer,), (WantTx(tx if tx and d.chance(85) else "nevertx"),))]


def wait_for_answer(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    """Not quite long enough, long enough, or twice that."""
    due = [each.due_ms for each in view.wanted.values() if each.of is not None]
    if not due:
        return []
    left = max(1, min(due) - view.now_ms)
    return [Advance(d.one_of((max(1, left - 1), left, left, left + timeout_ms(view, ""))))]


def wait(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    return [Advance(d.one_of((50, 500, 2000, MEMORY_MS + 120_000)))]


def lose_asked(n: MempoolNeighbours, view: Node, d: SeededDraws) -> list[Event]:
    """One that the node waits for goes."""
    tx = _wanted_of(view, d)
    peer = view.wanted[tx].of if tx else None
    return [Disconnect((peer,))] if peer is not None and peer in view.peers else []


SIGNERS = ("s1", "s2", "s3")

ACTS: Mapping[str, Act] = by_name(
    *(arrive, depart, reconnect, submit, first_time, duplicate, invalid, commit, wait, raw),
    *(announce, announce_wanted, announce_known, announce_of_account, submit_of_account),
    *(answer, want, wait_for_answer, lose_asked),
)


def draw_current_parameters(d: SeededDraws) -> DogParameters:
    """Some nodes of the current version have persistent peers, more than they tell."""
    drawn = draw_cat_parameters(d)
    persistent = d.one_of((0, 0, 0, 2, 7))
    return evolve(drawn, persistent_peers=frozenset(range(1, persistent + 1)))


def draw_cat_parameters(d: SeededDraws) -> DogParameters:
    return DogParameters(dog=False, max_announced_peers=d.one_of((15, 15, 1, 2, 3)))
