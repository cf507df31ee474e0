"""How long what is held against a peer lasts, and which peers that mean well it is held against."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

from attrs import frozen

from quidnunc.properties.params.attack import needed_rate
from quidnunc.properties.params.score import PeerCounters, TopicCounters, global_score, topic_score
from quidnunc.properties.params.values import ZERO, NetworkParameters, TopicParameters

MAX_DECAYS = 20_000
"""Beyond so many decays a penalty is said to last for more than that."""

Value = Callable[[Fraction], Fraction]
"""Counter -> what it takes from the score."""


@frozen(kw_only=True)
class Penalty:
    """What one offence costs, and for how long if the peer does nothing else."""

    offence: str
    topic: str
    score: Fraction
    """At once, of a peer with nothing else to its name."""
    zero: int | None
    """Decays until the score is not below zero any more, `MAX_DECAYS` for more than that; None for never."""
    graylist: int | None
    """Decays until it is not below the graylist threshold any more; 0 where it never is; None for never."""


def decays_until(
    network: NetworkParameters, counter: Fraction, decay: Fraction, value: Value, threshold: Fraction
) -> int | None:
    """How many decays until `value` of the counter is `threshold` or more; None for never."""
    if value(counter) >= threshold:
        return 0
    if decay == 1:
        return None

    def over(times: int) -> bool:
        left = counter * decay**times
        return left < network.decay_to_zero or value(left) >= threshold

    return _first(over)


def _first(over: Callable[[int], bool]) -> int:
    """The least number from 1 on that is over; every one after it is too."""
    low, high = 0, 1
    while not over(high):
        if high == MAX_DECAYS:
            return MAX_DECAYS
        low, high = high, min(2 * high, MAX_DECAYS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if over(middle) else (middle, high)
    return high


def _penalty(
    network: NetworkParameters, offence: str, topic: str, counter: Fraction, decay: Fraction, value: Value
) -> Penalty:
    zero = decays_until(network, counter, decay, value, ZERO)
    graylist: int | None = 0
    if network.graylist_threshold is not None:
        graylist = decays_until(network, counter, decay, value, network.graylist_threshold)
    return Penalty(offence=offence, topic=topic, score=value(counter), zero=zero, graylist=graylist)


def penalties(network: NetworkParameters) -> Iterator[Penalty]:
    """One line for each offence that costs anything."""
    for topic in network.topics:
        yield from _of_topic(network, topic)
    if network.behaviour_penalty_weight:
        once = network.behaviour_penalty_threshold + 1

        def of_behaviour(counter: Fraction) -> Fraction:
            return global_score(network, PeerCounters(behaviour=counter))

        count = "one broken promise or early GRAFT"
        if once > 1:
            count = f"{math.floor(once)} broken promises or early GRAFTs"
        yield _penalty(network, count, "", once, network.behaviour_penalty_decay, of_behaviour)


def _of_topic(network: NetworkParameters, topic: TopicParameters) -> Iterator[Penalty]:
    def of_invalid(counter: Fraction) -> Fraction:
        return topic_score(topic, TopicCounters(invalid=counter))

    def of_failures(counter: Fraction) -> Fraction:
        return topic_score(topic, TopicCounters(failures=counter))

    if topic.invalid_message_deliveries_weight and topic.topic_weight:
        decay = topic.invalid_message_deliveries_decay
        yield _penalty(network, "one invalid message", topic.name, Fraction(1), decay, of_invalid)
        many = invalid_until_graylisted(network, topic, ZERO)
        if many is not None and many > 1:
            count = f"{many} invalid messages at once"
            yield _penalty(network, count, topic.name, Fraction(many), decay, of_invalid)
    if topic.mesh_failure_penalty_weight and topic.topic_weight and topic.deficit:
        decay = topic.mesh_failure_penalty_decay
        offence = "pruned after delivering nothing"
        yield _penalty(network, offence, topic.name, topic.deficit, decay, of_failures)


def invalid_until_graylisted(
    network: NetworkParameters, topic: TopicParameters, ahead: Fraction
) -> int | None:
    """Invalid messages, one right after the other, that a peer with a score of `ahead` is graylisted for."""
    weight = -topic.topic_weight * topic.invalid_message_deliveries_weight
    if network.graylist_threshold is None or not weight:
        return None
    # weight * n^2 > ahead - threshold, for the least whole n.
    bound = (ahead - network.graylist_threshold) / weight
    return math.isqrt(math.floor(bound)) + 1


# -- who means well -----------------------------------------------------------------------------------------


@frozen(kw_only=True)
class DeliveryQuota:
    """What a mesh member must deliver in a topic so that nothing is held against it."""

    topic: TopicParameters
    rate: Fraction | None
    """Messages per decay interval, as long as it is in the mesh; None: no rate is enough."""
    at_first: Fraction | None
    """The same until the activation is over, from nothing; None: no rate is enough."""
    silence: int | None
    """Decays without any message that a member with a full counter gets away with; None: any number."""
    cost: Fraction
    """Of a silence that lasts."""


def delivery_quota(network: NetworkParameters, topic: TopicParameters) -> DeliveryQuota | None:
    """Of a topic that punishes what is not delivered; None where it does not."""
    threshold, decay = topic.mesh_message_deliveries_threshold, topic.mesh_message_deliveries_decay
    if not (topic.mesh_message_deliveries_weight and threshold and topic.topic_weight):
        return None
    rate = needed_rate(topic)
    silence: int | None = 0
    if decay == 1:
        silence = None
    elif rate is not None:
        # The last number of decays after which a full counter is not short yet.
        silence = _first(lambda times: topic.mesh_message_deliveries_cap * decay**times < threshold) - 1
    return DeliveryQuota(
        topic=topic,
        rate=rate,
        at_first=None if rate is None else _at_first(network, topic),
        silence=silence,
        cost=topic.topic_weight * topic.mesh_message_deliveries_weight * topic.deficit,
    )


def _at_first(network: NetworkParameters, topic: TopicParameters) -> Fraction:
    """The rate that fills the counter from nothing by the first decay after the activation."""
    decay = topic.mesh_message_deliveries_decay
    decays = max(1, math.floor(network.intervals(topic.mesh_message_deliveries_activation_ms)))
    if decay == 1:
        return topic.mesh_message_deliveries_threshold / decays
    filled = decay * (1 - decay ** min(decays, MAX_DECAYS)) / (1 - decay)
    return topic.mesh_message_deliveries_threshold / filled


def neighbours_until(network: NetworkParameters, threshold: Fraction, ahead: Fraction) -> int | None:
    """Peers behind one address, all with a score of `ahead` besides, of whom each is below `threshold`.

    None where no number is held against anybody.
    """
    weight = -network.ip_colocation_factor_weight
    if not weight:
        return None
    bound = (ahead - threshold) / weight
    surplus = math.isqrt(math.floor(bound)) + 1 if bound >= 0 else 1
    return network.ip_colocation_factor_threshold + surplus
