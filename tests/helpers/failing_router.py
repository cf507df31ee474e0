"""Our router, but that its process ends with the third RPC that carries a message."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from quidnunc.impl.ours.pubsub import open_ours
from quidnunc.impl.seam import AdapterError, Config, Driver, Reply
from quidnunc.impl.wire import wire_pb2 as wire


class Failing:
    """The driver of ours, with one request of it replaced."""

    def __init__(self, driver: Driver) -> None:
        self._driver, self._left = driver, 3
        self.hello = driver.hello

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    def rpc(self, peer: int, data: bytes, channel: int = 0) -> Reply:
        self._left -= bool(wire.RPC.FromString(data).publish)
        if self._left:
            return self._driver.rpc(peer, data, channel)
        return Reply(crashed="RuntimeError: enough")


def open_it(config: Config) -> Failing:
    return Failing(open_ours(config))


def open_stranger(config: Config) -> Failing:
    """One that does not say that it can be another peer than 0."""
    made = open_it(config)
    made.hello = evolve(made.hello, capabilities=made.hello.capabilities - {"identity"})
    return made


class BreakingDriver(Failing):
    """A driver that breaks with the third RPC that carries a message."""

    def rpc(self, peer: int, data: bytes, channel: int = 0) -> Reply:
        reply = super().rpc(peer, data, channel)
        if reply.crashed:
            raise AdapterError("its line is not JSON: 'DEBUG publishing'")
        return reply


def open_broken(config: Config) -> BreakingDriver:
    """One whose driver breaks."""
    return BreakingDriver(open_ours(config, mutant="cut-never"))


def open_crashing(config: Config) -> Failing:
    """One whose process ends with the first RPC that carries a message."""
    made = Failing(open_ours(config))
    made._left = 1
    return made
