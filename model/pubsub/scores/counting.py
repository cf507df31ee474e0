"""The rules that keep the counters of the score. gossipsub v1.1, "Topic Parameter Calculation and Decay".

A counter goes up by an interval: by [0, 1] where the text does not say whether the event counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from attrs import frozen

from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import Router, without_key
from quidnunc.model.pubsub.scores import terms as scores
from quidnunc.model.pubsub.scores.ledger import NO_TALLY, MessageCopies, TopicTally
from quidnunc.model.rpc import Peer
from quidnunc.model.rules import Witness, rule
from quidnunc.model.score_interval import DENOMINATOR, ONE, ZERO, ScoreInterval, interval
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from quidnunc.model.values import evolve

REGRAFT_PENALTIES = 2
"""A GRAFT inside the backoff may be penalised. The Go router counts two where it comes very early."""

MISUSE_PENALTIES = 10
"""What a peer may be penalised by where the text calls it misbehaviour and does not say how much. The Go
router counts ten for extensions that are named late or twice."""

COPIES_ARE_FIRST = "copies-are-first-deliveries"
"""Switch of a fault: each copy counts as a first delivery."""

NEAR_FOR_EVER = "near-first-for-ever"
NEAR_NEVER = "near-first-never"
"""Switch of another: no copy comes too late to count as a delivery of a mesh member."""
FOR_EVER_MS = 1 << 60

Kind: TypeAlias = Literal["first", "near", "maybe-near", "invalid", "maybe-invalid"]


@frozen
class CountedDelivery:
    """One copy of a message, as far as it counts for the one who sent it."""

    peer: Peer
    topic: str
    kind: Kind
    meshed: bool | None = True
    """Whether its sender was in the mesh; None where it was at one end of the validation alone."""


@frozen
class CountingWitness:
    """Counting is no decision: what is counted applied where a score that it is part of decided."""

    def fired(self, clause: str) -> None:
        return None


QUIET: Witness = CountingWitness()
MAYBE = ScoreInterval(0, DENOMINATOR)


def scored(r: Router) -> ScoreParameters:
    assert r.parameters.scores is not None
    return r.parameters.scores


def near_window_ms(r: Router, p: TopicScoreParameters) -> int:
    """How long after the first copy another one counts for a mesh member."""
    if r.reads(NEAR_NEVER):
        return -1
    return FOR_EVER_MS if r.reads(NEAR_FOR_EVER) else p.mesh_message_deliveries_window_ms


def tally_of(r: Router, peer: Peer, topic: str) -> TopicTally:
    return r.ledger.tallies.get((peer, topic), NO_TALLY)


def with_tally(r: Router, peer: Peer, topic: str, tally: TopicTally) -> Router:
    """Where nothing is left to remember, nothing is."""
    kept = without_key(r.ledger.tallies, (peer, topic))
    if tally != NO_TALLY:
        kept[peer, topic] = tally
    return evolve(r, ledger=evolve(r.ledger, tallies=kept))


def is_noted(r: Router, peer: Peer) -> bool:
    """Whether there surely are counters of `peer`: it is here, or has been gone for less than RetainScore.

    A verdict may come later. Whether it counts then is not said.
    """
    gone_ms = r.ledger.gone_ms.get(peer)
    return peer in r.peers or (gone_ms is not None and r.now_ms - gone_ms < scored(r).retain_score_ms)


# -- deliveries ---------------------------------------------------------------------------------------------


@rule(
    "gs1.1/score.first-deliveries",
    lacking="Does not count first deliveries.",
    when="it counts a first delivery",
)
def count_first(r: Router, d: CountedDelivery, _: Witness) -> Step[Router] | None:
    """One more, capped as it is counted."""
    p = scored(r).of(d.topic)
    if d.kind != "first" or p is None:
        return None
    tally = tally_of(r, d.peer, d.topic)
    # Whether what is accepted after we left the topic counts is not said.
    more = ONE if d.topic in r.topics and is_noted(r, d.peer) else MAYBE
    first = (tally.first + more).at_most(interval(p.first_message_deliveries_cap))
    return Step(with_tally(r, d.peer, d.topic, evolve(tally, first=first)))


@rule(
    "gs1.1/score.mesh-deliveries",
    lacking="Does not count the deliveries of mesh members.",
    when="it counts a delivery of a mesh member",
)
def count_meshed(r: Router, d: CountedDelivery, _: Witness) -> Step[Router] | None:
    """First and near-first deliveries of mesh members, capped as they are counted."""
    p = scored(r).of(d.topic)
    if p is None or d.meshed is False or d.kind not in ("first", "near", "maybe-near"):
        return None
    tally = tally_of(r, d.peer, d.topic)
    unsure = d.meshed is None or d.kind == "maybe-near" or not is_noted(r, d.peer)
    more = MAYBE if unsure else ONE
    meshed = (tally.meshed + more).at_most(interval(p.mesh_message_deliveries_cap))
    return Step(with_tally(r, d.peer, d.topic, evolve(tally, meshed=meshed)))


@rule(
    "gs1.1/score.invalid-messages",
    lacking="Does not count invalid messages.",
    when="it counts an invalid message",
)
def count_invalid(r: Router, d: CountedDelivery, _: Witness) -> Step[Router] | None:
    """One more, without a cap."""
    if d.kind not in ("invalid", "maybe-invalid") or scored(r).of(d.topic) is None:
        return None
    tally = tally_of(r, d.peer, d.topic)
    sure = d.kind == "invalid" and d.topic in r.topics and is_noted(r, d.peer)
    more = ONE if sure else MAYBE
    return Step(with_tally(r, d.peer, d.topic, evolve(tally, invalid=tally.invalid + more)))


# -- mesh and promises, at the end of a step ----------------------------------------------------------------


@rule(
    "gs1.1/score.time-in-mesh",
    lacking="Does not note when a peer enters its mesh.",
    when="it notes the time at which a peer enters its mesh",
)
def note_grafted(r: Router, before: Router, _: Witness) -> Step[Router] | None:
    """From its GRAFT on a member's time counts, and starts at zero."""
    came = {
        (peer, p.topic): evolve(tally, since_ms=r.now_ms, mesh_ms=0, past_ms=0)
        for p in scored(r).topics
        for peer in r.mesh_of(p.topic)
        if (tally := tally_of(r, peer, p.topic)).since_ms is None
    }
    return _with_tallies(r, {**r.ledger.tallies, **came}) if came else None


