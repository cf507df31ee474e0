"""When a clause on extensions or partial messages applied that no single rule decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quidnunc.model.events import Event, Output, Sent
from quidnunc.model.router import Router

CLAUSES = frozenset({"gs1.3/extensions.once"})


def found(r: Router, event: Event, outputs: Sequence[Output]) -> Iterator[str]:
    """Those of `CLAUSES` for which `event` was an occasion. `r` is the router before it."""
    sent = [o for o in outputs if isinstance(o, Sent)]
    # Whatever is sent on a stream that has had its first RPC could have been a second Extensions.
    if any(o.peer in r.peers and r.peers[o.peer].knows_extensions for o in sent):
        yield "gs1.3/extensions.once"
