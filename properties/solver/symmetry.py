"""Permutations of the peers as symmetries of a network, and why they may be trusted.

A permutation renames fields, and so moves the bits of packed words. That it is a symmetry is not taken for
granted: `certificate` has z3 show, for generators of all permutations, that the renamed rules are the rules
and the renamed claims the claims. That the orbits which the explorer found are all states is checked by
counting: the sizes of the orbits add up to the states entered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from attrs import frozen

from quidnunc.properties.lazy import z3
from quidnunc.properties.solver.questions import answer_of_z3
from quidnunc.properties.solver.rules import Expression, NetworkModel, Peers, name_of


def all_permutations(network: NetworkModel) -> list[Peers]:
    """Every permutation of the peers, that which changes nothing first."""
    return list(permutations(range(network.alike)))


def renamed(about: Peers, permutation: Peers) -> Peers:
    return tuple(permutation[p] for p in about)


def bit_maps(network: NetworkModel) -> list[list[int]]:
    """Per permutation, where each bit of a packed word goes."""
    offsets = network.offsets()
    maps = []
    for permutation in all_permutations(network):
        places: list[int] = []
        for one in network.fields:
            at, width = offsets[name_of(one.kind, renamed(one.about, permutation))]
            places += range(at, at + width)
        maps.append(places)
    return maps


def generators(network: NetworkModel) -> list[Peers]:
    """Permutations that all others are made of: an exchange of the first two peers, and a rotation."""
    n = network.alike
    if n < 2:
        return []
    exchange = (1, 0, *range(2, n))
    rotation = (*range(1, n), 0)
    return [exchange] if n == 2 else [exchange, rotation]


@frozen
class SymmetryCertificate:
    """Whether the peers of a network may be permuted: the number of queries, and what is not symmetric."""

    queries: int
    broken: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.broken


def certificate(network: NetworkModel) -> SymmetryCertificate:
    """Show that every generator turns rules into rules and claims into claims; z3 decides each equality."""
    queries = 0
    broken = []
    for permutation in generators(network):
        for what, same in _obligations(network, permutation):
            queries += 1
            if not _valid(same):
                broken.append(f"{what} under {permutation}")
    return SymmetryCertificate(queries, tuple(broken))


def _obligations(network: NetworkModel, permutation: Peers) -> Iterator[tuple[str, Expression]]:
    """(what, the equality to be shown) of every rule and claim under one permutation."""
    exchanged = _substitution(network, permutation)
    rules = {rule.name: rule for rule in network.rules}
    fields = {f.name: f for f in network.fields}
    for rule in network.rules:
        other = rules.get(name_of(rule.kind, renamed(rule.about, permutation)))
        if other is None:
            yield rule.name, z3.BoolVal(False)
            continue
        moved = {
            name_of(fields[name].kind, renamed(fields[name].about, permutation)): exchanged(value)
            for name, value in rule.updates.items()
        }
        names = sorted(set(moved) | set(other.updates))
        same = [exchanged(rule.guard) == other.guard]
        for name in names:
            kept = fields[name].symbol
            same.append(moved.get(name, kept) == other.updates.get(name, kept))
        yield rule.name, z3.And(*same)
    for claim in network.claims:
        yield claim.id, exchanged(claim.holds) == claim.holds


class _Substitution:
    """Expressions with every field renamed at once."""

    def __init__(self, pairs: Sequence[tuple[Expression, Expression]]) -> None:
        self._pairs = pairs

    def __call__(self, expression: Expression) -> Expression:
        return z3.substitute(expression, *self._pairs)


def _substitution(network: NetworkModel, permutation: Peers) -> _Substitution:
    symbols = {f.name: f.symbol for f in network.fields}
    return _Substitution(
        [(f.symbol, symbols[name_of(f.kind, renamed(f.about, permutation))]) for f in network.fields]
    )


def _valid(statement: Expression) -> bool:
    solver = z3.Solver()
    solver.add(z3.Not(statement))
    return answer_of_z3(solver) == "unsat"
