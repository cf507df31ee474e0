"""How far each delivery was from its publisher: per message, and in columns.

A delivery names the peer it came from, whose own delivery names another. The first peers are one hop away,
and who was told by them two; a chain that ends elsewhere, or in itself, leads nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from quidnunc.properties.lazy import numpy, pyarrow

SCHEMA = "run int, message int, peer int, hops int"
COLUMNS = ("run", "message", "peer", "remote", "publisher")
WANTED = f"SELECT {', '.join(COLUMNS)} FROM arrivals WHERE rank = 1"


def hop_batches(batches: Iterator[Any]) -> Iterator[Any]:
    """Of all deliveries of some messages: the same with their hops, null where they lead nowhere."""
    given = [batch for batch in batches if batch.num_rows]
    if not given:
        return
    table = pyarrow.Table.from_batches(given)
    run, message, peer, remote, publisher = (
        table[name].cast(pyarrow.int64()).fill_null(-1).to_numpy() for name in COLUMNS
    )
    hops = hops_in(run, message, peer, remote, publisher)
    columns = [pyarrow.array(c.astype("int32")) for c in (run, message, peer)]
    found = pyarrow.array(hops.astype("int32"), mask=hops < 0)
    yield pyarrow.RecordBatch.from_arrays([*columns, found], names=["run", "message", "peer", "hops"])


def hops_in(run: Any, message: Any, peer: Any, remote: Any, publisher: Any) -> Any:
    """Hops of each delivery, -1 where it leads nowhere. One delivery for each run, message and peer."""
    count = len(peer)
    _, group = numpy.unique(numpy.stack([run, message]), axis=1, return_inverse=True)
    group = group.reshape(-1)
    width = int(max(peer.max(), remote.max(), 0)) + 2
    key = group * width + peer
    order = numpy.argsort(key)
    ordered = key[order]
    wanted = group * width + remote
    place = numpy.minimum(numpy.searchsorted(ordered, wanted), count - 1)
    known = (ordered[place] == wanted) & (remote >= 0)
    parent = numpy.where(known, order[place], -1)
    hops = numpy.where((remote == publisher) & (publisher >= 0), 1, -1)
    while True:
        waiting = numpy.flatnonzero((hops < 0) & (parent >= 0))
        far = hops[parent[waiting]]
        reached = far > 0
        if not reached.any():
            return hops
        hops[waiting[reached]] = far[reached] + 1
