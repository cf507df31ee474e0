"""From a network of any size to one pair of it, so that what holds of a pair's table holds for every N.

The abstraction of a pair is the network of two peers in which the degree test is a free choice. It simulates
every pair of every network because each rule of a network, seen by one pair, is a rule of the abstraction or
leaves the pair as it is. That is shown by z3 for networks of three and four peers; that it does not depend on
the number follows from the footprints: what a rule writes to a pair it computes from that pair, its two
subscriptions and nothing else, whatever else its guard may look at.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

from attrs import frozen

from quidnunc.properties.lazy import z3
from quidnunc.properties.proofs.mesh.links import VARIANTS, Pair, kinds_of
from quidnunc.properties.proofs.mesh.mesh_link import mesh_link
from quidnunc.properties.solver.interpret import State, interpreter
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.rules import Expression, NetworkModel, NetworkRule, content_of, name_of

MAX_TABLE = 100_000
"""More states than any pair of the known variants has, with queues that are long enough."""


def symbols_in(expression: Expression) -> frozenset[str]:
    """The names of the fields (and free choices) that an expression reads."""
    found, waiting, seen = set(), [expression], set()
    while waiting:
        one = waiting.pop()
        if one.get_id() in seen:
            continue
        seen.add(one.get_id())
        if z3.is_const(one) and one.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found.add(one.decl().name())
        waiting += one.children()
    return frozenset(found)


def pair_fields(network: NetworkModel, pair: Pair) -> dict[str, str]:
    """Name of a field of the abstraction -> the field of `network` that it is for this pair."""
    i, j = pair
    place = {0: i, 1: j}
    found = {}
    for one in network.fields:
        if set(one.about) <= {0, 1}:
            found[one.name] = name_of(one.kind, tuple(place[p] for p in one.about))
    return found


# -- footprints ---------------------------------------------------------------------------------------------


@frozen
class Footprint:
    """What a kind of rule reads to write a field, beyond the pair that the field is of."""

    rule: str
    writes: str
    foreign: tuple[str, ...]
    """Fields outside the pair that the new value depends on; none, if the projection is sound."""


def footprints(network: NetworkModel) -> list[Footprint]:
    """The footprint of every update of every rule, read off the expressions.

    A subscription is of both pairs that its peer is in: it may depend on itself alone.
    """
    found = []
    for rule in network.rules:
        for name, value in rule.updates.items():
            about = next(f.about for f in network.fields if f.name == name)
            own = {f.name for f in network.fields if set(f.about) <= set(about)}
            foreign = sorted(symbols_in(value) - own)
            found.append(Footprint(rule.name, name, tuple(foreign)))
    return found


# -- simulation ---------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class SimulationCheck:
    """Whether the abstraction follows every rule, as seen by every pair."""

    mapped: int
    """Pairs of a rule and a pair of peers for which a rule of the abstraction does the same."""
    stutters: int
    """Those for which the pair is left as it is."""
    broken: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.broken and self.mapped > 0 and self.stutters > 0


def simulation(questions: SolverSession, network: NetworkModel, abstraction: NetworkModel) -> SimulationCheck:
    """Ask for every rule and pair whether a rule of the abstraction does the same, or it leaves the pair."""
    mapped = stutters = 0
    broken = []
    for pair in permutations(range(network.peers), 2):
        if pair[0] > pair[1]:
            continue
        fields = pair_fields(network, pair)
        for rule in network.rules:
            label = f"{network.name} of {network.peers}: {rule.name} as seen by {pair[0]} and {pair[1]}"
            counterpart = _counterpart(abstraction, rule, pair)
            if counterpart is not None and questions.valid(
                label, _same(network, rule, abstraction, counterpart, fields)
            ):
                mapped += 1
            elif counterpart is None and questions.valid(label, _nothing(network, rule, fields)):
                stutters += 1
            else:
                broken.append(label)
    return SimulationCheck(mapped=mapped, stutters=stutters, broken=tuple(broken))


def _counterpart(abstraction: NetworkModel, rule: NetworkRule, pair: Pair) -> NetworkRule | None:
    """The rule of the abstraction of the same kind and peers, where they are of the pair."""
    if not set(rule.about) <= set(pair):
        return None
    name = name_of(rule.kind, tuple(pair.index(p) for p in rule.about))
    return next((r for r in abstraction.rules if r.name == name), None)


def _same(
    network: NetworkModel,
    rule: NetworkRule,
    abstraction: NetworkModel,
    counterpart: NetworkRule,
    fields: Mapping[str, str],
) -> Expression:
    """Where the rule is enabled so is its counterpart, and both do the same to the pair."""
    symbols = {f.name: f.symbol for f in network.fields}
    onto = [(f.symbol, symbols[fields[f.name]]) for f in abstraction.fields]
    same = [z3.substitute(counterpart.guard, *onto)]
    for one in abstraction.fields:
        concrete = symbols[fields[one.name]]
        done = rule.updates.get(fields[one.name], concrete)
        expected = counterpart.updates.get(one.name)
        same.append(done == (concrete if expected is None else z3.substitute(expected, *onto)))
    return z3.Implies(rule.guard, z3.And(*same))


def _nothing(network: NetworkModel, rule: NetworkRule, fields: Mapping[str, str]) -> Expression:
    """The rule leaves every field of the pair as it is."""
    symbols = {f.name: f.symbol for f in network.fields}
    kept = [value == symbols[name] for name, value in rule.updates.items() if name in fields.values()]
    return z3.Implies(rule.guard, z3.And(*kept)) if kept else z3.BoolVal(True)


# -- the table ----------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class PairTable:
    """The reachable states of a pair."""

    abstraction: NetworkModel
    states: tuple[State, ...]
    longest: int
    """Messages in the longest queue of a reachable state. Less than the capacity: then no rule was ever short
    of room, and the table is that of queues without a limit."""
    capacity: int

    @property
    def unbounded(self) -> bool:
        return self.longest < self.capacity

    def says(self, network: NetworkModel, pair: Pair) -> Expression:
        """That the pair of a network is in a state of the table."""
        fields = pair_fields(network, pair)
        symbols = {f.name: f.symbol for f in network.fields}
        rows = []
        for state in self.states:
            row = []
            for one, value in zip(self.abstraction.fields, state, strict=True):
                symbol = symbols[fields[one.name]]
                row.append((symbol if value else z3.Not(symbol)) if one.width == 1 else symbol == value)
            rows.append(z3.And(*row))
        return z3.Or(*rows)


def table_of(name: str, *, capacity: int) -> PairTable | None:
    """The reachable states of a pair, its degree tests free; None where they are more than MAX_TABLE."""
    abstraction = mesh_link(name, peers=2, d_high=None, capacity=capacity)
    steps = interpreter(abstraction)
    seen, waiting = {steps.start()}, [steps.start()]
    while waiting:
        for _, state in steps.enabled(waiting.pop()):
            if state not in seen:
                if len(seen) >= MAX_TABLE:
                    return None
                seen.add(state)
                waiting.append(state)
    kinds = kinds_of(VARIANTS[name])
    codes = {state[k] for k, f in enumerate(abstraction.fields) if f.kind == "channel" for state in seen}
    longest = max(len(content_of(code, kinds)) for code in codes)
    return PairTable(abstraction=abstraction, states=tuple(sorted(seen)), longest=longest, capacity=capacity)
