"""The requests of the seam, as JSON has them, on a driver in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from quidnunc.impl.seam import AdapterError, AddressedDriver, Driver, PartialDriver, Reply
from quidnunc.impl.seam.partial_json import decisions_of, feedback_kind
from quidnunc.impl.seam.sidecar_json import bytes_of


def _need(request: Mapping[str, Any], name: str, kind: type) -> Any:
    value = request.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise AdapterError(f"{request.get('op')}: need {name!r} as {kind.__name__}, got {value!r}"[:200])
    return value


def _bytes(request: Mapping[str, Any], name: str) -> bytes:
    return bytes_of(request.get(name), f"{request.get('op')}.{name}")


def _partial(driver: Driver) -> PartialDriver:
    if "partial" not in driver.hello.capabilities:
        raise AdapterError(
            f"{driver.hello.name} has no partial messages: it does not say that it can `partial`"
        )
    return cast("PartialDriver", driver)


Request = Mapping[str, Any]

REQUESTS: Mapping[str, Callable[[Driver, Request], Reply]] = {
    "connect": lambda d, r: _connect(d, r),
    "disconnect": lambda d, r: d.disconnect(_need(r, "peer", int)),
    "stall": lambda d, r: d.stall(_need(r, "peer", int)),
    "resume": lambda d, r: d.resume(_need(r, "peer", int)),
    "rpc": lambda d, r: d.rpc(_need(r, "peer", int), _bytes(r, "data"), _need(r, "channel", int)),
    "raw": lambda d, r: d.raw(_need(r, "peer", int), _bytes(r, "data")),
    "join": lambda d, r: d.join(_need(r, "topic", str)),
    "join_partial": lambda d, r: _partial(d).join_partial(
        _need(r, "topic", str), _need(r, "requests", bool), _need(r, "supports", bool)
    ),
    "publish_partial": lambda d, r: _partial(d).publish_partial(
        _need(r, "topic", str), _bytes(r, "group"), decisions_of(r.get("decisions"), bytes_of)
    ),
    "feedback": lambda d, r: _partial(d).feedback(
        _need(r, "topic", str), _need(r, "peer", int), feedback_kind(r.get("kind"))
    ),
    "leave": lambda d, r: d.leave(_need(r, "topic", str)),
    "publish": lambda d, r: d.publish(_need(r, "topic", str), _bytes(r, "data")),
    "verdict": lambda d, r: d.verdict(_bytes(r, "message"), _need(r, "judgement", str)),
    "score": lambda d, r: d.score(_need(r, "peer", int), _need(r, "value", int)),
    "advance": lambda d, r: d.advance(_need(r, "ms", int)),
    "submit": lambda d, r: d.submit(_bytes(r, "tx")),
    "commit": lambda d, r: d.commit(_bytes(r, "tx")),
    "adjust": lambda d, r: d.adjust(),
    "state": lambda d, r: d.state(),
}
"""What each request is on a driver."""


def _connect(driver: Driver, r: Request) -> Reply:
    peer, protocol = _need(r, "peer", int), _need(r, "protocol", str)
    if "address" in r:
        addressed = cast("AddressedDriver", driver)
        return addressed.connect(peer, protocol, _need(r, "outbound", bool), _need(r, "address", int))
    return driver.connect(peer, protocol, _need(r, "outbound", bool))
