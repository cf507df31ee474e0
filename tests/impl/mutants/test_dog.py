"""Each mutant of our mempool reactor is killed by a scenario of its own clause."""

from __future__ import annotations

import pytest

from quidnunc.impl.mutants.dog import DOG_MUTANTS
from tests.helpers.mempool_node import SCENARIOS, Node, Scenario
from tests.impl.mempool import test_dog, test_dog_controller, test_dog_flood

TABLES = (test_dog_flood, test_dog, test_dog_controller)


def survives(scenario: Scenario, mutant: str) -> bool:
    try:
        scenario.run(Node(DOG_MUTANTS[mutant].protocol, mutant))
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("name", sorted(DOG_MUTANTS))
def test_a_scenario_of_its_clause_kills_it(name: str) -> None:
    known = [SCENARIOS[each] for table in TABLES for each in table.NAMES]
    scenarios = [each for each in known if each.clause == DOG_MUTANTS[name].clause]
    assert scenarios, f"no scenario shows {DOG_MUTANTS[name].clause}"
    assert not all(survives(each, name) for each in scenarios)
