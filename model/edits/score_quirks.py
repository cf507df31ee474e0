"""Edits of how a score is counted that no operator makes: a time or a counter that is not what it should be.

What such an edit remembers is in `Router.kept`, by peer and topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias, cast

from quidnunc.model.choices import Choose
from quidnunc.model.edit import Edit, RuleWrapper, around, reading_as, replacing_present
from quidnunc.model.edits.operators.words import NO_CAP
from quidnunc.model.edits.operators.wrapped import (
    own_parameters,
    reading_score_parameter,
    seeing,
    unsquared,
)
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import Router
from quidnunc.model.pubsub.scores import counting, terms
from quidnunc.model.pubsub.scores.events import AGAIN_COUNTED, FIRST_BEFORE_VERDICT
from quidnunc.model.rpc import Peer
from quidnunc.model.rules import Rule
from quidnunc.model.score_interval import ZERO, ScoreInterval, interval
from quidnunc.model.values import evolve

EARLIER_TIME = "earlier-time-in-mesh"
"""Of `Router.kept`: (peer, topic) -> ms in the mesh in all memberships that are over."""
BY_INTERVALS = "time-in-mesh-by-intervals"
"""Of `Router.kept`: (peer, topic) -> ms, a whole interval for each decay in the mesh."""

Times: TypeAlias = Mapping[tuple[Peer, str], int]


def _times(r: Router, name: str) -> Times:
    """What is kept of peers that are here, or are remembered."""
    kept = cast("Times", r.kept.get(name, {}))
    return {key: ms for key, ms in kept.items() if key[0] in r.peers or key[0] in r.ledger.gone_ms}


def _with_times(r: Router, name: str, times: Times) -> Step[Router]:
    return Step(evolve(r, kept={**r.kept, name: times}))


@around("gs1.1/score.time-in-mesh")
def note_earlier_time(old: Rule, r: Router, before: Router, choose: Choose) -> Step[Router] | None:
    """Who enters the mesh again brings the time along that it was there before."""
    step = cast("Step[Router] | None", old.step(r, before, choose))
    after = step.router if step is not None else r
    left = {
        key: tally.past_ms
        for key, tally in r.ledger.tallies.items()
        if tally.past_ms and tally is not after.ledger.tallies.get(key)
    }
    if not left:
        return step
    known = _times(after, EARLIER_TIME)
    return _with_times(after, EARLIER_TIME, {**known, **{k: known.get(k, 0) + ms for k, ms in left.items()}})


@around("gs1.1/score.time-in-mesh")
def time_of_all_memberships(old: Rule, r: Router, what: terms.InTopic) -> ScoreInterval:
    """P1 of the time in all memberships."""
    peer, p, tally = what
    more = _times(r, EARLIER_TIME).get((peer, p.topic), 0)
    return cast("ScoreInterval", old.apply(r, (peer, p, evolve(tally, mesh_ms=tally.mesh_ms + more))))


@around("gs1.1/score.time-in-mesh")
def add_interval(old: Rule, r: Router, _: None, choose: Choose) -> Step[Router] | None:
    """Each decay adds its interval to the time of who is in the mesh."""
    step = cast("Step[Router] | None", old.step(r, None, choose)) or Step(r)
    known, every_ms = _times(step.router, BY_INTERVALS), counting.scored(r).decay_interval_ms
    tallies = step.router.ledger.tallies
    inside = {key for key, tally in tallies.items() if tally.since_ms is not None}
    # What the terms came to is noted with a tally, and is another one now.
    fresh = {key: evolve(tally) for key, tally in tallies.items()}
    ledger = evolve(step.router.ledger, tallies=fresh)
    more = {key: known.get(key, 0) + every_ms for key in inside}
    return _with_times(evolve(step.router, ledger=ledger), BY_INTERVALS, {**known, **more})


@around("gs1.1/score.time-in-mesh")
def begin_intervals(old: Rule, r: Router, before: Router, choose: Choose) -> Step[Router] | None:
    """The intervals of who enters the mesh are counted from zero."""
    step = cast("Step[Router] | None", old.step(r, before, choose))
    if step is None:
        return None
    came = {k for k, t in step.router.ledger.tallies.items() if t is not r.ledger.tallies.get(k)}
    left = {key: ms for key, ms in _times(step.router, BY_INTERVALS).items() if key not in came}
    return _with_times(step.router, BY_INTERVALS, left)


@around("gs1.1/score.time-in-mesh")
def time_by_intervals(old: Rule, r: Router, what: terms.InTopic) -> ScoreInterval:
    """P1 of the intervals that were added up."""
    peer, p, tally = what
    ms = _times(r, BY_INTERVALS).get((peer, p.topic), 0)
    return cast("ScoreInterval", old.apply(r, (peer, p, evolve(tally, mesh_ms=ms))))


@around("gs1.1/score.time-in-mesh")
def time_twice(old: Rule, r: Router, what: terms.InTopic) -> ScoreInterval:
    """P1 of twice the time, under the same cap."""
    peer, p, tally = what
    return cast("ScoreInterval", old.apply(r, (peer, p, evolve(tally, mesh_ms=2 * tally.mesh_ms))))


@around("gs1.1/score.time-in-mesh")
def whole_quanta_uncapped(old: Rule, r: Router, what: terms.InTopic) -> ScoreInterval:
    """P1 of all whole quanta, beyond the cap as well."""
    peer, p, tally = what
    whole = evolve(tally, mesh_ms=tally.mesh_ms - tally.mesh_ms % p.time_in_mesh_quantum_ms)
    uncapped = reading_score_parameter("time_in_mesh_cap", lambda p: NO_CAP, old)
    return cast("ScoreInterval", uncapped.apply(r, (peer, p, whole)))


def count_twice(old: Rule, r: Router, d: counting.CountedDelivery, choose: Choose) -> Step[Router] | None:
    """One delivery is counted as two."""
    step = cast("Step[Router] | None", old.step(r, d, choose))
    return step if step is None else cast("Step[Router] | None", old.step(step.router, d, choose))


@around("gs1.1/iwant.promise")
def track_none(old: Rule, r: Router, before: Router, choose: Choose) -> Step[Router] | None:
    """No promise is noted. Where the rule is only left out, a penalty may still be due at a heartbeat."""
    return Step(evolve(r, ledger=evolve(r.ledger, promises=()))) if r.ledger.promises else None


@around("gs1.1/iwant.promise")
def penalise_twice(old: Rule, r: Router, before: Router, choose: Choose) -> Step[Router] | None:
    """A broken promise costs two penalties."""
    promises = tuple(evolve(p, least=2 * p.least, most=2 * p.most) for p in r.ledger.promises)
    dearer = evolve(r, ledger=evolve(r.ledger, promises=promises))
    step = cast("Step[Router] | None", old.step(dearer, before, choose))
    if step is None:
        return None
    kept = tuple(p for p in r.ledger.promises if p.ends_ms >= r.now_ms)
    return Step(evolve(step.router, ledger=evolve(step.router.ledger, promises=kept)))


def _counted_twice() -> Iterator[Edit]:
    for rule, what, words in (
        ("count_first", "first-deliveries", "first delivery (P2)"),
        ("count_meshed", "mesh-deliveries", "delivery of a mesh member (P3)"),
        ("count_invalid", "invalid-messages", "invalid message (P4)"),
    ):
        clause = f"gs1.1/score.{what}"
        says = f"Counts each {words} twice."
        change = replacing_present(**{rule: RuleWrapper(clause, count_twice)})
        yield Edit(f"{what}-counted-twice", "replaced", clause, says, change)


def _of_time(name: str, says: str, **rules: RuleWrapper) -> Edit:
    return Edit(name, "replaced", "gs1.1/score.time-in-mesh", says, replacing_present(**rules))


@around("gs1.1/score.colocation")
def colocation_of_all(old: Rule, r: Router, peer: Peer) -> ScoreInterval:
    """Where they are more than the threshold, all peers at the address count."""
    usual = cast("ScoreInterval", old.apply(r, peer))
    if usual == ZERO:
        return usual
    every = reading_score_parameter("ip_colocation_factor_threshold", lambda p: 0, old).apply(r, peer)
    return cast("ScoreInterval", every if usual.below(ZERO) else cast("ScoreInterval", every).or_also(ZERO))


@around("gs1.1/score.weights")
def topics_capped_both_ways(old: Rule, r: Router, peer: Peer) -> ScoreInterval:
    """The cap bounds what the topics take away as well."""
    p = r.parameters.scores
    capped = cast("ScoreInterval", old.apply(r, peer))
    if p is None or not p.topic_score_cap:
        return capped
    turned = interval(-1).times(capped).at_most(interval(p.topic_score_cap))
    return interval(-1).times(turned)


def deficit_as_it_is(old: Rule, r: Router, *rest: object) -> object:
    """The deficit of deliveries itself, and not its square."""
    return unsquared(old).apply(r, *rest)


PENALTIES = (3, 5, 10, 20, 50, 100)
"""For one GRAFT inside the backoff: more than the text allows."""


def _regraft_penalised(times: int) -> Edit:
    @around("gs1.1/backoff.penalty")
    def penalise_more(old: Rule, r: Router, peer: Peer, choose: Choose) -> Step[Router]:
        return Step(counting.with_penalty(r, peer, times, times))

    says = f"Penalises a GRAFT inside the backoff {times} times (P7)."
    change = replacing_present(penalise_regraft=penalise_more)
    return Edit(f"regraft-penalised-{times}-times", "replaced", "gs1.1/backoff.penalty", says, change)


def _with_all_topics(r: Router) -> Router:
    """The router, which has the parameters of its first scored topic for all topics."""
    scores = r.parameters.scores
    if scores is None or not scores.topics:
        return r
    known = {each.topic for each in scores.topics}
    more = sorted((r.topics | {topic for _, topic in r.ledger.tallies}) - known)
    topics = (*scores.topics, *(evolve(scores.topics[0], topic=topic) for topic in more))
    return evolve(r, parameters=evolve(r.parameters, scores=evolve(scores, topics=topics)))


def scoring_all_topics(old: Rule, r: Router, *rest: object) -> object:
    return seeing(_with_all_topics, own_parameters, old).apply(r, *rest)


def _at_once(old: Rule) -> Rule:
    return reading_score_parameter("mesh_message_deliveries_activation_ms", lambda p: -1, old)


def deficit_at_once(old: Rule, r: Router, *rest: object) -> object:
    """The deficit of a member counts from its first moment."""
    return _at_once(old).apply(r, *rest)


@around("gs1.1/score.mesh-deliveries")
def topics_with_newcomers(old: Rule, r: Router, peer: Peer) -> ScoreInterval:
    """So it may of a peer that enters a mesh in this very step."""
    total, p = cast("ScoreInterval", old.apply(r, peer)), r.parameters.scores
    for topic in p.topics if p is not None else ():
        tally = r.ledger.tallies.get((peer, topic.topic))
        if peer in r.mesh_of(topic.topic) and (tally is None or tally.since_ms is None):
            owed = interval(topic.mesh_message_deliveries_threshold).squared()
            weight = interval(topic.topic_weight).times(interval(topic.mesh_message_deliveries_weight))
            total += weight.times(owed).or_also(ZERO)
    return total


SCORE_QUIRKS: tuple[Edit, ...] = (
    *map(_regraft_penalised, PENALTIES),
    Edit(
        "scores-all-topics",
        "replaced",
        "gs1.1/score.topics",
        "Scores topics without parameters by the parameters of another topic.",
        replacing_present(
            **{
                name: RuleWrapper("gs1.1/score.topics", scoring_all_topics)
                for name in (
                    "topics_capped",
                    "note_grafted",
                    "note_pruned",
                    "count_first",
                    "count_meshed",
                    "count_invalid",
                    "refresh_time",
                    "decay",
                )
            }
        ),
    ),
    Edit(
        "deficit-from-the-start",
        "replaced",
        "gs1.1/score.mesh-deliveries",
        "Counts the deficit of mesh deliveries (P3) from the moment in which a peer enters the mesh.",
        replacing_present(
            mesh_deliveries=RuleWrapper("gs1.1/score.mesh-deliveries", deficit_at_once),
            mesh_failures=RuleWrapper("gs1.1/score.mesh-failures", deficit_at_once),
            note_pruned=RuleWrapper("gs1.1/score.mesh-failures", deficit_at_once),
            topics_capped=topics_with_newcomers,
        ),
        clauses=("gs1.1/score.mesh-deliveries", "gs1.1/score.mesh-failures"),
    ),
    Edit(
        "topics-capped-both-ways",
        "replaced",
        "gs1.1/score.weights",
        "Caps what the topics take from a score as well as what they add to it.",
        replacing_present(topics_capped=topics_capped_both_ways),
    ),
    Edit(
        "deficit-unsquared",
        "replaced",
        "gs1.1/score.mesh-deliveries",
        "Takes the deficit of mesh deliveries as it is for P3 and P3b, and not its square.",
        replacing_present(
            mesh_deliveries=RuleWrapper("gs1.1/score.mesh-deliveries", deficit_as_it_is),
            mesh_failures=RuleWrapper("gs1.1/score.mesh-failures", deficit_as_it_is),
            note_pruned=RuleWrapper("gs1.1/score.mesh-failures", deficit_as_it_is),
        ),
        clauses=("gs1.1/score.mesh-deliveries", "gs1.1/score.mesh-failures"),
    ),
    Edit(
        "colocation-of-all",
        "replaced",
        "gs1.1/score.colocation",
        "Counts all peers at one IP address (P6) where they are more than the threshold, not the surplus.",
        replacing_present(colocation=colocation_of_all),
    ),
    _of_time(
        "time-in-mesh-adds-up",
        "Adds the time in the mesh (P1) up over all memberships of a peer.",
        note_grafted=note_earlier_time,
        time_in_mesh=time_of_all_memberships,
    ),
    _of_time(
        "time-in-mesh-adds-up-by-intervals",
        "Adds a whole decay interval to the time in the mesh (P1) at each decay, and does not start anew "
        "with the next membership.",
        refresh_time=add_interval,
        time_in_mesh=time_by_intervals,
    ),
    _of_time(
        "time-in-mesh-by-intervals",
        "Adds a whole decay interval to the time in the mesh (P1) at each decay, however late the peer came.",
        note_grafted=begin_intervals,
        refresh_time=add_interval,
        time_in_mesh=time_by_intervals,
    ),
    _of_time(
        "time-in-mesh-counted-twice",
        "Counts twice the time in the mesh (P1), under the same cap.",
        time_in_mesh=time_twice,
    ),
    _of_time(
        "whole-quanta-uncapped",
        "Does not apply the cap on the time in the mesh (P1), of which it counts whole quanta.",
        time_in_mesh=whole_quanta_uncapped,
    ),
    *_counted_twice(),
    Edit(
        "tracks-no-promise",
        "replaced",
        "gs1.1/iwant.promise",
        "Does not note which messages an IHAVE promised it (P7).",
        replacing_present(break_promises=track_none),
    ),
    Edit(
        "broken-promises-counted-twice",
        "replaced",
        "gs1.1/iwant.promise",
        "Penalises each broken promise of an IHAVE twice (P7).",
        replacing_present(break_promises=penalise_twice),
    ),
    Edit(
        FIRST_BEFORE_VERDICT,
        "replaced",
        "gs1.1/score.first-deliveries",
        "Counts a first delivery (P2, P3) when the message comes, whatever its validators say then.",
        reading_as(FIRST_BEFORE_VERDICT),
        clauses=("gs1.1/score.first-deliveries", "gs1.1/score.mesh-deliveries"),
    ),
    Edit(
        AGAIN_COUNTED,
        "replaced",
        "gs1.1/score.mesh-deliveries",
        "Counts each further copy of a message from the same peer as one more delivery (P3).",
        reading_as(AGAIN_COUNTED),
    ),
    Edit(
        counting.NEAR_FOR_EVER,
        "replaced",
        "gs1.1/score.mesh-deliveries",
        "Credits mesh members (P3) with a copy however long after the first copy it comes.",
        reading_as(counting.NEAR_FOR_EVER),
    ),
    Edit(
        counting.NEAR_NEVER,
        "replaced",
        "gs1.1/score.mesh-deliveries",
        "Does not credit mesh members (P3) with copies that come after validation.",
        reading_as(counting.NEAR_NEVER),
    ),
    Edit(
        counting.COPIES_ARE_FIRST,
        "replaced",
        "gs1.1/score.first-deliveries",
        "Counts each copy of an accepted message from another peer as a first delivery (P2).",
        reading_as(counting.COPIES_ARE_FIRST),
    ),
)
"""Each is tried as the cause of a departure."""
