"""No claim refutes our own router."""

from __future__ import annotations

import pytest

from quidnunc.model.dog_dialects import DIALECTS
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.mempool import CATS, LIMITS
from quidnunc.properties.campaign import Campaign
from quidnunc.properties.machine import Hunt, search
from quidnunc.properties.verdicts import verdicts_of
from quidnunc.properties.worker import hello_of, opener_of

RUNS = 300
FEWER_RUNS = {
    "gossipsub-1.3": 60,
    "partial-messages": 80,
    "partial-messages-jvm": 60,
    "partial-messages-go": 60,
    **dict.fromkeys((*CATS, *LIMITS), 120),
    **dict.fromkeys(DIALECTS, 40),
}
"""Of what differs little from its neighbour in the list: longer searches of them are `quidnunc check`'s."""
SEED = 20_000


@pytest.mark.parametrize("name", PROTOCOLS)
def test_our_router_is_not_refuted(name: str) -> None:
    """In so many runs nothing is found, and nine of ten MUST claims of what its driver can do apply."""
    runs = FEWER_RUNS.get(name, RUNS)
    hello = hello_of("ours", name)
    hunt = search(Hunt(name, opener_of("ours"), hello), runs=runs, seed=SEED)
    assert hunt.runs == runs
    assert [(f.finding.departure, f.finding.events, f.parameters, f.seed) for f in hunt.found.values()] == []
    assert (hunt.unrepeated, hunt.departed) == (0, 0)
    campaign = Campaign(
        name, "ours", SEED, hello.version, hello.capabilities, runs=runs, applied=hunt.applied
    )
    verdicts = verdicts_of(campaign)
    print(f"{name}: {hunt.steps} steps, {hunt.blurred} runs ended early")
    for v in sorted(verdicts, key=lambda v: v.applied):
        print(f"{v.applied:8} {v.level} {v.claim.id}")
    must = [v for v in verdicts if v.level == "M" and v.verdict != "unsupported"]
    never = [v.claim.id for v in must if not v.applied]
    assert len(never) <= len(must) // 10, never
