"""Whether memory stays flat over a long search: the resident memory of a check and its workers, sampled.

`python bench/memory.py [--budget 30m] [--against py-libp2p] [--every 5]`. Reads /proc, so Linux alone.
Prints the samples of each minute, and the slope of a line through the second half of the time. Exit status 1
where that slope comes to more than a tenth of the mean in an hour.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from quidnunc.output import duration_s

PAGES_MIB = 4096 / (1 << 20)
FLAT = 0.1
"""Growth in an hour, as a part of the mean."""


def tree(root: int) -> Iterator[int]:
    """The process and its descendants."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])


def resident_mib(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGES_MIB
    except OSError:
        return 0.0


def sampled(command: list[str], every_s: float) -> tuple[list[tuple[float, float, float]], int]:
    """(seconds, MiB of the whole, MiB of the first process) until the command ends, and its exit status."""
    started, samples = time.monotonic(), []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:
        while running.poll() is None:
            each = {pid: resident_mib(pid) for pid in tree(running.pid)}
            samples.append((time.monotonic() - started, sum(each.values()), each.get(running.pid, 0.0)))
            time.sleep(every_s)
    return samples, running.returncode


def slope_mib_per_h(samples: list[tuple[float, float]]) -> float:
    seconds, mib = zip(*samples, strict=True)
    return statistics.linear_regression(seconds, mib).slope * 3600


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", default="30m")
    parser.add_argument("--protocol", default="gossipsub-1.2")
    parser.add_argument("--against", default="py-libp2p")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between samples (default 5)")
    options = parser.parse_args()
    duration_s(options.budget)
    command = [sys.executable, "-m", "quidnunc", "check", options.protocol, "--against", options.against]
    samples, status = sampled([*command, "--budget", options.budget], options.every)
    second = [s for s in samples if s[0] >= samples[-1][0] / 2]
    if len(second) < 10:
        print("too few samples: give a longer --budget or a shorter --every", file=sys.stderr)
        return 2
    by_minute: dict[int, list[float]] = {}
    for at, whole, _ in samples:
        by_minute.setdefault(int(at // 60), []).append(whole)
    mean = statistics.fmean(whole for _, whole, _ in second)
    slope = slope_mib_per_h([(at, whole) for at, whole, _ in second])
    answer = {
        "command": command[2:],
        "exit_status": status,
        "minutes": round(samples[-1][0] / 60, 1),
        "mib_by_minute": {m: round(statistics.fmean(v)) for m, v in by_minute.items()},
        "peak_mib": round(max(whole for _, whole, _ in samples)),
        "peak_mib_of_the_first_process": round(max(first for _, _, first in samples)),
        "mean_mib_of_the_second_half": round(mean),
        "slope_mib_per_h": round(slope, 1),
        "flat": slope <= FLAT * mean,
    }
    print(json.dumps(answer, indent=1))
    return 0 if answer["flat"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
