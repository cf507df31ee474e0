"""How long the fixed suite takes against each router: wall and CPU seconds, and what it asked.

`python bench/suite.py [--protocol gossipsub-1.2] [--against NAME ...]`. The CPU seconds are those of all
processes, drivers among them; half of them is the least that two free cores need.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

ROUTERS = ("js-libp2p", "go-libp2p-pubsub", "py-libp2p")


def measured(protocol: str, router: str) -> tuple[float, float, dict[str, object]]:
    """Wall and CPU seconds of one suite, and its answer. Raises RuntimeError where it breaks."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    command = [sys.executable, "-m", "quidnunc", "check", protocol, "--against", router, "--suite", "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{router}: status {done.returncode}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, json.loads(done.stdout)


def main() -> int:
    """One line of a Markdown table for each router."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--protocol", default="gossipsub-1.2")
    parser.add_argument("--against", action="append", metavar="NAME")
    given = parser.parse_args()
    print("| router | wall, s | CPU, s | cases | root causes |\n|---|---:|---:|---:|---:|")
    for router in given.against or ROUTERS:
        wall, cpu, told = measured(given.protocol, router)
        causes = told["root_causes"]
        assert isinstance(causes, list)
        print(f"| {router} | {wall:.1f} | {cpu:.0f} | {told['runs']} | {len(causes)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
