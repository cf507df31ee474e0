"""What the suite has found before in releases of routers.

An explanation is a hypothesis, tested in some ninety fresh runs of the router. Of a release that was tested
so, the outcome is known. The suite tries it first, and is content with the runs around the minimal one.

That holds of just the same code: fewer runs do not tell a bug from one that is like it. So a release is known
by the name of the kit's own driver and its version, and where it is a package of this environment also by its
sources.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from attrs import frozen

from quidnunc.impl.seam import Hello
from quidnunc.properties.tables import table

PACKAGES: Mapping[str, tuple[str, str]] = {"py-libp2p": ("libp2p", "pubsub")}
"""Router -> the package of this environment, and the part of it, that is tested."""


@frozen
class ReleaseCauses:
    """What is known of one release."""

    router: str
    version: str
    causes: tuple[str, ...]
    """Names of edits, each of which explained a case of the suite. Some are of one protocol alone."""
    sources: str = ""
    """Digest of its sources, where these are in this environment."""


def known_causes(against: str, hello: Hello) -> tuple[str, ...]:
    """Names of edits that explain cases of just this release; empty of any other router."""
    name, _, version = against.partition("@")
    # A release that is named is opened in an environment of its own, where its sources are not those of ours.
    router = name if version == hello.version and name not in PACKAGES else against
    known = known_of().get((router, hello.version))
    return known.causes if known is not None and known.sources == sources_of(router) else ()


@cache
def known_of() -> Mapping[tuple[str, str], ReleaseCauses]:
    """Name and version of a router -> what is known of it."""
    rows = table("properties.suite", "known.toml")["known"]
    found = (
        ReleaseCauses(row["router"], row["version"], tuple(row["causes"]), row.get("sources", ""))
        for row in rows
    )
    return {(each.router, each.version): each for each in found}


@cache
def sources_of(router: str) -> str:
    """Digest of the sources of a router that is a package of this environment; empty for others."""
    if router not in PACKAGES:
        return ""
    package, part = PACKAGES[router]
    spec, digest = find_spec(package), hashlib.sha256()
    for root in spec.submodule_search_locations or () if spec is not None else ():
        for path in sorted((Path(root) / part).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
