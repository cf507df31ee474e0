"""The settings of CometBFT's mempool that DOG and the peer limit rest on, from its config.toml."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from attrs import evolve, frozen

from quidnunc.properties.params.advice import Advice
from quidnunc.properties.params.file import FileValue, ParamsError
from quidnunc.properties.params.guarantees import Guarantee, Verdict
from quidnunc.properties.params.read import duration_ms, number, whole
from quidnunc.properties.params.values import decimal
from quidnunc.properties.tables import table

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
MAX_INT64 = 2**63 - 1
NS_PER_MS = 1_000_000
KINDS = ("flood", "nop", "")
"""What `type` may be. Empty means flood."""
CUT_OFF = "docs/results/dog-cut-off.md"


@frozen
class InvalidSetting:
    """A setting whose value keeps a node from starting."""

    setting: str
    reason: str
    default: str
    """The value that CometBFT writes into a new file."""


@frozen(kw_only=True)
class CometConfig:
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
    broadcast: bool = True
    empty: str = ""
    """The setting that leaves no room for any transaction, if one does."""
    invalid: tuple[InvalidSetting, ...] = ()
    ignored: tuple[str, ...] = ()
    """Names under [mempool] that this kit does not know, with the nearest that it does."""

    @property
    def limited(self) -> bool:
        return bool(self.max_persistent or self.max_others)

    @property
    def peers(self) -> int:
        """Connections at most."""
        return self.max_inbound + self.max_outbound


def _switch(given: FileValue) -> bool:
    if not isinstance(given.content, bool):
        raise given.wrong("true or false")
    return given.content


def _text(given: FileValue) -> str:
    if not isinstance(given.content, str):
        raise given.wrong("a text")
    return given.content


def _target(given: FileValue) -> Fraction:
    try:
        return number(given)
    except ParamsError:
        raise given.wrong("a number of at most 1e99") from None


_READERS: dict[str, Callable[[FileValue], object]] = {
    "text": _text,
    "switch": _switch,
    "target": _target,
    "duration_ms": duration_ms,
    "whole": whole,
}
_TABLES = table("properties.params", "comet.toml")
READS: dict[str, dict[str, tuple[str, Callable[[FileValue], object]]]] = {
    section: {setting: (attribute, _READERS[read]) for setting, (attribute, read) in settings.items()}
    for section, settings in _TABLES["reads"].items()
}
"""Section -> setting -> its attribute, and what reads it."""
DEFAULTS: dict[str, str] = _TABLES["defaults"]
"""What is written into a new file, for settings that are checked."""
COUNTS = ("size", "max_txs_bytes", "cache_size")
SWITCHES = ("recheck", "keep-invalid-txs-in-cache")
UNCHECKED = ("wal_dir", "version", "max_batch_bytes", "ttl-duration", "ttl-num-blocks")
"""Settings of this section, of this release or an older one, from which nothing follows here."""
ROOM = ("size", "max_txs_bytes", "max_tx_bytes")
OURS = ("dog", "experimental_max_gossip", "max_num_inbound", "max_num_outbound")
"""How the names of settings begin that are read here; what else a file has is another's business."""


def comet_of(given: FileValue, name: str) -> CometConfig:
    """The settings of a config.toml. Raises ParamsError that names the setting."""
    values: dict[str, object] = {}
    # CometBFT reads names without regard to case.
    top = {section.lower(): value for section, value in given.fields().items()}
    if "mempool" not in top:
        raise given.wrong("a section [mempool], as in CometBFT's config.toml")
    invalid: list[InvalidSetting] = []
    for section, reads in READS.items():
        if section not in top:
            continue
        for setting, value in _by_name(top[section]).items():
            if setting in reads:
                attribute, read = reads[setting]
                values[attribute] = read(value)
                invalid += _overflow(setting, value, values[attribute])
            elif setting.startswith(OURS):
                hint = _near(setting, reads) or f"; there are {', '.join(reads)}"
                raise ParamsError(f"{value.place}: no such setting{hint}")
    mempool = _by_name(top["mempool"])
    invalid += _invalid(mempool)
    known = {*READS["mempool"], *DEFAULTS, *UNCHECKED}
    ignored = tuple(f"mempool.{n}{_near(n, READS['mempool'])}" for n in mempool if n not in known)
    empty = next((n for n in ROOM if n in mempool and _is_zero(mempool[n])), "")
    return CometConfig(name=name, invalid=tuple(invalid), ignored=ignored, empty=empty, **values)  # type: ignore[arg-type]


