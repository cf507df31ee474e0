"""The model beside a router: after each event, was what the router did in the allowed set?

The model's choices are read off the router's outputs (`AngelicChoices`); what is allowed and due are permits.
Where the router departs, the departure is noted and the model goes on from what it was seen to do.
"""

from __future__ import annotations

import typing
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from attrs import field, fields, frozen, mutable

from quidnunc.model.choices import MAX_FORKS, TOO_FEW, AngelicChoices, next_split
from quidnunc.model.events import (
    ANY_STATE,
    Advance,
    Crashed,
    Disconnect,
    Event,
    Leave,
    Offered,
    Output,
    Resume,
    Sent,
    Verdict,
    output_key,
)
from quidnunc.model.machine import Family, family_of
from quidnunc.model.mempool.node import Node
from quidnunc.model.permits import Permit, Step
from quidnunc.model.rpc import ROUTER, UNSAID, Extensions, Message, Partial, Peer, Prune, Subscribe
from quidnunc.model.rules import Protocol
from quidnunc.model.values import evolve
from quidnunc.properties.blame import partial as partial_blame
from quidnunc.properties.blame.outputs import forbidding_clause
from quidnunc.properties.blame.peer_exchange import offer_clause
from quidnunc.properties.claims.catalogue import applied_clauses, untested_clauses
from quidnunc.properties.judge.alike import classes_of, unordered
from quidnunc.properties.occasions.mempool import in_pool_order, txs_to
from quidnunc.properties.occasions.occasion import ObservedStep

MAX_SPLITS = 512
"""How many splits of the choices of one step are tried before it is said that none agrees, or that there are
too many to know."""

Kind: TypeAlias = Literal["unexpected", "missing", "differs", "choice", "crash"]


@frozen
class Departure:
    """One disagreement of a router and the model, at one event."""

    kind: Kind
    clause: str
    """The clause of the unspent or differing permit, or of the choice; for what nothing permits, a guess
    from its kind that an explanation replaces."""
    expected: Output | None = None
    observed: Output | None = None
    reason: str = ""


MAX_TIMERS = 64
"""What a wait past more timers than that comes to is not looked into."""


@frozen
class EventJudgement:
    """The result of one event."""

    departures: tuple[Departure, ...]
    because: tuple[str, ...]
    spent: tuple[str, ...]
    """Clauses of the obligations that were met in this step, and those that hold of every output, where the
    step was an occasion to break them."""
    permits: tuple[Permit, ...]
    """All that was permitted at this step, older permits included."""
    blurred: bool = False
    """The router's choice could not be seen; the run cannot go on."""
    unspent: tuple[Permit, ...] = ()
    """What was permitted and did not come."""
    untested: tuple[str, ...] = ()
    """Those of `because` that no router could have broken in this step."""


@frozen
class _SplitResult:
    """One split of the choices of a step, and what comes of it."""

    judged: EventJudgement
    state: Any
    left: tuple[Permit, ...]

    @property
    def departed(self) -> int:
        return len(self.judged.departures)

    def agrees_otherwise(self, best: _SplitResult) -> bool:
        """Whether what was seen agrees with it as well, and the router would be elsewhere."""
        return not self.departed and (self.state, self.left) != (best.state, best.left)


def _better(best: _SplitResult | None, tried: _SplitResult) -> _SplitResult:
    return tried if best is None or tried.departed < best.departed else best


class Notes(typing.Protocol):
    """Who is told of each step that an oracle takes."""

    def before(self, oracle: Oracle) -> None: ...

    def after(self, judged: EventJudgement | None) -> None:
        """`None`: the step could not be judged."""


