"""The verdicts that the authors of the formal model of GossipSub's scores published, beside our own.

`published.toml` has theirs. Ours are decided anew each time: nothing here is a record of what this kit said.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from quidnunc.properties.params.claims import PropertyCell, cells
from quidnunc.properties.params.file import read_file, shipped_files
from quidnunc.properties.params.read import network_of
from quidnunc.properties.params.score import Form, PeerCounters, TopicCounters, topic_score, total_score
from quidnunc.properties.params.values import ZERO, NetworkParameters, TopicParameters, decimal
from quidnunc.properties.solver.questions import SolverSession

_RECORD: Mapping[str, Any] = tomllib.loads(
    Path(__file__).with_name("published.toml").read_text(encoding="utf-8")
)


def network_named(name: str) -> NetworkParameters:
    """One of the shipped files of parameters. Raises KeyError."""
    return network_of(read_file(shipped_files()[name]))


def topic_named(network: NetworkParameters, name: str) -> TopicParameters:
    """A topic by its name, or by that of one of several alike: `SUB2` is one of `SUB`. Raises KeyError."""
    names = {topic.name for topic in network.topics}
    return network.topic(name if name in names else re.sub(r"\d+$", "", name))


# -- verdicts -----------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class ComparedVerdict:
    """One published verdict and ours."""

    number: int
    """Of the property."""
    application: str
    network: str
    published: str
    source: str
    agrees: bool
    """Whether the record says that the two are the same."""
    why: str
    """Why they differ, or what the agreement rests on."""
    cells: tuple[PropertyCell, ...]
    """Ours, decided now."""

    @property
    def ours(self) -> str:
        """Our verdict on all cells together; cells that speak of nothing do not count."""
        found = {cell.verdict for cell in self.cells}
        if not found or "undetermined" in found:
            return "undetermined"
        return next(verdict for verdict in ("refuted", "proved", "vacuous") if verdict in found)

    @property
    def same(self) -> bool:
        """Whether ours is the published one. A search that found nothing agrees with a proof."""
        return self.ours == ("proved" if self.published == "no counterexample" else self.published)

    @property
    def witness(self) -> str:
        """Our shortest reason: the first counterexample, or that there is none."""
        refuted = [cell for cell in self.cells if cell.verdict == "refuted"]
        return _witness(min(refuted, key=lambda cell: not cell.whole)) if refuted else "none"


def compared_verdicts(questions: SolverSession, form: Form = "published") -> Iterator[ComparedVerdict]:
    """Every published verdict with ours, the score computed as in the published model."""
    decided: dict[str, tuple[PropertyCell, ...]] = {}
    for row in _RECORD["verdict"]:
        name = row["network"]
        if name not in decided:
            decided[name] = tuple(cells(network_named(name), questions, form))
        wanted = row["decides"].items()
        found = tuple(c for c in decided[name] if all(_is(c, field, value) for field, value in wanted))
        said = {key: row[key] for key in ("application", "published", "source", "agrees", "why")}
        yield ComparedVerdict(number=row["property"], network=name, cells=found, **said)


def _is(cell: PropertyCell, field: str, value: object) -> bool:
    # P6 and P7 are of no topic, and know no activation.
    return bool(getattr(cell, field) == value) or (field == "settled" and cell.term in ("P6", "P7"))


def _witness(cell: PropertyCell) -> str:
    units = {
        "time_ms": "time in the mesh in ms",
        "first": "first deliveries",
        "meshed": "mesh deliveries",
        "failures": "mesh failures",
        "invalid": "invalid messages",
    }
    places = []
    for counters in (cell.before, cell.after):
        if counters is None:
            continue
        held = [f"{unit} {decimal(n)}" for name, unit in units.items() if (n := getattr(counters, name))]
        places.append(", ".join(held) or "all zero")
    where = " ".join(part for part in (cell.term, cell.topic) if part)
    totals = ", then ".join(map(decimal, cell.totals))
    if cell.property == "no-shadowing":
        totals = f"{decimal(cell.totals[0])} under {decimal(cell.totals[1])}"
    return f"{where}: {'; then '.join(places)}: {totals}"


# -- counterexamples ----------------------------------------------------------------------------------------


@frozen(kw_only=True)
class RecomputedNumber:
    """A score that was recorded, and what it is by our function."""

    witness: str
    of: str
    recorded: str
    """A ratio, or a decimal that was rounded."""
    ours: Fraction
    fitted: bool = False
    """The counters were not recorded: they were chosen so that they come to the recorded scores."""

    @property
    def same(self) -> bool:
        """Whether ours comes to the recorded one, in as many digits as were recorded."""
        if "/" in self.recorded:
            return self.ours == Fraction(self.recorded)
        digits = -int(Decimal(self.recorded).as_tuple().exponent)
        return abs(self.ours - Fraction(self.recorded)) <= Fraction(1, 2 * 10**digits)


def recomputed_numbers(form: Form = "published") -> Iterator[RecomputedNumber]:
    """Every score recorded beside a counterexample."""
    for row in _RECORD["witness"]:
        network, fitted = network_named(row["network"]), row.get("fitted", False)
        held = {name: _counters(values) for name, values in row["counters"].items()}
        scores = {name: topic_score(topic_named(network, name), at, form) for name, at in held.items()}
        for name, recorded in row["scores"].items():
            found = RecomputedNumber(witness=row["name"], of=name, recorded=recorded, ours=scores[name])
            yield evolve(found, fitted=fitted)
        yield evolve(_total(network, row["name"], "the total", row["total"], scores), fitted=fitted)
        if (worse := row.get("worse")) is not None:
            name = worse["topic"]
            at = _counters(row["counters"][name], failures=worse["failures"])
            scores[name] = topic_score(topic_named(network, name), at, form)
            label = f"{name}, one mesh failure more"
            yield RecomputedNumber(witness=row["name"], of=label, recorded=worse["score"], ours=scores[name])
            yield _total(network, row["name"], "the total then", worse["total"], scores)


def _counters(values: Sequence[int], failures: int = 0) -> TopicCounters:
    seconds, first, meshed = map(Fraction, values)
    return TopicCounters(time_ms=seconds * 1000, first=first, meshed=meshed, failures=Fraction(failures))


def _total(
    network: NetworkParameters, witness: str, of: str, recorded: str, scores: Mapping[str, Fraction]
) -> RecomputedNumber:
    ours = total_score(network, sum(scores.values(), ZERO), PeerCounters())
    return RecomputedNumber(witness=witness, of=of, recorded=recorded, ours=ours)


# -- lemmas -------------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class RecomputedLemma:
    """That one offence costs more than all topics can add."""

    network: str
    topic: str
    term: str
    as_written: Fraction
    """What is left of the greatest score after one offence, its topic's weight left out."""
    weighted: Fraction
    """The same with the weight, as scores are computed."""


