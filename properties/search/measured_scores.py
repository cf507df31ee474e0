"""Runs that measure a score: how much the application has to add so that the router heeds a peer.

A score is not seen, and at the edge of what the specification says of it every edit that raises it looks the
same. So peers live through all that counts for one term, with the others off. Then the application's part is
brought to each edge of what the edits that are left say, and the peer advertises a message: whether that is
requested tells between which two of these edges the score lies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, field, fields, frozen, mutable

from quidnunc.model.edit import Edit
from quidnunc.model.edits.catalogue import rules_changed
from quidnunc.model.events import Advance, Connect, Disconnect, Event, Join, Receive, Score, Sent, Verdict
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import Graft, IHave, IWant, Message, Part, Peer, Prune, Subscribe
from quidnunc.model.rules import Protocol
from quidnunc.model.score_interval import ZERO, ScoreInterval, interval
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from quidnunc.properties.explain.followed import FreshRun, agreement, agreement_from, applied
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.search.probes import topics_of, with_authors

TOPIC = "t1"
ONE, OTHER, THIRD = 1, 2, 3
ASKED_FOR = "m990"
"""The message that is advertised in the end."""
FINE = 1 / 64
"""Weight of the application's part: the grid on which a score is measured."""
HIGH, LOW = 1280, -64
"""What the application says while a peer lives: enough to keep it in the mesh, or too little by one."""
FARTHEST = 10_000
NEAR = 10
"""An edit is right that says all but this part of what is off, where something else is off as well."""
LATE = 2
"""After so many heartbeats a router has the score that the application says, if it ever has."""
MOST_MOMENTS = 3
"""Of one life, so many are measured at which the edits differ."""
OF_SCORES = ("gs1.1/score.", "gs1.1/iwant.promise", "gs1.1/backoff.penalty")
"""How the clauses of rules begin that count or weigh."""

APPLICATION = "the application's score (P5)"
"""What counts in every life: where it counts otherwise, nothing is known of the other terms."""
ALONE = "in runs where only {} counts,"
"""How it is said that nothing else counts."""
MOST_TOLD = 2
"""So many terms are named in it."""
CLAUSE_OF_TERM: Mapping[str, str] = {
    "the time in the mesh (P1)": "gs1.1/score.time-in-mesh",
    "first deliveries (P2)": "gs1.1/score.first-deliveries",
    "the deficit of mesh deliveries (P3)": "gs1.1/score.mesh-deliveries",
    "mesh failures (P3b)": "gs1.1/score.mesh-failures",
    "invalid messages (P4)": "gs1.1/score.invalid-messages",
    "the weight of a topic": "gs1.1/score.weights",
    "the cap of all topics": "gs1.1/score.weights",
    "the behaviour penalty (P7)": "gs1.1/score.behaviour",
    "IP colocation (P6)": "gs1.1/score.colocation",
}
"""How what counts alone begins -> the clause of that term."""
RETAIN = "gs1.1/score.retain"
DECAYS = {
    "first_message_deliveries_decay": 0.75,
    "mesh_message_deliveries_decay": 0.5,
    "mesh_failure_penalty_decay": 0.7,
    "invalid_message_deliveries_decay": 0.8,
}
"""In all lives. Who takes one for another is told by which it takes."""

Capabilities = frozenset[str]
Edges = tuple[int | None, int | None]
"""What the application says at most, and at least, where the answer is certain: see `edges_of`."""
Play = Callable[[tuple[Event, ...]], FreshRun | None]
Heeds = Callable[["MeasuredScore", int], "bool | None"]
"""Whether a router heeds a peer where a score is measured, and the application says so much."""


@frozen
class ScoredLife:
    """What peers do whose scores are measured after some of the events."""

    events: tuple[Event, ...]
    moments: Mapping[int, str]
    """Before the events of these numbers, of which the last may be how many there are: when that is."""
    parameters: Any
    peers: tuple[Peer, ...] = (ONE, OTHER)
    topic: str = TOPIC
    """Of the message that is advertised."""
    term: str = ""
    """What counts in it alone, in words; empty where several things may."""


