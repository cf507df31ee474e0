"""Which rules of networks were taken, by the clauses that they are a view of.

    python -m quidnunc.properties.proofs.fired            what is recorded
    python -m quidnunc.properties.proofs.fired --write    explore and follow anew, and record

A rule is *explored* where some reachable state of its network, searched to the end or until all rules have
been, enables it; it is *followed* where a drawn run of routers of the model, or of ours, took it
(`quidnunc.properties.proofs.followed`). `properties/proofs/network-rules.toml` is the record, so that
`quidnunc clauses` needs neither z3 nor a search.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from attrs import frozen

from quidnunc.model.errors import SpecError
from quidnunc.model.machine import protocol_named
from quidnunc.properties.solver.rules import NetworkModel

RECORD = Path(__file__).parent / "network-rules.toml"
PROG = "python -m quidnunc.properties.proofs.fired"
COMMAND = f"{PROG} --write"
D_HIGH = 1
FOLLOWED_SEEDS = range(8)
AGAINST = ("model", "ours")


@frozen
class AppliedRules:
    """The rules of networks that are a view of one clause, and were taken."""

    explored: tuple[str, ...] = ()
    """As `NETWORK.RULE`, by exploration."""
    followed: tuple[str, ...] = ()
    """As `PROTOCOL.RULE`, by a run of routers."""

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.explored, *(f"{each} (followed)" for each in self.followed))


# -- the record ---------------------------------------------------------------------------------------------


@lru_cache
def applied_rules() -> Mapping[str, AppliedRules]:
    """Clause -> the rules of networks that were taken. Raises SpecError for a record of another shape."""
    text = files("quidnunc.properties.proofs").joinpath("network-rules.toml").read_text(encoding="utf-8")
    found = {}
    for clause, each in tomllib.loads(text).items():
        try:
            found[clause] = AppliedRules(tuple(each.get("explored", ())), tuple(each.get("followed", ())))
        except (AttributeError, TypeError):
            raise SpecError(
                f"network-rules.toml: {clause}: expected a table with `explored` and `followed`; write it "
                f"anew with `{COMMAND}`"
            ) from None
    return found


def record_text(found: Mapping[str, AppliedRules]) -> str:
    """The record as text."""
    lines = ["# Which rules of networks were taken, by clause. Written by", f"# `{COMMAND}`."]
    for clause, each in sorted(found.items()):
        lines += ["", f'["{clause}"]']
        for name, rules in (("explored", each.explored), ("followed", each.followed)):
            if rules:
                lines += [f"{name} = [", *(f'  "{rule}",' for rule in rules), "]"]
    return "\n".join(lines) + "\n"


# -- to make it ---------------------------------------------------------------------------------------------


def enabled_kinds(network: NetworkModel) -> tuple[dict[str, str], set[str]]:
    """(kind of a rule -> its clause, of those that some reachable state enables; kinds that none does)."""
    from quidnunc.properties.solver.interpret import interpreter

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
    from quidnunc.properties.proofs.dog.relays import TEXTS
    from quidnunc.properties.proofs.dog.routes import REVISIONS
    from quidnunc.properties.proofs.messages.flow import FLOWS
    from quidnunc.properties.proofs.messages.star import STARS
    from quidnunc.properties.proofs.networks import network_named

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
    from quidnunc.properties.proofs.followed import follow_runs, rules_of

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
        from quidnunc.properties.proofs.followed import PROTOCOLS
        from quidnunc.properties.proofs.networks import NETWORKS

        print(f"exploring {len(NETWORKS)} networks, following {len(PROTOCOLS)} protocols", file=sys.stderr)
        text = record_text(make_record(explored(NETWORKS), followed(PROTOCOLS, FOLLOWED_SEEDS)))
        RECORD.write_text(text, encoding="utf-8")
    print(RECORD.read_text(encoding="utf-8"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
