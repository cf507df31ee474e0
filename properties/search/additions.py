"""Which of the router's own additions to the protocol a departure comes from: tried out, not guessed.

A router as shipped may do what no sentence has. A departure comes from an addition if the same events, with
that one addition switched off, are in order, and keep being so under other seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import evolve

from quidnunc.impl.seam import AdapterError, Config, Hello
from quidnunc.properties.explain.root_cause import Finding, last_departures
from quidnunc.properties.judge.play import Play

SEEDS = 3
"""Under which the events must be in order: what a switch does to the router's draws is no explanation."""
PREFIX = "adds:"
"""Of the root causes that are additions of the router."""

ReplaysWith = Callable[[Sequence[object], Config], Play]
"""Plays events on the router of a configuration, beside the model."""


def addition_behind(finding: Finding, config: Config, hello: Hello, replay: ReplaysWith) -> str:
    """The name of the addition that a finding under `config` comes from; empty where it comes from none."""
    left = [name for name in hello.additions if name not in config.without]
    if not config.extras or not left:
        return ""

    def is_in_order(off: str) -> bool:
        for number in range(SEEDS):
            without = evolve(config, seed=config.seed + number, without=(*config.without, off))
            run = replay(finding.events, without)
            if run.blurred or last_departures(run):
                return False
        return True

    try:
        # One by one: without all of them another fault of the router may show.
        return next((name for name in left if is_in_order(name)), "")
    except AdapterError:
        # A driver that refuses to switch something off shows nothing.
        return ""


def says_of(addition: str, hello: Hello) -> str:
    """What the router does, as the headline of a root cause."""
    return f"Adds {hello.additions.get(addition, addition).rstrip('.')}."
