"""The fixed suite: per rule of a protocol a short trace in which dropping it changes what is allowed.

Shipped as package data, numbered by nothing but its names: `properties/suite/PROTOCOL/RULE.case`. The suite
is found by `quidnunc.properties.suite_search` and is the same on every machine.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

from attrs import evolve

from quidnunc.impl.seam import Hello
from quidnunc.model.errors import SpecError
from quidnunc.model.events import (
    Event,
    Feedback,
    Join,
    PublishPartial,
    Raw,
    Resume,
    Score,
    Stall,
    Verdict,
)
from quidnunc.model.machine import machine_of, protocol_named
from quidnunc.model.parameters import Parameters
from quidnunc.model.rules import Protocol
from quidnunc.properties.campaign import Campaign, Root
from quidnunc.properties.cases import (
    Case,
    against_text,
    command_of,
    events_of,
    from_finding,
    parameters_of,
    parse,
)
from quidnunc.properties.claims import claim_on
from quidnunc.properties.explain import Finding, accounts, last_departures
from quidnunc.properties.play import Simulated, play, rejudge
from quidnunc.properties.suite_traces import DICE

SUITE_VERSION = 1


@lru_cache
def suite_of(protocol: str) -> tuple[tuple[str, Case], ...]:
    """(rule, case) of every case of a protocol, by rule. Raises SpecError where the protocol has none."""
    folder = resources.files("quidnunc.properties").joinpath("suite", protocol)
    if not folder.is_dir():
        raise SpecError(f"no suite for {protocol!r}; `make suite` writes it")
    found = []
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".case"):
            case = parse(entry.read_text(encoding="utf-8"), path=f"suite/{protocol}/{entry.name}")
            found.append((entry.name.removesuffix(".case"), case))
    return tuple(found)


def departs(events: Sequence[Event], parameters: Any, subject: Protocol, oracle: Protocol, die: int) -> bool:
    """Whether `subject`, played with this die, does what `oracle` does not allow.

    What `subject` itself would not have allowed (the oracle's search of splits is bounded) does not count.
    """
    run = play(events, Simulated(subject, parameters, die), oracle, parameters)
    if not last_departures(run):
        return False
    agreed, found = rejudge(run.moments, subject, parameters)
    return agreed == len(run.moments) and not found


def notices(case: Case, protocol: Protocol, dropped: Protocol, *, dice: Sequence[int] = DICE) -> bool:
    """Whether the case tells `dropped` from `protocol`: one of them does, with some die, what the other one
    does not allow."""
    parameters, events = parameters_of(case), events_of(case)
    pairs = (dropped, protocol), (protocol, dropped)
    return any(departs(events, parameters, *pair, die) for die in dice for pair in pairs)


def unnoticed(name: str) -> Iterator[str]:
    """Rules of a protocol whose absence their case in the suite does not notice."""
    protocol, by_rule = protocol_named(name), dict(suite_of(name))
    for rule in {r.name: r for _, r in protocol.rules()}:
        case = by_rule.get(rule)
        if case is None or not notices(case, protocol, protocol.without_rule(rule)):
            yield rule


def run_suite(
    name: str, against: str, opener: Callable[[Any], Any] | None = None, *, extras: bool = False
) -> Campaign:
    """Every case of the suite against a router; what departs is explained as in a search.

    Cases that need what the driver lacks are left out and named.
    """
    from quidnunc.properties.worker import hello_of, opener_of

    protocol = protocol_named(name)
    opener = opener or opener_of(against, extras=extras)
    hello = hello_of(against, name, extras=extras)
    started = time.monotonic()
    campaign = Campaign(name, against, 0, hello.version, hello.capabilities, hello.fixed, applied=Counter())
    for rule, case in suite_of(name):
        parameters, lacking = fitted(case, hello)
        if lacking:
            campaign.left_out.append(f"the suite's case {name}/{rule}, which needs: {', '.join(lacking)}")
            continue
        subject = opener(_config(name, parameters, case.seed))
        run = play(events_of(case), subject, protocol, parameters)
        campaign.runs += 1
        campaign.steps += run.steps
        campaign.applied.update(run.applied)
        departures = last_departures(run)
        if departures:
            quirks = accounts(run.moments, protocol, parameters)
            finding = Finding(events_of(case), tuple(run.moments), departures[0], tuple(quirks))
            _file(campaign, finding, parameters, rule, evolve(case, extras=extras))
    campaign.seconds = time.monotonic() - started
    return campaign


NEEDS: Mapping[type[Any], str] = {
    Verdict: "verdict",
    Score: "score",
    Stall: "stall",
    Resume: "stall",
    Raw: "raw",
    PublishPartial: "partial",
    Feedback: "feedback",
}
"""What an event asks of a driver."""


def fitted(case: Case, hello: Hello) -> tuple[Any, tuple[str, ...]]:
    """The parameters of a case, the router's own ones in force, and what it needs that the driver lacks."""
    needs = {NEEDS[type(event)] for event in events_of(case) if type(event) in NEEDS}
    parameters: Any = parameters_of(case)
    if isinstance(parameters, Parameters):
        flagged = any(isinstance(e, Join) and (e.requests or e.supports) for e in events_of(case))
        needs |= {"partial"} if flagged else set()
        needs |= set() if parameters.test_extension else {"test-extension"}
        needs |= {"verdict"} if parameters.validation == "manual" else set()
        needs |= {"explicit"} if parameters.explicit_peers else set()
        needs |= {"score-parameters"} if parameters.scores is not None else set()
        needs |= {"peer-exchange"} if parameters.prune_peers else set()
        limited = parameters.max_message_bytes != Parameters().max_message_bytes
        needs |= {"message-limit"} if limited else set()
        needs |= {"strict-no-sign"} if parameters.signature_policy == "StrictNoSign" else set()
        if "flood-publish" not in hello.capabilities:
            parameters = evolve(parameters, flood_publish=False)
    try:
        parameters = evolve(parameters, **dict(hello.fixed))
    except ValueError as error:
        # What the router sets itself and what the case wants of the rest do not go together.
        return parameters, (str(error),)
    return parameters, tuple(sorted(needs - hello.capabilities))


def _config(name: str, parameters: Any, seed: int) -> Any:
    from quidnunc.impl.seam import Config

    family = "parameters" if protocol_named(name).family == "pubsub" else "dog"
    return Config(seed=seed, protocol=name, **{family: parameters})


def _file(campaign: Campaign, finding: Finding, parameters: Any, rule: str, case: Case) -> None:
    protocol = protocol_named(campaign.protocol)
    quirk = finding.quirks[0] if finding.quirks else None
    key = (finding.clause, finding.cause)
    if key in campaign.roots:
        return
    claim = claim_on(finding.clause, protocol)
    says = quirk.says if quirk else f"Departs in the suite's case for the rule {rule}."
    shown = from_finding(
        finding,
        reason=says,
        claim=claim.id if claim else finding.clause,
        protocol=campaign.protocol,
        against=against_text(campaign.against, campaign.version),
        parameters=parameters,
        seed=case.seed,
        found_by=command_of(campaign.protocol, campaign.against, "--suite", extras=case.extras),
        extras=case.extras,
    )
    kind = quirk.kind if quirk else "unexplained"
    also = tuple(q.name for q in finding.quirks[1:6])
    campaign.roots[key] = Root(finding.clause, finding.cause, kind, says, shown, also, None)


def started_parameters(name: str) -> Any:
    """Default parameters of a protocol's family."""
    return machine_of(protocol_named(name)).parameters()
