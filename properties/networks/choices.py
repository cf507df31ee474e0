"""The choices of nodes of a small network, each with a name, and RPCs as they go over a link."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import cast

from attrs import evolve, field, mutable

from quidnunc.model.choices import PartialSet, Reveals, Shows, SuchThat, subsets
from quidnunc.model.events import Sent
from quidnunc.model.permits import Permit
from quidnunc.model.rpc import (
    ROUTER,
    UNSAID,
    Extensions,
    IDontWant,
    IHave,
    IWant,
    Message,
    Part,
    Peer,
    Prune,
    Subscribe,
    Unsubscribe,
)
from quidnunc.model.rules import Targets
from quidnunc.properties.networks.acts import Answer, Pick, answer_text
from quidnunc.properties.networks.runs import ActError

MAX_OPTIONS = 32
"""How many answers to one choice are looked at, at most."""

Rpc = tuple[Part, ...]

Picks = Callable[[str, Sequence[Answer]], Answer]


def first_of(name: str, options: Sequence[Answer]) -> Answer:
    """What is usual."""
    return options[0]


@mutable
class NamedChoices:
    """An oracle that is told its first answers, and has the others from `pick`; it notes what there was."""

    answers: tuple[Pick, ...] = ()
    pick: Picks = first_of
    usual: frozenset[str] = frozenset()
    """Questions of yes or no that are no choice here: the answer is the usual one."""
    options: list[Sequence[Answer]] = field(factory=list)
    taken: list[Pick] = field(factory=list)

    def fired(self, clause: str) -> None:
        return None

    def take(self, name: str, options: Sequence[Answer]) -> Answer:
        """One of `options`, the usual one first. Raises ActError where it was told another."""
        if len(options) == 1:
            return options[0]
        at = len(self.taken)
        if at < len(self.answers):
            asked, answer = self.answers[at]
            if asked != name or answer not in options:
                raise ActError(f"{asked}={answer_text(answer)} cannot be chosen here, where {name} is asked")
        else:
            answer = self.pick(name, options)
        self.options.append(options)
        self.taken.append((name, answer))
        return answer

    def some(
        self,
        name: str,
        clause: str,
        among: Targets,
        count: tuple[int, int],
        *,
        reveals: Reveals,
        such_that: SuchThat | None = None,
    ) -> frozenset[Peer]:
        return self.some_of(name, subsets(among.all, count, such_that))

    def some_of(self, name: str, sets: Iterator[frozenset[Peer]]) -> frozenset[Peer]:
        """One of these sets, of which the first `MAX_OPTIONS` are looked at; nobody where there is none."""
        return cast("frozenset[Peer]", self.take(name, [*islice(sets, MAX_OPTIONS)] or [frozenset()]))

    def hidden(self, name: str, among: PartialSet) -> PartialSet:
        spare = len(among.must)
        kept = subsets(among.may, (max(0, among.least - spare), among.most - spare), None)
        return PartialSet.of(among.must | self.some_of(name, kept))

    def whether(self, name: str, shows: Shows, default: bool = False) -> bool:
        return default if name in self.usual else bool(self.take(name, (default, not default)))

    def free(self, name: str, likely: Shows | None = None) -> bool:
        return self.whether(name, lambda _: False)

    def said(self) -> tuple[Pick, ...]:
        """The answers, as far as they are not the usual ones."""
        last = 0
        for at, ((_, answer), options) in enumerate(zip(self.taken, self.options, strict=True), 1):
            if answer != options[0]:
                last = at
        return tuple(self.taken[:last])


# -- what is sent -------------------------------------------------------------------------------------------


def resolved_sends(permits: Sequence[Permit], told: NamedChoices) -> list[tuple[Peer, Part]]:
    """What is sent: what must be, and of what may be, what was chosen. One choice for each part, of peers."""
    owed = [p.output for p in permits if isinstance(p.output, Sent) and p.must]
    free: dict[Part, list[Peer]] = {}
    for p in permits:
        if isinstance(p.output, Sent) and not p.must and p.output not in owed:
            free.setdefault(p.output.part, []).append(p.output.peer)
    sent = [(o.peer, _said_in_full(o.part)) for o in owed]
    for part, peers in free.items():
        usual = isinstance(part, IDontWant | IWant)
        sizes = [*subsets(frozenset(peers), (0, len(peers)), None)][:MAX_OPTIONS]
        options = sizes if usual else [frozenset[Peer](), *(s for s in sizes if s)]
        chosen = cast("frozenset[Peer]", told.take(f"say.{type(part).__name__.lower()}", options))
        sent += [(peer, _said_in_full(part)) for peer in sorted(chosen)]
    return sent


def _said_in_full(part: Part) -> Part:
    """Fields whose value is open are left out."""
    if isinstance(part, Prune):
        return Prune(part.topic, None if part.backoff_s == UNSAID else part.backoff_s)
    return part


_ORDER = (Extensions, Subscribe, Unsubscribe, Message)


def rpcs_of(node: Peer, sent: Iterable[tuple[Peer, Part]]) -> Iterator[tuple[Peer, Rpc]]:
    """One RPC for each peer, ids of one kind in one part, as it is said on the wire."""
    told: dict[Peer, list[Part]] = {}
    for peer, part in sent:
        told.setdefault(peer, []).append(as_said_by(node, part))
    for peer, parts in sorted(told.items()):
        yield peer, tuple(sorted(_merged(parts), key=_place))


def _place(part: Part) -> int:
    return _ORDER.index(type(part)) if type(part) in _ORDER else len(_ORDER)


def _merged(parts: Sequence[Part]) -> list[Part]:
    found: dict[object, Part] = {}
    for part in parts:
        match part:
            case IHave(topic, ids):
                before = cast("IHave", found.get((IHave, topic), IHave(topic, ())))
                found[IHave, topic] = IHave(topic, before.ids + ids)
            case IWant(ids) | IDontWant(ids):
                so_far = cast("IWant | IDontWant", found.get(type(part), type(part)(())))
                found[type(part)] = type(part)(so_far.ids + ids)
            case _:
                found[len(found), part] = part
    return [*found.values()]


def as_said_by(node: Peer, part: Part) -> Part:
    """A part with its author by letter, and not as the router itself."""
    return evolve(part, author=node) if isinstance(part, Message) and part.author == ROUTER else part


def as_seen_by(node: Peer, part: Part) -> Part:
    return evolve(part, author=ROUTER) if isinstance(part, Message) and part.author == node else part
