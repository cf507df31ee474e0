"""How many planted bugs the fixed suite notices: `make suite-power`.

    python -m tools.suite_power                     every planted bug, under its protocol
    python -m tools.suite_power gossipsub-1.2 dog   those of these protocols

The cases at bounds were written with these bugs in mind. `make mutation` measures the suite by mutants of the
sources, to which no case was fitted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

from attrs import frozen

from quidnunc.impl.routers import mutants_by_name
from quidnunc.impl.seam import Config
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import events_of
from quidnunc.properties.cases.fitting import fitted_parameters
from quidnunc.properties.explain.root_cause import last_departures
from quidnunc.properties.judge.play import play
from quidnunc.properties.mutants import protocol_of_mutant
from quidnunc.properties.suite.files import suite_of
from tools.mutation.mutants import hello_of_mutant, opener_of


@frozen
class SuitePower:
    """What the suite of one protocol notices of its planted bugs."""

    protocol: str
    noticed: Mapping[str, str]
    """Planted bug -> the first case that it fails."""
    unnoticed: tuple[str, ...]

    @property
    def planted(self) -> int:
        return len(self.noticed) + len(self.unnoticed)


def first_failure(mutant: str | None, protocol: str) -> str:
    """The first case of the suite that a planted bug fails, our own router where none is named; empty where
    all hold."""
    opener, hello, rules = opener_of(mutant), hello_of_mutant(mutant, protocol), protocol_named(protocol)
    for name, case in suite_of(protocol):
        parameters, lacking = fitted_parameters(case, hello)
        if lacking:
            continue
        subject = opener(Config(seed=case.seed, protocol=protocol, parameters=parameters))
        if last_departures(play(events_of(case), subject, rules, parameters)):
            return name
    return ""


def power_of(protocol: str, mutants: Sequence[str]) -> SuitePower:
    found = {name: first_failure(name, protocol) for name in mutants}
    noticed = {name: case for name, case in found.items() if case}
    return SuitePower(protocol, noticed, tuple(name for name, case in found.items() if not case))


def planted_by_protocol() -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name, mutant in mutants_by_name().items():
        found[protocol_of_mutant(mutant)].append(name)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="which planted bugs the fixed suite notices")
    parser.add_argument("protocols", nargs="*", help="only the planted bugs of these (default: all)")
    options = parser.parse_args(arguments)
    noticed = planted = 0
    for protocol, mutants in planted_by_protocol().items():
        if options.protocols and protocol not in options.protocols:
            continue
        started = time.process_time()
        if case := first_failure(None, protocol):
            print(f"{protocol}: our own router fails {case}", file=sys.stderr)
            return 1
        alone_s = time.process_time() - started
        power = power_of(protocol, mutants)
        noticed, planted = noticed + len(power.noticed), planted + power.planted
        print(
            f"{protocol}: {len(power.noticed)} of {power.planted} planted bugs noticed by "
            f"{len(suite_of(protocol))} cases, which take {alone_s:.1f} s of CPU"
        )
        if power.unnoticed:
            print(f"  unnoticed: {', '.join(power.unnoticed)}", flush=True)
    print(f"{noticed} of {planted} planted bugs noticed ({100 * noticed / max(1, planted):.0f} %)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
