"""What a campaign came to: figures with their spread over seeds, distinct root causes, coverage.

Everything follows from the plan and the results, in their order, so that two executors write the same bytes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from quidnunc.model.machine import PROTOCOLS, protocol_named
from quidnunc.pipeline.sweep.file import Job, Result, SweepPlan
from quidnunc.properties.cases.file import render
from quidnunc.properties.claims.catalogue import claims_of
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.verdicts import verdicts_of

SCHEMA = 1
MAX_VALUES = 20
COUNTED = ("sent_", "bytes_")
"""Figures of which a run that does not have them has none."""
T_95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145),
    *(2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048),
    *(2.045, 2.042),
)
"""Student's t for 95 % and 1 to 30 degrees of freedom; beyond, 1.96."""


@frozen
class SeedSpread:
    """A figure over seeds: mean, standard deviation of the sample, half of the 95 % interval of the mean. Of
    one seed the last two are unknown."""

    n: int
    mean: float
    sd: float | None
    ci95: float | None
    values: tuple[float, ...] = ()
    """In the order of the seeds, so that runs of one seed can be compared."""

    @classmethod
    def of(cls, values: Sequence[float]) -> SeedSpread:
        n = len(values)
        mean = math.fsum(values) / n
        if n == 1:
            return cls(1, mean, None, None, tuple(values))
        sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
        t = T_95[n - 2] if n - 2 < len(T_95) else 1.96
        return cls(n, mean, sd, t * sd / math.sqrt(n), tuple(values))

    def plain(self) -> dict[str, Any]:
        """As JSON has it; single values where they are few."""
        plain: dict[str, Any] = {"n": self.n, "mean": self.mean, "sd": self.sd, "ci95": self.ci95}
        return plain if self.n > MAX_VALUES else {**plain, "values": list(self.values)}


def figures_of(result: Result) -> dict[str, float]:
    """The figures of one simulated run; what could not be measured is left out."""
    metrics, outcome = result["metrics"], result["outcome"]
    nodes, messages = outcome["nodes"], max(metrics["messages"], 1)
    found: dict[str, float | None] = {
        "delivery_ratio": metrics["delivery_ratio"],
        "copies_per_delivery": metrics["copies"],
        "messages": metrics["messages"],
        "deliveries": metrics["deliveries"],
        "lost_rpcs": outcome["lost_rpcs"],
        "nodes": nodes,
        "connections": outcome["connections"],
    }
    if metrics["latency_ms"] is not None:
        found |= {f"latency_{name}_ms": value for name, value in metrics["latency_ms"].items()}
    for kind, count in metrics["sent"].items():
        found[f"sent_{kind}"] = count
    copies = metrics["sent"].get("message", 0) + metrics["sent"].get("txs", 0)
    found["copies_per_node"] = copies / messages / nodes
    total = sum(metrics["bytes"].values())
    found["bytes"] = total
    found["bytes_per_message_and_node"] = total / messages / nodes
    for kind, size in metrics["bytes"].items():
        found[f"bytes_{kind}"] = size
    return {name: value for name, value in found.items() if value is not None}


def summary_of(
    plan: SweepPlan, runs: Sequence[tuple[Job, Result]], campaigns: Sequence[Campaign]
) -> tuple[dict[str, Any], dict[str, str]]:
    """(the summary, file name -> text of each failure)."""
    texts: dict[str, str] = {}
    summary = {
        "schema": SCHEMA,
        "name": plan.name,
        "simulate": _points(runs),
        "check": [_checked(each) for each in campaigns],
        "root_causes": _causes(runs, campaigns, texts),
        "broken": [r["broken"] for _, r in runs if "broken" in r]
        + [words for each in campaigns for words in each.broken],
    }
    return summary, texts


def _points(runs: Sequence[tuple[Job, Result]]) -> list[dict[str, Any]]:
    """Each point of each campaign, with its figures over the seeds, in the order of the plan."""
    grouped: dict[str, tuple[Job, list[Result]]] = {}
    for job, result in runs:
        key = f"{job['campaign']} {job['point']}"
        grouped.setdefault(key, (job, []))[1].append(result)
    found = []
    for job, results in grouped.values():
        figures = [figures_of(r) for r in results if "broken" not in r]
        names = sorted({name for each in figures for name in each})
        # What a run has nothing of it has none of; a share that it has not measured it has not.
        spread = {
            name: SeedSpread.of([each.get(name, 0.0) for each in figures]).plain()
            for name in names
            if all(name in each or name.startswith(COUNTED) for each in figures)
        }
        found.append(
            {
                "campaign": job["campaign"],
                "point": job["point"],
                "runs": len(results),
                "broken": len(results) - len(figures),
                "figures": spread,
            }
        )
    return found


