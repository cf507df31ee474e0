"""Our mempool routers behind the seam: one reactor for Flood, DOG and the peer limit, another for CAT.

The reactors are in `quidnunc.impl.mempool`, their planted departures in `quidnunc.impl.mutants`.
"""

from __future__ import annotations

from quidnunc.impl.mempool.cat.reactor import CatReactor
from quidnunc.impl.mempool.dog.reactor import DogReactor
from quidnunc.impl.mempool.driver import DOG_VARIANTS, MempoolDriver, mutant_of, protocols_of
from quidnunc.impl.mutants.cat import CAT_MUTANTS
from quidnunc.impl.mutants.dog import DOG_MUTANTS
from quidnunc.impl.mutants.peer_limit import PEER_LIMIT_MUTANTS
from quidnunc.impl.ours.dog_variants import VARIANT_MUTANTS, apply_variant
from quidnunc.impl.seam import AdapterError, Config, Driver, parameters_of
from quidnunc.impl.wire.cat_codec import VERSIONS
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


def open_cat(config: Config, mutant: str | None = None) -> Driver:
    """One node that speaks `config.protocol`: `cat-classic` or `cat`.

    `mutant` names one of `CAT_MUTANTS`. Raises AdapterError for another protocol or an unknown mutant.
    """
    if config.protocol not in VERSIONS:
        raise AdapterError(f"ours (CAT) does not speak {config.protocol!r}: choose one of {tuple(VERSIONS)}")
    parameters = parameters_of(config, DogParameters, f"ours ({config.protocol})")
    reactor = CatReactor(parameters, version=config.protocol, seed=config.seed)
    planted = mutant_of(mutant, CAT_MUTANTS)
    if planted is not None:
        planted.apply(reactor)
    return MempoolDriver(
        reactor,
        name="ours" if mutant is None else f"ours:{mutant}",
        protocols=protocols_of(planted),
        capabilities=frozenset({"state", "clock", "raw"}),
    )


def open_mempool(config: Config, mutant: str | None = None) -> Driver:
    """One node that speaks `config.protocol`. Raises AdapterError for one that no reactor of ours speaks."""
    return (open_cat if config.protocol in VERSIONS else open_dog)(config, mutant)
