"""Who had joined a topic when a message was published in it.

By the times of the events, because the files of several peers come one after the other; an event without a
time stands where it is in the trace.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from attrs import field, mutable

from quidnunc.pipeline.trace.shapes import TraceError

MAX_CHANGES = 5_000_000
"""JOINs and LEAVEs of one run; a larger trace needs the pipeline on Spark."""

K = TypeVar("K")


@mutable
class Members:
    """The JOINs and LEAVEs of one run."""

    first: int | None = None
    """When the first JOIN was."""
    count: int = 0
    _changes: dict[str, list[tuple[int, bool, bytes]]] = field(factory=lambda: defaultdict(list))

    def join(self, topic: str, peer: bytes, at: int) -> None:
        """`at` is in ns, or a place in the trace."""
        self.first = at if self.first is None else min(self.first, at)
        self._change(topic, (at, True, peer))

    def leave(self, topic: str, peer: bytes, at: int) -> None:
        self._change(topic, (at, False, peer))

    def _change(self, topic: str, change: tuple[int, bool, bytes]) -> None:
        if self.count >= MAX_CHANGES:
            raise TraceError(
                f"more than {MAX_CHANGES} JOINs and LEAVEs in one run: that is too much for this command"
            )
        self.count += 1
        self._changes[topic].append(change)

    def known_at(self, at: int) -> bool:
        """Whether anybody had joined anything."""
        return self.first is not None and self.first <= at

    def at_each(self, asked: Iterable[tuple[str, int, K]]) -> Iterator[tuple[K, Mapping[bytes, bool]]]:
        """For each (topic, when, key): the key, and who had joined, until the next is asked for."""
        of_topic: dict[str, list[tuple[int, K]]] = defaultdict(list)
        for topic, at, key in asked:
            of_topic[topic].append((at, key))
        for topic, times in of_topic.items():
            # What a peer does at one instant stays in its order.
            changes = sorted(self._changes.get(topic, ()), key=lambda change: change[0])
            there: dict[bytes, bool] = {}
            done = 0
            for at, key in sorted(times, key=lambda pair: pair[0]):
                while done < len(changes) and changes[done][0] <= at:
                    _, joined, peer = changes[done]
                    if joined:
                        there[peer] = True
                    else:
                        there.pop(peer, None)
                    done += 1
                yield key, there
