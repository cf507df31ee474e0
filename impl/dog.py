"""Our Flood and DOG router behind the seam: `open_dog` gives the `Driver` of one node.

The reactor itself is `quidnunc.impl.dog_reactor`; its planted departures are `quidnunc.impl.dog_mutants`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from quidnunc.impl.dog_mutants import DOG_MUTANTS
from quidnunc.impl.dog_reactor import Reactor
from quidnunc.impl.seam import AdapterError, Config, Driver, Hello, Reply
from quidnunc.model.events import MEMPOOL, Judgement
from quidnunc.model.parameters import DogParameters
from quidnunc.model.rpc import Peer

PROTOCOLS = ("flood", "dog")
VERSION = "1"


def open_dog(config: Config, mutant: str | None = None) -> Driver:
    """One node that speaks `config.protocol`: `flood` (DOG off) or `dog`, as `config.dog` has it.

    `mutant` names one of `DOG_MUTANTS`. Raises AdapterError for another protocol or an unknown mutant.
    """
    if config.protocol not in PROTOCOLS:
        raise AdapterError(f"ours (mempool) does not speak {config.protocol!r}: choose one of {PROTOCOLS}")
    if config.parameters is not None:
        raise AdapterError(
            "ours (mempool) takes `dog` parameters and no pubsub `parameters`: leave those out"
        )
    if mutant is not None and mutant not in DOG_MUTANTS:
        raise AdapterError(f"ours has no mempool mutant {mutant!r}: choose one of {sorted(DOG_MUTANTS)}")
    parameters = config.dog or DogParameters()
    dog = config.protocol == "dog" and parameters.dog
    reactor = Reactor(parameters, dog=dog, seed=config.seed)
    if mutant is not None:
        DOG_MUTANTS[mutant].apply(reactor)
    return DogDriver(reactor, name="ours" if mutant is None else f"ours:{mutant}")


class DogDriver:
    """The requests of the seam on one reactor. A fault of the reactor is a reply with `crashed` set."""

    def __init__(self, reactor: Reactor, *, name: str) -> None:
        self.reactor = reactor
        self.hello = Hello(
            name=name,
            version=VERSION,
            protocols=PROTOCOLS,
            capabilities=frozenset({"state", "clock", "stall", "raw"}),
        )
        self._now_ms = 0
        self._gone: set[Peer] = set()
        """Peers that the reactor closed and the harness has not yet disconnected: they say nothing more."""

    def connect(self, peer: Peer, protocol: str, outbound: bool) -> Reply:
        if protocol != MEMPOOL:
            raise AdapterError(f"ours (mempool), connect {peer}: protocol {protocol!r}, need {MEMPOOL!r}")
        if peer in self.reactor.links:
            raise AdapterError(f"ours (mempool), connect {peer}: it is connected; disconnect it first")
        self._gone.discard(peer)
        return self._run(lambda: self.reactor.connect(peer))

    def disconnect(self, peer: Peer) -> Reply:
        if self._is_gone("disconnect", peer):
            self._gone.discard(peer)
            return self._reply()
        return self._run(lambda: self.reactor.lose(peer))

    def stall(self, peer: Peer) -> Reply:
        return self._of_peer("stall", peer, lambda: self.reactor.stall(peer))

    def resume(self, peer: Peer) -> Reply:
        return self._of_peer("resume", peer, lambda: self.reactor.resume(peer))

    def rpc(self, peer: Peer, data: bytes, channel: int = 0) -> Reply:
        """One mempool message on channel 0x30 or 0x31; any other channel closes the peer."""
        return self._of_peer("rpc", peer, lambda: self.reactor.receive(peer, channel, data))

    def raw(self, peer: Peer, data: bytes) -> Reply:
        """One message behind the byte of its channel, `quidnunc.impl.mempool_codec.framed`."""
        channel = data[0] if data else -1
        return self._of_peer("raw", peer, lambda: self.reactor.receive(peer, channel, data[1:]))

    def join(self, topic: str) -> Reply:
        _no_pubsub("join")

    def leave(self, topic: str) -> Reply:
        _no_pubsub("leave")

    def publish(self, topic: str, data: bytes) -> Reply:
        _no_pubsub("publish")

    def verdict(self, message_id: bytes, judgement: Judgement) -> Reply:
        _no_pubsub("verdict")

    def score(self, peer: Peer, value: int) -> Reply:
        _no_pubsub("score")

    def advance(self, ms: int) -> Reply:
        """Move the clock. The controller's timer is the harness's: it asks for `adjust`."""
        if ms < 0:
            raise AdapterError(f"ours (mempool), advance {ms}: time in ms cannot be negative")
        self._now_ms += ms
        return self._reply()

    def submit(self, tx: bytes) -> Reply:
        return self._run(lambda: self.reactor.admit(tx, None))

    def commit(self, tx: bytes) -> Reply:
        """A block took `tx`. One that is not in the pool changes nothing."""
        return self._run(lambda: self.reactor.commit(tx))

    def adjust(self) -> Reply:
        return self._run(self.reactor.adjust)

    def state(self) -> Reply:
        """`pool` and `senders` by key in hexadecimal and pool order, `routes`, counters, `blocked`."""
        reactor = self.reactor
        state: dict[str, object] = {
            "peers": sorted(reactor.links),
            "pool": [entry.key.hex() for entry in reactor.pool],
            "senders": {entry.key.hex(): list(entry.senders) for entry in reactor.pool},
            "routes": [list(pair) for pair in reactor.routes.pairs()],
            "first_time": reactor.redundancy.first_time,
            "duplicates": reactor.redundancy.duplicates,
            "blocked": reactor.redundancy.blocked,
        }
        return Reply(t_ms=self._now_ms, state=state)

    def close(self) -> None:
        """Nothing is held open."""

    def _is_gone(self, request: str, peer: Peer) -> bool:
        if peer in self._gone:
            return True
        if peer not in self.reactor.links:
            raise AdapterError(f"ours (mempool), {request} {peer}: no such peer; connect it first")
        return False

    def _of_peer(self, request: str, peer: Peer, act: Callable[[], object]) -> Reply:
        return self._reply() if self._is_gone(request, peer) else self._run(act)

    def _run(self, act: Callable[[], object]) -> Reply:
        try:
            act()
        except Exception as fault:
            # A crash of the router is what the harness wants to hear of, not an error of the seam.
            return self._reply(crashed=f"{type(fault).__name__}: {fault}")
        return self._reply()

    def _reply(self, crashed: str = "") -> Reply:
        reactor = self.reactor
        out, closed = tuple(reactor.out), tuple(reactor.closed)
        reactor.out.clear()
        reactor.closed.clear()
        self._gone.update(closed)
        return Reply(t_ms=self._now_ms, out=out, closed=closed, crashed=crashed)


def _no_pubsub(request: str) -> NoReturn:
    raise AdapterError(
        f"ours (mempool): `{request}` is a request to a pubsub router; a mempool takes submit, commit and "
        "adjust, or open ours with a gossipsub protocol"
    )
