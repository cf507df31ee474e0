"""Our CAT router behind the seam: `open_cat` gives the `Driver` of one node.

The reactor itself is `quidnunc.impl.mempool.cat.reactor`; its planted departures are
`quidnunc.impl.mutants.cat`.
"""

from __future__ import annotations

from quidnunc.impl.mempool.cat.reactor import CatReactor
from quidnunc.impl.mempool.driver import MempoolDriver, mutant_of, protocols_of
from quidnunc.impl.mutants.cat import CAT_MUTANTS
from quidnunc.impl.seam import AdapterError, Config, Driver, parameters_of
from quidnunc.impl.wire.cat_codec import VERSIONS
from quidnunc.model.parameters import DogParameters


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
