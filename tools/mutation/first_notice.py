"""How many runs until each of many mutants is noticed, for the price of little more than one search.

As long as a mutant does what our router does, the neighbours do to it what they do to our router: they look
at the model, which follows the router. So each run is drawn and judged once, with our router; a mutant is
only given the events, and where it answers all of them alike, nothing would have been noticed. Where it does
not, that very run is made again with it, and judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import field, frozen, mutable

from quidnunc.impl.seam import Config, Hello
from quidnunc.model.events import Event, Output
from quidnunc.model.rpc import Message
from quidnunc.properties.judge.play import Opener, Subject
from quidnunc.properties.mutants import mutant_named, protocol_of_mutant
from quidnunc.properties.search.machine import FindingSearch, next_run
from tools.mutation.mutants import CHUNK, hello_of_mutant, opener_of, seed_of_chunk


@frozen
class SubjectCall:
    """One call of a subject: messages declared, or an event and what was answered."""

    declared: tuple[Message, ...] = ()
    event: Event | None = None
    outputs: tuple[Output, ...] = ()


@mutable(eq=False)
class RecordingSubject:
    """Our router in one run, and what it was asked."""

    config: Config
    subject: Subject
    hello: Hello
    steps: list[SubjectCall] = field(factory=list)

    def do(self, event: Event) -> tuple[Output, ...]:
        outputs = self.subject.do(event)
        self.steps.append(SubjectCall(event=event, outputs=outputs))
        return outputs

    def declare(self, messages: Sequence[Message]) -> None:
        self.subject.declare(messages)
        self.steps.append(SubjectCall(declared=tuple(messages)))

    def close(self) -> None:
        self.subject.close()


def runs_to_notice_each(
    names: Sequence[str], *, seed: int, runs: int, steered: bool
) -> Mapping[str, int | None]:
    """What `runs_to_notice` says of each mutant; all of them are of one protocol.

    Raises ValueError where they are not, or where our router departs from the model.
    """
    protocols = {protocol_of_mutant(mutant_named(name)) for name in names}
    if len(protocols) != 1:
        raise ValueError(f"expected mutants of one protocol, got mutants of {', '.join(sorted(protocols))}")
    protocol = protocols.pop()
    found: dict[str, int | None] = dict.fromkeys(names)
    for first in range(0, runs, CHUNK):
        left = [name for name, at in found.items() if at is None]
        if not left:
            break
        played = _our_runs(protocol, seed, first, min(CHUNK, runs - first), steered)
        for name in left:
            found[name] = _noticed(name, protocol, seed, first, played, steered)
    return found


def _our_runs(protocol: str, seed: int, first: int, count: int, steered: bool) -> list[RecordingSubject]:
    """The runs from `first` on, as our router has them."""
    played: list[RecordingSubject] = []
    ours = opener_of(None)

    def opener(config: Config) -> Subject:
        subject = ours(config)
        played.append(RecordingSubject(config, subject, subject.hello))
        return played[-1]

    if _play(protocol, opener, hello_of_mutant(None, protocol), seed, first, count, steered):
        raise ValueError(f"our own router fails: see quidnunc check {protocol} --against ours")
    return played


def _play(
    protocol: str, opener: Opener, hello: Hello, seed: int, first: int, count: int, steered: bool
) -> bool:
    """Whether any of `count` runs from `first` on departs; they are of one chunk."""
    hunt = FindingSearch(protocol, opener, hello, steered=steered, counting=True, runs=first)
    while hunt.runs < first + count and not hunt.departed:
        next_run(hunt, seed=seed_of_chunk(seed, first // CHUNK))
    return hunt.departed > 0


def _noticed(
    name: str, protocol: str, seed: int, first: int, played: Sequence[RecordingSubject], steered: bool
) -> int | None:
    """The number of the first of these runs that departs with the mutant, counted from one."""
    opener, hello = opener_of(name), hello_of_mutant(name, protocol)
    for at, run in enumerate(played, first):
        same = hello == run.hello and _answers_alike(opener(run.config), run.steps)
        if not same and _play(protocol, opener, hello, seed, at, 1, steered):
            return at + 1
    return None


def _answers_alike(subject: Subject, steps: Sequence[SubjectCall]) -> bool:
    try:
        for step in steps:
            if step.event is None:
                subject.declare(step.declared)
            elif subject.do(step.event) != step.outputs:
                return False
    except Exception:  # Whatever it is, the run that is judged says what becomes of it.
        return False
    finally:
        subject.close()
    return True
