"""Replay the committed traces of our Quint text on the model; with `--regenerate`, make them anew first.

    python -m tools.quint                 replay the traces
    python -m tools.quint --regenerate    make them anew with Quint first

Quint is run as `quint`, or as QUINT says. It comes from npm (Node.js 20): a package.json with
`{"dependencies": {"@informalsystems/quint": "0.27.0"}, "overrides": {"antlr4ts": "0.5.0-alpha.4"}}`, and
`npm install` beside it; without the override the program fails as it starts. Nothing is downloaded by a run:
it uses the simulator in TypeScript.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from tools.quint.replay import TRACES, read_trace, replay_trace, steps_of
from tools.quint.situations import SITUATIONS

VERSION = "0.27.0"
NETWORKS = TRACES.parent / "networks.qnt"
INSTALL = f"""npm install in a folder whose package.json says
  {{"dependencies": {{"@informalsystems/quint": "{VERSION}"}}, "overrides": {{"antlr4ts": "0.5.0-alpha.4"}}}}
and then QUINT=FOLDER/node_modules/.bin/quint"""
TIMEOUT_S = 300


class QuintError(Exception):
    """Quint is missing, or a run of it failed. The message says what to do."""


@frozen
class QuintRun:
    """One run of Quint: a network, whether nodes come and go, and how many traces of what length."""

    network: str
    action: str
    traces: int
    steps: int
    seed: int


DRAWS = (
    QuintRun("pair", "step", 200, 14, 1),
    QuintRun("line", "still", 200, 24, 2),
    QuintRun("ring", "still", 400, 30, 3),
    QuintRun("ring", "step", 400, 30, 4),
    QuintRun("line", "step", 200, 24, 5),
    QuintRun("ring", "busy", 300, 30, 0x6),
)


def quint_command() -> list[str]:
    """How Quint is run. Raises QuintError where it is missing or of another version."""
    command = shlex.split(os.environ.get("QUINT", "quint"))
    if not command or shutil.which(command[0]) is None:
        raise QuintError(f"quint is not here: {INSTALL}")
    said = _outcome([*command, "--version"])
    version = said.stdout.strip()
    if version != VERSION:
        raise QuintError(f"quint says {version or said.stderr.strip()!r}, wanted is {VERSION}: {INSTALL}")
    return command


def _outcome(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """What a command says, and its exit status. Raises QuintError where it takes too long."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise QuintError(f"{shlex.join(command)} was stopped after {TIMEOUT_S} s; try it by itself") from None


def drawn(command: Sequence[str], draw: QuintRun) -> Iterator[dict[str, object]]:
    """The traces of one run, in order. Raises QuintError."""
    with tempfile.TemporaryDirectory() as folder:
        numbers = (f"--max-samples={draw.traces}", f"--n-traces={draw.traces}", f"--max-steps={draw.steps}")
        out = f"--out-itf={folder}/trace_{{seq}}.itf.json"
        options = (f"--main={draw.network}", f"--step={draw.action}", f"--seed={draw.seed:#x}", "--mbt", out)
        run = [*command, "run", *options, *numbers, "--backend=typescript", "--verbosity=1", str(NETWORKS)]
        done = _outcome(run)
        if done.returncode:
            raise QuintError(f"{shlex.join(run)} failed: {(done.stderr or done.stdout).strip()[-500:]}")
        for at in range(draw.traces):
            path = Path(folder) / f"trace_{at}.itf.json"
            if path.exists():
                yield json.loads(path.read_text(encoding="utf-8"))


def shortest(
    traces: Iterator[tuple[QuintRun, dict[str, object]]],
) -> dict[str, tuple[QuintRun, dict[str, object], int]]:
    """For each situation the trace that shows it first, and at which step."""
    found: dict[str, tuple[QuintRun, dict[str, object], int]] = {}
    for draw, trace in traces:
        steps = steps_of(trace)
        for name, shows in SITUATIONS.items():
            at = next((i for i in range(1, len(steps)) if shows(steps[i - 1], steps[i])), None)
            if at is not None and (name not in found or at < found[name][2]):
                found[name] = (draw, trace, at)
    return found


def written(name: str, draw: QuintRun, trace: Mapping[str, object], length: int) -> str:
    """The trace up to `length` steps as a file: a state a line, with only the picks that were made."""
    states = trace["states"]
    assert isinstance(states, list)
    lines = [json.dumps(_short(each), sort_keys=True, separators=(",", ":")) for each in states[: length + 1]]
    about = {
        "format": "ITF",
        "description": f"{name}: {draw.network}.{draw.action}, seed {draw.seed:#x}, Quint {VERSION}",
        "source": f"tools/quint/{NETWORKS.name}",
    }
    head = json.dumps({"#meta": about, "vars": trace["vars"]}, sort_keys=True)
    return head[:-1] + ', "states": [\n' + ",\n".join(lines) + "\n]}\n"


def _short(state: dict[str, object]) -> dict[str, object]:
    picks = state["mbt::nondetPicks"]
    assert isinstance(picks, dict)
    made = {key: each for key, each in picks.items() if each["tag"] == "Some"}
    return {**{key: each for key, each in state.items() if key != "#meta"}, "mbt::nondetPicks": made}


def regenerate(folder: Path) -> list[str]:
    """Write a trace of every situation into `folder`; returns the names of those that no run showed."""
    command = quint_command()
    found = shortest((draw, trace) for draw in DRAWS for trace in drawn(command, draw))
    folder.mkdir(parents=True, exist_ok=True)
    for name, (draw, trace, length) in found.items():
        (folder / f"{name}.itf.json").write_text(written(name, draw, trace, length), encoding="utf-8")
    return [name for name in SITUATIONS if name not in found]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.quint",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--regenerate", action="store_true", help="run Quint and write the traces anew")
    parser.add_argument("--traces", type=Path, default=TRACES, help="their folder")
    asked = parser.parse_args(arguments)
    try:
        missing = regenerate(asked.traces) if asked.regenerate else []
    except QuintError as error:
        print(error, file=sys.stderr)
        return 4
    paths = sorted(asked.traces.glob("*.itf.json"))
    departed = 0
    for path in paths:
        replay = replay_trace(read_trace(path))
        departed += replay.departs is not None
        print(f"{path.name.split('.')[0]:24} {replay.steps:3} steps  {replay.departs or 'agrees'}")
    for name in missing:
        print(f"{name:24} no run showed it")
    print(f"{len(paths)} traces, {departed} depart")
    return 1 if departed or missing or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
