"""Play handler vectors of a leanSpec checkout on the model and on a router.

    python -m tools.leanspec FIXTURES... [--against ROUTER] [--json]

FIXTURES are JSON files, or folders of them: what leanSpec's own `fill` command writes, for example
`uv run fill --fork=Lstar --clean tests/consensus/lstar/networking` in a checkout (Python 3.12). Exit code: 0
where all agree, 1 where one differs, 2 where there is none, 4 where the router cannot be driven.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from attrs import asdict

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import AdapterError
from quidnunc.model.errors import CaseError
from quidnunc.properties.search.worker import hello_of
from tools.leanspec.vectors import (
    FORM,
    PROTOCOL,
    LeanSpecVector,
    VectorResult,
    files_of,
    read,
    run_vector,
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.leanspec",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("fixtures", nargs="+", type=Path, metavar="FIXTURES")
    parser.add_argument("--against", default="ours", metavar="ROUTER", help="a name of `quidnunc routers`")
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    asked = parser.parse_args(arguments)
    try:
        vectors = _read(asked.fixtures)
        hello_of(asked.against, PROTOCOL)
    except AdapterError as error:
        print(error, file=sys.stderr)
        return 4
    except (CaseError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    try:
        results = _played(vectors, asked.against)
    except AdapterError as error:
        print(error, file=sys.stderr)
        return 4
    if asked.json:
        print(json.dumps({"schema": 1, "against": asked.against, "vectors": [asdict(r) for r in results]}))
    else:
        _report(results, asked.against)
    return 1 if any(r.model or r.router for r in results) else 0


def _read(paths: Sequence[Path]) -> list[LeanSpecVector]:
    """All vectors of these files and folders. Raises CaseError, and where there is none."""
    try:
        vectors = [each for path in files_of(paths) for each in read(path)]
    except OSError as error:
        raise CaseError(f"{error.filename}: {error.strerror}: name a folder that `fill` wrote") from None
    if not vectors:
        raise CaseError(f"no {FORM} in {', '.join(map(str, paths))}: let `fill` write them")
    return vectors


def _played(vectors: Sequence[LeanSpecVector], against: str) -> list[VectorResult]:
    return [run_vector(each, lambda config: open_router(against, config)) for each in vectors]


def _report(results: Sequence[VectorResult], against: str) -> None:
    for each in results:
        if each.not_played:
            print(f"{each.name}: not played: {each.not_played}")
            continue
        said = [f"{who} {'differs' if lines else 'agrees'}" for who, lines in _sides(each, against)]
        print(f"{each.name}: {', '.join(said)}" + (f" ({each.played_with})" if each.played_with else ""))
        for who, lines in _sides(each, against):
            for line in lines:
                print(f"  {who}: {line}")
    played = [r for r in results if not r.not_played]
    print(
        f"{len(results)} vectors, {len(played)} played: the model agrees with "
        f"{sum(not r.model for r in played)}, {against} with {sum(not r.router for r in played)}"
    )


def _sides(result: VectorResult, against: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ("the model", result.model), (against, result.router)


if __name__ == "__main__":
    sys.exit(main())
