"""Which rules of networks were taken, by the clauses that they are a view of.

    python -m tools.network_rules            what is recorded
    python -m tools.network_rules --write    explore and follow anew, and record

A rule is *explored* where some reachable state of its network, searched to the end or until all rules have
been, enables it; it is *followed* where a drawn run of routers of the model, or of ours, took it
(`tools/network_rules/followed.py`). `properties/proofs/network-rules.toml` is the record.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from quidnunc.model.errors import SpecError
from quidnunc.model.machine import protocol_named
from quidnunc.properties.proofs.citations import AppliedRules
from quidnunc.properties.proofs.dog.relays import TEXTS
from quidnunc.properties.proofs.dog.routes import REVISIONS
from quidnunc.properties.proofs.messages.flow import FLOWS
from quidnunc.properties.proofs.messages.star import STARS
from quidnunc.properties.proofs.networks import NETWORKS, network_named
from quidnunc.properties.solver.interpret import interpreter
from quidnunc.properties.solver.rules import NetworkModel
from tools.network_rules.followed import PROTOCOLS, follow_runs, rules_of

RECORD = Path(__file__).parents[2] / "properties" / "proofs" / "network-rules.toml"
PROG = "python -m tools.network_rules"
COMMAND = f"{PROG} --write"
D_HIGH = 1
FOLLOWED_SEEDS = range(8)
AGAINST = ("model", "ours")


def record_text(found: Mapping[str, AppliedRules]) -> str:
    """The record as text."""
    lines = ["# Which rules of networks were taken, by clause. Written by", f"# `{COMMAND}`."]
    for clause, each in sorted(found.items()):
        lines += ["", f'["{clause}"]']
        for name, rules in (("explored", each.explored), ("followed", each.followed)):
            if rules:
                lines += [f"{name} = [", *(f'  "{rule}",' for rule in rules), "]"]
    return "\n".join(lines) + "\n"


def enabled_kinds(network: NetworkModel) -> tuple[dict[str, str], set[str]]:
    """(kind of a rule -> its clause, of those that some reachable state enables; kinds that none does)."""
    steps = interpreter(network)
    wanted = {rule.kind for rule in network.rules}
    found: dict[str, str] = {}
    seen = {steps.start()}
    waiting = [steps.start()]
    for state in waiting:
        for number, after in steps.enabled(state):
            rule = network.rules[number]
            clause = found.setdefault(rule.kind, rule.clause)
            assert clause == rule.clause, f"{network.name}: {rule.kind} is of {clause} and of {rule.clause}"
            if after not in seen:
                seen.add(after)
                waiting.append(after)
        if len(found) == len(wanted):
            break
    return found, wanted - found.keys()


def smallest(name: str) -> NetworkModel:
    """The smallest network of a name that has all of its parts."""
    if name in STARS:
        return network_named(name, peers=4, d_high=2)
    peers = 3 if name in REVISIONS or name in FLOWS else 4 if name in TEXTS else 2
    return network_named(name, peers=peers, d_high=D_HIGH)


def explored(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(clause, `NETWORK.RULE`) of the rules that some reachable state enables."""
    for name in names:
        found, _ = enabled_kinds(smallest(name))
        yield from ((clause, f"{name}.{kind}") for kind, clause in found.items())


def followed(protocols: Iterable[str], seeds: Sequence[int] | range) -> Iterator[tuple[str, str]]:
    """(clause, `PROTOCOL.RULE`) of the rules that runs of the model and of our routers took. Raises
    SpecError where a run cannot be followed."""
    for name in protocols:
        clauses = {rule.kind: rule.clause for rule in rules_of(name).rules}
        for against in AGAINST:
            tally = follow_runs(protocol_named(name), seeds, against=against)
            if tally.broken:
                raise SpecError(f"{name}, {against}: no rules of links lead to {tally.broken[0]}")
            yield from ((clauses[kind], f"{name}.{kind}") for kind in tally.kinds if tally.taken[kind])


def make_record(
    explored_rules: Iterable[tuple[str, str]], followed_rules: Iterable[tuple[str, str]]
) -> dict[str, AppliedRules]:
    """The record of these."""
    found: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for clause, rule in explored_rules:
        found[clause][0].add(rule)
    for clause, rule in followed_rules:
        found[clause][1].add(rule)
    return {
        clause: AppliedRules(tuple(sorted(a)), tuple(sorted(b))) for clause, (a, b) in sorted(found.items())
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the record, or write it anew."""
    parser = argparse.ArgumentParser(prog=PROG, description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help="explore and follow anew, and record")
    asked = parser.parse_args(arguments)
    if asked.write:
        print(f"exploring {len(NETWORKS)} networks, following {len(PROTOCOLS)} protocols", file=sys.stderr)
        text = record_text(make_record(explored(NETWORKS), followed(PROTOCOLS, FOLLOWED_SEEDS)))
        RECORD.write_text(text, encoding="utf-8")
    print(RECORD.read_text(encoding="utf-8"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
