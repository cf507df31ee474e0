"""The variants of DOG in our reactor: each switch is one edit at one seam, as a planted departure is.

The names are those of `quidnunc.model.mempool.dog.variants`, which says what each text has; the two are
written apart from each other, and compared beside each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from fractions import Fraction
from math import inf
from types import MappingProxyType

from quidnunc.impl.mempool.dog.reactor import DogReactor
from quidnunc.impl.mempool.dog.routes import NOBODY
from quidnunc.impl.mempool.pool import PoolEntry
from quidnunc.impl.mutant import Usual, around, nothing, patch
from quidnunc.impl.mutants.dog import DOG_MUTANTS
from quidnunc.impl.mutants.table import Edit, read_mutants
from quidnunc.model.rpc import Peer

KEEP_ALIVE_INTERVALS = 3


def _as(mutant: str) -> Edit[DogReactor]:
    """What is a departure from our reading may be the sentence of another text."""
    return DOG_MUTANTS[mutant].apply


def _one_inbox(r: DogReactor) -> None:
    receive, reset_route = r.receive, r.reset_route
    stuck = False

    def reset(peer: Peer) -> None:
        nonlocal stuck
        stuck = not r.routes.sources(peer)
        reset_route(peer)

    def read(peer: Peer, channel: int, data: bytes) -> None:
        if not stuck:
            receive(peer, channel, data)

    patch(r, "reset_route", reset)
    patch(r, "receive", read)


def _some_sender_cut(r: DogReactor, have_tx: Usual, peer: Peer, key: bytes) -> None:
    entry = r.pool.get(key)
    if entry is not None and entry.senders:
        r.routes.disable(r.random.choice(tuple(entry.senders)), peer)


def _some_sender_filters(r: DogReactor, cut_off: Usual, entry: PoolEntry) -> Set[Peer]:
    return r.routes.targets(r.random.choice(tuple(entry.senders))) if entry.senders else NOBODY


def _self_route_refused(r: DogReactor, have_tx: Usual, peer: Peer, key: bytes) -> None:
    entry = r.pool.get(key)
    live = [] if entry is None else [p for p in entry.senders if p in r.links]
    if live[:1] != [peer]:
        have_tx(peer, key)


def _first_live_sender(r: DogReactor, first_sender: Usual, entry: PoolEntry) -> Peer | None:
    return next((p for p in entry.senders if p in r.links), None)


def _reset_may_be_lost(r: DogReactor) -> None:
    on_low = r.on_low

    def adjust(lost: Peer) -> None:
        in_vain = r.random.randrange(len(r.links) + 1) == 0
        patch(r, "on_low", nothing if in_vain else on_low)
        r.adjust()
        patch(r, "on_low", on_low)

    patch(r, "adjust_after_loss", adjust)


def _strict_upper_bound(r: DogReactor) -> None:
    counted = r.redundancy
    ratio = counted.ratio
    # Duplicates alone are beyond every bound, and not at one.
    patch(counted, "ratio", lambda: ratio() if counted.first_time else inf)
    patch(counted, "too_high", lambda ratio: ratio > counted.upper)


def _integers(r: DogReactor) -> None:
    target, delta = int(r.parameters.target_redundancy), int(r.parameters.delta_percent)
    counted = r.redundancy
    counted.lower, counted.upper = target - target * delta // 100, target + target * delta // 100
    patch(
        counted,
        "ratio",
        lambda: counted.duplicates // counted.first_time if counted.first_time else counted.upper,
    )


def _exact_bounds(r: DogReactor) -> None:
    counted = r.redundancy
    target, delta = (Fraction(str(x)) for x in (r.parameters.target_redundancy, r.parameters.delta_percent))
    lower, upper = target - target * delta / 100, target + target * delta / 100

    def ratio() -> Fraction:
        return Fraction(counted.duplicates, counted.first_time) if counted.first_time else upper

    patch(counted, "ratio", ratio)
    patch(counted, "too_low", lambda ratio: ratio < lower)
    patch(counted, "too_high", lambda ratio: ratio >= upper)


def _in_band_blocks(r: DogReactor, level: Usual) -> object:
    found = level()
    if found == "in-band":
        r.redundancy.block()
    return found


def _own_never_filtered(r: DogReactor) -> None:
    first_time, cut_off = r.first_time, r.cut_off
    own: set[bytes] = set()

    def noted(entry: PoolEntry, source: Peer | None) -> None:
        if source is None:
            own.add(entry.key)
        if len(own) > 2 * r.parameters.pool_size:
            own.intersection_update(each.key for each in r.pool)
        first_time(entry, source)

    patch(r, "first_time", noted)
    patch(r, "cut_off", lambda entry: NOBODY if entry.key in own else cut_off(entry))


def _keep_alive(r: DogReactor) -> None:
    adjust = r.adjust
    idle = 0

    def awake() -> None:
        nonlocal idle
        idle = idle + 1 if r.redundancy.level() == "idle" else 0
        adjust()
        if idle == KEEP_ALIVE_INTERVALS:
            idle = 0
            r.ask_for_route()

    def after_loss(lost: Peer) -> None:
        nonlocal idle
        idle = idle if r.redundancy.level() == "idle" else 0
        adjust()

    patch(r, "adjust", awake)
    patch(r, "adjust_after_loss", after_loss)


def _full_pool_first(r: DogReactor, admit: Usual, tx: bytes, source: Peer | None) -> None:
    if not r.pool.full:
        admit(tx, source)


def _nothing_to_turn(r: DogReactor) -> None:
    """Our reactor answers a committed duplicate anyway: our reading leaves it free."""


SWITCHES: Mapping[str, Edit[DogReactor]] = MappingProxyType(
    {
        "resets-all": _as("reset-all"),
        "one-inbox": _one_inbox,
        "some-sender-cut": around("have_tx", _some_sender_cut),
        "some-sender-filters": around("cut_off", _some_sender_filters),
        "self-route-refused": around("have_tx", _self_route_refused),
        "stale-routes": _as("route-of-the-dead"),
        "first-live-sender": around("first_sender", _first_live_sender),
        "lost-may-be-asked": _as("ask-the-lost-too"),
        "reset-may-be-lost": _reset_may_be_lost,
        "strict-upper-bound": _strict_upper_bound,
        "integers": _integers,
        "exact-bounds": _exact_bounds,
        "starts-blocked": _as("starts-blocked"),
        "low-blocks": _as("permission-withdrawn"),
        "in-band-blocks": around("redundancy.level", _in_band_blocks),
        "user-duplicates-uncounted": _as("user-duplicates-uncounted"),
        "own-never-filtered": _own_never_filtered,
        "committed-answered": _nothing_to_turn,
        "invalid-forgotten": _as("invalid-forgotten"),
        "full-pool-first": around("admit", _full_pool_first),
        "joiner-gets-later": _as("joiner-gets-nothing"),
        "told-without-dog": _as("dog-told-to-all"),
        "keep-alive": _keep_alive,
    }
)

VARIANTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "dog-adr": ("resets-all", "strict-upper-bound", "own-never-filtered"),
        "dog-adr-prose": ("resets-all", "strict-upper-bound", "own-never-filtered",
                          "starts-blocked", "low-blocks", "in-band-blocks"),
        "dog-quint": ("stale-routes", "lost-may-be-asked", "integers", "joiner-gets-later", "one-inbox"),
        "dog-quint-run": ("stale-routes", "lost-may-be-asked", "integers", "joiner-gets-later"),
        "dog-go": ("some-sender-cut", "some-sender-filters", "reset-may-be-lost",
                   "user-duplicates-uncounted", "committed-answered", "invalid-forgotten",
                   "full-pool-first", "told-without-dog"),
        "dog-proposed": ("first-live-sender", "self-route-refused", "low-blocks",
                         "user-duplicates-uncounted", "keep-alive"),
    }
)  # fmt: skip


def _user_duplicates_counted(r: DogReactor, count: Usual, source: Peer | None) -> None:
    r.redundancy.duplicates += 1


def _full_pool_looks(r: DogReactor, admit: Usual, tx: bytes, source: Peer | None) -> None:
    # What the variant put in its place is let be: the method of the class is the one before it.
    DogReactor.admit(r, tx, source)


_EDITS: Mapping[str, Edit[DogReactor]] = {
    "go-user-duplicates-counted": around("redundancy.count_duplicate", _user_duplicates_counted),
    "go-full-pool-looks": around("admit", _full_pool_looks),
}
VARIANT_MUTANTS = read_mutants(__file__, DogReactor, _EDITS)
"""What is the sentence of our reading may be a departure from another text."""


def apply_variant(reactor: DogReactor, protocol: str) -> None:
    """Make the reactor speak that variant; for another protocol nothing is turned."""
    for switch in VARIANTS.get(protocol, ()):
        SWITCHES[switch](reactor)
