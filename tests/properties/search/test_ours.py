"""No claim refutes our own router."""

from __future__ import annotations

import pytest

from quidnunc.model.machine import PROTOCOLS
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.machine import FindingSearch, next_run
from quidnunc.properties.search.verdicts import verdicts_of
from quidnunc.properties.search.worker import hello_of, opener_of

RUNS = 300
SEED = 20_000


@pytest.mark.parametrize("name", PROTOCOLS)
def test_our_router_is_not_refuted(name: str) -> None:
    """In so many runs nothing is found, and nine of ten MUST claims of what its driver can do apply."""
    hello = hello_of("ours", name)
    hunt = FindingSearch(name, opener_of("ours"), hello)
    # The runs of a search, without the engine around them, whose time is better spent on more runs.
    while hunt.runs < RUNS:
        next_run(hunt, seed=SEED)
    assert hunt.runs == RUNS
    assert [(f.finding.departure, f.finding.events, f.parameters, f.seed) for f in hunt.found.values()] == []
    assert (hunt.unrepeated, hunt.departed) == (0, 0)
    campaign = Campaign(
        name, "ours", SEED, hello.version, hello.capabilities, runs=RUNS, applied=hunt.applied
    )
    verdicts = verdicts_of(campaign)
    print(f"{name}: {hunt.steps} steps, {hunt.blurred} runs ended early")
    for v in sorted(verdicts, key=lambda v: v.applied):
        print(f"{v.applied:8} {v.level} {v.claim.id}")
    must = [v for v in verdicts if v.binding and v.verdict != "unsupported"]
    never = [v.claim.id for v in must if not v.applied]
    assert len(never) <= len(must) // 10, never
