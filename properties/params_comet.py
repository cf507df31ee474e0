"""The settings of CometBFT's mempool that DOG and the peer limit rest on, from its config.toml."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from fractions import Fraction

from attrs import evolve, frozen

from quidnunc.properties.params_advice import Advice
from quidnunc.properties.params_file import Given, ParamsError
from quidnunc.properties.params_guarantees import Line, Verdict
from quidnunc.properties.params_read import duration_ms, number, whole
from quidnunc.properties.params_values import decimal

MIN_INTERVAL_MS = 1000
BAND = Fraction(1, 10)
"""Half the width of the band around the target, as a share of it: no setting."""
STUDIED = (Fraction(1, 2), Fraction(1))
"""Targets that the published experiments found good."""
LEAST_STUDIED, MOST_STUDIED = Fraction(1, 100), Fraction(2)
"""The least and the largest that were tried (cometbft issue 4597). ADR-119 advises against a tenth."""
ROUND_TRIP_MS = Fraction(322)
"""The longest between the zones of the published test network."""
MAX_FIRSTS = 10_000


@frozen(kw_only=True)
class Comet:
    """What counts of one config.toml. The defaults are those of CometBFT v2.0.0-rc1."""

    name: str
    kind: str = "flood"
    dog: bool = False
    target: Fraction = Fraction(1)
    interval_ms: Fraction = Fraction(1000)
    max_persistent: int = 0
    max_others: int = 0
    max_inbound: int = 40
    max_outbound: int = 10
    max_tx_bytes: int = 1 << 20

    @property
    def limited(self) -> bool:
        return bool(self.max_persistent or self.max_others)

    @property
    def peers(self) -> int:
        """Connections at most."""
        return self.max_inbound + self.max_outbound


def _switch(given: Given) -> bool:
    if not isinstance(given.content, bool):
        raise given.wrong("true or false")
    return given.content


def _text(given: Given) -> str:
    if not isinstance(given.content, str):
        raise given.wrong("a text")
    return given.content


READS: dict[str, dict[str, tuple[str, Callable[[Given], object]]]] = {
    "mempool": {
        "type": ("kind", _text),
        "dog_protocol_enabled": ("dog", _switch),
        "dog_target_redundancy": ("target", number),
        "dog_adjust_interval": ("interval_ms", duration_ms),
        "experimental_max_gossip_connections_to_persistent_peers": ("max_persistent", whole),
        "experimental_max_gossip_connections_to_non_persistent_peers": ("max_others", whole),
        "max_tx_bytes": ("max_tx_bytes", whole),
    },
    "p2p": {
        "max_num_inbound_peers": ("max_inbound", whole),
        "max_num_outbound_peers": ("max_outbound", whole),
    },
}
OURS = ("dog", "experimental_max_gossip", "max_num_inbound", "max_num_outbound")
"""How the names of settings begin that are read here; what else a file has is another's business."""


def is_comet(given: Given) -> bool:
    """Whether a file is a node's config.toml."""
    return given.file.lower().endswith(".toml")


def comet_of(given: Given, name: str) -> Comet:
    """The settings of a config.toml. Raises ParamsError that names the setting."""
    values: dict[str, object] = {}
    top = given.fields()
    if "mempool" not in top:
        raise given.wrong("a section [mempool], as in CometBFT's config.toml")
    for section, reads in READS.items():
        if section not in top:
            continue
        for setting, value in top[section].fields().items():
            if setting in reads:
                attribute, read = reads[setting]
                values[attribute] = read(value)
            elif setting.startswith(OURS):
                near = difflib.get_close_matches(setting, reads, 1)
                hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(reads)}"
                raise ParamsError(f"{value.place}: no such setting{hint}")
    return Comet(name=name, **values)  # type: ignore[arg-type]


# -- what is asked of one node ------------------------------------------------------------------------------


def comet_lines(comet: Comet, round_trip_ms: Fraction) -> Iterator[Line]:
    """Every line about one node's settings."""
    yield starts_line(comet)
    if comet.dog:
        yield interval_line(comet, round_trip_ms)
        yield target_line(comet)
        yield rest_line(comet)
        yield stable_line(comet)
    yield limit_line(comet)


def refusals(comet: Comet) -> Iterator[tuple[str, Comet]]:
    """Why a node does not start, each with the least change after which it does for that reason."""
    if comet.target <= 0:
        changed = evolve(comet, target=Fraction(1))
        yield f"dog_target_redundancy is {decimal(comet.target)}, and must be above 0", changed
    if comet.interval_ms < MIN_INTERVAL_MS:
        changed = evolve(comet, interval_ms=Fraction(MIN_INTERVAL_MS))
        interval = f"dog_adjust_interval is {decimal(comet.interval_ms)} ms"
        yield f"{interval}, and must be {MIN_INTERVAL_MS} ms or more", changed
    if comet.dog and comet.limited:
        changed = evolve(comet, max_persistent=0, max_others=0)
        yield "dog_protocol_enabled is true and gossip connections are limited: one of the two", changed
    if comet.dog and comet.kind != "flood":
        changed = evolve(comet, kind="flood")
        yield f"dog_protocol_enabled is true and type is {comet.kind!r}: DOG works with flood alone", changed


