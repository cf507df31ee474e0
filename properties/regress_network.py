"""Whether a network in which some routers are OLD and some NEW keeps delivering.

Small networks of model routers (`quidnunc.properties.pubsub_network`), every way to give each router one of
the two: all join, some heartbeats pass, one publishes, the network comes to rest with a few heartbeats more.
Of mempool nodes three transactions come, one after another (`quidnunc.properties.regress_network_mempool`).
Beside it stand the networks of one kind alone, so that it can be told what the mixture does.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TypeAlias

from attrs import evolve, frozen

from quidnunc.model.parameters import Parameters
from quidnunc.model.rules import Protocol
from quidnunc.properties.network_runs import Seeded
from quidnunc.properties.pubsub_network import Setup, drawn, opened
from quidnunc.properties.pubsub_network_acts import act_of
from quidnunc.properties.pubsub_world import GRAPHS, SMALL
from quidnunc.properties.regress_network_mempool import delivers as mempool_delivers
from quidnunc.properties.sides import Side

NETWORKS = ("line of four", "clique of four")
DRAWS = range(2)
"""Runs of each network, with other choices."""
ACTS = ("all join t", "rounds 2", "publish {} m1 t", "settle", "rounds 3")


Delivers: TypeAlias = Callable[[str, Sequence[bool], int], bool]
"""(a network, which of its routers are NEW, a draw) -> whether everybody got everything."""


@frozen
class Delivered:
    """How many runs of one sort there were, and in how many each router was handed the message."""

    runs: int
    delivered: int
    lost: str = ""
    """The first run in which one was not: its network, who was NEW, and who published."""


@frozen
class Mixed:
    """Networks of OLD alone, of NEW alone and of both."""

    old: Delivered
    new: Delivered
    both: Delivered

    @property
    def keeps_delivering(self) -> bool:
        """Whether a mixture loses nothing that neither of the two loses."""
        return self.both.delivered == self.both.runs or not (
            self.old.delivered == self.old.runs and self.new.delivered == self.new.runs
        )


def mixed(old: Side, new: Side, progress: Callable[[str], None] = lambda text: None) -> Mixed:
    """Run the networks."""
    delivers = _of_mempool(old, new) if old.protocol.family == "mempool" else _of_pubsub(old, new)
    found: dict[str, Delivered] = {}
    for sort in ("old", "new", "both"):
        progress(f"{old.name} -> {new.name}: networks, {sort}")
        found[sort] = _runs(delivers, sort)
    return Mixed(found["old"], found["new"], found["both"])


def _of_mempool(old: Side, new: Side) -> Delivers:
    return lambda name, newer, die: mempool_delivers((old, new), GRAPHS[name], newer, die)


def _of_pubsub(old: Side, new: Side) -> Delivers:
    try:
        setups = [_setup(side, SMALL) for side in (old, new)]
    except ValueError:
        # What a side sets does not go with the small meshes: both have the defaults otherwise.
        setups = [_setup(side, Parameters()) for side in (old, new)]
    return lambda name, newer, die: _delivers(setups, name, newer, die)


def _setup(side: Side, parameters: Parameters) -> tuple[Protocol, Parameters]:
    # Which streams a router has goes by the name of its protocol.
    return evolve(side.protocol, name=side.base), side.parameters(parameters)


def _runs(delivers: Delivers, sort: str) -> Delivered:
    runs = delivered = 0
    lost = ""
    for name in NETWORKS:
        for newer in _mixtures(name, sort):
            for die in DRAWS:
                runs += 1
                if delivers(name, newer, die):
                    delivered += 1
                else:
                    who = ", ".join("NEW" if each else "OLD" for each in newer)
                    lost = lost or f"{name} of {who}, draw {die}"
    return Delivered(runs, delivered, lost)


def _mixtures(name: str, sort: str) -> Iterator[tuple[bool, ...]]:
    nodes = {node for link in GRAPHS[name] for node in link}
    for newer in product((False, True), repeat=len(nodes)):
        if {"old": not any(newer), "new": all(newer), "both": any(newer) and not all(newer)}[sort]:
            yield newer


def _delivers(
    setups: Sequence[tuple[Protocol, Parameters]], name: str, newer: Sequence[bool], die: int
) -> bool:
    links = GRAPHS[name]
    network = opened([Setup(at, *setups[each]) for at, each in enumerate(newer, 1)], links)
    draw = Seeded(random.Random(die))
    publisher = chr(ord("A") + die % len(newer))
    for text in ACTS:
        move = drawn(network, act_of(text.format(publisher)), draw)
        if move is None:
            return False
        network = move.after
    return all("m1" in got for got in network.got.values())
