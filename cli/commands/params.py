"""quidnunc params: check what the parameters of a network guarantee, and show the cheapest attack."""

from __future__ import annotations

import argparse
import importlib.util
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from quidnunc.model.errors import install_words
from quidnunc.output import (
    UsageError,
    choices,
    clear_progress,
    fields_of,
    print_json,
    progress_line,
    shell_line,
    show,
)
from quidnunc.properties.bounded import printable
from quidnunc.properties.params.file import FileValue, ParamsError, read_file
from quidnunc.properties.params.guarantees import Guarantee
from quidnunc.properties.params.values import NetworkParameters, decimal


def run(options: argparse.Namespace) -> int:
    from quidnunc.properties.params.file import shipped_files

    if options.list:
        if options.files or options.replay or options.round_trip:
            raise UsageError("--list cannot be combined with other arguments")
        return _listed(options, shipped_files())
    if not 1 <= len(options.files) <= 2:
        raise UsageError(f"expected one or two FILEs, got {len(options.files)}; --list names some")
    if importlib.util.find_spec("z3") is None:
        raise UsageError(f"z3 must be installed: {install_words('prove')}")
    try:
        given = [read_file(_path(name, shipped_files())) for name in options.files]
        report = _comet(options, given) if any(map(_is_toml, given)) else _scores(options, given)
    except ParamsError as error:
        raise UsageError(str(error)) from None
    clear_progress()
    if options.json:
        print_json(_as_json(report))
    else:
        _print(options, report)
    verdicts = {line.verdict for line in report.lines}
    return 1 if "fails" in verdicts else 3 if "unknown" in verdicts else 0


@frozen(kw_only=True)
class ParameterReport:
    """What is printed of one file, or of two."""

    asked: str
    lines: Sequence[Guarantee]
    remarks: Sequence[str]
    unchecked: str
    ignored: Sequence[str] = ()
    """Names under [mempool] that were not read."""


def _is_toml(given: FileValue) -> bool:
    return given.file.lower().endswith(".toml")


def _names(files: Sequence[str]) -> list[str]:
    """What files are called in a report: by their stems, or as they were given where these are the same."""
    stems = [Path(file).stem for file in files]
    return stems if len(set(stems)) == len(stems) else list(files)


def _again(options: argparse.Namespace) -> str:
    """The command that gives the same report again."""
    words = ["quidnunc", "params", *options.files]
    words += ["--replay", options.replay] if options.replay else []
    words += ["--round-trip", options.round_trip] if options.round_trip else []
    return shell_line(*words)


def _round_trip_ms(options: argparse.Namespace, otherwise: Fraction) -> Fraction:
    if options.round_trip is None:
        return otherwise
    found = re.fullmatch(r"(\d{1,6})ms", options.round_trip)
    if not found or not int(found[1]):
        raise UsageError(f"invalid round trip {options.round_trip!r}: write 300ms")
    return Fraction(int(found[1]))


def _path(name: str, known: dict[str, Path]) -> Path:
    """The file of that name; a shipped one where there is none of that name."""
    if Path(name).exists() or name not in known:
        if not Path(name).exists() and not Path(name).suffix:
            raise UsageError(f"no file {name!r}, and no shipped one of that name{choices(name, known)}")
        return Path(name)
    return known[name]


def _listed(options: argparse.Namespace, known: dict[str, Path]) -> int:
    if options.json:
        print_json({"schema": 1, "shipped": {name: str(path) for name, path in known.items()}})
    else:
        for name, path in known.items():
            show(f"{name:14} {path}")
    return 0


def _scores(options: argparse.Namespace, given: Sequence[FileValue]) -> ParameterReport:
    """The scores of one network; or of two, and whether one penalises what the other does."""
    from quidnunc.properties.params.guarantees import guarantees
    from quidnunc.properties.params.pair import ROUND_TRIP_MS, pair_lines
    from quidnunc.properties.params.read import network_of, remarks
    from quidnunc.properties.solver.questions import SolverSession

    networks = [network_of(each) for each in given]
    if options.round_trip and len(networks) == 1:
        raise UsageError("--round-trip needs two FILEs, or a config.toml")
    if len(networks) == 2 and networks[0].name == networks[1].name:
        named = zip(networks, (each.file for each in given), strict=True)
        networks = [evolve(network, name=file) for network, file in named]
    said = [remark for network in networks for remark in remarks(network)]
    if len(networks) == 2:
        if options.replay:
            raise UsageError("--replay needs one FILE, got two")
        return ParameterReport(
            asked=f"{networks[0].name} beside {networks[1].name}",
            lines=list(pair_lines(networks[0], networks[1], _round_trip_ms(options, ROUND_TRIP_MS))),
            remarks=said,
            unchecked="the guarantees of each alone (give one FILE); loss and delays",
        )
    (network,) = networks
    topics = sum(topic.count for topic in network.topics)
    lines = list(guarantees(network, SolverSession(), progress_line()))
    if options.replay:
        lines.append(_replayed(options.replay, network))
    interval = decimal(network.decay_interval_ms / 1000)
    return ParameterReport(
        asked=f"{network.name}, {topics} topics, a decay interval of {interval} s",
        lines=lines,
        remarks=said,
        unchecked="that a router counts as v1.1 says; attacks by several peers together",
    )


