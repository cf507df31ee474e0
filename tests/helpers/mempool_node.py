"""One mempool reactor driven in symbols, and the table of scenarios: what a clause says, as a short run."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from quidnunc.impl.ours.mempool import open_dog
from quidnunc.impl.seam import Config, Reply
from quidnunc.impl.wire.mempool_codec import MempoolCodec
from quidnunc.model.events import MEMPOOL
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import HaveTx, Part, Tx

Sent = list[tuple[int, Part]]


class Node:
    """One reactor and its neighbours, in symbols."""

    def __init__(self, protocol: str, mutant: str | None, parameters: DogParameters | None = None) -> None:
        config = Config(seed=7, protocol=protocol, parameters=parameters or DogParameters())
        self.driver = open_dog(config, mutant)
        self.codec = MempoolCodec()

    def sent(self, reply: Reply) -> Sent:
        assert not reply.crashed
        assert not reply.closed
        return [
            (peer, part) for peer, channel, data in reply.out for part in self.codec.decode(channel, data)
        ]

    def connect(self, *peers: int) -> Sent:
        return [sent for p in peers for sent in self.sent(self.driver.connect(p, MEMPOOL, False))]

    def lose(self, peer: int) -> Sent:
        return self.sent(self.driver.disconnect(peer))

    def receive(self, peer: int, part: Part) -> Sent:
        channel, data = self.codec.encode(part)
        return self.sent(self.driver.rpc(peer, data, channel))

    def submit(self, symbol: str) -> Sent:
        return self.sent(self.driver.submit(self.codec.tx_bytes(symbol)))

    def commit(self, symbol: str) -> Sent:
        return self.sent(self.driver.commit(self.codec.tx_bytes(symbol)))

    def adjust(self) -> Sent:
        return self.sent(self.driver.adjust())

    def stall(self, peer: int) -> None:
        assert self.sent(self.driver.stall(peer)) == []

    def resume(self, peer: int) -> Sent:
        return self.sent(self.driver.resume(peer))

    def state(self) -> dict[str, object]:
        """Without the metrics, which count bytes that change nothing else."""
        state = self.driver.state().state
        return {name: value for name, value in state.items() if name != "metrics"}

    def routes(self) -> object:
        return self.driver.state().state["routes"]

    def count(self) -> tuple[object, object]:
        state = self.driver.state().state
        return state["first_time"], state["duplicates"]

    def load(self, first: int, duplicates: int) -> None:
        """Let that many first-time and duplicate transactions come, from users, since the last adjustment."""
        for k in range(first):
            self.submit(f"load{k}")
        for _ in range(duplicates):
            self.submit("load0")
        assert self.count() == (first, duplicates)


@frozen
class Scenario:
    name: str
    clause: str
    run: Callable[[Node], None]

    @property
    def protocol(self) -> str:
        return self.clause.split("/")[0]


SCENARIOS: dict[str, Scenario] = {}


def shows(clause: str) -> Callable[[Callable[[Node], None]], Callable[[Node], None]]:
    def keep(run: Callable[[Node], None]) -> Callable[[Node], None]:
        SCENARIOS[run.__name__] = Scenario(run.__name__, clause, run)
        return run

    return keep


def with_two_cut(node: Node) -> None:
    """The routes from 1 and 2 to 3 are disabled, and that from 1 to 2."""
    node.connect(1, 2, 3)
    node.receive(1, Tx("a"))
    node.receive(2, Tx("b"))
    node.receive(3, HaveTx("a"))
    node.receive(3, HaveTx("b"))
    node.receive(2, HaveTx("a"))
    assert node.routes() == [[1, 2], [1, 3], [2, 3]]
