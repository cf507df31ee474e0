"""A departure in words: the headline of a case, the sentence that is broken, and notes for its reader.

All of it is taken from the run that departs. Peers, topics and messages have the names of the case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from attrs import evolve, frozen

from quidnunc.model.edit import Edit, edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import (
    Advance,
    Closed,
    Connect,
    Crashed,
    Delivered,
    Dialled,
    Event,
    GossipAsked,
    Offered,
    Output,
    PartialIn,
    Receive,
    Sent,
    output_key,
)
from quidnunc.model.machine import protocol_named
from quidnunc.model.mempool.dog.variants import TURNED
from quidnunc.model.mempool.node import Node
from quidnunc.model.parameters import ParameterSet
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rpc import Graft, IHave, IWant, Message, Peer, Prune
from quidnunc.model.rules import Protocol
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.choosing import chosen_words, lower_first
from quidnunc.properties.cases.deciding import deciding_defaults
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.explain.broken import broken_clauses
from quidnunc.properties.explain.root_cause import Finding
from quidnunc.properties.judge.oracle import Departure, Oracle
from quidnunc.properties.judge.play import Moment, messages_in
from quidnunc.properties.notation.lines import event_text, output_text
from quidnunc.properties.notation.parameters import parameters_told
from quidnunc.properties.notation.words import peer_text

CONTROL_WORDS = ("graft", "prune", "ihave", "iwant", "idontwant")
MAX_FACTS = 3
"""Of the state before a departure: more than that is not read."""
DEEDS: Mapping[type, tuple[str, str]] = {
    Closed: ("close", "the connection to {peer}"),
    Dialled: ("dial", "{peer}"),
    GossipAsked: ("ask", "the application to gossip about {what} to {peer}"),
    Offered: ("offer", "{peer} to the application for {what}"),
    PartialIn: ("hand", "partial message {what} of {peer} to the application"),
}
"""What a router does that sends nothing: the verb, and the rest of the sentence."""
_TIMES = {2: "twice"}
OF_GOSSIP = "gossip.targets:"
"""How the reason begins of a wrong choice of peers to gossip to."""


@frozen
class DepartingRun:
    """One departing run, ready to be told: its moments to the departure, and what judges them."""

    moments: tuple[Moment, ...]
    protocol: Protocol
    parameters: ParameterSet
    departure: Departure
    filed: str = ""
    """The clause of its explanation, if there is one."""

    @property
    def last(self) -> Moment:
        return self.moments[-1]

    @property
    def signed(self) -> bool:
        return getattr(self.parameters, "signature_policy", "StrictSign") == "StrictSign"

    @property
    def clause(self) -> str:
        """The sentence that is broken at this step, whatever its root cause."""
        told = broken_clauses(self.moments, self.protocol, self.parameters, self.filed)
        return dict(zip(self.last.judged.departures, told, strict=True)).get(
            self.departure, self.departure.clause
        )

    @property
    def alike(self) -> tuple[Departure, ...]:
        """Departures of the step that differ from the first in the peer alone."""
        shape = _shape(self.departure)
        return tuple(each for each in self.last.judged.departures if _shape(each) == shape)


def departing_run(
    moments: Sequence[Moment],
    protocol: Protocol,
    parameters: ParameterSet,
    departure: Departure | None = None,
    filed: str = "",
) -> DepartingRun | None:
    """The run as it can be told; None where its last moment does not depart."""
    found = moments[-1].judged.departures if moments and not moments[-1].judged.blurred else ()
    if not found:
        return None
    first = departure if departure in found else found[0]
    return DepartingRun(tuple(moments), protocol, parameters, first, filed)


# -- the headline -------------------------------------------------------------------------------------------


def headline(told: DepartingRun, says: str) -> str:
    """What the router does, with the peer and the topic of this run.

    `says` is the sentence of its root cause. Without one: what the router sends or owes, the clause, and the
    state in which it does so.
    """
    if isinstance(told.departure.observed, Crashed):
        # What made it crash is for whoever runs the check alone.
        return "Crashes."
    if says:
        place = ", ".join(_place(told))
        return f"{says.removesuffix('.')} ({place})." if place else says
    told = _with_cause_of_choice(told)
    facts = ", ".join(_facts(told))
    act = f"{_act(told)} ({told.clause})" if told.clause else _act(told)
    return "; ".join(each for each in (act, facts) if each) + "."


def _with_cause_of_choice(told: DepartingRun) -> DepartingRun:
    """Of a heartbeat that gossips to others because its mesh is another one: what is wrong with the mesh."""
    if not told.departure.reason.startswith(OF_GOSSIP):
        return told
    found = (
        each
        for each in told.last.judged.departures
        if isinstance(sent := each.observed or each.expected, Sent) and isinstance(sent.part, Graft | Prune)
    )
    return evolve(told, departure=next(found, told.departure))


def _place(told: DepartingRun) -> Iterator[str]:
    outputs = [output for each in told.alike if (output := each.observed or each.expected) is not None]
    peers = list(dict.fromkeys(peer for output in outputs if (peer := _peer(output)) is not None))
    if peers:
        yield f"peer{'s' if len(peers) > 1 else ''} {', '.join(map(peer_text, peers))}"
    for output in outputs[:1]:
        part = output.part if isinstance(output, Sent) else getattr(output, "message", output)
        if topic := getattr(part, "topic", ""):
            yield f"topic {topic}"
        if name := getattr(part, "id", ""):
            yield f"{'message' if topic else 'transaction'} {name}"


def _act(told: DepartingRun) -> str:
    """What the router does, where nobody has a name for it."""
    each, last = told.departure, told.last
    if each.kind == "choice":
        return chosen_words(each.reason, f" at `{event_text(last.event, signed=told.signed)}`")
    observed, expected = each.observed, each.expected
    many = dict.fromkeys(peer for d in told.alike if (peer := _peer(d.observed or d.expected)) is not None)
    peers = ", ".join(map(peer_text, many))
    if observed is not None and type(observed) in DEEDS and expected is not None:
        return (
            f"{_deed(observed, told, done=True)}, where `{output_text(expected, signed=told.signed)}` is due"
        )
    if observed is not None and expected is not None:
        what, due = _words(observed, told), _words(expected, told)
        return f"Sends {what} to {peers}, where {due} is due" if peers else f"Makes {what} of {due}"
    verb, sends = ("Sends", True) if observed is not None else ("Does not send", False)
    output = observed if observed is not None else expected
    assert output is not None
    if isinstance(output, Sent):
        times = Counter(map(output_key, last.outputs))[output_key(output)] if sends else 1
        return f"{verb} {_words(output, told)} to {peers}" + (f" {_times(times)}" if times > 1 else "")
    if isinstance(output, Delivered):
        verb = "Delivers" if sends else "Does not deliver"
        return f"{verb} {_words(output, told)} to the application"
    return _deed(output, told, done=sends)


def _deed(output: Output, told: DepartingRun, *, done: bool) -> str:
    """An output that is sent to nobody."""
    text = output_text(output, signed=told.signed)
    if type(output) not in DEEDS:
        return f"{'Does' if done else 'Does not do'} `{text}`"
    verb, rest = DEEDS[type(output)]
    _, peer, what = (*text.split(" ", 2), "")[:3]
    said = f"{verb.capitalize()}s" if done else f"Does not {verb}"
    return f"{said} {rest.format(peer=peer, what=what)}"


def _words(output: Output, told: DepartingRun) -> str:
    """An output without its peer: `GRAFT t2`."""
    text = output_text(output, signed=told.signed)
    text = text.partition(": ")[2] if isinstance(output, Sent) else text.partition(" ")[2]
    name, space, rest = text.partition(" ")
    said = (name.upper() if name in CONTROL_WORDS else name) + space + rest
    return f"{said}, which names no message," if _is_empty(getattr(output, "part", None)) else said


def _is_empty(part: object) -> bool:
    """Whether it is gossip about nothing, wrong whoever is sent it."""
    return isinstance(part, IHave) and not part.ids


def _times(count: int) -> str:
    return _TIMES.get(count, f"{count} times")


def _peer(output: Output | None) -> Peer | None:
    return getattr(output, "peer", None)


def _shape(each: Departure) -> object:
    return (
        each.kind,
        *(
            getattr(output, "part", output) if output is not None else None
            for output in (each.observed, each.expected)
        ),
        each.reason,
    )


def contradiction(told: DepartingRun) -> str:
    """What the router does in a run, judged with an explanation in force, that this does not allow."""
    each = told.departure
    place = (
        f"In another run, at `{event_text(told.last.event, signed=told.signed)}` (step {len(told.moments)})"
    )
    if each.kind == "choice":
        return f"{place}, the router {lower_first(chosen_words(each.reason, by='that explanation'))}."
    act = _act(told)
    seen = f"{place}, the router {lower_first(act)}"
    if each.observed is not None and each.expected is not None:
        return f"{seen} by that explanation."
    return f"{seen}; by that explanation it would{' not' if each.observed is not None else ''}."


# -- the state before it ------------------------------------------------------------------------------------


def _facts(told: DepartingRun) -> list[str]:
    """What is known of the peer and the topic when it happens."""
    oracle = Oracle(told.protocol, told.parameters, tells=False)
    for moment in told.moments[:-1]:
        oracle.follow(moment.event, moment.outputs)
    output = told.departure.observed or told.departure.expected
    peer = _peer(output)
    part = output.part if isinstance(output, Sent) else getattr(output, "message", None)
    found: Iterator[str] = iter(())
    if isinstance(oracle.state, Router) and not _is_empty(part):
        topic = _topic(part, told)
        found = chain(
            _of_mesh(oracle.state, part, topic, told.last.event),
            _of_router(oracle.state, peer, topic, part, told.last.event),
        )
    elif isinstance(oracle.state, Node):
        found = _of_node(oracle.state, getattr(part, "id", ""))
    return list(found)[:MAX_FACTS]


def _topic(part: object, told: DepartingRun) -> str:
    """The topic of a part; of one that names ids, that of a message of the run."""
    of_ids = {m.id: m.topic for m in messages_in([moment.event for moment in told.moments])}
    named = [of_ids[name] for name in getattr(part, "ids", ()) if name in of_ids]
    topic: str = getattr(part, "topic", "") or next(iter(named), "")
    return topic


def _of_mesh(r: Router, part: object, topic: str, event: Event) -> Iterator[str]:
    """Of what a heartbeat does to a mesh: how large it is."""
    if isinstance(event, Advance) and isinstance(part, (Graft, Prune)) and topic in r.topics:
        members = len(r.mesh_of(topic))
        if members > 1:
            yield f"the mesh of {topic} has {members} members"


def _of_router(r: Router, peer: Peer | None, topic: str, part: object, event: Event) -> Iterator[str]:
    """What of a peer in a topic decides whether it is sent such a part."""
    if topic and topic not in r.topics:
        yield f"the router is not in {topic}"
    if peer is None:
        return
    name = peer_text(peer)
    if peer not in r.peers:
        if not (isinstance(event, Connect) and peer in event.peers):
            yield f"{name} is not connected"
        return
    if r.peers[peer].speaks_floodsub and "graft" in r.protocol.handlers:
        yield f"{name} speaks floodsub alone"
    if topic:
        now_ms = r.now_ms + (event.ms if isinstance(event, Advance) else 0)
        left_ms = r.ends_backoff_ms(topic, peer) - now_ms
        if left_ms > 0 and isinstance(part, (Graft, Prune)):
            yield f"{name} should be in backoff for another {_seconds(left_ms)} s"
        asked = isinstance(part, IWant) or _is_answer(part, event)
        if topic in r.topics and "graft" in r.protocol.handlers and not asked:
            yield f"{name} is {'' if peer in r.mesh_of(topic) else 'not '}in the mesh of {topic}"
        if topic not in r.peers[peer].topics and not isinstance(part, (Prune, IWant)):
            yield f"{name} has not announced {topic}"
    if r.is_explicit(peer):
        yield f"{name} is an explicit peer"
    if r.below(peer, 0):
        yield f"the score of {name} is negative"


def _is_answer(part: object, event: Event) -> bool:
    """Whether a message was asked for by the event."""
    parts = event.parts if isinstance(event, Receive) else ()
    return isinstance(part, Message) and any(isinstance(p, IWant) and part.id in p.ids for p in parts)


def _seconds(ms: int) -> str:
    """Of many, whole ones with all their digits: a backoff can be as long as a peer likes."""
    whole, rest = divmod(ms, 1000)
    return f"{ms / 1000:g}" if rest and whole < 1_000_000 else str(whole)


def _of_node(n: Node, tx: str) -> Iterator[str]:
    if tx:
        yield f"{tx} is in the pool" if tx in n.pool else f"{tx} is {'' if n.knows(tx) else 'not '}known"
    if n.blocked:
        yield "HaveTx is blocked"


# -- the sentence, and notes --------------------------------------------------------------------------------


def sentence_of(clause: str) -> str:
    """`CLAUSE (DOCUMENT): WORDS`: the words of the document where they are short, our paraphrase otherwise;
    empty for an unknown clause."""
    known = load().get(clause)
    if known is None:
        return ""
    words = f'"{known.quote}"' if known.quote else known.text
    return " ".join(f"{clause} ({known.document}): {words}".split())


def notes_of(case: Case, told: DepartingRun | None) -> tuple[str, ...]:
    """What a reader of the case wants to know beside its events, one sentence or two each."""
    spec = protocol_named(case.protocol)
    as_built = [edit_named(name, spec) for name in case.as_built]
    decided = deciding_defaults(told.moments, told.protocol, told.parameters) if told is not None else ()
    return (
        *(_of_step(told, case) if told is not None else ()),
        *_of_text(case.quirk),
        *map(_excused, as_built),
        *decided,
        *parameters_told(case.parameters),
    )


def _of_step(told: DepartingRun, case: Case) -> Iterator[str]:
    ms = sum(moment.event.ms for moment in told.moments if isinstance(moment.event, Advance))
    facts = ", ".join(_facts(told))
    before = f"; just before, {facts}" if facts else ""
    yield f"The router departs {ms / 1000:g} s after its start{before}."
    for each in told.last.judged.departures:
        # The headline of what nothing explains tells it already.
        if each.kind == "choice" and case.quirk:
            yield f"The router {lower_first(chosen_words(each.reason))}."
    seen = Counter(told.last.outputs)
    surplus = Counter(d.observed for d in told.last.judged.departures if d.kind == "unexpected")
    for output, count in surplus.items():
        if output is not None and seen[output] > count:
            text = output_text(output, signed=told.signed)
            due = any(p.must and output_key(p.output) == output_key(output) for p in told.last.judged.permits)
            rest = f"{_once(seen[output] - count)} {'was due' if due else 'was allowed'}"
            yield f"`{text}` came {_times(seen[output])}; {rest}."
    if told.clause != case.clause and (root := sentence_of(case.clause)):
        yield f"{OF_EXPLANATION if case.quirk else OF_ROW}{root}"


OF_EXPLANATION = "The explanation is in "
OF_ROW = "It is filed under "
CITING = (OF_EXPLANATION, OF_ROW, "The root cause is against ")
"""How notes begin that cite the sentence of the case beside the one that is broken; the last one in older
cases."""


def _of_text(name: str) -> Iterator[str]:
    """Which texts of DOG say what the edit of that name says."""
    texts = [text for text, switches in TURNED.items() if name in switches]
    if texts:
        yield f"So it is in {', '.join(texts)}; `quidnunc check {texts[0]}` judges by that text."


def _once(count: int) -> str:
    return "once" if count == 1 else _times(count)


FILED = "that departure is filed on its own and excused here."
GIVEN_UP = "that is excused here. No finding is named after this explanation any more."


def _excused(edit: Edit, excuse: str = FILED) -> str:
    """What the router is known to do besides, and what the run is not judged for."""
    said = edit.says.removesuffix(".")
    if edit.kind != "reading" and not said.startswith("The "):
        return f"The router also {said[0].lower()}{said[1:]}; {excuse}"
    return f"Known of this router as well: {said}; {excuse}"


def with_true_excuses(case: Case, filed: Collection[str]) -> Case:
    """The case, whose notes say which excuses are none of the explanations `filed`: given up after the case
    was made, or taken over by others."""
    spec = protocol_named(case.protocol)
    gone = [edit_named(name, spec) for name in case.as_built if name not in filed]
    told = {_excused(edit): _excused(edit, GIVEN_UP) for edit in gone}
    return evolve(case, notes=tuple(told.get(note, note) for note in case.notes)) if gone else case


def act_in_words(case: Case, finding: Finding) -> str:
    """What the router does in the case of a finding, whatever explains it; empty for a crash."""
    told = _told_of(case, finding, "")
    if told is None or isinstance(told.departure.observed, Crashed):
        return ""
    return headline(told, "")


def _told_of(case: Case, finding: Finding, filed: str) -> DepartingRun | None:
    spec = protocol_named(case.protocol)
    rules = edited(spec, [edit_named(name, spec) for name in case.as_built])
    return departing_run(finding.moments, rules, case.parameters, finding.departure, filed)


NO_CRASH = "No sentence is about crashes. A router is expected to survive whatever it is sent."


def in_words(case: Case, finding: Finding, says: str, remark: str = "", *, with_notes: bool = True) -> Case:
    """The case of a finding in words: its headline, the sentence that it breaks, and notes, which take long.

    `says` is the sentence of the root cause, empty where none is known. A `remark` follows the headline.
    """
    told = _told_of(case, finding, case.clause if case.quirk else "")
    if told is None:
        return case
    return evolve(
        case,
        reason=f"{headline(told, says)} {remark}",
        argument=NO_CRASH if isinstance(told.departure.observed, Crashed) else sentence_of(told.clause),
        notes=notes_of(case, told) if with_notes else (),
    )
