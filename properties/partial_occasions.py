"""When a clause on extensions or partial messages applied that no single rule decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quidnunc.model.events import Delivered, Event, Output, Sent
from quidnunc.model.router import Router
from quidnunc.model.rpc import Message, Subscribe

CLAUSES = frozenset(
    {
        "gs1.3/extensions.once",
        "pm/subscription.flags",
        "pm/receive.full-accepted",
        "pm/send.full-unsupported",
    }
)


def found(r: Router, event: Event, outputs: Sequence[Output]) -> Iterator[str]:
    """Those of `CLAUSES` for which `event` was an occasion. `r` is the router before it."""
    sent = [o for o in outputs if isinstance(o, Sent)]
    # Whatever is sent on a stream that has had its first RPC could have been a second Extensions.
    if any(o.peer in r.peers and r.peers[o.peer].knows_extensions for o in sent):
        yield "gs1.3/extensions.once"
    if "partial" not in r.protocol.handlers:
        return
    if any(isinstance(o.part, Subscribe) for o in sent):
        yield "pm/subscription.flags"
    delivered = [o.message.topic for o in outputs if isinstance(o, Delivered)]
    if any(r.own_flags(topic).requests for topic in delivered):
        yield "pm/receive.full-accepted"
    full = [(o.peer, o.part.topic) for o in sent if isinstance(o.part, Message) and o.peer in r.peers]
    if any(r.peers[p].flags_in(t).requests and not r.own_flags(t).supports for p, t in full):
        yield "pm/send.full-unsupported"
