"""A case as a sequence diagram: who does what to whom, in the order of time.

One lane is the router, one its application, and one each group of peers that do and receive the same. Of a
network each node has a lane.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, TypeAlias

from attrs import evolve, field, frozen, mutable

from quidnunc.model.events import (
    Advance,
    Connect,
    Crashed,
    Delivered,
    Disconnect,
    GossipAsked,
    Offered,
    Output,
    PartialIn,
    Raw,
    Receive,
    Resume,
    Stall,
)
from quidnunc.model.rpc import Peer
from quidnunc.properties.cases.case import Case, Misfit, NodeOutput, Side
from quidnunc.properties.networks.acts import Act
from quidnunc.properties.networks.runs import BrokenClaim
from quidnunc.properties.notation.lines import Notation, without_peer
from quidnunc.properties.notation.parts import Mentions
from quidnunc.properties.notation.words import duration_text, peers_text

ROUTER, APPLICATION = "router", "application"
StepKind: TypeAlias = Literal["message", "note", "time"]
TO_APPLICATION = (Delivered, Offered, GossipAsked, PartialIn)
PEERS_ACT = (Receive, Raw, Connect, Disconnect, Stall, Resume)
_LINK = re.compile(r"([A-Z])>([A-Z]): (.*)")
_NODE = re.compile(r"([A-Z])\b:? ?(.*)")
Cast: TypeAlias = Mapping[Peer, str]
"""Peer -> its lane."""


@frozen
class SequenceStep:
    """One row of the diagram."""

    kind: StepKind
    at_ms: int
    """Since the start. Of a network there is no time: 0."""
    text: str
    sources: tuple[str, ...] = ()
    """Lanes: who acts. A note is on its source; where it has none, it is on all lanes."""
    targets: tuple[str, ...] = ()
    side: Side = "both"
    is_event: bool = False
    """Whether the kit did it, and not what is tested."""

    @property
    def diverges(self) -> bool:
        return self.side in ("router", "model")


@frozen
class SequenceDiagram:
    """Lanes from left to right, and steps from top to bottom."""

    lanes: tuple[str, ...]
    steps: tuple[SequenceStep, ...]
    timed: bool

    @property
    def diverging(self) -> tuple[SequenceStep, ...]:
        return tuple(each for each in self.steps if each.diverges)


def sequence_of(case: Case) -> SequenceDiagram:
    """The diagram of a case."""
    if case.is_network:
        steps = tuple(_network_steps(case))
        return SequenceDiagram(tuple(chr(64 + node) for node in case.nodes), steps, timed=False)
    cast = lanes_of(case)
    steps = tuple(_RouterSteps(cast, Notation(Mentions(case.signed))).of(case))
    used = {lane for step in steps for lane in (*step.sources, *step.targets)}
    lanes = [lane for lane in (APPLICATION, ROUTER) if lane in used or lane == ROUTER]
    return SequenceDiagram((*lanes, *dict.fromkeys(cast.values())), steps, timed=True)


# -- one router ---------------------------------------------------------------------------------------------


def lanes_of(case: Case) -> Cast:
    """A lane for each peer. Peers that do and receive the same share one."""
    does: dict[Peer, list[object]] = {}
    for number, block in enumerate(case.blocks):
        for at, event in enumerate(block.events):
            for peer in getattr(event, "peers", ()):
                does.setdefault(peer, []).append((number, at))
        for shown in block.shown:
            peer = getattr(shown.what, "peer", None)
            if peer is not None and not isinstance(shown.what, Misfit):
                does.setdefault(peer, []).append((number, shown.side, _alike(shown.what)))
    alike: dict[tuple[str, ...], list[Peer]] = {}
    for peer in sorted(does):
        alike.setdefault(tuple(map(repr, does[peer])), []).append(peer)
    return {peer: peers_text(peers) for peers in alike.values() for peer in peers}


@mutable
class _RouterSteps:
    cast: Cast
    notation: Notation
    now_ms: int = field(default=0, init=False)

    def of(self, case: Case) -> Iterator[SequenceStep]:
        for block in case.blocks:
            for event in block.events:
                yield self._event(event)
            for side, group in groupby(block.shown, lambda each: each.side):
                for step in self._outputs([each.what for each in group]):
                    yield evolve(step, side=side)

    def _event(self, event: Any) -> SequenceStep:
        text = self.notation.event_text(event)
        if isinstance(event, Advance):
            self.now_ms += event.ms
            said = f"{duration_text(event.ms)} pass"
            return SequenceStep("time", self.now_ms, said, is_event=True)
        if isinstance(event, PEERS_ACT):
            lanes = self._lanes(event.peers)
            said = text.partition(": ")[2] if isinstance(event, Receive | Raw) else _without_peers(text)
            if isinstance(event, Connect) and event.outbound:
                return SequenceStep("message", self.now_ms, said, (ROUTER,), lanes, is_event=True)
            return SequenceStep("message", self.now_ms, said, lanes, (ROUTER,), is_event=True)
        return SequenceStep("message", self.now_ms, text, (APPLICATION,), (ROUTER,), is_event=True)

    def _outputs(self, outputs: Sequence[Any]) -> Iterator[SequenceStep]:
        for is_misfit, group in groupby(outputs, lambda what: isinstance(what, Misfit)):
            if is_misfit:
                for each in group:
                    yield SequenceStep("note", self.now_ms, f"chooses {each.name}: {each.reason}", (ROUTER,))
                continue
            for _, alike in groupby(group, _alike):
                yield self._output(list(alike))

    def _output(self, alike: Sequence[Output]) -> SequenceStep:
        (text,) = self.notation.output_texts(alike)
        if isinstance(alike[0], Crashed):
            return SequenceStep("note", self.now_ms, text, (ROUTER,))
        if isinstance(alike[0], TO_APPLICATION):
            return SequenceStep("message", self.now_ms, text, (ROUTER,), (APPLICATION,))
        said = text.partition(": ")[2] or _without_peers(text)
        lanes = self._lanes([getattr(each, "peer") for each in alike])  # noqa: B009
        # A part of a lane: the text says which peers.
        whole = {peer for peer, lane in self.cast.items() if lane in lanes}
        if whole - {getattr(each, "peer", None) for each in alike}:
            said = text
        return SequenceStep("message", self.now_ms, said, (ROUTER,), lanes)

    def _lanes(self, peers: Sequence[Peer]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.cast[peer] for peer in peers))


def _alike(output: Any) -> object:
    """What outputs that share a line have in common."""
    return type(output), without_peer(output)


def _without_peers(text: str) -> str:
    """`connect a,b /meshsub/1.2.0` is `connect /meshsub/1.2.0`."""
    name, _, rest = text.partition(" ")
    return " ".join(filter(None, (name, rest.partition(" ")[2])))


# -- a network ----------------------------------------------------------------------------------------------


def _network_steps(case: Case) -> Iterator[SequenceStep]:
    for act in case.before:
        yield evolve(_act(act), text=f"{act} (before)")
    for block in case.blocks:
        yield from map(_act, block.events)
        for shown in block.shown:
            if isinstance(shown.what, BrokenClaim):
                yield SequenceStep("note", 0, f"broken: {shown.what.why}", side="router")
            elif isinstance(shown.what, NodeOutput):
                yield _node_output(shown.what.text)


def _act(act: Act) -> SequenceStep:
    if act.kind in ("settle", "rounds", "all"):
        return SequenceStep("note", 0, str(act), is_event=True)
    if act.kind in ("connect", "disconnect", "deliver", "say"):
        source, target = chr(64 + act.node), chr(64 + act.peer)
        return SequenceStep("message", 0, str(act), (source,), (target,), is_event=True)
    return SequenceStep("note", 0, str(act), (chr(64 + act.at),), is_event=True)


def _node_output(text: str) -> SequenceStep:
    if sent := _LINK.fullmatch(text):
        return SequenceStep("message", 0, sent[3], (sent[1],), (sent[2],))
    node = _NODE.match(text)
    return SequenceStep("note", 0, text, (node[1],) if node else ())
