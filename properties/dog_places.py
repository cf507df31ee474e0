"""Where statements are looked at: the revisions, small networks of them, and what happens there."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from quidnunc.model.choices import Choose
from quidnunc.model.machine import protocol_named
from quidnunc.model.node import Node
from quidnunc.model.node_step import run
from quidnunc.model.permits import Step
from quidnunc.model.router import From
from quidnunc.model.rpc import Peer, Tx
from quidnunc.model.rules import Protocol, rule
from quidnunc.properties.mempool_network import Rules
from quidnunc.properties.mempool_network_acts import Kind
from quidnunc.properties.mempool_search import World
from quidnunc.properties.quint_replay import quint_rules

GRAPHS: Mapping[str, tuple[tuple[Peer, Peer], ...]] = {
    "pair": ((1, 2),),
    "line": ((1, 2), (2, 3)),
    "ring": ((1, 2), (1, 3), (2, 3)),
    "star": ((1, 2), (1, 3), (1, 4)),
    "line of four": ((1, 2), (2, 3), (3, 4)),
    "ring of four": ((1, 2), (2, 3), (3, 4), (1, 4)),
    "ring of five": ((1, 2), (2, 3), (3, 4), (4, 5), (1, 5)),
    "kite": ((1, 2), (2, 3), (2, 4), (3, 4)),
    "diamond": ((1, 2), (1, 3), (2, 3), (2, 4), (3, 4)),
    "mesh of four": ((1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)),
}
STILL = "UDRA"
CHURN = "UDRAXLJ"


@frozen
class Place:
    """A small network and what may happen in it, for whatever rules."""

    graph: str
    kinds: str = STILL
    txs: int = 2
    again: bool = False
    origins: tuple[Peer, ...] = ()
    forger: Peer = 0
    wait_ms: int = 0
    announced: int = 15
    slots: int = 0
    text: str = ""

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.graph}, {self.text or _LIFE.get(self.kinds, self.kinds)}"

    def world(self, rules: Rules) -> World:
        parameters = evolve(
            rules.parameters,
            dog=rules.parameters.dog and not self.slots,
            max_announced_peers=self.announced,
            max_non_persistent=self.slots,
        )
        return World(
            evolve(rules, parameters=parameters),
            GRAPHS[self.graph],
            tuple(f"t{i}" for i in range(1, self.txs + 1)),
            frozenset[Kind](_kinds(self.kinds)),
            frozenset(self.origins),
            self.again,
            self.forger,
            self.wait_ms,
        )


_LIFE = {
    STILL: "nobody leaves",
    CHURN: "nodes leave and join",
    "UDRAXL": "one node leaves",
    "UDR": "no adjustment",
    "UR": "no request expires",
}


def _kinds(text: str) -> list[Kind]:
    known: dict[str, Kind] = {"U": "U", "D": "D", "R": "R", "A": "A", "X": "X", "L": "L", "J": "J", "W": "W"}
    return [known[each] for each in text]


@frozen
class Revision:
    """A reading of the documents, and the network that it goes with."""

    name: str
    rules: Rules
    family: str


def revisions() -> dict[str, Revision]:
    """Every revision that there is a model of, in the order of the table."""
    found: dict[str, Revision] = {}
    for family, names in FAMILIES.items():
        for name in names:
            protocol = _as_built() if name == AS_BUILT else protocol_named(name)
            rules = quint_rules(protocol) if "quint" in name else Rules(protocol)
            found[name] = Revision(name, rules, family)
    return found


AS_BUILT = "cat-classic-go"
"""Classic CAT as the Go node has it, by its code."""


@rule("cat-classic/receive.new-only")
def announce_known(n: Node, t: From[Tx], choose: Choose) -> Step[Node] | None:
    """What is in the pool already is announced as well."""
    if t.part.id in n.pool:
        return run(n, "announce", t.part.id, choose)
    return run(n, "new", t, choose) if not n.knows(t.part.id) else None


def _as_built() -> Protocol:
    return evolve(protocol_named("cat-classic").with_rule("take_new", announce_known), name=AS_BUILT)


FAMILIES: Mapping[str, tuple[str, ...]] = {
    "flood": ("flood",),
    "dog": ("dog", "dog-adr", "dog-quint", "dog-quint-run", "dog-go", "dog-proposed"),
    "cat": ("cat-classic", AS_BUILT, "cat"),
    "peer-limit": ("peer-limit",),
}


# -- the usual ones -----------------------------------------------------------------------------------------

PAIR, LINE, RING, KITE = Place("pair"), Place("line"), Place("ring"), Place("kite", txs=3)
BOTH = (PAIR, RING)
REPEATING = (
    Place("line", txs=3, again=True, text="users repeat themselves"),
    Place("kite", txs=3, again=True, text="users repeat themselves"),
)
CHANGING = (Place("pair", CHURN), Place("ring", CHURN))
UNADJUSTED = (Place("line", "UDR"), Place("ring", "UDR"), Place("kite", "UDR", txs=3))
CUT = (*UNADJUSTED, *REPEATING)
ONE_LEAVES = (Place("ring", "UDRAXL"), Place("kite", "UDRAXL", txs=3))
LIMITED = tuple(Place(graph, "UDR", slots=1, text="one slot") for graph in ("line", "ring", "star"))
LIMITED_CHANGING = (Place("ring", "UDRXLJ", 1, slots=1, text="one slot, nodes leave and join"),)
FORGED = (Place("line of four", forger=4, text="D says what it likes"),)
CATS = (Place("kite", "UR", 1), Place("ring of four", "UR", 1))
WAITING = (
    Place("kite", "URW", 1, wait_ms=200, text="requests expire"),
    Place("ring of four", "URW", 1, wait_ms=200, text="requests expire"),
)
