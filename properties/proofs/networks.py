"""The networks that `quidnunc explore` and `quidnunc prove` know by name."""

from __future__ import annotations

from quidnunc.model.errors import SpecError
from quidnunc.properties.proofs.dog.cut_off import dog_cut_off
from quidnunc.properties.proofs.dog.relays import TEXTS
from quidnunc.properties.proofs.dog.routes import REVISIONS, dog_routes
from quidnunc.properties.proofs.idontwant.rules import REVISIONS as ORDERS
from quidnunc.properties.proofs.idontwant.rules import idontwant_forged
from quidnunc.properties.proofs.mesh.links import VARIANTS
from quidnunc.properties.proofs.mesh.mesh_link import mesh_link
from quidnunc.properties.proofs.messages.flow import FLOWS, mesh_flow
from quidnunc.properties.proofs.messages.star import STARS, mesh_star
from quidnunc.properties.solver.rules import NetworkClaim, NetworkModel

_PLAIN = ((REVISIONS, dog_routes), (TEXTS, dog_cut_off), (FLOWS, mesh_flow), (ORDERS, idontwant_forged))
"""Those of peers alone."""
_OF_DEGREE = ((VARIANTS, mesh_link), (STARS, mesh_star))
NETWORKS = (*VARIANTS, *STARS, *FLOWS, *REVISIONS, *TEXTS, *ORDERS)
MAX_PEERS = 8


def network_named(name: str, *, peers: int, d_high: int) -> NetworkModel:
    """The network of that name. Raises SpecError where it does not fit or its parameters make no sense."""
    if name not in NETWORKS:
        raise SpecError(f"no network {name!r}; there are {', '.join(NETWORKS)}")
    if not 2 <= peers <= MAX_PEERS:
        raise SpecError(f"{name} needs 2 to {MAX_PEERS} peers, got {peers}")
    if d_high < 1:
        raise SpecError(f"{name} needs a D_high of at least 1, got {d_high}")
    for names, build in _PLAIN:
        if name in names:
            return build(name, peers=peers)
    build_of_degree = next(build for names, build in _OF_DEGREE if name in names)
    return build_of_degree(name, peers=peers, d_high=d_high)


def claims_of_network(name: str) -> tuple[NetworkClaim, ...]:
    """The claims of a network, whatever its size: those of the smallest one that it can have."""
    for d_high in (1, 2, 3):
        for peers in range(2, MAX_PEERS + 1):
            try:
                return network_named(name, peers=peers, d_high=d_high).claims
            except SpecError:
                continue
    raise SpecError(f"{name} fits no number of peers")
