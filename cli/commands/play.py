"""quidnunc play: step a router by hand, and see what is allowed, what is owed, and by which sentence."""

from __future__ import annotations

import argparse
import contextlib
import copy
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen, mutable

from quidnunc.arguments import checked_protocol, hello_from
from quidnunc.impl.seam import Config
from quidnunc.impl.wire.families import WIRES
from quidnunc.model.choices import PartialSet
from quidnunc.model.errors import CaseError
from quidnunc.model.events import (
    MEMPOOL,
    Adjust,
    Advance,
    Commit,
    Connect,
    Disconnect,
    Event,
    Feedback,
    Output,
    PublishPartial,
    Raw,
    Receive,
    Resume,
    Stall,
    Submit,
    output_key,
)
from quidnunc.model.machine import family_of, protocol_named
from quidnunc.model.pubsub.router import Router
from quidnunc.output import UsageError, suggestion
from quidnunc.properties.cases.case import Case, CaseBlock, against_text, profile_text
from quidnunc.properties.cases.choosing import chosen_words, lower_first
from quidnunc.properties.cases.file import parse, render
from quidnunc.properties.cases.names import wrong_stream
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.cases.telling import sentence_of
from quidnunc.properties.claims.catalogue import claim_on
from quidnunc.properties.documents.clauses import load as known_clauses
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import ModelSubject, Moment, Opener, Play, messages_in
from quidnunc.properties.notation.lines import Notation, in_order
from quidnunc.properties.notation.parameters import parameters_read
from quidnunc.properties.notation.parts import Mentions
from quidnunc.properties.notation.words import duration_text, one_of, peer_text, peers_text
from quidnunc.properties.search.fresh_runs import fixed_by
from quidnunc.properties.search.worker import opener_of

MAX_ADVANCE_MS = 3_600_000
MAX_EVENTS = 500
WIDTH = 100
COLUMN = 40
"""Where the clause of an output stands."""
OF_ALL = (Advance, Connect, Disconnect, Raw, Receive, Resume, Stall)
"""Events of every router."""
OF_MEMPOOL = (Adjust, Commit, Submit)
OF_PARTIAL = (Feedback, PublishPartial)
SIDES: Mapping[str, str] = {
    "  ": "",
    "+ ": "not allowed",
    "- ": "missing",
    "= ": "owed by the next heartbeat",
    "~ ": "allowed",
}
"""Mark of an output, as in a case -> what it says."""
HELP = """\
events, as a case has them (docs/cases.md):
  connect a,b /meshsub/1.2.0      a peer connects; `outbound`: the router dialled it
  disconnect a                    stall a, resume a: it stops reading, and reads again
  a: subscribe t1; graft t1       a peer sends an RPC: subscribe, unsubscribe, graft, prune t1 backoff=60,
                                  ihave t1 m1, iwant m1, idontwant m1, message m1 t1
  join t1, leave t1, publish m1 t1, verdict m1 accept, score a -5
  advance 1s                      time passes, one heartbeat after the other
  submit x1, commit x1, a: tx x1  of a mempool (connect a mempool)
commands:
  ?           the sentences by which the last step was judged; `? CLAUSE` says one
  state       what the model knows of the router
  list        the events so far
  undo        take the last event back
  save FILE   write the events as a case
  q           leave, as the end of the input does"""


@frozen
class ShownOutput:
    """One output of a step, with its mark and the clause that it is judged by."""

    mark: str
    output: Output
    clause: str