def recomputed_lemmas() -> Iterator[RecomputedLemma]:
    """Every lemma about one offence. It holds where what is left is below zero."""
    for row in _RECORD["lemma"]:
        network = network_named(row["network"])
        topic = network.topic(row["topic"])
        weights = {
            "P3": topic.mesh_message_deliveries_weight,
            "P4": topic.invalid_message_deliveries_weight,
        }
        cost = weights[row["term"]]
        yield RecomputedLemma(
            network=row["network"],
            topic=topic.name,
            term=row["term"],
            as_written=network.greatest + cost,
            weighted=network.greatest + topic.topic_weight * cost,
        )


# -- the attack ---------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class AttackRound:
    """The scores at one heartbeat of the published attack, before its decay."""

    starved: Fraction
    """Of one starved topic."""
    total: Fraction

    @property
    def hidden(self) -> bool:
        return self.starved < 0 < self.total


def published_attack(form: Form = "published") -> Iterator[AttackRound]:
    """The attack as it was run: each delivery counts as a first one, and no duplicate is told apart."""
    row = _RECORD["attack"]
    network = network_named(row["network"])
    decays = int(network.intervals(Fraction(row["round_s"] * 1000)))
    kept = {topic.name: TopicCounters() for topic in network.topics}
    silent = {topic.name: TopicCounters() for topic in network.topics}
    for _ in range(row["rounds"]):
        kept = {name: _delivered(at, row["messages"]) for name, at in kept.items()}
        topics, lowest = ZERO, ZERO
        for topic in network.topics:
            starved = row["starved"].get(topic.name, 0)
            lost = topic_score(topic, silent[topic.name], form)
            topics += starved * lost + (topic.count - starved) * topic_score(topic, kept[topic.name], form)
            lowest = min(lowest, lost) if starved else lowest
        yield AttackRound(starved=lowest, total=total_score(network, topics, PeerCounters(), form))
        for held in (kept, silent):
            for topic in network.topics:
                held[topic.name] = _later(network, topic, held[topic.name], row["round_s"], decays)


def _delivered(at: TopicCounters, messages: int) -> TopicCounters:
    return TopicCounters(time_ms=at.time_ms, first=at.first + messages, meshed=at.meshed + messages)


def _later(
    network: NetworkParameters, topic: TopicParameters, at: TopicCounters, seconds: int, decays: int
) -> TopicCounters:
    def decayed(value: Fraction, factor: Fraction) -> Fraction:
        left = value * factor**decays
        return ZERO if left < network.decay_to_zero else left

    return TopicCounters(
        time_ms=at.time_ms + seconds * 1000,
        first=decayed(at.first, topic.first_message_deliveries_decay),
        meshed=decayed(at.meshed, topic.mesh_message_deliveries_decay),
    )


# -- as a page ----------------------------------------------------------------------------------------------


def table_rows(questions: SolverSession) -> Iterator[str]:
    """The rows of the three tables of docs/results/acl2s.md, in Markdown."""
    for row in compared_verdicts(questions):
        said = (row.published, row.ours if row.same else f"**{row.ours}**", row.witness, row.why or "-")
        yield f"| {row.number} | {row.application} | {' | '.join(said)} |"
    for number in recomputed_numbers():
        ours = str(number.ours) if "/" in number.recorded else decimal(number.ours)
        how = "used to fit" if number.fitted else "predicted"
        yield f"| {number.witness} | {number.of} | {number.recorded} | {ours} | {how} |"
    for lemma in recomputed_lemmas():
        offence = f"one unit of {lemma.term} in {lemma.topic}"
        left = f"{decimal(lemma.as_written)} | {decimal(lemma.weighted)}"
        yield f"| {lemma.network} | {offence} | {left} |"