@rule(
    "gs1.1/score.mesh-failures",
    lacking="Forgets how many deliveries a pruned member still owed.",
    when="it counts the deliveries that a pruned member still owed",
)
def note_pruned(r: Router, before: Router, _: Witness) -> Step[Router] | None:
    """Who is pruned at a heartbeat for its negative score takes its squared deficit along.

    So says the prose; by the pseudo-code any prune does, and what else ends a membership neither says.
    """
    went = {
        (peer, topic): tally
        for (peer, topic), tally in r.ledger.tallies.items()
        if tally.since_ms is not None and peer not in r.mesh_of(topic)
    }
    if not went:
        return None
    tallies = dict(r.ledger.tallies)
    # As it was when the heartbeat looked at its members.
    then = evolve(r, mesh=before.mesh)
    for (peer, topic), tally in went.items():
        p = scored(r).of(topic)
        lost = scores.deficit(p, tally).squared() if p is not None else ZERO
        left = evolve(tally, since_ms=None, mesh_ms=0, past_ms=tally.mesh_ms)
        if lost != ZERO:
            negative = r.heartbeats != before.heartbeats and then.bounds(peer).below(ZERO) is True
            more = lost if negative and peer in r.peers else ScoreInterval(0, lost.hi)
            left = evolve(left, failures=tally.failures + more)
        tallies[peer, topic] = left
    return _with_tallies(r, {k: t for k, t in tallies.items() if t != NO_TALLY})


