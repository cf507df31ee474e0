"""Our router for Flood, DOG and the peer limit behind the seam: `open_dog` gives the `Driver` of one node.

The reactor itself is `quidnunc.impl.dog_reactor`; its planted departures are `quidnunc.impl.dog_mutants`
and `quidnunc.impl.peer_limit_mutants`.
"""

from __future__ import annotations

from quidnunc.impl.dog_dialects import DIALECT_MUTANTS, turn
from quidnunc.impl.dog_mutants import DOG_MUTANTS
from quidnunc.impl.dog_reactor import Reactor
from quidnunc.impl.mempool_driver import DOG_DIALECTS, MempoolDriver, mutant_of, parameters_of
from quidnunc.impl.mempool_driver import PROTOCOLS as EVERY_PROTOCOL
from quidnunc.impl.peer_limit_mutants import PEER_LIMIT_MUTANTS
from quidnunc.impl.seam import AdapterError, Config, Driver

PROTOCOLS = ("flood", "dog", *DOG_DIALECTS, "peer-limit")


def open_dog(config: Config, mutant: str | None = None) -> Driver:
    """One node that speaks `config.protocol`: `flood`, `peer-limit`, or `dog` and its dialects (unless
    `config.dog` has it off).

    `mutant` names one of `DOG_MUTANTS` or `PEER_LIMIT_MUTANTS`. Raises AdapterError for another
    protocol or an unknown mutant.
    """
    if config.protocol not in PROTOCOLS:
        raise AdapterError(f"ours (mempool) does not speak {config.protocol!r}: choose one of {PROTOCOLS}")
    parameters = parameters_of(config)
    planted = mutant_of(mutant, {**DOG_MUTANTS, **PEER_LIMIT_MUTANTS, **DIALECT_MUTANTS})
    dog = config.protocol in ("dog", *DOG_DIALECTS) and parameters.dog
    reactor = Reactor(parameters, dog=dog, seed=config.seed)
    turn(reactor, config.protocol)
    if planted is not None:
        planted.apply(reactor)
    name = "ours" if mutant is None else f"ours:{mutant}"
    return MempoolDriver(reactor, name=name, protocols=EVERY_PROTOCOL)