@frozen
class MeasuredScore:
    """The application's parts at which a run is asked, and what the edits say of it."""

    events: tuple[Event, ...]
    peer: Peer
    topic: str
    edges: tuple[int, ...]
    asked: frozenset[str]
    """Names of the edits that say something else of this score than the protocol without them."""
    term: str = ""
    when: str = ""
    """What counts, and when it is: of the life and its moment."""
    said: Mapping[int, frozenset[str]] = field(factory=dict)
    """At each moment of the life, the names of the edits that say something else there."""
    own: Edges = (None, None)
    others: Mapping[str, Edges] = field(factory=dict)
    """What the protocol says here, and what each edit says."""

    def acts(self, value: int, interval_ms: int, waits: int = 0) -> tuple[Event, ...]:
        """The events, then the question at this score, and a heartbeat by which it is answered. Before the
        question so many heartbeats pass."""
        ihave, beat = Receive((self.peer,), (IHave(self.topic, (ASKED_FOR,)),)), Advance(interval_ms)
        return (*self.events, Score((self.peer,), value), *[beat] * waits, ihave, beat)


def is_of_scores(edit: Edit, protocol: Protocol) -> bool:
    """Whether an edit changes how something counts, or what it weighs."""
    if edit.clause.startswith(OF_SCORES):
        return True
    changed = rules_changed(edit, protocol)
    return any(rule.name in changed and rule.clause.startswith(OF_SCORES) for _, rule in protocol.rules())


def scored_lives(
    events: Sequence[Event], parameters: Any, capabilities: Capabilities, fixed: Mapping[str, object]
) -> Iterator[ScoredLife]:
    """The minimal run up to its last event, and lives in which one term counts."""
    if getattr(parameters, "scores", None) is None or "score" not in capabilities or "scores" in fixed:
        return
    peers = tuple(sorted({peer for event in events[:-1] for peer in getattr(event, "peers", ())}))
    topic = next(iter(topics_of(events)), "")
    if topic:
        last = events[-1]
        nearly = (Advance(last.ms - 1),) if isinstance(last, Advance) and last.ms > 1 else ()
        joined = [event.topic for event in events[:-1] if isinstance(event, Join)]
        # In a topic that the router has not joined it need not request anything.
        before = (*events[:-1], *nearly, *(() if joined else (Join(topic),)))
        yield ScoredLife(before, {len(before): ""}, parameters, peers, (joined or [topic])[-1])
    manual = "verdict" in capabilities
    changes = {"validation": "manual" if manual else "accept", "explicit_peers": frozenset[Peer]()}
    given = evolve(parameters, **{k: v for k, v in changes.items() if k not in fixed})
    waits = given.validation == "manual"
    # It says something before, so that the router has looked at its score.
    met = (Join(TOPIC), Connect((ONE,)), _says(ONE, IHave(TOPIC, ("m908",))))
    yield ScoredLife(met, {3: "from the start"}, evolve(given, scores=_scores({})), (ONE,), term=APPLICATION)
    for term, scores in _of_one_term():
        told = evolve(given, scores=scores)
        if scores.ip_colocation_factor_weight:
            events = (Connect((ONE, OTHER, THIRD), address=1), Join(TOPIC))
            yield ScoredLife(events, {2: "where it shares its IP"}, told, (ONE,), term=term)
            continue
        yield _life(told, waits, term)
        if any(topic.mesh_failure_penalty_weight for topic in scores.topics):
            yield _short_life(told, term)


