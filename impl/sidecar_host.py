"""The other side of `quidnunc.impl.sidecar`: any router that runs in process, behind JSON lines.

    python -m quidnunc.impl.sidecar_host ROUTER

It shows what a sidecar must do, and lets a router be driven whose packages cannot live beside this kit's: a
release of py-libp2p in an environment of its own, say. ROUTER is a name that `quidnunc routers` lists, or
python:MODULE:FACTORY.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, cast

from quidnunc.impl.partial_json import decisions_of, feedback_kind
from quidnunc.impl.seam import AdapterError, Addressed, Config, Driver, Reply, SpeaksPartial
from quidnunc.impl.sidecar_json import LINE_BYTES_MAX, bytes_of, config_of, hello_json, reply_json

USAGE = "usage: python -m quidnunc.impl.sidecar_host ROUTER"

Open = Callable[[Config], Driver]


def _need(request: Mapping[str, Any], name: str, kind: type) -> Any:
    value = request.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise AdapterError(f"{request.get('op')}: need {name!r} as {kind.__name__}, got {value!r}"[:200])
    return value


def _bytes(request: Mapping[str, Any], name: str) -> bytes:
    return bytes_of(request.get(name), f"{request.get('op')}.{name}")


def _partial(driver: Driver) -> SpeaksPartial:
    if "partial" not in driver.hello.capabilities:
        raise AdapterError(
            f"{driver.hello.name} has no partial messages: it does not say that it can `partial`"
        )
    return cast("SpeaksPartial", driver)


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
        addressed = cast("Addressed", driver)
        return addressed.connect(peer, protocol, _need(r, "outbound", bool), _need(r, "address", int))
    return driver.connect(peer, protocol, _need(r, "outbound", bool))


def serve(open_driver: Open, lines: BinaryIO, answers: BinaryIO) -> None:
    """Answer each line of `lines` with one of `answers`, until the end of `lines`.

    A second `init` closes the router of the first. A line longer than `LINE_BYTES_MAX` ends the service.
    """
    driver: Driver | None = None
    try:
        while line := lines.readline(LINE_BYTES_MAX + 1):
            if len(line) > LINE_BYTES_MAX:
                _say(answers, {"error": f"a line of more than {LINE_BYTES_MAX} bytes"})
                return
            answer, driver = _answer(open_driver, driver, line)
            _say(answers, answer)
    finally:
        if driver is not None:
            driver.close()


def _answer(open_driver: Open, driver: Driver | None, line: bytes) -> tuple[dict[str, object], Driver | None]:
    """The answer to one line, and the driver from then on. Whatever goes wrong is an answer too."""
    try:
        request = json.loads(line)
        if not isinstance(request, dict):
            raise AdapterError("a request is a JSON object")
        op = request.get("op")
        if op == "init":
            if driver is not None:
                driver.close()
                driver = None
            driver = open_driver(config_of(request))
            return {"hello": hello_json(driver.hello), "again": True}, driver
        if not isinstance(op, str) or op not in REQUESTS:
            raise AdapterError(f"no request {op!r}: there are init, {', '.join(REQUESTS)}")
        if driver is None:
            raise AdapterError(f"{op} before init: say init first")
        return reply_json(REQUESTS[op](driver, request)), driver
    except AdapterError as error:
        return {"error": str(error)}, driver
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:500]}, driver


def _say(answers: BinaryIO, answer: dict[str, object]) -> None:
    answers.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
    answers.flush()


def main(arguments: list[str]) -> int:
    """Serve one router on stdin and stdout; 2 for wrong usage."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(USAGE, file=sys.stderr)
        return 2
    from quidnunc.impl.routers import open_router

    lines, answers = sys.stdin.buffer, sys.stdout.buffer
    # What a router prints must not end up between two answers.
    sys.stdout = sys.stderr
    serve(lambda config: open_router(arguments[0], config), lines, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
