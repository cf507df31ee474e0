"""Every router that can be put under test, by name, and why the others cannot."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Literal, Protocol, TypeAlias

from attrs import frozen

from quidnunc.impl.drivers.builds import Release
from quidnunc.impl.mutant import Mutant
from quidnunc.impl.seam import AdapterError, Config, Driver

Kind: TypeAlias = Literal["ours", "mutant", "reading", "adapter", "release", "external"]

WITHOUT_ADAPTER = ("rust-libp2p", "jvm-libp2p")
"""Routers that a driver is still to be written for."""

EXTERNAL = ("exec:COMMAND", "python:MODULE:FACTORY")


@frozen(kw_only=True)
class RouterInfo:
    """One line of `quidnunc routers`."""

    name: str
    kind: Kind
    version: str = ""
    available: bool = True
    reason: str = ""
    """Why it is not available and what to do about it, or what it is."""


class BuiltRouter(Protocol):
    """The module `builds` of a driver package: one router that others release, and its releases."""

    NAME: str
    DEFAULT: str
    """The release that the bare name stands for; empty where that is the one installed beside this kit."""

    def releases(self) -> tuple[Release, ...]:
        """Every release that can be built, the oldest first."""
        ...

    def release_named(self, version: str) -> Release:
        """Raises ValueError, with those that there are."""
        ...

    def open_release(self, version: str, config: Config) -> Driver:
        """A router of that release. Raises ValueError, NotBuiltError, AdapterError."""
        ...

    def build(self, version: str, progress: Callable[[str], None]) -> Release:
        """Raises ValueError for an unknown release, AdapterError where it cannot be built here."""
        ...

    def missing(self, version: str) -> str:
        """What this release cannot be built without and is not here, and what to install; else empty."""
        ...


def built_routers() -> Mapping[str, BuiltRouter]:
    """The routers whose releases this kit can build, by name. A driver of another one adds its row here."""
    from quidnunc.impl.drivers.cometbft import builds as cometbft
    from quidnunc.impl.drivers.go_libp2p import builds as go_libp2p
    from quidnunc.impl.drivers.js_libp2p import builds as js_libp2p
    from quidnunc.impl.drivers.py_libp2p import builds as py_libp2p

    rows: tuple[BuiltRouter, ...] = (py_libp2p, js_libp2p, go_libp2p, cometbft)
    return {row.NAME: row for row in rows}


def available() -> tuple[RouterInfo, ...]:
    """Ours, its mutants and readings, the adapters of this kit, releases that can be built, and the two ways
    to bring one's own."""
    version = _version()
    ours = RouterInfo(name="ours", kind="ours", version=version, reason="this kit's own routers")
    mutants = tuple(
        RouterInfo(name=f"ours:{name}", kind="mutant", version=version, reason=mutant.summary)
        for name, mutant in sorted(mutants_by_name().items())
    )
    readings = tuple(
        RouterInfo(name=f"ours:{name}", kind="reading", version=version, reason=reading.summary)
        for name, reading in sorted(readings_by_name().items())
    )
    missing = tuple(
        RouterInfo(
            name=name, kind="adapter", available=False, reason="no adapter yet; exec: takes one of yours"
        )
        for name in WITHOUT_ADAPTER
    )
    external = tuple(
        RouterInfo(name=name, kind="external", reason="a router of your own: docs/adapters.md")
        for name in EXTERNAL
    )
    built = [info for router in built_routers().values() for info in _listed(router)]
    return (ours, *mutants, *readings, _py_libp2p(), *built, *missing, *external)


def open_router(spec: str, config: Config) -> Driver:
    """A started router. `spec` is a name of `available`, with the words in capitals filled in.

    Raises ValueError for a name that does not exist, with the nearest ones; NotBuiltError for a release that
    has to be built first; AdapterError where the router exists and cannot run here, or not under `config`.
    """
    name, _, rest = spec.partition(":")
    if spec == "ours" or (name == "ours" and (rest in mutants_by_name() or rest in readings_by_name())):
        from quidnunc.impl.ours.pubsub import open_ours

        return open_ours(config, mutant=rest or None)
    if name == "ours":
        known = (*mutants_by_name(), *readings_by_name())
        near = ", ".join(f"ours:{each}" for each in difflib.get_close_matches(rest, known, 3))
        hint = f"did you mean {near}? " if near else ""
        raise ValueError(f"no mutant {rest!r} of ours; {hint}`quidnunc routers --all` lists them")
    if spec == "py-libp2p":
        from quidnunc.impl.drivers.py_libp2p.driver import open_py_libp2p

        return open_py_libp2p(config)
    router, at, version = spec.partition("@")
    released = built_routers().get(router)
    if released is not None and (at or released.DEFAULT):
        return released.open_release(version if at else released.DEFAULT, config)
    if name == "exec":
        from quidnunc.impl.seam.sidecar import open_exec

        if not rest.strip():
            raise ValueError("exec: no command given; write exec:COMMAND, say 'exec:node driver.mjs'")
        return open_exec(rest, config)
    if name == "python":
        from quidnunc.impl.drivers.python import open_python

        return open_python(rest, config)
    if spec in WITHOUT_ADAPTER:
        raise AdapterError(
            f"{spec} has no adapter yet; write one as docs/adapters.md says and give it to exec:"
        )
    theirs = [each for router in built_routers() for each in (router, f"{router}@VERSION")]
    names = ("ours", "ours:MUTANT", *theirs, *WITHOUT_ADAPTER, *EXTERNAL)
    raise ValueError(f"no router {spec!r}: there are {', '.join(names)}")


