"""Our CAT router behind the seam: `open_cat` gives the `Driver` of one node.

The reactor itself is `quidnunc.impl.cat_reactor`; its planted departures are `quidnunc.impl.cat_mutants`.
"""

from __future__ import annotations

from quidnunc.impl.cat_codec import VERSIONS
from quidnunc.impl.cat_mutants import CAT_MUTANTS
from quidnunc.impl.cat_reactor import CatReactor
from quidnunc.impl.mempool_driver import PROTOCOLS, MempoolDriver, mutant_of, parameters_of
from quidnunc.impl.seam import AdapterError, Config, Driver


def open_cat(config: Config, mutant: str | None = None) -> Driver:
    """One node that speaks `config.protocol`: `cat-classic` or `cat`.

    `mutant` names one of `CAT_MUTANTS`. Raises AdapterError for another protocol or an unknown mutant.
    """
    if config.protocol not in VERSIONS:
        raise AdapterError(f"ours (CAT) does not speak {config.protocol!r}: choose one of {tuple(VERSIONS)}")
    reactor = CatReactor(parameters_of(config), version=config.protocol, seed=config.seed)
    planted = mutant_of(mutant, CAT_MUTANTS)
    if planted is not None:
        planted.apply(reactor)
    return MempoolDriver(
        reactor,
        name="ours" if mutant is None else f"ours:{mutant}",
        protocols=PROTOCOLS,
        capabilities=frozenset({"state", "clock", "raw"}),
    )
