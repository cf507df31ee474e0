"""Our mempool routers, by protocol: one reactor for Flood, DOG and the peer limit, another for CAT."""

from __future__ import annotations

from quidnunc.impl.seam import Config, Driver


def open_mempool(config: Config, mutant: str | None = None) -> Driver:
    """One node that speaks `config.protocol`. Raises AdapterError for one that no reactor of ours speaks."""
    from quidnunc.impl.wire.cat_codec import VERSIONS

    if config.protocol in VERSIONS:
        from quidnunc.impl.ours.cat import open_cat

        return open_cat(config, mutant)
    from quidnunc.impl.ours.dog import open_dog

    return open_dog(config, mutant)
