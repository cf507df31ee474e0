"""Edits of what a router knows of a peer: it outlives the connection, and counts on the next one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from quidnunc.model.edit import Edit
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import Router
from quidnunc.model.rules import Phases, Protocol, Rule
from quidnunc.model.values import evolve

EARLIER = "earlier-"
"""How their names begin. What is kept of former peers is kept under the same word."""

KNOWN = {
    "protocol": "Treats a peer that reconnects as speaking the protocol of an earlier connection.",
    "topics": "Treats a peer that reconnects as in the topics that it announced on an earlier connection.",
    "extensions": "Goes by the extensions that a peer named on an earlier connection.",
    "flags": "Goes by what a peer said of partial messages on an earlier connection.",
}
"""What of a neighbour -> words."""
FIELDS = {
    "protocol": ("protocol",),
    "topics": ("topics",),
    "extensions": ("extensions", "perhaps", "spoke"),
    "flags": ("flags",),
}
"""In which of its fields that is. Extensions count as named before if something was said then."""


def edits_of_reconnecting(protocol: Protocol) -> Iterator[tuple[Edit, tuple[str, ...]]]:
    """Edits, each with the rules that it changes: the first on a peer that leaves, and on one that comes."""
    leaving, coming = (protocol.handlers.get(name) for name in ("disconnect", "connect"))
    if "subscribe" not in protocol.handlers:
        return
    if not isinstance(leaving, Phases) or not isinstance(coming, Phases):
        return
    if not leaving.rules or not coming.rules:
        return
    names = (leaving.rules[0].name, coming.rules[0].name)
    read = {"extensions": "extension", "flags": "partial"}
    for what, says in KNOWN.items():
        if read.get(what, "connect") in protocol.handlers:
            changing = partial(_remembering, names=names, what=what)
            # Which sentence it breaks, a run says.
            yield Edit(f"{EARLIER}{what}", "replaced", "", says, changing), names


def _remembering(protocol: Protocol, *, names: tuple[str, str], what: str) -> Protocol:
    present = {each.name: each for _, each in protocol.rules()}
    changes: tuple[Callable[[Rule], Rule], ...] = (_noting, partial(_restoring, what))
    for name, change in zip(names, changes, strict=True):
        # Another edit may have dropped one.
        if name in present:
            protocol = protocol.with_rule(name, change(present[name]))
    return protocol


def _noting(rule: Rule) -> Rule:
    def apply(r: Router, peer: Any, choose: Any) -> Any:
        said = rule.apply(r, peer, choose) or Step(r)
        after: Router = said.router
        former = {**_former(after), peer: r.peers[peer]}
        return Step(evolve(after, kept={**after.kept, EARLIER: former}), said.permits)

    return evolve(rule, apply=apply)


def _restoring(what: str, rule: Rule) -> Rule:
    def apply(r: Router, peer: Any, choose: Any) -> Any:
        former = _former(r).get(peer)
        if former is None:
            return rule.apply(r, peer, choose)
        back = evolve(r.peers[peer], **{field: getattr(former, field) for field in FIELDS[what]})
        known = evolve(r, peers={**r.peers, peer: back})
        return rule.apply(known, peer, choose) or Step(known)

    return evolve(rule, apply=apply)


def _former(r: Router) -> Any:
    return r.kept.get(EARLIER, {})
