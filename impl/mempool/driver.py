"""A mempool reactor of ours behind the seam: the requests of a `Driver`, whichever reactor it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NoReturn, Protocol

from quidnunc.impl.mutant import Mutant
from quidnunc.impl.seam import AdapterError, Hello, Reply
from quidnunc.model.events import MEMPOOL, MEMPOOL_WITHOUT_DOG, Judgement
from quidnunc.model.rpc import Peer

VERSION = "1"
DOG_VARIANTS = ("dog-adr", "dog-adr-prose", "dog-quint", "dog-quint-run", "dog-go", "dog-proposed")
PROTOCOLS = ("flood", "dog", *DOG_VARIANTS, "cat-classic", "cat", "peer-limit")
"""Every mempool protocol that our routers speak."""

_DOGS = ("dog", *DOG_VARIANTS)
_SINCE: Mapping[str, tuple[str, ...]] = {
    "flood": ("flood", *_DOGS, "peer-limit"),
    "dog": _DOGS,
    "cat-classic": ("cat-classic", "cat"),
}
"""Protocol -> itself and those that are built on it; one that is not here stands alone."""


class MempoolReactor(Protocol):
    """What a reactor does. What it sends and whom it closes gather in `out` and `closed`."""

    out: list[tuple[Peer, int, bytes]]
    closed: list[Peer]

    @property
    def peers(self) -> Collection[Peer]: ...
    def connect(self, peer: Peer, *, with_dog: bool = True) -> None: ...
    def lose(self, peer: Peer) -> None: ...
    def receive(self, peer: Peer, channel: int, data: bytes) -> None: ...
    def admit(self, tx: bytes, source: Peer | None) -> None: ...
    def commit(self, tx: bytes) -> bool: ...
    def advance(self, ms: int) -> None: ...
    def stall(self, peer: Peer) -> None: ...
    def resume(self, peer: Peer) -> None: ...
    def adjust(self) -> None: ...
    def state(self) -> dict[str, object]: ...


class MempoolDriver:
    """The requests of the seam on one reactor. A fault of the reactor is a reply with `crashed` set."""

    def __init__(
        self,
        reactor: MempoolReactor,
        *,
        name: str,
        protocols: tuple[str, ...],
        capabilities: frozenset[str] = frozenset({"state", "clock", "stall", "raw", "peers-without-dog"}),
    ) -> None:
        self.reactor = reactor
        self.hello = Hello(name=name, version=VERSION, protocols=protocols, capabilities=capabilities)
        self._now_ms = 0
        self._gone: set[Peer] = set()
        """Peers that the reactor closed and the harness has not yet disconnected: they say nothing more."""

    def connect(self, peer: Peer, protocol: str, outbound: bool) -> Reply:
        known = (
            (MEMPOOL, MEMPOOL_WITHOUT_DOG) if "peers-without-dog" in self.hello.capabilities else (MEMPOOL,)
        )
        if protocol not in known:
            needed = " or ".join(map(repr, known))
            raise AdapterError(f"ours (mempool), connect {peer}: protocol {protocol!r}, need {needed}")
        if peer in self.reactor.peers:
            raise AdapterError(f"ours (mempool), connect {peer}: it is connected; disconnect it first")
        self._gone.discard(peer)
        if protocol == MEMPOOL_WITHOUT_DOG:
            return self._run(lambda: self.reactor.connect(peer, with_dog=False))
        return self._run(lambda: self.reactor.connect(peer))

    def disconnect(self, peer: Peer) -> Reply:
        if self._is_gone("disconnect", peer):
            self._gone.discard(peer)
            return self._reply()
        return self._run(lambda: self.reactor.lose(peer))

    def stall(self, peer: Peer) -> Reply:
        self._can("stall")
        return self._of_peer("stall", peer, lambda: self.reactor.stall(peer))

    def resume(self, peer: Peer) -> Reply:
        self._can("stall")
        return self._of_peer("resume", peer, lambda: self.reactor.resume(peer))

    def rpc(self, peer: Peer, data: bytes, channel: int = 0) -> Reply:
        """One mempool message on its channel; a channel that the reactor has not closes the peer."""
        return self._of_peer("rpc", peer, lambda: self.reactor.receive(peer, channel, data))

    def raw(self, peer: Peer, data: bytes) -> Reply:
        """One message behind the byte of its channel, `quidnunc.impl.wire.mempool_codec.framed_message`."""
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
        """Move the clock. The timer of DOG's controller is the harness's: it asks for `adjust`."""
        if ms < 0:
            raise AdapterError(f"ours (mempool), advance {ms}: time in ms cannot be negative")
        self._now_ms += ms
        return self._run(lambda: self.reactor.advance(ms))

    def submit(self, tx: bytes) -> Reply:
        return self._run(lambda: self.reactor.admit(tx, None))

    def commit(self, tx: bytes) -> Reply:
        """A block took `tx`. One that is not in the pool changes nothing."""
        return self._run(lambda: self.reactor.commit(tx))

    def adjust(self) -> Reply:
        return self._run(self.reactor.adjust)

    def state(self) -> Reply:
        """What the reactor says of itself, for people to read."""
        return Reply(t_ms=self._now_ms, state=self.reactor.state())

    def close(self) -> None:
        """Nothing is held open."""

    def _can(self, capability: str) -> None:
        if capability not in self.hello.capabilities:
            raise AdapterError(f"{self.hello.name} (mempool): it has no {capability!r}, as its hello says")

    def _is_gone(self, request: str, peer: Peer) -> bool:
        if peer in self._gone:
            return True
        if peer not in self.reactor.peers:
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


def mutant_of(name: str | None, table: Mapping[str, Mutant]) -> Mutant | None:
    """The planted departure of that name, if one is asked for. Raises AdapterError where there is none."""
    if name is not None and name not in table:
        raise AdapterError(f"ours has no mempool mutant {name!r}; `quidnunc routers --all` lists them")
    return None if name is None else table[name]


def protocols_of(planted: Mutant | None) -> tuple[str, ...]:
    """The protocols that a router with this departure speaks: those in which it can be seen."""
    return PROTOCOLS if planted is None else _SINCE.get(planted.protocol, (planted.protocol,))