def _by_name(section: FileValue) -> dict[str, FileValue]:
    return {name.lower(): value for name, value in section.fields().items()}


def _near(setting: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(setting, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _is_zero(value: FileValue) -> bool:
    try:
        return number(value) == 0
    except ParamsError:
        return False


def _overflow(setting: str, given: FileValue, value: object) -> Iterator[InvalidSetting]:
    """A number, or a duration in nanoseconds, that 64 bits do not hold."""
    if setting.endswith("_interval") and isinstance(value, Fraction):
        value = value * NS_PER_MS
        what = "a duration of at most 292 years"
    else:
        what = f"a whole number of at most {MAX_INT64}"
    if setting in DEFAULTS and isinstance(value, int | Fraction) and value > MAX_INT64:
        yield _refused(setting, given, what)


def _invalid(mempool: dict[str, FileValue]) -> Iterator[InvalidSetting]:
    """Settings that the kit does not use otherwise, where their type or range is wrong."""
    checks: list[tuple[str, Callable[[FileValue], object], str]] = [
        *((name, _count, f"a whole number from 0 to {MAX_INT64}") for name in COUNTS),
        *((name, _switch, "true or false") for name in SWITCHES),
        ("recheck_timeout", _duration, "a duration of 0 to 292 years, such as 1s"),
    ]
    for setting, read, expected in checks:
        if setting not in mempool:
            continue
        try:
            read(mempool[setting])
        except ParamsError:
            yield _refused(setting, mempool[setting], expected)


def _refused(setting: str, given: FileValue, expected: str) -> InvalidSetting:
    return InvalidSetting(setting, f"{setting} is {given.shown()}, and must be {expected}", DEFAULTS[setting])


def _count(given: FileValue) -> int:
    value = whole(given)
    if value > MAX_INT64:
        raise given.wrong(f"at most {MAX_INT64}")
    return value


def _duration(given: FileValue) -> Fraction:
    value = duration_ms(given)
    if value * NS_PER_MS > MAX_INT64:
        raise given.wrong("at most 292 years")
    return value


# -- what is asked of one node ------------------------------------------------------------------------------


def comet_lines(comet: CometConfig, round_trip_ms: Fraction) -> Iterator[Guarantee]:
    """Every line about one node's settings."""
    yield starts_line(comet)
    if comet.dog:
        yield interval_line(comet, round_trip_ms)
        yield target_line(comet)
        yield rest_line(comet)
        yield stable_line(comet)
    yield limit_line(comet)


def refusals(comet: CometConfig) -> Iterator[tuple[str, CometConfig]]:
    """Why a node does not start, each with the least change after which it does for that reason."""
    for each in comet.invalid:
        yield each.reason, evolve(comet, invalid=tuple(i for i in comet.invalid if i != each))
    if comet.kind not in KINDS:
        yield f"type is {comet.kind!r}, and must be flood or nop", evolve(comet, kind="flood")
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
    if comet.dog and comet.kind in KINDS and comet.kind != "flood":
        changed = evolve(comet, kind="flood")
        yield f"dog_protocol_enabled is true and type is {comet.kind!r}: DOG works with flood alone", changed


def starts_line(comet: CometConfig) -> Guarantee:
    """Whether a node takes these settings at all."""
    found = list(refusals(comet))
    changed = comet
    for _ in found:
        rest = list(refusals(changed))
        changed = rest[0][1] if rest else changed
    advice = Advice(change=_changes(comet, changed), restored=not list(refusals(changed)))
    return Guarantee(
        id="starts",
        verdict="fails" if found else "holds",
        found=tuple(why for why, _ in found),
        assumptions=(
            "the checks are those of CometBFT v2.0.0-rc1, DOG on or off",
            "the settings that DOG and the gossip limits use were checked, and the types and ranges of "
            f"{', '.join((*COUNTS, *SWITCHES))} and recheck_timeout; no others",
        ),
        advice=(advice,) if found else (),
    )


def _changes(old: CometConfig, new: CometConfig) -> str:
    names = {
        "target": "dog_target_redundancy",
        "interval_ms": "dog_adjust_interval",
        "max_persistent": "experimental_max_gossip_connections_to_persistent_peers",
        "max_others": "experimental_max_gossip_connections_to_non_persistent_peers",
        "kind": "type",
        "broadcast": "broadcast",
    }
    repaired = [f"{i.setting} = {i.default}" for i in old.invalid if i not in new.invalid]
    changed = [n for n in names if getattr(old, n) != getattr(new, n)]
    return "; ".join((*repaired, *(f"{names[n]} = {_shown(n, getattr(new, n))}" for n in changed)))


def _shown(name: str, value: object) -> str:
    if isinstance(value, Fraction):
        return decimal(value) + (" ms" if name.endswith("_ms") else "")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def interval_line(comet: CometConfig, round_trip_ms: Fraction) -> Guarantee:
    """An adjustment sees the effect of the one before."""
    short = comet.interval_ms < round_trip_ms
    changed = evolve(comet, interval_ms=max(round_trip_ms, Fraction(MIN_INTERVAL_MS)))
    advice = Advice(
        change=_changes(comet, changed),
        restored=changed.interval_ms >= round_trip_ms and changed.interval_ms >= MIN_INTERVAL_MS,
        price="routes settle later",
    )
    return Guarantee(
        id="interval",
        verdict="fails" if short else "holds",
        found=(
            f"the interval is {decimal(comet.interval_ms)} ms, a round trip {decimal(round_trip_ms)} ms"
            + (": the controller acts again before its last message was heeded" if short else ""),
        ),
        advice=(advice,) if short else (),
    )


def target_line(comet: CometConfig) -> Guarantee:
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
    return Guarantee(
        id="target",
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


def rest_line(comet: CometConfig) -> Guarantee:
    """The controller can come to rest."""
    firsts = firsts_at_rest(comet.target) if comet.target > 0 else None
    verdict: Verdict = "fails" if firsts is None else "holds" if firsts == 1 else "depends"
    found = (
        f"no number of duplicates is within the band in an interval of up to {MAX_FIRSTS} new transactions"
        if firsts is None
        else f"from {firsts} new transactions per interval on there are numbers of duplicates within the band"
    )
    return Guarantee(id="rest", verdict=verdict, found=(found,))


def stable_line(comet: CometConfig) -> Guarantee:
    """How long until routes are stable."""
    routes = comet.peers * (comet.peers - 1)
    seconds = routes * comet.interval_ms / 1000
    return Guarantee(
        id="stable",
        verdict="depends",
        found=(
            f"{comet.peers} peers at most, so up to {routes} routes; at one message per interval "
            f"{decimal(seconds / 60)} minutes, with fewer peers by the square less",
        ),
    )


def refused_altogether(comet: CometConfig) -> Iterator[tuple[str, str]]:
    """Why a node takes no transaction, each with the change of settings that ends it."""
    if comet.kind not in ("flood", ""):
        why = "has no transactions" if comet.kind == "nop" else "is unknown, and the node does not start"
        yield f"type is {comet.kind!r}: a mempool of that type {why}", 'type = "flood"'
    if comet.empty:
        room = DEFAULTS[comet.empty]
        yield f"{comet.empty} is 0: every transaction is refused", f"{comet.empty} = {room}"


def silences(comet: CometConfig) -> Iterator[tuple[str, str]]:
    """Why a node sends nobody a transaction of another, each with the change of settings that ends it."""
    yield from refused_altogether(comet)
    if not comet.broadcast:
        yield "broadcast is false: transactions are sent to nobody", "broadcast = true"


def limit_line(comet: CometConfig) -> Guarantee:
    """Whether what is sent reaches everybody."""
    limits = [
        f"{name} peers: {limit}"
        for name, limit in (("persistent", comet.max_persistent), ("other", comet.max_others))
        if limit
    ]
    silent = list(silences(comet))
    found = [why for why, _ in silent]
    if limits:
        found.append(
            f"sent to at most ({', '.join(limits)}), in the order of connection: the directed graph of who "
            "sends to whom need not be connected where that of peers is"
        )
    if comet.dog:
        found.append(f"DOG can cut a node off from a source for ever ({CUT_OFF})")
    verdict: Verdict = "fails" if silent else "depends" if found else "holds"
    # The change ends the silence; what else the verdict depends on stays.
    changes = "; ".join(change for _, change in silent)
    return Guarantee(
        id="connected",
        verdict=verdict,
        found=tuple(found) or ("every peer is sent to",),
        advice=(Advice(change=changes, restored=not limits and not comet.dog),) if silent else (),
    )