def _replayed(router: str, network: NetworkParameters) -> Guarantee:
    """The starving attack on a router, as one line more."""
    from quidnunc.properties.params.attack import starving_attack
    from quidnunc.properties.params.replay import replay_line
    from quidnunc.properties.solver.questions import SolverSession

    try:
        return replay_line(
            network, starving_attack(network, SolverSession(), "copies"), router, progress_line()
        )
    except ValueError as error:
        raise UsageError(f"the attack cannot be played: {error}") from None


def _comet(options: argparse.Namespace, given: Sequence[FileValue]) -> ParameterReport:
    """The settings of one node of CometBFT, or of two beside each other."""
    from quidnunc.properties.params.comet import CUT_OFF, ROUND_TRIP_MS, comet_lines, comet_of
    from quidnunc.properties.params.pair import comet_pair_lines

    other = next((each for each in given if not _is_toml(each)), None)
    if other is not None:
        raise UsageError(f"{other.file} is not a config.toml, but the other file is: give two of one kind")
    if options.replay:
        raise UsageError("--replay attacks scores, and a config.toml has none")
    if options.round_trip and len(given) == 2:
        raise UsageError("--round-trip needs one config.toml, got two")
    names = _names([each.file for each in given])
    comets = [comet_of(each, name) for each, name in zip(given, names, strict=True)]
    if len(comets) == 2:
        return ParameterReport(
            asked=f"{comets[0].name} beside {comets[1].name}",
            lines=list(comet_pair_lines(*comets)),
            remarks=(),
            unchecked="the guarantees of each alone (give one FILE)",
            ignored=[f"{name} of {comet.name}" for comet in comets for name in comet.ignored],
        )
    return ParameterReport(
        asked=f"CometBFT, {comets[0].name}, DOG {'on' if comets[0].dog else 'off'}",
        lines=list(comet_lines(comets[0], _round_trip_ms(options, ROUND_TRIP_MS))),
        remarks=(),
        unchecked=f"that no node is cut off ({CUT_OFF}); other settings of the file"
        if comets[0].dog
        else "other settings of the file",
        ignored=comets[0].ignored,
    )


def _as_json(report: ParameterReport) -> dict[str, Any]:
    rows = [
        {
            **fields_of(line, "id", "text", "verdict", "found", "assumptions", "clauses", "advisories"),
            "advice": [fields_of(each, "change", "restored", "price") for each in line.advice],
        }
        for line in report.lines
    ]
    found = {"schema": 1, "asked": report.asked, "guarantees": rows, "remarks": list(report.remarks)}
    # Only a config.toml can have names that are left unread.
    return found | ({"ignored": list(report.ignored)} if report.ignored else {})


def _print(options: argparse.Namespace, report: ParameterReport) -> None:
    show(f"params: {printable(report.asked)}\n")
    for line in report.lines:
        show(f"{line.verdict.upper():8} {line.id}: {line.text}")
        for found in line.found:
            show(f"           {found}")
        for each in line.advice:
            for change in each.change.split("; "):
                show(f"         > {change}")
            tried = "restores it" if each.restored else "does not restore it by itself"
            show(f"           {tried}{f'; {each.price}' if each.price else ''}")
        if line.assumptions:
            show(f"         assumes: {'; '.join(line.assumptions)}")
        if line.advisories:
            show(f"         known as: {', '.join(line.advisories)}")
    if report.remarks:
        show("\nA router refuses to start:")
        for remark in report.remarks:
            show(f"  {remark}")
    if report.ignored:
        show("\nIgnored, as these are no settings of CometBFT's mempool that this kit reads:")
        for name in report.ignored:
            show(f"  {name}")
    show(f"\nNot checked: {report.unchecked}.")
    show(f"again: {_again(options)}")
