"""The cheapest attack on parameters of a score: topics starved for ever, at a score above zero.

The attacker first behaves, until its time in the mesh and its first deliveries count for all that they can.
Then it sends nothing more in some topics, and in the others just what keeps the sum above zero. Counters are
looked at right after a decay, where they are least.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Literal, TypeAlias

from attrs import evolve, frozen

from quidnunc.properties.lazy import z3
from quidnunc.properties.params.score import PeerCounters, TopicCounters, rational, topic_score, total_score
from quidnunc.properties.params.values import ZERO, NetworkParameters, TopicParameters
from quidnunc.properties.solver.questions import SolverSession

Means: TypeAlias = Literal["copies", "first"]
"""`copies`: it passes on what it was sent, in time to count for the mesh, and is never first. `first`: it is
the first to deliver as often as counts, in the topics that it does not starve."""

GRID = 2**40
"""A simulated counter is rounded down to a multiple of 1/GRID at each decay, to the attacker's loss."""
MAX_INTERVALS = 200_000


@frozen(kw_only=True)
class TopicAttack:
    """What the attacker does in topics of one kind."""

    topic: TopicParameters
    starved: int
    kept: int
    """Topics in which it goes on to deliver."""
    messages: Fraction
    """Per decay interval, in each topic that is kept."""
    first: Fraction
    """Of those, how many it must be the first to deliver."""


@frozen(kw_only=True)
class Attack:
    """The most topics that can be starved, and at what price."""

    means: Means
    starved: int
    topics: int
    """In all."""
    score: Fraction
    """The total for ever after, at its least."""
    parts: tuple[TopicAttack, ...]
    confirmed: bool
    """z3 finds so many and no more."""
    messages: Fraction
    """Per decay interval, in all topics together."""


def least_counter(rate: Fraction, decay: Fraction, cap: Fraction, to_zero: Fraction) -> Fraction:
    """What a counter that grows by `rate` between two decays comes to for ever, right after a decay."""
    if not rate:
        return ZERO
    peak = cap if decay == 1 else min(cap, rate / (1 - decay))
    least = peak * decay
    return ZERO if least < to_zero else least


def needed_rate(topic: TopicParameters) -> Fraction | None:
    """Mesh deliveries per interval that leave no deficit right after a decay; None where none do."""
    threshold, decay = topic.mesh_message_deliveries_threshold, topic.mesh_message_deliveries_decay
    if not threshold or not topic.mesh_message_deliveries_weight:
        return ZERO
    if not decay or topic.mesh_message_deliveries_cap * decay < threshold:
        return None
    # A counter that never decays needs to be filled once; one message at some time will do.
    return ZERO if decay == 1 else threshold * (1 - decay) / decay


def kept_score(network: NetworkParameters, topic: TopicParameters, means: Means) -> Fraction:
    """What a topic adds in which the attacker goes on to deliver, at its least."""
    first = ZERO
    if means == "first":
        rate = best_rate(topic)
        first = least_counter(
            rate,
            topic.first_message_deliveries_decay,
            topic.first_message_deliveries_cap,
            network.decay_to_zero,
        )
    meshed = (
        topic.mesh_message_deliveries_threshold
        if needed_rate(topic) is not None
        else topic.mesh_message_deliveries_cap * topic.mesh_message_deliveries_decay
    )
    return topic_score(topic, TopicCounters(time_ms=_long(topic), first=first, meshed=meshed))


def starved_score(topic: TopicParameters) -> Fraction:
    """What a topic adds in which nothing is delivered any more."""
    return topic_score(topic, TopicCounters(time_ms=_long(topic)))


def best_rate(topic: TopicParameters) -> Fraction:
    """First deliveries per interval that keep the counter at its highest; one, where it never decays."""
    decay = topic.first_message_deliveries_decay
    return Fraction(1) if decay == 1 else topic.first_message_deliveries_cap * (1 - decay)


