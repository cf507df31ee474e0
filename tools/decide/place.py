"""Where a statement is looked at: small networks, and what may happen in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from attrs import evolve, field, frozen

from quidnunc.model.machine import family_of
from quidnunc.model.rpc import Peer
from quidnunc.properties.networks.acts import Kind, act_of, parts_of
from quidnunc.properties.networks.network import Move, NodeSetup
from quidnunc.properties.networks.places import FAMILIES, GRAPHS, Revision
from quidnunc.properties.networks.world import World
from quidnunc.properties.statements.statement import Statement

Run: TypeAlias = tuple[str, ...]
"""Acts, as they are written."""


@frozen
class Place:
    """A small network and what may happen in it, of whatever revision."""

    graph: str
    kinds: tuple[Kind, ...]
    text: str
    """What the table calls it, beside the graph."""
    parameters: Any = None
    """Of its nodes; None for those of the revision."""
    changes: Mapping[str, Any] = field(factory=dict)
    """Parameters, by name, that are others here."""
    prelude: tuple[str, ...] = ()
    """Acts that have been done."""
    attackers: tuple[Peer, ...] = ()
    says: tuple[str, ...] = ()
    """What attackers may say."""
    messages: int = 1
    origins: tuple[Peer, ...] = ()
    again: bool = False
    judgements: tuple[str, ...] = ("accept",)
    scores: tuple[int, ...] = ()
    joins: tuple[str, ...] = ("",)
    wait_ms: int = 0
    not_of: tuple[str, ...] = ()
    """Revisions that fix a parameter which is another here, or that do not have what happens here."""

    @property
    def name(self) -> str:
        return f"{self.graph}, {self.text}"

    def world(self, revision: Revision) -> World:
        protocol, family = revision.protocol, FAMILIES[revision.protocol.family]
        parameters = self.parameters or revision.parameters or family_of(protocol).parameters()
        parameters = evolve(parameters, **self.changes)
        names = {i for link in GRAPHS[self.graph] for i in link}
        nodes = sorted(names if family.attackers_are_nodes else names - {*self.attackers})
        return World(
            family=family,
            setups=tuple(NodeSetup(i, protocol, parameters) for i in nodes),
            dials=GRAPHS[self.graph],
            transport=revision.transport,
            attackers=frozenset(self.attackers),
            says=tuple(map(parts_of, self.says)),
            prelude=tuple(map(act_of, self.prelude)),
            kinds=frozenset(self.kinds),
            messages=tuple(f"{family.letter}{i}" for i in range(1, self.messages + 1)),
            origins=frozenset(self.origins),
            again=self.again,
            judgements=self.judgements,
            scores=self.scores,
            joins=self.joins,
            wait_ms=self.wait_ms,
        )


@frozen
class StatementSearch:
    """Where a statement is looked at, and what puts it to the test."""

    places: tuple[Place, ...]
    occasion: Callable[[Move[Any]], bool] | None = field(default=None, kw_only=True)
    """What must have happened for it to be put to the test; nothing more than a run, where that is enough."""
    rounds: bool = field(default=False, kw_only=True)
    """It plays rounds from every quiet state, so that fewer states are looked at."""
    times: int = field(default=1, kw_only=True)
    """By how much more than others it is looked for: states and drawn runs."""
    tried: tuple[tuple[Place, Run], ...] = field(default=(), kw_only=True)
    """Runs that were thought of and not drawn; each is judged, and minimised, as the drawn ones are."""


def world_of_statement(statement: Statement, place: Place, revision: Revision) -> World:
    """Where a statement is looked at, in one revision."""
    if statement.edit is not None:
        revision = evolve(revision, protocol=statement.edit(revision.protocol))
    return place.world(revision)
