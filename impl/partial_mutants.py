"""Planted departures of our pubsub router in its extensions and its partial messages."""

from __future__ import annotations

from collections.abc import Callable

from quidnunc.impl import wire_pb2 as wire
from quidnunc.impl.gossipsub import Router
from quidnunc.impl.mutant import Mutant
from quidnunc.impl.mutants_mesh import Edit, mutant, nothing, put
from quidnunc.model.rpc import Peer

Phase = Callable[[Peer, wire.RPC], None]


def _late(r: Router) -> None:
    """The hello goes out first, and Extensions in an RPC of its own after it."""
    greet, hello = r.extensions.greet, r.say_hello
    put(r.extensions, "greet", nothing)

    def hello_then_greet(peer: Peer) -> None:
        hello(peer)
        r.outbox.flush()
        greet(peer)

    put(r, "say_hello", hello_then_greet)


def _again(r: Router) -> None:
    announce = r.announce

    def with_extensions(topic: str, inside: bool) -> None:
        announce(topic, inside)
        for peer in r.told_of(topic):
            r.extensions.greet(peer)

    put(r, "announce", with_extensions)


def _close_on_unknown(r: Router) -> None:
    read = r.extensions.on_rpc

    def close(peer: Peer, rpc: wire.RPC) -> None:
        known = wire.ControlExtensions.FromString(rpc.control.extensions.SerializeToString())
        known.DiscardUnknownFields()
        if known.ByteSize() != rpc.control.extensions.ByteSize():
            r.close(peer)
        else:
            read(peer, rpc)

    def guarded(phase: Phase) -> Phase:
        return lambda peer, rpc: phase(peer, rpc) if peer in r.core.neighbours else None

    # In the place of the reading itself; whoever is closed has no more of its RPC read.
    r.intake[r.intake.index(read)] = close
    r.intake[:] = [guarded(phase) for phase in tuple(r.intake)]


def _older_too(r: Router) -> None:
    put(r.extensions, "understands", lambda peer: r.core.neighbours[peer].stream != "/floodsub/1.0.0")


def _kept(r: Router) -> None:
    """What was named on an earlier stream still counts."""
    put(r.extensions, "forget", nothing)


_ROWS: tuple[tuple[str, str, Edit, str] | tuple[str, str, Edit, str, str], ...] = (
    ("extensions-late", "gs1.3/extensions.first-rpc", _late, "Names its extensions after its subscriptions."),
    ("extensions-again", "gs1.3/extensions.once", _again, "Names its extensions again with each topic."),
    ("extensions-unknown-closed", "gs1.3/extensions.unknown-ignored", _close_on_unknown,
     "Closes the stream of a peer that names an extension it does not know."),
    ("extensions-to-old", "gs1.3/extensions.not-below", _older_too, "Names its extensions on any stream."),
    ("extensions-remembered", "gs1.3/extensions.described", _kept,
     "Goes by what a peer named on an earlier stream."),
    ("test-unsent", "gs1.3/test.exchanged", lambda r: put(r.extensions, "sends_test", lambda named: False),
     "Never sends TestExtension."),
    ("test-to-all", "gs1.3/test.exchanged", lambda r: put(r.extensions, "sends_test", lambda named: True),
     "Sends TestExtension to whoever speaks."),
)  # fmt: skip

PARTIAL_MUTANTS: tuple[Mutant, ...] = tuple(mutant(*row) for row in _ROWS)
