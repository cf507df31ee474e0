"""Whether runs of the rich model are runs of mesh links: a step of a router maps to rules of a link, or none.

A pair of routers in a network is seen as a pair of peers: who is in the topic, who holds whom, who knows of
whom, and what is in flight between them. A step of one of the two must be a sequence of its own rules that
leads from what was seen to what is seen; a step of a third must change nothing. Backoffs are not compared, as
those of a router end by its clock: they are followed by the rules alone, where they forbid what a router may
not do. Real routers are seen by what they say of their own
state, and are followed in the same way (`quidnunc.properties.networks.routers`). With `timed` a
backoff ends only when nothing is in flight, so that a run which the rules cannot follow is a breach of that
assumption, or an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from attrs import define, field, frozen

from quidnunc.model.events import Receive
from quidnunc.model.rpc import Graft, Peer, Prune, Subscribe, Unsubscribe
from quidnunc.properties.networks.choices import Rpc, rpcs_of
from quidnunc.properties.networks.network import Link
from quidnunc.properties.networks.pubsub import PubsubMove, RouterStep
from quidnunc.properties.networks.pubsub import PubsubNetwork as Routers
from quidnunc.properties.networks.routers import RouterLinks, held_by_model
from quidnunc.properties.proofs.mesh.links import GRAFT, PRUNE, SUB, UNSUB, LinkVariant, Pair
from quidnunc.properties.proofs.mesh.mesh_link import mesh_link_of
from quidnunc.properties.solver.interpret import State, interpreter
from quidnunc.properties.solver.rules import NetworkModel, content_of, name_of

CAPACITY = 5
"""Messages about one topic in a queue; a run with more of them is not followed."""
KINDS = 4
_MESSAGES: Mapping[type, int] = {Graft: GRAFT, Prune: PRUNE, Unsubscribe: UNSUB, Subscribe: SUB}
# A leave says PRUNE and UNSUB in one RPC, which is taken at once: the rules have them in this order.
_ORDER = (PRUNE, UNSUB, SUB, GRAFT)

Paths = dict[State, tuple[int, ...]]
"""States that a run may be in, and the rules that led there from where it was followed first."""


@cache
def rules_for(protocol: str, *, timed: bool = False) -> NetworkModel:
    """The rules of a link, as the model has them for v1.0 and for what came later."""
    v1_0 = protocol == "gossipsub-1.0"
    variant = LinkVariant(
        backoff=not v1_0, expires_in_flight=not timed, silent=not v1_0, unsub=True, announced=True
    )
    return mesh_link_of(f"links of {protocol}", variant, peers=2, d_high=None, capacity=CAPACITY)


@frozen(kw_only=True)
class RefinementResult:
    """How far the rules of a link followed a run."""

    rules: tuple[str, ...]
    """Those that were taken, in one of the ways to follow it."""
    clauses: frozenset[str]
    broken: str = ""
    """The step that no rules lead to; empty where all were followed."""
    left: str = ""
    """Why it was not followed to its end, though nothing is wrong."""


@define
class LinkFollower:
    """A pair of a network of routers, and where the rules of a link may be."""

    network: NetworkModel
    pair: tuple[Peer, Peer]
    topic: str
    links: dict[Link, tuple[Rpc, ...]]
    routers: dict[Peer, RouterLinks]
    paths: Paths = field(factory=dict)

    def begin(self) -> None:
        """From what is seen now, without backoffs."""
        self.paths = {tuple(self._seen()): ()}

    def _seen(self) -> list[int]:
        """The fields of the link, but for its backoffs."""
        values: dict[str, int] = {}
        for i, me in enumerate(self.pair):
            router, other = self.routers[me], self.pair[1 - i]
            values[name_of("sub", (i,))] = self.topic in router.topics
            values[name_of("mesh", (i, 1 - i))] = other in router.mesh.get(self.topic, ())
            values[name_of("knows", (i, 1 - i))] = self.topic in router.known[other]
            queue = [m for rpc in self.links[me, other] for m in messages(rpc, self.topic)]
            values[name_of("channel", (i, 1 - i))] = code_of(queue)
        return [int(values.get(f.name, 0)) for f in self.network.fields]

    def queued(self) -> int:
        """Messages in the longer queue."""
        a, b = self.pair
        return max(
            sum(len(messages(rpc, self.topic)) for rpc in self.links[link]) for link in ((a, b), (b, a))
        )

    def take(self, seen: RouterStep, held: RouterLinks) -> bool:
        """One step of a router, and what it keeps then; whether the rules can follow."""
        self.routers[seen.node] = held
        if isinstance(seen.event, Receive):
            (sender,) = seen.event.peers
            link = (sender, seen.node)
            self.links[link] = self.links.get(link, ())[1:]
        for peer, rpc in rpcs_of(seen.node, seen.sent):
            if (seen.node, peer) in self.links:
                self.links[seen.node, peer] = (*self.links[seen.node, peer], rpc)
        wanted = self._seen()
        if seen.node in self.pair:
            self.paths = reached(self.network, self.paths, self.pair.index(seen.node), wanted)
        else:
            self.paths = {s: path for s, path in self.paths.items() if _alike(self.network, s, wanted)}
        return bool(self.paths)


def messages(rpc: Rpc, topic: str) -> list[int]:
    """What an RPC says of the link, in the order of the rules."""
    of_links = [part for part in rpc if isinstance(part, Graft | Prune | Unsubscribe | Subscribe)]
    said = [_MESSAGES[type(part)] for part in of_links if part.topic == topic]
    return sorted(said, key=_ORDER.index)


def code_of(queue: Iterable[int]) -> int:
    """The code of a channel with this content, the oldest first."""
    code = 0
    for message in queue:
        code = KINDS * code + message
    return code


def _alike(network: NetworkModel, state: State, wanted: Iterable[int]) -> bool:
    """Equal in all but backoffs."""
    return all(f.kind == "backoff" or a == b for f, a, b in zip(network.fields, state, wanted, strict=True))


def reached(network: NetworkModel, paths: Paths, me: int, wanted: list[int]) -> Paths:
    """States like `wanted` that rules of `me` lead to, with a shortest way to each."""
    steps = interpreter(network)
    mine = {n for n, rule in enumerate(network.rules) if rule.kind == "expire" or rule.about[0] == me}
    places = {f.name: n for n, f in enumerate(network.fields)}
    out, back = (places[name_of("channel", pair)] for pair in ((me, 1 - me), (1 - me, me)))
    known, found = dict(paths), {s: path for s, path in paths.items() if _alike(network, s, wanted)}
    waiting = list(paths)
    for state in waiting:
        for rule, after in steps.enabled(state):
            if rule in mine and after not in known and _on_the_way(after, wanted, out, back):
                known[after] = (*known[state], rule)
                waiting.append(after)
                if _alike(network, after, wanted):
                    found[after] = known[after]
    return found


def _on_the_way(state: State, wanted: list[int], out: int, back: int) -> bool:
    """Nothing was sent that is not in flight in the end, nor more taken than is gone."""
    sent, goal = content_of(state[out], KINDS), content_of(wanted[out], KINDS)
    rest, left = content_of(state[back], KINDS), content_of(wanted[back], KINDS)
    return goal[: len(sent)] == sent and rest[len(rest) - len(left) :] == left and len(rest) >= len(left)


def follow(
    start: Routers,
    moves: Iterable[PubsubMove],
    pair: tuple[Peer, Peer],
    network: NetworkModel,
    *,
    held: Sequence[Sequence[RouterLinks]] = (),
) -> RefinementResult:
    """Follow a run from `start`, where the pair is connected, by the rules of `rules_for`.

    `held` is what a router keeps after each step of each move, where it is not one of the model.
    """
    routers = {node: held_by_model(r) for node, r in start.nodes.items()}
    follower = LinkFollower(network, pair, "t", dict(start.links), routers)
    follower.begin()
    paths: Paths = follower.paths
    for at, move in enumerate(moves):
        if move.act.kind in ("connect", "disconnect"):
            return _followed(network, paths, left=f"{move.act}: links do not come and go")
        kept = held[at] if held else [held_by_model(seen.after) for seen in move.steps]
        for seen, now in zip(move.steps, kept, strict=True):
            if not follower.take(seen, now):
                event = type(seen.event).__name__.lower()
                return _followed(network, paths, broken=f"{move.act}: {event} at {chr(64 + seen.node)}")
            paths = follower.paths
            if follower.queued() > CAPACITY - 2:
                return _followed(network, paths, left=f"{move.act}: too much is in flight")
    return _followed(network, paths)


def _followed(network: NetworkModel, paths: Paths, *, broken: str = "", left: str = "") -> RefinementResult:
    way = min(paths.values(), key=lambda path: (len(path), path))
    rules = [network.rules[number] for number in way]
    return RefinementResult(
        rules=tuple(rule.name for rule in rules),
        clauses=frozenset(rule.clause for rule in rules),
        broken=broken,
        left=left,
    )


def pairs_of(network: Routers) -> Iterator[Pair]:
    """Routers that are connected with each other."""
    yield from ((a, b) for a, b in sorted(network.links) if a < b)
