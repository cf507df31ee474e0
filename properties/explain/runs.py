"""Which clause a short run breaks where no edit accounts for it: what is left in such a run, it needs.

`quidnunc.properties.blame.outputs` sees one output and the state. Here the whole run speaks, after it was
minimised: had an event been of no matter it would be gone. So a message that is missing after another peer
said IDONTWANT for it is a matter of IDONTWANT, and one that is missing without any is a matter of relay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

from attrs import frozen

from quidnunc.model.edit import Edit, dropping, edited
from quidnunc.model.edits.operators.wrapped import ENDLESS
from quidnunc.model.events import (
    Adjust,
    Advance,
    Closed,
    Delivered,
    Disconnect,
    Event,
    GossipAsked,
    Join,
    Leave,
    Offered,
    PartialIn,
    Publish,
    PublishPartial,
    Receive,
    Sent,
)
from quidnunc.model.mempool.node import Node
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import (
    Graft,
    HaveTx,
    IDontWant,
    IHave,
    Message,
    Part,
    Partial,
    Peer,
    Prune,
    ResetRoute,
    Subscribe,
    TestExtension,
    Tx,
    Unsubscribe,
    WantTx,
)
from quidnunc.model.rules import Protocol, Total, rule
from quidnunc.model.score_interval import DENOMINATOR, ScoreInterval
from quidnunc.model.values import evolve
from quidnunc.properties.blame import partial as partial_blame
from quidnunc.properties.blame.outputs import OUTSIDE_MESH, gossip_clause
from quidnunc.properties.claims.catalogue import claim_on
from quidnunc.properties.explain import scores as score_blame
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import Moment, rejudge

P = TypeVar("P", bound=Part)


@frozen
class MinimalRun:
    """A minimal run, its departure the last moment."""

    moments: tuple[Moment, ...]
    states: tuple[Any, ...]
    """Before each of them."""

    @property
    def state(self) -> Any:
        """Before the last moment."""
        return self.states[-1]

    @property
    def last(self) -> Event:
        return self.moments[-1].event

    def heard(self, kind: type[P]) -> Iterator[tuple[int, Peer, P]]:
        """Parts of one kind that were received: (number of the moment, from whom, the part)."""
        for at, moment in enumerate(self.moments):
            if isinstance(moment.event, Receive):
                for peer in moment.event.peers:
                    yield from ((at, peer, p) for p in moment.event.parts if isinstance(p, kind))

    def last_of(self, *kinds: type[Event]) -> int:
        """The number of the last event of these kinds; -1 where there is none."""
        return max((at for at, m in enumerate(self.moments) if isinstance(m.event, kinds)), default=-1)

    def last_loss(self) -> int:
        """The number of the last moment in which a peer was lost, whoever ended it; -1 where none was."""
        closed = (at for at, m in enumerate(self.moments) if any(isinstance(o, Closed) for o in m.outputs))
        return max(self.last_of(Disconnect), *closed, -1)

    def have_tx_at(self, at: int) -> str:
        """What the HaveTx of that moment names; empty where there is none."""
        return next((part.id for moment, _, part in self.heard(HaveTx) if moment == at), "")


def blamed_clauses(moments: Sequence[Moment], protocol: Protocol, parameters: Any) -> tuple[str, ...]:
    """A clause for each departure of the last moment of a minimal run: its own where nothing tells more."""
    states = states_before(moments, protocol, parameters)
    short = MinimalRun(tuple(moments), tuple(states))
    scored = _scored(moments, states, parameters)
    whatever = _at_any_score(moments, protocol, parameters) if scored else set()
    found = []
    for departure in moments[-1].judged.departures:
        clause = _of_number(departure, short) or _of_parts(departure, short)
        if not clause and scored and _act_in(departure) not in whatever:
            clause = scored[0]
            if clause == score_blame.DECAY and len(scored) > 1:
                spare = not _is_needed(clause, departure, moments, protocol, parameters)
                clause = scored[1] if spare else clause
        if not clause and isinstance(short.state, Router):
            clause = _of_router(departure, short, short.state)
        elif not clause and isinstance(short.state, Node):
            clause = _of_node(departure, short)
        known = bool(clause) and claim_on(clause, protocol) is not None
        found.append(clause if known else departure.clause)
    return tuple(found)


def blamed_beside(moments: Sequence[Moment], protocol: Protocol, parameters: Any) -> tuple[str, ...]:
    """Every clause on scores that a minimal run needs: of each term that its parameters were left with.

    A score is one sum, so that a run which shows one term by another speaks of both.
    """
    return _scored(moments, states_before(moments, protocol, parameters), parameters)


def _at_any_score(moments: Sequence[Moment], protocol: Protocol, parameters: Any) -> set[tuple[Any, ...]]:
    """What departs in the last moment whatever the scores are since the last heartbeat before it, up to which
    an answer can be late: no rule on scores is broken by it."""
    before = [at for at, moment in enumerate(moments[:-1]) if isinstance(moment.event, Advance)]
    since = max(before, default=-1) + 1
    oracle = Oracle(protocol, parameters)
    for moment in moments[:since]:
        oracle.follow(moment.event, moment.outputs)
    start = oracle.state, oracle.open
    departing = list[set[tuple[Any, ...]]]()
    # Where that is not known of any score, it is asked of the lowest, of none and of the highest.
    for score in (any_score, lowest_score, no_score, highest_score):
        oracle.state, oracle.open = start
        rules = protocol.extended(protocol.name, weighted_score=Total((score,)))
        oracle.state = evolve(oracle.state, protocol=rules)
        found = _departing(oracle, moments[since:])
        if found is not None and score is any_score:
            return found
        departing += [] if found is None else [found]
    # It did what is in order at some scores, and the model knows not at which.
    return set.intersection(*departing) if len(departing) == 3 else set()


def _departing(oracle: Oracle, moments: Sequence[Moment]) -> set[tuple[Any, ...]] | None:
    """What departs in the last of the moments; None where one of them cannot happen, or hides a choice."""
    for moment in moments:
        if oracle.passes_over(moment.event, moment.outputs):
            continue
        if not oracle.follows(moment.event):
            return None
        judged = oracle.judge(moment.event, moment.outputs)
        if judged.blurred:
            return None
    return {_act_in(each) for each in judged.departures}


def _is_needed(
    clause: str, departure: Departure, moments: Sequence[Moment], protocol: Protocol, parameters: Any
) -> bool:
    """Whether the router would not depart so from the protocol without the rules of the clause."""
    rules = [rule.name for _, rule in protocol.rules() if rule.clause == clause]
    without = edited(protocol, [Edit("", "dropped", clause, "", dropping(*rules))])
    _, found = rejudge(moments, without, parameters)
    return _act_in(departure) not in map(_act_in, found)


def _act_in(departure: Departure) -> tuple[Any, ...]:
    return departure.kind, departure.expected, departure.observed, departure.reason


@rule("gs1.1/score.weights")
def any_score(r: Router, peer: Peer) -> ScoreInterval:
    """What a score is of which nothing is known."""
    return ScoreInterval(-BEYOND, BEYOND)


BEYOND = ENDLESS * DENOMINATOR
"""More than any threshold."""


@rule("gs1.1/score.weights")
def lowest_score(r: Router, peer: Peer) -> ScoreInterval:
    """Less than any threshold."""
    return ScoreInterval(-BEYOND, -BEYOND)


@rule("gs1.1/score.weights")
def no_score(r: Router, peer: Peer) -> ScoreInterval:
    """Of a peer of which nothing is known."""
    return ScoreInterval(0, 0)


@rule("gs1.1/score.weights")
def highest_score(r: Router, peer: Peer) -> ScoreInterval:
    """More than any threshold."""
    return ScoreInterval(BEYOND, BEYOND)


def states_before(moments: Sequence[Moment], protocol: Protocol, parameters: Any) -> list[Any]:
    """The states before each moment."""
    oracle = Oracle(protocol, parameters)
    states = [oracle.state]
    for moment in moments[:-1]:
        oracle.follow(moment.event, moment.outputs)
        states.append(oracle.state)
    return states


def _scored(moments: Sequence[Moment], states: Sequence[Any], parameters: Any) -> tuple[str, ...]:
    return score_blame.clauses_of(moments, states) if getattr(parameters, "scores", None) else ()


# -- pubsub -------------------------------------------------------------------------------------------------


def _of_number(d: Departure, short: MinimalRun) -> str:
    """Of an own message that does not go out after another one did, in another topic: they share an id."""
    match d.kind, d.expected:
        case "missing", Sent(_, Message() as message):
            own = [m.event.message for m in short.moments if isinstance(m.event, Publish)]
            before = own[: own.index(message)] if message in own else []
            return "pubsub/publish.seqno" if any(m.topic != message.topic for m in before) else ""
    return ""


def _of_router(d: Departure, short: MinimalRun, r: Router) -> str:
    if d.kind in ("missing", "choice"):
        return _of_what_is_missing(d, short, r)
    if d.kind == "differs":
        taken = {(m.id, m.flaw) for _, _, m in short.heard(Message) if m.flaw}
        message = d.observed.part if isinstance(d.observed, Sent) else getattr(d.observed, "message", None)
        if isinstance(message, Message) and (message.id, message.flaw) in taken:
            return "pubsub/signing.reject"
        return _of_another_backoff(d, short, r)
    match d.observed:
        case Sent(_, Graft(topic)):
            return _of_surplus(d, short, r) or _of_quota(d, topic, short, r)
        case Sent(peer, Prune(topic)):
            cut = d.clause == "gs1.0/heartbeat.no-churn"
            return (
                _refusing(topic, r.mesh_speakers(topic), short) if cut else _of_refusal(topic, peer, short, r)
            )
        case Sent(peer, IDontWant(ids)):
            own = (m.event.message for m in short.moments if isinstance(m.event, Publish))
            messages = (m for m in chain((m for _, _, m in short.heard(Message)), own) if m.id in ids)
            return next((_of_member(m.topic, peer, short, r) for m in messages), "")
        case Sent(peer, Message(id, topic)) if d.clause in ("gs1.0/relay.mesh", "gs1.0/publish.mesh"):
            told_not_to = peer in r.mesh_of(topic) and id in r.unwanted.get(peer, {})
            return "gs1.2/idontwant.skip" if told_not_to else _of_member(topic, peer, short, r)
        case Sent(_, IHave(topic)) if _had_fanout(topic, short, r):
            return "gs1.0/fanout.expire"
        case Sent(peer, IHave(topic, ids)) if d.clause == OUTSIDE_MESH and _is_out(topic, peer, short):
            outside = r.with_mesh(topic, r.mesh_of(topic) - {peer})
            return gossip_clause(topic, ids, peer, outside)
        case Sent(peer, Message(topic=topic) | IHave(topic)) if d.clause in _TO_ALL_WHO_ANNOUNCED:
            # Of a peer that never announced the topic, no entry of the table is wrong.
            left = any(p == peer and gone.topic == topic for _, p, gone in short.heard(Unsubscribe))
            return "pubsub/subscription.table" if left and peer not in r.members(topic) else ""
    return ""


def _is_out(topic: str, peer: Peer, short: MinimalRun) -> bool:
    """Whether the last moment has pruned a peer before it gossips, and was right to."""
    last = short.moments[-1]
    wrong = [d.observed for d in last.judged.departures]
    sent = [o for o in last.outputs if isinstance(o, Sent) and o.peer == peer and o not in wrong]
    return any(isinstance(o.part, Prune) and o.part.topic == topic for o in sent)


_TO_ALL_WHO_ANNOUNCED = ("gs1.1/publish.flood", "gs1.0/gossip.targets", "floodsub/relay.members")


def _had_fanout(topic: str, short: MinimalRun, r: Router) -> bool:
    """Whether it had a fanout for a topic that it is not in, which is over by the end of the last moment."""
    if topic in r.topics or not any(topic in state.fanout for state in short.states):
        return False
    now_ms = r.now_ms + (short.last.ms if isinstance(short.last, Advance) else 0)
    entry = r.fanout.get(topic)
    return entry is None or now_ms - entry.published_ms > r.parameters.fanout_ttl_ms


def _of_what_is_missing(d: Departure, short: MinimalRun, r: Router) -> str:
    bad = {m.id for _, _, m in short.heard(Message) if m.flaw}
    if any(m.id in bad and not m.flaw for _, _, m in short.heard(Message)):
        return "pubsub/signing.reject"
    low = r.parameters.graylist_threshold
    senders = (p for m in short.moments if isinstance(m.event, Receive) for p in m.event.peers)
    if any(r.is_explicit(p) and r.score(p) < low for p in senders):
        return "gs1.1/threshold.graylist"
    if d.reason.startswith("mesh.cut:"):
        return _of_cut(short, r)
    newest = r.windows[0] if r.windows else ()
    match d.expected:
        case Sent(peer, Message() as message):
            if d.clause == "gs1.0/iwant.serve":
                return "" if message.id in newest else "gs1.0/mcache.shift"
            said = [(p, message.id in i.ids) for _, p, i in short.heard(IDontWant)]
            if (peer, True) in said:
                # It is due all the same: that IDONTWANT was too old, or beyond the cap.
                return "" if d.clause == "gs1.2/idontwant.prune-old" else "gs1.2/idontwant.cap"
            if (peer, False) in said or any(named for _, named in said):
                return "gs1.2/idontwant.per-peer"
            asks = any(s.requests for s in _flags(peer, message.topic, short))
            return "pm/send.full-unsupported" if asks else ""
        case Sent(_, IHave(_, ids)) if r.cached and not set(ids) & set(newest):
            return "gs1.0/mcache.shift"
        case Sent(peer, TestExtension()):
            # The connection before this one matters, where each has extensions of its own.
            lost = any(isinstance(m.event, Disconnect) and peer in m.event.peers for m in short.moments)
            return "gs1.3/extensions.described" if lost else ""
    # Where nobody is told of what was published before the last heartbeat, it may be forgotten.
    told = any(isinstance(o, Sent) and isinstance(o.part, IHave) for o in short.moments[-1].outputs)
    if d.clause == "gs1.0/gossip.targets" and r.cached and not newest and not told:
        return "gs1.0/mcache.shift"
    return ""


def _of_cut(short: MinimalRun, r: Router) -> str:
    """Of a cut that kept other members than it had to: by the first rule that no mesh should have broken."""
    kept = r.protocol["kept_in_cut"].rules if "kept_in_cut" in r.protocol.handlers else ()
    outputs = [o for o in short.moments[-1].outputs if isinstance(o, Sent) and isinstance(o.part, Prune)]
    for topic, members in sorted(r.mesh.items()):
        gone = {o.peer for o in outputs if isinstance(o.part, Prune) and o.part.topic == topic}
        if len(members) > r.parameters.d_high and len(members - gone) == r.parameters.d:
            broken = (each.clause for each in kept if not each.apply(r, topic, members - gone))
            if clause := next(broken, ""):
                return clause
    return ""


def _of_another_backoff(d: Departure, short: MinimalRun, r: Router) -> str:
    """Of a PRUNE at Leave that announces another period than one that was due."""
    if (
        not isinstance(short.last, Leave)
        or not isinstance(d.expected, Sent)
        or not isinstance(d.observed, Sent)
    ):
        return ""
    due, told = d.expected.part, d.observed.part
    if not isinstance(due, Prune) or not isinstance(told, Prune) or not told.backoff_s:
        return ""
    if told.backoff_s == due.backoff_s:
        # The period is the one that was due; something else of the PRUNE is wrong.
        return ""
    if due.backoff_s == r.parameters.unsubscribe_backoff_s:
        return "gs1.1/backoff.unsubscribe"
    # The one that was due was to refuse a GRAFT, and the peer was taken for a member in its place.
    return _refusing(due.topic, {d.expected.peer}, short)


def _of_surplus(d: Departure, short: MinimalRun, r: Router) -> str:
    """Of a GRAFT at a heartbeat that needed nobody: whether the run had to wait for just this one."""
    ticks = r.parameters.opportunistic_graft_ticks
    waited = isinstance(short.last, Advance) and ticks > 1 and (r.heartbeats + 1) % ticks == 0
    unasked = d.clause in ("gs1.0/heartbeat.no-churn", "gs1.0/heartbeat.fill")
    return "gs1.1/opportunistic.graft" if waited and unasked else ""


def _of_quota(d: Departure, topic: str, short: MinimalRun, r: Router) -> str:
    """Of GRAFTs to inbound peers at a heartbeat that needed nobody: as many as it lacks outbound members."""
    grafted = [o.peer for o in short.moments[-1].outputs if isinstance(o, Sent) and o.part == Graft(topic)]
    lacking = r.parameters.d_out - len(r.outbound_of(r.mesh_of(topic)))
    unasked = d.clause == "gs1.0/heartbeat.no-churn" and isinstance(short.last, Advance)
    filled = len(grafted) == lacking and not r.outbound_of(grafted)
    return "gs1.1/outbound.fill" if unasked and filled else ""


def _of_refusal(topic: str, peer: Peer, short: MinimalRun, r: Router) -> str:
    """Of a PRUNE that answers a GRAFT which should have been accepted."""
    asked = isinstance(short.last, Receive) and peer in short.last.peers and Graft(topic) in short.last.parts
    if not asked or topic not in r.topics or peer in r.mesh_of(topic):
        return ""
    if any(p == peer and prune.topic == topic for _, p, prune in short.heard(Prune)):
        return "gs1.1/backoff.announced-period"
    full = len(r.mesh_of(topic)) >= r.parameters.d_high
    return "gs1.1/outbound.inbound-refused" if full else ""


def _of_member(topic: str, peer: Peer, short: MinimalRun, r: Router) -> str:
    """Of what only a member is told, where `peer` is none: by what it could have become, or stayed, one."""
    if peer in r.mesh_of(topic):
        return ""
    if any(p == peer and left.topic == topic for _, p, left in short.heard(Unsubscribe)):
        return "gs1.0/mesh.members"
    pruned = max((at for at, p, prune in short.heard(Prune) if (p, prune.topic) == (peer, topic)), default=-1)
    asked = max((at for at, p, graft in short.heard(Graft) if (p, graft.topic) == (peer, topic)), default=-1)
    if max(pruned, asked) >= 0:
        return "gs1.0/prune.remove" if pruned > asked else _refusing(topic, {peer}, short)
    events = [m.event for m in short.moments]
    joined = max((at for at, e in enumerate(events) if e == Join(topic)), default=-1)
    if any(isinstance(e, Publish) and e.message.topic == topic for e in events[: max(joined, 0)]):
        return "gs1.0/join.graft-each"
    return ""


def _refusing(topic: str, peers: Collection[Peer], short: MinimalRun) -> str:
    """The clause by which a GRAFT of one of these was to be refused, the last in the run; or none."""
    asked = [at for at, p, graft in short.heard(Graft) if p in peers and graft.topic == topic]
    permits = (permit for at in reversed(asked) for permit in short.moments[at].judged.permits)
    answers = (p for p in permits if isinstance(p.output, Sent) and isinstance(p.output.part, Prune))
    return next((p.clause for p in answers if p.must and p.output.peer in peers), "")  # type: ignore[union-attr]


# -- parts --------------------------------------------------------------------------------------------------


def _of_parts(d: Departure, short: MinimalRun) -> str:
    """Of what only partial messages have; a score may have led up to it, and says nothing of it."""
    if not isinstance(short.state, Router):
        return ""
    match d.expected if d.kind == "missing" else d.observed:
        case Sent(peer, Partial(topic)):
            return _of_flags(peer, topic, short) or d.clause
        case Offered(state=state):
            return _of_failed(short, short.state) or _of_life(d, state, short, short.state) or d.clause
        case PartialIn(peer, part) if d.kind == "missing":
            earlier = (heard for heard in short.heard(Partial) if heard[0] < len(short.moments) - 1)
            started = [(p, other.group) for _, p, other in earlier if other.topic == part.topic]
            left = any(isinstance(m.event, Disconnect) and peer in m.event.peers for m in short.moments)
            return partial_blame.of_full(short.state, peer, started, d.clause, left=left)
        case GossipAsked() | PartialIn():
            return d.clause
        case Delivered(message) if d.kind == "missing":
            # That parts are requested in its topic is left of the run because it matters.
            asked = any(
                isinstance(m.event, Join) and m.event.topic == message.topic and m.event.requests
                for m in short.moments
            )
            return "pm/receive.full-accepted" if asked else ""
    return ""


def _of_life(d: Departure, state: str, short: MinimalRun, r: Router) -> str:
    """Of an offer without the state that is kept, some heartbeats later: the group may be gone."""
    waited = short.last_of(Advance) > min(
        (at for at, m in enumerate(short.moments) if isinstance(m.event, PublishPartial)), default=0
    )
    return partial_blame.of_life(r) if d.kind == "differs" and not state and waited else ""


def _flags(peer: Peer, topic: str, short: MinimalRun) -> set[Subscribe]:
    """The announcements of a peer for a topic that tell apart what it asks for."""
    return {s for _, p, s in short.heard(Subscribe) if (p, s.topic) == (peer, topic)}


def _of_flags(peer: Peer, topic: str, short: MinimalRun) -> str:
    """Of a part that is sent, or not, against what a peer announced: where it did so twice, by the latest."""
    return "pm/subscription.latest" if len(_flags(peer, topic, short)) > 1 else ""


def _of_failed(short: MinimalRun, r: Router) -> str:
    """Of a state that is offered, or not, after a decision that failed: what such a decision leaves."""
    published = (m.event for m in short.moments[:-1] if isinstance(m.event, PublishPartial))
    failed = any(decision.error for event in published for decision in event.decisions)
    return partial_blame.of_state(r) if failed else ""


# -- mempool ------------------------------------------------------------------------------------------------


def _of_node(d: Departure, short: MinimalRun) -> str:
    told = max((at for at, _, _ in short.heard(HaveTx)), default=-1)
    output = d.expected if d.kind == "missing" else d.observed
    match output:
        case Sent(_, Tx()):
            return _of_route(d, short, told) if told >= 0 else ""
        case Sent(_, WantTx(tx)) if d.kind == "missing":
            asked = (at for at, m in enumerate(short.moments[:-1]) if _asks(tx, m))
            waited = short.last_of(Advance) > min(asked, default=len(short.moments))
            return "cat-classic/want.timeout" if waited else ""
        case Sent(_, HaveTx() | ResetRoute()) | None:
            if told >= 0:
                # It disables a route, and that has no part in what the controller does.
                return "dog/havetx.first-sender"
    if not isinstance(output, Sent) or not isinstance(output.part, HaveTx):
        return ""
    if short.last_of(Adjust, Disconnect) < 0:
        return ""
    answered = any(
        isinstance(o, Sent) and isinstance(o.part, HaveTx) for m in short.moments[:-1] for o in m.outputs
    )
    if d.kind == "missing":
        return "dog/controller.unblock" if answered else "dog/controller.reset"
    return "dog/controller.unblock" if d.clause == "dog/havetx.while-blocked" else ""


def _asks(tx: str, moment: Moment) -> bool:
    return any(isinstance(o, Sent) and o.part == WantTx(tx) for o in moment.outputs)


def _of_route(d: Departure, short: MinimalRun, told: int) -> str:
    """Of a transaction that is sent or withheld against the routes; the last HaveTx came at `told`."""
    lost = short.last_loss()
    if d.kind == "missing" and lost >= 0:
        return "dog/peer.forget-routes" if told < lost else "dog/havetx.first-sender-gone"
    reset = any(True for _ in short.heard(ResetRoute))
    if d.kind == "missing":
        if d.clause == "flood/submit.to-all":
            return "dog/route.filter"
        return "dog/reset.one" if reset else "dog/havetx.first-sender"
    if reset and d.clause == "dog/route.filter":
        return "dog/reset.one"
    # That it came from somebody else as well was left in the run because it matters who was first.
    senders = [peer for _, peer, tx in short.heard(Tx) if tx.id == short.have_tx_at(told)]
    return "dog/havetx.first-sender" if len(set(senders)) > 1 else ""
