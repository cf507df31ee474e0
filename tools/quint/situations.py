"""What the committed traces of the Quint text are taken for: one situation each, at the trace's last step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import cast

from quidnunc.model.rpc import HaveTx, Part, ResetRoute, Tx
from tools.quint.replay import NodeView, QuintStep

Shows = Callable[[QuintStep, QuintStep], bool]
"""(the state before, the step taken) -> whether the situation is there."""


def _at(before: QuintStep, step: QuintStep) -> tuple[NodeView, NodeView]:
    """The node that acted, before and after."""
    node = str(step.picks["node"])
    return before.nodes[node], step.nodes[node]


def _taken(before: QuintStep, step: QuintStep, kind: type[Part]) -> bool:
    return step.action == "receive" and isinstance(_at(before, step)[0].inbox[0][1], kind)


def _new(before: QuintStep, step: QuintStep) -> Iterator[tuple[str, Part]]:
    """(receiver, part) of every message that the step sent."""
    for name, now in step.nodes.items():
        was = before.nodes[name].inbox
        kept = len(was) - (step.action == "receive" and name == step.picks["node"])
        yield from ((name, part) for _, part in now.inbox[kept:])


def _routes_to(seen: NodeView, target: str) -> int:
    return sum(route[1] == target for route in seen.disabled)


def _says(before: QuintStep, step: QuintStep, kind: type[Part]) -> bool:
    return any(isinstance(part, kind) for _, part in _new(before, step))


def _withheld(before: QuintStep, step: QuintStep) -> bool:
    if step.action != "disseminate":
        return False
    was, _ = _at(before, step)
    tx = was.pool[was.offered]
    told = {name for name, _ in _new(before, step)}
    return bool(was.peers - told - set(was.senders.get(tx, ())))


def _new_routes(before: QuintStep, step: QuintStep) -> frozenset[tuple[str, str]]:
    was, now = _at(before, step)
    return now.disabled - was.disabled


def _senders(before: QuintStep, step: QuintStep) -> tuple[str, ...]:
    """Of the transaction that a HaveTx names, where one is taken."""
    was, _ = _at(before, step)
    part = was.inbox[0][1]
    return was.senders.get(part.id, ()) if isinstance(part, HaveTx) else ()


def _freed(before: QuintStep, step: QuintStep) -> bool:
    was, _ = _at(before, step)
    return _taken(before, step, ResetRoute) and _routes_to(was, was.inbox[0][0]) > 0


def _adjusted(before: QuintStep, step: QuintStep, says: Callable[[NodeView, NodeView], bool]) -> bool:
    return step.action == "adjust" and says(*_at(before, step))


def _lost_is_asked(before: QuintStep, step: QuintStep) -> bool:
    return step.action == "notice" and any(name == step.picks["lost"] for name, _ in _new(before, step))


def _forgets(before: QuintStep, step: QuintStep) -> bool:
    was, now = _at(before, step)
    return step.action == "notice" and was.disabled > now.disabled


def _unaware_joiner(before: QuintStep, step: QuintStep) -> bool:
    chosen = cast("frozenset[str]", step.picks.get("chosen", frozenset()))
    return any(before.nodes[name].offered for name in chosen) and not _at(before, step)[0].cache


def _of_no_peer(before: QuintStep, step: QuintStep) -> bool:
    was, _ = _at(before, step)
    return step.action == "receive" and was.inbox[0][0] not in was.peers


SITUATIONS: Mapping[str, Shows] = {
    "first-time": lambda b, s: _taken(b, s, Tx) and len(_at(b, s)[1].pool) > len(_at(b, s)[0].pool),
    "answered": lambda b, s: _taken(b, s, Tx) and _says(b, s, HaveTx),
    "while-blocked": lambda b, s: (
        _taken(b, s, Tx) and _at(b, s)[0].blocked and _at(b, s)[1].duplicates > _at(b, s)[0].duplicates
    ),
    "second-sender": lambda b, s: any(len(each) > 1 for each in _at(b, s)[1].senders.values()),
    "user-duplicate": lambda b, s: s.action == "submit" and _at(b, s)[1].duplicates > _at(b, s)[0].duplicates,
    "have-tx-without-sender": lambda b, s: (
        _taken(b, s, HaveTx) and not _new_routes(b, s) and not _at(b, s)[1].disabled
    ),
    "route-disabled": lambda b, s: any(source != target for source, target in _new_routes(b, s)),
    "first-of-two": lambda b, s: any(len(_senders(b, s)) > 1 for _ in _new_routes(b, s)),
    "self-route": lambda b, s: any(source == target for source, target in _new_routes(b, s)),
    "withheld": _withheld,
    "route-freed": _freed,
    "nothing-to-free": lambda b, s: (
        _taken(b, s, ResetRoute) and not _routes_to(_at(b, s)[0], _at(b, s)[0].inbox[0][0])
    ),
    "idle": lambda b, s: _adjusted(b, s, lambda was, now: was.first_time + was.duplicates == 0),
    "too-little": lambda b, s: s.action == "adjust" and _says(b, s, ResetRoute),
    "too-much": lambda b, s: _adjusted(b, s, lambda was, now: was.blocked and not now.blocked),
    "duplicates-alone": lambda b, s: _adjusted(
        b, s, lambda was, now: was.first_time == 0 and was.duplicates > 0
    ),
    "of-a-leaver": _of_no_peer,
    "route-of-a-leaver": lambda b, s: any(
        source not in _at(b, s)[1].peers for source, _ in _new_routes(b, s)
    ),
    "lost-is-asked": _lost_is_asked,
    "lost-is-forgotten": _forgets,
    "joiner": _unaware_joiner,
}