@mutable
class HandPlay:
    """A router and the model beside it, and how they came to where they are."""

    protocol: str
    config: Config
    opener: Opener
    lines: list[str] = field(factory=list)
    events: list[Event] = field(factory=list)
    last: tuple[Moment, ...] = ()
    """The steps of the last event."""
    run: Play = field(init=False)
    _notation: Notation = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._open()

    def _open(self) -> None:
        self.run = Play(
            self.opener(self.config), Oracle(protocol_named(self.protocol), self.config.parameters)
        )
        self._notation = Notation(Mentions(signed=self._signed))

    @property
    def _signed(self) -> bool:
        return getattr(self.config.parameters, "signature_policy", "StrictSign") == "StrictSign"

    @property
    def _streams(self) -> tuple[str, ...]:
        """What the router negotiates."""
        return family_of(protocol_named(self.protocol)).streams(self.protocol)

    @property
    def departs(self) -> bool:
        return bool(self.run.moments and self.run.moments[-1].judged.departures)

    def do(self, line: str) -> list[str]:
        """Play one event; what came of it, in lines. Raises ValueError for what is no event, or cannot
        happen here."""
        if self.departs or self.run.blurred:
            raise ValueError("the run is over; `undo` takes the last event back")
        if len(self.events) == MAX_EVENTS:
            raise ValueError(f"expected at most {MAX_EVENTS} events")
        # What is refused has mentioned nothing.
        notation = copy.deepcopy(self._notation)
        event = notation.event(line)
        self._check(event)
        self._play(event)
        if not self.last:
            raise ValueError(f"cannot happen here: {self._why_not(event)}")
        self._notation = notation
        self.lines.append(line)
        self.events.append(event)
        return [*self._told()]

    def undo(self) -> str:
        """Take the last event back, by playing those before it again. Raises ValueError if there is none."""
        if not self.lines:
            raise ValueError("there is nothing to undo")
        undone = self.lines.pop()
        before, self.lines, self.events, self.last = self.lines, [], [], ()
        self.close()
        self._open()
        for line in before:
            self.do(line)
        return undone

    def close(self) -> None:
        self.run.subject.close()

    def _check(self, event: Event) -> None:
        if isinstance(event, Raw):
            one_of(
                event.kind, sorted(WIRES[protocol_named(self.protocol).family].malformed), "a kind of bytes"
            )
        if isinstance(event, Advance) and event.ms > MAX_ADVANCE_MS:
            raise ValueError(f"expected at most {duration_text(MAX_ADVANCE_MS)}")
        if isinstance(event, Connect):
            if event.protocol not in self._streams:
                raise ValueError(wrong_stream(event.protocol, self._streams))

    def _play(self, event: Event) -> None:
        before = len(self.run.moments)
        self.run.subject.declare(messages_in([event]))
        self.run.do(event)
        played = tuple(self.run.moments[before:])
        if played:
            self.last = played
        elif self.events:
            self.last = ()

    def _why_not(self, event: Event) -> str:
        is_mempool = MEMPOOL in self._streams
        if isinstance(event, OF_MEMPOOL) != is_mempool and not isinstance(event, OF_ALL):
            return f"it is no event of {self.protocol}, but of {'pubsub' if is_mempool else 'a mempool'}"
        if isinstance(event, OF_PARTIAL) and "partial" not in protocol_named(self.protocol).handlers:
            return f"it is no event of {self.protocol}, but of partial messages"
        there = set(self.run.oracle.state.peers)
        peers = getattr(event, "peers", ())
        if isinstance(event, Connect) and set(peers) <= there:
            return f"{peers_text(peers)} is connected already"
        absent = [peer for peer in peers if peer not in there]
        if absent and not isinstance(event, Connect):
            return f"{peers_text(absent)} has not connected"
        return "the router is not in the state that this needs (`state` shows the state)"

    # -- what came of it ----------------------------------------------------------------------------------

    def shown(self) -> list[ShownOutput]:
        """The outputs of the last event, and what is owed or allowed after it."""
        found: list[ShownOutput] = []
        for moment in reversed(self.last):
            odd = [d for d in moment.judged.departures if d.observed is not None]
            # Of what came too often, the last ones are too many.
            for output in reversed(moment.outputs):
                departure = next((d for d in odd if d.observed == output), None)
                if departure is not None:
                    odd.remove(departure)
                    found.append(ShownOutput("+ ", output, departure.clause))
                    continue
                by = [p for p in moment.judged.permits if output_key(p.output) == output_key(output)]
                best = max(by, key=lambda p: p.must, default=None)
                found.append(ShownOutput("  ", output, best.clause if best else ""))
            found += [
                ShownOutput("- ", d.expected, d.clause)
                for d in moment.judged.departures
                if d.expected is not None and d.observed is None
            ]
        found.reverse()
        still = self.run.oracle.open
        found += [ShownOutput("= ", p.output, p.clause) for p in still if p.must]
        found += [ShownOutput("~ ", p.output, p.clause) for p in still if not p.must]
        return found

    def _told(self) -> Iterator[str]:
        rows = self.shown()
        for mark, clause in dict.fromkeys((row.mark, row.clause) for row in rows):
            alike = [row.output for row in rows if (row.mark, row.clause) == (mark, clause)]
            side = f"{SIDES[mark]}, " if SIDES[mark] else ""
            for text in self._notation.output_texts(in_order(alike)):
                yield f"{mark}{text:{COLUMN}} {side}{clause}".rstrip()
        for moment in self.last:
            for departure in moment.judged.departures:
                if departure.kind == "choice":
                    chosen = lower_first(chosen_words(departure.reason))
                    yield f"+ the router {chosen}  not allowed, {departure.clause}"
        if self.run.blurred:
            yield "the router made a choice that its outputs do not show: nothing that follows can be judged"
        elif self.departs:
            yield "the router departs here; `?` says from what"
        elif not rows:
            decided = [*dict.fromkeys(clause for moment in self.last for clause in moment.judged.because)]
            yield f"  nothing is sent{': ' + ', '.join(decided) if decided else ''}"

    def clauses(self) -> list[str]:
        """By which the last event was judged: of what is shown first."""
        shown = [row.clause for row in self.shown() if row.clause]
        because = [clause for moment in self.last for clause in moment.judged.because]
        return [*dict.fromkeys([*shown, *because])]

    def state(self) -> Iterator[str]:
        """What the model knows, as far as a reader asks for it."""
        known = self.run.oracle.state
        yield f"time: {duration_text(known.now_ms) if known.now_ms else '0s'}"
        yield f"peers: {peers_text(sorted(known.peers)) if known.peers else 'none'}"
        if not isinstance(known, Router):
            yield f"pool: {' '.join(known.pool) or 'empty'}"
            yield from (
                f"no route to {peer_text(to)} from {_set(of)}" for to, of in known.routes.items() if of.all
            )
            return
        for topic in sorted(known.topics):
            mesh = known.mesh.get(topic, ())
            yield f"topic {topic}: mesh {_set(mesh) if mesh else 'empty'}"
        for topic, peer in sorted(known.backoff):
            left = known.backoff[topic, peer] - known.now_ms
            if left > 0:
                yield f"backoff of {peer_text(peer)} in {topic}: {duration_text(left)}"
        yield from (
            f"the application's score of {peer_text(p)}: {score}" for p, score in known.scores.items()
        )

    # -- as a case ----------------------------------------------------------------------------------------

    def case(self, router: str) -> Case:
        """The events as a case: of what departs, or of what must hold. Raises ValueError where no claim is
        about what happened."""
        rules = protocol_named(self.protocol)
        named = [clause for moment in reversed(self.run.moments) for clause in _clauses_of(moment)]
        clause = next((each for each in named if claim_on(each, rules)), "")
        claim = claim_on(clause, rules)
        if claim is None:
            raise ValueError("nothing to save yet: no claim is about what happened")
        made = Case(
            reason=f"Played by hand, up to `{self.lines[-1]}`.",
            claim=claim.id,
            clause=clause,
            protocols=self.protocol,
            against=against_text(router, self.run.subject.hello.version) if self.departs else "any",
            status="open" if self.departs else "suite",
            parameters=self.run.oracle.parameters,
            profile=profile_text(router, self.config.profile) if self.departs else "",
            seed=self.config.seed,
            blocks=(CaseBlock(tuple(self.events)),),
        )
        # Replay says where blocks end, and what is shown in each.
        return replay_router(made, self.opener).rewritten


