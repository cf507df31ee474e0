"""Claims that no search of one router decides: a test holds them, or a search of a network.

Each says by what. A test is named with its file in the repository, and has a planted error beside it under
which it must fail (tests/properties/claims/test_elsewhere.py); a network is one of `quidnunc explore`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

TESTS = "tests/properties/claims/test_elsewhere.py"
TESTS_OF_ROUTERS = "tests/properties/claims/test_elsewhere_routers.py"
TESTS_OF_PARTS = "tests/properties/claims/test_elsewhere_parts.py"


@frozen
class ConstructionClaim:
    """What holds of the construction: of parameters, of an application, of a network of our own."""

    id: str
    says: str
    clauses: tuple[str, ...]
    network: str = ""
    """The network of `quidnunc explore` whose claim it is; empty where a test holds it."""
    file: str = TESTS
    """The file of that test."""

    @property
    def test(self) -> str:
        """The function that holds it; empty where a network does."""
        return "" if self.network else f"test_{self.id.replace('.', '_').replace('-', '_')}"

    @property
    def by(self) -> str:
        """What decides it, as one would ask for it."""
        return f"quidnunc explore {self.network}" if self.network else f"{self.file}::{self.test}"


def _read() -> dict[str, ConstructionClaim]:
    path = Path(__file__).parent / "elsewhere.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    files = {"routers": TESTS_OF_ROUTERS, "applications": TESTS_OF_PARTS}
    return {
        each["id"]: ConstructionClaim(
            each["id"], each["says"], tuple(each["clauses"]), each.get("network", ""), files.get(about, TESTS)
        )
        for about, claims in tables.items()
        for each in claims
    }


HELD: Mapping[str, ConstructionClaim] = _read()
"""By id."""
