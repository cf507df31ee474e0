"""The versions of pubsub, by name and shape: which came from which, and over which streams each is spoken.

One table, of names alone. The rules of a version are in `quidnunc.model.pubsub.protocols`, the parts that it
has follow from `PARTS`, and what our routers do for it is said again in `quidnunc.impl.gossipsub.core`.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from quidnunc.model.events import FLOODSUB, MESHSUB_1_0, MESHSUB_1_1, MESHSUB_1_2, MESHSUB_1_3
from quidnunc.model.rpc import PARTS, PartShape


@frozen
class Version:
    """One version, and what it was made of."""

    name: str
    stream: str
    """The newest stream protocol that it speaks. It speaks those of the versions before it too."""
    base: str
    """The version that it adds to; empty for the first."""
    label: str
    """Its heading in tables."""
    clauses: str
    """The first word of the ids of its clauses."""
    checks_stream: bool = False
    """Routers are checked for speaking `stream`: its clause is `rpc.protocol-id`."""

    @property
    def lineage(self) -> tuple[str, ...]:
        """Its own name and those of all versions below it, newest first."""
        return (self.name, *(VERSIONS[self.base].lineage if self.base else ()))

    @property
    def streams(self) -> tuple[str, ...]:
        """What a router of this version negotiates, newest first."""
        return tuple(dict.fromkeys(VERSIONS[each].stream for each in self.lineage))

    @property
    def parts(self) -> tuple[PartShape, ...]:
        """The kinds of part that it has."""
        return tuple(shape for shape in PARTS if shape.since in self.lineage)


# fmt: off
_ROWS = (
    Version("floodsub", FLOODSUB, "", "floodsub", "floodsub"),
    Version("gossipsub-1.0", MESHSUB_1_0, "floodsub", "1.0", "gs1.0"),
    Version("gossipsub-1.1", MESHSUB_1_1, "gossipsub-1.0", "1.1", "gs1.1", checks_stream=True),
    Version("gossipsub-1.2-draft", MESHSUB_1_2, "gossipsub-1.1", "1.2-draft", "gs1.2-draft"),
    Version("gossipsub-1.2", MESHSUB_1_2, "gossipsub-1.2-draft", "1.2", "gs1.2", checks_stream=True),
    Version("gossipsub-1.3", MESHSUB_1_3, "gossipsub-1.2", "1.3", "gs1.3", checks_stream=True),
    Version("partial-messages", MESHSUB_1_3, "gossipsub-1.3", "partial", "pm"),
    Version("partial-messages-jvm", MESHSUB_1_3, "partial-messages", "partial-jvm", "pm-jvm"),
    Version("partial-messages-go", MESHSUB_1_3, "partial-messages", "partial-go", "pm-go"),
)
# fmt: on

VERSIONS: Mapping[str, Version] = {each.name: each for each in _ROWS}
"""By name, the oldest first."""

STREAM_PROTOCOLS: Mapping[str, tuple[str, ...]] = {each.name: each.streams for each in _ROWS}
"""What a router of each version negotiates, newest first."""

STREAMS: tuple[str, ...] = tuple(dict.fromkeys(each.stream for each in _ROWS))
"""Every stream protocol of pubsub, oldest first."""
