"""The small networks in which statements about mempools are looked at, and what puts them to the test."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

from quidnunc.model.rpc import HaveTx, ResetRoute, SeenTx, Tx, WantTx
from quidnunc.properties.networks.acts import Kind, acts_of, name_of
from quidnunc.properties.networks.mempool import MempoolMove
from quidnunc.properties.networks.places import GRAPHS
from quidnunc.properties.statements.dog.moves import adjusts, bounds, ratio, routes_of, sent_of, taken_message
from quidnunc.properties.statements.dog.revisions import BY_CODE, NAMES
from tools.decide.place import Place, Run, StatementSearch

NO_ADJUSTMENT: tuple[Kind, ...] = ("submit", "offer", "deliver")
STILL: tuple[Kind, ...] = (*NO_ADJUSTMENT, "adjust")
LEAVING: tuple[Kind, ...] = (*STILL, "leave", "notice")
CHURN: tuple[Kind, ...] = (*LEAVING, "join")
PATIENT: tuple[Kind, ...] = ("submit", "deliver")
_LIFE = {
    STILL: "nobody leaves",
    CHURN: "nodes leave and join",
    LEAVING: "one node leaves",
    NO_ADJUSTMENT: "no adjustment",
    PATIENT: "no request expires",
}


def place(
    graph: str, kinds: tuple[Kind, ...] = STILL, messages: int = 2, text: str = "", **more: Any
) -> Place:
    """A place with two transactions, named for what its nodes do."""
    return Place(graph, kinds, text or _LIFE[kinds], messages=messages, **more)


REPEATED = "users repeat themselves"
ONE_SLOT = {"dog": False, "max_non_persistent": 1}

PAIR, LINE, RING = place("pair"), place("line"), place("ring")
KITE = place("kite", messages=3)
DIAMOND = place("diamond", messages=4)
HALF = place("diamond", messages=4, text="nobody leaves, a target of 0.5", changes={"target_redundancy": 0.5})
BOTH = (PAIR, RING)
MESH, RING_OF_FOUR = place("mesh of four"), place("ring of four", messages=3)
REPEATING = tuple(place(graph, messages=3, again=True, text=REPEATED) for graph in ("line", "kite"))
CHANGING = (place("pair", CHURN), place("ring", CHURN))
UNADJUSTED = (
    place("line", NO_ADJUSTMENT),
    place("ring", NO_ADJUSTMENT),
    place("kite", NO_ADJUSTMENT, 3),
)
CUT = (*UNADJUSTED, *REPEATING)
ONE_LEAVES = (place("ring", LEAVING), place("kite", LEAVING, 3))
RING_OF_FIVE = place("ring of five", NO_ADJUSTMENT, 3)
RING_OF_FIVE_LEFT = place("ring of five", LEAVING, 3)
WIDE = place(
    "ring of five",
    NO_ADJUSTMENT,
    6,
    "no adjustment, a target of 2 and a delta of 50 %",
    changes={"target_redundancy": 2.0, "delta_percent": 50.0},
    not_of=("dog-adr", "dog-adr-prose", "dog-go"),
)
NARROW = place(
    "ring of five",
    NO_ADJUSTMENT,
    9,
    "no adjustment, a target of 1.48",
    changes={"target_redundancy": 1.48},
)
REPEATING_UNADJUSTED = tuple(
    place(graph, NO_ADJUSTMENT, 3, "no adjustment, users repeat themselves", again=True)
    for graph in ("kite", "ring of five")
)
LIMITED = tuple(
    place(graph, NO_ADJUSTMENT, text="one slot", changes=ONE_SLOT) for graph in ("line", "ring", "star")
)
LIMITED_CHANGING = (
    place(
        "ring",
        (*NO_ADJUSTMENT, "leave", "notice", "join"),
        1,
        "one slot, nodes leave and join",
        changes=ONE_SLOT,
    ),
)
FORGED = (
    place(
        "line of four",
        text="D says what it likes",
        attackers=(4,),
        says=("resetroute", "tx t1", "havetx t1", "tx t2", "havetx t2"),
    ),
)
LEFT_BY_A_RELAY = place("ring of four", LEAVING)
NO_ROUTINES = tuple(name for name in NAMES if name not in BY_CODE)
BESIDE = "routines side by side"
COMMITTED = "blocks take transactions"
COMMITTING = tuple(place(graph, (*STILL, "commit"), text=COMMITTED) for graph in ("pair", "ring"))
SIDE_BY_SIDE = tuple(
    place(graph, (*LEAVING, "commit", "begin"), 1, f"{BESIDE}, {COMMITTED}, one leaves", not_of=NO_ROUTINES)
    for graph in ("pair", "line", "ring", "kite")
)


ALLOWED_BEFORE = ", HaveTx allowed before"


def freed(of: Place) -> Place:
    """The place, once an adjustment of every honest node has found too much.

    Where HaveTx begins blocked, this is what it takes to be allowed. Nothing is in flight then, no route is
    disabled, and counters are 0.
    """
    links = GRAPHS[of.graph]
    nodes = sorted({i for link in links for i in link} - {*of.attackers})
    names = [name_of(i) for i in nodes]
    copies = sorted((i, j) for a, b in links for i, j in ((a, b), (b, a)) if i in nodes)
    known = [f"submit {name} t9" for name in names] + [f"offer {name}" for name in names]
    taken = [f"deliver {name_of(i)}>{name_of(j)}" for i, j in copies]
    taken += [f"offer {name_of(i)}" for i in of.attackers]
    repeated = [act for name in names for act in (*(f"submit {name} t9",) * 3, f"adjust {name}")]
    return evolve(of, text=of.text + ALLOWED_BEFORE, prelude=(*known, *taken, *repeated))


FREED = {
    each.name: each
    for each in map(
        freed,
        (
            PAIR,
            LINE,
            *UNADJUSTED,
            RING_OF_FIVE,
            *REPEATING_UNADJUSTED,
            *ONE_LEAVES,
            LEFT_BY_A_RELAY,
            DIAMOND,
            *FORGED,
            *COMMITTING,
        ),
    )
}
CATS = (place("kite", PATIENT, 1), place("ring of four", PATIENT, 1))
WAITING = tuple(
    place(graph, (*PATIENT, "wait"), 1, "requests expire", wait_ms=200) for graph in ("kite", "ring of four")
)
# What the current version waits for, so that a request of either expires.
EVENTFUL = tuple(
    place(
        graph,
        (*PATIENT, "wait", "commit", "leave", "notice"),
        1,
        f"requests expire in a minute, {COMMITTED}, one leaves",
        wait_ms=60_000,
    )
    for graph in ("kite", "ring of four")
)
CAT_BESIDE = tuple(
    place(graph, (*PATIENT, "begin"), 1, BESIDE, not_of=NO_ROUTINES) for graph in ("kite", "ring of four")
)
BROKEN = tuple(
    place(graph, (*PATIENT, "disconnect", "connect"), 1, "connections break and are made again")
    for graph in ("line", "kite")
)
ONE_IS_TOLD = place("star", PATIENT, 1, "one peer is told", changes={"max_announced_peers": 1})
ONE_SUBMISSION = tuple(
    place(graph, NO_ADJUSTMENT, 1, "one submission", origins=(1,))
    for graph in (
        "pair", "line", "ring", "star", "line of four", "ring of four", "ring of five", "kite", "diamond",
        "mesh of four",
    )
)  # fmt: skip


def cuts(move: MempoolMove) -> bool:
    """Whether a route was disabled."""
    return any(routes_of(n) - routes_of(move.before.nodes[i]) for i, n in move.after.nodes.items())


def says_have_tx(move: MempoolMove) -> bool:
    return bool(sent_of(move, HaveTx))


def asks(move: MempoolMove) -> bool:
    return bool(sent_of(move, ResetRoute))


def asks_where_cut(move: MempoolMove) -> bool:
    """Whether somebody asks to whom a route is disabled."""
    cut = {route[1] for n in move.before.nodes.values() for route in routes_of(n)}
    return any(by in cut for by, _ in sent_of(move, ResetRoute))


def has_left(move: MempoolMove) -> bool:
    return move.act.kind == "notice" and move.after.quiet()


def gets_a_sender(move: MempoolMove) -> bool:
    return isinstance(taken_message(move), Tx)


def announces(move: MempoolMove) -> bool:
    return any(isinstance(part, SeenTx) for _, part, _ in move.sent)


def wants(move: MempoolMove) -> bool:
    return any(isinstance(part, WantTx) for _, part, _ in move.sent)


def is_in_band(move: MempoolMove) -> bool:
    """Whether nothing moves and every node's redundancy is within its bounds."""
    nodes_now = [move.after.nodes[i] for i in move.after.joined()]
    return move.after.quiet() and all(
        n.first_time and bounds(n)[0] <= ratio(n) < bounds(n)[1] for n in nodes_now
    )