@mutable
class Oracle:
    """Follows one router through one run."""

    protocol: Protocol
    parameters: Any
    state: Any = None
    open: tuple[Permit, ...] = ()
    tells: bool = True
    """Whether it is asked which clauses applied, which takes a fifth of its time."""
    notes: Notes | None = None
    """Who is told of each step."""
    _family: Family = field(init=False)
    _out_of_order: Callable[[Any, Sequence[Output]], Sequence[Departure]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._family = family_of(self.protocol)
        self._out_of_order = _OUT_OF_ORDER[self.protocol.family]
        if self.state is None:
            self.state = self._family.start(self.protocol, self.parameters)

    def applicable(self, event: Event) -> bool:
        return bool(self._family.applicable(self.state, event))

    def follows(self, event: Event) -> bool:
        """Whether the event can happen here, or is a wait that goes past a timer: an edit may have made it
        shorter than that of the protocol by which the run was played."""
        return self.applicable(event) or self._goes_past_a_timer(event)

    def _goes_past_a_timer(self, event: Event) -> bool:
        return isinstance(event, Advance) and event.ms > self._family.until_tick_ms(self.state)

    def passes_over(self, event: Event, outputs: Sequence[Output]) -> bool:
        """Whether nothing comes of an event that cannot happen here: a verdict on a message that an edited
        protocol has decided on, or dropped, before."""
        return isinstance(event, Verdict) and not outputs and not self.applicable(event)

    def follow(self, event: Event, outputs: Sequence[Output]) -> None:
        """Take the step of a run that was judged by another protocol; of an event that cannot happen under
        this one nothing comes."""
        if self.follows(event):
            self.judge(event, outputs)

    def judge(self, event: Event, outputs: Sequence[Output]) -> EventJudgement:
        """Take one step of the model along `outputs`. Keeps the split of a choice that agrees best."""
        if self.notes is None:
            return self._judge(event, outputs)
        judged = None
        self.notes.before(self)
        try:
            judged = self._judge(event, outputs)
        finally:
            self.notes.after(judged)
        return judged

    def _judge(self, event: Event, outputs: Sequence[Output]) -> EventJudgement:
        if self.protocol.lens is not None:
            outputs = self.protocol.lens(isinstance(event, Advance), tuple(outputs))
        if isinstance(event, Advance) and self._goes_past_a_timer(event):
            return self._judge_in_parts(event.ms, outputs)
        seen = frozenset(output_key(o) for o in outputs)
        best: _SplitResult | None = None
        split, splits, frees, wanted = 0, 1, 0, frozenset[Output]()
        blind = _stalled(self.state) - _resumed(event)
        for _ in range(MAX_FORKS):
            angel = AngelicChoices(seen, split, blind, wanted=wanted)
            tried = self._try(event, outputs, angel)
            best = _better(best, tried)
            # One answer may end the step before the next question, and then says less of how many there are.
            splits, frees = max(splits, angel.alternatives), max(frees, angel.frees)
            if not best.departed or splits == 1:
                break
            # What nothing accounts for belongs to a choice that had more than it could take.
            left_over = frozenset(
                output_key(d.observed) for d in tried.judged.departures if d.observed is not None
            )
            if left_over <= wanted:
                split += 1
            if split >= splits:
                break
            wanted |= left_over
        assert best is not None
        # Where not every answer is tried, whether none agrees, or another too, is not known.
        unclear = 2**frees > MAX_FORKS
        if best.departed and (splits > 1 or _may_have_left(angel)) and not unclear:
            # That order was a guess at what agrees: that nothing does is known after all of them.
            best, unclear = self._best_of_all(event, outputs, blind, best)
        elif frees and not unclear:
            rest = range(split + 1, min(splits, MAX_FORKS))
            others = (self._try(event, outputs, AngelicChoices(seen, n, blind, wanted=wanted)) for n in rest)
            unclear = any(other.agrees_otherwise(best) for other in others)
        self.state, self.open = best.state, best.left
        return evolve(best.judged, departures=(), blurred=True) if unclear else best.judged

    def _judge_in_parts(self, left_ms: int, outputs: Sequence[Output]) -> EventJudgement:
        """A wait past some timers. What came in it comes with the first of them at which it may come."""
        permits, unspent = list[Permit](), list[Permit]()
        for _ in range(MAX_TIMERS):
            wait_ms = min(left_ms, self._family.until_tick_ms(self.state))
            before, waited = (self.state, self.open), Advance(wait_ms)
            judged, left_ms = self._judge(waited, outputs), left_ms - wait_ms
            later = [d.observed for d in judged.departures if d.kind == "unexpected" and d.observed]
            if later and left_ms:
                now = [*outputs]
                for output in later:
                    now.remove(output)
                self.state, self.open = before
                judged = self._judge(waited, now)
            permits += judged.permits
            unspent += judged.unspent
            judged = evolve(judged, permits=tuple(permits), unspent=tuple(unspent))
            if judged.departures or judged.blurred or not left_ms:
                self._wait_out(left_ms)
                return judged
            outputs = later
        self._wait_out(left_ms)
        return evolve(judged, blurred=True)

    def _wait_out(self, left_ms: int) -> None:
        """What is left of a wait whose verdict is known: the clock is right after it."""
        for _ in range(MAX_TIMERS):
            if left_ms <= 0:
                return
            wait_ms = min(left_ms, self._family.until_tick_ms(self.state))
            self._judge(Advance(wait_ms), ())
            left_ms -= wait_ms

    def _best_of_all(
        self, event: Event, outputs: Sequence[Output], blind: frozenset[Peer], best: _SplitResult
    ) -> tuple[_SplitResult, bool]:
        """The best of all splits and `best`, and whether it is unclear which one the router took."""
        seen = frozenset(output_key(o) for o in outputs)
        shown_by = {o.peer for o in outputs if isinstance(o, Sent)}
        alike = classes_of(shown_by, self.state, event, unordered(self.open), unordered(outputs))
        split: int | None = 0
        for _ in range(MAX_SPLITS):
            if split is None:
                return best, False
            # One more than are tried: so many are never all.
            angel = AngelicChoices(seen, split, blind, limit=MAX_SPLITS + 1, alike=alike)
            tried = self._try(event, outputs, angel)
            if tried.agrees_otherwise(best) and angel.frees and not best.departed:
                return best, True
            best = _better(best, tried)
            if not best.departed and not angel.frees:
                return best, False
            split = next_split(split, angel.widths)
        return best, split is not None

    def _try(self, event: Event, outputs: Sequence[Output], angel: AngelicChoices) -> _SplitResult:
        after = self._family.step(self.state, event, angel)
        judged, left = self._match(event, after, outputs, angel)
        return _SplitResult(judged, after.router, left)

    def _match(
        self,
        event: Event,
        after: Step[Any],
        outputs: Sequence[Output],
        angel: AngelicChoices,
    ) -> tuple[EventJudgement, tuple[Permit, ...]]:
        held = self._still_open(event)
        ticked = isinstance(event, Advance) and self._family.until_tick_ms(self.state) == event.ms
        granted, stalled = _once_each(after.permits), _stalled(after.router)
        # What a heartbeat itself causes is due with it; what came before it was due by it.
        due_now = [p.within == "now" or ticked for p in granted]
        permits = [*held, *granted]
        due = [ticked] * len(held) + due_now
        used, departures = _spend(permits, outputs, event, self.state)
        departures += self._out_of_order(after.router, outputs)
        for problem in angel.problems:
            departures.append(Departure("choice", problem.clause, reason=f"{problem.name}: {problem.reason}"))
        departures += _left_out(permits, used, stalled, outputs)
        left: list[Permit] = []
        for at, permit in enumerate(permits):
            if at in used:
                continue
            if isinstance(permit.output, Sent) and permit.output.peer in stalled:
                left.append(evolve(permit, must=False, within="heartbeat"))
            elif not due[at]:
                left.append(permit)
            elif permit.must:
                departures.append(Departure("missing", permit.clause, expected=permit.output))
        spent: tuple[str, ...] = ()
        untested: tuple[str, ...] = ()
        if self.tells:
            met = tuple(permits[at].clause for at in used if permits[at].must)
            step = ObservedStep(self.state, event, ticked, outputs, angel.because)
            spent, untested = met + applied_clauses(step), untested_clauses(step)
        judged = EventJudgement(
            tuple(departures),
            tuple(angel.because),
            spent,
            tuple(permits),
            angel.blurred,
            tuple(permit for at, permit in enumerate(permits) if at not in used),
            untested,
        )
        return judged, tuple(left)

    def _still_open(self, event: Event) -> list[Permit]:
        """Older permits that this event does not make void."""
        if isinstance(event, Disconnect):
            gone = set(event.peers)
            return [p for p in self.open if not (isinstance(p.output, Sent) and p.output.peer in gone)]
        if isinstance(event, Leave):
            return [evolve(p, must=False) if _topic(p.output) == event.topic else p for p in self.open]
        return list(self.open)


def _may_have_left(angel: AngelicChoices) -> bool:
    """Whether a choice is wrong, and some choice could have left more to it or to one that was not asked."""
    return bool(angel.problems) and angel.could_leave


def _once_each(granted: tuple[Permit, ...]) -> tuple[Permit, ...]:
    """What one step asks for twice is owed once: an RPC may repeat an id."""
    owed: set[Output] = set()
    result: list[Permit] = []
    for permit in granted:
        again = permit.must and permit.output in owed
        result.append(evolve(permit, must=False) if again else permit)
        if permit.must:
            owed.add(permit.output)
    return tuple(result)


def _left_out(
    permits: Sequence[Permit], used: Collection[int], stalled: Collection[Peer], outputs: Sequence[Output]
) -> list[Departure]:
    """Who was not sent what goes to all of some peers or to none, where another one was."""
    together = [
        (at, p, p.output) for at, p in enumerate(permits) if p.together and isinstance(p.output, Sent)
    ]
    begun = {(p.clause, sent.part) for at, p, sent in together if at in used}
    return [
        Departure("missing", p.clause, expected=sent)
        for _, p, sent in together
        if (p.clause, sent.part) in begun and sent not in outputs and sent.peer not in stalled
    ]


def _spend(
    permits: Sequence[Permit], outputs: Sequence[Output], event: Event, before: Any
) -> tuple[set[int], list[Departure]]:
    """Which permits the outputs use up, obligations first, and what no permit covers."""
    if not outputs:
        return set(), []
    by_key: dict[Output, list[int]] = defaultdict(list)
    for at, permit in enumerate(permits):
        by_key[output_key(permit.output)].append(at)
    used: set[int] = set()
    departures: list[Departure] = []
    for output in outputs:
        if isinstance(output, Crashed):
            departures.append(Departure("crash", "pubsub/rpc.any-combination", observed=output))
            continue
        free = [at for at in by_key.get(output_key(output), ()) if at not in used]
        exact = [at for at in free if _covers(permits[at].output, output)]
        if exact:
            used.add(max(exact, key=lambda at: permits[at].must))
        elif free:
            at = max(free, key=lambda at: permits[at].must)
            used.add(at)
            expected = permits[at].output
            departures.append(
                Departure("differs", differing_clause(expected, before, output), expected, output)
            )
        else:
            clause = forbidding_clause(output, event, before)
            departures.append(Departure("unexpected", clause, observed=output))
    return used, departures


def _out_of_pool_order(after: Node, outputs: Sequence[Output]) -> list[Departure]:
    """Transactions that reached a peer in another order than that of the pool."""
    if not in_pool_order(after.protocol):
        return []
    place = {tx: at for at, tx in enumerate(after.pool)}
    found = []
    for peer, txs in txs_to(outputs).items():
        known = [tx for tx in txs if tx in place]
        for first, second in zip(known, known[1:], strict=False):
            if place[first] > place[second]:
                reason = f"pool.order: {first} before {second} to {peer}"
                found.append(Departure("choice", "flood/send.pool-order", reason=reason))
    return found


_OUT_OF_ORDER: Mapping[str, Callable[[Any, Sequence[Output]], Sequence[Departure]]] = {
    "pubsub": lambda after, outputs: (),
    "mempool": _out_of_pool_order,
}
"""By the name that `Protocol.family` has."""


def _covers(permitted: Output, output: Output) -> bool:
    """Whether the output is the permitted one, up to what the permit leaves open."""
    if permitted == output:
        return True
    if isinstance(permitted, Offered):
        return permitted.state == ANY_STATE
    part = permitted.part if isinstance(permitted, Sent) else None
    if not isinstance(part, Prune):
        return False
    return part.backoff_s == UNSAID or (isinstance(output, Sent) and _offers_within(part, output.part))


def _offers_within(permitted: Prune, part: object) -> bool:
    """Whether a PRUNE lists some of those that it may, each once, and their records, if any, are good."""
    if permitted.records != "any" or not isinstance(part, Prune) or part.backoff_s != permitted.backoff_s:
        return False
    once = len(set(part.peers)) == len(part.peers)
    return once and set(part.peers) <= set(permitted.peers) and part.records in ("", "signed")


def faults(departure: Departure) -> frozenset[str]:
    """Of an output that came with another content: the names of the fields of its part that differ."""
    expected, observed = departure.expected, departure.observed
    if departure.kind != "differs" or not isinstance(expected, Sent) or not isinstance(observed, Sent):
        return frozenset()
    part = expected.part
    return frozenset(
        each.name
        for each in fields(type(part))
        if getattr(part, each.name) not in (UNSAID, getattr(observed.part, each.name, None))
    )


def is_part_of(left: Departure, whole: Departure) -> bool:
    """Whether one is what is left of the other: of the same output, fewer fields differ."""
    return left.observed == whole.observed and bool(faults(left)) and faults(left) < faults(whole)


def is_left_out(departure: Departure) -> bool:
    """Whether the router did less than it had to, and nothing else."""
    return departure.kind == "missing" or (departure.kind == "choice" and TOO_FEW in departure.reason)


def garbled(departure: Departure) -> Sent | None:
    """What was sent, with yet another value where a number or a list is not as expected; None where neither
    differs."""
    sent = departure.observed
    if not isinstance(sent, Sent):
        return None
    values = ((name, getattr(sent.part, name)) for name in faults(departure))
    others: dict[str, Any] = {n: _another(v) for n, v in values if type(v) in (int, tuple)}
    return evolve(sent, part=evolve(sent.part, **others)) if others else None


def _another(value: int | tuple[object, ...]) -> int | tuple[object, ...]:
    return value + 1 if isinstance(value, int) else (*value, UNSAID)


def differing_clause(expected: Output, before: Any = None, observed: Output | None = None) -> str:
    """The clause that the content of an output keeps to, where the act itself was permitted."""
    match expected:
        case Sent(_, Prune(backoff_s=backoff_s)):
            said = observed.part if isinstance(observed, Sent) else None
            if (
                observed is not None
                and isinstance(said, Prune)
                and said.peers
                and said.backoff_s == backoff_s
            ):
                return offer_clause(expected, observed, before)
            return "gs1.1/backoff.announce"
        case Sent(_, Extensions()):
            return "gs1.3/extensions.first-rpc"
        case Sent(_, Subscribe()):
            return "pm/subscription.flags"
        case Sent(_, Partial(_, _, payload)):
            return "pm/send.no-part-unrequested" if payload is None else "pm/rpc.opaque"
        case Offered():
            return partial_blame.of_state(before)
        case Sent(_, Message(author=author)) if author == ROUTER:
            return _own_clause(observed)
        case _:
            return "pubsub/relay.unchanged"


def _own_clause(observed: Output | None) -> str:
    """What a message of the router's own is not as it should be in."""
    part = observed.part if isinstance(observed, Sent) else None
    flaw = part.flaw if isinstance(part, Message) else ""
    if flaw in ("no-seqno", "stale-seqno"):
        return "pubsub/publish.seqno"
    if flaw == "stamped":
        return "pubsub/signing.no-sign"
    return "pubsub/signing.sign" if flaw in UNSIGNED else "pubsub/relay.unchanged"


UNSIGNED = ("no-author", "unsigned", "forged", "foreign-key", "other-key", "junk-key", "no-key")
"""Flaws of a message that is not signed as the policy asks."""


def _stalled(state: Any) -> frozenset[Peer]:
    peers: Mapping[Peer, Any] = getattr(state, "peers", {})
    return frozenset([p for p, n in peers.items() if n.stalled])


def _resumed(event: Event) -> frozenset[Peer]:
    return frozenset(event.peers) if isinstance(event, Resume) else frozenset()


def _topic(output: Output) -> str | None:
    part = output.part if isinstance(output, Sent) else getattr(output, "message", None)
    return getattr(part, "topic", None)