def open_factory(factory: Callable[[Config], object], config: Config, name: str) -> Driver:
    """A router that a function of the user's makes, here; `name` stands in messages. Raises AdapterError."""
    from quidnunc.impl.drivers.python import opened

    code = getattr(factory, "__code__", None)
    return opened(factory, config, name, code.co_filename if code is not None else "")


def mutants_by_name() -> Mapping[str, Mutant]:
    """The planted departures of our routers, pubsub and mempool."""
    from quidnunc.impl.mutants.cat import CAT_MUTANTS
    from quidnunc.impl.mutants.dog import DOG_MUTANTS
    from quidnunc.impl.mutants.peer_limit import PEER_LIMIT_MUTANTS
    from quidnunc.impl.mutants.pubsub import MUTANTS
    from quidnunc.impl.ours.dog_variants import VARIANT_MUTANTS

    return {**MUTANTS, **DOG_MUTANTS, **CAT_MUTANTS, **PEER_LIMIT_MUTANTS, **VARIANT_MUTANTS}


def readings_by_name() -> Mapping[str, Mutant]:
    """Other readings of ambiguous texts that our pubsub router can be given. None is a planted departure."""
    from quidnunc.impl.ours.readings import READINGS_OF_OURS

    return READINGS_OF_OURS


def _py_libp2p() -> RouterInfo:
    from quidnunc.impl.drivers.py_libp2p.release import installed_version, reason_unavailable

    reason = reason_unavailable()
    return RouterInfo(
        name="py-libp2p", kind="adapter", version=installed_version(), available=not reason, reason=reason
    )


def build_release(name: str, progress: Callable[[str], None]) -> str:
    """Build a release, `py-libp2p@0.2.8`, where it is not built yet; the folder that it is in. A router's
    name alone is its default release.

    Raises ValueError for a name that is no release's, AdapterError where it cannot be built here.
    """
    name_of_router, _, version = name.partition("@")
    router = built_routers().get(name_of_router)
    if router is None or not (version or router.DEFAULT):
        ways = (f"{each.NAME}{'[@VERSION]' if each.DEFAULT else '@VERSION'}" for each in _rows(router))
        raise ValueError(
            f"{name!r} cannot be built: write {' or '.join(ways)}; `quidnunc routers --all` lists them"
        )
    release = router.release_named(version or router.DEFAULT)
    if release.record is None:
        if lacking := router.missing(release.version):
            raise AdapterError(f"{release.name} cannot be built here: {lacking}")
        router.build(release.version, progress)
    return str(release.folder)


def _rows(router: BuiltRouter | None) -> tuple[BuiltRouter, ...]:
    return (router,) if router else tuple(built_routers().values())


def _listed(router: BuiltRouter) -> list[RouterInfo]:
    """Its releases, and before them the one that its bare name stands for."""
    releases = router.releases()
    rows = [_info(router, each, each.name, "release") for each in releases]
    if router.DEFAULT:
        default = router.release_named(router.DEFAULT)
        return [_info(router, default, router.NAME, "adapter"), *rows]
    return rows


def _info(router: BuiltRouter, release: Release, name: str, kind: Kind) -> RouterInfo:
    built = release.record is not None
    reason = "" if built else f"not built here; to build it: {release.command}"
    if not built and (lacking := router.missing(release.version)):
        reason = f"not built here: {lacking}; then {release.command}"
    return RouterInfo(name=name, kind=kind, version=release.version, available=built, reason=reason)


def _version() -> str:
    try:
        return metadata.version("quidnunc")
    except metadata.PackageNotFoundError:
        return ""