# -- the statements -----------------------------------------------------------------------------------------


def _runs() -> Mapping[str, tuple[Place, Run]]:
    places = (*UNADJUSTED, RING_OF_FIVE, RING_OF_FIVE_LEFT, *ONE_LEAVES, *REPEATING_UNADJUSTED, *FORGED)
    more = (*BOTH, DIAMOND, HALF, LEFT_BY_A_RELAY, WIDE, NARROW, *FREED.values())
    more = (*more, *SIDE_BY_SIDE, *CAT_BESIDE, *BROKEN)
    by_name = {place.name: place for place in (*places, *more)}
    text = Path(__file__).with_name("tried.toml").read_text(encoding="utf-8")
    return {
        name: (by_name[run["place"]], tuple(map(str, acts_of(run["acts"]))))
        for name, run in tomllib.loads(text).items()
    }


def _grown(of: str) -> tuple[Place, Run]:
    """A run, and then that the pairs which its network is grown by at C hear what C has sent."""
    place, run = NAMED_RUNS[of]
    acts, sent = [*run], run.count("offer C")
    base = {i for link in GRAPHS[place.graph] for i in link}
    plain = evolve(place, prelude=(), text=place.text.removesuffix(ALLOWED_BEFORE))
    grown = evolve(plain, graph=f"{place.graph} with eight pairs")
    added = sorted({i for link in GRAPHS[grown.graph] for i in link} - base)
    for i, j in zip(added[::2], added[1::2], strict=True):
        a, b = name_of(i), name_of(j)
        for act in (
            f"deliver C>{a}",
            f"deliver C>{b}",
            f"offer {a}",
            f"offer {b}",
            f"deliver {a}>{b}",
            f"deliver {b}>{a}",
        ):
            acts += [act] * sent
        # The first copy that comes twice is answered by HaveTx.
        acts += [f"deliver {a}>{b}", f"deliver {b}>{a}"]
    return freed(grown) if place.prelude else grown, tuple(acts)


