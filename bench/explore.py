"""How fast a network is searched: the compiled explorer beside the exact searches of Spin.

`python bench/explore.py [--network mesh-link] [--peers 3] [--d-high 1] [--repeat 3] [--ways WAY...]`. Every
figure is CPU time of one thread, for the whole of the same graph, best of `--repeat` for the explorer (Spin
is run once each way); the time of compilers stands apart. Spin has no symmetry reduction. Memory of the
explorer is the peak of a process of its own, with everything that Python and numba load.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

from quidnunc.properties.proofs.networks import network_named
from quidnunc.properties.solver.explore import DEFAULT_MEMORY_BYTES, StateSearch
from tests.helpers.spin import witness as network_spin


def searched(name: str, peers: int, d_high: int, symmetry: bool, repeat: int) -> dict[str, Any]:
    """Search in this process, `repeat` times: counts, the least CPU time of a search, and the memory."""
    network = network_named(name, peers=peers, d_high=d_high)
    best, compiled = float("inf"), 0.0
    for number in range(repeat):
        started = time.process_time()
        search = StateSearch(network, symmetry=symmetry, memory_bytes=DEFAULT_MEMORY_BYTES)
        ready = time.process_time()
        found = search.run(None)
        best = min(best, time.process_time() - ready)
        compiled = ready - started if number == 0 else compiled
    if not found.complete:
        raise SystemExit(f"{name} with {peers} peers does not fit into {DEFAULT_MEMORY_BYTES} bytes")
    return {
        "states": found.states,
        "transitions": found.transitions,
        "orbits": found.orbits,
        "cpu_s": round(best, 3),
        "ready_s": round(compiled, 2),
        "states_mb": round(found.memory_bytes / 1e6, 1),
        "process_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, 1),
    }


def apart(options: argparse.Namespace, symmetry: bool) -> dict[str, Any]:
    """`searched` in processes of their own: one that compiles, and one that loads what the first left."""
    with tempfile.TemporaryDirectory(prefix="quidnunc-bench-") as folder:
        environment = {**os.environ, "QUIDNUNC_CACHE": folder}
        cold = _child(options, symmetry, 1, environment)
        warm = _child(options, symmetry, options.repeat, environment)
    load_s = warm.pop("ready_s")
    return {**warm, "compile_s": cold["ready_s"], "load_s": load_s}


def _child(
    options: argparse.Namespace, symmetry: bool, repeat: int, environment: dict[str, str]
) -> dict[str, Any]:
    call = (options.network, options.peers, options.d_high, symmetry, repeat)
    script = f"import json; from explore import searched; print(json.dumps(searched(*{call!r})))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=sys.path[0], env=environment
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def spin(options: argparse.Namespace, result: dict[str, Any]) -> float | None:
    """Enter Spin's searches into `result`; the least CPU time among them."""
    reason = network_spin.missing()
    if reason:
        result["spin"] = reason
        return None
    times = []
    for way in options.ways:
        run = network_spin.count(
            options.network, peers=options.peers, d_high=options.d_high, way=way, hash_bits=24
        )
        times.append(run.cpu_seconds)
        result[f"spin, {way}"] = {
            "states": run.states,
            "transitions": run.transitions,
            "complete": run.complete,
            "cpu_s": round(run.cpu_seconds, 3),
            "compile_s": round(run.compile_seconds, 2),
            "process_mb": round(run.peak_bytes / 1e6, 1),
        }
    return min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", default="mesh-link")
    parser.add_argument("--peers", type=int, default=3)
    parser.add_argument("--d-high", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--ways", nargs="*", choices=list(network_spin.WAYS), default=list(network_spin.WAYS))
    options = parser.parse_args()
    result: dict[str, Any] = {
        "network": f"{options.network}, {options.peers} peers, D_high {options.d_high}",
        "python": platform.python_version(),
        "compiled": apart(options, False),
        "compiled, symmetric": apart(options, True),
    }
    least = spin(options, result) if options.ways else None
    for name, figures in result.items():
        if least and name.startswith("compiled"):
            figures["times_spin"] = round(least / figures["cpu_s"], 1)
        if isinstance(figures, dict) and (figures["states"], figures["transitions"]) != (
            result["compiled"]["states"],
            result["compiled"]["transitions"],
        ):
            print(f"{name} counted otherwise: one of the two is wrong", file=sys.stderr)
            return 1
    print(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
