"""Disabled routes to one target, as far as they are known: sources in a set that shows piece by piece.

Which route a ResetRoute freed is the node's secret, until it sends, or withholds, what came from one of them.
"""

from __future__ import annotations

from quidnunc.model.choices import PartialSet
from quidnunc.model.rpc import Peer
from quidnunc.model.values import evolve


def with_source(known: PartialSet, source: Peer) -> PartialSet:
    """After the route from `source` was disabled, if it was not already."""
    if source in known.must:
        return known
    must, may = known.must | {source}, known.may - {source}
    fewest = known.least if source in known.may else known.least + 1
    return _settled(PartialSet(must, may, max(fewest, len(must)), min(known.most + 1, len(must) + len(may))))


def with_one_of(known: PartialSet, sources: frozenset[Peer]) -> PartialSet:
    """After the route from one of `sources`, no matter which, was disabled, if it was not already."""
    if len(sources) == 1:
        return with_source(known, next(iter(sources)))
    if sources <= known.must:
        return known
    may = known.may | (sources - known.must)
    fewest = known.least if sources & known.all else known.least + 1
    most = min(known.most + 1, len(known.must) + len(may))
    return _settled(PartialSet(known.must, may, max(fewest, len(known.must)), most))


def with_one_freed(known: PartialSet) -> PartialSet:
    """After one route, no matter which, was enabled, if any was disabled."""
    if not known.most:
        return known
    may = known.must | known.may
    return _settled(PartialSet(frozenset(), may, max(0, known.least - 1), known.most - 1))


def shown_disabled(known: PartialSet, source: Peer) -> PartialSet:
    """Now that the route from `source` is seen to be disabled."""
    must, may = known.must | {source}, known.may - {source}
    return _settled(evolve(known, must=must, may=may, least=max(known.least, len(must))))


def shown_enabled(known: PartialSet, source: Peer) -> PartialSet:
    """Now that the route from `source` is seen to be enabled."""
    may = known.may - {source}
    return _settled(evolve(known, may=may, most=min(known.most, len(known.must) + len(may))))


def _settled(known: PartialSet) -> PartialSet:
    if known.most <= len(known.must):
        return PartialSet.of(known.must)
    return PartialSet.of(known.all) if known.least >= len(known.all) else known