NAMED_RUNS = _runs()
GROWN = {f"{name}-at-scale": _grown(name) for name in ("in-bounds", "in-bounds-freed", "in-wide-bounds")}
RUNS: Mapping[str, tuple[Place, Run]] = {**NAMED_RUNS, **GROWN}
"""Runs that were thought of and not drawn."""


def runs(*names: str) -> tuple[tuple[Place, Run], ...]:
    """The runs of those names, each with its place. Raises KeyError."""
    return tuple(RUNS[name] for name in names)


CUT_OFF = runs("two-users", "one-route-each", "one-route-each-one-queue", "one-route-each-freed")
"""Runs in which somebody never gets a transaction."""


TEN = 10
"""What was not refuted by the usual search, and was asked why not."""

SEARCHES: Mapping[str, StatementSearch] = {
    "pool.without-repeats": StatementSearch(BOTH),
    "senders.of-the-pool-only": StatementSearch(BOTH, occasion=gets_a_sender),
    "flood.never-sent-back": StatementSearch(BOTH),
    "messages.can-be-taken": StatementSearch((*BOTH, CHANGING[1])),
    "network.keeps-a-link": StatementSearch(CHANGING),
    "flood.reaches-all": StatementSearch((PAIR, RING, LINE, KITE), occasion=gets_a_sender),
    "peer-limit.reaches-all": StatementSearch(LIMITED),
    "peer-limit.free-slot-is-taken": StatementSearch((*LIMITED, *LIMITED_CHANGING)),
    "flood.number-of-copies": StatementSearch(ONE_SUBMISSION, occasion=gets_a_sender),
    "routes.never-mention-their-node": StatementSearch(BOTH, occasion=cuts),
    "routes.change-one-at-a-time": StatementSearch(
        (*BOTH, HALF), occasion=cuts, tried=runs("two-routes-reset", "two-routes-reset-once-allowed")
    ),
    "havetx.names-what-the-receiver-has": StatementSearch(
        (*BOTH, *COMMITTING, *SIDE_BY_SIDE),
        occasion=says_have_tx,
        tried=runs("committed-before-it-arrives"),
    ),
    "havetx.one-between-unblocks": StatementSearch(
        (*BOTH, *COMMITTING, *SIDE_BY_SIDE), occasion=says_have_tx, times=TEN, tried=runs("two-may-answer")
    ),
    "controller.resets-or-unblocks": StatementSearch(BOTH, occasion=adjusts),
    "controller.restarts-its-counters": StatementSearch(
        (*BOTH, *COMMITTING, *SIDE_BY_SIDE),
        occasion=adjusts,
        times=TEN,
        tried=runs("two-adjustments-at-once"),
    ),
    "routes.of-peers-in-a-static-network": StatementSearch(BOTH),
    "routes.of-peers-only": StatementSearch(CHANGING, occasion=cuts),
    "routes.never-to-self": StatementSearch(BOTH, occasion=cuts),
    "controller.one-message-per-interval": StatementSearch(BOTH, occasion=says_have_tx),
    "havetx.only-after-excess": StatementSearch(BOTH, occasion=says_have_tx),
    "havetx.one-in-flight": StatementSearch(BOTH, occasion=says_have_tx, tried=runs("freed-by-copies-alone")),
    "reset.goes-to-a-peer": StatementSearch(CHANGING, occasion=asks),
    "routes.reopen-with-traffic": StatementSearch(BOTH, occasion=cuts, rounds=True),
    "routes.reopen-without-traffic": StatementSearch(
        BOTH, occasion=cuts, rounds=True, tried=runs("crossing-freed")
    ),
    "routes.not-disabled-while-low": StatementSearch(
        BOTH, occasion=cuts, tried=runs("low-before-it-arrives")
    ),
    "routes.form-spanning-trees": StatementSearch((RING, KITE, RING_OF_FOUR), rounds=True),
    "reset.brings-duplicates": StatementSearch((RING, KITE, MESH), occasion=asks_where_cut, rounds=True),
    "havetx.without-sender-is-harmless": StatementSearch(BOTH, occasion=says_have_tx),
    "dissemination.own-goes-to-all": StatementSearch(BOTH),
    "dog.reaches-all-after-a-disconnect": StatementSearch(
        (LEFT_BY_A_RELAY, *ONE_LEAVES),
        occasion=has_left,
        rounds=True,
        tried=runs("relay-leaves", "relay-leaves-freed"),
    ),
    "dog.reaches-all-with-one-havetx-each": StatementSearch(CUT, occasion=cuts, tried=CUT_OFF),
    "dog.controller-repairs-isolation": StatementSearch(
        CUT, occasion=cuts, rounds=True, tried=(*CUT_OFF, *runs("crossing-line-freed"))
    ),
    "dog.long-interval-prevents-loss": StatementSearch(UNADJUSTED, occasion=cuts, tried=CUT_OFF),
    "dog.no-redundancy-still-reaches-all": StatementSearch(UNADJUSTED, occasion=cuts, tried=CUT_OFF),
    "redundancy.in-bounds-means-delivery": StatementSearch(
        (RING, *REPEATING),
        occasion=is_in_band,
        tried=runs(
            *("in-bounds", "in-bounds-one-queue", "in-bounds-freed", "in-wide-bounds", "in-narrow-bounds")
        ),
    ),
    "redundancy.in-bounds-means-delivery-at-scale": StatementSearch(
        (GROWN["in-bounds-at-scale"][0],), occasion=is_in_band, tried=runs(*GROWN)
    ),
    "redundancy.in-bounds-hears-everyone": StatementSearch(
        (DIAMOND,),
        occasion=cuts,
        rounds=True,
        tried=runs("one-source-lost", "one-source-lost-one-message", "one-source-lost-freed"),
    ),
    "redundancy.settles-in-bounds": StatementSearch((MESH,), rounds=True),
    "attack.positive-target-withstands-one-peer": StatementSearch(
        FORGED, occasion=cuts, tried=runs("repeating-peer", "repeating-peer-freed")
    ),
    "attack.one-peer-does-not-change-traffic": StatementSearch(FORGED, occasion=asks),
    "redundancy.unaffected-by-own-submissions": StatementSearch((PAIR,)),
    "dog.as-fast-as-flood": StatementSearch((LINE, RING, KITE), occasion=cuts, tried=CUT_OFF),
    "dissemination.withheld-arrives-elsewhere": StatementSearch(CUT, occasion=cuts, tried=CUT_OFF),
    "dissemination.no-permanent-silence": StatementSearch(BOTH, occasion=asks, rounds=True),
    "metrics.count-disabled-routes": StatementSearch(
        (*BOTH, *COMMITTING, *CHANGING, *SIDE_BY_SIDE),
        occasion=cuts,
        times=TEN,
        tried=runs("reported-too-late"),
    ),
    "cat.announced-once-per-connection": StatementSearch((*CATS, *WAITING), occasion=announces),
    "cat.one-request-outstanding": StatementSearch(
        (*CATS, *WAITING, *EVENTFUL, *CAT_BESIDE), occasion=wants, times=TEN, tried=runs("two-may-ask")
    ),
    "cat.one-request-unanswered": StatementSearch((*CATS, *WAITING, *EVENTFUL), occasion=wants),
    "cat.announced-is-obtained": StatementSearch(
        (*CATS, *WAITING, *EVENTFUL, *BROKEN), occasion=wants, tried=runs("lost-with-its-connection")
    ),
    "cat.wanted-after-announced": StatementSearch((*CATS, *WAITING), occasion=wants),
    "cat.one-copy-without-timeouts": StatementSearch(CATS, occasion=wants),
    "cat.everyone-learns": StatementSearch((*CATS, ONE_IS_TOLD)),
}