def _of_one_term() -> Iterator[tuple[str, ScoreParameters]]:
    """Score parameters in which one term counts, each with what that is."""
    owing: dict[str, float] = {"mesh_message_deliveries_threshold": 4.0, "mesh_message_deliveries_cap": 20.0}
    time: dict[str, Any] = {"time_in_mesh_weight": 1.0, "time_in_mesh_quantum_ms": 500}
    first: dict[str, Any] = {"first_message_deliveries_weight": 1.0}
    # Who takes the cap of one counter for that of another is told by which it takes.
    caps = {"time_in_mesh_cap": 4.0, "first_message_deliveries_cap": 3.0, "mesh_message_deliveries_cap": 5.0}
    of_topic: tuple[tuple[str, dict[str, Any]], ...] = (
        ("the time in the mesh (P1)", {**time, "time_in_mesh_cap": 40.0}),
        ("the time in the mesh (P1) at its cap", {**caps, **time, "time_in_mesh_cap": 2.0}),
        ("first deliveries (P2)", {**first, "first_message_deliveries_cap": 20.0}),
        ("first deliveries (P2) at their cap", {**caps, **first, "first_message_deliveries_cap": 2.0}),
        ("the deficit of mesh deliveries (P3)", {"mesh_message_deliveries_weight": -1.0, **owing}),
        ("mesh failures (P3b)", {"mesh_failure_penalty_weight": -1.0, **owing}),
        ("invalid messages (P4)", {"invalid_message_deliveries_weight": -1.0}),
        ("the weight of a topic", {**first, "topic_weight": 2.0}),
    )
    for term, each in of_topic:
        yield term, _scores(each)
    yield (
        "the cap of all topics",
        _scores({**first, "first_message_deliveries_cap": 20.0}, topic_score_cap=1.0),
    )
    penalty = {"behaviour_penalty_weight": -1.0, "behaviour_penalty_decay": 0.75}
    yield "the behaviour penalty (P7)", _scores({}, **penalty)
    yield "IP colocation (P6)", _scores({}, ip_colocation_factor_weight=-1.0)


def _scores(of_topic: Mapping[str, Any], **of_all: float) -> ScoreParameters:
    topic = TopicScoreParameters(topic=TOPIC, **{**DECAYS, **of_topic})
    return ScoreParameters(topics=(topic,), app_specific_weight=FINE, **of_all)  # type: ignore[arg-type]


def _says(peer: Peer, *parts: Part) -> Receive:
    return Receive((peer,), parts)


def _brings(peer: Peer, name: str, waits: bool, judgement: str = "accept") -> Iterator[Event]:
    yield _says(peer, Message(name, TOPIC))
    if waits:
        yield Verdict(name, judgement)  # type: ignore[arg-type]


def _meets() -> tuple[Event, ...]:
    both = (ONE, OTHER)
    return (
        Join(TOPIC),
        Connect(both),
        Receive(both, (Subscribe(TOPIC),)),
        Score(both, HIGH),
        Receive(both, (Graft(TOPIC),)),
    )


WAITING, INSIDE, LEFT = "while a message waits for its verdict", "in the mesh", "outside the mesh"
BACK, NEW = "back in the mesh", "once it has connected again"


def _life(parameters: Any, waits: bool, term: str) -> ScoredLife:
    """A member delivers, breaks a promise, grows older, leaves the mesh, comes back, and disconnects."""
    events, moments = [*_meets(), Advance(600)], dict[int, str]()

    def then(when: str, *more: Event) -> None:
        events.extend(more)
        moments[len(events)] = when

    for name in ("m901", "m902", "m903"):
        events += _brings(ONE, name, waits)
    events += [_says(peer, Message("m901", TOPIC)) for peer in (OTHER, OTHER, ONE)]
    if waits:
        events += [*_brings(ONE, "m904", waits, "reject"), *_brings(ONE, "m905", waits, "reject")]
        events += _brings(ONE, "m906", waits, "ignore")
        then(WAITING, *(_says(peer, Message("m907", TOPIC)) for peer in (ONE, OTHER)))
        events.append(Verdict("m907", "accept"))
    then(INSIDE, _says(ONE, IHave(TOPIC, ("m908",))), Advance(1500))
    then(INSIDE, Advance(2000))
    then(INSIDE, Advance(500))
    then(LEFT, _says(ONE, Prune(TOPIC, 1)))
    then(LEFT, Advance(1800))
    then(BACK, _says(ONE, Graft(TOPIC)), Advance(1700))
    then(BACK, *_brings(ONE, "m909", waits))
    then(NEW, Disconnect((ONE,)), Advance(1000), Connect((ONE,)), _says(ONE, Subscribe(TOPIC)))
    then(NEW, _says(ONE, Graft(TOPIC)), Advance(2000))
    return ScoredLife(with_authors(events, parameters), moments, parameters, term=term)


