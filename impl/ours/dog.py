"""Our router for Flood, DOG and the peer limit behind the seam: `open_dog` gives the `Driver` of one node.

The reactor itself is `quidnunc.impl.mempool.dog.reactor`; its planted departures are
`quidnunc.impl.mutants.dog` and `quidnunc.impl.mutants.peer_limit`.
"""

from __future__ import annotations

from quidnunc.impl.mempool.dog.reactor import DogReactor
from quidnunc.impl.mempool.driver import DOG_VARIANTS, MempoolDriver, mutant_of, protocols_of
from quidnunc.impl.mutants.dog import DOG_MUTANTS
from quidnunc.impl.mutants.peer_limit import PEER_LIMIT_MUTANTS
from quidnunc.impl.ours.dog_variants import VARIANT_MUTANTS, apply_variant
from quidnunc.impl.seam import AdapterError, Config, Driver, parameters_of
from quidnunc.model.parameters import DogParameters

PROTOCOLS = ("flood", "dog", *DOG_VARIANTS, "peer-limit")


def open_dog(config: Config, mutant: str | None = None) -> Driver:
    """One node that speaks `config.protocol`: `flood`, `peer-limit`, or `dog` and its variants (unless
    its parameters switch it off).

    `mutant` names one of `DOG_MUTANTS` or `PEER_LIMIT_MUTANTS`. Raises AdapterError for another
    protocol or an unknown mutant.
    """
    if config.protocol not in PROTOCOLS:
        raise AdapterError(f"ours (mempool) does not speak {config.protocol!r}: choose one of {PROTOCOLS}")
    parameters = parameters_of(config, DogParameters, f"ours ({config.protocol})")
    planted = mutant_of(mutant, {**DOG_MUTANTS, **PEER_LIMIT_MUTANTS, **VARIANT_MUTANTS})
    dog = config.protocol in ("dog", *DOG_VARIANTS) and parameters.dog
    reactor = DogReactor(parameters, dog=dog, seed=config.seed)
    apply_variant(reactor, config.protocol)
    if planted is not None:
        planted.apply(reactor)
    name = "ours" if mutant is None else f"ours:{mutant}"
    return MempoolDriver(reactor, name=name, protocols=protocols_of(planted))
