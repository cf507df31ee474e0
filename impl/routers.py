"""Every router that can be put under test, by name, and why the others cannot."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Literal, TypeAlias

from attrs import frozen

from quidnunc.impl.mutant import Mutant
from quidnunc.impl.seam import AdapterError, Config, Driver

Kind: TypeAlias = Literal["ours", "mutant", "reading", "adapter", "release", "external"]

WITHOUT_ADAPTER = ("js-libp2p", "go-libp2p-pubsub", "rust-libp2p", "jvm-libp2p", "cometbft")

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
    return (ours, *mutants, *readings, _py_libp2p(), *_releases(), *missing, *external)


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
    if spec.startswith("py-libp2p@"):
        from quidnunc.impl.drivers.py_libp2p.builds import open_release

        return open_release(spec.partition("@")[2], config)
    if name == "exec":
        from quidnunc.impl.seam.sidecar import open_exec

        return open_exec(rest, config)
    if name == "python":
        from quidnunc.impl.drivers.python import open_python

        return open_python(rest, config)
    if spec in WITHOUT_ADAPTER:
        raise AdapterError(
            f"{spec} has no adapter yet; write one as docs/adapters.md says and give it to exec:"
        )
    names = ("ours", "ours:MUTANT", "py-libp2p", "py-libp2p@VERSION", *WITHOUT_ADAPTER, *EXTERNAL)
    raise ValueError(f"no router {spec!r}: there are {', '.join(names)}")


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
    """Build a release, `py-libp2p@0.2.8`, where it is not built yet; the folder that it is in.

    Raises ValueError for a name that is no release's, AdapterError where it cannot be built here.
    """
    from quidnunc.impl.drivers.py_libp2p.builds import NAME, build, release_named

    router, _, version = name.partition("@")
    if router != NAME:
        raise ValueError(
            f"{name!r} cannot be built: write {NAME}@VERSION; `quidnunc routers --all` lists them"
        )
    release = release_named(version)
    if release.record is None:
        build(version, progress)
    return str(release.folder)


def _releases() -> tuple[RouterInfo, ...]:
    from quidnunc.impl.drivers.py_libp2p.builds import releases

    listed = []
    for each in releases():
        built = each.record is not None
        reason = "" if built else f"not built here; to build it: {each.command}"
        info = RouterInfo(
            name=each.name, kind="release", version=each.version, available=built, reason=reason
        )
        listed.append(info)
    return tuple(listed)


def _version() -> str:
    try:
        return metadata.version("quidnunc")
    except metadata.PackageNotFoundError:
        return ""
