"""Extensions of our router: what we say of ourselves at the head of a stream, and what peers said.

gossipsub v1.3, "The Extensions Control Message"; the test extension.
"""

from __future__ import annotations

from quidnunc.impl.gossipsub.core import RouterCore
from quidnunc.impl.gossipsub.outbox import Outbox
from quidnunc.impl.wire import wire_pb2 as wire
from quidnunc.impl.wire.extension_fields import FIELD_OF
from quidnunc.model.rpc import TEST_EXTENSION, Peer


class ExtensionSupport:
    """What both ends of each stream have named."""

    def __init__(self, core: RouterCore, outbox: Outbox, own: frozenset[str]) -> None:
        self.core = core
        self.outbox = outbox
        self.own = own
        self.of: dict[Peer, set[str]] = {}
        """Peer -> what it named; no entry before its first RPC."""

    def greet(self, peer: Peer) -> None:
        """The first RPC of a stream is the one that names our extensions; on older streams nothing does."""
        if self.own and self.understands(peer):
            self.outbox.to(peer).extensions = wire.ControlExtensions(
                **{FIELD_OF[name]: True for name in sorted(self.own)}
            )

    def understands(self, peer: Peer) -> bool:
        return self.core.neighbours[peer].knows_extensions

    def on_rpc(self, peer: Peer, rpc: wire.RPC) -> None:
        """Its first RPC says what the peer has. Later ones cannot: that is over the moment it has spoken."""
        if not self.is_first(peer):
            return
        named = self.of[peer] = self.named(rpc) if self.understands(peer) else set()
        if self.sends_test(named):
            self.outbox.to(peer).test = True

    def is_first(self, peer: Peer) -> bool:
        return peer not in self.of

    def named(self, rpc: wire.RPC) -> set[str]:
        """Those that we have too. What we do not know is none of our business."""
        said = rpc.control.extensions
        return {name for name in self.own if getattr(said, FIELD_OF[name])}

    def sends_test(self, named: set[str]) -> bool:
        return TEST_EXTENSION in named

    def both_have(self, peer: Peer, name: str) -> bool:
        return name in self.of.get(peer, ())

    def forget(self, peer: Peer) -> None:
        """The stream is gone, and what was said on it."""
        self.of.pop(peer, None)
