"""How long `quidnunc regress` takes for each adjacent pair of the committed history: wall and CPU seconds.

`python bench/regress.py [OLD--NEW ...]`. Nothing is declared to it, so that everything is searched. The
command takes two processes; half of the CPU seconds is the least that two free cores need.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

PAIRS = (
    "gossipsub-1.0--gossipsub-1.1",
    "gossipsub-1.1--gossipsub-1.2-draft",
    "gossipsub-1.2-draft--gossipsub-1.2",
    "gossipsub-1.2--gossipsub-1.3",
    "gossipsub-1.3--partial-messages",
    "partial-messages-jvm--partial-messages-go",
    "partial-messages-go--partial-messages",
    "dog-adr-prose--dog-quint",
    "dog-quint--dog-go",
    "dog-go--dog",
    "flood--dog",
    "cat-classic--cat",
)


def measured(pair: str) -> tuple[float, float, int]:
    """Wall and CPU seconds of one pair, and the status of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    command = [sys.executable, "-m", "quidnunc", "regress", *pair.split("--"), "--json"]
    status = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - started, cpu, status


def main() -> int:
    """One line of a Markdown table for each pair."""
    print("| pair | wall, s | CPU, s |\n|---|---|---|")
    for pair in sys.argv[1:] or PAIRS:
        wall, cpu, status = measured(pair)
        if status not in (0, 1):
            print(f"{pair}: status {status}", file=sys.stderr)
            return status
        print(f"| {pair.replace('--', ' -> ')} | {wall:.0f} | {cpu:.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