def _checked(campaign: Campaign) -> dict[str, Any]:
    return {
        "protocol": campaign.protocol,
        "against": campaign.against,
        "router_version": campaign.version,
        "runs": campaign.runs,
        "steps": campaign.steps,
        "claims": [
            {"id": v.claim.id, "verdict": v.verdict, "applied": v.applied, "reason": v.reason}
            for v in verdicts_of(campaign)
        ],
    }


def _causes(
    runs: Iterable[tuple[Job, Result]], campaigns: Iterable[Campaign], texts: dict[str, str]
) -> list[dict[str, Any]]:
    """Distinct root causes, each with its shortest case, and in how many runs it was met."""
    found: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    for _, result in runs:
        for failure in result.get("failures", ()):
            key = (failure["protocol"], failure["against"], failure["clause"], failure["cause"])
            _note(found, key, failure["text"], failure["form"], failure["witness"])
    for campaign in campaigns:
        for root in campaign.roots.values():
            key = (campaign.protocol, campaign.against, root.clause, root.quirk)
            _note(found, key, render(root.case), "case", root.says)
    causes = []
    for number, (key, each) in enumerate(sorted(found.items()), 1):
        protocol, against, clause, cause = key
        router = against.replace(":", "-").replace("/", "-")
        name = f"{number:03}-{protocol}-{router}.{each['form']}"
        texts[name] = each["text"]
        causes.append(
            {
                "protocol": protocol,
                "against": against,
                "clause": clause,
                "quirk": cause,
                "runs": each["runs"],
                "says": each["says"],
                "case": name,
            }
        )
    return causes


def _note(
    found: dict[tuple[str, str, str, str], dict[str, Any]],
    key: tuple[str, str, str, str],
    text: str,
    form: str,
    says: str,
) -> None:
    known = found.setdefault(key, {"text": text, "form": form, "says": says, "runs": 0})
    known["runs"] += 1
    # A case of one router is worth more than a network, and the shorter of two the more.
    if (form != "case", len(text), text) < (known["form"] != "case", len(known["text"]), known["text"]):
        known |= {"text": text, "form": form, "says": says}


# -- coverage -----------------------------------------------------------------------------------------------


def coverage_of(runs: Iterable[tuple[Job, Result]], campaigns: Iterable[Campaign]) -> dict[str, Any]:
    """By protocol: how often each of its clauses applied, beside the model."""
    applied: dict[str, Counter[str]] = {}
    for _, result in runs:
        for protocol, counts in result.get("applied", {}).items():
            applied.setdefault(protocol, Counter()).update(counts)
    for campaign in campaigns:
        applied.setdefault(campaign.protocol, Counter()).update(campaign.applied)
    return {
        "schema": SCHEMA,
        "applied": {name: dict(sorted(c.items())) for name, c in sorted(applied.items())},
    }


def merged_coverage(several: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The sum, and what follows from it: clauses, rules (by the clause that they bear) and claims, and which
    of them never applied."""
    applied: dict[str, Counter[str]] = {}
    for each in several:
        for protocol, counts in each.get("applied", {}).items():
            if protocol in PROTOCOLS:
                applied.setdefault(protocol, Counter()).update(counts)
    protocols = {}
    for name, counts in sorted(applied.items()):
        spec = protocol_named(name)
        clauses = sorted({rule.clause for _, rule in spec.rules()} | set(counts))
        rules = sorted({(rule.name, rule.clause) for _, rule in spec.rules()})
        claims = claims_of(spec)
        protocols[name] = {
            "clauses": _share(clauses, [c for c in clauses if not counts[c]]),
            "rules": _share(rules, [rule for rule, clause in rules if not counts[clause]]),
            "claims": _share(claims, [c.id for c in claims if not any(counts[x] for x in c.clauses)]),
        }
    return {
        "schema": SCHEMA,
        "applied": {name: dict(sorted(counts.items())) for name, counts in sorted(applied.items())},
        "protocols": protocols,
    }


def _share(every: Sequence[Any], never: Sequence[str]) -> dict[str, Any]:
    return {"all": len(every), "applied": len(every) - len(never), "never": sorted(set(never))}