def _set(members: Any) -> str:
    known = members if isinstance(members, PartialSet) else PartialSet.of(members)
    surely = peers_text(sorted(known.must)) if known.must else ""
    perhaps = f"perhaps {peers_text(sorted(known.may))}" if known.may else ""
    return ", ".join(each for each in (surely, perhaps) if each)


def _clauses_of(moment: Moment) -> Iterable[str]:
    judged = moment.judged
    if judged.departures:
        return [d.clause for d in judged.departures]
    return [*judged.spent, *judged.because]


# -- the conversation ---------------------------------------------------------------------------------------


def run(options: argparse.Namespace) -> int:
    if options.json:
        raise UsageError("play has no --json; `save FILE` writes a case, `replay --emit json` its data")
    hand = _begun(options)
    router = options.against or "ours"
    print(f"{options.protocol}, played by {options.against or 'the model'}: type an event, `help` or `q`")
    refused = 0
    try:
        for number, line in enumerate(_typed(), 1):
            if line in ("q", "quit", "exit"):
                break
            try:
                for each in _answer(hand, line, router):
                    print(each)
            except (ValueError, CaseError) as error:
                refused += 1
                print(f"line {number}: {error}")
    finally:
        hand.close()
    if hand.departs:
        return 1
    return 2 if refused and not sys.stdin.isatty() else 0