@rule(
    "gs1.1/iwant.promise",
    lacking="Does not penalise a peer that breaks the promise of its IHAVE.",
    when="it penalises a peer that breaks the promise of its IHAVE",
)
def break_promises(r: Router, before: Router, _: Witness) -> Step[Router] | None:
    """A promise that is overdue at a heartbeat costs its maker a penalty.

    Which of the ids was tracked is hidden: where some came and some did not, the penalty is free.
    """
    if r.heartbeats == before.heartbeats or not r.ledger.promises:
        return None
    over = [p for p in r.ledger.promises if p.ends_ms < r.now_ms]
    if not over:
        return None
    kept = tuple(p for p in r.ledger.promises if p.ends_ms >= r.now_ms)
    for each in over:
        if each.missing:
            surely = each.missing == each.asked and each.peer in r.peers
            r = with_penalty(r, each.peer, each.least if surely else 0, each.most)
    return Step(evolve(r, ledger=evolve(r.ledger, promises=kept)))


@rule(
    "gs1.1/backoff.penalty",
    lacking="Does not penalise a GRAFT inside the backoff.",
    when="it penalises a GRAFT inside the backoff",
)
def penalise_regraft(r: Router, peer: Peer, _: Witness) -> Step[Router]:
    """Who grafts inside the backoff may be penalised."""
    return Step(with_penalty(r, peer, 0, REGRAFT_PENALTIES))


@rule(
    "gs1.3/extensions.misuse",
    lacking="Does not penalise a peer that names its extensions late or twice.",
    when="it penalises a peer that names its extensions late or twice",
)
def penalise_misuse(r: Router, peer: Peer, _: Witness) -> Step[Router]:
    """Who names its extensions late or twice may be penalised: what follows is left open."""
    return Step(with_penalty(r, peer, 0, MISUSE_PENALTIES))


def with_penalty(r: Router, peer: Peer, least: int, most: int) -> Router:
    """The behaviour counter of `peer`, raised."""
    counter = r.ledger.behaviour.get(peer, ZERO) + ScoreInterval(least * DENOMINATOR, most * DENOMINATOR)
    return evolve(r, ledger=evolve(r.ledger, behaviour={**r.ledger.behaviour, peer: counter}))


def _with_tallies(r: Router, tallies: Mapping[tuple[Peer, str], TopicTally]) -> Step[Router] | None:
    return Step(evolve(r, ledger=evolve(r.ledger, tallies=tallies))) if tallies != r.ledger.tallies else None


# -- decay --------------------------------------------------------------------------------------------------


@rule(
    "gs1.1/score.time-in-mesh",
    lacking="Does not update the time in the mesh when the counters decay.",
    when="it updates the time in the mesh as the counters decay",
)
def refresh_time(r: Router, _: None, __: Witness) -> Step[Router] | None:
    """The time in the mesh is calculated at the decay, and stands until the next."""
    found = {
        key: tally if tally.since_ms is None else evolve(tally, mesh_ms=r.now_ms - tally.since_ms)
        for key, tally in r.ledger.tallies.items()
    }
    return _with_tallies(r, found)


@rule(
    "gs1.1/score.decay",
    lacking="Lets the counters of a score stand without decay.",
    when="it decays the counters of a score",
)
def decay(r: Router, _: None, __: Witness) -> Step[Router] | None:
    """Each counter is multiplied by its factor, and is zero below DecayToZero.

    Whether the counters of a peer that is gone decay meanwhile is not said.
    """
    p, ledger = scored(r), r.ledger
    tallies = {}
    for (peer, topic), tally in ledger.tallies.items():
        of_topic = p.of(topic)
        if of_topic is not None:
            tallies[peer, topic] = _decayed(of_topic, tally, peer in r.peers, p)
    behaviour = {
        peer: _less(counter, p.behaviour_penalty_decay, peer in r.peers, p)
        for peer, counter in ledger.behaviour.items()
    }
    copies = _still_of_use(r)
    kept = {k: t for k, t in tallies.items() if t != NO_TALLY}
    left = {peer: c for peer, c in behaviour.items() if c != ZERO}
    return Step(evolve(r, ledger=evolve(ledger, tallies=kept, behaviour=left, copies=copies)))


