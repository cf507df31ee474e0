"""What the tests of the js-libp2p driver share: the release that they need, and open drivers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from quidnunc.impl.drivers.js_libp2p import builds
from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import Config, Driver, Profile
from quidnunc.impl.seam.sidecar import close_parked
from quidnunc.model.parameters import Parameters


def reason_absent() -> str:
    """Why the default release cannot be tested here, and what to do; empty where it can."""
    if lacking := builds.missing(builds.DEFAULT):
        return lacking
    release = builds.release_named(builds.DEFAULT)
    return "" if release.record else f"{release.name} is not built here: {release.command}"


needs_js_libp2p = pytest.mark.skipif(bool(reason_absent()), reason=reason_absent() or "it is there")


class OpenJs:
    """Opens drivers and closes them at the end of a test."""

    def __init__(self) -> None:
        self.drivers: list[Driver] = []

    def __call__(
        self,
        *,
        seed: int = 0,
        protocol: str = "gossipsub-1.2",
        profile: Profile = "spec",
        without: tuple[str, ...] = (),
        **p: object,
    ) -> Driver:
        parameters = Parameters(**p)  # type: ignore[arg-type]
        config = Config(seed=seed, protocol=protocol, parameters=parameters, profile=profile, without=without)
        driver = open_router(builds.NAME, config)
        self.drivers.append(driver)
        return driver


def opening() -> Iterator[OpenJs]:
    """For a fixture: opens drivers, and closes them at the end of the test."""
    opened = OpenJs()
    yield opened
    for driver in opened.drivers:
        driver.close()
    close_parked()
