"""Writes the root causes that the suite finds in released routers, which it then tries first.

`python -m tools.known_causes [ROUTER ...]`; without names those below. Of these nothing is known at first;
then the suite is played again with what it has found. Of other routers what is known stays.

`python -m tools.known_causes --foreign 12 --seed 1` plays the suite against so many planted bugs, each with
and without all that is known of released routers, and says where that changes a root cause.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve

from quidnunc.impl.routers import mutants_by_name
from quidnunc.properties.mutants import protocol_of_mutant
from quidnunc.properties.search.worker import opener_of
from quidnunc.properties.suite.known import ReleaseCauses, known_of, sources_of
from quidnunc.properties.suite.run import run_suite

FILE = Path("properties/suite/known.toml")
PROTOCOLS = {
    "js-libp2p": "gossipsub-1.2",
    "go-libp2p-pubsub": "gossipsub-1.2",
    "py-libp2p": "gossipsub-1.2",
    "cometbft": "dog",
}
FOREIGN_IN = "gossipsub-1.2"
HEAD = (
    "# Root causes that the suite found in released routers, by `python -m tools.known_causes`. Run that\n"
    "# again where the suite, a driver or an operator changes.\n"
)


def found_in(router: str, known: Sequence[str] = ()) -> ReleaseCauses:
    """What the suite finds in one router."""
    campaign = run_suite(PROTOCOLS[router], router, known=known)
    kinds = ("unexplained", "addition")
    causes = {root.quirk for root in campaign.roots.values() if root.kind not in kinds}
    return ReleaseCauses(router, campaign.version, tuple(sorted(causes)), sources_of(router))


def together(first: ReleaseCauses, again: ReleaseCauses) -> ReleaseCauses:
    """The causes of both: what comes into force early may hide others, and is another one each time."""
    return evolve(again, causes=tuple(sorted({*first.causes, *again.causes})))


def written(rows: Sequence[ReleaseCauses]) -> str:
    lines = [HEAD]
    for row in sorted(rows, key=lambda row: row.router):
        lines += ["[[known]]", f'router = "{row.router}"', f'version = "{row.version}"']
        lines += [f'sources = "{row.sources}"'] if row.sources else []
        lines += ["causes = ["]
        lines += [*(f'    "{cause}",' for cause in row.causes), "]", ""]
    return "\n".join(lines if rows else [HEAD, "known = []", ""])


def changed_by_foreign(name: str) -> set[str]:
    """The root causes of a planted bug that it has with all that is known of others alone, or without."""
    every = tuple(dict.fromkeys(cause for each in known_of().values() for cause in each.causes))
    against, told = f"ours:{name}", list[set[str]]()
    for known in ((), every):
        campaign = run_suite(FOREIGN_IN, against, opener=opener_of(against), known=known)
        told.append({root.quirk for root in campaign.roots.values()})
    return told[0] ^ told[1]


def tried_with_foreign(count: int, seed: int) -> int:
    """How many of `count` planted bugs have another root cause then."""
    named = [n for n, mutant in sorted(mutants_by_name().items()) if protocol_of_mutant(mutant) == FOREIGN_IN]
    changed = 0
    for name in random.Random(seed).sample(named, count):
        other = changed_by_foreign(name)
        changed += bool(other)
        print(f"{name}: {', '.join(sorted(other)) or 'the same'}", flush=True)
    print(f"{changed} of {count} planted bugs have another root cause with what is known of released routers")
    return changed


def main() -> int:
    """Exit status: 1 where something foreign is told of a planted bug, else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("routers", nargs="*", metavar="ROUTER", default=[*PROTOCOLS])
    parser.add_argument("--foreign", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.foreign:
        return min(1, tried_with_foreign(given.foreign, given.seed))
    wanted = given.routers
    rows = [row for row in known_of().values() if row.router not in wanted]
    for router in wanted:
        print(f"the suite against {router}", file=sys.stderr)
        first = found_in(router)
        rows.append(together(first, found_in(router, first.causes)))
        FILE.write_text(written(rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
