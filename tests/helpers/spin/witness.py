"""Spin as an independent witness: a Promela model of mesh links written by hand, and the counts it gives.

The model (`mesh_link.pml`) was written from the protocol's words and shares nothing with the rules in
z3. Spin counts one transition more than the explorer does, that into the first state.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from attrs import frozen

from quidnunc.properties.proofs.mesh.links import VARIANTS

MODEL = Path(__file__).with_name("mesh_link.pml")
MAX_PEERS = 3
DEPTH = 6_000_000
"""The longest path that a depth-first search may follow; three peers without backoff need 3.6 million."""
SPIN_TRANSITION = 1

Way: TypeAlias = Literal[
    "breadth-first", "depth-first", "depth-first, collapsed", "breadth-first, uncompressed"
]

WAYS: dict[Way, tuple[str, ...]] = {
    "breadth-first": ("-DBFS",),
    "breadth-first, uncompressed": ("-DBFS", "-DNOCOMP"),
    "depth-first": (),
    "depth-first, collapsed": ("-DCOLLAPSE",),
}
"""Exact searches of Spin and their compiler flags. Lossy ones (bitstate, hash-compact) are no comparison."""


class SpinError(Exception):
    """Spin or the C compiler failed; the message is what it said."""


@frozen(kw_only=True)
class SpinRun:
    """What one search of Spin counted and took."""

    states: int
    transitions: int
    """As the explorer counts them: Spin's number less one."""
    complete: bool
    cpu_seconds: float
    """Of the search alone, without the time of the compiler."""
    compile_seconds: float
    peak_bytes: int


def missing() -> str | None:
    """Why Spin cannot be run here, or None where it can."""
    absent = [name for name in ("spin", "gcc") if shutil.which(name) is None]
    return f"{' and '.join(absent)} not installed (Debian packages spin and gcc)" if absent else None


def defines(name: str, *, peers: int, d_high: int) -> list[str]:
    """The definitions that make the model one of `VARIANTS`. Raises SpinError where it has no such size."""
    variant = VARIANTS[name]
    if not 2 <= peers <= MAX_PEERS:
        raise SpinError(f"the Promela model has 2 or {MAX_PEERS} peers, not {peers}")
    if variant.announced:
        raise SpinError(f"the Promela model has no join announcements, which {name} needs")
    switches = {
        "BACKOFF": variant.backoff,
        "ANY": variant.expires_in_flight,
        "SILENT": variant.silent,
        "UNSUB": variant.unsub,
    }
    return [f"-DN={peers}", f"-DD_HIGH={d_high}", *(f"-D{key}" for key, on in switches.items() if on)]


def count(
    name: str,
    *,
    peers: int,
    d_high: int,
    way: Way = "breadth-first",
    hash_bits: int = 20,
    optimised: bool = True,
    timeout_s: float = 600,
) -> SpinRun:
    """Search one of `VARIANTS` with Spin, with a hash table of 2**`hash_bits` places.

    Not `optimised`, the C compiler is done sooner and the search later. Raises SpinError.
    """
    with tempfile.TemporaryDirectory(prefix="quidnunc-spin-") as folder:
        _run(["spin", "-a", *defines(name, peers=peers, d_high=d_high), str(MODEL)], folder, timeout_s)
        fast = "-O3" if optimised else "-O0"
        flags = [fast, "-w", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DNOBOUNDCHECK", *WAYS[way]]
        _, compile_seconds, _ = _run(["gcc", *flags, "-o", "pan", "pan.c"], folder, timeout_s)
        depth = [] if "-DBFS" in flags else [f"-m{DEPTH}"]
        # An end state in which nothing is enabled is no error here: the explorer counts those by itself.
        command = ["./pan", "-E", f"-w{hash_bits}", *depth]
        said, cpu_seconds, peak_bytes = _run(command, folder, timeout_s)
    return parsed_report(said, cpu_seconds, compile_seconds, peak_bytes)


def parsed_report(said: str, cpu_seconds: float, compile_seconds: float, peak_bytes: int) -> SpinRun:
    """The counts in a report of Spin. Raises SpinError where it reports none."""
    states = re.search(r"^\s*(\d+) states, stored", said, re.M)
    transitions = re.search(r"^\s*(\d+) transitions \(= stored\+matched\)", said, re.M)
    if not states or not transitions:
        raise SpinError(f"Spin reported no counts: {said.strip()[-300:]}")
    cut = re.search(r"max search depth too small|Search not completed|out of memory|VECTORSZ", said)
    return SpinRun(
        states=int(states[1]),
        transitions=int(transitions[1]) - SPIN_TRANSITION,
        complete=cut is None,
        cpu_seconds=cpu_seconds,
        compile_seconds=compile_seconds,
        peak_bytes=peak_bytes,
    )


_MEASURED = """\
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
sys.stdout.buffer.write(done.stdout)
print(f"\\nmeasured {used.ru_utime + used.ru_stime} {used.ru_maxrss} {done.returncode}")
"""
"""A process that runs one command and says what it used, so that other children of ours are not counted."""


def _run(command: Sequence[str], folder: str | Path, timeout_s: float) -> tuple[str, float, int]:
    """(output, CPU seconds, peak bytes) of a command. Raises SpinError where it fails or takes too long."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _MEASURED, *command],
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired:
        raise SpinError(f"{command[0]} took more than {timeout_s:g} s") from None
    said, found, tail = done.stdout.rpartition("\nmeasured ")
    if not found:
        raise SpinError(f"{command[0]} could not be run: {done.stderr.strip()[-300:]}")
    cpu_seconds, peak_kb, code = tail.split()
    if int(code):
        raise SpinError(f"{command[0]} failed with {code}: {said.strip()[-300:]}")
    return said, float(cpu_seconds), int(peak_kb) * 1024