def _decayed(p: TopicScoreParameters, tally: TopicTally, here: bool, s: ScoreParameters) -> TopicTally:
    if tally.first == tally.meshed == tally.failures == tally.invalid == ZERO:
        return tally
    return evolve(
        tally,
        first=_less(tally.first, p.first_message_deliveries_decay, here, s),
        meshed=_less(tally.meshed, p.mesh_message_deliveries_decay, here, s),
        failures=_less(tally.failures, p.mesh_failure_penalty_decay, here, s),
        invalid=_less(tally.invalid, p.invalid_message_deliveries_decay, here, s),
    )


def _less(counter: ScoreInterval, factor: float, here: bool, p: ScoreParameters) -> ScoreInterval:
    if counter == ZERO:
        return ZERO
    left = counter.times(interval(factor))
    nothing = left.below(interval(p.decay_to_zero))
    if nothing is not False:
        left = ZERO if nothing else ScoreInterval(0, left.hi)
    return left if here else left.or_also(counter)


def _still_of_use(r: Router) -> Mapping[str, MessageCopies]:
    """Copies of messages whose window is still open, or that were refused and are still seen."""
    longest = max((near_window_ms(r, p) for p in scored(r).topics), default=0)
    always = r.reads(COPIES_ARE_FIRST)
    return {
        i: c
        for i, c in r.ledger.copies.items()
        if c.judged_ms is None
        or (r.now_ms - c.judged_ms <= longest if c.accepted and not always else i in r.seen)
    }


# -- peers that come and go ---------------------------------------------------------------------------------


@rule(
    "gs1.1/score.retain",
    lacking="Keeps the score of a disconnected peer beyond RetainScore.",
    when="it forgets the score of a peer that disconnected long ago",
)
def forget_departed(r: Router, _: None, __: Witness) -> Step[Router] | None:
    """What is noted of a peer that is gone is forgotten some time after RetainScore: at a decay."""
    over = [p for p, at in r.ledger.gone_ms.items() if r.now_ms - at > scored(r).retain_score_ms]
    if not over:
        return None
    for peer in over:
        r = forgotten(r, peer)
    return Step(r)


@rule(
    "gs1.1/score.retain-statistics",
    lacking="Does not note when a scored peer disconnects.",
    when="it notes that a scored peer disconnects",
)
def remember_departed(r: Router, peer: Peer, _: Witness) -> Step[Router]:
    """A peer that disconnects is remembered."""
    return Step(evolve(r, ledger=evolve(r.ledger, gone_ms={**r.ledger.gone_ms, peer: r.now_ms})))


@rule(
    "gs1.1/score.retain-statistics",
    lacking="Counts a peer that has returned as still disconnected.",
    when="it restores the score of a peer that returns",
)
def recognise(r: Router, peer: Peer, _: Witness) -> Step[Router] | None:
    """Who returns within RetainScore has the counters of before; from then to the next decay that is free."""
    gone_ms = r.ledger.gone_ms.get(peer)
    if gone_ms is None:
        return None
    ledger = evolve(
        r.ledger, gone_ms=without_key(r.ledger.gone_ms, peer), returned=r.ledger.returned | {peer}
    )
    if r.now_ms - gone_ms >= scored(r).retain_score_ms:
        ledger = evolve(
            ledger,
            tallies={k: _perhaps(t) if k[0] == peer else t for k, t in ledger.tallies.items()},
            behaviour={p: c.or_also(ZERO) if p == peer else c for p, c in ledger.behaviour.items()},
        )
    return Step(evolve(r, ledger=ledger))


def _perhaps(t: TopicTally) -> TopicTally:
    return evolve(
        t,
        first=t.first.or_also(ZERO),
        meshed=t.meshed.or_also(ZERO),
        failures=t.failures.or_also(ZERO),
        invalid=t.invalid.or_also(ZERO),
    )


def forgotten(r: Router, peer: Peer) -> Router:
    """The router without what is noted of a peer."""
    ledger = evolve(
        r.ledger,
        tallies={k: t for k, t in r.ledger.tallies.items() if k[0] != peer},
        behaviour=without_key(r.ledger.behaviour, peer),
        addresses=without_key(r.ledger.addresses, peer),
        gone_ms=without_key(r.ledger.gone_ms, peer),
        returned=r.ledger.returned - {peer},
        told_of=r.ledger.told_of - {peer},
    )
    return evolve(r, ledger=ledger)
