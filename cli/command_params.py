"""quidnunc params: what the parameters of a network guarantee, and the cheapest attack where they do not."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quidnunc.output import UsageError, clear_progress, print_json, progress_line
from quidnunc.properties.params_file import Given, ParamsError, read_file
from quidnunc.properties.params_values import Network, decimal

EXAMPLE = """\
example:
  quidnunc params eth2
  quidnunc params my-network.yaml
  quidnunc params peer-score-params.json --json

FILE is YAML (see the shipped ones: --list), or the JSON of go-libp2p-pubsub's PeerScoreParams.
Exit status: 0 when no guarantee fails, 1 when one does, 3 when none does and one could not be decided.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE", help="parameters of a network, or a shipped name")
    parser.add_argument("--list", action="store_true", help="the shipped parameters, and where they are")


def run(options: argparse.Namespace) -> int:
    from quidnunc.properties.params_shipped import shipped

    if options.list:
        return _listed(options, shipped())
    if len(options.files) != 1:
        raise UsageError(f"one FILE is wanted, got {len(options.files)}; quidnunc params --list names some")
    if importlib.util.find_spec("z3") is None:
        raise UsageError("z3 must be installed: pip install 'quidnunc[prove]'")
    try:
        return _one(options, read_file(_path(options.files[0], shipped())))
    except ParamsError as error:
        raise UsageError(str(error)) from None


def _path(name: str, known: dict[str, Path]) -> Path:
    """The file of that name; a shipped one where there is none of that name."""
    if Path(name).exists() or name not in known:
        if not Path(name).exists() and not Path(name).suffix:
            raise UsageError(f"no file {name!r}, and none is shipped by that name: {', '.join(known)}")
        return Path(name)
    return known[name]


def _listed(options: argparse.Namespace, known: dict[str, Path]) -> int:
    if options.json:
        print_json({"schema": 1, "shipped": {name: str(path) for name, path in known.items()}})
    else:
        for name, path in known.items():
            print(f"{name:14} {path}")
    return 0


def _one(options: argparse.Namespace, given: Given) -> int:
    from quidnunc.properties.network_solver import Questions
    from quidnunc.properties.params_guarantees import guarantees
    from quidnunc.properties.params_read import network_of, remarks

    network = network_of(given)
    questions = Questions()
    lines = list(guarantees(network, questions, progress_line()))
    clear_progress()
    said = list(remarks(network))
    if options.json:
        print_json(_as_json(network, lines, said))
    else:
        _print(options, network, lines, said)
    verdicts = {line.verdict for line in lines}
    return 1 if "fails" in verdicts else 3 if "unknown" in verdicts else 0


def _as_json(network: Network, lines: Sequence[Any], said: Sequence[str]) -> dict[str, Any]:
    rows = [
        {
            "id": line.id,
            "text": line.text,
            "verdict": line.verdict,
            "found": list(line.found),
            "assumptions": list(line.assumptions),
            "advice": [{"change": a.change, "restored": a.restored, "price": a.price} for a in line.advice],
        }
        for line in lines
    ]
    return {"schema": 1, "network": network.name, "guarantees": rows, "remarks": list(said)}


def _print(options: argparse.Namespace, network: Network, lines: Sequence[Any], said: Sequence[str]) -> None:
    topics = sum(topic.count for topic in network.topics)
    seconds = decimal(network.decay_interval_ms / 1000)
    print(f"params: {network.name}, {topics} topics, a decay interval of {seconds} s\n")
    for line in lines:
        print(f"{line.verdict.upper():8} {line.id}: {line.text}")
        for found in line.found:
            print(f"           {found}")
        for each in line.advice:
            tried = "restores it" if each.restored else "does not restore it by itself"
            for change in each.change.split("; "):
                print(f"         > {change}")
            print(f"           {tried}; {each.price}")
        if line.assumptions:
            print(f"         assumes: {'; '.join(line.assumptions)}")
    if said:
        print("\nA router refuses, at its start:")
        for remark in said:
            print(f"  {remark}")
    print("\nNot checked: that counters of a router are counted as v1.1 says; what peers do in concert.")
    print(f"again: quidnunc params {options.files[0]}")
