"""The neighbours of a CAT node: no act is dead, and the rare occasions come."""

from __future__ import annotations

from collections import Counter

import pytest

from quidnunc.model.events import Advance, Receive
from quidnunc.model.machine import protocol_named
from quidnunc.model.mempool.protocols import CATS
from quidnunc.model.rpc import SeenTx, Tx, WantTx
from quidnunc.properties.blame.cat import speaks_cat
from quidnunc.properties.judge.oracle import Oracle
from quidnunc.properties.judge.play import ModelSubject, Play
from quidnunc.properties.neighbours.cat import ACTS
from quidnunc.properties.neighbours.mempool import draw_mempool_neighbours
from quidnunc.properties.neighbours.seeded_draws import SeededDraws
from quidnunc.properties.neighbours.weights import WEIGHTS


@pytest.mark.parametrize("name", CATS)
def test_every_act_comes_somewhere_and_the_model_plays_along(name: str) -> None:
    assert set(WEIGHTS["cat"]) == set(WEIGHTS["cat-classic"]) == set(ACTS)
    protocol, live, said = protocol_named(name), Counter[str](), Counter[type]()
    for number in range(12):
        digits = SeededDraws(number)
        neighbours = draw_mempool_neighbours(digits, name, frozenset({"stall", "raw"}))
        parameters = neighbours.parameters
        run = Play(ModelSubject(protocol, parameters, number), Oracle(protocol, parameters))
        for _ in range(25):
            for event in neighbours.act(run.oracle.state, digits):
                assert not run.do(event)
                said[type(event)] += 1
                said.update(type(part) for part in getattr(event, "parts", ()))
        assert speaks_cat(run.oracle.state)
        for act in ACTS:
            live[act] += bool(ACTS[act](neighbours, run.oracle.state, SeededDraws(number)))
    of_accounts = {"announce_of_account", "submit_of_account"}
    assert {act for act in ACTS if not live[act]} == (of_accounts if name == "cat-classic" else set())
    assert {Tx, SeenTx, WantTx, Advance, Receive} <= set(said)