def starts_line(comet: Comet) -> Line:
    """Whether a node takes these settings at all."""
    found = list(refusals(comet))
    changed = comet
    for _ in found:
        rest = list(refusals(changed))
        changed = rest[0][1] if rest else changed
    advice = Advice(change=_changes(comet, changed), restored=not list(refusals(changed)))
    return Line(
        id="starts",
        text="a node starts with these settings",
        verdict="fails" if found else "holds",
        found=tuple(why for why, _ in found),
        assumptions=("the checks are those of CometBFT v2.0.0-rc1, DOG on or off",),
        advice=(advice,) if found else (),
    )


def _changes(old: Comet, new: Comet) -> str:
    names = {
        "target": "dog_target_redundancy",
        "interval_ms": "dog_adjust_interval",
        "max_persistent": "experimental_max_gossip_connections_to_persistent_peers",
        "max_others": "experimental_max_gossip_connections_to_non_persistent_peers",
        "kind": "type",
    }
    changed = [n for n in names if getattr(old, n) != getattr(new, n)]
    return "; ".join(f"{names[n]} = {_shown(n, getattr(new, n))}" for n in changed)


def _shown(name: str, value: object) -> str:
    if isinstance(value, Fraction):
        return decimal(value) + (" ms" if name.endswith("_ms") else "")
    return repr(value)


def interval_line(comet: Comet, round_trip_ms: Fraction) -> Line:
    """An adjustment sees the effect of the one before."""
    short = comet.interval_ms < round_trip_ms
    changed = evolve(comet, interval_ms=max(round_trip_ms, Fraction(MIN_INTERVAL_MS)))
    advice = Advice(
        change=_changes(comet, changed),
        restored=changed.interval_ms >= round_trip_ms and changed.interval_ms >= MIN_INTERVAL_MS,
        price="routes settle later",
    )
    return Line(
        id="interval",
        text="an adjustment of the redundancy sees the effect of the one before",
        verdict="fails" if short else "holds",
        found=(
            f"the interval is {decimal(comet.interval_ms)} ms, a round trip {decimal(round_trip_ms)} ms"
            + (": the controller acts again before its last message was heeded" if short else ""),
        ),
        assumptions=("the round trip is the longest to any peer (--round-trip)",),
        advice=(advice,) if short else (),
    )


def target_line(comet: Comet) -> Line:
    """The target is one that was tried."""
    low, high = STUDIED
    if comet.target < LEAST_STUDIED or comet.target > MOST_STUDIED:
        verdict: Verdict = "fails"
        why = "outside all that was tried"
    elif low <= comet.target <= high:
        verdict, why = "holds", "among those that the experiments found good"
    else:
        verdict = "depends"
        why = (
            "tried, and not recommended" if comet.target < low else "tried, with more duplicates than needed"
        )
    advice = Advice(change="dog_target_redundancy = 1", restored=low <= 1 <= high, price="as published")
    return Line(
        id="target",
        text="the target redundancy is one that experiments bear out",
        verdict=verdict,
        found=(f"the target is {decimal(comet.target)}: {why}",),
        assumptions=(
            f"the published experiments: 200 nodes, targets {decimal(LEAST_STUDIED)} to "
            f"{decimal(MOST_STUDIED)}, no adversary",
        ),
        advice=(advice,) if verdict != "holds" else (),
    )


def firsts_at_rest(target: Fraction) -> int | None:
    """The least number of new transactions of an interval for which some number of duplicates is within the
    band; None where that is more than `MAX_FIRSTS`."""
    lower, upper = target - target * BAND, target + target * BAND
    for firsts in range(1, MAX_FIRSTS + 1):
        duplicates = -(-lower * firsts // 1)
        if duplicates < upper * firsts:
            return firsts
    return None


def rest_line(comet: Comet) -> Line:
    """The controller can come to rest."""
    firsts = firsts_at_rest(comet.target) if comet.target > 0 else None
    verdict: Verdict = "fails" if firsts is None else "holds" if firsts == 1 else "depends"
    found = (
        f"no number of duplicates is within the band in an interval of up to {MAX_FIRSTS} new transactions"
        if firsts is None
        else f"from {firsts} new transactions per interval on there are numbers of duplicates within the band"
    )
    return Line(
        id="rest",
        text="there is a redundancy at which the controller does nothing",
        verdict=verdict,
        found=(found,),
        assumptions=("duplicates and new transactions are counted in whole numbers, the band is 10 %",),
    )


def stable_line(comet: Comet) -> Line:
    """How long until routes are stable."""
    routes = comet.peers * (comet.peers - 1)
    seconds = routes * comet.interval_ms / 1000
    return Line(
        id="stable",
        text="routes are stable soon after the start",
        verdict="depends",
        found=(
            f"{comet.peers} peers at most, so up to {routes} routes; at one message per interval "
            f"{decimal(seconds / 60)} minutes, with fewer peers by the square less",
        ),
        assumptions=("a node cuts one route per interval at most, and sees duplicates in each",),
    )


def limit_line(comet: Comet) -> Line:
    """Whether what is sent reaches everybody."""
    limits = [
        f"{name} peers: {limit}"
        for name, limit in (("persistent", comet.max_persistent), ("other", comet.max_others))
        if limit
    ]
    return Line(
        id="connected",
        text="who is connected is sent every transaction, by way of somebody",
        verdict="depends" if limits else "holds",
        found=(
            f"sent to at most ({', '.join(limits)}), in the order of connection: the directed graph of who "
            "sends to whom need not be connected where that of peers is",
        )
        if limits
        else ("every peer is sent to",),
        assumptions=("nobody else limits its connections",)
        + (("DOG as far as it goes",) if comet.dog else ()),
    )
