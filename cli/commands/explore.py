"""quidnunc explore: search every reachable state of a small network, and decide its claims."""

from __future__ import annotations

import argparse
import importlib.util
import re
from typing import Any

from quidnunc.model.errors import SpecError, install_words
from quidnunc.options.explore import NEEDS
from quidnunc.output import (
    UsageError,
    choices,
    clear_progress,
    fields_of,
    print_json,
    progress_line,
    suggestion,
    table,
)
from quidnunc.properties.proofs.networks import MAX_PEERS, NETWORKS, network_named
from quidnunc.properties.solver.explore import DEFAULT_MEMORY_BYTES, ExplorationResult, explore
from quidnunc.properties.solver.rules import NetworkModel
from quidnunc.properties.solver.trace import MissingTrace, NetworkTrace, shortest_trace

UNITS = {"k": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def run(options: argparse.Namespace) -> int:
    network = network_asked(options)
    memory_bytes = size_bytes(options.memory) if options.memory else DEFAULT_MEMORY_BYTES
    if options.trace:
        return _traced(options, network, memory_bytes)
    try:
        found = explore(
            network,
            engine=options.engine,
            symmetry=options.symmetry,
            memory_bytes=memory_bytes,
            progress=progress_line(),
        )
    except SpecError as error:
        raise UsageError(str(error)) from None
    clear_progress()
    if options.json:
        print_json(as_json(network, found))
    else:
        _print(options, network, found)
    verdicts = {claim.verdict for claim in found.claims}
    return 1 if "refuted" in verdicts else 3 if "undetermined" in verdicts else 0


def network_asked(options: argparse.Namespace) -> NetworkModel:
    """The network of the command line. Raises UsageError where there is none, or an engine is missing."""
    if options.network not in NETWORKS:
        raise UsageError(f"no network {options.network!r}{choices(options.network, NETWORKS)}")
    missing = [name for name in NEEDS[options.engine] if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"{' and '.join(missing)} must be installed: {install_words('prove')}")
    asked = range(2, MAX_PEERS + 1) if options.peers is None else (options.peers,)
    for peers in asked:
        try:
            network = network_named(options.network, peers=peers, d_high=options.d_high)
        except SpecError as error:
            refused = error
        else:
            options.peers = peers
            return network
    raise UsageError(str(refused)) from None


def size_bytes(text: str) -> int:
    """`500M`, `2G` in bytes. Raises UsageError."""
    found = re.fullmatch(r"(\d+)([kMG])", text)
    if not found or not int(found[1]):
        raise UsageError(f"invalid size {text!r}: write 500M or 2G")
    return int(found[1]) * UNITS[found[2]]


def as_json(network: NetworkModel, found: ExplorationResult) -> dict[str, Any]:
    """What was found as one object; `orbits` and `orbit_transitions` are there with symmetry."""
    data: dict[str, Any] = {
        "schema": 1,
        "network": network.name,
        "parameters": dict(network.parameters),
        **fields_of(found, "states", "transitions", "depth", "complete", "deadlocks"),
        "seconds": round(found.seconds, 4),
        "compile_seconds": round(found.compile_seconds, 4),
        "memory_bytes": found.memory_bytes,
        "claims": [fields_of(c, "id", "kind", "verdict", "trace_length") for c in found.claims],
    }
    if found.orbits is not None:
        data |= fields_of(found, "orbits", "orbit_transitions")
    return data


def _again(options: argparse.Namespace) -> str:
    parts = [f"quidnunc explore {options.network} --peers {options.peers} --d-high {options.d_high}"]
    parts += [f"--engine {options.engine}"] if options.engine != "compiled" else []
    parts += ["--symmetry"] if options.symmetry else []
    parts += [f"--trace {options.trace}"] if options.trace else []
    parts += [f"--memory {options.memory}"] if options.memory else []
    return " ".join(parts)


def _asked(network: NetworkModel) -> str:
    return f"{network.name}: " + ", ".join(f"{key} {value}" for key, value in network.parameters.items())


def _print(options: argparse.Namespace, network: NetworkModel, found: ExplorationResult) -> None:
    print(_asked(network))
    extent = "complete" if found.complete else "UNDETERMINED, memory ran out after"
    print(f"\n{extent}: {found.states:,} states, {found.transitions:,} transitions, depth {found.depth}")
    if found.orbits is not None:
        print(f"by symmetry: {found.orbits:,} orbits, {found.orbit_transitions:,} transitions from them")
    print(f"deadlocks (states with no enabled rule): {found.deadlocks:,}")
    print(
        f"{found.seconds:.2f} s, compiled or loaded in {found.compile_seconds:.2f} s, "
        f"{found.memory_bytes / 1e6:.1f} MB for states\n"
    )
    rows = [
        (c.id, c.kind, c.verdict, "-" if c.trace_length is None else c.trace_length) for c in found.claims
    ]
    print(table(("claim", "kind", "verdict", "steps"), rows))
    print(
        "\nproved: for this network and these parameters, in every state. Not checked: other sizes, liveness."
    )
    print(f"again: {_again(options)}")


def _traced(options: argparse.Namespace, network: NetworkModel, memory_bytes: int) -> int:
    """Print one trace; the exit status is that of its claim."""
    known = [claim.id for claim in network.claims]
    whole = f"{network.name}.{options.trace}"
    if whole in known:
        options.trace = whole
    if options.trace not in known:
        near = suggestion(options.trace, known)
        raise UsageError(f"{network.name} has no claim {options.trace!r}{near}; there are {', '.join(known)}")
    claim = network.claim(options.trace)
    try:
        trace = shortest_trace(network, claim.id, engine=options.engine, memory_bytes=memory_bytes)
    except MissingTrace as none:
        raise UsageError(str(none)) from None
    if options.json:
        print_json(
            {
                "schema": 1,
                "network": network.name,
                "parameters": dict(network.parameters),
                "trace": trace_json(trace),
            }
        )
    else:
        print(_asked(network))
        print(f"{claim.id}: {claim.text}\n")
        print(table(trace.header(), trace.rows()))
        print(f"\nagain: {_again(options)}")
    return 1 if claim.kind == "always" else 0


def trace_json(trace: NetworkTrace) -> dict[str, Any]:
    """A trace as data: per step the rule, its clause, and the fields that are not zero."""
    steps = []
    for number, word in enumerate(trace.words):
        rule = trace.network.rules[trace.rules[number - 1]] if number else None
        values = {name: value for name, value in trace.network.unpacked(word).items() if value}
        steps.append(
            {"rule": rule.name if rule else None, "clause": rule.clause if rule else None, "state": values}
        )
    return {"claim": trace.claim, "length": len(trace.rules), "steps": steps}
