"""Two configurations that meet: does one punish the other for what its own settings make it do?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from quidnunc.properties.params.citations import OF_COMET_SIZES, ROWS
from quidnunc.properties.params.comet import CometConfig, refused_altogether, silences
from quidnunc.properties.params.guarantees import Guarantee, Verdict
from quidnunc.properties.params.score import PeerCounters, global_score
from quidnunc.properties.params.values import MeshParameters, NetworkParameters, decimal

ROUND_TRIP_MS = Fraction(500)
"""What a message and its answer may take, where nothing is said."""


def pair_lines(
    left: NetworkParameters, right: NetworkParameters, round_trip_ms: Fraction
) -> Iterator[Guarantee]:
    """Every line, each in both directions."""
    for judge, other in ((left, right), (right, left)):
        yield backoff_line(judge, other)
        yield ihave_line(judge, other)
        yield idontwant_line(judge, other)
        yield promise_line(judge, other, round_trip_ms)
        yield size_line(judge, other)


def _names(judge: NetworkParameters, other: NetworkParameters) -> str:
    """The two of a line; equal names are told apart by their places."""
    return f"{judge.name} of {other.name}"


def _unsaid(identity: str, *missing: str) -> Guarantee:
    found = (f"not said: {', '.join(missing)}",)
    return Guarantee(id=identity, verdict="depends", found=found, assumptions=())


def _missing(
    judge: NetworkParameters, other: NetworkParameters, of_judge: tuple[str, ...], of_other: tuple[str, ...]
) -> list[str]:
    return [f"{name} of {judge.name}" for name in of_judge if getattr(judge.mesh, name) is None] + [
        f"{name} of {other.name}" for name in of_other if getattr(other.mesh, name) is None
    ]


def backoff_line(judge: NetworkParameters, other: NetworkParameters) -> Guarantee:
    """A GRAFT by one's own backoff inside the other's."""
    identity = f"backoff ({_names(judge, other)})"
    missing = _missing(judge, other, ("prune_backoff_ms",), ("prune_backoff_ms",))
    if missing:
        return _unsaid(identity, *missing)
    mine, theirs = _backoffs(judge.mesh), _backoffs(other.mesh)
    lines = []
    for kind, own in theirs.items():
        wanted = mine[kind]
        if own >= wanted:
            continue
        early = math.ceil(wanted / own) - 1
        score = global_score(judge, PeerCounters(behaviour=Fraction(early)))
        lines.append(
            f"{kind}: {decimal(own / 1000)} s against {decimal(wanted / 1000)} s: up to {early} GRAFTs too "
            f"early, {decimal(score)} of score"
        )
    return Guarantee(id=identity, verdict="fails" if lines else "holds", found=tuple(lines))


def _backoffs(mesh: MeshParameters) -> dict[str, Fraction]:
    assert mesh.prune_backoff_ms is not None
    leaving = mesh.unsubscribe_backoff_ms
    return {
        "after a prune": mesh.prune_backoff_ms,
        "after leaving": mesh.prune_backoff_ms if leaving is None else leaving,
    }


def ihave_line(judge: NetworkParameters, other: NetworkParameters) -> Guarantee:
    """Gossip beyond the other's caps."""
    identity = f"IHAVE ({_names(judge, other)})"
    needs = ("max_ihave_messages", "max_ihave_length", "heartbeat_interval_ms")
    missing = _missing(judge, other, needs, ("max_ihave_length", "heartbeat_interval_ms"))
    if missing:
        return _unsaid(identity, *missing)
    m, o = judge.mesh, other.mesh
    assert m.heartbeat_interval_ms and o.heartbeat_interval_ms
    beats = math.ceil(m.heartbeat_interval_ms / o.heartbeat_interval_ms)
    topics = sum(topic.count for topic in other.topics)
    lines = []
    if (m.max_ihave_messages or 0) < beats * topics:
        lines.append(
            f"{beats * topics} IHAVEs may come within one heartbeat (one for each of {topics} topics), "
            f"{m.max_ihave_messages} are heeded"
        )
    if (m.max_ihave_length or 0) < (o.max_ihave_length or 0):
        lines.append(f"an IHAVE has up to {o.max_ihave_length} ids, {m.max_ihave_length} are heeded")
    return Guarantee(
        id=identity,
        verdict="fails" if lines else "holds",
        found=(*lines, "what is not heeded costs no score, and its messages may not come") if lines else (),
    )


