"""A node of ours on TCP, for people: what `docs/sockets.md` shows.

python -m quidnunc.impl.tcp_main --number 1 --listen 127.0.0.1:9101 --join news
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable

from quidnunc.impl.ours.pubsub import PROTOCOLS
from quidnunc.impl.seam import Config
from quidnunc.impl.tcp_node import NodeFailure, TcpNode
from quidnunc.impl.tcp_node.families import connected_family

LINE_BYTES_MAX = 1 << 20
POLL_SECONDS = 0.05

EPILOG = """example, in two terminals:

  python -m quidnunc.impl.tcp_main --number 1 --listen 127.0.0.1:9101 --join news
  echo news hello | python -m quidnunc.impl.tcp_main --number 2 --connect 127.0.0.1:9101 --join news
  --for 3s

Input: a line is TOPIC and a text to publish there; for a mempool a line is a transaction. Output: a line for
each message (TOPIC: text), or for each transaction that enters the pool; on stderr who comes and goes.
A node trusts its network: its keys follow from public numbers. Exit code: 0, 2 for wrong usage, 4 where the
router broke or an address cannot be had."""


def arguments() -> argparse.ArgumentParser:
    """What the command takes."""
    parser = argparse.ArgumentParser(
        prog="python -m quidnunc.impl.tcp_main",
        description="One of our routers on TCP.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--number", type=_number, required=True, help="who this is, from 1; its key follows")
    parser.add_argument("--protocol", choices=PROTOCOLS, default="gossipsub-1.2", metavar="PROTOCOL")
    parser.add_argument("--listen", type=_address, metavar="HOST:PORT", help="port 0: one that is free")
    parser.add_argument("--connect", type=_address, action="append", default=[], metavar="HOST:PORT")
    parser.add_argument("--join", action="append", default=[], metavar="TOPIC")
    parser.add_argument(
        "--peers", type=int, help="read no input before so many peers are there (1 with --connect)"
    )
    parser.add_argument("--heartbeat", type=_ms, default=1000, metavar="TIME", help="of pubsub; 1s")
    parser.add_argument("--for", dest="for_ms", type=_ms, metavar="TIME", help="end after that; 90s, say")
    parser.add_argument("--seed", type=int, default=0, help="of the router's own choices")
    parser.add_argument("--json", action="store_true", help="one object a line on stdout, data as base64")
    return parser


def _number(text: str) -> int:
    number = int(text)
    if not 0 < number < 1 << 32:
        raise argparse.ArgumentTypeError("a number from 1 to 2^32 - 1")
    return number


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 0xFFFF:
        raise argparse.ArgumentTypeError(f"{text!r} is no HOST:PORT")
    return host.strip("[]"), int(port)


def _ms(text: str) -> int:
    found = re.fullmatch(r"(\d+)(ms|s|m)", text)
    if found is None or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no time like 200ms, 90s or 5m")
    return int(found[1]) * {"ms": 1, "s": 1000, "m": 60_000}[found[2]]


class NodeOutput:
    """What goes to stdout."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json

    def line(self, text: str, **event: object) -> None:
        print(json.dumps(event) if self._as_json else text, flush=True)

    def delivered(self, topic: str, data: bytes) -> None:
        text = data.decode("utf-8", "backslashreplace")
        self.line(f"{topic}: {text}", event="delivered", topic=topic, data=base64.b64encode(data).decode())


def config_of(asked: argparse.Namespace) -> Config:
    """Raises ValueError where no router can run so."""
    return connected_family(asked.protocol).config(asked.protocol, asked.seed, asked.heartbeat)