def _begun(options: argparse.Namespace) -> HandPlay:
    name = checked_protocol(options.protocol)
    try:
        parameters = parameters_read(" ".join(options.set), name)
    except ValueError as error:
        raise UsageError(f"--set: {error}") from None
    opener: Callable[[Config], Any] = lambda config: ModelSubject(  # noqa: E731
        protocol_named(name), config.parameters, config.seed
    )
    if options.against:
        parameters = fixed_by(hello_from(options.against, name, options.profile), parameters)
        opener = opener_of(options.against)
    config = Config(seed=options.seed, protocol=name, parameters=parameters, profile=options.profile)
    return HandPlay(name, config, opener)


def _typed() -> Iterator[str]:
    """The lines that are typed; those of a pipe are printed, so that the answers have their questions."""
    by_hand = sys.stdin.isatty()
    if by_hand:
        # It makes `input` edit lines, and remember them.
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401
    while True:
        try:
            line = input("> " if by_hand else "").strip()
        except EOFError:
            return
        if not by_hand:
            print(f"> {line}")
        yield line


def _answer(hand: HandPlay, line: str, router: str) -> Sequence[str]:
    """What a line comes to. Raises ValueError and CaseError."""
    name, _, rest = line.partition(" ")
    if not line or line.startswith("#"):
        return []
    if name == "?":
        return _sentences([rest] if rest else hand.clauses())
    if line == "help":
        return [HELP]
    if line == "list":
        return hand.lines or ["no events yet"]
    if line == "state":
        return [*hand.state()]
    if line == "undo":
        return [f"undone: {hand.undo()}"]
    if name == "save":
        return [_saved(hand, rest, router)]
    return hand.do(line)


def _sentences(clauses: Sequence[str]) -> list[str]:
    if not clauses:
        return ["no event yet, or no sentence is about the last one"]
    found = []
    for clause in clauses:
        if clause not in known_clauses():
            raise ValueError(f"no clause {clause!r}{suggestion(clause, known_clauses())}")
        found.append(textwrap.fill(sentence_of(clause), WIDTH, initial_indent="  ", subsequent_indent="    "))
    return found


def _saved(hand: HandPlay, name: str, router: str) -> str:
    if not name.endswith(".case"):
        raise ValueError("expected `save FILE.case`")
    if not hand.events:
        raise ValueError("there is nothing to save yet")
    text = render(hand.case(router))
    parse(text)
    try:
        with Path(name).open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ValueError(f"{name} exists already") from None
    except OSError as error:
        raise ValueError(f"{name} cannot be written: {error.strerror}") from None
    told = f"wrote {name}; replay it: quidnunc replay {name} --against ROUTER"
    if hand.departs or isinstance(hand.events[-1], Advance):
        return told
    hint = "the case ends before the next heartbeat, so what is owed by then is not checked"
    return f"{told}\n  {hint}: type `advance 1s`, then save again under another name"
