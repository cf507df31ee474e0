"""quidnunc: a compatibility kit for gossip routers. See `quidnunc --help`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from quidnunc.impl.seam import Config

__version__ = "0.1.0"


def conforms(
    router: Callable[[Config], object] | str,
    *,
    protocol: str,
    runs: int | None = None,
    seed: int = 0,
    profile: Literal["shipped", "spec"] = "shipped",
    strict: bool = False,
    known: Mapping[str, str] | None = None,
) -> Callable[..., None]:
    """A test for pytest that asks of a router every claim of a protocol, one test for each claim.

    `test_router = quidnunc.conforms(open_router, protocol="gossipsub-1.2")` in a test module is all. `router`
    makes a `quidnunc.impl.seam.Driver` of a `Config`, or is a name of `quidnunc routers`. The claims share
    one search of `runs` runs (`max_examples` of Hypothesis), and what Hypothesis's database holds of earlier
    ones comes first. A claim passes where no counterexample was found, and is skipped where it never applied.
    `strict`: a deviation from advice fails, too. `known`: claim -> why it is expected to fail; it fails the
    test run as soon as it does not. Raises SpecError for an unknown protocol, ValueError for a claim in
    `known` that the protocol lacks.
    """
    # By its name: everything imports this module, and only a test needs that one.
    made: Callable[..., None] = import_module("quidnunc.conformance").claim_test(
        router, protocol=protocol, runs=runs, seed=seed, profile=profile, strict=strict, known=known or {}
    )
    return made
