"""The driver of go-libp2p-pubsub on hosts of go-libp2p that are no fakes: `python -m tools.simulated_hosts`.

The router's host and one for each peer are made by go-libp2p, and speak QUIC over the simulator that the
library's own tests use. All of it is in one bubble of testing/synctest, so that time is virtual as it is in
the driver. The command compiles it into the cache and prints how it is named, so that

    quidnunc replay counterexamples/routers/go-libp2p-pubsub --against "$(python -m tools.simulated_hosts)"

says which findings owe nothing to the driver's fake host. Dials of the router's own accord are noted and not
made; a peer that does not read is not simulated. `go.mod` and `go.sum` lock what it is compiled with.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from quidnunc.impl.drivers.builds import Release
from quidnunc.impl.drivers.go_builds import DRIVER, compile_driver, digest_of
from quidnunc.impl.drivers.go_libp2p import builds
from quidnunc.impl.seam import AdapterError

FOLDER = Path(__file__).parent


def files() -> tuple[Path, ...]:
    """The driver's own, but for its host."""
    source = builds.FOLDER / "source"
    kept = [source / name for name in (*builds.COMMON, "extended.go") if name != "host.go"]
    return (*kept, *(FOLDER / name for name in ("host.go", "edits.toml")))


def lock() -> tuple[Path, Path]:
    return FOLDER / "go.mod", FOLDER / "go.sum"


def release() -> Release:
    """The build, whether it is there or not."""
    return Release(builds.NAME, f"{builds.DEFAULT}-simulated", digest_of((*files(), *lock())))


def missing() -> str:
    """Go, where it is not on the PATH."""
    return builds.missing(builds.DEFAULT)


def built(progress: Callable[[str], None]) -> str:
    """How the command line names it, compiled if it is not there. Raises AdapterError."""
    made = release()
    if made.record is None:
        compile_driver(made, files(), lock(), progress)
    return f"exec:{shlex.quote(str(made.folder / DRIVER))}"


def main() -> int:
    if lacking := missing():
        print(lacking, file=sys.stderr)
        return 2
    try:
        print(built(lambda line: print(line, file=sys.stderr)))
    except AdapterError as error:
        print(error, file=sys.stderr)
        return 4
    return 0