def _long(topic: TopicParameters) -> Fraction:
    """A time in the mesh after which nothing changes any more."""
    full = topic.time_in_mesh_cap * topic.time_in_mesh_quantum_ms
    return max(full, topic.mesh_message_deliveries_activation_ms + 1)


def starving_attack(network: NetworkParameters, questions: SolverSession, means: Means) -> Attack:
    """The attack that starves the most topics. To starve one more costs what it no longer adds, so that the
    cheapest are taken first; z3 is asked whether that many can be, and one more."""
    kinds = [(t, kept_score(network, t, means), starved_score(t)) for t in network.topics]
    total = sum((topic.count * kept for topic, kept, _ in kinds), ZERO)
    starved = {topic.name: 0 for topic in network.topics}
    for topic, kept, lost in sorted(kinds, key=lambda each: each[1] - each[2]):
        for _ in range(topic.count):
            if total - (kept - lost) <= 0:
                break
            total -= kept - lost
            starved[topic.name] += 1
    count = sum(starved.values())
    # That none is starved takes no score above zero.
    so_many = not count or _possible(network, questions, means, count)
    confirmed = so_many and not _possible(network, questions, means, count + 1)
    parts = tuple(_priced(network, starved, means))
    attack = Attack(
        means=means,
        starved=count,
        topics=sum(topic.count for topic in network.topics),
        score=total,
        parts=parts,
        confirmed=confirmed,
        messages=sum((part.kept * part.messages for part in parts), ZERO),
    )
    return evolve(attack, score=_score_of(network, attack))


def _possible(network: NetworkParameters, questions: SolverSession, means: Means, count: int) -> bool:
    """Whether `count` topics can be starved with a sum above zero."""
    taken = [z3.Int(f"starved_{n}") for n in range(len(network.topics))]
    limits = [z3.And(k >= 0, k <= topic.count) for k, topic in zip(taken, network.topics, strict=True)]
    terms = []
    for k, topic in zip(taken, network.topics, strict=True):
        kept, lost = kept_score(network, topic, means), starved_score(topic)
        terms.append(rational(kept) * (topic.count - z3.ToReal(k)) + rational(lost) * z3.ToReal(k))
    answer, _ = questions.solve(
        f"{network.name}: {count} topics starved, by {means}",
        *limits,
        z3.Sum(taken) >= count,
        z3.Sum(terms) > 0,
    )
    return answer == "sat"


def _priced(network: NetworkParameters, starved: Mapping[str, int], means: Means) -> Iterator[TopicAttack]:
    """The first deliveries that are still needed, where they count most."""
    missing = ZERO
    for topic in network.topics:
        alive = topic.count - starved[topic.name]
        missing -= alive * kept_score(network, topic, "copies") + starved[topic.name] * starved_score(topic)
    value = {
        topic.name: topic.topic_weight * topic.first_message_deliveries_weight * per_message(topic)
        for topic in network.topics
    }
    rates: dict[str, Fraction] = {topic.name: ZERO for topic in network.topics}
    for topic in sorted(network.topics, key=lambda each: -value[each.name]):
        alive = topic.count - starved[topic.name]
        if means == "copies" or missing < 0 or not alive or not value[topic.name]:
            continue
        # What is exactly enough gives a sum of zero; a thousandth more gives one above it.
        wanted = (missing / (alive * value[topic.name])) * Fraction(1001, 1000)
        rates[topic.name] = min(best_rate(topic), max(wanted, Fraction(1, 1000)))
        missing -= alive * rates[topic.name] * value[topic.name]
    for topic in network.topics:
        alive, first = topic.count - starved[topic.name], rates[topic.name]
        needed = needed_rate(topic)
        copies = needed if needed is not None else topic.mesh_message_deliveries_cap
        # There are no parts of messages.
        whole = Fraction(math.ceil(max(copies, first))) if alive else ZERO
        firsts = Fraction(math.ceil(first))
        yield TopicAttack(topic=topic, starved=starved[topic.name], kept=alive, messages=whole, first=firsts)


