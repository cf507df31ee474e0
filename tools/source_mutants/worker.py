"""One mutant, or a pair, in a process of its own: a request as JSON on stdin, lines of JSON on stdout.

Stages: `suite` plays the fixed suite until a case departs, `suite-rows` runs it and explains what departs,
`search` is a search, `outputs` plays runs and prints a digest of each. A line is written as soon as something
is known, so that what is ended from outside still counts.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from attrs import field, frozen

from tools.source_mutants.hook import mutants_loaded

MAX_BYTES = 4 << 30


@frozen(eq=False)
class WatchedSubject:
    """A subject, no event of which may take longer than `hang_s` of the processor."""

    inner: Any
    hang_s: float

    @property
    def hello(self) -> Any:
        return self.inner.hello

    def do(self, event: Any) -> Any:
        signal.setitimer(signal.ITIMER_VIRTUAL, self.hang_s)
        try:
            return self.inner.do(event)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def declare(self, messages: Any) -> None:
        self.inner.declare(messages)

    def close(self) -> None:
        self.inner.close()


@frozen(eq=False)
class Stage:
    """One stage of one request."""

    asked: dict[str, Any]
    out: TextIO
    told: set[str] = field(factory=set)

    def say(self, **line: Any) -> None:
        """Write a line, at once."""
        print(json.dumps(line), file=self.out, flush=True)

    def run(self) -> None:
        """Do what is asked. What a mutant raises where no driver catches it is told too."""
        with mutants_loaded(self.asked["ids"]) as source:
            for protocol in self.asked["protocols"]:
                opener = self._opener(protocol)
                if opener is None:
                    return
                try:
                    noticed = getattr(self, self.asked["stage"].replace("-", "_"))(protocol, opener)
                except Exception as error:
                    self.say(protocol=protocol, noticed="breaks", error=f"{type(error).__name__}: {error}")
                    return
                if noticed and self.asked["stage"] != "outputs":
                    break
            missing = source.trees.keys() - source.loaded
            if missing:
                raise RuntimeError(f"{', '.join(sorted(missing))}: no router has imported the mutant")

    def _opener(self, protocol: str) -> Callable[[Any], Any] | None:
        """What opens the router; None, and a line, where it cannot even be opened."""
        from quidnunc.properties.search.worker import hello_of, opener_of

        plain = opener_of("ours")
        try:
            hello_of("ours", protocol)
        except Exception as error:
            self.say(protocol=protocol, noticed="start", error=f"{type(error).__name__}: {error}")
            return None
        return lambda config: WatchedSubject(plain(config), self.asked["hang_s"])

    def suite(self, protocol: str, opener: Callable[[Any], Any]) -> bool:
        """Whether a case of the fixed suite departs: the original departs in none."""
        from quidnunc.impl.seam import AdapterError
        from quidnunc.model.machine import protocol_named
        from quidnunc.properties.cases.case import events_of
        from quidnunc.properties.cases.fitting import fitted_parameters
        from quidnunc.properties.explain.root_cause import last_departures
        from quidnunc.properties.judge.play import play
        from quidnunc.properties.search.worker import hello_of
        from quidnunc.properties.suite.files import suite_of
        from quidnunc.properties.suite.run import config_of

        hello, noticed, runs = hello_of("ours", protocol), "", 0
        only = self.asked.get("cases")
        for name, case in suite_of(protocol):
            if only and name not in only:
                continue
            parameters, lacking = fitted_parameters(case, hello)
            if lacking:
                continue
            runs += 1
            try:
                subject = opener(config_of(protocol, parameters, case.seed, "shipped"))
                run = play(events_of(case), subject, protocol_named(protocol), parameters)
            except AdapterError:
                # A driver that breaks ends the suite, and its report says so.
                noticed = "breaks"
                break
            if last_departures(run):
                noticed = "rows"
                break
        self.say(protocol=protocol, noticed=noticed, rows=[], runs=runs)
        return bool(noticed)

    def suite_rows(self, protocol: str, opener: Callable[[Any], Any]) -> bool:
        """The fixed suite, and what is behind the cases that depart."""
        from quidnunc.properties.suite.run import run_suite

        campaign = run_suite(protocol, "ours", opener)
        rows = [list(key) for key in campaign.roots]
        noticed = "rows" if rows else "breaks" if campaign.broken else ""
        self.say(protocol=protocol, noticed=noticed, rows=rows, runs=campaign.runs)
        return bool(noticed)

    def search(self, protocol: str, opener: Callable[[Any], Any]) -> bool:
        """A search, to its end."""
        from quidnunc.properties.search import machine
        from quidnunc.properties.search.worker import hello_of
        from tools.reported import rows_reported

        def told(hunt: machine.FindingSearch) -> None:
            if hunt.pending is not None and protocol not in self.told:
                self.told.add(protocol)
                self.say(protocol=protocol, noticed="rows", rows=[], runs=hunt.runs)

        hunt = machine.FindingSearch(protocol, opener, hello_of("ours", protocol), tell=told)
        machine.search(hunt, runs=self.asked["runs"], seed=self.asked["seed"])
        rows = [[row.clause, row.quirk] for row in rows_reported(hunt)]
        allowed = sum(allowed_by_specification(each, protocol) for each in hunt.found.values())
        noticed = "rows" if rows else ""
        self.say(protocol=protocol, noticed=noticed, rows=rows, runs=hunt.runs, allowed=allowed)
        return bool(rows)

    def outputs(self, protocol: str, opener: Callable[[Any], Any]) -> bool:
        """A digest of the events and outputs of each run."""
        from quidnunc.properties.search import machine
        from quidnunc.properties.search.worker import hello_of

        def told(kind: str, steps: Sequence[Any], parameters: Any, seed: int) -> None:
            text = repr(list(steps))
            self.say(protocol=protocol, digest=hashlib.sha256(text.encode()).hexdigest()[:16])

        hunt = machine.FindingSearch(protocol, opener, hello_of("ours", protocol), counting=True, record=told)
        for _ in range(self.asked["runs"]):
            machine.next_run(hunt, seed=self.asked["seed"])
        return False


def allowed_by_specification(found: Any, protocol: str) -> bool:
    """Whether nothing in the run of a finding departs from the specification with no edit in it."""
    from quidnunc.model.machine import protocol_named
    from quidnunc.properties.judge.play import rejudge

    return not rejudge(found.finding.moments, protocol_named(protocol), found.parameters)[1]


def main() -> int:
    """Answer one request."""
    gc.set_threshold(20_000, 20, 20)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    # What a router prints must not end up in the answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    stage = Stage(json.loads(sys.stdin.read()), answers)

    def hangs(*_: object) -> None:
        stage.say(noticed="hangs")
        os._exit(0)

    signal.signal(signal.SIGVTALRM, hangs)
    stage.run()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
