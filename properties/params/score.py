"""The score of a peer under exact parameters: once in fractions, once as a z3 expression.

The two are written apart, so that each witness of the solver is computed again by the other. Two forms are
known. `v1.1` is the specification: P3b is a counter that a prune raises, P6 the square of the peers beyond
the threshold. `published` is that of the prior formal model: P3b is that counter and the present deficit
besides, P6 its counter times the weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Literal, TypeAlias

from attrs import fields, frozen

from quidnunc.properties.lazy import z3
from quidnunc.properties.params.values import ZERO, NetworkParameters, TopicParameters
from quidnunc.properties.solver.rules import Expression

Form: TypeAlias = Literal["v1.1", "published"]
FORMS: tuple[Form, ...] = ("v1.1", "published")


@frozen(kw_only=True)
class TopicCounters:
    """What is noted of a mesh member in one topic."""

    time_ms: Fraction = ZERO
    first: Fraction = ZERO
    meshed: Fraction = ZERO
    failures: Fraction = ZERO
    invalid: Fraction = ZERO


@frozen(kw_only=True)
class PeerCounters:
    """What is noted of a peer besides its topics."""

    application: Fraction = ZERO
    colocated: Fraction = ZERO
    """Peers on its address beyond the threshold."""
    behaviour: Fraction = ZERO


NAMES = tuple(each.name for each in fields(TopicCounters))

# -- in fractions -------------------------------------------------------------------------------------------


def topic_score(topic: TopicParameters, counters: TopicCounters, form: Form = "v1.1") -> Fraction:
    """The weighted score of one topic."""
    quanta = ZERO
    if topic.time_in_mesh_weight:
        quanta = min(counters.time_ms / topic.time_in_mesh_quantum_ms, topic.time_in_mesh_cap)
    first = min(counters.first, topic.first_message_deliveries_cap)
    short = ZERO
    active = counters.time_ms > topic.mesh_message_deliveries_activation_ms
    if active and counters.meshed < topic.mesh_message_deliveries_threshold:
        meshed = min(counters.meshed, topic.mesh_message_deliveries_cap)
        short = (topic.mesh_message_deliveries_threshold - meshed) ** 2
    failures = counters.failures + (short if form == "published" else 0)
    return topic.topic_weight * (
        topic.time_in_mesh_weight * quanta
        + topic.first_message_deliveries_weight * first
        + topic.mesh_message_deliveries_weight * short
        + topic.mesh_failure_penalty_weight * failures
        + topic.invalid_message_deliveries_weight * counters.invalid**2
    )


def global_score(network: NetworkParameters, held: PeerCounters, form: Form = "v1.1") -> Fraction:
    """P5 to P7."""
    exponent = 1 if form == "published" else 2
    beyond = held.behaviour
    if form == "v1.1":
        beyond = max(ZERO, held.behaviour - network.behaviour_penalty_threshold)
    return (
        network.app_specific_weight * held.application
        + network.ip_colocation_factor_weight * held.colocated**exponent
        + network.behaviour_penalty_weight * beyond**2
    )


def total_score(
    network: NetworkParameters, topics: Fraction, held: PeerCounters, form: Form = "v1.1"
) -> Fraction:
    """The score, of the sum of the topics' and what is held besides."""
    capped = min(topics, network.topic_score_cap) if network.topic_score_cap else topics
    return capped + global_score(network, held, form)


# -- in z3 --------------------------------------------------------------------------------------------------


def symbols(
    prefix: str, *, whole: bool, always_whole: frozenset[str] = frozenset()
) -> Mapping[str, Expression]:
    """A symbol for each counter; `whole` ones are integers, but for the time. Those of `always_whole` are so
    in any case."""
    return {
        name: (z3.Int if name in always_whole or whole and name != "time_ms" else z3.Real)(f"{prefix}{name}")
        for name in NAMES
    }


def never_fractions(topic: TopicParameters) -> frozenset[str]:
    """The counters that are whole at all times: a decay of 1 leaves them as they are, 0 leaves none."""
    decays = {
        "first": topic.first_message_deliveries_decay,
        "meshed": topic.mesh_message_deliveries_decay,
        "invalid": topic.invalid_message_deliveries_decay,
    }
    return frozenset(name for name, decay in decays.items() if decay in (0, 1))


def rational(value: Fraction) -> Expression:
    """A constant of z3."""
    return z3.Q(value.numerator, value.denominator)


def possible(topic: TopicParameters, of: Mapping[str, Expression]) -> Expression:
    """That the counters are such as there may be: not negative, and no more than their caps."""
    return z3.And(
        *(of[name] >= 0 for name in NAMES),
        of["first"] <= rational(topic.first_message_deliveries_cap),
        of["meshed"] <= rational(topic.mesh_message_deliveries_cap),
    )


def deficit_of(topic: TopicParameters, of: Mapping[str, Expression]) -> Expression:
    """What a mesh member lacks, not squared; zero up to the activation."""
    meshed = z3.ToReal(of["meshed"]) if z3.is_int(of["meshed"]) else of["meshed"]
    threshold = rational(topic.mesh_message_deliveries_threshold)
    counts = z3.And(of["time_ms"] > rational(topic.mesh_message_deliveries_activation_ms), meshed < threshold)
    return z3.If(counts, threshold - meshed, z3.RealVal(0))


def topic_expression(topic: TopicParameters, of: Mapping[str, Expression], form: Form) -> Expression:
    """The weighted score of one topic over `symbols`."""
    real = {name: z3.ToReal(value) if z3.is_int(value) else value for name, value in of.items()}
    score = rational(ZERO)
    if topic.time_in_mesh_weight:
        end_ms = rational(topic.time_in_mesh_cap * topic.time_in_mesh_quantum_ms)
        rate = rational(topic.time_in_mesh_weight / topic.time_in_mesh_quantum_ms)
        score += rate * z3.If(real["time_ms"] < end_ms, real["time_ms"], end_ms)
    score += rational(topic.first_message_deliveries_weight) * real["first"]
    short = deficit_of(topic, of)
    weight = topic.mesh_message_deliveries_weight
    if form == "published":
        weight += topic.mesh_failure_penalty_weight
    score += rational(weight) * short * short
    score += rational(topic.mesh_failure_penalty_weight) * real["failures"]
    score += rational(topic.invalid_message_deliveries_weight) * real["invalid"] * real["invalid"]
    return rational(topic.topic_weight) * score


def counters_in(values: Mapping[str, Fraction], prefix: str = "") -> TopicCounters:
    """The counters of an assignment; what it leaves out does not matter, and is zero."""
    return TopicCounters(**{name: values.get(f"{prefix}{name}", ZERO) for name in NAMES})