def _short_life(parameters: Any, term: str) -> ScoredLife:
    """A member that owes deliveries is pruned for its score."""
    owes = (*_meets(), Advance(2600), Score((ONE,), LOW), Advance(1000), Score((ONE,), HIGH))
    events = (*owes, Advance(2000), Advance(2000))
    moments = dict.fromkeys(range(len(owes), len(events) + 1), "once it is pruned for its score")
    return ScoredLife(events, moments, parameters, (ONE,), term=term)


def scores_to_measure(
    life: ScoredLife, lived: FreshRun, edits: Sequence[Edit], protocol: Protocol
) -> Iterator[MeasuredScore]:
    """Where edits say something else of a score than the protocol without them, in a life that the router has
    `lived`. In that of the minimal run each score that has terms: there every edit is asked, because what the
    router does is for its score if that is another one."""
    plain = _states(protocol, life, lived)
    under: dict[str, Mapping[int, Router]] = {}
    for edit in edits:
        changed = applied(edit, protocol) if is_of_scores(edit, protocol) else None
        if changed is not None:
            under[edit.name] = _states(changed, life, lived)
    for peer in life.peers:
        told = {at: _told_of(peer, r, at, under) for at, r in plain.items() if _may_advertise(r, peer)}
        differing = [
            at
            for at, (own, others) in told.items()
            if any(each != own for each in others.values()) or not (life.term or _is_plain(plain[at], peer))
        ]
        said = {
            at: frozenset(name for name, each in others.items() if each != own)
            for at, (own, others) in told.items()
        }
        for at in differing[:: max(1, -(-len(differing) // MOST_MOMENTS))]:
            own, others = told[at]
            edges = {edge for each in (own, *others.values()) for edge in each if edge is not None}
            asked = said[at] if life.term else frozenset(edit.name for edit in edits)
            place = life.term, life.moments[at]
            yield MeasuredScore(
                life.events[:at], peer, life.topic, tuple(sorted(edges)), asked, *place, said, own, others
            )


def _is_plain(r: Router, peer: Peer) -> bool:
    """Whether nothing makes a score."""
    return peer not in r.scores and r.bounds(peer) == ZERO


def _may_advertise(r: Router, peer: Peer) -> bool:
    return peer in r.peers and not r.peers[peer].speaks_floodsub


def _told_of(
    peer: Peer, plain: Router, at: int, under: Mapping[str, Mapping[int, Router]]
) -> tuple[Edges, dict[str, Edges]]:
    there = {name: states[at] for name, states in under.items() if at in states}
    return edges_of(plain, peer), {name: edges_of(r, peer) for name, r in there.items()}


def _states(protocol: Protocol, life: ScoredLife, lived: FreshRun) -> dict[int, Router]:
    """The state at each moment, up to where the protocol departs from what the router did."""
    oracle, found = Oracle(protocol, life.parameters, tells=False), dict[int, Router]()
    asked = dict(zip(steps_before(life.events, lived), range(len(life.events) + 1), strict=False))
    for at, step in enumerate((*lived.steps, None)):
        if asked.get(at) in life.moments and isinstance(oracle.state, Router):
            found[asked[at]] = oracle.state
        if step is None or not agreement_from(oracle, (step,)).agreed:
            return found
    return found


def steps_before(events: Sequence[Event], lived: FreshRun) -> list[int]:
    """Before each event, and in the end, how many steps of the run there were: a burst is one for each peer,
    and a wait is one for each heartbeat in it."""
    found, at = [0], 0
    for event in events:
        left_ms = event.ms if isinstance(event, Advance) else 0
        while at < len(lived.steps) and _is_of(lived.steps[at][0], event, left_ms):
            step, at = lived.steps[at][0], at + 1
            left_ms -= step.ms if isinstance(step, Advance) else 0
            if not left_ms and (isinstance(step, Advance) or step == event):
                break
        found.append(at)
    return found


def _is_of(step: Event, event: Event, left_ms: int) -> bool:
    if isinstance(step, Advance):
        return isinstance(event, Advance) and step.ms <= left_ms
    burst: Any = event
    peers = getattr(event, "peers", ())
    return step == event or (bool(peers) and any(step == evolve(burst, peers=(peer,)) for peer in peers))


def edges_of(r: Router, peer: Peer) -> Edges:
    """What the application has to say at most so that the score is surely below the gossip threshold, and at
    least so that it surely is not; None where that makes no difference."""
    threshold = interval(r.parameters.gossip_threshold)

    def bounds(value: int) -> ScoreInterval:
        return evolve(r, scores={**r.scores, peer: value}).bounds(peer)

    below = _first(lambda value: bounds(value).hi >= threshold.lo)
    above = _first(lambda value: bounds(value).lo >= threshold.lo)
    return (below - 1 if below is not None else None), above


def _first(holds: Callable[[int], bool]) -> int | None:
    """The least value for which something holds that holds for all that are greater."""
    low, high = -FARTHEST, FARTHEST
    if holds(low) or not holds(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def is_requested(run: FreshRun) -> bool:
    """Whether the router asks for the message that is advertised in the end."""
    sent = (output for _, outputs in run.steps for output in outputs if isinstance(output, Sent))
    return any(isinstance(each.part, IWant) and ASKED_FOR in each.part.ids for each in sent)


def is_heeded(play: Play, interval_ms: int, measured: MeasuredScore, value: int) -> bool | None:
    """Whether the router asks for it where the application says `value`; None where it cannot be played."""
    run = play(measured.acts(value, interval_ms))
    return is_requested(run) if run is not None else None


def measured_runs(measured: MeasuredScore, interval_ms: int, play: Play) -> list[FreshRun]:
    """Runs at edges, each between those at which the router has heeded the peer and those at which it has
    not. None where the router does the same whatever the score is: then that says nothing of it."""
    found, heeded = list[FreshRun](), set[bool]()
    low, high = 0, len(measured.edges)
    while low < high:
        middle = (low + high) // 2
        run = play(measured.acts(measured.edges[middle], interval_ms))
        if run is None:
            return []
        found.append(run)
        heeded.add(is_requested(run))
        low, high = (low, middle) if is_requested(run) else (middle + 1, high)
    return found if len(heeded) > 1 or _goes_by_scores(measured, interval_ms, play, heeded) else []


def _goes_by_scores(measured: MeasuredScore, interval_ms: int, play: Play, heeded: Collection[bool]) -> bool:
    """Whether the router does otherwise at the farthest score than at those at which it `heeded` the peer, or
    did not."""
    run = play(measured.acts(-FARTHEST if True in heeded else FARTHEST, interval_ms))
    return run is not None and is_requested(run) not in heeded


@mutable
class OtherFaults:
    """Which edits a measured score does not judge, because another fault of the router shows in it.

    There the score is neither what the protocol says nor what the edit says. So it is as well where an edit
    names the right term and a wrong amount: that refutes it. Two things do not, where the edit has said
    before what the score is, and the protocol has not: a score that is lost with the connection; and a term
    that does not count in the minimal run. Nor does a score that was off before by what the edit says nothing
    of, if the edit says nearly all the rest.
    """

    protocol: Protocol
    parameters: Any
    """Of the minimal run."""
    right: dict[str, list[MeasuredScore]] = field(factory=dict)
    """Name of an edit -> what it says of a score that the protocol does not."""

    def spared(
        self,
        measured: MeasuredScore,
        runs: Sequence[FreshRun],
        edits: Sequence[Edit],
        first_off: Callable[[Peer], int | None],
        is_heeded: Heeds,
    ) -> frozenset[str]:
        """Names of the edits that these runs, at one moment, do not judge.

        `first_off` says at which moment of the life a peer's score is off first, if it ever is, and
        `is_heeded` whether the router heeds the peer at a value of the application's.
        """
        if not measured.term:
            return frozenset()
        follows, found = all(_follows(run, self.protocol) for run in runs), set[str]()
        for edit in (each for each in edits if each.name in measured.asked):
            changed, name = applied(edit, self.protocol), edit.name
            if not follows and changed is not None and all(_follows(run, changed) for run in runs):
                self.right.setdefault(name, []).append(measured)
            elif self._is_lost(measured, name, is_heeded):
                found.add(name)
            elif follows:
                continue
            elif _was_off(measured, name, first_off(measured.peer)) and _is_near(measured, name, is_heeded):
                self.right.setdefault(name, []).append(measured)
                found.add(name)
            elif name in self.right and not counts_in(measured.term, self.parameters):
                found.add(name)
        return frozenset(found)

    def _is_lost(self, measured: MeasuredScore, name: str, is_heeded: Heeds) -> bool:
        """Whether a peer that has connected again has the score of one that never counted, where the edit was
        right before."""
        place = measured.term, measured.peer
        before = any(
            (each.term, each.peer) == place and each.when != NEW for each in self.right.get(name, ())
        )
        if measured.when != NEW or not before:
            return False
        least = math.ceil(self.parameters.gossip_threshold / FINE)
        return is_heeded(measured, least) is True and is_heeded(measured, least - 1) is False


def _was_off(measured: MeasuredScore, name: str, first_off: int | None) -> bool:
    before = first_off is not None and first_off < len(measured.events)
    return before and name not in measured.said.get(first_off or 0, frozenset())


def _is_near(measured: MeasuredScore, name: str, is_heeded: Heeds) -> bool:
    """Whether the score is off by a tenth at most of what the edit changes."""
    own = next((edge for edge in measured.own if edge is not None), None)
    told = next((edge for edge in measured.others[name] if edge is not None), None)
    if own is None or told is None:
        return False
    around = max(2, abs(told - own) // NEAR)
    return is_heeded(measured, told + around) is True and is_heeded(measured, told - around) is False


def first_off_in(life: ScoredLife, lived: FreshRun, protocol: Protocol, play: Play, peer: Peer) -> int | None:
    """Of the moments that end a stage, the first at which the peer's score is not what the protocol says."""
    of_peer = evolve(life, peers=(peer,))
    return next((len(measured.events) for *_, measured in _misjudged(of_peer, lived, protocol, play)), None)


def _follows(run: FreshRun, protocol: Protocol) -> bool:
    return agreement(run, protocol).agreed == len(run.steps)


def counts_in(term: str, parameters: Any) -> bool:
    """Whether something that counts in the lives of a term counts under these parameters, or nothing does."""
    given = _weights(parameters.scores)
    told = next((_weights(scores) for name, scores in _of_one_term() if name == term), given)
    return not given or bool(given & told)


def _weights(scores: ScoreParameters) -> set[str]:
    """Names of the weights that are not 0, that of the application and those of topics aside."""
    of_topics = ((f.name, getattr(topic, f.name)) for topic in scores.topics for f in fields(type(topic)))
    of_all = ((f.name, getattr(scores, f.name)) for f in fields(type(scores)))
    weights = {name for name, value in (*of_topics, *of_all) if name.endswith("_weight") and value}
    return weights - {"topic_weight", "app_specific_weight"}


def is_late(life: ScoredLife, lived: FreshRun, protocol: Protocol, play: Play) -> bool:
    """Whether a score follows what the application says only after a time. Then it cannot be measured, and
    what is seen of it says nothing of how it is made."""
    at_once, later = ([*_misjudged(life, lived, protocol, play, waits)] for waits in (0, LATE))
    return bool(at_once) and not later


def _misjudged(
    life: ScoredLife, lived: FreshRun, protocol: Protocol, play: Play, waits: int = 0
) -> Iterator[tuple[str, str, MeasuredScore]]:
    """At which edge of what the protocol says, and when, the router answers as if a score were `higher`, or
    `lower`, and what was measured. It is asked after `waits` heartbeats."""
    interval_ms, states = life.parameters.heartbeat_interval_ms, _states(protocol, life, lived)
    last = {when: at for at, when in life.moments.items() if at in states}
    for when, at in last.items():
        for peer in (each for each in life.peers if _may_advertise(states[at], each)):
            edges = edges_of(states[at], peer)
            measured = MeasuredScore(life.events[:at], peer, life.topic, (), frozenset())
            for edge, off in zip(edges, ("higher", "lower"), strict=True):
                run = play(measured.acts(edge, interval_ms, waits)) if edge is not None else None
                if run is not None and is_requested(run) == (off == "higher"):
                    yield off, when, measured


def off_from(life: ScoredLife, lived: FreshRun, protocol: Protocol, play: Play) -> tuple[str, str] | None:
    """Whether the score of a peer is `higher` or `lower` than the protocol says, where only one thing counts,
    and when it is so first; None where it is neither."""
    for off, when, measured in _misjudged(life, lived, protocol, play):
        if _goes_by_scores(measured, life.parameters.heartbeat_interval_ms, play, (off == "higher",)):
            return off, when
    return None


@frozen
class TermsOff:
    """The terms of a score that count otherwise than the protocol says."""

    says: str = ""
    """A sentence; empty where none does."""
    clauses: tuple[str, ...] = ()

    def refiled(self, clause: str) -> str:
        """The clause of the first of them in place of that of a term which counts as it should. How long a
        counter stands is of any term."""
        about_a_term = clause in (*CLAUSE_OF_TERM.values(), RETAIN)
        return self.clauses[0] if self.clauses and about_a_term and clause not in self.clauses else clause


NONE_OFF = TermsOff()


def counted_otherwise(found: Sequence[tuple[ScoredLife, tuple[str, str]]]) -> TermsOff:
    """What is known of terms that count otherwise than the protocol says."""
    of_all = next((off for life, (off, _) in found if life.term == APPLICATION), None)
    if of_all is not None:
        threshold = "lower" if of_all == "higher" else "higher"
        return TermsOff(
            f"It heeds peers as if their scores were {of_all}, or the gossip threshold {threshold}."
        )
    said: dict[str, str] = {}
    for life, (off, when) in found:
        # What counts up to its cap otherwise counts otherwise at its cap as well.
        if not any(life.term.startswith(term) for term in said):
            said[life.term] = (
                f"{ALONE.format(life.term)} a score is {off} than the specification says, {when}"
            )
    told = "; and ".join([*said.values()][:MOST_TOLD])
    if not told:
        return NONE_OFF
    return TermsOff(f"{told[:1].upper()}{told[1:]}.", tuple(_clause_of(*each) for each in found))


def _clause_of(life: ScoredLife, off: tuple[str, str]) -> str:
    """The clause of what counts alone; a score that is another one only in a new connection was not kept."""
    _, when = off
    of_term = (clause for term, clause in CLAUSE_OF_TERM.items() if life.term.startswith(term))
    return RETAIN if when == NEW else next(of_term)