def per_message(topic: TopicParameters) -> Fraction:
    """What one first delivery per interval comes to in the counter, for ever, right after a decay."""
    decay = topic.first_message_deliveries_decay
    return topic.first_message_deliveries_cap if decay == 1 else decay / (1 - decay)


def _score_of(network: NetworkParameters, attack: Attack) -> Fraction:
    topics = ZERO
    for part in attack.parts:
        first = least_counter(
            part.first,
            part.topic.first_message_deliveries_decay,
            part.topic.first_message_deliveries_cap,
            network.decay_to_zero,
        )
        kept = kept_score(network, part.topic, "copies")
        kept += part.topic.topic_weight * part.topic.first_message_deliveries_weight * first
        topics += part.kept * kept + part.starved * starved_score(part.topic)
    return total_score(network, topics, PeerCounters())


# -- simulated ----------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class AttackSimulation:
    """An attack played interval by interval."""

    intervals: int
    """Until nothing changed any more."""
    settled: bool
    """It came to that: what holds then holds for ever."""
    least: Fraction
    """The least total from the first starved message on."""


def simulate_attack(
    network: NetworkParameters, attack: Attack, limit: int = MAX_INTERVALS
) -> AttackSimulation:
    """Play an attack with counters that are rounded down, so that the true score is never less."""
    behaved = {part.topic.name: TopicCounters() for part in attack.parts}
    for _ in range(limit):
        then = {p.topic.name: _next(network, p, behaved[p.topic.name], quiet=False) for p in attack.parts}
        if then == behaved:
            break
        behaved = then
    else:
        return AttackSimulation(intervals=limit, settled=False, least=ZERO)
    starved = dict(behaved)
    least = _total(network, attack, behaved, starved)
    for number in range(1, limit):
        then = {p.topic.name: _next(network, p, starved[p.topic.name], quiet=True) for p in attack.parts}
        least = min(least, _total(network, attack, behaved, then))
        if then == starved:
            return AttackSimulation(intervals=number, settled=True, least=least)
        starved = then
    return AttackSimulation(intervals=limit, settled=False, least=least)


def _next(
    network: NetworkParameters, part: TopicAttack, counters: TopicCounters, *, quiet: bool
) -> TopicCounters:
    """The counters one interval later, right after its decay."""
    topic, to_zero = part.topic, network.decay_to_zero

    def decayed(value: Fraction, decay: Fraction) -> Fraction:
        left = Fraction(int(value * decay * GRID), GRID)
        return ZERO if left < to_zero else left

    messages, first = (ZERO, ZERO) if quiet else (part.messages, part.first)
    if not quiet and not part.kept:
        # It behaved here too, before it starved the topic.
        messages = Fraction(math.ceil(needed_rate(topic) or ZERO))
    meshed = min(counters.meshed + messages, topic.mesh_message_deliveries_cap)
    if topic.mesh_message_deliveries_decay == 1 and not quiet:
        meshed = topic.mesh_message_deliveries_cap
    firsts = min(counters.first + first, topic.first_message_deliveries_cap)
    return TopicCounters(
        time_ms=min(counters.time_ms + network.decay_interval_ms, _long(topic)),
        first=decayed(firsts, topic.first_message_deliveries_decay),
        meshed=decayed(meshed, topic.mesh_message_deliveries_decay),
    )


def _total(
    network: NetworkParameters,
    attack: Attack,
    behaved: Mapping[str, TopicCounters],
    starved: Mapping[str, TopicCounters],
) -> Fraction:
    topics = sum(
        (
            p.kept * topic_score(p.topic, behaved[p.topic.name])
            + p.starved * topic_score(p.topic, starved[p.topic.name])
            for p in attack.parts
        ),
        ZERO,
    )
    return total_score(network, topics, PeerCounters())