async def serve(asked: argparse.Namespace) -> int:
    """Run one node until its time is over, or somebody interrupts it. The exit code."""
    said = NodeOutput(asked.json)
    node = TcpNode(
        config_of(asked),
        number=asked.number,
        delivered=said.delivered,
        note=lambda line: print(line, file=sys.stderr, flush=True),
    )
    over = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, over.set)
    try:
        if asked.listen is not None:
            port = await node.listen(*asked.listen)
            said.line(f"listening on {asked.listen[0]}:{port}", event="listening", port=port)
        for topic in asked.join:
            node.join(topic)
        for address in asked.connect:
            node.keep(*address)
        await _run(asked, node, said, over)
    except (NodeFailure, OSError) as error:
        print(f"node {asked.number}: {error}", file=sys.stderr)
        return 4
    finally:
        await node.close()
    return 0


async def _run(asked: argparse.Namespace, node: TcpNode, said: NodeOutput, over: asyncio.Event) -> None:
    seconds = None if asked.for_ms is None else asked.for_ms / 1000
    ended = asyncio.ensure_future(_heard(over))
    work = [ended, asyncio.ensure_future(_heed_input(asked, node))]
    if not node.family.has_topics:
        work.append(asyncio.ensure_future(_watch_pool(node, said)))
    try:
        await asyncio.wait((ended, node.failed), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if node.failed.done():
            node.failed.result()
    finally:
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)


async def _heard(event: asyncio.Event) -> None:
    await event.wait()


async def _heed_input(asked: argparse.Namespace, node: TcpNode) -> None:
    needed = asked.peers if asked.peers is not None else min(1, len(asked.connect))
    while len(_heard_of(node)) < needed:
        await asyncio.sleep(POLL_SECONDS)
    loop = asyncio.get_running_loop()

    def take(line: bytes) -> None:
        asyncio.run_coroutine_threadsafe(_say(node, line), loop).result()

    # A thread that nothing waits for: reading a terminal cannot be cancelled.
    threading.Thread(target=_read, args=(take,), daemon=True).start()


def _heard_of(node: TcpNode) -> list[object]:
    """Peers that have announced a topic; of a mempool those that are there."""
    if not node.family.has_topics:
        return list(node.links)
    peers = node.state()["peers"]
    assert isinstance(peers, dict)
    return [peer for peer, each in peers.items() if each["topics"]]


def _read(take: Callable[[bytes], None]) -> None:
    held, is_too_long = b"", False
    try:
        # Not through `sys.stdin`, which the interpreter could not close at its end while this reads.
        while chunk := os.read(0, LINE_BYTES_MAX):
            *lines, held = (held + chunk).split(b"\n")
            if is_too_long and lines:
                del lines[0]
                is_too_long = False
            for line in lines:
                take(line.rstrip(b"\r"))
            if len(held) > LINE_BYTES_MAX:
                print(f"a line of more than {LINE_BYTES_MAX} bytes is left out", file=sys.stderr)
                held, is_too_long = b"", True
        if held and not is_too_long:
            take(held)
    except (RuntimeError, OSError, asyncio.CancelledError):
        # The node is closing, and nobody takes lines any more.
        return


async def _say(node: TcpNode, line: bytes) -> None:
    if not node.family.has_topics:
        if line:
            node.submit(line)
        return
    topic, _, text = line.partition(b" ")
    if topic:
        node.publish(topic.decode("utf-8", "backslashreplace"), text)


async def _watch_pool(node: TcpNode, said: NodeOutput) -> None:
    shown: set[object] = set()
    while True:
        pool = node.state()["pool"]
        assert isinstance(pool, list)
        for key in pool:
            if key not in shown:
                said.line(f"pool: {key}", event="pooled", key=key)
        shown = set(pool)
        await asyncio.sleep(POLL_SECONDS)


def main(arguments_given: list[str]) -> int:
    """Run one node; 0 when its time is over, 2 for wrong usage, 4 where it broke."""
    parser = arguments()
    asked = parser.parse_args(arguments_given)
    if asked.listen is None and not asked.connect:
        parser.error("give --listen HOST:PORT, --connect HOST:PORT, or both")
    if asked.join and not connected_family(asked.protocol).has_topics:
        parser.error(f"--join is for pubsub, and {asked.protocol} has no topics")
    return asyncio.run(serve(asked))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
