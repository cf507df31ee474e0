"""Drawn runs of small networks, followed pair by pair by the rules of links: of the model, or of routers.

python -m tools.network_rules.followed [--against ours] [--runs 20] [--protocol P] [--seed 0] [--json]

Which rules were taken is counted, and a rule that never was says nothing: the outcome is then inconclusive.
Exit status: 0 every run was followed and every rule was taken; 1 a step is not what links do; 2 wrong usage;
3 every run was followed and some rule was never taken; 4 a router could not run.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from attrs import evolve, field, frozen, mutable

from quidnunc.impl.seam import AdapterError
from quidnunc.model.machine import protocol_named
from quidnunc.model.rules import Protocol
from quidnunc.properties.networks.acts import Act
from quidnunc.properties.networks.network import drawn
from quidnunc.properties.networks.places import SMALL, Revision
from quidnunc.properties.networks.pubsub import TOPIC, PubsubMove, PubsubNetwork
from quidnunc.properties.networks.routers import RouterLinks, place_routers
from quidnunc.properties.networks.runs import SeededDie
from quidnunc.properties.networks.world import World
from quidnunc.properties.solver.rules import NetworkModel as Links
from tools.decide.acts import options_of
from tools.decide.place import Place
from tools.network_rules.refine import RefinementResult, follow, pairs_of, rules_for

PROG = "python -m tools.network_rules.followed"
PROTOCOLS = ("gossipsub-1.0", "gossipsub-1.1", "gossipsub-1.2", "gossipsub-1.3")
STEPS = 40
EVERYBODY = Act("all", topic=TOPIC)
MODEL = "model"
NARROW = evolve(SMALL, d=1, d_high=1)
PATIENT = evolve(SMALL, prune_backoff_s=3600, unsubscribe_backoff_s=3600)
"""No backoff of it runs out in a run, so that the timing assumption of the rules is kept."""
Outcome: TypeAlias = Literal["followed", "broken", "inconclusive"]


def places(protocol: str) -> Iterator[Place]:
    """Small networks in which routers join, leave and are scored."""
    old = protocol == "gossipsub-1.0"
    for parameters in (SMALL, NARROW):
        for graph in ("pair", "ring"):
            yield Place(
                graph,
                ("join", "leave", "heartbeat") if old else ("join", "leave", "heartbeat", "score"),
                "links",
                parameters,
                prelude=("settle",),
                scores=() if old else (-1, 0),
            )


@frozen
class FollowedRun:
    """A run, and what its routers kept after each step of each move."""

    start: PubsubNetwork
    moves: tuple[PubsubMove, ...]
    held: tuple[tuple[RouterLinks, ...], ...] = ()
    """Empty, where it is of the model."""
    departures: tuple[str, ...] = ()
    """Where a router does not do as the model beside it."""


def drawn_run(world: World, seed: int, *, against: str = MODEL, steps: int = STEPS) -> FollowedRun:
    """What may happen in `world`, drawn; every other run begins with everybody in the topic. Raises
    AdapterError where the router cannot run here."""
    die = SeededDie(random.Random(f"{seed}/{against == MODEL}"))
    routers = None if against == MODEL else place_routers(world, router=against, seed=seed, watched=True)
    start = network = world.start() if routers is None else routers.opened()
    moves: list[PubsubMove] = []
    held: list[tuple[RouterLinks, ...]] = []
    while len(moves) < steps:
        # Where much is in flight something arrives first: queues of the rules are short.
        crowded = any(len(queue) > 1 for queue in network.links.values())
        acts, weights = zip(*options_of(world, network, crowded), strict=True)
        act = EVERYBODY if seed % 2 and not moves else die.pick(acts, weights)
        move = drawn(network, act, die) if routers is None else routers.move(network, act)
        if move is None:
            continue
        moves.append(move)
        network = move.after
        if routers is not None:
            held.append(tuple(routers.seen))
    if routers is not None:
        routers.close()
    return FollowedRun(
        start, tuple(moves), tuple(held), tuple(routers.departures) if routers is not None else ()
    )


def follow_run(run: FollowedRun, protocol: str, *, timed: bool = False) -> Iterator[RefinementResult]:
    """Every pair of connected routers of a run, by the rules of links for that protocol."""
    network = rules_of(protocol, timed=timed)
    for pair in pairs_of(run.start):
        yield follow(run.start, run.moves, pair, network, held=run.held)


def rules_of(protocol: str, *, timed: bool = False) -> Links:
    """The rules of links for a protocol: those of v1.1 are the ones of all that came later."""
    return rules_for("gossipsub-1.0" if protocol == "gossipsub-1.0" else "gossipsub-1.1", timed=timed)


# -- what came of it ----------------------------------------------------------------------------------------


@mutable
class FollowingTally:
    """What came of following many pairs by the same rules."""

    kinds: tuple[str, ...]
    """Every kind of rule that there is."""
    pairs: int = 0
    left: int = 0
    """Pairs that were not followed to the end, though nothing is wrong."""
    taken: Counter[str] = field(factory=Counter)
    """Kind of a rule -> how often it was taken."""
    clauses: set[str] = field(factory=set)
    broken: list[str] = field(factory=list)

    def add(self, found: RefinementResult) -> None:
        self.pairs += 1
        self.left += bool(found.left)
        self.taken.update(kind_of(rule) for rule in found.rules)
        self.clauses |= found.clauses
        if found.broken:
            self.broken.append(found.broken)

    @property
    def never(self) -> tuple[str, ...]:
        """Rules that no pair has taken: nothing is known of them."""
        return tuple(kind for kind in self.kinds if not self.taken[kind])

    @property
    def outcome(self) -> Outcome:
        return "broken" if self.broken else "inconclusive" if self.never or not self.pairs else "followed"


def kind_of(rule: str) -> str:
    """`accept_0_1` is of the kind `accept`."""
    return rule.split("_", 1)[0]


def tally_of(protocol: str) -> FollowingTally:
    """An empty tally of the rules of links for a protocol."""
    return FollowingTally(tuple(dict.fromkeys(rule.kind for rule in rules_of(protocol).rules)))


def follow_runs(rules: Protocol, seeds: Iterable[int], *, against: str = MODEL) -> FollowingTally:
    """Drawn runs of `rules` in all `places`, each followed."""
    protocol = rules.name if rules.name in PROTOCOLS else "gossipsub-1.1"
    found = tally_of(protocol)
    for seed in seeds:
        for place in places(protocol):
            run = drawn_run(place.world(Revision(rules.name, rules)), seed, against=against)
            for each in follow_run(run, protocol):
                found.add(each)
    return found


# -- the command --------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Follow drawn runs, and say what was taken."""
    parser = argparse.ArgumentParser(prog=PROG, description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--against", default=MODEL, metavar="ROUTER", help="the model, or a router's name")
    parser.add_argument("--protocol", choices=PROTOCOLS, action="append", help="may be given several times")
    parser.add_argument("--runs", type=int, default=20, help="of each of four places (20)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one object")
    asked = parser.parse_args(arguments)
    if asked.runs < 1:
        parser.error(f"--runs {asked.runs}: expected at least 1")
    seeds = range(asked.seed, asked.seed + asked.runs)
    tallies = {}
    try:
        for name in asked.protocol or PROTOCOLS:
            print(f"following {asked.runs} seeds of {name}, {asked.against}", file=sys.stderr)
            tallies[name] = follow_runs(protocol_named(name), seeds, against=asked.against)
    except (AdapterError, ValueError) as error:
        print(f"{PROG}: {error}", file=sys.stderr)
        return 4 if isinstance(error, AdapterError) else 2
    if asked.json:
        print(json.dumps({"schema": 1, "against": asked.against, "protocols": _data(tallies)}, indent=1))
    else:
        print(_table(asked.against, tallies))
    outcomes = {tally.outcome for tally in tallies.values()}
    return 1 if "broken" in outcomes else 3 if "inconclusive" in outcomes else 0


def _data(tallies: dict[str, FollowingTally]) -> dict[str, object]:
    return {
        name: {
            "outcome": each.outcome,
            "pairs": each.pairs,
            "left": each.left,
            "taken": {kind: each.taken[kind] for kind in each.kinds},
            "clauses": sorted(each.clauses),
            "broken": each.broken[:20],
        }
        for name, each in tallies.items()
    }


def _table(against: str, tallies: dict[str, FollowingTally]) -> str:
    lines = [f"links, followed: {against}"]
    for name, each in tallies.items():
        lines += ["", f"{name}: {each.outcome}; {each.pairs} pairs, {each.left} of them not to the end"]
        lines.append("  " + ", ".join(f"{kind} {each.taken[kind]}" for kind in each.kinds))
        lines += [f"  no rules lead to: {broken}" for broken in each.broken[:5]]
        lines += [f"  never taken: {', '.join(each.never)}"] if each.never else []
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
