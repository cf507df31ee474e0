"""The other side of `quidnunc.impl.seam.sidecar`: any router that runs in process, behind JSON lines.

    python -m quidnunc.impl.sidecar_host ROUTER

It shows what a sidecar must do, and lets a router be driven whose packages cannot live beside this kit's: a
release of py-libp2p in an environment of its own, say. ROUTER is a name that `quidnunc routers` lists, or
python:MODULE:FACTORY.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import BinaryIO

from quidnunc.impl.seam import AdapterError, Config, Driver
from quidnunc.impl.seam.own_stdout import stdout_aside
from quidnunc.impl.seam.requests import REQUESTS
from quidnunc.impl.seam.sidecar_json import LINE_BYTES_MAX, config_of, hello_json, reply_json

USAGE = "usage: python -m quidnunc.impl.sidecar_host ROUTER"

Open = Callable[[Config], Driver]


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

    # What a router prints, or writes below Python, must not end up between two answers.
    sys.stdout = sys.stderr
    with os.fdopen(stdout_aside(), "wb") as answers:
        serve(lambda config: open_router(arguments[0], config), sys.stdin.buffer, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