def idontwant_line(judge: NetworkParameters, other: NetworkParameters) -> Guarantee:
    """Refusals beyond the other's caps."""
    identity = f"IDONTWANT ({_names(judge, other)})"
    named = ("max_idontwant_messages", "max_idontwant_length")
    missing = _missing(judge, other, named, named)
    if missing:
        return _unsaid(identity, *missing)
    lines = []
    for name, unit in zip(named, ("IDONTWANTs between heartbeats", "ids in one"), strict=True):
        most, sent = getattr(judge.mesh, name), getattr(other.mesh, name)
        if sent > most:
            lines.append(f"up to {sent} {unit}, {most} are kept: what is beyond is sent all the same")
    return Guarantee(id=identity, verdict="fails" if lines else "holds", found=tuple(lines))


def promise_line(judge: NetworkParameters, other: NetworkParameters, round_trip_ms: Fraction) -> Guarantee:
    """An IWANT that comes when the message is gone."""
    identity = f"promises ({_names(judge, other)})"
    needs = ("mcache_len", "mcache_gossip", "heartbeat_interval_ms")
    missing = _missing(judge, other, ("iwant_followup_ms",), needs)
    if missing:
        return _unsaid(identity, *missing)
    o = other.mesh
    assert o.mcache_len is not None and o.mcache_gossip is not None and o.heartbeat_interval_ms
    assert judge.mesh.iwant_followup_ms is not None
    kept_ms = (o.mcache_len - o.mcache_gossip) * o.heartbeat_interval_ms
    score = global_score(judge, PeerCounters(behaviour=Fraction(1)))
    lines = []
    if kept_ms < round_trip_ms:
        lines.append(
            f"offered until it is {decimal(kept_ms)} ms from being forgotten, and asked for up to "
            f"{decimal(round_trip_ms)} ms later: a broken promise, {decimal(score)} of score"
        )
    if judge.mesh.iwant_followup_ms < round_trip_ms:
        lines.append(
            f"the answer may take {decimal(round_trip_ms)} ms, and "
            f"{decimal(judge.mesh.iwant_followup_ms)} ms are given: a broken promise, "
            f"{decimal(score)} of score"
        )
    return Guarantee(
        id=identity,
        verdict="fails" if lines else "holds",
        found=tuple(lines),
        assumptions=(f"a round trip of {decimal(round_trip_ms)} ms at most (--round-trip)",),
    )


def size_line(judge: NetworkParameters, other: NetworkParameters) -> Guarantee:
    """Messages that the other refuses to read."""
    identity = f"sizes ({_names(judge, other)})"
    missing = _missing(judge, other, ("max_message_bytes",), ("max_message_bytes",))
    if missing:
        return _unsaid(identity, *missing)
    most, sent = judge.mesh.max_message_bytes or 0, other.mesh.max_message_bytes or 0
    return Guarantee(
        id=identity,
        verdict="fails" if sent > most else "holds",
        found=(f"up to {sent} bytes are sent, {most} are read",) if sent > most else (),
    )


# -- CometBFT -----------------------------------------------------------------------------------------------


def _mixed_line(left: CometConfig, right: CometConfig) -> Guarantee:
    """Of two nodes of which one at least has DOG switched on."""
    mixed = left.dog != right.dog
    on, off = (left, right) if left.dog else (right, left)
    return Guarantee(
        id="mixed",
        verdict="fails" if mixed else "holds",
        found=(
            f"{off.name} drops HaveTx and ResetRoute: what {on.name} spends on it is spent for nothing, and "
            "a HaveTx is allowed once per interval",
        )
        if mixed
        else (),
    )


def comet_pair_lines(left: CometConfig, right: CometConfig) -> Iterator[Guarantee]:
    """Two nodes of CometBFT beside each other."""
    if left.dog or right.dog:
        yield _mixed_line(left, right)
    if left.dog and right.dog:
        slower: Verdict = "depends" if left.interval_ms != right.interval_ms else "holds"
        yield Guarantee(
            id="pace",
            verdict=slower,
            found=(f"intervals of {decimal(left.interval_ms)} ms and {decimal(right.interval_ms)} ms",)
            if slower == "depends"
            else (),
        )
    yield _taken_line(left, right)
    yield _taken_line(right, left)


def _taken_line(judge: CometConfig, other: CometConfig) -> Guarantee:
    """Transactions of `other` that `judge` refuses."""
    refused = [f"{judge.name} takes none: {why}" for why, _ in refused_altogether(judge)]
    if other.max_tx_bytes > judge.max_tx_bytes:
        refused.append(f"up to {other.max_tx_bytes} bytes are offered, {judge.max_tx_bytes} are taken")
    silent = [f"{other.name} offers none: {why}" for why, _ in silences(other)]
    verdict: Verdict = "fails" if refused else "depends" if silent else "holds"
    row = ROWS[OF_COMET_SIZES]
    return Guarantee(
        id=f"sizes ({judge.name} of {other.name})",
        text=row.text,
        verdict=verdict,
        found=(*refused, *silent),
        assumptions=row.assumptions,
        clauses=row.clauses,
    )
